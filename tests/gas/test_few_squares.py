"""Forms of constant matrices over pairs as sums of few squares (gas/few_squares.py)."""

import numpy as np
import pytest
from kernel_cases import mixture

from frame.tools.bench import inputs
from kernels import Mixture
from kernels.gas.few_squares import few_squares

EPS = np.finfo(float).eps


def mean_masses(ns):
    """sqrt(M_ij) (ns, ns), M_ij = 2 M_i M_j/(M_i + M_j), of masses from hydrogen's to dodecane's."""
    M = np.geomspace(2.0, 170.0, ns)
    return np.sqrt(2 * M[:, None] * M / (M[:, None] + M))


@pytest.mark.parametrize("ns", [50, 120])
def test_the_rows_give_the_matrix(ns):
    """12 eps: each number is a sum of some 16 products, in which terms of both signs add up to twice its size."""
    wanted = mean_masses(ns)
    rows = few_squares(wanted)

    assert len(rows) <= 24
    np.testing.assert_allclose(rows.T @ rows, wanted, rtol=12 * EPS)


def test_of_few_species_the_pairs_are_cheaper():
    assert few_squares(mean_masses(10)) is None


def test_a_matrix_that_is_no_sum_of_squares():
    """Its eigenvalues are 3 and -1."""
    assert few_squares(np.array([[1.0, 2.0], [2.0, 1.0]])) is None


@pytest.mark.parametrize("viscosity", ["chung", "residual"])
def test_of_many_species_they_take_the_place_of_the_pairs(viscosity):
    """The species in another order have other rows and the same properties. 1e-13: sums over 50 species, of which the
    viscosity takes roots and powers."""
    models = {"equation": "mapped"} if viscosity == "residual" else {}
    data = inputs.species(50, "none")
    turned = data.subset(data.names[::-1])
    state = {q: inputs.states(50, 40)[q] for q in "TpY"}
    mixes = [Mixture(species, viscosity=viscosity, **{"equation": "pr", **models}) for species in (data, turned)]

    assert (
        mixes[0].constant(f"{viscosity}_squares").kind == "rows" and mixes[0].constant(f"{viscosity}_pair").kind is None
    )
    assert mixture(10, viscosity=viscosity, **models).constant(f"{viscosity}_squares").kind is None
    there = mixes[0].properties("mu lam", **state)
    back = mixes[1].properties("mu lam", **{**state, "Y": state["Y"][::-1]})
    for name in there:
        np.testing.assert_allclose(back[name], there[name], rtol=1e-13)
