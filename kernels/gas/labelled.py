"""Arrays with names, of xarray and pandas: into plain arrays and back. Neither is imported unless its objects come.

xarray: a DataArray has the points along its dimensions; of X and Y the dimension `species` has the species, by name
where it has a coordinate. Back comes a Dataset with units. pandas: a Series, or a DataFrame with a column for each
species, has a point in each row. Back comes a DataFrame; a quantity of each species has columns such as X_CH4. A Series
of X, Y or another quantity of each species is one composition: its index has the species.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.errors import ArgumentError, closest, refuse
from ..engine.values import refuse_unit
from .registry import registry
from .species.names import own_name

SPECIES = "species"  # dimension of xarray
UNITS = {"status": "1", "steps": "1", "ignition_delay": "s"}  # of results that are no quantities


def labels_of(mixture, arrays: Mapping[str, Any]) -> Grid | Table | None:
    """How to take these arrays and to hand results back; None where all are plain. Raises ArgumentError for objects of
    both libraries in one call, and for labels that do not fit together."""
    found = {_library(value) for value in _values(arrays)} & {"xarray", "pandas"}
    if not found:
        return None
    refuse(len(found) > 1, "objects of xarray and of pandas came in one call; give one kind.")
    return (Grid if found == {"xarray"} else Table)(mixture, arrays)


def _values(arrays):
    for given in arrays.values():
        yield from given.values() if type(given) is dict else (given,)


def _library(value) -> str:
    return type(value).__module__.partition(".")[0]


def unit_of(name: str) -> str:
    """The unit of a result."""
    known = registry.quantities.get(name)
    return known.unit if known else UNITS.get(name, "1")


def _by_name(mixture, name: str, labels, where: str) -> list[int]:
    """Rows of the species with these names. where: what has the names, for messages. Raises ArgumentError for a name
    that is unknown, or comes twice."""
    found: list[int] = []
    for label in labels:
        own = own_name(str(label), mixture.names)
        if own is None:
            like = closest(str(label), mixture.names)
            raise ArgumentError(
                f"'{name}': no species {str(label)!r} in this mixture{like}; wanted its species' names in {where}."
            )
        row = mixture.names.index(own)
        refuse(row in found, f"'{name}': species {own!r} comes twice.")
        found.append(row)
    return found


def plain_composition(mixture, given, name: str = "X"):
    """A single composition, X or Y, with or without labels, as `properties` takes it. Species go by their names."""
    labels = labels_of(mixture, {name: given})
    return labels.plain({name: given})[name] if labels else given


class Grid:
    """Points along dimensions of xarray."""

    def __init__(self, mixture, arrays):
        self.mixture, self.xr = mixture, sys.modules["xarray"]
        parts = []
        for name, given in arrays.items():
            for value in given.values() if type(given) is dict else (given,):
                if not isinstance(value, self.xr.DataArray):
                    continue
                refuse_unit(name, value, registry.quantities[name].unit if name in registry.quantities else "s")
                parts.append(value.isel({SPECIES: 0}, drop=True) if SPECIES in value.dims else value)

        try:
            aligned = self.xr.align(*parts, join="exact")
            self.point = self.xr.broadcast(*aligned)[0]
        except ValueError as error:
            raise ArgumentError(f"coordinates of the arrays differ: {error}") from None

    def plain(self, arrays) -> dict:
        """The same as NumPy arrays, points in the order of the dimensions."""
        return {name: self._plain(name, given) for name, given in arrays.items()}

    def _plain(self, name: str, given):
        if type(given) is dict:
            return {key: self._plain(name, value) for key, value in given.items()}
        if not isinstance(given, self.xr.DataArray):
            return given
        if SPECIES not in given.dims:
            return self._spread(given)

        rows = self._spread(given, SPECIES)
        if SPECIES not in given.coords:
            return rows
        out = np.zeros((self.mixture.ns, *rows.shape[1:]))
        out[_by_name(self.mixture, name, given.coords[SPECIES].values, f"the coordinate {SPECIES}")] = rows
        return out

    def _spread(self, given, *first):
        return given.broadcast_like(self.point).transpose(*first, *self.point.dims).values

    def dressed(self, out: Mapping[str, Any]):
        """A Dataset of results, with units."""
        made = {name: self.one(name, value) for name, value in out.items()}
        return self.xr.Dataset(made)

    def one(self, name: str, value):
        """A DataArray of one result."""
        attributes = {"units": unit_of(name)}
        if name in registry.quantities:
            attributes["long_name"] = registry.quantities[name].what

        dims, coords = self.point.dims, dict(self.point.coords)
        value = np.asarray(value)
        more = value.ndim - len(dims)
        if more and len(value) == self.mixture.ns:
            dims, coords = (SPECIES, *dims), {**coords, SPECIES: list(self.mixture.names)}
        elif more:
            dims = (f"{name}_row", *dims)
        return self.xr.DataArray(value, dims=dims, coords=coords, name=name, attrs=attributes)


class Table:
    """A point in each row of pandas' objects; a Series of a composition has a species in each row."""

    def __init__(self, mixture, arrays):
        self.mixture, self.pd = mixture, sys.modules["pandas"]
        self.index: Any = None  # of the points; None: only compositions have labels
        for name, given in arrays.items():
            for value in given.values() if type(given) is dict else (given,):
                if self._is_composition(name, given) or not isinstance(value, (self.pd.Series, self.pd.DataFrame)):
                    continue
                if self.index is None:
                    self.index = value.index
                refuse(not self.index.equals(value.index), f"'{name}': its index differs from that before it.")

    def _is_composition(self, name: str, given) -> bool:
        """Whether this is a Series with a number for each species."""
        known = registry.quantities.get(name)
        return isinstance(given, self.pd.Series) and known is not None and known.per == "ns"

    def plain(self, arrays) -> dict:
        """The same as NumPy arrays."""
        return {name: self._plain(name, given) for name, given in arrays.items()}

    def _plain(self, name: str, given):
        if self._is_composition(name, given):
            return self._composition(name, given)
        if type(given) is dict:
            return {key: self._plain("", value) for key, value in given.items()}
        if isinstance(given, self.pd.Series):
            return given.to_numpy()
        if not isinstance(given, self.pd.DataFrame):
            return given

        out = np.zeros((self.mixture.ns, len(given.index)))
        out[_by_name(self.mixture, name, given.columns, "the columns")] = given.to_numpy().T
        return out

    def _composition(self, name: str, given):
        """Amounts by name of X and Y, an array (ns,) of another quantity; species that are not named have 0."""
        rows = _by_name(self.mixture, name, given.index, "the index of a Series")
        if name in ("X", "Y"):
            return {self.mixture.names[row]: amount for row, amount in zip(rows, given.to_numpy())}

        out = np.zeros(self.mixture.ns)
        out[rows] = given.to_numpy()
        return out

    def dressed(self, out: Mapping[str, Any]):
        """A DataFrame of results; attrs["units"] has the unit of each column. As they came, where no point has a
        label."""
        if self.index is None:
            return dict(out)

        columns: dict[str, np.ndarray] = {}
        units: dict[str, str] = {}
        for name, value in out.items():
            value = np.asarray(value)
            rows = {name: value}
            if value.ndim > 1:
                ends = self.mixture.names if len(value) == self.mixture.ns else range(len(value))
                rows = {f"{name}_{end}": row for end, row in zip(ends, value)}
            columns |= {key: np.broadcast_to(row, len(self.index)) for key, row in rows.items()}
            units |= dict.fromkeys(rows, unit_of(name))

        table = self.pd.DataFrame(columns, index=self.index)
        table.attrs["units"] = units
        return table

    def one(self, name: str, value):
        """A Series of one result; as it came, where no point has a label."""
        if self.index is None:
            return value
        return self.pd.Series(value, index=self.index, name=name)
