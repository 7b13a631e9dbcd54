"""Soave's alpha in the smooth form, the default of pr and srk: its signs, where it bends, energy and heat capacity."""

from functools import lru_cache

import numpy as np
import pytest
from mixtures_for_tests import FILES, ROOT, changed, species_set

from kernels import Mixture, MixtureError, set_constant
from kernels.gas.equations.constants import alpha_bends, alpha_slope
from kernels.gas.equations.records import CUBICS, refuse_wrong_signs, smooth_root

EPS = np.finfo(float).eps
SOAVE = tuple(name for name, record in CUBICS.items() if record.soave)
SETS = {
    **{str(ns): species_set(ns) for ns in FILES},
    "h2_o2": Mixture.from_yaml(ROOT / "examples/mechanisms/h2_o2.yaml", "real").species,
    "ch4_o2_4": Mixture.from_yaml(ROOT / "examples/mixtures/ch4_o2_4.yaml").species,
}
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(6)


def attraction(mix, T):
    """a, a', a'' of every species alone (ns, n) at T (n,), and sqrt(T)."""
    Y = np.eye(mix.ns)[:, :, None] * np.ones(T.size)
    grid = np.broadcast_to(T, Y.shape[1:])
    found = mix.properties("a_mix a_T a_TT", T=grid, p=np.full(grid.shape, 1e5), Y=Y, backend="cpu")
    return found["a_mix"], found["a_T"], found["a_TT"]


def with_data(data, equation):
    """The species that have all that the equation needs."""
    known = np.ones(data.ns, bool)
    for field in CUBICS[equation].needs:
        known &= np.isfinite(getattr(data, field))
    return data.subset([name for name, there in zip(data.names, known) if there])


@lru_cache(None)
def path(low=150.0, high=6000.0, intervals=500):
    """Ends of intervals in T [K] (intervals + 1,), and six Gauss points of each (intervals, 6) with their weights."""
    ends = np.geomspace(low, high, intervals + 1)
    half = np.diff(ends)[:, None] / 2
    return ends, ends[:-1, None] + half * (1 + POINTS), half * WEIGHTS


@pytest.mark.parametrize("equation", CUBICS)
@pytest.mark.parametrize("species", SETS)
@pytest.mark.filterwarnings("ignore:T = .* where the polynomials")
@pytest.mark.quick(species="ch4_o2_4")
@pytest.mark.quick(equation=["pr", "mapped"], species=["1", "53"])
def test_enthalpy_is_the_integral_of_heat_capacity(species, equation):
    """h - h_ig from 150 to 6000 K at 1500 bar, far above every critical pressure, of each species alone. Six Gauss
    points on intervals of 0.74 % in T are exact to rounding, but in an interval with a bend, where the fourth
    derivative jumps: 6e-10. The published alpha is off by up to 4e-4 where |f| has its kink."""
    mix = Mixture.from_species(with_data(SETS[species], equation), equation=equation)
    ends, inner, weights = path()
    p, Y = 1.5e8, np.eye(mix.ns)[:, :, None]
    at_ends = mix.properties("h h_ig cp", T=ends, p=p, Y=Y, backend="cpu")
    inside = mix.properties("cp cp_ig", T=inner.ravel(), p=p, Y=Y, backend="cpu")

    residual = at_ends["h"] - at_ends["h_ig"]
    change = ((inside["cp"] - inside["cp_ig"]).reshape(mix.ns, *inner.shape) * weights).sum(-1)
    error = np.abs(residual[:, 1:] - residual[:, :1] - np.cumsum(change, 1))
    scale = ends[1:] * np.abs(inside["cp"]).reshape(mix.ns, *inner.shape).max(-1)

    assert (error < 1e-8 * scale).all(), [mix.names[s] for s in np.flatnonzero((error >= 1e-8 * scale).any(1))]


@pytest.mark.parametrize("kij", ["none", "dense", "low_rank", "sparse"])
def test_enthalpy_of_mixtures_is_the_integral_too(kij):
    """Twenty mixtures of ten species, in which up to seven bend below 3500 K."""
    mix = Mixture.from_species(species_set(10, kij))
    ends, inner, weights = path(150.0, 3500.0)
    Y = np.random.default_rng(3).dirichlet(np.full(10, 0.6), 20).T[:, :, None]
    at_ends = mix.properties("h h_ig", T=ends, p=1.5e8, Y=Y)
    inside = mix.properties("cp cp_ig", T=inner.ravel(), p=1.5e8, Y=Y)

    residual = at_ends["h"] - at_ends["h_ig"]
    change = ((inside["cp"] - inside["cp_ig"]).reshape(20, *inner.shape) * weights).sum(-1)
    scale = ends[1:] * np.abs(inside["cp"]).reshape(20, *inner.shape).max(-1)

    assert (np.abs(residual[:, 1:] - residual[:, :1] - np.cumsum(change, 1)) < 1e-8 * scale).all()


