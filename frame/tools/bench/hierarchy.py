"""`bench hierarchy`: the exercises of examples/hierarchy beside what their bytes take, and beside plain CUDA or OpenMP.

Four tables. Exercises at a size whose data do not fit a cache, with the time that memory needs for their bytes. The
product <y|Ax> over the number of rows, flat, by teams, by teams and lanes, with the matrix row by row and column by
column. Three exercises in turns with the same written by hand: examples/hierarchy/twins.cu with CUDA, twins.cpp with
OpenMP, compiled by the layer's compiler with the layer's options. On a CPU, kernels whose order of accesses takes
longer than their bytes, in turns with plain loops in that order.

On one thread of a CPU processor time counts, which is not the time that other processes took.

Each exercise checks its own result. What is fast for few rows or slow by intention is in the table as it is. The column
"takes the time" says so: atomics, strides, or calls with few numbers.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import dataclasses
import functools
import importlib
import io
import os
import sys
import time
from typing import Any

import numpy as np

from kernels import get_backend
from kernels.engine.backend.base import Source

from ...errors import BackendError, FrameError, refuse
from ...shipped import ROOT
from .. import tables
from ..progress import clear, progress
from . import ceilings, options, report
from .clocks import DeviceClock, host_seconds, in_turns, processor_seconds

EXERCISES = ROOT / "examples" / "hierarchy"
ROUNDS = 5
THREADS = {"yax_team": 128, "yax_vector": 256, "scratch_field": 128}  # of a block of the twins in CUDA
TABLES = ("exercises", "sweep", "twins", "orders")
LARGEST = 2**28  # bytes of a pace of memory


@dataclasses.dataclass(frozen=True)
class Exercise:
    """An exercise at a size that no cache holds. on_device, on_cpu: its arguments; the first one is scaled."""

    name: str
    file: str
    on_device: dict[str, int]
    on_cpu: dict[str, int]

    def sizes(self, device: bool, scale: float) -> dict[str, int]:
        """Arguments of the exercise, the first one times `scale`."""
        sizes = dict(self.on_device if device else self.on_cpu)
        for first in list(sizes)[:1]:
            sizes[first] = max(2, int(sizes[first] * scale))
        return sizes


TABLE = (
    Exercise("yax_flat", "matrix_vector", dict(N=2**18), dict(N=2**16)),
    Exercise("yax_layout", "matrix_vector", dict(N=2**18), dict(N=2**16)),
    Exercise("yax_atomic", "matrix_vector", dict(N=4096), dict(N=4096)),
    Exercise("yax_attempts", "matrix_vector", dict(N=4096), dict(N=256)),
    Exercise("yax_team", "matrix_vector", dict(N=2**18), dict(N=2**16)),
    Exercise("yax_rows_first", "matrix_vector", dict(M=10_000_000), dict(M=5_000_000)),
    Exercise("yax_vector", "matrix_vector", dict(E=100_000), dict(E=50_000)),
    Exercise("quiz", "primitives", dict(E=100_000), dict(E=1000)),
    Exercise("scratch_field", "scratch", dict(E=100_000), dict(E=40_000)),
    Exercise("field_variants", "scratch", dict(E=40_000), dict(E=20_000)),
    Exercise("scratch_levels", "scratch", dict(E=1000), dict(E=100)),
    Exercise("slicing", "scratch", dict(N=5000), dict(N=1000)),
    Exercise("unique_token_pool", "tokens", {}, dict(N=1_000_000)),
    Exercise("unique_token_team", "tokens", dict(E=10_000), dict(E=1000)),
    Exercise("mdrange", "primitives", dict(N=4000, M=7770), dict(N=2000, M=7770)),
    Exercise("mdrange_tuned", "primitives", dict(N=4000, M=7770), dict(N=2000, M=7770)),
    Exercise("subview", "primitives", dict(M=2**17, N=2, E=1024), dict(M=2**15, N=2, E=1024)),
    Exercise("scan_range", "primitives", dict(N=50_000_000), dict(N=20_000_000)),
    Exercise("scan", "primitives", {}, {}),
    Exercise("single", "primitives", dict(E=100_000), dict(E=100)),
    Exercise("scatter", "tokens", dict(N=50_000_000), dict(N=10_000_000)),
    Exercise("nested_adjoint", "matrix_vector", dict(N=2**17), dict(N=2**16)),
)
SWEEP = Exercise("yax_sweep", "matrix_vector", dict(N=2**18), dict(N=2**16))
TWINS = {  # arguments: extents of the arrays
    "yax_team": (dict(N=2**18, M=1024), dict(N=2**16, M=1024)),
    "yax_vector": (dict(E=100_000, N=32, M=32), dict(E=50_000, N=32, M=32)),
    "scratch_field": (dict(E=100_000, Q=16, V=64), dict(E=40_000, Q=16, V=64)),
}


@dataclasses.dataclass(frozen=True)
class Pace:
    """Bytes a second of a memory."""

    reading: float  # or reading and writing, whichever is more
    through: Through | None = None  # what goes through the caches of a CPU

    def seconds(self, moved) -> float:
        """Time in which the memory moves these bytes (common.Moved)."""
        if self.through is None:
            return moved.total / self.reading
        changes = moved.written / self.through.writing + moved.updated / self.through.updating
        return moved.read / self.reading + changes


@dataclasses.dataclass(frozen=True)
class Through:
    """Bytes a second that a CPU writes. It reads a line of memory before it writes to it: stores that go past the
    caches are faster, and a kernel's are not such."""

    writing: float  # to arrays that are not read, beside as many bytes that are read from others
    updating: float  # of arrays that are changed, each byte counted once


