"""States of vapour and liquid from other variables than T and p, and from warm starts; pure species."""

import numpy as np
import pytest
from mixtures_for_tests import changed
from phases_for_tests import (
    ALKANES,
    PRODUCTS,
    RANGES,
    SPRAY,
    R,
    flash,
    mixture,
    results,
    species,
    states,
)
from reference import phases as oracle

from frame.tools.bench import phases as bench
from kernels import ArgumentError, Mixture
from kernels.gas.phases import phases

# ---- states from other variables


@pytest.mark.parametrize("names", RANGES)
@pytest.mark.quick(names=[PRODUCTS])
def test_round_trips(names):
    """Every state is found from (e, rho), (h, p), (s, p), (rho, T) and (p, rho), cold. T to 1e-9, p to 1e-6: a cold
    liquid is stiff."""
    (T, p, _), q = states(names), results(names)

    for given in ("e rho", "h p", "s p", "rho T", "p rho"):
        back = flash(mixture(names), Y=q["Y"], **{name: q[name] for name in given.split()})
        assert (back["phases_status"] == q["phases_status"]).all(), given
        np.testing.assert_allclose(back["T"], T, rtol=1e-9)
        np.testing.assert_allclose(back["p"], p, rtol=1e-6)
        np.testing.assert_allclose(back["beta"], q["beta"], rtol=0, atol=1e-7)


def test_energies_beside_third_phases_are_found():
    """Cold products: three phases are stable in 58 % of the two-phase states. The pair of the lowest Gibbs energy is
    found from (e, rho), in 191 evaluations on average (306 where pairs on the way of a search were looked at)."""
    mix, random, n = mixture(PRODUCTS), np.random.default_rng(6), 400
    T, p = random.uniform(130, 230, n), 10 ** random.uniform(5, 7.3, n)
    q = flash(mix, T=T, p=p, X=random.dirichlet(np.ones(4), n).T)

    with pytest.warns(RuntimeWarning, match="a third phase would lower"):
        found = flash(mix, e=q["e"], rho=q["rho"], Y=q["Y"])
    assert 0.4 < np.mean(found["phases_status"] == 3) < 0.7
    np.testing.assert_allclose(found["T"], T, rtol=1e-8)
    assert np.mean(found["phases_steps"]) < 240


def test_a_density_beside_a_gas_gives_its_T():
    """N2/C12H26 with little vapour: T was 6e-10 and 1.2e-9 off, where a third phase seemed to be below both."""
    mix = bench.Gas(2).mixture()
    T, p = np.array([396.8368484066626, 328.6814752078577]), np.array([7997263.542718352, 2988985.3120184536])
    Y = np.array([[0.03526876675268557, 0.02853950425116487], [0.9647312332473144, 0.9714604957488352]])
    rho = mix.properties("rho", T=T, p=p, Y=Y)["rho"]
    found = mix.properties("T phases_status", p=p, rho=rho, Y=Y)
    assert (found["phases_status"] == 1).all() and np.abs(found["T"] / T - 1).max() < 2e-10


def test_two_temperatures_of_one_density():
    """Helium with liquid carbon dioxide, which boils into it: 29 K above, as a gas, it is as dense. From p and density
    one of both is found, and T and p lead back to that density: 1e-12."""
    mix = Mixture.from_names("HE CO2", phases="equilibrium", equation="pr", kij={"HE/CO2": -0.06259})
    T, p, X = np.array([189.16]), np.array([2.401e7]), np.array([[0.10865], [0.89135]])
    two = mix.properties("rho Y phases_status", T=T, p=p, X=X)
    found = mix.properties("T rho phases_status", p=p, rho=two["rho"], Y=two["Y"])
    gas = mix.properties("rho phases_status", T=found["T"], p=p, X=X)

    assert two["phases_status"] == 1 and found["phases_status"] == gas["phases_status"] == 0
    assert found["T"] > T + 20.0
    np.testing.assert_allclose(gas["rho"], two["rho"], rtol=1e-12)


