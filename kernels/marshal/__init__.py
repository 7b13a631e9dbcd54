"""Blocks of a host, the stripes cut from them, and the copies between a block and a view.

How a block is reached depends on where it lies. Where kernels can read and write it, one kernel does it all: also the
pinned memory of a host, across the link. Copy engines bring pinned memory whose points lie one behind the other, in the
view's type. Pageable memory is packed by threads of the CPU into a pinned buffer, in the view's type, and that is a
block like any other. Each way a scatter touches the selected points alone: fringe data
that the host writes between two calls stays.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import struct
from typing import Any

import numpy as np

from ..engine.backend import get_backend
from ..engine.backend.base import Backend, Shape, Source, check_rows
from ..engine.backend.record import record
from ..engine.errors import ArgumentError

MOST_FIELDS, WORDS = 24, 11  # of a launch; of a field: marshal.h has the same
MOVES = f"start:whole column:whole past:whole fields:whole field:whole:{MOST_FIELDS * WORDS}"
FRACTIONS = "view:address ld:whole rows:whole column:whole"
SOURCE = Source("marshal", '#include "marshal/marshal.h"\n')
# On a device: a thread a point where the block is its own memory. Across the link fewer, which loop over the points:
# they are enough for the link, and copies of the other direction and kernels run beside them.
ON_DEVICE, ACROSS = Shape(256), Shape(256, resident=1)
PAST, LATER = 1, 2  # of MOVES' `past`: marshal.h
PAST_FROM = 2**15  # bytes of a row: shorter ones stay in the caches until they are copied
COPIED_FROM = 2**16  # bytes of a row: with fewer, queueing a copy takes longer than kernels that read across the link
PLACES = 64  # views whose places are remembered
RECORDS = [struct.Struct(f"{4 + WORDS * fields}q") for fields in range(MOST_FIELDS + 1)]


@dataclasses.dataclass(frozen=True)
class Block:
    """A host's 4-D array (x fastest) and a selection in it. Nothing here is validated: frame/stripe.py does that.

    Each tuple has four numbers. address: of element (0, 0, 0, 0). shape: (nx, ny, nz, variables). strides: in elements,
    for x, y, z, variable. lo: zero-based start of the selection; n: its extents. on_device: address is device memory.
    size: bytes of an element, 8 or 4. lower: what the host calls index 0 in x, y, z; messages say it.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    lo: tuple[int, ...]
    n: tuple[int, ...]
    on_device: bool = False
    size: int = 8
    lower: tuple[int, ...] = (1, 1, 1)

    @functools.cached_property
    def first(self) -> int:
        """Address of the selection's first element."""
        return self.address + self.size * sum(a * s for a, s in zip(self.lo, self.strides))

    @property
    def points(self) -> int:
        return self.n[0] * self.n[1] * self.n[2]

    @property
    def whole(self) -> bool:
        """Whether the selected points lie one behind the other in memory."""
        step = 1
        for n, stride in zip(self.n[:3], self.strides):
            if n > 1 and stride != step:
                return False
            step *= n
        return True

    @functools.cached_property
    def range(self) -> tuple[int, int]:
        """Addresses of the selection's lowest byte and of the one behind its highest."""
        reach = [(n - 1) * stride for n, stride in zip(self.n, self.strides)]
        low, high = (sum(pick(r, 0) for r in reach) for pick in (min, max))
        return self.first + self.size * low, self.first + self.size * (high + 1)


def rows_block(array) -> Block:
    """A matrix (rows, points) of the host's as a block that is selected as a whole."""
    rows, points = array.shape
    pitch = array.strides[0] // array.itemsize
    address = array.__array_interface__["data"][0]
    return Block(address, (points, 1, 1, rows), (1, 0, 0, pitch), (0,) * 4, (points, 1, 1, rows), size=array.itemsize)


