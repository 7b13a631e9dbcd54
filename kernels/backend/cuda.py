"""CUDA devices: generated CUDA C++, compiled by NVRTC to machine code, loaded and launched through CuPy.

CuPy is imported here and nowhere else, and only when a device is asked for; compiling needs neither CuPy nor a device.
Everything runs on CuPy's current stream (the default stream unless the caller sets another), so arrays that the caller
makes or uses with CuPy are in order with the launches. No verb waits for the device but `synchronize`, `elapsed`,
`to_host`, and gather and scatter where the host's memory is involved.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib

import numpy as np

from ..codegen import emit, organise
from ..errors import ArgumentError, BackendError
from . import cache, nvrtc
from .base import Backend, check_rows

HERE = pathlib.Path(__file__).resolve().parents[1]
# FMA contraction is NVRTC's default and wanted, as on the CPU; division and square root stay IEEE.
OPTIONS = ("--std=c++17", "--device-as-default-execution-space")


def _cupy():
    try:
        import cupy
    except ImportError as error:
        raise BackendError(
            f"backend cuda needs CuPy ({error}): install the project's extra 'cuda' (CUDA 13) or 'cuda12'."
        ) from None
    return cupy


def device_count() -> int:
    """Devices that the driver shows; 0 when there is none or no driver. Raises BackendError without CuPy."""
    runtime = _cupy().cuda.runtime
    try:
        return runtime.getDeviceCount()
    except runtime.CUDARuntimeError:
        return 0


def mps() -> str:
    """Whether a CUDA MPS daemon serves this node's processes: its control pipe tells."""
    folder = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")
    return f"running ({folder})" if os.path.exists(os.path.join(folder, "control")) else "not running"


def flags(folders) -> list[str]:
    return [*OPTIONS, *(f"--include-path={f}" for f in folders)]


def machine_code(source: str, arch: str, name: str, folders=(), depends=()) -> pathlib.Path:
    """The cubin of `source` for `arch` ("sm_90"), from the kernel cache or made now. Needs no device."""

    def make(path):
        path.write_bytes(nvrtc.compile_cubin(source, arch, flags(folders), name=f"{name}.cu")[0])

    texts = cache.texts(source, folders)
    return cache.entry(f"{name[:40]}-{arch}-{cache.key(*texts, ' '.join(OPTIONS), arch, _compiler())}", ".cubin", make)


def _compiler() -> str:
    return "{}.{}".format(*nvrtc.version())


def program_source(plan):
    """(CUDA C++, include folders, files it includes) of a Program's plan."""
    depends = emit.dependencies(plan)
    folders = list(dict.fromkeys([str(HERE), *(str(p.parent) for p in depends)]))
    return emit.cuda_source(plan), folders, depends


def program_code(plan, arch: str, name: str) -> pathlib.Path:
    """The cubin of a Program's plan; needs no device, so a login node can fill the cache for compute nodes."""
    source, folders, depends = program_source(plan)
    return machine_code(source, arch, name, folders, depends)


def marshal_code(arch: str) -> pathlib.Path:
    """The cubin of the marshal kernels."""
    from ..marshal import cuda as marshal

    return machine_code(marshal.SOURCE.read_text(), arch, "marshal")


