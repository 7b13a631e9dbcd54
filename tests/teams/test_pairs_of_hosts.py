"""Pairs of arrays of a Fortran host: modify, needsync, sync; on the CPU, the stand-in for CUDA, and the GPU."""

import re

import pytest
from hosts import ROOT, compiled, run
from team_cases import HOST_KERNEL
from test_interop import told

STAND_IN = """import pathlib, sys
sys.path.append({tests!r})
import cuda_on_cpu
import kernels
from kernels.engine.backend import cuda
cuda.machine_code = cuda_on_cpu.compiler(pathlib.Path({folder!r}))
sys.modules["cupy"] = cuda_on_cpu.make()
kernels.load_declarations({file!r})
"""


def ran(where: str, tmp_path):
    """A run of pairs.f90. The file of its kernels puts the stand-in in CuPy's place."""
    file = HOST_KERNEL
    if where == "stand-in":
        file = tmp_path / "rows_on_stand_in.py"
        file.write_text(STAND_IN.format(tests=str(ROOT / "tests"), folder=str(tmp_path), file=str(HOST_KERNEL)))
    backend = "cpu" if where == "cpu" else "cuda"
    return run(compiled("pairs.f90"), file, FRAME_ON_ERROR="return", FRAME_BACKEND=backend)


@pytest.mark.parametrize("where", ["cpu", "stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_pairs_of_a_fortran_host(where, tmp_path):
    done = ran(where, tmp_path)
    got = told(done)
    for call in ("register", "init", "pair", "run", "needs", "sync", "modify", "section", "unpair", "unpaired"):
        assert got[call] == (0, ""), (call, got[call])

    # On a CPU both sides are one array: nothing is behind, and what the host writes is there without a word.
    apart = where != "cpu"
    said = dict(re.findall(r"^(after run|after sync|unsaid|said|at the end) +([TF ]+)$", done.stdout, re.M))
    assert {name: words.split() for name, words in said.items()} == {
        "after run": ["T", "F", "T"] if apart else ["F", "F", "F"],
        "after sync": ["F", "T", "T"],
        "unsaid": ["T", "F"] if apart else ["F", "T"],
        "said": ["T" if apart else "F", "T"],
        "at the end": ["T"],
    }, done.stdout

    both = "host was written, and device before it: sync('host') comes between"
    assert both in got["both"][1] if apart else got["both"] == (0, "")

    for call, words in {
        "overlap": "array 'A' to pair overlaps 'A', which is paired",
        "gaps": "array 'x' to pair has gaps between its elements",
        "unknown": "array 'x' is not paired, or has another size now; paired: A, y.",
        "side": "side 'gpu', wanted host or device",
    }.items():
        assert got[call][0] == 3 and words in got[call][1], (call, got[call])
