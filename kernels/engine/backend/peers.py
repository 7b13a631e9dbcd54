"""Data from device to device, between processes: memory of one that others open (CUDA IPC), and NCCL."""

from __future__ import annotations

import contextlib
import importlib
import os

import numpy as np

from ..errors import BackendError


def mps() -> str:
    """Whether a CUDA MPS daemon serves this node's processes: its control pipe tells."""
    folder = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")
    return f"running ({folder})" if os.path.exists(os.path.join(folder, "control")) else "not running"


class Peers:
    """Verbs of the CUDA backend for several processes. They raise BackendError with the driver's words."""

    def __init__(self, backend):
        self._backend, self._cuda = backend, backend.arrays.cuda
        self._runtime = self._cuda.runtime

    @property
    def place(self) -> str:
        """The device's place in its node. Its number is of no use to others: a process may see some devices only."""
        return self._runtime.deviceGetPCIBusId(self._backend.device)

    @property
    def at_once(self) -> bool:
        """Whether processes that share a device run on it at the same time; else they take turns."""
        return mps().startswith("running")

    def allocate(self, nbytes: int, zeros: int) -> int:
        """Address of memory that other processes may open, with its first `zeros` bytes 0. It is one allocation of the
        driver's: a handle always means a whole one, and a pool's would be shared with other arrays."""
        with self._refusals():
            address = self._runtime.malloc(nbytes)
            self._runtime.memset(address, 0, zeros)
            self._runtime.streamSynchronize(0)
        return address

    def handle(self, address: int) -> bytes:
        """What another process opens this memory with."""
        with self._refusals():
            return self._runtime.ipcGetMemHandle(address)

    def open(self, handle: bytes) -> int:
        """Address of another process's memory, until `close`."""
        with self._refusals():
            return self._runtime.ipcOpenMemHandle(handle)

    def close(self, address: int) -> None:
        self._runtime.ipcCloseMemHandle(address)

    def free(self, address: int) -> None:
        """Nobody has it open any more."""
        self._runtime.free(address)

    def words(self, address: int, count: int) -> np.ndarray:
        """The `count` integers of 8 bytes at an address; waits until what was queued is done."""
        out = np.zeros(count, np.int64)
        self._runtime.memcpy(out.ctypes.data, address, out.nbytes, self._runtime.memcpyDeviceToHost)
        return out

    @contextlib.contextmanager
    def _refusals(self):
        self._backend.use()
        try:
            yield
        except self._runtime.CUDARuntimeError as error:
            raise BackendError(f"device {self._backend.device}: {error}") from None

    # ---- NCCL
    @property
    def has_nccl(self) -> bool:
        return self._nccl is not None

    def name_of_communicator(self):
        """Made by one process, given to all that call `communicator`."""
        return self._nccl.get_unique_id()

    def communicator(self, size: int, rank: int, name) -> Communicator:
        """Collective, of `size` processes; this one is `rank`."""
        nccl = self._nccl
        try:
            return Communicator(nccl, self._backend, nccl.NcclCommunicator(size, name, rank))
        except nccl.NcclError as error:
            raise BackendError(f"NCCL: {error}") from None

    @property
    def _nccl(self):
        """CuPy's module, None where NCCL is not installed."""
        module = getattr(self._cuda, "nccl", None)
        if module is None:  # CuPy 14 loads it when it is imported
            try:
                module = importlib.import_module("cupy.cuda.nccl")
            except ImportError:
                return None
        return module if getattr(module, "available", True) else None


class Communicator:
    """Messages between devices, in order with the kernels of the current stream; no host waits."""

    def __init__(self, nccl, backend, communicator):
        self._nccl, self._backend, self._communicator = nccl, backend, communicator

    def exchange(self, sent, received) -> None:
        """sent, received: (array of doubles, other rank). There are no tags: messages between two ranks pair up in
        their order."""
        nccl, stream = self._nccl, self._backend.stream
        nccl.groupStart()
        for move, messages in ((self._communicator.send, sent), (self._communicator.recv, received)):
            for array, other in messages:
                move(self._backend.address(array), array.size, nccl.NCCL_FLOAT64, other, stream)
        nccl.groupEnd()

    def close(self) -> None:
        """Waits for the other ranks."""
        self._backend.synchronize()
        self._communicator.destroy()
