"""Walls, inlets and outlets: each fills the three fringe layers beside its side of the domain."""

import numpy as np

from .case import AXES, FRINGE, Expression
from .errors import wanted
from .moves import bind_moves


def composition(table_X, table_Y, mixture, coordinates, constants, where) -> np.ndarray:
    """Mass fractions (ns, points...) from tables of expressions by species; one species may be "rest"."""
    table = table_X or table_Y
    shape = np.broadcast_shapes(*(c.shape for c in coordinates))
    names = ", ".join(mixture.names)
    if not table:
        wanted(mixture.ns == 1, f"{where}: X or Y is missing for the {mixture.ns} species {names}.")
        return np.ones((1, *shape))
    out, rest = np.zeros((mixture.ns, *shape)), [name for name, text in table.items() if text == "rest"]
    for name, text in table.items():
        wanted(name in mixture.names, f"{where}: species '{name}' is not in the mixture, which has {names}.")
        fits = isinstance(text, (str, int, float)) and not isinstance(text, bool)
        wanted(fits, f"{where} {name} = {text!r}; wanted a number or an expression.")
        if text != "rest":
            out[mixture.names.index(name)] = Expression(text, constants, f"{where} {name}")(coordinates)
    wanted(len(rest) <= 1, f"{where}: 'rest' is given for {', '.join(rest)}; wanted for one species.")
    if rest:
        out[mixture.names.index(rest[0])] = 1 - out.sum(0)
    total = out.sum(0)
    wanted(
        (np.abs(total - 1) < 1e-6).all() and out.min() >= -1e-12,
        f"{where}: fractions range from {out.min():g}, their sums from {total.min():g} to {total.max():g}; wanted "
        "0 or more, sum 1.",
    )
    out = np.maximum(out, 0.0) / np.maximum(out, 0.0).sum(0)
    if table_X:
        W = mixture.species.W.reshape(-1, *(1,) * len(shape))
        out = out * W / (out * W).sum(0)
    return out


