"""The rows that a mechanism becomes, before any target encodes them: by hand, from the equations of reactions."""

import mechanisms_for_tests as mechanisms
import numpy as np
import pytest

from kernels import Mixture
from kernels.gas.kinetics import crew
from kernels.gas.kinetics.tables import ReactionTables

H2, H, O, O2, OH, H2O, HO2 = range(7)
HEAD = ("factor", "number", "coefficient", "collider", "reversible")


@pytest.fixture(scope="module")
def mix():
    return Mixture.from_yaml(mechanisms.path(), "ideal", equation="ideal")


@pytest.fixture(scope="module")
def tables(mix):
    return ReactionTables(mix.species)


def test_every_reaction_has_one_row(tables):
    rows = [row for of_pattern in tables.pairs.values() for row in of_pattern] + tables.others
    assert sorted(row.number for row in rows) == list(range(len(tables.reactions)))

    for row in rows:
        reaction = tables.reactions[row.number]
        assert row.net == reaction.net and row.reversible == reaction.reversible
        multiplies = reaction.collider is not None and not hasattr(reaction.rate, "low")
        assert (row.collider < len(tables.colliders)) == multiplies, reaction.equation


def test_rows_of_the_fast_form(mix, tables):
    """Species as often as they count; the collider's weights; the exponents of the rate coefficient."""
    names = list(mix.names)
    for pattern, rows in tables.pairs.items():
        for row in rows:
            reaction = tables.reactions[row.number]
            assert row.pattern == pattern

            for side, species in ((reaction.reactants, row.reactants), (reaction.products, row.products)):
                assert {s: species.count(s) for s in species} == side
            if row.coefficient < len(tables.exponents):
                assert tables.exponents[row.coefficient] == (reaction.rate.b, reaction.rate.E)
                assert row.factor == reaction.rate.A * reaction.multiplier

            if row.collider < len(tables.colliders):
                weights = tables.colliders[row.collider].weights
                np.testing.assert_array_equal(weights, reaction.collider.weights(len(names)))


def test_colliders_are_the_usual_weight_and_the_specials(tables):
    for collider in tables.colliders:
        weights = np.full(tables.ns, collider.usual)
        for s, more in collider.specials.items():
            weights[s] += more
        np.testing.assert_allclose(weights, collider.weights, rtol=4e-16)


def test_sorted_tables_are_the_same_reactions(tables):
    """In an order in which reactions of the same first reactant are neighbours."""
    after = tables.sorted()
    for pattern, rows in tables.pairs.items():
        key = lambda row: (row.number, sorted(row.reactants), row.products)
        assert sorted(map(key, rows)) == sorted(map(key, after.pairs[pattern]))
        with_collider = [row.collider < len(tables.colliders) for row in after.pairs[pattern]]
        assert with_collider == sorted(with_collider)


def test_species_on_both_sides_are_the_last(tables):
    """Where rates.h looks for them, in tables as read and sorted; one reactant at least is consumed."""
    found = 0
    for rows in (*tables.pairs.values(), *tables.sorted().pairs.values()):
        for row in rows:
            both = [s for s in row.reactants for other in row.products if s == other]
            found += len(both)
            assert row.reactants[len(row.reactants) - len(both) :] == row.products[len(row.products) - len(both) :]
            assert row.reactants[0] not in both

    assert found


def test_the_plain_rows_read_back(tables):
    """Numbers of a row against its fields, at the places that rates.h reads."""
    for row in tables.others:
        numbers = row.numbers()
        assert numbers[:5] == [getattr(row, name) for name in HEAD]

        counts = [round(x) for x in numbers[7:12]]
        assert counts == [len(x) for x in (row.forward, row.reverse, row.reactants, row.products, row.net)]
        assert len(numbers) == 12 + 3 * sum(counts[:2]) + 2 * sum(counts[2:])
        assert dict(zip(numbers[-2 * len(row.net) :: 2], numbers[-2 * len(row.net) + 1 :: 2])) == row.net


def test_room_of_two_blocks():
    """A multiprocessor of compute capability 9.0 has 228 KiB, of which each block takes one for the system."""
    two, one = crew.rooms()
    assert 2 * (two + 1024) == one + 1024 == 228 * 1024
