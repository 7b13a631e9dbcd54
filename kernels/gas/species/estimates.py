"""Estimated critical properties of species that no table has: radicals, intermediates, excited states, lumped species,
and isomers with the same name.

The first of three rules whose data are known:

1. **Redlich-Kwong a and b of the file**: Tc and pc follow from them; omega = 0.
2. **Lennard-Jones data**, of species with at most SMALL atoms other than hydrogen. Chung's relations of a simple fluid
   (Chung, Ajlan, Lee & Starling, Ind. Eng. Chem. Res. 27 (1988) 671; original not seen):
     Tc = 1.2593 eps/k, Vc = (sigma/0.809)^3 [cm3/mol, A], pc = 0.291 R Tc/Vc, omega = 0.
3. **The composition**, with sums over the elements in the form of Joback's and Lydersen's group sums (Poling, Prausnitz
   & O'Connell, 5th ed., 2-3). n: atoms other than hydrogen; x_e = n_e/n; h = n_H/n; q = min(n_H, n_O + n_N)/n:
     ln(Tc/K) = t . (1, ln n, h, q, x_e),  (pc/bar)^(-1/2) = p . (1, n_H, n_e),  Vc = v . (1, n_H, n_e) cm3/mol,
     omega = w . (1, n, h, q, x_e), cut to 0..1.5; pc to at most 204 bar.
   Above LARGEST atoms: as for LARGEST atoms in the same proportions. All elements that are not in ELEMENTS, such as
   metals, share the last coefficient. Deuterium and tritium count as hydrogen. A species of hydrogen alone gets the
   critical point of H2.

`python -m kernels.gas.fits.critical_points` fits the coefficients to measured substances, and finds the errors on
substances that the fit did not use.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .gas_constant import GAS_CONSTANT

ELEMENTS = ("C", "N", "O", "S", "F", "Cl", "Br", "I", "Si", "P", "B")
HYDROGENS = ("H", "D", "T", "Tr")
ATOMS_OF_HYDROGEN = {"Tc": 33.145, "pc": 1.2964e6, "omega": 0.0, "Vc": 6.45e-5}
SMALL = 2  # atoms other than hydrogen: up to this number rule 2 goes before rule 3
LARGEST = 40  # few measured substances are larger, none has more than 50
LEAST_ROOT = 0.07  # smallest pc^(-1/2) [bar^(-1/2)]: pc stays below 204 bar, about the pc of water
OMEGA_RANGE = (0.0, 1.5)

# Fitted by `python -m kernels.gas.fits.critical_points`. Columns: as in rule 3 above, x_e and n_e in the order of
# ELEMENTS, then all other elements; x_C is left out.
# fmt: off
COEFFICIENTS: dict[str, tuple[float, ...]] = {
    "Tc": (6.027, 0.2908, -0.1326, 0.6892, -0.3099, -0.732, 0.474, -1.057,
           -0.1088, 0.1592, 0.4774, -0.5296, 0.1209, -0.1642, 1.207),
    "pc": (0.1126, 0.003519, 0.002156, -0.002867, 0.001733, 0.002383, 0.008168,
           0.009124, 0.004505, 0.006811, 0.01057, 0.002368, 0.01173, -0.009805),
    "Vc": (14.11, 12.5, 29.54, 27.86, 25.36, 50.48, 24.84, 58.29, 73.29,
           104.5, 78.66, 60.93, 41.72, 66.08),
    "omega": (-0.1086, 0.03919, 0.0729, 0.3317, 0.2635, 0.348, 0.1352, 0.03899,
           0.2234, 0.2994, 0.1417, -0.1852, -0.096, -0.06449, 0.0004152),
}
# fmt: on


# Text of `info` for each rule. Errors: median and 90 % of the substances that the fit did not use (rule 3), and of 23
# substances of public mechanisms with Lennard-Jones data and at most two atoms other than hydrogen (rule 2).
REDLICH_KWONG = "Tc, pc of the file's Redlich-Kwong a, b; omega = 0"
SIMPLE_FLUID = (
    "Tc = 1.2593 eps/k, Vc = (sigma/0.809)^3, pc = 0.291 R Tc/Vc, omega = 0 (half of small molecules within 18 % of Tc "
    "and 70 % of pc, 90 % within 80 and 170 %)"
)
BY_COMPOSITION = (
    "from the numbers of atoms (half of 463 substances within 5, 7 and 4 % of Tc, pc, Vc and 0.06 of omega, 90 % "
    "within 16, 22, 11 % and 0.29)"
)
ROUGH = (
    "from the numbers of atoms, rough for elements other than C, H, N, O, S, F, Cl, Br, I, Si, P, B (half of 11 "
    "substances within 22, 25 and 8 % of Tc, pc, Vc)"
)
SINGLE = (
    "from the numbers of atoms, rough for fewer than three atoms other than hydrogen (Tc, pc within a factor of two)"
)


class Estimate(NamedTuple):
    """Estimated critical properties."""

    values: dict[str, float]  # {field: value}, SI units, per mole
    rule: str  # name and accuracy of the rule, for people


def counts(atoms) -> tuple[float, np.ndarray]:
    """(atoms of hydrogen, atoms of each of ELEMENTS and of all others) of ((element, number), ...)."""
    number = {element: count for element, count in atoms if element != "E"}
    hydrogen = sum(number.pop(element, 0.0) for element in HYDROGENS)
    listed = [number.pop(element, 0.0) for element in ELEMENTS]
    others = sum(number.values())
    return hydrogen, np.array([*listed, others], float)


def intensive(atoms, size) -> np.ndarray:
    """The vector (1, size(n), h, q, x_e) of rule 3, without x_C, for n > 0 atoms other than hydrogen."""
    hydrogen, heavy = counts(atoms)
    n = heavy.sum()
    polar = heavy[ELEMENTS.index("N")] + heavy[ELEMENTS.index("O")]
    return np.array([1.0, size(n), hydrogen / n, min(hydrogen, polar) / n, *heavy[1:] / n])


def extensive(atoms) -> np.ndarray:
    """The vector (1, n_H, n_e) of rule 3."""
    hydrogen, heavy = counts(atoms)
    return np.array([1.0, hydrogen, *heavy])


def by_composition(atoms) -> dict[str, float]:
    """{Tc [K], pc [Pa], omega, Vc [m3/mol]} by rule 3."""
    heavy = counts(atoms)[1]
    if not heavy.sum() > 0:
        return dict(ATOMS_OF_HYDROGEN)

    factor = min(1.0, LARGEST / heavy.sum())
    atoms = tuple((element, count * factor) for element, count in atoms)

    Tc = math.exp(intensive(atoms, math.log) @ COEFFICIENTS["Tc"])
    pc = 1e5 / max(float(extensive(atoms) @ COEFFICIENTS["pc"]), LEAST_ROOT) ** 2
    Vc = 1e-6 * (extensive(atoms) @ COEFFICIENTS["Vc"])
    omega = float(np.clip(intensive(atoms, float) @ COEFFICIENTS["omega"], *OMEGA_RANGE))

    return {"Tc": Tc, "pc": pc, "omega": omega, "Vc": float(Vc)}


def by_lennard_jones(diameter: float, well_depth: float) -> dict[str, float]:
    """{Tc [K], pc [Pa], omega, Vc [m3/mol]} by rule 2, from diameter [m] and well_depth [K]."""
    Tc = 1.2593 * well_depth
    Vc = (diameter * 1e10 / 0.809) ** 3 * 1e-6
    return {"Tc": Tc, "pc": 0.291 * GAS_CONSTANT * Tc / Vc, "omega": 0.0, "Vc": Vc}


def lennard_jones(Tc: float, Vc: float) -> dict[str, float]:
    """{diameter [m], well_depth [K]} from Tc [K] and Vc [m3/mol]: rule 2, solved for sigma and eps/k."""
    return {"diameter": 0.809e-10 * (Vc * 1e6) ** (1 / 3), "well_depth": Tc / 1.2593}


def estimated(atoms, diameter: float = math.nan, well_depth: float = math.nan, redlich_kwong=None) -> Estimate:
    """Estimate by the first rule whose data are known.

    atoms: ((element, number), ...). diameter [m], well_depth [K]: nan if unknown. redlich_kwong: (Tc [K], pc [Pa]) of
    the file's a and b.
    """
    # Rule 1
    if redlich_kwong:
        Tc, pc = redlich_kwong
        return Estimate({"Tc": Tc, "pc": pc, "omega": 0.0}, REDLICH_KWONG)

    # Rule 2
    heavy = counts(atoms)[1]
    is_small = heavy.sum() <= SMALL
    is_ion = any(element == "E" for element, _ in atoms)
    if diameter > 0 and well_depth > 0 and (is_small or is_ion):
        return Estimate(by_lennard_jones(diameter, well_depth), SIMPLE_FLUID)

    # Rule 3
    accuracy = SINGLE if is_small else BY_COMPOSITION
    if heavy[-1]:
        accuracy = ROUGH
    return Estimate(by_composition(atoms), accuracy)
