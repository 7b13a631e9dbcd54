"""Thermal kernels against the NumPy oracles: through Mixture.properties, and each one alone."""

import numpy as np
import pytest
from conditioning import assert_close
from kernel_cases import THERMAL, TRANSPORT, N, check_single, compare, expected, mixture, project_kernels, states
from mixtures_for_tests import KIJ, changed, species_set
from reference import Tracked, cubic, derivatives, evaluate, single, species, value
from states import random_states

from kernels import ArgumentError, Mixture, MixtureError, SpeciesData, get_backend
from kernels.gas.equations.records import CUBICS

SIZES = (1, 2, 10, 53)
RANDOM = 10000


@pytest.mark.parametrize("n", (RANDOM, 0), ids=("random", "grid"))
@pytest.mark.parametrize("ns", SIZES)
@pytest.mark.long(ns=[2, 53], n=10000)
def test_every_name(ns, n):
    got = mixture(ns).properties(THERMAL, **states(ns, n))
    compare(THERMAL, got, expected(ns, n, transport=False), f"NS={ns}")


@pytest.mark.parametrize("kij", [k for k in KIJ if k != "file"])
@pytest.mark.parametrize("ns", (2, 10, 53))
@pytest.mark.quick(ns=10, kij="low_rank")
@pytest.mark.quick(ns=53, kij="dense")
def test_every_structure_of_kij(ns, kij):
    names = "rho h s cp c a_mix a_T a_TT Tc_mix pc_mix"
    given = {k: v for k, v in states(ns, 2000).items() if k in "TpY"}
    got = mixture(ns, kij).properties(names, **given)
    compare(names, got, expected(ns, 2000, kij, False), f"NS={ns} k_ij {kij}")


def test_kij_structures_are_told_apart():
    """The tests above must have gone by four different ways of summing."""
    assert {mixture(53, kij).facts["k_ij"] for kij in ("none", "sparse", "low_rank", "dense")} == {
        "none",
        "sparse",
        "lowrank",
        "dense",
    }


@pytest.mark.parametrize(
    "options",
    (dict(root="vapour"), dict(root="liquid"), dict(root="largest"), dict(alpha="cantera"), dict(mixing="vdw")),
    ids=lambda o: "-".join(map(str, *o.items())),
)
@pytest.mark.parametrize("ns", (1, 53))
@pytest.mark.quick(ns=1, options={"root": "liquid"})
def test_options(ns, options):
    """NS = 53 holds species heavy enough for the branch of alpha above omega = 0.491."""
    data = species_set(ns)
    if "alpha" in options:
        data = changed(data, omega=np.where(np.arange(ns) % 2 == 0, 0.6, data.omega))
    s = states(ns, 2000)
    names = "Z rho h e s cp cv c rho_p rho_T h_p h_T"
    got = Mixture.from_species(data, **options).properties(names, T=s["T"], p=s["p"], Y=s["Y"])
    q = evaluate(data, s["T"], s["p"], s["Y"], transport=False, **options)

    compare(names, got, q, f"NS={ns} {options}")

    if "root" in options:
        other = evaluate(data, s["T"], s["p"], s["Y"], transport=False)
        assert (np.abs(value(q.rho) / value(other.rho) - 1) > 0.01).sum() > 5, (
            "no state has two roots: nothing was tested"
        )


def test_negative_slope_of_alpha():
    """Helium (omega = -0.39) has kappa < 0: its a grows with T, and a' of the mixture has terms of both signs."""
    data = changed(species_set(2), omega=[-0.39, 0.2239])
    s = states(2, 2000)
    names = "Z rho h e s cp cv c rho_p rho_T h_p h_T a_mix a_T a_TT"
    got = Mixture.from_species(data).properties(names, T=s["T"], p=s["p"], Y=s["Y"])
    compare(names, got, evaluate(data, s["T"], s["p"], s["Y"], transport=False), "omega < -0.22")


FAMILY = {
    **{name: dict(equation=name) for name in CUBICS if name != "pr"},
    "translated": dict(translation="peneloux"),
    "srk-translated": dict(equation="srk", translation="peneloux"),
    "fitted": dict(translation="fitted"),
    "pairs": dict(mixing="pseudocritical"),
    "srk-pairs": dict(equation="srk", translation="peneloux", mixing="pseudocritical"),
}
GENERAL = tuple(name for name, record in CUBICS.items() if not record.soave)
GENERAL_SIZES = (*((2, e) for e in GENERAL if e != "rkpr"), (10, "rk"), (1, "rkpr"), (10, "rkpr"))


@pytest.mark.parametrize(
    "ns, family",
    [*((ns, family) for ns in (1, 2, 10) for family in FAMILY if family not in GENERAL), *GENERAL_SIZES],
)
@pytest.mark.quick(ns=1, family="srk-translated")
@pytest.mark.quick(ns=10, family="srk-pairs")
def test_the_family_of_cubics(ns, family):
    options = FAMILY[family]
    got = mixture(ns, **options).properties(THERMAL, **states(ns, 2000))
    compare(THERMAL, got, expected(ns, 2000, transport=False, **options), f"NS={ns} {options}")


