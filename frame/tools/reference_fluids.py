"""States of reference equations, by CoolProp: of pure fluids, on grids and at random; regions of the T-rho plane.

CoolProp is a need of the commands alone that compare with it or fit to it.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util

import numpy as np

from kernels.gas.species.fluids import COOLPROP as FLUIDS

from ..errors import ArgumentError, closest

QUANTUM = ("H2", "pH2", "He")  # compared up to QUANTUM_PRESSURE below 4 Tc: the rest is solid, or next to it
QUANTUM_PRESSURE = 410e5  # Pa
HIGHEST = (4000.0, 1000e5)  # K, Pa
LOWEST = 60.0  # K, of fluids that are no quantum fluids
QUANTITIES = "rho cp c mu lam".split()

# Kinds of states: points of the grid, saturated liquid or vapour, gas so thin that it is ideal.
POINT, LIQUID, VAPOUR, DILUTE = range(4)

REGIONS = {
    "liq": "liquid, T < 0.95 Tc",
    "satliq": "saturated liquid, T < 0.95 Tc",
    "vap": "vapour, T < 0.95 Tc",
    "near": "critical region, T within 6 % of Tc and density within 60 %",
    "trans": "0.95 to 1.2 Tc, without the critical region",
    "sup": "1.2 to 3 Tc",
    "hot": "above 3 Tc",
}


def missing() -> str | None:
    """Reason why there are no reference equations; None where CoolProp is installed."""
    if importlib.util.find_spec("CoolProp"):
        return None
    return "the Python package CoolProp is not installed: pip install CoolProp"


@dataclasses.dataclass(frozen=True)
class States:
    """States of a fluid, all arrays (n,), SI units; NaN where a value is not known."""

    T: np.ndarray  # K
    p: np.ndarray  # Pa
    rho: np.ndarray  # kg/m3
    cp: np.ndarray  # J/kg/K
    c: np.ndarray  # m/s
    mu: np.ndarray  # Pa s
    lam: np.ndarray  # W/m/K
    cp0: np.ndarray  # J/kg/K, of the ideal gas at T
    rho_p: np.ndarray  # kg/m3/Pa, (d rho/d p) at constant T
    kind: np.ndarray  # POINT, LIQUID, VAPOUR or DILUTE

    @classmethod
    def of(cls, rows) -> States:
        """From rows of the ten values."""
        names = [field.name for field in dataclasses.fields(cls)]
        columns = dict(zip(names, np.array(rows, float).reshape(-1, len(names)).T))
        columns["kind"] = columns["kind"].astype(int)
        return cls(**columns)

    def chosen(self, pick) -> States:
        """The states of a mask or of indices."""
        return States(*(getattr(self, field.name)[pick] for field in dataclasses.fields(self)))

    @property
    def size(self) -> int:
        return self.T.size


@dataclasses.dataclass(frozen=True)
class Critical:
    """Constants of a fluid."""

    name: str
    Tc: float  # K
    pc: float  # Pa
    W: float  # kg/mol
    omega: float
    rho_c: float  # kg/m3


def regions(states: States, critical: Critical) -> dict[str, np.ndarray]:
    """{name of REGIONS: mask}. A state near the critical point counts there only; dilute states count nowhere."""
    Tr, dr = states.T / critical.Tc, states.rho / critical.rho_c
    point = states.kind == POINT
    near = (np.abs(Tr - 1) < 0.06) & (np.abs(dr - 1) < 0.6) & (states.kind != DILUTE)
    cold = (Tr < 0.95) & ~near

    return {
        "liq": point & cold & (dr > 1),
        "satliq": (states.kind == LIQUID) & cold,
        "vap": cold & ((point & (dr <= 1)) | (states.kind == VAPOUR)),
        "near": near,
        "trans": point & (Tr >= 0.95) & (Tr < 1.2) & ~near,
        "sup": point & (Tr >= 1.2) & (Tr < 3),
        "hot": point & (Tr >= 3),
    }


class Reference:
    """A pure fluid of CoolProp's reference equations (HEOS).

    name: of FLUIDS, or any of CoolProp's own names. Raises ArgumentError for an unknown name, or without CoolProp.
    """

    def __init__(self, name: str):
        why = missing()
        if why:
            raise ArgumentError(f"fluid '{name}': {why}.")

        import CoolProp.CoolProp as CP

        self.name, self.full_name = name, FLUIDS.get(name, name)
        try:
            self.state = state = CP.AbstractState("HEOS", self.full_name)
        except ValueError:
            known = [*FLUIDS, *CP.FluidsList()]
            raise ArgumentError(
                f"fluid '{name}' is not in CoolProp{closest(name, known)}; wanted {', '.join(FLUIDS)}, or a name there."
            ) from None

        self.critical = Critical(
            name,
            state.T_critical(),
            state.p_critical(),
            state.molar_mass(),
            state.acentric_factor(),
            state.rhomass_critical(),
        )
        self.quantum = state.T_critical() < 40
        coldest = LOWEST if LOWEST < 0.5 * self.critical.Tc else 1.0
        self.T_range = max(state.Ttriple() * 1.002, coldest), min(state.Tmax(), HIGHEST[0])
        self.p_highest = min(state.pmax(), HIGHEST[1])

    def citation(self) -> str:
        """Keys of the literature in CoolProp: of the equation, the viscosity and the conductivity."""
        import CoolProp.CoolProp as CP

        keys = [CP.get_BibTeXKey(self.full_name, kind) for kind in ("EOS", "VISCOSITY", "CONDUCTIVITY")]
        return " ".join(dict.fromkeys(key for key in keys if key and not key.startswith("__")))

    def _values(self, kind: int):
        """The row of a state, after an update; None where the equation has no value."""
        import CoolProp.CoolProp as CP

        state = self.state
        try:
            row = [state.T(), state.p(), state.rhomass(), state.cpmass(), state.speed_sound()]
        except ValueError:
            return None

        for transport in (state.viscosity, state.conductivity):
            try:
                row.append(transport())
            except ValueError:  # no correlation, or outside
                row.append(np.nan)

        row.append(state.cp0mass())
        saturated = kind in (LIQUID, VAPOUR)
        slope = np.nan
        if not saturated:
            slope = state.first_partial_deriv(CP.iDmass, CP.iP, CP.iT)
        else:  # the derivative of the phase alone, by T and rho
            slope = self._slope_of_phase(row[2], row[0])
        row += [slope, kind]

        good = np.isfinite(row[:5]).all() and row[2] > 0 and row[3] > 0
        return row if good else None

    def _slope_of_phase(self, rho: float, T: float) -> float:
        import CoolProp.CoolProp as CP

        phase = _phase_state(self.full_name)
        phase.update(CP.DmassT_INPUTS, rho, T)
        return phase.first_partial_deriv(CP.iDmass, CP.iP, CP.iT)

    def at(self, T: float, p: float):
        """The row of a state at T [K], p [Pa], as States.of reads it; None outside the range, or in a solid."""
        import CoolProp.CoolProp as CP

        if self.quantum and T < 4 * self.critical.Tc and p > QUANTUM_PRESSURE:
            return None
        try:
            self.state.update(CP.PT_INPUTS, p, T)
        except ValueError:
            return None

        return self._values(POINT)

    def grid(self, temperatures: int = 44, pressures: int = 14) -> States:
        """States for a fit: a grid in T and p with more near the critical point, the saturation line, and the thin gas.

        temperatures: two fifths over the whole range, the others at 0.45 to 1.6 Tc. pressures: over 1 bar to the
        highest; six more from 0.5 to 3.5 pc.
        """
        low, high = self.T_range
        Tc, pc = self.critical.Tc, self.critical.pc
        wide = np.geomspace(low, high, 2 * temperatures // 5)
        close = np.clip(Tc * np.linspace(0.45, 1.6, temperatures - wide.size), low, high)
        along_p = np.geomspace(1e5, self.p_highest, pressures)
        critical_p = np.minimum(pc * np.array([0.5, 0.8, 1.05, 1.25, 2.0, 3.5]), self.p_highest)

        rows = []
        for T in np.unique(np.concatenate([wide, close])):
            for p in np.unique(np.concatenate([along_p, critical_p])):
                rows.append(self.at(T, p))

        rows += self.near_critical()
        rows += self.saturated(np.clip(Tc * np.linspace(0.4, 0.99, 36), low, None))
        rows += self.dilute(np.geomspace(low, high, 60))
        return States.of([row for row in rows if row])

    def near_critical(self, temperatures: int = 8, densities: int = 9) -> list:
        """Rows at 0.945 to 1.055 Tc, 0.4 to 1.6 times the critical density; none of two phases."""
        import CoolProp.CoolProp as CP

        Tc, rho_c = self.critical.Tc, self.critical.rho_c
        rows = []
        for T in Tc * np.linspace(0.945, 1.055, temperatures):
            for rho in rho_c * np.linspace(0.4, 1.6, densities):
                try:
                    self.state.update(CP.DmassT_INPUTS, rho, T)
                except ValueError:
                    continue
                if self.state.phase() != CP.iphase_twophase:
                    rows.append(self._values(POINT))

        return rows

    def saturated(self, temperatures) -> list:
        """Rows of liquid and vapour at these temperatures [K]; none for a mixture such as air, whose line is two."""
        import CoolProp.CoolProp as CP

        rows = []
        for T in np.unique(temperatures):
            for quality, kind in ((0, LIQUID), (1, VAPOUR)):
                try:
                    self.state.update(CP.QT_INPUTS, quality, T)
                except ValueError:
                    continue
                rows.append(self._values(kind))

        return [] if self.full_name == "Air" else rows

    def dilute(self, temperatures) -> list:
        """Rows of the gas at 1000 Pa, below 0.5 Tc at 10 Pa, where the vapour pressure may be lower."""
        import CoolProp.CoolProp as CP

        rows = []
        self.state.specify_phase(CP.iphase_gas)
        for T in temperatures:
            try:
                self.state.update(CP.PT_INPUTS, 1e3 if T > 0.5 * self.critical.Tc else 10.0, T)
            except ValueError:
                continue
            rows.append(self._values(DILUTE))
        self.state.unspecify_phase()

        return rows

    def random(self, n: int, seed: int) -> States:
        """n random states: half in ln T over the whole range, half uniform in 0.5 to 1.6 Tc; p uniform in ln p.

        A tenth more are saturated states at random temperatures. Fewer where the fluid is solid.
        """
        random = np.random.default_rng([seed, sum(map(ord, self.full_name))])
        low, high = self.T_range
        Tc = self.critical.Tc

        T = np.where(
            random.random(n) < 0.5,
            np.exp(random.uniform(np.log(low), np.log(high), n)),
            Tc * random.uniform(0.5, 1.6, n),
        )
        p = np.exp(random.uniform(np.log(1e5), np.log(self.p_highest), n))

        rows = [self.at(*state) for state in zip(np.clip(T, low, high), p)]
        rows += self.saturated(random.uniform(max(low, 0.4 * Tc), 0.99 * Tc, n // 20))
        return States.of([row for row in rows if row])


@functools.cache
def _phase_state(name: str):
    """A state of its own in which a phase is imposed, so that T and rho need no flash."""
    import CoolProp.CoolProp as CP

    state = CP.AbstractState("HEOS", name)
    state.specify_phase(CP.iphase_gas)
    return state
