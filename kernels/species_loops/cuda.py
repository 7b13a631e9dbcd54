"""The species loops on CUDA devices: variants, compiled by NVRTC with its report, launched through the CUDA backend."""

from __future__ import annotations

import functools
import itertools
import json
import pathlib

import numpy as np

from ..backend import cache, cuda, nvrtc
from ..errors import VariantUnsuitable
from .declaration import READS, Variant, real, sources
from .fields import row_length

KERNELS = pathlib.Path(__file__).resolve().parents[1]
MULTIPROCESSOR_SHARED = 228 * 1024  # bytes, Hopper; Ampere 164
MAX_DYNAMIC_SHARED = 8  # the driver's number of that function attribute: beyond 48 KiB a kernel has to ask
PARAMETERS = (
    "const {real} *const __restrict__ ax, const {real} *const __restrict__ bx, const {real} *const __restrict__ ay, "
    "const {real} *const __restrict__ by, {real} *const __restrict__ out, const long n, const long ld"
)
LOOPS = "Loops{{ax, bx, ay, by, out, n, ld}}"
MAIN = (
    'extern "C" __global__ void __launch_bounds__({bounds}) species_loop('
    + PARAMETERS
    + ")\n{{\n    {call}("
    + LOOPS
    + ");\n}}\n"
)
REST = 'extern "C" __global__ void species_loop_rest(' + PARAMETERS + ")\n{{\n    rest(" + LOOPS + ");\n}}\n"


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


def source(variant: Variant, ns: int, dtype) -> str:
    names = {
        "real": real(dtype),
        "call": variant.call,
        "bounds": f"{variant.threads}, 1" if variant.roomy else variant.threads,
    }
    text = variant.source(ns, dtype) + MAIN.format(**names)
    return text + (REST.format(**names) if has_rest(variant) else "")


def has_rest(variant: Variant) -> bool:
    """Whether the points that do not fill a vector need a launch of their own."""
    return variant.layout == "left" and dict(variant.macros)["VECTOR"] > 1


def machine_code(text: str, arch: str):
    """(path of the cubin, registers and spills of its kernels); needs no device."""
    options = [*cuda.flags([str(KERNELS)]), nvrtc.REPORT]
    name = (
        f"species_loop-{arch}-{cache.key(*cache.texts(text, [KERNELS]), ' '.join(cuda.OPTIONS), arch, nvrtc.version())}"
    )

    @functools.cache
    def made():
        cubin, log = nvrtc.compile_cubin(text, arch, options, name="species_loop.cu")
        return cubin, json.dumps(nvrtc.resources(log))

    path = cache.entry(name, ".cubin", lambda part: part.write_bytes(made()[0]))
    report = cache.entry(f"{name}-report", ".json", lambda part: part.write_text(made()[1]))
    return path, json.loads(report.read_text())


class Engine:
    """The verbs that a tuner and a caller need, on a CUDA device."""

    name = "cuda"
    rival = "CuPy broadcasting"

    def __init__(self, backend):
        self.backend, self.cp = backend, backend.cp
        self.variants, self.default = variants, default
        facts = self.cp.cuda.runtime.getDeviceProperties(backend.device)
        self.shared = facts.get("sharedMemPerBlockOptin", 227 * 1024)
        self.generation = facts["major"]
        self.device = f"{facts['name'].decode()} {backend.arch}"

    @property
    def compiler(self) -> str:
        return f"nvrtc {nvrtc.version()[0]}.{nvrtc.version()[1]} {sources()}"

    def ahead(self, variant: Variant, ns: int, dtype):
        """Compile into the cache, load nothing: several at a time."""
        if variant.shared <= self.shared:
            machine_code(source(variant, ns, dtype), self.backend.arch)

    def compile(self, variant: Variant, ns: int, dtype):
        """(loaded module, registers and spills). Raises VariantUnsuitable for what this device does not have."""
        if variant.shared > self.shared:
            raise VariantUnsuitable(
                f"{variant.id}: {variant.shared} bytes of shared memory a block, the device has {self.shared}."
            )
        if variant.header == "bulk_team.h" and self.generation < 9:
            raise VariantUnsuitable(f"{variant.id}: bulk stores need compute capability 9, this is {self.generation}.")
        path, report = machine_code(source(variant, ns, dtype), self.backend.arch)
        return self.backend._load(path), report.get("species_loop", {})

    def bind(self, code, variant: Variant, ns: int, arrays, n: int):
        """run(): all n points, queued on the current stream. Raises VariantUnsuitable when the arrays lie wrongly."""
        addresses = [arrays[a].data.ptr for a in (*READS, "out")]
        rows = row_length(variant, arrays, addresses)
        blocks = -(-n // variant.covers)
        if variant.resident:
            blocks = min(blocks, variant.resident * self.backend.multiprocessors)
        function = code.get_function("species_loop")
        if variant.shared > 48 * 1024:
            self.cp.cuda.driver.funcSetAttribute(function.ptr, MAX_DYNAMIC_SHARED, variant.shared)
        arguments = (*addresses, n, rows)
        rest = (
            code.get_function("species_loop_rest") if has_rest(variant) and n % dict(variant.macros)["VECTOR"] else None
        )

        held = dict(arrays)

        def run(keep=held):
            function((blocks,), (variant.threads,), arguments, shared_mem=variant.shared)
            if rest is not None:
                rest((1,), (32,), arguments)

        return run

    def pad(self, n: int, dtype) -> int:
        grain = 256 // np.dtype(dtype).itemsize  # as backend.pad: rows start on 256-byte boundaries
        return -(-max(n, 1) // grain) * grain

    def empty(self, shape, dtype):
        return self.cp.empty(shape, dtype=np.dtype(dtype))

    def from_host(self, array):
        return self.backend.from_host(array, array.dtype)

    def to_host(self, array):
        return self.backend.to_host(array)

    def copier(self, to, source):
        """run(): the driver's own copy from one device array to another of the same size."""
        runtime = self.cp.cuda.runtime
        stream = self.cp.cuda.get_current_stream().ptr
        return lambda keep=(to, source): runtime.memcpyAsync(
            to.data.ptr, source.data.ptr, to.nbytes, runtime.memcpyDeviceToDevice, stream
        )