@pytest.mark.parametrize("ns, kij, family", ((10, "low_rank", "rk"), (53, "dense", "vdw"), (53, "sparse", "rk")))
@pytest.mark.quick(family="rk")
def test_general_alpha_with_every_structure_of_kij(ns, kij, family):
    names, n = "rho h s cp c a_mix a_T a_TT Tc_mix pc_mix", 300
    given = {k: v for k, v in states(ns, n).items() if k in "TpY"}
    got = mixture(ns, kij, **FAMILY[family]).properties(names, **given)
    compare(names, got, expected(ns, n, kij, False, **FAMILY[family]), f"NS={ns} k_ij {kij} {family}")


@pytest.mark.parametrize("equation", CUBICS)
@pytest.mark.quick(equation=["pr", "rkpr"])
def test_the_critical_point_is_one(equation):
    """dp/dv = d2p/dv2 = 0 at Tc, pc and v = Z_c R Tc/pc of every species: the law that Omega_a, Omega_b and Z_c obey.
    Three terms of the size of R T/v^2 or so cancel: 1e-13 of them is some hundred roundings."""
    record, data = CUBICS[equation], species_set(10)
    of = {k: np.asarray(v, cubic.LD) for k, v in record.of_species(data).items()}
    first = of["delta_1"]
    second = record.delta_2(first) if record.by_species else record.delta_2
    beta, A = of["omega_b"] / of["Z_c"], of["omega_a"] / of["Z_c"]  # b/v, a/(R T v)
    D, slope = (1 + first * beta) * (1 + second * beta), 2 + (first + second) * beta
    repulsive = 1 / (1 - beta)

    assert (np.abs(repulsive - A / D - of["Z_c"]) < 1e-13 * repulsive).all()
    assert (np.abs(repulsive**2 - A * slope / D**2) < 1e-13 * repulsive**2).all()
    assert (np.abs(repulsive**3 - A * (slope**2 / D**3 - 1 / D**2)) < 1e-13 * repulsive**3).all()

    # and of the kernels: the pseudo-critical state of a pure substance is its critical point
    mix = mixture(10, equation=equation)
    Y = np.eye(10)
    q = mix.properties("Tc_mix pc_mix vc_mix W", Y=Y)

    np.testing.assert_allclose(q["Tc_mix"], data.Tc, rtol=1e-14)
    np.testing.assert_allclose(q["pc_mix"], data.pc, rtol=1e-14)

    at = mix.properties("p p_v", rho=q["W"] / q["vc_mix"], T=q["Tc_mix"], Y=Y)
    np.testing.assert_allclose(at["p"], data.pc, rtol=1e-13)
    assert (np.abs(at["p_v"]) < 1e-13 * 30 * data.pc * q["W"] / q["vc_mix"]).all()


@pytest.mark.parametrize("ns, kij", ((53, "file"), (53, "dense"), (10, "sparse")))
@pytest.mark.long(ns=53)
def test_pseudocritical_pairs(ns, kij):
    """More species than a panel has rows, with every pair's k_ij; alpha of heavy pairs (omega of two species above
    0.491 and one below)."""
    names, n = "a_mix a_T a_TT rho h s cp c Tc_mix pc_mix", 200
    data, options = species_set(ns, kij), dict(mixing="pseudocritical")

    data = changed(
        data,
        omega=np.where(np.arange(ns) % 3 == 0, 0.6, data.omega),
        Vc=np.where(np.arange(ns) % 4 == 1, np.nan, data.Vc),
    )

    s = {k: states(ns, n)[k] for k in "TpY"}
    got = Mixture.from_species(data, **options).properties(names, **s)
    q = evaluate(data, **s, transport=False, **options)

    compare(names, got, q, f"NS={ns} k_ij {kij} pairs")
    vdw = Mixture.from_species(data).properties("a_mix", **s)["a_mix"]
    mixed = (s["Y"] > 0.05).sum(0) > 1

    assert np.median(np.abs(got["a_mix"] / vdw - 1)[mixed]) > 1e-3, (
        "the two rules do not differ here: nothing was tested"
    )


def test_pairs_of_equal_species_are_that_species():
    """The rule gives back a of a pure substance, whatever the shares of its copies; a NaN of T stays at its point."""
    one = species_set(10).subset(["CH4"])
    three = SpeciesData.from_arrays(
        ["A", "B", "C"],
        **{
            f: np.repeat(getattr(one, f), 3, 0)
            for f in (
                "W",
                "omega",
                "nasa_low",
                "nasa_high",
                "T_mid",
                "T_min",
                "T_max",
                "Tc",
                "pc",
                "Vc",
                "dipole",
                "kappa_assoc",
            )
        },
    )

    T, p, Y = random_states(3, 300, 3)
    got = Mixture.from_species(three, mixing="pseudocritical").properties(
        "a_mix a_T a_TT Tc_mix pc_mix rho", T=T, p=p, Y=Y
    )
    wanted = Mixture.from_species(one).properties("a_mix a_T a_TT Tc_mix pc_mix rho", T=T, p=p, Y=np.ones((1, 300)))
    q = evaluate(three, T, p, Y, transport=False, mixing="pseudocritical")
    for name in wanted:
        assert_close(got[name], wanted[name], 2 * N, scale=getattr(q, name).err, what=name, skip=q.undecided)
    T[5] = np.nan
    again = Mixture.from_species(three, mixing="pseudocritical").properties("a_mix rho", T=T, p=p, Y=Y)

    assert all(np.isnan(again[k][5]) and (np.delete(again[k], 5) == np.delete(got[k], 5)).all() for k in again)


