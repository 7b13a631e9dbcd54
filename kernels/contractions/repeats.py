"""Calls of `contract` that come again: a step of a solver repeats its texts with arrays of the same types and extents.

The first call reads the text, promotes types, finds extents and plans. Where its arrays went to the kernel as they
are, or as contiguous copies, the next call with the same signature binds its arrays to the same plan, and nothing
else. So it is for einsum's strings and for statements.
Plans read neither numbers nor addresses, so a signature has all that a plan depends on.

The last call of a string is tried first: C looks whether the arrays lie as they did, and starts the kernel.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ..engine.backend import array_calls
from ..engine.timers import contexts, is_timing
from .result_order import turned

KEPT = 256  # calls
SMALL = 1 << 15  # bytes
USUAL = (None, None, True, "K")  # options of `contract` for a string: batch, how, no output, order
USUAL_GIVEN = (None, None, False, "K")


class View(NamedTuple):
    """How a kernel has an array of a call, as the array's shape and strides decide it."""

    axes: tuple[int, ...]  # dimensions that are left, in the kernel's order
    first: tuple[int, ...] = ()  # dimensions of which the first number alone is read
    diagonals: tuple[tuple[int, int], ...] = ()  # two dimensions that become one, the last, one pair after the other

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
    run: Any = None  # the launch for arrays in their order, new ones last; None: bound each time
    quick: Any = None  # result(string, arrays in their order): None where they lie otherwise; None: there is no such

    def values(self, given):
        """The outputs: one, or a tuple. given: arrays in their order."""
        return self._values(given, None if is_timing() else self.run)  # timers watch what is bound

    def _values(self, given, run):
        """The outputs. run: the launch; None: bound."""
        if self._is_plain and run:
            out = self._makers[0]()
            run((*given, out))
            return out

        # The arrays that the kernel takes.
        arrays = [*given] if self._as_given else [view.of(array) for (_, view), array in zip(self.given, given)]
        for place, dtype in self._copies:
            arrays[place] = self._contiguous(arrays[place], dtype)
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
    def _is_plain(self) -> bool:
        """Whether the kernel takes the arrays as they came and a new one, which is the result."""
        if len(self.new) != 1 or not self._only_new:
            return False
        turned = self.new[0].axes != tuple(range(len(self.new[0].axes)))
        return self._as_given and not self._copies and not turned

    @functools.cached_property
    def _as_given(self) -> bool:
        """Whether all arrays go to the kernel with their dimensions as they are."""
        return all(view == View(tuple(range(len(view.axes)))) for _, view in self.given)

    @functools.cached_property
    def _copies(self) -> list[tuple[int, np.dtype]]:
        names = [name for name, _ in self.given]
        return [(names.index(name), dtype) for name, dtype in self.copied]

    def _contiguous(self, array, dtype):
        made = self.plan.backend.arrays.ascontiguousarray(array, dtype)
        return made.reshape(array.shape)  # NumPy makes one dimension of none

    @functools.cached_property
    def _makers(self) -> list:
        """A function for each new array. Where small ones begin in a cache line does not count."""
        found = []
        for _, shape, _ in self.new:
            found.append(functools.partial(self._maker(shape), shape, self.dtype))
        return found

    def _maker(self, shape):
        """make(shape, dtype)"""
        backend = self.plan.backend
        small = backend.memory == "host" and math.prod(shape) * self.dtype.itemsize < SMALL
        return np.empty if small else backend.empty

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
        self.plan.bind(self._held(arrays), self.n)()

    def _held(self, arrays) -> dict:
        """Arrays in their order by name."""
        return {name: array for (name, *_), array in zip((*self.given, *self.new), arrays)}

    def prepare(self, key, held) -> None:
        """Finds the launch. key: the signature. held: the arrays of a run, by name. A CPU's outputs that are given may
        be read-only in a later call: the launch alone does not see that."""
        names = [name for name, *_ in (*self.given, *self.new)]
        run = self.plan.again({name: held[name] for name in names}, self.n)
        if self._only_new or self.plan.backend.memory == "device":
            self.run = run
        if run and self.plan.backend.memory == "host" and len(self.results) == 1:
            self.quick = self._quick(key[-1], run, [held[name] for name in names])

    def _quick(self, came, run, held):
        """See `quick`. came: lies of the caller's arrays. run: the launch. held: the arrays of a run."""
        lies = []
        for (kind, dtype, shape, strides), (name, _), array in zip(came, self.given, held):
            if kind is not np.ndarray:
                return None
            written = name in self.results
            on_line = int(array.ctypes.data % array_calls.LINE == 0) if written else -1
            lies.append(array_calls.Lie(dtype, shape, strides, on_line, written))
        launched = isinstance(run, array_calls.cpu.Again)
        if self.copied:
            return self._copied_first(
                array_calls.prepared(lies, None), self._launch(held, run) if launched else None, run
            )
        if launched:
            lies += self._new_lies()

        call = array_calls.prepared(lies, run)
        if call is None:
            return None
        return self._launched_new(call) if launched and self.new else self._looked_at(call, None if launched else run)

    def _new_lies(self) -> list[array_calls.Lie]:
        """How the results lie."""
        steps = [np.empty(new.shape, self.dtype).strides for new in self.new]
        return [array_calls.Lie(self.dtype, new.shape, step) for new, step in zip(self.new, steps)]

    def _launch(self, held, run):
        """The launch of the arrays that the kernel takes, and a new one."""
        taken = [array_calls.Lie(a.dtype, a.shape, a.strides) for a in held[: len(self.given)]]
        return array_calls.prepared([*taken, *self._new_lies()], run)

    def _copied_first(self, seen, launched, run):
        """quick(string, arrays): a result in a new array, from contiguous copies of some arrays. seen, launched: the
        calls that look at the caller's arrays and launch the kernel's; None: there is no such."""
        if seen is None or launched is None:
            return seen and self._looked_at(seen, run)

        look, told, keep = seen
        launch, told_launch, keep_launch = launched
        (_, shape, axes), dtype = self.new[0], self.dtype
        rises = axes == tuple(range(len(axes)))
        new, kinds, count = self._maker(shape), {np.ndarray}, len(self.given)
        takes = [self._taking(place) for place in range(count)]

        def of_all(_, *arrays, keep=(keep, keep_launch)):
            if len(arrays) != count or {*map(type, arrays)} != kinds or look(told, *map(id, arrays)):
                return None
            out = new(shape, dtype)
            taken = [take(array) if take else array for take, array in zip(takes, arrays)]
            if launch(told_launch, *map(id, taken), id(out)):
                return None
            return out if rises else out.transpose(axes)

        return of_all

    def _taking(self, place: int):
        """What becomes of an array before the kernel takes it: a function; None: nothing."""
        _, view = self.given[place]
        plain = view == View(tuple(range(len(view.axes))))
        dtype = dict(self._copies).get(place)
        if dtype is None:
            return None if plain else view.of
        if plain and view.axes:
            return functools.partial(np.ascontiguousarray, dtype=dtype)
        return lambda array: self._contiguous(view.of(array), dtype)

    def _launched_new(self, call):
        """quick(string, arrays): a kernel's result in a new array."""
        launch, told, keep = call
        (_, shape, axes), dtype, plain = self.new[0], self.dtype, np.ndarray
        rises, count = axes == tuple(range(len(axes))), len(self.given)
        make = self._maker(shape)

        def of_one(_, a, *, keep=keep):
            out = make(shape, dtype)
            if type(a) is not plain or launch(told, id(a), id(out)):
                return None
            return out if rises else out.transpose(axes)

        def of_two(_, a, b, *, keep=keep):
            out = make(shape, dtype)
            if not type(a) is type(b) is plain or launch(told, id(a), id(b), id(out)):
                return None
            return out if rises else out.transpose(axes)

        def of_three(_, a, b, c, *, keep=keep):
            out = make(shape, dtype)
            if not type(a) is type(b) is type(c) is plain or launch(told, id(a), id(b), id(c), id(out)):
                return None
            return out if rises else out.transpose(axes)

        def of_all(_, *arrays, keep=keep):
            out = make(shape, dtype)
            if len(arrays) != count or {*map(type, arrays)} != {plain} or launch(told, *map(id, arrays), id(out)):
                return None
            return out if rises else out.transpose(axes)

        return {1: of_one, 2: of_two, 3: of_three}.get(count, of_all)

    def _looked_at(self, call, run):
        """quick(string, arrays) with a result that is given, the last one; or of a launch `run` that is no kernel."""
        look, told, keep = call
        count, plain, kinds = len(self.given), np.ndarray, {np.ndarray}

        def of_all(_, *arrays, keep=keep):
            if len(arrays) != count or {*map(type, arrays)} != kinds or look(told, *map(id, arrays)):
                return None
            return self._values(arrays, run) if run else arrays[-1]

        if run is None or not self._is_plain or count != 2:
            return of_all
        (_, shape, _), dtype = self.new[0], self.dtype
        make = self._maker(shape)

        def of_two(_, a, b, *, keep=keep):
            if not type(a) is type(b) is plain or look(told, id(a), id(b)):
                return None
            out = make(shape, dtype)
            run((a, b, out))
            return out

        return of_two


