"""Tensor programs for CPU vector units: the loops of each statement around tiles, which packs.h works off.

The lanes of a pack lie "along" the last index of the output, or "folded" along a sum, each statement its own way; or
they are entries of the batch ("lanes"), for all statements. organisations/packs.py chooses.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import string
from typing import NamedTuple

import numpy as np

from ..engine.backend.base import Source
from ..engine.backend.record import structure
from .plan import MIRROR, Array, Loop, Nest, Product, Program, nest, places, steps
from .text import Reference, Statement, Term

WIDTH = {"float64": 8, "float32": 16}  # lanes, for the model; the source takes what the processor has
PAGE = 4096  # bytes
FIRST_CACHE = 32 * 1024  # bytes
TURNING = 3  # vector operations that a pack takes on its way out where lanes go across the output's lines


# ---- the way of each statement --------------------------------------------------------------------------------------


def with_copies(p: Program, ways) -> tuple[Program, tuple[str, ...]]:
    """The program with copies of factors in which the lane's index is not the last one, and the ways of all."""
    copies = _Copies(p)
    for s, way in zip(p.statements, ways):
        copies.add(s, way)
    made = dataclasses.replace(p, statements=tuple(copies.statements), arrays=copies.arrays)
    return made, tuple(copies.ways)


class _Copies:
    """Statements with the copies that they need before them."""

    def __init__(self, p: Program):
        self.p = p
        self.statements: list[Statement] = []
        self.ways: list[str] = []
        self.arrays = dict(p.arrays)
        self.names: dict[tuple, str] = {}  # of copies, by array, version and order of indices
        self.version: collections.Counter = collections.Counter()  # how often an array was written

    def add(self, s: Statement, way: str) -> None:
        """A statement, after the copies."""
        terms = s.terms
        if way == "along" and s.function != MIRROR:
            lane = next((i for i in reversed(s.out.indices) if i != self.p.batch and self.p.sizes[i] > 1), None)
            terms = tuple(Term(t.number, tuple(self._factor(f, lane) for f in t.factors)) for t in s.terms)
        self._append(s._replace(terms=terms), way)
        self.version[s.out.name] += 1

    def _append(self, s: Statement, way: str) -> None:
        self.statements.append(s)
        self.ways.append(way)

    def _factor(self, f: Reference, lane: str | None) -> Reference:
        """A factor, or a copy in which the lane's index is the last one."""
        p = self.p
        if lane not in f.indices or (self.arrays[f.name].mixed and p.batch in f.indices):
            return f
        assert lane
        if nest_step(p, f, lane) in (0, 1):
            return f

        batch = (p.batch,) if p.batch in f.indices else ()
        others = tuple(dict.fromkeys(i for i in f.indices if i not in (lane, p.batch)))
        indices = (*batch, *others, lane)
        key = f.name, self.version[f.name], tuple(indices.index(i) for i in f.indices)
        if key not in self.names:
            self.names[key] = name = f"c{len(self.names)}_"
            place = 0 if batch else None
            extents = tuple(None if i == p.batch else p.sizes[i] for i in indices)
            kind = "local" if batch or not p.batch else "shared"
            self.arrays[name] = Array(name, indices, extents, kind, place)
            self._append(Statement(Reference(name, indices), (Term(1.0, (f,)),)), "along")
        return Reference(self.names[key], indices)


def nest_step(p: Program, f: Reference, index: str) -> int:
    """Numbers in memory from one value of `index` to the next in the array of f; 0 where f has no such index."""
    return steps(f, p.arrays[f.name], p.batch).get(index, 0)


def foldable(n: Nest) -> bool:
    """Whether each product has one sum, along which every factor stays or lies side by side."""
    return not n.statement.function and all(
        len(q.sums) == 1 and {q.sums[0].step[f] for f in q.factors} in ({1}, {0, 1}) for q in n.products
    )


