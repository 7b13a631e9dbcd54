"""The species-loop kernel, declared once: names, formula, layouts, organisations, and the oracle they all share."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..backend.base import Shape, Source

NAME = "species_loop"
FORMULA = "out[y, x] = ax[x] ay[y] + bx[x] by[y] at each point, x and y from 0 to ns - 1"
READS = ("ax", "bx", "ay", "by")  # ns values a point
RECORD = "ax:address bx:address ay:address by:address out:address ld:whole"  # of a launch's arguments, as in loops.h
SOURCE = "M. Carilli, talk on the CASTLES + Kokkos framework (2017), part 2: bandwidth-bound inner loops"
LAYOUTS = {
    "left": "point fastest: ax (ns, points), out (ns*ns, points)",
    "right": "species fastest: ax (points, ns), out (points, ns*ns)",
}
STRATEGIES = {
    "naive": "a thread (CPU: a vector) a point, nothing unrolled",
    "compiler-unrolled": "the same loops, unrolled as the compiler likes",
    "tiled": "so many rows y for each x, reuse left to the caches",
    "tiled, reduced occupancy": "the same with fewer resident threads, so that each has more cache",
    "local arrays": "tiled, the tile's y inputs in an array of the thread's own",
    "unroll and jam": "so many rows y in registers, served by one load of x",
    "warp team": "a warp (CPU: the lanes of a vector) a point",
    "block team": "a block (CPU: a cache) for a group of points, staged in shared memory",
}
TYPES = {"float64": "double", "float32": "float"}
ALL = 2**62  # points: one block covers them


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to compile and launch a strategy.

    label: its line in tables (strategy and tile). header, call: the C++ that does it. macros: its numbers. aligned:
    arrays have to start, and rows to follow, on so many bytes. On a device: threads of a block, `covers` points a
    block, bytes of dynamic shared memory, and resident: blocks a multiprocessor that loop over all points (0: as many
    blocks as the points need); roomy: a block may take all registers, where the compiler by itself would rather spill
    some than run fewer blocks at once; generation: the least compute capability that has its instructions.
    """

    strategy: str
    layout: str
    label: str
    header: str
    call: str
    macros: tuple[tuple[str, int], ...]
    aligned: int = 1
    threads: int = 0
    covers: int = 0
    shared: int = 0
    resident: int = 0
    roomy: bool = False
    generation: int = 0

    @property
    def id(self) -> str:
        numbers = [f"{k.lower()}={v}" for k, v in self.macros]
        numbers += [f"{k}={getattr(self, k)}" for k in ("threads", "shared", "resident") if getattr(self, k)]
        numbers += ["roomy"] * self.roomy
        return f"{self.layout}: {self.label}; {self.header} {' '.join(numbers)}"

    @property
    def vector(self) -> int:
        """Neighbouring points that a thread of a device takes at once; what is left over has a launch of its own."""
        return dict(self.macros).get("VECTOR", 1) if self.layout == "left" else 1

    @property
    def shape(self) -> Shape:
        return Shape(self.threads, self.covers, self.shared, self.resident)

    def source(self, ns: int, dtype) -> Source:
        """Kernels `species_loop` and, for what whole vectors leave over, `species_loop_rest`."""
        real = TYPES[np.dtype(dtype).name]
        values = {"REAL": real, "SPECIES": ns, "RIGHT": int(self.layout == "right"), **dict(self.macros)}
        bounds = f"{self.threads}, 1" if self.roomy else f"{self.threads}"
        lines = [f"#define {k} {v}" for k, v in values.items()]
        lines += [f'#include "species_loops/{self.header}"', f"SPECIES_LOOP(species_loop, {self.call}, {bounds})"]
        lines += [f"SPECIES_LOOP(species_loop_rest, rest, {REST.threads})"] * (self.vector > 1)
        return Source(f"species_loop-{ns}", "\n".join([*lines, ""]))


REST = Shape(threads=32, covers=ALL)


def shapes(layout: str, ns: int, n: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Shapes of an input and of the output; n is the row length where points are fastest."""
    return ((ns, n), (ns * ns, n)) if layout == "left" else ((n, ns), (n, ns * ns))


def oracle(layout: str, ax, bx, ay, by):
    """(values, sum of the terms' sizes) by NumPy broadcasting in float64; inputs and results in the layout's shapes."""
    ax, bx, ay, by = (np.asarray(a, dtype=np.float64) for a in (ax, bx, ay, by))
    one, other = (
        ((slice(None), None), (None, slice(None)))
        if layout == "left"
        else ((slice(None), slice(None), None), (slice(None), None))
    )
    first, second = ax[other] * ay[one], bx[other] * by[one]
    shape = (-1, ax.shape[1]) if layout == "left" else (ax.shape[0], -1)
    return (first + second).reshape(shape), (abs(first) + abs(second)).reshape(shape)


def bytes_a_point(ns: int, dtype) -> int:
    """Inputs read once and outputs written once."""
    return (len(READS) * ns + ns * ns) * np.dtype(dtype).itemsize