class Kept:
    """The calls that are kept."""

    def __init__(self):
        self.calls: dict[tuple, Repeat] = {}  # by their signatures
        # `quick` of the last call with a string, by the string: with a new array as result, with a given one
        self.last: dict[str, Any] = {}
        self.last_given: dict[str, Any] = {}


kept = Kept()


def signature(text: str, arrays, backend, options: tuple) -> tuple | None:
    """A key for a call: equal where two calls differ in the numbers and addresses of their arrays alone. None if an
    array is a number or a list."""
    try:
        return text, backend, options, lies(arrays)
    except AttributeError:
        return None


def lies(arrays) -> tuple:
    """(type, type of numbers, shape, strides in bytes) of each array. Raises AttributeError if one is no array."""
    return tuple([(type(a), a.dtype, a.shape, a.strides) for a in arrays])


def again(operands, out=None):
    """The result of a string and its operands, if they lie as in the last call with it; else None. operands: the string
    in front."""
    if contexts:
        return None
    try:
        if out is None:
            quick = kept.last.get(operands[0])
            return quick and quick(*operands)
        quick = kept.last_given.get(operands[0])
        return quick and quick(*operands, out)
    except (TypeError, IndexError):
        return None


def of_string(operands) -> Repeat | None:
    """The call of a string and its operands without options, as `contract` keeps it."""
    try:
        key = operands[0], None, USUAL, lies(operands[1:])
        return find(key)
    except (AttributeError, TypeError, IndexError):
        return None


