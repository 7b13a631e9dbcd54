"""A team whose threads hold a line of a factor in registers each, and multiply it by a constant matrix."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

from .. import render_threads as threads
from ..plan import Nest, Product, Program
from ..prices import price_of
from ..render_teams import SHARED, Line, matrix_line
from .base import Organisation
from .team import USUAL, Team
from .threads import memory_seconds

PACE = 0.75  # times the memory's time
# The same where threads write lines of more than SHORT numbers that lie one behind the other
ACROSS, SHORT = 2.4, 4


@dataclasses.dataclass(frozen=True)
class Lines(Team):
    """A thread for a line. All arrays of a block lie in shared memory."""

    NAMES: ClassVar[tuple[str, ...]] = ("lines",)
    LINES: ClassVar[bool] = True

    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        lengths = [n.size // line.out.extent for n, line in _lines(p) if line]
        if not lengths:
            return []

        team = min(256, max(lengths))
        entries = max(1, USUAL // team)
        how = cls(team * entries, entries)
        return [how] if how.memory(p).bytes <= SHARED else []

    def price(self, p: Program, least: float = math.inf) -> float:
        found = [line for _, line in _lines(p)]
        saved = (len(found) - found.count(None)) / len(found)
        return threads.work(p) * (price_of("team") - price_of("lines") * saved)

    def floor(self, p: Program) -> float:
        across = all(line and SHORT < line.out.extent and line.out.step[0] == 1 for _, line in _lines(p))
        return memory_seconds(p) * (ACROSS if across else PACE)

    def legal(self, p: Program) -> bool:
        return super().legal(p) and self.memory(p).bytes <= SHARED

    def accesses(self, p: Program, n: Nest, q: Product, many: int) -> float:
        line = matrix_line(n, q, p)
        if not line:
            return super().accesses(p, n, q, many)
        return n.size / line.out.extent * (many + line.out.extent * (1 + many / 32))

    def idle(self, n: Nest) -> int:
        return 0


def _lines(p: Program) -> list[tuple[Nest, Line | None]]:
    """(statement, its product as a matrix times lines) of all products."""
    found = []
    for n in threads.nests(p):
        for q in n.products:
            found.append((n, matrix_line(n, q, p) if len(q.factors) == 2 else None))

    return found
