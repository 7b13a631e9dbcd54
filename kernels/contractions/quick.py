"""Calls with NumPy's arrays that come again on a CPU, as functions that ask C whether the arrays lie as they did
(engine/backend/array_calls.py). Where C also launches the kernel, such a call of einsum takes 1.5 us beside the work.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..engine.backend import array_calls
from . import scratch

KINDS = {np.ndarray}


def function(call, run, held):
    """quick(string, arrays in their order): the result; None where arrays lie otherwise. None: there is no such
    function.

    call: a repeats.Repeat. run: the launch. held: the arrays of a run.
    """
    if any(kind is not np.ndarray for kind, *_ in call.came):
        return None
    told = [_lie(call, name, lies, array) for (name, _), lies, array in zip(call.given, call.came, held)]
    seen = array_calls.prepared(told, None)
    launch = run.launch if isinstance(run, scratch.InScratch) else run
    if not isinstance(launch, array_calls.cpu.Again):
        return _looked_at(call, seen, run)

    if not call.new:
        launched = array_calls.prepared(told, launch) if launch is run else None
        return _looked_at(call, launched, None) if launched else _looked_at(call, seen, run)

    taken = told
    if call.copied:
        taken = [array_calls.Lie(a.dtype, a.shape, a.strides) for a in held[: len(call.given)]]
    launched = array_calls.prepared([*taken, *_made(call, run)], launch)
    if not seen or not launched:
        return _looked_at(call, seen, run)
    return (
        _copied_first(call, seen, launched, _room(run)) if call.copied else in_a_new_array(call, launched, _room(run))
    )


def by_c(call, run, held):
    """run(arrays in their order), which C launches if it can.

    call: a repeats.Repeat, whose outputs are new. held: the arrays of a run.
    """
    launch = run.launch if isinstance(run, scratch.InScratch) else run
    if not isinstance(launch, array_calls.cpu.Again):
        return run
    taken = [array_calls.Lie(a.dtype, a.shape, a.strides) for a in held[: len(call.given)]]
    launched = array_calls.prepared([*taken, *_made(call, run)], launch)
    if not launched:
        return run
    function, told, keep = launched
    room = _room(run)

    def run_by_c(arrays, keep=keep) -> None:
        made = (room(),) if room else ()
        if function(told, *map(id, arrays), *map(id, made)):
            run(arrays)

    return run_by_c


def _lie(call, name: str, lies, array) -> array_calls.Lie:
    """How an array of the caller's lies. array: as the kernel takes it."""
    _, dtype, shape, strides = lies
    written = name in call.results
    on_line = int(array.ctypes.data % array_calls.LINE == 0) if written else -1
    return array_calls.Lie(dtype, shape, strides, on_line, written)


def _made(call, run) -> list[array_calls.Lie]:
    """How the arrays lie that a call makes: results, and memory to work in."""
    steps = [np.empty(new.shape, call.dtype).strides for new in call.new]
    found = [array_calls.Lie(call.dtype, new.shape, step) for new, step in zip(call.new, steps)]
    if isinstance(run, scratch.InScratch):
        found.append(array_calls.Lie(scratch.BYTES, (run.bytes,), (scratch.BYTES.itemsize,)))
    return found


def _room(run):
    """make() of the memory that a launch works in; None: it needs none."""
    return run.room if isinstance(run, scratch.InScratch) else None


# ---- C launches -----------------------------------------------------------------------------------------------------


def in_a_new_array(call, launched, room):
    """A kernel's result in a new array."""
    launch, told, keep = launched
    (_, shape, axes), dtype, plain = call.new[0], call.dtype, np.ndarray
    rises, count = axes == tuple(range(len(axes))), len(call.given)
    make = call.maker(shape)

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
        made = (out, room()) if room else (out,)
        if len(arrays) != count or {*map(type, arrays)} != KINDS or launch(told, *map(id, arrays), *map(id, made)):
            return None
        return out if rises else out.transpose(axes)

    return of_all if room else {1: of_one, 2: of_two, 3: of_three}.get(count, of_all)


def _copied_first(call, seen, launched, room):
    """The same from contiguous copies of some arrays. seen: the look at the caller's arrays."""
    look, told, keep = seen
    launch, told_launch, keep_launch = launched
    (_, shape, axes), dtype = call.new[0], call.dtype
    rises, count = axes == tuple(range(len(axes))), len(call.given)
    make, takes = call.maker(shape), [_taking(call, place, lie) for place, lie in enumerate(keep[-1])]

    def of_all(_, *arrays, keep=(keep, keep_launch)):
        if len(arrays) != count or {*map(type, arrays)} != KINDS or look(told, *map(id, arrays)):
            return None
        out = make(shape, dtype)
        taken = [take(array) if take else array for take, array in zip(takes, arrays)]
        taken.append(out)
        if room:
            taken.append(room())
        if launch(told_launch, *map(id, taken)):
            return None
        return out if rises else out.transpose(axes)

    return of_all


def _taking(call, place: int, lie: array_calls.Lie):
    """The function that prepares an array for the kernel; None: it goes to the kernel as it is. lie: how the caller's
    array lies."""
    _, view = call.given[place]
    dtype = dict(call.copies).get(place)
    if dtype is None:
        return None if view.is_plain else view.of
    if lie.dtype.kind in "biu":
        return lambda array: call.copy(place, view.of(array), dtype)  # which refuses what the type does not hold
    if view.is_plain and view.axes:
        return functools.partial(np.ascontiguousarray, dtype=dtype)
    return lambda array: call.contiguous(view.of(array), dtype)


# ---- C looks at the arrays, Python launches -------------------------------------------------------------------------


def _looked_at(call, seen, run) -> Any:
    """A result that is given; or of a launch `run` that C does not do."""
    if seen is None:
        return None
    look, told, keep = seen
    count, plain = len(call.given), np.ndarray
    names = [name for name, _ in call.given]
    result = -1 if call.new else names.index(call.results[0])

    def of_all(_, *arrays, keep=keep):
        if len(arrays) != count or {*map(type, arrays)} != KINDS or look(told, *map(id, arrays)):
            return None
        return call.by(arrays, run) if run else arrays[result]

    if run is None or not call.is_plain or count != 2:
        return of_all
    (_, shape, _), dtype = call.new[0], call.dtype
    make = call.maker(shape)

    def of_two(_, a, b, *, keep=keep):
        if not type(a) is type(b) is plain or look(told, id(a), id(b)):
            return None
        out = make(shape, dtype)
        run((a, b, out))
        return out

    return of_two
