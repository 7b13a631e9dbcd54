"""A host's own gas constant: every model computes with it, the usual number changes nothing, and a number in another
unit is named."""

# ruff: noqa: F811  the fixture of device_for_tests.py is an argument here
import sys

import numpy as np
import pytest
import test_kinetics
from device_for_tests import be  # noqa: F401  be is a fixture
from hosts import ROOT
from kernel_cases import compare
from reference import LD, evaluate, kinetics
from test_point import called

import kernels
from kernels import ArgumentError, Mixture, PointFunction, SpeciesData, registry
from kernels.gas.point import device_source
from kernels.gas.species import GAS_CONSTANT, units

OWN = 8.3143  # J/mol/K, of tables of 1965; 2e-5 below the usual number
H2_O2 = ROOT / "examples" / "mechanisms" / "h2_o2.yaml"
CH4_O2 = ROOT / "examples" / "mixtures" / "ch4_o2_4.yaml"
RNG = np.random.default_rng(3)
T, p = RNG.uniform(300, 2500, 50), RNG.uniform(1e5, 3e7, 50)
EPS = np.finfo(float).eps


@pytest.fixture
def oracles_of_the_host(monkeypatch):
    """R of the host in all NumPy oracles."""
    for name, module in list(sys.modules.items()):
        if name.startswith("reference.") and hasattr(module, "R"):
            monkeypatch.setattr(module, "R", LD(str(OWN)))


@pytest.mark.parametrize(
    "options",
    [
        dict(equation="pr", translation="peneloux"),
        dict(equation="rkpr", viscosity="lucas"),
        dict(equation="mapped", viscosity="residual", cold_cp="fitted"),
    ],
    ids=lambda options: options["equation"],
)
@pytest.mark.quick(options={"equation": "mapped", "viscosity": "residual", "cold_cp": "fitted"})
def test_properties_of_real_gases(options, oracles_of_the_host):
    """Against the oracles with this R, at the tolerances of the usual number; its change is 1e8 times as large."""
    mix = Mixture.from_yaml(CH4_O2, gas_constant=OWN, **options)
    Y = RNG.dirichlet(np.ones(mix.ns), T.size).T

    got = mix.properties("rho h cp c s mu lam", T=T, p=p, Y=Y)
    compare("rho h cp c s mu lam", got, evaluate(mix.species, T=T, p=p, Y=Y, **options), str(options))


def test_rates(oracles_of_the_host):
    """Every kind of reaction, equilibrium constants too. An activation energy of the file becomes E/R with this R; one
    in K stays."""
    usual, mix = (
        Mixture.from_yaml(test_kinetics.mechanisms.path(), "ideal", equation="ideal", gas_constant=R)
        for R in (GAS_CONSTANT, OWN)
    )
    T, p, Y = test_kinetics.states()

    got = mix.properties("omega rate_f rate_r Kc", T=T, p=p, Y=Y)
    test_kinetics.compare(mix, got, test_kinetics.oracle(mix, T, p, Y))

    assert kinetics.R == LD(str(OWN))
    before, now = (
        np.array([r.rate.E for r in m.species.mechanism.reactions if hasattr(r.rate, "E")]) for m in (usual, mix)
    )
    in_kelvin = before == now
    np.testing.assert_allclose((now * OWN)[~in_kelvin], (before * GAS_CONSTANT)[~in_kelvin], rtol=4 * EPS)
    assert (in_kelvin & (now != 0)).sum() == 1


def test_activation_temperatures_stay():
    """E in K is E/R itself."""
    kelvin = units.Units(activation=1.0, R=OWN)
    assert kelvin.energy_over_R(1000.0) == kelvin.energy_over_R("1000 K") == 1000.0
    assert kelvin.energy_over_R("1000 J/mol") == pytest.approx(1000 / OWN, rel=4 * EPS)


