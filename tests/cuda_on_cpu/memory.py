"""Memory of a device on the CPU: arrays, which addresses are whose, what is pinned, what other processes may open.

It is checked as on a device: a copy names its direction, and a host's array that is pinned in part is refused.
"""

import ctypes
import mmap
import os
import tempfile
import types

import numpy as np

PAGEABLE, PINNED, DEVICE = range(3)
TOTAL = 2**30  # bytes of the device


class CUDARuntimeError(RuntimeError):
    """Stand-in for cupy.cuda.runtime.CUDARuntimeError."""


class OutOfMemoryError(MemoryError):
    """Stand-in for cupy.cuda.memory.OutOfMemoryError."""


class Array(np.ndarray):
    """Stand-in for cupy.ndarray: the address is data.ptr, and arithmetic with a host's array is refused."""

    def __new__(cls, shape, dtype, memptr, strides):
        """A view of the memory of an array of the same type: memptr is the array's data."""
        return np.lib.stride_tricks.as_strided(memptr.array, shape, strides).view(cls)

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        for array in (*inputs, *out):
            if isinstance(array, np.ndarray) and array.ndim and not isinstance(array, Array):
                raise TypeError(f"{ufunc.__name__}: Unsupported type {type(array)}")

        plain = [array.view(np.ndarray) if isinstance(array, Array) else array for array in inputs]
        if out:
            options["out"] = tuple(array.view(np.ndarray) for array in out)
        made = getattr(ufunc, method)(*plain, **options)

        return out[0] if out else made.view(Array) if isinstance(made, np.ndarray) else made

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self.ctypes.data, array=self.view(np.ndarray))

    @property
    def __cuda_array_interface__(self):
        return self.__array_interface__


class Pinned(np.ndarray):
    """Stand-in for cupy.cuda.PinnedMemoryPointer: an address and a buffer."""

    @property
    def ptr(self):
        return self.ctypes.data


def own_pages(size):
    """Bytes on pages that nothing else lies on: a host that pins whole pages has none of them."""
    raw = np.empty(size + 2 * 4096, np.uint8)
    return raw[-raw.ctypes.data % 4096 :][:size]


class Memory:
    """The addresses that the device can reach, and the kind of each."""

    def __init__(self):
        self.ranges = {}  # {(address, kind): bytes}
        self.registered = {}  # {address: bytes} that a host has pinned
        self._kept = []  # arrays: an address is not used again, so a range never changes its kind
        self._files = {}  # {address: file} of this process
        self._opened = {}  # {address: view} of any process's file

    def add(self, address, size, kind):
        self.ranges[address, kind] = size

    def kind(self, address):
        return max(
            (kind for (start, kind), size in self.ranges.items() if start <= address < start + size), default=PAGEABLE
        )

    # ---- arrays

    def empty(self, shape, dtype=np.float64):
        """An array of the device, of NaN or zeros."""
        if np.prod(shape, dtype=float) * np.dtype(dtype).itemsize > TOTAL:
            raise OutOfMemoryError

        array = own_pages(int(np.prod(shape)) * np.dtype(dtype).itemsize).view(dtype).reshape(shape).view(Array)
        array[...] = np.nan if np.issubdtype(dtype, np.floating) else 0
        self.add(array.ctypes.data, max(array.nbytes, 1), DEVICE)
        self._kept.append(array)
        return array

    def zeros(self, shape, dtype=np.float64):
        """An array of the device, cleared."""
        array = self.empty(shape, dtype)
        array[...] = 0
        return array

    def pinned(self, size):
        """A pinned buffer."""
        block = own_pages(size).view(Pinned)
        self.add(block.ctypes.data, size, PINNED)
        self._kept.append(block)
        return block

    # ---- memory of the host

    def register(self, address, size, flags):
        if any(a < address + size and address < a + s for a, s in self.registered.items()):
            raise CUDARuntimeError("cudaErrorHostMemoryAlreadyRegistered")
        self.registered[address] = size
        self.add(address, size, PINNED)

    def unregister(self, address):
        del self.registered[address], self.ranges[address, PINNED]

    def refuse_half_pinned(self, address, size):
        """As the driver: memory of the host that is pinned only in part, or in two parts, is refused."""
        pinned = [min(address + size, a + s) - max(address, a) for a, s in self.registered.items()]
        if 0 < max(pinned, default=0) < size:
            raise CUDARuntimeError("cudaErrorInvalidValue: invalid argument")

    def check_copy(self, to, source, kind):
        """Refuses a copy whose direction is not as its kind says."""
        wanted = {1: (False, True), 2: (True, False), 3: (True, True)}[kind]
        found = self.kind(source), self.kind(to)
        assert (found[0] == DEVICE, found[1] == DEVICE) == wanted, f"a copy of direction {kind} between kinds {found}"

    # ---- memory in a file: other processes open it by its name, the handle

    def malloc(self, size):
        folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
        prefix = os.environ.get("STAND_IN_MEMORY", "stand-in-")
        file = tempfile.NamedTemporaryFile(prefix=prefix, dir=folder)  # noqa: SIM115  open until it is freed
        file.write(b"\xff" * size)  # NaN
        file.flush()

        address = self._mapped(file.name)
        self._files[address] = file
        return address

    def _mapped(self, name):
        with open(name, "r+b") as file:
            view = mmap.mmap(file.fileno(), 0)
        address = ctypes.addressof(ctypes.c_char.from_buffer(view))
        self._opened[address] = view
        self.add(address, len(view), DEVICE)
        return address

    def unmap(self, address):
        self._opened.pop(address)
        self.ranges.pop((address, DEVICE))

    def free(self, address):
        self.unmap(address)
        self._files.pop(address).close()

    def get_handle(self, address):
        return self._files[address].name.encode().ljust(64, b"\0")

    def open_handle(self, handle):
        try:
            return self._mapped(handle.rstrip(b"\0").decode())
        except OSError as error:
            raise CUDARuntimeError(f"cudaErrorInvalidValue: {error}") from None
