"""Figures of matplotlib, written to files."""

import importlib.util
import pathlib

from ..errors import ArgumentError


def pyplot(said: str):
    """matplotlib.pyplot without a screen. Raises ArgumentError, which begins with `said`, if it is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ArgumentError(f"{said} with matplotlib, which is not installed: install the project's extra 'plot'.")

    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def grid(plt, count, most, size, margin, **how):
    """A figure and its axes (rows, columns): `count` panels, at most `most` in a row.

    size: (width, height) of a panel; margin: of the figure; both in inches.
    """
    columns = min(count, most)
    rows = -(-count // columns)
    extent = size[0] * columns + margin[0], size[1] * rows + margin[1]
    figure, axes = plt.subplots(rows, columns, figsize=extent, squeeze=False, layout="constrained", **how)
    for axis in axes.flat[count:]:
        axis.set_visible(False)

    return figure, axes


def picture_file(out: pathlib.Path, option: str = "--out") -> None:
    """Raises ArgumentError if the path that an option gives is no file of a picture."""
    if out.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ArgumentError(f"{option} {out}: wanted a file that ends in .png, .pdf or .svg.")


def save(plt, figure, out: pathlib.Path, dpi: int = 130) -> pathlib.Path:
    """Writes a figure, closes it, and returns the path."""
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=dpi)
    plt.close(figure)
    return out
