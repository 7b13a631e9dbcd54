"""`bench species-loops`: every organisation, verified, then timed in one run beside a copy of memory.

`rows(...)` measures; `print_table(rows)`, `markdown(rows)` and `draw(rows, file)` show the rows.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import datetime
import itertools
import json
import math
import os
import pathlib
import statistics
import sys
from typing import Any

import numpy as np

from kernels import get_backend
from kernels.contractions import table as organisations
from kernels.contractions.organisations import OUTER, outer
from kernels.engine import tune as tuning

from ...errors import BackendError, FrameError, refuse
from ...shipped import BUILD
from .. import BACKEND, tables
from ..figures import grid, pyplot
from ..progress import clear, progress
from . import report, species_by_hand, species_fields as fields_of
from .species_fields import LAYOUTS, TYPES, Fields, bytes_a_point, copier, plan, shapes

ODD = 203  # points of the small check: no multiple of any vector or team
NS = (8, 16, 32, 50, 64)
ROUNDS, ROUNDS_OF_TUNE = 7, 5
ARRAYS = {"host": "NumPy", "device": "CuPy"}
OUTPUT = 256_000_000  # bytes of the output on a CPU: no cache holds it
MANY, FEW = 8_053_063_680, 4_026_531_840  # bytes on a GPU, above FEW_SPECIES and up to it
FEW_SPECIES = 16
TEAM = 2048  # points on a GPU: a multiple of this


# ---- options


def add_choice(parser) -> None:
    """The options of `bench species-loops` and of `tune` that say what is measured."""
    parser.add_argument("--backend", **BACKEND)
    parser.add_argument(
        "--ns", type=_numbers, default=NS, metavar="N,N", help="numbers of species (default: 8,16,32,50,64)"
    )
    parser.add_argument(
        "--points", type=int, help="grid points (default: outputs of 256 MB on a CPU, 4 to 8 GB on a GPU)"
    )
    parser.add_argument(
        "--type",
        dest="types",
        type=_names,
        default=["float64"],
        help="float64 (default), float32, or both by a comma",
    )


def add_arguments(parser) -> None:
    """All options of `bench species-loops`."""
    add_choice(parser)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"times each variant is timed (default: {ROUNDS})")
    parser.add_argument("--json", metavar="FILE", help="rows as JSON, one a line; - for standard output")
    parser.add_argument("--markdown", metavar="FILE", help="the table in Markdown; - for standard output")
    parser.add_argument("--png", metavar="FILE", type=pathlib.Path, help="the picture")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _names(text: str) -> list[str]:
    return text.split(",")


# ---- measuring


def points_for(backend, ns: int, dtype) -> int:
    """So many points that no cache holds the output."""
    bytes_out = ns * ns * np.dtype(dtype).itemsize
    if backend.memory == "host":
        return max(1, OUTPUT // bytes_out)

    size = MANY if ns > FEW_SPECIES else FEW
    return TEAM * max(1, size // (TEAM * bytes_out))


@dataclasses.dataclass(frozen=True)
class Case:
    """A layout of loops over ns species, at n points."""

    layout: str  # see LAYOUTS
    ns: int
    n: int
    dtype: str


def rows(args) -> list[dict]:
    """Rows as the benchmarks' JSON has them, with facts of the strategy; progress goes to standard error. Raises
    FrameError for unknown types or numbers below 1."""
    refuse(min(args.ns) < 1, f"--ns {min(args.ns)}; wanted 1 or more.", FrameError)
    for dtype in args.types:
        refuse(dtype not in TYPES, f"type '{dtype}'; wanted {' or '.join(TYPES)}.", FrameError)

    be = get_backend(args.backend)
    rounds = getattr(args, "rounds", ROUNDS_OF_TUNE)
    out = []
    for dtype, ns in itertools.product(args.types, args.ns):
        found = []
        for layout in progress("species loops", LAYOUTS):
            found += _rows_of(Case(layout, ns, args.points or points_for(be, ns, dtype), dtype), be, rounds)
            be.release()

        # The fastest copy of this run is the bound of both layouts.
        ceiling = max(row["copy_bytes_per_s"] for row in found)
        for row in found:
            row.update(copy_bytes_per_s=ceiling, bound_fraction=row["bytes_per_s"] / ceiling)
        out += found

    return out


def _rows_of(case: Case, be, rounds: int) -> list[dict]:
    """A row for each strategy and tile, the fastest first, then the row of the rival."""
    clear()
    heading = f"{case.dtype}, NS = {case.ns}, {case.n} points, {case.layout} ({LAYOUTS[case.layout]})"
    print(f"species loops, {be}, {heading}", file=sys.stderr, flush=True)

    # Ours, with copies of memory before and behind it.
    copy = _copy_of_output(case, be, rounds)
    outcomes, fields = tune_loops(be, case.layout, case.ns, case.n, case.dtype, rounds)
    for outcome in outcomes:
        if outcome.why:
            what = organisations.written(outcome.variant)
            print(f"  left out: {what}: {outcome.why.splitlines()[0]}", file=sys.stderr, flush=True)
    copy = max(copy, copy_rate(be, fields.arrays["out"], rounds))

    # The rival, and CUDA by hand.
    fields.poison()
    rival = _median(be, fields_of.broadcasting(case.layout, case.ns, fields.arrays, case.n), 3)
    fields.check()
    by_hand = _by_hand(be, fields, rounds) if be.memory == "device" else []

    # Rows.
    beside = Beside(f"{ARRAYS[be.memory]} broadcasting", rival, copy)
    by_label: dict[str, tuning.Outcome] = {}
    for outcome in outcomes:
        if outcome.seconds is not None:
            by_label.setdefault(outcome.variant.label, outcome)
    found = [_row(case, be, beside, Measured.of(outcome)) for outcome in by_label.values()]
    return [
        *found,
        *(_row(case, be, beside, what) for what in by_hand),
        _row(case, be, beside, Measured(beside.name, rival, 0.0, "rival", "", {})),
    ]


def _by_hand(be, fields: Fields, rounds: int) -> list[Measured]:
    """Kernels of plain CUDA, their values checked; none where CuPy itself is not there."""
    try:
        kernels = species_by_hand.kernels(fields)
    except BackendError as error:
        print(f"  left out: {error}", file=sys.stderr, flush=True)
        return []

    found = []
    for kernel in kernels:
        fields.poison()
        seconds = _median(be, kernel.run, rounds)
        found.append(Measured(kernel.label, seconds, fields.check(), "rival", "", kernel.report))
    return found


@dataclasses.dataclass(frozen=True)
class Beside:
    """The rival of a kernel of ours."""

    name: str  # of the rival
    seconds: float  # of the rival
    copy: float  # bytes that a copy reads and writes a second


@dataclasses.dataclass(frozen=True)
class Measured:
    """A variant that was timed, ours or the rival's."""

    label: str
    seconds: float
    error: float  # largest error, of the size of the terms
    strategy: str
    variant: str  # as a table of organisations has it
    report: dict  # of the compiler

    @classmethod
    def of(cls, outcome: tuning.Outcome) -> Measured:
        how: Any = outcome.variant
        seconds = outcome.seconds or math.nan
        strategy = outer.STRATEGIES[how.name][0]
        return cls(how.label, seconds, outcome.error, strategy, organisations.written(how), outcome.report)


