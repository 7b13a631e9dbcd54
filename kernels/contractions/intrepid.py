"""Intrepid's nine contractions of fields on cells, by their names and with their argument order.

contractDataFieldScalar(out, data, fields, sumInto=False) and so on; arrays of NumPy or CuPy, row-major, float64 or
float32. Cells C, fields L, R, F, points P, dimensions D1, D2:

    DataDataScalar    out (C)       left (C,P)           right (C,P)
    DataFieldScalar   out (C,F)     data (C,P) or (C,1)  field (C,F,P)
    FieldFieldScalar  out (C,L,R)   left (C,L,P)         right (C,R,P)

Vector and Tensor have D1, or D1 and D2, behind P. Data of one point count for every point, without averaging. sumInto
adds to out; else out is assigned: what stood there, NaN too, has no part in it (Intrepid2 multiplies it by zero
instead). Shapes are checked in every call: ArgumentError names array, index, found and wanted extent. Source: Intrepid
and Intrepid2, FunctionSpaceTools and ArrayTools.
"""

from __future__ import annotations

import itertools

from ..engine.errors import ArgumentError
from .call import contract

POINTS = {"Scalar": "p", "Vector": "p i", "Tensor": "p i j"}
# name: indices of out, of the first array and of the second, without the points'
KINDS = {
    "DataData": ("c", "left", "c", "right", "c"),
    "DataField": ("c f", "data", "c", "field", "c f"),
    "FieldField": ("c l r", "left", "c l", "right", "c r"),
}


def _text(kind: str, points: str, add: bool, constant: bool) -> str:
    out, first, own, second, other = KINDS[kind]
    data = points.replace("p", "one", 1) if constant else points  # an index of extent 1
    return f"out[{out}] {'+=' if add else '='} {first}[{own} {data}] {second}[{other} {points}]"


NAMES = tuple(f"contract{kind}{rank}" for kind, rank in itertools.product(KINDS, POINTS))


def text(name: str, shapes, add: bool) -> str:
    """The text of one of NAMES, for arrays of these shapes by their names: data of one point count for every point."""
    rank = next(r for r in POINTS if name.endswith(r))
    kind = name.removeprefix("contract").removesuffix(rank)
    data, field = shapes.get("data", ()), shapes.get("field", ())
    constant = kind == "DataField" and len(data) > 1 and len(field) > 2 and data[1] == 1 != field[2]

    return f"{_text(kind, POINTS[rank], add, constant)}; batch c"


def _check(kind: str, points: str, arrays: dict) -> bool:
    """Ranks and extents, all of them, before anything runs. Returns whether the data are constant over points."""
    out, first, own, second, other = KINDS[kind]
    wanted = {"out": out.split(), first: f"{own} {points}".split(), second: f"{other} {points}".split()}
    for name, array in arrays.items():
        if getattr(array, "ndim", None) != len(wanted[name]):
            raise ArgumentError(
                f"contract{kind}: array '{name}' has shape {tuple(getattr(array, 'shape', ()))}, wanted "
                f"{len(wanted[name])} dimensions: {', '.join(wanted[name])}."
            )

    known = {i: (x, second) for i, x in zip(wanted[second], arrays[second].shape)}
    constant = kind == "DataField" and arrays[first].shape[1] == 1 != known["p"][0]
    for name in (first, "out"):
        for index, extent in zip(wanted[name], arrays[name].shape):
            if constant and name == first and index == "p":
                continue

            expected, other_name = known.setdefault(index, (extent, name))
            if extent != expected:
                raise ArgumentError(
                    f"contract{kind}: array '{name}', index '{index}': extent {extent}, wanted {expected} as "
                    f"'{other_name}' has it."
                )

    return constant


def _make(kind: str, rank: str):
    first, second = KINDS[kind][1], KINDS[kind][3]
    points = POINTS[rank]

    def function(out, a, b, sumInto: bool = False, backend=None):
        arrays = {"out": out, first: a, second: b}
        constant = _check(kind, points, arrays)
        contract(_text(kind, points, sumInto, constant), batch="c", backend=backend, **arrays)
        return out

    function.__name__ = function.__qualname__ = f"contract{kind}{rank}"
    function.__doc__ = (
        f"out = or += (sumInto) the sum of {first} times {second} over {points}; returns out. See the module for "
        "shapes. Raises ArgumentError."
    )

    return function


contractDataDataScalar = _make("DataData", "Scalar")
contractDataDataVector = _make("DataData", "Vector")
contractDataDataTensor = _make("DataData", "Tensor")
contractDataFieldScalar = _make("DataField", "Scalar")
contractDataFieldVector = _make("DataField", "Vector")
contractDataFieldTensor = _make("DataField", "Tensor")
contractFieldFieldScalar = _make("FieldField", "Scalar")
contractFieldFieldVector = _make("FieldField", "Vector")
contractFieldFieldTensor = _make("FieldField", "Tensor")
