"""`tune` of a team kernel: every variant is right, arrays are as before, the fastest is first."""

import numpy as np
import pytest
from team_cases import JOINS, kernel

import kernels
from kernels import ArgumentError, League, MDRange, Range, Sizes, get_backend
from kernels.teams.policies import AS_DECLARED
from kernels.teams.tune import Search

TILED = {
    layout: kernel(
        f"tuned_{layout}",
        MDRange("I J", order=layout),
        header=JOINS,
        body="met_in_tiles",
        arrays=f"seen(I,J){mark}",
        writes="seen",
    )
    for layout, mark in (("right", ""), ("left", ":left"))
}
SUMMED = kernel("tuned_teams", League("E"), header=JOINS, body="cannot_tell", arrays="v(E,n)", results="total")
FIXED = kernel("tuned_fixed", League("E", team=8), header=JOINS, body="cannot_tell", arrays="v(E,n)", results="total")
FLAT = kernel("tuned_flat", Range("n"), header=JOINS, body="in_order", arrays="x(n)", writes="x", numbers="factor:real")


@pytest.mark.parametrize("layout", TILED)
def test_tiles(be, layout):
    seen = np.full((60, 40), 7.0, order="F" if layout == "left" else "C")
    arrays = be.placed(seen=seen)
    told = []
    found = TILED[layout].tune(arrays, be, rounds=1, told=told.append, quick=True)
    assert all(outcome.seconds is not None and outcome.error == 0 for outcome in found)
    assert [outcome.seconds for outcome in found] == sorted(outcome.seconds for outcome in found)
    assert len(told) == len(found) > 5 and Sizes() in [outcome.variant for outcome in found]
    assert len({outcome.variant.tile for outcome in found}) == len(found)
    np.testing.assert_array_equal(be.to_host(arrays["seen"].T), np.full((40, 60), 7.0))

    tiled = next(outcome.variant for outcome in found if outcome.variant.tile)
    run = TILED[layout].bind(arrays, be, tiled, quick=True)
    run()

    assert run.tile == tiled.tile
    np.testing.assert_array_equal(be.to_host(arrays["seen"].T), np.full((40, 60), 8.0))


def test_members_and_lanes():
    v = np.random.default_rng(5).random((7, 50))
    found = SUMMED.tune({"v": v}, "cpu", rounds=1, quick=True)
    assert Sizes() in [outcome.variant for outcome in found]
    assert Sizes("auto 4", 8) in [outcome.variant for outcome in found]
    assert all(outcome.error <= 50 * np.finfo(float).eps for outcome in found)


def test_a_variant_that_is_wrong_is_left_out():
    """Another result is told, and not timed."""

    def bind(arrays, backend, sizes=AS_DECLARED):
        return FLAT.bind(arrays, backend, quick=True, factor=2.0 if sizes.chunk == 1 else 3.0)

    search = Search(bind, FLAT, {"x": np.ones(5)}, get_backend("cpu"), {})
    right, wrong = search.run([Sizes(), Sizes(chunk=2)], 1)
    assert right.seconds and wrong.seconds is None and "results differ by 3.3e-01" in wrong.why


@pytest.mark.full
def test_kernels_without_a_choice():
    with pytest.raises(ArgumentError, match="a range has nothing to search for"):
        FLAT.tune({"x": np.ones(3)}, "cpu", factor=1.0)
    with pytest.raises(ArgumentError, match="its team is declared, since results depend on it"):
        FIXED.tune({"v": np.ones((2, 3))}, "cpu")
    assert kernels.registry.team_kernels["tuned_flat"] is FLAT
