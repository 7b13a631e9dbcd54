"""Memory of a device by which the blocks of a launch work together: counters, by which a block finds that it is the
last, and room for the results that the others leave for it.

A launch finds its counters at 0 and leaves them at 0, so nothing has to clear them. Launches on one stream go one after
the other and share the stream's memory; those on two streams may run at the same time and share none. A launch that
is captured into a graph may run on any stream: it gets memory of its own, whose counters the graph clears.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

COUNTER = 4  # bytes
LEAST = 1 << 14  # counters of a stream
LEGACY = 1  # CUDA's addresses of the default stream, which cannot be captured: up to this one
PER_THREAD = 2  # CUDA's address of the default stream of each thread: a stream of its own for each of them
ROOM = 1 << 20  # bytes of a stream's room, and of a launch's at most
BEGIN = 64  # counters: room begins at a multiple of 256 bytes


class Joint(NamedTuple):
    """Addresses of the memory of a launch."""

    counters: int
    room: int


class Counters:
    """The memory of all streams of a device. backend: CudaBackend."""

    def __init__(self, backend: Any):
        self._arrays, self._runtime = backend.arrays, backend.arrays.cuda.runtime
        self._of_stream: dict[Any, _Memory] = {}
        self._of_graphs: list[_Memory] = []  # which may be launched at any time
        self._mine = threading.Lock()

    def joint(self, stream: int, count: int, size: int) -> Joint:
        """So many counters, and room of so many bytes, ROOM at most, for a launch on a stream, the current one."""
        if stream > LEGACY and self._runtime.streamIsCapturing(stream):
            own = self._made(count, size)
            self._of_graphs.append(own)
            return own.joint

        key = (stream, threading.get_ident()) if stream == PER_THREAD else stream
        with self._mine:
            found = self._of_stream.get(key)
            if found is None or found.counters < count:
                found = self._of_stream[key] = self._made(max(count, LEAST), ROOM)
        return found.joint

    def _made(self, count: int, size: int) -> _Memory:
        """New memory, cleared on the current stream."""
        begin = -(-count // BEGIN) * BEGIN
        array = self._arrays.zeros((begin + -(-size // COUNTER),), dtype=np.int32)
        return _Memory(array, count, Joint(array.data.ptr, array.data.ptr + COUNTER * begin))


class _Memory(NamedTuple):
    array: Any
    counters: int
    joint: Joint
