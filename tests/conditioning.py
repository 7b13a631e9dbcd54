"""assert_close: a difference compared with the rounding error of an evaluation in float64."""

import numpy as np
from reference import EPS, Tracked


def allowed(expected, n, scale=None):
    """The allowed difference, n eps scale. The scale of a Tracked is its running error bound, otherwise the given sum
    |terms|."""
    if scale is None:
        if not isinstance(expected, Tracked):
            raise TypeError("a plain array needs scale=, its sum of |terms|")
        scale = expected.err
    return n * EPS * np.asarray(scale, dtype=float)


def assert_close(got, expected, n, scale=None, what="", skip=None):
    """|got - expected| <= n eps scale at every point, NaN only where expected; `skip` (bool) leaves points out.

    The message names the worst element: index, got, expected, difference over tolerance.
    """
    limit = allowed(expected, n, scale)
    reference = expected.val if isinstance(expected, Tracked) else np.asarray(expected)
    got = np.asarray(got)
    assert got.shape == reference.shape, f"{what}: shape {got.shape}, expected {reference.shape}"
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.abs(got - reference).astype(float) / np.maximum(np.broadcast_to(limit, got.shape), 1e-300)
    nan = np.isnan(got) | np.isnan(reference)
    ratio = np.where(nan, np.where(np.isnan(got) & np.isnan(reference), 0, np.inf), ratio)
    if skip is not None:
        ratio = np.where(np.broadcast_to(skip, got.shape), 0, ratio)

    if ratio.size and not ratio.max() <= 1:
        k = np.unravel_index(np.argmax(ratio), ratio.shape)
        bad = int((ratio > 1).sum())
        raise AssertionError(
            f"{what}{list(map(int, k))}: got {got[k]!r}, expected {float(reference[k])!r}, {ratio[k]:.3g} times the "
            f"tolerance of {float(np.broadcast_to(limit, got.shape)[k]):.3g}; {bad} of {ratio.size} elements outside"
        )

    return float(ratio.max()) if ratio.size else 0.0
