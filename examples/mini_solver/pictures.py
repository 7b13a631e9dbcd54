"""Pictures of some fields: lines in 1-D, maps in 2-D, the middle plane in z in 3-D.

A figure is made once. A frame draws what moves, over the pixels of the rest: most of its time would go into axes,
labels and layout.
"""

import dataclasses
import importlib

import numpy as np

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
    "beta": Look("vapour, share of the amount [-]", "Blues_r"),
    "beta_mass": Look("vapour, share of the mass [-]", "Blues_r"),
    "beta_volume": Look("vapour, share of the volume [-]", "Blues_r"),
    "phases_status": Look("phases: 0 one, 1 two [-]"),
}
SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def look(name, unit) -> Look:
    """How a field is drawn. unit: of a field that LOOKS does not have, Y_<species> or a quantity of the layer."""
    if name.startswith("Y_"):
        return Look(f"mass fraction {name.removeprefix('Y_')} [-]")
    return LOOKS.get(name) or Look(f"{name} [{'-' if unit == '1' else unit}]")


def subplots(*grid, **words):
    """(figure, axes) of matplotlib, without a window. grid: rows, columns."""
    shape = {name: words.pop(name) for name in ("sharex", "sharey", "squeeze") if name in words}
    figure = importlib.import_module("matplotlib.figure").Figure(**words)

    return figure, figure.subplots(*grid, **shape)


