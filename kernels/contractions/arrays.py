"""Arrays that callers of `contract` give: where they lie, their types, their memory.

| came | happens |
|---|---|
| NumPy's and CuPy's arrays, any strides (gaps, negative, zero) | taken; without a copy where they are contiguous |
| lists, numbers, what NumPy makes an array of | converted (einsum strings) |
| other arrays with DLPack, such as torch's | taken without a copy, in the host's memory or the device's |
| masked arrays | refused: a sum over their entries is not defined |
| float16, float32, float64, complex64, complex128 | NumPy's promotion; float16 is computed in float32 |
| integers and truth values beside other types | converted; refused above 2^53 in size |
| integers and truth values alone | exact, in NumPy's type; refused where float64 or that type cannot hold it |
| longdouble, clongdouble, objects, text, dates, structures | refused |
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..engine.backend import get_backend
from ..engine.errors import ArgumentError
from ..engine.values import EXACT, is_number, real_array, refuse_type

WORK = {"float16": "float32", "float32": "float32", "float64": "float64", "complex64": "complex64"}
WORK["complex128"] = "complex128"
MOST_WORK = 10**5  # of the search for a number that two arrays have in common
DEVICES = (2, 13)  # of DLPack: CUDA's memory, and memory that CUDA manages
LIKE_ARRAYS = (list, tuple, bool, np.generic, np.matrix, np.memmap)  # what NumPy makes an array of, and loses nothing
NUMBERS = {int, float, complex}  # Python's, which take the arrays' type
PRECISIONS = {"float32": "float32", "float64": "float64", "complex64": "float32", "complex128": "float64"}


class Types(NamedTuple):
    """The types of the result and of the arithmetic."""

    result: np.dtype
    work: np.dtype  # float32, float64, complex64, complex128

    @property
    def exact(self) -> bool:
        """Whether the result is a whole number or a truth value, which has to be exact."""
        return self.result.kind in "biu"


def is_complex(array) -> bool:
    return np.dtype(array.dtype).kind == "c"


# ---- where they lie -------------------------------------------------------------------------------------------------


def backend_of(asked, arrays):
    """The backend that is asked for, else the backend that works where the arrays lie."""
    if asked is not None and not isinstance(asked, str):
        return asked
    device = any(_on_device(a) for a in arrays)
    return get_backend(asked or ("cuda" if device else "cpu"))


def _on_device(given) -> bool:
    if hasattr(given, "__cuda_array_interface__"):
        return True
    foreign = hasattr(given, "__dlpack_device__") and not isinstance(given, np.ndarray | np.generic)
    return foreign and int(given.__dlpack_device__()[0]) in DEVICES


def as_array(name: str, given, backend):
    """The array itself, or an array of NumPy's or CuPy's over the memory of a foreign one. An object without DLPack
    stays as it is. Raises ArgumentError."""
    refuse_mask(name, given)
    if is_number(given) or isinstance(given, np.ndarray | backend.arrays.ndarray):
        return given

    module = backend.arrays if _on_device(given) else np
    try:
        if hasattr(given, "__dlpack__"):
            return module.from_dlpack(given)
        return module.asarray(given) if _on_device(given) else given
    except (BufferError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise ArgumentError(
            f"array '{name}' is {type(given).__name__}, whose DLPack gives no array: {error}"
        ) from error


def as_arrays(operands: list) -> list:
    """Operands of a string, lists, numbers, matrices among them, as arrays of NumPy's own class, in the machine's order
    of bytes. The same list if nothing changes, or if there are others, such as a device's arrays."""
    kinds = {*map(type, operands)}
    if kinds == {np.ndarray} and all(x.dtype.isnative for x in operands):
        return operands
    try:
        found = [np.asarray(x) if isinstance(x, LIKE_ARRAYS) else x for x in operands]
        found = [_in_native_order(x) if type(x) is np.ndarray else x for x in found]
        if kinds & NUMBERS:
            found = _with_numbers(found)
    except (TypeError, ValueError, RuntimeError, OverflowError, AttributeError):
        return operands
    return found if {*map(type, found)} == {np.ndarray} else operands


def _in_native_order(array):
    """An array of numbers with the machine's order of bytes."""
    return array if array.dtype.isnative or array.dtype.kind not in "iufc" else array.astype(array.dtype.type)


def _with_numbers(operands: list) -> list:
    """Operands with Python's numbers as arrays of the type that all have together. A whole number that float64 does not
    hold stays as it is."""
    types = [x if type(x) in NUMBERS else x.dtype for x in operands]
    dtype = np.result_type(*types)
    made = []

    for x in operands:
        is_held = type(x) in NUMBERS and not (type(x) is int and abs(x) > EXACT)
        made.append(np.asarray(x, dtype) if is_held else x)

    return made


