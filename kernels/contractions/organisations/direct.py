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
from ..direct_plan import FARTHEST, MOST_DIGITS, Layout, Lie, Tile, along_columns, layout, warps_of
from ..fold import LEFT, OUT, RIGHT, Fold, fold
from ..plan import Program, Unable, batch_step, only_term, steps_between
from ..prices import price_of
from ..reciprocals import reciprocal
from . import device, library_costs
from .base import Organisation
from .direct_rates import RATES, STRAIGHT_RATES

ARRAYS = ("out", "left", "right")  # as fold.py numbers them
MOST_BLOCKS = 2**31 - 1  # of a launch
USUAL_BATCH = 64
MANY_PARTS = 16  # of a sum: with more, groups of threads add them up
MOST_REGISTERS = 255  # of a thread
SPARE = 1.3  # times the registers of a thread's numbers
ALIGNED = 16  # entries, after which an array is aligned as at its begin


FEW_WAVES = 4  # with fewer waves of blocks the last counts whole
TOGETHER = 1.1  # times the arithmetic's time if all blocks run at once: no other one has work while they wait
PARTS_ADDED = 3.5e-6  # seconds of the kernel that adds up parts of a sum, beside its bytes, on an H200
LEAST_STEPS = 2  # of a part of a sum
PARTS_OF_MANY, BLOCKS = 24, 1056  # parts of a sum, at most, where all tiles have more blocks than these
MORE = 4  # times the usual batch of prices: the end of a wave of blocks counts little then
LARGE, LOSS = 8, 1.1  # a batch so many times the usual one must not cost LOSS times as much by a sum in parts


# ---- the record of arguments ----------------------------------------------------------------------------------------


def _members() -> str:
    """As direct.h reads them."""
    words = [f"at_{array}:address step_{array}:whole" for array in ARRAYS]
    words.append("at_terms:address at_spots:address at_parts:address")
    words.append("rows:whole columns:whole steps:whole row_tiles:whole column_tiles:whole")
    for group, factor in (("row", "left"), ("column", "right")):
        words.append(f"{group}_digits:whole {group}_extent:whole:{MOST_DIGITS}")
        words.append(f"{group}_reciprocal:whole:{MOST_DIGITS} {group}_shift:whole:{MOST_DIGITS}")
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
            held[f"{group}_reciprocal"][0, d], held[f"{group}_shift"][0, d] = reciprocal(max(digit.extent, 1))
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
    holds: str = ""  # "left", "right": a block works on tile after tile, and keeps this factor's numbers
    straight: bool = False  # sums go from registers to the output; left and right change places if it runs along rows


class Product(NamedTuple):
    """The one statement of a program, as a product of two tensors."""

    number: float
    adds: bool
    references: tuple  # out, left, right


class Work(NamedTuple):
    """A launch without addresses: arrays of the same shapes share it."""

    tiles: Layout
    held: np.ndarray  # the record of arguments without the arrays' addresses
    tables: tuple  # of terms and places, on the device
    module: Module
    turned: bool  # left is the text's right factor


