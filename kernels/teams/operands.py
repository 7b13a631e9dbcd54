"""The arrays and numbers that a team kernel is bound to: types, extents, addresses, and what is refused."""

from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np

from ..engine.backend.base import Backend
from ..engine.errors import refuse
from ..engine.registry import declared
from ..engine.values import is_number, real_array
from .declaration import Declaration
from .policies import Sizes
from .words import Array, value_of

LINE = 64  # bytes of a line of a CPU's memory
SIZES = [field.name for field in dataclasses.fields(Sizes)]


class Operands:
    """Checked arrays and numbers. Raises ArgumentError for what is missing, too many or does not fit.

    arrays: {name: array}, with the results' own. dtype: of real numbers. names: {name: integer}, by which formulas of
    extents are read. values: members of the record. from_host: (name, kind) of the numbers that are constants of a host
    and are read at each run.
    """

    def __init__(self, kernel: Declaration, backend: Backend, arrays: dict, numbers: dict):
        self.kernel, self.backend = kernel, backend
        self._where = f"team kernel '{kernel.name}'"

        self.arrays = arrays
        self.dtype = self._real()
        self.names = self._sizes()
        self.values: dict[str, typing.Any] = {}
        self.from_host: list[tuple[str, str]] = []

        self._read_numbers(numbers)
        self._read_extents()
        self._place()
        self._add_results()

    def _sizes(self) -> dict[str, int]:
        """{name: value} of members and lanes, which formulas of a league may name."""
        if not self.kernel.items.has_teams:
            return {}
        team, vector = self.kernel.organisation()
        return {"team": team, "vector": vector}

    def number_of(self, text: str, of: str) -> int:
        """The integer that a formula of the declaration gives here. of: the formula's owner, for messages."""
        return value_of(text, self.names, f"{self._where}, {of}")

    def _real(self) -> np.dtype:
        """The type of the first real array, else float64. Raises ArgumentError for missing and unknown arrays."""
        k, arrays = self.kernel, self.arrays
        wanted = [a.name for a in k.arrays]
        for name in wanted:
            refuse(name not in arrays, f"{self._where}: array '{name}' is missing.")

        for name, array in arrays.items():
            refuse(
                name not in [a.name for a in k.operands],
                f"{self._where} has no array '{name}'; it has {', '.join([a.name for a in k.operands])}.",
            )
            refuse(
                is_number(array) or not (hasattr(array, "dtype") and hasattr(array, "strides")),
                f"{self._where}: '{name}' is {type(array).__name__}, wanted an array.",
            )
            refuse(
                isinstance(array, np.ma.MaskedArray),
                f"{self._where}: array '{name}' is masked, and a kernel reads no masks; give {name}.filled(...).",
            )

        types = [np.dtype(arrays[a.name].dtype) for a in k.arrays if a.kind == "real"]
        real = types[0] if types else np.dtype(np.float64)
        refuse(real.name not in ("float64", "float32"), f"{self._where}: type {real}, wanted float64 or float32.")

        return real

    # ---- numbers
    def _read_numbers(self, numbers: dict) -> None:
        kinds = dict(self.kernel.numbers)
        for name in numbers:
            instead = f"; sizes are given by Sizes({name}={numbers[name]!r})" if name in SIZES else ""
            refuse(
                name not in kinds,
                f"{self._where} has no number '{name}'; it has {', '.join(kinds) or 'none'}{instead}.",
            )
            refuse(
                real_array(name, numbers[name]).ndim > 0,
                f"{self._where}: the number '{name}' is an array of shape {np.shape(numbers[name])}.",
            )

        for name, kind in self.kernel.numbers:
            value = numbers[name] if name in numbers else self._of_host(name, kind)
            if kind == "whole":
                refuse(int(value) != value, f"{self._where}: {name} = {value}, wanted a whole number.")
                self.names[name] = value = int(value)
            self.values[f"n_{name}"] = value

    def _of_host(self, name: str, kind: str) -> float:
        """A number that is read at each launch from the constant of its name. Raises ArgumentError if there is none,
        StateError if it was not set."""
        refuse(
            name not in declared.constants.declared,
            f"{self._where}: the number '{name}' is missing: give it, or declare constant('{name}', ...).",
        )

        declared.constants.require([name], self.kernel.name)
        self.from_host.append((name, kind))
        return declared.constants.value_of(name)[0]

    # ---- arrays
    def _read_extents(self) -> None:
        """Extents by the names in the declaration: the first array with a name says its value, others must agree."""
        for _, extent, size in self._dimensions():
            if extent.isidentifier():
                self.names.setdefault(extent, size)

        for array, extent, size in self._dimensions():
            wanted = self.number_of(extent, f"array '{array.name}'")
            refuse(size != wanted, f"{self._where}: array '{array.name}', extent {extent}: {size}, wanted {wanted}.")

        for name in self.kernel.inferred():
            self.values[f"n_{name}"] = self.names[name]

    def _dimensions(self):
        """(declared array, extent, size) of each dimension of each array."""
        for array in self.kernel.arrays:
            self._check_type(array, self.arrays[array.name])
            for extent, size in zip(array.extents, self.arrays[array.name].shape):
                yield array, extent, size

    def _check_type(self, a: Array, array) -> None:
        """Number of dimensions, and type. Raises ArgumentError."""
        shape, wanted = tuple(array.shape), a.dtype(self.dtype)
        refuse(
            len(shape) != len(a.extents),
            f"{self._where}: array '{a.name}' has {len(shape)} dimensions {shape}, wanted {len(a.extents)}: "
            f"({', '.join(a.extents)}).",
        )
        refuse(
            np.dtype(array.dtype) != wanted,
            f"{self._where}: array '{a.name}' has type {array.dtype}, wanted {wanted}.",
        )

    def _place(self) -> None:
        """Addresses. Contiguous, where the backend works, and outputs apart from all others."""
        spans: list[tuple[int, int, Array]] = []

        for a in self.kernel.arrays:
            array = self.arrays[a.name]
            refuse(
                self.backend.elsewhere(array),
                f"{self._where}: array '{a.name}' is not where backend {self.backend} works.",
            )

            writeable = getattr(getattr(array, "flags", None), "writeable", True)
            refuse(a.written and not writeable, f"{self._where}: array '{a.name}' is read-only, and written.")

            size = self._contiguous(a, array)
            address = self.backend.address(array) if size else 0
            self.values[f"at_{a.name}"] = address
            self.values[f"extent_{a.name}"] = tuple(array.shape)
            if size:
                spans.append((address, address + size, a))

        self._refuse_shared(spans)

    def _refuse_shared(self, spans) -> None:
        """Raise ArgumentError for an array that is written and shares memory. spans: (begin, end, array) in bytes."""
        for low, high, a in spans:
            for begin, end, other in spans:
                refuse(
                    a.written and a is not other and low < end and begin < high,
                    f"{self._where}: '{a.name}' is written and shares memory with '{other.name}'.",
                )

    def _contiguous(self, a: Array, array) -> int:
        """Bytes of an array. Raises ArgumentError unless its elements lie side by side in the declared layout."""
        step, empty = a.dtype(self.dtype).itemsize, math.prod(array.shape) == 0
        dims = list(zip(a.extents, array.shape, array.strides))
        fastest = "first"
        if a.layout == "RIGHT":
            dims, fastest = dims[::-1], "last"

        for extent, size, stride in dims:
            refuse(
                size > 1 and not empty and stride != step,
                f"{self._where}: array '{a.name}', extent {extent}: neighbours are {stride} bytes apart, wanted "
                f"{step}: contiguous, the {fastest} index fastest{_as_it_lies(a, array)}.",
            )
            step *= size

        return step

    def line(self, names: tuple[str, ...]) -> int:
        """The address of the largest of these arrays; 0 if there is none. Its rows lie all alike to lines of memory."""
        most, address = 0, 0
        for name in names:
            array = self.arrays[name]
            steps = [step for size, step in zip(array.shape, array.strides) if size > 1]
            rows_alike = all(step % LINE == 0 for step in steps if step != self.dtype.itemsize)
            if array.dtype.itemsize == self.dtype.itemsize and rows_alike and array.nbytes > most:
                most, address = array.nbytes, self.values[f"at_{name}"]

        return 0 if address % self.dtype.itemsize else address

    def _add_results(self) -> None:
        """The arrays of the results, made here if none were given."""
        for result in self.kernel.results:
            for a in result.arrays:
                shape, dtype = (result.count,), a.dtype(self.dtype)
                if a.name not in self.arrays:
                    self.arrays[a.name] = self.backend.from_host(np.zeros(shape, dtype), dtype)

                array = self.arrays[a.name]
                refuse(
                    tuple(array.shape) != shape or np.dtype(array.dtype) != dtype,
                    f"{self._where}: result '{a.name}' has shape {tuple(array.shape)}, type {array.dtype}, wanted "
                    f"{shape}, {dtype}.",
                )
                self.values[f"at_{a.name}"] = self.backend.address(array)


def _as_it_lies(a: Array, array) -> str:
    """The declaration that fits an array whose first index is the fastest; "" for other arrays."""
    if a.layout == "RIGHT" and array.flags.f_contiguous:
        return f"; declared as {a.name}({','.join(a.extents)}):left, the first"
    return "; declared without :left, the last" if a.layout == "LEFT" and array.flags.c_contiguous else ""
