"""Species data from arrays, with the checks that a file gets as well."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import resource
from pathlib import Path

import numpy as np

from ...engine.errors import MixtureError
from .fields import ATTRACTION, COVOLUME, GEOMETRY, NUMBERS, OMEGA_A, OMEGA_B, ROWS, Field
from .gas_constant import GAS_CONSTANT
from .names import own_name
from .units import short

HEAVIEST = 1e6  # kg/mol, of lumps of soot, whose molar mass follows from their atoms
KIJ_LIMIT = 0.9  # published k_ij reach 0.6; a larger one most likely comes from an a_ij in another unit
PAIRS = ("kij", "rk_a")  # fields with a column for each species
PAIR_BYTES = 400  # of each pair of species, for the matrices of all models while they are made

INPUTS = (*NUMBERS, *ROWS)  # the fields that `from_arrays` takes by name, beside a, b, geometry, kij, nasa9 and T_break


def free_memory() -> float:
    """Bytes that this process may still take from the machine, its control group and its own limit."""
    free = [limit for limit in resource.getrlimit(resource.RLIMIT_AS)[:1] if limit != resource.RLIM_INFINITY]

    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        free.append(next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")))

    with contextlib.suppress(OSError, ValueError):  # ValueError: no limit
        limit, used = (int(Path(f"/sys/fs/cgroup/memory.{what}").read_text()) for what in ("max", "current"))
        free.append(limit - used)

    return min(free, default=math.inf)


@dataclasses.dataclass(frozen=True)
class Rules:
    """Exceptions that the checks permit."""

    without_critical: bool = False  # Tc, pc and omega may be unknown (nan): for the ideal gas only
    of_atoms: bool = False  # W follows from compositions, so that a large one is no error of units


class Checks:
    """The checks of species data. All raise MixtureError, whose text begins with `where`. R: J/mol/K."""

    def __init__(self, names, where: str, R: float = GAS_CONSTANT, rules: Rules = Rules()):
        self.names, self.where, self.R, self.rules = tuple(names), where, R, rules
        self.ns = len(self.names)

    def refuse(self, wrong, text: str) -> None:
        if wrong:
            raise MixtureError(f"{self.where}: {text}")

    # ---- names and numbers
    def check_names(self) -> None:
        """Non-empty texts, each once, and no more than memory suffices for."""
        names, ns = self.names, self.ns
        good = ns and all(isinstance(name, str) and name for name in names)
        self.refuse(not good, f"species names are {names!r}, wanted at least one non-empty string.")

        need, free = PAIR_BYTES * ns**2, free_memory()
        self.refuse(
            need > 2**28 and need > free,
            f"matrices over the pairs of {ns} species take {need / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free.",
        )
        twice = sorted({name for name in names if names.count(name) > 1})
        self.refuse(twice, f"species {', '.join(map(repr, twice))} given more than once.")

    def array(self, field: Field, value, spread: bool = True) -> np.ndarray:
        """The field's array as float64. spread: a number holds for all species."""
        shape = field.sizes(self.ns)
        value = self.in_order(field.name, value, both=field.name in PAIRS)
        try:
            array = floats(value)
        except (TypeError, ValueError) as error:
            raise MixtureError(f"{self.where}: {field.name} is not an array of numbers ({error}).") from None

        if spread and array.ndim == 0:
            array = np.full(shape, float(array))
        self.refuse(
            array.shape != shape, f"{field.name} has shape {array.shape}, wanted {shape} for {self.ns} species."
        )
        return array

    def in_order(self, what: str, value, both: bool = False):
        """Numbers with the names of species, a dict or an object of pandas or xarray, in the species' order, without
        those of other species; anything else as it came. both: columns are species, too."""
        if np.ma.is_masked(value):
            row = int(np.argwhere(np.ma.getmaskarray(value))[0][0])
            of = f" of {self.names[row]!r}" if row < self.ns else ""
            self.refuse(True, f"{what}{of} is masked, wanted a number.")

        if isinstance(value, dict):
            rows = self._rows(what, list(value))
            return [list(value.values())[row] for row in rows]

        labels = labels_of_axes(value)
        if not labels:
            return value
        array = np.asarray(value)
        for axis in range(min(len(labels), 1 + both)):
            if labels[axis] is not None:
                array = array.take(self._rows(what, labels[axis]), axis)
        return array

    def _rows(self, what: str, labels: list) -> list[int]:
        """Index of each species among labels."""
        self.refuse(len(set(labels)) < len(labels), f"{what}: a species comes twice in {short(labels)}.")
        rows = []
        for name in self.names:
            own = own_name(name, labels)
            self.refuse(own is None, f"{what} of species {name!r} is missing; there is {short(labels)}.")
            rows.append(labels.index(own))
        return rows

    def check_bounds(self, field: Field, values) -> None:
        """Each value within the field's bounds; nan where it may be unknown."""
        may_lack = field.may_lack or self.rules.without_critical and field.critical
        high = HEAVIEST if field.name == "W" and self.rules.of_atoms else field.high

        for name, value in zip(self.names, values):
            good = field.low <= value <= high or (may_lack and math.isnan(value))
            wanted = f"{field.low:g} to {high:g} {field.unit}"
            self.refuse(not good, f"species {name!r}: {field.name} is {value:g}, wanted {wanted}.")

    def check_rows(self, field: Field, rows) -> None:
        """The numbers of each species together."""
        for name, row in zip(self.names, rows):
            good = field.good is None or field.good(row)
            self.refuse(not good, f"species {name!r}: {field.name} is {row.tolist()}, wanted {field.wanted}.")

    # ---- arrays with rules of their own
    def check_temperatures(self, T_min, T_mid, T_max) -> None:
        """Ascending in each species."""
        for name, lo, mid, hi in zip(self.names, T_min, T_mid, T_max):
            text = f"species {name!r}: T_min, T_mid, T_max are {lo:g}, {mid:g}, {hi:g} K, wanted ascending."
            self.refuse(not (lo <= mid <= hi and lo < hi), text)

    def geometry(self, value) -> np.ndarray:
        """The shapes of the molecules, as integers."""
        geometry = np.array(self.array(GEOMETRY, value), int)
        self.refuse(
            not np.isin(geometry, (-1, 0, 1, 2)).all(),
            f"geometry is {geometry.tolist()}, wanted 0 (atom), 1 (linear), 2 (nonlinear), -1 (unknown).",
        )
        return geometry

    def nine(self, rows, T_break) -> tuple[np.ndarray, np.ndarray]:
        """nasa9 (ns, ranges, 9) and T_break (ns, ranges + 1)."""
        rows, T_break = self.in_order("nasa9", rows), self.in_order("T_break", T_break)
        try:
            rows, T_break = floats(rows), floats(T_break)
        except (TypeError, ValueError) as error:
            raise MixtureError(f"{self.where}: nasa9 or T_break is not an array of numbers ({error}).") from None

        ns = self.ns
        self.refuse(
            rows.ndim != 3 or rows.shape[::2] != (ns, 9) or T_break.shape != (ns, rows.shape[1] + 1),
            f"nasa9 has shape {rows.shape} and T_break {T_break.shape}, wanted ({ns}, ranges, 9) and "
            f"({ns}, ranges + 1).",
        )
        for name, row, T in zip(self.names, rows, T_break):
            good = np.isfinite(row).all() and np.isfinite(T).all() and (np.diff(T) >= 0).all() and 0 <= T[0] < T[-1]
            text = f"species {name!r}: nasa9 has {row.tolist()} between {T.tolist()} K, wanted finite numbers and "
            self.refuse(not good, text + "ascending temperatures.")
        return rows, T_break