class Moves:
    """Copies between selections and views, bound once. Addresses of the host are in it: it may be run in calls that
    name the same arrays. It keeps the views."""

    def __init__(self, marshal: Marshal, name: str, pairs, past: int, points: int, ours: bool):
        copied = [
            marshal.copied(block, view, points, "ours" if ours else marshal.reach(block)) for block, view in pairs
        ]
        alone = [pair for pair, by_engine in zip(pairs, copied) if by_engine]
        self._copies, self._views = [marshal.copier(name, alone)] if alone else [], [view for _, view in pairs]
        pairs = [pair for pair, by_engine in zip(pairs, copied) if not by_engine]
        across = any(marshal.reach(block) != "own" for block, _ in pairs)
        self._launches = []
        for first in range(0, len(pairs), MOST_FIELDS):
            part, arguments = pairs[first : first + MOST_FIELDS], record(MOVES)
            words = [word for block, view in part for word in marshal.words(block, view)]
            arguments["past"], arguments["fields"], arguments["field"][0, : len(words)] = past, len(part), words
            run = marshal.module.bind(f"{name}_{part[0][1].itemsize}", ACROSS if across else ON_DEVICE, arguments)
            self._launches.append((arguments.view(np.int64).data, run))

    def run(self, start: int, count: int, column: int = 0) -> None:
        """Selected points start .. start + count - 1 from or to columns column .. of the views."""
        for copy in self._copies:
            copy(start, count, column)
        for words, launch in self._launches:
            words[0], words[1] = start, column
            launch(count)


