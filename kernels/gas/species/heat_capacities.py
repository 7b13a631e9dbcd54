"""Heat capacities that no gas has: data in other units, or in other columns.

Bounds. An atom that only moves has cp = 2.5 R, and everything else adds to it. N atoms that move, turn and vibrate have
at most (3 N - 2) R; electrons in higher states add to that. Of the 2000 gases in Cantera's files (7113 values at 600,
1000 and 1500 K) the least is 2.36 R, of Mg2, and the most 1.65 times (3 N - 2) R, of MgS. A calorie is 4.2 J.
"""

from __future__ import annotations

import warnings

import numpy as np

LEAST = 2.25  # cp/R
MOST = 2.0  # times that of all vibrations
LOOKED_AT = np.array([600.0, 1000.0, 1500.0])  # K, or the next temperature that the polynomials reach


def warn_of_small(species, where: str) -> None:
    """A warning if a species has a smaller cp than an atom, also at the ends of its ranges."""
    found = []
    for s in range(species.ns):
        T = np.array([species.T_min[s], *_inside(species, s), species.T_max[s]])
        cp = species.polynomial(s, T)[0]
        found.append((float(cp.min()), float(T[cp.argmin()])))

    _warn(species, where, found, np.full(species.ns, LEAST), -1)


def warn_of_large(species, where: str) -> None:
    """A warning if a species has a larger cp than its atoms can have. Species of unknown atoms have no bound."""
    found = []
    for s in range(species.ns):
        T = _inside(species, s)
        cp = species.polynomial(s, T)[0]
        found.append((float(cp.max()), float(T[cp.argmax()])))

    _warn(species, where, found, _bounds(species), 1)


def _inside(species, s: int) -> np.ndarray:
    """LOOKED_AT, within the range of the polynomials of species s."""
    return np.clip(LOOKED_AT, species.T_min[s], species.T_max[s])


def _bounds(species) -> np.ndarray:
    """The largest cp/R that is no error, by species."""
    out = np.full(species.ns, np.inf)
    for s, name in enumerate(species.names):
        count = sum(number for element, number in species.atoms.get(name, {}).items() if element != "E")
        if count:
            out[s] = MOST * max(3 * count - 2, 2.5)
    return out


def _warn(species, where: str, found: list[tuple[float, float]], bounds: np.ndarray, sign: int) -> None:
    """A warning that names the species beyond their bounds, at the line that calls for the check. sign: 1 for upper
    bounds, -1 for lower ones."""
    cp = np.array([value for value, _ in found])
    beyond = sign * cp > sign * bounds
    if not beyond.any():
        return

    s = int(np.argmax(beyond))
    value, T = found[s]
    usual = "2.5 R, that of an atom, or more" if sign < 0 else f"{bounds[s]:g} R or less, by its atoms"
    warnings.warn(
        f"{where}: no gas has the heat capacity of {species.named(beyond)}: cp of {species.names[s]} is {value:g} R "
        f"at {T:g} K, wanted {usual}. Are units and order of its coefficients right?",
        stacklevel=4,
    )
