"""python -m examples.mini_solver CASE | verify | scaling; under mpirun on any number of ranks."""

import argparse
import sys
import time
import traceback

from frame.streams import lose_what_cannot_be_written
from kernels import FrameError

from . import run, scaling, verify
from .case import Case
from .ranks import world

PROGRAM = "python -m examples.mini_solver"
SET = dict(
    metavar="SECTION.KEY=VALUE",
    action="append",
    default=[],
    dest="changes",
    help="a key of the case instead of the file's, the value as TOML writes it: --set numerics.cfl=0.4",
)
BACKEND = dict(choices=("auto", "cpu", "cuda"), help="instead of the case's")
WAYS = ("auto", "ipc", "cuda_mpi", "staged", "nccl")

RUN = {
    "case": dict(metavar="CASE", help="case file (TOML)"),
    "--folder": dict(help="where output goes (default: [output] folder, else build/mini_solver/<case>)"),
    "--restart": dict(metavar="FILE", help="start from this restart file"),
    "--overwrite": dict(action="store_true", help="give up the results of an earlier run in that folder"),
    "--set": SET,
    "--backend": BACKEND,
    "--exchange": dict(choices=WAYS, help="between GPUs, instead of the case's"),
}
VERIFY = {
    "--quick": dict(action="store_true", help="smaller grids"),
    "--only": dict(metavar="NAME", action="append", default=[], help="this check; may be given again"),
    "--folder": dict(help="where table and pictures go (default: build/mini_solver/verify)"),
    "--jobs": dict(type=int, help="checks at a time (default: one a core; one with a GPU)"),
}
SCALING = {
    "--cells": dict(type=int, default=64, help="in each direction"),
    "--steps": dict(type=int, default=10, help="in each of three rounds, of which the fastest counts"),
    "--json": dict(metavar="FILE", help="rows to this file"),
    "--set": SET,
    "--backend": BACKEND,
    "--exchange": dict(
        choices=(*WAYS, "all"), action="append", help="between GPUs; may be given again (default: all that are there)"
    ),
}
# Commands by their first word: (arguments, what it does). Every other word is a case.
COMMANDS = {
    "verify": (VERIFY, f"Run the checks; write their table and pictures. Checks: {', '.join(verify.CHECKS)}."),
    "scaling": (SCALING, "Under mpirun: the same flow on 1, 2, 4, ... of the ranks."),
}
MEETING = 2.0  # s; ranks with the same error find each other in this time


def parser_of(command) -> argparse.ArgumentParser:
    """The parser of a command; of a case for any other word."""
    arguments, purpose = COMMANDS.get(command, (RUN, "Run a case: real-gas flow in 1 to 3 dimensions on CPUs or GPUs."))

    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} {command}" if command in COMMANDS else PROGRAM,
        usage=None if command in COMMANDS else f"{PROGRAM} CASE [options] | verify [options] | scaling [options]",
        description=purpose,
        epilog=None if command in COMMANDS else f"Other commands: {PROGRAM} verify --help, {PROGRAM} scaling --help.",
    )
    for name, words in arguments.items():
        parser.add_argument(name, **words)

    return parser


def told_by_all(comm, text) -> list[str]:
    """The messages of all ranks, each once; empty where some rank has not come to an end.

    comm: a communicator on which nothing else travels.
    """
    waiting, until = comm.Ibarrier(), time.monotonic() + MEETING
    while not waiting.Test():
        if time.monotonic() > until:
            return []
        time.sleep(0.005)

    return list(dict.fromkeys(comm.allgather(text)))


def split(arguments) -> tuple[str, list[str]]:
    """(command, its arguments); the command is "" for a case. It need not come first, but no option's value is taken
    for a command."""
    flags = ("--quick", "--overwrite")  # options without a value
    for place, word in enumerate(arguments):
        is_value = place > 0 and arguments[place - 1].startswith("--") and arguments[place - 1] not in flags
        if word in COMMANDS and not is_value:
            return word, [*arguments[:place], *arguments[place + 1 :]]

    return "", arguments


def run_command(arguments, comm) -> int:
    """Run a command, or a case. Returns the exit status; raises FrameError."""
    command, words = split(list(map(str, arguments)))
    given = parser_of(command).parse_args(words)

    if command == "verify":
        return verify.main(given.quick, given.only, given.folder, given.jobs or verify.usual_jobs())
    if command == "scaling":
        ways = given.exchange or ["all"]
        study = scaling.Study(given.cells, given.steps, tuple(given.changes), tuple(ways))
        return scaling.main(comm, study, given.backend, given.json)

    case = Case.from_file(given.case, given.changes)
    if given.backend:
        case.parallel["backend"] = given.backend
    if given.exchange:
        case.parallel["exchange"] = given.exchange

    return run.main(case, comm, given.restart, given.folder, given.overwrite)


def main(arguments=None) -> int:
    """Exit status: 0 done, 1 a case that cannot be run or a flow that failed, 2 a check that did not pass, 3 stopped
    with a restart."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        comm = world()
    except FrameError as error:  # of every process
        print(f"{PROGRAM}: {error}", file=sys.stderr, flush=True)
        return 1

    rank, size = (comm.rank, comm.size) if comm is not None else (0, 1)
    apart = comm.Dup() if size > 1 else None

    try:
        return run_command(arguments, comm)
    except FrameError as error:
        texts = told_by_all(apart, str(error)) if apart else [str(error)]
        if rank == 0 or not texts:
            for text in texts or [f"rank {rank}: {error}"]:
                print(f"{PROGRAM}: {text}", file=sys.stderr, flush=True)

        if not texts:  # the others wait for this rank
            comm.Abort(1)

        return 1
    except KeyboardInterrupt:  # before the first step: later ones stop with a restart
        print(f"{PROGRAM}: stopped by Ctrl-C.", file=sys.stderr, flush=True)
        return 3
    except Exception:
        if size == 1:
            raise

        traceback.print_exc()
        sys.stderr.flush()
        comm.Abort(1)

        return 1


if __name__ == "__main__":
    lose_what_cannot_be_written()
    sys.exit(main())
