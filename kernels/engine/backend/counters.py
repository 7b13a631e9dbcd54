"""Counters of a device by which blocks of a launch find out which of them is the last.

A launch finds its counters at 0 and leaves them at 0, so nothing has to clear them. Launches on one stream go one after
the other and share the stream's counters; those on two streams may run at the same time and share none. A launch that
is captured into a graph may run on any stream: it gets counters of its own, which the graph clears.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

COUNTER = 4  # bytes
LEAST = 1 << 14  # counters of a stream
LEGACY = 1  # CUDA's addresses of the default stream, which cannot be captured: up to this one
PER_THREAD = 2  # CUDA's address of the default stream of each thread: a stream of its own for each of them


class Counters:
    """The counters of a device. backend: CudaBackend."""

    def __init__(self, backend: Any):
        self._arrays, self._runtime = backend.arrays, backend.arrays.cuda.runtime
        self._of_stream: dict[Any, Any] = {}
        self._of_graphs: list[Any] = []  # which may be launched at any time
        self._mine = threading.Lock()

    def address(self, stream: int, count: int) -> int:
        """Address of so many counters for a launch on a stream, the current one."""
        if stream > LEGACY and self._runtime.streamIsCapturing(stream):
            own = self._zeros(count)
            self._of_graphs.append(own)
            return own.data.ptr

        key = (stream, threading.get_ident()) if stream == PER_THREAD else stream
        with self._mine:
            found = self._of_stream.get(key)
            if found is None or found.size < count:
                found = self._of_stream[key] = self._zeros(max(count, LEAST))
        return found.data.ptr

    def _zeros(self, count: int):
        """New counters, cleared on the current stream."""
        return self._arrays.zeros((count,), dtype=np.int32)
