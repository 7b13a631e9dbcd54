"""The species loops on CPU vector units: every variant worth a try, and the one taken where nobody chose."""

from __future__ import annotations

import numpy as np

from .declaration import Variant

LINE = 64  # bytes: streaming stores and pieces keep to cache lines
COPY = Variant("copy", "left", "copy", "copy_cpu.h", "over_blocks", (("STREAM", 1),), aligned=LINE)


def variants(ns: int, dtype) -> list[Variant]:
    """Every variant worth a try for ns species."""
    size = np.dtype(dtype).itemsize
    grain = LINE // size

    def points(strategy, label, header, layouts=("left", "right"), stream=(0,), **macros):
        for layout in layouts:
            for s in stream:
                yield Variant(
                    strategy,
                    layout,
                    label,
                    header,
                    "over_points",
                    (("STREAM", s), *macros.items()),
                    aligned=LINE if s else 1,
                )

    out = [
        *points("naive", "naive", "naive.h"),
        *points("compiler-unrolled", "compiler-unrolled", "compiler_unrolled.h"),
    ]
    tiles = [t for t in (2, 4, 8) if t < 2 * ns]
    for t in tiles:
        out += points("tiled", f"tiled by {t}", "tiled.h", TILE=t)
        out += points("local arrays", f"local arrays by {t}", "local_arrays.h", ("left",), TILE=t)
    for t in (2, 4, 8, 16):
        if t < 2 * ns:
            out += points("unroll and jam", f"unroll and jam by {t}", "unroll_and_jam.h", ("left",), (0, 1), TILE=t)
            out += points("unroll and jam", f"unroll and jam by {t}", "unroll_and_jam.h", ("right",), TILE=t)
    # rows that end on lines can be streamed where they are made
    for s in (0, 1) if ns % grain == 0 else (0,):
        out.append(
            Variant(
                "warp team",
                "right",
                "warp team",
                "warp_team_cpu.h",
                "over_teams",
                (("STREAM", s),),
                aligned=LINE if s else 1,
            )
        )
    for kib in (8, 32, 128):
        count = max(1, kib * 1024 // (ns * ns * size))
        piece = Variant(
            "block team", "right", "block team", "block_team_cpu.h", "over_blocks", (("STREAM", 1), ("POINTS", count))
        )
        if piece not in out:
            out.append(piece)
    for count in (128, 512, 2048):
        for t in (1, 2):
            out.append(
                Variant(
                    "block team",
                    "left",
                    "block team",
                    "block_team_left_cpu.h",
                    "over_blocks",
                    (("STREAM", 1), ("POINTS", count), ("TILE", t)),
                    aligned=LINE,
                )
            )
    return out


def default(layout: str, ns: int, dtype) -> Variant:
    """Without tuning: points fastest, pages of 512 points (4 KiB) in each row; species fastest, pieces of 8 KiB in L1.
    Neither streaming stores nor the caches' sizes are certain to be what they were where these won: tune."""
    wanted = (("STREAM", 1), ("POINTS", 512), ("TILE", 1))
    able = [v for v in variants(ns, dtype) if v.strategy == "block team" and v.layout == layout]
    return next(v for v in able if layout == "right" or v.macros == wanted)
