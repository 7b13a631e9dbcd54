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
