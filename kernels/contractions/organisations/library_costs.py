"""Times of copies and matrix products of a library, by a model: seconds on one core, or on a device.

The arithmetic and the memory of a product overlap on a device: a norm of both counts. Extents count as multiples of a
tile of the library, and few tiles leave multiprocessors idle. The rates of a device were fitted to TCCG's rows; those
of a host are measured (host_rates.py), its products are in core_products.py.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from ...engine.backend import cpu
from .. import fold, host_rates, permute, products, scratch
from ..expression import Reference
from ..plan import Program
from . import core_products
from .core_products import COMPLEX, VECTOR, together


class Rates(NamedTuple):
    """Rates of a style of backend."""

    flops: dict[str, float]  # a second of large products, by type
    memory: float  # bytes a second
    stored: int  # times that the bytes of an output move: a CPU reads a line before it writes a part of it
    fresh: float  # times that the bytes of a local move besides: a CPU's system fills new pages with zeros
    copies: float  # bytes a second, read and written, of copies to another order
    call: float  # seconds of a call, or of a copy
    batched: float  # times the memory's time of the output of a call with many products
    # Seconds of a unit of the other organisations' prices, see `unit`.
    shared: float
    alone: float
    apart: float
    far: float
    cache: float  # bytes of the last cache of a device, of the second of a core
    beyond: int  # sizes of the cache, beyond which an array comes from memory although an entry uses numbers often


DEVICE = Rates(
    flops=dict(float64=61e12, float32=48e12, complex64=48e12, complex128=61e12),
    memory=2.9e12,
    stored=1,
    fresh=0.0,
    copies=2.4e12,
    call=2.4e-6,
    batched=1.25,
    shared=8e-13,
    alone=4e-13,
    apart=6e-12,
    far=1.5e-12,
    cache=3e7,
    beyond=32,
)


class DeviceProducts(NamedTuple):
    """How a device's library takes products of matrices."""

    tile: dict[str, int]  # extents count as multiples of it, by type
    narrow: int  # extents up to it count as it, unless sums are LONG
    thin: float  # of the memory's time, over the mean of the two shorter extents, where that is THIN and the third LONG
    each: dict[str, float]  # seconds of a tile, beside its arithmetic, by type
    # Times the arithmetic's time if the sum of a product is cut into parts, by type: of few tiles, of more
    parted: dict[str, tuple[float, float]]
    # Seconds of a term by type, of few products of a tile each, whose sums are not cut into parts
    term: dict[str, float]
    unsummed: float  # seconds that a call without a sum takes longer
    streamed: dict[str, float]  # times the memory's time of a large matrix that a vector meets, by type
    # Times the arithmetic's time by type, where the library transposes neither factor, the first, the second, both
    transposed: dict[str, tuple[float, float, float, float]]
    crossed: float  # times the memory's time, where it is the longer one, if a factor is transposed
    overlap: float  # exponent of the norm of arithmetic and memory: 1, one after another; infinity, the longer alone
    parallel: int  # tiles that are worked on at a time
    idle: dict[str, float]  # exponent of multiprocessors without a tile: a library makes smaller tiles of few, by type


