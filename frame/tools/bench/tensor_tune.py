"""`python -m frame tune tensor TEXT|NAME|FILE`: search for the fastest organisation of contractions on this machine.

Searches within a budget, prints what was found, and writes it as rows of a table of organisations (see
kernels/contractions/table.py). A journal holds the measurements: the same command continues an interrupted search.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import pathlib
import time

import kernels
from kernels.contractions import Contraction, intrepid, named, search, table

from ...errors import ArgumentError
from ...shipped import BUILD
from .. import BACKEND, texts
from ..progress import Line, time_left
from . import clocks, options, tensor

SHOWN = 5
TO_MOVE = {"host": 64 << 20, "device": 512 << 20}  # bytes of all arrays, where nobody says how many entries


OPTIONS: dict[str, dict] = {
    # Tuned texts.
    "text": dict(
        nargs="?",
        metavar="TEXT|NAME|FILE",
        help="the statements, a name such as lg3 or contractFieldFieldScalar, or a file of statements or of TCR",
    ),
    "--cases": dict(metavar="TEXT|TEXT", help="instead: cases of `bench tensor` whose names begin so"),
    "--size": dict(default="", metavar="i=12,j=8", help="extents; 12: of every index"),
    "--entries": dict(type=int, help="of the batch (default: arrays of 64 MiB on a CPU, 512 on a GPU)"),
    "--type": dict(default="float64", choices=tuple(kernels.contractions.contraction.TYPES)),
    "--backend": BACKEND,
    # The search.
    "--method": dict(
        choices=search.METHODS,
        default=search.METHODS[0],
        help="default: moves; surf: Barracuda's",
    ),
    "--seconds": dict(type=float, default=120.0, help="budget of a contraction (default: 120)"),
    "--evaluations": dict(type=int, default=60, help="budget of a contraction (default: 60)"),
    "--batch-size": dict(
        type=int,
        default=search.BATCH,
        help=f"candidates that are chosen at once (default: {search.BATCH})",
    ),
    # Files.
    "--journal": dict(metavar="FILE", type=pathlib.Path, help="default: build/tune_tensor.jsonl"),
    "--out": dict(metavar="FILE", type=pathlib.Path, help="the table (default: build/organisations.csv)"),
}


def add_arguments(parser) -> None:
    """Options of `tune tensor`."""
    options.add(parser, OPTIONS)


def cases(given, backend) -> list[tensor.Case]:
    """The contractions that the command names. Raises ArgumentError."""
    if (given.text is None) == (given.cases is None):
        raise ArgumentError("tune tensor: wanted a text or a name, or --cases.")
    options.refuse_below(given, entries=1)
    if given.cases is None:
        return [_case_of(given, backend)]

    known = tensor.device_cases() if backend.style == "threads" else tensor.cases()
    found = [case for case in known if case.name.startswith(tuple(given.cases.split("|")))]
    if not found:
        raise ArgumentError(f"--cases '{given.cases}'; known: {', '.join(dict.fromkeys(c.name for c in known))}.")

    if given.entries is None:
        return found
    return [dataclasses.replace(case, entries=given.entries) for case in found]


def _case_of(given, backend) -> tensor.Case:
    """The case of a text or a name. Raises ArgumentError."""
    text, marks = texts.text_of(given.text)
    script = kernels.contractions.text.read(text, **marks)
    e, sizes = script.expression, texts.top(script, given.size)

    # Entries: as the options say, else so many that the arrays are as large as TO_MOVE.
    told = sizes.pop(e.batch or "", 0)
    entries = given.entries or told
    if not entries:
        plan = Contraction(text, sizes, given.type, backend=backend, **marks)
        mixed = any(a.mixed for a in plan.program.arguments)
        entries = search.small_case(plan) if mixed else max(1, TO_MOVE[backend.memory] // max(plan.bytes, 1))

    name = given.text if given.text in named.TEXTS or given.text in intrepid.NAMES else str(e)
    return tensor.Case(name, text, sizes, entries, marks, (), given.type)


def main(given) -> None:
    """Tune, print, write. Raises the layer's errors; what was measured before stays in the journal."""
    backend = kernels.get_backend(given.backend)
    chosen = cases(given, backend)

    # The table, and the journal.
    file = given.out or BUILD / "organisations.csv"
    path = given.journal or BUILD / "tune_tensor.jsonl"
    for parent in {file.parent, path.parent}:
        parent.mkdir(parents=True, exist_ok=True)
    tuning = Tuning(given, backend, search.Journal(path))
    print(f"tune tensor, {backend.product}: journal {path}")

    # Each case is written when it is done.
    for number, case in enumerate(chosen, 1):
        name = f"{case.name}, {case.dtype}, {case.entries} entries"
        found = tuning.search(case, f"{name} ({number}/{len(chosen)})")
        print(*shown(name, found), sep="\n", flush=True)

        known = table.rows(file if file.is_file() else table.in_force())
        table.write(file, [found.row, *known.values()])
        backend.release()

    print(f"Written: {file}; to use it, set FRAME_ORGANISATIONS={file.resolve()}")


class Tuning:
    """Searches with the options of the command, on a backend."""

    def __init__(self, given, backend, journal: search.Journal):
        self.given, self.backend, self.journal = given, backend, journal
        self.clock: clocks.Clock | None = None  # None: of the search itself
        if backend.memory == "device":
            self.clock = clocks.DeviceClock(backend).cold
        elif backend.threads == 1:
            self.clock = clocks.processor_seconds

    def search(self, case: tensor.Case, heading: str) -> search.Found:
        """The search of a case, with a line of progress behind a heading."""
        line = Line()

        def report(measure, candidate, outcome):
            left = time_left(max(measure.until - time.monotonic(), 0))
            line.show(
                f"{heading}: {measure.done} measured, best {measure.best * 1e6:.4g} us, at most {left} or "
                f"{measure.left} more"
            )

        try:
            return search.search(
                functools.partial(Contraction, case.text, case.sizes, case.dtype, backend=self.backend, **case.options),
                case.entries,
                search.Settings(self.given.method, self.given.seconds, self.given.evaluations, self.given.batch_size),
                search.Tools(self.clock, self.journal, report),
                case.name,
            )
        finally:
            line.clear()


def shown(name: str, found: search.Found):
    """Lines to print: the fastest candidates, what was left out, the result."""
    yield f"{name}: {found.measured} measured in {found.took:.1f} s, {found.known} known from the journal"

    right = sorted((o.seconds, str(c)) for c, o in found.outcomes.items() if o.seconds is not None)
    for seconds, candidate in right[:SHOWN]:
        yield f"  {seconds * 1e6:10.4g} us  {candidate}"

    why: dict[str, int] = {}
    for outcome in found.outcomes.values():
        if outcome.seconds is None:
            why[outcome.why] = why.get(outcome.why, 0) + 1
    for text, count in why.items():
        yield f"  left out, {count}: {text}"

    times = "" if math.isnan(found.default) else f", {found.default / found.seconds:.3f} times as fast as the default"
    yield f"  fastest in turns: {found.seconds * 1e6:.4g} us{times}: {found.best}"
