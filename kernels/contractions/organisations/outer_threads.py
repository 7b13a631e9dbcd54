"""Outer products on CUDA devices: every variant worth a try, and the one taken where nobody chose."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any

import numpy as np

from .outer import Outer, Terms

MULTIPROCESSOR_SHARED = 228 * 1024  # bytes, Hopper; Ampere 164


@dataclasses.dataclass(frozen=True)
class OuterThreads(Outer):
    """Outer products on CUDA devices."""

    @classmethod
    def variants(cls, t: Terms, dtype: str) -> list[Outer]:
        if t.layout == "left":
            return [*_threads(t, dtype), *_left(t, dtype)]
        naive = OuterThreads("naive", "naive", threads=256, covers=256, vector=1, aligned=np.dtype(dtype).itemsize)
        return [naive, *_right(t, dtype)]

    @classmethod
    def default(cls, t: Terms, dtype: str) -> Outer:
        """Points fastest: as many rows jammed as registers hold. Points slowest: a block for a few points."""
        able = cls.variants(t, dtype)
        if t.layout == "left":
            jams = [v for v in able if v.name == "jam" and v.threads == 128 and not v.roomy]
            return jams[-1] if jams else able[0]

        for v in able:
            if v.parts > 1 and v.threads == 16 * t.nx and v.covers == 16 and not v.resident:
                return v

        return next(v for v in able if v.form == "block_team" and not v.resident and v.parts < 2)

    def defines(self) -> dict[str, Any]:
        return {"VECTOR": max(self.vector, 1), "BLOCK": self.threads}


def _threads(t: Terms, dtype):
    """A thread for one point, or for 16 bytes of neighbouring points."""
    size = np.dtype(dtype).itemsize
    wide = 16 // size

    def points(name, form, vector=1, threads=256, **more):
        return OuterThreads(
            name, form, vector=vector, threads=threads, covers=threads * vector, aligned=vector * size, **more
        )

    yield points("naive", "naive")
    yield points("unrolled", "compiler_unrolled")
    yield points("unrolled", "compiler_unrolled", stream=1)
    yield points("unrolled", "compiler_unrolled", stream=1, threads=128, vector=2, roomy=True)

    for tile in (2, 4, 8):
        if tile < 2 * t.ny:
            yield points("tiled", "tiled", tile=tile)
            yield points("local", "local_arrays", tile=tile)

    for tile in (4, 8):
        if tile < 2 * t.ny:
            for blocks in (4, 2, 1):  # of 256 threads on a multiprocessor that could hold 8
                shared = (MULTIPROCESSOR_SHARED // blocks - 1024) // 1024 * 1024 - 1024
                yield points("occupancy", "tiled", shared=shared, tile=tile)

    for tile in (2, 4, 8, 16):
        if tile < 2 * t.ny:
            jam = functools.partial(points, "jam", "unroll_and_jam", tile=tile)
            yield jam(ahead=1)
            yield jam(stream=1, ahead=4)
            for threads in (128, 256, 512):
                if threads * tile * wide <= 8192:  # registers
                    yield jam(stream=1, ahead=2, vector=wide, threads=threads)
                    if threads < 512:
                        yield jam(stream=1, ahead=2, vector=wide, threads=threads, roomy=True)


def _left(t: Terms, dtype):
    """Points fastest, x inputs of a block's points in shared memory."""
    size = np.dtype(dtype).itemsize
    wide = 16 // size
    for points in (64, 128, 256, 512, 1024):
        columns, shared = points // wide, len(t.x) * t.nx * points * size
        for tile, groups in (
            (4, 4),
            (4, 8),
            (8, 2),
            (8, 4),
            *([] if t.ny % 25 else [(10, 5), (25, 2)]),
        ):  # the last: the groups have the same to do
            threads = columns * groups
            small = tile * (groups - 1) < t.ny and shared <= MULTIPROCESSOR_SHARED
            if 128 <= threads <= 512 and 32 <= columns and small:
                for roomy in (False, True):
                    yield OuterThreads(
                        "block",
                        "block_team_left",
                        stream=1,
                        vector=wide,
                        points=points,
                        tile=tile,
                        groups=groups,
                        ahead=2,
                        aligned=16,
                        threads=threads,
                        covers=points,
                        shared=shared,
                        roomy=roomy,
                    )


def _right(t: Terms, dtype):
    """Points slowest: a warp a point, a block for a few points, and the latter with bulk stores."""
    size = np.dtype(dtype).itemsize
    wide = next(v for v in (16 // size, 2, 1) if t.nx % v == 0 and v * size <= 16)
    inputs = len(t.x) * (t.nx + t.ny) * size  # bytes of a point

    def warps(vector, stream, threads, ahead, resident):
        return OuterThreads(
            "warp",
            "warp_team",
            stream=stream,
            vector=vector,
            ahead=ahead,
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
    columns = t.nx // wide
    seen = set()

    for about in (128, 256, 512):
        rows = max(1, about // columns)
        for turns in (2, 4, 8, 16):
            points = max(1, turns * rows // t.ny)
            for resident in (0, 2048 // (columns * rows)):
                if columns * rows <= 1024 and points * inputs <= 48 * 1024 and (rows, points, resident) not in seen:
                    seen.add((rows, points, resident))
                    yield OuterThreads(
                        "block",
                        "block_team",
                        stream=1,
                        vector=wide,
                        points=points,
                        rows=rows,
                        aligned=wide * size,
                        threads=columns * rows,
                        covers=points,
                        shared=points * inputs,
                        resident=resident,
                    )

    flat = wide * size < 16 and t.nx * wide * size % 16 == 0 and t.ny * columns * wide * size % 16 == 0
    if flat:  # rows are no multiple of 16 bytes: stores run on over their ends
        for rows, points in itertools.product(
            (16, 32, 64, 80), (8, 16, 24, 32)
        ):  # whole lines of 128 bytes at each step and point group
            threads, shared = t.nx * rows * size // 16, points * inputs
            if 128 <= threads <= 1024 and shared <= 48 * 1024 and points * t.ny >= 2 * rows:
                for resident in (0, 2048 // threads):
                    yield OuterThreads(
                        "block",
                        "block_team",
                        stream=1,
                        vector=wide,
                        points=points,
                        rows=rows,
                        parts=16 // (wide * size),
                        aligned=16,
                        threads=threads,
                        covers=points,
                        shared=shared,
                        resident=resident,
                    )

    values = t.nx * t.ny
    whole = next(p for p in (1, 2, 4, 8) if p * values * size % 32 == 0)  # pieces are whole sectors of memory
    seen.clear()

    for kib in (8, 16, 32, 40, 80):
        points = max(1, kib * 1024 // (values * size * whole)) * whole
        shared = 2 * -(-points * values // 32) * 32 * size + points * inputs
        if points not in seen and shared <= MULTIPROCESSOR_SHARED:
            seen.add(points)
            for threads in (128, 256):
                yield OuterThreads(
                    "block",
                    "bulk_team",
                    vector=wide,
                    points=points,
                    aligned=16,
                    threads=threads,
                    covers=points,
                    shared=shared,
                    resident=min(2048 // threads, MULTIPROCESSOR_SHARED // (shared + 1024)),
                    roomy=True,
                    generation=9,
                )
