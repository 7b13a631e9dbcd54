"""Small arrays of a host that go to a device together: one copy brings all that a launch reads, one all that it writes.

A copy of a few kB takes as long as its start. So the arrays are packed into a pinned buffer by the calling thread. The
buffer and the memory of the device have the same order: arrays that are read, that are read and written, that are
written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kernels.engine.backend.base import Ends

SMALL = 2**17  # bytes of a pinned array, up to which packing takes no longer than a copy of its own
SMALL_PAGEABLE = 2**20  # of a pageable array, which a copy of its own packs, too
ALIGN = 256  # bytes at which an array begins


def is_small(nbytes: int, reach: str) -> bool:
    """Whether an array of so many bytes goes with others. reach: of its memory, see Backend.reach."""
    return nbytes <= (SMALL if reach == "shared" else SMALL_PAGEABLE)


class Small(NamedTuple):
    """A small array of a call."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    read: bool
    written: bool

    @property
    def nbytes(self) -> int:
        """Bytes without gaps."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


class SmallArrays:
    """Room for small arrays on the device, and for the same arrays in a pinned buffer.

    arrays: those of the device, by name. It belongs to a single thread.
    """

    def __init__(self, backend, wanted: Sequence[Small]):
        self.wanted = sorted(wanted, key=_place)
        self.arrays: dict[str, Any] = {}

        # Where each array begins.
        starts, end = [], 0
        for small in self.wanted:
            starts.append(end)
            end += -(-small.nbytes // ALIGN) * ALIGN

        # Memory on both sides, and the arrays there.
        self._slot = backend.staging()
        room = max(end, ALIGN)
        pinned = self._slot.rows(1, room, np.dtype(np.uint8))[0]
        there = backend.empty((room,), np.uint8)
        self._pinned: dict[str, np.ndarray] = {}
        for small, start in zip(self.wanted, starts):
            part = slice(start, start + small.nbytes)
            self._pinned[small.name] = pinned[part].view(small.dtype).reshape(small.shape)
            self.arrays[small.name] = there[part].view(small.dtype).reshape(small.shape)

        self._read = _span(self.wanted, starts, "read")
        self._written = _span(self.wanted, starts, "written")
        ends = [Ends.of_row(backend.address(there), pinned.ctypes.data)]
        self._into, self._out = backend.copier(ends, True), backend.copier(ends, False)

    def put(self, hosts: dict[str, np.ndarray]) -> Callable[[], None]:
        """put(), which packs these arrays of the host and queues the copy to the device."""
        pairs = [(self._pinned[small.name], hosts[small.name]) for small in self.wanted if small.read]
        copy, slot, (start, nbytes) = self._into, self._slot, self._read

        def run() -> None:
            slot.wait()  # a call with a stream of the host's returns before this copy has ended
            for pinned, host in pairs:
                pinned[...] = host
            copy(start, start, nbytes)
            slot.used()

        return run if pairs else nothing

    def get(self) -> None:
        """Queue the copy from the device into the buffer."""
        start, nbytes = self._written
        if nbytes:
            self._out(start, start, nbytes)

    def unpack(self, hosts: dict[str, np.ndarray]) -> Callable[[], None]:
        """unpack(), which writes these arrays of the host. The caller has waited for `get`."""
        pairs = [(hosts[small.name], self._pinned[small.name]) for small in self.wanted if small.written]

        def run() -> None:
            for host, pinned in pairs:
                host[...] = pinned

        return run


def _place(small: Small) -> int:
    """Arrays that are read come first, arrays that are written last."""
    return int(small.written) - int(small.read)


def _span(wanted: Sequence[Small], starts: Sequence[int], what: str) -> tuple[int, int]:
    """(first byte, bytes) of the arrays that are read, or written: they lie side by side."""
    chosen = [(start, start + small.nbytes) for small, start in zip(wanted, starts) if getattr(small, what)]
    return (chosen[0][0], chosen[-1][1] - chosen[0][0]) if chosen else (0, 0)


def nothing() -> None:
    """The step of a call without small arrays."""
