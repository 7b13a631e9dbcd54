"""Fluxes through the faces of a block: convective, viscous."""

import numpy as np


class Fluxes:
    """Launches of kernels/convective.h and viscous.h. bind(name, **renamed): a stencil kernel over the block."""

    def __init__(self, block, bind, scheme, exchange):
        self.block, self.frame, self.exchange = block, block.frame, exchange
        numerics = block.case.numerics
        self._inv_threshold = 1 / numerics["threshold"]
        self._convective = bind("convective")
        if scheme.viscous:
            self._viscous = bind("viscous")
        # The limiter looks at cells from which less than half of a species may leave in a step: at any one face no more
        # than a part of that. Viscous fluxes count 1.5 times (kernels/limiter.h). Around an axis a face's area over a
        # cell's volume is up to 2/width.
        widths = [float(line.widths(np.arange(n)).min()) for line, n in zip(block.case.lines, block.case.cells)]
        if block.case.axisymmetric:
            widths[1] /= 2
        self._room = [width / (2 * block.dimensions) for width in widths]

    def convective(self, part="all"):
        """Convective fluxes of faces that do not wait for a message ("inside"), of the others ("rim"), or of all."""
        block = self.block
        with self.frame.timed("flux"):
            numbers = dict(room=self._rooms(0.35), inv_threshold=self._inv_threshold, below=0)
            if part == "all":
                # there are n + 1 faces, numbered by the cell on their high side; each sees 3 cells on both sides
                self._convective(*block.box(), **{"from": 0, "to": block.dimensions, "above": 1}, **numbers)
                return

            for d in range(block.dimensions):
                n, only = block.cells[d], {"from": d, "to": d + 1, "above": 0}
                # whether this direction's fringe is filled before any message leaves
                faces = {"inside": "all", "rim": "none"}[part] if d < self.exchange.first else part
                if n < 6 and faces != "all":
                    faces = {"inside": "none", "rim": "all"}.get(faces, faces)
                faces = {"all": [(0, 1)], "inside": [(3, -2)], "rim": [(0, 3 - n), (n - 2, 1)], "none": []}[faces]
                for low, high in faces:
                    self._convective(*block.box(d, low, high), **only, **numbers)

    def viscous(self):
        """Viscous fluxes, of one face more on both sides: their divergence is of fourth order."""
        block = self.block
        with self.frame.timed("viscous"):
            whole = {"from": 0, "to": block.dimensions, "below": 1, "above": 2}
            self._viscous(*block.box(), inv_dx=block.inv_dx, room=self._rooms(0.14 / 1.5), **whole)

    def _rooms(self, part):
        return [part * room for room in self._room]
