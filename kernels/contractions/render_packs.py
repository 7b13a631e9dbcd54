"""Tensor programs for CPU vector units: the loops of each statement around tiles, which packs.h works off.

An organisation says along what the lanes of a pack lie: "along" the output's last index, "folded" along a sum, for each
statement its own; or "lanes", the batch, for all.
"""

from __future__ import annotations

import collections
import dataclasses
import math

import numpy as np

from ..engine.backend.base import Source
from ..engine.backend.record import structure
from . import outer
from .plan import MIRROR, Array, Loop, Nest, Product, Program, nest, places, steps
from .text import Reference, Statement, Term

UNIT = "vector operations"
WIDTH = {"float64": 8, "float32": 16}  # lanes, for the model; the source takes what the processor has
PAGE = 4096  # bytes
TURNING = 3  # vector operations that a pack takes on its way out where lanes go across the output's lines


@dataclasses.dataclass(frozen=True)
class Packs:
    """An organisation. ways: of each statement "along" or "folded"; all "lanes". tile: rows and columns of sums in
    registers; 0: as packs.h reckons. ask: asks ahead for the next entry."""

    name: str
    ways: tuple[str, ...]
    tile: tuple[int, int] = (0, 0)
    ask: bool = True

    def __str__(self):
        kinds = collections.Counter(self.ways)
        told = [", ".join(f"{n} {way}" for way, n in kinds.items())] * (len(kinds) > 1)
        told += [f"tiles {self.tile[0]} x {self.tile[1]}"] * any(self.tile) + ["nothing asked ahead"] * (not self.ask)
        return f"{self.name} ({', '.join(told)})" if told else self.name


KINDS: dict[str, type] = dict.fromkeys(("rows", "folded", "lanes"), Packs) | outer.KINDS


# ---- the way of each statement --------------------------------------------------------------------------------------


def turned(p: Program, ways) -> tuple[Program, tuple[str, ...]]:
    """The program with copies of factors in which the lane's index is not the last one, and its ways."""
    statements, new_ways, arrays = [], [], dict(p.arrays)
    made: dict[tuple, str] = {}
    version: collections.Counter = collections.Counter()
    for s, way in zip(p.statements, ways):
        lane = next((i for i in reversed(s.out.indices) if i != p.batch and p.sizes[i] > 1), None)

        def held(f: Reference) -> Reference:
            array = arrays[f.name]
            if s.function == MIRROR:
                return f
            if way != "along" or lane not in f.indices or array.mixed and p.batch in f.indices:
                return f
            if nest_step(p, f, lane) in (0, 1):
                return f
            own = tuple(dict.fromkeys(i for i in f.indices if i not in (lane, p.batch)))
            own = ((p.batch,) if p.batch in f.indices else ()) + own + (lane,)
            pattern = tuple(own.index(i) for i in f.indices)
            key = (f.name, version[f.name], pattern)
            if key not in made:
                made[key] = name = f"c{len(made)}_"
                place = 0 if p.batch in own else None
                extents = tuple(None if i == p.batch else p.sizes[i] for i in own)
                kind = "local" if place == 0 or not p.batch else "shared"
                arrays[name] = Array(name, own, extents, kind, place)
                statements.append(Statement(Reference(name, own), (Term(1.0, (f,)),)))
                new_ways.append("along")
            return Reference(made[key], own)

        terms = tuple(Term(t.number, tuple(held(f) for f in t.factors)) for t in s.terms)
        statements.append(s._replace(terms=terms))
        new_ways.append(way)
        version[s.out.name] += 1
    return dataclasses.replace(p, statements=tuple(statements), arrays=arrays), tuple(new_ways)


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


