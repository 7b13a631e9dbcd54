"""Bubble and dew points, the envelope, the critical point: against the condition that the incipient phase has equal
fugacities, and against each other."""

import warnings

import numpy as np
import pytest
from phases_for_tests import ALKANES, NUMBERS, SPRAY, R, mixture, species
from reference import flash, phases as oracle

from kernels import ArgumentError, Mixture, StateError

GAS = ("CH4", "nC4")  # retrograde


def incipient(names, T, p, X, K):
    """ln of the sum of an incipient phase z K/..., after substitution: 0 at the boundary. K: a start (ns,)."""
    data, z = species(names), np.asarray(X)[:, None]
    T, p = np.array([T]), np.array([p])
    of_z, w = oracle.ln_phi(data, T, p, z), z * np.asarray(K)[:, None]
    for _ in range(60):
        w = z * np.exp(of_z - oracle.ln_phi(data, T, p, w / w.sum(0)))
    return float(np.log(w.sum(0))[0]), w / w.sum(0)


@pytest.mark.parametrize("names, X", [(ALKANES, [0.25, 0.25, 0.25, 0.25]), (SPRAY, [0.02, 0.98])])
@pytest.mark.quick(names=[ALKANES])
def test_boundaries_against_substitution(names, X):
    """At a bubble or dew point the sum of the incipient phase is 1: 1e-6, since the boundary is known to 1e-8 of p and
    T, and the sum moves by up to 1e2 times that."""
    mix, data = mixture(names), species(names)
    p = np.array([2e5, 1e6])
    T_bubble, T_dew = mix.bubble_T(p, X), mix.dew_T(p, X)

    assert (T_bubble < T_dew).all()

    for k in range(2):
        for T, light in ((T_bubble[k], True), (T_dew[k], False)):
            K = oracle.wilson(data, np.array([T]), p[k : k + 1])[:, 0].astype(float)
            off, _ = incipient(names, T, p[k], X, K if light else 1 / K)
            assert abs(off) < 1e-6

    np.testing.assert_allclose(mix.bubble_p(T_bubble, X), p, rtol=1e-6)
    np.testing.assert_allclose(mix.dew_p(T_dew, X), p, rtol=1e-6)


@pytest.mark.parametrize("equation", ["pr", "mapped"])
@pytest.mark.quick(equation="pr")
def test_dew_points_of_cold_gases(equation):
    """A gas of half nitrogen condenses dodecane where its partial pressure is the fugacity of the liquid by itself,
    5e-7 to 1e-3 Pa: 1e-6, by the liquid's pressure of 1 Pa. Below 1e-7 Pa there is none."""
    mix = Mixture.from_names("N2 NC12H26", phases="equilibrium", equation=equation)
    T = np.array([182.0, 190.0, 200.0, 210.0])
    pure = np.array([np.full(4, 1e-30), np.ones(4)])
    wanted = 2 * np.exp(oracle.ln_phi(mix.species, T, np.ones(4), pure, equation=equation)[1].astype(float))

    np.testing.assert_allclose(mix.dew_p(T, [0.5, 0.5]), wanted, rtol=1e-6)
    assert 5e-7 < wanted.min() < 1e-5
    with pytest.warns(RuntimeWarning, match="a boundary below 1e-07 Pa"):
        assert np.isnan(mix.dew_p(140.0, [0.5, 0.5]))


@pytest.mark.parametrize("boundary", ["bubble_T", "dew_T", "bubble_p", "dew_p"])
def test_a_point_without_a_boundary_is_reported(boundary, monkeypatch):
    """Above the critical point: one warning with the boundary, how many points have none, the first and its input; an
    error in check mode. Nothing where all points have one."""
    mix, X = mixture(ALKANES), np.ones(4)
    name, given = ("p", [1e6, 2e7, 1e5, 3e7]) if boundary.endswith("T") else ("T", [320.0, 700.0, 350.0, 800.0])
    of = getattr(mix, boundary)

    with pytest.warns(RuntimeWarning) as told:
        found = of(given, X)
    assert (np.isnan(found) == [False, True, False, True]).all()
    assert len(told) == 1 and told[0].filename == __file__

    text = str(told[0].message)
    assert f"'{boundary}': NaN at 2 of 4 points" in text and f"point [1], there {name} = {given[1]!r}" in text

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of(given[::2], X)

    monkeypatch.setenv("FRAME_CHECK", "1")
    with pytest.raises(StateError, match=f"check: '{boundary}': NaN at 2 of 4 points"):
        of(given, X)


