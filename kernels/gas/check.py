"""Check mode (FRAME_CHECK=1): what is wrong with an input or a result. frame/check.py does the same for hosts."""

from __future__ import annotations

import os

import numpy as np

from ..engine.errors import StateError, refuse
from .records import Report
from .registry import registry
from .species import NoSpecies

SUM_Y = 1e-6  # far above rounding (ns * 1e-16), far below a forgotten species
POSITIVE = ("T", "p", "rho")
SHOWN = 4  # names of quantities in a message
NOT_NEGATIVE = ("cp", "cv", "mu", "lam")  # results


def is_on() -> bool:
    """Whether FRAME_CHECK is 1. Raises ArgumentError unless it is 0, 1 or not set."""
    text = os.environ.get("FRAME_CHECK") or "0"
    refuse(text not in ("0", "1"), f"FRAME_CHECK = {text!r}; wanted 0 or 1.")
    return text == "1"


class Points:
    """Where values of a call from Python belong. shape: of the points. hidden: (points,) true where they are masked."""

    def __init__(self, shape: tuple[int, ...], hidden=None):
        self.shape, self.hidden = shape, hidden

    def first(self, wrong):
        """(row, point) of the first wrong value of an array (rows, points) that is not masked; None: there is none."""
        if self.hidden is not None:
            wrong = wrong & ~self.hidden
        if not wrong.any():
            return None

        point = int(np.argmax(wrong.any(axis=0)))
        return int(np.argmax(wrong[:, point])), point

    def place(self, point: int) -> str:
        """The point in words, as an index of NumPy's from 0."""
        if not self.shape:
            return "the point"
        index = ", ".join(str(int(i)) for i in np.unravel_index(point, self.shape))
        return f"point [{index}]"

    def count(self, wrong) -> int:
        """Points that are wrong, of (rows, points), and not masked."""
        there = wrong.any(axis=0)
        return int(np.sum(there if self.hidden is None else there & ~self.hidden))


def check_input(name: str, values: np.ndarray, points: Points) -> None:
    """Raises StateError for an input out of range: a value that is not finite; T, p or rho that is not positive; mass
    fractions that are negative or do not sum to 1. The message names field, value and point. values: (rows, points)."""
    _refuse_input(name, values, ~np.isfinite(values), points, "a finite number")

    if name in POSITIVE:
        _refuse_input(name, values, values <= 0, points, "> 0")

    if name == "Y":
        _refuse_input(name, values, values < -SUM_Y, points, f"0 or more (-{SUM_Y:g} is let pass as rounding)")
        total = values.sum(axis=0, dtype=np.float64, keepdims=True)
        found = points.first(np.abs(total - 1) > SUM_Y)
        if found:
            raise StateError(
                f"check: input 'Y' sums to {float(total[found])!r} over the species at {points.place(found[1])}, "
                f"wanted 1 within {SUM_Y:g}."
            )


def _refuse_input(name, values, wrong, points: Points, wanted: str) -> None:
    found = points.first(wrong)
    if found:
        raise StateError(
            f"check: input {_field(name, values, found)} = {float(values[found])!r} "
            f"{registry.quantities[name].unit} at {points.place(found[1])}, wanted {wanted}."
        )


def reported(name: str, report: Report, there: np.ndarray, points: Points, inputs: dict) -> list[str]:
    """A sentence with count, first point and its inputs on what a status reports; nothing where it reports nothing.
    there: (1, points) true where it does. inputs: {name: (rows, points)}."""
    found = points.first(there)
    if not found:
        return []

    return [
        f"{report.what} ('{name}' = {report.value}) at {points.count(there)} of {there.shape[1]} points; the first is "
        f"{points.place(found[1])}, there {_state(inputs, found[1]) or 'no scalar inputs'}."
    ]


def not_a_number(names: list[str], there: np.ndarray, points: Points, inputs: dict) -> list[str]:
    """A sentence with count, first point and its inputs on results that are NaN; nothing where no point has any.
    names: of the results. there: (1, points) true where a point has NaN. inputs: {name: (rows, points)}."""
    found = points.first(there)
    if not found:
        return []

    shown = ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
    return [
        f"{shown}: NaN at {points.count(there)} of {there.shape[1]} points, which the models do not reach; the first "
        f"is {points.place(found[1])}, there {_state(inputs, found[1]) or 'no scalar inputs'}."
        + _wrong_sum(inputs, found[1])
    ]


def without_boundary(name: str, why: str, there: np.ndarray, points: Points, inputs: dict) -> list[str]:
    """The same of a boundary of two phases that some points do not have. why: in which states that happens."""
    found = points.first(there)
    if not found:
        return []

    return [
        f"'{name}': NaN at {points.count(there)} of {there.shape[1]} points, which have no such boundary, as {why}; "
        f"the first is {points.place(found[1])}, there {_state(inputs, found[1])}."
    ]


def check_results(program, results: dict, inputs: dict, points: Points, species) -> list[str]:
    """results, inputs: {name: (rows, points)}. Raises StateError for the first result that is not finite, a negative
    heat capacity or transport coefficient, or a status that reports a point without a result. The error names field,
    value, point, kernel and the point's inputs. Returns sentences on what statuses report beside that."""
    notes = []
    for name in results:
        for report in registry.quantities[name].reports:
            said = reported(name, report, results[name] == report.value, points, inputs)
            if said and report.fails:
                raise StateError(f"check: {said[0]}")
            notes += said

    for kernel in program.kernels:
        for name in (written for written in registry.kernels[kernel].writes if written in results):
            values = results[name]
            wrong = ~np.isfinite(values)
            if name in NOT_NEGATIVE:
                wrong |= values < 0

            found = points.first(wrong)
            if found:
                raise StateError(
                    f"check: kernel '{kernel}' gave {_field(name, values, found)} = {float(values[found])!r} at "
                    f"{points.place(found[1])}; there {_state(inputs, found[1]) or 'no scalar inputs'}."
                    + left_range({**inputs, **results}, found[1], species)
                )

    return notes


def _field(name: str, values, found) -> str:
    return f"'{name}'" + (f" (variable {found[0] + 1})" if len(values) > 1 else "")


def _state(inputs: dict, point: int) -> str:
    return ", ".join(f"{n} = {float(v[0, point])!r}" for n, v in inputs.items() if len(v) == 1)


def _wrong_sum(inputs: dict, point: int) -> str:
    """A sentence on mass or mole fractions that do not sum to 1 at this point, else ""."""
    for name in ("Y", "X"):
        if name in inputs:
            total = float(inputs[name][:, point].sum(dtype=np.float64))
            if not abs(total - 1) <= SUM_Y:
                return f" '{name}' sums to {total:.9g} over the species there, wanted 1 within {SUM_Y:g}."

    return ""


def left_range(values: dict, point: int, species) -> str:
    """A sentence with the range of the polynomials that T has left at this point, else "". values: {name: (rows,
    points)}; species whose Y is 0 there do not count."""
    if "T" not in values or species is None or isinstance(species, NoSpecies):
        return ""

    T = float(values["T"][0, point])
    left = (T < species.T_min) | (T > species.T_max)
    if "Y" in values:
        left = left & (values["Y"][:, point] != 0)
    if not left.any():
        return ""

    low, high = species.T_min[left].max(), species.T_max[left].min()
    return f" T is outside {low:g} to {high:g} K, the range of the polynomials of {species.named(left)}."
