"""`python -m frame bench figures`: the pictures of docs/figures/, drawn from benchmarks/results.

With files it prints their rows as a single table. Rows of several commits or machines share a picture or table only if
that says so, beside each curve or in each row.
"""

from __future__ import annotations

import itertools
import pathlib
import re

import numpy as np

from ...errors import ArgumentError
from ...shipped import ROOT
from ..figures import grid, pyplot
from . import results
from .results import Run

FOLDER = ROOT / "docs" / "pictures"
CASES = ("thermal, k_ij dense", "viscous, low-pressure D, fuller", "viscous, Takahashi")
STRONGEST = "gfortran -Ofast, reduced"
STYLE = {"svg.fonttype": "none", "font.size": 9}  # text stays text


def add_arguments(parser) -> None:
    """Options of `bench figures`."""
    parser.add_argument("files", nargs="*", metavar="FILE", type=pathlib.Path, help="runs to print as one table")
    parser.add_argument("--mixed", action="store_true", help="runs of several machines or commits in one table")
    parser.add_argument("--out", metavar="FOLDER", type=pathlib.Path, help="of the pictures (default: docs/pictures)")


def run(given) -> None:
    """Print a table of the files, or draw all pictures. Errors: ArgumentError."""
    if given.files:
        print(results.table([results.read(file) for file in given.files], given.mixed))
        return

    if not results.FOLDER.is_dir():
        raise ArgumentError(f"{results.FOLDER} is not there: the pictures are drawn in a checkout. Name files instead.")

    folder = given.out or FOLDER
    folder.mkdir(parents=True, exist_ok=True)

    plt = pyplot("bench figures draws")
    with plt.rc_context(STYLE):
        for name, draw in PICTURES.items():
            figure = draw(plt)
            file = folder / f"{name}.svg"
            figure.savefig(file, metadata={"Date": None})
            plt.close(figure)
            print(file)


def named(*names: str, mixed: bool = False) -> list[Run]:
    """Runs of benchmarks/results that share a picture. Errors: ArgumentError, see results.same_origin."""
    runs = [results.read(results.FOLDER / f"{name}.json") for name in names]
    results.same_origin(runs, mixed)
    return runs


def rows_of(runs: list[Run]) -> list[dict]:
    """The rows of all runs."""
    return list(itertools.chain.from_iterable(run.rows for run in runs))


def titled(axis, runs: list[Run], x: str, y: str) -> None:
    """Axes with units; the title says machine and commits."""
    commits = ", ".join(dict.fromkeys(run.commit or "not noted" for run in runs))
    axis.set_title(f"{runs[0].machine}\n{'commits' if ',' in commits else 'commit'} {commits}", fontsize=8)
    axis.set_xlabel(x)
    axis.set_ylabel(y)


def over(rows: list[dict], x: str, y: str) -> tuple[list, list]:
    """Abscissas in ascending order, and the ordinates; the first row of each abscissa counts."""
    points: dict = {}
    for row in rows:
        points.setdefault(row[x], row[y])
    return sorted(points), [points[key] for key in sorted(points)]


def species(plt):
    """Points a second over the number of species. The curve of the H200 is of two commits; the title names them."""
    figure, axes = grid(plt, 2, 2, (3.6, 3.2), (0, 0))
    panels = (named("properties-h200", "properties-h200-4-20", mixed=True), named("properties-epyc"))
    for axis, runs in zip(axes.flat, panels):
        rows = rows_of(runs)
        for case in CASES:
            own = [row for row in rows if row["case"] == case]
            axis.loglog(*over(own, "ns", "points_per_s"), "o-", label=case)
            beside = [row for row in own if row["rival"] == STRONGEST]
            if beside:
                label = STRONGEST if case == CASES[0] else None
                axis.loglog(
                    *over(beside, "ns", "rival_points_per_s"), "x:", color=axis.lines[-1].get_color(), label=label
                )

        titled(axis, runs, "species", "points a second")
        axis.legend(fontsize=7)

    return figure


def bounds(plt):
    """Share of the bound over the number of species, and of tensor expressions."""
    figure, axes = grid(plt, 3, 3, (3.2, 3.2), (0, 0))
    panels = (named("properties-h200", "properties-h200-4-20", mixed=True), named("properties-xeon"))
    for axis, runs in zip(axes.flat, panels):
        rows = rows_of(runs)
        for case in CASES:
            found = over([row for row in rows if row["case"] == case], "ns", "bound_fraction")
            axis.semilogx(found[0], [100 * share for share in found[1]], "o-", label=case)

        titled(axis, runs, "species", "share of the bound [%]")
        axis.set_ylim(0, 105)
        axis.legend(fontsize=7)

    axis, runs = axes.flat[2], named("tensor-h200")
    shares = sorted(100 * row["share"] for row in _chosen(runs[0]))
    axis.plot(range(1, len(shares) + 1), shares, "o", markersize=3)
    titled(axis, runs, "tensor expressions, by their share", "share of the bound [%]")
    axis.set_ylim(0, 105)

    return figure


