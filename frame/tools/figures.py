"""Figures of matplotlib, written to files."""

import importlib.util

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
