"""Option accuracy: one word for several options."""

import re
import warnings

import numpy as np
import pytest
from mixtures_for_tests import ROOT, changed, species_set
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
REFERENCE, FITTED = WORDS["nearest"], {"translation": "fitted"}
NEAREST = [
    # names, options: what the word stands for, and why
    (RADICALS, {}, REFERENCE, "rows of fluids.csv: CH4, O2, CO2, H2O, CO, H2, .*; estimated radicals: OH, H, O, HO2"),
    (["CH4", "O2", "CH2O"], {}, REFERENCE, "rows of fluids.csv: CH4, O2, .* 1 %; estimated: CH2O"),
    (["CH4", "O2"], dict(phases="equilibrium"), REFERENCE, "rows of fluids.csv: CH4, O2"),
    (["CH2O"], {}, {}, "no species has a row of fluids.csv by its name and molar mass, .*no measured liquid density"),
]


@pytest.mark.parametrize("names, options, meant, why", NEAREST)
def test_the_nearest_that_the_species_allow(names, options, meant, why):
    mix = Mixture.from_names(names, accuracy="nearest", **options)
    assert mix.options == PLAIN | meant | options
    (word,) = mix.words
    assert word in mix.notes and word.startswith("accuracy = nearest stands for ") and re.search(why, word)


@pytest.fixture
def as_users(monkeypatch):
    """Without the variable that tests set."""
    monkeypatch.delenv("FRAME_ACCURACY")


@pytest.mark.parametrize("names, options, meant, why", NEAREST)
def test_the_nearest_is_the_default(names, options, meant, why, as_users):
    mix = Mixture.from_names(names, **options)
    assert mix.options == PLAIN | meant | options
    assert [word for word in mix.words if re.search(why, word)]


@pytest.mark.parametrize(
    "fields, meant, why",
    [
        ({}, REFERENCE, "rows of fluids.csv: N2"),
        (dict(Tc=[128.0]), REFERENCE, "rows of fluids.csv: N2"),
        (dict(Tc=[130.0]), FITTED, "N2 has Tc = 130, its row of fluids.csv 126.192: the critical data given count"),
        (dict(pc=[3.0e6], Tc=[130.0]), FITTED, "and 1 more such numbers"),
        (dict(W=[0.040]), FITTED, "no species has a row of fluids.csv by its name and molar mass"),
    ],
)
def test_species_of_arrays(fields, meant, why, as_users):
    """A row counts where name, molar mass, Tc and pc agree with it. Else the numbers that came count."""
    mix = Mixture.from_species(changed(Mixture.from_yaml(N2).species, **fields))
    assert mix.options == PLAIN | meant
    assert why in mix.words[0] and mix.words[0] in mix.notes


def test_numbers_that_the_equation_refuses(as_users):
    """A species without a row for which equation mapped has no numbers: the others do not pull it there."""
    pair = Mixture.from_names(["O2", "CH2O"], accuracy="chosen").species
    mix = Mixture.from_species(changed(pair, omega=[0.0222, -0.3]))
    assert mix.options == PLAIN | FITTED and "'CH2O': omega = -0.3" in mix.words[0]


def test_estimated_species_are_safe(as_users, any_temperature):
    """Each species without a row, pure and with as much O2: 60 to 6000 K, 1e3 to 1e8 Pa. v grows as p falls, mu and lam
    are positive, cv of a monatomic gas would stay positive."""
    mix = Mixture.from_yaml(ROOT / "examples/mechanisms/h2_o2.yaml")
    estimated = [mix.names.index(name) for name in ("H2O2", "OH", "H", "O", "HO2")]
    alone = np.eye(mix.ns)[:, estimated]
    X = np.hstack([alone, (alone + np.eye(mix.ns)[:, [mix.names.index("O2")]]) / 2])[:, :, None, None]

    T, p = np.geomspace(60.0, 6000.0, 16)[:, None], np.geomspace(1e3, 1e8, 11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # polynomials are extrapolated
        q = mix.properties("rho p_v mu lam h cv cp_ig R_s", T=T, p=p, X=X)

    assert all(np.isfinite(part).all() for part in q.values())
    assert (q["rho"] > 0).all() and (q["p_v"] < 0).all() and (q["mu"] > 0).all() and (q["lam"] > 0).all()
    assert ((q["cv"] - q["cp_ig"]) / q["R_s"] + 1 > -1.45).all()


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
    """The variable's word holds for all mixtures of a process; a given option has precedence."""
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
