"""What the machine can do at most, measured in the run that is to be judged; and the bound that follows for a
collection.

Memory: the faster of two ways to move as many bytes, a plain copy, and the collection's own rows read and written
without arithmetic, as often in turn as the collection is, so that what stays in a cache does so for both. Arithmetic:
the pace of fused multiply-adds, apart for what is done in single precision, and each function, division and root by
the fastest of the layer's own ways, at full pace. On a CPU divisions and roots have a unit of their own and overlap
with the rest; on a GPU single precision has, and divisions add to the multiply-adds that they are made of.
"""

from __future__ import annotations

import dataclasses
import pathlib
import time
from collections.abc import Callable

import cffi
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
# A kernel for each way to an operation, on the layer's functions of thread.h; (type, expression).
ON_DEVICE = {
    "fma": [("double", "fma(x[i], 0.999999, 1e-9)")],
    "narrow": [("float", "fmaf(x[i], 0.999999f, 1e-9f)")],
    "divide": [("double", "quotient(1.5, x[i])"), ("double", "inverted(x[i])")],
    "narrow_divide": [("float", "quotient(1.5f, x[i])")],
    "root": [("double", "root(x[i] + 1.0)"), ("double", "inverse_of_root(x[i] + 1.0)")],
    "exp": [("double", "exponential(-x[i])"), ("double", "power_of_two(x[i], -1.5)")],
    "log": [("double", "logarithm(x[i] + 3.0)")],
    "cube_root": [("double", "cube_root(x[i] + 1.0)"), ("double", "inverse_of_two_thirds(x[i] + 1.0)")],
    "start": [("double", "two_thirds_approximate(x[i] + 1.0)"), ("double", "rsqrt_start(x[i] + 1.0)")],
}
ON_PACKS = {
    "divide": ("divide", "divide_inverse", "divide_rough"),
    "root": ("root", "root_inverse"),
    "exp": ("exp", "exp_binary"),
    "log": ("log",),
    "cube_root": ("cube_root", "cube_root_inverse"),
    "start": ("start", "start_root"),
}
LARGEST = 2**28  # bytes of a copy; more tells nothing new
BEST_OF = 40  # short samples: the least is of one that nothing else on the machine has met
LONG = 5e-4  # seconds that a sample of memory's pace takes at least: one launch alone would be mostly its start

ffi = cffi.FFI()
ffi.cdef(
    "double pace_fma(long passes); long flops_fma(long passes); int vector_lanes(void);"
    "void pace_rows(const double *in, double *out, long n, long reads, long writes);"
    + "".join(
        f"void pace_{name}(const double *in, double *out, long n, long passes);"
        for ways in ON_PACKS.values()
        for name in ways
    )
)