class Side:
    """One side of the domain that this rank's block touches. `fill()` writes the fringe from the inside."""

    def __init__(self, flow, d, side, given):
        self.flow, self.d, self.side, self.given, self.kind = flow, d, side, given, given["kind"]
        self.where = f"[boundary] {AXES[d]}_{('low', 'high')[side]}"
        Q = flow.Q4
        n = Q.shape[3 - d]
        layer = lambda at: tuple(slice(None) if axis != 3 - d else at for axis in range(4))
        # three layers of the fringe, the three inside that mirror them, and the last one inside
        if side == 0:
            cuts = slice(0, FRINGE), slice(2 * FRINGE - 1, FRINGE - 1, -1), slice(FRINGE, FRINGE + 1)
        else:
            edge = n - FRINGE
            cuts = slice(edge, n), slice(edge - 1, edge - FRINGE - 1, -1), slice(edge - 1, edge)
        self._ghost, self._mirror, self._edge = map(layer, cuts)
        self.shape = Q[0][self._ghost[1:]].shape
        self.points = int(np.prod(self.shape))
        # whether `fill` is always the same launches, so that a graph can repeat it
        self.still = self.kind not in ("inlet", "supersonic_inlet") and not (self.kind == "wall" and given["T"])
        parts = self._parts()
        self._moves = bind_moves(flow.backend, parts) if parts else None
        if self.kind in ("slip_wall", "wall"):
            viscous = flow._view(f"viscous_{AXES[d]}") if flow.viscous else None
            # sets the fluxes through the wall, after the stencils have written them
            self.close = bind_moves(flow.backend, self._closed(flow._view(f"flux_{AXES[d]}"), viscous))
        self._prepare()

    def _parts(self):
        """Copies that fill the fringe from inside: of the edge at outlets; at walls of the mirrored cells, where
        velocities change sign."""
        Q, ns = self.flow.Q4, self.flow.ns
        ghost, mirror = Q[self._ghost], Q[self._mirror]
        if self.kind in ("supersonic_outlet", "outlet"):
            return [(ghost, Q[self._edge])]
        if self.kind not in ("slip_wall", "wall"):
            return []
        if self.kind == "slip_wall":
            turned = {ns + self.d: 0.0}
        else:
            turned = {ns + c: 2.0 * self.given["velocity"][c] for c in range(3)}
        ends = [0, *(r + e for r in turned for e in (0, 1)), len(Q)]
        parts = [(ghost[a:b], mirror[a:b]) for a, b in zip(ends[::2], ends[1::2]) if b > a]
        return parts + [(ghost[r : r + 1], mirror[r : r + 1], -1.0, added) for r, added in turned.items()]

    def _prepare(self):
        flow, given = self.flow, self.given
        if not self.still:
            backend, ns = flow.backend, flow.ns
            ld = backend.pad(self.points)
            self._slab = {
                name: backend.empty((rows, ld))
                for name, rows in (("T", 1), ("p", 1), ("rho_k", ns), ("Y", ns), ("rho", 1), ("h", 1), ("cp", 1))
            }
            program = lambda outputs, names: flow.mixture.program(outputs=outputs, given=names, backend=backend).bind(
                self._slab
            )
            self._density = program(["rho"], ["T", "p", "Y"])
            self._temperature = program(["T"], ["p", "rho_k"])
            self._enthalpy = program(["h", "cp"], ["T", "p", "Y"])
        if self.kind in ("inlet", "supersonic_inlet"):
            coordinates = [c[self._ghost[1:]] if c.shape[2 - self.d] > 1 else c for c in flow.coordinates(fringe=True)]
            constants = flow.case.initial["constants"]
            value = lambda text, key: flow.backend.from_host(
                np.broadcast_to(Expression(text, constants, f"{self.where} {key}")(coordinates), self.shape).copy()
            )
            self._velocity = [value(text, "velocity") for text in given["velocity"]]
            Y = composition(
                given["X"],
                given["Y"],
                flow.mixture,
                [np.broadcast_to(c, self.shape) for c in coordinates],
                constants,
                self.where,
            )
            self._rows("Y")[...] = flow.backend.from_host(np.ascontiguousarray(Y))
            if given.get("T", "") != "":
                self._row("T")[...] = value(given["T"], "T")
            else:
                self._h = value(given["h"], "h")
                self._row("T")[...] = 300.0  # where Newton's method starts; later from the last temperature
            if self.kind == "supersonic_inlet":
                self._row("p")[...] = value(given["p"], "p")

    def _closed(self, convective, viscous):
        """Parts that let only pressure, friction and heat pass a wall, of fluxes (rows, nz, ny, nx) in its direction.
        Where the wall has a temperature, the fringe does not mirror the inside: without this, mass would leak."""
        ns, d = self.flow.ns, self.d
        place = FRINGE if self.side == 0 else self.flow.Q4.shape[3 - d] - FRINGE
        face = lambda rows, at: (rows, *(slice(None) if axis != 2 - d else slice(at, at + 1) for axis in range(3)))
        zero = lambda view: (view, view, 0.0, 0.0)
        parts = [zero(convective[face(slice(a, b), place)]) for a, b in ((0, ns + d), (ns + d + 1, ns + 5))]
        if viscous is not None:  # their divergence takes one face beyond the wall, too
            inside, outside = (place + 1, place - 1) if self.side == 0 else (place - 1, place + 1)
            species = slice(0, ns)
            parts += [
                zero(viscous[face(species, place)]),
                (viscous[face(species, outside)], viscous[face(species, inside)], -1.0, 0.0),
            ]
        return parts

    def _row(self, name):
        return self._slab[name][0, : self.points].reshape(self.shape)

    def _rows(self, name):
        return self._slab[name][:, : self.points].reshape((self.flow.ns, *self.shape))

    def fill(self):
        flow, Q, ns = self.flow, self.flow.Q4, self.flow.ns
        ghost = Q[self._ghost]
        if self._moves:
            self._moves()
        if self.still:
            return
        if self.kind == "wall":
            self._row("p")[...] = ghost[ns + 3]
            self._rows("rho_k")[...] = ghost[:ns]
            self._temperature(self.points)
            T = self._row("T")
            T *= -1.0
            T += 2.0 * self.given["T"]
            T[...] = T.clip(0.5 * self.given["T"], 2.0 * self.given["T"])
            total = ghost[:ns].sum(0)
            self._rows("Y")[...] = ghost[:ns] / total
        else:
            if self.kind == "inlet":
                self._row("p")[...] = Q[ns + 3][self._edge[1:]]
                if self.given["h"] != "":
                    self._solve_enthalpy()
            ghost[ns + 3] = self._row("p")
            for c in range(3):
                ghost[ns + c] = self._velocity[c]
        self._density(self.points)
        ghost[:ns] = self._rows("Y") * self._row("rho")
        if flow.conservative:
            ghost[ns + 4] = self._row("T")

    def _solve_enthalpy(self):
        """T of (h, p, Y): Newton's method with the layer's h and cp, no step beyond 30 %."""
        T, tolerance = self._row("T"), 1e-13
        for _ in range(30):
            self._enthalpy(self.points)
            change = (self._h - self._row("h")) / self._row("cp")
            change = change.clip(-0.3 * T, 0.3 * T)
            T += change
            left = float(abs(change / T).max())
            if left < tolerance:
                return
        found = f"{self.where}: no temperature found for h = {self.given['h']!r} at the pressure inside."
        wanted(left < 1e-9, found)
