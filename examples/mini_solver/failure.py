"""Where a flow failed: the first cell without a state, for the message."""

import contextlib

import numpy as np

from .errors import FlowError

RESOLVED = 1.5  # factor of rho c^2/p from a cell to the next up to which apec resolves an interface


class Failure:
    """Finds where a flow failed: the step is done again from its start, stage by stage, until the first cell has no
    state. NaN spreads by three cells a stage: a user needs the cell where it began."""

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
        rows = [*u, np.ones_like(rho), np.where(T > 0, T, 300.0)]
        rows += [np.zeros_like(rho)] * (len(flow.block.interior("Q")) - ns - len(rows))  # phases: no warm start
        flow.set_state(U, np.stack(rows))
        self.block.put(self.block.interior("e_vol")[0], last - 0.5 * rho * (u * u).sum(0))
        flow.properties.of_energy()
        flow.fill()
        flow.properties()

    def text(self) -> str:
        """The message, the same on all ranks. Collective."""
        flow, ranks = self.flow, self.block.ranks
        late, found, before = self._cells(self.bad()), None, []
        if flow.stages.begun:
            self._restore()
            unmet = next(filter(None, ranks.everyone(self._unmet())), "")
            if unmet:
                return f"step {flow.steps}: {unmet}"
            before = self._cells(self.bad())

        hint = self._hint()
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
        count = -sum(minus for _, (minus, _) in cells)
        told = self._told(number, cell[1], last, count) if cell and rank == ranks.rank else ""

        return next((t for t in ranks.everyone(told) if t), "a state has no time step.") + hint

    def _hint(self) -> str:
        """Tells of an interface that scheme apec does not resolve; "" without such an interface. Collective."""
        flow = self.flow
        if not flow.scheme.conservative or flow.scheme.phases:
            return ""

        step = flow.stiffest_step()
        if not step > RESOLVED:
            return ""
        return (
            f"\n rho c^2/p changes by a factor of {step:.3g} from a cell to the next: an interface that apec does not "
            "resolve. Energy that is conserved there mixes liquid and gas into states without a positive pressure; "
            "scheme = 'double_flux' is meant for it, or cells that resolve the interface."
        )

    def _unmet(self) -> str:
        """The boundary of this rank that has no state; "" without one."""
        return next(filter(None, (side.unmet() for side in self.flow.sides)), "")

    def _cells(self, bad):
        """For each rank with bad cells: (rank, (minus their number, the bad cell nearest to their middle))."""
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
        searched = ["e_vol", "phases_status"] if self.flow.scheme.phases else []
        return [*self.NAMES, *searched, *(f"Y_{n}" for n in self.flow.mixture.names)]

    def _told(self, number, cell, last, count):
        """The message. cell: where it began, in this stage. last: fields a stage before. count: of bad cells."""
        flow, block = self.flow, self.block
        k, j, i = cell
        at, where = block.place(i, j, k)
        stage = f" in stage {number + 1} of the step" if number >= 0 else ""
        why = "has no sound speed, or rho c^2/p <= 1"
        if flow.scheme.phases:
            why = f"is one of {count} without a state of one or two phases (phases_status 2) or without a sound speed"
        text = (
            f"step {flow.steps}, t = {flow.time:.6e} s, rank {block.ranks.rank}, cell ({at[0]}, {at[1]}, {at[2]}) at "
            f"({where[0]:.6g}, {where[1]:.6g}, {where[2]:.6g}) m {why}: it began there{stage}. The cell (>) and its "
            "neighbours in x:"
        )

        low, high = max(i - 2, 0), min(i + 3, block.cells[0])
        now = self._numbers()
        width = max(8, *map(len, self._names()))
        for title, fields in (("a stage before", last), ("then", now)):
            if fields:
                text += f"\n {title}:"
                for name in self._names():
                    row = fields[name][k, j, low:high]
                    text += f"\n  {name:<{width}} " + " ".join(
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
