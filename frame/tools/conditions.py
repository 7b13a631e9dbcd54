"""Temperatures, pressures and compositions as the options of a command give them."""

import math

import numpy as np

from kernels.gas.composition import fractions

from ..errors import ArgumentError

# Label, unit and divisor of axes.
AXES = {"T": ("temperature T", "K", 1.0), "p": ("pressure p", "bar", 1e5)}


def wanted(fits, message):
    """Raises ArgumentError with this message unless `fits` is true."""
    if not fits:
        raise ArgumentError(message)


def species_index(name, mixture, option) -> int:
    """Index of a species, also by another usual name. Raises ArgumentError, which begins with `option`, for an unknown
    species."""
    own = mixture.find(name)
    wanted(own, f"{option}: species '{name}' is not in the mixture, which has {', '.join(mixture.names)}.")
    return mixture.names.index(own)


def composition(text: str, mixture, mass: bool, option: str) -> np.ndarray:
    """Mass fractions (ns,) of "CH4:1,O2:2", normalised. The numbers are moles; with `mass` masses.

    Raises ArgumentError for a part that cannot be read.
    """
    try:
        amount = fractions("Y" if mass else "X", text, mixture.names)
    except ArgumentError as error:
        raise ArgumentError(f"{option} {text}: {error}") from None

    masses = amount if mass else amount * mixture.species.W
    return masses / masses.sum()


def fixed(given, used=()) -> dict[str, list[float]]:
    """Values {"T": [K], "p": [Pa]} from the options --at that are given. used: names of axes, which are
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
