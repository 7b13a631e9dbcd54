"""python -m examples.mini_solver CASE | verify | scaling; under mpirun on any number of ranks."""

import argparse
import sys
import time
import traceback

from kernels import FrameError

from . import run, scaling, verify
from .case import Case
from .errors import wanted
from .ranks import world

ARGUMENTS = {
    "case": dict(metavar="CASE", help="case file (TOML), or verify, or scaling"),
    "--restart": dict(metavar="FILE", help="start from this restart file"),
    "--folder": dict(help="where output goes (default: [output] folder, else build/mini_solver/<case>)"),
    "--overwrite": dict(action="store_true", help="give up the results of an earlier run in that folder"),
    "--backend": dict(choices=("auto", "cpu", "cuda"), help="instead of the case's"),
    "--set": dict(
        metavar="SECTION.KEY=VALUE",
        action="append",
        default=[],
        dest="changes",
        help="a key of the case (or of what scaling runs) instead of the file's, the value as TOML writes it: "
        "--set numerics.cfl=0.4",
    ),
    "--exchange": dict(
        choices=("auto", "ipc", "cuda_mpi", "staged", "nccl", "all"),
        action="append",
        help="on GPUs, instead of the case's; scaling takes several, or all that are there",
    ),
    "--quick": dict(action="store_true", help="verify: smaller grids"),
    "--only": dict(metavar="NAME", action="append", default=[], help="verify: this check; may be given again"),
    "--cells": dict(type=int, default=64, help="scaling: in each direction"),
    "--steps": dict(type=int, default=10, help="scaling: in each of three rounds, of which the fastest counts"),
    "--json": dict(metavar="FILE", help="scaling: rows to this file"),
}


MEETING = 2.0  # s, in which ranks with the same error find one another


def of_all(comm, text) -> list[str]:
    """What all ranks of this communicator, on which nothing else travels, have to tell; none where not all have come to
    an end."""
    waiting, until = comm.Ibarrier(), time.monotonic() + MEETING
    while not waiting.Test():
        if time.monotonic() > until:
            return []
        time.sleep(0.005)

    return list(dict.fromkeys(comm.allgather(text)))


def main(arguments=None) -> int:
    """Exit status: 0 done, 1 a case that cannot be run or a flow that failed, 2 a check that did not pass, 3 stopped
    with a restart."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.mini_solver",
        description="A small real-gas flow solver on the layer's kernels.",
        epilog="verify [--quick]: runs the checks, writes their table and pictures. scaling, under mpirun: the "
        "same flow on 1, 2, 4, ... of the ranks.",
    )

    for name, how in ARGUMENTS.items():
        parser.add_argument(name, **how)
    given = parser.parse_args(arguments)

    comm = world()
    rank, size = (comm.rank, comm.size) if comm is not None else (0, 1)
    apart = comm.Dup() if size > 1 else None
    try:
        if given.case == "verify":
            return verify.main(given.quick, given.only, given.folder)
        if given.case == "scaling":
            ways = given.exchange or ["all"]
            return scaling.main(comm, given.backend, ways, given.cells, given.steps, given.json, given.changes)

        case = Case.from_file(given.case, given.changes)
        if given.backend:
            case.parallel["backend"] = given.backend
        if given.exchange:
            wanted("all" not in given.exchange, "--exchange all is for scaling; a case takes one way.")
            case.parallel["exchange"] = given.exchange[-1]

        return run.main(case, comm, given.restart, given.folder, given.overwrite)
    except FrameError as error:
        texts = of_all(apart, str(error)) if apart else [str(error)]
        if rank == 0 or not texts:
            for text in texts or [f"rank {rank}: {error}"]:
                print(f"python -m examples.mini_solver: {text}", file=sys.stderr, flush=True)

        if not texts:  # the others wait for this rank
            comm.Abort(1)

        return 1
    except Exception:
        if size == 1:
            raise
        traceback.print_exc()
        sys.stderr.flush()
        comm.Abort(1)

        return 1


if __name__ == "__main__":
    sys.exit(main())
