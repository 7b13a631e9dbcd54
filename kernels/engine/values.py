"""Numbers that come from Python: which types are taken, and which are refused by name.

| came | happens |
|---|---|
| float64, float32, float16; any byte order, strides, lists, tuples, pandas Series | converted |
| whole numbers | converted; refused above 2^53 in size, where a float64 is not exact |
| complex | refused: the imaginary part would be lost |
| longdouble, where it is wider than float64 | refused: digits would be lost |
| bool, text, dates, objects, None, ragged lists | refused: no numbers |
| with a unit (pint, astropy, unyt) | refused unless it is the unit wanted |
"""

from __future__ import annotations

import numpy as np

from .errors import ArgumentError, refuse

EXACT = 2**53  # whole numbers up to this size are exact in float64
REFUSED = {
    "c": "wanted real numbers: the imaginary part would be lost",
    "b": "wanted numbers, not truth values",
    "O": "wanted numbers, all of the same type (float64 or a whole number)",
    "S": "wanted numbers, not text",
    "U": "wanted numbers, not text",
    "M": "wanted numbers, not dates",
    "m": "wanted numbers, not spans of time",
    "V": "wanted numbers, not structures",
}


def refuse_type(name: str, dtype) -> None:
    """Raise ArgumentError, which names the argument and the type, for a type that float64 does not hold."""
    dtype = np.dtype(dtype)
    if dtype.kind in REFUSED:
        raise ArgumentError(f"'{name}': type {dtype}, {REFUSED[dtype.kind]}.")

    if dtype.kind == "f" and dtype.itemsize > 8:
        raise ArgumentError(
            f"'{name}': type {dtype}, wanted float64: digits would be lost; convert it by astype(float)."
        )


def refuse_unit(name: str, given, unit: str) -> None:
    """Raise ArgumentError for a quantity that carries a unit, unless it is `unit`: NumPy would drop it silently."""
    found = getattr(given, "units", None) or getattr(given, "unit", None)
    if found is None or isinstance(given, np.ndarray) and type(given) is np.ndarray:
        return

    same = str(found) in (unit, "", "dimensionless" if unit == "1" else unit)
    refuse(not same, f"'{name}': came in {found}, wanted plain numbers in {unit}.")


def real_array(name: str, given, dtype=np.float64, unit: str = "1") -> np.ndarray:
    """An array of `dtype` (float64 or float32) from numbers, sequences or arrays of the host; a mask is dropped.

    name: of the argument, for messages. unit: see refuse_unit. Raises ArgumentError as the table above says.
    """
    refuse(given is None, f"'{name}' is None, wanted numbers.")
    refuse_unit(name, given, unit)

    try:
        array = np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:
        refuse(True, f"'{name}': wanted numbers ({error}).")

    refuse_type(name, array.dtype)
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        large = (array > EXACT) | (array < -EXACT)
        refuse(large.any(), f"'{name}': a whole number above 2^53 in size, which a float64 does not hold exactly.")

    return array.astype(dtype, copy=False)


def real_number(name: str, given) -> float:
    """A single number, converted as in `real_array`. Raises ArgumentError for several."""
    number = real_array(name, given)
    refuse(number.ndim, f"'{name}': an array of shape {number.shape} came, wanted one number.")
    return float(number)


def is_number(given) -> bool:
    """Whether it is a number by itself, of Python or NumPy, and no array: it has no memory that an address may name."""
    return isinstance(given, (int, float, complex, np.generic)) and not isinstance(given, np.ndarray)


def typed_number(name: str, given, dtype) -> np.ndarray:
    """A number as an array of no dimensions and of `dtype`, which owns its memory.

    Python's numbers take any type; a number of NumPy's must fit without loss, as an array must. Raises ArgumentError.
    """
    dtype = np.dtype(dtype)
    number = real_array(name, given)

    wider = isinstance(given, np.floating) and given.dtype.itemsize > dtype.itemsize
    refuse(wider, f"array '{name}': type {getattr(given, 'dtype', '')}, wanted {dtype.name}.")

    made = number.astype(dtype)
    whole = not isinstance(given, (float, np.floating))
    refuse(whole and made != number, f"array '{name}': {given} is not exact in {dtype.name}.")

    return made
