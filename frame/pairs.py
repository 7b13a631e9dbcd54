"""Arrays of a host that have a copy where kernels work, with a record of which side has changed (kernels.DualView).

A host pairs an array once. From then on calls that name it, or a section of it, work on the copy: no array is copied in
or out by the call. The host says when it has written its side, and asks for its side when it reads:

    pair        the array and its copy
    modify      a side was written; calls say it of what they write
    needsync    whether a side is behind
    sync        brings a side up to date, by a copy if it is behind

On a CPU, and for arrays of the device, both sides are one array: nothing is ever behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import kernels
from kernels.teams.dual import check_side

from .errors import ArgumentError, refuse
from .stripe import IN, Field


class Pair(NamedTuple):
    """An array of the host from address low to below high, and its view; None: kernels reach the array itself."""

    name: str
    low: int
    high: int
    view: kernels.DualView | None


class Used(NamedTuple):
    """A pair in a call."""

    view: kernels.DualView
    written: bool


class Pairs:
    """The paired arrays of a host.

    change: called after each change of what is paired, since bound calls depend on it.
    """

    def __init__(self, backend, change: Callable[[], None]):
        self._backend, self._change = backend, change
        self._pairs: dict[int, Pair] = {}  # by the address of the first byte

    # ---- calls of the host
    def add(self, fields) -> None:
        """Pair arrays. Errors: ArgumentError for an array with gaps, and for one that overlaps a paired one."""
        for field in fields:
            low, high = field.range
            if low == high:  # a rank without a part of this array
                continue

            self._refuse_overlap(field, low, high)
            self._pairs[low] = Pair(field.name, low, high, self._view(field, low, high))
        self._change()

    def remove(self, fields) -> None:
        """End pairs; the host's side is what it is. Errors: ArgumentError unless the arrays are paired."""
        for pair in self._of(fields):
            del self._pairs[pair.low]
        self._change()

    def modify(self, side: str, fields) -> None:
        """A side was written. Errors: as remove; StateError if the other side was, and was not synchronised."""
        check_side(side)
        for pair in self._of(fields):
            if pair.view:
                pair.view.modify(side)

    def need_sync(self, side: str, fields) -> int:
        """How many of these arrays are behind on a side. Errors: as remove."""
        check_side(side)
        return sum([bool(pair.view and pair.view.need_sync(side)) for pair in self._of(fields)])

    def sync(self, side: str, fields) -> None:
        """Bring a side up to date. Errors: as remove."""
        check_side(side)
        for pair in self._of(fields):
            if pair.view:
                pair.view.sync(side)

    # ---- calls that work on arrays
    def run(self, fields, call: Callable):
        """call(fields), which works on the arrays and returns what repeats it, on the copies of paired arrays. They are
        brought up to date before, and the written ones are known to be changed afterwards."""
        fields = list(fields)
        if not self._pairs:
            return call(fields)

        used: list[Used] = []
        moved = [self._moved(field, used) for field in fields]
        if not used:
            return call(fields)

        self._begin(used)
        repeat = call(moved)
        self._end(used)
        if repeat is None:
            return None

        def repeated(*values) -> None:
            self._begin(used)
            repeat(*values)
            self._end(used)

        return repeated

    @staticmethod
    def _begin(used: list[Used]) -> None:
        for pair in used:
            pair.view.sync("device")

    @staticmethod
    def _end(used: list[Used]) -> None:
        for pair in used:
            if pair.written:
                pair.view.modify("device")

    def _moved(self, field: Field, used: list[Used]) -> Field:
        """The field at the same place of its copy. Errors: ArgumentError for memory that is paired in part."""
        low, high = field.range
        for pair in self._pairs.values():
            if pair.view is None or high <= pair.low or pair.high <= low:
                continue
            refuse(
                low < pair.low or pair.high < high,
                f"array '{field.name}' reaches beyond '{pair.name}', which is paired.",
            )

            used.append(Used(pair.view, field.way != IN))
            address = self._backend.address(pair.view.device)
            return field._replace(address=address + field.address - pair.low)

        return field

    # ---- what is paired
    def _view(self, field: Field, low: int, high: int) -> kernels.DualView | None:
        array = kernels.get_backend("cpu").at(field.address, field.extent, field.stride, field.dtype)
        refuse(
            not array.flags.f_contiguous,
            f"array '{field.name}' to pair has gaps between its elements, wanted a whole array.",
        )
        own = field.reach(self._backend) == "own"
        return None if own else kernels.DualView(array, self._backend)

    def _refuse_overlap(self, field: Field, low: int, high: int) -> None:
        for pair in self._pairs.values():
            refuse(
                low < pair.high and pair.low < high,
                f"array '{field.name}' to pair overlaps '{pair.name}', which is paired: unpair that one first.",
            )

    def _of(self, fields) -> list[Pair]:
        found = []
        for field in fields:
            low, high = field.range
            if low == high:
                continue

            pair = self._pairs.get(low)
            if pair is None or pair.high != high:
                names = ", ".join([pair.name for pair in self._pairs.values()]) or "none"
                raise ArgumentError(f"array '{field.name}' is not paired, or has another size now; paired: {names}.")
            found.append(pair)
        return found
