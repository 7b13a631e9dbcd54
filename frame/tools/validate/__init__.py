"""`python -m frame validate`: compares a mixture with quadruple precision, laws and other codes at random states.

Each comparison is a module of this package, listed in AGAINST, with these functions:
- run(job) -> rows;
- missing(mixture) -> reason why it cannot run, or None; only if it needs other packages;
- table(rows) -> text; only if it prints another table than report.table.
"""

import dataclasses
import functools
import importlib
import os
import pathlib
import sys
import time
from dataclasses import dataclass

import kernels
from kernels.engine.backend.base import Backend
from kernels.engine.registry import split

from ...errors import ArgumentError, refuse
from .. import BACKEND, model_options
from ..figures import pyplot
from ..progress import clear, progress
from . import cantera, mechanism, phases, reference, report

AGAINST = {
    "identities": "laws among the results, at every state",
    "wide": "the kernels in quadruple precision",
    "precision": "programs with arrays, or all numbers, in single precision, against double",
    "cantera": "Cantera's Peng-Robinson phase of the same file, and its reaction rates; without a mixture: rates of "
    "all mechanisms that Cantera ships",
    "thermo": "the package thermo",
    "coolprop": "CoolProp's cubic backends",
    "thermopack": "ThermoPack",
    "reference": "reference equations of pure fluids and mixtures: physical errors by fluid and region, of several "
    "models side by side, no tolerance; without a mixture: of all fluids that the layer has parameters of",
    "phases": "random states in phase equilibrium, which of them are not found; without a mixture: of "
    f"{len(phases.MIXTURES)} mixtures",
}
STATES = 1_000_000


@dataclass(frozen=True)
class Job:
    """Input of a comparison."""

    mixture: kernels.Mixture | None
    file: str  # of the mixture
    phase: str | None = None  # of the file
    states: int = STATES  # number of states
    seed: int = 1  # of the random states
    backend: Backend = dataclasses.field(default_factory=kernels.get_backend)
    models: tuple[str, ...] | None = None  # of the comparison with reference equations
    fluids: tuple[str, ...] | None = None  # of the same; None: all that are there
    options: dict = dataclasses.field(default_factory=dict)  # of a mixture that the comparison makes

    @functools.cached_property
    def threads(self):
        """A CPU backend with several threads, for slow computations."""
        return kernels.get_backend("cpu", threads=min(os.cpu_count() or 1, 16))

    def subset(self, most: int) -> int:
        """Number of states of a slow comparison: at most `most`."""
        return min(most, self.states)


COMMAND = dict(
    help="sweep a mixture against quadruple precision, laws and other codes",
    description="; ".join(f"{name}: {what}" for name, what in AGAINST.items()),
)
NEEDS_MIXTURE = False
ARGUMENTS = {
    "--mechanism": dict(
        metavar="FILE",
        help="instead of --mixture: every gas phase of a file (or --phase) against Cantera, thermodynamics and rates",
    ),
    "--against": dict(
        choices=AGAINST, action="append", help="may be given several times (default: all that is available)"
    ),
    "--backend": BACKEND,
    "--states": dict(
        type=int,
        default=STATES,
        help=f"states of the sweep (default: {STATES}; slow comparisons take a stated subset)",
    ),
    "--seed": dict(type=int, default=1, help="of the random states (default: 1)"),
    "--json": dict(
        metavar="FILE",
        help="every row with its worst state as JSON; -: to standard output, and the tables to standard error",
    ),
    "--models": dict(
        action="append",
        metavar="NAME",
        help=f"reference: a model of {', '.join(reference.MODELS)}, or NAME:OPTION=VALUE,OPTION=VALUE; may be given "
        f"several times (default: {', '.join(reference.SHOWN)})",
    ),
    "--fluids": dict(
        type=split,
        metavar="NAME,NAME",
        help="reference: some of the fluids, or others by CoolProp's names (default: all of fluids.csv)",
    ),
    "--page": dict(
        type=pathlib.Path,
        metavar="FILE.md",
        help="reference: write the tables between the two marks of a Markdown page",
    ),
    "--plots": dict(metavar="FOLDER", help="maps of the largest deviations on the T-p plane, PNG"),
}


def available(mixture, wanted=None) -> tuple[list[str], dict[str, str]]:
    """(names of the comparisons that can run, {name: reason} for the others).

    wanted: names; None: all of AGAINST. Raises ArgumentError if a wanted comparison cannot run.
    """
    names: list[str] = []
    left_out: dict[str, str] = {}
    for name in wanted or AGAINST:
        module = importlib.import_module(f".{name}", __name__)
        reason = module.missing(mixture) if hasattr(module, "missing") else None
        if reason and wanted:
            raise ArgumentError(f"--against {name}: {reason}.")
        if reason:
            left_out[name] = reason
        else:
            names.append(name)

    return names, left_out


def run(job: Job, against=None, say=print) -> list:
    """Compares, prints a table after each comparison by `say`, and returns all rows (report.Row). Raises ArgumentError
    for fewer than 100 states, or if a comparison in `against` cannot run."""
    refuse(job.states < 100, f"--states {job.states}: wanted 100 or more.", ArgumentError)
    mixture = job.mixture
    names, left_out = available(mixture, list(dict.fromkeys(against)) if against else None)

    rows = []
    for name in progress("validate", names):
        module = importlib.import_module(f".{name}", __name__)
        begin = time.perf_counter()
        found = list(module.run(job))
        report.mole_fractions(found, mixture)
        clear()
        table = getattr(module, "table", report.table)
        say(table(found) + f"\n  {time.perf_counter() - begin:.1f} s")
        rows += found

    for name, why in left_out.items():
        say(f"\nleft out: {name}: {why}")
    return rows


