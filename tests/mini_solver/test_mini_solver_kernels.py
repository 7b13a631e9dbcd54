"""The mini solver's point kernels against textbook sums in extended precision; derivatives by central differences of
those.

About 20 s, most of it compiling.
"""

import dataclasses

import numpy as np
import pytest
from mixtures_for_tests import species_set
from reference import cubic, ideal_gas, species
from reference.tracked import LD

from examples.mini_solver.layer import declare, of_equation
from kernels import Mixture

POINTS = 60
R = species.R
PAIRS = dict(mixing="pseudocritical", alpha="published")


def states(ns, n=POINTS, seed=3, **options):
    """T [K] and partial densities [kg/m3] of states at 1 to 300 bar, liquid-like to gas."""
    random = np.random.default_rng([seed, ns])
    T, p = random.uniform(100, 2900, n), np.exp(random.uniform(np.log(1e5), np.log(3e7), n))
    Y = random.exponential(size=(ns, n))
    Y /= Y.sum(0)
    mix = Mixture(species_set(ns), **options)

    return T, p, mix.properties("rho", T=T, p=p, Y=Y)["rho"] * Y


def textbook(data, T, rho_k, equation="pr"):
    """p [Pa] and rho e [J/m3] of T and rho_k in extended precision."""
    sp = species.arrays(data)
    T, n_k = np.asarray(T, LD), np.asarray(rho_k, LD) / sp.W[:, None]
    n = n_k.sum(0)
    X, v, eos = n_k / n, 1 / n, cubic.of_mixture(n_k, sp, dict(equation=equation))
    a, a_T, _, b = cubic.mixture_ab(T, X, sp, equation=equation)
    _, h0, _ = ideal_gas.mixture(T, np.full_like(T, 1e5), X, sp)
    p = R * T / (v - b) - a / cubic.attraction(v, b, eos)[0]

    return p, n * (h0 - R * T + (T * a_T - a) * cubic.departure_log(v, b, eos))


def slopes(data, T, rho_k, equation):
    """Derivatives (p_T, e_T, p_k, e_k) of textbook() by central differences: step 1e-6 in extended precision leaves
    1e-11."""
    T, rho_k, h = np.asarray(T, LD), np.asarray(rho_k, LD), LD(1e-6)

    def difference(T0, r0, T1, r1, width):
        return [(a - b) / width for a, b in zip(textbook(data, T1, r1, equation), textbook(data, T0, r0, equation))]

    p_T, e_T = difference(T * (1 - h), rho_k, T * (1 + h), rho_k, 2 * h * T)

    p_k, e_k = [], []
    for k in range(len(rho_k)):
        step = np.zeros_like(rho_k)
        step[k] = h * rho_k.sum(0)
        a, b = difference(T, rho_k - step, T, rho_k + step, 2 * step[k])
        p_k.append(a)
        e_k.append(b)

    return p_T, e_T, np.array(p_k), np.array(e_k)


@pytest.fixture(scope="module", autouse=True)
def declared():
    declare()


