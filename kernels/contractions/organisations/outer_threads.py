"""Outer products on CUDA devices: every variant worth a try, and the variant that is taken without tuning."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import Any

import numpy as np

from ...engine.backend.facts import REFERENCE
from ..plan import Program
from ..prices import price_of
from . import device
from .outer import Outer, Terms, terms_of

SHARED = REFERENCE.shared_resident  # bytes of shared memory of a multiprocessor
RESIDENT = REFERENCE.threads_resident  # threads of a multiprocessor
KIB = 1024
PLAIN = 48 * KIB  # bytes of shared memory that a block may have in these variants
JAMMED = 8192  # sums of a block, at most, that its registers hold
PIECE = 16  # bytes of the widest load or store
SECTOR = 32  # bytes that memory is written by
LONG = 1 << 16  # numbers of a point


@dataclasses.dataclass(frozen=True)
class OuterThreads(Outer):
    """Outer products on CUDA devices."""

    @classmethod
    def variants(cls, t: Terms, dtype: str) -> list[Outer]:
        size = np.dtype(dtype).itemsize
        if t.layout == "left":
            return [*_a_thread_a_point(t, size), *_left_blocks(t, size)]

        naive = cls.of(name="naive", form="naive", threads=256, covers=256, vector=1, aligned=size)
        return [naive, *_warps(t, size), *_right_blocks(t, size), *_flat_blocks(t, size), *_bulk_blocks(t, size)]

    @classmethod
    def default(cls, t: Terms, dtype: str) -> Outer:
        """Points fastest: as many rows jammed as registers hold. Points slowest: a block for a few points."""
        able = cls.variants(t, dtype)
        if t.layout == "left":
            jams = [v for v in able if v.name == "jam" and v.block.threads == 128 and not v.block.roomy]
            return jams[-1] if jams else able[0]

        for v in able:
            whole = v.block.threads == 16 * t.nx and v.block.covers == 16
            if v.work.parts > 1 and whole and not v.block.resident:
                return v

        return next(v for v in able if v.form == "block_team" and not v.block.resident and v.work.parts < 2)

    def price(self, p: Program, least: float = math.inf) -> float:
        """Few points leave a device idle, and points of very many numbers have long runs anyway. If the number
        of points is not given, they are assumed to fill it."""
        t, points = terms_of(p), p.entries or device.FULL
        if t is not None and t.layout == "left" and points < device.FULL:
            return super().price(p, least) * device.FULL / points  # a thread has a point

        numbers = p.arrays[p.expression.outputs[0]].size
        if numbers > LONG or numbers * points < device.FULL:
            return least * price_of("outer_other")
        return super().price(p, least)

    def defines(self) -> dict[str, Any]:
        return {"VECTOR": max(self.values.vector, 1), "BLOCK": self.block.threads}


def _a_thread_a_point(t: Terms, size: int):
    """A thread for one point, or for 16 bytes of neighbouring points. size: bytes of a number."""
    wide = PIECE // size

    def points(name, form, vector=1, threads=256, **more):
        return OuterThreads.of(
            name=name,
            form=form,
            vector=vector,
            threads=threads,
            covers=threads * vector,
            aligned=vector * size,
            **more,
        )

    yield points("naive", "naive")
    yield points("unrolled", "compiler_unrolled")
    yield points("unrolled", "compiler_unrolled", stream=1)
    yield points("unrolled", "compiler_unrolled", stream=1, threads=128, vector=2, roomy=True)

    for tile in t.tiles(2, 4, 8):
        yield points("tiled", "tiled", tile=tile)
        yield points("local", "local_arrays", tile=tile)

    # So many blocks of 256 threads on a multiprocessor that could hold 8.
    for tile, blocks in itertools.product(t.tiles(4, 8), (4, 2, 1)):
        shared = REFERENCE.shared_for(blocks) // KIB * KIB - KIB
        yield points("occupancy", "tiled", shared=shared, tile=tile)

    for tile in t.tiles(2, 4, 8, 16):
        jam = functools.partial(points, "jam", "unroll_and_jam", tile=tile)
        yield jam(ahead=1)
        yield jam(stream=1, ahead=4)

        for threads in (128, 256, 512):
            if threads * tile * wide > JAMMED:
                continue

            yield jam(stream=1, ahead=2, vector=wide, threads=threads)
            if threads < 512:
                yield jam(stream=1, ahead=2, vector=wide, threads=threads, roomy=True)


def _left_blocks(t: Terms, size: int):
    """Points fastest, x inputs of a block's points in shared memory."""
    wide = PIECE // size
    shapes = [(4, 4), (4, 8), (8, 2), (8, 4)]  # rows y at a time, groups of threads
    if t.ny % 25 == 0:  # the groups have the same to do
        shapes += [(10, 5), (25, 2)]

    for points, (tile, groups) in itertools.product((64, 128, 256, 512, 1024), shapes):
        columns, shared = points // wide, len(t.x) * t.nx * points * size
        threads = columns * groups
        small = tile * (groups - 1) < t.ny and shared <= SHARED
        if not (128 <= threads <= 512 and 32 <= columns and small):
            continue

        for roomy in (False, True):
            yield OuterThreads.of(
                name="block",
                form="block_team_left",
                stream=1,
                vector=wide,
                points=points,
                tile=tile,
                groups=groups,
                ahead=2,
                aligned=PIECE,
                threads=threads,
                covers=points,
                shared=shared,
                roomy=roomy,
            )


