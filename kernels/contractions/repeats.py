"""Calls of `contract` that come again: a step of a solver repeats its texts with arrays of the same types and extents.

The first call reads the text, promotes types, finds extents and plans. Where its arrays went to the kernel as they are,
the next call with the same signature binds its arrays to the same plan, and nothing else. Plans read neither numbers
nor addresses, so a signature has all that a plan depends on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

KEPT = 256  # calls


class Repeat(NamedTuple):
    """A call without what depends on its arrays' numbers and places."""

    plan: Any  # Contraction or ComplexContraction
    names: tuple[str, ...]  # of the operands, in their order
    shape: tuple[int, ...]  # of the result
    n: int  # entries of the batch
    dtype: np.dtype  # of the result

    def values(self, given):
        """The result. given: the operands, then the array to write; without that, a new array is written."""
        arrays = dict(zip(self.names, given))
        new = len(given) == len(self.names)
        arrays["out"] = out = self.plan.backend.empty(self.shape, self.dtype) if new else given[-1]
        self.plan.bind(arrays, self.n)()
        return out


_calls: dict[tuple, Repeat] = {}


def signature(text: str, operands, backend, options: tuple) -> tuple | None:
    """What two calls have in common that differ in numbers and places alone; None if an operand is a number or list."""
    lies = _lies(operands)
    return None if lies is None else (text, backend, options, lies)


def _lies(operands) -> tuple | None:
    found = []
    for a in operands:
        if not hasattr(a, "strides") or not hasattr(a, "dtype"):
            return None
        found.append((type(a), a.dtype, a.shape, a.strides))
    return tuple(found)


def same(key: tuple, arrays) -> bool:
    """Whether arrays have types, extents and strides of a signature's operands: nothing was converted."""
    return key[-1] == _lies(arrays)


def find(key: tuple | None) -> Repeat | None:
    """The call with a signature."""
    return _calls.get(key) if key else None


def keep(key: tuple, call: Repeat) -> None:
    if len(_calls) >= KEPT:
        _calls.pop(next(iter(_calls)), None)
    _calls[key] = call
