"""How CUDA launches of point programs are organised: a table of what was measured to be fastest, read by four rules.

The table is launches.csv, or the file that FRAME_LAUNCHES names; `python -m frame tune --mixture FILE` writes such
files. A row serves a program whose kernels sweep all that its `sweeps` name, and whose mixture and precision meet its
`when`. One with the word `only` before its sweeps, as tuning writes them, serves programs that sweep nothing else, at
its own number of species. Of the rows that serve

1. those of this device count, or all where none is of this device;
2. the first from the top says which: those with its sweeps and conditions (the table goes from special to general);
3. of these the one whose number of species is nearest in ratio is taken, the larger number of two as near;
4. where its block needs more shared memory than the device has for one, the next sweeps and conditions of rule 2 count.
   So a device with less than the one of the table has a thread a point where warps or lanes do not fit.

A point's last bits may depend on the launch, so `python -m frame info` says which table is in force. No cache folder
has a part in the choice.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import itertools
import math
import os
import pathlib
from typing import Any

from ...engine.errors import ArgumentError, refuse
from ..plan import make_plan
from . import SHARING
from .schedule import Launch

COMMITTED = pathlib.Path(__file__).with_suffix(".csv")
LAUNCH = tuple(field.name for field in dataclasses.fields(Launch))
COLUMNS = ("sweeps", "when", "ns", *LAUNCH, "device", "compiler", "date")


@dataclasses.dataclass(frozen=True)
class Row:
    """sweeps: words, see declare.PointKernel, and `only`. when: option -> values, with `precision`, `k_ij` (its
    structure), `crew` and `lanes` (whether warps, or the lanes of one, can share a point's work: yes or no) as further
    options. how: `unroll` 0 stands
    for the number of species. line: of the file."""

    sweeps: frozenset[str]
    when: tuple[tuple[str, tuple[str, ...]], ...]
    ns: int
    how: Launch
    device: str
    compiler: str
    date: str
    line: int = dataclasses.field(default=0, compare=False)

    def serves(self, sweeps, facts, ns: int) -> bool:
        if "only" in self.sweeps and (self.ns != ns or sweeps != self.sweeps - {"only"}):
            return False
        return self.sweeps - {"only"} <= sweeps and all(facts.get(key) in values for key, values in self.when)

    def cells(self) -> list[str]:
        """As they stand in the file."""
        when = " ".join(f"{key}={'|'.join(values)}" for key, values in self.when)
        how = [str(getattr(self.how, name)) for name in LAUNCH]
        sweeps = sorted(self.sweeps, key=lambda word: (word != "only", word))
        return [" ".join(sweeps), when, str(self.ns), *how, self.device, self.compiler, self.date]


def in_force() -> pathlib.Path:
    """The file that is read: FRAME_LAUNCHES, else the committed one."""
    named = os.environ.get("FRAME_LAUNCHES")
    return pathlib.Path(named).expanduser() if named else COMMITTED


@functools.lru_cache(None)
def read(path: pathlib.Path) -> tuple[Row, ...]:
    """The rows of a table. Raises ArgumentError that names the line."""
    try:
        with open(path, newline="") as file:
            return tuple(_row(cells, path, line) for line, cells in enumerate(csv.DictReader(file), 2))
    except OSError as error:
        raise ArgumentError(f"no table of launches {str(path)!r} (FRAME_LAUNCHES): {error.strerror}.") from None


def _row(cells, path, line: int) -> Row:
    try:
        how: dict[str, Any] = {
            name: cells[name] if not cells[name].isdecimal() else int(cells[name]) for name in LAUNCH
        }
        how["persistent"] = {"True": True, "False": False}[cells["persistent"]]
        when = tuple((key, tuple(v.split("|"))) for key, v in (w.split("=") for w in cells["when"].split()))
        sweeps, ns = frozenset(cells["sweeps"].split()), int(cells["ns"])
        return Row(sweeps, when, ns, Launch(**how), cells["device"], cells["compiler"], cells["date"], line)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ArgumentError(f"{path}, line {line}: {error}; wanted the columns {', '.join(COLUMNS)}.") from None


def write(path: pathlib.Path, rows) -> None:
    """Write the rows (Row) to a table of launches at `path`, in place of what it holds."""
    with open(path, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        out.writerows(row.cells() for row in rows)


def sweeps_of(kernels) -> frozenset[str]:
    """The words that these kernels declare as `sweeps`."""
    return frozenset(word for kernel in kernels for word in kernel.sweeps.split())


def facts_of(kernels, mixture, precision: str) -> dict[str, str]:
    """What a row of the table may ask for, {name: value}: options and facts of the mixture, precision, and whether the
    kernels run by crews or by lanes."""
    facts = {**mixture.options, **mixture.facts, "precision": precision}
    for schedule in SHARING:
        facts[schedule.name] = "yes" if schedule.serves(kernels, mixture) else "no"
    return facts


def serving(kernels, mixture, precision: str = "double", device: str = "", table=None, memory: int = 0) -> Row:
    """The row that serves a program, by the rules above; by the first three where none fits. device: as Backend.product
    has it. table: rows, in place of the table in force. memory: bytes of shared memory of a block, 0 where that is not
    known. Raises ArgumentError where no row serves."""
    sweeps, facts = sweeps_of(kernels), facts_of(kernels, mixture, precision)
    rows = read(in_force()) if table is None else table
    rows = [row for row in rows if row.serves(sweeps, facts, mixture.ns)]
    rows = [row for row in rows if row.device == device] or rows
    refuse(not rows, f"the table of launches {in_force()} has no row for sweeps {', '.join(sweeps) or 'none'}.")
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault((row.sweeps, row.when), []).append(row)
    nearest = [min(g, key=lambda row: (abs(math.log(row.ns / mixture.ns)), -row.ns)) for g in groups.values()]
    if memory:
        for row in nearest:
            plan = make_plan(kernels, None, mixture, _how(row, mixture), precision)
            if plan.schedule.shape(plan).shared <= memory:
                return row
    return nearest[0]


def chosen(kernels, mixture, precision: str = "double", device: str = "", table=None, memory: int = 0) -> Launch:
    """The launch of a program: that of the row that serves it."""
    return _how(serving(kernels, mixture, precision, device, table, memory), mixture)


def _how(row: Row, mixture) -> Launch:
    return row.how if row.how.unroll else dataclasses.replace(row.how, unroll=mixture.ns)


def measured(kernels, mixture, precision: str, how: Launch, backend, date: str) -> Row:
    """The row of what was found to be fastest for a program on this device: it holds for what the committed table
    distinguishes."""
    facts = facts_of(kernels, mixture, precision)
    known = sorted({key for row in read(COMMITTED) for key, _ in row.when})
    sweeps, when = sweeps_of(kernels) | {"only"}, tuple((key, (facts[key],)) for key in known)
    return Row(sweeps, when, mixture.ns, how, backend.product, backend.compiler, date)


def with_measured(rows, found) -> list[Row]:
    """A table's rows behind those found, which take the place of rows for the same programs on the same device."""
    place = lambda row: (row.sweeps, row.when, row.ns, row.device)
    known = {place(row) for row in found}
    return [*found, *(row for row in rows if place(row) not in known)]


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
                sums: list[dict[str, Any]] = [dict(unroll=4, pairs=10)]
                sums += [dict(unroll=unroll, pairs="units") for unroll in (12, ns) if resident <= 512]
                out += [
                    Launch(threads, hold=hold, blocks=resident // threads, constants="shared", **how) for how in sums
                ]
    out += [dataclasses.replace(how, persistent=True) for how in out if how.hold != "registers"]
    return list(dict.fromkeys(how for how in out if how.blocks))


def crews() -> list[Launch]:
    """What may win where warps can share the work of points."""
    return [
        Launch(256, "crew", points, blocks, constants=constants)
        for points, blocks, constants in itertools.product((1, 2), (1, 2, 3, 4), ("constant", "device"))
    ]


def text(how: Launch) -> str:
    """A launch in one line, as `info` and `tune` print it."""
    return " ".join(f"{k}={v}" for k, v in dataclasses.asdict(how).items())
