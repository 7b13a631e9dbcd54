"""The species loops on CUDA devices: every variant worth a try, and the one taken where nobody chose."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from .declaration import Variant

MULTIPROCESSOR_SHARED = 228 * 1024  # bytes, Hopper; Ampere 164


def variants(ns: int, dtype) -> list[Variant]:
    """Every variant worth a try for ns species; those that a device cannot hold say so when they are bound."""
    return [*_threads(ns, dtype), *_left_teams(ns, dtype), *_right_teams(ns, dtype)]


def _threads(ns, dtype):
    """A thread for one point, or for 16 bytes of neighbouring points."""
    size = np.dtype(dtype).itemsize
    wide = 16 // size

    def points(
        strategy, label, header, vector=1, threads=256, stream=0, layout="left", shared=0, roomy=False, **macros
    ):
        return Variant(
            strategy,
            layout,
            label,
            header,
            "over_points",
            (("STREAM", stream), ("VECTOR", vector), *macros.items()),
            aligned=vector * size,
            threads=threads,
            covers=threads * vector,
            shared=shared,
            roomy=roomy,
        )

    yield points("naive", "naive", "naive.h")
    yield points("naive", "naive", "naive.h", layout="right")
    yield points("compiler-unrolled", "compiler-unrolled", "compiler_unrolled.h")
    yield points("compiler-unrolled", "compiler-unrolled", "compiler_unrolled.h", stream=1)
    yield points(
        "compiler-unrolled", "compiler-unrolled", "compiler_unrolled.h", stream=1, threads=128, vector=2, roomy=True
    )
    for t in (2, 4, 8):
        if t < 2 * ns:
            yield points("tiled", f"tiled by {t}", "tiled.h", TILE=t)
            yield points("local arrays", f"local arrays by {t}", "local_arrays.h", TILE=t)
    for t in (4, 8):
        if t < 2 * ns:
            for blocks in (4, 2, 1):  # of 256 threads on a multiprocessor that could hold 8
                shared = (MULTIPROCESSOR_SHARED // blocks - 1024) // 1024 * 1024 - 1024
                yield points(
                    "tiled, reduced occupancy",
                    f"tiled by {t}, occupancy 1/{8 // blocks}",
                    "tiled.h",
                    shared=shared,
                    TILE=t,
                )
    for t in (2, 4, 8, 16):
        if t < 2 * ns:
            jam = functools.partial(points, "unroll and jam", f"unroll and jam by {t}", "unroll_and_jam.h", TILE=t)
            yield jam(AHEAD=1)
            yield jam(stream=1, AHEAD=4)
            for threads in (128, 256, 512):
                if threads * t * wide <= 8192:  # registers
                    yield jam(stream=1, AHEAD=2, vector=wide, threads=threads)
                    if threads < 512:
                        yield jam(stream=1, AHEAD=2, vector=wide, threads=threads, roomy=True)


def _left_teams(ns, dtype):
    """Points fastest, x inputs of a block's points in shared memory."""
    size = np.dtype(dtype).itemsize
    wide = 16 // size
    for points in (64, 128, 256, 512, 1024):
        columns, shared = points // wide, 2 * ns * points * size
        for tile, groups in (
            (4, 4),
            (4, 8),
            (8, 2),
            (8, 4),
            *([] if ns % 25 else [(10, 5), (25, 2)]),
        ):  # the last: the groups have the same to do
            threads = columns * groups
            if 128 <= threads <= 512 and 32 <= columns and tile * (groups - 1) < ns and shared <= MULTIPROCESSOR_SHARED:
                for roomy in (False, True):
                    yield Variant(
                        "block team",
                        "left",
                        "block team",
                        "block_team_left.h",
                        "over_teams",
                        (
                            ("STREAM", 1),
                            ("VECTOR", wide),
                            ("POINTS", points),
                            ("TILE", tile),
                            ("GROUPS", groups),
                            ("AHEAD", 2),
                        ),
                        aligned=16,
                        threads=threads,
                        covers=points,
                        shared=shared,
                        roomy=roomy,
                    )


