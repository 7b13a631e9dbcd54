"""Reading of reactions: against Cantera, reaction by reaction; what is refused, and by which words; and that nothing is
read before a rate is asked for."""

import itertools
import warnings

import mechanisms_for_tests as mechanisms
import numpy as np
import pytest
from reference import kinetics

from kernels import Mixture, MixtureError
from kernels.gas.species import cantera_reactions
from kernels.gas.species.names import Names

PLAIN = "- equation: H + O2 <=> O + OH\n  rate-constant: {A: 1e10, b: 0.5, Ea: 1000}\n"
FALLOFF = (
    "- equation: H + O2 (+M) <=> HO2 (+M)\n  type: falloff\n"
    "  low-P-rate-constant: {A: 1e20, b: -1.7, Ea: 500}\n  high-P-rate-constant: {A: 1e12, b: 0.4, Ea: 0}\n"
)


def mixture(tmp_path, reactions, extra="", **options):
    path = tmp_path / "own.yaml"
    path.write_text(mechanisms.text(reactions, extra=extra))
    return Mixture.from_yaml(path, "ideal", equation="ideal", **options)


def read(tmp_path, reactions, extra="", **options):
    return mixture(tmp_path, reactions, extra, **options).species.mechanism


def same_as_cantera(mix, gas, states=3):
    """Every reaction's species, orders, colliders and forward rate at some states; the reverse rate too."""
    mechanism, names = mix.species.mechanism, mix.names
    assert len(mechanism.reactions) == gas.n_reactions and tuple(gas.species_names) == names

    for mine, theirs in zip(mechanism.reactions, gas.reactions()):
        by_name = lambda side: {names[s]: nu for s, nu in side.items()}
        assert (by_name(mine.reactants), by_name(mine.products)) == (theirs.reactants, theirs.products), mine.equation
        assert by_name(mine.orders) == {
            name: order for name, order in {**theirs.reactants, **theirs.orders}.items() if order
        }
        assert mine.reversible == theirs.reversible and mine.multiplier == gas.multiplier(mine.number)
        third = None if theirs.rate.type == "linear-Burke" else theirs.third_body  # its M is of no effect
        assert (mine.collider is None) == (third is None), mine.equation

        if third:
            wanted = [third.efficiencies.get(name, third.default_efficiency) for name in names]
            assert mine.collider.weights(len(names)).tolist() == wanted and mine.collider.name == third.name

    rng = np.random.default_rng(3)
    T, p = rng.uniform(400, 3000, states), 10 ** rng.uniform(4, 7, states)
    X = rng.dirichlet(np.ones(len(names)), states).T

    for i in range(states):
        gas.TPX = T[i], p[i], X[:, i]
        C = gas.concentrations[:, None] * 1e3
        q = kinetics.evaluate(mechanism, mix.species, T[i : i + 1], p[i : i + 1], C)

        # Cantera's k and Kc have exponents up to 300, of which eps is lost
        np.testing.assert_allclose(q.rate_f[:, 0].astype(float), gas.forward_rates_of_progress * 1e3, rtol=5e-13)
        np.testing.assert_allclose(q.rate_r[:, 0].astype(float), gas.reverse_rates_of_progress * 1e3, rtol=1e-12)


def test_every_kind_of_reaction_is_cantera_s():
    ct = pytest.importorskip("cantera")
    path = mechanisms.path()
    same_as_cantera(Mixture.from_yaml(path, "ideal", equation="ideal"), ct.Solution(str(path), "ideal"))


@pytest.mark.parametrize(
    "file, phase",
    [
        ("h2o2.yaml", "ohmech"),
        ("gri30.yaml", "gri30"),
        ("nDodecane_Reitz.yaml", "nDodecane_IG"),
        ("ptcombust.yaml", "gas"),
        ("example_data/ammonia-CO-H2-Alzueta-2023.yaml", "baseline"),
    ],
)
@pytest.mark.quick(phase=["gas", "gri30", "ohmech"])
def test_shipped_mechanisms_are_cantera_s(file, phase):
    """Lindemann, Troe, P-log, duplicates, explicit colliders, declared-species, section units as they occur."""
    ct = pytest.importorskip("cantera")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on polynomials that do not meet
        mix = Mixture.from_yaml(file, phase, equation="ideal", takahashi="off")
        same_as_cantera(mix, ct.Solution(file, phase))


