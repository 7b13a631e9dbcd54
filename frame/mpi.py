"""The host's communicator. mpi4py is imported when the host passes one, never in a serial run.

Nothing here links an MPI: mpi4py's wheel finds the library that the host has loaded, Open MPI or MPICH.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable

from .devices.spread import numa_node, spread
from .errors import ArgumentError, BackendError, BadNumber, FrameError, StateError, refuse

agree: Callable[[int, bool], int] | None = None  # the shim's: whether all ranks can take part, asked without Python
end_all: Callable[[FrameError], None] | None = None  # ends the run of all ranks with the message of an error
libmpi_folder = ""  # holds the empty libmpi.so.12 that build.py made; set when the library starts
SAID_AFTER = 5.0  # seconds until a rank says that it waits for others in a collective call
RANK = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
LOCAL_SIZE = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE")
LOCAL_RANK = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID")


class BadHandle(BadNumber):
    """A handle that is no communicator."""


def host_library() -> str:
    """Which MPI the process has loaded: 'openmpi', 'mpich' (and its family) or '' for none."""
    everything = ctypes.CDLL(None)
    if hasattr(everything, "ompi_mpi_comm_world"):
        return "openmpi"
    return "mpich" if hasattr(everything, "MPI_Init") else ""


def host_has(happened: str) -> bool:
    """Whether MPI is "Initialized" or "Finalized" in the host: the C symbol MPI_..., which every MPI library has and
    which may be called at any time."""
    ask = getattr(ctypes.CDLL(None), f"MPI_{happened}", None)
    flag = ctypes.c_int(0)
    if ask is not None:
        ask(ctypes.byref(flag))
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


def communicator(mpi, handle: int):
    """The host's communicator of this handle. MPI looks at the handle while its errors come back here; the host's own
    error handlers are in place again afterwards. Errors: ArgumentError for the null communicator, BadHandle for a
    handle that is none."""
    # MPICH looks no further than the pattern of a handle: it ends the process where the number behind it is too large
    most = {0x11: 2, 0x21: 256}.get((handle & 0xFFFFFFFF) >> 26, 1 << 26)  # built in; of its first, static objects
    told_by = [mpi.COMM_WORLD, mpi.COMM_SELF]  # an error without a communicator goes to one of them
    handlers = [comm.Get_errhandler() for comm in told_by]

    kind: type[BadNumber] = BadHandle
    what = "is no communicator; was it freed?"
    try:
        for comm in told_by:
            comm.Set_errhandler(mpi.ERRORS_RETURN)
        if handle & 0x3FFFFFF < most:
            host = mpi.Comm.f2py(handle)
            what = (
                "is the null communicator." if host == mpi.COMM_NULL else "is an intercommunicator." * host.Is_inter()
            )
            kind = BadNumber
    except mpi.Exception:
        pass
    finally:
        for comm, handler in zip(told_by, handlers):
            comm.Set_errhandler(handler)
            handler.Free()

    if what:
        raise kind(f"fcomm = {handle} {what} Wanted an integer such as MPI_COMM_WORLD.")

    return host


def _share_of_cores(mine: set[int], everyone: list[set[int]]) -> int:
    """How many cores a rank owns: a core on which several ranks may run is shared evenly. everyone: the cores of each
    rank of the node."""
    share = 0.0
    for core in mine:
        share += 1 / sum([core in other for other in everyone])
    return int(share + 1e-9)


class Communicator:
    """A duplicate of the host's communicator, and the ranks of this node.

    cores: how many cores this rank owns; a core on which several ranks may run is shared evenly. patience: seconds for
    which a rank waits for others in a collective call, 0: for good. Errors: ArgumentError if MPI is not initialised or
    is finalised, and for a handle that is no communicator.
    """

    def __init__(self, handle: int):
        self.patience = 0  # until all ranks' settings are known to be right
        refuse(
            not host_has("Initialized"),
            "MPI is not initialised: call MPI_INIT first; a serial host does not call frame_setcomm.",
        )
        refuse(host_has("Finalized"), "MPI is finalised: call frame_setcomm before MPI_FINALIZE.")

        failed = None
        try:
            self._mpi = import_mpi()
        except FrameError as error:
            failed = error

        host = None if failed else self._found(handle)
        waiting_for = agree(handle, failed is not None) if agree else int(failed is not None)
        if failed:
            raise failed
        refuse(
            waiting_for > 0,
            f"rank {waiting_for - 1} of this communicator cannot start the layer; its own message says why.",
            StateError,
        )

        assert host is not None
        self.comm = host.Dup()
        self.node = self.comm.Split_type(self._mpi.COMM_TYPE_SHARED)

        self.rank = self.comm.rank
        self.size = self.comm.size
        self.rank_on_node = self.node.rank
        self.rank_of_job = self.rank
        self.node_number = self.node.bcast(self.rank)

        mine = os.sched_getaffinity(0)
        everyone = self.node.allgather(mine)
        self._near = self.node.allgather(numa_node(mine))
        self.cores = max(1, _share_of_cores(mine, everyone))

    def _found(self, handle: int):
        """The host's communicator. If a rank passes a wrong handle, the other ranks wait for it, and it
        cannot reach them: the run ends on all ranks. Errors: as `communicator`, where there is a single rank."""
        try:
            return communicator(self._mpi, handle)
        except BadHandle as error:
            if end_all is not None and self._mpi.COMM_WORLD.size > 1:
                end_all(error)
            raise

    def share(self, value) -> list:
        """The value of every rank."""
        return self.comm.allgather(value)

    def ranks_of(self, devices: int) -> int:
        """Number of ranks for which this rank speaks: itself."""
        return 1

    def meet(self) -> None:
        """Wait for all ranks."""
        self.comm.Barrier()

    def most(self, values: list[float]) -> list[float]:
        """The largest value over the ranks, for each place of the list."""
        return [max(each) for each in zip(*self.comm.allgather(values))]

    def place(self, devices: list[int]) -> int:
        """Number of this rank's device. devices: the NUMA node of each device."""
        return spread(self._near, devices)[self.rank_on_node]

    def gather(self, value) -> list | None:
        if self._mpi.Is_finalized():
            raise ArgumentError("MPI is finalised, and the ranks cannot be asked: call it before MPI_FINALIZE.")
        self.wait_for_all("frame_report")
        return self.comm.gather(value)

    def wait_for_all(self, call: str) -> None:
        """Return when all ranks are here. A rank that waits for long says in which call. Behind `patience` seconds the
        run ends on all ranks: MPI has no way to leave a barrier. Errors: StateError where no host can be ended."""
        everyone, begin, said = self.comm.Ibarrier(), time.monotonic(), False
        while not everyone.Test():
            waited = time.monotonic() - begin
            if not said and waited > SAID_AFTER:
                said = True
                sys.stderr.write(f"frame: rank {self.rank} waits in {call}, which every rank has to call\n")
            if self.patience and waited > self.patience:
                self._give_up(call)
            time.sleep(0.0005)

    def _give_up(self, call: str) -> None:
        error = StateError(
            f"rank {self.rank} has waited for {self.patience} s (FRAME_WAIT) in {call}, which every rank has to call."
        )
        if end_all is not None:
            end_all(error)
        raise error

    def free(self) -> None:
        if not self._mpi.Is_finalized():
            self.node.Free()
            self.comm.Free()


