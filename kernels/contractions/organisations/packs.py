"""On CPU vector units: along what the lanes of a pack lie. The text is written by render_packs.py."""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
from typing import ClassVar

import numpy as np

from ...engine.backend import cpu
from ...engine.backend.base import Source
from ...engine.backend.record import record
from .. import host_rates, render_packs, ways as ways_of
from ..expression import Statement
from ..plan import Array, Program, nest
from ..ways import WIDTH
from . import library_costs
from .base import Organisation
from .on_host import Launch, OnHost

CALL = 3e-7  # seconds
COPIED = 1.5  # vector operations of a pack on its way through scratch
BEYOND = 2  # times as long, at least: its other end is beyond the first cache
AHEAD = 128  # bytes from a cache line to the next that is wanted: lines farther apart are not asked for ahead
FAR_LINE = 1.5e-8, 3e-9  # seconds of such a line from memory and from the last cache, as measured: 15 to 22 and 3 ns
PIECE_LINE = 3e-9  # the same of an array that all entries read anew, at equal distances
PIECES_APART = 512  # bytes: of such lines
# Times that an array takes to come from a large, slow last cache, beside a sweep: in pieces (`_in_pieces`), or folded
IN_PIECES, FOLDED_FROM_LARGE = 1.6, 1.25
FROM_LARGE = 1.6  # see `_waits_for_cache`; eight products of 1600 x 1600 x 1600 took 1.4 to 2.4 times as long
FROM_SECOND = 1.6e-11  # seconds of a byte of scratch that is written to the second cache and read from there
# The same beside a large, slow last cache: of all scratch that the first cache does not hold with what else it has. In
# between, from FEW_BYTES on, of a share. A pack of 64 bytes took 2 to 3 ns longer there, of smaller scratch nothing
FROM_SECOND_OF_LARGE, FEW_BYTES = 4e-11, 4 << 10
SPILLED = 3  # times that scratch beyond the second cache moves: written, which reads it before, and read
SPILLED_FAR = 6  # the same beside a large, slow last cache
ALONE = 3.0  # of a number that is copied alone, where cores do whole vectors at once: they wait for it longer
TURNED = 1.7  # vector operations of a pack on its way in or out, for each time that its lanes double

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
        n = library_costs.usual_batch(p)
        best = tuple(ways_of.best_way(p, s, ways, n) for s, ways in zip(p.statements, can))
        along = ("along",) * len(can)
        folded = _folded(_foldable(can), len(can))

        return [cls(ways) for ways in dict.fromkeys((best, along, folded))]

    def serves(self, p: Program) -> str:
        can = self._able(p)
        if len(self.ways) == len(can) and all(way in ways for way, ways in zip(self.ways, can)):
            return ""
        return "ways=" + ":".join(["|".join(ways) for ways in can])

    def _able(self, p: Program) -> list[tuple[str, ...]]:
        """The ways that each statement can have."""
        return ways_of.able(p)

    def price(self, p: Program, least: float = math.inf) -> float:
        """Vector operations of an entry, and its memory: a core does one after the other."""
        n, work, size = library_costs.usual_batch(p), 0.0, np.dtype(p.dtype).itemsize
        for s, way in zip(p.statements, self.ways):
            work += ways_of.statement_price(p, s, way, WIDTH[p.dtype], n) / (n if p.once(s) else 1)

        # Entries that lie in pieces, a batch apart, are gathered in scratch. What bypasses the caches is made there.
        apart = copied = 0.0
        for a in p.arguments:
            if a.place and _scattered(n * a.after, a.before, size):
                apart += a.before * _far_line(p) / _entries_of_line(a, size)
            if a.place or self._bypasses(p, a):
                copied += a.size * max(ways_of.farther(a.size * size), BEYOND)

        work *= _waits_for_cache(p)
        apart += _far_streams(p, self.ways)
        return _with_memory(work + copied * COPIED / WIDTH[p.dtype], p, apart=apart)

    def by_threads(self, p: Program, price: float, threads: int) -> float:
        """Each thread has entries of its own."""
        return price / min(threads, self._parts(library_costs.usual_batch(p), p.dtype))

    def _parts(self, n: int, dtype: str) -> int:
        """Parts of a batch of n entries that threads can have."""
        return n

    @staticmethod
    def _bypasses(p: Program, a: Array) -> bool:
        """Whether an array is an output that bypasses the caches."""
        return (
            a.name in p.expression.outputs
            and a.name not in p.expression.updated
            and library_costs.passes("packs", p, a)
        )

    # ---- text and launch
    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source:
        p, ways = ways_of.with_copies(p, self.ways)
        body = render_packs.Body(p, False, self.tile, self.ask)
        return render_packs.source(self.name, body, ways, headers, folders, quick)

    def launch_of(self, plan, arrays, values, n: int) -> Launch:
        asks = library_costs.from_afar(library_costs.held_bytes(plan.program, n))
        held = record(render_packs.members(plan.program), asks=asks, **values)
        addresses = tuple((f"at_{a.name}", a.name) for a in plan.program.arguments)
        scratch = plan.kept(("scratch", self), functools.partial(self._scratch, plan.program, plan.backend.threads))
        return Launch(plan.module(self), held, addresses, n, scratch=scratch)

    def _scratch(self, p: Program, threads: int) -> int:
        """Bytes, see render_packs.scratch."""
        p, _ = ways_of.with_copies(p, self.ways)
        return render_packs.scratch(p, False, threads)

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
        """Candidates for programs with a batch whose index stands in one place of each array."""
        if not p.batch or p.mixed:
            return []
        return [cls(("lanes",) * len(p.statements))]

    def _able(self, p: Program) -> list[tuple[str, ...]]:
        return [("lanes",)] * len(p.statements)

    def price(self, p: Program, least: float = math.inf) -> float:
        width, n = WIDTH[p.dtype], library_costs.usual_batch(p)
        packs = -(-n // width)
        once = work = 0.0

        for s in p.statements:
            if p.once(s):
                once += ways_of.statement_price(p, s, "along", width)
            else:
                work += ways_of.statement_price(p, s, "lanes", width)

        # Packs of entries are turned in squares, what is left over number by number.
        apart = _spilled(p, width)
        for a in p.arguments:
            if a.place is None:
                apart += _piece_lines(p, a) * PIECE_LINE
                continue
            if a.after == 1 and _scattered(n, a.size, np.dtype(p.dtype).itemsize):
                apart += a.before * _far_line(p)
            else:
                work += a.before * self._turns(a, width)

        return _with_memory((packs * work + once) / n, p, width, packs * apart / n)

    def _parts(self, n: int, dtype: str) -> int:
        return -(-n // WIDTH[dtype])

    @staticmethod
    def _turns(a: Array, width: int) -> float:
        """Vector operations of a pack of entries that are copied, for each part of an array that lies a batch apart."""
        squares, rest = divmod(a.after, width)
        if a.after > 1:
            alone = ALONE if cpu.has_whole_vectors(cpu.target()) else 1.0
            return squares * TURNED * math.log2(width) * width + rest * width * alone

        return 1.0  # a pack lies side by side

    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source:
        body = render_packs.Body(p, True, self.tile, self.ask)
        return render_packs.source(self.name, body, self.ways, headers, folders, quick)

    def _scratch(self, p: Program, threads: int) -> int:
        return render_packs.scratch(p, True, threads)

    def moves(self, p: Program) -> dict[str, tuple]:
        return {"tile": TILES}


def _waits_for_cache(p: Program) -> float:
    """How many times as long the work takes because a large, slow last cache holds an array that all entries read."""
    held = max([a.size for a in p.arguments if a.place is None], default=0) * np.dtype(p.dtype).itemsize
    return FROM_LARGE if host_rates.has_large_cache() and held > cpu.second_cache() else 1.0


def _far_streams(p: Program, ways) -> float:
    """Seconds of an entry that arrays take longer to come from a large, slow last cache than a sweep of them."""
    held = library_costs.held_bytes(p, library_costs.usual_batch(p))
    if not host_rates.has_large_cache() or held <= cpu.second_cache():
        return 0.0

    times = dict.fromkeys((a.name for a in p.arguments), 1.0)
    for s, way in zip(p.statements, ways):
        for name in nest(p, s).names[1:] if way == "folded" else _in_pieces(p, s):
            times[name] = FOLDED_FROM_LARGE if way == "folded" else IN_PIECES
    size = np.dtype(p.dtype).itemsize
    more = sum(size * a.size * (times[a.name] - 1) for a in p.arguments if a.place is not None)
    return more / library_costs.pace("packs", p.dtype, held)


def _in_pieces(p: Program, s: Statement) -> set[str]:
    """Arrays of which a sum, along which no lanes lie, takes pieces far apart: none is asked for ahead."""
    n, size, found = nest(p, s), np.dtype(p.dtype).itemsize, set()
    for q in n.products:
        for f in q.factors:
            steps = [loop.step[f] for loop in q.sums if loop.step[f]]
            if steps and min(steps) * size > PIECES_APART:
                found.add(n.names[f])
    return found


def _spilled(p: Program, width: int) -> float:
    """Seconds of a pack of entries for what its scratch moves beyond the first cache, and beyond the second."""
    size = np.dtype(p.dtype).itemsize
    scratch = width * size * sum(a.size for a in p.arguments if a.place is not None)
    if scratch <= library_costs.CACHE and host_rates.has_large_cache():
        share = (scratch - FEW_BYTES) / (ways_of.NEAR - FEW_BYTES)
        return scratch * FROM_SECOND_OF_LARGE * min(max(share, 0.0), 1.0)
    if scratch <= library_costs.CACHE:
        return max(scratch - ways_of.NEAR, 0) * FROM_SECOND
    times = SPILLED_FAR if host_rates.has_large_cache() else SPILLED
    return times * scratch / library_costs.pace("packs", p.dtype, scratch)


def _piece_lines(p: Program, a: Array) -> float:
    """Lines of an array beyond the second cache that sums read in pieces, each too far apart to be asked for ahead."""
    size = np.dtype(p.dtype).itemsize
    if a.size * size <= library_costs.CACHE:
        return 0.0

    for s in p.statements:
        n = nest(p, s)
        for q in n.products:
            steps = [loop.step[f] for loop in q.sums for f in q.factors if n.names[f] == a.name and loop.step[f]]
            if steps and min(steps) * size > PIECES_APART:
                return a.size * size / library_costs.LINE

    return 0.0


def _with_memory(work: float, p: Program, together: int = 1, apart: float = 0.0) -> float:
    """The price of an entry: its vector operations, and its memory. together: entries that are worked on at once.
    apart: seconds for lines too far apart for the processor to prefetch."""
    unit = library_costs.unit("packs", p)
    return (library_costs.with_memory(work * unit, p, together, apart) + CALL / library_costs.usual_batch(p)) / unit


def _scattered(step: int, pieces: int, size: int) -> bool:
    """Whether pieces of an entry come from beyond the second cache, so many numbers apart that none is asked for ahead.
    size: bytes of a number."""
    return step * size > AHEAD and step * pieces * size > library_costs.CACHE


def _entries_of_line(a: Array, size: int) -> float:
    """Entries that find their pieces in a cache line before the second cache has lost it. size: bytes of a number."""
    piece = a.after * size
    return max(library_costs.LINE / piece, 1.0) if a.before * library_costs.LINE <= library_costs.CACHE else 1.0


def _far_line(p: Program) -> float:
    """Seconds of a line of an array of which lines lie far apart."""
    memory, cache = FAR_LINE
    held = library_costs.COPIED * library_costs.held_bytes(p, library_costs.usual_batch(p))
    return memory + (cache - memory) * library_costs.cached(held)


def _foldable(can) -> list[int]:
    """The statements that can be folded. can: the ways that each statement can have."""
    return [k for k, ways in enumerate(can) if "folded" in ways]


def _folded(some, count: int) -> tuple[str, ...]:
    """The ways of `count` statements of which some are folded."""
    return tuple("folded" if k in some else "along" for k in range(count))
