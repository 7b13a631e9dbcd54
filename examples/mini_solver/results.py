"""The folder of a run's results: it can be written, and holds no results of another run."""

import pathlib

from .errors import OutputError
from .files import save
from .restart import BEFORE, RESTART

RESULTS = (
    RESTART,
    BEFORE,
    "fields-????????.h5",
    "fields.xmf",
    "mesh.h5",
    "frame-????????.png",
    "frames.gif",
    "history.h5",
    "averages.h5",
    "averages.xmf",
)


def writes(case) -> bool:
    """Whether this case leaves files (a signal makes it write a restart in any case)."""
    o = case.output
    return any(o[key] for key in ("restart", "fields", "fields_time", "frames", "frames_time", "history", "averages"))


def try_folder(folder):
    """OutputError where nothing can be written into it; it is made."""
    file = next((p for p in (folder, *folder.parents) if p.exists() and not p.is_dir()), None)
    if file is not None:
        raise OutputError(f"folder '{folder}' cannot be written: '{file}' is a file.")
    save(folder / "tried", b"")
    (folder / "tried").unlink()


def prepare(flow, folder, continued, overwrite):
    """The folder for the results, made and tried. OutputError where nothing can be written into it, or where it holds
    results of another run, which neither --restart continues nor --overwrite gives up."""
    told = ""
    if flow.ranks.rank == 0:
        there = [p for pattern in RESULTS for p in sorted(folder.glob(pattern))] if folder.is_dir() else []
        if there and not (continued or overwrite):
            more = f" and {len(there) - 1} more" if len(there) > 1 else ""
            told = (
                f"folder '{folder}' has results of an earlier run ({there[0].name}{more}): continue it with --restart, "
                "choose another --folder, or give them up with --overwrite."
            )

        try:
            try_folder(folder)
        except OutputError as error:
            told = str(error)

    told = flow.ranks.everyone(told)[0]
    if told:
        raise OutputError(told)


def earlier(flow, folder, pattern, keep):
    """Files <name>-<step>.<suffix> of a run before this one, by step: those up to a restart's step stay, all others
    go (`prepare` has asked)."""
    if flow.ranks.rank:
        return []
    files = {
        int(p.stem.split("-")[1]): p
        for p in sorted(pathlib.Path(folder).glob(pattern))
        if p.stem.split("-")[1].isdigit()
    }

    for step, _path in list(files.items()):
        if not keep or step > flow.steps:
            files.pop(step).unlink()

    return list(files.values())
