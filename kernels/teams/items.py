"""What the body of a team kernel is called for: the teams of a league, the indices of a range, or those of tiles.

The C++ is a loop of team_packs.h or team_threads.h with the body in a lambda. render.py fills in the names in braces.
"""

from __future__ import annotations

import abc
import dataclasses
import itertools
import math
import re
import typing

from ..engine.backend.facts import REFERENCE
from ..engine.errors import refuse
from .words import Array

MOST_THREADS = REFERENCE.threads_of_block
MOST_INDICES = 6  # of tiles
BLOCKS, RUNS = (128, 256, 1024), (8, 32, 128)  # of a search: indices of a tile, of them along the fastest index
STREAMS = 8  # of memory that a core of a CPU follows: rows of arrays
ORDERS = ("right", "left")  # the last index is the fastest; the first


@dataclasses.dataclass(frozen=True)
class Items(abc.ABC):
    """The items of a kernel; the subclasses are the kinds."""

    extents: tuple[str, ...]  # numbers, names or formulas of names; "first:behind" where indices do not begin with 0

    kind = ""  # as a declaration calls it
    has_teams = False  # the body is called for a team, which may have scratch
    takes = ""  # what the body takes, for messages of a compiler
    loop = ""  # C++: the loop with its template arguments
    call = ""  # C++: the body, as the loop calls it
    arguments: typing.ClassVar[tuple[str, ...]] = ()  # C++: further arguments of the loop

    def __str__(self):
        return f"{self.kind} {' '.join(self.extents)}"

    def organisation(self, team: int, vector: int) -> tuple[int, int]:
        """(members of a team, lanes of a member) on a device."""
        return team, vector

    def organised(self, in_blocks: bool) -> bool:
        """Whether the code depends on the organisation. in_blocks: of the backend."""
        return in_blocks or self.has_teams

    @property
    def is_sized(self) -> bool:
        """Whether its code is known without the extents."""
        return True

    def sized(self, extents: list[int], in_blocks: bool) -> Items:
        """These items with what follows from their extents. in_blocks: of the backend."""
        return self

    def worked(self, in_blocks: bool, arrays: tuple[Array, ...]) -> Items:
        """These items as a backend goes over them. arrays: those of the kernel."""
        return self

    def number(self, extents: list[int]) -> int:
        """Number of items for these extents."""
        return extents[0]

    @abc.abstractmethod
    def of_block(self, threads: int) -> int:
        """Items of a block of so many threads."""

    def published(self, number: int, threads: int) -> int:
        """How many blocks of indices publish what they give, for others to read."""
        return 0

    @abc.abstractmethod
    def holders(self, threads: int) -> int:
        """How many of the threads of a block may hold a unique id at the same time."""

    def text(self, block: str) -> dict[str, str]:
        """Further names for the C++. block: number of a block's threads, if the backend has blocks."""
        return {}

    def ahead(self) -> str:
        """C++: statements ahead of the loop."""
        return ""


class League(Items):
    """body(m, team, results...) for each team."""

    kind = "league"
    has_teams = True
    takes = "a team"
    loop = "for_league<Team<{team}, {vector}>, {one}, {results}, {scratch}, {level_1}, {writes}>"
    call = "[m](const auto &team, auto &results) INLINED {{ (void)results, {body}({m}, team{arguments_of_results}); }}"

    def of_block(self, threads):
        return 1

    def holders(self, threads):
        return 1


class Range(Items):
    """body(m, i, results...) for each index, a thread each."""

    kind = "range"
    takes = "an index"
    loop = "for_range<{threads}, {results}>"
    call = "[m](const auto i, auto &results) INLINED {{ (void)results, {body}({m}, i{arguments_of_results}); }}"
    arguments = ("a.begin[0]",)

    def of_block(self, threads):
        return threads

    def holders(self, threads):
        return threads


