"""Figures that go to files."""

import importlib.util

from ..errors import ArgumentError


def pyplot(said: str):
    """matplotlib.pyplot without a screen. ArgumentError, which begins with `said`, where it is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ArgumentError(f"{said} with matplotlib, which is not installed: install the project's extra 'plot'.")
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def grid(plt, count, most, size, margin, **how):
    """Figure and its axes (rows, columns), `count` of them shown and at most `most` in a row. size: of one; margin: of
    all, both [in]."""
    columns = min(count, most)
    rows = -(-count // columns)
    extent = size[0] * columns + margin[0], size[1] * rows + margin[1]
    figure, axes = plt.subplots(rows, columns, figsize=extent, squeeze=False, layout="constrained", **how)
    for axis in axes.flat[count:]:
        axis.set_visible(False)
    return figure, axes
