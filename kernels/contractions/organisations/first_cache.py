"""What a warp's load takes of the first cache of a multiprocessor: lanes that ask the same bank for different words
wait for each other, and so do lines."""

from __future__ import annotations

import collections
import functools

import numpy as np

from ...engine.backend.facts import REFERENCE
from ..plan import FAR, Nest, Program
from .threads import batch_is_last

LANES = REFERENCE.warp
WORD, BANKS, LINE = 4, 32, 128  # bytes of a word, words that banks give in a clock, bytes of a line
LINES = 2  # that are found in a clock


def clocks(p: Program, n: Nest, loops, f: int, near: int) -> float:
    """Clocks of a load of `near` numbers of factor f by each lane. loops: over the turns of neighbouring threads."""
    return clocks_at(p, _places(p, n, loops, f), near)


def clocks_at(p: Program, places, near: int) -> float:
    """Clocks of a load of `near` numbers by each lane. places: where the lanes read, in numbers."""
    scale = np.dtype(p.dtype).itemsize // WORD
    return _clocks(tuple(place * scale for place in places), near * scale)


@functools.lru_cache(1024)
def _clocks(begins: tuple[int, ...], words: int) -> float:
    """Clocks of a load of so many words from each of these places: of as many lanes at once as have 128 bytes."""
    together = max(LANES // words, 1)
    found = 0.0
    for first in range(0, LANES, together):
        asked = {begin + word for begin in begins[first : first + together] for word in range(words)}
        banks = collections.Counter(word % BANKS for word in asked)
        lines = {word * WORD // LINE for word in asked}
        found += max(max(banks.values()), len(lines) / LINES)
    return found


def _places(p: Program, n: Nest, loops, f: int) -> list[int]:
    """Where the lanes of a warp read factor f, in numbers."""
    array = p.arrays[n.names[f]]
    step = 0 if array.place is None else array.behind(array.place)
    if batch_is_last(p):
        return [lane * step for lane in range(LANES)]

    found = []
    for lane in range(LANES):
        turn, place = lane, 0
        for loop in reversed(loops):
            turn, own = divmod(turn, loop.extent)
            place += own * _near(loop.step[f])
        found.append(place + turn * step)
    return found


def _near(step: int) -> int:
    """A step that may be counted in rows, whose length is not known: a row as long as many lines."""
    rows, numbers = divmod(step, FAR)
    return numbers + rows * (LINE * LINE + LINES)