def find(key: tuple | None) -> Repeat | None:
    """The call with a signature."""
    if key is None:
        return None
    call = kept.calls.get(key)
    if call and call.quick:
        _remember(key, call)
    return call


def _remember(key: tuple, call: Repeat) -> None:
    """Has `again` try a call first."""
    text, backend, options, _ = key
    if backend is None and options in (USUAL, USUAL_GIVEN):
        last = kept.last if options == USUAL else kept.last_given
        if len(last) >= KEPT:
            last.clear()
        last[text] = call.quick


def keep(key: tuple | None, views: dict, taken: dict, call: Repeat) -> None:
    """Keeps a call, if the kernel takes views of the arrays, or contiguous copies of views. Whole numbers, and kinds of
    arrays that are made others, are looked at in each call.

    views: of the caller's arrays, by the call's names. taken: what the kernel takes for each, and new outputs. Copies
    beside an output that is given are not kept: `bind` would not see that the caller's arrays share memory.
    """
    if key is None:
        return
    names = [name for name, _ in call.given]
    came, now = lies(views[name] for name in names), lies(taken[name] for name in names)
    for (kind, dtype, *_), (_, _, before, _), (kind_now, dtype_now, shape, _) in zip(key[-1], came, now):
        if kind is not kind_now or dtype.kind != dtype_now.kind or before != shape:
            return

    copied = tuple((name, y[1]) for name, x, y in zip(names, came, now) if x[1] != y[1] or x[3] != y[3])
    if copied and set(call.results) & set(names):
        return
    while len(kept.calls) >= KEPT:
        kept.calls.pop(list(kept.calls)[0], None)
    kept.calls[key] = call = dataclasses.replace(call, copied=copied)
    call.prepare(key, taken)