@dataclasses.dataclass
class Ceilings:
    """flops a second; functions, divisions and roots a second by counting.py's names; memory(reads, writes, points):
    seconds that rows of doubles take."""

    flops: float
    rates: dict[str, float]
    memory: Callable[[int, int, int], float]
    divider: bool  # whether divisions and roots run beside everything else, and single precision does not

    def bound(self, cost, reads: int, writes: int, points: int, width: int = 8) -> tuple[float, str]:
        """(points a second, which roof) of work that reads and writes so many rows of numbers `width` bytes wide."""
        work = cost.operations
        took = {kind: work[kind] / rate for kind, rate in self.rates.items()}
        divisions, single = took["divide"] + took["root"], took["narrow"]
        others = cost.flops / self.flops + sum(took[kind] for kind in ("exp", "log", "cube_root", "start"))
        if self.divider:
            roofs = {"arithmetic": others + single, "division": divisions + took["narrow_divide"]}
        else:
            roofs = {"arithmetic": others + divisions, "single precision": single + took["narrow_divide"]}
        roofs["memory"] = self.memory(reads, writes, points * width // 8) / points
        name = max(roofs, key=roofs.get)
        return 1 / roofs[name], name

    def told(self) -> str:
        copy = LARGEST / self.memory(1, 1, LARGEST // 16)
        text = [f"multiply-add {self.flops * 1e-9:.0f} GFLOP/s", f"copy {copy * 1e-9:.0f} GB/s"]
        return ", ".join(
            text + [f"{name.replace('_', ' ')} {rate * 1e-9:.2f} G/s" for name, rate in self.rates.items()]
        )


def measure(backend, effort: float = 1.0) -> Ceilings:
    """effort: how long to look; 1 is about half a second."""
    return (_cuda if backend.name == "cuda" else _cpu)(backend, effort)


def _best(work, passes: int) -> float:
    """Least seconds of work(passes)."""
    work(passes)
    times = []
    for _ in range(BEST_OF):
        begin = time.perf_counter()
        work(passes)
        times.append(time.perf_counter() - begin)
    return min(times)


def _often(work) -> float:
    """Least seconds of one work(1), from samples of LONG or more. work(count) does it count times and gives seconds."""
    count = max(1, int(LONG / max(work(1), 1e-9)))
    return min(work(count) for _ in range(BEST_OF)) / count


def _remembered(memory, largest: float):
    """Seconds that rows take, measured once for each shape; what is more than `largest` bytes is scaled."""
    known: dict[tuple, float] = {}

    def seconds(reads: int, writes: int, points: int) -> float:
        n = int(min(points, largest / (8 * (reads + writes))))
        shape = reads, writes, max(n // 16, 1) * 16  # whole packs
        if shape not in known:
            known[shape] = memory(*shape)
        return known[shape] * points / shape[2]

    return seconds


def _library():
    from kernels.backend import cpu

    source = (HERE / "ceilings.cpp").read_text()
    folder = pathlib.Path(cpu.HERE)
    return ffi.dlopen(str(cpu.shared_object(source, sorted((folder / "numbers").glob("*.h")), "ceilings")))


def vector_bits() -> int:
    """Width of the packs that this processor (or FRAME_ARCH) gets."""
    return 64 * _library().vector_lanes()


def _cpu(backend, effort: float) -> Ceilings:
    library = _library()
    passes = max(int(1e5 * effort), 1000)
    flops = library.flops_fma(passes) / _best(library.pace_fma, passes)
    values, results = backend.empty(512), backend.empty(512)
    values[...] = np.linspace(0.5, 2.0, 512)
    pointers = [ffi.cast("double *", array.ctypes.data) for array in (values, results)]
    rates = {}
    passes = max(int(2e3 * effort), 20)
    for kind, ways in ON_PACKS.items():
        functions = [getattr(library, f"pace_{name}") for name in ways]
        took = min(_best(lambda count, f=function: f(*pointers, 512, count), passes) for function in functions)
        rates[kind] = passes * 512 / took
    rates["narrow"], rates["narrow_divide"] = 2 * flops, 2 * rates["divide"]  # twice the lanes

    def memory(reads: int, writes: int, n: int) -> float:
        source, target = backend.empty((reads, n)), backend.empty((writes, n))
        source[...], target[...] = 1.0, 0.0
        came_from, to = (ffi.cast("double *", array.ctypes.data) for array in (source, target))
        half = backend.empty(((reads + writes) * n // 2 + 1, 2))
        half[...] = 1.0
        first, second = (ffi.cast("char *", half.ctypes.data + k * half.nbytes // 2) for k in (0, 1))

        def timed(move):
            def work(count):
                begin = time.perf_counter()
                for _ in range(count):
                    move()
                return time.perf_counter() - begin

            return _often(work)

        copy = timed(lambda: ffi.memmove(second, first, (reads + writes) * n * 4))
        return min(copy, timed(lambda: library.pace_rows(came_from, to, n, reads, writes)))

    return Ceilings(flops, rates, _remembered(memory, LARGEST * min(effort, 1)), divider=True)


def _cuda(backend, effort: float) -> Ceilings:
    from kernels.backend import cuda

    template, text = (HERE / "ceilings.cu").read_text(), '#define COLUMN_STRIDE 1\n#include "numbers/thread.h"\n'
    text += (HERE / "ceilings_rows.cu").read_text()
    for name, ways in ON_DEVICE.items():
        for k, (kind, expression) in enumerate(ways):
            text += template.replace("NAME", f"{name}_{k}").replace("TYPE", kind).replace("EXPRESSION", expression)
    module = backend._load(cuda.machine_code(text, backend.arch, "ceilings", [str(cuda.HERE)]))
    blocks, threads = max(int(4096 * effort), 1), 256

    def elapsed(launch) -> float:
        begin = backend.mark()
        launch()
        return backend.elapsed(begin, backend.mark())

    out = backend.empty(blocks * threads)
    rates = {}
    for name, ways in ON_DEVICE.items():
        passes = max(int((2000 if name in ("fma", "narrow") else 200) * effort), 2)
        functions = [module.get_function(f"pace_{name}_{k}") for k in range(len(ways))]
        launches = [lambda f=f, passes=passes: f((blocks,), (threads,), (out.data.ptr, passes)) for f in functions]
        took = min(elapsed(launch) for launch in launches for _ in range(6))
        rates[name] = blocks * threads * 8 * passes / took
    flops = 2 * rates.pop("fma")
    rates["narrow"] *= 2

    def memory(reads: int, writes: int, n: int) -> float:
        source, target = backend.empty(reads * n), backend.empty(writes * n)
        function = module.get_function("pace_rows")

        def rows(out, into, pairs, reads, writes):
            arguments = (out.data.ptr, into.data.ptr, pairs, reads, writes)

            def work(count):
                begin = backend.mark()
                for _ in range(count):
                    function((-(-pairs // threads),), (threads,), arguments)
                return backend.elapsed(begin, backend.mark())

            return _often(work)

        took = rows(target, source, n // 2, reads, writes)
        size = (reads + writes) * n // 4  # pairs of a plain copy of as many bytes
        del source, target
        return min(took, rows(backend.empty(2 * size), backend.empty(2 * size), size, 1, 1))

    return Ceilings(flops, rates, _remembered(memory, LARGEST * min(effort, 1)), divider=False)
