"""Block calls through the views: copies in, kernels and copies out, piece by piece, side by side on a device.

The views are divided into parts, a part for each piece of the block that is under way. Three kinds of arrays are
brought in three ways:

- pinned arrays with contiguous points: by copy engines;
- other arrays that kernels reach: read and written where they lie, all of a direction in one launch;
- pageable arrays: threads of the CPU pack them into a pinned buffer, which has parts as well. They pack the next piece
  while the calling thread queues the work on this one.

If all arrays are pageable and the kernels touch each number once, kernels read and write that buffer across the link,
and nothing is copied on the device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kernels.engine.backend.base import IN, OUT, QUEUES, WORK, Rows
from kernels.marshal import LATER, PAST, rows_block

from ..watch import COPIES_IN, COPIES_OUT, HOST, Label
from .launchers import Launcher
from .queues import PARTS
from .state import ThreadState
from .views import View

PIECES = 7  # of a block that is no larger than the views
PACKED = PAST | LATER  # how threads of the CPU pack
LEAST = 8192  # points of a piece: with fewer, launching them takes longer than copying
ROUND = 32  # the first point of a piece is a multiple of this number

# The timers of a block call, beside that of its kernels.
PACKING = Label(HOST, "block pack")
UNPACKING = Label(HOST, "block unpack")
WAITING = Label(HOST, "block wait")
COMING = Label(COPIES_IN, "block in")
LEAVING = Label(COPIES_OUT, "block out")


class Piece(NamedTuple):
    """A range of the selected points, and the part of the views that it uses."""

    first: int
    points: int
    part: int


class Straight(NamedTuple):
    """A launch on a part of the pinned buffers. Parts are in different queues: they fill and drain the link side by
    side."""

    queue: int
    step: Any  # context of that queue
    run: Any  # run(points)


class PieceLoop:
    """A block call through the views, bound to the host's arrays.

    request: the call; see block_calls.Request. launcher: computes the outputs from the inputs. head: run(n) that
    works on the first n points where the host's arrays lie, or None. With these results the way out is busy while
    copies bring the next piece.
    """

    def __init__(self, state: ThreadState, launcher: Launcher, request, head=None):
        shared, views = state.shared, state.views
        self._state = state
        self._launcher = launcher
        self._order = views[request.order[0][0]] if request.order else None
        self._inputs = [(views[name], block) for name, block in request.read]
        outputs = [(views[name], block) for name, block in request.outputs]
        self._geometry = (*outputs, *self._inputs)[-1][1]  # turns a point into (i, j, k)
        self.total = self._geometry.points

        self._apart = shared.backend.apart
        self._checked = shared.check.on
        reaches = [state.marshal.reach(block) for _, block in (*self._inputs, *outputs)]
        self._hosts = any(reach != "own" for reach in reaches)

        self._divide(head)
        self._bind_fractions()
        plain = not (self._checked or self._rests or self._order)
        straight = self._apart and plain and self._may_go_straight(outputs, reaches)
        self._bind_directions(outputs, straight)
        self._bind_steps(outputs)
        self._bind_straight(straight)

        # Without a device, and with nothing between the steps, three calls do a piece.
        self.run = self._bind_in_order() if plain and not self._apart else self._run_beside

    # ---- bind

    def _divide(self, head) -> None:
        """Choose parts of the views and pieces of the block. Data of the device has no other way that could run beside
        the kernels: one queue, whole chunks."""
        chunk = self._state.shared.chunk
        self._parts = 1
        if self._apart and self._hosts and not self._checked:
            self._parts = max(1, min(PARTS, chunk // LEAST))

        if self._parts == 1:
            self._width = chunk  # points of a part
            self._piece = chunk
            self._head = None
            return

        self._width = chunk // self._parts // ROUND * ROUND
        number = max(_ceil(self.total, self._width), min(PIECES, self.total // LEAST))
        self._piece = _ceil(self.total, number * ROUND) * ROUND
        self._head = head

    def _bind_fractions(self) -> None:
        """The last mass fraction is computed for Y without the last species, and for Q without the last row of the
        view."""
        views, marshal = self._state.views, self._state.marshal
        self._rests = []
        for view, block in self._inputs:
            if views.lacks_last(view, block.n[3]):
                self._rests.append(marshal.last_fraction(views["Y"].matrix))

    def _may_go_straight(self, outputs, reaches) -> bool:
        """Whether the launch may work on the pinned buffers: all arrays go through them, each number is touched once,
        and other ranks do not wait for the kernels of this rank."""
        program = self._launcher.program
        if self._state.shared.turns or not program.touches_once:
            return False
        if any(reach != "no" for reach in reaches):
            return False
        if any(block.n[3] != view.rows for view, block in outputs):
            return False
        if any(len(self._state.marshal.alike([(block, view.matrix)])) > 1 for view, block in (*self._inputs, *outputs)):
            return False

        names = []
        for view, _ in (*self._inputs, *outputs):
            names += [part.name for part in view.rows_by_name]
        return len(set(names)) == len(names) and {*program.reads, *program.writes} <= set(names)

    def _bind_directions(self, outputs, straight: bool) -> None:
        layout = _Layout(self._parts, self._width, self._piece, straight)
        before = dict(self._state.marshal.buffers)
        self._in = _Direction("gather", self._state, self._inputs, layout)
        self._out = _Direction("scatter", self._state, outputs, layout)

        # Calls that were bound to a buffer are bound again if a larger buffer has taken its place.
        now = self._state.marshal.buffers
        if any(now.get(name) is not buffer for name, buffer in before.items()):
            self._state.shared.change()

    def _bind_steps(self, outputs) -> None:
        pipe = self._state.queues.pipe
        read = {view.storage for view, _ in self._inputs}
        written = {view.storage for view, _ in outputs}
        before_in = (WORK, OUT) if read & written else (WORK,)

        self._steps = []
        for part in range(self._parts):
            into = pipe.step(IN, part, before_in)
            work = pipe.step(WORK, part, (IN, OUT))
            out = pipe.step(OUT, part, (WORK, IN))
            self._steps.append((into, work, out))

        self._ahead = pipe.step(OUT, self._parts - 1)

    def _bind_straight(self, straight: bool) -> None:
        self._straight: list[Straight] = []
        for part in range(self._parts) if straight else ():
            column = part * self._width
            lent = self._in.lent(column, self._width) | self._out.lent(column, self._width)
            queue = QUEUES[part % len(QUEUES)]
            step = self._state.queues.pipe.step(queue, part)
            run = self._launcher.program.bind(lent, across=True)
            self._straight.append(Straight(queue, step, run))

    # ---- run

    def _bind_in_order(self):
        """run() of all pieces one after the other. The time of a small block is the time around the kernels, so there
        are few steps."""
        into, work, out = self._in.short, self._launcher.run[0], self._out.short
        watch, total, piece = self._state.shared.watch, self.total, self._piece

        def run() -> None:
            if watch.on:
                self._run_beside()
                return

            for first in range(0, total, piece):
                count = min(piece, total - first)
                into(first, count, 0)
                work(count)
                out(first, count, 0)

        return run

    def _run_beside(self) -> None:
        """All pieces, copies beside kernels. Returns when the host may use its arrays."""
        pipe = self._state.queues.pipe
        pipe.begin()

        try:
            begin = self._run_head()
            self._run_pieces(self._pieces(begin))
        except BaseException:
            if self._in.packed:
                self._state.marshal.packer.finish()
            pipe.wait()  # the queued work uses the host's memory
            raise

    def _run_head(self) -> int:
        """Launch the head, if there is one; returns the number of its points."""
        if not self._head:
            return 0

        count = min(self._piece, self.total)
        with self._ahead:
            self._state.timed(self._launcher.label, count, 0, self._head, count)
        return count

    def _pieces(self, begin: int) -> list[Piece]:
        pieces = []
        for number, first in enumerate(range(begin, self.total, self._piece)):
            count = min(self._piece, self.total - first)
            pieces.append(Piece(first, count, number % self._parts))
        return pieces

    def _run_pieces(self, pieces: list[Piece]) -> None:
        packs, unpacks = self._in.packed, self._out.packed
        for number, piece in enumerate(pieces):
            # The first piece is packed before it is queued. Each later piece is packed while the piece before is
            # queued.
            ahead = None
            if packs and self._parts > 1 and number + 1 < len(pieces):
                ahead = pieces[number + 1]

            if packs and (number == 0 or self._parts == 1):
                self._pack(piece)
                self._finish()

            if ahead:
                self._pack(ahead)
            self._queue(piece)
            if ahead:
                self._finish()

            # A piece is unpacked when a later piece needs the same part of the buffer.
            if unpacks and number + 1 >= self._parts:
                self._unpack(pieces[number + 1 - self._parts])

        if unpacks:
            for piece in pieces[len(pieces) + 1 - self._parts :]:
                self._unpack(piece)
            return

        pipe = self._state.queues.pipe
        if self._hosts or (self._apart and self._state.queues.waits):
            self._state.timed(WAITING, self.total, 0, pipe.wait, OUT)
        else:
            pipe.end()

    def _pack(self, piece: Piece) -> None:
        """Begin to pack a piece; `_finish` ends it."""
        first, count, part = piece
        queue = self._straight[part].queue if self._straight else IN
        self._state.queues.pipe.wait(queue, part)  # the last piece has left the buffer

        nbytes = count * self._in.packs
        column = part * self._width
        self._state.timed(PACKING, count, nbytes, self._in.packed.run, first, count, column)

    def _finish(self) -> None:
        self._state.timed(PACKING, 0, 0, self._state.marshal.packer.finish)

    def _queue(self, piece: Piece) -> None:
        first, count, part = piece
        timed, label = self._state.timed, self._launcher.label

        if self._straight:
            _, step, run = self._straight[part]
            with step:
                timed(label, count, 0, run, count)
            return

        column = part * self._width
        into, work, out = self._steps[part]
        with into:
            timed(COMING, count, count * self._in.bytes, self._in.run, first, count, column)
            for rest in self._rests:
                rest(count, column)

        if self._checked:
            self._check_inputs(first, count)

        with work:
            timed(label, count, 0, self._launch, count, column)
        if self._checked:
            self._check_results(first, count)

        with out:
            timed(LEAVING, count, count * self._out.bytes, self._out.run, first, count, column)

    def _launch(self, count: int, column: int) -> None:
        if self._order is None:
            self._launcher.run[column](count)
        else:
            self._launch_in_order(self._order, count, column)

    def _launch_in_order(self, order: View, count: int, column: int) -> None:
        """Points with similar values of the view `order` are worked on side by side."""
        piece = slice(column, column + count)
        place = order.matrix[0, piece].argsort()
        for view in self._launcher.reads:
            view.matrix[:, piece] = view.matrix[:, piece][:, place]
        self._launcher.run[column](count)

        for view in self._launcher.writes:
            view.matrix[:, piece][:, place] = view.matrix[:, piece].copy()

    def _unpack(self, piece: Piece) -> None:
        first, count, part = piece
        queue = self._straight[part].queue if self._straight else OUT
        self._state.timed(WAITING, count, 0, self._state.queues.pipe.wait, queue, part)

        nbytes = count * self._out.packs
        column = part * self._width
        self._state.timed(UNPACKING, count, nbytes, self._out.packed.run, first, count, column)

    # ---- check mode

    def _check_inputs(self, first: int, count: int) -> None:
        shared = self._state.shared
        for view, block in self._inputs:
            for filled in view.rows_by_name:
                values = shared.backend.to_host(filled.matrix)[:, :count]
                shared.check.filled(filled, values, block, first + 1)

    def _check_results(self, first: int, count: int) -> None:
        shared = self._state.shared
        species = shared.mixture and shared.mixture.species
        shared.check.computed(self._launcher, count, shared.backend, self._geometry, first + 1, species)


class _Layout(NamedTuple):
    """How the views and the buffers are divided."""

    parts: int
    width: int  # points of a part
    piece: int  # points of most pieces
    straight: bool  # kernels work on the buffers


class _Direction:
    """Copies of one direction: of the arrays that kernels reach, and of the arrays that go through the pinned buffer.

    name: "gather" or "scatter". fields: (view, Block) pairs.
    """

    def __init__(self, name: str, state: ThreadState, fields, layout: _Layout):
        marshal, dtype = state.marshal, state.shared.dtype
        reached: list[tuple] = []
        staged: list[tuple] = []
        staged_views = []

        for view, block in fields:
            variables = block.n[3]
            rows = view.matrix if variables == view.rows else view.matrix[:variables]

            for alike in marshal.alike([(block, rows)]):
                if marshal.reach(alike[0]) == "no":
                    staged.append(alike)
                    staged_views.append(view)
                else:
                    reached.append(alike)

        self.packs = sum([block.size * block.n[3] for block, _ in staged])  # bytes of a point in the host's memory
        self.bytes = sum([block.size * block.n[3] for block, _ in reached])  # bytes of a point across the link
        self.bytes += sum([dtype.itemsize * block.n[3] for block, _ in staged])

        self._reached = marshal.moves(name, reached, points=layout.piece) if reached else None
        self._staged: Any = None
        self.packed: Any = None  # packs or unpacks the buffer; None: nothing goes through it
        self._lent: list[tuple] = []

        if staged:
            self._bind_buffer(name, state, staged_views, staged, layout)

    def _bind_buffer(self, name: str, state: ThreadState, views, staged, layout: _Layout) -> None:
        marshal = state.marshal
        total = sum([block.n[3] for block, _ in staged])
        buffer = marshal.buffer(name, total, layout.parts * layout.width, state.shared.dtype)  # may have more rows

        # Rows of the buffer for each array.
        parts, end = [], 0
        for block, _ in staged:
            parts.append(buffer[end : end + block.n[3]])
            end += block.n[3]

        self._lent = list(zip(views, parts))

        if not layout.straight:
            pairs = [(rows_block(part), rows) for part, (_, rows) in zip(parts, staged)]
            self._staged = marshal.moves(name, pairs, points=layout.piece, ours=True)

        past = PACKED if name == "gather" else PAST
        pairs = [(block, part) for part, (block, _) in zip(parts, staged)]
        self.packed = marshal.packer.moves(name, pairs, past)

    def lent(self, first: int, count: int) -> dict[str, Rows]:
        """Columns first .. first + count - 1 of the buffer as arrays of a launch, by name."""
        arrays = {}
        for view, rows in self._lent:
            end = 0
            for part in view.rows_by_name:
                there = rows[end : end + part.rows, first : first + count]
                address = there.__array_interface__["data"][0]
                arrays[part.name] = Rows.even(address, part.rows, there.strides[0], count, there.dtype)
                end += part.rows

        return arrays

    @property
    def short(self) -> Callable[[int, int, int], None]:
        """`run` with as few steps as possible."""
        return self.run if self._reached is None or self._staged is not None else self._reached.run

    def run(self, first: int, count: int, column: int) -> None:
        """Copy selected points first .. first + count - 1 from or to columns `column` .. of the views."""
        if self._reached is not None:
            self._reached.run(first, count, column)
        if self._staged is not None:
            self._staged.run(column, count, column)  # the buffer has the columns of the views


def _ceil(a: int, b: int) -> int:
    return -(-a // b)