def _right_teams(ns, dtype):
    """Species fastest: a warp a point, a block for a few points, and the latter with bulk stores."""
    size = np.dtype(dtype).itemsize
    wide = next(v for v in (16 // size, 2, 1) if ns % v == 0 and v * size <= 16)

    def warps(vector, stream, threads, ahead, resident):
        return Variant(
            "warp team",
            "right",
            "warp team",
            "warp_team.h",
            "over_teams",
            (("STREAM", stream), ("VECTOR", vector), ("AHEAD", ahead)),
            aligned=vector * size,
            threads=threads,
            covers=threads // 32,
            resident=resident,
        )

    yield warps(1, 0, 256, 1, 0)
    yield warps(wide, 1, 256, 4, 0)
    yield warps(wide, 1, 128, 4, 0)
    yield warps(wide, 1, 256, 4, 8)
    yield warps(wide, 0, 256, 4, 0)
    columns = ns // wide
    seen = set()
    for about in (128, 256, 512):
        rows = max(1, about // columns)
        for turns in (2, 4, 8, 16):
            points = max(1, turns * rows // ns)
            for resident in (0, 2048 // (columns * rows)):
                if (
                    columns * rows <= 1024
                    and 4 * points * ns * size <= 48 * 1024
                    and (rows, points, resident) not in seen
                ):
                    seen.add((rows, points, resident))
                    yield Variant(
                        "block team",
                        "right",
                        "block team",
                        "block_team.h",
                        "over_teams",
                        (("STREAM", 1), ("VECTOR", wide), ("POINTS", points), ("ROWS", rows)),
                        aligned=wide * size,
                        threads=columns * rows,
                        covers=points,
                        shared=4 * points * ns * size,
                        resident=resident,
                    )
    if (
        wide * size < 16 and ns * wide * size % 16 == 0
    ):  # rows are no multiple of 16 bytes: stores run on over their ends
        for rows, points in itertools.product(
            (16, 32, 64, 80), (8, 16, 24, 32)
        ):  # whole lines of 128 bytes at each step and point group
            threads, shared = ns * rows * size // 16, 4 * points * ns * size
            if 128 <= threads <= 1024 and shared <= 48 * 1024 and points * ns >= 2 * rows:
                for resident in (0, 2048 // threads):
                    yield Variant(
                        "block team",
                        "right",
                        "block team, flat",
                        "block_team.h",
                        "over_teams",
                        (
                            ("STREAM", 1),
                            ("VECTOR", wide),
                            ("POINTS", points),
                            ("ROWS", rows),
                            ("PARTS", 16 // (wide * size)),
                        ),
                        aligned=16,
                        threads=threads,
                        covers=points,
                        shared=shared,
                        resident=resident,
                    )
    whole = next(p for p in (1, 2, 4, 8) if p * ns * ns * size % 32 == 0)  # pieces are whole sectors of memory
    seen.clear()
    for kib in (8, 16, 32, 40, 80):
        points = max(1, kib * 1024 // (ns * ns * size * whole)) * whole
        values = -(-points * ns * ns // 32) * 32
        shared = (2 * values + 4 * points * ns) * size
        if points not in seen and shared <= MULTIPROCESSOR_SHARED:
            seen.add(points)
            for threads in (128, 256):
                yield Variant(
                    "block team",
                    "right",
                    "block team, bulk stores",
                    "bulk_team.h",
                    "over_teams",
                    (("STREAM", 0), ("VECTOR", wide), ("POINTS", points), ("BLOCK", threads)),
                    aligned=16,
                    threads=threads,
                    covers=points,
                    shared=shared,
                    resident=min(2048 // threads, MULTIPROCESSOR_SHARED // (shared + 1024)),
                    roomy=True,
                    generation=9,
                )


def default(layout: str, ns: int, dtype) -> Variant:
    """Without tuning: points fastest, as many rows jammed as registers hold; species fastest, a block for a few
    points."""
    able = [v for v in variants(ns, dtype) if v.layout == layout]
    if layout == "left":
        jams = [v for v in able if v.strategy == "unroll and jam" and v.threads == 128 and not v.roomy]
        return jams[-1] if jams else able[0]
    flat = [
        v for v in able if v.label == "block team, flat" and v.threads == 16 * ns and v.covers == 16 and not v.resident
    ]
    return flat[0] if flat else next(v for v in able if v.label == "block team" and not v.resident)
