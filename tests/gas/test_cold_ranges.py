"""Ideal-gas heat capacities below the range of NASA's polynomials (cold_cp = fitted)."""

import dataclasses
from functools import lru_cache

import numpy as np
import pytest
from kernel_cases import mixture, states
from mechanisms_for_tests import text
from mixtures_for_tests import changed, species_set

from kernels import Mixture
from kernels.gas.species import cold, fluids
from kernels.gas.species.fluids import fluid_of

EPS = np.finfo(float).eps
R = 8.31446261815324
ROWS = cold.cold_ranges()


@lru_cache(None)
def cold_mixture(ns, **options):
    return mixture(ns, cold_cp="fitted", **options)


def with_rows(mix):
    """[(index, row)] of the species that have a cold range."""
    found = []
    for s, (name, W) in enumerate(zip(mix.names, mix.species.W)):
        fluid = fluid_of(name, W)
        if fluid and fluid.fluid in ROWS:
            found.append((s, ROWS[fluid.fluid]))
    return found


def pure(mix, s):
    return np.eye(mix.ns)[:, s, None]


# ---- the table

# Species, T [K], cp0/R of CoolProp 8.0.0: N2 Span et al. 2000, O2 Stewart et al. 1991, CH4 Setzmann & Wagner 1991, H2
# Leachman et al. 2009, CO2 Span & Wagner 1996, H2O Wagner & Pruss 2002, CO Lemmon & Span 2006 (originals not seen).
REFERENCE = (
    ("N2", 63.0, 3.50021),
    ("N2", 250.0, 3.50132),
    ("O2", 60.0, 3.50277),
    ("O2", 150.0, 3.50144),
    ("CH4", 100.0, 4.00215),
    ("CH4", 180.0, 4.01529),
    ("H2", 30.0, 2.50001),
    ("H2", 77.0, 2.57563),
    ("H2", 150.0, 3.05295),
    ("CO2", 190.0, 3.83556),
    ("H2O", 195.0, 4.01065),
    ("CO", 80.0, 3.50016),
)


@pytest.mark.parametrize("name, T, cp", REFERENCE)
def test_heat_capacities_of_reference_equations(name, T, cp):
    """Within the error that the table states, and 0.6 % more: cp and its slope at T_min are those of the species' own
    polynomial. Hydrogen's is 1 % off there, and of nitrogen's the slope."""
    mix = cold_mixture(1 if name == "N2" else 10)
    row = ROWS[name]
    s = mix.names.index(name)
    if not T < mix.species.T_min[s]:
        pytest.skip("the file's polynomial reaches down to there")

    got = mix.properties("cp_ig", T=T, Y=f"{name}:1")["cp_ig"] * mix.species.W[s] / R
    assert abs(got / cp - 1) < (row.error + 0.6) / 100


def test_polynomials_alone_are_off():
    """The purpose of the option: errors of the extrapolated polynomials, for hydrogen at 77 K and methane at 100 K."""
    for name, T, cp, off in (("H2", 77.0, 2.57563, 0.1), ("CH4", 100.0, 4.00215, 0.05)):
        mix = mixture(10)
        W = mix.species.W[mix.names.index(name)]
        got = mix.properties("cp_ig", T=T, Y=f"{name}:1")["cp_ig"] * W / R
        assert abs(got / cp - 1) > off, name


@pytest.mark.parametrize("fluid", ROWS)
def test_rows_against_coolprop(fluid):
    """The table has the errors that it states, by the package that it was fitted to."""
    pytest.importorskip("CoolProp")
    from kernels.gas.fits import cold_ranges as maker

    row = ROWS[fluid]
    T = np.linspace(row.T_low, row.T_high, 40)
    cp = np.polynomial.polynomial.polyval(T, row.a)

    off = 100 * np.abs(cp / maker.reference(fluid, T) - 1).max()
    assert off <= 1.05 * row.error + 1e-3
    assert maker.lowest(fluid) == row.T_low


def test_every_fluid_but_atoms_has_a_cold_range():
    assert set(ROWS) == set(fluids.fluids()) - {"Ar", "He"}


