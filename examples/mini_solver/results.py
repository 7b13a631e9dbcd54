"""The folder of a run's results: it can be written, and holds no results of another run."""

import contextlib
import fcntl
import os
import pathlib
import weakref

from .errors import OutputError
from .files import save
from .restart import BEFORE, NEW, RESTART

RESULTS = (
    RESTART,
    BEFORE,
    "fields-????????.h5",
    "fields.xdmf",
    "mesh.h5",
    "frame-????????.png",
    "frames.gif",
    "history.h5",
    "averages.h5",
    "averages.xdmf",
)


def writes(case) -> bool:
    """Whether this case leaves files (a signal makes it write a restart in any case)."""
    keys = ("last", "restart", "fields", "fields_time", "frames", "frames_time", "history", "averages")
    return any(case.output[key] for key in keys)


def draws(case) -> bool:
    """Whether this case leaves pictures."""
    return bool(case.output["frames"] or case.output["frames_time"])


def try_folder(folder):
    """Make the folder and write into it. Raises OutputError where this fails."""
    file = next((p for p in (folder, *folder.parents) if p.exists() and not p.is_dir()), None)
    if file is not None:
        raise OutputError(f"folder '{folder}' cannot be written: '{file}' is a file.")

    save(folder / "tried", b"")
    (folder / "tried").unlink()


def refuse_earlier(flow, folder, allowed):
    """OutputError where the folder holds results of another run, unless they are `allowed`: the run continues them
    (--restart), or gives them up (--overwrite). Collective; the flow needs its ranks only."""
    _by_first(flow.ranks, lambda: _refuse_results(folder, allowed))


class Claim:
    """A context in which one run has a folder: a lock of the folder itself, which ends with the process at the latest.

    Raises OutputError where another run has the folder. A file system without locks tells nothing.
    """

    def __init__(self, folder):
        handle = os.open(folder, os.O_RDONLY)
        self._leave = weakref.finalize(self, os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(
                f"folder '{folder}' is in use by a run that has not ended: wait for it, or choose another --folder."
            ) from None
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._leave()


def prepare(flow, folder):
    """Make and try the folder for the results. Collective. Returns the context in which it is this run's. Raises
    OutputError where nothing can be written into it, or another run writes into it."""

    def make():
        try_folder(folder)
        claim = Claim(folder)
        _remove_remains(folder)
        return claim

    return _by_first(flow.ranks, make) or contextlib.nullcontext()


def _by_first(ranks, do):
    """Have the first rank do something; returns its answer there. Its OutputError is raised on all."""
    answer, error_text = None, ""
    if ranks.rank == 0:
        try:
            answer = do()
        except OutputError as error:
            error_text = str(error)

    error_text = ranks.everyone(error_text)[0]
    if error_text:
        raise OutputError(error_text)

    return answer


def _refuse_results(folder, allowed):
    if allowed or not folder.is_dir():
        return

    there = [path for pattern in RESULTS for path in sorted(folder.glob(pattern))]
    if there:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise OutputError(
            f"folder '{folder}' has results of an earlier run ({there[0].name}{more}): continue it with --restart, "
            "choose another --folder, or give them up with --overwrite."
        )


def _remove_remains(folder):
    """Remove unfinished files of a run that was killed."""
    for pattern in (NEW, *RESULTS):
        for path in folder.glob(f"{pattern}.part"):
            path.unlink()
    (folder / NEW).unlink(missing_ok=True)


def earlier(flow, folder, pattern, keep):
    """Files <name>-<step>.<suffix> of a run before this run, by step. Files up to the step of the restart stay; all
    others are removed (`prepare` has asked)."""
    if flow.ranks.rank:
        return []

    files = {}
    for path in sorted(pathlib.Path(folder).glob(pattern)):
        step = path.stem.split("-")[1]
        if step.isdigit():
            files[int(step)] = path

    for step in list(files):
        if not keep or step > flow.steps:
            files.pop(step).unlink()

    return list(files.values())
