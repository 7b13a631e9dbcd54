"""A call of `contract` with its options, and the plans that are kept for it."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from .arrays import is_complex
from .contraction import Contraction
from .expression import Expression
from .paired import ComplexContraction
from .text import Script, read

MARKS = ("point", "layout", "local", "constant", "symmetric")  # options of text.parse
FEW = 32  # entries: four packs of float64
OTHERS = ("headers", "folders", "quick", "free")  # of Contraction; `order` if it is a number
OPTIONS = ("batch", "backend", "how", "out", "dtype", "order", *MARKS, *OTHERS)


class Asked(NamedTuple):
    """Options of a call."""

    batch: str | None
    backend: object  # a Backend, its name, or None: where the arrays lie
    how: object  # an organisation, see Contraction
    marks: tuple = ()  # pairs, of MARKS
    others: tuple = ()  # pairs, of OTHERS
    order: str = "K"  # of the result in memory, see result_order.py
    # Signature by which the next call finds this one; of a string its text and options, until the arrays are known
    repeated: tuple | None = None


class Problem(NamedTuple):
    """The contraction that a plan computes. The options of the call are not in it."""

    text: str
    sizes: tuple[tuple[str, int], ...]  # of all indices but the batch's, by their names
    dtype: str  # that is computed in
    real: tuple[str, ...]  # real inputs among complex ones
    backend: Any


def is_pair(array) -> bool:
    """Whether it is a complex array or number."""
    return isinstance(array, complex) or (hasattr(array, "dtype") and is_complex(array))


def sorted_extents(sizes: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """Extents in the order of the names: the same tuple for the same extents."""
    return tuple(sorted(sizes.items()))


def for_entries(asked: Asked, e: Expression, n: int) -> Asked:
    """The options of a plan for about n entries: the choice depends on whether they fill a device, or a cache, and on
    what is done once for all of them."""
    if not e.batch:
        return asked
    return asked._replace(others=(*asked.others, ("entries", about(n))))


def about(n: int) -> int:
    """The number itself if it is small: of few entries it counts how they fill packs. Else the nearest of four in each
    octave: a plan for each batch would be many, and a library does products that are a little larger another way."""
    if n <= FEW:
        return max(n, 1)
    step = 2 ** (n.bit_length() - 1) // 4
    return round(n / step) * step


@functools.lru_cache(256)
def read_text(text: str, batch: str | None, marks: tuple) -> Script:
    return read(text, batch, **dict(marks))


@functools.lru_cache(256)
def plan_of(problem: Problem, asked: Asked):
    """A Contraction, or a ComplexContraction."""
    sizes, options = dict(problem.sizes), {**dict(asked.marks), **dict(asked.others)}
    options |= dict(batch=asked.batch, backend=problem.backend, how=asked.how)

    if np.dtype(problem.dtype).kind == "c":
        return ComplexContraction(problem.text, sizes, problem.dtype, real=problem.real, **options)
    return Contraction(problem.text, sizes, problem.dtype, **options)
