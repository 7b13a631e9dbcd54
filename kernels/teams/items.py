"""The items for which a team kernel calls its body: the teams of a league, the indices of a range or of its tiles.

policies.py has what a user writes. The C++ is a loop of the headers *_packs.h or *_threads.h with the body in a lambda;
render.py fills in the names in braces.
"""

from __future__ import annotations

import abc
import dataclasses
import itertools
import math
import typing
from collections.abc import Callable

from ..engine.errors import refuse
from .layouts import MOST_THREADS, THREADS, WARP, Layouts, Order, named

MOST_INDICES = 6  # of tiles
MOST_IN_TILES = 512  # threads of a block of several tiles
BLOCKS, RUNS = (128, 256, 1024), (8, 32, 128)  # of a search: indices of a tile, of them along the fastest index
LARGEST = 8  # bytes of a value of a scan
MANY = 2**24  # indices of a scan from which on large blocks are faster
ORDERS = ("right", "left")  # the last index is the fastest; the first


@dataclasses.dataclass(frozen=True)
class Items(abc.ABC):
    """The items of a kernel; the subclasses are the kinds."""

    extents: tuple[str, ...]  # numbers, names or formulas of names; "first:behind" where indices do not begin with 0

    kind = ""  # word of a declaration
    has_teams = False  # whether the body is called for a team, which may have scratch

    # Threads of a block whose size the declaration leaves open.
    threads = 128
    sharing = 0  # for a block that has copies of scattered arrays; 0: as `threads`

    # Arguments of the body, for messages about it.
    takes = ""  # in front of its results
    takes_behind = ""  # behind its results
    takes_plain_sum = False  # whether its result may be a plain number, which the body reads and writes

    # C++
    loop = ""  # the loop with its template arguments
    call = ""  # the body in a lambda
    arguments: typing.ClassVar[tuple[str, ...]] = ()  # further arguments of the loop
    view_ahead = "ViewAhead"  # view of the arrays that are asked_ahead
    view_beside_atomics = (
        ""  # view of the arrays that are read, if a CPU changes elements by atomics; "": the usual one
    )

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

    def sized(self, extents: list[int], in_blocks: bool, size_of: Callable[[str], int], may_be_long=True) -> Items:
        """These items with what follows from their extents. in_blocks: of the backend. size_of: the value of an array's
        extent. may_be_long: whether packs of several vectors pay for the body."""
        return self

    def number(self, extents: list[int]) -> int:
        """Number of items for these extents."""
        return extents[0]

    def members(self) -> str:
        """Words of the record of arguments, beside those of every kernel."""
        return ""

    def values(self, extents: list[int]) -> dict[str, list[int]]:
        """The values of these members."""
        return {}

    @abc.abstractmethod
    def of_block(self, threads: int) -> int:
        """Items of a block of so many threads."""

    def bounds(self, threads: int) -> str:
        """C++: threads of a block, and blocks of a multiprocessor if the kernel keeps its registers for so many."""
        return str(threads)

    def shared(self, threads: int) -> int:
        """Bytes of shared memory of a device's block, beside scratch and slots."""
        return 0

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

    @property
    def has_long_packs(self) -> bool:
        """Whether a CPU's packs are several vectors side by side."""
        return False

    def beside(self) -> tuple[str, ...]:
        """Names of the arrays in which neighbours of a CPU's pack of indices lie side by side."""
        return ()

    def asked_ahead(self) -> tuple[str, ...]:
        """Names of the arrays of which a CPU asks for lines ahead: packs go in columns or in rows, or rows may
        be many short ones."""
        return ()

    def ahead_of(self, kernel_scatters: bool) -> list[str]:
        """C++: arrays of which a CPU asks for lines ahead of its loop, further arguments behind the body."""
        return []


@dataclasses.dataclass(frozen=True)
class LeagueItems(Items):
    """body(m, team, results...) for each team."""

    rows: tuple[str, ...] = ()  # names of the arrays that are read and have a row for each team
    shorter_rows: tuple[str, ...] = ()  # of those that are read and have several rows for a team, or rows otherwise

    kind = "league"
    has_teams = True
    takes = "a team"
    loop = "for_league<{team}, {one}, {results}, {scratch}, {level_1}, {writes}>"
    call = (
        "[{captured}](const auto &team, auto &results) INLINED "
        "{{ (void)results, {body}(m, team{arguments_of_results}); }}"
    )

    def of_block(self, threads):
        return 1

    def holders(self, threads):
        return 1

    view_ahead = "ViewOfRows"
    view_beside_atomics = "ViewBesideAtomics"

    def ahead_of(self, kernel_scatters):
        return [f"rows_of_teams(m.{name})" for name in self.rows]

    def asked_ahead(self):
        return self.shorter_rows


