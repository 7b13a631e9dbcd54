"""Arrays of a host that are pinned: a GPU copies them without a buffer, until unpin or finalize."""

from __future__ import annotations

from collections.abc import Callable

from .errors import ArgumentError
from .impl import TVImpl


class Pins:
    """The pinned arrays. impl: the calling thread's TVImpl."""

    def __init__(self, impl: Callable[[], TVImpl]):
        self._impl = impl
        self._ends: dict[int, int] = {}  # of each array, by its address

    def __bool__(self) -> bool:
        return bool(self._ends)

    def add(self, low: int, high: int) -> None:
        """Pin the bytes low .. high - 1. Errors: ArgumentError for memory that overlaps a pinned array, BackendError
        when the driver refuses."""
        if low == high:  # a rank without a part of this array
            return

        for start, end in self._ends.items():
            if low < end and start < high:
                clash = _clash((low, high), (start, end))
                raise ArgumentError(
                    f"the array to pin ({_range(low, high)}) {clash}: unpin that one first; was it freed without?"
                )

        self._impl().backend.pin(low, high - low)
        self._ends[low] = high

    def remove(self, low: int, high: int) -> None:
        """Undo `add`. Errors: ArgumentError unless the same bytes are pinned."""
        if low == high:
            return

        if self._ends.get(low) != high:
            others = ", ".join(_range(*p) for p in list(self._ends.items())[:4]) or "none"
            raise ArgumentError(
                f"the array to unpin ({_range(low, high)}) is not pinned; pinned: {others}. Was it unpinned before, "
                "or pinned with another size?"
            )

        impl = self._impl()
        impl.wait_for_all()
        impl.backend.unpin(low, high - low)
        del self._ends[low]

    def end(self) -> None:
        """Unpin all arrays. No copy may be in progress."""
        for address, end in self._ends.items():
            self._impl().backend.unpin(address, end - address)


def _clash(new: tuple[int, int], old: tuple[int, int]) -> str:
    return "is pinned already" if new == old else f"overlaps one that is pinned ({_range(*old)})"


def _range(low: int, high: int) -> str:
    return f"{high - low} bytes at {low:#x}"
