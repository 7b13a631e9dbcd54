"""Policies: what the body of a team kernel is called for, and in which sizes. A call may replace the sizes.

    League("N", team=64, vector=8)     body(m, team, results...) for each of N teams            Kokkos' TeamPolicy
    Range("n")                         body(m, i, results...) for each of n indices             RangePolicy
    MDRange("I J", tile=(8, 8))        body(m, i, j, results...) for each pair of indices       MDRangePolicy
    Scan("n")                          body(m, i, result, last), twice for each of n indices    parallel_scan

Numbers of teams and indices are formulas of the kernel's extents and numbers. "first:behind" in place of a number has
the indices from first to below behind.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Mapping

from .items import Items, LeagueItems, RangeItems, ScanItems, TileItems, checked_tile, extents_of, orders_of
from .layouts import Layouts, layouts_of
from .words import Array


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Sizes of a call, in place of those of the policy: kernel.bind(arrays, backend, Sizes(team=64)). None: as
    declared."""

    team: int | str | None = None  # members of a team, or "auto 64"; of a range, threads of a device's block
    vector: int | None = None  # lanes of a member
    tile: tuple[int, ...] | None = None  # indices of a block along each of several
    scratch: Mapping[str, str] | None = None  # {"team 0": words, ...}, as of League
    chunk: int = 1  # teams, packs of indices or tiles that a thread of a CPU takes together at least; on a device, how
    # many of them a block's threads take one after the other


AS_DECLARED = Sizes()


class Policy(abc.ABC):
    """The items for which a body is called."""

    @property
    @abc.abstractmethod
    def sizes(self) -> Sizes:
        """The declared sizes."""

    @abc.abstractmethod
    def items(self, where: str, arrays: tuple[Array, ...]) -> Items:
        """The items of a kernel with these arrays. where: start of the messages. Raises ArgumentError."""


@dataclasses.dataclass(frozen=True)
class League(Policy):
    """body(m, team, results...) for each team.

    teams: their number. team: members of a team, on every backend; None: the layer chooses; "auto 64": it takes 64 on a
    device, and on a CPU one if the body cannot tell. vector: lanes of a member. scratch: {"team 0": "b(V)", "member 1":
    "t(n)"}, room of a team or a member, level 0 (shared memory) or 1.
    """

    teams: int | str
    team: int | str | None = None
    vector: int = 1
    scratch: Mapping[str, str] | None = None

    @property
    def sizes(self):
        return Sizes(self.team, self.vector, scratch=self.scratch)

    def items(self, where, arrays):
        teams = str(self.teams)
        read = [array for array in arrays if len(array.extents) > 1 and not array.written]
        rows = [array.name for array in read if array.has_row_for_each(teams)]
        shorter_rows = [array.name for array in read if array.name not in rows or len(array.extents) > 2]
        return LeagueItems((teams,), tuple(rows), tuple(shorter_rows))


@dataclasses.dataclass(frozen=True)
class Indices(Policy):
    """Indices in a row. block: threads of a device's block."""

    indices: int | str
    block: int | None = None

    @property
    def sizes(self):
        return Sizes(self.block)

    def placed(self, arrays: tuple[Array, ...]) -> tuple[tuple[str, ...], Layouts]:
        """The indices, and how arrays lie along them."""
        indices = (str(self.indices),)
        return indices, layouts_of(indices, arrays)


class Range(Indices):
    """body(m, i, results...) for each index, a thread each. block: threads of a device's block; None: 128, or 512 that
    share copies of scattered arrays."""

    def items(self, where, arrays):
        return RangeItems(*self.placed(arrays))


class Scan(Indices):
    """body(m, i, result, last) for each index, perhaps with last = false, then with last = true, where `result` reads
    as what all before gave. block: threads of a device's block; None: 256, or 384 where indices are many."""

    def items(self, where, arrays):
        return ScanItems(*self.placed(arrays))


@dataclasses.dataclass(frozen=True)
class MDRange(Policy):
    """body(m, i, j, results...) for each pair, up to six indices, tile by tile.

    extents: "I J", the number of each index. tile: (8, 8); None: chosen by the extents and by how the arrays lie.
    order: "right" or "left" says which index of a tile is the fastest; "left right": of the tiles, in a tile. None: as
    the arrays lie.
    """

    extents: str
    tile: tuple[int, ...] | None = None
    order: str | None = None

    @property
    def sizes(self):
        return Sizes(tile=self.tile)

    def items(self, where, arrays):
        names = extents_of(where, self.extents)
        tile = checked_tile(where, self.tile, len(names))
        return TileItems(names, tile, orders_of(where, self.order), layouts_of(names, arrays))
