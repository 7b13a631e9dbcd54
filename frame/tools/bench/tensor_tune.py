"""`python -m frame tune tensor TEXT|NAME ...`: search for the fastest organisation of contractions on this machine.

Searches within a budget, prints what was found, and writes it as rows of a table of organisations (see
kernels/contractions/table.py). A journal holds what was measured: the same command goes on where it was ended.
"""

from __future__ import annotations

import math
import pathlib
import time

import kernels
from kernels.contractions import Contraction, intrepid, named, search, table

from ...errors import ArgumentError
from ...shipped import BUILD
from ..progress import Line, time_left
from . import tensor

SHOWN = 5
TO_MOVE = {"host": 64 << 20, "device": 512 << 20}  # bytes of all arrays, where nobody says how many entries


def sizes_of(text: str) -> dict[str, int]:
    """Extents from "i=12,j=8", or "12" for every index (under the name ""). Raises ArgumentError."""
    found = {}
    for part in text.split(","):
        name, equals, value = part.rpartition("=")
        if not value.strip().isdecimal() or int(value) < 1 or bool(equals) != bool(name.strip()):
            raise ArgumentError(f"extents '{text}': '{part}', wanted such as i=12, or 12 for every index.")
        found[name.strip()] = int(value)
    return found


def ranges_of(text: str) -> dict[str, range]:
    """Extents from "i=12,j=8..12", or "12" for every index (under the name ""). Raises ArgumentError."""
    found = {}
    for part in text.split(","):
        name, _, value = part.rpartition("=")
        low, dots, high = value.partition("..")
        first = sizes_of(f"{name}={low}" if name else low)[name.strip()]
        last = sizes_of(f"i={high}")["i"] if dots else first
        if last < first:
            raise ArgumentError(f"extents '{text}': '{part}', wanted the smaller one first.")
        found[name.strip()] = range(first, last + 1)
    return found


def text_of(text: str) -> tuple[str, dict]:
    """The text and options of a name of named.py, or of Intrepid's; a text as it is."""
    if text in named.TEXTS:
        return named.TEXTS[text].text, named.TEXTS[text].options
    return (intrepid.text(text, {}, False) if text in intrepid.NAMES else text), {}


def extents_of(e, told: dict[str, int]) -> dict[str, int]:
    """Of each index, the batch's only where it is told by its name. Raises ArgumentError."""
    sizes = dict(told)
    every = sizes.pop("", 0)
    unknown = sorted(set(sizes) - set(e.indices))
    if unknown:
        raise ArgumentError(f"extent of {unknown[0]}: no such index; the text has {', '.join(e.indices)}.")
    found = {i: sizes.get(i, 0 if i == e.batch else every) for i in e.indices}
    lacking = [i for i, x in found.items() if not x and i != e.batch]
    if lacking:
        raise ArgumentError(f"the extent of index '{lacking[0]}' is not told; the text has {', '.join(e.indices)}.")
    return {i: x for i, x in found.items() if x}


def add_arguments(parser) -> None:
    """Options of `tune tensor`."""
    parser.add_argument(
        "text", nargs="?", metavar="TEXT|NAME", help="the statements, or a name: lg3, eqn1, contractFieldFieldScalar"
    )
    parser.add_argument("--cases", metavar="TEXT|TEXT", help="instead: cases of `bench tensor` whose names begin so")
    parser.add_argument("--size", default="", metavar="i=12,j=8", help="extents; 12: of every index")
    parser.add_argument("--entries", type=int, help="of the batch (default: arrays of 64 MiB on a CPU, 512 on a GPU)")
    parser.add_argument("--type", default="float64", choices=tuple(kernels.contractions.contraction.TYPES))
    parser.add_argument("--backend", choices=("auto", "cpu", "cuda"), help="default: FRAME_BACKEND, else auto")
    parser.add_argument(
        "--method", choices=search.METHODS, default=search.METHODS[0], help="default: moves; surf: Barracuda's"
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="budget of a contraction (default: 120)")
    parser.add_argument("--evaluations", type=int, default=60, help="budget of a contraction (default: 60)")
    parser.add_argument(
        "--batch-size",
        type=int,
        default=search.BATCH,
        help=f"candidates that are chosen at once (default: {search.BATCH})",
    )
    parser.add_argument("--journal", metavar="FILE", type=pathlib.Path, help="default: build/tune_tensor.jsonl")
    parser.add_argument("--out", metavar="FILE", type=pathlib.Path, help="the table (default: build/organisations.csv)")


