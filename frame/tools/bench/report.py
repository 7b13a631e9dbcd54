"""Result of a bench: measured rows, facts, notes; as a table, as Markdown, as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import sys
from collections.abc import Iterable

from .. import tables

SHOWN = {"shown": True}  # fields of the tables that the JSON does not have


@dataclasses.dataclass
class Row:
    """A measurement beside a rival. None: has no meaning for this row (a launch has no roofline)."""

    bench: str
    case: str
    ns: int | None
    points: int
    backend: str
    seconds: float  # of a pass over all points, median
    points_per_s: float
    rival: str | None = None
    rival_points_per_s: float | None = None
    ratio: float | None = None  # times faster than the rival
    bound: float | None = None  # points a second that the roofline allows
    bound_fraction: float | None = None
    max_rel_diff: float | None = None
    bound_by: str = dataclasses.field(default="", metadata=SHOWN)  # name of the roof
    ours: bool = dataclasses.field(default=False, metadata=SHOWN)  # the rival is the layer itself in another form

    @classmethod
    def timed(cls, bench: str, case: str, ns: int | None, points: int, backend, seconds: float) -> Row:
        """A row without a rival, from the seconds of a pass."""
        return cls(bench, case, ns, points, str(backend), seconds, points / seconds)

    def beside(self, rival: str, pace: float, error: float | None = None, ours: bool = False) -> Row:
        """The row beside a rival: its points a second, and the largest relative difference of the values."""
        ratio = self.points_per_s / pace
        return dataclasses.replace(
            self, rival=rival, rival_points_per_s=pace, ratio=ratio, max_rel_diff=error, ours=ours
        )

    def below(self, bound: float, by: str) -> Row:
        """The row with a bound (points a second) and the name of the roof."""
        return dataclasses.replace(self, bound=bound, bound_by=by, bound_fraction=self.points_per_s / bound)

    def record(self) -> dict:
        """The fields that the JSON has."""
        return {key: getattr(self, key) for key in KEYS}


@dataclasses.dataclass
class Report:
    """Results of a bench."""

    rows: list[Row]
    facts: list[str]  # lines on compilers, versions, ceilings
    notes: str  # how to read the rows
    targets: list[list[str]] = dataclasses.field(default_factory=list)  # cells of a second table, headings first


KEYS = tuple(field.name for field in dataclasses.fields(Row) if not field.metadata)


def dumps(rows: Iterable[Row]) -> str:
    """The rows as JSON."""
    return json.dumps([row.record() for row in rows], indent=1)


def write(text: str, to: str | None) -> None:
    """Writes a text to where an option says: a file, and its folder, standard output for "-", nowhere for None."""
    if to == "-":
        print(text)
    elif to:
        path = pathlib.Path(to)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


def show(lines: list[str], rows: list[dict], to: str | None) -> None:
    """Prints lines, and writes the rows as JSON to where --json says: with "-" the lines go to standard error."""
    print("\n".join(lines), file=sys.stderr if to == "-" else sys.stdout)
    write(json.dumps(rows, indent=1), to)


def rate(points_per_s: float | None) -> str:
    """Points a second in the unit that leaves a readable number."""
    if points_per_s is None or math.isnan(points_per_s):
        return "-"
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if points_per_s >= size:
            return f"{points_per_s / size:.3g} {unit}/s"
    return f"{points_per_s:.3g} /s"


def span(seconds: float) -> str:
    """A time with three digits and a unit."""
    for size, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _or_dash(value, text: str = "{}") -> str:
    return "-" if value is None else text.format(value)


def strongest(rows: Iterable[Row]) -> Row | None:
    """The row of the fastest rival, of the rows of a case. The layer in another precision is no rival."""
    rivals = [row for row in rows if row.rival and not row.ours]
    return max(rivals, key=lambda row: row.rival_points_per_s or 0.0, default=None)


LAUNCH_HEADS = ["what", "NS", "points", "takes", "beside", "that takes", "ratio"]


def _launch_cells(row: Row) -> list[str]:
    rival_seconds = None if row.rival_points_per_s is None else row.points / row.rival_points_per_s
    return [
        row.case,
        _or_dash(row.ns),
        str(row.points),
        span(row.seconds),
        row.rival or "-",
        "-" if rival_seconds is None else span(rival_seconds),
        _or_dash(row.ratio, "{:.3g}"),
    ]


def _case_cells(rows: list[Row], rivals: list[str]) -> list[str]:
    """The line of a case: pace, rivals with time a point and ratio, bound, largest difference."""
    first = rows[0]
    cells = [first.case, _or_dash(first.ns), rate(first.points_per_s), span(first.seconds / max(first.points, 1))]

    if len(rivals) > 1:
        best = strongest(rows)
        cells.append(f"{best.ratio:.3g}x {best.rival}" if best else "-")

    beside = {}
    for row in rows:
        if row.rival_points_per_s:
            beside[row.rival] = f"{span(1 / row.rival_points_per_s)} ({row.ratio:.3g}x)"
    cells += [beside.get(name, "-") for name in rivals]

    reached = first.bound_fraction and 100 * first.bound_fraction
    worst = max((row.max_rel_diff for row in rows if row.max_rel_diff is not None), default=None)
    return [*cells, rate(first.bound), first.bound_by or "-", _or_dash(reached, "{:.0f} %"), _or_dash(worst, "{:.1e}")]


def _lines(rows: list[Row]) -> list[list[str]]:
    """Headings and cells: a line for each launch, or for each case and NS with all rivals side by side."""
    if all(row.bench == "launch" for row in rows):
        return [LAUNCH_HEADS, *map(_launch_cells, rows)]

    rivals = list(dict.fromkeys(row.rival for row in rows if row.rival))
    cases: dict[tuple, list[Row]] = {}
    for row in rows:
        cases.setdefault((row.case, row.ns, row.points), []).append(row)

    heads = ["case", "NS", "pace", "a point"]
    if len(rivals) > 1:
        heads.append("beside the strongest")
    heads += [*rivals, "bound", "by", "reached", "largest rel. diff."]
    return [heads, *(_case_cells(same, rivals) for same in cases.values())]


def table(rows: list[Row]) -> str:
    """Columns aligned for a terminal."""
    return "\n".join(tables.aligned(_lines(rows)))


def markdown(rows: list[Row]) -> str:
    """The same as a Markdown table, numbers to the right."""
    return "\n".join(tables.markdown(*_lines(rows), to_the_right=True))
