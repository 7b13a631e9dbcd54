"""The constants of a mixture. Each model makes its own, by the function declared beside its bodies, when a kernel first
reads one."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np

from ..engine.errors import ArgumentError, MixtureError, refuse
from .records import Constants, Provider
from .registry import registry

KINDS = ("values", "pairs", "tables")


@dataclasses.dataclass(frozen=True)
class Constant:
    """A constant that a kernel reads.

    kind: "values", "pairs" or "tables", the field of Constants that holds it. array: its numbers. Both are None where
    the model did not make it for these species and options. of: the Constants it belongs to; a program that reads one
    of their names also needs their sizes, numbers and members.
    """

    kind: str | None
    array: np.ndarray | None
    of: Constants


class ModelConstants:
    """What the models make of the species for these options.

    species: SpeciesData or NoSpecies. options: {option: value}; numbers: {declared species number: array (ns,)}.
    Raises MixtureError where a model must have its constants at once and the species lack the data.
    """

    def __init__(self, species, options: dict, numbers: dict):
        self._given = species, options | numbers
        self._made: dict[Provider, Constants | str] = {}  # text: why they could not be made
        for provider in self._providers():
            if provider.at_once and isinstance(made := self._of(provider), str):
                raise MixtureError(f"{made}.")

    def _providers(self) -> list[Provider]:
        return [provider for provider in registry.providers.values() if provider.serves(self._given[1])]

    def get(self, name: str) -> Constant | None:
        """The constant of this name; None where no model for these options makes it. Raises MixtureError (an
        ArgumentError), with the reason, where the species lack the data."""
        for provider in self._providers():
            if name in provider.names:
                made = self._of(provider)
                if isinstance(made, str):
                    raise MixtureError(made)
                kind = next((kind for kind in KINDS if name in getattr(made, kind)), None)
                return Constant(kind, getattr(made, kind)[name] if kind else None, made)
        return None

    def _of(self, provider) -> Constants | str:
        if provider not in self._made:
            try:
                made = provider.make(*self._given)
                made.values = {name: self._checked(name, value) for name, value in made.values.items()}
                self._made[provider] = made
            except MixtureError as refusal:
                made = self._made[provider] = str(refusal).rstrip(".")
            stray = [name for kind in KINDS for name in getattr(made, kind, ()) if name not in provider.names]
            if stray:
                raise ArgumentError(
                    f"{provider.maker} made '{stray[0]}', which is not among its names, {', '.join(provider.names)}."
                )
        return self._made[provider]

    def _checked(self, name, value) -> np.ndarray:
        value = np.array(value, dtype=np.float64).reshape(-1)
        refuse(
            not np.isfinite(value).all(),
            f"mixture constant '{name}' is not finite; check the species data of {', '.join(self._given[0].names)}.",
            MixtureError,
        )
        value.flags.writeable = False
        return value

    def all(self) -> list[Constants]:
        """The constants of all models for these options, except those that could not be made."""
        return [made for made in map(self._of, self._providers()) if isinstance(made, Constants)]

    @property
    def lacks(self) -> dict[str, str]:
        """{constant: reason} for the constants that the species cannot have."""
        made = [(provider, self._of(provider)) for provider in self._providers()]
        return {name: some for provider, some in made if isinstance(some, str) for name in provider.names}

    def moved(self, move) -> ModelConstants:
        """A copy whose values and pair matrices are move(array)."""
        self.all()
        each = lambda arrays: {name: move(array) for name, array in arrays.items()}
        other = copy.copy(self)
        other._made = {
            provider: made
            if isinstance(made, str)
            else dataclasses.replace(made, values=each(made.values), pairs=each(made.pairs))
            for provider, made in self._made.items()
        }
        return other
