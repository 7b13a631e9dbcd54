"""Outer products on CPU vector units: every variant worth a try, and the one taken where nobody chose."""

from __future__ import annotations

import dataclasses

import numpy as np

from .outer import Outer, Terms

LINE = 64  # bytes: streaming stores and pieces keep to cache lines


@dataclasses.dataclass(frozen=True)
class OuterPacks(Outer):
    """Outer products on CPU vector units."""

    @classmethod
    def variants(cls, t: Terms, dtype: str) -> list[Outer]:
        return _variants(t, dtype)

    @classmethod
    def default(cls, t: Terms, dtype: str) -> Outer:
        """Points fastest: pages of 512 points (4 KiB) in each row. Points slowest: pieces of 8 KiB, in L1.

        Streaming stores and the sizes of caches may not be what they were where these won: tune.
        """
        for v in cls.variants(t, dtype):
            if v.name == "block" and (t.layout == "right" or (v.points, v.tile) == (512, 1)):
                return v

        raise AssertionError("no block variant")


def _variants(t: Terms, dtype: str) -> list[Outer]:
    size, right = np.dtype(dtype).itemsize, t.layout == "right"
    made: list[Outer] = [OuterPacks("naive", "naive"), OuterPacks("unrolled", "compiler_unrolled")]
    for tile in (2, 4, 8):
        if tile < 2 * t.ny:
            made.append(OuterPacks("tiled", "tiled", tile=tile))
            made += [OuterPacks("local", "local_arrays", tile=tile)] * (not right)

    for tile in (2, 4, 8, 16):
        if tile < 2 * t.ny:
            made += [
                OuterPacks("jam", "unroll_and_jam", stream=s, tile=tile, aligned=LINE if s else 1)
                for s in ((0,) if right else (0, 1))
            ]

    if right:
        # rows that end on lines can be streamed where they are made
        for s in (0, 1) if t.nx % (LINE // size) == 0 else (0,):
            made.append(OuterPacks("warp", "warp_team_cpu", stream=s, aligned=LINE if s else 1))
        for kib in (8, 32, 128):
            made.append(
                OuterPacks("block", "block_team_cpu", stream=1, points=max(1, kib * 1024 // (t.nx * t.ny * size)))
            )
        return list(dict.fromkeys(made))

    for count in (128, 512, 2048):
        for tile in (1, 2):
            made.append(OuterPacks("block", "block_team_left_cpu", stream=1, points=count, tile=tile, aligned=LINE))

    return made