def main(given, mixture) -> int:
    """Runs the command. Returns 0 if all rows are within tolerance, else 1. Raises ArgumentError, MixtureError."""
    if given.plots:
        pyplot("--plots draws")
    if given.page:  # before minutes of work
        refuse(given.against != ["reference"], "--page belongs to --against reference alone.", ArgumentError)
        reference.around_tables(given.page)
    out = sys.stderr if given.json == "-" else sys.stdout
    backend = kernels.get_backend(given.backend).describe()["name"]

    def say(text):
        print(text, file=out, flush=True)

    sweep = f"{given.states} states, seed {given.seed}, backend {backend}"
    not_read: list[str] = []
    if given.mechanism:
        rows, not_read = _compare_mechanism(given, mixture, sweep, say)
    elif mixture is None:
        rows = _compare_without_mixture(given, sweep, say)
    else:
        options = ", ".join(f"{key} {value}" for key, value in mixture.options.items())
        say(f"{given.mixture}: {' '.join(mixture.names)}\n{options}\n{sweep}")
        rows = _run(given, mixture, say)

    _write(given, mixture, rows, say)
    _summarise(rows, not_read, say)

    failed = [row for row in rows if not row.passed]
    return 1 if failed or not_read else 0


def _compare_without_mixture(given, sweep: str, say) -> list:
    """Rows of the comparisons that have mixtures of their own. Raises ArgumentError for others."""
    if given.against == ["reference"]:
        states = min(given.states, reference.OF_FLUID)
        _, rest = sweep.split(",", 1)
        say(f"fluids of reference equations\n{states} states of a fluid,{rest}")
        return _run(given, None, say, options=model_options(given))

    if given.against == ["phases"]:
        say(sweep)
        return _run(given, None, say, options=model_options(given))

    if given.against != ["cantera"]:
        raise ArgumentError(
            "--mixture FILE is needed, or --mechanism FILE; for rates of Cantera's mechanisms --against cantera, for "
            "errors of all fluids --against reference, for several mixtures in two phases --against phases."
        )

    say(sweep)
    return cantera.sweep(say, given.states, given.seed, kernels.get_backend(given.backend))


def _write(given, mixture, rows: list, say) -> None:
    """The page, the JSON and the maps that were asked for. Raises ArgumentError."""
    facts = {
        "mixture": str(given.mixture or given.mechanism or ""),
        "states": given.states,
        "seed": given.seed,
        "backend": kernels.get_backend(given.backend).describe()["name"],
    }
    only_reference = all(row.against == "reference" for row in rows)
    if given.page:
        reference.write_page(given.page, rows)
        say(f"written: {given.page}")

    if given.json:
        said = {**facts, "states": min(given.states, reference.OF_FLUID), "command": f"python -m frame {given.said}"}
        text = reference.as_json(rows, said) if only_reference else report.as_json(rows, mixture, facts)
        if given.json == "-":
            print(text)
        else:
            path = pathlib.Path(given.json)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")

    if given.plots:
        for path in report.draw(rows, given.plots, pathlib.Path(facts["mixture"]).name):
            say(f"drawn: {path}")


def _summarise(rows: list, not_read: list[str], say) -> None:
    """How many rows are within tolerance, which are not, and what was not compared."""
    failed = [row for row in rows if not row.passed]
    judged = sum(row.tolerance is not None for row in rows)
    lines = [f"\n{judged - len(failed)} of {judged} within tolerance" if judged else "\nno row has a tolerance"]
    for row in failed:
        lines.append(f"outside: {row.against}: {row.name}: {row.worst:.3g} of {row.tolerance:.3g} at {row.place()}")
    for text in not_read:
        lines.append(f"not compared: {text}")
    say("\n".join(lines))


def _run(given, mixture, say, **more) -> list:
    """`run` with the options of the command."""
    models = tuple(given.models) if given.models else None
    job = Job(
        mixture,
        str(given.mixture),
        given.phase,
        given.states,
        given.seed,
        kernels.get_backend(given.backend),
        models,
        given.fluids,
        **more,
    )
    return run(job, given.against, say)


def _compare_mechanism(given, mixture, sweep: str, say) -> tuple[list, list[str]]:
    """(rows, texts on phases that were not read) of `--mechanism FILE`. Raises ArgumentError for other options."""
    refuse(mixture is not None, "--mechanism and --mixture are both given; give one.", ArgumentError)
    refuse(given.against not in (None, ["cantera"]), "--mechanism compares with cantera only.", ArgumentError)
    refuse(given.states < 100, f"--states {given.states}: wanted 100 or more.", ArgumentError)

    say(f"{given.mechanism}: {sweep}")
    backend = kernels.get_backend(given.backend)
    job = Job(None, given.mechanism, given.phase, given.states, given.seed, backend)
    found = mechanism.sweep(given.mechanism, given.phase, job, say)

    return found.rows, found.not_read
