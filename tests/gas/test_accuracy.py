"""Option accuracy: one word for several options."""

import pytest
from mixtures_for_tests import ROOT, species_set
from reference.options import WORDS

from frame.tools.validate import cantera
from kernels import OPTIONS, Mixture
from kernels.engine.errors import ArgumentError
from kernels.gas.accuracy import AS_CANTERA
from kernels.gas.species import NoSpecies

N2 = ROOT / "examples/mixtures/n2.yaml"
PLAIN = {key: values[0] for key, values in OPTIONS.items()} | {"accuracy": "chosen"}


@pytest.mark.parametrize("word", ["cantera", "reference"])
def test_the_word_stands_for_its_options(word):
    """And is gone: a mixture of these options again is the same."""
    mix = Mixture.from_yaml(N2, accuracy=word)
    expected = PLAIN | WORDS[word]

    assert mix.options == expected
    assert Mixture.from_species(mix.species, **mix.options).options == expected
    assert AS_CANTERA["pr"] is cantera.CANTERA, "another set is compared with Cantera"


def test_the_word_is_explained_to_readers():
    (note,) = [note for note in Mixture.from_yaml(N2, accuracy="cantera").notes if note.startswith("accuracy")]
    assert note.startswith("accuracy = cantera stands for alpha = cantera, ") and "takahashi = table" in note
    assert not [note for note in Mixture.from_yaml(N2).notes if note.startswith("accuracy")]


@pytest.mark.parametrize("option", [key for key in WORDS["cantera"] if len(OPTIONS[key]) > 1])
def test_another_value_beside_the_word_is_refused(option):
    meant = WORDS["cantera"][option]
    given = next(value for value in OPTIONS[option] if value != meant)
    with pytest.raises(ArgumentError, match=f"accuracy = 'cantera' stands for {option} = '{meant}', and.*'{given}'"):
        Mixture.from_species(species_set(1), accuracy="cantera", **{option: given})

    same = Mixture.from_species(species_set(1), accuracy="cantera", **{option: meant})
    assert same.options[option] == meant


@pytest.mark.parametrize("equation", ["ideal", "rk"])
def test_other_equations_of_cantera(equation):
    mix = Mixture.from_species(species_set(1), equation=equation, accuracy="cantera")
    assert {key: mix.options[key] for key in AS_CANTERA[equation]} == AS_CANTERA[equation]


def test_an_equation_that_cantera_does_not_have_is_refused():
    with pytest.raises(ArgumentError, match="Cantera has no equation = 'srk'; wanted pr, rk, ideal"):
        Mixture.from_species(species_set(1), equation="srk", accuracy="cantera")


RADICALS = ["CH4", "O2", "CO2", "H2O", "CO", "H2", "OH", "H", "O", "HO2"]  # four of them
NEAREST = [
    # names, options: what the word stands for, and why
    (RADICALS, {}, WORDS["reference"], "every species that can condense has a row"),
    (["CH4", "O2"], dict(phases="equilibrium"), WORDS["reference"], "every species that can condense has a row"),
    (["CH4", "O2", "CH2O"], {}, {"translation": "fitted"}, "no row of fluids.csv for CH2O"),
    (["CH2O"], {}, {}, "no row of fluids.csv for CH2O, and no measured liquid density"),
]


@pytest.mark.parametrize("names, options, meant, why", NEAREST)
def test_the_nearest_that_the_species_allow(names, options, meant, why):
    mix = Mixture.from_names(names, accuracy="nearest", **options)
    assert mix.options == PLAIN | meant | options
    (word,) = mix.words
    assert word in mix.notes and word.startswith("accuracy = nearest stands for ") and why in word


@pytest.fixture
def as_users(monkeypatch):
    """Without the variable that tests set."""
    monkeypatch.delenv("FRAME_ACCURACY")


@pytest.mark.parametrize("names, options, meant, why", NEAREST)
def test_the_nearest_is_the_default(names, options, meant, why, as_users):
    mix = Mixture.from_names(names, **options)
    assert mix.options == PLAIN | meant | options
    assert [word for word in mix.words if why in word]


@pytest.mark.parametrize(
    "option, value",
    [
        ("equation", "pr"),
        ("alpha", "published"),
        ("mixing", "vdw"),
        ("translation", "fitted"),
        ("chung", "cantera"),
        ("accuracy", "chosen"),
    ],
)
def test_the_default_gives_way(option, value, as_users):
    """To who chooses the equation of state, or an option that it alone has, as in releases before."""
    mix = Mixture.from_yaml(N2, **{option: value})
    assert mix.options == PLAIN | {option: value} and not mix.words


def test_the_default_leaves_what_is_given(as_users):
    mix = Mixture.from_yaml(N2, viscosity="chung", takahashi="off")
    assert mix.options == PLAIN | WORDS["nearest"] | {"viscosity": "chung", "takahashi": "off"}
    assert "equation = mapped, cold_cp = fitted" in mix.words[0]


def test_the_default_of_kernels_without_species(as_users):
    """Kernels that need no constants, or a mixture of arrays under names that are no substances."""
    assert Mixture(NoSpecies(3)).options == PLAIN


def test_a_default_by_the_environment(monkeypatch):
    """One word for all mixtures of a process; a given one counts more."""
    monkeypatch.setenv("FRAME_ACCURACY", "cantera")
    assert Mixture.from_yaml(N2).options == PLAIN | WORDS["cantera"]
    assert Mixture.from_yaml(N2, accuracy="chosen").options == PLAIN

    monkeypatch.setenv("FRAME_ACCURACY", "best")
    with pytest.raises(ArgumentError, match="FRAME_ACCURACY is 'best', wanted one of nearest, chosen, "):
        Mixture.from_yaml(N2)


def test_other_options_stay_free():
    mix = Mixture.from_species(species_set(1), accuracy="cantera", root="vapour")
    assert mix.options["root"] == "vapour" and mix.options["chung"] == "cantera"


def test_the_reference_gives_cold_liquids_within_a_percent():
    """Nitrogen at 90 K, 10 bar: density by Span et al. 2000, viscosity by Lemmon & Jacobsen 2004, as CoolProp 8.0.0 has
    them. The defaults are far off."""
    mix = Mixture.from_yaml(N2, accuracy="reference")
    found = mix.properties("rho mu", T=90.0, p=1e6, Y=[1.0])

    assert found["rho"] == pytest.approx(747.58, rel=0.01)
    assert found["mu"] == pytest.approx(104.23e-6, rel=0.02)


def test_another_equation_beside_the_reference_is_refused():
    with pytest.raises(
        ArgumentError, match="accuracy = 'reference' stands for equation = 'mapped', and equation = 'srk'"
    ):
        Mixture.from_species(species_set(1), equation="srk", accuracy="reference")
