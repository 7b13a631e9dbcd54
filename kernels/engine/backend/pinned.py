"""Pinned memory: ranges of the host's memory pinned for CUDA, and pinned buffers for copies of pageable memory.

Memory stays pinned until the host unpins it. It must not be freed before: the driver would keep the pages, and a new
array at the same address would be on other pages.
"""

from __future__ import annotations

import bisect
import contextlib
import ctypes
from typing import Any

import numpy as np

from ..errors import BackendError

PAGE = 4096
PIN_FROM = 2**20  # bytes; for smaller arrays pinning (about 0.04 ms/MiB) costs more than staging
PAGEABLE, PINNED, DEVICE, MANAGED = range(4)  # cudaMemoryType


def in_own_pages(shape, dtype) -> np.ndarray:
    """An empty array in host memory that shares no page with other arrays.

    The driver refuses to copy memory that is pinned in part, for example a page that ends in a pinned neighbour.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.empty(size // PAGE * PAGE + 2 * PAGE, np.uint8)
    start = -raw.ctypes.data % PAGE
    return raw[start:][:size].view(dtype).reshape(shape)  # in two steps: an empty slice would lie at raw's begin


class PinnedMemory:
    """The pinned ranges of the host's memory, in whole pages, each page once. runtime: CuPy's CUDA runtime."""

    def __init__(self, runtime):
        self._runtime = runtime
        self._given: list[tuple[int, int]] = []  # (address, end) of the ranges given to `pin`
        self._registered: list[tuple[int, int]] = []  # (address, end) of the whole pages pinned for them, sorted
        self.changes = 0  # number of pinnings and unpinnings so far

    def holds(self, low: int, high: int) -> bool:
        """Whether `pin` has pinned all bytes low .. high - 1. The driver is not asked."""
        return not self._gaps(low, high)

    def at_once(self, low: int, high: int) -> bool:
        """Whether a single pinning covers all bytes low .. high - 1. The driver refuses a copy over several."""
        at = bisect.bisect(self._registered, low, key=lambda pages: pages[0]) - 1
        return at >= 0 and high <= self._registered[at][1]

    def kind(self, low: int, high: int) -> int:
        """cudaMemoryType of the bytes low .. high - 1; PAGEABLE if the two ends differ."""
        if self.holds(low, high):
            return PINNED

        kinds = [self._runtime.pointerGetAttributes(end).type for end in (low, high - 1)]
        if kinds[0] != kinds[1]:
            return PAGEABLE

        # Both ends may be on pages pinned for neighbours, with pages between them that are not pinned.
        if kinds[0] == PINNED and self._registered and self._gaps(low, high) not in ([], [(low, high)]):
            return PAGEABLE

        return kinds[0]

    def pin(self, address: int, nbytes: int) -> None:
        """Pins memory until `unpin`. Pages that the host itself pinned and memory of the device stay as they are.

        Raises BackendError if the driver refuses.
        """
        self._given.append((address, address + nbytes))
        if self._runtime.pointerGetAttributes(address).type in (DEVICE, MANAGED):
            return

        for low, high in _pages([(address, address + nbytes)]):
            for start, end in self._gaps(low, high):
                refusal = self._register(start, end)
                if refusal is None:
                    bisect.insort(self._registered, (start, end))
                    self.changes += 1
                elif "AlreadyRegistered" not in refusal:
                    self.unpin(address, nbytes)
                    raise BackendError(
                        f"the driver refuses to pin {nbytes} bytes at {address:#x} ({refusal}): is the memory there, "
                        "and within the system's limit of locked memory (ulimit -l)?"
                    )

    def unpin(self, address: int, nbytes: int) -> None:
        """Unpins a range of `pin`. No copy may be in progress there. Pages shared with another pinned array stay pinned
        until that array is unpinned."""
        self._given.remove((address, address + nbytes))
        for start, end in list(self._registered):
            if not any(low < end and start < high for low, high in self._given):
                self._runtime.hostUnregister(start)
                self._registered.remove((start, end))
                self.changes += 1

    def release(self) -> None:
        """Unpins all memory."""
        for address, end in list(self._given):
            self.unpin(address, end - address)

    @contextlib.contextmanager
    def lasting(self, ranges):
        """A context with pinned ranges (address, end). Small arrays stay pageable, and so does memory that the driver
        refuses (already pinned, or beyond the system's limit)."""
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
        """Pins start .. end - 1. Returns None, or the text of the driver's refusal."""
        try:
            self._runtime.hostRegister(start, end - start, 0)
        except self._runtime.CUDARuntimeError as error:
            return str(error)
        return None

    def _gaps(self, low: int, high: int) -> list[tuple[int, int]]:
        """The parts (address, end) of low .. high that `pin` has not pinned."""
        out = []
        for start, end in self._registered[max(bisect.bisect(self._registered, (low,)) - 1, 0) :]:
            if start >= high:
                break
            if low < end:
                if low < start:
                    out.append((low, start))
                low = end

        return [*out, (low, high)] if low < high else out


class Staging:
    """A pinned buffer that grows as needed. It is written again only after the last queued copy has ended.

    cuda: CuPy's module cupy.cuda.
    """

    def __init__(self, cuda):
        self._cuda, self._size, self._event = cuda, 0, None
        self._memory: Any = None  # CuPy's object; None before the first call of `rows`

    def rows(self, n: int, row: int, dtype) -> np.ndarray:
        """An array (n, row) in pinned memory, aligned to 64 bytes. Waits for the last queued copy."""
        self.wait()
        need = dtype.itemsize * n * row + 64
        if self._size < need:
            self.free()  # before the larger buffer is allocated
            try:
                self._memory, self._size = self._cuda.alloc_pinned_memory(need), need
            except self._cuda.runtime.CUDARuntimeError as error:
                raise BackendError(
                    f"the driver refuses a pinned buffer of {need} bytes ({error}), through which pageable arrays are "
                    "copied: is the chunk (nGridPoints) too large for the system's limit of locked memory (ulimit -l)?"
                ) from None

        start = -(-self._memory.ptr // 64) * 64
        flat = (ctypes.c_char * (dtype.itemsize * n * row)).from_address(start)
        return np.frombuffer(flat, dtype=dtype).reshape(n, row)

    def wait(self) -> None:
        """Wait for the last queued copy."""
        if self._event is not None:
            self._event.synchronize()

    def used(self) -> None:
        """To be called after a copy from or to the buffer has been queued."""
        if self._event is None:
            self._event = self._cuda.Event(disable_timing=True)
        self._event.record()

    def free(self) -> None:
        """Gives the buffer back."""
        self._memory, self._size, self._event = None, 0, None


def _pages(ranges) -> list[tuple[int, int]]:
    """(address, end) of the whole pages under these ranges. Ranges that share a page are merged: a page cannot be
    pinned twice."""
    pages = [(low // PAGE * PAGE, -(-high // PAGE) * PAGE) for low, high in ranges if low < high]

    merged: list[list[int]] = []
    for low, high in sorted(pages):
        if merged and low < merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], high)
        else:
            merged.append([low, high])

    return [(low, high) for low, high in merged]