def _row(case: Case, be, beside: Beside, what: Measured) -> dict:
    """A row as the JSON has it. Spills are bytes, stored and loaded."""
    subject = {
        "bench": "species-loops",
        "case": what.label,
        "ns": case.ns,
        "points": case.n,
        "backend": str(be),
    }

    pace = {
        "seconds": what.seconds,
        "points_per_s": case.n / what.seconds,
        "rival": beside.name,
        "rival_points_per_s": case.n / beside.seconds,
        "ratio": beside.seconds / what.seconds,
        "bound": "copy",
        "max_rel_diff": what.error,
    }

    loops = {
        "strategy": what.strategy,
        "layout": case.layout,
        "type": case.dtype,
        "bytes_per_s": case.n * bytes_a_point(case.ns, case.dtype) / what.seconds,
        "copy_bytes_per_s": beside.copy,
    }

    compiled = {
        "registers": what.report.get("registers"),
        "spills": _spills(what.report),
        "occupancy": what.report.get("occupancy"),
        "variant": what.variant,
        "device": be.product,
        "compiler": be.compiler,
    }

    return {**subject, **pace, **loops, **compiled}


def _spills(compiled: dict) -> int | None:
    """Bytes that a compiler's report has as spilled; None without a report."""
    if not compiled:
        return None
    return compiled.get("spill_stores", 0) + compiled.get("spill_loads", 0)


