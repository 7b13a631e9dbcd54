"""The table of species data: a row for each array that a mixture has of its species.

Everything that goes over all arrays follows from it: the attributes of SpeciesData, the checks, `from_arrays`,
`subset`, messages about missing data, the documentation. To add an array, add a row; models read `species.NAME`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

OMEGA_A = 0.45723552892138218  # Peng & Robinson 1976, to the last digit of a double
OMEGA_B = 0.0777960739038885
OMEGA_VC = 0.307401308698703833  # critical compressibility of the same equation
ONE_ATM = 101325.0

REQUIRED = None  # the default of an array that has to be given
UNKNOWN = math.nan


@dataclasses.dataclass(frozen=True)
class Field:
    """An array over the species."""

    name: str
    unit: str
    what: str
    low: float = -math.inf  # the bounds admit every real molecule and catch a number in another unit
    high: float = math.inf
    default: float | None = REQUIRED  # of a species for which nothing is given
    # Its dimensions: "ns", a number, or "ranges" and "ranges+1" of temperature
    shape: tuple[str, ...] = ("ns",)
    critical: bool = False  # may be unknown where only the ideal gas is computed
    host: str = ""  # the argument's name in frame_populatepreosshareddata or frame_populatechungshareddata

    # For a field of several numbers a species: the check of these numbers, and its text in messages
    good: Callable[[np.ndarray], bool] | None = None
    wanted: str = ""

    @property
    def range(self) -> str:
        """The bounds as text; "" without bounds."""
        return "" if math.isinf(self.high) else f"{self.low:g} to {self.high:g}"

    @property
    def may_lack(self) -> bool:
        """Whether it may be unknown for some species."""
        return self.default is not REQUIRED and math.isnan(self.default)

    def sizes(self, ns: int) -> tuple[int, ...]:
        """The array's shape for ns species; for fields without ranges."""
        return tuple(ns if size == "ns" else int(size) for size in self.shape)

    def picked(self, array, pick):
        """The array for some of the species: indices `pick` along each dimension over the species."""
        if array is None:
            return None
        for axis, size in enumerate(self.shape):
            if size == "ns":
                array = array.take(pick, axis)

        return array


def _has_polynomial(row) -> bool:
    return bool(np.isfinite(row).all() and row[:5].any())


def _is_law(row) -> bool:
    known = np.isfinite(row).all() and 0 < row[0] < 1 and row[1] > 0 and row[2] > -100
    return bool(np.isnan(row).all() or known)


def _is_state(row) -> bool:
    return bool(np.isnan(row).all() or ((row > 0) & (row < (1e4, 1e10, 1e5))).all())


POLYNOMIAL = "7 finite numbers, with a heat capacity above 0 (or the species left out)"
LAW = "a viscosity [Pa s], a temperature [K] and a constant"
STATE = "a temperature [K], a pressure [Pa] and a density [kg/m3]"

# Fields of a single number for each species
NUMBERS = (
    Field("W", "kg/mol", "molar mass", 5e-7, 2.0, host="W"),
    Field("Tc", "K", "critical temperature", 1.0, 1e4, critical=True, host="Tc"),
    Field("pc", "Pa", "critical pressure", 1e3, 1e10, critical=True, host="pc"),
    Field("omega", "-", "acentric factor", -1.0, 3.0, critical=True, host="omega"),
    Field("Vc", "m3/mol", "critical molar volume", 1e-6, 1e-2, UNKNOWN, host="Vc"),
    Field("dipole", "debye", "dipole moment", 0.0, 30.0, UNKNOWN, host="dipole"),
    Field("kappa_assoc", "-", "association factor", 0.0, 10.0, 0.0, host="kappa"),
    Field("diameter", "m", "Lennard-Jones diameter", 1e-11, 1e-7, UNKNOWN),
    Field("well_depth", "K", "Lennard-Jones well depth", 0.1, 1e5, UNKNOWN),
    Field("polarizability", "m3", "polarizability", 0.0, 1e-27, UNKNOWN),
    Field("rotational_relaxation", "-", "rotational relaxation number", 0.0, 1e5, UNKNOWN),  # at 298 K
    Field("fuller_volume", "-", "Fuller diffusion volume", 0.1, 1e4, UNKNOWN, host="fuller"),
    Field("volume_translation", "m3/mol", "volume translation", -1e-3, 1e-3, UNKNOWN),  # Peneloux's c: v = v_eos - c
    Field("Z_RA", "-", "Rackett compressibility", 0.15, 0.35, UNKNOWN),  # c follows from it where c is not known
    Field("T_min", "K", "lowest temperature of the NASA polynomials", 0.0, 1e5, 200.0),
    Field("T_mid", "K", "temperature where the NASA polynomials meet", 1.0, 1e5, host="T_mid"),
    Field("T_max", "K", "highest temperature of the NASA polynomials", 1.0, 1e5, 3500.0),
)

