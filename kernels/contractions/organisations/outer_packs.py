"""Outer products on CPU vector units: every variant worth a try, and the variant that is taken without tuning."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from ...engine.backend import cpu
from ..plan import Program
from ..prices import price_of
from .outer import Outer, Terms

LINE = 64  # bytes: streaming stores and pieces keep to cache lines
KIB = 1024


@dataclasses.dataclass(frozen=True)
class OuterPacks(Outer):
    """Outer products on CPU vector units."""

    @classmethod
    def variants(cls, t: Terms, dtype: str) -> list[Outer]:
        size = np.dtype(dtype).itemsize
        found = [*_right(t, size)] if t.layout == "right" else [*_left(t)]
        return list(dict.fromkeys(found))

    def price(self, p: Program, least: float = math.inf) -> float:
        """Stores bypass the caches. That takes longer where the caches would hold the output."""
        (out,) = p.expression.outputs
        held = p.entries * p.arrays[out].size * np.dtype(p.dtype).itemsize
        if 0 < held <= cpu.third_cache():
            return least * price_of("outer_rest")
        return super().price(p, least)

    @classmethod
    def default(cls, t: Terms, dtype: str) -> Outer:
        """Points fastest: pages of 512 points (4 KiB) in each row. Points slowest: pieces of 8 KiB, in L1.

        Streaming stores and the sizes of caches may not be what they were where these won: tune.
        """
        for v in cls.variants(t, dtype):
            if v.name == "block" and (t.layout == "right" or (v.work.points, v.work.tile) == (512, 1)):
                return v

        raise AssertionError("no block variant")


def _jam(tile: int, stream: int = 0) -> Outer:
    """So many rows in registers. stream: stores bypass the caches, and begin on cache lines."""
    return OuterPacks.of(name="jam", form="unroll_and_jam", stream=stream, tile=tile, aligned=LINE if stream else 1)


def _left(t: Terms):
    """Points fastest."""
    yield OuterPacks.of(name="naive", form="naive")
    yield OuterPacks.of(name="unrolled", form="compiler_unrolled")
    for tile in t.tiles(2, 4, 8):
        yield OuterPacks.of(name="tiled", form="tiled", tile=tile)
        yield OuterPacks.of(name="local", form="local_arrays", tile=tile)
    for tile in t.tiles(2, 4, 8, 16):
        yield _jam(tile)
        yield _jam(tile, stream=1)

    for points in (128, 512, 2048):
        for tile in (1, 2):
            yield OuterPacks.of(
                name="block", form="block_team_left_cpu", stream=1, points=points, tile=tile, aligned=LINE
            )


def _right(t: Terms, size: int):
    """Points slowest. size: bytes of a number."""
    yield OuterPacks.of(name="naive", form="naive")
    yield OuterPacks.of(name="unrolled", form="compiler_unrolled")
    for tile in t.tiles(2, 4, 8):
        yield OuterPacks.of(name="tiled", form="tiled", tile=tile)
    for tile in t.tiles(2, 4, 8, 16):
        yield _jam(tile)

    # Rows that end on cache lines can be streamed where they are made.
    yield OuterPacks.of(name="warp", form="warp_team_cpu")
    if t.nx % (LINE // size) == 0:
        yield OuterPacks.of(name="warp", form="warp_team_cpu", stream=1, aligned=LINE)

    for kib in (8, 32, 128):
        points = max(1, kib * KIB // (t.nx * t.ny * size))
        yield OuterPacks.of(name="block", form="block_team_cpu", stream=1, points=points)
