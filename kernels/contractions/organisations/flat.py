"""A thread for a number of the output, or for some; the thread loops over the sums.

Some are neighbours that are read and written at once, or, where rows are no multiple of these, numbers that lie a
block's threads apart: all of them are asked for before the first is written.
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np

from ...engine.backend.base import Shape
from .. import render_threads as threads
from ..plan import FAR, Loop, Nest, Product, Program, pointers, step_text
from ..prices import price_of
from . import device, first_cache, library_costs
from .base import Organisation, Unable
from .threads import Threads, batch_is_last, memory_seconds, several

EACH = 4, 2  # numbers of a thread that lie apart
SHORT = 6  # terms of sums whose factors are read again for each number of the output, at most
JAM = 4, 2  # turns of the loop before the last that share what they read
HELD, JAMS = 384, 3  # bytes of a thread's sums, at most, where a small matrix is one; turns that are looked at
MATRIX = 16  # terms of such sums, at most
PACE, SLOW, FEW_LINES = 0.85, 1.05, 32  # times the memory's time, where a thread waits for so few lines, or more
BESIDE, ACROSS = 96, 256  # bytes from thread to thread: up to the first lines are shared, from the second on no more
KEPT = 16  # numbers of a factor that a thread's registers keep
# Instructions of a warp: of a turn beside loads and multiply-adds, of a thread, of a number that it stores
OF_TURN, OF_THREAD, OF_NUMBER = 2, 40, 10
ISSUED = 4  # instructions of a multiprocessor in a clock
ADDED = dict(float64=2, float32=1, complex128=8, complex64=4)  # instructions of a multiply-add
LATE, TOGETHER = 3e-7, 4  # seconds until a line comes; lines of a thread that are under way together
WIDE = dict(float64=1, float32=1, complex128=2, complex64=1)  # times its clocks that a load takes in the first cache
FEW, SMALL = device.MULTIPROCESSORS * 256, 64  # threads that leave some multiprocessors idle; of a block then


@dataclasses.dataclass(frozen=True)
class Flat(Threads):
    """A thread for `near` neighbours of the output, `jam` times, or for `each` numbers that lie apart."""

    NAMES: ClassVar[tuple[str, ...]] = ("flat",)
    COMPLEX: ClassVar[bool] = True

    threads: int  # of a block
    near: int = 1  # neighbours of the output that a thread writes at once, 16 bytes at most
    jam: int = 1  # turns of the loop before the last that a thread does; only with near > 1
    each: int = 1  # numbers of a thread, a block's threads apart; only with near = 1

    def details(self) -> list[str]:
        numbers = [*several(self.near, "at once"), *several(self.jam, "turns"), *several(self.each, "apart")]
        return [f"{self.threads} threads", *numbers]

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        if not threads.independent(p):
            return []

        near = 1
        for v in (2, 4):
            if not p.mixed and neighbours(p, v):
                near = v

        found = [cls(256, near)]
        if near == 1:
            found = [cls(256, each=each) for each in (*EACH, 1)]
        elif _share(p):
            found = [cls(256, near, jam) for jam in (*JAM, 1)]
        else:
            found += [cls(256, near, jam) for jam in _jams(p, near)]

        if near > 1 and (threads.nests(p)[0].summed or cls(256, near).waits(p) > 1):
            found.append(cls(256))  # more threads; neighbours then share the lines that each of them reads

        usual = library_costs.usual_batch(p)
        found = [how if how.items(p, usual) > FEW else dataclasses.replace(how, threads=SMALL) for how in found]
        return [how for how in found if how.legal(p)]

    def price(self, p: Program, least: float = math.inf) -> float:
        """The first cache and the instructions of all threads; then a thread's wait for its lines."""
        if p.mixed:
            return threads.effort(p) * price_of("flat")
        work = sum(self._clocks(p, n) for n in threads.nests(p)) / (device.CLOCK * device.MULTIPROCESSORS)
        lines = max(self._lines(p, n) for n in threads.nests(p))
        waiting = lines / TOGETHER * LATE / library_costs.usual_batch(p) / self.waits(p)
        return (work + waiting) / library_costs.unit("threads", p)

    def floor(self, p: Program) -> float:
        few = all(self._lines(p, n) <= FEW_LINES for n in threads.nests(p))
        pace = PACE if few and not _sums_diagonals(p) else SLOW
        return pace * memory_seconds(p, BESIDE, ACROSS, self.near) + self._anew(p)

    def _anew(self, p: Program) -> float:
        """Seconds of an entry for arrays of all entries that the second cache does not hold from one to the next."""
        if batch_is_last(p):
            return 0.0
        common = sum(a.size for a in p.arguments if a.place is None and not a.mixed) * np.dtype(p.dtype).itemsize
        return common / library_costs.DEVICE.copies if p.batch and common > library_costs.DEVICE.cache else 0.0

    def _clocks(self, p: Program, n: Nest) -> float:
        """Clocks of a multiprocessor for a statement of an entry."""
        loops = self._loops(n)
        warps = threads.size(loops) / first_cache.LANES
        instructions = OF_THREAD + OF_NUMBER * self.near * self.jam
        cache = 0.0

        for q in n.products:
            for f, turns in self._loaded(p, n, q):
                near = self._at_once(p, n, q, f)
                each = 1 if near > 1 or n.loops[-1:] and n.loops[-1].step[f] == 0 else self.near
                loads = turns * each * (1 if _stays(n, f) else self.jam)
                cache += loads * first_cache.clocks(p, n, loops, f, near) * WIDE[p.dtype]
                instructions += loads

            added = max(len(q.factors) - 1, 1) * ADDED[p.dtype] * self.near * self.jam
            instructions += threads.size(q.sums) * (OF_TURN + added)

        return warps * max(cache, instructions / ISSUED)

    def _loops(self, n: Nest) -> tuple[Loop, ...]:
        """The loops over threads."""
        if not n.loops:
            return ()
        *outer, last = n.loops
        if self.jam > 1:
            outer[-1] = threads.scaled(outer[-1], self.jam)
        return (*outer, threads.scaled(last, self.near))

    def _loaded(self, p: Program, n: Nest, q: Product) -> list[tuple[int, int]]:
        """(factor, number of its loads by a thread), for all turns of the loops around the factor and of its own
        loops. Registers keep few numbers of a factor from turn to turn."""
        found = []
        for f in q.factors:
            moving = [place for place, loop in enumerate(q.sums) if loop.step[f]]
            own = threads.size([q.sums[place] for place in moving])
            found.append((f, own if own <= KEPT else threads.size(q.sums[: moving[-1] + 1])))

        return found

    def _at_once(self, p: Program, n: Nest, q: Product, f: int) -> int:
        """Numbers of a factor that a load brings."""
        if self.near == 1:
            return 1
        return self.near if threads.near_at_once(n, q, f, self.near) else 1

    def _lines(self, p: Program, n: Nest) -> float:
        """Cache lines that a thread reads in sequence."""
        size, found = np.dtype(p.dtype).itemsize, 0.0
        for q in n.products:
            for f in q.factors:
                steps = [loop for loop in q.sums if loop.step[f]]
                beside = min((loop.step[f] for loop in steps), default=0) * size / first_cache.LINE
                found = max(found, threads.size(steps) * min(beside, 1.0))

        return found

    def serves(self, p: Program) -> str:
        if self.each > 1 and not (self.near == 1 and self._has_each(p)):
            return "each=1: numbers that lie apart are of products without sums"
        return super().serves(p)

    # ---- text and launch
    def text(self, p: Program) -> list[str]:
        if self.near > 1:
            return self._near_text(p)
        if self.each > 1:
            return self._apart_text(p)

        # Neighbouring threads have neighbouring numbers of the output: of the batch, or of an entry.
        most = _largest(p)
        if batch_is_last(p):
            spread = "const long b = item % a.n;\nconst int x = int(item / a.n);"
        else:
            spread = f"const long b = item / {most};\nconst int x = int(item % {most});"

        lines = [*self._head(), spread, "(void)b;", *pointers(p, "b")]
        for n in threads.nests(p):
            lines.append(f"if (x < {n.size}) {threads.block(threads.element(n, 'x'))}")

        return [*lines, "}"]

    def _near_text(self, p: Program) -> list[str]:
        (n,) = threads.nests(p)
        size = n.size // self.near // self.jam

        return [
            *self._head(),
            f"const long b = item / {size};\nconst int x = int(item % {size});\n(void)b;",
            *pointers(p, "b"),
            *near_statement(n, self.near, self.jam),
            "}",
        ]

    def _apart_text(self, p: Program) -> list[str]:
        """Numbers are counted over all entries, from the first entry of the block on."""
        (n,) = threads.nests(p)
        every, size = self.threads * self.each, n.size
        own = threads.numbered("x", n.loops)
        place = [f"const long b = first + at / {size};", "(void)b;", *pointers(p, "b"), f"const int x = at % {size};"]
        place += threads.split(n.loops, "x", own)
        to = _number(n, 0, own)
        sum_ = ["scalar sum = 0;"]

        for q in n.products:
            factors = [_number(n, f, own) for f in q.factors]
            sum_.append(f"sum {threads.sign_of(q)}= {' * '.join(threads.product_words(q, factors))};")

        sum_.append(f"sums[u] = {threads.old_value(n, to)}sum;")

        turns_ = f"UNROLL for (int u = 0; u < {self.each}; ++u)"
        at = f"begin + u * {self.threads}"
        store = [f"const int at = {at};", f"if (at < end) {threads.block([*place, f'{to} = sums[u];'])}"]
        return [
            f"KERNEL(contraction, Arguments, {self.threads}) {{",
            f"const long number = blockIdx.x * {every}L, first = number / {size}, left = items - first * {size};",
            f"const int begin = int(number % {size}) + threadIdx.x;",
            f"const int end = left < {size + every} ? int(left) : {size + every};",
            f"// {n.statement}",
            f"scalar sums[{self.each}];",
            f"{turns_} {threads.block([f'const int at = min({at}, end - 1);', *place, *sum_])}",
            f"{turns_} {threads.block(store)}",
            "}",
        ]

    def _has_each(self, p: Program) -> bool:
        """Whether `each` numbers of a thread serve: of products without sums, in the order of memory."""
        n, *more = threads.nests(p)
        return not (more or p.mixed or n.statement.function or n.summed or (p.batch and batch_is_last(p)))

    def _head(self) -> list[str]:
        return [
            f"KERNEL(contraction, Arguments, {self.threads}) {{",
            "const long item = blockIdx.x * (long)blockDim.x + threadIdx.x;\nif (item >= items) return;",
        ]

    def stand_ins(self) -> list[Organisation]:
        return [self, dataclasses.replace(self, near=1)] if self.near > 1 else [self]

    def for_arrays(self, p: Program, values) -> Flat:
        if self.near > 1 and threads.unaligned(self._wide(p), values, self.near):
            return dataclasses.replace(self, near=1)
        return self

    def _wide(self, p: Program) -> set[str]:
        """Arrays of which neighbours are read or written at once."""
        (n,) = threads.nests(p)
        found = {n.statement.out.name}

        for q in n.products:
            for f in q.factors:
                if threads.near_at_once(n, q, f, self.near):
                    found.add(n.names[f])

        return found

    def items(self, p: Program, n: int) -> int:
        numbers = _largest(p) // self.near
        return n * (numbers // (self.jam if self.near > 1 else 1))

    def shape(self, p: Program) -> Shape:
        return Shape(self.threads, self.threads * self.each) if self.each > 1 else super().shape(p)

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        turns = _turns(threads.nests(p)[0])
        return {
            "threads": (64, 128, 256, 512),
            "near": (1, *(v for v in (2, 4) if neighbours(p, v))),
            "jam": tuple(j for j in (1, 2, 4, 8) if turns % j == 0),
            "each": (1, 2, 4, 8),
        }

    def moved(self, name: str, value) -> Flat:
        if name == "jam" and self.near == 1 and value > 1:
            raise Unable("turns are of neighbours")
        if name == "each" and self.near > 1 and value > 1:
            raise Unable("neighbours are read at once")
        if name == "near":
            return dataclasses.replace(self, near=value, jam=1 if value == 1 else self.jam, each=1)
        return dataclasses.replace(self, **{name: value})

    def legal(self, p: Program) -> bool:
        if not super().legal(p) or (self.each > 1 and not self._has_each(p)):
            return False
        return self.near == 1 or (neighbours(p, self.near) and _turns(threads.nests(p)[0]) % self.jam == 0)

    def accesses(self, p: Program, n: Nest, q, many: int) -> float:
        loads = 0.0
        for f in q.factors:
            along = bool(n.loops) and n.loops[-1].step[f] % FAR == 0
            again = self.jam if _stays(n, f) else 1
            loads += 1 / (self.near if along else 1) / again

        return n.size * many * loads


def _largest(p: Program) -> int:
    """Numbers of an entry of the largest output."""
    return max(n.size for n in threads.nests(p))


def _sums_diagonals(p: Program) -> bool:
    """Whether terms of a sum lie on a diagonal: each has a line of its own."""
    if not any(n.summed for n in threads.nests(p)):
        return False
    return any(library_costs.is_diagonal(r) for name in p.expression.inputs for r in p.expression.references[name])


def _share(p: Program) -> bool:
    """Whether turns of the loop before the last share what they read, for short sums: longer ones are for tiles."""
    (n,) = threads.nests(p)
    if not n.summed or any(threads.size(q.sums) > SHORT for q in n.products):
        return False
    return any(_stays(n, f) for f in n.factors)


def _jams(p: Program, near: int) -> list[int]:
    """Turns of the loop before the last, along which a small matrix lies: the largest factor, whose neighbours are
    read at once, is read once for all of them. The most that registers hold, and the next divisors of them."""
    (n,) = threads.nests(p)
    if not n.summed or len(n.products) > 1 or len(n.factors) < 2:
        return []
    *others, large = sorted(n.factors, key=lambda f: p.arrays[n.names[f]].size)
    if not _stays(n, large) or n.loops[-1].step[large] != 1:
        return []

    terms = threads.size(n.products[0].sums)
    if terms > MATRIX or any(p.arrays[n.names[f]].size > _turns(n) * terms for f in others):
        return []
    most = HELD // (near * np.dtype(p.dtype).itemsize)
    able = [jam for jam in range(2, most + 1) if _turns(n) % jam == 0]
    return able[-JAMS:]


def _stays(n: Nest, f: int) -> bool:
    """Whether a factor has the same numbers for all turns of the loop before the last."""
    return len(n.loops) > 1 and n.loops[-2].step[f] == 0


def _number(n: Nest, place: int, names) -> str:
    """C++ of number x of an array that lies as the loops go, or at their turns."""
    dense = 1
    for loop in reversed(n.loops):
        if loop.step[place] != dense:
            return threads.number_at(n, place, n.loops, names)
        dense *= loop.extent

    return f"at_{n.names[place]}[x]"


def _turns(n: Nest) -> int:
    """Turns of the loop before the last."""
    return n.loops[-2].extent if len(n.loops) > 1 else 1


def neighbours(p: Program, v: int) -> bool:
    """Whether v numbers of the output, at most 16 bytes, lie side by side in every row."""
    n, *more = threads.nests(p)
    if more or n.statement.function or v * np.dtype(p.dtype).itemsize > 16 or not n.loops:
        return False

    *outer, last = n.loops
    return last.step[0] == 1 and last.extent % v == 0 and threads.whole_steps(outer, 0, v)


def near_statement(n: Nest, v: int, jam: int) -> list[str]:
    """C++ of v neighbours of the output, for `jam` turns of the loop before, which share what they read alike.

    All old values are asked for before the first is written.
    """
    names = threads.numbered("x", n.loops)
    *outer, last = n.loops
    short = (*outer, threads.scaled(last, v))
    lines = [f"// {n.statement}", f"Near<{v}> sums[{jam}];"]

    # Indices of the output: `turn` counts the turns of the loop before the last.
    turns_ = f"UNROLL for (int turn = 0; turn < {jam}; ++turn) {{"
    if jam > 1:
        before = outer[-1]._replace(extent=outer[-1].extent // jam)
        lines += threads.split((*outer[:-1], before, short[-1]), "x", [*names[:-2], "first", names[-1]])
        turns_ += f" const int {names[-2]} = first * {jam} + turn;"
    else:
        lines += threads.split(short, "x", names)

    # The initial values of the sums.
    to = f"(Near<{v}> *)(at_{n.names[0]} + {threads.offset(n, 0, short, names)})"
    begin = f"UNROLL for (int s = 0; s < {v}; ++s) sums[turn].v[s] = 0;"
    if n.statement.add:
        begin = f"sums[turn] = *{to};"

    lines += [turns_, begin, "}"]

    # Products: a factor is one number for all neighbours, read at once, or read number by number.
    for q in n.products:
        turns = threads.numbered("k", q.sums)
        lines += threads.loop_heads(turns, q.sums)
        loads, factors = [], []

        for j, f in enumerate(q.factors):
            at = f"at_{n.names[f]} + {threads.offset(n, f, (*short, *q.sums), (*names, *turns))}"
            if last.step[f] == 0:
                loads.append(f"const scalar f{j} = *({at});")
                factors.append(f"f{j}")
            elif threads.near_at_once(n, q, f, v):
                loads.append(f"const Near<{v}> f{j} = *(const Near<{v}> *)({at});")
                factors.append(f"f{j}.v[s]")
            else:
                loads.append(f"const scalar *const f{j} = {at};")
                factors.append(f"f{j}[s * ({step_text(last.step[f], threads.row_length(n, f))})]")

        product = " * ".join(threads.product_words(q, factors))
        add = f"UNROLL for (int s = 0; s < {v}; ++s) sums[turn].v[s] {threads.sign_of(q)}= {product};"
        lines += [turns_, *loads, add, "}"]

    return [*lines, turns_, f"*{to} = sums[turn];", "}"]
