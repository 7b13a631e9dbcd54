"""A tile of one row: the second factor is read where it is, only the row is in shared memory."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

from .. import render_threads as threads
from ..plan import Program
from ..prices import price_of
from .base import Organisation
from .tiles import Tiles, parts_of, tileable


@dataclasses.dataclass(frozen=True)
class Slices(Tiles):
    """A block for a row of the output, a thread for a column."""

    NAMES: ClassVar[tuple[str, ...]] = ("slices",)
    STAGED: ClassVar[bool] = False

    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        if not tileable(p):
            return []
        columns = threads.size(parts_of(threads.nests(p)[0]).columns)
        width = min(256, -(-columns // 32) * 32)
        return [cls(width, (1, width, 32))]

    def price(self, p: Program, least: float = math.inf) -> float:
        columns = threads.size(parts_of(threads.nests(p)[0]).columns)
        return threads.work(p) * price_of("slices") * threads.waste(columns, self.threads)

    def moves(self, p: Program) -> dict[str, tuple]:
        return {"threads": (32, 64, 128, 256, 512), "k": (8, 16, 32, 64, 128)}

    def moved(self, name: str, value) -> Organisation:
        k = value if name == "k" else self.tile[2]
        width = value if name == "threads" else self.threads
        return dataclasses.replace(self, threads=width, tile=(1, width, k))