def ranks(plt):
    """Block calls of several ranks together: nanoseconds a point."""
    figure, axes = grid(plt, 2, 2, (3.6, 3.2), (0, 0))
    axis, runs = axes.flat[0], named("blocks-ranks-h200")
    for kind in ("pinned", "pageable"):
        for way in ("in turns", "by the service"):
            start = f"80x80x80, {kind}, {way},"
            rows = [r for r in runs[0].rows if r["case"].startswith(start) and r["case"].endswith("chunk 131072")]
            _ranks(axis, rows, f"{kind}, {way}")

    titled(axis, runs, "ranks on one GPU", "ns a point, all ranks together")

    axis, runs = axes.flat[1], named("blocks-two-h100")
    for shape in ("64x64x64", "128x128x128"):
        for gpus in (1, 2):
            rows = [r for r in runs[0].rows if r["case"].startswith(shape) and r.get("gpus", 1) == gpus]
            _ranks(axis, rows, f"{shape}, {gpus} GPU{'s' * (gpus > 1)}")

    titled(axis, runs, "ranks", "ns a point, all ranks together")

    for axis in axes.flat:
        axis.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=7)

    return figure


def _ranks(axis, rows: list[dict], label: str) -> None:
    x, seconds = over(rows, "ranks", "seconds_per_point")
    axis.semilogx(x, [1e9 * value for value in seconds], "o-", base=2, label=label)


def extents(plt):
    """Block calls over the points of a block, and Nekbone's operators over the points of an element's edge."""
    figure, axes = grid(plt, 2, 2, (3.6, 3.2), (0, 0))
    axis, runs = axes.flat[0], named("blocks-h200", "blocks-pageable-h200")
    rows = [{**row, "points": _points(row["case"])} for row in rows_of(runs)]

    for kind in ("pinned", "pageable"):
        for count in (1, 8):
            found = over([r for r in rows if kind in r["case"] and r["ranks"] == count], "points", "seconds_per_point")
            label = f"{kind}, {count} rank{'s' * (count > 1)}"
            axis.semilogx(found[0], [1e9 * value for value in found[1]], "o-", label=label)

    titled(axis, runs, "points of a block", "ns a point, all ranks together")

    axis, (run_,) = axes.flat[1], named("tensor-h200")
    for operator in ("Lg3", "Lg3t", "Ax g = J"):
        sized = [(re.fullmatch(rf"{operator} n = (\d+)", row["case"]), row) for row in _chosen(run_)]
        rows = [{**row, "n": int(match[1])} for match, row in sized if match]
        axis.plot(*over(rows, "n", "ratio"), "o-", label=operator)

    titled(axis, [run_], "points along an element's edge", "times faster than the best library")

    for axis in axes.flat:
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=7)

    return figure


def _chosen(run_: Run) -> list[dict]:
    """Rows of the organisations that are chosen by default."""
    return [row for row in run_.rows if row["ours"] and row["chosen"]]


def _points(case: str) -> int:
    """Number of points of a block, from a case that begins with extents such as 64x64x64."""
    product = 1
    for extent in case.split(",")[0].split("x"):
        product *= int(extent)
    return product


def barracuda(plt):
    """Barracuda's rows: GF/s of all sides, and what the searches found over what they measured."""
    figure, axes = grid(plt, 2, 1, (10, 3.6), (0, 0))
    runs = named("barracuda-h100", "barracuda-openacc-h100")
    sides = ("sequential C", "OpenMP", "OpenACC naive", "OpenACC tuned", "einsum", "torch_einsum", "SURF", "layer")
    colours = dict(zip(sides, plt.colormaps["tab10"].colors))
    for axis, run_ in zip(axes.flat, runs):
        rows = [row for row in run_.rows if row["side"] in sides and not row["case"].startswith("Nekbone")]
        cases = list(dict.fromkeys(row["case"] for row in rows))
        for side in sides:
            own = {row["case"]: row["gflops"] for row in rows if row["side"] == side}
            at = [x for x, case in enumerate(cases) if case in own]
            if at:
                line = "o-" if side == "layer" else "o"
                rates = [own[cases[x]] for x in at]
                axis.semilogy(at, rates, line, color=colours[side], label=side, markersize=4)

        names = [case.partition(" ")[0] if "_" in case and "TCE" not in case else case for case in cases]
        axis.set_xticks(range(len(cases)), names, rotation=60, fontsize=7)
        titled(axis, [run_], "", "GF/s")
        axis.legend(fontsize=7, ncols=4)

    return figure


