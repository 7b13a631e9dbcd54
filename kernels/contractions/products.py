"""Products of matrices by a library: the BLAS that NumPy has on a CPU, cuBLAS through CuPy on a device.

    run = bound(backend, "float64", way, (at_out, at_left, at_right))      out = left right, for each turn of the loops
    run = bound(..., Scale(-2.0, add=True))                                out -= 2 left right

way: axes and steps of a product (fold.Way), those of copies where arrays are copied. All that a run needs is made when
it is bound: a run allocates nothing. Products that add to the same output follow one another.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..engine.backend.base import Shape, Source
from ..engine.backend.record import record, structure
from ..engine.backend.replay import Launch, here
from ..engine.errors import VariantUnsuitable, refuse
from .fold import AS_IT_IS, LEFT, OUT, RIGHT, Axis, Scale, Way

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}  # of the libraries' functions
FUNCTIONS = ("gemm", "gemmStridedBatched", "gemmBatched")  # by the number of loops
MANY, SHORT_ROWS = 128, 4  # products of short sums, at least; rows of each, at most
SHORT, SHORT_DOT = 8, 20  # terms of a short sum at most; of vectors of complex128, whose call takes longest
SMALL_DOT = 4096  # numbers of a product that dot, which begins in half of matmul's time, fills with zeros first
MOST = 2**31 - 1  # extents and steps of cuBLAS
POINTERS = 1 << 22  # products of a call that has a table of addresses, at most
ARRAYS = 3  # out and both factors
MOST_LOOPS = 16  # over the products of a call
ADDRESSES = f"table:address first:address:{ARRAYS} count:whole loops:whole "
ADDRESSES += f"extent:whole:{MOST_LOOPS} step:whole:{ARRAYS * MOST_LOOPS}"
ROW_MAJOR, TRANSPOSED = 0, 1  # cuBLAS: an operand as it lies (columns follow each other), or transposed


def bound(backend, dtype: str, way: Way, addresses, scale: Scale = AS_IT_IS, keep=()):
    """run(). addresses: of out, left, right. Raises VariantUnsuitable for what the library cannot do."""
    if backend.memory == "device":
        return _on_device(_Call(backend, dtype, way, scale.number, keep), way, addresses, scale.add)

    refuse(scale != AS_IT_IS or bool(way.sums), "NumPy's product neither scales nor adds.", VariantUnsuitable)
    return _on_host(backend, dtype, way, addresses, keep)


def in_turn(runs: list):
    """A function that runs them all in order."""
    if len(runs) == 1:
        return runs[0]

    def run() -> None:
        for each in runs:
            each()

    return run


def plain(style: str, way: Way, scale: Scale) -> bool:
    """Whether a library can do a way as it is. NumPy's product neither scales nor adds: the output has to be a copy."""
    if style == "threads":
        return True
    return not way.sums and (way.copied[OUT] or scale == AS_IT_IS)


# ---- NumPy ----------------------------------------------------------------------------------------------------------


def _on_host(backend, dtype: str, way: Way, addresses, keep):
    out, left, right = (
        backend.at(address, *view, np.dtype(dtype)) for address, view in zip(addresses, _views(way, dtype))
    )
    multiply = _function(dtype, way)

    def run(keep=keep):
        multiply(left, right, out)

    return run


def _function(dtype: str, way: Way):
    """NumPy's function(left, right, out) for stacks of matrices: without a sum their numbers are multiplied one by
    one. Of many short sums einsum makes no call each, as matmul does."""
    if way.k.extent == 1:
        return np.multiply
    return _short_sums if are_short_sums(dtype, way) else np.matmul


def are_short_sums(dtype: str, way: Way) -> bool:
    """Whether a way is many products with a vector, with sums so short that NumPy's einsum is done sooner than its
    matmul: of numbers side by side, others take it ten times as long."""
    if way.k.step[LEFT] != 1 or way.k.step[RIGHT] != 1:
        return False
    m, n, k = (axis.extent for axis in (way.m, way.n, way.k))
    if min(m, n) > 1 or max(m, n) > SHORT_ROWS or math.prod(axis.extent for axis in way.loops) < MANY:
        return False
    return k <= (SHORT_DOT if m == n and dtype == "complex128" else SHORT)


def _short_sums(left, right, out) -> None:
    numpy_einsum()("...ij,...jk->...ik", left, right, out=out)


