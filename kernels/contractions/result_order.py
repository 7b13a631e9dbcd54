"""The order of a result's dimensions in memory: the keyword `order` of numpy.einsum.

| order | the result |
|---|---|
| "C" | lies with its last dimension side by side |
| "F" | lies with its first dimension side by side |
| "A" | as "F" if all operands are Fortran contiguous, else as "C" |
| "K" | is a view with its dimensions in any order of memory, without gaps: the order that the model finds cheapest |

A product of matrices writes rows of one factor by columns of the other. A result whose indices alternate between the
factors would be written in short runs, or copied to its order afterwards.
"""

from __future__ import annotations

import math
from typing import Any

from ..engine.errors import ArgumentError
from . import orders
from .expression import Reference, Statement, Term

ORDERS = ("K", "C", "F", "A")
FEW = 1 << 12  # numbers of a result that is too small for its order to count
_RISING = [tuple(range(dimensions)) for dimensions in range(65)]  # NumPy has 64 at most
WORTH = 0.98  # of the time of the order "C", which another order of "K" must not exceed


def checked(order: Any) -> str:
    """The order, which must be in ORDERS. Raises ArgumentError."""
    found = order.upper() if isinstance(order, str) else order
    if found not in ORDERS:
        raise ArgumentError(f"order={order!r}, wanted 'K', 'C', 'F' or 'A'.")
    return found


def candidates(order: str, s: Statement, sizes, operands) -> list[tuple[str, ...]]:
    """Orders of the result's indices in memory, the slowest first, that `order` allows and that are worth a look.

    s: the statement with operands as they lie. operands: arrays as the caller has them.
    """
    out = s.out.indices
    if order == "A":
        order = "F" if all(_runs_first(array) for array in operands) else "C"
    if order == "F":
        return [out[::-1]]
    if order == "C" or math.prod(sizes[i] for i in out) < FEW:
        return [out]
    return list(dict.fromkeys([*_of_largest(s, sizes), out, *_natural(s, sizes)]))


def _runs_first(array) -> bool:
    """Whether an array is Fortran contiguous; numbers are."""
    return not hasattr(array, "flags") or bool(array.flags.f_contiguous)


def _natural(s: Statement, sizes) -> list[tuple[str, ...]]:
    """Orders in which a product writes its result as it computes: batches, rows, columns; batches, columns, rows."""
    (term,) = s.terms
    out = s.out.indices
    left, right = _sides(term, s.out, sizes)

    batches = [i for i in out if i in left and i in right]
    rows = [i for i in left if i in out and i not in right]
    columns = [i for i in right if i in out and i not in left]
    return [(*batches, *rows, *columns), (*batches, *columns, *rows)]


def _of_largest(s: Statement, sizes) -> list[tuple[str, ...]]:
    """The order of the largest factor, if it has all indices of the result: neighbours are read side by side."""
    (term,) = s.terms
    largest = max(term.factors, key=lambda f: math.prod(sizes[i] for i in f.indices), default=None)
    if largest is None or not set(s.out.indices) <= set(largest.indices):
        return []
    return [tuple(i for i in dict.fromkeys(largest.indices) if i in s.out.indices)]


def _sides(term: Term, out: Reference, sizes) -> tuple[list[str], list[str]]:
    """Indices of both factors of the last product, in the order in which they lie; of one factor, and none."""
    parts: tuple = tuple(range(len(term.factors)))
    if len(parts) > 2:
        parts = orders.orders(term, out, sizes, None, False).cheapest[0]

    sides: list[list[str]] = []
    for part in parts:
        indices = [i for leaf in sorted(orders.leaves(part)) for i in term.factors[leaf].indices]
        sides.append(list(dict.fromkeys(indices)))
    return sides[0], sides[1] if len(sides) > 1 else []


def cheapest(orders, planned):
    """The plan of the least time by the model; that of the first order unless another is worth it.

    orders: of the result in memory. planned(order): a plan, with its `seconds`. Raises ArgumentError as it does for
    the first order; another that raises is left out: an organisation that is asked for by name may not serve it.
    """
    best = planned(orders[0])
    most = best.seconds * WORTH
    for order in orders[1:]:
        try:
            other = planned(order)
        except ArgumentError:
            continue
        if other.seconds < most:
            best, most = other, other.seconds
    return best


def axes_in_memory(array) -> tuple[int, ...]:
    """The dimensions of an array from slow to fast, if all strides are positive; else as they are. Dimensions of one
    number stay at their place."""
    axes = list(range(len(array.shape)))
    several = [axis for axis in axes if array.shape[axis] > 1]
    if any(array.strides[axis] <= 0 for axis in several):
        return tuple(axes)

    by_stride = sorted(several, key=lambda axis: -array.strides[axis])
    for place, axis in zip(several, by_stride):
        axes[place] = axis
    return tuple(axes)


def turned(array, axes: tuple[int, ...]):
    """A view with dimensions in another order; the array itself if the order is its own."""
    return array if axes == _RISING[len(axes)] else array.transpose(axes)


def places(order, out) -> tuple[int, ...]:
    """The place of each index of a result in an order of memory: the axes of the view that is returned."""
    return tuple(order.index(i) for i in out)
