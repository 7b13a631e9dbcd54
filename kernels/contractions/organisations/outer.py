"""Outer products at a point, `out[y x] = ax[x] ay[y] + bx[x] by[y]` with the point index t: eight strategies in two
layouts. The headers in outer/ do the work; outer_packs.py and outer_threads.py list the variants worth a try.

Organisations and layouts follow M. Carilli's talk on CASTLES and Kokkos (2017), part 2: bandwidth-bound inner loops
over species, out[y x] = ax[x] ay[y] + bx[x] by[y].
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...engine.backend.base import Shape, Source
from ...engine.backend.facts import REFERENCE
from ...engine.backend.record import record, structure
from ...engine.errors import VariantUnsuitable, refuse
from ..expression import Term
from ..plan import Program, includes, program_source
from ..prices import price_of
from .base import Organisation

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
CALLS = {  # what goes over the points, by form; others: over_points
    "block_team": "over_teams",
    "block_team_left": "over_teams",
    "bulk_team": "over_teams",
    "warp_team": "over_teams",
    "warp_team_cpu": "over_teams",
    "block_team_cpu": "over_blocks",
    "block_team_left_cpu": "over_blocks",
}


@dataclasses.dataclass(frozen=True)
class Values:
    """How values are loaded and stored."""

    stream: int = 0  # 1: stores bypass the caches
    vector: int = 0  # neighbouring values of a load or store of a device
    ahead: int = 0  # loads asked for ahead
    aligned: int = 1  # bytes: arrays start, and rows follow, at multiples of it


@dataclasses.dataclass(frozen=True)
class Work:
    """Points and rows that are worked on together."""

    tile: int = 0  # rows y at a time
    points: int = 0  # of a block or piece, staged together
    groups: int = 0  # of threads that share the rows y
    rows: int = 0  # of threads of a block
    parts: int = 0  # vectors of a thread that run on over the ends of rows


@dataclasses.dataclass(frozen=True)
class Block:
    """A block of a device."""

    threads: int = 0
    covers: int = 0  # points
    shared: int = 0  # bytes of dynamic shared memory
    resident: int = 0  # blocks a multiprocessor that loop over all points; 0: as many blocks as the points need
    roomy: bool = False  # a block may take all registers; without it the compiler may spill to fit more blocks
    generation: int = 0  # least compute capability


@dataclasses.dataclass(frozen=True)
class Outer(Organisation):
    """A strategy for outer products with its numbers. The subclasses know the variants of one style of backend."""

    NAMES: ClassVar[tuple[str, ...]] = tuple(STRATEGIES)
    SPECIAL: ClassVar[bool] = True
    REPLACEMENT: ClassVar[str] = "naive"

    strategy: str = dataclasses.field(metadata={"word": False})  # key of STRATEGIES: the name in texts
    form: str = "naive"  # the header that does the work, outer/FORM.h
    values: Values = Values()
    work: Work = Work()
    block: Block = Block()

    @property
    def name(self) -> str:
        return self.strategy

    @property
    def label(self) -> str:
        """The line in tables: strategy and tile."""
        if self.strategy == "occupancy":
            blocks = max(1, REFERENCE.shared_resident // (self.block.shared + 2 * REFERENCE.shared_reserved))
            return f"tiled by {self.work.tile}, occupancy 1/{8 // blocks}"

        told = STRATEGIES[self.strategy][0]
        if self.strategy in ("tiled", "local", "jam"):
            told += f" by {self.work.tile}"
        if self.work.parts > 1:
            told += ", flat"
        if self.form == "bulk_team":
            told += ", bulk stores"

        return told

    def __str__(self):
        return self.label

    @property
    def shape(self) -> Shape:
        return Shape(self.block.threads, self.block.covers, self.block.shared, self.block.resident)

    # ---- variants
    @classmethod
    def of(cls, *, name: str = "", **values):
        return super().of(name=name, strategy=name, **values)

    @classmethod
    def variants(cls, t: Terms, dtype: str) -> list[Outer]:
        """Every variant worth a try. A variant that a device cannot hold is refused when it is bound."""
        raise NotImplementedError

    @classmethod
    def default(cls, t: Terms, dtype: str) -> Outer:
        """The variant that is taken without tuning."""
        raise NotImplementedError

    def defines(self) -> dict[str, Any]:
        """Macros of the style of backend."""
        return {}

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        """The default, and the first variant of every other strategy, if the program is an outer product."""
        t = terms_of(p)
        if t is None:
            return []

        found: dict[str, Organisation] = {}
        for v in cls.variants(t, p.dtype):
            found.setdefault(v.name, v)

        default = cls.default(t, p.dtype)
        found[default.name] = default
        return list(found.values())

    def price(self, p: Program, least: float = math.inf) -> float:
        t = terms_of(p)
        usual = t is not None and self == self.default(t, p.dtype)
        return least * price_of("outer" if usual else "outer_rest")

    # ---- text and launch
    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source:
        """Kernels `contraction` and, for what whole vectors leave over, `contraction_rest`."""
        t = required(p, self.name)
        values = {
            "NX": t.nx,
            "NY": t.ny,
            "TERMS": len(t.x),
            "RIGHT": int(t.layout == "right"),
            "STREAM": self.values.stream,
        }
        values |= self.defines()

        for name in ("tile", "points", "groups", "rows", "parts", "ahead"):
            if self.value(name):
                values[name.upper()] = self.value(name)

        call = CALLS.get(self.form, "over_points")
        loops = f"(Loops{{{_addresses(t.x)}, {_addresses(t.y)}, (real *)a.at_{t.out}, items, a.ld_{t.out}}})"
        bounds = f"{self.block.threads}, 1" if self.block.roomy else f"{self.block.threads}"
        text = [
            *(f"#define {k} {v}" for k, v in values.items()),
            f"#define OUTER(x, y) ({formula(t)})",
            *includes(f"contractions/outer/{self.form}.h"),
            structure("Arguments", members(p)),
            f"OUTER_LOOP(contraction, {call}, {loops}, {bounds})",
        ]
        if t.vector(self) > 1:
            text.append(f"OUTER_LOOP(contraction_rest, rest, {loops}, {REST.threads})")

        return program_source(self.name, p, text, quick=quick)

    def launch(self, plan, arrays, values, n: int):
        """run() for all n points. Raises VariantUnsuitable if rows differ in length, entries lie apart, arrays are not
        aligned, or the device lacks the instructions."""
        p, backend = plan.program, plan.backend
        t = required(p, self.name)
        self._check(p, t, values, n, plan.dtype.itemsize, backend.generation)

        module = plan.module(self)
        names = [a.name for a in p.arguments]
        row = values[f"ld_{t.out}"] if t.layout == "left" else 0
        held = record(members(p), **{f"at_{x}": values[f"at_{x}"] for x in names}, **{f"ld_{t.out}": row})
        keep = list(arrays.values())
        run = module.bind("contraction", self.shape, held, keep=keep)
        if n % t.vector(self) == 0:
            return lambda: run(n)

        rest = module.bind("contraction_rest", REST, held, keep=keep)
        return lambda: (run(n), rest(n))

    def _check(self, p: Program, t: Terms, values, n: int, size: int, generation: int) -> None:
        names = [a.name for a in p.arguments]

        rows = {0}
        if t.layout == "left":
            rows = {values[f"ld_{name}"] for name in names}

        refuse(len(rows) > 1, f"{self.label}: rows of different lengths {sorted(rows)}.", VariantUnsuitable)

        if t.layout == "right" and n > 1:
            for name in names:
                apart = values[f"step_{name}"] != p.arrays[name].size
                refuse(apart, f"{self.label}: entries of '{name}' lie apart.", VariantUnsuitable)

        places = [*(values[f"at_{x}"] for x in names), *(r * size for r in rows)]
        odd = any(place % self.values.aligned for place in places)
        refuse(odd, f"{self.label}: arrays are not aligned to {self.values.aligned} bytes.", VariantUnsuitable)

        refuse(
            self.block.generation > generation,
            f"{self.label}: it needs compute capability {self.block.generation}, this is {generation}.",
            VariantUnsuitable,
        )

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        t = terms_of(p)
        known = self.variants(t, p.dtype) if t else []
        return {"variant": tuple(v for v in known if v.name == self.name)}

    def value(self, name: str):
        return self if name == "variant" else super().value(name)

    def moved(self, name: str, value):
        return value

    def cost(self, p: Program, moved: int, least: float) -> float:
        return least * price_of("outer")


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
        return max(how.values.vector, 1) if self.layout == "left" else 1

    def tiles(self, *sizes: int) -> list[int]:
        """The sizes of a tile of rows y of which a whole one, or most of one, is there."""
        return [tile for tile in sizes if tile < 2 * self.ny]

    def bytes(self, dtype: str) -> int:
        """Bytes of a point: inputs read once and outputs written once."""
        return (len(self.x) * (self.nx + self.ny) + self.nx * self.ny) * np.dtype(dtype).itemsize


def terms_of(p: Program) -> Terms | None:
    """The outer product that a program is; None if it is something else."""
    if len(p.statements) != 1 or not p.batch or p.mixed or len(p.of_kind("argument")) < len(p.arrays):
        return None

    (s,) = p.statements
    if s.function or s.add or p.expression.symmetric or not s.terms or len(s.out.indices) != 3:
        return None

    # The point index is the slowest or the fastest of all arrays.
    place = s.out.indices.index(p.batch)
    if place == 1:
        return None

    y, x = (i for i in s.out.indices if i != p.batch)

    factors: dict[str, list[str]] = {x: [], y: []}  # names, by index
    for t in s.terms:
        by = _by_index(p, t, min(place, 1))
        if set(by) != {x, y}:
            return None

        factors[x].append(by[x])
        factors[y].append(by[y])

    layout = "right" if place == 0 else "left"
    numbers = tuple(t.number for t in s.terms)
    return Terms(layout, p.sizes[x], p.sizes[y], numbers, tuple(factors[x]), tuple(factors[y]), s.out.name)


def _by_index(p: Program, t: Term, place: int) -> dict[str, str]:
    """{index: factor} of a product of two vectors at each point; empty if it is something else.

    place: of the point index in each factor.
    """
    found: dict[str, str] = {}
    for f in t.factors:
        if len(f.indices) != 2 or f.indices.count(p.batch) != 1 or f.indices.index(p.batch) != place:
            return {}
        found[f.indices[1 - place]] = f.name

    return found if len(t.factors) == 2 else {}


def required(p: Program, name: str) -> Terms:
    """The outer product that a program is. Raises ArgumentError if it is something else."""
    t = terms_of(p)
    wanted = f"tensor expression: '{name}' is for outer products, out[y x] = a[x] b[y] + ... at each point."
    refuse(t is None, wanted)
    assert t is not None

    return t


def _addresses(names) -> str:
    """C++ of the pointers to arrays."""
    return "{" + ", ".join(f"(const real *)a.at_{name}" for name in names) + "}"


def formula(t: Terms) -> str:
    """The C++ formula of numbers x[TERMS], y[TERMS]."""
    text = ""
    for q, number in enumerate(t.numbers):
        product = f"x[{q}] * y[{q}]" if abs(number) == 1 else f"scalar({abs(number)!r}) * (x[{q}] * y[{q}])"
        if q:
            text += f" - {product}" if number < 0 else f" + {product}"
        else:
            text = f"-({product})" if number < 0 else product

    return text


def members(p: Program) -> str:
    """Members of the record of arguments."""
    return " ".join([f"at_{a.name}:address" for a in p.arguments] + [f"ld_{p.expression.outputs[0]}:whole"])
