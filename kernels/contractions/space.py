"""Choices of a contraction that are tuned: orders of evaluation, organisations, and the numbers of each.

A candidate is an order and an organisation with its numbers. A coordinate is one of these numbers with the values that
it may take; a move changes one of them by a step. The model counts what a candidate has to do at least, before anything
is compiled: on a device in clocks of a multiprocessor, the larger of memory, arithmetic and accesses; on a CPU vector
operations.
"""

from __future__ import annotations

import contextlib
import functools
import math
from typing import NamedTuple

from ..engine.errors import FrameError
from . import table
from .organisations import Organisation, Unable
from .organisations.base import words


class Candidate(NamedTuple):
    """An order of evaluation, by its number, and an organisation."""

    order: int
    how: Organisation

    def __str__(self):
        return f"order={self.order} {table.written(self.how)}"


class Space:
    """The candidates for a contraction."""

    def __init__(self, plan):
        self.plan, self.programs, self.family = plan, plan.programs, plan.family
        self.price = functools.lru_cache(None)(self._price)

    # ---- candidates
    @functools.cached_property
    def defaults(self) -> list[Candidate]:
        """The organisations of every order with their usual numbers, the model's choice first."""
        found = []
        for order, program in enumerate(self.programs):
            for price, how in self.family.choices(program):
                found.append((price, Candidate(order, how)))

        found.sort(key=lambda pair: pair[0])
        return list(dict.fromkeys(c for _, c in found))

    def coordinates(self, c: Candidate) -> dict[str, tuple]:
        """The values of each coordinate that a candidate may move along. "order" is a coordinate."""
        found: dict[str, tuple] = {"order": tuple(range(len(self.programs)))}
        found |= c.how.moves(self.programs[c.order])
        return {name: values for name, values in found.items() if len(values) > 1}

    def value(self, c: Candidate, name: str):
        """The present value of a coordinate."""
        return c.order if name == "order" else c.how.value(name)

    def moved(self, c: Candidate, name: str, value) -> Candidate | None:
        """The candidate with another value of a coordinate; None if that cannot serve."""
        if name == "order":
            return self._at_order(c, value)

        try:
            made = Candidate(c.order, c.how.moved(name, value))
        except Unable:
            return None

        return made if self.legal(made) else None

    def _at_order(self, c: Candidate, order: int) -> Candidate | None:
        """The same numbers for another order of evaluation, or the usual ones if these cannot serve there."""
        for _, usual in self.family.choices(self.programs[order]):
            if usual.name == c.how.name:
                made = Candidate(order, c.how.at_order(usual))
                return made if self.legal(made) else Candidate(order, usual)

        return None

    def legal(self, c: Candidate) -> bool:
        """Whether a text can be written. The compiler and the device may still refuse it."""
        with contextlib.suppress(FrameError, Unable):
            return c.how.legal(self.programs[c.order])
        return False

    def neighbours(self, c: Candidate) -> list[Candidate]:
        """The candidates one step away along each coordinate, to both sides; all values if they have no order."""
        found: dict[Candidate, None] = {}
        for name, values in self.coordinates(c).items():
            for value in _steps(values, self.value(c, name), sorted_=name != "order"):
                made = self.moved(c, name, value)
                if made and made != c:
                    found[made] = None

        return list(found)

    def random(self, rng) -> Candidate:
        """Any organisation, then each coordinate anywhere. A coordinate that cannot move stays."""
        by_name: dict[str, list[Candidate]] = {}
        for c in self.defaults:
            by_name.setdefault(c.how.name, []).append(c)

        some = by_name[rng.choice(sorted(by_name))]
        c = some[rng.integers(len(some))]

        for name, values in self.coordinates(c).items():
            c = self.moved(c, name, values[rng.integers(len(values))]) or c

        return c

    def features(self, c: Candidate) -> tuple[float, ...]:
        """Numbers for a surrogate: marks of the organisation, the order, each number (large ones in powers of two)."""
        names = sorted({d.how.name for d in self.defaults})
        found = [float(c.how.name == name) for name in names] + [float(c.order)]

        for kind, example in {type(d.how): d.how for d in self.defaults}.items():
            for name in words(kind):
                value = c.how.value(name) if type(c.how) is kind else None
                found += _numbers(value, example.value(name))

        return (*found, math.log2(1 + self.price(c)))

    # ---- the model
    def _price(self, c: Candidate) -> float:
        """The least work of a candidate, in the model's unit."""
        return c.how.cost(self.programs[c.order], self.plan.bytes, self._least(c) if c.how.SPECIAL else math.inf)

    def _least(self, c: Candidate) -> float:
        """The price of the best organisation that is not SPECIAL, at a candidate's order."""
        others = [how for _, how in self.family.choices(self.programs[c.order]) if not how.SPECIAL]
        return min(self.price(Candidate(c.order, how)) for how in others)


def _steps(values: tuple, now, sorted_: bool) -> list:
    """The values one step away from the present value; all others if they have no order."""
    if now not in values:
        return list(values)
    if not sorted_ or not isinstance(now, int | float):
        return [v for v in values if v != now]

    at = values.index(now)
    return [values[k] for k in (at - 1, at + 1) if 0 <= k < len(values)]


def _numbers(value, like) -> list[float]:
    """A number of an organisation for a surrogate; -1 if another organisation has no such number."""
    like = value if value is not None else like
    if isinstance(like, tuple) and like and isinstance(like[0], str):
        return [float(sum(x == "folded" for x in value)) if value else -1.0]
    if isinstance(like, tuple):
        return [float(x) for x in value] if value is not None else [-1.0] * len(like)
    if isinstance(like, str):
        return [float(bool(value))]

    return [-1.0 if value is None else math.log2(1 + float(value))]
