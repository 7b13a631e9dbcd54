"""A product of two tensors by tiles of its output, whatever the order of the indices (direct.h)."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import ClassVar, NamedTuple

import numpy as np

from ...engine.backend.base import Module, Shape, Source
from ...engine.backend.facts import REFERENCE
from ...engine.backend.record import record, structure
from ...engine.errors import VariantUnsuitable
from ..direct_plan import FARTHEST, MOST_DIGITS, Layout, Lie, Tile, layout
from ..fold import LEFT, OUT, RIGHT, Fold, fold
from ..plan import FAR, Program, Unable, steps
from ..prices import price_of
from . import device, library_costs
from .base import Organisation

ARRAYS = ("out", "left", "right")  # as fold.py numbers them
MOST_BLOCKS = 2**31 - 1  # of a launch
USUAL_BATCH = 64
ALIGNED = 16  # entries, after which an array is aligned as at its begin


class Rates(NamedTuple):
    """Of products by tiles on a device, fitted to 672 times of TCCG's rows on an H100."""

    memory: float  # bytes a second
    flops: float  # a second
    along: float  # times the arithmetic's time if both factors run along the sum
    step: float  # seconds that a wave of blocks waits for a step of the sum
    ends: int  # steps that the begin and the end of a tile count as


RATES = {
    "float64": Rates(memory=2.45e12, flops=5.5e13, along=2.0, step=7.6e-7, ends=8),
    "float32": Rates(memory=1.8e12, flops=6.4e13, along=2.2, step=5e-7, ends=12),
}
FEW_WAVES = 4  # with fewer waves of blocks the last counts whole
OVERLAP = 3  # exponent of the norm of the three times: 1, one after another; infinity, the longest alone


# ---- the record of arguments ----------------------------------------------------------------------------------------


def _members() -> str:
    """As direct.h reads them."""
    words = [f"at_{array}:address step_{array}:whole" for array in ARRAYS]
    words.append("at_terms:address at_spots:address at_parts:address")
    words.append("rows:whole columns:whole steps:whole row_tiles:whole column_tiles:whole")
    for group, factor in (("row", "left"), ("column", "right")):
        words.append(f"{group}_digits:whole {group}_extent:whole:{MOST_DIGITS}")
        words.append(f"{group}_{factor}:whole:{MOST_DIGITS} {group}_out:whole:{MOST_DIGITS}")
        words.append(f"{group}_weight:whole:2:{MOST_DIGITS} {group}_limit:whole:2")

    words.append(f"others:whole other_extent:whole:{MOST_DIGITS}")
    words += [f"other_{array}:whole:{MOST_DIGITS}" for array in ARRAYS]
    return " ".join([*words, "number:real"])


MEMBERS = _members()


def filled(plan: Layout, number: float) -> np.ndarray:
    """A record with the digits of a layout. number: before the sum."""
    held = record(MEMBERS, number=number, rows=plan.rows.size, columns=plan.columns.size, steps=plan.steps)
    held["row_tiles"], held["column_tiles"] = plan.row_tiles, plan.column_tiles

    for group, factor, count in (("row", LEFT, plan.rows), ("column", RIGHT, plan.columns)):
        held[f"{group}_digits"], held[f"{group}_limit"] = len(count.digits), count.limit
        for d, digit in enumerate(count.digits):
            held[f"{group}_extent"][0, d] = digit.extent
            held[f"{group}_{ARRAYS[factor]}"][0, d] = digit.step[factor]
            held[f"{group}_out"][0, d] = digit.step[OUT]
            held[f"{group}_weight"][0, :, d] = digit.weight

    held["others"] = len(plan.others)
    for d, digit in enumerate(plan.others):
        held["other_extent"][0, d] = digit.extent
        for place, array in enumerate(ARRAYS):
            held[f"other_{array}"][0, d] = digit.step[place]
    return held


