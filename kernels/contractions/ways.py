"""Ways that a statement takes on CPU vector units: copies before it, its price, and the loops of tiles and lanes.

The lanes of a pack lie "along" the last index of the output, or "folded" along a sum, each statement its own way; or
they are entries of the batch ("lanes"), for all statements. organisations/packs.py chooses, render_packs.py writes.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import math
from typing import NamedTuple

from ..engine.backend import cpu
from . import host_rates
from .expression import Reference, Statement, Term
from .plan import MIRROR, Array, Loop, Nest, Product, Program, nest, steps, turns, with_factors

WIDTH = {"float64": 8, "float32": 16}  # lanes, for the model; the source takes what the processor has
LINE = 64  # bytes of a cache line, and of a pack, for the model
LONG_ROW = 128  # numbers: a kilobyte of float64
LONG = 12  # turns beyond which a loop is no better for rows or columns
COPY, COPYING = 30.0, 0.75  # vector operations of a copy, whose numbers are waited for, and of each of its numbers
BROKEN_COPYING = 1.6  # the same where squares of packs do not divide the extents, on cores that do whole vectors
LOAD, SPREAD = 0.6, 0.4  # vector operations of a load from the first cache: of a pack, of a number for all lanes
FROM_LARGE = 3.0  # times a copy takes as long from a large, slow last cache
LANES_FROM_LARGE = 2.5  # the same of loads of entries side by side: each of them is a cache line of its own
HINDER = {"BATCH": 3.0, "ALONG": 2.5, "FOLDED": 2.5}  # exponents of the norm of multiply-adds and loads, by mode
IN_PIECES = 2.5  # times a load takes as long, beyond the first cache
LANES_IN_PIECES = (
    10.0  # the same of entries side by side, from a quarter of the second cache on, beside a slow last one
)
NEAR = 32 << 10  # bytes of the first cache
FARTHER = ((1, NEAR), (2, 1 << 20), (4, math.inf))  # times a load takes as long, bytes of the cache
WAITING = 5.0  # vector operations in the four cycles that a sum waits for the turn before: one or two a cycle
STORED = 20.0  # vector operations: numbers that a masked store wrote are read again when the cache has them
TURNING = 3  # vector operations that a pack takes on its way out where lanes go across the output's lines
ACROSS_LINES = 4  # the same of a whole pack that lies in two cache lines


class Core(NamedTuple):
    """How a core works on tiles, as measured."""

    begin: float  # vector operations of a tile beside its turns
    folding: float  # vector operations of two vectors whose lanes are added up into one: shuffles beside an addition
    ahead: int  # instructions that it looks ahead: a short sum waits while the next tile is worked on; 0: none


IN_HALVES, WHOLE = Core(4.0, 2.0, 0), Core(6.0, 5.0, 256)  # a Zen 4; a Xeon of the fourth generation


def core() -> Core:
    """The core of this machine."""
    return WHOLE if cpu.has_whole_vectors(cpu.target()) else IN_HALVES


# ---- the way of each statement --------------------------------------------------------------------------------------


def with_copies(p: Program, ways) -> tuple[Program, tuple[str, ...]]:
    """The program with copies of factors in which the lane's index is not the last one, and the ways of all."""
    copies = _Copies(p)
    for s, way in zip(p.statements, ways):
        copies.add(s, way)

    made = dataclasses.replace(p, statements=tuple(copies.statements), arrays=copies.arrays)
    return made, tuple(copies.ways)


