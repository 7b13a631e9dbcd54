"""Copies between a block of the host and a view: gather (block to view) and scatter (view to block).

Three ways, by the memory of the block:

- Kernels can read and write it (also pinned memory of the host, across the link): a single kernel copies.
- Pinned memory with contiguous points in the type of the view: the copy engines of the device copy.
- Pageable memory: CPU threads pack it into a pinned buffer, in the type of the view. From there as above.

A scatter writes only the selected points. Data that the host writes into the fringe between two calls stays.
"""

from __future__ import annotations

import functools
import itertools
import struct
from typing import Any

import numpy as np

from ..engine.backend import get_backend
from ..engine.backend.base import Backend, Ends, Shape, Source, check_rows
from ..engine.backend.record import record
from ..engine.errors import ArgumentError
from .blocks import Apart, Block, rows_block

__all__ = ["Apart", "Block", "LATER", "Marshal", "Moves", "PAST", "rows_block"]

# As in marshal.h.
MOST_FIELDS = 24  # fields of a launch
MOST_BASES = 192  # components of a launch that lie in arrays of their own
WORDS = 12  # words of a field in the record
PAST, LATER = 1, 2  # bits of the member `past`
MOVES = f"start:whole column:whole past:whole fields:whole field:whole:{MOST_FIELDS * WORDS} base:whole:{MOST_BASES}"
BASES_AT = 8 * (4 + MOST_FIELDS * WORDS)  # bytes in front of the member `base`
FRACTIONS = "view:address ld:whole rows:whole column:whole"
SOURCE = Source("marshal", '#include "marshal/marshal.h"\n')

# Launches on a device. A block in device memory: a thread for each point. A block across the link: few threads that
# loop over the points. They saturate the link, and leave room for kernels and for copies in the other direction.
ON_DEVICE = Shape(256)
ACROSS = Shape(256, resident=1)

PAST_FROM = (
    2**15
)  # bytes of a row from which packing bypasses the caches; shorter rows stay there until they are copied
COPIED_FROM = 2**16  # bytes of a row from which copy engines are faster than kernels that read across the link
PLACES = 64  # views whose addresses are remembered
RECORDS = [struct.Struct(f"{4 + WORDS * fields}q") for fields in range(MOST_FIELDS + 1)]  # by number of fields
BASES = [struct.Struct(f"{bases}q") for bases in range(MOST_BASES + 1)]  # by number of components


def launches(pairs):
    """Yields the (block, view) pairs of each launch: MOST_FIELDS fields and MOST_BASES components apart at most."""
    part: list[tuple] = []
    bases = 0

    for block, view in pairs:
        more = len(block.arrays) if isinstance(block, Apart) else 0
        if len(part) == MOST_FIELDS or bases + more > MOST_BASES:
            yield part
            part, bases = [], 0

        part.append((block, view))
        bases += more

    if part:
        yield part


class Moves:
    """Copies between selections and views, bound once: gather or scatter of several (block, view).

    It holds addresses of the host, so it is valid for calls with the same arrays. It keeps the views alive.
    """

    def __init__(self, marshal: Marshal, name: str, pairs, past: int, points: int, ours: bool):
        self._views: list = []

        # Pairs for the copy engines, and pairs for kernels.
        by_engine: list[tuple] = []
        by_kernel: list[tuple] = []

        for block, view in marshal.alike(pairs):
            self._views.append(view)
            reach = "ours" if ours else marshal.reach(block)
            copied = marshal.copied(block, view, points, reach)
            (by_engine if copied else by_kernel).append((block, view))

        self._copies = [marshal.copier(name, by_engine)] if by_engine else []

        across = any(marshal.reach(block) != "own" for block, _ in by_kernel)
        self._launches = []

        for part in launches(by_kernel):
            words: list[int] = []
            bases: list[int] = []
            for block, view in part:
                words += marshal.words(block, view, bases)

            arguments = record(MOVES, past=past, fields=len(part))
            arguments["field"][0, : len(words)] = words
            arguments["base"][0, : len(bases)] = bases
            itemsize = part[0][1].itemsize
            run = marshal.module.bind(f"{name}_{itemsize}", ACROSS if across else ON_DEVICE, arguments)
            self._launches.append((arguments.view(np.int64).data, run))

    def run(self, start: int, count: int, column: int = 0) -> None:
        """Copies selected points start .. start + count - 1 from or to the views, from their column `column` on."""
        for copy in self._copies:
            copy(start, count, column)
        for words, launch in self._launches:
            words[0], words[1] = start, column
            launch(count)


