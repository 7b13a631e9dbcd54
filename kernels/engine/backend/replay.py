"""Launches that come again with other arrays: what was bound once is queued again, with new addresses in its records.

A bind finds steps, blocks and the room of scratch memory, which takes a host some 100 us; arrays that lie alike need it
once. So a bind is watched with stand-ins of the arrays, which no kernel ever reads: the address of a stand-in has the
array's place in its upper bits. Where such a number stands in a record, the address of the array of each call goes.
Scratch memory has places, too: each call has its own. So has the memory by which blocks of a launch work together: it
belongs to the stream of each call (counters.py).

    with watched(len(arrays)) as watch:
        bind([StandIn.at(place, address, lie), ...])()       nothing is queued, no memory is taken
    replay = Replay(watch, addresses, backend.empty)
    replay(addresses)                                         queues all
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from .counters import Joint

PLACE = 52  # bits of an address below an array's place
MOST_PLACES = 512  # beyond are the bits of real numbers
JOINT = Joint(MOST_PLACES - 1, MOST_PLACES - 2)  # places of a launch's counters and of its room
ALIGNED = 16  # bytes that are read at once, at most: no launch depends on more of where an array begins
BEGIN = 256  # bytes: scratch memory begins at multiples of it


class Launch(NamedTuple):
    """A launch that was not queued."""

    record: np.ndarray  # its arguments, of 8 bytes each
    bound: Callable[[np.ndarray], Callable[[], None]]  # the launch with the arguments of another record


class Lie(NamedTuple):
    """How an array lies."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes
    dtype: np.dtype


class Pointer(NamedTuple):
    """A pointer as CuPy's arrays have it."""

    ptr: int


@dataclasses.dataclass(frozen=True)
class StandIn:
    """An array of a device without memory, for a bind that is watched."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes
    dtype: np.dtype
    data: Pointer

    flags = None

    @classmethod
    def at(cls, place: int, address: int, lie: Lie) -> StandIn:
        """An array that has a place among others and begins at an address."""
        return cls(lie.shape, lie.strides, lie.dtype, Pointer((place + 1 << PLACE) + address % ALIGNED))

    @classmethod
    def contiguous(cls, shape: tuple[int, ...], dtype, address: int) -> StandIn:
        strides = [dtype.itemsize * math.prod(shape[place + 1 :]) for place in range(len(shape))]
        return cls(shape, tuple(strides), dtype, Pointer(address))

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __getitem__(self, part: slice) -> StandIn:
        """Some numbers of a contiguous row."""
        begin, end, _ = part.indices(self.size)
        return StandIn.contiguous((end - begin,), self.dtype, self.data.ptr + begin * self.dtype.itemsize)

    def reshape(self, shape: tuple[int, ...]) -> StandIn:
        """The same numbers of a contiguous row with other dimensions."""
        return StandIn.contiguous(shape, self.dtype, self.data.ptr)


@dataclasses.dataclass
class Watch:
    """Launches and scratch memory of a bind that was watched."""

    arrays: int  # that are bound
    launches: list[Launch] = dataclasses.field(default_factory=list)  # that were not queued
    scratch: list[int] = dataclasses.field(default_factory=list)  # bytes of memory that was not taken
    joint_size: tuple[int, int] = (0, 0)  # counters, and bytes of room, of a launch at most

    def empty(self, shape, dtype) -> StandIn:
        """Scratch memory."""
        place = self.arrays + len(self.scratch)
        shape, dtype = (shape,) if isinstance(shape, int) else tuple(shape), np.dtype(dtype)
        self.scratch.append(math.prod(shape) * dtype.itemsize)
        return StandIn.contiguous(shape, dtype, place + 1 << PLACE)

    def joint(self, counters: int, room: int) -> Joint:
        """The addresses that stand in for counters and room."""
        most, most_room = self.joint_size
        self.joint_size = max(most, counters), max(most_room, room)
        return Joint(*(place + 1 << PLACE for place in JOINT))


class _Here(threading.local):
    """The watch of a thread; None: launches are queued, memory is taken."""

    watch: Watch | None = None


here = _Here()


@contextlib.contextmanager
def watched(arrays: int) -> Iterator[Watch]:
    """A watch of the launches that this thread binds and runs."""
    before, here.watch = here.watch, Watch(arrays)
    try:
        yield here.watch
    finally:
        here.watch = before


class Replay:
    """Launches with records of their own."""

    def __init__(self, watch: Watch, begins, empty, joint=None):
        """begins: addresses of the arrays, as the stand-ins begin. empty, joint: of the backend."""
        self._moves: list[tuple[memoryview, int, int, int]] = []  # record, member, place of an array, bytes behind it
        self._runs = []
        self._empty, self._joint, self._mine = empty, joint, threading.Lock()
        self._joined: list[tuple[memoryview, int, int]] = []  # record, member, which of the addresses
        self._joint_size = watch.joint_size

        # Scratch memory is one array.
        self._scratch, self._bytes = [], 0
        for size in watch.scratch:
            self._scratch.append(self._bytes)
            self._bytes += -(-size // BEGIN) * BEGIN

        aligned = [*(address % ALIGNED for address in begins), *(0 for _ in watch.scratch)]
        for launch in watch.launches:
            own = launch.record.copy()
            members = own.reshape(-1).view(np.int64)
            for k, number in enumerate(members.tolist()):
                place, begin = (number >> PLACE) - 1, number & ((1 << PLACE) - 1)
                if place in JOINT:
                    self._joined.append((members.data, k, JOINT.index(place)))
                elif 0 <= place < MOST_PLACES:
                    self._moves.append((members.data, k, place, begin - aligned[place]))
            self._runs.append(launch.bound(own))

    def __call__(self, addresses) -> None:
        """Queues all. addresses: of the arrays in their places."""
        if self._bytes:
            scratch = self._empty((self._bytes,), np.dtype(np.uint8))
            addresses = [*addresses, *(scratch.data.ptr + begin for begin in self._scratch)]

        with self._mine:
            for members, k, place, begin in self._moves:
                members[k] = addresses[place] + begin
            if self._joined:
                joint = self._joint(*self._joint_size)
                for members, k, which in self._joined:
                    members[k] = joint[which]
            for run in self._runs:
                run()
