"""Team kernels: what team.h's body needs to know, declared; rendered, compiled and launched as every other kernel.

yax = team_kernel("yax", header="yax.h", arrays="y(N) A(N,M) x(M)", sums="total", league="N")
run = yax.bind(dict(y=y, A=A, x=x))
run()
run.value("total")
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ..engine.backend import get_backend
from ..engine.backend.base import on_device
from ..engine.errors import refuse
from ..engine.registry import declared
from ..engine.tune import Outcome
from .bound import Bound
from .declaration import STORE, Declaration, members_of, scratch_of
from .items import Scan, items_of
from .results import results_of
from .tune import Search, variants_of
from .words import KINDS, Array, arrays_of


@dataclasses.dataclass(frozen=True)
class TeamKernel(Declaration):
    """A declared kernel; see team_kernel."""

    def bind(
        self,
        arrays,
        backend=None,
        team=None,
        vector=None,
        tile=None,
        scratch=None,
        chunk=1,
        check=False,
        quick=False,
        **numbers,
    ):
        """run(), which launches for these arrays: {name: array}, NumPy's or CuPy's, and UniqueToken under the name of a
        token. team, vector, tile, scratch: in place of the declaration's. chunk: how many teams, packs of indices or
        tiles a thread of a CPU takes together at least; on a device, how many a block's threads take one after the
        other. check: a CPU's teams have the members of a device, and a missing barrier around scratch of a team, or an
        index beyond an array or scratch, is a BackendError with file and line at the launch. quick: the compiler's time
        counts more than the code's. numbers: those of the declaration; one that is missing is read at each run from the
        constant of that name that a host has set.

        Extents follow from the arrays. Raises ArgumentError for an array that is missing, not declared, not contiguous,
        or of another shape or type; for an output that shares memory with another array; for scratch of level 0 above
        227 KiB.
        """
        backend = get_backend(backend)
        kernel: Declaration = self
        if self.items.organised(backend.entry.in_blocks):
            kernel = self.organised(team, vector, tile, scratch)
        if check:
            kernel = kernel.checked(backend)
        return Bound(kernel, dict(arrays), backend, quick, numbers, chunk)

    def run(self, arrays, backend=None, **more) -> dict[str, float]:
        """bind and run once; returns {name: value} of the results."""
        bound = self.bind(arrays, backend, **more)
        bound()
        return {array.name: bound.value(array.name) for array in self.outputs}

    def check(self, arrays, **more) -> dict[str, float]:
        """Run once on a CPU with check=True, on copies of arrays of the host or a device: what is wrong in a body that
        runs on a device is told with file and line. The arrays stay as they are. Returns the results, as `run`. more:
        of bind. Raises BackendError for a barrier that some do not reach or that is missing around scratch, for an
        index beyond an array or scratch."""
        left = {a.name for a in self.arrays if a.layout == "LEFT"}
        copies = {}
        for name, array in dict(arrays).items():
            flat = array.T if name in left else array
            copy = np.array(get_backend("cuda").to_host(flat) if on_device(array) else flat)
            copies[name] = copy.T if name in left else copy

        return self.run(copies, "cpu", check=True, **more)

    def tune(self, arrays, backend=None, rounds=5, told=None, **more) -> list[Outcome]:
        """Tiles of a range of several indices, or members and lanes of a league's teams, measured on these arrays: the
        fastest first. outcome.variant has the arguments of `bind`; {} is the layer's choice. Each is checked against
        the results of that. The arrays are as before at the end. told: called with each outcome before it is timed.
        more: of bind, numbers too. Raises ArgumentError for a kernel that has no choice.

            best = kernel.tune(arrays, "cuda")[0]
            run = kernel.bind(arrays, "cuda", **best.variant)
        """
        search = Search(self.bind, self, dict(arrays), get_backend(backend), more)
        return search.run(variants_of(self, search.default.extents), rounds, told)


def team_kernel(
    name: str,
    *,
    header,
    arrays="",
    writes="",
    sums="",
    reduces="",
    numbers="",
    league=None,
    range=None,
    scan=None,
    extents=None,
    tile=None,
    order: str | None = None,
    scratch=None,
    tokens=None,
    team: int | str | None = None,
    vector: int = 1,
    body="",
    source="",
) -> TeamKernel:
    """Declare a kernel whose body is written with team.h, and keep it by its name.

    header: a path, as of point_kernel. body: the function template in it, where it is not called `name`.
    arrays: words such as A(N,M). Extents are numbers, names or formulas of names. `:left` has the first index fastest
    in memory, else it is the last. `:whole` holds int64, `:int32`, `:logical` (int32), `:real32` and `:real64` hold
    what they say; the others all hold float64, or all float32. `:scatter`: the body only adds to its elements, any
    thread to any: m.h(k) += x. writes: those that are written; the others are const.
    sums: "total n:whole", numbers to which the body adds, an argument of it each. reduces:
    "most:max where:minloc any_bad:any far(3):Farthest", further results with their reducers (results.py), arguments
    behind the sums. Each result is an array of one, two or as many numbers as declared, and NAME_at has the indices of
    a reducer that finds them. numbers: "n alpha:real", whole unless marked.

    One of:  league = number of teams         body(m, team, results...) for each team
             range = number of indices        body(m, i, results...) for each index, a thread each
             scan = number of indices         body(m, i, result, last) for each index, perhaps with last = false, then
                                              with last = true, where `result` reads as what all before gave
             extents = "I J", tile = (8, 8)   body(m, i, j, results...) for each pair, up to six indices; a block has a
                                              tile. None: chosen by the extents and by how the arrays lie. order =
                                              "right" or "left" says which index of a tile is the fastest; "left
                                              right": of the tiles, in a tile. None: as the arrays lie
    "first:behind" in place of a number of indices has those from first to below behind.
    team: members of a team, on every backend; None: the layer chooses; "auto 64": it takes 64 on a device. A CPU then
    takes one member if the body cannot tell. vector: lanes of a member. scratch = {"team 0": "b(V)", "member 1":
    "t(n)"}: room of a team or a member, level 0 (shared memory) or 1. tokens = {"pool": size or None}: pools of unique
    ids; None: as many as can be held at the same time; "shared 4096": one pool for all kernels that declare it so.
    source: where the method is from.
    Raises ArgumentError.
    """
    where = f"team kernel '{name}'"
    refuse(not name.isidentifier(), f"{where}: no name in C++.")

    operands = _written(where, arrays, writes.split())
    items = items_of(where, operands, league, range, scan, extents, tile, order)
    refuse(scratch and not items.has_teams, f"{where}: scratch is for leagues of teams.")
    members, any_team = members_of(where, team)
    results = results_of(where, sums, reduces)

    new = TeamKernel(
        name=name,
        header=declared.header_of(name, header),
        items=items,
        arrays=operands,
        results=results,
        numbers=_numbers(where, numbers),
        scratch=scratch_of(where, scratch or {}),
        tokens=tuple((pool, "" if size is None else str(size)) for pool, size in (tokens or {}).items()),
        team=members,
        any_team=any_team,
        vector=vector,
        body=body or name,
        source=source,
    )

    refuse(
        isinstance(items, Scan) and (len(new.results) != 1 or new.results[0].located or new.results[0].count > 1),
        f"{where}: results {[result.name for result in new.results]}, wanted one for a scan, of one number.",
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
    return tuple(dataclasses.replace(array, written=array.name in writes or array.scattered) for array in found)


def _numbers(where: str, text: str) -> tuple[tuple[str, str], ...]:
    """(name, kind) of the numbers of a text such as "n alpha:real"."""
    words = [word.partition(":") for word in text.split()]
    wrong = [kind for _, _, kind in words if kind not in ("", *KINDS)]
    refuse(wrong, f"{where}: a number is marked {wrong}, wanted real or whole.")
    return tuple((name, kind or "whole") for name, _, kind in words)


def _check_names(where: str, new: TeamKernel) -> None:
    """Each name is there once, and is a name in C++."""
    names = [array.name for array in (*new.operands, *new.scratch)]
    names += [number for number, _ in new.numbers]
    names += [pool for pool, _ in new.tokens]

    taken = [name for name in names if names.count(name) > 1 or not name.isidentifier()]
    refuse(taken, f"{where}: the name '{taken[0] if taken else ''}' is there twice, or is no name in C++.")


def _keep(new: TeamKernel) -> None:
    """Keep a declared kernel by its name. Raises ArgumentError for a name that is taken."""
    taken = declared.launches(new.name, but=STORE) or declared.taken(STORE, new)
    refuse(taken, f"team kernel '{new.name}': the name is taken.")
    declared.keep(STORE, new)
