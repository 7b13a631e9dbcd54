"""Laws of thermodynamics that the kernels' results must obey among themselves, whatever the equation of state is.

Algebraic laws: the rounding bounds of the oracle are carried through the law (Tracked), so that the tolerance is that
of its terms. Differential laws: central differences of sixth order of the quadruple build, rounded once to double.
"""

from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import pytest
from conditioning import allowed
from kernel_cases import THERMAL, N, expected, mixture, states
from reference import EPS, Tracked, cubic, value

NAMES = "W Z rho h e s cp cv gamma c rho_p rho_T h_p h_T h0 p_T p_v vol v_mol R_s X s_ig residual_entropy"
R = 8.31446261815324


MODELS = {
    "pr": {},
    "pr translated": dict(translation="peneloux"),
    "srk translated": dict(equation="srk", translation="peneloux"),
    "pairs": dict(mixing="pseudocritical", alpha="published"),
    "rk": dict(equation="rk"),
    "vdw": dict(equation="vdw"),
    "rkpr": dict(equation="rkpr"),
}
SIZE = {"rk": 2, "vdw": 2}  # 10 of the others


@lru_cache(None)
def results(ns, model="pr"):
    """The kernels' results as Tracked numbers with the oracle's bounds; T, p, Y as given."""
    n = 10000 if model == "pr" else 2000
    s, q = states(ns, n), expected(ns, n, transport=False, **MODELS[model])
    got = mixture(ns, **MODELS[model]).properties(THERMAL, **s)  # the program of test_kernels_thermal
    out = SimpleNamespace(**{k: Tracked(got[k], N * getattr(q, k).err) for k in NAMES.split()})
    for name, v in s.items():
        setattr(out, name, Tracked(v, exact=True))
    out.keep = ~q.undecided

    return out


ALGEBRA = {
    "h - e = p/rho": lambda q: q.h - q.e - q.p / q.rho,
    "p W = rho Z R T": lambda q: q.p * q.W - q.rho * q.Z * R * q.T,
    "gamma cv = cp": lambda q: q.gamma * q.cv - q.cp,
    "h_T = cp": lambda q: q.h_T - q.cp,
    "cp - cv = T rho_T^2/(rho^2 rho_p)": lambda q: q.cp - q.cv - q.T * q.rho_T * q.rho_T / (q.rho * q.rho * q.rho_p),
    "cp - cv = -T p_T^2/p_v": lambda q: q.cp - q.cv + q.T * q.p_T * q.p_T / q.p_v,
    "h_p = (1 + T rho_T/rho)/rho": lambda q: q.h_p - (1 + q.T * q.rho_T / q.rho) / q.rho,
    "c^2 = gamma/rho_p": lambda q: q.c * q.c - q.gamma / q.rho_p,
    "1/c^2 = rho_p + rho_T (1 - rho h_p)/(rho h_T)": lambda q: (
        1 / (q.c * q.c) - q.rho_p - q.rho_T * (1 - q.rho * q.h_p) / (q.rho * q.h_T)
    ),
    "rho_T = -p_T rho_p": lambda q: q.rho_T + q.p_T * q.rho_p,
    "rho_p = -1/(v^2 p_v)": lambda q: q.rho_p + 1 / (q.vol * q.vol * q.p_v),
    "s = s_ig(T, p) + R_s ln(p/(rho R_s T)) - R_s s+": lambda q: (
        q.s - q.s_ig - q.R_s * (np.log(q.p / (q.rho * q.R_s * q.T)) - q.residual_entropy)
    ),
    "h0 - h = |u|^2/2": lambda q: q.h0 - q.h - (q.u * q.u + q.v * q.v + q.w * q.w) / 2,
    "sum X = 1": lambda q: q.X.sum(0) - 1,
    "rho v = W": lambda q: q.rho * q.v_mol - q.W,
    "W R_s = R": lambda q: q.W * q.R_s - R,
}


@pytest.mark.parametrize("law", ALGEBRA)
@pytest.mark.parametrize(
    "ns, model", [(1, "pr"), (2, "pr"), (53, "pr"), *((SIZE.get(model, 10), model) for model in MODELS)]
)
@pytest.mark.quick(model=["pr translated", "pr", "rkpr"])
def test_law(ns, model, law):
    q = results(ns, model)
    residual = ALGEBRA[law](q)
    ratio = np.abs(residual.val).astype(float) / allowed(residual, 2)  # 2: as N, for what the law itself rounds
    assert np.isfinite(value(residual)).all()
    assert ratio[q.keep].max() <= 1, f"{law}: {ratio[q.keep].max():.3g} times its terms' rounding"


