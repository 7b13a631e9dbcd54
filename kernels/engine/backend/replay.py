"""Launches that come again with other arrays: what was bound once is queued again, with new addresses in its records.

A bind finds steps, blocks and scratch memory, which takes a host some 100 us; arrays that lie alike need it once. So a
bind is watched with stand-ins of the arrays, which no kernel ever reads: the address of a stand-in has the array's
place in its upper bits. Where such a number stands in a record, the address of the array of each call goes.

    with watched_launches() as launches:
        bind([StandIn.of(array, place), ...])()      nothing is queued
    replay = Replay(launches, arrays' addresses)
    replay(addresses)                                queues all
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

PLACE = 52  # bits of an address below an array's place
MOST_PLACES = 512  # beyond are the bits of real numbers
ALIGNED = 16  # bytes that are read at once, at most: no launch depends on more of where an array begins


class Launch(NamedTuple):
    """A launch that was not queued."""

    record: np.ndarray  # its arguments, of 8 bytes each
    bound: Callable[[np.ndarray], Callable[[], None]]  # the launch with the arguments of another record


class _Watch(threading.local):
    """Of each thread: launches go on the list in place of a queue; None: they are queued."""

    launches: list[Launch] | None = None


watch = _Watch()


@contextlib.contextmanager
def watched_launches() -> Iterator[list[Launch]]:
    """The launches of this thread, which are not queued."""
    before, watch.launches = watch.launches, []
    try:
        yield watch.launches
    finally:
        watch.launches = before


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
    def of(cls, array, address: int, place: int) -> StandIn:
        """An array that lies like this one, which begins at an address and has a place among others."""
        pointer = Pointer((place + 1 << PLACE) + address % ALIGNED)
        return cls(array.shape, array.strides, array.dtype, pointer)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Replay:
    """Launches with records of their own. Those of two calls do not mix: they have one scratch memory."""

    def __init__(self, launches: list[Launch], begins):
        """begins: addresses of the arrays, as the stand-ins begin."""
        aligned = [address % ALIGNED for address in begins]
        self._moves: list[tuple[memoryview, int, int, int]] = []  # record, member, place of an array, bytes behind it
        self._runs = []
        self._mine = threading.Lock()

        for launch in launches:
            own = launch.record.copy()
            members = own.reshape(-1).view(np.int64)
            for k, number in enumerate(members.tolist()):
                place, begin = (number >> PLACE) - 1, number & ((1 << PLACE) - 1)
                if 0 <= place < MOST_PLACES:
                    self._moves.append((members.data, k, place, begin - aligned[place]))
            self._runs.append(launch.bound(own))

    def __call__(self, addresses) -> None:
        """Queues all. addresses: of the arrays in their places."""
        with self._mine:
            for members, k, place, begin in self._moves:
                members[k] = addresses[place] + begin
            for run in self._runs:
                run()
