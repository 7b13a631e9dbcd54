"""A matrix library does the products: cuBLAS on a device, NumPy's BLAS on a CPU. Arrays are read and written as they
lie where the library can, and copied to another order where it cannot, or where that is faster.

Extents are read when a plan is bound, so one compiled source, of the copies, serves all.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...engine.backend.base import Source
from .. import fold, permute, products, scratch
from ..expression import Reference, Statement, Term
from ..plan import Program, Unable
from . import library_costs
from .base import Organisation

BEGIN = 32  # numbers: what lies in the scratch begins at multiples of it
RANKS = (0, 1, 2, 3)  # ways that a search tries


class Stretch(NamedTuple):
    """An array as a statement reads or writes it."""

    name: str
    steps: dict[str, int]  # of each index, in numbers


class Product(NamedTuple):
    """A term of two factors and the way that it is done."""

    out: Stretch
    factors: tuple[Stretch, Stretch]
    way: fold.Way
    scale: fold.Scale


class Copy(NamedTuple):
    """A term of one factor without a sum."""

    out: Stretch
    factor: Stretch
    moves: tuple[fold.Move, ...]
    scale: fold.Scale


class End(NamedTuple):
    """Where a step reads or writes."""

    array: int  # place among the arrays, of which the scratch is the last
    begin: int  # numbers

    def of(self, arrays):
        """The array, or the scratch from there on."""
        return arrays[self.array][self.begin :] if self.begin else arrays[self.array]

    def after(self, numbers: int) -> End:
        return End(self.array, self.begin + numbers)


@dataclasses.dataclass(frozen=True)
class Library(Organisation):
    """Each product of two arrays goes to a matrix library, as a call, or as many with one table of addresses."""

    NAMES: ClassVar[tuple[str, ...]] = ("library",)
    FREE: ClassVar[bool] = True
    STRIDED: ClassVar[bool] = True
    COMPLEX: ClassVar[bool] = True
    ON_LINES: ClassVar[bool] = False
    STYLE: ClassVar[str] = ""  # of the backend

    rank: int = 0  # of the ways to fold each product, by the model: 0 is the best

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        how = cls()
        return [] if how.serves(p) else [how]

    def serves(self, p: Program) -> str:
        if p.expression.symmetric:
            return "arrays that are not symmetric"
        for s in p.statements:
            if s.function or not s.terms:
                return "statements that are sums of products, no maps"
            for t in s.terms:
                reason = _unserved(s, t)
                if reason:
                    return reason
        return ""

    def price(self, p: Program, least: float = math.inf) -> float:
        """Seconds of the copies and products for a usual batch, in the units of the other organisations."""
        entries = library_costs.usual_batch(p)
        job = self._job(p, _Arrays(p, entries))
        seconds = self._seconds(p, job) + library_costs.fresh_seconds(self.STYLE, p)
        seconds += library_costs.between(self.STYLE, len(job))
        return seconds / entries / library_costs.unit(self.STYLE, p)

    def seconds_of_gaps(self, p: Program, arrays, n: int) -> float:
        as_they_lie, contiguous = (self._job(p, _Arrays(p, n, known)) for known in (_lies(arrays), None))
        return self._seconds(p, as_they_lie) - self._seconds(p, contiguous)

    def _seconds(self, p: Program, job) -> float:
        """Seconds of the copies and products."""
        return sum(library_costs.step_seconds(self.STYLE, p.dtype, step) for step in job)

    def sums_by_a_vendor(self, p: Program) -> bool:
        return any(t.sums(s.out) for s in p.statements for t in s.terms)

    def __str__(self):
        return self.name if not self.rank else f"{self.name} (way {self.rank})"

    # ---- text and launch
    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source:
        """The products are the library's own. Ours are the copies, here the copy with a number: see `sources`."""
        return permute.source(self.STYLE, f"scale_{p.dtype}")

    def sources(self, plan) -> list[Source]:
        """The copies and the tables of addresses, the same for all programs of a type."""
        return [*permute.sources(self.STYLE, plan.program.dtype), *products.sources(self.STYLE)]

    def launch(self, plan, arrays, values, n: int):
        p, backend = plan.program, plan.backend
        if n == 0:
            return _nothing
        strides = tuple(arrays[a.name].strides for a in p.arguments)
        job = plan.kept(("job", self, n, strides), functools.partial(self._job, p, _Arrays(p, n, _lies(arrays))))

        # The scratch: locals, then the copies of a product, which the next product may overwrite.
        places, copies = _locals(p, n)
        numbers = copies + max(map(_copied, job), default=0)
        arena = backend.empty((numbers,), plan.dtype)
        begin, size = backend.address(arena), plan.dtype.itemsize
        addresses = {a.name: values[f"at_{a.name}"] for a in p.arguments}
        addresses |= {name: begin + place * size for name, place in places.items()}

        keep = (arena, *arrays.values())
        runs = []
        for step in job:
            runs += _bound(backend, p.dtype, step, addresses, begin + copies * size, keep)
        return products.in_turn(runs)

    def again(self, plan, arrays, values, n: int):
        p, backend = plan.program, plan.backend
        if backend.memory == "device" or n == 0:
            return None

        # The scratch as in `launch`.
        job = self._job(p, _Arrays(p, n, _lies(arrays)))
        places, copies = _locals(p, n)
        numbers = copies + max(map(_copied, job), default=0)
        names = list(arrays)
        ends = {a.name: End(names.index(a.name), 0) for a in p.arguments}
        ends |= {name: End(len(names), place) for name, place in places.items()}
        lie: list[Any] = [(array.shape, array.strides) for array in arrays.values()]
        runs = []
        for step in job:
            runs += _again(backend, p.dtype, step, ends, End(len(names), copies), [*lie, None])
        if len(runs) == 1 and not numbers:
            ((only, of),) = runs
            taken = operator.itemgetter(*(end.array for end in of))
            return lambda given: only(*taken(given))

        def run(given) -> None:
            arrays = [*given, scratch.room("library", (numbers,), plan.dtype)] if numbers else given
            for each, ends in runs:
                each(*[end.of(arrays) for end in ends])

        return run

    def _job(self, p: Program, arrays: _Arrays) -> list[Product | Copy]:
        """Products and copies, in their order."""
        steps: list[Product | Copy] = []
        for s in p.statements:
            for place, t in enumerate(s.terms):
                scale = fold.Scale(t.number, s.add or place > 0)
                steps.append(self._step(p.dtype, arrays, s.out, t, scale))
        return steps

    def _step(self, dtype: str, arrays: _Arrays, written: Reference, t: Term, scale: fold.Scale) -> Product | Copy:
        out, *factors = (arrays.stretch(r) for r in (written, *t.factors))
        if len(factors) == 1:
            moves = tuple(fold.Move(arrays.sizes[i], factors[0].steps[i], out.steps[i]) for i in out.steps)
            return Copy(out, factors[0], moves, scale)

        folded = fold.fold(arrays.sizes, out.steps, *(f.steps for f in factors))
        ways = [w for w in fold.ways(folded) if products.plain(self.STYLE, w, scale)]
        ways.sort(key=lambda w: library_costs.seconds(self.STYLE, dtype, w, scale.add))
        return Product(out, (factors[0], factors[1]), ways[min(self.rank, len(ways) - 1)], scale)

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        return {"rank": RANKS}

    def cost(self, p: Program, moved: int, least: float) -> float:
        return library_costs.of_search(self.STYLE, self.price(p))


