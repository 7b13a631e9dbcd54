"""Flow: a case on one rank, put together from its parts, and a time step.

grid.py        where the cells of a direction lie (of the case)
block.py       cells of this rank, and the arrays over them
properties.py  what the equation of state and the transport models give
fluxes.py      sensor, convective and viscous fluxes
sides.py       boundaries: the fringe beyond them, what passes through
formulas.py    kernels of their formulas of t
limiter.py     bounds of a stage: species, density, pressure
chemistry.py   reactions, split from the flow
clock.py       time, and the length of the steps, which may be queued
stepping.py    Runge-Kutta stages, graphs; where a flow failed
ranks.py       blocks of other ranks, exchange of fringes
balance.py     integrals over the domain, less what came in through its sides
averages.py    means in time, fluctuations

State between steps: U (partial densities, momentum, energy) and Q (partial densities, velocity, pressure and,
conservative, temperature). Double flux (Abgrall & Karni 2001; Ma, Lv & Ihme 2017): rho c^2/p is frozen over a step (or,
as an option, over a stage) and the energy is built anew from p with it, so p and u stay uniform across any interface;
energy is not conserved exactly (the balance shows it).
Viscous, conductive and diffusive terms change p by Grueneisen (d(rho e) - sum eps_k d rho_k), the equation of state's
own rate.
"""

import collections
import dataclasses
import os

import numpy as np

from kernels.engine.backend import cuda_devices, get_backend

from . import averages, chemistry, limiter, stencil, stepping
from .balance import Balance
from .block import Block
from .case import AXES, CFL_LIMIT, LOWEST_T
from .clock import ROWS as CLOCK_ROWS, Clock
from .errors import wanted
from .expression import Expression
from .fluxes import Fluxes
from .properties import Properties, declare as declare
from .ranks import Exchange, Ranks, rank_on_node
from .sides import Side, composition
from .timers import Timers

PRIMITIVE = ("u", "v", "w", "p")
QUEUE = 64  # steps: on a device some 0.1 s of the smallest flows that are worth one


@dataclasses.dataclass(frozen=True)
class Scheme:
    """What the parts ask about a case's numerics. frozen: gamma_c stays over the stages of a step."""

    conservative: bool
    frozen: bool
    viscous: bool
    limited: bool
    source: bool

    @classmethod
    def of(cls, case, source):
        n = case.numerics
        conservative = n["scheme"] == "apec"
        frozen = not conservative and n["freeze"] == "step"
        return cls(conservative, frozen, n["viscous"], n["limiter"], source)


