"""Vapour and liquid in equilibrium: equal fugacities, stability, mass balance, round trips, pure species, traces,
points near the critical one, warm starts; all against plain successive substitution or a law."""

import numpy as np
import pytest
from mixtures_for_tests import changed
from phase_cases import ALKANES, PRODUCTS, RANGES, SPRAY, STATE, R, mixture, moles, results, species, states
from reference import phases as oracle

from kernels import ArgumentError, Mixture, SpeciesData

# ---- the split


@pytest.mark.parametrize("names", RANGES)
def test_equal_fugacities_and_masses(names):
    """ln f of each species is the same in both phases, 1e-9: the iteration ends below 1e-11, and a mole fraction that
    is off by 1 ulp moves ln f by some 1e-14. Masses and volumes add, to some roundings."""
    (T, p, X), q = states(names), results(names)
    two = q["phases_status"] == 1
    assert not (q["phases_status"] == 2).any() and 40 < two.sum() < 400

    x, y = moles(names, q["Y_l"][:, two]), moles(names, q["Y_v"][:, two])
    f_l, f_v = (oracle.ln_phi(species(names), T[two], p[two], z) + np.log(z) for z in (x, y))
    assert np.abs(f_l - f_v).max() < 1e-9

    beta, m, V = (q[name][two] for name in ("beta", "beta_mass", "beta_volume"))
    np.testing.assert_allclose(beta * y + (1 - beta) * x, X[:, two], rtol=0, atol=4e-15)
    np.testing.assert_allclose(m * q["Y_v"][:, two] + (1 - m) * q["Y_l"][:, two], q["Y"][:, two], rtol=0, atol=4e-15)
    rho_v, rho_l, rho = (q[name][two] for name in ("rho_v", "rho_l", "rho"))
    assert (rho_v <= rho_l).all()
    np.testing.assert_allclose(V * rho_v + (1 - V) * rho_l, rho, rtol=1e-13)
    np.testing.assert_allclose(m / rho_v + (1 - m) / rho_l, 1 / rho, rtol=1e-13)

    one = ~two
    assert (q["Y_l"][:, one] == q["Y"][:, one]).all() and np.isin(q["beta"][one], (0, 1)).all()
    assert (q["ln_kappa"][:, one] == 0).all() and (q["eta"][one] == 0).all()


@pytest.mark.parametrize("names", [SPRAY, PRODUCTS])
@pytest.mark.quick(names=[SPRAY])
def test_against_successive_substitution(names):
    """Status, beta, and rho, h, s of the whole. 1e-8: substitution stops at changes of 1e-13 of ln K, slow modes are
    1e3 times further off, and beta moves by up to 1e2 times as much."""
    (T, p, X), q = ((a[..., :60] for a in states(names)), results(names))
    s = oracle.split(species(names), T, p, X)
    sure = ((s.tm < -1e-6) & (s.left < 1e-12)) | (s.tm > -1e-10)
    two = s.two & sure
    assert sure.sum() > 50 and two.sum() > 10

    assert (s.two == (q["phases_status"][:60] == 1))[sure].all()
    swapped = species(names).W @ s.y > species(names).W @ s.x
    beta = np.where(swapped, 1 - s.beta, s.beta).astype(float)
    off = np.minimum(np.abs(q["beta"][:60] - beta), np.abs(q["beta"][:60] - 1 + beta))  # named by density
    assert off[two].max() < 1e-8

    whole = oracle.mixture_of(species(names), T, p, s)
    for name, scale in (("rho", 0.0), ("h", 1e5), ("s", 1e3)):
        wanted = getattr(whole, name)[two].astype(float)
        np.testing.assert_allclose(q[name][:60][two], wanted, rtol=1e-8, atol=1e-8 * scale)


@pytest.mark.parametrize("names", [SPRAY, ALKANES])
@pytest.mark.quick(names=[SPRAY])
def test_both_phases_are_stable(names):
    """tm >= -1e-8 of both phases and of what is called one phase, from all starts of the oracle."""
    (T, p, _), q = states(names), results(names)
    two = np.flatnonzero(q["phases_status"] == 1)[:25]
    one = np.flatnonzero(q["phases_status"] == 0)[:25]

    for k, Y in ((two, q["Y_l"]), (two, q["Y_v"]), (one, q["Y"])):
        tm, _ = oracle.tangent_distance(species(names), T[k], p[k], moles(names, Y[:, k]), steps=100)
        assert tm.min() > -1e-8


