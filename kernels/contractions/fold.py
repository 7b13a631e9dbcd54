"""How a product of two arrays folds to matrix products: out[m n] = sum over k of left[m k] right[k n], for each batch.

Every index belongs to one of four groups, by the arrays that have it:

    m: out and left        n: out and right        k: left and right, summed        batch: all three

Indices that lie side by side in the same order in all arrays of their group are joined to one axis. Where each group is
one axis, and each array runs along memory by one of its two axes, the product is a call of a matrix library without any
copy. Otherwise some axes become loops over calls, or some arrays are copied to another order: `ways` lists both.

    f = fold({"a": 4, "b": 5, "c": 6, "d": 7}, dense("abc", x), dense("bda", x), dense("dc", x))
    f.m, f.n, f.k, f.batch         axes, from slow to fast in the output (k: in the left array)
    ways(f)                        each a Way: m, n, k of a call, loops around it, copies before and after it

Steps are in numbers, not bytes. Nothing here knows a device.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .plan import Unable

OUT, LEFT, RIGHT = 0, 1, 2  # places in Axis.step
ARRAYS = ("the output", "the left factor", "the right factor")
HAVE = {"m": (OUT, LEFT), "n": (OUT, RIGHT), "k": (LEFT, RIGHT), "batch": (OUT, LEFT, RIGHT)}  # arrays of a group


class Axis(NamedTuple):
    """An index, or several that all arrays of the group step through as through one."""

    indices: tuple[str, ...]  # the slowest first; () for an axis of a group without indices
    extent: int
    step: tuple[int, int, int]  # in out, left, right; 0: the array does not have the axis


class Fold(NamedTuple):
    """The four groups of a product of two arrays. Axes of extent 1 are left out."""

    m: tuple[Axis, ...]
    n: tuple[Axis, ...]
    k: tuple[Axis, ...]
    batch: tuple[Axis, ...]
    extents: dict[str, int]  # of each index
    steps: tuple[dict[str, int], ...]  # of each index, in out, left, right

    def group(self, name: str) -> tuple[Axis, ...]:
        """The axes of "m", "n", "k" or "batch"."""
        return getattr(self, name)

    def size(self, name: str) -> int:
        """The product of a group's extents."""
        return math.prod(axis.extent for axis in self.group(name))

    def numbers(self, array: int) -> int:
        """How many numbers of an array the product reads or writes."""
        return math.prod(self.size(name) for name, arrays in HAVE.items() if array in arrays)

    def order(self, array: int) -> tuple[tuple[str, Axis], ...]:
        """(group, axis) of all axes of an array, the slowest first."""
        found = [(name, axis) for name in HAVE if array in HAVE[name] for axis in self.group(name)]
        return tuple(sorted(found, key=lambda pair: -abs(pair[1].step[array])))


def exchanged(f: Fold) -> Fold:
    """The product with its factors exchanged."""

    def turned(axes):
        return tuple(axis._replace(step=(axis.step[OUT], axis.step[RIGHT], axis.step[LEFT])) for axis in axes)

    out, left, right = f.steps
    m, n, k, batch = map(turned, (f.n, f.m, f.k, f.batch))
    return Fold(m, n, k, batch, f.extents, (out, right, left))


def dense(indices: Sequence[str], extents: Mapping[str, int]) -> dict[str, int]:
    """The step of each index of a contiguous array, the slowest first. An index that stands twice adds both steps."""
    found: dict[str, int] = {}
    step = 1

    for index in reversed(indices):
        found[index] = found.get(index, 0) + step
        step *= extents[index]

    return found


def roles(out, left, right) -> dict[str, str]:
    """The group of each index. Raises Unable for an index of one array only."""
    found: dict[str, str] = {}
    for index in dict.fromkeys((*out, *left, *right)):
        have = tuple(place for place, array in enumerate((out, left, right)) if index in array)
        names = [name for name, arrays in HAVE.items() if arrays == have]
        if not names:
            raise Unable(f"no index of {ARRAYS[have[0]]} alone, such as '{index}'")
        found[index] = names[0]

    return found