def _number_in(names) -> int:
    """The number that the launcher gave this process in the first of these variables that is set, else 0."""
    return next((int(os.environ[name]) for name in names if os.environ.get(name, "").isdigit()), 0)


class Alone:
    """A single rank: without MPI, or until the host passes its communicator."""

    rank, size, node_number = 0, 1, 0

    @property
    def rank_on_node(self) -> int:
        return _number_in(LOCAL_RANK)

    @property
    def rank_of_job(self) -> int:
        return _number_in(RANK)

    @property
    def cores(self) -> int:
        """Number of cores that this process owns. If the launcher has bound no ranks to cores, its ranks on this node
        share all cores."""
        mine = len(os.sched_getaffinity(0))
        return mine if mine < (os.cpu_count() or 1) else max(1, mine // max(1, _number_in(LOCAL_SIZE)))

    def share(self, value) -> list:
        return [value]

    def wait_for_all(self, call: str) -> None:
        pass

    def ranks_of(self, devices: int) -> int:
        """Number of the launcher's ranks that share a device of this node."""
        return -(-max(1, _number_in(LOCAL_SIZE)) // max(1, devices))

    def meet(self) -> None:
        pass

    def most(self, values: list[float]) -> list[float]:
        return values

    def place(self, devices: list[int]) -> int:
        """Number of this rank's device. The launcher gives the rank on the node, but no cores of other ranks."""
        return self.rank_on_node % len(devices)

    def gather(self, value) -> list:
        return [value]

    def free(self) -> None:
        pass
