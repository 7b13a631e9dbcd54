"""Files of numbers that a fit reads: a line of names, then a state, or a point, a line. Lines with # are comments."""

from __future__ import annotations

import csv
import dataclasses
import math
import pathlib

import numpy as np

from ...errors import ArgumentError, closest


@dataclasses.dataclass(frozen=True)
class Layout:
    """The columns that a file may have."""

    units: dict[str, str]  # {column: its unit}, in the order of messages
    needed: tuple[str, ...]  # columns that each line has
    line: str  # what a line is: "state"


def read(path: str | pathlib.Path, layout: Layout, own_name=None) -> dict[str, np.ndarray]:
    """{column: (n,)} of a file; NaN for a blank. own_name: function that gives the layout's name of a column that may
    have another. Raises ArgumentError, which names the line, the column, what came and what was wanted."""
    path = pathlib.Path(path)
    try:
        lines = [line for line in path.read_text(encoding="utf-8-sig").splitlines() if not line.startswith("#")]
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"--data {path}: cannot be read: {error}.") from None

    rows = list(csv.reader(line for line in lines if line.strip()))
    names = _names(path, layout, rows[0] if rows else [], own_name or str)
    numbers = [_numbers(path, layout, at, names, row) for at, row in enumerate(rows[1:], 1)]
    return dict(zip(names, np.array(numbers).reshape(-1, len(names)).T))


def _names(path, layout: Layout, head, own_name) -> list[str]:
    """The columns of the head, by the layout's names."""
    names = [own_name(name.strip()) for name in head]
    known = list(layout.units)
    for name in names:
        if name not in known:
            raise ArgumentError(
                f"--data {path}: column '{name}' is unknown{closest(name, known)}; wanted some of "
                f"{', '.join(known)}, in SI units."
            )

    lacking = [name for name in layout.needed if name not in names]
    if lacking:
        raise ArgumentError(f"--data {path}: no column {', '.join(lacking)}; wanted some of {', '.join(known)}.")
    if len(set(names)) < len(names):
        raise ArgumentError(f"--data {path}: a column came twice: {', '.join(names)}.")

    return names


def _numbers(path, layout: Layout, at: int, names, row) -> list[float]:
    """The numbers of a line; NaN for a blank."""
    where = f"--data {path}, {layout.line} {at}"
    if len(row) != len(names):
        raise ArgumentError(f"{where}: {len(row)} values came, wanted {len(names)}.")

    out = []
    for name, text in zip(names, row):
        try:
            value = float(text) if text.strip() else math.nan
        except ValueError:
            raise ArgumentError(f"{where}: {name} is '{text}', wanted a number.") from None
        if math.isnan(value) and name in layout.needed:
            raise ArgumentError(f"{where}: {name} is blank, wanted a number in {layout.units[name]}.")
        out.append(value)

    return out
