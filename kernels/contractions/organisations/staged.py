"""The statements of an entry one after the other, on teams of warps with the matrix units of a GPU (see stages.py)."""

from __future__ import annotations

import csv
import dataclasses
import functools
import math
import pathlib
from typing import ClassVar

import numpy as np

from ...engine.backend.base import Source
from .. import render_stages, render_threads as threads
from ..plan import Program, Unable
from ..prices import price_of
from ..stages import Plan, plan_of
from . import device, library_costs
from .base import Organisation
from .core_products import together

TABLE = pathlib.Path(__file__).parent.with_name("stages.csv")
MOST_WARPS = 16  # of a team
STORED = 4  # see `_mostly_stored`
PACE = 0.85  # times the memory's time of products of matrices, as of `flat`
BLOCK = 6e-10  # seconds of a block of a full device, beside its work
CROSSED = 4  # times these where the entries' numbers are not side by side
UNITS_FULL = 0.5  # of the threads that fill a device otherwise: a warp of the units has more loads under way
# Bytes a second of arrays that all entries read, where few columns meet them: two matrices of 128 x 128 and 256 x 128
# with two columns and one took 190 us for 128 entries on an H200.
PASSING = 2.7e11
HELD = 1 << 16  # bytes of such arrays that stay near a multiprocessor
FEW = 0.25  # share of the units' work that is of use with two columns
UNIT_TERMS = 4  # of a step of the matrix units
IDLE = 0.15  # share of the units' work that is of use, below which they are as slow as threads
UNITS = 8e12  # multiply-adds of such units in a second, those of no use among them
OF_COLUMN = 1e-11  # seconds of a number of one column that such units store, at least, on an H200
# Products of two matrices of an entry, on an H200: fewest terms; terms with which a sum's begin and end take as long as
# its terms, and take less as their square grows; times the work where entries do not begin at 16 bytes, and without
# bulk copies; how work and memory overlap
LARGE, BEGUN, UNALIGNED, NO_BULK, OVERLAP = 36, 58, 1.45, 2.2, 6.0


@dataclasses.dataclass(frozen=True)
class Teams:
    """A block."""

    warps: int  # of a team
    entries: int = 1  # teams of a block
    blocks: int = 0  # on a multiprocessor, which bounds the registers; 0: no bound


@dataclasses.dataclass(frozen=True)
class Warp:
    """The share of a warp in a step."""

    ahead: int = 2  # tiles of a warp, or rows of a thread
    batch: int = 8  # steps of a sum whose numbers are read at once
    paired: bool = True  # two neighbours of a sum are read at once
    columns: int = 8  # most tiles of eight columns
    once: bool = False  # lanes read their numbers of the columns' factors at the beginning, for all steps
    turned: bool = False  # the slowest index of the rows runs first where only shared memory is read


@dataclasses.dataclass(frozen=True)
class Spread:
    """How entries go to blocks."""

    walk: str = ""  # an index that a block takes value by value; "": none
    parts: int = 1  # blocks that share the values of that index
    orbit: bool = False  # a block takes all orders of the entry's indices


@dataclasses.dataclass(frozen=True)
class Copies:
    """Copies of factors into shared memory."""

    # reads from which a factor of products is copied; 0: what is read number by number is copied too
    stage: int = dataclasses.field(default=2, metadata={"least": 0})
    bulk: bool = True  # by the copy unit
    ring: int = 1  # entries whose copies have room; with more than one a block stays, and copies ahead
    apart: bool = False  # by threads, 16 bytes each, so that lines may lie apart against bank conflicts


@dataclasses.dataclass(frozen=True)
class Memory:
    """Shared memory."""

    tight: bool = False  # less of it, for more bank conflicts and barriers
    narrow: bool = False  # numbers have the arrays' precision there, not double


@dataclasses.dataclass(frozen=True)
class Sums:
    """Who multiplies and adds, if not a warp on the FP64 units."""

    line: bool = False  # a thread has a row of a product; sums and shared memory have the arrays' precision
    split: bool = False  # products of single precision on the TF32 units, of numbers in two parts; memory is narrow


