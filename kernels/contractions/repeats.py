"""Calls of `contract` that come again: a step of a solver repeats its texts with arrays of the same types and extents.

The first call reads the text, promotes types, finds extents and plans. Where its arrays went to the kernel as they are,
or as contiguous copies, the next call with the same signature binds its arrays to the same plan, and nothing else.
Plans read neither numbers nor addresses, so a signature has all that a plan depends on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

KEPT = 256  # calls


class Repeat(NamedTuple):
    """A call without what depends on its arrays' numbers and places."""

    plan: Any  # Contraction or ComplexContraction
    names: tuple[str, ...]  # of the operands, in their order
    copied: tuple[str, ...]  # of the operands that the kernel reads from a contiguous copy
    shape: tuple[int, ...]  # of the result
    n: int  # entries of the batch
    dtype: np.dtype  # of the result

    def values(self, given):
        """The result. given: the operands, then the array to write; without that, a new array is written."""
        backend = self.plan.backend
        arrays = dict(zip(self.names, given))
        for name in self.copied:
            arrays[name] = backend.arrays.ascontiguousarray(arrays[name])

        new = len(given) == len(self.names)
        arrays["out"] = out = backend.empty(self.shape, self.dtype) if new else given[-1]
        self.plan.bind(arrays, self.n)()
        return out


class Lie(NamedTuple):
    """An array without its numbers and its place."""

    kind: type
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes


_calls: dict[tuple, Repeat] = {}


def signature(text: str, operands, backend, options: tuple) -> tuple | None:
    """What two calls have in common that differ in numbers and places alone; None if an operand is a number or list."""
    if not all(hasattr(a, "strides") and hasattr(a, "dtype") for a in operands):
        return None
    return text, backend, options, lies(operands)


def lies(arrays) -> tuple[Lie, ...]:
    return tuple(Lie(type(a), a.dtype, a.shape, a.strides) for a in arrays)


def find(key: tuple | None) -> Repeat | None:
    """The call with a signature."""
    return _calls.get(key) if key else None


def keep(key: tuple | None, taken, plan, shape, n: int, dtype) -> None:
    """Keeps a call, if the kernel takes the arrays as they came or contiguous copies, no other types and no parts.

    taken: what the kernel reads, by the operands' names, and "out" if it writes the caller's array. Copies beside such
    an array are not kept: `bind` would not see that the caller's arrays share memory.
    """
    now = lies(taken.values())
    if key is None or [x[:3] for x in now] != [x[:3] for x in key[-1]]:
        return

    copied = [name for name, x, came in zip(taken, now, key[-1]) if x.strides != came.strides]
    if copied and "out" in taken:
        return
    names = tuple(name for name in taken if name != "out")
    while len(_calls) >= KEPT:
        _calls.pop(list(_calls)[0], None)
    _calls[key] = Repeat(plan, names, tuple(copied), shape, n, dtype)
