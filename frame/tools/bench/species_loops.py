"""`bench species-loops`: every organisation, verified, then timed in one run beside a copy of memory.

`rows(...)` measures; `print_table(rows)`, `markdown(rows)` and `draw(rows, file)` show it.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import datetime
import json
import os
import pathlib
import statistics
import sys

import numpy as np

from kernels import get_backend
from kernels.contractions import table as organisations
from kernels.contractions.organisations import OUTER, outer
from kernels.engine import tune as tuning

from ...errors import FrameError
from ...shipped import BUILD
from ..progress import clear, progress
from . import species_fields as fields_of
from .species_fields import LAYOUTS, TYPES, Fields, bytes_a_point, copier, plan, shapes

ODD = 203  # points of the small check: no multiple of any vector or team
NS = (8, 16, 32, 50, 64)
ROUNDS = 7
ARRAYS = {"host": "NumPy", "device": "CuPy"}


def add_arguments(parser, bench: bool) -> None:
    """The options of `tune` and of the benchmark."""
    parser.add_argument(
        "--backend", choices=("auto", "cpu", "cuda"), default=None, help="default: FRAME_BACKEND, else auto"
    )
    parser.add_argument(
        "--ns", type=_numbers, default=NS, metavar="N,N", help="numbers of species (default: 8,16,32,50,64)"
    )
    parser.add_argument(
        "--points", type=int, help="grid points (default: outputs of 256 MB on a CPU, 4 to 8 GB on a GPU)"
    )
    parser.add_argument(
        "--type",
        dest="types",
        type=lambda t: t.split(","),
        default=["float64"],
        help="float64 (default), float32, or both by a comma",
    )
    if bench:
        parser.add_argument(
            "--rounds", type=int, default=ROUNDS, help=f"times each variant is timed (default: {ROUNDS})"
        )
        parser.add_argument("--json", metavar="FILE", help="rows as JSON, one a line; - for standard output")
        parser.add_argument("--markdown", metavar="FILE", help="the table in Markdown; - for standard output")
        parser.add_argument("--png", metavar="FILE", type=pathlib.Path, help="the picture")
    else:
        parser.add_argument(
            "--out",
            metavar="FILE",
            type=pathlib.Path,
            help="where what was found is written (default: build/launches.csv, or build/organisations.csv)",
        )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def points_for(backend, ns: int, dtype) -> int:
    """So many that the output fits no cache; on a GPU the talk's 2048*120 at 64 species (8 GB), at 16 and fewer 4
    GB."""
    size = np.dtype(dtype).itemsize
    if backend.memory == "host":
        return max(1, 256_000_000 // (ns * ns * size))
    return 2048 * max(1, (8_053_063_680 if ns > 16 else 4_026_531_840) // (2048 * ns * ns * size))


def rows(args) -> list[dict]:
    """Rows as the benchmarks' JSON has them, with the strategy's own facts; progress goes to standard error."""
    be = get_backend(args.backend)
    out = []
    if min(args.ns) < 1:
        raise FrameError(f"--ns {min(args.ns)}; wanted 1 or more.")
    for dtype in args.types:
        if dtype not in TYPES:
            raise FrameError(f"type '{dtype}'; wanted {' or '.join(TYPES)}.")
        for ns in args.ns:
            n = args.points or points_for(be, ns, dtype)
            made = []
            for layout in progress("species loops", LAYOUTS):
                made += _one(be, layout, ns, n, dtype, getattr(args, "rounds", 5))
                be.release()
            ceiling = max(r["copy_bytes_per_s"] for r in made)  # the best seen in this run bounds both layouts
            for r in made:
                r.update(copy_bytes_per_s=ceiling, bound_fraction=r["bytes_per_s"] / ceiling)
            out += made
    return out


def _one(be, layout, ns, n, dtype, rounds) -> list[dict]:
    clear()
    print(
        f"species loops, {be}, {dtype}, NS = {ns}, {n} points, {layout} ({LAYOUTS[layout]})",
        file=sys.stderr,
        flush=True,
    )

    def told(outcome):
        if outcome.why:
            print(
                f"  left out: {organisations.written(outcome.variant)}: {outcome.why.splitlines()[0]}",
                file=sys.stderr,
                flush=True,
            )

    flat = be.empty(shapes(layout, ns, n)[1], dtype)
    flat.fill(1)
    before = copy_rate(be, flat, rounds)
    del flat
    outcomes, fields = tune_loops(be, layout, ns, n, dtype, rounds, told=told)
    size = bytes_a_point(ns, dtype)
    copy = max(before, copy_rate(be, fields.arrays["out"], rounds))
    fields.poison()
    rival = _median(be, fields_of.broadcasting(layout, ns, fields.arrays, n), 3)
    fields.check()
    made, seen, other = [], set(), f"{ARRAYS[be.memory]} broadcasting"

    def add(case, seconds, error, strategy, report, variant):
        made.append(
            {
                "bench": "species-loops",
                "case": case,
                "ns": ns,
                "points": n,
                "backend": str(be),
                "seconds": seconds,
                "points_per_s": n / seconds,
                "rival": other,
                "rival_points_per_s": n / rival,
                "ratio": rival / seconds,
                "bound": "copy",
                "max_rel_diff": error,
                "strategy": strategy,
                "layout": layout,
                "type": dtype,
                "bytes_per_s": n * size / seconds,
                "copy_bytes_per_s": copy,
                "registers": report.get("registers"),
                "spills": report.get("spill_stores", 0) + report.get("spill_loads", 0) if report else None,
                "variant": variant,
                "device": be.product,
                "compiler": be.compiler,
            }
        )

    for outcome in outcomes:  # the fastest first: one line for each strategy and tile
        if outcome.seconds is not None and outcome.variant.label not in seen:
            seen.add(outcome.variant.label)
            add(
                outcome.variant.label,
                outcome.seconds,
                outcome.error,
                outer.STRATEGIES[outcome.variant.name][0],
                outcome.report,
                organisations.written(outcome.variant),
            )
    add(other, rival, 0.0, "rival", {}, "")
    return made


def tune_loops(backend, layout: str, ns: int, n: int, dtype, rounds: int = 5, variants=None, told=None):
    """Outcomes of all variants of one layout at n points (see tune.search), and the Fields they ran on."""
    few, many = Fields(backend, layout, ns, min(n, ODD), dtype), Fields(backend, layout, ns, n, dtype, seed=1)
    prepared = {}

    def prepare(how):
        made = plan(backend, layout, ns, dtype, how)
        prepared[how] = few.bind(made)
        return many.bind(made), made.compile().report.get("contraction", {})

    def verify(how, run):
        errors = []
        for fields, work in ((few, prepared[how]), (many, run)):
            fields.poison()
            work()
            errors.append(fields.check())
        return max(errors)

    def ahead(how):
        with contextlib.suppress(FrameError):  # whoever prepares it gets to hear
            plan(backend, layout, ns, dtype, how).compile()

    able = variants_of(backend, layout, ns, dtype) if variants is None else variants
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # into the cache, all cores at work
        list(pool.map(ahead, able))
    return tuning.search(able, prepare, verify, lambda run: tuning.seconds(backend, run), rounds, told), many


def variants_of(backend, layout: str, ns: int, dtype):
    """Every organisation worth a try."""
    t = outer.terms_of(plan(backend, layout, ns, dtype).program)
    assert t is not None
    return OUTER[backend.style].variants(t, dtype)


def copy_rate(be, array, rounds) -> float:
    """Bytes read and written a second when one half of the output array is copied over the other."""
    flat = array.reshape(-1)
    half = flat.size // 2 // 64 * 64  # both halves start on whole lines
    return 2 * half * array.dtype.itemsize / _median(be, copier(be, flat[:half], flat[half : 2 * half]), rounds)


def _median(be, run, rounds) -> float:
    return statistics.median([tuning.seconds(be, run) for _ in range(rounds + 1)][1:])


# ---- tables and pictures --------------------------------------------------------------------------------------------

HEAD = ("strategy", "layout", "ms", "TB/s", "of copy", "registers", "spills")


def _groups(made):
    """Lines of each (ns, points, type), the fastest first."""
    keys = dict.fromkeys((r["type"], r["ns"], r["points"]) for r in made)
    for key in keys:
        yield key, sorted((r for r in made if (r["type"], r["ns"], r["points"]) == key), key=lambda r: r["seconds"])


def _cells(r):
    def told(v):
        return "" if v is None else str(v)

    return (
        r["case"],
        r["layout"],
        f"{r['seconds'] * 1e3:.3f}",
        f"{r['bytes_per_s'] * 1e-12:.3f}",
        f"{100 * r['bound_fraction']:.0f} %",
        told(r["registers"]),
        told(r["spills"]),
    )


def _title(key, lines):
    dtype, ns, points = key
    return (
        f"{dtype}, NS = {ns}, {points} points, {lines[0]['backend']} ({lines[0]['device']}); "
        f"copy {max(r['copy_bytes_per_s'] for r in lines) * 1e-12:.3f} TB/s"
    )


def print_table(made, to=None) -> None:
    """Print the rows as text, a table for each case."""
    for key, lines in _groups(made):
        print(f"\n{_title(key, lines)}\n{HEAD[0]:<32}{HEAD[1]:<7}" + "".join(f"{h:>10}" for h in HEAD[2:]), file=to)
        for r in lines:
            cells = _cells(r)
            print(f"{cells[0]:<32}{cells[1]:<7}" + "".join(f"{c:>10}" for c in cells[2:]), file=to)


def winners(made) -> list[dict]:
    """The fastest row of each type, size and layout."""
    return [
        next(r for r in lines if r["layout"] == layout and r["strategy"] != "rival")
        for _, lines in _groups(made)
        for layout in LAYOUTS
        if any(r["layout"] == layout and r["strategy"] != "rival" for r in lines)
    ]


def best(made) -> list[str]:
    """A line for each winner."""
    return [
        f"{r['type']} NS={r['ns']:<3} {r['bound_fraction'] * 100:5.1f} % of copy "
        f"{r['copy_bytes_per_s'] * 1e-12:.2f} TB/s  {r['variant']}"
        for r in winners(made)
    ]


def markdown(made, to=None) -> None:
    """Print the rows as Markdown, a table for each case."""
    for key, lines in _groups(made):
        print(f"\n{_title(key, lines)}\n\n| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}", file=to)
        for r in lines:
            print(f"| {' | '.join(_cells(r))} |", file=to)


def draw(made, file) -> None:
    """Bars of TB/s, one panel for each size and type, the copy as a line."""
    try:
        import matplotlib
    except ImportError:
        raise FrameError("the picture needs matplotlib: install the project's extra 'plot'.") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    groups = list(_groups(made))
    figure, axes = pyplot.subplots(
        1, len(groups), figsize=(6 * len(groups), 0.25 * max(len(g) for _, g in groups) + 1.5), squeeze=False
    )
    for (key, lines), ax in zip(groups, axes[0]):
        lines = lines[::-1]
        colours = [
            "tab:grey" if r["strategy"] == "rival" else {"left": "tab:blue", "right": "tab:orange"}[r["layout"]]
            for r in lines
        ]
        ax.barh(range(len(lines)), [r["bytes_per_s"] * 1e-12 for r in lines], color=colours)
        ax.set_yticks(range(len(lines)), [f"{r['case']}, {r['layout']}" for r in lines], fontsize=7)
        ax.axvline(max(r["copy_bytes_per_s"] for r in lines) * 1e-12, color="black", linestyle="--", label="copy")
        ax.set_xlabel("TB/s")
        ax.set_title(f"{key[0]}, NS = {key[1]}, {key[2]} points", fontsize=9)
        ax.legend(fontsize=7)
    figure.suptitle(f"Species loops, {made[0]['device']}", fontsize=9)
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


def run(args) -> list[dict]:
    """`python -m frame bench species-loops`: measure, then show what was asked for (the plain table if nothing was).
    Returns the rows."""
    made = rows(args)
    for name, write in (
        (args.json, lambda to: print("\n".join(map(json.dumps, made)), file=to)),
        (args.markdown, lambda to: markdown(made, to)),
    ):
        if name == "-":
            write(sys.stdout)
        elif name:
            with open(name, "w") as to:
                write(to)
    if args.png:
        draw(made, args.png)
    if "-" not in (args.json, args.markdown):
        print_table(made)
        print("\n" + "\n".join(best(made)))
    return made


def tune(args) -> None:
    """`python -m frame tune` without a mixture: the same measurements; the winners are rows of a table of
    organisations."""
    made = rows(args)
    print("\n".join(best(made)))
    file = args.out or BUILD / "organisations.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    backend, today = get_backend(args.backend), datetime.date.today().isoformat()
    found = []
    for r in winners(made):
        ours = [x for x in made if (x["type"], x["ns"], x["layout"]) == (r["type"], r["ns"], r["layout"])]
        key = plan(backend, r["layout"], r["ns"], r["type"], "naive").key
        default = organisations.written(default_of(backend, r["layout"], r["ns"], r["type"]))
        usual = next((x["seconds"] for x in ours if x["variant"] == default), float("nan"))
        case = f"species loops NS = {r['ns']}, {r['layout']}"
        found.append(organisations.Row(key, 0, r["variant"], case, r["points"], r["seconds"], usual, today))
    known = organisations.rows(file if file.is_file() else organisations.in_force())
    organisations.write(file, [*found, *known.values()])
    print(f"Written: {file}; to use it, set FRAME_ORGANISATIONS={file.resolve()}")


def default_of(backend, layout: str, ns: int, dtype):
    """The organisation where nobody chose, and no table."""
    return min(plan(backend, layout, ns, dtype, "naive").candidates, key=lambda c: c[0])[1]
