"""Arrays that the layer allocates for a host where kernels work, so that a host without a GPU's compiler can keep its
fields there. On a CPU they are arrays of the host's memory."""

from __future__ import annotations

from collections.abc import Callable

from .errors import refuse
from .stripe import OUT, Field

EMPTY = 4096  # address of arrays without elements: nothing lies there


class OwnArrays:
    """The arrays of a host between `allocate` and `deallocate`.

    change: called after each `deallocate`, since bound calls may hold the address.
    """

    def __init__(self, backend, change: Callable[[], None]):
        self._backend, self._change = backend, change
        self._given: dict[int, int] = {}  # bytes, by address

    def __bool__(self) -> bool:
        return bool(self._given)

    def allocate(self, nbytes: int) -> int:
        """The address of so many bytes, at a multiple of 64. Errors: ArgumentError for a negative number, BackendError
        when memory is full."""
        refuse(nbytes < 0, f"bytes = {nbytes}, wanted 0 or more.")
        if nbytes == 0:
            return EMPTY

        address = self._backend.allocate(nbytes)
        self._given[address] = nbytes
        return address

    def deallocate(self, address: int) -> None:
        """Give memory back. No call may be in progress on it. Errors: ArgumentError for another address."""
        if address == EMPTY:
            return

        refuse(address not in self._given, f"no array of frame_allocate begins at {address:#x}{self._near(address)}")
        self._change()
        self._backend.free(address)
        del self._given[address]

    def copy(self, to: int, source: int, nbytes: int) -> None:
        """Copy bytes between any two places, of the host or of the device, after the work that this thread has queued;
        it returns when they are there. Errors: ArgumentError for a negative number, and for memory that is not there.
        """
        refuse(nbytes < 0, f"bytes = {nbytes}, wanted 0 or more.")
        if nbytes:
            fields = [Field.contiguous(name, OUT, at, (nbytes,), 1) for name, at in (("to", to), ("source", source))]
            self._copy(fields[0], fields[1], nbytes)

    def copy_fields(self, to: Field, source: Field) -> None:
        """Copy an array to an array of the same extents. Errors: ArgumentError for arrays with gaps, for other extents,
        and as copy."""
        refuse(
            to.extent != source.extent,
            f"the array to copy has the extents {_list(source.extent)}, its copy {_list(to.extent)}.",
        )
        for field in (to, source):
            dense = Field.contiguous(field.name, field.way, field.address or EMPTY, field.extent, field.size)
            long = [d for d, extent in enumerate(field.extent) if extent > 1]
            refuse(
                any(field.stride[d] != dense.stride[d] for d in long) and all(field.extent),
                "frame_copy: an array has gaps between its elements, wanted whole arrays.",
            )

        low, high = to.range
        if low < high:
            self._copy(to, source, high - low)

    def _copy(self, to: Field, source: Field, nbytes: int) -> None:
        for field in (to, source):
            field.reach(self._backend)
        self._backend.copy(to.address, source.address, nbytes)

    def end(self) -> None:
        """Free all arrays."""
        for address in self._given:
            self._backend.free(address)
        self._given.clear()

    def _near(self, address: int) -> str:
        """A hint on the array that has this address inside."""
        for start, nbytes in self._given.items():
            if start < address < start + nbytes:
                return f": it lies inside the array at {start:#x}."
        return ": was it deallocated before?"


def _list(extent) -> str:
    return ", ".join(map(str, extent))