def cases(given, backend) -> list[tensor.Case]:
    """What is to be tuned. Raises ArgumentError."""
    if (given.text is None) == (given.cases is None):
        raise ArgumentError("tune tensor: wanted a text or a name, or --cases.")
    if given.cases is not None:
        known = tensor.device_cases() if backend.style == "threads" else tensor.cases()
        found = [case for case in known if case.name.startswith(tuple(given.cases.split("|")))]
        if not found:
            raise ArgumentError(f"--cases '{given.cases}'; known: {', '.join(dict.fromkeys(c.name for c in known))}.")
        return found
    text, options = text_of(given.text)
    e = kernels.contractions.text.parse(text, **options)
    sizes = extents_of(e, sizes_of(given.size) if given.size else {})
    entries = sizes.pop(e.batch or "", 0)
    plan = Contraction(text, sizes, given.type, backend=backend, **options)
    mixed = any(a.mixed for a in plan.program.arguments)
    often = search.small_case(plan) if mixed else max(1, TO_MOVE[backend.memory] // max(plan.bytes, 1))
    name = given.text if given.text in named.TEXTS or given.text in intrepid.NAMES else str(e)
    return [tensor.Case(name, text, sizes, given.entries or entries or often, options, (), given.type)]


def main(given) -> None:
    """Tune, print, write. Raises the layer's errors; what was measured before stays in the journal."""
    backend = kernels.get_backend(given.backend)
    clock = tensor.DeviceClock(backend).cold if backend.memory == "device" else None
    if backend.threads == 1:
        clock = tensor.seconds
    chosen = cases(given, backend)
    file = given.out or BUILD / "organisations.csv"
    path = given.journal or BUILD / "tune_tensor.jsonl"
    for parent in {file.parent, path.parent}:
        parent.mkdir(parents=True, exist_ok=True)
    journal, line, found = search.Journal(path), Line(), []
    print(f"tune tensor, {backend.product}: journal {path}")
    for number, case in enumerate(chosen, 1):
        name = f"{case.name}, {case.dtype}, {given.entries or case.entries} entries"

        def told(measure, candidate, outcome, name=name, number=number):
            left = time_left(max(measure.until - time.monotonic(), 0))
            line.show(
                f"{name} ({number}/{len(chosen)}): {measure.done} measured, best {measure.best * 1e6:.4g} us, "
                f"at most {left} or {measure.left} more"
            )

        try:
            made = search.search(
                case.text,
                case.sizes,
                case.dtype,
                entries=given.entries or case.entries,
                backend=backend,
                method=given.method,
                seconds=given.seconds,
                evaluations=given.evaluations,
                batch_size=given.batch_size,
                journal=journal,
                clock=clock,
                told=told,
                case=case.name,
                **case.options,
            )
        finally:
            line.clear()
        found.append(made)
        print(*shown(name, made), sep="\n", flush=True)
        known = table.rows(file if file.is_file() else table.in_force())
        table.write(file, [made.row, *known.values()])
        backend.release()
    print(f"Written: {file}; to use it, set FRAME_ORGANISATIONS={file.resolve()}")


def shown(name: str, found: search.Found):
    """Lines to print: the fastest candidates, what was left out, the result."""
    yield f"{name}: {found.measured} measured in {found.took:.1f} s, {found.known} known from the journal"
    right = sorted((o.seconds, str(c)) for c, o in found.outcomes.items() if o.seconds is not None)
    for seconds, candidate in right[:SHOWN]:
        yield f"  {seconds * 1e6:10.4g} us  {candidate}"
    why: dict[str, int] = {}
    for o in found.outcomes.values():
        if o.seconds is None:
            why[o.why] = why.get(o.why, 0) + 1
    yield from (f"  left out, {count}: {text}" for text, count in why.items())
    times = "" if math.isnan(found.default) else f", {found.default / found.seconds:.3f} times as fast as the default"
    yield f"  fastest in turns: {found.seconds * 1e6:.4g} us{times}: {found.best}"
