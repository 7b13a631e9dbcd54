"""The constants of a mixture. The function declared beside a model's bodies computes them when a kernel first reads
one of them."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np

from ..engine.errors import ArgumentError, MixtureError, refuse
from .records import Constants, Provider
from .registry import registry

KINDS = ("values", "pairs", "rows", "unit_rows", "upper", "tables")  # the fields of Constants that hold arrays


@dataclasses.dataclass(frozen=True)
class Constant:
    """A constant that a kernel reads. kind and array are None where the model has no such constant for these species
    and options."""

    kind: str | None  # the field of Constants that holds it: one of KINDS
    array: np.ndarray | None
    of: Constants  # computed together: a program that reads the constant also needs the sizes, numbers and members


class ModelConstants:
    """The constants that the models compute from the species for these options.

    species: SpeciesData or NoSpecies. options: {option: value}; numbers: {declared species number: array (ns,)}.
    Raises MixtureError where a model must have its constants at once and the species lack the data.
    """

    def __init__(self, species, options: dict, numbers: dict):
        self._species = species
        self.settings = options | numbers  # {option: value, declared species number: array (ns,)}
        self._made: dict[Provider, Constants | str] = {}  # a text: why they could not be computed
        self._was_moved = False  # true: no function gives these numbers again

        for provider in self._providers():
            if provider.at_once:
                made = self._of(provider)
                if isinstance(made, str):
                    raise MixtureError(f"{made}.")

    def __getstate__(self) -> dict:
        """For pickle and copies: constants that can be computed again are, by the functions of the other process."""
        return vars(self) | ({} if self._was_moved else {"_made": {}})

    def _providers(self) -> list[Provider]:
        return [provider for provider in registry.providers.values() if provider.serves(self.settings)]

    def get(self, name: str) -> Constant | None:
        """The constant of this name; None if no model of these options computes it. Raises MixtureError (an
        ArgumentError), with the reason, if the species lack the data."""
        for provider in self._providers():
            if name not in provider.names:
                continue

            made = self._of(provider)
            if isinstance(made, str):
                raise MixtureError(made)

            for kind in KINDS:
                if name in getattr(made, kind):
                    return Constant(kind, getattr(made, kind)[name], made)

            return Constant(None, None, made)

        return None

    def _of(self, provider: Provider) -> Constants | str:
        """A model's constants, computed at the first call; or why they could not be computed."""
        if provider not in self._made:
            try:
                self._made[provider] = self._computed(provider)
            except MixtureError as refusal:
                self._made[provider] = str(refusal).rstrip(".")

        return self._made[provider]

    def _computed(self, provider: Provider) -> Constants:
        """Raises MixtureError where species lack data or a number is not finite, ArgumentError for a name that was not
        declared."""
        made = provider.make(self._species, self.settings)
        made.values = {name: self._checked(name, value) for name, value in made.values.items()}

        names = [name for kind in KINDS for name in getattr(made, kind)]
        stray = [name for name in names if name not in provider.names]

        if stray:
            raise ArgumentError(
                f"{provider.maker} made '{stray[0]}', which is not among its names, {', '.join(provider.names)}."
            )

        return made

    def _checked(self, name: str, value) -> np.ndarray:
        """A vector of doubles, read-only. Raises MixtureError unless all are finite."""
        value = np.array(value, dtype=np.float64).reshape(-1)
        refuse(
            not np.isfinite(value).all(),
            f"mixture constant '{name}' is not finite; check the species data of {', '.join(self._species.names)}.",
            MixtureError,
        )

        value.flags.writeable = False
        return value

    def all(self) -> list[Constants]:
        """The constants of all models for these options, except those that could not be computed."""
        made = [self._of(provider) for provider in self._providers()]
        return [constants for constants in made if isinstance(constants, Constants)]

    @property
    def lacks(self) -> dict[str, str]:
        """{constant: reason} for the constants that the species cannot have."""
        lacking: dict[str, str] = {}
        for provider in self._providers():
            reason = self._of(provider)
            if isinstance(reason, str):
                lacking |= dict.fromkeys(provider.names, reason)

        return lacking

    def moved(self, move) -> ModelConstants:
        """A copy whose values and pair matrices are move(array)."""
        self.all()
        other = copy.copy(self)
        other._made = {provider: _moved(made, move) for provider, made in self._made.items()}
        other._was_moved = True
        return other


def _moved(made: Constants | str, move) -> Constants | str:
    if isinstance(made, str):
        return made

    def of(arrays: dict) -> dict:
        return {name: move(array) for name, array in arrays.items()}

    return dataclasses.replace(
        made,
        values=of(made.values),
        pairs=of(made.pairs),
        rows=of(made.rows),
        unit_rows=of(made.unit_rows),
        upper=of(made.upper),
    )
