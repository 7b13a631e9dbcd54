"""Threads of a block share an entry and its locals, and do one statement after the other."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import ClassVar

from ...engine.backend.base import Shape
from ...engine.backend.record import record
from .. import render_threads as threads
from ..plan import Nest, Program
from ..prices import price_of
from ..render_teams import SHARED, Memory, memory_of, team_text
from .base import Organisation
from .threads import Threads, several

USUAL = 128  # threads of a block at least: small entries share it
RESIDENT = 4  # blocks a multiprocessor, where teams have arrays in global memory
WAITING = 1.25  # times the memory's time: a block loads nothing while it waits between two statements


@dataclasses.dataclass(frozen=True)
class Team(Threads):
    """`threads / entries` threads for an entry, with its locals in shared memory, or in global memory if too large."""

    NAMES: ClassVar[tuple[str, ...]] = ("team",)
    LINES: ClassVar[bool] = False  # whether a thread multiplies whole lines by constant matrices

    threads: int  # of a block
    entries: int = 1  # of the batch, in a block

    @property
    def team(self) -> int:
        """Threads of an entry."""
        return self.threads // self.entries

    def details(self) -> list[str]:
        return [f"{self.threads} threads", *several(self.entries, "entries")]

    def memory(self, p: Program) -> Memory:
        """Where a block has its arrays."""
        return memory_of(p, self.entries, self.LINES)

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        largest = max(n.size for n in threads.nests(p))
        most = min(256, -(-largest // 32) * 32)
        entries = max(1, USUAL // most)
        team = cls(most * entries, entries)
        return [team] if team._fits(p) else []

    def price(self, p: Program, least: float = math.inf) -> float:
        return threads.work(p) * price_of("team")

    def floor(self, p: Program) -> float:
        return super().floor(p) * WAITING

    def at_work(self, p: Program, n: int) -> int:
        return n * min(self.team, max(nest.size for nest in threads.nests(p)))

    def _fits(self, p: Program) -> bool:
        """Whether the arrays that all entries share fit in the shared memory of a block. Arrays of an entry may lie
        elsewhere."""
        return self.memory(p).fixed <= SHARED

    # ---- text and launch
    def text(self, p: Program) -> list[str]:
        return team_text(p, self.memory(p), self.threads, self.entries)

    def launch(self, plan, arrays, values, n: int):
        p, backend = plan.program, plan.backend
        memory = plan.kept(("memory", self), functools.partial(self.memory, p))
        module = plan.filled(self, memory.constant, arrays)
        keep, values = list(arrays.values()), threads.without_past(values)

        # Arrays of an entry in shared memory, or in an arena of global memory, a piece for each resident block.
        shape = Shape(self.threads, self.entries, memory.bytes)
        if memory.arena:
            shape = Shape(self.threads, self.entries, memory.fixed, RESIDENT)
            pieces = RESIDENT * getattr(backend, "multiprocessors", 1)
            arena = backend.empty((pieces * memory.arena,), plan.dtype)
            keep.append(arena)
            values["arena"] = backend.address(arena)

        held = record(threads.members(p), n=n, **values)
        return functools.partial(module.bind("contraction", shape, held, keep=keep), n)

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        team = tuple(sorted({16, 32, 64, 96, 128, 192, 256, 512, self.team}))
        return {"team": team, "entries": (1, 2, 3, 4, 6, 8)}

    def value(self, name: str):
        return self.team if name == "team" else super().value(name)

    def moved(self, name: str, value) -> Organisation:
        if name == "team":
            return dataclasses.replace(self, threads=value * self.entries)
        return dataclasses.replace(self, entries=value, threads=self.team * value)

    def legal(self, p: Program) -> bool:
        return super().legal(p) and self._fits(p)

    def idle(self, n: Nest) -> int:
        return -(-n.size // self.team) * self.team - n.size

    def shared_bytes(self, p: Program) -> int:
        return self.memory(p).bytes