DEVICE_PRODUCTS = DeviceProducts(
    tile=dict(float64=64, float32=64, complex64=32, complex128=32),
    narrow=32,
    thin=10.0,
    each=dict(float64=0.9e-9, float32=4.5e-9, complex64=4.5e-9, complex128=0.9e-9),
    parted=dict(float64=(1.8, 1.0), float32=(2.2, 1.3), complex64=(2.2, 1.0), complex128=(1.8, 1.0)),
    term=dict(float64=25e-9, float32=0.0, complex64=70e-9, complex128=120e-9),
    unsummed=1.2e-6,
    streamed=dict(float64=1.0, float32=1.15, complex64=1.0, complex128=1.0),
    # Of 5184 numbers each way on an H200, eleven and two contractions; both of float64 on an H100, with few columns
    transposed=dict(
        float64=(1.025, 1.035, 1.0, 1.33),
        float32=(1.07, 1.05, 1.0, 1.08),
        complex64=(1.0, 1.0, 1.0, 1.0),
        complex128=(1.0, 1.0, 1.0, 1.0),
    ),
    crossed=1.04,
    overlap=2.3,
    parallel=132,
    idle=dict(float64=0.8, float32=0.95, complex64=0.95, complex128=0.8),
)
TABLE = 2.2e-6  # seconds of the kernel that writes addresses of a device's products, which two loops go through
THIN, LONG = 16, 2000  # of the extents of a thin product: the mean of the shorter ones at most, the long one at least
STREAMS = 1 << 22  # numbers of a matrix that a vector meets, at least, where nothing but its bytes takes time
STEP = 3e-6  # seconds of a product after the first one: our own calls in between
FRESH = 6.0  # as measured on a Zen 4: locals of 10 to 50 MB
# Times a multiply-add of `direct`, of one of the other organisations, which pack nothing: by the vectors' bytes, as
# measured. 32 registers hold tiles of 24 sums, 16 registers tiles of 12, for which more is loaded.
OPERATION = {64: 1.0, 32: 1.4, 16: 1.4}
OVERLAP = 2.0  # exponent beyond 1 of the norm of work and memory, from the caches
LARGE_OVERLAP = 0.5  # the same from a large, slow last cache, whose lines come late although they are asked for
SENT = 0.25  # of the second cache: an entry of an output in scratch, which leaves it at once
CACHED = 3.0  # times the pace of memory, of arrays that the last cache holds together: read, written or copied
# The same if the copy that measured the pace ran in the last cache. Its output was read before it was written, which
# the pace does not count
LARGE_CACHED = 1.5
LARGE_STREAMED = 1.25  # the same of a matrix that a library multiplies with a vector
TRANSPOSED, BROKEN = 2e-10, 3.5e-9  # seconds of a number in a square, and of what is left of a run, on a Zen 4
COPIED = 2.0  # times the bytes of a copy, which count for the last cache: 8, 16, 31 of 32 MB ran at 56, 29, 13 GB/s
LINE = 64  # bytes, that move for a number whose neighbours belong to other entries
CACHE = 1e6  # bytes


def rates(style: str, dtype: str) -> Rates:
    """The rates of a device or of this machine's core. style: of the backend's sources."""
    return DEVICE if style == "threads" else _of_host(host_rates.of(dtype), np.dtype(dtype).itemsize)


@functools.lru_cache(None)
def _of_host(core: host_rates.HostRates, size: int) -> Rates:
    """A core's. size: bytes of a number."""
    operation = OPERATION[cpu.vector_bytes(cpu.target())] * 2 * VECTOR / size / core.panels
    types = ("float64", "float32", "complex64", "complex128")

    return Rates(
        # measured
        flops=dict.fromkeys(types, core.library),
        memory=core.memory,
        copies=core.copies,
        # the same on all cores
        stored=2,
        fresh=FRESH,
        call=1.2e-6,
        batched=1.0,
        # of the other organisations: a vector operation
        shared=operation,
        alone=operation,
        apart=0.0,
        far=0.0,
        cache=CACHE,
        beyond=1,
    )


def pace(style: str, dtype: str, held: float, of_large: float | None = None) -> float:
    """Bytes a second of arrays of so many bytes together. of_large: see `_faster`."""
    return rates(style, dtype).memory * _faster(style, held, of_large)


def _faster(style: str, held: float, of_large: float | None = None) -> float:
    """Times the pace of memory, of arrays of so many bytes together. of_large: for arrays in the last cache if the
    copy that measured the pace ran there, 1.0 of copies; None: LARGE_CACHED."""
    if style != "packs":
        return 1.0
    if not host_rates.has_large_cache():
        return 1 + (CACHED - 1) * cached(held)
    slow = LARGE_CACHED if of_large is None else of_large
    return slow + (CACHED - slow) * _share(held, cpu.second_cache())


def cached(held: float) -> float:
    """The share of so many bytes that the last cache of a core holds from one call to the next: 0 to 1."""
    return _share(held, cpu.third_cache())


def _near(held: float) -> float:
    """The share of so many bytes that a core need not wait for before it multiplies: 0 to 1. A large, slow last cache
    is waited for as memory is."""
    return _share(held, cpu.second_cache()) if host_rates.has_large_cache() else cached(held)


