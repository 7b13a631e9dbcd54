"""The work of kernels.marshal, in NumPy."""

import numpy as np


def gather(array: np.ndarray, lo, n, start: int, count: int) -> np.ndarray:
    """The result that gather must give, (nvar selected, count). array (nx, ny, nz, nvar); lo, n: zero-based starts and
    extents."""
    part = array[tuple(slice(a, a + m) for a, m in zip(lo, n))]
    return part.reshape(-1, n[3], order="F").T[:, start : start + count].copy()


def scatter(array: np.ndarray, lo, n, start: int, view: np.ndarray) -> np.ndarray:
    """The array that scatter must leave: a copy of `array` whose stripe is replaced by view (nvar selected, count)."""
    out = array.copy(order="F")
    for t in range(start, start + view.shape[1]):
        i, j, k = t % n[0], t // n[0] % n[1], t // (n[0] * n[1])
        out[lo[0] + i, lo[1] + j, lo[2] + k, lo[3] : lo[3] + n[3]] = view[:, t - start]
    return out
