"""The text of blocks that have all orders of an entry's indices: each product is done once for all of them.

Products of all orders go on the units, and their sums into shared memory. Then the numbers of each order are added up
out of shared memory.
"""

from __future__ import annotations

import functools
import itertools
import math

from .plan import Loop, step_text, steps
from .render_units import digits, offset, pairs
from .stages.plan import Factors
from .text import Reference

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
        a, parts, step = plan.arrays[r.name], [], 1
        near = steps(r, a, plan.batch, far=True)
        for d in reversed(range(len(r.indices))):
            i = r.indices[d]
            if i == plan.batch:
                parts.append(f"{values[i]} * {f'(long){step}' if a.mixed else f'a.step_{r.name}'}")
            elif i in values:
                parts.append(f"{values[i]} * ({step_text(near[i], f'a.ld_{r.name}')})")
            step *= a.extents[d] or 1
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
        lines = []
        for k, order in enumerate(self.orders):
            same = []
            for other in self.orders[:k]:
                same.append("(" + " && ".join(f"{order[i]} == {other[i]}" for i in self.names) + ")")
            lines.append(f"const bool new{k} = !({' || '.join(same) or 'false'});")

            out = self.last.out
            loops = self.writer.loops(self.plan.own(self.last), [self.writer.access(out)])
            if len(loops) == 1 and loops[0].step == (1,):
                head = f"for (int x = me * 16; x < {self.plan.numbers(out)}; x += {self.team * 16})"
                lines.append(f"if (new{k}) {head} ask({self.place_of(out, order)} + x);")
        return lines

    # ---- products
    def _products(self) -> list[str]:
        """Products of all orders on the units, each once, and their sums into shared memory."""
        tile = _Tile(self)
        width, count = tile.width, len(self.orders)
        lines = [*tile.head()]
        lines.append(f"double acc[{count}][{width}][4];")
        lines.append(
            f"UNROLL for (int o = 0; o < {count}; ++o) UNROLL for (int t = 0; t < {width}; ++t) "
            "UNROLL for (int i = 0; i < 4; ++i) acc[o][t][i] = 0;"
        )

        for term in tile.terms:
            lines += self._product(tile, _Product(tile, term))
        for o, values in enumerate(self.orders):
            for t, i in itertools.product(range(width), range(4)):
                lines.append(self._keep(tile, o, values, t, i))
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
                base = f"{rows_at} + {tile.at(f, tile.row_loops, f'r{half}')}"
                lines += product.load(f, base, [f"fa[{x}][{h}]" for x in range(product.count)], 0, 1.0)
            for o in members:
                columns_at = self.place_of(g, self.orders[o])
                lines.append(f"{{ double fb[{tile.width}][{product.count}];")
                for t in range(tile.width):
                    base = f"{columns_at} + {tile.at(g, tile.column_loops, f'c{t}_')}"
                    targets = [f"fb[{t}][{x}]" for x in range(product.count)]
                    lines += product.load(g, base, targets, 1, product.term.number)
                    lines.append(f"multiply_add<{product.count}>(acc[{o}][{t}], fa, fb[{t}]);")
                lines.append("}")
            lines.append("}")
        return lines

    def _keep(self, tile: _Tile, o: int, values, t: int, i: int) -> str:
        """Number i of tile t of an order into shared memory: the sum over the orders that the local is a sum of."""
        plan = self.plan
        uses = plan.orbit.uses
        first = next(iter(uses))

        total = ""
        for use, number in uses.items():
            assigned = dict(zip(first, (values[x] for x in use)))
            other = self.number_of[tuple(assigned[x] for x in self.names)]
            mark = "+ " if total else ""
            if number != 1:
                mark = "- " if number == -1 else f"+ {number!r} * "
            total += f" {mark}acc[{other}][{t}][{i}]"

        half, second = "ab"[i // 2], i % 2
        tests = []
        if tile.m % 16:
            tests.append(f"m_{half} < {tile.m}")
        if tile.n % (8 * tile.width):
            tests.append(f"nn < {tile.n}")
        test = f"if ({' && '.join(tests)})" if tests else ""

        out = self.first.out
        find = " ".join(signed(tile.column_loops, "nn", "n"))
        place = f"{o * plan.room + self.local.at} + {tile.at(out, tile.row_loops, f'r{half}')}"
        place += f" + {tile.at(out, tile.column_loops, 'n')}"
        return (
            f"{{ const int nn = (chunk * {tile.width} + {t}) * 8 + {4 * second} + c; {test} {{ "
            f"{find} h_{self.local.name}[{place}] ={total}; }} }}"
        )

    # ---- sums
    def _sums(self) -> list[str]:
        """The numbers of each order, sums out of shared memory. Old numbers are read an order ahead."""
        plan, s = self.plan, self.last
        size = plan.numbers(s.out)
        count = -(-size // self.team)

        refs = [f for t in s.terms for f in t.factors] + [s.out]
        refs = list(dict.fromkeys(refs))
        accesses = {r: self.writer.access(r) for r in refs}
        loops = self.writer.loops(plan.own(s), list(accesses.values()))
        away = {r: offset(loops, "x", k, accesses[r]) for k, r in enumerate(refs)}
        split = " ".join(signed(loops, "x", "x"))

        def turns(body: str) -> str:
            """C++ of the body for all numbers of a thread."""
            if size % self.team:
                body = f"if (x < {size}) {{ {body} }}"
            head = f"for (int i = 0; i < {count}; ++i) {{ const int x = me + i * {self.team}; {split}"
            return f"UNROLL {head} {body} }}"

        def read(o: int) -> list[str]:
            """Old numbers of an order."""
            if not s.add or o == len(self.orders):
                return []
            body = turns(f"old{o}[i] = {self.place_of(s.out, self.orders[o])}[{away[s.out]}];")
            return [f"scalar old{o}[{count}];", f"if (new{o}) {body}"]

        lines = [*read(0), "__syncthreads();"]
        for o, values in enumerate(self.orders):
            lines += read(o + 1)
            total = f"old{o}[i]" if s.add else "0"
            for t in s.terms:
                words = [f"h_{self.local.name}[{o * plan.room + self.local.at} + {away[f]}]" for f in t.factors]
                signs = {-1: "-", 1: "+"}
                sign = signs.get(t.number, f"+ {t.number!r} *")
                total += f" {sign} {' * '.join(words)}"
            lines += [
                f"if (new{o}) {{",
                f"scalar *const to = {self.place_of(s.out, values)};",
                turns(f"leave(&to[{away[s.out]}], {total});") + "\n}",
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
        refs = list(dict.fromkeys(refs))
        self.accesses = {r: writer.access(r) for r in refs}
        self.place = {r: k for k, r in enumerate(refs)}
        order = list(self.accesses.values())
        self.row_loops, self.column_loops = writer.loops(rows, order), writer.loops(columns, order)

        self.m, self.n = plan.extent_of(rows), plan.extent_of(columns)
        self.width, self.warps = writer.how.warp.columns, writer.how.teams.warps
        self.tiles, self.chunks = -(-self.m // 16), -(-self.n // (8 * self.width))

    def at(self, r: Reference, loops, letter: str) -> str:
        return offset(loops, letter, self.place[r], self.accesses[r])

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


class _Product:
    """One product. count: steps of its sum; paired: factors of which two neighbours are read at once."""

    def __init__(self, tile: _Tile, term: Factors):
        self.tile, self.term = tile, term
        f, g = term.rows, term.columns
        self.loops: tuple[Loop, ...] = tile.writer.loops(term.sums, [tile.accesses[f], tile.accesses[g]])
        self.k = math.prod(loop.extent for loop in self.loops)
        sides = (tile.row_loops, tile.column_loops)
        self.paired = pairs(tile.writer, f, g, tile.accesses, self.loops, sides, tile.place)
        self.count = 2 * -(-self.k // 8) if self.paired else -(-self.k // 4)

    def load(self, r: Reference, base: str, targets: list[str], which: int, number: float) -> list[str]:
        """C++ that fills the targets, one a step, from a pointer."""
        vector = bool(self.paired) and r in self.paired
        inside = f"k < {self.k}" if self.k % (8 if self.paired else 4) else ""
        from_ = f"{base} + {offset(self.loops, 'k', which, self.tile.accesses[r])}"

        lines = []
        for step in range(0, self.count, 2 if vector else 1):
            k = f"{8 * (step // 2)} + 2 * c + {step % 2}" if self.paired else f"{4 * step} + c"
            parts = [f"const int k = {k}; (void)k;", *signed(self.loops, "k", "k")]
            filled = targets[step : step + 2] if vector else targets[step : step + 1]
            if vector:
                both = f"pair({from_}, {filled[0]}, {filled[1]});"
                parts.append(f"if ({inside}) {{ {both} }} else {filled[0]} = {filled[1]} = 0;" if inside else both)
            else:
                parts.append(f"{filled[0]} = {f'{inside} ? *({from_}) : 0' if inside else f'*({from_})'};")
            if number != 1:
                parts.append(" ".join(f"{x} *= {number!r};" for x in filled))
            lines.append("{ " + " ".join(parts) + " }")
        return lines
