"""A compiled kernel or collection with its name, its views and its timer."""
from __future__ import annotations

FOLD = 512      # pairs of marks kept before they are read: bounds the memory, and the waits that reading causes


class Timer:
    """Calls, points and seconds under one name. Marks are set now and read later, so that nothing waits."""

    def __init__(self, backend):
        self.backend, self.calls, self.points, self._seconds, self._pairs = backend, 0, 0, 0.0, []

    def add(self, begin, end, n: int) -> None:
        self.calls += 1
        self.points += n
        self._pairs.append((begin, end))
        if len(self._pairs) >= FOLD:
            self._fold()

    def _fold(self) -> None:
        self._seconds += sum(self.backend.elapsed(*pair) for pair in self._pairs)
        self._pairs.clear()

    @property
    def seconds(self) -> float:
        self._fold()
        return self._seconds


class Launcher:
    """name: as hosts call it. run: program bound to the views. reads, writes: the views themselves;
    sources: the views that the results depend on."""

    def __init__(self, name: str, program, views: dict):
        self.name, self.program = name, program
        self.reads = tuple(views[q] for q in program.reads)
        self.writes = tuple(views[q] for q in program.writes)
        self.run = program.bind({q: v.array for q, v in views.items()})
        # what the results depend on: inputs that are overwritten are no longer there to compare with
        self.sources = tuple(v for v in self.reads if v not in self.writes)
