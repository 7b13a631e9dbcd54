"""CPU vector units: generated C++, compiled by the system's compiler, loaded through cffi. Nothing else runs the
compiler."""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import platform
import shutil
import subprocess
import time

import cffi
import numpy as np

from ..codegen import emit
from ..errors import ArgumentError, BackendError
from . import cache
from .base import Backend, check_rows

HERE = pathlib.Path(__file__).resolve().parents[1]
ALIGN = 64
# Named one by one, never -ffast-math: NaN and the order of sums are kept. Contraction to FMA is IEEE and wanted.
FLAGS = [
    "-std=gnu++17",
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-fPIC",
    "-shared",
    "-fopenmp",
    "-fno-semantic-interposition",
    "-Wno-psabi",
]
# Kernels are long chains of dependent operations; put side by side where they are independent of one another, more of
# them run at once.
INTERLEAVED = ("-fschedule-insns", "-fsched-pressure")  # g++ only

ffi = cffi.FFI()
ffi.cdef("""
int frame_run(const void *constants, void *const *array, const long *ld, long n, int threads);
void frame_counts(double *into);
typedef struct { long extent[3], stride[4], variables, bytes; } frame_region;
void frame_gather(void *view, long ld, long view_bytes, const void *first, const frame_region *region, long start, long count);
void frame_scatter(const void *view, long ld, long view_bytes, void *first, const frame_region *region, long start, long count);
""")


def default_threads() -> int:
    text = os.environ.get("FRAME_THREADS") or "1"
    if not text.isdecimal() or not 1 <= int(text) <= 4096:
        raise ArgumentError(f"FRAME_THREADS = {text!r}; wanted a whole number of threads, 1 to 4096.")
    return int(text)


def compiler() -> str:
    """The C++ compiler: FRAME_CXX, CXX, else g++."""
    return os.environ.get("FRAME_CXX") or os.environ.get("CXX") or "g++"


def target() -> str:
    """FRAME_ARCH (such as x86-64-v3), else what this processor has."""
    return os.environ.get("FRAME_ARCH") or "native"


@functools.lru_cache(None)
def processor(arch: str) -> str:
    """What -march=native stands for on this node, so that nodes that differ do not share machine code. A named target
    says it all: then a login node can fill the cache for compute nodes with another processor."""
    if arch != "native":
        return platform.machine()
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
        keep = [
            line
            for line in lines
            if line.split("\t")[0].strip() in ("model name", "flags", "Features", "CPU part", "cpu family", "model")
        ]
        return platform.machine() + "\n" + "\n".join(keep)
    except OSError:
        return platform.machine() + platform.processor()


def shared_object(source: str, depends, name: str, extra=()) -> pathlib.Path:
    """Compile `source` (C++) unless the cache has it; a filled cache starts no process."""
    flags, wanted = [*FLAGS, "-march=" + target(), *extra], compiler()
    folders = list(dict.fromkeys([str(HERE), *(str(p.parent) for p in depends)]))
    texts = cache.texts(source, folders)

    def make(path):
        program = shutil.which(wanted)
        if not program:
            raise BackendError(
                f"C++ compiler '{wanted}' is not on PATH and '{name}' is not in the kernel cache {cache.folder()}: "
                "install g++, or fill the cache beforehand with python -m frame compile."
            )
        file = path.with_suffix(".cpp")
        try:
            file.write_text(source)
            done = subprocess.run(
                [
                    program,
                    *flags,
                    *(f"-I{f}" for f in folders),
                    str(file),
                    "-o",
                    str(path),
                    *(["-lquadmath"] if "FRAME_WIDE" in source else []),
                ],
                capture_output=True,
                text=True,
            )
        finally:
            file.unlink(missing_ok=True)
        if done.returncode:
            raise BackendError(f"compiling '{name}' failed ({program}):\n{done.stderr[:4000]}")

    return cache.entry(
        f"{name[:40]}-{cache.key(*texts, ' '.join(flags), wanted, _version(wanted), processor(target()))}",
        ".so",
        make,
    )


@functools.lru_cache(None)
def _version(name: str) -> str:
    """Identity of the compiler without starting it (a filled cache must not fork inside an MPI job). A node that has no
    compiler takes the one that filled the cache, so that it finds what was compiled ahead for it."""
    note = cache.folder() / f"compiler-{pathlib.Path(name).name}"
    path = shutil.which(name)
    if not path:
        return note.read_text() if note.is_file() else ""
    real = os.path.realpath(path)
    identity = f"{os.path.basename(real)} {os.stat(real).st_size}"
    with contextlib.suppress(OSError):  # a cache filled by somebody else may be read-only
        if not note.is_file() or note.read_text() != identity:
            part = note.with_name(f"{note.name}.{platform.node()}.{os.getpid()}")
            part.write_text(identity)
            part.replace(note)
    return identity


