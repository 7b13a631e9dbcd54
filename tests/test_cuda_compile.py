"""CUDA without a GPU: every source the emitter can produce compiles for sm_90, and the marshal kernels do what they say.

NVRTC compiles on any machine. The marshal kernels are also run on the CPU, thread by thread, against NumPy.
"""
import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from kernels.backend import nvrtc
from kernels.errors import BackendError
from kernels.marshal import cuda as marshal

ARCH = "sm_90"


def test_nvrtc_says_what_is_wrong():
    with pytest.raises(BackendError, match="sm_90.*broken.cu(.|\n)*undefined_name"):
        nvrtc.compile_cubin("__global__ void k(double *x) { x[0] = undefined_name; }", ARCH, name="broken.cu")


def test_marshal_compiles_without_spills():
    cubin, log = nvrtc.compile_cubin(marshal.SOURCE.read_text(), ARCH, ["--std=c++17", nvrtc.REPORT])
    report = nvrtc.resources(log)
    assert cubin.startswith(b"\x7fELF")
    assert set(report) == {"gather_stripe", "scatter_stripe"}
    assert all(r["spill_stores"] == 0 and r["registers"] <= 64 for r in report.values()), report


# The marshal kernels as plain C++: a loop over the grid takes the place of the launch.
ON_CPU = r"""
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(n)
struct Index { int x, y, z; };
static Index blockIdx, gridDim, threadIdx;
#include "%s"
#define LAUNCH(kernel, A, B) extern "C" void run_##kernel(A block, B view, long long row, const Selection *s) { \
    gridDim = {(s->count + 255)/256, 3, 1}; \
    for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y) for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) \
        for (threadIdx.x = 0; threadIdx.x < 256; ++threadIdx.x) kernel(block, view, row, *s); }
LAUNCH(gather_stripe, const double *, double *)
LAUNCH(scatter_stripe, double *, const double *)
"""


@pytest.fixture(scope="module")
def on_cpu(tmp_path_factory):
    """The marshal kernels, compiled for the CPU."""
    if not shutil.which("g++"):
        pytest.skip("needs g++")
    folder = tmp_path_factory.mktemp("marshal")
    (folder / "run.cpp").write_text(ON_CPU % marshal.SOURCE)
    subprocess.run(["g++", "-O1", "-shared", "-fPIC", "-o", folder / "run.so", folder / "run.cpp"], check=True)
    return ctypes.CDLL(str(folder / "run.so"))


@pytest.mark.parametrize("seed", range(20))
def test_marshal_kernels_against_numpy(on_cpu, seed):
    """Random shapes, fringes, strides (a reversed direction too) and stripes; nothing outside the selection is touched."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 12, 4))
    lo = tuple(int(rng.integers(0, n)) for n in shape)
    n = tuple(int(rng.integers(1, s - o + 1)) for s, o in zip(shape, lo))
    field = rng.random(shape[::-1]).T if seed % 2 else rng.random(shape)          # x fastest, or variable fastest
    if seed % 3 == 0:
        field = field[:, ::-1]
    chosen = field[tuple(slice(o, o + m) for o, m in zip(lo, n))]
    points = n[0]*n[1]*n[2]
    start = int(rng.integers(0, points))
    count = int(rng.integers(1, points - start + 1))
    expected = chosen.reshape(points, n[3], order="F")[start:start + count].T

    select = np.array([tuple(s//8 for s in field.strides) + (n[0], n[1], start, count, n[3])], dtype=marshal.SELECTION)
    view = np.full((n[3], count + 5), np.nan)
    first = ctypes.c_void_p(chosen.__array_interface__["data"][0])
    arguments = (first, view.ctypes.data_as(ctypes.c_void_p), ctypes.c_longlong(count + 5), select.ctypes.data_as(ctypes.c_void_p))
    on_cpu.run_gather_stripe(*arguments)
    assert np.array_equal(view[:, :count], expected) and np.isnan(view[:, count:]).all()

    after = field.copy(order="K")
    wanted = after[tuple(slice(o, o + m) for o, m in zip(lo, n))]
    flat = wanted.reshape(points, n[3], order="F").copy()
    flat[start:start + count] = -expected.T
    wanted[...] = flat.reshape(n, order="F")
    view[:, :count] = -expected
    on_cpu.run_scatter_stripe(*arguments)
    assert np.array_equal(field, after)
