"""What a contraction may be tuned over: orders of evaluation, organisations, and the numbers of each.

A candidate is an order and an organisation with its numbers. A coordinate is one of these numbers with the values that
it may take; a move changes one of them by a step. The model counts what a candidate has to do at least, before anything
is compiled: on a device in clocks of a multiprocessor, the larger of memory, arithmetic and accesses; on a CPU vector
operations.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from typing import NamedTuple

import numpy as np

from ..engine.errors import FrameError
from . import organisations, outer, render_packs, render_threads, stages
from .outer import Outer
from .plan import FAR, Program
from .render_packs import Packs
from .render_threads import Threads
from .stages import Staged, Stages, Unable

MEMORY, WAVEFRONT = 18.0, 128.0  # bytes a clock and multiprocessor, of an H200: from memory, from L1 or shared memory
FMA, UNITS = 128.0, 256.0  # flops in double precision: of threads, of matrix units
MOST_THREADS = 1024
ENOUGH = 512  # threads of a multiprocessor below which it waits for memory
# rows and columns of sums that a CPU's registers hold; 0: as packs.h reckons
TILES: tuple[tuple[int, int], ...] = (
    *((0, 0), (8, 1), (10, 1), (12, 1), (3, 2), (4, 2), (5, 2), (6, 2), (8, 2), (10, 2), (12, 2)),
    *((3, 3), (4, 3), (5, 3), (8, 3), (2, 4), (3, 4), (4, 4), (5, 4), (6, 4), (2, 5), (4, 5), (5, 5), (2, 8), (3, 8)),
)


class Candidate(NamedTuple):
    """An order of evaluation, by its number, and an organisation."""

    order: int
    how: Packs | Threads | Staged | Outer

    def __str__(self):
        return f"order={self.order} {organisations.written(self.how)}"


class Space:
    """Of one contraction's plan."""

    def __init__(self, plan):
        self.plan, self.programs, self.renderer = plan, plan.programs, plan.renderer
        self._price = functools.lru_cache(None)(self._model)

    # ---- candidates
    @functools.cached_property
    def defaults(self) -> list[Candidate]:
        """The organisations of every order as the model would take them, the model's own choice first."""
        found = [
            (price, Candidate(k, how))
            for k, program in enumerate(self.programs)
            for price, how in self.renderer.choices(program)
        ]
        best: dict[Candidate, float] = {}
        for price, c in sorted(found, key=lambda f: f[0]):
            best.setdefault(c, price)
        return list(best)

    def coordinates(self, c: Candidate) -> dict[str, tuple]:
        """Values of each coordinate that a candidate may move along; "order" is one."""
        p = self.programs[c.order]
        found: dict[str, tuple] = {"order": tuple(range(len(self.programs)))}
        if isinstance(c.how, Outer):
            t = outer.terms_of(p)
            known = outer.variants(t, p.dtype, self.plan.backend.style) if t else []
            found["variant"] = tuple(v for v in known if v.name == c.how.name)
        elif isinstance(c.how, Packs):
            found |= _of_packs(p, c.how)
        elif isinstance(c.how, Staged):
            found |= _of_stages(p, c.how)
        else:
            found |= _of_threads(p, c.how)
        return {name: values for name, values in found.items() if len(values) > 1}

    def moved(self, c: Candidate, name: str, value) -> Candidate | None:
        """The candidate with another value of one coordinate; None where nothing can serve so."""
        try:
            if name == "order":
                return self._at_order(c, value)
            made = Candidate(c.order, value if name == "variant" else _moved(c.how, name, value))
        except Unable:
            return None
        return made if self.legal(made) else None

    def _at_order(self, c: Candidate, order: int) -> Candidate | None:
        """The same numbers for another order, where it can have them."""
        p, how = self.programs[order], c.how
        for _, other in self.renderer.choices(p):
            if other.name == how.name:
                made = Candidate(
                    order, dataclasses.replace(other, tile=how.tile, ask=how.ask) if isinstance(how, Packs) else how
                )
                return made if self.legal(made) else Candidate(order, other)
        return None

    def legal(self, c: Candidate) -> bool:
        """Whether its text can be made; what the compiler or the device thinks of it is not asked."""
        with contextlib.suppress(FrameError, Unable):
            p, how = self.programs[c.order], c.how
            if isinstance(how, (Packs, Outer)):
                return True
            if isinstance(how, Staged):
                made = Stages(p, how)
                return 32 * how.warps * made.entries <= MOST_THREADS and how.entries == made.entries
            if not 32 <= how.threads <= MOST_THREADS:
                return False
            if how.name in ("team", "lines"):
                return how.name != "lines" or render_threads.team_bytes(p, how) <= render_threads.SHARED
            return all(how.near == 1 or ok for ok in _near_values(p, how))
        return False

    def neighbours(self, c: Candidate) -> list[Candidate]:
        """One step along each coordinate, to both sides; all values where they have no order."""
        found = []
        for name, values in self.coordinates(c).items():
            now = c.order if name == "order" else c.how if name == "variant" else _value(c.how, name)
            if now not in values:
                steps = values
            elif isinstance(now, (str, tuple)) or name in ("order", "variant"):
                steps = tuple(v for v in values if v != now)
            else:
                at = values.index(now)
                steps = tuple(values[k] for k in (at - 1, at + 1) if 0 <= k < len(values))
            found += [made for v in steps if (made := self.moved(c, name, v)) and made != c]
        return list(dict.fromkeys(found))

    def random(self, rng) -> Candidate:
        """Any organisation, then each coordinate anywhere; what cannot serve stays as it was."""
        by_name: dict[str, list[Candidate]] = {}
        for c in self.defaults:
            by_name.setdefault(c.how.name, []).append(c)
        some = by_name[rng.choice(sorted(by_name))]
        c = some[rng.integers(len(some))]
        for name, values in self.coordinates(c).items():
            c = self.moved(c, name, values[rng.integers(len(values))]) or c
        return c

    def features(self, c: Candidate) -> tuple[float, ...]:
        """Numbers for a surrogate: the organisation as marks, the order, each number of it (in powers of two where it
        may be large)."""
        names = sorted({d.how.name for d in self.defaults})
        found = [float(c.how.name == name) for name in names] + [float(c.order)]
        for kind, example in {type(d.how): d.how for d in self.defaults}.items():
            for field in dataclasses.fields(kind):
                if field.name == "name":
                    continue
                value = getattr(c.how, field.name) if isinstance(c.how, kind) else None
                found += _numbers(value, getattr(example, field.name))
        return (*found, math.log2(1 + self.price(c)))

    # ---- the model
    def price(self, c: Candidate) -> float:
        """What it has to do at least, in the model's unit."""
        return self._price(c)

    def _model(self, c: Candidate) -> float:
        p = self.programs[c.order]
        if isinstance(c.how, Outer):
            others = (h for _, h in self.renderer.choices(p) if not isinstance(h, Outer))
            return min(self.price(Candidate(c.order, h)) for h in others) * organisations.price_of("outer")
        if isinstance(c.how, Packs):
            return render_packs.price(p, c.how.ways)
        size = np.dtype(p.dtype).itemsize
        moved = self.plan.bytes / MEMORY
        try:
            accesses, flops, shared, threads = _counts(p, c.how)
        except Unable:
            return math.inf
        held = min(2048 // threads * threads, 227 * 1024 // max(shared + 1024, 1) * threads)
        waits = max(1.0, ENOUGH / max(held, 1)) ** 0.5
        return max(moved * waits, accesses * size / WAVEFRONT, flops)


# ---- coordinates ----------------------------------------------------------------------------------------------------


def _of_packs(p: Program, how: Packs) -> dict[str, tuple]:
    found: dict[str, tuple] = {"tile": TILES, "ask": (False, True) if how.name != "lanes" else ()}
    if how.name != "lanes":
        can = render_packs.able(p)
        free = [k for k, ways in enumerate(can) if len(ways) > 1]
        found["ways"] = tuple(
            tuple("folded" if k in some else "along" for k in range(len(can)))
            for some in [(), *((k,) for k in free), tuple(free)]
        )
    return found


def _of_threads(p: Program, how: Threads) -> dict[str, tuple]:
    if how.name == "flat":
        near = tuple(v for v in (1, 2, 4) if v == 1 or render_threads.neighbours(render_threads.nests(p), v, p.dtype))
        n = render_threads.nests(p)[0]
        turns = n.loops[-2].extent if len(n.loops) > 1 else 1
        return {"threads": (64, 128, 256, 512), "near": near, "jam": tuple(j for j in (1, 2, 4, 8) if turns % j == 0)}
    if how.name == "sums":
        wide = render_threads.lanes_for(render_threads.nests(p)[0], p.dtype).near
        return {"threads": (64, 128, 256, 512), "lanes": (2, 4, 8, 16, 32), "near": tuple(sorted({1, wide}))}
    if how.name == "tiles":
        return {"m": (4, 8, 16, 32), "c": (4, 8, 16, 32), "k": (4, 8, 16, 32)}
    if how.name == "slices":
        return {"threads": (32, 64, 128, 256, 512), "k": (8, 16, 32, 64, 128)}
    team = how.threads // how.entries
    return {"team": tuple(sorted({16, 32, 64, 96, 128, 192, 256, 512, team})), "entries": (1, 2, 3, 4, 6, 8)}


def _of_stages(p: Program, how: Staged) -> dict[str, tuple]:
    jobs = Stages(p, dataclasses.replace(how, warps=1, entries=1)).jobs()
    warps = sorted({-(-jobs // k) for k in range(1, jobs + 1) if -(-jobs // k) <= stages.MOST_WARPS} | {how.warps})
    found: dict[str, tuple] = {
        "warps": tuple(warps),
        "entries": (1, 2, 4, 8),
        "blocks": tuple(range(9)),
        "ahead": (1, 2, 4),
        "batch": (2, 4, 8, 16),
        "paired": (False, True),
        "columns": (1, 2, 4, 8),
        "stage": (0, 1, 2),
        "bulk": (False, True),
        "tight": (False, True),
        "ring": (1, 2, 3, 4),
        "narrow": (False, True) if p.dtype == "float32" else (),
        "apart": (False, True) if how.bulk else (),
        "line": (False, True) if p.dtype == "float32" else (),
        "split": (False, True) if p.dtype == "float32" else (),
        "once": (False, True),
        "turned": (False, True),
    }
    if how.walk:
        found["parts"] = tuple(k for k in (1, 2, 4, 8) if k <= p.sizes.get(how.walk, 1))
    return found


def _value(how, name: str):
    if name in ("m", "c", "k") and isinstance(how, Threads):
        return how.tile["mck".index(name)]
    return how.threads // how.entries if name == "team" else getattr(how, name)


def _moved(how, name: str, value):
    """Raises Unable."""
    if isinstance(how, Packs) and name == "ways":
        return dataclasses.replace(how, ways=value, name="folded" if "folded" in value else "rows")
    if isinstance(how, Threads):
        if how.name == "tiles":
            m, c, k = (value if x == name else y for x, y in zip("mck", how.tile))
            return dataclasses.replace(how, tile=(m, c, k), threads=m * c)
        if how.name == "slices":
            k = value if name == "k" else how.tile[2]
            threads = value if name == "threads" else how.threads
            return dataclasses.replace(how, threads=threads, tile=(1, threads, k))
        if name == "team":
            return dataclasses.replace(how, threads=value * how.entries)
        if name == "entries":
            return dataclasses.replace(how, entries=value, threads=how.threads // how.entries * value)
        if name == "jam" and how.near == 1 and value > 1:
            raise Unable("turns are of neighbours")
        if name == "near" and value == 1:
            return dataclasses.replace(how, near=1, jam=1)
    return dataclasses.replace(how, **{name: value})


def _near_values(p: Program, how: Threads) -> list[bool]:
    """Whether neighbours and turns fit the program."""
    n = render_threads.nests(p)[0]
    if how.name == "flat":
        turns = n.loops[-2].extent if len(n.loops) > 1 else 1
        return [render_threads.neighbours([n], how.near, p.dtype), turns % how.jam == 0]
    if how.name == "sums":
        return [render_threads.lanes_for(n, p.dtype).near == how.near]
    return [True]


def _numbers(value, like) -> list[float]:
    like = value if value is not None else like
    if isinstance(like, tuple):
        if like and isinstance(like[0], str):
            return [float(sum(x == "folded" for x in value)) if value else -1.0]
        return [float(x) for x in value] if value is not None else [-1.0] * len(like)
    if isinstance(like, str):
        return [float(bool(value))]
    return [-1.0 if value is None else math.log2(1 + float(value))]


# ---- counts of a device ---------------------------------------------------------------------------------------------


def _counts(p: Program, how) -> tuple[float, float, int, int]:
    """(numbers that lanes load and store, clocks of arithmetic, bytes of shared memory and threads of a block), the
    first two of one entry."""
    return _of_units(p, how) if isinstance(how, Staged) else _of_lanes(p, how)


def _of_units(p: Program, how: Staged) -> tuple[float, float, int, int]:
    """Fragments that warps read for the matrix units, and all that is done number by number."""
    made = Stages(p, how)
    lanes = units = 0.0
    for step in made.steps:
        for s in step.statements:
            if step.kind != "units":
                lanes += made.numbers(s.out) * (1 + sum(len(t.factors) for t in s.terms))
                continue
            others, rows, columns, terms = made.layout(s)
            e, n = made.extent_of(others), made.extent_of(columns)
            tiles, columns_of_8 = -(-made.extent_of(rows) // 16), -(-n // 8)
            if how.line:  # float multiply-adds of threads are as fast as double ones of the units
                m = made.extent_of(rows)
                units += sum(2 * m * n * made.extent_of(sums) for *_, sums in terms)
                lanes += sum(m * made.extent_of(sums) for _, f, _, sums in terms if f.name not in made.inner)
                lanes += 0 if s.out.name in made.inner else made.numbers(s.out)
                continue
            for _, f, _, sums in terms:
                k = -(-made.extent_of(sums) // 4) * 4
                units += e * tiles * 16 * columns_of_8 * 8 * k * 2
                rows_read = 0 if f.name in made.inner else 16 * -(-columns_of_8 // how.columns)
                lanes += e * k * tiles * (rows_read + columns_of_8 * 8 / how.ahead)
            lanes += 0 if s.out.name in made.inner else made.numbers(s.out)
    return lanes * made.teams, units * made.teams / UNITS, made.bytes, 32 * how.warps * made.entries


def _of_lanes(p: Program, how: Threads) -> tuple[float, float, int, int]:
    lanes = flops = 0.0
    for n in render_threads.nests(p):
        lanes += n.size
        for q in n.products:
            many = math.prod(loop.extent for loop in q.sums)
            flops += 2.0 * n.size * many
            line = render_threads.matrix_line(n, q, p) if how.name == "lines" else None
            if how.name in ("tiles", "slices"):
                lanes += _tile_accesses(n, how, many)
            elif line:
                lanes += n.size / line[2].extent * (many + line[2].extent * (1 + many / 32))
            elif how.name == "sums":
                turn = how.lanes * how.near
                lanes += n.size * (-(-many // turn) * turn * len(q.factors) + how.lanes * math.log2(how.lanes))
            else:
                near = lambda f, n=n: how.near if n.loops and n.loops[-1].step[f] % FAR == 0 else 1
                lanes += n.size * many * sum(1 / near(f) for f in q.factors)
        if how.name == "team":
            team = how.threads // how.entries
            lanes += -(-n.size // team) * team - n.size
    if how.name in ("team", "lines"):
        return lanes, flops / FMA, render_threads.team_bytes(p, how), how.threads
    shared = render_threads.tile_bytes(p, how) if any(how.tile) else 0
    return lanes, flops / FMA, shared, how.threads


def _tile_accesses(n, how: Threads, many: int) -> float:
    """Into shared memory, and out of it for each multiplication; what is beyond the edge too."""
    parts: tuple = render_threads.tile_loops(n) or ([], [])
    rows, columns = (math.prod(x.extent for x in part) for part in parts)
    m, c, k = how.tile
    blocks = n.size / (rows * columns) * -(-rows // m) * -(-columns // c)
    staged = (m + (c if how.name == "tiles" else 0)) * k
    return blocks * -(-many // k) * (2 * staged + 2 * how.threads * k)
