"""The text of products by threads (see stages.py): a thread has a row of a product in registers, the matrix lies in
constant memory.

It suits single precision, for which a GPU has no exact matrix units. Sums have the arrays' precision.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from .access import digits
from .constant_memory import COPIES
from .expression import Reference, Statement
from .plan import step_text, steps

if TYPE_CHECKING:
    from .stages.plan import Factors


class Lines:
    """Text of one statement's products, a thread's rows x0, x1, ... at a time.

    turn: decides which copies of the matrices it takes. given: the line of the first factor is what the statement
    before has left in registers.
    """

    def __init__(self, writer, s: Statement, step, turn: int, given: bool = False):
        plan = self.plan = writer.plan
        self.writer, self.s, self.turn, self.given = writer, s, turn, given
        _, rows, columns, self.terms = plan.layout(s)
        rows = plan.order(rows, step)
        self.column, self.scale = columns[0], plan.scale(s)
        self.points = plan.points(s, self.terms)

        self.accesses = writer.accesses(plan.in_memory(s, given, matrices=True))
        self.loops = self.accesses.loops(rows)
        self.m, self.n = plan.extent_of(rows), plan.extent_of(columns)
        self.rows = min(plan.how.warp.ahead, -(-self.m // writer.team))  # of a thread at a time

    # ---- pieces
    def line(self, r: Reference, along: str, row: int) -> tuple[str, str, int]:
        """(where a row begins, the step along it, how many of its numbers are read or written at once)."""
        x = self.accesses[r]
        step, wide = x.steps[along], self.plan.grain
        from_ = f"{x.pointer} + {self.accesses.at(r, self.loops, f'r{row}_')}"

        aligned = x.shared and step == 1
        aligned = aligned and all(self.accesses.step(r, loop) % wide == 0 for loop in self.loops)
        whole = self.plan.program.sizes[along] % wide == 0
        return from_, step_text(step, x.ld), wide if aligned and whole else 1

    def take(self, r: Reference, along: str, to: str) -> list[str]:
        """Lines of all rows."""
        lines = []
        for row in range(self.rows):
            from_, step, wide = self.line(r, along, row)
            lines.append(f"take<{self.plan.program.sizes[along]}, {wide}>({from_}, {step}, {to}[{row}]);")

        return lines

    def columns(self, body: str) -> str:
        """C++ of the body for every column n."""
        return f"UNROLL for (int n = 0; n < {self.n}; ++n) {body}"

    def spot(self, r: Reference, row: int) -> str:
        """C++ of number n of a row."""
        from_, step, _ = self.line(r, self.column, row)
        return f"({from_})[n * ({step})]"

    # ---- the text
    def text(self, result: str) -> list[str]:
        """Statements that fill `result`, and store it if it is not for the next statement alone."""
        lines = []
        for row in range(self.rows):
            lines += digits(self.loops, f"x{row}", f"r{row}_")

        lines += self._begin(result)
        for x in self.terms:
            lines += self._product(x, result)
        if self.scale:
            lines += self._scaled(self.scale, result)

        return lines + (self._leave(result) if self.s.out in self.accesses else [])

    def _begin(self, result: str) -> list[str]:
        """Old numbers or zeros, and the terms that are no product with a matrix."""
        if self.s.add and not self.scale:
            lines = self.take(self.s.out, self.column, result)
        else:
            lines = [self.columns(f"{result}[{row}][n] = 0;") for row in range(self.rows)]

        for t, row in itertools.product(self.points, range(self.rows)):
            words = [self.spot(f, row) for f in t.factors]
            if t.number != 1 or not words:
                words.insert(0, f"scalar({t.number!r})")
            lines.append(self.columns(f"{result}[{row}][n] += {' * '.join(words)};"))

        return lines

    def _product(self, x: Factors, result: str) -> list[str]:
        """A matrix times the lines of all rows."""
        (k,) = x.sums
        a, extent = self.plan.arrays[x.columns.name], self.plan.program.sizes[k]
        near = steps(x.columns, a, self.plan.batch, far=True)
        matrix = f"constant_{a.name} + {self.turn % COPIES * a.size}"
        held = "given" if self.given else "held"

        lines = []
        if x.number != 1:
            rows = f"UNROLL for (int row = 0; row < {self.rows}; ++row)"
            numbers = f"UNROLL for (int k = 0; k < {extent}; ++k)"
            lines.append(f"{rows} {numbers} {held}[row][k] *= scalar({x.number!r});")

        lines.append(f"add_lines<{near[self.column]}, {near[k]}>({matrix}, {held}, {result});")
        if self.given:
            return lines

        return [f"{{ scalar held[{self.rows}][{extent}];", *self.take(x.rows, k, "held"), *lines, "}"]

    def _scaled(self, scale: Reference, result: str) -> list[str]:
        """The sums times a factor at the output's places; then old numbers are added."""
        lines = [f"{{ scalar times[{self.rows}][{self.n}];", *self.take(scale, self.column, "times")]
        for row in range(self.rows):
            old = f"{self.spot(self.s.out, row)} + " if self.s.add else ""
            lines.append(self.columns(f"{result}[{row}][n] = {old}times[{row}][n] * {result}[{row}][n];"))

        return [*lines, "}"]

    def _leave(self, result: str) -> list[str]:
        """The results to where they belong."""
        lines = []
        for row in range(self.rows):
            to, _, wide = self.line(self.s.out, self.column, row)
            store = f"put<{wide}>({result}[{row}], {to});"
            if wide == 1:
                number = self.writer.store(self.s.out, self.spot(self.s.out, row), f"{result}[{row}][n]")
                store = self.columns(number)

            lines.append(f"if (on{row}) {{ {store} }}")

        return lines