EQUATIONS = {
    "srk": dict(equation="srk"),
    "rk": dict(equation="rk"),
    "vdw": dict(equation="vdw"),
    "rkpr": dict(equation="rkpr"),
    "pairs": dict(mixing="pseudocritical", alpha="published"),
    "published": dict(alpha="published"),
    "pr76": dict(alpha="pr76"),
}


@pytest.mark.parametrize("name", EQUATIONS)
@pytest.mark.quick(name=["srk", "rkpr", "pairs", "pr76"])
def test_every_equation(name):
    """Equal fugacities as above, and T from (e, rho) and (h, p) comes back."""
    options = EQUATIONS[name]
    (T, p, X), mix = (a[..., :150] for a in states(SPRAY)), mixture(SPRAY, **options)
    q = mix.properties("Y Y_l Y_v phases_status e rho h", T=T, p=p, X=X)
    two = q["phases_status"] == 1
    assert two.sum() > 15 and not (q["phases_status"] == 2).any()

    x, y = moles(SPRAY, q["Y_l"][:, two]), moles(SPRAY, q["Y_v"][:, two])
    f_l, f_v = (oracle.ln_phi(species(SPRAY), T[two], p[two], z, **options) + np.log(z) for z in (x, y))
    assert np.abs(f_l - f_v).max() < 1e-9

    for given in (dict(e=q["e"], rho=q["rho"]), dict(h=q["h"], p=p)):
        back = mix.properties("T phases_status", Y=q["Y"], **given)
        assert (back["phases_status"] == q["phases_status"]).all()
        np.testing.assert_allclose(back["T"], T, rtol=1e-9)


@pytest.mark.parametrize("kij", ["dense", "low_rank", "sparse"])
@pytest.mark.quick(kij="low_rank")
def test_every_structure_of_k_ij(kij):
    """The same split as with the dense matrix, to 1e-9 in beta: the sums differ by rounding."""
    names, random = ("N2", *ALKANES, "CH4", "CO2"), np.random.default_rng(3)
    ns = len(names)
    if kij == "low_rank":
        family = np.arange(ns) % 2
        k = np.where(family[:, None] == family, 0.0, 0.08)
    else:
        k = np.triu(random.uniform(0, 0.1, (ns, ns)), 1) * (random.random((ns, ns)) < (1.0 if kij == "dense" else 0.12))
        k = k + k.T
    data = changed(species(names), kij=k)
    mix = Mixture(data, phases="equilibrium")
    assert mix.facts["k_ij"] == kij.replace("_", "")

    n = 60
    T, p, X = (
        random.uniform(250, 400, n),
        np.exp(random.uniform(np.log(1e5), np.log(1e7), n)),
        random.dirichlet(np.ones(ns), n).T,
    )
    q = mix.properties("Y_l Y_v phases_status", T=T, p=p, X=X)
    two = q["phases_status"] == 1
    assert two.sum() > 30
    W = data.W[:, None]
    x, y = (q[name][:, two] / W / (q[name][:, two] / W).sum(0) for name in ("Y_l", "Y_v"))
    f_l, f_v = (oracle.ln_phi(data, T[two], p[two], z) + np.log(z) for z in (x, y))
    assert np.abs(f_l - f_v).max() < 1e-9


