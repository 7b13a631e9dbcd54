"""The sides of the domain: values of their boundaries, the fringe beyond them, the fluxes through them."""

import numpy as np

from . import formulas
from .case import AXES, FRINGE, LOWEST_T
from .errors import CaseError, closest, wanted
from .expression import Expression, Place
from .properties import KEPT, kept_rows

KINDS = ("slip_wall", "wall", "inlet", "supersonic_inlet", "outlet", "supersonic_outlet")  # numbers in kernels/sides.h
# {flow at a face: (the kind of boundary that does not permit it, the text of the report)}
MISUSE = {
    "enters": ("supersonic_outlet", "what comes in there is the cell beside it. An inlet or an outlet is meant?"),
    "leaves faster than sound": ("outlet", "its pressure cannot be met. A supersonic_outlet is meant?"),
    "enters faster than sound": ("inlet", "pressure comes from inside there. A supersonic_inlet is meant?"),
    "enters slower than sound": ("supersonic_inlet", "its pressure cannot be met. An inlet is meant?"),
}
# rows of `given` there
KIND, VELOCITY, TEMPERATURE, PRESSURE, SIGMA, INV_LENGTH, ROWS = 0, 1, 4, 5, 6, 7, 8


def composition(table_X, table_Y, mixture, place) -> np.ndarray:
    """Mass fractions (ns, points...) from tables of expressions by species; one species may be "rest". place: the
    Place of the expressions."""
    table, where = table_X or table_Y, place.where
    shape = np.broadcast_shapes(*(c.shape for c in place.coordinates))
    names = ", ".join(mixture.names)
    if not table:
        wanted(mixture.ns == 1, f"{where}: X or Y is missing for the {mixture.ns} species {names}.")
        return np.ones((1, *shape))

    table = named_as_in(mixture, table, where)
    out, rest = np.zeros((mixture.ns, *shape)), [name for name, text in table.items() if text == "rest"]
    for name, text in table.items():
        fits = isinstance(text, (str, int, float)) and not isinstance(text, bool)
        wanted(fits, f"{where} {name} = {text!r}; wanted a number or an expression.")

        if text != "rest":
            out[mixture.names.index(name)] = place.value(name, text)

    wanted(len(rest) <= 1, f"{where}: 'rest' is given for {', '.join(rest)}; wanted for one species.")
    if rest:
        out[mixture.names.index(rest[0])] = 1 - out.sum(0)
    total = out.sum(0)
    wanted(
        (np.abs(total - 1) < 1e-6).all() and out.min() >= -1e-12,
        f"{where}: fractions range from {out.min():g}, their sums from {total.min():g} to {total.max():g}; wanted "
        '0 or more, sum 1; of one species "rest" may stand.',
    )

    out = np.maximum(out, 0.0) / np.maximum(out, 0.0).sum(0)
    if table_X:
        W = mixture.species.W.reshape(-1, *(1,) * len(shape))
        out = out * W / (out * W).sum(0)

    return out


def named_as_in(mixture, table, where) -> dict:
    """The table with the mixture's names of its species. Raises CaseError for a species that is not in the mixture, or
    comes twice."""
    out: dict = {}
    for name, text in table.items():
        own = mixture.find(name)
        names = ", ".join(mixture.names)
        said = f"{where}: species '{name}' is not in the mixture, which has {names}{closest(name, mixture.names, 1)}."
        wanted(own is not None, said)
        wanted(own not in out, f"{where}: species '{own}' is given more than once.")
        out[own] = text

    return out


