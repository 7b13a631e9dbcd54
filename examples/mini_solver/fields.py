"""Fields: their names and units; files of fields and of averages, with the mesh and an index in XDMF 3, which ParaView,
pyvista, vtk and meshio read."""

import pathlib

import numpy as np

from .errors import CaseError
from .files import Form, hdf5, image, save
from .properties import AMOUNTS
from .quantities import unit_of
from .results import earlier

VELOCITY = "velocity"  # the field of u, v, w in a file
UNITS = {"rho": "kg/m3", "u": "m/s", "v": "m/s", "w": "m/s", VELOCITY: "m/s", "p": "Pa", "T": "K"}
UNITS |= {"rho_l": "kg/m3", "rho_v": "kg/m3"}
INDEX = {"fields": "fields.xdmf", "averages": "averages.xdmf"}


def output_names(flow) -> list[str]:
    """The fields of history and averages: rho, the velocities that the flow has, p, T, and Y of several species."""
    return ["rho", *"uvw"[: flow.dimensions], "p", "T", *(f"Y_{n}" for n in flow.mixture.names if flow.ns > 1)]


def phase_names(flow) -> list[str]:
    """The fields of vapour and liquid in equilibrium, for files and pictures: shares of the vapour, densities of the
    phases, and how many phases there are."""
    return [*AMOUNTS, "phases_status"] if flow.scheme.phases else []


def unit(name) -> str:
    """The unit of a field, or of its average mean_<name>, rms_<name>, favre_<name>, cov_<name>_<name>."""
    kind, _, rest = name.partition("_")
    if kind == "cov":
        return "m2/s2"
    name = rest if kind in ("mean", "rms", "favre") else name
    return UNITS.get(name) or unit_of(name) or "1"


def mesh(case):
    """(name of the cells in XDMF, corners (n, 3), the corners of each cell), x fastest."""
    d = case.dimensions
    lines = [line.faces() for line in case.lines[:d]]
    grid = np.meshgrid(*lines[::-1], indexing="ij")[::-1]
    points = np.stack([*(g.ravel() for g in grid), *[np.zeros(grid[0].size)] * (3 - d)], 1)
    number = np.arange(len(points)).reshape(grid[0].shape)

    def square(a):
        return [a[..., :-1, :-1], a[..., :-1, 1:], a[..., 1:, 1:], a[..., 1:, :-1]]  # around, as XDMF wants it

    if d == 1:
        return "Polyline", points, np.stack([number[:-1], number[1:]], -1)
    corners = square(number) if d == 2 else [*square(number[:-1]), *square(number[1:])]

    return ("Quadrilateral", "Hexahedron")[d - 2], points, np.stack([c.ravel() for c in corners], -1)


class Xdmf:
    """Files <name>.h5 of fields, each a line of numbers with x fastest; mesh.h5; an index in XDMF 3."""

    def __init__(self, files, folder, index):
        flow, self.files = files.flow, files
        self.folder, self.index, self._mesh = pathlib.Path(folder), index, None
        self._type = np.dtype("f8" if flow.case.output["precision"] == "double" else "f4")
        self.cells = int(np.prod(flow.case.cells))

    def save(self, flow, name, fields):
        """Write a file. fields: {name: block (nz, ny, nx) of this rank, or (3, nz, ny, nx) of a vector}."""
        attributes = dict(time=flow.time, steps=flow.steps, cells=flow.case.cells)
        notes = {field: {"units": unit(field)} for field in fields}
        form = Form(self._type.str, line=True, notes=notes)
        self.files.write(self.folder / name, fields, attributes, form)

        if self._mesh is None and flow.ranks.rank == 0:
            self._mesh = self._save_mesh(flow.case)

    def _save_mesh(self, case) -> str:
        """Write mesh.h5; returns the part of the index about it."""
        kind, points, corners = mesh(case)
        notes = {"points": {"units": "m"}}
        data = image({"points": points, "cells": corners.astype("i8")}, notes=notes)
        self.files.do(save, self.folder / "mesh.h5", data)

        count, corners_each = corners.shape
        return MESH.format(kind=kind, cells=count, corners=corners_each, points=len(points))

    def save_index(self, files):
        """Write the index. files: [(time, file name, {field: (number of its rows, bytes of a number)})]."""
        grids = []
        for time, file, fields in files:
            attributes = ""
            for field, (rows, size) in fields.items():
                kind, shape = ("Scalar", f"{self.cells}") if rows == 1 else ("Vector", f"{self.cells} {rows}")
                attributes += ATTRIBUTE.format(
                    field=field, unit=unit(field), kind=kind, size=size, shape=shape, file=file
                )
            grids.append(GRID.format(time=time, mesh=self._mesh, attributes=attributes))

        self.files.do(save, self.folder / self.index, INDEX_FILE.format(grids="\n".join(grids)).encode())


