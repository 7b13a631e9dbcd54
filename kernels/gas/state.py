"""The arrays of one call: shapes, broadcasting, copies, and the notes that become warnings."""

from __future__ import annotations

import warnings

import numpy as np

from ..engine.backend import get_backend
from ..engine.backend.base import on_device
from ..engine.errors import ArgumentError, StateError, refuse
from ..engine.values import real_array, refuse_type
from . import check
from .composition import fractions, stacked
from .plan import dtype_of
from .registry import registry
from .species import NoSpecies

WHOLE = 1e-6  # a sum of fractions this near to 1 counts as 1, as in the kernels
ROUNDED = 1e-3  # mass fractions of files and of float32 sum to 1 within this; a forgotten species is further off
COLDEST, HOTTEST = 20.0, 6000.0  # K: the inversions' bracket; beyond the species' own ranges models hold this far


def range_of_models(species) -> tuple[float, float]:
    """(lowest, highest) T [K] that calls with T take: as far as the polynomials of any species."""
    return min(COLDEST, species.T_min.min()), max(HOTTEST, species.T_max.max())


class State:
    """The arrays of one call. device: whether any of them is on a device; then results are, too.

    inputs: {name: array of the program's type}, all on the device, or all on the host.
    shape: of the points, to which all broadcast.
    points: where a value belongs, and which points are masked.
    notes: of temperatures beyond the models' ranges and of points without a result, for warnings. explained: others say
    why results are NaN.

    Raises ArgumentError, which names the array, for types, units and shapes.
    """

    def __init__(self, mixture, arrays, backend, dtype, device: bool):
        self.mixture, self.backend, self.dtype = mixture, backend, dtype
        self._device, self._xp = device, backend.arrays if device else np
        self.inputs: dict = {}
        self.shape: tuple[int, ...] = ()
        self.notes: list[str] = []
        self.sum_is_told = False  # a note says where a wrong sum makes results NaN
        self.explained = False
        self._masks: list = []
        self._masked = False  # whether a masked array came: then such arrays are handed back

        for name, given in arrays.items():
            self._take(name, stacked(fractions(name, given, mixture.names)))

        refuse(device and self._masked, "masked arrays were given beside arrays on a device, which have no masks.")
        self.size = int(np.prod(self.shape))
        self.points = check.Points(self.shape, self._hidden())

    @classmethod
    def of_call(cls, mixture, names, arrays, backend, precision) -> State:
        """The state of a call, with the mixture of the mode and the backend of the arrays if none is named."""
        registry.refuse_unknown_quantity([*names, *arrays])
        refuse(not names, "no quantities asked for.")

        device = any(on_device(array) for array in arrays.values())
        backend = get_backend(backend or ("cuda" if device else "cpu"))
        refuse(device and not backend.apart, f"arrays on a device were given, but backend is '{backend}'.")

        return cls(mixture.in_check_mode if check.is_on() else mixture, arrays, backend, dtype_of(precision), device)

    def _take(self, name: str, given) -> None:
        rows, per = self.mixture.rows(name), registry.quantities[name].per
        array = self._numbers(name, given)
        refuse(
            per and (array.ndim == 0 or array.shape[0] != rows),
            f"'{name}': shape {tuple(array.shape)}, wanted ({rows}, ...): one row for each of {per} = {rows}.",
        )

        shape = tuple(array.shape[1:] if per else array.shape)
        try:
            self.shape = np.broadcast_shapes(self.shape, shape)
        except ValueError:
            raise ArgumentError(
                f"'{name}': shape {shape} after the species axis does not broadcast with {self.shape} of the arrays "
                "before it."
            ) from None

        self.inputs[name] = array
        self._take_mask(name, given, bool(per))

    def _numbers(self, name: str, given):
        if on_device(given):
            refuse_type(name, given.dtype)
        else:
            given = real_array(name, given, self.dtype, registry.quantities[name].unit)
        return self.backend.from_host(given, self.dtype) if self._device else given

    def _take_mask(self, name: str, given, per: bool) -> None:
        """A point is masked where any of its values is."""
        if not isinstance(given, np.ma.MaskedArray):
            return

        self._masked = True
        mask = np.ma.getmaskarray(given)
        self._masks.append(mask.any(axis=0) if per else mask)

    def _hidden(self):
        """(points,) true where a point is masked; None where no mask came."""
        hidden = np.zeros(self.shape, bool)
        for mask in self._masks:
            hidden |= mask
        return hidden.reshape(-1) if self._masked else None

    def normalise(self) -> None:
        """X is divided by its sum, and Y by a sum that is off by rounding; see Mixture.properties. Notes the first Y
        that is further off: it is not changed, and kernels give NaN for it. Notes the first negative fraction."""
        for name in ("X", "Y"):
            if name in self.inputs:
                self.inputs[name] = self._divided(name)
                self._note_negative(name)

    def _divided(self, name: str):
        """Fractions divided by their sum, unless it is 1 within WHOLE: they then keep their bits."""
        array = self.inputs[name]
        total = array.sum(axis=0, dtype=np.float64)
        off = abs(total - 1) > WHOLE
        if not off.any():
            return array

        if name == "Y":
            far = abs(total - 1) > ROUNDED
            self._note_sum(name, total, far & (abs(total) < np.inf))
            off = off & ~far
        else:
            self._note_sum(name, total, ~((total > 0) & (total < np.inf)) & (total == total))

        total = self._xp.where((total > 0) & (total < np.inf), total, np.nan)
        with np.errstate(all="ignore"):
            return self._xp.where(off, array / total, array).astype(self.dtype)

    def _note_sum(self, name: str, total, far) -> None:
        """Notes the first point whose sum over the species is wrong."""
        if not far.any():
            return

        total, far = (self._flat(values, False)[None, :] for values in (total, far))
        found = self.points.first(far)

        if found:
            self.sum_is_told = True
            wanted = "a positive and finite sum: results are NaN there."
            if name == "Y":
                wanted = (
                    f"1 within {ROUNDED:g}: results are NaN there; give amounts by name, {{species: mass}}, or divide "
                    "by the sum."
                )
            self.notes.append(
                f"'{name}' sums to {float(total[found]):.9g} over the species at {self.points.place(found[1])}, wanted "
                f"{wanted}"
            )

    def _note_negative(self, name: str) -> None:
        """Notes the first fraction that is more negative than rounding. Arrays that came from a device are not looked
        at: the call would wait for them."""
        array = self.inputs[name]
        if self._device or not array.size or array.min() >= -ROUNDED:  # false for NaN
            return

        fractions = self._flat(array, True)
        found = self.points.first(fractions < -ROUNDED)
        if found:
            species, point = found
            self.notes.append(
                f"'{name}' of {self.mixture.names[species]} is {float(fractions[found]):g} at "
                f"{self.points.place(point)}, wanted 0 or more: the results there are those of no mixture."
            )

    def _flat(self, array, per: bool) -> np.ndarray:
        """On the host, for all points: (rows, points), or (points,)."""
        array = self.backend.to_host(array) if self._device else np.asarray(array)
        return self._spread(np, array, per).reshape((len(array), self.size) if per else (self.size,))

    def _spread(self, xp, array, per: bool):
        if not per:
            return xp.broadcast_to(array, self.shape)
        missing = (1,) * (len(self.shape) - array.ndim + 1)
        return xp.broadcast_to(array.reshape(len(array), *missing, *array.shape[1:]), (len(array), *self.shape))

    def run(self, program, limited: bool) -> dict:
        """{name: array} of the program's results. limited: T outside the range of the models becomes NaN.

        Raises StateError in check mode."""
        bound = {}
        for name in program.writes:
            if name not in program.reads:
                bound[name] = self.backend.empty((self.mixture.rows(name), self.size), self.dtype)

        for name in program.reads:
            bound[name] = self._bound(name, copied=name in program.writes, limited=limited)

        checked = check.is_on()
        given = {name: self._on_host(bound[name]) for name in program.reads} if checked else {}
        for name, values in given.items():
            check.check_input(name, values, self.points)

        if self.size:
            program.bind(bound)(self.size)

        if checked:
            made = {name: self._on_host(bound[name]) for name in program.writes}
            self.notes += check.check_results(program, made, given, self.points, self.mixture.species)
        elif not self.explained or limited:
            reported = self._note_reports(program, bound)
            if not reported and not self.sum_is_told:
                self._note_nan(program, bound)

        return {name: self._shaped(name, bound[name]) for name in program.writes}

    def _note_reports(self, program, bound: dict) -> bool:
        """Notes of points that statuses report; whether there are any. NaN in is NaN out, without a note; a Y that is
        no composition has a note of its sum."""
        before = len(self.notes)
        for name in program.writes:
            for report in registry.quantities[name].reports:
                there = bound[name] == report.value
                if not there.any():
                    continue

                given = {read: bound[read] for read in program.reads if read not in program.writes}
                for values in given.values():
                    there &= ~np.isnan(values).any(axis=0)
                if "Y" in given:
                    there &= abs(given["Y"].sum(axis=0) - 1) <= ROUNDED

                inputs = {read: self._on_host(values) for read, values in given.items()}
                self.notes += check.reported(name, report, self._on_host(there), self.points, inputs)

        return len(self.notes) > before

    def _note_nan(self, program, bound: dict) -> None:
        """Notes results that are NaN where no input is: a pressure below 0 or infinite, a density that the equation of
        state does not reach. A temperature beyond the range of the models is NaN here. Arrays that came from a device
        are not looked at: the call would wait for them. NumPy's functions of CuPy's arrays are CuPy's."""
        if self.explained or self._device or not self.size:
            return

        plain = [name for name in program.writes if not registry.quantities[name].reports]
        filled = [name for name in plain if bound[name].size]  # a mechanism may have no reactions
        names = [name for name in filled if np.isnan(bound[name].min())]  # the least of any NaN is NaN
        if not names:
            return

        there = np.isnan(bound[names[0]]).any(axis=0)
        for name in names[1:]:
            there |= np.isnan(bound[name]).any(axis=0)

        given = {name: bound[name] for name in program.reads if name not in program.writes}
        for values in given.values():
            there &= ~np.isnan(values).any(axis=0)

        inputs = {name: self._on_host(values) for name, values in given.items()}
        self.notes += check.not_a_number(names, self._on_host(there)[None, :], self.points, inputs)

    def warn(self, depth: int) -> None:
        """The notes as warnings. depth: frames from here to the user."""
        for note in self.notes:
            warnings.warn(note, RuntimeWarning, stacklevel=depth)

    def _on_host(self, array) -> np.ndarray:
        return np.array(self.backend.to_host(array))

    def _bound(self, name: str, copied: bool, limited: bool):
        """(rows, points), contiguous, where the backend works. copied: the program writes the array, and the
        caller's array stays as it is."""
        array = self.inputs[name]
        if name == "T" and limited:
            array = self._limited(array)

        xp, per = self.backend.arrays, bool(registry.quantities[name].per)
        there = xp.ascontiguousarray(self._spread(xp, self.backend.from_host(array, self.dtype), per))
        return (there.copy() if copied else there).reshape(self.mixture.rows(name), self.size)

    def _limited(self, T):
        """T with NaN outside the range of the models. Notes such points, and points that are hotter than the
        polynomials of a species that is there."""
        species = self.mixture.species
        if isinstance(species, NoSpecies):
            return T

        low, high = range_of_models(species)
        left = (T < low) | (T > high)

        if left.any():
            noted = self._note(
                T, left, f"outside {low:g} to {high:g} K, the range of the models: results are NaN there"
            )
            if noted and check.is_on():
                raise StateError(f"check: input {self.notes[-1]}")
            return self._xp.where(left, np.nan, T).astype(self.dtype)

        self._note_extrapolation(T)
        return T

    def _note_extrapolation(self, T) -> None:
        species = self.mixture.species
        fractions = self.inputs.get("Y", self.inputs.get("X"))
        if fractions is None:
            return

        for s in np.argsort(species.T_max):
            hot = T > species.T_max[s]
            if not hot.any():
                return

            hot = hot & (fractions[s] != 0)
            if hot.any():
                end = f"above {species.T_max[s]:g} K, where the polynomials of {species.names[s]} end"
                self._note(T, hot, f"{end}: they are extrapolated")
                return

    def _note(self, T, wrong, text: str) -> bool:
        """Keep a note of the first such point that is not masked; whether there is one."""
        T, wrong = (self._flat(values, False)[None, :] for values in (T, wrong))
        found = self.points.first(wrong)

        if found:
            place = self.points.place(found[1])
            self.notes.append(f"T = {float(T[found]):g} K at {place} is {text}.")

        return bool(found)

    def _shaped(self, name: str, array):
        return array.reshape((len(array), *self.shape) if registry.quantities[name].per else self.shape)

    def handed_back(self, name: str, array):
        """As the caller's arrays are: on a device, on the host, or masked."""
        if self._device:
            return array

        array = self.backend.to_host(array) if on_device(array) else array
        if not self._masked:
            return array

        whole = self._spread(np, array, bool(registry.quantities[name].per))
        hidden = self.points.hidden.reshape(self.shape)
        return np.ma.array(whole, mask=np.broadcast_to(hidden, whole.shape))
