"""Where rows, columns and terms of a product of two tensors lie, as tables, in the order in which `direct` goes through
them on a CPU (organisations/direct_host.py)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .fold import LEFT, OUT, RIGHT, Axis, Fold, exchanged
from .plan import Unable

LOOPS = 16  # outer loops of a product, at most
LINES = 1 << 17  # rows or columns of a table; slower axes become outer loops
MOST_LINES = 1 << 18  # of a table that has no more than the axes along which the arrays run
PACK = 64  # bytes of the widest vector units, and of a cache line
PACKS = 3  # of a panel of the widest vector units
LYING = 256 << 10  # bytes of a block of rows that are multiplied as they lie
DEPTH = 192  # terms of the sum that are packed at a time, of 8 bytes; twice as many of 4 bytes
WRITTEN = 2  # times the numbers of the output: a factor of no more is packed across its runs
GROUP = 192 << 10  # bytes of the rows of a factor that come together
FEW = 96  # rows of a short run of the output
LARGER = 16  # times the numbers: an array beside which the order of the other does not count
MOST_WIDE = 128  # lines of a band, as direct_packing.h has it


class Lines(NamedTuple):
    """Rows, columns or terms of the sum: where each lies in the two arrays that have it."""

    first: np.ndarray  # int64
    second: np.ndarray
    group: int = 1  # lines that come together: runs of both arrays

    @property
    def size(self) -> int:
        return self.first.size

    def together(self, array: int) -> float:
        """The share of neighbours that lie side by side in the first (0) or second (1) array."""
        if self.size < 2:
            return 1.0
        return float(np.mean(np.diff(self[array]) == 1))

    def alone(self, array: int, few: int) -> float:
        """The share of lines with fewer than `few` neighbours side by side."""
        begins = np.flatnonzero(np.diff(self[array]) != 1) + 1
        runs = np.diff(begins, prepend=0, append=self.size)
        return float(np.sum(runs % few)) / self.size

    def in_bands(self, depth: int) -> bool:
        """Whether `depth` lines that are `width` lines apart lie side by side in the second array, for the first
        `width`."""
        places = self.second
        beside = np.flatnonzero(places[:MOST_WIDE] == places[0] + 1)
        width = int(beside[0]) if beside.size else 0
        if width < depth or places.size < width * depth:
            return False
        return bool(np.all(np.diff(places[: width * depth].reshape(depth, width), axis=0) == 1))


class Tables(NamedTuple):
    """A product as direct_packs.h reads it."""

    rows: Lines  # in left, in out
    columns: Lines  # in right, in out
    terms: Lines  # in left, in right
    loops: tuple[Axis, ...]  # outer, the slowest first

    @property
    def turns(self) -> int:
        return math.prod(axis.extent for axis in self.loops)


def tables(f: Fold, size: int) -> Tables:
    """The tables of a product. size: bytes of a number. Raises Unable for too many outer loops."""
    rows, slow_rows = _inner(f.m, LEFT)
    columns, slow_columns = _inner(f.n, RIGHT)

    loops = tuple(sorted((*f.batch, *slow_rows, *slow_columns), key=lambda axis: -abs(axis.step[OUT])))
    if len(loops) > LOOPS:
        raise Unable(f"{LOOPS} outer loops at most")

    lanes = PACK // size
    return Tables(
        _lines(rows, (LEFT, OUT), f, lanes),
        _lines(columns, (RIGHT, OUT), f, lanes),
        _terms(f, lanes),
        loops,
    )


def _inner(axes: tuple[Axis, ...], factor: int) -> tuple[list[Axis], list[Axis]]:
    """(axes of a table, slower axes). The axes along which the output and the factor run come first."""

    def runs(axis: Axis) -> bool:
        return 1 in (axis.step[OUT], axis.step[factor])

    ordered = sorted(axes, key=lambda axis: (not runs(axis), abs(axis.step[OUT])))

    count, taken = 1, 0
    for axis in ordered:
        count *= axis.extent
        if taken and count > (MOST_LINES if runs(axis) else LINES):
            break
        taken += 1

    return ordered[:taken], ordered[taken:]


def _lines(axes, arrays: tuple[int, int], f: Fold, lanes: int) -> Lines:
    """Rows or columns, for the two arrays that have them, in the order of one of them.

    Where the arrays run along different axes, pieces of both axes come together. So packs are whole in one array, and
    cache lines are used up in the other. An array that is far smaller has no pieces: the caches hold it.
    """
    larger, smaller = sorted(arrays, key=f.numbers, reverse=True)
    alone = f.numbers(larger) > LARGER * f.numbers(smaller)
    runs = {array: [axis for axis in axes if axis.step[array] == 1] for array in arrays}

    # In the order of the larger array. But to store across the runs of the output takes longer than to pack across
    # those of a factor that is a little larger.
    order = [larger, smaller] if alone or runs[larger] else [smaller, larger]
    writes = bool(runs.get(OUT)) and not alone
    if writes and f.numbers(larger) <= WRITTEN * f.numbers(OUT):
        order.sort(key=lambda array: array != OUT)
    first, second = order
    ordered = sorted(axes, key=lambda axis: abs(axis.step[first]))

    if writes and first == OUT and runs[second] and runs[second] != runs[OUT]:
        most = GROUP * lanes // (PACK * _terms_at_once(f, lanes))
        pieces = _crossed(ordered, runs[second][0], lanes, most)
    else:
        pieced = list(dict.fromkeys(runs[first] if alone else runs[first] + runs[second]))
        sizes = [_piece(axis.extent, lanes, k == 0) for k, axis in enumerate(pieced)]
        if len(sizes) == 2:
            sizes = _panels(pieced[0].extent, sizes, lanes, LYING * lanes // (PACK * _terms_at_once(f, lanes)))
        pieces = {ordered.index(axis): piece for axis, piece in zip(pieced, sizes)}
    return _placed([(axis.extent, axis.step) for axis in ordered], pieces, arrays)


def _crossed(ordered, other: Axis, lanes: int, most: int) -> dict[int, int]:
    """Pieces of the axes along which the output runs, then of the one along which a factor does.

    ordered: axes, the output's fastest first. lanes: numbers of a cache line. most: lines that the second cache holds.
    """
    across = _across(other.extent, lanes)
    longest = min(max(most // across, lanes), FEW)

    pieces: dict[int, int] = {}
    run = 1
    for d, axis in enumerate(ordered):
        room = longest // run
        if axis is other or axis.step[OUT] != run or room < 2:
            break
        pieces[d] = _part(axis.extent, room, lanes if run == 1 else 1)
        run *= pieces[d]
    return {**pieces, ordered.index(other): across}


def _across(extent: int, lanes: int) -> int:
    """Numbers of a factor's run that come together: three cache lines or two if they divide it, since neighbours in
    memory take less time; else one or so. lanes: numbers of a cache line."""
    for lines in (3, 2):
        if extent % (lines * lanes) == 0:
            return lines * lanes
    return _piece(extent, lanes, False)


def _panels(extent: int, sizes: list[int], lanes: int, most: int) -> list[int]:
    """Pieces of the axis of packs and of another one: whole panels of rows, if they divide the axis and a block of rows
    has room for half a cache line of the other; else the sizes as they are.

    extent: of the axis of packs. lanes: numbers of a cache line. most: rows of a block.
    """
    panel = PACKS * lanes
    for other in (lanes, lanes // 2):
        if extent % panel == 0 and other <= sizes[1] and panel * other <= most:
            return [panel, other]
    return sizes


def _terms_at_once(f: Fold, lanes: int) -> int:
    """Terms of the sum that are packed at a time, 1 at least."""
    return max(min(f.size("k"), DEPTH * lanes // 8), 1)


def _part(extent: int, most: int, of: int) -> int:
    """The extent if it is no more than `most`; else a multiple of `of`, which divides the extent if possible."""
    if extent <= most:
        return extent
    largest = most // of * of
    return next((size for size in range(largest, most // 2, -of) if extent % size == 0), largest)


def _terms(f: Fold, lanes: int) -> Lines:
    """Terms of the sum, in pieces of the indices along which the factors run. Pieces follow each other as they lie in
    the factor with more indices, which is the larger one as a rule.

    The order counts for the bits of the result. So it depends neither on extents nor on which factor is the left one.
    """
    indices = [index for axis in f.k for index in axis.indices]
    by_array = {array: tuple(sorted(indices, key=lambda i: abs(f.steps[array][i]))) for array in (LEFT, RIGHT)}
    runs = {array: order[0] for array, order in by_array.items() if indices and _runs(f.steps[array], order[0])}

    arrays = sorted((LEFT, RIGHT), key=lambda array: (array not in runs, by_array[array]))
    ordered = by_array[max(arrays, key=lambda array: len(f.steps[array]))]
    pieced = dict.fromkeys(runs[array] for array in arrays if array in runs)
    axes = [(f.extents[i], (0, f.steps[LEFT][i], f.steps[RIGHT][i])) for i in ordered]
    sizes = {ordered.index(i): _piece(f.extents[i], lanes, k == 0) for k, i in enumerate(pieced)}
    return _placed(axes, sizes, (LEFT, RIGHT))


def _runs(steps, index: str) -> bool:
    """Whether an array runs along an index, also if a faster index has the extent 1."""
    return all(abs(steps[index]) < abs(step) for other, step in steps.items() if other != index)


def _placed(axes, pieces: dict[int, int], arrays) -> Lines:
    """Where each combination of axes lies in two arrays.

    axes: (extent, steps), the fastest first. pieces: numbers of the axes that come together, the axis of packs first.
    """
    if not axes:
        zero = np.zeros(1, np.int64)
        return Lines(zero, zero)

    turns = np.indices([extent for extent, _ in axes]).reshape(len(axes), -1)
    inside = [turns[d] % piece for d, piece in pieces.items()]
    outside = [turns[d] // pieces.get(d, 1) for d in range(len(axes))]
    order = np.lexsort([*inside, *outside])

    places = []
    for array in arrays:
        place = sum(turn * steps[array] for turn, (_, steps) in zip(turns, axes))
        places.append(np.ascontiguousarray(place[order], np.int64))

    first, second = places
    return Lines(first, second, math.prod(pieces.values()))


def _piece(extent: int, lanes: int, of_packs: bool) -> int:
    """Numbers of an axis that come together: a cache line, or a half more or less, so that few packs are left over.

    Blocks of rows have whole pieces of packs. lanes: numbers of a cache line.
    """
    half = lanes // 2
    if extent < half:
        return extent
    if of_packs:
        sizes = [lanes, lanes + half, half]
        return next((size for size in sizes if extent % size == 0), lanes if extent >= lanes else half)
    return lanes if extent % lanes == 0 or extent > 2 * lanes else extent // half * half


def along_rows(f: Fold) -> Fold:
    """The product with its factors in the order in which the output runs along the rows."""
    runs = {name: min((abs(axis.step[OUT]) for axis in f.group(name)), default=math.inf) for name in ("m", "n")}
    return exchanged(f) if runs["n"] < runs["m"] else f