@pytest.mark.parametrize("ns", (1, 2, 10, 53))
@pytest.mark.long(ns=53)
def test_stability(ns):
    """The root of lower Gibbs energy is mechanically and thermally stable: rho_p > 0, cv > 0, cp > cv, c > 0."""
    q = results(ns)
    assert (value(q.rho_p) > 0).all() and (value(q.cv) > 0).all() and (value(q.c) > 0).all() and (value(q.Z) > 0).all()
    margin = value(q.cp) - value(q.cv)
    assert (margin > -4 * EPS * (q.cp.err + q.cv.err)).all()


# -- derivatives

STEP = 1e-3


def sixth_order(f, x):
    """df/dx by six points x (1 + k STEP), where f(k) is given, and what rounding f and the points themselves to double
    does to it at most."""
    weights = {-3: -1, -2: 9, -1: -45, 1: 45, 2: -9, 3: 1}
    h = 60 * x * STEP
    values = {k: f(k) for k in weights}
    slope = sum(w * values[k] for k, w in weights.items()) / h
    rounding = sum(abs(w) * np.abs(values[k]) for k, w in weights.items()) / h

    return slope, EPS * rounding + EPS / STEP * np.abs(slope)


@lru_cache(None)
def smooth(ns, model="pr"):
    """States where the density changes by less than 5 % within 1 % of T and p, away from bends of alpha, T_mid and
    phase change."""
    s = states(ns, 4000, 3)
    T, p, Y = s["T"], s["p"], s["Y"]
    mix = mixture(ns, **MODELS[model])
    sp = mix.species
    rho = mix.properties("rho", T=T, p=p, Y=Y)["rho"]
    keep = (np.abs(T / sp.T_mid[:, None] - 1) > 0.01).all(0)
    options = MODELS[model]
    corner = cubic.corners(sp, options.get("alpha", "smooth"), options.get("equation", "pr")).astype(float)
    keep &= (~(np.abs(T / corner[:, None] - 1) <= 0.01) | (Y == 0)).all(0)  # NaN where there is none

    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            near = mix.properties("rho", T=T * (1 + 0.01 * i), p=p * (1 + 0.01 * j), Y=Y)["rho"]
            keep &= np.abs(np.log(near / rho)) < 0.05

    keep = np.flatnonzero(keep)[:400]
    assert keep.size == 400
    return T[keep], p[keep], Y[:, keep]


@lru_cache(None)
def moved(ns, model, by, k):
    """What the laws differentiate, from the quadruple build, where T or p is 1 + k STEP times that of smooth()."""
    given = dict(zip("TpY", smooth(ns, model)))
    given[by] = given[by] * (1 + k * STEP)
    q = mixture(ns, **MODELS[model]).properties("rho h s e a_mix a_T", **given, precision="wide")
    return q | {"g": q["h"] - given["T"] * q["s"]}


DIFFERENTIAL = {  # law: (f, variable, what it must be, from which names)
    "dh/dT = h_T": ("h", "T", lambda q: q["h_T"]),
    "dh/dp = h_p": ("h", "p", lambda q: q["h_p"]),
    "drho/dT = rho_T": ("rho", "T", lambda q: q["rho_T"]),
    "drho/dp = rho_p": ("rho", "p", lambda q: q["rho_p"]),
    "ds/dT = cp/T": ("s", "T", lambda q: q["cp"] / q["T"]),
    "ds/dp = rho_T/rho^2 (Maxwell)": ("s", "p", lambda q: q["rho_T"] / q["rho"] ** 2),
    "de/dp = h_p - 1/rho + p rho_p/rho^2": (
        "e",
        "p",
        lambda q: q["h_p"] - 1 / q["rho"] + q["p"] * q["rho_p"] / q["rho"] ** 2,
    ),
    "de/dT = h_T + p rho_T/rho^2": ("e", "T", lambda q: q["h_T"] + q["p"] * q["rho_T"] / q["rho"] ** 2),
    "da/dT = a_T": ("a_mix", "T", lambda q: q["a_T"]),
    "da_T/dT = a_TT": ("a_T", "T", lambda q: q["a_TT"]),
    "dT dp of G: d(h - T s)/dp = 1/rho": ("g", "p", lambda q: 1 / q["rho"]),
    "d(h - T s)/dT = -s": ("g", "T", lambda q: -q["s"]),
}


