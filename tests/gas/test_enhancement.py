"""Critical enhancement of the conductivity (enhancement = critical): the oracle, limits, reference values."""

import numpy as np
import pytest
from kernel_cases import compare, expected, mixture, states

from kernels import ArgumentError, Mixture

OPTIONS = {"equation": "mapped", "viscosity": "residual", "enhancement": "critical"}


@pytest.mark.parametrize("ns", (1, 2, 10))
@pytest.mark.quick(ns=[1, 10])
def test_from_T_p_Y(ns):
    """From the equation of state to lam."""
    names = "lam lam_background susceptibility mu"
    got = mixture(ns, **OPTIONS).properties(names, **{k: states(ns, 1000)[k] for k in "TpY"})
    compare(names, got, expected(ns, 1000, **OPTIONS), f"NS={ns}")


def test_the_background_is_the_conductivity_without():
    given = {k: states(10, 300)[k] for k in "TpY"}
    with_peak = mixture(10, **OPTIONS).properties("lam lam_background mu", **given)
    without = mixture(10, **{**OPTIONS, "enhancement": "none"}).properties("lam mu", **given)

    assert np.array_equal(with_peak["lam_background"], without["lam"])
    assert np.array_equal(with_peak["mu"], without["mu"])
    assert (with_peak["lam"] >= without["lam"]).all()


def test_where_there_is_none():
    """Above 3/2 Tc and in a thin gas what is added ends below rounding; at a liquid's triple point it is a trace."""
    mix = Mixture.from_names("N2", accuracy="reference")
    T, p = np.array([200.0, 300.0, 2000.0, 90.0, 65.0]), np.array([1e7, 3e7, 1e8, 1.0, 1e6])
    got = mix.properties("lam lam_background", T=T, p=p, X="N2:1")
    added = got["lam"] / got["lam_background"] - 1

    assert (np.abs(added[:4]) < 1e-6).all()
    assert 0 < added[4] < 0.02


def test_it_grows_without_bound_towards_the_critical_point():
    """Along the critical density from 1.2 Tc down, and more slowly than cp: heat diffuses ever more slowly."""
    mix = Mixture.from_names("N2", accuracy="reference")
    critical = mix.properties("Tc_mix vc_mix W", X="N2:1")
    rho = critical["W"] / critical["vc_mix"]
    T = critical["Tc_mix"] * (1 + np.geomspace(0.2, 1e-6, 40))

    got = mix.properties("lam lam_background cp", T=T, rho=rho, X="N2:1")
    added = got["lam"] - got["lam_background"]
    diffusivity = got["lam"] / (rho * got["cp"])

    assert (np.diff(added) > 0).all() and added[-1] > 5 * got["lam_background"][-1]
    assert (np.diff(diffusivity) < 0).all()


# Conductivity [W/m/K] at T [K], rho [kg/m3] within 6 % of Tc by CoolProp 8.0.0: N2, O2 and air Lemmon & Jacobsen 2004,
# CH4 Friend et al. 1989, CO2 Huber et al. 2016, C3H8 Marsh et al. 2002, NH3 Tufeu et al. 1984, H2O Huber et al. 2012
# (originals not seen). No number was fitted to conductivities near a critical point.
NEAR = (
    ("N2:1", 127.45, 313.3, 0.06283),
    ("N2:1", 129.98, 375.96, 0.04932),
    ("N2:1", 132.5, 219.31, 0.03223),
    ("O2:1", 156.15, 426.93, 0.06109),
    ("O2:1", 159.24, 512.32, 0.05433),
    ("O2:1", 162.33, 298.85, 0.03505),
    ("CH4:1", 192.47, 162.66, 0.1013),
    ("CH4:1", 196.28, 195.19, 0.07218),
    ("CO2:1", 307.17, 467.6, 0.09617),
    ("CO2:1", 319.33, 327.32, 0.04878),
    ("C3H8:1", 373.59, 220.48, 0.07758),
    ("C3H8:1", 388.38, 154.33, 0.04961),
    ("NH3:1", 417.73, 279.9, 0.1991),
    ("H2O:1", 653.57, 322.0, 0.4582),
    ("N2:0.7812, O2:0.2096, AR:0.0092", 133.86, 342.68, 0.06085),
    ("N2:0.7812, O2:0.2096, AR:0.0092", 136.51, 411.22, 0.05117),
)


@pytest.mark.parametrize("X, T, rho, lam", NEAR)
def test_reference_values_near_the_critical_point(X, T, rho, lam):
    """Within 15 %; without the enhancement all are 12 to 52 % low."""
    names = [part.split(":")[0] for part in X.split(", ")]
    got = Mixture.from_names(names, accuracy="reference").properties("lam lam_background", T=T, rho=rho, X=X)

    assert abs(got["lam"] / lam - 1) < 0.15
    assert got["lam_background"] / lam < 0.9


def test_each_phase_of_two_has_its_own():
    """A single phase is as with phases = single. Of two phases each has its own enhancement, near Tc; shares are by
    volume."""
    single, both = (Mixture.from_names("N2 O2", **OPTIONS, phases=phases) for phases in ("single", "equilibrium"))
    X = "N2:0.78, O2:0.22"
    T, p = np.array([100.0, 135.0, 140.0, 200.0]), np.array([2e6, 4.2e6, 5e6, 1e7])
    one = both.properties("lam beta", T=T, p=p, X=X)
    assert set(one["beta"]) <= {0.0, 1.0}
    np.testing.assert_allclose(one["lam"], single.properties("lam", T=T, p=p, X=X)["lam"], rtol=1e-9)

    two = both.properties("lam beta beta_volume rho_l rho_v Y_l Y_v", T=124.0, p=2.55e6, X=X)
    assert 0.1 < two["beta"] < 0.9
    lam_l, lam_v = (
        single.properties("lam", T=124.0, rho=two[f"rho_{phase}"], Y=two[f"Y_{phase}"])["lam"] for phase in "lv"
    )
    share = two["beta_volume"]
    np.testing.assert_allclose(two["lam"], share * lam_v + (1 - share) * lam_l, rtol=1e-9)


def test_what_it_does_not_go_with():
    with pytest.raises(ArgumentError, match="enhancement = 'critical' adds to the conductivity of viscosity = 'resid"):
        Mixture.from_names("N2", enhancement="critical", viscosity="chung")


@pytest.mark.parametrize("given", [{"viscosity": "residual"}, {"enhancement": "critical"}])
def test_an_option_of_the_default_models_needs_no_equation_beside_it(given, monkeypatch):
    """The species decide for equation `mapped`; what cannot be combined is said when they are known."""
    monkeypatch.delenv("FRAME_ACCURACY")
    mix = Mixture.from_names("N2 O2", **given)
    assert mix.options["equation"] == "mapped"

    with pytest.raises(ArgumentError, match="cannot be combined with"):
        Mixture.from_names("N2 O2", equation="pr", **given)
