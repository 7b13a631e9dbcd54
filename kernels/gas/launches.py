"""How CUDA launches of point programs are organised: a table of the fastest measured launches, read by four rules.

The table is launches.csv, or the file that FRAME_LAUNCHES names; `python -m frame tune --mixture FILE` writes such
files. A row serves a program whose kernels sweep all that its `sweeps` name, and whose mixture and precision meet its
`when`. One with the word `only` before its sweeps, as tuning writes them, serves programs that sweep nothing else, at
its own number of species. Of the rows that serve

1. the first from the top says which: those with its sweeps and conditions (the table goes from special to general);
2. of these those of this device count, or all where none is of this device. A row for such programs from a device that
   is like this one says more than a general row from this device;
3. of these the one whose number of species is nearest in ratio is taken, the larger number of two as near;
4. where its block needs more shared memory than the device has for one, the next sweeps and conditions of rule 1 count.
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

from ..engine.errors import ArgumentError, refuse
from .plan import Launch
from .planning import make_plan
from .schedules import SHARING, schedule_of_plan

COMMITTED = pathlib.Path(__file__).with_suffix(".csv")
LAUNCH = tuple(field.name for field in dataclasses.fields(Launch))
COLUMNS = ("sweeps", "when", "ns", *LAUNCH, "device", "compiler", "date")


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the table."""

    sweeps: frozenset[str]  # words, see declare.PointKernel, and `only`
    # (fact, its values): options; `precision`; `k_ij`, its structure; `crew` and `lanes`, whether the warps of a block,
    # or the lanes of a warp, can share the points of the program: yes or no
    when: tuple[tuple[str, tuple[str, ...]], ...]
    ns: int  # number of species for which it was measured
    how: Launch  # `unroll` 0: the number of species
    device: str
    compiler: str
    date: str
    line: int = dataclasses.field(default=0, compare=False)  # of the file

    def serves(self, sweeps, facts, ns: int) -> bool:
        """Whether the row is for a program with these sweeps and facts, and this number of species."""
        if "only" in self.sweeps and (self.ns != ns or sweeps != self.sweeps - {"only"}):
            return False
        if not self.sweeps - {"only"} <= sweeps:
            return False
        return all(facts.get(key) in values for key, values in self.when)

    def cells(self) -> list[str]:
        """The cells of its line in the file."""
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
        how: dict[str, Any] = {}
        for name in LAUNCH:
            how[name] = int(cells[name]) if cells[name].isdecimal() else cells[name]
        how["persistent"] = {"True": True, "False": False}[cells["persistent"]]

        when = []
        for condition in cells["when"].split():
            key, values = condition.split("=")
            when.append((key, tuple(values.split("|"))))

        sweeps, ns = frozenset(cells["sweeps"].split()), int(cells["ns"])
        return Row(sweeps, tuple(when), ns, Launch(**how), cells["device"], cells["compiler"], cells["date"], line)
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
    return frozenset(word for kernel in kernels for word in kernel.running.sweeps.split())


def facts_of(kernels, mixture, precision: str) -> dict[str, str]:
    """{fact: its value} of a program, for the conditions of rows: options and facts of the mixture, the precision,
    whether the kernels run by crews or by lanes."""
    facts = {**mixture.options, **mixture.facts, "precision": precision}
    for schedule in SHARING:
        facts[schedule.name] = "yes" if schedule.serves(kernels, mixture) else "no"
    return facts


