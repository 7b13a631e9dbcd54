"""Pictures: a frame of some fields every so often, and a film of the frames.

A figure is made once and filled anew for each frame: most of a frame's time would go into axes, labels and layout.
"""

import dataclasses
import importlib
import io
import pathlib

import numpy as np

from .errors import wanted
from .files import needed, save, whole
from .results import earlier

DECADES = 6  # below the largest value, on a logarithmic axis


@dataclasses.dataclass(frozen=True)
class Look:
    """How a field is drawn."""

    label: str  # of its axis, with the unit
    colours: str = "magma"  # name of a colour map
    factor: float = 1.0  # from SI to the unit of the label
    signed: bool = False  # colours that diverge from 0


LOOKS = {
    "rho": Look("density [kg/m³]", "viridis"),
    "T": Look("temperature [K]", "inferno"),
    "p": Look("pressure [MPa]", "cividis", 1e-6),
    "u": Look("u [m/s]", "RdBu_r", signed=True),
    "v": Look("v [m/s]", "RdBu_r", signed=True),
    "w": Look("w [m/s]", "RdBu_r", signed=True),
    "mach": Look("Mach number [-]"),
}
SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def look(name) -> Look:
    """How a field is drawn; a name that LOOKS does not have is Y_<species>."""
    return LOOKS.get(name) or Look(f"mass fraction {name.removeprefix('Y_')} [-]")


def subplots(*grid, **words):
    """(figure, axes) of matplotlib, without a window. grid: rows, columns. CaseError where matplotlib is missing."""
    needed("matplotlib", "pictures")
    shape = {name: words.pop(name) for name in ("sharex", "sharey", "squeeze") if name in words}
    figure = importlib.import_module("matplotlib.figure").Figure(**words)

    return figure, figure.subplots(*grid, **shape)


class Frames:
    """PNG frames of some fields (1-D: lines; 2-D: maps; 3-D: the middle plane in z) and, at the end, an animated GIF.

    given: section [output] of the case. A frame's limits are those of its fields, or fixed by `frame_limits` (p in
    MPa). Fields of `frame_log` have a logarithmic axis.
    """

    def __init__(self, flow, folder, given, continued):
        self.folder, self.names, self.milliseconds = pathlib.Path(folder), given["frame"], given["frame_ms"]
        self.paths = earlier(flow, folder, "frame-????????.png", continued)
        self._limits, self._logarithmic = dict(given["frame_limits"]), given["frame_log"]
        self._picture = None
        self._refuse_limits()
        self._refuse_logarithms()

    def _refuse_limits(self):
        for name, pair in self._limits.items():
            wanted(name in self.names, f"[output] frame_limits: '{name}' is not drawn; frame = {self.names}.")

            fits = isinstance(pair, list) and len(pair) == 2 and all(isinstance(v, (int, float)) for v in pair)
            fits = fits and pair[0] < pair[1] and not (name in self._logarithmic and pair[0] <= 0)
            said = f"[output] frame_limits {name} = {pair!r}; wanted [lowest, highest]"
            wanted(fits, said + (", above 0: its axis is logarithmic." if name in self._logarithmic else "."))

    def _refuse_logarithms(self):
        for name in self._logarithmic:
            wanted(name in self.names, f"[output] frame_log: '{name}' is not drawn; frame = {self.names}.")
            wanted(not look(name).signed, f"[output] frame_log: '{name}' has two signs; wanted a positive field.")

    def write(self, flow):
        """Draw the present state. Collective. Raises OutputError."""
        fields = {name: whole(flow, flow.field(name)) for name in self.names}
        if flow.ranks.rank:
            return

        case = flow.case
        planes = {name: fields[name][case.cells[2] // 2] * look(name).factor for name in self.names}
        if self._picture is None:
            self._picture = (Lines if case.dimensions == 1 else Maps)(case, self.names, self._logarithmic)
        limits = {name: self._limits.get(name) or self._picture.limits(name, planes[name]) for name in self.names}

        path = self.folder / f"frame-{flow.steps:08d}.png"
        save(path, self._picture.draw(planes, limits, _title(case, flow.time)))
        self.paths = [p for p in self.paths if p != path] + [path]

    def animate(self):
        """frames.gif of all frames; returns its path, None for fewer than two frames."""
        if len(self.paths) < 2:
            return None

        images, path, film = self._images(), self.folder / "frames.gif", io.BytesIO()
        words = dict(save_all=True, append_images=images[1:], duration=int(self.milliseconds), loop=0, optimize=False)
        images[0].save(film, "GIF", **words)
        save(path, film.getvalue())

        return path

    def _images(self) -> list:
        """The frames, with few colours and of one size."""
        from PIL import Image

        images = [Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE) for path in self.paths]
        return [image if image.size == images[0].size else image.resize(images[0].size) for image in images]


class Picture:
    """A figure with axes for each field. case: a Case. names: the fields. logarithmic: the fields with such an axis."""

    def __init__(self, case, names, logarithmic):
        self.case, self.names, self.logarithmic = case, names, logarithmic
        wide = max(case.upper[d] - case.lower[d] for d in range(min(case.dimensions, 2)))
        self.scale, self.unit = (1e3, "mm") if wide < 0.5 else (1.0, "m")
        self.figure = self._make()
        self.figure.set_dpi(110)
        self._canvas = importlib.import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(self.figure)

    def limits(self, name, values):
        """(lowest, highest) value that is shown: of the field, symmetric for colours that diverge from 0."""
        low, high = float(values.min()), float(values.max())
        if name in self.logarithmic:
            return max(low, high * 10.0**-DECADES), high * (1 + 1e-6)

        if high - low <= 1e-6 * max(abs(low), abs(high), 1e-30):  # uniform
            pad = 0.01 * max(abs(low), abs(high), 1e-3)
            low, high = low - pad, high + pad

        return low, high

    def draw(self, planes, limits, title) -> bytes:
        """The PNG of a frame. planes: {name: (ny, nx)}. limits: {name: (lowest, highest)}."""
        for axis, name in zip(self.axes, self.names):
            self._fill(axis, name, planes[name], limits[name])
        self.figure.suptitle(title, fontsize=10)

        self._canvas.draw()  # once; savefig would draw twice
        self.figure.set_layout_engine("none")  # later frames have the layout of the first

        picture = io.BytesIO()
        rgb = np.ascontiguousarray(np.asarray(self._canvas.buffer_rgba())[..., :3])
        importlib.import_module("PIL.Image").fromarray(rgb).save(picture, "PNG", compress_level=3)

        return picture.getvalue()


class Lines(Picture):
    """Fields of a flow in one dimension, below each other."""

    def _make(self):
        height = 1.9 * len(self.names) + 0.6
        grid = dict(sharex=True, squeeze=False, layout="constrained")
        figure, axes = subplots(len(self.names), 1, figsize=(7, height), **grid)
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.06)

        self.axes, self._lines = axes[:, 0], {}
        x = self.scale * self.case.lines[0].centres(np.arange(self.case.cells[0]))
        for axis, name in zip(self.axes, self.names):
            (self._lines[name],) = axis.plot(x, np.ones_like(x), lw=1.3)
            axis.set(ylabel=look(name).label, yscale="log" if name in self.logarithmic else "linear")
            axis.grid(alpha=0.3)

        self.axes[-1].set_xlabel(f"x [{self.unit}]")
        figure.align_ylabels()

        return figure

    def _fill(self, axis, name, plane, limits):
        self._lines[name].set_ydata(plane[0])

        low, high = min(limits[0], plane.min()), max(limits[1], plane.max())
        if name in self.logarithmic:
            axis.set_ylim(limits[0] / 1.1, 1.1 * high)
        else:
            margin = 0.05 * (high - low)
            axis.set_ylim(low - margin, high + margin)


