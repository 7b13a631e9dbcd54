"""Oracles: plain NumPy, written from the equations in the literature, sharing nothing with the kernels.

Every function takes arrays with the species axis first. It works on float64, on longdouble, or on `Tracked` numbers,
which carry a first-order bound of their own rounding error (see tracked.py).
"""

from . import cubic
from .oracle import OPTIONS, evaluate
from .tracked import EPS, LD, Tracked, value

__all__ = ["EPS", "LD", "OPTIONS", "Tracked", "cubic", "evaluate", "value"]
