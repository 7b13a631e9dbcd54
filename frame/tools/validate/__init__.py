"""`python -m frame validate`: compare a mixture, swept over the whole envelope, with quadruple precision, laws and
other codes.

Each comparison is a module of this package with run(job) -> rows. A module that needs other packages has
missing(mixture) -> the reason why it cannot run, or None. A module that needs its own table has table(rows). AGAINST
lists the modules.
"""

import importlib
import os
import pathlib
import sys
import time
from dataclasses import dataclass

import kernels

from ...errors import ArgumentError, refuse
from .. import BACKEND
from ..figures import pyplot
from ..progress import clear, progress
from . import cantera, mechanism, report

AGAINST = {
    "identities": "laws among the results, at every state",
    "wide": "the kernels in quadruple precision",
    "precision": "programs with arrays, or all numbers, in single precision, against double",
    "cantera": "Cantera's Peng-Robinson phase of the same file, and its reaction rates; without a mixture: rates of "
    "all mechanisms that Cantera ships",
    "thermo": "the package thermo",
    "coolprop": "CoolProp's cubic backends",
    "thermopack": "ThermoPack",
    "reference": "reference equations of pure fluids: physical errors by region, of plain and corrected models, no "
    "tolerance",
}
STATES = 1_000_000


@dataclass(frozen=True)
class Job:
    """Input of a comparison: the mixture and its file, the number of states, the backend. `threads` is a CPU backend
    with several threads, for slow computations."""

    mixture: kernels.Mixture | None
    file: str
    phase: str | None
    states: int
    seed: int
    backend: object
    threads: object

    def subset(self, most: int) -> int:
        """Number of states of a slow comparison: its own limit `most`, or `states` if that is smaller."""
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
    "--plots": dict(metavar="FOLDER", help="maps of the largest deviations on the T-p plane, PNG"),
}


def available(mixture, wanted=None) -> tuple[list[str], dict[str, str]]:
    """(names of the comparisons that can run, {name: reason} of the others). `wanted` None: all of AGAINST. Errors:
    ArgumentError when a wanted one cannot run."""
    modules = {name: importlib.import_module(f".{name}", __name__) for name in wanted or AGAINST}
    reasons = {name: module.missing(mixture) for name, module in modules.items() if hasattr(module, "missing")}
    left_out = {name: why for name, why in reasons.items() if why}
    if wanted and left_out:
        name, why = next(iter(left_out.items()))
        raise ArgumentError(f"--against {name}: {why}.")
    return [name for name in modules if name not in left_out], left_out


def run(mixture, file, phase=None, against=None, states=STATES, seed=1, backend=None, say=print) -> list:
    """Compare, print a table after each comparison (`say`), return all rows (report.Row). Errors: ArgumentError."""
    if states < 100:
        raise ArgumentError(f"--states {states}: wanted 100 or more.")
    backend = kernels.get_backend(backend)
    job = Job(
        mixture,
        str(file),
        phase,
        states,
        seed,
        backend,
        kernels.get_backend("cpu", threads=min(os.cpu_count() or 1, 16)),
    )
    names, left_out = available(mixture, list(dict.fromkeys(against)) if against else None)
    rows = []
    for name in progress("validate", names):
        module = importlib.import_module(f".{name}", __name__)
        begin = time.perf_counter()
        found = list(module.run(job))
        report.mole_fractions(found, mixture)
        clear()
        say(getattr(module, "table", report.table)(found) + f"\n  {time.perf_counter() - begin:.1f} s")
        rows += found
    for name, why in left_out.items():
        say(f"\nleft out: {name}: {why}")
    return rows


def main(given, mixture) -> int:
    """Run the command. Returns 0 within all tolerances, 1 outside of one. Errors: the layer's own."""
    if given.plots:
        pyplot("--plots draws")
    out = sys.stderr if given.json == "-" else sys.stdout
    backend = kernels.get_backend(given.backend).describe()["name"]

    def say(text):
        print(text, file=out, flush=True)

    sweep = f"{given.states} states, seed {given.seed}, backend {backend}"
    not_read: list[str] = []
    if given.mechanism:
        refuse(mixture is not None, "--mechanism and --mixture are both given; give one.", ArgumentError)
        refuse(given.against not in (None, ["cantera"]), "--mechanism compares with cantera only.", ArgumentError)
        refuse(given.states < 100, f"--states {given.states}: wanted 100 or more.", ArgumentError)
        say(f"{given.mechanism}: {sweep}")
        job = Job(
            None, given.mechanism, given.phase, given.states, given.seed, kernels.get_backend(given.backend), None
        )
        found = mechanism.sweep(given.mechanism, given.phase, job, say)
        rows, not_read = found.rows, found.not_read
    elif mixture is None:
        if given.against != ["cantera"]:
            raise ArgumentError(
                "--mixture FILE is needed, or --mechanism FILE; for rates of Cantera's mechanisms --against cantera."
            )
        say(sweep)
        rows = cantera.sweep(say, given.states, given.seed, kernels.get_backend(given.backend))
    else:
        say(
            f"{given.mixture}: {' '.join(mixture.names)}\n"
            f"{', '.join(f'{k} {v}' for k, v in mixture.options.items())}\n{sweep}"
        )
        rows = run(mixture, given.mixture, given.phase, given.against, given.states, given.seed, given.backend, say)
    facts = {
        "mixture": str(given.mixture or given.mechanism or ""),
        "states": given.states,
        "seed": given.seed,
        "backend": backend,
    }
    if given.json == "-":
        print(report.as_json(rows, mixture, facts))
    elif given.json:
        pathlib.Path(given.json).write_text(report.as_json(rows, mixture, facts) + "\n")
    if given.plots:
        for path in report.draw(rows, given.plots, pathlib.Path(facts["mixture"]).name):
            say(f"drawn: {path}")
    failed = [row for row in rows if not row.passed]
    judged = sum(row.tolerance is not None for row in rows)
    say(
        f"\n{judged - len(failed)} of {judged} within tolerance"
        + "".join(
            f"\noutside: {r.against}: {r.name}: {r.worst:.3g} of {r.tolerance:.3g} at {r.place()}" for r in failed
        )
        + "".join(f"\nnot compared: {text}" for text in not_read)
    )
    return 1 if failed or not_read else 0
