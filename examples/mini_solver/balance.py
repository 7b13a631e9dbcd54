"""Balance: the content of the domain, and the inflow through its sides. Their difference is constant to rounding for
species and momentum, with apec for energy too; with double flux energy drifts."""

import numpy as np


class Balance:
    """Integrals over the domain of a flow, on all ranks. start: integrals at the start of the run. before: inflow
    through the sides up to the restart file."""

    def __init__(self, flow):
        self.flow, self.start, self.before = flow, None, np.zeros(flow.ns + 4)

    def sums(self) -> np.ndarray:
        """Mass of each species [kg], momentum (3), total energy, and the heat content sum rho cv T as its scale; per
        metre of the directions that the flow does not have; around an axis of whole rings."""
        block, ns = self.flow.block, self.flow.ns
        Q = block.interior("Q")
        rho = Q[:ns].sum(0)

        def inner(name):
            return block.interior(name)[0]

        kinetic = 0.5 * (Q[ns : ns + 3] ** 2).sum(0) * rho
        found = self._integrals(
            [*Q[:ns], *(Q[ns : ns + 3] * rho), inner("e_vol") + kinetic, inner("cv_vol") * inner("T")]
        )
        if self.flow.case.axisymmetric:  # momentum along a radius is no component of anything that is conserved
            found[ns + 1] = 0.0

        return found

    def motion(self) -> np.ndarray:
        """Integrals of the kinetic energy rho u^2/2 [J] and of half the squared vorticity [m3/s2]. Vorticity comes from
        central differences of second order."""
        block, ns = self.flow.block, self.flow.ns

        view, d = block.view("Q"), block.dimensions
        u = [block.host(row) for row in view[ns : ns + 3]]
        x = [c.ravel() if block.case.stretched else h for c, h in zip(block.coordinates(fringe=True), block.case.dx)]

        def slope(c, e):
            return np.gradient(u[c], x[e], axis=2 - e) if e < d else 0.0

        curl = [slope(2, 1) - slope(1, 2), slope(0, 2) - slope(2, 0), slope(1, 0) - slope(0, 1)]
        cut = tuple(slice(f, f + n) for f, n in zip(block.fringe[::-1], block.cells[::-1]))
        rho = block.host(view[:ns].sum(0))

        def squares(rows):
            return sum((row[cut] ** 2 for row in rows if np.ndim(row)), np.zeros(block.cells[::-1]))

        rows = [0.5 * rho[cut] * squares(u), 0.5 * squares(curl)]

        return self._integrals([block.backend.from_host(np.ascontiguousarray(row)) for row in rows])

    def momentum_scale(self) -> float:
        """Integral of rho |u| [kg m/s], the scale for changes of momentum."""
        ns, Q = self.flow.ns, self.flow.block.interior("Q")
        return float(self._integrals([(((Q[ns : ns + 3] ** 2).sum(0)) ** 0.5 * Q[:ns].sum(0))])[0])

    def passed(self) -> np.ndarray:
        """Inflow through the sides since the start: mass of each species, momentum (3), energy."""
        mine = np.zeros(self.flow.ns + 4)
        for side in self.flow.sides:
            mine += side.passed()

        return self.before + self.flow.ranks.total(mine)

    def _integrals(self, densities) -> np.ndarray:
        flow = self.flow
        volume = flow.block.measure(range(flow.dimensions))
        if np.ndim(volume):
            shape = flow.block.cells[::-1]
            each = flow.block.backend.from_host(np.ascontiguousarray(np.broadcast_to(volume, shape)))
            return flow.ranks.total([float((density * each).sum()) for density in densities])

        return volume * flow.ranks.total([float(density.sum()) for density in densities])