@dataclasses.dataclass(frozen=True)
class HostLibrary(Library):
    """NumPy's BLAS."""

    STYLE: ClassVar[str] = "packs"

    def by_threads(self, p: Program, price: float, threads: int) -> float:
        """It has threads of its own, which the measured rates count."""
        return price


@dataclasses.dataclass(frozen=True)
class DeviceLibrary(Library):
    """cuBLAS through CuPy."""

    STYLE: ClassVar[str] = "threads"


def _nothing() -> None:
    """A run for no entries."""


class _Arrays:
    """How the arrays of a program lie for n entries: by strides, or contiguous where they are not known."""

    def __init__(self, p: Program, n: int, known=None):
        self.program, self.known = p, known or {}
        self.sizes = p.sizes | ({p.batch: n} if p.batch else {})

    def stretch(self, r: Reference) -> Stretch:
        """The array of a reference with the step of each index; an index that stands twice adds both."""
        if r.name not in self.known:
            return Stretch(r.name, fold.dense(r.indices, self.sizes))

        strides, size = self.known[r.name]
        steps: dict[str, int] = {}
        for index, stride in zip(r.indices, strides):
            steps[index] = steps.get(index, 0) + stride // size
        return Stretch(r.name, steps)


def _lies(arrays) -> dict[str, tuple]:
    """(strides, bytes of a number) of each array: `_Arrays` is kept, the arrays are not."""
    return {name: (array.strides, array.dtype.itemsize) for name, array in arrays.items()}


