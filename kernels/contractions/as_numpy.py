"""numpy.einsum, tensordot and transpose by `contract`. The package has them by these names, so that it is a backend of
opt_einsum:

    opt_einsum.contract("ij,jk,kl->il", a, b, c, backend="kernels")

opt_einsum imports the module that `backend` names, and calls its einsum, tensordot and transpose for each pair of
operands. Arrays are NumPy's or CuPy's.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ..engine.backend import array_calls
from ..engine.errors import ArgumentError, refuse
from ..engine.timers import contexts, is_timing
from ..engine.values import is_number
from . import repeats, whole_numbers
from .arrays import EXACT, as_array, as_arrays, backend_of, exact_result, refuse_inexact, refuse_overlap, share_memory
from .call import contract
from .einsum import LETTERS, Subscripts, extents, in_letters, is_string, read, spread
from .products import numpy_einsum
from .result_order import checked

__all__ = ["einsum", "tensordot", "transpose"]
NUMBERS = "biufc"  # kinds of types
FEW_PRODUCTS = 1 << 12  # of whole numbers, which NumPy sums in less time than it takes to make them float64
MOST_INDICES, MOST_OPERANDS = 20, 8  # of NumPy's einsum, of any release; it has more
CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def einsum(
    *operands: Any,
    out: Any = None,
    dtype: Any = None,
    order: str | None = "K",
    casting: str = "safe",
    optimize: Any = True,
) -> Any:
    """numpy.einsum: a string and its operands, or arrays and lists of indices in turns. See `contract`. A
    result for which dimensions are only moved, or a diagonal is taken, is a view of the operand, as in NumPy. A result
    without dimensions is a number of NumPy; of CuPy's arrays it is an array.

    out: may share memory with operands: the result is then computed apart, and copied. order: of the result in memory,
    "K" or None (any), "C", "F" or "A". casting: what may happen to the operands, which become `dtype` or their common
    type, and to the result in `out`: "no", "equiv", "safe", "same_kind", "unsafe", as numpy.can_cast has it. optimize
    is not read: the cheapest order of evaluation is always taken. Raises ArgumentError.
    """
    # A string as before, with the usual options: by the shortest way.
    if out is dtype is None and order == "K" and casting == "safe" and not contexts:
        try:
            quick = repeats.kept.views.get(operands[0]) or repeats.kept.last.get(operands[0])
            found = quick and quick(*operands)
            if quick and found is None:
                found = repeats.as_arrays_by(quick, operands)
        except (IndexError, TypeError):
            found = None
        if found is not None:
            return found if found.ndim else found[()]

    if casting != "safe" and _is_cast_safely(operands, out, dtype, casting):
        casting = "safe"
    if dtype is None and order == "K" and casting == "safe":
        found = _usual(operands, out)
        if found is not None:
            return found if out is not None or found.ndim else found[()]

    found = _by_options(operands, out, dtype, "K" if order is None else order, casting)
    return found if out is not None or found.shape else found[()]


def _by_options(operands, out, dtype, order, casting) -> Any:
    """The result, an array. Raises ArgumentError."""
    refuse(not operands, "einsum: wanted a string and its operands, or arrays and lists of indices in turns.")
    if isinstance(operands[0], bytes):
        operands = (operands[0].decode("ascii", "replace"), *operands[1:])
    if out is dtype is None and order == "K" and casting == "safe":
        text, *given = operands
        arrays = as_arrays(given)
        if _are_whole((text, *arrays)):
            return _of_whole_numbers(text, *arrays)
    options = {"dtype": dtype, "order": order if order == "K" else checked(order)}

    if casting != "safe":
        return _cast(operands, out, options, casting)
    if out is not None and _is_in_the_way(out, operands):
        refuse_overlap("out", out)
        apart = backend_of(None, [out]).arrays.empty(out.shape, out.dtype)
        out[...] = contract(*operands, out=apart, **options)
        return out
    return contract(*operands, out=out, **options)


def _is_cast_safely(operands, out, dtype, casting) -> bool:
    """Whether a common type of a string's arrays is their own promotion, which casts safely what others may."""
    if out is not None or dtype is not None or casting not in ("same_kind", "unsafe"):
        return False
    return bool(operands) and isinstance(operands[0], str) and {*map(type, operands[1:])} == {np.ndarray}


def _are_whole(operands) -> bool:
    """Whether operands are a string and its arrays, NumPy's, of whole numbers or truth values."""
    text, *arrays = operands
    for array in arrays:
        if type(array) is not np.ndarray or array.dtype.kind not in "biu":
            return False
    return isinstance(text, str) and _count(text) == len(arrays)


@functools.lru_cache(256)
def _count(text: str) -> int:
    """Operands of a string; -1: it is none."""
    return text.count(",") + 1 if is_string(text) else -1


