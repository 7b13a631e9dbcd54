"""Barracuda's decomposition: a kernel for each product, whose loops go to the axes of blocks and threads.

Nelson, Rivera, Balaprakash, Hall, Hovland, Jessup & Norris, "Generating efficient tensor contractions for GPUs", ICPP
2015, section IV: "TCR and generating the search space". A product of a statement is a kernel. Each loop over the output
goes to ThreadX, ThreadY, BlockX or BlockY, or stays in the thread. Loops in the thread are permuted, the innermost is
unrolled, and the output is a scalar until the sum is done. Temporaries lie in global memory between the kernels.

Not in the paper: a batch, whose extent is known at run time. Its entries are further blocks.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import ClassVar, NamedTuple

import numpy as np

from ...engine.backend.base import Shape, Source
from ...engine.backend.record import record, structure
from ...engine.errors import VariantUnsuitable
from .. import render_threads as threads
from ..plan import Loop, Nest, Product, Program, includes, nest, pointers, program_source
from ..prices import price_of
from . import device, library_costs
from .base import Organisation
from .threads import memory_seconds

NONE = -1  # an axis without a loop: extent 1
THREAD_X, THREAD_Y, BLOCK_X, BLOCK_Y = AXES = range(4)
NAMES_OF_AXES = ("thread_x", "thread_y", "block_x", "block_y")
CHOICES = 4  # loops that an axis may have (section IV: "fewer than four parallel loops")
UNROLLS = 10  # factors from 1 up (Figure 2c: UF_2)
PERMUTED = 4  # loops in a thread that are permuted, at most
USUAL = 256  # threads of a block, at most
MOST_BLOCKS = 2**31 - 1
LINE = 32  # numbers: temporaries begin at multiples of it
ONE_BY_ONE = 1.25  # times the memory's time: a thread asks for one number at a time


class Operation(NamedTuple):
    """A product of a statement: what Barracuda makes a kernel of."""

    nest: Nest  # with this product alone, a loop for each index
    product: Product
    add: bool  # to what is in the output
    once: bool  # before the batch


class Decomposition(NamedTuple):
    """How one operation is done."""

    axes: tuple[int, int, int, int]  # place of the loop of ThreadX, ThreadY, BlockX, BlockY; NONE
    order: int  # of the loops in the thread: number of the permutation
    unroll: int  # turns of the innermost loop at once


@dataclasses.dataclass(frozen=True)
class Axes(Organisation):
    """Loops on thread and block axes, loop order and unrolling of each operation."""

    NAMES: ClassVar[tuple[str, ...]] = ("axes",)

    axes: tuple[int, ...]  # four of each operation
    loops: tuple[int, ...]  # order of the loops in the thread, of each operation
    unroll: tuple[int, ...]  # of each operation

    @classmethod
    def made(cls, parts) -> Axes:
        """From the Decomposition of each operation."""
        axes = tuple(itertools.chain.from_iterable(part.axes for part in parts))
        return cls(axes, tuple(part.order for part in parts), tuple(part.unroll for part in parts))

    @property
    def parts(self) -> list[Decomposition]:
        """The Decomposition of each operation."""
        found = []
        for k, (order, unroll) in enumerate(zip(self.loops, self.unroll)):
            x, y, bx, by = self.axes[len(AXES) * k : len(AXES) * (k + 1)]
            found.append(Decomposition((x, y, bx, by), order, unroll))

        return found

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        if _unserved(p):
            return []
        usual = [_usual(o) for o in operations(p)]
        return [cls.made(usual)] if None not in usual else []

    def serves(self, p: Program) -> str:
        reason = _unserved(p)
        return reason or ("" if self.legal(p) else "axes of loops that the program has, with 1024 threads at most")

    def price(self, p: Program, least: float = math.inf) -> float:
        kernels = library_costs.DEVICE.call * len(self.loops) / library_costs.unit("threads", p)
        return threads.work(p) * price_of("axes") + kernels / library_costs.usual_batch(p)

    def floor(self, p: Program) -> float:
        return memory_seconds(p) * ONE_BY_ONE

    def waits(self, p: Program) -> float:
        """By the operations' work."""
        n, made = library_costs.usual_batch(p), operations(p)
        work = [o.nest.size * threads.size(o.product.sums) for o in made]
        total = 0.0

        for share, o, how in zip(work, made, self.parts):
            at_work = _threads(o, how) * _blocks(o, how) * (1 if o.once else n)
            total += share * max(device.FULL / max(at_work, 1), 1.0)

        return total / sum(work)

    # ---- text and launch
    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source:
        members = threads.members(p)
        parts = [*includes("contractions/threads.h", *headers), structure("Arguments", members)]
        for k, (o, how) in enumerate(zip(operations(p), self.parts)):
            parts += _kernel(p, k, o, how)
        return program_source(self.name, p, parts, folders, quick)

    def launch(self, plan, arrays, values, n: int):
        p, backend = plan.program, plan.backend
        _, fixed, each = _temporaries(p)
        arena = backend.empty((max(fixed + each * n, 1),), plan.dtype)
        values = {**threads.without_past(values), "arena": backend.address(arena)}
        held, module = record(threads.members(p), n=n, **values), plan.module(self)

        runs = []
        for k, (o, how) in enumerate(zip(operations(p), self.parts)):
            blocks = _blocks(o, how) * (1 if o.once else n)
            if blocks > MOST_BLOCKS:
                raise VariantUnsuitable(f"'{self.name}': {blocks} blocks, a launch has {MOST_BLOCKS}.")
            shape = Shape(_threads(o, how), 1)
            run = module.bind(_function(k), shape, held, keep=(arena, *arrays.values()))
            runs.append(functools.partial(run, blocks))

        return runs[0] if len(runs) == 1 else functools.partial(_one_by_one, runs)

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        found: dict[str, tuple] = {}
        for k, (o, how) in enumerate(zip(operations(p), self.parts)):
            for name, values in zip(NAMES_OF_AXES, axis_choices(o)):
                found[f"{name}_{k}"] = values
            found[f"loops_{k}"] = tuple(range(orders(o, how.axes)))
            found[f"unroll_{k}"] = unrolls(o, how)

        return found

    def value(self, name: str):
        if name in ("axes", "loops", "unroll"):
            return super().value(name)
        word, k = _coordinate(name)
        if word in NAMES_OF_AXES:
            return self.axes[len(AXES) * k + NAMES_OF_AXES.index(word)]
        return (self.loops if word == "loops" else self.unroll)[k]

    def moved(self, name: str, value) -> Axes:
        """With another loop on an axis: an axis that had it gets the loop that is left. Other loops are then in the
        thread, so their order and unrolling start again."""
        word, k = _coordinate(name)
        if word not in NAMES_OF_AXES:
            field = "loops" if word == "loops" else "unroll"
            return dataclasses.replace(self, **{field: _with(getattr(self, field), k, value)})

        begin, axes = len(AXES) * k, list(self.axes)
        at = begin + NAMES_OF_AXES.index(word)

        for other in range(begin, begin + len(AXES)):
            if value != NONE and axes[other] == value:
                axes[other] = axes[at]

        axes[at] = value
        return Axes(tuple(axes), _with(self.loops, k, 0), _with(self.unroll, k, 1))

    def legal(self, p: Program) -> bool:
        if _unserved(p):
            return False
        made = operations(p)
        if not len(self.axes) == len(AXES) * len(made) == len(AXES) * len(self.loops) == len(AXES) * len(self.unroll):
            return False
        return all(_is_legal(o, how) for o, how in zip(made, self.parts))

    def cost(self, p: Program, moved: int, least: float) -> float:
        """As `device.clocks`: every factor of every term is loaded, and temporaries are written and read."""
        accesses = flops = 0.0
        for o in operations(p):
            many = o.nest.size * threads.size(o.product.sums)
            accesses += o.nest.size + many * len(o.product.factors)
            flops += 2.0 * many

        block = max(_threads(o, how) for o, how in zip(operations(p), self.parts))
        size = np.dtype(p.dtype).itemsize
        _, _, each = _temporaries(p)
        effort = device.Effort(accesses, flops / device.FMA, 0, block)
        return device.clocks(effort, moved + 2 * each * size, size)