class _Copies:
    """Statements, each behind the copies that it needs."""

    def __init__(self, p: Program):
        self.p = p
        self.statements: list[Statement] = []
        self.ways: list[str] = []
        self.arrays = dict(p.arrays)
        self.names: dict[tuple, str] = {}  # of copies, by array, version and order of indices
        self.version: collections.Counter = collections.Counter()  # how often an array was written

    def add(self, s: Statement, way: str) -> None:
        """A statement, after the copies."""
        lane = self._lane(s.out)
        if lane and way == "along" and s.function != MIRROR:
            s = with_factors(s, lambda f: self._factor(f, lane))

        self._append(s, way)
        self.version[s.out.name] += 1

    def _lane(self, out: Reference) -> str | None:
        """The index along which lanes lie: the last one of the output that has several values."""
        for i in reversed(out.indices):
            if i != self.p.batch and self.p.sizes[i] > 1:
                return i
        return None

    def _append(self, s: Statement, way: str) -> None:
        self.statements.append(s)
        self.ways.append(way)

    def _factor(self, f: Reference, lane: str) -> Reference:
        """A factor, or a copy in which the lane's index is the last one."""
        p = self.p
        if lane not in f.indices or (self.arrays[f.name].mixed and p.batch in f.indices):
            return f
        if nest_step(p, f, lane) in (0, 1):
            return f

        # The batch index first, the lane's index last. An index that stands twice stands once in the copy.
        kept = [i for i in dict.fromkeys(f.indices) if i != lane]
        kept.sort(key=lambda i: i != p.batch)
        indices = (*kept, lane)

        key = f.name, self.version[f.name], tuple(map(indices.index, f.indices))
        if key not in self.names:
            self.names[key] = name = f"c{len(self.names)}_"
            self.arrays[name] = self._copy(name, indices)
            self._append(Statement(Reference(name, indices), (Term(1.0, (f,)),)), "along")

        return Reference(self.names[key], indices)

    def _copy(self, name: str, indices: tuple[str, ...]) -> Array:
        """A local that holds a copy."""
        p = self.p
        extents = tuple(None if i == p.batch else p.sizes[i] for i in indices)
        has_batch = p.batch in indices
        kind = "local" if has_batch or not p.batch else "shared"

        return Array(name, indices, extents, kind, 0 if has_batch else None)


def nest_step(p: Program, f: Reference, index: str) -> int:
    """Numbers in memory from one value of `index` to the next in the array of f; 0 where f has no such index."""
    return steps(f, p.arrays[f.name], p.batch).get(index, 0)


def foldable(n: Nest) -> bool:
    """Whether each product has one sum, along which every factor stays or lies side by side."""
    return not n.statement.function and all(map(_one_sum_side_by_side, n.products))


def _one_sum_side_by_side(q: Product) -> bool:
    return len(q.sums) == 1 and {q.sums[0].step[f] for f in q.factors} in ({1}, {0, 1})


def effort(n: Nest, way: str, width: int, common: frozenset[str]) -> float:
    """Vector operations of a statement for one entry, by the tiles of packs.h. common: arrays that
    all entries read (see `common_arrays`)."""
    level = levels_of(n, MODES[way], width)
    rows = level.row.extent if level.row else 1
    columns = level.column.extent if level.column else 1

    # Columns are packs of lanes along the output, the last of which may begin earlier; else single numbers.
    rest = 0
    if way == "along":
        columns, rest = divmod(columns, width)
        if rest and columns and not n.statement.add and not n.statement.function:
            columns, rest = columns + 1, 0

    tiles = _Tiles(level, width, common)
    total = tiles.effort(rows, columns) if columns else 0.0
    if rest:
        total += tiles.effort(rows, 1) * _part_of_pack(rest, width)
    return turns(level.outer) * total