def _of_whole_numbers(text: str, *arrays) -> Any:
    """The result by a call of float64, which may be one as before; of few products by NumPy, if its type holds all
    sums. Raises ArgumentError for sums that float64 does not hold, and for a result that NumPy's type of it does not.
    """
    found = _of_few(text, arrays)
    if found is not None:
        return found
    s, terms, products = _read(text, tuple([a.shape for a in arrays]))
    if products <= FEW_PRODUCTS and not is_timing() and _numpy_holds(terms, arrays):
        return numpy_einsum()(text, *arrays)
    refuse_inexact(dict(zip(s.names, arrays)), terms)
    values = contract(text, *(a.astype(np.float64) for a in arrays))
    return exact_result(values, np.result_type(*arrays))


def _of_few(text: str, arrays) -> Any:
    """The result of few products, by a call that is tried first when the string comes again; None: not of these."""
    if is_timing():
        return None
    call = whole_numbers.call_of(text, tuple([array_calls.Lie(a.dtype, a.shape, a.strides) for a in arrays]))
    found = call and call(text, *arrays)
    if found is not None:
        repeats.try_first(text, call)
    return found


@functools.lru_cache(256)
def _read(text: str, shapes) -> tuple[Subscripts, int, float]:
    """(the string, terms of a sum, products of all sums) for operands of these shapes. Raises ArgumentError. Strings
    beyond NumPy's letters and limits have no end of products."""
    s = spread(read(text), shapes)
    sizes = extents(s, shapes)
    terms = math.prod(extent for i, extent in sizes.items() if i not in s.out)

    is_numpys = text.isascii() and len(sizes) <= MOST_INDICES and len(shapes) <= MOST_OPERANDS
    return s, terms, math.prod(sizes.values()) if is_numpys else math.inf


def _numpy_holds(terms: int, arrays) -> bool:
    """Whether NumPy's type of the result holds all sums of so many terms."""
    most = float(terms)
    for array in arrays:
        magnitude = array_calls.magnitude(array)
        if magnitude < 0:
            return False
        most *= max(magnitude, 1.0)
    return most <= _largest(tuple([a.dtype for a in arrays]))


@functools.lru_cache(256)
def _largest(dtypes) -> float:
    """The largest number that NumPy's type of a result and float64 hold, with all smaller ones; 0: not known here.
    Truth values have no sums."""
    dtype = np.result_type(*dtypes)
    if dtype.kind == "b":
        return math.inf
    return float(min(np.iinfo(dtype).max, EXACT)) if dtype.kind in "iu" else 0.0


def _usual(operands, out) -> Any:
    """A view, or the result of a call as one before; None: neither, or an error, which the general way tells."""
    given = operands if operands and isinstance(operands[0], str) else in_letters(operands)
    if not given:
        return None
    if out is not None:
        return repeats.again((*given, out), (given[0], None, repeats.USUAL_GIVEN))
    found = _view(*given) if len(given) == 2 else None
    return repeats.again(given, given[0]) if found is None else found


def _is_in_the_way(out, operands) -> bool:
    """Whether `out` can be written, and shares memory with an operand."""
    if (
        not hasattr(out, "strides")
        or not hasattr(out, "dtype")
        or is_number(out)
        or not getattr(out.flags, "writeable", True)
    ):
        return False
    return any(share_memory(out, array) for array in operands if hasattr(array, "strides"))


def _cast(operands, out, options: dict, casting: Any) -> Any:
    """The result of operands that are cast to a common type. Raises ArgumentError for a cast that `casting` forbids."""
    refuse(casting not in CASTINGS, f"einsum: casting={casting!r}, wanted one of {', '.join(map(repr, CASTINGS))}.")
    backend = backend_of(None, [*operands, out])
    given = list(operands)
    is_text = isinstance(given[0], str)
    places = range(1, len(given)) if is_text else range(0, len(given) - len(given) % 2, 2)
    for k, place in enumerate(places):
        given[place] = _array(as_array(f"operand{k}", given[place], backend))

    # NumPy's rule: one type for all, out among them, unless dtype names it
    types = {f"operand{k}": given[place].dtype for k, place in enumerate(places)}
    if out is not None:
        types["out"] = out.dtype
    common = np.result_type(*types.values()) if options["dtype"] is None else np.dtype(options["dtype"])
    for name, found in types.items():
        one, other = (common, found) if name == "out" else (found, common)
        allowed = np.can_cast(one, other, casting)
        refuse(not allowed, f"'{name}': {one} does not become {other} with casting='{casting}'.")

    for place in places:
        given[place] = given[place].astype(common, copy=False)
    made = contract(*given, **(options | {"dtype": common}))
    if out is None:
        return made
    refuse(out.shape != made.shape, f"array 'out': shape {out.shape}, wanted {made.shape}.")
    refuse_overlap("out", out)
    out[...] = made.astype(out.dtype, copy=False)
    return out


