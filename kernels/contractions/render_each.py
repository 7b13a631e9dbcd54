"""The text of statements that a team does number by number, a thread each (see stages/plan.py)."""

from __future__ import annotations

import numpy as np

from .access import digits, side_by_side
from .expression import Reference, Statement, Term
from .plan import names, reads, references
from .render_threads import loop_heads, numbered
from .stages.plan import Step, summed

FEW = 16  # numbers that a lane asks for ahead
CACHE_LINE = 128  # bytes


class Each:
    """A step. early: prefetches at the beginning of the entry; lines: the step itself."""

    def __init__(self, writer, number: int, step: Step):
        plan = self.plan = writer.plan
        self.writer, self.number, self.step = writer, number, step
        first = step.statements[0]
        self.own, self.size = plan.own(first), plan.numbers(first.out)
        self.count = -(-self.size // writer.team)  # of a thread

        refs = []
        for s in step.statements:
            for t in s.terms:
                refs += [*t.factors, s.out]

        self.accesses = writer.accesses(refs)
        self.loops = self.accesses.loops(self.own)
        self.split = digits(self.loops, "x", "x")

        self.loaded = [] if any(map(summed, step.statements)) else self._loaded()
        self.batch = bool(self.loaded) and self.count * len(self.loaded) <= FEW  # all are asked for ahead
        self.early = self._early()
        self.lines = self._lines()

    def _loaded(self) -> list[Reference]:
        """Arguments whose values at the entry's beginning are read: no step writes them before."""
        written: set[str] = set()
        for step in self.plan.steps:
            if step is not self.step:
                written |= step.written

        found: list[Reference] = []
        for s in self.step.statements:
            for r in references(s) if s.add else reads(s):
                if not self.accesses[r].shared and r.name not in written:
                    found.append(r)
            written.add(s.out.name)

        return list(dict.fromkeys(found))

    # ---- pieces of text
    def where(self, r: Reference) -> str:
        """C++ of a number of an array, in memory."""
        return f"{self.accesses[r].pointer}[{self.accesses.at(r, self.loops, 'x')}]"

    def value(self, r: Reference) -> str:
        """C++ of a number of an array, in a register if it was asked for ahead."""
        if self.batch and r in self.loaded:
            return f"v{self.number}_{self.loaded.index(r)}[i]"
        return self.where(r)

    def turns(self, unroll: str, body: str) -> str:
        """C++ of the body for all numbers of a thread."""
        return f"{unroll} {self.writer.numbers_of_thread(self.size, '(void)x;', body)}"

    # ---- the parts
    def _early(self) -> list[str]:
        if self.step.before:
            return []
        if self.batch:
            return self._loads()
        return [] if names(self.loaded) <= self.step.written else self._asked()

    def _loads(self) -> list[str]:
        """Numbers into registers."""
        lines = [f"scalar v{self.number}_{k}[{self.count}];" for k in range(len(self.loaded))]
        loads = " ".join(f"v{self.number}_{k}[i] = {self.where(r)};" for k, r in enumerate(self.loaded))
        return [*lines, self.turns("UNROLL", " ".join([*self.split, loads]))]

    def _asked(self) -> list[str]:
        """Too many numbers for registers: at least the second cache has them in time."""
        lines = []
        size, team = self.size, self.writer.team
        line = CACHE_LINE // np.dtype(self.plan.program.dtype).itemsize

        for r in self.loaded:
            if not side_by_side(self.accesses.only([r]).loops(self.own)):
                continue

            head = f"UNROLL_BY(1) for (; x < {size}; x += {team * line})"
            if size <= team * line:
                head = f"if (x < {size})"

            lines.append(f"{{ int x = me * {line}; {head} ask({self.accesses[r].pointer} + x); }}")

        return lines

    def _lines(self) -> list[str]:
        lines = [f"// {'; '.join(map(str, self.step.statements))}"]
        if self.batch and self.step.before:
            lines += self._loads()

        body, stores = list(self.split), []
        done: dict[str, str] = {}  # sums in registers, by output
        for j, s in enumerate(self.step.statements):
            body += self._statement(j, s, done)
            done[s.out.name] = f"sum{j}"
            stores.append(self.writer.store(s.out, self.where(s.out), f"sum{j}"))

        unroll = "UNROLL" if self.batch else "UNROLL_BY(2)"
        return [*lines, self.turns(unroll, "\n".join([*body, *stores]))]

    def _statement(self, j: int, s: Statement, done: dict[str, str]) -> list[str]:
        """The sum of a statement's terms."""
        unit, lines = self.writer.sum, []
        first = s.terms[0]
        begun = s.add or bool(first.sums(s.out)) or first.number < 0
        if begun:
            lines.append(f"{unit} sum{j} = {self.value(s.out) if s.add else 0};")

        for t in s.terms:
            heads, words = self._term(s, t, done)
            lines += heads
            if abs(t.number) != 1 or not words:
                words = [self.writer.constant(t.number), *words]

            sign = "-" if t.number == -1 and t.factors else "+"
            to = f"sum{j} {sign}=" if begun else f"{unit} sum{j} ="
            lines.append(f"{to} {' * '.join(words)};")
            begun = True

        return lines

    def _term(self, s: Statement, t: Term, done: dict[str, str]) -> tuple[list[str], list[str]]:
        """(loops over the sums, factors) of a term."""
        sums = t.sums(s.out)
        if not sums:
            return [], [done.get(f.name) or self.value(f) for f in t.factors]

        factors = self.accesses.only(t.factors)
        inner = factors.loops(sums)
        words = []

        for f in t.factors:
            at = f"{self.accesses.at(f, self.loops, 'x')} + {factors.at(f, inner, 'k')}"
            words.append(f"{factors[f].pointer}[{at}]")

        return loop_heads(numbered("k", inner), inner), words
