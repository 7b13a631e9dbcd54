"""The text of blocks that have all orders of an entry's indices: each product is done once for all of them.

Products of all orders go on the units, and their sums into shared memory. Then the numbers of each order are added up
out of shared memory.
"""

from __future__ import annotations

import functools
import itertools

from .access import Sum, digits, side_by_side
from .expression import Reference
from .plan import references, step_text, steps
from .stages.plan import Factors

signed = functools.partial(digits, unsigned=False)  # with unsigned divisions the compiler spills more registers


def text(writer) -> list[str]:
    """The kernel."""
    return _Orbits(writer).text()


class _Orbits:
    """orders: {index: C++ of the value} of each order of the entry's values."""

    def __init__(self, writer):
        plan = self.plan = writer.plan
        self.writer, self.team, self.how = writer, writer.team, writer.how
        self.first, self.last = (step.statements[0] for step in plan.steps)
        self.local = plan.held[self.first.out.name]

        self.names = plan.orbit.names
        self.values = [f"y{k}" for k in range(len(self.names))]
        self.orders = [dict(zip(self.names, order)) for order in itertools.permutations(self.values)]
        self.number_of = {tuple(order[i] for i in self.names): k for k, order in enumerate(self.orders)}

    def text(self) -> list[str]:
        number, name = self.writer.number, self.local.name
        return [
            f"KERNEL(contraction, Arguments, {self.team}, 1) {{",
            "const int me = threadIdx.x, warp = me >> 5, row = (me & 31) >> 2, c = me & 3;",
            "if (blockIdx.x >= items) return;\nlong g = items - 1 - blockIdx.x;",
            *self._values(),
            f"{number} *const h_{name} = ({number} *)shared_memory;",
            *self._new(),
            *self._products(),
            *self._sums(),
            "}",
        ]

    def place_of(self, r: Reference, values: dict[str, str]) -> str:
        """C++ of a pointer to a reference where the entry's indices have these values."""
        plan = self.plan
        a, parts = plan.arrays[r.name], []
        near = steps(r, a, plan.batch, far=True)

        for d in reversed(range(len(r.indices))):
            i = r.indices[d]
            if i == plan.batch:
                step = f"(long){a.behind(d)}" if a.mixed else f"a.step_{r.name}"
                parts.append(f"{values[i]} * {step}")
            elif i in values:
                parts.append(f"{values[i]} * ({step_text(near[i], f'a.ld_{r.name}')})")

        kind = "scalar" if r.name in plan.program.expression.outputs else "const scalar"
        return f"(({kind} *)a.at_{r.name} + {' + '.join(parts) or '0'})"

    # ---- which values
    def _values(self) -> list[str]:
        """The g-th set of values, from the smallest up; blocks begin at the other end.

        Sets with equal values, which are less work, stand between the others: blocks fall out of step, so that some
        compute while others wait for memory. The smallest sets are mostly such: the last blocks are short.
        """
        n, lines = self.plan.orbit.extent, []
        for k, value in enumerate(self.values):
            sizes = ["1", f"({n} - {value})", f"({n} - {value}) * ({n + 1} - {value}) / 2"]
            size = sizes[len(self.values) - k - 1]
            lines.append(f"int {value} = {self.values[k - 1] if k else 0};")
            lines.append(f"while (g >= {size}) {{ g -= {size}; ++{value}; }}")

        return lines

    def _new(self) -> list[str]:
        """Whether an order of the values differs from those before it; its old numbers are asked for."""
        out = self.last.out
        in_a_row = side_by_side(self.writer.accesses([out]).loops(self.plan.own(self.last)))
        head = f"for (int x = me * 16; x < {self.plan.numbers(out)}; x += {self.team * 16})"

        lines = []
        for k, order in enumerate(self.orders):
            same = [self._equal(order, other) for other in self.orders[:k]]
            lines.append(f"const bool new{k} = !({' || '.join(same) or 'false'});")
            if in_a_row:
                lines.append(f"if (new{k}) {head} ask({self.place_of(out, order)} + x);")

        return lines

    def _equal(self, order: dict[str, str], other: dict[str, str]) -> str:
        """C++ of the test that two orders have the same values."""
        return "(" + " && ".join(f"{order[i]} == {other[i]}" for i in self.names) + ")"

    # ---- products
    def _products(self) -> list[str]:
        """Products of all orders on the units, each once, and their sums into shared memory."""
        tile = _Tile(self)
        width, count = tile.width, len(self.orders)
        lines = [
            *tile.head(),
            f"double acc[{count}][{width}][4];",
            f"UNROLL for (int o = 0; o < {count}; ++o) UNROLL for (int t = 0; t < {width}; ++t) "
            "UNROLL for (int i = 0; i < 4; ++i) acc[o][t][i] = 0;",
        ]

        for term in tile.terms:
            lines += self._product(tile, _Product(tile, term))
        for o, t, i in itertools.product(range(count), range(width), range(4)):
            lines.append(self._keep(tile, o, t, i))

        return [*lines, "}"]

    def _product(self, tile: _Tile, product: _Product) -> list[str]:
        """A product of all orders. Orders that read the same part of the rows' factor share it."""
        f, g = product.term.rows, product.term.columns
        parts: dict[str, list[int]] = {}
        for o, values in enumerate(self.orders):
            parts.setdefault(self.place_of(f, values), []).append(o)

        lines = []
        for rows_at, members in parts.items():
            lines.append(f"{{ double fa[{product.count}][2];")
            for h, half in enumerate("ab"):
                base = f"{rows_at} + {tile.accesses.at(f, tile.row_loops, f'r{half}')}"
                lines += product.load(f, base, f"fa[%d][{h}]", 1.0)

            for o in members:
                columns_at = self.place_of(g, self.orders[o])
                lines.append(f"{{ double fb[{tile.width}][{product.count}];")
                for t in range(tile.width):
                    base = f"{columns_at} + {tile.accesses.at(g, tile.column_loops, f'c{t}_')}"
                    lines += product.load(g, base, f"fb[{t}][%d]", product.term.number)
                    lines.append(f"multiply_add<{product.count}>(acc[{o}][{t}], fa, fb[{t}]);")

                lines.append("}")

            lines.append("}")

        return lines

    def _keep(self, tile: _Tile, o: int, t: int, i: int) -> str:
        """Number i of tile t of an order into shared memory: the sum over the orders that the local is a sum of."""
        half, second = "ab"[i // 2], i % 2
        tests = []
        if tile.m % 16:
            tests.append(f"m_{half} < {tile.m}")
        if tile.n % (8 * tile.width):
            tests.append(f"nn < {tile.n}")

        test = f"if ({' && '.join(tests)})" if tests else ""

        out = self.first.out
        find = " ".join(signed(tile.column_loops, "nn", "n"))
        row = tile.accesses.at(out, tile.row_loops, f"r{half}")
        column = tile.accesses.at(out, tile.column_loops, "n")
        place = f"{o * self.plan.room + self.local.at} + {row} + {column}"

        return (
            f"{{ const int nn = (chunk * {tile.width} + {t}) * 8 + {4 * second} + c; {test} {{ "
            f"{find} h_{self.local.name}[{place}] ={self._total(o, f'[{t}][{i}]')}; }} }}"
        )

    def _total(self, o: int, number: str) -> str:
        """C++ of the local at an order: a sum of products at other orders. number: C++ that says which of a lane's."""
        uses = self.plan.orbit.uses
        first = next(iter(uses))

        total = ""
        for use, factor in uses.items():
            values = dict(zip(first, map(self.orders[o].get, use)))
            other = self.number_of[tuple(map(values.get, self.names))]
            mark = "+ " if total else ""
            if factor != 1:
                mark = "- " if factor == -1 else f"+ {factor!r} * "

            total += f" {mark}acc[{other}]{number}"

        return total

    # ---- sums
    def _sums(self) -> list[str]:
        """The numbers of each order, sums out of shared memory. Old numbers are read an order ahead."""
        s = self.last
        size = self.plan.numbers(s.out)
        count = -(-size // self.team)  # of a thread
        accesses = self.writer.accesses(references(s))
        loops = accesses.loops(self.plan.own(s))
        split = " ".join(signed(loops, "x", "x"))
        to = accesses.at(s.out, loops, "x")

        def turns(body: str) -> str:
            """C++ of the body for all numbers of a thread."""
            return f"UNROLL {self.writer.numbers_of_thread(size, split, body)}"

        def old(o: int) -> list[str]:
            """Old numbers of an order."""
            if not s.add or o == len(self.orders):
                return []
            body = turns(f"old{o}[i] = {self.place_of(s.out, self.orders[o])}[{to}];")
            return [f"scalar old{o}[{count}];", f"if (new{o}) {body}"]

        def total(o: int) -> str:
            """C++ of a number of an order."""
            text = f"old{o}[i]" if s.add else "0"
            begin = o * self.plan.room + self.local.at
            for t in s.terms:
                words = [f"h_{self.local.name}[{begin} + {accesses.at(f, loops, 'x')}]" for f in t.factors]
                sign = {-1: "-", 1: "+"}.get(t.number, f"+ {t.number!r} *")
                text += f" {sign} {' * '.join(words)}"

            return text

        lines = [*old(0), "__syncthreads();"]
        for o, values in enumerate(self.orders):
            lines += [
                *old(o + 1),
                f"if (new{o}) {{",
                f"scalar *const to = {self.place_of(s.out, values)};",
                turns(f"leave(&to[{to}], {total(o)});") + "\n}",
            ]

        return lines


class _Tile:
    """A warp's 16 rows of the products."""

    def __init__(self, orbits: _Orbits):
        writer, plan = orbits.writer, orbits.plan
        self.writer, self.s = writer, orbits.first
        _, rows, columns, self.terms = plan.layout(self.s)

        refs = [self.s.out]
        for term in self.terms:
            refs += [term.rows, term.columns]

        self.accesses = writer.accesses(refs)
        self.row_loops, self.column_loops = self.accesses.loops(rows), self.accesses.loops(columns)

        self.m, self.n = plan.extent_of(rows), plan.extent_of(columns)
        self.width, self.warps = writer.how.warp.columns, writer.how.teams.warps
        self.tiles, self.chunks = -(-self.m // 16), -(-self.n // (8 * self.width))

    def head(self) -> list[str]:
        """The loop over a warp's tiles, a lane's rows and columns."""
        lines = [
            f"UNROLL_BY(1) for (int job = warp; job < {self.tiles * self.chunks}; job += {self.warps}) {{",
            f"const int chunk = job % {self.chunks}, tile = job / {self.chunks}; (void)chunk;",
        ]

        for half, row in (("a", "row"), ("b", "row + 8")):
            lines.append(f"const int m_{half} = tile * 16 + {row}, m{half} = min(m_{half}, {self.m - 1});")
            lines += signed(self.row_loops, f"m{half}", f"r{half}")
        for t in range(self.width):
            column = f"(chunk * {self.width} + {t}) * 8 + column_of(row)"
            lines.append(f"const int n_{t} = min({column}, {self.n - 1}); (void)n_{t};")
            lines += signed(self.column_loops, f"n_{t}", f"c{t}_")

        return lines


class _Product(Sum):
    """A product as lanes read it from pointers."""

    def __init__(self, tile: _Tile, term: Factors):
        super().__init__(tile.writer, tile.accesses, term, (tile.row_loops, tile.column_loops))

    def load(self, r: Reference, base: str, target: str, number: float) -> list[str]:
        """C++ that reads a factor from a pointer. target: a register, with %d for the step."""
        at_once = self.strides(r)
        inside = f"k < {self.extent}" if self.extent % self.unit else ""
        from_ = f"{base} + {self.at(r)}"

        lines = []
        for step in range(0, self.count, at_once):
            to = [target % (step + x) for x in range(at_once)]
            read = self._pair(to, from_, inside) if at_once == 2 else self._single(to, from_, inside)
            parts = [f"const int k = {self.number(step)}; (void)k;", *signed(self.loops, "k", "k"), read]
            if number != 1:
                parts += [f"{x} *= {number!r};" for x in to]

            lines.append("{ " + " ".join(parts) + " }")

        return lines

    @staticmethod
    def _pair(to: list[str], from_: str, inside: str) -> str:
        """Two neighbours, read at once; zeros beyond the end."""
        first, second = to
        both = f"pair({from_}, {first}, {second});"
        return f"if ({inside}) {{ {both} }} else {first} = {second} = 0;" if inside else both

    @staticmethod
    def _single(to: list[str], from_: str, inside: str) -> str:
        """The expression of a single number; zero beyond the end."""
        return f"{to[0]} = {inside} ? *({from_}) : 0;" if inside else f"{to[0]} = *({from_});"
