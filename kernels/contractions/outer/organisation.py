"""Outer products at a point, out[y x] = sum of x factors times y factors: which texts are some, and how they are
organised.

Organisations and layouts follow M. Carilli's talk on CASTLES and Kokkos (2017), part 2: bandwidth-bound inner loops
over species, out[y x] = ax[x] ay[y] + bx[x] by[y].
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from ...engine.backend.base import Shape, Source
from ...engine.backend.record import structure
from ...engine.errors import refuse
from ..plan import Program

STRATEGIES = {
    "naive": ("naive", "a thread (CPU: a vector) a point, nothing unrolled"),
    "unrolled": ("compiler-unrolled", "the same loops, unrolled as the compiler likes"),
    "tiled": ("tiled", "so many rows y for each x, reuse left to the caches"),
    "occupancy": (
        "tiled, reduced occupancy",
        "the same with fewer resident threads, so that each has more cache",
    ),
    "local": ("local arrays", "tiled, the tile's y inputs in an array of the thread's own"),
    "jam": ("unroll and jam", "so many rows y in registers, served by one load of x"),
    "warp": ("warp team", "a warp (CPU: the lanes of a vector) a point"),
    "block": ("block team", "a block (CPU: a cache) for a group of points, staged in shared memory"),
}
ALL = 2**62  # points: one block covers them
REST = Shape(threads=32, covers=ALL)
LAYOUTS = ("left", "right")
OVER_TEAMS = ("block_team", "block_team_left", "bulk_team", "warp_team", "warp_team_cpu")
OVER_BLOCKS = ("block_team_cpu", "block_team_left_cpu")


@dataclasses.dataclass(frozen=True)
class Outer:
    """An organisation. form: the header that does it. stream: stores pass the caches by. vector: neighbouring values a
    load or store of a device takes. tile: rows y at a time. points, groups, rows, parts, ahead: as the header says.
    aligned: arrays have to start, and rows to follow, on so many bytes. On a device: threads of a block, `covers`
    points a block, bytes of dynamic shared memory, and resident: blocks a multiprocessor that loop over all points (0:
    as many blocks as the points need); roomy: a block may take all registers, where the compiler by itself would rather
    spill some than run fewer blocks at once; generation: the least compute capability that has its instructions."""

    name: str
    form: str = "naive"
    stream: int = 0
    vector: int = 0
    tile: int = 0
    points: int = 0
    groups: int = 0
    rows: int = 0
    parts: int = 0
    ahead: int = 0
    aligned: int = 1
    threads: int = 0
    covers: int = 0
    shared: int = 0
    resident: int = 0
    roomy: bool = False
    generation: int = 0

    @property
    def label(self) -> str:
        """Its line in tables: strategy and tile."""
        told = STRATEGIES[self.name][0]
        if self.name == "occupancy":
            return f"tiled by {self.tile}, occupancy 1/{8 // max(1, 228 * 1024 // (self.shared + 2048))}"
        told += f" by {self.tile}" if self.name in ("tiled", "local", "jam") else ""
        return told + ", flat" * (self.parts > 1) + ", bulk stores" * (self.form == "bulk_team")

    def __str__(self):
        return self.label

    @property
    def shape(self) -> Shape:
        return Shape(self.threads, self.covers, self.shared, self.resident)


class Terms(NamedTuple):
    """An outer product: layout of the point index, extents of x and y, and of each term number, x factor, y factor."""

    layout: str
    nx: int
    ny: int
    numbers: tuple[float, ...]
    x: tuple[str, ...]
    y: tuple[str, ...]
    out: str

    def vector(self, how: Outer) -> int:
        """Neighbouring points that a thread of a device takes at once; what is left over has a launch of its own."""
        return max(how.vector, 1) if self.layout == "left" else 1

    def bytes(self, dtype: str) -> int:
        """Of a point: inputs read once and outputs written once."""
        return (len(self.x) * (self.nx + self.ny) + self.nx * self.ny) * np.dtype(dtype).itemsize


def terms_of(p: Program) -> Terms | None:
    """The outer product that a program is; None where it is something else."""
    e = p.expression
    if len(p.statements) != 1 or not p.batch or any(a.mixed or a.kind != "argument" for a in p.arrays.values()):
        return None
    (s,) = p.statements
    if s.function or s.add or e.symmetric or not s.terms or len(s.out.indices) != 3:
        return None
    place = s.out.indices.index(p.batch)
    if place == 1:
        return None
    y, x = (i for i in s.out.indices if i != p.batch)
    found: list[tuple[str, str]] = []
    for t in s.terms:
        if len(t.factors) != 2:
            return None
        by = {}
        for f in t.factors:
            own = [i for i in f.indices if i != p.batch]
            if len(f.indices) != 2 or len(own) != 1 or f.indices.index(p.batch) != min(place, 1):
                return None
            by[own[0]] = f.name
        if set(by) != {x, y}:
            return None
        found.append((by[x], by[y]))
    xs, ys = zip(*found)
    layout = "right" if place == 0 else "left"
    return Terms(layout, p.sizes[x], p.sizes[y], tuple(t.number for t in s.terms), xs, ys, s.out.name)


def formula(t: Terms) -> str:
    """Of numbers x[TERMS], y[TERMS]."""
    text = ""
    for q, number in enumerate(t.numbers):
        product = f"x[{q}] * y[{q}]" if abs(number) == 1 else f"scalar({abs(number)!r}) * (x[{q}] * y[{q}])"
        sign = " - " if number < 0 else " + "
        text += f"{sign}{product}" if q else f"-({product})" if number < 0 else product
    return text


def members(p: Program) -> str:
    """Of the record of arguments."""
    return " ".join([f"at_{a.name}:address" for a in p.arguments] + [f"ld_{p.expression.outputs[0]}:whole"])


def source(p: Program, how: Outer, style: str, quick: bool = False) -> Source:
    """Kernels `contraction` and, for what whole vectors leave over, `contraction_rest`."""
    t = terms_of(p)
    refuse(
        t is None, f"tensor expression: '{how.name}' is for outer products, out[y x] = a[x] b[y] + ... at each point."
    )
    assert t is not None
    values = {"NX": t.nx, "NY": t.ny, "TERMS": len(t.x), "RIGHT": int(t.layout == "right"), "STREAM": how.stream}
    if style == "threads":
        values |= {"VECTOR": max(how.vector, 1), "BLOCK": how.threads}
    for name in ("tile", "points", "groups", "rows", "parts", "ahead"):
        if getattr(how, name):
            values[name.upper()] = getattr(how, name)
    call = "over_teams" if how.form in OVER_TEAMS else "over_blocks" if how.form in OVER_BLOCKS else "over_points"
    at = lambda names: "{" + ", ".join(f"(const real *)a.at_{name}" for name in names) + "}"
    loops = f"(Loops{{{at(t.x)}, {at(t.y)}, (real *)a.at_{t.out}, items, a.ld_{t.out}}})"
    bounds = f"{how.threads}, 1" if how.roomy else f"{how.threads}"
    text = [
        *(["#define FRAME_SINGLE"] if p.dtype == "float32" else []),
        *(f"#define {k} {v}" for k, v in values.items()),
        f"#define OUTER(x, y) ({formula(t)})",
        f'#include "contractions/outer/{how.form}.h"',
        structure("Arguments", members(p)),
        f"OUTER_LOOP(contraction, {call}, {loops}, {bounds})",
        *([f"OUTER_LOOP(contraction_rest, rest, {loops}, {REST.threads})"] * (t.vector(how) > 1)),
        "",
    ]
    return Source(f"tensor-{how.name}", "\n".join(text), quick=quick, entry="contraction", title=p.title)