@pytest.mark.parametrize("equation, p", [("pr", 1e7), ("pr", 2e7), ("mapped", 2e7)])
@pytest.mark.parametrize("kind", ["volume", "pressure"])
@pytest.mark.long(kind="pressure")
@pytest.mark.usefixtures("plain_tolerances")
def test_a_reactor_keeps_its_energy(kind, equation, p):
    """H2/O2 that burns from 1000 K: with pr through the bends of O2 (1250 K) and H2O (2244 K). e at constant volume, h
    at constant pressure, to what the tolerance of the integration leaves."""
    mix = Mixture.from_yaml(ROOT / "examples/mechanisms/h2_o2.yaml", "real", equation=equation)
    kept = {"volume": "e", "pressure": "h"}[kind]
    set_constant("react_rtol", 1e-8)
    out = mix.react(1000.0, p, "H2:0.112, O2:0.888", np.array([1e-3]), kind=kind)

    Y = np.zeros((mix.ns, 1))
    Y[mix.names.index("H2")], Y[mix.names.index("O2")] = 0.112, 0.888
    before = mix.properties(kept, T=[1000.0], p=p, Y=Y)[kept]
    after = mix.properties(f"{kept} cp", T=out["T"], p=out["p"], Y=out["Y"])

    assert out["status"] == 0 and out["T"] > 3000
    assert np.abs(after[kept] - before) < 1e-8 * after["cp"] * out["T"]


@pytest.mark.parametrize("equation", SOAVE)
@pytest.mark.parametrize("species", SETS)
@pytest.mark.filterwarnings("ignore:T = .* where the polynomials")
def test_attraction_is_positive_falling_and_convex(species, equation):
    """By the kernel, over all T that it takes."""
    mix = Mixture.from_species(SETS[species], equation=equation)
    a, a_T, a_TT = attraction(mix, np.geomspace(20, 6000, 500))

    assert (alpha_slope(mix.species.omega, "smooth", equation) > 0).all(), "a species is exempt"
    assert (a > 0).all() and (a_T < 0).all() and (a_TT > 0).all()


@pytest.mark.parametrize("kappa", [1e-3, 0.03, 0.4, 0.9, 1.5, 3.0])
def test_the_form_is_positive_falling_and_convex(kappa):
    """From 0.05 to 60 Tc, by differences of its own values: second differences on a grid of 0.7 % are (0.007)^2 of the
    curvature, at least 1e-7 of alpha at these kappa, where rounding is 1e-16."""
    t = np.geomspace(0.05, 60, 1000)
    alpha = smooth_root(kappa * (np.sqrt(t) - 1))[0] ** 2
    slope = np.diff(alpha) / np.diff(t)

    assert (alpha > 0).all() and (slope < 0).all() and (np.diff(slope) > 0).all()


@pytest.mark.parametrize("equation", SOAVE)
def test_below_the_bend_it_is_the_published_form(equation):
    """To rounding up to Tc (1 + 3/(4 kappa))^2, so far above Tc; saturation pressures stay. 40 eps: g - q sqrt(T) is as
    little as a ninth of its terms at the bend, squared."""
    data = species_set(53)
    smooth, published = (Mixture.from_species(data, equation=equation, alpha=a) for a in ("smooth", "published"))
    bend = np.nan_to_num(alpha_bends(data, smooth.options), nan=1e4)
    T = np.linspace(60, 6000, 300)

    assert (bend > 2 * data.Tc).all()
    for new, old in zip(attraction(smooth, T), attraction(published, T)):
        below = T < bend[:, None]
        assert below.sum() > 3000
        assert (np.abs(new - old)[below] <= 40 * EPS * np.abs(old)[below]).all()
        assert (new != old)[~below].any(), "nothing bends"


def test_three_derivatives_are_continuous():
    """At x = 3/4, by one-sided differences of the second: its slope is 0 on either side, where y^2 is small."""
    h = 1e-6
    F, F_x, F_xx = smooth_root(np.array([0.75 - h, 0.75, 0.75 + h]))

    np.testing.assert_allclose(np.diff(F) / h, -1, atol=1e-9)
    np.testing.assert_allclose(F_x, -1, atol=1e-9)
    np.testing.assert_allclose(F_xx, 0, atol=1e-8)


def test_helium_is_exempt_and_said():
    """kappa of helium is negative: alpha rises with T."""
    data = species_set(10)
    omega = data.omega.copy()
    omega[0] = -0.39
    notes = Mixture.from_species(changed(data, omega=omega)).notes
    assert any(f"kappa <= 0 of {data.names[0]}" in note for note in notes)


def test_wrong_signs_are_refused_by_name():
    t = np.linspace(0.1, 4, 50)
    falling, rising = np.exp(-t), np.exp(t)
    good = (falling, -falling, falling)

    for rows, law in (
        ((-falling, falling, -falling), "alpha > 0"),
        ((rising, rising, rising), "a falling alpha"),
        ((2 - 0.1 * t**2, -0.2 * t, -0.2 + 0 * t), "a convex alpha"),
    ):
        F, F_t, F_tt = (np.stack(pair) for pair in zip(good, rows))
        with pytest.raises(MixtureError, match=f"'X'.*{law}"):
            refuse_wrong_signs(["good", "X"], t, F, F_t, F_tt)
