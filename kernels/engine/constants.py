"""Constants whose values a host sets by name while programs run, with units, ranges and defaults."""

from __future__ import annotations

import dataclasses
import typing
import weakref

import numpy as np

from .cpp_names import refuse_others
from .errors import ArgumentError, StateError, closest, is_one_of, refuse
from .values import real_array

if typing.TYPE_CHECKING:
    from numpy.typing import ArrayLike

MOST_NUMBERS = 2048  # of a constant

Range = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Settable:
    """A constant whose value a host sets at run time."""

    name: str
    unit: str
    what: str
    default: tuple[float, ...] | None  # None: the host has to set it
    count: int | None  # how many values; None: a single one, which bodies read without an index
    range: Range | None = None  # smallest and largest value; None: every finite value makes sense
    other_units: tuple[tuple[str, float], ...] = ()  # (unit, factor to it): units to be named where a value has them

    @property
    def size(self) -> int:
        """Number of values."""
        return 1 if self.count is None else self.count


class Program(typing.Protocol):
    """A program that holds values of settable constants."""

    settable: tuple[str, ...]

    def refresh(self) -> None:
        """Take the values of now."""


class Names(typing.Protocol):
    """The part of the registry that constants need; see Registry."""

    def store(self, kind: str, *, launched: bool = False, of_files: bool = True) -> dict[typing.Any, typing.Any]: ...

    def taken(self, kind: str, new) -> bool: ...

    def keep(self, kind: str, new) -> None: ...


class SettableConstants:
    """The settable constants of a registry, their values, and the programs that hold these."""

    def __init__(self, registry: Names):
        self._registry = registry
        self.declared: dict[str, Settable] = registry.store("constants")
        self.values: dict[str, np.ndarray] = registry.store("values of constants", of_files=False)
        self.users: weakref.WeakSet = weakref.WeakSet()

    def declare(
        self, name: str, unit: str, what: str, default=None, count=None, range=None, other_units=None
    ) -> Settable:
        """Declare a constant; see `constant` of kernels.gas.declare. Raises ArgumentError for a name that is declared
        otherwise, or that is none in C++, and for a count, default or range that does not fit."""
        new = Settable(name, unit, what, None, count, checked_range(name, range), tuple((other_units or {}).items()))
        refuse_others("constant", name)
        refuse(not 1 <= new.size <= MOST_NUMBERS, f"constant '{name}': count = {count}, wanted 1 to {MOST_NUMBERS}.")

        if default is not None:
            new = dataclasses.replace(new, default=tuple(checked_values(new, default).tolist()))

        known = self.declared.get(name, new)
        refuse(self._registry.taken("constants", new), f"constant '{name}' is already declared as {known}.")

        if known != new:
            self._forget(name)
        self._registry.keep("constants", new)
        return new

    def _forget(self, name: str) -> None:
        """Drop the value of a constant that is declared anew. Programs of the former one keep their values."""
        self.values.pop(name, None)
        for program in [program for program in self.users if name in program.settable]:
            self.users.discard(program)

    def set(self, name: str, value: ArrayLike) -> None:
        """Set a constant, in SI units. Existing programs use the new value at once. Raises ArgumentError for an
        unknown name, another number of values, NaN, infinity, or a value outside the declared range."""
        refuse(
            not is_one_of(name, self.declared),
            f"unknown constant '{name}'{closest(name, self.declared)}; known: {', '.join(self.declared) or 'none'}. "
            "For one of a host's own kernels, register the kernels first.",
        )

        numbers = checked_values(self.declared[name], value)

        if not np.array_equal(numbers, self.value_of(name)):
            self.values[name] = numbers
            for program in list(self.users):
                program.refresh()

    def value_of(self, name: str) -> np.ndarray:
        """The values of a constant now, (count,) or (1,); NaN if it has neither a value nor a default."""
        known = self.declared[name]
        return self.values.get(name, np.array(known.default or [np.nan] * known.size))

    def require(self, names, reader: str) -> None:
        """Raise StateError if one of these constants has neither a value nor a default. reader: for the message."""
        for name in names:
            known = self.declared[name]
            if name not in self.values and known.default is None:
                raise StateError(
                    f"'{reader}' reads the constant '{name}' [{known.unit}], which was never set and has no default: "
                    f"call frame_setconstant('{name}', ...) first."
                )

    def drop_undeclared(self) -> None:
        """Forget the programs that read a constant which is no longer declared."""
        for program in [program for program in self.users if not self.declared.keys() >= set(program.settable)]:
            self.users.discard(program)


def checked_range(name: str, bounds) -> Range | None:
    """(smallest, largest), or None. Raises ArgumentError unless `bounds` are two ascending numbers, or None."""
    if bounds is None:
        return None

    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        low = high = np.nan

    if not low <= high:
        raise ArgumentError(f"constant '{name}': range = {bounds!r}, wanted (smallest, largest).")

    return low, high


def _seen_unit(known: Settable, outside: list[float]) -> str:
    """The unit in which all values of a constant would be within its range, in words; "" if there is none."""
    assert known.range is not None
    low, high = known.range

    for unit, factor in known.other_units:
        if outside and all(low * factor <= value <= high * factor for value in outside):
            return f", which seems to be in {unit}"
    return ""


def checked_values(known: Settable, value) -> np.ndarray:
    """The values for a constant, (count,) or (1,). Raises ArgumentError for another number of values, NaN, infinity,
    or a value outside the declared range."""
    where = f"constant '{known.name}' [{known.unit}]"
    numbers = np.array(real_array(known.name, value, unit=known.unit))

    wanted = "one number" if known.count is None else f"an array of {known.count}"
    came = f"an array of {' x '.join(map(str, numbers.shape))}" if numbers.ndim else "one number"
    refuse(came != wanted, f"{where}: {came} came, wanted {wanted}.")

    refuse(not np.isfinite(numbers).all(), f"{where}: {numbers} came, wanted finite numbers.")
    numbers = numbers.reshape(-1)

    if known.range is not None:
        low, high = known.range
        outside = numbers[(numbers < low) | (numbers > high)].tolist()
        came = ", ".join(map(repr, outside[:4]))
        refuse(outside, f"{where}: {came} came{_seen_unit(known, outside)}, wanted {low:g} to {high:g}.")

    return numbers
