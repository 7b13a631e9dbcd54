"""Species that come with the package, by name: species.yaml."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Iterable

from ...engine.errors import ArgumentError, closest, refuse
from . import critical
from .cantera_file import File

SHOWN = 6  # names that a message lists
FILE = pathlib.Path(__file__).with_name("species.yaml")


@functools.cache
def known() -> tuple[str, ...]:
    """Names of the species of the package, in the order of the file."""
    (phase,) = File(FILE).top.data["phases"]
    return tuple(phase["species"])


def chosen(names: str | Iterable[str]) -> tuple[str, ...]:
    """The names as a tuple, from a list or from one string with blanks or commas. Raises ArgumentError for no name, for
    a name that comes twice, and for a name that the package does not have, with the nearest that it has."""
    given = tuple(names.replace(",", " ").split() if isinstance(names, str) else names)
    some = ", ".join(known()[:SHOWN])
    listed = (
        f"The package has {len(known())} species: {some}, ... (Mixture.known_names()); Mixture.from_yaml reads others "
        "from a file"
    )
    refuse(not given, f"no species named. {listed}.", ArgumentError)

    for name in given:
        refuse(given.count(name) > 1, f"species {name!r} is named more than once.", ArgumentError)
        refuse(name not in known(), f"no species {name!r} in the package{_meant(name)}. {listed}.", ArgumentError)
    return given


def _meant(name) -> str:
    """Text for the message on an unknown name: the species whose substance has this name, else those most like it."""
    labels = [label for (label, _), row in critical.table().items() if row.name == str(name).lower()]
    named = [species for species in known() if species.upper() in labels]
    return f", did you mean {named[0]!r}" if named else closest(name, known())
