"""On CPU vector units: along what the lanes of a pack lie. The text is written by render_packs.py."""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
from typing import ClassVar

import numpy as np

from ...engine.backend.base import Source
from ...engine.backend.record import record
from .. import render_packs, ways as ways_of
from ..plan import Program, nest
from ..ways import WIDTH
from . import library_costs
from .base import Organisation
from .on_host import Launch, OnHost

CALL = 2e-6  # seconds
FUSED = 0.5  # as measured: 0.25 to 0.7 of the price of chains of products
COPIED = 1.5  # vector operations of a pack on its way past the caches
TURNED = 6.5  # vector operations of a pack on its way in or out

# Rows and columns of sums that the registers hold. (0, 0): as packs.h reckons.
TILES: tuple[tuple[int, int], ...] = (
    *((0, 0), (8, 1), (10, 1), (12, 1), (3, 2), (4, 2), (5, 2), (6, 2), (8, 2), (10, 2), (12, 2)),
    *((3, 3), (4, 3), (5, 3), (8, 3), (2, 4), (3, 4), (4, 4), (5, 4), (6, 4), (2, 5), (4, 5), (5, 5), (2, 8), (3, 8)),
)


@dataclasses.dataclass(frozen=True)
class Packs(OnHost):
    """Lanes along the last index of the output ("along") or along a sum ("folded"): each statement its own way."""

    NAMES: ClassVar[tuple[str, ...]] = ("rows", "folded")

    ways: tuple[str, ...]  # of each statement: "along" or "folded"
    tile: tuple[int, int] = (0, 0)  # rows and columns of sums in registers; (0, 0): as packs.h reckons
    ask: bool = True  # ask ahead for the next entry

    @property
    def name(self) -> str:
        return "folded" if "folded" in self.ways else "rows"

    def __str__(self):
        kinds = collections.Counter(self.ways)

        told = []
        if len(kinds) > 1:
            told += [f"{n} {way}" for way, n in kinds.items()]
        if any(self.tile):
            told.append(f"tiles {self.tile[0]} x {self.tile[1]}")
        if not self.ask:
            told.append("nothing asked ahead")

        return f"{self.name} ({', '.join(told)})" if told else self.name

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        """The best way of each statement, and one way for all statements that can have it."""
        can = ways_of.able(p)
        best = tuple(map(functools.partial(ways_of.best_way, p), p.statements, can))
        along = ("along",) * len(can)
        folded = _folded(_foldable(can), len(can))

        return [cls(ways) for ways in dict.fromkeys((best, along, folded))]

    def price(self, p: Program, least: float = math.inf) -> float:
        """Vector operations of an entry, and its memory: a core does one after the other."""
        work = sum(ways_of.statement_price(p, s, way, WIDTH[p.dtype]) for s, way in zip(p.statements, self.ways))

        # What bypasses the caches is made in scratch and copied.
        size = np.dtype(p.dtype).itemsize
        for name in p.expression.outputs:
            a = p.arrays[name]
            if name not in p.expression.updated and library_costs.passes("packs", p, a):
                work += a.size / WIDTH[p.dtype] * COPIED * ways_of.farther(a.size * size)
        return _with_memory(work, p) * _fused(p)

    # ---- text and launch
    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source:
        p, ways = ways_of.with_copies(p, self.ways)
        body = render_packs.Body(p, False, self.tile, self.ask)
        return render_packs.source(self.name, body, ways, headers, folders, quick)

    def launch_of(self, plan, values, n: int) -> Launch:
        held = record(render_packs.members(plan.program), **values)
        addresses = tuple((f"at_{a.name}", a.name) for a in plan.program.arguments)
        return Launch(plan.module(self), held, addresses, n)

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        can = ways_of.able(p)
        free = _foldable(can)

        # No statement folded, each alone, all.
        ways = [_folded([], len(can))]
        for k in free:
            ways.append(_folded([k], len(can)))

        ways.append(_folded(free, len(can)))
        return {"tile": TILES, "ask": (False, True), "ways": tuple(ways)}

    def at_order(self, usual):
        return dataclasses.replace(usual, tile=self.tile, ask=self.ask)


@dataclasses.dataclass(frozen=True)
class Lanes(Packs):
    """Lanes are entries of the batch. Each entry is copied into scratch, one lane apart, and back."""

    NAMES: ClassVar[tuple[str, ...]] = ("lanes",)

    @property
    def name(self) -> str:
        return "lanes"

    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        """Where there is a batch, whose index stands in one place of each array."""
        if not p.batch or p.mixed:
            return []
        return [cls(("lanes",) * len(p.statements))]

    def price(self, p: Program, least: float = math.inf) -> float:
        width, n = WIDTH[p.dtype], library_costs.usual_batch(p)
        spread = frozenset(a.name for a in p.arrays.values() if a.kind != "local" and a.place is None)
        work = sum(ways_of.effort(nest(p, s), "lanes", width, spread) for s in p.statements)

        # Packs of entries are turned in squares, what is left over number by number.
        packs = -(-n // width)
        for a in p.arguments:
            if a.place is not None:
                squares, rest = divmod(a.after, width)
                work += a.before * (squares * TURNED * width + rest * width)
        return _with_memory(packs * work / n, p) * _fused(p)

    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source:
        body = render_packs.Body(p, True, self.tile, self.ask)
        return render_packs.source(self.name, body, self.ways, headers, folders, quick)

    def moves(self, p: Program) -> dict[str, tuple]:
        return {"tile": TILES}


def _with_memory(work: float, p: Program) -> float:
    """The price of an entry: its vector operations, and its memory."""
    unit = library_costs.unit("packs", p)
    return (library_costs.with_memory(work * unit, p) + CALL / library_costs.usual_batch(p)) / unit


def _fused(p: Program) -> float:
    """Of the price of several statements: what a sum leaves of an entry is in the caches for the next."""
    local = set(p.of_kind("local"))
    sums = any(s.out.name in local and any(t.sums(s.out) for t in s.terms) for s in p.statements)
    return FUSED if sums and not p.of_kind("shared") else 1.0


def _foldable(can) -> list[int]:
    """The statements that can be folded. can: the ways that each statement can have."""
    return [k for k, ways in enumerate(can) if "folded" in ways]


def _folded(some, count: int) -> tuple[str, ...]:
    """The ways of `count` statements of which some are folded."""
    return tuple("folded" if k in some else "along" for k in range(count))