class Side:
    """A side of the domain, where the block of this rank touches it.

    parts: its boundaries, each with a formula `where`, true on its faces; the last boundary takes the rest.
    bind(name, **renamed): a stencil kernel over the block.

    Raises CaseError for values that make no sense.
    """

    def __init__(self, block, bind, scheme, d, side, parts, constants):
        self.block, self.frame, self.mixture = block, block.frame, block.frame.mixture
        self.d, self.side, self.parts, self._constants = d, side, parts, constants
        self.name = f"{AXES[d]}_{('low', 'high')[side]}"

        self._place()
        self._allocate(scheme)

        self._moving = any(self.uses_time(part) for part in parts)
        self._by_enthalpy = any(part.get("h", "") != "" for part in parts)
        self._finds = any(self._has_a_state(part) for part in parts)
        self.set(0.0)
        self._renewal = self._make_renewal() if self._moving else None

        self._bind(bind, scheme)

    @staticmethod
    def _has_a_state(part) -> bool:
        """Whether the fringe takes its density and energy from temperature and pressure: inlets and walls with T."""
        return "inlet" in part["kind"] or part["kind"] == "wall" and part["T"] != ""

    def _place(self):
        """Boxes of the fringe, of the faces and of the slab. The slab is FRINGE layers beyond the side."""
        block, d, side = self.block, self.d, self.side
        self._edge = FRINGE + (block.cells[d] - 1 if side else 0)

        # The fringe, as boxes. Along x a pack of cells would be across the layers: there each layer is a box.
        lo, hi = [0, 0, 0], list(block.extent)
        lo[d], hi[d] = (self._edge + 1, self._edge + 1 + FRINGE) if side else (0, FRINGE)
        layers = [(lo[d] + m, lo[d] + m + 1) for m in range(FRINGE)] if d == 0 else [(lo[d], hi[d])]
        self._boxes = []
        for low, high in layers:
            box = list(lo), list(hi)
            box[0][d], box[1][d] = low, high
            self._boxes.append(box)

        # Faces are numbered by the cell on their high side.
        lo, hi = block.box()
        lo[d] = self._edge + (1 if side else 0)
        hi[d] = lo[d] + 1
        self._faces = lo, hi

        # The slab's points, as kernels/sides.h numbers them.
        self._across = [e for e in (2, 1, 0) if e != d]
        self._plane = [block.span[e] for e in self._across]
        self._shape = (FRINGE, *self._plane)
        self._points = int(np.prod(self._shape))
        self._where = dict(direction=d, side=side, edge=self._edge, plane=self._points // FRINGE)

    def _allocate(self, scheme):
        """The slab's arrays by name, and the boundary of each face."""
        ns, backend = self.mixture.ns, self.block.backend
        rows = dict(given=ROWS, Y_in=ns, slab_rho_k=ns, slab_Y=ns, slab_p=1, slab_T=1, slab_T_h=1, slab_rho=1, h_in=1)
        rows["through"] = ns + 4
        if scheme.phases:
            rows |= {f"slab_{name}": count for name, count in kept_rows(ns).items()}

        self._slab = {}
        for name, count in rows.items():
            array = backend.empty((count, backend.pad(self._points + 64)))
            array[...] = 0.0 if name == "through" else 1.0
            self._slab[name] = array

        self._part = np.zeros(self._plane)

    def _make_renewal(self):
        """The launch that brings the slab to the clock's time."""
        place = [np.broadcast_to(c, self._plane).reshape(-1) for c in (*self._coordinates(), self._part)]
        return formulas.Renewal(self.block, self._lines(), self._slab, np.stack(place), self.mixture.ns)

    def _bind(self, bind, scheme):
        """Stencil kernels and property launches over the slab."""
        arrays, axis = self.block.arrays, AXES[self.d]
        names = dict(self._slab, flux=arrays[f"flux_{axis}"])
        if scheme.viscous:
            names["viscous_flux"] = arrays[f"viscous_{axis}"]

        if scheme.phases:  # sound through a side is that of the equilibrium
            names["gamma_c"] = arrays["gamma_eq"]

        self._mirror, self._flux = bind("side_mirror", **names), bind("side_flux", **names)
        if self._finds:
            self._temperature, self._state = bind("side_temperature", **names), bind("side_state", **names)
            self._temperature_inside = None if scheme.phases else self._launch(["T"], ["p", "rho_k"])
            self._density = self._launch(["rho", *(KEPT if scheme.phases else ())], ["T", "p", "Y"])
        if self._by_enthalpy:
            self._temperature_h = self._launch(["T"], ["h", "p", "Y"], h="h_in", T="slab_T_h")

    def _launch(self, outputs, given, **renamed):
        """run(): a property launch over the slab. renamed: {quantity: array of the slab} where the names differ."""
        arrays = {name.removeprefix("slab_"): array for name, array in self._slab.items()}
        arrays |= {name: self._slab[array] for name, array in renamed.items()}
        run = self.frame.bind(arrays, outputs=outputs, given=given)

        return lambda: run(self._points)

    # ---- values of the boundaries
    @staticmethod
    def uses_time(part):
        """Whether a formula of this boundary has t."""
        texts = [part.get(k, "") for k in ("T", "h", "p")] + list(part.get("velocity", ()))
        texts += [*part.get("X", {}).values(), *part.get("Y", {}).values()]
        return any(isinstance(text, str) and Expression.takes(text, "t") for text in texts)

    def _coordinates(self):
        """x, y, z of the fringe's layers; along the normal that of the face: formulas are of the face."""
        out, case = [], self.block.case
        for e, c in enumerate(self.block.coordinates(fringe=True)):
            low, high = case.lower[e], case.upper[e]
            if e == self.d:
                c = np.array((low, high)[self.side]).reshape(1, 1, 1)
            elif self.block.ranks.periodic[e]:
                c = low + (c - low) % (high - low)
            else:
                c = np.clip(c, low, high)  # a formula need not make sense beyond the domain

            if e == 0 and e != self.d:  # memory behind the fringe is as its last cell
                c = np.pad(c, [(0, 0), (0, 0), (0, self.block.span[0] - self.block.extent[0])], "edge")
            out.append(c)

        shape = [1 if e == self.d else self.block.span[e] for e in (2, 1, 0)]
        plane = self._shape[1:]

        return [np.broadcast_to(c, shape).reshape(plane) for c in out]

    def set(self, time):
        """Values of all formulas at this time [s]."""
        x = self._coordinates()
        plane = x[0].shape
        given, h = np.zeros((ROWS, *plane)), np.zeros(plane)
        Y = np.full((self.mixture.ns, *plane), 1 / self.mixture.ns)

        cells = [(self.block.fringe[e], self.block.cells[e]) for e in self._across]
        inside = tuple(slice(first, first + count) for first, count in cells)
        left = np.ones(plane, bool)
        self.faces = {}  # {boundary: faces of this block}
        for number, part in enumerate(self.parts):
            where = self._where_of(number)
            here = left.copy()
            if part["where"] != "":
                here &= Expression(part["where"], self._constants, f"{where} where")(x) != 0
            left &= ~here

            self._part[here] = number
            self.faces[where] = int(here[inside].sum())
            place = Place(where, x, self._constants, time)
            self._set_part(part, place, here, given, h)
            if "inlet" in part["kind"]:
                Y[:, here] = composition(part["X"], part["Y"], self.mixture, place)[:, here]

        said = f"[boundary] {self.name}: no boundary is given for some faces; the last one wants no 'where'."
        wanted(not left.any(), said)

        for name, values in (("given", given), ("Y_in", Y), ("h_in", h[None])):
            layers = np.repeat(values[:, None], FRINGE, 1).reshape(len(values), -1)
            self._slab[name][:, : self._points] = self.block.backend.from_host(layers)

    def _set_part(self, part, place, here, given, h):
        """Numbers of a boundary on its faces `here`: rows of `given`, and the enthalpy h. Errors: CaseError."""
        where = place.where

        def value(key, text):
            return place.value(key, text)[here]

        given[KIND][here] = KINDS.index(part["kind"])

        if "velocity" in part:
            for c in range(3):
                given[VELOCITY + c][here] = value("velocity", part["velocity"][c])
            if "inlet" in part["kind"] and here.any():
                self._refuse_outwards(given[VELOCITY + self.d][here], where, place.time)

        if part.get("T", "") != "":
            T = value("T", part["T"])
            said = f"{where} T: lowest value {T.min(initial=np.inf):g} K; the models end at {LOWEST_T:g} K."
            wanted((T >= LOWEST_T).all(), said)
            given[TEMPERATURE][here] = T

        if part.get("h", "") != "":
            h[here] = value("h", part["h"])

        if "p" in part:
            p = value("p", part["p"])
            wanted((p > 0).all(), f"{where} p: lowest value {p.min(initial=np.inf):g}; wanted positive.")
            given[PRESSURE][here] = p

        if "sigma" in part:
            case, d = self.block.case, self.d
            given[SIGMA][here] = part["sigma"]
            given[INV_LENGTH][here] = 1 / (part["length"] or case.upper[d] - case.lower[d])

    def _refuse_outwards(self, velocity, where, time):
        """CaseError for an inlet with a velocity out of the domain."""
        lowest = (velocity * (-1.0 if self.side else 1.0)).min()
        said = f"{where}: an inlet, but its velocity {lowest:g} m/s points out of the domain (t = {time:g} s)"
        wanted(lowest >= 0, f"{said}; wanted 0 or more along the inward normal.")

    def _where_of(self, number):
        """The name of a boundary in messages."""
        return f"[boundary] {self.name}" + (f" number {number + 1}" if len(self.parts) > 1 else "")

    def _lines(self):
        """C++ of the formulas of t, by boundary."""
        return [(number, lines) for number, part in enumerate(self.parts) if (lines := self._lines_of(number, part))]

    def _lines_of(self, number, part):
        where, normal = self._where_of(number), "v <= 0.0" if self.side else "v >= 0.0"

        def moves(text):
            return isinstance(text, str) and Expression.takes(text, "t")

        def formula(text, key):
            return formulas.translated(text, self._constants, f"{where} {key}")

        lines = []
        for c, text in enumerate(part.get("velocity", ())):
            if moves(text):
                fits = normal if c == self.d and "inlet" in part["kind"] else "true"
                lines.append(formulas.value("given", VELOCITY + c, formula(text, "velocity"), fits))

        for key, row, fits in (("T", TEMPERATURE, formulas.WARM), ("p", PRESSURE, "v > 0.0")):
            if moves(part.get(key)):
                lines.append(formulas.value("given", row, formula(part[key], key), fits))

        if moves(part.get("h")):
            lines.append(formulas.value("h_in", 0, formula(part["h"], "h")))

        table = named_as_in(self.mixture, part.get("X") or part.get("Y") or {}, where)
        if any(map(moves, table.values())):
            rows = [table.get(name, 0.0) for name in self.mixture.names]
            rest = rows.index("rest") if "rest" in rows else None
            rows = [formula(0.0 if k == rest else text, self.mixture.names[k]) for k, text in enumerate(rows)]
            lines.append(formulas.composition(rows, rest, self.mixture.species.W if part["X"] else None))

        return lines

    def at(self, time):
        """A flow begins, or goes on, at this time."""
        if self._moving:
            self.set(time)

    def renew(self):
        """Bring the values to the clock's time, for the fringe and the next step."""
        if self._renewal:
            self._renewal()

    def complaint(self, time) -> str:
        """The error of a formula of t at this time; "" where all values make sense."""
        try:
            self.at(time)
        except CaseError as error:
            return str(error)
        return ""

    # ---- fringe and fluxes
    def fill(self):
        """The fringe beyond this side."""
        for box in self._boxes:
            self._mirror(*box, **self._where)
        if self._finds:
            if self._temperature_inside:
                self._temperature_inside()
            if self._by_enthalpy:
                self._temperature_h()
            for box in self._boxes:
                self._temperature(*box, **self._where)
            self._density()
            for box in self._boxes:
                self._state(*box, **self._where)

    def flux(self, share):
        """Fluxes through this side; share: of this stage in the whole step."""
        self._flux(*self._faces, inv_dx=self.block.inv_dx, share=share, **self._where)

    # ---- results
    def passed(self) -> np.ndarray:
        """Amounts that came in through the faces of this rank since the start.

        Species [kg], momentum [kg m/s], energy [J]. In a flow of one or two dimensions they are per metre of each
        direction that it lacks.
        """
        block = self.block
        radius = (block.case.lower, block.case.upper)[self.side][1]
        area = block.measure([e for e in range(block.dimensions) if e != self.d], radius)
        view = self._slab["through"][:, : self._points].reshape((self.mixture.ns + 4, *self._shape))[:, 0]
        cut = tuple(slice(block.fringe[e], block.fringe[e] + block.cells[e]) for e in self._across)
        through = block.host(view)[(slice(None), *cut)].reshape(self.mixture.ns + 4, -1)
        if np.ndim(area):
            through, area = through * area.ravel(), 1.0
        found = (-area if self.side else area) * through.sum(1)
        if block.case.axisymmetric:  # momentum along a radius is no component of anything that is conserved
            found[self.mixture.ns + 1] = 0.0

        return found

    def misused(self) -> dict:
        """{what a face's flow does against its boundary: number of faces of this block}; the keys are those of MISUSE,
        with the kinds of boundaries that cannot be met then."""
        mach, kinds = self._mach_inwards(), self._on_faces(self._slab["given"][KIND])
        happens = {
            "enters": mach > 1e-3,
            "leaves faster than sound": mach < -1.001,
            "enters faster than sound": mach > 1.001,
            "enters slower than sound": (mach > 0) & (mach < 0.999),
        }

        return {
            flow: int((happens[flow].ravel() & (kinds == KINDS.index(kind)).ravel()).sum())
            for flow, (kind, _) in MISUSE.items()
        }

    def _mach_inwards(self) -> np.ndarray:
        """Mach number, into the domain, of the cells beside this side."""
        block, ns = self.block, self.mixture.ns
        cut = [slice(f, f + n) for f, n in zip(block.fringe, block.cells)]
        cut[self.d] = self._edge
        beside = (slice(None), *cut[::-1])

        Q, gamma_c = block.view("Q")[beside], block.host(block.view("gamma_c")[beside][0])
        u, p, rho = block.host(Q[ns + self.d]), block.host(Q[ns + 3]), block.host(Q[:ns].sum(0))
        with np.errstate(invalid="ignore", divide="ignore"):
            return (-u if self.side else u) / np.sqrt(np.abs(gamma_c * p / rho))

    def _on_faces(self, row) -> np.ndarray:
        """Values of a row of the slab at the faces of the block's own cells."""
        cut = tuple(slice(self.block.fringe[e], self.block.fringe[e] + self.block.cells[e]) for e in self._across)
        return self.block.host(row[: self._points].reshape(self._shape)[0])[cut]

    def _part_at(self, face) -> int:
        """The number of the boundary that lies on a face."""
        cut = tuple(slice(self.block.fringe[e], self.block.fringe[e] + self.block.cells[e]) for e in self._across)
        return int(self._part[cut][face])

    def unmet(self) -> str:
        """The first face whose boundary has no state of the equation of state, though pressure inside and the values of
        the boundary are fine; "" without such a face."""
        if not self._finds:
            return ""

        p, given = self._on_faces(self._slab["slab_p"][0]), self._on_faces(self._slab["given"][TEMPERATURE])
        rho, T = (self._on_faces(self._slab[name][0]) for name in ("slab_rho", "slab_T"))
        kinds = [KINDS.index(part["kind"]) for part in self.parts if self._has_a_state(part)]
        unmet = np.isin(self._on_faces(self._slab["given"][KIND]), kinds) & np.isfinite(p) & (p > 0)
        unmet &= ~(np.isfinite(rho) & (rho > 0) & np.isfinite(T) & (T > 0))
        if not unmet.any():
            return ""

        face = np.unravel_index(np.argmax(unmet), unmet.shape)
        part = self._part_at(face)
        wants = f"T = {given[face]:g} K" if given[face] else "the given h"
        return (
            f"{self._where_of(part)}: cannot be met: {int(unmet.sum())} faces have no state of the equation of state "
            f"with {wants} and p = {p[face]:g} Pa."
        )