def effort(n: Nest, way: str, width: int) -> float:
    """Vector operations of a statement for one entry, by a rough count."""
    turns = sum(math.prod(loop.extent for loop in q.sums) for q in n.products) + len(n.products)
    if way == "lanes":
        return n.size * turns / width
    if way == "folded":
        return n.size * (sum(-(-q.sums[0].extent // width) for q in n.products) + 3.0)
    lane = n.loops[-1].extent if n.loops and n.loops[-1].step[0] == 1 else 1
    lane *= partner.extent if (partner := broken(n, width)) else 1
    rest = lane % width
    packs: float = lane // width + (0 if not rest else 1.0 if rest > width / 2 else 0.6 if rest > width / 4 else 0.4)
    strange = any(n.loops and n.loops[-1].step[f] not in (0, 1) for q in n.products for f in q.factors)
    return n.size / lane * packs * turns * (width if strange else 1)


def able(p: Program) -> list[tuple[str, ...]]:
    """Of each statement, the ways that packs can take."""
    return [("along", "folded") if foldable(nest(p, s)) else ("along",) for s in p.statements]


def best_way(p: Program, s: Statement, ways) -> str:
    """The cheapest of the ways that a statement can have."""
    width = WIDTH[p.dtype]
    return min((statement_price(p, s, way, width), way) for way in ways)[1]


def statement_price(p: Program, s: Statement, way: str, width: int) -> float:
    """Vector operations of a statement for one entry, those of the copies that it needs among them."""
    n = nest(p, s)
    if way != "along":
        return effort(n, way, width)

    changed, _ = with_copies(dataclasses.replace(p, statements=(s,)), ("along",))
    *copies, last = changed.statements
    if not copies:
        return effort(n, way, width)

    price = effort(nest(changed, last), way, width)
    return price + sum(0.4 * changed.arrays[c.out.name].size for c in copies if not changed.once(c))


# ---- text -----------------------------------------------------------------------------------------------------------


def members(p: Program) -> str:
    """Of the record of arguments: address, step between entries, and step between the parts that lie a batch apart."""
    words = [f"at_{a.name}:address step_{a.name}:whole ld_{a.name}:whole" for a in p.arguments]
    return " ".join([*words, "past:whole"])


def source(name: str, body: Body, ways, headers, folders, quick: bool) -> Source:
    """The source of a program. Its kernel `contraction` takes the record of `members` and has entries as items."""
    p = body.p
    for k, (s, way) in enumerate(zip(p.statements, ways)):
        body.statement(k, s, way)

    text = [
        *(["#define FRAME_SINGLE"] if p.dtype == "float32" else []),
        '#include "engine/numbers/pack.h"',
        '#include "contractions/packs.h"',
        *(f'#include "{h}"' for h in headers),
        structure("Arguments", members(p)),
        "namespace {",
        *body.types,
        *body.functions(),
        "}",
        "",
    ]
    return Source(f"tensor-{name}", "\n".join(text), tuple(folders), quick=quick, entry="contraction", title=p.title)


class Body:
    """Types and functions of a program. lanes: whether lanes are entries of the batch."""

    def __init__(self, p: Program, lanes: bool, tile, ask: bool):
        self.p, self.lanes, self.tile = p, lanes, tile
        self.types: list[str] = []  # structs of statements and terms
        self.once: list[str] = []  # statements without the batch index
        self.each: list[str] = []  # statements of an entry
        self.tiles: list[str] = []  # counts of tiles at which numbers are asked for ahead

        # Arguments that are worked on in scratch: copied by lanes, or lying a batch apart, or stored past the caches.
        e = p.expression
        batched = [a for a in p.arguments if a.place is not None]
        self.inside = [a.name for a in batched if lanes or a.place]
        self.past: list[str] = []
        if not lanes and p.batch:
            self.past = [name for name in e.outputs if name not in e.updated and name not in self.inside]

        # Inputs that are asked for an entry ahead, where entries come from memory: a part at each of so many tiles.
        inputs = [p.arrays[x] for x in e.inputs]
        self.asked = [a for a in inputs if a.place == 0 and a.size > 1] if ask and self.past else []

        # Places in scratch.
        local = [a.name for a in p.arrays.values() if a.kind == "local"]
        shared = [a.name for a in p.arrays.values() if a.kind == "shared"]
        self.places, self.room = places(p, [*local, *self.inside, *self.past])
        self.shared_places, self.shared_room = places(p, shared)
        self.last = {s.out.name: k for k, s in enumerate(p.statements)}  # the last statement that writes an array

    # ---- one statement
    def statement(self, k: int, s: Statement, way: str) -> None:
        """Adds statement k. way: "along", "folded" or "lanes"."""
        to = self.once if self.p.once(s) else self.each
        if s.function == MIRROR:
            to.append(self._mirror(s))
            return

        mode = MODES["along" if self.p.once(s) and way == "lanes" else way]
        level = _levels(nest(self.p, s), mode, WIDTH[self.p.dtype])
        self.types.append(self._struct(k, s, level))

        lines = [f"{{ // {s}"]
        for depth, loop in enumerate(level.outer):
            lines.append(f"for (int x{depth} = 0; x{depth} < {loop.extent}; ++x{depth})")
        lines.append("{")
        for place, name in enumerate(level.nest.names):
            lines.append(self._pointer(place, name, level))
        lines += self._exchange(s, level) if _exchanges(level) else self._tiles(k, s, level)
        to.append("\n".join([*lines, "}\n}"]))

        if self.last[s.out.name] == k:
            self.each += self._leave(s.out.name)

    def _mirror(self, s: Statement) -> str:
        """A copy of a symmetric array with both halves filled."""
        n, a = nest(self.p, s), self.p.arrays[s.out.name]
        extent = [x for x in a.extents if x is not None][-1]
        wide = "W" if self.lanes and a.kind == "local" else "1"
        return f"mirror<{a.size // extent**2}, {extent}, {wide}>(at_{n.names[1]}, at_{n.names[0]});"

    def _struct(self, k: int, s: Statement, level: Levels) -> str:
        """Constants of a statement."""
        row, column, partner = level.row, level.column, level.partner
        extents = f"ROWS = {row.extent if row else 1}, COLUMNS = {column.extent if column else 1}"
        break_ = column.extent // partner.extent if column and partner else 0
        steps_ = f"row = {self._step(level, 0, row)}, column = {self._step(level, 0, column)}"
        return (
            f"struct S{k} {{\n"
            f"    static constexpr Mode MODE = {level.mode};\n"
            f"    static constexpr int {extents};\n"
            f"    static constexpr bool ADD = {_word(s.add)};\n"
            f"    static constexpr bool MAY_OVERLAP = {_word(not s.add and not s.function)};\n"
            f"    static constexpr Extents TILE = {{{self.tile[0]}, {self.tile[1]}}};\n"
            f"    static constexpr int BREAK = {break_};\n"
            f"    static constexpr long jump = {partner.step[0] if partner else 0};\n"
            f"    static constexpr long {steps_};\n}};"
        )

    def _step(self, level: Levels, place: int, loop: Loop | None) -> str:
        """C++ of the step of an array along a loop; of lanes, W numbers apart."""
        scale = self._scale(level.nest.names[place]) if level.mode == "BATCH" else ""
        return _times(loop.step[place] if loop else 0, scale)

    def _scale(self, name: str) -> str:
        """W for an array that has a lane for each entry."""
        array = self.p.arrays.get(name)
        return "W" if array and (array.kind == "local" or array.place is not None) else ""

    def _pointer(self, place: int, name: str, level: Levels) -> str:
        """Where an array begins at some turns of the outer loops."""
        moves = ""
        for d, loop in enumerate(level.outer):
            if loop.step[place]:
                moves += f" + x{d} * ({self._step(level, place, loop)})"
        kind = "scalar" if place == 0 else "const scalar"
        return f"{kind} *const f{place} = at_{name}{moves};"

    def _exchange(self, s: Statement, level: Levels) -> list[str]:
        """A statement that only exchanges two directions of a factor."""
        row, column = level.row, level.column
        assert row and column
        lines = self._ask(s, level, "1")
        return [*lines, f"turn<{row.extent}, {column.extent}>(f1, {column.step[1]}, f0, {row.step[0]});"]

    def _tiles(self, k: int, s: Statement, level: Levels) -> list[str]:
        """Tiles of sums in registers."""
        n = level.nest
        lines = [f"tiles<S{k}>([&](auto &s, int r, int c) __attribute__((always_inline)) {{"]
        lines += self._ask(s, level, f"number_of_tiles<S{k}>()")

        if s.function:
            lines.append(self._map(level))
        for m, q in enumerate(n.products) if not s.function else ():
            first = _word(m == 0)
            if q.factors:
                self._term(f"S{k}T{m}", level, q)
                lines.append(f"add<S{k}T{m}, {first}>(s, r, c, {', '.join(f'f{f}' for f in q.factors)});")
            else:
                lines.append(f"add_number(s, {first}, {q.number!r});")
        return [*lines, f"put<S{k}>(s, r, c, f0);\n}});"]

    def _lane(self, level: Levels, f: int, q: Product) -> str:
        """C++ of the step of a factor from lane to lane."""
        if level.mode == "ALONG":
            return str(level.column.step[f]) if level.column else "0"
        if level.mode == "FOLDED":
            return str(q.sums[0].step[f])
        return "1" if self._scale(level.nest.names[f]) else "0"

    def _term(self, name: str, level: Levels, q: Product) -> None:
        """Constants of a term."""
        sums = q.sums or (Loop(1, (0,) * len(level.nest.names)),)
        by_factor = []
        for f in q.factors:
            by_factor.append(_listed([self._step(level, f, loop) for loop in sums]))
        rows = _listed([self._step(level, f, level.row) for f in q.factors])
        columns = _listed([self._step(level, f, level.column) for f in q.factors])
        lanes = _listed([self._lane(level, f, q) for f in q.factors])

        stride = "W" if level.mode == "ALONG" else "1"
        self.types.append(
            f"struct {name} {{\n"
            f"    static constexpr int FACTORS = {len(q.factors)}, SUMS = {len(q.sums)}, STEP = {stride};\n"
            f"    static constexpr bool FOLD = {_word(level.mode == 'FOLDED')};\n"
            f"    static constexpr double number = {q.number!r};\n"
            f"    static constexpr int extent[] = {_listed([str(loop.extent) for loop in sums])};\n"
            f"    static constexpr long row[] = {rows}, column[] = {columns},\n"
            f"                          lane[] = {lanes}, sum[][{len(sums)}] = {_listed(by_factor)};\n}};"
        )

    def _map(self, level: Levels) -> str:
        """A function of the host's, on whole packs of which `lanes` numbers count."""
        n = level.nest
        (q,) = n.products
        stride = "W" if level.mode == "ALONG" else "1"
        values = []
        for f in q.factors:
            row, column = self._step(level, f, level.row), self._step(level, f, level.column)
            place = f"f{f} + (r + y) * ({row}) + (c + z * {stride}) * ({column})"
            values.append(f"vec(fetch<lanes_d, s.lanes, {self._lane(level, f, q)}>({place}))")
        return (
            "for (int y = 0; y < s.rows; ++y) for (int z = 0; z < s.columns; ++z) {\n"
            f"    const vec v = {n.statement.function}({', '.join(values)});\n"
            "    memcpy(&s.at[y][z], &v.v, sizeof s.at[y][z]);\n}"
        )

    def _ask(self, s: Statement, level: Levels, tiles: str) -> list[str]:
        """At each tile of a statement a part of what the next entry will read is asked for."""
        if not self.asked or self.p.once(s):
            return []
        self.tiles.append(f"{math.prod(loop.extent for loop in level.outer)} * {tiles}")
        return ["if constexpr (PAST) ahead.ask();"]

    def _leave(self, name: str) -> list[str]:
        """An output from scratch to where it belongs."""
        a = self.p.arrays[name]
        shape = f"{a.before}, {a.after}"
        if name in self.inside and self.lanes:
            return [f"turn_out<{shape}>(at_{name}, to_{name}, a.ld_{name}, a.step_{name}, count, a.past);"]
        if name in self.inside:
            return [f"scatter<{shape}>(at_{name}, to_{name}, a.ld_{name});"]
        if name in self.past:
            return [f"if constexpr (PAST) copy_past<{a.size} / W * W>(to_{name}, at_{name});"]
        return []

    # ---- functions
    def functions(self) -> list[str]:
        """What is done once, what is done for an entry, and the kernel."""
        p = self.p
        shared = []
        for a in p.arguments:
            if a.place is None and a.name not in p.expression.outputs and a.name not in self.inside:
                shared.append(f"const scalar *const at_{a.name} = (const scalar *)a.at_{a.name};")
        held = [f"scalar *const at_{name} = shared + {at};" for name, at in self.shared_places.items()]
        unused = "".join(f"(void)at_{a.name}; " for a in p.arrays.values())

        once = "\n".join([*shared, *held, *self.once])
        entry = "\n".join([*self._begin(), *held, *self._ahead(), unused, *self.each])
        return [
            f"static void once(const Arguments &a, scalar *shared) {{\n    (void)a, (void)shared;\n{once}\n}}",
            "template <bool PAST> __attribute__((noinline)) static void entry(const Arguments &a, long b, "
            "const long count, scalar *shared, scalar *scratch) {\n"
            f"(void)count, (void)shared, (void)scratch, (void)b;\n{entry}\n}}",
            self._kernel(),
        ]

    def _begin(self) -> list[str]:
        """Pointers at an entry, and copies into scratch."""
        p, lines = self.p, []
        for a in p.arguments:
            lines += self._argument(a)
            for line in self._mixed(a):
                if line not in lines:
                    lines.append(line)
        for a in p.arrays.values():
            if a.kind == "local":
                lines.append(f"scalar *const at_{a.name} = scratch + {self._place(a.name)};")
        return lines

    def _argument(self, a: Array) -> list[str]:
        e, name = self.p.expression, a.name
        output = name in e.outputs
        kind = "scalar" if output else "const scalar"
        move = f" + b * a.step_{name}" if a.place is not None else ""
        base = f"({kind} *)a.at_{name}{move}"

        if name in self.inside:
            lines = [
                f"{kind} *const to_{name} = {base};",
                f"scalar *const at_{name} = scratch + {self._place(name)};",
            ]
            if not output or name in e.updated:
                verb, more = ("turn_in", f"a.step_{name}, count, ") if self.lanes else ("gather", "")
                lines.append(f"{verb}<{a.before}, {a.after}>(to_{name}, a.ld_{name}, {more}at_{name});")
            return lines

        if name in self.past:
            return [
                f"scalar *const to_{name} = {base};",
                f"scalar *const at_{name} = PAST ? scratch + {self._place(name)} : to_{name};",
            ]
        return [f"{kind} *const at_{name} = {base};"]

    def _mixed(self, a: Array) -> list[str]:
        """Pointers to an array that has the batch index in several places, one for each place."""
        if not a.mixed:
            return []
        lines = []
        for r in self.p.expression.references[a.name]:
            if self.p.batch in r.indices:
                place = r.indices.index(self.p.batch)
                step = math.prod(x or 1 for x in a.extents[place + 1 :])
                lines.append(f"const scalar *const at_{a.name}_{place} = at_{a.name} + b * {step};")
        return lines

    def _ahead(self) -> list[str]:
        """What is asked for an entry ahead."""
        if not self.tiles:
            return []
        at = ", ".join(f"at_{a.name} + a.step_{a.name}" for a in self.asked)
        counts = ", ".join(str(a.size) for a in self.asked)
        lines = [f"Ahead<{' + '.join(self.tiles)}, {counts}> ahead = {{{{{at}}}}};"]
        for x in self.past:
            size = self.p.arrays[x].size
            if size * np.dtype(self.p.dtype).itemsize >= PAGE:
                lines.append(f"if constexpr (PAST) pages<{size}>(to_{x} + a.step_{x});")
        return lines

    def _kernel(self) -> str:
        """All entries, or groups of entries with a lane each."""
        group, scale = ("W", " * W") if self.lanes else ("1", "")
        call = f"(a, b * {group}, n < {group} ? n : {group}, shared, scratch)"
        calls = f"entry<false>{call};"
        if self.past:
            calls = f"if (a.past) entry<true>{call};\n            else entry<false>{call};"
        return KERNEL.substitute(
            shared=self.shared_room,
            room=f"{self.room}{scale}",
            count=f"(items + {group} - 1) / {group}" if self.p.batch else "items > 0",
            group=group,
            calls=calls,
        )

    def _place(self, name: str) -> str:
        """C++ of where an array begins in scratch."""
        return f"{self.places[name]}" + (" * W" if self.lanes else "")


KERNEL = string.Template("""}
KERNEL(contraction, Arguments) {
    const Arguments a = *record;
    return over_batch<$shared + $room>($count, threads, [&](long first, long last, scalar *shared) {
        scalar *const scratch = shared + $shared;
        once(a, shared);
        for (long b = first; b < last; ++b) {
            const long n = items - b * $group;
            (void)n;
            $calls
        }
        if (a.past) end_of_streams();
    });
}
namespace {""")


def _word(true: bool) -> str:
    """C++ of a truth value."""
    return "true" if true else "false"


def _listed(words) -> str:
    """C++ of a list."""
    return "{" + ", ".join(words) + "}"


def _times(step: int, scale: str) -> str:
    """C++ of a step; scale: "W" or nothing."""
    return f"{step} * {scale}" if scale and step else str(step)


# ---- levels ---------------------------------------------------------------------------------------------------------

MODES = {"along": "ALONG", "folded": "FOLDED", "lanes": "BATCH"}  # of packs.h


class Levels(NamedTuple):
    """The loops of a statement by level."""

    nest: Nest
    mode: str
    outer: list[Loop]
    row: Loop | None
    column: Loop | None
    partner: Loop | None  # the loop that is joined to the columns (see `broken`)


def _exchanges(level: Levels) -> bool:
    """Whether a statement only exchanges two directions of its factor."""
    n, row, column = level.nest, level.row, level.column
    if level.mode != "ALONG" or n.statement.function or n.statement.add or len(n.products) != 1:
        return False
    (q,) = n.products
    plain = len(q.factors) == 1 and not q.sums and q.number == 1
    return plain and row is not None and column is not None and row.step[1] == 1 and column.step[1] > 1


def broken(n: Nest, width: int) -> Loop | None:
    """A loop that the factors step through as through one with the last loop, which the output does not.

    Where the last loop is no whole number of packs, lanes run on along both.
    """
    if n.statement.function or n.statement.add or len(n.loops) < 2 or not n.products:
        return None
    *others, last = n.loops
    if last.step[0] != 1 or last.extent < width or not last.extent % width:
        return None

    factors = {f for q in n.products for f in q.factors}
    if any(last.step[f] not in (0, 1) for f in factors):
        return None
    for loop in others:
        if all(loop.step[f] == last.extent * last.step[f] for f in factors):
            return loop
    return None


def _levels(n: Nest, mode: str, width: int) -> Levels:
    """Along: columns are the loop of the lanes, if there is one. Else rows and columns are the largest loops that spare
    loads of the first factor, or of the last."""
    loops = list(n.loops)
    column = partner = None
    if mode == "ALONG":
        if loops and loops[-1].step[0] == 1:
            column, partner = loops.pop(), broken(n, width)
        if column and partner:
            loops.remove(partner)
            column = Loop(column.extent * partner.extent, column.step)
    elif loops:
        column = max(loops, key=lambda loop: (_spared(n, loop, 0) - _spared(n, loop, -1), min(loop.extent, LONG)))
        if len(loops) > 1 or not _spared(n, column, -1):
            loops.remove(column)
        else:
            column = None

    def worth(loop: Loop):
        """Of a copy, the side along which its factor lies; then the loads that are spared."""
        side = len(loop.step) == 2 and loop.step[1] == 1
        spared = _spared_along(n, loop, column) if mode == "ALONG" else _spared(n, loop, -1)
        return side, spared, min(loop.extent, LONG)

    row = max(loops, key=worth, default=None)
    if row:
        loops.remove(row)
    if mode == "ALONG" and row and column and not partner and across(n, row, column, width):
        row, column = column, row
    return Levels(n, mode, loops, row, column, partner)


LONG = 12  # turns beyond which a loop is no better for rows or columns


def _spared(n: Nest, loop: Loop, which: int) -> int:
    """Products whose first factor (0) or last factor (-1) stays along a loop."""
    return sum(loop.step[q.factors[which]] == 0 for q in n.products if len(q.factors) > 1)


def _spared_along(n: Nest, loop: Loop, column: Loop | None) -> int:
    """Factors with the columns' index that stay along a loop."""
    if not column:
        return 0
    factors = [f for q in n.products for f in q.factors]
    return sum(loop.step[f] == 0 for f in factors if column.step[f])


def across(n: Nest, row: Loop, column: Loop, width: int) -> bool:
    """Whether lanes had better go across the output's lines, where those are no whole number of packs."""
    if n.statement.function or n.statement.add or not n.products or not all(q.sums for q in n.products):
        return False
    steps_ = {row.step[f] for q in n.products for f in q.factors}
    if not {1} <= steps_ <= {0, 1} or column.extent < width or row.extent < width:
        return False

    turns = min(math.prod(loop.extent for loop in q.sums) for q in n.products)
    row_packs, column_packs = -(-row.extent // width), -(-column.extent // width)
    return row_packs * column.extent * (turns + TURNING) < row.extent * column_packs * (turns + 1)
