"""Calls of reactors on whole arrays of NumPy or CuPy."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ...engine.backend import get_backend
from ...engine.backend.base import on_device
from ...engine.errors import ArgumentError, closest, is_one_of, refuse
from ...engine.values import real_array, refuse_type
from .. import check
from ..arrays import call_updating
from ..composition import fractions, stacked
from ..registry import registry
from ..resolve import unserved

REACTORS = {"volume": "cv", "pressure": "cp"}  # kind: how its quantities end

LOST = {  # why a reactor has no end, by status
    1: "took too many steps (constant react_most)",
    2: "needed too small steps",
    4: "left 20 to {T_end} K",
    5: "not a state that reacts (T outside 20 to {T_end} K, p not positive, Y below -1e-8 or without a sum of 1, dt "
    "below 0, or not a number)",
}


@dataclasses.dataclass(frozen=True)
class Reactor:
    """Closed adiabatic reactors of a mixture, and where their kernels run."""

    mixture: Any
    kind: str  # what stays constant: "volume" or "pressure"
    backend: Any  # a Backend, its name, or None: that of the arrays
    precision: str  # "double" or "mixed"

    def react(self, state: dict, dt, last=None) -> dict:
        """See Mixture.react. state: {name: array}, of T, p and Y."""
        at = self.suffix
        mixture = self.mixture
        arrays = {name: fractions(name, given, mixture.names) for name, given in state.items()}
        arrays[f"dt_{at}"] = dt
        for name, given in arrays.items():
            _refuse_types(name.removesuffix(f"_{at}"), given)
        refuse(
            getattr(mixture.species, "reactions", None) is None,
            "react: the species have no reactions; wanted a mixture from a file whose phase has `kinetics`, as "
            "examples/mechanisms/h2_o2.yaml.",
        )
        points = _points_of({name.removesuffix(f"_{at}"): given for name, given in arrays.items()})
        refuse(last is not None and not hasattr(last, "argsort"), "last: wanted the array `steps` of a call before.")
        if last is not None:
            said = f"last: shape {tuple(last.shape)}, wanted that of the points, {points}: `steps` of a call before."
            refuse(tuple(last.shape) != points, said)

        names = [*state, f"status_{at}", f"steps_{at}"]
        order = None
        if last is not None:
            order = Order(mixture, last)
            arrays = {name: order.sorted(name, stacked(given)) for name, given in arrays.items()}

        out = call_updating(mixture, names, arrays, self.backend, self.precision)
        if order:
            out = {name: order.put_back(name, value) for name, value in out.items()}
        return {name.removesuffix(f"_{at}"): value for name, value in out.items()}

    @property
    def suffix(self) -> str:
        """How the quantities of this kind end. Raises ArgumentError for another kind, and for a mixture or a precision
        that no reactor serves."""
        unknown = f"kind = {self.kind!r}{closest(str(self.kind), REACTORS)}; wanted {' or '.join(REACTORS)}."
        refuse(not is_one_of(self.kind, REACTORS), unknown)
        at = REACTORS[self.kind]
        wrong = unserved(f"status_{at}", self.mixture.options)
        refuse(wrong, f"react is not available with {wrong}.")

        if self.precision == "single":
            makers = [kernel for kernel in registry.kernels.values() if f"status_{at}" in kernel.writes]
            why = makers[0].running.double_only
            raise ArgumentError(f"react is not available with precision = 'single': {why}; precision 'mixed' has it.")
        return at


def _refuse_types(name: str, given) -> None:
    """Raise ArgumentError for numbers of a type that is not taken."""
    if hasattr(given, "dtype"):
        refuse_type(name, given.dtype)
    else:
        real_array(name, given)


def _points_of(arrays: dict) -> tuple[int, ...]:
    """The shape of the points. arrays: by name; Y has the species in front. Raises ArgumentError for an array whose
    shape does not broadcast with those before it."""
    points: tuple[int, ...] = ()
    for name, given in arrays.items():
        shape = np.shape(stacked(given))
        own = shape[1:] if name == "Y" else shape
        try:
            points = np.broadcast_shapes(points, own)
        except ValueError:
            raise ArgumentError(f"{name!r}: points of shape {own} do not fit those of {points} before it.") from None
    return points


class Order:
    """Points sorted by the effort of a call before, so that neighbours need similar effort. last: steps, by point.
    In check mode points keep their places: messages name them."""

    def __init__(self, mixture, last):
        self.mixture, self.last, self.shape = mixture, last, tuple(last.shape)
        self.order = np.arange(last.size) if check.is_on() else np.ma.getdata(last).reshape(-1).argsort()
        self.back = self.order.argsort()

    def _rows(self, name: str) -> tuple[int, ...]:
        return (self.mixture.ns,) if registry.quantities[name].per else ()

    def sorted(self, name: str, given):
        """(rows, points), or (points,), in this order. The shapes of the points have been checked."""
        rows = self._rows(name)
        if on_device(given):
            refuse_type(name, given.dtype)
        else:
            masked = isinstance(given, np.ma.MaskedArray)
            values = real_array(name, given, unit=registry.quantities[name].unit)
            given = np.ma.array(values, mask=np.ma.getmaskarray(given)) if masked else values

        refuse(given.shape[: len(rows)] != rows, f"'{name}': shape {given.shape}, wanted {rows} in front.")
        if on_device(self.last):
            whole = _like(self.last, rows + self.shape)
        else:
            whole = np.empty(rows + self.shape)
            whole = np.ma.array(whole) if isinstance(given, np.ma.MaskedArray) else whole

        inner = tuple(given.shape[len(rows) :])
        missing = (1,) * (len(self.shape) - len(inner))
        whole[...] = given.reshape(rows + missing + inner)

        return whole.reshape(*rows, -1)[..., self.order]

    def put_back(self, name: str, value):
        """The same in the points' own order and shape."""
        return value[..., self.back].reshape(self._rows(name) + self.shape)


def _like(array, shape):
    """An empty array beside one on a device."""
    return get_backend("cuda").arrays.empty(shape, array.dtype)
