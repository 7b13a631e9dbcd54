"""The text of a tensor program by stages (see stages/plan.py): a team of warps, around what stages.h has.

Products are in render_units.py and render_lines.py, statements number by number in render_each.py, all orders of an
entry in render_orbits.py. Bulk copies are asked for first, and waited for where they are read. In a ring a block asks
for the copies of the next entries before it works on this entry.
"""

from __future__ import annotations

import functools
import math

from ..engine.backend.base import Shape, Source
from ..engine.backend.record import record, structure
from . import constant_memory, render_lines, render_orbits
from .access import Access, Accesses, digits, offset
from .expression import Reference
from .plan import Loop, Program, includes, joined, pointers, program_source, step_text, steps, turns, view
from .render_each import Each
from .render_threads import unaligned, without_past
from .render_units import Tile
from .stages import plan_of
from .stages.plan import Plan, Step


class Writer:
    """Text of one plan. Fields fill while the text is written."""

    def __init__(self, plan: Plan):
        self.plan, self.p, self.how = plan, plan.program, plan.how
        self.team = 32 * self.how.teams.warps  # threads
        self.number = "scalar" if self.how.narrow else "double"  # type of numbers in shared memory
        self.sum = "scalar" if self.how.sums.split or self.how.sums.line else "double"  # in registers

        self.pointers: dict[Reference, str] = {}  # names of pointers to arguments
        self.even: set[str] = set()  # arguments of which 16 bytes are read at once
        self.once: dict[tuple, list[str]] = {}  # text of factors that lanes hold for all steps, by what they read
        self.of_once: set[Reference] = set()  # those factors

    # ---- words
    def constant(self, number: float) -> str:
        return repr(number) if self.sum == "double" else f"scalar({number!r})"

    def held(self, name: str) -> str:
        """C++ of the pointer to an array in shared memory."""
        return f"{self.number} *const h_{name} = ({self.number} *)shared_memory + {self.plan.held[name].at}"

    def access(self, r: Reference) -> Access:
        """Where a reference is read. Arguments get a pointer."""
        h = self.plan.held.get(r.name)
        if h:
            inside: dict[str, int] = {}
            for d, s in zip(h.kept, h.strides):
                inside[r.indices[d]] = inside.get(r.indices[d], 0) + s
            return Access(f"h_{r.name}", inside, "", True)

        near = steps(r, self.plan.arrays[r.name], self.plan.batch, far=True)
        self.pointers.setdefault(r, f"p{len(self.pointers)}")
        inside = {i: s for i, s in near.items() if i not in self.plan.entry}
        return Access(self.pointers[r], inside, f"a.ld_{r.name}", False)

    def accesses(self, references) -> Accesses:
        """Where references are read. Arguments get pointers, in the order of the references."""
        found: dict[Reference, Access] = {}
        for r in references:
            if r not in found:
                found[r] = self.access(r)

        return Accesses(self.p.sizes, found)

    def pointer_lines(self, walk: bool, only=None) -> list[str]:
        """C++ of the pointers of references to arguments, at this team's entry.

        walk: of references that have the index of the walk, or that have it not. only: of some references; None: all.
        """
        plan, lines = self.plan, []
        for r, name in self.pointers.items():
            walks = bool(plan.walk) and plan.walk in r.indices
            if walks != walk or (only is not None and r not in only):
                continue

            a = plan.arrays[r.name]
            near = steps(r, a, plan.batch, far=True)
            parts = [f"at_{view(r, a, plan.batch)}"]
            for i in plan.entry:
                if i in near:
                    parts.append(f"e_{i} * ({step_text(near[i], f'a.ld_{r.name}')})")

            kind = "scalar" if r.name in self.p.expression.outputs else "const scalar"
            lines.append(f"{kind} *const {name} = {' + '.join(parts)};")

        return lines

    def store(self, out: Reference, where: str, value: str) -> str:
        """C++ of a store; past the caches if no step reads the number."""
        if out.name in self.plan.held or out.name in self.plan.read:
            return f"{where} = {value};"
        return f"leave(&{where}, {value});"

    def numbers_of_thread(self, size: int, begin: str, body: str) -> str:
        """C++ of a loop over a thread's numbers x of `size` numbers that a team has. begin: before the body."""
        if size % self.team:
            body = f"if (x < {size}) {{ {body} }}"
        count = -(-size // self.team)
        return f"for (int i = 0; i < {count}; ++i) {{ const int x = me + i * {self.team}; {begin} {body} }}"

    # ---- steps
    def copy(self, step: Step) -> list[str]:
        """Copies of a slice: in bulk, run by run, asked for by the first warp; with lines apart by all threads."""
        (s,) = step.statements
        r, plan, apart = s.terms[0].factors[0], self.plan, self.how.copies.apart
        h, x = plan.held[s.out.name], self.access(r)
        self.even.add(r.name)

        # Numbers that lie side by side on both sides are a run; loops go over the runs.
        own = plan.own(s)
        run, outer = 1, len(own)
        while outer and x.steps[own[outer - 1]] == run == h.strides[outer - 1]:
            outer -= 1
            run *= self.p.sizes[own[outer]]

        loops = [Loop(self.p.sizes[i], (x.steps[i], stride)) for i, stride in zip(own[:outer], h.strides)]
        if apart:  # pieces of 16 bytes
            loops.append(Loop(run // plan.grain, (plan.grain, plan.grain)))

        runs = turns(loops)
        over = joined(loops)
        find = " ".join(digits(over, "x", "x"))
        to = Access(f"h_{s.out.name}", {}, "", True)
        ends = f"{to.pointer} + {offset(over, 'x', 1, to)}, {x.pointer} + {offset(over, 'x', 0, x)}"

        if apart:
            copy = f"for (int x = me; x < {runs}; x += {self.team}) {{ {find} copy_piece({ends}); }}"
        elif runs > 32:
            copy = f"if (me < 32) for (int x = me; x < {runs}; x += 32) {{ {find} bulk({ends}, {run}, gate); }}"
        else:
            copy = f"{{ int x = me; if (x < {runs}) {{ {find} bulk({ends}, {run}, gate); }}}}"

        return [f"// {s}", copy]

    def units(self, step: Step) -> list[str]:
        """A warp's tiles, one after the other. Of two statements the second goes on with the numbers of the first."""
        *first, last = step.statements
        inner = [Tile(self, s, step, "_before") for s in first]
        tile = Tile(self, last, step, given=bool(first))
        lines = [f"// {'; '.join(map(str, step.statements))}"]

        for t in (tile, *inner):
            lines += t.hoist(self.once)

        # The loop over a warp's tiles.
        warps = self.how.teams.warps
        turns = -(-tile.jobs // warps)
        exact = tile.jobs % warps == 0
        head = f"UNROLL_BY({min(turns, self.how.warp.ahead)}) for (int turn = 0; turn < {turns}; ++turn) {{"
        job = f"const int job = warp + turn * {warps};"
        lines.append(f"{head} {job}" + ("" if exact else f" if (job < {tile.jobs}) {{"))
        lines += [
            f"const int tile = job % {tile.tiles}, chunk = job / {tile.tiles} % {tile.chunks}, "
            f"other = job / {tile.tiles * tile.chunks};",
            "(void)chunk, (void)other;",
            "const int m_a = tile * 16 + row, m_b = m_a + 8;",
        ]

        for t in inner:
            lines += [f"{self.sum} given[{t.width}][4];", "{", *t.rows(), *t.start(), *t.sums(), *t.give(), "}"]

        lines += [*tile.rows(), *tile.start(), *tile.sums(), *tile.leave()]
        return [*lines, "}" if exact else "} }"]

    def lines(self, number: int, step: Step) -> list[str]:
        """A thread's rows, one after the other. Of two statements the second goes on with the numbers of the first."""
        parts = []
        for k, s in enumerate(step.statements):
            parts.append(render_lines.Lines(self, s, step, number + k, given=k > 0))

        m, rows = parts[0].m, parts[0].rows
        lines = [
            f"// {'; '.join(map(str, step.statements))}",
            f"UNROLL_BY(1) for (int x = me; x < {m}; x += {rows * self.team}) {{",
        ]

        for row in range(rows):
            x = f"x + {row * self.team}"
            whole = m % (rows * self.team) == 0 or row == 0
            lines.append(f"const bool on{row} = {'true' if whole else f'{x} < {m}'};")
            lines.append(f"const int x{row} = {x if whole else f'min({x}, {m} - 1)'};")

        for k, part in enumerate(parts):
            result = "given" if k < len(parts) - 1 else "sum"
            lines += [f"scalar {result}[{rows}][{part.n}];", "{", *part.text(result), "}"]

        return [*lines, "}"]

    # ---- the kernel
    def text(self) -> list[str]:
        plan, how = self.plan, self.how
        if plan.orbit:
            return render_orbits.text(self)

        early: list[str] = []
        bodies: list[list[str]] = []
        for k, step in enumerate(plan.steps):
            if step.kind == "units":
                bodies.append(self.lines(k, step) if how.sums.line else self.units(step))
            elif step.kind == "copy":
                bodies.append(self.copy(step))
            else:
                each = Each(self, k, step)
                early += each.early
                bodies.append(each.lines)

        ring = how.copies.ring > 1
        lines = self._head()
        lines += self._ring(bodies) if ring else self._alone()
        lines += self._entry(bodies)
        lines += self._steps(bodies, before=True)

        if plan.walk:
            lines += self._walk()
            lines += [*self.pointer_lines(walk=True), *early, *self._steps(bodies, before=False)]
            return [*lines, "__syncthreads();", "}", "}"]

        lines += [*early, *self._steps(bodies, before=False)]
        if ring:
            lines += ["__syncthreads();", "}"]

        return [*lines, "}"]

    def _head(self) -> list[str]:
        """Matrices, the kernel's name and bounds, a thread's place."""
        plan, blocks = self.plan, self.how.teams.blocks
        threads = self.team * plan.entries
        bounds = f"{threads}, {blocks}" if blocks else f"{threads}"
        me = f"threadIdx.x % {self.team}" if plan.entries > 1 else "threadIdx.x"

        return [
            *constant_memory.declared(self.p, plan.matrices),
            f"KERNEL(contraction, Arguments, {bounds}) {{",
            f"const int me = {me}, warp = me >> 5;",
            "const int row = (me & 31) >> 2, c = me & 3;",
            "(void)warp, (void)row, (void)c;",
        ]

    def _alone(self) -> list[str]:
        """A team has one entry."""
        team = f" * {self.plan.entries}L + threadIdx.x / {self.team}" if self.plan.entries > 1 else ""
        return [f"const long g = blockIdx.x{team};", "if (g >= items) return;"]

    def _ring(self, bodies) -> list[str]:
        """The block stays: the copies of the next entries are under way while it works."""
        ring, lines = self.how.copies.ring, []
        if self.once:
            lines += [*pointers(self.p, "0L"), *self.pointer_lines(False, self.of_once), *self._held_once()]

        sources = {step.reads[0] for step in self.plan.steps if step.kind == "copy"}
        return [
            *lines,
            *self._gates(),
            "const auto fetch = [&](long g, int slot) {",
            *self.begins(sources),
            *self._slots(),
            "unsigned long long *const gate = gates + slot;",
            *self._asked(bodies),
            "};",
            f"for (int x = 0; x < {ring - 1}; ++x) if (blockIdx.x + x * (long)gridDim.x < items) "
            "fetch(blockIdx.x + x * (long)gridDim.x, x);\nint lap = 0;",
            "UNROLL_BY(1) for (long g = blockIdx.x; g < items; g += gridDim.x, ++lap) {",
            f"const long next = g + {ring - 1} * (long)gridDim.x;",
            f"if (next < items) fetch(next, (lap + {ring - 1}) % {ring});",
            f"const int slot = lap % {ring};\nunsigned long long *const gate = gates + slot;",
        ]

    def _entry(self, bodies) -> list[str]:
        """Pointers to the begins of the entry's arrays; copies are asked for."""
        plan, ring = self.plan, self.how.copies.ring > 1
        lines = self.begins()
        lines += self._slots() if ring else self._held_once()

        for x in plan.held:
            if not ring or x not in plan.copied:
                lines.append(f"{self.held(x)};")

        if plan.copied and not ring:
            if not self.how.copies.apart:
                lines += [*self._gates(), "unsigned long long *const gate = gates;"]
            lines += self._asked(bodies)

        return lines

    def _walk(self) -> list[str]:
        """The head of the loop along the index of the walk."""
        walk, parts = self.plan.walk, self.how.spread.parts
        extent = self.p.sizes[walk]
        per, i = -(-extent // parts), f"e_{walk}"
        lines = [self._arrived] if self.plan.arrives_first else []
        bound = f"min({extent}, (part + 1) * {per})"

        return [*lines, f"UNROLL_BY(1) for (int {i} = part * {per}; {i} < {bound}; ++{i}) {{"]

    def _steps(self, bodies, before: bool) -> list[str]:
        """Steps before the walk, or in it, with waits and barriers as the plan has them."""
        lines = []
        for step, body in zip(self.plan.steps, bodies):
            if step.kind == "copy" or step.before != before:
                continue

            if step.arrives:
                lines.append(self._arrived)
            if step.barrier:
                lines.append("__syncthreads();")

            lines += ["{", *body, "}"]

        return lines

    # ---- copies
    def _held_once(self) -> list[str]:
        """Factors that lanes hold for all steps."""
        return ["\n".join(lines) for lines in self.once.values()]

    def _slots(self) -> list[str]:
        """Pointers to copies of an entry in a ring."""
        return [f"{self.held(x)} + slot * {self.plan.slot(x)};" for x in self.plan.copied]

    def _gates(self) -> list[str]:
        """Counters of copies, a gate for each entry of the ring."""
        memory = f"({self.number} *)shared_memory + {self.plan.gate}"
        return [
            f"unsigned long long *const gates = (unsigned long long *)({memory});",
            f"if (me == 0) for (int x = 0; x < {self.how.copies.ring}; ++x) gate_open(gates + x);",
            "__syncthreads();",
        ]

    def _asked(self, bodies) -> list[str]:
        """All copies of an entry."""
        lines = []
        if not self.how.copies.apart:
            numbers = sum(math.prod(self.plan.held[x].extents) for x in self.plan.copied)
            lines += [f"if (me == 0) gate_expect(gate, {numbers});", "__syncwarp();"]
        for step, body in zip(self.plan.steps, bodies):
            if step.kind == "copy":
                lines += ["{", *body, "}"]

        return lines

    @property
    def _arrived(self) -> str:
        """The wait for the copies."""
        copies = self.how.copies
        if copies.apart:
            return "pieces_wait(); __syncthreads();"
        return f"gate_wait(gate, {'0' if copies.ring == 1 else f'lap / {copies.ring} & 1'});"

    def begins(self, only=None) -> list[str]:
        """The entry of item g, and where its arrays begin. only: of some references; None: of all."""
        plan, size, lines = self.plan, 1, []
        if plan.walk:
            size = self.how.spread.parts
            lines.append(f"const int part = int(g % {size});")

        for i in reversed(plan.entry):
            if i == plan.walk:
                continue

            extent = self.p.sizes[i]
            over = f" / {size}" if size > 1 else ""
            lines.append(f"const int e_{i} = int(g{over} % {extent});")
            size *= extent

        over = f" / {size}" if size > 1 else ""
        lines += [f"const long b = g{over};", "(void)b;", *pointers(self.p, "b")]
        return lines + self.pointer_lines(False, only)


def render(p: Program, how, members: str, headers, folders, quick: bool) -> Source:
    """The source of a program by stages. members: of the record of arguments. headers, folders: C++ of maps."""
    parts = [
        *includes("contractions/stages.h", *headers),
        structure("Arguments", members),
        *Writer(plan_of(p, how)).text(),
    ]
    return program_source("stages", p, parts, folders, quick)


def _even(p: Program, how) -> tuple:
    """(the arrays that have to be aligned, numbers that are read at a time)"""
    writer = Writer(plan_of(p, how))
    writer.text()
    return writer.even, writer.plan.grain


def launch(plan, how, arrays, values, n: int, members: str):
    """run() of a bound Contraction. Arrays that are not aligned to 16 bytes are read number by number."""
    even, grain = plan.kept(("even", how), functools.partial(_even, plan.program, how))
    if unaligned(even, values, grain):
        how = how.singly
    stages = plan.kept(("stages", how), functools.partial(plan_of, plan.program, how))

    # Blocks of the kernel.
    module = plan.filled(how, stages.matrices, arrays)
    resident = -1 if how.copies.ring > 1 else 0
    shape = Shape(32 * how.teams.warps * stages.entries, stages.entries, stages.bytes, resident)

    held = record(members, n=n, **without_past(values))
    run = module.bind("contraction", shape, held, keep=list(arrays.values()))
    return functools.partial(run, stages.items(n) if n else 0)
