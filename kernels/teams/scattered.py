"""Scattered arrays on a device: which of them the blocks copy.

A block adds to its copy in shared memory, and at its end the copy to the array. To the others all threads add by
atomics.
"""

from __future__ import annotations

from .declaration import Declaration
from .operands import Operands
from .room import Scratch, padded

KEPT = 1024  # threads of a multiprocessor that copies leave room for
ADDITIONS = 256  # of a launch at least, for each element of a copied array: blocks add their copies, too


def with_copies(kernel: Declaration, operands: Operands, extents: list[int]) -> Declaration:
    """The kernel as it adds to these arrays. extents: of its items."""
    arrays = [a.name for a in kernel.arrays if a.scattered]
    if not arrays or not operands.backend.entry.in_blocks:
        return kernel

    # A launch adds at least once for each index, or for each thread of a team.
    shared = kernel.with_copies(tuple(arrays))
    team, vector = shared.organisation()
    threads = team * vector
    additions = kernel.items.number(extents) * threads // kernel.items.of_block(threads)

    blocks = -(-KEPT // threads)
    room = operands.backend.facts.shared_for(blocks) - Scratch(kernel, operands, team, vector).shared

    copied = []
    for name in sorted(arrays, key=lambda name: operands.arrays[name].nbytes):
        array = operands.arrays[name]
        if padded(array.nbytes) <= room and ADDITIONS * array.size <= additions:
            copied.append(name)
            room -= padded(array.nbytes)

    return kernel.with_copies(tuple(copied))