def test_pairs_need_a_cubic_equation():
    with pytest.raises(ArgumentError, match="mixing = 'pseudocritical'.*equation = 'ideal'"):
        Mixture.from_species(species_set(2), equation="ideal", mixing="pseudocritical")
    notes = Mixture.from_species(
        changed(species_set(2), Vc=[np.nan, 9e-5]), mixing="pseudocritical", chung="cantera"
    ).notes
    assert any("no measured critical volume for CH4:" in note for note in notes)


@pytest.mark.parametrize("family", FAMILY)
@pytest.mark.parametrize(
    "name",
    (
        "cubic_mixture",
        "critical_state",
        "cubic_root",
        "cubic_reciprocals",
        "cubic_pressure_slopes",
        "cubic_departure",
        "enthalpy_slopes",
        "cubic_phase_flag",
    ),
)
@pytest.mark.quick(name=["cubic_mixture", "cubic_root"], family=["pairs", "srk-translated"])
@pytest.mark.quick(family="pairs")
def test_kernels_of_the_family_alone(name, family):
    check_single(name, 10 if family not in ("rk", "vdw") else 2, 1000, **FAMILY[family])


def test_translation_moves_the_volume_and_nothing_else():
    """s, cp, cv and e stay, at the same T and p; v moves by the sum of X_k c_k, c_k as given where one is given."""
    given = np.full(10, np.nan)
    given[:4] = -4e-6, 3e-6, 0.0, 5e-6
    data = changed(species_set(10), volume_translation=given)
    s = {k: states(10, 2000)[k] for k in "TpY"}
    plain = Mixture.from_species(data).properties("vol e s cp cv h X W", **s)
    mix = Mixture.from_species(data, translation="peneloux")
    moved = mix.properties("vol e s cp cv h shift_mix", **s)
    q = evaluate(data, **s, transport=False)
    for name in ("s", "cp", "cv"):
        assert_close(moved[name], Tracked(plain[name], getattr(q, name).err), N, what=name, skip=q.undecided)
    Z_RA = 0.29056 - 0.08775 * data.omega
    c = np.where(np.isnan(given), 0.50033 * (0.25969 - Z_RA) * 8.31446261815324 * data.Tc / data.pc, given)
    shift = (plain["X"] * c[:, None]).sum(0) / plain["W"]
    size = (plain["X"] * np.abs(c)[:, None]).sum(0) / plain["W"]

    # a dozen roundings of the sums on both sides
    assert (np.abs(moved["shift_mix"] - shift) <= 16 * 2.2e-16 * size).all()
    assert (np.abs(plain["vol"] - moved["vol"] - shift) <= 16 * 2.2e-16 * (plain["vol"] + size)).all()

    work = (
        8 * s["p"] * (plain["vol"] + size)
    )  # roundings of Z and p vol; those of the sums are in the bounds of h and e
    assert_close(plain["h"] - moved["h"], s["p"] * shift, N, scale=q.h.err + work, what="h", skip=q.undecided)
    assert_close(moved["e"], plain["e"], N, scale=q.e.err + work, what="e", skip=q.undecided)
    assert any(
        "volume translation" in note and data.names[4] in note and data.names[0] + "," not in note for note in mix.notes
    )


# Saturated liquid at the normal boiling point, kg/m3: N2, O2, CH4 of the reference equations of state (Span et al.
# 2000, Schmidt & Wagner 1985, Setzmann & Wagner 1991; originals not seen).
LIQUIDS = {"N2": (77.355, 806.1), "O2": (90.188, 1141.2), "CH4": (111.667, 422.4)}


@pytest.mark.parametrize("equation", ("pr", "srk"))
def test_a_fitted_translation_meets_the_liquid(equation):
    """rho of each measured liquid; species without one keep what is given, else the correlation, and are named."""
    data = species_set(10)
    liquid, given = data.liquid.copy(), np.full(10, np.nan)
    assert np.isfinite(liquid).all(1).sum() == 5

    liquid[0], given[1], given[4] = np.nan, 1e-6, 3e-6  # CH4 has none; O2 and CO have a c, O2 a liquid too
    data = changed(data, liquid=liquid, volume_translation=given)
    mix = Mixture.from_species(data, equation=equation, translation="fitted", root="liquid")

    for s in np.flatnonzero(np.isfinite(liquid).all(1)):
        T, p, rho = liquid[s]
        # the root of a pure liquid: 1/(1 - b/v) = 10 roundings, twice
        assert mix.properties("rho", T=T, p=p, Y=np.eye(10)[s])["rho"] == pytest.approx(rho, rel=40 * 2.2e-16)

    old = Mixture.from_species(data, equation=equation, translation="peneloux")
    same = ~np.isfinite(liquid).all(1)

    assert (mix.constant("shift_mass").array == old.constant("shift_mass").array)[same].all() and (
        mix.constant("shift_mass").array != old.constant("shift_mass").array
    )[~same].all()
    assert any("fitted to a liquid density of O2, CO2, H2O, H2." in note for note in mix.notes)
    assert any("no volume translation given for CH4, OH" in note for note in mix.notes)

    liquid[0] = 180.0, 1e5, 1.0
    with pytest.raises(MixtureError, match="species 'CH4': the equation of state has no liquid at 180 K, 100000 Pa"):
        Mixture.from_species(changed(data, liquid=liquid), translation="fitted")


