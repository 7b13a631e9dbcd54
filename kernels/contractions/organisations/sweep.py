"""A statement that uses each number of its largest array once, on CPU vector units: the core goes through that array
as it lies (sweep_packs.h)."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import ClassVar, NamedTuple

import numpy as np

from ...engine.backend import cpu
from ...engine.backend.base import Source
from ...engine.backend.record import record, structure
from ...engine.errors import VariantUnsuitable
from .. import host_rates
from ..expression import Reference
from ..plan import Loop, Program, Unable, merged, only_term, steps_between, turns
from . import library_costs
from .base import Organisation
from .on_host import LINE, Launch, OnHost

LOOPS = 16  # at most
FACTORS = 3  # at most; each count has a source of its own
OUT = 0  # the output's place among a loop's steps
STAYS, LIES = range(2)  # what the output does along a run (sweep_packs.h)
PAIR = 2  # numbers
TOGETHER = 8  # runs of a sum that are added together
SHORT = 4096  # bytes of a run: shorter ones that follow each other are added one by one
SHARED = 1 << 15  # numbers that are worth a second thread
CALL = 2e-7  # seconds
# Seconds, as measured on a Zen 4, beside memory
ADDED, BEGUN = 8e-9, 1e-9  # of runs that are added to the output together, or written there, and of each of them
AGAIN = 2e-11  # of a byte of the output that is read and written once more, while no memory is waited for
HELD, LEFT = 1e-9, 1.4e-8  # of a run whose sums stay in registers, and of these sums when they are written
MOST_HELD, MOST_PIECES = 8, 2  # vectors of a piece of such a run; pieces
HELD_ROWS = 32  # runs of which a piece is done before the next piece, where there are several
SUMMED, REST, FOLDED = 2e-9, 8e-10, 1.2e-8  # of a run that is a sum, what is left over of it, 8 vectors of such sums
NUMBER = 1e-9  # seconds of a number of a run whose factors lie apart
CROSSED = 2e-10  # the same if one of them lies side by side along the runs that follow each other


class Sum(NamedTuple):
    """The statement of a program: out (+)= number times factors, summed."""

    number: float
    adds: bool
    out: Reference
    factors: tuple[Reference, ...]


class Sweep(NamedTuple):
    """The loops of a statement as sweep_packs.h goes through them. Steps: of the output, then of the factors."""

    loops: tuple[Loop, ...]  # the slowest first; the last one is a run
    row: int  # place of the loop whose runs are worked on together
    kind: int  # what the output does along a run
    factors: tuple[int, ...]  # in the order in which they are read: those that lie along a run first
    along: int  # how many do
    pair: tuple[Loop, ...] = ()  # the loop over two numbers in each turn of a run, if there is one
    crossed: bool = False  # the last factor along a run lies side by side along the loop `row`

    @property
    def runs(self) -> int:
        return turns(self.loops[:-1])

    @property
    def every(self) -> tuple[Loop, ...]:
        """All loops."""
        return (*self.loops, *self.pair)

    @property
    def apart(self) -> bool:
        """Whether the numbers of a run lie apart in one of the factors along it."""
        width = turns(self.pair)
        places = [1 + f for f in self.factors[: self.along]]
        steps = {self.loops[-1].step[k] for k in places if self.loops[-1].extent > 1}
        return not steps <= {width} or any(loop.step[k] != 1 for loop in self.pair for k in places)


class Way(NamedTuple):
    """The branches that a source has. A source with all of them took g++ 6 to 15 s, a source for each way less."""

    kind: int = STAYS
    along: int = 1  # factors that go along a run
    width: int = 1  # numbers of a turn
    apart: bool = False
    crossed: bool = False

    @classmethod
    def of(cls, s: Sweep) -> Way:
        return cls(s.kind, max(s.along, 1), turns(s.pair), s.apart, s.crossed)

    @classmethod
    def every(cls, factors: int) -> list[Way]:
        """The ways of this number of factors, for arrays in any layout."""
        counts = range(1, factors + 1)
        found = [cls(*way) for way in itertools.product((STAYS, LIES), counts, (1, PAIR), (False, True))]
        crossed = itertools.product((STAYS, LIES), counts[1:], (1,), (True,), (True,))
        return found + [cls(*way) for way in crossed]


def the_sum(p: Program) -> Sum:
    """The statement. Raises Unable."""
    wanted = f"a single product of 1 to {FACTORS} arrays"
    s, term = only_term(p, wanted)
    if not 1 <= len(term.factors) <= FACTORS:
        raise Unable(wanted)
    return Sum(term.number, s.add, s.out, term.factors)


def swept(p: Program, n: int, strides=None) -> Sweep:
    """The loops for n entries. strides: of arrays, in bytes; the others are contiguous. Raises Unable."""
    stated = the_sum(p)
    references = (stated.out, *stated.factors)
    sizes = {**p.sizes, p.batch: n} if p.batch else p.sizes
    known, size = strides or {}, np.dtype(p.dtype).itemsize
    steps = [_steps(r, known[r.name], size) if r.name in known else steps_between(p, r, n) for r in references]

    loops, last = _in_order(sizes, steps, references, p.batch)
    loops, pair = (loops, ()) if last == p.batch else _paired(loops)
    kind = _kind(loops[-1], turns(pair))

    if kind is None and strides is not None:
        loops = (*loops, Loop(1, (0,) * len(references)))  # an output with gaps: runs of one number
        kind = STAYS

    if kind is None:
        raise Unable("an output that stays, or lies beside the factors, along the last index of the largest array")

    others, run = loops[:-1], loops[-1]
    across = None if pair else _across(loops, np.dtype(p.dtype).itemsize)
    if across is not None:
        others = (*others[: across.loop], *others[across.loop + 1 :], others[across.loop])
    row = len(others) - 1 if across is not None else _row(others, kind)

    if row is None:
        row = len(others)
        others = (*others, Loop(1, (0,) * len(references)))

    if len(others) >= LOOPS:
        raise Unable(f"{LOOPS} loops at most")

    goes = [any(loop.step[1 + f] for loop in (run, *pair)) for f in range(len(stated.factors))]
    crossed = across.factor if across is not None else None
    order = sorted(range(len(goes)), key=lambda f: (not goes[f], f == crossed))
    return Sweep((*others, run), row, kind, tuple(order), sum(goes), pair, crossed is not None)


def _steps(r: Reference, strides, size: int) -> dict[str, int]:
    """Step of each index of an array, in numbers of a size: of an index that stands twice, of the diagonal."""
    found = dict.fromkeys(r.indices, 0)
    for index, stride in zip(r.indices, strides):
        found[index] += stride // size
    return found


def _paired(loops) -> tuple[tuple[Loop, ...], tuple[Loop, ...]]:
    """(loops, the loop of a pair): the last loop, if two numbers of the output lie side by side there, and pairs are
    summed or follow each other. It is no loop over a batch, whose extent must not change the order of a sum."""
    *others, last = loops
    lies = last.extent == PAIR and last.step[OUT] == 1 and set(last.step) <= {0, 1}
    if lies and others and others[-1].step[OUT] in (0, PAIR):
        return tuple(others), (last,)
    return loops, ()


def _in_order(sizes, steps, references, batch: str | None) -> tuple[tuple[Loop, ...], str]:
    """The loops in the order of the largest array, joined where all arrays go through two as through one, and the last
    index. Raises Unable where that array is used more than once.

    The order of a sum, so its bits, does not depend on the number of entries: a batch of 1 has a loop, too.
    """
    # The largest array; of equal ones the output.
    largest = max(range(len(steps)), key=lambda k: (math.prod(sizes[i] for i in steps[k]), len(steps[k])))
    own = references[largest].indices
    indices = [i for i in own if sizes[i] != 1 or i == batch] or own[:1]
    needed = {i for steps_ in steps for i in steps_ if sizes[i] != 1}
    if not indices or not needed <= set(indices):
        raise Unable("an array with all indices, each number of which is used once")

    ordered = sorted(dict.fromkeys(indices), key=lambda index: -abs(steps[largest][index]))
    return merged([Loop(sizes[i], tuple(own.get(i, 0) for own in steps)) for i in ordered]), ordered[-1]


def _kind(run: Loop, width: int) -> int | None:
    """STAYS or LIES; None where the numbers of a run lie apart in the output. width: numbers of a turn."""
    return {0: STAYS, width: LIES}.get(run.step[OUT])


class Across(NamedTuple):
    """A factor that lies across the runs."""

    factor: int
    loop: int  # along which its numbers lie side by side


def _across(loops, size: int) -> Across | None:
    """The only factor whose numbers lie apart along a run, if they lie side by side along another loop, and the others'
    along the run. None: there is none, or a run is shorter than a pack."""
    *others, run = loops
    apart = [f for f, step in enumerate(run.step[1:]) if step not in (0, 1)]
    beside = any(step == 1 for step in run.step[1:])
    if len(apart) != 1 or not beside or run.extent * size < cpu.vector_bytes(cpu.target()):
        return None

    (factor,) = apart
    places = [place for place, loop in enumerate(others) if loop.step[1 + factor] == 1]
    return Across(factor, places[0]) if places else None


def _row(others, kind: int) -> int | None:
    """Place of the loop whose runs are worked on together: of a sum, the last one; else the last loop. None: there is
    none."""
    if kind != LIES:
        return len(others) - 1 if others else None
    return max((place for place, loop in enumerate(others) if not loop.step[OUT]), default=None)


# ---- the organisation -----------------------------------------------------------------------------------------------


def members(factors: int) -> str:
    """Members of the record of arguments. factors: how many there are."""
    addresses = " ".join(f"x{f}:address" for f in range(factors))
    return (
        f"out:address {addresses} number:real loops:whole row:whole adds:whole past:whole together:whole split:whole "
        f"second:whole:{factors} extent:whole:{LOOPS} "
        f"step:whole:{LOOPS * (factors + 1)}"
    )


@dataclasses.dataclass(frozen=True)
class Sweeps(OnHost):
    """Through the largest array as it lies."""

    NAMES: ClassVar[tuple[str, ...]] = ("sweep",)
    FREE: ClassVar[bool] = True
    STRIDED: ClassVar[bool] = True
    BACKWARDS: ClassVar[bool] = True

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        return [] if cls().serves(p) else [cls()]

    def serves(self, p: Program) -> str:
        try:
            swept(p, library_costs.usual_batch(p))
        except Unable as reason:
            return str(reason)
        return ""

    def price(self, p: Program, least: float = math.inf) -> float:
        """Seconds for a usual batch, in the units of the other organisations: memory, and what a run takes."""
        n = library_costs.usual_batch(p)
        return _seconds(swept(p, n), the_sum(p), p.dtype) / n / library_costs.unit("packs", p)

    def seconds_of_gaps(self, p: Program, arrays, n: int) -> float:
        """Shorter runs, and numbers one by one, which are loaded while memory is waited for."""
        size, contiguous = np.dtype(p.dtype).itemsize, swept(p, n)
        as_they_lie = swept(p, n, {name: array.strides for name, array in arrays.items()})
        runs = _seconds_of_runs(as_they_lie, size) - _seconds_of_runs(contiguous, size)

        alone = 0.0
        if as_they_lie.apart and not contiguous.apart:
            waits = _seconds_of_memory(contiguous, the_sum(p), p.dtype)
            alone = max(turns(as_they_lie.every) * NUMBER - waits, 0.0)

        return runs + alone

    # ---- text and launch
    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source:
        """The source for a usual batch of arrays without gaps."""
        return self._source(p, Way.of(swept(p, library_costs.usual_batch(p))))

    def sources(self, plan) -> list[Source]:
        """The sources of all ways: the layout of the arrays is known only at the launch."""
        p = plan.program
        return [self._source(p, way) for way in Way.every(len(the_sum(p).factors))]

    def _source(self, p: Program, way: Way) -> Source:
        """It depends on the number of factors and the way alone."""
        count = len(the_sum(p).factors)
        factors = ", ".join(f"(const scalar *)a.x{f}" for f in range(count))
        lines = [
            *(["#define FRAME_SINGLE"] if p.dtype == "float32" else []),
            '#include "engine/numbers/pack.h"',
            f"#define SWEEP_FACTORS {factors}",
            f"constexpr int FACTORS = {count}, LOOPS = {LOOPS}, TOGETHER = {TOGETHER};",
            f"#define SWEEP_KIND {('STAYS', 'LIES')[way.kind]}",
            f"constexpr int SWEEP_ALONG = {way.along}, SWEEP_WIDTH = {way.width};",
            f"constexpr bool SWEEP_APART = {str(way.apart).lower()}, SWEEP_CROSSED = {str(way.crossed).lower()};",
            structure("Arguments", members(count)),
            '#include "contractions/sweep_packs.h"',
            "",
        ]
        name, text = f"tensor-sweep-{count}", "\n".join(lines)
        return Source(name, text, entry="contraction", title="sweep", spelled_vectors=True)

    def launch_of(self, plan, arrays, values, n: int) -> Launch:
        strides = {a.name: arrays[a.name].strides for a in plan.program.arguments}
        on_line = values[f"at_{the_sum(plan.program).out.name}"] % LINE == 0
        key = "launch", self, n, tuple(strides.values()), on_line
        return plan.kept(key, functools.partial(self._work, plan, strides, n, on_line))

    def _work(self, plan, strides, n: int, on_line: bool) -> Launch:
        """The launch for n entries, without addresses. Raises VariantUnsuitable."""
        p = plan.program
        try:
            s = swept(p, max(n, 1), strides)
        except Unable as reason:
            raise VariantUnsuitable(f"'{self.name}': wanted {reason}.") from None

        stated, size = the_sum(p), np.dtype(p.dtype).itemsize
        held = _record(s, stated, size)
        if not on_line:
            held["past"] = 0  # no line would be written as a whole
        addresses = [("out", stated.out.name)]
        addresses += [(f"x{place}", stated.factors[f].name) for place, f in enumerate(s.factors)]
        parts = _parts(s, plan.backend.threads, size) if n else 0
        module = _module(plan.backend, self._source(p, Way.of(s)))
        return Launch(module, held, tuple(addresses), parts, title=p.title)

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        return {}


def _record(s: Sweep, stated: Sum, size: int) -> np.ndarray:
    """The arguments of a launch but for the arrays' addresses. size: bytes of a number."""
    held = record(
        members(len(stated.factors)),
        number=stated.number,
        loops=len(s.loops),
        row=s.row,
        adds=stated.adds,
        past=_past(s, stated, size),
        together=_together(s, size),
        split=_split(s),
    )

    arrays = (*(1 + f for f in s.factors), OUT)
    for loop in s.pair:
        held["second"][0, :] = [loop.step[k] for k in arrays[:-1]]

    for place, loop in enumerate(s.loops):
        held["extent"][0, place] = loop.extent
        for k, array in enumerate(arrays):
            held["step"][0, k * LOOPS + place] = loop.step[array]

    return held


