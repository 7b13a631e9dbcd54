"""`bench phases`: vapour and liquid in equilibrium, cold and warm. Peng-Robinson beside codes with a flash, or equation
`mapped`.

Values first: on a GPU against the CPU, T of a density against the T it was made of, other codes by the number of phases
and beta.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import time

import numpy as np

from kernels.engine.tune import seconds

from ...errors import refuse
from . import ceilings, phase_rivals, phase_targets
from .phase_gases import GASES, MANY, Alkanes, Field, Gas
from .report import Report, Row
from .timing import WrongValues, in_turns, part, took

NS = (2, 4, 10)
POINTS = {"host": 1 << 13, "device": 1 << 20}  # by the backend's memory
COMPARED = 4096  # points of a GPU that the CPU repeats
RIVAL_POINTS = 48  # of other codes, spread over ours
STATE = "ln_kappa eta phases_status phases_steps"

# A start that is off as after a step of a flow solver.
OFF_T, OFF_K = 0.002, 0.006  # relative, of T; of ln_kappa and eta

# What may differ: points with another number of phases (on the boundary, or another local minimum), and values.
MOST_OTHERS = {"cpu": 1e-3, "rival": 0.05}  # share of the points
FIELD_STEPS = 6  # of a field before those that are timed
FIELD_TIMED = 4  # steps: points that move alike are tested at the same step, and not at those between
TOLERANCE, TOLERANCE_T = 1e-6, 1e-7  # of vol and ln_kappa on a GPU; of T of a density
LEAST_FOUND = 0.999  # share of the two-phase points that a warm start at e and rho has to find


@dataclasses.dataclass(frozen=True)
class Call:
    """A program: outputs and inputs, or kernels."""

    outputs: str = ""
    given: str = ""
    kernels: str = ""
    phases: str = "equilibrium"

    def program(self, gas: Gas, backend):
        """The program for a gas."""
        how = {name: text.split() for name in ("outputs", "given", "kernels") if (text := getattr(self, name))}
        return gas.mixture(self.phases).program(**how, backend=backend)


CALLS = {
    "Tp cold": Call(f"vol beta {STATE}", "T p Y"),
    "Tp warm": Call(f"vol {STATE}", "T p Y ln_kappa eta"),
    "UV warm": Call(f"T p {STATE}", "e rho Y T_start ln_kappa eta"),
    "pV warm": Call(f"T {STATE}", "p rho Y T_start ln_kappa eta"),
    "properties": Call(kernels="equilibrium_thermal internal_energy"),
    "thermal, one phase": Call("rho h cp c rho_p rho_T h_p", "T p Y", phases="single"),
}

SOLVER = "vol rho h cp c rho_p rho_T h_p h_T"
FIELD_CALLS = {  # of a flow solver's step
    "T p": Call(f"{SOLVER} {STATE}", "T p Y ln_kappa eta"),
    "e rho": Call(f"T p {SOLVER.removeprefix('vol rho ')} {STATE}", "e rho Y T_start ln_kappa eta"),
}
ONE_PHASE = "thermal, one phase"
OF_TWO = {"UV warm": "e and rho", "pV warm": "p and rho"}  # calls of the two-phase points alone: what they begin with


class Work:
    """A program on arrays of its backend. Before each launch the arrays that it updates get their values back."""

    def __init__(self, program, given: dict):
        self.backend, self.n, self.writes = program.backend, given["Y"].shape[1], program.writes
        names = dict.fromkeys((*program.reads, *program.writes))
        self.arrays = {k: self.backend.empty((program.plan.rows(k), self.backend.pad(self.n)), float) for k in names}
        self.given = {}
        for k in program.reads:
            values = np.ascontiguousarray(np.reshape(given[k], (-1, self.n)))
            self.given[k] = self.backend.from_host(values, np.float64)
        self._run = program.bind(self.arrays)

    def _put_back(self) -> None:
        for k, v in self.given.items():
            self.arrays[k][:, : self.n] = v

    def results(self) -> dict:
        """The outputs of a launch: (n,) or (rows, n)."""
        self._put_back()
        self._run(self.n)
        found = {k: self.backend.to_host(self.arrays[k][:, : self.n]) for k in self.writes}
        return {k: v[0] if len(v) == 1 else v for k, v in found.items()}

    def seconds(self) -> float:
        """Seconds of a launch, on a CPU of its processor: other load of the machine counts less."""
        self._put_back()
        if self.backend.memory == "host":
            return took(lambda: self._run(self.n), time.process_time)
        self.backend.synchronize()
        return seconds(self.backend, lambda: self._run(self.n))


@dataclasses.dataclass
class Subject:
    """States of a gas, with results at T and p."""

    gas: Gas
    kind: str  # random or ordered
    state: dict
    found: dict  # of Tp cold

    @property
    def what(self) -> str:
        return f"{self.gas.what}, {self.kind}"

    @property
    def lost(self) -> int:
        """Number of points of which no state was found."""
        return int(np.sum(self.found["phases_status"] == 2))

    @property
    def two(self) -> np.ndarray:
        """The points with two phases."""
        return self.found["phases_status"] == 1

    def spread(self, count: int) -> slice:
        """Some `count` points, spread over all."""
        n = self.two.size
        return slice(0, n, max(1, n // count))


def compiled(gas: Gas, backend) -> dict:
    """The programs that the gas is timed with, compiled side by side."""
    calls = {name: call for name, call in CALLS.items() if not gas.CALLS or name in gas.CALLS}
    if gas.HAS_FIELD:
        calls |= FIELD_CALLS
    with concurrent.futures.ThreadPoolExecutor() as pool:
        made = {name: pool.submit(call.program, gas, backend) for name, call in calls.items()}
        return {name: each.result() for name, each in made.items()}


# ---- values


def check_on_cpu(subject: Subject) -> float:
    """Largest difference of a GPU's results from the CPU's. Raises WrongValues."""
    few = subject.spread(COMPARED)
    wanted = subject.gas.mixture().properties(f"vol {STATE}", backend="cpu", **part(subject.state, few))
    found = {name: value[..., few] for name, value in subject.found.items()}

    same = wanted["phases_status"] == found["phases_status"]
    refuse_others(subject, "the CPU", same, MOST_OTHERS["cpu"])
    both = same & (wanted["phases_status"] < 2)
    off = np.abs(found["vol"] / wanted["vol"] - 1)[both].max()
    off_K = np.abs(found["ln_kappa"] - wanted["ln_kappa"])[:, both].max()
    worst = float(max(off, off_K))
    if not worst <= TOLERANCE:
        raise WrongValues(f"{subject.what}: the GPU differs by {worst:.1e} from the CPU. Nothing was timed.")
    return worst


def refuse_others(subject: Subject, name: str, same: np.ndarray, most: float) -> None:
    """Raises WrongValues if more than this share of the points has another number of phases, or another split."""
    others = int(np.sum(~same))
    if others > most * same.size:
        raise WrongValues(
            f"{subject.what}: {name} has another number of phases, or another split, at {others} of {same.size} "
            "points. Nothing was timed."
        )


def check_warm(subject: Subject, T, found: dict) -> tuple[float, float]:
    """(share that is found, largest relative difference from T) of a call of OF_TWO. Raises WrongValues."""
    there = found["phases_status"] == 1
    share = float(np.mean(there))
    worst = float(np.abs(found["T"] / T - 1)[there].max(initial=0.0))
    if not (share >= LEAST_FOUND and worst <= TOLERANCE_T):
        raise WrongValues(
            f"{subject.what}: of a density {share:.4%} found again, T off by {worst:.1e}. Nothing was timed."
        )
    return share, worst


@dataclasses.dataclass
class Beside:
    """A rival at some of the points, whose values are right."""

    rival: phase_rivals.Rival
    error: float  # largest difference of beta
    others: int  # points with another number of phases, or another split
    given: list  # arguments of its flash of each point

    def seconds(self) -> float:
        """Seconds of the processor for a flash of each point."""

        def work():
            for arguments in self.given:
                self.rival.flash(*arguments)

        return took(work, time.process_time)


def some_points(subject: Subject, of_two: bool) -> tuple[np.ndarray, list[phase_rivals.Point]]:
    """Numbers of RIVAL_POINTS points, or of all, spread over those that a rival takes; and their states."""
    numbers = np.flatnonzero(subject.two) if of_two else np.arange(subject.two.size)
    few = numbers[:: max(1, len(numbers) // RIVAL_POINTS)]
    state = part(subject.state, few)
    found = subject.gas.mixture().properties("X rho_l rho_v Y_l Y_v", backend="cpu", **state)

    W = subject.gas.mixture().species.W[:, None]
    amounts = [(found["rho_" + phase] * found["Y_" + phase] / W).T.copy() for phase in "lv"]
    return few, [phase_rivals.Point(*each) for each in zip(state["T"], state["p"], found["X"].T.copy(), *amounts)]


def check_rival(subject: Subject, rival) -> Beside:
    """The rival beside our results at T and p. The share of the vapour or of the liquid: codes name phases by rules of
    their own. Raises WrongValues."""
    few, points = some_points(subject, rival.of_two)
    given = [rival.given(point) for point in points]

    same = np.ones(len(points), bool)
    off = np.zeros(len(points))
    for k, (arguments, two, beta) in enumerate(zip(given, subject.two[few], subject.found["beta"][few])):
        theirs, share = rival.read(rival.flash(*arguments))
        same[k] = theirs == two
        if theirs and two:
            off[k] = min(abs(beta - share), abs(1 - beta - share))
            same[k] = off[k] <= rival.tolerance
    refuse_others(subject, rival.name, same, MOST_OTHERS["rival"])
    return Beside(rival, float(off[same].max()), int(np.sum(~same)), given)


# ---- rows


def start_of(subject: Subject) -> dict:
    """A start that is off as after a step of a flow solver: T_start, and ln_kappa and eta of the two-phase points."""
    random = np.random.default_rng(2)
    start = {}
    for name in ("ln_kappa", "eta"):
        off = OFF_K * random.normal(size=subject.found[name].shape)
        start[name] = subject.found[name] + off * subject.two

    T = subject.state["T"]
    start["T_start"] = T * (1 + OFF_T * random.normal(size=T.size))
    return start


def works_of(subject: Subject, programs: dict) -> dict[str, Work]:
    """{name: work} of CALLS: at T and p, from a start, and from the densities of the two-phase points."""
    state, start = subject.state, start_of(subject)
    given = {
        "Tp cold": state,
        "Tp warm": {**state, **start},
        "properties": {**state, **subject.found},
        ONE_PHASE: state,
    }
    works = {name: Work(programs[name], values) for name, values in given.items() if name in programs}
    if not OF_TWO.keys() & programs.keys():
        return works

    properties = works["properties"].results()
    energy = {name: properties[name] for name in ("e", "rho")}
    two = np.flatnonzero(subject.two)
    of_two = {name: values[..., two] for name, values in {**state, **energy, **start}.items()}
    return works | {name: Work(programs[name], of_two) for name in OF_TWO}


def timed_rows(subject: Subject, works: dict, beside: list[Beside], errors: dict, repeats: int) -> list[Row]:
    """Rows of the works, each beside the rivals of its call. errors: {name of a call: largest difference}."""
    timers = {name: work.seconds for name, work in works.items()}
    timers |= {each.rival.name: each.seconds for each in beside}
    times = {name: float(np.median(rounds)) for name, rounds in in_turns(timers, repeats).items()}

    rows = []
    for name, work in works.items():
        row = Row.timed("phases", f"{name}, {subject.kind}", subject.gas.ns, work.n, work.backend, times[name])
        rivals = [each for each in beside if each.rival.call == name]
        if not rivals or name in errors:
            rows.append(dataclasses.replace(row, max_rel_diff=errors.get(name)))
        for each in rivals:
            rows.append(row.beside(each.rival.name, len(each.given) / times[each.rival.name], each.error))
    return rows


@dataclasses.dataclass
class Measured:
    """What a gas gave."""

    rows: list[Row]
    fact: str
    lost: int = 0  # points of which no state was found


def measure(gas: Gas, kind: str, programs: dict, given) -> Measured:
    """A gas at a kind of states. Raises WrongValues."""
    backend = programs["Tp cold"].backend
    n = given.points or POINTS[backend.memory]
    state = gas.states(n, kind)

    # Values first.
    subject = Subject(gas, kind, state, Work(programs["Tp cold"], state).results())
    two = subject.two
    refuse(not two.any(), f"--points {n}: none of them has two phases; wanted more.")
    errors: dict[str, float] = {}
    if backend.memory == "device":
        errors["Tp cold"] = check_on_cpu(subject)
    works = works_of(subject, programs)
    beside = [check_rival(subject, rival) for name in works for rival in gas.rivals(name)]
    words = [f"{two.mean():.0%} of the points two phases, {subject.lost} not found"]
    for name in [name for name in OF_TWO if name in works]:
        found = works[name].results()
        share, errors[name] = check_warm(subject, state["T"][two], found)
        words.append(f"of {OF_TWO[name]} {share:.3%} found again in {found['phases_steps'].mean() / 2:.1f} steps")

    # Times.
    rows = timed_rows(subject, works, beside, errors, given.repeats)
    if beside:
        others = [f"{each.rival.name} {each.others} of {len(each.given)}" for each in beside]
        words.append(f"another split: {', '.join(others)}")
    return Measured(rows, f"{subject.what}: {'; '.join(words)}", subject.lost)


@dataclasses.dataclass
class FieldStep:
    """A step of a field, warm: works by the name of a call, and their results beside those from nothing."""

    works: dict[str, Work]
    others: dict[str, int]  # points with other phases than from nothing
    one: np.ndarray  # points with one phase
    rests: np.ndarray  # and those of which no test of stability was made


def field_step(gas: Gas, programs: dict, n: int, before: dict, state: dict) -> FieldStep:
    """The step from the state `before`, with what the points carry, to `state`. Raises WrongValues where it has other
    phases than from nothing."""
    cold = Work(programs["Tp cold"], state).results()
    energy = Work(programs["properties"], {**state, **cold}).results()
    inputs = {**state, "e": energy["e"], "rho": energy["rho"], "T_start": before["T"]}
    inputs |= {name: before[name] for name in ("ln_kappa", "eta")}
    works = {name: Work(programs[name], inputs) for name in FIELD_CALLS}

    others = {}
    for name, work in works.items():
        found = work.results()
        others[name] = int(np.sum(found["phases_status"] != cold["phases_status"]))
        if others[name] > MOST_OTHERS["cpu"] * n:
            raise WrongValues(
                f"{gas.what}, field, {name}: {others[name]} of {n} points have other phases than cold ones."
            )

    one = cold["phases_status"] == 0
    return FieldStep(works, others, one, one & (found["phases_steps"] == 1))


def field_steps(gas: Gas, programs: dict, field: Field) -> list[FieldStep]:
    """The steps of a field that are timed, after FIELD_STEPS others."""
    steps = []
    before = {"T": None, "ln_kappa": np.zeros((gas.ns, field.n)), "eta": np.zeros(field.n)}
    for number in range(FIELD_STEPS + FIELD_TIMED):
        state = field.state(number)
        if number >= FIELD_STEPS:
            steps.append(field_step(gas, programs, field.n, before, state))

        carried = {name: before[name] for name in ("ln_kappa", "eta")}
        found = Work(programs["T p"], {**state, **carried}).results()
        before = {"T": state["T"], "ln_kappa": found["ln_kappa"], "eta": found["eta"]}

    return steps


def measure_field(gas: Gas, programs: dict, given) -> Measured:
    """Steps of a field with 20 % two-phase points, beside `thermal` as one phase. Raises WrongValues where a warm step
    has other phases than a cold one."""
    backend = programs["T p"].backend
    field = Field.of(gas, given.points or POINTS[backend.memory])
    steps = field_steps(gas, programs, field)

    # Times: the mean of the steps
    timers = {ONE_PHASE: Work(programs[ONE_PHASE], field.state(FIELD_STEPS)).seconds}
    for number, step in enumerate(steps):
        timers |= {f"{name} {number}": work.seconds for name, work in step.works.items()}
    medians = {name: float(np.median(rounds)) for name, rounds in in_turns(timers, 5 * given.repeats).items()}
    plain = medians[ONE_PHASE]
    times = {}
    for name in FIELD_CALLS:
        times[name] = float(np.mean([medians[f"{name} {number}"] for number in range(len(steps))]))

    rows = []
    for name, seconds_of in times.items():
        row = Row.timed("phases", f"field, {name}", gas.ns, field.n, backend, seconds_of)
        rows.append(row.beside(ONE_PHASE, field.n / plain, None))
    rows.append(Row.timed("phases", f"field, {ONE_PHASE}", gas.ns, field.n, backend, plain))

    one = np.concatenate([step.one for step in steps])
    rests = np.concatenate([step.rests for step in steps])
    ratios = ", ".join(f"{name} {times[name] / plain:.1f}" for name in FIELD_CALLS)
    others = ", ".join(f"{name} {max(step.others[name] for step in steps)}" for name in FIELD_CALLS)
    fact = (
        f"{gas.what}, field: {1 - one.mean():.0%} of the points two phases; {rests.sum() / one.sum():.0%} of the "
        f"others skip the test of stability; a step costs, in units of `{ONE_PHASE}`: {ratios}; other phases than "
        f"cold: {others}, in the worst of {len(steps)} steps"
    )
    return Measured(rows, fact)


def targets(backend) -> list[phase_targets.Target]:
    """Targets of the backend."""
    if backend.memory == "device":
        return phase_targets.on_device()
    return phase_targets.on_core(ceilings.lanes(backend))


def run(given, backend, say) -> Report:
    """All rows. say(text) reports progress."""
    sizes = given.ns or NS
    if given.bench == "all":
        sizes = [ns for ns in sizes if 2 <= ns <= len(MANY)]
    wrong = [ns for ns in sizes if not 2 <= ns <= len(MANY)]
    refuse(wrong, f"--ns {wrong}: bench phases wants 2 to {len(MANY)}.")
    refuse(given.mixture and given.bench != "all", "--mixture: bench phases has species of its own; give --ns.")

    gases = [GASES[given.equation](ns) for ns in sizes]
    if given.equation == "pr" and Alkanes().ns in sizes:
        gases.append(Alkanes())

    rows: list[Row] = []
    lost = 0
    facts = [f"{given.points or POINTS[backend.memory]} points a pass, {given.repeats} rounds"]
    for gas in gases:
        begin = time.perf_counter()
        programs = compiled(gas, backend)
        say(f"{gas.what}: compiled in {time.perf_counter() - begin:.1f} s")

        parts = [measure(gas, kind, programs, given) for kind in gas.KINDS]
        if gas.HAS_FIELD:
            parts.append(measure_field(gas, programs, given))
        for measured in parts:
            rows += measured.rows
            lost += measured.lost
            facts.append(measured.fact)
            say(measured.fact)

    return Report(rows, facts, NOTES, phase_targets.beside(rows, lost, targets(backend)))


NOTES = (
    "Medians, on a CPU of the processor's seconds. Cold: from nothing; warm: T, ln_kappa and eta of the solution, off "
    "by 0.2 % and 0.006; UV, pV: T of e and rho, of p and rho, of the two-phase points alone; properties: cp, c, "
    "slopes and e of a found state; thermal, one phase: the same equation without phases. Field: lines of 128 cells "
    "across mixing layers that move a tenth of a cell a step, state and slopes from what the points carry. Before "
    "anything is timed: a GPU beside the CPU, 1e-6; T of a density, 1e-7; a step of the field beside the same from "
    "nothing; other codes by the number of phases and by beta: at most 5 % of the points may have another split, the "
    "largest difference of beta is of the rest. Other codes take a state a call from Python, some of the same points: "
    "their time has the interpreter's in it. teqp has no flash that finds the number of phases; it is given both to "
    "begin from. ThermoPack's UV flash begins from T and p off by 0.2 % and 0.5 %. Clapeyron.jl takes 25.7 us for the "
    "four alkanes at 303 K and 1 bar, by its issue 314; it is not run here."
)
