"""Calls of `contract` that come again: a step of a solver repeats its texts with arrays of the same types and extents.

The first call reads the text, promotes types, finds extents and plans. Where its arrays went to the kernel as they
are, or as contiguous copies, the next call with the same signature binds its arrays to the same plan, and nothing
else. So it is for einsum's strings and for statements.
Plans read neither numbers nor addresses, so a signature has all that a plan depends on.

The last call of a string is tried first: C looks whether the arrays lie as they did, and starts the kernel; on a device
the launches of before are queued again.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ..engine.backend import array_calls
from ..engine.timers import contexts, is_timing
from ..engine.values import EXACT
from . import quick, quick_device
from .arrays import NUMBERS, as_arrays, check_written, converted
from .result_order import turned

KEPT = 256  # calls
ALIGNMENTS = 4  # of outputs that are given, for which launches are kept
SMALL = 1 << 15  # bytes
USUAL = (None, None, True, "K", None)  # options of `contract` for a string: batch, how, no output, order, dtype
USUAL_GIVEN = (None, None, False, "K", None)
NUMERIC = "biufc"  # kinds of types


class View(NamedTuple):
    """How a kernel has an array of a call, as the array's shape and strides decide it."""

    axes: tuple[int, ...]  # dimensions that are left, in the kernel's order
    first: tuple[int, ...] = ()  # dimensions of which the first number alone is read
    diagonals: tuple[tuple[int, int], ...] = ()  # two dimensions that become one, the last, one pair after the other

    @property
    def is_plain(self) -> bool:
        """Whether it is the array itself."""
        return self == View(tuple(range(len(self.axes))))

    def of(self, array):
        """The view of an array."""
        if not self.first and not self.diagonals:
            return turned(array, self.axes)
        if self.first:
            firsts = (0 if axis in self.first else slice(None) for axis in range(array.ndim))
            array = array[(*firsts, ...)]  # without the ellipsis an array of one number becomes a number
        for one, other in self.diagonals:
            array = array.diagonal(0, one, other)
        return turned(array, self.axes)


def diagonals(indices) -> tuple[tuple[tuple[int, int], ...], list[str]]:
    """(diagonals of a View, indices that are left) of an array's indices, some of which stand twice."""
    pairs, left = [], [*indices]
    for index in dict.fromkeys(indices):
        while left.count(index) > 1:
            one = left.index(index)
            other = left.index(index, one + 1)
            pairs.append((one, other))  # the diagonal is the last dimension
            del left[other], left[one]
            left.append(index)
    return tuple(pairs), left


class New(NamedTuple):
    """An output that is not given."""

    name: str
    shape: tuple[int, ...]  # in memory
    axes: tuple[int, ...]  # dimensions of the view that is returned


