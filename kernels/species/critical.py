"""Critical properties that a mixture file does not give: looked up by name in the optional package chemicals, or
estimated.

This is done only when asked for (option critical = fill). The origin of every number is recorded. A molecule is taken
from the data base only if its formula is that of the species and its values are measured. Values from group
contributions are refused, and so are single atoms other than noble gases (for carbon the data base has the solid).

Radicals and other species that are not in the data base are estimated from the Lennard-Jones parameters of the
transport data, by Chung's relations for a simple fluid: Tc = 1.2593 eps/k, Vc = (sigma/0.809)^3 [cm3/mol, A], pc =
0.291 R Tc/Vc,
omega = 0.
"""

from __future__ import annotations

import importlib.util
import math

from ..errors import MixtureError, refuse
from .data import GAS_CONSTANT

NOBLE = ("He", "Ne", "Ar", "Kr", "Xe")
ESTIMATES = (
    "JOBACK",
    "WILSON_JASPERSON",
    "FEDORS",
    "GRIGORAS",
    "HEKAYATI",
    "MEISSNER",
    "MODIFIED_WILSON_JASPERSON",
    "IHMELS",
)
RULE = "estimated: Tc = 1.2593 eps/k, Vc = (sigma/0.809)^3, pc = 0.291 R Tc/Vc, omega = 0"


def looked_up(name: str, composition: dict) -> tuple[dict, dict]:
    """({Tc [K], pc [Pa], omega, Vc [m3/mol]}, {field: origin}) from the data base. Both are empty where it does not
    have all of Tc, pc, omega. composition: element -> number of atoms."""
    try:
        import chemicals
        from chemicals.identifiers import search_chemical
    except ImportError:
        return {}, {}
    atoms = {element: float(count) for element, count in composition.items() if count}
    if sum(atoms.values()) == 1 and next(iter(atoms)) not in NOBLE or "E" in atoms:
        return {}, {}
    try:
        found = search_chemical(name)
        same = (
            "+" not in found.formula
            and "-" not in found.formula
            and {k: float(v) for k, v in chemicals.elements.simple_formula_parser(found.formula).items()} == atoms
        )
    except ValueError:
        return {}, {}
    if not same:
        return {}, {}
    values, origin = {}, {}
    for field, get, methods in (
        ("Tc", chemicals.Tc, chemicals.Tc_methods),
        ("pc", chemicals.Pc, chemicals.Pc_methods),
        ("omega", chemicals.omega, chemicals.omega_methods),
        ("Vc", chemicals.Vc, chemicals.Vc_methods),
    ):
        method = next((m for m in methods(found.CASs) if m.upper() not in ESTIMATES), None)
        value = get(found.CASs, method=method) if method else None
        if value is not None:
            values[field] = float(value)
            origin[field] = f"chemicals {chemicals.__version__}, {found.common_name} ({found.CASs}), {method}"
    return (values, origin) if {"Tc", "pc", "omega"} <= set(values) else ({}, {})


def estimated(diameter: float, well_depth: float) -> tuple[dict, dict]:
    """({field: value}, {field: origin}) as `looked_up`, from diameter [m] and well depth [K] by RULE. Both are empty
    where these are not known."""
    if not (math.isfinite(diameter) and math.isfinite(well_depth) and diameter > 0 and well_depth > 0):
        return {}, {}
    Tc, Vc = 1.2593 * well_depth, (diameter * 1e10 / 0.809) ** 3 * 1e-6
    values = {"Tc": Tc, "pc": 0.291 * GAS_CONSTANT * Tc / Vc, "omega": 0.0, "Vc": Vc}
    absent = (
        ""
        if importlib.util.find_spec("chemicals")
        else " (the package chemicals, which may have measured values, is not installed)"
    )
    return values, dict.fromkeys(values, RULE + absent)


def filled(where: str, name: str, composition: dict, diameter: float, well_depth: float) -> tuple[dict, dict]:
    """({field: value}, {field: origin}), looked up or else estimated. Raises MixtureError, which names the species,
    where neither is possible. where: start of the message."""
    values, origin = looked_up(name, composition)
    if not values:
        values, origin = estimated(diameter, well_depth)
    refuse(
        not values,
        f"{where}: critical-parameters is missing, the package chemicals has no measured ones for this name and "
        "formula (or is not installed), and there are no transport data (diameter, well-depth) to estimate them from.",
        MixtureError,
    )
    return values, origin
