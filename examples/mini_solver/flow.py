"""Flow: the fields of one rank's block, and a time step. All fields are arrays of the backend, x fastest, fringe
included.

State between steps: U (partial densities, momentum, energy) and Q (partial densities, velocity, pressure and,
conservative, temperature). Double flux (Abgrall & Karni 2001; Ma, Lv & Ihme 2017): rho c^2/p is frozen over a step (or,
as an option, over a stage) and the energy is built anew from p with it, so p and u stay uniform across any interface;
energy is not conserved exactly (`sums` shows it).
Viscous, conductive and diffusive terms change p by Grueneisen (d(rho e) - sum eps_k d rho_k), the equation of state's
own rate.
"""

import collections
import contextlib
import os
import pathlib

import numpy as np

import kernels
from kernels.backend import cuda_devices, get_backend
from kernels.errors import BackendError

from .boundaries import Side, composition
from .case import AXES, FRINGE, Expression
from .errors import FlowError, wanted
from .moves import bind_largest
from .ranks import Exchange, Ranks, rank_on_node
from .stencil import Stencil

DECLARATIONS = pathlib.Path(__file__).resolve().parent / "kernels" / "flow.py"
# stage: U becomes U + w0 (U0 - U) + w1 dt L(U)
RUNGE_KUTTA = {
    "ssp33": ((0.0, 1.0), (0.75, 0.25), (1 / 3, 2 / 3)),
    "ssp43": ((0.0, 0.5), (0.0, 0.5), (2 / 3, 1 / 6), (0.0, 0.5)),
}
SAMPLE = 16  # on a device the parts of every 16th step are timed
PRIMITIVE = ("u", "v", "w", "p")


def declare():
    if "flow_state" not in kernels.registry.kernels:
        kernels.load_declarations(DECLARATIONS)


