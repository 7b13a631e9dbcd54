"""The part of `bench kinetics` on reactors, beside Cantera's slopes, LAPACK and CVODE through Cantera.

Three things are timed: the Jacobian; a linearly implicit step (Jacobian, LU, solve); points that react over a time
step. Values are compared before anything is timed.
"""

from __future__ import annotations

import dataclasses
import pathlib
import statistics

import numpy as np

from kernels import Mixture
from kernels.engine.tune import seconds
from kernels.gas import counting

from .report import Row
from .timing import Conditions, Launch, WrongValues, fill, in_turns, part, sampled, took, with_density

# Mechanism of `kinetics`: mixture that ignites, T [K], p [Pa], dt [s].
IGNITIONS = {
    "h2o2": ("H2:2, O2:1", 1100.0, 1e6, 1e-6),
    "CH4/O2": ("CH4:1, O2:2", 1500.0, 1e7, 1e-6),
    "GRI-3.0": ("CH4:1, O2:2, N2:7.52", 1500.0, 1e6, 1e-6),
}
STATES = 256  # along an ignition: before it, through it and as long after it
RISE = 400.0  # of T where it has ignited [K]
CELLS = {"host": 256, "device": 65536}  # by the backend's memory; more than STATES: each state several times in a row
MATRICES = {"host": 1024, "device": 65536}
FEW = 32  # cells of a round of CVODE, matrices of a round of the others
CANTERA = "Cantera from Python"  # its slopes; for a linearly implicit step LAPACK on top

# Allowed differences.
SLOPES = 1e-5  # of Cantera's slopes: its slope of a falloff's blending is a one-sided difference
RESIDUAL = 1e-10  # of a linear system, over its terms
REACTED = 1e-4  # of T after a step, at react_rtol = 1e-4; 100 times as much if a cell ignites within the step
IGNITED = 100.0  # change of T in a step that counts as an ignition [K]: there the error of the delay counts

# CVODE's relative and absolute tolerance: of the values that ours are compared with, and of what is timed.
TIGHT, USUAL = (1e-10, 1e-18), (1e-6, 1e-12)


class Cvode:
    """Cantera's constant-volume reactor, cell after cell. CVODE starts anew in each cell."""

    name = "CVODE through Cantera"

    def __init__(self, path, tolerances):
        import cantera as ct

        self.gas = ct.Solution(str(path))
        self.reactor = ct.IdealGasReactor(self.gas, clone=False)
        self.net = ct.ReactorNet([self.reactor])
        self.net.rtol, self.net.atol = tolerances

    def start(self, T, p, Y) -> None:
        """Puts the reactor into a state at time 0."""
        self.gas.TPY = T, p, Y
        self.reactor.syncState()
        self.net.initial_time = 0.0

    def react(self, state: dict, dt: float) -> np.ndarray:
        """T of all cells after dt."""
        out = []
        for k in range(state["T"].size):
            self.start(state["T"][k], state["p"][k], state["Y"][:, k])
            self.net.advance(dt)
            out.append(self.reactor.T)

        return np.array(out)


def along_ignition(path, fuel: str, T: float, p: float) -> dict:
    """T, p, Y of STATES states, evenly by the steps of CVODE: from a start without radicals to twice the time of
    ignition."""
    cvode = Cvode(path, TIGHT)
    cvode.gas.TPX = T, p, fuel
    cvode.start(T, p, cvode.gas.Y)

    steps, time, end = [], 0.0, np.inf
    while time < end:
        time = cvode.net.step()
        steps.append((cvode.reactor.T, cvode.gas.P, *np.maximum(cvode.gas.Y, 0)))
        if end == np.inf and cvode.reactor.T > T + RISE:
            end = 2 * time

    chosen = np.linspace(0, len(steps) - 1, STATES).astype(int)
    temperatures, pressures, *Y = np.array(steps)[chosen].T
    return {"T": temperatures, "p": pressures, "Y": np.array(Y) / np.sum(Y, 0)}


@dataclasses.dataclass(frozen=True)
class Ignition:
    """A mechanism of IGNITIONS with states along its ignition."""

    name: str
    mixture: Mixture
    path: pathlib.Path  # of the mechanism
    dt: float  # [s]
    along: dict  # T, p, Y of STATES states

    @classmethod
    def of(cls, name: str, mixture, path) -> Ignition:
        fuel, T, p, dt = IGNITIONS[name]
        return cls(name, mixture, path, dt, along_ignition(path, fuel, T, p))

    def states(self, points: int) -> dict:
        """So many states, a multiple of FEW: each state several times in a row, or some of them."""
        which = np.arange(points) * STATES // points
        return {name: np.ascontiguousarray(x[..., which]) for name, x in self.along.items()}


