"""`bench properties`: the collections against plain Fortran and array expressions, each checked before it is timed."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kernels import collections
from kernels.engine.tune import seconds
from kernels.gas import counting
from kernels.gas.mixture import Mixture
from kernels.gas.plan import dtype_of

from . import ceilings, expressions, fortran, inputs
from .report import Report, Row
from .timing import Conditions, Launch, WrongValues, fill, in_turns, part, sampled, with_density

CHECKED = 4096  # points compared before timing
COUNTED = 1024  # points whose operations are counted
RIVAL_SAMPLE = 0.1  # longest duration of a sample of a slow rival [s]: it gets a part of the same points
LEAST_PART = 256  # points of such a part at least
NS = (1, 4, 10, 20, 50)
POINTS = {"host": 100_000, "device": 1_000_000}  # by the backend's memory

# Largest relative difference that passes. Two ways to round the same formulas part by 1e-12 or less at most points, but
# c and the derivatives amplify that near the ridge of the fluid. Takahashi's factor, down to 0.01, is tabulated to
# 2e-7. Mixed rounds each result once, 6e-8. Single calculates with such numbers: near the critical point they are worth
# 1e-4.
TOLERANCES, TOLERANCE_TAKAHASHI = {"double": 1e-9, "mixed": 1e-6, "single": 1e-3}, 2e-5
OTHER_ROOT = 1e-3  # densities that differ by more are the two roots of the cubic; they tie on the saturation line
MOST_OTHER_ROOTS = 1e-3  # share of points where codes may so differ


@dataclasses.dataclass(frozen=True)
class Case:
    """A collection with the options that decide on the cost."""

    name: str
    collection: str
    takahashi: str = "smooth"
    diffusion: str = "kinetic"

    @property
    def kij_matters(self) -> bool:
        return self.collection != "viscous"

    def label(self, kij: str, precision: str) -> str:
        """The case in words, as it stands in the table."""
        words = [self.name]
        if self.kij_matters:
            words.append(f"k_ij {kij}")
        if precision != "double":
            words.append(precision)
        return ", ".join(words)


CASES = (
    Case("thermal", "thermal", "off"),
    Case("viscous, low-pressure D, fuller", "viscous", "off", "fuller"),
    Case("viscous, low-pressure D, kinetic", "viscous", "off"),
    Case("viscous, Takahashi", "viscous"),
    Case("thermal_viscous, Takahashi", "thermal_viscous"),
)
THERMAL_ONLY = (expressions.Numpy, expressions.Cupy)  # rivals that have no transport
STATES = {"host": "random", "device": "smooth"}  # a warp takes 32 neighbours, and neighbours in a flow are alike


# ---- ours, and the rivals that are ours in another form


def launch(mixture, collection: str, state: dict, backend, precision: str = "double") -> Launch:
    """A collection on arrays with this state."""
    c = collections[collection]
    program = mixture.program(outputs=c.outputs, given=c.given, backend=backend, precision=precision)
    return Launch(program, state)


class Unfused:
    """The rival of fusion: a launch for each kernel, intermediate results in device memory."""

    name = "unfused launches"

    def __init__(self, backend):
        self.backend = backend

    def prepare(self, mixture, collection: str, state: dict):
        """(work, results) as of fortran.Fortran."""
        c, be, n = collections[collection], self.backend, state["T"].size
        whole = mixture.program(outputs=c.outputs, given=c.given, backend=be)
        parts = [mixture.program(kernels=[name], backend=be) for name in whole.kernels]

        names = dict.fromkeys(itertools.chain.from_iterable(part.plan.arguments for part in parts))
        arrays = {name: be.empty((mixture.rows(name), be.pad(n))) for name in names}
        fill(be, arrays, state)
        runs = [part.bind(arrays) for part in parts]

        def work():
            for run in runs:
                run(n)

        return work, {name: arrays[name][:, :n] for name in c.outputs}


class InDouble:
    """The rival of lower precisions: the same collection in double."""

    name = "in double"

    def __init__(self, backend):
        self.backend = backend

    def prepare(self, mixture, collection: str, state: dict):
        """(work, results) as of fortran.Fortran."""
        double = launch(mixture, collection, state, self.backend)
        return double.work, {name: double.arrays[name][:, : double.n] for name in double.program.writes}


def all_rivals(backend) -> tuple:
    """The rivals that run on this backend."""
    if backend.memory == "device":
        return Unfused(backend), expressions.Cupy(backend)
    return *(fortran.Fortran(*rival) for rival in fortran.RIVALS), expressions.Numpy()


# ---- values


def difference(ours: dict, rival: dict, state: dict, what: str, tolerance: float, d_tolerance: float) -> float:
    """Largest relative difference of the quantities that both have. Raises WrongValues, which names the first quantity
    beyond its tolerance.

    what: name of the comparison. d_tolerance: of D. Scales: see `_scale`.
    """
    names = [name for name in ours if name in rival]
    if not names:
        raise WrongValues(f"{what}: no quantity in common, so nothing can be checked.")

    same = _same_root(ours, rival, state, what)
    worst = 0.0
    for name in names:
        got, wanted = np.atleast_2d(ours[name])[:, same], np.atleast_2d(rival[name])[:, same]
        off = np.abs(got - wanted) / _scale(name, wanted, ours, state, same)
        allowed, largest = d_tolerance if name == "D" else tolerance, float(np.max(off))

        # Written so that a NaN on either side does not pass.
        if not largest <= allowed:
            place = tuple(np.argwhere(~(off <= allowed))[0])
            raise WrongValues(
                f"{what}: '{name}' differs by {largest:.1e} of its size, allowed is {allowed:g}; first at point "
                f"{place[1]}: {got[place]:.17g} and {wanted[place]:.17g}. Nothing was timed."
            )
        worst = max(worst, largest)

    return worst


def _same_root(ours: dict, rival: dict, state: dict, what: str) -> np.ndarray:
    """The points at which both have the same root of the cubic (all without rho). Raises WrongValues for too many
    others."""
    if not ("rho" in ours and "rho" in rival):
        return np.ones(state["T"].size, bool)

    # A NaN counts as the same root: the comparison of values finds it.
    same = ~(np.abs(np.ravel(ours["rho"]) / np.ravel(rival["rho"]) - 1) > OTHER_ROOT)
    others = np.count_nonzero(~same)
    if others > MOST_OTHER_ROOTS * same.size:
        raise WrongValues(f"{what}: 'rho' differs by more than {OTHER_ROOT:g} at {others} of {same.size} points.")
    return same


def _scale(name: str, wanted, ours: dict, state: dict, points) -> np.ndarray:
    """The size that an error of a quantity is divided by: h, e: cp T at least; h_p: 1/rho at least; others: the
    quantity. h, e and h_p pass through zero, and their errors do not. A thousandth of the median is the least size."""
    scale = np.abs(wanted)
    if name in ("h", "e") and "cp" in ours:
        scale = np.maximum(scale, np.atleast_2d(ours["cp"])[:, points] * state["T"][points])
    if name == "h_p" and "rho" in ours:
        scale = np.maximum(scale, 1 / np.atleast_2d(ours["rho"])[:, points])

    known = scale[np.isfinite(scale)]
    return np.maximum(scale, 1e-3 * np.median(known)) if known.size else scale


def given_state(mixture, collection, points: int, kind: str, precision: str = "double") -> dict:
    """Inputs of the collection at points of a kind: doubles that the precision represents exactly."""

    def exactly(state):
        return {name: value.astype(dtype_of(precision)).astype(np.float64) for name, value in state.items()}

    state = exactly(inputs.states(mixture.ns, points, kind))
    return exactly(with_density(mixture, state)) if "rho" in collection.given else state


# ---- rows


@dataclasses.dataclass
class Beside:
    """A rival whose values are right, ready for timing."""

    rival: Any
    error: float  # largest relative difference from ours
    points: int  # of a work
    works: list[Callable]  # one a round, in turn

    def timer(self, backend) -> Callable[[], float]:
        """timer(): seconds of the next work."""
        works = itertools.cycle(self.works)
        return lambda: seconds(backend, next(works))


def measure(case: Case, mixture, kij: str, how: Conditions) -> list[Row]:
    """Rows of a case and mixture, a row for each rival. Raises WrongValues."""
    collection = collections[case.collection]
    state = given_state(mixture, collection, how.points, how.kind, how.precision)
    ours = launch(mixture, case.collection, state, how.backend, how.precision)
    ours.work()

    # Values first.
    few = part(state, slice(min(how.points, CHECKED)))
    results, label = ours.results(few["T"].size), case.label(kij, how.precision)
    suited = [rival for rival in how.rivals if case.collection == "thermal" or not isinstance(rival, THERMAL_ONLY)]
    subject = _Subject(case, mixture, label, state, few, results)
    beside = [_checked(rival, subject, how) for rival in suited]

    # Times.
    timers = {"ours": sampled(how.backend, ours.work)}
    for each in beside:
        each.works[0]()
        timers[each.rival.name] = each.timer(how.backend)
    times = {name: how.of(rounds) for name, rounds in in_turns(timers, how.repeats).items()}

    # Rows.
    row = Row.timed("properties", label, mixture.ns, how.points, how.backend, times["ours"])
    if how.precision != "single":  # the ceilings of arithmetic are ceilings of doubles
        cost = counting.cost(mixture, collection.outputs, part({q: few[q] for q in collection.given}, slice(COUNTED)))
        row = row.below(*ours.bound(how.roofs, cost, ours.program.dtype.itemsize))
    rows = []
    for each in beside:
        pace = each.points / times[each.rival.name]
        rows.append(row.beside(each.rival.name, pace, each.error, ours=isinstance(each.rival, InDouble)))

    return rows or [row]


@dataclasses.dataclass
class _Subject:
    """A case at states, with our values at the first of them."""

    case: Case
    mixture: Mixture
    label: str
    state: dict  # of all points
    few: dict  # of the points that are compared
    results: dict  # our values there


def _checked(rival, subject: _Subject, how: Conditions) -> Beside:
    """A rival whose values agree with ours. Raises WrongValues."""
    backend, collection, few = how.backend, subject.case.collection, subject.few
    mixture, results = subject.mixture, subject.results
    work, theirs = rival.prepare(mixture, collection, few)
    work()
    a_point = min(seconds(backend, work) for _ in range(2)) / few["T"].size

    host = {}
    for name in results.keys() & theirs.keys():
        value = theirs[name]
        host[name] = value if type(value) is np.ndarray else backend.to_host(value)

    tolerance = TOLERANCES[how.precision]
    tabulated = mixture.options["takahashi"] == "smooth"
    d_tolerance = max(tolerance, TOLERANCE_TAKAHASHI) if tabulated else tolerance
    error = difference(results, host, few, f"{subject.label}, NS = {mixture.ns}, {rival.name}", tolerance, d_tolerance)

    # A slow rival gets parts of the points.
    n = subject.state["T"].size
    count = n if backend.memory == "device" else int(min(n, max(RIVAL_SAMPLE / max(a_point, 1e-12), LEAST_PART)))
    starts = [0] if count == n else np.linspace(0, n - count, how.repeats).astype(int)
    works = []
    for first in starts:
        works.append(rival.prepare(mixture, collection, part(subject.state, slice(first, first + count)))[0])

    return Beside(rival, error, count, works)


def mixtures(given, kij: str, case: Case):
    """Yields the mixtures of the command, each made when its turn comes; none if a file lacks data for the case."""
    options = dict(equation="pr", takahashi=case.takahashi, diffusion=case.diffusion)
    if not given.mixture:
        for ns in given.ns or NS:
            yield inputs.mixture(ns, kij, **options)
        return

    species, options = Mixture.species_from_yaml(given.mixture, **options)
    data = inputs.with_kij(species, kij)
    if case.diffusion != "fuller" or np.isfinite(data.fuller_volume).all():
        yield Mixture(data, **options)


def run(given, backend, say) -> Report:
    """All rows. say(text) reports progress."""
    rivals = all_rivals(backend)
    if given.precision != "double":
        rivals = (InDouble(backend), *rivals)
    points, kind = given.points or POINTS[backend.memory], given.states or STATES[backend.memory]
    how = Conditions(backend, ceilings.measure(backend), points, given.repeats, rivals, kind, given.precision)

    rows: list[Row] = []
    left_out = []
    for case in CASES:
        if given.cases and case.collection not in given.cases:
            continue

        for kij in given.kij if case.kij_matters else given.kij[:1]:
            count = len(rows)
            for mixture in mixtures(given, kij, case):
                begin = time.perf_counter()
                rows += measure(case, mixture, kij, how)
                say(f"{case.name}, k_ij {kij}, NS = {mixture.ns}: {time.perf_counter() - begin:.1f} s")
            if len(rows) == count:
                left_out.append(f" '{case.name}' is left out: {given.mixture} has no Fuller volume for some species.")

    facts = [f"{points} points a pass, {kind} states, {given.repeats} rounds", f"ceilings: {how.roofs.told()}"]
    if backend.memory == "host":
        facts.insert(0, f"rival: {fortran.compiler()[1]}, -march=native; NumPy {np.__version__}")
    return Report(rows, facts, notes(given, backend) + "".join(left_out))


FORTRAN_STYLES = (
    " Fortran: textbook: one point at a time, sums over pairs formed where they stand; tables: the same with pairs' "
    "parameters made once; reduced: the layer's own algebra over blocks of points, which the compiler vectorises. A "
    "slow rival gets parts of the same points, spread over all of them."
)
BOUND = (
    " Bound: the slowest of the roofs, which are measured in this run: the same rows read and written without "
    "arithmetic (or a copy of as many bytes, where that is faster), and the operations, counted by running the kernels "
    "on a number type that counts, by the fastest of the layer's ways to each."
)
GENERATED = (
    " Species: the ten of ch4_o2.yaml, then the same again with constants off by up to 10 %: synthetic, realistic in "
    "size."
)
NO_CANTERA = (
    " Cantera is left out: from Python it takes one state a call, so the interpreter would be timed, not Cantera, and "
    "its package brings no headers for a loop in C++."
)


def notes(given, backend) -> str:
    """The text below the table: how it was measured."""
    tolerance = TOLERANCES[given.precision]
    text = (
        "Ours and each rival in turns, medians; how many times faster ours is: first beside the strongest rival of the "
        f"row, then in brackets beside each. Values are compared at up to {CHECKED} points before anything is timed; "
        f"allowed relative difference {tolerance:g}, {max(tolerance, TOLERANCE_TAKAHASHI):g} for D with Takahashi's "
        "tabulated factor."
    )
    is_host = backend.memory == "host"
    text += FORTRAN_STYLES if is_host else ""
    text += BOUND
    text += "" if given.mixture else GENERATED
    text += NO_CANTERA if is_host else ""
    return text