@dataclasses.dataclass
class Repeat:
    """A call without what depends on its arrays' numbers and places."""

    plan: Any  # Contraction or ComplexContraction
    given: tuple[tuple[str, View], ...]  # arrays in their order
    new: tuple[New, ...]
    results: tuple[str, ...]  # names of all outputs, in the text's order
    n: int  # entries of the batch
    dtype: np.dtype  # of outputs
    copied: tuple[tuple[str, np.dtype], ...] = ()  # inputs that the kernel reads from contiguous copies, of a type
    result: np.dtype | None = None  # type that new outputs get afterwards; None: they have it
    apart: bool = False  # the last array that comes is an output, which gets the numbers of the new one
    run: Any = None  # the launch for arrays in their order, new ones last; None: bound each time
    quick: Any = None  # result(string, arrays in their order): None where they lie otherwise; None: there is no such
    others: tuple = ()  # functions like `quick`, for outputs that begin elsewhere in a cache line
    came: tuple = ()  # how the caller's arrays lie, see `lies`

    def values(self, given):
        """The outputs: one, or a tuple. given: arrays in their order."""
        if is_timing():
            return self._values(given, None)  # timers watch what is bound
        functions = [self.quick, *self.others]
        for place, known in enumerate(functions):
            found = known and known(None, *given)
            if found is None:
                continue
            if place:
                self.quick, self.others = known, (*functions[:place], *functions[place + 1 :])
            return found
        return self._values(given, self.run)

    def _values(self, given, run):
        """The outputs. run: the launch; None: bound."""
        if self.apart:
            *given, out = given
            names = [name for name, _ in self.given]
            check_written(out, dict(zip(names, given)), self.plan.backend)
            out[...] = self.by(given, run)
            return out
        found = self.by(given, run)
        return found if self.result is None else found.astype(self.result)

    def by(self, given, run):
        """The outputs. run: the launch; None: bound."""
        if self.is_plain and run:
            out = self._makers[0]()
            run((*given, out))
            return out

        # The arrays that the kernel takes.
        arrays = [*given] if self._as_given else [view.of(array) for (_, view), array in zip(self.given, given)]
        for place, dtype in self.copies:
            arrays[place] = self.copy(place, arrays[place], dtype)
        for make in self._makers:
            arrays.append(make())

        if run:
            run(arrays)
        else:
            self._bind(arrays)

        found = [turned(array, new.axes) for array, new in zip(arrays[len(given) :], self.new)]
        if len(found) == 1 and self._only_new:
            return found[0]
        return self._named(given, found)

    @functools.cached_property
    def is_plain(self) -> bool:
        """Whether the kernel takes the arrays as they came and a new one, which is the result."""
        if len(self.new) != 1 or not self._only_new:
            return False
        turned = self.new[0].axes != tuple(range(len(self.new[0].axes)))
        return self._as_given and not self.copies and not turned

    @functools.cached_property
    def _as_given(self) -> bool:
        """Whether all arrays go to the kernel with their dimensions as they are."""
        return all(view.is_plain for _, view in self.given)

    @functools.cached_property
    def copies(self) -> list[tuple[int, np.dtype]]:
        names = [name for name, _ in self.given]
        return [(names.index(name), dtype) for name, dtype in self.copied]

    def contiguous(self, array, dtype):
        made = self.plan.backend.arrays.ascontiguousarray(array, dtype)
        return made.reshape(array.shape)  # NumPy makes one dimension of none

    def copy(self, place: int, array, dtype):
        """The array that the kernel takes for an array or a number. Raises ArgumentError for whole numbers that the
        type does not hold."""
        kind = type(array)
        if kind in (float, complex):
            return np.asarray(array, dtype)
        if kind is int or array.dtype.kind in "biu":
            known = kind is np.ndarray and 0 <= array_calls.magnitude(array) < EXACT  # it is rounded
            name = self.given[place][0]
            return array.astype(dtype, "C") if known else converted(name, array, self.plan.backend, dtype)
        return self.contiguous(array, dtype)

    @functools.cached_property
    def _makers(self) -> list:
        """A function for each new array. Where small ones begin in a cache line does not count."""
        found = []
        for _, shape, _ in self.new:
            found.append(functools.partial(self.maker(shape), shape, self.dtype))
        return found

    def maker(self, shape):
        """make(shape, dtype)"""
        backend, how = self.plan.backend, getattr(getattr(self.plan, "products", None) or self.plan, "how", None)
        on_lines = how is None or how.ON_LINES
        small = math.prod(shape) * self.dtype.itemsize < SMALL or not on_lines
        return np.empty if small and backend.memory == "host" else backend.empty

    @functools.cached_property
    def _only_new(self) -> bool:
        """Whether the results are all the new arrays, in their order."""
        return tuple(name for name, *_ in self.new) == self.results

    def _named(self, given, new):
        """The outputs, where some were given."""
        results = {name: array for (name, _), array in zip(self.given, given)}
        results |= {name: array for (name, *_), array in zip(self.new, new)}
        found = tuple(results[name] for name in self.results)
        return found[0] if len(found) == 1 else found

    def _bind(self, arrays) -> None:
        held = self._held(arrays)
        self.plan.bind(held, self.n)()
        if self.quick and len(self.others) + 1 < ALIGNMENTS and not is_timing():
            self.others = (*self.others, self.quick)
            self.prepare(held)

    def _held(self, arrays) -> dict:
        """Arrays in their order by name."""
        return {name: array for (name, *_), array in zip((*self.given, *self.new), arrays)}

    def prepare(self, held) -> None:
        """Finds the launch. held: the arrays of a run, by name. A CPU's outputs that are given may be read-only in a
        later call: the launch alone does not see that."""
        names = [name for name, *_ in (*self.given, *self.new)]
        run = self.plan.again({name: held[name] for name in names}, self.n)
        if self._only_new or self.plan.backend.memory == "device":
            self.run = quick.by_c(self, run, [held[name] for name in names]) if self._only_new else run
        has_types = all(dtype and dtype.kind in NUMERIC for _, dtype, *_ in self.came)
        is_usual = has_types and self.result is None and not self.apart
        if not run or not is_usual or len(self.results) != 1:
            return
        if self.plan.backend.memory == "host":
            self.quick = quick.function(self, run, [held[name] for name in names])
        else:
            self.quick = quick_device.function(self, run)