def _past(s: Sweep, stated: Sum, size: int) -> bool:
    """Whether the output bypasses the caches: it is larger than they are, written once, and in whole lines."""
    if s.kind != LIES or stated.adds or any(not loop.step[OUT] and loop.extent > 1 for loop in s.loops):
        return False
    on_lines = all(loop.step[OUT] * size % LINE == 0 for loop in s.loops[:-1])
    return on_lines and library_costs.streamed(turns(s.every) * size, _held(s, size))


def _held(s: Sweep, size: int) -> int:
    """Bytes of all arrays."""
    arrays = range(1 + len(s.factors))
    return size * sum(math.prod(loop.extent for loop in s.every if loop.step[k]) for k in arrays)


def _parts(s: Sweep, threads: int, size: int) -> int:
    """Parts that threads work on: as many turns of the shared loop as a cache line has numbers, or more. size: bytes of
    a number."""
    shared = s.loops[_split(s)]
    if not shared.step[OUT] or turns(s.loops) < SHARED:
        return 1
    return min(threads, -(-shared.extent * size // LINE))


def _split(s: Sweep) -> int:
    """Place of the loop that threads share: the first one with outputs of its own; 0 if there is none."""
    return next((place for place, loop in enumerate(s.loops) if loop.step[OUT]), 0)


def _is_held(s: Sweep, size: int) -> bool:
    """Whether the sums of runs stay in registers: those of a short output."""
    row = s.loops[s.row]
    short = _pieces(s, size) <= MOST_PIECES
    return s.kind == LIES and short and not s.apart and s.row + 2 == len(s.loops) and not row.step[OUT]


def _pieces(s: Sweep, size: int) -> int:
    """Pieces of a run whose sums stay in registers."""
    run = turns((s.loops[-1], *s.pair)) * size
    return -(-run // (MOST_HELD * cpu.vector_bytes(cpu.target())))


def _seconds(s: Sweep, stated: Sum, dtype: str) -> float:
    """Seconds of a statement."""
    apart = turns(s.every) * (CROSSED if s.crossed else NUMBER) if s.apart else 0.0
    runs = _seconds_of_runs(s, np.dtype(dtype).itemsize)
    return CALL + _seconds_of_memory(s, stated, dtype) + runs + apart


def _seconds_of_memory(s: Sweep, stated: Sum, dtype: str) -> float:
    """Seconds of all arrays alone."""
    size = np.dtype(dtype).itemsize
    written = size * math.prod(loop.extent for loop in s.every if loop.step[OUT])
    held, past = _held(s, size), _past(s, stated, size)

    moved: float = held - written if past else held + written
    moved += _read_again(s, size)
    memory = moved / library_costs.pace("packs", dtype, held)
    return memory + (written / library_costs.rates("packs", dtype).memory if past else 0.0)


def _read_again(s: Sweep, size: int) -> float:
    """Bytes that come from a large, slow last cache once more: a run of all arrays is larger than the second cache,
    which has lost a factor, or the output, when the next run wants it."""
    lie = [k for k in range(1 + len(s.factors)) if s.loops[-1].step[k]]
    run = size * turns((s.loops[-1], *s.pair))
    if not host_rates.has_large_cache() or len(lie) * run <= cpu.second_cache():
        return 0.0

    found = 0.0
    for k in lie:
        own = math.prod(loop.extent for loop in s.loops[:-1] if loop.step[k])
        again: float = s.runs - own
        if k == OUT:
            again = 2 * max(s.runs / _together(s, size) - own, 0)
        found += run * again

    return found


def _seconds_of_runs(s: Sweep, size: int) -> float:
    """Seconds of all runs, beside their numbers. size: bytes of a number."""
    row = s.loops[s.row].extent
    if s.kind == LIES and _is_held(s, size):
        pieces = _pieces(s, size)
        held = row if pieces == 1 else min(row, HELD_ROWS)
        return s.runs * pieces * (HELD + LEFT / held)

    if s.kind == LIES:
        times, own = s.runs / _together(s, size), turns(loop for loop in s.loops[:-1] if loop.step[OUT])
        run = size * turns((s.loops[-1], *s.pair))
        return times * ADDED + s.runs * BEGUN + max(times - own, 0) * run * AGAIN * library_costs.cached(_held(s, size))

    lanes = cpu.vector_bytes(cpu.target()) // size
    run = turns((s.loops[-1], *s.pair))
    rest = run % lanes if s.apart or run < lanes else min(run % lanes, 1)  # a pack has what is left over
    folded = s.runs / row * -(-row // lanes) * FOLDED * lanes / 8
    return s.runs * (SUMMED + rest * REST) + folded


def _together(s: Sweep, size: int) -> int:
    """Runs of a sum that are added together. Short runs that follow each other in memory are added one by one: together
    they would be read out of order."""
    run, row = s.loops[-1], s.loops[s.row]
    if s.kind != LIES or row.extent < TOGETHER:
        return 1
    follows = row.step[1 + s.factors[0]] == run.extent
    return 1 if follows and run.extent * size < SHORT else TOGETHER


@functools.lru_cache(None)
def _module(backend, source: Source):
    """The compiled source of a way, which all its plans share."""
    return backend.compile(source)
