"""A block for a tile of the output of one product, both factors in shared memory."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar, NamedTuple

import numpy as np

from ...engine.backend.base import Shape
from .. import render_threads as threads
from ..plan import Loop, Nest, Product, Program, pointers
from ..prices import price_of
from . import library_costs
from .base import Organisation
from .threads import Threads


class Parts(NamedTuple):
    """The loops of a statement whose output is tiled."""

    others: tuple[Loop, ...]  # both factors have them
    rows: tuple[Loop, ...]  # only the first factor has them
    columns: tuple[Loop, ...]  # only the second factor has them
    sums: tuple[Loop, ...]


@dataclasses.dataclass(frozen=True)
class Tiles(Threads):
    """A thread for a number of the tile. Both factors are staged in shared memory."""

    NAMES: ClassVar[tuple[str, ...]] = ("tiles",)
    STAGED: ClassVar[bool] = True  # whether the second factor is staged too

    threads: int  # of a block: rows times columns of the tile
    tile: tuple[int, int, int] = (0, 0, 0)  # rows, columns, and terms of the sum that are staged at a time

    def details(self) -> list[str]:
        return [f"{self.threads} threads", f"tile {' x '.join(map(str, self.tile))}"]

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        return [cls(256, (16, 16, 16))] if tileable(p) else []

    def price(self, p: Program, least: float = math.inf) -> float:
        parts = parts_of(threads.nests(p)[0])
        edges = 1.0
        for loops, tile in zip((parts.rows, parts.columns, parts.sums), self.tile):
            edges *= threads.waste(threads.size(loops), tile)
        return threads.work(p) * price_of("tiles") * edges

    def floor(self, p: Program) -> float:
        return library_costs.memory_seconds("threads", p)

    # ---- text and launch
    def text(self, p: Program) -> list[str]:
        n = threads.nests(p)[0]
        parts, (m, c, k) = parts_of(n), self.tile
        q = n.products[0]
        rows, columns, many = threads.size(parts.rows), threads.size(parts.columns), threads.size(parts.sums)
        row_tiles, column_tiles = -(-rows // m), -(-columns // c)
        blocks = self._blocks(parts)

        lines = [
            f"KERNEL(contraction, Arguments, {self.threads}) {{",
            "const long block = blockIdx.x;\n(void)items;",
            f"const long b = block / {blocks};",
            f"const int in = int(block % {blocks}), part = in / {row_tiles * column_tiles};",
            f"const int row0 = in / {column_tiles} % {row_tiles} * {m}, column0 = in % {column_tiles} * {c};",
            "(void)b, (void)part;",
            *pointers(p, "b"),
            *_places(n, q, parts),
            f"scalar *const left = (scalar *)shared_memory;  // {m} x {k + 1}",
            f"const int me = threadIdx.x, r = me / {c}, c = me % {c};",
            f"const bool mine = row0 + r < {rows} && column0 + c < {columns};",
            "scalar sum = 0;",
            f"for (int k0 = 0; k0 < {many}; k0 += {k}) {{",
        ]

        # Both factors of `k` terms, or the first one only, into shared memory.
        first, second = q.factors
        lines += self._stage("left", "row0", m, rows, many, f"f{first}[row_first(i) + sum_first(s)]")
        value = f"f{second}[column_second(column0 + c) + sum_second(k0 + s)]"

        if self.STAGED:
            lines.append(f"scalar *const right = left + {m * (k + 1)};  // {c} x {k + 1}")
            read = f"f{second}[column_second(i) + sum_second(s)]"
            lines += self._stage("right", "column0", c, columns, many, read)
            value = f"right[c * {k + 1} + s]"

        return [
            *lines,
            "__syncthreads();",
            f"const int left_over = {many} - k0;",
            f"if (mine) for (int s = 0; s < {k} && s < left_over; ++s) sum += left[r * {k + 1} + s] * {value};",
            "__syncthreads();\n}",
            "if (mine) { scalar &to = f0[row_out(row0 + r) + column_out(column0 + c)]; "
            f"sum *= {threads.number_text(q)};",
            f"to = {threads.old_value(n)}sum; }}\n}}",
        ]

    def _stage(self, to: str, begin: str, lines: int, extent: int, many: int, read: str) -> list[str]:
        """C++ that copies `lines` rows or columns of a factor; zeros beyond the edges."""
        k = self.tile[2]
        return [
            f"for (int x = me; x < {lines * k}; x += {self.threads}) {{",
            f"const int i = {begin} + x / {k}, s = k0 + x % {k};",
            f"{to}[x / {k} * {k + 1} + x % {k}] = i < {extent} && s < {many} ? {read} : 0;",
            "}",
        ]

    def _blocks(self, parts: Parts) -> int:
        """Tiles of an entry."""
        m, c, _ = self.tile
        return threads.size(parts.others) * -(-threads.size(parts.rows) // m) * -(-threads.size(parts.columns) // c)

    def shape(self, p: Program) -> Shape:
        return Shape(self.threads, 1, self.shared_bytes(p))

    def items(self, p: Program, n: int) -> int:
        return n * self._blocks(parts_of(threads.nests(p)[0]))

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        return {"m": (4, 8, 16, 32), "c": (4, 8, 16, 32), "k": (4, 8, 16, 32)}

    def value(self, name: str):
        places = {"m": 0, "c": 1, "k": 2}
        return self.tile[places[name]] if name in places else super().value(name)

    def moved(self, name: str, value) -> Organisation:
        sizes = dict(zip("mck", self.tile), **{name: value})
        tile = sizes["m"], sizes["c"], sizes["k"]
        return dataclasses.replace(self, tile=tile, threads=sizes["m"] * sizes["c"])

    def accesses(self, p: Program, n: Nest, q: Product, many: int) -> float:
        """Into shared memory, and out of it for each multiplication, beyond the edges too."""
        parts, (m, c, k) = parts_of(n), self.tile
        rows, columns = threads.size(parts.rows), threads.size(parts.columns)
        blocks = n.size / (rows * columns) * -(-rows // m) * -(-columns // c)
        staged = self._lines() * k

        return blocks * -(-many // k) * (2 * staged + 2 * self.threads * k)

    def _lines(self) -> int:
        """Rows and columns in shared memory."""
        return self.tile[0] + (self.tile[1] if self.STAGED else 0)

    def shared_bytes(self, p: Program) -> int:
        return self._lines() * (self.tile[2] + 1) * np.dtype(p.dtype).itemsize


def tileable(p: Program) -> bool:
    """Whether a program is one product with rows and columns."""
    all_nests = threads.nests(p)
    if len(all_nests) != 1 or not threads.independent(p):
        return False

    n = all_nests[0]
    if len(n.products) != 1 or len(n.products[0].factors) != 2 or n.statement.function or not n.products[0].sums:
        return False

    parts = parts_of(n)
    return bool(parts.rows and parts.columns)


def parts_of(n: Nest) -> Parts:
    """The loops of a statement with one product of two factors."""
    first, second = n.products[0].factors

    others, rows, columns = [], [], []
    for loop in n.loops:
        if not loop.step[second]:
            rows.append(loop)
        elif not loop.step[first]:
            columns.append(loop)
        else:
            others.append(loop)

    return Parts(tuple(others), tuple(rows), tuple(columns), n.products[0].sums)


def _places(n: Nest, q: Product, parts: Parts) -> list[str]:
    """C++ of pointers at a tile's entry, and of offsets as functions of a row, a column or a term."""
    first, second = q.factors
    others = threads.numbered("h", parts.others)

    lines = threads.split(parts.others, "part", others)
    for place in (0, first, second):
        kind = "scalar" if place == 0 else "const scalar"
        start = threads.offset(n, place, parts.others, others)
        lines.append(f"{kind} *const f{place} = at_{n.names[place]} + {start};")

    return [
        *lines,
        _function(n, "row_first", parts.rows, "r", first),
        _function(n, "row_out", parts.rows, "r", 0),
        _function(n, "column_second", parts.columns, "c", second),
        _function(n, "column_out", parts.columns, "c", 0),
        _function(n, "sum_first", parts.sums, "k", first),
        _function(n, "sum_second", parts.sums, "k", second),
    ]


def _function(n: Nest, name: str, loops, letter: str, place: int) -> str:
    """C++ of an offset as a function of a number: (int) -> long."""
    names = threads.numbered(letter, loops)
    find = " ".join(threads.split(loops, "i", names))
    where = threads.offset(n, place, loops, names)
    return f"const auto {name} = [&](int i) -> long {{ (void)i; {find} return {where}; }};"