# The parts of an index. Readers do not look at Unit; meshio wants nothing but the DataItem in an Attribute.
MESH = """<Topology TopologyType="{kind}" NumberOfElements="{cells}" NodesPerElement="{corners}">
<DataItem Format="HDF" NumberType="Int" Precision="8" Dimensions="{cells} {corners}">mesh.h5:/cells</DataItem>
</Topology><Geometry GeometryType="XYZ">
<DataItem Format="HDF" NumberType="Float" Precision="8" Dimensions="{points} 3">mesh.h5:/points</DataItem></Geometry>
"""
ATTRIBUTE = (
    '<Attribute Name="{field}" Unit="{unit}" AttributeType="{kind}" Center="Cell"><DataItem Format="HDF" '
    'NumberType="Float" Precision="{size}" Dimensions="{shape}">{file}:/{field}</DataItem></Attribute>\n'
)
GRID = '<Grid Name="block" GridType="Uniform"><Time Value="{time:.12g}"/>\n{mesh}{attributes}</Grid>'
INDEX_FILE = (
    '<?xml version="1.0"?>\n<Xdmf Version="3.0"><Domain><Grid Name="run" GridType="Collection" '
    'CollectionType="Temporal">\n{grids}\n</Grid></Domain></Xdmf>\n'
)


class FieldFiles(Xdmf):
    """fields-<step>.h5, and fields.xdmf over all of them."""

    def __init__(self, files, folder, continued):
        super().__init__(files, folder, INDEX["fields"])

        self.written = []  # (time, file name, {field: (number of its rows, bytes of a number)})
        for path in earlier(files.flow, folder, "fields-????????.h5", continued):
            try:
                with hdf5().File(path) as file:
                    forms = {name: ((*data.shape, 1)[1], data.dtype.itemsize) for name, data in file.items()}
                    self.written.append((float(file.attrs["time"]), path.name, forms))
            except (OSError, KeyError) as error:
                raise CaseError(f"'{path}', of the run that is continued, cannot be read ({error}).") from None

    def write(self, flow):
        """Write the fields of the present state. Collective."""
        name = f"fields-{flow.steps:08d}.h5"
        fields = flow.fields([*output_names(flow), *"uvw", *phase_names(flow), *flow.case.output["quantities"]])
        fields[VELOCITY] = np.stack([fields.pop(axis) for axis in "uvw"])

        self.save(flow, name, fields)
        if flow.ranks.rank:
            return

        forms = {field: (3 if field == VELOCITY else 1, self._type.itemsize) for field in fields}
        self.written = [w for w in self.written if w[1] != name] + [(flow.time, name, forms)]
        self.save_index(self.written)


class AverageFile(Xdmf):
    """averages.h5 and averages.xdmf: averages up to now (names in averages.py)."""

    def __init__(self, files, folder):
        super().__init__(files, folder, INDEX["averages"])
        self.path = self.folder / "averages.h5"

    def write(self, flow):
        """Write the averages, unless no time has passed since they began. FlowError for a flow that has failed."""
        if not flow.averages.weight:
            return

        flow.check()
        fields = flow.averages.fields(output_names(flow))
        self.save(flow, self.path.name, fields)
        if flow.ranks.rank == 0:
            self.save_index([(flow.time, self.path.name, dict.fromkeys(fields, (1, self._type.itemsize)))])
