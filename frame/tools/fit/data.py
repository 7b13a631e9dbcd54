"""Data of a fit: a fluid's constants, and its states of CoolProp or of a file of measurements."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np

from kernels.gas.species import GAS_CONSTANT as R
from kernels.gas.species.atomic_weights import ATOMIC_WEIGHT
from kernels.gas.species.critical import shipped, table
from kernels.gas.species.fields import BY_NAME

from ...errors import ArgumentError, closest
from ..reference_fluids import DILUTE, LIQUID, POINT, VAPOUR, Critical, States
from . import columns

UNITS = dict(T="K", p="Pa", rho="kg/m3", cp="J/kg/K", c="m/s", mu="Pa s", lam="W/m/K", cp0="J/kg/K")
NEEDED = ("T", "p", "rho")  # of every row
LAYOUT = columns.Layout(UNITS, NEEDED, "state")
LEAST_ROWS = 30  # of a fit of eight numbers

# Bounds of a value over a scale of the fluid: every real state lies within, and most wrong units outside.
BOUNDS = {
    "T": (0.2, 60.0, "Tc"),
    "p": (1e-10, 200.0, "pc"),
    "rho": (1e-10, 4.5, "the critical density"),
    "cp": (1.2, 1000.0, "R/W"),
    "cp0": (2.4, 300.0, "R/W"),
    "c": (0.05, 60.0, "sqrt(R T/W)"),
    "mu": (1e-7, 10.0, "1 Pa s"),
    "lam": (1e-4, 10.0, "1 W/m/K"),
}
Z_OF_GAS = (0.1, 6.0)  # of p W/(rho R T) above 1.1 Tc
THIN = 1e-3  # Z nearer to 1 counts as a dilute gas


@dataclasses.dataclass(frozen=True)
class Data:
    """States to fit, states to judge the fit by, and where they come from."""

    critical: Critical
    fitted: States
    judged: States
    source: str  # citation
    held_out: bool  # whether no judged state was fitted


def constants(name: str, given: dict[str, float | None]) -> Critical:
    """The constants of a fluid: what is given, else of the substance that the layer knows by this name.

    given: {"Tc" [K], "pc" [Pa], "W" [kg/mol], "omega", "rho_c" [kg/m3]: number or None}. Raises ArgumentError.
    """
    known = _known(name)
    values = {key: known.get(key) if value is None else value for key, value in given.items()}
    lacking = [key for key in ("Tc", "pc", "W", "omega") if values[key] is None]
    if lacking:
        names = sorted({key for key, _ in table()})
        raise ArgumentError(
            f"fluid '{name}': {', '.join(lacking)} not known{closest(name.upper(), names)}; give "
            f"{' '.join(f'--{key}' for key in lacking)} (K, Pa, kg/mol, 1)."
        )

    numbers = {key: float(value) for key, value in values.items() if value is not None}
    for key in ("Tc", "pc", "W", "omega"):
        field = BY_NAME[key]
        if not field.low <= numbers[key] <= field.high:
            raise ArgumentError(f"--{key} {numbers[key]:g}: wanted {field.range} {field.unit}.")

    # Lee & Kesler's critical compressibility, where the critical density is not known.
    Z_c = 0.291 - 0.080 * numbers["omega"]
    numbers.setdefault("rho_c", numbers["pc"] * numbers["W"] / (Z_c * R * numbers["Tc"]))

    return Critical(name, *(numbers[key] for key in ("Tc", "pc", "W", "omega", "rho_c")))


def substance(name: str) -> tuple[str, tuple]:
    """(CAS number, atoms) of the substance with this name in mechanisms; ("", ()) if there is no
    such substance, or if the name has isomers."""
    rows = {(row.cas, atoms) for (label, atoms), row in table().items() if label == name.upper() and row.cas}
    return rows.pop() if len(rows) == 1 else ("", ())


def _known(name: str) -> dict[str, float]:
    """Constants of the substance with this name; empty if it is not known."""
    cas, atoms = substance(name)
    if not cas:
        return {}

    measured, _ = shipped().get(cas, ({}, {}))
    W = 1e-3 * sum(count * ATOMIC_WEIGHT[element] for element, count in atoms)
    out = {key: measured[key] for key in ("Tc", "pc", "omega") if key in measured} | {"W": W}
    if measured.get("Vc", 0) > 0:
        out["rho_c"] = W / measured["Vc"]

    return out


# ---- files


def read(path: str | pathlib.Path, critical: Critical, cp0=None) -> States:
    """States of a file with a line of names, then a state a line: T, p, rho, and any of cp, c, mu, lam, cp0, in SI.

    A value may be blank. cp0: function of T [K] that gives the ideal gas's heat capacity [J/kg/K] where the file does
    not. Two lines of the same T and p are saturated liquid and vapour. Raises ArgumentError, which names the line, the
    column, what came and what was wanted.
    """
    found = columns.read(path, LAYOUT)
    count = found["T"].size
    if count < LEAST_ROWS:
        raise ArgumentError(f"--data {path}: {count} states came, wanted {LEAST_ROWS} or more.")

    values = {name: found.get(name, np.full(count, np.nan)) for name in UNITS}
    _check(path, critical, values)

    if cp0 is not None:
        values["cp0"] = np.where(np.isfinite(values["cp0"]), values["cp0"], cp0(values["T"]))
    _need_cp0(path, values)

    # Without cp0 a state still counts by its density and viscosity.
    unknown = ~np.isfinite(values["cp0"])
    values["cp0"] = np.where(unknown, 4.0 * R / critical.W, values["cp0"])
    return States(**values, rho_p=np.full(count, np.nan), kind=_kinds(critical, values))


def _check(path, critical: Critical, values: dict) -> None:
    """Refuses values that no fluid has: most come in another unit."""
    T = values["T"]
    scales = {
        "T": critical.Tc,
        "p": critical.pc,
        "rho": critical.rho_c,
        "cp": R / critical.W,
        "cp0": R / critical.W,
        "c": np.sqrt(R * np.abs(T) / critical.W),
        "mu": 1.0,
        "lam": 1.0,
    }
    for name, (low, high, scale) in BOUNDS.items():
        share = values[name] / scales[name]
        wrong = np.flatnonzero(~((share >= low) & (share <= high)) & np.isfinite(values[name]))
        if wrong.size:
            k = wrong[0]
            raise ArgumentError(
                f"--data {path}, state {k + 1}: {name} = {values[name][k]:g} came, wanted {low:g} to {high:g} times "
                f"{scale}; the unit is {UNITS[name]}."
            )

    Z = values["p"] * critical.W / (values["rho"] * R * T)
    wrong = np.flatnonzero((T > 1.1 * critical.Tc) & ~((Z > Z_OF_GAS[0]) & (Z < Z_OF_GAS[1])))
    if wrong.size:
        k = wrong[0]
        raise ArgumentError(
            f"--data {path}, state {k + 1}: T = {T[k]:g} K, p = {values['p'][k]:g} Pa, rho = {values['rho'][k]:g} "
            f"kg/m3 came: p W/(rho R T) = {Z[k]:.2g}, wanted {Z_OF_GAS[0]:g} to {Z_OF_GAS[1]:g} above Tc; look at "
            "the units."
        )


def _need_cp0(path, values: dict) -> None:
    """Refuses heat capacities, sound speeds and conductivities at which the ideal gas's heat capacity is unknown."""
    unknown = ~np.isfinite(values["cp0"])
    for name in ("cp", "c", "lam"):
        wrong = np.flatnonzero(unknown & np.isfinite(values[name]))
        if wrong.size:
            raise ArgumentError(
                f"--data {path}, state {wrong[0] + 1}: {name} came without cp0, the ideal gas's heat capacity "
                "[J/kg/K] at that T; add a column cp0, or give --thermo FILE with the species' polynomial."
            )


def _kinds(critical: Critical, values: dict) -> np.ndarray:
    """Saturated pairs, dilute states, points."""
    T, p, rho = (values[name] for name in NEEDED)
    kinds = np.full(T.size, POINT)
    kinds[(np.abs(p * critical.W / (rho * R * T) - 1) < THIN) & (rho < 0.01 * critical.rho_c)] = DILUTE

    places: dict = {}
    for k, state in enumerate(zip(T, p)):
        places.setdefault(state, []).append(k)
    for pair in places.values():
        if len(pair) == 2 and rho[pair].max() > 1.5 * rho[pair].min() and T[pair[0]] < critical.Tc:
            first, second = sorted(pair, key=lambda k: rho[k])
            kinds[first], kinds[second] = VAPOUR, LIQUID

    return kinds
