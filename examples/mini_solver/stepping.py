"""Stepping: the Runge-Kutta stages of a step, and its launches as a graph; where a flow failed."""

import contextlib

import numpy as np

from kernels.engine.errors import BackendError

from .errors import FlowError

# stage: U becomes U + w0 (U0 - U) + w1 dt L(U)
RUNGE_KUTTA = {
    "ssp33": ((0.0, 1.0), (0.75, 0.25), (1 / 3, 2 / 3)),
    "ssp43": ((0.0, 0.5), (0.0, 0.5), (2 / 3, 1 / 6), (0.0, 0.5)),
}
SAMPLE = 16  # on a device the parts of every 16th step are timed


def shares(stages) -> list[float]:
    """The share of each stage's L in the whole step."""
    out = []
    for w0, w1 in stages:
        out = [share * (1 - w0) for share in out] + [w1]
    return out


class Stages:
    """The stages of a step. What they are made of is given: fluxes, properties, limiter (or None), sides;
    fill(meanwhile) fills the fringes."""

    def __init__(self, block, bind, scheme, timers, exchange, fluxes, properties, limiter, sides, fill):
        self.block, self.scheme, self.timers = block, scheme, timers
        self.fluxes, self.properties, self.limiter, self.sides, self.fill = fluxes, properties, limiter, sides, fill
        self._update = bind("update")
        self._keep = bind("keep") if scheme.conservative else None
        self._around = bind("around") if block.case.axisymmetric else None
        self.begun = False  # whether U0 holds the start of a step
        self._table = RUNGE_KUTTA[block.case.numerics["runge_kutta"]]
        # between devices, messages take less time than the launches that a rim of its own needs
        self._overlap = (
            block.ranks.size > 1 and block.case.parallel["overlap"] and scheme.frozen and exchange.way != "ipc"
        )

    def __call__(self, watch=None):
        """From one state to the next. The length of the step is read from memory. watch(number): after each stage."""
        block = self.block
        for number, ((w0, w1), share) in enumerate(zip(self._table, shares(self._table))):
            if number:
                self._refill()
            else:
                self.fluxes.convective()
            if self.scheme.viscous:
                self.fluxes.viscous()
            if self.sides:
                with self.timers.timed("boundaries"):
                    for side in self.sides:
                        side.flux(share)
            if self.limiter:
                self.limiter(w1 / (1 - w0))
            with self.timers.timed("update"):
                if self._around:
                    self._around(*block.box(), inv_dx=block.inv_dx)
                self._update(*block.box(), inv_dx=block.inv_dx, w0=w0, w1=w1, first=number == 0)
            if self.scheme.conservative:
                self.properties.of_energy()
            if watch:
                watch(number)
        if self._keep:
            with self.timers.timed("update"):
                self._keep(*block.box())
        if self.sides:
            with self.timers.timed("boundaries"):
                for side in self.sides:
                    side.renew()
        self.fill()
        self.properties()

    def _refill(self):
        """Within a step: fringes, properties and convective fluxes of the stage's state."""
        if self._overlap:  # convection needs nothing beyond Q and the frozen gamma_c
            self.fill(lambda: self.fluxes.convective("inside"))
            self.properties(stage=True)
            self.fluxes.convective("rim")
        else:
            self.fill()
            self.properties(stage=True)
            self.fluxes.convective()


class Replay:
    """Runs `work` or, where the host takes no part in it, what a device has recorded of it, which has no timers inside.
    Every SAMPLEth run is launched kernel by kernel, and its times count for the others too (`watch` True: every run is;
    False: none)."""

    def __init__(self, work, backend, able, timers):
        self.work, self.backend, self.timers = work, backend, timers
        self.able, self.recorded, self.note, self.watch = able, None, "", None
        self._unseen = self._fresh = 0

    def __call__(self, number):
        # the first launches load the kernels, which a graph cannot record
        seen = self.watch or self._fresh < 2 or self.watch is None and number % SAMPLE == 0
        if self.able and not seen and self.recorded is None:
            self._record()
        if self.able and not seen:
            self.recorded()
            self._unseen += 1
        else:
            self.timers.weight, self._unseen = 1 + self._unseen, 0
            self.work()
            self.timers.weight = 1
        self._fresh += 1

    def _record(self):
        """Where the device refuses, they stay single launches."""
        self.timers.silent = True
        try:
            self.recorded = self.backend.record(self.work)
        except BackendError as error:
            self.able, self.note = False, str(error)
        finally:
            self.timers.silent = False


