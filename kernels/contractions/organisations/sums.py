"""Some lanes of a warp for a number of the output: each lane adds up its part of the sums.

Where neighbours of the output are neighbours in the factors too, a lane has a number for itself: the lanes of a warp
read side by side. Numbers are counted as they lie in the largest factor: sums are long, outputs are short. Terms are
counted so, too; where another large factor lies across, by tiles in which lanes share lines of both.

Few numbers with long sums would leave most of a device idle. Several warps of a block share a number's sums, and with
`parts` several blocks do: the block that is the last to have left its part adds up all of them, in their order. So bits
do not depend on which block that is. It is known by a counter (engine/backend/counters.py).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import ClassVar, NamedTuple

import numpy as np

from ...engine.backend.base import Shape
from ...engine.backend.counters import COUNTER
from ...engine.backend.facts import REFERENCE
from .. import render_threads as threads
from ..plan import FAR, Loop, Nest, Product, Program, merged, pointers
from ..prices import price_of
from . import device, library_costs
from .base import Organisation
from .in_parts import LAST, InParts
from .threads import batch_is_last, several

LEAST = 4  # terms of a sum that is worth spreading over lanes
LANES = REFERENCE.warp
UNDER_WAY = 64  # bytes that a lane asks for before it adds
FEWEST, MOST = 4, 16  # loads that these are
TURN = 0.9e-6  # seconds in which they come
SINGLY = 1.5  # times the cache's time where the lanes of a number read one number at a time
NEAR, OF_NEAR = 1 << 15, 0.4  # bytes of a factor that the first cache holds; times the second one's time
ONE_BY_ONE = 1.05  # times the memory's time there
PAIRS = 1.15  # times the memory's time where a lane has a complex number for itself
CROSSING = 2.0  # times the memory's time where the lanes of a number read across its neighbours
IDLE = 1.6  # times the time of a lane for each number where more than half of a warp has none
FILLED = 2 * device.FULL  # lanes of a device whose sums are cut into parts: each has few loads under way
# Warps of a block that share numbers: of few numbers more, since blocks are counted one after the other.
WARPS, WARPS_OF_FEW, WARPS_ALONE = 8, 16, 32
ALONE = 3 << 16  # bytes that one block reads sooner than parts of several are added up
SPREAD = 8 * FILLED  # lanes of blocks that come and go: no more warps share a number
SMALL = 8  # bytes of a load
LONG = 256  # loads of a lane, beside which the last block is nothing: twice the lanes
LIGHT = 4  # times fewer numbers than the largest factor has: such a factor's loads bring no bytes from memory
SUMMED = 8  # parts that a lane of the last block asks for at once
TILE = 16  # rows, and columns, of a tile of terms
ROWS, COLUMNS = (4, 4), (2, 8)  # of a tile: warps of eight, lanes of a warp
WASTE = 1.2  # times the terms along an edge that whole tiles have, at most


@dataclasses.dataclass(frozen=True)
class Sums(InParts):
    """`lanes` lanes for a number of the output; a lane reads `near` neighbours of a sum at once."""

    NAMES: ClassVar[tuple[str, ...]] = ("sums",)
    COMPLEX: ClassVar[bool] = True

    threads: int  # of a block
    lanes: int = 1  # of a warp, for a number of the output
    near: int = 1  # neighbours of a sum that a lane reads at once, 16 bytes at most
    warps: int = 1  # of a block, that share a number
    parts: int = 1  # of the sums, by different blocks

    def details(self) -> list[str]:
        return [
            f"{self.threads} threads",
            *several(self.lanes, "lanes"),
            *several(self.near, "at once"),
            *several(self.warps, "warps"),
            *several(self.parts, "parts"),
        ]

    @property
    def team(self) -> int:
        """Lanes that share a number, in a block."""
        return self.lanes * self.warps

    @property
    def numbers(self) -> int:
        """Numbers of the output that a block has."""
        return self.threads // self.team

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        if len(threads.nests(p)) > 1 or not threads.independent(p) or not _summed(threads.nests(p)[0]):
            return []

        n = ordered(p)
        near = 1 if p.mixed else widest(n, p.dtype)
        longest = _longest(n)
        lanes, loads = 2, 2 if near > 1 else 4  # of a lane

        while lanes < LANES and lanes * near * loads < longest:
            lanes *= 2

        found = [_shared(p, cls(256, lanes, near)), cls(256, lanes, near)]
        if _side_by_side(p, n):
            found += [_shared(p, cls(256)), cls(256)]
        return list(dict.fromkeys(found))

    def price(self, p: Program, least: float = math.inf) -> float:
        price = self._work(p)
        if self.lanes == 1:
            price = self._read(p) * self._idle(p) / library_costs.unit("threads", p)
        if self.parts == 1:
            return price
        last = LAST / library_costs.unit("threads", p)
        return price + last / library_costs.usual_batch(p) / self.waits(p)

    def floor(self, p: Program) -> float:
        n = ordered(p)
        crossing = self.lanes > 1 and self.near == 1 and _side_by_side(p, n)
        moved = library_costs.memory_seconds("threads", p)
        if self.lanes > 1 and self.near == 1:
            moved *= ONE_BY_ONE
        elif self.lanes == 1 and p.complex:
            moved *= PAIRS
        read = max(moved, self._read(p)) * (CROSSING if crossing else 1.0) * self._idle(p)
        return max(read, self._waiting(p))

    def _waiting(self, p: Program) -> float:
        """Seconds of an entry in which lanes wait for their loads, also where they do not fill the device."""
        turns = -(-_longest(ordered(p)) // (self.team * self.near * self.parts))
        waits = -(-turns // _at_once(self.near, np.dtype(p.dtype).itemsize))
        return waits * TURN / library_costs.usual_batch(p) / math.sqrt(self.waits(p))

    def _idle(self, p: Program) -> float:
        """Times the time where a warp has lanes for more numbers than there are."""
        numbers = ordered(p).size * library_costs.usual_batch(p)
        return IDLE if self.lanes == 1 and numbers < LANES // 2 else 1.0

    def _work(self, p: Program) -> float:
        return threads.effort(p) * price_of("sums")

    def _read(self, p: Program) -> float:
        """Seconds of an entry. Each number of the output reads its factors anew: small ones from the first cache, large
        ones from the second at best."""
        size, read = np.dtype(p.dtype).itemsize, 0.0
        (n,) = threads.nests(p)
        for q in n.products:
            for f in q.factors:
                array = p.arrays[n.names[f]]
                common = array.place is None and not array.mixed and array.size * size <= NEAR
                read += n.size * self._terms_read(q) * (OF_NEAR if common else 1.0)
        singly = self.lanes > 1 and self.near == 1
        return read * size / device.CACHE * (SINGLY if singly else 1.0)

    def _terms_read(self, q: Product) -> int:
        """Terms of a sum, those beyond its end among them."""
        turn = self.team * self.near if self.lanes > 1 and self.near == 1 else 1
        return -(-threads.size(q.sums) // turn) * turn

    def serves(self, p: Program) -> str:
        if not self._has_whole_teams:
            return f"threads of whole teams: multiples of {LANES} x {self.warps}"
        return super().serves(p)

    @property
    def _has_whole_teams(self) -> bool:
        return self.threads % (LANES * self.warps) == 0

    # ---- text and launch
    def text(self, p: Program) -> list[str]:
        n = ordered(p)
        names = threads.numbered("x", n.loops)
        lines = [*self._head(p, n, names), "scalar sum = 0;"]
        for q, edges in zip(n.products, terms_of(p)):
            lines += self._product(n, q, edges.edges, names, np.dtype(p.dtype).itemsize)
        lines.append(f"sum = over_team<{self.lanes}, {self.warps}>(sum);")

        if self.parts > 1:
            lines += self._added_up()
        return [*lines, *_stored(n, names), "}"]

    def _head(self, p: Program, n: Nest, names) -> list[str]:
        """The kernel up to the place of a number of the output. `member`: of the lanes that share it."""
        return [
            f"KERNEL(contraction, Arguments, {self.threads}) {{",
            f"const Member<{self.lanes}, {self.warps}> me;",
            f"const long place = blockIdx.x * {self.numbers}L + me.number;",
            "const bool on = place < items;\nconst long number = on ? place : items - 1;",
            "const int member = me.rank;",
            *_place(p, n, names),
        ]

    def _added_up(self) -> list[str]:
        """The last of the blocks that have parts of the same numbers goes on: with the sums of all parts."""
        at_once = min(-(-self.parts // self.team), SUMMED)
        return [
            "scalar *const parts = (scalar *)a.at_parts + number;",
            "if (on && member == 0) parts[blockIdx.y * items] = sum;",
            f"if (!is_last_of({self.parts}, (int *)a.at_counters + blockIdx.x)) return;",
            "sum = 0;",
            f"UNROLL_BY({at_once}) for (int k = member; k < {self.parts}; k += {self.team}) "
            "sum += fresh(parts + k * items);",
            f"sum = over_team<{self.lanes}, {self.warps}>(sum);",
        ]

    def _product(self, n: Nest, q: Product, edges, names, size: int) -> list[str]:
        """A lane's part of a product's sum: turns whose loads are under way together, then the rest of them. size:
        bytes of a number."""
        v, many = self.near, threads.size(q.sums)
        whole, turns = many // (self.team * v), -(-many // (self.team * v))
        at_once = _even(-(-turns // self.parts), _at_once(v, size))
        term = " ".join(self._term(n, q, edges, names))

        # The block's part: 0 where all have the whole sum. The compiler must not know that: it makes straight code of a
        # loop of two turns, with twice the registers.
        first, last = "int(blockIdx.y)", str(turns)
        if self.parts > 1:
            each = -(-turns // self.parts)
            first, last = f"int(blockIdx.y) * {each}", f"min(first + {each}, {turns})"

        turn = f"((i + u) * {self.team} + member) * {v}"
        some = f"UNROLL for (int u = 0; u < {at_once}; ++u)"
        within = f"const long k_ = {turn}L;\nconst bool on = i + u < last && k_ < {many};\nconst int k = on ? k_ : 0;"
        return [
            f"{{ const int first = {first}, last = {last}, whole = min(last, {whole});\nint i = first;",
            f"UNROLL_BY(1) for (; i + {at_once} <= whole; i += {at_once}) {some} "
            f"{{ const int k = {turn}; {term} sum += term; }}",
            f"if (i < last) {some} {{ {within} {term} sum += on ? term : scalar(0); }}",
            "}",
        ]

    def _term(self, n: Nest, q: Product, edges, names) -> list[str]:
        """C++ of `term`: the sum of `near` terms from term k on."""
        v, indices, loads, words = self.near, ["k"], [], []
        if len(q.sums) > 1:
            indices = threads.numbered("k", q.sums)
            loads = _inside(q.sums, edges, indices) if edges else threads.split(q.sums, "k", indices)

        # `near` neighbours of each factor at once, or number by number.
        for j, f in enumerate(q.factors):
            at = f"at_{n.names[f]} + {threads.offset(n, f, (*n.loops, *q.sums), (*names, *indices))}"
            if v > 1:
                loads.append(f"const Near<{v}> f{j} = *(const Near<{v}> *)({at});")
                words.append(f"f{j}.v[s]")
            else:
                words.append(f"*({at})")

        number = "" if abs(q.number) == 1 else f"{threads.number_text(q)} * "
        product = f"{number}{' * '.join(words)}"
        if v == 1:
            value = f"{'-' if q.number == -1 else ''}({product})"
            if edges:
                return [*loads, f"const scalar some = {value}, term = inside ? some : scalar(0);"]
            return [*loads, f"const scalar term = {value};"]
        sign = "-" if q.number == -1 else "+"
        return [*loads, "scalar term = 0;", f"UNROLL for (int s = 0; s < {v}; ++s) term {sign}= {product};"]

    def items(self, p: Program, n: int) -> int:
        return n * ordered(p).size

    def shape(self, p: Program) -> Shape:
        return Shape(self.threads, self.numbers, self.shared_bytes(p), rows=self.parts)

    def at_work(self, p: Program, n: int) -> int:
        """Lanes that have terms: a block may have few numbers."""
        return self.items(p, n) * self.team * self.parts

    def shared_bytes(self, p: Program) -> int:
        """A sum of each thread, or the number of blocks that were there before."""
        return max(np.dtype(p.dtype).itemsize * self.threads if self.warps > 1 else 0, COUNTER if self.parts > 1 else 0)

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        wide = widest(ordered(p), p.dtype)
        parts = () if p.mixed else (1, 2, 8, 32, 128, 512, 2048)
        return {
            "threads": (64, 128, 256, 512),
            "lanes": (1, 2, 4, 8, 16, 32),
            "near": tuple(sorted({1, wide})),
            "warps": (1, 2, 4, 8, 16),
            "parts": parts,
        }

    def legal(self, p: Program) -> bool:
        if not super().legal(p) or not self._has_whole_teams:
            return False
        return self.near == 1 or (self.lanes > 1 and self.near == widest(ordered(p), p.dtype))

    def accesses(self, p: Program, n: Nest, q: Product, many: int) -> float:
        turn = self.team * self.near
        return n.size * (-(-many // turn) * turn * len(q.factors) + self.team * math.log2(self.team))


# ---- how many share a number ----------------------------------------------------------------------------------------


def _shared(p: Program, how: Sums) -> Sums:
    """The organisation with the warps and blocks that share a number of a usual batch. how: a warp shares with none."""
    if p.mixed:
        return how
    n, size = ordered(p), np.dtype(p.dtype).itemsize
    loads, batch = -(-_longest(n) // (how.lanes * how.near)), _at_once(how.near, size)
    numbers = LANES // how.lanes  # of a warp
    groups = -(-library_costs.usual_batch(p) * n.size // numbers)

    # Warps: while their lanes have a batch of loads, or one and a half if the device is full; of small ones three.
    few = groups < device.MULTIPROCESSORS
    alone = few and _longest(n) * numbers * size <= ALONE
    warps, most = 1, WARPS
    if few:
        most = WARPS_ALONE if alone else WARPS_OF_FEW if how.lanes > 1 else WARPS

    while warps < most and 2 * warps * groups * LANES <= SPREAD:
        least = batch if warps * groups * LANES < FILLED else 1.5 * batch
        if how.near * size < SMALL and not few:
            least = 3 * batch
        if loads < 2 * warps * least:
            break
        warps *= 2

    # Parts: a batch of loads for each multiprocessor's first block, two for the others.
    parts, turns, lanes = 1, loads // warps, warps * groups * LANES
    if not alone:
        filled = FILLED * (2 if _has_light(p, n) else 1)
        first, others = device.MULTIPROCESSORS // groups, filled // lanes
        parts = max(min(first, turns // batch), min(others, turns // (2 * batch)), 1)
        if filled == FILLED and turns // parts >= LONG and parts > 1:
            parts *= 2

    # Blocks of all multiprocessors are larger, sooner than their parts are added up.
    if parts > 1 and not few and loads >= 2 * warps * batch:
        warps, parts = 2 * warps, 1

    block = LANES * warps if warps > 1 or parts > 1 else how.threads
    return dataclasses.replace(how, threads=block, warps=warps, parts=parts)


def _longest(n: Nest) -> int:
    """Terms of a sum."""
    return max(threads.size(q.sums) for q in n.products)


def _at_once(near: int, size: int) -> int:
    """Loads of a lane that are under way together. size: bytes of a number."""
    return min(max(UNDER_WAY // (near * size), FEWEST), MOST)


def _even(turns: int, most: int) -> int:
    """Turns whose loads are under way together, at most so many, so that the last of them has few beyond the end."""
    return -(-turns // -(-turns // most))


def _has_light(p: Program, n: Nest) -> bool:
    """Whether a factor has few numbers beside the largest one."""
    numbers = [_numbers(p, n, f) for f in n.factors]
    return min(numbers) * LIGHT < max(numbers)


# ---- the order of numbers and terms ---------------------------------------------------------------------------------


class Edge(NamedTuple):
    """The end of an index that goes by tiles, of which the last one has terms beyond it."""

    extent: int
    digits: tuple[tuple[int, int], ...]  # of the index: places among the loops, and what each digit counts


class Terms(NamedTuple):
    """The loops of a sum in the order in which lanes take its terms."""

    loops: tuple[Loop, ...]
    edges: tuple[Edge, ...] = ()


@functools.lru_cache(64)
def ordered(p: Program) -> Nest:
    """The statement's loops, those of each sum in the order of its largest factor: neighbours are read side by side."""
    (n,) = threads.nests(p)
    products = [q._replace(sums=terms.loops) for q, terms in zip(n.products, terms_of(p))]
    return dataclasses.replace(n, products=tuple(products))


