"""`bench properties`: the collections against plain Fortran and array expressions, each checked before it is timed."""

from __future__ import annotations

import dataclasses
import statistics
import time

import numpy as np

from kernels import collections
from kernels.engine.tune import seconds
from kernels.gas import counting
from kernels.gas.mixture import Mixture
from kernels.gas.plan import dtype_of

from ...errors import BackendError
from . import ceilings, expressions, fortran, inputs
from .report import Report, Row

CHECKED = 4096  # points compared before timing
SAMPLE = 0.01  # seconds that a sample of ours takes at least
RIVAL_SAMPLE = 0.1  # seconds that a sample of a slow rival takes at most: it gets a part of the same points
NS = (1, 4, 10, 20, 50)
POINTS = {"host": 100_000, "device": 1_000_000}  # by the backend's memory

# Largest relative difference that passes. Two ways to round the same formulas part by 1e-12 or less at most points, but
# c and the derivatives amplify that near the ridge of the fluid. Takahashi's factor, down to 0.01, is tabulated to
# 2e-7. Mixed rounds each result once, 6e-8; single calculates with such numbers; near the critical point they are worth
# 1e-4.
TOLERANCES, TOLERANCE_TAKAHASHI = {"double": 1e-9, "mixed": 1e-6, "single": 1e-3}, 2e-5
OTHER_ROOT = 1e-3  # densities that differ by more are the cubic's two roots; they tie on the saturation line
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


CASES = (
    Case("thermal", "thermal", "off"),
    Case("viscous, low-pressure D, fuller", "viscous", "off", "fuller"),
    Case("viscous, low-pressure D, kinetic", "viscous", "off"),
    Case("viscous, Takahashi", "viscous"),
    Case("thermal_viscous, Takahashi", "thermal_viscous"),
)
STATES = {"host": "random", "device": "smooth"}  # a warp takes 32 neighbours, and those of a flow are alike


class WrongValues(BackendError):
    """The values of ours and of a rival differ: nothing is timed."""


class Unfused:
    """The rival of fusion: a launch for each kernel, intermediate results in device memory."""

    name = "unfused launches"

    def __init__(self, backend):
        self.backend = backend

    def prepare(self, mixture, collection: str, state: dict):
        c, be, n = collections[collection], self.backend, state["T"].size
        whole = mixture.program(outputs=c.outputs, given=c.given, backend=be)
        parts = [mixture.program(kernels=[name], backend=be) for name in whole.kernels]
        arrays = {
            q: be.empty((mixture.rows(q), be.pad(n)))
            for q in dict.fromkeys(q for part in parts for q in part.plan.arguments)
        }
        fill(be, arrays, state)
        runs = [part.bind(arrays) for part in parts]

        def work():
            for run in runs:
                run(n)

        return work, {name: arrays[name][:, :n] for name in c.outputs}


def fill(backend, arrays, state) -> None:
    """Copy the state's quantities, (rows, points), into the arrays of these names."""
    for name in arrays:
        if name in state:
            arrays[name][:, : state["T"].size] = backend.from_host(
                np.ascontiguousarray(state[name]), arrays[name].dtype
            )


class Ours:
    """A collection bound to arrays as a host would keep them."""

    def __init__(self, mixture, collection: str, state: dict, backend, precision: str = "double"):
        c, self.n = collections[collection], state["T"].size
        self.program = mixture.program(outputs=c.outputs, given=c.given, backend=backend, precision=precision)
        plan = self.program.plan
        self.arrays = {a: backend.empty((plan.rows(a), backend.pad(self.n)), plan.dtype) for a in plan.arguments}
        fill(backend, self.arrays, state)
        self._run = self.program.bind(self.arrays)

    def work(self) -> None:
        self._run(self.n)

    def results(self, backend, n: int) -> dict:
        return {name: backend.to_host(self.arrays[name][:, :n]) for name in self.program.writes}


class InDouble:
    """The rival of lower precisions: the same collection in double."""

    name = "in double"

    def __init__(self, backend):
        self.backend = backend

    def prepare(self, mixture, collection: str, state: dict):
        double = Ours(mixture, collection, state, self.backend)
        return double.work, {name: double.arrays[name][:, : double.n] for name in double.program.writes}


