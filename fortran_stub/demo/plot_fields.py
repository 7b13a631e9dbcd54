#!/usr/bin/env python3
"""Draw density, viscosity and heat capacity of the demo's field in one picture.

python fortran_stub/demo/plot_fields.py [folder [picture.png]]     the folder that the host wrote: plane_RRRR.txt and
.bin
"""

import argparse
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm

PANELS = (
    ("rho", "density  [kg/m³]", "viridis", 1.0),
    ("mu", "viscosity  [µPa s]", "magma", 1e6),
    ("cp", "heat capacity  $c_p$  [kJ/kg/K]", "cividis", 1e-3),
)


def read_planes(folder):
    """The ranks' planes in the order of the ranks: a list of {name: array (ny, nx)}."""
    planes = []
    for header in sorted(pathlib.Path(folder).glob("plane_*.txt")):
        nx, ny, *names = header.read_text().split()
        shape = (len(names), int(ny), int(nx))
        values = np.fromfile(header.with_suffix(".bin"))
        if values.size != np.prod(shape):
            raise ValueError(
                f"{header.with_suffix('.bin')}: {values.size} values, {header.name} speaks of {np.prod(shape)}."
            )
        planes.append(dict(zip(names, values.reshape(shape))))

    if not planes:
        raise FileNotFoundError(f"no plane_*.txt in {str(folder)!r}: run the demo host first.")

    return planes


def draw(planes, picture):
    """Draws a row for each quantity. Rank r covers x = r..r+1, y = 0..1 of the domain. Returns the figure's path."""
    width = min(4.5 * len(planes), 16) + 2.2
    height = (width - 2.2) / len(planes)
    figure, axes = plt.subplots(len(PANELS), 1, figsize=(width, 3 * height + 1.2), sharex=True, layout="constrained")

    for axis, (name, label, colours, factor) in zip(axes, PANELS):
        fields = [factor * plane[name] for plane in planes]
        mesh = _row(axis, fields, colours)
        _scale(figure, axis, mesh, label)

    axes[0].set_title("Shear layer: liquid-like oxygen below, cold fuel, hot products, cooled wall above")
    axes[-1].set_xlabel(f"x   (one rank per unit, {len(planes)} in all)")

    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=150)
    plt.close(figure)
    return picture


def _row(axis, fields, colours):
    """A quantity of all ranks, side by side. Values that are not positive stay white."""
    positive = np.concatenate([field[np.isfinite(field) & (field > 0)] for field in fields])
    low, high = np.percentile(positive, [0.2, 99.8])

    for rank, field in enumerate(fields):
        ny, nx = field.shape
        mesh = axis.pcolormesh(
            rank + np.linspace(0, 1, nx + 1),
            np.linspace(0, 1, ny + 1),
            np.where(field > 0, field, np.nan),
            cmap=colours,
            norm=LogNorm(low, high),
            rasterized=True,
        )
        if rank:
            axis.axvline(rank, color="white", lw=0.6, ls=":")

    axis.set(aspect="equal", ylabel="y", yticks=[0, 0.5, 1])
    return mesh


def _scale(figure, axis, mesh, label) -> None:
    """The scale of colours beside a row."""
    ticker = matplotlib.ticker
    bar = figure.colorbar(mesh, ax=axis, pad=0.01, extend="both", aspect=14)
    bar.set_label(label)
    bar.ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    bar.ax.yaxis.set_minor_formatter(ticker.LogFormatter(labelOnlyBase=False, minor_thresholds=(1.5, 0.7)))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default="build/demo", type=pathlib.Path)
    parser.add_argument("picture", nargs="?", type=pathlib.Path, help="default: fields.png in the folder")
    options = parser.parse_args(argv)
    print(f"Picture: {draw(read_planes(options.folder), options.picture or options.folder / 'fields.png')}")


if __name__ == "__main__":
    main()
