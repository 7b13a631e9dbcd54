"""Result of a bench: measured rows, facts, notes; as a table, as Markdown, as JSON."""

from __future__ import annotations

import dataclasses
import json
import math


@dataclasses.dataclass
class Row:
    """One measurement beside one rival; None where a thing has no meaning (a launch has no roofline).

    seconds: a pass over all points, median. bound: points a second that the roofline allows; bound_by: which roof.
    ours: the rival is the layer itself in another form.
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
    ours: bool = dataclasses.field(default=False, metadata={"shown": True})

    def record(self) -> dict:
        """The row as JSON has it."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if not f.metadata}


@dataclasses.dataclass
class Report:
    """rows: measurements; facts: lines on compilers, versions, ceilings; notes: how to read the rows."""

    rows: list[Row]
    facts: list[str]
    notes: str


KEYS = tuple(f.name for f in dataclasses.fields(Row) if not f.metadata)


def dumps(rows) -> str:
    """The rows as JSON."""
    return json.dumps([row.record() for row in rows], indent=1)


def rate(points_per_s) -> str:
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


def _or_dash(value, text: str) -> str:
    return "-" if value is None else text.format(value)


def _launch_cells(row: Row) -> list[str]:
    return [
        row.case,
        _or_dash(row.ns, "{}"),
        str(row.points),
        span(row.seconds),
        row.rival or "-",
        "-" if row.rival_points_per_s is None else span(row.points / row.rival_points_per_s),
        _or_dash(row.ratio, "{:.3g}"),
    ]


LAUNCH_HEADS = ["what", "NS", "points", "takes", "beside", "that takes", "ratio"]


def strongest(rows) -> Row | None:
    """The row of the fastest rival, of the rows of a case. The layer in another precision is no rival."""
    return max(
        (row for row in rows if row.rival and not row.ours), key=lambda row: row.rival_points_per_s, default=None
    )


def _side_by_side(rows):
    """One line a case and NS. Where there are several rivals, first how many times the strongest one's time ours is;
    then of each rival its time a point and, in brackets, the same."""
    rivals = list(dict.fromkeys(row.rival for row in rows if row.rival))
    several = len(rivals) > 1
    lines: dict[tuple, list[Row]] = {}
    for row in rows:
        lines.setdefault((row.case, row.ns, row.points), []).append(row)
    cells = []
    for (case, ns, _), same in lines.items():
        first, beside = (
            same[0],
            {
                row.rival: f"{span(1 / row.rival_points_per_s)} ({row.ratio:.3g}x)"
                for row in same
                if row.rival_points_per_s
            },
        )
        best = strongest(same)
        worst = max((row.max_rel_diff for row in same if row.max_rel_diff is not None), default=None)
        cells.append(
            [
                case,
                _or_dash(ns, "{}"),
                rate(first.points_per_s),
                span(first.seconds / max(first.points, 1)),
                *([f"{best.ratio:.3g}x {best.rival}" if best else "-"] if several else []),
                *(beside.get(name, "-") for name in rivals),
                rate(first.bound),
                first.bound_by or "-",
                _or_dash(first.bound_fraction and 100 * first.bound_fraction, "{:.0f} %"),
                _or_dash(worst, "{:.1e}"),
            ]
        )
    heads = ["case", "NS", "pace", "a point", *(["beside the strongest"] if several else []), *rivals]
    return [*heads, "bound", "by", "reached", "largest rel. diff."], cells


def _grid(rows):
    if all(row.bench == "launch" for row in rows):
        return LAUNCH_HEADS, [_launch_cells(row) for row in rows]
    return _side_by_side(rows)


def table(rows) -> str:
    """Columns aligned for a terminal."""
    heads, cells = _grid(rows)
    width = [max(len(line[i]) for line in [heads, *cells]) for i in range(len(heads))]
    lines = [
        "  ".join(f"{text:<{w}}" if i == 0 else f"{text:>{w}}" for i, (text, w) in enumerate(zip(line, width))).rstrip()
        for line in [heads, *cells]
    ]
    return "\n".join(lines)


def markdown(rows) -> str:
    """The same as a Markdown table."""
    heads, cells = _grid(rows)
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