def price(p: Program, ways) -> float:
    """Vector operations an entry, by a rough count."""
    width = WIDTH[p.dtype]
    nests = [nest(p, s) for s in p.statements]
    if ways[0] != "lanes":
        return sum(_with_copies(p, s, n, way, width) for s, n, way in zip(p.statements, nests, ways))
    size = sum(a.size for a in p.arguments if a.place is not None)
    inside = size + sum(a.size for a in p.arrays.values() if a.kind == "local")
    slow = 1.0 if inside * width * 8 <= 32 * 1024 else 1.6
    return sum(effort(n, "lanes", width) for n in nests) * slow + size * 4 / width


def choices(p: Program) -> list[tuple[float, Packs | outer.Outer]]:
    """Organisations that can serve, with the model's vector operations an entry, the best first."""
    width, can = WIDTH[p.dtype], able(p)
    both = ([(_with_copies(p, s, nest(p, s), way, width), way) for way in ways] for s, ways in zip(p.statements, can))
    best = tuple(min(prices)[1] for prices in both)
    found = [best]
    for way in ("along", "folded"):
        chosen = tuple(way if way in ways else "along" for ways in can)
        if chosen != best and way in chosen:
            found.append(chosen)
    made = [Packs("folded" if "folded" in ways else "rows", ways) for ways in found]
    if lanes_serve(p):
        made.append(Packs("lanes", ("lanes",) * len(p.statements)))
    priced = [(price(p, how.ways), how) for how in made]
    least = min(price for price, _ in priced)
    return sorted([*priced, *outer.choices(p, "packs", least)], key=lambda m: m[0])


def lanes_serve(p: Program) -> bool:
    """Whether lanes may be entries: there is a batch, whose index stands in one place of each array."""
    return bool(p.batch) and not any(a.mixed for a in p.arrays.values())


def _with_copies(p, s, n, way, width) -> float:
    price = effort(n, way, width)
    if way == "along":
        changed, _ = turned(dataclasses.replace(p, statements=(s,)), ("along",))
        if len(changed.statements) > 1:
            price = effort(nest(changed, changed.statements[-1]), way, width)
            price += sum(0.4 * changed.arrays[c.out.name].size for c in changed.statements[:-1] if not changed.once(c))
    return price


# ---- text -----------------------------------------------------------------------------------------------------------


def members(p: Program) -> str:
    """Of the record of arguments: address, step between entries, and step between the parts that lie a batch apart."""
    words = [f"at_{a.name}:address step_{a.name}:whole ld_{a.name}:whole" for a in p.arguments]
    return " ".join([*words, "past:whole"])


def unable(p: Program, how) -> str:
    """What an organisation wants of a program that does not have it: any serves."""
    return ""


def stand_ins(p: Program, how) -> list:
    """The organisation, and those that take its place for arrays that do not lie as it needs."""
    return [how]


def render(p: Program, how: Packs | outer.Outer, headers=(), folders=(), quick: bool = False) -> Source:
    """The source of a program; its kernel `contraction` takes the record of `members` and has entries as items."""
    if isinstance(how, outer.Outer):
        return outer.source(p, how, "packs", quick)
    ways = how.ways
    if how.name != "lanes":
        p, ways = turned(p, ways)
    body = _Body(p, how.name == "lanes", how.tile, how.ask)
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
    name = f"tensor-{how.name}"
    return Source(name, "\n".join(text), tuple(folders), quick=quick, entry="contraction", title=p.title)


