"""The species loops as a tensor expression, for benchmark and tests.

Inputs; an output that starts as NaN, and its check; a copy of memory and array expressions as rivals.
"""

from __future__ import annotations

import numpy as np

from kernels import Contraction
from kernels.engine.backend.base import Shape, Source
from kernels.engine.backend.record import record

from ...errors import FrameError, refuse

TEXT = "out[y x] = ax[x] ay[y] + bx[x] by[y]"
READS = ("ax", "bx", "ay", "by")  # ns values a point
LAYOUTS = {
    "left": "point fastest: ax (ns, points), out (ns*ns, points)",
    "right": "species fastest: ax (points, ns), out (points, ns*ns)",
}
TYPES = ("float64", "float32")
ROUNDINGS = 2  # in eps of the sum of the terms' sizes: two products and a sum, half an eps each, contracted or not
SAMPLE = 1024  # points of a large field that are compared one by one
WHOLE = 1e-11  # how far the sum over a large field may be off: rounding of a sum of 1e9 terms
LINE = 64  # bytes
COPY = """#define NX 1
#define NY 1
#define TERMS 1
#define RIGHT 0
#define STREAM 1
#define OUTER(x, y) x[0]
#include "contractions/outer/copy_cpu.h"
struct Arguments {
    void *from, *to;
};
OUTER_LOOP(copy, over_blocks, (Loops{{(const real *)a.from}, {}, (real *)a.to, items, 0}), 0)
"""


def plan(backend, layout: str, ns: int, dtype="float64", how=None) -> Contraction:
    """The species loops for ns species. Raises ArgumentError."""
    refuse(ns < 1, f"species loops: ns = {ns}, wanted 1 or more.")
    return Contraction(TEXT, dict(x=ns, y=ns), dtype, backend=backend, how=how, point="t", layout=layout)


def shapes(layout: str, ns: int, n: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Shapes of an input and of the output. n: row length, for layouts with points fastest."""
    return ((ns, n), (ns * ns, n)) if layout == "left" else ((n, ns), (n, ns * ns))


def oracle(layout: str, ax, bx, ay, by):
    """(values, sum of the terms' sizes) by NumPy broadcasting in float64; inputs and results in the layout's shapes."""
    ax, bx, ay, by = (np.asarray(a, dtype=np.float64) for a in (ax, bx, ay, by))
    if layout == "left":
        first, second = ax[None] * ay[:, None], bx[None] * by[:, None]
        shape = -1, ax.shape[1]
    else:
        first, second = ax[:, None] * ay[:, :, None], bx[:, None] * by[:, :, None]
        shape = ax.shape[0], -1

    return (first + second).reshape(shape), (abs(first) + abs(second)).reshape(shape)


def bytes_a_point(ns: int, dtype) -> int:
    """Inputs read once and outputs written once."""
    return (len(READS) * ns + ns * ns) * np.dtype(dtype).itemsize


def copier(backend, to, source):
    """run(): one array over another of the same size, as fast as the backend can: on a CPU by streaming stores, which
    NumPy's copy may not have."""
    if backend.style != "packs" or any(backend.address(a) % LINE for a in (to, source)):
        return lambda: backend.arrays.copyto(to, source)

    single = "#define FRAME_SINGLE\n" * (to.dtype == np.float32)
    held = record("from:address to:address", **{"from": backend.address(source), "to": backend.address(to)})
    run = backend.compile(Source("copy", single + COPY)).bind("copy", Shape(), held, keep=(to, source))
    return lambda: run(to.size)


class WrongResult(FrameError):
    """A variant wrote other values than the oracle, too few, or too many."""


class Fields:
    """Random inputs for n points in a layout, and an output that starts as NaN, padding of its rows included.

    arrays: by name, in the memory of the backend. Up to `every` points each element is checked. Of more points a sample
    is checked element by element, and all points by their sum, in which a NaN shows.
    """

    def __init__(self, backend, layout: str, ns: int, n: int, dtype, seed: int = 0, every: int = SAMPLE):
        self.backend, self.layout, self.ns, self.n, self.dtype = backend, layout, ns, n, np.dtype(dtype)
        rng = np.random.default_rng(seed)

        # Points that are compared one by one: all, or both ends and a sample.
        self.points = np.arange(n)
        if n > every:
            edges = np.arange(min(n, 64))
            self.points = np.unique(np.concatenate([edges, n - 1 - edges, rng.integers(0, n, every)]))

        # Inputs, their values at these points, and their sums over the species at each point.
        small, large = shapes(layout, ns, backend.pad(n) if layout == "left" else n)
        self.arrays, self.sample, sums = {}, {}, {}
        for name in READS:
            host = rng.random(small, dtype=self.dtype) + self.dtype.type(0.5)
            self.arrays[name] = backend.empty(small, dtype)
            self.arrays[name][...] = backend.from_host(host, dtype)
            self.sample[name] = host[self._at(self.points)]
            sums[name] = host.sum(axis=0 if layout == "left" else 1, dtype=np.float64)[:n]

        # The wanted values (`size`: of their terms), and the wanted sum.
        self.expected, self.size = oracle(layout, *(self.sample[name] for name in READS))
        self.total = float(sums["ax"] @ sums["ay"] + sums["bx"] @ sums["by"])

        self.arrays["out"] = backend.empty(large, dtype)
        self.poison()

    def bind(self, plan: Contraction):
        """run() of a plan on these arrays, all n points."""
        ns, out = self.ns, self.arrays["out"]
        square = out.reshape(ns, ns, -1) if self.layout == "left" else out.reshape(-1, ns, ns)
        return plan.bind({**self.arrays, "out": square}, self.n)

    def _at(self, points):
        return (slice(None), points) if self.layout == "left" else (points,)

    def poison(self):
        """Fills the output with NaN."""
        self.arrays["out"].fill(np.nan)

    def check(self) -> float:
        """Largest error relative to the size of the terms. Raises WrongResult."""
        out = self.arrays["out"]
        allowed = ROUNDINGS * np.finfo(self.dtype).eps

        # Point by point.
        where = self._at(self.backend.from_host(self.points, self.points.dtype))
        got = self.backend.to_host(out[where]).astype(np.float64)
        missing = np.isnan(got)
        refuse(missing.any(), f"{missing.sum()} of {got.size} outputs were not written.", WrongResult)
        error = float((np.abs(got - self.expected) / self.size).max())
        message = f"off by {error:.1e} of the terms' size, wanted {allowed:.1e}."
        refuse(not error <= allowed, message, WrongResult)

        # The sum over all points.
        total = float(out[self._at(slice(0, self.n))].sum(dtype=np.float64))
        is_off = not abs(total - self.total) <= max(WHOLE, allowed) * self.total
        message = f"the sum of all outputs is {total!r}, wanted {self.total!r}: somewhere outputs are wrong or missing."
        refuse(is_off, message, WrongResult)

        # The padding.
        if self.layout == "left":
            padding = self.backend.to_host(out[:, self.n :])
            refuse(not np.isnan(padding).all(), "wrote past the last point.", WrongResult)
        return error


def broadcasting(layout: str, ns: int, arrays, n: int):
    """run() of the rival: the formula in plain array expressions."""
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
