"""Equation `mapped`: its record, the numbers of each species, and the constants that the kernels of mapped.h read.

A species has the first of three kinds of numbers whose data it has:

1. **A row of fluids.csv** (fluids.py), Tc and pc too: those of the input are not used.
2. **Correlations in omega**, fitted to 17 non-polar fluids: Peng-Robinson's shape, a map and an alpha for
   -0.05 <= omega <= 0.6. For a species with a known dipole moment that is small (Lucas's bound), Tc above 50 K and
   measured critical properties, and no radical.
3. **Peng-Robinson with a constant translation**: every other species. alpha has the slope of Peng-Robinson's at Tc.

A species without a row that has a measured liquid density meets it: the constant part of its map is shifted.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from ...engine.errors import MixtureError, refuse
from ..declare import constants
from ..records import Constants, species_with
from ..species import CRITICAL, OMEGA_B, SpeciesData
from ..species.critical import is_fleeting
from ..species.fluids import ODD, Fluid, row_of
from .constants import liquid_volume, peneloux_shift
from .records import CUBICS, Cubic, General, VolumeMap, add, by_delta_1, rkpr_omega_a, rkpr_omega_b, rkpr_own_Z_c

# Correlations in omega of a species without a row: P_k = constant + slope omega.
P_CONSTANT = np.array([-0.2076, 2.2344, -5.9269, 3.9739])
P_SLOPE = np.array([1.8878, -4.5771, 5.2326, -2.3842])
OMEGA_RANGE = (-0.05, 0.6)
QUANTUM = 50.0  # K, Tc below which a fluid swells by quantum effects
POLAR = 0.022  # reduced dipole moment of Lucas above which a molecule counts as polar

NEAR = 0.02  # relative difference of an input's Tc or pc to the row's up to which no note is made

# Bounds that are checked when a mixture is made.
LEAST_SLOPE = 0.3  # of dv/dw
LEAST_VOLUME = 0.1  # of v/b where w = b, at infinite pressure
LIQUID = 3.0  # w/b up to which a root is a liquid's; 3.9 at the critical point
LEAST_DELTA_1 = 1.8  # below, the integrals of mapped.h lose digits: they divide by delta_1 delta_2
T_OVER_TC = (0.05, 60.0)  # where the signs of alpha's derivatives are checked

# K, by row: below, the heat capacity at constant volume of the pure fluid may be negative, at some pressure up to 1e8
# Pa and with the polynomials of its ideal gas. Where it is, gamma and c are NaN.
COLDEST = {"He": 12.0, "H2O": 130.0, "CO2": 140.0, "CH3OH": 160.0, "C2H5OH": 120.0}

PENG_ROBINSON: Any = CUBICS["pr"]  # of species without other numbers: its translation and its alpha at Tc

SQUARED = 2.0  # m of these species; it is 8 of all others
TAU_POLE = 0.4  # tau = b Q 1.4/(T/Tc + 0.4)
RADICAL = "no measured critical point"  # reason of why_not_correlated
NO_SWELLING = 1e-9  # of Q: a fit ended at its bound, 0. The kernels pass such species over


@dataclasses.dataclass(frozen=True)
class MappedNumbers:
    """Numbers of the species, (ns,) unless stated."""

    kinds: tuple[str, ...]  # of each species: "row", "correlation" or "translation"
    fluids: tuple[Fluid | None, ...]

    Tc: np.ndarray  # critical point of the equation [K], [Pa]
    pc: np.ndarray
    delta_1: np.ndarray

    # sqrt(alpha) = ((1 + c)/(t + c))^m (1 + g (t - 1)), t = T/Tc
    c: np.ndarray
    g: np.ndarray
    m: np.ndarray

    # C = b (sum_k P_k x^k - 1.4 Q/(t + 0.4)), x = b/w
    P: np.ndarray  # (4, ns)
    Q: np.ndarray


@dataclasses.dataclass
class _Row:
    """Numbers of one species, as in MappedNumbers."""

    Tc: float
    pc: float
    delta_1: float
    c: float
    g: float
    m: float
    P: np.ndarray  # (4,)
    Q: float


@functools.lru_cache(maxsize=16)
def mapped_numbers(species: SpeciesData) -> MappedNumbers:
    """The numbers of all species.

    Raises MixtureError for a species whose alpha has no such form, or whose volume does not grow with w.
    """
    species.refuse_without_critical()
    shift = peneloux_shift(species, PENG_ROBINSON.translation)
    kinds, fluids, rows = [], [], []

    for s, name in enumerate(species.names):
        fluid = row_of(species, s)
        if fluid:
            kind, row = "row", _of_fluid(fluid)
        elif not why_not_correlated(species, s):
            kind, row = "correlation", _correlated(species, s)
        else:
            kind, row = "translation", _translated(species, s, shift[s])

        if not fluid and has_liquid(species)[s]:
            row.P[0] += _excess_volume(species, s, row)

        check(name, fluid, row)
        kinds.append(kind)
        fluids.append(fluid)
        rows.append(row)

    columns = {}
    for field in dataclasses.fields(_Row):
        columns[field.name] = np.stack([getattr(row, field.name) for row in rows], axis=-1)
    return MappedNumbers(tuple(kinds), tuple(fluids), **columns)


def _of_fluid(fluid: Fluid) -> _Row:
    """Numbers of a row."""
    P = np.array([fluid.P0, fluid.P1, fluid.P2, fluid.P3])
    return _Row(fluid.Tc, fluid.pc, fluid.d1, fluid.alpha_c, fluid.alpha_g, fluid.alpha_m, P, fluid.Q)


def has_liquid(species: SpeciesData) -> np.ndarray:
    """Whether a liquid density of each species was measured (ns,)."""
    return np.isfinite(species.liquid).all(1)


def coldest(species: SpeciesData) -> np.ndarray:
    """COLDEST of each species [K] (ns,), 0 where there is no such bound."""
    fluids = mapped_numbers(species).fluids
    return np.array([COLDEST.get(fluid.fluid, 0.0) if fluid else 0.0 for fluid in fluids])


def other_data(species: SpeciesData) -> list[tuple[str, str, float, float]]:
    """[(species, field, value of the input, value of its row)] for Tc and pc of the input that are far from the
    row's."""
    found = []
    for s, name in enumerate(species.names):
        fluid = row_of(species, s)
        for field in ("Tc", "pc") if fluid else ():
            came, own = getattr(species, field)[s], getattr(fluid, field)
            if abs(came / own - 1) > NEAR:
                found.append((name, field, float(came), float(own)))

    return found


