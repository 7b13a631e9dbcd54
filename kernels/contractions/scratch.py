"""Memory that calls use for a while: kept by each thread from call to call.

Memory that is new with each call comes from the system page by page, which takes longer than to copy as many numbers.
"""

from __future__ import annotations

import threading

import numpy as np

MOST = 64 << 20  # bytes of a room that is kept
ALIGN = 64

_rooms = threading.local()


def room(user: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array for a user until the user's next call in this thread. Its numbers are those of before."""
    count = int(np.prod(shape)) * dtype.itemsize
    if count > MOST:
        return np.empty(shape, dtype)

    kept = getattr(_rooms, user, None)
    if kept is None or kept.size < count:
        raw = np.empty(count + ALIGN, np.uint8)
        kept = raw[-raw.ctypes.data % ALIGN :][:count]
        setattr(_rooms, user, kept)
    return np.ndarray(shape, dtype, kept)