def tune_loops(backend, layout: str, ns: int, n: int, dtype, rounds: int = ROUNDS_OF_TUNE, variants=None):
    """(outcomes of all variants of a layout at n points, see tune.search; the Fields they ran on)."""
    few, many = Fields(backend, layout, ns, min(n, ODD), dtype), Fields(backend, layout, ns, n, dtype, seed=1)
    on_few = {}

    def prepare(how):
        made = plan(backend, layout, ns, dtype, how)
        on_few[how], run = few.bind(made), many.bind(made)
        compiled, share = made.compile().report.get("contraction", {}), _occupancy(backend, made)
        return run, compiled if share is None else {**compiled, "occupancy": share}

    def verify(how, run):
        errors = []
        for fields, work in ((few, on_few[how]), (many, run)):
            fields.poison()
            work()
            errors.append(fields.check())
        return max(errors)

    def compile_ahead(how):
        with contextlib.suppress(FrameError):  # `prepare` reports it
            plan(backend, layout, ns, dtype, how).compile()

    # Into the cache, by all cores.
    chosen = variants_of(backend, layout, ns, dtype) if variants is None else variants
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_ahead, chosen))

    outcomes = tuning.search(chosen, prepare, verify, lambda run: tuning.seconds(backend, run), rounds)
    return outcomes, many


def _occupancy(backend, made) -> float | None:
    """The share of a multiprocessor's threads that run at a time, by registers and shared memory; None: a CPU."""
    if backend.memory != "device":
        return None
    how = made.how
    blocks = made.compile().resident("contraction", how.shape) / backend.multiprocessors
    return blocks * how.shape.threads / backend.facts.threads_resident


def variants_of(backend, layout: str, ns: int, dtype):
    """Every organisation worth a try."""
    terms = outer.terms_of(plan(backend, layout, ns, dtype).program)
    assert terms is not None
    return OUTER[backend.style].variants(terms, dtype)


def default_of(backend, layout: str, ns: int, dtype):
    """The organisation without a choice of the caller, and without a table."""
    return min(plan(backend, layout, ns, dtype, "naive").candidates, key=lambda c: c[0])[1]


def _copy_of_output(case: Case, be, rounds: int) -> float:
    """copy_rate of an array as large as the output, which is freed again."""
    array = be.empty(shapes(case.layout, case.ns, case.n)[1], case.dtype)
    array.fill(1)
    return copy_rate(be, array, rounds)


def copy_rate(be, array, rounds: int) -> float:
    """Bytes read and written a second when one half of the output array is copied over the other."""
    flat = array.reshape(-1)
    half = flat.size // 2 // 64 * 64  # both halves start on whole lines
    seconds = _median(be, copier(be, flat[:half], flat[half : 2 * half]), rounds)
    return 2 * half * array.dtype.itemsize / seconds


def _median(be, run, rounds: int) -> float:
    return statistics.median([tuning.seconds(be, run) for _ in range(rounds + 1)][1:])


# ---- tables and pictures

HEAD = ("strategy", "layout", "ms", "TB/s", "of copy", "registers", "spills", "occupancy")
COLOURS = {"left": "tab:blue", "right": "tab:orange"}


def _groups(found):
    """Yields the key (type, ns, points) of each table, and its rows, the fastest first."""
    groups: dict[tuple, list[dict]] = {}
    for row in found:
        groups.setdefault((row["type"], row["ns"], row["points"]), []).append(row)

    for key, lines in groups.items():
        yield key, sorted(lines, key=lambda row: row["seconds"])


def _cells(row) -> tuple[str, ...]:
    compiled = ["" if row[key] is None else str(row[key]) for key in ("registers", "spills")]
    return (
        row["case"],
        row["layout"],
        f"{row['seconds'] * 1e3:.3f}",
        f"{row['bytes_per_s'] * 1e-12:.3f}",
        f"{100 * row['bound_fraction']:.0f} %",
        *compiled,
        "" if row["occupancy"] is None else f"{100 * row['occupancy']:.0f} %",
    )


def _title(key, lines) -> str:
    dtype, ns, points = key
    where = f"{lines[0]['backend']} ({lines[0]['device']})"
    return f"{dtype}, NS = {ns}, {points} points, {where}; copy {_copy(lines):.3f} TB/s"


def _copy(lines) -> float:
    """The fastest copy of some rows [TB/s]."""
    return max(row["copy_bytes_per_s"] for row in lines) * 1e-12


