"""Arrays that the layer allocates for a Fortran host where kernels work: on a CPU, the stand-in for CUDA, the GPU."""

import re

import pytest
from hosts import SOURCES, compiled, run
from test_interop import told

REFUSED = {
    "negative": "bytes = -8, wanted 0 or more.",
    "extents": "the array to copy has the extents 5, 5, 3, its copy 5, 5, 2.",
    "gaps": "an array has gaps between its elements, wanted whole arrays.",
    "twice": "no array of frame_allocate begins at",
    "inside": "it lies inside the array at 0x",
    "finalized": "was it deallocated before?",
}
FREED = {"freed": "contraction 'rows': array 'D': no memory is at", "to freed": "array 'to': no memory is at"}


@pytest.mark.parametrize("where", ["cpu", "stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_arrays_of_a_fortran_host(where, tmp_path):
    """Copies, calls with all arrays of the device and with some, other kinds, what is refused."""
    file = SOURCES / "stand_in.py" if where == "stand-in" else "-"
    backend = "cpu" if where == "cpu" else "cuda"
    done = run(compiled("own_arrays.f90"), file, FRAME_ON_ERROR="return", FRAME_BACKEND=backend, STAND_IN=str(tmp_path))
    got = told(done)

    right = re.findall(r"(?m)^(null|shapes|device|out|in|from .*|kinds|bytes|gone)((?: [TF])+)$", done.stdout)
    assert len(right) == 9 and all("F" not in words for _, words in right), done.stdout
    assert got["before init"][0] == 2
    for call in "allocate|copy|device|out|in|nothing|of nothing|unset|bytes|deallocate|other".split("|"):
        assert got[call] == (0, ""), (call, got[call])

    # Memory that a CPU's program has freed is still there: nobody can tell.
    for call, words in {**REFUSED, **({} if where == "cpu" else FREED)}.items():
        assert got[call][0] == 3 and words in got[call][1], (call, got[call])