@pytest.mark.parametrize(
    "units, Ea",
    [
        ("{length: cm, quantity: mol}", "1000"),
        ("{length: cm, quantity: molec, energy: erg}", "2e-13"),
        ("{activation-energy: K}", "500"),
        ("{quantity: molec, activation-energy: eV}", "0.05"),
        ("{time: min, energy: kJ}", "3000"),
        ("{}", "4.2 kJ/mol"),
        ("{}", "500 K"),
    ],
)
def test_units_are_cantera_s(tmp_path, units, Ea):
    """A reaction's units take the place of the file's. An activation energy with a unit of its own keeps it."""
    ct = pytest.importorskip("cantera")
    for kind in (PLAIN, FALLOFF):
        reactions = kind.replace("1000", Ea).replace("  rate-", f"  units: {units}\n  rate-", 1)
        reactions = reactions.replace("  type", f"  units: {units}\n  type")
        mix = mixture(tmp_path, reactions)
        same_as_cantera(mix, ct.Solution(str(tmp_path / "own.yaml"), "ideal"))


def test_units_of_a_section(tmp_path):
    ct = pytest.importorskip("cantera")
    mix = mixture(tmp_path, "\n- units: {length: m, quantity: kmol, activation-energy: J/mol}\n" + PLAIN)
    same_as_cantera(mix, ct.Solution(str(tmp_path / "own.yaml"), "ideal"))
    assert mix.species.mechanism.reactions[0].rate.A == pytest.approx(1e7)  # 1e10 m3/kmol/s


