"""Tiles of a product of two tensors: the order in which indices are folded, and the tables that direct.h reads.

Rows, columns and terms of the sum are counted by digits, the first one running fastest. An axis is one digit, or two
where a factor and the output run along different axes: then a tile has a piece of both, and loads and stores are both
made of runs. Everything here is numbers of the host, for extents and steps that are known when arrays are bound.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import NamedTuple

import numpy as np

from .fold import LEFT, OUT, RIGHT, Axis, Fold, exchanged
from .plan import Unable

MOST_DIGITS = 8  # of a group, as direct.h has it
SECTOR, LINE = 32, 128  # bytes that memory moves at least, and at best
FARTHEST = 2**31  # numbers of an array that direct.h counts from a block's begin
UNIT_ROWS, UNIT_COLUMNS = 16, 8  # of a tile of the matrix units
MOST_OF_MATRIX = 128  # rows and columns of a small product, which is one tile
FEWEST_WARPS, MOST_WARPS, MOST_UNITS = 3, 8, 16  # of its block; tiles of the units of a warp


class Digit(NamedTuple):
    """A digit of the number of a row, a column, a term of the sum, or a batch."""

    extent: int
    step: tuple[int, int, int]  # in out, left, right
    weight: tuple[int, int] = (0, 0)  # in the indices that pieces do not fill


@dataclasses.dataclass(frozen=True)
class Count:
    """A group of indices as digits, the first one running fastest."""

    digits: tuple[Digit, ...]
    limit: tuple[int, int] = (1, 1)  # of the indices that pieces do not fill

    @functools.cached_property
    def size(self) -> int:
        """Numbers that the digits count, those beyond a limit among them."""
        return math.prod(digit.extent for digit in self.digits)

    @functools.cached_property
    def ragged(self) -> bool:
        """Whether some numbers lie beyond a limit."""
        return any(any(digit.weight) for digit in self.digits)

    def without(self, digit: Digit) -> Count:
        return dataclasses.replace(self, digits=tuple(other for other in self.digits if other is not digit))

    def farthest(self, array: int) -> int:
        """The largest offset in an array."""
        return sum((digit.extent - 1) * abs(digit.step[array]) for digit in self.digits)

    def offsets(self, array: int, count: int) -> np.ndarray:
        """Where the first `count` numbers lie in an array. The last digit runs on."""
        number, total = np.arange(count), np.zeros(count, np.int64)
        for place, digit in enumerate(self.digits):
            last = place == len(self.digits) - 1
            total += (number if last else number % max(digit.extent, 1)) * digit.step[array]
            number = number // max(digit.extent, 1)
        return total

    def inside(self, count: int) -> np.ndarray:
        """Which of the first `count` numbers exist."""
        number = np.arange(count)
        found = number < self.size
        values = np.zeros((2, count), np.int64)
        for digit in self.digits:
            extent = max(digit.extent, 1)
            values += np.outer(digit.weight, number % extent)
            number = number // extent
        return found & (values[0] < self.limit[0]) & (values[1] < self.limit[1])


class Lie(NamedTuple):
    """How arrays lie, as far as a kernel's text depends on it."""

    left_along: bool  # the left factor runs along the sum
    right_along: bool
    out_rows: bool  # the output runs along rows
    left_wide: int  # neighbours that are copied at once
    right_wide: int
    out_wide: int  # neighbours that are stored at once
    rows_ragged: bool  # digits of rows go beyond the end of an index
    columns_ragged: bool


class Tile(NamedTuple):
    """Numbers of a block's tile."""

    rows: int
    columns: int
    depth: int  # terms of the sum at a time