def test_laws_of_an_ideal_gas():
    """rho goes as 1/R; h, cp and e as R: sums of terms of one sign each, 16 eps. By species from arrays, too."""
    usual, own = (Mixture.from_yaml(H2_O2, equation="ideal", gas_constant=R) for R in (GAS_CONSTANT, OWN))
    Y = RNG.dirichlet(np.ones(own.ns), T.size).T
    names = "rho h cp e R_s"
    before, now = (mix.properties(names, T=T, p=p, Y=Y) for mix in (usual, own))

    ratio = OWN / GAS_CONSTANT
    for name in names.split():
        power = -1 if name == "rho" else 1
        np.testing.assert_allclose(
            now[name], before[name] * ratio**power, rtol=16 * EPS, atol=16 * EPS * np.abs(before[name]).max()
        )

    s = own.species
    arrays = dict(names=s.names, W=s.W, omega=s.omega, Tc=s.Tc, pc=s.pc, nasa_low=s.nasa_low, nasa_high=s.nasa_high)
    of_arrays = SpeciesData.from_arrays(**arrays, T_mid=s.T_mid, p_ref=s.p_ref, without_critical=True, gas_constant=OWN)
    again = Mixture.from_species(of_arrays, equation="ideal").properties(names, T=T, p=p, Y=Y)
    assert all((again[name] == now[name]).all() for name in again)


def test_on_a_device(be):
    """The launch of a device has it: exp of the device, 2000 eps of the largest."""
    mix = Mixture.from_yaml(H2_O2, equation="ideal", gas_constant=OWN)
    Y = RNG.dirichlet(np.ones(mix.ns), T.size).T
    there, here = (mix.properties("rho h", T=T, p=p, Y=Y, backend=backend) for backend in (be, "cpu"))
    for name in here:
        np.testing.assert_allclose(there[name], here[name], rtol=0, atol=2000 * EPS * np.abs(here[name]).max())


def test_the_usual_number_changes_no_bit():
    told = Mixture.from_yaml(H2_O2, equation="ideal", gas_constant=GAS_CONSTANT)
    silent = Mixture.from_yaml(H2_O2, equation="ideal")
    given, made = ["T", "p", "Y"], ["rho", "omega"]
    assert device_source(told, made, given) == device_source(silent, made, given)


def test_functions_of_a_point_and_their_device_source():
    """A function of one point has the R of its mixture: the same bodies as a block call, other exp: 2000 eps."""
    mix = Mixture.from_yaml(H2_O2, equation="ideal", gas_constant=OWN)
    Y = RNG.dirichlet(np.ones(mix.ns), T.size).T
    rho, h = called(PointFunction(mix, ["rho", "h"], ["T", "p", "Y"]), dict(T=T, p=p, Y=Y))
    wanted = mix.properties("rho h", T=T, p=p, Y=Y)

    np.testing.assert_allclose(rho, wanted["rho"], rtol=16 * EPS)
    np.testing.assert_allclose(h, wanted["h"], rtol=16 * EPS, atol=2000 * EPS * np.abs(wanted["h"]).max())
    assert f"#define FRAME_GAS_CONSTANT {OWN!r}\n" in device_source(mix, ["rho"], ["T", "p", "Y"])


def test_the_constant_counts_for_mixtures_made_afterwards():
    before = Mixture.from_yaml(CH4_O2)
    with registry.temporary():
        kernels.set_constant("gas_constant", OWN)
        after = Mixture.from_yaml(CH4_O2)
        assert kernels.NoSpecies(2).R == OWN

    assert (before.species.R, after.species.R) == (GAS_CONSTANT, OWN)
    assert Mixture.from_yaml(CH4_O2).species.R == GAS_CONSTANT
    assert after.species.subset(after.names[:2]).R == OWN


@pytest.mark.parametrize(
    "came, unit",
    [
        (8314.46, "J/kmol/K"),
        (8.314e-3, "kJ/mol/K"),
        (8.314e7, "erg/mol/K"),
        (1.987, "cal/mol/K"),
        (0.082057, "L atm/mol/K"),
        (82.057, "cm3 atm/mol/K"),
        (83.14, "cm3 bar/mol/K"),
        (1545.35, "ft lbf/lbmol/R"),
        (287.05, ""),
    ],
)
def test_a_number_in_another_unit_is_named(came, unit):
    with pytest.raises(ArgumentError) as caught:
        Mixture.from_yaml(CH4_O2, gas_constant=came)

    message = str(caught.value)
    assert message.startswith(f"constant 'gas_constant' [J/mol/K]: {came} came")
    assert message.endswith(", wanted 8.31 to 8.32.")
    assert not unit or f"which seems to be in {unit}," in message
    assert ("seems" in message) == (came != 287.05)


def test_species_keep_their_number():
    mix = Mixture.from_yaml(CH4_O2, gas_constant=OWN)
    assert Mixture(mix.species, gas_constant=OWN).species.R == OWN
    with pytest.raises(ArgumentError, match=r"gas_constant = 8.3145 came for species that have 8.3143 J/mol/K"):
        Mixture(mix.species, gas_constant=8.3145)
