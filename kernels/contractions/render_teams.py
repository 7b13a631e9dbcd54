"""The text of teams: threads of a block share an entry, one statement after the other, around what threads.h has.

With lines, a thread multiplies a line of a factor, which it holds in registers, by a small matrix that the batch
shares. The matrix lies in constant memory if it fits, else in shared memory.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from . import constant_memory, render_threads as threads
from .plan import FAR, MIRROR, Loop, Nest, Product, Program, declarations, places, pointers, step_text

SHARED = 96 * 1024  # bytes of a team's arrays; above, they lie in global memory
MATRIX = 1024  # most numbers of a matrix whose product is unrolled


class Line(NamedTuple):
    """A product of a matrix and lines. matrix, other: places of the factors in the nest; out: the output's loop."""

    matrix: int
    other: int
    out: Loop


def matrix_line(n: Nest, q: Product, p: Program) -> Line | None:
    """A product as a matrix without the batch index times lines; None if it is something else. A kernel copies the
    matrix when it begins, so the kernel must not write it."""
    if n.statement.function or len(q.factors) != 2 or len(q.sums) != 1:
        return None

    for matrix, other in (q.factors, q.factors[::-1]):
        array = p.arrays.get(n.names[matrix])
        loops = [loop for loop in n.loops if loop.step[matrix]]
        if not array or array.mixed or len(loops) != 1 or array.name in p.expression.outputs:
            continue
        if p.batch and (array.place is not None or array.kind == "local"):
            continue

        out, k = loops[0], q.sums[0]
        small = k.extent <= constant_memory.ROW and out.extent * k.extent <= MATRIX
        if small and not out.step[other] and k.step[other] and k.step[matrix] and not p.once(n.statement):
            return Line(matrix, other, out)

    return None


# ---- memory ---------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Memory:
    """Where a block of teams has its arrays."""

    lines: dict[tuple[int, int], Line | None]  # of each statement and product
    constant: list[str]  # matrices in constant memory
    matrices: list[str]  # matrices in shared memory
    staged: list[str]  # arguments that an entry has a copy of
    places: dict[str, int]  # of arrays of an entry
    room: int  # numbers of an entry
    shared_places: dict[str, int]  # of arrays that the batch shares
    fixed: int  # bytes of arrays that the batch shares
    bytes: int  # of a block, if all lies in shared memory
    arena: int  # numbers of a block in global memory; 0: all lies in shared memory


def memory_of(p: Program, entries: int, with_lines: bool) -> Memory:
    """The memory of a block with so many entries. with_lines: whether threads multiply whole lines."""
    size = np.dtype(p.dtype).itemsize
    all_nests = threads.nests(p)

    lines: dict[tuple[int, int], Line | None] = {}
    used, read = [], []  # names of matrices, of factors by lines
    for k, n in enumerate(all_nests):
        for m, q in enumerate(n.products):
            line = matrix_line(n, q, p) if with_lines else None
            lines[k, m] = line
            if line:
                used.append(n.names[line.matrix])
                read.append(n.names[line.other])

    # Matrices: all in constant memory, or all in shared memory.
    declared = [a for a in p.arguments if a.name in used and a.name in p.expression.constant]
    constant = [a.name for a in declared] if sum(a.size for a in declared) * size <= constant_memory.BYTES else []
    matrices = [a.name for a in p.arguments if a.name in used and a.name not in constant]

    # Staged: inputs that are read along several lines, outputs that are made of several products.
    batched = {a.name for a in p.arguments if a.place is not None or not p.batch}
    staged = [x for x in p.expression.inputs if read.count(x) > 1 and x in batched and not p.arrays[x].mixed]
    added = set()

    for k, n in enumerate(all_nests):
        if len(n.products) > 1 and any(lines[k, m] for m in range(len(n.products))):
            added.add(n.statement.out.name)

    staged += [x for x in p.expression.outputs if x in added]

    # Places: arrays of an entry, and arrays that the batch shares.
    local = []
    for a in p.arrays.values():
        if a.kind == "local" or (a.kind == "argument" and a.name in staged):
            local.append(a.name)

    found, room = places(p, local, 2, p.expression.outputs)
    shared = p.of_kind("shared") + matrices
    shared_places: dict[str, int] = {}
    fixed = 0
    if shared:
        shared_places, fixed = places(dataclasses.replace(p, statements=()), shared, 2)

    total = fixed * size + room * entries * size
    arena = room * entries if total > SHARED else 0
    return Memory(
        lines, constant, matrices, staged, found, room, shared_places, fixed=fixed * size, bytes=total, arena=arena
    )


