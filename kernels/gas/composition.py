"""Compositions that are written by name: "CH4:1, O2:2", {"CH4": 1}, ["CH4", "O2"]."""

from __future__ import annotations

import re

import numpy as np

from ..engine.errors import ArgumentError, closest, refuse
from ..engine.values import real_array
from .species.names import own_name

SHOWN = 8  # species that a message names
AMOUNT = re.compile(r"([:=]\s*[^\s:=,;]+)\s+(?=[^\s,;])")  # an amount with a blank and the next name behind it


def refuse_both(given) -> None:
    """Raises ArgumentError where X and Y are among the names that came."""
    refuse("X" in given and "Y" in given, "both X and Y were given: they may contradict each other; give one.")


def fractions(name: str, given, species):
    """Fractions (ns, ...) of a composition X or Y that is written by name; anything else as it came.

    given: "CH4:1, O2:2", {"CH4": 1, "O2": array}, or a list of names for equal parts. Species that are not named have
    0; the amounts are divided by their sum. A species may have other letters, or another usual name as for
    Mixture.from_names. Raises ArgumentError, which names the species.
    """
    listed = isinstance(given, (list, tuple)) and given and all(isinstance(one, str) for one in given)
    if name not in ("X", "Y") or not (listed or isinstance(given, (str, dict))):
        return given

    wanted = f'wanted "{species[0]}:1, ..." or {{"{species[0]}": 1, ...}}'
    if isinstance(given, str):
        given = _parts(given, species)
    pairs = list(given.items()) if isinstance(given, dict) else [_pair(one) for one in given]
    refuse(not pairs, f"'{name}': nothing came, {wanted}.")

    amounts: dict = {}
    for key, value in pairs:
        own = own_name(key, species)
        if own is None:
            raise ArgumentError(f"'{name}': no species {key!r} in this mixture{closest(key, species)}; {wanted}.")
        refuse(own in amounts, f"'{name}': species {own!r} is given more than once.")
        amounts[own] = _amount(name, key, value, wanted)

    try:
        total = sum(amounts.values())
    except ValueError:
        shapes = ", ".join(f"{key} {np.shape(value)}" for key, value in amounts.items())
        raise ArgumentError(f"'{name}': amounts of different shapes: {shapes}.") from None

    refuse(not np.all(total > 0), f"'{name}': the amounts sum to 0.")
    masked = any(isinstance(value, np.ma.MaskedArray) for value in amounts.values())
    out = (np.ma.zeros if masked else np.zeros)((len(species), *np.shape(total)))
    for key, value in amounts.items():
        out[species.index(key)] = value / total

    return out


def _amount(name: str, key: str, value, wanted: str):
    """An amount of a species, finite and not negative where it is not masked."""
    try:
        values = real_array(f"{name}: {key}", float(value) if isinstance(value, str) else value)
    except ArgumentError:
        raise
    except ValueError:
        raise ArgumentError(f"'{name}': {key!r} is {value!r}, wanted a number; {wanted}.") from None

    values = np.ma.array(values, mask=np.ma.getmaskarray(value)) if isinstance(value, np.ma.MaskedArray) else values

    wrong = ~(np.isfinite(values) & (values >= 0))
    refuse(np.ma.filled(wrong, False).any(), f"'{name}': {key!r} is {value!r}, wanted a finite amount, 0 or more.")

    return values


def _parts(text: str, species) -> list[str]:
    """["CH4:1", "O2:2"] of "CH4:1, O2:2", or with a semicolon or a blank behind an amount. A comma within the name of a
    species, as in "C8H18,n-octane:1", divides nothing."""
    text = AMOUNT.sub(r"\1,", text)
    parts: list[str] = []
    for word in text.replace(";", ",").split(","):
        for k in range(len(parts)):
            whole = ",".join([*parts[k:], word])
            has_amount = any(mark in part for part in parts[k:] for mark in ":=")
            if not has_amount and _pair(whole)[0].strip() in species:
                parts[k:] = [whole]
                break
        else:
            parts.append(word)

    return [part.strip() for part in parts if part.strip()]


def _pair(text):
    """("CH4", "1") of "CH4:1" or "CH4=1"; ("CH4", 1) of a name alone."""
    key, colon, value = text.replace("=", ":").rpartition(":")
    return (key.strip(), value.strip()) if colon else (text, 1.0)


def shown(X, species) -> str:
    """Fractions X (ns,) for a message, by name and largest first: "CH4 0.8, C2H6 0.2"."""
    there = [s for s in np.argsort(-X, kind="stable") if X[s] > 0]
    more = f" and {len(there) - SHOWN} more" if len(there) > SHOWN else ""
    return ", ".join(f"{species[s]} {X[s]:.6g}" for s in there[:SHOWN]) + more


def stacked(given):
    """A list of masked arrays as one masked array; anything else as it came."""
    masked = isinstance(given, (list, tuple)) and any(isinstance(part, np.ma.MaskedArray) for part in given)
    return np.ma.stack([np.ma.asarray(part) for part in given]) if masked else given
