"""On CPU vector units: along what the lanes of a pack lie. The text is written by render_packs.py."""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
from typing import ClassVar

from ...engine.backend.base import Shape, Source
from ...engine.backend.record import record
from .. import render_packs
from ..plan import Program, nest
from .base import Organisation

# Rows and columns of sums that the registers hold. (0, 0): as packs.h reckons.
TILES: tuple[tuple[int, int], ...] = (
    *((0, 0), (8, 1), (10, 1), (12, 1), (3, 2), (4, 2), (5, 2), (6, 2), (8, 2), (10, 2), (12, 2)),
    *((3, 3), (4, 3), (5, 3), (8, 3), (2, 4), (3, 4), (4, 4), (5, 4), (6, 4), (2, 5), (4, 5), (5, 5), (2, 8), (3, 8)),
)


@dataclasses.dataclass(frozen=True)
class Packs(Organisation):
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
            told.append(", ".join(f"{n} {way}" for way, n in kinds.items()))
        if any(self.tile):
            told.append(f"tiles {self.tile[0]} x {self.tile[1]}")
        if not self.ask:
            told.append("nothing asked ahead")

        return f"{self.name} ({', '.join(told)})" if told else self.name

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        """The best way of each statement, and one way for all statements that can have it."""
        can = render_packs.able(p)
        best = tuple(render_packs.best_way(p, s, ways) for s, ways in zip(p.statements, can))

        found = [best]
        for way in ("along", "folded"):
            chosen = tuple(way if way in ways else "along" for ways in can)
            if chosen != best and way in chosen:
                found.append(chosen)
        return [cls(ways) for ways in found]

    def price(self, p: Program, least: float = math.inf) -> float:
        """Vector operations of an entry."""
        width = render_packs.WIDTH[p.dtype]
        return sum(render_packs.statement_price(p, s, way, width) for s, way in zip(p.statements, self.ways))

    # ---- text and launch
    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source:
        p, ways = render_packs.with_copies(p, self.ways)
        body = render_packs.Body(p, False, self.tile, self.ask)
        return render_packs.source(self.name, body, ways, headers, folders, quick)

    def launch(self, plan, arrays, values, n: int):
        module = plan.compile()
        held = record(render_packs.members(plan.program), **values)
        run = module.bind("contraction", Shape(), held, keep=list(arrays.values()))
        return functools.partial(run, n)

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        can = render_packs.able(p)
        free = [k for k, ways in enumerate(can) if len(ways) > 1]
        some = [(), *((k,) for k in free), tuple(free)]
        ways = tuple(_folded(chosen, len(can)) for chosen in some)
        return {"tile": TILES, "ask": (False, True), "ways": ways}

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
        if not p.batch or any(a.mixed for a in p.arrays.values()):
            return []
        return [cls(("lanes",) * len(p.statements))]

    def price(self, p: Program, least: float = math.inf) -> float:
        width = render_packs.WIDTH[p.dtype]
        outside = sum(a.size for a in p.arguments if a.place is not None)
        inside = outside + sum(a.size for a in p.arrays.values() if a.kind == "local")
        slow = 1.0 if inside * width * 8 <= render_packs.FIRST_CACHE else 1.6
        work = sum(render_packs.effort(nest(p, s), "lanes", width) for s in p.statements)
        return work * slow + outside * 4 / width

    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source:
        body = render_packs.Body(p, True, self.tile, self.ask)
        return render_packs.source(self.name, body, self.ways, headers, folders, quick)

    def moves(self, p: Program) -> dict[str, tuple]:
        return {"tile": TILES}


def _folded(some, count: int) -> tuple[str, ...]:
    """The ways of `count` statements of which some are folded."""
    return tuple("folded" if k in some else "along" for k in range(count))
