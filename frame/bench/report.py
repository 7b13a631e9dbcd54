"""What a bench hands back: measured rows, facts, notes; and the ways to show them: table, Markdown, JSON."""
from __future__ import annotations

import dataclasses
import json
import math


@dataclasses.dataclass
class Row:
    """One measurement beside one rival; None where a thing has no meaning (a launch has no roofline).

    seconds: a pass over all points, median. bound: points a second that the roofline allows; bound_by: which roof.
    """

    bench: str
    case: str
    ns: int | None
    points: int
    backend: str
    seconds: float
    points_per_s: float
    rival: str | None = None
    rival_points_per_s: float | None = None
    ratio: float | None = None
    bound: float | None = None
    bound_fraction: float | None = None
    max_rel_diff: float | None = None
    bound_by: str = dataclasses.field(default="", metadata={"shown": True})

    def record(self) -> dict:
        """The row as JSON has it."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if not f.metadata}


@dataclasses.dataclass
class Report:
    """rows; facts: what was measured with (compilers, versions, ceilings), one a line; notes: how to read the rows."""

    rows: list[Row]
    facts: list[str]
    notes: str


KEYS = tuple(f.name for f in dataclasses.fields(Row) if not f.metadata)


def dumps(rows) -> str:
    return json.dumps([row.record() for row in rows], indent=1)


def rate(points_per_s) -> str:
    """Points a second in the unit that leaves a readable number."""
    if points_per_s is None or math.isnan(points_per_s):
        return "-"
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if points_per_s >= size:
            return f"{points_per_s/size:.3g} {unit}/s"
    return f"{points_per_s:.3g} /s"


def span(seconds: float) -> str:
    for size, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= size:
            return f"{seconds/size:.3g} {unit}"
    return f"{seconds*1e9:.3g} ns"


def _or_dash(value, text: str) -> str:
    return "-" if value is None else text.format(value)


def _cells(row: Row) -> list[str]:
    return [row.case, _or_dash(row.ns, "{}"), rate(row.points_per_s), span(row.seconds/max(row.points, 1)), row.rival or "-",
            rate(row.rival_points_per_s), _or_dash(row.ratio, "{:.3g}"), rate(row.bound), row.bound_by or "-",
            "-" if row.bound_fraction is None else f"{100*row.bound_fraction:.0f} %", _or_dash(row.max_rel_diff, "{:.1e}")]


def _launch_cells(row: Row) -> list[str]:
    return [row.case, _or_dash(row.ns, "{}"), str(row.points), span(row.seconds), row.rival or "-",
            "-" if row.rival_points_per_s is None else span(row.points/row.rival_points_per_s), _or_dash(row.ratio, "{:.3g}")]


HEADS = ["case", "NS", "points", "a point", "rival", "rival's", "ratio", "bound", "by", "reached", "largest rel. diff."]
LAUNCH_HEADS = ["what", "NS", "points", "takes", "beside", "that takes", "ratio"]


def _grid(rows):
    if all(row.bench == "launch" for row in rows):
        return LAUNCH_HEADS, [_launch_cells(row) for row in rows]
    return HEADS, [_cells(row) for row in rows]


def table(rows) -> str:
    """Columns aligned for a terminal."""
    heads, cells = _grid(rows)
    width = [max(len(line[i]) for line in [heads, *cells]) for i in range(len(heads))]
    lines = ["  ".join(f"{text:<{w}}" if i == 0 else f"{text:>{w}}" for i, (text, w) in enumerate(zip(line, width))).rstrip()
             for line in [heads, *cells]]
    return "\n".join(lines)


def markdown(rows) -> str:
    """The same as a Markdown table."""
    heads, cells = _grid(rows)
    lines = [heads, ["---"] + ["---:"]*(len(heads) - 1), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