def _unserved(s: Statement, t: Term) -> str:
    """The terms that a library serves, for a message; "" if it serves this term."""
    if t.number == 0:
        return "terms whose number is not 0"
    if len(t.factors) == 1:
        return "" if set(t.factors[0].indices) == set(s.out.indices) else "terms of one factor without sums"
    if len(t.factors) != 2:
        return "terms of one or two factors"
    try:
        fold.roles(s.out.indices, *(f.indices for f in t.factors))
    except Unable as reason:
        return str(reason)
    return ""


def _locals(p: Program, n: int) -> tuple[dict[str, int], int]:
    """(where each local lies in the scratch, numbers of all)"""
    places: dict[str, int] = {}
    at = 0
    for a in p.arrays.values():
        if a.kind != "argument":
            places[a.name] = at
            at += _rounded(math.prod(n if x is None else x for x in a.extents))
    return places, at


def _rounded(numbers: int) -> int:
    return -(-numbers // BEGIN) * BEGIN


def _copied(step: Product | Copy) -> int:
    """Numbers of the copies of a step."""
    if isinstance(step, Copy):
        return 0
    return sum(_size(moves) for moves, copied in zip(step.way.copies, step.way.copied) if copied)


def _size(moves) -> int:
    return _rounded(math.prod(m.extent for m in moves))


def _bound(backend, dtype: str, step: Product | Copy, addresses, scratch: int, keep) -> list:
    """The runs of a step. scratch: the address of the memory for its copies."""
    if isinstance(step, Copy):
        ends = addresses[step.factor.name], addresses[step.out.name]
        return [permute.bound(backend, dtype, step.moves, *ends, step.scale, keep)]

    way, size = step.way, np.dtype(dtype).itemsize
    arrays = [addresses[x.name] for x in (step.out, *step.factors)]
    worked = [scratch + place * size if copied else array for array, (copied, place) in zip(arrays, _placed(way))]

    copies = [(way.copies[k], arrays[k], worked[k]) for k in (fold.LEFT, fold.RIGHT) if way.copied[k]]
    runs = permute.together(backend, dtype, copies, keep) if copies else []
    if not way.copied[fold.OUT]:
        return [*runs, products.bound(backend, dtype, way, worked, step.scale, keep)]

    # The output's copy is written anew, then goes to its place.
    ends = worked[fold.OUT], arrays[fold.OUT]
    last = permute.bound(backend, dtype, _back(way), *ends, step.scale, keep)
    return [*runs, products.bound(backend, dtype, way, worked, keep=keep), last]


def _again(backend, dtype: str, step: Product | Copy, ends: dict[str, End], scratch: End, lie) -> list:
    """The same for arrays that change: (function of arrays, where these lie) of each run. lie: see products.again, of
    all arrays."""
    if isinstance(step, Copy):
        run = permute.again(backend, dtype, step.moves, step.scale)
        return [(run, (ends[step.factor.name], ends[step.out.name]))]

    way = step.way
    arrays = [ends[x.name] for x in (step.out, *step.factors)]
    worked = [scratch.after(place) if copied else array for array, (copied, place) in zip(arrays, _placed(way))]

    runs: list[tuple[Any, tuple[End, ...]]] = []
    for array in (fold.LEFT, fold.RIGHT):
        if way.copied[array]:
            runs.append((permute.again(backend, dtype, way.copies[array]), (arrays[array], worked[array])))
    runs.append((products.again(dtype, way, [lie[end.array] for end in worked]), tuple(worked)))
    if way.copied[fold.OUT]:
        back = permute.again(backend, dtype, _back(way), step.scale)
        runs.append((back, (worked[fold.OUT], arrays[fold.OUT])))
    return runs


def _placed(way: fold.Way) -> list[tuple[bool, int]]:
    """For out, left and right: whether it is copied, and where its copy begins in the scratch."""
    found, place = [], 0
    for array in (fold.OUT, fold.LEFT, fold.RIGHT):
        found.append((way.copied[array], place))
        place += _size(way.copies[array]) if way.copied[array] else 0
    return found


def _back(way: fold.Way) -> list[fold.Move]:
    """The moves from the output's copy to the output."""
    return [fold.Move(m.extent, m.target, m.source) for m in way.copies[fold.OUT]]