def plain(array):
    """A host's array in NumPy's own class, over the same memory: any part of a matrix has two dimensions."""
    if type(array) in (np.ndarray, np.memmap) or not isinstance(array, np.ndarray) or _on_device(array):
        return array
    return array.view(np.ndarray)


def refuse_mask(name: str, given) -> None:
    if isinstance(given, np.ma.MaskedArray):
        raise ArgumentError(f"array '{name}' is masked, and a sum over its entries is not defined; give a.filled(0).")


class _Place:
    """The memory of a device's array as NumPy has it, for questions about addresses. It is never read. CuPy has none
    of NumPy's limits of work."""

    def __init__(self, array):
        told = array.__cuda_array_interface__
        known = {name: told[name] for name in ("shape", "typestr", "data")}
        self.__array_interface__ = known | {"strides": told.get("strides"), "version": 3}


def share_memory(one, other) -> bool:
    """Whether two arrays have a number in common; True where that takes too long to find out."""
    if _on_device(one) != _on_device(other) or 0 in one.shape or 0 in other.shape:
        return False
    one, other = (np.asarray(_Place(array)) if _on_device(array) else array for array in (one, other))
    if not np.may_share_memory(one, other):
        return False
    try:
        return np.shares_memory(one, other, max_work=MOST_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def lies_apart(array, backwards: bool = False) -> bool:
    """Whether an array has whole steps of one number or more along each dimension, and no number twice, as a part of a
    larger array has them. backwards: of any sign."""
    size = end = array.dtype.itemsize
    dimensions = [(step, extent) for step, extent in zip(array.strides, array.shape) if extent > 1]
    if backwards:
        dimensions = [(abs(step), extent) for step, extent in dimensions]

    for step, extent in sorted(dimensions):
        if step < end or step % size:
            return False
        end += step * (extent - 1)

    return True


def refuse_overlap(name: str, array) -> None:
    """Raises ArgumentError for an output of which several entries lie at one place, or over each other."""
    if 0 in array.shape or lies_apart(array, backwards=True):
        return

    places = np.zeros(1, np.int64)
    for extent, step in zip(array.shape, array.strides):
        places = np.add.outer(places, step * np.arange(extent)).ravel()

    if np.diff(np.sort(places)).min(initial=array.dtype.itemsize) < array.dtype.itemsize:
        raise ArgumentError(
            f"output '{name}' has several entries at one place: strides {array.strides} of shape {tuple(array.shape)}."
        )


def is_array(given) -> bool:
    """Whether it is an array; a memoryview has strides too, in other words."""
    return hasattr(given, "strides") and hasattr(given, "dtype")


def check_written(out, arrays, backend) -> None:
    """Raises ArgumentError for an `out` that is no array, read-only, elsewhere, or in an operand's memory."""
    if not is_array(out) or is_number(out):
        raise ArgumentError(f"output 'out' is a number or {type(out).__name__}, wanted an array to write.")
    if not getattr(out.flags, "writeable", True):
        raise ArgumentError("array 'out' is read-only, and an output.")
    refuse_overlap("out", out)
    if backend.product and not backend.holds(out):
        raise ArgumentError(f"array 'out' is not where backend {backend} works.")

    for name, a in arrays.items():
        if hasattr(a, "strides") and share_memory(out, a):
            raise ArgumentError(f"output 'out' and array '{name}' share memory.")


def check_shape(out, indices, shape) -> None:
    """Raises ArgumentError for an `out` of another shape."""
    if len(out.shape) != len(shape):
        raise ArgumentError(f"array 'out': {len(out.shape)} dimensions {out.shape}, wanted {len(shape)}: {shape}.")
    for index, found, wanted in zip(indices, out.shape, shape):
        if found != wanted:
            raise ArgumentError(f"array 'out', index '{index}': extent {found}, wanted {wanted}.")


# ---- types ----------------------------------------------------------------------------------------------------------


def types_of(operands: dict, out=None, dtype=None) -> Types:
    """NumPy's promotion of the operands, and of `out` and `dtype` if given. Python's numbers take the arrays' type.

    Raises ArgumentError for types that no kernel has, and for an `out` or `dtype` that does not hold the result.
    """
    strong = [a if type(a) in (int, float, complex) else np.dtype(a.dtype) for a in operands.values()]
    for name, a in operands.items():
        if type(a) not in (int, float, complex):
            _refuse(name, a.dtype)

    result = np.result_type(*strong)
    for name, wider in (("dtype", dtype), ("out", getattr(out, "dtype", None))):
        if wider is None:
            continue
        _refuse(name, wider)
        if not np.can_cast(result, wider, "safe"):
            raise ArgumentError(f"'{name}': type {np.dtype(wider)}, wanted {result} or a type that holds it.")
        result = np.dtype(wider)

    return Types(result, np.dtype(WORK.get(result.name, "float64")))


def _refuse(name: str, dtype) -> None:
    """Raises ArgumentError for a type that neither a kernel has nor one of its types holds."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c" and dtype.itemsize > 16:
        raise ArgumentError(f"'{name}': type {dtype}, wanted complex128: digits would be lost; convert it by astype().")
    if dtype.kind not in "bc":
        refuse_type(name, dtype)


def named_type(arrays: dict) -> np.dtype:
    """The type that a text of statements works in: of all arrays, or of NumPy's numbers if there are no arrays.

    Raises ArgumentError for a type that no kernel has, and for two precisions.
    """
    found: list[tuple[str, np.dtype]] = []
    for name, a in arrays.items():
        if is_number(a):
            continue
        if not (hasattr(a, "dtype") and hasattr(a, "strides")):
            raise ArgumentError(f"array '{name}' is {type(a).__name__}, wanted an array.")
        if np.dtype(a.dtype).name not in PRECISIONS:
            raise ArgumentError(f"array '{name}': type {a.dtype}, wanted {', '.join(PRECISIONS)}.")
        found.append((name, np.dtype(a.dtype)))

    if not found:
        found = [(name, np.dtype(a.dtype)) for name, a in arrays.items() if isinstance(a, np.inexact)]

    precisions = [PRECISIONS.get(dtype.name, "float64") for _, dtype in found] or ["float64"]
    for (name, dtype), precision in zip(found, precisions):
        if precision != precisions[0]:
            raise ArgumentError(f"array '{name}': type {dtype}, wanted {precisions[0]} as '{found[0][0]}' has it.")

    numbers = [np.dtype(type(a)).kind for a in arrays.values() if is_number(a)]
    pairs = "c" in [dtype.kind for _, dtype in found] + numbers
    return np.dtype({"float32": "complex64", "float64": "complex128"}[precisions[0]] if pairs else precisions[0])


def converted(name: str, given, backend, dtype):
    """A contiguous array of `dtype`, where the backend works. Without a copy if it is that. Raises ArgumentError for a
    number that `dtype` does not hold."""
    if not _on_device(given):
        given = _host_array(name, given, dtype)
    elif np.dtype(given.dtype).kind in "iu" and given.dtype.itemsize == 8 and given.size:
        _refuse_large(name, max(abs(int(given.min())), abs(int(given.max()))))

    there = backend.from_host(given, dtype)
    return backend.arrays.ascontiguousarray(there).reshape(there.shape)  # NumPy makes one dimension of none


def _host_array(name: str, given, dtype) -> np.ndarray:
    array = np.asarray(given)
    if array.dtype.kind == "c":
        return array.astype(dtype, copy=False)
    return real_array(name, array.astype(np.int8) if array.dtype == bool else array, dtype)


def _refuse_large(name: str, size: int) -> None:
    if size > EXACT:
        raise ArgumentError(f"'{name}': a whole number above 2^53 in size, which a float64 does not hold exactly.")


# ---- whole numbers --------------------------------------------------------------------------------------------------


def refuse_inexact(operands: dict, terms: int) -> None:
    """Raises ArgumentError if a sum of so many products of whole numbers may pass 2^53, where float64 is not exact."""
    most = terms
    for a in operands.values():
        if getattr(a, "size", 1) == 0:
            return
        low, high = (int(a.min()), int(a.max())) if hasattr(a, "min") else (int(a), int(a))
        most *= max(abs(low), abs(high), 1)

    if most > EXACT:
        raise ArgumentError(
            f"einsum of whole numbers: sums may reach {float(most):.2g}, and float64 is exact up to 2^53; give "
            "arrays of float64 if rounding is welcome."
        )


def exact_result(values, dtype):
    """Whole numbers, as float64 holds them, in NumPy's type of the result. Raises ArgumentError if it is too narrow."""
    if dtype.kind == "b":
        return values != 0
    if values.size:
        low, high = float(values.min()), float(values.max())
        limits = np.iinfo(dtype)

        if low < limits.min or high > limits.max:
            wrong = low if low < limits.min else high
            raise ArgumentError(
                f"einsum of whole numbers: the result has {math.trunc(wrong)}, which {dtype} does not hold; "
                "give dtype= or wider arrays."
            )

    return values.astype(dtype)
