"""SURF, the search of Nelson et al. 2015 ("Generating efficient tensor contractions for GPUs", ICPP 2015, section V).

Algorithm 2: of a pool of configurations, `batch` are drawn at random and measured; a model of randomised trees (their
reference 12: Geurts, Ernst & Wehenkel 2006) learns the times; it predicts the rest of the pool, of which the `batch`
best are measured; the model learns again, until n_max are measured. There is no model before the first measurements.

The pool is Barracuda's (section IV, see organisations/axes.py): order of evaluation, and for each operation the loops
on ThreadX, ThreadY, BlockX, BlockY, the order of the loops in the thread, and unrolling. Decomposition and orders have
no order among themselves, so they become binary numbers ("feature binarization"); unrolling stays a number.

Not in the paper, so chosen here: the number of a batch; that a pool too large to list is a random part of it; that the
trees learn the logarithm of a time; that a configuration that was left out counts as the slowest one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..engine.errors import ArgumentError
from .forest import Forest
from .organisations.axes import NAMES_OF_AXES, Axes, Decomposition, decompositions, operations, orders, unrolls
from .space import Candidate, Space

POOL = 4000  # configurations at most
FAILURES = 20  # draws in a row that bring nothing new, until the pool counts as listed


class Settings(NamedTuple):
    """Input of Algorithm 2."""

    most: int  # n_max: measurements
    batch: int  # bs: of them between two fits


def surf(pool: list, features, measure, rng, settings: Settings) -> None:
    """Algorithm 2. features(configuration) -> numbers. measure(configurations) -> seconds of each, inf for those that
    were left out, NaN where the budget was spent."""
    rest = [pool[k] for k in rng.permutation(len(pool))]
    known: dict = {}

    # Lines 1 to 4: a random batch.
    batch = rest[: min(settings.batch, settings.most)]
    rest = rest[len(batch) :]
    _note(batch, measure(batch), known)

    # Lines 5 to 12. The paper's loop counts by one; it has to count by batches.
    while rest and known and len(known) < settings.most and not measure.spent:
        model = Forest(int(rng.integers(1 << 30)), tries=math.inf)
        model.fit([features(c) for c in known], _logarithms(known))
        order = np.argsort(model.predict([features(c) for c in rest]), kind="stable")

        chosen = order[: min(settings.batch, settings.most - len(known))]
        batch = [rest[k] for k in chosen]
        rest = [rest[k] for k in np.sort(order[len(chosen) :])]
        before = len(known)
        _note(batch, measure(batch), known)
        if len(known) == before:
            return


def _note(batch, seconds, known: dict) -> None:
    """Adds measurements to `known`; what was not measured is not known."""
    for c, s in zip(batch, seconds):
        if not math.isnan(s):
            known[c] = s


def _logarithms(known: dict) -> np.ndarray:
    """Logarithms of the times; a candidate that was left out counts as the slowest."""
    times = np.array(list(known.values()))
    right = times[np.isfinite(times)]
    return np.log(np.where(np.isfinite(times), times, right.max(initial=1.0)))


# ---- the pool -------------------------------------------------------------------------------------------------------


def pool(space: Space, rng, most: int = POOL) -> list[Candidate]:
    """Distinct configurations in a random order: all of them, or `most`. Raises ArgumentError where there are none."""
    if Axes not in space.family.all:
        raise ArgumentError("search: method 'surf' is for a GPU's axes of threads and blocks; this backend has none.")

    choices = []
    for number, program in enumerate(space.programs):
        some = [_variants(o) for o in operations(program)] if Axes.candidates(program) else [[]]
        if all(some):
            choices.append((number, some))
    if not choices:
        raise ArgumentError(
            "search: method 'surf' needs statements that are sums of products, with loops of up to 1024."
        )

    found: dict[Candidate, None] = {}
    failures = 0
    while len(found) < most and failures < FAILURES * len(choices):
        number, some = choices[rng.integers(len(choices))]
        c = Candidate(number, Axes.made([variants[rng.integers(len(variants))] for variants in some]))
        failures = failures + 1 if c in found else 0
        found[c] = None
    return list(found)


def count(space: Space) -> int:
    """Configurations of the whole pool."""
    total = 0
    for program in space.programs:
        if Axes.candidates(program):
            total += math.prod(len(_variants(o)) for o in operations(program))
    return total


def _variants(o) -> list[Decomposition]:
    """All decompositions of an operation, with every order of loops and every unrolling."""
    found = []
    for usual in decompositions(o):
        for order in range(orders(o, usual.axes)):
            ordered = usual._replace(order=order)
            found += [ordered._replace(unroll=factor) for factor in unrolls(o, ordered)]
    return found


class Binary:
    """features(candidate): the decomposition and the orders as binary numbers, unrolling as a number."""

    def __init__(self, candidates):
        self.places: dict[tuple, int] = {}
        self.operations = max(len(_axes(c).unroll) for c in candidates)
        for c in candidates:
            for mark in _marks(c):
                self.places.setdefault(mark, len(self.places))

    def __call__(self, c: Candidate) -> np.ndarray:
        row = np.zeros(len(self.places) + self.operations)
        for mark in _marks(c):
            row[self.places[mark]] = 1.0
        unroll = _axes(c).unroll
        row[len(self.places) : len(self.places) + len(unroll)] = unroll
        return row


def _marks(c: Candidate):
    """Yields what is true of a candidate: (name, value) of each coordinate without an order among its values."""
    yield "order", c.order
    for k, part in enumerate(_axes(c).parts):
        for name, place in zip(NAMES_OF_AXES, part.axes):
            yield name, k, place
        yield "loops", k, part.order


def _axes(c: Candidate) -> Axes:
    """The organisation of a candidate of the pool."""
    assert isinstance(c.how, Axes)
    return c.how
