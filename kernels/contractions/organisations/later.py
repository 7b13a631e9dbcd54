"""A product of two arrays that adds up one of its summed indices afterwards.

A matrix library needs the summed indices of a factor side by side. Where they are not, as in `C(a,b) = A(a,c,d)
B(d,b,c)`, a factor as large as all of memory may have to be copied. Instead the product keeps an index of the sum, as a
batch of smaller products of factors as they lie, and a second step adds up its values.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import ClassVar

from ..expression import Reference, Statement, Term
from ..plan import Program, Unable, describe, only_term
from . import library_costs
from .apart import BESIDE, DeviceApart
from .base import Organisation

WORTH = 5e-5  # seconds of a usual batch by another organisation, at least
WANTED = "a product of two arrays whose summed indices do not lie side by side in the same order in both"


@dataclasses.dataclass(frozen=True)
class Later(DeviceApart):
    """The product with an index more, then the sum over this index: each by the model's choice for it."""

    NAMES: ClassVar[tuple[str, ...]] = ("later",)
    COMPLEX: ClassVar[bool] = False

    index: str = ""  # of the sum, which the product keeps

    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        return [cls(index=index) for index in _summed(p)]

    def serves(self, p: Program) -> str:
        summed = _summed(p)
        if not summed:
            return WANTED
        return "" if self.index in summed else f"index={' or '.join(summed)}"

    def price(self, p: Program, least: float = math.inf) -> float:
        """As of steps one after the other. Short products are not worth the planning: their price is no better than
        the best before."""
        seconds = least * library_costs.usual_batch(p) * library_costs.unit(self.STYLE, p)
        return super().price(p, least) if seconds >= WORTH else BESIDE * least

    def made_of(self, p: Program) -> Program:
        return _in_two(p, self.index)


def _summed(p: Program) -> tuple[str, ...]:
    """The indices of the sum of a product of two arrays, unless a library can join them to one."""
    try:
        s, term = only_term(p, WANTED)
    except Unable:
        return ()
    if len(term.factors) != 2 or p.complex:
        return ()

    left, right = (f.indices for f in term.factors)
    summed = tuple(i for i in left if i in right and i not in s.out.indices)
    if len(set(summed)) < len(summed) or len(summed) < 2:
        return ()
    return () if _in_a_row(left, summed) and _in_a_row(right, summed) else summed


def _in_a_row(indices, some) -> bool:
    """Whether some indices stand side by side, in their order."""
    at = indices.index(some[0])
    return indices[at : at + len(some)] == some


@functools.lru_cache(64)
def _in_two(p: Program, index: str) -> Program:
    """The program with a product that keeps an index of its sum, and the sum over it."""
    (s,), (term,) = p.statements, p.statements[0].terms
    name = f"{s.out.name}_by_{index}"
    while name in p.arrays:
        name += "_"

    kept = Reference(name, (index, *s.out.indices))
    product = Statement(kept, (Term(1.0, term.factors),), False)
    total = s._replace(terms=(Term(term.number, (kept,)),))
    statements = (product, total)
    return Program(p.expression, statements, describe(p.expression, statements, p.sizes), p.sizes, p.dtype, p.entries)
