"""GRI-3.0 that reacts on 1, 2, 4, ... GPUs of a machine: mpirun -n 4 python tests/gpu_react.py [FILE.json]

A rank for each GPU. Strong: one number of cells, shared by more and more ranks. Weak: so many cells for each rank. The
cells are states along an ignition, dealt out in turn, so that ranks have the same work. In the strong rows the
temperatures after the step must have the same bits on every number of ranks; the exit status is 1 where they have not.

CELLS=262144  FRAME_BACKEND=cuda
"""

import dataclasses
import json
import os
import pathlib
import statistics
import sys
import tempfile

import numpy as np
from mpi4py import MPI

from frame.tools.bench.kinetics import files
from frame.tools.bench.reactors import Ignition
from frame.tools.bench.timing import Launch, fill
from kernels import Mixture
from kernels.engine.backend import get_backend as backend_of
from kernels.engine.tune import seconds

CELLS = int(os.environ.get("CELLS", 2**18))
REPEATS = 5
OUTPUTS = ("T", "p", "Y", "status_cv", "steps_cv")
COUNTS = (1, 2, 4, 8)


@dataclasses.dataclass
class Row:
    """A reaction step on a number of ranks."""

    kind: str  # strong or weak
    ranks: int
    cells: int  # of all ranks
    seconds: float  # of the slowest rank, median of rounds
    efficiency: float  # cells a second and rank, over those of one rank
    unfinished: int  # cells that did not reach the end of the step
    same_bits: bool | None  # T of all cells as on one rank; None: weak rows, whose cells are others

    @property
    def right(self) -> bool:
        return self.same_bits is not False and not self.unfinished

    def __str__(self) -> str:
        rate = self.cells / self.seconds
        bits = {None: "", True: "same bits", False: "OTHER BITS"}[self.same_bits]
        return (
            f"{self.kind:6} {self.ranks:2d} ranks {self.cells:9d} cells {1e3 * self.seconds:9.2f} ms "
            f"{rate:10.4g} cells/s efficiency {self.efficiency:.3f} {bits}"
        )


def ignition() -> Ignition:
    """States along the ignition of methane in air."""
    with tempfile.TemporaryDirectory() as folder:
        path = dict(files(folder))["GRI-3.0"]
        mixture = Mixture.from_yaml(path, equation="ideal", takahashi="off")

        return Ignition.of("GRI-3.0", mixture, path)


def share_of(case: Ignition, cells: int, comm) -> dict:
    """The state of this rank's cells."""
    state = {name: np.ascontiguousarray(x[..., comm.rank :: comm.size]) for name, x in case.states(cells).items()}

    return state | {"dt_cv": np.full(state["T"].size, case.dt)}


def react(case: Ignition, backend, comm, cells: int) -> tuple[float, int, np.ndarray]:
    """(seconds, unfinished cells, temperatures of all cells on rank 0)."""
    state = share_of(case, cells, comm)
    launch = Launch(case.mixture.program(outputs=OUTPUTS, given=tuple(state), backend=backend), state)

    # T, p and Y are updated in place, so each round starts anew. The first round compiles.
    rounds = []
    for _ in range(1 + REPEATS):
        fill(backend, launch.arrays, state)
        backend.synchronize()
        comm.Barrier()
        rounds.append(comm.allreduce(seconds(backend, launch.work), MPI.MAX))

    unfinished = comm.allreduce(int(np.count_nonzero(launch.result("status_cv"))))

    T = np.full(cells, np.nan)
    for rank, share in enumerate(comm.gather(launch.result("T")[0]) or ()):
        T[rank :: comm.size] = share

    return statistics.median(rounds[1:]), unfinished, T


def measure(kind: str, case: Ignition, backend, world) -> list[Row]:
    """The rows of a kind, on ranks that take part."""
    rows: list[Row] = []
    alone = None  # temperatures on one rank
    for ranks in (n for n in COUNTS if n <= world.size):
        comm = world.Split(0 if world.rank < ranks else MPI.UNDEFINED, world.rank)
        if comm != MPI.COMM_NULL:
            cells = CELLS * (ranks if kind == "weak" else 1)
            spent, unfinished, T = react(case, backend, comm, cells)

            # Rank 0 has the temperatures of all.
            alone = T if alone is None else alone
            same = None
            if kind == "strong" and comm.rank == 0:
                same = np.array_equal(T, alone)

            rate = cells / spent
            first_rate = rows[0].cells / rows[0].seconds if rows else rate
            rows.append(Row(kind, ranks, cells, spent, rate / (ranks * first_rate), unfinished, same))
            if comm.rank == 0:
                print(rows[-1], flush=True)
            comm.Free()
        world.Barrier()

    return rows


def main() -> int:
    """Returns the exit status."""
    world = MPI.COMM_WORLD
    case = world.bcast(ignition() if world.rank == 0 else None)
    backend = backend_of(os.environ.get("FRAME_BACKEND", "cuda"), device=world.rank)

    rows = measure("strong", case, backend, world) + measure("weak", case, backend, world)
    if world.rank == 0 and len(sys.argv) > 1:
        record = {"mechanism": case.name, "dt": case.dt, "rows": [dataclasses.asdict(row) for row in rows]}
        pathlib.Path(sys.argv[1]).write_text(json.dumps(record, indent=1))

    return int(world.allreduce(not all(row.right for row in rows), MPI.LOR))


if __name__ == "__main__":
    sys.exit(main())