def checked_arrays(checks: Checks, arrays: dict) -> dict[str, np.ndarray]:
    """{field: array} of all fields but kij, nasa9 and T_break, with defaults, and with a and b of Tc and pc or the
    reverse. arrays: {field: what was given, or None}. Raises MixtureError."""
    given = {field.name: arrays.get(field.name) for field in INPUTS}
    data = {}
    for field in NUMBERS:
        if field.name not in ("Tc", "pc"):
            value = given[field.name]
            data[field.name] = checks.array(field, field.default if value is None else value)

    data |= _critical(checks, arrays)

    for field in NUMBERS:
        checks.check_bounds(field, data[field.name])
    checks.check_temperatures(data["T_min"], data["T_mid"], data["T_max"])

    geometry = arrays.get("geometry")
    data["geometry"] = checks.geometry(GEOMETRY.default if geometry is None else geometry)

    nine = arrays.get("nasa9") is not None
    for field in ROWS:
        value = given[field.name]
        unknown = np.full(field.sizes(checks.ns), np.nan)
        data[field.name] = checks.array(field, unknown if value is None else value, spread=False)
        if not (nine and field.name in ("nasa_low", "nasa_high")):
            checks.check_rows(field, data[field.name])
    return data


def _critical(checks: Checks, arrays: dict) -> dict[str, np.ndarray]:
    """Tc, pc, a and b. The arrays have two of them: a and b if either is given, else Tc and pc."""
    has_constants = arrays.get("a") is not None or arrays.get("b") is not None
    pair = (ATTRACTION, COVOLUME) if has_constants else tuple(field for field in NUMBERS if field.name in ("Tc", "pc"))
    for field in pair:
        checks.refuse(arrays.get(field.name) is None, f"{field.name} is missing, wanted Tc and pc, or a and b.")
    first, second = (checks.array(field, arrays[field.name]) for field in pair)

    if has_constants:
        if not checks.rules.without_critical:
            checks.check_bounds(ATTRACTION, first)
            checks.check_bounds(COVOLUME, second)
        Tc = first * OMEGA_B / (second * OMEGA_A * checks.R)
        return {"Tc": Tc, "pc": OMEGA_B * checks.R * Tc / second, "a": first, "b": second}

    with np.errstate(all="ignore"):  # a zero or negative pc is refused by its bounds, with the species' name
        a = OMEGA_A * (checks.R * first) ** 2 / second
        b = OMEGA_B * checks.R * first / second
    return {"Tc": first, "pc": second, "a": a, "b": b}


