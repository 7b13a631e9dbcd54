"""A product of two tensors on CPU vector units, in blocks for two caches, whatever the order of the indices
(direct_packs.h)."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import ClassVar, NamedTuple

import numpy as np

from ...engine.backend.base import Shape, Source
from ...engine.backend.record import record, structure
from ...engine.errors import VariantUnsuitable
from ..fold import LEFT, OUT, RIGHT, Axis, Fold
from ..plan import Program, Unable
from . import library_costs
from .base import Organisation
from .direct import folded, product

LOOPS = 16  # outer loops of a product, at most
LINES = 1 << 13  # rows or columns of a table; slower axes become outer loops
MOST_LINES = 1 << 18  # of a table that has no more than the axes along which the arrays run
PACK = 64  # bytes of the widest vector units, and of a cache line
PACKS, COLUMNS = 3, 8  # of a panel of the widest vector units

TABLES = ("row_left", "row_out", "column_right", "column_out", "term_left", "term_right")
MEMBERS = " ".join(
    [
        "out:address left:address right:address scratch:address",
        *(f"{name}:address" for name in TABLES),
        "rows:whole columns:whole terms:whole number:real loops:whole",
        *(f"{name}:whole:{LOOPS}" for name in ("extent", "out_step", "left_step", "right_step")),
    ]
)
SCALARS = {"float64": "double", "float32": "float"}


class Rates(NamedTuple):
    """Of products by packs on a core."""

    flops: float  # a second, of panels that are packed
    pack: float  # seconds of a number of a factor that is packed along its run
    gather: float  # the same where neighbours of a pack lie apart
    leave: float  # seconds of a number of the output
    scatter: float  # the same where neighbours of a pack lie apart
    memory: float  # bytes a second
    call: float  # seconds


# Fitted to `python -m frame bench tccg --backend cpu --mib 20 --dtype both --ours all`, AVX-512, 2026-11-26.
# On the EPYC of benchmarks/results/tccg-epyc.json, which other work shared, they give 1.05 to 1.36 times the seconds.
RATES = {
    "float64": Rates(flops=5.2e10, pack=1e-9, gather=1.1e-9, leave=2.3e-10, scatter=1.3e-9, memory=1.2e10, call=2e-6),
    "float32": Rates(flops=1e11, pack=3.3e-10, gather=5.2e-10, leave=1.1e-10, scatter=2.4e-9, memory=1.2e10, call=2e-6),
}
BROKEN = 4  # neighbours that lie apart make so many others as slow


# ---- the tables of a product ----------------------------------------------------------------------------------------


class Lines(NamedTuple):
    """Rows, columns or terms of the sum: where each lies in the two arrays that have it."""

    first: np.ndarray  # int64
    second: np.ndarray

    @property
    def size(self) -> int:
        return self.first.size

    def together(self, array: int) -> float:
        """The share of neighbours that lie side by side in the first (0) or second (1) array."""
        if self.size < 2:
            return 1.0
        return float(np.mean(np.diff(self[array]) == 1))


class Tables(NamedTuple):
    """A product as direct_packs.h reads it."""

    rows: Lines  # in left, in out
    columns: Lines  # in right, in out
    terms: Lines  # in left, in right
    loops: tuple[Axis, ...]  # outer, the slowest first

    @property
    def turns(self) -> int:
        return math.prod(axis.extent for axis in self.loops)


def tables(f: Fold, size: int) -> Tables:
    """The tables of a product. size: bytes of a number. Raises Unable for too many outer loops."""
    rows, slow_rows = _inner(f.m, LEFT)
    columns, slow_columns = _inner(f.n, RIGHT)

    loops = tuple(sorted((*f.batch, *slow_rows, *slow_columns), key=lambda axis: -abs(axis.step[OUT])))
    if len(loops) > LOOPS:
        raise Unable(f"{LOOPS} outer loops at most")

    # Packs of rows are whole in the larger array that runs along them.
    along = [array for array in (OUT, LEFT) if any(axis.step[array] == 1 for axis in rows)]
    whole = max(along or [OUT], key=f.numbers)
    lanes = PACK // size
    return Tables(
        _lines(rows, (LEFT, OUT), whole, lanes),
        _lines(columns, (RIGHT, OUT), RIGHT, lanes),
        _lines(f.k, (LEFT, RIGHT), LEFT, lanes),
        loops,
    )


def _inner(axes: tuple[Axis, ...], factor: int) -> tuple[list[Axis], list[Axis]]:
    """(axes of a table, slower axes). The axes along which the output and the factor run come first."""

    def runs(axis: Axis) -> bool:
        return 1 in (axis.step[OUT], axis.step[factor])

    ordered = sorted(axes, key=lambda axis: (not runs(axis), abs(axis.step[OUT])))

    count, taken = 1, 0
    for axis in ordered:
        count *= axis.extent
        if taken and count > (MOST_LINES if runs(axis) else LINES):
            break
        taken += 1

    return ordered[:taken], ordered[taken:]


def _lines(axes, arrays: tuple[int, int], whole: int, lanes: int) -> Lines:
    """The table of a group, for the two arrays that have it.

    Where the arrays run along different axes, pieces of both axes come together: `lanes` numbers of the one axis for
    each of `lanes` numbers of the other. So packs are whole in the array `whole`, and cache lines are used up in the
    other. Pieces follow in the order of the second array.
    """
    if not axes:
        zero = np.zeros(1, np.int64)
        return Lines(zero, zero)

    turns = dict(zip(axes, np.indices([axis.extent for axis in axes]).reshape(len(axes), -1)))
    pieced = [axis for axis in axes if 1 in (axis.step[arrays[0]], axis.step[arrays[1]])]

    # Keys of the order, the fastest first.
    inside = [turns[axis] % lanes for axis in sorted(pieced, key=lambda axis: abs(axis.step[whole]))]
    outside = []
    for axis in sorted(axes, key=lambda axis: abs(axis.step[arrays[1]])):
        outside.append(turns[axis] // lanes if axis in pieced else turns[axis])
    order = np.lexsort([*inside, *outside])

    places = []
    for array in arrays:
        place = sum(turn * axis.step[array] for axis, turn in turns.items())
        places.append(np.ascontiguousarray(place[order], np.int64))

    return Lines(*places)


def along_rows(f: Fold) -> Fold:
    """The product with its factors in the order in which the output runs along the rows."""
    runs = {name: min((abs(axis.step[OUT]) for axis in f.group(name)), default=math.inf) for name in ("m", "n")}
    return _exchanged(f) if runs["n"] < runs["m"] else f


def _exchanged(f: Fold) -> Fold:
    """The product with its factors exchanged."""

    def exchanged(axes):
        return tuple(axis._replace(step=(axis.step[OUT], axis.step[RIGHT], axis.step[LEFT])) for axis in axes)

    out, left, right = f.steps
    m, n, k, batch = map(exchanged, (f.n, f.m, f.k, f.batch))
    return Fold(m, n, k, batch, f.extents, (out, right, left))


# ---- the organisation -----------------------------------------------------------------------------------------------


class Work(NamedTuple):
    """What binds have in common whose arrays differ in their places alone."""

    items: int  # blocks of rows, for each turn of the outer loops
    exchanged: bool  # the left factor of the blocks is the text's right one
    held: np.ndarray  # the record of arguments without the arrays' addresses
    kept: tuple  # arrays whose addresses the record has


@dataclasses.dataclass(frozen=True)
class HostDirect(Organisation):
    """Blocks of rows, packed for two caches through tables of places."""

    NAMES: ClassVar[tuple[str, ...]] = ("direct",)
    FREE: ClassVar[bool] = True

    rows: int = 384  # of a block, a multiple of 48: the panels of all vector units fit in
    depth: int = 192  # terms of the sum that are packed at a time

    @property
    def scratch(self) -> int:
        """Numbers of a thread: the packed rows, a panel of columns, the sums of both."""
        return (self.rows + COLUMNS) * self.depth + self.rows * COLUMNS

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        how = cls()
        return [] if how.serves(p) else [how]

    def serves(self, p: Program) -> str:
        if p.dtype not in SCALARS:
            return f"numbers of {' or '.join(SCALARS)}"
        try:
            tables(along_rows(folded(p, 2)), np.dtype(p.dtype).itemsize)
        except Unable as reason:
            return str(reason)
        return ""

    def price(self, p: Program, least: float = math.inf) -> float:
        """Seconds for a usual batch, in the units of the other organisations."""
        n = library_costs.usual_batch(p)
        return self.seconds(along_rows(folded(p, n)), p.dtype) / n / library_costs.unit("packs", p)

    def seconds(self, f: Fold, dtype: str) -> float:
        """Of a product, by RATES: panels of whole packs, the packing of both factors, the output."""
        r, size = RATES[dtype], np.dtype(dtype).itemsize
        t = tables(f, size)
        m, n, k = t.rows.size, t.columns.size, t.terms.size

        arithmetic = 2.0 * _whole(m, PACKS * PACK // size) * _whole(n, COLUMNS) * k / r.flops
        blocks, deep = -(-m // self.rows), -(-k // self.depth)
        packing = m * k * _mixed(r.pack, r.gather, t.rows.together(0))
        packing += blocks * n * k * _mixed(r.pack, r.gather, t.columns.together(0))
        leaving = m * n * deep * _mixed(r.leave, r.scatter, t.rows.together(1))

        worked = t.turns * (arithmetic + packing + leaving)
        moved = size * sum(f.numbers(array) for array in (OUT, LEFT, RIGHT)) / r.memory
        return r.call + max(worked, moved)

    # ---- text and launch
    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source:
        """The source: it depends on neither extents nor indices."""
        lines = [
            f"#define SCALAR {SCALARS[p.dtype]}",
            f"constexpr int ROWS = {self.rows};",
            f"constexpr int DEPTH = {self.depth};",
            f"constexpr bool ADDS = {str(product(p).adds).lower()};",
        ]
        text = "\n".join([*lines, structure("Arguments", MEMBERS), '#include "contractions/direct_packs.h"', ""])
        return Source("tensor-direct", text, quick=quick, entry="contraction", title="direct")

    def launch(self, plan, arrays, values, n: int):
        p = plan.program
        addresses = [values[f"at_{r.name}"] for r in product(p).references]
        steps = tuple((values[f"step_{a.name}"], values[f"ld_{a.name}"]) for a in p.arguments)
        work = plan.kept(("work", self, n, steps), functools.partial(self._work, plan, values, n))

        out, left, right = addresses
        if work.exchanged:
            left, right = right, left

        held = work.held.copy()
        held["out"], held["left"], held["right"] = out, left, right
        run = _module(plan.backend, self.render(p, quick=plan.quick)).bind(
            "contraction", Shape(), held, keep=(*arrays.values(), *work.kept)
        )

        return functools.partial(run, work.items if n else 0)

    def _work(self, plan, values, n: int) -> Work:
        """What launches for n entries have in common, wherever the arrays begin. Raises VariantUnsuitable."""
        p = plan.program
        as_told = folded(p, max(n, 1), values)
        f = along_rows(as_told)
        try:
            t = tables(f, np.dtype(p.dtype).itemsize)
        except Unable as reason:
            raise VariantUnsuitable(f"'{self.name}': wanted {reason}.") from None

        # The scratch of each thread, and the tables.
        numbers = plan.backend.threads * self.scratch + PACK
        scratch = np.empty(numbers, p.dtype)
        lists = (*t.rows, *t.columns, *t.terms)

        held = record(MEMBERS, number=product(p).number, loops=len(t.loops))
        held["scratch"] = -(-scratch.ctypes.data // PACK) * PACK
        held["rows"], held["columns"], held["terms"] = t.rows.size, t.columns.size, t.terms.size
        for name, lines in zip(TABLES, lists):
            held[name] = lines.ctypes.data
        for d, axis in enumerate(t.loops):
            held["extent"][0, d] = axis.extent
            for name, step in zip(("out_step", "left_step", "right_step"), axis.step):
                held[name][0, d] = step

        items = -(-t.rows.size // self.rows) * t.turns
        return Work(items, f is not as_told, held, (scratch, *lists))

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        return {"rows": (96, 192, 384, 768), "depth": (64, 128, 192, 256, 384)}


@functools.lru_cache(None)
def _module(backend, source: Source):
    """One for all plans: the source does not depend on them."""
    return backend.compile(source)


def _whole(count: int, of: int) -> int:
    """A count rounded up to a multiple."""
    return -(-count // of) * of


def _mixed(near: float, apart: float, share: float) -> float:
    """Seconds of a number, if this share of neighbours lies side by side."""
    slow = min(BROKEN * (1 - share), 1.0)
    return (1 - slow) * near + slow * apart
