"""A declared team kernel, and its organisations: members and lanes, tiles, scratch."""

from __future__ import annotations

import dataclasses
import pathlib
import typing
from collections.abc import Callable, Mapping

import numpy as np

from ..engine.errors import ArgumentError, refuse
from ..engine.registry import declared
from . import texts
from .items import Items, TileItems, checked_tile
from .layouts import MOST_THREADS
from .policies import Sizes
from .results import Result
from .words import Array, arrays_of

LANES = (1, 2, 4, 8, 16, 32)  # of a member
STORE = "team kernels"


@dataclasses.dataclass(frozen=True)
class Declaration:
    """The declaration of a kernel (see team_kernel), and the organisations that follow from it."""

    name: str
    header: pathlib.Path
    items: Items  # for what the body is called
    arrays: tuple[Array, ...]
    results: tuple[Result, ...]  # sums and others, in the order of the body's arguments
    numbers: tuple[tuple[str, str], ...]  # (name, "real" or "whole")
    tokens: tuple[tuple[str, str], ...]  # (name, size or "")
    body: str  # name of the function template
    source: str  # where the method is from

    # Sizes: see organised
    team: int | None = None  # members of a team; None: chosen
    any_team: bool = True  # results are the same for any number of members; a CPU takes one if the body cannot tell
    vector: int = 1  # lanes of a member
    scratch: tuple[Array, ...] = ()
    is_checked: bool = False  # of a CPU: scratch knows who wrote and read it

    copied: tuple[str, ...] = ()  # scattered arrays of which each block of a device has a copy, see scattered.py

    @property
    def outputs(self) -> list[Array]:
        """The arrays of the results."""
        return [array for result in self.results for array in result.arrays]

    @property
    def operands(self) -> list[Array]:
        """All arrays that a call may give: those of the declaration, and those of the results."""
        return [*self.arrays, *self.outputs]

    def inferred(self) -> list[str]:
        """Names of extents that bodies find in `m` beside the numbers."""
        given = {name for name, _ in self.numbers}
        names = [x for a in self.arrays for x in a.extents if x.isidentifier() and x not in given]
        return list(dict.fromkeys(names))

    def of_header(self) -> list[Declaration]:
        """The declared kernels of its header, which share a source; itself alone where it is not declared any more."""
        same = [kernel for kernel in team_kernels.values() if kernel.header == self.header]
        return same if self in same else [self]

    def other_bodies(self) -> frozenset[str]:
        """The bodies of all other declared kernels of its header."""
        bodies = [kernel.body for kernel in team_kernels.values() if kernel.header == self.header]
        return frozenset(bodies) - {self.body}

    def organisation(self) -> tuple[int, int]:
        """(members of a team, lanes of a member). Raises ArgumentError for what no block can have."""
        team = self.team or max(1, self.items.threads // max(self.vector, 1))
        team, vector = self.items.organisation(team, self.vector)

        refuse(
            vector not in LANES or not 1 <= team * vector <= MOST_THREADS,
            f"team kernel '{self.name}': {team} members of {vector} lanes; wanted 1, 2, 4, 8, 16 or 32 lanes, and 1024 "
            "threads at most.",
        )

        return team, vector

    def organised(self, sizes: Sizes) -> Declaration:
        """The same kernel in other sizes. Raises ArgumentError for what no block can have."""
        where = f"team kernel '{self.name}'"
        changes: dict[str, typing.Any] = {}
        if sizes.team is not None:
            changes["team"], changes["any_team"] = members_of(where, sizes.team)
        if sizes.vector is not None:
            changes["vector"] = int(sizes.vector)

        if sizes.tile is not None:
            changes["items"] = self._with_tile(where, sizes.tile)
        if sizes.scratch is not None:
            refuse(not self.items.has_teams, f"{where}: scratch is for leagues of teams.")
            changes["scratch"] = scratch_of(where, sizes.scratch)

        if not changes:
            return self
        other = dataclasses.replace(self, **changes)
        other.organisation()
        return other

    def sized(self, extents: list[int], in_blocks: bool, size_of: Callable[[str], int]) -> Declaration:
        """The same kernel with what follows from the extents of its items and arrays; see Items.sized."""
        may_be_long = not texts.computes(self.header, self.other_bodies())
        items = self.items.sized(extents, in_blocks, size_of, may_be_long)
        return self if items is self.items else dataclasses.replace(self, items=items)

    def with_copies(self, names: tuple[str, ...]) -> Declaration:
        """The same kernel where each block of a device has a copy of these arrays. Blocks whose size is open are large:
        each adds its copies to the arrays."""
        if not names:
            return self
        return dataclasses.replace(self, copied=names, team=self.team or self.items.sharing or None)

    def checked(self, backend) -> Declaration:
        """The same kernel with scratch that finds missing barriers. Raises ArgumentError but on a CPU."""
        refuse(
            backend.entry.in_blocks,
            f"team kernel '{self.name}': check=True is for a CPU; kernel.check(arrays) runs the body there.",
        )
        members, _ = self.organisation()
        return dataclasses.replace(self, is_checked=True, team=members, any_team=False)

    def _with_tile(self, where: str, tile) -> Items:
        if not isinstance(self.items, TileItems):
            raise ArgumentError(f"{where}: tile {tile} for a {self.items.kind}.")
        return dataclasses.replace(self.items, tile=checked_tile(where, tile, len(self.items.extents)))


def members_of(where: str, team) -> tuple[int | None, bool]:
    """(members of a team, whether any number does) of a declaration."""
    if team is None:
        return None, True
    if isinstance(team, (int, np.integer)):
        return int(team), False

    word, _, number = str(team).partition(" ")
    refuse(
        word != "auto" or not (number or "1").isdecimal(),
        f"{where}: team {team!r}, wanted a number, 'auto 64', 'auto' or None.",
    )
    return int(number) if number else None, True


def scratch_of(where: str, by_place: Mapping[str, str]) -> tuple[Array, ...]:
    """The pieces of scratch; by_place: {"team 0": words, ...}."""
    pieces: list[Array] = []
    for place, words in by_place.items():
        refuse(
            place not in ("team 0", "team 1", "member 0", "member 1"),
            f"{where}: scratch of '{place}', wanted team 0, team 1, member 0 or member 1.",
        )
        owner, level = place.split()
        pieces += arrays_of(where, words, level=int(level), of_member=owner == "member", written=True)

    wrong = [piece.name for piece in pieces if piece.scattered or piece.streamed or piece.layout == "LEFT"]
    refuse(wrong, f"{where}: scratch {wrong} is marked left, scatter or stream, which is for arrays.")
    return tuple(pieces)


team_kernels: dict[str, Declaration] = declared.store(STORE, launched=True)
