"""Few products of whole numbers or truth values: exact sums in 64 bits by a kernel, in calls of einsum that come again.

Sums of more products are done sooner in float64, whose call takes 9 us beside them.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ..engine.backend import array_calls, get_backend
from ..engine.backend.base import Source
from ..engine.backend.record import record, structure
from ..engine.errors import BackendError, CompileError
from . import fold, quick, repeats
from .einsum import Subscripts, extents, read, spread

PRODUCTS, FEW = 1 << 14, 1 << 12  # at most; numbers of an operand
OPERANDS, DIMENSIONS, LOOPS = 4, 8, 24  # at most
TRUTH = 0  # in the place of the bytes of a result's number: whether a sum is not zero


class Call(NamedTuple):
    """A call, as quick.py reads it."""

    given: tuple[str, ...]  # operands
    new: tuple[repeats.New, ...]  # the result
    dtype: np.dtype  # of the result

    @staticmethod
    def maker(shape):
        """make(shape, dtype) of the result."""
        return np.empty


@functools.lru_cache(256)
def call_of(text: str, lies: tuple[array_calls.Lie, ...]) -> Any:
    """result(string, operands): None where they lie otherwise, or where a sum may be too large for the result's type.
    None: there is no such function for these.

    text: of einsum. lies: how its operands of whole numbers lie.
    """
    dtype = np.result_type(*[lie.dtype for lie in lies])
    if dtype.kind not in "biu" or any(lie.dtype not in array_calls.WHOLE for lie in lies):
        return None

    shapes = [lie.shape for lie in lies]
    s = spread(read(text), shapes)
    sizes = extents(s, shapes)
    if not 0 < math.prod(sizes.values()) <= PRODUCTS or any(math.prod(shape) > FEW for shape in shapes):
        return None
    if len(lies) > OPERANDS or len(sizes) > LOOPS or max(map(len, shapes)) > DIMENSIONS:
        return None
    try:
        return _made(s, lies, sizes, dtype)
    except (BackendError, CompileError, OSError):
        return None


def _made(s: Subscripts, lies, sizes, dtype) -> Any:
    """The function, for a string that is served."""
    shape = tuple(sizes[i] for i in s.out)
    call = Call(tuple(s.names), (repeats.New("out", shape, tuple(range(len(shape)))),), dtype)
    places = {"out": len(lies), **{f"x{k}": k for k in range(len(lies))}}
    run = _module(len(lies)).again("contraction", _record(s, lies, sizes, dtype), places, 1)

    out = array_calls.Lie(dtype, shape, np.empty(shape, dtype).strides)
    launched = array_calls.prepared([*lies, out], run)
    return quick.in_a_new_array(call, launched, None) if launched else None


def _record(s: Subscripts, lies, sizes, dtype) -> np.ndarray:
    """The arguments but for the arrays' addresses: loops over the output, loops over the terms, a run."""
    sums = [i for i in sizes if i not in s.out]
    dots = not s.out
    outer, run = ([], sums[-1:]) if dots else (s.out[:-1], s.out[-1:])
    indices = [*outer, *(i for i in sums if i not in run), *run]
    held = record(
        members(len(lies)),
        loops=max(len(indices), 1),
        outer=len(outer),
        dots=dots,
        terms=math.prod(sizes[i] for i in sums),
        result=TRUTH if dtype.kind == "b" else dtype.itemsize,
        most=math.inf if dtype.kind == "b" else float(np.iinfo(dtype).max),
    )
    held["extent"][0, : max(len(indices), 1)] = [sizes[i] for i in indices] or 1

    for k, (own, lie) in enumerate(zip(s.operands, lies)):
        # Its dimensions in the copy: that of the run is the last one. An index that stands twice is a diagonal
        alone = dict(zip(own, lie.shape))
        order = sorted(alone, key=lambda index: index in run)
        strides = dict.fromkeys(order, 0)
        for index, stride in zip(own, lie.strides):
            strides[index] += stride

        begin = k * DIMENSIONS
        held["bytes"][0, k], held["dimensions"][0, k] = array_calls.WHOLE[lie.dtype], len(order)
        held["shape"][0, begin : begin + len(order)] = [alone[index] for index in order]
        held["lies"][0, begin : begin + len(order)] = [strides[index] for index in order]

        # An extent of 1 is broadcast
        for index, step in fold.dense(order, alone).items():
            held["step"][0, k * LOOPS + indices.index(index)] = step if alone[index] > 1 else 0
        held["goes"] += (1 << k) * any(alone.get(index, 1) > 1 for index in run)
    return held


def members(operands: int) -> str:
    """The members of the record of arguments."""
    addresses = " ".join(f"x{k}:address" for k in range(operands))
    return (
        f"out:address {addresses} loops:whole outer:whole dots:whole goes:whole result:whole terms:real most:real "
        f"bytes:whole:{operands} dimensions:whole:{operands} extent:whole:{LOOPS} step:whole:{LOOPS * operands} "
        f"shape:whole:{DIMENSIONS * operands} lies:whole:{DIMENSIONS * operands}"
    )


@functools.lru_cache(None)
def _module(operands: int):
    """The kernel for so many operands."""
    names = ", ".join(f"a.x{k}" for k in range(operands))
    lines = [
        '#include "engine/numbers/kernel.h"',
        f"constexpr int OPERANDS = {operands}, DIMENSIONS = {DIMENSIONS}, LOOPS = {LOOPS}, FEW = {FEW};",
        f"#define WHOLE_OPERANDS {names}",
        structure("Arguments", members(operands)),
        '#include "contractions/whole_packs.h"',
        "",
    ]
    source = Source(f"whole-numbers-{operands}", "\n".join(lines), entry="contraction", title="whole numbers")
    return get_backend("cpu", threads=1).compile(source)