def _unused(species) -> list[str]:
    """Notes on Tc and pc of the input that are far from the rows'."""
    text = "{}: {} = {:g} of the input is not used, {:g} of fluids.csv is."
    return [text.format(*each) for each in other_data(species)]


def why_not_correlated(species, s) -> str:
    """Why the correlations in omega do not serve species s; "" if they do."""
    name, Tc, omega, dipole = (getattr(species, field)[s] for field in ("names", "Tc", "omega", "dipole"))

    if is_fleeting(name, species.atoms.get(name)) or name in species.estimated():
        return RADICAL
    if Tc < QUANTUM:
        return "a quantum fluid"
    if not OMEGA_RANGE[0] <= omega <= OMEGA_RANGE[1]:
        return f"omega = {omega:g}"
    if np.isnan(dipole):
        return "no dipole moment"
    if species.kappa_assoc[s] > 0 or 52.46 * dipole**2 * (species.pc[s] / 1e5) / Tc**2 > POLAR:
        return "polar"
    return ""


def _correlated(species, s) -> _Row:
    """Numbers by correlation in omega."""
    omega = species.omega[s]
    slope = 0.2360 + omega * (0.8314 - 0.0676 * omega)
    return _of_shape_pr(species, s, slope, P_CONSTANT + P_SLOPE * omega)


def _translated(species, s, shift) -> _Row:
    """Peng-Robinson's numbers with the constant translation shift [m3/mol]."""
    kappa = float(PENG_ROBINSON.alpha.kappa(species.omega[s]))
    refuse(
        kappa <= 0,
        f"species {species.names[s]!r}: omega = {species.omega[s]:g}, and no row in fluids.csv: the alpha of equation "
        "mapped falls with T; wanted omega above -0.22, or equation = 'pr'.",
        MixtureError,
    )

    b = OMEGA_B * species.R * species.Tc[s] / species.pc[s]
    return _of_shape_pr(species, s, kappa / 2, np.array([shift / b, 0.0, 0.0, 0.0]))


