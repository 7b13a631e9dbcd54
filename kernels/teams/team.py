"""Team kernels: what team.h's body needs to know, declared; rendered, compiled and launched as every other kernel.

yax = team_kernel("yax", header="yax.h", arrays="y(N) A(N,M) x(M)", sums="total", league="N")
run = yax.bind(dict(y=y, A=A, x=x))
run()
run.value("total")
"""

from __future__ import annotations

import ast
import dataclasses
import math
import pathlib
import re

import numpy as np

from ..engine.backend import get_backend
from ..engine.backend.base import Shape, Source
from ..engine.backend.facts import REFERENCE
from ..engine.backend.record import record, structure
from ..engine.errors import ArgumentError, refuse
from ..engine.registry import declared
from ..engine.values import is_number, real_array

THREADS = 128  # of a block, where the declaration leaves it open
SHARES = 512  # of a CPU's work, as in team_packs.h
SLOTS = 512  # bytes of shared memory for the sums of a team of several warps
SPARE = 1.2  # ids of a pool for each that can be held at the same time
KINDS = {"real": "scalar", "whole": "long"}
_WORD = re.compile(r"\s*(\w+)\s*\(([^()]*)\)((?::\w+)*)")
_OPERATORS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


@dataclasses.dataclass(frozen=True)
class Array:
    """An array or a piece of scratch. extents: numbers, names or formulas. kind: "real" or "whole". layout: RIGHT (last
    index fastest) or LEFT. level, of_member: of scratch."""

    name: str
    extents: tuple[str, ...]
    kind: str = "real"
    layout: str = "RIGHT"
    written: bool = False
    level: int = 0
    of_member: bool = False

    def dtype(self, real) -> np.dtype:
        return np.dtype(np.int64) if self.kind == "whole" else real


def _arrays(where: str, text: str, **also) -> list[Array]:
    """Words such as A(N,M), h(bins):whole, B(N,M):left."""
    found, at = [], 0
    text = text.strip()
    while at < len(text):
        word = _WORD.match(text, at)
        if not word:
            raise ArgumentError(f"{where}: '{text[at:]}', wanted words such as A(N,M) or h(bins):whole.")
        marks = word[3].split(":")[1:]
        wrong = [mark for mark in marks if mark not in ("left", "whole")]
        refuse(wrong, f"{where}: '{word[1]}' is marked {wrong}, wanted left or whole.")
        extents = tuple(part.strip() for part in word[2].split(","))
        layout = "LEFT" if "left" in marks else "RIGHT"
        found.append(Array(word[1], extents, "whole" if "whole" in marks else "real", layout, **also))
        at = word.end()
    return found


def _value(text: str, names: dict, where: str) -> int:
    """The whole number that a formula of names, numbers and + - * // % gives. Raises ArgumentError."""

    def of(node):
        if isinstance(node, ast.Expression):
            return of(node.body)
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left, right = of(node.left), of(node.right)
            refuse(
                isinstance(node.op, (ast.FloorDiv, ast.Mod)) and not right, f"{where}: division by zero in '{text}'."
            )
            return _OPERATORS[type(node.op)](left, right)
        what = f"'{node.id}' is not known" if isinstance(node, ast.Name) else "wanted numbers, names and + - * // %"
        raise ArgumentError(f"{where}: '{text}': {what}; known: {', '.join(names) or 'nothing'}.")

    try:
        return int(of(ast.parse(text, mode="eval")))
    except SyntaxError:
        raise ArgumentError(f"{where}: '{text}', wanted numbers, names and + - * // %.") from None


