"""Exchange of fringes between the blocks of neighbouring ranks."""

import ctypes
import dataclasses
import itertools
import os

import numpy as np

from kernels import BackendError
from kernels.engine.backend.base import Ends

from .case import FRINGE
from .errors import CaseError, NoWay
from .mailboxes import Mailboxes
from .moves import bind_moves


@dataclasses.dataclass(frozen=True)
class Fringe:
    """The part of an array's fringe that is exchanged."""

    layers: int = FRINGE  # nearest to the block's own cells
    corners: bool = True  # edges and corners too; without them all directions are independent: `fill_all`
    last_decides: bool = False  # where the last row is 1 nobody reads the other rows, which may stay as they are


class Exchange:
    """Fringes of an array (rows, nz, ny, nx with fringe), one direction after the other, so that corners come with the
    later directions.

    On a CPU MPI takes the buffers as they are. On a device `way` says how messages travel:
    "ipc": packed into memory of a neighbour on the same node (mailboxes.py);
    "cuda_mpi": MPI takes device memory;
    "staged": through pinned host memory;
    "nccl": from device to device, in order with the kernels;
    "auto": ipc where all ranks can and each has a device, or MPS; otherwise cuda_mpi where Open MPI says that it can;
    otherwise staged.
    With ipc and nccl the host never waits. alarm: array whose first number becomes NaN when ipc waits in vain;
    `complaint` names the message. Raises NoWay and CaseError.
    """

    def __init__(self, ranks, array, backend, way="auto", alarm=None, fringe=Fringe()):
        self.ranks, self.array, self.backend, self.fringe, self._alarm = ranks, array, backend, fringe, alarm
        self._buffers, self._messages, self.mailboxes = {}, None, None
        self.first = next((d for d in range(ranks.dimensions) if ranks.grid[d] > 1), None)  # direction with other ranks

        self._sides, self._remote = self._neighbours()
        self.way = self._way(way)
        self._boxes = self._message_boxes()
        if self.way == "staged":
            self._stage()
        elif self.way == "nccl":
            self._messages = _communicator(ranks, backend)

        self._bind()

    def _neighbours(self) -> tuple[dict, dict]:
        """{(direction, side): rank there}, and of other ranks {(direction, side): (rank, shape of a message)}."""
        sides, remote = {}, {}
        for at in itertools.product(range(self.ranks.dimensions), (0, 1)):
            other = sides[at] = self.ranks.neighbour(at[0], 2 * at[1] - 1)
            if other not in (None, self.ranks.rank):
                remote[at] = other, self._slab(*at, inside=True).shape

        return sides, remote

    def _bind(self):
        """Launches: packing, unpacking, and copies that no rank waits for."""
        self._pack, self._unpack, own = [], [], []
        for d in range(self.ranks.dimensions):
            out, into = self._moves_out(d), self._moves_in(d)
            if not (self.fringe.corners or out):  # no other direction reads them
                own, into = own + into, []

            self._pack.append(self._bound(d, out))
            self._unpack.append(self._bound(d, into))

        self._own = bind_moves(self.backend, own, last_decides=self.fringe.last_decides) if own else None

    def _way(self, way):
        """The way that these ranks take."""
        if self.ranks.size == 1:
            return "none"
        if self.backend.memory == "host":
            return "host"
        return self._choose(way, self._remote)

    def _message_boxes(self) -> dict:
        """{(direction, side): (where a message is packed, where one arrives)}."""
        if self.way == "ipc":
            return {at: (self.mailboxes.send(*at), self.mailboxes.receive(*at)) for at in self._remote}

        boxes = {}
        for at, (other, shape) in self._remote.items():
            boxes[at] = self.backend.empty(shape), self.backend.empty(shape)
            self._buffers[at] = other, *boxes[at]
        return boxes

    def _stage(self):
        """Pinned memory of the host for each message that is sent, and for each that is received."""
        self._staging, self._pinned = {}, {}
        for at, (_, shape) in self._remote.items():
            self._staging[at] = self.backend.staging(), self.backend.staging()
            self._pinned[at] = [s.rows(1, int(np.prod(shape)), np.dtype(float)) for s in self._staging[at]]

    def _moves_out(self, d):
        """(to, from): layers of the block that are packed for the neighbours in direction d."""
        sides = [side for side in (0, 1) if (d, side) in self._boxes]
        return [(self._boxes[d, side][0], self._slab(d, side, inside=True)) for side in sides]

    def _moves_in(self, d):
        """(to, from): messages, or layers of this block, that fill the fringe of direction d."""
        moves = []
        for side in (0, 1):
            if self._sides[d, side] is None:
                continue
            if (d, side) in self._boxes:
                source = self._boxes[d, side][1]
            else:  # a block alone in a periodic direction: its fringe is a copy of the opposite side
                source = self._slab(d, 1 - side, inside=True)

            moves.append((self._slab(d, side, inside=False), source))

        return moves

    def _bound(self, d, parts):
        """The launch of these moves; None without any."""
        if not parts:
            return None

        count = self.mailboxes.count(d) if self.way == "ipc" else 0
        return bind_moves(self.backend, parts, self._boxes, count, self.fringe.last_decides)

    def _choose(self, way, remote):
        """The way of exchange: the one that is asked for; with "auto" the first that is there. Errors: NoWay."""
        if way not in ("auto", "ipc"):
            return way

        try:
            self.mailboxes = Mailboxes(
                self.ranks,
                self.backend,
                remote,
                0 if self._alarm is None else self.backend.address(self._alarm),
                sharing=way == "ipc" or self.backend.peers.at_once,
            )
            return "ipc"
        except NoWay as error:
            if way == "ipc":
                raise NoWay(f"[parallel] exchange = 'ipc': {error}; choose 'staged'.") from None

        return "cuda_mpi" if cuda_aware() else "staged"

    def _slab(self, d, side, inside):
        """The layers at a side, of the block (inside) or of its fringe."""
        n, layers = self.array.shape[3 - d], self.fringe.layers
        low, high = FRINGE, n - FRINGE  # the block's own cells
        start = {(0, True): low, (0, False): low - layers, (1, True): high - layers, (1, False): high}[side, inside]
        cut = [slice(None)] * 4
        for other in range(0 if self.fringe.corners else self.ranks.dimensions):
            cut[3 - other] = slice(FRINGE, self.array.shape[3 - other] - FRINGE)
        cut[3 - d] = slice(start, start + layers)

        return self.array[tuple(cut)]

    def fill_all(self):
        """The fringes of all directions."""
        for d in range(self.ranks.dimensions):
            self.fill(d)
        if self._own:
            self._own()

    def fill(self, d):
        """The fringe of direction d."""
        if self.way == "ipc" and self._pack[d]:
            self._pack[d]()
            self.mailboxes.signal[d](post=True, wait=True)
            self._unpack[d]()
        else:
            self.finish(d, self.start(d))

    def start(self, d):
        """Pack, and set the messages of direction d going; returns what `finish` takes."""
        if not self._pack[d]:
            return []
        self._pack[d]()

        if self.way == "ipc":
            self.mailboxes.signal[d](post=True, wait=False)
            return []

        mine = [(side, *self._buffers[d, side]) for side in (0, 1) if (d, side) in self._buffers]
        if self.way == "nccl":
            # Messages between two ranks pair up in their order. If two ranks are neighbours on both sides, the
            # message from a low side arrives at a high side: the high side receives first.
            out, into = [(a, other) for _, other, a, _ in mine], [(b, other) for _, other, _, b in reversed(mine)]
            self._messages.exchange(out, into)
            return []

        if self.way == "staged":
            for side, _, out, _ in mine:
                self._copy(out, self._pinned[d, side][0], in_=False)

        if self.way != "host":
            self.backend.synchronize()

        waiting = []
        for side, other, out, into in mine:
            send, receive = self._pinned[d, side] if self.way == "staged" else (out, into)
            # a tag says which side of the sender a message leaves: two blocks may be neighbours twice
            waiting.append(self.ranks.comm.Irecv(receive, other, tag=2 * d + (1 - side)))
            waiting.append(self.ranks.comm.Isend(send, other, tag=2 * d + side))

        return waiting

    def _copy(self, array, pinned, in_):
        """Between an array of the device and pinned memory (in_: to the device), in the order of the current stream;
        the host does not wait."""
        ends = Ends.of_row(self.backend.address(array), pinned.ctypes.data)
        self.backend.copier([ends], in_)(0, 0, array.nbytes)

    def finish(self, d, waiting):
        """Wait, unpack."""
        for request in waiting:
            request.Wait()
        if self._pack[d] and self.way == "ipc":
            self.mailboxes.signal[d](post=False, wait=True)

        for side in (0, 1):
            if self.way == "staged" and (d, side) in self._buffers:
                into = self._buffers[d, side][2]
                self._copy(into, self._pinned[d, side][1], in_=True)

        if self._unpack[d]:
            self._unpack[d]()

    def complaint(self) -> str:
        """The error on the device, where none can be raised; "" without an error."""
        return self.mailboxes.complaint() if self.mailboxes else ""

    def close(self):
        """Collective, at the end: frees memory that neighbours have open, and NCCL's communicator."""
        if self.mailboxes:
            self.mailboxes.close()
            self.mailboxes = None
        if self._messages:  # this waits for the other ranks, so it cannot be left to the garbage collector
            self._messages.close()
            self._messages = None

    def traffic(self) -> str:
        return {"ipc": "CUDA IPC", "cuda_mpi": "CUDA-aware MPI", "staged": "pinned staging", "nccl": "NCCL"}.get(
            self.way, self.way
        )


