"""A product of two tensors on CPU vector units, in blocks for two caches, whatever the order of the indices
(direct_packs.h)."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from typing import ClassVar, NamedTuple

import numpy as np

from ...engine.backend import cpu
from ...engine.backend.base import Source
from ...engine.backend.record import record, structure
from ...engine.errors import VariantUnsuitable
from .. import host_rates
from ..fold import LEFT, OUT, RIGHT, Axis, Fold
from ..plan import Program, Unable
from . import library_costs
from .base import Organisation
from .direct import folded, product
from .on_host import Launch, OnHost

LOOPS = 16  # outer loops of a product, at most
LINES = 1 << 17  # rows or columns of a table; slower axes become outer loops
MOST_LINES = 1 << 18  # of a table that has no more than the axes along which the arrays run
PACK = 64  # bytes of the widest vector units, and of a cache line
PACKS, COLUMNS = 3, 8  # of a panel of the widest vector units
NARROW_COLUMNS = 4  # of a panel of the others
PANEL = 48  # rows: the panels of all vector units fit in
MET, NARROW_MET = 4, 2  # times PANEL: rows that meet columns as they lie, with the widest vectors and with others
SECOND_CACHE = 3 / 8  # of the second cache: a block of rows that are packed
LYING = 256 << 10  # bytes of a block of rows that are multiplied as they lie
FEW_COLUMNS = 200  # that meet rows as they lie: to pack rows takes longer than the packed rows save
CHUNK = 4 << 20  # bytes of the columns that are packed for several blocks of rows
DEPTH = 192  # terms of the sum that are packed at a time, of 8 bytes; twice as many of 4 bytes
WRITTEN = 2  # times the numbers of the output: a factor of no more is packed across its runs
GROUP = 192 << 10  # bytes of the rows of a factor that come together
FEW = 96  # rows of a short run of the output
ITEMS = 4  # for each thread, at least
LARGER = 16  # times the numbers: an array beside which the order of the other does not count
MOST_WIDE = 128  # lines of a band, as direct_packing.h has it
STREAMED = 8 << 20  # bytes of an output that bypasses the caches

TABLES = ("row_left", "row_out", "column_right", "column_out", "term_left", "term_right", "line_left", "line_end")
MEMBERS = " ".join(
    [
        "out:address left:address right:address scratch:address",
        *(f"{name}:address" for name in TABLES),
        "rows:whole columns:whole terms:whole number:real loops:whole",
        "block:whole pass:whole item_rows:whole chunk:whole room:whole store:whole in_place:whole rows_in_place:whole",
        *(f"{name}:whole:{LOOPS}" for name in ("extent", "out_step", "left_step", "right_step")),
        "piece:whole places:whole even:whole",
    ]
)
SCALARS = {"float64": "double", "float32": "float"}
STORES = ("plain", "past", "scaled", "added")  # of direct_packs.h


PIECE = 32  # bytes that are written past the caches together, at least
LEAST_PIECE = 16  # bytes of neighbours that are stored together
BROKEN = 4  # neighbours that lie apart make so many others as slow
CALL = 2e-6  # seconds: the scratch of a thread is looked for besides
FEW_LINES = 64  # rows and columns at most that are asked for a block of terms ahead
WAITED = 0.35  # of the time of memory of so few, beside their multiply-adds
FEWER_PACKS = 1.25  # times the pace of a panel with all its packs
PANEL_BEGIN = {64: 2.5e-8, 32: 4e-8, 16: 4e-8}  # seconds of a panel beside its multiply-adds, by the vectors' bytes
WHOLE_PANEL_BEGIN = 4.5e-8  # the same of cores that work on 64 bytes at once, as measured
IN_BANDS = 0.3  # times a number that is stored alone: squares of them are transposed in registers
SMALL_PRODUCT = 20000  # multiply-adds
NUMBER = 9e-10  # seconds of a number of a small product: 5e-10 to 17e-10 of products of 8 to 27 by 8 to 100


# ---- the tables of a product ----------------------------------------------------------------------------------------


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
    return _exchanged(f) if runs["n"] < runs["m"] else f


def _exchanged(f: Fold) -> Fold:
    """The product with its factors exchanged."""

    def exchanged(axes):
        return tuple(axis._replace(step=(axis.step[OUT], axis.step[RIGHT], axis.step[LEFT])) for axis in axes)

    out, left, right = f.steps
    m, n, k, batch = map(exchanged, (f.n, f.m, f.k, f.batch))
    return Fold(m, n, k, batch, f.extents, (out, right, left))


# ---- the organisation -----------------------------------------------------------------------------------------------


class Blocks(NamedTuple):
    """How the rows and columns of a product are cut."""

    rows: int  # of a block, that are packed together
    at_once: int  # rows of a block that meet all columns before the next ones do
    item: int  # rows of an item
    chunk: int  # columns that meet a block
    packed: int  # numbers of columns that are packed at a time
    in_place: bool  # columns are not packed: few rows meet them
    rows_in_place: bool  # rows are not packed where those of a pack lie side by side: few columns meet them


def lines_of(places: np.ndarray, block: int, numbers: int) -> tuple[np.ndarray, np.ndarray]:
    """(rows of which no two of a block begin in the same cache line, how many there are up to the end of each block).

    places: of rows in a factor. block: rows of a block. numbers: of a cache line.
    """
    found = []
    for begin in range(0, places.size, block):
        inside = places[begin : begin + block]
        _, first = np.unique(inside // numbers, return_index=True)
        found.append(inside[np.sort(first)])
    ends = np.cumsum([lines.size for lines in found], dtype=np.int64)
    return np.concatenate(found), ends


def block_rows(group: int, most: int, usual: int) -> int:
    """Rows of a block: so many groups as fill panels best, or the usual number if a group is too large.

    group: rows that come together. most: rows that the cache holds.
    """
    if group > most:
        return min(most, usual)
    counts = range(max(min(most, usual) // group, 1), 0, -1)
    return group * min(counts, key=lambda count: _whole(group * count, PANEL) / (group * count))


def pieces(t: Tables, size: int) -> int:
    """Rows that lie side by side in the output everywhere: a pack of the widest vectors, a half or a quarter; else 1.

    size: bytes of a number.
    """
    for numbers in (PACK // size, PIECE // size, LEAST_PIECE // size):
        whole = t.rows.second[: t.rows.size // numbers * numbers].reshape(-1, numbers)
        if np.all(np.diff(whole, axis=1) == 1):
            return numbers
    return 1


def all_places(t: Tables, size: int) -> int:
    """The places of pieces in the output, joined by `or`: whether all begin on a boundary. size: bytes of a number."""
    places = t.rows.second[:: pieces(t, size)], t.columns.second, [abs(axis.step[OUT]) for axis in t.loops]
    return functools.reduce(operator.or_, (int(np.bitwise_or.reduce(some)) for some in places if len(some)), 0)


def whole_lines(t: Tables, size: int) -> bool:
    """Whether packs of rows are whole cache lines of the output. size: bytes of a number."""
    lanes = PACK // size
    return pieces(t, size) == lanes and all_places(t, size) % lanes == 0


def evenly(places: np.ndarray) -> bool:
    """Whether lines lie at equal distances."""
    steps = np.diff(places)
    return bool(np.all(steps == steps[:1]))


def rows_at_once(places: np.ndarray, rows: int) -> int:
    """Rows of a block that meet all columns before the next ones do. Where the output is written in short runs, these
    are a panel: so it is written in order.

    places: of the rows in the output. rows: of a block.
    """
    apart = np.diff(places) != 1
    if not np.any(apart):
        return rows
    run = int(np.argmax(apart)) + 1
    return min(rows, PANEL) if PACKS <= run <= FEW else rows


@dataclasses.dataclass(frozen=True)
class HostDirect(OnHost):
    """Blocks of rows, packed for two caches through tables of places."""

    NAMES: ClassVar[tuple[str, ...]] = ("direct",)
    FREE: ClassVar[bool] = True

    rows: int = 384  # of a block, a multiple of 48: the panels of all vector units fit in
    depth: int = DEPTH

    @property
    def scratch(self) -> int:
        """Numbers of a thread beside packed columns: the packed rows, the sums of a panel of columns between two
        packs."""
        return self.rows * (self.depth + COLUMNS) + 2 * PACK

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        if cls().serves(p):
            return []
        return [cls(depth=DEPTH * 8 // np.dtype(p.dtype).itemsize)]

    def serves(self, p: Program) -> str:
        if p.dtype not in SCALARS:
            return f"numbers of {' or '.join(SCALARS)}"
        try:
            tables(along_rows(folded(p, 2)), np.dtype(p.dtype).itemsize)
        except Unable as reason:
            return str(reason)
        return ""

    def price(self, p: Program, least: float = math.inf) -> float:
        """Seconds for a usual batch, in the units of the other organisations."""
        n = library_costs.usual_batch(p)
        return self.seconds(along_rows(folded(p, n)), p.dtype) / n / library_costs.unit("packs", p)

    def seconds(self, f: Fold, dtype: str) -> float:
        """Of a product on one core: panels of whole packs, during which the factors come from memory and the output
        goes there; numbers that lie apart in a factor or in the output. To pack and to store neighbours takes no more.
        """
        rates, size = host_rates.of(dtype), np.dtype(dtype).itemsize
        t = tables(f, size)
        m, n, k = t.rows.size, t.columns.size, t.terms.size

        vector = cpu.vector_bytes(cpu.target())
        columns = COLUMNS if vector == PACK else NARROW_COLUMNS
        lanes = vector // size
        panels, others = divmod(-(-m // lanes), PACKS)
        packs = panels * PACKS + others * FEWER_PACKS
        flops = 2.0 * t.turns * packs * lanes * _whole(n, columns) * k

        deep, chunks = -(-k // self.depth), -(-n * min(k, self.depth) * size // CHUNK)
        gathered = 0.0 if self._lie(t, size) else chunks * m * k * _apart(t.rows.together(0))
        if m > _met():
            gathered += n * k * _apart(t.columns.together(0))
        scattered = m * n * deep * t.rows.alone(1, LEAST_PIECE // size)
        if t.rows.in_bands(PIECE // size):
            scattered *= IN_BANDS

        # A small product has whole panels seldom, and nothing to do while it packs and stores. Fewer lines than a pack
        # or a panel of columns are packed one by one.
        small = min(1.0, SMALL_PRODUCT / max(m * n * k, 1))
        alone = (m * k + n * k + m * n) * small * NUMBER
        one_by_one = (m if m < lanes else 0) + (n if n < columns else 0)
        alone += one_by_one * k * (1 - small) * NUMBER

        read = size * (chunks * f.numbers(LEFT) + f.numbers(RIGHT))
        written = size * f.numbers(OUT) * (1 if self._past(t, f, size) else 2 * deep)
        apart = t.turns * (gathered * rates.gather + scattered * rates.scatter + alone)
        held = size * sum(f.numbers(array) for array in (OUT, LEFT, RIGHT))
        memory = (read + written) / library_costs.pace("packs", dtype, held)
        begin = WHOLE_PANEL_BEGIN if cpu.has_whole_vectors(cpu.target()) else PANEL_BEGIN[vector]
        begins = t.turns * -(-m // (PACKS * lanes)) * -(-n // columns) * deep * begin

        busy = flops / rates.panels
        few = max(m, n) <= FEW_LINES
        together = busy + WAITED * memory if few else max(busy, memory)
        together += self._columns_again(t, dtype)
        return CALL + together + begins + apart

    def _columns_again(self, t: Tables, dtype: str) -> float:
        """Seconds for columns that each panel of rows reads anew, where a last cache is large and slow."""
        size = np.dtype(dtype).itemsize
        chunk = min(t.columns.size * min(t.terms.size, self.depth) * size, CHUNK)
        if not host_rates.has_large_cache() or chunk <= SECOND_CACHE * cpu.second_cache():
            return 0.0
        if rows_at_once(t.rows.second, self.rows) > PANEL:
            return 0.0

        panels = -(-t.rows.size // PANEL)
        read = t.turns * panels * t.columns.size * t.terms.size * size
        return read / library_costs.pace("packs", dtype, math.inf)

    def _lie(self, t: Tables, size: int) -> bool:
        """Whether rows are multiplied as they lie: few columns meet them, and cache lines are whole."""
        lanes = PACK // size
        return t.columns.size <= FEW_COLUMNS and t.rows.together(0) >= 1 - 1 / lanes

    def _past(self, t: Tables, f: Fold, size: int) -> bool:
        """Whether the output bypasses the caches: it is larger than they are, and written once, in whole lines."""
        if t.terms.size > self.depth or size * f.numbers(OUT) < STREAMED:
            return False
        return _on_lines(f, size) or whole_lines(t, size)

    # ---- text and launch
    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source:
        """The source: it depends on neither extents nor indices."""
        lines = [
            f"#define SCALAR {SCALARS[p.dtype]}",
            f"constexpr int ROWS = {self.rows};",
            f"constexpr int DEPTH = {self.depth};",
        ]
        text = "\n".join([*lines, structure("Arguments", MEMBERS), '#include "contractions/direct_packs.h"', ""])
        return Source("tensor-direct", text, quick=quick, spelled_vectors=True, entry="contraction", title="direct")

    def launch_of(self, plan, arrays, values, n: int) -> Launch:
        return self.kept_launch(plan, values, n, product(plan.program).references[0].name, self._work)

    def _work(self, plan, values, n: int, on_line: bool) -> Launch:
        """The launch for n entries, without addresses. Raises VariantUnsuitable."""
        p = plan.program
        as_told = folded(p, max(n, 1), values)
        f = along_rows(as_told)
        try:
            t = tables(f, np.dtype(p.dtype).itemsize)
        except Unable as reason:
            raise VariantUnsuitable(f"'{self.name}': wanted {reason}.") from None

        # Blocks, the scratch of each thread, and the tables.
        size = np.dtype(p.dtype).itemsize
        blocks = self._blocks(t, plan.backend.threads, size)
        room = _whole(self.scratch + blocks.packed, PACK)
        lists = (*t.rows[:2], *t.columns[:2], *t.terms[:2], *lines_of(t.rows.first, blocks.rows, PACK // size))

        held = record(MEMBERS, number=product(p).number, loops=len(t.loops), room=room)
        held["rows"], held["columns"], held["terms"] = t.rows.size, t.columns.size, t.terms.size
        held["block"], held["pass"] = blocks.rows, blocks.at_once
        held["item_rows"], held["chunk"] = blocks.item, blocks.chunk
        held["in_place"] = blocks.in_place
        held["rows_in_place"] = blocks.rows_in_place
        held["piece"], held["places"] = pieces(t, size), all_places(t, size)
        held["even"] = evenly(t.columns.first)
        store = self._store(t, f, size, product(p))
        if store == "past" and not on_line:
            store = "plain"  # no line would be written as a whole
        held["store"] = STORES.index(store)
        for name, lines in zip(TABLES, lists):
            held[name] = lines.ctypes.data
        for d, axis in enumerate(t.loops):
            held["extent"][0, d] = axis.extent
            for name, step in zip(("out_step", "left_step", "right_step"), axis.step):
                held[name][0, d] = step

        # The blocks' left factor is the text's right one if the factors were exchanged.
        out, left, right = (r.name for r in product(p).references)
        factors = (left, right) if f is as_told else (right, left)
        addresses = tuple(zip(("out", "left", "right"), (out, *factors)))

        items = -(-t.rows.size // blocks.item) * t.turns if n else 0
        module = _module(plan.backend, self.render(p, quick=plan.quick))
        return Launch(module, held, addresses, items, tuple(lists), p.title, plan.backend.threads * room * size)

    def _store(self, t: Tables, f: Fold, size: int, stated) -> str:
        """How sums are stored. stated: the product as the text has it."""
        if stated.adds:
            return "added"
        if stated.number != 1.0:
            return "scaled"
        return "past" if self._past(t, f, size) else "plain"

    def _blocks(self, t: Tables, threads: int, size: int) -> Blocks:
        """How rows and columns are cut."""
        depth = min(t.terms.size, self.depth)
        rows_in_place = t.columns.size <= FEW_COLUMNS
        lie = self._lie(t, size)
        both_in_place = lie and t.rows.size <= _met()
        cache = LYING if lie and not both_in_place else int(SECOND_CACHE * cpu.second_cache())
        most = max(cache // (size * depth) // PANEL * PANEL, PANEL)
        room = self.rows * self.depth // depth // PANEL * PANEL
        rows = block_rows(t.rows.group, min(most, room), self.rows)
        at_once = rows_at_once(t.rows.second, min(rows, self.rows))

        # Rows of an item: all, or so few that all threads have work.
        item = t.rows.size
        if threads > 1 and t.turns < ITEMS * threads:
            item = -(-t.rows.size * t.turns // (ITEMS * threads))
        item = min(_whole(item, rows), _whole(t.rows.size, rows))

        item_rows = min(item, t.rows.size)
        if item_rows <= at_once:
            chunk, packed = t.columns.size, COLUMNS * depth
        else:
            chunk = min(_whole(t.columns.size, COLUMNS), _whole(CHUNK // (size * depth), COLUMNS))
            packed = chunk * depth

        # Columns are not packed for one panel of rows, nor for a few if either factor is read in whole lines.
        in_lines = both_in_place or t.columns.together(0) >= 1 - size / PACK
        in_place = item_rows <= at_once and item_rows <= (_met() if in_lines else PANEL)
        return Blocks(rows, at_once, item, chunk, packed, in_place, rows_in_place)

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        return {"rows": (96, 192, 384, 768), "depth": (64, 128, 192, 256, 384)}


def _on_lines(f: Fold, size: int) -> bool:
    """Whether all lines of the output begin on cache lines if the first one does.

    Columns that follow each other may share a line: then they are an even number of pieces that can be stored.
    """
    run = next((axis.extent for axis in f.m if axis.step[OUT] == 1), 1)

    def follows(axis: Axis) -> bool:
        return axis in f.n and axis.step[OUT] == run and run * size % PIECE == 0 and axis.extent % 2 == 0

    def on_lines(axis: Axis) -> bool:
        return axis.step[OUT] == 1 or axis.step[OUT] * size % PACK == 0 or follows(axis)

    return all(on_lines(axis) for axis in (*f.m, *f.n, *f.batch))


def _met() -> int:
    """Rows that meet columns as they lie."""
    return PANEL * (MET if cpu.vector_bytes(cpu.target()) == PACK else NARROW_MET)


@functools.lru_cache(None)
def _module(backend, source: Source):
    """One for all plans: the source does not depend on them."""
    return backend.compile(source)


def _whole(count: int, of: int) -> int:
    """A count rounded up to a multiple."""
    return -(-count // of) * of


def _apart(share: float) -> float:
    """The share of numbers that are slow, if this share of neighbours lies side by side."""
    return min(BROKEN * (1 - share), 1.0)
