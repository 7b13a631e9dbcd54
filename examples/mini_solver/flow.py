"""Flow: a case on one rank, put together from its parts, and a time step.

layer.py       the Frame: backend, device, mixture, property launches, timers
scheme.py      numerics of the case
grid.py        cells of a direction
block.py       cells of this rank, and the arrays over them
arrays.py      which arrays these are
initial.py     the state from which the flow starts
properties.py  launches of the equation of state and of the transport models
fluxes.py      sensor, convective and viscous fluxes
sides.py       boundaries: the fringe beyond them, what passes through
formulas.py    kernels of their formulas of t
limiter.py     bounds of a stage: species, density, pressure
chemistry.py   reactions, split from the flow
clock.py       time, and the length of the steps, which may be queued
stepping.py    Runge-Kutta stages, graphs
failure.py     the cell where a flow failed
ranks.py       blocks of other ranks
exchange.py    fringes from other ranks
balance.py     integrals over the domain, less what came in through its sides
averages.py    means in time, fluctuations

State between steps: U (partial densities, momentum, energy) and Q (partial densities, velocity, pressure and,
conservative, temperature; with phases in equilibrium also ln_kappa, eta and phases_status, from which the next search
for a cell's state starts). Double flux (Abgrall & Karni 2001; Ma, Lv & Ihme 2017): rho c^2/p is frozen over a step (or,
as an option, over a stage) and the energy is built anew from p with it, so p and u stay uniform across any interface;
energy is not conserved exactly (the balance shows it).
Viscous, conductive and diffusive terms change p by Grueneisen (d(rho e) - sum eps_k d rho_k), the equation of state's
own rate.
"""

import collections

import numpy as np

from . import arrays, averages, chemistry, failure, initial, layer, limiter, stencil, stepping
from .balance import Balance
from .block import Block
from .case import CFL_LIMIT
from .clock import Clock
from .errors import FlowError, wanted
from .exchange import Exchange
from .fields import phase_names
from .fluxes import Fluxes
from .properties import AMOUNTS, Properties
from .quantities import Quantities
from .ranks import Ranks
from .scheme import Scheme
from .sides import Side

PRIMITIVE = ("u", "v", "w", "p")
HELD = ("T", "e_vol", "gamma_c", "cv_vol", "mu", "lam", "phases_status", "phases_steps", *AMOUNTS)  # arrays
QUEUE = 64  # steps: on a device some 0.1 s of the smallest flows that are worth one