# ---- the organisation -----------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Block:
    """The warps of a block."""

    warps_m: int  # along rows
    warps_n: int  # along columns
    tiles_m: int  # tiles of 16 rows of a warp
    tiles_n: int  # tiles of 8 columns of a warp

    @property
    def threads(self) -> int:
        return 32 * self.warps_m * self.warps_n

    @property
    def rows(self) -> int:
        return 16 * self.warps_m * self.tiles_m

    @property
    def columns(self) -> int:
        return 8 * self.warps_n * self.tiles_n


@dataclasses.dataclass(frozen=True)
class Flow:
    """How the sum goes through shared memory."""

    depth: int = 16  # terms at a time
    stages: int = 3  # copies that have room
    blocks: int = 1  # on a multiprocessor, which bounds the registers
    parts: int = 1  # of the sum, by different blocks


class Product(NamedTuple):
    """The one statement of a program, as a product of two tensors."""

    number: float
    adds: bool
    references: tuple  # out, left, right


class Work(NamedTuple):
    """What binds have in common whose arrays differ in their places alone."""

    tiles: Layout
    held: np.ndarray  # the record of arguments without the arrays' addresses
    tables: tuple  # of terms and places, on the device
    module: Module


@dataclasses.dataclass(frozen=True)
class Direct(Organisation):
    """A block for a tile of the output; tiles of both factors come through shared memory."""

    NAMES: ClassVar[tuple[str, ...]] = ("direct",)

    block: Block
    flow: Flow = Flow()

    @property
    def tile(self) -> Tile:
        return Tile(self.block.rows, self.block.columns, self.flow.depth)

    def __str__(self):
        tile, flow = self.tile, self.flow
        told = [f"tile {tile.rows} x {tile.columns} x {tile.depth}", f"{self.block.threads} threads"]
        told.append(f"{flow.stages} stages, {flow.blocks} blocks")
        if flow.parts > 1:
            told.append(f"sum in {flow.parts} parts")
        return f"{self.name} ({', '.join(told)})"

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        """The tiles of TILES that a product may take."""
        return [how for how in (cls(block, flow) for block, flow in TILES) if not how.serves(p)]

    def serves(self, p: Program) -> str:
        try:
            folded(p, 2)
        except Unable as reason:
            return str(reason)
        return ""

    def price(self, p: Program, least: float = math.inf) -> float:
        """Seconds for a usual batch, in the units of the other organisations."""
        n = _usual_batch(p)
        f = folded(p, n)
        alone = not f.batch and not product(p).adds
        factor = price_of("direct" if alone else "direct_other")
        return factor * self.seconds(f, p.dtype) / n / library_costs.unit("threads", p)

    def seconds(self, f: Fold, dtype: str) -> float:
        """Of a product, by the model of RATES: memory, multiplications and the waits of waves of blocks overlap."""
        rates, size = RATES[dtype], np.dtype(dtype).itemsize
        plan, tile = layout(f, self.tile, size), self.tile

        moved = size * sum(f.numbers(array) for array in (OUT, LEFT, RIGHT))
        memory = moved / rates.memory

        # With few blocks the last wave counts whole.
        at_once = library_costs.DEVICE.parallel * self.flow.blocks
        waves = plan.blocks / at_once
        if waves < FEW_WAVES:
            waves = math.ceil(waves)

        both = plan.lie.left_along and plan.lie.right_along
        flops = 2.0 * tile.rows * tile.columns * tile.depth * plan.steps * at_once * waves
        arithmetic = flops / rates.flops * (rates.along if both else 1.0)
        waiting = math.ceil(plan.blocks / at_once) * (plan.steps + rates.ends) * rates.step

        return (memory**OVERLAP + arithmetic**OVERLAP + waiting**OVERLAP) ** (1 / OVERLAP)

    def cost(self, p: Program, moved: int, least: float) -> float:
        size, n = np.dtype(p.dtype).itemsize, _usual_batch(p)
        effort = self.effort(folded(p, n), size)
        alone = effort._replace(accesses=effort.accesses / n, arithmetic=effort.arithmetic / n)
        return device.clocks(alone, moved, size)

    def effort(self, f: Fold, size: int) -> device.Effort:
        """What the tiles of a product do; those at the edges as much as the others. size: bytes of a number."""
        plan, block, tile = layout(f, self.tile, size), self.block, self.tile
        numbers, terms = tile.rows * tile.columns, plan.steps * tile.depth

        copied = terms * (tile.rows + tile.columns)
        read = terms * (tile.rows * block.warps_n + tile.columns * block.warps_m)
        left = 3 * numbers  # into the finished tile, out of it, to the output
        arithmetic = 2 * numbers * terms / device.UNITS

        shared = self.shared_bytes(plan.lie, size)
        return device.Effort(plan.blocks * (2 * copied + read + left), plan.blocks * arithmetic, shared, block.threads)

    # ---- text and launch
    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source:
        return self.source(p, self.layout(p).lie, quick)

    def source(self, p: Program, lie: Lie, quick: bool = False) -> Source:
        """The source for arrays that lie so. It depends on neither extents nor indices."""
        block, flow = self.block, self.flow
        numbers = {
            "WARPS_M": block.warps_m,
            "WARPS_N": block.warps_n,
            "TILES_M": block.tiles_m,
            "TILES_N": block.tiles_n,
            "DEPTH": flow.depth,
            "STAGES": flow.stages,
            "BLOCKS": flow.blocks,
            "LEFT_WIDE": lie.left_wide,
            "RIGHT_WIDE": lie.right_wide,
            "OUT_WIDE": lie.out_wide,
        }
        marks = {
            "LEFT_ALONG": lie.left_along,
            "RIGHT_ALONG": lie.right_along,
            "OUT_ROWS": lie.out_rows,
            "ADDS": product(p).adds,
        }

        lines = ["#define FRAME_SINGLE"] if p.dtype == "float32" else []
        lines.append(f"#define PARTS {flow.parts}")
        lines += [f"constexpr int {name} = {number};" for name, number in numbers.items()]
        lines += [f"constexpr bool {name} = {str(mark).lower()};" for name, mark in marks.items()]
        text = "\n".join([*lines, structure("Arguments", MEMBERS), '#include "contractions/direct.h"', ""])
        return Source("tensor-direct", text, quick=quick, entry="contraction", title="direct")

    def sources(self, plan) -> list[Source]:
        """For arrays that begin at 16 bytes, and for arrays that do not."""
        p = plan.program
        lies = {self.layout(p, aligned=aligned).lie for aligned in (True, False)}
        return [self.source(p, lie, plan.quick) for lie in sorted(lies)]

    def layout(self, p: Program, aligned: bool = True) -> Layout:
        """For a batch of contiguous entries."""
        return layout(folded(p, min(_usual_batch(p), 2)), self.tile, np.dtype(p.dtype).itemsize, aligned)

    def shared_bytes(self, lie: Lie, size: int) -> int:
        """Shared memory of a block, as direct.h counts it. size: bytes of a number."""
        tile, apart = self.tile, 16 // size

        def stage(along: bool, lines: int) -> int:
            return lines * tile.depth if along else tile.depth * (lines + apart)

        copies = self.flow.stages * (stage(lie.left_along, tile.rows) + stage(lie.right_along, tile.columns))
        fast, slow = (tile.rows, tile.columns) if lie.out_rows else (tile.columns, tile.rows)
        return max(copies, slow * (fast + apart)) * size + 12 * (tile.rows + tile.columns)

    def launch(self, plan, arrays, values, n: int):
        p, size = plan.program, np.dtype(plan.program.dtype).itemsize
        runs = []
        for first, count in _pieces(p, values, n):
            moved = dict(values)
            for r in product(p).references:
                moved[f"at_{r.name}"] += first * size * _batch_step(p, r, values)
            runs += self._launches(plan, arrays, moved, count)
        return runs[0] if len(runs) == 1 else functools.partial(_one_by_one, runs)

    def _launches(self, plan, arrays, values, n: int) -> list:
        """The launches for n entries that lie within reach: one, or two where the sum has parts."""
        p, backend, size = plan.program, plan.backend, np.dtype(plan.program.dtype).itemsize
        addresses = [values[f"at_{r.name}"] for r in product(p).references]
        aligned = all(address % 16 == 0 for address in addresses)
        steps = tuple((values[f"step_{a.name}"], values[f"ld_{a.name}"]) for a in p.arguments)
        work = plan.kept(("work", self, n, steps, aligned), functools.partial(self._work, plan, values, n, aligned))
        tiles, module = work.tiles, work.module

        # Addresses of the arrays, and of the parts of the sum.
        held, kept = work.held.copy(), [*arrays.values(), *work.tables]
        for array, address in zip(ARRAYS, addresses):
            held[f"at_{array}"] = address
        if self.flow.parts > 1:
            kept.append(backend.empty(self.flow.parts * tiles.blocks * self.tile.rows * self.tile.columns, p.dtype))
            held["at_parts"] = backend.address(kept[-1])

        shape = Shape(self.block.threads, 1, self.shared_bytes(tiles.lie, size), rows=self.flow.parts)
        blocks = tiles.blocks if n else 0
        found = [functools.partial(module.bind("contraction", shape, held, keep=kept), blocks)]
        if self.flow.parts > 1:
            shape = dataclasses.replace(shape, rows=1)
            found.append(functools.partial(module.bind("contraction_sum", shape, held, keep=kept), blocks))
        return found

    def _work(self, plan, values, n: int, aligned: bool) -> Work:
        """What launches for n entries have in common, wherever the arrays begin. Raises VariantUnsuitable."""
        p, backend, size = plan.program, plan.backend, np.dtype(plan.program.dtype).itemsize
        try:
            tiles = layout(folded(p, n, values), self.tile, size, aligned)
        except Unable as reason:
            raise VariantUnsuitable(f"'{self.name}': wanted {reason}.") from None
        if self.flow.parts * tiles.blocks > MOST_BLOCKS:
            raise VariantUnsuitable(f"'{self.name}': {tiles.blocks} tiles, a launch has {MOST_BLOCKS}.")

        # The tables of terms and places.
        held, tables = filled(tiles, product(p).number), []
        for name, table in (("terms", tiles.terms()), ("spots", tiles.spots())):
            tables.append(backend.from_host(table if table.size else np.zeros(2, np.int32), np.int32))
            held[f"at_{name}"] = backend.address(tables[-1])
        backend.synchronize()  # later launches may be in another stream

        compiled = functools.partial(_compiled, plan, self.source(p, tiles.lie, plan.quick))
        return Work(tiles, held, tuple(tables), plan.kept(("direct", self, tiles.lie), compiled))

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        return {
            "warps_m": (1, 2, 4, 8),
            "warps_n": (1, 2, 4),
            "tiles_m": (1, 2, 3, 4),
            "tiles_n": (1, 2, 3, 4, 6, 8, 9),
            "depth": (8, 16, 32),
            "stages": (2, 3, 4, 5),
            "blocks": (1, 2, 3, 4, 6),
            "parts": (1, 2, 3, 4, 6, 8, 12, 16),
        }

    def legal(self, p: Program) -> bool:
        size = np.dtype(p.dtype).itemsize
        shared = self.shared_bytes(self.layout(p).lie, size)
        if self.block.threads > REFERENCE.threads_of_block or shared > REFERENCE.shared_of_block:
            return False
        return self._registers(size) <= REFERENCE.registers // (self.block.threads * self.flow.blocks)

    def _registers(self, size: int) -> int:
        """Registers that a thread needs at least: its numbers of the tile, and its fragments of both factors."""
        block = self.block
        numbers = 4 * block.tiles_m * block.tiles_n + 4 * block.tiles_m + 2 * block.tiles_n
        return numbers * size // 4


