"""Temperatures, pressures and compositions as the options of a command give them."""

import math

import numpy as np

from ..errors import ArgumentError

# Label, unit and divisor of axes.
AXES = {"T": ("temperature T", "K", 1.0), "p": ("pressure p", "bar", 1e5)}


def wanted(fits, message):
    """Raises ArgumentError with this message unless `fits` is true."""
    if not fits:
        raise ArgumentError(message)


def species_index(name, mixture, option) -> int:
    """Index of a species. Raises ArgumentError, which begins with `option`, for an unknown species."""
    known = ", ".join(mixture.names)
    wanted(name in mixture.names, f"{option}: species '{name}' is not in the mixture, which has {known}.")
    return mixture.names.index(name)


def composition(text: str, mixture, mass: bool, option: str) -> np.ndarray:
    """Mass fractions (ns,) of "CH4:1,O2:2", normalised. The numbers are moles; with `mass` masses.

    Raises ArgumentError for a part that cannot be read.
    """
    amount = np.zeros(mixture.ns)
    for part in text.split(","):
        name, colon, number = part.strip().partition(":")
        at = species_index(name, mixture, f"{option} {text}")

        try:
            value = float(number) if colon else 1.0
        except ValueError:
            value = math.nan

        message = f"{option} {text}: got the amount '{number}' of {name}, wanted a number of 0 or more."
        wanted(0 <= value < math.inf, message)
        amount[at] += value

    wanted(amount.sum() > 0, f"{option} {text}: the amounts sum to zero.")
    masses = amount if mass else amount * mixture.species.W
    return masses / masses.sum()


def fixed(given, used=()) -> dict[str, list[float]]:
    """Values {"T": [K], "p": [Pa]} of all options --at, for those that are there. used: names of axes, which are
    refused.

    Raises ArgumentError.
    """
    out: dict[str, list[float]] = {}
    for text in given:
        name, equals, numbers = text.partition("=")
        wanted(name in AXES and equals, f"--at {text}: wanted T=... or p=....")
        wanted(name not in used, f"--at {text}: {name} is an axis already.")

        try:
            values = [float(v) for v in numbers.split(",")]
        except ValueError:
            values = [math.nan]

        positive = all(0 < v < math.inf for v in values)
        wanted(positive, f"--at {text}: wanted positive numbers with commas between.")
        out.setdefault(name, []).extend(values)

    return out


def in_words(name, value) -> str:
    """A fixed value in words: T = 300 K."""
    _, unit, by = AXES[name]
    return f"{name} = {value / by:g} {unit}"
