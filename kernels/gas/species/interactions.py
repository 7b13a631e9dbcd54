"""Binary interactions k_ij that a user gives by pairs of species, and the pairs whose k_ij is 0."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...engine.errors import ArgumentError, MixtureError, refuse
from .names import own_name

SHOWN = 3  # pairs that a note names


def kij_of_pairs(names: tuple[str, ...], before: np.ndarray, pairs: Mapping[Any, float]) -> np.ndarray:
    """The matrix k_ij (ns, ns) with other values for some pairs: {"N2/NC12H26": 0.19}, or {("N2", "NC12H26"): 0.19}.

    before: the matrix. A species may have other letters, or another usual name as in Mixture.from_names. Raises
    MixtureError for what is no pair, a species that is not there, and a pair that comes twice.
    """
    kij = np.array(before)
    seen: set[frozenset[int]] = set()

    for pair, value in pairs.items():
        i, j = _indices(names, pair)
        refuse(i == j, f"kij: {pair!r}, wanted two different species.", MixtureError)
        refuse({i, j} in seen, f"kij: the pair {names[i]}/{names[j]} comes twice.", MixtureError)

        seen.add(frozenset((i, j)))
        kij[i, j] = kij[j, i] = _number(pair, value)

    return kij


def _number(pair, value) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise MixtureError(f"kij of {pair!r} is {value!r}, wanted a number.") from None


def _indices(names: tuple[str, ...], pair) -> list[int]:
    """Indices of the two species of a pair."""
    return [_index(names, name) for name in two_names(pair)]


def two_names(pair) -> list[str]:
    """The names of a pair: "N2/O2", or two. Raises MixtureError for what is no pair."""
    given = pair.split("/") if isinstance(pair, str) else pair
    refuse(
        not isinstance(given, (list, tuple)) or len(given) != 2,
        f"kij: {pair!r}, wanted a pair of species such as 'N2/O2'.",
        MixtureError,
    )
    return [str(name).strip() for name in given]


def _index(names: tuple[str, ...], name: str) -> int:
    own = own_name(name, names)
    if own is None:
        raise MixtureError(f"kij: species {name!r} is not in the mixture, which has {', '.join(names)}.")
    return names.index(own)


def refuse_unread_kij(options: Mapping[str, Any]) -> None:
    """Raises ArgumentError where the models of a mixture read no k_ij."""
    for key, value in (("equation", "ideal"), ("mixing", "pseudocritical")):
        refuse(options[key] == value, f"kij: {key} = {value} has no binary interactions; leave kij out.", ArgumentError)


def pairs_without(names: tuple[str, ...], kij: np.ndarray) -> Iterator[str]:
    """The pairs of different species whose k_ij is 0: "N2/O2"."""
    for i, j in itertools.combinations(range(len(names)), 2):
        if kij[i, j] == 0:
            yield f"{names[i]}/{names[j]}"


def note_of_unknown(names: tuple[str, ...], kij: np.ndarray) -> list[str]:
    """A note for readers of two-phase results, if some k_ij are 0: nobody has given them."""
    unknown = list(pairs_without(names, kij))
    if not unknown:
        return []

    more = f" and {len(unknown) - SHOWN} more pairs" if len(unknown) > SHOWN else ""
    return [
        f"k_ij = 0 for {', '.join(unknown[:SHOWN])}{more}: how much of a gas a liquid dissolves depends on it; `kij`, "
        f"or `binary-a` of the file, gives it, `python -m frame fit {unknown[0]}` finds it from measured points."
    ]
