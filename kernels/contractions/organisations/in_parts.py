"""The common part of organisations whose sums are cut into parts, by different blocks.

Blocks that have parts of the same sums are counted (engine/backend/counters.py): the last of them adds up all parts, in
their order. So bits do not depend on the order in which blocks end.
"""

from __future__ import annotations

import functools
import threading

import numpy as np

from ...engine.backend import counters
from ...engine.backend.record import record
from .. import render_threads as threads
from ..plan import Program, names, reads
from .base import Organisation
from .threads import Threads

ROOM = 1 << 22  # numbers of all parts together; entries of more go one after the other
COUNTED = 1 << 14  # blocks that have parts together, at most
LAST = 1e-6  # seconds of the block that adds up parts


class InParts(Threads):
    """Base: `parts` blocks have parts of the same sums. Of one statement."""

    near: int = 1  # neighbours that are read at once, 16 bytes at most
    parts: int = 1  # of the sums, by different blocks

    def sums_of(self, p: Program) -> int:
        """Sums of an item: how many numbers a part is."""
        return 1

    def stand_ins(self) -> list[Organisation]:
        return [self, self.changed(near=1)] if self.near > 1 else [self]

    def for_arrays(self, p: Program, values) -> InParts:
        factors = names(reads(p.statements[0]))
        if self.near > 1 and threads.unaligned(factors, values, self.near):
            return self.changed(near=1)
        return self

    def members(self, p: Program) -> str:
        members = super().members(p)
        return f"{members} at_parts:address at_counters:address" if self.parts > 1 else members

    def launch(self, plan, arrays, values, n: int):
        if self.parts == 1:
            return super().launch(plan, arrays, values, n)

        # Entries whose parts and counters have room, one set after the other.
        p, backend = plan.program, plan.backend
        how = self.for_arrays(p, values)
        of_entry, covers = how.items(p, 1), how.shape(p).covers
        room = of_entry * how.sums_of(p) * how.parts
        most = max(min(ROOM // room, COUNTED * covers // of_entry), 1)
        size = min(n, most) * room * plan.dtype.itemsize
        parts = backend.empty((size,), np.dtype(np.uint8)) if size > counters.ROOM else None

        runs = []
        for first in range(0, n, most):
            items = how.items(p, min(most, n - first))
            moved = _moved_on(p, values, first)
            if parts is not None:
                moved["at_parts"] = backend.address(parts)
            held = record(how.members(p), n=items // of_entry, **moved)
            run = plan.module(how).bind("contraction", how.shape(p), held, keep=[parts, *arrays.values()])
            asked = -(-items // covers), 0 if parts is not None else size
            runs.append(_Joined(backend, held, asked, functools.partial(run, items)))
        return runs[0] if len(runs) == 1 else functools.partial(_one_by_one, runs)


class _Joined:
    """A launch whose counters, and room for parts, are of the stream that it is queued on."""

    def __init__(self, backend, held, asked: tuple[int, int], run):
        """asked: counters, and bytes of room; 0: the parts have memory of their own."""
        self._backend, self._held, self._asked, self._run = backend, held, asked, run
        self._mine = threading.Lock()

    def __call__(self) -> None:
        with self._mine:
            joint = self._backend.joint(*self._asked)
            self._held["at_counters"] = joint.counters
            if self._asked[1]:
                self._held["at_parts"] = joint.room
            self._run()


def _moved_on(p: Program, values, first: int) -> dict:
    """Values of the record for the entries from `first` on."""
    moved = threads.without_past(values)
    size = np.dtype(p.dtype).itemsize
    for array in p.arguments:
        if array.place is not None:
            moved[f"at_{array.name}"] += first * size * values[f"step_{array.name}"]
    return moved


def _one_by_one(runs) -> None:
    for run in runs:
        run()
