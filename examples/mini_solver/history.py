"""History: integrals and probes, a row every so many steps."""

import pathlib

import numpy as np

from .errors import CaseError, wanted
from .fields import output_names
from .files import hdf5, image, save


class History:
    """history.h5: a row every so many steps. time, step, kinetic energy [J], enstrophy [1/s2 x volume], mass of each
    species [kg], momentum, total energy, what of these came in through the sides; values of the fields at the probes
    (rows, probes). Integrals are per metre of the directions that the flow does not have."""

    def __init__(self, flow, folder, continued):
        self.path, self.rows = pathlib.Path(folder) / "history.h5", {}
        given = flow.case.output

        self.cells = [self._cell(flow.case, point) for point in given["probes"]]
        if continued and flow.ranks.rank == 0 and self.path.is_file():
            try:
                with hdf5().File(self.path) as file:
                    keep = file["step"][:] <= flow.steps
                    self.rows = {name: list(data[:][keep]) for name, data in file.items()}
            except (OSError, KeyError) as error:
                raise CaseError(f"'{self.path}', of the run that is continued, cannot be read ({error}).") from None

        self.rows = flow.ranks.everyone(self.rows)[0]  # all have to agree on which rows are still to be made

    @staticmethod
    def _cell(case, point):
        """Numbers of the cell in which a point lies."""
        fits = (
            isinstance(point, list)
            and len(point) == case.dimensions
            and all(isinstance(v, (int, float)) for v in point)
        )

        inside = fits and all(a <= v <= b for a, v, b in zip(case.lower, point, case.upper))
        wanted(inside, f"[output] probes: {point!r}; wanted {case.dimensions} numbers, a point in the domain.")

        return [line.cell(v) for line, v in zip(case.lines, point)] + [0] * (3 - case.dimensions)

    def add(self, flow):
        ns, sums = flow.ns, flow.sums()
        kinetic, enstrophy = flow.balance.motion()
        row = dict(time=flow.time, step=flow.steps, kinetic_energy=kinetic, enstrophy=enstrophy, mass=sums[:ns])
        row |= dict(momentum=sums[ns : ns + 3], energy=sums[ns + 3], passed=flow.balance.passed())
        if self.cells:
            row |= {f"probe_{name}": values for name, values in self._probed(flow).items()}
        for name, value in row.items():
            self.rows.setdefault(name, []).append(value)

    def _probed(self, flow):
        """name -> values at the probes. Of a block on a device only their cells come to the host."""
        ns, block = flow.ns, flow.block
        cells, Q, T = np.zeros((len(self.cells), ns + 5)), block.interior("Q"), block.interior("T")
        for n, cell in enumerate(self.cells):
            i, j, k = (c - f for c, f in zip(cell, flow.ranks.first))
            if all(0 <= c < m for c, m in zip((i, j, k), block.cells)):
                cells[n] = *block.host(Q[: ns + 4, k, j, i]), *block.host(T[:, k, j, i])

        cells = flow.ranks.total(cells).T  # a cell is one rank's: the others add 0
        rho = cells[:ns].sum(0)
        known = dict(zip(("u", "v", "w", "p", "T"), cells[ns:]), rho=rho)
        known |= {f"Y_{name}": row / rho for name, row in zip(flow.mixture.names, cells)}

        return {name: known[name] for name in output_names(flow)}

    def write(self, flow):
        if flow.ranks.rank == 0 and self.rows:
            told = dict(species=list(flow.mixture.names), cells=np.array(self.cells, int).reshape(-1, 3))
            save(self.path, image({name: np.array(rows) for name, rows in self.rows.items()}, told))