@pytest.mark.parametrize("T_min", [200.0, 298.15, 300.0])
@pytest.mark.parametrize("fluid", ROWS)
def test_a_heat_capacity_everywhere(fluid, T_min):
    """Joined to a polynomial that is 1 % off at T_min, cp/R stays above 2.4 down to 20 K. An atom has 2.5; hydrogen's
    fit is 0.6 % below it at 35 K, parahydrogen's 3 %."""
    row = ROWS[fluid]
    low = np.zeros(7)
    low[0] = 1.01 * np.polynomial.polynomial.polyval(T_min, row.a)
    name = {value: key for key, value in reversed(fluids.names().items())}[fluid]
    data = changed(
        species_set(1).subset(["N2"], shown=[name]),
        W=np.array([fluids.fluids()[fluid].M]),
        nasa_low=low[None],
        nasa_high=low[None],
        T_min=np.array([T_min]),
    )

    mix = Mixture(data, cold_cp="fitted")
    T = np.linspace(20.0, T_min, 300)
    cp = mix.properties("cp_ig", T=T, Y=np.ones((1, 300)))["cp_ig"] * data.W[0] / R
    if row.T_low < T_min:
        assert cp.min() > 2.4 and abs(cp[-1] / low[0] - 1) < 1e-12
    else:
        np.testing.assert_allclose(cp, low[0], rtol=4 * EPS)


# ---- consistency

QUADRATURE = np.polynomial.legendre.leggauss(40)


@pytest.mark.parametrize("ns", (1, 10))
def test_h_and_s_are_integrals_of_cp(ns):
    """From 25 K to 30 K below T_min, and on across T_min, for each species: Gauss quadrature of cp and cp/T, exact for
    the former's powers. 32 eps of the terms: h and s hold constants of formation."""
    mix = cold_mixture(ns)
    x, weight = QUADRATURE

    for s, _ in with_rows(mix):
        T_min = mix.species.T_min[s]
        for T_low, T_high in ((25.0, T_min - 30), (T_min - 30, T_min), (T_min, T_min + 40)):
            T = np.r_[T_low, T_high, (T_high + T_low + x * (T_high - T_low)) / 2]
            got = mix.properties("h_ig s_ig cp_ig", T=T, p=1e5, Y=pure(mix, s))
            step = weight * (T_high - T_low) / 2

            h, entropy = np.diff(got["h_ig"][:2])[0], np.diff(got["s_ig"][:2])[0]
            of_h, of_s = (step * got["cp_ig"][2:]).sum(), (step * got["cp_ig"][2:] / T[2:]).sum()
            size_h = np.abs(got["h_ig"][:2]).sum() + of_h
            size_s = np.abs(got["s_ig"][:2]).sum() + of_s

            assert abs(h - of_h) <= 32 * EPS * size_h, (mix.names[s], T_low)
            assert abs(entropy - of_s) <= 32 * EPS * size_s, (mix.names[s], T_low)


@pytest.mark.parametrize("ns", (1, 10))
def test_the_join_is_smooth(ns):
    """cp and dcp/dT, h and s on both sides of T_min, 0.001 K apart. cp'' is below 10 cp/T_min^2 (hydrogen has 2); so
    dcp/dT moves by less than 5e-5 of cp/T_min, and rounding moves it by 1e-16 T_min/0.001 = 3e-11."""
    mix = cold_mixture(ns)
    step = 1e-3

    for s, _ in with_rows(mix):
        T_min = mix.species.T_min[s]
        T = T_min + step * np.array([-2.0, -1.0, 1.0, 2.0])
        got = mix.properties("cp_ig h_ig s_ig", T=T, p=1e5, Y=pure(mix, s), precision="wide")
        cp = got["cp_ig"]

        below, above = (cp[1] - cp[0]) / step, (cp[3] - cp[2]) / step
        assert abs(above - below) < 5e-5 * cp[0] / T_min, mix.names[s]
        assert abs(cp[2] - cp[1] - 2 * step * below) < 10 * cp[0] * (step / T_min) ** 2, mix.names[s]
        np.testing.assert_allclose(got["h_ig"][2] - got["h_ig"][1], 2 * step * cp[0], rtol=1e-5)
        np.testing.assert_allclose(got["s_ig"][2] - got["s_ig"][1], 2 * step * cp[0] / T_min, rtol=1e-5)


def test_nothing_changes_above():
    """From the first temperature of its polynomials on, a species has the bits that it has without cold ranges, also
    beside a colder point."""
    T = np.array([200.0, 250.0, 300.0, 900.0, 1000.0, 2500.0, 3000.0])
    Y = np.tile(np.full((10, 1), 0.1), T.size)
    plain, fitted = (m.properties("cp_ig h_ig s_ig", T=T, p=1e5, Y=Y) for m in (mixture(10), cold_mixture(10)))
    warm = T >= mixture(10).species.T_min.max()
    assert warm.sum() >= 4

    T_beside = T.copy()
    T_beside[0] = 90.0
    beside = cold_mixture(10).properties("cp_ig h_ig s_ig", T=T_beside, p=1e5, Y=Y)

    for name in plain:
        assert (plain[name][warm] == fitted[name][warm]).all(), name
        assert (fitted[name][1:] == beside[name][1:]).all(), name