def some(state: dict) -> slice:
    """FEW of the points, evenly."""
    return slice(0, state["T"].size, state["T"].size // FEW)


def slopes(gas, state: dict):
    """Yields Cantera's slopes of the net production rates in concentrations and in T, of each point."""
    for k in range(state["T"].size):
        gas.TDY = state["T"][k], state["rho"][k], state["Y"][:, k]
        yield gas.net_production_rates_ddCi, gas.net_production_rates_ddT


# ---- points that react


def react(ignition: Ignition, how: Conditions) -> tuple[Row, str]:
    """The row of points that react over dt, and a line on their steps. Raises WrongValues."""
    mixture, backend, dt = ignition.mixture, how.backend, ignition.dt
    cells = ignition.states(CELLS[backend.memory])
    given = {**cells, "dt_cv": np.full(cells["T"].size, dt)}
    outputs = ("T", "p", "Y", "status_cv", "steps_cv")
    ours = Launch(mixture.program(outputs=outputs, given=tuple(given), backend=backend), given)
    ours.work()

    # Values first.
    status, steps = ours.result("status_cv")[0], ours.result("steps_cv")[0]
    if status.any():
        count = np.count_nonzero(status)
        raise WrongValues(f"{ignition.name}: {count} cells did not react to the end. Nothing was timed.")

    few = part(cells, some(cells))
    exact, usual = Cvode(ignition.path, TIGHT).react(few, dt), Cvode(ignition.path, USUAL)
    ignites = np.where(np.abs(exact - few["T"]) > IGNITED, 100, 1)
    of_ours = np.max(np.abs(ours.result("T", some(cells))[0] / exact - 1) / ignites)
    of_theirs = np.max(np.abs(usual.react(few, dt) / exact - 1) / ignites)
    if not of_ours <= REACTED:
        raise WrongValues(f"{ignition.name}: T after {dt:g} s is {of_ours:.1e} off CVODE's, allowed is {REACTED:g}.")

    # Times. T, p, Y are updated in place, so each sample starts anew.
    def again() -> float:
        fill(backend, ours.arrays, given)
        backend.synchronize()
        return seconds(backend, ours.work)

    timers = {"ours": again, "theirs": lambda: took(lambda: usual.react(few, dt))}
    median = {name: statistics.median(times) for name, times in in_turns(timers, how.repeats).items()}

    label = f"{ignition.name}, react over {dt:g} s"
    row = Row.timed("kinetics", label, mixture.ns, ours.n, backend, median["ours"])
    row = row.beside(Cvode.name, FEW / median["theirs"], float(of_ours))
    return row, _on_steps(ignition.name, steps, of_ours, of_theirs)


def _on_steps(name: str, steps, of_ours: float, of_theirs: float) -> str:
    """The line on the steps of react and on the errors of T. steps: of each cell."""
    fuel, T, p, _ = IGNITIONS[name]
    groups = steps[: steps.size // 8 * 8].reshape(-1, 8)
    return (
        f"{name}: {fuel} from {T:g} K, {p / 1e5:g} bar; react took {steps.mean():.1f} steps a cell, a group of 8 "
        f"{groups.max(1).mean():.1f}; largest error of T (a 100th where a step ignites) {of_ours:.1e}, of CVODE as "
        f"timed {of_theirs:.1e}"
    )


# ---- Jacobians and linear systems


class Slopes:
    """Cantera's slopes of a mechanism. Their time is the time of the mechanism less the time of the same species
    without reactions."""

    def __init__(self, path):
        import cantera as ct

        self.gas = ct.Solution(str(path))
        self.bare = ct.Solution(thermo="ideal-gas", kinetics="gas", species=self.gas.species(), reactions=[])

    def seconds(self, state: dict) -> float:
        """Seconds of the slopes of all states."""
        with_reactions, without = (took(lambda gas=gas: list(slopes(gas, state))) for gas in (self.gas, self.bare))
        return with_reactions - without


def matrices(ignition: Ignition, how: Conditions) -> list[Row]:
    """Rows of the Jacobian and of a linearly implicit step. Raises WrongValues."""
    mixture, backend, dt = ignition.mixture, how.backend, ignition.dt
    state = with_density(mixture, ignition.states(MATRICES[backend.memory]))
    chosen = some(state)
    few = part(state, chosen)
    label = f"{ignition.name}, {mixture.nr} reactions"

    def launched(output, inputs):
        made = Launch(mixture.program(outputs=(output,), given=tuple(inputs), backend=backend), inputs)
        made.work()
        return made

    # Ours, and the linear systems (1/dt - J) x = f.
    jacobian = launched("J_cv", state)
    step = launched("implicit_cv", {**state, "dt_cv": np.full(state["T"].size, dt)})
    size = mixture.ns + 1
    J = jacobian.result("J_cv", chosen).reshape(size, size, -1)
    f = launched("f_cv", few).result("f_cv")
    left = np.eye(size)[..., None] / dt - J

    # Values first.
    theirs = Slopes(ignition.path)
    off, gross = slopes_checked(mixture, few, J, theirs.gas, label)
    residual = residual_checked(mixture, few, left, step.result("implicit_cv", chosen), f, gross, label)

    # Times.
    systems, right = np.ascontiguousarray(np.moveaxis(left, -1, 0)), np.ascontiguousarray(f.T[..., None])
    np.linalg.solve(systems, right)
    timers = {
        "J": sampled(backend, jacobian.work),
        "step": sampled(backend, step.work),
        "slopes": lambda: theirs.seconds(few),
        "lapack": lambda: took(lambda: np.linalg.solve(systems, right)),
    }
    median = {name: statistics.median(times) for name, times in in_turns(timers, how.repeats).items()}

    # Rows.
    def row(what, ours, spent, operands):
        cost = counting.cost(mixture, ours.program.writes, operands)
        made = Row.timed("kinetics", f"{ignition.name}, {what}", mixture.ns, ours.n, backend, spent)
        return made.below(*ours.bound(how.roofs, cost))

    of_jacobian = row("J_cv", jacobian, median["J"], few)
    of_step = row("J, LU, solve", step, median["step"], {**few, "dt_cv": np.full(few["T"].size, dt)})
    return [
        of_jacobian.beside(CANTERA, FEW / median["slopes"], off),
        of_step.beside(CANTERA, FEW / (median["slopes"] + median["lapack"]), residual),
        of_step.beside("LAPACK alone", FEW / median["lapack"], residual),
    ]


def slopes_checked(mixture, state: dict, J, gas, label: str) -> tuple[float, np.ndarray]:
    """(largest error of the Jacobian (size, size, n) beside Cantera's slopes, gross rates (ns, n)). Raises WrongValues
    beyond SLOPES."""
    ns, W = mixture.ns, mixture.species.W
    density, gross, off = state["rho"] * state["Y"], np.empty(state["Y"].shape), 0.0
    for k, (in_C, in_T) in enumerate(slopes(gas, state)):
        gross[:, k] = (gas.creation_rates + gas.destruction_rates) * 1e3 * W
        wanted = np.column_stack([in_C * W[:, None] / W, in_T * 1e3 * W])

        # An error is measured in gross rates over density or T, and in the column: terms that cancel leave roundings.
        terms = [gross[:, k, None] / np.maximum(density[:, k], 1e-30), gross[:, k] / state["T"][k]]
        size = np.column_stack(terms) + np.abs(wanted) + 1e-6 * np.abs(wanted).max(0)
        off = np.maximum(off, (np.abs(J[:ns, :, k] - wanted) / size).max())  # a NaN stays

    if not off <= SLOPES:
        raise WrongValues(f"{label}: 'J_cv' differs from Cantera's slopes by {off:.1e}, allowed is {SLOPES:g}.")
    return float(off), gross


def residual_checked(mixture, state: dict, left, solution, f, gross, label: str) -> float:
    """Largest residual of left x = f over the size of its terms. Raises WrongValues beyond RESIDUAL.

    left: (size, size, n); solution, f: (size, n); gross: rates (ns, n), to whose rounding f is known."""
    terms = np.einsum("ijn,jn->in", np.abs(left), np.abs(solution)) + np.abs(f)
    terms[:-1] += gross

    # The row of T is the sum of the other rows with the energies of the species.
    given = {name: state[name] for name in ("T", "p", "Y")}
    thermal = mixture.properties("h_Y cv", backend="cpu", **given)
    terms[-1] += (np.abs(thermal["h_Y"]) * terms[:-1]).sum(0) / (state["rho"] * thermal["cv"])

    residual = np.abs(np.einsum("ijn,jn->in", left, solution) - f)
    largest = float((residual / (terms + 1e-200)).max())
    if not largest <= RESIDUAL:
        raise WrongValues(f"{label}: 'implicit_cv' leaves {largest:.1e} of its terms, allowed is {RESIDUAL:g}.")
    return largest
