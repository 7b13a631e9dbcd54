"""Clocks of the benches of tensor expressions, and works that are timed in turns.

A clock takes a work, a function without arguments, and returns the seconds of one call.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping

import numpy as np

from ...errors import BackendError

LEAST = 2e-3  # seconds of one measurement on a host: shorter work is repeated
FAR_OFF = 20  # times the quickest: measured once
LAUNCHES = 64  # of a graph
# Bytes that are written, and half of them read, to empty a device's caches. It takes so long that the host is done
# queueing by then.
FLUSHED = 1 << 30

Work = Callable[[], object]
Clock = Callable[[Work], float]


# ---- hosts


def host_seconds(work: Work) -> float:
    """By the host's clock."""
    return _repeated(work, time.perf_counter)


def processor_seconds(work: Work) -> float:
    """Processor time of this thread."""
    return _repeated(work, time.thread_time)


def _repeated(work: Work, now: Callable[[], float]) -> float:
    """Seconds of a work, repeated until the sum is LEAST."""
    begin = now()
    work()
    once = now() - begin
    if once >= LEAST:
        return once

    often = int(LEAST / once) + 1
    begin = now()
    for _ in range(often):
        work()
    return (now() - begin) / often


# ---- devices


class DeviceClock:
    """Clocks of a device: `cold` and `hot`. Both let the work wait behind other work, so that no time of the host is in
    them."""

    def __init__(self, backend):
        self.backend = backend
        self.memory = backend.empty((FLUSHED,), np.dtype("int8"))
        self.often: dict[int, int] = {}  # id of a work: calls of a measurement

    def cold(self, work: Work) -> float:
        """The caches hold other numbers, which were read last."""
        self.memory.fill(0)
        self.memory[: FLUSHED // 2].view("int64").max()

        begin = self.backend.mark()
        work()
        return self.backend.elapsed(begin, self.backend.mark())

    def hot(self, work: Work) -> float:
        """The same work ran just before."""
        self.memory.fill(0)
        work()

        often = self.often.get(id(work), 1)
        begin = self.backend.mark()
        for _ in range(often):
            work()
        seconds = self.backend.elapsed(begin, self.backend.mark()) / often

        self.often[id(work)] = min(max(int(1e-4 / seconds), 1), 16)
        return seconds


def by_graph(backend, work: Work, rounds: int) -> float | None:
    """Seconds of one launch of many in a graph; None for work that a graph cannot record, such as a library's."""
    try:
        launch = backend.record(lambda: [work() for _ in range(LAUNCHES)])
    except BackendError:
        return None

    times = []
    for _ in range(rounds + 1):
        begin = backend.mark()
        launch()
        times.append(backend.elapsed(begin, backend.mark()) / LAUNCHES)
    return statistics.median(times[1:])


# ---- in turns


def in_turns(
    works: dict[str, tuple[Work, tuple[Clock, ...]]], rounds: int, far_off: float = math.inf
) -> dict[str, np.ndarray]:
    """{name: seconds (rounds, clocks)} of works {name: (work, its clocks)}. Works alternate, so that other load of the
    machine hits all alike. A round before warms up.

    far_off: by its first clock, a work that takes so many times the quickest is measured once.
    """
    times: dict[str, list[list[float]]] = {name: [] for name in works}
    for turn in range(rounds + 1):
        for name, (work, clocks) in works.items():
            if turn < 2 or times[name][1][0] < far_off * min(found[1][0] for found in times.values()):
                times[name].append([clock(work) for clock in clocks])

    return {name: np.array(found[1:]) for name, found in times.items()}


def medians(works: Mapping[str, Work], clock: Clock, rounds: int) -> dict[str, float]:
    """{name: median of its seconds} of works that run in turns."""
    times = in_turns({name: (work, (clock,)) for name, work in works.items()}, rounds)
    return {name: float(np.median(found)) for name, found in times.items()}
