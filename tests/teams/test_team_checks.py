"""Check mode: an index beyond an array or scratch is told with its place in the body, for arrays of a device too."""

import numpy as np
import pytest
from team_cases import JOINS, assert_arrays, kernel

from kernels import ArgumentError, BackendError, League, MDRange, Range

V = "v(n) out(n)"
TOO_FAR = kernel("one_too_far", Range("n"), header=JOINS, arrays=V, writes="out")
JUST_RIGHT = kernel("one_less", Range("n-1"), header=JOINS, body="one_too_far", arrays=V, writes="out")
LEFT_OF_ALL = {
    layout: kernel(
        f"left_of_all_{layout}",
        MDRange("I J", order=layout),
        header=JOINS,
        body="left_of_all",
        arrays=f"v(I,J){mark} out(I,J){mark}",
        writes="out",
    )
    for layout, mark in (("right", ""), ("left", ":left"))
}
SMALL_SCRATCH = kernel("small_scratch", League("2", team=4, scratch={"team 0": "s(n-1)"}), header=JOINS, arrays="v(n)")
SMALL_OWN = kernel("small_own", League("2", team=4, scratch={"member 1": "own(5)"}), header=JOINS, arrays="v(n)")
PARTS = {
    body: kernel(
        body,
        League("1", team=4, scratch={"team 0": "b(2,n)"}),
        header=JOINS.with_name("parts.h"),
        arrays="v(E,n) out(n)",
        writes="out",
    )
    for body in ("part_too_long", "part_of_no_row", "beyond_a_part", "halves_with", "halves_without")
}


@pytest.mark.parametrize("n", [1, 3, 64, 1001])
def test_an_index_beyond_an_array(n):
    """By one, in the last pack of any length; the same body over fewer indices is right."""
    arrays = {"v": np.arange(1.0 * n), "out": np.zeros(n)}
    with pytest.raises(BackendError, match=rf"joins.h:\d+: index {n} of 'v' is beyond its extent, {n} in dimension 1"):
        TOO_FAR.run(arrays, "cpu", check=True, quick=True)

    JUST_RIGHT.run(arrays, "cpu", check=True, quick=True)
    np.testing.assert_array_equal(arrays["out"][:-1], np.arange(1.0, n))


@pytest.mark.parametrize("layout", LEFT_OF_ALL)
def test_an_index_below_zero(layout):
    arrays = {"v": np.ones((5, 7)), "out": np.zeros((5, 7))}
    if layout == "left":
        arrays = {name: np.asfortranarray(a) for name, a in arrays.items()}
    with pytest.raises(BackendError, match=r"joins.h:\d+: index -1 of 'v' is beyond its extent, 7 in dimension 2"):
        LEFT_OF_ALL[layout].run(arrays, "cpu", check=True, quick=True)


@pytest.mark.parametrize(
    "k, words",
    [(SMALL_SCRATCH, "12 of 's' is beyond its extent, 12"), (SMALL_OWN, "8 of 'own' is beyond its extent, 5")],
)
def test_scratch_that_is_too_small(k, words):
    """Scratch of a team, and of a member, which has every fourth index."""
    with pytest.raises(BackendError, match=rf"joins.h:\d+: index {words} in dimension 1"):
        k.run({"v": np.ones(13)}, "cpu", check=True, quick=True)


@pytest.mark.parametrize(
    "body, words",
    [
        ("part_too_long", "5: index 14 of 'v' is beyond its extent, 13 in dimension 2"),
        ("part_of_no_row", "10: index 2 of 'v' is beyond its extent, 2 in dimension 1"),
        ("beyond_a_part", "16: index 12 of a part of 'v' is beyond its extent, 12 in dimension 1"),
        ("halves_without", "30: member 1 reads scratch that nobody has written yet"),
    ],
)
def test_parts_of_arrays_and_of_scratch(body, words):
    """A part that goes beyond its array, an index beyond a part, a barrier that is missing around a part of scratch."""
    with pytest.raises(BackendError, match=f"parts.h:{words}"):
        PARTS[body].run({"v": np.ones((2, 13)), "out": np.zeros(13)}, "cpu", check=True, quick=True)


def test_parts_that_are_right():
    arrays = {"v": np.arange(26.0).reshape(2, 13), "out": np.zeros(13)}
    PARTS["halves_with"].run(arrays, "cpu", check=True, quick=True)
    np.testing.assert_array_equal(arrays["out"], np.arange(13.0)[::-1])


def test_the_place_is_that_of_the_body():
    lines = JOINS.read_text().splitlines()
    (wrong,) = [number for number, line in enumerate(lines, 1) if "void one_too_far" in line]
    with pytest.raises(BackendError, match=f"joins.h:{wrong}: "):
        TOO_FAR.run({"v": np.zeros(4), "out": np.zeros(4)}, "cpu", check=True, quick=True)


def test_arrays_of_a_device(be):
    """`check` runs the body on a CPU, on copies; binding for a device with check=True says so."""
    arrays = be.placed(v=np.ones(9), out=np.zeros(9))
    with pytest.raises(BackendError, match=r"joins.h:\d+: index 9 of 'v' is beyond its extent"):
        TOO_FAR.check(arrays, quick=True)
    JUST_RIGHT.check(arrays, quick=True)
    assert_arrays(be, arrays, out=np.zeros(9))

    if be.memory == "device":
        with pytest.raises(ArgumentError, match="check=True is for a CPU; kernel.check.arrays. runs the body there"):
            TOO_FAR.bind(arrays, be, check=True)