@pytest.mark.parametrize("name", LIQUIDS)
def test_translation_corrects_cold_liquids(name):
    """Peng-Robinson is 12 to 13 % too dense there; the correlation leaves 0.6 to 2.4 %."""
    T, rho = LIQUIDS[name]
    data = species_set(1) if name == "N2" else species_set(10).subset([name])
    error = {}

    for translation in ("none", "peneloux"):
        mix = Mixture.from_species(data, translation=translation, root="liquid")
        error[translation] = mix.properties("rho", T=T, p=101325.0, Y=np.ones(1))["rho"] / rho - 1

    assert 0.05 < error["none"] < 0.15 and abs(error["peneloux"]) < 0.03, error


def test_vapour_and_largest_are_one_rule():
    s = {k: states(10, 500)[k] for k in "TpY"}
    one, other = (mixture(10, root=root).properties("rho h c", **s) for root in ("vapour", "largest"))
    assert same(one, other)


def test_what_an_equation_does_not_have_is_refused():
    lacking = (
        dict(translation="peneloux"),
        dict(translation="fitted"),
        dict(mixing="pseudocritical"),
        dict(alpha="cantera"),
    )
    for equation in GENERAL:
        for option in lacking:
            ((key, word),) = option.items()
            with pytest.raises(ArgumentError, match=f"option {key} = '{word}'.*equation = '{equation}' wanted"):
                Mixture.from_species(species_set(2), equation=equation, **option)

    with pytest.raises(MixtureError, match="species 'CH4': critical molar volume .*equation rkpr needs it"):
        Mixture.from_species(changed(species_set(2), Vc=[np.nan, 9e-5]), equation="rkpr")


def test_alpha_of_cantera_is_for_peng_robinson():
    with pytest.raises(ArgumentError, match="cantera.*srk"):
        Mixture.from_species(species_set(1), equation="srk", alpha="cantera")


@pytest.mark.parametrize(
    "rule, equation",
    [(r, e) for r in ("gibbs", "vapour", "liquid") for e in ("pr", "srk")] + [("gibbs", "vdw"), ("gibbs", "rkpr")],
)
@pytest.mark.quick(rule="gibbs", equation=["pr", "rkpr"])
@pytest.mark.quick(rule="liquid", equation="srk")
def test_the_cubic_over_its_whole_plane(rule, equation):
    """One step of Halley from the fitted start and one on the cubic itself suffice: A = a p/(RT)^2 and B = b p/RT over
    all that a fluid can have and beyond, and densely around the critical point and the fold that ends in it."""
    random = np.random.default_rng(4)
    delta = {"delta_mix": random.uniform(0.43, 7, 40000)} if cubic.by_species(equation) else {}
    eos = cubic.shape(equation, *(v[20000:].astype(cubic.LD) for v in delta.values()))
    B = np.exp(random.uniform(np.log(1e-9), np.log(20), 20000))
    A = B * np.exp(random.uniform(np.log(1e-3), np.log(60), 20000))

    # the double roots: B from u by f = f' = 0, here by scaling the critical point and moving off it
    near = np.exp(random.uniform(-1, 0.3, 20000))
    A = np.concatenate(
        [
            A,
            np.asarray(eos.omega_a, float)
            * near
            * (1 + np.exp(random.uniform(np.log(1e-8), 0, 20000)) * random.choice([-1, 1], 20000)),
        ]
    )

    B = np.concatenate([B, np.asarray(eos.omega_b, float) * near**0.5])
    T, R_s, p = np.full(A.size, 300.0), np.full(A.size, 300.0), np.full(A.size, 1e7)
    a, b = A * (R_s * T) ** 2 / p, B * R_s * T / p
    mix = mixture(1, root=rule, equation=equation)
    got = mix.kernel("cubic_root")(T=T, p=p, R_s=R_s, a_mix=a, b_mix=b, shift_mix=np.zeros(A.size), **delta)
    inputs = dict(T=T, p=p, R_s=R_s, a_mix=a, b_mix=b, shift_mix=0 * b, **delta)
    inputs = {k: Tracked(v, exact=True) for k, v in inputs.items()}
    wanted = single.THERMAL["cubic_root"](None, {"root": rule, "equation": equation, "translation": "none"}, **inputs)
    skip = wanted.pop("undecided")

    assert skip.mean() < 0.1
    for name, v in wanted.items():
        assert_close(got[name], v, N, what=name, skip=skip)