class Flow:
    """A case on this rank.

    comm: mpi4py communicator or None. frame: a Frame of layer.open_frame that several flows of a process share, one
    after the other; None: the flow opens and closes its own, on the case's backend. source: optional function (x, y, z)
    -> (ns + 4, nz, ny, nx) rates of partial densities, momentum and energy [SI per s], for manufactured solutions.
    look: function of this flow, called when it has its mixture, before anything is compiled: it may refuse.

    Raises CaseError for what cannot be set up, FlowError from `step` and `check` when a state has no time step.
    """

    def __init__(self, case, comm=None, frame=None, source=None, look=None):
        layer.declare()
        self.case = case
        self.ranks = Ranks(case, comm)
        self.time, self.steps, self.dt, self.cfl = 0.0, 0, 0.0, 0.0

        self._begin_frame(frame, comm)
        self.scheme = Scheme.of(case, self.mixture, source is not None)
        self.ns, self.dimensions = self.mixture.ns, case.dimensions
        self.quantities = Quantities(self.mixture, self.scheme.phases)
        if look is not None:
            look(self)

        self.block = Block(case, self.ranks, self.frame)
        arrays.allocate(self.block, case, self.scheme, self.ns)
        given = initial.of_case(case, self.block, self.mixture)  # before minutes of compiling: it may be refused

        self._make_parts()
        self._make_queue()
        self.balance = Balance(self)

        if source is not None:
            self._hold_source(source)
        self.start(given)
        self._refuse_unstable()

    # ---- set-up
    def _begin_frame(self, frame, comm):
        """Backend and device of this rank, and the case's mixture on them."""
        mixture = self.case.make_mixture()

        self._opened = frame is None
        self.frame = frame or layer.open_frame(self.case.parallel["backend"], comm)
        layer.begin(self.frame, mixture)

        self.backend, self.mixture = self.frame.backend, mixture

    def _make_parts(self):
        """Everything that launches kernels over the block, in the order in which one part needs another."""
        case, block, scheme = self.case, self.block, self.scheme
        bind = self._binder()
        way, alarm = case.parallel["exchange"], block.arrays["rate"]

        self.exchange = Exchange(self.ranks, block.view("Q"), self.backend, way, alarm)
        self.properties = Properties(block, scheme)
        self.fluxes = Fluxes(block, bind, scheme, self.exchange)

        self.sides = self._sides(bind)
        self._refuse_unseen()

        self.limiter = limiter.Limiter(block, bind, self.sides, way, alarm) if scheme.limited else None
        self.chemistry = chemistry.Chemistry(block, bind) if case.chemistry["kind"] != "none" else None
        self.clock = Clock(block, bind, scheme.viscous, self.exchange)
        self.stages = stepping.Stages(self, bind)

        every, began = case.output["averages"], case.output["averages_from"]
        self.averages = averages.Averages(self, bind, every, began) if every else None

    def _sides(self, bind):
        """The sides of the domain that this rank's block touches."""
        sides = []
        for d, pair in self.case.boundary.items():
            for side, parts in enumerate(pair):
                periodic = parts[0]["kind"] == "periodic"
                if not periodic and self.ranks.neighbour(d, 2 * side - 1) is None:
                    sides.append(Side(self.block, bind, self.scheme, d, side, parts, self.case.initial["constants"]))

        return sides

    def _make_queue(self):
        """Steps as graphs, and many of them queued, where no host takes part in a step."""
        parallel = self.case.parallel
        alone = self.backend.memory == "device" and self.exchange.way in ("none", "ipc") and self.clock.alone

        self.replay = stepping.Replay(self._step, self.frame, alone and parallel["graph"])
        self.queue = parallel["queue"] or (QUEUE if alone else 1)

    def _hold_source(self, source):
        block = self.block
        block.arrays["source"][...] = 0.0
        block.put(block.interior("source"), source(*block.coordinates()))

    def _refuse_unstable(self):
        """CaseError for a time step that the scheme does not survive."""
        n, rates = self.case.numerics, self.check()
        cfl, limit = n["time_step"] * rates[0], CFL_LIMIT[n["runge_kutta"], n["order"]]

        said = (
            f"[numerics] time_step = {n['time_step']:g} s is CFL {cfl:.3g} at the start; {n['runge_kutta']} is unstable"
        )
        wanted(cfl <= limit, f"{said} beyond {limit:.3g}, which is {limit / rates[0]:.3g} s.")

    def _refuse_unseen(self):
        """CaseError for a boundary that has no face of the domain: a grid may be too coarse for it."""
        faces = collections.Counter()
        for blocks in self.ranks.everyone([side.faces for side in self.sides]):
            for mine in blocks:
                faces.update(mine)

        for name, count in faces.items():
            wanted(count, f"{name} has no face: its 'where', or the boundaries before it, leave none.")

    def _binder(self):
        """bind(name, **renamed): a stencil kernel over the block's arrays."""
        switches, inv_W = self.scheme.switches(self.case), 1 / self.mixture.species.W

        def bind(name, **renamed):
            module = self.frame.compile(stencil.source(name, switches, inv_W))
            kernel = stencil.Stencil(name, self.backend, module, switches, self.ns)
            return kernel.bind(self.block.stride, {**self.block.arrays, **renamed})

        return bind

    # ---- fields
    def coordinates(self):
        """Cell centres x, y, z as arrays that broadcast to (nz, ny, nx)."""
        return self.block.coordinates()

    def field(self, name) -> np.ndarray:
        """A field of the block on the host, (nz, ny, nx). See fields."""
        return self.fields([name])[name]

    def fields(self, names) -> dict:
        """{name: field of the block on the host, (nz, ny, nx)}: rho, u, v, w, p, T, e_vol, gamma_c, Y_<species>, mach,
        of phases in equilibrium phases_status, phases_steps and AMOUNTS, and quantities of the layer (quantities.py).
        Errors: CaseError for an unknown name."""
        found = {name: self._own(name) for name in names}

        others = [name for name, values in found.items() if values is None]
        if others:
            self.quantities.check(others, "unknown field", self.known_fields())
            found |= self.quantities.values(others, self._given(), self.backend)

        return {name: self.block.host(values) for name, values in found.items()}

    def known_fields(self) -> list[str]:
        """The fields of the flow, and the fields that follow from them."""
        species = [f"Y_{name}" for name in self.mixture.names]
        return ["rho", *PRIMITIVE, "T", *species, "mach", *phase_names(self)]

    def knows(self, name) -> bool:
        """Whether this is one of these, a species by any of its names."""
        return name in self.known_fields() or bool(name.startswith("Y_") and self.mixture.find(name[2:]))

    def holds(self, name) -> bool:
        """Whether the block has an array of this name that may be shown."""
        return name in HELD and name in self.block.arrays

    def _own(self, name):
        """A field that the flow knows or the block holds, as an array of the backend; None for other names."""
        ns, names = self.ns, self.mixture.names
        Q = self.block.interior("Q")

        if name == "rho":
            return Q[:ns].sum(0)
        if name in PRIMITIVE:
            return Q[ns + PRIMITIVE.index(name)]
        species = self.mixture.find(name[2:]) if name.startswith("Y_") else None
        if species:
            return Q[names.index(species)] / Q[:ns].sum(0)
        if name == "mach":
            rho, u, p = Q[:ns].sum(0), Q[ns : ns + 3], Q[ns + 3]
            gamma_c = self.block.interior("gamma_eq" if self.scheme.phases else "gamma_c")[0]
            return ((u * u).sum(0) * rho / (gamma_c * p)) ** 0.5

        if name in AMOUNTS and self.scheme.phases:
            self.properties.of_amounts()

        return self.block.interior(name)[0] if self.holds(name) else None

    def _given(self) -> dict:
        """{quantity: array of the backend} that a state of the layer is given by."""
        Q = self.block.interior("Q")
        rho = Q[: self.ns].sum(0)
        known = dict(p=Q[self.ns + 3], rho=rho, Y=Q[: self.ns] / rho, T=self.block.interior("T")[0])
        if "e" in self.quantities.given:
            known["e"] = self.block.interior("e_vol")[0] / rho

        return {name: known[name] for name in self.quantities.given}

    # ---- state
    def start(self, given):
        """Set the flow. given: `velocity` (3, nz, ny, nx) [m/s], `Y` (ns, nz, ny, nx), and two of T [K], p [Pa], rho
        [kg/m3]. Errors: CaseError where the equation of state has no such state."""
        self.set_state(*initial.Initial(self)(given))

    def state(self) -> dict:
        """The state for a restart, on the host: U, as kernels/update.h has it, and the rows of Q that are not in it."""
        Q = self.block.host(self.block.interior("Q"))
        momentum = self.block.host(self.block.interior("momentum"))
        energy = [] if self.scheme.conservative else [np.ones_like(Q[:1])]  # double flux makes it of p

        return {"U": np.concatenate([Q[: self.ns], momentum, *energy]), "Q": Q[self.ns :]}

    def set_state(self, U, Q):
        """Set the flow to a `state`; its fringes and properties follow."""
        block, ns = self.block, self.ns

        momentum = block.interior("momentum")
        block.put(momentum, U[ns : ns + len(momentum)])
        rows = block.interior("Q")
        block.put(rows[:ns], U[:ns])
        block.put(rows[ns:], Q)

        for side in self.sides:
            side.at(self.time)
        self.fill()
        self.properties()

    # ---- one step
    def fill(self, meanwhile=None):
        """Fringes of Q. meanwhile(): work on the inside while the first messages are under way."""
        for d in range(self.dimensions):
            if meanwhile is not None and d == self.exchange.first:
                with self.frame.timed("exchange"):
                    waiting = self.exchange.start(d)
                meanwhile()
                with self.frame.timed("exchange"):
                    self.exchange.finish(d, waiting)
            else:
                with self.frame.timed("exchange"):
                    self.exchange.fill(d)

            self._fill_sides(d)

    def _fill_sides(self, d):
        """Fringes of Q beyond the domain's sides in direction d."""
        sides = [side for side in self.sides if side.d == d]
        if sides:
            with self.frame.timed("boundaries"):
                for side in sides:
                    side.fill()

    def check(self) -> np.ndarray:
        """The largest rates of the state [1/s] (Clock.rates). FlowError, on every rank, where it has none."""
        rates = self.clock.rates()
        if not np.isfinite(rates).all():
            failure.fail(self)
        return rates

    def _step(self):
        self.clock.tick()
        self._react()
        self.stages()
        self._react()

    def _react(self):
        """Half a step of the reactions, where there are any."""
        if self.chemistry:
            self.chemistry(0.5)
            self.fill()
            self.properties()

    def advance(self, steps, until=np.inf, reached=np.inf, limit=np.inf) -> int:
        """Queue so many Runge-Kutta steps, or the `queue` that this flow can. No step goes beyond the time `until` [s],
        begins from `reached` [s] on, or is longer than `limit` [s]. Returns how many were taken. FlowError, on every
        rank, where a state has no time step; the state stays."""
        if self.chemistry:
            self.chemistry.hold()

        self.clock.set(self.time, self.steps, until, reached, limit)
        for number in range(min(steps, self.queue)):
            self.replay(self.steps + number)

        now, before = self.clock.read(), self.steps
        self.time, self.steps = now.time, now.steps
        if self.steps > before:
            self.dt, self.cfl, self.stages.begun = now.last, now.cfl, True
        if now.failed:
            failure.fail(self)

        return self.steps - before

    def take(self, steps):
        """So many steps, queued as they can be."""
        while steps > 0:
            steps -= self.advance(steps)

    def step(self, limit=np.inf) -> float:
        """A Runge-Kutta step no longer than limit [s]; returns its length [s]."""
        self.advance(1, limit=limit)
        return self.dt

    def close(self):
        """Collective, when the flow is no longer needed: gives back memory that other ranks have open, and the Frame
        that this flow opened. FlowError if an exchange has failed."""
        exchanges = [self.exchange]
        if self.limiter:
            exchanges.append(self.limiter.exchange)

        complaints = []
        for exchange in exchanges:
            complaints += filter(None, self.ranks.everyone(exchange.complaint()))
        for exchange in exchanges:
            exchange.close()
        self.clock.close()

        if self._opened:
            self._opened = False
            self.frame.finalize()

        if complaints:
            raise FlowError(f"step {self.steps}: {complaints[0]}")

    def stiffest_step(self) -> float:
        """Largest ratio of rho c^2/p of a cell and the next, of all ranks. Collective."""
        stiffness, most = np.abs(self.field("gamma_c")), 1.0

        for axis in range(3):
            if stiffness.shape[axis] > 1:
                a, b = np.moveaxis(stiffness, axis, 0)[1:], np.moveaxis(stiffness, axis, 0)[:-1]
                most = max(most, float((np.maximum(a, b) / np.minimum(a, b)).max()))

        return -self.ranks.smallest([-most])[0]

    def sums(self) -> np.ndarray:
        """Integrals over the domain (balance.py)."""
        return self.balance.sums()