def _one_by_one(runs) -> None:
    for run in runs:
        run()


def _with(values: tuple, k: int, value) -> tuple:
    return (*values[:k], value, *values[k + 1 :])


def _coordinate(name: str) -> tuple[str, int]:
    """("block_x", 2) of "block_x_2"."""
    word, _, number = name.rpartition("_")
    return word, int(number)


# ---- operations -----------------------------------------------------------------------------------------------------


def _unserved(p: Program) -> str:
    """The programs that are served, for a message; "" if this program is."""
    if p.expression.symmetric or any(s.function for s in p.statements):
        return "statements that are sums of products, no maps, no symmetric arrays"
    return "" if all(s.terms for s in p.statements) else "statements with terms"


@functools.lru_cache(64)
def operations(p: Program) -> tuple[Operation, ...]:
    """The products of all statements, in their order."""
    found = []
    for s in p.statements:
        whole = nest(p, s, far=True, join=False)
        for place, product in enumerate(whole.products):
            alone = dataclasses.replace(whole, products=(product,))
            found.append(Operation(alone, product, s.add or place > 0, p.once(s)))

    return tuple(found)


@functools.lru_cache(1024)
def axis_choices(o: Operation) -> tuple[tuple[int, ...], ...]:
    """The loops that ThreadX, ThreadY, BlockX and BlockY may have, by the rules of section IV."""
    loops = o.nest.loops
    if not loops:
        return ((NONE,),) * len(AXES)

    # ThreadX: neighbours of an input are read by neighbouring threads. Without such a loop, neighbours of the output.
    near = [x for x, loop in enumerate(loops) if any(loop.step[f] == 1 for f in o.product.factors)]
    near = near or [x for x, loop in enumerate(loops) if loop.step[0] == 1] or list(range(len(loops)))

    # The others: loops of contiguous tensors from the innermost out; if these are fewer than four, of the others.
    arrays = (0, *o.product.factors)
    lies = {f: _is_contiguous(o, f) for f in arrays}
    listed: dict[int, None] = {}

    for f in arrays:
        if lies[f]:
            listed |= dict.fromkeys(x for x in reversed(range(len(loops))) if loops[x].step[f])

    for f in arrays:
        if not lies[f] and len(listed) < CHOICES:
            listed |= dict.fromkeys(x for x in range(len(loops)) if loops[x].step[f])

    some = tuple(listed)[:CHOICES]
    return tuple(near), (*some, NONE), some, (*some, NONE)


