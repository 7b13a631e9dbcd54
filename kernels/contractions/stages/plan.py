"""The plan of a tensor program by stages, as frozen data, and what can be read off it.

A team has an entry of the batch, or of the batch and further indices that every statement keeps where they are. Locals
lie in shared memory. A product with a sum is a matrix product: the indices of the output that only one factor has are
rows, those that only the other has are columns. A tile of 16 rows and all columns is a warp's. All other statements are
done number by number, a thread each. The other files here make a plan, pass by pass.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ...engine.backend.facts import REFERENCE
from ..expression import Reference, Statement, Term
from ..plan import FAR, Array, Program, names, reads, references as references_of, steps

LIMIT = REFERENCE.shared_of_block - 1024  # bytes of shared memory a block
LARGEST = 8192  # numbers of an output that a team has; of more, a further index is spread over teams where it can be
HELD = 48  # numbers of the narrow factor that a lane keeps in registers
SHORTEST = 64  # numbers of a copy in bulk at least
DOUBLE = 8  # bytes


def span(extents, strides) -> int:
    """Numbers of an array from the first to the last."""
    return sum((x - 1) * s for x, s in zip(extents, strides)) + 1


def summed(s: Statement) -> bool:
    """Whether a term of a statement has a sum."""
    return any(t.sums(s.out) for t in s.terms)


class Factors(NamedTuple):
    """A product of a matrix product: number times the rows' factor times the columns' factor, summed."""

    number: float
    rows: Reference
    columns: Reference
    sums: tuple[str, ...]


class Layout(NamedTuple):
    """A statement as matrix products: indices of the output, and the products."""

    others: list[str]
    rows: list[str]
    columns: list[str]
    terms: list[Factors]


class Orbit(NamedTuple):
    """A local as a sum over orders of the entry's indices: of the order's number times the products."""

    names: tuple[str, ...]  # the entry's indices
    terms: tuple[Term, ...]  # the products
    uses: dict[tuple[str, ...], float]  # number of each order
    extent: int  # of each of the entry's indices


@dataclasses.dataclass(frozen=True)
class Step:
    """Statements that a team does together."""

    # "units": a matrix product, or two of which the second goes on with the numbers of the first.
    # "each": number by number, several over the same numbers. "copy": into shared memory.
    kind: str
    statements: tuple[Statement, ...]
    before: bool = False  # before the walk
    barrier: bool = False  # the team waits for its threads first
    arrives: bool = False  # the team waits for the copies first

    @functools.cached_property
    def references(self) -> list[tuple[Statement, Reference]]:
        """Every reference, with its statement."""
        found = []
        for s in self.statements:
            found += [(s, r) for r in references_of(s)]
        return found

    @functools.cached_property
    def reads(self) -> list[Reference]:
        """All factors."""
        found: list[Reference] = []
        for s in self.statements:
            found += reads(s)
        return found

    @property
    def written(self) -> set[str]:
        """Arrays that the statements write."""
        return {s.out.name for s in self.statements}


@dataclasses.dataclass(frozen=True)
class Held:
    """An array in shared memory."""

    name: str
    kept: tuple[int, ...]  # places of the dimensions that it has there
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    at: int  # number of the block's memory where it begins

    @property
    def size(self) -> int:
        """Numbers from the first to the last."""
        return span(self.extents, self.strides)


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """A program by stages."""

    program: Program
    how: Any  # Staged
    statements: tuple[Statement, ...]
    arrays: dict[str, Array]  # those of the program, and locals that passes add
    entry: tuple[str, ...] = ()  # indices that join the batch index: a team for each of their values
    steps: tuple[Step, ...] = ()
    inner: frozenset[str] = frozenset()  # locals that stay in registers
    orbit: Orbit | None = None
    matrices: tuple[str, ...] = ()  # in constant memory
    held: dict[str, Held] = dataclasses.field(default_factory=dict)  # arrays in shared memory
    room: int = 0  # numbers of shared memory
    bytes: int = 0  # of shared memory
    arrives_first: bool = False  # the team waits for the copies before the walk

    def having(self, **changes) -> Plan:
        """The plan with other fields."""
        return dataclasses.replace(self, **changes)

    # ---- numbers and memory
    @property
    def batch(self) -> str | None:
        return self.program.batch

    @property
    def walk(self) -> str:
        """The index along which a block stays; "" if there is none."""
        return self.how.spread.walk if self.how.spread.walk in self.entry else ""

    @property
    def size(self) -> int:
        """Bytes of a number in shared memory."""
        return np.dtype(self.program.dtype).itemsize if self.how.narrow else DOUBLE

    @property
    def grain(self) -> int:
        """Numbers of 16 bytes in shared memory."""
        return 16 // self.size

    @property
    def shortest(self) -> int:
        """Numbers of a copy at least."""
        return self.grain if self.how.copies.apart else SHORTEST

    @property
    def copies(self) -> int:
        """Copies of every array in shared memory: one for each order of an orbit."""
        return math.factorial(len(self.orbit.names)) if self.orbit else 1

    @functools.cached_property
    def written(self) -> frozenset[str]:
        """Arrays that steps write, but for locals in registers."""
        found = {s.out.name for s in self.statements} if not self.steps else set()
        for step in self.steps:
            found |= step.written
        return frozenset(found - self.inner)

    @functools.cached_property
    def read(self) -> frozenset[str]:
        """Arrays that steps read."""
        found: set[str] = set()
        for step in self.steps:
            found |= names(step.reads)
        return frozenset(found)

    @functools.cached_property
    def copied(self) -> tuple[str, ...]:
        """Arrays in shared memory that are filled by copies."""
        return tuple(step.statements[0].out.name for step in self.steps if step.kind == "copy")

    @property
    def gate(self) -> int:
        """Number of shared memory where the counters of copies lie."""
        return self.room if self.copied else 0

    def local(self, name: str) -> bool:
        """Whether an array lies in shared memory."""
        return self.arrays[name].kind == "local" and name in self.written

    def slot(self, name: str) -> int:
        """Numbers of room of a held array of one entry; copies begin at 16 bytes."""
        return -(-self.held[name].size // self.grain) * self.grain

    # ---- indices
    def extent_of(self, indices) -> int:
        return math.prod(self.program.sizes[i] for i in indices)

    def kept(self, r: Reference) -> tuple[int, ...]:
        """Places of the dimensions that a team has of an array."""
        return tuple(k for k, i in enumerate(r.indices) if i != self.batch and i not in self.entry)

    def numbers(self, r: Reference) -> int:
        """Numbers that a team has of an array."""
        return math.prod(self.program.sizes[r.indices[k]] for k in self.kept(r))

    def own(self, s: Statement) -> list[str]:
        """Indices of the output that a team has, the slowest first."""
        return [s.out.indices[k] for k in self.kept(s.out)]

    def slice(self, r: Reference) -> tuple:
        """A key for the part of an array that an entry reads: a diagonal is another part than the whole."""
        return r.name, tuple(i if i == self.batch or i in self.entry else r.indices.index(i) for i in r.indices)

    def batch_step(self, r: Reference) -> int:
        """Step of the batch index of a reference to an array that has it in several places."""
        return math.prod(x or 1 for x in self.arrays[r.name].extents[r.indices.index(self.batch) + 1 :])

    def run(self, r: Reference) -> int:
        """Numbers of a slice that lie side by side and may be copied in bulk; 1 if 16 bytes do not fit."""
        how = self.how
        if not (how.warp.paired and how.copies.bulk) or self.size != np.dtype(self.program.dtype).itemsize:
            return 1

        a = self.arrays[r.name]
        near = steps(r, a, self.batch, far=True)
        own = [r.indices[k] for k in self.kept(r)]
        size = 1

        for i in reversed(own):
            if near[i] != size or own.count(i) > 1:
                break
            size *= self.program.sizes[i]

        others = [step for step in near.values() if step >= size]
        if a.mixed and self.batch in r.indices:
            others.append(self.batch_step(r))

        least = self.grain if how.copies.apart else 32
        even = size % self.grain == 0 and all(s % FAR % self.grain == 0 for s in others)
        return size if even and size >= least else 1

    # ---- matrix products
    def scale(self, s: Statement) -> Reference | None:
        """The factor that multiplies every product of a statement at the output's places."""
        places = set(s.out.indices)
        found = {t.factors[2] for t in s.terms if len(t.factors) == 3 and set(t.factors[2].indices) == places}
        all_have = all(len(t.factors) == 3 for t in s.terms)
        return found.pop() if len(found) == 1 and all_have else None

    def sides(self, s: Statement, t: Term) -> tuple[set[str], set[str]] | None:
        """(indices of the output that only the first factor has, that only the second has); None: no matrix product."""
        if len(t.factors) != 2 + (self.scale(s) is not None):
            return None

        own = set(self.own(s))
        first, second = (own & set(f.indices) for f in t.factors[:2])
        only = first - second, second - first
        return only if any(only) and first | second == own else None

    def products(self, s: Statement) -> dict[frozenset, list[Term]]:
        """Products with a sum by their sides, and those without a sum that have the sides of another."""
        sides = [self.sides(s, t) for t in s.terms]
        outer = all(only and all(only) and not t.sums(s.out) for t, only in zip(s.terms, sides))

        # Products with a sum; if no term has a sum, all.
        found: dict[frozenset, list[Term]] = {}
        for t, only in zip(s.terms, sides):
            if only and (t.sums(s.out) or outer):
                found.setdefault(frozenset(map(frozenset, only)), []).append(t)
        if outer and len(found) > 1:  # without sums each is a pointwise term of the others
            return {}

        for t, only in zip(s.terms, sides):
            key = frozenset(map(frozenset, only)) if only else None
            if key in found and t not in found[key] and not t.sums(s.out):
                found[key].append(t)

        return found

    def layout(self, s: Statement) -> Layout:
        """A "units" statement. The rows are the larger side; of equal sides that with the fastest index."""
        (terms,) = self.products(s).values()
        first, second = self.sides(s, terms[0])  # type: ignore[misc]
        own = self.own(s)
        fastest = own[-1]
        rows = max((first, second), key=lambda side: (self.extent_of(side), fastest in side))
        columns = second if rows is first else first

        found = []
        for t in terms:
            f, g = t.factors[:2]
            if not rows <= set(f.indices) or columns & set(f.indices):
                f, g = g, f
            found.append(Factors(t.number, f, g, t.sums(s.out)))

        others = [i for i in own if i not in rows and i not in columns]
        return Layout(others, [i for i in own if i in rows], [i for i in own if i in columns], found)

    def points(self, s: Statement, terms: list[Factors]) -> list[Term]:
        """Terms of a statement that are no matrix product."""
        pairs = [{x.rows, x.columns} for x in terms]
        return [t for t in s.terms if {*t.factors[:2]} not in pairs]

    def in_memory(self, s: Statement, given: bool, matrices: bool = False) -> list[Reference]:
        """References of a "units" statement to arrays in memory, the output first.

        given: the rows' factor is left in registers by the statement before. matrices: the columns' factors lie in
        constant memory.
        """
        terms = self.layout(s).terms
        refs = [s.out]
        for x in terms:
            refs += [x.rows] if matrices else [x.rows, x.columns]
        for t in self.points(s, terms):
            refs += t.factors

        scale = self.scale(s)
        if scale:
            refs.append(scale)

        in_registers = {terms[0].rows} if given else set()
        if s.out.name in self.inner:
            in_registers.add(s.out)

        return [r for r in dict.fromkeys(refs) if r not in in_registers]

    def hoisted(self, *statements: Statement) -> bool:
        """Whether a lane keeps its numbers of the columns' factors in registers for all tiles, for all statements."""
        held = 0
        for s in statements:
            others, _, columns, terms = self.layout(s)
            tiles = -(-self.extent_of(columns) // 8)
            if tiles > self.how.warp.columns or self.extent_of(others) > 1:
                return False
            held += sum(-(-self.extent_of(x.sums) // 4) * tiles for x in terms)

        return held <= HELD

    def order(self, rows: list[str], step: Step) -> list[str]:
        """The rows of a step in the order of the threads. All products of a step have the same rows."""
        if not self.how.warp.turned:
            return rows

        for r in (*step.reads, *(s.out for s in step.statements)):
            inside = self.local(r.name) or r.name in self.inner
            if set(rows) & set(r.indices) and not inside:
                return rows

        return rows[::-1]

    # ---- counts
    @property
    def barriers(self) -> bool:
        """Whether the threads of a team wait for each other."""
        return bool(self.read & self.written)

    @property
    def entries(self) -> int:
        """Teams of a block: one if threads wait for each other."""
        return 1 if self.barriers else self.how.teams.entries

    @property
    def teams(self) -> int:
        """Teams of one value of the batch index."""
        return self.extent_of(i for i in self.entry if i != self.walk)

    def items(self, n: int) -> int:
        """Work of blocks for n entries of the batch."""
        if self.orbit:  # sets of values of the entry's indices
            return math.comb(self.orbit.extent + len(self.orbit.names) - 1, len(self.orbit.names))
        return n * self.teams * (self.how.spread.parts if self.walk else 1)

    @property
    def products_on_units(self) -> list[Statement]:
        """Statements of "units" steps."""
        return self.statements_of("units")

    def statements_of(self, kind: str) -> list[Statement]:
        """Statements of the steps of a kind."""
        found: list[Statement] = []
        for step in self.steps:
            if step.kind == kind:
                found += step.statements

        return found

    @property
    def use(self) -> float:
        """Share of the units' multiplications that belong to the products; of threads, if a warp's rows are few."""
        if self.how.sums.line:
            counts = [self.extent_of(self.layout(s).rows) for s in self.products_on_units]
            return min(m / (32 * -(-m // 32)) for m in counts)

        useful = done = 0
        for s in self.products_on_units:
            _, rows, columns, terms = self.layout(s)
            m, n = self.extent_of(rows), self.extent_of(columns)
            for x in terms:
                k = self.extent_of(x.sums)
                useful += m * n * k
                done += -(-m // 16) * 16 * -(-n // 8) * 8 * -(-k // 4) * 4

        return useful / done

    def jobs(self) -> int:
        """Tiles of rows of the largest product, or warps' rows: as many warps can work at a time."""
        most = 1
        for step in self.steps:
            if step.kind != "units":
                continue

            others, rows, columns, _ = self.layout(step.statements[0])
            if self.how.sums.line:
                most = max(most, -(-self.extent_of(rows) // 32))
                continue

            chunks = math.ceil(math.ceil(self.extent_of(columns) / 8) / self.how.warp.columns)
            most = max(most, self.extent_of(others) * -(-self.extent_of(rows) // 16) * chunks)

        return most
