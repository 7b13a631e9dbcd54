"""Species by the names that a file writes for them."""

from __future__ import annotations

import functools

from ...engine.errors import closest
from .listed import as_typed
from .units import short


class Names:
    """Finds species by name. Letter case does not matter where only one species has the name so, as in Cantera."""

    def __init__(self, names):
        self.names = tuple(names)
        self._exact = set(self.names)
        self._alike: dict[str, list[str]] = {}
        for name in self.names:
            self._alike.setdefault(name.lower(), []).append(name)

    def find(self, name) -> str | None:
        """The species' own name; None for an unknown or an ambiguous one."""
        if name in self._exact:
            return name
        alike = self._alike.get(str(name).lower(), [])
        return alike[0] if len(alike) == 1 else None

    def __getitem__(self, name) -> str:
        """The same for a name that is known to be there; else KeyError."""
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        return found

    def is_ambiguous(self, name) -> bool:
        """Whether several species have the name but for letter case, and none has it exactly."""
        return name not in self._exact and len(self._alike.get(str(name).lower(), [])) > 1

    def absent(self, name) -> str:
        """The message about a name that was not found."""
        if self.is_ambiguous(name):
            return f"species {short(name)} may be any of {', '.join(self._alike[str(name).lower()])}."
        return f"species {short(name)} is not in the phase{closest(name, self.names)}."


@functools.lru_cache(maxsize=16)
def _kept(names: tuple[str, ...]) -> Names:
    return Names(names)


@functools.lru_cache(maxsize=16)
def _by_substance(names: tuple[str, ...]) -> dict[str, list[str]]:
    """{substance: names that can mean no other}."""
    from .brought import substances  # reads the package's species: for names that the mixture spells otherwise

    out: dict[str, list[str]] = {}
    for name in names:
        meanings = substances(name)
        if len(meanings) == 1:
            out.setdefault(meanings[0], []).append(name)
    return out


def own_name(name, names) -> str | None:
    """The mixture's name of a species that has another name here.

    That name may differ in upper and lower case, if only one species fits, or be another usual name of the substance:
    `methane` and `CH4` find each other. None: no species fits, or several."""
    names = tuple(names)
    if not isinstance(name, str):
        return None
    if name in names:
        return name

    name = as_typed(name)
    found = _kept(names).find(name)
    if found is not None:
        return found

    from .brought import substances

    others: list[str] = []
    for substance in substances(name):
        others += _by_substance(names).get(substance, [])
    return others[0] if len(others) == 1 else None
