"""Products of matrices by a library: the BLAS that NumPy has on a CPU, cuBLAS through CuPy on a device.

    run = bound(backend, "float64", way, (at_out, at_left, at_right))      out = left right, for each turn of the loops
    run = bound(..., number=-2.0, add=True)                                out -= 2 left right

way: axes and steps of a product (fold.Way), those of copies where arrays are copied. All that a run needs is made when
it is bound: a run allocates nothing. Products that add to the same output follow one another.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from ..engine.errors import VariantUnsuitable, refuse
from .fold import LEFT, OUT, RIGHT, Axis, Way

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}  # of the libraries' functions
MOST = 2**31 - 1  # extents and steps of cuBLAS
POINTERS = 1 << 22  # products of a call that has a table of addresses, at most
ROW_MAJOR, TRANSPOSED = 0, 1  # cuBLAS: an operand as it lies (columns follow each other), or transposed


def bound(backend, dtype: str, way: Way, addresses, number: float = 1.0, add: bool = False, keep=()):
    """run(). addresses: of out, left, right. Raises VariantUnsuitable for what the library cannot do."""
    if backend.memory == "device":
        return _on_device(backend, dtype, way, addresses, number, add, keep)
    return _on_host(backend, dtype, way, addresses, number, add, keep)


def plain(style: str, way: Way, number: float, add: bool) -> bool:
    """Whether a library can do a way as it is. NumPy's product neither scales nor adds: the output has to be a copy."""
    if style == "threads":
        return True
    return not way.sums and (way.copied[OUT] or (number == 1.0 and not add))


# ---- NumPy ----------------------------------------------------------------------------------------------------------


def _on_host(backend, dtype: str, way: Way, addresses, number: float, add: bool, keep):
    refuse(number != 1.0 or add or bool(way.sums), "NumPy's product neither scales nor adds.", VariantUnsuitable)
    out, left, right = (
        backend.at(address, *view, np.dtype(dtype)) for address, view in zip(addresses, _views(way, dtype))
    )
    multiply = _function(way)

    def run(keep=keep):
        multiply(left, right, out)

    return run


def _function(way: Way):
    """NumPy's function for stacks of matrices: without a sum their numbers are multiplied one by one."""
    return np.matmul if way.k.extent > 1 else np.multiply


def _views(way: Way, dtype: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(shape, strides in bytes) of out, left, right as stacks of matrices."""
    size, found = np.dtype(dtype).itemsize, []
    for array, rows, columns in ((OUT, way.m, way.n), (LEFT, way.m, way.k), (RIGHT, way.k, way.n)):
        axes = (*way.loops, rows, columns)
        found.append((tuple(axis.extent for axis in axes), tuple(axis.step[array] * size for axis in axes)))
    return found


def again(dtype: str, way: Way):
    """run(out, left, right) of NumPy's product. Arrays are contiguous and begin where the product does."""
    (out_shape, out_steps), (left_shape, left_steps), (right_shape, right_steps) = _views(way, dtype)
    view, numbers, multiply = np.ndarray, np.dtype(dtype), _function(way)

    def run(out, left, right) -> None:
        multiply(
            view(left_shape, numbers, left, 0, left_steps),
            view(right_shape, numbers, right, 0, right_steps),
            view(out_shape, numbers, out, 0, out_steps),
        )

    return run


# ---- cuBLAS ---------------------------------------------------------------------------------------------------------


def factors(way: Way) -> list[tuple[int, Axis, Axis]]:
    """The output, then both factors as cuBLAS has them: (array, rows, columns). It counts columns first: where the
    output runs along its rows, the product of the transposes is asked for."""
    arrays = [(OUT, way.m, way.n), (LEFT, way.m, way.k), (RIGHT, way.k, way.n)]
    if not _by_columns(*arrays[OUT]):
        arrays = [(OUT, way.n, way.m), (RIGHT, way.n, way.k), (LEFT, way.k, way.m)]
    return arrays


def transposed(way: Way) -> int:
    """Factors that cuBLAS has to transpose."""
    _, left, right = factors(way)
    return [_operation(*left), _operation(*right)].count(TRANSPOSED)


def _on_device(backend, dtype: str, way: Way, addresses, number: float, add: bool, keep):
    arrays = factors(way)
    out, left, right = arrays
    m, n, k = out[1].extent, out[2].extent, left[2].extent

    shape = [_operation(*left), _operation(*right), m, n, k]
    strides = [_line(*array) for array in arrays]
    refuse(max(*shape, *strides) > MOST, f"a product of {m} x {n} x {k} numbers, wanted below 2^31.", VariantUnsuitable)
    scale = np.array([number, 0.0, 1.0], dtype)
    call = _Call(backend, dtype, way.loops, shape, strides, [array for array, *_ in arrays], scale)

    # Turns of sums follow each other: each but the first adds.
    runs = []
    for turn in itertools.product(*(range(axis.extent) for axis in way.sums)):
        shifts = [sum(t * axis.step[array] for t, axis in zip(turn, way.sums)) for array in (OUT, LEFT, RIGHT)]
        at = [address + shift * scale.itemsize for address, shift in zip(addresses, shifts)]
        runs.append(call.at(at, add or any(turn)))
    if len(runs) == 1:
        return runs[0]

    def run(keep=keep):
        for each in runs:
            each()

    return run


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


class _Call:
    """A function of cuBLAS with what all its calls have in common."""

    def __init__(self, backend, dtype: str, loops, shape, strides, order, scale):
        self.backend, self.loops, self.order = backend, loops, order
        self.shape, self.strides, self.scale = shape, strides, scale
        self.size = scale.itemsize
        kind = ("gemm", "gemmStridedBatched", "gemmBatched")[min(len(loops), 2)]
        self.function = getattr(backend.arrays.cuda.cublas, LETTERS[dtype] + kind)
        self.count = math.prod(axis.extent for axis in loops)
        refuse(len(loops) > 1 and self.count > POINTERS, f"{self.count} products in a call.", VariantUnsuitable)

    def at(self, addresses, add: bool):
        """run() for arrays at these addresses."""
        out, left, right = self.order
        number, zero, one = (self.scale.ctypes.data + place * self.size for place in range(3))
        last, first, second = self.strides
        held = []

        ends = [addresses[left], addresses[right], addresses[out]]
        lines = [[first], [second], [last]]
        tail = []
        if len(self.loops) == 1:
            (loop,) = self.loops
            for line, array in zip(lines, (left, right, out)):
                line.append(loop.step[array])
            tail = [loop.extent]
        elif self.loops:
            held = [self._table(addresses[array], array) for array in (left, right, out)]
            ends = [self.backend.address(table) for table in held]
            tail = [self.count]

        (a, b, c), (line_a, line_b, line_c) = ends, lines
        values = [*self.shape, number, a, *line_a, b, *line_b, one if add else zero, c, *line_c, *tail]
        function, use, handle = self.function, self.backend.use, self.backend.arrays.cuda.device.get_cublas_handle

        def run(keep=(self.scale, held)):
            use()
            function(handle(), *values)

        return run

    def _table(self, address: int, array: int):
        """Addresses of an array for all products, on the device."""
        places = np.zeros((), np.int64)
        for axis in self.loops:
            places = places[..., None] + np.arange(axis.extent) * axis.step[array]
        return self.backend.from_host((places * self.size + address).ravel(), np.dtype(np.int64))
