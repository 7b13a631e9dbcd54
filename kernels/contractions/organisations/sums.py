"""Some lanes of a warp for a number of the output: each lane adds up its part of the sums.

Where neighbours of the output are neighbours in the factors too, a lane has a number for itself: the lanes of a warp
read side by side.

Few numbers with long sums would leave most of a device idle. With `parts` several warps add up parts of a number's
sums, and a second kernel adds up the parts in their order.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import ClassVar

import numpy as np

from ...engine.backend.base import Shape
from ...engine.backend.facts import REFERENCE
from ...engine.backend.record import record
from .. import render_threads as threads
from ..plan import Nest, Product, Program, names as names_of, pointers, reads
from ..prices import price_of
from . import device, library_costs
from .base import Organisation
from .threads import Threads, batch_is_last, several, step_of_neighbours

LEAST = 4  # terms of a sum that is worth spreading over lanes
LANES = REFERENCE.warp
TURNS = 8  # loads of a lane that are worth a part of a sum
ALONE = 8  # loads of a lane at a time that has a number for itself; lanes that share a number have half as many
SINGLY = 2.0  # times the cache's time where the lanes of a number read one number at a time
CROSSING = 2.0  # times the memory's time where the lanes of a number read across its neighbours
FILLED = 2 * device.FULL  # lanes of a device whose sums are cut into parts: each has few loads under way
CACHE = 6e12  # bytes a second from the second cache to all multiprocessors, of an H100
SECOND_KERNEL = 3e-6  # seconds of the kernel that adds up parts
ROOM = 1 << 22  # numbers of all parts together; entries of more go one after the other


@dataclasses.dataclass(frozen=True)
class Sums(Threads):
    """`lanes` lanes for a number of the output; a lane reads `near` neighbours of a sum at once."""

    NAMES: ClassVar[tuple[str, ...]] = ("sums",)
    COMPLEX: ClassVar[bool] = True

    threads: int  # of a block
    lanes: int = 1  # of a warp, for a number of the output
    near: int = 1  # neighbours of a sum that a lane reads at once, 16 bytes at most
    parts: int = 1  # of the sums, by different lanes

    def details(self) -> list[str]:
        lanes = [*several(self.lanes, "lanes"), *several(self.near, "at once"), *several(self.parts, "parts")]
        return [f"{self.threads} threads", *lanes]

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        n, *more = threads.nests(p)
        if more or not threads.independent(p) or not _summed(n):
            return []

        near = 1 if p.mixed else widest(n, p.dtype)
        longest = max(threads.size(q.sums) for q in n.products)
        lanes = 2

        while lanes < LANES and lanes * near * 2 < longest:  # two loads a lane
            lanes *= 2

        found: list[Organisation] = [cls(256, lanes, near)]
        if not p.mixed:
            found += [cls(256, LANES, near, parts) for parts in _parts(p, n.size * LANES, longest // (near * LANES))]
        if _side_by_side(p, n):
            found += [cls(256, parts=parts) for parts in (1, *_parts(p, n.size, longest))]
        return found

    def price(self, p: Program, least: float = math.inf) -> float:
        price = self._read(p) / library_costs.unit("threads", p) if self.lanes == 1 else self._work(p)
        if self.parts == 1:
            return price
        second = SECOND_KERNEL / library_costs.unit("threads", p)
        return price + second / library_costs.usual_batch(p) / self.waits(p)

    def floor(self, p: Program) -> float:
        (n,) = threads.nests(p)
        crossing = self.lanes > 1 and self.near == 1 and _side_by_side(p, n)
        moved = library_costs.memory_seconds("threads", p)
        return max(moved, self._read(p)) * (CROSSING if crossing else 1.0)

    def _work(self, p: Program) -> float:
        return threads.effort(p) * price_of("sums")

    def _read(self, p: Program) -> float:
        """Seconds of an entry: each number of the output reads its factors anew, from the second cache at best."""
        singly = self.lanes > 1 and self.near == 1
        return threads.work(p) * np.dtype(p.dtype).itemsize / CACHE * (SINGLY if singly else 1.0)

    # ---- text and launch
    def text(self, p: Program) -> list[str]:
        (n,) = threads.nests(p)
        names = threads.numbered("x", n.loops)
        lines = [*self._head(p, "contraction", n, names, self.lanes), "scalar sum = 0;"]

        for q in n.products:
            lines += self._product(n, q, names)
        lines.append(f"sum = over_lanes<{self.lanes}>(sum);")

        if self.parts == 1:
            return [*lines, *_stored(n, names), "}"]
        return [*lines, "if (on && lane == 0) ((scalar *)a.at_parts)[item] = sum;", "}", *self._added_up(p, n, names)]

    def _head(self, p: Program, kernel: str, n: Nest, names, lanes: int) -> list[str]:
        """A kernel up to the place of a number of the output. `item`: parts of numbers, one part of all after the
        other."""
        parts = self.parts if kernel == "contraction" else 1
        part = "const long number = item;\nconst int part = 0;"
        if self.parts > 1:
            part = f"const long numbers = items / {lanes * parts}, number = item % numbers;"
            part += "\nconst int part = int(item / numbers);"
        return [
            f"KERNEL({kernel}, Arguments, {self.threads}) {{",
            "const long thread = blockIdx.x * (long)blockDim.x + threadIdx.x;",
            f"const bool on = thread < items;\nconst long item = (on ? thread : items - 1) / {lanes};",
            f"{part}\nconst int lane = threadIdx.x % {lanes};\n(void)lane, (void)part;",
            *_place(p, n, names),
        ]

    def _added_up(self, p: Program, n: Nest, names) -> list[str]:
        """The second kernel: a warp adds up the parts of a number, in their order."""
        return [
            *self._head(p, "contraction_sum", n, names, LANES),
            "const scalar *const parts = (const scalar *)a.at_parts + number;",
            "scalar sum = 0;",
            f"UNROLL_BY({ALONE}) for (int k = lane; k < {self.parts}; k += {LANES}) sum += parts[k * numbers];",
            f"sum = over_lanes<{LANES}>(sum);",
            *_stored(n, names),
            "}",
        ]

    def _product(self, n: Nest, q: Product, names) -> list[str]:
        """A lane's part of a product's sum: whole turns of all lanes, whose loads are under way together; the rest."""
        w, v, many = self.lanes, self.near, threads.size(q.sums)
        whole, turns = many // (w * v), -(-many // (w * v))
        each = -(-turns // self.parts)
        last = f"part < {-(-turns // each) - 1} ? (part + 1) * {each} : {turns}" if self.parts > 1 else str(turns)

        at_once = ALONE if w == 1 else ALONE // 2
        place = f"const int k = (i * {w} + lane) * {v};"
        term = " ".join(self._term(n, q, names))
        lines = [
            f"{{ const int first = part * {each}, last = {last}, whole = last < {whole} ? last : {whole};",
            f"UNROLL_BY({at_once}) for (int i = first; i < whole; ++i) {{ {place} {term} }}",
        ]
        if turns > whole:
            rest = f"const int i = {whole}; {place} if (k < {many}) {{ {term} }}"
            lines.append(f"if (first <= {whole} && whole < last) {{ {rest} }}")
        return [*lines, "}"]

    def _term(self, n: Nest, q: Product, names) -> list[str]:
        """C++ that adds `near` terms from term k on."""
        v, indices, loads, words = self.near, ["k"], [], []
        if len(q.sums) > 1:
            indices = threads.numbered("k", q.sums)
            loads = threads.split(q.sums, "k", indices)

        # `near` neighbours of each factor at once, or number by number.
        for j, f in enumerate(q.factors):
            at = f"at_{n.names[f]} + {threads.offset(n, f, (*n.loops, *q.sums), (*names, *indices))}"
            if v > 1:
                loads.append(f"const Near<{v}> f{j} = *(const Near<{v}> *)({at});")
                words.append(f"f{j}.v[s]")
            else:
                words.append(f"*({at})")

        sign = "-" if q.number == -1 else "+"
        number = "" if abs(q.number) == 1 else f"{threads.number_text(q)} * "
        add = f"sum {sign}= {number}{' * '.join(words)};"
        if v > 1:
            add = f"UNROLL for (int s = 0; s < {v}; ++s) {add}"
        return [*loads, add]

    def stand_ins(self) -> list[Organisation]:
        return [self, dataclasses.replace(self, near=1)] if self.near > 1 else [self]

    def for_arrays(self, p: Program, values) -> Sums:
        factors = names_of(reads(p.statements[0]))
        if self.near > 1 and threads.unaligned(factors, values, self.near):
            return dataclasses.replace(self, near=1)
        return self

    def items(self, p: Program, n: int) -> int:
        return n * threads.nests(p)[0].size * self.lanes * self.parts

    def launch(self, plan, arrays, values, n: int):
        if self.parts == 1:
            return super().launch(plan, arrays, values, n)

        # Entries whose parts have room, one set after the other.
        p, size = plan.program, plan.dtype.itemsize
        how, (nest,) = self.for_arrays(p, values), threads.nests(p)
        most = max(ROOM // (nest.size * self.parts), 1)
        parts = plan.backend.empty((min(n, most) * nest.size * self.parts,), plan.dtype)

        runs = []
        for first in range(0, n, most):
            count = min(most, n - first)
            moved = threads.without_past(values) | {"at_parts": plan.backend.address(parts)}
            for array in p.arguments:
                if array.place is not None:
                    moved[f"at_{array.name}"] += first * size * values[f"step_{array.name}"]

            held, keep = record(how.members(p), n=count, **moved), [parts, *arrays.values()]
            for name, items in (("contraction", how.items(p, count)), ("contraction_sum", count * nest.size * LANES)):
                run = plan.module(how).bind(name, Shape(self.threads), held, keep=keep)
                runs.append(functools.partial(run, items))
        return functools.partial(_one_by_one, runs)

    def members(self, p: Program) -> str:
        members = super().members(p)
        return f"{members} at_parts:address" if self.parts > 1 else members

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        wide = widest(threads.nests(p)[0], p.dtype)
        parts = () if p.mixed else (1, 2, 8, 32, 128, 512, 2048)
        return {
            "threads": (64, 128, 256, 512),
            "lanes": (1, 2, 4, 8, 16, 32),
            "near": tuple(sorted({1, wide})),
            "parts": parts,
        }

    def legal(self, p: Program) -> bool:
        if not super().legal(p):
            return False
        return self.near == 1 or (self.lanes > 1 and self.near == widest(threads.nests(p)[0], p.dtype))

    def accesses(self, p: Program, n: Nest, q: Product, many: int) -> float:
        turn = self.lanes * self.near
        return n.size * (-(-many // turn) * turn * len(q.factors) + self.lanes * math.log2(self.lanes))


def _parts(p: Program, lanes: int, loads: int) -> list[int]:
    """Parts of sums with which the lanes of a usual batch fill a device, if they do not without. lanes: of an entry's
    output. loads: of a lane."""
    missing = FILLED // (library_costs.usual_batch(p) * lanes)
    most = min(missing, loads // TURNS)
    return [2 ** int(math.log2(most))] if most > 1 else []


def _place(p: Program, n: Nest, names) -> list[str]:
    """C++ of the place of a number of the output. Neighbours in memory have neighbouring numbers."""
    spread = f"const long b = number / {n.size};\nconst int x = int(number % {n.size});"
    if batch_is_last(p):
        spread = "const long b = number % a.n;\nconst int x = int(number / a.n);"
    return [spread, "(void)b, (void)x;", *pointers(p, "b"), f"// {n.statement}", *threads.split(n.loops, "x", names)]


def _side_by_side(p: Program, n: Nest) -> bool:
    """Whether neighbours of the output read neighbours of the factors, or the same numbers."""
    if p.mixed:
        return False
    steps = [step_of_neighbours(p, n, f) for f in n.factors]
    return 1 in steps and all(step in (0, 1) for step in steps)


def _stored(n: Nest, names) -> list[str]:
    """C++ that stores a sum, by one lane."""
    return [
        f"if (on && lane == 0) {{ scalar &to = at_{n.names[0]}[{threads.offset(n, 0, n.loops, names)}];",
        f"to = {threads.old_value(n)}sum; }}",
    ]


def _one_by_one(runs) -> None:
    for run in runs:
        run()


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
    *slow, fast = q.sums
    if fast.extent % v:
        return False

    return all(fast.step[f] == 1 and threads.whole_steps((*n.loops, *slow), f, v) for f in q.factors)
