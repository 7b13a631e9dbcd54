"""Memory that calls use for a while: kept by each thread from call to call.

Memory that is new with each call comes from the system page by page, which takes longer than to copy as many numbers.
"""

from __future__ import annotations

import math
import threading
from typing import Any, NamedTuple

import numpy as np

MOST = 64 << 20  # bytes of a room that is kept
ALIGN = 64  # bytes
BYTES = np.dtype(np.uint8)

_rooms = threading.local()


def room(user: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array for a user until the user's next call in this thread. Its numbers are those of before."""
    count = math.prod(shape) * dtype.itemsize
    if count > MOST:
        return aligned(count).view(dtype).reshape(shape)

    kept = getattr(_rooms, user, None)
    if kept is None or kept.size < count:
        kept = aligned(count)
        setattr(_rooms, user, kept)
    return np.ndarray(shape, dtype, kept)


class InScratch(NamedTuple):
    """run(arrays) of a launch whose last array is memory to work in."""

    launch: Any  # an Again of the backend's
    bytes: int

    def room(self) -> np.ndarray:
        return room("launch", (self.bytes,), BYTES)

    def __call__(self, arrays) -> None:
        self.launch((*arrays, self.room()))


def aligned(count: int) -> np.ndarray:
    """New bytes that begin on a cache line."""
    raw = np.empty(count + ALIGN, np.uint8)
    return raw[-raw.ctypes.data % ALIGN :][:count]
