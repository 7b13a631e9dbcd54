"""Stepping: the Runge-Kutta stages of a step, and its launches as a graph."""

from kernels import BackendError

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
    """The stages of a step, by the parts of a flow. bind(name): a stencil kernel over the block."""

    def __init__(self, flow, bind):
        self.block, self.frame, self.scheme = flow.block, flow.frame, flow.scheme
        self.fluxes, self.properties, self.limiter = flow.fluxes, flow.properties, flow.limiter
        self.sides, self.fill = flow.sides, flow.fill
        self.begun = False  # whether U0 holds the start of a step

        case = self.block.case
        self._table = RUNGE_KUTTA[case.numerics["runge_kutta"]]
        self._update = bind("update")
        self._keep = bind("keep") if self.scheme.conservative else None
        self._around = bind("around") if case.axisymmetric else None

        # Between devices, messages take less time than the extra launches for a rim.
        several = self.block.ranks.size > 1
        self._overlap = several and case.parallel["overlap"] and self.scheme.frozen and flow.exchange.way != "ipc"

    def __call__(self, watch=None):
        """From one state to the next. The length of the step is read from memory. watch(number): after each stage."""
        for number, ((w0, w1), share) in enumerate(zip(self._table, shares(self._table))):
            if number:
                self._refill()
            else:
                self.fluxes.convective()

            if self.scheme.viscous:
                self.fluxes.viscous()
            self._flux_of_sides(share)

            if self.limiter:
                self.limiter(w1 / (1 - w0))
            self._advance(w0, w1, first=number == 0)

            if self.scheme.conservative:
                self.properties.of_energy()
            if watch:
                watch(number)

        self._end()

    def _flux_of_sides(self, share):
        """Fluxes through the domain's sides. share: of this stage in the whole step."""
        if self.sides:
            with self.frame.timed("boundaries"):
                for side in self.sides:
                    side.flux(share)

    def _advance(self, w0, w1, first):
        """U of the next stage. first: whether U0 takes the state before."""
        block = self.block
        with self.frame.timed("update"):
            if self._around:
                self._around(*block.box(), inv_dx=block.inv_dx)
            self._update(*block.box(), inv_dx=block.inv_dx, w0=w0, w1=w1, first=first)

    def _end(self):
        """After the last stage: boundaries at the new time, fringes and properties of the new state."""
        if self._keep:
            with self.frame.timed("update"):
                self._keep(*self.block.box())

        if self.sides:
            with self.frame.timed("boundaries"):
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
    """Runs `work` or, where the host takes no part in it, the graph that a device has recorded of it.

    A graph has no timers inside: every SAMPLEth run is launched kernel by kernel, and its times count for the others
    too. watch: True: every run is launched kernel by kernel; False: none is; None: every SAMPLEth. able: whether there
    may be a graph. note: why the device refused it.
    """

    def __init__(self, work, frame, able):
        self.work, self.frame = work, frame
        self.able, self.recorded, self.note, self.watch = able, None, "", None
        self._unseen = 0  # runs of the graph since the last one with timers
        self._fresh = 0  # runs so far

    def __call__(self, number):
        """Run number `number` of the flow."""
        seen = self._is_seen(number)
        if self.able and not seen and self.recorded is None:
            self._record()

        if self.able and not seen:
            self.recorded()
            self._unseen += 1
        else:
            with self.frame.weighted(1 + self._unseen):
                self.work()
            self._unseen = 0

        self._fresh += 1

    def _is_seen(self, number) -> bool:
        """Whether this run is launched kernel by kernel."""
        loads_kernels = self._fresh < 2  # which a graph cannot record
        sampled = self.watch is None and number % SAMPLE == 0

        return bool(self.watch or loads_kernels or sampled)

    def _record(self):
        """Record a step as a graph. Where the device refuses, steps stay single launches."""
        try:
            with self.frame.weighted(0):
                self.recorded = self.frame.backend.record(self.work)
        except BackendError as error:
            self.able, self.note = False, str(error)