def test_a_composition_by_mass():
    """Y for X: the same boundaries to rounding, which bisections may end a part in 1e-15 apart; with names, labels and
    masks."""
    pd = pytest.importorskip("pandas")
    mix, X = mixture(ALKANES), np.array([0.1, 0.2, 0.3, 0.4])
    Y = X * mix.species.W

    for boundary, given in (("bubble_T", 1e6), ("dew_T", 1e6), ("bubble_p", 350.0), ("dew_p", 350.0)):
        of = getattr(mix, boundary)
        wanted = of(given, X)
        for masses in (Y, dict(zip(ALKANES, Y)), np.ma.array(Y), pd.Series(Y, ALKANES)):
            np.testing.assert_allclose(of(given, Y=masses), wanted, rtol=1e-12)

    line, by_moles = mix.envelope(Y=Y, points=4), mix.envelope(X, 4)
    for name in line:
        np.testing.assert_allclose(line[name], by_moles[name], rtol=1e-7)
    assert mix.critical_point(Y=Y)["T"] == pytest.approx(mix.critical_point(X)["T"], rel=1e-9)

    with pytest.raises(ArgumentError, match="both X and Y were given"):
        mix.dew_T(1e6, X, Y=Y)
    with pytest.raises(ArgumentError, match=r"Y = \[1.0, 2.0\] has shape \(2,\); wanted 4 amounts of mass"):
        mix.dew_T(1e6, Y=[1.0, 2.0])


def test_shapes_and_what_is_none():
    mix, X = mixture(ALKANES), np.ones(4)
    assert mix.bubble_T(1e6, X).shape == () and mix.dew_T([[1e5], [1e6]], X).shape == (2, 1)
    with pytest.warns(RuntimeWarning, match="NaN at 1 of 1 points"):
        assert np.isnan(mix.bubble_T(1e7, X)) and np.isnan(mix.dew_p(600.0, X))

    by_name = "iC4:1, nC4:1, nC5:1, nC6:1"
    assert mix.bubble_T(1e6, by_name) == mix.bubble_T(1e6, dict.fromkeys(ALKANES, 2.0)) == mix.bubble_T(1e6, X)

    for bad, fault in (
        ([1.0, 2.0], r"has shape \(2,\)"),
        ([1.0, -1.0, 0.0, 0.0], "has negative amounts"),
        ([0.0] * 4, "sums to 0"),
        ([1.0, np.inf, 1.0, 1.0], "is not finite"),
    ):
        with pytest.raises(ArgumentError, match=f"{fault}; wanted 4 amounts of moles, one for each of iC4, nC4"):
            mix.bubble_T(1e5, bad)

    with pytest.raises(ArgumentError, match="'X': no species 'H2' in this mixture"):
        mix.dew_p(300.0, {"H2": 1.0})
    with pytest.raises(ArgumentError, match=r"X has shape \(4, 3\) and T \(2,\): those behind the species do not fit"):
        mix.dew_p([300.0, 310.0], np.ones((4, 3)))
    with pytest.raises(ArgumentError, match=r"X has shape \(4, 3\); wanted one composition, 4 amounts"):
        mix.envelope(np.ones((4, 3)))
    with pytest.raises(ArgumentError, match=r"X = \[1.0, nan, 1.0, 1.0\] has a NaN; wanted 4 amounts"):
        mix.critical_point([1.0, np.nan, 1.0, 1.0])
    with pytest.raises(ArgumentError, match="p = -1.0; wanted positive numbers"):
        mix.bubble_T(-1.0, X)
    with pytest.raises(ArgumentError, match="phases = 'single' came"):
        Mixture(species(ALKANES)).critical_point(X)


