"""Lines of a run: the head, a line every so many steps, warnings, the summary."""

import math
import os
import pathlib
import time

import numpy as np

from . import layer
from .case import AXES
from .effects import without_effect
from .failure import RESOLVED
from .sides import MISUSE
from .stepping import RUNGE_KUTTA, SAMPLE

SETTLED = (100, 1000)  # steps after which memory is looked at: by then a run and its libraries have what they need


def resident() -> float:
    """Memory of this process that is in use [MiB]; 0 where the system does not tell."""
    try:
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Report:
    """Lines about a flow; out: where they go on rank 0."""

    def __init__(self, flow, out):
        self.flow, self.case, self.out = flow, flow.case, out
        self._momentum_scale = flow.balance.momentum_scale()
        self._changes, self._memory, self._warned = {}, [], set()
        self._last_rho, self._last_time = None, flow.time
        self._began, self._steps_began, self._time_began = time.perf_counter(), flow.steps, flow.time

    def say(self, text=""):
        if self.flow.ranks.rank == 0:
            print(text, file=self.out, flush=True)

    def warn(self, key, text):
        """A warning, once for each key."""
        if key not in self._warned:
            self._warned.add(key)
            self.say(f"warning: {text}")

    # ---- the head and the lines
    def announce(self):
        """The head: the case, its numerics, what the columns of the lines are."""
        self.say("\n".join([*self._case(), *self._models()]))
        for idle in without_effect(self.case):
            self.warn(idle, idle)
        self.say("\n".join(self._columns()))

    def _case(self):
        f, c = self.flow, self.case
        n = c.numerics
        size = " x ".join(map(str, c.cells[: f.dimensions]))
        grid = " x ".join(map(str, f.ranks.grid[: f.dimensions]))

        yield c.title
        yield (
            f"  {size} cells, {f.ns} species ({', '.join(f.mixture.names[:8])}), {f.ranks.size} "
            f"rank{'s' if f.ranks.size > 1 else ''} as {grid}, backend {f.backend}, exchange: {f.exchange.traffic()}"
        )
        yield (
            f"  {n['scheme']}, order {n['order']}, dissipation {n['dissipation']}, limiter "
            f"{'on' if n['limiter'] else 'off'}, {n['runge_kutta']}, CFL {n['cfl']}, "
            f"{'viscous' if f.scheme.viscous else 'inviscid'}"
        )

    def _models(self):
        f = self.flow
        options = f.mixture.options
        law = f", viscosity {options['viscosity']}" if f.scheme.viscous else ""
        yield f"  equation of state {options['equation']} without translation{law}"

        if f.chemistry:
            given = self.case.chemistry
            yield (
                f"  {f.mixture.nr} reactions at constant volume, half a step before the flow's and half after, rtol "
                f"{given['rtol']:g}, atol {given['atol']:g}, in cells of {given['coldest']:g} K and more"
            )

        if f.scheme.viscous:
            yield (
                "  mixture-averaged D for gradients of mole fractions, with correction velocity; no Soret effect, no "
                "pressure diffusion, no thermodynamic factor"
            )

        if f.scheme.phases:
            yield (
                "  vapour and liquid in equilibrium, without slip; waves at the frozen speed of sound; 2-phase: cells "
                "of two phases; search: evaluations of a phase in a cell's last search for its state, mean and most"
            )

    def _columns(self):
        f = self.flow
        mass = "moles of elements" if f.chemistry else "masses of species"
        price = "" if f.scheme.conservative else "; dE is the price of double flux"
        yield (
            f"  dmass, dE: {mass} over the whole, and energy over sum(rho cv T), since the start, less what came in "
            f"through the sides{price}"
        )

        if f.averages:
            a = f.averages
            known = f", {a.weight:g} s of them from before" if a.weight else ""
            yield f"  averages every {a.every} steps, from t = {a.began:g} s on{known}"

        yield (
            f"{'step':>8} {'t [s]':>12} {'dt [s]':>10} {'CFL':>5} {'p min .. max [MPa]':>20} "
            f"{'T min .. max [K]':>19} {'Y min .. max - 1':>18} {'d rho/dt':>9} {'dmass':>9} {'dE':>9} {'points/s':>9} "
            f"{'left':>8}" + (f" {'2-phase':>8} {'search':>10}" if f.scheme.phases else "")
        )

    def line(self):
        """A line of the table. Errors: FlowError, on every rank, where the state has no time step."""
        f = self.flow
        f.check()
        sums, passed = f.sums(), f.balance.passed()
        p, T, rho = (f.field(name) for name in ("p", "T", "rho"))
        Y = [f.field(f"Y_{name}") for name in f.mixture.names]

        # How fast the density changes, and ranges over all ranks.
        change = math.nan
        if self._last_rho is not None:
            change = float(np.abs(rho - self._last_rho).max()) / max(f.time - self._last_time, 1e-300)
        self._last_rho, self._last_time = rho, f.time
        lowest, highest = min(y.min() for y in Y), max(y.max() for y in Y)
        low_p, high_p, low_T, high_T, change, low_Y, high_Y = f.ranks.smallest(
            [p.min(), -p.max(), T.min(), -T.max(), -change, lowest, -highest]
        )

        # Balances, and the pace of the run.
        mass, energy = self._watch(sums, passed)
        took, done = time.perf_counter() - self._began, f.steps - self._steps_began
        rate = done * float(np.prod(self.case.cells)) / took if done else 0.0

        self.say(
            f"{f.steps:8d} {f.time:12.5e} {f.dt:10.3e} {f.cfl:5.2f} {low_p * 1e-6:9.4f} .. {-high_p * 1e-6:7.4f} "
            f"{low_T:8.2f} .. {-high_T:7.2f} {low_Y:8.1e} .. {-high_Y - 1:6.0e} "
            f"{-change if np.isfinite(change) else 0:9.2e} {mass:9.1e} {energy:9.1e} {rate:9.2e} "
            f"{self._left(took, done):>8}{self._phases()}"
        )
        self._look_for_misuse()

    def _phases(self) -> str:
        """Lines on phases in equilibrium: cells of two phases, evaluations of a phase in a search. A cell without a
        state has ended the run before: `check`."""
        f = self.flow
        if not f.scheme.phases:
            return ""

        status, steps = f.field("phases_status"), f.field("phases_steps")
        two, evaluations = f.ranks.total([float((status == 1).sum() + (status == 3).sum()), float(steps.sum())])
        most = -f.ranks.smallest([-float(steps.max())])[0]

        return f" {int(two):8d} {evaluations / float(np.prod(self.case.cells)):5.1f} {most:4.0f}"

    def _watch(self, sums, passed):
        """Keep the largest changes of what should close; the balances of mass and of energy."""
        f, start = self.flow, self.flow.balance.start
        ns = f.ns
        changed = sums[: ns + 4] - start[: ns + 4] - passed
        kept = f.chemistry.atoms() if f.chemistry else np.eye(ns)  # reactions keep elements, and total mass with them
        mass = float(np.abs(changed[:ns] @ kept).max() / (start[:ns] @ kept).sum())
        energy = float(changed[-1] / start[-1])
        changes = {"moles of an element" if f.chemistry else "mass of a species": mass}
        # pressure on the sides gives and takes momentum: a flow at rest has a scale too
        scale = max(self._momentum_scale, f.balance.momentum_scale(), float(np.abs(passed[ns : ns + 3]).max()), 1e-300)
        for c in range(f.dimensions):
            changes[f"momentum in {AXES[c]}"] = abs(float(changed[ns + c])) / scale
        changes["energy"] = abs(energy)
        self._changes = {k: max(v, self._changes.get(k, 0.0)) for k, v in changes.items()}

        return mass, energy

    def _look_for_misuse(self):
        """Warnings about what a user has asked for and the flow does not fit."""
        f = self.flow
        for side in f.case.sides():
            mine = [s.misused() for s in f.sides if s.name == side]
            faces = f.ranks.total([sum(found[flow] for found in mine) for flow in MISUSE])

            for (flow, (kind, meant)), count in zip(MISUSE.items(), faces):
                if count:
                    self.warn(
                        (side, flow),
                        f"[boundary] {side}: flow {flow} through {int(count)} faces of kind {kind}, at t = "
                        f"{f.time:.3g} s; {meant}",
                    )

        if f.scheme.conservative:
            step = f.stiffest_step()
            if step > RESOLVED:
                self.warn("apec", self._unresolved(step))

    def _unresolved(self, step) -> str:
        """A warning about an interface where rho c^2/p changes by this factor from a cell to the next."""
        f = self.flow
        said = (
            f"rho c^2/p changes by a factor of {step:.3g} from a cell to the next, at t = {f.time:.3g} s: an interface "
            "that apec does not resolve. "
        )
        if f.scheme.phases:
            return f"{said}Pressure oscillates there; masses, momentum and energy are exact. More cells make it less."

        return (
            f"{said}Pressure and velocity are then wrong (in a transcritical shock tube by more than their size); "
            "scheme = 'double_flux' is meant for it."
        )

    def _left(self, took, done):
        if not done:
            return "-"
        f, t = self.flow, self.case.time
        parts = []
        if t["steps"]:
            parts.append((t["steps"] - f.steps) / done)
        if math.isfinite(t["end"]) and f.time > self._time_began:
            parts.append((t["end"] - f.time) / (f.time - self._time_began))
        seconds = max(min(parts, default=0.0), 0.0) * took

        if seconds < 600:
            return f"{seconds:.0f} s"
        if seconds < 36000:
            return f"{seconds / 60:.0f} min"
        return f"{seconds / 3600:.0f} h"

    def next_step(self) -> list[int]:
        """How many steps there are before memory is looked at."""
        done = self.flow.steps - self._steps_began
        return [n - done for n in SETTLED if n > done]

    def after_step(self):
        done = self.flow.steps - self._steps_began
        if done in SETTLED:
            self._memory.append(f"{float(self.flow.ranks.total([resident()])[0]):.1f} MiB after {done} steps")

    # ---- the end
    def summary(self, files):
        """The end of a run. files: a function that yields, on rank 0, a line for each written file."""
        f = self.flow
        took, steps = time.perf_counter() - self._began, f.steps - self._steps_began
        memory = float(f.ranks.total([resident()])[0])  # before the pictures are put together

        if f.ranks.rank == 0:
            for text in files():
                self.say(text)

        if not steps:
            self.say(
                f"no step: the case ends at or before step {f.steps}, t = {f.time:g} s; see steps and end of [time]"
            )
            return

        self.say(
            "largest change since the start, less what came in through the sides: "
            + ", ".join(f"{k} {v:.1e}" for k, v in self._changes.items())
            + ("" if f.scheme.conservative else " (double flux does not conserve energy)")
        )

        if self._memory:
            self.say(f"memory: {', '.join(self._memory)}, {memory:.1f} MiB at the end")
        points = float(np.prod(self.case.cells)) * steps
        stages = len(RUNGE_KUTTA[self.case.numerics["runge_kutta"]])
        self.say(
            f"{steps} steps in {took:.2f} s, {points / max(took, 1e-9):.3e} point steps/s ({stages} stages a step)"
        )
        seconds_of = layer.seconds(f.frame)
        total = sum(seconds_of.values())

        if f.replay.able and steps > SAMPLE:
            self.say(
                f"  timed: every {SAMPLE}th step, launched kernel by kernel and counted for those between, which as "
                "CUDA graphs take less:"
            )

        for name, seconds in seconds_of.most_common():
            self.say(f"  {name:<12} {seconds:9.3f} s {100 * seconds / max(total, 1e-12):5.1f} %")
