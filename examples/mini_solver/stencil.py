"""Stencil kernels: one C++ source, compiled for CPU vector units or for CUDA, run over a box of a block.

A body is a function template over the number type for one cell (CPU: one pack of neighbours in x), as point kernels
are; here the loop over the box is emitted around it. Everything a launch needs goes over in one struct.
"""

from __future__ import annotations

import pathlib

import cffi
import numpy as np

from kernels.backend import cpu, cuda

HERE = pathlib.Path(__file__).resolve().parent / "kernels"
LAYER = pathlib.Path(cuda.HERE)
THREADS = 128
# kernel: (header, arrays, numbers, switches it depends on)
KERNELS = {
    "sensor": ("convective.h", "Q gamma_c theta", "direction inv_threshold", ""),
    "convective": ("convective.h", "Q gamma_c theta flux e_vol eps_k", "direction", "ORDER DISSIPATION CONSERVATIVE"),
    "viscous": ("viscous.h", "Q T mu lam D h_Y viscous_flux", "direction inv_dx", "DIMENSIONS INV_W"),
    "update": (
        "update.h",
        "Q U U0 gamma_c gruneisen eps_k e_vol flux_x flux_y flux_z viscous_x viscous_y viscous_z source length",
        "inv_dx w0 w1",
        "CONSERVATIVE VISCOUS SOURCE DIMENSIONS",
    ),
    "begin": ("update.h", "Q U U0 gamma_c", "", "CONSERVATIVE"),
    "rates": ("update.h", "Q gamma_c mu lam cv_vol D rate", "inv_dx", "CONSERVATIVE VISCOUS DIMENSIONS"),
    "outlet": (
        "outlet.h",
        "Q gamma_c gruneisen eps_k flux",
        "direction side inv_dx sigma p_target inv_length",
        "CONSERVATIVE",
    ),
}
WHOLE = ("direction", "side")
ffi = cffi.FFI()
ffi.cdef("void stencil_run(const void *arguments, int threads);")

HEAD = """struct Arguments {{
{fields}
    long lo[3], hi[3], stride[3];
}};
{sizes}#include "{header}"
"""
CPU_LOOP = """
extern "C" void stencil_run(const Arguments *arguments, int threads)
{{
    const Arguments a = *arguments;
    (void)threads;
#pragma omp parallel for collapse(2) num_threads(threads) if (threads > 1)
    for (long k = a.lo[2]; k < a.hi[2]; ++k)
        for (long j = a.lo[1]; j < a.hi[1]; ++j)
            for (long i = a.lo[0]; i < a.hi[0]; i += VECTOR_LANES) {{
                const long left = a.hi[0] - i;
                {name}<vec>(a, i + j*a.stride[1] + k*a.stride[2], left < VECTOR_LANES ? int(left) : VECTOR_LANES);
            }}
}}
"""
CUDA_LOOP = """
extern "C" __global__ void __launch_bounds__({threads}) stencil_run(Arguments a)
{{
    const long cell = blockIdx.x*(long)blockDim.x + threadIdx.x;
    const long nx = a.hi[0] - a.lo[0], ny = a.hi[1] - a.lo[1];
    if (cell >= nx*ny*(a.hi[2] - a.lo[2])) return;
    const long row = cell/nx, k = row/ny;
    {name}<double>(a, a.lo[0] + (cell - row*nx) + (a.lo[1] + row - k*ny)*a.stride[1] + (a.lo[2] + k)*a.stride[2], 1);
}}
"""


def _layout(arrays, numbers) -> np.dtype:
    fields = [(f, np.int64) for a in arrays for f in (a, f"ld_{a}")]
    for n in numbers:
        fields.append((n, np.int64) if n in WHOLE else (n, np.float64, (3,)) if n == "inv_dx" else (n, np.float64))
    return np.dtype([*fields, ("lo", np.int64, (3,)), ("hi", np.int64, (3,)), ("stride", np.int64, (3,))])


