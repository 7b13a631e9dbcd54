"""Restart files: the state that continues bit by bit on any number of ranks."""

import os
import pathlib

import numpy as np

from .errors import CaseError, OutputError, wanted
from .files import hdf5, write_file

FORMAT = 2
RESTART, BEFORE = "restart.h5", "restart-before.h5"  # the last two


def write_restart(flow, folder):
    """The state that continues bit by bit on any number of ranks, as restart.h5; the one before it stays, as
    restart-before.h5. FlowError where the state is none: then both stay as they are."""
    flow.check()
    attributes = dict(
        format=FORMAT,
        time=flow.time,
        steps=flow.steps,
        dt=flow.dt,
        species=list(flow.mixture.names),
        cells=flow.case.cells,
        digest=flow.case.digest(),
        start_sums=flow.balance.start,
        passed=flow.balance.passed(),
    )

    blocks = flow.state()
    if flow.averages:
        attributes |= flow.averages.numbers()
        blocks |= flow.averages.state()

    folder = pathlib.Path(folder)
    # with a check sum of each chunk: a damaged file is refused when it is read
    write_file(flow, folder / "restart-new.h5", blocks.items(), attributes, dtype="f8", fletcher32=True)

    if flow.ranks.rank == 0:
        try:
            if (folder / RESTART).is_file():
                os.replace(folder / RESTART, folder / BEFORE)
            os.replace(folder / "restart-new.h5", folder / RESTART)
        except OSError as error:
            raise OutputError(f"'{folder / RESTART}' cannot be written: {error.strerror or error}.") from None


def read_restart(flow, path):
    """Set `flow` to the state of a restart file; each rank reads its own block. CaseError where the file is of another
    case."""
    h5py = hdf5()
    try:
        with h5py.File(path, "r") as file:
            U, Q = _read(file, flow, path)
    except CaseError:
        raise
    except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:  # what h5py makes of a damaged file
        raise CaseError(f"restart file '{path}' cannot be read ({' '.join(str(error).split())}).") from None

    flow.set_state(U, Q)


def _read(file, flow, path):
    """U and Q of this rank's block; time, steps and sums go to the flow once all of the file has been read."""
    a = file.attrs
    have = a.get("format")
    said = f"it is of format {have}, wanted {FORMAT}" if have else "it is none of this solver"
    wanted(have == FORMAT, f"restart file '{path}' cannot be read: {said}.")

    for key, have, asked, more in (
        ("species", list(a["species"]), list(flow.mixture.names), ""),
        ("cells", [int(n) for n in a["cells"]], list(flow.case.cells), ""),
        ("case", a["digest"], flow.case.digest(), " (mixture, domain, boundaries, transport and scheme count)"),
    ):
        said = f"restart file '{path}' is of another case: {key} {have}, the case has {asked}{more}."
        wanted(have == asked, said)

    box = tuple(slice(f, f + n) for f, n in zip(flow.ranks.first[::-1], flow.block.cells[::-1]))

    def part(name):
        return file[name][(slice(None), *box)]

    U, Q = part("U"), part("Q")
    time, steps, dt = float(a["time"]), int(a["steps"]), float(a["dt"])
    start, passed = np.array(a["start_sums"], float), np.array(a["passed"], float)
    balance = flow.balance
    usable = start.shape == balance.sums().shape and passed.shape == balance.before.shape and steps >= 0
    usable = usable and np.isfinite([time, dt, *start, *passed]).all()
    wanted(usable, f"restart file '{path}' cannot be read (step {steps}, time {time}, dt {dt}, sums {start}).")

    flow.time, flow.steps, flow.dt, balance.start, balance.before = time, steps, dt, start, passed
    if flow.averages and "averages_weight" in a:
        flow.averages.set_state({name: part(name) for name in ("mean", "moments")}, a)
    elif flow.averages:
        flow.averages.begin(time)

    return U, Q
