"""Grid: where the cells of one direction lie. They are of one size, or stretched by a formula."""

import numpy as np

from .errors import wanted

CENTRAL = {6: (3 / 4, -3 / 20, 1 / 60), 4: (2 / 3, -1 / 12)}  # of differences of cells 1, 2, 3 apart


class Line:
    """Cells 0 to count - 1 of one direction, from `lower` to `upper` [m]; numbers below and above are the fringe's.

    formula: g(s) for s from 0 to 1, an array to an array, which is scaled to the domain; None: cells of one size.
    Beyond a side that is not periodic the grid is its own mirror. order: of the central differences that the scheme
    takes; the width of a cell is this difference of the positions, so that what is linear in x has the right slope
    everywhere.
    Raises CaseError, with the name of the direction, for a formula that does not rise.
    """

    def __init__(self, lower, upper, count, formula=None, periodic=False, order=6, name=""):
        self.lower, self.upper, self.count, self._formula, self._periodic = lower, upper, count, formula, periodic
        self._central = CENTRAL[order]
        self.dx = (upper - lower) / count if formula is None else np.nan
        if formula is None:
            return
        ends = formula(np.array([0.0, 1.0]))
        said = f"[domain] stretch {name}: the formula falls from {ends[0]:g} at s = 0 to {ends[1]:g} at s = 1"
        wanted(ends[0] < ends[1], f"{said}; wanted one that rises.")

        self._ends = ends
        number = np.arange(count)
        for what, steps in (("width", self.widths(number)), ("distance", self.apart(np.arange(count + 1)))):
            worst = int(np.argmin(steps))
            said = f"[domain] stretch {name}: the {what} of cell {worst} would be {steps[worst]:g} m"
            wanted(steps[worst] > 0, f"{said}; wanted a formula that rises, and smoothly.")

    @property
    def stretched(self) -> bool:
        return self._formula is not None

    def _inner(self, s):
        low, high = self._ends
        return self.lower + (self.upper - self.lower) * ((self._formula(s) - low) / (high - low))

    def _at(self, s):
        """Positions [m] of s, 0 at the low and 1 at the high side."""
        if self._periodic:
            turns = np.floor(s)
            return self._inner(s - turns) + turns * (self.upper - self.lower)

        inside = self._inner(np.where(s < 0, -s, np.where(s > 1, 2 - s, s)))
        return np.where(s < 0, 2 * self.lower - inside, np.where(s > 1, 2 * self.upper - inside, inside))

    def centres(self, number):
        """Centres [m] of cells: of those numbers in s, not halfway between their faces."""
        number = np.asarray(number)
        if not self.stretched:
            return self.lower + (number + 0.5) * self.dx
        return self._at((number + 0.5) / self.count)

    def faces(self):
        """The count + 1 faces [m]."""
        if not self.stretched:
            return np.linspace(self.lower, self.upper, self.count + 1)
        return self.low_faces(np.arange(self.count + 1))

    def low_faces(self, number):
        """Faces on the low side of cells [m]."""
        number = np.asarray(number)
        return self._at(number / self.count) if self.stretched else self.lower + number * self.dx

    def widths(self, number):
        """Widths by which differences of fluxes are divided [m]. Their sum is the length of the domain."""
        number = np.asarray(number)
        if not self.stretched:
            return np.full(number.shape, self.dx)
        steps = enumerate(self._central, 1)

        return sum(a * (self.centres(number + n) - self.centres(number - n)) for n, a in steps)

    def apart(self, number):
        """Spacing [m] at the faces on the low side of cells, as the fourth-order slope at a face takes it."""
        number = np.asarray(number)
        if not self.stretched:
            return np.full(number.shape, self.dx)
        x = self.centres

        return (27 * (x(number) - x(number - 1)) - (x(number + 1) - x(number - 2))) / 24

    def cell(self, position) -> int:
        """The cell in which a position lies."""
        if not self.stretched:
            return min(int((position - self.lower) / self.dx), self.count - 1)
        return int(np.clip(np.searchsorted(self.faces(), position, "right") - 1, 0, self.count - 1))
