"""Team kernels: what team.h's body needs to know, declared; rendered, compiled and launched as every other kernel.

yax = team_kernel("yax", League("N"), header="yax.h", arrays="y(N) A(N,M) x(M)", results="total")
run = yax.bind(dict(y=y, A=A, x=x))
run()
run.value("total")
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping

import numpy as np

from ..engine.backend import get_backend
from ..engine.backend.base import on_device
from ..engine.cpp_names import refuse_others
from ..engine.errors import closest, refuse
from ..engine.registry import declared
from ..engine.tune import Outcome
from .bound import Bound
from .declaration import STORE, Declaration
from .items import ScanItems
from .policies import AS_DECLARED, Policy
from .results import results_of
from .tune import Search, variants_of
from .words import KINDS, Array, arrays_of, parsed


@dataclasses.dataclass(frozen=True)
class TeamKernel(Declaration):
    """A declared kernel; see team_kernel."""

    def bind(self, arrays, backend=None, sizes=AS_DECLARED, *, check=False, quick=False, **numbers):
        """run(), which launches the kernel on these arrays. Extents follow from the arrays.

        arrays: {name: array}, NumPy's or CuPy's; a UniqueToken under the name of a token.
        sizes: in place of the declaration's.
        check: find errors, on a CPU, with teams of as many members as a device's. A missing barrier around scratch of a
        team is then a BackendError at the launch, with file and line. So is an index beyond an array or scratch.
        quick: the compiler's time counts more than the code's.
        numbers: of the declaration. A missing number is read at each run from the constant of this name.

        Raises ArgumentError for an array that is missing, not declared, not contiguous,
        or of another shape or type; for an output that shares memory with another array; for scratch of level 0 above
        227 KiB.
        """
        backend = get_backend(backend)
        organised = self.organised(sizes)
        kernel: Declaration = organised if self.items.organised(backend.entry.in_blocks) else self
        if check:
            kernel = kernel.checked(backend)
        return Bound(kernel, dict(arrays), backend, quick, numbers, sizes.chunk)

    def run(self, arrays, backend=None, sizes=AS_DECLARED, **more) -> dict[str, float]:
        """bind and run once; returns {name: value} of the results."""
        bound = self.bind(arrays, backend, sizes, **more)
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
        fastest first. outcome.variant has the Sizes; Sizes() is the layer's choice. Each is checked against the
        results of that. The arrays are as before at the end. told: called with each outcome before it is timed.
        more: of bind, numbers too. Raises ArgumentError for a kernel that has no choice.

            best = kernel.tune(arrays, "cuda")[0]
            run = kernel.bind(arrays, "cuda", best.variant)
        """
        search = Search(self.bind, self, dict(arrays), get_backend(backend), more)
        return search.run(variants_of(self, search.default.extents), rounds, told)


@dataclasses.dataclass(frozen=True)
class Takes:
    """The arrays, results, numbers and tokens of a body, in the words of a declaration; see team_kernel."""

    arrays: str = ""  # A(N,M) k(n):int32
    writes: str = ""  # names of arrays
    results: str = ""  # total most:max
    numbers: str = ""  # n alpha:real
    tokens: Mapping[str, int | str | None] | None = None  # {pool: size}

    @classmethod
    def of(cls, where: str, words: dict) -> Takes:
        """The words of a call. where: start of the messages. Raises ArgumentError for an unknown one."""
        known = [field.name for field in dataclasses.fields(cls)]
        for word in words:
            refuse(
                word not in known,
                f"{where}: it takes no '{word}'{closest(word, known)}: wanted {', '.join(known)}, body, source.",
            )
        return cls(**words)

    def operands(self, where: str) -> tuple[Array, ...]:
        """The arrays; those of `writes` are written."""
        found, writes = arrays_of(where, self.arrays), self.writes.split()
        unknown = [name for name in writes if name not in [array.name for array in found]]
        refuse(unknown, f"{where}: writes {unknown}, which are not among its arrays.")
        read = [array.name for array in found if array.streamed and array.name not in writes]
        refuse(read, f"{where}: {read} are marked stream, and are not among the arrays that it writes.")
        return tuple(dataclasses.replace(array, written=array.name in writes or array.scattered) for array in found)

    def numbers_by_kind(self, where: str) -> tuple[tuple[str, str], ...]:
        """(name, kind) of the numbers."""
        words = [word.partition(":") for word in self.numbers.split()]
        wrong = [kind for _, _, kind in words if kind not in ("", *KINDS)]
        refuse(wrong, f"{where}: a number is marked {wrong}, wanted real or whole.")
        return tuple((name, kind or "whole") for name, _, kind in words)

    def pools(self) -> tuple[tuple[str, str], ...]:
        """(name, size or "") of the tokens."""
        return tuple((pool, "" if size is None else str(size)) for pool, size in (self.tokens or {}).items())


