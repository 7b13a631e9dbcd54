"""Complex contractions by a real one that reads the arrays as they lie, with the part as the last index.

Where a product has one complex factor, the parts do not meet. Of several factors the first one lies as it is; each
further one is copied as matrices of real numbers (matrices.py), whose row is the part before and whose column is the
part behind: c[i k p] = a[i j q] b[j k q p]. Each part of a result is so a real sum of twice the terms, the same as
those of the parts apart.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from ..engine.backend.cpu import Again
from . import scratch
from .contraction import Contraction
from .expression import Expression, Reference, Statement, Term
from .matrices import PARTS, Matrices
from .organisations import library_costs

SIDE = "side"  # index of the parts that lie side by side
CALL = 4e-6  # seconds of a call with copies
BESIDE = 1.1  # times the seconds with copies: a library's complex products of about the same time come first
ROOM = 32  # numbers: copies begin at multiples of it
COMPLEX = {"float64": "complex128", "float32": "complex64"}


class Lying(NamedTuple):
    """A real expression of complex arrays."""

    expression: Expression
    matrices: tuple[Matrices, ...]  # arrays that it reads as matrices
    sides: tuple[str, ...]  # indices of the real and the imaginary part


def as_real(e: Expression, real, sizes, rank: int = 0) -> Lying | None:
    """The real statements of complex arrays with the part as a last index; None where there are none.

    real: names of the real arrays. sizes: extents but for the batch's. rank: of the factor of a product that lies as it
    is, 0 for the largest.
    """
    made = _Statements(e, real, sizes, rank)
    if any(index.startswith(SIDE) for index in e.indices) or any(s.function for s in e.statements):
        return None
    statements = []
    for s in e.statements:
        of_parts = made.statement(s)
        if of_parts is None:
            return None
        statements.append(of_parts)
    if e.symmetric - made.real:
        return None

    expression = dataclasses.replace(e, statements=tuple(statements))
    constant = {m.name for m in made.matrices.values() if m.array in e.constant}
    read = {f.name for s in statements for f in s.factors}
    expression = dataclasses.replace(expression, constant=frozenset((e.constant & read) | constant))
    return Lying(expression, tuple(made.matrices.values()), tuple(made.sides))


class _Statements:
    """The statements of an expression as real ones, one after the other."""

    def __init__(self, e: Expression, real, sizes, rank: int):
        self.e, self.sizes, self.rank = e, {**sizes, e.batch: 1}, rank
        self.real = {*real}
        self.matrices: dict[tuple, Matrices] = {}
        self.sides: dict[str, None] = {SIDE: None}

    def statement(self, s: Statement) -> Statement | None:
        """The real statement; None: there is none."""
        counts = [sum(f.name not in self.real for f in t.factors) for t in s.terms]
        if s.out.name in self.e.local and not any(counts):
            self.real.add(s.out.name)
            return s

        terms = []
        for t in s.terms:
            of_parts = self._term(s.out, t)
            if of_parts is None:
                return None
            terms.append(of_parts)
        return s._replace(out=Reference(s.out.name, (*s.out.indices, SIDE)), terms=tuple(terms))

    def _term(self, out: Reference, t: Term) -> Term | None:
        """The real term: its first complex factor as it lies, the others as matrices. None: it has no complex factor,
        or two locals, of which no copy is made."""
        places = [place for place, f in enumerate(t.factors) if f.name not in self.real]
        places.sort(key=lambda place: self._first(t.factors[place]))
        if not places:
            return None
        if self.rank and t.factors[places[0]].name not in self.e.written:
            places.insert(0, places.pop(min(self.rank, len(places) - 1)))
        first, *others = places
        if any(t.factors[place].name in self.e.written for place in others):
            return None

        # A chain of parts, the last of which is the output's.
        sides = [f"{SIDE}{k}" for k in range(1, len(places))] + [SIDE]
        self.sides |= dict.fromkeys(sides)
        factors = list(t.factors)
        factors[first] = Reference(t.factors[first].name, (*t.factors[first].indices, sides[0]))
        for k, place in enumerate(others):
            factors[place] = self._matrix(out, t, place, sides[k : k + 2])
        return t._replace(factors=tuple(factors))

    def _first(self, f: Reference) -> tuple:
        """The key by which a factor is the first: locals are, else the largest."""
        size = math.prod(self.sizes[i] for i in f.indices)
        return f.name not in self.e.written, self.e.batch not in f.indices, -size

    def _matrix(self, out: Reference, t: Term, place: int, sides) -> Reference:
        """A factor as matrices: the batch and the sums slow, then the row, its own indices, the column."""
        f = t.factors[place]
        others = {i for k, other in enumerate(t.factors) if k != place for i in other.indices}
        indices = list(dict.fromkeys(f.indices))
        if len(indices) < len(f.indices):
            return self._of_diagonal(f, sides)

        def group(index: str) -> int:
            if index == self.e.batch:
                return 0
            if index not in others:
                return 3
            return 1 if index in out.indices else 2

        def key(index: str) -> tuple:
            lies = out.indices if index in out.indices else f.indices
            return group(index), lies.index(index)

        ordered = sorted(indices, key=key)
        rows = sum(group(index) < 3 for index in ordered)
        axes = tuple(f.indices.index(index) for index in ordered)
        return Reference(self._copied(f.name, axes, rows), (*ordered[:rows], sides[0], *ordered[rows:], sides[1]))

    def _of_diagonal(self, f: Reference, sides) -> Reference:
        """A factor in which an index stands twice: its dimensions stay in their order."""
        axes = tuple(range(len(f.indices)))
        return Reference(self._copied(f.name, axes, len(axes)), (*f.indices, *sides))

    def _copied(self, name: str, axes: tuple[int, ...], rows: int) -> str:
        """The name of a copy."""
        key = name, axes, rows
        if key not in self.matrices:
            made = f"{name}_{len(self.matrices)}"
            while made in self.e.references:
                made += "_"
            self.matrices[key] = Matrices(made, name, axes, rows)
        return self.matrices[key].name


class SideBySide:
    """A contraction of complex arrays by a real one, whose last index is the part."""

    BY = "a real contraction, with the part as the last index"

    def __init__(self, e: Expression, made: Lying, numbers: Contraction, real):
        self.e, self.matrices, self.numbers, self.real = e, made.matrices, numbers, real
        self.how = numbers.how
        self.explain, self.shown = numbers.explain, numbers.shown

    @property
    def seconds(self) -> float:
        """The model's time of an entry, with the copies."""
        n, total = library_costs.usual_batch(self.numbers.program), CALL if self.matrices else 0.0
        for m in self.matrices:
            of_copy = self.numbers.shape(m.name, n)
            extents = [0] * len(m.axes)
            kept = of_copy[: m.rows] + of_copy[m.rows + 1 : -1]
            for axis, extent in zip(m.axes, kept):
                extents[axis] = extent
            total += m.seconds(extents) + self._memory(math.prod(extents))
        return self.numbers.seconds * (BESIDE if self.matrices else 1.0) + total / n

    def _memory(self, numbers: int) -> float:
        """Seconds of the memory of a copy of so many complex numbers: read once, twice as many written."""
        moved = 5 * PARTS * numbers * self.numbers.dtype.itemsize
        return moved / library_costs.pace("packs", self.numbers.dtype.name, moved)

    # ---- arrays
    def _numbers(self, name: str, array):
        """The real array in a complex one's memory."""
        return array if name in self.real else array[..., np.newaxis].view(self.numbers.dtype)

    def _lying(self, arrays) -> dict:
        """The arrays that are read or written as they lie."""
        wanted = self.numbers.expression.references
        return {name: self._numbers(name, array) for name, array in arrays.items() if name in wanted}

    def takes(self, name: str, array, n: int) -> bool:
        """Whether `bind` takes an array as it lies. Copies are made of any."""
        if name not in self.numbers.expression.references:
            return not any(step % self.numbers.dtype.itemsize for step in array.strides)
        return self.numbers.takes(name, self._numbers(name, array), n)

    def takes_all(self, arrays, n: int | None) -> bool:
        """Whether `bind` takes all arrays as they lie."""
        count = self._entries(arrays) if n is None else n
        return all(self.takes(name, array, count) for name, array in arrays.items())

    def _entries(self, arrays) -> int:
        return self.numbers.entries_in(self._lying(arrays))

    def compile_ahead(self) -> None:
        """All kernels that `bind` may ask for."""
        self.numbers.compile_ahead()
        for m in self.matrices:
            m.compile(self.numbers.backend, COMPLEX[self.numbers.dtype.name])

    # ---- runs
    def bind(self, arrays, n: int | None = None):
        """As Contraction.bind. Copies of constant arrays are made now."""
        held, each_run = self._lying(arrays), []
        for m in self.matrices:
            array = arrays[m.array]
            held[m.name] = target = self.numbers.backend.empty(m.shape(array.shape), self.numbers.dtype)
            fill = m.filler(self.numbers.backend, array)
            if m.array in self.e.constant:
                fill((array, target))
            else:
                each_run.append((fill, (array, target)))

        run = self.numbers.bind(held, self._entries(arrays) if n is None else n)
        if not each_run:
            return run

        def run_all() -> None:
            for fill, pair in each_run:
                fill(pair)
            run()

        return run_all

    def again(self, arrays, n: int):
        """As Contraction.again."""
        names, lying_ = tuple(arrays), tuple(self._lying(arrays))
        copies = [_Copy.of(m, self.numbers.backend, names.index(m.array), arrays[m.array]) for m in self.matrices]
        room = _Room(copies, self.numbers.dtype)
        held = self._lying(arrays) | {m.name: target for m, target in zip(self.matrices, room.targets())}
        run = self.numbers.again(held, n)
        if run is None or (not copies and isinstance(run, Again)):  # addresses alone count
            return run

        places = [(names.index(name), name) for name in lying_]

        def run_again(given) -> None:
            targets = room.targets()
            for copy, target in zip(copies, targets):
                copy.fill((given[copy.place], target))
            run([*(self._numbers(name, given[place]) for place, name in places), *targets])

        return run_again


class _Copy(NamedTuple):
    """A copy that a call makes."""

    fill: Any  # run((array, target))
    place: int  # of the array among the call's
    shape: tuple[int, ...]

    @classmethod
    def of(cls, m: Matrices, backend, place: int, array) -> _Copy:
        return cls(m.filler(backend, array), place, m.shape(array.shape))


class _Room:
    """Memory for the copies of a call: this thread's, which it keeps."""

    def __init__(self, copies, dtype):
        self.dtype, self.shapes = dtype, [copy.shape for copy in copies]
        self.ends = np.cumsum([0, *(-(-math.prod(shape) // ROOM) * ROOM for shape in self.shapes)]).tolist()

    def targets(self) -> list:
        """The arrays of the copies."""
        if not self.shapes:
            return []
        whole, size = scratch.room("matrices", (self.ends[-1],), self.dtype), self.dtype.itemsize
        return [np.ndarray(shape, self.dtype, whole, begin * size) for shape, begin in zip(self.shapes, self.ends)]
