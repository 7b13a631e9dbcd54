"""Copies of arrays to another order of their dimensions: target[...] = source[...], with a number and a sum if wanted.

    run = bound(backend, "float64", moves, source, target)         target[...] = source[...]
    run = bound(..., Scale(2.0))                                   target[...] = 2 source[...]
    run = bound(..., Scale(-1.0, add=True))                        target[...] -= source[...]

moves: the loops, each with its extent and its step in both arrays, in numbers (fold.Move). Extents and steps are read
when the copy runs: one compiled source serves all copies. permute_threads.h and permute_packs.h do the work.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from ..engine.backend.base import Shape, Source
from ..engine.backend.record import record, structure
from ..engine.errors import VariantUnsuitable, refuse
from .fold import AS_IT_IS, Move, Scale, collapsed
from .reciprocals import reciprocal

LOOPS = 16  # outer loops of a copy, at most
VOLUME = 2048  # numbers of a tile of a device, at most: 4 for each of 512 threads
LEAST, ENOUGH = 512, 528  # a small array has smaller tiles, so that it has enough: four for each multiprocessor
THREADS = 512
EDGES = 2  # loops of a tile whose last turn may be shorter
SHIFTS = (16, 1, 2, 3, 4, 5, 6, 7)  # of gaps in shared memory; 16: none
BANKS = 128  # bytes that shared memory reads at a time
SAMPLES = 8  # of these, by which gaps are chosen
WIDE = 2**31  # steps inside a tile are below it
OF_FEW = "_of_few"  # behind the name of a kernel of small copies
FEW, FEW_THREADS = 1 << 19, 128  # numbers of a small copy at most; threads of a block
BLOCK = 32  # rows and columns that a CPU transposes at a time
LINE = 2048  # columns that a CPU copies at a time

COMMON = f"source:address target:address number:real old:whole loops:whole extent:whole:{LOOPS} "
STEPS = f"from_step:whole:{LOOPS} to_step:whole:{LOOPS} "
TILE = (
    "tables:address tiles:whole volume:whole held:whole shift:whole edge:whole:2 edge_tile:whole:2 edge_whole:whole:2"
)
PLANE = "rows:whole columns:whole row_block:whole column_block:whole"
PLANE_STEPS = "row_from:whole row_to:whole column_from:whole column_to:whole"
FEW_NUMBERS = f"{COMMON}{STEPS}reciprocal:whole:{LOOPS} shift:whole:{LOOPS} numbers:whole"  # of a small copy
MEMBERS = {"threads": f"{COMMON}{STEPS}{TILE}", "packs": f"{COMMON}{STEPS}{PLANE} {PLANE_STEPS}"}


NUMBERS = {
    "copy_4": "float",
    "copy_8": "double",
    "copy_16": "Two<double>",
    "scale_float32": "float",
    "scale_float64": "double",
    "scale_complex64": "Two<float>",
    "scale_complex128": "Two<double>",
}


def source(style: str, name: str) -> Source:
    """The source of copies for one style of backend: copy_BYTES, or scale_TYPE. It serves all extents and steps."""
    text = [
        f"#define NAME {name}",
        f"#define NAME_OF_FEW {name}{OF_FEW}",
        f"#define NUMBER {NUMBERS[name]}",
        f"#define SCALES {str(name.startswith('scale')).lower()}",
        '#include "engine/numbers/kernel.h"',
        structure("Arguments", MEMBERS[style]),
        *([structure("Few", FEW_NUMBERS)] if style == "threads" else []),
        f'#include "contractions/permute_{style}.h"',
        "",
    ]
    return Source(f"permute-{name}", "\n".join(text), written_out=name.startswith("copy"))


def sources(style: str, dtype: str) -> list[Source]:
    """All that `bound` may compile for arrays of a type."""
    size = np.dtype(dtype).itemsize
    names = [f"copy_{width}" for width in (4, 8, 16) if width >= size]
    return [source(style, name) for name in (*names, f"scale_{dtype}")]


@functools.lru_cache(None)
def _module(backend, name: str):
    return backend.compile(source(backend.style, name))


def bound(backend, dtype: str, moves, at_source: int, at_target: int, scale: Scale = AS_IT_IS, keep=()):
    """run() that copies. dtype: of both arrays, real or complex. at_source, at_target: addresses.

    An old value of the target is not read without `scale.add`. keep: the arrays. Raises VariantUnsuitable for more than
    LOOPS loops, or steps of 2^31 numbers inside a tile.
    """
    loops = collapsed(sorted(moves, key=lambda m: -abs(m.target)))
    if any(m.extent == 0 for m in loops):
        return _nothing

    size = np.dtype(dtype).itemsize
    plain = scale == AS_IT_IS
    if plain:
        loops, size = _widened(loops, size, at_source, at_target)
    name = f"copy_{size}" if plain else f"scale_{dtype}"

    bind = _on_threads if backend.style == "threads" else _on_packs
    values = dict(source=at_source, target=at_target, number=scale.number, old=int(scale.add))
    return bind(backend, name, loops, size, values, keep)


def again(backend, dtype: str, moves, scale: Scale = AS_IT_IS):
    """run(source, target) on a CPU: as `bound` and its run, for arrays that begin anywhere, at whole numbers."""
    loops = collapsed(sorted(moves, key=lambda m: -abs(m.target)))
    if any(m.extent == 0 for m in loops):
        return lambda source, target: None

    own = np.dtype(dtype).itemsize
    plain = scale == AS_IT_IS

    def launch(loops, size: int):
        name = f"copy_{size}" if plain else f"scale_{dtype}"
        held, blocks = _record_of_packs(loops, dict(number=scale.number, old=int(scale.add)))
        return _module(backend, name).again(name, held, dict(source=0, target=1), blocks)

    narrow = launch(loops, own)
    wider = _widened(loops, own) if plain else (loops, own)
    if wider[1] == own:
        return lambda source, target: narrow((source, target))

    wide, size = launch(*wider), wider[1]

    def run(source, target) -> None:
        aligned = (backend.address(source) | backend.address(target)) % size == 0
        (wide if aligned else narrow)((source, target))

    return run


def _nothing() -> None:
    """A copy of no numbers."""


def _widened(loops, size: int, *addresses: int):
    """(loops, bytes of a number) with neighbours copied as one number where all begin at multiples of its size."""
    while size < 16 and loops and loops[-1].source == loops[-1].target == 1 and loops[-1].extent % 2 == 0:
        odd = [step for m in loops[:-1] for step in (m.source, m.target) if step % 2]
        if odd or any(address % (2 * size) for address in addresses):
            break
        last = loops[-1]
        outer = [Move(m.extent, m.source // 2, m.target // 2) for m in loops[:-1]]
        loops, size = (*outer, Move(last.extent // 2, 1, 1)), 2 * size
    return loops, size


def _reciprocals(loops) -> dict:
    """Values of the record by which a small copy divides."""
    found = [reciprocal(m.extent) for m in loops] + [(0, 0)] * (LOOPS - len(loops))
    return dict(zip(("reciprocal", "shift"), zip(*found)))


def _outer(loops) -> dict:
    """Values of the record for the outer loops. Raises VariantUnsuitable."""
    refuse(len(loops) > LOOPS, f"a copy by {len(loops)} loops, wanted {LOOPS} at most.", VariantUnsuitable)
    columns = {}
    for name, values in zip(("extent", "from_step", "to_step"), zip(*loops) if loops else ((), (), ())):
        columns[name] = [*values, *[1] * (LOOPS - len(loops))]
    return columns | {"loops": len(loops)}


# ---- devices: tiles -------------------------------------------------------------------------------------------------


class Edge(NamedTuple):
    """A loop whose last tile is shorter than the others."""

    loop: int  # of the copy
    outer: int  # number of the loop over its tiles
    tile: int  # numbers of a tile
    whole: int  # numbers in all


class Tiling(NamedTuple):
    """How a copy is cut into tiles."""

    extents: tuple[int, ...]  # of a tile along each loop
    outer: tuple[Move, ...]  # over tiles
    edges: tuple[Edge, ...]  # two at most: a tile grows along one loop of the source, and one of the target

    @property
    def inner(self) -> tuple[int, ...]:
        """Loops that have more than one number in a tile."""
        return tuple(d for d, extent in enumerate(self.extents) if extent > 1)


def tiling(loops) -> Tiling:
    """Tiles that have runs of neighbours of the source and of the target. loops: the slowest of the target first."""
    volume = VOLUME
    while volume > LEAST and volume * ENOUGH > math.prod(m.extent for m in loops):
        volume //= 2

    extents = [1] * len(loops)
    by_target = [*reversed(range(len(loops)))]
    by_source = sorted(by_target, key=lambda d: abs(loops[d].source))
    wanted = 8
    while wanted <= volume:
        for order in (by_source, by_target):
            _grow(loops, extents, order, wanted, volume)
        wanted *= 2

    outer: list[Move] = []
    edges: list[Edge] = []
    for d, (loop, extent) in enumerate(zip(loops, extents)):
        if extent == loop.extent:
            continue
        if loop.extent % extent:
            edges.append(Edge(d, len(outer), extent, loop.extent))
        outer.append(Move(-(-loop.extent // extent), loop.source * extent, loop.target * extent))
    return Tiling(tuple(extents), tuple(outer), tuple(edges))


def _grow(loops, extents: list[int], order, wanted: int, volume: int) -> None:
    """Make a tile's run along the fastest loops of an array as long as wanted, if the tile has room."""
    run = 1
    for d in order:
        whole = loops[d].extent
        if extents[d] < whole and run * extents[d] < wanted:
            room = volume * extents[d] // math.prod(extents)
            extents[d] = max(extents[d], _even(whole, min(whole, room, -(-wanted // run))))
        run *= extents[d]
        if extents[d] < whole:
            return


def _even(whole: int, most: int) -> int:
    """Numbers of a tile, at most so many, so that all tiles of a loop have as many: if there is such a number of at
    least half of it, in multiples of 4 if possible; else about as many."""
    divisors = [extent for extent in range(most, most // 2, -1) if whole % extent == 0]
    if divisors:
        return next((extent for extent in divisors if extent % 4 == 0), divisors[0])

    turns = -(-whole // most)
    extent = -(-whole // turns)
    rounded = -(-extent // 4) * 4
    return rounded if rounded <= most and -(-whole // rounded) == turns else extent


def _on_threads(backend, name: str, loops, size: int, values, keep):
    t, on_device, shift = _prepared(backend, tuple(loops), size)

    volume, tiles = on_device.shape[1], math.prod(m.extent for m in t.outer)
    held = -(-(volume + (volume >> shift)) * size // 16) * 16 // size
    edges = [*t.edges, *[Edge(-1, -1, 0, 0)] * (EDGES - len(t.edges))]
    numbers = _outer(t.outer)
    numbers |= dict(
        edge=[e.outer for e in edges], edge_tile=[e.tile for e in edges], edge_whole=[e.whole for e in edges]
    )
    numbers |= dict(tables=backend.address(on_device), tiles=tiles, volume=volume, held=held, shift=shift)

    shape = Shape(THREADS, covers=1, shared=held * size + 64, resident=-1)
    run = _module(backend, name).bind(
        name, shape, record(MEMBERS["threads"], **values, **numbers), keep=(on_device, keep)
    )
    return functools.partial(run, tiles)


def are_few(*counts: int) -> bool:
    """Whether arrays of so many numbers are copied number by number, two of them at once."""
    return all(0 < count <= FEW for count in counts)


def together(backend, dtype: str, copies, keep=()) -> list:
    """The runs of one copy, or of two: of small ones a single run. copies: moves, source, target of each. Errors as of
    `bound`."""
    each = [collapsed(sorted(moves, key=lambda m: -abs(m.target))) for moves, _, _ in copies]
    own = np.dtype(dtype).itemsize
    widened = [_widened(loops, own, *ends) for loops, (_, *ends) in zip(each, copies)]

    # Numbers of one size, so that a launch has both.
    sizes = {size for _, size in widened}
    if len(sizes) > 1:
        widened, sizes = [(loops, own) for loops in each], {own}
    prepared = [(loops, dict(source=source, target=target)) for (loops, _), (_, source, target) in zip(widened, copies)]

    counts = [math.prod(m.extent for m in loops) for loops, _ in prepared]
    if backend.style != "threads" or not are_few(*counts):
        return [bound(backend, dtype, moves, source, target, keep=keep) for moves, source, target in copies]

    records = []
    for (loops, ends), count in zip(prepared, counts):
        records.append(record(FEW_NUMBERS, **ends, **_outer(loops), **_reciprocals(loops), numbers=count))
    if len(records) == 1:
        records *= 2
    name, shape = f"copy_{sizes.pop()}", Shape(FEW_THREADS, rows=len(copies))
    run = _module(backend, name).bind(name + OF_FEW, shape, np.concatenate(records), keep=keep)
    return [functools.partial(run, max(counts))]


@functools.lru_cache(256)
def _prepared(backend, loops, size: int) -> tuple:
    """(tiling, tables on the device, shift) of a copy, wherever its arrays begin."""
    t = tiling(loops)
    tables, shift = _tables(t, loops, size)
    on_device = backend.from_host(tables, np.dtype(np.int32))
    backend.synchronize()  # later copies may be in another stream
    return t, on_device, shift


def _tables(t: Tiling, loops, size: int) -> tuple[np.ndarray, int]:
    """(rows as permute_threads.h names them, shift) of a tile."""
    by_target = t.inner
    by_source = tuple(sorted(by_target, key=lambda d: -abs(loops[d].source)))
    extents = [t.extents[d] for d in by_target]
    source_extents = [t.extents[d] for d in by_source]

    # For each number, in the order of the target: its index in each dimension, its place in the source.
    count = math.prod(extents)
    turns = dict(zip(by_target, np.indices(extents).reshape(len(extents), count)))
    place = np.zeros(count, np.int64)
    for d, extent in zip(by_source, source_extents):
        place = place * extent + turns[d]
    order = np.argsort(place)  # of the target, in the order of the source

    to = _steps(turns, {d: loops[d].target for d in by_target}, count)
    from_ = _steps(turns, {d: loops[d].source for d in by_target}, count)
    edge = _edges(t, turns, count)
    wide = max(np.abs(to).max(), np.abs(from_).max())
    refuse(bool(wide >= WIDE), f"a copy with steps of {wide} numbers inside a tile.", VariantUnsuitable)

    shift = min(SHIFTS, key=lambda s: _turns_of_banks(place, s, size))
    rows = [from_[order], to, place + (place >> shift), edge[order], edge]
    return np.array(rows, np.int32), shift


def _steps(turns, steps, count: int) -> np.ndarray:
    """Where numbers lie from the begin of a tile."""
    found = np.zeros(count, np.int64)
    for d, step in steps.items():
        found += turns[d] * step
    return found


def _edges(t: Tiling, turns, count: int) -> np.ndarray:
    """Turns along the loops whose last tile is shorter: the first in the low 16 bits, the second above."""
    found = np.zeros(count, np.int64)
    for k, edge in enumerate(t.edges):
        if edge.loop in turns:
            found += turns[edge.loop] << (16 * k)
    return found


def _turns_of_banks(place: np.ndarray, shift: int, size: int) -> int:
    """How often shared memory has to be asked to read a tile, and to write it."""
    lanes = BANKS // size
    total = 0
    for order in (place, np.arange(place.size)):
        order = order[: order.size // lanes * lanes][: lanes * SAMPLES]
        banks = (order + (order >> shift)).reshape(-1, lanes) % lanes
        for bank in banks:
            total += np.bincount(bank).max()
    return total


# ---- CPUs: planes ---------------------------------------------------------------------------------------------------


def _on_packs(backend, name: str, loops, size: int, values, keep):
    held, blocks = _record_of_packs(loops, values)
    run = _module(backend, name).bind(name, Shape(), held, keep=keep)
    return functools.partial(run, blocks)


def _record_of_packs(loops, values) -> tuple[np.ndarray, int]:
    """(record, items). Columns run along the target, rows along the source, or along the target's next loop if that is
    the same."""
    *rest, columns = loops or (Move(1, 1, 1),)
    along = columns.source == 1 or not rest
    place = len(rest) - 1 if along else min(range(len(rest)), key=lambda d: abs(rest[d].source))
    rows = rest.pop(place) if rest else Move(1, 0, 0)

    across = min(columns.extent, LINE if along else BLOCK)
    down = max(LINE // across, 1) if along else BLOCK
    plane = dict(rows=rows.extent, row_block=down, row_from=rows.source, row_to=rows.target)
    plane |= dict(columns=columns.extent, column_block=across, column_from=columns.source, column_to=columns.target)

    blocks = -(-rows.extent // down) * -(-columns.extent // across) * math.prod(m.extent for m in rest)
    return record(MEMBERS["packs"], **values, **_outer(rest), **plane), blocks
