"""How CUDA launches of point programs are organised: a table of what was measured to be fastest, read by three rules.

The table is launches.csv, or the file that FRAME_LAUNCHES names; `python -m frame tune` writes such files. A row serves
a program whose kernels sweep all that its `sweeps` name, and whose mixture and precision meet its `when`. Of the rows
that serve

1. those of this device count, or all where the device is in no row;
2. those that name most sweeps count, of them those with most conditions;
3. the one whose number of species is nearest in ratio is taken, the larger number of two as near.

A point's last bits may depend on the launch, so the table in force is told by `python -m frame info`.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import itertools
import math
import os
import pathlib

from ..errors import ArgumentError
from .plan import Launch

COMMITTED = pathlib.Path(__file__).with_suffix(".csv")
LAUNCH = tuple(field.name for field in dataclasses.fields(Launch))
COLUMNS = ("sweeps", "when", "ns", *LAUNCH, "device", "compiler", "date")


@dataclasses.dataclass(frozen=True)
class Row:
    """sweeps: words, see declare.PointKernel. when: option -> values, with `precision` and `k_ij` (its structure) as
    further options. how: `unroll` 0 stands for the number of species."""

    sweeps: frozenset[str]
    when: tuple[tuple[str, tuple[str, ...]], ...]
    ns: int
    how: Launch
    device: str
    compiler: str
    date: str

    def serves(self, sweeps, facts) -> bool:
        return self.sweeps <= sweeps and all(facts.get(key) in values for key, values in self.when)

    def cells(self) -> list[str]:
        """As they stand in the file."""
        when = " ".join(f"{key}={'|'.join(values)}" for key, values in self.when)
        how = [str(getattr(self.how, name)) for name in LAUNCH]
        return [" ".join(sorted(self.sweeps)), when, str(self.ns), *how, self.device, self.compiler, self.date]


def in_force() -> pathlib.Path:
    """The file that is read: FRAME_LAUNCHES, else the committed one."""
    named = os.environ.get("FRAME_LAUNCHES")
    return pathlib.Path(named).expanduser() if named else COMMITTED


@functools.lru_cache(None)
def read(path: pathlib.Path) -> tuple[Row, ...]:
    """The rows of a table. Raises ArgumentError that names the line."""
    rows = []
    try:
        with open(path, newline="") as file:
            for line, cells in enumerate(csv.DictReader(file), 2):
                rows.append(_row(cells, f"{path}, line {line}"))
    except OSError as error:
        raise ArgumentError(f"no table of launches {str(path)!r} (FRAME_LAUNCHES): {error.strerror}.") from None
    return tuple(rows)


def _row(cells, where: str) -> Row:
    try:
        how = {name: cells[name] if not cells[name].isdecimal() else int(cells[name]) for name in LAUNCH}
        how["persistent"] = {"True": True, "False": False}[cells["persistent"]]
        when = tuple((key, tuple(v.split("|"))) for key, v in (w.split("=") for w in cells["when"].split()))
        sweeps, ns = frozenset(cells["sweeps"].split()), int(cells["ns"])
        return Row(sweeps, when, ns, Launch(**how), cells["device"], cells["compiler"], cells["date"])
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ArgumentError(f"{where}: {error}; wanted the columns {', '.join(COLUMNS)}.") from None


def write(path: pathlib.Path, rows) -> None:
    with open(path, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        out.writerows(row.cells() for row in rows)


def sweeps_of(kernels) -> frozenset[str]:
    return frozenset(word for kernel in kernels for word in kernel.sweeps.split())


def facts_of(mixture, precision: str) -> dict[str, str]:
    return {**mixture.options, "precision": precision, "k_ij": mixture.structure}


def chosen(kernels, mixture, precision: str = "double", device: str = "", table=None) -> Launch:
    """The launch of a program by the rules above."""
    rows = read(in_force()) if table is None else table
    sweeps, facts = sweeps_of(kernels), facts_of(mixture, precision)
    rows = [row for row in rows if row.serves(sweeps, facts)]
    rows = [row for row in rows if row.device == device] or rows
    if not rows:
        raise ArgumentError(f"the table of launches {in_force()} has no row for sweeps {', '.join(sweeps) or 'none'}.")
    most = max((len(row.sweeps), len(row.when)) for row in rows)
    rows = [row for row in rows if (len(row.sweeps), len(row.when)) == most]
    best = min(rows, key=lambda row: (abs(math.log(row.ns / mixture.ns)), -row.ns))
    return best.how if best.how.unroll else dataclasses.replace(best.how, unroll=mixture.ns)


def candidates(ns: int) -> list[Launch]:
    """What may win: registers up to 24 species; above 12, matrix units and panels."""
    out = []
    for threads in (64, 128, 256, 384):
        if ns <= 24:
            for resident in (256, 384, 512, 640, 768):
                for constants in ("constant", "shared"):
                    out += [
                        Launch(threads, blocks=resident // threads, pairs=pairs, constants=constants)
                        for pairs in (2, 3, 4, 5)
                    ]
        if ns > 12:
            for resident, hold in itertools.product((256, 384, 512, 768, 1024), ("shared", "reload")):
                sums = [dict(unroll=4, pairs=10)]
                sums += [dict(unroll=unroll, pairs="units") for unroll in (12, ns) if resident <= 512]
                out += [
                    Launch(threads, hold=hold, blocks=resident // threads, constants="shared", **how) for how in sums
                ]
    out += [dataclasses.replace(how, persistent=True) for how in out if how.hold != "registers"]
    return [how for how in out if how.blocks]


def text(how: Launch) -> str:
    return " ".join(f"{k}={v}" for k, v in dataclasses.asdict(how).items())
