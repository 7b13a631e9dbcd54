"""Balance: what the domain holds, less what came in through its sides. Species and momentum close to rounding, energy
too with apec; double flux lets it drift."""

import numpy as np


class Balance:
    """Integrals over the domain of a flow, on all ranks. start: those at the start of the run. before: what had passed
    through the sides when a restart was written."""

    def __init__(self, flow):
        self.flow, self.start, self.before = flow, None, np.zeros(flow.ns + 4)

    def sums(self) -> np.ndarray:
        """Mass of each species [kg], momentum (3), total energy, and the heat content sum rho cv T as its scale; per
        metre of the directions that the flow does not have."""
        block, ns = self.flow.block, self.flow.ns
        Q = block.interior("Q")
        rho = Q[:ns].sum(0)
        inner = lambda name: block.interior(name)[0]
        kinetic = 0.5 * (Q[ns : ns + 3] ** 2).sum(0) * rho
        return self._integrals(
            [*Q[:ns], *(Q[ns : ns + 3] * rho), inner("e_vol") + kinetic, inner("cv_vol") * inner("T")]
        )

    def momentum_scale(self) -> float:
        """Integral of rho |u| [kg m/s], the scale for changes of momentum."""
        ns, Q = self.flow.ns, self.flow.block.interior("Q")
        return float(self._integrals([(((Q[ns : ns + 3] ** 2).sum(0)) ** 0.5 * Q[:ns].sum(0))])[0])

    def passed(self) -> np.ndarray:
        """What has come in through the sides since the start: species, momentum, energy."""
        mine = np.zeros(self.flow.ns + 4)
        for side in self.flow.sides:
            mine += side.passed()
        return self.before + self.flow.ranks.total(mine)

    def _integrals(self, densities) -> np.ndarray:
        flow = self.flow
        volume = float(np.prod(flow.case.dx[: flow.dimensions]))
        return volume * flow.ranks.total([float(density.sum()) for density in densities])
