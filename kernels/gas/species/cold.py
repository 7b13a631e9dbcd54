"""Cold ranges: ideal-gas heat capacities of fluids below the range of a file's polynomials (option cold_cp = fitted).

cold_ranges.csv has cp/R as a polynomial of fourth degree, fitted to reference equations. `cold_polynomial` joins it to
the polynomial of a species: cp and its slope, h and s are continuous.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import pathlib

import numpy as np

from .data import SpeciesData
from .fluids import fluid_of

TABLE = pathlib.Path(__file__).with_name("cold_ranges.csv")


@dataclasses.dataclass(frozen=True)
class ColdRange:
    """A row of cold_ranges.csv."""

    fluid: str  # name of the row of fluids.csv
    T_low: float  # range of the fit [K]
    T_high: float
    a: tuple[float, ...]  # cp/R = a0 + a1 T + ... + a4 T^4
    error: float  # largest relative difference in the range [%]


@functools.cache
def cold_ranges() -> dict[str, ColdRange]:
    """{name of the fluid: ColdRange} of cold_ranges.csv. Callers must not change it."""
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]

    rows = {}
    for row in csv.DictReader(lines):
        a = tuple(float(row[f"a{k}"]) for k in range(5))
        rows[row["fluid"]] = ColdRange(row["fluid"], float(row["T_low"]), float(row["T_high"]), a, float(row["error"]))

    return rows


def cold_polynomial(species: SpeciesData, s: int) -> np.ndarray | None:
    """NASA-7 coefficients (7,) of species s below its T_min, where its polynomials begin.

    cp/R is the fit of cold_ranges.csv plus d (T/T_min)^3 + e (T/T_min)^4, with which cp and dcp/dT continue the
    species' polynomial at T_min. h and s follow by integration from T_min down.
    None if the species has no row, or T_min is not within the range of its fit.
    """
    fluid = fluid_of(species.names[s], species.W[s])
    cold = cold_ranges().get(fluid.fluid) if fluid else None
    T = float(species.T_min[s])
    if cold is None or not cold.T_low < T <= cold.T_high:
        return None

    # The differences that remain at T_min: of cp/R, and of its slope times T_min.
    powers = T ** np.arange(5)
    a = np.array(cold.a)
    cp, h, entropy = species.polynomial(s, T, above=True)
    lack = cp - a @ powers
    lack_of_slope = _slope(species, s, T) - (np.arange(5) * a) @ powers

    a[3] += (4 * lack - lack_of_slope) / T**3
    a[4] += (lack_of_slope - 3 * lack) / T**4

    # Constants of h/R and s/R.
    a5 = T * (h - (a / np.arange(1, 6)) @ powers)
    a6 = entropy - a[0] * np.log(T) - (a[1:] / np.arange(1, 5)) @ powers[1:]
    return np.array([*a, a5, a6])


def _slope(species, s, T) -> float:
    """T d(cp/R)/dT of the polynomial of species s that begins at T [K]."""
    if species.nasa9 is None:
        c = species.nasa_low[s][:5]
        return float((np.arange(5) * c) @ T ** np.arange(5.0))

    c, powers = species.nasa9[s, 0, :7], np.arange(-2.0, 5.0)
    return float((powers * c) @ T**powers)
