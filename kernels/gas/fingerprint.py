"""The fingerprint of a mixture, by which the ranks of a job find out whether they compute with the same one."""

from __future__ import annotations

import hashlib

import numpy as np

from ..engine.errors import MixtureError
from .species.fields import FIELDS

DIGITS = 16


def fingerprint(mixture) -> str:
    """Hexadecimal digits that two mixtures share where their species data, reactions and options are the same.

    The file itself does not count, so comments and order of keys may differ. Reads the reactions.
    """
    parts = _of_species(mixture.species)
    for name, setting in mixture.constants.settings.items():
        parts += [name, setting]

    digest = hashlib.sha256()
    for part in parts:
        digest.update(_as_bytes(part))

    return digest.hexdigest()[:DIGITS]


def _of_species(species) -> list:
    arrays = [getattr(species, field.name) for field in FIELDS]
    of_all = [species.names, species.R, species.p_ref, species.T_fit]
    by_name = [sorted(species.own_fluids.items()), sorted(species.atoms.items())]
    return [*of_all, *arrays, *by_name, _reactions(species)]


def _reactions(species) -> str:
    """The reactions as text; why they cannot be read; "" without reactions."""
    if species.reactions is None:
        return ""
    try:
        return repr(species.mechanism.reactions)
    except MixtureError as error:
        return str(error)


def _as_bytes(part) -> bytes:
    if isinstance(part, np.ndarray):
        return str(part.shape).encode() + part.tobytes()
    return repr(part).encode()
