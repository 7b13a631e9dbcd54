"""Block calls: the chunk loop over whole selections, with copies in, kernels and copies out side by side.

A call is resolved once, and run as often as the host repeats it. The views are used in parts, one for each piece of
the block that is under way. Pinned arrays whose points lie one behind the other go by copy engines; the others that
kernels reach are read and written where they lie, all of a direction in one launch. Pageable ones are packed by threads
of the CPU into a pinned buffer that has parts as well: they pack the next piece while the calling thread queues what is
to be done with this one. Where all arrays are pageable and the kernels touch each number once, they read and write that
buffer across the link, and nothing is copied on the device.
"""

from __future__ import annotations

from typing import Any

from kernels.engine.backend.base import IN, OUT, QUEUES, WORK, Lent, Pointer
from kernels.marshal import LATER, PAST, rows_block

from .launcher import Launcher
from .watch import COPIES_IN, COPIES_OUT, HOST, KERNELS

PARTS = 3  # pieces under way on a device
PIECES = 7  # of a block that is no larger than the views
PACKED = PAST | LATER  # how threads of the CPU pack
LEAST = 8192  # points of a piece: with fewer, launching them takes longer than copying


class BlockCall:
    """inputs, outputs: (view, Block) pairs. launcher: what makes the outputs from the inputs. order: one of the inputs'
    views, which the launcher does not read: points of similar numbers there are worked on side by side. head: run(n)
    that works on the first n points where the host's arrays lie: with these results the way out is busy while copies
    bring the next piece.

    An address of the host's memory is used only in the call that names it: `holds` says whether that memory is still
    reached as it was found.
    """

    def __init__(self, impl, launcher: Launcher, inputs, outputs, order=None, head=None):
        self._impl, self._launcher, self._order = impl, launcher, order
        self._marshal, self._pipe = impl.marshal, impl.pipe
        self._inputs, self._geometry = inputs, (*outputs, *inputs)[-1][1]
        self.total = self._geometry.points
        self._checked, self._pins = impl.check.on, impl.backend.pins
        device = impl.backend.memory == "device"
        self._found = [(block, self._marshal.reach(block)) for _, block in (*inputs, *outputs)]
        self._hosts = any(reach != "own" for _, reach in self._found)
        # data of the device have no other way that could run beside the kernels: one queue, whole chunks
        parts = max(1, min(PARTS, impl.chunk // LEAST)) if device and self._hosts and not self._checked else 1
        self._width = impl.chunk // parts // 32 * 32 if parts > 1 else impl.chunk
        number = max(-(-self.total // self._width), min(PIECES, self.total // LEAST)) if parts > 1 else 1
        self._piece = -(-self.total // number // 32) * 32 if parts > 1 else self._width
        self._head = head if parts > 1 else None
        self._asked = [
            (block, reach)
            for block, reach in self._found
            if reach == "shared" and not impl.backend.pinned(*block.range)
        ]
        self._device = device
        # Y without its last species, and Q with one row less than it has
        self._rests = [
            self._marshal.last_fraction(impl.views["Y"].matrix)
            for view, block in inputs
            if block.n[3] < view.rows or (view.parts and impl.nq == impl.ns + 4)
        ]
        straight = device and not (self._checked or self._rests or order) and self._may_go_straight(inputs, outputs)
        self._in, self._out = (
            _Direction(name, self._marshal, fields, parts, self._width, self._piece, impl.dtype, straight)
            for name, fields in (("gather", inputs), ("scatter", outputs))
        )
        both = {view.storage for view, _ in inputs} & {view.storage for view, _ in outputs}
        self._steps = [
            (
                self._pipe.step(IN, part, (WORK, OUT) if both else (WORK,)),
                self._pipe.step(WORK, part, (IN, OUT)),
                self._pipe.step(OUT, part, (WORK, IN)),
            )
            for part in range(parts)
        ]
        self._ahead = self._pipe.step(OUT, parts - 1)
        # (queue, its step, launch) of each part: pieces in different queues fill and drain the link side by side
        self._straight: list[tuple] = []
        for part in range(parts) if straight else ():
            lent = self._in.lent(part * self._width, self._width) | self._out.lent(part * self._width, self._width)
            queue = QUEUES[part % len(QUEUES)]
            run = launcher.program.bind(lent, across=True)
            self._straight.append((queue, self._pipe.step(queue, part), run))
        # with one queue and nothing between, three calls do a piece: small blocks are bound by what surrounds them
        plain = not (device or self._checked or self._rests or order)
        self._three = (self._in.run, launcher.run[0], self._out.run) if plain else None

    def _may_go_straight(self, inputs, outputs) -> bool:
        """Whether the launch may work on the pinned buffers: all arrays go through them, each number is touched once,
        and other ranks do not wait for this one's kernels."""
        program = self._launcher.program
        names = [part.name for view, _ in (*inputs, *outputs) for part in view.parts or (view,)]
        return (
            program.touches_once
            and not self._impl.turns
            and all(reach == "no" for _, reach in self._found)
            and len(set(names)) == len(names)
            and {*program.reads, *program.writes} <= set(names)
            and all(block.n[3] == view.rows for view, block in outputs)
        )

    def holds(self) -> bool:
        """Whether the call may be run again: nothing was pinned or unpinned since, check mode is as it was."""
        return (
            self._pins == self._impl.backend.pins
            and self._checked == self._impl.check.on
            and self._in.holds()
            and self._out.holds()
            and all(self._marshal.reach(block) == reach for block, reach in self._asked)
        )

    def run(self) -> None:
        """All pieces. Returns when the host may use its arrays."""
        impl, pipe = self._impl, self._pipe
        impl.forget()
        if self._three and not impl.watch.on:
            into, work, out = self._three
            for first in range(0, self.total, self._piece):
                count = min(self._piece, self.total - first)
                into(first, count, 0)
                work(count)
                out(first, count, 0)
            return
        pipe.begin()
        parts, begin = len(self._steps), 0
        try:
            if self._head:
                begin = min(self._piece, self.total)
                with self._ahead:
                    impl.timed(KERNELS, "", self._launcher.name, begin, 0, self._head, begin)
            firsts = range(begin, self.total, self._piece)
            pieces = [(first, min(self._piece, self.total - first), n % parts) for n, first in enumerate(firsts)]
            packs, unpacks = self._in.packed, self._out.packed
            for n, piece in enumerate(pieces):
                other = pieces[n + 1] if packs and parts > 1 and n + 1 < len(pieces) else None
                if packs and (n == 0 or parts == 1):
                    self._pack(*piece)
                    self._finish()
                if other:
                    self._pack(*other)
                self._queue(*piece)
                if other:
                    self._finish()
                if unpacks and n + 1 >= parts:
                    self._unpack(*pieces[n + 1 - parts])
            if unpacks:
                for piece in pieces[len(pieces) + 1 - parts :]:
                    self._unpack(*piece)
            elif self._hosts or (self._device and impl.waits):
                impl.timed(HOST, "block", "wait", self.total, 0, pipe.wait, OUT)
            else:
                pipe.end()
        except BaseException:
            if self._in.packed:
                self._marshal.packer.finish()
            pipe.wait()  # what was queued uses the host's memory
            raise

    def _pack(self, first: int, count: int, part: int) -> None:
        """Begin to pack a piece; `_finish` ends it."""
        self._pipe.wait(self._straight[part][0] if self._straight else IN, part)  # the last piece has left the buffer
        column, nbytes = part * self._width, count * self._in.packs
        self._impl.timed(HOST, "block", "pack", count, nbytes, self._in.packed.run, first, count, column)

    def _finish(self) -> None:
        self._impl.timed(HOST, "block", "pack", 0, 0, self._marshal.packer.finish)

    def _queue(self, first: int, count: int, part: int) -> None:
        impl, column = self._impl, part * self._width
        if self._straight:
            _, step, run = self._straight[part]
            with step:
                impl.timed(KERNELS, "", self._launcher.name, count, 0, run, count)
            return
        into, work, out = self._steps[part]
        with into:
            impl.timed(COPIES_IN, "block", "in", count, count * self._in.bytes, self._in.run, first, count, column)
            for rest in self._rests:
                rest(count, column)
        if self._checked:
            self._check_inputs(first, count)
        with work:
            impl.timed(KERNELS, "", self._launcher.name, count, 0, self._launch, count, column)
        if self._checked:
            self._check_results(first, count)
        with out:
            impl.timed(COPIES_OUT, "block", "out", count, count * self._out.bytes, self._out.run, first, count, column)

    def _launch(self, count: int, column: int) -> None:
        if self._order is None:
            return self._launcher.run[column](count)
        piece = slice(column, column + count)
        place = self._order.matrix[0, piece].argsort()
        for view in self._launcher.reads:
            view.matrix[:, piece] = view.matrix[:, piece][:, place]
        self._launcher.run[column](count)
        for view in self._launcher.writes:
            view.matrix[:, piece][:, place] = view.matrix[:, piece].copy()
        return None

    def _unpack(self, first: int, count: int, part: int) -> None:
        queue = self._straight[part][0] if self._straight else OUT
        self._impl.timed(HOST, "block", "wait", count, 0, self._pipe.wait, queue, part)
        column, nbytes = part * self._width, count * self._out.packs
        self._impl.timed(HOST, "block", "unpack", count, nbytes, self._out.packed.run, first, count, column)

    def _check_inputs(self, first: int, count: int) -> None:
        impl = self._impl
        for view, block in self._inputs:
            for filled in view.parts or (view,):
                impl.check.filled(filled, impl.backend.to_host(filled.matrix)[:, :count], block, first + 1)

    def _check_results(self, first: int, count: int) -> None:
        impl = self._impl
        species = impl.mixture and impl.mixture.species
        impl.check.computed(self._launcher, count, impl.backend, self._geometry, first + 1, species)


class _Direction:
    """Copies of one direction: of the arrays that kernels reach, and of those that go through the pinned buffer.
    packed: what packs or unpacks these, None where there are none. straight: kernels work on the buffer, `lent`."""

    def __init__(self, name: str, marshal, fields, parts: int, width: int, piece: int, dtype, straight: bool):
        reached: list[tuple] = []
        staged: list[tuple] = []
        self.packed: Any = None
        for view, block in fields:
            matrix = view.matrix if block.n[3] == view.rows else view.matrix[: block.n[3]]
            (staged if marshal.reach(block) == "no" else reached).append((block, matrix))
        self._reached = marshal.moves(name, reached, points=piece) if reached else None
        self.packs = sum(block.size * block.n[3] for block, _ in staged)  # bytes of a point
        self.bytes = sum(block.size * block.n[3] for block, _ in reached)
        self.bytes += sum(dtype.itemsize * block.n[3] for block, _ in staged)
        self._staged, self._buffer = None, None
        if not staged:
            return
        self._name, self._marshal = name, marshal
        rows = [block.n[3] for block, _ in staged]
        self._buffer = marshal.buffer(name, sum(rows), parts * width, dtype)  # may have more rows
        ends = [sum(rows[: n + 1]) for n in range(len(rows))]
        lent = [self._buffer[end - n : end] for n, end in zip(rows, ends)]
        self._lent = [(view, part) for (view, _), part in zip(fields, lent)]
        if not straight:
            pairs = [(rows_block(part), matrix) for part, (_, matrix) in zip(lent, staged)]
            self._staged = marshal.moves(name, pairs, points=piece, ours=True)
        past = PACKED if name == "gather" else PAST
        self.packed = marshal.packer.moves(name, [(block, part) for part, (block, _) in zip(lent, staged)], past)

    def lent(self, first: int, count: int) -> dict[str, Lent]:
        """These columns of the buffer as arrays of a launch, by name."""
        made = {}
        for view, rows in self._lent:
            end = 0
            for part in view.parts or (view,):
                there = rows[end : end + part.rows, first : first + count]
                address = there.__array_interface__["data"][0]
                made[part.name] = Lent(Pointer(address), there.shape, there.strides, there.dtype)
                end += part.rows
        return made

    def holds(self) -> bool:
        """Whether the buffer is still the one that was bound."""
        return self._buffer is None or self._marshal.buffers.get(self._name) is self._buffer

    def run(self, first: int, count: int, column: int) -> None:
        if self._reached is not None:
            self._reached.run(first, count, column)
        if self._staged is not None:
            self._staged.run(column, count, column)  # the buffer has the columns of the views