def _share(held: float, cache: int) -> float:
    return min(max(1.5 - held / cache, 0.0), 1.0)


STREAMED = 4 << 20  # bytes of an output that may bypass a core's caches
KEPT = 0.5  # of the last cache: arrays that are smaller together stay there, the output too
SINGLE = 0.9  # of the time of double precision, on a device: as many operations of the other organisations in single
REUSE = 16  # uses of a number by an entry
SMALL = 16  # times smaller than the largest array: its order counts little
ENTRIES = (16, 10000)  # of a usual batch
NUMBERS = 1 << 24
CLOCKS_OF_UNIT = 1.9e-12 * 132 * 1.7e9  # of a multiprocessor, as the search's model counts, for a unit of a price
IDLE = 0.8  # exponent of multiprocessors without a part of a sum
LONG_SUM = 0.3  # times the exponent of those without a tile, where sums are long enough for two parts, not VERY_LONG
FEW_WAVES = 2  # of tiles: the last one of so few counts whole
FEW_TILES = 8  # times fewer tiles than are worked on at a time: a sum in parts takes longer
VERY_LONG = 4096  # terms of a sum that is cut into parts, however many tiles are there; with a batch it never is
ONE_TILE = 64  # rows and columns, at most, of such a product
SPLIT = 256  # terms of a sum that are worth a multiprocessor of their own, of a call with one product


def seconds(style: str, dtype: str, way: fold.Way, add: bool = False) -> float:
    """Seconds of the calls and copies of a way. add: the output's old values are read."""
    r, size = rates(style, dtype), np.dtype(dtype).itemsize
    m, n, k = (axis.extent for axis in (way.m, way.n, way.k))
    outside = math.prod(axis.extent for axis in way.sums)
    count = math.prod(axis.extent for axis in way.loops)

    # Memory of all operands; the output again for each turn of the sums.
    written = m * n * count * max(r.stored, 1 + add) * (r.batched if count > 1 else 1.0)
    moved = size * (m * k * _turns(way, fold.LEFT) + k * n * _turns(way, fold.RIGHT) + written)
    held = moved - size * m * n * count * (r.stored - 1)
    # A matrix times a vector streams the matrix, nearly at the pace of the other organisations; a copy of it does not.
    of_large = LARGE_STREAMED if min(m, n) == 1 else 1.0
    memory = moved / pace(style, dtype, held, of_large)

    if style == "packs":
        overlap, of_packed = (1 + (OVERLAP - 1) * share for share in (cached(held), _near(held)))
        each = r.call + core_products.seconds(dtype, way, core_products.Memory(memory, overlap, of_packed))
    else:
        each = r.call + _on_device(dtype, way, memory)
        each += TABLE if len(way.loops) > 1 else 0.0

    total = outside * each
    for array in (fold.OUT, fold.LEFT, fold.RIGHT):
        if way.copied[array]:
            total += copy_seconds(style, dtype, way.copies[array])
    return total - (r.call if style == "threads" and _at_once(way) else 0)


def _at_once(way: fold.Way) -> bool:
    """Whether a device copies both factors in one launch."""
    numbers = [math.prod(m.extent for m in way.copies[k]) for k in (fold.LEFT, fold.RIGHT) if way.copied[k]]
    return len(numbers) == 2 and permute.are_few(*numbers)


