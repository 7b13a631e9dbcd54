"""Fluxes through the faces of a block: sensor, convective, viscous."""

from .case import AXES


class Fluxes:
    """Launches of kernels/convective.h and viscous.h. bind(name, **renamed): a stencil kernel over the block."""

    def __init__(self, block, bind, scheme, timers, exchange):
        self.block, self.timers, self.exchange = block, timers, exchange
        a, directions = block.arrays, range(block.dimensions)
        numerics = block.case.numerics
        self._threshold = 1 / numerics["threshold"]
        self._sensor = bind("sensor") if numerics["dissipation"] == "sensor" else None
        self._convective = [bind("convective", flux=a[f"flux_{AXES[d]}"]) for d in directions]
        if scheme.viscous:
            self._viscous = [bind("viscous", viscous_flux=a[f"viscous_{AXES[d]}"]) for d in directions]

    def convective(self, part="all"):
        """Of the faces that do not wait for a message ("inside"), of the others ("rim"), or of all."""
        with self.timers.timed("flux"):
            for d in range(self.block.dimensions):
                n = self.block.cells[d]
                # whether this direction's fringe is filled before any message leaves
                early = part != "all" and d < self.exchange.first
                cells = faces = {"inside": "all", "rim": "none"}[part] if early else part
                if n < 6 and faces != "all":
                    faces = {"inside": "none", "rim": "all"}.get(faces, faces)
                # there are n + 1 faces, numbered by the cell on their high side; each sees 3 cells on both sides
                cells = {"all": [(-1, 1)], "inside": [(2, -2)], "rim": [(-1, 2 - n), (n - 2, 1)], "none": []}[cells]
                faces = {"all": [(0, 1)], "inside": [(3, -2)], "rim": [(0, 3 - n), (n - 2, 1)], "none": []}[faces]
                if self._sensor:
                    for low, high in cells:
                        self._sensor(*self.block.box(d, low, high), direction=d, inv_threshold=self._threshold)
                for low, high in faces:
                    self._convective[d](*self.block.box(d, low, high), direction=d)

    def viscous(self):
        """One face more on both sides: their divergence is of fourth order."""
        with self.timers.timed("viscous"):
            for d in range(self.block.dimensions):
                self._viscous[d](*self.block.box(d, -1, 2), direction=d, inv_dx=self.block.inv_dx)