def print_table(found, to=None) -> None:
    """Prints the rows as text, a table for each case."""
    for key, lines in _groups(found):
        print(f"\n{_title(key, lines)}", file=to)
        for strategy, layout, *figures in (HEAD, *map(_cells, lines)):
            print(f"{strategy:<32}{layout:<7}" + "".join(f"{figure:>10}" for figure in figures), file=to)


def markdown(found) -> str:
    """The rows as Markdown, a table for each case."""
    parts = []
    for key, lines in _groups(found):
        parts += ["", _title(key, lines), "", *tables.markdown(HEAD, *map(_cells, lines))]
    return "\n".join(parts)


def winners(found) -> list[dict]:
    """The fastest row of ours of each type, size and layout."""
    fastest: dict[tuple, dict] = {}
    for (key, lines), layout in itertools.product(_groups(found), LAYOUTS):
        ours = [row for row in lines if row["layout"] == layout and row["strategy"] != "rival"]
        if ours:
            fastest[(*key, layout)] = ours[0]

    return list(fastest.values())


def best(found) -> list[str]:
    """A line for each winner."""
    return [
        f"{row['type']} NS={row['ns']:<3} {row['bound_fraction'] * 100:5.1f} % of copy "
        f"{row['copy_bytes_per_s'] * 1e-12:.2f} TB/s  {row['variant']}"
        for row in winners(found)
    ]


def draw(found, file) -> None:
    """Bars of TB/s, a panel for each size and type, the copy as a line."""
    plt = pyplot("--png draws")
    groups = list(_groups(found))
    height = 0.25 * max(len(lines) for _, lines in groups) + 1.5
    figure, axes = grid(plt, len(groups), len(groups), (6, height), (0, 0))

    for (key, lines), axis in zip(groups, axes.flat):
        lines = lines[::-1]
        colours = ["tab:grey" if row["strategy"] == "rival" else COLOURS[row["layout"]] for row in lines]
        axis.barh(range(len(lines)), [row["bytes_per_s"] * 1e-12 for row in lines], color=colours)
        axis.set_yticks(range(len(lines)), [f"{row['case']}, {row['layout']}" for row in lines], fontsize=7)
        axis.axvline(_copy(lines), color="black", linestyle="--", label="copy")
        axis.set_xlabel("TB/s")
        axis.set_title(f"{key[0]}, NS = {key[1]}, {key[2]} points", fontsize=9)
        axis.legend(fontsize=7)

    figure.suptitle(f"Species loops, {found[0]['device']}", fontsize=9)
    figure.savefig(file, dpi=120)
    plt.close(figure)


# ---- commands


def run(args) -> list[dict]:
    """`python -m frame bench species-loops`: measures, then shows what was asked for (by default the plain table).
    Returns the rows."""
    found = rows(args)
    report.write("\n".join(map(json.dumps, found)), args.json)
    report.write(markdown(found), args.markdown)
    if args.png:
        draw(found, args.png)
    if "-" not in (args.json, args.markdown):
        print_table(found)
        print("\n" + "\n".join(best(found)))
    return found


def tune(args) -> None:
    """`python -m frame tune` without a mixture: the same measurements; the winners become rows of a table of
    organisations."""
    found = rows(args)
    print("\n".join(best(found)))

    file = args.out or BUILD / "organisations.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    backend = get_backend(args.backend)
    fastest = [_record(row, found, backend) for row in winners(found)]
    known = organisations.rows(file if file.is_file() else organisations.in_force())
    organisations.write(file, [*fastest, *known.values()])
    print(f"Written: {file}; to use it, set FRAME_ORGANISATIONS={file.resolve()}")


def _record(winner: dict, found: list[dict], backend) -> organisations.Row:
    """A row of the table of organisations, with the time of the default organisation beside it."""
    layout, ns, dtype = case = tuple(winner[key] for key in ("layout", "ns", "type"))
    key = plan(backend, layout, ns, dtype, "naive").key
    default = organisations.written(default_of(backend, layout, ns, dtype))
    usual = math.nan
    for row in found:
        if row["variant"] == default and (row["layout"], row["ns"], row["type"]) == case:
            usual = row["seconds"]
            break

    text = f"species loops NS = {winner['ns']}, {winner['layout']}"
    today = datetime.date.today().isoformat()
    return organisations.Row(key, 0, winner["variant"], text, winner["points"], winner["seconds"], usual, today)