def checked_kij(names, kij, where: str) -> np.ndarray:
    """kij, read-only. Raises MixtureError unless it is symmetric with a zero diagonal, and moderate."""
    for i, j in np.argwhere(~(np.abs(kij) <= KIJ_LIMIT)):
        raise MixtureError(
            f"{where}: kij of {names[i]!r} and {names[j]!r} is {kij[i, j]:g}, wanted {-KIJ_LIMIT} to {KIJ_LIMIT}."
        )
    for i, j in np.argwhere((kij != kij.T) | (np.eye(len(names), dtype=bool) & (kij != 0))):
        raise MixtureError(
            f"{where}: kij of {names[i]!r} and {names[j]!r} is {kij[i, j]:g} one way and {kij[j, i]:g} the other, "
            "wanted a symmetric matrix with a zero diagonal."
        )
    return locked(kij)


def labels_of_axes(value) -> list:
    """For each axis of an object of pandas or xarray its labels, if they are texts, else None; empty for others."""
    if hasattr(value, "index") and hasattr(value, "to_numpy"):  # a Series, a DataFrame
        axes = [value.index, *([value.columns] if hasattr(value, "columns") else [])]
    elif hasattr(value, "coords") and hasattr(value, "dims"):  # a DataArray
        axes = [value.coords[dim].values if dim in value.coords else [] for dim in value.dims]
    else:
        return []

    out: list = []
    for axis in axes:
        labels = [label.item() if isinstance(label, np.generic) else label for label in axis]
        out.append(labels if labels and all(isinstance(label, str) for label in labels) else None)
    return out


def floats(value) -> np.ndarray:
    """A copy as float64, None as nan. Raises TypeError for complex numbers: NumPy would drop the imaginary part."""
    if np.asarray(value).dtype.kind == "c":
        raise TypeError("complex numbers")
    return np.array(value, float)


def locked(array):
    """The array, read-only from now on; None stays None."""
    if array is not None:
        array.flags.writeable = False
    return array
