"""Tables of fluids: rows written into a file, the others and the lines of comments left as they are."""

from __future__ import annotations

import csv
import io
import math
import pathlib

from kernels.gas.species import fluids
from kernels.gas.species.fluids import COLUMNS, Fluid

HEAD = """\
# Parameters of equation `mapped` and of transport by residual entropy, written by `python -m frame fit`.
# kernels/gas/species/fluids.py says what the columns are.
"""


def write(path: pathlib.Path, rows: list[Fluid]) -> None:
    """Writes rows into a table. A row of the same name is replaced; a file that is not there is made."""
    head, known = HEAD, {}
    if path.exists():
        known = fluids.read(path)
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        head = "".join(line for line in lines if line.startswith("#"))

    known |= {row.fluid: row for row in rows}

    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in known.values():
        table.writerow(_text(getattr(row, column)) for column in COLUMNS)

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head + out.getvalue(), encoding="utf-8")


def _text(value) -> str:
    """A cell: a text as it is, nine digits of a number, nothing for nan."""
    if isinstance(value, str):
        return value
    return "" if math.isnan(value) else f"{value:.9g}"
