"""Some lanes of a warp for a number of the output: each lane adds up its part of the sums."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np

from ...engine.backend.facts import REFERENCE
from .. import render_threads as threads
from ..plan import Nest, Product, Program, names as names_of, pointers, reads
from ..prices import price_of
from .base import Organisation
from .threads import Threads, several

LEAST = 4  # terms of a sum that is worth spreading over lanes
LANES = REFERENCE.warp


@dataclasses.dataclass(frozen=True)
class Sums(Threads):
    """`lanes` lanes for a number of the output; a lane reads `near` neighbours of a sum at once."""

    NAMES: ClassVar[tuple[str, ...]] = ("sums",)

    threads: int  # of a block
    lanes: int = 1  # of a warp, for a number of the output
    near: int = 1  # neighbours of a sum that a lane reads at once, 16 bytes at most

    def details(self) -> list[str]:
        return [f"{self.threads} threads", *several(self.lanes, "lanes"), *several(self.near, "at once")]

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        n, *more = threads.nests(p)
        if more or not threads.independent(p) or not _summed(n):
            return []

        near = widest(n, p.dtype)
        longest = max(threads.size(q.sums) for q in n.products)
        lanes = 2

        while lanes < LANES and lanes * near * 2 < longest:  # two loads a lane
            lanes *= 2

        return [cls(256, lanes, 1 if p.mixed else near)]

    def price(self, p: Program, least: float = math.inf) -> float:
        return threads.work(p) * price_of("sums")

    # ---- text and launch
    def text(self, p: Program) -> list[str]:
        (n,), w = threads.nests(p), self.lanes
        names = threads.numbered("x", n.loops)
        lines = [
            f"KERNEL(contraction, Arguments, {self.threads}) {{",
            "const long thread = blockIdx.x * (long)blockDim.x + threadIdx.x;",
            f"const bool on = thread < items;\nconst long item = (on ? thread : items - 1) / {w};",
            f"const int lane = threadIdx.x % {w};",
            f"const long b = item / {n.size};\nconst int x = int(item % {n.size});\n(void)b, (void)x;",
            *pointers(p, "b"),
            f"// {n.statement}",
            *threads.split(n.loops, "x", names),
            "scalar sum = 0;",
        ]

        for q in n.products:
            lines += self._product(n, q, names)

        return [
            *lines,
            f"sum = over_lanes<{w}>(sum);",
            f"if (on && lane == 0) {{ scalar &to = at_{n.names[0]}[{threads.offset(n, 0, n.loops, names)}];",
            f"to = {threads.old_value(n)}sum; }}",
            "}",
        ]

    def _product(self, n: Nest, q: Product, names) -> list[str]:
        """A lane's part of a product's sum."""
        w, v, many = self.lanes, self.near, threads.size(q.sums)
        turns = -(-many // (w * v))
        head = f"UNROLL_BY(4) for (int i = 0; i < {turns}; ++i) {{ const int k = (i * {w} + lane) * {v};"
        test = f" if (k < {many})" if many % (w * v) else ""

        # `v` neighbours of each factor at once, or number by number.
        indices = threads.numbered("k", q.sums)
        loads, words = [], []
        for j, f in enumerate(q.factors):
            at = f"at_{n.names[f]} + {threads.offset(n, f, n.loops, names)}"
            if v > 1:
                loads.append(f"const Near<{v}> f{j} = *(const Near<{v}> *)({at} + k);")
                words.append(f"f{j}.v[s]")
            else:
                words.append(f"({at})[{threads.offset(n, f, q.sums, indices)}]")

        sign = "-" if q.number == -1 else "+"
        number = "" if abs(q.number) == 1 else f"{threads.number_text(q)} * "
        add = f"sum {sign}= {number}{' * '.join(words)};"

        if v > 1:
            add = f"UNROLL for (int s = 0; s < {v}; ++s) {add}"
        else:
            loads = threads.split(q.sums, "k", indices)

        return [head, f"{test} {{ {' '.join(loads)} {add} }} }}"]

    def stand_ins(self) -> list[Organisation]:
        return [self, dataclasses.replace(self, near=1)] if self.near > 1 else [self]

    def for_arrays(self, p: Program, values) -> Sums:
        factors = names_of(reads(p.statements[0]))
        if self.near > 1 and threads.unaligned(factors, values, self.near):
            return dataclasses.replace(self, near=1)
        return self

    def items(self, p: Program, n: int) -> int:
        return n * threads.nests(p)[0].size * self.lanes

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        wide = widest(threads.nests(p)[0], p.dtype)
        return {"threads": (64, 128, 256, 512), "lanes": (2, 4, 8, 16, 32), "near": tuple(sorted({1, wide}))}

    def legal(self, p: Program) -> bool:
        if not super().legal(p):
            return False
        return self.near == 1 or self.near == widest(threads.nests(p)[0], p.dtype)

    def accesses(self, p: Program, n: Nest, q: Product, many: int) -> float:
        turn = self.lanes * self.near
        return n.size * (-(-many // turn) * turn * len(q.factors) + self.lanes * math.log2(self.lanes))


def _summed(n: Nest) -> bool:
    """Whether every product has a sum that may be spread over lanes."""
    if n.statement.function or not n.products:
        return False
    return all(threads.size(q.sums) >= LEAST for q in n.products)


def widest(n: Nest, dtype: str) -> int:
    """Numbers of 16 bytes if the sums of all products run along memory, else 1."""
    v = 16 // np.dtype(dtype).itemsize
    return v if all(_along(n, q, v) for q in n.products) else 1


def _along(n: Nest, q: Product, v: int) -> bool:
    """Whether v neighbours of a product's sum may be read at once from its factors."""
    if len(q.sums) != 1 or q.sums[0].extent % v:
        return False

    return all(q.sums[0].step[f] == 1 and threads.whole_steps(n.loops, f, v) for f in q.factors)
