"""The search's model of a device: what an entry has to do at least, in clocks of a multiprocessor of an H200."""

from __future__ import annotations

from typing import NamedTuple

from ...engine.backend.facts import REFERENCE

MEMORY, WAVEFRONT = 18.0, 128.0  # bytes a clock and multiprocessor: from memory, from L1 or shared memory
FMA, UNITS = 128.0, 256.0  # flops a clock in double precision: of threads, of matrix units
MOST_THREADS = REFERENCE.threads_of_block
ENOUGH = 512  # threads of a multiprocessor; with fewer it waits for memory
MULTIPROCESSORS = 132
CLOCK = 1.7e9  # of a multiprocessor
CACHE = 6e12  # bytes a second from the second cache to all multiprocessors, of an H100
FULL = MULTIPROCESSORS * ENOUGH  # threads of a device; work of fewer takes as long as work of as many


class Effort(NamedTuple):
    """The work of an organisation for an entry, and the threads and memory of a block."""

    accesses: float  # numbers that lanes load and store
    arithmetic: float  # clocks
    shared: int  # bytes of shared memory of a block
    threads: int  # of a block


def clocks(effort: Effort, moved: int, size: int) -> float:
    """Clocks of an entry. moved: bytes from and to memory. size: bytes of a number."""
    held = REFERENCE.resident_blocks(effort.threads, effort.shared) * effort.threads
    waits = max(1.0, ENOUGH / max(held, 1)) ** 0.5

    return max(moved / MEMORY * waits, effort.accesses * size / WAVEFRONT, effort.arithmetic)
