"""State of a single thread."""

from __future__ import annotations

from typing import NamedTuple

from kernels.marshal import Marshal

from ..watch import Label
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

    def timed(self, label: Label, points: int, nbytes: int, work, *arguments):
        """work(*arguments). If timers or a trace are on, its time is kept under the label."""
        watch = self.shared.watch
        if not watch.on:
            return work(*arguments)
        return watch.run(label, points, nbytes, work, *arguments)