REFUSED = {
    "unknown type": (PLAIN + "  type: Kooij\n", r"H \+ O2 <=> O \+ OH.*type is 'Kooij', wanted none or one of elem"),
    "known type": (PLAIN + "  type: two-temperature-plasma\n", "'two-temperature-plasma' is not read by.*pressure"),
    "surface type": (PLAIN + "  type: sticking-Arrhenius\n", "'sticking-Arrhenius' is not read"),
    "surface": ("- equation: H + O2 <=> O + OH\n  sticking-coefficient: {A: 0.1, b: 0, Ea: 0}\n",
        "has a sticking-coefficient: it is a reaction on a surface, which is not read"),
    "near key": (PLAIN + "  duplicat: true\n", "unknown key 'duplicat', did you mean 'duplicate'"),
    "species": (PLAIN.replace("+ OH", "+ XH"), "species 'XH' is not in the phase"),
    "balance": (PLAIN.replace("+ OH", "+ H2"), "H is not balanced: 1 on the left, 2 on the right"),
    "arrow": (PLAIN.replace("<=>", "<->"), "wanted one of <=>, =, => between blanks"),
    "coefficient": (PLAIN.replace("H + O2", "-1 H + O2"), "got '-1 H' in the equation"),
    "no rate": ("- equation: H + O2 <=> O + OH\n", "rate-constant is missing"),
    "no A": (PLAIN.replace("A: 1e10, ", ""), "rate-constant: A is missing, wanted a number in"),
    "no b": (PLAIN.replace("b: 0.5, ", ""), "rate-constant: b is missing, wanted a number in 1"),
    "A below 0": (PLAIN.replace("1e10", "-1e10"), "A is -10000000000.0, wanted `negative-A: true`"),
    "unit of A": (PLAIN.replace("1e10", "1e10 cm/s"), "A: got '1e10 cm/s', wanted a unit of the kind"),
    "unit of Ea": (PLAIN.replace("1000", "10 Pa"), "Ea: unit 'Pa', wanted one such as J/mol, K or eV"),
    "falloff alone": (FALLOFF.replace(" (+M)", ""), r"a falloff reaction has \(\+M\)"),
    "its collider": (PLAIN.replace("O2 ", "O2 (+M) ").replace("OH", "OH (+M)") + "  type: elementary\n",
        r"an elementary reaction has no \(\+M\)"),
    "one side": (FALLOFF.replace("HO2 (+M)", "HO2"), r"\(\+M\) stands on one side only"),
    "two forms": (FALLOFF + "  Troe: {A: 1, T3: 1, T1: 1}\n  Tsang: {A: 1, B: 0}\n", "has Troe and Tsang"),
    "SRI's D": (FALLOFF + "  SRI: {A: 1, B: 700, C: 1200, D: 56}\n", "SRI: has one of D and E, wanted both"),
    "SRI's E": (FALLOFF + "  SRI: {A: 1, B: 700, C: 1200, E: 0.7}\n", "SRI: has one of D and E, wanted both"),
    "Tsang's B": (FALLOFF + "  Tsang: {A: 1}\n", "Tsang: B is missing"),
    "signs": (FALLOFF.replace("1e20", "-1e20") + "  negative-A: true\n", "have different signs"),
    "M alone": (PLAIN.replace("H + O2", "H + O2 + M"), "wanted one M on each side"),
    "no collider": (PLAIN + "  type: three-body\n", "a three-body reaction has M, or one species, on both sides"),
    "colliders": (PLAIN.replace("H + O2", "H + O2 + H2O").replace("OH\n", "OH + H2O\n") + "  efficiencies: {H2: 1}\n",
        "H2O is the collider: wanted no other efficiencies"),
    "efficiency": (PLAIN.replace("H + O2", "H + O2 + M").replace("OH\n", "OH + M\n") + "  efficiencies: {H2: -1}\n",
        "efficiencies: H2 is -1, wanted 0 or more"),
    "of all": (FALLOFF + "  default-efficiency: -0.5\n", "default-efficiency is -0.5, wanted 0 or more"),
    "orders": (PLAIN + "  orders: {H: 0.5}\n", "a reversible reaction has the orders of its"),
    "other orders": (PLAIN.replace("<=>", "=>") + "  orders: {H2: 1}\n", "'H2' is no reactant, wanted `nonrea"),
    "negative": (PLAIN.replace("<=>", "=>") + "  orders: {H: -1}\n", "H: got -1, wanted `negative-orders: true`"),
    "twins": (PLAIN + PLAIN, r"reactions 1 and 2, H \+ O2 <=> O \+ OH, are duplicates; wanted `duplicate: true`"),
    "turned twins": (PLAIN + PLAIN.replace("H + O2 <=> O + OH", "O + OH => H + O2"), "reactions 1 and 2.*duplicates"),
    "no twin": (PLAIN + "  duplicate: true\n", "is marked duplicate and has no partner"),
    "plog": ("- equation: H + O2 <=> O + OH\n  type: pressure-dependent-Arrhenius\n  rate-constants:\n"
        "  - {P: 1 atm, A: 1e10, b: 0, Ea: 0}\n  - {P: 1 atm, A: -1e9, b: 0.5, Ea: 0}\n",
        "at 101325 Pa their sum is not positive at 300 K"),
    "no YAML": (PLAIN + "- equation: {H", "is not valid YAML: .*line 16"),
    "chebyshev": ("- equation: H + O2 <=> O + OH\n  type: Chebyshev\n  temperature-range: [300, 200]\n"
        "  pressure-range: [1, 2]\n  data: [[1.0]]\n", r"got \[300, 200\], wanted an ascending pair"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refused_by_file_reaction_and_reason(tmp_path, what):
    """Loading and properties do not notice; the first rate does, and each that follows."""
    reactions, message = REFUSED[what]
    mix = mixture(tmp_path, reactions)

    for _ in range(2):
        with pytest.raises(MixtureError, match=message) as caught:
            mix.species.mechanism  # noqa: B018
        assert str(caught.value).count(str(tmp_path / "own.yaml")) == 1  # where, once

    assert mix.constant("W") is not None


CHEBYSHEV = (
    "- equation: {}\n  type: Chebyshev\n  temperature-range: [300, 3000]\n  pressure-range: [0.01 atm, 100 atm]\n"
    "  data: [[8.2, -1, -0.3], [1.5, 0.7, 0.1]]\n"
)
PLOG = (
    "- equation: {}\n  type: pressure-dependent-Arrhenius\n  rate-constants:\n"
    "  - {{P: 1 atm, A: 1e10, b: 0, Ea: 100}}\n  - {{P: 10 atm, A: 1e11, b: 0, Ea: 100, note: x}}\n"
)
ELEMENTARY = "- equation: {}\n  rate-constant: {{A: 1e10, b: 0, Ea: 1000}}\n"
BLOWERS_MASEL = "- equation: {}\n  type: Blowers-Masel\n  rate-constant: [1e10, 0.1, 5000, 9e4]\n"
BURKE = (
    "- equation: {}\n  type: linear-Burke\n  colliders:\n  - name: M\n    type: pressure-dependent-Arrhenius\n"
    "    rate-constants:\n    - {{P: 1 atm, A: 1e10, b: 0, Ea: 100}}\n    - {{P: 10 atm, A: 1e11, b: 0, Ea: 100}}\n"
    "  - {{name: H2O, efficiency: {{A: 9, b: 0.1, Ea: 50}}}}\n"
)
BURKE_OF = BURKE.partition("    type: pressure")[0]
BURKE_TROE = BURKE_OF + (
    "    type: falloff\n    low-P-rate-constant: {{A: 1e16, b: 0, Ea: 9}}\n"
    "    high-P-rate-constant: {{A: 1e12, b: 0, Ea: 5}}\n"
    "    Troe: {{A: 0.6, T3: 100, T1: 1000}}\n"
)
BURKE_CHEBYSHEV = BURKE_OF + "    type: Chebyshev\n" + CHEBYSHEV.partition("type: Chebyshev\n")[2].replace("  ", "    ")
FORMS = (
    *("H + O2 <=> HO2", "H + O2 (+M) <=> HO2 (+M)", "H + O2 (+ M) <=> HO2 (+M)", "H (+M) + O2 <=> HO2 (+M)"),
    *("H + O2 (+H2O) <=> HO2 (+H2O)", "H + O2 + M <=> HO2 + M", "H + O2 + H2O <=> HO2 + H2O"),
    *("HO2 (+M) <=> H + O2 (+M)", "HO2 + M <=> H + O2 + M", "h + o2 + h2o <=> ho2 + h2o"),
    "0 H2 + H + O2 = HO2 + 0.0 OH",
)


@pytest.mark.parametrize("equation", FORMS)
@pytest.mark.parametrize(
    "kind",
    [ELEMENTARY, PLOG, CHEBYSHEV, BLOWERS_MASEL, BURKE, BURKE_TROE, BURKE_CHEBYSHEV],
    ids=["elementary", "P-log", "Chebyshev", "Blowers-Masel", "linear-Burke", "of Troe's", "of Chebyshev's"],
)
def test_third_bodies_of_each_kind_are_cantera_s(tmp_path, kind, equation):
    """M is of no effect in a Chebyshev reaction, and refused in a P-log one; what is in (+ ) multiplies nothing."""
    same_rates(tmp_path, kind.format(equation))


def same_rates(tmp_path, reactions, extra="", refused=None):
    """Rates as Cantera's, or refused by both. refused: a word of the message."""
    ct = pytest.importorskip("cantera")
    mix = mixture(tmp_path, reactions, extra)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that M is of no effect
            gas = ct.Solution(str(tmp_path / "own.yaml"), "ideal")
    except ct.CanteraError:
        with pytest.raises(MixtureError, match=refused):
            mix.species.mechanism  # noqa: B018
        return

    assert refused is None
    X = np.random.default_rng(4).dirichlet(np.ones(mix.ns))
    gas.TPX = 1200.0, 2e6, X
    q = kinetics.evaluate(
        mix.species.mechanism, mix.species, np.array([1200.0]), np.array([2e6]), gas.concentrations[:, None] * 1e3
    )
    np.testing.assert_allclose(q.rate_f[:, 0].astype(float), gas.forward_rates_of_progress * 1e3, rtol=5e-13)
    np.testing.assert_allclose(q.rate_r[:, 0].astype(float), gas.reverse_rates_of_progress * 1e3, rtol=1e-12)


@pytest.mark.parametrize(
    "reaction", [PLAIN.replace(", Ea: 1000", ""), PLAIN.replace("{A: 1e10, b: 0.5, Ea: 1000}", "[1e10, 0.5]"),
                 PLOG.format("H + O2 <=> O + OH").replace(", Ea: 100", "")], ids=["map", "list", "P-log"],
)  # fmt: skip
def test_no_activation_energy_is_0(tmp_path, reaction):
    """As in Cantera; a note says so."""
    same_rates(tmp_path, reaction)
    assert "1 reactions without Ea, which counts as 0: H + O2 <=> O + OH." in read(tmp_path, reaction).notes
    assert not read(tmp_path, PLAIN).notes


BURKE_H2 = BURKE.format("H + O2 (+M) <=> HO2 (+M)")
COLLIDERS = {  # reactions, what the refusal says; None: read
    "units of a collider": (
        BURKE_H2 + "  - {name: H2, units: {activation-energy: K}, efficiency: {A: 9, b: 0.1, Ea: 50}}\n", None),
    "units of M": (BURKE_H2.replace("  - name: M", "  - name: M\n    units: {length: m, quantity: kmol}"), None),
    "M's efficiency is 1": (BURKE_H2.replace("  - name: M", "  - name: M\n    efficiency: {A: 1, b: 0, Ea: 0}"), None),
    "M's efficiency": (BURKE_H2.replace("  - name: M", "  - name: M\n    efficiency: {A: 2, b: 0, Ea: 0}"),
        r"efficiency: that of M is \{A: 1, b: 0, Ea: 0\}, wanted none"),
    "eig0": (BURKE_H2.replace("  - name: M", "  - name: M\n    eig0: {A: 2, b: 0.3, Ea: 40}").replace(
        "efficiency", "eig0"), None),
    "eig0 of some": (BURKE_H2.replace("  - name: M", "  - name: M\n    eig0: {A: 2, b: 0, Ea: 0}"),
        "entry 2: eig0 is missing, wanted one for each collider, as M has eig0"),
    "both": (BURKE_H2.replace("efficiency: {A: 9, b: 0.1, Ea: 50}",
        "efficiency: {A: 9, b: 0, Ea: 0}, eig0: {A: 9, b: 0, Ea: 0}"), "entry 2: unknown key 'eig0'"),
    "below 0": (BURKE_H2.replace("A: 9", "A: -9"), "entry 2: efficiency: A is -9, wanted no negative number"),
    "none": (BURKE_H2.partition("  colliders")[0], "colliders is missing, wanted a list of colliders, M first"),
    "empty": (BURKE_H2.partition("  colliders")[0] + "  colliders: []\n", r"colliders: got \[\], wanted a list"),
    "no M": (BURKE_H2.replace("- name: M", "- name: H2"), "entry 1: name is 'H2', wanted M first"),
    "no name": (BURKE_H2.replace("name: H2O, ", ""), "entry 2: name is missing"),
    "no efficiency": (BURKE_H2 + "  - {name: H2}\n", "entry 3: efficiency is missing, wanted one for each collider"),
    "no type": (BURKE_H2.replace("    type: pressure-dependent-Arrhenius\n", ""), "entry 1: type is missing"),
    "other type": (BURKE_H2.replace("pressure-dependent-Arrhenius", "elementary"), "type is 'elementary', wanted one"),
    "no Troe": (BURKE_H2 + "  - {name: H2, type: falloff, efficiency: {A: 2, b: 0, Ea: 0}, "
        "low-P-rate-constant: {A: 1e15, b: 0, Ea: 0}, high-P-rate-constant: {A: 1e15, b: 0, Ea: 0}}\n",
        "entry 3: Troe is missing, wanted the numbers of Troe's form"),
    "no w": ("- equation: H + O2 <=> O + OH\n  type: Blowers-Masel\n  rate-constant: {A: 1e10, b: 0, Ea0: 9}\n",
        "rate-constant: w is missing"),
    "w is Ea0": ("- equation: H + O2 <=> O + OH\n  type: Blowers-Masel\n  rate-constant: [1e10, 0, 9, 9]\n",
        "w is 9, wanted a positive energy other than Ea0"),
    "three of four": ("- equation: H + O2 <=> O + OH\n  type: Blowers-Masel\n  rate-constant: [1e10, 0, 9]\n",
        r"rate-constant: got \[10000000000.0, 0, 9\], wanted A, b, Ea0 and w"),
}  # fmt: skip
ONLY_HERE = {"no w", "w is Ea0", "three of four", "empty"}  # Cantera reads these, as 0, NaN, or stops without a word


@pytest.mark.parametrize("what", COLLIDERS)
def test_linear_burke_and_blowers_masel_as_cantera_reads_them(tmp_path, what):
    reactions, message = COLLIDERS[what]
    if message is None or what not in ONLY_HERE:
        same_rates(tmp_path, reactions, refused=message)
    if message is not None:
        with pytest.raises(MixtureError, match=message):
            mixture(tmp_path, reactions).species.mechanism  # noqa: B018


def test_colliders_that_are_not_there(tmp_path):
    """Refused, unless the phase skips undeclared third bodies; a collider that a mixture leaves out counts no more."""
    absent = BURKE_H2 + "  - {name: CO2, efficiency: {A: 2, b: 0, Ea: 0}}\n"
    with pytest.raises(MixtureError, match="species 'CO2' is not in the phase"):
        mixture(tmp_path, absent).species.mechanism  # noqa: B018

    skipped = read(tmp_path, absent, extra="\n  skip-undeclared-third-bodies: true").reactions[0].rate
    assert skipped == read(tmp_path, BURKE_H2).reactions[0].rate and len(skipped.colliders) == 1
    assert not read(tmp_path, BURKE_H2, without=["H2O"]).reactions[0].rate.colliders


def test_two_kinds_marked_duplicate(tmp_path):
    """Every pair of kinds, marked or not: taken or refused as by Cantera, whose rule is that of participants."""
    fall = FALLOFF.replace("H + O2 (+M) <=> HO2 (+M)", "{}").replace("{A", "{{A").replace("0}", "0}}")
    kinds = [
        ELEMENTARY.format("H + O2 <=> HO2"),
        ELEMENTARY.format("2 HO2 => 2 H + 2 O2"),
        ELEMENTARY.format("H + O2 + M <=> HO2 + M") + "  efficiencies: {H2O: 0}\n",
        ELEMENTARY.format("H + O2 + H2O <=> HO2 + H2O"),
        fall.format("H + O2 (+M) <=> HO2 (+M)"),
        fall.format("H + O2 (+M) <=> HO2 (+M)") + "  Troe: {A: 0.6, T3: 100, T1: 1000}\n",
        PLOG.format("H + O2 <=> HO2"),
        CHEBYSHEV.format("H + O2 (+M) <=> HO2 (+M)"),
    ]

    for one, other in itertools.combinations_with_replacement(kinds, 2):
        for mark in ("", "  duplicate: true\n"):
            rule = "\n  explicit-third-body-duplicates: mark-duplicate"
            same_rates_or_both_refuse(tmp_path, one + mark + other + mark, rule)


def same_rates_or_both_refuse(tmp_path, reactions, extra):
    ct = pytest.importorskip("cantera")
    mix = mixture(tmp_path, reactions, extra)
    taken = []

    for read_ in (lambda: ct.Solution(str(tmp_path / "own.yaml"), "ideal"), lambda: mix.species.mechanism):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read_()
            taken.append(True)
        except (ct.CanteraError, MixtureError) as error:
            assert "duplicate" in str(error)
            taken.append(False)

    assert taken[0] == taken[1], reactions


def test_what_cantera_reads_in_a_reaction(tmp_path):
    """Letter case, units within a rate constant, orders of undeclared species, a collider that the phase lacks."""
    case = FALLOFF + "  efficiencies: {h2O: 6.0, ho2: 0.5}\n" + PLAIN.replace("H + O2", "h + o2")
    same_rates(tmp_path, case)

    # Cantera's rates do not obey units within a rate constant; a note says so. The pressures of P-log do.
    within = PLAIN.replace("Ea: 1000", "Ea: 1000, note: x, units: {length: m, activation-energy: K}")
    same_rates(tmp_path, within)
    assert "units within a rate constant, where they are of no effect" in read(tmp_path, within).notes[0]

    units = "units: {pressure: atm, length: m}, "
    same_rates(tmp_path, PLOG.format("H + O2 <=> HO2").replace(" atm,", ",").replace("{P", f"{{{units}P"))
    orders = PLAIN.replace("<=>", "=>") + "  orders: {H: 0.5, h2O: 1.5}\n  nonreactant-orders: true\n"
    same_rates(tmp_path, orders)

    with pytest.raises(MixtureError, match="orders: species 'o2' has another letter case than in the equation"):
        read(tmp_path, orders.replace("h2O:", "o2:"))
    same_rates(tmp_path, orders.replace("h2O:", "CO2:"), refused="orders: species 'CO2' is not in the phase")
    same_rates(tmp_path, PLAIN + "  efficiencies: {H: 2}\n", refused="has efficiencies, but no third body")
    skip = "\n  skip-undeclared-third-bodies: true"
    same_rates(tmp_path, PLAIN + ELEMENTARY.format("H + O2 + AR <=> HO2 + AR"), skip)

    text = mechanisms.text(PLAIN + orders.replace("h2O:", "CO2:")).replace(
        "reactions: all", "reactions: declared-species"
    )
    (tmp_path / "own.yaml").write_text(text)
    (left,) = Mixture.from_yaml(tmp_path / "own.yaml", "ideal", equation="ideal").species.mechanism.reactions

    assert left.reversible
    with pytest.raises(MixtureError, match="efficiencies: species H2O is there more than once"):
        read(tmp_path, FALLOFF + "  efficiencies: {H2O: 6.0, h2o: 0.5}\n")


def test_multipliers_count_reactions_that_the_mixture_leaves_out(tmp_path):
    """They are of the phase's reactions, whatever the mixture takes of them."""
    two = '\n  rate-multipliers: {"1": 0.5}'
    for without in ((), "O"):
        reactions = read(tmp_path, PLAIN + FALLOFF, two, without=without).reactions
        assert [(len(r.products), r.multiplier) for r in reactions] == [(2, 1.0), (1, 0.5)][-len(reactions) :]


def test_names_that_differ_by_letter_case_only():
    """The exact name goes first; another letter case may mean any of them."""
    names = Names(["Ar", "AR", "H2O"])
    assert [names.find(name) for name in ("AR", "Ar", "h2o", "ar", "N2")] == ["AR", "Ar", "H2O", None, None]
    assert names.is_ambiguous("ar") and names.absent("ar") == "species 'ar' may be any of Ar, AR."
    assert names.absent("H20") == "species 'H20' is not in the phase, did you mean 'H2O'."


def test_a_partner_that_was_left_out(tmp_path):
    """The mark of the other is no error."""
    marked = [
        ELEMENTARY.format(f"H + O2 + {third} <=> HO2 + {third}") + "  duplicate: true\n" for third in ("M", "H2O")
    ]
    (left,) = read(tmp_path, "".join(marked), without="H2O").reactions
    assert left.collider.name == "M"


def test_unlike_keys_are_left_alone(tmp_path):
    assert len(read(tmp_path, PLAIN + "  provenance: a thesis\n").reactions) == 1


def test_reactions_are_read_at_the_first_rate(tmp_path, monkeypatch):
    """And not before: not by loading, properties, constants of other models, or the table of launches."""
    mix, calls = mixture(tmp_path, REFUSED["unknown type"][0]), []
    read = cantera_reactions._Reader.mechanism
    monkeypatch.setattr(cantera_reactions._Reader, "mechanism", lambda self: calls.append(1) or read(self))
    Y = np.full(mix.ns, 1 / mix.ns)

    assert mix.properties("rho", T=300.0, p=1e5, Y=Y)["rho"] > 0 and mix.facts["k_ij"] and not calls

    for _ in range(2):
        with pytest.raises(ValueError, match="kernel 'net_production' cannot be used with this mixture: .*'Kooij'"):
            mix.properties("omega", T=300.0, p=1e5, Y=Y)

    with pytest.raises(MixtureError, match="'Kooij'"):
        mix.nr  # noqa: B018
    assert calls == [1]


def test_a_phase_without_reactions_says_so(tmp_path):
    with pytest.raises(ValueError, match="the species have no reactions: their phase has no `kinetics`"):
        Mixture.from_yaml(mechanisms.SPECIES).properties("omega", T=300.0, p=1e5, X={"H2": 1})
    path = tmp_path / "own.yaml"

    for kinetics_, said in (("none", "has no kinetics, wanted gas or bulk"), ("surface", "kinetics is 'surface'")):
        path.write_text(mechanisms.text(PLAIN).replace("kinetics: bulk", f"kinetics: {kinetics_}"))
        with pytest.raises(MixtureError, match=said):
            Mixture.from_yaml(path, "ideal", equation="ideal").species.mechanism  # noqa: B018


def test_sections_rules_and_other_files(tmp_path):
    (tmp_path / "more.yaml").write_text(f"units: {{length: cm, quantity: mol}}\nown-reactions:\n{PLAIN}some: 1\n")
    foreign = PLAIN.replace("O + OH", "CO + OH").replace("O2", "CO2")

    for given, wanted, notes in (
        ("reactions: none", 0, 0),
        ("reactions: [reactions, more.yaml/own-reactions]", 2, 0),
        ("reactions: [{more.yaml/own-reactions: all}]", 1, 0),
        ("reactions: [{reactions: none}, more.yaml/own-reactions]", 1, 0),
        ("reactions: declared-species", 1, 1),
    ):
        own = FALLOFF + (foreign if "declared" in given else "")
        factors = '\n  rate-multipliers: {default: 2.0, "0": 0.5}' if wanted else ""
        (tmp_path / "own.yaml").write_text(mechanisms.text(own, extra=factors).replace("reactions: all", given))
        mechanism = Mixture.from_yaml(tmp_path / "own.yaml", "ideal", equation="ideal").species.mechanism
        assert [r.multiplier for r in mechanism.reactions] == [0.5, 2.0][:wanted] and len(mechanism.notes) == notes

    (tmp_path / "own.yaml").write_text(mechanisms.text(PLAIN).replace("reactions: all", "reactions: some"))
    with pytest.raises(MixtureError, match="reactions: got 'some', wanted all, declared-species, none or a list"):
        Mixture.from_yaml(tmp_path / "own.yaml", "ideal", equation="ideal").species.mechanism  # noqa: B018


def test_a_multiplier_of_no_reaction_is_refused(tmp_path):
    with pytest.raises(MixtureError, match="rate-multipliers: got '2', wanted default or the number of a reaction"):
        read(tmp_path, PLAIN, mechanisms.MULTIPLIERS)


def test_duplicates_with_explicit_colliders(tmp_path):
    """M beside an explicit collider: as the phase says; and none where M has no efficiency of that species."""
    general = "- equation: H + O2 + M <=> HO2 + M\n  rate-constant: {A: 1e16, b: 0, Ea: 0}\n"
    special = general.replace(" M", " H2O")
    rule = "\n  explicit-third-body-duplicates: "

    assert "reactions 1 and 2" in read(tmp_path, general + special).notes[0]
    assert not read(tmp_path, general + "  efficiencies: {H2O: 0.0}\n" + special).notes
    assert not read(tmp_path, general + special, rule + "mark-duplicate").notes

    changed = read(tmp_path, general + special, rule + "modify-efficiency")
    H2O = changed.names.index("H2O")

    assert changed.reactions[0].collider.weights(7)[H2O] == 0 and changed.reactions[1].collider.of == {H2O: 1.0}
    with pytest.raises(MixtureError, match="reactions 1 and 2, H . O2 . H2O <=> HO2 . H2O, are duplicates"):
        read(tmp_path, general + special, rule + "error")
    with pytest.raises(MixtureError, match="explicit-third-body-duplicates is 'all', wanted warn, error"):
        read(tmp_path, general + special, rule + "all")

    marked = PLAIN + "  duplicate: true\n"  # a multiple counts, and so does the reverse
    twice = marked.replace("H + O2 <=> O + OH", "2 O + 2 OH <=> 2 H + 2 O2")
    assert len(read(tmp_path, marked + twice).reactions) == 2


def test_species_left_out_take_their_reactions_along(tmp_path):
    """Also a subset of a mixture; colliders lose them, and a note says which reactions went."""
    reactions = PLAIN + FALLOFF + "  efficiencies: {H2O: 6.0, O: 2.0}\n"
    mix = mixture(tmp_path, reactions, without="O")
    (left,) = mix.species.mechanism.reactions

    assert left.collider.of == {mix.names.index("H2O"): 6.0} and left.number == 0
    (note,) = mix.species.mechanism.notes
    assert note == "1 reactions left out, as the mixture leaves out their species: H + O2 <=> O + OH."

    some = mixture(tmp_path, reactions).species.subset(["HO2", "O2", "H", "H2O"])
    (left,) = some.mechanism.reactions

    assert left.reactants == {2: 1.0, 1: 1.0} and left.products == {0: 1.0}
    with pytest.raises(MixtureError, match="efficiencies: species 'XY' is not in the phase"):
        read(tmp_path, FALLOFF + "  efficiencies: {XY: 6.0}\n")
    assert read(tmp_path, FALLOFF + "  efficiencies: {XY: 6.0}\n", "\n  skip-undeclared-third-bodies: true")