@dataclasses.dataclass(frozen=True)
class Conditions:
    """How the rows of a run are measured."""

    backend: Any
    rounds: int
    clock: DeviceClock | None  # None: a CPU
    scale: float  # of the sizes
    pace: Pace  # of the memory
    quick: bool = False  # tests: the compiler's time counts

    @property
    def on_device(self) -> bool:
        return self.clock is not None

    def row(self, table: str, case: str, sizes, seconds: float, moved, by: str = "bytes") -> dict:
        """A row without a rival. moved: common.Moved; by: what takes the time by design."""
        bound = self.pace.seconds(moved)
        return {
            "bench": "hierarchy",
            "table": table,
            "case": case,
            "sizes": "x".join(map(str, sizes)),
            "seconds": seconds,
            "bytes_per_s": moved.total / seconds,
            "bound_seconds": bound,
            "share": bound / seconds,
            "by": by,
            "twin_seconds": None,
            "ratio": None,
            "threads": self.backend.threads or 1,
            "backend": str(self.backend),
            "device": self.backend.product,
        }


@functools.lru_cache(None)
def module(file: str):
    """A file of the exercises. Raises BackendError outside of a checkout."""
    if not EXERCISES.is_dir():
        raise BackendError(f"{EXERCISES} is not there: the exercises are examples of the project.")
    if str(EXERCISES) not in sys.path:
        sys.path.append(str(EXERCISES))
    return importlib.import_module(file)


# ---- time -----------------------------------------------------------------------------------------------------------


def host_clock(backend):
    """The clock of a work on a CPU."""
    return processor_seconds if backend.threads == 1 else host_seconds


@contextlib.contextmanager
def timed(backend):
    """The exercises ask the backend for its time: that of a single thread is its own."""
    if backend.memory == "device" or backend.threads != 1:
        yield
        return

    backend.mark = time.thread_time
    try:
        yield
    finally:
        del backend.mark


# ---- memory ---------------------------------------------------------------------------------------------------------