@dataclasses.dataclass(frozen=True)
class Direct(Organisation):
    """A block for a tile of the output; tiles of both factors come through shared memory."""

    NAMES: ClassVar[tuple[str, ...]] = ("direct",)
    FREE: ClassVar[bool] = True

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
        if flow.holds:
            told.append(f"holds {flow.holds}")
        if flow.straight:
            told.append("straight")
        return f"{self.name} ({', '.join(told)})"

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        """TILES, a tile as large as small matrices, SPLIT with the sum in parts, and HELD with steps as long as the
        sum."""
        if cls(*TILES[0]).serves(p):
            return []
        found = [cls(block, flow) for block, flow in TILES]
        small = warps_of(folded(p, 2))
        if small:
            fitting = [cls(Block(*small), Flow(16, 3, blocks)) for blocks in (4, 3, 2, 1)]
            found += [how for how in fitting if how.legal(p) and how._has_spare_registers(p)][:1]
        for block, flow, many in SPLIT:
            plan = cls(block, flow).layout(p)
            able = [k for k in many if k * LEAST_STEPS <= plan.steps]
            able = [k for k in able if k <= PARTS_OF_MANY or k * plan.blocks <= BLOCKS]
            found += [cls(block, dataclasses.replace(flow, parts=k)) for k in able]

        depth = -(-folded(p, 2).size("k") // 8) * 8
        if 0 < depth <= MOST_HELD and p.dtype == "float32":
            for block, most in HELD:
                for factor in ("left", "right"):
                    some = [cls(block, Flow(depth, 2, blocks, holds=factor)) for blocks in (most, FEWER)]
                    found += [how for how in some if how.legal(p)][:1]
        if 0 < depth <= MOST_STRAIGHT:
            block, blocks = STRAIGHT[p.dtype]
            some = [cls(block, Flow(depth, 2, blocks, holds=factor, straight=True)) for factor in ("left", "right")]
            found += [how for how in some if how.legal(p) and how.stores_whole_runs(p)]
        return [how for how in found if how.legal(p)]

    def stores_whole_runs(self, p: Program) -> bool:
        """Whether a large output is stored 16 bytes at a time, in tiles that are whole."""
        n, size = _usual_batch(p), np.dtype(p.dtype).itemsize
        f, plan = folded(p, n), self._laid_out(p, n)
        large = f.numbers(OUT) >= STORED * (f.numbers(LEFT) + f.numbers(RIGHT))
        whole = plan.rows.size % self.tile.rows == 0 and plan.columns.size % self.tile.columns == 0
        return large and whole and plan.lie.out_wide * size == 16

    def serves(self, p: Program) -> str:
        try:
            folded(p, 2)
        except Unable as reason:
            return str(reason)
        if self.flow.holds and (self.flow.parts > 1 or self.layout(p).steps != 1):
            return f"sums of at most {self.flow.depth} terms, in one part"
        return ""

    def price(self, p: Program, least: float = math.inf) -> float:
        """Seconds for a usual batch, in the units of the other organisations."""
        n = _usual_batch(p)
        alone = not folded(p, n).batch and not product(p).adds
        factor = price_of("direct" if alone else "direct_other")
        seconds = self.seconds(p, n)

        # Parts of a sum must not slow a large batch down, if the batch may be large.
        if self.flow.parts > 1 and p.batch and not p.entries:
            large = min(LARGE * n, _most_entries(p))
            if self.seconds(p, large) > LOSS * self.changed(parts=1).seconds(p, large):
                seconds = math.inf
        return factor * seconds / n / library_costs.unit("threads", p)

    def seconds(self, p: Program, n: int) -> float:
        """Seconds of n entries, by the model of RATES: memory, second cache, multiplications and waits overlap."""
        rates, size = (STRAIGHT_RATES if self.flow.straight else RATES)[p.dtype], np.dtype(p.dtype).itemsize
        f, plan, tile, flow = folded(p, n), self._laid_out(p, n), self.tile, self.flow

        # Bytes. A factor that blocks hold is read once for each line of tiles.
        tiles = plan.blocks
        left = plan.copied(LEFT, size) * plan.steps * (plan.row_tiles if flow.holds == "left" else tiles)
        right = plan.copied(RIGHT, size) * plan.steps * (plan.column_tiles if flow.holds == "right" else tiles)
        stored = plan.stored(size) * tiles
        parts = 2 * flow.parts * tiles * tile.rows * tile.columns * size if flow.parts > 1 else 0
        old = stored if product(p).adds else 0
        read = size * (f.numbers(LEFT) + f.numbers(RIGHT)) + old
        narrow = 1 + rates.narrow * (plan.lie.out_wide * size < 16)
        memory = (read + stored + parts) / rates.memory
        cache = (left + right + stored * narrow + old + parts) / rates.cache

        # With few blocks the last wave counts whole.
        resident = min(flow.blocks, REFERENCE.shared_resident // (self.shared_bytes(plan.lie, size) + 1024))
        at_once = library_costs.DEVICE_PRODUCTS.parallel * max(resident, 1)
        waves = tiles * flow.parts / at_once
        if waves < FEW_WAVES:
            waves = math.ceil(waves)

        steps = plan.steps / flow.parts
        flops = 2.0 * tile.rows * tile.columns * tile.depth * steps * at_once * waves
        lies, singly = self._lies(plan, p.dtype), rates.singly ** [plan.lie.left_wide, plan.lie.right_wide].count(1)
        arithmetic = flops / rates.flops * lies * (TOGETHER if waves <= 1 else 1.0)
        waiting = waves * rates.wave

        times = (memory, cache * singly, arithmetic, waiting)
        together = sum(time**rates.overlap for time in times) ** (1 / rates.overlap)
        late = rates.late * max(flow.stages - steps, 0)
        return together + rates.alone + late + (PARTS_ADDED if flow.parts > 1 else 0)

    def _lies(self, plan: Layout, dtype: str) -> float:
        """Times the arithmetic's time by how the factors lie."""
        rates, lie = RATES[dtype], plan.lie
        singly = rates.singly ** [lie.left_wide, lie.right_wide].count(1)
        if not (lie.left_along and lie.right_along):
            return singly
        fastest = plan.sums.digits[0].step
        return rates.along * singly if fastest[LEFT] == fastest[RIGHT] else rates.apart

    def cost(self, p: Program, moved: int, least: float) -> float:
        size, n = np.dtype(p.dtype).itemsize, _usual_batch(p)
        effort = self.effort(self._laid_out(p, n), size)
        alone = effort._replace(accesses=effort.accesses / n, arithmetic=effort.arithmetic / n)
        return device.clocks(alone, moved, size)

    def effort(self, plan: Layout, size: int) -> device.Effort:
        """The work of all tiles; a tile at the edge counts as a whole tile. size: bytes of a number."""
        block, tile = self.block, self.tile
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
            "STRAIGHT": flow.straight,
            "ROWS_RAGGED": lie.rows_ragged,
            "COLUMNS_RAGGED": lie.columns_ragged,
        }

        lines = ["#define FRAME_SINGLE"] if p.dtype == "float32" else []
        lines.append(f"#define PARTS {flow.parts}")
        lines.append("enum { HOLDS_NOTHING, HOLDS_LEFT, HOLDS_RIGHT };")
        lines.append(f"constexpr int HOLDS = HOLDS_{(flow.holds or 'nothing').upper()};")
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
        return self._laid_out(p, min(_usual_batch(p), 2), aligned)

    def _laid_out(self, p: Program, n: int, aligned: bool = True) -> Layout:
        return laid_out(p, n, self.tile, aligned, self.flow.straight)

    def shared_bytes(self, lie: Lie, size: int) -> int:
        """Shared memory of a block, as direct.h counts it. size: bytes of a number."""
        tile, apart = self.tile, 16 // size

        def stage(along: bool, lines: int) -> int:
            return lines * tile.depth if along else tile.depth * (lines + apart)

        left, right = stage(lie.left_along, tile.rows), stage(lie.right_along, tile.columns)
        fast, slow = (tile.rows, tile.columns) if lie.out_rows else (tile.columns, tile.rows)
        finished = 0 if self.flow.straight else slow * (fast + apart)
        tables = 12 * (tile.rows + tile.columns)
        if self.flow.holds:
            copies = left + right + (right if self.flow.holds == "left" else left)
            return (copies + finished) * size + 3 * tables
        return max(self.flow.stages * (left + right), finished) * size + tables

    def launch(self, plan, arrays, values, n: int):
        p, size = plan.program, np.dtype(plan.program.dtype).itemsize
        runs = []
        for first, count in _pieces(p, values, n):
            moved = dict(values)
            for r in product(p).references:
                moved[f"at_{r.name}"] += first * size * batch_step(p, r, values)
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
        if work.turned:
            addresses[LEFT], addresses[RIGHT] = addresses[RIGHT], addresses[LEFT]
        for array, address in zip(ARRAYS, addresses):
            held[f"at_{array}"] = address
        if self.flow.parts > 1:
            kept.append(backend.empty(self.flow.parts * tiles.blocks * self.tile.rows * self.tile.columns, p.dtype))
            held["at_parts"] = backend.address(kept[-1])

        flow, shared = self.flow, self.shared_bytes(tiles.lie, size)
        shape = Shape(self.block.threads, 1, shared, resident=-1 if flow.holds else 0, rows=flow.parts)
        blocks = tiles.blocks if n else 0
        found = [functools.partial(module.bind("contraction", shape, held, keep=kept), blocks)]
        if flow.parts > 1:
            shape = dataclasses.replace(shape, rows=1)
            run = module.bind("contraction_sum", shape, held, keep=kept)
            found.append(functools.partial(run, blocks * self._slices(tiles.lie)))
        return found

    def _slices(self, lie: Lie) -> int:
        """Blocks that add up the parts of a tile, as direct.h counts them."""
        warps = self.block.warps_m * self.block.warps_n
        team = self.block.threads // (warps if self.flow.parts > MANY_PARTS else 1)
        return -(-self.tile.rows * self.tile.columns // (lie.out_wide * team))

    def _work(self, plan, values, n: int, aligned: bool) -> Work:
        """The launch for n entries, without addresses. Raises VariantUnsuitable."""
        p, backend, size = plan.program, plan.backend, np.dtype(plan.program.dtype).itemsize
        as_told = folded(p, n, values)
        f = along_columns(as_told) if self.flow.straight else as_told
        try:
            tiles = layout(f, self.tile, size, aligned, self.flow.straight)
        except Unable as reason:
            raise VariantUnsuitable(f"'{self.name}': wanted {reason}.") from None
        if self.flow.holds and tiles.steps != 1:
            raise VariantUnsuitable(f"'{self.name}': sums of {tiles.steps} steps, a block that holds a factor has one.")
        if self.flow.parts * tiles.blocks > MOST_BLOCKS:
            raise VariantUnsuitable(f"'{self.name}': {tiles.blocks} tiles, a launch has {MOST_BLOCKS}.")

        # The tables of terms and places.
        held, tables = filled(tiles, product(p).number), []
        spots = tiles.straight_spots() if self.flow.straight else tiles.spots()
        for name, table in (("terms", tiles.terms()), ("spots", spots)):
            tables.append(backend.from_host(table if table.size else np.zeros(2, np.int32), np.int32))
            held[f"at_{name}"] = backend.address(tables[-1])
        backend.synchronize()  # later launches may be in another stream

        compiled = functools.partial(_compiled, plan, self.source(p, tiles.lie, plan.quick))
        module = plan.kept(("direct", self, tiles.lie), compiled)
        return Work(tiles, held, tuple(tables), module, f is not as_told)

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
            "holds": ("", "left", "right"),
            "straight": (False, True),
        }

    def legal(self, p: Program) -> bool:
        size = np.dtype(p.dtype).itemsize
        if self.serves(p) or (self.flow.straight and self.flow.parts > 1):
            return False
        shared = self.shared_bytes(self.layout(p).lie, size)
        if self.block.threads > REFERENCE.threads_of_block or shared > REFERENCE.shared_for(self.flow.blocks):
            return False
        most = min(REFERENCE.registers // (self.block.threads * self.flow.blocks), MOST_REGISTERS)
        return self._registers(size) <= most

    def _has_spare_registers(self, p: Program) -> bool:
        """Whether a thread has SPARE of those that its numbers need: for addresses and loops."""
        most = min(REFERENCE.registers // (self.block.threads * self.flow.blocks), MOST_REGISTERS)
        return SPARE * self._registers(np.dtype(p.dtype).itemsize) <= most

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
    s, term = only_term(p, wanted)
    if len(term.factors) != 2:
        raise Unable(wanted)

    left, right = term.factors
    if _lines(p, right, left) > _lines(p, left, right):
        left, right = right, left
    return Product(term.number, s.add, (s.out, left, right))


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
    return _folded(p, n, values) if values else _contiguous(p, n)


@functools.lru_cache(128)
def _contiguous(p: Program, n: int) -> Fold:
    return _folded(p, n, None)


def _folded(p: Program, n: int, values) -> Fold:
    found = product(p)
    sizes = dict(p.sizes)
    if p.batch:
        sizes[p.batch] = n
    all_steps = [steps_between(p, r, n, values) for r in found.references]
    if any(len(set(r.indices)) < len(r.indices) for r in found.references[:1]):
        raise Unable("an output with each index once")
    return fold(sizes, *all_steps)


@functools.lru_cache(512)
def laid_out(p: Program, n: int, tile: Tile, aligned: bool = True, straight: bool = False) -> Layout:
    """The layout for n contiguous entries. Raises Unable."""
    f = folded(p, n)
    size = np.dtype(p.dtype).itemsize
    return layout(along_columns(f) if straight else f, tile, size, aligned, straight)


def _usual_batch(p: Program) -> int:
    """Entries that the model counts with: many, within reach of offsets of 32 bits."""
    more = MORE if p.batch and not p.entries else 1
    return min(more * library_costs.usual_batch(p), _most_entries(p))


def _most_entries(p: Program) -> int:
    """Entries that lie within reach of offsets of 32 bits; 1 or more."""
    largest = max([a.size for a in p.arguments if a.place is not None], default=1)
    return max(FARTHEST // (2 * largest), 1)


def _pieces(p: Program, values, n: int) -> list[tuple[int, int]]:
    """(first, entries) of parts of a batch whose numbers lie within reach of offsets of 32 bits."""
    references = product(p).references
    step = max(batch_step(p, r, values) for r in references)
    entry = max(p.arrays[r.name].after for r in references)
    most = n
    if n * step + entry >= FARTHEST:
        most = max((FARTHEST - entry) // step // ALIGNED * ALIGNED, 1)
    return [(first, min(most, n - first)) for first in range(0, max(n, 1), max(most, 1))]


# Measured on an H100 over rows of the TCCG benchmark; equal prices take the first.
TILES: tuple[tuple[Block, Flow], ...] = (
    (Block(2, 2, 2, 4), Flow(16, 3, 3)),  # 64 x 64: four by four indices
    (Block(2, 2, 4, 4), Flow(16, 3, 2)),  # 128 x 64
    (Block(2, 2, 4, 8), Flow(16, 3, 1)),  # 128 x 128, in single precision
    (Block(2, 2, 2, 4), Flow(8, 4, 4)),  # 64 x 64 for short sums
    (Block(8, 1, 1, 9), Flow(8, 3, 2)),  # 128 x 72
    (Block(4, 1, 2, 9), Flow(24, 2, 2)),
    (Block(8, 1, 2, 3), Flow(8, 4, 2)),  # 256 x 24: a tensor times a small matrix
    (Block(6, 1, 2, 3), Flow(24, 2, 2)),  # 192 x 24
    (Block(4, 1, 2, 3), Flow(24, 2, 3)),  # 128 x 24
    (Block(8, 1, 2, 4), Flow(8, 4, 2)),  # 256 x 32
    (Block(4, 1, 2, 1), Flow(8, 4, 4)),  # 128 x 8
    (Block(2, 2, 1, 2), Flow(8, 4, 6)),  # 32 x 32
)

# The same for sums in parts: few tiles and a long sum.
SPLIT: tuple[tuple[Block, Flow, tuple[int, ...]], ...] = (
    (Block(2, 2, 2, 4), Flow(32, 2, 2), (4, 8, 24, 66, 132)),  # 64 x 64
    (Block(2, 2, 4, 4), Flow(16, 3, 2), (4, 8, 24)),  # 128 x 64
    (Block(2, 2, 1, 2), Flow(32, 3, 4), (8, 66, 132, 264, 528)),  # 32 x 32
)

# Tiles of blocks that hold a factor, and blocks on a multiprocessor. They are for single precision: in double precision
# `stages`, or sums that go straight to the output, are faster where the sum is short.
MOST_HELD = 96  # terms of a sum
HELD: tuple[tuple[Block, int], ...] = (
    (Block(2, 3, 2, 4), 4),  # 64 x 96: triples
    (Block(3, 2, 2, 4), 4),  # 96 x 64
    (Block(2, 2, 2, 4), 5),  # 64 x 64
)
# The same for sums that go straight to a large output, by type: the columns of a tile are whole runs of 24 numbers.
STRAIGHT: dict[str, tuple[Block, int]] = {
    "float64": (Block(2, 2, 1, 6), 3),  # 32 x 96
    "float32": (Block(2, 2, 2, 6), 3),  # 64 x 96
}
MOST_STRAIGHT = 48  # terms of a sum
STORED = 4  # times the factors' numbers that such an output has
FEWER = 3  # blocks, where shared memory has no room for as many