class Flow:
    """A case on this rank. comm: mpi4py communicator or None. source: optional function (x, y, z) -> (ns + 4, nz, ny,
    nx) rates of partial densities, momentum and energy [SI per s], for manufactured solutions.

    Raises CaseError for what cannot be set up, FlowError from `step` and `check` when a state has no time step.
    """

    def __init__(self, case, comm=None, backend=None, source=None):
        declare()
        self.case, self.scheme = case, Scheme.of(case, source is not None)
        self.ranks = Ranks(case, comm)
        self.mixture = case.make_mixture()
        self.ns, self.dimensions = self.mixture.ns, case.dimensions
        self.backend = backend or backend_of(case.parallel["backend"])
        self.time, self.steps, self.dt, self.cfl = 0.0, 0, 0.0, 0.0
        self.block = block = Block(case, self.ranks, self.backend)
        self.timers = Timers(self.backend)
        self._allocate()
        bind = self._binder()
        way, alarm = case.parallel["exchange"], block.arrays["rate"]
        self.exchange = Exchange(self.ranks, block.view("Q"), self.backend, way, alarm)
        self.properties = Properties(block, self.mixture, self.scheme, self.timers)
        self.fluxes = Fluxes(block, bind, self.scheme, self.timers, self.exchange)
        self.sides = [
            Side(block, self.mixture, bind, self.scheme, d, s, parts, case.initial["constants"])
            for d, pair in case.boundary.items()
            for s, parts in enumerate(pair)
            if parts[0]["kind"] != "periodic" and self.ranks.neighbour(d, 2 * s - 1) is None
        ]
        self._refuse_unseen()
        self.limiter = None
        if self.scheme.limited:
            self.limiter = limiter.Limiter(block, bind, self.sides, self.timers, way, alarm)
        self.chemistry = None
        if case.chemistry["kind"] != "none":
            self.chemistry = chemistry.Chemistry(block, self.mixture, bind, self.timers)
        self.clock = Clock(block, bind, self.scheme.viscous, self.timers, self.exchange)
        self.stages = stepping.Stages(
            block,
            bind,
            self.scheme,
            self.timers,
            self.exchange,
            self.fluxes,
            self.properties,
            self.limiter,
            self.sides,
            self.fill,
        )
        # on a device, no host takes part in a step
        alone = self.backend.memory == "device" and self.exchange.way in ("none", "ipc") and self.clock.alone
        self.replay = stepping.Replay(self._step, self.backend, alone and case.parallel["graph"], self.timers)
        self.queue = case.parallel["queue"] or (QUEUE if alone else 1)
        self.balance = Balance(self)
        self.averages, o = None, case.output
        if o["averages"]:
            self.averages = averages.Averages(self, bind, o["averages"], o["averages_from"])
        if source is not None:
            block.arrays["source"][...] = 0.0
            block.put(block.interior("source"), source(*block.coordinates()))
        self.start(self._initial())
        self._refuse_unstable()

    # ---- set-up
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

    def _allocate(self):
        ns, s, dimensions = self.ns, self.scheme, self.dimensions
        rows = {
            "Q": ns + 4 + s.conservative,
            "momentum": 3 + s.conservative,  # and energy
            "U0": ns + 4,
            "gamma_c": 1,
            "e_vol": 1,
            "cv_vol": 1,
            "gruneisen": 1,
        }
        if not s.conservative:
            rows["T"] = 1
        else:
            rows["kept"] = 2
        if s.conservative or s.viscous or s.source:
            rows.update(h_Y=ns, eps_k=ns)
        if s.viscous:
            rows.update(mu=1, lam=1, D=ns)
        if s.source:
            rows["source"] = ns + 4
        if s.limited:
            rows |= limiter.arrays(ns, dimensions)
        if self.case.chemistry["kind"] != "none":
            rows |= chemistry.arrays(ns)
        if self.case.output["averages"]:
            rows |= averages.arrays(ns)
        if self.case.axisymmetric:
            rows["around"] = 2
        for d in range(dimensions):
            rows[f"flux_{AXES[d]}"] = ns + 5
            if s.viscous:
                rows[f"viscous_{AXES[d]}"] = ns + 4
        self.block.allocate(rows)
        a = self.block.arrays
        if s.limited:
            a["asks"] = a["shares"][-1]
        a["rho_k"], a["p"] = a["Q"][:ns], a["Q"][ns + 3]
        if s.conservative:
            a["T"] = a["Q"][ns + 4]
        a["clock"] = self.backend.empty((len(CLOCK_ROWS),))
        a["length"] = a["clock"][:1]  # of a step
        a["rate"] = self.backend.empty((1 + s.viscous,))  # the largest [1/s]

    def _binder(self):
        """bind(name, **renamed): a stencil kernel over the block's arrays, compiled once."""
        numerics = self.case.numerics
        switches = dict(
            ORDER=numerics["order"],
            DISSIPATION=("none", "sensor", "always").index(numerics["dissipation"]),
            CONSERVATIVE=self.scheme.conservative,
            VISCOUS=self.scheme.viscous,
            SOURCE=self.scheme.source,
            DIMENSIONS=self.dimensions,
            METRICS=self.case.stretched,
            AXISYMMETRIC=self.case.axisymmetric,
        )
        inv_W, made = 1 / self.mixture.species.W, {}

        def bind(name, **renamed):
            text = stencil.source(name, switches, inv_W)
            if text not in made:
                made[text] = self.backend.compile(text)
            kernel = stencil.Stencil(name, self.backend, made[text], switches, self.ns)
            return kernel.bind(self.block.stride, {**self.block.arrays, **renamed})

        return bind

    # ---- fields
    def coordinates(self):
        """Cell centres x, y, z as arrays that broadcast to (nz, ny, nx)."""
        return self.block.coordinates()

    def field(self, name) -> np.ndarray:
        """A field of the block on the host: rho, u, v, w, p, T, e_vol, gamma_c, Y_<species>, mach, or a row array by
        its name."""
        block, ns = self.block, self.ns
        Q = block.interior("Q")
        rho, u = lambda: Q[:ns].sum(0), Q[ns : ns + 3]
        if name == "rho":
            return block.host(rho())
        if name in PRIMITIVE:
            return block.host(Q[ns + PRIMITIVE.index(name)])
        if name.startswith("Y_") and name[2:] in self.mixture.names:
            return block.host(Q[self.mixture.names.index(name[2:])] / rho())
        if name == "mach":
            gamma_c = block.interior("gamma_c")[0]
            return block.host(((u * u).sum(0) * rho() / (gamma_c * Q[ns + 3])) ** 0.5)
        known = ", ".join(["rho, u, v, w, p, T, mach", *(f"Y_{n}" for n in self.mixture.names)])
        held = name in ("T", "e_vol", "gamma_c", "cv_vol", "mu", "lam") and name in block.arrays
        wanted(held, f"unknown field '{name}'; known: {known}.")
        return block.host(block.interior(name)[0])

    # ---- initial state
    def _initial(self):
        """(T or None, p, rho or None, velocity, Y) from the case's expressions; two of T, p, rho."""
        given, x = self.case.initial, self.coordinates()
        shape = self.block.cells[::-1]
        value = lambda key: np.broadcast_to(Expression(given[key], given["constants"], f"[initial] {key}")(x), shape)
        known = {k: value(k) for k in ("T", "p", "rho") if given[k] != ""}
        for k, v in known.items():
            wanted((v > 0).all(), f"[initial] {k}: lowest value {v.min():g}; wanted positive everywhere.")
        Y = composition(
            given["X"],
            given["Y"],
            self.mixture,
            [np.broadcast_to(c, shape) for c in x],
            given["constants"],
            "[initial]",
        )
        return {**known, "velocity": np.stack([value(k) for k in "uvw"]), "Y": Y}

    def start(self, state):
        """Set the flow: `velocity` (3, nz, ny, nx), `Y` (ns, ...), and two of T, p, rho."""
        shape = self.block.cells[::-1]
        flat = lambda v: np.ascontiguousarray(np.broadcast_to(v, (*np.shape(v)[:-3], *shape)), dtype=float)
        Y, u = flat(state["Y"]), flat(state["velocity"])
        call = lambda names, **arrays: self.mixture.properties(names, backend=self.backend, **arrays)
        if "rho" in state:
            rho = flat(state["rho"])
            p = flat(state["p"]) if "p" in state else call("p_eos", T=flat(state["T"]), rho_k=rho * Y)["p_eos"]
        else:
            p, T = flat(state["p"]), flat(state["T"])
            said = f"[initial]: lowest temperature {T.min():g} K; the models end at {LOWEST_T:g} K."
            wanted(T.min() >= LOWEST_T, said)
            rho = call("rho", T=T, p=p, Y=Y)["rho"]
        T = call("T", p=p, rho_k=rho * Y)["T"]
        fits = np.isfinite(T) & np.isfinite(rho) & (rho > 0) & (p > 0)
        k, j, i = np.unravel_index(np.argmin(fits), shape)  # the first that does not fit, if there is one
        wanted(
            fits.all(),
            f"[initial]: no state of the equation of state at cell ({i}, {j}, {k}) of rank {self.ranks.rank}: p = "
            f"{p[k, j, i]:g} Pa, rho = {rho[k, j, i]:g} kg/m3, T = {T[k, j, i]:g} K.",
        )
        said = f"[initial]: lowest temperature {T.min():g} K; the models end at {LOWEST_T:g} K."
        wanted(T.min() >= LOWEST_T, said)
        rho_k = rho * Y
        mass = rho_k.sum(0)
        energy = np.ones(shape)  # double flux makes it of p
        if self.scheme.conservative:
            energy = call("e_vol", T=T, rho_k=rho_k)["e_vol"] + 0.5 * mass * (u * u).sum(0)
        rows = [*u, p, T] if self.scheme.conservative else [*u, p]
        self.set_state(np.stack([*rho_k, *(mass * u), energy]), np.stack(rows))

    def state(self) -> dict:
        """What a restart needs, on the host: U, as kernels/update.h has it, and the rows of Q that are not in it."""
        Q, momentum = (self.block.host(self.block.interior(name)) for name in ("Q", "momentum"))
        energy = [] if self.scheme.conservative else [np.ones_like(Q[:1])]  # double flux makes it of p
        return {"U": np.concatenate([Q[: self.ns], momentum, *energy]), "Q": Q[self.ns :]}

    def set_state(self, U, Q):
        """Set the flow to a `state`; its fringes and properties follow."""
        block = self.block
        rows = block.interior("Q")
        momentum = block.interior("momentum")
        block.put(momentum, U[self.ns : self.ns + len(momentum)])
        block.put(rows[: self.ns], U[: self.ns])
        block.put(rows[self.ns :], Q)
        for side in self.sides:
            side.at(self.time)
        self.fill()
        self.properties()

    # ---- one step
    def fill(self, meanwhile=None):
        """Fringes of Q. meanwhile(): work on the inside while the first messages are under way."""
        timed = self.timers.timed
        for d in range(self.dimensions):
            under_way = meanwhile is not None and d == self.exchange.first
            with timed("exchange"):
                waiting = self.exchange.start(d) if under_way else self.exchange.fill(d)
            if under_way:
                meanwhile()
                with timed("exchange"):
                    self.exchange.finish(d, waiting)
            sides = [side for side in self.sides if side.d == d]
            if sides:
                with timed("boundaries"):
                    for side in sides:
                        side.fill()

    def check(self) -> np.ndarray:
        """The largest rates of the state [1/s] (Clock.rates). FlowError, on every rank, where it has none."""
        rates = self.clock.rates()
        if not np.isfinite(rates).all():
            stepping.fail(self)
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
        """Queue so many Runge-Kutta steps, or the `queue` that this flow can; none goes beyond the time `until` [s],
        from `reached` [s] on none is taken, none is longer than `limit` [s]. Returns how many were taken. FlowError, on
        every rank, where a state has no time step; the state stays."""
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
            stepping.fail(self)
        return self.steps - before

    def take(self, steps):
        """So many steps, queued as they can be."""
        while steps > 0:
            steps -= self.advance(steps)

    def step(self, limit=np.inf) -> float:
        """One Runge-Kutta step of the length returned [s], which is not above limit."""
        self.advance(1, limit=limit)
        return self.dt

    def close(self):
        """Collective, when the flow is no longer needed: gives back memory that other ranks have open. FlowError if an
        exchange has failed."""
        exchanges = [self.exchange, *([self.limiter.exchange] if self.limiter else [])]
        complaints = [c for x in exchanges for c in self.ranks.everyone(x.complaint()) if c]
        for x in exchanges:
            x.close()
        self.clock.close()
        if complaints:
            raise stepping.FlowError(f"step {self.steps}: {complaints[0]}")

    def sums(self) -> np.ndarray:
        """Integrals over the domain (balance.py)."""
        return self.balance.sums()


def backend_of(name):
    """The backend "auto", "cpu" or "cuda"; of several GPUs the one for this rank on its node."""
    if name == "auto":
        name = os.environ.get("FRAME_BACKEND") or name
    devices = cuda_devices(name)
    return get_backend("cuda", device=rank_on_node() % devices) if devices else get_backend(name)
