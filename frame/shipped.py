"""Files that come with the packages: examples, the Fortran hosts, their namelists and rivals.

In a checkout they lie in folders of the checkout. In an installation they lie in the same folders under
share/castles-frame of the environment, and results go to the current folder.
"""

from __future__ import annotations

import importlib.metadata
import pathlib
import shutil

import kernels

from .errors import BackendError, refuse

HERE = pathlib.Path(__file__).resolve().parent
SHARE = f"share/{kernels.DISTRIBUTION}/"
FOLDERS = ("examples", "fortran_stub")


def _root() -> pathlib.Path:
    if (HERE.parent / "fortran_stub").is_dir():
        return HERE.parent

    try:
        files = importlib.metadata.files(kernels.DISTRIBUTION) or ()
    except importlib.metadata.PackageNotFoundError:  # a copy of the packages on PYTHONPATH
        files = ()

    for file in files:
        before, mark, _ = str(file).partition(SHARE)
        if mark:
            return pathlib.Path(str(file.locate())[: -len(str(file))] + before + mark).resolve()

    return HERE.parent / SHARE


ROOT = _root()
BUILD = (ROOT if ROOT == HERE.parent else pathlib.Path.cwd()) / "build"


def write(folder: pathlib.Path) -> list[pathlib.Path]:
    """Copy the examples and the Fortran hosts into `folder`; returns the files written. Nothing is overwritten. Errors:
    BackendError if the files are not installed, or a file is already there."""
    found = []
    for name in FOLDERS:
        for file in sorted((ROOT / name).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                found.append(file)

    refuse(not found, f"no examples in {ROOT}: install {kernels.DISTRIBUTION} again.", BackendError)

    copies = [folder / file.relative_to(ROOT) for file in found]
    for copy in copies:
        refuse(copy.exists(), f"{copy} is there already; nothing was written. Name a new folder.", BackendError)

    for file, copy in zip(found, copies):
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)

    return copies
