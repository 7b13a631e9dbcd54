"""Vapour and liquid in equilibrium: equal fugacities, stability, mass balance, against plain successive substitution;
traces, neighbours, points near the critical one."""

import numpy as np
import pytest
from mixtures_for_tests import changed
from phases_for_tests import ALKANES, PRODUCTS, RANGES, SPRAY, flash, mixture, moles, results, species, states
from reference import phases as oracle

from kernels import Mixture, SpeciesData

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
    (T, p, X), q = ((a[..., :30] for a in states(names)), results(names))
    s = oracle.split(species(names), T, p, X)
    sure = ((s.tm < -1e-6) & (s.left < 1e-12)) | (s.tm > -1e-10)
    two = s.two & sure
    assert sure.sum() > 25 and two.sum() > 5

    assert (s.two == (q["phases_status"][:30] == 1))[sure].all()
    swapped = species(names).W @ s.y > species(names).W @ s.x
    beta = np.where(swapped, 1 - s.beta, s.beta).astype(float)
    off = np.minimum(np.abs(q["beta"][:30] - beta), np.abs(q["beta"][:30] - 1 + beta))  # named by density
    assert off[two].max() < 1e-8

    whole = oracle.mixture_of(species(names), T, p, s)
    for name, scale in (("rho", 0.0), ("h", 1e5), ("s", 1e3)):
        wanted = getattr(whole, name)[two].astype(float)
        np.testing.assert_allclose(q[name][:30][two], wanted, rtol=1e-8, atol=1e-8 * scale)


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
@pytest.mark.quick(name="rkpr")
def test_every_equation(name):
    """Equal fugacities as above, and T from (e, rho) and (h, p) comes back."""
    options = EQUATIONS[name]
    (T, p, X), mix = (a[..., :150] for a in states(SPRAY)), mixture(SPRAY, **options)
    q = flash(mix, T=T, p=p, X=X)
    two = q["phases_status"] == 1
    assert two.sum() > 15 and not (q["phases_status"] == 2).any()

    x, y = moles(SPRAY, q["Y_l"][:, two]), moles(SPRAY, q["Y_v"][:, two])
    f_l, f_v = (oracle.ln_phi(species(SPRAY), T[two], p[two], z, **options) + np.log(z) for z in (x, y))
    assert np.abs(f_l - f_v).max() < 1e-9

    for given in (dict(e=q["e"], rho=q["rho"]), dict(h=q["h"], p=p)):
        back = flash(mix, Y=q["Y"], **given)
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
    q = flash(mix, T=T, p=p, X=X)
    two = q["phases_status"] == 1
    assert two.sum() > 30
    W = data.W[:, None]
    x, y = (q[name][:, two] / W / (q[name][:, two] / W).sum(0) for name in ("Y_l", "Y_v"))
    f_l, f_v = (oracle.ln_phi(data, T[two], p[two], z) + np.log(z) for z in (x, y))
    assert np.abs(f_l - f_v).max() < 1e-9


def test_translation_leaves_the_split():
    """ln phi moves by -p c/(RT) in both phases alike. rho of both phases moves by the shift of volume."""
    (T, p, X), q = (a[..., :150] for a in states(SPRAY)), results(SPRAY)
    mix = mixture(SPRAY, translation="peneloux")
    moved = flash(mix, T=T, p=p, X=X)

    assert (moved["phases_status"] == q["phases_status"][:150]).all()
    np.testing.assert_allclose(moved["beta"], q["beta"][:150], rtol=0, atol=1e-12)
    np.testing.assert_allclose(moved["ln_kappa"], q["ln_kappa"][:, :150], rtol=0, atol=1e-11)
    np.testing.assert_allclose(moved["e"], q["e"][:150], rtol=1e-10, atol=1e-4)
    assert (np.abs(moved["rho"] - q["rho"][:150]) > 1e-4 * q["rho"][:150]).any()

    back = flash(mix, e=moved["e"], rho=moved["rho"], Y=moved["Y"])
    np.testing.assert_allclose(back["T"], T, rtol=1e-9)
    np.testing.assert_allclose(back["p"], p, rtol=1e-7)


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