@dataclasses.dataclass(frozen=True)
class Scan(Items):
    """body(m, i, result, last) for each index, twice: see for_scan."""

    is_whole: bool = False  # the result has whole numbers

    kind = "scan"
    takes = "an index"
    loop = "for_scan<{threads}, {results}>"
    call = "[m](const auto i, auto &result, bool last) INLINED {{ {body}({m}, i, result, last); }}"
    arguments = ("a.begin[0]",)

    @property
    def each(self) -> int:
        """Indices of a device's thread, as in team_threads.h. With eight real numbers in registers two blocks run at
        the same time; whole ones take more registers to add, and a single block with more of them is faster."""
        return 16 if self.is_whole else 8

    def organisation(self, team, vector):
        return max(32, team * vector // 32 * 32), 1

    def of_block(self, threads):
        return threads * self.each

    def holders(self, threads):
        return threads

    def published(self, number, threads):
        return -(-number // self.of_block(threads))


class Fit(typing.NamedTuple):
    """The shape of a CPU's tiles where they are many."""

    run: int  # indices along the fastest index
    least: int  # along the others together
    most: int


@dataclasses.dataclass(frozen=True)
class Tiles(Items):
    """body(m, i, j, ..., results...) for each tuple of indices; a block has a tile."""

    tile: tuple[int, ...]  # empty: chosen by the extents
    orders: tuple[str, str]  # of tiles, and of the indices in a tile: the fastest index, "right" or "left"
    fit: Fit = Fit(16, 8, 16)  # on a CPU

    kind = "tiles"
    takes = "the indices"
    loop = "for_tiles<{results}, {rank}, {outer}, {inner}, {shape}>"
    call = "[m](auto &results, const auto... i) INLINED {{ (void)results, {body}({m}, i...{arguments_of_results}); }}"
    arguments = ("a.begin", "a.extent", "tile")

    def organisation(self, team, vector):
        return math.prod(self.tile or (MOST_THREADS,)), 1

    def organised(self, in_blocks):
        return True

    @property
    def is_sized(self):
        return bool(self.tile)

    def sized(self, extents, in_blocks):
        return self if self.tile else dataclasses.replace(self, tile=self._by_model(extents, in_blocks))

    def _by_model(self, extents: list[int], in_blocks: bool) -> tuple[int, ...]:
        """A tile. On a device a block of 256 threads, all along the fastest index if it is so long, since its
        neighbours share lines of memory; the others as even as may be. On a CPU 1024 indices: long rows for the packs,
        several of them for what neighbours share."""
        return self._tile(extents, 256 if in_blocks else MOST_THREADS, 256)

    def worked(self, in_blocks, arrays):
        if in_blocks:
            return self
        outer, inner = self.orders
        along = self._neighbours(arrays) or inner
        if outer == inner:  # the order of tiles is open
            outer = along
        fit = self._fit(len(arrays), along == inner)
        return dataclasses.replace(self, orders=(outer, inner), fit=fit)

    @staticmethod
    def _fit(arrays: int, is_along: bool) -> Fit:
        """Where tiles are many. arrays: how many the kernel has. is_along: they lie along the fastest index; else each
        of its indices is a row of theirs, and the others go along it."""
        if not is_along:
            return Fit(16 if arrays < 2 else 8, 64, 64)

        most = max(1, STREAMS // max(arrays, 1))
        return Fit(max(16, 1 << (128 // most - 1).bit_length()), most, most)

    def _neighbours(self, arrays) -> str | None:
        """The order in which arrays over these extents lie in memory, "right" or "left"; None if they differ."""
        names = [re.findall(r"[^\W\d]\w*", extent) for extent in self.extents]
        words = [found[0] for found in names if len(set(found)) == 1]
        ends = {words[0]: "left", words[-1]: "right"} if len(set(words)) == len(names) > 1 else {}

        found = set()
        for array in arrays:
            if set(words) <= set(array.extents):
                found.add(ends.get(array.extents[0 if array.layout == "LEFT" else -1]))
        return found.pop() if len(found) == 1 else None

    def _tile(self, extents: list[int], threads: int, row: int) -> tuple[int, ...]:
        """A tile of so many indices, `row` of them along the fastest index, if the extents have as many. Powers of two,
        so that few shapes are compiled."""
        most = [1 << max(extent - 1, 0).bit_length() for extent in extents]
        others = list(range(len(extents)))
        fastest = others.pop(0 if self.orders[1] == "left" else -1)

        tile = [1] * len(extents)
        tile[fastest] = min(row, most[fastest])
        slower = others if self.orders[1] == "left" else others[::-1]
        for growing in (*[slower] * threads.bit_length(), [fastest] * threads.bit_length()):
            for d in growing:
                if math.prod(tile) < threads and tile[d] < most[d]:
                    tile[d] *= 2
        return tuple(tile)

    def candidates(self, extents: list[int]) -> list[tuple[int, ...]]:
        """Tiles for a search: blocks of several sizes, with rows of several lengths."""
        found = [
            self._tile(extents, threads, row) for threads, row in itertools.product(BLOCKS, RUNS) if row <= threads
        ]
        return list(dict.fromkeys(found))

    def number(self, extents):
        return math.prod(-(-extent // size) for extent, size in zip(extents, self.tile))

    def of_block(self, threads):
        return 1

    def holders(self, threads):
        return threads

    def text(self, block):
        return {
            "rank": str(len(self.extents)),
            "outer": "true" if self.orders[0] == "right" else "false",
            "inner": "true" if self.orders[1] == "right" else "false",
            "shape": block or f"Fit<{self.fit.run}, {self.fit.least}, {self.fit.most}>",
        }

    def ahead(self):
        return f"const int tile[] = {{{', '.join(map(str, self.tile))}}};\n"


def items_of(where: str, league, range, scan, extents, tile, order: str) -> Items:
    """The items of a declaration; see team_kernel. where: start of the messages. Raises ArgumentError."""
    orders = tuple(str(order).split())
    refuse(
        len(orders) not in (1, 2) or not set(orders) <= set(ORDERS),
        f"{where}: order {order!r}, wanted right or left, or two of these: of the tiles, and in a tile.",
    )
    chosen = [choice for choice in (league, range, scan, extents) if choice is not None]
    refuse(len(chosen) != 1, f"{where}: wanted one of league, range, scan, extents.")

    if league is not None:
        return League((str(league),))
    if range is not None:
        return Range((str(range),))
    if scan is not None:
        return Scan((str(scan),))

    names = tuple(str(extents).split())
    refuse(not 1 <= len(names) <= MOST_INDICES, f"{where}: {len(names)} extents, wanted 1 to {MOST_INDICES}.")
    return Tiles(names, checked_tile(where, tile, len(names)), (orders[0], orders[-1]))


def checked_tile(where: str, tile, count: int) -> tuple[int, ...]:
    """The tile of `count` indices; empty where none is given. Raises ArgumentError."""
    if tile is None:
        return ()

    shape = tuple([int(size) for size in tile])
    refuse(
        len(shape) != count or min(shape) < 1 or math.prod(shape) > MOST_THREADS,
        f"{where}: tile {shape} for {count} extents, wanted as many numbers of 1 or more, 1024 together at most.",
    )
    return shape
