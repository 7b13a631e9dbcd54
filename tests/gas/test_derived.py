"""Properties that follow from others, against their laws: slopes along paths, sums, other codes."""

import numpy as np
import pytest
from mixtures_for_tests import ROOT

from kernels import Mixture

EPS = np.finfo(float).eps
STATE = dict(T=np.array([160.0, 250.0, 400.0, 1500.0]), p=5e6, Y={"CH4": 0.3, "O2": 0.5, "CO2": 0.2})
NAMES = "rho h s g kappa_T alpha_p mu_JT"


def dense() -> Mixture:
    return Mixture.from_yaml(ROOT / "examples/mixtures/ch4_o2_4.yaml")


def test_the_joule_thomson_coefficient_is_the_slope_at_constant_h():
    """Central difference of T(h, p) over p (1 +- 1e-4): its error is 1e-8 of the third derivative. T is found within
    1e-12, which makes 1e-8 of T/p."""
    mix = dense()
    at = mix.properties(NAMES, **STATE)

    p = STATE["p"] * np.array([[1 - 1e-4], [1 + 1e-4]])
    T = mix.properties("T", h=at["h"], p=p, Y=STATE["Y"])["T"]

    slope = (T[1] - T[0]) / (p[1] - p[0])
    np.testing.assert_allclose(at["mu_JT"], slope, rtol=1e-6, atol=1e-8 * (STATE["T"] / STATE["p"]).max())


def test_compressibility_and_expansion_are_slopes_of_the_density():
    """Central differences over 1 +- 1e-4: errors of 1e-8 of the third derivative in units of T and p; 1e-5 is kept for
    the state near the critical point, and rounding of 1e-12."""
    mix, step = dense(), 1e-4
    at = mix.properties(NAMES, **STATE)

    def log_density(**other):
        return np.log(mix.properties("rho", **{**STATE, **other})["rho"])

    T, p = STATE["T"], STATE["p"]
    by_p = (log_density(p=p * (1 + step)) - log_density(p=p * (1 - step))) / (2 * step * p)
    by_T = (log_density(T=T * (1 + step)) - log_density(T=T * (1 - step))) / (2 * step * T)

    np.testing.assert_allclose(at["kappa_T"], by_p, rtol=1e-5)
    np.testing.assert_allclose(at["alpha_p"], -by_T, rtol=1e-5)


def test_the_gibbs_energy_is_the_sum_of_the_chemical_potentials():
    """g = sum Y_k g_Y: 64 eps of the terms, which are some ten roundings and functions each."""
    mix = dense()
    q = mix.properties("g g_Y", **STATE)

    Y = np.array([STATE["Y"].get(name, 0.0) for name in mix.names])[:, None]
    terms = np.where(Y > 0, Y * q["g_Y"], 0.0)
    assert (abs(terms.sum(0) - q["g"]) <= 64 * EPS * (abs(terms).sum(0) + abs(q["g"]))).all()


def test_an_ideal_gas_expands_as_1_over_T_and_has_no_joule_thomson_effect():
    mix = Mixture.from_yaml(ROOT / "examples/mixtures/ch4_o2_4.yaml", equation="ideal")
    q = mix.properties(NAMES, **STATE)

    np.testing.assert_allclose(q["kappa_T"], 1 / STATE["p"], rtol=8 * EPS)
    np.testing.assert_allclose(q["alpha_p"], 1 / STATE["T"], rtol=8 * EPS)
    assert (q["mu_JT"] == 0).all()


def test_cantera_has_the_same_numbers():
    """Cantera's Peng-Robinson with Cantera's alpha; its sums of terms differ in the last bits, the slopes cancel."""
    ct = pytest.importorskip("cantera")
    path = ROOT / "examples/mixtures/ch4_o2_4.yaml"
    q = Mixture.from_yaml(path, accuracy="cantera").properties("g kappa_T Pr", **STATE)

    gas = ct.Solution(str(path))
    for k, T in enumerate(STATE["T"]):
        gas.TPY = T, STATE["p"], STATE["Y"]
        np.testing.assert_allclose(q["g"][k], gas.gibbs_mass, rtol=1e-9)
        np.testing.assert_allclose(q["kappa_T"][k], gas.isothermal_compressibility, rtol=1e-8)
        np.testing.assert_allclose(q["Pr"][k], gas.viscosity * gas.cp_mass / gas.thermal_conductivity, rtol=1e-8)


def test_lewis_numbers_give_their_diffusion_back():
    """D_k of option lewis = Le_k is D: 8 roundings."""
    mix = dense()
    state = {**STATE, "T": 400.0}
    q = mix.properties("Le D", **state)

    again = Mixture.from_yaml(ROOT / "examples/mixtures/ch4_o2_4.yaml", lewis=list(q["Le"]))
    np.testing.assert_allclose(again.properties("D_lewis", **state)["D_lewis"], q["D"], rtol=8 * EPS)