def _on_device(dtype: str, way: fold.Way, memory: float) -> float:
    """Seconds of the products of a call. memory: of the operands alone."""
    d, k = DEVICE_PRODUCTS, way.k.extent
    count = math.prod(axis.extent for axis in way.loops)
    if count == 1 and min(way.m.extent, way.n.extent) == 1 and _streams_by(way):
        return memory * d.streamed[dtype]

    # Whole tiles; with few of them some multiprocessors have nothing to do.
    tile = d.tile[dtype]
    tiles = -(-way.m.extent // tile) * -(-way.n.extent // tile) * count
    narrow = d.narrow if k < LONG else tile
    area = _whole(way.m.extent, tile, narrow) * _whole(way.n.extent, tile, narrow) * count
    flops = 2.0 * area * k * (COMPLEX if np.dtype(dtype).kind == "c" else 1.0)
    few = FEW_TILES * tiles <= d.parallel
    parts = max(k // SPLIT, 1) if count == 1 and (few or k >= VERY_LONG) else 1
    waves = tiles / d.parallel
    exponent = d.idle[dtype] * (LONG_SUM if parts == 1 and 2 * SPLIT <= k < VERY_LONG else 1.0)
    idle = max(1.0, 1 / (waves * parts)) ** (IDLE if parts > 1 else exponent)
    if count == 1 and 1 < waves < FEW_WAVES:
        idle = math.ceil(waves) / waves
    arithmetic = flops * idle / DEVICE.flops[dtype] + tiles * d.each[dtype]
    if (
        max(way.m.extent, way.n.extent) <= ONE_TILE
        and count <= d.parallel
        and k < (LONG if dtype == "float64" else SPLIT)
    ):
        arithmetic = max(arithmetic, k * d.term[dtype])
    if parts > 1:
        arithmetic *= d.parted[dtype][0 if few else 1]

    # Thin matrices do not keep the memory's pace.
    short, middle, long = sorted((way.m.extent, way.n.extent, k))
    mean = math.sqrt(short * middle)
    if short > 1 and mean <= THIN and long >= LONG:
        memory *= 1 + d.thin / mean

    first, second = products.transposed(way)
    arithmetic *= d.transposed[dtype][first + 2 * second]
    if (first or second) and memory > arithmetic:
        memory *= d.crossed
    return together(arithmetic, memory, d.overlap) + (d.unsummed if k == 1 else 0.0)


def _streams_by(way: fold.Way) -> bool:
    """Whether a device's library streams the matrix that a vector meets: a large one that is not thin."""
    lines = max(way.m.extent, way.n.extent)
    return lines > THIN and lines * way.k.extent >= STREAMS


def _whole(extent: int, tile: int, narrow: int) -> int:
    """An extent as whole tiles, or as a narrow one."""
    return narrow if extent <= narrow <= tile else -(-extent // tile) * tile


def _turns(way: fold.Way, array: int) -> int:
    """How many matrices of an array the loops go through."""
    return math.prod(axis.extent for axis in way.loops if axis.step[array])


def copy_seconds(style: str, dtype: str, moves) -> float:
    """Seconds of a copy to another order."""
    r = rates(style, dtype)
    numbers, each = math.prod(m.extent for m in moves), np.dtype(dtype).itemsize
    step = min((abs(m.source) for m in moves if m.extent > 1), default=1)
    read = min(max(step, 1) * each, LINE) if style == "packs" else each  # bytes that come for a number
    size = numbers * (read + each)
    moved = size / (r.copies * _faster(style, COPIED * size, 1.0))
    return (max(moved, numbers * _broken_squares(moves, each)) if style == "packs" else moved) + r.call


def _broken_squares(moves, size: int) -> float:
    """Seconds of a number of a copy that a core transposes in squares, if they do not divide the extents; else 0. size:
    bytes of a number."""
    across = [m.extent for m in moves if m.extent > 1 and 1 in (abs(m.source), abs(m.target))]
    if len(across) < 2 or not any(extent % (VECTOR // size) for extent in across):
        return 0.0
    return TRANSPOSED + BROKEN / min(across)


def step_seconds(style: str, dtype: str, step) -> float:
    """Seconds of a step: a product, or a copy that is a statement of its own."""
    if hasattr(step, "way"):
        return seconds(style, dtype, step.way, step.scale.add)
    return copy_seconds(style, dtype, step.moves)


def between(style: str, steps: int) -> float:
    """Seconds of a core between so many steps, which a device need not wait for."""
    return STEP * (steps - 1) if style == "packs" else 0.0


def fresh_seconds(style: str, p: Program) -> float:
    """Seconds for the new memory of the locals of a usual batch, if it is too large to be kept for the next call."""
    r, n, numbers = rates(style, p.dtype), usual_batch(p), 0
    for a in p.arrays.values():
        if a.kind != "argument":
            numbers += a.size * (n if a.kind == "local" else 1)
    size = numbers * np.dtype(p.dtype).itemsize
    return size * r.fresh / r.memory if size > scratch.MOST else 0.0


def streamed(size: float, held: float) -> bool:
    """Whether an output of so many bytes bypasses a core's caches. held: bytes of all arrays."""
    return size >= STREAMED and from_afar(held)


def from_afar(held: float) -> bool:
    """Whether a call waits for some of so many bytes as for memory: they lie there, or in a large, slow last cache."""
    return held > cpu.second_cache() if host_rates.has_large_cache() else from_memory(held)


def is_sent(entry: float) -> bool:
    """Whether an output's entry of so many bytes, made in scratch, may go past the caches from there. Past a large,
    slow last cache it has to come from the second one: 2 MB took as long as without, 4 MB 1.3 to 1.5 times as long."""
    return not host_rates.has_large_cache() or entry <= SENT * cpu.second_cache()


def from_memory(held: float) -> bool:
    """Whether a call finds some of so many bytes in memory, not in a core's caches."""
    return held >= KEPT * cpu.third_cache()


def memory_seconds(style: str, p: Program, entries: int = 1) -> float:
    """Seconds of an entry of a usual batch for its numbers alone: inputs once, outputs as often as they move. entries:
    that are worked on at once."""
    found = _bytes(style, p, entries)
    return found.moved / pace(style, p.dtype, found.held) + found.past / rates(style, p.dtype).memory


def with_memory(seconds: float, p: Program, entries: int = 1, apart: float = 0.0) -> float:
    """Seconds of a core for work of an entry and its memory: one after the other from memory, both at the same time
    from the caches, which are read ahead. entries: that are worked on at once, by the lanes of packs. apart: seconds
    that memory takes besides."""
    memory = memory_seconds("packs", p, entries) + apart
    return together(seconds, memory, 1 + _overlap(_bytes("packs", p, entries).held, entries))


def _overlap(held: float, entries: int) -> float:
    """Exponent beyond 1 of the norm of work and memory of arrays of so many bytes together. entries: that are worked on
    at once; several are copied before, in long runs."""
    if entries > 1 or not host_rates.has_large_cache():
        return OVERLAP * cached(held)
    near = _near(held)
    return OVERLAP * near + LARGE_OVERLAP * (1 - near)


class Bytes(NamedTuple):
    """Bytes that a program moves."""

    moved: float  # of an entry, by way of the caches
    past: float  # of an entry, that bypass them or come from memory again and again
    held: float  # of the arrays of a usual batch


def _bytes(style: str, p: Program, entries: int = 1) -> Bytes:
    """Bytes that move. entries: that are worked on at once."""
    r, n, size = rates(style, p.dtype), usual_batch(p), np.dtype(p.dtype).itemsize
    moved = past = held = 0.0
    anew = style == "packs" and _reads_anew(p, size)

    for a in p.arguments:
        read = moving(p, a)
        each = read if a.place is not None or a.mixed else read / n
        held += each * n * size

        # Stores past the caches; else an output is read first, or stored at the rate of the processor.
        is_output, is_updated = a.name in p.expression.outputs, a.name in p.expression.updated
        if is_output and not is_updated and passes(style, p, a):
            past += each * size
            continue
        times = float(max(_readers(p, a.name), 1)) if anew and a.place is not None else 1.0
        if is_output:
            times = 2.0 if is_updated else r.stored
        moved += each * times * size

        # On a CPU: lines of which an entry has one number, and arrays that are read again for each entry.
        if style != "packs":
            continue
        if a.place and a.place == len(a.extents) - 1:
            moved += a.size * max(LINE / entries - size, 0.0)  # neighbours belong to other entries
        if a.place is None and not a.mixed and a.size * size > r.cache and _uses(p) < REUSE * a.size:
            # The second cache does not hold it from one entry, or one statement, to the next.
            again = a.size * size / entries * _readers(p, a.name)
            moved, past = (moved, past + again) if from_memory(a.size * size) else (moved + again, past)

    return Bytes(moved, past, held)


def _reads_anew(p: Program, size: int) -> bool:
    """Whether each statement reads its arrays of an entry from a large, slow last cache, since the second one does not
    hold them from one statement to the next. size: bytes of a number."""
    entry = size * sum(a.size for a in p.arguments)
    return host_rates.has_large_cache() and entry > cpu.second_cache()


def moving(p: Program, a) -> int:
    """Numbers of an entry of an array that move: of a diagonal the lines of its numbers."""
    found = 0.0
    for r in p.expression.references[a.name]:
        own = math.prod(p.sizes[i] for i in dict.fromkeys(r.indices) if i != p.batch)
        found = max(found, own * _beside(p, r))
    return min(int(found), a.size)


def is_diagonal(r: Reference) -> bool:
    """Whether an index stands twice."""
    return len(set(r.indices)) < len(r.indices)


def _beside(p: Program, r: Reference) -> float:
    """Numbers that come with a number: the rest of its line, where a diagonal leaves no others of it."""
    if not is_diagonal(r):
        return 1.0
    run = 1
    for index in reversed(r.indices):
        if r.indices.count(index) > 1 or index == p.batch:
            break
        run *= p.sizes[index]
    return max(LINE / np.dtype(p.dtype).itemsize / run, 1.0)


def passes(style: str, p: Program, a) -> bool:
    """Whether an output of the usual batch bypasses a core's caches, see operands.bypass."""
    size, n = np.dtype(p.dtype).itemsize, usual_batch(p)
    if style != "packs" or a.place != 0 or a.after * size % LINE:
        return False
    return is_sent(a.size * size) and streamed(n * a.size * size, held_bytes(p, n))


def held_bytes(p: Program, n: int) -> int:
    """Bytes of all arrays of n entries."""
    numbers = sum(a.size * (1 if a.place is None or a.mixed else n) for a in p.arguments)
    return numbers * np.dtype(p.dtype).itemsize


def unit(style: str, p: Program) -> float:
    """Seconds of a unit of the other organisations' prices.

    They are made for entries that have their own numbers of all arrays (`alone`). They take longer where an array that
    all entries read comes from memory for each entry (`far`), and where neighbours in memory belong to different
    entries (`apart`): their prices count neither.
    """
    r, size = rates(style, p.dtype), np.dtype(p.dtype).itemsize
    read = [p.arrays[name] for name in p.expression.inputs]
    common = [a for a in read if a.place is None and not a.mixed]

    streams = bool(common) and _streams(p, max(a.size for a in common), r.cache / size, r.beyond)
    found = max(r.shared if common else r.alone, r.apart * crossed(p) + r.far * streams)
    return found * SINGLE if style == "threads" and p.dtype == "float32" else found


def crossed(p: Program) -> bool:
    """Whether neighbours in memory belong to different entries."""
    large = max(a.size for a in p.arguments) / SMALL
    return any(a.place and a.place == len(a.extents) - 1 and a.size >= large for a in p.arguments)


def of_search(style: str, price: float) -> float:
    """A price in the unit of the search's model."""
    return price * CLOCKS_OF_UNIT if style == "threads" else price


def usual_batch(p: Program) -> int:
    """Entries that prices in seconds count with: those that the caller told, or about NUMBERS of all arrays together,
    but no fewer and no more than ENTRIES; 1 without a batch."""
    if not p.batch:
        return 1
    if p.entries:
        return p.entries
    usual = NUMBERS // max(sum(a.size for a in p.arguments if a.place is not None or a.mixed), 1)
    return min(max(usual, ENTRIES[0]), ENTRIES[1])


def _streams(p: Program, numbers: int, cache: float, beyond: int) -> bool:
    """Whether an array that all entries read is beyond the cache, and an entry uses each number few times; or the array
    is far beyond the cache."""
    return numbers > cache * (1 if _uses(p) < REUSE * numbers else beyond)


def _readers(p: Program, name: str) -> int:
    """Statements that read an array."""
    return sum(any(f.name == name for t in s.terms for f in t.factors) for s in p.statements)


def _uses(p: Program) -> int:
    """Multiply-adds of an entry."""
    work = 0
    for s in p.statements:
        for t in s.terms:
            work += math.prod(p.sizes[i] for i in {*s.out.indices, *t.sums(s.out)} if i != p.batch)
    return work
