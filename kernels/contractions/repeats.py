"""Calls of `contract` that come again: a step of a solver repeats its texts with arrays of the same types and extents.

The first call reads the text, promotes types, finds extents and plans. Where its arrays went to the kernel as they
are, or as contiguous copies, the next call with the same signature binds its arrays to the same plan, and nothing
else. So it is for einsum's strings and for statements.
Plans read neither numbers nor addresses, so a signature has all that a plan depends on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .result_order import turned

KEPT = 256  # calls


class View(NamedTuple):
    """How a kernel has an array of a call, as the array's shape and strides decide it."""

    axes: tuple[int, ...]  # dimensions that are left, in the kernel's order
    first: tuple[int, ...] = ()  # dimensions of which the first number alone is read
    diagonals: tuple[tuple[int, int], ...] = ()  # two dimensions that become one, the last, one pair after the other

    def of(self, array):
        """The view of an array."""
        if self.first:
            array = array[tuple(0 if axis in self.first else slice(None) for axis in range(array.ndim))]
        for one, other in self.diagonals:
            array = array.diagonal(0, one, other)
        return turned(array, self.axes)


class New(NamedTuple):
    """An output that is not given."""

    name: str
    shape: tuple[int, ...]  # in memory
    axes: tuple[int, ...]  # dimensions of the view that is returned


class Repeat(NamedTuple):
    """A call without what depends on its arrays' numbers and places."""

    plan: Any  # Contraction or ComplexContraction
    given: tuple[tuple[str, View], ...]  # arrays in their order
    copied: tuple[str, ...]  # of inputs that the kernel reads from a contiguous copy
    new: tuple[New, ...]
    results: tuple[str, ...]  # names of all outputs, in the text's order
    n: int  # entries of the batch
    dtype: np.dtype  # of outputs

    def values(self, given):
        """The outputs: one, or a tuple. given: arrays in their order."""
        backend = self.plan.backend
        arrays, results = {}, {}
        for (name, view), array in zip(self.given, given):
            arrays[name], results[name] = view.of(array), array
        for name in self.copied:
            arrays[name] = backend.arrays.ascontiguousarray(arrays[name])
        for name, shape, axes in self.new:
            arrays[name] = backend.empty(shape, self.dtype)
            results[name] = turned(arrays[name], axes)

        self.plan.bind(arrays, self.n)()
        found = tuple(results[name] for name in self.results)
        return found[0] if len(found) == 1 else found


class Lie(NamedTuple):
    """An array without its numbers and its place."""

    kind: type
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes


_calls: dict[tuple, Repeat] = {}


def signature(text: str, arrays, backend, options: tuple) -> tuple | None:
    """A key for a call: equal where two calls differ in the numbers and addresses of their arrays alone. None if an
    array is a number or a list."""
    if not all(hasattr(a, "strides") and hasattr(a, "dtype") for a in arrays):
        return None
    return text, backend, options, lies(arrays)


def lies(arrays) -> tuple[Lie, ...]:
    return tuple(Lie(type(a), a.dtype, a.shape, a.strides) for a in arrays)


def find(key: tuple | None) -> Repeat | None:
    """The call with a signature."""
    return _calls.get(key) if key else None


def keep(key: tuple | None, views: dict, taken: dict, call: Repeat) -> None:
    """Keeps a call, if the kernel takes views of the arrays, or contiguous copies of views, in the caller's types.

    views: of the caller's arrays, by the call's names. taken: what the kernel takes for each. Copies beside an output
    that is given are not kept: `bind` would not see that the caller's arrays share memory.
    """
    if key is None:
        return
    names = [name for name, _ in call.given]
    came, now = lies(views[name] for name in names), lies(taken[name] for name in names)
    if [x[:2] for x in key[-1]] != [x[:2] for x in now] or [x.shape for x in came] != [x.shape for x in now]:
        return

    copied = tuple(name for name, x, y in zip(names, came, now) if x.strides != y.strides)
    if copied and set(call.results) & set(names):
        return
    while len(_calls) >= KEPT:
        _calls.pop(list(_calls)[0], None)
    _calls[key] = call._replace(copied=copied)
