"""`python -m frame bench NAME`: figures that are checked before they are taken, beside rivals measured in the same run.

A bench is a module of this package with run(given, backend, say) -> Report; BENCHES names it. OWN has the benches with
options and tables of their own.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pathlib
import platform
import sys

from kernels import get_backend
from kernels.engine.registry import split

from ...config import PRECISIONS
from ...errors import refuse
from .. import BACKEND, tables
from ..figures import pyplot
from ..progress import clear, progress
from . import (
    barracuda,
    blocks,
    hierarchy,
    inputs,
    intrepid,
    options,
    pictures,
    report,
    results,
    species_loops,
    tccg,
    tensor,
)

BENCHES = {
    "properties": "collections against plain Fortran and array expressions, with the bound of the roofline",
    "models": "equation mapped and viscosity residual beside pr and chung",
    "kinetics": "production of species by reactions, Jacobians, reactors against plain Fortran, Cantera, LAPACK, CVODE",
    "equilibrium": "chemical equilibrium of mechanisms, beside Cantera",
    "layouts": "a field for each species and conserved variables, beside 4-D arrays",
    "phases": "vapour and liquid in equilibrium, cold and warm, beside thermo, ThermoPack, feos, teqp",
    "threads": "collections by 1, 2, ... threads of the CPU, beside one thread",
    "launch": "what a launch costs from Python and from Fortran, and what a start costs",
}
OWN = {
    "species-loops": (species_loops, "nested species loops: every strategy and layout beside a copy of memory"),
    "tensor": (tensor, "tensor expressions beside einsum, matmul and libxsmm, on one core"),
    "tccg": (tccg, "the 48 contractions of the TCCG benchmark beside einsum and cuTENSOR"),
    "barracuda": (barracuda, "the tables of Nelson et al. 2015 beside C, OpenMP, OpenACC, and their search"),
    "intrepid": (intrepid, "Intrepid's nine contractions by every method, over contraction and memory sizes"),
    "hierarchy": (hierarchy, "the exercises of team kernels beside their bytes' time, CUDA and OpenMP by hand"),
    "blocks": (blocks, "block calls of ranks, beside the link's limit and as many CPU ranks"),
}
CASES = ("thermal", "viscous", "thermal_viscous")
KINETICS = ("omega", "programs", "real", "matrices", "react")
STRUCTURES = ("none", "lowrank", "sparse", "dense", "file")
MOST_THREADS = 4096


def _numbers(text: str) -> list[int]:
    parts = split(text)
    if not parts or not all(part.isdigit() for part in parts):
        raise argparse.ArgumentTypeError(f"'{text}', wanted whole numbers with commas between")
    return [int(part) for part in parts]


def _structures(text: str) -> list[str]:
    names = list(split(text))
    wrong = [name for name in names if name not in STRUCTURES]
    if wrong:
        raise argparse.ArgumentTypeError(f"'{wrong[0]}', wanted some of {', '.join(STRUCTURES)}")
    return names


RECORD = dict(
    metavar="FILE.json",
    type=pathlib.Path,
    help="the run as benchmarks/results keeps it: machine, commit, date, command and rows",
)
ARGUMENTS: dict[str, dict] = {
    "--backend": BACKEND,
    "--ns": dict(
        type=_numbers,
        metavar="N,...",
        help="numbers of species, 1 to 60 (default: 1,4,10,20,50; phases: 2 to 10, default 2,4,10)",
    ),
    "--points": dict(
        type=int,
        help="points a pass (default: 100000 on a CPU, phases and equilibrium 8192; a million on a GPU)",
    ),
    "--repeats": dict(type=int, default=7, help="rounds that the medians are taken of (default: 7)"),
    "--json": dict(metavar="FILE", help="rows as JSON; -: to standard output, and the tables to standard error"),
    "--markdown": dict(action="store_true", help="tables as Markdown, with machine and versions"),
    "--record": RECORD,
    "--mixture": dict(metavar="FILE", help="Cantera YAML instead of generated species"),
    "--kij": dict(
        type=_structures,
        metavar="NAME,...",
        help=f"structures of k_ij: {', '.join(STRUCTURES)} (default: dense; file with --mixture)",
    ),
    "--cases": dict(
        type=split,
        metavar="NAME,...",
        help=f"properties, models: collections ({', '.join(CASES)}; default: all); kinetics: {', '.join(KINETICS)} "
        "(default: all)",
    ),
    "--states": dict(
        choices=inputs.KINDS,
        help="properties, threads: of points (default: random on a CPU; on a GPU smooth, as neighbours in a flow are)",
    ),
    "--precision": dict(
        choices=PRECISIONS,
        default="double",
        help="properties, models: mixed (arrays in single precision) or single (arithmetic too); properties: beside "
        "double",
    ),
    "--threads": dict(type=_numbers, metavar="N,...", help="threads: which (default: from 1 to all cores)"),
    "--equation": dict(choices=("pr", "mapped"), default="pr", help="phases: the equation of state (default: pr)"),
    "--kinetix": dict(metavar="FOLDER", help="kinetics: the source of KinetiX, a rival"),
    "--scaling": dict(
        metavar="FILE.png",
        type=pathlib.Path,
        help="properties: draw the time a point over NS, with its cubic fit",
    ),
}
# Options that a single bench reads, and `all`; the others may be given to each bench.
BELONGS = {
    "equation": "phases",
    "precision": "properties",
    "scaling": "properties",
    "kinetix": "kinetics",
    "threads": "threads",
}


def add(commands) -> None:
    """Adds the command and all benches to the parser of `python -m frame`."""
    command = commands.add_parser("bench", help="measure, beside rivals, with values checked first")
    benches = command.add_subparsers(dest="bench", required=True)

    for name, what in {**BENCHES, "all": "these one after another"}.items():
        sub = benches.add_parser(name, help=what)
        for flag, settings in ARGUMENTS.items():
            sub.add_argument(flag, **settings)

    for name, (module, what) in OWN.items():
        sub = benches.add_parser(name, help=what)
        module.add_arguments(sub)
        sub.add_argument("--record", **RECORD)

    drawn = benches.add_parser("figures", help="pictures and tables of recorded runs: benchmarks/results/*.json")
    pictures.add_arguments(drawn)


def _check(given) -> None:
    """Refuses usage that the parser cannot refuse, by ArgumentError."""
    known = KINETICS if given.bench == "kinetics" else CASES
    for name in given.cases or ():
        refuse(name not in known, f"--cases {name}: wanted some of {', '.join(known)}.")

    both = given.mixture and given.ns
    refuse(both, "--ns and --mixture: a file has its own number of species; give one of the two.")
    options.refuse_below(given, repeats=1, points=1)

    for option, bench in BELONGS.items():
        is_given = getattr(given, option) != ARGUMENTS[f"--{option}"].get("default")
        stray = is_given and given.bench not in (bench, "all")
        refuse(stray, f"--{option}: belongs to bench {bench}.")

    wrong = given.threads and not 1 <= min(given.threads) <= max(given.threads) <= MOST_THREADS
    refuse(wrong, f"--threads: wanted whole numbers from 1 to {MOST_THREADS}.")
    if given.scaling:
        pyplot("--scaling draws")  # refuses now, not after minutes of measuring


def main(given) -> None:
    """Runs a bench, prints the tables, writes JSON and record. Raises FrameError."""
    if given.bench == "figures":
        pictures.run(given)
        return

    rows = OWN[given.bench][0].run(given) if given.bench in OWN else _run(given)
    if given.record:
        backend = get_backend(rows[0]["backend"])
        results.record(given.record, _where(backend), str(backend), results.command(given.said), rows)
        print(f"Written: {given.record}", file=sys.stderr)


def _run(given) -> list[dict]:
    """Runs the benches of BENCHES that were asked for, prints the tables, writes the JSON. Returns the rows."""
    from . import scaling

    _check(given)
    given.kij = given.kij or (["file"] if given.mixture else ["dense"])
    backend = get_backend("cuda") if given.backend == "cuda" else get_backend(given.backend, threads=1)
    out = sys.stderr if given.json == "-" else sys.stdout

    def say(text):
        if sys.stderr.isatty():
            clear()
            print(text, file=sys.stderr, flush=True)

    # The benches.
    names = [given.bench]
    if given.bench == "all":
        names = [name for name in BENCHES if name != "threads" or backend.threads]
    rows = []
    for name in progress("bench", names):
        found = importlib.import_module(f".{name}", __name__).run(given, backend, say)
        rows += found.rows
        clear()
        print(_shown(name, found, given.markdown, backend), file=out, flush=True)

    # The picture.
    if given.scaling:
        found, lines = scaling.run(given, backend, say, given.scaling)
        rows += found
        print("\n".join(["```", *lines, "```"] if given.markdown else lines), file=out)
        print(f"Drawn: {given.scaling}", file=out)

    report.write(report.dumps(rows), given.json)
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


HIDDEN = ("name", "device", "devices", "MPS", "cores", "threads")  # facts of a backend that say nothing on its speed


def _shown(name: str, found: report.Report, markdown: bool, backend) -> str:
    """The text of a bench: heading, facts, table, notes."""
    heading = f"{name}, backend {backend}" + (", one core" if backend.threads and name != "threads" else "")
    told = ", ".join(f"{key} {value}" for key, value in backend.describe().items() if key not in HIDDEN)
    facts = [machine(), told, *found.facts]

    if markdown:
        facts = [f"- {fact}" for fact in facts]
        lines = [f"## {heading}", "", *facts, "", report.markdown(found.rows), ""]
        if found.targets:
            lines += [*tables.markdown(*found.targets, to_the_right=True), ""]
        return "\n".join([*lines, found.notes, ""])

    lines = [heading, *facts, "", report.table(found.rows), ""]
    if found.targets:
        lines += [*tables.aligned(found.targets), ""]
    return "\n".join([*lines, found.notes, ""])