def difference(ours: dict, rival: dict, state: dict, what: str, tolerance: float, d_tolerance: float) -> float:
    """Largest relative difference over all quantities both have. WrongValues names the first that is beyond the
    tolerance.

    Energies are held against cp T, h_p against 1/rho, anything else against itself: they pass through zero, and their
    error does not. Nothing is held against less than a thousandth of its median.
    """
    names = [name for name in ours if name in rival]
    if not names:
        raise WrongValues(f"{what}: no quantity in common, so nothing can be checked.")
    same = np.ones(state["T"].size, bool)
    if "rho" in names:
        same = ~(np.abs(flat(ours["rho"]) / flat(rival["rho"]) - 1) > OTHER_ROOT)  # NaN stays, to be found below
        if (~same).mean() > MOST_OTHER_ROOTS:
            raise WrongValues(
                f"{what}: 'rho' differs by more than {OTHER_ROOT:g} at {(~same).sum()} of {same.size} points."
            )
    scales = {"h": "cp", "e": "cp", "h_p": "rho"}
    worst = 0.0
    for name in names:
        got, wanted = np.atleast_2d(ours[name])[:, same], np.atleast_2d(rival[name])[:, same]
        scale = np.abs(wanted)
        if scales.get(name) in ours:
            other = np.atleast_2d(ours[scales[name]])[:, same]
            scale = np.maximum(scale, other * state["T"][same] if name != "h_p" else 1 / other)
        known = scale[np.isfinite(scale)]
        scale = np.maximum(scale, 1e-3 * np.median(known)) if known.size else scale
        off = np.abs(got - wanted) / scale
        allowed, largest = d_tolerance if name == "D" else tolerance, float(np.max(off))
        if not largest <= allowed:  # so that NaN on either side, which gives NaN, does not pass
            place = tuple(np.argwhere(~(off <= allowed))[0])
            raise WrongValues(
                f"{what}: '{name}' differs by {largest:.1e} of its size, allowed is {allowed:g}; first at point "
                f"{place[1]}: {got[place]:.17g} and {wanted[place]:.17g}. Nothing was timed."
            )
        worst = max(worst, largest)
    return worst


def flat(array):
    """The array as a vector."""
    return np.reshape(array, -1)


def interleaved(backend, ours, others: list[list], repeats: int) -> tuple[list[float], list[list[float]]]:
    """Seconds of ours and of each rival in rounds, so that what else the machine does meets all of them.
    A rival is a list of works: one a round, in turn."""
    often = max(1, int(SAMPLE / max(seconds(backend, ours), 1e-9)))
    mine: list[float] = []
    theirs: list[list[float]] = [[] for _ in others]
    for round_ in range(repeats):
        mine.append(seconds(backend, ours, often))
        for times, works in zip(theirs, others):
            times.append(seconds(backend, works[round_ % len(works)]))
    return mine, theirs


def part(state: dict, first: int, count: int) -> dict:
    """The points from `first` on, `count` of them."""
    return {name: np.ascontiguousarray(value[..., first : first + count]) for name, value in state.items()}


def slices(rival, mixture, collection: str, state: dict, n: int, repeats: int, took: float):
    """A rival's works over stretches of the points, spread over all of them, so that one takes RIVAL_SAMPLE or less."""
    count = int(min(n, max(RIVAL_SAMPLE / max(took, 1e-12), 256)))
    if count >= n:
        return [rival.prepare(mixture, collection, state)[0]], n
    starts = np.linspace(0, n - count, repeats).astype(int)
    return [rival.prepare(mixture, collection, part(state, first, count))[0] for first in starts], count


def given_state(mixture, collection, points: int, kind: str, precision: str = "double") -> dict:
    """Inputs of the collection at points of a kind: doubles that the precision represents exactly."""

    def exactly(value):
        return value.astype(dtype_of(precision)).astype(np.float64)

    state = {name: exactly(value) for name, value in inputs.states(mixture.ns, points, kind).items()}
    if "rho" in collection.given:
        state["rho"] = exactly(mixture.properties("rho", backend="cpu", **state)["rho"])
    return state


def measure(
    case: Case,
    mixture,
    kij: str,
    backend,
    points: int,
    repeats: int,
    roofs,
    rivals,
    of=statistics.median,
    kind="random",
    precision="double",
) -> list[Row]:
    """Rows of one case and mixture, one a rival. of: which of the rounds' seconds is taken. kind: of states."""
    collection, ns = collections[case.collection], mixture.ns
    state = given_state(mixture, collection, points, kind, precision)
    ours = Ours(mixture, case.collection, state, backend, precision)
    ours.work()
    checked = min(points, CHECKED)
    results, few = ours.results(backend, checked), part(state, 0, checked)
    label = (
        case.name + (f", k_ij {kij}" if case.kij_matters else "") + (f", {precision}" if precision != "double" else "")
    )
    tolerance = TOLERANCES[precision]
    d_tolerance = tolerance if mixture.options["takahashi"] != "smooth" else max(tolerance, TOLERANCE_TAKAHASHI)
    taken, works = [], []
    for rival in rivals:
        if isinstance(rival, (expressions.Numpy, expressions.Cupy)) and case.collection != "thermal":
            continue
        work, theirs = rival.prepare(mixture, case.collection, few)
        work()
        took = min(seconds(backend, work) for _ in range(2)) / checked
        host = {name: theirs[name] for name in results if name in theirs}
        host = {name: value if type(value) is np.ndarray else backend.to_host(value) for name, value in host.items()}
        off = difference(results, host, few, f"{label}, NS = {ns}, {rival.name}", tolerance, d_tolerance)
        if backend.memory == "device":
            parts = [rival.prepare(mixture, case.collection, state)[0]], points
        else:
            parts = slices(rival, mixture, case.collection, state, points, repeats, took)
        taken.append((rival, off, parts[1]))
        works.append(parts[0])
        for work in works[-1][:1]:
            work()
    mine, theirs = interleaved(backend, ours.work, works, repeats)
    pace = points / of(mine)
    cost = counting.cost(mixture, collection.outputs, {name: few[name][..., :1024] for name in collection.given})
    plan, width = ours.program.plan, ours.program.dtype.itemsize
    row = Row("properties", label, ns, points, str(backend), points / pace, pace)
    if precision != "single":  # the ceilings of arithmetic are those of doubles
        reads, writes = (sum(map(plan.rows, names)) for names in (plan.reads, plan.writes))
        bound, by = roofs.bound(cost, reads, writes, points, width)
        row = dataclasses.replace(row, bound=bound, bound_fraction=pace / bound, bound_by=by)
    rows = []
    for (rival, off, count), times in zip(taken, theirs):
        rival_pace = count / of(times)
        rows.append(
            dataclasses.replace(
                row,
                rival=rival.name,
                rival_points_per_s=rival_pace,
                ratio=pace / rival_pace,
                max_rel_diff=off,
                ours=isinstance(rival, InDouble),
            )
        )
    return rows or [row]


