"""Operations that are counted, and the roofs that bound a pace."""

import numpy as np
import pytest
from mixtures_for_tests import species_set

from frame.tools.bench import ceilings, inputs, scaling
from kernels import Mixture, collections
from kernels.gas import counting


def test_operations_of_a_formula():
    """With s = -p_v cp and r = 1/sqrt(s cv): gamma = cp r (s r), c = vol (s r). Two choices: NaN where cp or cv is
    negative."""
    mix = Mixture(species_set(1))
    cost = counting.cost(
        mix,
        ["gamma", "c"],
        {"cp": np.full(100, 1400.0), "cv": np.full(100, 1e3), "p_v": np.full(100, -1e5), "vol": np.ones(100)},
    )

    assert {kind: count for kind, count in cost.operations.items() if count} == {
        "add": 1,
        "multiply": 6,
        "divide": 1,
        "root": 1,
        "choice": 2,
    }
    assert cost.bytes == 6 * 8 and cost.flops == 7


def test_single_precision_is_counted_apart():
    """Takahashi's factor from its table is worked on in single precision: of each pair twelve operations for the two
    cubics, and some to find them. Without the factor there is none."""
    state = inputs.states(4, 64) | {"rho": np.full(64, 10.0)}

    def operations(takahashi):
        mix = inputs.mixture(4, "none", takahashi=takahashi)
        return counting.cost(mix, collections["viscous"].outputs, state).operations

    with_factor, without = operations("smooth"), operations("off")
    assert without["narrow"] == without["narrow_divide"] == 0
    assert 12 * 6 < with_factor["narrow"] < 30 * 6 and with_factor["narrow_divide"] == 2 * 6


def test_bound_is_the_slowest_roof():
    """On a CPU the divider and the rest overlap; on a GPU divisions add to the rest, and single precision overlaps."""
    kinds = ("divide", "root", "exp", "log", "cube_root", "start", "narrow", "narrow_divide")
    operations = dict.fromkeys(counting.KINDS, 0.0) | {"add": 4e3, "divide": 3e3, "narrow": 2e3, "narrow_divide": 2e3}
    cost = counting.Cost(operations, 0)
    moved = []

    def memory(reads, writes, points):
        moved.append((reads, writes, points))
        return 1e-3

    roofs = {
        divider: ceilings.Ceilings(1.0, dict.fromkeys(kinds, 1.0), memory, divider).bound(cost, 3, 2, 100, 4)
        for divider in (True, False)
    }
    assert roofs[True] == (pytest.approx(1 / 6e3), "arithmetic")  # 4e3 + 2e3, beside 5e3 of the divider
    assert roofs[False] == (pytest.approx(1 / 7e3), "arithmetic")  # 4e3 + 3e3, beside 4e3 in single precision
    assert moved == [(3, 2, 50)] * 2  # half of a hundred doubles

    quick = ceilings.Ceilings(1e12, dict.fromkeys(kinds, 1e12), memory, True)
    assert quick.bound(cost, 3, 2, 100) == (pytest.approx(1e5), "memory")


@pytest.mark.full
def test_operations_grow_as_the_sums_do():
    """Without k_ij the equation of state is linear in NS; with a dense one a pair costs 2 multiply-adds or a little
    more."""

    def flops(ns, kij):
        state = inputs.states(ns, 64)
        state["T"] = np.full(64, 600.0)  # one branch of the polynomials, and alpha does not bend
        return counting.cost(inputs.mixture(ns, kij), collections["thermal"].outputs, state).flops

    few, more, most = (np.array([flops(ns, kij) for kij in ("none", "dense")]) for ns in (10, 30, 50))
    second = most - 2 * more + few

    assert abs(second[0]) < 1 and 4 * 20**2 * 0.9 < second[1] < 5 * 20**2
    assert flops(50, "dense") > 2 * flops(50, "lowrank") > 2 * flops(50, "none")


def test_cubic_fit():
    """Known coefficients come back; none is negative, whatever the times."""
    ns = np.array(scaling.NS)
    assert scaling.cubic(ns, 1e-9 * (8 + 2 * ns + 0.5 * ns**2.0 + 1e-3 * ns**3.0)) == pytest.approx(
        [8e-9, 2e-9, 5e-10, 1e-12], rel=1e-6
    )
    assert scaling.cubic(ns, 1e-9 * (5 + 3 * ns)) == pytest.approx([5e-9, 3e-9, 0, 0], abs=1e-18)
    assert (scaling.cubic(ns, 1e-9 * (50 - 0.1 * ns)) >= 0).all()


def test_species_of_any_number():
    """Species s is the same at every NS; the constants are the parent's to 10 %."""
    most = inputs.species(60)
    assert len(set(most.names)) == 60 and inputs.species(1).names == ("CH4",)

    for ns in (1, 10, 33):
        assert np.array_equal(inputs.species(ns).Tc, most.Tc[:ns])
    assert np.all(np.abs(most.Tc[10:20] / most.Tc[:10] - 1) < 0.1) and np.any(most.Tc[10:20] != most.Tc[:10])

    for kij, structure in (("none", "none"), ("dense", "dense"), ("lowrank", "lowrank"), ("sparse", "sparse")):
        assert inputs.mixture(50, kij, takahashi="off").facts["k_ij"] == structure
