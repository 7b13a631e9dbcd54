"""Tensor programs for CUDA: which loop of a statement goes to blocks, threads, registers; around what threads.h has.

flat    a thread for one number of the output, or for some neighbours, loops over the sums
sums    some lanes of a warp for one number of the output, each with its part of the sums
team    threads of a block share an entry and its locals, one statement after the other
lines   team, where a thread holds a line of its factor in registers and multiplies it by a constant matrix
tiles   a block for a tile of one product's output, both factors in shared memory; "slices" is a tile of one row, whose
        second factor is read where it is
Matrix units and rings of bulk copies are further organisations: a name here, its levels, a template in threads.h.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from ..engine.backend.base import Shape, Source
from ..engine.backend.record import record, structure
from . import outer, render_lines, render_stages, stages
from .organisations import price_of
from .plan import FAR, MIRROR, Loop, Nest, Product, Program, nest, places, pointers, step_text

UNIT = "rough accesses"
SHARED = 96 * 1024  # bytes of a team's arrays; above, they lie in global memory
LINE, MATRIX = 32, 1024  # most numbers of a line in registers, of a matrix whose product is unrolled
RESIDENT = 4  # blocks a multiprocessor, where teams have arrays in global memory


@dataclasses.dataclass(frozen=True)
class Threads:
    """An organisation. threads: of a block. entries: of the batch in a block of teams. tile: rows, columns and sums of
    a block's tile. lanes: for one number. near: numbers side by side that are read or written at once. jam: of the loop
    before the last, turns of a thread."""

    name: str
    threads: int
    entries: int = 1
    tile: tuple[int, int, int] = (0, 0, 0)
    lanes: int = 1
    near: int = 1
    jam: int = 1

    def __str__(self):
        told = f"{self.threads} threads" + (f", {self.entries} entries" if self.entries > 1 else "")
        told += (f", {self.lanes} lanes" if self.lanes > 1 else "") + (
            f", {self.near} at once" if self.near > 1 else ""
        )
        told += f", {self.jam} turns" if self.jam > 1 else ""
        return f"{self.name} ({told}{', tile ' + ' x '.join(map(str, self.tile)) if any(self.tile) else ''})"


KINDS: dict[str, type] = dict.fromkeys(("flat", "sums", "team", "lines", "tiles", "slices"), Threads)
KINDS |= dict.fromkeys(("stages", "stays", "orbits"), stages.Staged) | outer.KINDS

# ---- which can serve ------------------------------------------------------------------------------------------------


def nests(p: Program) -> list[Nest]:
    """A nest of loops for each statement."""
    return [nest(p, s, far=True) for s in p.statements]


def matrix_line(n: Nest, q: Product, p: Program):
    """(matrix, line, the output's loop) where a product is a matrix without the batch index times lines; else None."""
    if n.statement.function or len(q.factors) != 2 or len(q.sums) != 1:
        return None
    for matrix, other in (q.factors, q.factors[::-1]):
        array = p.arrays.get(n.names[matrix])
        own = [loop for loop in n.loops if loop.step[matrix]]
        if (
            not array
            or array.mixed
            or (p.batch and (array.place is not None or array.kind == "local"))
            or len(own) != 1
        ):
            continue
        out, k = own[0], q.sums[0]
        small = k.extent <= LINE and out.extent * k.extent <= MATRIX
        if small and not out.step[other] and k.step[other] and k.step[matrix] and not p.once(n.statement):
            return matrix, other, out
    return None


def tile_loops(n: Nest):
    """(rows, columns) where one product has loops that only its first, and only its second factor have."""
    if len(n.products) != 1 or len(n.products[0].factors) != 2 or n.statement.function or not n.products[0].sums:
        return None
    first, second = n.products[0].factors
    rows = [loop for loop in n.loops if not loop.step[second]]
    columns = [loop for loop in n.loops if loop.step[second] and not loop.step[first]]
    return (rows, columns) if rows and columns else None


def choices(p: Program) -> list[tuple]:
    """Organisations that can serve, with the model's price, the best first."""
    all_nests = nests(p)
    work = sum(
        n.size * math.prod(loop.extent for loop in q.sums) * max(len(q.factors), 1)
        for n in all_nests
        for q in n.products
    )
    alone = all(a.kind == "argument" for a in p.arrays.values()) and not set(p.expression.symmetric)
    read = {f.name for s in p.statements for t in s.terms for f in t.factors}
    found: list[tuple] = []
    if alone and not read & set(p.expression.outputs):
        mixed = any(a.mixed for a in p.arrays.values())
        wide = max((v for v in (2, 4) if not mixed and neighbours(all_nests, v, p.dtype)), default=1)
        found.append((work * price_of("flat"), Threads("flat", 256, near=wide)))
        if len(all_nests) == 1 and summed(all_nests[0]):
            how = lanes_for(all_nests[0], p.dtype)
            found.append((work * price_of("sums"), dataclasses.replace(how, near=1) if mixed else how))
        loops = tile_loops(all_nests[0]) if len(all_nests) == 1 else None
        if loops:
            rows, columns = (math.prod(loop.extent for loop in part) for part in loops)
            waste = lambda x, t: -(-x // t) * t / x
            edges = waste(rows, 16) * waste(columns, 16)
            found.append((work * price_of("tiles") * edges, Threads("tiles", 256, 1, (16, 16, 16))))
            threads = min(256, -(-columns // 32) * 32)
            price = work * price_of("slices") * waste(columns, threads)
            found.append((price, Threads("slices", threads, 1, (1, threads, 32))))
    most = min(256, -(-max(n.size for n in all_nests) // 32) * 32)
    found.append((work * price_of("team"), Threads("team", most * max(1, 128 // most), max(1, 128 // most))))
    lines = [matrix_line(n, q, p) for n in all_nests for q in n.products]
    if any(lines):
        numbers = [
            n.size // matrix_line(n, q, p)[2].extent for n in all_nests for q in n.products if matrix_line(n, q, p)
        ]
        team = min(256, max(numbers))
        entries = max(1, 128 // team)
        how = Threads("lines", team * entries, entries)
        if team_bytes(p, how) <= SHARED:
            saved = sum(x is not None for x in lines) / len(lines)
            found.append((work * (price_of("team") - price_of("lines") * saved), how))
    for use, staged in stages.choices(p):
        summed_up = any(q.sums for n in all_nests for q in n.products)
        kind = "unsummed" if not summed_up else staged.name if use > 0.15 else "idle"
        found.append((work * price_of(kind), staged))
    found += outer.choices(p, "threads", min(price for price, _ in found))
    return sorted(found, key=lambda f: f[0])


def team_bytes(p: Program, how: Threads) -> int:
    """Of a block's arrays; lines want them in shared memory."""
    return _Teams(p, how).bytes


def neighbours(all_nests, v: int, dtype: str) -> bool:
    """Whether v numbers of the output, at most 16 bytes, lie side by side, in every row."""
    n = all_nests[0]
    return (
        len(all_nests) == 1
        and not n.statement.function
        and v * np.dtype(dtype).itemsize <= 16
        and bool(n.loops)
        and n.loops[-1].step[0] == 1
        and n.loops[-1].extent % v == 0
        and all(loop.step[0] % FAR % v == 0 for loop in n.loops[:-1])
    )


def summed(n: Nest) -> bool:
    """Whether every product has a sum that may be spread over lanes."""
    return not n.statement.function and all(_size(q.sums) >= 4 for q in n.products) and bool(n.products)


def lanes_for(n: Nest, dtype: str) -> Threads:
    """Two loads a lane, of 16 bytes where the sums run along memory."""
    v = 16 // np.dtype(dtype).itemsize
    near = v if all(_along(n, q, v) for q in n.products) else 1
    longest = max(_size(q.sums) for q in n.products)
    lanes = 2
    while lanes < 32 and lanes * near * 2 < longest:
        lanes *= 2
    return Threads("sums", 256, lanes=lanes, near=near)


def _along(n: Nest, q: Product, v: int) -> bool:
    """Whether v neighbours of a product's sum may be read at once from its factors."""
    others = [step for f in q.factors for loop in n.loops for step in (loop.step[f],)]
    return (
        len(q.sums) == 1
        and q.sums[0].extent % v == 0
        and all(q.sums[0].step[f] == 1 for f in q.factors)
        and all(step % FAR % v == 0 for step in others)
    )


# ---- text -----------------------------------------------------------------------------------------------------------


def members(p: Program) -> str:
    """Of the record of arguments: address, step and row length of each array."""
    words = [f"at_{a.name}:address step_{a.name}:whole ld_{a.name}:whole" for a in p.arguments]
    return " ".join([*words, "arena:address n:whole"])


def render(p: Program, how, headers=(), folders=(), quick: bool = False) -> Source:
    """The source of a program; its kernel `contraction` takes the record of `members`."""
    if isinstance(how, outer.Outer):
        return outer.source(p, how, "threads", quick)
    if isinstance(how, stages.Staged):
        return render_stages.render(p, how, members(p), headers, folders, quick)
    make = {"flat": _flat, "sums": _sums, "tiles": _tiles, "slices": _tiles}.get(
        how.name, lambda p, how: _Teams(p, how).text()
    )
    text = [
        *(["#define FRAME_SINGLE"] if p.dtype == "float32" else []),
        '#include "contractions/threads.h"',
        *(f'#include "{h}"' for h in headers),
        structure("Arguments", members(p)),
        *make(p, how),
        "",
    ]
    name = f"tensor-{how.name}"
    return Source(name, "\n".join(text), tuple(folders), quick=quick, entry="contraction", title=p.title)


def unable(p: Program, how) -> str:
    """What an organisation wants of a program that does not have it; "" where it serves."""
    try:
        if isinstance(how, stages.Staged):
            stages.Stages(p, how)
    except stages.Unable as reason:
        return str(reason)
    return ""


def stand_ins(p: Program, how) -> list:
    """The organisation, and those that take its place for arrays that do not lie as it needs."""
    if isinstance(how, stages.Staged):
        return [how, how.singly] if how.paired else [how]
    if isinstance(how, Threads) and how.near > 1:
        return [how, dataclasses.replace(how, near=1)]
    return [how]


def launch(plan, arrays, values, n: int):
    """run() of a bound plan: constants filled in, scratch allocated, items counted."""
    p, how, backend = plan.program, plan.how, plan.backend
    if isinstance(how, stages.Staged):
        return render_stages.launch(plan, arrays, values, n, members(p))
    if how.near > 1 and any(
        values[f"at_{x}"] % 16 or values[f"step_{x}"] % how.near or values[f"ld_{x}"] % how.near
        for x in _at_once(p, how)
    ):
        how = dataclasses.replace(how, near=1)
    module = backend.compile(plan.render(p, how))
    keep = list(arrays.values())
    values = {key: x for key, x in values.items() if key != "past"}
    shape, items = Shape(how.threads), n
    if how.name == "flat":
        items = n * (max(x.size for x in nests(p)) // how.near // (how.jam if how.near > 1 else 1))
    elif how.name == "sums":
        items = n * nests(p)[0].size * how.lanes
    elif how.name in ("tiles", "slices"):
        shape, items = Shape(how.threads, 1, tile_bytes(p, how)), n * _blocks(nests(p)[0], how)
    else:
        body = _Teams(p, how)
        shape = Shape(how.threads, how.entries, body.bytes if not body.arena else body.fixed)
        if body.arena:
            shape = dataclasses.replace(shape, resident=RESIDENT)
            pieces = RESIDENT * getattr(backend, "multiprocessors", 1)
            arena = backend.empty((pieces * body.arena,), plan.dtype)
            keep.append(arena)
            values["arena"] = backend.address(arena)
        render_lines.fill(module, plan, body.constant, arrays)
    held = record(members(p), n=n, **values)
    return functools.partial(module.bind("contraction", shape, held, keep=keep), items)


def _at_once(p: Program, how: Threads) -> set[str]:
    """Arrays of which neighbours are read or written at once."""
    (n,) = nests(p)
    names = [r.name for r in (n.statement.out, *(f for t in n.statement.terms for f in t.factors))]
    if how.name == "sums":
        return set(names[1:])
    return {names[0], *(names[f] for q in n.products for f in q.factors if _near_at_once(n, q, f, how.near))}


def _ld(n: Nest, place: int) -> str:
    return f"a.ld_{n.names[place]}"


def _split(loops, number: str, names) -> list[str]:
    """int names[d] of each loop, from the number of an element."""
    lines, size = [], 1
    for loop, name in zip(reversed(loops), reversed(names)):
        over = f" / {size}" if size > 1 else ""
        size *= loop.extent
        lines.append(f"const int {name} = {number}{over} % {loop.extent};")
    return lines


def _offset(n: Nest, place: int, loops, names) -> str:
    parts = [
        f"{name} * ({step_text(loop.step[place], _ld(n, place))})"
        for loop, name in zip(loops, names)
        if loop.step[place]
    ]
    return " + ".join(parts) or "0"


def number_text(q: Product) -> str:
    """C++ of a product's number."""
    return f"scalar({q.number!r})"


def element(n: Nest, at: str) -> list[str]:
    """The statement's number `at` of its output: sums in a register, then one store."""
    names = [f"x{d}" for d in range(len(n.loops))]
    lines = [f"// {n.statement}", *_split(n.loops, at, names)]
    where = lambda place: f"at_{n.names[place]}[{_offset(n, place, n.loops, names)}]"
    if n.statement.function:
        values = ", ".join(where(f) for f in n.products[0].factors)
        return [*lines, f"{where(0)} = {n.statement.function}({values});"]
    lines.append("scalar sum = 0;")
    for q in n.products:
        turns = [f"k{d}" for d in range(len(q.sums))]
        lines += [f"for (int {k} = 0; {k} < {loop.extent}; ++{k})" for k, loop in zip(turns, q.sums)]
        factors = [f"at_{n.names[f]}[{_offset(n, f, (*n.loops, *q.sums), (*names, *turns))}]" for f in q.factors]
        words = [*([number_text(q)] if abs(q.number) != 1 or not factors else []), *factors]
        lines.append(f"    sum {'-' if q.number == -1 and factors else '+'}= {' * '.join(words)};")
    lines.append(f"scalar &to = {where(0)};\nto = {'to + ' if n.statement.add else ''}sum;")
    return lines


def _block(lines) -> str:
    return "{\n" + "\n".join(lines) + "\n}"


def _sums(p: Program, how: Threads) -> list[str]:
    """Lanes of a warp share the sums of a number of the output."""
    (n,), w, v = nests(p), how.lanes, how.near
    names = [f"x{d}" for d in range(len(n.loops))]
    lines = [
        f"KERNEL(contraction, Arguments, {how.threads}) {{",
        "const long thread = blockIdx.x * (long)blockDim.x + threadIdx.x;",
        f"const bool on = thread < items;\nconst long item = (on ? thread : items - 1) / {w};",
        f"const int lane = threadIdx.x % {w};",
        f"const long b = item / {n.size};\nconst int x = int(item % {n.size});\n(void)b, (void)x;",
        *pointers(p, "b"),
        f"// {n.statement}",
        *_split(n.loops, "x", names),
        "scalar sum = 0;",
    ]
    for q in n.products:
        many = _size(q.sums)
        turns = [f"k{d}" for d in range(len(q.sums))]
        where = [f"at_{n.names[f]} + {_offset(n, f, n.loops, names)}" for f in q.factors]
        tail = f" if (k < {many})" if many % (w * v) else ""
        lines.append(
            f"UNROLL_BY(4) for (int i = 0; i < {-(-many // (w * v))}; ++i) {{ const int k = (i * {w} + lane) * {v};"
        )
        number = "" if abs(q.number) == 1 else f"{number_text(q)} * "
        sign = "-" if q.number == -1 else "+"
        if v > 1:
            loads = " ".join(f"const Near<{v}> f{j} = *(const Near<{v}> *)({at} + k);" for j, at in enumerate(where))
            product = " * ".join(f"f{j}.v[s]" for j in range(len(where)))
            lines.append(f"{tail} {{ {loads} UNROLL for (int s = 0; s < {v}; ++s) sum {sign}= {number}{product}; }} }}")
        else:
            product = " * ".join(f"({at})[{_offset(n, f, q.sums, turns)}]" for f, at in zip(q.factors, where))
            lines.append(f"{tail} {{ {' '.join(_split(q.sums, 'k', turns))} sum {sign}= {number}{product}; }} }}")
    lines += [
        f"sum = over_lanes<{w}>(sum);",
        f"if (on && lane == 0) {{ scalar &to = at_{n.names[0]}[{_offset(n, 0, n.loops, names)}];",
        f"to = {'to + ' if n.statement.add else ''}sum; }}",
        "}",
    ]
    return lines


def _near(n: Nest, v: int, jam: int) -> list[str]:
    """The statement's numbers `x * v` and those beside it, for `jam` turns of the loop before, which share what they
    read alike. All old values are asked for before the first is written."""
    names = [f"x{d}" for d in range(len(n.loops))]
    *outer, last = n.loops
    short = (*outer, Loop(last.extent // v, tuple(v * s for s in last.step)))
    lines = [f"// {n.statement}", f"Near<{v}> sums[{jam}];"]
    turns_ = f"UNROLL for (int turn = 0; turn < {jam}; ++turn) {{"
    if jam > 1:
        before = outer[-1]
        lines += _split(
            (*outer[:-1], before._replace(extent=before.extent // jam), short[-1]),
            "x",
            [*names[:-2], "first", names[-1]],
        )
        turns_ += f" const int {names[-2]} = first * {jam} + turn;"
    else:
        lines += _split(short, "x", names)
    to = f"(Near<{v}> *)(at_{n.names[0]} + {_offset(n, 0, short, names)})"
    fresh = f"UNROLL for (int s = 0; s < {v}; ++s) sums[turn].v[s] = 0;"
    lines += [turns_, f"sums[turn] = *{to};" if n.statement.add else fresh, "}"]
    for q in n.products:
        turns = [f"k{d}" for d in range(len(q.sums))]
        lines += [f"for (int {k} = 0; {k} < {loop.extent}; ++{k})" for k, loop in zip(turns, q.sums)]
        loads, words = [], []
        for j, f in enumerate(q.factors):
            at = f"at_{n.names[f]} + {_offset(n, f, (*short, *q.sums), (*names, *turns))}"
            if last.step[f] == 0:
                loads.append(f"const scalar f{j} = *({at});")
                words.append(f"f{j}")
            elif _near_at_once(n, q, f, v):
                loads.append(f"const Near<{v}> f{j} = *(const Near<{v}> *)({at});")
                words.append(f"f{j}.v[s]")
            else:
                loads.append(f"const scalar *const f{j} = {at};")
                words.append(f"f{j}[s * ({step_text(last.step[f], _ld(n, f))})]")
        words = [*([number_text(q)] if abs(q.number) != 1 or not words else []), *words]
        sign = "-" if q.number == -1 and q.factors else "+"
        one = f"UNROLL for (int s = 0; s < {v}; ++s) sums[turn].v[s] {sign}= {' * '.join(words)};"
        lines += [turns_, *loads, one, "}"]
    return [*lines, turns_, f"*{to} = sums[turn];", "}"]


def _near_at_once(n: Nest, q: Product, f: int, v: int) -> bool:
    """Whether v neighbours of a factor are read at once for as many of the output."""
    *outer, last = n.loops
    return last.step[f] == 1 and all(loop.step[f] % FAR % v == 0 for loop in (*outer, *q.sums))


def _flat(p: Program, how: Threads) -> list[str]:
    all_nests = nests(p)
    if how.near > 1:
        size = all_nests[0].size // how.near // how.jam
        return [
            f"KERNEL(contraction, Arguments, {how.threads}) {{",
            "const long item = blockIdx.x * (long)blockDim.x + threadIdx.x;\nif (item >= items) return;",
            f"const long b = item / {size};\nconst int x = int(item % {size});\n(void)b;",
            *pointers(p, "b"),
            *_near(all_nests[0], how.near, how.jam),
            "}",
        ]
    most = max(n.size for n in all_nests)
    out = p.arrays[p.expression.outputs[0]]
    spread = (
        "const long b = item % a.n;\nconst int x = int(item / a.n);"
        if out.place is not None and out.place == len(out.extents) - 1
        else f"const long b = item / {most};\nconst int x = int(item % {most});"
    )
    return [
        f"KERNEL(contraction, Arguments, {how.threads}) {{",
        "const long item = blockIdx.x * (long)blockDim.x + threadIdx.x;\nif (item >= items) return;",
        spread,
        "(void)b;",
        *pointers(p, "b"),
        *(f"if (x < {n.size}) {_block(element(n, 'x'))}" for n in all_nests),
        "}",
    ]


# ---- tiles ----------------------------------------------------------------------------------------------------------


def _parts(n: Nest):
    """(other loops, rows, columns, sums) of a tile's statement."""
    rows, columns = tile_loops(n) or ([], [])
    return [loop for loop in n.loops if loop not in rows and loop not in columns], rows, columns, n.products[0].sums


def _size(loops) -> int:
    return math.prod(loop.extent for loop in loops)


def _blocks(n: Nest, how: Threads) -> int:
    others, rows, columns, _ = _parts(n)
    return _size(others) * -(-_size(rows) // how.tile[0]) * -(-_size(columns) // how.tile[1])


def tile_bytes(p: Program, how: Threads) -> int:
    """Shared memory of a block by tiles [bytes]."""
    m, c, k = how.tile
    return (m + (c if how.name == "tiles" else 0)) * (k + 1) * np.dtype(p.dtype).itemsize


def _tiles(p: Program, how: Threads) -> list[str]:
    n = nests(p)[0]
    others, rows, columns, sums = _parts(n)
    (m, c, k), q = how.tile, n.products[0]
    first, second = q.factors
    row_tiles, column_tiles = -(-_size(rows) // m), -(-_size(columns) // c)
    name = lambda loops, letter: [f"{letter}{d}" for d in range(len(loops))]

    def at(loops, letter, number, place):
        """An offset as a function of a number: (int) -> long."""
        lines = _split(loops, "i", name(loops, letter))
        where = _offset(n, place, loops, name(loops, letter))
        return f"const auto {number} = [&](int i) -> long {{ (void)i; {' '.join(lines)} return {where}; }};"

    many = _size(sums)
    lines = [
        f"KERNEL(contraction, Arguments, {how.threads}) {{",
        "const long block = blockIdx.x;\n(void)items;",
        f"const long b = block / {_blocks(n, how)};",
        f"const int in = int(block % {_blocks(n, how)}), part = in / {row_tiles * column_tiles};",
        f"const int row0 = in / {column_tiles} % {row_tiles} * {m}, column0 = in % {column_tiles} * {c};",
        "(void)b, (void)part;",
        *pointers(p, "b"),
        *_split(others, "part", name(others, "h")),
        *(
            f"{'scalar' if place == 0 else 'const scalar'} *const f{place} = at_{n.names[place]} + "
            f"{_offset(n, place, others, name(others, 'h'))};"
            for place in (0, first, second)
        ),
        at(rows, "r", "row_first", first),
        at(rows, "r", "row_out", 0),
        at(columns, "c", "column_second", second),
        at(columns, "c", "column_out", 0),
        at(sums, "k", "sum_first", first),
        at(sums, "k", "sum_second", second),
        f"scalar *const left = (scalar *)shared_memory;  // {m} x {k + 1}",
        f"const int me = threadIdx.x, r = me / {c}, c = me % {c};",
        f"const bool mine = row0 + r < {_size(rows)} && column0 + c < {_size(columns)};",
        "scalar sum = 0;",
        f"for (int k0 = 0; k0 < {many}; k0 += {k}) {{",
        f"for (int x = me; x < {m * k}; x += {how.threads}) {{",
        f"const int i = row0 + x / {k}, s = k0 + x % {k};",
        f"left[x / {k} * {k + 1} + x % {k}] = i < {_size(rows)} && s < {many} ? "
        f"f{first}[row_first(i) + sum_first(s)] : 0;",
        "}",
    ]
    if how.name == "tiles":
        lines += [
            f"scalar *const right = left + {m * (k + 1)};  // {c} x {k + 1}",
            f"for (int x = me; x < {c * k}; x += {how.threads}) {{",
            f"const int i = column0 + x / {k}, s = k0 + x % {k};",
            f"right[x / {k} * {k + 1} + x % {k}] = i < {_size(columns)} && s < {many} ? "
            f"f{second}[column_second(i) + sum_second(s)] : 0;",
            "}",
        ]
        value = f"right[c * {k + 1} + s]"
    else:
        value = f"f{second}[column_second(column0 + c) + sum_second(k0 + s)]"
    lines += [
        "__syncthreads();",
        f"const int left_over = {many} - k0;",
        f"if (mine) for (int s = 0; s < {k} && s < left_over; ++s) sum += left[r * {k + 1} + s] * {value};",
        "__syncthreads();\n}",
        f"if (mine) {{ scalar &to = f0[row_out(row0 + r) + column_out(column0 + c)]; sum *= {number_text(q)};",
        f"to = {'to + ' if n.statement.add else ''}sum; }}\n}}",
    ]
    return lines


# ---- teams and lines ------------------------------------------------------------------------------------------------


class _Teams:
    """Text of `team` and `lines`. bytes: of shared memory a block; arena: numbers a block in global memory, where that
    is too much; constant: arguments in constant memory."""

    def __init__(self, p: Program, how: Threads):
        self.p, self.how, self.nests = p, how, nests(p)
        lines = how.name == "lines"
        self.product = {
            (k, m): matrix_line(n, q, p) if lines else None
            for k, n in enumerate(self.nests)
            for m, q in enumerate(n.products)
        }
        used = [self.nests[k].names[found[0]] for (k, _), found in self.product.items() if found]
        size = np.dtype(p.dtype).itemsize
        declared = [a for a in p.arguments if a.name in used and a.name in p.expression.constant]
        self.constant = [a.name for a in declared] if sum(a.size for a in declared) * size <= stages.CONSTANT else []
        self.matrices = [a.name for a in p.arguments if a.name in used and a.name not in self.constant]
        # what is read along several lines, or made of several products, is staged in shared memory
        read = [self.nests[k].names[found[1]] for (k, _), found in self.product.items() if found]
        batched = {a.name for a in p.arguments if a.place is not None or not p.batch}
        self.staged = [x for x in p.expression.inputs if read.count(x) > 1 and x in batched and not p.arrays[x].mixed]
        if lines:
            split = {n.statement.out.name for n in self.nests if self._split_up(n)}
            self.staged += [x for x in p.expression.outputs if x in split]
        own = [
            a.name for a in p.arrays.values() if a.kind == "local" or (a.kind == "argument" and a.name in self.staged)
        ]
        self.places, room = places(p, own, 2, p.expression.outputs)
        shared = [a.name for a in p.arrays.values() if a.kind == "shared"] + self.matrices
        self.shared_places, self.fixed = places(dataclasses.replace(p, statements=()), shared, 2) if shared else ({}, 0)
        self.fixed *= size
        self.bytes, self.room = self.fixed + room * how.entries * size, room
        self.arena = room * how.entries if self.bytes > SHARED else 0

    def _split_up(self, n: Nest) -> bool:
        """Whether a statement's products are added one after the other."""
        k = self.nests.index(n)
        return len(n.products) > 1 and any(self.product[k, m] for m in range(len(n.products)))

    def text(self) -> list[str]:
        p, how, e = self.p, self.how, self.p.expression
        team = how.threads // how.entries
        lines = [
            *render_lines.declared(p, self.constant),
            f"KERNEL(contraction, Arguments, {how.threads}) {{",
            "scalar *const fixed = (scalar *)shared_memory;\n(void)fixed;",
            *(f"scalar *const at_{x}_ = fixed + {at};" for x, at in self.shared_places.items() if x in self.matrices),
            *(
                f"scalar *const at_{x} = fixed + {at};"
                for x, at in self.shared_places.items()
                if x not in self.matrices
            ),
        ]
        size = np.dtype(p.dtype).itemsize
        room = f"(scalar *)a.arena + blockIdx.x * {self.arena}L" if self.arena else f"fixed + {self.fixed // size}"
        whole_block = lambda count: f"for (int x = threadIdx.x; x < {count}; x += {how.threads})"
        for x in self.matrices:
            lines.append(f"{whole_block(p.arrays[x].size)} at_{x}_[x] = ((const scalar *)a.at_{x})[x];")
        once = [n for n in self.nests if p.once(n.statement)]
        for n in once:
            pointer = [line for line in pointers(p, "0L") if "scalar" in line]
            if n.statement.function == MIRROR:
                lines.append(_block([*pointer, self._mirror(n, "int(threadIdx.x)", how.threads)]))
            else:
                lines.append(_block([*pointer, f"{whole_block(n.size)} {_block(element(n, 'x'))}"]))
            lines.append("__syncthreads();")
        lines += [
            f"const int slot = threadIdx.x / {team}, me = threadIdx.x % {team};",
            f"scalar *const own = {room} + slot * {self.room};\n(void)own;",
            f"for (long g = blockIdx.x; g * {how.entries} < items; g += gridDim.x) {{",
            f"const long b = g * {how.entries} + slot;\nconst bool on = b < items;\n(void)on;",
            "__syncthreads();",
        ]
        for line in pointers(p, "b"):
            for x in self.staged:
                line = line.replace(f"at_{x} =", f"to_{x} =").replace(f"(void)at_{x};", f"(void)to_{x};")
            lines.append(line)
        lines += [f"scalar *const at_{x} = own + {at};" for x, at in self.places.items()]
        given = [x for x in self.staged if x in e.inputs]
        for x in given:
            lines.append(self._copy(x, team, f"at_{x}[x] = to_{x}[%s];"))
        if given or self.matrices:
            lines.append("__syncthreads();")
        for k, n in enumerate(self.nests):
            if not p.once(n.statement):
                lines += [*self._statement(k, n, team), "__syncthreads();"]
        last = {s.out.name: s for s in p.statements}
        for x in self.staged:
            if x in last:
                old = f"to_{x}[%s] + " if x in e.updated else ""
                lines.append(self._copy(x, team, f"to_{x}[%s] = {old}at_{x}[x];"))
        return [*lines, "}\n}"]

    def _copy(self, x: str, team: int, assignment: str) -> str:
        a = self.p.arrays[x]
        place = f"x / {a.after} * a.ld_{x} + x % {a.after}" if a.place else "x"
        body = assignment.replace("%s", place)
        return f"if (on) for (int x = me; x < {a.size}; x += {team}) {body}"

    def _mirror(self, n: Nest, me: str, team: int) -> str:
        a = self.p.arrays[n.statement.out.name]
        extent = [x for x in a.extents if x is not None][-1]
        return f"mirror<{a.size // extent**2}, {extent}>(at_{n.names[1]}, at_{n.names[0]}, {me}, {team});"

    def _statement(self, k: int, n: Nest, team: int) -> list[str]:
        """Threads of a team over the output's numbers, or over lines; then a barrier."""
        near = lambda loops: tuple(self._near(n, loop) for loop in loops)
        n = dataclasses.replace(
            n,
            statement=n.statement._replace(add=n.statement.add and not self._fresh(k, n)),
            loops=near(n.loops),
            products=tuple(q._replace(sums=near(q.sums)) for q in n.products),
        )
        if n.statement.function == MIRROR:
            return [f"if (on) {self._mirror(n, 'me', team)}"]
        if not any(self.product[k, m] for m in range(len(n.products))):
            return [f"if (on) for (int x = me; x < {n.size}; x += {team}) {_block(element(n, 'x'))}"]
        lines, first = [], True
        for m, q in enumerate(n.products):
            if not first:
                lines.append("__syncthreads();")
            add = not first or n.statement.add
            found = self.product[k, m]
            if found:
                lines += self._lines(k, m, n, q, team, add)
            else:
                alone = dataclasses.replace(n, products=(q,), statement=n.statement._replace(add=add))
                lines.append(f"if (on) for (int x = me; x < {n.size}; x += {team}) {_block(element(alone, 'x'))}")
            first = False
        return lines

    def _fresh(self, k: int, n: Nest) -> bool:
        """Whether this is the first statement about a staged output: what is there is not yet the old value."""
        name = n.statement.out.name
        return name in self.staged and not any(o.statement.out.name == name for o in self.nests[:k])

    def _near(self, n: Nest, loop: Loop) -> Loop:
        """Steps within a staged copy, whose parts lie side by side."""
        step = []
        for name, s in zip(n.names, loop.step):
            far, near = divmod(s, FAR)
            step.append(far * self.p.arrays[name].after + near if name in self.staged else s)
        return Loop(loop.extent, tuple(step))

    def _lines(self, k, m, n: Nest, q: Product, team, add) -> list[str]:
        matrix, other, out = self.product[k, m]  # type: ignore[misc]
        place = next(d for d, loop in enumerate(self.nests[k].loops) if loop == out)
        out = n.loops[place]
        rest = [loop for d, loop in enumerate(n.loops) if d != place]
        names = [f"x{d}" for d in range(len(rest))]
        name = n.names[matrix]
        if name in self.constant:
            held = f"constant_{name} + {(k + m) % render_lines.COPIES * self.p.arrays[name].size}"
        else:
            held = f"at_{name}_" if name in self.matrices else f"at_{name}"
        step = lambda loop, at: step_text(loop.step[at], _ld(n, at))
        sums = q.sums[0]
        body = [
            f"// {n.statement}",
            *_split(rest, "x", names),
            f"line<{out.extent}, {sums.extent}, {out.step[matrix]}, {sums.step[matrix]}, {str(add).lower()}>({held}, "
            f"at_{n.names[other]} + {_offset(n, other, rest, names)}, {step(sums, other)}, "
            f"at_{n.names[0]} + {_offset(n, 0, rest, names)}, {step(out, 0)}, {q.number!r});",
        ]
        return [f"if (on) for (int x = me; x < {_size(rest)}; x += {team}) {_block(body)}"]