def _is_contiguous(o: Operation, f: int) -> bool:
    """Whether an array's indices come in the order of the loops: over the output, then over the sum."""
    steps = [loop.step[f] for loop in (*o.nest.loops, *o.product.sums) if loop.step[f]]
    return steps == sorted(steps, reverse=True)


def _inner(o: Operation, axes) -> list[int]:
    """Places of the loops over the output that stay in the thread."""
    return [x for x in range(len(o.nest.loops)) if x not in axes]


def orders(o: Operation, axes) -> int:
    """How many orders the loops in a thread have. Loops over the output stay outside of the sums, where the output is a
    scalar."""
    return math.factorial(min(len(_inner(o, axes)), PERMUTED)) * math.factorial(min(len(o.product.sums), PERMUTED))


def _permuted(o: Operation, how: Decomposition) -> tuple[list[int], list[int]]:
    """(loops over the output, sums) in a thread by their places, the outermost first."""
    inner, sums = _inner(o, how.axes), list(range(len(o.product.sums)))
    of_sums = math.factorial(min(len(sums), PERMUTED))
    return _permutation(inner, how.order // of_sums), _permutation(sums, how.order % of_sums)


def _permutation(places: list[int], number: int) -> list[int]:
    """A permutation of the last few places by its number."""
    fixed, free = places[:-PERMUTED], places[-PERMUTED:]
    return [*fixed, *next(itertools.islice(itertools.permutations(free), number, None))]


def _innermost(o: Operation, how: Decomposition) -> Loop | None:
    """The loop that is unrolled; None where the thread has none."""
    inner, sums = _permuted(o, how)
    if sums:
        return o.product.sums[sums[-1]]
    return o.nest.loops[inner[-1]] if inner else None


def unrolls(o: Operation, how: Decomposition) -> tuple[int, ...]:
    """The factors that the innermost loop may be unrolled by."""
    loop = _innermost(o, how)
    return tuple(range(1, min(loop.extent, UNROLLS) + 1)) if loop else (1,)


def decompositions(o: Operation):
    """Yields each Decomposition onto axes that a block has threads for, without unrolling and in the first order."""
    for x, y, bx, by in itertools.product(*axis_choices(o)):
        how = Decomposition((x, y, bx, by), 0, 1)
        if _has_axes(o, how):
            yield how
    # All loops are taken by threads: a block for each entry.
    if o.nest.loops:
        for x, y in itertools.product(*axis_choices(o)[:2]):
            how = Decomposition((x, y, NONE, NONE), 0, 1)
            if _has_axes(o, how):
                yield how


def _usual(o: Operation) -> Decomposition | None:
    """The decomposition with the most threads up to USUAL, or with the fewest; None where none fits a block."""
    some = list(decompositions(o))
    small = [how for how in some if _threads(o, how) <= USUAL]
    if small:
        return max(small, key=lambda how: _threads(o, how))
    return min(some, key=lambda how: _threads(o, how), default=None)


def _has_axes(o: Operation, how: Decomposition) -> bool:
    """Whether each loop has one axis, among those that the rules allow, and a block has so many threads."""
    taken = [x for x in how.axes if x != NONE]
    if len(set(taken)) < len(taken) or _threads(o, how) > device.MOST_THREADS:
        return False

    choices = axis_choices(o)
    if any(how.axes[axis] not in choices[axis] for axis in (THREAD_X, THREAD_Y, BLOCK_Y)):
        return False
    if how.axes[BLOCK_X] in choices[BLOCK_X]:
        return True

    # No block has a loop only where none is left.
    left = set(choices[BLOCK_X]) - set(how.axes)
    return how.axes[BLOCK_X] == how.axes[BLOCK_Y] == NONE and not left


def _is_legal(o: Operation, how: Decomposition) -> bool:
    if not _has_axes(o, how) or not 0 <= how.order < orders(o, how.axes):
        return False
    return how.unroll in unrolls(o, how)


def _extent(o: Operation, place: int) -> int:
    return 1 if place == NONE else o.nest.loops[place].extent


def _threads(o: Operation, how: Decomposition) -> int:
    """Threads of a block."""
    return _extent(o, how.axes[THREAD_X]) * _extent(o, how.axes[THREAD_Y])


def _blocks(o: Operation, how: Decomposition) -> int:
    """Blocks of an entry."""
    return _extent(o, how.axes[BLOCK_X]) * _extent(o, how.axes[BLOCK_Y])


# ---- text -----------------------------------------------------------------------------------------------------------


def _function(k: int) -> str:
    """The name of the kernel of an operation."""
    return f"contraction_{k}" if k else "contraction"


def _temporaries(p: Program) -> tuple[dict[str, int], int, int]:
    """(place of each temporary, numbers of those of the whole batch, numbers of those of an entry). The first come
    first in memory; the others follow, array by array, entry by entry."""
    places: dict[str, int] = {}
    numbers = {"shared": 0, "local": 0}

    for a in p.arrays.values():
        if a.kind in numbers:
            places[a.name] = numbers[a.kind]
            numbers[a.kind] += -(-a.size // LINE) * LINE

    return places, numbers["shared"], numbers["local"]


def _temporary_pointers(p: Program, o: Operation) -> list[str]:
    """C++ of the pointers to the temporaries of an operation."""
    places, fixed, _ = _temporaries(p)
    lines = []

    for name in dict.fromkeys(o.nest.names[f] for f in (0, *o.product.factors)):
        if name not in places:
            continue
        at = f"{places[name]}L"
        if p.arrays[name].kind == "local":
            at = f"{fixed}L + a.n * {places[name]}L + b * {-(-p.arrays[name].size // LINE) * LINE}L"
        lines.append(f"scalar *const at_{name} = (scalar *)a.arena + {at};")

    return lines


def _kernel(p: Program, k: int, o: Operation, how: Decomposition) -> list[str]:
    """The kernel of an operation, as pieces of C++."""
    n, own = o.nest, threads.numbered("x", o.nest.loops)
    x, y, bx, by = how.axes

    def turn(place: int, text: str) -> list[str]:
        return [f"const int {own[place]} = {text};"] if place != NONE else []

    # The place of a thread: x is the fastest axis of threads, and of blocks.
    lines = [f"KERNEL({_function(k)}, Arguments, {_threads(o, how)}) {{", f"// {n.statement}"]
    lines += turn(x, f"threadIdx.x % {_extent(o, x)}")
    lines += turn(y, f"threadIdx.x / {_extent(o, x)}")
    lines += turn(bx, f"blockIdx.x % {_extent(o, bx)}")
    lines += turn(by, f"blockIdx.x / {_extent(o, bx)} % {_extent(o, by)}")
    lines += [f"const long b = blockIdx.x / {_blocks(o, how)};\n(void)b;"]
    lines += [*pointers(p, "b"), *_temporary_pointers(p, o)]

    # Loops over the output, the sum in a scalar, one store.
    inner, sums = _permuted(o, how)
    heads = threads.loop_heads([own[i] for i in inner], [n.loops[i] for i in inner])
    turns = threads.numbered("k", o.product.sums)
    summed = threads.loop_heads([turns[i] for i in sums], [o.product.sums[i] for i in sums])
    unrolled = summed or heads
    if unrolled:
        unrolled[-1] = f"UNROLL_BY({how.unroll}) {unrolled[-1]}"

    target = threads.number_at(n, 0, n.loops, own)
    loops, names = (*n.loops, *o.product.sums), (*own, *turns)
    factors = [threads.number_at(n, f, loops, names) for f in o.product.factors]
    words = " * ".join(threads.product_words(o.product, factors))
    return [
        *lines,
        *(f"{head} {{" for head in heads),
        f"scalar sum = {target if o.add else 0};",
        *summed,
        f"    sum {threads.sign_of(o.product)}= {words};",
        f"{target} = sum;",
        "}" * (len(heads) + 1),
    ]
