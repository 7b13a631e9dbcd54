"""How arrays lie along the indices of a range, and what follows: the order of the indices, the shape of tiles."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import re
import typing
from collections.abc import Callable, Iterable

from ..engine.backend.facts import REFERENCE
from .words import Array

Order = tuple[int, ...]  # all indices of a range, the fastest first

MOST_THREADS = REFERENCE.threads_of_block
THREADS = 256  # of a device's block
ROW = 256  # indices of a CPU's tile along the arrays
PART = 8  # of a device's along the fastest index, where arrays lie across each other
AGAIN = (64, 1024)  # indices along the fastest index, and threads, of a device's block whose threads read the same
BEYOND = 1.05  # threads for an index of a row, beside the least number of them
STREAMS = 8  # of memory that a core of a CPU follows: rows of arrays
SHORT = 512  # indices of a row that a core of a CPU takes whole, since the next row lies behind it
LINE = 8  # numbers of a line of a CPU's memory
ROWS = 32  # numbers between neighbours from which on a CPU's lanes follow a row each
FOLLOWED = 256  # numbers that such a lane follows, at least
LANES = 64  # indices for lanes, at least
LONG_RUN = 128  # indices of a tile of such packs along the fastest index
MANY = 2**14  # indices from which on packs of several vectors leave enough of them for a CPU's cores
WARP = REFERENCE.warp


def named(order: str, rank: int) -> Order:
    """The order of a word: "right", the last index is the fastest, or "left", the first."""
    return tuple(range(rank)) if order == "left" else tuple(range(rank))[::-1]


class Fit(typing.NamedTuple):
    """The shape of a CPU's tiles where they are many."""

    run: int  # indices along the fastest index
    least: int  # along the others together
    most: int
    whole: int = 0  # rows of up to so many indices are taken whole, in the order of memory


@dataclasses.dataclass(frozen=True)
class ArrayOrder:
    """An array that has all indices of a range."""

    name: str
    order: Order  # of the indices by the distance of neighbours in memory, the nearest first
    written: bool
    row: tuple[str, ...] = ()  # extents ahead of the nearest index: neighbours are such a row apart
    columns: tuple[str, ...] = ()  # extents behind the farthest index
    is_plain: bool = False  # has no other dimensions, and is neither scattered nor streamed
    is_streamed: bool = False


