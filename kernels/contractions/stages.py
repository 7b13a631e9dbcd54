"""The plan of a tensor program by stages: the statements of an entry one after the other, on a GPU's teams of warps.

A team has an entry of the batch, or of the batch and further indices that every statement keeps where they are. Locals
lie in shared memory. A product with a sum is a matrix product: the indices of the output that only one factor has are
rows, those that only the other has are columns. A tile of 16 rows and all columns is a warp's. All other statements are
done number by number, a thread each.

A product that sums over the columns of the product before it, in the same rows, goes on with that one's numbers while
they are in registers: such a local is never stored, and no warp waits for another there.

What comes several times is staged: a factor that several products read is copied into shared memory first. Sums that
are equal up to names are added up first (orders.gathered). With `walk` a block stays: it takes one value of that index
after the other, and factors without it are staged once for all. With `orbit` a block has the entries of all orders of
some values: products that are equal up to the order are done once. render_stages.py writes the text.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import functools
import itertools
import math
import pathlib

import numpy as np

from . import orders
from .plan import FAR, Program, describe, steps
from .text import Reference, Statement, Term

LIMIT = 226 * 1024  # bytes of shared memory a block
LARGEST = 8192  # numbers of an output that a team has; of more, a further index is spread over teams where it can be
HELD = 48  # numbers of the narrow factor that a lane keeps in registers
MOST_WARPS = 16  # of a team
FEW = 16  # numbers that a lane asks for ahead
BANKS = 128  # bytes of shared memory that are read at once, where lanes find them in different banks
PADDED = 1.15  # times its numbers an array may take at most where memory is tight
TRIED = 16  # paddings of a dimension that are looked at
LINE = 32  # most numbers of a row in registers
CONSTANT = 3584  # bytes of all matrices in constant memory


@dataclasses.dataclass(frozen=True)
class Staged:
    """An organisation. warps: of a team. entries: teams of a block. blocks: on a multiprocessor, which bounds the
    registers; 0: no bound. ahead: tiles of a warp, or rows of a thread, at a time. batch: steps of a sum whose numbers
    are read at once. paired: two neighbours of a sum are read at once. walk: an index that a block takes value by
    value, in `parts`. orbit: a block takes all orders of the entry's indices. columns: tiles of eight columns a warp,
    at most. stage: how often a factor of products has to be read to be copied into shared memory first; 0: what is
    read number by number is copied, too. bulk: such copies are made by the copy unit. tight: less shared memory, for
    more bank conflicts and barriers. ring: entries whose bulk copies have room at the same time; with more than one a
    block stays, and works on an entry while the next ones come.
    narrow: what lies in shared memory has the arrays' precision, not double. apart: the threads copy, 16 bytes each,
    not the copy unit, so that lines may lie apart against bank conflicts. line: a thread has a row of a product, not a
    warp sixteen on the units; sums and shared memory have the arrays' precision. once: what lanes hold of the columns'
    factors is read at the beginning, for all steps. turned: the slowest index of the rows runs first where only shared
    memory is read. split: products of single precision on the TF32 units, of numbers in two parts; all is narrow."""

    warps: int
    entries: int = 1
    blocks: int = 0
    ahead: int = 2
    batch: int = 8
    paired: bool = True
    walk: str = ""
    parts: int = 1
    orbit: bool = False
    columns: int = 8
    stage: int = 2
    bulk: bool = True
    tight: bool = False
    ring: int = 1
    narrow: bool = False
    apart: bool = False
    line: bool = False
    once: bool = False
    turned: bool = False
    split: bool = False

    @property
    def name(self) -> str:
        return "orbits" if self.orbit else "stays" if self.walk else "stages"

    @property
    def singly(self) -> Staged:
        """For arrays that do not begin at 16 bytes: no pairs, no bulk copies."""
        return dataclasses.replace(self, paired=False, ring=1, apart=False)

    def __str__(self):
        told = [f"{self.warps} warps"]
        told += [f"{self.entries} entries"] * (self.entries > 1) + [f"{self.blocks} blocks"] * (self.blocks > 0)
        told += [f"{self.ahead} tiles, {self.batch} steps"]
        told += [f"along {self.walk} in {self.parts}"] if self.walk else []
        told += [f"{self.columns} columns"] * (self.columns < 8) + [f"staged from {self.stage}"] * (self.stage < 2)
        told += ["no bulk copies"] * (not self.bulk) + ["tight"] * self.tight
        told += [f"ring of {self.ring}"] * (self.ring > 1) + ["narrow"] * self.narrow
        told += ["lines apart"] * self.apart + ["a row a thread"] * self.line
        told += ["factors once"] * self.once + ["rows turned"] * self.turned + ["split"] * self.split
        return f"{self.name} ({', '.join(told)})"


@dataclasses.dataclass
class Held:
    """An array in shared memory. kept: places of the dimensions that it has there; first, last: steps of its life;
    place: name of the array whose memory it has. even: copies fill it; wide: 16 bytes are read at once."""

    name: str
    kept: tuple[int, ...]
    extents: tuple[int, ...]
    strides: tuple[int, ...] = ()
    first: int = 0
    last: int = 0
    place: str = ""
    at: int = 0
    even: bool = False
    wide: bool = False
    patterns: list = dataclasses.field(default_factory=list)

    @property
    def size(self) -> int:
        return sum((x - 1) * s for x, s in zip(self.extents, self.strides)) + 1


@dataclasses.dataclass
class Step:
    """kind: "units", "each" or "copy" (before the walk). statements: one; of "each" several over the same numbers; of
    "units" two where the second goes on with the numbers of the first."""

    kind: str
    statements: list[Statement]
    before: bool = False


def strides_for(extents, patterns, most: int = 1 << 30, even: int = 0, size: int = 8) -> tuple[int, ...]:
    """Strides with the fewest bank conflicts, for an array of at most so many numbers of `size` bytes. patterns:
    [(weight, digits of each lane that reads at the same time)]. even: copies fill it, runs of so many numbers or more
    that begin at multiples of 16 bytes."""
    held = tuple((weight, tuple(map(tuple, lanes))) for weight, lanes in patterns)
    return _strides_for(tuple(extents), held, most, even, size)


@functools.lru_cache(1024)
def _strides_for(extents, patterns, most: int, even: int, size: int) -> tuple[int, ...]:
    rank = len(extents)
    if rank < 2 or not patterns:
        return tuple(math.prod(extents[d + 1 :]) for d in range(rank))
    free, all_pads, strides = min(rank - 1, 2), [], []
    for pads in itertools.product(range(TRIED), repeat=free):
        found = [1]
        for d in range(rank - 1, 0, -1):
            pad = pads[rank - 1 - d] if rank - 1 - d < free else 0
            found.append(found[-1] * extents[d] + pad)
        s = tuple(reversed(found))
        numbers = sum((x - 1) * y for x, y in zip(extents, s)) + 1
        if any(pads) and (numbers > most or (even and not _bulky(extents, s, 16 // size, even))):
            continue
        all_pads.append((numbers, s))
        strides.append(s)
    banks, cost = BANKS // size, np.zeros(len(strides))
    for weight, lanes in patterns:  # how often the busiest bank is read
        at = np.sort(np.array(strides) @ np.array(lanes).T, axis=1)
        distinct = np.diff(at, axis=1, prepend=-1) != 0
        where = np.arange(len(strides))[:, None] * banks + at % banks
        cost += weight * np.bincount(where[distinct], minlength=len(strides) * banks).reshape(-1, banks).max(axis=1)
    return min((price, *pad) for price, pad in zip(cost.tolist(), all_pads))[2]


def _bulky(extents, strides, grain: int, least: int) -> bool:
    """Whether at least so many numbers lie side by side there, and begin and end at multiples of `grain`."""
    run, inner = 1, len(extents)
    while inner and strides[inner - 1] == run:
        inner -= 1
        run *= extents[inner]
    return run % grain == 0 and run >= least and all(s % grain == 0 for s in strides[:inner])


class Stages:
    """The plan of one program: steps, arrays in shared memory, text. Raises Unable where it does not serve."""

    def __init__(self, p: Program, how):
        self.p, self.how = p, how
        self.narrow = how.narrow or how.line or how.split
        self.size = np.dtype(p.dtype).itemsize if self.narrow else 8  # bytes of a number in shared memory
        self.grain = 16 // self.size
        self.shortest = self.grain if how.apart else 64  # numbers of a copy
        e = p.expression
        self.batch = p.batch
        if how.split and (p.dtype != "float32" or how.line or how.orbit):
            raise Unable("for numbers in two parts float32 on the units")
        if e.symmetric or any(s.function or p.once(s) for s in p.statements):
            raise Unable("no functions, symmetric operands and locals that the batch shares")
        made = orders.gathered(e, p.sizes, LARGEST)
        self.statements = list(made or p.statements)
        self.arrays = describe(e, self.statements, p.sizes) if made else p.arrays
        if any(a.kind == "shared" for a in self.arrays.values()):
            raise Unable("no local that the batch shares")
        self._merge()
        self.written = {s.out.name for s in self.statements}
        if any(self.arrays[x].mixed for x in self.written):
            raise Unable("no output with the batch index in several places")
        self.entry: list[str] = []
        self._entry()
        self.walk = how.walk if how.walk in self.entry else ""
        self.steps = [step for s in self.statements for step in self._split(s)]
        if not any(step.kind == "units" for step in self.steps):
            raise Unable("a product with a sum, rows and columns")
        self.held: dict[str, Held] = {}
        self.copies = 1  # of every array in shared memory
        self.inner: set[str] = set()  # locals that stay in registers
        if how.orbit:
            self.orbit = self._orbit()
        else:
            self._go_on()
            self._stage()
            self._join()
        self.matrices = self._matrices() if how.line else []
        copied = any(step.kind == "copy" for step in self.steps)
        if how.ring > 1 and (self.walk or how.orbit or how.apart or not copied):
            raise Unable("for a ring bulk copies of each entry")
        if how.apart and (self.walk or not copied):
            raise Unable("for lines apart copies of an entry's parts")
        self._place()

    def _merge(self) -> None:
        """A local that one later statement multiplies by a number at each place, and no other reads, is never stored:
        its product's numbers are multiplied before they leave the units."""
        reads: dict[str, int] = {}
        for s in self.statements:
            for t in s.terms:
                for f in t.factors:
                    reads[f.name] = reads.get(f.name, 0) + 1
        made = list(self.statements)
        for s in self.statements:
            users = [u for u in made if any(f.name == s.out.name for t in u.terms for f in t.factors)]
            if self.arrays[s.out.name].kind != "local" or reads.get(s.out.name) != 1 or len(users) != 1 or s.add:
                continue
            (u,) = users
            if len(u.terms) != 1 or len(u.terms[0].factors) != 2 or u.out.indices != s.out.indices:
                continue
            t = u.terms[0]
            (other,) = (f for f in t.factors if f.name != s.out.name)
            mine = next(f for f in t.factors if f.name == s.out.name)
            alone = all(len(x.factors) == 2 and x.sums(s.out) for x in s.terms) and mine.indices == s.out.indices
            written = any(other.name == x.out.name for x in made)
            if not alone or written or set(other.indices) != set(s.out.indices):
                continue
            terms = tuple(Term(x.number * t.number, (*x.factors, other)) for x in s.terms)
            place = made.index(s)
            if any(u.out.name == f.name for x in made[place : made.index(u)] for y in x.terms for f in y.factors):
                continue
            made[place] = u._replace(terms=terms)
            made.remove(u)
        if made != self.statements:
            kept = {s.out.name for s in made}
            self.arrays = {k: v for k, v in self.arrays.items() if v.kind == "argument" or k in kept}
        self.statements = made

    def scale(self, s: Statement) -> Reference | None:
        """What every product of a statement is multiplied by at the output's places."""
        own = set(s.out.indices)
        found = {t.factors[2] for t in s.terms if len(t.factors) == 3 and set(t.factors[2].indices) == own}
        return found.pop() if len(found) == 1 and all(len(t.factors) == 3 for t in s.terms) else None

    # ---- what an entry is
    def kept(self, r: Reference) -> tuple[int, ...]:
        return tuple(k for k, i in enumerate(r.indices) if i != self.batch and i not in self.entry)

    def numbers(self, r: Reference) -> int:
        return math.prod(self.p.sizes[r.indices[k]] for k in self.kept(r))

    def own(self, s: Statement) -> list[str]:
        """Indices of the output that a team has, the slowest first."""
        return [s.out.indices[k] for k in self.kept(s.out)]

    def _entry(self) -> None:
        """Indices that join the batch index: each stands in the same place wherever a written array is named."""
        self.entry = []
        references = [
            r for s in self.statements for t in s.terms for r in (*t.factors, s.out) if r.name in self.written
        ]
        lead = self.statements[-1].out.indices
        free = [
            i
            for i in lead
            if i != self.batch
            and all(i in r.indices for r in references)
            and all(len({r.indices.index(i) for r in references if r.name == x}) == 1 for x in self.written)
        ]
        for i in free:
            locals_ = {
                s.out.name: self.numbers(s.out) for s in self.statements if self.arrays[s.out.name].kind == "local"
            }
            most = max(self.numbers(s.out) for s in self.statements)
            if most <= LARGEST and sum(locals_.values()) * self.size <= LIMIT:
                break
            before = [bool(self.products(s)) for s in self.statements]
            self.entry.append(i)
            if [bool(self.products(s)) for s in self.statements] != before:
                self.entry.pop()

    # ---- products
    def sides(self, s: Statement, t: Term):
        """(rows or columns that only the first factor has, those of the second), or None."""
        if len(t.factors) != 2 + (self.scale(s) is not None):
            return None
        own = set(self.own(s))
        first, second = (own & set(f.indices) for f in t.factors[:2])
        only = first - second, second - first
        return only if any(only) and first | second == own else None

    def products(self, s: Statement) -> dict[frozenset, list[Term]]:
        """Products with a sum by their sides, and those without one that have the sides of another."""
        found: dict[frozenset, list[Term]] = {}
        outer = all(self.sides(s, t) and all(self.sides(s, t)) and not t.sums(s.out) for t in s.terms)
        for t in s.terms:
            only = self.sides(s, t)
            if only and (t.sums(s.out) or outer):
                found.setdefault(frozenset(map(frozenset, only)), []).append(t)
        if outer and len(found) > 1:  # without sums they are one another's pointwise terms
            return {}
        for t in s.terms:
            only = self.sides(s, t)
            key = frozenset(map(frozenset, only)) if only else None
            if key in found and t not in found[key] and not t.sums(s.out):
                found[key].append(t)
        return found

    def _split(self, s: Statement) -> list[Step]:
        """Steps of a statement: one for each pair of sides; all but the last add up in a local."""
        groups = self.products(s)
        if not groups:
            return [Step("each", [s])]
        used = {t for terms in groups.values() for t in terms}
        rest = [t for t in s.terms if t not in used]
        pointwise = [t for t in rest if not t.sums(s.out)]
        summed = [t for t in rest if t.sums(s.out)]
        fastest = self.own(s)[-1]
        rows = lambda terms: fastest in max(self.sides(s, terms[0]), key=self.extent_of)
        parts = [("each", summed)] * bool(summed) + [
            ("units", terms) for terms in sorted(groups.values(), key=lambda terms: (rows(terms), terms[0].number))
        ]
        if len(parts) == 1:
            return [Step("units", [s._replace(terms=(*pointwise, *parts[0][1]))])]
        name = s.out.name
        if self.arrays[name].kind != "local":
            name = f"sum_{name}"
            while name in self.arrays:
                name += "_"
            self.arrays = {**self.arrays, name: dataclasses.replace(self.arrays[s.out.name], name=name, kind="local")}
            self.written.add(name)
        sum_ = Reference(name, s.out.indices)
        made = [
            Step(kind, [Statement(sum_, tuple(terms), k > 0 or (s.add and name == s.out.name))])
            for k, (kind, terms) in enumerate(parts[:-1])
        ]
        kind, terms = parts[-1]
        if name == s.out.name:
            return [*made, Step(kind, [Statement(sum_, (*pointwise, *terms), True)])]
        return [*made, Step(kind, [s._replace(terms=(Term(1.0, (sum_,)), *pointwise, *terms))])]

    def extent_of(self, indices) -> int:
        return math.prod(self.p.sizes[i] for i in indices)

    def layout(self, s: Statement):
        """(others, rows, columns, terms) of a "units" step: indices, and for each product (number, rows' factor,
        columns' factor, sums); the rows are the larger side, or that with the fastest index."""
        (terms,) = self.products(s).values()
        first, second = self.sides(s, terms[0])
        fastest = self.own(s)[-1]
        rows = max((first, second), key=lambda side: (self.extent_of(side), fastest in side))
        columns = second if rows is first else first
        made = []
        for t in terms:
            f, g = t.factors[:2]
            if not (rows <= set(f.indices) and not columns & set(f.indices)):
                f, g = g, f
            made.append((t.number, f, g, t.sums(s.out)))
        own = self.own(s)
        pick = lambda side: [i for i in own if i in side]
        others = [i for i in own if i not in rows and i not in columns]
        return others, pick(rows), pick(columns), made

    def hoisted(self, *statements: Statement) -> bool:
        """Whether a lane keeps its numbers of the columns' factors in registers for all tiles, for all statements."""
        held = 0
        for s in statements:
            others, _, columns, terms = self.layout(s)
            tiles = -(-self.extent_of(columns) // 8)
            held += sum(-(-self.extent_of(sums) // 4) * tiles for *_, sums in terms)
            if tiles > self.how.columns or self.extent_of(others) > 1:
                return False
        return held <= HELD

    def _go_on(self) -> None:
        """A product joins the step of the one that reads its numbers, where a lane has of the first what it gives for
        the second: sums over the columns of the first, in the same rows."""
        for step in list(self.steps):
            if step.kind != "units" or len(step.statements) > 1:
                continue
            (s,) = step.statements
            others, rows, columns, terms = self.layout(s)
            if len(terms) != 1:
                continue
            _, f, _, sums = terms[0]
            number = sum(g.name == f.name for x in self.steps for y in x.statements for t in y.terms for g in t.factors)
            writers = [x for x in self.steps if any(y.out.name == f.name for y in x.statements)]
            if number != 1 or len(writers) != 1 or self.arrays[f.name].kind != "local":
                continue
            (before,) = writers
            a, *more = before.statements
            if more or before.kind != "units" or a.add:
                continue
            first_others, first_rows, first_columns, _ = self.layout(a)
            turn = dict(zip(sums, first_columns))
            alike = tuple(turn.get(i, i) for i in f.indices) == a.out.indices and len(sums) == len(first_columns)
            between = self.steps[self.steps.index(before) + 1 : self.steps.index(step)]
            changed = {x.out.name for y in between for x in y.statements}
            reads = {g.name for t in a.terms for g in t.factors}
            kept = self.how.line or self.hoisted(a, s)
            if alike and (first_others, first_rows) == (others, rows) and not changed & reads and kept:
                step.statements = [a, s]
                self.steps.remove(before)
                self.inner.add(f.name)
                self.written.discard(f.name)

    def _matrices(self) -> list[str]:
        """Columns' factors of lines: matrices that the batch shares, so small that constant memory has them all."""
        found: set[str] = set()
        for step in self.steps:
            for s in step.statements if step.kind == "units" else ():
                others, rows, columns, terms = self.layout(s)
                for _, _, g, sums in terms:
                    a = self.arrays[g.name]
                    if others or not rows or len(columns) != 1 or len(sums) != 1 or a.place is not None or a.mixed:
                        raise Unable("for a row a thread products with matrices that the batch shares")
                    if g.name not in self.p.expression.constant or max(x or 0 for x in a.extents) > LINE:
                        raise Unable(f"for a row a thread constant matrices, up to {LINE} x {LINE}")
                    found.add(g.name)
        size = np.dtype(self.p.dtype).itemsize
        if self.how.orbit or self.walk or sum(self.arrays[x].size for x in found) * size > CONSTANT:
            raise Unable(f"for a row a thread up to {CONSTANT} bytes of matrices")
        return sorted(found)

    def order(self, rows, step: Step) -> list[str]:
        """Of a step's rows. All products of a step have the same rows."""
        if not self.how.turned:
            return rows
        refs = {r for s in step.statements for r in (s.out, *(f for t in s.terms for f in t.factors))}
        local = all(r.name in self.held or r.name in self.inner for r in refs if set(rows) & set(r.indices))
        return rows[::-1] if local else rows

    # ---- orders of the entry
    def _orbit(self):
        """(indices, products, {order: number}). A local is a sum over orders of the entry's indices: of the order's
        number times the products. A block that has all orders does each product once for all of them."""
        if len(self.steps) != 2 or [step.kind for step in self.steps] != ["units", "each"]:
            raise Unable("two steps, products and their sum")
        first, last = (step.statements[0] for step in self.steps)
        names = tuple(i for i in first.out.indices if i == self.batch or i in self.entry)
        if self.batch not in names or not 2 <= len(names) <= 3 or self.arrays[first.out.name].kind != "local":
            raise Unable("two or three indices of an entry")
        if any(self.kept(r) != self.kept(last.out) for t in last.terms for r in t.factors):
            raise Unable("the indices of an entry in the same places")
        extents = {self.p.sizes[i] for i in names if i != self.batch}
        for x in self.arrays.values():  # the batch's extent is compiled in where arrays have it in several places
            for r in self.p.expression.references.get(x.name, ()):
                if x.mixed and self.batch in r.indices:
                    extents.add(x.extents[r.indices.index(self.batch)] or 0)
        if len(extents) != 1 or not any(x.mixed for x in self.arrays.values()):
            raise Unable("equal extents of an entry's indices")
        groups = orders.regrouped(first.terms, names)
        if not groups or len(groups) != 1 or len(groups[0][0]) < 2:
            raise Unable("products that are equal up to the order of an entry's indices")
        ((uses, terms),) = groups
        self.steps[0].statements = [first._replace(terms=terms)]
        self.copies = math.factorial(len(names))
        self.extent = extents.pop()
        return names, terms, uses

    # ---- shared memory
    def _stage(self) -> None:
        """Copies of what several products read, and of what stays through a walk; the products read those."""
        count: dict[tuple, int] = {}  # of a slice: an array, at this entry
        for step in self.steps:
            for s in step.statements if step.kind == "units" else ():
                _, rows, _, terms = self.layout(s)
                many = -(-self.extent_of(rows) // 16) > 1 and not self.hoisted(s)
                scale = self.scale(s)
                reads = [(f, 1) for _, f, _, _ in terms] + [(g, 1 + many) for _, _, g, _ in terms]
                for r, times in [*reads, *([(scale, 1)] if scale else [])]:
                    count[self.slice(r)] = count.get(self.slice(r), 0) + times
            for s in step.statements if step.kind == "each" and not self.how.stage else ():
                count |= {self.slice(f): 1 for t in s.terms for f in t.factors if not t.sums(s.out)}
        known = {self.slice(f): f for step in self.steps for s in step.statements for t in s.terms for f in t.factors}
        room = LIMIT - (self.size + 1) * self._most_alive()
        stays: list[tuple[int, tuple]] = []
        for key, r in known.items():
            if r.name in self.written or r.name in self.inner or key not in count:
                continue
            depends = self.batch in r.indices or any(i in r.indices for i in self.entry)
            size = self.numbers(r)
            lasts = self.walk not in r.indices and size >= 512
            if lasts if self.walk else depends and count[key] >= self.how.stage:
                stays.append((size, key))
        copies: list[Step] = []
        names: dict[tuple, str] = {}
        for size, key in sorted(stays, key=lambda x: -x[0]):
            if size * (self.size + 1) > room:
                continue
            room -= size * (self.size + 1)
            name, r = f"held{len(names)}", known[key]
            names[key] = name
            copy = Statement(Reference(name, r.indices), (Term(1.0, (r,)),))
            copies.append(Step("copy" if self.run(r) > 1 else "each", [copy], bool(self.walk)))
            self.arrays = {
                **self.arrays,
                name: dataclasses.replace(self.arrays[r.name], name=name, kind="local", mixed=False),
            }
            self.written.add(name)
        turn = lambda t: Term(
            t.number, tuple(Reference(names.get(self.slice(f), f.name), f.indices) for f in t.factors)
        )
        for step in self.steps:
            step.statements = [s._replace(terms=tuple(map(turn, s.terms))) for s in step.statements]
        self.steps = copies + self.steps

    def run(self, r: Reference) -> int:
        """Numbers of a slice that lie side by side and may be copied in bulk: a multiple of 16 bytes, at such places;
        else 1."""
        if not (self.how.paired and self.how.bulk) or self.size != np.dtype(self.p.dtype).itemsize:
            return 1
        a = self.arrays[r.name]
        near = steps(r, a, self.batch, far=True)
        own = [r.indices[k] for k in self.kept(r)]
        size = 1
        for i in reversed(own):
            if near[i] != size or own.count(i) > 1:
                break
            size *= self.p.sizes[i]
        along = 0 if not a.mixed or self.batch not in r.indices else self.batch_step(r)
        others = [near[i] for i in near if near[i] >= size] + [along]
        grain = self.grain
        return (
            size
            if size >= (grain if self.how.apart else 32)
            and size % grain == 0
            and all(s % FAR % grain == 0 for s in others)
            else 1
        )

    def batch_step(self, r: Reference) -> int:
        """Of the batch index of a reference to an array that has it in several places."""
        return math.prod(x or 1 for x in self.arrays[r.name].extents[r.indices.index(self.batch) + 1 :])

    def slice(self, r: Reference) -> tuple:
        """What tells apart the parts of an array that an entry reads."""
        return r.name, tuple(i if i == self.batch or i in self.entry else "" for i in r.indices)

    def _most_alive(self) -> int:
        """Numbers of the locals that live at one time; a number may take the place of one that was read for it."""
        life: dict[str, tuple[int, int]] = {}
        for k, step in enumerate(self.steps):
            for s in step.statements:
                for r in (*(f for t in s.terms for f in t.factors), s.out):
                    if r.name in self.written and self.arrays[r.name].kind == "local":
                        born = k + (step.kind == "each" and r == s.out)
                        life[r.name] = (life.get(r.name, (born, k))[0], k)
        sizes = {x: self.numbers(Reference(x, self.arrays[x].indices)) for x in life}
        alive = (sum(sizes[x] for x, (a, b) in life.items() if a <= k <= b) for k in range(len(self.steps)))
        return max(alive, default=0)

    def _join(self) -> None:
        """Neighbouring "each" steps over the same numbers become one: a thread does all for its numbers."""
        made: list[Step] = []
        for step in self.steps:
            last = made[-1] if made else None
            if last and last.kind == step.kind == "each" and last.before == step.before and self._may_join(last, step):
                last.statements += step.statements
            else:
                made.append(step)
        self.steps = made

    def _may_join(self, last: Step, step: Step) -> bool:
        (s,) = step.statements
        sums = any(t.sums(x.out) for x in (*last.statements, s) for t in x.terms)
        if sums or self.own(s) != self.own(last.statements[0]):
            return False
        before = {x.out.name: x.out for x in last.statements}
        reads = [f for t in s.terms for f in t.factors]
        earlier = [f for x in last.statements for t in x.terms for f in t.factors]
        return all(f.name not in before or f == before[f.name] for f in (*reads, s.out)) and all(
            f.name != s.out.name or f == s.out for f in earlier
        )

    def _place(self) -> None:
        """Strides by counting bank conflicts, and places: arrays that never live at one time share memory."""
        for k, step in enumerate(self.steps):
            for s in step.statements:
                for r in (*(f for t in s.terms for f in t.factors), s.out):
                    if r.name in self.written and self.arrays[r.name].kind == "local":
                        h = self.held.get(r.name)
                        if h is None:
                            kept = self.kept(r)
                            extents = tuple(self.p.sizes[r.indices[d]] for d in kept)
                            h = self.held[r.name] = Held(r.name, kept, extents, first=k, place=r.name)
                        h.last = max(h.last, k)
                        if step.before or step.kind == "copy" and self.how.ring > 1:
                            h.first, h.last = -1, len(self.steps)
        for k, step in enumerate(self.steps):  # a result may take the place of what is read for the last time
            for s in step.statements:
                x = self.held.get(s.out.name)
                if not x or x.first != k or any(t.sums(s.out) for t in s.terms) and step.kind == "each":
                    continue
                for f in self._overwritten(step, s):
                    y = self.held[f.name]
                    taken = any(h.place == y.place and h.first == k for h in self.held.values())
                    if y.last == k and y.first < k and y.extents == x.extents and not taken:
                        x.place = y.place
                        break
        for step in self.steps:
            self._patterns(step)
        slots: dict[str, list[Held]] = {}
        for h in self.held.values():
            slots.setdefault(h.place, []).append(h)
        put: list[tuple[int, int, int, int]] = []  # first, last, begin, end
        for members in sorted(slots.values(), key=lambda m: -math.prod(m[0].extents)):
            most = LIMIT // self.size // self.copies if self.copies > 1 else 1 << 30
            if self.how.tight:
                most = min(most, int(PADDED * math.prod(members[0].extents)) + 64)
            wide = self.grain if any(h.wide for h in members) else 0
            even = max(self.shortest, wide) if any(h.even for h in members) else wide
            patterns = [x for h in members for x in h.patterns]
            strides = strides_for(members[0].extents, patterns, most, even, self.size)
            for h in members:
                h.strides = strides
            first, last = min(h.first for h in members), max(h.last for h in members)
            size, at = self.slot(members[0].name), 0
            if members[0].name in {step.statements[0].out.name for step in self.steps if step.kind == "copy"}:
                size *= self.how.ring
            for begin, end in sorted((b, e) for f, l, b, e in put if f <= last and first <= l):
                if at + size <= begin:
                    break
                at = max(at, end)
            put.append((first, last, at, at + size))
            for h in members:
                h.at = at
        self.room = max((end for *_, end in put), default=0)
        self.room = -(-self.room // self.grain) * self.grain
        self.bytes = self.size * self.room * self.copies
        self.gate = 0  # place of the bulk copies' counter
        if any(step.kind == "copy" for step in self.steps):
            self.gate = self.room
            self.bytes += -(-self.how.ring // 2) * 16
        if self.bytes > LIMIT:
            raise Unable(f"{LIMIT} bytes of shared memory at most, not {self.bytes}")

    def slot(self, name: str) -> int:
        """Numbers of room of a held array, of one entry; bulk copies begin at 16 bytes."""
        return -(-self.held[name].size // self.grain) * self.grain

    def _overwritten(self, step: Step, s: Statement) -> list[Reference]:
        """What a statement's result may overwrite as it is made. Of numbers: what a thread reads at the same place. Of
        a product: lines that a warp reads whole before it writes theirs, where sum and result lie along one dimension
        """
        reads = [f for o in step.statements for t in o.terms for f in t.factors if f.name in self.held]
        if step.kind == "each":
            return [f for f in reads if all(g.indices == s.out.indices for g in reads if g.name == f.name)]
        if step.kind != "units" or not self.how.tight:
            return []
        _, _, columns, terms = self.layout(s)
        if len(terms) != 1 or len(columns) != 1 or len(terms[0][3]) != 1:
            return []
        _, f, _, (k,) = terms[0]
        turned = tuple(columns[0] if i == k else i for i in f.indices)
        alone = sum(g.name == f.name for g in reads) == 1 and -(-self.extent_of(columns) // 8) <= self.how.columns
        whole = -(-self.p.sizes[k] // 4) <= self.how.batch or self.hoisted(s)
        return [f] if f.name in self.held and turned == s.out.indices and alone and whole else []

    def _patterns(self, step: Step) -> None:
        """How lanes read and write arrays in shared memory: of 8 bytes, half a warp at a time; of 4, all of it."""
        together = (0, 1) if self.size == 4 else (0,)

        def note(r, digits, weight):
            h = self.held.get(r.name)
            if h:
                where = [r.indices[d] for d in h.kept]
                h.patterns.append((weight, [[lane.get(i, 0) for i in where] for lane in digits]))

        def split(indices, number):
            found = {}
            for i in reversed(indices):
                found[i] = number % self.p.sizes[i]
                number //= self.p.sizes[i]
            return found

        for s in step.statements:
            if step.kind == "copy":
                self.held[s.out.name].even = True
                continue
            if step.kind == "each":
                own, size = self.own(s), self.numbers(s.out)
                for r in (*(f for t in s.terms for f in t.factors), s.out):
                    for half in range(0, 2, len(together)):
                        there = [(half + more) * 16 + x for more in together for x in range(16)]
                        note(r, [split(own, x % size) for x in there], size / 32)
                continue
            _, rows, columns, terms = self.layout(s)
            rows = self.order(rows, step)
            m, n = self.extent_of(rows), self.extent_of(columns)
            points = [f for t in s.terms if len(t.factors) == 1 for f in t.factors]
            if self.how.line:
                scale = self.scale(s)
                for r in (s.out, *points, *([scale] if scale else [])):
                    self._line_pattern(r, rows, columns[0], note)
                for _, f, _, (k,) in terms:
                    self._line_pattern(f, rows, k, note)
                continue
            tiles = -(-m // 16)
            lanes = [(lane >> 2, lane & 3) for lane in range(16 * len(together))]
            for first in range(0, 8, 4 * len(together)):
                row = lambda r: split(rows, min(first + r, m - 1))
                scale = self.scale(s)
                for r in (s.out, *points, *([scale] if scale else [])):
                    note(r, [{**row(r_), **split(columns, min(c, n - 1))} for r_, c in lanes], tiles * -(-n // 4))
                for _, f, g, sums in terms:
                    k = self.extent_of(sums)
                    by = lambda c: split(sums, min(c, k - 1)) if sums else {}
                    note(f, [{**row(r_), **by(c)} for r_, c in lanes], tiles * -(-k // 4))
                    col = lambda r: split(columns, min(((first + r) >> 1) + 4 * (r & 1), n - 1))
                    note(g, [{**col(r_), **by(c)} for r_, c in lanes], -(-n // 8) * -(-k // 4))

    def _line_pattern(self, r: Reference, rows, along: str, note) -> None:
        """How a warp's threads read a row each, number by number or 16 bytes at once, which a quarter of it does."""
        h = self.held.get(r.name)
        if not h:
            return
        extent = self.p.sizes[along]
        wide = self.grain if r.indices[-1] == along and extent % self.grain == 0 else 1
        h.wide = h.wide or wide > 1
        for first in range(0, 32, 32 // wide):
            lanes = []
            for lane in range(first, first + 32 // wide):
                number, digits = min(lane, self.extent_of(rows) - 1), {}
                for i in reversed(rows):
                    number, digits[i] = divmod(number, self.p.sizes[i])
                lanes += [{**digits, along: k} for k in range(wide)]
            note(r, lanes, self.extent_of(rows) / 32 * extent / wide)

    # ---- counts
    @property
    def barriers(self) -> bool:
        """Whether the threads of a team wait for each other."""
        read = {f.name for step in self.steps for s in step.statements for t in s.terms for f in t.factors}
        return bool(read & self.written)

    def items(self, n: int) -> int:
        """Blocks' work for n entries of the batch."""
        if self.how.orbit:  # sets of values of the entry's indices
            return math.comb(self.extent + len(self.orbit[0]) - 1, len(self.orbit[0]))
        return n * self.teams * (self.how.parts if self.walk else 1)

    @property
    def entries(self) -> int:
        """Teams of a block: one where threads wait for each other."""
        return 1 if self.barriers else self.how.entries

    @property
    def teams(self) -> int:
        """Of one value of the batch index."""
        return math.prod(self.p.sizes[i] for i in self.entry if i != self.walk)

    @property
    def use(self) -> float:
        """Share of the units' multiplications that belong to the products."""
        if self.how.line:  # of the threads, where a warp's rows are few
            rows = [
                self.extent_of(self.layout(s)[1])
                for step in self.steps
                if step.kind == "units"
                for s in step.statements
            ]
            return min(m / (32 * -(-m // 32)) for m in rows)
        useful = done = 0
        for step in self.steps:
            for s in step.statements if step.kind == "units" else ():
                _, rows, columns, terms = self.layout(s)
                m, n = self.extent_of(rows), self.extent_of(columns)
                for *_, sums in terms:
                    k = self.extent_of(sums)
                    useful += m * n * k
                    done += -(-m // 16) * 16 * -(-n // 8) * 8 * -(-k // 4) * 4
        return useful / done

    def jobs(self) -> int:
        """Tiles of rows of the largest product, or warps' rows: as many warps can work at a time."""
        most = 1
        for step in self.steps:
            if step.kind == "units":
                others, rows, columns, _ = self.layout(step.statements[0])
                if self.how.line:
                    most = max(most, -(-self.extent_of(rows) // 32))
                    continue
                chunks = math.ceil(math.ceil(self.extent_of(columns) / 8) / self.how.columns)
                most = max(most, self.extent_of(others) * -(-self.extent_of(rows) // 16) * chunks)
        return most


class Unable(Exception):
    """The organisation does not serve a program; the message says what it wants."""


# ---- which organisation --------------------------------------------------------------------------------------------

TABLE = pathlib.Path(__file__).with_name("stages.csv")


@functools.lru_cache(None)
def _rows() -> tuple[dict, ...]:
    """What was measured to be fastest: of each kind of program, by its steps and tiles."""
    with open(TABLE, newline="") as file:
        kept = ("kind", "case", "device", "compiler", "date")
        return tuple({k: x if k in kept else int(x) for k, x in row.items()} for row in csv.DictReader(file))


def measured(kind: str, steps_: int, jobs: int, **more) -> Staged:
    """The organisation of the most similar program in the table, for as many tiles as this one has."""
    away = lambda row: abs(math.log(row["jobs"] / jobs)) + abs(math.log(row["steps"] / steps_))
    row = min((row for row in _rows() if row["kind"] == kind), key=away)
    warps = -(-jobs // -(-jobs // min(row["warps"], MOST_WARPS)))
    entries = row["entries"] if kind == "alone" else 1
    blocks = row["blocks"] if warps == row["warps"] else 0
    told = {key: row[key] for key in ("ahead", "columns", "stage", "ring")}
    told |= {key: bool(row[key]) for key in ("bulk", "tight", "apart", "paired", "narrow")}
    told |= {key: bool(row[key]) for key in ("line", "once", "turned", "split")}
    return Staged(warps, entries, blocks, **told, **more)


def choices(p: Program) -> list[tuple[float, Staged]]:
    """Organisations that serve a program, each with the share of the units' work that is of use: "stages"; where a
    further index is spread over teams also "stays" and, for programs that allow it, "orbits". Where nothing can be
    copied the table's way is taken without copies ahead or lines apart."""
    try:
        plain = Stages(p, Staged(1))
    except Unable:
        return []
    size = len(plain.steps), plain.jobs()
    ways = [[measured("team" if plain.barriers else "alone", *size)]]
    if plain.barriers and p.dtype == "float32":
        ways[0].insert(0, measured("single", *size))
    if plain.entry and plain.barriers:
        ways.append([measured("walk", *size, walk=plain.entry[-1], parts=2)])
        ways.append([measured("orbit", 2, 32, orbit=True)])
    found = []
    for some in ways:
        for other in (x for how in some for x in (how, dataclasses.replace(how, apart=False, ring=1))):
            with contextlib.suppress(Unable):
                found.append((Stages(p, other).use, other))
                break
    return found