class Failure:
    """Finds where a flow failed: the step is done again from its start, stage by stage, until the first cell has no
    state. What is not a number spreads by three cells a stage; where it began is what helps."""

    NAMES = ("rho", "u", "v", "w", "p", "T")

    def __init__(self, flow):
        self.flow, self.block = flow, flow.block

    def bad(self) -> np.ndarray:
        """Which cells of this rank have no state that the scheme can go on from."""
        flow = self.flow
        q = {name: flow.field(name) for name in (*self.NAMES, "gamma_c")}
        with np.errstate(invalid="ignore"):
            fine = (q["rho"] > 0) & (q["T"] > 0) & (q["gamma_c"] * q["p"] > 0)
            if not flow.scheme.conservative:
                fine &= (q["gamma_c"] > 1) & (q["p"] > 0)
        return ~(fine & np.isfinite(sum(q.values())))

    def _restore(self):
        """Sets the flow to the start of the step, which U0 holds; double flux keeps p there in the energy's row."""
        flow, ns = self.flow, self.flow.ns
        U = self.block.host(self.block.interior("U0"))
        rho, u, last = U[:ns].sum(0), U[ns : ns + 3] / U[:ns].sum(0), U[ns + 3]
        if not flow.scheme.conservative:
            flow.set_state(U, np.stack([*u, last]))
            return
        T = flow.field("T")
        flow.set_state(U, np.stack([*u, np.ones_like(rho), np.where(T > 0, T, 300.0)]))
        self.block.put(self.block.interior("e_vol")[0], last - 0.5 * rho * (u * u).sum(0))
        flow.properties.of_energy()
        flow.fill()
        flow.properties()

    def text(self) -> str:
        """What to tell; the same on all ranks. Collective."""
        flow, ranks = self.flow, self.block.ranks
        late, found, before = self._cells(self.bad()), None, []
        if flow.stages.begun:
            self._restore()
            before = self._cells(self.bad())
        if flow.stages.begun and not before:
            last = self._numbers()

            class Found(Exception):
                pass

            def watch(number):
                nonlocal found, last
                if not flow.scheme.conservative:
                    flow.properties.of_pressure()
                cells = self._cells(self.bad())
                if cells:
                    found = number, cells, last
                    raise Found
                last = self._numbers()

            flow.clock.hold(flow.dt)
            with contextlib.suppress(Found):
                flow.stages(watch)
        if found is None:  # it came before the step, or does not come again
            found = -1, before or late, None
        number, cells, last = found
        rank, cell = min(cells, key=lambda c: (c[1][0], c[0])) if cells else (0, None)
        told = self._told(number, cell[1], last) if cell and rank == ranks.rank else ""
        return next((t for t in ranks.everyone(told) if t), "a state has no time step.")

    def _cells(self, bad):
        """Of all ranks that have bad cells: (rank, (less their number, the one nearest to the middle of them))."""
        mine = None
        if bad.any():
            at = np.argwhere(bad)
            distance = ((at - at.mean(0)) ** 2).sum(1)
            nearest = int(np.argmin(distance))
            mine = self.block.ranks.rank, (-len(at), tuple(int(v) for v in at[nearest]))
        return [c for c in self.block.ranks.everyone(mine) if c]

    def _numbers(self):
        return {name: self.flow.field(name) for name in self._names()}

    def _names(self):
        return [*self.NAMES, *(f"Y_{n}" for n in self.flow.mixture.names)]

    def _told(self, number, cell, last):
        flow, block = self.flow, self.block
        k, j, i = cell
        at, where = block.place(i, j, k)
        stage = f" in stage {number + 1} of the step" if number >= 0 else ""
        text = (
            f"step {flow.steps}, t = {flow.time:.6e} s, rank {block.ranks.rank}, cell ({at[0]}, {at[1]}, {at[2]}) at "
            f"({where[0]:.6g}, {where[1]:.6g}, {where[2]:.6g}) m has no sound speed, or rho c^2/p <= 1: it began there"
            f"{stage}. The cell (>) and its neighbours in x:"
        )
        low, high = max(i - 2, 0), min(i + 3, block.cells[0])
        now = self._numbers()
        for title, fields in (("a stage before", last), ("then", now)):
            if fields:
                text += f"\n {title}:"
                for name in self._names():
                    row = fields[name][k, j, low:high]
                    text += f"\n  {name:<8} " + " ".join(
                        f"{'>' if low + n == i else ' '}{x:12.5e}" for n, x in enumerate(row)
                    )
        return text


def fail(flow):
    """FlowError that names the cell where it began; on every rank. Collective."""
    mine = flow.exchange.complaint() or flow.clock.complaint()
    mine = mine or next(filter(None, (side.complaint(flow.time) for side in flow.sides)), "")
    if flow.chemistry and not mine:
        mine = flow.chemistry.complaint(flow.field)
    complaints = [c for c in flow.ranks.everyone(mine) if c]
    raise FlowError(f"step {flow.steps}: {complaints[0]}" if complaints else Failure(flow).text())
