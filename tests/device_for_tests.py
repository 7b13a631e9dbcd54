"""The CUDA backend for tests: a GPU with `pytest -m gpu`, otherwise a stand-in that runs the CUDA on the CPU.

The stand-in (cuda_on_cpu) executes the real CUDA C++ and the real cuda.py. Only a GPU shows the device's own exp,
log and FMA, and the order of operations in time.
"""

import functools
import shutil
import sys

import cuda_on_cpu
import numpy as np
import pytest

from kernels import get_backend
from kernels.engine import backend as backends
from kernels.engine.backend import cuda

STAND_IN = "stand-in"


@pytest.fixture(scope="module", params=[STAND_IN, pytest.param("gpu", marks=pytest.mark.gpu)])
def be(request, tmp_path_factory):
    """The CUDA backend."""
    if request.param == "gpu":
        yield get_backend("cuda")
        return

    if not shutil.which("g++"):
        pytest.skip("the stand-in needs g++")
    machine_code = cuda_on_cpu.compiler(cuda_on_cpu.shared_folder(tmp_path_factory.getbasetemp()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", cuda_on_cpu.make())
        patch.setattr(backends, "_made", functools.cache(backends._made.__wrapped__))
        patch.setattr(cuda, "machine_code", machine_code)
        yield get_backend("cuda")


def is_gpu(be):
    return be.arrays.__version__ != STAND_IN


def bound(be, program, n, given):
    """Device arrays for a program: inputs filled, outputs NaN."""
    rows = {a: program.plan.rows(a) for a in program.plan.arguments}
    arrays = {a: be.from_host(np.full((rows[a], be.pad(n)), np.nan)) for a in rows}

    for name, values in given.items():
        if name in arrays:
            full = np.full((rows[name], be.pad(n)), np.nan)
            full[:, :n] = values
            arrays[name] = be.from_host(full)

    return arrays


def kinds(be, field):
    """Memory types of the field's first and last element: 0 pageable, 1 pinned."""
    return [be.arrays.cuda.runtime.pointerGetAttributes(field.ctypes.data + at).type for at in (0, field.nbytes - 8)]
