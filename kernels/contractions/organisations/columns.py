"""Sums over the rows of a matrix with few columns, such as `n,ni->i` or `bn,bni->bi`, read from end to end.

A matrix lies in memory without gaps, whatever its rows: threads read 16 bytes side by side, also where a row is no
multiple of that. A block takes whole rows at a time, so that a thread's numbers lie in the same columns each time. It
keeps their sums; those of a column are added up over the block, then over blocks, by the last of them. Of many matrices
each has a block, or a few.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import ClassVar, NamedTuple

import numpy as np

from ...engine.backend.base import Shape
from ...engine.backend.counters import COUNTER
from .. import render_threads as threads
from ..plan import Loop, Nest, Product, Program, pointers
from . import device, library_costs
from .base import Organisation, Unable
from .in_parts import LAST, InParts
from .moments import ordered
from .threads import several

LEAST, MOST = 2, 256  # columns
THREADS, LEAST_THREADS = 512, 64  # of a block: a few less, which have whole rows; of a block of a small matrix
BLOCKS, FEW = 2, 64  # of a multiprocessor; columns up to which their parts are added up soon
AT_ONCE = 4  # reads of a thread that are under way together
TURN = 1.2e-6  # seconds in which they come
STANDING = 1024  # threads of a multiprocessor
PACE, OF_MANY = 0.78, 0.92  # times the memory's time: up to FEW columns; of more
ADDED = 6e10  # bytes a second that the last block adds up


class Matrix(NamedTuple):
    """The sum of a program, over the rows of a matrix or of many."""

    nest: Nest
    product: Product
    streams: tuple[int, ...]  # places of factors that have a number for each row and column, as they lie
    weights: tuple[int, ...]  # of factors that have a number for each row

    @property
    def around(self) -> tuple[Loop, ...]:
        """Loops over the matrices of an entry."""
        return self.nest.loops[:-1]

    @property
    def many(self) -> int:
        """Matrices of an entry."""
        return threads.size(self.around)

    @property
    def columns(self) -> int:
        return self.nest.loops[-1].extent

    @property
    def numbers(self) -> int:
        """Numbers of a matrix."""
        return self.columns * self.product.sums[0].extent


@dataclasses.dataclass(frozen=True)
class Columns(InParts):
    """A block has at most `threads`, of which each reads `near` neighbours at once."""

    NAMES: ClassVar[tuple[str, ...]] = ("columns",)
    COMPLEX: ClassVar[bool] = True

    threads: int = THREADS  # of a block, at most
    near: int = 1  # neighbours that a thread reads at once, 16 bytes at most
    parts: int = 1  # of the rows, by different blocks

    def details(self) -> list[str]:
        return [f"{self.threads} threads", *several(self.near, "at once"), *several(self.parts, "parts")]

    def team(self, columns: int) -> int:
        """Threads of a block: they have whole rows of so many columns."""
        row = self.row(columns)
        return self.threads // row * row

    def row(self, columns: int) -> int:
        """Threads of whole rows, at least."""
        return math.lcm(columns, self.near) // self.near

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        found = matrix(p)
        if not found:
            return []
        how = cls(near=widest(p, found))
        if how.serves(p):
            return []

        # One matrix keeps all multiprocessors busy; of many each has so few threads that they have loads under way.
        blocks = BLOCKS if found.columns <= FEW else 1
        matrices = found.many * library_costs.usual_batch(p)
        if matrices > 1:
            row = how.row(found.columns)
            wanted = max(found.numbers // (how.near * AT_ONCE), found.columns, LEAST_THREADS)
            how = how.changed(threads=min(-(-wanted // row), THREADS // row) * row)
            return [how]
        return [how.changed(parts=min(blocks * device.MULTIPROCESSORS, how._turns(found)))]

    def serves(self, p: Program) -> str:
        found = matrix(p)
        if not found:
            return f"a sum over the rows of matrices of {LEAST} to {MOST} columns"
        if self.near > widest(p, found):
            return "near=1: 16 bytes at once, at most"
        if self.team(found.columns) < found.columns:
            return f"threads of a whole row: {math.lcm(found.columns, self.near)} or more"
        return ""

    def price(self, p: Program, least: float = math.inf) -> float:
        return (self._waiting(p) + self._last(p)) / library_costs.usual_batch(p) / library_costs.unit("threads", p)

    def floor(self, p: Program) -> float:
        pace = PACE if required(p).columns <= FEW else OF_MANY
        return pace * library_costs.memory_seconds("threads", p) + self._last(p) / library_costs.usual_batch(p)

    def _waiting(self, p: Program) -> float:
        """Seconds in which threads wait for their numbers, one set of blocks after the other."""
        found = required(p)
        blocks = found.many * library_costs.usual_batch(p) * self.parts
        standing = device.MULTIPROCESSORS * (STANDING // self.team(found.columns))
        return -(-self._turns(found) // (AT_ONCE * self.parts)) * TURN * max(blocks / standing, 1.0)

    def _last(self, p: Program) -> float:
        """Seconds of the block that adds up parts."""
        if self.parts == 1:
            return 0.0
        return LAST + self.parts * required(p).columns * np.dtype(p.dtype).itemsize / ADDED

    def _turns(self, m: Matrix) -> int:
        """Turns of all blocks of a matrix, the last of which may have fewer rows."""
        return -(-m.numbers // (self.team(m.columns) * self.near))

    # ---- text and launch
    def render(self, p: Program, headers=(), folders=(), quick: bool = False):
        return super().render(p, ("contractions/columns.h", *headers), folders, quick)

    def text(self, p: Program) -> list[str]:
        m = required(p)
        columns, v, team = m.columns, self.near, self.team(m.columns)
        each = f"UNROLL for (int s = 0; s < {v}; ++s)"
        begin = [f"row[s] = (me + s) / {columns};", "sums[s] = 0;"]

        return [
            f"KERNEL(contraction, Arguments, {team}) {{",
            f"const long b = blockIdx.x / {m.many};\n(void)b;",
            f"const int matrix = blockIdx.x % {m.many};\n(void)matrix;",
            *pointers(p, "b"),
            f"// {m.nest.statement}",
            *threads.split(m.around, "matrix", threads.numbered("x", m.around)),
            f"const int me = threadIdx.x * {v};",
            f"int row[{v}];\nscalar sums[{v}];",
            f"{each} {threads.block(begin)}",
            *self._added(m),
            "scalar *const held = (scalar *)shared_memory;",
            f"{each} held[me + s] = sums[s];",
            f"add_rows<{columns}, {team * v // columns}>(held);",
            *self._stored(m),
            "}",
        ]

    def _added(self, m: Matrix) -> list[str]:
        """C++ that adds a thread's numbers of all turns of its block to its sums."""
        v, turn = self.near, self.team(m.columns) * self.near
        turns, whole = self._turns(m), m.numbers // turn
        each = -(-turns // self.parts)

        def some_turns(count: int) -> list[str]:
            """C++ of so many turns, the first of them i."""
            some = f"UNROLL for (int u = 0; u < {count}; ++u)"
            held = [f"Near<{v}> f{f}[{count}];" for f in m.streams]
            held += [f"scalar f{f}[{count}][{self._rows(m)}];" for f in m.weights]
            loads = [
                f"f{f}[u] = *(const Near<{v}> *)({self._begin(m, f)} + (i + u) * {turn}L + me);" for f in m.streams
            ]
            for f in m.weights:
                of_row = f"UNROLL for (int s = 0; s < {self._rows(m)}; ++s)"
                loads.append(f"{of_row} f{f}[u][s] = {self._weight(m, f, 'i + u')};")
            words = [f"f{f}[u].v[s]" for f in m.streams]
            words += [f"f{f}[u][{'s' if self._rows(m) > 1 else '0'}]" for f in m.weights]
            add = f"UNROLL for (int s = 0; s < {v}; ++s) sums[s] += {' * '.join(words)};"
            return [*held, f"{some} {threads.block(loads)}", f"{some} {add}"]

        # Of the last turn, numbers that there are.
        numbers = [f"({self._begin(m, f)})[k]" for f in m.streams] + [self._weight(m, f, "i") for f in m.weights]
        last = [f"const long k = i * {turn}L + me + s;", f"if (k < {m.numbers}L) sums[s] += {' * '.join(numbers)};"]
        return [
            f"long i = blockIdx.y * {each}L;",
            f"const long last = i + {each} < {turns} ? i + {each} : {turns};",
            f"const long whole = last < {whole} ? last : {whole};",
            f"UNROLL_BY(1) for (; i + {AT_ONCE} <= whole; i += {AT_ONCE}) {threads.block(some_turns(AT_ONCE))}",
            f"UNROLL_BY(1) for (; i < whole; ++i) {threads.block(some_turns(1))}",
            f"if (i < last) UNROLL for (int s = 0; s < {v}; ++s) {threads.block(last)}",
        ]

    def _rows(self, m: Matrix) -> int:
        """Rows that the numbers of a read may lie in, as they are counted: 1, or one for each number."""
        return 1 if m.columns % self.near == 0 else self.near

    def _weight(self, m: Matrix, f: int, turn: str) -> str:
        """C++ of a row's number at a turn."""
        rows = self.team(m.columns) * self.near // m.columns
        return f"({self._begin(m, f)})[(({turn}) * {rows}L + row[s]) * {m.product.sums[0].step[f]}]"

    def _begin(self, m: Matrix, f: int) -> str:
        """C++ of where a factor's numbers of a matrix begin."""
        names = threads.numbered("x", m.around)
        return f"at_{m.nest.names[f]} + {threads.offset(m.nest, f, m.around, names)}"

    def _stored(self, m: Matrix) -> list[str]:
        """C++ that stores the sums: of a block, or of the last block of those that have parts of them."""
        n, columns, team = m.nest, m.columns, self.team(m.columns)
        each = f"for (int c = threadIdx.x; c < {columns}; c += {team})"
        number = "" if m.product.number == 1 else f"{threads.number_text(m.product)} * "
        names = [*threads.numbered("x", m.around), "c"]
        to = f"scalar &to = {threads.number_at(n, 0, n.loops, names)};"
        store = f"{each} {threads.block([to, f'to = {threads.old_value(n)}{number}held[c];'])}"
        if self.parts == 1:
            return [store]

        return [
            f"scalar *const parts = (scalar *)a.at_parts + blockIdx.x * {columns * self.parts}L;",
            f"{each} parts[blockIdx.y * {columns} + c] = held[c];",
            f"if (!is_last_of({self.parts}, (int *)a.at_counters + blockIdx.x)) return;",
            f"add_parts<{columns}, {self.parts}, {team}>(parts, held);",
            store,
        ]

    def items(self, p: Program, n: int) -> int:
        return n * required(p).many

    def sums_of(self, p: Program) -> int:
        return required(p).columns

    def shape(self, p: Program) -> Shape:
        return Shape(self.team(required(p).columns), 1, self.shared_bytes(p), rows=self.parts)

    def at_work(self, p: Program, n: int) -> int:
        return self.items(p, n) * self.team(required(p).columns) * self.parts

    def shared_bytes(self, p: Program) -> int:
        """The sums of each thread, or the number of blocks that were there before."""
        return max(self.team(required(p).columns) * self.near * np.dtype(p.dtype).itemsize, COUNTER)

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        wide = 16 // np.dtype(p.dtype).itemsize
        return {"threads": (128, 256, 512), "near": (1, wide), "parts": (1, 8, 32, 132, 264, 528)}

    def legal(self, p: Program) -> bool:
        return super().legal(p) and not self.serves(p)


@functools.lru_cache(64)
def matrix(p: Program) -> Matrix | None:
    """The sum over the rows of a matrix, or of many, that a program is; None if it is none."""
    if p.mixed or len(p.statements) != 1 or not threads.independent(p):
        return None
    n = ordered(p)
    if n.statement.function or len(n.products) != 1 or not n.loops or len(n.products[0].sums) != 1:
        return None

    column, (q,) = n.loops[-1], n.products
    (row,) = q.sums
    streams = tuple(f for f in q.factors if column.step[f])
    weights = tuple(f for f in q.factors if not column.step[f])
    as_they_lie = all(column.step[f] == 1 and row.step[f] == column.extent for f in streams)
    if not streams or not as_they_lie or not LEAST <= column.extent <= MOST:
        return None
    if any(p.arrays[n.names[f]].place for f in q.factors):
        return None  # the batch index stands between others

    # Matrices that each sum has for itself
    if not all(loop.step[f] for f in streams for loop in n.loops):
        return None
    if p.batch and any(p.arrays[n.names[f]].place is None for f in streams):
        return None
    return Matrix(n, q, streams, weights)


def widest(p: Program, m: Matrix) -> int:
    """Neighbours that are read at once, 16 bytes at most: all matrices begin at multiples of them."""
    near = 16 // np.dtype(p.dtype).itemsize
    arrays = [p.arrays[m.nest.names[f]] for f in m.streams]
    while near > 1:
        whole = all(threads.whole_steps(m.around, f, near) for f in m.streams)
        if whole and (not p.batch or all(a.size % near == 0 for a in arrays)):
            break
        near //= 2
    return near


def required(p: Program) -> Matrix:
    """The sum of a program that is one. Raises Unable."""
    found = matrix(p)
    if found is None:
        raise Unable("a sum over the rows of a matrix")
    return found