def fold(extents: Mapping[str, int], out: Mapping[str, int], left: Mapping[str, int], right: Mapping[str, int]) -> Fold:
    """The groups of a product. out, left, right: the step of each index of an array.

    Raises Unable for an index of one array only: a factor's own index has to be summed before.
    """
    steps = (dict(out), dict(left), dict(right))
    group_of = roles(out, left, right)

    groups = {}
    for name, arrays in HAVE.items():
        indices = [index for index, group in group_of.items() if group == name]
        groups[name] = _joined(indices, extents, steps, arrays)

    return Fold(**groups, extents={index: extents[index] for index in group_of}, steps=steps)


def _joined(indices, extents, steps, arrays) -> tuple[Axis, ...]:
    """The axes of a group for the arrays whose order counts, from slow to fast in the first of them."""
    first = steps[arrays[0]]
    axes: list[Axis] = []

    for index in sorted(indices, key=lambda i: -abs(first[i])):
        if extents[index] == 1:
            continue
        fast = Axis((index,), extents[index], _steps_of(index, steps, arrays))

        if axes and all(axes[-1].step[a] == fast.step[a] * fast.extent for a in arrays):
            slow = axes.pop()
            fast = Axis(slow.indices + fast.indices, slow.extent * fast.extent, fast.step)

        axes.append(fast)

    return tuple(axes)


def _steps_of(index: str, steps, arrays) -> tuple[int, int, int]:
    """The steps of an index in out, left and right; 0 in arrays whose order does not count."""
    out, left, right = (steps[a].get(index, 0) if a in arrays else 0 for a in (OUT, LEFT, RIGHT))
    return out, left, right


# ---- calls of a matrix library --------------------------------------------------------------------------------------


class Move(NamedTuple):
    """A loop of a copy."""

    extent: int
    source: int  # step in the array that is read
    target: int  # step in the array that is written


class Scale(NamedTuple):
    """How a result is written: out = number * result; with `add`, out += number * result."""

    number: float = 1.0
    add: bool = False


AS_IT_IS = Scale()


class Way(NamedTuple):
    """A product by calls of a matrix library. Steps of arrays that are copied are steps of the copies."""

    m: Axis  # of a call; extent 1 where the group has no axis
    n: Axis
    k: Axis
    loops: tuple[Axis, ...]  # over calls that do not depend on each other, the slowest first
    sums: tuple[Axis, ...]  # over calls that add to the same output
    copied: tuple[bool, bool, bool]  # out, left, right
    copies: tuple[tuple[Move, ...], ...]  # of out, left, right: from the array to its copy; () if there is none

    @property
    def calls(self) -> int:
        """Matrix products."""
        return math.prod(axis.extent for axis in (*self.loops, *self.sums))


ONE = Axis((), 1, (0, 0, 0))


def ways(f: Fold) -> list[Way]:
    """Every way to do a product by calls of a matrix library, from the fewest copied arrays to the most."""
    found: list[Way] = []
    for copied in sorted(itertools.product((False, True), repeat=3), key=sum):
        found += _ways(f, copied)
    return found


def _ways(f: Fold, copied) -> Iterator[Way]:
    """The ways that copy these arrays."""
    axes = {name: _free(f, name, copied) for name in HAVE}
    choices = [[(axis, *_without(axes[name], axis)) for axis in axes[name] or (ONE,)] for name in ("m", "n", "k")]

    for (m, *more_m), (n, *more_n), (k, *sums) in itertools.product(*choices):
        loops = _slow_first((*axes["batch"], *more_m, *more_n), copied)
        inner = {"m": m, "n": n, "k": k}
        if not all(copied[array] or _served(array, inner) for array in (OUT, LEFT, RIGHT)):
            continue
        for orders in itertools.product(*(_inner_orders(f, inner, array, copied) for array in (OUT, LEFT, RIGHT))):
            yield _laid_out(f, inner, loops, tuple(sums), copied, orders)


def _without(axes, axis) -> list[Axis]:
    return [other for other in axes if other is not axis]


