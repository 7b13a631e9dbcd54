"""Where time goes: timers by name, and a trace that https://ui.perfetto.dev shows.

Work on a device lies between two marks of a queue. The marks are read later, so that nothing waits for them. Work of
the host (packing, waiting) is timed by the clock of the host: a mark of the device would put the queues in order.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import time
from typing import Any, NamedTuple

from kernels.engine.timers import HostClock

TRACKS = HOST, COPIES_IN, KERNELS, COPIES_OUT = "host", "copies in", "kernels", "copies out"
FOLD = 512  # pairs of marks kept before they are read: this limits their memory and how often reading waits
MOST_SPANS = 200_000  # of a trace


class Label(NamedTuple):
    """The name of timed work, and the row of the trace in which it is shown."""

    track: str  # of TRACKS
    name: str  # a name belongs to a single track


class Span(NamedTuple):
    """Timed work, the marks of which are not read yet."""

    clock: Any  # reads the marks: HostClock or a backend
    begin: Any
    end: Any
    label: Label
    points: int
    nbytes: int
    weight: int  # number of equal pieces of work for which it stands


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
        self._spans: list[Span] = []
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

    def run(self, label: Label, points: int, nbytes: int, work, *arguments):
        """work(*arguments), and keep the time that it takes."""
        clock = HostClock if label.track == HOST else self.backend
        if self._ranges:
            push, pop = self._ranges
            push(label.name)

        begin = clock.mark()
        try:
            done = work(*arguments)
        finally:
            if self._ranges:
                pop()

        self.keep(clock, begin, label, points, nbytes)
        return done

    def span(self, label: Label) -> Timed:
        """A context: the time of the work that is queued there is kept. Nothing happens while timers and trace are
        off."""
        return Timed(self, label)

    def keep(self, clock, begin, label: Label, points: int, nbytes: int) -> None:
        """Keep a pair of marks: `begin`, and a mark of now. Both are read later."""
        self._spans.append(Span(clock, begin, clock.mark(), label, points, nbytes, self._weight))
        if len(self._spans) >= FOLD:
            self.fold()

    def fold(self) -> None:
        """Read the marks; may wait for the last mark."""
        spans, self._spans = self._spans, []
        for span in spans:
            seconds = span.clock.elapsed(span.begin, span.end)

            if self._timers is not None:
                timer = self._timers.setdefault(span.label.name, Timer(span.label.track))
                timer.add(span.points, span.nbytes, seconds, span.weight)

            if self._trace is not None:
                self._trace.add(span, seconds)

    def write(self, rank: int) -> None:
        """The trace, as a file of this rank: trace.json becomes trace.0.json."""
        if self._trace is None:
            return

        self.fold()
        path = self._trace.file
        of_rank = path.with_name(f"{path.stem}.{rank}{path.suffix or '.json'}")
        of_rank.write_text(self._trace.text(rank))


class Timed:
    """A timed context of a Watch; work that raises is not kept."""

    __slots__ = ("_watch", "_label", "_begin")

    def __init__(self, watch: Watch, label: Label):
        self._watch = watch
        self._label = label

    def __enter__(self) -> None:
        self._begin = self._watch.backend.mark() if self._watch.on else None

    def __exit__(self, error, *_) -> None:
        if self._begin is not None and error is None:
            self._watch.keep(self._watch.backend, self._begin, self._label, 0, 0)


class Trace:
    """Timed work in the trace event format. base, now: the same instant on the backend's clock and on the host's."""

    def __init__(self, file: pathlib.Path, base, now: float):
        self.file = file
        self._base = base
        self._now = now
        self._events: list[dict] = []
        self._left_out = 0

    def add(self, span: Span, seconds: float) -> None:
        if len(self._events) >= MOST_SPANS:
            self._left_out += 1
            return

        clock, track = span.clock, TRACKS.index(span.label.track)
        since = span.begin - self._now if clock is HostClock else clock.elapsed(self._base, span.begin)
        facts: dict[str, float] = {"points": span.points}
        if span.nbytes and seconds:
            facts |= {"bytes": span.nbytes, "GB/s": 1e-9 * span.nbytes / seconds}
        times = {"ts": 1e6 * since, "dur": 1e6 * seconds}
        self._events.append({"name": span.label.name, "ph": "X", **times, "tid": track, "args": facts})

    def text(self, rank: int) -> str:
        """The trace in JSON."""
        events: list[dict] = [{"name": "process_name", "args": {"name": f"rank {rank}"}, "ph": "M"}]
        for number, track in enumerate(TRACKS):
            events.append({"name": "thread_name", "tid": number, "args": {"name": track}, "ph": "M"})
        events += self._events
        events = [{**event, "pid": rank} for event in events]

        return json.dumps({"traceEvents": events, "otherData": {"spans left out": self._left_out}})
