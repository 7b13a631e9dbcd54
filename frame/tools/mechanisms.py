"""`python -m frame mechanisms`: which phases of Cantera files load as ideal and as real gases, whether their reactions
can be evaluated, and remedies if not. With --convert: a CHEMKIN mechanism becomes a Cantera file."""

import collections
import json
import pathlib
import re
import shlex
import warnings
from dataclasses import dataclass, field

import numpy as np

from kernels import Mixture, resolve
from kernels.gas.species.cantera_yaml import cantera_data, gas_phases

from ..errors import ArgumentError, MixtureError, refuse
from . import chemkin
from .tables import markdown, markdown_row

IDEAL, REAL, OMEGA = "ideal", "real", "omega"
WAYS = {
    IDEAL: {"equation": "ideal", "takahashi": "off"},
    REAL: {"critical": "fill", "takahashi": "off"},
}
HEADINGS = ("file", "phase", "thermo", "`equation=ideal`", "`critical=fill`", "`omega`")
NO_REACTIONS = "no reactions"
NOT_TRIED = "not tried"


@dataclass
class Row:
    """A phase of a file."""

    file: str
    phase: str
    thermo: str  # thermo model of the phase
    ideal: str = "refused"  # the mixture with equation = ideal, in words
    real: str = "refused"  # the mixture with critical = fill, in words
    omega: str = NOT_TRIED  # reactions in the sum `omega`, by kind
    said: dict[str, str] = field(default_factory=dict)  # {ideal, real or omega: reason of a refusal, and remedy}

    def cells(self) -> tuple[str, ...]:
        """The texts below HEADINGS."""
        return self.file, self.phase, self.thermo, self.ideal, self.real, self.omega


def loaded(mixture: Mixture) -> str:
    """A mixture in words: number of species, number of estimated species, missing data."""
    species = mixture.species
    words = [f"{species.ns} species"]

    if mixture.options["critical"] == "fill":
        words.append(f"{len(species.estimated())} estimated" if any(species.origin.values()) else "all in the file")

    without = any("diameter" in known for known in species.origin.values())
    if without or np.isnan(species.diameter).any():
        words.append("no transport data")
    return ", ".join(words)


def kinds(mixture: Mixture) -> str:
    """Number of reactions of a mixture by kind. Raises MixtureError for the first reaction that cannot be read."""
    text = mixture.species.reactions
    if text is None or text.phase.data["kinetics"] == "none":
        return NO_REACTIONS

    mechanism = mixture.species.mechanism
    if not mechanism.reactions:
        return NO_REACTIONS

    lacks = mixture.constants.lacks
    for kernel in resolve(["omega"], ["T", "p", "Y"], mixture.options):
        for name in kernel.constants:
            refuse(name.rstrip("?") in lacks, lacks.get(name.rstrip("?"), ""), MixtureError)

    counts = collections.Counter(reaction.kind for reaction in mechanism.reactions)
    shown = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    return f"{len(mechanism.reactions)} reactions: {shown}"


def named_options(text: str) -> dict:
    """{option: value} that the message on a refused phase recommends: `without`."""
    needed: dict = {}
    if left_out := re.search(r"To leave out: without=(\[.*?\])", text):
        needed["without"] = json.loads(left_out[1])
    return needed