@pytest.mark.parametrize("equation", ("pr", "srk"))
@pytest.mark.parametrize("root", ("gibbs", "vapour", "liquid"))
@pytest.mark.quick(root="gibbs", equation="pr")
@pytest.mark.quick(root="liquid", equation="srk")
def test_phase_flag_by_all_roots_of_the_cubic(root, equation):
    """At T and p: eigenvalues of the companion matrix of the cubic in v say how many roots there are and which of them
    was taken."""
    T, p = near_saturation()
    random = np.random.default_rng(6)

    T, p = (
        np.concatenate([T, random.uniform(70, 140, 3000)]),
        np.concatenate([p, np.exp(random.uniform(np.log(1e4), np.log(8e6), 3000))]),
    )

    mix = mixture(1, root=root, equation=equation, translation="peneloux")
    q = mix.properties("phase_flag a_mix b_mix v_free R_s", T=T, p=p, Y=np.ones((1, T.size)))
    eos, wanted, clear = cubic.EQUATIONS[equation], np.empty(T.size), np.empty(T.size, bool)
    first, second = float(eos.delta1), float(eos.delta2)

    for i, (RT, P, a, b, free) in enumerate(zip(q["R_s"] * T, p, q["a_mix"], q["b_mix"], q["v_free"])):
        s, t = (first + second) * b, first * second * b * b  # D = v^2 + s v + t; p D (v - b) - RT D + a (v - b) = 0
        v = np.roots([P, P * (s - b) - RT, P * (t - b * s) - RT * s + a, -P * t * b - RT * t - a * b])
        near = np.sort(np.abs(v[:, None] - v) / np.abs(v).max(), axis=None)[
            3
        ]  # 0 three times, then how close two roots are
        v = np.sort(v[(np.abs(v.imag) < 1e-5 * np.abs(v)) & (v.real > b)].real)
        wanted[i] = 0 if v.size == 1 else 1 if abs(v[0] - b - free) < abs(v[-1] - b - free) else 2
        clear[i] = near > 1e-4 and v.size in (1, 3)

    assert clear.mean() > 0.95 and (q["phase_flag"] == wanted)[clear].all()
    assert {0, *{"gibbs": (1, 2), "vapour": (2,), "liquid": (1,)}[root]} == set(wanted[clear])


def test_phase_flag_at_a_given_density():
    """Along isotherms through the two-phase region: unstable exactly where the pressure falls with density, liquids
    under tension included."""
    mix, n = mixture(10), 4000
    Y = np.zeros((10, n))
    Y[0], Y[1] = 0.3, 0.7
    rho = np.linspace(1, 900, n)

    for T in (90.0, 120.0, 150.0, 190.0):
        q = mix.properties("p phase_flag", T=T, rho=rho, Y=Y)
        falls = np.diff(q["p"]) < 0
        unstable = q["phase_flag"] == 3
        inner = np.flatnonzero(unstable[:-1] == unstable[1:])  # but the intervals in which it changes

        assert (falls[inner] == unstable[inner]).all() and inner.size >= n - 3

        if T < 170:
            first, last = np.flatnonzero(unstable)[[0, -1]]
            assert set(q["phase_flag"][:first]) <= {0, 2} and set(q["phase_flag"][last + 1 :]) == {0, 1}
            assert (q["phase_flag"][q["p"] <= 0] % 2 == 1).all() and ((q["p"] <= 0) & (q["phase_flag"] == 1)).any()
        else:
            assert (q["phase_flag"] == 0).all()

    bad = mix.properties("phase_flag", T=np.array([-1.0, 300, 300]), rho=np.array([1.0, -1, 5000]), Y=Y[:, :3])[
        "phase_flag"
    ]
    assert np.isnan(bad).all()


def test_departure_integral_of_a_thin_gas():
    """L -> 1/v at v >> b: full relative precision, where ln(1 + small) of a rounded ratio would keep none."""
    for equation in cubic.EQUATIONS:
        b, free = np.full(200, 1e-3), np.logspace(-6, 12, 200)
        delta = {"delta_mix": np.random.default_rng(1).uniform(0.43, 7, 200)} if cubic.by_species(equation) else {}
        eos = cubic.shape(equation, *(v.astype(cubic.LD) for v in delta.values()))
        got = mixture(1, equation=equation).kernel("cubic_departure")(
            b_mix=b, inv_centred=(1 / (free + (1 + (eos.delta1 + eos.delta2) / 2) * b)).astype(float), **delta
        )["cubic_L"]
        exact = cubic.departure_log(free.astype(cubic.LD) + b, b.astype(cubic.LD), eos)

        # a division, a logarithm of 3 eps (its argument's two roundings), three products, and 1/b as handed in
        assert np.abs(got / exact - 1).max() < 8 * 2.2e-16


def near_saturation():
    """N2 from 80 to 120 K on both sides of where the two roots have the same Gibbs energy, down to a relative 1e-9."""
    sp = species.arrays(species_set(1))
    T = np.linspace(80, 120, 46).astype(cubic.LD)
    a, _, _, b = cubic.mixture_ab(T, np.ones((1, 46), cubic.LD), sp)
    RT = species.R * T
    low, high = np.full(46, 1e4).astype(T.dtype), np.full(46, 3.4e6).astype(T.dtype)

    for _ in range(80):
        p = np.sqrt(low * high)
        A, B = a * p / RT**2, b * p / RT
        small, large = cubic.roots(A, B)
        gap = cubic.residual_gibbs(A, B, large) - cubic.residual_gibbs(A, B, small)
        only_vapour = (small == large) & (small / B > 1)
        vapour = np.where(small == large, only_vapour, gap < 0)
        low, high = np.where(vapour, p, low), np.where(vapour, high, p)

    away = np.array([-1e-2, -1e-4, -1e-6, 1e-6, 1e-4, 1e-2])
    return np.repeat(T, 6).astype(float), (p[:, None] * (1 + away)).ravel().astype(float)