def _of_shape_pr(species, s, slope, P) -> _Row:
    """Peng-Robinson's delta_1, an alpha with d sqrt(alpha)/dt = -slope at Tc, and P. tau = 0.

    With m = 8 the slope leaves one of c and g free; 1/(1 + c) = g = slope/7 makes alpha'' largest, as in Soave's form.
    """
    g = slope / 7
    return _Row(species.Tc[s], species.pc[s], 1 + np.sqrt(2), 1 / g - 1, g, 8.0, P, 0.0)


def _excess_volume(species, s, row: _Row) -> float:
    """The volume of the row at the measured liquid state less the measured volume, in units of b.

    The row has Peng-Robinson's shape. Raises MixtureError if the equation has no liquid at that state.
    """
    T, p, rho = species.liquid[s]
    a, b = species.a[s], species.b[s]
    t = T / row.Tc
    root_alpha = ((1 + row.c) / (t + row.c)) ** row.m * (1 + row.g * (t - 1))

    w = liquid_volume(PENG_ROBINSON, a * root_alpha**2, b, T, p, species.R)
    refuse(
        w > LIQUID * b,
        f"species {species.names[s]!r}: equation mapped has no liquid at {T:g} K, {p:g} Pa, where liquid-density is "
        "given.",
        MixtureError,
    )

    x = b / w
    shift = row.P[0] + x * (row.P[1] + x * (row.P[2] + x * row.P[3]))
    return w / b - shift - species.W[s] / (rho * b)


# ---- Checks


def check(name: str, fluid: Fluid | None, row: _Row) -> None:
    """Raises MixtureError for numbers that the equation cannot have."""
    where = f"species {name!r}, equation mapped"
    refuse(
        row.delta_1 < LEAST_DELTA_1,
        f"{where}: delta_1 = {row.delta_1:g} came, wanted {LEAST_DELTA_1:g} or more.",
        MixtureError,
    )

    least = volume_slope(row.P).min()
    refuse(
        least < LEAST_SLOPE,
        f"{where}: dv/dw falls to {least:g} for some density, wanted {LEAST_SLOPE:g} or more.",
        MixtureError,
    )

    least = 1 - row.P.sum()
    refuse(
        fluid is None and least < LEAST_VOLUME,
        f"{where}: at high pressure the volume falls to {least:g} b, wanted {LEAST_VOLUME:g} or more. Its "
        "volume-translation or its liquid-density is no liquid's, or its Tc, pc, omega are not its own.",
        MixtureError,
    )

    positive = row.c > 0 and 0 <= row.g < 1
    refuse(not positive, f"{where}: alpha has c = {row.c:g}, g = {row.g:g}, wanted c > 0 and 0 <= g < 1.", MixtureError)

    if fluid is None or fluid.alpha != ODD:
        refuse(
            not is_regular(row.c, row.g, row.m),
            f"{where}: alpha has no negative slope with a positive curvature from {T_OVER_TC[0]:g} to "
            f"{T_OVER_TC[1]:g} Tc, and its row does not say alpha = {ODD}.",
            MixtureError,
        )


def volume_slope(P) -> np.ndarray:
    """dv/dw of a pure species at 100 values of x = b/w from 0 to 1, with P (4,)."""
    x = np.linspace(0.0, 1.0, 100)
    return 1 + x * x * (P[1] + x * (2 * P[2] + x * (3 * P[3])))


def is_regular(c, g, m) -> bool:
    """Whether alpha' < 0 and alpha'' > 0 at 2000 temperatures from 0.05 to 60 Tc."""
    t = np.geomspace(*T_OVER_TC, 2000)
    r = 1 / (t + c)
    n = 1 + g * (t - 1)

    # f = sqrt(alpha) = ((1 + c) r)^m n; f'/f and f''/f without the common factor.
    first = g - m * n * r
    second = r * (m * (m + 1) * n * r - 2 * m * g)
    return bool((n * first < 0).all() and (first * first + n * second > 0).all())