def test_translation_leaves_the_split():
    """ln phi moves by -p c/(RT) in both phases alike. rho of both phases moves by the shift of volume."""
    (T, p, X), q = (a[..., :150] for a in states(SPRAY)), results(SPRAY)
    moved = mixture(SPRAY, translation="peneloux").properties(
        "beta phases_status ln_kappa rho e h rho_l Y", T=T, p=p, X=X
    )

    assert (moved["phases_status"] == q["phases_status"][:150]).all()
    np.testing.assert_allclose(moved["beta"], q["beta"][:150], rtol=0, atol=1e-12)
    np.testing.assert_allclose(moved["ln_kappa"], q["ln_kappa"][:, :150], rtol=0, atol=1e-11)
    np.testing.assert_allclose(moved["e"], q["e"][:150], rtol=1e-10, atol=1e-4)
    assert (np.abs(moved["rho"] - q["rho"][:150]) > 1e-4 * q["rho"][:150]).any()

    back = mixture(SPRAY, translation="peneloux").properties("T p", e=moved["e"], rho=moved["rho"], Y=moved["Y"])
    np.testing.assert_allclose(back["T"], T, rtol=1e-9)
    np.testing.assert_allclose(back["p"], p, rtol=1e-7)


# ---- states from other variables


@pytest.mark.parametrize("names", RANGES)
def test_round_trips(names):
    """Every state is found from (e, rho) and (h, p), cold. T to 1e-9, p to 1e-6: a cold liquid is stiff."""
    (T, p, _), q = states(names), results(names)

    for given in (dict(e=q["e"], rho=q["rho"]), dict(h=q["h"], p=p)):
        back = mixture(names).properties("T p phases_status unconverged beta", Y=q["Y"], **given)
        assert (back["phases_status"] == q["phases_status"]).all() and not back["unconverged"].any()
        np.testing.assert_allclose(back["T"], T, rtol=1e-9)
        np.testing.assert_allclose(back["beta"], q["beta"], rtol=0, atol=1e-7)
        if "e" in given:
            np.testing.assert_allclose(back["p"], p, rtol=1e-6)