class Flow:
    """A case on this rank. comm: mpi4py communicator or None. source: optional function (x, y, z) -> (ns + 4, nz, ny,
    nx) rates of partial densities, momentum and energy [SI per s], for manufactured solutions.

    Raises CaseError for what cannot be set up, FlowError from `step` when a state has no time step.
    """

    def __init__(self, case, comm=None, backend=None, source=None):
        declare()
        self.case = case
        self.ranks = Ranks(case, comm)
        self.mixture = case.make_mixture()
        self.ns = self.mixture.ns
        self.backend = backend or backend_of(case.parallel["backend"])
        numerics = case.numerics
        self.conservative = numerics["scheme"] == "apec"
        self.frozen = not self.conservative and numerics["freeze"] == "step"  # gamma_c, over the stages of a step
        self.viscous = numerics["viscous"]
        self.dimensions, self.inv_dx = case.dimensions, [1 / h for h in case.dx]
        self.fringe = tuple(FRINGE if d < case.dimensions else 0 for d in range(3))
        self.cells = self.ranks.cells
        self.extent = tuple(n + 2 * f for n, f in zip(self.cells, self.fringe))
        self.size = int(np.prod(self.extent))
        self.stride = (1, self.extent[0], self.extent[0] * self.extent[1])
        self.time, self.steps, self.dt, self.cfl = 0.0, 0, 0.0, 0.0
        self.seconds = collections.Counter()
        self._marks, self.watch, self._unseen, self._weight, self._fresh = [], None, 0, 1, 0
        self._recording, self._replay, self.graph_note = False, None, ""
        self.has_source = source is not None
        self._allocate()
        self._compile()
        self.exchange = Exchange(self.ranks, self.Q4, self.backend, case.parallel["exchange"], self.arrays["rate"])
        self.sides = [
            Side(self, d, s, given)
            for d, pair in case.boundary.items()
            for s, given in enumerate(pair)
            if given["kind"] != "periodic" and self.ranks.neighbour(d, 2 * s - 1) is None
        ]
        self.graphed = (
            self.backend.memory == "device"
            and case.parallel["graph"]
            and self.exchange.way in ("none", "ipc")
            and all(s.still for s in self.sides)
        )
        self.outlets = [s for s in self.sides if s.kind == "outlet"]
        self.walls = [s for s in self.sides if s.kind in ("slip_wall", "wall")]
        if self.has_source:
            self._put(self._interior("source"), source(*self.coordinates()))
        self.start(self._initial())

    # ---- set-up
    def _array(self, rows):
        # the last pack reads beyond the last cell: there is room, and finite numbers
        array = self.backend.empty((rows, self.backend.pad(self.size + 64)))
        array[...] = 1.0
        return array

    def _allocate(self):
        ns = self.ns
        rows = {
            "Q": ns + 4 + self.conservative,
            "U": ns + 4,
            "U0": ns + 4,
            "gamma_c": 1,
            "e_vol": 1,
            "cv_vol": 1,
            "gruneisen": 1,
            "theta": self.dimensions,
            "rate": 1 + self.viscous,
        }
        if not self.conservative:
            rows["T"] = 1
        if self.conservative or self.viscous or self.has_source:
            rows.update(h_Y=ns, eps_k=ns)
        if self.viscous:
            rows.update(rho=1, Y=ns, mu=1, lam=1, D=ns)
        if self.has_source:
            rows["source"] = ns + 4
        for d in range(self.dimensions):
            rows[f"flux_{AXES[d]}"] = ns + 5
            if self.viscous:
                rows[f"viscous_{AXES[d]}"] = ns + 4
        self._check_memory(sum(rows.values()))
        a = {name: self._array(count) for name, count in rows.items()}
        a["rho_k"], a["p"] = a["Q"][:ns], a["Q"][ns + 3]
        if self.conservative:
            a["T"] = a["Q"][ns + 4]
        if self.has_source:
            a["source"][...] = 0.0
        a["length"] = self.backend.empty((1,))
        a["rate"][...] = 0.0  # the kernel leaves the fringe alone, and the largest rate is sought there too
        self._largest_rates = bind_largest(self.backend, a["rate"][:, : self.size])
        self.arrays = a
        self.Q4 = self._view("Q")

    def _check_memory(self, rows):
        """CaseError where this block takes more memory than the machine has: the system would end the process without a
        word."""
        block = 8 * rows * self.size / 2**30
        have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        size = " x ".join(map(str, self.cells[: self.dimensions]))
        wanted(
            self.backend.memory != "host" or block <= have,
            f"[domain] cells: a block of {size} cells and {self.ns} species takes {block:.3g} GiB, the machine "
            f"has {have:.3g} GiB: more ranks, or fewer cells.",
        )

    def _compile(self):
        case, a = self.case, self.arrays
        switches = dict(
            ORDER=case.numerics["order"],
            DISSIPATION=("none", "sensor", "always").index(case.numerics["dissipation"]),
            CONSERVATIVE=self.conservative,
            VISCOUS=self.viscous,
            SOURCE=self.has_source,
            DIMENSIONS=self.dimensions,
        )
        inv_W = 1 / self.mixture.species.W

        def bind(name, **renamed):
            return made[name].bind(self.stride, {**a, **renamed})

        names = ["sensor", "convective", "update", "begin", "rates", *(["viscous"] if self.viscous else [])]
        if any(g["kind"] == "outlet" for pair in case.boundary.values() for g in pair):
            names.append("outlet")
        made = {name: Stencil(name, self.backend, switches, inv_W) for name in names}
        self.sensor, self.update, self.begin, self.rates = bind("sensor"), bind("update"), bind("begin"), bind("rates")
        self.convective = [bind("convective", flux=a[f"flux_{AXES[d]}"]) for d in range(self.dimensions)]
        if "outlet" in made:
            self.outlet = [bind("outlet", flux=a[f"flux_{AXES[d]}"]) for d in range(self.dimensions)]
        if self.viscous:
            self.viscous_flux = [bind("viscous", viscous_flux=a[f"viscous_{AXES[d]}"]) for d in range(self.dimensions)]

        def program(renamed=(), **asked):
            run = self.mixture.program(**asked, backend=self.backend).bind({**a, **dict(renamed)})
            return lambda: run(self.size)

        thermal = dict(given=["T", "rho_k"])
        self._temperature_p = program(outputs=["T"], given=["p", "rho_k"])
        self._state = program(outputs=["e_vol", "cv_vol", "gamma_c", "gruneisen"], **thermal)
        self._slopes = program(outputs=["e_vol", "cv_vol", "gruneisen"], **thermal)  # stages: gamma_c stays frozen
        if "h_Y" in a:
            self._partials = program(outputs=["h_Y", "eps_k"], **thermal)
        if self.conservative:
            self._temperature_e = program(kernels=["flow_temperature_e"])
            self._pressure = program({"p_eos": a["p"]}, outputs=["p_eos"], **thermal)
        if self.viscous:
            constant = {name: value for name, value in case.transport.items() if value}
            if self.ns == 1:
                constant.setdefault("D", 0.0)
            for name, value in constant.items():
                a[name][...] = value
            varying = [name for name in ("mu", "lam", "D") if name not in constant]
            self._composition = program(outputs=["rho", "Y"], given=["rho_k"])
            self._transport = program(outputs=varying, given=["T", "p", "rho", "Y"]) if varying else None

    # ---- geometry
    def coordinates(self, fringe=False):
        """Cell centres x, y, z as arrays that broadcast to (nz, ny, nx)."""
        out = []
        for d in range(3):
            f = self.fringe[d] if fringe else 0
            index = self.ranks.first[d] + np.arange(-f, self.cells[d] + f)
            shape = [-1 if axis == 2 - d else 1 for axis in range(3)]
            out.append((self.case.lower[d] + (index + 0.5) * self.case.dx[d]).reshape(shape))
        return out

    def _view(self, name):
        """An array as (rows, nz, ny, nx), fringe included."""
        nx, ny, nz = self.extent
        array = self.arrays[name]
        view = (array if array.ndim == 2 else array[None])[:, : self.size]
        return view.reshape((view.shape[0], nz, ny, nx))

    def _interior(self, name):
        """The block's own cells of an array, as (rows, nz, ny, nx)."""
        cut = tuple(slice(f, f + n) for f, n in zip(self.fringe[::-1], self.cells[::-1]))
        return self._view(name)[(slice(None), *cut)]

    def field(self, name) -> np.ndarray:
        """A field of the block on the host: rho, u, v, w, p, T, e_vol, gamma_c, Y_<species>, mach, or a row array by
        its name."""
        ns, Q = self.ns, self._interior("Q")
        rho, u = lambda: Q[:ns].sum(0), Q[ns : ns + 3]
        if name == "rho":
            return self._host(rho())
        if name in PRIMITIVE:
            return self._host(Q[ns + PRIMITIVE.index(name)])
        if name.startswith("Y_") and name[2:] in self.mixture.names:
            return self._host(Q[self.mixture.names.index(name[2:])] / rho())
        if name == "mach":
            gamma_c = self._interior("gamma_c")[0]
            return self._host(((u * u).sum(0) * rho() / (gamma_c * Q[ns + 3])) ** 0.5)
        known = ", ".join(["rho, u, v, w, p, T, mach", *(f"Y_{n}" for n in self.mixture.names)])
        held = name in ("T", "e_vol", "gamma_c", "cv_vol", "mu", "lam") and name in self.arrays
        wanted(held, f"unknown field '{name}'; known: {known}.")
        return self._host(self._interior(name)[0])

    def _host(self, values) -> np.ndarray:
        return np.array(self.backend.to_host(values), order="C")

    def _put(self, view, values):
        view[...] = self.backend.from_host(np.ascontiguousarray(values))

    # ---- initial state
    def _initial(self):
        """(T or None, p, rho or None, velocity, Y) from the case's expressions; two of T, p, rho."""
        given, x = self.case.initial, self.coordinates()
        shape = self.cells[::-1]
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
        shape = self.cells[::-1]
        flat = lambda v: np.ascontiguousarray(np.broadcast_to(v, (*np.shape(v)[:-3], *shape)), dtype=float)
        Y, u = flat(state["Y"]), flat(state["velocity"])
        call = lambda names, **arrays: self.mixture.properties(names, backend=self.backend, **arrays)
        if "rho" in state:
            rho = flat(state["rho"])
            p = flat(state["p"]) if "p" in state else call("p_eos", T=flat(state["T"]), rho_k=rho * Y)["p_eos"]
        else:
            p = flat(state["p"])
            rho = call("rho", T=flat(state["T"]), p=p, Y=Y)["rho"]
        T = call("T", p=p, rho_k=rho * Y)["T"]
        fits = np.isfinite(T) & np.isfinite(rho) & (rho > 0) & (p > 0)
        k, j, i = np.unravel_index(np.argmin(fits), shape)  # the first that does not fit, if there is one
        wanted(
            fits.all(),
            f"[initial]: no state of the equation of state at cell ({i}, {j}, {k}) of rank {self.ranks.rank}: p = "
            f"{p[k, j, i]:g} Pa, rho = {rho[k, j, i]:g} kg/m3, T = {T[k, j, i]:g} K.",
        )
        rho_k = rho * Y
        mass = rho_k.sum(0)
        energy = np.ones(shape)  # double flux makes it of p
        if self.conservative:
            energy = call("e_vol", T=T, rho_k=rho_k)["e_vol"] + 0.5 * mass * (u * u).sum(0)
        self.set_state(np.stack([*rho_k, *(mass * u), energy]), np.stack([*u, p, T][: len(self.Q4) - self.ns]))

    def state(self) -> dict:
        """What a restart needs, on the host: U and the rows of Q that are not in it."""
        U, Q = (self._interior(name) for name in "UQ")
        return {"U": self._host(U), "Q": self._host(Q[self.ns :])}

    def set_state(self, U, Q):
        """Set the flow to a `state`; its fringes and properties follow."""
        rows = self._interior("Q")
        self._put(self._interior("U"), U)
        self._put(rows[: self.ns], U[: self.ns])
        self._put(rows[self.ns :], Q)
        self.fill()
        self.properties()

    # ---- timers
    @contextlib.contextmanager
    def timed(self, name):
        if self._recording:
            yield
            return
        begin = self.backend.mark()
        yield
        self._marks.append((name, begin, self.backend.mark(), self._weight))
        if len(self._marks) > 2000:
            self.collect_times()

    def collect_times(self):
        for name, begin, end, weight in self._marks:
            self.seconds[name] += weight * self.backend.elapsed(begin, end)
        self._marks.clear()

    # ---- one step
    def fill(self, meanwhile=None):
        """Fringes of Q. meanwhile(): work on the inside while the first messages are under way."""
        for d in range(self.dimensions):
            under_way = meanwhile is not None and d == self.exchange.first
            with self.timed("exchange"):
                waiting = self.exchange.start(d) if under_way else self.exchange.fill(d)
            if under_way:
                meanwhile()
                with self.timed("exchange"):
                    self.exchange.finish(d, waiting)
            sides = [side for side in self.sides if side.d == d]
            if sides:
                with self.timed("boundaries"):
                    for side in sides:
                        side.fill()

    def properties(self, stage=False):
        """What the equation of state gives, everywhere (fringes too). stage: within a step, where gamma_c may be
        frozen."""
        with self.timed("state"):
            if not self.conservative:
                if stage and self.frozen and not (self.viscous or self.has_source):
                    return
                self._temperature_p()
            (self._slopes if stage and self.frozen else self._state)()
            if "h_Y" in self.arrays:
                self._partials()
        if self.viscous and not (stage and self.case.numerics["transport"] == "step"):
            with self.timed("transport"):
                self._composition()
                if self._transport:
                    self._transport()

    def _box(self, d=None, low=0, high=0):
        """lo, hi of the block's cells; in direction d moved by low and high."""
        lo, hi = list(self.fringe), [f + n for f, n in zip(self.fringe, self.cells)]
        if d is not None:
            lo[d], hi[d] = lo[d] + low, hi[d] + high
        return lo, hi

    def _fluxes(self, part):
        """Convective fluxes of the faces that do not wait for a message ("inside"), of the others ("rim"), or of
        all."""
        threshold = 1 / self.case.numerics["threshold"]
        with self.timed("flux"):
            for d in range(self.dimensions):
                n = self.cells[d]
                # whether this direction's fringe is filled before any message leaves
                early = part != "all" and d < self.exchange.first
                cells = faces = {"inside": "all", "rim": "none"}[part] if early else part
                if n < 6 and faces != "all":
                    faces = {"inside": "none", "rim": "all"}.get(faces, faces)
                # there are n + 1 faces, numbered by the cell on their high side; each sees 3 cells on both sides
                cells = {"all": [(-1, 1)], "inside": [(2, -2)], "rim": [(-1, 2 - n), (n - 2, 1)], "none": []}[cells]
                faces = {"all": [(0, 1)], "inside": [(3, -2)], "rim": [(0, 3 - n), (n - 2, 1)], "none": []}[faces]
                if self.case.numerics["dissipation"] == "sensor":
                    for low, high in cells:
                        self.sensor(*self._box(d, low, high), direction=d, inv_threshold=threshold)
                for low, high in faces:
                    self.convective[d](*self._box(d, low, high), direction=d)

    def _viscous_fluxes(self):
        with self.timed("viscous"):
            for d in range(self.dimensions):
                self.viscous_flux[d](*self._box(d, -1, 2), direction=d, inv_dx=self.inv_dx)

    def _boundary_fluxes(self):
        with self.timed("boundaries"):
            for s in self.walls:
                s.close()
            for s in self.outlets:
                n = self.cells[s.d]
                box = self._box(s.d, n - 1, 0) if s.side else self._box(s.d, 0, 1 - n)
                length = s.given["length"] or self.case.upper[s.d] - self.case.lower[s.d]
                self.outlet[s.d](
                    *box,
                    direction=s.d,
                    side=s.side,
                    inv_dx=self.inv_dx,
                    sigma=s.given["sigma"],
                    p_target=s.given["p"],
                    inv_length=1 / length,
                )

    def time_step(self, limit=np.inf) -> float:
        """The step that CFL, Fourier number and `limit` allow, the same on every rank. FlowError where a state allows
        none."""
        with self.timed("time step"):
            self.rates(*self._box(), inv_dx=self.inv_dx)
            fastest = self._largest_rates().tolist()
        slowest = self.ranks.smallest([-r for r in fastest])
        if not np.isfinite(slowest).all():
            complaints = [c for c in self.ranks.everyone(self.exchange.complaint()) if c]
            if complaints:
                raise FlowError(f"step {self.steps}: {complaints[0]}")
            self._report_failure(any(not np.isfinite(r) for r in fastest))
        n = self.case.numerics
        dt = n["cfl"] / -slowest[0]
        if self.viscous and slowest[1] < 0:
            dt = min(dt, n["fourier"] / -slowest[1])
        dt = float(min(n["time_step"] or dt, limit))
        self.cfl = -dt * float(slowest[0])
        return dt

    def _report_failure(self, here):
        text = ""
        if here:
            rate = self.backend.to_host(self._interior("rate")).max(axis=0)
            k, j, i = np.argwhere(~np.isfinite(rate))[0]
            where = [
                self.case.lower[d] + (self.ranks.first[d] + c + 0.5) * self.case.dx[d] for d, c in enumerate((i, j, k))
            ]
            text = (
                f"step {self.steps}, t = {self.time:.6e} s, rank {self.ranks.rank}, cell ({i + self.ranks.first[0]}, "
                f"{j + self.ranks.first[1]}, "
                f"{k + self.ranks.first[2]}) at ({where[0]:.6g}, {where[1]:.6g}, {where[2]:.6g}) m has no sound "
                "speed, or rho c^2/p <= 1."
            )
            low, high = max(i - 2, 0), min(i + 3, self.cells[0])
            for name in ("rho", "u", "v", "w", "p", "T", *(f"Y_{n}" for n in self.mixture.names)):
                row = self.field(name)[k, j, low:high]
                text += f"\n  {name:<8} " + " ".join(
                    f"{'>' if low + at == i else ' '}{x:12.5e}" for at, x in enumerate(row)
                )
        texts = [t for t in self.ranks.everyone(text) if t]
        raise FlowError(texts[0] if texts else "a state has no time step.")

    def step(self, limit=np.inf) -> float:
        """One Runge-Kutta step of the length returned. Where the host takes no part in it, a step is a CUDA graph, and
        has no timers inside. Every SAMPLEth step is launched kernel by kernel, and its times count for the others too
        (`watch` True: every step is; False: none)."""
        dt = self.dt = self.time_step(limit)
        self.arrays["length"][...] = dt
        # the first launches load the kernels, which a graph cannot record
        seen = self.watch or self._fresh < 2 or self.watch is None and self.steps % SAMPLE == 0
        if self.graphed and not seen and self._replay is None:
            self._record()
        if self.graphed and not seen:
            self._replay()
            self._unseen += 1
        else:
            self._weight, self._unseen = 1 + self._unseen, 0
            self._advance()
            self._weight = 1
        self._fresh += 1
        self.time += dt
        self.steps += 1
        return dt

    def _record(self):
        """Record the launches of a step as a graph. Where the device refuses, they stay single launches."""
        self._recording = True
        try:
            self._replay = self.backend.record(self._advance)
        except BackendError as error:
            self.graphed, self.graph_note = False, str(error)
        finally:
            self._recording = False

    def _advance(self):
        """From one state to the next. The length of the step is read from memory."""
        case = self.case
        with self.timed("update"):
            self.begin(*self._box())
        # between devices, messages take less time than the launches that a rim of its own needs
        overlap = self.ranks.size > 1 and case.parallel["overlap"] and self.frozen and self.exchange.way != "ipc"
        for number, (w0, w1) in enumerate(RUNGE_KUTTA[case.numerics["runge_kutta"]]):
            if number:
                self._refill(overlap)
            else:
                self._fluxes("all")
            if self.viscous:
                self._viscous_fluxes()
            if self.walls or self.outlets:
                self._boundary_fluxes()
            with self.timed("update"):
                self.update(*self._box(), inv_dx=self.inv_dx, w0=w0, w1=w1)
            if self.conservative:
                with self.timed("state"):
                    self._temperature_e()
                    self._pressure()
        self.fill()
        self.properties()

    def _refill(self, overlap):
        """Within a step: fringes, properties and convective fluxes of the stage's state."""
        if overlap:  # convection needs nothing beyond Q and the frozen gamma_c
            self.fill(lambda: self._fluxes("inside"))
            self.properties(stage=True)
            self._fluxes("rim")
        else:
            self.fill()
            self.properties(stage=True)
            self._fluxes("all")

    def close(self):
        """Collective, when the flow is no longer needed: gives back memory that other ranks have open. FlowError if an
        exchange has failed."""
        complaints = [c for c in self.ranks.everyone(self.exchange.complaint()) if c]
        self.exchange.close()
        if complaints:
            raise FlowError(f"step {self.steps}: {complaints[0]}")

    # ---- totals
    def sums(self) -> np.ndarray:
        """Integrals over the domain: mass of each species, momentum (3), total energy, and the heat content sum rho cv
        T as its scale."""
        Q, ns = self._interior("Q"), self.ns
        rho = Q[:ns].sum(0)
        inner = lambda name: self._interior(name)[0]
        kinetic = 0.5 * (Q[ns : ns + 3] ** 2).sum(0) * rho
        return self._integrals(
            [*Q[:ns], *(Q[ns : ns + 3] * rho), inner("e_vol") + kinetic, inner("cv_vol") * inner("T")]
        )

    def momentum_scale(self) -> float:
        """Integral of rho |u| [kg m/s], the scale for changes of momentum."""
        Q, ns = self._interior("Q"), self.ns
        return float(self._integrals([(((Q[ns : ns + 3] ** 2).sum(0)) ** 0.5 * Q[:ns].sum(0))])[0])

    def _integrals(self, densities) -> np.ndarray:
        volume = float(np.prod(self.case.dx[: self.dimensions]))
        return volume * self.ranks.total([float(density.sum()) for density in densities])


def backend_of(name):
    """The backend "auto", "cpu" or "cuda"; of several GPUs the one for this rank on its node."""
    if name == "auto":
        name = os.environ.get("FRAME_BACKEND") or name
    devices = cuda_devices(name)
    return get_backend("cuda", device=rank_on_node() % devices) if devices else get_backend(name)