@dataclasses.dataclass(frozen=True)
class Staged(Organisation):
    """Stages on teams of warps. `stays`: a block stays along an index. `orbits`: a block has all orders of an entry."""

    NAMES: ClassVar[tuple[str, ...]] = ("stages", "stays", "orbits")

    teams: Teams
    warp: Warp = Warp()
    spread: Spread = Spread()
    copies: Copies = Copies()
    memory: Memory = Memory()
    sums: Sums = Sums()

    @property
    def name(self) -> str:
        if self.spread.orbit:
            return "orbits"
        return "stays" if self.spread.walk else "stages"

    @property
    def narrow(self) -> bool:
        """Whether numbers have the arrays' precision in shared memory."""
        return self.memory.narrow or self.sums.line or self.sums.split

    @property
    def singly(self) -> Staged:
        """For arrays that do not begin at 16 bytes: no pairs, no bulk copies."""
        return self.changed(paired=False, ring=1, apart=False)

    def __str__(self):
        teams, warp, spread, copies = self.teams, self.warp, self.spread, self.copies
        told = {
            f"{teams.warps} warps": True,
            f"{teams.entries} entries": teams.entries > 1,
            f"{teams.blocks} blocks": teams.blocks > 0,
            f"{warp.ahead} tiles, {warp.batch} steps": True,
            f"along {spread.walk} in {spread.parts}": bool(spread.walk),
            f"{warp.columns} columns": warp.columns < 8,
            f"staged from {copies.stage}": copies.stage < 2,
            "no bulk copies": not copies.bulk,
            "tight": self.memory.tight,
            f"ring of {copies.ring}": copies.ring > 1,
            "narrow": self.memory.narrow,
            "lines apart": copies.apart,
            "a row a thread": self.sums.line,
            "factors once": warp.once,
            "rows turned": warp.turned,
            "split": self.sums.split,
        }

        return f"{self.name} ({', '.join(text for text, shown in told.items() if shown)})"

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        """`stages`; if a further index is spread over teams also `stays` and, for programs that allow it, `orbits`.

        If nothing can be copied, the table's way is taken without copies ahead or lines apart.
        """
        try:
            plain = plan_of(p, cls(Teams(1)))
        except Unable:
            return []

        size = len(plain.steps), plain.jobs()
        terms = max(threads.size(q.sums) for n in threads.nests(p) for q in n.products)
        stages = [measured("team" if plain.barriers else "alone", *size, terms)]
        if plain.barriers and p.dtype == "float32":
            stages.insert(0, measured("single", *size))

        ways = [stages]
        if plain.entry and plain.barriers:
            ways.append([measured("walk", *size, walk=plain.entry[-1], parts=2)])
            ways.append([measured("orbit", 2, 32, orbit=True)])

        found: list[Organisation] = []
        for some in ways:
            tried = []
            for how in some:
                tried += [how, how.changed(apart=False, ring=1)]

            able = [how for how in tried if not how.serves(p)]
            found += able[:1]

        return found

    def serves(self, p: Program) -> str:
        try:
            plan_of(p, self)
        except Unable as reason:
            return str(reason)
        return ""

    def price(self, p: Program, least: float = math.inf) -> float:
        kind = self.name
        if plan_of(p, self).use <= IDLE:
            kind = "idle"
        if not any(n.summed for n in threads.nests(p)):
            kind = "unsummed"
        elif kind == "stages" and _mostly_stored(p):
            kind = "stages_stored"

        price = threads.work(p) * price_of(kind) * _idle_steps(p)
        if kind == "idle" and _is_column(p):
            price = max(price, _stored(p) * OF_COLUMN / library_costs.unit("threads", p))
        return self._of_product(p, price) if kind == "stages" and _is_large_product(p) else price

    def _of_product(self, p: Program, price: float) -> float:
        """The price of a product of two matrices that each entry has for itself."""
        (n,) = threads.nests(p)
        work = price * (1 + min((BEGUN / threads.size(n.products[0].sums)) ** 2, 1.5))
        if not self.copies.bulk:
            work *= NO_BULK
        elif any(a.size * np.dtype(p.dtype).itemsize % 16 for a in p.arguments):
            work *= UNALIGNED
        memory = library_costs.memory_seconds("threads", p) / library_costs.unit("threads", p)
        return together(work, memory, OVERLAP)

    def waits(self, p: Program) -> float:
        plan = plan_of(p, self)
        at_work = plan.items(library_costs.usual_batch(p)) * 32 * self.teams.warps
        return max(UNITS_FULL * device.FULL / max(at_work, 1), 1.0)

    def floor(self, p: Program) -> float:
        """Memory, blocks, or arrays of all entries that pass through a block for each entry."""
        plan = plan_of(p, self)
        blocks = plan.items(1) / plan.entries * BLOCK * (CROSSED if library_costs.crossed(p) else 1)
        common = sum(a.size for a in p.arguments if a.place is None and not a.mixed) * np.dtype(p.dtype).itemsize
        passing = common / PASSING if common > HELD and plan.use <= FEW else 0.0
        idle = threads.terms(p) / plan.use / UNITS if plan.use <= IDLE else 0.0
        memory = library_costs.memory_seconds("threads", p) * (PACE if _has_products(p) else 1.0)
        return max(memory, blocks, passing, idle, _read_again(p, plan))

    # ---- text and launch
    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source:
        return render_stages.render(p, self, threads.members(p), headers, folders, quick)

    def stand_ins(self) -> list[Organisation]:
        return [self, self.singly] if self.warp.paired else [self]

    def launch(self, plan, arrays, values, n: int):
        return render_stages.launch(plan, self, arrays, values, n, threads.members(plan.program))

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        jobs = plan_of(p, self.changed(warps=1, entries=1)).jobs()
        warps = {self.teams.warps}
        for turns in range(1, jobs + 1):
            if -(-jobs // turns) <= MOST_WARPS:
                warps.add(-(-jobs // turns))

        either, single = (False, True), p.dtype == "float32"
        found: dict[str, tuple] = {
            "warps": tuple(sorted(warps)),
            "entries": (1, 2, 4, 8),
            "blocks": tuple(range(9)),
            "ahead": (1, 2, 4),
            "batch": (2, 4, 8, 16),
            "paired": either,
            "columns": (1, 2, 4, 8),
            "stage": (0, 1, 2),
            "bulk": either,
            "tight": either,
            "ring": (1, 2, 3, 4),
            "narrow": either if single else (),
            "apart": either if self.copies.bulk else (),
            "line": either if single else (),
            "split": either if single else (),
            "once": either,
            "turned": either,
        }
        if self.spread.walk:
            found["parts"] = tuple(k for k in (1, 2, 4, 8) if k <= p.sizes.get(self.spread.walk, 1))

        return found

    def legal(self, p: Program) -> bool:
        plan = plan_of(p, self)
        block = 32 * self.teams.warps * plan.entries
        return block <= device.MOST_THREADS and self.teams.entries == plan.entries

    def cost(self, p: Program, moved: int, least: float) -> float:
        try:
            effort = effort_of(plan_of(p, self))
        except Unable:
            return math.inf
        return device.clocks(effort, moved, np.dtype(p.dtype).itemsize)


def _mostly_stored(p: Program) -> bool:
    """Whether the outputs of an entry have STORED times the numbers of its inputs, or more."""
    outputs = sum(a.size for a in p.arguments if a.name in p.expression.outputs)
    inputs = sum(a.size for a in p.arguments if a.name not in p.expression.outputs)
    return outputs >= STORED * inputs


def _stored(p: Program) -> int:
    """Numbers that an entry's statements write."""
    return sum(n.size for n in threads.nests(p))


def _has_products(p: Program) -> bool:
    """Whether statements are products of matrices: they sum, and have more than one column."""
    return any(n.summed for n in threads.nests(p)) and not _is_column(p)


def _is_column(p: Program) -> bool:
    """Whether every product is a matrix times a column."""
    for n in threads.nests(p):
        for q in n.products:
            if not any(all(loop.step[f] == 0 for loop in n.loops) for f in q.factors):
                return False
    return True


def _idle_steps(p: Program) -> float:
    """How much more than a sum of one or two terms a step of the matrix units has, which takes four."""
    terms = min([threads.size(q.sums) for n in threads.nests(p) for q in n.products if q.sums], default=UNIT_TERMS)
    return UNIT_TERMS / terms if terms <= UNIT_TERMS // 2 else 1.0


def _is_large_product(p: Program) -> bool:
    """Whether an entry is a product of two matrices of its own, with long sums."""
    n, *others = threads.nests(p)
    if others or [len(q.factors) for q in n.products] != [2] or threads.size(n.products[0].sums) < LARGE:
        return False
    return all(a.place is not None and not a.mixed for a in p.arguments)


def _read_again(p: Program, plan: Plan) -> float:
    """Seconds of an entry in which each of its teams reads what does not belong to it alone, from the second cache."""
    numbers = 0
    for name in p.expression.inputs:
        if not any(i in plan.entry for r in p.expression.references[name] for i in r.indices):
            numbers += p.arrays[name].size * plan.teams
    return numbers * np.dtype(p.dtype).itemsize / device.CACHE


# ---- the model of the search ----------------------------------------------------------------------------------------


def effort_of(plan: Plan) -> device.Effort:
    """Fragments that warps read for the matrix units, and everything that is done number by number."""
    lanes = units = 0.0
    for step in plan.steps:
        for s in step.statements:
            if step.kind != "units":
                lanes += plan.numbers(s.out) * (1 + sum(len(t.factors) for t in s.terms))
                continue

            some_lanes, some_units = _lines_effort(plan, s) if plan.how.sums.line else _tiles_effort(plan, s)
            lanes += some_lanes
            units += some_units
            if s.out.name not in plan.inner:
                lanes += plan.numbers(s.out)

    block = 32 * plan.how.teams.warps * plan.entries
    return device.Effort(lanes * plan.teams, units * plan.teams / device.UNITS, plan.bytes, block)


def _lines_effort(plan: Plan, s) -> tuple[float, float]:
    """(numbers read, flops) of products by threads. Their float multiply-adds are as fast as double ones of units."""
    _, rows, columns, terms = plan.layout(s)
    m, n = plan.extent_of(rows), plan.extent_of(columns)
    lanes = units = 0.0

    for _, f, _, sums in terms:
        units += 2 * m * n * plan.extent_of(sums)
        if f.name not in plan.inner:
            lanes += m * plan.extent_of(sums)

    return lanes, units


def _tiles_effort(plan: Plan, s) -> tuple[float, float]:
    """(numbers read, flops) of products on the units."""
    others, rows, columns, terms = plan.layout(s)
    e = plan.extent_of(others)
    tiles, columns_of_8 = -(-plan.extent_of(rows) // 16), -(-plan.extent_of(columns) // 8)
    lanes = units = 0.0

    for _, f, _, sums in terms:
        k = -(-plan.extent_of(sums) // 4) * 4
        units += e * tiles * 16 * columns_of_8 * 8 * k * 2
        rows_read = 0 if f.name in plan.inner else 16 * -(-columns_of_8 // plan.how.warp.columns)
        lanes += e * k * tiles * (rows_read + columns_of_8 * 8 / plan.how.warp.ahead)

    return lanes, units


# ---- what was measured ----------------------------------------------------------------------------------------------

TEXTS = ("kind", "case", "device", "compiler", "date")
COUNTS = ("ahead", "columns", "stage", "ring")
MARKS = ("bulk", "tight", "apart", "paired", "narrow", "line", "once", "turned", "split")


@functools.lru_cache(None)
def _rows() -> tuple[dict, ...]:
    """The organisation that was measured to be fastest, of each kind of program, by its steps and tiles."""
    found = []
    with open(TABLE, newline="") as file:
        for row in csv.DictReader(file):
            found.append({key: x if key in TEXTS else int(x) for key, x in row.items()})

    return tuple(found)


def _distance(row, steps: int, jobs: int) -> float:
    """How unlike a program of so many steps and tiles the row of the table is."""
    return abs(math.log(row["jobs"] / jobs)) + abs(math.log(row["steps"] / steps))


def measured(kind: str, steps: int, jobs: int, terms: int = 0, **more) -> Staged:
    """The organisation of the most similar program in the table, for as many tiles as this program has.

    kind: "team", "single", "alone", "walk" or "orbit". terms: of the longest sum, by which rows for as many steps and
    tiles differ. more: further numbers by name.
    """
    alike = [row for row in _rows() if row["kind"] == kind]
    row = min(alike, key=lambda row: (_distance(row, steps, jobs), abs(row["terms"] - terms)))

    turns = -(-jobs // min(row["warps"], MOST_WARPS))
    warps = -(-jobs // turns)
    numbers = {key: row[key] for key in COUNTS}
    numbers |= {key: bool(row[key]) for key in MARKS}
    numbers |= {
        "warps": warps,
        "entries": row["entries"] if kind == "alone" else 1,
        "blocks": row["blocks"] if warps == row["warps"] else 0,
    }

    return Staged.of(**numbers, **more)