@pytest.mark.parametrize("given", ["T p", "e rho", "h p"])
@pytest.mark.parametrize("names", [SPRAY, ALKANES])
@pytest.mark.quick(names=[SPRAY])
def test_warm_starts(names, given):
    """A start that is 1 % off in T and 5 % in kappa leads to the same state as none, in fewer steps."""
    (T, _, _), q = states(names), results(names)
    random, two = np.random.default_rng(5), q["phases_status"] == 1
    start = {
        "ln_kappa": q["ln_kappa"] + 0.05 * random.normal(size=q["ln_kappa"].shape) * two,
        "eta": q["eta"] + 0.05 * random.normal(size=T.size) * two,
    }
    if "T" not in given:
        start["T_start"] = T * (1 + 0.01 * random.normal(size=T.size))
    before = {name: value.copy() for name, value in start.items()}
    state = {name: q[name] for name in given.split()}

    warm = mixture(names).properties("T p beta phases_status ln_kappa eta phases_steps", Y=q["Y"], **state, **start)
    cold = mixture(names).properties("phases_steps", Y=q["Y"], **state)

    assert all((start[name] == before[name]).all() for name in start)  # the caller's arrays stay
    assert (warm["phases_status"] == q["phases_status"]).all()
    np.testing.assert_allclose(warm["T"], T, rtol=1e-9)
    np.testing.assert_allclose(warm["beta"], q["beta"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(warm["ln_kappa"][:, two], q["ln_kappa"][:, two], rtol=0, atol=1e-7)
    marks = warm["eta"][~two]  # where the test of stability was passed: 1e4 and the temperature, or in brackets nothing
    np.testing.assert_allclose((marks % 1e4)[marks > 0], T[~two][marks > 0], rtol=1e-9)
    assert np.mean(marks >= 1e4) > 0.9
    assert np.median(warm["phases_steps"][two]) <= 10 < np.median(cold["phases_steps"][two])


def edge(mix, T, p, X, side):
    """Temperatures some 1 % outside the boundary between T and another temperature, where there is such a boundary."""
    a, b = T.copy(), T * side

    def status(T):
        return mix.properties("phases_status", T=T, p=p, X=X)["phases_status"]

    first, last = status(a), status(b)
    for _ in range(7):
        middle = (a + b) / 2
        same = status(middle) == first
        a, b = np.where(same, middle, a), np.where(same, b, middle)
    outside, inward = np.where(first == 0, a, b), np.where(first == 0, b - a, a - b)
    return np.where(first != last, outside * (1 - 0.01 * np.sign(inward)), T)


@pytest.mark.parametrize("names", [SPRAY, PRODUCTS])
@pytest.mark.quick(names=[PRODUCTS])
def test_points_that_skip_the_test(names):
    """One-phase points, half of them near the boundary: after two calls most skip the test of stability. Moved to the
    corners of their room, those that skip it are what the full test says; outside the room none skips it. T from e and
    rho skips it, too."""
    mix, random, n = mixture(names), np.random.default_rng(7), 1500
    low, high, p_low, p_high = RANGES[names]
    T, p = random.uniform(low, 1.3 * high, n), np.exp(random.uniform(np.log(p_low), np.log(p_high), n))
    X = random.dirichlet(np.full(len(names), 0.5), n).T
    T[: n // 2] = edge(mix, T[: n // 2], p[: n // 2], X[:, : n // 2], 1.3)
    what = "ln_kappa eta phases_status phases_steps"

    def call(T, p, X, start):
        return mix.properties(what, T=T, p=p, X=X, **{name: start[name] for name in ("ln_kappa", "eta")})

    q = dict(ln_kappa=np.zeros_like(X), eta=np.zeros(n))
    for _ in range(2):
        q = call(T, p, X, q)
    one = q["phases_status"] == 0
    again = call(T, p, X, q)
    assert one.sum() > 500 and np.mean(again["phases_steps"][one] == 1) > 0.8
    assert (again["phases_status"] == q["phases_status"]).all()

    for a, b in ((-1, 1), (1, -1), (-1, -1), (1, 1)):
        z = X * (1 + 0.009 * random.choice([-1, 1], X.shape)) + random.choice([-4e-4, 0, 4e-4], X.shape)
        z = np.maximum(z, 0)
        moved = (T * (1 + 0.0099 * a), p * (1 + 0.0295 * b), z / z.sum(0))
        warm, full = call(*moved, q), mix.properties(what, T=moved[0], p=moved[1], X=moved[2])
        skipped = one & (warm["phases_steps"] == 1)
        assert skipped.sum() > 0.6 * one.sum() and not full["phases_status"][skipped].any()
    assert not full["eta"][full["phases_status"] == 0].any()  # nobody carries it

    cold = one & (T < 1.05 * species(names).Tc.max()) & (X.min(0) > 5e-3)  # hot points and traces need no room
    other = 0.5 * X + 0.5 * np.eye(len(names))[:, -1:]
    for moved in ((T * 1.012, p, X), (T, p * 1.04, X), (T, p, other)):
        assert cold.sum() > 300 and (call(*moved, q)["phases_steps"][cold] > 1).all()

    state = mix.properties("e rho Y", T=T, p=p, X=X)
    start = {name: q[name] for name in ("ln_kappa", "eta")}
    found = mix.properties("T phases_status phases_steps", T_start=T, **start, **state)
    assert (found["phases_status"] == q["phases_status"]).all()
    assert np.mean(found["phases_steps"][one] == 1) > 0.8
    np.testing.assert_allclose(found["T"], T, rtol=1e-9)


def test_hot_points_skip_the_test():
    """Above 1.1 Tc of each species and below 30 MPa no trial is made. At 1.05 Tc, where trials are made, nothing is
    unstable. A trace of a heavy species does not count, a percent of it does."""
    mix, n = mixture(("N2", "CH4", "H2O")), 300
    random = np.random.default_rng(3)
    p, X = np.exp(random.uniform(np.log(1e5), np.log(3e7), n)), random.dirichlet(np.ones(3), n).T
    for T, p_factor, skipped in ((1.11, 1, True), (1.05, 1, False), (1.11, 1000, False)):
        q = mix.properties("phases_status phases_steps", T=T * 647.096, p=p * p_factor, X=X)
        assert (q["phases_steps"] == 1).all() if skipped else (q["phases_steps"] > 1).any()
        assert not q["phases_status"].any() or p_factor > 1

    for water, skipped in ((1e-30, True), (0.01, False)):
        steps = mix.properties("phases_steps", T=300.0, p=1e5, X=[0.5, 0.5 - water, water])["phases_steps"]
        assert (steps == 1) == skipped


def test_a_start_is_updated_or_refused():
    mix, Y = mixture(SPRAY), np.array([0.5, 0.5])
    start = dict(ln_kappa=np.zeros(2), eta=0.0)

    found = mix.properties("phases_status", T=400.0, p=1e6, Y=Y, **start)
    assert found["phases_status"] == 1 and list(found) == ["phases_status"]
    np.testing.assert_array_equal(
        mix.properties("beta", T=400.0, p=1e6, X=[0.5, 0.5], **start)["beta"],
        mix.properties("beta", T=400.0, p=1e6, X=[0.5, 0.5])["beta"],
    )

    with pytest.raises(
        ArgumentError, match="'ln_kappa' was given as a start, but .* wanted T p Y ln_kappa eta or e rho"
    ):
        mix.properties("beta", T=400.0, p=1e6, Y=Y, ln_kappa=np.zeros(2))
    with pytest.raises(ArgumentError, match="ask for it, too"):
        mix.program(["beta"], ["T", "p", "Y", "ln_kappa", "eta"])
    with pytest.raises(ArgumentError, match="not there for phases = 'single'"):
        Mixture(species(SPRAY)).properties("rho", T=400.0, p=1e6, Y=Y, **start)


# ---- pure species


@pytest.mark.parametrize("equation", ["pr", "srk"])
@pytest.mark.quick(equation="pr")
def test_pure_species(equation):
    """Along the saturation line up to 0.999 Tc, from e and rho and from h and p: both phases have the same fugacity
    (Maxwell), v and e lie on the lever between them, and c^2 = v^2 (dp/dT)^2 T/cv with the slope of the line
    (Clapeyron)."""
    names, data = ("N2",), species(("N2",))
    mix, one = (
        mixture(names, equation=equation),
        {k: Mixture(data, equation=equation, root=k) for k in ("liquid", "vapour")},
    )
    Tr = np.r_[np.linspace(0.6, 0.99, 30), 0.995, 0.999]
    T = Tr * data.Tc[0]

    # p_sat by bisection: the phase of lower fugacity; with one root the density against the critical density
    critical = data.W[0] * data.pc[0] / ({"pr": 0.3074, "srk": 1 / 3}[equation] * R * data.Tc[0])
    low, high = 1e3 + 0 * T, data.pc[0] + 0 * T
    for _ in range(60):
        p = np.sqrt(low * high)
        q = {k: m.properties("ln_phi rho", T=T, p=p, Y=np.ones(1)) for k, m in one.items()}
        f = {k: v["ln_phi"][0] for k, v in q.items()}
        gas = np.where(f["vapour"] == f["liquid"], q["liquid"]["rho"] < critical, f["vapour"] < f["liquid"])
        low, high = np.where(gas, p, low), np.where(gas, high, p)

    v, l = (one[k].properties("vol e h rho", T=T, p=p, Y=np.ones(1)) for k in ("vapour", "liquid"))
    for share in (0.02, 0.5, 0.97):
        whole = {k: share * v[k] + (1 - share) * l[k] for k in ("vol", "e", "h")}
        names_ = "T p beta beta_mass rho_l rho_v phases_status c c_frozen c_wood cv p_T"
        got = mix.properties(names_, e=whole["e"], rho=1 / whole["vol"], Y=np.ones((1, T.size)))

        assert (got["phases_status"] == 1).all()
        np.testing.assert_allclose(got["T"], T, rtol=1e-9)
        np.testing.assert_allclose(got["p"], p, rtol=1e-8)
        np.testing.assert_allclose(got["beta"], share, rtol=0, atol=1e-7)
        np.testing.assert_allclose(got["beta_mass"], got["beta"], rtol=1e-12)
        np.testing.assert_allclose(got["rho_l"], l["rho"], rtol=1e-6)
        clapeyron = (v["h"] - l["h"]) / (T * (v["vol"] - l["vol"]))
        np.testing.assert_allclose(got["p_T"], clapeyron, rtol=1e-6)
        np.testing.assert_allclose(got["c"], whole["vol"] * clapeyron * np.sqrt(T / got["cv"]), rtol=1e-6)

        back = mix.properties("T beta phases_status", h=whole["h"], p=p, Y=np.ones((1, T.size)))
        assert (back["phases_status"] == 1).all()
        np.testing.assert_allclose(back["T"], T, rtol=1e-9)
        np.testing.assert_allclose(back["beta"], share, rtol=0, atol=1e-6)


# ---- traces, orders, neighbours


@pytest.mark.parametrize("trace", [0.0, 1e-300, 1e-30])
def test_traces(trace):
    """A species that is not there, or next to it, changes nothing: nothing is divided by a mole fraction."""
    (T, p, X), q = (a[..., :120] for a in states(SPRAY)), results(SPRAY)
    names = ("N2", "CO2", "C12H26", "H2O")
    rows = np.stack([X[0], 0 * T + trace, X[1], 0 * T + trace])
    got = mixture(names).properties("beta phases_status T rho c", T=T, p=p, X=rows)

    assert (got["phases_status"] == q["phases_status"][:120]).all()
    np.testing.assert_allclose(got["beta"], q["beta"][:120], rtol=0, atol=1e-11)
    np.testing.assert_allclose(got["rho"], q["rho"][:120], rtol=1e-10)
    assert np.isfinite(got["c"]).all()


def test_order_of_species_and_a_species_twice():
    """The same state with the species in another order, and with one of them as two equal halves."""
    (T, p, X), q = (a[..., :150] for a in states(ALKANES)), results(ALKANES)
    order = [2, 0, 3, 1]
    turned = mixture(tuple(ALKANES[k] for k in order)).properties("beta phases_status rho", T=T, p=p, X=X[order])
    data = species(ALKANES).subset(ALKANES)
    twice = SpeciesData.from_arrays(
        ("a", "b", "c", "d", "e"),
        **{k: np.r_[getattr(data, k), getattr(data, k)[:1]] for k in ("W", "omega", "Tc", "pc", "T_mid")},
        nasa_low=np.r_[data.nasa_low, data.nasa_low[:1]],
        nasa_high=np.r_[data.nasa_high, data.nasa_high[:1]],
        T_min=20.0,
        T_max=6e3,
    )
    halves = Mixture(twice, phases="equilibrium").properties(
        "beta phases_status rho", T=T, p=p, X=np.stack([X[0] / 2, X[1], X[2], X[3], X[0] / 2])
    )

    for got in (turned, halves):
        assert (got["phases_status"] == q["phases_status"][:150]).all()
        np.testing.assert_allclose(got["beta"], q["beta"][:150], rtol=0, atol=1e-9)
        np.testing.assert_allclose(got["rho"], q["rho"][:150], rtol=1e-9)


def test_neighbours_and_packs():
    """A point's bits do not depend on its neighbours; a scalar program agrees to 1e-9."""
    (T, p, X), q = states(SPRAY), results(SPRAY)
    order = np.random.default_rng(2).permutation(T.size)
    names = f"{STATE} beta"
    moved = mixture(SPRAY).properties(names, T=T[order], p=p[order], X=X[:, order])
    for name in names.split():
        assert (moved[name] == q[name][..., order]).all(), name

    given = dict(e=q["e"], rho=q["rho"], Y=q["Y"])
    first = mixture(SPRAY).properties("T ln_kappa phases_steps", **given)
    second = mixture(SPRAY).properties("T ln_kappa phases_steps", **{k: v[..., order] for k, v in given.items()})
    for name in first:
        assert (second[name] == first[name][..., order]).all(), name

    plain = mixture(SPRAY).properties(names, T=T, p=p, X=X, precision="scalar")
    assert (plain["phases_status"] == q["phases_status"]).all()
    np.testing.assert_allclose(plain["beta"], q["beta"], rtol=0, atol=1e-9)


def test_nan_in_nan_out():
    """With status 2, at that point only."""
    (T, p, X), q = (a[..., :40].copy() for a in states(SPRAY)), results(SPRAY)
    T[3], p[7], p[9], X[0, 11] = np.nan, np.nan, np.inf, np.nan
    bad = np.isin(np.arange(40), (3, 7, 9, 11))
    Y = np.where(np.isfinite(X.sum(0)), results(SPRAY)["Y"][:, :40], np.nan)

    for given in (
        dict(T=T, p=p),
        dict(e=q["e"][:40] + 0 * T + 0 * p + 0 / (p > 0), rho=q["rho"][:40]),
        dict(h=q["h"][:40] + 0 * T, p=p),
    ):
        with np.errstate(all="ignore"):
            got = mixture(SPRAY).properties("beta rho c h Y_l phases_status ln_kappa", Y=Y, **given)
        assert ((got["phases_status"] == 2) == bad).all()
        for name in ("beta", "c", "Y_l", "ln_kappa"):
            assert (np.isnan(got[name]).reshape(-1, 40).any(0) == bad).all(), name


# ---- boundaries and critical points


def test_continuous_at_bubble_and_dew_points():
    """Across the boundary rho and h are continuous and their slopes jump: steps of 1e-3 K and of 1e-5 of the share."""
    X, mix = np.array([0.3, 0.2, 0.3, 0.2]), mixture(ALKANES)
    T = np.linspace(300, 420, 120001)
    q = mix.properties("phases_status beta rho h cp", T=T, p=5e5, X=X)
    two = q["phases_status"] == 1
    ends = np.flatnonzero(np.diff(two.astype(int)))
    assert ends.size == 2 and two[ends[0] + 1] and (q["phases_status"] < 2).all()

    assert q["beta"][ends[0] + 1] < 1e-3 and q["beta"][ends[1]] > 1 - 1e-3
    assert (q["beta"][: ends[0] + 1] == 0).all() and (q["beta"][ends[1] + 1 :] == 1).all()
    assert (np.diff(q["h"]) > 0).all() and (np.diff(q["rho"]) < 0).all()
    assert np.abs(np.diff(np.log(q["rho"]))).max() < 4e-3 and np.diff(q["h"]).max() < 50
    jump = np.diff(q["cp"])[ends]
    assert jump[0] > 100 and jump[1] < -100


def test_retrograde():
    """At fixed T between the critical and the highest dew temperature, rising p crosses the dew line twice."""
    names = ("CH4", "nC4")
    p = np.linspace(1e5, 2e7, 4000)
    q = mixture(names).properties("phases_status beta rho", T=300.0, p=p, X=np.array([0.85, 0.15]))
    two = q["phases_status"] == 1
    edges = np.flatnonzero(np.diff(two.astype(int)))

    assert edges.size == 2 and not two[0] and not two[-1]
    inside = q["beta"][edges[0] + 1 : edges[1] + 1]
    assert inside[0] > 0.98 and inside[-1] > 0.9 and inside.min() < 0.97


def test_near_the_critical_point():
    """A fine grid around the critical point: one phase or two that differ, never twice the same, never lost."""
    names = ("CH4", "nC4")
    T, p = (a.ravel() for a in np.meshgrid(np.linspace(285, 325, 81), np.linspace(8e6, 1.4e7, 121)))
    X = np.repeat(np.array([[0.7], [0.3]]), T.size, 1)
    q = mixture(names).properties("phases_status beta Y_l Y_v rho_l rho_v e rho h Y", T=T, p=p, X=X)
    two = q["phases_status"] == 1
    assert set(q["phases_status"]) == {0.0, 1.0} and 100 < two.sum() < T.size - 100

    ln_K = np.log(moles(names, q["Y_v"][:, two]) / moles(names, q["Y_l"][:, two]))
    near = np.abs(ln_K).max(0)
    assert near.min() > 1e-4 and (near < 0.3).any()
    assert (q["rho_l"] > q["rho_v"])[two].all() and (q["beta"][two] > 0).all() and (q["beta"][two] < 1).all()

    back = mixture(names).properties("T phases_status", e=q["e"], rho=q["rho"], Y=q["Y"])
    assert not (back["phases_status"] == 2).any()
    np.testing.assert_allclose(back["T"], T, rtol=1e-7)
