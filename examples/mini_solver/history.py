"""History: integrals and probes, a row every so many steps."""

import pathlib

import numpy as np

from .case import AXES
from .errors import CaseError, wanted
from .fields import output_names, unit
from .files import hdf5, image, save


class History:
    """history.h5: a row every so many steps, and a row of the last state.

    time, step, kinetic energy, enstrophy, mass of each species, momentum, total energy, the inflow of mass, momentum
    and energy through the sides (`passed`); values of the fields at the probes (rows, probes). Each has its unit as an
    attribute, and the names of its columns. Integrals are per metre of the directions that the flow does not have.
    """

    def __init__(self, files, folder, continued):
        flow, self.files = files.flow, files
        self.path, self.rows = pathlib.Path(folder) / "history.h5", {}
        self.points = flow.case.output["probes"]
        self.cells = [self._cell(flow.case, point) for point in self.points]

        if continued and flow.ranks.rank == 0 and self.path.is_file():
            self.rows = self._read(flow.steps)
        self.rows = flow.ranks.everyone(self.rows)[0]  # all have to agree on which rows are still to be made

    def _read(self, steps) -> dict:
        """The rows of the run that is continued, up to this step. Raises CaseError for a damaged file."""
        try:
            with hdf5().File(self.path) as file:
                keep = file["step"][:] <= steps
                return {name: list(data[:][keep]) for name, data in file.items()}
        except (OSError, KeyError) as error:
            raise CaseError(f"'{self.path}', of the run that is continued, cannot be read ({error}).") from None

    @staticmethod
    def _cell(case, point):
        """Indices of the cell in which a point lies."""
        fits = (
            isinstance(point, list)
            and len(point) == case.dimensions
            and all(isinstance(v, (int, float)) for v in point)
        )

        inside = fits and all(a <= v <= b for a, v, b in zip(case.lower, point, case.upper))
        wanted(inside, f"[output] probes: {point!r}; wanted {case.dimensions} numbers, a point in the domain.")

        return [line.cell(v) for line, v in zip(case.lines, point)] + [0] * (3 - case.dimensions)

    def has(self, step) -> bool:
        """Whether there is a row of this step."""
        return step in self.rows.get("step", ())

    def add(self, flow):
        """Add a row of the present state. Collective."""
        ns, sums = flow.ns, flow.sums()
        kinetic, enstrophy = flow.balance.motion()

        row = dict(time=flow.time, step=flow.steps, kinetic_energy=kinetic, enstrophy=enstrophy, mass=sums[:ns])
        row |= dict(momentum=sums[ns : ns + 3], energy=sums[ns + 3], passed=flow.balance.passed())
        if self.cells:
            row |= {f"probe_{name}": values for name, values in self._probed(flow).items()}

        self._append(row)

    def _append(self, row):
        """A row more. A run that goes on may have other quantities: NaN where a row has no value."""
        before = len(self.rows.get("step", ()))
        for name, value in row.items():
            self.rows.setdefault(name, [np.full(np.shape(value), np.nan)] * before).append(value)
        for name in self.rows.keys() - row.keys():
            self.rows[name].append(np.full(np.shape(self.rows[name][0]), np.nan))

    def _probed(self, flow):
        """{name: values at the probes}. From a device only the cells of the probes come to the host."""
        ns, block, asked = flow.ns, flow.block, flow.case.output["quantities"]
        held = [name for name in asked if flow.holds(name)]  # as the flow has them: viscosity may be held constant
        if flow.scheme.phases:
            held.append("e_vol")

        cells = self._cells_of(
            flow, [block.interior("Q")[: ns + 4], *(block.interior(name)[:1] for name in ["T", *held])]
        )
        rho = cells[:ns].sum(0)
        known = dict(zip(("u", "v", "w", "p", "T", *held), cells[ns:]), rho=rho)
        known |= {f"Y_{name}": row / rho for name, row in zip(flow.mixture.names, cells)}

        others = [name for name in asked if name not in known]
        if others:
            state = known | {"Y": cells[:ns] / rho, "e": known.get("e_vol", 0.0) / rho}
            given = {name: state[name] for name in flow.quantities.given}
            known |= flow.quantities.values(others, given, "cpu")

        return {name: known[name] for name in [*output_names(flow), *asked]}

    def _cells_of(self, flow, arrays) -> np.ndarray:
        """(rows of all arrays, probes) on the host, on every rank. arrays: (rows, nz, ny, nx) of this rank's block."""
        block = flow.block
        cells = np.zeros((len(self.cells), sum(len(rows) for rows in arrays)))

        for n, cell in enumerate(self.cells):
            i, j, k = (c - f for c, f in zip(cell, flow.ranks.first))
            if all(0 <= c < m for c, m in zip((i, j, k), block.cells)):
                cells[n] = np.concatenate([block.host(rows[:, k, j, i]) for rows in arrays])

        return flow.ranks.total(cells).T  # a cell belongs to one rank; the others add 0

    def write(self, flow):
        """Write all rows."""
        if flow.ranks.rank == 0 and self.rows:
            attributes = dict(species=list(flow.mixture.names), cells=np.array(self.cells, int).reshape(-1, 3))
            rows = {name: np.array(values) for name, values in self.rows.items()}
            self.files.do(save, self.path, image(rows, attributes, self._notes(flow)))

    def _notes(self, flow) -> dict:
        """{dataset: its unit, and the names of its columns}."""
        case, species = flow.case, list(flow.mixture.names)
        per = "" if case.axisymmetric else ("", "/m", "/m2")[3 - case.dimensions]
        mass, momentum, energy = f"kg{per}", f"kg m/s{per}", f"J{per}"

        passed = [f"mass of {name}" for name in species] + [f"momentum in {axis}" for axis in AXES] + ["energy"]
        notes = {
            "time": {"units": "s"},
            "step": {"units": "1"},
            "kinetic_energy": {"units": energy},
            "enstrophy": {"units": f"m3/s2{per}"},
            "mass": {"units": mass, "columns": species},
            "momentum": {"units": momentum, "columns": list(AXES)},
            "energy": {"units": energy},
            "passed": {"units": [mass] * len(species) + [momentum] * 3 + [energy], "columns": passed},
        }

        points = [", ".join(f"{x:g}" for x in point) for point in self.points]
        for name in [*output_names(flow), *case.output["quantities"]]:
            notes[f"probe_{name}"] = {"units": unit(name), "columns": [f"({point}) m" for point in points]}

        return notes
