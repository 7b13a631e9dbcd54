"""Clock: time, number and length of the steps, in memory of the backend (kernels/clock.h). Steps are queued without the
host, which reads the clock when there is something to tell."""

import contextlib
import dataclasses

import numpy as np

from kernels.engine.backend.base import Shape, Source
from kernels.engine.backend.record import record

from .errors import NoWay
from .mailboxes import LINE, PATIENCE, Shared
from .stencil import HERE

MOST_RANKS = 64  # that a launch can take along
ROWS = ("length", "time", "steps", "until", "reached", "limit", "cfl", "last", "failed")  # as kernels/clock.h has them
MEMBERS = (
    "clock:address rates:address cfl:real fourier:real time_step:real viscous:whole ranks:whole rank:whole "
    f"patience:whole boards:address:{MOST_RANKS} board:address count:address late:address"
)
SOURCE = Source(
    "flow-clock", f'#define MOST_RANKS {MOST_RANKS}\n#define LINE {LINE // 8}\n#include "clock.h"\n', (HERE,)
)


@dataclasses.dataclass(frozen=True)
class Reading:
    """Time [s], steps taken, length [s] and CFL number of the last step, and whether a state had no time step."""

    time: float
    steps: int
    last: float
    cfl: float
    failed: bool


class Clock:
    """bind(name): a stencil kernel over the block. alone: whether no host takes part in what ranks have to agree on;
    else they do so through the host."""

    def __init__(self, block, bind, viscous, exchange):
        self.block, self.viscous, self.frame, self._board = block, viscous, block.frame, None
        backend, a, n = block.backend, block.arrays, block.case.numerics
        a["clock"][...] = 0.0
        self._found = a["rate"]  # the largest of the state, 0 between two searches

        self._found[...] = 0.0
        self._rates = bind("rates")
        ranks = block.ranks
        if exchange.way == "ipc" and ranks.size <= MOST_RANKS:
            with contextlib.suppress(NoWay):
                self._board = Board(ranks, backend)

        self.alone = ranks.size == 1 or self._board is not None
        filled = record(
            MEMBERS,
            clock=backend.address(a["clock"]),
            rates=backend.address(self._found),
            cfl=n["cfl"],
            fourier=n["fourier"],
            time_step=n["time_step"],
            viscous=int(viscous),
            ranks=1,
        )

        if self._board:
            for name, value in self._board.words().items():
                filled[name] = value

        launch = self.frame.compile(SOURCE).bind("next_step", Shape(1), filled, keep=(a["clock"], self._found))
        self._next = lambda: launch(1)

    def set(self, time, steps, until=np.inf, reached=np.inf, limit=np.inf):
        """The clock before some steps. No step goes beyond `until` [s], is longer than `limit` [s], or begins from
        `reached` [s] on."""
        values = dict(time=time, steps=steps, until=until, reached=reached, limit=limit)
        self.block.arrays["clock"][...] = self.block.backend.from_host([values.get(name, 0.0) for name in ROWS])

    def hold(self, length):
        """The length of steps that are launched by hand [s]."""
        self.block.arrays["length"][...] = length

    def tick(self):
        """Queue: the length of the next step, and the time after it."""
        with self.frame.timed("time step"):
            self._rates(*self.block.box(), inv_dx=self.block.inv_dx)
            if not self.alone:
                self._found[...] = self.block.backend.from_host(self._over_ranks())
            self._next()

    def read(self) -> Reading:
        """The clock after all queued steps; waits for them."""
        said = dict(zip(ROWS, np.array(self.block.backend.to_host(self.block.arrays["clock"])).tolist()))
        return Reading(said["time"], int(said["steps"]), said["last"], said["cfl"], said["failed"] != 0)

    def rates(self) -> np.ndarray:
        """The largest rates of the state on all ranks [1/s], of waves and of diffusion; infinite where it has none."""
        with self.frame.timed("time step"):
            self._rates(*self.block.box(), inv_dx=self.block.inv_dx)
            found = self._over_ranks()
            self._found[...] = 0.0
        return found

    def _over_ranks(self):
        """The largest rates found, of all ranks. Collective."""
        mine = np.array(self.block.backend.to_host(self._found))
        return -self.block.ranks.smallest(-mine)

    def complaint(self) -> str:
        return self._board.complaint() if self._board else ""

    def close(self):
        if self._board:
            self._board.close()
            self._board = None


class Board(Shared):
    """Memory where every other rank of a node writes its rates. Raises NoWay, on all ranks, where a rank cannot."""

    def __init__(self, ranks, backend):
        self._lines = 2 * ranks.size * LINE
        super().__init__(ranks, backend, self._lines + 2 * LINE, self._lines + 2 * LINE)
        self.open(other for other in range(ranks.size) if other != ranks.rank)

    def words(self) -> dict:
        """{member of the kernel's record: value} of the boards."""
        ranks, boards = self.ranks, np.zeros(MOST_RANKS, np.int64)
        boards[: ranks.size] = [self.base if r == ranks.rank else self.opened[r] for r in range(ranks.size)]
        count, late = self.base + self._lines, self.base + self._lines + LINE
        words = dict(boards=boards, board=self.base, count=count, late=late)

        return words | dict(ranks=ranks.size, rank=ranks.rank, patience=PATIENCE)

    def complaint(self) -> str:
        """Whose rates this rank has given up waiting for; "" when none. Waits for a copy of three words."""
        late = self.backend.peers.words(self.base + self._lines + LINE, 3)
        if not late[0]:
            return ""
        said = f"rank {self.ranks.rank} waited in vain for the time step of rank {late[0] - 1}"

        return f"{said}: for number {late[1]}, and has seen {late[2]}."
