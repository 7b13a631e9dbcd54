"""The molar gas constant R. A host with another value sets it, so that both compute with the same R."""

from __future__ import annotations

from ...engine.constants import checked_values
from ...engine.errors import refuse
from ...engine.registry import declared

GAS_CONSTANT = 8.31446261815324  # J/mol/K, exact (SI 2019)

NAME = "gas_constant"
RANGE = (8.31, 8.32)  # J/mol/K; tables since 1960 have 8.314 to 8.3147
OTHER_UNITS = {
    "J/kmol/K": 1e3,
    "kJ/mol/K": 1e-3,
    "erg/mol/K": 1e7,
    "cal/mol/K": 1 / 4.184,
    "L atm/mol/K": 1 / 101.325,
    "cm3 atm/mol/K": 1e3 / 101.325,
    "cm3 bar/mol/K": 10.0,
    "ft lbf/lbmol/R": 1 / 0.0053803203,
}

_declared = declared.constants.declare(
    NAME,
    "J/mol/K",
    "molar gas constant of the mixtures that are made afterwards",
    GAS_CONSTANT,
    range=RANGE,
    other_units=OTHER_UNITS,
)


def chosen(R: float | None = None) -> float:
    """R [J/mol/K] after a check; None: the constant `gas_constant` as it is now. Raises ArgumentError."""
    values = declared.constants.value_of(NAME) if R is None else checked_values(_declared, R)
    return float(values[0])


def refuse_other(came: float | None, R: float) -> None:
    """Raises ArgumentError if a mixture is to have another R [J/mol/K] than its species, whose numbers depend on it."""
    refuse(
        came is not None and chosen(came) != R,
        f"{NAME} = {came} came for species that have {R!r} J/mol/K: give it where the species are made, to "
        "SpeciesData.from_arrays or Mixture.from_yaml.",
    )
