"""The host's communicator. mpi4py is imported when the host passes one, never in a serial run.

Nothing here links an MPI: mpi4py's wheel finds the library that the host has loaded, Open MPI or MPICH.
"""

from __future__ import annotations

import ctypes
import os

from .errors import BackendError, refuse

libmpi_folder = ""  # holds the empty libmpi.so.12 that build.py made; set when the library starts
LOCAL_RANK = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID")


def host_library() -> str:
    """Which MPI the process has loaded: 'openmpi', 'mpich' (and its family) or '' for none."""
    everything = ctypes.CDLL(None)
    if hasattr(everything, "ompi_mpi_comm_world"):
        return "openmpi"
    return "mpich" if hasattr(everything, "MPI_Init") else ""


def host_has_initialized() -> bool:
    """Whether the host has called MPI_INIT. It asks the C symbol MPI_Initialized, which every MPI library has."""
    everything = ctypes.CDLL(None)
    if not hasattr(everything, "MPI_Initialized"):
        return False
    flag = ctypes.c_int(0)
    everything.MPI_Initialized(ctypes.byref(flag))
    return bool(flag.value)


def import_mpi():
    """mpi4py.MPI, set up to use the host's MPI. Errors: BackendError when it is missing or bound to another MPI."""
    stand_in = os.path.join(libmpi_folder, "libmpi.so.12")
    if host_library() == "mpich" and os.path.isfile(stand_in):
        # The wheel needs libmpi.so.12, but Debian's MPICH is called libmpich.so.12. An empty library of the first name
        # satisfies the loader; the symbols come from the loaded MPICH.
        try:
            ctypes.CDLL("libmpi.so.12", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        except OSError:
            ctypes.CDLL(stand_in, mode=os.RTLD_GLOBAL | os.RTLD_NOW)
    try:
        import mpi4py

        # errors='default': otherwise the import sets ERRORS_RETURN on COMM_WORLD, and the host's own MPI errors pass
        # silently.
        mpi4py.rc(initialize=False, finalize=False, errors="default")
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise BackendError(
            f"frame_setcomm needs mpi4py: pip install mpi4py into the environment of libframe ({error})."
        ) from error
    if not MPI.Is_initialized():
        raise BackendError(
            f"mpi4py is bound to another MPI ({MPI.Get_library_version().split(',')[0]}) than the host's "
            f"({host_library()})."
        )
    return MPI


class Communicator:
    """A duplicate of the host's communicator and the ranks of this node. Errors: ArgumentError when MPI is not
    initialised."""

    def __init__(self, handle: int):
        refuse(
            not host_has_initialized(),
            "MPI is not initialised: call MPI_INIT first; a serial host does not call frame_setcomm.",
        )
        self._mpi = import_mpi()
        host = self._mpi.Comm.f2py(handle)
        refuse(host == self._mpi.COMM_NULL, f"fcomm = {handle} is the null communicator.")
        self.comm = host.Dup()
        self.node = self.comm.Split_type(self._mpi.COMM_TYPE_SHARED)
        self.rank, self.size, self.rank_on_node = self.comm.rank, self.comm.size, self.node.rank

    def gather(self, value) -> list | None:
        return self.comm.gather(value)

    def free(self) -> None:
        if not self._mpi.Is_finalized():
            self.node.Free()
            self.comm.Free()


class Alone:
    """One rank: without MPI, or until the host passes its communicator."""

    rank, size = 0, 1

    @property
    def rank_on_node(self) -> int:
        return next((int(os.environ[name]) for name in LOCAL_RANK if os.environ.get(name, "").isdigit()), 0)

    def gather(self, value) -> list:
        return [value]

    def free(self) -> None:
        pass


def device_for(device_id: int, rank_on_node: int, devices: int) -> int:
    """The device of a rank. Errors: BackendError when there is none, ArgumentError when the one asked for does not
    exist."""
    refuse(
        devices < 1,
        "backend 'cuda' was asked for and no CUDA device is visible; set FRAME_BACKEND=cpu to run without.",
        BackendError,
    )
    refuse(device_id >= devices, f"device_id = {device_id}, wanted -1 (by rank on the node) or 0..{devices - 1}.")
    return device_id if device_id >= 0 else rank_on_node % devices
