"""Where a plan by stages has its arrays in shared memory: strides by counting bank conflicts, and places."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math

import numpy as np

from ..expression import Reference, Statement
from ..plan import Rooms, Unable, references
from .plan import LIMIT, Held, Plan, Step, span, summed

BANKS = 128  # bytes of shared memory that are read at once, where lanes find them in different banks
PADDED = 1.15  # times its numbers an array may take at most where memory is tight
TRIED = 16  # paddings of a dimension that are looked at
ANY = 1 << 30  # numbers: no bound
GATE = 8  # bytes of a counter of copies


def placed(plan: Plan) -> Plan:
    """Strides and places of the arrays in shared memory. Arrays that never live at one time share memory."""
    lives = lives_of(plan)
    homes = homes_of(plan, lives)
    patterns = patterns_of(plan, lives)

    together: dict[str, list[str]] = {}
    for name, home in homes.items():
        together.setdefault(home, []).append(name)

    held: dict[str, Held] = {}
    rooms = Rooms()
    for names in sorted(together.values(), key=lambda names: -math.prod(lives[names[0]].extents)):
        strides = _strides(plan, names, lives, patterns)
        size = _room(plan, lives[names[0]], strides) * _entries(plan, names[0])
        first = min(lives[x].first for x in names)
        last = max(lives[x].last for x in names)
        at = rooms.take(size, first, last)

        for x in names:
            held[x] = Held(x, lives[x].kept, lives[x].extents, strides, at)

    room = -(-rooms.size // plan.grain) * plan.grain
    total = plan.size * room * plan.copies
    if plan.copied:
        total += -(-plan.how.copies.ring // 2) * 2 * GATE
    if total > LIMIT:
        raise Unable(f"{LIMIT} bytes of shared memory at most, not {total}")

    return plan.having(held={x: held[x] for x in lives}, room=room, bytes=total)


# ---- lives ----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Life:
    """The steps during which an array is needed."""

    kept: tuple[int, ...]  # places of the dimensions in shared memory
    extents: tuple[int, ...]
    first: int
    last: int

    def gives_way(self, other: Life, k: int) -> bool:
        """Whether another array of this size, which begins in step k, may take the memory: it was read there last."""
        return self.first < k == self.last and self.extents == other.extents


def lives_of(plan: Plan) -> dict[str, Life]:
    """Arrays in shared memory. Copies before a walk or in a ring live always."""
    found: dict[str, Life] = {}
    for k, step in enumerate(plan.steps):
        always = step.before or (step.kind == "copy" and plan.how.copies.ring > 1)
        for r in itertools.chain.from_iterable(map(references, step.statements)):
            if not plan.local(r.name):
                continue

            life = found.get(r.name)
            if not life:
                kept = plan.kept(r)
                extents = tuple(plan.program.sizes[r.indices[d]] for d in kept)
                life = Life(kept, extents, k, k)

            life = dataclasses.replace(life, last=max(life.last, k))
            found[r.name] = dataclasses.replace(life, first=-1, last=len(plan.steps)) if always else life

    return found


def homes_of(plan: Plan, lives: dict[str, Life]) -> dict[str, str]:
    """The array whose memory each array has: a result may take the place of what is read for the last time."""
    homes = {name: name for name in lives}
    for k, step in enumerate(plan.steps):
        for s in step.statements:
            life = lives.get(s.out.name)
            if not life or life.first != k or (step.kind == "each" and summed(s)):
                continue

            for f in _overwritten(plan, step, s, lives):
                taken = any(homes[x] == homes[f.name] and lives[x].first == k for x in lives)
                if lives[f.name].gives_way(life, k) and not taken:
                    homes[s.out.name] = homes[f.name]
                    break

    return homes


def _overwritten(plan: Plan, step: Step, s: Statement, lives) -> list[Reference]:
    """Factors that a statement's result may overwrite.

    Number by number: what a thread reads at the same place. Products: lines that a warp reads whole before it writes
    them, where sum and result lie along one dimension.
    """
    reads = [f for f in step.reads if f.name in lives]
    if step.kind == "each":
        return [f for f in reads if all(g.indices == s.out.indices for g in reads if g.name == f.name)]
    if step.kind != "units" or not plan.how.memory.tight:
        return []

    _, _, columns, terms = plan.layout(s)
    if len(terms) != 1 or len(columns) != 1 or len(terms[0].sums) != 1:
        return []

    f, (k,) = terms[0].rows, terms[0].sums
    along = tuple(columns[0] if i == k else i for i in f.indices) == s.out.indices
    alone = sum(g.name == f.name for g in reads) == 1
    in_one = -(-plan.extent_of(columns) // 8) <= plan.how.warp.columns
    at_once = -(-plan.program.sizes[k] // 4) <= plan.how.warp.batch or plan.hoisted(s)

    return [f] if f.name in lives and along and alone and in_one and at_once else []


# ---- places ---------------------------------------------------------------------------------------------------------


def _strides(plan: Plan, names: list[str], lives, patterns: Patterns) -> tuple[int, ...]:
    """Strides of arrays that have one memory."""
    extents = lives[names[0]].extents
    most = LIMIT // plan.size // plan.copies if plan.copies > 1 else ANY
    if plan.how.memory.tight:
        most = min(most, int(PADDED * math.prod(extents)) + 64)

    even = plan.grain if patterns.wide & set(names) else 0
    if set(plan.copied) & set(names):
        even = max(plan.shortest, even)

    lanes = list(itertools.chain.from_iterable(map(patterns.lanes.__getitem__, names)))
    return strides_for(extents, lanes, most, even, plan.size)


def _room(plan: Plan, life: Life, strides) -> int:
    """Numbers of room of an array; copies begin at 16 bytes."""
    return -(-span(life.extents, strides) // plan.grain) * plan.grain


def _entries(plan: Plan, name: str) -> int:
    """Entries that have room for an array at the same time."""
    return plan.how.copies.ring if name in plan.copied else 1


def strides_for(extents, patterns, most: int = ANY, even: int = 0, size: int = 8) -> tuple[int, ...]:
    """Strides with the fewest bank conflicts, for an array of at most so many numbers of `size` bytes.

    patterns: [(weight, digits of each lane that reads at the same time)]. even: copies fill it, runs of so many numbers
    or more that begin at multiples of 16 bytes.
    """
    held = tuple((weight, tuple(map(tuple, lanes))) for weight, lanes in patterns)
    return _strides_for(tuple(extents), held, most, even, size)


@functools.lru_cache(1024)
def _strides_for(extents, patterns, most: int, even: int, size: int) -> tuple[int, ...]:
    rank = len(extents)
    if rank < 2 or not patterns:
        return tuple(math.prod(extents[d + 1 :]) for d in range(rank))

    sizes, tried = [], []
    for pads in itertools.product(range(TRIED), repeat=min(rank - 1, 2)):
        strides = _padded(extents, pads)
        numbers = span(extents, strides)
        if any(pads) and (numbers > most or (even and not _bulky(extents, strides, 16 // size, even))):
            continue

        sizes.append(numbers)
        tried.append(strides)

    # How often the busiest bank is read.
    banks, cost = BANKS // size, np.zeros(len(tried))
    for weight, lanes in patterns:
        at = np.sort(np.array(tried) @ np.array(lanes).T, axis=1)
        distinct = np.diff(at, axis=1, prepend=-1) != 0
        where = np.arange(len(tried))[:, None] * banks + at % banks
        reads = np.bincount(where[distinct], minlength=len(tried) * banks)
        cost += weight * reads.reshape(-1, banks).max(axis=1)

    return min(zip(cost.tolist(), sizes, tried))[2]


def _padded(extents, pads) -> tuple[int, ...]:
    """Strides with so many numbers more after each line, after each plane."""
    strides = [1]
    for d in range(len(extents) - 1, 0, -1):
        place = len(extents) - 1 - d
        strides.append(strides[-1] * extents[d] + (pads[place] if place < len(pads) else 0))

    return tuple(reversed(strides))


def _bulky(extents, strides, grain: int, least: int) -> bool:
    """Whether at least so many numbers lie side by side there, and begin and end at multiples of `grain`."""
    run, inner = 1, len(extents)
    while inner and strides[inner - 1] == run:
        inner -= 1
        run *= extents[inner]

    return run % grain == 0 and run >= least and all(s % grain == 0 for s in strides[:inner])


# ---- patterns -------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Patterns:
    """How lanes read and write each array at the same time. wide: arrays of which 16 bytes are read at once."""

    lanes: dict[str, list[tuple]]  # (weight, digits of each lane)
    wide: set[str]


def patterns_of(plan: Plan, lives: dict[str, Life]) -> Patterns:
    """Patterns of access. Half a warp reads numbers of 8 bytes at a time, all of it numbers of 4 bytes."""
    found = Patterns({name: [] for name in lives}, set())
    notes = _Notes(plan, lives, found)
    for step in plan.steps:
        for s in step.statements:
            if step.kind == "each":
                notes.each(s)
            elif step.kind == "units" and plan.how.sums.line:
                notes.lines(s, step)
            elif step.kind == "units":
                notes.tiles(s, step)

    return found


class _Notes:
    """Collects patterns. halves: parts of a warp that read together."""

    def __init__(self, plan: Plan, lives, found: Patterns):
        self.plan, self.lives, self.found = plan, lives, found
        self.halves = 2 if plan.size == 4 else 1

    def note(self, r: Reference, digits, weight: float) -> None:
        """Lanes at these values of the indices read or write an array."""
        life = self.lives.get(r.name)
        if life:
            where = [r.indices[d] for d in life.kept]
            self.found.lanes[r.name].append((weight, [[lane.get(i, 0) for i in where] for lane in digits]))

    def split(self, indices, number: int) -> dict[str, int]:
        """Values of the indices at a number of an element."""
        found = {}
        for i in reversed(indices):
            found[i] = number % self.plan.program.sizes[i]
            number //= self.plan.program.sizes[i]

        return found

    def pointwise(self, s: Statement) -> list[Reference]:
        """References of a product at the places of the output."""
        found = [s.out]
        for t in s.terms:
            if len(t.factors) == 1:
                found.append(t.factors[0])

        scale = self.plan.scale(s)
        return [*found, scale] if scale else found

    # ---- by kind of step
    def each(self, s: Statement) -> None:
        """Neighbouring threads have neighbouring numbers of the output."""
        own, size = self.plan.own(s), self.plan.numbers(s.out)
        for r in references(s):
            for first in range(0, 32, 16 * self.halves):
                lanes = range(first, first + 16 * self.halves)
                self.note(r, [self.split(own, x % size) for x in lanes], size / 32)

    def lines(self, s: Statement, step: Step) -> None:
        """Threads have a row each."""
        plan = self.plan
        _, rows, columns, terms = plan.layout(s)
        rows = plan.order(rows, step)

        for r in self.pointwise(s):
            self._line(r, rows, columns[0])
        for x in terms:
            self._line(x.rows, rows, x.sums[0])

    def _line(self, r: Reference, rows, along: str) -> None:
        """A warp's threads read a row each, number by number, or 16 bytes at once, which a quarter of it does."""
        if r.name not in self.lives:
            return

        plan = self.plan
        extent, count = plan.program.sizes[along], plan.extent_of(rows)
        wide = plan.grain if r.indices[-1] == along and extent % plan.grain == 0 else 1
        if wide > 1:
            self.found.wide.add(r.name)

        for first in range(0, 32, 32 // wide):
            lanes = []
            for lane in range(first, first + 32 // wide):
                digits = self.split(rows, min(lane, count - 1))
                lanes += [{**digits, along: k} for k in range(wide)]
            self.note(r, lanes, count / 32 * extent / wide)

    def tiles(self, s: Statement, step: Step) -> None:
        """Lanes have a row and a column, or a row and a term of the sum, or a column and a term."""
        plan = self.plan
        _, rows, columns, terms = plan.layout(s)
        rows = plan.order(rows, step)
        m, n = plan.extent_of(rows), plan.extent_of(columns)
        tiles = -(-m // 16)
        lanes = [(lane >> 2, lane & 3) for lane in range(16 * self.halves)]

        for first in range(0, 8, 4 * self.halves):
            of_row = {r: self.split(rows, min(first + r, m - 1)) for r, _ in lanes}
            of_column = {r: self.split(columns, min(((first + r) >> 1) + 4 * (r & 1), n - 1)) for r, _ in lanes}
            out = [{**of_row[r], **self.split(columns, min(c, n - 1))} for r, c in lanes]
            for r in self.pointwise(s):
                self.note(r, out, tiles * -(-n // 4))

            for x in terms:
                k = plan.extent_of(x.sums)
                of_term = {c: self.split(x.sums, min(c, k - 1)) for c in range(4)}
                self.note(x.rows, [{**of_row[r], **of_term[c]} for r, c in lanes], tiles * -(-k // 4))
                self.note(x.columns, [{**of_column[r], **of_term[c]} for r, c in lanes], -(-n // 8) * -(-k // 4))
