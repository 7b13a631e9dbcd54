"""Mixtures that are two liquids until they boil: bubble points are those of their first vapour."""

import numpy as np
import pytest
from reference import phases as oracle

from kernels import Mixture

# Names, k_ij, mole fractions, p [Pa]
CASES = {
    "water and heptane": ("H2O NC7H16", {"H2O/NC7H16": 0.5}, [0.5, 0.5], [1e5, 1e6]),
    "a liquid that is nearly all water": ("H2O NC7H16", {"H2O/NC7H16": 0.5}, [0.99, 0.01], [1e5, 1e6]),
    "water, heptane and methane": ("H2O CH4 NC7H16", {"H2O/NC7H16": 0.5, "H2O/CH4": 0.4}, [0.5, 0.05, 0.45], [3e6]),
    "carbon dioxide and a natural gas": ("CO2 CH4 C3H8 N2", None, [0.25] * 4, [1e5]),
}


def mixture(name):
    names, kij, X, p = CASES[name]
    return Mixture.from_names(names, phases="equilibrium", equation="pr", kij=kij), np.array(X), np.array(p)


def moles(mix, Y):
    """Mole fractions of mass fractions, none of them 0."""
    n = np.maximum(Y / mix.species.W[:, None], 1e-200)
    return n / n.sum(0)


def vapour_over(mix, T, p, liquids):
    """Sum of W_i (points,). The fugacity of each species is that of the liquid which has more of it."""
    f = [x * np.exp(oracle.ln_phi(mix.species, T, p, x)) for x in liquids]
    f = np.where(liquids[0] > liquids[1], *f)
    W = f
    for _ in range(40):
        W = f / np.exp(oracle.ln_phi(mix.species, T, p, W / W.sum(0)))
    return W.sum(0)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.quick(name=["water and heptane", "carbon dioxide and a natural gas"])
def test_their_first_vapour(name):
    """NaN came. The oracle's vapour over both liquids, W_i = f_i/(p phi_i), sums to less than 1 at 1e-5 of T below the
    bubble point and to more at 1e-5 above: by 1e-5 times h/(RT) of the vaporisation, which is 1 to 20. No other phase
    lies below the planes of the liquids: 1e-7 RT, from all starts. The bubble pressure leads back, 1e-7."""
    mix, X, p = mixture(name)
    T = mix.bubble_T(p, X)
    assert np.isfinite(T).all()

    below = mix.properties("phases_status Y_l Y_v rho_v", T=T * (1 - 1e-5), p=p, X=X[:, None])
    assert (below["phases_status"] == 1).all() and (below["rho_v"] > 300).all()
    liquids = [moles(mix, below[name]) for name in ("Y_l", "Y_v")]
    for x in liquids:
        tm, _ = oracle.tangent_distance(mix.species, T * (1 - 1e-5), p, x, steps=60)
        assert (tm > -1e-7).all()

    excess = [vapour_over(mix, T * factor, p, liquids) - 1 for factor in (1 - 1e-5, 1 + 1e-5)]
    assert ((-2e-4 < excess[0]) & (excess[0] < -1e-5)).all() and ((1e-5 < excess[1]) & (excess[1] < 2e-4)).all()

    np.testing.assert_allclose(mix.bubble_p(T, X), p, rtol=1e-7)
    assert (mix.dew_T(p, X) > T).all()


def test_all_compositions_of_two_liquids_boil_at_one_temperature():
    """Two species, two liquids and a vapour: one T at each p (Gibbs' phase rule). The flash takes pairs for the same
    within 1e-8 RT, which is 1e-9 of T for a mole of the liquid that boils: 1e-7 from a share of 0.01 on, 1e-4 from 1e-5
    on. Where a species is too little for a liquid of its own, the mixture boils later."""
    mix, _, _ = mixture("water and heptane")
    x = np.array([0.001, 0.01, 0.3, 0.6, 0.9, 0.99999])
    T = mix.bubble_T(1e5, np.stack([x, 1 - x]))
    np.testing.assert_allclose(T[1:5], T[2], rtol=1e-7)
    np.testing.assert_allclose(T[5], T[2], rtol=1e-4)
    assert T[0] > T[2] + 0.1


def test_a_liquid_that_splits_and_then_boils():
    """Above 40 MPa one liquid, then two, of which the lighter boils at 2.8 MPa: that is the bubble pressure."""
    mix = Mixture.from_names("CO2 CH4 C3H8 N2", phases="equilibrium", equation="mapped")
    X = [0.3, 0.3, 0.3, 0.1]
    p = mix.bubble_p(150.0, X)
    np.testing.assert_allclose(mix.bubble_T(p, X), 150.0, rtol=1e-8)
    assert 2e6 < p < 4e6


def test_water_and_liquid_carbon_dioxide():
    """They boil a little below the pressure of carbon dioxide alone: water lowers it by its share in that liquid,
    up to 2 %. Above its critical temperature none boils. Each point has the bits that it has alone."""
    mix, pure = (Mixture.from_names(names, phases="equilibrium", equation="mapped") for names in ("CO2 H2O", "CO2"))
    T = np.array([280.0, 290.0, 300.0, 310.0])
    with pytest.warns(RuntimeWarning, match="NaN at 1 of 4 points"):
        p = mix.bubble_p(T, [0.5, 0.5])
    assert np.isnan(p[3])
    ratio = p[:3] / pure.bubble_p(T[:3], [1.0])
    assert ((0.98 < ratio) & (ratio < 1)).all()
    assert [float(mix.bubble_p(one, [0.5, 0.5])) for one in T[:3]] == p[:3].tolist()


def test_wet_heptane_to_its_upper_end():
    """Bubble pressures of water and heptane from 470 to 512 K, where first two liquids boil and then one: none missing,
    and they lead back. The lighter liquid is above the temperature at which its isotherms have a loop."""
    mix = Mixture.from_names("H2O NC7H16", phases="equilibrium", equation="pr", kij={"H2O/NC7H16": 0.0})
    T = np.linspace(470.0, 512.0, 15)
    p = mix.bubble_p(T, [0.5, 0.5])
    assert (np.diff(p) > 0).all()
    np.testing.assert_allclose(mix.bubble_T(p, [0.5, 0.5]), T, rtol=1e-8)