@functools.lru_cache(64)
def terms_of(p: Program) -> tuple[Terms, ...]:
    """The terms of each product."""
    (n,) = threads.nests(p)
    if p.mixed:
        return tuple(Terms(q.sums) for q in n.products)
    return tuple(_terms(p, n, q) for q in n.products)


def _terms(p: Program, n: Nest, q: Product) -> Terms:
    """As the largest factor has them, or by tiles if another large factor lies across."""
    f = largest(p, n, q.factors)
    loops = as_read(q, f)
    g = _across(p, n, q, f, loops)
    if g is None:
        return Terms(loops)

    # Short runs: lanes go along the longer ones first.
    column, row = (next(loop for loop in loops if loop.step[x] == 1) for x in (f, g))
    if threads.waste(column.extent, TILE) > WASTE:
        return Terms(loops)
    if threads.waste(row.extent, TILE) > WASTE:
        return Terms(as_read(q, g))
    return _tiles([loop for loop in loops if loop not in (row, column)], row, column)


def as_read(q: Product, f: int) -> tuple[Loop, ...]:
    """The loops of a sum in the order of a factor."""
    return merged(sorted(q.sums, key=lambda loop: -loop.step[f] if loop.step[f] else -math.inf))


def _across(p: Program, n: Nest, q: Product, f: int, loops) -> int | None:
    """A large factor whose neighbours are terms, but not those that are neighbours in factor f."""
    if not any(loop.step[f] == 1 for loop in loops):
        return None

    for g in q.factors:
        large = _numbers(p, n, g) * LIGHT >= _numbers(p, n, f)
        if large and any(loop.step[g] == 1 and loop.step[f] > 1 for loop in loops):
            return g
    return None