@pytest.mark.parametrize(
    "ns, kij, equation",
    [
        (1, "file", "pr"),
        (2, "file", "pr"),
        (10, "file", "pr"),
        (10, "none", "pr"),
        (10, "dense", "srk"),
        (2, "file", "vdw"),
        (10, "dense", "rkpr"),
        (10, "low_rank", "pr"),
        (10, "sparse", "pr"),
        (53, "file", "pr"),
        (53, "dense", "pr"),
    ],
)
@pytest.mark.quick(kij="file")
@pytest.mark.quick(equation=["rkpr", "vdw"])
def test_states_and_slopes(ns, kij, equation):
    data = species_set(ns, kij)
    mix = Mixture(data, equation=equation)
    T, p, rho_k = states(ns, equation=equation)
    q = mix.properties("p_eos e_vol cv_vol gamma_c gruneisen h_Y eps_k", T=T, rho_k=rho_k)
    p, e = textbook(data, T, rho_k, equation)
    p_T, e_T, p_k, e_k = slopes(data, T, rho_k, equation)
    rho = np.asarray(rho_k, LD).sum(0)
    stiff = (p_k * np.asarray(rho_k, LD)).sum(0)  # rho dp/drho at constant T

    # Dense liquids: p is the difference of terms up to a thousand times larger.
    size_p = np.abs(p) + R * np.asarray(T) * (np.asarray(rho_k, LD) / np.asarray(data.W)[:, None]).sum(0) * 30
    assert (np.abs(q["p_eos"] - p) < 1e-13 * size_p).all()
    assert (np.abs(q["e_vol"] - e) < 1e-12 * (np.abs(e) + e_T * T)).all()

    tight = 1e-9  # of the differences: 1e-11, over their own cancellation
    assert (np.abs(q["cv_vol"] / e_T - 1) < tight).all()
    assert (np.abs(q["gruneisen"] / (p_T / e_T) - 1) < tight).all()

    g = (stiff + T * p_T * p_T / e_T) / p
    assert (np.abs(q["gamma_c"] - g) < tight * np.abs(g) * np.maximum(1, size_p / p)).all()

    scale = np.abs(e_k).max(0) + e_T * T / rho + T * p_T * np.abs(p_k / stiff).max(0)
    assert (np.abs(q["h_Y"] - (e_k + T * p_T * p_k / stiff)) < tight * scale).all()
    assert (np.abs(q["eps_k"] - (e_k - e_T / p_T * p_k)) < tight * (scale + e_T / p_T * np.abs(p_k))).all()


@pytest.mark.parametrize(
    "ns, options",
    [
        *((ns, {}) for ns in (1, 2, 10)),
        *((2, dict(equation=e)) for e in ("rk", "vdw", "rkpr", "mapped")),
        (10, PAIRS),
        (10, dict(alpha="published")),
    ],
    ids=lambda x: " ".join(x.values()) if isinstance(x, dict) else str(x),
)
@pytest.mark.long(ns=2, options=[{"equation": "rk"}, {"equation": "vdw"}, {}])
def test_temperature_of_pressure_and_of_energy(ns, options):
    """By a quadratic, or by Newton's method where alpha bends or is general, or pairs have their own."""
    mix = Mixture(species_set(ns), **options)
    T, p, rho_k = states(ns, 400, **options)
    q = mix.properties("p_eos e_vol cv_vol gruneisen", T=T, rho_k=rho_k)
    back = mix.properties("T", p=q["p_eos"], rho_k=rho_k)["T"]
    # an error eps p in p moves T by eps p/p_T; the sums behind p are larger than p by the factor that size_p above has
    n = (rho_k / mix.species.W[:, None]).sum(0)
    limit = 1e-13 * (q["p_eos"] + 30 * 8.314 * n * T) / (q["gruneisen"] * q["cv_vol"])

    assert (np.abs(back - T) < limit + 1e-13 * T).all()
    found = mix.kernel(of_equation("flow_temperature_e", mix))(
        e_vol=q["e_vol"], rho_k=rho_k, T=T * np.random.default_rng(1).uniform(0.75, 1.25, T.size)
    )["T"]
    assert (np.abs(found - T) < 1e-13 * (T + np.abs(q["e_vol"]) / q["cv_vol"])).all()


