"""`bench hierarchy`: the exercises of examples/hierarchy beside what their bytes take, and beside plain CUDA or OpenMP.

The pace of a CPU's memory drifts. So plain loops move the same bytes in turns with each exercise (plain_memory.py), and
a share is the median of the rounds' ratios. A device's pace is measured once.

Four tables. Exercises at a size whose data do not fit a cache, with the time that memory needs for their bytes. The
product <y|Ax> over the number of rows, flat, by teams, by teams and lanes, with the matrix row by row and column by
column. Some exercises in turns with the same written by hand: examples/hierarchy/twins.cu with CUDA, twins.cpp with
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
import math
import os
import statistics
import sys
import time
from typing import Any

import numpy as np

from kernels import Sizes, get_backend
from kernels.engine.backend.base import Source

from ...errors import BackendError, FrameError, refuse
from ...shipped import ROOT
from .. import tables
from ..progress import clear, progress
from . import ceilings, options, plain_memory, report
from .clocks import DeviceClock, host_seconds, in_turns, processor_seconds
from .plain_memory import Loops, PlainMemory

EXERCISES = ROOT / "examples" / "hierarchy"
ROUNDS = 5
THREADS = {"yax_team": 128, "yax_vector": 256, "scratch_field": 128}  # of a block of the twins in CUDA
TABLES = ("exercises", "sweep", "twins", "orders")
QUICK = 2**20  # bytes of plain loops where no figure is judged


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


@dataclasses.dataclass(frozen=True)
class Twin:
    """A kernel that is written by hand, too. on_device, on_cpu: extents of its arrays; the first one is scaled."""

    case: str  # of the table
    file: str
    kernel: str  # of the file
    by_hand: str  # of twins.cpp, without `twin_`
    order: str  # arrays as it takes them
    on_cpu: dict[str, int]
    on_device: dict[str, int] = dataclasses.field(default_factory=dict)  # empty: not written for a device
    members: str | None = None  # of a team; None: as declared
    moved: str = ""  # function of the file: its bytes by the extents; "": those of the arrays

    def sizes(self, device: bool, scale: float) -> dict[str, int]:
        """The extents, the first one times `scale`."""
        sizes = dict(self.on_device if device else self.on_cpu)
        first = next(iter(sizes))
        return sizes | {first: max(2, int(sizes[first] * scale))}


TWINS = (
    Twin(
        "yax_team",
        "matrix_vector",
        "YAX_TEAM",
        "yax_team",
        "y A x total",
        dict(N=2**16, M=1024),
        dict(N=2**18, M=1024),
    ),
    Twin(
        "yax_vector",
        "matrix_vector",
        "YAX_VECTOR",
        "yax_vector",
        "y A x result total",
        dict(E=50_000, N=32, M=32),
        dict(E=100_000, N=32, M=32),
    ),
    Twin(
        "scratch_field",
        "scratch",
        "SCRATCH_FIELD",
        "scratch_field",
        "A B result total",
        dict(E=40_000, Q=16, V=64),
        dict(E=100_000, Q=16, V=64),
    ),
    Twin("yax_rows_first flat", "matrix_vector", "YAX_FLAT", "yax_team", "y A x total", dict(N=5_000_000, M=10)),
    Twin(
        "yax_rows_first team",
        "matrix_vector",
        "YAX_TEAM",
        "yax_team",
        "y A x total",
        dict(N=5_000_000, M=10),
        members="auto 32",
    ),
    Twin(
        "slicing",
        "scratch",
        "SLICING",
        "slicing",
        "left right out",
        dict(C=1000, L=125, R=125, P=27),
        moved="slicing_bytes",
    ),
    Twin("scatter_view", "tokens", "SCATTER_VIEW", "scatter", "bin histogram", dict(n=10_000_000, bins=64)),
    Twin("scatter_teams", "tokens", "SCATTER_TEAMS", "scatter", "bin histogram", dict(n=10_000_000, bins=64)),
)
NUMBERS = {"share": 131072}  # of kernels that want it


@dataclasses.dataclass(frozen=True)
class Conditions:
    """How the rows of a run are measured."""

    backend: Any
    rounds: int
    scale: float  # of the sizes
    clock: DeviceClock | None = None  # None: a CPU
    pace: float = math.nan  # bytes a second of a device's memory
    memory: PlainMemory | None = None  # of a CPU
    quick: bool = False  # tests: the compiler's time counts

    @property
    def on_device(self) -> bool:
        return self.clock is not None

    def loops(self, moved) -> Loops | None:
        """Plain loops for the bytes of a run (common.Moved). None on a device."""
        return self.memory.loops(moved) if self.memory else None

    def row(self, table: str, case: str, sizes, time, by: str = "bytes") -> dict:
        """A row without a rival. time: common.Timed; by: what takes the time by design."""
        bounds = time.loops or [time.moved.total / self.pace] * len(time.runs)
        return {
            "bench": "hierarchy",
            "table": table,
            "case": case,
            "sizes": "x".join(map(str, sizes)),
            "seconds": time.seconds,
            "bytes_per_s": time.moved.total / time.seconds,
            "bound_seconds": statistics.median(bounds),
            "share": ratio(bounds, time.runs),
            "by": by,
            "twin_seconds": None,
            "ratio": None,
            "threads": self.backend.threads or 1,
            "backend": str(self.backend),
            "device": self.backend.product,
        }

    def row_beside(self, table: str, case: str, sizes, moved, ours, theirs) -> dict:
        """A row of a kernel beside a rival, and on a CPU beside plain loops for its bytes, all timed in turns."""
        clock = self.clock.hot if self.clock else host_clock(self.backend)
        loops = self.loops(moved)
        works: dict[str, tuple] = {"ours": (ours, (clock,)), "rival": (theirs, (clock,))}
        if loops:
            works["loops"] = (loops.work, (clock,))

        found = in_turns(works, self.rounds)
        times = {name: seconds[:, 0].tolist() for name, seconds in found.items()}
        alone = [loops.times * seconds for seconds in times["loops"]] if loops else []

        row = self.row(table, case, sizes, module("common").Timed(moved, times["ours"], alone))
        row["twin_seconds"] = statistics.median(times["rival"])
        row["ratio"] = ratio(times["rival"], times["ours"])
        return row


def ratio(theirs: list[float], ours: list[float]) -> float:
    """How many times as long theirs took: the median over rounds."""
    return statistics.median(a / b for a, b in zip(theirs, ours))


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


# ---- exercises ------------------------------------------------------------------------------------------------------


def exercised(exercise: Exercise, table: str, how: Conditions) -> list[dict]:
    """A row for each line that an exercise prints. Raises FrameError for a wrong result."""
    common, run = module("common"), getattr(module(exercise.file), exercise.name)
    common.said.clear()
    common.plain_loops = how.loops if how.memory else None
    try:
        with contextlib.redirect_stdout(io.StringIO()), timed(how.backend):
            run(how.backend, **exercise.sizes(how.on_device, how.scale), nrepeat=how.rounds, quick=how.quick)
    except common.WrongResult as error:
        raise FrameError(f"{exercise.name}: {error}") from None
    finally:
        common.plain_loops = None

    how.backend.release()
    return [how.row(table, line.name, line.sizes, line.time, line.by) for line in common.said]


# ---- twins ----------------------------------------------------------------------------------------------------------


def beside(twin: Twin, how: Conditions) -> dict:
    """A row of a team kernel beside the same by hand, timed in turns. Raises FrameError for a wrong result."""
    backend = how.backend
    sizes = twin.sizes(how.on_device, how.scale)

    # Whole numbers, so that all sums are exact in any order.
    kernel = getattr(module(twin.file), twin.kernel)
    arrays = {a.name: _filled(backend, [sizes[x] for x in a.extents], a.kind) for a in kernel.arrays}
    numbers = {name: NUMBERS[name] for name, _ in kernel.numbers}
    ours = kernel.bind(dict(arrays), backend, Sizes(twin.members), quick=how.quick, **numbers)
    total = backend.from_host(np.zeros(1))
    theirs = _by_hand(twin, how, {**arrays, "total": total}, sizes)

    # Both give the same.
    written = [arrays[a.name] for a in kernel.arrays if a.written]
    found = []
    for work, results in ((ours, [ours.arrays[x.name] for x in kernel.outputs]), (theirs, [total])):
        for x in written:
            x.fill(-1)
        work()
        found.append([np.array(backend.to_host(x)) for x in (*written, *results[: len(kernel.outputs)])])
    same = all(np.array_equal(*both) for both in zip(*found))
    refuse(not same, f"{twin.case}: the twin's results differ.", FrameError)

    if twin.moved:
        moved = getattr(module(twin.file), twin.moved)(*sizes.values())
    else:
        moved = module("common").Moved(
            read=sum(arrays[a.name].nbytes for a in kernel.arrays if not a.written),
            written=sum(arrays[a.name].nbytes for a in kernel.arrays if a.written),
        )
    return how.row_beside("twins", twin.case, sizes.values(), moved, ours, theirs)


def _filled(backend, shape, kind: str = "real"):
    """An array of small whole numbers; those of whole kinds in no order."""
    if kind != "real":
        return backend.from_host(np.random.default_rng(0).integers(0, 64, shape), np.int64)
    return backend.from_host(np.resize(np.arange(1.0, 8.0), shape))


def _by_hand(twin: Twin, how: Conditions, arrays: dict, sizes: dict):
    """work() of a twin. Raises BackendError where it cannot be compiled."""
    if not how.on_device:
        call = _twin(how.backend, f"twin_{twin.by_hand}")
        return functools.partial(call, *sizes.values(), *[arrays[x] for x in twin.order.split()])

    teams, *extents = sizes.values()
    given = [x for key, x in arrays.items() if key != "total"] + [arrays["total"]]
    words = (*given, *[np.int32(x) for x in extents])
    kernel = _module().get_function(twin.by_hand)
    shared = 8 * sizes["V"] if "V" in sizes else 0

    def work():
        arrays["total"].data.memset_async(0, 8)
        kernel((teams,), (THREADS[twin.by_hand],), words, shared_mem=shared)

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
            if name in self.updated:
                kinds["updated"] += array.nbytes
            elif name in written:
                kinds["written"] += array.nbytes
            else:
                kinds["read"] += array.nbytes

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

    return how.row_beside("orders", pair.case, sizes.values(), pair.moved(arrays), ours, theirs)


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


def conditions(given) -> Conditions:
    """Conditions of a run with these options."""
    how = Conditions(get_backend("cpu", threads=given.threads), given.rounds, given.scale, quick=given.quick)
    if given.backend == "cpu":
        sample = QUICK if given.quick else plain_memory.SAMPLE
        return dataclasses.replace(how, memory=PlainMemory(how.backend, sample))

    device = get_backend("cuda")
    pace = ceilings.fastest_memory(device)
    return dataclasses.replace(how, backend=device, clock=DeviceClock(device), pace=pace)


def run(given) -> list[dict]:
    """`python -m frame bench hierarchy`; returns the rows. Raises FrameError for usage, or a result that is wrong."""
    wanted = given.tables.split(",")
    unknown = set(wanted) - set(TABLES)
    refuse(unknown, f"--tables {given.tables}: wanted some of {', '.join(TABLES)}.")
    options.refuse_below(given, rounds=1, threads=1)
    refuse(not 0 < given.scale <= 100, f"--scale {given.scale:g}: wanted more than 0, at most 100.")

    how = conditions(given)
    backend = how.backend

    rows: list[dict] = []
    if "exercises" in wanted:
        chosen = [exercise for exercise in TABLE if not given.cases or exercise.name in given.cases]
        for exercise in progress("hierarchy", chosen):
            rows += exercised(exercise, "exercises", how)
    if "sweep" in wanted:
        rows += exercised(SWEEP, "sweep", how)
    if "twins" in wanted:
        known = [twin for twin in TWINS if twin.on_device or not how.on_device]
        for twin in progress("twins", known):
            rows.append(beside(twin, how))
            backend.release()
    if "orders" in wanted and not how.on_device:
        for pair in progress("orders", ORDERS):
            rows.append(in_order(pair, how))
    clear()

    pace = f"; memory gives {how.pace * 1e-9:.0f} GB/s" if how.on_device else ""
    report.show([f"Exercises of the hierarchy, {backend.product}{pace}", "", *shown(rows)], rows, given.json)
    return rows
