"""Times of kernels by name, for Python users.

    with kernels.timed() as times:
        mixture.properties("rho mu", T=T, p=p, Y=Y)
    print(times["rho+mu"].seconds)

Kernels that are bound within the context are timed. A call such as Mixture.properties binds its kernels each time. A
run that was bound before, and is repeated within, is not timed. Outside of the context nothing is done at a launch.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any


class HostClock:
    """The host's clock, with the verbs of a backend."""

    mark = staticmethod(time.perf_counter)

    @staticmethod
    def elapsed(begin: float, end: float) -> float:
        """Seconds between two marks."""
        return end - begin


class Times:
    """Launches under one name. Reading `seconds` waits for the last launch."""

    def __init__(self) -> None:
        self.calls = 0
        self.items = 0  # points, entries of a batch, or teams
        self._marks: list[tuple[Any, Any, Any]] = []  # (clock, begin, end), not read yet
        self._seconds = 0.0

    def add(self, clock, begin, end, items: int) -> None:
        self.calls += 1
        self.items += items
        self._marks.append((clock, begin, end))

    @property
    def seconds(self) -> float:
        """Sum over the launches; of a device between its own marks, waits of the host left out."""
        marks, self._marks = self._marks, []
        for clock, begin, end in marks:
            self._seconds += clock.elapsed(begin, end)
        return self._seconds

    def __repr__(self) -> str:
        return f"{self.calls} calls, {self.items} items, {self.seconds:.6f} s"


contexts: list[dict[str, Times]] = []  # that are open, the innermost last


@contextlib.contextmanager
def timed() -> Iterator[dict[str, Times]]:
    """{name: Times} of the kernels that are bound while the context lasts, in the order of their first launch. The name
    of a program is that of its collection or its outputs, of a contraction its arrays, of a team kernel its own."""
    times: dict[str, Times] = {}
    contexts.append(times)

    try:
        yield times
    finally:
        contexts.remove(times)


def is_timing() -> bool:
    """Whether a context is open."""
    return bool(contexts)


def watched(run: Callable[[int], None], name: str, clock) -> Callable[[int], None]:
    """`run`, timed under this name if a context is open; else `run` itself."""
    if not contexts:
        return run

    times = contexts[-1]

    def timed_run(items: int) -> None:
        begin = clock.mark()
        run(items)
        times.setdefault(name, Times()).add(clock, begin, clock.mark(), items)

    return timed_run
