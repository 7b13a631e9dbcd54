"""Takahashi's rows as cubics in windows of 1/(1 + Tr). They are made at run time, beside the table that they
interpolate. Only their largest error is found here."""

import numpy as np

from ...engine.fits.maker import Check
from ..transport.diffusion import TAKAHASHI, WINDOWS, takahashi_cubics


def largest_error() -> float:
    """Largest absolute error of a row's factor, in single precision, at 33 places in each window. Negative brackets
    count as 0."""
    cubics = takahashi_cubics()[:, : len(TAKAHASHI), :, None]
    x = np.linspace(-0.5, 0.5, 33, endpoint=False, dtype=np.float32)
    c = np.moveaxis(cubics, 2, 0)
    table = np.maximum(c[0] + x * (c[1] + x * (c[2] + x * c[3])), np.float32(-1))
    w = (np.arange(WINDOWS)[:, None, None] + 0.5 + x.astype(float)) / WINDOWS
    _, D, A, B, C, E = TAKAHASHI.T[:, None, :, None]
    with np.errstate(over="ignore"):
        brackets = [np.maximum(1 - factor * (w / (1 - w)) ** power, 0) for factor, power in ((A, B), (C, E))]

    return float(abs(1.0 + table - D * brackets[0] * brackets[1]).max())


SETS = [Check("takahashi_cubics", "gas/transport/diffusion.py", lambda: {"absolute": largest_error()})]