def load(source: str, depends, name: str, extra=()):
    """The compiled `source`, loaded."""
    path = shared_object(source, depends, name, extra)
    try:
        return ffi.dlopen(str(path))
    except OSError:  # sound by its checksum and yet not loadable: another system's library
        path.unlink(missing_ok=True)
        return ffi.dlopen(str(shared_object(source, depends, name, extra)))


@functools.lru_cache(None)
def marshal():
    return load('#include "marshal.h"\n', [HERE / "marshal" / "marshal.h"], "marshal")


class CpuBackend(Backend):
    name = "cpu"

    def __init__(self, threads: int = 1):
        self.threads = threads

    def describe(self) -> dict:
        program = shutil.which(compiler())
        version = (
            subprocess.run([program, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
            if program
            else "none"
        )
        return {
            "name": "cpu",
            "threads": self.threads,
            "compiler": version,
            "target": "-march=" + target(),
            "cores": os.cpu_count(),
        }

    def pad(self, n: int) -> int:
        return (
            -(-max(n, 1) // 16) * 16 + 16
        )  # whole packs; 64 bytes or more on top so that rows are not a power of two apart

    def empty(self, shape, dtype=np.float64):
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        try:
            raw = np.empty(size + ALIGN, np.uint8)
        except MemoryError:
            raise BackendError(
                f"no memory for an array of {' x '.join(map(str, shape))} numbers; is the chunk (nGridPoints) too "
                "large?"
            ) from None
        at = -raw.ctypes.data % ALIGN
        return raw[at : at + size].view(dtype).reshape(shape)

    def compile(self, plan, name):
        # a few points, or arithmetic by library calls: the compiler's time is what counts
        interleaved = () if "clang" in _version(compiler()) else INTERLEAVED
        extra = ("-O1",) if plan.precision in ("count", "wide") else interleaved
        return load(emit.cpu_source(plan), emit.dependencies(plan), name, extra)

    def prepare(self, code, constants, plan, arrays):
        count = len(plan.arguments)
        layout = [check_rows(a, arrays[a], plan.rows(a), plan.dtype) for a in plan.arguments]
        pointers = (
            ffi.new("void *[]", [ffi.cast("void *", arrays[a].ctypes.data) for a in plan.arguments])
            if count
            else ffi.NULL
        )
        strides = ffi.new("long []", [stride for stride, _ in layout])
        shortest = min(length for _, length in layout)
        data = ffi.cast("void *", constants.ctypes.data)
        function, threads = code.frame_run, self.threads

        def run(n, keep=(constants, [arrays[a] for a in plan.arguments])):
            if n > shortest:
                raise ArgumentError(f"{n} points asked for, the arrays hold {shortest}.")
            if function(data, pointers, strides, n, threads):
                raise BackendError("no memory for the scratch of a kernel.")

        return run

    def resident(self, array):
        return array.ctypes.data, array

    def synchronize(self):
        pass

    def mark(self):
        return time.perf_counter()

    def elapsed(self, start, end) -> float:
        return end - start

    def gather(self, block, start, count, view):
        first, region = _region(block)
        marshal().frame_gather(*_rows(view, block), first, region, start, count)

    def scatter(self, block, start, count, view):
        first, region = _region(block)
        marshal().frame_scatter(*_rows(view, block), first, region, start, count)

    def to_host(self, array):
        return array

    def from_host(self, array, dtype=np.float64):
        return np.asarray(array, dtype=dtype)


def _region(block):
    """The selection as C sees it; kept with the block, which a host loop brings for every chunk."""
    made = block.__dict__.get("_region")
    if made is None:
        region = ffi.new(
            "frame_region *",
            {"extent": block.n[:3], "stride": block.strides, "variables": block.n[3], "bytes": block.size},
        )
        made = block.__dict__["_region"] = (ffi.cast("void *", block.first), region)
    return made


def _rows(view, block):
    """Address, row stride and bytes of an element of a view; only its shape is looked at here, the caller made the
    array."""
    if view.shape[0] != block.n[3]:
        raise ArgumentError(f"the view has {view.shape[0]} rows, the selection {block.n[3]} variables.")
    size = view.itemsize
    return ffi.cast("void *", view.__array_interface__["data"][0]), view.strides[0] // size, size
