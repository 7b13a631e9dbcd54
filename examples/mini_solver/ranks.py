"""Ranks on a Cartesian grid. A run without mpirun is serial and needs no mpi4py."""

import itertools
import math
import os

import numpy as np

from .case import FRINGE
from .errors import wanted

LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "SLURM_PROCID")
STARTED = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")  # how many processes Open MPI's, or MPICH's, launcher has started


def world():
    """mpi4py's COMM_WORLD under a launcher, else None. CaseError where the launcher has started several processes that
    cannot be ranks of one run: each would compute the whole case, in the same folder."""
    if not any(name in os.environ for name in LAUNCHERS):
        return None

    started = max(int(os.environ.get(name) or 1) for name in STARTED)
    try:
        from mpi4py import MPI
    except ImportError as error:
        said = f"several ranks need mpi4py ({error}): install the project's extra 'mpi'."
        wanted(started == 1, said)
        return None

    library = MPI.Get_library_version().split(",")[0].split("\n")[0]
    said = f"the launcher has started {started} processes, and mpi4py, which runs {library.strip()}, sees one rank"
    wanted(started == 1 or MPI.COMM_WORLD.size > 1, f"{said}: take the mpirun of that MPI.")

    return MPI.COMM_WORLD


def choose_grid(ranks: int, cells, dimensions: int, given=()) -> tuple[int, int, int]:
    """Ranks in x, y, z: of the grids whose blocks have 3 cells or more in each direction, the one with the smallest
    surface between blocks. CaseError when there is none."""
    rest = (1,) * (3 - dimensions)
    divisors = [d for d in range(1, ranks + 1) if ranks % d == 0]
    choices = [given] if given else itertools.product(divisors, repeat=dimensions)
    choices = [(*grid, *rest) for grid in choices]

    if given:
        made = math.prod(given)
        wanted(made == ranks, f"[parallel] ranks = {list(given)} makes {made} ranks; the run has {ranks}.")

    def fits(grid):
        return all(n // p >= FRINGE for n, p in zip(cells[:dimensions], grid))

    able = [grid for grid in choices if math.prod(grid) == ranks and fits(grid)]
    size = " x ".join(map(str, cells[:dimensions]))
    wanted(able, f"{ranks} ranks on {size} cells: blocks would have fewer than {FRINGE} cells in a direction.")

    def surface(g):
        return sum((g[d] > 1) * np.prod([cells[e] / g[e] for e in range(3) if e != d]) for d in range(3))

    return min(able, key=lambda g: (surface(g), g))


def share(n: int, parts: int, which: int) -> tuple[int, int]:
    """(first, count) of part `which` of n cells: the first n % parts have one cell more."""
    small, more = divmod(n, parts)
    return which * small + min(which, more), small + (which < more)


def check_communicator(comm) -> None:
    """CaseError for what is no communicator of mpi4py that the ranks of a run have in common."""
    said = f"comm = {comm!r}; wanted None, or a communicator of mpi4py."
    wanted(all(hasattr(comm, name) for name in ("allgather", "Isend", "Is_inter")), said)
    wanted(bool(comm), "comm is the null communicator: this rank takes no part, and makes no flow.")
    wanted(not comm.Is_inter(), "comm is an intercommunicator; wanted that of the ranks which compute this flow.")


class Ranks:
    """Where this rank is: grid, place, first cell and cells of its block, neighbours. comm: None in a serial run."""

    def __init__(self, case, comm=None):
        if comm is not None:
            check_communicator(comm)
        self.comm = comm
        self.rank, self.size = (comm.rank, comm.size) if comm is not None else (0, 1)
        self.grid = choose_grid(self.size, case.cells, case.dimensions, tuple(case.parallel["ranks"]))
        self.place = self.place_of(self.rank)
        self.first, self.cells = self.block_of(self.rank, case.cells)
        self.dimensions = case.dimensions
        self.periodic = tuple(d in case.boundary and case.boundary[d][0][0]["kind"] == "periodic" for d in range(3))

    def place_of(self, rank):
        px, py, _ = self.grid
        return rank % px, rank // px % py, rank // (px * py)

    def block_of(self, rank, cells):
        """((first, ...), (count, ...)) of another rank's block."""
        return zip(*(share(n, p, w) for n, p, w in zip(cells, self.grid, self.place_of(rank))))

    def neighbour(self, d, step):
        """Rank beside this one in direction d (step -1 or 1), None at a boundary."""
        place = list(self.place)
        place[d] += step

        if not 0 <= place[d] < self.grid[d]:
            if not self.periodic[d]:
                return None
            place[d] %= self.grid[d]

        return place[0] + self.grid[0] * (place[1] + self.grid[1] * place[2])

    def smallest(self, values) -> np.ndarray:
        """Element-wise minimum over all ranks; NaN counts as smallest (it must not be lost)."""
        values = np.array(values, float)
        values[np.isnan(values)] = -np.inf
        return self._reduced(values, "MIN")

    def total(self, values) -> np.ndarray:
        return self._reduced(np.array(values, float), "SUM")

    def _reduced(self, values, operation):
        if self.comm is None:
            return values
        from mpi4py import MPI

        out = np.empty_like(values)
        self.comm.Allreduce(values, out, getattr(MPI, operation))

        return out

    def everyone(self, value) -> list:
        return [value] if self.comm is None else self.comm.allgather(value)
