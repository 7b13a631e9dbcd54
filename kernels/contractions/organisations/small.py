"""Small entries: a thread has all numbers of an entry in registers, or of some that lie side by side.

Entries without gaps are read and written by 16 bytes, whatever their length: of 3 x 3 numbers of float32 a thread has
four entries. What all entries share is read from the first cache.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import ClassVar, NamedTuple

import numpy as np

from .. import render_threads as threads
from ..plan import FAR, Loop, Nest, Program
from . import device, first_cache, library_costs
from .flat import ADDED, ISSUED, LATE, OF_NUMBER, OF_THREAD
from .threads import Threads, several

HELD = 512  # bytes of a thread's numbers, at most
WORK = 1024  # multiply-adds of a thread, at most: all are written out
PACE = 0.9  # times the memory's time


class Entry(NamedTuple):
    """What a thread works on: the turns of the inner loops of a statement."""

    nest: Nest  # of its loops
    beside: int  # entries of this kind in an entry of the batch
    own: dict[str, int]  # {array: its numbers}; the other arrays are shared by all entries

    @property
    def numbers(self) -> int:
        return sum(self.own.values())

    @property
    def work(self) -> int:
        """Multiply-adds."""
        return self.nest.size * sum(threads.size(q.sums) for q in self.nest.products)


@dataclasses.dataclass(frozen=True)
class Small(Threads):
    """A thread for an entry, or for as many as `near` numbers at once need."""

    NAMES: ClassVar[tuple[str, ...]] = ("small",)

    threads: int  # of a block
    near: int = 1  # neighbours that a thread reads or writes at once, 16 bytes at most

    def details(self) -> list[str]:
        return [f"{self.threads} threads", *several(self.near, "at once")]

    def entries(self, p: Program) -> int:
        """Entries of a thread: whole reads."""
        return max(self.near // math.gcd(self.near, size) for size in entry_of(p).own.values())

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Threads]:
        if not entry_of(p):
            return []
        how = cls(128, 16 // np.dtype(p.dtype).itemsize)
        return [how] if how.legal(p) else []

    def serves(self, p: Program) -> str:
        if not entry_of(p):
            return "one statement of small entries, which are the slowest index of all arrays"
        return "" if self.legal(p) else f"{HELD} bytes and {WORK} multiply-adds of a thread, at most"

    def price(self, p: Program, least: float = math.inf) -> float:
        """The first cache and the instructions of all threads; then a wait for the numbers."""
        entry, many = entry_of(p), self.entries(p)
        n, size = entry.nest, library_costs.usual_batch(p)
        cache = loads = 0.0
        for numbers in entry.own.values():
            places = [lane * many * numbers for lane in range(first_cache.LANES)]
            reads = many * numbers / self.near
            cache += reads * first_cache.clocks_at(p, places, self.near)
            loads += reads
        shared = [f for f in n.factors if n.names[f] not in entry.own]
        loads += entry.work * len(shared)

        instructions = OF_THREAD + OF_NUMBER * loads + entry.work * many * ADDED[p.dtype]
        clocks = max(cache + entry.work * len(shared), instructions / ISSUED)
        warps = entry.beside / many / first_cache.LANES
        seconds = warps * clocks / (device.CLOCK * device.MULTIPROCESSORS) + LATE / size / self.waits(p)
        return seconds / library_costs.unit("threads", p)

    def floor(self, p: Program) -> float:
        return PACE * library_costs.memory_seconds("threads", p)

    # ---- text and launch
    def text(self, p: Program) -> list[str]:
        entry, many = entry_of(p), self.entries(p)
        n = entry.nest
        out = n.names[0]
        read = [name for name in entry.own if name != out or n.statement.add]
        return [
            f"KERNEL(contraction, Arguments, {self.threads}) {{",
            "const long item = blockIdx.x * (long)blockDim.x + threadIdx.x;\nif (item >= items) return;",
            f"// {n.statement}",
            f"const long first = item * {many}, left = a.n * {entry.beside} - first;",
            *self._pointers(p, entry),
            *(f"alignas(16) scalar own_{name}[{many * size}];" for name, size in entry.own.items()),
            f"if (left >= {many}) {threads.block([self._whole(name, many * entry.own[name], True) for name in read])}",
            f"else {threads.block([self._rest(name, many, entry.own[name], True) for name in read])}",
            f"UNROLL for (int e = 0; e < {many}; ++e) {threads.block(self._computed(entry))}",
            f"if (left >= {many}) {threads.block([self._whole(out, many * entry.own[out], False)])}",
            f"else {threads.block([self._rest(out, many, entry.own[out], False)])}",
            "}",
        ]

    def _pointers(self, p: Program, entry: Entry) -> list[str]:
        """C++ of pointers: to a thread's first entry, or to what all share."""
        lines = []
        for a in p.arguments:
            kind = "scalar" if a.name in p.expression.outputs else "const scalar"
            move = ""
            if a.name in entry.own:
                numbers = entry.own[a.name]
                move = f" + first * {numbers}"
                if self.near == 1:
                    step = f"a.step_{a.name}" if a.place is not None else "0"
                    move = f" + first / {entry.beside} * {step} + first % {entry.beside} * {numbers}"
            lines.append(f"{kind} *__restrict__ const at_{a.name} = ({kind} *)a.at_{a.name}{move};")
        return lines

    def _whole(self, name: str, numbers: int, reads: bool) -> str:
        """C++ that reads or writes all entries of a thread."""
        near = f"Near<{self.near}>"
        here, there = f"*({near} *)(own_{name} + r)", f"*({'const ' if reads else ''}{near} *)(at_{name} + r)"
        to, value = (here, there) if reads else (there, here)
        return f"UNROLL for (int r = 0; r < {numbers}; r += {self.near}) {to} = {value};"

    def _rest(self, name: str, many: int, numbers: int, reads: bool) -> str:
        """C++ of the same where fewer entries are left."""
        to, value = f"own_{name}[r]", f"at_{name}[r]"
        step = f"if (r < left * {numbers}) {value} = {to};"
        if reads:
            step = f"{to} = r < left * {numbers} ? {value} : scalar(0);"
        return f"UNROLL for (int r = 0; r < {many * numbers}; ++r) {step}"

    def _computed(self, entry: Entry) -> list[str]:
        """C++ of an entry."""
        n = entry.nest
        own = threads.numbered("x", n.loops)
        lines = ["scalar sum = 0;"]
        for q in n.products:
            inner = threads.numbered("k", q.sums)
            heads = [f"UNROLL {head}" for head in threads.loop_heads(inner, q.sums)]
            factors = [self._number(entry, f, (*n.loops, *q.sums), (*own, *inner)) for f in q.factors]
            lines += [*heads, f"sum {threads.sign_of(q)}= {' * '.join(threads.product_words(q, factors))};"]
        to = self._number(entry, 0, n.loops, own)
        lines.append(f"scalar &to = {to};\nto = {threads.old_value(n)}sum;")
        heads = " ".join(f"UNROLL {head}" for head in threads.loop_heads(own, n.loops))
        return [f"{heads} {threads.block(lines)}"]

    def _number(self, entry: Entry, place: int, loops, names) -> str:
        """C++ of a number of an array: a thread's own, or a shared one."""
        name, at = entry.nest.names[place], threads.offset(entry.nest, place, loops, names)
        return f"own_{name}[e * {entry.own[name]} + {at}]" if name in entry.own else f"at_{name}[{at}]"

    def stand_ins(self) -> list[Threads]:
        return [self, dataclasses.replace(self, near=1)] if self.near > 1 else [self]

    def for_arrays(self, p: Program, values) -> Small:
        """One number at once where entries have gaps, or begin elsewhere than at 16 bytes."""
        for a in p.arguments:
            if a.name in entry_of(p).own and (values[f"at_{a.name}"] % 16 or self._has_gaps(a, values)):
                return dataclasses.replace(self, near=1)
        return self

    @staticmethod
    def _has_gaps(a, values) -> bool:
        return a.place is not None and values[f"step_{a.name}"] != a.size

    def items(self, p: Program, n: int) -> int:
        return -(-n * entry_of(p).beside // self.entries(p))

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        return {"threads": (64, 128, 256), "near": (1, 16 // np.dtype(p.dtype).itemsize)}

    def legal(self, p: Program) -> bool:
        entry = entry_of(p)
        if not super().legal(p) or not entry or self.near > 16 // np.dtype(p.dtype).itemsize:
            return False
        many = self.entries(p)
        return many * entry.numbers * np.dtype(p.dtype).itemsize <= HELD and many * entry.work <= WORK


@functools.lru_cache(64)
def entry_of(p: Program) -> Entry | None:
    """The entries of a program; None if it has none of this kind."""
    if p.mixed or p.complex or len(p.statements) != 1 or not threads.independent(p):
        return None
    (n,) = threads.nests(p)
    if n.statement.function or not n.products or any(a.place not in (0, None) for a in p.arguments):
        return None

    # Arrays of the batch, or of the slowest loop.
    arrays = {name: p.arrays[name] for name in n.names}
    if p.batch:
        own = {name for name, a in arrays.items() if a.place == 0}
    else:
        own = {name for f, name in enumerate(n.names) if n.loops and n.loops[0].step[f]}
    numbers, beside, loops = {name: arrays[name].size for name in arrays if name in own}, 1, list(n.loops)
    if n.names[0] not in own:
        return None

    # Slow loops that go through all of these arrays, and through no other.
    while loops and all(_is_slowest(loops[0], f, name, numbers) for f, name in enumerate(n.names)):
        slow = loops.pop(0)
        numbers = {name: size // slow.extent for name, size in numbers.items()}
        beside *= slow.extent
    if not p.batch and beside == 1:
        return None
    if any(loop.step[f] >= FAR for loop in loops for f in range(len(n.names))):
        return None
    return Entry(dataclasses.replace(n, loops=tuple(loops)), beside, numbers)


def _is_slowest(loop: Loop, f: int, name: str, numbers: dict[str, int]) -> bool:
    """Whether a loop is the slowest of an array's own numbers, or passes a shared array by."""
    return loop.step[f] * loop.extent == numbers[name] if name in numbers else loop.step[f] == 0
