"""Few numbers with long sums, as moments and Gram matrices are: each thread has a part of all of them in registers.

Threads take terms in turn, as they lie side by side. A thread loads the numbers of a term once for all sums, which are
added up at the end: over a warp, over the warps of a block, over blocks. Outputs of more numbers go by tiles, of which
each reads the factors anew.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import ClassVar, NamedTuple

import numpy as np

from ...engine.backend.base import Shape
from ...engine.backend.counters import COUNTER
from ...engine.backend.facts import REFERENCE
from .. import render_threads as threads
from ..plan import Loop, Nest, Product, Program, pointers
from . import device, first_cache, library_costs
from .base import Organisation
from .in_parts import LAST, InParts
from .sums import as_read, largest
from .threads import several

LANES = REFERENCE.warp
LEAST, MOST = 2, 1024  # numbers of an output
HELD = 528  # bytes of a thread's sums and of the numbers of a term: with more, blocks do not stand two by two
# Bytes a second where tiles read the factors anew: from the second cache, which holds so many bytes, or from memory
CACHE, CACHED, MEMORY = 9e12, 45e6, 3.8e12
LIGHT = 160  # bytes of these with which four blocks stand on a multiprocessor
UNDER_WAY = 64  # bytes that a thread asks for before it adds, if its registers have room beside the sums
TURN = 1.2e-6  # seconds in which a thread's loads come, while those of the next turn wait
TOGETHER = 8  # sums whose parts a warp of the last block adds up at a time
# Times the memory's time: of terms whose numbers come at once and are shared by sums; of others
SHARED, SINGLY = 0.98, 1.13
FEWEST = 4  # terms of a thread
READ_ANEW = 1.25  # times the numbers that all threads load, at most, to read neighbours of a sum at once
EXCHANGED = 8  # clocks of a warp for a sum that its lanes add up
ADDED = dict(float64=64, float32=128, complex128=16, complex64=32)  # multiply-adds of a multiprocessor in a clock


class Tile(NamedTuple):
    """The loops of an output: over tiles, and within one."""

    over: tuple[Loop, ...]
    within: tuple[Loop, ...]

    @property
    def size(self) -> int:
        """Sums of a thread."""
        return threads.size(self.within)

    @property
    def tiles(self) -> int:
        return threads.size(self.over)


class Turns(NamedTuple):
    """The turns of all threads together: each takes `beside` terms of a product's sums."""

    product: Product
    tile: Tile
    beside: int  # neighbouring terms of the last loop
    sums: tuple[Loop, ...]  # loops over turns

    @classmethod
    def of(cls, q: Product, tile: Tile, beside: int) -> Turns:
        *outer, last = q.sums
        return cls(q, tile, beside, (*outer, threads.scaled(last, beside)))

    @property
    def many(self) -> int:
        return threads.size(self.sums)

    @property
    def loaded(self) -> int:
        """Numbers of all factors that a thread loads for a turn."""
        return sum(threads.size(_loops_of(self.tile.within, f)) * self.own(f) for f in self.product.factors)

    def own(self, f: int) -> int:
        """Terms of a turn that have a number of a factor for themselves; 1: all have the same."""
        return self.beside if self.product.sums[-1].step[f] else 1

    def at_once(self, size: int) -> int:
        """Turns whose loads are under way together. size: bytes of a number."""
        room = HELD - size * self.tile.size
        return max(min(UNDER_WAY, room) // (size * self.loaded), 1)


@dataclasses.dataclass(frozen=True)
class Moments(InParts):
    """A thread has a tile of the output; `parts` blocks share an entry's terms."""

    NAMES: ClassVar[tuple[str, ...]] = ("moments",)
    COMPLEX: ClassVar[bool] = True

    threads: int  # of a block
    near: int = 1  # neighbours that a thread reads at once, 16 bytes at most: of a tile's row, else of a sum
    parts: int = 1  # of the sums, by different blocks

    def details(self) -> list[str]:
        return [f"{self.threads} threads", *several(self.near, "at once"), *several(self.parts, "parts")]

    @property
    def warps(self) -> int:
        return self.threads // LANES

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        if not _served(p):
            return []
        near = 16 // np.dtype(p.dtype).itemsize
        found = cls(256, near) if _reads_at_once(p, near) else cls(256)
        return [found.changed(parts=found._usual_parts(p))]

    def serves(self, p: Program) -> str:
        if not _served(p):
            return f"one statement of {LEAST} to {MOST} sums"
        if self.threads % LANES:
            return f"whole warps: threads in multiples of {LANES}"
        if self.near > 1 and not _reads_at_once(p, self.near):
            return "near=1: neighbours are not read at once"
        return ""

    def price(self, p: Program, least: float = math.inf) -> float:
        """The first cache gives a warp's numbers while it adds; then its sums are added up."""
        n, tile = ordered(p), self.tile(p)
        given = added = 0.0

        for q in n.products:
            turns = Turns.of(q, tile, self.beside(p))
            warps = turns.many / LANES
            given += warps * sum(self._loaded(turns, f, p) for f in q.factors)
            added += warps * turns.beside * tile.size * LANES / ADDED[p.dtype]

        clocks = max(given, added) + EXCHANGED * tile.size * self.warps * self.parts
        seconds = tile.tiles * clocks / (device.CLOCK * device.MULTIPROCESSORS)
        seconds += LAST / library_costs.usual_batch(p) / self.waits(p) if self.parts > 1 else 0.0
        return seconds / library_costs.unit("threads", p)

    def floor(self, p: Program) -> float:
        """Memory; where tiles or entries read the factors anew, the cache that holds them, or memory again."""
        n, tile, size = ordered(p), self.tile(p), np.dtype(p.dtype).itemsize
        held = library_costs.held_bytes(p, library_costs.usual_batch(p))
        anew = _loaded(n, tile) * size / (CACHE if held <= CACHED else MEMORY)
        memory = self._pace(p) * library_costs.memory_seconds("threads", p)
        waiting = self._waiting(p) / library_costs.usual_batch(p)
        return max(memory, anew, waiting / math.sqrt(self.waits(p)))  # a device that is not filled waits as long

    def _pace(self, p: Program) -> float:
        """Times the memory's time."""
        n, tile, along = ordered(p), self.tile(p), self.beside(p) > 1
        shared = any(_numbers(q, tile) < tile.size * (len(q.factors) if along else 1) for q in n.products)
        return SHARED if self.near > 1 and shared else SINGLY

    def _waiting(self, p: Program) -> float:
        """Seconds in which a thread waits for its loads."""
        n, tile, size = ordered(p), self.tile(p), np.dtype(p.dtype).itemsize
        waits = 0

        for q in n.products:
            turns = Turns.of(q, tile, self.beside(p))
            waits += -(-turns.many // (self.threads * self.parts * turns.at_once(size)))

        return waits * TURN

    def _loaded(self, turns: Turns, f: int, p: Program) -> float:
        """Clocks of the first cache for a warp's loads of a factor, for a turn of each lane."""
        near = max(self._across(turns, f), turns.own(f))
        places = [_where(turns.sums, f, lane) for lane in range(LANES)]
        loads = threads.size(_loops_of(turns.tile.within, f)) / self._across(turns, f)
        return loads * first_cache.clocks_at(p, places, near)

    def tile(self, p: Program) -> Tile:
        """The tile of a thread."""
        return tile_of(p, self.beside(p))

    def beside(self, p: Program) -> int:
        """Terms of a sum that a thread takes side by side."""
        return 1 if self.near == 1 or _has_neighbours(p, self.near) else self.near

    def _usual_parts(self, p: Program) -> int:
        """Blocks that share an entry's terms: as many as the multiprocessors have, while threads have FEWEST terms."""
        n, tile, size = ordered(p), self.tile(p), np.dtype(p.dtype).itemsize
        all_turns = [Turns.of(q, tile, self.beside(p)) for q in n.products]
        held = size * (tile.size + max(turns.loaded * turns.at_once(size) for turns in all_turns))
        standing = device.MULTIPROCESSORS * (4 if held <= LIGHT else 2)

        longest = max(turns.many * turns.beside for turns in all_turns)
        entries = library_costs.usual_batch(p) * tile.tiles
        return max(min(standing // entries, longest // (FEWEST * self.threads)), 1)

    # ---- text and launch
    def render(self, p: Program, headers=(), folders=(), quick: bool = False):
        return super().render(p, ("contractions/moments.h", *headers), folders, quick)

    def text(self, p: Program) -> list[str]:
        n, tile = ordered(p), self.tile(p)
        over = threads.numbered("o", tile.over)
        return [
            f"KERNEL(contraction, Arguments, {self.threads}) {{",
            f"const long b = blockIdx.x / {tile.tiles};\n(void)b;",
            f"const int tile = blockIdx.x % {tile.tiles};\n(void)tile;",
            *pointers(p, "b"),
            f"// {n.statement}",
            *threads.split(tile.over, "tile", over),
            f"scalar sums[{tile.size}];",
            f"UNROLL for (int h = 0; h < {tile.size}; ++h) sums[h] = 0;",
            *itertools.chain.from_iterable(self._product(p, n, q, tile) for q in n.products),
            f"put_sums_of_warps<{tile.size}>(sums);",
            *self._stored(n, tile),
            "}",
        ]

    def _product(self, p: Program, n: Nest, q: Product, tile: Tile) -> list[str]:
        """A thread's part of the sums of a product: turns whose loads are under way together, then the others."""
        turns = Turns.of(q, tile, self.beside(p))
        many, step = turns.many, self.threads * self.parts
        kind = "int" if turns.beside * (many + UNDER_WAY * step) < 1 << 31 else "long"
        at_once = turns.at_once(np.dtype(p.dtype).itemsize)

        def some_turns(count: int) -> list[str]:
            """C++ of so many turns of a thread, the first of them k."""
            some = f"UNROLL for (int u = 0; u < {count}; ++u)"
            held = []

            for j, f in enumerate(q.factors):
                size = threads.size(_loops_of(tile.within, f))
                held.append(f"alignas(16) scalar f{j}[{count}][{size}][{turns.own(f)}];")

            loads = [f"const {kind} turn = k + u * {step};", *self._loads(n, turns)]
            return [*held, f"{some} {threads.block(loads)}", f"{some} {threads.block(_added(turns))}"]

        lines = [f"{kind} k = blockIdx.y * {self.threads} + threadIdx.x;"]
        if at_once > 1:
            whole = f"UNROLL_BY(1) for (; k + {(at_once - 1) * step} < {many}; k += {at_once * step})"
            lines.append(f"{whole} {threads.block(some_turns(at_once))}")

        lines.append(f"UNROLL_BY(1) for (; k < {many}; k += {step}) {threads.block(some_turns(1))}")
        return [threads.block(lines)]

    def _loads(self, n: Nest, turns: Turns) -> list[str]:
        """C++ that loads a turn's numbers of each factor of a tile."""
        tile = turns.tile
        within, over = threads.numbered("t", tile.within), threads.numbered("o", tile.over)
        sums = threads.numbered("k", turns.sums)
        lines = threads.split(turns.sums, "turn", sums)

        for j, f in enumerate(turns.product.factors):
            # The loops of the tile along which the factor moves
            loops, names = _own(tile, within, f)
            heads = threads.loop_heads(names, loops)
            at = threads.offset(n, f, (*tile.over, *tile.within, *turns.sums), (*over, *within, *sums))
            to = f"f{j}[u][{_place(loops, names)}]"

            # A number, neighbours of the tile, or neighbours of the sum
            across = self._across(turns, f)
            if across > 1:
                heads[-1] = heads[-1].replace(f"++{names[-1]}", f"{names[-1]} += {across}")
            near = f"Near<{max(across, turns.own(f))}>"
            load = f"*({near} *){to} = *(const {near} *)(at_{n.names[f]} + {at});"
            lines.append(" ".join([*(f"UNROLL {head}" for head in heads), load]))

        return lines

    def _stored(self, n: Nest, tile: Tile) -> list[str]:
        """C++ that stores the sums: of a block, or of the last block of those that have parts of them."""
        h = tile.size
        within, over = threads.numbered("t", tile.within), threads.numbered("o", tile.over)
        to = threads.number_at(n, 0, (*tile.over, *tile.within), (*over, *within))
        store = [*threads.split(tile.within, "h", within), f"scalar &to = {to};", f"to = {threads.old_value(n)}sum;"]
        each = f"for (int h = threadIdx.x; h < {h}; h += {self.threads})"
        of_block = f"sum_of_block<{h}, {self.warps}>(h)"
        if self.parts == 1:
            return [f"{each} {threads.block([f'const scalar sum = {of_block};', *store])}"]

        return [
            f"scalar *const parts = (scalar *)a.at_parts + (long)blockIdx.x * {h * self.parts};",
            f"{each} parts[h * {self.parts} + blockIdx.y] = {of_block};",
            f"if (!is_last_of({self.parts}, (int *)a.at_counters + blockIdx.x)) return;",
            *self._added_up(h, store),
        ]

    def _added_up(self, h: int, store) -> list[str]:
        """C++ of the last block: a warp adds up the parts of some sums at a time."""
        some = min(-(-h // self.warps), TOGETHER)
        each = f"UNROLL for (int s = 0; s < {some}; ++s)"
        stored = [f"const int h = first + s * {self.warps};", "const scalar sum = of_all[s];"]
        stored.append(f"if (h < {h} && threadIdx.x % {LANES} == 0) {threads.block(store)}")
        turn = [
            f"int at[{some}];\nscalar of_all[{some}];",
            f"{each} at[s] = min(first + s * {self.warps}, {h - 1});",
            f"add_parts<{self.parts}>(parts, at, of_all);",
            f"{each} {threads.block(stored)}",
        ]
        head = f"for (int first = threadIdx.x / {LANES}; first < {h}; first += {some * self.warps})"
        return [f"{head} {threads.block(turn)}"]

    def _across(self, turns: Turns, f: int) -> int:
        """Neighbours of a row of the tile that are read at once of a factor."""
        return self.near if turns.beside == 1 and _neighbours(turns.tile, f, self.near) else 1

    def items(self, p: Program, n: int) -> int:
        return n * self.tile(p).tiles

    def sums_of(self, p: Program) -> int:
        return self.tile(p).size

    def shape(self, p: Program) -> Shape:
        return Shape(self.threads, 1, self.shared_bytes(p), rows=self.parts)

    def at_work(self, p: Program, n: int) -> int:
        return self.items(p, n) * self.threads * self.parts

    def shared_bytes(self, p: Program) -> int:
        """The sums of each warp, or the number of blocks that were there before."""
        return max(self.warps * self.tile(p).size * np.dtype(p.dtype).itemsize, COUNTER)

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        wide = 16 // np.dtype(p.dtype).itemsize
        return {"threads": (64, 128, 256), "near": (1, wide), "parts": (1, 2, 8, 32, 132, 264, 528)}

    def legal(self, p: Program) -> bool:
        return super().legal(p) and not self.serves(p)

    def accesses(self, p: Program, n: Nest, q: Product, many: int) -> float:
        tile = self.tile(p)
        return tile.tiles * many * _numbers(q, tile)


# ---- which programs -------------------------------------------------------------------------------------------------


def _served(p: Program) -> bool:
    """Whether a program is one statement of few numbers, each a sum."""
    if p.mixed or len(p.statements) != 1 or not threads.independent(p):
        return False
    (n,) = threads.nests(p)
    if n.statement.function or not n.products or not LEAST <= n.size <= MOST:
        return False
    return all(q.sums for q in n.products)


@functools.lru_cache(64)
def ordered(p: Program) -> Nest:
    """The statement's loops, those of each sum in the order of its largest factor: neighbours are read side by side."""
    (n,) = threads.nests(p)
    products = [q._replace(sums=as_read(q, largest(p, n, q.factors))) for q in n.products]
    return dataclasses.replace(n, products=tuple(products))


# ---- tiles ----------------------------------------------------------------------------------------------------------


@functools.lru_cache(64)
def tile_of(p: Program, beside: int = 1) -> Tile:
    """The tile for which all threads together load least. beside: terms that a thread loads at once."""
    n = ordered(p)
    most = HELD // np.dtype(p.dtype).itemsize
    choices = []

    for extents in itertools.product(*(_divisors(loop.extent) for loop in n.loops)):
        if math.prod(extents) <= most:
            choices.append(_cut(n.loops, extents))

    able = [tile for tile in choices if tile.size + beside * max(_numbers(q, tile) for q in n.products) <= most]
    return min(able or choices[:1], key=lambda tile: (_loaded(n, tile), tile.tiles))


def _divisors(extent: int) -> list[int]:
    return [d for d in range(1, extent + 1) if extent % d == 0]


def _cut(loops, extents) -> Tile:
    """The loops over tiles of these extents, and those within a tile."""
    over = tuple(threads.scaled(loop, extent) for loop, extent in zip(loops, extents))
    within = tuple(Loop(extent, loop.step) for loop, extent in zip(loops, extents))
    return Tile(over, within)


def _loaded(n: Nest, tile: Tile) -> int:
    """Numbers that all tiles load."""
    return tile.tiles * sum(threads.size(q.sums) * _numbers(q, tile) for q in n.products)


def _numbers(q: Product, tile: Tile) -> int:
    """Numbers of all factors that a thread loads for a term."""
    return sum(threads.size(_loops_of(tile.within, f)) for f in q.factors)


def _loops_of(loops, f: int) -> list[Loop]:
    """The loops along which a factor moves."""
    return [loop for loop in loops if loop.step[f]]


def _own(tile: Tile, names, f: int) -> tuple[list[Loop], list[str]]:
    """The loops of a tile along which a factor moves, and their names."""
    kept = [name for loop, name in zip(tile.within, names) if loop.step[f]]
    return _loops_of(tile.within, f), kept


def _neighbours(tile: Tile, f: int, near: int) -> bool:
    """Whether a factor's numbers of a tile come by `near` neighbours."""
    loops = _loops_of(tile.within, f)
    return bool(loops) and loops[-1].step[f] == 1 and loops[-1].extent % near == 0


def _has_neighbours(p: Program, near: int) -> bool:
    """Whether some factor has neighbours that may be read at once, and all that have begin at multiples of `near`."""
    n, tile, found = ordered(p), tile_of(p), False
    for q in n.products:
        for f in q.factors:
            if _neighbours(tile, f, near):
                found = True
                *outer, _ = _loops_of(tile.within, f)
                if not threads.whole_steps((*outer, *_loops_of(tile.over, f), *q.sums), f, near):
                    return False

    return found


def _reads_at_once(p: Program, near: int) -> bool:
    """Whether `near` neighbours are read at once: of a row of a tile, or of a sum."""
    return _has_neighbours(p, near) or _runs_along(p, near)


def _runs_along(p: Program, near: int) -> bool:
    """Whether `near` neighbouring terms of every sum are read at once: all factors that move with them lie along the
    sum, begin at multiples of `near`, and tiles that leave room for their numbers load little more."""
    n, tile = ordered(p), tile_of(p, near)
    if _loaded(n, tile) > READ_ANEW * _loaded(n, tile_of(p)):
        return False

    for q in n.products:
        *outer, last = q.sums
        moving = [f for f in q.factors if last.step[f]]
        if last.extent % near or any(last.step[f] != 1 for f in moving):
            return False
        if not all(threads.whole_steps((*tile.within, *tile.over, *outer), f, near) for f in moving):
            return False

    return True


def _where(loops, f: int, turn: int) -> int:
    """Where a factor is read at a turn of some loops together."""
    where = 0
    for loop in reversed(loops):
        turn, own = divmod(turn, loop.extent)
        where += own * loop.step[f]

    return where


def _added(turns: Turns) -> list[str]:
    """C++ that adds a turn's terms to all sums of a tile."""
    q, tile = turns.product, turns.tile
    names = threads.numbered("t", tile.within)
    words = []
    for j, f in enumerate(q.factors):
        words.append(f"f{j}[u][{_place(*_own(tile, names, f))}][{'s' if turns.own(f) > 1 else '0'}]")

    heads = " ".join(f"UNROLL {head}" for head in threads.loop_heads(names, tile.within))
    heads = f"UNROLL for (int s = 0; s < {turns.beside}; ++s) {heads}"
    product = " * ".join(threads.product_words(q, words))
    return [f"{heads} sums[{_place(tile.within, names)}] {threads.sign_of(q)}= {product};"]


def _place(loops, names) -> str:
    """C++ of the place in an array of the loops' extents."""
    place = ""
    for loop, name in zip(loops, names):
        place = f"({place}) * {loop.extent} + {name}" if place else name
    return place or "0"
