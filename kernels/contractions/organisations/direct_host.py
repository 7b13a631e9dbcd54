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
from ..direct_tables import DEPTH, FEW, LOOPS, LYING, PACK, PACKS, Tables, along_rows, tables
from ..fold import LEFT, OUT, RIGHT, Axis, Fold
from ..plan import Program, Unable
from . import library_costs
from .base import Organisation
from .direct import folded, product
from .on_host import Launch, OnHost

COLUMNS = 8  # of a panel of the widest vector units
NARROW_COLUMNS = 4  # of a panel of the others
PANEL = 48  # rows: the panels of all vector units fit in
MET, NARROW_MET = 4, 2  # times PANEL: rows that meet columns as they lie, with the widest vectors and with others
SECOND_CACHE = 3 / 8  # of the second cache: a block of rows that are packed
FIRST_CACHE = 20 << 10  # bytes of a block of packed rows that stays in the first cache, beside columns and sums
FEW_COLUMNS = 200  # that meet rows as they lie: to pack rows takes longer than the packed rows save
CHUNK = 4 << 20  # bytes of the columns that are packed for several blocks of rows
ITEMS = 4  # for each thread, at least
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
NEAR_PANEL_BEGIN = 1.5e-8  # the same where the first cache holds the rows
# Seconds that these cores take besides: of columns that few rows meet as they lie; of a term of them if terms lie
# apart; of a panel of rows that is not whole; of a piece of less than PIECE bytes that it stores
COLUMNS_BEGIN, TERM_APART, BROKEN_PANEL, SHORT_PIECE = 3e-8, 1.5e-9, 4e-8, 1.2e-9
IN_BANDS = 0.3  # times a number that is stored alone: squares of them are transposed in registers
SMALL_PRODUCT = 20000  # multiply-adds
NUMBER = 9e-10  # seconds of a number of a small product: 5e-10 to 17e-10 of products of 8 to 27 by 8 to 100


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


def rows_of_first_cache(group: int, size: int) -> int:
    """Rows of a block of a short sum, whole panels and groups, that the first cache holds; 0: it has no room for any.

    Measured on a core that works on 64 bytes at once, whose sums of 24 to 48 terms take 1.05 to 1.25 times as long with
    rows in the second cache: 16 bytes of a clock come from there, and the output's lines wait for the same buffers.
    Other cores multiply at half the pace.

    group: rows that come together. size: bytes of a packed row.
    """
    if not cpu.has_whole_vectors(cpu.target()):
        return 0
    together = math.lcm(group, PANEL)
    return FIRST_CACHE // size // together * together


def of_threads(rows: int, block: int, together: int, items: int) -> tuple[int, int]:
    """(rows of a block, rows of an item), so that so many items are of about the same size.

    rows: of a turn. block: rows of a block, at most, which no item is smaller than by much. together: rows that come
    together.
    """
    step = math.lcm(together, PANEL)
    if step > block:
        step = PANEL
    item = _whole(-(-rows // items), step)
    blocks = -(-item // block)
    block = min(_whole(-(-item // blocks), step), block)
    return block, block * blocks


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
        if self.rows % PANEL:
            return f"rows={PANEL} or a multiple"
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
        """Seconds of a product on one core: panels of full packs, during which the factors come from memory and the
        output goes there; numbers that lie apart in a factor or in the output. To pack and to store neighbours takes no
        more."""
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
        if m > _met() or not evenly(t.columns.first):
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
        begins = t.turns * deep * self._begins(t, size, PACKS * lanes, -(-n // columns))

        busy = flops / rates.panels
        few = (m if cpu.has_whole_vectors(cpu.target()) else max(m, n)) <= FEW_LINES
        together = busy + WAITED * memory if few else max(busy, memory)
        together += self._columns_again(t, dtype)
        return CALL + together + begins + apart

    def _begins(self, t: Tables, size: int, panel: int, column_panels: int) -> float:
        """Seconds of all panels beside their multiply-adds, for a part of the terms. panel: rows of a panel."""
        m, row_panels = t.rows.size, -(-t.rows.size // panel)
        if not cpu.has_whole_vectors(cpu.target()):
            return row_panels * column_panels * PANEL_BEGIN[cpu.vector_bytes(cpu.target())]

        found = row_panels * column_panels * (NEAR_PANEL_BEGIN if self._near(t, size) else WHOLE_PANEL_BEGIN)
        if m <= _met():
            terms = min(t.terms.size, self.depth)
            found += column_panels * (COLUMNS_BEGIN + terms * t.columns.together(0) * TERM_APART)
        if m % panel:
            short = m * t.columns.size * t.rows.alone(1, PIECE // size) * size / LEAST_PIECE
            found += column_panels * BROKEN_PANEL + short * SHORT_PIECE
        return found

    def _columns_again(self, t: Tables, dtype: str) -> float:
        """Seconds for columns that each panel of rows reads anew, where a last cache is large and slow."""
        size = np.dtype(dtype).itemsize
        chunk = min(t.columns.size * min(t.terms.size, self.depth) * size, CHUNK)
        if not host_rates.has_large_cache() or chunk <= SECOND_CACHE * cpu.second_cache():
            return 0.0
        near = self._near(t, size)
        if not near and rows_at_once(t.rows.second, self.rows) > PANEL:
            return 0.0

        passes = -(-t.rows.size // near) - 1 if near else -(-t.rows.size // PANEL)
        read = t.turns * passes * t.columns.size * t.terms.size * size
        return read / library_costs.pace("packs", dtype, math.inf)

    def _lie(self, t: Tables, size: int) -> bool:
        """Whether rows are multiplied as they lie: few columns meet them, and cache lines are whole."""
        lanes = PACK // size
        return t.columns.size <= FEW_COLUMNS and t.rows.together(0) >= 1 - 1 / lanes

    def _near(self, t: Tables, size: int) -> int:
        """Rows of a block that the first cache holds, see `rows_of_first_cache`; 0: it does not, or rows lie."""
        depth = min(t.terms.size, self.depth)
        return 0 if self._lie(t, size) else rows_of_first_cache(t.rows.group, depth * size)

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
        return Source(
            "tensor-direct",
            text,
            quick=quick,
            spelled_vectors=True,
            written_out=True,
            entry="contraction",
            title="direct",
        )

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
        near = self._near(t, size)
        if near:
            rows = min(near, rows)
            at_once = min(rows, self.rows)

        # Rows of an item: all, or so few that all threads have work, the same for each if there is one turn.
        item = _whole(t.rows.size, rows)
        if threads > 1 and t.turns < ITEMS * threads:
            items = min(-(-ITEMS * threads // t.turns), -(-t.rows.size // rows))
            items = _whole(items, threads) if t.turns == 1 else items
            rows, item = of_threads(t.rows.size, rows, t.rows.group, items)
            at_once = min(at_once, rows)

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

    Columns that follow each other may share a line: then they are an even number of pieces that can be stored, and no
    panel of rows ends within a run. Else the parts of a line are written at different times.
    """
    run = next((axis.extent for axis in f.m if axis.step[OUT] == 1), 1)

    def follows(axis: Axis) -> bool:
        shares = axis in f.n and axis.step[OUT] == run and PANEL % run == 0
        return shares and run * size % PIECE == 0 and axis.extent % 2 == 0

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