@dataclasses.dataclass(frozen=True)
class Layouts:
    """The arrays of a kernel, seen along the indices of a range."""

    rank: int = 1  # indices of the range
    count: int = 0  # arrays of the kernel
    arrays: tuple[ArrayOrder, ...] = ()  # those that have all indices
    has_names_of_its_own: bool = True  # each index has a name, so that it is known along which dimensions it goes
    again: Order = ()  # indices that an array with further extents lacks: a body reads the same of it for all of them

    @functools.cached_property
    def order(self) -> Order:
        """The order of most arrays; a written one counts twice, since memory reads a line before it writes a part. Of
        equals the first one. "right" where no array has all indices."""
        return self._order_of(self.arrays)

    @functools.cached_property
    def order_of_kept(self) -> Order:
        """The same without streamed arrays, which go past a CPU's caches; that of all where there are no others."""
        kept = tuple([array for array in self.arrays if not array.is_streamed])
        return self._order_of(kept or self.arrays)

    def _order_of(self, arrays: tuple[ArrayOrder, ...]) -> Order:
        if not arrays:
            return named("right", self.rank)

        votes: dict[Order, int] = {}
        for array in arrays:
            votes[array.order] = votes.get(array.order, 0) + 1 + array.written
        return max(votes, key=lambda order: votes[order])

    @property
    def has_more(self) -> bool:
        """Whether an array has extents ahead of all indices, or behind them."""
        return any(array.row or array.columns for array in self.arrays)

    def has_columns(self, size_of: Callable[[str], int]) -> bool:
        """Whether a body that goes along the extents behind all indices is at more places of memory than a core
        follows. size_of: an extent's value."""
        return any(math.prod(map(size_of, array.columns)) >= ROWS for array in self.arrays if array.columns)

    def has_long_columns(self, index: int, extent: int, size_of: Callable[[str], int]) -> bool:
        """Whether a CPU's packs of several vectors along an index pay: a body goes along columns, and there are enough
        indices for all cores. size_of: an extent's value."""
        near = [array for array in self.arrays if array.order[0] == index and array.columns]
        return extent >= MANY and any(math.prod(map(size_of, array.columns)) >= ROWS for array in near)

    def in_columns(self, index: int) -> tuple[str, ...]:
        """Names of the arrays in which a body goes along columns, while a CPU's lanes lie along an index: neighbours
        along the index are the nearest ones, and there are many columns, or a number that is not known yet."""
        near = [array for array in self.arrays if array.order[0] == index]
        return tuple([array.name for array in near if _are_many(array.columns)])

    def in_rows(self, index: int) -> tuple[str, ...]:
        """Names of the arrays in which each lane goes along a row of its own, while a CPU's lanes lie along an index:
        it is the farthest one, and rows are long, or their length is not known yet."""
        far = [array for array in self.arrays if array.order[-1] == index]
        return tuple([array.name for array in far if _are_many(array.row)])

    @functools.cached_property
    def near(self) -> tuple[int, ...]:
        """The indices along which neighbours of some array lie side by side, that of `order` first. Several of them:
        arrays lie across each other. Empty where no array has all indices."""
        nearest = [array.order[0] for array in self.arrays]
        return tuple(sorted(set(nearest), key=lambda d: (d != self.order[0], nearest.index(d))))

    @property
    def are_alike(self) -> bool:
        """Whether neighbours of all arrays lie along the same index."""
        return len(self.near) <= 1

    @property
    def are_read_again(self) -> bool:
        """Whether rows of indices share what they read of an array, beside another one that is read along its own
        extents, too, and comes from memory."""
        return self.has_more and any(d not in self.near[:1] for d in self.again)

    def beside(self, index: int) -> tuple[str, ...]:
        """Names of the arrays in which neighbours along an index lie side by side."""
        return tuple([array.name for array in self.arrays if array.order[0] == index and not array.row])

    def across_rows(self, extents: list[int], size_of: Callable[[str], int]) -> Order:
        """On a CPU: an order with the farthest index the fastest, so that each lane follows memory along rows of its
        own. Empty where the order of memory is better: neighbours share lines, since no array has long rows ahead of
        its nearest index. size_of: an extent's value."""
        for array in self.arrays:
            row = math.prod(map(size_of, array.row))
            *others, farthest = array.order
            followed = row * math.prod([extents[d] for d in others])
            if others and row >= ROWS and followed >= FOLLOWED and extents[farthest] >= LANES:
                return (farthest, *others)
        return ()

    def tile_across_rows(self, order: Order, extents: list[int]) -> tuple[int, ...]:
        """A CPU's tile for an order of `across_rows`: few indices for lanes, and long rows for each."""
        tile = [1] * len(extents)
        tile[order[0]] = 2 * LINE
        for d in order[1:]:
            tile[d] = min(max(extents[d], 1), MOST_THREADS // math.prod(tile))
        return tuple(tile)

    def tile_down_columns(self, order: Order, extents: list[int]) -> tuple[int, ...]:
        """A CPU's tile for packs of several vectors: some packs, and many of the other indices, which read the same."""
        tile = [1] * len(extents)
        tile[order[0]] = LONG_RUN
        _grow(tile, order[1:], _powers_above(extents), MOST_THREADS)
        return tuple(tile)

    def tile(self, order: Order, extents: list[int], in_blocks: bool) -> tuple[int, ...]:
        """The model's tile.

        On a device a block of up to 256 threads along the arrays, since a warp's neighbours share lines of memory. On a
        CPU 1024 indices: long rows for the packs, and several rows, whose neighbours share data. If arrays lie
        across each other a tile has whole lines of each. If rows read the same data, a device's block has many rows.

        order: of the indices in a tile. extents: numbers of indices.
        """
        if not in_blocks:
            near = max(len(self.near), 1)
            side = _side(MOST_THREADS, near)
            return self.shape(order, extents, MOST_THREADS, (min(side, ROW),))

        if self.are_alike:
            return self._sharing(order, extents) if self.are_read_again else self._along(order, extents)

        # A warp has parts of lines of 32 bytes or more of each array.
        return self.shape(order, extents, THREADS, (PART, _side(THREADS // PART, len(self.near) - 1)))

    def _along(self, order: Order, extents: list[int]) -> tuple[int, ...]:
        """A block whose threads are neighbours in memory: whole rows, or an equal part of each, with few threads beyond
        the end of a row. Rows of more than a warp are multiples of 8, so that few shapes are compiled."""
        tile = [1] * len(extents)
        room = THREADS

        for d in self.order if self.near else order:
            extent = max(extents[d], 1)
            if room == THREADS and extent > WARP:
                tile[d] = _row(extent)
            else:
                parts = -(-extent // room)
                tile[d] = -(-extent // parts)

            room //= tile[d]

        return tuple(tile)

    def _sharing(self, order: Order, extents: list[int]) -> tuple[int, ...]:
        """A block of many threads, with as many rows as may be that read the same."""
        row, threads = AGAIN
        fastest = (self.near or order)[0]
        most = _powers_above(extents)
        tile = [1] * len(extents)
        tile[fastest] = min(row, most[fastest])
        _grow(tile, [d for d in self.again if d != fastest], most, threads)
        _grow(tile, [fastest], most, THREADS)
        return tuple(tile)

    def shape(self, order: Order, extents: list[int], threads: int, rows: tuple[int, ...]) -> tuple[int, ...]:
        """A tile of so many indices, the others than the near ones as even as may be. Powers of two, so that few shapes
        are compiled.

        rows: along the first near index, the second; the last number for the others, too. An index that the order has
        ahead of the near ones has one place in a tile: the order does not matter then.
        """
        near = self.near or order[:1]
        most = _powers_above(extents)
        tile = [1] * len(extents)

        for k, d in enumerate(near):
            row = rows[min(k, len(rows) - 1)]
            tile[d] = min(row, most[d], threads // math.prod(tile))

        behind = [d for d in order[order.index(near[0]) :] if d not in near]
        _grow(tile, behind, most, threads)
        _grow(tile, near, most, threads)
        return tuple(tile)

    def fit(self, order: Order, in_columns: bool = False, in_long_columns: bool = False) -> Fit:
        """The shape of a CPU's tiles where they are many. Memory reads and writes a row of each array side by side, and
        a core follows a number of them only. Across an array each index is a row of it, and the others go along it.
        in_columns: see has_columns; small data are then read again for the other indices. in_long_columns: by packs of
        several vectors.
        """
        if in_long_columns:
            return Fit(LONG_RUN, 16, 16)
        if in_columns or (self.near and order[0] not in self.near):
            return Fit(16 if self.count < 2 else 8, 64, 64)
        if len(self.near) > 1:
            return Fit(8 * LINE, 8 * LINE, 8 * LINE)

        most = max(1, STREAMS // max(self.count, 1))
        return Fit(max(16, 1 << (128 // most - 1).bit_length()), most, most, SHORT)

    def why(self, extents: tuple[str, ...]) -> str:
        """The arrays along each near index, in words."""
        along = []
        for d in self.near:
            names = [array.name for array in self.arrays if array.order[0] == d]
            along.append(f"{', '.join(names)} along {extents[d]}")

        return "; ".join(along) or "no array has all indices"


def _powers_above(extents: list[int]) -> list[int]:
    """The powers of two from the extents on."""
    return [1 << max(extent - 1, 0).bit_length() for extent in extents]


def _grow(tile: list[int], along: Iterable[int], most: list[int], threads: int) -> None:
    """Doubles a tile along these indices in turns, up to so many indices along each, and threads."""
    for d in [*along] * threads.bit_length():
        if math.prod(tile) < threads and tile[d] < most[d]:
            tile[d] *= 2


def _side(volume: int, dimensions: int) -> int:
    """The side of a cube in a volume, both powers of two."""
    return 1 << (volume.bit_length() - 1) // dimensions


def _row(extent: int) -> int:
    """Indices of a block along rows: all, or the most whole warps with few threads beyond the end."""
    if extent <= THREADS:
        return -(-extent // 8) * 8
    threads = {size: -(-extent // size) * size for size in range(WARP, THREADS + 1, WARP)}
    return max(size for size, number in threads.items() if number <= BEYOND * min(threads.values()))


def layouts_of(extents: tuple[str, ...], arrays: tuple[Array, ...]) -> Layouts:
    """The arrays along the indices of a range with these extents. An extent's name says which index goes along a
    dimension; the first of equal names is the first index."""
    words = [_name(extent) for extent in extents]
    found = []
    again: set[int] = set()

    for array in arrays:
        order, row, columns = _order(words, array)
        if len(order) == len(words):
            is_plain = len(array.extents) == len(words) and not array.scattered and not array.streamed
            found.append(ArrayOrder(array.name, order, array.written, row, columns, is_plain, array.streamed))
        elif order and len(array.extents) > len(order):
            again.update(set(range(len(words))) - set(order))

    has_own = "" not in words and len(set(words)) == len(words)
    return Layouts(len(extents), len(arrays), tuple(found), has_own, tuple(sorted(again)))


def _name(extent: str) -> str:
    """The only name in a formula of an extent, or in that of its end; empty if there is none, or several."""
    names = set(re.findall(r"[^\W\d]\w*", extent.rpartition(":")[2]))
    return names.pop() if len(names) == 1 else ""


def _order(words: list[str], array: Array) -> tuple[Order, tuple[str, ...], tuple[str, ...]]:
    """The indices that an array has, by the distance of neighbours; its extents ahead of them, and behind."""
    left = list(range(len(words)))
    dimensions: list[tuple[str, int | None]] = []  # with the index along each

    for extent in array.extents:
        name = _name(extent)
        match = [d for d in left if words[d] == name != ""]
        dimensions.append((extent, match[0] if match else None))
        left = [d for d in left if d not in match[:1]]

    nearest_first = dimensions if array.layout == "LEFT" else dimensions[::-1]
    order = tuple([d for _, d in nearest_first if d is not None])
    return order, _without_index(nearest_first), _without_index(nearest_first[::-1])


def _are_many(columns: tuple[str, ...]) -> bool:
    """Whether columns with these extents are too many for a core to follow, as far as numbers say."""
    known = math.prod([int(extent) for extent in columns if extent.isdecimal()])
    return bool(columns) and (known >= ROWS or not all(extent.isdecimal() for extent in columns))


def _without_index(dimensions: list[tuple[str, int | None]]) -> tuple[str, ...]:
    """The extents of the first dimensions without an index."""
    first = itertools.takewhile(lambda dimension: dimension[1] is None, dimensions)
    return tuple([extent for extent, _ in first])