def _source(name, switches, inv_W, on_cuda) -> str:
    header, arrays, numbers, used = KERNELS[name]
    fields = [f"    double *{a}; long ld_{a};" for a in arrays.split()]
    for n in numbers.split():
        fields.append(f"    {'long' if n in WHOLE else 'double'} {n}{'[3]' if n == 'inv_dx' else ''};")
    ns = len(inv_W)
    values = ", ".join(float(x).hex() for x in inv_W)
    table = "__constant__ double" if on_cuda else "constexpr double"
    sizes = f"constexpr int NS = {ns};\n" + (f"{table} INV_W[NS] = {{{values}}};\n" if "INV_W" in used.split() else "")
    # a switch that does not matter here is 0: cases that differ in it alone share the machine code
    macros = (
        "".join(f"#define {k} {int(v) if k in used.split() else 0}\n" for k, v in switches.items())
        + f"#define NS_GT_1 {int(ns > 1)}\n"
    )
    first = (
        f'#define SPECIES_UNROLL {ns + 5 if ns <= 24 else 4}\n#include "numbers/platform.h"\n'
        if on_cuda
        else '#include "numbers/pack.h"\n'
    )
    text = macros + first + HEAD.format(fields="\n".join(fields), sizes=sizes, header=header)
    return text + (CUDA_LOOP if on_cuda else CPU_LOOP).format(name=name, threads=THREADS)


def depends():
    return sorted((LAYER / "numbers").glob("*.h")) + sorted(HERE.glob("*.h"))


def cuda_source(name, switches, inv_W):
    """(CUDA C++, include folders): what NVRTC gets; needs no device."""
    return _source(name, switches, inv_W, True), [str(LAYER), str(HERE)]


class Stencil:
    """One stencil kernel, compiled for a backend; `bind(block, arrays)` gives run(lo, hi, **numbers).

    switches: compile-time numbers (ORDER, DISSIPATION, CONSERVATIVE, VISCOUS, SOURCE, DIMENSIONS).
    """

    def __init__(self, name, backend, switches, inv_W):
        self.name, self.backend = name, backend
        _, arrays, numbers, _ = KERNELS[name]
        self.arrays, self.numbers = arrays.split(), numbers.split()
        self.layout = _layout(self.arrays, self.numbers)
        if backend.name == "cpu":
            self._code = ffi.dlopen(
                str(cpu.shared_object(_source(name, switches, inv_W, False), depends(), f"flow-{name}"))
            )
        else:
            source, folders = cuda_source(name, switches, inv_W)
            self._code = backend._load(cuda.machine_code(source, backend.arch, f"flow-{name}", folders, depends()))

    def bind(self, stride, arrays):
        """stride: of x, y, z in cells. arrays: name -> array (rows, cells) or (cells,); those the switches leave out
        may be None."""
        filled = np.zeros(1, self.layout)
        filled["stride"] = stride
        for name in self.arrays:
            array = arrays.get(name)
            if array is not None:
                filled[name] = array.ctypes.data if self.backend.name == "cpu" else array.data.ptr
                filled[f"ld_{name}"] = array.strides[0] // 8 if array.ndim == 2 else 0
        keep = [arrays.get(n) for n in self.arrays]
        return _Bound(self, filled, keep)


class _Bound:
    def __init__(self, stencil, filled, keep):
        self._filled, self._keep = filled, keep
        backend = stencil.backend
        if backend.name == "cpu":
            pointer, function, threads = (
                ffi.cast("void *", filled.ctypes.data),
                stencil._code.stencil_run,
                backend.threads,
            )
            self._launch = lambda cells: function(pointer, threads)
        else:
            function, arguments = stencil._code.get_function("stencil_run"), (cuda.by_value(filled),)
            self._launch = lambda cells: function((-(-cells // THREADS),), (THREADS,), arguments)

    def __call__(self, lo, hi, **numbers):
        """Every cell (or face) with lo <= (i, j, k) < hi; nothing for an empty box."""
        filled = self._filled
        cells = 1
        for low, high in zip(lo, hi):
            cells *= max(high - low, 0)
        if not cells:
            return
        filled["lo"], filled["hi"] = lo, hi
        for name, value in numbers.items():
            filled[name] = value
        self._launch(cells)