def _view(text, array) -> Any:
    """The view of NumPy or CuPy; None if the string sums, or the array is no array of numbers."""
    if type(text) is not str or not _moves(text):
        return None
    kind = type(array)
    if kind is np.ndarray:
        found = _view_of(text)(text, array)
        if found is not None:
            repeats.try_view(text, _view_of(text))
        return found
    if not hasattr(kind, "__cuda_array_interface__") or array.dtype.kind not in NUMBERS:
        return None

    lie = _lies(text, array.shape, array.strides)
    return lie and kind(lie.shape, array.dtype, array.data, lie.strides)


@functools.lru_cache(256)
def _view_of(text: str):
    """quick(string, array): NumPy's view of its array of numbers; None of another array, or where the string does not
    fit: `contract` broadcasts, or says what is wrong."""
    s = read(text)
    (own,) = s.operands
    plain, einsum_of_numpy = np.ndarray, numpy_einsum()

    def of_any(_, array):
        try:
            return einsum_of_numpy(text, array) if type(array) is plain and array.dtype.kind in NUMBERS else None
        except ValueError:
            return None

    if s.has_ellipsis or len(set(own)) < len(own):
        return of_any
    axes = tuple(own.index(index) for index in s.out)
    dimensions = len(own)

    def of_moved(_, array):
        if type(array) is not plain or array.ndim != dimensions or array.dtype.kind not in NUMBERS:
            return None
        return array.transpose(axes)

    return of_moved


@functools.lru_cache(256)
def _moves(text: str) -> bool:
    """Whether a string has one operand and sums over none of its indices."""
    try:
        s = read(text)
    except ArgumentError:
        return False
    return len(s.operands) == 1 and set(s.operands[0]) == set(s.out)


class _Lie(NamedTuple):
    """How a view lies."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes


@functools.lru_cache(256)
def _lies(text: str, shape, strides) -> _Lie | None:
    """How the view of an array lies. An index that stands twice goes along the diagonal. None: `contract` broadcasts,
    or says what is wrong."""
    try:
        s = spread(read(text), [shape])
        sizes = extents(s, [shape])
    except ArgumentError:
        return None

    steps = dict.fromkeys(s.out, 0)
    for index, stride in zip(*s.operands, strides):
        steps[index] += stride
    return _Lie(tuple([sizes[i] for i in s.out]), tuple(steps.values()))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """numpy.tensordot: the sum over so many last axes of a and first axes of b, or over pairs (axes of a, of b).

    Raises ArgumentError.
    """
    a, b = _array(a), _array(b)
    first, second = _axes(a, b, axes)

    return contract(_dotted(a.ndim, b.ndim, tuple(first), tuple(second)), a, b)


@functools.lru_cache(256)
def _dotted(dimensions: int, others: int, first, second) -> str:
    """The string of tensordot for so many dimensions of a and of b, and the axes of both. Raises ArgumentError."""
    refuse(dimensions + others > len(LETTERS), f"tensordot: {dimensions + others} dimensions, wanted {len(LETTERS)}.")
    own, other = [*LETTERS[:dimensions]], [*LETTERS[dimensions : dimensions + others]]
    for left, right in zip(first, second):
        other[right] = own[left]
    kept = [i for i in own if i not in other] + [i for i in other if i not in own]
    return f"{''.join(own)},{''.join(other)}->{''.join(kept)}"


def _axes(a, b, axes) -> tuple[list[int], list[int]]:
    """Axes of a and of b that are summed over together. Raises ArgumentError."""
    if isinstance(axes, (int, np.integer)):
        most = min(a.ndim, b.ndim)
        refuse(not 0 <= axes <= most, f"tensordot: axes={axes}, wanted 0 to {most}.")
        axes = list(range(a.ndim - axes, a.ndim)), list(range(axes))

    wanted = f"tensordot: axes={axes!r}, wanted a whole number, or lists of axes of a and of b."
    refuse(isinstance(axes, str) or not hasattr(axes, "__len__") or len(axes) != 2, wanted)
    first, second = _listed(a, axes[0]), _listed(b, axes[1])
    refuse(len(first) != len(second), f"tensordot: {len(first)} axes of a, {len(second)} of b, wanted as many.")
    for left, right in zip(first, second):
        if a.shape[left] != b.shape[right]:
            raise ArgumentError(f"tensordot: axis {right} of b: extent {b.shape[right]}, wanted {a.shape[left]}.")
    return first, second


def _listed(array, axes) -> list[int]:
    """Axes of an array, from 0. Raises ArgumentError."""
    found = list(axes) if hasattr(axes, "__iter__") else [axes]
    for axis in found:
        refuse(not hasattr(axis, "__index__"), f"tensordot: axis {axis!r}, wanted a whole number.")
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