def intrepid_surfaces(plt):
    """Speedup over serial C by contraction size (down) and memory (across), for each contraction and method."""
    (run_,) = named("intrepid-h100")
    cases = list(dict.fromkeys(row["case"] for row in run_.rows))
    methods = list(dict.fromkeys(row["method"] for row in run_.rows if row["method"] != "serial C"))
    points, memory = (sorted({row[key] for row in run_.rows}) for key in ("points", "megabytes"))

    figure, axes = grid(plt, len(cases) * len(methods), len(methods), (1.15, 1.25), (0.8, 0.6))
    for line, case in enumerate(cases):
        for column, method in enumerate(methods):
            axis = axes[line, column]
            own = [row for row in run_.rows if (row["case"], row["method"]) == (case, method)]
            _surface(axis, own, points, memory)
            if line == 0:
                axis.set_title(method, fontsize=7)
            if column == 0:
                axis.set_ylabel(f"{case.removeprefix('contract')}\npoints", fontsize=6)
                axis.set_yticks(range(len(points)), points, fontsize=6)

    figure.suptitle(
        f"times serial C on one core; across: MB of all arrays. {run_.machine}, commit {run_.commit}", fontsize=8
    )
    return figure


def _surface(axis, rows: list[dict], points: list, memory: list) -> None:
    """Numbers in cells, coloured by their logarithm from 0.1 to 10 000; empty where a method does not apply."""
    cells = np.full((len(points), len(memory)), np.nan)
    for row in rows:
        cells[points.index(row["points"]), memory.index(row["megabytes"])] = row["speedup"]

    with np.errstate(divide="ignore"):
        axis.imshow(np.log10(cells), cmap="RdYlGn", vmin=-1, vmax=4, aspect="auto")

    for (y, x), value in np.ndenumerate(cells):
        if np.isfinite(value):
            text = f"{value:.3g}" if value < 1000 else f"{value:.0f}"
            axis.text(x, y, text, ha="center", va="center", fontsize=4)

    axis.set_xticks(range(len(memory)), [f"{x:g}" for x in memory], fontsize=6)
    axis.set_yticks([])


def intrepid_times(plt):
    """Raw times of all methods over the contraction size, at the largest memory."""
    (run_,) = named("intrepid-h100")
    cases = list(dict.fromkeys(row["case"] for row in run_.rows))
    largest = max(row["megabytes"] for row in run_.rows)
    methods = list(dict.fromkeys(row["method"] for row in run_.rows))
    colours = dict(zip(methods, plt.colormaps["tab20"].colors))
    figure, axes = grid(plt, len(cases), 3, (3.4, 2.6), (0, 0.8))
    lines = {}
    for axis, case in zip(axes.flat, cases):
        own = [row for row in run_.rows if row["case"] == case and row["megabytes"] == largest]
        for method in dict.fromkeys(row["method"] for row in own):
            points, seconds = over([row for row in own if row["method"] == method], "points", "seconds")
            (lines[method],) = axis.loglog(points, seconds, "o-", color=colours[method], markersize=4)
        axis.set_title(case.removeprefix("contract"), fontsize=8)
        axis.set_xlabel("points", fontsize=7)
        axis.set_ylabel("seconds", fontsize=7)

    figure.legend(list(lines.values()), list(lines), loc="outside lower center", ncols=7, fontsize=7)
    figure.suptitle(f"{largest:g} MB of arrays, {run_.machine}, commit {run_.commit}", fontsize=8)
    return figure


def hierarchy(plt):
    """The product <y|Ax> over the number of rows: flat, teams, teams and lanes, in both layouts, as shares of the
    memory's pace; a panel for each machine."""
    runs = named("hierarchy-h200") + named("hierarchy-xeon")
    figure, axes = grid(plt, len(runs), 2, (4.2, 3.4), (0, 0))
    for axis, run_ in zip(axes.flat, runs):
        rows = [{**row, "rows": int(row["sizes"].split("x")[0])} for row in run_.rows if row["table"] == "sweep"]
        for method in ("flat", "team", "vector"):
            colour = None
            for layout, line in (("right", "o-"), ("left", "x:")):
                own = [row for row in rows if row["case"] == f"yax_sweep {method} {layout}"]
                x, rates = over(own, "rows", "bytes_per_s")
                label = f"{method}, {'rows' if layout == 'right' else 'columns'} contiguous"
                axis.loglog(x, [1e-9 * rate for rate in rates], line, color=colour, label=label)
                colour = axis.lines[-1].get_color()

        pace = 1e-9 * rows[0]["bytes_per_s"] / rows[0]["share"]
        axis.axhline(pace, color="grey", linewidth=0.8, label="memory")
        titled(axis, [run_], "rows of 1024 numbers", "GB/s")
        axis.legend(fontsize=6)

    return figure


PICTURES = {
    "hierarchy": hierarchy,
    "speed_over_species": species,
    "share_of_the_bound": bounds,
    "speed_over_ranks": ranks,
    "speed_over_extents": extents,
    "barracuda": barracuda,
    "intrepid_surfaces": intrepid_surfaces,
    "intrepid_times": intrepid_times,
}