def _tiles(others, row: Loop, column: Loop) -> Terms:
    """Terms by tiles: the lanes of a warp share lines of two factors, those of eight warps whole ones."""
    digits: list[tuple[Loop, int, int]] = []  # loop, extent of the digit, what it counts
    for loop in (row, column):
        digits.append((loop, -(-loop.extent // TILE), TILE))
    for place in (0, 1):
        for loop, tile in ((row, ROWS), (column, COLUMNS)):
            digits.append((loop, tile[place], 1 if place else tile[1]))

    made = [Loop(extent, tuple(counts * step for step in loop.step)) for loop, extent, counts in digits]
    edges = []
    for loop in (row, column):
        if loop.extent % TILE:
            own = [(len(others) + k, counts) for k, (whose, _, counts) in enumerate(digits) if whose is loop]
            edges.append(Edge(loop.extent, tuple(own)))
    return Terms((*others, *made), tuple(edges))


def _inside(loops, edges, names) -> list[str]:
    """C++ of the turns of each loop at term k, those of the first term if k is beyond an edge."""
    digits = threads.numbered("q", loops)
    bounds = []
    for edge in edges:
        index = " + ".join(f"{digits[place]} * {counts}" for place, counts in edge.digits)
        bounds.append(f"{index} < {edge.extent}")

    lines = [*threads.split(loops, "k", digits), f"const bool inside = {' && '.join(bounds)};"]
    return [*lines, *(f"const int {name} = inside ? {digit} : 0;" for name, digit in zip(names, digits))]


def largest(p: Program, n: Nest, factors) -> int:
    """The factor that has the most numbers for a usual batch, the first of equal ones."""
    return max(factors, key=lambda f: _numbers(p, n, f))


def _numbers(p: Program, n: Nest, f: int) -> int:
    """How many numbers a factor has in a usual batch."""
    array = p.arrays[n.names[f]]
    return array.size * (1 if array.place is None else library_costs.usual_batch(p))


def _around_batch(p: Program, n: Nest) -> tuple[list[int], list[int]]:
    """Places of the output's loops that are slower than the batch, and faster, as the largest factor has them; or the
    output, if that factor lacks some."""
    places = list(range(len(n.loops)))
    by_output = (places, []) if batch_is_last(p) else ([], places)
    if p.mixed:
        return by_output

    f = largest(p, n, sorted(n.factors))
    steps = [loop.step[f] for loop in n.loops]
    if not all(steps) or (p.batch and p.arrays[n.names[f]].place is None):
        return by_output

    places.sort(key=lambda place: -steps[place])
    return [k for k in places if steps[k] >= FAR], [k for k in places if steps[k] < FAR]


def _place(p: Program, n: Nest, names) -> list[str]:
    """C++ of the place of a number of the output."""
    slow, fast = _around_batch(p, n)
    own = [n.loops[k] for k in fast]
    size = threads.size(own)

    spread = f"const long b = number / {size};" if not slow else f"const long b = number / {size} % a.n;"
    lines = [spread, "(void)b;", *pointers(p, "b"), f"// {n.statement}"]
    if fast:
        lines.append(f"const int x = int(number % {size});")
        lines += threads.split(own, "x", [names[k] for k in fast])
    if slow:
        lines.append(f"const int y = int(number / {size} / a.n);")
        lines += threads.split([n.loops[k] for k in slow], "y", [names[k] for k in slow])
    return lines


def _side_by_side(p: Program, n: Nest) -> bool:
    """Whether neighbouring numbers read neighbours of the factors, or the same numbers."""
    if p.mixed:
        return False
    steps = [_step_of_neighbours(p, n, f) for f in n.factors]
    return 1 in steps and all(step in (0, 1) for step in steps)


def _step_of_neighbours(p: Program, n: Nest, f: int) -> int:
    """Numbers of a factor from one number to the next, as they are counted."""
    _, fast = _around_batch(p, n)
    if fast:
        return n.loops[fast[-1]].step[f]
    array = p.arrays[n.names[f]]
    return 0 if array.place is None else array.behind(array.place)


def _stored(n: Nest, names) -> list[str]:
    """C++ that stores a sum, by one lane."""
    return [
        f"if (on && member == 0) {{ scalar &to = at_{n.names[0]}[{threads.offset(n, 0, n.loops, names)}];",
        f"to = {threads.old_value(n)}sum; }}",
    ]


def _summed(n: Nest) -> bool:
    """Whether every product has a sum that may be spread over lanes."""
    if n.statement.function or not n.products:
        return False
    return all(threads.size(q.sums) >= LEAST for q in n.products)


def widest(n: Nest, dtype: str) -> int:
    """Numbers of 16 bytes, or of 8, if the sums of all products run along memory, else 1."""
    for size in (16, 8):
        v = size // np.dtype(dtype).itemsize
        if v > 1 and all(_along(n, q, v) for q in n.products):
            return v
    return 1


def _along(n: Nest, q: Product, v: int) -> bool:
    """Whether v neighbours of a product's sum may be read at once from its factors."""
    *slow, fast = q.sums
    if fast.extent % v:
        return False

    return all(fast.step[f] == 1 and threads.whole_steps((*n.loops, *slow), f, v) for f in q.factors)