class Marshal:
    """gather and scatter on a backend.

    On a device both are queued. Memory that kernels reach (see `reach`) is read or written later. Pageable memory has
    been read when gather returns, and written when scatter returns.
    """

    def __init__(self, backend: Backend, module=None):
        self.backend = backend
        self._packers = 1  # CPU threads that pack pageable memory
        self.module = module or backend.compile(SOURCE)
        self._functions: dict = {}

        # (view, its address, row distance, row length) of the last views: to find these takes longer than a short copy.
        self._places: dict[tuple[int, int], tuple] = {}
        self._staged: list = []  # two pinned buffers for gather, used alternately, then a buffer for scatter
        self.buffers: dict[str, np.ndarray] = {}  # pinned matrices of block calls, by name
        self._memory: dict[str, Any] = {}  # memory of these matrices

    def gather(self, block: Block, start: int, count: int, view) -> str:
        """Copies selected points start .. start + count - 1 of each selected variable v to view[v, :count].

        Returns `reach` of the block. Raises ArgumentError for a view of another shape.
        """
        return self._move("gather", block, start, count, view)

    def scatter(self, block: Block, start: int, count: int, view) -> str:
        """Copies view[v, :count] to the selected points start .. start + count - 1 of each selected variable v.

        Writes no other element. Returns `reach` of the block. Raises ArgumentError for a view of another shape.
        """
        return self._move("scatter", block, start, count, view)

    def scatter_together(self, pairs, start: int, count: int) -> None:
        """scatter of several (block, view) in pinned memory of the host: one launch, and copies by the copy engines.

        The views have the same type, and the blocks do not overlap.
        """
        by_kernel = []
        for block, view in self.alike(pairs):
            if self.copied(block, view, count, "shared"):
                self.copier("scatter", [(block, view)])(start, count, 0)
            else:
                by_kernel.append((block, view))

        for part in launches(by_kernel):
            self._launch("scatter", start, count, part, across=True)

    def _move(self, name: str, block: Block, start: int, count: int, view) -> str:
        """gather or scatter. Returns `reach` of the block; of arrays apart, that of the last array."""
        if isinstance(block, Apart):
            for part, rows in self.alike([(block, view)]):
                reach = self._move_alike(name, part, start, count, rows)
            return reach

        return self._move_alike(name, block, start, count, view)

    def _move_alike(self, name: str, block: Block, start: int, count: int, view) -> str:
        """gather or scatter of arrays that are alike. Returns `reach` of the block."""
        reach = self.reach(block)
        if count < 1:
            return reach

        if reach != "no":
            self._straight(name, block, start, count, view, reach)
            return reach

        # Pageable memory: a pinned buffer, which is free when its last copy has ended.
        slot, other, out = self._buffers()
        if name == "gather":
            self._staged = [other, slot, out]
        else:
            slot = out

        packed = slot.rows(block.n[3], self.packer.backend.pad(count), view.dtype)
        buffer = rows_block(packed)
        past = PAST if count * view.itemsize >= PAST_FROM else 0

        # Pack and copy, or copy and unpack.
        if name == "gather":
            self.packer._launch(name, start, count, [(block, packed)], past)
            self._straight(name, buffer, 0, count, view, "ours")
            slot.used()
        else:
            self._straight(name, buffer, 0, count, view, "ours")
            self.backend.synchronize()
            self.packer._launch(name, start, count, [(block, packed)], past)

        return reach

    def _straight(self, name: str, block: Block, start: int, count: int, view, reach: str) -> None:
        """Copies between a view and memory that kernels reach. reach: "ours" for a pinned buffer of `staging`."""
        if self.copied(block, view, count, reach):
            self.copier(name, [(block, view)])(start, count, 0)
        else:
            self._launch(name, start, count, [(block, view)], across=reach != "own")

    def copied(self, block: Block, view, points: int, reach: str) -> bool:
        """Whether the copy engines copy this number of points.

        They do for pinned memory in the type of the view, if the points of each variable are contiguous and there are
        enough. reach: see `reach`; "ours" for a pinned buffer of `staging`.
        """
        return (
            reach in ("shared", "ours")
            and points * block.size >= COPIED_FROM
            and block.size == view.itemsize
            and block.whole
            and (reach == "ours" or all(self.backend.copied(*array.range) for array in block.arrays))
        )

    def copier(self, name: str, pairs):
        """Returns copy(start, count, column), as `Moves.run`: the copy engines copy an array at a time.

        The elements of all pairs have the same size.
        """
        size = pairs[0][0].size
        ends = []

        for block, view in pairs:
            _, address, row, rows = self.words(block, view, [])[:4]
            variables = rows // len(block.arrays)
            for array in block.arrays:
                ends.append(Ends(address, size * row, array.first, size * array.strides[3], variables))
                address += size * row * variables

        queue = self.backend.copier(ends, name == "gather")

        def copy(start, count, column):
            queue(size * column, size * start, size * count)

        return copy

    def moves(self, name: str, pairs, past: int = 0, points: int = 0, ours: bool = False) -> Moves:
        """gather or scatter of these (block, view), bound: one launch, and copies by the copy engines.

        past: PAST (bypass the caches), LATER (CPU threads may still copy until `finish`), or both; see marshal.h.
        points: number of points in most runs. ours: the blocks are pinned buffers of `staging`.
        """
        return Moves(self, name, pairs, past, points, ours)

    @functools.cached_property
    def finish(self):
        """finish() waits until the copies that this thread began with LATER are done."""
        return functools.partial(self.module.bind("finish_moves", Shape(256), record(MOVES)), 1)

    def buffer(self, name: str, rows: int, columns: int, dtype) -> np.ndarray:
        """A pinned matrix with at least `rows` rows. It is kept by name, until a larger matrix replaces it."""
        kept = self.buffers.get(name)
        if kept is None or kept.shape[0] < rows or kept.shape[1] != columns or kept.dtype != dtype:
            self.buffers.pop(name, None)  # free the old matrix before the new one is allocated
            self._memory.pop(name, None)
            self._memory[name] = self.backend.staging()
            kept = self.buffers[name] = self._memory[name].rows(rows, columns, dtype)

        return kept

    def last_fraction(self, view):
        """Returns run(count, column): sets the last row of view (rows, row length) to 1 less the sum of the others."""
        arguments = record(FRACTIONS, view=self.backend.address(view), rows=view.shape[0])
        arguments["ld"] = view.strides[0] // view.itemsize
        run = self.module.bind(f"last_fraction_{view.itemsize}", Shape(256), arguments, keep=view)

        def at(count: int, column: int) -> None:
            arguments["column"] = column
            run(count)

        return at

    def twin(self) -> Marshal:
        """A Marshal for another thread, with separate buffers and arguments."""
        other = Marshal(self.backend, self.module)
        other.pack_with(self._packers)
        return other

    def pack_with(self, threads: int) -> None:
        """Sets the number of CPU threads that pack pageable memory."""
        if threads != self._packers:
            self._packers = threads
            self.__dict__.pop("packer", None)

    def let_go(self) -> None:
        """Forgets the views, so that their memory can be freed."""
        self._places.clear()

    def release(self) -> None:
        """Frees the buffers and forgets the views. No copy may be in progress."""
        self.let_go()
        for slot in (*self._staged, *self._memory.values()):
            slot.free()
        self._staged = []
        self.buffers.clear()
        self._memory.clear()

    def reach(self, block: Block) -> str:
        """How kernels reach the memory of a block: "own", "shared" or "no", see Backend.reach. "mixed": arrays apart
        that differ; see `alike`."""
        found = {"own" if array.on_device else self.backend.reach(*array.range) for array in block.arrays}
        return found.pop() if len(found) == 1 else "mixed"

    def alike(self, pairs) -> list[tuple]:
        """These (block, view) pairs. Arrays apart are divided: of a pair they have the same strides, type and reach."""
        found = []
        for block, view in pairs:
            if not isinstance(block, Apart):
                found.append((block, view))
                continue

            row = 0
            for _, group in itertools.groupby(block.arrays, key=self._kind):
                arrays = list(group)
                for first in range(0, len(arrays), MOST_BASES):
                    part = Apart.of(arrays[first : first + MOST_BASES])
                    found.append((part, view[row : row + part.n[3]]))
                    row += part.n[3]

        return found

    def _kind(self, array: Block):
        """Extents, strides, size and reach, which are the same for all arrays of one field in the record."""
        return array.n[:3], array.strides[:3], array.size, self.reach(array)

    @functools.cached_property
    def packer(self) -> Marshal:
        """A Marshal on the CPU, which packs pageable memory."""
        return Marshal(get_backend("cpu", threads=self._packers))

    def words(self, block: Block, view, bases: list[int], count: int = 1) -> tuple[int, ...]:
        """The words of a field in the record. bases: the record's addresses of arrays apart; the block's are added.
        Raises ArgumentError if the view is shorter than count."""
        variables = block.n[3]
        address, row, length = self._place(view, variables)
        if count > length:
            raise ArgumentError(f"{count} points for a view of {length}.")

        first_base = -1
        if isinstance(block, Apart):
            first_base = len(bases)
            bases += [array.first for array in block.arrays]

        return (block.first, address, row, variables, *block.lines, block.strides[3], block.size, first_base)

    def _place(self, view, rows: int) -> tuple[int, int, int]:
        """(address, elements from one row to the next, row length) of a view. Raises ArgumentError for its shape."""
        key = id(view), rows
        kept = self._places.get(key)

        if kept is None or kept[0] is not view:
            stride, length = check_rows("view", view, rows, view.dtype)
            if len(self._places) >= PLACES:
                self._places.clear()
            kept = self._places[key] = view, (self.backend.address(view), stride if rows > 1 else length, length)

        return kept[1]

    def _buffers(self):
        """The three pinned buffers."""
        if not self._staged:
            self._staged = [self.backend.staging() for _ in range(3)]
        return self._staged

    def _launch(self, name: str, start: int, count: int, pairs, past: int = 0, across: bool = False) -> None:
        """Launches gather or scatter of several (block, view), no more than a launch takes, for views of one type."""
        size = pairs[0][1].itemsize
        key = name, size, across
        if key not in self._functions:
            arguments = record(MOVES)
            run = self.module.bind(f"{name}_{size}", ACROSS if across else ON_DEVICE, arguments)
            self._functions[key] = arguments.view(np.uint8).data, run

        arguments, run = self._functions[key]
        words: list[int] = []
        bases: list[int] = []
        for block, view in pairs:
            words += self.words(block, view, bases, count)

        RECORDS[len(pairs)].pack_into(arguments, 0, start, 0, past, len(pairs), *words)
        if bases:
            BASES[len(bases)].pack_into(arguments, BASES_AT, *bases)
        run(count)