# ---- points slowest -------------------------------------------------------------------------------------------------


def _wide(t: Terms, size: int) -> int:
    """Neighbours of a row that a thread stores at once."""
    return next(v for v in (PIECE // size, 2, 1) if t.nx % v == 0 and v * size <= PIECE)


def _inputs(t: Terms, size: int) -> int:
    """Bytes of the inputs of a point."""
    return len(t.x) * (t.nx + t.ny) * size


def _warps(t: Terms, size: int):
    """A warp a point."""
    wide = _wide(t, size)

    # neighbours, stores that bypass the caches, threads, loads ahead, blocks that stay
    for vector, stream, threads, ahead, resident in (
        (1, 0, 256, 1, 0),
        (wide, 1, 256, 4, 0),
        (wide, 1, 128, 4, 0),
        (wide, 1, 256, 4, 8),
        (wide, 0, 256, 4, 0),
    ):
        yield OuterThreads.of(
            name="warp",
            form="warp_team",
            stream=stream,
            vector=vector,
            ahead=ahead,
            aligned=vector * size,
            threads=threads,
            covers=threads // REFERENCE.warp,
            resident=resident,
        )


def _block_team(t: Terms, size: int, threads: int, points: int, rows: int, resident: int, **more):
    """A block for some points, whose inputs lie in shared memory."""
    return OuterThreads.of(
        name="block",
        form="block_team",
        stream=1,
        vector=_wide(t, size),
        points=points,
        rows=rows,
        threads=threads,
        covers=points,
        shared=points * _inputs(t, size),
        resident=resident,
        **more,
    )


def _right_blocks(t: Terms, size: int):
    """A block for a few points, a thread for some neighbours of a row."""
    wide = _wide(t, size)
    columns = t.nx // wide
    seen = set()

    for about, turns in itertools.product((128, 256, 512), (2, 4, 8, 16)):
        rows = max(1, about // columns)
        threads = columns * rows
        points = max(1, turns * rows // t.ny)
        for resident in (0, RESIDENT // threads):
            fits = threads <= REFERENCE.threads_of_block and points * _inputs(t, size) <= PLAIN
            if fits and (rows, points, resident) not in seen:
                seen.add((rows, points, resident))
                yield _block_team(t, size, threads, points, rows, resident, aligned=wide * size)


def _flat_blocks(t: Terms, size: int):
    """Rows that are no multiple of 16 bytes: stores run on over their ends, whole lines of 128 bytes at each step and
    group of points."""
    near = _wide(t, size) * size  # bytes of neighbours of a row
    row = t.nx * size
    if near >= PIECE or row * _wide(t, size) % PIECE or t.ny * row % PIECE:
        return

    for rows, points in itertools.product((16, 32, 64, 80), (8, 16, 24, 32)):
        threads = rows * row // PIECE
        fits = 128 <= threads <= REFERENCE.threads_of_block and points * _inputs(t, size) <= PLAIN
        if not fits or points * t.ny < 2 * rows:
            continue
        for resident in (0, RESIDENT // threads):
            yield _block_team(t, size, threads, points, rows, resident, parts=PIECE // near, aligned=PIECE)


def _bulk_blocks(t: Terms, size: int):
    """A block for some points, whose results leave shared memory by bulk stores: pieces of whole sectors."""
    values = t.nx * t.ny
    whole = next(p for p in (1, 2, 4, 8) if p * values * size % SECTOR == 0)
    seen = set()

    for kib in (8, 16, 32, 40, 80):
        points = max(1, kib * KIB // (values * size * whole)) * whole
        shared = 2 * -(-points * values // 32) * 32 * size + points * _inputs(t, size)
        if points in seen or shared > SHARED:
            continue

        seen.add(points)
        for threads in (128, 256):
            yield OuterThreads.of(
                name="block",
                form="bulk_team",
                vector=_wide(t, size),
                points=points,
                aligned=PIECE,
                threads=threads,
                covers=points,
                shared=shared,
                resident=min(RESIDENT // threads, SHARED // (shared + REFERENCE.shared_reserved)),
                roomy=True,
                generation=9,
            )
