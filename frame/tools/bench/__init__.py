"""`python -m frame bench NAME`: figures that are checked before they are taken, beside rivals measured in the same run.

A bench is a module of this package with run(given, backend, say) -> Report; BENCHES names it, with _ for -.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import pathlib
import platform
import sys

from ...config import PRECISIONS
from ...errors import ArgumentError
from ..progress import clear, progress
from . import blocks, inputs, pictures, results, species_loops, tccg, tensor

BENCHES = {
    "properties": "collections against plain Fortran and array expressions, with the bound of the roofline",
    "kinetics": "production of species by reactions, Jacobians, reactors against plain Fortran, Cantera, LAPACK, CVODE",
    "threads": "collections by 1, 2, ... threads of the CPU, beside one thread",
    "launch": "what a launch costs from Python and from Fortran, and what a start costs",
}
RECORD: dict = {
    "metavar": "FILE.json",
    "type": pathlib.Path,
    "help": "the run as benchmarks/results keeps it: machine, commit, date, command and rows",
}
CASES = ("thermal", "viscous", "thermal_viscous")
KINETICS = ("omega", "programs", "real", "matrices", "react")
OWN = {"species-loops": species_loops.run, "tensor": tensor.run, "tccg": tccg.run, "blocks": blocks.run}
STRUCTURES = ("none", "lowrank", "sparse", "dense", "file")


def _numbers(text: str) -> list[int]:
    if not all(part.isdigit() for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"'{text}', wanted whole numbers with commas between")
    return [int(part) for part in text.split(",")]


def _structures(text: str) -> list[str]:
    names = text.split(",")
    wrong = [name for name in names if name not in STRUCTURES]
    if wrong:
        raise argparse.ArgumentTypeError(f"'{wrong[0]}', wanted some of {', '.join(STRUCTURES)}")
    return names


def add(commands) -> None:
    """Adds the command and all benches to the parser of `python -m frame`."""
    bench = commands.add_parser("bench", help="measure, beside rivals, with values checked first")
    benches = bench.add_subparsers(dest="bench", required=True)
    for name, what in {**BENCHES, "all": "these one after another"}.items():
        sub = benches.add_parser(name, help=what)
        sub.add_argument(
            "--backend", choices=("auto", "cpu", "cuda"), default=None, help="default: FRAME_BACKEND, else auto"
        )
        sub.add_argument(
            "--ns", type=_numbers, metavar="N,...", help="numbers of species, 1 to 60 (default: 1,4,10,20,50)"
        )
        sub.add_argument("--points", type=int, help="points a pass (default: 100000 on a CPU, a million on a GPU)")
        sub.add_argument("--repeats", type=int, default=7, help="rounds that the medians are taken of (default: 7)")
        sub.add_argument(
            "--json", metavar="FILE", help="rows as JSON; -: to standard output, and the tables to standard error"
        )
        sub.add_argument("--markdown", action="store_true", help="tables as Markdown, with machine and versions")
        sub.add_argument("--record", **RECORD)
        sub.add_argument("--mixture", metavar="FILE", help="Cantera YAML instead of generated species")
        sub.add_argument(
            "--kij",
            type=_structures,
            metavar="NAME,...",
            help=f"structures of k_ij: {', '.join(STRUCTURES)} (default: dense; file with --mixture)",
        )
        sub.add_argument(
            "--cases",
            type=lambda text: text.split(","),
            metavar="NAME,...",
            help="properties: collections (thermal, viscous, thermal_viscous; default: all); kinetics: "
            f"{', '.join(KINETICS)} (default: all)",
        )
        sub.add_argument(
            "--states",
            choices=inputs.KINDS,
            help="properties, threads: of points (default: random on a CPU; on a "
            "GPU smooth, as neighbours in a flow are)",
        )
        sub.add_argument(
            "--precision",
            choices=PRECISIONS,
            default="double",
            help="properties: mixed (arrays in single precision) or single (arithmetic too), beside double",
        )
        sub.add_argument(
            "--threads", type=_numbers, metavar="N,...", help="threads: which (default: from 1 to all cores)"
        )
        sub.add_argument("--kinetix", metavar="FOLDER", help="kinetics: the source of KinetiX, a rival")
        sub.add_argument(
            "--scaling", metavar="FILE.png", help="properties: draw the time a point over NS, with its cubic fit"
        )
    loops = benches.add_parser(
        "species-loops", help="nested species loops: every strategy and layout beside a copy of memory"
    )
    species_loops.add_arguments(loops, bench=True)
    expressions = benches.add_parser("tensor", help="tensor expressions beside einsum, matmul and libxsmm, on one core")
    tensor.add_arguments(expressions)
    public = benches.add_parser("tccg", help="the 48 contractions of the TCCG benchmark beside einsum and cuTENSOR")
    tccg.add_arguments(public)
    calls = benches.add_parser("blocks", help="block calls of ranks, beside the link's limit and as many CPU ranks")
    blocks.add_arguments(calls)
    for sub in (loops, expressions, public, calls):
        sub.add_argument("--record", **RECORD)
    drawn = benches.add_parser("figures", help="pictures and tables of recorded runs: benchmarks/results/*.json")
    pictures.add_arguments(drawn)


def _check(given) -> None:
    """Usage that the parser cannot refuse. Errors: ArgumentError."""
    known = KINETICS if given.bench == "kinetics" else CASES
    unknown = [name for name in given.cases or () if name not in known]
    if unknown:
        raise ArgumentError(f"--cases {unknown[0]}: wanted some of {', '.join(known)}.")
    if given.mixture and given.ns:
        raise ArgumentError("--ns and --mixture: a file has its own number of species; give one of the two.")
    if given.repeats < 1 or (given.points is not None and given.points < 1):
        raise ArgumentError("--repeats and --points: wanted 1 or more.")
    if given.precision != "double" and given.bench != "properties":
        raise ArgumentError("--precision: belongs to bench properties.")
    if given.scaling and given.bench not in ("properties", "all"):
        raise ArgumentError("--scaling: belongs to bench properties.")
    if given.kinetix and given.bench not in ("kinetics", "all"):
        raise ArgumentError("--kinetix: belongs to bench kinetics.")
    if given.threads and given.bench not in ("threads", "all"):
        raise ArgumentError("--threads: belongs to bench threads.")
    if given.threads and not 1 <= min(given.threads) <= max(given.threads) <= 4096:
        raise ArgumentError("--threads: wanted whole numbers from 1 to 4096.")
    if given.scaling and importlib.util.find_spec("matplotlib") is None:  # said now, not after minutes of measuring
        raise ArgumentError(
            "--scaling draws with matplotlib, which is not installed: install the project's extra 'plot'."
        )
    given.kij = given.kij or (["file"] if given.mixture else ["dense"])


def main(given) -> None:
    """Runs a bench, prints the tables, writes JSON and record. Raises FrameError."""
    if given.bench == "figures":
        return pictures.run(given)
    if given.bench in OWN:
        rows = OWN[given.bench](given)
    else:
        rows = _run(given)

    if given.record:
        from kernels import get_backend

        backend = get_backend(rows[0]["backend"])
        results.record(given.record, _where(backend), str(backend), results.command(given.said), rows)
        print(f"Written: {given.record}", file=sys.stderr)
    return None


def _run(given):
    """Run the benches of BENCHES that were asked for, print the tables, write the JSON. Returns the rows."""
    from kernels import get_backend

    from . import report, scaling

    _check(given)
    backend = get_backend("cuda") if given.backend == "cuda" else get_backend(given.backend, threads=1)
    out = sys.stderr if given.json == "-" else sys.stdout

    def say(text):
        if sys.stderr.isatty():
            clear()
            print(text, file=sys.stderr, flush=True)

    rows = []
    names = (
        [given.bench] if given.bench != "all" else [name for name in BENCHES if name != "threads" or backend.threads]
    )
    for name in progress("bench", names):
        made = importlib.import_module(f".{name}", __name__).run(given, backend, say)
        rows += made.rows
        clear()
        print(_shown(name, made, given.markdown, backend, report), file=out, flush=True)

    if given.scaling:
        found, text = scaling.run(given, backend, say, pathlib.Path(given.scaling))
        rows += found
        print("\n".join(["```", *text, "```"] if given.markdown else text), file=out)
        print(f"Drawn: {given.scaling}", file=out)

    if given.json == "-":
        print(report.dumps(rows))
    elif given.json:
        pathlib.Path(given.json).write_text(report.dumps(rows) + "\n")
    return [row.record() for row in rows]


def machine() -> str:
    """The processor's name and the number of cores."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name}, {len(names) or os.cpu_count() or '?'} cores"


def _where(backend) -> str:
    """A machine in words: name of the GPU, or of the processor with the vector instructions."""
    if backend.style == "packs":
        from .ceilings import lanes

        return f"{machine()}, {64 * lanes(backend)}-bit vectors"
    return f"{backend.product}, host {machine()}"


def _told(backend) -> str:
    hidden = ("name", "device", "devices", "MPS", "cores", "threads")
    return ", ".join(f"{key} {value}" for key, value in backend.describe().items() if key not in hidden)


def _shown(name, made, markdown: bool, backend, report) -> str:
    heading = f"{name}, backend {backend}" + (", one core" if backend.threads and name != "threads" else "")
    facts = [machine(), _told(backend), *made.facts]
    if markdown:
        facts = [f"- {fact}" for fact in facts]
        return "\n".join([f"## {heading}", "", *facts, "", report.markdown(made.rows), "", made.notes, ""])
    return "\n".join([heading, *facts, "", report.table(made.rows), "", made.notes, ""])
