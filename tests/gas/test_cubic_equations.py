"""Cubic equations of state against the NumPy oracles: options, the family, mixing by pairs, translation."""

import numpy as np
import pytest
from conditioning import assert_close
from kernel_cases import THERMAL, N, check_single, compare, expected, mixture, same, states
from mixtures_for_tests import changed, species_set
from reference import Tracked, cubic, evaluate, value
from states import random_states

from kernels import ArgumentError, Mixture, MixtureError, SpeciesData
from kernels.gas.equations.records import CUBICS


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
    **{name: dict(equation=name) for name, record in CUBICS.items() if name != "pr" and not record.mapped},
    "translated": dict(translation="peneloux"),
    "srk-translated": dict(equation="srk", translation="peneloux"),
    "fitted": dict(translation="fitted"),
    "pairs": dict(mixing="pseudocritical", alpha="published"),
    "srk-pairs": dict(equation="srk", translation="peneloux", mixing="pseudocritical", alpha="published"),
}
GENERAL = tuple(name for name in FAMILY if name in CUBICS and not CUBICS[name].soave)
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
@pytest.mark.quick(equation=["pr", "rkpr", "mapped"])
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

    point = record.translation.of_species(data) if record.mapped else data
    np.testing.assert_allclose(q["Tc_mix"], point.Tc, rtol=1e-14)
    np.testing.assert_allclose(q["pc_mix"], point.pc, rtol=1e-14)

    at = mix.properties("p p_v", rho=q["W"] / q["vc_mix"], T=q["Tc_mix"], Y=Y)
    np.testing.assert_allclose(at["p"], point.pc, rtol=1e-13)
    assert (np.abs(at["p_v"]) < 1e-13 * 30 * point.pc * q["W"] / q["vc_mix"]).all()


@pytest.mark.parametrize("ns, kij", ((53, "file"), (53, "dense"), (10, "sparse")))
@pytest.mark.long(ns=53)
def test_pseudocritical_pairs(ns, kij):
    """More species than a panel has rows, with every pair's k_ij; alpha of heavy pairs (omega of two species above
    0.491 and one below)."""
    names, n = "a_mix a_T a_TT rho h s cp c Tc_mix pc_mix", 200
    data, options = species_set(ns, kij), dict(mixing="pseudocritical", alpha="published")

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
    got = Mixture.from_species(three, mixing="pseudocritical", alpha="published").properties(
        "a_mix a_T a_TT Tc_mix pc_mix rho", T=T, p=p, Y=Y
    )
    wanted = Mixture.from_species(one, alpha="published").properties(
        "a_mix a_T a_TT Tc_mix pc_mix rho", T=T, p=p, Y=np.ones((1, 300))
    )
    q = evaluate(three, T, p, Y, transport=False, mixing="pseudocritical", alpha="published")
    for name in wanted:
        assert_close(got[name], wanted[name], 2 * N, scale=getattr(q, name).err, what=name, skip=q.undecided)
    T[5] = np.nan
    again = Mixture.from_species(three, mixing="pseudocritical", alpha="published").properties(
        "a_mix rho", T=T, p=p, Y=Y
    )

    assert all(np.isnan(again[k][5]) and (np.delete(again[k], 5) == np.delete(got[k], 5)).all() for k in again)


def test_pairs_need_a_cubic_equation():
    with pytest.raises(ArgumentError, match="mixing = 'pseudocritical'.*equation = 'ideal'"):
        Mixture.from_species(species_set(2), equation="ideal", mixing="pseudocritical")
    notes = Mixture.from_species(
        changed(species_set(2), Vc=[np.nan, 9e-5]), mixing="pseudocritical", alpha="published", chung="cantera"
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
        dict(alpha="published"),
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


def test_pairs_have_the_published_alpha():
    with pytest.raises(ArgumentError, match="mixing = 'pseudocritical'.*alpha = 'smooth' wanted.*'published'"):
        Mixture.from_species(species_set(2), mixing="pseudocritical")


def test_a_value_of_an_earlier_release_is_named():
    with pytest.raises(ArgumentError, match="alpha = 'pr78'.*another name: 'published'"):
        Mixture.from_species(species_set(1), alpha="pr78")
