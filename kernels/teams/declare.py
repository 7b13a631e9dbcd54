"""Team kernels: what team.h's body needs to know, declared; rendered, compiled and launched as every other kernel.

yax = team_kernel("yax", header="yax.h", arrays="y(N) A(N,M) x(M)", sums="total", league="N")
run = yax.bind(dict(y=y, A=A, x=x))
run()
run.value("total")
"""

from __future__ import annotations

import dataclasses
import pathlib

from ..engine.backend import get_backend
from ..engine.errors import refuse
from ..engine.registry import declared
from .bound import Bound
from .items import MOST_THREADS, Items, items_of
from .words import KINDS, Array, arrays_of

THREADS = 128  # of a block, where the declaration leaves it open
LANES = (1, 2, 4, 8, 16, 32)  # of a member


@dataclasses.dataclass(frozen=True)
class TeamKernel:
    """A declared kernel; see team_kernel."""

    name: str
    header: pathlib.Path
    items: Items  # for what the body is called
    arrays: tuple[Array, ...]
    sums: tuple[str, ...]
    numbers: tuple[tuple[str, str], ...]  # (name, "real" or "whole")
    scratch: tuple[Array, ...]
    tokens: tuple[tuple[str, str], ...]  # (name, size or "")
    team: int | None  # members of a team on a device; None: chosen
    vector: int  # lanes of a member on a device
    body: str  # name of the function template
    source: str  # where the method is from

    def bind(self, arrays, backend=None, team: int | None = None, vector: int | None = None, quick=False, **numbers):
        """run(), which launches for these arrays: {name: array}, NumPy's or CuPy's, and UniqueToken under the name of a
        token. team, vector: members of a team and lanes of a member on a device, in place of the declaration's. quick:
        the compiler's time counts more than the code's. numbers: those of the declaration; one that is missing is read
        at each run from the constant of that name that a host has set.

        Extents follow from the arrays. What is missing, too many, of another shape or type, not contiguous, or an
        output that shares memory with another array, raises ArgumentError; so does scratch of level 0 above 227 KiB.
        """
        return Bound(self, dict(arrays), get_backend(backend), team, vector, quick, numbers)

    def run(self, arrays, backend=None, **more) -> dict[str, float]:
        """bind and run once; returns {name: value} of the sums."""
        bound = self.bind(arrays, backend, **more)
        bound()
        return {name: bound.value(name) for name in self.sums}

    def organisation(self, team=None, vector=None) -> tuple[int, int]:
        """(members of a team, lanes of a member) on a device. Raises ArgumentError for what no block can have."""
        vector = vector or self.vector
        team = team or self.team or max(1, THREADS // vector)
        team, vector = self.items.organisation(team, vector)

        refuse(
            vector not in LANES or not 1 <= team * vector <= MOST_THREADS,
            f"team kernel '{self.name}': {team} members of {vector} lanes; wanted 1, 2, 4, 8, 16 or 32 lanes, and 1024 "
            "threads at most.",
        )

        return team, vector

    def of_header(self) -> list[TeamKernel]:
        """The declared kernels of its header, which share a source; itself alone where it is not declared any more."""
        same = [kernel for kernel in team_kernels.values() if kernel.header == self.header]
        return same if self in same else [self]

    def inferred(self) -> list[str]:
        """Names of extents that bodies find in `m` beside the numbers."""
        given = {name for name, _ in self.numbers}
        names = [x for a in self.arrays for x in a.extents if x.isidentifier() and x not in given]
        return list(dict.fromkeys(names))


STORE = "team kernels"
team_kernels: dict[str, TeamKernel] = declared.store(STORE, launched=True)


def team_kernel(
    name: str,
    *,
    header,
    arrays="",
    writes="",
    sums="",
    numbers="",
    league=None,
    range=None,
    extents=None,
    tile=None,
    order="right",
    scratch=None,
    tokens=None,
    team: int | None = None,
    vector: int = 1,
    body="",
    source="",
) -> TeamKernel:
    """Declare a kernel whose body is written with team.h, and keep it by its name.

    header: a path, as of point_kernel. body: the function template in it, where it is not called `name`.
    arrays: words such as A(N,M). Extents are numbers, names or formulas of names. `:left` has the first index fastest
    in memory, else it is the last; `:whole` holds int64, else float64 or float32. writes: those that are written; the
    others are const. sums: numbers to which the body adds, an argument of it each; their total over the league is an
    array of one. numbers: "n alpha:real", whole unless marked.

    One of:  league = number of teams         body(m, team, sums...) for each team
             range = number of indices        body(m, i, sums...) for each index, a thread each
             extents = "I J", tile = (8, 8)   body(m, i, j, sums...) for each pair; a block has a tile, and order =
                                              "right" or "left" says which index is the fastest
    team, vector: members of a team (None: chosen) and lanes of a member on a device. scratch = {"team 0": "b(V)",
    "member 1": "t(n)"}: room of a team or a member, level 0 (shared memory) or 1. tokens = {"pool": size or None}:
    pools of unique ids; None: as many as can be held at the same time. source: where the method is from.
    Raises ArgumentError.
    """
    where = f"team kernel '{name}'"
    refuse(not name.isidentifier(), f"{where}: no name in C++.")

    items = items_of(where, league, range, extents, tile, order)
    refuse(scratch and not items.has_teams, f"{where}: scratch is for leagues of teams.")

    new = TeamKernel(
        name=name,
        header=declared.header_of(name, header),
        items=items,
        arrays=_written(where, arrays, writes.split()),
        sums=tuple(sums.split()),
        numbers=_numbers(where, numbers),
        scratch=_scratch(where, scratch or {}),
        tokens=tuple((pool, "" if size is None else str(size)) for pool, size in (tokens or {}).items()),
        team=team,
        vector=vector,
        body=body or name,
        source=source,
    )

    _check_names(where, new)
    new.organisation()
    _keep(new)

    return new


def _written(where: str, text: str, writes: list[str]) -> tuple[Array, ...]:
    """The arrays of a text; those of `writes` are written."""
    found = arrays_of(where, text)
    unknown = [name for name in writes if name not in [array.name for array in found]]
    refuse(unknown, f"{where}: writes {unknown}, which are not among its arrays.")
    return tuple(dataclasses.replace(array, written=array.name in writes) for array in found)


def _numbers(where: str, text: str) -> tuple[tuple[str, str], ...]:
    """(name, kind) of the numbers of a text such as "n alpha:real"."""
    words = [word.partition(":") for word in text.split()]
    wrong = [kind for _, _, kind in words if kind not in ("", *KINDS)]
    refuse(wrong, f"{where}: a number is marked {wrong}, wanted real or whole.")
    return tuple((name, kind or "whole") for name, _, kind in words)


def _scratch(where: str, by_place: dict[str, str]) -> tuple[Array, ...]:
    """The pieces of scratch; by_place: {"team 0": words, ...}."""
    pieces: list[Array] = []
    for place, words in by_place.items():
        refuse(
            place not in ("team 0", "team 1", "member 0", "member 1"),
            f"{where}: scratch of '{place}', wanted team 0, team 1, member 0 or member 1.",
        )
        owner, level = place.split()
        pieces += arrays_of(where, words, level=int(level), of_member=owner == "member", written=True)

    return tuple(pieces)


def _check_names(where: str, new: TeamKernel) -> None:
    """Each name is there once, and is a name in C++."""
    names = [array.name for array in (*new.arrays, *new.scratch)]
    names += new.sums
    names += [number for number, _ in new.numbers]
    names += [pool for pool, _ in new.tokens]

    taken = [name for name in names if names.count(name) > 1 or not name.isidentifier()]
    refuse(taken, f"{where}: the name '{taken[0] if taken else ''}' is there twice, or is no name in C++.")


def _keep(new: TeamKernel) -> None:
    """Keep a declared kernel by its name. Raises ArgumentError for a name that is taken."""
    taken = declared.launches(new.name, but=STORE) or declared.taken(STORE, new)
    refuse(taken, f"team kernel '{new.name}': the name is taken.")
    declared.keep(STORE, new)
