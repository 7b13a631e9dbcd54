"""Tensor programs for CUDA by stages: the statements of an entry one after the other, products on FP64 matrix units.

A team of warps has an entry of the batch, or of the batch and further indices that every statement keeps where they
are. Locals lie in shared memory. A product with a sum is a matrix product: the indices of the output that only one
factor has are rows, those that only the other has are columns. A tile of 16 rows and all columns is a warp's; it reads
what the unit wants straight from where it lies. All other statements are done number by number, a thread each.

What comes several times is staged: a factor that several products read is copied into shared memory first. Sums that
are equal up to names are added up first (orders.gathered). With `walk` a block stays: it takes one value of that index
after the other, and factors without it are staged once for all.
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

from ..backend.base import Shape, Source
from ..backend.record import record, structure
from . import orders
from .plan import FAR, Loop, Program, describe, joined, steps, view
from .text import Reference, Statement, Term

LIMIT = 226 * 1024  # bytes of shared memory a block
LARGEST = 8192  # numbers of an output that a team has; of more, a further index is spread over teams where it can be
HELD = 48  # numbers of the narrow factor that a lane keeps in registers
MOST_WARPS = 16  # of a team
FEW = 16  # numbers that a lane asks for ahead
BANKS = 16  # of 8 bytes: those of half a warp differ where shared memory is read at full speed
PADDED = 1.15  # times its numbers an array may take at most where memory is tight
TRIED = 16  # paddings of a dimension that are looked at


@dataclasses.dataclass(frozen=True)
class Staged:
    """An organisation. warps: of a team. entries: teams of a block. blocks: on a multiprocessor, which bounds the
    registers; 0: no bound. ahead: tiles of a warp at a time. batch: steps of a sum whose numbers are read at once.
    paired: two neighbours of a sum are read at once. walk: an index that a block takes value by value, in `parts`.
    orbit: a block takes all orders of the entry's indices. columns: tiles of eight columns a warp, at most. stage: how
    often a factor has to be read to be copied into shared memory first. bulk: such copies are made by the copy unit. tight: less
    shared memory, for more bank conflicts and barriers."""

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

    @property
    def name(self) -> str:
        return "orbits" if self.orbit else "stays" if self.walk else "stages"

    def __str__(self):
        told = [f"{self.warps} warps"]
        told += [f"{self.entries} entries"] * (self.entries > 1) + [f"{self.blocks} blocks"] * (self.blocks > 0)
        told += [f"{self.ahead} tiles, {self.batch} steps"]
        told += [f"along {self.walk} in {self.parts}"] if self.walk else []
        told += [f"{self.columns} columns"] * (self.columns < 8) + ["all staged"] * (self.stage < 2)
        told += ["no bulk copies"] * (not self.bulk) + ["tight"] * self.tight
        return f"{self.name} ({', '.join(told)})"


@dataclasses.dataclass
class Held:
    """An array in shared memory. kept: places of the dimensions that it has there; first, last: steps of its life;
    place: name of the array whose memory it has."""

    name: str
    kept: tuple[int, ...]
    extents: tuple[int, ...]
    strides: tuple[int, ...] = ()
    first: int = 0
    last: int = 0
    place: str = ""
    at: int = 0
    even: bool = False
    patterns: list = dataclasses.field(default_factory=list)

    @property
    def size(self) -> int:
        return sum((x - 1) * s for x, s in zip(self.extents, self.strides)) + 1


@dataclasses.dataclass
class Step:
    """kind: "units", "each" or "copy" (before the walk). statements: one, of "each" several over the same numbers."""

    kind: str
    statements: list[Statement]
    before: bool = False


def strides_for(extents, patterns, most: int = 1 << 30, even: bool = False) -> tuple[int, ...]:
    """Strides with the fewest bank conflicts, for an array of at most so many numbers. patterns: [(weight, digits of
    each of 16 lanes)]. even: bulk copies fill it, long runs that begin at even places."""
    rank = len(extents)
    if rank < 2 or not patterns:
        return tuple(math.prod(extents[d + 1 :]) for d in range(rank))
    free = min(rank - 1, 2)
    weights = np.array([w for w, _ in patterns], float)
    digits = np.array([d for _, d in patterns])  # (patterns, lanes, rank)
    best = None
    for pads in itertools.product(range(TRIED), repeat=free):
        found = [1]
        for d in range(rank - 1, 0, -1):
            pad = pads[rank - 1 - d] if rank - 1 - d < free else 0
            found.append(found[-1] * extents[d] + pad)
        s = tuple(reversed(found))
        at = digits @ np.array(s)
        cost = 0.0
        for weight, lanes in zip(weights, at):
            distinct = np.unique(lanes)
            cost += weight * np.bincount(distinct % BANKS).max()
        size = sum((x - 1) * y for x, y in zip(extents, s)) + 1
        if any(pads) and (size > most or (even and not _bulky(extents, s))):
            continue
        if best is None or (cost, size) < best[0]:
            best = ((cost, size), s)
    assert best
    return best[1]


def _bulky(extents, strides) -> bool:
    """Whether what lies side by side there is long, and begins and ends at even places."""
    run, inner = 1, len(extents)
    while inner and strides[inner - 1] == run:
        inner -= 1
        run *= extents[inner]
    return run % 2 == 0 and run >= 64 and all(s % 2 == 0 for s in strides[:inner])


class Stages:
    """The plan of one program: steps, arrays in shared memory, text. Raises Unable where it does not serve."""

    def __init__(self, p: Program, how):
        self.p, self.how = p, how
        e = p.expression
        self.batch = p.batch
        if e.symmetric or any(s.function or p.once(s) for s in p.statements):
            raise Unable("no functions, symmetric operands and locals that the batch shares")
        made = orders.gathered(e, p.sizes, LARGEST)
        self.statements = list(made or p.statements)
        self.arrays = describe(e, self.statements, p.sizes) if made else p.arrays
        if any(a.kind == "shared" for a in self.arrays.values()):
            raise Unable("a local that the batch shares")
        self._merge()
        self.written = {s.out.name for s in self.statements}
        if any(self.arrays[x].mixed for x in self.written):
            raise Unable("an output with the batch index in several places")
        self.entry = self._entry()
        self.walk = how.walk if how.walk in self.entry else ""
        self.steps = [step for s in self.statements for step in self._split(s)]
        if not any(step.kind == "units" for step in self.steps):
            raise Unable("no product with a sum, rows and columns")
        self.held: dict[str, Held] = {}
        self.copies = 1  # of every array in shared memory
        if how.orbit:
            self.orbit = self._orbit()
        else:
            self._stage()
            self._join()
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

    def _entry(self) -> list[str]:
        """Indices that join the batch index: each stands in the same place wherever a written array is named."""
        self.entry: list[str] = []
        references = [r for s in self.statements for t in s.terms for r in (*t.factors, s.out) if r.name in self.written]
        lead = self.statements[-1].out.indices
        free = [
            i
            for i in lead
            if i != self.batch
            and all(i in r.indices for r in references)
            and all(len({r.indices.index(i) for r in references if r.name == x}) == 1 for x in self.written)
        ]
        for i in free:
            locals_ = {s.out.name: self.numbers(s.out) for s in self.statements if self.arrays[s.out.name].kind == "local"}
            most = max(self.numbers(s.out) for s in self.statements)
            if most <= LARGEST and sum(locals_.values()) * 8 <= LIMIT:
                break
            before = [bool(self.products(s)) for s in self.statements]
            self.entry.append(i)
            if [bool(self.products(s)) for s in self.statements] != before:
                self.entry.pop()
        return self.entry

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
        rows = lambda terms: fastest in max(self.sides(s, terms[0]), key=self._extent)
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

    def _extent(self, indices) -> int:
        return math.prod(self.p.sizes[i] for i in indices)

    def layout(self, s: Statement):
        """(others, rows, columns, terms) of a "units" step: indices, and for each product (number, rows' factor,
        columns' factor, sums); the rows are the larger side, or that with the fastest index."""
        (terms,) = self.products(s).values()
        first, second = self.sides(s, terms[0])
        fastest = self.own(s)[-1]
        rows = max((first, second), key=lambda side: (self._extent(side), fastest in side))
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

    # ---- orders of the entry
    def _orbit(self):
        """(indices, products, {order: number}): a local is the sum over orders of the entry's indices of the number
        times the products, so that a block that has all orders does each product once for all of them."""
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
            if step.kind == "units":
                others, rows, columns, terms = self.layout(step.statements[0])
                many = -(-self._extent(rows) // 16) > 1 and not self._kept_in_registers(columns, terms)
                for _, f, g, _ in terms:
                    count[self.slice(f)] = count.get(self.slice(f), 0) + 1
                    count[self.slice(g)] = count.get(self.slice(g), 0) + 1 + many
        known = {self.slice(f): f for step in self.steps for s in step.statements for t in s.terms for f in t.factors}
        room = LIMIT - 9 * self._most_alive()
        stays: list[tuple[int, tuple]] = []
        for key, r in known.items():
            if r.name in self.written or key not in count:
                continue
            depends = self.batch in r.indices or any(i in r.indices for i in self.entry)
            size = self.numbers(r)
            if self.walk and self.walk not in r.indices and size >= 512:
                stays.append((size, key))
            elif not self.walk and depends and count[key] >= self.how.stage:
                stays.append((size, key))
        copies, names = [], {}
        for size, key in sorted(stays, key=lambda x: -x[0]):
            if size * 9 > room:
                continue
            room -= size * 9
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
        """Numbers of a slice that lie side by side and may be copied in bulk: an even number of them, at even places;
        else 1."""
        if not (self.how.paired and self.how.bulk) or self.p.dtype != "float64":
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
        return size if size >= 32 and size % 2 == 0 and all(s % FAR % 2 == 0 for s in others) else 1

    def batch_step(self, r: Reference) -> int:
        """Of the batch index of a reference to an array that has it in several places."""
        return math.prod(x or 1 for x in self.arrays[r.name].extents[r.indices.index(self.batch) + 1 :])

    def slice(self, r: Reference) -> tuple:
        """What tells apart the parts of an array that an entry reads."""
        return r.name, tuple(i if i == self.batch or i in self.entry else "" for i in r.indices)

    def _most_alive(self) -> int:
        """Numbers of the locals that live at one time."""
        life: dict[str, tuple[int, int]] = {}
        for k, step in enumerate(self.steps):
            for s in step.statements:
                for r in (*(f for t in s.terms for f in t.factors), s.out):
                    if r.name in self.written and self.arrays[r.name].kind == "local":
                        life[r.name] = (life.get(r.name, (k, k))[0], k)
        sizes = {x: self.numbers(Reference(x, self.arrays[x].indices)) for x in life}
        alive = (sum(sizes[x] for x, (a, b) in life.items() if a <= k <= b) for k in range(len(self.steps)))
        return max(alive, default=0)

    def _kept_in_registers(self, columns, terms) -> bool:
        tiles = -(-self._extent(columns) // 8)
        return sum(-(-self._extent(sums) // 4) * tiles for *_, sums in terms) <= HELD and tiles <= self.how.columns

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
                        if step.before:
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
            most = LIMIT // 8 // self.copies if self.copies > 1 else 1 << 30
            if self.how.tight:
                most = min(most, int(PADDED * math.prod(members[0].extents)) + 64)
            even = any(h.even for h in members)
            strides = strides_for(members[0].extents, [x for h in members for x in h.patterns], most, even)
            for h in members:
                h.strides = strides
            first, last = min(h.first for h in members), max(h.last for h in members)
            size, at = -(-members[0].size // 2) * 2, 0  # bulk copies begin at 16 bytes
            for begin, end in sorted((b, e) for f, l, b, e in put if f <= last and first <= l):
                if at + size <= begin:
                    break
                at = max(at, end)
            put.append((first, last, at, at + size))
            for h in members:
                h.at = at
        self.room = max((end for *_, end in put), default=0)
        self.bytes = 8 * self.room * self.copies
        self.gate = 0  # place of the bulk copies' counter
        if any(step.kind == "copy" for step in self.steps):
            self.gate = self.room
            self.bytes += 16
        if self.bytes > LIMIT:
            raise Unable(f"{self.bytes} bytes of shared memory")

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
        alone = sum(g.name == f.name for g in reads) == 1 and -(-self._extent(columns) // 8) <= self.how.columns
        whole = -(-self.p.sizes[k] // 4) <= self.how.batch or self._kept_in_registers(columns, terms)
        return [f] if f.name in self.held and turned == s.out.indices and alone and whole else []

    def _patterns(self, step: Step) -> None:
        """How lanes 0 to 15 read and write arrays in shared memory."""

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
                    for first in (0, 16):
                        note(r, [split(own, (first + x) % size) for x in range(16)], size / 32)
                continue
            _, rows, columns, terms = self.layout(s)
            m, n = self._extent(rows), self._extent(columns)
            tiles = -(-m // 16)
            lanes = [(lane >> 2, lane & 3) for lane in range(16)]
            for first in (0, 4):
                row = lambda r: split(rows, min(first + r, m - 1))
                for r in (s.out, *(t.factors[0] for t in s.terms if len(t.factors) == 1)):
                    note(r, [{**row(r_), **split(columns, min(c, n - 1))} for r_, c in lanes], tiles * -(-n // 4))
                for _, f, g, sums in terms:
                    k = self._extent(sums)
                    by = lambda c: split(sums, min(c, k - 1)) if sums else {}
                    note(f, [{**row(r_), **by(c)} for r_, c in lanes], tiles * -(-k // 4))
                    col = lambda r: split(columns, min(((first + r) >> 1) + 4 * (r & 1), n - 1))
                    note(g, [{**col(r_), **by(c)} for r_, c in lanes], -(-n // 8) * -(-k // 4))

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
    def teams(self) -> int:
        """Of one value of the batch index."""
        return math.prod(self.p.sizes[i] for i in self.entry if i != self.walk)

    @property
    def use(self) -> float:
        """Share of the units' multiplications that belong to the products."""
        useful = done = 0
        for step in self.steps:
            if step.kind == "units":
                _, rows, columns, terms = self.layout(step.statements[0])
                m, n = self._extent(rows), self._extent(columns)
                for *_, sums in terms:
                    k = self._extent(sums)
                    useful += m * n * k
                    done += -(-m // 16) * 16 * -(-n // 8) * 8 * -(-k // 4) * 4
        return useful / done

    def jobs(self) -> int:
        """Tiles of rows of the largest product: as many warps can work at a time."""
        most = 1
        for step in self.steps:
            if step.kind == "units":
                others, rows, columns, _ = self.layout(step.statements[0])
                chunks = -(-(-(-self._extent(columns) // 8)) // self.how.columns)
                most = max(most, self._extent(others) * -(-self._extent(rows) // 16) * chunks)
        return most


class Unable(Exception):
    """The organisation does not serve a program."""


# ---- text -----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Access:
    """Where a reference is read: a pointer to what the team has, and the step of each index."""

    pointer: str
    steps: dict[str, int]
    ld: str
    shared: bool


class Writer:
    """Text of one plan."""

    def __init__(self, plan: Stages):
        self.plan, self.p, self.how = plan, plan.p, plan.how
        self.team = 32 * self.how.warps
        self.pointers: dict[Reference, str] = {}
        self.even: set[str] = set()  # arguments of which 16 bytes are read at once

    def access(self, r: Reference) -> Access:
        h = self.plan.held.get(r.name)
        if h:
            own: dict[str, int] = {}
            for d, s in zip(h.kept, h.strides):
                own[r.indices[d]] = own.get(r.indices[d], 0) + s
            return Access(f"h_{r.name}", own, "", True)
        a = self.plan.arrays[r.name]
        all_steps = steps(r, a, self.plan.batch, far=True)
        self.pointers.setdefault(r, f"p{len(self.pointers)}")
        own = {i: s for i, s in all_steps.items() if i not in self.plan.entry}
        return Access(self.pointers[r], own, f"a.ld_{r.name}", False)

    def pointer_lines(self, walk: bool) -> list[str]:
        """Of every reference to an argument, at this team's entry. walk: of those that have the index of the walk."""
        lines = []
        for r, name in self.pointers.items():
            if (bool(self.plan.walk) and self.plan.walk in r.indices) != walk:
                continue
            a = self.plan.arrays[r.name]
            all_steps = steps(r, a, self.plan.batch, far=True)
            parts = [f"at_{view(r, a, self.plan.batch)}"]
            parts += [f"e_{i} * ({step_text(all_steps[i], f'a.ld_{r.name}')})" for i in self.plan.entry if i in all_steps]
            kind = "scalar" if r.name in self.p.expression.outputs else "const scalar"
            lines.append(f"{kind} *const {name} = {' + '.join(parts)};")
        return lines

    # ---- offsets
    def loops(self, indices, accesses) -> tuple[Loop, ...]:
        return joined([Loop(self.p.sizes[i], tuple(x.steps.get(i, 0) for x in accesses)) for i in indices])

    @staticmethod
    def digits(loops, number: str, letter: str) -> list[str]:
        lines, size = [], 1
        for d in reversed(range(len(loops))):
            over = f" / {size}" if size > 1 else ""
            size *= loops[d].extent
            rest = f" % {loops[d].extent}" if d else ""
            lines.append(f"const int {letter}{d} = {number if not over else f'({number}){over}'}{rest};")
        return lines

    @staticmethod
    def offset(loops, letter: str, k: int, access: Access) -> str:
        parts = []
        for d, loop in enumerate(loops):
            if loop.step[k]:
                step = step_text(loop.step[k], access.ld)
                parts.append(f"{letter}{d}" if step == "1" else f"{letter}{d} * ({step})")
        return " + ".join(parts) or "0"

    # ---- statements number by number
    def each(self, number: int, step: Step) -> tuple[list[str], list[str]]:
        """(what is asked for at the entry's beginning, the step)."""
        plan = self.plan
        own, size = plan.own(step.statements[0]), plan.numbers(step.statements[0].out)
        count = -(-size // self.team)
        refs = list(dict.fromkeys(r for s in step.statements for t in s.terms for r in (*t.factors, s.out)))
        accesses = {r: self.access(r) for r in refs}
        order = list(accesses.values())
        loops = self.loops(own, order)
        split = self.digits(loops, "x", "x")
        place = {r: k for k, r in enumerate(refs)}
        where = lambda r: f"{accesses[r].pointer}[{self.offset(loops, 'x', place[r], accesses[r])}]"
        plain = not any(t.sums(s.out) for s in step.statements for t in s.terms)
        outs = {s.out.name for s in step.statements}
        elsewhere = {s.out.name for other in plan.steps if other is not step for s in other.statements}
        loaded: list[Reference] = []
        if plain:
            first = {}
            for s in step.statements:
                for r in (*(f for t in s.terms for f in t.factors), *([s.out] if s.add else [])):
                    if not accesses[r].shared and r.name not in elsewhere and r.name not in first:
                        loaded.append(r)
                first[s.out.name] = s
            loaded = list(dict.fromkeys(loaded))
        guard = lambda body: body if size % self.team == 0 else f"if (x < {size}) {{ {body} }}"
        head = f"for (int i = 0; i < {count}; ++i) {{ const int x = me + i * {self.team}; (void)x;"
        batch = count * len(loaded) <= FEW and bool(loaded)
        early, lines = [], [f"// {'; '.join(map(str, step.statements))}"]
        value = lambda r: f"v{number}_{loaded.index(r)}[i]" if batch and r in loaded else where(r)
        if batch:
            ahead = early if not step.before else lines
            for k, r in enumerate(loaded):
                ahead.append(f"scalar v{number}_{k}[{count}];")
            loads = " ".join(f"v{number}_{k}[i] = {where(r)};" for k, r in enumerate(loaded))
            ahead.append(f"UNROLL {head} {guard(' '.join([*split, loads]))} }}")
        elif plain and loaded and not step.before and not all(r.name in outs for r in loaded):
            for r in loaded:  # too many for registers: at least the second cache has them in time
                one = self.loops(own, [accesses[r]])
                if len(one) == 1 and one[0].step == (1,):
                    early.append(f"for (int x = me * 16; x < {size}; x += {self.team * 16}) ask({accesses[r].pointer} + x);")
        body, stores, done = list(split), [], {}
        for j, s in enumerate(step.statements):
            body.append(f"double sum{j} = {value(s.out) if s.add else 0};")
            for t in s.terms:
                sums = t.sums(s.out)
                if not sums:
                    words = [done.get(f.name) or value(f) for f in t.factors]
                else:
                    inner = [self.access(f) for f in t.factors]
                    turns = self.loops(sums, inner)
                    body += [f"for (int k{d} = 0; k{d} < {loop.extent}; ++k{d})" for d, loop in enumerate(turns)]
                    words = []
                    for q, f in enumerate(t.factors):
                        k_part = self.offset(turns, "k", q, inner[q])
                        words.append(f"{accesses[f].pointer}[{self.offset(loops, 'x', place[f], accesses[f])} + {k_part}]")
                words = [*([repr(t.number)] if abs(t.number) != 1 or not words else []), *words]
                body.append(f"sum{j} {'-' if t.number == -1 and t.factors else '+'}= {' * '.join(words)};")
            done[s.out.name] = f"sum{j}"
            stores.append(self.store(s.out, where(s.out), f"sum{j}"))
        body += stores
        unroll = "UNROLL" if batch else "UNROLL_BY(2)"
        lines.append(f"{unroll} {head} {guard(chr(10).join(body))} }}")
        return early, lines

    def copy(self, step: Step) -> list[str]:
        """Bulk copies of a slice, run by run, asked for by the first warp."""
        (s,) = step.statements
        r, plan = s.terms[0].factors[0], self.plan
        h, x = plan.held[s.out.name], self.access(r)
        own = [r.indices[k] for k in plan.kept(r)]
        run, extent = 1, len(own)
        while extent and x.steps[own[extent - 1]] == run == h.strides[extent - 1]:
            extent -= 1
            run *= self.p.sizes[own[extent]]
        self.even.add(r.name)
        loops = [Loop(self.p.sizes[i], (x.steps[i], h.strides[k])) for k, i in enumerate(own[:extent])]
        turned = joined(loops)
        runs = math.prod(loop.extent for loop in turned)
        to = Access(f"h_{s.out.name}", {}, "", True)
        return [
            f"// {s}",
            f"if (me < 32) for (int x = me; x < {runs}; x += 32) {{ {' '.join(self.digits(turned, 'x', 'x'))} "
            f"bulk(h_{s.out.name} + {self.offset(turned, 'x', 1, to)}, {x.pointer} + {self.offset(turned, 'x', 0, x)}, {run}, gate); }}",
        ]

    def store(self, out: Reference, where: str, value: str) -> str:
        reads = {f.name for step in self.plan.steps for s in step.statements for t in s.terms for f in t.factors}
        if out.name in self.plan.held or out.name in reads:
            return f"{where} = {value};"
        return f"leave(&{where}, {value});"

    # ---- products on the units
    def units(self, number: int, step: Step) -> list[str]:
        plan = self.plan
        (s,) = step.statements
        others, rows, columns, terms = plan.layout(s)
        scale = plan.scale(s)
        points = [t for t in s.terms if not any({*t.factors[:2]} == {f, g} for _, f, g, _ in terms)]
        refs = [s.out, *(r for _, f, g, _ in terms for r in (f, g)), *(f for t in points for f in t.factors)]
        refs = list(dict.fromkeys([*refs, *([scale] if scale else [])]))
        accesses = {r: self.access(r) for r in refs}
        order, place = list(accesses.values()), {r: k for k, r in enumerate(refs)}
        row_loops, column_loops, other_loops = (self.loops(x, order) for x in (rows, columns, others))
        m, n, q = (plan._extent(x) for x in (rows, columns, others))
        tiles, all_columns = -(-m // 16), -(-n // 8)
        width = min(all_columns, self.how.columns)
        chunks = -(-all_columns // width)
        jobs = tiles * q * chunks
        at = lambda r, what, letter: self.offset(what, letter, place[r], accesses[r])
        hoisted = plan._kept_in_registers(columns, terms) and chunks == 1 and q == 1
        lines = [f"// {s}"]
        column = lambda t, chunk: f"min(({chunk} * {width} + {t}) * 8 + column_of(row), {n - 1})"
        k_loops = [self.loops(sums, [accesses[f], accesses[g]]) for _, f, g, sums in terms]
        extents = [math.prod(loop.extent for loop in loops) for loops in k_loops]
        paired = [self.pairs(f, g, accesses, loops, row_loops, column_loops, other_loops, place) for (_, f, g, _), loops in zip(terms, k_loops)]
        count = [2 * -(-k // 8) if pair_ else -(-k // 4) for k, pair_ in zip(extents, paired)]

        def block(j, first, steps_, guarded, what):
            """Loads of `steps_` steps from sum number `first`: what: "a", "b"."""
            sign, f, g, _ = terms[j]
            loops, pair_ = k_loops[j], paired[j]
            r = f if what == "a" else g
            base = {"a": ("row_a", "row_b"), "b": tuple(f"column{t}" for t in range(width))}[what]
            made = []
            vector = pair_ and r in pair_
            for step_ in range(0, steps_, 2 if vector else 1):
                k = f"{first} + {8 * (step_ // 2)} + 2 * c + {step_ % 2}" if pair_ else f"{first} + {4 * step_} + c"
                inside = f"k < {extents[j]}" if guarded else ""
                put = [*([f"const int k = {k};"] if loops or inside else []), *self.digits(loops, "k", "k")]
                away = self.offset(loops, "k", 0 if what == "a" else 1, accesses[r])
                for t, b in enumerate(base):
                    to = f"fa[{step_}][{t}]" if what == "a" else f"fb{j}[{t}][{step_}]"
                    after = f"fa[{step_ + 1}][{t}]" if what == "a" else f"fb{j}[{t}][{step_ + 1}]"
                    from_ = f"{accesses[r].pointer} + {b}_{j} + {away}"
                    if vector:
                        load = f"pair({from_}, {to}, {after});"
                        if what == "b" and sign != 1:
                            load += f" {to} *= {sign!r}, {after} *= {sign!r};"
                        put.append(f"if ({inside}) {{ {load} }} else {to} = {after} = 0;" if inside else load)
                    else:
                        read = f"*({from_})"
                        if what == "b" and sign != 1:
                            read = f"-{read}" if sign == -1 else f"{sign!r} * {read}"
                        put.append(f"{to} = {inside + ' ? ' if inside else ''}{read}{' : 0' if inside else ''};")
                made.append("{ " + " ".join(put) + " }")
            return made

        def column_bases(j, chunk):
            g = terms[j][2]
            made = []
            for t in range(width):
                made.append(
                    f"long column{t}_{j}; {{ const int n = {column(t, chunk)}; (void)n; "
                    f"{' '.join(self.digits(column_loops, 'n', 'n'))} column{t}_{j} = {at(g, column_loops, 'n')}"
                    f"{'' if hoisted else ' + ' + at(g, other_loops, 'o')}; }}"
                )
            return made

        if hoisted:
            for j in range(len(terms)):
                lines.append(f"double fb{j}[{width}][{count[j]}];")
                guarded = extents[j] % (8 if paired[j] else 4) != 0
                lines.append("{ " + "\n".join([*column_bases(j, "0"), *block(j, "0", count[j], guarded, "b")]) + " }")
        turns = -(-jobs // self.how.warps)
        exact = jobs % self.how.warps == 0
        lines.append(
            f"UNROLL_BY({min(turns, self.how.ahead)}) for (int turn = 0; turn < {turns}; ++turn) {{ "
            f"const int job = warp + turn * {self.how.warps};"
            + ("" if exact else f" if (job < {jobs}) {{")
        )
        lines.append(f"const int tile = job % {tiles}, chunk = job / {tiles} % {chunks}, other = job / {tiles * chunks};")
        lines.append("(void)chunk, (void)other;")
        lines += self.digits(other_loops, "other", "o")
        lines.append("const int m_a = tile * 16 + row, m_b = m_a + 8;")
        for half in "ab":
            bound = f"min(m_{half}, {m - 1})" if m % 16 else f"m_{half}"
            lines.append(f"const int m{half} = {bound}; (void)m{half};")
            lines += self.digits(row_loops, f"m{half}", f"r{half}")
            for j, (_, f, _, _) in enumerate(terms):
                lines.append(
                    f"const long row_{half}_{j} = {at(f, row_loops, f'r{half}')} + {at(f, other_loops, 'o')}; (void)row_{half}_{j};"
                )
        # where a lane's four numbers of a tile lie
        lines.append(f"double acc[{width}][4];" + (f" double scaled[{width}][4];" if scale else ""))
        stores = []
        for t in range(width):
            for i in range(4):
                half, second = "ab"[i // 2], i % 2
                first_column = t * 8 + 4 * second
                if chunks == 1 and first_column >= n:
                    lines.append(f"acc[{t}][{i}] = 0;")
                    continue
                tests = []
                if m % 16:
                    tests.append(f"m_{half} < {m}")
                if chunks > 1 or first_column + 3 >= n:
                    tests.append(f"nn < {n}")
                head = f"const int nn = (chunk * {width} + {t}) * 8 + {4 * second} + c; (void)nn; "
                find = " ".join(self.digits(column_loops, "nn", "n"))
                spot = lambda r, half=half: (
                    f"{accesses[r].pointer}[{at(r, row_loops, f'r{half}')} + {at(r, column_loops, 'n')} + {at(r, other_loops, 'o')}]"
                )
                start = [*([spot(s.out)] if s.add and not scale else [])]
                for p_ in points:
                    words = [*([repr(p_.number)] if p_.number != 1 or not p_.factors else []), *map(spot, p_.factors)]
                    start.append(" * ".join(words))
                test = " && ".join(tests)
                if start:
                    value = " + ".join(start)
                    lines.append(f"{{ {head}acc[{t}][{i}] = 0; {f'if ({test})' if test else ''} {{ {find} acc[{t}][{i}] = {value}; }} }}")
                else:
                    lines.append(f"acc[{t}][{i}] = 0;")
                number = f"acc[{t}][{i}]"
                if scale:
                    number = f"{f'{spot(s.out)} + ' if s.add else ''}scaled[{t}][{i}] * {number}"
                    ahead = f"scaled[{t}][{i}] = {spot(scale)};"
                    lines.append(f"{{ {head}{f'if ({test})' if test else ''} {{ {find} {ahead} }} }}")
                write = self.store(s.out, spot(s.out), number)
                stores.append(f"{{ {head}{f'if ({test})' if test else ''} {{ {find} {write} }} }}")
        for j in range(len(terms)):
            k, size = extents[j], count[j]
            lines.append("{")
            if not hoisted:
                lines += column_bases(j, "chunk")
            per = size if hoisted or size <= self.how.batch else self.how.batch
            full = k // (4 * per) if per < size or k % (4 * per) == 0 else 0
            unit = 8 if paired[j] else 4

            def body(first, steps_, guarded, j=j):
                made = [f"double fa[{steps_}][2];", *([] if hoisted else [f"double fb{j}[{width}][{steps_}];"])]
                made += block(j, first, steps_, guarded, "a")
                if not hoisted:
                    made += block(j, first, steps_, guarded, "b")
                made.append(f"UNROLL for (int t = 0; t < {width}; ++t) multiply_add<{steps_}>(acc[t], fa, fb{j}[t]);")
                return made

            if full > 1:
                lines += [f"UNROLL_BY(1) for (int k0 = 0; k0 < {full * 4 * per}; k0 += {4 * per}) {{", *body("k0", per, False), "}"]
            elif full == 1:
                lines += ["{", *body("0", per, False), "}"]
            left = k - full * 4 * per
            if left:
                steps_ = (2 if paired[j] else 1) * -(-left // unit)
                lines += ["{", *body(str(full * 4 * per), steps_, left % unit != 0), "}"]
            lines.append("}")
        lines += stores
        lines.append("}" if exact else "} }")
        return lines

    def pairs(self, f, g, accesses, loops, row_loops, column_loops, other_loops, place):
        """Factors of which a lane reads two neighbours at once: arguments whose sum runs along memory, and whose rows
        begin at even places. None: the sum is read number by number."""
        if not self.how.paired or len(loops) != 1 or loops[0].extent % 2:
            return None
        found = []
        for k, r in enumerate((f, g)):
            x = accesses[r]
            if x.shared or loops[0].step[k] != 1:
                continue
            near = [loop.step[place[r]] for group in (row_loops, column_loops, other_loops) for loop in group]
            a = self.plan.arrays[r.name]
            near += [s for i, s in steps(r, a, self.plan.batch, far=True).items() if i in self.plan.entry]
            if a.mixed and self.plan.batch in r.indices:
                near.append(self.plan.batch_step(r))
            if all((s % FAR) % 2 == 0 for s in near):
                found.append(r)
        self.even |= {r.name for r in found}
        return found or None

    # ---- all orders of an entry's indices
    def place_of(self, r: Reference, values: dict[str, str]) -> str:
        """A pointer to what a reference reads where the entry's indices have these values."""
        a, parts, step = self.plan.arrays[r.name], [], 1
        near = steps(r, a, self.plan.batch, far=True)
        for d in reversed(range(len(r.indices))):
            i = r.indices[d]
            if i == self.plan.batch:
                parts.append(f"{values[i]} * {f'(long){step}' if a.mixed else f'a.step_{r.name}'}")
            elif i in values:
                parts.append(f"{values[i]} * ({step_text(near[i], f'a.ld_{r.name}')})")
            step *= a.extents[d] or 1
        kind = "scalar" if r.name in self.p.expression.outputs else "const scalar"
        return f"(({kind} *)a.at_{r.name} + {' + '.join(parts) or '0'})"

    def orbits(self) -> list[str]:
        plan, how = self.plan, self.how
        names, terms, uses = plan.orbit
        first, last = (step.statements[0] for step in plan.steps)
        local = plan.held[first.out.name]
        values = [f"y{k}" for k in range(len(names))]
        all_orders = [dict(zip(names, order)) for order in itertools.permutations(values)]
        number_of = {tuple(order[i] for i in names): k for k, order in enumerate(all_orders)}
        threads = self.team
        lines = [
            f"KERNEL(contraction, Arguments, {threads}, 1) {{",
            "const int me = threadIdx.x, warp = me >> 5, row = (me & 31) >> 2, c = me & 3;",
            "long g = blockIdx.x;\nif (g >= items) return;",
        ]
        lines += self._orbit_set(values)
        lines.append(f"double *const h_{local.name} = shared_memory;")
        is_new = []
        for k, order in enumerate(all_orders):
            same = [" && ".join(f"{order[i]} == {other[i]}" for i in names) for other in all_orders[:k]]
            lines.append(f"const bool new{k} = !({' || '.join(f'({x})' for x in same) or 'false'});")
            is_new.append(f"new{k}")
            one = self.loops(plan.own(last), [self.access(last.out)])
            if len(one) == 1 and one[0].step == (1,):
                size = plan.numbers(last.out)
                to = self.place_of(last.out, order)
                lines.append(f"if (new{k}) for (int x = me * 16; x < {size}; x += {threads * 16}) ask({to} + x);")
        lines += self._orbit_products(first, all_orders, number_of, uses, local)
        lines.append("__syncthreads();")
        lines += self._orbit_sums(last, all_orders, is_new, local)
        return [*lines, "}"]

    def _orbit_set(self, values) -> list[str]:
        """The g-th set of values, from the smallest up. Sets with equal values, which are less work, stand between the
        others: blocks fall out of step, so that some compute while others wait for memory."""
        n, lines = self.plan.extent, []
        for k, value in enumerate(values):
            left = len(values) - k - 1
            size = {0: "1", 1: f"({n} - {value})", 2: f"({n} - {value}) * ({n + 1} - {value}) / 2"}[left]
            lines.append(f"int {value} = {values[k - 1] if k else 0};")
            lines.append(f"while (g >= {size}) {{ g -= {size}; ++{value}; }}")
        return lines

    def _orbit_products(self, s: Statement, all_orders, number_of, uses, local) -> list[str]:
        """Products of all orders on the units, each once, and their sums into shared memory."""
        plan = self.plan
        names, first = plan.orbit[0], next(iter(uses))
        others, rows, columns, terms = plan.layout(s)
        refs = list(dict.fromkeys([s.out, *(r for _, f, g, _ in terms for r in (f, g))]))
        accesses = {r: self.access(r) for r in refs}
        order, place = list(accesses.values()), {r: k for k, r in enumerate(refs)}
        row_loops, column_loops = self.loops(rows, order), self.loops(columns, order)
        m, n, width = plan._extent(rows), plan._extent(columns), self.how.columns
        tiles, chunks = -(-m // 16), -(-n // (8 * width))
        jobs, warps = tiles * chunks, self.how.warps
        at = lambda r, what, letter: self.offset(what, letter, place[r], accesses[r])
        lines = [f"UNROLL_BY(1) for (int job = warp; job < {jobs}; job += {warps}) {{"]
        lines += [f"const int chunk = job % {chunks}, tile = job / {chunks}; (void)chunk;"]
        for half in "ab":
            lines.append(f"const int m_{half} = tile * 16 + row{' + 8' if half == 'b' else ''}, m{half} = min(m_{half}, {m - 1});")
            lines += self.digits(row_loops, f"m{half}", f"r{half}")
        for t in range(width):
            lines.append(f"const int n_{t} = min((chunk * {width} + {t}) * 8 + column_of(row), {n - 1}); (void)n_{t};")
            lines += self.digits(column_loops, f"n_{t}", f"c{t}_")
        lines.append(f"double acc[{len(all_orders)}][{width}][4];")
        lines.append(
            f"UNROLL for (int o = 0; o < {len(all_orders)}; ++o) UNROLL for (int t = 0; t < {width}; ++t) "
            "UNROLL for (int i = 0; i < 4; ++i) acc[o][t][i] = 0;"
        )
        for sign, f, g, sums in terms:
            k_loops = self.loops(sums, [accesses[f], accesses[g]])
            k = math.prod(loop.extent for loop in k_loops)
            paired = self.pairs(f, g, accesses, k_loops, row_loops, column_loops, (), place)
            count = 2 * -(-k // 8) if paired else -(-k // 4)
            uneven = k % (8 if paired else 4) != 0

            def load(r, base, to, which, k_loops=k_loops, k=k, paired=paired, count=count, uneven=uneven, number=1.0):
                """Statements that fill to[step] from a pointer."""
                vector, made = bool(paired) and r in paired, []
                for step_ in range(0, count, 2 if vector else 1):
                    k_text = f"{8 * (step_ // 2)} + 2 * c + {step_ % 2}" if paired else f"{4 * step_} + c"
                    put = [f"const int k = {k_text}; (void)k;", *self.digits(k_loops, "k", "k")]
                    from_ = f"{base} + {self.offset(k_loops, 'k', which, accesses[r])}"
                    inside = f"k < {k}" if uneven else ""
                    if vector:
                        both = f"pair({from_}, {to(step_)}, {to(step_ + 1)});"
                        put.append(f"if ({inside}) {{ {both} }} else {to(step_)} = {to(step_ + 1)} = 0;" if inside else both)
                    else:
                        put.append(f"{to(step_)} = {f'{inside} ? *({from_}) : 0' if inside else f'*({from_})'};")
                    if number != 1:
                        put.append(" ".join(f"{to(step_ + x)} *= {number!r};" for x in range(2 if vector else 1)))
                    made.append("{ " + " ".join(put) + " }")
                return made

            known: dict[str, list[int]] = {}  # orders by the part of the rows' factor that they read
            for o, values in enumerate(all_orders):
                known.setdefault(self.place_of(f, values), []).append(o)
            for rows_at, members in known.items():
                lines.append(f"{{ double fa[{count}][2];")
                for h, half in enumerate("ab"):
                    base = f"{rows_at} + {at(f, row_loops, f'r{half}')}"
                    lines += load(f, base, lambda x, h=h: f"fa[{x}][{h}]", 0)
                for o in members:
                    columns_at = self.place_of(g, all_orders[o])
                    lines.append(f"{{ double fb[{width}][{count}];")
                    for t in range(width):
                        base = f"{columns_at} + {at(g, column_loops, f'c{t}_')}"
                        lines += load(g, base, lambda x, t=t: f"fb[{t}][{x}]", 1, number=sign)
                        lines.append(f"multiply_add<{count}>(acc[{o}][{t}], fa, fb[{t}]);")
                    lines.append("}")
                lines.append("}")
        for o, values in enumerate(all_orders):
            for t in range(width):
                for i in range(4):
                    half, second = "ab"[i // 2], i % 2
                    parts = ""
                    for use, number in uses.items():
                        assigned = dict(zip(first, (values[x] for x in use)))
                        turned = tuple(assigned[x] for x in names)
                        sign = "- " if number == -1 else f"+ {number!r} * " if number != 1 else "+ " if parts else ""
                        parts += f" {sign}acc[{number_of[turned]}][{t}][{i}]"
                    test = [f"m_{half} < {m}"] * (m % 16 > 0) + [f"nn < {n}"] * (n % (8 * width) > 0)
                    both = " && ".join(test)
                    lines.append(
                        f"{{ const int nn = (chunk * {width} + {t}) * 8 + {4 * second} + c; {f'if ({both})' if both else ''} {{ "
                        f"{' '.join(self.digits(column_loops, 'nn', 'n'))} h_{local.name}[{o * plan.room + local.at} + "
                        f"{at(s.out, row_loops, f'r{half}')} + {at(s.out, column_loops, 'n')}] ={parts}; }} }}"
                    )
        return [*lines, "}"]

    def _orbit_sums(self, s: Statement, all_orders, is_new, local) -> list[str]:
        """The output's numbers of each order, each a sum out of shared memory; those of the next order are asked for
        before."""
        plan = self.plan
        size = plan.numbers(s.out)
        count = -(-size // self.team)
        refs = list(dict.fromkeys([*(f for t in s.terms for f in t.factors), s.out]))
        accesses = {r: self.access(r) for r in refs}
        loops = self.loops(plan.own(s), list(accesses.values()))
        split = self.digits(loops, "x", "x")
        place = {r: k for k, r in enumerate(refs)}
        away = lambda r: self.offset(loops, "x", place[r], accesses[r])
        lines = []
        guard = lambda body: body if size % self.team == 0 else f"if (x < {size}) {{ {body} }}"
        for o, values in enumerate(all_orders):
            to = self.place_of(s.out, values)
            lines += [f"if ({is_new[o]}) {{", f"scalar *const to = {to};"]
            head = f"for (int i = 0; i < {count}; ++i) {{ const int x = me + i * {self.team}; {' '.join(split)}"
            if s.add:
                lines.append(f"scalar old[{count}];\nUNROLL {head} {guard(f'old[i] = to[{away(s.out)}];')} }}")
            parts = "old[i]" if s.add else "0"
            for t in s.terms:
                words = [f"h_{local.name}[{o * plan.room + local.at} + {away(f)}]" for f in t.factors]
                sign = "-" if t.number == -1 else "+" if t.number == 1 else f"+ {t.number!r} *"
                parts += f" {sign} {' * '.join(words)}"
            lines.append(f"UNROLL {head} {guard(f'leave(&to[{away(s.out)}], {parts});')} }}\n}}")
        return lines

    # ---- the kernel
    def text(self) -> list[str]:
        plan, how = self.plan, self.how
        if how.orbit:
            return self.orbits()
        early, bodies = [], []
        for k, step in enumerate(plan.steps):
            if step.kind == "units":
                bodies.append(self.units(k, step))
            elif step.kind == "copy":
                bodies.append(self.copy(step))
            else:
                ahead, lines = self.each(k, step)
                early += ahead
                bodies.append(lines)
        threads = self.team * how.entries
        lines = [
            f"KERNEL(contraction, Arguments, {threads}{f', {how.blocks}' if how.blocks else ''}) {{",
            f"const int me = threadIdx.x{f' % {self.team}' if how.entries > 1 else ''}, warp = me >> 5;",
            "const int row = (me & 31) >> 2, c = me & 3;",
            "(void)warp, (void)row, (void)c;",
            f"const long g = blockIdx.x{f' * {how.entries}L + threadIdx.x / {self.team}' if how.entries > 1 else ''};",
            "if (g >= items) return;",
        ]
        spread = [i for i in plan.entry if i != plan.walk]
        size, begins = 1, []
        if plan.walk:
            begins.append(f"const int part = int(g % {how.parts});")
            size = how.parts
        for i in reversed(spread):
            extent = self.p.sizes[i]
            begins.append(f"const int e_{i} = int(g{f' / {size}' if size > 1 else ''} % {extent});")
            size *= extent
        lines += [*begins, f"const long b = g{f' / {size}' if size > 1 else ''};", "(void)b;", *pointers(self.p, "b")]
        lines += [f"double *const h_{x} = shared_memory + {h.at};" for x, h in plan.held.items()]
        lines += self.pointer_lines(walk=False)
        copies = [k for k, step in enumerate(plan.steps) if step.kind == "copy"]
        if copies:  # asked for first, waited for where they are read
            numbers = sum(math.prod(plan.held[plan.steps[k].statements[0].out.name].extents) for k in copies)
            lines += [
                f"unsigned long long *const gate = (unsigned long long *)(shared_memory + {plan.gate});",
                "if (me == 0) gate_open(gate);",
                "__syncthreads();",
                f"if (me == 0) gate_expect(gate, {numbers});",
                "__syncwarp();",
            ]
            for k in copies:
                lines += ["{", *bodies[k], "}"]
        waited = not copies
        dirty_read: list = []
        dirty_write: list = []

        copied = {plan.steps[k].statements[0].out.name for k in copies}

        def guarded(k):
            """A barrier where a step touches what others of the team have read or written since the last one; the wait
            for the copies where one is read."""
            nonlocal dirty_read, dirty_write, waited
            step = plan.steps[k]
            wait = []
            if not waited and copied & {f.name for s in step.statements for t in s.terms for f in t.factors}:
                waited, wait = True, ["gate_wait(gate, 0);"]
            reads = [self.memory(f) for s in step.statements for t in s.terms for f in t.factors]
            reads += [self.memory(s.out) for s in step.statements if s.add]
            writes = [self.memory(s.out) for s in step.statements]
            reads, writes = [x for x in reads if x], [x for x in writes if x]
            meets = lambda x, others: any(x[0] == y[0] and x[1] < y[2] and y[1] < x[2] for y in others)
            needed = any(meets(x, dirty_write) for x in reads + writes) or any(meets(x, dirty_read) for x in writes)
            if needed:
                dirty_read, dirty_write = [], []
            dirty_read, dirty_write = dirty_read + reads, dirty_write + writes
            return [*wait, *(["__syncthreads();"] if needed else [])]

        for k, step in enumerate(plan.steps):
            if step.before and step.kind != "copy":
                lines += [*guarded(k), "{", *bodies[k], "}"]
        inner = []
        for k, step in enumerate(plan.steps):
            if not step.before and step.kind != "copy":
                inner += [*guarded(k), "{", *bodies[k], "}"]
        if plan.walk:
            if copies:
                lines.append("gate_wait(gate, 0);")
                inner = [line for line in inner if line != "gate_wait(gate, 0);"]
            extent = self.p.sizes[plan.walk]
            per = -(-extent // how.parts)
            i = f"e_{plan.walk}"
            lines.append(
                f"UNROLL_BY(1) for (int {i} = part * {per}; {i} < min({extent}, (part + 1) * {per}); ++{i}) {{"
            )
            lines += [*self.pointer_lines(walk=True), *early, *inner, "__syncthreads();", "}"]
        else:
            lines += [*early, *inner]
        return [*lines, "}"]

    def memory(self, r: Reference):
        """(kind, begin, end) of what other threads of the team may touch too; None for what is only read."""
        h = self.plan.held.get(r.name)
        if h:
            return "shared", h.at, h.at + h.size
        return (r.name, 0, 1) if r.name in self.plan.written else None


def pointers(p: Program, entry: str) -> list[str]:
    from .render_threads import pointers as lines

    return lines(p, entry)


def step_text(step: int, ld: str) -> str:
    from .render_threads import step_text as text

    return text(step, ld)


TABLE = pathlib.Path(__file__).with_name("stages.csv")


@functools.lru_cache(None)
def _rows() -> tuple[dict, ...]:
    """What was measured to be fastest: of each kind of program, by its steps and tiles."""
    with open(TABLE, newline="") as file:
        numbers = ("steps", "jobs", "warps", "entries", "blocks", "ahead", "columns", "stage", "bulk", "tight")
        return tuple({**row, **{key: int(row[key]) for key in numbers}} for row in csv.DictReader(file))


def measured(kind: str, steps_: int, jobs: int, **more) -> Staged:
    """The organisation of the most similar program in the table, for as many tiles as this one has."""
    away = lambda row: abs(math.log(row["jobs"] / jobs)) + abs(math.log(row["steps"] / steps_))
    row = min((row for row in _rows() if row["kind"] == kind), key=away)
    warps = -(-jobs // -(-jobs // min(row["warps"], MOST_WARPS)))
    entries = row["entries"] if kind == "alone" else 1
    blocks = row["blocks"] if warps == row["warps"] else 0
    keys = ("ahead", "columns", "stage")
    return Staged(
        warps, entries, blocks, bulk=bool(row["bulk"]), tight=bool(row["tight"]), **{k: row[k] for k in keys}, **more
    )


def choices(p: Program) -> list[tuple[float, Staged]]:
    """Organisations that serve a program, each with the share of the units' work that is of use: "stages"; where a
    further index is spread over teams also "stays" and, for programs that allow it, "orbits"."""
    try:
        plain = Stages(p, Staged(1))
    except Unable:
        return []
    kind = "team" if plain.barriers else "alone"
    ways = [measured(kind, len(plain.steps), plain.jobs())]
    if plain.entry and plain.barriers:
        ways.append(measured("walk", len(plain.steps), plain.jobs(), walk=plain.entry[-1], parts=2))
        ways.append(measured("orbit", 2, 32, orbit=True))
    found = []
    for how in ways:
        with contextlib.suppress(Unable):
            found.append((Stages(p, how).use, how))
    return found


def render(p: Program, how, members: str, headers, folders, quick: bool) -> Source:
    text = [
        *(["#define FRAME_SINGLE"] if p.dtype == "float32" else []),
        '#include "tensor/stages.h"',
        *(f'#include "{h}"' for h in headers),
        structure("Arguments", members),
        *Writer(Stages(p, how)).text(),
        "",
    ]
    return Source("tensor-stages", "\n".join(text), tuple(folders), quick=quick)


def launch(plan, arrays, values, n: int, members: str):
    """run() of a bound plan. Arrays that do not begin at 16 bytes, or whose entries do not, are read number by
    number."""
    how = plan.how
    writer = Writer(Stages(plan.program, how))
    writer.text()
    if any(values[f"at_{x}"] % 16 or values[f"step_{x}"] % 2 or values[f"ld_{x}"] % 2 for x in writer.even):
        how = dataclasses.replace(how, paired=False)
    module = plan.backend.compile(plan._render(plan.program, how))
    stages = Stages(plan.program, how)
    items = stages.items(n) if n else 0
    shape = Shape(32 * how.warps * how.entries, how.entries, stages.bytes)
    values = {key: x for key, x in values.items() if key != "past"}
    return functools.partial(module.bind("contraction", shape, record(members, n=n, **values), keep=list(arrays.values())), items)