def numpy_einsum():
    """numpy.einsum in C, which a short call reaches sooner; einsum itself in a NumPy that keeps it elsewhere. Other
    libraries' arrays need the latter."""
    core = getattr(np, "_core", None) or np.core
    return getattr(core.multiarray, "c_einsum", np.einsum)


def _views(way: Way, dtype: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(shape, strides in bytes) of out, left, right as stacks of matrices."""
    size, found = np.dtype(dtype).itemsize, []
    for array, rows, columns in ((OUT, way.m, way.n), (LEFT, way.m, way.k), (RIGHT, way.k, way.n)):
        axes = (*way.loops, rows, columns)
        found.append((tuple(axis.extent for axis in axes), tuple(axis.step[array] * size for axis in axes)))
    return found


def again(dtype: str, way: Way, lie):
    """run(out, left, right) of NumPy's product. lie: (shape, strides in bytes) of each array; None: of a part of the
    scratch."""
    views, multiply = _views(way, dtype), _function(dtype, way)
    if views == lie:
        is_small = way.m.extent * way.n.extent <= SMALL_DOT
        multiply = np.dot if way.k.extent > 1 and not way.loops and is_small else multiply
        return lambda out, left, right: multiply(left, right, out)

    to, one, other = (_viewed(view, lies, np.dtype(dtype)) for view, lies in zip(views, lie))

    def run(out, left, right) -> None:
        multiply(one(left), other(right), to(out))

    return run


def _viewed(view, lies, dtype: np.dtype):
    """The function of an array that gives a view of it. view, lies: (shape, strides in bytes) of the view and of the
    array; None: numbers side by side."""
    shape, steps = view
    if view == lies:
        return lambda array: array

    axes = _exchanged(view, lies) if lies else None
    if axes:
        return operator.methodcaller("transpose", axes)
    if lies and not _is_contiguous(lies, dtype.itemsize):
        return lambda array: as_strided(array, shape, steps)
    return lambda array: np.ndarray(shape, dtype, array, 0, steps)


def _exchanged(view, lies) -> tuple[int, ...] | None:
    """The order of an array's dimensions in a view that has the same ones, each of them once; else None."""
    own, wanted = list(zip(*lies)), list(zip(*view))
    if len(set(own)) < len(own) or sorted(own) != sorted(wanted):
        return None
    return tuple(own.index(axis) for axis in wanted)


def _is_contiguous(lies, size: int) -> bool:
    """Whether numbers of so many bytes lie side by side, the last dimension's fastest. lies: (shape, strides)."""
    for extent, stride in reversed(list(zip(*lies))):
        if extent > 1 and stride != size:
            return False
        size *= extent
    return True


# ---- cuBLAS ---------------------------------------------------------------------------------------------------------


def factors(way: Way) -> list[tuple[int, Axis, Axis]]:
    """The output, then both factors as cuBLAS has them: (array, rows, columns). It counts columns first: where the
    output runs along its rows, the product of the transposes is asked for."""
    arrays = [(OUT, way.m, way.n), (LEFT, way.m, way.k), (RIGHT, way.k, way.n)]
    if not _by_columns(*arrays[OUT]):
        arrays = [(OUT, way.n, way.m), (RIGHT, way.n, way.k), (LEFT, way.k, way.m)]
    return arrays


def transposed(way: Way) -> tuple[bool, bool]:
    """Whether cuBLAS has to transpose its first factor, and its second one."""
    _, first, second = factors(way)
    return _operation(*first) == TRANSPOSED, _operation(*second) == TRANSPOSED


def _on_device(call: _Call, way: Way, addresses, add: bool):
    # Turns of sums follow each other: each but the first adds.
    runs = []
    for turn in itertools.product(*(range(axis.extent) for axis in way.sums)):
        shifts = [sum(t * axis.step[array] for t, axis in zip(turn, way.sums)) for array in (OUT, LEFT, RIGHT)]
        at = [address + shift * call.size for address, shift in zip(addresses, shifts)]
        runs.append(call.at(at, add or any(turn)))
    return in_turn(runs)


def _by_columns(array: int, rows: Axis, columns: Axis) -> bool:
    """Whether the numbers of a column lie side by side, columns behind each other."""
    side_by_side = rows.extent == 1 or rows.step[array] == 1
    return side_by_side and (columns.extent == 1 or columns.step[array] >= rows.extent)


def _operation(array: int, rows: Axis, columns: Axis) -> int:
    return ROW_MAJOR if _by_columns(array, rows, columns) else TRANSPOSED


def _line(array: int, rows: Axis, columns: Axis) -> int:
    """The step from line to line."""
    fast, slow = (rows, columns) if _by_columns(array, rows, columns) else (columns, rows)
    return max(slow.step[array] if slow.extent > 1 else 0, fast.extent, 1)


def sources(style: str) -> list[Source]:
    """All that `bound` may compile."""
    return [_source()] if style == "threads" else []


def _source() -> Source:
    """The kernel that writes tables of addresses."""
    text = [
        f"#define MOST_LOOPS {MOST_LOOPS}",
        '#include "engine/numbers/kernel.h"',
        structure("Arguments", ADDRESSES),
        '#include "contractions/product_addresses.h"',
        "",
    ]
    return Source("product-addresses", "\n".join(text))


@functools.lru_cache(None)
def _module(backend):
    return backend.compile(_source())


class _Call:
    """A function of cuBLAS with what all its calls have in common."""

    def __init__(self, backend, dtype: str, way: Way, number: float, keep):
        arrays = factors(way)
        out, left, right = arrays
        m, n, k = out[1].extent, out[2].extent, left[2].extent

        self.backend, self.loops, self.keep = backend, way.loops, keep
        self.order = [array for array, *_ in arrays]
        self.shape = [_operation(*left), _operation(*right), m, n, k]
        self.strides = [_line(*array) for array in arrays]
        self.scale = np.array([number, 0.0, 1.0], dtype)
        self.size = self.scale.itemsize
        self.count = math.prod(axis.extent for axis in way.loops)

        loops = len(way.loops)
        self.function = getattr(backend.arrays.cuda.cublas, LETTERS[dtype] + FUNCTIONS[min(loops, 2)])
        for refused, why in (
            (max(*self.shape, *self.strides) > MOST, f"a product of {m} x {n} x {k} numbers, wanted below 2^31"),
            (loops > 1 and self.count > POINTERS, f"{self.count} products in a call"),
            (loops > MOST_LOOPS, f"products by {loops} loops, wanted {MOST_LOOPS} at most"),
        ):
            refuse(refused, f"{why}.", VariantUnsuitable)

    def at(self, addresses, add: bool):
        """run() for arrays at these addresses."""
        begins = np.array([addresses[array] for array in self.order], np.int64)
        if len(self.loops) < 2:
            return self._queued(begins, add)

        # A table of addresses, which a kernel writes before each call.
        backend = self.backend
        tables = backend.empty((ARRAYS, self.count), np.dtype(np.int64))
        rows = [backend.address(tables) + row * self.count * begins.itemsize for row in range(ARRAYS)]
        write = _module(backend).bind("addresses", Shape(256), self._places(rows[0], begins), keep=(tables, self.keep))
        multiply = self._queued(np.array(rows, np.int64), add)

        def run():
            write(ARRAYS * self.count)
            multiply()

        return run

    def _places(self, table: int, begins) -> np.ndarray:
        """The record of the table's kernel."""
        extents = [axis.extent for axis in self.loops]
        steps = np.zeros((ARRAYS, MOST_LOOPS), np.int64)
        for row, array in enumerate(self.order):
            steps[row, : len(extents)] = [axis.step[array] * self.size for axis in self.loops]
        extents += [1] * (MOST_LOOPS - len(extents))
        values = dict(table=table, first=begins, extent=extents, step=steps.ravel())
        return record(ADDRESSES, count=self.count, loops=len(self.loops), **values)

    def _queued(self, begins, add: bool):
        """run() with arrays, or tables of addresses, where `begins` has them: read at each run."""
        if here.watch:
            return functools.partial(
                here.watch.launches.append, Launch(begins, functools.partial(self._bound, add=add))
            )
        return self._bound(begins, add)

    def _bound(self, begins, add: bool):
        number, zero, one = (self.scale.ctypes.data + place * self.size for place in range(3))
        old = one if add else zero
        last, first, second = map(self._lines, self.strides, self.order)
        tail = [self.count] if self.loops else []
        function, use, handle = self.function, self.backend.use, self.backend.arrays.cuda.device.get_cublas_handle
        shape = self.shape

        def run(keep=(self.scale, self.keep)):
            use()
            c, a, b = begins.tolist()
            function(handle(), *shape, number, a, *first, b, *second, old, c, *last, *tail)

        return run

    def _lines(self, line: int, array: int) -> list[int]:
        """The step from line to line, and from product to product where all are one step apart."""
        return [line, *[loop.step[array] for loop in self.loops]] if len(self.loops) == 1 else [line]
