"""The text of products on the FP64 matrix units: what a warp does for 16 rows of a statement (see stages.py).

A lane reads what the units want from it straight from where it lies: its number of 16 rows, of 8 columns, of four
values of the sum. Columns of a tile are numbered so that the results of four lanes lie side by side. So a lane's
results are also what it has to give where a second product sums over them: they stay in registers.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

from .plan import FAR, Loop, step_text, steps
from .text import Reference, Statement


@dataclasses.dataclass
class Access:
    """Where a reference is read: a pointer to what the team has, and the step of each index."""

    pointer: str
    steps: dict[str, int]
    ld: str
    shared: bool


def digits(loops: tuple[Loop, ...], number: str, letter: str, unsigned: bool = True) -> list[str]:
    """`number` as a turn of each loop: letter0, letter1, ..., the slowest first. unsigned: divisions by powers of two
    are so, which take fewer steps."""
    lines, size = [], 1
    for d in reversed(range(len(loops))):
        extent = loops[d].extent
        u = "u" if unsigned and size & (size - 1) == extent & (extent - 1) == 0 else ""
        over, rest = f" / {size}{u}" if size > 1 else "", f" % {extent}{u}" if d else ""
        lines.append(f"const int {letter}{d} = {f'unsigned({number})' if u else f'({number})'}{over}{rest};")
        size *= extent
    return lines


def offset(loops: tuple[Loop, ...], letter: str, k: int, access: Access) -> str:
    """Of array k of the loops, at those turns."""
    parts = []
    for d, loop in enumerate(loops):
        if loop.step[k]:
            step = step_text(loop.step[k], access.ld)
            parts.append(f"{letter}{d}" if step == "1" else f"{letter}{d} * ({step})")
    return " + ".join(parts) or "0"


def pairs(writer, f: Reference, g: Reference, accesses, loops, sides, place):
    """Factors of which a lane reads two neighbours at once: arguments whose sum runs along memory, and whose rows
    begin at even places. None: the sum is read number by number. sides: loops over rows, columns and others."""
    if not writer.how.warp.paired or len(loops) != 1 or loops[0].extent % 2:
        return None
    plan, found = writer.plan, []
    for k, r in enumerate((f, g)):
        x = accesses[r]
        if x.shared or loops[0].step[k] != 1:
            continue
        near = [loop.step[place[r]] for group in sides for loop in group]
        a = plan.arrays[r.name]
        near += [s for i, s in steps(r, a, plan.batch, far=True).items() if i in plan.entry]
        if a.mixed and plan.batch in r.indices:
            near.append(plan.batch_step(r))
        if all((s % FAR) % 2 == 0 for s in near):
            found.append(r)
    writer.even |= {r.name for r in found}
    return found or None


class Side(NamedTuple):
    """One factor of a product, as a lane reads it."""

    r: Reference
    pointer: str
    bases: tuple[str, ...]  # names of where lines begin
    array: str  # of what is read: [step][line] of rows, [line][step] of columns
    rows: bool  # the rows' factor
    loop: int  # place of the factor in the loops over the sum
    number: float  # that it is multiplied by

    def target(self, line: int, step: int) -> str:
        """C++ of a number that was read."""
        return f"{self.array}[{step}][{line}]" if self.rows else f"{self.array}[{line}][{step}]"


class Tile:
    """Text of one statement's products, for a warp's 16 rows.

    tag: makes names differ from another statement's in the same loop. given: the factor of the rows is what the
    statement before has left in registers.
    """

    def __init__(self, writer, s: Statement, step, tag: str = "", given: bool = False):
        plan = self.plan = writer.plan
        self.writer, self.s, self.tag, self.given = writer, s, tag, given
        others, rows, columns, self.terms = plan.layout(s)
        rows = plan.order(rows, step)
        self.scale = plan.scale(s)
        self.points = plan.points(s, self.terms)
        self.once: dict[int, str] = {}  # names of columns' factors that are held for all steps

        # Where everything lies that is not in registers.
        refs = self._references()
        self.accesses = {r: writer.access(r) for r in refs}
        self.place = {r: k for k, r in enumerate(refs)}
        order = list(self.accesses.values())
        self.row_loops, self.column_loops = writer.loops(rows, order), writer.loops(columns, order)
        self.other_loops = writer.loops(others, order)

        # Tiles of 16 rows, chunks of columns.
        self.m, self.n, self.q = plan.extent_of(rows), plan.extent_of(columns), plan.extent_of(others)
        self.tiles, all_columns = -(-self.m // 16), -(-self.n // 8)
        self.width = min(all_columns, writer.how.warp.columns)
        self.chunks = -(-all_columns // self.width)
        self.jobs = self.tiles * self.q * self.chunks
        self.hoisted = plan.hoisted(s)

        # The sums of each product.
        sides = (self.row_loops, self.column_loops, self.other_loops)
        self.k_loops, self.extents, self.paired, self.count = [], [], [], []
        for _, f, g, sums in self.terms:
            loops = writer.loops(sums, [self.accesses[r] for r in (f, g) if r in self.accesses])
            k = math.prod(loop.extent for loop in loops)
            paired = None if given else pairs(writer, f, g, self.accesses, loops, sides, self.place)
            self.k_loops.append(loops)
            self.extents.append(k)
            self.paired.append(paired)
            self.count.append(2 * -(-k // 8) if paired else -(-k // 4))

    def _references(self) -> list[Reference]:
        """What is read or written in memory."""
        refs = [self.s.out]
        for _, f, g, _ in self.terms:
            refs += [f, g]
        for t in self.points:
            refs += t.factors
        if self.scale:
            refs.append(self.scale)

        inner = {self.terms[0][1]} if self.given else set()
        if self.s.out.name in self.plan.inner:
            inner.add(self.s.out)
        return [r for r in dict.fromkeys(refs) if r not in inner]

    def at(self, r: Reference, loops, letter: str) -> str:
        return offset(loops, letter, self.place[r], self.accesses[r])

    def fb(self, j: int) -> str:
        """The array with a lane's numbers of a columns' factor."""
        return self.once.get(j, f"fb{self.tag}{j}")

    # ---- what a lane reads for a product
    def row_side(self, j: int) -> Side:
        f = self.terms[j][1]
        return Side(f, self.accesses[f].pointer, (f"row_a_{j}", f"row_b_{j}"), "fa", True, 0, 1.0)

    def column_side(self, j: int, array: str, suffix: str, pointer: str) -> Side:
        """suffix: of the names of where columns begin."""
        bases = tuple(f"column{t}{suffix}" for t in range(self.width))
        return Side(self.terms[j][2], pointer, bases, array, False, 0 if self.given else 1, self.terms[j][0])

    def usual_columns(self, j: int, array: str = "") -> Side:
        pointer = self.accesses[self.terms[j][2]].pointer
        return self.column_side(j, array or self.fb(j), f"_{j}", pointer)

    def load(self, j: int, side: Side, first: str, count: int, guarded: bool) -> list[str]:
        """`count` steps of the sum from number `first`. guarded: the last ones may lie beyond the end."""
        loops, paired = self.k_loops[j], self.paired[j]
        vector = side.r in (paired or [])
        inside = f"k < {self.extents[j]}" if guarded else ""
        away = offset(loops, "k", side.loop, self.accesses[side.r])

        lines = []
        for step in range(0, count, 2 if vector else 1):
            k = f"{first} + {8 * (step // 2)} + 2 * c + {step % 2}" if paired else f"{first} + {4 * step} + c"
            parts = [f"const int k = {k};"] if loops or inside else []
            parts += digits(loops, "k", "k")
            for line, base in enumerate(side.bases):
                from_ = f"{side.pointer} + {base} + {away}"
                if vector:
                    parts.append(self._pair(side, line, step, from_, inside))
                else:
                    parts.append(self._single(side, line, step, from_, inside))
            lines.append("{ " + " ".join(parts) + " }")
        return lines

    def _pair(self, side: Side, line: int, step: int, from_: str, inside: str) -> str:
        """Two neighbours, read at once."""
        to, after = side.target(line, step), side.target(line, step + 1)
        load = f"pair({from_}, {to}, {after});"
        if side.number != 1:
            number = self.writer.constant(side.number)
            load += f" {to} *= {number}, {after} *= {number};"
        return f"if ({inside}) {{ {load} }} else {to} = {after} = 0;" if inside else load

    def _single(self, side: Side, line: int, step: int, from_: str, inside: str) -> str:
        """One number."""
        read = f"*({from_})"
        if side.number == -1:
            read = f"-{read}"
        elif side.number != 1:
            read = f"{self.writer.constant(side.number)} * {read}"
        return f"{side.target(line, step)} = {f'{inside} ? {read} : 0' if inside else read};"

    def load_given(self, count: int) -> list[str]:
        """Numbers that the statement before has left in registers."""
        lines = []
        for step in range(count):
            t, second = divmod(step, 2)
            lines.append(f"fa[{step}][0] = given[{t}][{second}]; fa[{step}][1] = given[{t}][{second + 2}];")
        return lines

    def column_bases(self, j: int, chunk: str, side: Side) -> list[str]:
        """Where the columns of a tile begin."""
        g, lines = self.terms[j][2], []
        find = " ".join(digits(self.column_loops, "n", "n"))
        where = self.at(g, self.column_loops, "n")
        if not self.hoisted:
            where += f" + {self.at(g, self.other_loops, 'o')}"
        for t, name in enumerate(side.bases):
            number = f"min(({chunk} * {self.width} + {t}) * 8 + column_of(row), {self.n - 1})"
            lines.append(f"long {name}; {{ const int n = {number}; (void)n; {find} {name} = {where}; }}")
        return lines

    # ---- what all tiles share
    def hoist(self, once: dict[tuple, list[str]]) -> list[str]:
        """The columns' factors that all tiles of a warp share.

        once: text of factors that are read at the kernel's beginning, for all steps that read the same.
        """
        lines = []
        for j, (_, _, g, _) in enumerate(self.terms if self.hoisted else []):
            usual = self.usual_columns(j)
            if (
                not self.writer.how.warp.once
                or self.accesses[g].shared
                or g.name in self.plan.written
                or self.plan.walk
            ):
                lines += self.columns_held(j, usual)
                continue

            # Equal factors have equal texts, names apart. What does not depend on the entry is the same wherever it is
            # read; else the pointer tells factors apart.
            everywhere = not {self.plan.batch, *self.plan.entry} & set(g.indices)
            key = tuple(self.columns_held(j, self.column_side(j, "", "", g.name if everywhere else usual.pointer)))
            if key not in once:
                once[key] = self.columns_held(j, self.usual_columns(j, f"once{len(once)}"))
            self.once[j] = f"once{list(once).index(key)}"
            self.writer.of_once.add(g)
        return lines

    def columns_held(self, j: int, side: Side) -> list[str]:
        """A lane's numbers of a columns' factor, of all steps."""
        guarded = self.extents[j] % (8 if self.paired[j] else 4) != 0
        loads = self.load(j, side, "0", self.count[j], guarded)
        return [
            f"{self.writer.sum} {side.array}[{self.width}][{self.count[j]}];",
            "{ " + "\n".join([*self.column_bases(j, "0", side), *loads]) + " }",
        ]

    # ---- the parts of a tile
    def rows(self) -> list[str]:
        """Where the tile's rows begin."""
        lines = digits(self.other_loops, "other", "o")
        for half in "ab":
            bound = f"min(m_{half}, {self.m - 1})" if self.m % 16 else f"m_{half}"
            lines.append(f"const int m{half} = {bound}; (void)m{half};")
            lines += digits(self.row_loops, f"m{half}", f"r{half}")
            for j, (_, f, _, _) in enumerate(self.terms):
                if f in self.accesses:
                    from_ = f"{self.at(f, self.row_loops, f'r{half}')} + {self.at(f, self.other_loops, 'o')}"
                    lines.append(f"const long row_{half}_{j} = {from_}; (void)row_{half}_{j};")
        return lines

    def spots(self):
        """Of a lane's four numbers of each tile of columns: (tile, number, half, what finds the column and its indices,
        the test that it exists); None for the test where no lane's does."""
        for t in range(self.width):
            for i in range(4):
                half, second = "ab"[i // 2], i % 2
                first_column = t * 8 + 4 * second
                if self.chunks == 1 and first_column >= self.n:
                    yield t, i, half, ("", ""), None
                    continue
                tests = [f"m_{half} < {self.m}"] if self.m % 16 else []
                if self.chunks > 1 or first_column + 3 >= self.n:
                    tests.append(f"nn < {self.n}")
                head = f"const int nn = (chunk * {self.width} + {t}) * 8 + {4 * second} + c; (void)nn; "
                find = " ".join(digits(self.column_loops, "nn", "n"))
                yield t, i, half, (head, find), f"if ({' && '.join(tests)}) " if tests else ""

    def spot(self, r: Reference, half: str) -> str:
        return (
            f"{self.accesses[r].pointer}[{self.at(r, self.row_loops, f'r{half}')} + "
            f"{self.at(r, self.column_loops, 'n')} + {self.at(r, self.other_loops, 'o')}]"
        )

    def start(self) -> list[str]:
        """What the sums begin with, and what they will be multiplied by: asked for before the products."""
        s, scale, width = self.s, self.scale, self.width
        unit = self.writer.sum
        lines = [f"{unit} acc[{width}][4];" + (f" {unit} scaled[{width}][4];" if scale else "")]
        for t, i, half, find, test in self.spots():
            lines.append(f"acc[{t}][{i}] = 0;" + (f" scaled[{t}][{i}] = 0;" if scale else ""))
            if test is None:
                continue
            begin = [self.spot(s.out, half)] if s.add and not scale else []
            for p in self.points:
                number = [self.writer.constant(p.number)] if p.number != 1 or not p.factors else []
                begin.append(" * ".join([*number, *(self.spot(f, half) for f in p.factors)]))
            loads = [f"acc[{t}][{i}] = {' + '.join(begin)};"] if begin else []
            loads += [f"scaled[{t}][{i}] = {self.spot(scale, half)};"] if scale else []
            if loads:
                lines.append(self.inside(find, test, " ".join(loads)))
        return lines

    @staticmethod
    def inside(find: tuple[str, str], test: str, body: str) -> str:
        """The body where the test holds; find: the column's number, and its indices."""
        number, indices = find
        return f"{{ {number} {test}{{ {indices} {body} }} }}"

    def value(self, t: int, i: int, half: str) -> str:
        if not self.scale:
            return f"acc[{t}][{i}]"
        return f"{f'{self.spot(self.s.out, half)} + ' if self.s.add else ''}scaled[{t}][{i}] * acc[{t}][{i}]"

    def leave(self) -> list[str]:
        """The results to where they belong."""
        lines = []
        for t, i, half, find, test in self.spots():
            if test is not None:
                store = self.writer.store(self.s.out, self.spot(self.s.out, half), self.value(t, i, half))
                lines.append(self.inside(find, test, store))
        return lines

    def give(self) -> list[str]:
        """The numbers stay with their lanes; those beyond the last column are zero."""
        lines = []
        for t, i, half, _, test in self.spots():
            first = t * 8 + 4 * (i % 2)
            value = "0"
            if test is not None:
                value = self.value(t, i, half)
                if first + 3 >= self.n:
                    value = f"{first} + c < {self.n} ? {value} : 0"
            lines.append(f"given[{t}][{i}] = {value};")
        return lines

    # ---- products
    def sums(self) -> list[str]:
        """All products, some steps of the sum at a time."""
        lines = []
        for j, (k, size) in enumerate(zip(self.extents, self.count)):
            lines.append("{")
            if not self.hoisted:
                lines += self.column_bases(j, "chunk", self.usual_columns(j))

            # Whole batches of steps, then what is left over.
            per = size if self.hoisted else min(size, self.writer.how.warp.batch)
            full = k // (4 * per) if per < size or k % (4 * per) == 0 else 0
            if full > 1:
                lines.append(f"UNROLL_BY(1) for (int k0 = 0; k0 < {full * 4 * per}; k0 += {4 * per}) {{")
                lines += [*self.product(j, "k0", per, False), "}"]
            elif full == 1:
                lines += ["{", *self.product(j, "0", per, False), "}"]

            left, unit = k - full * 4 * per, 8 if self.paired[j] else 4
            if left:
                count = (2 if self.paired[j] else 1) * -(-left // unit)
                lines += ["{", *self.product(j, str(full * 4 * per), count, left % unit != 0), "}"]
            lines.append("}")
        return lines

    def product(self, j: int, first: str, count: int, guarded: bool) -> list[str]:
        """`count` steps of a product from number `first` of the sum."""
        fb, unit = self.fb(j), self.writer.sum
        lines = [f"{unit} fa[{count}][2];"]
        if not self.hoisted:
            lines.append(f"{unit} {fb}[{self.width}][{count}];")

        lines += self.load_given(count) if self.given else self.load(j, self.row_side(j), first, count, guarded)
        if not self.hoisted:
            lines += self.load(j, self.usual_columns(j), first, count, guarded)

        lines.append(f"UNROLL for (int t = 0; t < {self.width}; ++t) multiply_add<{count}>(acc[t], fa, {fb}[t]);")
        return lines
