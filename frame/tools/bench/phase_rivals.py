"""Other codes with a flash, set to Peng-Robinson with the same constants: a state a call, from Python."""

from __future__ import annotations

import dataclasses
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
    "nC6": "NC6",
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


@dataclasses.dataclass(frozen=True)
class Point:
    """A state that we have found."""

    T: float  # K
    p: float  # Pa
    X: np.ndarray  # mole fractions
    of_liquid: np.ndarray  # mol/m3 of each species in the liquid
    of_vapour: np.ndarray


class Rival:
    """A code with a flash, set to the species `data`."""

    name: str
    package: str  # that has to be installed
    call: str = "Tp cold"  # of ours that it stands beside
    of_two: bool = False  # it has only states of two phases
    tolerance: float  # of beta

    def __init__(self, data):
        raise NotImplementedError

    @classmethod
    def is_installed(cls) -> bool:
        """Whether the package is there, in a version that serves."""
        return importlib.util.find_spec(cls.package) is not None

    @classmethod
    def serves(cls, data) -> bool:
        """Whether it takes such a mixture."""
        return True

    def given(self, point: Point) -> tuple:
        """Arguments of its flash."""
        return point.T, point.p, point.X

    def flash(self, *given):
        """The state, as the code has it; of T [K], p [Pa] and the mole fractions, unless `given` says otherwise."""
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


class ThermoPackUV(ThermoPack):
    """ThermoPack, two_phase_uvflash, with T and p to begin from that are off as our own start."""

    name = "ThermoPack, UV"
    call, of_two = "UV warm", True
    OFF_T, OFF_P = 1.002, 1.005

    def given(self, point: Point) -> tuple:
        """Energy and volume of ThermoPack's own split: its energies begin elsewhere."""
        model = self.model
        T, p = point.T, point.p
        found = model.two_phase_tpflash(T, p, point.X)

        energy = volume = 0.0
        parts = (found.betaL, found.x, model.LIQPH), (found.betaV, found.y, model.VAPPH)
        for share, fractions, phase in parts:
            v = model.specific_volume(T, p, fractions, phase)[0]
            volume += share * v
            energy += share * (model.enthalpy(T, p, fractions, phase)[0] - p * v)
        return point.X, energy, volume, T * self.OFF_T, p * self.OFF_P

    def flash(self, *given):
        return self.model.two_phase_uvflash(*given)


class Teqp(Rival):
    """teqp, mix_VLE_Tp: both phases of two species from a start. It has no test of stability."""

    name, package = "teqp, with a start", "teqp"
    call, of_two = "Tp warm", True
    tolerance = 1e-5  # of beta
    OFF = 1.006

    def __init__(self, data):
        import teqp

        omega = [equal_slope(omega) for omega in data.omega]
        self.model = teqp.canonical_PR(data.Tc, data.pc, omega, data.kij)

    @classmethod
    def serves(cls, data) -> bool:
        return data.ns == 2

    def given(self, point: Point) -> tuple:
        return point.T, point.p, point.of_liquid * self.OFF, point.of_vapour / self.OFF, point.X

    def flash(self, *given):
        T, p, of_liquid, of_vapour, X = given
        found = self.model.mix_VLE_Tp(T, p, of_liquid, of_vapour)
        x, y = found.rhovecL[0] / found.rhovecL.sum(), found.rhovecV[0] / found.rhovecV.sum()
        return (X[0] - x) / (y - x)

    def read(self, found) -> tuple[bool, float]:
        return 0 < found < 1, found


def equal_slope(omega: float) -> float:
    """The omega with which the alpha of 1978, which teqp takes from 0.491 on, is that of 1976 with `omega`."""
    if omega < 0.491:
        return omega
    slope = 0.37464 + 1.54226 * omega - 0.26992 * omega**2
    roots = np.roots([0.016666, -0.164423, 1.48503, 0.379642 - slope])
    return float(roots[np.isreal(roots)].real.min())


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


RIVALS: tuple[type[Rival], ...] = Thermo, ThermoPack, Feos, ThermoPackUV, Teqp


def installed(data, call: str) -> list[Rival]:
    """The codes with such a call that are installed, set to the species."""
    found = []
    for rival in RIVALS:
        if rival.call == call and rival.is_installed() and rival.serves(data):
            found.append(rival(data))
    return found