def pace(backend) -> Pace:
    """The pace of the backend's memory, measured."""
    if backend.memory == "device":
        return Pace(ceilings.fastest_memory(backend))

    half = LARGEST // 2
    source, to, total = np.ones(LARGEST // 8), np.zeros(half // 8), np.zeros(1)
    works = {
        "read": functools.partial(_twin(backend, "read_memory"), source.size, source, total),
        "copy": functools.partial(_twin(backend, "copy_memory"), to.size, source, to),
        "write": functools.partial(_twin(backend, "write_memory"), to.size, source, to),
        "update": functools.partial(_twin(backend, "update_memory"), source.size, source),
    }
    clock = host_clock(backend)
    times = [[clock(work) for work in works.values()] for _ in range(10)]
    least = dict(zip(works, np.min(times, axis=0)))

    reading = LARGEST / min(least["read"], least["copy"])
    writing = half / max(least["write"] - half / reading, half / reading)  # no faster than reading
    return Pace(reading, Through(writing, updating=LARGEST / least["update"]))


def beside_others(how: Conditions) -> Conditions:
    """The pace of a CPU's memory as it is now: it changes with what other processes take of it."""
    return how if how.on_device or how.quick else dataclasses.replace(how, pace=pace(how.backend))


# ---- exercises ------------------------------------------------------------------------------------------------------


def exercised(exercise: Exercise, table: str, how: Conditions) -> list[dict]:
    """A row for each line that an exercise prints. Raises FrameError for a wrong result."""
    common, run = module("common"), getattr(module(exercise.file), exercise.name)
    common.said.clear()
    try:
        with contextlib.redirect_stdout(io.StringIO()), timed(how.backend):
            run(how.backend, **exercise.sizes(how.on_device, how.scale), nrepeat=how.rounds, quick=how.quick)
    except common.WrongResult as error:
        raise FrameError(f"{exercise.name}: {error}") from None

    how.backend.release()
    return [how.row(table, line.name, line.sizes, line.seconds, line.moved, line.by) for line in common.said]


# ---- twins ----------------------------------------------------------------------------------------------------------


def beside(name: str, how: Conditions) -> dict:
    """A row of a team kernel beside the same by hand, timed in turns. Raises FrameError for a wrong result."""
    backend = how.backend
    sizes = dict(TWINS[name][0 if how.on_device else 1])
    first = next(iter(sizes))
    sizes[first] = max(2, int(sizes[first] * how.scale))

    # Whole numbers, so that all sums are exact in any order.
    kernel = getattr(module("scratch" if name == "scratch_field" else "matrix_vector"), name.upper())
    arrays = {a.name: _filled(backend, [sizes[x] for x in a.extents]) for a in kernel.arrays}
    ours = kernel.bind(dict(arrays), backend, quick=how.quick)
    total = backend.from_host(np.zeros(1))
    theirs = _by_hand(name, how, {**arrays, "total": total}, sizes)

    # Both give the same.
    results = [ours.arrays["total"], *(arrays[a.name] for a in kernel.arrays if a.written)]
    ours()
    wanted = [np.array(backend.to_host(x)) for x in results]
    for x in results[1:]:
        x.fill(-1.0)
    theirs()
    for x, y in zip([total, *results[1:]], wanted):
        refuse(not np.array_equal(backend.to_host(x), y), f"{name}: the twin's results differ.", FrameError)

    # In turns.
    clock = how.clock.hot if how.clock else host_clock(backend)
    times = in_turns({"ours": (ours, (clock,)), "twin": (theirs, (clock,))}, how.rounds)
    medians = {side: float(np.median(found)) for side, found in times.items()}
    moved = module("common").Moved(
        read=sum(arrays[a.name].nbytes for a in kernel.arrays if not a.written),
        written=sum(arrays[a.name].nbytes for a in kernel.arrays if a.written),
    )
    row = how.row("twins", name, sizes.values(), medians["ours"], moved)
    row["twin_seconds"], row["ratio"] = medians["twin"], medians["twin"] / medians["ours"]
    return row


def _filled(backend, shape):
    """An array of small whole numbers."""
    values = np.resize(np.arange(1.0, 8.0), shape)
    return backend.from_host(values)


def _by_hand(name: str, how: Conditions, arrays: dict, sizes: dict):
    """work() of a twin. Raises BackendError where it cannot be compiled."""
    if not how.on_device:
        order = {
            "yax_team": ("y", "A", "x", "total"),
            "yax_vector": ("y", "A", "x", "result", "total"),
            "scratch_field": ("A", "B", "result", "total"),
        }
        twin = _twin(how.backend, f"twin_{name}")
        return functools.partial(twin, *sizes.values(), *[arrays[x] for x in order[name]])

    teams, *extents = sizes.values()
    given = [x for key, x in arrays.items() if key != "total"] + [arrays["total"]]
    words = (*given, *[np.int32(x) for x in extents])
    kernel = _module().get_function(name)
    shared = 8 * sizes["V"] if "V" in sizes else 0

    def work():
        arrays["total"].data.memset_async(0, 8)
        kernel((teams,), (THREADS[name],), words, shared_mem=shared)

    return work


def _twin(backend, name: str):
    """function(numbers and arrays) of twins.cpp, on the threads of a CPU."""
    source = Source("hierarchy-twins", (EXERCISES / "twins.cpp").read_text())
    call = ctypes.CFUNCTYPE(None)(backend.compile(source).address(name))

    def run(*given):
        words = [ctypes.c_void_p(x.ctypes.data) if isinstance(x, np.ndarray) else ctypes.c_long(x) for x in given]
        call(ctypes.c_int(backend.threads), *words)

    return run


@functools.lru_cache(None)
def _module():
    """The compiled twins.cu. Raises BackendError."""
    import cupy

    text = (EXERCISES / "twins.cu").read_text()
    with contextlib.suppress(AttributeError):
        return cupy.RawModule(code=text, options=("--std=c++17",))
    raise BackendError("CUDA by hand needs CuPy itself.")


# ---- orders of accesses ---------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class InOrder:
    """A kernel beside plain loops over the same accesses."""

    case: str  # of the table
    file: str
    kernels: str  # of the file, by keys
    key: Any
    loops: str  # of twins.cpp
    sizes: dict[str, int]  # the first one is scaled
    updated: tuple[str, ...] = ()  # arrays that are read, too

    def kernel(self):
        return getattr(module(self.file), self.kernels)[self.key]

    def sized(self, scale: float) -> dict[str, int]:
        """The extents; the first one is whole packs."""
        first = next(iter(self.sizes))
        return self.sizes | {first: max(8, int(self.sizes[first] * scale) // 8 * 8)}

    def moved(self, arrays: dict):
        """Bytes that a run has to move."""
        written = {a.name for a in self.kernel().arrays if a.written}
        kinds = {"read": 0, "written": 0, "updated": 0}
        for name, array in arrays.items():
            kind = "updated" if name in self.updated else "written" if name in written else "read"
            kinds[kind] += array.nbytes
        return module("common").Moved(**kinds)


FIELD = dict(E=20_000, Q=16, V=64)
ORDERS = [
    InOrder(f"field {body} {layout}", "scratch", "VARIANTS", (body, layout), f"order_{layout}", FIELD)
    for layout in ("right", "left")
    for body in ("per_element", "per_pair")
]
ORDERS.append(
    InOrder("mdrange_across", "primitives", "TUNED", "across", "order_across", dict(I=2000, J=7770), ("written",))
)


def in_order(pair: InOrder, how: Conditions) -> dict:
    """A row of a kernel beside plain loops. Raises FrameError for a wrong result."""
    backend, kernel, sizes = how.backend, pair.kernel(), pair.sized(how.scale)
    arrays: dict[str, np.ndarray] = {}
    for a in kernel.arrays:
        filled = _filled(backend, [sizes[x] for x in a.extents])
        arrays |= backend.placed(**{a.name: np.array(filled, order="F" if a.layout == "LEFT" else "C")})
    ours = kernel.bind(dict(arrays), backend, quick=how.quick)
    theirs = functools.partial(_twin(backend, pair.loops), *sizes.values(), *arrays.values())

    # Both give the same.
    written = [arrays[a.name] for a in kernel.arrays if a.written]
    found = []
    for side in (ours, theirs):
        for array in written:
            array.fill(-1.0)
        side()
        found.append([array.copy() for array in written])
    same = all(np.array_equal(*both) for both in zip(*found))
    refuse(not same, f"{pair.loops}: results differ.", FrameError)

    # In turns.
    clock = host_clock(backend)
    times = in_turns({"ours": (ours, (clock,)), "loops": (theirs, (clock,))}, how.rounds)
    medians = {side: float(np.median(seconds)) for side, seconds in times.items()}
    row = how.row("orders", pair.case, sizes.values(), medians["ours"], pair.moved(arrays))
    row["twin_seconds"], row["ratio"] = medians["loops"], medians["loops"] / medians["ours"]
    return row


# ---- tables ---------------------------------------------------------------------------------------------------------


def shown(rows: list[dict]) -> list[str]:
    """Lines of the tables."""
    lines: list[str] = []
    usual = ["sizes", "time", "GB/s", "bytes take", "share", "takes the time"]
    for table, heads in (
        ("exercises", ["exercise", *usual]),
        ("sweep", ["sweep", *usual]),
        ("twins", ["beside by hand", *usual, "by hand", "times as fast"]),
        ("orders", ["beside loops in its order", *usual, "loops", "times as fast"]),
    ):
        own = [row for row in rows if row["table"] == table]
        if own:
            lines += [*tables.aligned([heads, *map(_cells, own)]), ""]
    return lines


def _cells(row: dict) -> list[str]:
    cells = [
        row["case"],
        row["sizes"],
        report.span(row["seconds"]),
        f"{row['bytes_per_s'] * 1e-9:.4g}",
        report.span(row["bound_seconds"]),
        f"{row['share']:.2f}",
        row["by"],
    ]
    if row["ratio"]:
        cells += [report.span(row["twin_seconds"]), f"{row['ratio']:.2f}"]
    return cells


# ---- command --------------------------------------------------------------------------------------------------------


def _names(text: str) -> tuple[str, ...]:
    known = [e.name for e in TABLE]
    found = tuple(text.split(","))
    for name in found:
        if name not in known:
            raise argparse.ArgumentTypeError(f"'{name}', wanted some of {', '.join(known)}")
    return found


OPTIONS: dict[str, dict] = {
    "--backend": dict(choices=("cpu", "cuda"), default="cpu"),
    "--cases": dict(type=_names, metavar="NAME,...", help="exercises of the first table (default: all)"),
    "--tables": dict(default=",".join(TABLES), metavar="NAME,...", help=f"of {', '.join(TABLES)} (default: all)"),
    "--scale": dict(type=float, default=1.0, metavar="X", help="times the sizes (default: 1)"),
    "--rounds": options.rounds(ROUNDS),
    "--threads": dict(type=int, default=os.cpu_count() or 1, help="of a CPU (default: all cores)"),
    "--quick": dict(action="store_true", help=argparse.SUPPRESS),
    "--json": options.JSON,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bench hierarchy`."""
    options.add(parser, OPTIONS)


def run(given) -> list[dict]:
    """`python -m frame bench hierarchy`; returns the rows. Raises FrameError for usage, or a result that is wrong."""
    wanted = given.tables.split(",")
    unknown = set(wanted) - set(TABLES)
    refuse(unknown, f"--tables {given.tables}: wanted some of {', '.join(TABLES)}.")
    refuse(min(given.rounds, given.threads) < 1, "--rounds, --threads: wanted 1 or more.")
    refuse(not 0 < given.scale <= 100, f"--scale {given.scale:g}: wanted more than 0, at most 100.")

    backend = get_backend("cuda") if given.backend == "cuda" else get_backend("cpu", threads=given.threads)
    clock = DeviceClock(backend) if backend.memory == "device" else None
    how = Conditions(backend, given.rounds, clock, given.scale, pace(backend), given.quick)

    rows: list[dict] = []
    if "exercises" in wanted:
        chosen = [exercise for exercise in TABLE if not given.cases or exercise.name in given.cases]
        for exercise in progress("hierarchy", chosen):
            rows += exercised(exercise, "exercises", beside_others(how))
    if "sweep" in wanted:
        rows += exercised(SWEEP, "sweep", beside_others(how))
    if "twins" in wanted:
        for name in progress("twins", list(TWINS)):
            rows.append(beside(name, beside_others(how)))
            backend.release()
    if "orders" in wanted and not how.on_device:
        for pair in progress("orders", ORDERS):
            rows.append(in_order(pair, beside_others(how)))
    clear()

    head = f"Exercises of the hierarchy, {backend.product}; memory gives {how.pace.reading * 1e-9:.0f} GB/s"
    report.show([head, "", *shown(rows)], rows, given.json)
    return rows
