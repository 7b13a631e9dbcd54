"""Scattered arrays on a device: which of them the blocks copy.

A block adds to its copy in shared memory, and at its end the copy to the array. To the others all threads add by
atomics.
"""

from __future__ import annotations

from .declaration import Declaration
from .items import Items
from .operands import Operands
from .room import Scratch, padded

KEPT = 1024  # threads of a multiprocessor that copies leave room for
BLOCKS = 256  # that run at the same time, about
EACH = 8  # additions of a block for each element of its copy at least: it adds the elements at its end
TURNS = 8  # additions of a thread of a team, about


def with_copies(kernel: Declaration, operands: Operands, extents: list[int]) -> Declaration:
    """The kernel as it adds to these arrays. extents: of its items."""
    arrays = [a.name for a in kernel.arrays if a.scattered]
    if not arrays or not operands.backend.entry.in_blocks:
        return kernel

    team, vector = kernel.with_copies(tuple(arrays)).organisation()
    threads = team * vector
    additions = _of_a_block(kernel.items, kernel.items.number(extents), threads)
    room = operands.backend.facts.shared_for(-(-KEPT // threads)) - Scratch(kernel, operands, team, vector).shared

    copied = []
    for name in sorted(arrays, key=lambda name: operands.arrays[name].nbytes):
        array = operands.arrays[name]
        if padded(array.nbytes) <= room and EACH * array.size <= additions:
            copied.append(name)
            room -= padded(array.nbytes)

    return kernel.with_copies(tuple(copied))


def _of_a_block(items: Items, number: int, threads: int) -> int:
    """Additions of a block, about: one for each index of a range, several for each thread of a team."""
    of_block = items.of_block(threads)
    blocks = max(1, min(-(-number // of_block), BLOCKS))
    turns = TURNS if items.has_teams else 1
    return number * threads // of_block // blocks * turns
