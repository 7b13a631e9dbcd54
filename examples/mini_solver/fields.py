"""Fields: files of them, and of averages, with the mesh and an index in XDMF 3, which ParaView, vtk and meshio read."""

import pathlib

import numpy as np

from .errors import CaseError
from .files import hdf5, image, save, write_file
from .results import earlier


def output_names(flow):
    return ["rho", *"uvw"[: flow.dimensions], "p", "T", *(f"Y_{n}" for n in flow.mixture.names if flow.ns > 1)]


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
    """Files <name>.h5 of fields (each a line of numbers, x fastest), with mesh.h5 and an index in XDMF 3, which
    ParaView, vtk and meshio read."""

    def __init__(self, flow, folder, index):
        self.folder, self.index, self._mesh = pathlib.Path(folder), index, None
        self._type, self._bytes = ("f8", 8) if flow.case.output["precision"] == "double" else ("f4", 4)

    def save(self, flow, name, fields):
        """fields: name -> this rank's block."""
        told = dict(time=flow.time, steps=flow.steps, cells=flow.case.cells)
        write_file(flow, self.folder / name, fields.items(), told, line=True, dtype=self._type)

        if self._mesh is None and flow.ranks.rank == 0:
            kind, points, corners = mesh(flow.case)
            save(self.folder / "mesh.h5", image({"points": points, "cells": corners.astype("i8")}))
            self._mesh = f"""<Topology TopologyType="{kind}" NumberOfElements="{len(corners)}" NodesPerElement="{corners.shape[1]}">
<DataItem Format="HDF" NumberType="Int" Precision="8" Dimensions="{len(corners)} {corners.shape[1]}">mesh.h5:/cells</DataItem>
</Topology><Geometry GeometryType="XYZ">
<DataItem Format="HDF" NumberType="Float" Precision="8" Dimensions="{len(points)} 3">mesh.h5:/points</DataItem></Geometry>
"""  # noqa: E501

    def save_index(self, files, names, cells):
        """files: (time, name) of each."""
        grids = []
        for time, file in files:
            fields = "".join(
                f'<Attribute Name="{f}" AttributeType="Scalar" Center="Cell"><DataItem Format="HDF" NumberType="Float" '
                f'Precision="{self._bytes}" Dimensions="{cells}">{file}:/{f}</DataItem></Attribute>\n'
                for f in names
            )
            grids.append(
                f'<Grid Name="block" GridType="Uniform"><Time Value="{time:.12g}"/>\n{self._mesh}{fields}</Grid>'
            )

        text = (
            '<?xml version="1.0"?>\n<Xdmf Version="3.0"><Domain><Grid Name="run" GridType="Collection" '
            'CollectionType="Temporal">\n' + "\n".join(grids) + "\n</Grid></Domain></Xdmf>\n"
        )
        save(self.folder / self.index, text.encode())


class FieldFiles(Xdmf):
    """fields-<step>.h5 and one fields.xmf over all of them."""

    def __init__(self, flow, folder, continued):
        super().__init__(flow, folder, "fields.xmf")

        self.written = []
        for path in earlier(flow, folder, "fields-????????.h5", continued):
            try:
                with hdf5().File(path) as file:
                    self.written.append((float(file.attrs["time"]), path.name))
            except (OSError, KeyError) as error:
                raise CaseError(f"'{path}', of the run that is continued, cannot be read ({error}).") from None

    def write(self, flow):
        name = f"fields-{flow.steps:08d}.h5"
        fields = {field: flow.field(field) for field in output_names(flow)}
        self.save(flow, name, fields)
        if flow.ranks.rank:
            return
        self.written = [w for w in self.written if w[1] != name] + [(flow.time, name)]
        self.save_index(self.written, list(fields), int(np.prod(flow.case.cells)))


class AverageFile(Xdmf):
    """averages.h5 and averages.xmf: averages up to now (names in averages.py)."""

    def __init__(self, flow, folder):
        super().__init__(flow, folder, "averages.xmf")
        self.path = self.folder / "averages.h5"

    def write(self, flow):
        """Nothing where no time has passed since averages began. Nothing of a flow that has failed."""
        if not flow.averages.weight:
            return
        flow.check()
        fields = flow.averages.fields(output_names(flow))
        self.save(flow, self.path.name, fields)
        if flow.ranks.rank == 0:
            self.save_index([(flow.time, self.path.name)], list(fields), int(np.prod(flow.case.cells)))
