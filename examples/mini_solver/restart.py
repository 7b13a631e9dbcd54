"""Restart files: a state from which a run continues bit by bit, on any number of ranks."""

import json
import os
import pathlib
import shutil

import numpy as np

from .arrays import place_of_eta
from .errors import CaseError, OutputError, wanted
from .files import Form, hdf5, seal_fits

FORMAT = 2
RESTART, BEFORE = "restart.h5", "restart-before.h5"  # the last state, and the state before it
NEW = "restart-new.h5"  # while the others make room
LONGEST = 32768  # characters of a case that a file keeps; HDF5's attributes end at 64 KiB
FORM = Form("f8", checked=True)


def write_restart(files, folder):
    """Write the state as restart.h5; the state before it stays, as restart-before.h5. files: the run's Files.

    At every moment there is a complete restart.h5, once there was one. Raises FlowError for a flow that has failed,
    and OutputError, as Files does, where the file cannot be written: both files then stay as they are.
    """
    flow = files.flow
    flow.check()
    folder = pathlib.Path(folder)
    attributes = _attributes(flow)

    blocks = flow.state()
    if flow.averages:
        attributes |= flow.averages.numbers()
        blocks |= flow.averages.state()

    files.write(folder / NEW, blocks, attributes, FORM)
    if flow.ranks.rank == 0:
        files.do(_make_last, folder)


def _attributes(flow) -> dict:
    """Attributes of a restart file: everything of the state that is no field, and what tells the case."""
    return dict(
        format=FORMAT,
        time=flow.time,
        steps=flow.steps,
        dt=flow.dt,
        species=list(flow.mixture.names),
        mixture=flow.mixture.fingerprint,
        cells=flow.case.cells,
        digest=flow.case.digest(),
        case=flow.case.shared()[:LONGEST],
        start_sums=flow.balance.start,
        passed=flow.balance.passed(),
    )


def _make_last(folder):
    """NEW becomes RESTART, and RESTART becomes BEFORE. Raises OutputError."""
    try:
        _rename(folder)
    except OSError as error:
        raise OutputError(f"'{folder / RESTART}' cannot be written: {error.strerror or error}.") from None


def _rename(folder):
    """RESTART is there before each of the operations and after it."""
    last, before, spare = folder / RESTART, folder / BEFORE, folder / f"{BEFORE}.part"
    is_before_too = last.is_file() and before.is_file() and before.samefile(last)  # a run was killed between the two

    if last.is_file() and not is_before_too:
        spare.unlink(missing_ok=True)
        try:
            os.link(last, spare)
        except OSError:  # a file system without hard links
            shutil.copyfile(last, spare)
        os.replace(spare, before)

    os.replace(folder / NEW, last)


def read_restart(flow, path):
    """Set `flow` to the state of a restart file that `refuse_restart` has let pass; each rank reads its own block.
    Raises CaseError for a damaged file; the flow then stays as it is."""
    flow.set_state(*_opened(path, lambda file: _read(file, flow, path)))


def refuse_restart(flow, path):
    """CaseError for a file that is damaged, or of another case. Collective; the flow needs its mixture, and no kernels
    yet."""
    _refuse_damaged(flow, path)
    _opened(path, lambda file: _refuse_other(file.attrs, flow, path))


def _opened(path, read):
    """read(file) of a restart file. Raises CaseError."""
    h5py = hdf5()
    try:
        with h5py.File(path, "r") as file:
            return read(file)
    except CaseError:
        raise
    except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:  # h5py's errors for a damaged file
        raise CaseError(f"restart file '{path}' cannot be read ({' '.join(str(error).split())}).") from None


def _refuse_damaged(flow, path):
    """CaseError for a file whose bytes have changed, before HDF5 sees it: HDF5 may end the process. Collective."""
    error_text = ""
    if flow.ranks.rank == 0:
        try:
            if not seal_fits(path):
                error_text = f"restart file '{path}' is damaged: its bytes do not fit the check sum at its end."
        except OSError as error:
            error_text = f"restart file '{path}' cannot be read ({error.strerror or error})."

    error_text = flow.ranks.everyone(error_text)[0]
    wanted(not error_text, error_text)


def _read(file, flow, path):
    """U and Q of this rank's block. Time, steps and sums go to the flow once all of the file has been read."""
    a = file.attrs
    box = tuple(slice(f, f + n) for f, n in zip(flow.ranks.first[::-1], flow.block.cells[::-1]))

    def part(name):
        return file[name][(slice(None), *box)]

    # Fields.
    U, Q = part("U"), part("Q")
    if flow.scheme.phases and "mixture" not in a:
        eta = Q[place_of_eta(flow.ns) - flow.ns]
        _forget_tests(eta)  # of earlier releases, which kept no fingerprint: their marks have other meanings
    density = U[: flow.ns].sum(0)
    fits = np.isfinite(U).all() and np.isfinite(Q).all() and (density > 0).all()
    wanted(fits, f"restart file '{path}' is damaged: lowest density {density.min():g} kg/m3, or a number is NaN.")

    # Numbers.
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


def _forget_tests(eta):
    """Points of one phase, whose eta is a mark times 1e4 and T (kernels/gas/phases/settled.h), get mark 1: the next
    step tests them."""
    marked = eta >= 1e4
    eta[marked] = 1e4 + eta[marked] % 1e4


def _refuse_other(attributes, flow, path):
    """CaseError for a file of another format or case."""
    found = attributes.get("format")
    said = f"its format is {found}, wanted {FORMAT}" if found else "it is no restart file of this solver"
    wanted(found == FORMAT, f"restart file '{path}' cannot be read: {said}.")

    case = flow.case
    for key, found, asked in (
        ("species", list(attributes["species"]), list(flow.mixture.names)),
        ("cells", [int(n) for n in attributes["cells"]], list(case.cells)),
    ):
        wanted(found == asked, f"restart file '{path}' is of another case: {key} {found}, the case has {asked}.")

    said = f"restart file '{path}' is of another case"
    wanted(attributes["digest"] == case.digest(), f"{said}: {_other_keys(attributes.get('case', ''), case.shared())}.")

    # The case names the mixture's file and some options; the file's numbers and the defaults may have changed since.
    now = flow.mixture.fingerprint
    changed = attributes.get("mixture", now) != now  # files of earlier releases have no fingerprint
    wanted(not changed, f"{said}: numbers or options of the mixture have changed since it was written.")


def _other_keys(found: str, asked: str) -> str:
    """The keys of two cases, as JSON, that differ, with both values."""
    try:
        before, now = json.loads(found), json.loads(asked)
    except ValueError:  # a file of an earlier release, or a very long case
        return "mixture, domain, boundaries, transport and scheme count"

    before, now = _flat(before), _flat(now)
    differences = []
    for key in before | now:
        old, new = before.get(key, "nothing"), now.get(key, "nothing")
        if old != new:
            differences.append(f"{key} = {old}, the case has {new}")

    return "; ".join(differences[:3]) + ("; and more" if len(differences) > 3 else "")


def _flat(table: dict, before: str = "") -> dict:
    """{"section.key": value as text} of a nested table, in its order."""
    rows = {}
    for key, value in table.items():
        if isinstance(value, dict):
            rows |= _flat(value, f"{before}{key}.")
        else:
            rows[before + key] = repr(value)

    return rows