@dataclasses.dataclass(frozen=True)
class RangeItems(Items):
    """body(m, i, results...) for each index, a thread each."""

    layouts: Layouts = Layouts()  # of the arrays
    has_columns: bool = False  # many indices, and bodies that go along columns of memory on a CPU

    kind = "range"
    sharing = 512
    takes = "an index"
    loop = "for_range<{threads}, {results}, {copies}>"
    call = (
        "[{captured}](const auto i, auto &results) INLINED {{ (void)results, at_each([&](const auto k) INLINED "
        "BODY_CALL({body}(m, k{arguments_of_results})), i); }}"
    )
    arguments = ("a.begin[0]",)

    def sized(self, extents, in_blocks, size_of, may_be_long=True):
        has_columns = may_be_long and not in_blocks and self.layouts.has_long_columns(0, extents[0], size_of)
        return dataclasses.replace(self, has_columns=True) if has_columns else self

    @property
    def has_long_packs(self):
        return self.has_columns

    def of_block(self, threads):
        return threads

    def holders(self, threads):
        return threads

    def beside(self):
        return self.layouts.beside(0)

    def ahead_of(self, kernel_scatters):
        return [f"m.{array.name}" for array in self.layouts.arrays if kernel_scatters and array.is_plain]

    def asked_ahead(self):
        return () if self.has_long_packs else self.layouts.in_columns(0) + self.layouts.in_rows(0)


