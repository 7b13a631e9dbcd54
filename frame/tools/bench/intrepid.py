"""`bench intrepid`: Intrepid's nine contractions by every method, over contraction sizes and memory sizes.

Source: "Parallelizing Intrepid tensor contractions using Kokkos", clinic report for Sandia, 2015: surfaces of the
speedup over serial code (Figures 3.1 to 3.27), raw times of all methods (Figures 3.22 and 3.23), the same algorithm in
CUDA and OpenMP (Figures 4.1 and 4.2). Fields: 10 on each side, as in Figure 3.16; D1 = D2 = 3.

Methods: serial C; OpenMP by hand, parallel over cells; the team kernels of examples/hierarchy/contractions9.py, which
are the published ways; CUDA by hand (examples/hierarchy/by_hand.cu); the layer's choice; einsum of NumPy or CuPy. The
report's serial code is C++, here it is C of the same loops. Values are checked first; all run in turns.

The host's clock counts for C, and for everything on a CPU; on a GPU the device's, after a run that warmed up.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import importlib
import math
import os
import statistics
import sys
from typing import Any

import numpy as np

from kernels import Contraction, get_backend
from kernels.contractions import intrepid as nine
from kernels.engine.errors import FrameError as KernelError

from ...errors import BackendError, FrameError, refuse
from ...shipped import ROOT
from .. import tables
from ..progress import clear, progress
from . import options, plain_c, report
from .clocks import FAR_OFF, DeviceClock, host_seconds, in_turns

EXERCISES = ROOT / "examples" / "hierarchy"
FIELDS, DIMENSIONS = 10, 3
POINTS, MEMORY = (8, 32, 128, 512), (1, 10, 100)
SERIAL, OPENMP, LAYER, EINSUM = "serial C", "OpenMP by hand", "layer", "einsum"
BY_HAND = {"CUDA flat by hand": "flat", "CUDA slicing by hand": "slicing"}
ROUNDS = 3
THREADS = 256  # of a block of CUDA by hand
MOST_SHARED = 48 * 1024  # bytes, without asking the driver for more


@dataclasses.dataclass(frozen=True)
class Case:
    """A contraction at a contraction size and a memory size. Arrays as exercise 20 has them: left(C,L,K), right(C,R,K),
    out(C,L,R), where data has one field."""

    name: str  # of nine.NAMES
    points: int
    megabytes: float

    @property
    def rank(self) -> int:
        """Dimensions of the numbers at a point."""
        return ("Scalar", "Vector", "Tensor").index(self.name[-6:])

    @property
    def left(self) -> int:
        """Fields of the left array."""
        return FIELDS if "FieldField" in self.name else 1

    @property
    def right(self) -> int:
        """Fields of the right array."""
        return 1 if "DataData" in self.name else FIELDS

    @property
    def terms(self) -> int:
        """Terms of a sum: the contraction size."""
        return self.points * DIMENSIONS**self.rank

    @property
    def cells(self) -> int:
        """As many as the memory holds."""
        numbers = (self.left + self.right) * self.terms + self.left * self.right
        return max(1, int(self.megabytes * 1e6 / (8 * numbers)))

    @property
    def text(self) -> str:
        """The contraction for arrays in the shapes of exercise 20."""
        return "out[c l r] = left[c l k] right[c r k]; batch c"

    @property
    def sizes(self) -> dict[str, int]:
        """Extents of the text's indices but the batch's."""
        return dict(l=self.left, r=self.right, k=self.terms)

    @property
    def bytes(self) -> int:
        """Bytes of all arrays."""
        return 8 * self.cells * ((self.left + self.right) * self.terms + self.left * self.right)


@dataclasses.dataclass(frozen=True)
class Conditions:
    """How the rows of a run are measured."""

    backend: Any
    rounds: int
    threads: int  # of OpenMP, and of the layer on a CPU
    clock: DeviceClock | None  # None: a CPU
    quick: bool = False  # tests: the compiler's time counts


@functools.lru_cache(None)
def exercise():
    """The module of exercise 20. Raises BackendError outside of a checkout."""
    if not EXERCISES.is_dir():
        raise BackendError(f"{EXERCISES} is not there: the methods are team kernels of the project's examples.")
    sys.path.append(str(EXERCISES))
    return importlib.import_module("contractions9")


# ---- measuring ------------------------------------------------------------------------------------------------------


def measure(case: Case, how: Conditions, told=lambda text: None) -> list[dict]:
    """A row for each method that applies. Raises FrameError for a wrong value."""
    backend = how.backend
    rng = np.random.default_rng(0)
    shapes = dict(left=(case.cells, case.left, case.terms), right=(case.cells, case.right, case.terms))
    host = {name: rng.random(shape) for name, shape in shapes.items()}
    host["out"] = np.full((case.cells, case.left, case.right), np.nan)
    wanted = host["left"] @ host["right"].swapaxes(1, 2)

    # In C, on the host's arrays.
    run = Run(case, how, wanted)
    plan = Contraction(case.text, case.sizes, backend=get_backend("cpu", threads=1))
    loops = plain_c.Loops(plan.program, case.cells, threads=how.threads)
    for method, kind in ((SERIAL, plain_c.SEQUENTIAL), (OPENMP, plain_c.OPENMP)):
        host["out"][...] = np.nan
        run.add(method, plain_c.on_a_host(loops, kind, host), lambda: host["out"], host_seconds)

    # On the backend.
    arrays = {name: backend.from_host(a, a.dtype) for name, a in host.items()}
    clock = how.clock.hot if how.clock else host_seconds
    works = [*_teams(case, how, arrays), *_layer(case, how, arrays)]
    if backend.memory == "device":
        works += _by_hand(case, arrays)
    for method, work in works:
        arrays["out"].fill(math.nan)
        try:
            run.add(method, work(), lambda: backend.to_host(arrays["out"]), clock)
        except (BackendError, KernelError) as error:
            told(f"{case.name}, {method} is left out: {str(error).splitlines()[0]}")

    return run.rows()


class Run:
    """The works of a case, checked one by one, then timed in turns."""

    def __init__(self, case: Case, how: Conditions, wanted: np.ndarray):
        self.case, self.how, self.wanted = case, how, wanted
        self.works: dict[str, tuple] = {}  # method: (work, its clock)
        self.errors: dict[str, float] = {}

    def add(self, method: str, work, out, clock) -> None:
        """A work whose values are right. Raises FrameError."""
        work()
        # Two sums of K positive terms in different orders, each within K eps of its value.
        off = float(np.max(np.abs(out() / self.wanted - 1), initial=0.0))
        bound = 2 * (self.case.terms + 2) * float(np.finfo(float).eps)
        refuse(not off <= bound, f"{self.case.name}, {method}: off by {off:.1e}, wanted {bound:.1e}.", FrameError)
        self.works[method], self.errors[method] = (work, (clock,)), off

    def rows(self) -> list[dict]:
        """Medians of all, in turns."""
        times = in_turns(self.works, self.how.rounds, FAR_OFF)
        median = {method: float(np.median(found)) for method, found in times.items()}
        return [self._row(method, seconds, median[SERIAL]) for method, seconds in median.items()]

    def _row(self, method: str, seconds: float, serial: float) -> dict:
        case, backend = self.case, self.how.backend
        return {
            "bench": "intrepid",
            "case": case.name,
            "points": case.points,
            "terms": case.terms,
            "megabytes": case.megabytes,
            "cells": case.cells,
            "method": method,
            "seconds": seconds,
            "speedup": serial / seconds,
            "bytes_per_s": case.bytes / seconds,
            "max_rel_diff": self.errors[method],
            "threads": self.how.threads if method == OPENMP else backend.threads or 1,
            "backend": str(backend),
            "device": backend.product,
        }


def _teams(case: Case, how: Conditions, arrays):
    """Yields (method, make) of the published ways that apply; make() -> work."""
    d1 = DIMENSIONS if case.rank else 1
    d2 = DIMENSIONS if case.rank == 2 else d1
    d1 = d1 if case.rank == 2 else 1
    sizes = (case.left, case.right, case.terms, d1, d2)
    for method, kernel in exercise().STRATEGIES.items():
        if not exercise().applies(method, *sizes):
            continue
        wanted, numbers = exercise().call_of(method, *sizes, quick=how.quick)
        yield method, functools.partial(kernel.bind, arrays, how.backend, wanted, quick=how.quick, **numbers)


def _layer(case: Case, how: Conditions, arrays):
    """Yields (method, make) of the layer's choice and of einsum."""
    xp, out = how.backend.arrays, arrays["out"]

    def chosen():
        return Contraction(case.text, case.sizes, backend=how.backend, quick=how.quick).bind(arrays, case.cells)

    def library():
        return lambda: out.__setitem__(..., xp.einsum("clk,crk->clr", arrays["left"], arrays["right"], optimize=True))

    yield LAYER, chosen
    yield EINSUM, library


