"""`bench models`: what the default models and those of `accuracy = "reference"` cost: equation `mapped` beside `pr`,
viscosity `residual` beside `chung`, conductivity with its peak near a critical point beside conductivity without, in
turns.

The values of ours are compared with a program of plain scalars on the CPU before anything is timed: on
a GPU that is another machine, on the CPU another way to add the same numbers.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from kernels import collections
from kernels.gas.accuracy import CLOSEST, REFERENCE

from . import inputs
from .properties import CHECKED, POINTS, STATES, TOLERANCES, difference, given_state, launch
from .report import Report, Row
from .timing import in_turns, part, sampled

NS = (10, 50)
PENG_ROBINSON = {"equation": "pr"}


@dataclasses.dataclass(frozen=True)
class Pair:
    """Models, and the models that they replace: options of a mixture."""

    ours: dict[str, str]
    theirs: dict[str, str]
    unlike: str  # theirs, in words
    label: str = ""  # ours, in words, where the table has them beside others


DEFAULT = Pair(REFERENCE, PENG_ROBINSON, "equation = pr, viscosity = chung")
WITH_PEAK = Pair(CLOSEST, REFERENCE, "enhancement = none", "enhancement = critical")


@dataclasses.dataclass(frozen=True)
class Case:
    """A collection with D at low pressure, which is the same in both."""

    collection: str
    diffusion: str = "kinetic"
    pair: Pair = DEFAULT

    def mixture(self, ns: int, kij: str, models: dict):
        """The mixture of ns species with these models."""
        return inputs.mixture(ns, kij, takahashi="off", diffusion=self.diffusion, **models)

    def named(self, kij: str) -> str:
        """The case in words, as it stands in the table."""
        words = [self.collection, f"k_ij {kij}"]
        if self.pair.label:
            words.append(self.pair.label)
        return ", ".join(words)


CASES = (
    Case("thermal"),
    Case("viscous", "fuller"),
    Case("thermal_viscous", "fuller"),
    Case("viscous", "fuller", WITH_PEAK),
    Case("thermal_viscous", "fuller", WITH_PEAK),
)
NOTES = (
    "In brackets: times the pace of the other models; 1/1.25 is a cost of 1.25. Both in turns, medians. Values of "
    f"ours are compared with plain scalars on the CPU at {CHECKED} points first."
)


def measure(case: Case, ns: int, kij: str, points: int, kind: str, given, backend) -> Row:
    """The row of a case. Raises WrongValues."""
    ours, theirs = (case.mixture(ns, kij, models) for models in (case.pair.ours, case.pair.theirs))
    collection = collections[case.collection]
    state = given_state(ours, collection, points, kind, given.precision)
    label = case.named(kij)

    # Values
    fast = launch(ours, case.collection, state, backend, given.precision)
    fast.work()
    few = part(state, slice(CHECKED))
    plain = launch(ours, case.collection, few, "cpu", "scalar")
    plain.work()
    n, tolerance = few["T"].size, TOLERANCES[given.precision]
    error = difference(fast.results(n), plain.results(n), few, f"{label}, NS = {ns}", tolerance, tolerance)

    # Times
    slow = launch(theirs, case.collection, state, backend, given.precision)
    slow.work()
    timers = {"ours": sampled(backend, fast.work), "theirs": sampled(backend, slow.work)}
    times = {name: float(np.median(rounds)) for name, rounds in in_turns(timers, given.repeats).items()}

    row = Row.timed("models", label, ns, points, backend, times["ours"])
    return row.beside(case.pair.unlike, points / times["theirs"], error, ours=True)


def run(given, backend, say) -> Report:
    """A row for each collection, structure of k_ij and number of species."""
    points, kind = given.points or POINTS[backend.memory], given.states or STATES[backend.memory]

    rows = []
    for case in CASES:
        if given.cases and case.collection not in given.cases:
            continue
        for kij in given.kij:
            for ns in given.ns or NS:
                say(f"models: {case.named(kij)}, NS = {ns}")
                rows.append(measure(case, ns, kij, points, kind, given, backend))

    models = ", ".join(f"{key} = {value}" for key, value in REFERENCE.items())
    facts = [f"ours: {models}", f"{points} points a pass, {kind} states, {given.repeats} rounds, {given.precision}"]
    return Report(rows, facts, NOTES)