def test_root_switches_at_saturation():
    T, p = near_saturation()
    Y = np.ones((1, T.size))
    got = mixture(1).properties("rho Z", T=T, p=p, Y=Y)
    q = evaluate(species_set(1), T, p, Y, transport=False)

    assert not q.undecided.any()
    compare("rho Z", got, q, "saturation")

    rho = got["rho"].reshape(-1, 6)
    assert (rho[:, 3] > 1.2 * rho[:, 2]).mean() > 0.9, "the six pressures do not straddle the jump in density"


def test_critical_point_and_spinodal():
    """Where the cubic has a double or triple root the density is only known to a power of eps: the bound says how
    well."""
    data = species_set(1)
    T = np.concatenate([np.full(41, data.Tc[0]), np.linspace(0.9, 1, 41) * data.Tc[0]])
    p = np.concatenate([data.pc[0] * (1 + np.linspace(-1e-3, 1e-3, 41)), np.full(41, data.pc[0])])
    Y = np.ones((1, T.size))
    got = mixture(1).properties("rho Z", T=T, p=p, Y=Y)
    q = evaluate(data, T, p, Y, transport=False)

    # eps^(1/3) in Z at the triple root itself, where first-order bounds end
    worst = np.abs(got["Z"] / value(q.Z) - 1).astype(float)
    assert worst.max() < 50 * np.finfo(float).eps ** (1 / 3)

    far = np.abs(p / data.pc[0] - 1) + np.abs(T / data.Tc[0] - 1) > 1e-4
    ratio = np.abs(got["Z"] - q.Z.val).astype(float) / (2.2e-16 * q.Z.err)
    assert ratio[far].max() <= 2


# -- each kernel alone


def test_every_registered_kernel_has_an_oracle():
    rates = ("rates.h", "reactor.h")  # test_kinetics.py, test_reactor.py
    declared = {name for name, kernel in project_kernels().items() if kernel.header.name not in rates}
    assert declared == set(single.THERMAL) | set(single.TRANSPORT) | set(derivatives.DERIVED)


SPECIES_KERNELS = [name for name, k in project_kernels().items() if name in single.THERMAL and k.constants]


@pytest.mark.parametrize("name", sorted(single.THERMAL))
def test_kernel_alone(name):
    check_single(name, 10, 2000)


@pytest.mark.parametrize("ns", (1, 2, 53))
@pytest.mark.parametrize("name", SPECIES_KERNELS)
@pytest.mark.quick(
    name=[
        "critical_state",
        "cubic_delta",
        "cubic_mixture",
        "ideal_gas",
        "ideal_gas_entropy",
        "mass_fractions",
        "molar_mass",
        "mole_fractions",
    ],
    ns=53,
)
def test_species_kernel_alone(name, ns):
    if (name, ns) != ("cubic_delta", 53):  # for which some of these have no critical volume
        check_single(name, ns, 1000)


@pytest.mark.parametrize("root", ("vapour", "liquid"))
def test_compressibility_alone(root):
    check_single("cubic_root", 1, 3000, root=root)


# -- calling


def test_mole_fractions_in():
    s = states(10, 500)
    X = value(expected(10, 500, transport=False).X).astype(float)
    got = mixture(10).properties("rho h W Y", T=s["T"], p=s["p"], X=X)
    q = evaluate(species_set(10), s["T"], s["p"], X=X, transport=False)
    compare("rho h W Y", got, q, "X=")


def test_reference_pressure_of_the_entropies():
    data = changed(species_set(10), p_ref=1e5)
    s = states(10, 200)
    got = Mixture.from_species(data).properties("s", T=s["T"], p=s["p"], Y=s["Y"])
    compare("s", got, evaluate(data, s["T"], s["p"], s["Y"], transport=False), "p_ref = 1 bar")


def same(a, b):
    return all(a[k].shape == b[k].shape and (a[k].view(np.int64) == b[k].view(np.int64)).all() for k in a)


EVERYTHING = "W Z rho h e s cp cv gamma c rho_p rho_T h_p h_T mu lam D"


@pytest.mark.parametrize("ns", (1, 2, 10))
@pytest.mark.quick(ns=10)
def test_bit_identical_for_any_place_chunk_and_threads(ns):
    """Neighbours of other temperature ranges and numbers of roots included: a pack may take short cuts, not other
    results."""
    T, p, Y = (states(ns, 1000)[k] for k in ("T", "p", "Y"))
    if ns == 1:
        near = near_saturation()
        T, p, Y = np.concatenate([T, near[0]]), np.concatenate([p, near[1]]), np.ones((1, 1000 + near[0].size))

    mix = mixture(ns)
    whole = mix.properties(EVERYTHING, T=T, p=p, Y=Y)
    order = np.random.default_rng(0).permutation(T.size)
    back = np.argsort(order)
    shuffled = mix.properties(EVERYTHING, T=T[order], p=p[order], Y=Y[:, order])

    assert same(whole, {k: np.ascontiguousarray(v[..., back]) for k, v in shuffled.items()})

    for size in (*range(1, 20), 64, 75, 129, 250):
        first = mix.properties(EVERYTHING, T=T[:size], p=p[:size], Y=Y[:, :size])
        assert same(first, {k: np.ascontiguousarray(v[..., :size]) for k, v in whole.items()}), f"chunk of {size}"

    for threads in (2, 3):
        assert same(whole, mix.properties(EVERYTHING, T=T, p=p, Y=Y, backend=get_backend("cpu", threads=threads)))


