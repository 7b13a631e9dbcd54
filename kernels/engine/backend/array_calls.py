"""Calls of a CPU's kernel that come again with arrays of NumPy's, in one call of C (engine/numbers/array_calls.h).

C reads an array's extents, steps and address where NumPy has them, which is part of its binary interface. An array that
is looked at once proves it; where Python or NumPy have them elsewhere, or nothing can be compiled, there are no such
calls, and Python asks each array.
"""

from __future__ import annotations

import functools
import platform
from typing import Any, NamedTuple

import numpy as np

from ..errors import BackendError, CompileError
from . import cpu
from .base import Source

MOST, MOST_BYTES = 6, 4096  # arrays of a call, bytes of a record
HEAD = object.__basicsize__  # bytes of an object before its own members
LINE = 64  # bytes of a cache line

OBJECTS = [f"intptr_t {name}" for name in "abcdef"]
NAMES = [f"array_call_{count}" for count in range(1, MOST + 1)]
for place, name in enumerate(NAMES):
    cpu.ffi.cdef(f"int {name}(const intptr_t *told, {', '.join(OBJECTS[: place + 1])});")
cpu.ffi.cdef("void array_facts(intptr_t object, intptr_t head, intptr_t *facts);")
cpu.ffi.cdef("double array_magnitude(intptr_t object, intptr_t head, int bytes);")
WHOLE = {np.dtype(kind): np.dtype(kind).itemsize for kind in "?BHILQ"}
WHOLE |= {np.dtype(kind): -np.dtype(kind).itemsize for kind in "bhilq"}  # bytes; less than none: with a sign


class Lie(NamedTuple):
    """How an array of a call lies."""

    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    on_line: int = -1  # whether it begins on a cache line; -1: no matter
    written: bool = False

    def numbers(self, place: int) -> list[int]:
        """As C reads them. place: of the address in the record; -1: nowhere."""
        ends = [(n - 1) * step for n, step in zip(self.shape, self.strides)]
        first, beyond = sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends) + self.dtype.itemsize
        head = [place, id(self.dtype), self.on_line, first, beyond, int(self.written), len(self.shape)]
        return [*head, *self.shape, *self.strides]


class ArrayCall(NamedTuple):
    """function(told, *ids of arrays): 0 if the arrays lie as they did, and the launch, if there is one, is done."""

    function: Any
    told: Any
    keep: Any  # what `told` points to


def prepared(lies, run) -> ArrayCall | None:
    """The call for arrays that lie so. run: the launch, if it is an Again. None where there are no such calls."""
    is_launch = isinstance(run, cpu.Again)
    places = {place: at for at, place in run.places} if is_launch else {}
    if is_launch and (len(places) < len(run.places) or run.threads > 1 or run.record.nbytes > MOST_BYTES):
        return None
    if len(lies) > MOST or not _functions():
        return None

    told = [HEAD, 0, 0, 0, 0, len(lies)]
    if is_launch:
        told[1:5] = int(cpu.ffi.cast("intptr_t", run.call)), run.record.ctypes.data, run.record.nbytes, run.items
    for place, lie in enumerate(lies):
        told += lie.numbers(places.get(place, -1))

    held = np.array(told, np.intp)
    pointer = cpu.ffi.cast("intptr_t *", held.ctypes.data)
    return ArrayCall(_functions()[len(lies) - 1], pointer, (held, run, lies))


def magnitude(array: np.ndarray) -> float:
    """The largest magnitude of whole numbers, rounded to float64, 0 if there are none; -1 where C does not find it."""
    library = _library()
    bytes_ = WHOLE.get(array.dtype)
    return library.array_magnitude(id(array), HEAD, bytes_) if library and bytes_ else -1.0


@functools.lru_cache(None)
def _functions() -> tuple:
    """C's launches of 1, 2, ... arrays; empty where there is no library."""
    library = _library()
    return tuple(getattr(library, name) for name in NAMES) if library else ()


@functools.lru_cache(None)
def _library() -> Any:
    """C's functions; None where arrays do not lie in memory as C has them, or it cannot be compiled."""
    if platform.python_implementation() != "CPython":
        return None
    try:
        library = cpu.opened(SOURCE)
    except (BackendError, CompileError, OSError):
        return None

    probe = np.ones((5, 4, 3))[::-2, 1:, ::2]
    facts = np.full(2 * probe.ndim + 4, -1, np.intp)
    library.array_facts(id(probe), HEAD, cpu.ffi.cast("intptr_t *", facts.ctypes.data))
    wanted = [probe.__array_interface__["data"][0], probe.ndim, id(probe.dtype), 1]
    for pair in zip(probe.shape, probe.strides):
        wanted += pair
    return library if facts.tolist() == wanted else None


SOURCE = Source("array-calls", '#include "engine/numbers/array_calls.h"\n', written_out=True)
