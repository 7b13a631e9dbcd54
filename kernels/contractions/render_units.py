"""The text of products on the FP64 matrix units: what a warp does for 16 rows of a statement (see stages.py).

A lane reads its operands of the units directly from memory: its number of 16 rows, of 8 columns, of four values of the
sum. Columns of a tile are numbered so that the results of four lanes lie side by side. The results of a lane are then
also its operands of a second product that sums over them: they stay in registers.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from .access import Sum, digits
from .expression import Reference, Statement


class Side(NamedTuple):
    """A factor of a product, and how a lane reads its numbers."""

    r: Reference
    pointer: str
    bases: tuple[str, ...]  # names of where lines begin
    array: str  # of the numbers that are read: [step][line] of rows, [line][step] of columns
    rows: bool  # the rows' factor
    number: float  # that it is multiplied by

    def target(self, line: int, step: int) -> str:
        """C++ of the register for a number."""
        return f"{self.array}[{step}][{line}]" if self.rows else f"{self.array}[{line}][{step}]"


class Spot(NamedTuple):
    """A result of a lane: number `i` of its four numbers of a tile of eight columns."""

    tile: int
    i: int
    half: str  # "a" or "b": the row
    column: str  # C++ that finds the column
    indices: str  # C++ that finds the indices of the column
    test: str | None  # C++ of the test that the number exists; None: it does for no lane

    @property
    def first(self) -> int:
        """The first column of the four lanes that have such results."""
        return self.tile * 8 + 4 * (self.i % 2)

    def inside(self, body: str) -> str:
        """C++ of the body where the number exists."""
        return f"{{ {self.column} {self.test}{{ {self.indices} {body} }} }}"


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
        self.accesses = writer.accesses(plan.in_memory(s, given))
        self.row_loops, self.column_loops = self.accesses.loops(rows), self.accesses.loops(columns)
        self.other_loops = self.accesses.loops(others)

        # Tiles of 16 rows, chunks of columns.
        self.m, self.n, self.q = plan.extent_of(rows), plan.extent_of(columns), plan.extent_of(others)
        self.tiles, all_columns = -(-self.m // 16), -(-self.n // 8)
        self.width = min(all_columns, writer.how.warp.columns)
        self.chunks = -(-all_columns // self.width)
        self.jobs = self.tiles * self.q * self.chunks
        self.hoisted = plan.hoisted(s)

        # The sum of each product.
        sides = (self.row_loops, self.column_loops, self.other_loops)
        self.all_sums = [Sum(writer, self.accesses, term, sides, given) for term in self.terms]

    def at(self, r: Reference, loops, letter: str) -> str:
        """C++ of where a reference is read, at some turns and at the tile's others."""
        return f"{self.accesses.at(r, loops, letter)} + {self.accesses.at(r, self.other_loops, 'o')}"

    def fb(self, j: int) -> str:
        """The array with a lane's numbers of a columns' factor."""
        return self.once.get(j, f"fb{self.tag}{j}")

    # ---- what a lane reads for a product
    def row_side(self, j: int) -> Side:
        """The rows' factor of product j."""
        f = self.terms[j].rows
        return Side(f, self.accesses[f].pointer, (f"row_a_{j}", f"row_b_{j}"), "fa", True, 1.0)

    def column_side(self, j: int, array: str, suffix: str, pointer: str) -> Side:
        """The columns' factor of product j. suffix: of the names of where columns begin."""
        bases = tuple(f"column{t}{suffix}" for t in range(self.width))
        return Side(self.terms[j].columns, pointer, bases, array, False, self.terms[j].number)

    def usual_columns(self, j: int, array: str = "") -> Side:
        """The columns' factor with the usual names."""
        pointer = self.accesses[self.terms[j].columns].pointer
        return self.column_side(j, array or self.fb(j), f"_{j}", pointer)

    def load(self, j: int, side: Side, first: str, count: int, guarded: bool) -> list[str]:
        """`count` steps of the sum from number `first`. guarded: the last numbers may lie beyond the end."""
        k_sum = self.all_sums[j]
        at_once = k_sum.strides(side.r)
        inside = f"k < {k_sum.extent}" if guarded else ""
        read = self._pair if at_once == 2 else self._single

        lines = []
        for step in range(0, count, at_once):
            parts = [f"const int k = {first} + {k_sum.number(step)};"] if k_sum.loops or inside else []
            parts += digits(k_sum.loops, "k", "k")
            for line, base in enumerate(side.bases):
                parts.append(read(side, line, step, f"{side.pointer} + {base} + {k_sum.at(side.r)}", inside))

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
        """The expression of a single number."""
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
        g = self.terms[j].columns
        find = " ".join(digits(self.column_loops, "n", "n"))
        where = self.accesses.at(g, self.column_loops, "n") if self.hoisted else self.at(g, self.column_loops, "n")

        lines = []
        for t, name in enumerate(side.bases):
            number = f"min(({chunk} * {self.width} + {t}) * 8 + column_of(row), {self.n - 1})"
            lines.append(f"long {name}; {{ const int n = {number}; (void)n; {find} {name} = {where}; }}")

        return lines

    # ---- what all tiles share
    def hoist(self, once: dict[tuple, list[str]]) -> list[str]:
        """The columns' factors that all tiles of a warp share.

        once: text of factors that are read at the kernel's beginning, for all steps that read the same.
        """
        lines: list[str] = []
        for j, term in enumerate(self.terms if self.hoisted else []):
            g, usual = term.columns, self.usual_columns(j)
            if not self._may_be_once(g):
                lines += self.columns_held(j, usual)
                continue

            # Equal factors have equal texts, names apart. A factor that does not depend on the entry is the same
            # wherever it is read; else the pointer tells factors apart.
            everywhere = not {self.plan.batch, *self.plan.entry} & set(g.indices)
            key = tuple(self.columns_held(j, self.column_side(j, "", "", g.name if everywhere else usual.pointer)))
            if key not in once:
                once[key] = self.columns_held(j, self.usual_columns(j, f"once{len(once)}"))

            self.once[j] = f"once{list(once).index(key)}"
            self.writer.of_once.add(g)

        return lines

    def _may_be_once(self, g: Reference) -> bool:
        """Whether a columns' factor may be read at the kernel's beginning: no step writes or copies it."""
        never_changes = g.name not in self.plan.written and not self.accesses[g].shared
        return self.writer.how.warp.once and never_changes and not self.plan.walk

    def columns_held(self, j: int, side: Side) -> list[str]:
        """A lane's numbers of a columns' factor, of all steps."""
        k_sum = self.all_sums[j]
        loads = self.load(j, side, "0", k_sum.count, guarded=k_sum.extent % k_sum.unit != 0)

        return [
            f"{self.writer.sum} {side.array}[{self.width}][{k_sum.count}];",
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

            for j, term in enumerate(self.terms):
                if term.rows in self.accesses:
                    from_ = self.at(term.rows, self.row_loops, f"r{half}")
                    lines.append(f"const long row_{half}_{j} = {from_}; (void)row_{half}_{j};")

        return lines

    def spots(self) -> list[Spot]:
        """A lane's four numbers of each tile of columns."""
        indices = " ".join(digits(self.column_loops, "nn", "n"))
        found = []
        for t, i in itertools.product(range(self.width), range(4)):
            half, second = "ab"[i // 2], i % 2
            column = f"const int nn = (chunk * {self.width} + {t}) * 8 + {4 * second} + c; (void)nn; "
            found.append(Spot(t, i, half, column, indices, self._test(half, t * 8 + 4 * second)))

        return found

    def _test(self, half: str, first: int) -> str | None:
        """C++ of the test that a lane's row and column exist. first: the first column of four lanes."""
        if self.chunks == 1 and first >= self.n:
            return None

        tests = [f"m_{half} < {self.m}"] if self.m % 16 else []
        if self.chunks > 1 or first + 3 >= self.n:
            tests.append(f"nn < {self.n}")

        return f"if ({' && '.join(tests)}) " if tests else ""

    def number(self, r: Reference, half: str) -> str:
        """C++ of the number of an array at a lane's result."""
        row = self.accesses.at(r, self.row_loops, f"r{half}")
        return f"{self.accesses[r].pointer}[{row} + {self.at(r, self.column_loops, 'n')}]"

    def start(self) -> list[str]:
        """Loads of the numbers with which the sums begin and by which they are multiplied, ahead of the products."""
        scale, width = self.scale, self.width
        unit = self.writer.sum
        lines = [f"{unit} acc[{width}][4];" + (f" {unit} scaled[{width}][4];" if scale else "")]

        for x in self.spots():
            place = f"[{x.tile}][{x.i}]"
            lines.append(f"acc{place} = 0;" + (f" scaled{place} = 0;" if scale else ""))
            if x.test is None:
                continue

            begin = self._begin(x.half)
            loads = [f"acc{place} = {' + '.join(begin)};"] if begin else []
            if scale:
                loads.append(f"scaled{place} = {self.number(scale, x.half)};")
            if loads:
                lines.append(x.inside(" ".join(loads)))

        return lines

    def _begin(self, half: str) -> list[str]:
        """C++ of the old number, and of the terms that are no matrix product."""
        begin = [self.number(self.s.out, half)] if self.s.add and not self.scale else []
        for t in self.points:
            words = [self.number(f, half) for f in t.factors]
            if t.number != 1 or not words:
                words.insert(0, self.writer.constant(t.number))
            begin.append(" * ".join(words))

        return begin

    def value(self, x: Spot) -> str:
        """C++ of a result."""
        total = f"acc[{x.tile}][{x.i}]"
        if not self.scale:
            return total

        old = f"{self.number(self.s.out, x.half)} + " if self.s.add else ""
        return f"{old}scaled[{x.tile}][{x.i}] * {total}"

    def leave(self) -> list[str]:
        """The results to where they belong."""
        lines = []
        for x in self.spots():
            if x.test is not None:
                store = self.writer.store(self.s.out, self.number(self.s.out, x.half), self.value(x))
                lines.append(x.inside(store))

        return lines

    def give(self) -> list[str]:
        """The numbers stay with their lanes; numbers beyond the last column are zero."""
        lines = []
        for x in self.spots():
            value = "0" if x.test is None else self.value(x)
            if x.test is not None and x.first + 3 >= self.n:
                value = f"{x.first} + c < {self.n} ? {value} : 0"
            lines.append(f"given[{x.tile}][{x.i}] = {value};")

        return lines

    # ---- products
    def sums(self) -> list[str]:
        """All products, some steps of the sum at a time."""
        lines = []
        for j, k_sum in enumerate(self.all_sums):
            lines.append("{")
            if not self.hoisted:
                lines += self.column_bases(j, "chunk", self.usual_columns(j))

            # Whole batches of steps, then what is left over.
            k, size = k_sum.extent, k_sum.count
            per = size if self.hoisted else min(size, self.writer.how.warp.batch)
            full = k // (4 * per) if per < size or k % (4 * per) == 0 else 0
            done = full * 4 * per

            if full > 1:
                lines.append(f"UNROLL_BY(1) for (int k0 = 0; k0 < {done}; k0 += {4 * per}) {{")
                lines += [*self.product(j, "k0", per, False), "}"]
            elif full == 1:
                lines += ["{", *self.product(j, "0", per, False), "}"]

            left = k - done
            if left:
                lines += ["{", *self.product(j, str(done), k_sum.steps(left), left % k_sum.unit != 0), "}"]

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
