"""The module that stands in for cupy."""

import ctypes
import types

import numpy as np

from .cublas import Cublas
from .memory import DEVICE, TOTAL, Array, CUDARuntimeError, Memory, OutOfMemoryError
from .streams import Streams

CONSTANT = 60 * 1024  # bytes of a global variable
PROPERTIES = {
    "major": 9,
    "minor": 0,
    "name": b"stand-in",
    "totalGlobalMem": TOTAL,
    "sharedMemPerBlockOptin": 227 * 1024,
    "multiProcessorCount": 2,
}


class CUDADriverError(RuntimeError):
    """Stand-in for cupy.cuda.driver.CUDADriverError."""


class Device:
    """A device: memory, streams, functions of loaded modules. calls: names of launches, "copy" and "wait"."""

    def __init__(self, lag):
        self.calls: list[str] = []
        self.launched_on: list[int] = []  # streams of the launches
        self.memory = Memory()
        self.streams = Streams(lag, self.calls)
        self.functions = {}  # {address: (name, function, bytes of its record)}

        self.Module = type("Module", (Module,), {"device": self})

    # ---- arrays

    def asarray(self, value, dtype=None):
        is_ours = isinstance(value, Array) and self.memory.kind(value.ctypes.data) == DEVICE
        if is_ours and (dtype is None or value.dtype == dtype):
            return value

        if hasattr(value, "__cuda_array_interface__") and not isinstance(value, np.ndarray):  # memory of the device
            address = value.__cuda_array_interface__["data"][0]
            assert self.memory.kind(address) == DEVICE, "no address of the device"
            return np.asarray(value).view(Array)

        self.streams.everything()
        dtype = dtype or getattr(value, "dtype", np.float64)
        out = self.memory.empty(np.shape(value), dtype)
        value = np.asarray(value, dtype)
        self.memory.refuse_half_pinned(value.ctypes.data, value.nbytes)
        out[...] = value
        return out

    def asnumpy(self, array, out):
        self.streams.everything()
        self.memory.refuse_half_pinned(out.ctypes.data, out.nbytes)
        np.copyto(out, array)
        return out

    # ---- copies

    def copy(self, to, source, size, kind, stream=0):
        self.copy_2d(to, size, source, size, size, 1, kind, stream)

    def copy_2d(self, to, to_pitch, source, source_pitch, width, height, kind, stream=0):
        assert width <= min(to_pitch, source_pitch) or height == 1
        self.memory.check_copy(to, source, kind)
        self.calls.append("copy")

        hosts = {1: [(source, source_pitch)], 2: [(to, to_pitch)]}.get(kind, [])
        for host, pitch in hosts:
            self.memory.refuse_half_pinned(host, (height - 1) * pitch + width)

        def go():
            for row in range(height):
                ctypes.memmove(to + row * to_pitch, source + row * source_pitch, width)

        self.streams.queue(stream, go)

    # ---- launches

    def launch_kernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra):
        is_grid = 0 < gx < 2**31 and 0 < gy < 2**16 and 0 < bx <= 1024
        assert is_grid and (gz, by, bz, extra) == (1, 1, 1, 0), "not a grid"

        name, run, size = self.functions[function]
        self.calls.append(name)
        self.launched_on.append(stream)

        # The record and the number of items are copied at the launch.
        record, items = (ctypes.c_void_p * 2).from_address(arguments)
        held = ctypes.create_string_buffer(ctypes.string_at(record, size), size)
        count = ctypes.c_long.from_buffer_copy(ctypes.string_at(items, 8))
        given = (ctypes.c_void_p * 2)(ctypes.addressof(held), ctypes.addressof(count))

        def go(keep=(held, count)):
            problem = run(gx, gy, bx, shared, given)
            assert not problem, f"{name}: {problem.decode()}"

        self.streams.launch(stream, go)