def all_rivals(backend) -> list:
    """The rivals that run on this backend."""
    if backend.memory == "device":
        return [Unfused(backend), expressions.Cupy(backend)]
    return [*(fortran.Fortran(*rival) for rival in fortran.RIVALS), expressions.Numpy()]


def mixtures(given, kij: str, case: Case):
    """The mixtures asked for, made when their turn comes; none where a file lacks what the case needs."""
    options = dict(takahashi=case.takahashi, diffusion=case.diffusion)
    if given.mixture:
        species, options = Mixture.species_from_yaml(given.mixture, **options)
        data = inputs.with_kij(species, kij)
        if case.diffusion != "fuller" or np.isfinite(data.fuller_volume).all():
            yield Mixture(data, **options)
        return
    for ns in given.ns or NS:
        yield inputs.mixture(ns, kij, **options)


def run(given, backend, say) -> Report:
    """All rows. say(text) reports progress."""
    roofs = ceilings.measure(backend)
    rivals = [InDouble(backend)] * (given.precision != "double") + all_rivals(backend)
    points, kind = given.points or POINTS[backend.memory], given.states or STATES[backend.memory]
    rows: list[Row] = []
    left_out = []
    for case in CASES:
        if given.cases and case.collection not in given.cases:
            continue
        for kij in given.kij[: None if case.kij_matters else 1]:
            count = len(rows)
            for mixture in mixtures(given, kij, case):
                begin = time.perf_counter()
                rows += measure(
                    case,
                    mixture,
                    kij,
                    backend,
                    points,
                    given.repeats,
                    roofs,
                    rivals,
                    kind=kind,
                    precision=given.precision,
                )
                say(f"{case.name}, k_ij {kij}, NS = {mixture.ns}: {time.perf_counter() - begin:.1f} s")
            if len(rows) == count:
                left_out.append(f" '{case.name}' is left out: {given.mixture} has no Fuller volume for some species.")
    facts = [f"{points} points a pass, {kind} states, {given.repeats} rounds", f"ceilings: {roofs.told()}"]
    if backend.memory == "host":
        facts.insert(0, f"rival: {fortran.compiler()[1]}, -march=native; NumPy {np.__version__}")
    return Report(rows, facts, notes(given, backend) + "".join(left_out))


def notes(given, backend) -> str:
    """The lines above the table: how it was measured."""
    rival = (
        ""
        if backend.memory == "device"
        else (
            " Fortran: textbook: one point at a time, sums over pairs formed where they stand; tables: the same with "
            "pairs' parameters made once; reduced: the layer's own algebra over blocks of points, which the compiler "
            "vectorises. A slow rival gets parts of the same points, spread over all of them."
        )
    )
    text = (
        "Ours and each rival in turns, medians; how many times faster ours is: first beside the strongest rival of the "
        "row, then in brackets beside each. Values are compared at up "
        "to "
        f"{CHECKED} points before anything is timed; allowed relative difference {TOLERANCES[given.precision]:g}, "
        f"{max(TOLERANCES[given.precision], TOLERANCE_TAKAHASHI):g} for D with Takahashi's tabulated factor.{rival} "
        "Bound: the slowest of the roofs, which are measured in this run: the same rows read and written without "
        "arithmetic (or a copy of as many bytes, where that is faster), and the operations, counted by running the "
        "kernels on a number type that counts, by the fastest of the layer's ways to each."
    )
    if not given.mixture:
        text += (
            " Species: the ten of ch4_o2.yaml, then the same again with constants off by up to 10 %: synthetic, "
            "realistic "
            "in size."
        )
    if backend.memory == "host":
        text += (
            " Cantera is left out: from Python it takes one state a call, so the interpreter would be timed, not "
            "Cantera, and its "
            "package brings no headers for a loop in C++."
        )
    return text