def _free(f: Fold, name: str, copied) -> tuple[Axis, ...]:
    """The axes of a group for the arrays that are not copied. Where all are copied, it is one axis."""
    arrays = HAVE[name]
    kept = tuple(array for array in arrays if not copied[array])
    indices = [index for axis in f.group(name) for index in axis.indices]
    if kept or not indices:
        return _joined(indices, f.extents, f.steps, kept or arrays)

    # The order of the largest array makes its copy the cheapest.
    largest = max(arrays, key=f.numbers)
    ordered = sorted(indices, key=lambda i: -abs(f.steps[largest][i]))
    return (Axis(tuple(ordered), f.size(name), (0, 0, 0)),)


def _slow_first(axes, copied) -> tuple[Axis, ...]:
    """Loops with the slowest first, by the steps of the arrays that are not copied, the output before the others."""
    return tuple(sorted(axes, key=lambda axis: tuple(-abs(step) for step in axis.step)))


def _matrix(array: int) -> tuple[str, str]:
    """The groups that are rows and columns of an array."""
    first, second = (name for name in ("m", "n", "k") if array in HAVE[name])
    return first, second


def _served(array: int, inner) -> bool:
    """Whether a matrix library reads an array as it lies: numbers of a row or of a column side by side."""
    rows, columns = (inner[name] for name in _matrix(array))
    return _along(rows, columns, array) or _along(columns, rows, array)


def _along(fast: Axis, slow: Axis, array: int) -> bool:
    """Whether `fast` runs along memory, and lines of `slow` do not overlap."""
    if fast.extent > 1 and fast.step[array] != 1:
        return False
    return slow.extent == 1 or slow.step[array] >= fast.extent


def _laid_out(f: Fold, inner, loops, sums, copied, orders) -> Way:
    """A way with the steps of its copies: loops outside, the matrix inside. orders: groups of each copied array."""
    axes = [*loops, *sums, *inner.values()]
    outside = len(loops) + len(sums)
    copies: list[tuple[Move, ...]] = [(), (), ()]

    for array in (OUT, LEFT, RIGHT):
        if copied[array]:
            order = [place for place in range(outside) if _has(f, axes[place], array)]
            order += [outside + "mnk".index(name) for name in orders[array]]
            axes = _with_steps(axes, order, array)
            copies[array] = _moves(f, [axes[place] for place in order], array)

    m, n, k = axes[outside:]
    return Way(m, n, k, tuple(axes[: len(loops)]), tuple(axes[len(loops) : outside]), copied, tuple(copies))


def _has(f: Fold, axis: Axis, array: int) -> bool:
    return bool(axis.indices) and axis.indices[0] in f.steps[array]


def _inner_orders(f: Fold, inner, array: int, copied) -> list[tuple[str, str]]:
    """Rows and columns of a copy, the group that runs along memory last: first that of the array's fastest index. The
    copy of a factor may also have the other one there, as it suits the library better."""
    rows, columns = _matrix(array)
    if not copied[array]:
        return [(rows, columns)]

    def fastest(name):
        return min((abs(f.steps[array][i]) for i in inner[name].indices), default=math.inf)

    near = (columns, rows) if fastest(rows) < fastest(columns) else (rows, columns)
    return [near] if array == OUT else [near, near[::-1]]


def _with_steps(axes, order, array: int) -> list[Axis]:
    """The axes with the steps of a contiguous copy of an array."""
    made, step = list(axes), 1
    for place in reversed(order):
        steps = list(made[place].step)
        steps[array] = step
        made[place] = made[place]._replace(step=tuple(steps))
        step *= made[place].extent

    return made


def _moves(f: Fold, axes, array: int) -> tuple[Move, ...]:
    """The loops of the copy of an array, joined; axes: of the copy, the slowest first."""
    moves: list[Move] = []
    for axis in axes:
        step = axis.step[array] * axis.extent
        for index in axis.indices:
            step //= f.extents[index]
            moves.append(Move(f.extents[index], f.steps[array][index], step))

    return collapsed(moves)


def collapsed(moves) -> tuple[Move, ...]:
    """Two loops of a copy, the slowest first, become one where both arrays step through them as through one."""
    made: list[Move] = []
    for move in moves:
        if move.extent == 1:
            continue
        slow = made[-1] if made else None

        if slow and slow.source == move.source * move.extent and slow.target == move.target * move.extent:
            made[-1] = Move(slow.extent * move.extent, move.source, move.target)
        else:
            made.append(move)

    return tuple(made)
