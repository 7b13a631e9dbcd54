"""`python -m frame mechanisms`: which phases of Cantera's files load, as an ideal and as a real gas, and what to do
where one does not."""

import pathlib
import warnings
from typing import NamedTuple

import numpy as np

from kernels.species.cantera_yaml import cantera_data, gas_phases, models_for, read_cantera_yaml

from ..errors import ArgumentError, MixtureError, refuse

WAYS = {"ideal": ("ideal", False), "real": ("pr", True)}  # heading: equation, whether critical = fill


class Row(NamedTuple):
    """One phase. ideal, real: what loads, or "refused"; said: {heading: the message}."""

    file: str
    phase: str
    thermo: str
    ideal: str
    real: str
    said: dict


def loaded(path, phase: str, equation: str, fill: bool) -> str:
    """What loads of a phase, in words. Raises MixtureError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # polynomials that do not meet: `info` tells of them
        species = read_cantera_yaml(path, phase, fill, models_for(equation))[0]
    words = [f"{species.ns} species"]
    if fill:
        words.append(f"{len(species.estimated())} estimated")
    without = any("diameter" in known for known in species.origin.values())
    if without or np.isnan(species.diameter).any():
        words.append("no transport data")
    return ", ".join(words)


def row(path, phase: str, thermo: str, folder=None) -> Row:
    """The row of one phase; file names are shown relative to `folder`."""
    cells, said = {}, {}
    for heading, (equation, fill) in WAYS.items():
        try:
            cells[heading] = loaded(path, phase, equation, fill)
        except MixtureError as error:
            cells[heading], said[heading] = "refused", str(error)
    shown = str(path.relative_to(folder)) if folder else str(path)
    return Row(shown, phase, thermo, cells["ideal"], cells["real"], said)


def rows(folder: pathlib.Path):
    """The rows of all files of a folder, one after the other."""
    for path in sorted(folder.rglob("*.yaml")):
        for phase, thermo in gas_phases(path):
            yield row(path, phase, thermo, folder)


COMMAND = dict(
    help="which phases of Cantera's files (or of a folder's) load as ideal and as real gases; what to do else"
)
NEEDS_MIXTURE = None
ARGUMENTS: dict[str, dict] = {
    "--folder": dict(type=pathlib.Path, help="folder of Cantera YAML files (default: those that Cantera ships)"),
}


def main(given, mixture=None) -> int:
    """Print the table as Markdown, each row when it is done. Exit status 1 where nothing was found."""
    folder = given.folder or cantera_data()
    refuse(folder is None, "Cantera is not installed: pip install cantera, or name a --folder.", ArgumentError)
    refuse(not folder.is_dir(), f"--folder {folder}: no such folder.", ArgumentError)
    print("| file | phase | thermo | `equation=ideal` | `critical=fill` |\n| --- | --- | --- | --- | --- |", flush=True)
    found = []
    for one in rows(folder):
        found.append(one)
        print("| " + " | ".join(one[:5]) + " |", flush=True)
    for one in found:
        for heading, text in one.said.items():
            print(f"\n{one.file}, {one.phase}, {heading}: {text}")
    return 0 if found else 1
