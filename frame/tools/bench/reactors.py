"""The part of `bench kinetics` that is about reactors: the Jacobian, a linearly implicit step (Jacobian, LU, solve) and
points that react over a time step, beside Cantera's slopes, LAPACK and CVODE through Cantera. Values are compared
before anything is timed."""

from __future__ import annotations

import statistics

import numpy as np

from kernels.engine.tune import seconds
from kernels.gas import counting

from .properties import SAMPLE, WrongValues, fill
from .report import Row

# Mechanism of `kinetics`: mixture that ignites, T [K], p [Pa], dt [s].
IGNITIONS = {
    "h2o2": ("H2:2, O2:1", 1100.0, 1e6, 1e-6),
    "CH4/O2": ("CH4:1, O2:2", 1500.0, 1e7, 1e-6),
    "GRI-3.0": ("CH4:1, O2:2, N2:7.52", 1500.0, 1e6, 1e-6),
}
STATES = 256  # along an ignition: before it, through it and as long after it
CELLS = {"host": 256, "device": 65536}  # by the backend's memory; more than STATES: each state several times in a row
MATRICES = {"host": 1024, "device": 65536}
FEW = 32  # cells of a round of CVODE, matrices of a round of the others
CANTERA = "Cantera from Python"  # its slopes; for a linearly implicit step LAPACK on top
# Cantera's slope of a falloff's blending is a one-sided difference. Of linear systems the residual over its terms. Of T
# after a step, at react_rtol = 1e-4; 100 times as much where it ignites in the step, since the delay's error counts.
SLOPES, RESIDUAL, REACTED = 1e-5, 1e-10, 1e-4
TIGHT, USUAL = (1e-10, 1e-18), (1e-6, 1e-12)  # CVODE's relative and absolute tolerance: what is compared; what is timed


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
        self.gas.TPY = T, p, Y
        self.reactor.syncState()
        self.net.initial_time = 0.0

    def react(self, state: dict, dt: float):
        """T of all cells after dt."""
        out = []
        for k in range(state["T"].size):
            self.start(state["T"][k], state["p"][k], state["Y"][:, k])
            self.net.advance(dt)
            out.append(self.reactor.T)
        return np.array(out)


def along_ignition(path, fuel, T, p) -> dict:
    """T, p, Y of STATES states, evenly by the steps of CVODE, from a start without radicals to twice the time at
    which T is 400 K higher."""
    cvode = Cvode(path, TIGHT)
    cvode.gas.TPX = T, p, fuel
    cvode.start(T, p, cvode.gas.Y)
    out, time, end = [], 0.0, np.inf
    while time < end:
        time = cvode.net.step()
        out.append((cvode.reactor.T, cvode.gas.P, *np.maximum(cvode.gas.Y, 0)))
        if end == np.inf and cvode.reactor.T > T + 400:
            end = 2 * time
    out = [out[k] for k in np.linspace(0, len(out) - 1, STATES).astype(int)]
    T, p, *Y = np.array(out).T
    return {"T": T, "p": p, "Y": np.array(Y) / np.sum(Y, 0)}


