"""Data between devices of several processes: memory that other processes open (CUDA IPC), and messages (NCCL)."""

from __future__ import annotations

import contextlib
import importlib
import os

import numpy as np

from ..errors import BackendError


def mps() -> str:
    """ "running (folder)" if a CUDA MPS daemon serves this node, found by its control pipe; else "not running"."""
    folder = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")
    return f"running ({folder})" if os.path.exists(os.path.join(folder, "control")) else "not running"


class Peers:
    """Methods of the CUDA backend for several processes. They raise BackendError with the driver's words."""

    def __init__(self, backend):
        self._backend = backend
        self._cuda = backend.arrays.cuda
        self._runtime = self._cuda.runtime

    @property
    def place(self) -> str:
        """PCI bus id of the device. Other processes may number the devices otherwise, so its number is of no use."""
        return self._runtime.deviceGetPCIBusId(self._backend.device)

    @property
    def at_once(self) -> bool:
        """Whether processes that share a device run on it at the same time (MPS). Otherwise they take turns."""
        return mps().startswith("running")

    def allocate(self, nbytes: int, zeros: int) -> int:
        """Address of memory that other processes may open; the first `zeros` bytes are 0.

        The memory is an allocation of the driver, not of a pool: a handle stands for a whole allocation, and other
        arrays of the pool would be shared with it.
        """
        with self._refusals():
            address = self._runtime.malloc(nbytes)
            self._runtime.memset(address, 0, zeros)
            self._runtime.streamSynchronize(0)
        return address

    def handle(self, address: int) -> bytes:
        """Handle by which another process opens this memory."""
        with self._refusals():
            return self._runtime.ipcGetMemHandle(address)

    def open(self, handle: bytes) -> int:
        """Address of memory of another process, valid until `close`."""
        with self._refusals():
            return self._runtime.ipcOpenMemHandle(handle)

    def close(self, address: int) -> None:
        """Closes memory of another process."""
        self._runtime.ipcCloseMemHandle(address)

    def free(self, address: int) -> None:
        """Frees memory of `allocate`. No other process may have it open."""
        self._runtime.free(address)

    def words(self, address: int, count: int) -> np.ndarray:
        """`count` integers of 8 bytes at an address. Waits until all queued work is done."""
        out = np.zeros(count, np.int64)
        self._runtime.memcpy(out.ctypes.data, address, out.nbytes, self._runtime.memcpyDeviceToHost)
        return out

    @contextlib.contextmanager
    def _refusals(self):
        """Makes the device current; turns errors of the CUDA runtime into BackendError."""
        self._backend.use()
        try:
            yield
        except self._runtime.CUDARuntimeError as error:
            raise BackendError(f"device {self._backend.device}: {error}") from None

    # ---- NCCL
    @property
    def has_nccl(self) -> bool:
        """Whether NCCL is installed."""
        return self._nccl is not None

    def name_of_communicator(self):
        """A unique id. One process asks for it and gives it to all processes that call `communicator`."""
        return self._nccl.get_unique_id()

    def communicator(self, size: int, rank: int, name) -> Communicator:
        """A communicator of `size` processes, this process with number `rank`. All have to call it (collective)."""
        nccl = self._nccl
        try:
            return Communicator(nccl, self._backend, nccl.NcclCommunicator(size, name, rank))
        except nccl.NcclError as error:
            raise BackendError(f"NCCL: {error}") from None

    @property
    def _nccl(self):
        """CuPy's module for NCCL; None if NCCL is not installed."""
        module = getattr(self._cuda, "nccl", None)
        if module is None:  # CuPy 14 loads it when it is imported
            try:
                module = importlib.import_module("cupy.cuda.nccl")
            except ImportError:
                return None

        return module if getattr(module, "available", True) else None


class Communicator:
    """Messages between devices, queued on the current stream after its kernels. The CPU does not wait."""

    def __init__(self, nccl, backend, communicator):
        self._nccl, self._backend, self._communicator = nccl, backend, communicator

    def exchange(self, sent, received) -> None:
        """Sends and receives. sent, received: lists of (array of doubles, other rank).

        There are no tags: messages between two ranks are matched in their order.
        """
        nccl, stream = self._nccl, self._backend.stream
        nccl.groupStart()

        for move, messages in ((self._communicator.send, sent), (self._communicator.recv, received)):
            for array, other in messages:
                move(self._backend.address(array), array.size, nccl.NCCL_FLOAT64, other, stream)

        nccl.groupEnd()

    def close(self) -> None:
        """Ends the communicator. Waits for the other ranks."""
        self._backend.synchronize()
        self._communicator.destroy()