class Module:
    """Stand-in for cupy.cuda.Module."""

    device = None  # Device

    def load_file(self, path):
        self.library = ctypes.CDLL(path)

    def get_global_var(self, name):
        address = ctypes.addressof(ctypes.c_char.in_dll(self.library, name))
        self.device.memory.add(address, CONSTANT, DEVICE)
        return address

    def get_function(self, name):
        run, size = self.library["launch_" + name], self.library["record_" + name]
        size.restype, run.restype = ctypes.c_long, ctypes.c_char_p
        address = ctypes.cast(run, ctypes.c_void_p).value
        self.device.functions[address] = name, run, size()
        return types.SimpleNamespace(ptr=address)


def make(lag=None):
    """The module to stand in for cupy. lag: a seed; each stream then has a pace of its own, from as late as its events
    allow to as early: a host sees it that forgets to wait, or an event. Not for programs that use arrays while work is
    under way."""
    device = Device(lag)
    memory, pool = device.memory, types.SimpleNamespace(free_all_blocks=lambda: None)

    module = types.ModuleType("cupy")
    module.__dict__.update(
        cuda=_cuda(device),
        float64=np.float64,
        ndarray=Array,
        empty=memory.empty,
        zeros=memory.zeros,
        asarray=device.asarray,
        asnumpy=device.asnumpy,
        array=lambda a, order=None: device.asarray(np.array(a)),
        ascontiguousarray=lambda a, dtype=None: device.asarray(np.ascontiguousarray(a, dtype)),
        broadcast_to=lambda a, s: np.broadcast_to(a, s, subok=True),
        where=lambda c, a, b: device.asarray(np.where(c, a, b)),
        get_default_memory_pool=lambda: pool,
        get_default_pinned_memory_pool=lambda: pool,
        __version__="stand-in",
        # What tests look at.
        calls=device.calls,
        streams=device.launched_on,
        memory=memory,
        registered=memory.registered,
    )
    return module


def _cuda(device):
    """cupy.cuda."""
    streams = device.streams
    driver = types.SimpleNamespace(
        CUDADriverError=CUDADriverError,
        funcSetAttribute=lambda *_: None,
        launchKernel=device.launch_kernel,
        occupancyMaxActiveBlocksPerMultiprocessor=lambda function, threads, shared: 1,
    )
    return types.SimpleNamespace(
        runtime=_runtime(device),
        driver=driver,
        Module=device.Module,
        Event=streams.Event,
        Stream=streams.Stream,
        ExternalStream=streams.ExternalStream,
        alloc_pinned_memory=device.memory.pinned,
        memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
        get_current_stream=streams.current,
        cublas=Cublas(),
        device=types.SimpleNamespace(get_cublas_handle=lambda: 1),
        get_elapsed_time=lambda a, b: 1e3 * (b.time - a.time),
    )


def _runtime(device):
    """cupy.cuda.runtime."""
    memory = device.memory
    return types.SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError,
        # The device.
        getDeviceCount=lambda: 1,
        getDeviceProperties=lambda d: dict(PROPERTIES),
        setDevice=lambda d: None,
        deviceGetPCIBusId=lambda d: "0000:00:00.0",
        deviceGetAttribute=lambda attribute, d: 0,
        driverGetVersion=lambda: 13000,
        runtimeGetVersion=lambda: 13000,
        streamSynchronize=device.streams.synchronize,
        streamIsCapturing=lambda _: bool(device.streams.recorded),
        # Copies.
        memcpyHostToDevice=1,
        memcpyDeviceToHost=2,
        memcpyDeviceToDevice=3,
        memcpy=device.copy,
        memcpyAsync=device.copy,
        memcpy2DAsync=device.copy_2d,
        # Memory.
        memGetInfo=lambda: (TOTAL // 2, TOTAL),
        malloc=memory.malloc,
        free=memory.free,
        memset=lambda address, value, size: ctypes.memset(address, value, size),
        ipcGetMemHandle=memory.get_handle,
        ipcOpenMemHandle=memory.open_handle,
        ipcCloseMemHandle=memory.unmap,
        hostRegister=memory.register,
        hostUnregister=memory.unregister,
        pointerGetAttributes=lambda address: types.SimpleNamespace(type=memory.kind(address), device=0),
    )
