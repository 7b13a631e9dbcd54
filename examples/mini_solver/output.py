"""What a run leaves: restart files, field files with XDMF for ParaView, pictures, an animated GIF. Rank 0 writes."""

import gc
import importlib
import os
import pathlib

import numpy as np

from .errors import CaseError, wanted

FORMAT = 1


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


def write_file(flow, path, blocks, attributes, **how):
    """An HDF5 file of the whole domain from pairs (name, this rank's block (..., nz, ny, nx)), each with its check sums
    and type (`how`). The file takes its name only when it is whole."""
    file, part = None, path.with_suffix(".part")
    if flow.ranks.rank == 0:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _h5py().File(part, "w")
        file.attrs.update(attributes)
    for name, block in blocks:
        rows = block.shape[:-3]
        target = file.create_dataset(name, (*rows, *flow.case.cells[::-1]), **how) if file else None
        for first, values in collect(flow, block, rows):
            target[(..., *_box(first, values))] = values
    if file:
        file.close()
        os.replace(part, path)


# ---------------------------------------------------------------- restart


def write_restart(flow, path):
    """The state that continues bit by bit on any number of ranks."""
    attributes = dict(
        format=FORMAT,
        time=flow.time,
        steps=flow.steps,
        dt=flow.dt,
        species=list(flow.mixture.names),
        cells=flow.case.cells,
        digest=flow.case.digest(),
        start_sums=flow.start_sums,
    )
    # with a check sum of each chunk: a damaged file is refused when it is read
    write_file(flow, pathlib.Path(path), flow.state().items(), attributes, dtype="f8", fletcher32=True)


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
    wanted(a.get("format") == FORMAT, f"restart file '{path}': format {a.get('format')}, wanted {FORMAT}.")
    for key, have, asked, more in (
        ("species", list(a["species"]), list(flow.mixture.names), ""),
        ("cells", [int(n) for n in a["cells"]], list(flow.case.cells), ""),
        ("case", a["digest"], flow.case.digest(), " (mixture, domain, boundaries, transport and scheme count)"),
    ):
        said = f"restart file '{path}' is of another case: {key} {have}, the case has {asked}{more}."
        wanted(have == asked, said)
    box = tuple(slice(f, f + n) for f, n in zip(flow.ranks.first[::-1], flow.cells[::-1]))
    U, Q = (file[name][(slice(None), *box)] for name in ("U", "Q"))
    time, steps, dt, sums = float(a["time"]), int(a["steps"]), float(a["dt"]), np.array(a["start_sums"], float)
    usable = sums.shape == flow.start_sums.shape and steps >= 0 and np.isfinite([time, dt, *sums]).all()
    wanted(usable, f"restart file '{path}' cannot be read (step {steps}, time {time}, dt {dt}, sums {sums}).")
    flow.time, flow.steps, flow.dt, flow.start_sums = time, steps, dt, sums
    return U, Q


# ---------------------------------------------------------------- fields


def output_names(flow):
    return ["rho", *"uvw"[: flow.dimensions], "p", "T", *(f"Y_{n}" for n in flow.mixture.names if flow.ns > 1)]


def earlier(flow, folder, pattern, keep):
    """Files <name>-<step>.<suffix> of a run before this one, by step: those up to a restart's step stay, all others
    go."""
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


