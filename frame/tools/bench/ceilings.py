"""What the machine can do at most, measured in the run that is to be judged; and the bound that follows for a
collection.

Three roofs: bytes by the pace of a copy of as many bytes (so of the cache they fit in), additions and multiplications
by that of fused multiply-adds, and each function, division and root by the layer's own at full pace. On a CPU divisions
and roots have a unit of their own and overlap with the rest; on a GPU they are made of multiply-adds and add to it.
"""

from __future__ import annotations

import dataclasses
import pathlib
import time
from collections.abc import Callable

import cffi
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ON_DEVICE = {
    "fma": "fma(x[i], 0.999999, 1e-9)",
    "divide": "1.5/x[i]",
    "root": "sqrt(x[i] + 1.0)",
    "exp": "exp(-x[i])",
    "log": "log(x[i] + 3.0)",
    "cube_root": "cbrt(x[i] + 1.0)",
}
SMALLEST, LARGEST = 2**20, 2**30  # bytes of a copy; less is all overhead, more tells nothing new
BEST_OF = 5
COPY = """extern "C" __global__ void pace_copy(double *out, const double *in, const long n)
{
    const long t = blockIdx.x*(long)blockDim.x + threadIdx.x;
    if (t < n) out[t] = in[t];
}
"""

ffi = cffi.FFI()
ffi.cdef(
    "double pace_fma(long passes); long flops_fma(long passes); int vector_lanes(void);"
    + "".join(
        f"void pace_{name}(const double *in, double *out, long n, long passes);"
        for name in ("divide", "root", "exp", "log", "cube_root", "start")
    )
)


@dataclasses.dataclass
class Ceilings:
    """flops a second; functions, divisions and roots a second by counting.py's names; copy(bytes): bytes a second."""

    flops: float
    rates: dict[str, float]
    copy: Callable[[int], float]
    divider: bool  # whether divisions and roots run beside everything else

    def bound(self, cost, points: int) -> tuple[float, str]:
        """(points a second, which roof)."""
        work = cost.operations
        divisions = sum(work[kind] / self.rates[kind] for kind in ("divide", "root"))
        functions = ("exp", "log", "cube_root", "start")
        others = cost.flops / self.flops + sum(work[kind] / self.rates[kind] for kind in functions)
        roofs = {"memory": cost.bytes / self.copy(cost.bytes * points)}
        roofs |= {"arithmetic": others, "division": divisions} if self.divider else {"arithmetic": others + divisions}
        name = max(roofs, key=roofs.get)
        return 1 / roofs[name], name

    def told(self) -> str:
        text = [f"multiply-add {self.flops * 1e-9:.0f} GFLOP/s", f"copy {self.copy(LARGEST) * 1e-9:.0f} GB/s"]
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


def _remembered(copy):
    """A copy's pace by size, measured once a size (to a power of two)."""
    known: dict[int, float] = {}

    def pace(size: int) -> float:
        size = 2 ** round(np.log2(min(max(size, SMALLEST), LARGEST)))
        if size not in known:
            known[size] = copy(size)
        return known[size]

    return pace


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
    passes = max(int(1e6 * effort), 1000)
    flops = library.flops_fma(passes) / _best(library.pace_fma, passes)
    values, results = backend.empty(512), backend.empty(512)
    values[...] = np.linspace(0.5, 2.0, 512)
    pointers = [ffi.cast("double *", array.ctypes.data) for array in (values, results)]
    rates = {}
    for name in ("divide", "root", "exp", "log", "cube_root", "start"):
        function, passes = getattr(library, f"pace_{name}"), max(int(2e4 * effort), 20)
        rates[name] = passes * 512 / _best(lambda count: function(*pointers, 512, count), passes)

    def copy(size: int) -> float:
        source, target = backend.empty(size // 16), backend.empty(size // 16)
        source[...] = 1.0
        often = max(int(2**26 * effort) // size, 1)
        to, came_from = (ffi.cast("char *", array.ctypes.data) for array in (target, source))
        return size * often / _best(lambda count: [ffi.memmove(to, came_from, size // 2) for _ in range(count)], often)

    return Ceilings(flops, rates, _remembered(copy), divider=True)


def _cuda(backend, effort: float) -> Ceilings:
    from kernels.backend import cuda

    template = (HERE / "ceilings.cu").read_text()
    text = COPY
    for name, expression in ON_DEVICE.items():
        text += template.replace("NAME", name).replace("EXPRESSION", expression)
    module = backend._load(cuda.machine_code(text, backend.arch, "ceilings"))
    blocks, threads = max(int(4096 * effort), 1), 256

    def least(launch) -> float:
        launch()
        times = []
        for _ in range(BEST_OF):
            begin = backend.mark()
            launch()
            times.append(backend.elapsed(begin, backend.mark()))
        return min(times)

    out = backend.empty(blocks * threads)
    rates = {}
    for name in ON_DEVICE:
        passes = max(int((2000 if name == "fma" else 200) * effort), 2)
        function = module.get_function(f"pace_{name}")
        rates[name] = (
            blocks * threads * 8 * passes / least(lambda: function((blocks,), (threads,), (out.data.ptr, passes)))
        )
    rates["start"] = rates["cube_root"]  # the same function on a device
    flops = 2 * rates.pop("fma")

    def copy(size: int) -> float:
        size = int(size * min(effort, 1))
        source, target = backend.empty(size // 16), backend.empty(size // 16)
        function, n = module.get_function("pace_copy"), size // 16
        return size / least(lambda: function((-(-n // threads),), (threads,), (target.data.ptr, source.data.ptr, n)))

    return Ceilings(flops, rates, _remembered(copy), divider=False)