class _Tiles(NamedTuple):
    """Tiles of sums of a statement."""

    level: Levels
    width: int  # lanes
    common: frozenset[str]  # see `effort`

    def effort(self, rows: int, columns: int) -> float:
        """Vector operations of all tiles of rows and columns."""
        tile_rows, tile_columns = best_tile(rows, columns)
        total = 0.0

        for h, many_rows in ((tile_rows, rows // tile_rows), (rows % tile_rows, 1)):
            for w, many_columns in ((tile_columns, columns // tile_columns), (columns % tile_columns, 1)):
                if h and w:
                    total += many_rows * many_columns * self._tile(h, w)

        return total

    def _tile(self, rows: int, columns: int) -> float:
        """Vector operations of a tile. A turn takes as long as its multiply-adds beside its loads, which hinder each
        other where both are many, or as the wait for sums of the turn before."""
        level, n, total = self.level, self.level.nest, core().begin
        for q in n.products:
            steps = turns(q.sums)
            if level.mode == "FOLDED":
                steps = -(-steps // self.width)
            arithmetic = self._arithmetic(q, rows, columns)
            loads = sum(self._loads(f, q, rows, columns) for f in q.factors)
            work = _beside(arithmetic, loads, HINDER[level.mode])
            total += steps * max(work, self._waiting(steps * (arithmetic + loads)) if q.sums else 0)

        stores = float(rows * columns)
        if level.mode == "FOLDED":
            stores = core().folding * _foldings(rows * columns, self.width)
        elif level.mode == "ALONG":
            stores *= self._of_store()

        return total + stores * (2 if n.statement.add else 1)

    @staticmethod
    def _waiting(operations: float) -> float:
        """Vector operations that a turn of a sum waits for the one before, in a tile of so many operations."""
        return WAITING / (1 + core().ahead / (operations + core().begin))

    def _of_store(self) -> float:
        """Vector operations of a pack on its way out, of lanes along the output's last index."""
        level = self.level
        if level.row and level.column and level.column.step[0] > 1:
            return TURNING

        column, width = level.column, self.width
        whole = column is not None and column.extent >= width
        apart = any(loop.step[0] % width for loop in level.nest.loops if loop.step[0] != 1)
        return ACROSS_LINES if whole and apart else 1

    def _arithmetic(self, q: Product, rows: int, columns: int) -> int:
        """Vector operations of a product for a turn of a tile's sums: a multiply-add for each sum, and before it the
        products of the first factors, each as often as they differ."""
        total, along_rows, along_columns = rows * columns, False, False
        for place, f in enumerate(q.factors[:-1]):
            along_rows |= self._has(self.level.row, f)
            along_columns |= self._has(self.level.column, f)
            if place:
                total += (rows if along_rows else 1) * (columns if along_columns else 1)

        return total

    @staticmethod
    def _has(loop: Loop | None, f: int) -> bool:
        """Whether a factor differs along a loop."""
        return loop is not None and loop.step[f] != 0

    def _loads(self, f: int, q: Product, rows: int, columns: int) -> float:
        """Vector operations of the loads of a factor for a turn of a tile's sums."""
        level = self.level
        count = (rows if self._has(level.row, f) else 1) * (columns if self._has(level.column, f) else 1)

        lane = self._lane(f, q)
        if lane == 0:
            piece = count if level.mode == "BATCH" else rows
            return count * SPREAD * self._of_line(f, q, self._farther(f, q, piece), rows, columns)
        if lane == 1:
            return count * LOAD * self._farther(f, q, columns * self.width)
        return count * self.width * SPREAD  # number by number

    def _lane(self, f: int, q: Product) -> int:
        """Step of a factor from lane to lane."""
        level = self.level
        if level.mode == "BATCH":
            return int(level.nest.names[f] not in self.common)
        if level.mode == "FOLDED":
            return q.sums[0].step[f]
        return level.column.step[f] if level.column else 0

    def _of_line(self, f: int, q: Product, times: float, rows: int, columns: int) -> float:
        """How many times as long a load of a number takes, if the first of its cache line takes so many times. The
        others of a line come in the same turn of a tile, or in turns before the first cache has lost it."""
        near = [(self.level.row, rows), (self.level.column, columns)]
        along = [(loop, count) for loop, count in near if loop and loop.step[f]]
        sharing = max((min(count, self.width // loop.step[f]) for loop, count in along), default=1)

        lines = math.prod(count for _, count in along)
        for loop in reversed(q.sums):
            if 0 < loop.step[f] <= 2 * self.width and lines * LINE <= NEAR:
                steps = [loop.step[f], *(other.step[f] for other, _ in along)]
                sharing = max(sharing, self.width // min(steps))
            lines *= loop.extent if loop.step[f] else 1

        return 1 + (times - 1) / max(sharing, 1)

    def _farther(self, f: int, q: Product, piece: int) -> float:
        """How many times as long a load takes of a factor that is read again and again, by the cache that holds it. A
        factor that a tile reads in pieces of so many numbers, one for each turn, is not asked for ahead."""
        loops = self.level.nest.loops
        if all(loop.step[f] for loop in loops) and self.level.nest.names[f] not in self.common:
            return 1
        numbers = self.width if self.level.mode == "BATCH" else 1
        for loop in (*loops, *q.sums):
            numbers *= loop.extent if loop.step[f] else 1
        steps = [loop.step[f] for loop in q.sums if loop.step[f]]
        pieces = self.level.mode == "ALONG" and steps and min(steps) > piece
        held = numbers * LINE // self.width
        times: float = farther(held)
        if held > self.width * cpu.second_cache() / 4 and self._lanes_wait(f, steps, piece):
            return times * LANES_IN_PIECES
        if self.level.mode == "BATCH" and held > cpu.second_cache() and host_rates.has_large_cache():
            times *= LANES_FROM_LARGE
        return times * (IN_PIECES if pieces and times > 1 else 1)

    def _lanes_wait(self, f: int, steps, piece: int) -> bool:
        """Whether entries side by side read pieces of an array that all of them have from a slow cache. steps: from
        turn to turn of the sum."""
        common = self.level.mode == "BATCH" and self.level.nest.names[f] in self.common
        return common and bool(steps) and min(steps) > piece and host_rates.has_large_cache()


def _beside(arithmetic: float, loads: float, exponent: float) -> float:
    """Vector operations of both, which hinder each other where both are many. Those of `lanes` do less: all their packs
    are whole cache lines."""
    return (arithmetic**exponent + loads**exponent) ** (1 / exponent)


def farther(held: int) -> int:
    """How many times as long a load takes of so many bytes, by the cache that holds them."""
    return next(times for times, most in FARTHER if held <= most)


HELD, MOST_ROWS, MOST_COLUMNS = 24, 12, 8  # sums that the registers hold, rows and columns of a tile


@functools.lru_cache(4096)
def best_tile(rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns of a tile, as packs.h chooses them for the widest vectors."""
    best, least = (1, 1), math.inf
    for r in range(1, min(MOST_ROWS, rows) + 1):
        for c in range(1, min(MOST_COLUMNS, columns, HELD // r) + 1):
            cost = _cost_of_tiles((rows, columns), (r, c))
            if cost < least:
                best, least = (r, c), cost

    return best


def _cost_of_tiles(matrix: tuple[int, int], tile: tuple[int, int]) -> float:
    """Cost of a matrix by tiles of a size, with smaller tiles at its edges."""
    (rows, columns), (r, c) = matrix, tile
    total = 0.0

    for h, many_rows in ((r, rows // r), (rows % r, rows % r > 0)):
        for w, many_columns in ((c, columns // c), (columns % c, columns % c > 0)):
            total += many_rows * many_columns * (max(h * w, 8) + 0.5 * (h + w))

    return total


def _foldings(sums: int, width: int) -> int:
    """How often two vectors become one until so many sums lie side by side, each with its lanes added up."""
    total, left = 0, width
    while left > 1:
        sums, left = -(-sums // 2), left // 2
        total += sums

    return total


def _part_of_pack(rest: int, width: int) -> float:
    """The price of the last pack, of which only some lanes are in use, over the price of a whole pack: the price of
    narrower vectors, if a whole vector takes several operations."""
    if rest > width / 2 or cpu.has_whole_vectors(cpu.target()):
        return 1.0
    return 0.6 if rest > width / 4 else 0.4


def _steps_of(n: Nest, loop: Loop) -> set[int]:
    """The steps of the factors of a statement along a loop."""
    return {loop.step[f] for f in n.factors}


def able(p: Program) -> list[tuple[str, ...]]:
    """The ways that packs can take, for each statement."""
    found: list[tuple[str, ...]] = []
    for s in p.statements:
        found.append(("along", "folded") if foldable(nest(p, s)) else ("along",))
    return found


def best_way(p: Program, s: Statement, ways, entries: int = 1) -> str:
    """The cheapest of the ways that a statement can have. entries: see `statement_price`."""
    width = WIDTH[p.dtype]
    return min((statement_price(p, s, way, width, entries), way) for way in ways)[1]


def statement_price(p: Program, s: Statement, way: str, width: int, entries: int = 1) -> float:
    """Vector operations of a statement for one entry, including the copies that it needs. entries: of a
    batch, which share the copies of arrays that all of them read."""
    n = nest(p, s)
    if way != "along":
        return effort(n, way, width, common_arrays(p, s))

    changed, _ = with_copies(dataclasses.replace(p, statements=(s,)), ("along",))
    *copies, last = changed.statements
    n = nest(changed, last)
    price = effort(n, way, width, common_arrays(changed, last))
    if p.arrays[s.out.name].kind == "local" and _ends_in_part(n, width):
        price += STORED

    for c in copies:
        copied = changed.arrays[c.out.name].size
        took = COPY + _copying(c, p.sizes, width) * copied * _copies_farther(2 * copied * LINE // width)
        price += took / (entries if changed.once(c) else 1)

    return price


def _copying(c: Statement, sizes, width: int) -> float:
    """Vector operations of a number of a copy, which exchanges the last index of its factor with that of the lanes."""
    (f,) = c.terms[0].factors
    broken = any(sizes[i] % width for i in (f.indices[-1], c.out.indices[-1]))
    return BROKEN_COPYING if broken and cpu.has_whole_vectors(cpu.target()) else COPYING


def _copies_farther(held: int) -> float:
    """How many times as long a number of a copy takes, whose two arrays have so many bytes."""
    times = farther(held) / farther(NEAR + 1)
    return times * FROM_LARGE if host_rates.has_large_cache() and held > cpu.second_cache() else times


def _ends_in_part(n: Nest, width: int) -> bool:
    """Whether rows of the output along which lanes lie end in a part of a pack, which is stored alone."""
    column = levels_of(n, "ALONG", width).column
    return column is not None and column.extent % width > 0 and column.extent < width


def common_arrays(p: Program, s: Statement) -> frozenset[str]:
    """Names of the arrays that a statement reads for one entry after the other."""
    if not p.batch or p.once(s):
        return frozenset()
    return frozenset(a.name for a in p.arrays.values() if a.kind != "local" and a.place is None)


# ---- levels ---------------------------------------------------------------------------------------------------------

MODES = {"along": "ALONG", "folded": "FOLDED", "lanes": "BATCH"}  # of packs.h


class Levels(NamedTuple):
    """The loops of a statement by level."""

    nest: Nest
    mode: str
    outer: list[Loop]
    row: Loop | None
    column: Loop | None
    partner: Loop | None  # the loop that is joined to the columns (see `broken`)


def streams(level: Levels) -> bool:
    """Whether a statement without a sum writes long rows that lie one behind the other."""
    row, column = level.row, level.column
    if level.mode != "ALONG" or row is None or column is None:
        return False
    return column.extent >= LONG_ROW and _follow(level.nest, row, column)


def _follow(n: Nest, row: Loop, column: Loop | None) -> bool:
    """Whether the rows of a statement without a sum lie one behind the other in the output."""
    if n.summed or column is None:
        return False
    return column.step[0] == 1 and row.step[0] == column.extent


def exchanges(level: Levels) -> bool:
    """Whether a statement only exchanges two directions of its factor."""
    n, row, column = level.nest, level.row, level.column
    if level.mode != "ALONG" or n.statement.function or n.statement.add or len(n.products) != 1:
        return False

    (q,) = n.products
    plain = len(q.factors) == 1 and not q.sums and q.number == 1
    return plain and row is not None and column is not None and row.step[1] == 1 and column.step[1] > 1


def broken(n: Nest, width: int) -> Loop | None:
    """A loop that the factors step through as through one with the last loop, which the output does not.

    Where the last loop is no whole number of packs, lanes run on along both.
    """
    if n.statement.function or n.statement.add or len(n.loops) < 2 or not n.products:
        return None

    *others, last = n.loops
    if last.step[0] != 1 or last.extent < width or not last.extent % width:
        return None

    if not _steps_of(n, last) <= {0, 1}:
        return None

    for loop in others:
        if all(loop.step[f] == last.extent * last.step[f] for f in n.factors):
            return loop

    return None


def levels_of(n: Nest, mode: str, width: int) -> Levels:
    """Along: columns are the loop of the lanes, if there is one. Else rows and columns are the largest loops that spare
    loads of the first factor, or of the last. Without a sum, rows lie one behind the other in the output, if possible.
    Of loops alike, rows are the one whose numbers lie nearest in the output: far ones are a page each.
    """
    loops = list(n.loops)
    along = mode == "ALONG"
    column, partner = _columns_of_lanes(n, loops, width) if along else (_columns(n, loops), None)

    def worth(loop: Loop):
        """Whether the factor of a copy lies along the loop; then the loads that are spared."""
        side = len(loop.step) == 2 and loop.step[1] == 1
        spared = _spared_along(n, loop, column) if along else _spared(n, loop, -1)
        return side, spared, along and _follow(n, loop, column), min(loop.extent, LONG), -loop.step[0]

    row = max(loops, key=worth, default=None)
    if row:
        loops.remove(row)
    if along and row and column and not partner and across(n, row, column, width):
        row, column = column, row

    return Levels(n, mode, loops, row, column, partner)


def _columns_of_lanes(n: Nest, loops: list[Loop], width: int) -> tuple[Loop | None, Loop | None]:
    """The loop of the lanes, and the loop that is joined to it (see `broken`). Both leave `loops`."""
    if not loops or loops[-1].step[0] != 1:
        return None, None

    column, partner = loops.pop(), broken(n, width)
    if partner:
        loops.remove(partner)
        column = Loop(column.extent * partner.extent, column.step)

    return column, partner


def _columns(n: Nest, loops: list[Loop]) -> Loop | None:
    """The loop that spares most loads of the first factor. It leaves `loops`, unless rows need it more."""

    def worth(loop: Loop):
        return _spared(n, loop, 0) - _spared(n, loop, -1), min(loop.extent, LONG)

    column = max(loops, key=worth, default=None)
    if column is None or (len(loops) == 1 and _spared(n, column, -1)):
        return None

    loops.remove(column)
    return column


def _spared(n: Nest, loop: Loop, which: int) -> int:
    """Products whose first factor (0) or last factor (-1) stays along a loop."""
    return sum(loop.step[q.factors[which]] == 0 for q in n.products if len(q.factors) > 1)


def _spared_along(n: Nest, loop: Loop, column: Loop | None) -> int:
    """Factors with the columns' index that stay along a loop."""
    if not column:
        return 0

    factors = itertools.chain.from_iterable(q.factors for q in n.products)
    return sum(loop.step[f] == 0 for f in factors if column.step[f])


def across(n: Nest, row: Loop, column: Loop, width: int) -> bool:
    """Whether lanes had better go across the output's lines, where those are no whole number of packs."""
    if n.statement.function or n.statement.add or not n.products or not all(q.sums for q in n.products):
        return False
    if not {1} <= _steps_of(n, row) <= {0, 1} or column.extent < width or row.extent < width:
        return False

    count = min(turns(q.sums) for q in n.products)
    row_packs, column_packs = -(-row.extent // width), -(-column.extent // width)
    return row_packs * column.extent * (count + TURNING) < row.extent * column_packs * (count + 1)