class FieldFiles:
    """fields-<step>.h5 and one fields.xmf over all of them (XDMF 2, cells on a regular mesh)."""

    def __init__(self, flow, folder, continued):
        self.folder, self.written = pathlib.Path(folder), []
        for path in earlier(flow, folder, "fields-????????.h5", continued):
            with _h5py().File(path) as file:
                self.written.append((float(file.attrs["time"]), path.name))

    def write(self, flow):
        name = f"fields-{flow.steps:08d}.h5"
        blocks = ((field, flow.field(field)) for field in output_names(flow))
        write_file(flow, self.folder / name, blocks, dict(time=flow.time, steps=flow.steps), dtype="f4")
        if flow.ranks.rank == 0:
            self.written = [w for w in self.written if w[1] != name] + [(flow.time, name)]
            self._index(flow)

    def _index(self, flow):
        nz, ny, nx = flow.case.cells[::-1]
        lower, dx = flow.case.lower[::-1], flow.case.dx[::-1]
        grids = []
        for time, name in self.written:
            fields = "".join(
                f'<Attribute Name="{f}" Center="Cell"><DataItem Format="HDF" Precision="4" Dimensions="{nz} {ny} {nx}">'
                f"{name}:/{f}</DataItem></Attribute>\n"
                for f in output_names(flow)
            )
            grids.append(f"""<Grid Name="block"><Time Value="{time:.12g}"/>
<Topology TopologyType="3DCoRectMesh" Dimensions="{nz + 1} {ny + 1} {nx + 1}"/>
<Geometry GeometryType="ORIGIN_DXDYDZ">
<DataItem Dimensions="3" Format="XML">{" ".join(f"{v:.12g}" for v in lower)}</DataItem>
<DataItem Dimensions="3" Format="XML">{" ".join(f"{v:.12g}" for v in dx)}</DataItem></Geometry>
{fields}</Grid>""")
        text = (
            '<?xml version="1.0"?>\n<Xdmf Version="2.0"><Domain><Grid GridType="Collection" '
            'CollectionType="Temporal">\n' + "\n".join(grids) + "\n</Grid></Domain></Xdmf>\n"
        )
        part = self.folder / "fields.xmf.part"
        part.write_text(text)
        os.replace(part, self.folder / "fields.xmf")


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
    """PNG frames of some fields (1-D: lines; 2-D: maps; 3-D: the middle plane in z) and, at the end, one animated
    GIF."""

    def __init__(self, flow, folder, names, milliseconds, continued):
        self.folder, self.names, self.milliseconds = pathlib.Path(folder), names, milliseconds
        self.paths, self._limits = earlier(flow, folder, "frame-????????.png", continued), {}

    def write(self, flow):
        fields = {n: whole(flow, flow.field(n)) for n in self.names}
        if flow.ranks.rank:
            return
        plt, case, names = pyplot(), flow.case, self.names
        planes = {n: fields[n][case.cells[2] // 2] * (1e-6 if n == "p" else 1.0) for n in names}
        limits = {n: self._limits.setdefault(n, _limits(plane)) for n, plane in planes.items()}
        if flow.dimensions == 1:
            x = case.lower[0] + (np.arange(case.cells[0]) + 0.5) * case.dx[0]
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
                image = ax.imshow(
                    planes[n],
                    origin="lower",
                    extent=[by * v for d in (0, 1) for v in (case.lower[d], case.upper[d])],
                    cmap=COLOURS.get(n, "magma"),
                    vmin=limits[n][0],
                    vmax=limits[n][1],
                    interpolation="bilinear",
                    aspect="equal",
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
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"frame-{flow.steps:08d}.png"
        figure.savefig(path, dpi=110)
        plt.close(figure)
        gc.collect()  # a figure refers to itself in circles: some 40 MiB would be waiting for this
        self.paths = [p for p in self.paths if p != path] + [path]

    def animate(self):
        """frames.gif of what was drawn; returns its path, None when there were fewer than two frames."""
        if len(self.paths) < 2:
            return None
        from PIL import Image

        images = [Image.open(p).convert("RGB").quantize(128, dither=Image.Dither.NONE) for p in self.paths]
        images = [im if im.size == images[0].size else im.resize(images[0].size) for im in images]
        path = self.folder / "frames.gif"
        images[0].save(
            path, save_all=True, append_images=images[1:], duration=int(self.milliseconds), loop=0, optimize=False
        )
        return path


def _limits(values):
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-6 * max(abs(low), abs(high), 1e-30):
        pad = 0.01 * max(abs(low), abs(high), 1e-3)
        return low - pad, high + pad
    return low, high
