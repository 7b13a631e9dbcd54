"""Pictures: a frame of some fields every so often, and a film of them."""

import gc
import importlib
import io
import pathlib

import numpy as np

from .errors import wanted
from .files import needed, save, whole
from .results import earlier

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


def pyplot():
    needed("matplotlib", "pictures").use("Agg")
    return importlib.import_module("matplotlib.pyplot")


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