# a and b may be given instead of Tc and pc, and are computed otherwise
ATTRACTION = Field("a", "Pa m6/mol2", "attraction parameter of Peng-Robinson, without alpha(T)", 1e-6, 1e6)
COVOLUME = Field("b", "m3/mol", "covolume of Peng-Robinson", 1e-7, 1e-1)

GEOMETRY = Field("geometry", "-", "shape: 0 atom, 1 linear, 2 nonlinear, -1 unknown", default=-1)

# Several numbers for each species
ROWS = (
    # a0..a6 of cp/R = a0 + a1 T + ... + a4 T^4, h/RT = a0 + a1 T/2 + ... + a5/T, s/R = a0 ln T + a1 T + ... + a6 at
    # p_ref; nan where nasa9 is there
    Field(
        "nasa_low",
        "K",
        "NASA-7 coefficients up to T_mid",
        shape=("ns", "7"),
        host="nasa_low",
        good=_has_polynomial,
        wanted=POLYNOMIAL,
    ),
    Field(
        "nasa_high",
        "K",
        "NASA-7 coefficients above T_mid",
        shape=("ns", "7"),
        host="nasa_high",
        good=_has_polynomial,
        wanted=POLYNOMIAL,
    ),
    Field(
        "sutherland",
        "Pa s, K, K",
        "Sutherland's law: viscosity at a temperature, constant",
        default=UNKNOWN,
        shape=("ns", "3"),
        good=_is_law,
        wanted=LAW,
    ),
    Field(
        "power_law",
        "Pa s, K, -",
        "power law: viscosity at a temperature, exponent",
        default=UNKNOWN,
        shape=("ns", "3"),
        good=_is_law,
        wanted=LAW,
    ),
    Field(
        "liquid",
        "K, Pa, kg/m3",
        "a measured liquid state",
        default=UNKNOWN,
        shape=("ns", "3"),
        good=_is_state,
        wanted=STATE,
    ),
)

# Arrays with checks of their own in arrays.py; those of ranges and of a phase may be absent (None)
OTHERS = (
    Field(
        "kij",
        "-",
        "binary interaction, symmetric: a_ij = sqrt(a_i a_j)(1 - k_ij)",
        default=0.0,
        shape=("ns", "ns"),
        host="kij",
    ),
    # c0..c8 of cp/R = c0/T^2 + c1/T + c2 + c3 T + ... + c6 T^4; c7 and c8 are the constants of h/RT and s/R
    Field("nasa9", "K", "NASA-9 coefficients, in place of the others", default=UNKNOWN, shape=("ns", "ranges", "9")),
    Field("T_break", "K", "ends of the ranges of the NASA-9 polynomials", default=UNKNOWN, shape=("ns", "ranges+1")),
    Field(
        "rk_a",
        "Pa m6 K^0.5/mol2, Pa m6/K^0.5/mol2",
        "a0 and a1 of a Redlich-Kwong phase's own a_ij",
        default=UNKNOWN,
        shape=("2", "ns", "ns"),
    ),
)

FIELDS = (*NUMBERS, ATTRACTION, COVOLUME, GEOMETRY, *ROWS, *OTHERS)
BY_NAME = {field.name: field for field in FIELDS}
CRITICAL = tuple(field.name for field in NUMBERS if field.critical)
