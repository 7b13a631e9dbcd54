"""`bench equilibrium`: chemical equilibrium of mechanisms, at constant TP, HP, UV and SP, beside Cantera.

Values first: T to 1e-6 and X to 1e-8 of Cantera's, at the points that Cantera finds.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import importlib.util
import pathlib
import time

import numpy as np

from kernels import Mixture, get_backend
from kernels.engine.tune import seconds
from kernels.gas.equilibria.calls import HELD

from ...errors import refuse
from .report import Report, Row
from .timing import Launch, WrongValues, in_turns, took

MECHANISMS = pathlib.Path(__file__).parents[3] / "examples/mechanisms"
FUELS = {"h2_o2.yaml": "H2", "ch4_o2.yaml": "CH4", "gri30.yaml": "CH4"}
OXIDIZER = "O2:1, N2:3.76"
KINDS = ("TP", "HP", "UV", "SP")
POINTS = {"host": 1 << 13, "device": 1 << 20}  # by the backend's memory
RIVAL_POINTS = 24  # of Cantera, spread over ours
DEVICE_POINTS = 2048  # that a device and a CPU compute
TOLERANCE_T, TOLERANCE_X = 1e-6, 1e-8


@dataclasses.dataclass
class Subject:
    """A mechanism with states: rich and lean, 1 to 100 bar; TP from 300 to 3000 K, the others from 300 to 1500 K."""

    file: str
    n: int
    mixture: Mixture = dataclasses.field(init=False)
    X: np.ndarray = dataclasses.field(init=False)  # (ns, n)
    T: np.ndarray = dataclasses.field(init=False)
    p: np.ndarray = dataclasses.field(init=False)

    def __post_init__(self):
        random = np.random.default_rng(1)
        phase = "ideal" if "gri" not in self.file else None
        self.mixture = Mixture.from_yaml(self.path, phase, equation="ideal", takahashi="off")
        self.X = self.mixture.mixture_of(FUELS[self.file], OXIDIZER, random.uniform(0.3, 3.0, self.n))
        self.T = random.uniform(300, 3000, self.n)
        self.p = 1e5 * 100 ** random.random(self.n)

    def part(self, n: int) -> Subject:
        """The same with the first n points."""
        few = copy.copy(self)
        few.n = min(n, self.n)
        few.X, few.T, few.p = self.X[:, : few.n], self.T[: few.n], self.p[: few.n]
        return few

    @property
    def path(self) -> str:
        return self.file if "gri" in self.file else str(MECHANISMS / self.file)

    def start(self, kind: str) -> np.ndarray:
        """T [K] of the states that come."""
        return self.T if kind == "TP" else 300 + (self.T - 300) * (1200 / 2700)

    def launch(self, kind: str, backend) -> Launch:
        """Ours, on arrays that are there."""
        given = HELD[kind]
        state = self.mixture.properties([*given, "T", "Y"], T=self.start(kind), p=self.p, X=self.X, backend="cpu")
        outputs = ["Y_eq", "status_eq", "steps_eq"] + ["T_eq"] * ("T" not in given) + ["p_eq"] * ("p" not in given)
        return Launch(self.mixture.program(outputs, [*given, "Y"], backend=backend), state)

    def result(self, launch: Launch, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """T (n,) and X (ns, n) of a launch."""
        moles = launch.result("Y_eq") / self.mixture.species.W[:, None]
        T = self.T if kind == "TP" else launch.result("T_eq")[0]
        return T, moles / moles.sum(0)


class Cantera:
    """Cantera's equilibrate at some of the points of a subject."""

    def __init__(self, subject: Subject, kind: str):
        import cantera as ct

        self.failed = ct.CanteraError
        self.gas = ct.Solution(subject.path, "ideal" if "gri" not in subject.file else "")
        self.kind, self.subject = kind, subject
        self.points = range(0, subject.n, max(1, subject.n // RIVAL_POINTS))

    def solve(self, i: int, **more) -> None:
        """Point i. Raises CanteraError."""
        self.gas.TPX = self.subject.start(self.kind)[i], self.subject.p[i], self.subject.X[:, i]
        self.gas.equilibrate(self.kind, **more)

    def work(self) -> None:
        """All its points, as a user calls it."""
        for i in self.points:
            with contextlib.suppress(self.failed):
                self.solve(i)

    def check(self, T, X) -> tuple[float, int]:
        """(largest difference of T, relative, and of X; points that Cantera does not find). Raises WrongValues."""
        worst, lost = 0.0, 0
        for i in self.points:
            try:
                self.solve(i, rtol=1e-11, max_steps=5000)
            except self.failed:
                lost += 1
                continue

            off_T, off_X = abs(self.gas.T / T[i] - 1), np.abs(self.gas.X - X[:, i]).max()
            if not (off_T <= TOLERANCE_T and off_X <= TOLERANCE_X):
                raise WrongValues(
                    f"{self.subject.file}, {self.kind}: T differs by {off_T:.1e}, X by {off_X:.1e} from Cantera's. "
                    "Nothing was timed."
                )
            worst = max(worst, float(off_T), float(off_X))
        return worst, lost


def check_device(subject: Subject, launch: Launch, kind: str) -> float:
    """The largest difference of T, relative, and of X from those of a CPU, at some points. Raises WrongValues."""
    few = subject.part(DEVICE_POINTS)
    there = few.launch(kind, get_backend("cpu"))
    there.work()

    T, X = subject.result(launch, kind)
    wanted_T, wanted_X = few.result(there, kind)
    n = few.n
    found = there.result("status_eq")[0] == 0
    off_T = np.abs(T[:n] / wanted_T - 1)[found].max()
    off_X = np.abs(X[:, :n] - wanted_X)[:, found].max()
    if not (off_T <= TOLERANCE_T and off_X <= TOLERANCE_X):
        raise WrongValues(
            f"{subject.file}, {kind}: T differs by {off_T:.1e}, X by {off_X:.1e} from the CPU's. Nothing was timed."
        )
    return float(max(off_T, off_X))


def measure(subject: Subject, kind: str, given, backend) -> tuple[Row, str]:
    """The row of a mechanism and a kind, and a line of facts. Raises WrongValues."""
    launch = subject.launch(kind, backend)
    launch.work()
    found = launch.result("status_eq")[0] == 0
    steps = launch.result("steps_eq")[0]
    fact = f"{subject.file}, {kind}: {np.sum(~found)} of {subject.n} not found, {steps.mean():.1f} steps"

    if backend.apart:
        fact += f"; largest difference from the CPU's {check_device(subject, launch, kind):.1e}"

    # On a CPU both are one thread of this process, whose own clock other processes do not disturb
    clock = time.perf_counter if backend.apart else time.thread_time
    timers = {"ours": lambda: seconds(backend, launch.work) if backend.apart else took(launch.work, clock)}
    rival, error = None, None
    if importlib.util.find_spec("cantera"):
        rival = Cantera(subject, kind)
        error, lost = rival.check(*subject.result(launch, kind))
        timers["Cantera"] = lambda: took(rival.work, clock)
        fact += f"; Cantera does not find {lost} of {len(rival.points)}"

    times = {name: float(np.median(rounds)) for name, rounds in in_turns(timers, given.repeats).items()}
    row = Row.timed("equilibrium", f"{kind}, {subject.file}", subject.mixture.ns, subject.n, backend, times["ours"])
    if rival:
        row = row.beside("Cantera", len(rival.points) / times["Cantera"], error)
    return row, fact


def run(given, backend, say) -> Report:
    """All rows. say(text) reports progress."""
    refuse(given.mixture and given.bench != "all", "--mixture: bench equilibrium has mechanisms of its own.")
    refuse(given.ns and given.bench != "all", "--ns: bench equilibrium has mechanisms of its own.")
    n = given.points or POINTS[backend.memory]

    rows, facts = [], [f"{n} points a pass, {given.repeats} rounds"]
    for file in FUELS:
        if "gri" in file and not importlib.util.find_spec("cantera"):
            continue
        subject = Subject(file, n)
        for kind in KINDS:
            row, fact = measure(subject, kind, given, backend)
            rows.append(row)
            facts.append(fact)
            say(fact)

    return Report(rows, facts, NOTES)


NOTES = (
    "Medians of rounds in turns; on a CPU by the clock of the thread. Fuel in air, equivalence ratio 0.3 to 3, 1 to "
    "100 bar; TP from 300 to 3000 K, the others from 300 to 1500 K. Ours: a launch over all points, from nothing. "
    "Cantera: equilibrate of one state a call with its own tolerance, at some of the same points. Before anything is "
    "timed: T to 1e-6 and X to 1e-8 of Cantera's at a tolerance of 1e-11. The largest difference is of both."
)