def _in_own_pages(shape, dtype) -> np.ndarray:
    """An empty array of the host's that shares no page with another: the driver refuses to copy memory of which a part
    is pinned, such as the end of a neighbour's page."""
    page, size = 4096, int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.empty(size // page * page + 2 * page, np.uint8)
    return raw[-raw.ctypes.data % page :][:size].view(dtype).reshape(shape)


def by_value(record: np.ndarray) -> np.ndarray:
    """A structure (an array of one) as a kernel's argument, in the same memory: CuPy asks NumPy for a description of
    every member at each launch, which took 30 us for 44 of them, and bytes have none."""
    return record.view(np.dtype((np.void, record.itemsize)))


class CudaBackend(Backend):
    """One device. Raises BackendError when CuPy, a driver or the device is not there."""

    name = "cuda"

    def __init__(self, device: int = 0):
        self.cp = cp = _cupy()
        count = device_count()
        if count == 0:
            raise BackendError(
                "backend cuda: no CUDA device is visible (no NVIDIA driver, or CUDA_VISIBLE_DEVICES hides it)."
            )
        if not 0 <= device < count:
            raise BackendError(f"backend cuda: device {device} asked for; {count} visible, numbered 0 to {count - 1}.")
        self.device = device
        self._runtime = cp.cuda.runtime
        self._use()
        facts = self._runtime.getDeviceProperties(device)
        self.arch = f"sm_{facts['major']}{facts['minor']}"
        self.product, self.compiler = facts["name"].decode(), _compiler()
        self.shared_memory = facts.get("sharedMemPerBlockOptin", 48 * 1024)
        self.multiprocessors = facts["multiProcessorCount"]
        self._facts = facts

    def _use(self):
        """Make the device current for the calling thread (a host may call from several)."""
        self._runtime.setDevice(self.device)

    def describe(self) -> dict:
        version = lambda v: f"{v // 1000}.{v % 1000 // 10}"  # noqa: E731
        return {
            "name": "cuda",
            "device": self.device,
            "devices": device_count(),
            "product": self.product,
            "arch": self.arch,
            "memory": f"{self._facts['totalGlobalMem'] / 2**30:.0f} GiB",
            "driver": version(self._runtime.driverGetVersion()),
            "runtime": version(self._runtime.runtimeGetVersion()),
            "nvrtc": self.compiler,
            "cupy": self.cp.__version__,
            "MPS": mps(),
        }

    def pad(self, n: int) -> int:
        return -(-max(n, 1) // 32) * 32  # each row starts on a 256-byte boundary

    def empty(self, shape, dtype=np.float64):
        self._use()
        return self.cp.empty(shape, dtype=dtype)

    # ---- programs
    def plan(self, kernels, outputs, mixture, precision="double"):
        if precision not in emit.DEVICE:
            raise ArgumentError(f"precision '{precision}' is for the CPU; backend cuda has {', '.join(emit.DEVICE)}.")
        return emit.plan(
            kernels,
            outputs,
            mixture,
            organise.chosen(self.product, self.compiler, kernels, outputs, mixture, precision),
            precision,
        )

    def compile(self, plan, name):
        return self._load(program_code(plan, self.arch, name))

    def _load(self, path):
        self._use()
        module = self.cp.cuda.Module()  # one a Program: __constant__ memory belongs to the module
        try:
            module.load_file(str(path))
        except self.cp.cuda.driver.CUDADriverError as error:
            raise BackendError(
                f"the driver refuses {path.name} ({error}): NVRTC {_compiler()} is newer than the driver "
                "serves; install nvidia-cuda-nvrtc of the driver's CUDA version."
            ) from None
        return module

    def prepare(self, code, constants, plan, arrays):
        self._use()
        layout = [check_rows(a, arrays[a], plan.rows(a), plan.dtype) for a in plan.arguments]
        shortest = min((length for _, length in layout), default=0)
        if emit.in_constant_memory(plan):
            table = None
            own = _in_own_pages(constants.shape, constants.dtype)
            own[...] = constants
            self._runtime.memcpy(
                code.get_global_var("mixture"), own.ctypes.data, own.nbytes, self._runtime.memcpyHostToDevice
            )
        else:
            table = self.from_host(constants)
        how, shared, function = plan.how, emit.shared_bytes(plan), code.get_function("frame_run")
        threads, points, most = (
            how.threads,
            how.threads * how.points,
            how.blocks * self.multiprocessors if how.persistent else 2**31 - 1,
        )
        if shared:
            self.cp.cuda.driver.funcSetAttribute(function.ptr, 8, shared)  # MAX_DYNAMIC_SHARED_SIZE_BYTES
        views = [x for a, (stride, _) in zip(plan.arguments, layout) for x in (arrays[a].data.ptr, stride)]

        @functools.lru_cache(64)
        def arguments(n):
            """(blocks, address of the addresses of the kernel's arguments, what holds them)"""
            words = np.array([0 if table is None else table.data.ptr, n, *views], dtype=np.uint64)
            addresses = words.ctypes.data + 8 * np.arange(3, dtype=np.uint64)  # constants, n, arrays
            return min(-(-n // points), most), addresses.ctypes.data, (words, addresses)

        # The driver's own launch: CuPy's takes 1 to 3 us longer.
        queue, kernel, stream, use, device = (
            self.cp.cuda.driver.launchKernel,
            function.ptr,
            self.cp.cuda.get_current_stream,
            self._runtime.setDevice,
            self.device,
        )

        def run(n, keep=(function, [arrays[a] for a in plan.arguments])):  # function: the loaded module
            if n > shortest:
                raise ArgumentError(f"{n} points asked for, the arrays hold {shortest}.")
            if n < 1:
                return
            use(device)
            blocks, address, _ = arguments(n)
            queue(kernel, blocks, 1, 1, threads, 1, 1, shared, stream().ptr, address, 0)

        return run

    def resident(self, array):
        copy = self.from_host(array, array.dtype)
        return copy.data.ptr, copy

    # ---- time
    def synchronize(self):
        self._use()
        self._runtime.streamSynchronize(self.cp.cuda.get_current_stream().ptr)

    def mark(self):
        self._use()
        event = self.cp.cuda.Event()
        event.record()
        return event

    def elapsed(self, start, end) -> float:
        end.synchronize()
        return self.cp.cuda.get_elapsed_time(start, end) * 1e-3

    def record(self, work):
        self._use()
        cp, stream = self.cp, self.cp.cuda.Stream(non_blocking=True)
        try:
            with stream:
                stream.begin_capture()
                try:
                    work()
                finally:
                    graph = stream.end_capture()
                graph.upload()
                stream.synchronize()
        except (self._runtime.CUDARuntimeError, cp.cuda.driver.CUDADriverError) as error:
            raise BackendError(f"backend cuda: recording a graph failed ({error}).") from None
        return graph.launch

    # ---- memory
    @functools.cached_property
    def marshal(self):
        from ..marshal.cuda import CudaMarshal
        from . import get_backend

        return CudaMarshal(self.cp, self._load(marshal_code(self.arch)), get_backend("cpu"))

    def gather(self, block, start, count, view):
        self._use()
        self.marshal.gather(block, start, count, view)

    def scatter(self, block, start, count, view):
        self._use()
        self.marshal.scatter(block, start, count, view)

    def pin(self, address, nbytes):
        """Raises BackendError where the driver refuses, over the system's limit of locked memory for one."""
        self._use()
        self.marshal.pin(address, nbytes)

    def unpin(self, address, nbytes):
        self._use()
        self.marshal.unpin(address, nbytes)

    @contextlib.contextmanager
    def session(self, blocks):
        """Pins the blocks; two streams, so that copies in, kernels and copies out of different stripes overlap."""
        self._use()
        streams = [self.cp.cuda.Stream(non_blocking=True) for _ in range(2)]
        self.synchronize()  # what was queued before is done before the streams begin
        with self.marshal.lasting(blocks):
            try:
                yield streams
            finally:
                for stream in streams:
                    stream.synchronize()

    def to_host(self, array) -> np.ndarray:
        self._use()
        return self.cp.asnumpy(array, out=_in_own_pages(array.shape, array.dtype))  # waits

    def from_host(self, array, dtype=np.float64):
        self._use()
        try:
            return self.cp.asarray(array, dtype=dtype)
        except self._runtime.CUDARuntimeError:  # _in_own_pages says why; what else is wrong comes again
            own = _in_own_pages(np.shape(array), dtype)
            own[...] = array
            return self.cp.asarray(own)

    def release(self):
        if "marshal" in self.__dict__:
            self._use()
            self.marshal.release()
            del self.__dict__["marshal"]
        self.cp.get_default_memory_pool().free_all_blocks()
        self.cp.get_default_pinned_memory_pool().free_all_blocks()