# ---- Record and constants


def _power(species) -> np.ndarray:
    return mapped_numbers(species).m


def _offset(species) -> np.ndarray:
    return mapped_numbers(species).c * mapped_numbers(species).Tc / _power(species)


def _slope(species) -> np.ndarray:
    return mapped_numbers(species).g / mapped_numbers(species).Tc


# sqrt(alpha) = ((1 + c)/(t + c))^m (1 + g (t - 1)), t = T/Tc, as gain r^m n: rational_root of attraction.h
RATIONAL = General(
    gain=lambda species: (
        ((1 + mapped_numbers(species).c) * mapped_numbers(species).Tc / _power(species)) ** _power(species)
    ),
    constants={
        "share": lambda species: 1 / _power(species),
        "offset": _offset,
        "factor": lambda species: 1 - mapped_numbers(species).g,
        "slope": _slope,
        "curb": lambda species: (1 - 1 / _power(species)) * _slope(species),
    },
    scaled=("factor", "slope", "curb"),
    text="rational_root(m, T, R(1.0), root, root_T, root_TT, share, offset, factor, slope, curb);",
)

add(
    Cubic(
        name="mapped",
        delta_1=lambda species: mapped_numbers(species).delta_1,
        delta_2=by_delta_1,
        omega_a=rkpr_omega_a,
        omega_b=rkpr_omega_b,
        Z_c=rkpr_own_Z_c,
        alpha=RATIONAL,
        translation=VolumeMap(of_species=mapped_numbers),
        needs=CRITICAL,
        formula=r"\sqrt{\alpha} = \left(\frac{1 + c}{T/T_c + c}\right)^m (1 + g\,(T/T_c - 1)); "
        r"v = w - \sum_k c_k (b/w)^k + \tau(T) \text{ with } w \text{ the root of the cubic}",
        source="derived here, 2026; parameters of fluids.csv, fitted to the reference equations of CoolProp 8.0.0",
        valid="fluids of fluids.csv and non-polar fluids, 0 < p <= 1e9 Pa; nearly pure "
        + ", ".join(f"{name} above {T:g} K" for name, T in COLDEST.items()),
    )
)

LAW = {
    "row": "parameters of fluids.csv for {}",
    "correlation": "parameters by correlation in omega for {}",
    "translation": "Peng-Robinson with a constant translation for {}",
}


def volume_map(species, options) -> Constants:
    """Rows of the map: c_0 .. c_3 [m3/kg], b 1.4 Q Tc [m3 K/kg] and 0.4 Tc [K] of each species; c_0 .. c_3 and b for
    matrix units; the species that have tau, that have c_1 to c_3, and whose m is 2, not 8."""
    numbers = mapped_numbers(species)
    _, b = CUBICS[options["equation"]].ab(species)

    Q = np.where(np.abs(numbers.Q) < NO_SWELLING, 0, numbers.Q)
    swelling = b / species.W * Q * (1 + TAU_POLE) * numbers.Tc
    curve = b / species.W * numbers.P
    rows = [*curve, swelling, TAU_POLE * numbers.Tc]

    notes = []
    for kind, text in LAW.items():
        mask = np.array([each == kind for each in numbers.kinds])
        if mask.any():
            notes.append(f"equation mapped: {text.format(species.named(mask))}.")

    measured = has_liquid(species) & np.array([fluid is None for fluid in numbers.fluids])
    if measured.any():
        notes.append(f"equation mapped: volume shifted to a liquid density of {species.named(measured)}.")

    notes += _unused(species)
    members = [
        species_with("Swelling", swelling),
        species_with("Curved", np.any(numbers.P[1:] != 0, axis=0)),
        species_with("Squared", numbers.m == SQUARED),
    ]
    return Constants(
        {"map_numbers": np.stack(rows)},
        unit_rows={"map_tiles": np.stack([*curve, b / species.W])},
        members="".join(members),
        notes=notes,
    )


constants("map_numbers map_tiles", volume_map, when={"equation": "mapped"}, at_once=True)
