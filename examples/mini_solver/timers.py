"""Where the time goes: marks in the backend's own time, read when it costs nothing."""

import collections
import contextlib

MOST_MARKS = 2000


class Timers:
    """`with timed("flux"):` adds to seconds["flux"]. weight: how many steps a timed one stands for. silent: nothing is
    marked, as while a graph is recorded."""

    def __init__(self, backend):
        self.backend, self.seconds, self.weight, self.silent, self._marks = backend, collections.Counter(), 1, False, []

    @contextlib.contextmanager
    def timed(self, name):
        if self.silent:
            yield
            return
        begin = self.backend.mark()
        yield
        self._marks.append((name, begin, self.backend.mark(), self.weight))
        if len(self._marks) > MOST_MARKS:
            self.collect()

    def collect(self):
        """Seconds of all marks so far; on a device this waits for them."""
        for name, begin, end, weight in self._marks:
            self.seconds[name] += weight * self.backend.elapsed(begin, end)
        self._marks.clear()