@pytest.mark.parametrize(
    "names", ("rho", "c", "h cp", "s", "mu", "lam D", "D", "W Z rho h e cp cv gamma c rho_p rho_T h_p h_T")
)
@pytest.mark.quick(names=["h cp", "lam D", "mu", "rho", "s"])
def test_a_subset_of_the_names_gives_the_same(names):
    """Fusion must not change values beyond the order of contraction that the compiler picks: 1/8 of the bound."""
    s = {k: states(10, 1000)[k] for k in ("T", "p", "Y")}
    whole = mixture(10).properties(EVERYTHING, **s)
    part = mixture(10).properties(names, **s)
    q = expected(10, 1000)

    for name in names.split():
        bound = 2.2e-16 * getattr(q, name).err
        assert (np.abs(part[name] - whole[name]) / bound).max() < 0.125, name


def test_one_name_and_names_in_any_order():
    s = {k: states(2, 50)[k] for k in ("T", "p", "Y")}
    out = mixture(2).properties(["h", "rho", "T"], **s)
    assert list(out) == ["h", "rho", "T"] and (out["T"] == s["T"]).all()
    assert same({"rho": out["rho"]}, mixture(2).properties("rho", **s))


def test_any_shape_after_the_species_axis():
    s = {k: states(10, 60)[k] for k in ("T", "p", "Y")}
    flat = mixture(10).properties("rho X", **s)
    T, p, Y = s["T"].reshape(3, 4, 5), s["p"].reshape(3, 4, 5), s["Y"].reshape(10, 3, 4, 5)
    cube = mixture(10).properties("rho X", T=T, p=p, Y=Y)

    assert cube["rho"].shape == (3, 4, 5) and cube["X"].shape == (10, 3, 4, 5)
    assert (cube["rho"].ravel() == flat["rho"]).all() and (cube["X"].reshape(10, -1) == flat["X"]).all()

    fortran = mixture(10).properties("rho", T=np.asfortranarray(T), p=p, Y=np.asfortranarray(Y))
    assert (fortran["rho"] == cube["rho"]).all()

    strided = mixture(10).properties("rho", T=s["T"][::3], p=s["p"][::3], Y=s["Y"][:, ::3])
    assert (strided["rho"] == flat["rho"][::3]).all()

    one = mixture(10).properties("rho X", T=s["T"][7], p=s["p"][7], Y=s["Y"][:, 7])
    assert one["rho"].shape == () and one["rho"] == flat["rho"][7] and one["X"].shape == (10,)

    same_p = mixture(10).properties("rho", T=s["T"], p=1e7, Y=s["Y"][:, :1])
    assert (
        same_p["rho"]
        == mixture(10).properties("rho", T=s["T"], p=np.full(60, 1e7), Y=np.repeat(s["Y"][:, :1], 60, 1))["rho"]
    ).all()

    assert mixture(10).properties("rho", T=np.zeros(0), p=1e5, Y=np.zeros((10, 0)))["rho"].shape == (0,)
    none = mixture(10).properties("D X", T=np.zeros((2, 0)), p=1e5, Y=np.zeros((10, 1, 1)))
    assert none["D"].shape == none["X"].shape == (10, 2, 0)


