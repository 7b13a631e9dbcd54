"""Arrays of the species loops: inputs, a poisoned output, and the check of what a variant wrote into it."""

from __future__ import annotations

import numpy as np

from ..errors import FrameError, refuse
from .declaration import READS, oracle, shapes

ROUNDINGS = 2  # in eps of the sum of the terms' sizes: two products and a sum, half an eps each, contracted or not
SAMPLE = 1024  # points of a large field that are compared one by one
WHOLE = 1e-11  # how far the sum over a large field may be off: rounding of a sum of 1e9 terms


class WrongResult(FrameError):
    """A variant wrote something else than the oracle, too little, or too much."""


class Fields:
    """Random inputs for n points in one layout, and an output that is NaN at first, what pads its rows included.

    `arrays` holds them by name where the backend's kernels run. Up to `every` points every
    element is checked. Of more points a sample is checked element by element, and all of them by their sum: a NaN left
    anywhere shows in it.
    """

    def __init__(self, backend, layout: str, ns: int, n: int, dtype, seed: int = 0, every: int = SAMPLE):
        self.backend, self.layout, self.ns, self.n, self.dtype = backend, layout, ns, n, np.dtype(dtype)
        rng = np.random.default_rng(seed)
        row = backend.pad(n) if layout == "left" else n
        small, large = shapes(layout, ns, row)
        edges = np.arange(min(n, 64))
        self.points = (
            np.arange(n) if n <= every else np.unique(np.concatenate([edges, n - 1 - edges, rng.integers(0, n, every)]))
        )
        self.arrays, self.sample, sums = {}, {}, {}
        for name in READS:
            host = rng.random(small, dtype=self.dtype) + self.dtype.type(0.5)
            self.arrays[name] = backend.empty(small, dtype)
            self.arrays[name][...] = backend.from_host(host, dtype)
            self.sample[name] = host[self._at(self.points)]
            sums[name] = host.sum(axis=0 if layout == "left" else 1, dtype=np.float64)[:n]
        self.arrays["out"] = backend.empty(large, dtype)
        self.total = float(sums["ax"] @ sums["ay"] + sums["bx"] @ sums["by"])
        self.expected, self.size = oracle(layout, *(self.sample[name] for name in READS))
        self.poison()

    def _at(self, points):
        return (slice(None), points) if self.layout == "left" else (points,)

    def poison(self):
        self.arrays["out"].fill(np.nan)

    def check(self) -> float:
        """The largest error over the size of the terms at one output. Raises WrongResult."""
        out = self.arrays["out"]
        where = self._at(self.backend.from_host(self.points, self.points.dtype))
        got = self.backend.to_host(out[where]).astype(np.float64)
        missing = np.isnan(got)
        refuse(missing.any(), f"{missing.sum()} of {got.size} outputs were not written.", WrongResult)
        error = float((np.abs(got - self.expected) / self.size).max())
        refuse(
            not error <= ROUNDINGS * np.finfo(self.dtype).eps,
            f"off by {error:.1e} of the terms' size, wanted {ROUNDINGS * np.finfo(self.dtype).eps:.1e}.",
            WrongResult,
        )
        total = float(out[self._at(slice(0, self.n))].sum(dtype=np.float64))
        refuse(
            not abs(total - self.total) <= max(WHOLE, ROUNDINGS * np.finfo(self.dtype).eps) * self.total,
            f"the sum of all outputs is {total!r}, wanted {self.total!r}: somewhere outputs are wrong or missing.",
            WrongResult,
        )
        refuse(
            (
                self.layout == "left"
                and self.n < out.shape[1]
                and not np.isnan(self.backend.to_host(out[:, self.n :])).all()
            ),
            "wrote past the last point.",
            WrongResult,
        )
        return error


def broadcasting(layout: str, ns: int, arrays, n: int):
    """run() of the rival: the formula in array expressions, as one would write it."""
    ax, bx, ay, by, out = (arrays[a] for a in (*READS, "out"))
    if layout == "left":
        ax, bx, ay, by = (a[:, :n] for a in (ax, bx, ay, by))
        out = out.reshape(ns, ns, -1)[:, :, :n]

        def run():
            out[...] = ax[None] * ay[:, None] + bx[None] * by[:, None]
    else:
        out = out.reshape(n, ns, ns)

        def run():
            out[...] = ax[:, None, :] * ay[:, :, None] + bx[:, None, :] * by[:, :, None]

    return run
