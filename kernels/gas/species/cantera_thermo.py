"""Ideal-gas heat capacities of a species of a Cantera file, as NASA polynomials.

NASA7 and NASA9 are read as they are. The other models are NASA polynomials in other letters, to rounding:

    Shomate [J/mol, t = T/(1000 K)]   cp = A + B t + C t^2 + D t^3 + E/t^2
                                      h = 1000 (A t + B t^2/2 + C t^3/3 + D t^4/4 - E/t + F)
                                      s = A ln t + B t + C t^2/2 + D t^3/3 - E/(2 t^2) + G
    constant-cp                       cp = cp0, h = h0 + cp0 (T - T0), s = s0 + cp0 ln(T/T0)
    piecewise-Gibbs                   cp constant between temperatures at which h - T s is given; h0 at 298.15 K

As in Cantera, units of the file do not change Shomate's coefficients, those of the NIST WebBook.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .cantera_file import Node
from .fields import ONE_ATM
from .units import short

Polynomials = tuple[list[float], list[list[float]]]  # temperatures [K], rows of 7 or 9 coefficients
CONSTANT_CP_RANGE = (20.0, 6000.0)  # K, where a file has neither T-min nor T-max: a constant has no end
STANDARD = 298.15  # K, where piecewise-Gibbs has its enthalpy
MOST_RANGES = {"NASA7": 2, "Shomate": 2, "NASA9": 8}


def read_thermo(node: Node) -> dict:
    """{"polynomials": Polynomials, "p_ref": reference pressure [Pa]} of the map `thermo` of a species.

    Raises MixtureError with place, key, what came and what was wanted.
    """
    model = node.choice("model", READERS, f"one of {', '.join(READERS)}")
    node.spelt(*KEYS[model], *COMMON)
    return {"polynomials": READERS[model](node), "p_ref": node.number("reference-pressure", "Pa", default=ONE_ATM)}


def _ranges(node: Node, model: str) -> list[float]:
    """The ends of the ranges [K]."""
    most = MOST_RANGES[model] + 1
    wanted = "2 or 3 temperatures in K" if most == 3 else "2 or more temperatures in K"
    ends = node.items("temperature-ranges", wanted, 2, most)
    try:
        return [node.units.convert(T, "K") for T in ends]
    except ValueError as error:
        node.fail(f"temperature-ranges: {error}.")
        raise


def _rows(node: Node, ranges: int, count: int) -> list[list[float]]:
    """A row of `count` coefficients for each range."""
    data = node.need("data", f"one list of {count} coefficients for each range")
    good = isinstance(data, list) and len(data) == ranges
    node.refuse(not good, f"data: got {short(data)}, wanted {ranges} lists of {count} coefficients.")

    wanted = f"{count} finite numbers"
    for row in data:
        got = f"{len(row)} coefficients" if isinstance(row, list) else short(row)
        node.refuse(not isinstance(row, list) or len(row) != count, f"data: got {got}, wanted {wanted}.")

    return [[node.finite("data", value, wanted) for value in row] for row in data]


def _nasa7(node: Node) -> Polynomials:
    T = _ranges(node, "NASA7")
    return T, _rows(node, len(T) - 1, 7)


def _nasa9(node: Node) -> Polynomials:
    T = _ranges(node, "NASA9")
    return T, _rows(node, len(T) - 1, 9)


def _shomate(node: Node) -> Polynomials:
    T = _ranges(node, "Shomate")
    R = node.units.R

    rows = []
    for A, B, C, D, E, F, G in _rows(node, len(T) - 1, 7):
        powers = [1e6 * E, 0.0, A, 1e-3 * B, 1e-6 * C, 1e-9 * D, 0.0]  # of T, from -2 on
        rows.append([value / R for value in (*powers, 1e3 * F, G - A * math.log(1e3))])

    return _lower_at_the_ends(T), rows


def _constant_cp(node: Node) -> Polynomials:
    low, high = CONSTANT_CP_RANGE
    T = [node.number("T-min", "K", low), node.number("T-max", "K", high)]

    T0 = node.number("T0", "K", 298.15)
    node.refuse(not T0 > 0, f"T0: got {short(node.data.get('T0'))}, wanted a positive number.")

    def over_R(key, unit):
        return node.number(key, unit, 0.0) / (1e3 * node.units.R)

    node.positive("cp0", "J/kmol/K")
    cp, h, s = over_R("cp0", "J/kmol/K"), over_R("h0", "J/kmol"), over_R("s0", "J/kmol/K")
    return T, [[cp, 0.0, 0.0, 0.0, 0.0, h - cp * T0, s - cp * math.log(T0)]]


def _piecewise_gibbs(node: Node) -> Polynomials:
    low, high = CONSTANT_CP_RANGE
    R = 1e3 * node.units.R
    T, g = _gibbs_energies(node)
    start = T.index(STANDARD)
    h0 = node.number("h0", "J/kmol", 0.0) / R
    s0 = (h0 - g[start]) / STANDARD

    # From 298.15 K upwards, then downwards: h and s do not jump, and the heat capacity of a range gives g at its end.
    rows: list[list[float]] = [[]] * (len(T) - 1)
    for step in (1, -1):
        h, s, at = h0, s0, start
        while 0 <= at + step < len(T):
            T1, T2 = T[at], T[at + step]
            ln = math.log(T2 / T1)
            cp = (g[at + step] - h + T2 * s) / (T2 - T1 - T2 * ln)
            rows[min(at, at + step)] = [0.0, 0.0, cp, 0.0, 0.0, 0.0, 0.0, h - cp * T1, s - cp * math.log(T1)]
            h, s, at = h + cp * (T2 - T1), s + cp * ln, at + step

    return _lower_at_the_ends([node.number("T-min", "K", low), *T[1:-1], node.number("T-max", "K", high)]), rows


def _gibbs_energies(node: Node) -> tuple[list[float], list[float]]:
    """(temperatures [K], Gibbs energies over R [K]) of `data`, ascending."""
    energies = node.child("data", "a map of temperatures and Gibbs energies")
    wanted = f"2 to {MOST_RANGES['NASA9'] + 1} temperatures in K, {STANDARD} among them"

    found = {}
    for key in energies.data:
        at = node.finite("data", key, wanted)
        if node.data.get("dimensionless"):
            found[at] = energies.number(key) * at
        else:
            found[at] = energies.number(key, "J/kmol") / (1e3 * node.units.R)

    good = 2 <= len(found) <= MOST_RANGES["NASA9"] + 1 and STANDARD in found and min(found) > 0
    node.refuse(not good, f"data: got {short(node.data['data'])}, wanted {wanted}.")
    T = sorted(found)
    return T, [found[at] for at in T]


READERS: dict[str, Callable[[Node], Polynomials]] = {
    "NASA7": _nasa7,
    "NASA9": _nasa9,
    "Shomate": _shomate,
    "constant-cp": _constant_cp,
    "piecewise-Gibbs": _piecewise_gibbs,
}
COMMON = "model reference-pressure units note".split()  # keys of all models
RANGES = ("temperature-ranges", "data")
KEYS = {
    "NASA7": RANGES,
    "NASA9": RANGES,
    "Shomate": RANGES,
    "constant-cp": "T0 h0 s0 cp0 T-min T-max".split(),
    "piecewise-Gibbs": "h0 data dimensionless T-min T-max".split(),
}


def _lower_at_the_ends(T: list[float]) -> list[float]:
    """Temperatures of ranges of nine coefficients, the lower of which holds where two meet, as with NASA7 and Shomate:
    with nine coefficients the upper one would, so it begins at the next double."""
    return [T[0], *(float(np.nextafter(end, np.inf)) for end in T[1:-1]), T[-1]]


def polynomial_fields(species: list[Polynomials]) -> dict:
    """Fields of SpeciesData from the polynomials of the species. If a species has nine coefficients, all get nine."""
    if all(len(rows[0]) == 7 for _, rows in species):
        # A species with a single range gets it twice; the two ranges meet at its upper end.
        return {
            "T_min": np.array([T[0] for T, _ in species]),
            "T_mid": np.array([T[1] for T, _ in species]),
            "T_max": np.array([T[-1] for T, _ in species]),
            "nasa_low": np.array([rows[0] for _, rows in species]),
            "nasa_high": np.array([rows[-1] for _, rows in species]),
        }

    most = max(len(rows) for _, rows in species)
    coefficients, breaks = [], []
    for T, rows in species:
        if len(rows[0]) == 7:
            T, rows = _lower_at_the_ends(T), [[0.0, 0.0, *row] for row in rows]

        # All species get the same number of ranges: the last range is repeated.
        coefficients.append(rows + rows[-1:] * (most - len(rows)))
        breaks.append(T + T[-1:] * (most + 1 - len(T)))

    return {
        "nasa9": np.array(coefficients),
        "T_break": np.array(breaks),
        "nasa_low": None,
        "nasa_high": None,
        "T_mid": None,
    }