def test_equation_mapped_by_its_other_kernels():
    """T and p, with oracles of their own: the same state from its partial densities. gamma_c = rho c^2/p, the
    Grueneisen coefficient is p_T/(rho cv). 1e-11: p of a cold liquid is the difference of large terms."""
    mix = Mixture(species_set(10), equation="mapped")
    T, p, rho_k = states(10, equation="mapped")
    rho = rho_k.sum(0)
    q = mix.properties("p_eos e_vol cv_vol gamma_c gruneisen", T=T, rho_k=rho_k)
    flow = mix.kernel("mapped_flow_partials")(T=T, rho_k=rho_k)
    o = mix.properties("e cv c p_T h_Y eps_k cp", T=T, p=p, Y=rho_k / rho)

    wanted = dict(p_eos=p, cv_vol=rho * o["cv"], gamma_c=rho * o["c"] ** 2 / p, gruneisen=o["p_T"] / (rho * o["cv"]))
    for name, value in wanted.items():
        np.testing.assert_allclose(q[name], value, rtol=1e-11, err_msg=name)
    assert (np.abs(q["e_vol"] - rho * o["e"]) < 1e-12 * rho * (np.abs(o["e"]) + o["cv"] * T)).all()
    for name in ("h_Y", "eps_k"):
        assert (np.abs(flow[name] - o[name]) < 1e-11 * (np.abs(o["h_Y"]).max(0) + o["cp"] * T)).all(), name


def test_an_ideal_gas_has_kernels_of_its_own():
    """Sums of n_k R and of the polynomials in extended precision; no critical properties are read. cv = cp - R, and
    d(rho e)/d rho_k at constant p of rho e = sum n_k e_k(T), T = p/(n R)."""
    data = species_set(10)
    bare = dataclasses.replace(data, Tc=np.full(10, np.nan), pc=np.full(10, np.nan), omega=np.full(10, np.nan))
    mix = Mixture(bare, equation="ideal", takahashi="off", viscosity="sutherland")
    T, _, rho_k = states(10)
    q = mix.properties("p_eos e_vol cv_vol gamma_c gruneisen h_Y eps_k", T=T, rho_k=rho_k)

    sp = species.arrays(data)
    n_k = np.asarray(rho_k, LD) / sp.W[:, None]
    n = n_k.sum(0)

    def one(k):
        return ideal_gas.mixture(np.asarray(T, LD), np.full_like(T, 1e5), np.eye(10)[k][:, None] + 0 * n_k, sp)

    cp_k, h_k = (np.array([one(k)[i] for k in range(10)]) for i in (0, 1))
    cv = (n_k * cp_k).sum(0) - n * R
    e = (n_k * h_k).sum(0) - n * R * T
    size = (n_k * (np.abs(h_k) + R * T)).sum(0)
    eps_k = (h_k - R * T - cv / (n * R) * R * T) / sp.W[:, None]

    assert (np.abs(q["p_eos"] / (n * R * T) - 1) < 1e-14).all()
    assert (np.abs(q["e_vol"] - e) < 1e-13 * size).all()
    assert (np.abs(q["cv_vol"] / cv - 1) < 1e-12).all()  # terms of cp that cancel, some 100 times its size
    assert (np.abs(q["gruneisen"] / (n * R / cv) - 1) < 1e-12).all()
    assert (np.abs(q["gamma_c"] / (1 + n * R / cv) - 1) < 1e-12).all()

    scale = (np.abs(h_k) + R * T * (1 + cv / (n * R))) / sp.W[:, None]
    assert (np.abs(q["h_Y"] - h_k / sp.W[:, None]) < 1e-12 * scale).all()
    assert (np.abs(q["eps_k"] - eps_k) < 1e-12 * scale).all()

    assert (np.abs(mix.properties("T", p=q["p_eos"], rho_k=rho_k)["T"] / T - 1) < 1e-14).all()
    start = T * np.random.default_rng(1).uniform(0.75, 1.25, T.size)
    found = mix.kernel("ideal_flow_temperature_e")(e_vol=q["e_vol"], rho_k=rho_k, T=start)["T"]

    assert (np.abs(found - T) < 1e-13 * (T + size / q["cv_vol"])).all()


def test_a_state_without_temperature_gives_nan():
    mix = Mixture(species_set(1))
    assert np.isnan(mix.properties("T", p=5e6, rho_k=np.array([[-1.0]]))["T"]).all()
    assert np.isnan(mix.properties("e_vol", T=-5.0, rho_k=np.array([[10.0]]))["e_vol"]).all()
