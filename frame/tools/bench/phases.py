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

from kernels import Mixture, SpeciesData
from kernels.engine.tune import seconds

from ...errors import refuse
from . import phase_rivals
from .report import Report, Row
from .timing import WrongValues, in_turns, part, took

NAMES = "N2 C12H26 CH4 CO2 C2H6 C3H8 iC4 nC4 iC5 nC5".split()
# ThermoPack's own constants: it takes no others.
TC = [126.161, 658.1, 190.555, 304.2, 305.4, 369.8, 408.1, 425.2, 460.4, 469.6]  # K
PC = [3394400, 1817000, 4598837, 7376500, 4883900, 4245500, 3647700, 3799700, 3384300, 3374100]  # Pa
OMEGA = [0.04, 0.574, 0.01131, 0.225, 0.098, 0.152, 0.176, 0.193, 0.227, 0.251]
W = [0.028013, 0.17034, 0.0160425, 0.04401, 0.03007, 0.044097, 0.058124, 0.058124, 0.072151, 0.072151]  # kg/mol

# Of equation `mapped`: fluids that have a row
MAPPED_NAMES = "N2 NC12H26 CH4 CO2 C2H6 C3H8 NC4H10 NC5H12 NC6H14 NC7H16".split()

NS = (2, 4, 10)
POINTS = {"host": 1 << 13, "device": 1 << 20}  # by the backend's memory
COMPARED = 4096  # points of a GPU that the CPU repeats
RIVAL_POINTS = 48  # of other codes, spread over ours
STATE = "ln_kappa eta phases_status phases_steps"

# A start that is off as after a step of a flow solver.
OFF_T, OFF_K = 0.002, 0.006  # relative, of T; of ln_kappa and eta

# What may differ: points with another number of phases (on the boundary, or another local minimum), and values.
MOST_OTHERS = {"cpu": 1e-3, "rival": 0.05}  # share of the points
FIELD_STEPS = 6  # of a field before the one that is timed
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


def species(ns: int) -> SpeciesData:
    """The first ns species, with constant heat capacities."""
    nasa = np.zeros((ns, 7))
    nasa[:, 0], nasa[:, 1] = 4.0, 0.01
    kij = np.where(np.eye(ns) > 0, 0.0, 0.05)
    kij[0, 1] = kij[1, 0] = 0.19
    some = NAMES[:ns], W[:ns], OMEGA[:ns]
    return SpeciesData.from_arrays(*some, nasa, nasa, 1000.0, Tc=TC[:ns], pc=PC[:ns], kij=kij, T_min=20.0, T_max=6e3)


@dataclasses.dataclass(frozen=True)
class Gas:
    """The first ns species with an equation of state."""

    ns: int
    equation: str = "pr"

    def mixture(self, phases: str = "equilibrium") -> Mixture:
        """Peng-Robinson with the alpha of 1976, which the rivals have; or equation `mapped`."""
        if self.equation == "mapped":
            return Mixture.from_names(" ".join(MAPPED_NAMES[: self.ns]), equation="mapped", phases=phases)
        return Mixture(species(self.ns), phases=phases, alpha="pr76")

    def rivals(self) -> list[phase_rivals.Rival]:
        """Codes that have the equation."""
        return phase_rivals.installed(species(self.ns)) if self.equation == "pr" else []

    @property
    def what(self) -> str:
        return f"NS = {self.ns}" if self.equation == "pr" else f"NS = {self.ns}, {self.equation}"


def states(gas: Gas, n: int, kind: str) -> dict:
    """T [K], p [Pa], Y (ns, n), about half of them two phases. kind: ordered, as neighbours of a field; or random."""
    ns = gas.ns
    random = np.random.default_rng(1)
    i = np.arange(n)
    if kind == "ordered":
        a, p, share = i / n, 6e6 * (1 + 0.3 * np.sin(i * 1e-4)), 0.5 + 0.45 * np.sin(i * 3e-3)
    else:
        a, p, share = random.random(n), 1e5 * 200.0 ** random.random(n), random.random(n)

    X = np.stack([share, 1 - share, *(0.05 * random.random(n) for _ in range(ns - 2))])
    Y = X * gas.mixture().species.W[:, None]
    return dict(T=300 + 500 * a, p=p, Y=Y / Y.sum(0))


