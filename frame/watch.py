"""Where time goes: timers by name, and a trace that https://ui.perfetto.dev shows.

Work on a device lies between two marks of a queue. The marks are read later, so that nothing waits for them. Work of
the host (packing, waiting) is timed by the clock of the host: a mark of the device would put the queues in order.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import time
from typing import Any

from kernels.engine.timers import HostClock

TRACKS = HOST, COPIES_IN, KERNELS, COPIES_OUT = "host", "copies in", "kernels", "copies out"
FOLD = 512  # pairs of marks kept before they are read: this limits their memory and how often reading waits
MOST_SPANS = 200_000  # of a trace


def _ranges():
    """NVTX's (push_range, pop_range), or None without the package nvtx. NVIDIA's profilers then show the timed work by
    the same names."""
    try:
        import nvtx
    except ImportError:
        return None

    return nvtx.push_range, nvtx.pop_range


class Timer:
    """Calls, points, bytes and seconds of a name. A name belongs to a single track."""

    __slots__ = ("track", "calls", "points", "nbytes", "seconds")

    def __init__(self, track: str):
        self.track = track
        self.calls = 0
        self.points = 0
        self.nbytes = 0
        self.seconds = 0.0

    def add(self, points: int, nbytes: int, seconds: float, weight: int = 1) -> None:
        """Add a timed call, which stands for `weight` equal calls."""
        self.calls += weight
        self.points += weight * points
        self.nbytes += weight * nbytes
        self.seconds += weight * seconds

    @property
    def row(self) -> tuple:
        return self.calls, self.points, self.seconds, self.nbytes, self.track


class Watch:
    """Timers and trace of all threads of a frame. on: whether there is anything to do."""

    def __init__(self, backend):
        self.backend = backend
        self._timers: dict[str, Timer] | None = None
        self._trace: Trace | None = None
        self._pairs: list[tuple] = []  # (clock, two marks, track, name, points, bytes, weight), not read yet
        self._ranges: Any = None
        self._weight = 1
        self.on = False

    def time(self, on: bool) -> None:
        """Switch timers on (from zero) or off."""
        self.fold()
        if not on:
            self._timers = None
        elif self._timers is None:
            self._timers, self._ranges = {}, _ranges()

        self._switch()

    @contextlib.contextmanager
    def weighted(self, weight: int):
        """Within this context a timed piece of work counts `weight` times; 0: nothing is timed."""
        before, self._weight = self._weight, weight
        self._switch()

        try:
            yield
        finally:
            self._weight = before
            self._switch()

    def _switch(self) -> None:
        """Whether there is anything to do from now on."""
        self.on = self._weight > 0 and not (self._timers is None and self._trace is None)

    def trace(self, file: str) -> None:
        """Keep timed work from now on; `write` writes it."""
        self.backend.synchronize()
        self._trace = Trace(pathlib.Path(file), self.backend.mark(), time.perf_counter())
        self._ranges = _ranges()
        self._switch()

    @property
    def timers(self) -> dict[str, Timer] | None:
        self.fold()
        return self._timers

    def run(self, track: str, name: str, points: int, nbytes: int, work, *arguments):
        """work(*arguments), and keep the time that it takes."""
        clock = HostClock if track == HOST else self.backend
        if self._ranges:
            push, pop = self._ranges
            push(name)

        begin = clock.mark()
        try:
            done = work(*arguments)
        finally:
            if self._ranges:
                pop()

        self.keep(clock, begin, track, name, points, nbytes)
        return done

    def span(self, track: str, name: str) -> Span:
        """A context: the time of the work that is queued there is kept. Nothing happens while timers and trace are
        off."""
        return Span(self, track, name)

    def keep(self, clock, begin, track: str, name: str, points: int, nbytes: int) -> None:
        """Keep a pair of marks: `begin`, and a mark of now. Both are read later."""
        self._pairs.append((clock, begin, clock.mark(), track, name, points, nbytes, self._weight))
        if len(self._pairs) >= FOLD:
            self.fold()

    def fold(self) -> None:
        """Read the marks; may wait for the last mark."""
        pairs, self._pairs = self._pairs, []
        for clock, begin, end, track, name, points, nbytes, weight in pairs:
            seconds = clock.elapsed(begin, end)

            if self._timers is not None:
                timer = self._timers.setdefault(name, Timer(track))
                timer.add(points, nbytes, seconds, weight)

            if self._trace is not None:
                self._trace.add(clock, begin, seconds, track, name, points, nbytes)

    def write(self, rank: int) -> None:
        """The trace, as a file of this rank: trace.json becomes trace.0.json."""
        if self._trace is None:
            return

        self.fold()
        path = self._trace.file
        of_rank = path.with_name(f"{path.stem}.{rank}{path.suffix or '.json'}")
        of_rank.write_text(self._trace.text(rank))


class Span:
    """A timed context of a Watch; work that raises is not kept."""

    __slots__ = ("_watch", "_track", "_name", "_begin")

    def __init__(self, watch: Watch, track: str, name: str):
        self._watch = watch
        self._track = track
        self._name = name

    def __enter__(self) -> None:
        self._begin = self._watch.backend.mark() if self._watch.on else None

    def __exit__(self, error, *_) -> None:
        if self._begin is not None and error is None:
            self._watch.keep(self._watch.backend, self._begin, self._track, self._name, 0, 0)


class Trace:
    """Spans in the trace event format. base, now: the same instant on the backend's clock and on the host's."""

    def __init__(self, file: pathlib.Path, base, now: float):
        self.file = file
        self._base = base
        self._now = now
        self._spans: list[dict] = []
        self._left_out = 0

    def add(self, clock, begin, seconds: float, track: str, name: str, points: int, nbytes: int) -> None:
        if len(self._spans) >= MOST_SPANS:
            self._left_out += 1
            return

        since = begin - self._now if clock is HostClock else clock.elapsed(self._base, begin)
        facts: dict[str, float] = {"points": points}
        if nbytes and seconds:
            facts |= {"bytes": nbytes, "GB/s": 1e-9 * nbytes / seconds}
        times = {"ts": 1e6 * since, "dur": 1e6 * seconds}
        self._spans.append({"name": name, "ph": "X", **times, "tid": TRACKS.index(track), "args": facts})

    def text(self, rank: int) -> str:
        """The trace in JSON."""
        events: list[dict] = [{"name": "process_name", "args": {"name": f"rank {rank}"}, "ph": "M"}]
        for number, track in enumerate(TRACKS):
            events.append({"name": "thread_name", "tid": number, "args": {"name": track}, "ph": "M"})
        events += self._spans
        events = [{**event, "pid": rank} for event in events]

        return json.dumps({"traceEvents": events, "otherData": {"spans left out": self._left_out}})