def serving(kernels, mixture, precision: str = "double", device: str = "", table=None, memory: int = 0) -> Row:
    """The row that serves a program, by the rules above; by the first three rules if no row fits.

    device: as Backend.product has it. table: rows, in place of the table in force. memory: bytes of shared memory of a
    block, 0 if unknown. Raises ArgumentError if no row serves.
    """
    sweeps, facts = sweeps_of(kernels), facts_of(kernels, mixture, precision)

    rows = read(in_force()) if table is None else table
    rows = [row for row in rows if row.serves(sweeps, facts, mixture.ns)]
    refuse(not rows, f"the table of launches {in_force()} has no row for sweeps {', '.join(sweeps) or 'none'}.")

    # Rule 1: groups with the same sweeps and conditions.
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault((row.sweeps, row.when), []).append(row)

    # Rules 2 and 3: of each group the rows of this device, and of these the nearest number of species.
    distance = functools.partial(_distance, ns=mixture.ns)
    nearest = []
    for group in groups.values():
        own = [row for row in group if row.device == device]
        nearest.append(min(own or group, key=distance))

    # Rule 4: the first that has the shared memory it needs.
    if memory:
        for row in nearest:
            plan = make_plan(kernels, None, mixture, _how(row, mixture), precision)
            if schedule_of_plan(plan).shape(plan).shared <= memory:
                return row

    return nearest[0]


def _distance(row: Row, ns: int) -> tuple[float, int]:
    """Order of rows by their number of species: by ratio, the larger number first."""
    return abs(math.log(row.ns / ns)), -row.ns


def chosen(kernels, mixture, precision: str = "double", device: str = "", table=None, memory: int = 0) -> Launch:
    """The launch of a program: that of the row that serves it."""
    return _how(serving(kernels, mixture, precision, device, table, memory), mixture)


def _how(row: Row, mixture) -> Launch:
    return row.how if row.how.unroll else dataclasses.replace(row.how, unroll=mixture.ns)


def measured(kernels, mixture, precision: str, how: Launch, backend, date: str) -> Row:
    """The row of the launch that was fastest for a program on this device, for all that the committed table
    distinguishes."""
    facts = facts_of(kernels, mixture, precision)
    known = sorted({key for row in read(COMMITTED) for key, _ in row.when})
    sweeps, when = sweeps_of(kernels) | {"only"}, tuple((key, (facts[key],)) for key in known)
    return Row(sweeps, when, mixture.ns, how, backend.product, backend.compiler, date)


def with_measured(rows, found) -> list[Row]:
    """A table's rows behind those found, which take the place of rows for the same programs on the same device."""
    known = {_program(row) for row in found}
    return [*found, *(row for row in rows if _program(row) not in known)]


def _program(row: Row) -> tuple:
    """The program and the device that a row is for."""
    return row.sweeps, row.when, row.ns, row.device


def candidates(ns: int) -> list[Launch]:
    """Launches that may win: registers up to 24 species; above 12, matrix units and panels."""
    out = []
    for threads in (64, 128, 256, 384):
        if ns <= 24:
            out += _in_registers(threads)
        if ns > 12:
            out += _in_memory(threads, ns)

    out += [dataclasses.replace(how, persistent=True) for how in out if how.hold != "registers"]
    return list(dict.fromkeys(how for how in out if how.blocks))


def _in_registers(threads: int) -> list[Launch]:
    """Launches of blocks of `threads` that hold species values in registers."""
    choices = itertools.product((256, 384, 512, 640, 768), ("constant", "shared"), (2, 3, 4, 5))
    return [
        Launch(threads, blocks=resident // threads, pairs=pairs, constants=constants)
        for resident, constants, pairs in choices
    ]


def _in_memory(threads: int, ns: int) -> list[Launch]:
    """Launches of blocks of `threads` that read species values from memory, by panels and by matrix units."""
    out = []
    for resident, hold in itertools.product((256, 384, 512, 768, 1024), ("shared", "reload")):
        usual = Launch(threads, hold=hold, blocks=resident // threads, constants="shared")
        out.append(dataclasses.replace(usual, unroll=4, pairs=10))
        if resident <= 512:
            out += [dataclasses.replace(usual, unroll=unroll, pairs="units") for unroll in (12, ns)]

    return out


def crews() -> list[Launch]:
    """Launches that may win where the warps of a block can share its points."""
    return [
        Launch(256, "crew", points, blocks, constants=constants)
        for points, blocks, constants in itertools.product((1, 2), (1, 2, 3, 4), ("constant", "device"))
    ]


def text(how: Launch) -> str:
    """A launch in one line, as `info` and `tune` print it."""
    return " ".join(f"{k}={v}" for k, v in dataclasses.asdict(how).items())