class _Body:
    def __init__(self, p: Program, lanes: bool, tile, ask: bool):
        self.p, self.lanes, self.tile = p, lanes, tile
        self.types: list[str] = []
        self.once: list[str] = []
        self.each: list[str] = []
        e = p.expression
        # arguments that are worked on in scratch: turned; or lying a batch apart; or outputs that pass the caches by
        batched = [a for a in p.arguments if a.place is not None]
        if lanes:
            self.inside = [a.name for a in batched]
        else:
            self.inside = [a.name for a in batched if a.place]
        self.past = [] if lanes else [n for n in e.outputs if n not in e.updated and n not in self.inside and p.batch]
        # inputs that are asked for an entry ahead, where entries come from memory: a part at each of so many tiles
        given = (p.arrays[x] for x in e.inputs)
        self.asked = [a for a in given if a.place == 0 and a.size > 1] if ask and self.past else []
        self.tiles: list[str] = []
        own = [a.name for a in p.arrays.values() if a.kind != "argument"]
        shared = [n for n in own if p.arrays[n].kind == "shared"]
        self.places, self.room = places(p, [*(n for n in own if n not in shared), *self.inside, *self.past])
        self.shared_places, self.shared_room = places(p, shared)
        self.last = {name: k for k, s in enumerate(p.statements) for name in (s.out.name,)}

    # ---- one statement
    def statement(self, k: int, s: Statement, way: str) -> None:
        n = nest(self.p, s)
        if s.function == MIRROR:
            a = self.p.arrays[s.out.name]
            extent = [x for x in a.extents if x is not None][-1]
            wide = "W" if self.lanes and a.kind == "local" else "1"
            call = f"mirror<{a.size // extent**2}, {extent}, {wide}>(at_{n.names[1]}, at_{n.names[0]});"
            (self.once if self.p.once(s) else self.each).append(call)
            return
        lines = [f"{{ // {s}"]
        mode = {"along": "ALONG", "folded": "FOLDED", "lanes": "BATCH"}[
            way if not self.p.once(s) or way != "lanes" else "along"
        ]
        outer, row, column, partner = _levels(n, mode, WIDTH[self.p.dtype])
        scale = lambda place: self._scale(n.names[place]) if mode == "BATCH" else ""
        step = lambda place, loop: _times(loop.step[place] if loop else 0, scale(place))
        self.types.append(
            f"struct S{k} {{\n    static constexpr Mode MODE = {mode};\n"
            f"    static constexpr int ROWS = {row.extent if row else 1}, COLUMNS = {column.extent if column else 1};\n"
            f"    static constexpr bool ADD = {str(s.add).lower()};\n"
            f"    static constexpr bool MAY_OVERLAP = {str(not s.add and not s.function).lower()};\n"
            f"    static constexpr Extents TILE = {{{self.tile[0]}, {self.tile[1]}}};\n"
            f"    static constexpr int BREAK = {column.extent // partner.extent if partner else 0};\n"
            f"    static constexpr long jump = {partner.step[0] if partner else 0};\n"
            f"    static constexpr long row = {step(0, row)}, column = {step(0, column)};\n}};"
        )
        for depth, loop in enumerate(outer):
            lines.append(f"for (int x{depth} = 0; x{depth} < {loop.extent}; ++x{depth})")
        lines.append("{")
        for place, name in enumerate(n.names):
            moves = [f" + x{d} * ({step(place, loop)})" for d, loop in enumerate(outer) if loop.step[place]]
            kind = "scalar" if place == 0 else "const scalar"
            lines.append(f"{kind} *const f{place} = at_{name}{''.join(moves)};")
        if self._turns(n, mode, row, column):
            lines += self._ask(s, outer, "1")
            lines.append(f"turn<{row.extent}, {column.extent}>(f1, {column.step[1]}, f0, {row.step[0]});")
        else:
            lines += self._tiles(k, n, mode, outer, row, column, scale, step)
        lines.append("}\n}")
        (self.once if self.p.once(s) else self.each).append("\n".join(lines))
        if s.out.name in self.last and self.last[s.out.name] == k:
            self.each += self._leave(s.out.name)

    def _tiles(self, k: int, n: Nest, mode, outer, row, column, scale, step) -> list[str]:
        lines = [f"tiles<S{k}>([&](auto &s, int r, int c) __attribute__((always_inline)) {{"]
        lines += self._ask(n.statement, outer, f"number_of_tiles<S{k}>()")
        if n.statement.function:
            lines.append(self._map(n, mode, row, column, step))
        for m, q in enumerate(n.products) if not n.statement.function else ():
            if not q.factors:
                lines.append(f"add_number(s, {str(m == 0).lower()}, {q.number!r});")
                continue
            self._term(f"S{k}T{m}", n, q, mode, row, column, scale)
            lines.append(f"add<S{k}T{m}, {str(m == 0).lower()}>(s, r, c, {', '.join(f'f{f}' for f in q.factors)});")
        return [*lines, f"put<S{k}>(s, r, c, f0);\n}});"]

    @staticmethod
    def _turns(n: Nest, mode, row, column) -> bool:
        """Whether a statement does nothing but exchange two directions of its one factor."""
        if mode != "ALONG" or n.statement.function or n.statement.add or len(n.products) != 1 or not (row and column):
            return False
        (q,) = n.products
        return len(q.factors) == 1 and not q.sums and q.number == 1 and row.step[1] == 1 and column.step[1] > 1

    def _scale(self, name: str) -> str:
        array = self.p.arrays.get(name)
        return "W" if array and (array.kind == "local" or array.place is not None) else ""

    def _term(self, name: str, n: Nest, q: Product, mode, row, column, scale) -> None:
        def numbers(loop: Loop | None):
            return [_times(loop.step[f] if loop else 0, scale(f)) for f in q.factors]

        if mode == "ALONG":
            lane = [str(column.step[f]) if column else "0" for f in q.factors]
        elif mode == "FOLDED":
            lane = [str(q.sums[0].step[f]) for f in q.factors]
        else:
            lane = ["1" if scale(f) else "0" for f in q.factors]
        sums = q.sums or (Loop(1, (0,) * len(n.names)),)
        listed = lambda words: "{" + ", ".join(words) + "}"
        by_factor = listed([listed([_times(loop.step[f], scale(f)) for loop in sums]) for f in q.factors])
        many = len(q.factors)
        self.types.append(
            f"struct {name} {{\n    static constexpr int FACTORS = {many}, SUMS = {len(q.sums)}, STEP = "
            f"{'W' if mode == 'ALONG' else '1'};\n    static constexpr bool FOLD = {str(mode == 'FOLDED').lower()};\n"
            f"    static constexpr double number = {q.number!r};\n"
            f"    static constexpr int extent[] = {listed([str(loop.extent) for loop in sums])};\n"
            f"    static constexpr long row[] = {listed(numbers(row))}, column[] = {listed(numbers(column))},\n"
            f"                          lane[] = {listed(lane)}, sum[][{len(sums)}] = {by_factor};\n}};"
        )

    def _map(self, n: Nest, mode, row, column, step) -> str:
        """A function of the host's, on whole packs of which `lanes` numbers count."""
        values = []
        stride = "W" if mode == "ALONG" else "1"
        for f in n.products[0].factors:
            lane = (
                (str(column.step[f]) if column else "0") if mode == "ALONG" else "1" if self._scale(n.names[f]) else "0"
            )
            place = f"f{f} + (r + y) * ({step(f, row)}) + (c + z * {stride}) * ({step(f, column)})"
            values.append(f"vec(fetch<lanes_d, s.lanes, {lane}>({place}))")
        call = f"{n.statement.function}({', '.join(values)})"
        return (
            "for (int y = 0; y < s.rows; ++y) for (int z = 0; z < s.columns; ++z) {\n"
            f"    const vec v = {call};\n    memcpy(&s.at[y][z], &v.v, sizeof s.at[y][z]);\n}}"
        )

    def _ask(self, s: Statement, outer, tiles: str) -> list[str]:
        """At each tile of a statement a part of what the next entry will read is asked for."""
        if not self.asked or self.p.once(s):
            return []
        self.tiles.append(f"{math.prod(loop.extent for loop in outer)} * {tiles}")
        return ["if constexpr (PAST) ahead.ask();"]

    # ---- functions
    def _leave(self, name: str) -> list[str]:
        a = self.p.arrays[name]
        if name in self.inside and self.lanes:
            return [
                f"turn_out<{a.before}, {a.after}>(at_{name}, to_{name}, a.ld_{name}, a.step_{name}, count, a.past);"
            ]
        if name in self.inside:
            return [f"scatter<{a.before}, {a.after}>(at_{name}, to_{name}, a.ld_{name});"]
        if name in self.past:
            return [f"if constexpr (PAST) copy_past<{a.size} / W * W>(to_{name}, at_{name});"]
        return []

    def functions(self) -> list[str]:
        p, e = self.p, self.p.expression
        begin, ahead, shared = [], [], []
        for a in p.arguments:
            output = a.name in e.outputs
            kind = "scalar" if output else "const scalar"
            move = f" + b * a.step_{a.name}" if a.place is not None else ""
            base = f"({kind} *)a.at_{a.name}{move}"
            if a.name in self.inside:
                begin.append(f"{kind} *const to_{a.name} = {base};")
                begin.append(f"scalar *const at_{a.name} = scratch + {self._place(a.name)};")
                if not output or a.name in e.updated:
                    verb, more = ("turn_in", f"a.step_{a.name}, count, ") if self.lanes else ("gather", "")
                    begin.append(f"{verb}<{a.before}, {a.after}>(to_{a.name}, a.ld_{a.name}, {more}at_{a.name});")
            elif a.name in self.past:
                begin.append(f"scalar *const to_{a.name} = {base};")
                begin.append(f"scalar *const at_{a.name} = PAST ? scratch + {self._place(a.name)} : to_{a.name};")
            else:
                begin.append(f"{kind} *const at_{a.name} = {base};")
                if a.place is None and not output:
                    shared.append(f"const scalar *const at_{a.name} = (const scalar *)a.at_{a.name};")
            if a.mixed:
                for r in p.expression.references[a.name]:
                    if p.batch in r.indices:
                        place = r.indices.index(p.batch)
                        step = math.prod(x or 1 for x in a.extents[place + 1 :])
                        line = f"const scalar *const at_{a.name}_{place} = at_{a.name} + b * {step};"
                        if line not in begin:
                            begin.append(line)
        for a in p.arrays.values():
            if a.kind == "local":
                begin.append(f"scalar *const at_{a.name} = scratch + {self._place(a.name)};")
        if self.tiles:
            at = ", ".join(f"at_{a.name} + a.step_{a.name}" for a in self.asked)
            counts = ", ".join(str(a.size) for a in self.asked)
            ahead.append(f"Ahead<{' + '.join(self.tiles)}, {counts}> ahead = {{{{{at}}}}};")
            large = [x for x in self.past if p.arrays[x].size * np.dtype(p.dtype).itemsize >= PAGE]
            ahead += [f"if constexpr (PAST) pages<{p.arrays[x].size}>(to_{x} + a.step_{x});" for x in large]
        held = [f"scalar *const at_{name} = shared + {at};" for name, at in self.shared_places.items()]
        unused = "".join(f"(void)at_{a.name}; " for a in p.arrays.values())
        scale = " * W" if self.lanes else ""
        head = "long b, const long count, scalar *shared, scalar *scratch"
        out = [
            "static void once(const Arguments &a, scalar *shared) {\n    (void)a, (void)shared;\n"
            + "\n".join([*shared, *held, *self.once])
            + "\n}",
            f"template <bool PAST> __attribute__((noinline)) static void entry(const Arguments &a, {head}) {{\n"
            + "(void)count, (void)shared, (void)scratch, (void)b;\n"
            + "\n".join([*begin, *held, *ahead, unused, *self.each])
            + "\n}",
        ]
        group = "W" if self.lanes else "1"
        call = lambda past: f"entry<{past}>(a, b * {group}, n < {group} ? n : {group}, shared, scratch)"
        two = f"if (a.past) {call('true')};\n            else {call('false')};" if self.past else f"{call('false')};"
        count = f"(items + {group} - 1) / {group}" if p.batch else "items > 0"
        out.append(
            f"}}\nKERNEL(contraction, Arguments) {{\n    const Arguments a = *record;\n"
            f"    return over_batch<{self.shared_room} + {self.room}{scale}>({count}, threads, "
            "[&](long first, long last, scalar *shared) {\n"
            f"        scalar *const scratch = shared + {self.shared_room};\n        once(a, shared);\n"
            f"        for (long b = first; b < last; ++b) {{\n            const long n = items - b * {group};\n"
            f"            (void)n;\n            {two}\n        }}\n"
            "        if (a.past) end_of_streams();\n    });\n}\nnamespace {"
        )
        return out

    def _place(self, name: str) -> str:
        return f"{self.places[name]}" + (" * W" if self.lanes else "")


