"""Organisations as text, and the table of the organisations that were measured to be fastest on one machine.

The table is organisations.csv, or the file that FRAME_ORGANISATIONS names; `python -m frame tune tensor` writes such
files. A row serves one kernel: the text with its names taken out, all extents, the type of numbers, the device, the
compiler and GENERATOR have to be those of the row. Where no row serves, the model chooses.

An organisation may decide the last bits of a result. So the table is the committed table, or a table that the user
names. On a CPU the model reads rates that the kernel cache keeps (host_rates.py). `Contraction.explain` and
`python -m frame info` report the row.
"""

from __future__ import annotations

import csv
import functools
import os
import pathlib
import typing
from typing import Any, NamedTuple

from ..engine.errors import ArgumentError, refuse
from .organisations.base import Organisation, words

GENERATOR = "1"  # of the kernels' texts: raised when an organisation's name stands for another one
COMMITTED = pathlib.Path(__file__).with_name("organisations.csv")


class Key(NamedTuple):
    """Facts that decide which organisation is fastest.

    text: canonical (Expression). sizes: "i1=12 i2=12", by the names of the canonical text. device, compiler: as a
    backend has them.
    """

    text: str
    sizes: str
    dtype: str
    device: str
    compiler: str
    generator: str = GENERATOR


class Row(NamedTuple):
    """The fastest organisation of one kernel."""

    key: Key
    order: int  # of evaluation, among the cheapest
    how: str  # the organisation, as `written`
    case: str  # for readers
    entries: int  # of the batch that was timed
    seconds: float  # of a run
    default: float  # seconds of the model's choice, in the same turns
    date: str
    line: int = 0  # of the file


COLUMNS = ("case", *Key._fields, "order", "how", "entries", "seconds", "default", "date")


def key_of(expression, sizes, dtype, backend) -> Key:
    """The key of a row of the table: the expression up to its indices' names, extents, type, device, compiler."""
    indices = {name: f"i{k}" for k, name in enumerate(expression.indices)}
    told = " ".join(f"{indices[i]}={sizes[i]}" for i in expression.indices if i in sizes)
    return Key(expression.canonical(), told, dtype, backend.product, backend.compiler)


# ---- text -----------------------------------------------------------------------------------------------------------


def written(how: Organisation) -> str:
    """An organisation as a line of text, which `read` takes."""
    return how.written()


def read(text: str, kinds: dict[str, type[Organisation]]) -> Organisation:
    """The organisation of a line. kinds: class of each name. Raises ArgumentError that names the word."""
    name, *given = text.split()
    refuse(name not in kinds, f"organisation '{name}'; wanted one of {', '.join(kinds)}.")

    known, values = words(kinds[name]), {}
    for word in given:
        key, _, value = word.partition("=")
        refuse(key not in known, f"organisation '{text}': '{word}'; wanted some of {', '.join(known)}.")
        try:
            values[key] = _value(value, known[key].kind)
        except ValueError:
            raise ArgumentError(f"organisation '{text}': '{word}' is no {known[key].kind}.") from None

    how = kinds[name].of(name=name, **values)
    refuse(how.name != name, f"organisation '{text}' is one of the name '{how.name}'.")
    return how


def _value(word: str, kind) -> Any:
    if typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)[0]
        return tuple(_value(part, inner) for part in word.split(":")) if word else ()
    if kind is bool:
        return {"0": False, "1": True}[word] if word in ("0", "1") else _value(word, int)
    return kind(word)


# ---- the table ------------------------------------------------------------------------------------------------------


def in_force() -> pathlib.Path:
    """The file that is read: FRAME_ORGANISATIONS, else the committed one."""
    named = os.environ.get("FRAME_ORGANISATIONS")
    return pathlib.Path(named).expanduser() if named else COMMITTED


@functools.lru_cache(None)
def rows(path: pathlib.Path) -> dict[Key, Row]:
    """Raises ArgumentError that names the line."""
    found: dict[Key, Row] = {}
    try:
        with open(path, newline="") as file:
            for line, cells in enumerate(csv.DictReader(file), 2):
                row = _row(cells, path, line)
                found.setdefault(row.key, row)
    except OSError as error:
        raise ArgumentError(
            f"no table of organisations {str(path)!r} (FRAME_ORGANISATIONS): {error.strerror}."
        ) from None

    return found


def _row(cells, path, line: int) -> Row:
    try:
        key = Key(*(cells[name] for name in Key._fields))
        refuse(any(x is None for x in (*key, cells["how"], cells["date"])), "a cell is missing", ValueError)

        return Row(
            key,
            int(cells["order"]),
            cells["how"],
            cells["case"],
            int(cells["entries"]),
            float(cells["seconds"]),
            float(cells["default"]),
            cells["date"],
            line,
        )
    except (KeyError, ValueError, TypeError) as error:
        raise ArgumentError(f"{path}, line {line}: {error}; wanted the columns {', '.join(COLUMNS)}.") from None


def serving(key: Key) -> Row | None:
    """The row of the table in force for this kernel on this machine."""
    return rows(in_force()).get(key)


def elsewhere(key: Key) -> list[Row]:
    """The rows for this kernel on any device, of the same compiler."""
    return [row for other, row in rows(in_force()).items() if other._replace(device=key.device) == key]


def write(path: pathlib.Path, made) -> None:
    """A table of these rows; those that come first take the place of later ones for the same kernel and machine."""
    kept: dict[Key, Row] = {}
    for row in made:
        kept.setdefault(row.key, row)

    part = path.with_name(f"{path.name}.{os.getpid()}")
    with open(part, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        for row in kept.values():
            times = (f"{x:.4g}" for x in (row.seconds, row.default))
            out.writerow((row.case, *row.key, row.order, row.how, row.entries, *times, row.date))

    part.replace(path)
    rows.cache_clear()