def cuda_aware() -> bool:
    """Whether Open MPI says that it takes device memory."""
    for name in (None, "libmpi.so.40", "libmpi.so"):  # mpi4py may have loaded it for itself alone
        try:
            return bool(ctypes.CDLL(name, mode=os.RTLD_NOW | (os.RTLD_NOLOAD if name else 0)).MPIX_Query_cuda_support())
        except (OSError, AttributeError):
            continue
    return False


def ways(backend) -> list[str]:
    """The ways from device to device that are there."""
    if backend.memory == "host":
        return ["auto"]
    return ["ipc", "staged", *["nccl"] * backend.peers.has_nccl, *["cuda_mpi"] * cuda_aware()]


def _communicator(ranks, backend):
    """NCCL's communicator of these ranks. NoWay without NCCL, CaseError where it refuses."""
    if not all(ranks.everyone(backend.peers.has_nccl)):
        raise NoWay(
            "[parallel] exchange = 'nccl': CuPy finds no NCCL here; install nvidia-nccl-cu13 (or -cu12), or choose "
            "'staged'."
        )

    name = ranks.comm.bcast(backend.peers.name_of_communicator() if ranks.rank == 0 else None)
    try:
        return backend.peers.communicator(ranks.size, ranks.rank, name)
    except BackendError as error:
        raise CaseError(f"[parallel] exchange = 'nccl': {error}; it needs a GPU for each rank.") from None
