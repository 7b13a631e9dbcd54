"""Species that come with the package, by name: species.yaml."""

from __future__ import annotations

import functools
import pathlib
import re
from collections.abc import Iterable

from ...engine.errors import ArgumentError, closest, refuse
from . import critical
from .cantera_file import File
from .listed import as_typed, listed

SHOWN = 6  # names that a message lists
FILE = pathlib.Path(__file__).with_name("species.yaml")
# Usual names that substances.csv does not have, or not with the package's name of the species.
OTHER_NAMES = {
    "ethene": "C2H4",
    "ethyne": "C2H2",
    "iso-octane": "IC8H18",
    "isooctane": "IC8H18",
    "propene": "C3H6",
    "toluene": "C7H8",
}


def known() -> tuple[str, ...]:
    """Names of the species of the package, in the order of the file."""
    return tuple(_atoms_of())


@functools.cache
def _atoms_of() -> dict[str, tuple]:
    """{species: ((element, number), ...)} of the package, elements in capital letters and alphabetical order."""
    data = File(FILE).top.data
    compositions = {str(entry["name"]): entry["composition"] for entry in data["species"]}
    (phase,) = data["phases"]

    out = {}
    for name in map(str, phase["species"]):
        atoms = {str(element).upper(): float(count) for element, count in compositions[name].items()}
        out[name] = tuple(sorted(atoms.items()))
    return out


def chosen(names: str | Iterable[str]) -> tuple[str, ...]:
    """The package's names of the species, from a list or from one string with blanks or commas, written as
    `meant` reads them. Raises ArgumentError for no name, a set, a species that comes twice, and a name of several
    species; for a name that the package does not have, too, with the nearest that it has."""
    fits = isinstance(names, Iterable) and not isinstance(names, (set, frozenset))
    refuse(not fits, f"species {names!r}: wanted a text or a list of names; a set has no order.", ArgumentError)
    given = listed(names)
    some = ", ".join(known()[:SHOWN])
    known_ones = (
        f"The package has {len(known())} species: {some}, ... (Mixture.known_names()); Mixture.from_yaml reads others "
        "from a file, SpeciesData.from_arrays takes their numbers"
    )
    refuse(not given, f"no species named. {known_ones}.", ArgumentError)

    found: dict[str, str] = {}
    for name in given:
        species = meant(name)
        said = f"species {name!r} may be any of {', '.join(species)}: name one of them."
        refuse(len(species) > 1, said, ArgumentError)
        said = f"no species {name!r} in the package{closest(name, (*known(), *_substances()))}. {known_ones}."
        refuse(not species, said, ArgumentError)

        own = species[0]
        also = f", as {found[own]!r} and {name!r}" if own in found and found[own] != name else ""
        refuse(own in found, f"species {own!r} is named more than once{also}.", ArgumentError)
        found[own] = name
    return tuple(found)


def meant(name) -> tuple[str, ...]:
    """The package's species that a name may mean: none, one or several.

    Looked for in this order:
    - the package's name; the same in other letters (`Ar`, `nC12H26`);
    - the formula, which several isomers may have (`C12H26`; `C4H10` is two);
    - a name of the substance in substances.csv (`CH3CH2OH`, `DME`, `CarbonDioxide`), a straight chain's with or without
      its `n-` (`dodecane`, `n-propane`), or its CAS number (`74-82-8`).
    Indices below the line count as digits: `CO₂` is `CO2`.
    """
    name = as_typed(str(name))
    if name in known():
        return (name,)

    alike = tuple(species for species in known() if species.lower() == name.lower())
    return alike or _of_formula(name) or _of_substance(name)


def substances(name) -> tuple[str, ...]:
    """The substances that a name may mean: species of the package, as `meant` finds them, else of substances.csv."""
    found = meant(name)
    if found:
        return found
    return tuple(dict.fromkeys(row.name for row in _rows(as_typed(str(name)))))


def _of_formula(name: str) -> tuple[str, ...]:
    """Species whose composition a name writes, each element once; case does not count."""
    elements = {element for atoms in _atoms_of().values() for element, _ in atoms}
    symbols = "|".join(sorted(elements, key=len, reverse=True))
    if not re.fullmatch(f"(?:(?:{symbols})[0-9]*)+", name.upper()):
        return ()

    parts = re.findall(f"({symbols})([0-9]*)", name.upper())
    written = tuple(sorted((element, float(count or 1)) for element, count in parts))
    return tuple(species for species, atoms in _atoms_of().items() if atoms == written)


def _of_substance(name: str) -> tuple[str, ...]:
    """Species of the substance that has this name."""
    other = OTHER_NAMES.get(name.lower())
    if other:
        return (other,)

    labels = set()
    for row in _rows(name):
        labels |= _labels(row)
    return tuple(species for species in known() if species.upper() in labels)


def _substances() -> tuple[str, ...]:
    """The names of the substances in substances.csv that are species of the package, such as `dodecane`."""
    brought = {species.upper() for species in known()}
    rows = [row for (label, _), row in critical.table().items() if label in brought]
    return tuple(dict.fromkeys(row.name for row in rows))


def _rows(name: str) -> list:
    """The rows of substances.csv that have this name, as a substance's or in mechanisms, or this CAS number."""
    if critical.CAS.fullmatch(name):
        return [row for row in critical.table().values() if row.cas == name]

    joined = _joined(name)
    out = []
    for (label, _), row in critical.table().items():
        substance = _joined(row.name)
        if name.upper() == label or substance in (joined, f"n{joined}") or joined == f"n{substance}":
            out.append(row)
    return out


def _joined(name: str) -> str:
    """A substance's name without capital letters, blanks and hyphens: `CarbonDioxide` is `carbon dioxide`."""
    return re.sub("[ _-]", "", name.lower())


def _labels(row) -> set[str]:
    """The names in mechanisms, in capital letters, of a row of substances.csv."""
    return {label for (label, _), each in critical.table().items() if each is row}
