"""What a run leaves: restart files, field files with XDMF for ParaView, pictures, an animated GIF."""

import gc
import importlib
import io
import os
import pathlib

import numpy as np

from .errors import CaseError, OutputError, wanted

FORMAT = 2
RESTART, BEFORE = "restart.h5", "restart-before.h5"  # the last two
RESULTS = (
    RESTART,
    BEFORE,
    "fields-????????.h5",
    "fields.xmf",
    "mesh.h5",
    "frame-????????.png",
    "frames.gif",
    "history.h5",
    "averages.h5",
    "averages.xmf",
)


def _needed(package, what):
    """A package that only output takes. CaseError where it is not installed."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise CaseError(f"{what} need {package} ({error}): install the project's extra 'solver'.") from None


def _h5py():
    return _needed("h5py", "restart and field files")


def pyplot():
    _needed("matplotlib", "pictures").use("Agg")
    return importlib.import_module("matplotlib.pyplot")


def collect(flow, block, rows=()):
    """Yield (first, array) of every rank's `block` (..., nz, ny, nx) on rank 0, one at a time; nothing on the
    others."""
    ranks = flow.ranks
    if ranks.rank:
        ranks.comm.Send(np.ascontiguousarray(block), 0, tag=99)
        return
    yield ranks.first, block
    for other in range(1, ranks.size):
        first, count = ranks.block_of(other, flow.case.cells)
        into = np.empty((*rows, *tuple(count)[::-1]))
        ranks.comm.Recv(into, other, tag=99)
        yield first, into


def whole(flow, block):
    """The field (..., nz, ny, nx) of the whole domain on rank 0, None elsewhere."""
    rows = block.shape[:-3]
    out = np.empty((*rows, *flow.case.cells[::-1])) if flow.ranks.rank == 0 else None
    for first, part in collect(flow, block, rows):
        out[(..., *_box(first, part))] = part
    return out


def _box(first, part):
    return tuple(slice(f, f + n) for f, n in zip(tuple(first)[::-1], part.shape[-3:]))


def write_file(flow, path, blocks, attributes, line=False, **how):
    """An HDF5 file of the whole domain from pairs (name, this rank's block (..., nz, ny, nx)), each with its check sums
    and type (`how`); line: as a line of numbers, x fastest. The file takes its name only when it is whole. OutputError
    where it cannot be written.

    All ranks write together where h5py has parallel HDF5. Else rank 0 writes what the others send.
    """
    together = flow.ranks.size > 1 and _h5py().get_config().mpi
    (_write_together if together else _write_alone)(flow, path, blocks, attributes, line, **how)


def _write_alone(flow, path, blocks, attributes, line, **how):
    """HDF5 makes the file in memory, and Python writes it: a disk that is full ends HDF5 in the middle of its own
    structures, from which it does not recover."""
    file = None
    if flow.ranks.rank == 0:
        file = _h5py().File("image", "w", driver="core", backing_store=False)
        file.attrs.update(attributes)
    for name, block in blocks:
        shape = (*block.shape[:-3], *flow.case.cells[::-1])
        if line:
            values = whole(flow, block)
            file.create_dataset(name, data=values.ravel(), **how) if file else None
            continue
        target = file.create_dataset(name, shape, **how) if file else None
        for first, values in collect(flow, block, shape[:-3]):
            target[(..., *_box(first, values))] = values
    if file:
        save(path, _closed(file))


def _write_together(flow, path, blocks, attributes, line, **how):
    h5py, ranks, told = _h5py(), flow.ranks, ""
    part, cells = path.with_name(path.name + ".part"), flow.case.cells
    attributes = ranks.everyone(attributes)[0]  # sums could differ in their last bits; a file has one of each
    try:
        if ranks.rank == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        ranks.comm.Barrier()
        with h5py.File(part, "w", driver="mpio", comm=ranks.comm) as file:
            file.attrs.update(attributes)
            for name, block in blocks:
                shape = (*block.shape[:-3], *cells[::-1])
                target = file.create_dataset(name, int(np.prod(shape)) if line else shape, **how)
                with target.collective:  # what check sums ask for
                    if line:
                        _put_line(h5py, target, ranks.first, cells, np.ascontiguousarray(block))
                    else:
                        target[(..., *_box(ranks.first, block))] = block
        if ranks.rank == 0:
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(part, path)
    except (OSError, RuntimeError, ValueError) as error:
        told = getattr(error, "strerror", None) or str(error)
    told = next((t for t in ranks.everyone(told) if t), "")
    if told:
        if ranks.rank == 0 and part.is_file():
            part.unlink()
        raise OutputError(f"'{path}' cannot be written: {told}.")


def _put_line(h5py, target, first, cells, block):
    """A block (nz, ny, nx) to its places in a dataset that has the whole field as a line."""
    (i, j, k), (nx, ny, _), (m, n, planes) = first, cells, block.shape[::-1]
    space = target.id.get_space()
    space.select_none()
    for plane in range(planes):
        start = i + nx * (j + ny * (k + plane))
        space.select_hyperslab((start,), (n,), (nx,), (m,), op=h5py.h5s.SELECT_OR)
    memory, how = h5py.h5s.create_simple((block.size,)), h5py.h5p.create(h5py.h5p.DATASET_XFER)
    how.set_dxpl_mpio(h5py.h5fd.MPIO_COLLECTIVE)
    target.id.write(memory, space, block.ravel(), dxpl=how)


def image(datasets, attributes=()):
    """The bytes of an HDF5 file."""
    file = _h5py().File("image", "w", driver="core", backing_store=False)
    file.attrs.update(dict(attributes))
    for name, values in datasets.items():
        file.create_dataset(name, data=values)
    return _closed(file)


def _closed(file):
    file.flush()
    made = file.id.get_file_image()
    file.close()
    return made


def save(path, data):
    """Bytes to a new file, which then takes its name. OutputError where that cannot be done; what was there stays."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(part, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True) if part.is_file() else None
        raise OutputError(f"'{path}' cannot be written: {error.strerror or error}.") from None


def writes(case) -> bool:
    """Whether this case leaves files (a signal makes it write a restart in any case)."""
    o = case.output
    return any(o[key] for key in ("restart", "fields", "fields_time", "frames", "frames_time", "history", "averages"))


def prepare(flow, folder, continued, overwrite):
    """The folder for the results, made and tried. OutputError where nothing can be written into it, CaseError where it
    holds results of another run, which neither --restart continues nor --overwrite gives up."""
    told = ""
    if flow.ranks.rank == 0:
        there = [p for pattern in RESULTS for p in sorted(folder.glob(pattern))] if folder.is_dir() else []
        if there and not (continued or overwrite):
            more = f" and {len(there) - 1} more" if len(there) > 1 else ""
            told = (
                f"folder '{folder}' has results of an earlier run ({there[0].name}{more}): continue it with --restart, "
                "choose another --folder, or give them up with --overwrite."
            )
        file = next((p for p in (folder, *folder.parents) if p.exists() and not p.is_dir()), None)
        try:
            wanted(file is None, f"folder '{folder}' cannot be written: '{file}' is a file.")
            save(folder / "tried", b"")
            (folder / "tried").unlink()
        except (CaseError, OutputError) as error:
            told = str(error)
    told = flow.ranks.everyone(told)[0]
    if told:
        raise OutputError(told)


# ---------------------------------------------------------------- restart


def write_restart(flow, folder):
    """The state that continues bit by bit on any number of ranks, as restart.h5; the one before it stays, as
    restart-before.h5. FlowError where the state is none: then both stay as they are."""
    flow.check()
    attributes = dict(
        format=FORMAT,
        time=flow.time,
        steps=flow.steps,
        dt=flow.dt,
        species=list(flow.mixture.names),
        cells=flow.case.cells,
        digest=flow.case.digest(),
        start_sums=flow.balance.start,
        passed=flow.balance.passed(),
    )
    blocks = flow.state()
    if flow.averages:
        attributes |= flow.averages.numbers()
        blocks |= flow.averages.state()
    folder = pathlib.Path(folder)
    # with a check sum of each chunk: a damaged file is refused when it is read
    write_file(flow, folder / "restart-new.h5", blocks.items(), attributes, dtype="f8", fletcher32=True)
    if flow.ranks.rank == 0:
        try:
            if (folder / RESTART).is_file():
                os.replace(folder / RESTART, folder / BEFORE)
            os.replace(folder / "restart-new.h5", folder / RESTART)
        except OSError as error:
            raise OutputError(f"'{folder / RESTART}' cannot be written: {error.strerror or error}.") from None


def read_restart(flow, path):
    """Set `flow` to the state of a restart file; each rank reads its own block. CaseError where the file is of another
    case."""
    h5py = _h5py()
    try:
        with h5py.File(path, "r") as file:
            U, Q = _read(file, flow, path)
    except CaseError:
        raise
    except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:  # what h5py makes of a damaged file
        raise CaseError(f"restart file '{path}' cannot be read ({error}).") from None
    flow.set_state(U, Q)


def _read(file, flow, path):
    """U and Q of this rank's block; time, steps and sums go to the flow once all of the file has been read."""
    a = file.attrs
    have = a.get("format")
    said = f"it is of format {have}, wanted {FORMAT}" if have else "it is none of this solver"
    wanted(have == FORMAT, f"restart file '{path}' cannot be read: {said}.")
    for key, have, asked, more in (
        ("species", list(a["species"]), list(flow.mixture.names), ""),
        ("cells", [int(n) for n in a["cells"]], list(flow.case.cells), ""),
        ("case", a["digest"], flow.case.digest(), " (mixture, domain, boundaries, transport and scheme count)"),
    ):
        said = f"restart file '{path}' is of another case: {key} {have}, the case has {asked}{more}."
        wanted(have == asked, said)
    box = tuple(slice(f, f + n) for f, n in zip(flow.ranks.first[::-1], flow.block.cells[::-1]))
    part = lambda name: file[name][(slice(None), *box)]
    U, Q = part("U"), part("Q")
    time, steps, dt = float(a["time"]), int(a["steps"]), float(a["dt"])
    start, passed = np.array(a["start_sums"], float), np.array(a["passed"], float)
    balance = flow.balance
    usable = start.shape == balance.sums().shape and passed.shape == balance.before.shape and steps >= 0
    usable = usable and np.isfinite([time, dt, *start, *passed]).all()
    wanted(usable, f"restart file '{path}' cannot be read (step {steps}, time {time}, dt {dt}, sums {start}).")
    flow.time, flow.steps, flow.dt, balance.start, balance.before = time, steps, dt, start, passed
    if flow.averages and "averages_weight" in a:
        flow.averages.set_state({name: part(name) for name in ("mean", "moments")}, a)
    elif flow.averages:
        flow.averages.begin(time)
    return U, Q


# ---------------------------------------------------------------- fields


def output_names(flow):
    return ["rho", *"uvw"[: flow.dimensions], "p", "T", *(f"Y_{n}" for n in flow.mixture.names if flow.ns > 1)]


def earlier(flow, folder, pattern, keep):
    """Files <name>-<step>.<suffix> of a run before this one, by step: those up to a restart's step stay, all others
    go (`prepare` has asked)."""
    if flow.ranks.rank:
        return []
    files = {
        int(p.stem.split("-")[1]): p
        for p in sorted(pathlib.Path(folder).glob(pattern))
        if p.stem.split("-")[1].isdigit()
    }
    for step, _path in list(files.items()):
        if not keep or step > flow.steps:
            files.pop(step).unlink()
    return list(files.values())


def mesh(case):
    """(name of the cells in XDMF, corners (n, 3), the corners of each cell), x fastest."""
    d = case.dimensions
    lines = [line.faces() for line in case.lines[:d]]
    grid = np.meshgrid(*lines[::-1], indexing="ij")[::-1]
    points = np.stack([*(g.ravel() for g in grid), *[np.zeros(grid[0].size)] * (3 - d)], 1)
    number = np.arange(len(points)).reshape(grid[0].shape)
    square = lambda a: [a[..., :-1, :-1], a[..., :-1, 1:], a[..., 1:, 1:], a[..., 1:, :-1]]  # around, as XDMF wants it
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
                with _h5py().File(path) as file:
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
    """averages.h5 and averages.xmf: what is known so far (averages.py has the names)."""

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


# ---------------------------------------------------------------- history


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
                with _h5py().File(self.path) as file:
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


# ---------------------------------------------------------------- pictures

LABELS = {
    "rho": "density [kg/m$^3$]",
    "T": "temperature [K]",
    "p": "pressure [MPa]",
    "u": "u [m/s]",
    "v": "v [m/s]",
    "w": "w [m/s]",
    "mach": "Mach number",
}
COLOURS = {"rho": "viridis", "T": "inferno", "p": "cividis", "u": "RdBu_r", "v": "RdBu_r", "w": "RdBu_r"}


def label(name):
    return LABELS.get(name, f"mass fraction {name[2:]}" if name.startswith("Y_") else name)


class Frames:
    """PNG frames of some fields (1-D: lines; 2-D: maps; 3-D: the middle plane in z) and, at the end, one animated GIF.
    A frame's limits are those of its fields, or fixed by the case (`frame_limits`; p in MPa)."""

    def __init__(self, flow, folder, given, continued):
        self.folder, self.names, self.milliseconds = pathlib.Path(folder), given["frame"], given["frame_ms"]
        self.paths = earlier(flow, folder, "frame-????????.png", continued)
        self._limits = dict(given["frame_limits"])
        for name, pair in self._limits.items():
            wanted(name in self.names, f"[output] frame_limits: '{name}' is not drawn; frame = {self.names}.")
            fit = isinstance(pair, list) and len(pair) == 2 and all(isinstance(v, (int, float)) for v in pair)
            wanted(fit and pair[0] < pair[1], f"[output] frame_limits {name} = {pair!r}; wanted [lowest, highest].")

    def write(self, flow):
        fields = {n: whole(flow, flow.field(n)) for n in self.names}
        if flow.ranks.rank:
            return
        plt, case, names = pyplot(), flow.case, self.names
        planes = {n: fields[n][case.cells[2] // 2] * (1e-6 if n == "p" else 1.0) for n in names}
        limits = {n: self._limits.get(n) or _limits(plane) for n, plane in planes.items()}
        if flow.dimensions == 1:
            x = case.lines[0].centres(np.arange(case.cells[0]))
            figure, axes = plt.subplots(len(names), 1, figsize=(7, 1.9 * len(names) + 0.6), sharex=True, squeeze=False)
            for ax, n in zip(axes[:, 0], names):
                values, (low, high) = planes[n][0], limits[n]
                ax.plot(x, values, lw=1.3)
                ax.set(ylim=(min(low, values.min()), max(high, values.max())), ylabel=label(n))
                ax.grid(alpha=0.3)
            axes[-1, 0].set_xlabel("x [m]")
        else:
            wide, high = (case.upper[d] - case.lower[d] for d in (0, 1))
            shape = high / wide
            columns = 1 if shape < 0.7 else len(names)
            rows = -(-len(names) // columns)
            width = 7.5 if columns == 1 else 4.6 * columns
            height = rows * (width / columns * 0.76 * shape + 0.3) + 0.6
            figure, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False, layout="constrained")
            by, unit = (1e3, "mm") if max(wide, high) < 0.5 else (1.0, "m")
            for ax, n in zip(axes.flat, names):
                image = (
                    _drawn(ax, case, by, planes[n], limits[n], n)
                    if case.stretched
                    else ax.imshow(
                        planes[n],
                        origin="lower",
                        extent=[by * v for d in (0, 1) for v in (case.lower[d], case.upper[d])],
                        cmap=COLOURS.get(n, "magma"),
                        vmin=limits[n][0],
                        vmax=limits[n][1],
                        interpolation="bilinear",
                        aspect="equal",
                    )
                )
                figure.colorbar(image, cax=ax.inset_axes([1.015, 0, 0.02, 1]), label=label(n))
                ax.set_ylabel(f"y [{unit}]")
            for ax in axes[:-1].flat:
                ax.tick_params(labelbottom=False)
            for ax in axes[-1]:
                ax.set_xlabel(f"x [{unit}]")
        figure.suptitle(f"{case.title}    t = {flow.time * 1e3:.4g} ms", fontsize=10)
        if flow.dimensions == 1:
            figure.tight_layout()
        path, picture = self.folder / f"frame-{flow.steps:08d}.png", io.BytesIO()
        figure.savefig(picture, dpi=110)
        plt.close(figure)
        save(path, picture.getvalue())
        gc.collect()  # a figure refers to itself in circles: some 40 MiB would be waiting for this
        self.paths = [p for p in self.paths if p != path] + [path]

    def animate(self):
        """frames.gif of what was drawn; returns its path, None when there were fewer than two frames."""
        if len(self.paths) < 2:
            return None
        from PIL import Image

        images = [Image.open(p).convert("RGB").quantize(128, dither=Image.Dither.NONE) for p in self.paths]
        images = [im if im.size == images[0].size else im.resize(images[0].size) for im in images]
        path, film = self.folder / "frames.gif", io.BytesIO()
        how = dict(save_all=True, append_images=images[1:], duration=int(self.milliseconds), loop=0, optimize=False)
        images[0].save(film, "GIF", **how)
        save(path, film.getvalue())
        return path


def _drawn(ax, case, by, plane, limits, name):
    """A map of cells of many sizes."""
    ax.set_aspect("equal")
    x, y = (by * line.faces() for line in case.lines[:2])
    return ax.pcolormesh(x, y, plane, cmap=COLOURS.get(name, "magma"), vmin=limits[0], vmax=limits[1])


def _limits(values):
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-6 * max(abs(low), abs(high), 1e-30):
        pad = 0.01 * max(abs(low), abs(high), 1e-3)
        return low - pad, high + pad
    return low, high