def _compiled(plan, source: Source):
    return plan.backend.compile(source)


def _one_by_one(runs) -> None:
    for run in runs:
        run()


# ---- programs -------------------------------------------------------------------------------------------------------


def product(p: Program) -> Product:
    """The product of two tensors that a program is; the factor with more rows is the left one. Raises Unable."""
    wanted = "a single product of two arrays"
    if len(p.statements) != 1 or p.expression.symmetric:
        raise Unable(wanted)
    s = p.statements[0]
    if s.function or len(s.terms) != 1 or len(s.terms[0].factors) != 2:
        raise Unable(wanted)
    if any(a.kind != "argument" or a.mixed for a in p.arrays.values()):
        raise Unable(f"{wanted}, each with the batch index in one place")

    left, right = s.terms[0].factors
    if _lines(p, right, left) > _lines(p, left, right):
        left, right = right, left
    return Product(s.terms[0].number, s.add, (s.out, left, right))


def _lines(p: Program, factor, other) -> int:
    """Numbers of the indices that one factor has alone. The batch counts as many."""
    extents = dict(p.sizes)
    if p.batch:
        extents[p.batch] = USUAL_BATCH
    return math.prod(extents[index] for index in {*factor.indices} - {*other.indices})


def folded(p: Program, n: int, values=None) -> Fold:
    """The groups of a program's product for n entries. Raises Unable.

    values: steps between entries (step_) and rows (ld_) of each array; None: of contiguous arrays.
    """
    found = product(p)
    sizes = dict(p.sizes)
    if p.batch:
        sizes[p.batch] = n
    all_steps = [_steps(p, r, n, values) for r in found.references]
    if any(len(set(r.indices)) < len(r.indices) for r in found.references[:1]):
        raise Unable("an output with each index once")
    return fold(sizes, *all_steps)