class ScanItems(RangeItems):
    """body(m, i, result, last) for each index, twice: see for_scan."""

    kind = "scan"
    threads = 256
    sharing = 0
    at_work = 512  # of a multiprocessor: a thread has the registers for its indices
    takes_behind = "`bool last`"
    takes_plain_sum = True
    loop = "for_scan<{threads}, {each}, {results}, {in_packs}>"
    call = (
        "scan_body([{captured}](const auto i, auto &result, bool last) INLINED ASKED_CALL({body}(m, i, result, last)), "
        "[m](const auto i, auto &result, bool last) {{ {body}(m, i, result, last); }})"
    )

    def ahead_of(self, kernel_scatters):
        return super().ahead_of(True)

    def organisation(self, team, vector):
        return max(32, team * vector // 32 * 32), 1

    def sized(self, extents, in_blocks, size_of, may_be_long=True):
        return LongScanItems(self.extents, self.layouts) if in_blocks and extents[0] >= MANY else self

    def of_block(self, threads):
        return threads * self._each(threads)

    def bounds(self, threads):
        return f"{threads}, {max(1, self.at_work // threads)}"

    def shared(self, threads):
        return threads * (self._each(threads) + 1) * LARGEST

    def _each(self, threads: int) -> int:
        """Indices of a device's thread."""
        return 16 if threads > 512 else 32

    def text(self, block):
        return {"each": str(self._each(int(block))) if block else "1"}

    def published(self, number, threads):
        return -(-number // self.of_block(threads))


class LongScanItems(ScanItems):
    """A scan of many indices. A device's block takes more of them at a time: fewer blocks wait for each other."""

    threads = 384

    def _each(self, threads):
        return 48 if threads == self.threads else super()._each(threads)


@dataclasses.dataclass(frozen=True)
class TileItems(Items):
    """body(m, i, j, ..., results...) for each tuple of indices; a block has a tile, or several of them."""

    tile: tuple[int, ...]  # empty: chosen by the extents
    orders: tuple[str, ...]  # "right" or "left", of tiles and of the indices in a tile, or of these only; empty: open
    layouts: Layouts  # of the arrays: the model
    is_known: bool = False  # the extents of arrays, and what follows for a CPU:
    across: Order = ()  # an open order across rows of arrays; empty: as the arrays lie
    has_columns: bool = False  # see Layouts.has_columns
    has_long_columns: bool = False  # the same; open tiles, whose lanes lie along many indices
    several: int = 1  # tiles of a device's block, next to one another along the fastest index

    kind = "tiles"
    takes = "the indices"
    loop = "for_tiles<{results}, {outer}, {inner}, {shape}>"
    call = (
        "[{captured}](auto &results, const auto... i) INLINED {{ (void)results, at_each([&](const auto... k) INLINED "
        "BODY_CALL({body}(m, k...{arguments_of_results})), i...); }}"
    )
    arguments: typing.ClassVar[tuple[str, ...]] = ("a.begin", "a.extent", "tile", "a.tiles", "a.inverse")

    def organisation(self, team, vector):
        return math.prod(self.block or (MOST_THREADS,)), 1

    def organised(self, in_blocks):
        return True

    @property
    def is_sized(self):
        return bool(self.tile) and (self.is_known or not self.layouts.has_more)

    def sized(self, extents, in_blocks, size_of, may_be_long=True):
        if in_blocks:
            return self._sized_for_a_device(extents)
        return self._sized_for_a_cpu(extents, size_of, may_be_long)

    def _sized_for_a_device(self, extents: list[int]) -> Items:
        if self.tile:
            several = self._several(extents)
            if several > 1:
                return dataclasses.replace(self, is_known=True, several=several)

        if self.is_sized:
            return self

        # Threads that follow memory need no tile.
        if not self.tile and self.layouts.are_alike and not self.layouts.has_more:
            return IndexItems(**vars(self))

        tile = self.tile or self.layouts.tile(self._declared(), extents, True)
        return dataclasses.replace(self, is_known=True, tile=tile)

    def _sized_for_a_cpu(self, extents: list[int], size_of: Callable[[str], int], may_be_long: bool) -> Items:
        if self._lies_otherwise:
            return dataclasses.replace(self, orders=())._sized_for_a_cpu(extents, size_of, may_be_long)
        if self.is_sized:
            return self

        # An open order may go across rows.
        layouts = self.layouts
        across = () if self.orders else layouts.across_rows(extents, size_of)

        # Columns of memory, and many indices along them.
        declared = self._declared()
        fastest = declared[0]
        has_columns = layouts.has_columns(size_of)
        may_be_long = may_be_long and has_columns and not self.tile and not across
        has_long_columns = may_be_long and layouts.has_long_columns(fastest, extents[fastest], size_of)

        if self.tile:
            tile = self.tile
        elif across:
            tile = layouts.tile_across_rows(across, extents)
        elif has_long_columns:
            tile = layouts.tile_down_columns(declared, extents)
        else:
            tile = layouts.tile(declared, extents, False)

        return dataclasses.replace(
            self,
            is_known=True,
            across=across,
            has_columns=has_columns,
            has_long_columns=has_long_columns,
            tile=tile,
        )

    @property
    def _lies_otherwise(self) -> bool:
        """Whether all arrays lie in the same order, and the declared one is another: a core then follows memory."""
        lie = {array.order for array in self.layouts.arrays}
        return bool(self.orders) and self.layouts.has_names_of_its_own and len(lie) == 1 and lie != {self._declared()}

    def _several(self, extents: list[int]) -> int:
        """How many tiles a device's block has where threads follow memory: a warp then has whole lines of it, and a
        multiprocessor enough warps."""
        fastest = self._declared()[0]
        if self.layouts.near != (fastest,):
            return 1

        row, threads = self.tile[fastest], math.prod(self.tile)
        wanted = max(-(-WARP // row), -(-THREADS // threads))
        return max(1, min(wanted, MOST_IN_TILES // threads, -(-extents[fastest] // row)))

    @property
    def block(self) -> tuple[int, ...]:
        """Indices of a block: its tiles together."""
        block = list(self.tile)
        if self.several > 1:
            block[self._declared()[0]] *= self.several
        return tuple(block)

    def _declared(self) -> Order:
        """The order of the indices in a tile: declared, else across rows of arrays, else as the arrays lie."""
        return named(self.orders[-1], len(self.extents)) if self.orders else self.across or self.layouts.order

    @property
    def inner(self) -> Order:
        """The order of the indices in a block. An index with one place in it is no loop, and comes last."""
        order, block = self._declared(), self.block
        loops = tuple(d for d in order if block[d] > 1)
        return loops + tuple(d for d in order if block[d] == 1)

    @property
    def outer(self) -> Order:
        """The order of a device's tiles; see _outer."""
        return self._outer(self.layouts.order)

    @property
    def outer_of_a_cpu(self) -> Order:
        """The order of a CPU's tiles. Its caches have no streamed arrays."""
        return self._outer(self.layouts.order_of_kept)

    def _outer(self, as_arrays: Order) -> Order:
        """The order of the tiles: declared by a word of its own, else as the arrays lie, so that tiles which share
        lines of memory run at about the same time."""
        if len(self.orders) == 2 or self.orders and not self.layouts.arrays:
            return named(self.orders[0], len(self.extents))
        return as_arrays

    def why(self) -> str:
        """The tile, the fastest index and the reason, in words."""
        declared = f"order {' '.join(self.orders)}, " if self.orders else ""
        rows = "each lane along rows of its own, " if self.across else ""
        fastest = self.extents[self.inner[0]]
        several = f", {self.several} of them a block" if self.several > 1 else ""
        return f"tile {self.tile}{several}, fastest index {fastest}: {declared}{rows}{self.layouts.why(self.extents)}"

    def candidates(self, extents: list[int]) -> list[tuple[int, ...]]:
        """Tiles for a search: blocks of several sizes, with rows of several lengths."""
        found = []
        for threads, row in itertools.product(BLOCKS, RUNS):
            if row <= threads:
                found.append(self.layouts.shape(self._declared(), extents, threads, (row,)))

        return list(dict.fromkeys(found))

    def number(self, extents):
        return math.prod(self._numbers(extents))

    def _numbers(self, extents: list[int]) -> list[int]:
        """Numbers of blocks along each index."""
        return [-(-extent // size) for extent, size in zip(extents, self.block)]

    def members(self):
        return f"tiles:whole:{len(self.extents)} inverse:whole:{len(self.extents)}"

    def values(self, extents):
        numbers = self._numbers(extents)
        return {"tiles": numbers, "inverse": [inverse_of(number) for number in numbers]}

    def of_block(self, threads):
        return 1

    def holders(self, threads):
        return threads

    def text(self, block):
        fit = self.layouts.fit(self.inner, self.has_columns, self.has_long_columns)
        return {
            "outer": _order(self.outer if block else self.outer_of_a_cpu),
            "inner": _order(self.inner),
            "shape": block or f"Fit<{', '.join(map(str, fit))}>",
        }

    def beside(self):
        return self.layouts.beside(self.inner[0])

    @property
    def has_long_packs(self):
        return self.has_long_columns

    def asked_ahead(self):
        if self.has_long_packs:
            return ()
        fastest = self.inner[0]
        return self.layouts.in_columns(fastest) + (self.layouts.in_rows(fastest) if self.across else ())

    def ahead_of(self, kernel_scatters):
        if self.layouts.are_alike:
            return []
        return [f"rows_of<{_order(array.order)}>(m.{array.name})" for array in self.layouts.arrays if array.is_plain]

    def ahead(self):
        return f"const int tile[] = {{{', '.join(map(str, self.block))}}};\n"


class IndexItems(TileItems):
    """The same on a device without tiles: neighbours in memory one behind the other, a thread each. No part of a block
    is beyond the end of a row, and each block begins at a line of memory. (Bodies that go along rows of their own take
    twice as long so.)"""

    loop = "for_indices<{results}, {outer}, {threads}>"
    arguments: typing.ClassVar[tuple[str, ...]] = ("a.begin", "a.tiles", "a.inverse")

    def organisation(self, team, vector):
        return THREADS, 1

    @property
    def is_sized(self):
        return True

    @property
    def outer(self):
        return self.layouts.order if self.layouts.arrays else self._declared()

    def why(self):
        return f"no tiles, fastest index {self.extents[self.outer[0]]}: {self.layouts.why(self.extents)}"

    def _numbers(self, extents):
        return extents

    def of_block(self, threads):
        return threads

    def text(self, block):
        return {"outer": _order(self.outer)}

    def beside(self):
        return ()

    def ahead(self):
        return ""


def inverse_of(divisor: int) -> int:
    """The factor m and the shift s by which a device divides, m in the lower 32 bits and s above them; 0 for a divisor
    that is too large. For 0 <= n < 2**31, n // divisor is (n + n m // 2**32) >> s (Granlund and Montgomery 1994,
    "Division by invariant integers using multiplication", section 4)."""
    if not 1 <= divisor < 2**31:
        return 0
    shift = (divisor - 1).bit_length()
    return (2**32 * (2**shift - divisor) // divisor + 1) | shift << 32


def _order(order: Order) -> str:
    """In C++."""
    return f"Order<{', '.join(map(str, order))}>"


def extents_of(where: str, text: str) -> tuple[str, ...]:
    """The extents of "I J". where: start of the messages. Raises ArgumentError."""
    names = tuple(str(text).split())
    refuse(not 1 <= len(names) <= MOST_INDICES, f"{where}: {len(names)} extents, wanted 1 to {MOST_INDICES}.")
    return names


def orders_of(where: str, order) -> tuple[str, ...]:
    """The orders of "right" or "left right"; empty if None. Raises ArgumentError."""
    if order is None:
        return ()

    orders = tuple(str(order).split())
    refuse(
        len(orders) not in (1, 2) or not set(orders) <= set(ORDERS),
        f"{where}: order {order!r}, wanted right or left, or two of these: of the tiles, and in a tile.",
    )
    return orders


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
