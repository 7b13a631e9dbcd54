"""Names that other codes have for our quantities."""

import pytest

from frame.tools.validate.cantera import GETTERS
from kernels import ArgumentError
from kernels.gas.other_names import OTHER_NAMES, meant
from kernels.gas.registry import registry


@pytest.mark.parametrize(
    "name, meant",
    [
        ("viscosity", "mu"),
        ("thermal_conductivity", "lam"),
        ("cp_mass", "cp"),
        ("Dmass", "rho"),
        ("SPEED_OF_SOUND", "c"),
        ("int_energy_mass", "e"),
        ("mean_molecular_weight", "W"),
        ("mix_diff_coeffs", "D"),
    ],
)
def test_names_of_other_codes_are_understood(name, meant):
    with pytest.raises(ArgumentError, match=f"unknown quantity '{name}', did you mean '{meant}'"):
        registry.refuse_unknown_quantity([name])


def test_the_table_of_other_names_is_sound():
    """Every quantity exists, no other name is a quantity of ours, and none stands for two."""
    others = [other.lower() for names in OTHER_NAMES.values() for other in names.split()]
    assert set(OTHER_NAMES) <= set(registry.quantities)
    assert len(set(others)) == len(others) and not set(others) & set(registry.quantities)


def test_the_getters_of_cantera_are_in_the_table():
    """`validate` reads quantities from Cantera. Each is understood under Cantera's name."""
    understood = {
        name: attribute for name, attribute in GETTERS.items() if attribute.lower() not in registry.quantities
    }
    assert understood and all(meant(attribute) == name for name, attribute in understood.items())