def quietly(path, phase: str, options: dict) -> Mixture:
    """The mixture of a phase, without warnings of polynomials that do not meet: `info` reports them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Mixture.from_yaml(path, phase, **options)


def row(path, phase: str, thermo: str, folder=None) -> Row:
    """The row of a phase. File names are relative to `folder`."""
    shown = str(path.relative_to(folder)) if folder else str(path)
    found = Row(shown, phase, thermo)
    mixtures = {}

    for way, options in WAYS.items():
        try:
            mixtures[way] = quietly(path, phase, options)
            setattr(found, way, loaded(mixtures[way]))
        except MixtureError as error:
            found.said[way] = str(error)
            mended, said = _by_the_remedy(path, phase, options, str(error))
            found.said[way] += said
            if mended is not None:
                mixtures[way] = mended

    # The reactions do not depend on the equation.
    for mixture in list(mixtures.values())[:1]:
        try:
            found.omega = kinds(mixture)
        except MixtureError as error:
            found.omega, found.said[OMEGA] = "refused", str(error)
    return found


def _by_the_remedy(path, phase: str, options: dict, message: str) -> tuple[Mixture | None, str]:
    """(mixture, what to say of it) with the options that a message names; None where that is refused, too."""
    needed = named_options(message)
    if not needed:
        return None, ""

    shown = ", ".join(f"{option}={json.dumps(value)}" for option, value in needed.items())
    try:
        mixture = quietly(path, phase, options | needed)
        return mixture, f" With {shown}: {loaded(mixture)}."
    except MixtureError:
        return None, ""


def files(path: pathlib.Path) -> list[pathlib.Path]:
    """All Cantera files in a folder and in folders below it; for a file the file itself."""
    if path.is_file():
        return [path]
    found = {*path.rglob("*.yaml"), *path.rglob("*.yml")}
    return sorted(found)


def rows(folder: pathlib.Path):
    """Yields the rows of the files in a folder, or of a file; (path, reason) for a file that is no mechanism."""
    beside = folder if folder.is_dir() else folder.parent
    for path in files(folder):
        try:
            phases = gas_phases(path)
        except MixtureError as error:
            yield path.relative_to(beside), str(error)
            continue

        for phase, thermo in phases:
            yield row(path, phase, thermo, beside)


COMMAND = dict(
    help="which phases of Cantera's files load as ideal and as real gases, and whether they have rates; what to do "
    "else; --convert: CHEMKIN to Cantera YAML",
)
NEEDS_MIXTURE = None
ARGUMENTS: dict[str, dict] = {
    "path": dict(
        nargs="?",
        metavar="FOLDER",
        type=pathlib.Path,
        help="folder of Cantera YAML files, or one file (default: those that Cantera ships)",
    ),
    "--folder": dict(type=pathlib.Path, help="the same"),
    **chemkin.ARGUMENTS,
}


def main(given, mixture=None) -> int:
    """Prints the table as Markdown, each row when it is done. Exit status 1 if nothing was found."""
    if given.convert:
        refuse(given.path or given.folder, "--convert FILE and a folder are two things; give one.", ArgumentError)
        path = chemkin.convert(given)
        print(f"written: {path}\n")
        return table(path)

    stray = [flag for flag in chemkin.ONLY_WITH_CONVERT if getattr(given, flag)]
    refuse(stray, f"--{(stray or [''])[0]} belongs to --convert FILE, which is not given.", ArgumentError)
    refuse(given.path and given.folder, "a folder is given twice; give one.", ArgumentError)

    folder = given.path or given.folder or cantera_data()
    refuse(folder is None, "Cantera is not installed: pip install cantera, or name a folder.", ArgumentError)
    refuse(not folder.exists(), f"{folder}: no such folder or file.", ArgumentError)
    return table(folder)


def table(folder: pathlib.Path) -> int:
    """Prints the rows of a folder or file, and below them the refusals. Returns 1 if nothing was found."""
    print(*markdown(HEADINGS), sep="\n", flush=True)
    found, not_read = [], []
    for each in rows(folder):
        if isinstance(each, Row):
            found.append(each)
            print(markdown_row(each.cells()), flush=True)
        else:
            not_read.append(each)

    for each in found:
        for heading, text in each.said.items():
            print(f"\n{each.file}, {each.phase}, {heading}: {text}")
    for path, text in not_read:
        print(f"\nnot read: {path}: {text}")
    for path in chemkin.inputs(folder):
        print(f"\nCHEMKIN: python -m frame mechanisms --convert {shlex.quote(str(path))} makes a Cantera file of it.")
    if not found and not not_read:
        print(f"\nno Cantera file in {folder}.")
    return 0 if found else 1
