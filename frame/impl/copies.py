"""Stripe calls: a stripe of the host's array -> view, and view -> stripe of the host's array."""

from __future__ import annotations

import functools
from typing import Any

from kernels.engine.backend.base import IN, OUT

from .. import stripe as stripes
from ..errors import StateError
from ..watch import COPIES_IN, COPIES_OUT, Label
from .memory import Bound
from .state import ThreadState
from .views import View

COUNTS = 16  # numbers of points for which a copy is bound: a chunk and the rest of a block


class StripeCopies:
    """Copies of stripes on one thread.

    With Shared.later, copies out of the same points are kept and become one launch: `fetch` queues it, before a view
    that it reads may change.
    """

    def __init__(self, state: ThreadState):
        self._state = state
        self.geometry: Any = None  # block of the stripe that was filled last; turns a point into (i, j, k)
        self._kept: list[tuple] = []  # (block, matrix) of copies out that are not queued yet, all of the same points:
        self._points = 0, 0  # start, count
        self._leaving: set[str] = set()  # storage of views that are still being copied out
        self._last_fraction: Any = None

    def into(self, name: str, block) -> Bound:
        """call(first, last): selected points first..last (Fortran) of the block -> view[:, 0..]. Results that were
        computed from the view are then stale.

        Errors: ArgumentError for an unknown name, a wrong number of variables, and by the call for a stripe that does
        not fit; in check mode by the call StateError for an impossible value.
        """
        state = self._state

        def bind():
            view = state.views[name]
            state.views.check_variables(view, block.n[3], state.views.least(view))
            rows = view.matrix if block.n[3] == view.rows else view.matrix[: block.n[3]]
            move = _Move(state.marshal, "gather", block, rows, Label(COPIES_IN, f"put {view.name}"))
            return functools.partial(self._put, view, block, move), [block]

        return Bound(state.shared, state.marshal.reach, bind)

    def out(self, name: str, block) -> Bound:
        """call(first, last): view[:, 0..] -> selected points first..last of the block, and nothing else.

        Errors: as `into`; by the call StateError for a view that was never computed or is stale.
        """
        state = self._state

        def bind():
            view = state.views[name]
            state.views.check_variables(view, block.n[3], view.rows)
            move = _Move(state.marshal, "scatter", block, view.matrix, Label(COPIES_OUT, f"get {view.name}"))
            return functools.partial(self._get, view, block, move), [block]

        return Bound(state.shared, state.marshal.reach, bind)

    def _put(self, view: View, block, move: _Move, first: int, last: int) -> None:
        state, shared = self._state, self._state.shared
        self.fetch()
        count = stripes.check_stripe(block, first, last, shared.chunk)
        state.staleness.filled = True

        if view.storage in self._leaving:
            self.wait()

        variables = block.n[3]
        run = move.run(count)

        with state.queues.into:
            nbytes = block.size * variables * count
            state.timed(move.label, count, nbytes, run, first - 1, count)
            if state.views.lacks_last(view, variables):
                self._complete_fractions(count)

        if move.reach == "shared" and not shared.later:
            state.queues.stripes.wait(IN)  # the host may change its array as soon as the call returns

        state.staleness.fill(view, (first, last), count, block)
        self.geometry = block

        if shared.check.on:
            for filled in view.rows_by_name:
                values = shared.backend.to_host(filled.matrix)[:, :count]
                shared.check.filled(filled, values, block, first)

    def _complete_fractions(self, count: int) -> None:
        """Y_ns = 1 - sum of the others."""
        if self._last_fraction is None:
            self._last_fraction = self._state.marshal.last_fraction(self._state.views["Y"].matrix)
        self._last_fraction(count, 0)

    def _get(self, view: View, block, move: _Move, first: int, last: int) -> None:
        state, shared, queues = self._state, self._state.shared, self._state.queues
        count = stripes.check_stripe(block, first, last, shared.chunk)
        problem = state.staleness.problem(view, count, (first, last))

        if problem:
            raise StateError(f"'{view.name}' {problem}.")

        if shared.later and not shared.watch.on and move.later:
            self._fetch_later(first - 1, count, block, view)
            return

        self.fetch()
        run = move.run(count)
        with queues.out:
            nbytes = block.size * block.n[3] * count
            state.timed(move.label, count, nbytes, run, first - 1, count)

        if move.reach == "own":
            if queues.waits:
                queues.stripes.wait(OUT)
        elif move.reach == "shared" and not shared.later:
            queues.stripes.wait(OUT)  # the host may read its array as soon as the call returns
        elif move.reach == "shared":
            self._leaving.add(view.storage)

    def _fetch_later(self, start: int, count: int, block, view: View) -> None:
        """Keep a copy out for `fetch`. Copies of other points, or into memory that a kept copy writes, come after."""
        low, high = block.range
        apart = all(high <= other.range[0] or other.range[1] <= low for other, _ in self._kept)
        if not apart or self._points != (start, count):
            self.fetch()
        self._points = start, count
        self._kept.append((block, view.matrix))
        self._leaving.add(view.storage)

    def fetch(self) -> None:
        """Queue the copies out that were kept."""
        if self._kept:
            kept, self._kept = self._kept, []
            with self._state.queues.out:
                self._state.marshal.scatter_together(kept, *self._points)

    def wait(self) -> None:
        """Wait for all work that stripe calls of this thread have queued."""
        self.fetch()
        self._state.queues.stripes.wait()
        self._leaving.clear()

    def clear(self) -> None:
        """Forget the stripe and the values of all views, after the copies that are queued."""
        if self._state.staleness.filled:
            self.wait()
            self._state.staleness.empty()

    def drop_views(self) -> None:
        """Keep no view alive."""
        self._last_fraction = None


class _Move:
    """Copies between a block and rows of a view. A number of points that comes twice is bound, if the block is pinned:
    binding takes longer than a copy, and a bound copy is faster."""

    def __init__(self, marshal, verb: str, block, rows, label: Label):
        self.label = label
        self.reach = marshal.reach(block)
        self.later = self.reach == "shared"  # whether the copy may be queued, for a launch that does several
        if self.reach == "mixed":  # pageable arrays among them have been copied when the call returns
            self.reach = "shared"

        self._marshal = marshal
        self._verb = verb
        self._pairs = marshal.alike([(block, rows)])
        self._pinned = all(marshal.backend.pinned(*array.range) for array in block.arrays)

        each = [functools.partial(getattr(marshal, verb), part, view=view) for part, view in self._pairs]
        self._direct = each[0] if len(each) == 1 else functools.partial(_one_after_another, each)
        self._bound: dict[int, Any] = {}  # run(start, count) by number of points; None: it came once

    def run(self, count: int):
        """run(start, count) copies `count` points."""
        if not self._pinned:
            return self._direct

        if count not in self._bound:
            if len(self._bound) >= COUNTS:
                self._bound.clear()
            self._bound[count] = None
            return self._direct

        bound = self._bound[count]
        if bound is None:
            bound = self._bound[count] = self._marshal.moves(self._verb, self._pairs, points=count).run
        return bound


def _one_after_another(copies, start: int, count: int) -> None:
    for copy in copies:
        copy(start, count)