@dataclasses.dataclass(frozen=True)
class Scene:
    """The facts of a case that its pictures show."""

    title: str
    dimensions: int
    lower: tuple  # corners of the domain [m]
    upper: tuple
    cells: tuple
    centres: np.ndarray  # of the cells along x [m]
    faces: tuple  # of the cells along x and y [m]; empty where cells are even
    z: float  # of the plane that is drawn [m]

    @classmethod
    def of(cls, case):
        """The scene of a Case."""
        faces = tuple(line.faces() for line in case.lines[:2]) if case.stretched else ()
        centres = case.lines[0].centres(np.arange(case.cells[0]))
        z = float(case.lines[2].centres(case.cells[2] // 2)) if case.dimensions == 3 else 0.0

        return cls(case.title, case.dimensions, case.lower, case.upper, case.cells, centres, faces, z)

    def title_at(self, time) -> str:
        """Title, time in a fitting unit, and the plane of a flow in three dimensions."""
        size, unit = next((pair for pair in SECONDS if time >= pair[0]), SECONDS[-1] if time else SECONDS[0])
        title = f"{self.title}    t = {time / size:.4g} {unit}"

        return f"{title}    z = {self.z:.4g} m" if self.dimensions == 3 else title


def picture_of(scene, looks, logarithmic):
    """The Picture that a flow of so many dimensions wants."""
    return (Lines if scene.dimensions == 1 else Maps)(scene, looks, logarithmic)


class Picture:
    """A figure with axes for each field. scene: a Scene. looks: {field: Look}. logarithmic: fields with such axes."""

    def __init__(self, scene, looks, logarithmic):
        self.scene, self.looks, self.names, self.logarithmic = scene, looks, list(looks), logarithmic
        wide = max(scene.upper[d] - scene.lower[d] for d in range(min(scene.dimensions, 2)))
        self.scale, self.unit = (1e3, "mm") if wide < 0.5 else (1.0, "m")
        self.figure = self._make()
        self.figure.set_dpi(110)
        self._title = self.figure.suptitle("", fontsize=10, parse_math=False)  # it stays where the first frame has it
        self._canvas = importlib.import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(self.figure)

        self._still = None  # pixels of what does not move
        self._moving = [*self._moves(), self._title]  # from back to front
        for artist in self._moving:
            artist.set_animated(True)

    def limits(self, name, values):
        """(lowest, highest) value that is shown: of the field, symmetric for colours that diverge from 0."""
        low, high = float(values.min()), float(values.max())
        if name in self.logarithmic:
            return max(low, high * 10.0**-DECADES), high * (1 + 1e-6)

        if high - low <= 1e-6 * max(abs(low), abs(high), 1e-30):  # uniform
            pad = 0.01 * max(abs(low), abs(high), 1e-3)
            low, high = low - pad, high + pad

        return low, high

    def _frames(self):
        """The lines around the axes."""
        return [line for axis in self.axes for line in axis.spines.values()]

    def _numbers(self, name):
        """How numbers are written: on a logarithmic axis 600, not 6 x 10^2; None: as matplotlib does."""
        if name not in self.logarithmic:
            return None
        return importlib.import_module("matplotlib.ticker").LogFormatter(labelOnlyBase=False)

    def draw(self, planes, limits, title) -> np.ndarray:
        """Pixels (rows, columns, 3) of a frame. planes: {name: (ny, nx)}. limits: {name: (lowest, highest)}."""
        for axis, name in zip(self.axes, self.names):
            self._fill(axis, name, planes[name], limits[name])
        self._title.set_text(title)

        if self._still is None:
            self._canvas.draw()  # once; savefig would draw twice
            self.figure.set_layout_engine("none")  # later frames have the layout of the first
            self._still = self._canvas.copy_from_bbox(self.figure.bbox)

        self._canvas.restore_region(self._still)
        for artist in self._moving:
            artist.draw(self._canvas.get_renderer())

        return np.ascontiguousarray(np.asarray(self._canvas.buffer_rgba())[..., :3])


class Lines(Picture):
    """Fields of a flow in one dimension, below each other."""

    def _make(self):
        height = 1.9 * len(self.names) + 0.6
        grid = dict(sharex=True, squeeze=False, layout="constrained")
        figure, axes = subplots(len(self.names), 1, figsize=(7, height), **grid)
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)

        self.axes, self._lines = axes[:, 0], {}
        x = self.scale * self.scene.centres
        for axis, name in zip(self.axes, self.names):
            (self._lines[name],) = axis.plot(x, np.ones_like(x), lw=1.3)
            axis.set(ylabel=self.looks[name].label, yscale="log" if name in self.logarithmic else "linear")
            if name in self.logarithmic:
                axis.yaxis.set_major_formatter(self._numbers(name))
                axis.yaxis.set_minor_formatter(self._numbers(name))
            axis.grid(alpha=0.3)

        self.axes[-1].set_xlabel(f"x [{self.unit}]")
        figure.align_ylabels()

        return figure

    def _moves(self):
        """The axes of the fields with their grids, the lines over them, the frames around."""
        return [*(axis.yaxis for axis in self.axes), *self._lines.values(), *self._frames()]

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
        if self.looks[name].signed:
            high = max(abs(low), abs(high))
            low = -high

        return low, high

    def _make(self):
        scene, count = self.scene, len(self.names)
        shape = (scene.upper[1] - scene.lower[1]) / (scene.upper[0] - scene.lower[0])
        columns = 1 if shape < 0.7 else count
        rows = -(-count // columns)
        width = 7.5 if columns == 1 else 4.6 * columns
        height = rows * (width / columns * 0.76 * shape + 0.3) + 0.6

        figure, axes = subplots(rows, columns, figsize=(width, height), squeeze=False, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.1, h_pad=0.08)
        self.axes = list(axes.flat)

        self._images, self._bars = {}, []
        for axis, name in zip(self.axes, self.names):
            image = self._images[name] = self._map(axis, name)
            place = axis.inset_axes([1.015, 0, 0.02, 1])
            bar = figure.colorbar(image, cax=place, label=self.looks[name].label, format=self._numbers(name))
            self._bars.append(place.yaxis)
            if name in self.logarithmic:
                bar.ax.yaxis.set_minor_formatter(self._numbers(name))
            axis.set_ylabel(f"y [{self.unit}]")

        for axis in axes[:-1].flat:
            axis.tick_params(labelbottom=False)
        for axis in axes[-1]:
            axis.set_xlabel(f"x [{self.unit}]")

        return figure

    def _moves(self):
        """The images, the frames around them, the numbers beside the colour bars."""
        return [*self._images.values(), *self._frames(), *self._bars]

    def _map(self, axis, name):
        """An image of even cells, or a mesh of stretched cells."""
        nx, ny = self.scene.cells[:2]
        nothing = np.ones((ny, nx))
        words = dict(cmap=self.looks[name].colours, norm="log" if name in self.logarithmic else "linear")

        if self.scene.faces:
            axis.set_aspect("equal")
            x, y = (self.scale * faces for faces in self.scene.faces)
            return axis.pcolormesh(x, y, nothing, **words)

        extent = [self.scale * end for d in (0, 1) for end in (self.scene.lower[d], self.scene.upper[d])]
        return axis.imshow(nothing, origin="lower", extent=extent, interpolation="bilinear", aspect="equal", **words)

    def _fill(self, axis, name, plane, limits):
        if name in self.logarithmic:
            plane = np.maximum(plane, limits[0])
        image = self._images[name]
        image.set_clim(*limits)
        image.set_array(plane)
