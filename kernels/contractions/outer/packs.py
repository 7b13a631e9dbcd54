"""Outer products on CPU vector units: every variant worth a try, and the one taken where nobody chose."""

from __future__ import annotations

import numpy as np

from .organisation import Outer, Terms

LINE = 64  # bytes: streaming stores and pieces keep to cache lines


def variants(t: Terms, dtype: str) -> list[Outer]:
    """Every variant worth a try."""
    size, right = np.dtype(dtype).itemsize, t.layout == "right"
    made = [Outer("naive", "naive"), Outer("unrolled", "compiler_unrolled")]
    for tile in (2, 4, 8):
        if tile < 2 * t.ny:
            made.append(Outer("tiled", "tiled", tile=tile))
            made += [Outer("local", "local_arrays", tile=tile)] * (not right)
    for tile in (2, 4, 8, 16):
        if tile < 2 * t.ny:
            made += [
                Outer("jam", "unroll_and_jam", stream=s, tile=tile, aligned=LINE if s else 1)
                for s in ((0,) if right else (0, 1))
            ]
    if right:
        # rows that end on lines can be streamed where they are made
        for s in (0, 1) if t.nx % (LINE // size) == 0 else (0,):
            made.append(Outer("warp", "warp_team_cpu", stream=s, aligned=LINE if s else 1))
        for kib in (8, 32, 128):
            made.append(Outer("block", "block_team_cpu", stream=1, points=max(1, kib * 1024 // (t.nx * t.ny * size))))
        return list(dict.fromkeys(made))
    for count in (128, 512, 2048):
        for tile in (1, 2):
            made.append(Outer("block", "block_team_left_cpu", stream=1, points=count, tile=tile, aligned=LINE))
    return made


def default(t: Terms, dtype: str) -> Outer:
    """Without tuning: points fastest, pages of 512 points (4 KiB) in each row; points slowest, pieces of 8 KiB in L1.
    Neither streaming stores nor the caches' sizes are certain to be what they were where these won: tune."""
    able = [v for v in variants(t, dtype) if v.name == "block"]
    return next(v for v in able if t.layout == "right" or (v.points, v.tile) == (512, 1))
