"""The host's memory as a CUDA device sees it: what is pinned, and buffers that copies are staged in.

No address is kept longer than the host says: when memory is freed, its pinned pages stay with the driver, and a later
array at the same address would be another one.
"""

from __future__ import annotations

import contextlib
import ctypes

import numpy as np

from ..errors import BackendError

PAGE = 4096
PIN_FROM = 2**20  # bytes; below, pinning (about 0.04 ms/MiB) costs more than staging
PAGEABLE, PINNED, DEVICE, MANAGED = range(4)  # cudaMemoryType


class PinnedMemory:
    """Ranges of the host's memory that were pinned, in whole pages, each page once. runtime: CuPy's."""

    def __init__(self, runtime):
        self._runtime = runtime
        self._given: list[tuple[int, int]] = []  # what `pin` was given: address, end
        self._registered: list[tuple[int, int]] = []  # the whole pages that were pinned for it: address, end

    def kind(self, low: int, high: int) -> int:
        """cudaMemoryType of the bytes low .. high - 1; pageable unless both of its ends are the same kind."""
        kinds = [self._runtime.pointerGetAttributes(end).type for end in (low, high - 1)]
        if kinds[0] != kinds[1]:
            return PAGEABLE
        # both ends may lie on pages of pinned neighbours, with others between them
        if kinds[0] == PINNED and self._registered and self._gaps(low, high) not in ([], [(low, high)]):
            return PAGEABLE
        return kinds[0]

    def pin(self, address: int, nbytes: int) -> None:
        """Pin this memory until `unpin`. Pages that the host itself has pinned, and the device's memory, are left as
        they are. Raises BackendError."""
        self._given.append((address, address + nbytes))
        if self._runtime.pointerGetAttributes(address).type in (DEVICE, MANAGED):
            return
        for low, high in _pages([(address, address + nbytes)]):
            for start, end in self._gaps(low, high):
                refusal = self._register(start, end)
                if refusal is None:
                    self._registered.append((start, end))
                elif "AlreadyRegistered" not in refusal:
                    self.unpin(address, nbytes)
                    raise BackendError(
                        f"the driver refuses to pin {nbytes} bytes at {address:#x} ({refusal}): is the memory there, "
                        "and within the system's limit of locked memory (ulimit -l)?"
                    )

    def unpin(self, address: int, nbytes: int) -> None:
        """Nothing may be under way there. Pages that another pinned array shares stay until that one goes."""
        self._given.remove((address, address + nbytes))
        for start, end in list(self._registered):
            if not any(low < end and start < high for low, high in self._given):
                self._runtime.hostUnregister(start)
                self._registered.remove((start, end))

    def release(self) -> None:
        for address, end in list(self._given):
            self.unpin(address, end - address)

    @contextlib.contextmanager
    def lasting(self, ranges):
        """Memory at these (address, end) is pinned until the end. What the driver refuses to pin (pinned already, or
        over the system's limit) and small arrays are left as they are."""
        pinned = []
        for low, high in _pages(ranges):
            for start, end in self._gaps(low, high):
                if end - start >= PIN_FROM and self._register(start, end) is None:
                    pinned.append(start)
        try:
            yield
        finally:
            for address in pinned:
                self._runtime.hostUnregister(address)

    def _register(self, start: int, end: int) -> str | None:
        """None, or the driver's refusal."""
        try:
            self._runtime.hostRegister(start, end - start, 0)
        except self._runtime.CUDARuntimeError as error:
            return str(error)
        return None

    def _gaps(self, low: int, high: int) -> list[tuple[int, int]]:
        """What of low .. high `pin` has not pinned."""
        out = []
        for start, end in sorted(self._registered):
            if start < high and low < end:
                if low < start:
                    out.append((low, start))
                low = end
        return [*out, (low, high)] if low < high else out


class Staging:
    """A pinned buffer that grows as asked. It is not written again before the copy that was queued last is through.
    cuda: CuPy's."""

    def __init__(self, cuda):
        self._cuda, self._memory, self._size, self._event = cuda, None, 0, None

    def rows(self, n: int, row: int, dtype) -> np.ndarray:
        """An array (n, row) in pinned memory, aligned to 64 bytes."""
        if self._event is not None:
            self._event.synchronize()
        need = dtype.itemsize * n * row + 64
        if self._size < need:
            self._memory, self._size = self._cuda.alloc_pinned_memory(need), need
        start = -(-self._memory.ptr // 64) * 64
        flat = (ctypes.c_char * (dtype.itemsize * n * row)).from_address(start)
        return np.frombuffer(flat, dtype=dtype).reshape(n, row)

    def used(self) -> None:
        """A copy from or to the buffer was queued."""
        if self._event is None:
            self._event = self._cuda.Event(disable_timing=True)
        self._event.record()

    def free(self) -> None:
        self._memory, self._size, self._event = None, 0, None


def _pages(ranges) -> list[tuple[int, int]]:
    """(address, end) of the whole pages under these ranges; what shares a page becomes one range, for a page cannot be
    pinned twice."""
    merged: list[list[int]] = []
    for low, high in sorted((low // PAGE * PAGE, -(-high // PAGE) * PAGE) for low, high in ranges if low < high):
        if merged and low < merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], high)
        else:
            merged.append([low, high])
    return [(low, high) for low, high in merged]