def test_the_options_default():
    """polynomial, but with equation mapped, unless the caller says so."""
    assert mixture(10).options["cold_cp"] == "polynomial"
    assert mixture(10, equation="mapped").options["cold_cp"] == "fitted"
    assert mixture(10, equation="mapped", cold_cp="polynomial").options["cold_cp"] == "polynomial"

    notes = " ".join(cold_mixture(10).notes)
    assert "cold_ranges.csv" in notes and "CH4" in notes


# ---- other forms and other users of the polynomials


def nine(data):
    """The same species with polynomials of nine coefficients."""
    rows = np.zeros((data.ns, 2, 9))
    for at, seven in enumerate((data.nasa_low, data.nasa_high)):
        rows[:, at, 2:7], rows[:, at, 7:] = seven[:, :5], seven[:, 5:]
    return changed(
        data,
        nasa9=rows,
        T_break=np.stack([data.T_min, data.T_mid, data.T_max], 1),
        **dict.fromkeys(("nasa_low", "nasa_high", "T_mid")),
    )


def test_polynomials_of_nine_coefficients():
    """The same numbers in the other form give the same properties: 64 eps, and 1/T and T^2 in front of zeros."""
    data = species_set(10)
    s = {k: states(10, 400)[k] for k in "TpY"}
    seven, other = (Mixture(d, cold_cp="fitted", diffusion="fuller") for d in (data, nine(data)))
    cold_points = s["T"] < data.T_min.max()
    assert cold_points.mean() > 0.02

    names = "cp_ig h_ig s_ig h_Y"
    got, wanted = other.properties(names, **s), seven.properties(names, **s)
    size = {"cp_ig": 1e4, "h_ig": 1e8, "s_ig": 1e5, "h_Y": 3e8}
    for name in got:
        assert np.abs(got[name] - wanted[name]).max() < 64 * EPS * size[name], name


def test_partial_enthalpies_know_it():
    """sum Y_k h_k = h of an ideal gas, h_k of each species alone, in the cold too."""
    mix = mixture(10, equation="ideal", cold_cp="fitted", viscosity="sutherland", takahashi="off")
    s = {k: states(10, 400)[k] for k in "TpY"}
    got = mix.properties("h_Y h_ig g_Y s_Y", **s)

    size = np.abs(got["h_Y"] * s["Y"]).sum(0)
    assert (np.abs((got["h_Y"] * s["Y"]).sum(0) - got["h_ig"]) <= 64 * EPS * size).all()
    np.testing.assert_allclose(got["h_Y"] - s["T"] * got["s_Y"], got["g_Y"], atol=64 * EPS * np.abs(got["h_Y"]).max())


def test_equilibrium_constants_know_it(tmp_path):
    """Rates forward over backward are exp(-sum nu_k mu_k/RT) with the chemical potentials mu_k = W_k g_k of the state,
    on both sides of T_min = 300 K. 1e-9: exponents are up to 600, of terms of formation 3 times as large."""
    path = tmp_path / "mechanism.yaml"
    path.write_text(text())
    options = dict(equation="ideal", viscosity="sutherland", takahashi="off", cold_cp="fitted")
    species = Mixture.from_yaml(path, **options).species
    species = dataclasses.replace(species, T_min=np.full(species.ns, 300.0))
    mix = Mixture(species, **options)

    T = np.array([220.0, 250.0, 299.0, 301.0, 900.0])
    Y = np.random.default_rng(1).dirichlet(np.ones(mix.ns), T.size).T
    got = mix.properties("rate_f rate_r g_Y", T=T, p=1e6, Y=Y)
    mu = got["g_Y"] * species.W[:, None] / (R * T)

    checked = 0
    for number, reaction in enumerate(species.mechanism.reactions):
        if not reaction.reversible:
            continue
        affinity = -sum(count * mu[k] for k, count in reaction.net.items())
        with np.errstate(divide="ignore"):
            found = np.log(got["rate_f"][number] / got["rate_r"][number])
        inside = np.abs(affinity) < 300  # rates are bounded beyond
        np.testing.assert_allclose(found[inside], affinity[inside], rtol=1e-9, atol=1e-9, err_msg=str(number))
        checked += inside[:3].sum()

    assert checked > 20
    assert len(with_rows(mix)) == 3