def team_kernel(name: str, over: Policy, *, header, body="", source="", **takes) -> TeamKernel:
    """Declare a kernel whose body is written with team.h, and keep it by its name.

    over: what the body is called for: League, Range, MDRange or Scan. header: a path, as of point_kernel. body: the
    function template in it, where it is not called `name`. source: where the method is from. takes: arrays, writes,
    results, numbers, tokens.

    arrays: words such as A(N,M). Extents are numbers, names or formulas of names. `:left` has the first index fastest
    in memory, else it is the last. `:whole` holds int64, `:int32`, `:logical` (int32), `:real32` and `:real64` hold
    what they say; the others all hold float64, or all float32. `:scatter`: the body only adds to its elements, any
    thread to any: m.h(k) += x. Threads or blocks have copies of small ones, see Bound.scatter. `:stream`: of an array
    in `writes`; the body only assigns to its elements, m.y(i) = x, and nobody reads them soon, so that a CPU stores
    packs past its caches. writes: those that are
    written; the others are const.
    results: "total n:whole most:max where:minloc any_bad:any far(3):Farthest", numbers to which the body gives values,
    an argument of it each; a sum, or by the reducer that is named (results.py). Each result is an array of one, two or
    as many numbers as declared, and NAME_at has the indices of a reducer that finds them.
    numbers: "n alpha:real", whole unless marked. tokens: {"pool": size or None}, pools of unique ids; None: as many as
    can be held at the same time; "shared 4096": a pool that all kernels with this declaration share.
    Raises ArgumentError.
    """
    where = f"team kernel '{name}'"
    refuse_others(where, name, body or name)
    refuse(not isinstance(over, Policy), f"{where}: over {over!r}, wanted a League, Range, MDRange or Scan.")

    words = Takes.of(where, takes)
    operands = words.operands(where)
    new = TeamKernel(
        name=name,
        header=declared.header_of(name, header),
        items=over.items(where, operands),
        arrays=operands,
        results=results_of(where, words.results),
        numbers=words.numbers_by_kind(where),
        tokens=words.pools(),
        body=body or name,
        source=source,
    )
    new = typing.cast(TeamKernel, new.organised(over.sizes))

    _check_extents(where, new)
    _check_scan(where, new)
    _check_names(where, new)
    new.organisation()
    _keep(new)

    return new


def _check_extents(where: str, new: TeamKernel) -> None:
    """Each number of teams or indices is a formula, or two with a colon between."""
    for text in new.items.extents:
        for formula in text.split(":"):
            parsed(f"{where}, {new.items.kind}", formula.strip())


def _check_scan(where: str, new: TeamKernel) -> None:
    """A scan has one result, of one number."""
    names = [result.name for result in new.results]
    refuse(
        isinstance(new.items, ScanItems) and (len(names) != 1 or new.results[0].located or new.results[0].count > 1),
        f"{where}: results {names}, wanted one for a scan, of one number.",
    )


def _check_names(where: str, new: TeamKernel) -> None:
    """Each name is there once, and is a name in C++."""
    names = [array.name for array in (*new.operands, *new.scratch)]
    names += [number for number, _ in new.numbers]
    names += [pool for pool, _ in new.tokens]
    refuse_others(where, *names)

    twice = [name for name in names if names.count(name) > 1]
    refuse(twice, f"{where}: the name '{twice[0] if twice else ''}' is there twice.")

    # An extent is a number in the body, `m.n`.
    extents = new.inferred()
    refuse_others(where, *extents)
    fields = [array.name for array in (*new.arrays, *new.scratch)] + [pool for pool, _ in new.tokens]
    both = [name for name in extents if name in fields]
    refuse(both, f"{where}: '{both[0] if both else ''}' is an extent, m.{both[0] if both else ''}, and something else.")


def _keep(new: TeamKernel) -> None:
    """Keep a declared kernel by its name. Raises ArgumentError for a name that is taken."""
    taken = declared.launches(new.name, but=STORE) or declared.taken(STORE, new)
    refuse(taken, f"team kernel '{new.name}': the name is taken.")
    declared.keep(STORE, new)
