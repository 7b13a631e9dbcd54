"""contract: a text evaluated on arrays in one call. Plans are kept for the next call with the same extents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.errors import ArgumentError
from . import einsum, repeats, result_order, statement_call, string_call
from .asked import MARKS, OTHERS, Asked
from .text import words

if TYPE_CHECKING:
    from ..engine.backend.base import Backend

NAMES = ("local", "constant", "symmetric")  # options that are names of arrays
BY_NAME = frozenset((*MARKS, *OTHERS))  # options that stand among the arrays by name


def contract(
    text: Any,
    *operands: Any,
    batch: str | None = None,
    backend: str | Backend | None = None,
    how: Any = None,
    out: Any = None,
    dtype: Any = None,
    order: str | int = "K",
    **arrays: Any,
) -> Any:
    """Evaluate a text on arrays of NumPy, CuPy or of any library with DLPack.

    contract("o[i k] = a[i j] b[j k]", a=a, b=b)      statements (text.py), arrays by name
    contract("...ij,...jk->...ik", a, b)              numpy.einsum's strings: repeated indices, ellipsis, no result told
    contract(a, [0, 1], b, [1, 2], [0, 2])            its form with lists of indices

    Outputs that are not given are made and returned: one, or a tuple in the text's order. Outputs that are given, `out`
    for an einsum string, are written in place, and returned too. They share no memory with inputs. Arrays may have any
    strides; what is not contiguous is copied, and a stride of zero is not read twice.

    Types of einsum strings: NumPy's promotion, see arrays.py; extents of 1 are broadcast as NumPy does. dtype: of the
    result, if not the promoted type. Statements want one precision for all arrays, float32 or float64; complex arrays
    may stand among real ones. A number may stand for an operand without indices.

    order: of a string's result in memory, as numpy.einsum has it: "C", "F", "A" (see result_order.py), or "K", any: the
    result is a view of a new array with its dimensions as the cheapest way to compute it leaves them. Statements say
    the order of their arrays themselves: "K" and "C" change nothing there. A number is the order of evaluation, as
    Contraction takes it.

    Options of text.parse (point, layout, local, constant, symmetric) and of Contraction (headers, folders, quick, free)
    go by their names. Raises ArgumentError, which names array, index, found and wanted; nothing is written then.
    """
    # A call as one before: a string without options by the shortest way.
    if type(text) is str and not arrays and batch is backend is how is out is dtype is None and order == "K":
        found = repeats.again((text, *operands), text)
        if found is not None:
            return np.asarray(found) if isinstance(found, np.generic) else found
    given = (text, *operands) if isinstance(text, str) else einsum.in_letters((text, *operands))
    by_name = {key: arrays.pop(key) for key in [*arrays] if key in BY_NAME}
    options = batch, how, out is None, order, dtype, *by_name.items()
    if given:
        held = [*given[1:], *arrays.values(), *([] if out is None else [out])]
        found = repeats.as_before(given[0], held, backend, (*options, *arrays))
        if found is not None:
            return found

    asked = _asked(Asked(batch, backend, how), order, by_name)
    if not isinstance(text, str):
        subscripts, operands = einsum.interleaved((text, *operands))
        asked = asked._replace(repeated=given and (given[0], options))
        return string_call.values(subscripts, operands, arrays, asked, out, dtype)
    if einsum.is_string(text) or operands:
        return string_call.values(
            einsum.read(text), operands, arrays, asked._replace(repeated=(text, options)), out, dtype
        )

    if dtype is not None:
        raise ArgumentError("dtype= is for strings of einsum; statements work in the arrays' type.")
    arrays = arrays if out is None else {**arrays, "out": out}
    asked = asked._replace(repeated=repeats.signature(text, arrays.values(), backend, (*options, *arrays)))
    return statement_call.values(text, arrays, asked)


def _refuse_array(key: str, value: Any) -> None:
    """Raises ArgumentError for an array under the name of an option."""
    if getattr(value, "ndim", 0):
        raise ArgumentError(f"'{key}' is an option of contract, and no name of an array: rename the array in the text.")


def _asked(asked: Asked, order, by_name: dict) -> Asked:
    """All options. by_name: those of BY_NAME. Raises ArgumentError."""
    given = {"batch": asked.batch, "how": asked.how, "backend": asked.backend, "order": order, **by_name}
    for key, value in given.items():
        _refuse_array(key, value)

    marks, others = {}, {}
    for key, value in by_name.items():
        if key in MARKS:
            marks[key] = words(value) if key in NAMES else value
        else:
            others[key] = value
    if hasattr(order, "__index__"):
        others["order"], order = order, "K"

    pairs = tuple(sorted(marks.items())), tuple(sorted(others.items()))
    return asked._replace(marks=pairs[0], others=pairs[1], order=result_order.checked(order))
