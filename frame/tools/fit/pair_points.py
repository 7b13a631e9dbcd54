"""Bubble and dew points of two species: from arrays, from a file, or from CoolProp's reference mixtures."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np

from kernels.engine.values import real_array
from kernels.gas.species.names import own_name as name_of_species

from ...errors import ArgumentError, refuse
from ..reference_fluids import missing
from . import columns
from .data import substance

SUM = 0.01  # by which two mole fractions of a phase may miss 1: rounded numbers
COLDEST, HOTTEST = 1.0, 6000.0  # K

# Points of reference mixtures.
TEMPERATURES, SHARES = 8, 9
HIGHEST_T = 0.95  # of the larger Tc
HIGHEST_P = 3.0  # of the larger pc: beyond, CoolProp's searches end in other roots
LEAST_DIFFERENCE = 0.01  # of the mole fractions of both phases: closer points are next to the critical point


@dataclasses.dataclass(frozen=True)
class Points:
    """Points on the boundary of two phases of two species, all arrays (n,)."""

    T: np.ndarray  # K
    p: np.ndarray  # Pa
    x: np.ndarray  # mole fraction of the first species in the liquid; NaN at a dew point
    y: np.ndarray  # the same in the vapour; NaN where it was not measured
    source: str = "points"

    @classmethod
    def of(cls, T, p, x=None, y=None, source: str = "points", where: str = "") -> Points:
        """From numbers and arrays, which broadcast. where: begins messages. Raises ArgumentError, which names the point
        (from 1), what came and what was wanted."""
        given = [np.nan if each is None else real_array(name, each) for name, each in zip("Tpxy", (T, p, x, y))]
        try:
            T, p, x, y = (each.ravel() for each in np.broadcast_arrays(*given))
        except ValueError:
            shapes = ", ".join(f"{name} {np.shape(each)}" for name, each in zip("Tpxy", given))
            raise ArgumentError(f"{where}shapes do not fit each other: {shapes}.") from None

        points = cls(T, p, x, y, source)
        points._check(where)
        return points

    def _check(self, where: str) -> None:
        refuse(self.size == 0, f"{where}no points came.")

        def wanted(good, name: str, text: str) -> None:
            if not good.all():
                k = int(np.argmin(good))
                raise ArgumentError(f"{where}point {k + 1}: {name} = {getattr(self, name)[k]:g} came, wanted {text}.")

        wanted((self.T >= COLDEST) & (self.T <= HOTTEST), "T", f"{COLDEST:g} to {HOTTEST:g}; the unit is K")
        wanted((self.p > 0) & (self.p < np.inf), "p", "a positive number; the unit is Pa")
        for name in "xy":
            share = getattr(self, name)
            wanted(np.isnan(share) | ((share >= 0) & (share <= 1)), name, "0 to 1, a mole fraction")

        neither = np.isnan(self.x) & np.isnan(self.y)
        if neither.any():
            k = int(np.argmax(neither)) + 1
            raise ArgumentError(f"{where}point {k}: neither x nor y came, wanted x, y, or both.")

    @property
    def size(self) -> int:
        return self.T.size

    @property
    def bubble(self) -> np.ndarray:
        """Mask of the bubble points; the others are dew points."""
        return np.isfinite(self.x)

    @property
    def share(self) -> np.ndarray:
        """Mole fraction of the first species in the phase whose boundary it is."""
        return np.where(self.bubble, self.x, self.y)


# ---- files


def read(path: str | pathlib.Path, names: tuple[str, ...]) -> Points:
    """Points of a file with a line of names, then a point a line: T, p, and x or y of either species, as x_N2.

    names: the two species. A line without x is a dew point. Raises ArgumentError, which names the line, the column,
    what came and what was wanted.
    """
    fractions = [f"{phase}_{name}" for phase in "xy" for name in names]
    units = {"T": "K", "p": "Pa"} | dict.fromkeys(fractions, "1")

    def own_name(column: str) -> str:
        """x_NC12H26 of x_C12H26."""
        phase, line, species = column.partition("_")
        own = name_of_species(species, names) if line and phase in ("x", "y") else None
        return f"{phase}_{own}" if own else column

    found = columns.read(path, columns.Layout(units, ("T", "p"), "point"), own_name)
    if not set(fractions) & set(found):
        raise ArgumentError(f"--data {path}: no column {' or '.join(fractions)}: wanted one or more of them.")
    if found["T"].size == 0:
        raise ArgumentError(f"--data {path}: no points came, only names of columns.")

    where = f"--data {path}, "
    x, y = (_of_first(where, found, *[f"{phase}_{name}" for name in names]) for phase in "xy")
    return Points.of(found["T"], found["p"], x, y, f"points of {pathlib.Path(path).name}", where)


def _of_first(where: str, found: dict, first: str, second: str) -> np.ndarray:
    """The mole fraction of the first species: its column, else 1 less that of the second. Both sum to 1."""
    blank = np.full(found["T"].size, np.nan)
    one, other = found.get(first, blank), found.get(second, blank)

    total = one + other
    wrong = np.abs(total - 1) > SUM
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ArgumentError(f"{where}point {k + 1}: {first} + {second} = {total[k]:g} came, wanted 1, mole fractions.")

    for name, share in ((first, one), (second, other)):
        outside = (share < 0) | (share > 1)
        if outside.any():
            k = int(np.argmax(outside))
            raise ArgumentError(f"{where}point {k + 1}: {name} = {share[k]:g} came, wanted 0 to 1, a mole fraction.")

    either = np.where(np.isnan(one), 1 - other, one)
    return np.where(np.isnan(total), either, one / total)


# ---- CoolProp


def of_coolprop(names: tuple[str, ...]) -> Points:
    """Bubble points of CoolProp's reference mixture of two species, on a grid in T and x, with their vapours.

    Raises ArgumentError without CoolProp, for a species that it does not have, and for a pair whose mixing numbers
    nobody has fitted to measurements.
    """
    why = missing()
    refuse(bool(why), f"{'/'.join(names)}: {why}.", ArgumentError)
    import CoolProp

    fluids = [_coolprop_name(name) for name in names]
    paper = _paper(names, fluids)
    state = CoolProp.AbstractState("HEOS", "&".join(fluids))

    pure = [CoolProp.AbstractState("HEOS", fluid) for fluid in fluids]
    low, high = max(each.Ttriple() for each in pure), HIGHEST_T * max(each.T_critical() for each in pure)
    highest_p = HIGHEST_P * max(each.p_critical() for each in pure)

    rows = []
    for T in np.linspace(low, high, TEMPERATURES):
        for x in np.linspace(0, 1, SHARES + 2)[1:-1]:
            found = _bubble_point(state, T, x)
            if found and found[0] < highest_p and abs(found[1] - x) > LEAST_DIFFERENCE:
                rows.append((T, found[0], x, found[1]))

    refuse(not rows, f"{'/'.join(names)}: CoolProp finds no bubble points.", ArgumentError)
    T, p, x, y = np.array(rows).T
    return Points.of(T, p, x, y, f"CoolProp {CoolProp.__version__}: {paper}")


def _coolprop_name(name: str) -> str:
    """CoolProp's name of a species. Raises ArgumentError."""
    import CoolProp.CoolProp as CP

    cas, _ = substance(name)
    for known in filter(None, (cas, name)):
        try:
            return CP.get_fluid_param_string(known, "name")
        except ValueError:
            pass
    raise ArgumentError(f"species '{name}' is not in CoolProp; give --data FILE.csv.")