@pytest.mark.parametrize("boundary", ["bubble_T", "dew_T", "bubble_p", "dew_p"])
def test_a_point_without_a_state_is_nan_and_alone(boundary):
    """Infinity, zero or a number below 0 at some points: NaN there, a warning, and the others keep their bits."""
    mix, of = mixture(ALKANES), "p" if boundary.endswith("T") else "T"
    good = np.array([3e5, 5e5] if of == "p" else [310.0, 350.0])
    given = np.array([[np.nan, good[0], -1.0], [0.0, np.inf, good[1]]])
    find = getattr(mix, boundary)

    with pytest.warns(RuntimeWarning, match=rf"'{boundary}': NaN at 3 of 6 points, .* as where {of} is no positive"):
        found = find(given, [1.0, 1.0, 1.0, 1.0])
    assert np.isnan(found).tolist() == [[True, False, True], [True, True, False]]
    np.testing.assert_array_equal([found[0, 1], found[1, 2]], find(good, [1.0, 1.0, 1.0, 1.0]))

    with pytest.raises(ArgumentError, match="wanted positive numbers"):
        find([np.nan, -1.0], [1.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("boundary", ["bubble_T", "dew_T", "bubble_p", "dew_p"])
def test_a_nan_stays_alone(boundary):
    """As in `properties`: NaN at that point, without a warning; the others keep their bits. It refused the field."""
    mix, find = mixture(ALKANES), getattr(mixture(ALKANES), boundary)
    given = np.array([3e5, 5e5, 1e6]) if boundary.endswith("T") else np.array([310.0, 350.0, 390.0])
    X = np.random.default_rng(1).dirichlet(np.ones(mix.ns), 3).T
    wanted = find(given, X)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for holes in ([1], [0, 2], [0, 1, 2]):
            some, others = given.copy(), X.copy()
            some[holes], others[2, holes] = np.nan, np.nan
            kept = np.delete(wanted, holes)

            for found in (find(some, X), find(given, others), find(given, Y=others * mix.species.W[:, None])):
                assert np.isnan(found[holes]).all()
                np.testing.assert_allclose(np.delete(found, holes), kept, rtol=1e-14)

        masked = find(np.ma.array(some, mask=[True, False, False]), X)

    assert masked.mask.tolist() == [True, False, False] and np.isnan(masked.data).all()


@pytest.mark.parametrize("boundary", ["bubble_T", "dew_T", "bubble_p", "dew_p"])
def test_a_composition_for_each_point(boundary):
    """The same bits as of each composition alone, also where species are absent and the lines are other ones."""
    mix, given = mixture(ALKANES), np.array([[3e5], [1e6]]) if boundary.endswith("T") else np.array([[310.0], [390.0]])
    X = np.array([[1.0, 0.5, 0.1], [1.0, 0.5, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.9]])
    find = getattr(mix, boundary)

    found = find(given, X)
    assert found.shape == (2, 3) and np.isfinite(found).all()
    for k in range(3):
        np.testing.assert_array_equal(found[:, k], find(given[:, 0], X[:, k]))

    np.testing.assert_array_equal(find(given[0, 0], dict(zip(ALKANES, X))), found[0])


def test_no_dew_point_above_the_cricondenbar():
    """A natural gas: above the highest pressure of gas and liquid the cold fluid, some 95 K, splits into two liquids.
    That is no dew point. Just below that pressure there is one, of a dense gas; a colder feed is one phase beside it,
    and a liquid has more density than the gas."""
    names, X = "CH4 N2 CO2 C2H6 C3H8 NC4H10 NC5H12 H2S", [0.85, 0.02, 0.02, 0.06, 0.03, 0.01, 0.005, 0.005]
    mix = Mixture.from_names(names, phases="equilibrium", equation="pr")

    with pytest.warns(
        RuntimeWarning, match="'dew_T': NaN at 3 of 5 points, .* above the highest of a gas beside a liq"
    ):
        T = mix.dew_T([7e6, 8.8e6, 1e7, 3e7, 1e8], X)

    assert np.isnan(T[2:]).all()

    inside = mix.properties("phases_status rho rho_l rho_v beta", T=T[:2] * (1 - 1e-6), p=np.array([7e6, 8.8e6]), X=X)
    assert (inside["phases_status"] == 1).all() and (inside["beta"] > 0.9).all()
    assert (inside["rho_l"] > 1.3 * inside["rho_v"]).all()
    assert mix.properties("phases_status", T=90.0, p=1e8, X=X)["phases_status"] == 1


# Of GAS with 15 % of the heavier species, by Peng-Robinson: the highest T [K] and p [Pa] of two phases
HIGHEST_T, HIGHEST_P = 319.7223093, 1.330663095e7


@pytest.mark.parametrize("below", [3e-5, 1e-5])
def test_next_to_the_highest_temperature_and_pressure(below):
    """Both ends are found where two phases span less than the scan's step. The oracle has a phase below the plane of
    the feed on the inner side of each alone: by 1e-8 to 1e-6 RT at 1e-4 of p and 1e-5 of T, where rounding is 1e-12.
    Above the highest there are none."""
    mix, X = mixture(GAS, equation="pr"), np.array([0.85, 0.15])
    T, p = HIGHEST_T * (1 - below), HIGHEST_P * (1 - below)
    p_ends = [float(mix.dew_p(T, X)), float(mix.bubble_p(T, X))]
    T_ends = [float(mix.bubble_T(p, X)), float(mix.dew_T(p, X))]

    around_p = np.outer(p_ends, [1 - 1e-4, 1 + 1e-4]).ravel()
    around_T = np.outer(T_ends, [1 - 1e-5, 1 + 1e-5]).ravel()
    states = np.r_[np.full(4, T), around_T], np.r_[around_p, np.full(4, p)]
    chosen = {key: mix.options[key] for key in ("equation", "alpha", "mixing")}
    found = flash.flash(mix.species, *states, np.repeat(X[:, None], 8, axis=1), **chosen)

    np.testing.assert_array_equal(found.tm < -1e-9, [False, True, True, False] * 2)

    with pytest.warns(RuntimeWarning, match="NaN at 1 of 1 points"):
        assert np.isnan(mix.dew_p(HIGHEST_T * (1 + below), X)) and np.isnan(mix.dew_T(HIGHEST_P * (1 + below), X))


def test_pure_species_boil():
    """Bubble and dew point have the same temperature; liquid and gas have the same fugacity there."""
    mix, T = mixture(("N2",)), np.array([70.0, 100.0, 125.0, 130.0])
    with pytest.warns(RuntimeWarning, match="the first is point \\[3\\], there T = 130"):
        p, dew = mix.bubble_p(T, [1.0]), mix.dew_p(T, [1.0])
    np.testing.assert_allclose(dew, p, rtol=1e-9)
    assert np.isnan(p[3])

    phi = [
        Mixture(species(("N2",)), root=root).properties("ln_phi", T=T[:3], p=p[:3], Y=np.ones(1))["ln_phi"]
        for root in ("liquid", "vapour")
    ]
    np.testing.assert_allclose(phi[0], phi[1], atol=1e-8)
    np.testing.assert_allclose(mix.bubble_T(p[:3], [1.0]), T[:3], rtol=1e-9)

    point = mix.critical_point([1.0])
    np.testing.assert_allclose([point["T"], point["p"]], NUMBERS["N2"][:2], rtol=1e-9)


def test_the_envelope_and_its_critical_point():
    """The retrograde mixture's lines meet at the highest temperature. The critical point lies on the upper line, at a
    lower temperature; next to it both phases are nearly the same."""
    mix, X = mixture(GAS), [0.85, 0.15]
    line, point = mix.envelope(X, points=30), mix.critical_point(X)
    T, low, high = line["T"], line["p_low"], line["p_high"]

    assert np.isfinite(low).all() and (low < high).all()
    assert point["T"] < T[-1] - 20 and high.max() > point["p"]

    np.testing.assert_allclose(mix.bubble_p(point["T"] - 1e-3, X), point["p"], rtol=1e-4)
    at = dict(T=point["T"] - 0.05, X=np.array(X))
    inside = mix.properties("phases_status rho_l rho_v beta", p=mix.bubble_p(at["T"], X) * (1 - 1e-6), **at)

    assert inside["phases_status"] == 1 and 1 < inside["rho_l"] / inside["rho_v"] < 1.3

    # The volume is that of the equation at T and p
    rho = Mixture(species(GAS)).properties("v_mol", T=point["T"], p=point["p"] * (1 + 1e-12), X=X)["v_mol"]
    np.testing.assert_allclose(point["v_mol"], rho, rtol=1e-3)  # dv/dp is infinite there


@pytest.mark.parametrize("points", [3, 20])
def test_an_envelope_ends_at_its_highest_temperature(points):
    """However few points it has: to 5 mK, what bisections leave of a scan. It ended up to a step of 4 `points` before.
    Nitrogen with next to no dodecane ends at its own critical point; three points were the same one."""
    mix = mixture(GAS, equation="pr")
    line = mix.envelope([0.85, 0.15], points=points)
    assert 0 <= HIGHEST_T - line["T"][-1] < 5e-3
    assert np.isfinite(line["p_low"]).all() and np.isfinite(line["p_high"]).all()

    line, Tc = mixture(SPRAY).envelope([1.0, 1e-30], points=points), NUMBERS["N2"][0]
    np.testing.assert_allclose(line["T"], np.linspace(0.45 * Tc, Tc, points), rtol=0, atol=5e-3)
    np.testing.assert_allclose(line["p_low"], line["p_high"], rtol=1e-6)


def test_amounts_that_rounding_made_negative():
    """Solvers have mass fractions of -1e-18. They are 0, as `properties` has them, to a millionth of the sum."""
    mix = mixture(ALKANES)
    X, clean = np.array([0.5, -1e-18, 0.5, -1e-9]), np.array([0.5, 0.0, 0.5, 0.0])
    assert mix.bubble_p(350.0, X) == mix.bubble_p(350.0, clean) and mix.dew_T(1e6, Y=X) == mix.dew_T(1e6, Y=clean)
    assert mix.critical_point(X) == mix.critical_point(clean)
    with pytest.raises(ArgumentError, match="has negative amounts"):
        mix.bubble_p(350.0, [0.5, -1e-5, 0.5, 0.0])


def test_an_envelope_that_does_not_close():
    """Nitrogen with half helium: liquid nitrogen dissolves a little of it at any pressure, so that colder lines have no
    upper end. One warning says so; a critical point is there all the same, between two ends of p_high."""
    mix = Mixture.from_names("N2 HE", phases="equilibrium", equation="pr")
    with pytest.warns(
        RuntimeWarning, match="'p_high': NaN at .* where a gas hardly dissolves: none is seen up to 2e"
    ) as told:
        line = mix.envelope([0.5, 0.5], points=8)

    assert len(told) == 1 and told[0].filename == __file__

    open_ = np.isnan(line["p_high"])
    assert np.isfinite(line["p_low"]).all() and open_[0] and not open_[-1]

    p = line["p_high"][~open_]
    assert (np.diff(p) < 0).all() and p[-1] < mix.critical_point([0.5, 0.5])["p"] < p[0]


def test_a_critical_point_of_two_equal_species():
    """A species under two names is pure: its own critical point, whatever the shares."""
    data = species(("N2", "N2b"))
    point = Mixture(data, phases="equilibrium").critical_point([0.3, 0.7])
    Tc, pc = NUMBERS["N2"][:2]

    np.testing.assert_allclose([point["T"], point["p"]], [Tc, pc], rtol=1e-5)
    np.testing.assert_allclose(point["v_mol"], 0.307401 * R * Tc / pc, rtol=1e-3)


# Species, k_ij, mole fraction of the first; T [K] and p [Pa] of the stable critical point, the only one, by a search of
# both conditions over a grid of T and v. Each pair has another point there that is not stable.
SEVERAL_CRITICAL = [
    ("C2H6 CH3OH", -0.084413, 0.852633, 360.15, 8.4106e6),
    ("CH4 CO2", 0.12977, 0.660355, 226.55, 7.3204e6),
    ("CH4 CO2", 0.12977, 0.88552, 202.68, 5.3212e6),
    ("SO2 H2O", -0.0062133, 0.691337, 485.22, 1.1632e7),
]


@pytest.mark.parametrize("names, k, share, T, p", SEVERAL_CRITICAL)
@pytest.mark.quick(names="CH4 CO2")
def test_of_several_critical_points_the_stable_one(names, k, share, T, p):
    """Next to it the oracle's second derivatives of the Gibbs energy have an eigenvalue of 0 (1e-6, by 1e-10 in T), and
    no phase lies below its plane (1e-8). One of negative pressure was found, or one inside the dome. T, p: five
    digits."""
    mix = Mixture.from_names(names, phases="equilibrium", equation="pr", kij=[[0.0, k], [k, 0.0]])
    X = np.array([[share], [1 - share]])
    point = mix.critical_point(X[:, 0])

    np.testing.assert_allclose([point["T"], point["p"]], [T, p], rtol=3e-5)

    at = [point["T"]], [point["p"]]
    fluid, S = flash.Fluid(mix.species, *at), np.sqrt(X[:, 0])
    curvature = fluid.curvature(X, fluid.phase(X)[1])[0]
    least = np.linalg.eigvalsh(np.eye(2) + S[:, None] * curvature * S)[0]

    assert abs(least) < 1e-6 and flash.flash(mix.species, *at, X).tm[0] > -1e-8


@pytest.mark.parametrize("names, k, share", [("CO2 H2O", 0.027955, 0.948649), ("N2 NC12H26", 0.05, 0.99999)])
def test_a_critical_point_that_is_not_stable(names, k, share):
    """A point of negative pressure, and a point of a gas from which the fuel has long condensed: an error that says
    where."""
    mix = Mixture.from_names(names, phases="equilibrium", equation="pr", kij=[[0.0, k], [k, 0.0]])
    with pytest.raises(
        ArgumentError, match=r"X = \w+ 0\.\d+, .*: no stable critical point found, but one that is not stable at T = "
    ):
        mix.critical_point([share, 1 - share])