# ---- text -----------------------------------------------------------------------------------------------------------


def team_text(p: Program, memory: Memory, block: int, entries: int) -> list[str]:
    """The kernel for blocks of `block` threads."""
    return _Writer(p, memory, block, entries).text()


class _Writer:
    """C++ of one program. block, team: threads of a block, of an entry."""

    def __init__(self, p: Program, memory: Memory, block: int, entries: int):
        self.p, self.memory, self.nests = p, memory, threads.nests(p)
        self.block, self.entries, self.team = block, entries, block // entries

    def text(self) -> list[str]:
        p, memory = self.p, self.memory
        given = [x for x in memory.staged if x in p.expression.inputs]
        size = np.dtype(p.dtype).itemsize
        room = f"fixed + {memory.fixed // size}"
        if memory.arena:
            room = f"(scalar *)a.arena + blockIdx.x * {memory.arena}L"

        lines = [
            *constant_memory.declared(p, memory.constant),
            f"KERNEL(contraction, Arguments, {self.block}) {{",
            "scalar *const fixed = (scalar *)shared_memory;\n(void)fixed;",
            *self._shared(),
            *self._once(),
            f"const int slot = threadIdx.x / {self.team}, me = threadIdx.x % {self.team};",
            f"scalar *const own = {room} + slot * {memory.room};\n(void)own;",
            f"for (long g = blockIdx.x; g * {self.entries} < items; g += gridDim.x) {{",
            f"const long b = g * {self.entries} + slot;\nconst bool on = b < items;\n(void)on;",
            "__syncthreads();",
            *pointers(p, "b", memory.staged),
            *(f"scalar *const at_{x} = own + {at};" for x, at in memory.places.items()),
        ]

        # Copies of an entry's inputs.
        for x in given:
            lines.append(self._copy(x, f"at_{x}[x] = to_{x}[{self._outside(x)}];"))
        if given or memory.matrices:
            lines.append("__syncthreads();")

        # Statements, a barrier after each.
        for k, n in enumerate(self.nests):
            if not p.once(n.statement):
                lines += [*self._statement(k, n), "__syncthreads();"]

        # Outputs that were made in shared memory.
        written = {s.out.name for s in p.statements}
        for x in memory.staged:
            if x in written:
                to = f"to_{x}[{self._outside(x)}]"
                old = f"{to} + " if x in p.expression.updated else ""
                lines.append(self._copy(x, f"{to} = {old}at_{x}[x];"))

        return [*lines, "}\n}"]

    def _shared(self) -> list[str]:
        """Pointers to arrays that the batch shares, matrices first; then copies of the matrices."""
        memory, lines = self.memory, []
        for x, at in memory.shared_places.items():
            if x in memory.matrices:
                lines.append(f"scalar *const at_{x}_ = fixed + {at};")
        for x, at in memory.shared_places.items():
            if x not in memory.matrices:
                lines.append(f"scalar *const at_{x} = fixed + {at};")
        for x in memory.matrices:
            lines.append(f"{self._whole_block(self.p.arrays[x].size)} at_{x}_[x] = ((const scalar *)a.at_{x})[x];")

        return lines

    def _once(self) -> list[str]:
        """Statements without the batch index, by the whole block."""
        p, lines = self.p, []
        for n in self.nests:
            if not p.once(n.statement):
                continue

            body = []
            for a in p.arguments:
                body += declarations(p, a, "0L")
            if n.statement.function == MIRROR:
                body.append(self._mirror(n, "int(threadIdx.x)", self.block))
            else:
                body.append(f"{self._whole_block(n.size)} {threads.block(threads.element(n, 'x'))}")

            lines += [threads.block(body), "__syncthreads();"]

        return lines

    def _whole_block(self, count: int) -> str:
        return f"for (int x = threadIdx.x; x < {count}; x += {self.block})"

    def _each(self, count: int) -> str:
        """The head of a loop of a team over `count` numbers."""
        return f"if (on) for (int x = me; x < {count}; x += {self.team})"

    def _outside(self, x: str) -> str:
        """C++ of where number x of a staged array lies in the argument."""
        a = self.p.arrays[x]
        return f"x / {a.after} * a.ld_{x} + x % {a.after}" if a.place else "x"

    def _copy(self, x: str, body: str) -> str:
        return f"{self._each(self.p.arrays[x].size)} {body}"

    def _mirror(self, n: Nest, me: str, all_threads: int) -> str:
        a = self.p.arrays[n.statement.out.name]
        extent = [x for x in a.extents if x is not None][-1]
        return f"mirror<{a.size // extent**2}, {extent}>(at_{n.names[1]}, at_{n.names[0]}, {me}, {all_threads});"

    # ---- one statement
    def _statement(self, k: int, n: Nest) -> list[str]:
        """Threads of a team over the numbers of the output, or over lines."""
        n = self._inside(k, n)
        if n.statement.function == MIRROR:
            return [f"if (on) {self._mirror(n, 'me', self.team)}"]

        found = [self.memory.lines[k, m] for m in range(len(n.products))]
        if not any(found):
            return [f"{self._each(n.size)} {threads.block(threads.element(n, 'x'))}"]

        lines: list[str] = []
        for m, (q, line) in enumerate(zip(n.products, found)):
            if m > 0:
                lines.append("__syncthreads();")
            add = m > 0 or n.statement.add
            if line:
                lines.append(self._line(k, m, n, q, line, add))
            else:
                alone = dataclasses.replace(n, products=(q,), statement=n.statement._replace(add=add))
                lines.append(f"{self._each(n.size)} {threads.block(threads.element(alone, 'x'))}")

        return lines

    def _inside(self, k: int, n: Nest) -> Nest:
        """A statement with the steps of staged copies. The first one about a staged output has no old value there."""
        name = n.statement.out.name
        first = not any(o.statement.out.name == name for o in self.nests[:k])
        add = n.statement.add and not (name in self.memory.staged and first)

        products = []
        for q in n.products:
            products.append(q._replace(sums=tuple(self._near(n, loop) for loop in q.sums)))

        return dataclasses.replace(
            n,
            statement=n.statement._replace(add=add),
            loops=tuple(self._near(n, loop) for loop in n.loops),
            products=tuple(products),
        )

    def _near(self, n: Nest, loop: Loop) -> Loop:
        """A loop with the steps within a staged copy, whose parts lie side by side."""
        steps = []
        for name, s in zip(n.names, loop.step):
            far, near = divmod(s, FAR)
            steps.append(far * self.p.arrays[name].after + near if name in self.memory.staged else s)

        return Loop(loop.extent, tuple(steps))

    def _line(self, k: int, m: int, n: Nest, q: Product, line: Line, add: bool) -> str:
        """A thread for a line: the product of a matrix."""
        place = self.nests[k].loops.index(line.out)
        out, sums = n.loops[place], q.sums[0]
        rest = [loop for d, loop in enumerate(n.loops) if d != place]
        names = threads.numbered("x", rest)

        name = n.names[line.matrix]
        if name in self.memory.constant:
            matrix = f"constant_{name} + {(k + m) % constant_memory.COPIES * self.p.arrays[name].size}"
        else:
            matrix = f"at_{name}_" if name in self.memory.matrices else f"at_{name}"

        ahead = step_text(sums.step[line.other], threads.row_length(n, line.other))
        along = step_text(out.step[0], threads.row_length(n, 0))
        shape = f"{out.extent}, {sums.extent}, {out.step[line.matrix]}, {sums.step[line.matrix]}, {str(add).lower()}"
        body = [
            f"// {n.statement}",
            *threads.split(rest, "x", names),
            f"line<{shape}>({matrix}, "
            f"at_{n.names[line.other]} + {threads.offset(n, line.other, rest, names)}, {ahead}, "
            f"at_{n.names[0]} + {threads.offset(n, 0, rest, names)}, {along}, {q.number!r});",
        ]

        return f"{self._each(threads.size(rest))} {threads.block(body)}"
