"""Block: the cells of a rank, and the arrays over them. x is fastest, the fringe is included."""

import os

import numpy as np

from .case import AXES, FRINGE
from .errors import wanted


class Block:
    """Cells of this rank, with a fringe of FRINGE cells in each direction of the flow.

    cells, extent: without and with the fringe, in x, y, z. span: the extent in memory, where a row of cells in x takes
    whole lines of it and its own cells begin with one. stride: of x, y, z in cells. arrays: name -> (rows, at least
    `size` points), of the backend. frame: the layer (layer.py).
    """

    def __init__(self, case, ranks, frame):
        self.case, self.ranks, self.frame, self.backend = case, ranks, frame, frame.backend
        self.dimensions, self.inv_dx = case.dimensions, [1 / h for h in case.dx]  # NaN where cells differ
        self.fringe = tuple(FRINGE if d < case.dimensions else 0 for d in range(3))
        self.cells = ranks.cells
        self.extent = tuple(n + 2 * f for n, f in zip(self.cells, self.fringe))
        line = self.backend.line
        self.span = (-(-self.extent[0] // line) * line, *self.extent[1:])
        self._lead = -self.fringe[0] % line
        self.size = int(np.prod(self.span))
        self.stride = (1, self.span[0], self.span[0] * self.span[1])
        self.arrays = {}

    def allocate(self, rows):
        """Arrays of so many rows, by name. CaseError where the block takes more memory than the machine has: the system
        would end the process without a word."""
        need = 8 * sum(rows.values()) * self.size / 2**30
        have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        size = " x ".join(map(str, self.cells[: self.dimensions]))
        wanted(
            self.backend.memory != "host" or need <= have,
            f"[domain] cells: a block of {size} cells takes {need:.3g} GiB, the machine has {have:.3g} GiB: more "
            "ranks, or fewer cells.",
        )

        wanted(self.size < 2**31 - 64, f"[domain] cells: a block of {size} cells; wanted below 2^31: more ranks.")
        if self.case.stretched:
            self._metrics()

        for name, count in rows.items():
            # the last pack reads beyond the last cell: there is room, and finite numbers
            whole = self.backend.empty((count, self.backend.pad(self.size + self._lead + 64)))
            whole[...] = 1.0
            self.arrays[name] = whole[:, self._lead :]

    def _metrics(self):
        """1/widths and 1/spacings along each direction, fringe included; what packs read beyond them is finite."""
        for d in range(3):
            number = self.ranks.first[d] + np.arange(-self.fringe[d], self.cells[d] + self.fringe[d])
            line = self.case.lines[d]
            for name, values in (("width", line.widths(number)), ("apart", line.apart(number))):
                padded = np.concatenate([1 / values, np.ones(64)])
                self.arrays[f"inv_{name}_{AXES[d]}"] = self.backend.from_host(padded)
        if self.case.axisymmetric:
            number = self.ranks.first[1] + np.arange(-FRINGE, self.cells[1] + FRINGE + 1)
            line = self.case.lines[1]
            self.arrays["radius_y"] = self.backend.from_host(line.low_faces(number))
            self.arrays["centre_y"] = self.backend.from_host(line.centres(number))
            self.arrays["inv_ring_y"] = self.backend.from_host(self._inv_ring(number))

    # ---- where things are
    def box(self, d=None, low=0, high=0):
        """lo, hi of the block's cells; in direction d moved by low and high."""
        lo, hi = list(self.fringe), [f + n for f, n in zip(self.fringe, self.cells)]
        if d is not None:
            lo[d], hi[d] = lo[d] + low, hi[d] + high
        return lo, hi

    def coordinates(self, fringe=False):
        """Cell centres x, y, z as arrays that broadcast to (nz, ny, nx)."""
        out = []
        for d in range(3):
            f = self.fringe[d] if fringe else 0
            index = self.ranks.first[d] + np.arange(-f, self.cells[d] + f)
            shape = [-1 if axis == 2 - d else 1 for axis in range(3)]
            out.append(self.case.lines[d].centres(index).reshape(shape))

        return out

    def place(self, i, j, k):
        """Numbers of a cell in the whole grid, and its centre [m]."""
        cell = [int(c + f) for c, f in zip((i, j, k), self.ranks.first)]
        return cell, [float(line.centres(c)) for line, c in zip(self.case.lines, cell)]

    def measure(self, directions, radius=1.0):
        """Area or volume of the cells in these directions, of the block's own cells: one number where all are the same,
        else an array (..., n) with the last direction first. Around an axis of whole rings; radius: of the side,
        where y is not among the directions."""
        case = self.case
        if not case.stretched:
            return float(np.prod([case.dx[d] for d in directions]))

        size = np.ones([self.cells[d] for d in directions[::-1]])
        for axis, d in enumerate(directions[::-1]):
            number = self.ranks.first[d] + np.arange(self.cells[d])
            widths = 1 / self._inv_ring(number) if case.axisymmetric and d == 1 else case.lines[d].widths(number)
            size = size * widths.reshape([-1 if other == axis else 1 for other in range(len(directions))])

        if case.axisymmetric:
            size = size * (2 * np.pi * (1.0 if 1 in directions else radius))

        return size

    def _inv_ring(self, number):
        """2 over the difference of the squares of the faces' radii [1/m2]; of cells in the fringe a finite number."""
        low, high = (self.case.lines[1].low_faces(number + side) for side in (0, 1))
        ring = 0.5 * (high - low) * (high + low)
        return 1 / np.where(ring == 0, 1.0, ring)

    # ---- arrays
    def view(self, name):
        """An array as (rows, nz, ny, nx), fringe included."""
        nx, ny, nz = self.span
        array = self.arrays[name]
        view = (array if array.ndim == 2 else array[None])[:, : self.size]
        return view.reshape((view.shape[0], nz, ny, nx))[..., : self.extent[0]]

    def interior(self, name):
        """The block's own cells of an array, as (rows, nz, ny, nx)."""
        cut = tuple(slice(f, f + n) for f, n in zip(self.fringe[::-1], self.cells[::-1]))
        return self.view(name)[(slice(None), *cut)]

    def host(self, values) -> np.ndarray:
        return np.array(self.backend.to_host(values), order="C")

    def put(self, view, values):
        view[...] = self.backend.from_host(np.ascontiguousarray(values))