def some(state: dict) -> slice:
    """FEW of the points, evenly."""
    return slice(0, state["T"].size, state["T"].size // FEW)


def repeated(state: dict, points: int) -> dict:
    """So many points, a multiple of FEW: each state several times in a row, or some of them."""
    which = np.arange(points) * state["T"].size // points
    return {name: np.ascontiguousarray(x[..., which]) for name, x in state.items()}


class Ours:
    """A launch of the layer on arrays of the backend."""

    def __init__(self, mixture, outputs, state: dict, backend):
        self.n, self.backend = state["T"].size, backend
        self.program = mixture.program(outputs=outputs, given=tuple(state), backend=backend)
        plan = self.program.plan
        self.arrays = {a: backend.empty((plan.rows(a), backend.pad(self.n)), plan.dtype) for a in plan.arguments}
        fill(backend, self.arrays, state)
        self._run = self.program.bind(self.arrays)
        self.work()

    def work(self) -> None:
        self._run(self.n)

    def result(self, name, points):
        return self.backend.to_host(self.arrays[name][:, points])


def slopes(gas, state: dict, which):
    """Cantera's slopes of the net production rates in concentrations and in T, of some points."""
    for k in which:
        gas.TDY = state["T"][k], state["rho"][k], state["Y"][:, k]
        yield gas.net_production_rates_ddCi, gas.net_production_rates_ddT


def matrices_checked(mixture, state, J, implicit, f, dt, gas, which, label) -> tuple[float, float]:
    """Largest errors of the Jacobian beside Cantera's, and of the linear system's residual. WrongValues beyond what is
    allowed."""
    ns, W, few = mixture.ns, mixture.species.W, {name: x[..., which] for name, x in state.items()}
    x, gross, off = few["rho"] * few["Y"], np.empty(few["Y"].shape), 0.0
    for k, (in_C, in_T) in enumerate(slopes(gas, few, range(few["T"].size))):
        gross[:, k] = (gas.creation_rates + gas.destruction_rates) * 1e3 * W
        wanted = np.column_stack([in_C * W[:, None] / W, in_T * 1e3 * W])
        size = np.column_stack([gross[:, k, None] / np.maximum(x[:, k], 1e-30), gross[:, k] / few["T"][k]])
        found = J[:ns, :, k]
        size += np.abs(wanted) + 1e-6 * np.abs(wanted).max(0)  # what cancels leaves rounding
        off = np.maximum(off, (np.abs(found - wanted) / size).max())  # NaN stays
    if not off <= SLOPES:
        raise WrongValues(f"{label}: 'J_cv' differs from Cantera's slopes by {off:.1e}, allowed is {SLOPES:g}.")
    left = np.eye(ns + 1)[..., None] / dt - J
    terms = np.einsum("ijn,jn->in", np.abs(left), np.abs(implicit)) + np.abs(f)
    residual = np.abs(np.einsum("ijn,jn->in", left, implicit) - f)
    terms[:-1] += gross  # to whose rounding f is known
    # the row of T is a sum of the others' with the species' energies
    given = {name: few[name] for name in ("T", "p", "Y")}
    thermal = mixture.properties("h_Y cv", backend="cpu", **given)
    terms[-1] += (np.abs(thermal["h_Y"]) * terms[:-1]).sum(0) / (few["rho"] * thermal["cv"])
    left_over = float((residual / (terms + 1e-200)).max())
    if not left_over <= RESIDUAL:
        raise WrongValues(f"{label}: 'implicit_cv' leaves {left_over:.1e} of its terms, allowed is {RESIDUAL:g}.")
    return float(off), left_over


def react(case: str, mixture, path, along: dict, backend, repeats: int, took) -> tuple[Row, str]:
    """Points that react, of one mechanism of IGNITIONS, and what is to be said of it. path: its file; along: states of
    its ignition; took: seconds of a rival."""
    fuel, T, p, dt = IGNITIONS[case]
    cells = repeated(along, CELLS[backend.memory])
    tight, usual = Cvode(path, TIGHT), Cvode(path, USUAL)
    every = some(cells)
    few = {name: x[..., every] for name, x in cells.items()}
    given = {**cells, "dt_cv": np.full(cells["T"].size, dt)}
    ours = Ours(mixture, ("T", "p", "Y", "status_cv", "steps_cv"), given, backend)
    status, steps = (ours.result(name, slice(0, ours.n))[0] for name in ("status_cv", "steps_cv"))
    if status.any():
        raise WrongValues(f"{case}: {np.count_nonzero(status)} cells did not react to the end. Nothing was timed.")
    exact = tight.react(few, dt)
    of_ours, of_theirs = (
        np.abs(reacted / exact - 1) / np.where(np.abs(exact - few["T"]) > 100, 100, 1)
        for reacted in (ours.result("T", every)[0], usual.react(few, dt))
    )
    if not of_ours.max() <= REACTED:
        raise WrongValues(f"{case}: T after {dt:g} s is {of_ours.max():.1e} off CVODE's, allowed is {REACTED:g}.")
    mine: list[float] = []
    theirs: list[float] = []

    def again() -> None:  # T, p, Y are updated in place
        fill(backend, ours.arrays, given)
        backend.synchronize()
        mine.append(seconds(backend, ours.work))

    for _ in range(repeats):
        again()
        theirs.append(took(lambda: usual.react(few, dt)))
    pace, other = ours.n / statistics.median(mine), FEW / statistics.median(theirs)
    row = dict(
        bench="kinetics", case=f"{case}, react over {dt:g} s", ns=mixture.ns, points=ours.n, backend=str(backend)
    )
    row |= dict(seconds=ours.n / pace, points_per_s=pace, rival=Cvode.name, rival_points_per_s=other)
    groups = steps[: ours.n // 8 * 8].reshape(-1, 8)
    say = (
        f"{case}: {fuel} from {T:g} K, {p / 1e5:g} bar; react took {steps.mean():.1f} steps a cell, a group of 8 "
        f"{groups.max(1).mean():.1f}; largest error of T (a 100th where a step ignites) {of_ours.max():.1e}, "
        f"of CVODE as timed {of_theirs.max():.1e}"
    )
    return Row(**row, ratio=pace / other, max_rel_diff=float(of_ours.max())), say


def matrices(case: str, mixture, path, along: dict, backend, repeats: int, roofs, took) -> list[Row]:
    """The Jacobian, and a linearly implicit step, as `react`."""
    import cantera as ct

    dt, state = IGNITIONS[case][3], repeated(along, MATRICES[backend.memory])
    state = state | {"rho": mixture.properties("rho", backend="cpu", **state)["rho"]}
    n, size = state["T"].size, mixture.ns + 1
    which = some(state)
    few = {name: x[..., which] for name, x in state.items()}
    gas = ct.Solution(str(path))
    bare = ct.Solution(thermo="ideal-gas", kinetics="gas", species=gas.species(), reactions=[])
    J = Ours(mixture, ("J_cv",), state, backend)
    step = Ours(mixture, ("implicit_cv",), state | {"dt_cv": np.full(n, dt)}, backend)
    matrix = J.result("J_cv", which).reshape(size, size, -1)
    f = Ours(mixture, ("f_cv",), few, backend).result("f_cv", slice(0, FEW))
    label = f"{case}, {mixture.nr} reactions"
    errors = matrices_checked(mixture, state, matrix, step.result("implicit_cv", which), f, dt, gas, which, label)
    systems = np.ascontiguousarray(np.moveaxis(np.eye(size)[..., None] / dt - matrix, -1, 0))
    right = np.ascontiguousarray(f.T[..., None])

    def lapack():
        return np.linalg.solve(systems, right)

    def of_slopes(gas):
        return took(lambda: list(slopes(gas, few, range(few["T"].size))))

    often = [max(1, int(SAMPLE / max(seconds(backend, ours.work), 1e-9))) for ours in (J, step)]
    times: dict[str, list[float]] = {name: [] for name in ("J", "step", "slopes", "lapack")}
    lapack()
    for _ in range(repeats):
        times["J"].append(seconds(backend, J.work, often[0]))
        times["step"].append(seconds(backend, step.work, often[1]))
        times["slopes"].append(of_slopes(gas) - of_slopes(bare))
        times["lapack"].append(took(lapack))
    median = {name: statistics.median(values) for name, values in times.items()}
    out = []
    for what, ours, spent, error, rivals in (
        ("J_cv", J, median["J"], errors[0], {CANTERA: median["slopes"]}),
        (
            "J, LU, solve",
            step,
            median["step"],
            errors[1],
            {CANTERA: median["slopes"] + median["lapack"], "LAPACK alone": median["lapack"]},
        ),
    ):
        plan = ours.program.plan
        cost = counting.cost(mixture, plan.writes, few | _dt(plan, dt, few))
        bound, by = roofs.bound(cost, *(sum(map(plan.rows, names)) for names in (plan.reads, plan.writes)), n)
        row = dict(bench="kinetics", case=f"{case}, {what}", ns=mixture.ns, points=n, backend=str(backend))
        row |= dict(seconds=spent, points_per_s=n / spent, bound=bound, bound_fraction=n / spent / bound, bound_by=by)
        for name, other in rivals.items():
            pace = FEW / other
            out.append(Row(**row, rival=name, rival_points_per_s=pace, ratio=n / spent / pace, max_rel_diff=error))
    return out


def _dt(plan, dt, few) -> dict:
    return {"dt_cv": np.full(few["T"].size, dt)} if "dt_cv" in plan.reads else {}
