"""numpy.einsum, tensordot and transpose by `contract`. The package has them by these names, so that it is a backend of
opt_einsum:

    opt_einsum.contract("ij,jk,kl->il", a, b, c, backend="kernels")

opt_einsum imports the module that `backend` names, and calls its einsum, tensordot and transpose for each pair of
operands. Arrays are NumPy's or CuPy's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..engine.errors import ArgumentError, refuse
from . import repeats
from .call import contract
from .einsum import read
from .result_order import checked

__all__ = ["einsum", "tensordot", "transpose"]
NUMBERS = "biufc"  # kinds of types


def einsum(
    *operands: Any, out: Any = None, dtype: Any = None, order: str = "K", casting: str = "safe", optimize: Any = True
) -> Any:
    """numpy.einsum: a string and its operands, or arrays and lists of indices in turns. See `contract`. A string that
    only moves dimensions or takes a diagonal returns a view of the operand, as NumPy's does.

    order: of the result in memory, "K" (any), "C", "F" or "A". casting: "safe"; operands of several types are
    promoted. optimize is not read: the cheapest order of evaluation is always taken. Raises ArgumentError.
    """
    if dtype is None and order == "K" and casting == "safe":
        found = _view(*operands) if out is None and len(operands) == 2 else None
        if found is None:
            found = repeats.again(operands, out)
        if found is not None:
            return found
    if casting != "safe":
        raise ArgumentError(f"einsum: casting={casting!r}, wanted 'safe'.")
    if not operands:
        raise ArgumentError("einsum: wanted a string and its operands, or arrays and lists of indices in turns.")
    return contract(*operands, out=out, dtype=dtype, order=order if order == "K" else checked(order))


def _view(text, array) -> Any:
    """The view of NumPy or CuPy; None if the string sums, or the array is no array of numbers."""
    view = _moves(text) if type(text) is str else None
    if view is None:
        return None
    try:
        if type(array) is np.ndarray:
            return view.of_numpy(array) if array.dtype.kind in NUMBERS else None
        known = hasattr(array, "__cuda_array_interface__") and array.dtype.kind in NUMBERS
        return view.of_cupy(array) if known else None
    except ValueError:
        return None  # `contract` broadcasts, or says what is wrong


class _View(NamedTuple):
    """view(array) by the kind of array. Both raise ValueError for unequal extents."""

    of_numpy: Callable
    of_cupy: Callable


@functools.lru_cache(256)
def _moves(text: str) -> _View | None:
    """The view of a string that has one operand and sums over none of its indices; else None."""
    try:
        s = read(text)
    except ArgumentError:
        return None
    if len(s.operands) != 1 or set(s.operands[0]) != set(s.out):
        return None

    (own,) = s.operands
    found = _View(functools.partial(_numpy_alone(), text), functools.partial(np.einsum, text))
    if s.has_ellipsis or len(set(own)) < len(own):
        return found

    # Dimensions change places alone.
    axes = tuple(own.index(i) for i in s.out)
    return _View(found.of_numpy, lambda array: array.transpose(axes))


def _numpy_alone() -> Callable:
    """numpy.einsum in C, which a short call reaches sooner; einsum itself in a NumPy that keeps it elsewhere. Other
    libraries' arrays need the latter."""
    core = getattr(np, "_core", None) or np.core
    return getattr(core.multiarray, "c_einsum", np.einsum)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """numpy.tensordot: the sum over so many last axes of a and first axes of b, or over pairs (axes of a, of b).

    Raises ArgumentError.
    """
    a, b = _array(a), _array(b)
    first, second = _axes(a, b, axes)

    own = list(range(a.ndim))
    other = list(range(a.ndim, a.ndim + b.ndim))
    for left, right in zip(first, second):
        other[right] = own[left]
    kept = [i for i in own if i not in other] + [i for i in other if i not in own]
    return contract(a, own, b, other, kept)


def _axes(a, b, axes) -> tuple[list[int], list[int]]:
    """Axes of a and of b that are summed over together. Raises ArgumentError."""
    if isinstance(axes, (int, np.integer)):
        most = min(a.ndim, b.ndim)
        refuse(not 0 <= axes <= most, f"tensordot: axes={axes}, wanted 0 to {most}.")
        axes = list(range(a.ndim - axes, a.ndim)), list(range(axes))

    first, second = _listed(a, axes[0]), _listed(b, axes[1])
    refuse(len(first) != len(second), f"tensordot: {len(first)} axes of a, {len(second)} of b, wanted as many.")
    for left, right in zip(first, second):
        if a.shape[left] != b.shape[right]:
            raise ArgumentError(f"tensordot: axis {right} of b: extent {b.shape[right]}, wanted {a.shape[left]}.")
    return first, second


def _listed(array, axes) -> list[int]:
    """Axes of an array, from 0. Raises ArgumentError."""
    found = [axes] if isinstance(axes, (int, np.integer)) else list(axes)
    for axis in found:
        refuse(not -array.ndim <= axis < array.ndim, f"tensordot: axis {axis} of {array.ndim} dimensions.")

    made = [axis % array.ndim for axis in found]
    refuse(len(set(made)) < len(made), f"tensordot: axes {found} have an axis twice.")
    return made


def transpose(a: Any, axes: Any = None) -> Any:
    """A view with axes in another order, as numpy.transpose."""
    return _array(a).transpose(axes)


def _array(values: Any) -> Any:
    """The array itself; of lists and numbers one of NumPy."""
    return values if hasattr(values, "transpose") else np.asarray(values)