class Marshal:
    """gather and scatter on one backend. On a device both are queued: gather has read pageable memory when it returns,
    memory that kernels reach (`reach`) is read and written later; scatter has written pageable memory.
    """

    def __init__(self, backend: Backend, module=None):
        self.backend, self._packers = backend, 1
        self.module = module or backend.compile(SOURCE)
        self._functions: dict = {}
        self._places: dict[
            tuple[int, int], tuple
        ] = {}  # of the last views; looking takes longer than the copy of a few
        self._staged: list = []  # two buffers on their way in, used in turns, then one on its way out
        self.buffers: dict[str, np.ndarray] = {}  # of block calls, by the way
        self._memory: dict[str, Any] = {}  # theirs

    def gather(self, block: Block, start: int, count: int, view) -> str:
        """Selected points start .. start + count - 1 of each selected variable -> view[v, :count]. Returns `reach`."""
        return self._move("gather", block, start, count, view)

    def scatter(self, block: Block, start: int, count: int, view) -> str:
        """view[v, :count] -> selected points start .. start + count - 1 of each selected variable, and nothing else.
        Returns `reach`."""
        return self._move("scatter", block, start, count, view)

    def scatter_together(self, pairs, start: int, count: int) -> None:
        """The same for several (block, view) of views of one type, in memory that kernels reach across a link: one
        launch, besides those that copy engines bring. The blocks are apart."""
        near = []
        for block, view in pairs:
            if self.copied(block, view, count, "shared"):
                self.copier("scatter", [(block, view)])(start, count, 0)
            else:
                near.append(self.words(block, view, count))
        for first in range(0, len(near), MOST_FIELDS):
            part = near[first : first + MOST_FIELDS]
            self._launch("scatter", pairs[0][1].itemsize, start, count, part, across=True)

    def _move(self, name: str, block: Block, start: int, count: int, view) -> str:
        reach = self.reach(block)
        if count < 1:
            return reach
        if reach != "no":
            self._straight(name, block, start, count, view, reach)
            return reach
        slot, other, out = self._buffers()
        if name == "gather":
            self._staged = [other, slot, out]
        else:
            slot = out
        packed = slot.rows(block.n[3], self.packer.backend.pad(count), view.dtype)  # waits for its last copy
        lent, past = rows_block(packed), PAST * (count * view.itemsize >= PAST_FROM)
        if name == "gather":
            self.packer._launch(name, view.itemsize, start, count, [self.packer.words(block, packed)], past)
            self._straight(name, lent, 0, count, view, "ours")
            slot.used()
        else:
            self._straight(name, lent, 0, count, view, "ours")
            self.backend.synchronize()
            self.packer._launch(name, view.itemsize, start, count, [self.packer.words(block, packed)], past)
        return reach

    def _straight(self, name: str, block: Block, start: int, count: int, view, reach: str) -> None:
        """Between a view and memory that kernels reach. reach: "ours" of a pinned buffer."""
        if self.copied(block, view, count, reach):
            self.copier(name, [(block, view)])(start, count, 0)
        else:
            self._launch(name, view.itemsize, start, count, [self.words(block, view, count)], across=reach != "own")

    def copied(self, block: Block, view, points: int, reach: str) -> bool:
        """Whether copy engines bring so many points at a time: each variable's lie one behind the other, in the view's
        type, and there are enough. reach: see there; "ours" of a pinned buffer."""
        return (
            reach in ("shared", "ours")
            and points * block.size >= COPIED_FROM
            and block.size == view.itemsize
            and block.whole
            and (reach == "ours" or self.backend.copied(*block.range))
        )

    def copier(self, name: str, pairs):
        """copy(start, count, column): as `Moves.run`, by copy engines, an array at a time."""
        ends = []
        for block, view in pairs:
            first, there, row, rows = self.words(block, view)[:4]
            size = block.size  # the same for all
            ends.append((there, size * row, first, size * block.strides[3], rows))
        queue = self.backend.copier(ends, name == "gather")
        return lambda start, count, column: queue(size * column, size * start, size * count)

    def moves(self, name: str, pairs, past: int = 0, points: int = 0, ours: bool = False) -> Moves:
        """gather or scatter of these (block, view): one launch, and the copies of those that copy engines bring.
        points: in most runs. ours: the blocks are buffers of the backend's. past: PAST, LATER, which `finish` ends, or
        both; see marshal.h."""
        return Moves(self, name, pairs, past, points, ours)

    @functools.cached_property
    def finish(self):
        """finish(): what this thread's moves with LATER began is done."""
        return functools.partial(self.module.bind("finish_moves", Shape(256), record(MOVES)), 1)

    def buffer(self, name: str, rows: int, columns: int, dtype) -> np.ndarray:
        """A matrix of pinned memory with at least so many rows. It is kept; a larger one takes its place."""
        kept = self.buffers.get(name)
        if kept is None or kept.shape[0] < rows or kept.shape[1] != columns or kept.dtype != dtype:
            self.buffers.pop(name, None), self._memory.pop(name, None)  # before the larger one is made
            self._memory[name] = self.backend.staging()
            kept = self.buffers[name] = self._memory[name].rows(rows, columns, dtype)
        return kept

    def last_fraction(self, view):
        """run(count, column): the last row of view (rows, row length) is 1 less the others. Points do not depend on
        their place."""
        arguments = record(FRACTIONS, view=self.backend.address(view), rows=view.shape[0])
        arguments["ld"] = view.strides[0] // view.itemsize
        run = self.module.bind(f"last_fraction_{view.itemsize}", Shape(256), arguments, keep=view)

        def at(count: int, column: int) -> None:
            arguments["column"] = column
            run(count)

        return at

    def twin(self) -> Marshal:
        """The same with buffers and arguments of its own, for another thread."""
        other = Marshal(self.backend, self.module)
        other.pack_with(self._packers)
        return other

    def pack_with(self, threads: int) -> None:
        """How many threads pack pageable memory."""
        if threads != self._packers:
            self._packers = threads
            self.__dict__.pop("packer", None)

    def let_go(self) -> None:
        """Keep no view alive."""
        self._places.clear()

    def release(self) -> None:
        """Give back the buffers, and let go of the views. Nothing may be under way."""
        self.let_go()
        for slot in (*self._staged, *self._memory.values()):
            slot.free()
        self._staged = []
        self.buffers.clear()
        self._memory.clear()

    def reach(self, block: Block) -> str:
        """How kernels come to the block's memory, see Backend.reach."""
        return "own" if block.on_device else self.backend.reach(*block.range)

    @functools.cached_property
    def packer(self) -> Marshal:
        """What packs pageable memory, on the CPU."""
        return Marshal(get_backend("cpu", threads=self._packers))

    def words(self, block: Block, view, count: int = 1) -> tuple[int, ...]:
        """A field of the record."""
        nx, ny, _, variables = block.n
        address, row, length = self._place(view, variables)
        if count > length:
            raise ArgumentError(f"{count} points for a view of {length}.")
        return (block.first, address, row, variables, nx, ny, *block.strides, block.size)

    def _place(self, view, rows: int) -> tuple[int, int, int]:
        """(address, elements from one row to the next, row length) of a view, after checking its shape."""
        key = id(view), rows
        kept = self._places.get(key)
        if kept is None or kept[0] is not view:
            stride, length = check_rows("view", view, rows, view.dtype)
            if len(self._places) >= PLACES:
                self._places.clear()
            kept = self._places[key] = view, (self.backend.address(view), stride if rows > 1 else length, length)
        return kept[1]

    def _buffers(self):
        if not self._staged:
            self._staged = [self.backend.staging() for _ in range(3)]
        return self._staged

    def _launch(
        self, name: str, size: int, start: int, count: int, fields, past: int = 0, across: bool = False
    ) -> None:
        key = name, size, across
        if key not in self._functions:
            arguments = record(MOVES)
            run = self.module.bind(f"{name}_{size}", ACROSS if across else ON_DEVICE, arguments)
            self._functions[key] = arguments.view(np.uint8).data, run
        arguments, run = self._functions[key]
        RECORDS[len(fields)].pack_into(arguments, 0, start, 0, past, len(fields), *itertools.chain(*fields))
        run(count)
