"""Binary interactions by pairs: the same numbers as from a matrix of species data; what is not known is noted."""

import dataclasses

import numpy as np
import pytest

from kernels import ArgumentError, Mixture, MixtureError

NAMES = "N2 C12H26 CO2"
OPTIONS = dict(phases="equilibrium", equation="pr")


def notes_of_kij(mixture):
    return [note for note in mixture.notes if note.startswith("k_ij = 0")]


@pytest.mark.parametrize("kij", [{"N2/C12H26": 0.19}, {("NC12H26", "N2"): 0.19}], ids=["words", "pairs"])
def test_pairs_are_entries_of_the_matrix(kij):
    plain = Mixture.from_names(NAMES, **OPTIONS)
    matrix = np.array(plain.species.kij)
    matrix[0, 1] = matrix[1, 0] = 0.19
    wanted = Mixture(dataclasses.replace(plain.species, kij=matrix), **OPTIONS)

    mixture = Mixture.from_names(NAMES, kij=kij, **OPTIONS)
    state = dict(T=400.0, X=np.array([0.1, 0.8, 0.1]))
    np.testing.assert_array_equal(mixture.species.kij, matrix)
    assert mixture.bubble_p(**state) == wanted.bubble_p(**state)
    assert mixture.bubble_p(**state) > 1.2 * plain.bubble_p(**state)  # less nitrogen dissolves
    assert Mixture.from_names(NAMES, kij=matrix, **OPTIONS).bubble_p(**state) == wanted.bubble_p(**state)


def test_a_file_with_other_interactions():
    path = "examples/mixtures/ch4_o2.yaml"
    read = Mixture.from_yaml(path).species
    mixture = Mixture.from_yaml(path, kij={"CH4/O2": 0.03})
    changed = np.argwhere(mixture.species.kij != read.kij)
    assert sorted(read.names[i] for i in np.unique(changed)) == ["CH4", "O2"]


def test_notes_name_the_pairs_without():
    assert notes_of_kij(Mixture.from_names("N2 C12H26", **OPTIONS))[0].startswith("k_ij = 0 for N2/NC12H26: ")
    assert notes_of_kij(Mixture.from_names("N2 C12H26", kij={"N2/C12H26": 0.19}, **OPTIONS)) == []
    no_kij = Mixture.from_names("N2 O2 H2 CH4", kij=np.zeros((4, 4)), **OPTIONS)
    assert "and 3 more pairs" in notes_of_kij(no_kij)[0]
    assert notes_of_kij(Mixture.from_names("N2 C12H26", equation="pr")) == []  # one phase


@pytest.mark.parametrize(
    "kij, said",
    [
        ({"N2/O2": 0.1}, "kij: species 'O2' is not in the mixture, which has N2, NC12H26, CO2."),
        ({"N2": 0.1}, "kij: 'N2', wanted a pair of species such as 'N2/O2'."),
        ({"N2/C12H26": 0.1, "NC12H26/N2": 0.1}, "kij: the pair NC12H26/N2 comes twice."),
        ({"N2/N2": 0.1}, "kij: 'N2/N2', wanted two different species."),
        ({"N2/CO2": "much"}, "kij of 'N2/CO2' is 'much', wanted a number."),
        ({"N2/CO2": 5}, "species data: kij of 'N2' and 'CO2' is 5, wanted -0.9 to 0.9."),
        ({"N2/CO2": np.nan}, "species data: kij of 'N2' and 'CO2' is nan, wanted -0.9 to 0.9."),
        (0.1, "species data: kij has shape (), wanted (3, 3) for 3 species."),
    ],
)
def test_what_is_refused(kij, said):
    with pytest.raises(MixtureError) as error:
        Mixture.from_names(NAMES, kij=kij, **OPTIONS)
    assert str(error.value) == said


@pytest.mark.parametrize(
    "options, said",
    [
        (dict(equation="ideal"), "kij: equation = ideal has no binary interactions; leave kij out."),
        (
            dict(equation="pr", alpha="published", mixing="pseudocritical"),
            "kij: mixing = pseudocritical has no binary interactions; leave kij out.",
        ),
    ],
    ids=["ideal", "pseudocritical"],
)
def test_models_without_interactions_refuse_them(options, said):
    with pytest.raises(ArgumentError) as error:
        Mixture.from_names("N2 O2", kij={"N2/O2": 0.1}, **options)
    assert str(error.value) == said


def test_an_envelope_has_no_warnings(recwarn):
    """Its search passes places where the models have no state."""
    found = Mixture.from_names("N2 C12H26", phases="equilibrium").envelope(X={"N2": 0.5, "C12H26": 0.5}, points=10)
    assert np.isfinite(found["p_low"]).all()
    assert not [str(w.message) for w in recwarn]