@dataclasses.dataclass(frozen=True)
class Field:
    """Lines of cells across a stream of fuel in hot nitrogen, whose mixing layers hold the two-phase cells. All moves
    a tenth of a cell a step: half a cell in the time of a sound wave at a Mach number of 0.2."""

    gas: Gas
    n: int  # points
    width: float = 0.05  # of a layer, in lengths of a line

    CELLS = 128  # of a line
    SHARE = 0.2  # of the points that are to be two phases

    @classmethod
    def of(cls, gas: Gas, n: int) -> Field:
        """The field whose layers are so wide that SHARE of the points are two phases."""
        low, high = 0.02, 0.12
        for _ in range(8):
            width = (low + high) / 2
            state = cls(gas, 16 * cls.CELLS, width).state(0)
            two = gas.mixture().properties("phases_status", backend="cpu", **state)["phases_status"] == 1
            low, high = (width, high) if two.mean() < cls.SHARE else (low, width)
        return cls(gas, n, width)

    def state(self, step: int) -> dict:
        """T [K], p [Pa], Y (ns, n) after so many steps."""
        i = np.arange(self.n)
        line = i // self.CELLS
        x = (i % self.CELLS + 0.5 - 0.1 * step) / self.CELLS
        from_stream = np.abs((x + 0.02 * np.sin(0.37 * line)) % 1.0 - 0.5)
        fuel = 0.5 * (1 - np.tanh((from_stream - 0.25) / self.width))

        rest = self.gas.ns - 2
        stream = np.array([0.0, 0.97 if rest else 1.0, *[0.03 / max(rest, 1)] * rest])
        gas = np.array([1 - 0.02 * rest, 0.0, *[0.02] * rest])
        cp = 2800 * fuel + 1100 * (1 - fuel)
        T = (2800 * 550 * fuel + 1100 * 1000 * (1 - fuel)) / cp
        p = 6e6 * (1 + 0.01 * np.sin(0.1 * line + 2 * np.pi * x))
        return dict(T=T, p=p, Y=fuel * stream[:, None] + (1 - fuel) * gas[:, None])


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
        """Seconds of a launch."""
        self._put_back()
        self.backend.synchronize()
        return seconds(self.backend, lambda: self._run(self.n))

    def processor_seconds(self) -> float:
        """Seconds of a launch that the processor worked for it, on a CPU: other load of the machine counts less."""
        if self.backend.memory != "host":
            return self.seconds()
        self._put_back()
        return took(lambda: self._run(self.n), time.process_time)


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
    def two(self) -> np.ndarray:
        """The points with two phases."""
        return self.found["phases_status"] == 1

    def spread(self, count: int) -> slice:
        """Some `count` points, spread over all."""
        n = self.two.size
        return slice(0, n, max(1, n // count))


def compiled(gas: Gas, backend) -> dict:
    """All programs, compiled side by side."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        made = {name: pool.submit(call.program, gas, backend) for name, call in {**CALLS, **FIELD_CALLS}.items()}
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
    points: list  # (T, p, X) of each

    def seconds(self) -> float:
        """Seconds of a flash of each point."""

        def work():
            for point in self.points:
                self.rival.flash(*point)

        return took(work)


def check_rival(subject: Subject, rival) -> Beside:
    """The rival beside our results at T and p. The share of the vapour or of the liquid: codes name phases by rules of
    their own. Raises WrongValues."""
    few = subject.spread(RIVAL_POINTS)
    state = part(subject.state, few)
    X = state["Y"] / np.array(W[: subject.gas.ns])[:, None]
    X = X / X.sum(0)
    points = [(T, p, np.ascontiguousarray(x)) for T, p, x in zip(state["T"], state["p"], X.T)]

    same = np.ones(len(points), bool)
    off = np.zeros(len(points))
    for k, (point, two, beta) in enumerate(zip(points, subject.two[few], subject.found["beta"][few])):
        theirs, share = rival.read(rival.flash(*point))
        same[k] = theirs == two
        if theirs and two:
            off[k] = min(abs(beta - share), abs(1 - beta - share))
            same[k] = off[k] <= rival.tolerance
    refuse_others(subject, rival.name, same, MOST_OTHERS["rival"])
    return Beside(rival, float(off[same].max()), int(np.sum(~same)), points)


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
    works = {
        "Tp cold": Work(programs["Tp cold"], state),
        "Tp warm": Work(programs["Tp warm"], {**state, **start}),
        "properties": Work(programs["properties"], {**state, **subject.found}),
        "thermal, one phase": Work(programs["thermal, one phase"], state),
    }

    properties = works["properties"].results()
    energy = {name: properties[name] for name in ("e", "rho")}
    two = np.flatnonzero(subject.two)
    of_two = {name: values[..., two] for name, values in {**state, **energy, **start}.items()}
    return works | {name: Work(programs[name], of_two) for name in OF_TWO}


def timed_rows(subject: Subject, works: dict, beside: list[Beside], errors: dict, repeats: int) -> list[Row]:
    """Rows of CALLS, `Tp cold` beside the rivals. errors: {name of a call: largest difference}."""
    timers = {name: works[name].seconds for name in CALLS}
    timers |= {each.rival.name: each.seconds for each in beside}
    times = {name: float(np.median(rounds)) for name, rounds in in_turns(timers, repeats).items()}

    rows = []
    for name in CALLS:
        work = works[name]
        row = Row.timed("phases", f"{name}, {subject.kind}", subject.gas.ns, work.n, work.backend, times[name])
        row = dataclasses.replace(row, max_rel_diff=errors.get(name))
        if name != "Tp cold" or not beside:
            rows.append(row)
            continue
        for each in beside:
            rows.append(row.beside(each.rival.name, len(each.points) / times[each.rival.name], each.error))
    return rows


def measure(gas: Gas, kind: str, programs: dict, given) -> tuple[list[Row], str]:
    """Rows of a gas and a kind of states, and a line of facts. Raises WrongValues."""
    backend = programs["Tp cold"].backend
    n = given.points or POINTS[backend.memory]
    state = states(gas, n, kind)

    # Values first.
    subject = Subject(gas, kind, state, Work(programs["Tp cold"], state).results())
    two = subject.two
    refuse(not two.any(), f"--points {n}: none of them has two phases; wanted more.")
    error = check_on_cpu(subject) if backend.memory == "device" else None
    beside = [check_rival(subject, rival) for rival in gas.rivals()]
    works = works_of(subject, programs)
    errors, again = {"Tp cold": error}, []
    for name, given_names in OF_TWO.items():
        found = works[name].results()
        share, errors[name] = check_warm(subject, state["T"][two], found)
        again.append(f"of {given_names} {share:.3%} found again in {found['phases_steps'].mean() / 2:.1f} steps")

    # Times.
    rows = timed_rows(subject, works, beside, errors, given.repeats)

    lost = int(np.sum(subject.found["phases_status"] == 2))
    others = [f"{each.rival.name} {each.others}" for each in beside]
    fact = f"{subject.what}: {two.mean():.0%} of the points two phases, {lost} not found; {'; '.join(again)}"
    if others:
        fact += f"; another split of {len(beside[0].points)}: {', '.join(others)}"
    return rows, fact


def measure_field(gas: Gas, programs: dict, given) -> tuple[list[Row], str]:
    """Rows of a step of a field with 20 % two-phase points, beside `thermal` as one phase, and a line of facts. Raises
    WrongValues where a warm step has other phases than a cold one."""
    backend = programs["T p"].backend
    field = Field.of(gas, given.points or POINTS[backend.memory])

    # Steps before: what the points carry.
    carried = dict(ln_kappa=np.zeros((gas.ns, field.n)), eta=np.zeros(field.n))
    for step in range(FIELD_STEPS):
        before = field.state(step)
        carried = Work(programs["T p"], {**before, **carried}).results()
        carried = {name: carried[name] for name in ("ln_kappa", "eta")}

    state = field.state(FIELD_STEPS)
    cold = Work(programs["Tp cold"], state).results()
    energy = Work(programs["properties"], {**state, **cold}).results()
    inputs = {**state, **carried, "e": energy["e"], "rho": energy["rho"], "T_start": before["T"]}
    works = {f"field, {name}": Work(programs[name], inputs) for name in FIELD_CALLS}
    works[f"field, {ONE_PHASE}"] = Work(programs[ONE_PHASE], state)

    # Values first.
    counts = {}
    for name in FIELD_CALLS:
        found = works[f"field, {name}"].results()
        wrong = int(np.sum(found["phases_status"] != cold["phases_status"]))
        if wrong > MOST_OTHERS["cpu"] * field.n:
            raise WrongValues(
                f"{gas.what}, field, {name}: {wrong} of {field.n} points have other phases than cold ones."
            )
        counts[name] = wrong
    one = cold["phases_status"] == 0
    skipped = np.mean(found["phases_steps"][one] == 1)

    # Times.
    timers = {name: work.processor_seconds for name, work in works.items()}
    times = {name: float(np.median(rounds)) for name, rounds in in_turns(timers, 5 * given.repeats).items()}
    plain = times[f"field, {ONE_PHASE}"]
    rows = []
    for name, seconds_of in times.items():
        row = Row.timed("phases", name, gas.ns, field.n, backend, seconds_of)
        rows.append(row if name.endswith(ONE_PHASE) else row.beside(ONE_PHASE, field.n / plain, None))

    ratios = ", ".join(f"{name} {times[f'field, {name}'] / plain:.1f}" for name in FIELD_CALLS)
    fact = (
        f"{gas.what}, field: {1 - one.mean():.0%} of the points two phases; {skipped:.0%} of the others skip the test "
        f"of stability; a step costs, in units of `{ONE_PHASE}`: {ratios}; other phases than cold: "
        + ", ".join(f"{name} {count}" for name, count in counts.items())
    )
    return rows, fact


def run(given, backend, say) -> Report:
    """All rows. say(text) reports progress."""
    sizes = given.ns or NS
    if given.bench == "all":
        sizes = [ns for ns in sizes if 2 <= ns <= len(NAMES)]
    wrong = [ns for ns in sizes if not 2 <= ns <= len(NAMES)]
    refuse(wrong, f"--ns {wrong}: bench phases wants 2 to {len(NAMES)}.")
    refuse(given.mixture and given.bench != "all", "--mixture: bench phases has species of its own; give --ns.")

    rows: list[Row] = []
    facts = [f"{given.points or POINTS[backend.memory]} points a pass, {given.repeats} rounds"]
    for ns in sizes:
        begin = time.perf_counter()
        gas = Gas(ns, given.equation)
        programs = compiled(gas, backend)
        say(f"{gas.what}: compiled in {time.perf_counter() - begin:.1f} s")
        for kind in ("random", "ordered"):
            found, fact = measure(gas, kind, programs, given)
            rows += found
            facts.append(fact)
            say(fact)
        found, fact = measure_field(gas, programs, given)
        rows += found
        facts.append(fact)
        say(fact)

    return Report(rows, facts, NOTES)


NOTES = (
    "Medians. Cold: from nothing; warm: T, ln_kappa and eta of the solution, off by 0.2 % and 0.006; UV, pV: T of e "
    "and rho, of p and rho, of the two-phase points alone; properties: cp, c, slopes and e of a found state; thermal,"
    " one phase: the same equation without phases. Field: lines of 128 cells across mixing layers that move a tenth "
    "of a cell a step, state and slopes from what the points carry, on a CPU in seconds of the processor. Before "
    "anything is timed: a GPU beside the CPU, 1e-6; T of a density, 1e-7; a step of the field beside the same from "
    "nothing; other codes by the number of phases and by beta: at most 5 % of the points may have another split, the "
    "largest difference of beta is of the rest. Other codes take a state a call from Python, some of the same points:"
    " their time has the interpreter's in it. teqp is left out: it has no flash that finds the number of phases."
)