@pytest.mark.parametrize("given", ["T p", "e rho", "h p", "s p", "rho T", "p rho"])
@pytest.mark.parametrize("names", [SPRAY, ALKANES])
@pytest.mark.quick(names=[SPRAY], given=["T p", "e rho", "h p", "p rho"])
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

    warm = flash(mixture(names), Y=q["Y"], **state, **start)
    cold = flash(mixture(names), Y=q["Y"], **state)

    assert all((start[name] == before[name]).all() for name in start)  # the caller's arrays stay
    assert (warm["phases_status"] == q["phases_status"]).all()
    np.testing.assert_allclose(warm["T"], T, rtol=1e-9)
    np.testing.assert_allclose(warm["beta"], q["beta"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(warm["ln_kappa"][:, two], q["ln_kappa"][:, two], rtol=0, atol=1e-7)
    marks = warm["eta"][~two]  # where the test of stability was passed: 1e4 and the temperature, or in brackets nothing
    np.testing.assert_allclose((marks % 1e4)[marks > 0], T[~two][marks > 0], rtol=1e-9)
    assert np.mean(marks >= 1e4) > 0.9 or given == "s p"
    most = 20 if given == "s p" else 10  # T of an entropy is bracketed
    assert np.median(warm["phases_steps"][two]) <= most
    assert np.median(warm["phases_steps"][two]) < np.median(cold["phases_steps"][two])


@pytest.mark.parametrize("names", [("CH4", "O2"), ALKANES])
def test_a_start_that_is_the_state_takes_one_step(names):
    """Two phases of species that do not repel each other are looked at without a trial of a third: 28 % of those of
    methane and oxygen had some."""
    gas = species(names)
    k = np.where(np.eye(len(names)) > 0, 0.0, 0.01)
    mix, random, n = Mixture(gas.with_kij(k), phases="equilibrium"), np.random.default_rng(4), 3000
    T = random.uniform(0.6 * gas.Tc.min(), 1.05 * gas.Tc.max(), n)
    p, X = 10 ** random.uniform(5, 6.8, n), random.dirichlet(np.ones(len(names)), n).T
    q = flash(mix, T=T, p=p, X=X)
    two = q["phases_status"] == 1
    assert two.sum() > 100

    again = flash(mix, T=T, p=p, X=X, ln_kappa=q["ln_kappa"], eta=q["eta"])
    assert (again["phases_steps"][two] == 2).all()


def edge(mix, T, p, X, side):
    """Temperatures some 1 % outside the boundary between T and another temperature, where there is such a boundary."""
    a, b = T.copy(), T * side

    def status(T):
        return flash(mix, T=T, p=p, X=X)["phases_status"]

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
    """After three calls most points of one phase skip the test of stability; half of them are near the boundary.

    Inside its room a point that skips the test is one phase by the full test. Outside its room no point skips it. The
    same holds from e and rho.
    """
    mix, random, n = mixture(names), np.random.default_rng(7), 1500
    low, high, p_low, p_high = RANGES[names]
    T, p = random.uniform(low, 1.3 * high, n), np.exp(random.uniform(np.log(p_low), np.log(p_high), n))
    X = random.dirichlet(np.full(len(names), 0.5), n).T
    T[: n // 2] = edge(mix, T[: n // 2], p[: n // 2], X[:, : n // 2], 1.3)

    def call(T, p, X, start):
        return flash(mix, T=T, p=p, X=X, **{name: start[name] for name in ("ln_kappa", "eta")})

    q = dict(ln_kappa=np.zeros_like(X), eta=np.zeros(n))
    for _ in range(3):
        q = call(T, p, X, q)
    one = q["phases_status"] == 0
    again = call(T, p, X, q)
    assert one.sum() > 500 and np.mean(again["phases_steps"][one] == 1) > 0.8
    assert (again["phases_status"] == q["phases_status"]).all()

    for a, b in ((-1, 1), (1, -1), (-1, -1), (1, 1)):
        z = X * (1 + 0.009 * random.choice([-1, 1], X.shape)) + random.choice([-4e-4, 0, 4e-4], X.shape)
        z = np.maximum(z, 0)
        moved = (T * (1 + 0.0099 * a), p * (1 + 0.0295 * b), z / z.sum(0))
        warm, full = call(*moved, q), flash(mix, T=moved[0], p=moved[1], X=moved[2])
        skipped = one & (warm["phases_steps"] == 1)
        assert skipped.sum() > 0.6 * one.sum() and not full["phases_status"][skipped].any()
    assert not full["eta"][full["phases_status"] == 0].any()  # nobody carries it

    cold = one & (T < species(names).Tc.max()) & (X.min(0) > 0.02)  # hot points and traces need no room
    other = 0.5 * X + 0.5 * np.eye(len(names))[:, -1:]
    for moved in ((T * 1.016, p, X), (T, p * 1.046, X), (T, p, other)):
        assert cold.sum() > 300 and (call(*moved, q)["phases_steps"][cold] > 1).all()

    cold_of = flash(mix, T=T, p=p, X=X)
    state = {name: cold_of[name] for name in ("e", "rho", "Y")}
    start = {name: q[name] for name in ("ln_kappa", "eta")}
    found = flash(mix, T_start=T, **start, **state)
    assert (found["phases_status"] == q["phases_status"]).all()
    assert np.mean(found["phases_steps"][one] == 1) > 0.8
    np.testing.assert_allclose(found["T"], T, rtol=1e-9)


@pytest.mark.parametrize("names", [SPRAY, PRODUCTS])
@pytest.mark.quick(names=[PRODUCTS])
def test_points_without_a_trial_phase_settle_at_once(names):
    """States of which some are nearly pure. Where every trial phase of a second call ends as the mixture itself, and
    that is no gas that rests already, the third call skips the test of stability, in a room that has more of each
    species. At its corners the full test finds one phase, beside a liquid that is about to boil and beside a vapour
    with a trace that is about to condense."""
    mix, random, n = mixture(names), np.random.default_rng(11), 4000
    ns, Tc = len(names), species(names).Tc
    T, p = random.uniform(0.45 * Tc.min(), 1.3 * Tc.max(), n), 10 ** random.uniform(4.5, 7.45, n)
    X = random.dirichlet(np.full(ns, 0.4), n).T
    X[:, ::2] = random.dirichlet(np.ones(ns), n // 2).T * 10 ** random.uniform(-4, -0.7, n // 2)
    X[random.integers(ns, size=n // 2), np.arange(0, n, 2)] += 1 - X[:, ::2].sum(0)

    q = dict(ln_kappa=np.zeros_like(X), eta=np.zeros(n))
    for _ in range(2):
        q = flash(mix, T=T, p=p, X=X, **{name: np.nan_to_num(q[name]) for name in ("ln_kappa", "eta")})
    alone = np.flatnonzero(q["eta"] // 1e4 == 3)
    assert alone.size > 100 and not q["phases_status"][alone].any()

    T, p, X, start = T[alone], p[alone], X[:, alone], {name: q[name][..., alone] for name in ("ln_kappa", "eta")}
    for _ in range(4):
        sign = random.choice([-1, 1], (ns + 2, alone.size))
        z = np.maximum(X + 0.9 * sign[2:] * (0.02 * X + 5e-3), 0)
        moved = dict(T=T * (1 + 0.0099 * sign[0]), p=p * (1 + 0.0295 * sign[1]), X=z / z.sum(0))
        skipped = flash(mix, **moved, **start)["phases_steps"] == 1
        assert skipped.mean() > 0.3 and not flash(mix, **moved)["phases_status"][skipped].any()


@pytest.mark.parametrize("names", [SPRAY, PRODUCTS])
@pytest.mark.quick(names=[PRODUCTS])
def test_gases_without_a_trial_phase_rest(names):
    """Between the critical temperatures of their species. A gas whose trial phases go straight back to it skips the
    test of stability from the second call on. At corners of that room the full test finds one phase, and outside of it
    no point skips: where it is too hot, too rich in a species, or has one that it had not."""
    mix, random, n = mixture(names), np.random.default_rng(12), 6000
    ns, Tc = len(names), species(names).Tc
    X = random.dirichlet(np.full(ns, 0.6), n).T
    X[0, ::3] = 0.0
    X /= X.sum(0)
    T, p = random.uniform(X.T @ Tc, Tc.max()), 10 ** random.uniform(5.3, 7.45, n)

    q = flash(mix, T=T, p=p, X=X, ln_kappa=np.zeros_like(X), eta=np.zeros(n))
    single = np.flatnonzero(q["eta"] // 1e4 == 4)
    assert single.size > 500 and not q["phases_status"][single].any()

    T, p, X, start = T[single], p[single], X[:, single], {name: q[name][..., single] for name in ("ln_kappa", "eta")}
    each, main = np.arange(single.size), X.argmax(0)

    def changed(part):
        """X whose lesser species change by a part of their own, as far as the main one has room for it."""
        change = part * X
        change[main, each] = 0.0
        rest = -change.sum(0)
        change[main, each] = rest
        return X + change * np.minimum(1.0, 0.0899 * X[main, each] / np.maximum(np.abs(rest), 1e-30))

    for _ in range(6):
        sign = random.choice([-1, 1], (ns + 2, single.size))
        moved = dict(T=T * (1 + 0.0149 * sign[0]), p=p * (1 + 0.0449 * sign[1]), X=changed(0.0899 * sign[2:]))
        assert np.all(flash(mix, **moved, **start)["phases_steps"] == 1)
        assert not flash(mix, **moved)["phases_status"].any()

    cold = T < 0.98 * Tc.max()  # hot points need no room
    other = np.where(X[0] > 0, X + 0.2 * X[:1] * (np.eye(ns)[:, :1] - X), X + 1e-4 * (np.eye(ns)[:, :1] - X))
    for moved in ((T * 1.016, p, X), (T, p * 1.046, X), (T, p, other)):
        T_moved, p_moved, X_moved = (values[..., cold] for values in moved)
        carried = {name: values[..., cold] for name, values in start.items()}
        assert np.all(flash(mix, T=T_moved, p=p_moved, X=X_moved, **carried)["phases_steps"] > 1)


def test_hot_points_skip_the_test():
    """Above 1.02 Tc of each species and below 30 MPa no trial is made. At 1.01 Tc, where trials are made, nothing is
    unstable. A trace of a heavy species does not count, a percent of it does."""
    mix, n = mixture(("N2", "CH4", "H2O")), 300
    random = np.random.default_rng(3)
    p, X = np.exp(random.uniform(np.log(1e5), np.log(3e7), n)), random.dirichlet(np.ones(3), n).T
    for T, p_factor, skipped in ((1.03, 1, True), (1.01, 1, False), (1.03, 1000, False)):
        q = flash(mix, T=T * 647.096, p=p * p_factor, X=X)
        assert (q["phases_steps"] == 1).all() if skipped else (q["phases_steps"] > 1).any()
        assert not q["phases_status"].any() or p_factor > 1

    for water, skipped in ((1e-30, True), (0.01, False)):
        steps = flash(mix, T=300.0, p=1e5, X=[0.5, 0.5 - water, water])["phases_steps"]
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
        ArgumentError, match="'ln_kappa' was given as a start, but .* wanted T p Y ln_kappa eta or .*e rho Y T_start"
    ):
        mix.properties("beta", T=400.0, p=1e6, Y=Y, ln_kappa=np.zeros(2))
    with pytest.raises(ArgumentError, match="ask for it, too"):
        mix.program(["beta"], ["T", "p", "Y", "ln_kappa", "eta"])
    with pytest.raises(ArgumentError, match="not there for phases = 'single'"):
        Mixture(species(SPRAY)).properties("rho", T=400.0, p=1e6, Y=Y, **start)


def around_the_dome(n, random):
    """(mixture, T, p, X) of n points of PRODUCTS on both sides of the edge of two phases."""
    mix = mixture(PRODUCTS)
    low, high, p_low, p_high = RANGES[PRODUCTS]
    T, p = random.uniform(low, high, n), np.exp(random.uniform(np.log(p_low), np.log(p_high), n))
    X = random.dirichlet(np.ones(4), n).T

    return mix, edge(mix, T, p, X, 1.3), p, X


def test_points_that_move_follow_a_trial_phase():
    """Points of one phase whose T changes by half a percent in each call follow their trial phases.

    They move too fast to settle. Following takes two to four evaluations. Each call finds the phases of a full test. A
    new species brings the full test back.
    """
    n, random = 1500, np.random.default_rng(8)
    mix, T, p, X = around_the_dome(n, random)
    X[3, : n // 3], direction = 0.0, random.choice([-1, 1], n)
    q = dict(ln_kappa=np.zeros_like(X), eta=np.zeros(n))

    short = []
    for call in range(8):
        if call == 5:
            X[3, : n // 3] = 0.01
        moved = dict(T=T * (1 + 0.005 * call * direction), p=p, X=X / X.sum(0))
        followed = q["eta"] >= 7e4
        q = flash(mix, **moved, **{name: q[name] for name in ("ln_kappa", "eta")})
        full = flash(mix, **moved)
        assert (q["phases_status"] == full["phases_status"]).all()
        if followed.any() and call != 5:
            short.append(q["phases_steps"][followed] <= 4)
        if call == 5:
            assert (q["phases_steps"][: n // 3][followed[: n // 3]] > 4).all()
    assert np.concatenate(short).size > 300 and np.concatenate(short).mean() > 0.5


@pytest.mark.parametrize("names", [ALKANES, PRODUCTS])
def test_compositions_that_move(names):
    """Two phases of e and rho from those of a composition that is 1 % off in each species: the amounts of the start are
    moved to equal pressures first, and half of the points take two steps, of two evaluations each (three without). T to
    1e-9."""
    T, p, X = states(names)
    q, mix, random = results(names), mixture(names), np.random.default_rng(3)
    Z = X * (1 + 0.01 * random.choice([-1, 1], X.shape))
    now = flash(mix, T=T, p=p, X=Z / Z.sum(0))

    both = (q["phases_status"] == 1) & (now["phases_status"] == 1)
    state = {name: now[name][..., both] for name in ("e", "rho", "Y")}
    start = {name: q[name][..., both] for name in ("ln_kappa", "eta")}
    found = flash(mix, T_start=T[both], **start, **state)
    assert both.sum() > 50 and (found["phases_status"] == 1).all()
    np.testing.assert_allclose(found["T"], T[both], rtol=1e-9)
    assert np.median(found["phases_steps"]) <= 4


def test_points_at_rest_follow_on():
    """Points that follow a trial phase and then rest: the trial comes to its stationary point, so that what is left of
    its residual is no change of the state. Each call takes one short test of the sixteen; it took three."""
    n, random = 600, np.random.default_rng(8)
    mix, T, p, X = around_the_dome(n, random)
    q = dict(ln_kappa=np.zeros_like(X), eta=np.zeros(n))
    for moved in (1.0, 1.005, 1.01, 1.01, 1.01, 1.01):
        before = q["eta"] // 1e4
        q = flash(mix, T=T * moved, p=p, X=X, **{name: q[name] for name in ("ln_kappa", "eta")})

    rests = (before > 7) & (q["eta"] // 1e4 > before)
    assert rests.sum() > 30 and (q["eta"][rests] // 1e4 == before[rests] + 1).all()


def test_points_that_leave_their_kind():
    """Points that leave two phases or enter them by 3 % of T, beside others that stay: packs put them off. Phases and
    T are those without a start, to 1e-9 as from any start. A point's bits do not depend on its neighbours, and no mark
    of the way is left in eta."""
    n, random = 1000, np.random.default_rng(9)
    mix, T, p, X = around_the_dome(n, random)
    other = T * (1 + 0.03 * random.choice([-1, 1], n))
    first, moved = np.where(np.arange(n) < n // 2, (T, other), (other, T))
    q = dict(ln_kappa=np.zeros_like(X), eta=np.zeros(n))
    for call in range(-2, 1):
        before = q = flash(mix, T=first * (1 + 0.003 * call), p=p, X=X, ln_kappa=q["ln_kappa"], eta=q["eta"])

    full = flash(mix, T=moved, p=p, X=X)
    was, now = before["phases_status"] == 1, full["phases_status"] == 1
    assert min((was & ~now).sum(), (~was & now).sum(), (was & now).sum(), (~was & ~now).sum()) > 20

    order = random.permutation(n)
    carried = {name: before[name] for name in ("ln_kappa", "eta")}
    for given in (dict(T=moved, p=p, X=X), dict(e=full["e"], rho=full["rho"], Y=full["Y"], T_start=first)):
        given |= carried
        found = flash(mix, **given)
        assert (found["phases_status"] == full["phases_status"]).all()
        np.testing.assert_allclose(found["T"], moved, rtol=1e-9)
        assert (found["phases_steps"][was != now] > 2).all() and (found["eta"] < 23e4).all()

        beside = flash(mix, **{name: values[..., order] for name, values in given.items()})
        for name in found:
            assert (beside[name] == found[name][..., order]).all(), name


@pytest.mark.filterwarnings("ignore:a third phase would lower")
@pytest.mark.parametrize("given", ["e rho", "h p", "s p", "rho T", "p rho"])
def test_energies_where_a_third_phase_would_be(given):
    """Cold products, without a start. The pair of the lowest Gibbs energy is the only one of its energy and density,
    also where a third phase would lower that further: G of the lowest pairs is concave in T and p. T to 1e-9, p to
    1e-6. Search by other pairs ended up to 90 K away."""
    random, n = np.random.default_rng(8), 1000
    T, p = random.uniform(180, 273, n), np.exp(random.uniform(np.log(1e4), np.log(3e7), n))
    X = random.dirichlet(np.full(4, 0.5), n).T
    q = flash(mixture(PRODUCTS, phases_check="on"), T=T, p=p, X=X)
    third = q["phases_status"] == 3
    assert third.sum() > 40 and not (q["phases_status"] == 2).any()

    back = flash(mixture(PRODUCTS), Y=q["Y"], **{name: q[name] for name in given.split()})
    assert (back["phases_status"] == q["phases_status"]).all()
    np.testing.assert_allclose(back["T"], T, rtol=1e-9)
    np.testing.assert_allclose(back["p"], p, rtol=1e-6)


# ---- points that are too hot for two phases


HOT = [  # names, k_ij, equation
    ("HE H2 NC12H26", 0.0, "mapped"),
    ("NE NC12H26", 0.3, "mapped"),
    ("AR NC12H26", 0.1, "mapped"),
    ("AR NC12H26", 0.3, "mapped"),
    ("N2 NC12H26", 0.0, "mapped"),
    ("HE NE", 0.3, "mapped"),
    ("N2 H2O", 0.3, "pr"),
    ("H2 NC12H26", 0.3, "pr"),
    ("CH4 O2 CO2 H2O", 0.1, "srk"),
]


@pytest.mark.parametrize("names, kij, equation", HOT)
@pytest.mark.quick(names=["HE H2 NC12H26", "N2 NC12H26", "N2 H2O"])
def test_nothing_is_left_out_where_it_is_hot(names, kij, equation, monkeypatch):
    """Points above the bound are not tested for stability. Without the bound the test says one phase of 10 000 random
    states above it, up to 30 MPa."""
    single = Mixture.from_names(names, equation=equation).species
    ns = single.ns
    data = changed(single, kij=kij * (1 - np.eye(ns)))
    bound = Mixture(data, equation=equation, phases="equilibrium").constant("phase_hot").array.max()
    monkeypatch.setattr(phases, "hot_ratio", lambda *_: phases.NEVER)
    tested = Mixture(changed(single, kij=kij * (1 - np.eye(ns))), equation=equation, phases="equilibrium")
    assert tested.constant("phase_hot").array.min() > 1e9

    random, n = np.random.default_rng(3), 10_000
    T, p = bound * random.uniform(1, 1.1, n), random.uniform(1e6, 3e7, n)
    X = random.dirichlet(np.full(ns, 0.7), n).T
    assert (tested.properties("phases_status", T=T, p=p, X=X)["phases_status"] == 0).all()


def test_hydrogen_and_dodecane_above_the_critical_point_of_dodecane():
    """By equation `mapped` they are two phases there at high pressures: 700 K is 1.064 Tc."""
    mix = Mixture.from_names("H2 NC12H26", equation="mapped", phases="equilibrium")
    q = mix.properties("phases_status Y_l Y_v", T=700.0, p=2.6e7, X=[0.8, 0.2])
    x, y = (q[name] / mix.species.W / (q[name] / mix.species.W).sum() for name in ("Y_l", "Y_v"))
    assert q["phases_status"] == 1
    at = mix.species, np.array([700.0]), np.array([2.6e7])
    f_l, f_v = (oracle.ln_phi(*at, z[:, None], equation="mapped")[:, 0] + np.log(z) for z in (x, y))
    assert np.abs(f_l - f_v).max() < 1e-9


# ---- pure species


@pytest.mark.full
def test_a_pure_species_that_hardly_boils_or_condenses():
    """A trace of one phase beside the other, from 1e-13 of the moles on, by the lever rule between the saturated
    phases. Cold, and from the state beside it: each point has a state, and that of saturation. T: 1e-8, what
    the bisection of bubble_p leaves of p; p: 1e-5, which is 1e-8 of a liquid's stiffness rho c^2. A warm start from a
    neighbour 1e-5 away in density ends there, too."""
    mix = Mixture(species(("N2",)), phases="equilibrium")
    T = np.linspace(70.0, 124.0, 28)
    p, Y = mix.bubble_p(T, [1.0]), np.ones((1, T.size))
    ends = [flash(mix, T=T, p=p * (1 + sign * 1e-9), X=Y) for sign in (1, -1)]

    for share in 10.0 ** np.arange(-13, -1):
        for x in (share, 1 - share):
            v, e = (
                (1 - x) * a + x * b for a, b in ((1 / ends[0]["rho"], 1 / ends[1]["rho"]), (ends[0]["e"], ends[1]["e"]))
            )
            found = flash(mix, e=e, rho=1 / v, Y=Y)
            assert (found["phases_status"] < 2).all(), x
            np.testing.assert_allclose(found["T"], T, rtol=1e-8)
            np.testing.assert_allclose(found["p"], p, rtol=1e-5)

            beside = flash(mix, e=e, rho=(1 - 1e-5) / v, Y=Y)
            start = dict(T_start=beside["T"], ln_kappa=beside["ln_kappa"], eta=beside["eta"])
            again = flash(mix, e=e, rho=1 / v, Y=Y, **start)
            assert (again["phases_status"] < 2).all(), x
            np.testing.assert_allclose(again["T"], found["T"], rtol=1e-9)


@pytest.mark.parametrize("equation", ["pr", "srk"])
@pytest.mark.quick(equation="pr")
def test_pure_species(equation):
    """Along the saturation line up to 0.999 Tc, from (e, rho), (h, p) and (p, rho): both phases have the same fugacity
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
        is_single = np.isclose(q["vapour"]["rho"], q["liquid"]["rho"], rtol=1e-9, atol=0)  # two programs round apart
        gas = np.where(is_single, q["liquid"]["rho"] < critical, f["vapour"] < f["liquid"])
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

        for other in (dict(h=whole["h"]), dict(rho=1 / whole["vol"])):
            back = flash(mix, p=p, Y=np.ones((1, T.size)), **other)
            assert (back["phases_status"] == 1).all()
            np.testing.assert_allclose(back["T"], T, rtol=1e-9)
            np.testing.assert_allclose(back["beta"], share, rtol=0, atol=1e-6)
