"""Time that a CPU's memory needs for the bytes of a kernel: plain loops that read, write and change as many.

The pace of a machine's memory drifts with what others take of it. So these loops run in turns with the kernel, on the
same threads, and its share is a ratio of one moment.
"""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from collections.abc import Callable

import numpy as np

from kernels.engine.backend.base import Shape, Source
from kernels.engine.backend.record import record

HERE = pathlib.Path(__file__).resolve().parent
SAMPLE = 2**28  # bytes of a launch: no cache holds them, and its start does not count
PART = 2**10  # bytes of all arrays that are worked on side by side: longer parts take some mixes longer
FIRST = 3  # launches of each way to store, which choose the faster one
LINE = 8  # numbers
AGAIN = 16384  # numbers that are read again and again; see plain_memory.h
MIX = (
    "read:address written:address changed:address again:address lines_read:whole lines_written:whole "
    "lines_changed:whole lines_again:whole past:whole sums:address"
)


@dataclasses.dataclass(frozen=True)
class Loops:
    """Plain loops for the bytes of a kernel."""

    work: Callable[[], object]  # moves about as many bytes, or more of them, if there are few
    times: float  # the bytes of the kernel over those of `work`


class PlainMemory:
    """The memory of a CPU's backend. sample: bytes of a launch, about."""

    def __init__(self, backend, sample: int = SAMPLE):
        self.backend, self.sample = backend, sample
        self._module = backend.compile(Source("plain-memory", '#include "plain_memory.h"\n', (HERE,)))
        self._sums = backend.empty((max(backend.threads, 1), 64))  # a pack of each thread, lines apart
        self._sums[...] = 0.0
        self._arrays: dict[str, np.ndarray] = {}

    def loops(self, moved) -> Loops:
        """The fastest plain loops for the bytes of a kernel (common.Moved); stores go through the caches or past
        them."""
        way = self._fastest(moved)
        often = max(1, round(moved.total / self.sample))

        def work():
            for _ in range(often):
                way()

        return Loops(work, moved.total / self.sample / often)

    def _fastest(self, moved) -> Callable[[], object]:
        """work() of a sample by the faster way to store."""
        ways = [self._bound(moved, past) for past in (False, True)]
        if not moved.written:
            return ways[0]

        least = [min(self._seconds(way) for _ in range(FIRST)) for way in ways]
        return ways[int(np.argmin(least))]

    def _bound(self, moved, past: bool) -> Callable[[], object]:
        """work() of a sample with the shares of these bytes."""
        each = {"read": moved.read, "written": moved.written, "changed": moved.updated}
        words = {"past": int(past), "sums": self.backend.address(self._sums)}
        kept = [self._sums]
        for name, nbytes in each.items():
            array = self._array(name, nbytes / moved.total)
            words |= {name: self.backend.address(array), f"lines_{name}": array.size // LINE}
            kept.append(array)

        again = self._numbers("again", AGAIN)
        words |= {"again": self.backend.address(again)}
        words |= {"lines_again": int(self.sample * moved.again / moved.total) // (8 * LINE)}
        kept.append(again)

        run = self._module.bind("move_mix", Shape(), record(MIX, **words), keep=kept)
        return functools.partial(run, max(self.sample // PART, self.backend.threads))

    def _array(self, name: str, share: float) -> np.ndarray:
        """The beginning of an array, as long as its share of a sample."""
        return self._numbers(name, int(self.sample * share) // (8 * LINE) * LINE)

    def _numbers(self, name: str, numbers: int) -> np.ndarray:
        """The beginning of an array, of so many numbers."""
        if name not in self._arrays or self._arrays[name].size < numbers:
            self._arrays[name] = self.backend.empty(numbers)
            self._arrays[name][...] = 1.0
        return self._arrays[name][:numbers]

    def _seconds(self, work) -> float:
        begin = self.backend.mark()
        work()
        return self.backend.elapsed(begin, self.backend.mark())