class UniqueToken:
    """A pool of `size` ids that several kernels share (device scope): given to `bind` under the token's name. `bind`
    makes a kernel's own pool (instance scope)."""

    def __init__(self, size: int, backend=None):
        refuse(not 1 <= size < 2**31, f"unique token: size {size}, wanted 1 or more.")
        self.size, self.backend = size, get_backend(backend)
        self.field = self.backend.from_host(np.zeros(-(-size // 32), np.uint32), np.dtype(np.uint32))

    @property
    def held(self) -> int:
        """How many ids are held now; waits for what was queued."""
        bits = np.array(self.backend.to_host(self.field), np.uint32).view(np.uint8)
        return int(np.unpackbits(bits).sum())


@dataclasses.dataclass(frozen=True)
class TeamKernel:
    """A declared kernel; see team_kernel."""

    name: str
    header: pathlib.Path
    kind: str  # "league", "range", "tiles"
    count: tuple[str, ...]  # teams; indices; extents
    arrays: tuple[Array, ...]
    sums: tuple[str, ...]
    numbers: tuple[tuple[str, str], ...]  # (name, kind)
    scratch: tuple[Array, ...]
    tokens: tuple[tuple[str, str], ...]  # (name, size or "")
    team: int | None
    vector: int
    tile: tuple[int, ...]
    order: str
    body: str
    source: str

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
        if self.kind == "tiles":
            team, vector = math.prod(self.tile), 1
        vector = vector or self.vector
        team = team or self.team or max(1, THREADS // vector)
        refuse(
            vector not in (1, 2, 4, 8, 16, 32) or not 1 <= team * vector <= 1024,
            f"team kernel '{self.name}': {team} members of {vector} lanes; wanted 1, 2, 4, 8, 16 or 32 lanes, and 1024 "
            "threads at most.",
        )
        return team, vector

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
    written = writes.split()
    found = [dataclasses.replace(a, written=a.name in written) for a in _arrays(where, arrays)]
    unknown = [x for x in written if x not in [a.name for a in found]]
    refuse(unknown, f"{where}: writes {unknown}, which are not among its arrays.")
    refuse(sum(x is not None for x in (league, range, extents)) != 1, f"{where}: wanted one of league, range, extents.")
    kind = "league" if league is not None else "range" if range is not None else "tiles"
    count = tuple(str(extents).split()) if kind == "tiles" else (str(range if league is None else league),)
    shape = tuple(tile or ()) if kind == "tiles" else ()
    refuse(
        kind == "tiles" and (len(shape) != len(count) or min(shape) < 1 or math.prod(shape) > 1024),
        f"{where}: tile {shape} for {len(count)} extents, wanted as many numbers of 1 or more, 1024 together at most.",
    )
    refuse(order not in ("right", "left"), f"{where}: order {order!r}, wanted right or left.")
    refuse(kind != "league" and scratch, f"{where}: scratch is for leagues of teams.")
    pieces = []
    for place, words in (scratch or {}).items():
        refuse(
            place not in ("team 0", "team 1", "member 0", "member 1"),
            f"{where}: scratch of '{place}', wanted team 0, team 1, member 0 or member 1.",
        )
        pieces += _arrays(where, words, level=int(place[-1]), of_member=place[0] == "m", written=True)
    words = [word.partition(":") for word in numbers.split()]
    wrong = [word[2] for word in words if word[2] not in ("", *KINDS)]
    refuse(wrong, f"{where}: a number is marked {wrong}, wanted real or whole.")
    held = tuple((x, "" if size is None else str(size)) for x, size in (tokens or {}).items())
    new = TeamKernel(
        name,
        declared.header_of(name, header),
        kind,
        count,
        tuple(found),
        tuple(sums.split()),
        tuple((word, kind or "whole") for word, _, kind in words),
        tuple(pieces),
        held,
        team,
        vector,
        shape,
        order,
        body or name,
        source,
    )
    names = [*(a.name for a in (*found, *pieces)), *new.sums, *(n for n, _ in new.numbers), *(n for n, _ in held)]
    taken = [x for x in names if names.count(x) > 1 or not x.isidentifier()]
    refuse(taken, f"{where}: the name '{taken[0] if taken else ''}' is there twice, or is no name in C++.")
    refuse(not name.isidentifier(), f"{where}: no name in C++.")
    new.organisation()
    _keep(new)
    return new


def _keep(new: TeamKernel) -> None:
    """Keep a declared kernel by its name. Raises ArgumentError for a name that is taken."""
    taken = declared.launches(new.name, but=STORE) or declared.taken(STORE, new)
    refuse(taken, f"team kernel '{new.name}': the name is taken.")
    declared.keep(STORE, new)


# ---- text -----------------------------------------------------------------------------------------------------------

LEAGUE = "shares:address arena:address bytes:whole:2 pieces:address piece_count:whole ended:address"


def members(k: TeamKernel) -> str:
    """The record of a kernel."""
    words = [LEAGUE, f"extent:whole:{len(k.count)}"]
    words += [f"at_{a.name}:address extent_{a.name}:whole:{len(a.extents)}" for a in k.arrays]
    words += [f"at_{name}:address" for name in k.sums]
    words += [f"n_{name}:{kind}" for name, kind in k.numbers]
    words += [f"n_{name}:whole" for name in k.inferred()]
    words += [f"start_{a.name}:whole piece_{a.name}:whole extent_{a.name}:whole:{len(a.extents)}" for a in k.scratch]
    words += [f"at_{name}:address size_{name}:whole" for name, _ in k.tokens]
    return " ".join(words)


def _operands(k: TeamKernel) -> str:
    """The struct that a body finds its arrays and numbers in."""
    fields, start = [], []
    for a in k.arrays:
        kind = f"{'' if a.written else 'const '}{KINDS[a.kind]}"
        fields.append(f"View<{kind}, {len(a.extents)}, {a.layout}> {a.name};")
        start.append(f"{a.name}(({kind} *)a.at_{a.name}, a.extent_{a.name})")
    for name, kind in k.numbers:
        fields.append(f"{'double' if kind == 'real' else 'long'} {name};")
        start.append(f"{name}(a.n_{name})")
    for name in k.inferred():
        fields.append(f"long {name};")
        start.append(f"{name}(a.n_{name})")
    for a in k.scratch:
        fields.append(
            f"Scratch<{KINDS[a.kind]}, {len(a.extents)}, {a.level}, {'true' if a.of_member else 'false'}> {a.name};"
        )
        start.append(f"{a.name}(a.start_{a.name}, a.piece_{a.name}, a.extent_{a.name})")
    for name, _ in k.tokens:
        fields.append(f"Token {name};")
        start.append(f"{name}{{(unsigned *)a.at_{name}, a.size_{name}}}")
    begin = f"POINT_FN explicit operands_{k.name}(const arguments_{k.name} &a)"
    return "\n".join(
        [
            f"struct operands_{k.name} {{",
            *fields,
            f"{begin} : {', '.join(start)} {{}}" if start else f"{begin} {{ (void)a; }}",
            "};",
        ]
    )


def _kernel(k: TeamKernel, style: str, team: int, vector: int) -> str:
    """One kernel `run_NAME` for a backend's style."""
    packs = style == "packs"
    team, vector = (1, 1) if packs else (team, vector)
    sums = "".join(f", sums[{n}]" for n in range(len(k.sums)))
    flag = lambda x: "true" if x else "false"
    own = {
        "league": f"for_league<Team<{team}, {vector}>, {len(k.sums)}, {flag(k.scratch)}, "
        f"{flag(any(a.level for a in k.scratch))}>",
        "range": f"for_range<{team * vector}, {len(k.sums)}>",
        "tiles": f"for_tiles<{len(k.sums)}, {len(k.count)}, {flag(k.order == 'right')}"
        + ("" if packs else f", {team * vector}")
        + ">",
    }[k.kind]
    call = {
        "league": f"[&](const auto &team, scalar *sums) {{ (void)sums, {k.body}(m, team{sums}); }}",
        "range": f"[&](const auto i, auto *sums) {{ (void)sums, {k.body}(m, i{sums}); }}",
        "tiles": f"[&](auto *sums, const auto... i) {{ (void)sums, {k.body}(m, i...{sums}); }}",
    }[k.kind]
    totals = ", ".join([*(f"(scalar *)a.at_{name}" for name in k.sums), "nullptr"])
    given = ["items", *(["threads"] if packs else []), "league", "totals"]
    more = ["a.extent", "tile"] if k.kind == "tiles" else []
    return "\n".join(
        [
            structure(f"arguments_{k.name}", members(k)),
            _operands(k),
            f"KERNEL(run_{k.name}, arguments_{k.name}, {team * vector}) {{",
            *([f"const arguments_{k.name} &a = *record;"] if packs else []),
            f"const operands_{k.name} m(a);",
            "const League league{(scalar *)a.shares, (char *)a.arena, {a.bytes[0], a.bytes[1]},",
            "                    {(unsigned *)a.pieces, a.piece_count}, (unsigned *)a.ended};",
            f"scalar *const totals[] = {{{totals}}};",
            *([f"const int tile[] = {{{', '.join(map(str, k.tile))}}};"] if more else []),
            f"{'return ' if packs else ''}{own}({', '.join([*given, *more])}, {call});",
            "}",
        ]
    )


def render(kernels, style: str, dtype, quick=False, team=None, vector=None) -> Source:
    """The source of kernels that share a header."""
    header = kernels[0].header
    text = [
        *(["#define FRAME_SINGLE"] if np.dtype(dtype) == np.float32 else []),
        *(['#include "engine/numbers/pack.h"'] if style == "packs" else []),
        '#include "teams/team.h"',
        f'#include "{header}"',
        *(_kernel(k, style, *k.organisation(team, vector)) for k in kernels),
        "",
    ]
    takes = {"league": "a team", "range": "an index", "tiles": "the indices"}
    bodies = {
        k.body: (k.body, header, f"takes {takes[k.kind]}" + "".join(f", then {x}" for x in k.sums)) for k in kernels
    }
    return Source(f"team-{header.stem}", "\n".join(text), (header.parent,), quick=quick, bodies=tuple(bodies.values()))


# ---- bound ----------------------------------------------------------------------------------------------------------


class Bound:
    """run(): a team kernel on its arrays. Two launches at the same time need two of these where it has sums.

    arrays: {name: array}, with the sums' own. members: of a team; 1 on a CPU. resident: blocks, or threads of a CPU,
    that run at the same time. scratch: bytes of a team, by level. arena: bytes of level 1 for all resident teams.
    """

    def __init__(self, kernel: TeamKernel, arrays, backend, team, vector, quick, numbers):
        self.kernel, self.backend = kernel, backend
        self._where = f"team kernel '{kernel.name}'"
        self.team, self.vector = kernel.organisation(team, vector)
        self.members = backend.sharing(self.team)
        tokens = {name: arrays.pop(name) for name, _ in kernel.tokens if name in arrays}
        self.dtype = self._real(arrays)
        self._from_host: list[tuple[str, str]] = []
        values, names = self._extents(arrays, numbers)
        values |= self._places(arrays)
        self.arrays, self._names = arrays, names
        for name in kernel.sums:
            self.arrays.setdefault(name, backend.from_host(np.zeros(1), self.dtype))
            values[f"at_{name}"] = backend.address(self._sum(name, self.arrays[name]))
        extents = [_value(text, names, f"{self._where}, {kernel.kind}") for text in kernel.count]
        refuse(min(extents) < 0, f"{self._where}: {kernel.kind} of {extents}, wanted 0 or more.")
        self.items = extents[0]
        if kernel.kind == "tiles":
            self.items = math.prod(-(-n // t) for n, t in zip(extents, kernel.tile))
        values |= self._scratch(names)
        module = backend.compile(self._source(team, vector, quick))
        threads = self.team * self.vector
        shape = Shape(
            threads,
            1 if kernel.kind != "range" else threads,
            self.scratch[0] + self._slots,
            resident=-1 if kernel.sums else 0,
        )
        function = f"run_{kernel.name}"
        self.resident = module.resident(function, shape)
        values |= self._room(tokens, names)
        self._record = record(members(kernel), extent=extents, **values)
        self._launch = module.bind(function, shape, self._record, keep=(list(self.arrays.values()), self._held))

    def _source(self, team, vector, quick) -> Source:
        """All kernels of the header in one source; or this kernel by itself where a device gets another organisation
        than the declared one."""
        kernel, backend = self.kernel, self.backend
        if backend.in_warps and (team, vector) != (None, None):
            return render([kernel], backend.style, self.dtype, quick, team, vector)

        same = [known for known in team_kernels.values() if known.header == kernel.header]
        return render(same if kernel in same else [kernel], backend.style, self.dtype, quick)

    def __call__(self) -> None:
        for name, kind in self._from_host:
            declared.constants.require([name], self.kernel.name)
            value = declared.constants.value_of(name)[0]
            self._record[f"n_{name}"] = value if kind == "real" else int(value)
        if self.items:
            self._launch(self.items)
        else:
            for name in self.kernel.sums:
                self.arrays[name][...] = 0

    def value(self, name: str) -> float:
        """Of a sum; waits for it."""
        return float(self.backend.to_host(self.arrays[name])[0])

    # ---- checks
    def _real(self, arrays) -> np.dtype:
        """The type of the first real array, else float64. Raises ArgumentError for missing and unknown arrays."""
        k = self.kernel
        wanted = [a.name for a in k.arrays]
        for name in wanted:
            refuse(name not in arrays, f"{self._where}: array '{name}' is missing.")
        for name, array in arrays.items():
            refuse(
                name not in wanted and name not in k.sums,
                f"{self._where} has no array '{name}'; it has {', '.join([*wanted, *k.sums])}.",
            )
            refuse(
                is_number(array) or not (hasattr(array, "dtype") and hasattr(array, "strides")),
                f"{self._where}: '{name}' is {type(array).__name__}, wanted an array.",
            )
            refuse(
                isinstance(array, np.ma.MaskedArray),
                f"{self._where}: array '{name}' is masked, and a kernel reads no masks; give {name}.filled(...).",
            )
        types = [np.dtype(arrays[a.name].dtype) for a in k.arrays if a.kind == "real"]
        real = types[0] if types else np.dtype(np.float64)
        refuse(real.name not in ("float64", "float32"), f"{self._where}: type {real}, wanted float64 or float32.")
        return real

    def _extents(self, arrays, numbers):
        """(the record's extents and numbers; {name: whole number})."""
        k, names, values = self.kernel, {}, {}
        kinds = dict(k.numbers)
        for name in numbers:
            refuse(name not in kinds, f"{self._where} has no number '{name}'; it has {', '.join(kinds) or 'none'}.")
            refuse(
                real_array(name, numbers[name]).ndim > 0,
                f"{self._where}: the number '{name}' is an array of shape {np.shape(numbers[name])}.",
            )
        for name, kind in k.numbers:
            if name in numbers:
                value = numbers[name]
            else:
                refuse(
                    name not in declared.constants.declared,
                    f"{self._where}: the number '{name}' is missing: give it, or declare constant('{name}', ...).",
                )
                declared.constants.require([name], k.name)
                value = declared.constants.value_of(name)[0]
                self._from_host.append((name, kind))
            if kind == "whole":
                refuse(int(value) != value, f"{self._where}: {name} = {value}, wanted a whole number.")
                names[name] = value = int(value)
            values[f"n_{name}"] = value
        for a in k.arrays:
            array, shape = arrays[a.name], tuple(arrays[a.name].shape)
            refuse(
                len(shape) != len(a.extents),
                f"{self._where}: array '{a.name}' has {len(shape)} dimensions {shape}, wanted {len(a.extents)}: "
                f"({', '.join(a.extents)}).",
            )
            refuse(
                np.dtype(array.dtype) != a.dtype(self.dtype),
                f"{self._where}: array '{a.name}' has type {array.dtype}, wanted {a.dtype(self.dtype)}.",
            )
            for x, n in zip(a.extents, shape):
                if x.isidentifier():
                    names.setdefault(x, n)
        for a in k.arrays:
            for x, n in zip(a.extents, arrays[a.name].shape):
                wanted = _value(x, names, f"{self._where}, array '{a.name}'")
                refuse(n != wanted, f"{self._where}: array '{a.name}', extent {x}: {n}, wanted {wanted}.")
        for name in k.inferred():
            values[f"n_{name}"] = names[name]
        return values, names

    def _places(self, arrays) -> dict:
        """Addresses and extents. Contiguous, where the backend works, and outputs apart from all others."""
        values: dict = {}
        spans: list = []
        for a in self.kernel.arrays:
            array, step = arrays[a.name], a.dtype(self.dtype).itemsize
            some = math.prod(array.shape) > 0
            known = isinstance(array, np.ndarray) or hasattr(array, "__cuda_array_interface__")
            here = hasattr(array, "__cuda_array_interface__") == (self.backend.memory == "device")
            refuse(known and not here, f"{self._where}: array '{a.name}' is not where backend {self.backend} works.")
            dims = list(zip(a.extents, array.shape, array.strides))
            for x, n, stride in dims if a.layout == "LEFT" else dims[::-1]:
                refuse(
                    n > 1 and some and stride != step,
                    f"{self._where}: array '{a.name}', extent {x}: neighbours are {stride} bytes apart, wanted {step}: "
                    f"contiguous, the {'first' if a.layout == 'LEFT' else 'last'} index fastest.",
                )
                step *= n
            flags = getattr(array, "flags", None)
            refuse(
                a.written and not getattr(flags, "writeable", True),
                f"{self._where}: array '{a.name}' is read-only, and written.",
            )
            address = self.backend.address(array) if some else 0
            values[f"at_{a.name}"], values[f"extent_{a.name}"] = address, tuple(array.shape)
            if some:
                spans.append((address, address + step, a))
        for low, high, a in spans:
            for begin, end, other in spans:
                refuse(
                    a.written and a is not other and low < end and begin < high,
                    f"{self._where}: '{a.name}' is written and shares memory with '{other.name}'.",
                )
        return values

    def _sum(self, name, array):
        refuse(
            tuple(array.shape) != (1,) or np.dtype(array.dtype) != self.dtype,
            f"{self._where}: sum '{name}' has shape {tuple(array.shape)}, type {array.dtype}, wanted (1,), "
            f"{self.dtype}.",
        )
        return array

    # ---- room
    @property
    def _slots(self) -> int:
        """Bytes of shared memory for a team's own sums, where it has several warps."""
        return SLOTS if self.backend.sharing(self.team * self.vector) > REFERENCE.warp else 0

    def _scratch(self, names) -> dict:
        """Places of scratch. Raises ArgumentError above what level 0 can have."""
        k, bytes_, told = self.kernel, [0, 0], [0, 0]  # told: as on a device, on every backend
        values: dict = {}
        for a in k.scratch:
            extents = [_value(x, names, f"{self._where}, scratch '{a.name}'") for x in a.extents]
            refuse(min(extents) < 0, f"{self._where}: scratch '{a.name}' has extents {extents}.")
            piece = -(-math.prod(extents) * a.dtype(self.dtype).itemsize // 16) * 16
            values |= {
                f"start_{a.name}": bytes_[a.level],
                f"piece_{a.name}": piece if a.of_member else 0,
                f"extent_{a.name}": extents,
            }
            bytes_[a.level] += piece * (self.members if a.of_member else 1)
            told[a.level] += piece * (self.team if a.of_member else 1)

        own = SLOTS if self.team * self.vector > REFERENCE.warp else 0
        room = self.backend.shared_memory or REFERENCE.shared_of_block  # a CPU keeps to it, so that kernels move
        refuse(
            told[0] + own > room,
            f"{self._where}: scratch of level 0 is {told[0]} bytes a team"
            + (f", and {own} for its sums" * bool(own))
            + f"; wanted {room} ({room / 1024:g} KiB) at most. Level 1 has room for more.",
        )
        self.scratch = tuple(bytes_)
        return values | {"bytes": bytes_}

    def _zeros(self, count: int, dtype):
        made = self.backend.from_host(np.zeros(max(count, 1), dtype), np.dtype(dtype))
        self._held.append(made)
        return self.backend.address(made)

    def _room(self, tokens, names) -> dict:
        """Memory beside the arrays: the league's sums, scratch of level 1, tokens."""
        k, device = self.kernel, self.backend.in_warps
        self._held: list = [tokens]
        values = {
            "shares": self._zeros((self.resident if device else SHARES) * len(k.sums), self.dtype),
            "ended": self._zeros(1, np.uint32),
        }

        # Scratch of level 1: a device's teams take a piece each of an arena, a CPU's threads have their own.
        self.arena = self.resident * self.scratch[1]
        if self.scratch[1] and device:
            pieces = math.ceil(SPARE * self.resident)
            self.arena = pieces * self.scratch[1]
            room = self.backend.empty((self.arena // 8,))
            self._held.append(room)
            values |= {
                "arena": self.backend.address(room),
                "pieces": self._zeros(-(-pieces // 32), np.uint32),
                "piece_count": pieces,
            }

        # Tokens: pools of ids, as many as can be held at the same time unless a size is declared.
        self.tokens = {}
        holders = 1 if k.kind == "league" else self.team * self.vector
        at_once = self.resident * self.backend.sharing(holders)
        for name, text in k.tokens:
            given = tokens.get(name)
            if given is None:
                size = _value(text, names, f"{self._where}, token '{name}'") if text else math.ceil(SPARE * at_once)
                given = UniqueToken(size, self.backend)
                by_thread = not device and size >= at_once  # the thread's own number will do
            else:
                refuse(
                    not isinstance(given, UniqueToken) or given.backend is not self.backend,
                    f"{self._where}: token '{name}' is {given!r}, wanted a UniqueToken of backend {self.backend}.",
                )
                by_thread = False
            self.tokens[name] = given
            values |= {f"at_{name}": 0 if by_thread else self.backend.address(given.field), f"size_{name}": given.size}
        self._held.append(self.tokens)
        return values