@dataclasses.dataclass(frozen=True)
class Layout:
    """A product by tiles: digits of its groups, and how its arrays lie."""

    tile: Tile
    rows: Count
    columns: Count
    sums: Count
    others: tuple[Digit, ...]  # each a loop over blocks
    lie: Lie

    @functools.cached_property
    def row_tiles(self) -> int:
        return -(-self.rows.size // self.tile.rows)

    @functools.cached_property
    def column_tiles(self) -> int:
        return -(-self.columns.size // self.tile.columns)

    @functools.cached_property
    def steps(self) -> int:
        """Copies of `depth` terms of the sum."""
        return -(-self.sums.size // self.tile.depth)

    @functools.cached_property
    def blocks(self) -> int:
        return self.row_tiles * self.column_tiles * math.prod(digit.extent for digit in self.others)

    def copied(self, array: int, size: int) -> int:
        """Bytes of the sectors that a step's copies of LEFT or RIGHT read. size: bytes of a number."""
        count, lines, along = self.rows, self.tile.rows, self.lie.left_along
        if array == RIGHT:
            count, lines, along = self.columns, self.tile.columns, self.lie.right_along
        if along:
            return min(lines, count.size) * -(-self.tile.depth * size // SECTOR) * SECTOR
        return _sectors(count, array, lines, size) * self.tile.depth

    def stored(self, size: int) -> int:
        """Bytes of the sectors that a tile writes. size: bytes of a number."""
        rows, columns = min(self.tile.rows, self.rows.size), min(self.tile.columns, self.columns.size)
        if self.lie.out_rows:
            return _sectors(self.rows, OUT, rows, size) * columns
        return _sectors(self.columns, OUT, columns, size) * rows

    def terms(self) -> np.ndarray:
        """Where each term of the sum lies in left and right, (steps * depth, 2) of int32; -1 beyond the end."""
        count = self.steps * self.tile.depth
        both = [self.sums.offsets(array, count) for array in (LEFT, RIGHT)]
        table = np.stack(both, axis=1)
        table[~self.sums.inside(count)] = -1
        return table.astype(np.int32)

    def spots(self) -> np.ndarray:
        """Place of each row and column of a tile in the order of the output, (rows + columns) of int32."""
        return np.concatenate([_ranks(self.rows, self.tile.rows), _ranks(self.columns, self.tile.columns)])

    def straight_spots(self) -> np.ndarray:
        """The same with rows in their own order."""
        rows = np.arange(self.tile.rows, dtype=np.int32)
        return np.concatenate([rows, _ranks(self.columns, self.tile.columns)])


@functools.lru_cache(1024)
def _sectors(count: Count, array: int, lines: int, size: int) -> int:
    """Bytes of the sectors in which the first lines of a group lie."""
    offsets = count.offsets(array, min(lines, count.size))
    return len(np.unique(offsets * size // SECTOR)) * SECTOR


def _ranks(count: Count, lines: int) -> np.ndarray:
    """The place of each line of a tile, if they are sorted by where they lie in the output; lines beyond the last one
    come behind."""
    beyond = np.arange(lines) >= count.size
    order = np.lexsort((count.offsets(OUT, lines), beyond))
    ranks = np.empty(lines, np.int32)
    ranks[order] = np.arange(lines)
    return ranks


def along_columns(f: Fold) -> Fold:
    """The product with its factors in the order in which the output does not run along the rows."""
    return exchanged(f) if any(axis.step[OUT] == 1 for axis in f.m) else f


# ---- layout ---------------------------------------------------------------------------------------------------------


def layout(f: Fold, tile: Tile, size: int, aligned: bool = True, straight: bool = False) -> Layout:
    """The layout of a product. size: bytes of a number. aligned: arrays, and batches of them, begin at 16 bytes.
    straight: columns lie in shared memory in the output's order."""
    numbers = [f.numbers(array) for array in (OUT, LEFT, RIGHT)]
    rows = _count(f.m, (LEFT, OUT), numbers, tile.rows, size, _run_of(f.n, tile.columns))
    columns = _count(f.n, (RIGHT, OUT), numbers, tile.columns, size, _run_of(f.m, tile.rows))
    sums = _count(f.k, (LEFT, RIGHT), [1, 1, 1], tile.depth, size)  # the same order of terms for any batch
    others = [Digit(axis.extent, axis.step) for axis in f.batch]

    # What lies too far for offsets of 32 bits becomes a loop over blocks.
    rows, columns, far = _near(rows, columns, sums)
    others += far

    groups = {OUT: (rows, columns), LEFT: (rows, sums), RIGHT: (columns, sums)}
    most = [_even(array, groups[array], others, size) if aligned else 1 for array in (OUT, LEFT, RIGHT)]

    out_rows = _has_run(rows, OUT)
    fast, lines = (rows, tile.rows) if out_rows else (columns, tile.columns)
    left_along, right_along = _has_run(sums, LEFT), _has_run(sums, RIGHT)
    right_wide = _width(sums if right_along else columns, RIGHT, most[RIGHT])
    if straight and not right_along:
        right_wide = _near_in_both(_ranks(columns, tile.columns), right_wide)
    lie = Lie(
        left_along,
        right_along,
        out_rows,
        _width(sums if left_along else rows, LEFT, most[LEFT]),
        right_wide,
        _store_width(fast, lines, most[OUT]),
        rows.ragged,
        columns.ragged,
    )
    return Layout(tile, rows, columns, sums, tuple(others), lie)


def warps_of(f: Fold) -> tuple[int, int, int, int] | None:
    """Warps along rows and columns of a block whose tile is one of many small products, and the units' tiles of a warp
    both ways: those that read least for each multiplication. None: products are not small, or there is one."""
    rows, columns = -(-f.size("m") // UNIT_ROWS), -(-f.size("n") // UNIT_COLUMNS)
    if not f.batch or max(UNIT_ROWS * rows, UNIT_COLUMNS * columns) > MOST_OF_MATRIX:
        return None

    able = []
    for warps_m, warps_n in itertools.product(_divisors(rows), _divisors(columns)):
        tiles_m, tiles_n = rows // warps_m, columns // warps_n
        if FEWEST_WARPS <= warps_m * warps_n <= MOST_WARPS and tiles_m * tiles_n <= MOST_UNITS:
            able.append((warps_m, warps_n, tiles_m, tiles_n))
    return min(able, key=lambda found: (1 / found[2] + 2 / found[3], -found[0]), default=None)


def _divisors(extent: int) -> list[int]:
    return [d for d in range(1, extent + 1) if extent % d == 0]


def _near(rows: Count, columns: Count, sums: Count) -> tuple[Count, Count, list[Digit]]:
    """(rows, columns, digits taken out of them), such that offsets in all arrays stay below FARTHEST. Raises Unable."""
    far: list[Digit] = []
    while True:
        groups = {OUT: (rows, columns), LEFT: (rows, sums), RIGHT: (columns, sums)}
        over = [array for array, counts in groups.items() if sum(c.farthest(array) for c in counts) >= FARTHEST]
        if not over:
            return rows, columns, far

        able = [digit for digit in (*rows.digits, *columns.digits) if digit.step[over[0]] and not any(digit.weight)]
        if not able:
            raise Unable("arrays whose entries have fewer than 2^31 numbers")
        far.append(max(able, key=lambda digit: (digit.extent - 1) * abs(digit.step[over[0]])))
        rows, columns = rows.without(far[-1]), columns.without(far[-1])


def _has_run(count: Count, array: int) -> bool:
    """Whether neighbours of an array are counted by a group."""
    return any(digit.step[array] == 1 for digit in count.digits)


def _run_of(axes: tuple[Axis, ...], most: int) -> int:
    """Neighbours of the output that lines of a tile have along the other group's axis, all of it; 1 if there are none.

    most: numbers of a tile along that group.
    """
    extent = next((axis.extent for axis in axes if axis.step[OUT] == 1), 1)
    return extent if extent <= most else 1


def _count(axes: tuple[Axis, ...], arrays: tuple[int, int], numbers, most: int, size: int, run: int = 1) -> Count:
    """Digits of a group. arrays: the two that have it; the first one's runs come first. numbers: of out, left, right.
    most: numbers of a tile. run: neighbours in the second array that a line has by itself: the axis that steps over
    them makes longer runs."""
    first = next((axis for axis in axes if axis.step[arrays[0]] == 1), None)
    second = next((axis for axis in axes if axis.step[arrays[1]] in (1, run)), None)
    rest = [axis for axis in axes if axis is not first and axis is not second]
    rest.sort(key=lambda axis: abs(axis.step[arrays[1]]))

    if first is None or second is None or first is second:
        ordered = [axis for axis in dict.fromkeys((first, second)) if axis is not None] + rest
        return Count(tuple(Digit(axis.extent, axis.step) for axis in ordered))

    share = numbers[arrays[0]] / (numbers[arrays[0]] + numbers[arrays[1]])
    pieces = _pieces(first.extent, second.extent, share, most, (size, size * second.step[arrays[1]]))
    inner, outer, limit = [], [], [1, 1]
    for place, (axis, piece) in enumerate(zip((first, second), pieces)):
        ragged = axis.extent % piece != 0
        unit = [0, 0]
        if ragged:
            unit[place], limit[place] = 1, axis.extent
        inner.append(Digit(piece, axis.step, (unit[0], unit[1])))
        out, left, right = axis.step
        step = (piece * out, piece * left, piece * right)
        outer.append(Digit(-(-axis.extent // piece), step, (piece * unit[0], piece * unit[1])))

    between = [Digit(axis.extent, axis.step) for axis in rest]
    digits = [digit for digit in (*inner, outer[1], *between, outer[0]) if digit.extent > 1 or any(digit.weight)]
    return Count(tuple(digits), (limit[0], limit[1]))


@functools.lru_cache(None)
def _pieces(first: int, second: int, share: float, most: int, sizes: tuple[int, int]) -> tuple[int, int]:
    """Pieces of two axes that together fit a tile: both make long runs, and little lies beyond the axes' ends.

    share: of the numbers that are moved, of the array that runs along the first axis. sizes: bytes of a run for each
    number of a piece.
    """
    best = (math.inf, 0.0, 1, 1)
    for p in _lengths(first, most):
        for q in _lengths(second, most // p):
            moved = share * _run_cost(p, sizes[0]) + (1 - share) * _run_cost(q, sizes[1])
            cost = moved * _beyond(first, p) * _beyond(second, q)
            best = min(best, (cost, -min(p, q), p, q))
    return best[2], best[3]


def _lengths(extent: int, most: int) -> list[int]:
    """Pieces of an axis that are tried: divisors, and powers of two, which may go beyond its end."""
    divisors = [d for d in range(1, min(extent, most) + 1) if extent % d == 0]
    powers = [2**k for k in range(2, 8) if 2**k <= most and 2**k < extent]
    return sorted({*divisors, *powers})


def _run_cost(run: int, size: int) -> float:
    """Bytes that are moved for each byte of a run: whole sectors, and half a line more for each run."""
    length = run * size
    sectors = -(-length // SECTOR) * SECTOR
    broken = SECTOR / 2 if length % SECTOR else 0
    return (sectors + broken + LINE / 8) / length


def _beyond(extent: int, piece: int) -> float:
    """How much more than the axis its pieces have."""
    return -(-extent // piece) * piece / extent


def _even(array: int, groups, others, size: int) -> int:
    """Numbers of up to 16 bytes of which all steps of an array but its runs are multiples."""
    steps = [digit.step[array] for count in groups for digit in count.digits] + [d.step[array] for d in others]
    wide = 16 // size
    while wide > 1 and any(abs(step) != 1 and step % wide for step in steps):
        wide //= 2
    return 1 if any(step == -1 for step in steps) else wide


def _width(count: Count, array: int, most: int) -> int:
    """Neighbours that may be copied at once: the first digit is a run of whole ones."""
    if not count.digits or count.digits[0].step[array] != 1:
        return 1
    return _dividing(count, 0, most)


def _dividing(count: Count, place: int, most: int) -> int:
    """The most neighbours along a digit's run that exist together."""
    digit = count.digits[place]
    limits = [limit for limit, weight in zip(count.limit, digit.weight) if weight]
    while most > 1 and any(extent % most for extent in (digit.extent, *limits)):
        most //= 2
    return most


def _near_in_both(ranks: np.ndarray, most: int) -> int:
    """The most lines, up to `most`, that are neighbours in a tile and by their ranks."""
    while most > 1:
        together = ranks.reshape(-1, most)
        if np.all(together == together[:, :1] + np.arange(most)) and not np.any(together[:, 0] % most):
            break
        most //= 2
    return most


def _store_width(count: Count, lines: int, most: int) -> int:
    """Neighbours that may be stored at once: they are neighbours in every tile."""
    inner = 1
    for place, digit in enumerate(count.digits):
        if digit.step[OUT] == 1:
            return _dividing(count, place, most) if place == 0 or lines % (inner * digit.extent) == 0 else 1
        inner *= digit.extent
    return 1
