"""Runs of benches as files: benchmarks/results/*.json, which `bench ... --record FILE` writes.

A run has machine, backend, commit, date, command, and the rows of --json. Fields that nobody noted are null. A note has
what else a reader has to know.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import pathlib
import subprocess

from ...errors import ArgumentError
from ...shipped import ROOT
from .. import tables

FOLDER = ROOT / "benchmarks" / "results"
VARIABLES = ("FRAME_BACKEND", "FRAME_CXX", "CXX", "FC", "FRAME_ARCH", "OPENBLAS_NUM_THREADS")
FACTS = ("machine", "backend", "commit", "date", "command")


@dataclasses.dataclass(frozen=True)
class Run:
    """A run of a bench on a machine."""

    name: str  # of the file, without .json
    machine: str
    backend: str
    commit: str | None  # as `git describe --always --dirty` says it; None: not noted
    date: str
    command: str | None  # None: not noted
    rows: list[dict]
    note: str = ""

    @property
    def origin(self) -> str:
        """Machine and commit. They must be equal for runs whose rows stand in the same table."""
        return f"{self.machine}, {f'commit {self.commit}' if self.commit else 'commit not noted'}"

    def text(self) -> str:
        """Text of the file: a line for each row, so that a diff is readable."""
        facts = {name: getattr(self, name) for name in FACTS}
        if self.note:
            facts["note"] = self.note

        head = json.dumps(facts, indent=1).removesuffix("\n}")
        rows = ",\n".join(f"  {json.dumps(row)}" for row in self.rows)

        return f'{head},\n "rows": [\n{rows}\n ]\n}}\n'


def read(file: pathlib.Path) -> Run:
    """The run of a file. Errors: ArgumentError if it cannot be read, or lacks a field."""
    try:
        found = json.loads(file.read_text())
        return Run(file.stem, **{name: found[name] for name in FACTS}, rows=found["rows"], note=found.get("note", ""))
    except OSError as error:
        raise ArgumentError(f"{file}: {error.strerror}.") from None
    except (ValueError, TypeError, KeyError) as error:
        raise ArgumentError(f"{file} is not what `bench --record` writes: {error!r}.") from None


def record(file: pathlib.Path, machine: str, backend: str, command: str, rows: list[dict]) -> None:
    """Write a run that has just ended. An existing file is replaced."""
    run = Run(file.stem, machine, backend, commit(), datetime.date.today().isoformat(), command, rows, load())
    file.write_text(run.text())


def command(arguments: str) -> str:
    """The command line, with the environment variables that change the measurement."""
    variables = [f"{name}={os.environ[name]}" for name in VARIABLES if name in os.environ]
    return " ".join([*variables, "python -m frame", arguments])


def commit() -> str | None:
    """Commit of the checkout; None in an installation."""
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return None if done.returncode else done.stdout.strip()


def load() -> str:
    """How busy the machine was."""
    return f"processes on the machine, mean of the last 5 minutes: {os.getloadavg()[1]:.1f} (this run is about 1)"


def same_origin(runs: list[Run], mixed: bool) -> None:
    """Errors: ArgumentError if runs of several machines or commits would stand side by side, unless mixed."""
    if mixed:
        return

    for run in runs[1:]:
        if run.origin != runs[0].origin:
            raise ArgumentError(
                f"{runs[0].name} is of {runs[0].origin}, {run.name} of {run.origin}: figures of both in one table need "
                "--mixed, which names machine and commit in each row."
            )


def table(runs: list[Run], mixed: bool = False) -> str:
    """The rows of runs as a Markdown table, behind their commands. Errors: ArgumentError, see same_origin."""
    same_origin(runs, mixed)

    # Commands, notes.
    lines = [f"- {run.name}: {run.origin}, {run.date}: `{run.command or 'command not noted'}`" for run in runs]
    lines += [f"- {run.name}: {run.note}" for run in runs if run.note]

    # Rows, with all columns that some row has.
    rows: list[dict] = []
    columns: dict[str, None] = {}
    for run in runs:
        for row in run.rows:
            rows.append({**row, "of": run.origin} if mixed else row)
            columns.update(dict.fromkeys(rows[-1]))

    shown = [name for name in columns if name not in ("bench", "backend")]
    cells = [[_cell(row.get(name)) for name in shown] for row in rows]
    return "\n".join([*lines, "", *tables.markdown(shown, *cells)])


def _cell(value) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