def _by_hand(case: Case, arrays):
    """Yields (method, make) of CUDA by hand."""
    for method, function in BY_HAND.items():
        if function == "slicing" and (case.right == 1 or case.terms * 8 > MOST_SHARED):
            continue
        yield method, functools.partial(_cuda, function, case, arrays)


def _cuda(function: str, case: Case, arrays):
    """work() of a kernel of by_hand.cu. Raises BackendError where CuPy cannot compile it."""
    sizes = [np.int32(x) for x in (case.cells, case.left, case.right, case.terms)]
    given = (arrays["left"], arrays["right"], arrays["out"], *sizes)
    kernel = _module().get_function(function)
    if function == "slicing":
        launch = (case.cells * case.left,), (min(case.right, 1024),), given
        return lambda: kernel(*launch, shared_mem=case.terms * 8)

    blocks = -(-case.cells * case.left * case.right // THREADS)
    return lambda: kernel((blocks,), (THREADS,), given)


@functools.lru_cache(None)
def _module():
    """The compiled by_hand.cu. Raises BackendError."""
    import cupy

    text = (EXERCISES / "by_hand.cu").read_text()
    with contextlib.suppress(AttributeError):
        return cupy.RawModule(code=text, options=("--std=c++17",))
    raise BackendError("CUDA by hand needs CuPy itself.")


# ---- tables ---------------------------------------------------------------------------------------------------------


def surfaces(rows) -> str:
    """A table for each contraction: lines are methods, columns the points of each memory size, cells the speedup over
    serial C."""
    parts = []
    for name in dict.fromkeys(row["case"] for row in rows):
        own = [row for row in rows if row["case"] == name]
        places = list(dict.fromkeys((row["megabytes"], row["points"]) for row in own))
        head = ["times serial C", *(f"{mb:g} MB, P {points}" for mb, points in places)]
        found = {(row["method"], row["megabytes"], row["points"]): row for row in own}
        lines = [head]
        for method in dict.fromkeys(row["method"] for row in own):
            cells = [found.get((method, *place)) for place in places]
            lines.append([method, *(f"{row['speedup']:.3g}" if row else "-" for row in cells)])
        parts += [name, *tables.aligned(lines), ""]
    return "\n".join(parts)


def beside_by_hand(rows) -> list[str]:
    """Lines: how a team kernel stands beside the same algorithm in CUDA or OpenMP by hand."""
    pairs = [("flat", by_hand) for by_hand in (OPENMP, "CUDA flat by hand")] + [("slicing", "CUDA slicing by hand")]
    lines = []
    for ours, by_hand in pairs:
        ratios = []
        for row in rows:
            if row["method"] != by_hand or (by_hand == OPENMP) != (row["backend"] == "cpu"):
                continue
            key = ("case", "points", "megabytes")
            same = [r for r in rows if r["method"] == ours and all(r[k] == row[k] for k in key)]
            ratios += [row["seconds"] / r["seconds"] for r in same]
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            lines.append(
                f"team kernel '{ours}' over {by_hand}: {mean:.2f} times as fast (mean of {len(ratios)}), "
                f"{min(ratios):.2f} to {max(ratios):.2f}"
            )
    return lines


def beside_the_others(rows) -> list[str]:
    """Lines: how the layer's choice stands beside the fastest other method on the same backend, place by place."""
    places: dict[tuple, dict[str, float]] = {}
    for row in rows:
        places.setdefault((row["case"], row["points"], row["megabytes"]), {})[row["method"]] = row["seconds"]

    host = (SERIAL, OPENMP) if any("cuda" in row["backend"] for row in rows) else (SERIAL,)
    ratios, slower = [], []
    for place, found in places.items():
        best = min((x for x in found if x != LAYER and x not in host), key=found.__getitem__, default=None)
        if best is None or LAYER not in found:
            continue
        ratios.append(found[best] / found[LAYER])
        if ratios[-1] < 1 / 1.1:
            slower.append((ratios[-1], f"{place[0]}, P {place[1]}, {place[2]:g} MB: {1 / ratios[-1]:.2f} times {best}"))

    if not ratios:
        return []
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    fastest = sum(ratio >= 1 for ratio in ratios)
    head = (
        f"the layer's choice: fastest in {fastest} of {len(ratios)}, {mean:.2f} times as fast as the best other method"
    )
    return [f"{head} (geometric mean); slower by a tenth in {len(slower)}:", *(text for _, text in sorted(slower))]


# ---- command --------------------------------------------------------------------------------------------------------


def _numbers(kind, least):
    def read(text: str) -> tuple:
        try:
            found = tuple(kind(part) for part in text.split(","))
        except ValueError:
            found = ()
        if not found or min(found) < least:
            raise argparse.ArgumentTypeError(f"'{text}', wanted numbers from {least} up with commas between")
        return found

    return read


OPTIONS: dict[str, dict] = {
    "--backend": dict(choices=("cpu", "cuda"), default="cpu"),
    "--cases": dict(metavar="TEXT|TEXT", default="", help="contractions whose names begin so"),
    "--points": dict(type=_numbers(int, 1), default=POINTS, metavar="P,P", help="contraction sizes"),
    "--mb": dict(type=_numbers(float, 0.001), default=MEMORY, metavar="MB,MB", help="memory of all arrays"),
    "--rounds": options.rounds(ROUNDS),
    "--threads": dict(type=int, default=os.cpu_count() or 1, help="of a CPU (default: all cores)"),
    "--json": options.JSON,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bench intrepid`."""
    options.add(parser, OPTIONS)


def run(given) -> list[dict]:
    """`python -m frame bench intrepid`; returns the rows. Raises FrameError for usage, or a value that is wrong."""
    names = [name for name in nine.NAMES if name.removeprefix("contract").startswith(tuple(given.cases.split("|")))]
    refuse(not names, f"--cases '{given.cases}'; known: {', '.join(n.removeprefix('contract') for n in nine.NAMES)}.")
    options.refuse_below(given, rounds=1, threads=1)

    backend = get_backend("cuda") if given.backend == "cuda" else get_backend("cpu", threads=given.threads)
    clock = DeviceClock(backend) if backend.memory == "device" else None
    how = Conditions(backend, given.rounds, given.threads, clock)
    said: dict[str, None] = {}

    rows: list[dict] = []
    for name in progress("intrepid", names):
        for megabytes in given.mb:
            for points in given.points:
                rows += measure(Case(name, points, megabytes), how, said.setdefault)
                backend.release()
    clear()

    head = f"Intrepid's contractions, {backend.product}; {FIELDS} fields, D1 = D2 = {DIMENSIONS}, float64"
    lines = [head, *said, "", surfaces(rows), *beside_by_hand(rows), *beside_the_others(rows)]
    report.show(lines, rows, given.json)
    return rows