def _paper(names, fluids) -> str:
    """Key of the literature of a pair's mixing numbers. Raises ArgumentError for a pair without mixing numbers,
    or with the numbers of a combining rule, 1 and 0."""
    import CoolProp.CoolProp as CP

    said = f"{'/'.join(names)}: CoolProp has no mixture of {' and '.join(fluids)} that was fitted to measurements"
    numbers = [CP.get_fluid_param_string(fluid, "CAS") for fluid in fluids]
    for pair in (numbers, numbers[::-1]):
        try:
            values = [float(CP.get_mixture_binary_pair_data(*pair, key)) for key in ("betaT", "gammaT", "F")]
            paper = CP.get_mixture_binary_pair_data(*pair, "BibTeX")
        except ValueError:
            continue
        refuse(values == [1.0, 1.0, 0.0], f"{said}: its numbers are those of a rule. Give --data FILE.csv.")
        return paper

    raise ArgumentError(f"{said}. Give --data FILE.csv.")


def _bubble_point(state, T: float, x: float):
    """(p [Pa], y) at T, x; None where CoolProp finds none."""
    import CoolProp.CoolProp as CP

    try:
        state.set_mole_fractions([x, 1 - x])
        state.update(CP.QT_INPUTS, 0.0, T)
        found = state.p(), state.mole_fractions_vapor()[0]
    except ValueError:
        return None
    return found if np.isfinite(found).all() and found[0] > 0 else None