class Maps(Picture):
    """Fields of a flow in two dimensions, or of the middle plane of a flow in three."""

    def limits(self, name, values):
        low, high = super().limits(name, values)
        if look(name).signed:
            high = max(abs(low), abs(high))
            low = -high

        return low, high

    def _make(self):
        case, count = self.case, len(self.names)
        shape = (case.upper[1] - case.lower[1]) / (case.upper[0] - case.lower[0])
        columns = 1 if shape < 0.7 else count
        rows = -(-count // columns)
        width = 7.5 if columns == 1 else 4.6 * columns
        height = rows * (width / columns * 0.76 * shape + 0.3) + 0.6

        figure, axes = subplots(rows, columns, figsize=(width, height), squeeze=False, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.1, h_pad=0.08)
        self.axes = list(axes.flat)

        self._images = {}
        for axis, name in zip(self.axes, self.names):
            image = self._images[name] = self._map(axis, name)
            figure.colorbar(image, cax=axis.inset_axes([1.015, 0, 0.02, 1]), label=look(name).label)
            axis.set_ylabel(f"y [{self.unit}]")

        for axis in axes[:-1].flat:
            axis.tick_params(labelbottom=False)
        for axis in axes[-1]:
            axis.set_xlabel(f"x [{self.unit}]")

        return figure

    def _map(self, axis, name):
        """An image of even cells, or a mesh of stretched cells."""
        nx, ny = self.case.cells[:2]
        nothing = np.ones((ny, nx))
        words = dict(cmap=look(name).colours, norm="log" if name in self.logarithmic else "linear")

        if self.case.stretched:
            axis.set_aspect("equal")
            x, y = (self.scale * line.faces() for line in self.case.lines[:2])
            return axis.pcolormesh(x, y, nothing, **words)

        extent = [self.scale * end for d in (0, 1) for end in (self.case.lower[d], self.case.upper[d])]
        return axis.imshow(nothing, origin="lower", extent=extent, interpolation="bilinear", aspect="equal", **words)

    def _fill(self, axis, name, plane, limits):
        if name in self.logarithmic:
            plane = np.maximum(plane, limits[0])
        image = self._images[name]
        image.set_clim(*limits)
        image.set_array(plane)


def _title(case, time) -> str:
    """Title, time in a fitting unit, and the plane of a flow in three dimensions."""
    size, unit = next((pair for pair in SECONDS if time >= pair[0]), SECONDS[-1] if time else SECONDS[0])
    title = f"{case.title}    t = {time / size:.4g} {unit}"
    if case.dimensions == 3:
        title += f"    z = {float(case.lines[2].centres(case.cells[2] // 2)):.4g} m"

    return title
