"""State of a single thread."""

from __future__ import annotations

from typing import NamedTuple

from kernels.marshal import Marshal

from .queues import Queues
from .shared import Shared
from .staleness import Staleness
from .views import Views


class ThreadState(NamedTuple):
    """The objects that the parts of a TVImpl work on."""

    shared: Shared
    marshal: Marshal
    queues: Queues
    views: Views
    staleness: Staleness

    def timed(self, track: str, verb: str, name: str, points: int, nbytes: int, work, *arguments):
        """work(*arguments). If timers or a trace are on, its time is kept under verb and name."""
        watch = self.shared.watch
        if not watch.on:
            return work(*arguments)
        return watch.run(track, f"{verb} {name}" if verb else name, points, nbytes, work, *arguments)