class Kept:
    """The calls that are kept."""

    def __init__(self):
        self.calls: dict[tuple, Any] = {}  # by their signatures
        # `quick` of the last call with a text and options: by the text if they are USUAL, else by (text, backend,
        # options)
        self.last: dict[Any, Any] = {}
        self.views: dict[str, Any] = {}  # the same of einsum's strings whose results are views of the operand


kept = Kept()


def signature(text: str, arrays, backend, options: tuple) -> tuple | None:
    """A key for a call: equal where two calls differ in the numbers and addresses of their arrays alone. None if an
    array is a list, or an option has no hash."""
    try:
        hash((backend, options))
        return text, backend, options, lies(arrays)
    except (AttributeError, TypeError):
        return None


def lies(arrays) -> tuple:
    """(type, type of numbers, shape, strides in bytes) of each array; a number of Python's has none of a type. Raises
    AttributeError if one is no array."""
    return tuple(
        [(kind, None, (), ()) if (kind := type(a)) in NUMBERS else (kind, a.dtype, a.shape, a.strides) for a in arrays]
    )


def as_before(text: str, arrays, backend, options) -> Any:
    """The result, if a call with the text and these options had arrays that lie as these do; else None.

    arrays: in the text's order; an output that is given comes last.
    """
    try:
        hash(options)
    except TypeError:
        return None  # such as an array by the name of an option, which is refused later

    usual = backend is None and options == USUAL
    found = again((text, *arrays), text if usual else (text, backend, options))
    if found is not None:
        return found
    call = find(signature(text, arrays, backend, options))
    return call and call.values(arrays)


def again(operands, key) -> Any:
    """The result of a text and its operands, if they lie as in the last call with it; else None. operands: the text in
    front. key: of Kept.last."""
    if contexts:
        return None
    try:
        quick = kept.last.get(key)
        found = quick and quick(*operands)
        return as_arrays_by(quick, operands) if quick and found is None else found
    except (TypeError, IndexError):
        return None  # another number of operands, an option without a hash


def as_arrays_by(quick, operands):
    """The result by `quick` of operands such as lists, as arrays; None: there are none, or they lie otherwise."""
    text, *given = operands
    arrays = as_arrays(given)
    return None if arrays is given else quick(text, *arrays)


def of_string(operands) -> Repeat | None:
    """The call of a string and its operands without options, as `contract` keeps it."""
    try:
        key = operands[0], None, USUAL, lies(operands[1:])
        return find(key)
    except (AttributeError, TypeError, IndexError):
        return None


def find(key: tuple | None) -> Any:
    """The call with a signature."""
    call = kept.calls.get(key) if key else None
    if key and call and call.quick:
        _remember(key, call)
    return call


def _remember(key: tuple, call: Repeat) -> None:
    """Has `again` try a call first."""
    text, backend, options, _ = key
    usual = backend is None and options == USUAL
    _put(kept.last, text if usual else (text, backend, options), call.quick)


def try_first(text: str, quick) -> None:
    """Has `again` try a function first, for a string whose result is new."""
    _put(kept.last, text, quick)


def try_view(text: str, quick) -> None:
    """Has einsum try a function first, for a string whose result is a view."""
    _put(kept.views, text, quick)


def _put(last: dict, key: str | tuple, quick) -> None:
    if len(last) >= KEPT:
        last.clear()
    last[key] = quick


def keep(key: tuple | None, views: dict, taken: dict, call: Repeat) -> None:
    """Keeps a call, if the kernel takes views of the arrays, or contiguous copies of views. Kinds of arrays that are
    made others are looked at in each call.

    views: of the caller's arrays, by the call's names. taken: what the kernel takes for each, and new outputs. Copies
    beside an output that is given are not kept: `bind` would not see that the caller's arrays share memory.
    """
    if key is None:
        return
    names = [name for name, _ in call.given]
    came, now = lies(views[name] for name in names), lies(taken[name] for name in names)
    for (kind, dtype, before, _), (kind_now, dtype_now, shape, _) in zip(came, now):
        if before != shape or not dtype_now or (dtype and kind is not kind_now):
            return

    copied = tuple((name, y[1]) for name, x, y in zip(names, came, now) if x[1] is None or x[1:4:2] != y[1:4:2])
    if copied and set(call.results) & set(names):
        return
    put(key, dataclasses.replace(call, copied=copied, came=key[-1])).prepare(taken)


def put(key: tuple, call):
    """Keeps a call by its signature. The oldest one may go."""
    while len(kept.calls) >= KEPT:
        kept.calls.pop(list(kept.calls)[0], None)
    kept.calls[key] = call
    return call
