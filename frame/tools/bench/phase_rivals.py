"""Other codes with a flash at T and p, set to Peng-Robinson with the same constants: a state a call, from Python."""

from __future__ import annotations

import importlib
import importlib.util

import numpy as np

from kernels.gas.species import GAS_CONSTANT as R

THERMOPACK_NAMES = {
    "N2": "N2",
    "C12H26": "NC12",
    "CH4": "C1",
    "CO2": "CO2",
    "C2H6": "C2",
    "C3H8": "C3",
    "iC4": "IC4",
    "nC4": "NC4",
    "iC5": "IC5",
    "nC5": "NC5",
}
EXACT = 0.45723552892138218, 0.07779607390388846  # Peng-Robinson's factors of a and b
ROUNDED = 0.45724, 0.0778  # feos


def equal_attraction(data, has, wants):
    """Tc [K], pc [Pa], omega with which the factors `wants` of a and b give the a and b that `has` gives with the data,
    at all temperatures and with the alpha of 1976: b fixes pc by Tc, sqrt(a) = sqrt(ac) (1 + m - m sqrt(T/Tc)) fixes
    Tc and m, and m fixes omega."""
    m = 0.37464 + 1.54226 * data.omega - 0.26992 * data.omega**2
    ac = has[0] * R**2 * data.Tc**2 / data.pc
    b = has[1] * R * data.Tc / data.pc

    slope = np.sqrt(ac) * m / np.sqrt(data.Tc)
    k = wants[0] * R * b / wants[1]  # ac/Tc of the wanted factors
    Tc = (np.sqrt(ac) * (1 + m) / (np.sqrt(k) + slope)) ** 2
    m = slope / np.sqrt(k)
    omega = (1.54226 - np.sqrt(1.54226**2 + 4 * 0.26992 * (0.37464 - m))) / (2 * 0.26992)
    return Tc, wants[1] * R * Tc / b, omega


class Rival:
    """A code with a flash, set to the species `data`."""

    name: str
    package: str  # that has to be installed
    tolerance: float  # of beta

    def __init__(self, data):
        raise NotImplementedError

    @classmethod
    def is_installed(cls) -> bool:
        """Whether the package is there, in a version that serves."""
        return importlib.util.find_spec(cls.package) is not None

    def flash(self, T, p, X):
        """The state at T [K], p [Pa] of the mole fractions X, as the code has it."""
        raise NotImplementedError

    def read(self, found) -> tuple[bool, float]:
        """Whether the state is two phases, and the mole share of one of them."""
        raise NotImplementedError


class Thermo(Rival):
    """The package thermo, FlashVL."""

    name, package = "thermo", "thermo"
    tolerance = 1e-3  # of beta: its own is 1e-5, at bubble and dew points beta is steep

    def __init__(self, data):
        import thermo

        numbers = dict(Tcs=list(data.Tc), Pcs=list(data.pc), omegas=list(data.omega))
        cp = [thermo.HeatCapacityGas(poly_fit=(50.0, 2000.0, [float(row[0]) * R])) for row in data.nasa_low]
        constants = thermo.ChemicalConstantsPackage(**numbers, MWs=list(1e3 * data.W), CASs=list(data.names))
        correlations = thermo.PropertyCorrelationsPackage(constants, HeatCapacityGases=cp, skip_missing=True)
        how = {"eos_kwargs": {**numbers, "kijs": data.kij.tolist()}, "HeatCapacityGases": cp}
        gas, liquid = thermo.CEOSGas(thermo.PRMIX, **how), thermo.CEOSLiquid(thermo.PRMIX, **how)
        self.flasher = thermo.FlashVL(constants, correlations, liquid=liquid, gas=gas)

    def flash(self, T, p, X):
        return self.flasher.flash(T=float(T), P=float(p), zs=X.tolist())

    def read(self, found) -> tuple[bool, float]:
        return found.phase_count == 2, found.betas[0]


class ThermoPack(Rival):
    """ThermoPack, two_phase_tpflash. It has constants of its own, which the data have to be."""

    name, package = "ThermoPack", "thermopack"
    tolerance = 1e-5  # of beta; its own is 1e-7

    def __init__(self, data):
        from thermopack.cubic import cubic

        names = ",".join(THERMOPACK_NAMES[name] for name in data.names)
        self.model = cubic(names, "PR", alpha="Classic")
        for i in range(data.ns):
            for j in range(data.ns):
                if i != j:
                    self.model.set_kij(i + 1, j + 1, data.kij[i, j])

    def flash(self, T, p, X):
        return self.model.two_phase_tpflash(float(T), float(p), X)

    def read(self, found) -> tuple[bool, float]:
        return found.phase == self.model.TWOPH, found.betaV


def feos_equation(data, Tc, pc, omega):
    """feos' Peng-Robinson of the species with these critical data, and the k_ij of `data`."""
    import feos

    records = [
        feos.PureRecord(feos.Identifier(name=name), 1e3 * W, tc=T, pc=p, acentric_factor=w)
        for name, W, T, p, w in zip(data.names, data.W, Tc, pc, omega)
    ]
    pairs = []
    for i in range(data.ns):
        for j in range(i):
            pairs.append(feos.BinaryRecord(records[i].identifier, records[j].identifier, k_ij=data.kij[i, j]))
    return feos.EquationOfState.peng_robinson(feos.Parameters.from_records(records, pairs))


class Feos(Rival):
    """feos, PhaseEquilibrium.tp_flash, which raises RuntimeError for one phase."""

    name, package = "feos", "feos"
    tolerance = 1e-5  # of beta; it stops at 1e-8 of ln K

    def __init__(self, data):
        self.equation = feos_equation(data, *equal_attraction(data, EXACT, ROUNDED))

    @classmethod
    def is_installed(cls) -> bool:
        """As of Rival; before 0.10 feos has other names."""
        return super().is_installed() and hasattr(importlib.import_module(cls.package), "Parameters")

    def flash(self, T, p, X):
        import feos
        import si_units as si

        try:
            return feos.PhaseEquilibrium.tp_flash(self.equation, T * si.KELVIN, p * si.PASCAL, X)
        except RuntimeError:
            return None

    def read(self, found) -> tuple[bool, float]:
        return found is not None, np.nan if found is None else found.vapor_phase_fraction


RIVALS: tuple[type[Rival], ...] = Thermo, ThermoPack, Feos


def installed(data) -> list[Rival]:
    """The codes that are installed, set to the species."""
    return [rival(data) for rival in RIVALS if rival.is_installed()]