def test_a_trace_of_a_phase():
    """Cold gas with 1e-8 to 1e-5 of water, which freezes out as a liquid that is all water: the share of the liquid is
    next to the end of the bracket of Rachford and Rice. Mole fractions of both phases sum to 1, 1e-12: some roundings;
    fugacities of water are the same."""
    random, n = np.random.default_rng(4), 400
    T, p = random.uniform(170, 215, n), np.exp(random.uniform(np.log(5e4), np.log(2e6), n))
    water, share = 10 ** random.uniform(-8, -5, n), random.uniform(0, 1, n)
    q = flash(mixture(PRODUCTS), T=T, p=p, X=np.stack([share, 1 - share, 0 * T + 1e-9, water]))
    two = q["phases_status"] == 1
    assert not (q["phases_status"] == 2).any() and two.sum() > 100

    # From nothing, and from the state a tenth of a kelvin colder: a fifth less liquid, or none
    start = {name: q[name] for name in ("ln_kappa", "eta")}
    warmer = flash(mixture(PRODUCTS), T=T + 0.1, p=p, Y=q["Y"], **start)
    cold = flash(mixture(PRODUCTS), T=T + 0.1, p=p, Y=q["Y"])
    assert (warmer["phases_status"] == cold["phases_status"]).all()
    for found, at in ((q, T), (warmer, T + 0.1)):
        two = found["phases_status"] == 1
        beta = found["beta"][two]
        x, y = moles(PRODUCTS, found["Y_l"][:, two]), moles(PRODUCTS, found["Y_v"][:, two])
        np.testing.assert_allclose((1 - beta) * x[3] + beta * y[3], water[two] / (1 + 1e-9 + water[two]), rtol=1e-6)
        np.testing.assert_allclose(found["Y_l"][:, two].sum(0), 1, rtol=1e-12)
        f_l, f_v = (oracle.ln_phi(species(PRODUCTS), at[two], p[two], z)[3] + np.log(z[3]) for z in (x, y))
        assert np.abs(f_l - f_v).max() < 1e-8


def test_order_of_species_and_a_species_twice():
    """The same state with the species in another order, and with one of them as two equal halves."""
    (T, p, X), q = (a[..., :150] for a in states(ALKANES)), results(ALKANES)
    order = [2, 0, 3, 1]
    turned = flash(mixture(tuple(ALKANES[k] for k in order)), T=T, p=p, X=X[order])
    data = species(ALKANES).subset(ALKANES)
    twice = SpeciesData.from_arrays(
        ("a", "b", "c", "d", "e"),
        **{k: np.r_[getattr(data, k), getattr(data, k)[:1]] for k in ("W", "omega", "Tc", "pc", "T_mid")},
        nasa_low=np.r_[data.nasa_low, data.nasa_low[:1]],
        nasa_high=np.r_[data.nasa_high, data.nasa_high[:1]],
        T_min=20.0,
        T_max=6e3,
    )
    X_twice = np.stack([X[0] / 2, X[1], X[2], X[3], X[0] / 2])
    halves = flash(Mixture(twice, phases="equilibrium"), T=T, p=p, X=X_twice)

    for got in (turned, halves):
        assert (got["phases_status"] == q["phases_status"][:150]).all()
        np.testing.assert_allclose(got["beta"], q["beta"][:150], rtol=0, atol=1e-9)
        np.testing.assert_allclose(got["rho"], q["rho"][:150], rtol=1e-9)


def test_neighbours_and_packs():
    """A point's bits do not depend on its neighbours; a scalar program agrees to 1e-9."""
    (T, p, X), q = states(SPRAY), results(SPRAY)
    order = np.random.default_rng(2).permutation(T.size)
    moved = flash(mixture(SPRAY), T=T[order], p=p[order], X=X[:, order])
    for name in moved:
        assert (moved[name] == q[name][..., order]).all(), name

    # Cold, then from what points carry, by which packs are put together
    for given, moved_on in (
        (dict(e=q["e"], rho=q["rho"], Y=q["Y"]), {"T_start": 1.003 * T}),
        (dict(T=T, p=p, Y=q["Y"]), {"T": 1.003 * T}),
    ):
        for _ in range(2):
            first = flash(mixture(SPRAY), **given)
            second = flash(mixture(SPRAY), **{k: v[..., order] for k, v in given.items()})
            for name in first:
                assert (second[name] == first[name][..., order]).all(), name
            given |= {name: first[name] for name in ("ln_kappa", "eta")} | moved_on

    plain = mixture(SPRAY).properties("beta phases_status", T=T, p=p, X=X, precision="scalar")
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
            got = flash(mixture(SPRAY), Y=Y, **given)
        assert ((got["phases_status"] == 2) == bad).all()
        for name in ("beta", "beta_volume", "Y_l", "ln_kappa"):
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
    q = flash(mixture(names), T=300.0, p=p, X=np.array([0.85, 0.15]))
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
    q = flash(mixture(names), T=T, p=p, X=X)
    two = q["phases_status"] == 1
    assert set(q["phases_status"]) == {0.0, 1.0} and 100 < two.sum() < T.size - 100

    ln_K = np.log(moles(names, q["Y_v"][:, two]) / moles(names, q["Y_l"][:, two]))
    near = np.abs(ln_K).max(0)
    assert near.min() > 1e-4 and (near < 0.3).any()
    assert (q["rho_l"] > q["rho_v"])[two].all() and (q["beta"][two] > 0).all() and (q["beta"][two] < 1).all()

    back = flash(mixture(names), e=q["e"], rho=q["rho"], Y=q["Y"])
    assert not (back["phases_status"] == 2).any()
    np.testing.assert_allclose(back["T"], T, rtol=1e-7)