def _times(step: int, scale: str) -> str:
    return f"{step} * {scale}" if scale and step else str(step)


def broken(n: Nest, width: int) -> Loop | None:
    """A loop that the factors step through as through one with the last, which the output does not: where the last is
    no whole number of packs, lanes run on along both."""
    if n.statement.function or n.statement.add or len(n.loops) < 2 or not n.products:
        return None
    *others, last = n.loops
    if last.step[0] != 1 or last.extent < width or not last.extent % width:
        return None
    factors = [f for q in n.products for f in q.factors]
    fits = lambda loop: all(last.step[f] in (0, 1) and loop.step[f] == last.extent * last.step[f] for f in factors)
    return next((loop for loop in others if fits(loop)), None)


def _levels(n: Nest, mode: str, width: int):
    """(outer loops, loop of the rows, loop of the columns, the loop that is joined to the columns: see `broken`).
    Along: columns are the loop of the lanes, where there is one. Else rows and columns are the largest loops that spare
    loads of one factor, or of the other."""
    loops = list(n.loops)
    column = partner = None
    if mode == "ALONG":
        if loops and loops[-1].step[0] == 1:
            column, partner = loops.pop(), broken(n, width)
        if column and partner:
            loops.remove(partner)
            column = Loop(column.extent * partner.extent, column.step)
        kept = lambda loop: sum(loop.step[f] == 0 for q in n.products for f in q.factors if column and column.step[f])
    else:
        first = lambda loop: sum(loop.step[q.factors[0]] == 0 for q in n.products if len(q.factors) > 1)
        second = lambda loop: sum(loop.step[q.factors[-1]] == 0 for q in n.products if len(q.factors) > 1)
        kept = second
        if loops:
            column = max(loops, key=lambda loop: (first(loop) - second(loop), min(loop.extent, 12)))
            if len(loops) > 1 or not second(column):
                loops.remove(column)
            else:
                column = None
    side = lambda loop: len(loop.step) == 2 and loop.step[1] == 1  # of a copy, along which its factor lies
    row = max(loops, key=lambda loop: (side(loop), kept(loop), min(loop.extent, 12)), default=None)
    if row:
        loops.remove(row)
    if mode == "ALONG" and row and column and not partner and across(n, row, column, width):
        row, column = column, row
    return loops, row, column, partner


def across(n: Nest, row: Loop, column: Loop, width: int) -> bool:
    """Whether lanes had better go across the output's lines, where those are no whole number of packs."""
    if n.statement.function or n.statement.add or not n.products or not all(q.sums for q in n.products):
        return False
    steps_ = {row.step[f] for q in n.products for f in q.factors}
    if not {1} <= steps_ <= {0, 1} or column.extent < width or row.extent < width:
        return False
    turns = min(math.prod(loop.extent for loop in q.sums) for q in n.products)
    packs = lambda loop: -(-loop.extent // width)
    return packs(row) * column.extent * (turns + TURNING) < row.extent * packs(column) * (turns + 1)
