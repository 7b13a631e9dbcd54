"""The text of products by threads (see stages.py): a thread has a row of a product in registers, the matrix lies in
constant memory.

It suits single precision, for which a GPU has no exact matrix units: a multiply-add takes its number of the matrix
straight from constant memory. Sums have the arrays' precision.
"""

from __future__ import annotations

import numpy as np

from .plan import Program, step_text, steps
from .render_units import digits, offset
from .text import Reference, Statement

LINE = 32  # most numbers of a row in registers
CONSTANT = 3584  # bytes of all matrices in constant memory
COPIES = 3  # of a matrix there: one that is used twice would be kept in registers


def declared(p: Program, names) -> list[str]:
    """Matrices in constant memory."""
    return [f'extern "C" {{ __constant__ scalar constant_{x}[{COPIES * p.arrays[x].size}]; }}' for x in names]


def fill(module, plan, names, arrays) -> None:
    """Their numbers, from a plan's arrays."""
    for x in names:
        numbers = np.asarray(plan.backend.to_host(arrays[x]), plan.dtype).reshape(-1)
        module.fill(f"constant_{x}", np.tile(numbers, COPIES))


class Lines:
    """Text of one statement's products, of the rows x0, x1, ... turn: which copies of the matrices it takes. given: the
    line of the first factor is what the statement before has left in registers."""

    def __init__(self, writer, s: Statement, step, turn: int, given: bool = False):
        plan = self.plan = writer.plan
        self.writer, self.s, self.turn, self.given = writer, s, turn, given
        _, rows, columns, self.terms = plan.layout(s)
        rows = plan.order(rows, step)
        self.column, self.scale = columns[0], plan.scale(s)
        self.points = plan.points(s, self.terms)
        refs = [s.out, *(f for _, f, _, _ in self.terms), *(f for t in self.points for f in t.factors)]
        inner = {self.terms[0][1]} if given else set()
        inner |= {s.out} if s.out.name in plan.inner else set()
        refs = [r for r in dict.fromkeys([*refs, *([self.scale] if self.scale else [])]) if r not in inner]
        self.accesses = {r: writer.access(r) for r in refs}
        self.place = {r: k for k, r in enumerate(refs)}
        self.loops = writer.loops(rows, list(self.accesses.values()))
        self.m, self.n = plan.extent_of(rows), plan.extent_of(columns)
        self.rows = min(plan.how.warp.ahead, -(-self.m // writer.team))  # of a thread at a time

    def line(self, r: Reference, along: str, row: int) -> tuple[str, str, int]:
        """(where a row begins, the step along it, how many of its numbers are read or written at once)."""
        x = self.accesses[r]
        step, k = x.steps[along], self.place[r]
        wide = self.plan.grain
        aligned = x.shared and step == 1 and all(loop.step[k] % wide == 0 for loop in self.loops)
        from_ = f"{x.pointer} + {offset(self.loops, f'r{row}_', k, x)}"
        return from_, step_text(step, x.ld), wide if aligned and self.plan.program.sizes[along] % wide == 0 else 1

    def take(self, r: Reference, along: str, to: str) -> list[str]:
        """Lines of all rows."""
        made = []
        for row in range(self.rows):
            from_, step, wide = self.line(r, along, row)
            made.append(f"take<{self.plan.program.sizes[along]}, {wide}>({from_}, {step}, {to}[{row}]);")
        return made

    def each(self, body) -> list[str]:
        """body(row, the row's sums) for every column of every row."""
        return [f"UNROLL for (int n = 0; n < {self.n}; ++n) {body(row)}" for row in range(self.rows)]

    def spot(self, r: Reference, row: int) -> str:
        from_, step, _ = self.line(r, self.column, row)
        return f"({from_})[n * ({step})]"

    def text(self, result: str) -> list[str]:
        """Statements that fill `result`, and store it where it is not for the next statement alone."""
        s, n, rows = self.s, self.n, self.rows
        lines = [line for row in range(rows) for line in digits(self.loops, f"x{row}", f"r{row}_")]
        if s.add and not self.scale:
            lines += self.take(s.out, self.column, result)
        else:
            lines += self.each(lambda row: f"{result}[{row}][n] = 0;")
        for p in self.points:
            number = [] if p.number == 1 and p.factors else [f"scalar({p.number!r})"]
            product = lambda row, p=p, number=number: " * ".join([*number, *(self.spot(f, row) for f in p.factors)])
            lines += self.each(lambda row, product=product: f"{result}[{row}][n] += {product(row)};")
        for number, f, g, (k,) in self.terms:
            a, extent = self.plan.arrays[g.name], self.plan.program.sizes[k]
            near = steps(g, a, self.plan.batch, far=True)
            matrix = f"constant_{g.name} + {self.turn % COPIES * a.size}"
            held = "given" if self.given else "held"
            if not self.given:
                lines += [f"{{ scalar held[{rows}][{extent}];", *self.take(f, k, "held")]
            if number != 1:
                turns = f"UNROLL for (int row = 0; row < {rows}; ++row) UNROLL for (int k = 0; k < {extent}; ++k)"
                lines.append(f"{turns} {held}[row][k] *= scalar({number!r});")
            lines.append(f"add_lines<{near[self.column]}, {near[k]}>({matrix}, {held}, {result});")
            lines += [] if self.given else ["}"]
        if self.scale:
            old = lambda row: f"{self.spot(s.out, row)} + " if s.add else ""
            lines += [f"{{ scalar times[{rows}][{n}];", *self.take(self.scale, self.column, "times")]
            lines += self.each(lambda row: f"{result}[{row}][n] = {old(row)}times[{row}][n] * {result}[{row}][n];")
            lines.append("}")
        return lines + (self.leave(result) if s.out in self.accesses else [])

    def leave(self, result: str) -> list[str]:
        lines = []
        for row in range(self.rows):
            to, step, wide = self.line(self.s.out, self.column, row)
            whole = f"put<{wide}>({result}[{row}], {to});"
            spot = self.writer.store(self.s.out, self.spot(self.s.out, row), f"{result}[{row}][n]")
            one = f"UNROLL for (int n = 0; n < {self.n}; ++n) {spot}"
            lines.append(f"if (on{row}) {{ {whole if wide > 1 else one} }}")
        return lines
