"""The species loops on CPU vector units: variants, compiled by the CPU backend's compiler, run by OpenMP threads."""

from __future__ import annotations

import functools
import hashlib
import math
import pathlib

import cffi
import numpy as np

from ..backend import cpu
from .declaration import DEPENDS, READS, Variant, sources
from .fields import row_length

LINE = 64  # bytes: streaming stores and pieces keep to cache lines

ffi = cffi.FFI()
ffi.cdef(
    "void species_loop(const void *ax, const void *bx, const void *ay, const void *by, void *out, long n, long ld, "
    "int threads);"
)
ENTRY = """extern "C" void species_loop(const real *ax, const real *bx, const real *ay, const real *by, real *out, long n, long ld, int threads)
{{
    {call}(Loops{{ax, bx, ay, by, out, n, ld}}, threads);
}}
"""
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


class Engine:
    """The verbs that a tuner and a caller need, on the CPU."""

    name = "cpu"
    rival = "NumPy broadcasting"

    def __init__(self, backend):
        self.backend = backend
        self.variants, self.default = variants, default

    @functools.cached_property
    def device(self) -> str:
        what = cpu.processor(cpu.target())
        model = next(
            (line.split(":")[1].strip() for line in what.splitlines() if line.startswith("model name")),
            what.split("\n")[0],
        )
        return f"{model}, {hashlib.sha256(what.encode()).hexdigest()[:8]}, {self.backend.threads} threads"

    @functools.cached_property
    def compiler(self) -> str:
        return f"{pathlib.Path(cpu.compiler()).name} {cpu.target()} {sources()}"

    def ahead(self, variant: Variant, ns: int, dtype) -> pathlib.Path:
        """Compile into the cache, load nothing: several at a time."""
        return cpu.shared_object(
            variant.source(ns, dtype) + ENTRY.format(call=variant.call), DEPENDS, f"species_loop-{ns}"
        )

    def compile(self, variant: Variant, ns: int, dtype):
        """(code, what the compiler told: nothing)."""
        return ffi.dlopen(str(self.ahead(variant, ns, dtype))), {}

    def bind(self, code, variant: Variant, ns: int, arrays, n: int):
        """run(): all n points. Raises VariantUnsuitable when the arrays do not lie as the variant needs."""
        addresses = [arrays[a].ctypes.data for a in (*READS, "out")]
        rows = row_length(variant, arrays, addresses)
        pointers = [ffi.cast("void *", address) for address in addresses]
        function, threads = code.species_loop, self.backend.threads
        return lambda keep=dict(arrays): function(*pointers, n, rows, threads)

    def pad(self, n: int, dtype) -> int:
        grain = LINE // np.dtype(dtype).itemsize
        return -(-max(n, 1) // grain) * grain + grain  # a line more: rows are not a power of two apart

    def empty(self, shape, dtype):
        count = math.prod(shape)
        raw = self.backend.empty((-(-count * np.dtype(dtype).itemsize // 8),))
        return raw.view(dtype)[:count].reshape(shape)

    def from_host(self, array):
        return np.asarray(array)

    def to_host(self, array):
        return np.asarray(array)

    def copier(self, to, source):
        """run(): one array over another of the same size, by streaming stores."""
        code, _ = self.compile(COPY, 1, to.dtype)
        return self.bind(
            code, COPY, 1, {**{a: source.reshape(1, -1) for a in READS}, "out": to.reshape(1, -1)}, to.size
        )