BROKEN = {  # name: (field, value at the point)
    "T = NaN": ("T", np.nan),
    "T < 0": ("T", -300.0),
    "T = 0": ("T", 0.0),
    "T = inf": ("T", np.inf),
    "p = NaN": ("p", np.nan),
    "p < 0": ("p", -1e5),
    "p = 0": ("p", 0.0),
    "Y = NaN": ("Y", np.nan),
    "sum(Y) = 1.1": ("Y", None),
    "Y < 0": ("Y", -0.2),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_point_is_nan_and_alone(fault):
    """Every quantity that depends on the broken field is NaN at that point; every other point keeps its bits."""
    field, bad = BROKEN[fault]
    s = {k: states(10, 40)[k].copy() for k in ("T", "p", "Y")}
    names = EVERYTHING + " D_ij"
    clean = mixture(10).properties(names, **s)
    k = 13

    if field != "Y":
        s[field][k] = bad
    elif bad is None:
        s["Y"][:, k] *= 1.1
    else:
        s["Y"][2, k] = bad

    got = mixture(10).properties(names, **s)
    others = np.arange(40) != k

    for name, v in got.items():
        assert (v[..., others] == clean[name][..., others]).all(), f"{name}: a neighbour changed"
        if name == "W" and field != "Y":
            assert v[k] == clean["W"][k]
        else:
            assert np.isnan(v[..., k]).all(), f"{fault}: {name} = {v[..., k]}"


@pytest.mark.parametrize("composition", ("Y", "X"))
@pytest.mark.quick(composition="Y")
def test_one_species_is_all_there_is_or_nothing(composition):
    """What follows from the composition alone is found once with one species; at a point where that is not 1 all is
    NaN, as with more species, and the others are what they are without it. Amounts X are divided by their sum."""
    T, p = np.linspace(200, 2500, 300), np.geomspace(1e4, 3e7, 300)
    one, names = np.ones((1, 300)), " ".join(n for n in (EVERYTHING + " D_ij").split() if n != composition)
    clean = mixture(1).properties(names, **{"T": T, "p": p, composition: one})
    bad = {8: np.nan, 150: -1.0}

    if composition == "Y":
        bad |= {7: 0.5, 299: 1.01}
    else:
        one[0, 7] = 0.5

    for k, wrong in bad.items():
        one[0, k] = wrong
    got = mixture(1).properties(names, **{"T": T, "p": p, composition: one})
    others = np.setdiff1d(np.arange(300), list(bad))

    for name in names.split():
        assert np.isfinite(clean[name]).all() and (got[name][..., others] == clean[name][..., others]).all(), name
        assert np.isnan(got[name][..., list(bad)]).all(), name

    W = float(species_set(1).W[0])
    assert (clean["W"] == clean["W"][0]).all() and abs(clean["W"][0] / W - 1) < 4 * np.finfo(float).eps


def test_wrong_calls_are_refused():
    mix = mixture(10)
    s = {k: states(10, 40)[k] for k in ("T", "p", "Y")}

    refused = [
        ("enthalpy", s, "enthalpy"),
        ("", s, "quantit"),
        ("rho", {**s, "tau": s["T"]}, "tau"),
        ("rho", {"T": s["T"], "Y": s["Y"]}, "p"),
        ("rho", {"T": s["T"], "p": s["p"]}, "Y"),
        ("rho", {**s, "Y": s["Y"][:9]}, "10"),
        ("rho", {**s, "T": s["T"][:39]}, "39"),
        ("rho", {**s, "Y": np.float64(1)}, "Y"),
        ("h0", s, "u"),
        ("rho", {**s, "T": None}, "T"),
        ("rho", {**s, "T": "hot"}, "T"),
        ("rho", {**s, "p": 1j}, "p"),
    ]
    for names, arrays, word in refused:
        with pytest.raises(ArgumentError) as caught:
            mix.properties(names, **arrays)
        assert word in str(caught.value), str(caught.value)

    for call in (
        lambda: mix.kernel("no_such"),
        lambda: mix.kernel("internal_energy")(h=1.4),
        lambda: mix.kernel("internal_energy")(h=1.4, p=1e5, vol=1.0, T=300.0),
        lambda: mix.properties("rho", **s, backend="abacus"),
        lambda: mix.properties("rho", **s, precision="half"),
        lambda: Mixture.from_species(species_set(1), root="lowest"),
        lambda: Mixture.from_species(species_set(1), roots="gibbs"),
    ):
        with pytest.raises(ArgumentError):
            call()


def test_no_points():
    out = mixture(10).properties("rho D", T=np.zeros(0), p=1e5, Y=np.zeros((10, 0)))
    assert out["rho"].shape == (0,) and out["D"].shape == (10, 0)


def test_mole_fractions_that_do_not_sum_to_one():
    """The kernel makes NaN of them, at that point; `properties` divides amounts of moles by their sum first."""
    s = states(10, 5)
    X = s["Y"].copy()  # any composition
    X[:, 2] *= 1.01
    Y = mixture(10).kernel("mass_fractions")(X=X)["Y"]

    assert np.isnan(Y[:, 2]).all() and np.isfinite(np.delete(Y, 2, axis=1)).all()

    clean, got = (mixture(10).properties("rho mu", T=s["T"], p=s["p"], X=x) for x in (s["Y"], X))
    for name in clean:
        assert (np.delete(got[name], 2) == np.delete(clean[name], 2)).all()
        # fractions differ by 3 roundings; densities and viscosities of dense states by 1e4 times as much
        assert got[name][2] == pytest.approx(clean[name][2], rel=1e4 * 3 * 2.2e-16)


def test_both_compositions_are_refused():
    """X and Y together could contradict each other."""
    s = {k: states(10, 5)[k] for k in ("T", "p", "Y")}
    with pytest.raises(ArgumentError):
        mixture(10).properties("rho", **s, X=s["Y"])


@pytest.mark.parametrize("ns", (1, 10))
@pytest.mark.quick(ns=1)
def test_wide_build_agrees(ns):
    """The same bodies in quadruple precision, rounded once: within the bound of the oracle and of the double build."""
    s = states(ns, 300)
    q = expected(ns, 300)
    names = " ".join(n for n in f"{THERMAL} {TRANSPORT}".split())
    wide = mixture(ns).properties(names, **s, precision="wide")
    double = mixture(ns).properties(names, **s)

    compare(names, wide, q, f"wide NS={ns}")

    for name in names.split():
        bound = getattr(q, name).err
        bound = bound.reshape(-1, 300) if name == "D_ij" else bound
        assert (np.abs(wide[name] - double[name]) <= 2 * 2.2e-16 * bound)[..., ~q.undecided].all(), name


def test_scalar_build_agrees():
    s = states(10, 300)
    q = expected(10, 300)

    compare(
        "rho h c mu lam",
        mixture(10).properties("rho h c mu lam", **{k: s[k] for k in "TpY"}, precision="scalar"),
        q,
        "scalar",
    )
