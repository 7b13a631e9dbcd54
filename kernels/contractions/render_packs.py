"""Tensor programs for CPU vector units: the loops of each statement around tiles, which packs.h works off.

ways.py has the ways that a statement takes, and the loops of tiles and lanes.
"""

from __future__ import annotations

import string

import numpy as np

from ..engine.backend.base import Source
from ..engine.backend.record import structure
from .expression import Statement
from .plan import (
    MIRROR,
    Array,
    Loop,
    Product,
    Program,
    arguments,
    batch_places,
    includes,
    nest,
    places,
    program_source,
    turns,
    views_of,
)
from .ways import MODES, WIDTH, Levels, exchanges, levels_of, streams

PAGE = 4096  # bytes
LINE = 64  # bytes of a cache line, and of the widest vectors
ON_STACK = 256 << 10  # bytes of scratch, as packs.h has it
STREAM = 1, 4  # rows and columns of a tile that streams


# ---- text -----------------------------------------------------------------------------------------------------------


def members(p: Program) -> str:
    """Members of the record of arguments: address, step between entries, step between parts a batch apart."""
    return arguments(p, "past:whole asks:whole scratch:address")


def scratch(p: Program, lanes: bool, threads: int) -> int:
    """Bytes of the scratch of all threads, which a caller keeps; 0: it is on the stack."""
    body, size = Body(p, lanes, (0, 0), False), np.dtype(p.dtype).itemsize
    numbers = body.shared_room + body.room * (LINE // size if lanes else 1)
    return threads * -(-numbers * size // LINE) * LINE if numbers * size > ON_STACK else 0


def source(name: str, body: Body, ways, headers, folders, quick: bool) -> Source:
    """The source of a program. Its kernel `contraction` takes the record of `members` and has entries as items."""
    p = body.p
    for k, (s, way) in enumerate(zip(p.statements, ways)):
        body.statement(k, s, way)

    parts = [
        *includes("engine/numbers/pack.h", "contractions/packs.h", *headers),
        structure("Arguments", members(p)),
        "namespace {",
        *body.types,
        *body.functions(),
        "}",
    ]
    return program_source(name, p, parts, folders, quick)


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

        # Inputs that are asked for an entry ahead, where entries come from memory: a part at each of so many tiles. Of
        # diagonals few lines are read.
        whole = [p.arrays[x] for x in e.inputs if not _has_diagonal(e.references[x])]
        alone = ask and not lanes and p.batch
        self.asked = [a for a in whole if a.place == 0 and a.size > 1] if alone else []

        # Places in scratch.
        self.places, self.room = places(p, [*p.of_kind("local"), *self.inside, *self.past])
        self.shared_places, self.shared_room = places(p, p.of_kind("shared"))
        self.last = {s.out.name: k for k, s in enumerate(p.statements)}  # the last statement that writes an array

    # ---- one statement
    def statement(self, k: int, s: Statement, way: str) -> None:
        """Adds statement k. way: "along", "folded" or "lanes"."""
        to = self.once if self.p.once(s) else self.each
        if s.function == MIRROR:
            to.append(self._mirror(s))
            return

        mode = MODES["along" if self.p.once(s) and way == "lanes" else way]
        level = levels_of(nest(self.p, s), mode, WIDTH[self.p.dtype])
        self.types.append(self._struct(k, s, level))

        lines = [f"{{ // {s}"]
        for depth, loop in enumerate(level.outer):
            lines.append(f"for (int x{depth} = 0; x{depth} < {loop.extent}; ++x{depth})")

        lines.append("{")
        for place, name in enumerate(level.nest.names):
            lines.append(self._pointer(place, name, level))

        lines += self._exchange(s, level) if exchanges(level) else self._tiles(k, s, level)
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
        return STATEMENT.substitute(
            k=k,
            mode=level.mode,
            rows=row.extent if row else 1,
            columns=column.extent if column else 1,
            add=_word(s.add),
            may_overlap=_word(not s.add and not s.function),
            tile=_listed(map(str, self._tile(level))),
            break_=column.extent // partner.extent if column and partner else 0,
            jump=partner.step[0] if partner else 0,
            row=self._step(level, 0, row),
            column=self._step(level, 0, column),
        )

    def _tile(self, level: Levels) -> tuple[int, int]:
        """Rows and columns of sums in registers. Without a sum, several rows at a time gain nothing, and a long output
        is then written in as many places: rows that lie one behind the other are done one by one."""
        return STREAM if self.tile == (0, 0) and streams(level) else self.tile

    def _step(self, level: Levels, place: int, loop: Loop | None) -> str:
        """C++ of the step of an array along a loop; of lanes, W numbers apart."""
        scale = self._scale(level.nest.names[place]) if level.mode == "BATCH" else ""
        return _times(loop.step[place] if loop else 0, scale)

    def _scale(self, name: str) -> str:
        """W for an array that has a lane for each entry."""
        array = self.p.arrays.get(name)
        return "W" if array and (array.kind == "local" or array.place is not None) else ""

    def _pointer(self, place: int, name: str, level: Levels) -> str:
        """The pointer to an array's begin at some turns of the outer loops."""
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

        # Steps of each factor.
        rows, columns, lanes, by_factor = [], [], [], []
        for f in q.factors:
            rows.append(self._step(level, f, level.row))
            columns.append(self._step(level, f, level.column))
            lanes.append(self._lane(level, f, q))
            by_factor.append(_listed([self._step(level, f, loop) for loop in sums]))

        self.types.append(
            TERM.substitute(
                name=name,
                factors=len(q.factors),
                sums=len(q.sums),
                stride=_stride(level),
                fold=_word(level.mode == "FOLDED"),
                number=repr(q.number),
                extents=_listed([str(loop.extent) for loop in sums]),
                rows=_listed(rows),
                columns=_listed(columns),
                lanes=_listed(lanes),
                loops=len(sums),
                steps=_listed(by_factor),
            )
        )

    def _map(self, level: Levels) -> str:
        """A function of the host's, on whole packs of which `lanes` numbers count."""
        n = level.nest
        (q,) = n.products

        values = []
        for f in q.factors:
            row, column = self._step(level, f, level.row), self._step(level, f, level.column)
            place = f"f{f} + (r + y) * ({row}) + (c + z * {_stride(level)}) * ({column})"
            values.append(f"vec(fetch<lanes_d, s.lanes, {self._lane(level, f, q)}>({place}))")

        return MAP.substitute(function=n.statement.function, values=", ".join(values))

    def _ask(self, s: Statement, level: Levels, tiles: str) -> list[str]:
        """At each tile of a statement a part of the next entry's inputs is asked for."""
        if not self.asked or self.p.once(s):
            return []
        self.tiles.append(f"{turns(level.outer)} * {tiles}")
        return ["if (a.asks) ahead.ask();"]

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
        """Work done once, work for an entry, and the kernel."""
        p = self.p

        # Inputs and locals that the batch shares.
        inputs = []
        for a in p.arguments:
            if a.place is None and a.name not in p.expression.outputs and a.name not in self.inside:
                inputs.append(f"const scalar *const at_{a.name} = (const scalar *)a.at_{a.name};")

        held = [f"scalar *const at_{name} = shared + {at};" for name, at in self.shared_places.items()]
        unused = "".join(f"(void)at_{name}; " for name in p.arrays)

        return [
            ONCE.substitute(lines="\n".join([*inputs, *held, *self.once])),
            ENTRY.substitute(lines="\n".join([*self._begin(), *held, *self._ahead(), unused, *self.each])),
            self._kernel(),
        ]

    def _begin(self) -> list[str]:
        """Pointers at an entry, and copies into scratch."""
        p, lines = self.p, []
        for a in p.arguments:
            lines += self._argument(a)
            if a.mixed:
                lines += views_of(p, a, "b", batch_places(p, a))

        for name in p.of_kind("local"):
            lines.append(self._in_scratch("scalar", name))

        return lines

    def _in_scratch(self, kind: str, name: str) -> str:
        """C++ of the pointer to an array in scratch."""
        return f"{kind} *const at_{name} = scratch + {self._place(name)};"

    def _argument(self, a: Array) -> list[str]:
        """The pointer to an argument, or to its copy in scratch if the statements use the copy."""
        e, name = self.p.expression, a.name
        kind = "scalar" if name in e.outputs else "const scalar"
        move = f" + b * a.step_{name}" if a.place is not None else ""
        base = f"({kind} *)a.at_{name}{move}"

        if name in self.inside:
            copy = self._copy_in(a) if name not in e.outputs or name in e.updated else []
            return [f"{kind} *const to_{name} = {base};", self._in_scratch("scalar", name), *copy]

        if name in self.past:
            return [
                f"scalar *const to_{name} = {base};",
                f"scalar *const at_{name} = PAST ? scratch + {self._place(name)} : to_{name};",
            ]

        return [f"{kind} *const at_{name} = {base};"]

    def _copy_in(self, a: Array) -> list[str]:
        """A copy of an argument into scratch."""
        shape, ends = f"{a.before}, {a.after}", f"to_{a.name}, a.ld_{a.name}"
        if self.lanes:
            return [f"turn_in<{shape}>({ends}, a.step_{a.name}, count, at_{a.name});"]
        return [f"gather<{shape}>({ends}, at_{a.name});"]

    def _ahead(self) -> list[str]:
        """Loads that are asked for an entry ahead."""
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


STATEMENT = string.Template("""struct S$k {
    static constexpr Mode MODE = $mode;
    static constexpr int ROWS = $rows, COLUMNS = $columns;
    static constexpr bool ADD = $add;
    static constexpr bool MAY_OVERLAP = $may_overlap;
    static constexpr Extents TILE = $tile;
    static constexpr int BREAK = $break_;
    static constexpr long jump = $jump;
    static constexpr long row = $row, column = $column;
};""")

TERM = string.Template("""struct $name {
    static constexpr int FACTORS = $factors, SUMS = $sums, STEP = $stride;
    static constexpr bool FOLD = $fold;
    static constexpr double number = $number;
    static constexpr int extent[] = $extents;
    static constexpr long row[] = $rows, column[] = $columns,
                          lane[] = $lanes, sum[][$loops] = $steps;
};""")

MAP = string.Template("""for (int y = 0; y < s.rows; ++y) for (int z = 0; z < s.columns; ++z) {
    const vec v = $function($values);
    memcpy(&s.at[y][z], &v.v, sizeof s.at[y][z]);
}""")

ONCE = string.Template("""static void once(const Arguments &a, scalar *shared) {
    (void)a, (void)shared;
$lines
}""")

ENTRY = string.Template(
    "template <bool PAST> __attribute__((noinline)) static void entry("
    "const Arguments &a, long b, const long count, scalar *shared, scalar *scratch) {\n"
    "(void)count, (void)shared, (void)scratch, (void)b;\n"
    "$lines\n}"
)

KERNEL = string.Template("""}
KERNEL(contraction, Arguments) {
    const Arguments a = *record;
    over_batch<$shared + $room>($count, threads, (scalar *)a.scratch, [&](long first, long last, scalar *shared) {
        scalar *const scratch = shared + $shared;
        once(a, shared);
        for (long b = first; b < last; ++b) {
            const long n = items - b * $group;
            (void)n;
            $calls
        }
        if (a.past) end_of_streams();
    });
    return 0;
}
namespace {""")


def _has_diagonal(references) -> bool:
    """Whether an index stands twice in one of an array's references."""
    return any(len(set(r.indices)) < len(r.indices) for r in references)


def _word(true: bool) -> str:
    """C++ of a truth value."""
    return "true" if true else "false"


def _listed(words) -> str:
    """C++ of a list."""
    return "{" + ", ".join(words) + "}"


def _stride(level: Levels) -> str:
    """C++ of the columns from pack to pack: a pack has W columns if lanes lie along them."""
    return "W" if level.mode == "ALONG" else "1"


def _times(step: int, scale: str) -> str:
    """C++ of a step; scale: "W" or nothing."""
    return f"{step} * {scale}" if scale and step else str(step)
