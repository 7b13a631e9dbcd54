"""What a backend does. Files in this folder have the same verbs; nobody outside asks which one it has."""

from __future__ import annotations

import abc
import contextlib

import numpy as np

from ..codegen import emit
from ..errors import ArgumentError


class Backend(abc.ABC):
    name: str

    @abc.abstractmethod
    def describe(self) -> dict:
        """Facts for `python -m frame info`."""

    @abc.abstractmethod
    def pad(self, n: int) -> int:
        """Row length to allocate for n points."""

    @abc.abstractmethod
    def empty(self, shape, dtype=np.float64):
        """Uninitialised array, rows contiguous."""

    def plan(self, kernels, outputs, mixture, precision: str = "double"):
        """Kernels joined into one launch, constants laid out as this backend wants them. Raises ArgumentError for a
        precision that this backend does not have."""
        return emit.plan(kernels, outputs, mixture, precision=precision)

    @abc.abstractmethod
    def compile(self, plan, name: str):
        """A Program's machine code; cached on disk. Returns what `prepare` takes."""

    @abc.abstractmethod
    def prepare(self, code, constants, plan, arrays):
        """`run(n)` with all arguments resolved: pointers, strides, constants."""

    @abc.abstractmethod
    def resident(self, array):
        """(address, owner): a host array's values where kernels can read them; the owner keeps them there."""

    @abc.abstractmethod
    def synchronize(self): ...

    @abc.abstractmethod
    def mark(self):
        """A point in the backend's time; costs next to nothing and waits for nothing."""

    @abc.abstractmethod
    def elapsed(self, start, end) -> float:
        """Seconds between two marks; may wait."""

    def record(self, work):
        """What repeats the launches of `work()`, which is not run by this; it allocates nothing and waits for nothing.
        Raises BackendError where a device cannot record it."""
        return work

    @abc.abstractmethod
    def gather(self, block, start: int, count: int, view): ...

    @abc.abstractmethod
    def scatter(self, block, start: int, count: int, view): ...

    @contextlib.contextmanager
    def session(self, blocks):
        """For copies to and from these blocks of host memory, which stays in place until the session ends: they need
        not have happened before that. Yields lanes: contexts whose work is ordered within each, and free between
        them."""
        yield (contextlib.nullcontext(),)

    def pin(self, address: int, nbytes: int) -> None:
        """Until `unpin` with the same numbers, or `release`, this memory of the host stays where it is, and copies to
        and from it may count on that. Nothing to do where the host's memory is the backend's. Pinned ranges must not
        overlap."""

    def unpin(self, address: int, nbytes: int) -> None:
        """Before the memory is freed."""

    @abc.abstractmethod
    def to_host(self, array) -> np.ndarray: ...

    @abc.abstractmethod
    def from_host(self, array, dtype=np.float64): ...

    def release(self):
        """Give back what is held beyond arrays (device memory pools, registered host memory)."""


def check_rows(name, array, rows: int, dtype=np.dtype(np.float64)):
    """Shape (ld,) for one row, (rows, ld) else; dtype, points contiguous. Returns (row stride in elements, row
    length)."""
    shape = tuple(array.shape)
    if array.dtype != dtype:
        raise ArgumentError(f"array '{name}': type {array.dtype}, wanted {dtype}.")
    if len(shape) == 1 and rows == 1:
        shape, strides = (1, shape[0]), (0, array.strides[0])
    else:
        strides = array.strides
    if len(shape) != 2 or shape[0] != rows:
        raise ArgumentError(
            f"array '{name}': shape {tuple(array.shape)}, wanted ({rows}, points)"
            + (" or (points,)." if rows == 1 else ".")
        )
    if shape[1] > 1 and strides[1] != dtype.itemsize:
        raise ArgumentError(f"array '{name}': points are {strides[1]} bytes apart, wanted contiguous rows.")
    return strides[0] // dtype.itemsize, shape[1]
