"""The rival libxsmm for a product of two tensors: products of small matrices, made when they are asked for.

The product is folded to matrix products as the layer's own library organisation does (kernels/contractions/fold.py).
libxsmm then does what its users do: a kernel for each shape, called for each turn of the outer loops from C; larger
matrices are cut into tiles. Arrays that have to be copied to another order are copied by the layer's own copies. Ways
and packings are tried on the arrays, and the fastest is timed: the rival has its own search, ours has a model.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import pathlib
import time
from typing import NamedTuple

from kernels.contractions import fold, permute
from kernels.contractions.fold import LEFT, OUT, RIGHT, Axis, Way
from kernels.contractions.organisations import library_costs
from kernels.contractions.plan import Unable
from kernels.engine.backend.base import Shape, Source
from kernels.engine.backend.record import record, structure

from ...errors import BackendError

HERE = pathlib.Path(__file__).resolve().parent
LOOPS = 8  # of a product, and of its sums
STEPS = ("extent", "out_step", "first_step", "second_step")
SUM_STEPS = ("sum_extent", "sum_out", "sum_first", "sum_second")
MEMBERS = " ".join(
    [
        "out:address first:address second:address scratch:address m:whole n:whole k:whole",
        "out_ld:whole first_ld:whole second_ld:whole first_turned:whole second_turned:whole",
        "pack_first:whole pack_second:whole loops:whole sums:whole sum_turns:whole",
        *(f"{name}:whole:{LOOPS}" for name in (*STEPS, *SUM_STEPS)),
    ]
)
LIBRARIES = ("xsmm", "xsmmnoblas", "dl", "m", "pthread")
TILE, DEPTH = 64, 256  # of xsmm_products.h: rows and columns of a tile, terms of its sum
BLOCK = 4 * TILE  # rows of the first factor that are packed at a time
TRIED = 6  # ways, the best by the library's model
BUDGET = 8.0  # seconds of trials, beside the first two


class Operand(NamedTuple):
    """How libxsmm, which counts columns first, reads a factor or writes the output."""

    turned: bool  # rows lie side by side, not columns
    ld: int  # numbers from line to line


@dataclasses.dataclass(frozen=True)
class Columns:
    """A way in libxsmm's order: the output's columns run along memory."""

    way: Way
    exchanged: bool  # the first factor is the right one
    m: Axis
    n: Axis
    out: Operand
    first: Operand
    second: Operand

    def packings(self) -> list[tuple[bool, bool]]:
        """(first, second) to try: a first factor that is turned has to be packed, others may be beyond a tile."""
        firsts = [False, True] if self.n.extent > TILE else [False]
        if self.first.turned:
            firsts = [True]
        seconds = [False, True] if self.m.extent > TILE else [False]
        return list(itertools.product(firsts, seconds))


def columns(way: Way) -> Columns | None:
    """A way as libxsmm can do it; None where it cannot."""
    for exchanged in (False, True):
        m, n = (way.n, way.m) if exchanged else (way.m, way.n)
        first, second = (RIGHT, LEFT) if exchanged else (LEFT, RIGHT)
        out, left, right = operand(m, n, OUT), operand(m, way.k, first), operand(way.k, n, second)
        if out and left and right and not out.turned:
            return Columns(way, exchanged, m, n, out, left, right)
    return None


def operand(rows: Axis, across: Axis, array: int) -> Operand | None:
    """A matrix of an array; None if neither its rows nor its columns run along memory."""
    for turned, fast, slow in ((False, rows, across), (True, across, rows)):
        if fast.extent == 1 or fast.step[array] == 1:
            ld = slow.step[array] if slow.extent > 1 else fast.extent
            if ld >= fast.extent:
                return Operand(turned, ld)
    return None


class Product:
    """out = left right of a program's only statement, by libxsmm. Raises BackendError where it is not served."""

    def __init__(self, plan, arrays, out, entries: int):
        self.backend, self.dtype = plan.backend, plan.dtype
        self.arrays = [out, *self._factors(plan, arrays)]
        self.module = plan.backend.compile(source(plan.dtype.name))
        self.folded = self._folded(plan, entries)

    @staticmethod
    def _factors(plan, arrays) -> list:
        """The two arrays of the only term."""
        statements = plan.expression.statements
        terms = statements[0].terms
        if len(statements) != 1 or len(terms) != 1 or len(terms[0].factors) != 2 or terms[0].number != 1.0:
            raise BackendError("libxsmm: wanted a single product of two arrays.")
        return [arrays[factor.name] for factor in terms[0].factors]

    @staticmethod
    def _folded(plan, entries: int) -> fold.Fold:
        (statement,) = plan.expression.statements
        sizes = plan.program.sizes | ({plan.program.batch: entries} if plan.program.batch else {})
        steps = [fold.dense(r.indices, sizes) for r in (statement.out, *statement.terms[0].factors)]
        try:
            return fold.fold(sizes, *steps)
        except Unable as reason:
            raise BackendError(f"libxsmm: wanted {reason}.") from None

    def fastest(self):
        """run() of the fastest way and packing, by a trial of each."""
        began = time.perf_counter()
        best, least = None, math.inf
        for count, (found, packing) in enumerate(self._candidates()):
            if count > 1 and time.perf_counter() - began > BUDGET:
                break
            run = self._bound(found, *packing)
            seconds = min(_took(run), _took(run)) if count < 2 or least < BUDGET / 20 else _took(run)
            if seconds < least:
                best, least = run, seconds

        if best is None:
            raise BackendError("libxsmm: no way to fold the product.")
        return best

    def _candidates(self):
        """(way, packing) with those first that the library's model finds fast."""
        found = [each for each in map(columns, fold.ways(self.folded)) if each and fits(each.way)]
        found.sort(key=lambda each: library_costs.seconds("packs", self.dtype.name, each.way))
        for each in found[:TRIED]:
            for packing in each.packings():
                yield each, packing

    # ---- a way
    def _bound(self, found: Columns, pack_first: bool, pack_second: bool):
        """run() of copies, products, and the output's copy."""
        way, size = found.way, self.dtype.itemsize
        addresses = [self.backend.address(array) for array in self.arrays]

        copies = []
        worked = list(addresses)
        for array in (OUT, LEFT, RIGHT):
            if way.copied[array]:
                copy = self.backend.empty((math.prod(move.extent for move in way.copies[array]),), self.dtype)
                worked[array] = self.backend.address(copy)
                copies.append(copy)

        runs = []
        for array in (LEFT, RIGHT):
            if way.copied[array]:
                runs.append(self._copy(way.copies[array], addresses[array], worked[array]))
        runs.append(self._products(found, worked, pack_first, pack_second, copies))
        if way.copied[OUT]:
            back = [fold.Move(move.extent, move.target, move.source) for move in way.copies[OUT]]
            runs.append(self._copy(back, worked[OUT], addresses[OUT]))

        def run(held=(copies, size)):
            for each in runs:
                each()

        return run

    def _copy(self, moves, source_, target):
        return permute.bound(self.backend, self.dtype.name, moves, source_, target, keep=self.arrays)

    def _products(self, found: Columns, worked, pack_first: bool, pack_second: bool, keep):
        """run() of the products alone. worked: addresses of out, left and right."""
        way = found.way
        scratch = self.backend.empty((BLOCK * DEPTH + -(-found.n.extent // TILE) * TILE * DEPTH,), self.dtype)
        second = LEFT if found.exchanged else RIGHT
        order = (OUT, LEFT + RIGHT - second, second)

        held = record(MEMBERS, m=found.m.extent, n=found.n.extent, k=way.k.extent)
        held["out"], held["first"], held["second"] = (worked[array] for array in order)
        held["scratch"] = self.backend.address(scratch)
        held["out_ld"], held["first_ld"], held["second_ld"] = found.out.ld, found.first.ld, found.second.ld
        held["first_turned"], held["second_turned"] = found.first.turned, found.second.turned
        held["pack_first"], held["pack_second"] = pack_first, pack_second
        held["loops"], held["sums"] = len(way.loops), len(way.sums)
        held["sum_turns"] = math.prod(axis.extent for axis in way.sums)
        for names, axes in ((STEPS, way.loops), (SUM_STEPS, way.sums)):
            for d, axis in enumerate(axes):
                steps = (axis.extent, *(axis.step[array] for array in order))
                for name, step in zip(names, steps):
                    held[name][0, d] = step

        run = self.module.bind("xsmm_products", Shape(), held, keep=(scratch, keep, *self.arrays))
        turns = math.prod(axis.extent for axis in way.loops)
        return lambda: run(turns)


def fits(way: Way) -> bool:
    """Whether a way has room in the record."""
    return len(way.loops) <= LOOPS and len(way.sums) <= LOOPS


def source(dtype: str) -> Source:
    """The driver in C for a type."""
    letter, scalar = {"float64": ("d", "double"), "float32": ("s", "float")}[dtype]
    lines = [
        f"#define NUMBER {scalar}",
        f"#define PRECISION {letter}mm",
        f"#define DISPATCH libxsmm_{letter}mmdispatch",
        structure("Arguments", MEMBERS),
        f'#include "{HERE / "xsmm_products.h"}"',
    ]
    return Source("xsmm-products", "\n".join([*lines, ""]), libraries=LIBRARIES)


def _took(run) -> float:
    begin = time.thread_time()
    run()
    return time.thread_time() - begin