@pytest.mark.parametrize("law", DIFFERENTIAL)
@pytest.mark.parametrize(
    "ns, model", [(1, "pr"), *((SIZE.get(model, 10), model) for model in MODELS if model != "pr translated")]
)
@pytest.mark.quick(model=["pr", "rkpr"])
def test_derivative(ns, model, law):
    """Truncation: STEP^6/140 of the seventh derivative times x^6. Where rho changes by at most 5 % within 1 % the
    nearest singularity is some 2 % away or more: 7! (1/0.02)^6 STEP^6/140 = 6e-7 of the slope is a crude bound; 1e-7 is
    asked, and 1e-11 of the median."""
    name, by, wanted = DIFFERENTIAL[law]
    T, p, Y = smooth(ns, model)
    names = "rho h s e cp rho_T rho_p h_T h_p a_T a_TT T p".split()
    q = mixture(ns, **MODELS[model]).properties(" ".join(names), T=T, p=p, Y=Y)
    right = wanted(q)
    left, rounding = sixth_order(lambda k: moved(ns, model, by, k)[name], T if by == "T" else p)
    tolerance = rounding + 1e-7 * (np.abs(left) + np.abs(right))
    error = np.abs(left - right)
    worst = np.argmax(error / tolerance)

    assert (error <= tolerance).all(), f"{law}: {left[worst]} and {right[worst]} at {T[worst]} K, {p[worst]} Pa"
    beyond = np.maximum(error - rounding, 0)  # 0 of van der Waals' a, which does not depend on T
    assert np.median(beyond / np.maximum(np.abs(right), 1e-300)) < 1e-11


@pytest.mark.parametrize("equation", ["pr", "ideal"])
def test_beyond_the_polynomials(equation):
    """cp and cv are negative far above the polynomials' range, of half of the species. c and gamma are NaN
    there, never negative; where both heat capacities are positive, c is real."""
    mix = mixture(10, equation=equation)
    T, p = np.geomspace(20, 20000, 60)[:, None], np.array([1e5, 1e7])
    Y = np.eye(10)[:, :, None, None]
    got = mix.properties("cp cv gamma c", T=T, p=p, Y=Y, backend="cpu")
    real = (got["cp"] > 0) & (got["cv"] > 0)

    assert real[:, (T[:, 0] > 80) & (T[:, 0] < 3500)].all() and (~real).mean() > 0.05
    for name in ("gamma", "c"):
        assert np.isnan(got[name][~real]).all() and (got[name][real] > 0).all(), name
    density = mix.kernel("sound_speed_from_density_and_enthalpy")
    slopes = mix.properties("rho rho_p rho_T h_p h_T", T=T, p=p, Y=Y, backend="cpu")

    assert not (density(**slopes)["c"][slopes["h_T"] < 0] >= 0).any()


# -- residual entropy


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.quick(model=["pr translated", "rkpr"])
def test_residual_entropy_of_a_density(model):
    """s+ at the density that T and p give. It moves by v/(v - b) of a relative change of v, of which rho, 1/rho and
    v - b take four roundings; the logarithm's and a' L are four more."""
    ns, n = SIZE.get(model, 10), 2000
    mix, s = mixture(ns, **MODELS[model]), {k: states(ns, n)[k] for k in "TpY"}
    at_p = mix.properties("rho residual_entropy vol v_free a_T cubic_L R_s", **s)
    of_rho = mix.properties("residual_entropy", T=s["T"], Y=s["Y"], rho=at_p["rho"])["residual_entropy"]

    size = 1 + np.abs(at_p["a_T"] * at_p["cubic_L"] / at_p["R_s"]) + (at_p["vol"] + at_p["v_free"]) / at_p["v_free"]
    assert (np.abs(of_rho - at_p["residual_entropy"]) <= 8 * EPS * size).all()
    assert np.isfinite(of_rho).all()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.quick(model=["pr translated", "rkpr"])
def test_residual_entropy_of_a_thin_gas(model):
    """s+/rho -> b - c - a'/R, of the second virial coefficient: B + T dB/dT. The next term is as small as rho b, 1e-5
    here, and cancellation leaves 1e-16 of s+ = 1e-5."""
    ns, n = SIZE.get(model, 10), 300
    mix, s = mixture(ns, **MODELS[model]), {k: states(ns, n)[k] for k in "TY"}
    q = mix.properties("residual_entropy a_T b_mix shift_mix R_s", **s, rho=1e-2)

    limit = q["b_mix"] - q["shift_mix"] - q["a_T"] / q["R_s"]
    size = q["b_mix"] + np.abs(q["a_T"] / q["R_s"])
    assert (np.abs(q["residual_entropy"] / 1e-2 - limit) <= 1e-4 * size).all()