def _steps(p: Program, r, n: int, values) -> dict[str, int]:
    """The step of each index of an array, in numbers, the batch's among them."""
    array = p.arrays[r.name]
    row = values[f"ld_{r.name}"] if values else n * array.after
    found = {}
    for index, step in steps(r, array, p.batch, far=True).items():
        far, near = divmod(step, FAR)
        found[index] = far * row + near
    if p.batch and array.place is not None:
        found[p.batch] = _batch_step(p, r, values)
    return found


def _usual_batch(p: Program) -> int:
    """Entries that the model counts with: many, within reach of offsets of 32 bits."""
    largest = max(array.size for array in p.arrays.values())
    return max(min(USUAL_BATCH, FARTHEST // (2 * largest)), 1)


def _batch_step(p: Program, r, values) -> int:
    """Numbers between two entries of an array; 0 if it is shared by the batch. values: as in `folded`."""
    array = p.arrays[r.name]
    if array.place is None:
        return 0
    return values[f"step_{r.name}"] if values else array.after


def _pieces(p: Program, values, n: int) -> list[tuple[int, int]]:
    """(first, entries) of parts of a batch whose numbers lie within reach of offsets of 32 bits."""
    references = product(p).references
    step = max(_batch_step(p, r, values) for r in references)
    entry = max(p.arrays[r.name].after for r in references)
    most = n
    if n * step + entry >= FARTHEST:
        most = max((FARTHEST - entry) // step // ALIGNED * ALIGNED, 1)
    return [(first, min(most, n - first)) for first in range(0, max(n, 1), max(most, 1))]


# Measured on an H100 over rows of the TCCG benchmark; equal prices take the first.
TILES: tuple[tuple[Block, Flow], ...] = (
    (Block(2, 2, 2, 4), Flow(16, 3, 3)),  # 64 x 64: four by four indices
    (Block(2, 2, 2, 4), Flow(8, 4, 4)),  # the same for short sums: triples
    (Block(8, 1, 1, 9), Flow(8, 3, 2)),  # 128 x 72
    (Block(8, 1, 2, 3), Flow(8, 4, 2)),  # 256 x 24: a tensor times a small matrix
    (Block(8, 1, 2, 4), Flow(8, 4, 2)),  # 256 x 32
    (Block(4, 1, 2, 1), Flow(8, 4, 4)),  # 128 x 8
    (Block(2, 2, 1, 2), Flow(8, 4, 6)),  # 32 x 32
)
