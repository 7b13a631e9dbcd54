"""Small products of two arrays by NumPy's dot, matmul, multiply or einsum on views, in calls of einsum that come again.

A call of NumPy's takes 0.6 us, beside which the products of small matrices count little. A kernel's call takes as long,
but some us more where arrays have gaps or complex numbers. Dimensions change places, and neighbours become one, so that
each array is a vector or a matrix (`dot`), or a stack of matrices (`matmul`). Of few numbers NumPy's einsum takes 2 to
10 us for any string.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..engine.backend import array_calls, cpu
from . import fold, products
from .einsum import LETTERS, Subscripts, extents
from .plan import Unable

TYPES = frozenset(map(np.dtype, "fdFD"))
PRODUCTS, NUMBERS = 1 << 20, 1 << 17  # at most; numbers of an array
LONG, SHORT = 512, 16  # rows from which on kernels are faster than dot, of sums and columns up to SHORT
MULTIPLIED = 1 << 14  # complex numbers, up to which multiply is done sooner than a kernel
INDICES, OPERANDS = 20, 8  # of NumPy's einsum, of any release; it has more
TINY, TINY_WITH_GAPS, TINY_REAL = 512, 2048, 256  # products of numbers, up to which NumPy's einsum is done sooner
# Seconds of a product of complex numbers by NumPy's einsum, from run to run, by whether a core works on 64 bytes at
# once: as measured on a Xeon, 1.6 to 3.9 ns; the other in the ratio of short sums
WALKED = {
    "complex128": {True: 2.6e-9, False: 2.25e-9},
    "complex64": {True: 2.2e-9, False: 2.25e-9},
}
ACROSS = 2.2  # times as long, where an operand lies across another
BEGIN = 3e-6  # seconds of such a call
# Seconds of a call that copies complex numbers for kernels, beside the model's: 9000 and 80000 products took 26 and
# 27 us longer in complex128, 26 and 45 in complex64, on a Xeon
COPYING = 2.5e-5
MATRIX = range(16, 49)  # numbers of a matrix that matmul multiplies with a vector, for each entry, sooner than einsum
STACK = 8  # matrices, up to which matmul makes a call each
# Products of matrices that BLAS does not take as they lie, up to which matmul begins sooner than dot; and real numbers
# with gaps, up to which multiply is done sooner than a kernel; and numbers of sums that einsum begins sooner
FEW = 1 << 12
DOT = np.ndarray.dot  # begins sooner than numpy.dot, which looks for other libraries' arrays first


class Shaped(NamedTuple):
    """A view of an array that has the same numbers: its dimensions in another order, then of another shape."""

    axes: tuple[int, ...]
    shape: tuple[int, ...]

    def function(self, came) -> Callable | None:
        """view(array) of an array of shape `came`; None: the array itself."""
        turn = self._turn()
        shape = self.shape
        if shape == tuple(came[axis] for axis in self.axes):
            return turn
        if turn is None:
            return lambda array: array.reshape(shape)
        return lambda array: turn(array).reshape(shape)

    def _turn(self) -> Callable | None:
        axes = self.axes
        if axes == tuple(range(len(axes))):
            return None
        return lambda array: array.transpose(axes)


class Call(NamedTuple):
    """A call by NumPy, as repeats.py keeps it."""

    quick: Callable[..., Any]  # result(string, arrays); None if the types or shapes are others
    multiply: Callable[..., Any]  # result(arrays) for the same types and shapes; an array may be a number of NumPy's

    def values(self, given):
        """The result, an array."""
        return np.asarray(self.multiply(*given))

    def lying(self, lies) -> Call:
        """The same for arrays that lie so alone: others are left to kernels."""
        quick, strides = self.quick, [lie.strides for lie in lies]

        def of_alike(string, *arrays):
            if [getattr(a, "strides", None) for a in arrays] != strides:
                return None
            return quick(string, *arrays)

        return self._replace(quick=of_alike)


def call_of(s: Subscripts, arrays) -> Call | None:
    """The call for two operands or more; None: it is none of these.

    s: without ellipses. arrays: of NumPy.
    """
    if not 2 <= len(arrays) <= OPERANDS or any(type(a) is not np.ndarray for a in arrays):
        return None
    dtype = arrays[0].dtype
    if dtype not in TYPES or any(a.dtype != dtype for a in arrays):
        return None
    return _made(s, tuple([array_calls.Lie(a.dtype, a.shape, a.strides) for a in arrays]))


def walk_within(s: Subscripts, arrays, seconds: float) -> Call | None:
    """The call of NumPy's einsum for two complex operands, if it takes less than so many seconds; None: it does not.

    Kernels copy real and imaginary parts apart before, which few products of each number are not worth.
    """
    if len(arrays) != 2 or any(type(a) is not np.ndarray or a.dtype.kind != "c" for a in arrays):
        return None
    if arrays[0].dtype != arrays[1].dtype or arrays[0].dtype not in TYPES:
        return None

    lies = tuple([array_calls.Lie(a.dtype, a.shape, a.strides) for a in arrays])
    sizes = extents(s, [lie.shape for lie in lies])
    count, numbers = math.prod(sizes.values()), math.prod(sizes[i] for i in s.out)
    if len(sizes) > INDICES or not count or any(len(set(own)) < len(own) for own in s.operands):
        return None
    if max(map(_nearest, lies)) <= SHORT or count > max(numbers, 1) * FEW:
        return None  # runs begin too often, or number by number is too inexact

    each = WALKED[arrays[0].dtype.name][cpu.has_whole_vectors(cpu.target())]
    took = BEGIN + count * each * (ACROSS if _is_crossed(s, lies) else 1.0)
    if took >= seconds + COPYING:
        return None

    product = _of_two(s, sizes, lies)
    if product and product.goes_through_vectors():
        return product.call().lying(lies)
    return _checked(_by_einsum(s), lies).lying(lies)


@functools.lru_cache(256)
def _made(s: Subscripts, lies) -> Call | None:
    sizes = extents(s, [lie.shape for lie in lies])
    if not 0 < math.prod(sizes.values()) <= PRODUCTS:
        return None
    if _is_walk(s, sizes, lies):
        return _checked(_by_einsum(s), lies)
    arrays = [math.prod(lie.shape) for lie in lies]
    if max(*arrays, math.prod(sizes[i] for i in s.out)) > NUMBERS:
        return None
    product = _of_two(s, sizes, lies) if len(lies) == 2 else None
    if product and product.is_served():
        return product.call()
    return _checked(_by_einsum(s), lies) if _is_tiny(sizes, lies) else None


def _of_two(s: Subscripts, sizes, lies) -> _Product | None:
    """The product of two arrays; None: it is none whose indices stand in groups."""
    for own, lie in zip(s.operands, lies):
        if len(set(own)) < len(own) or any(sizes[i] != extent for i, extent in zip(own, lie.shape)):
            return None  # diagonals, and what is broadcast

    try:
        group_of = fold.roles(s.out, *s.operands)
    except Unable:
        return None

    # Indices of a group in the order of memory, so that the group becomes one dimension.
    groups = {}
    for name, place in (("batch", 0), ("m", 0), ("n", 1), ("k", 0)):
        steps = dict(zip(s.operands[place], lies[place].strides))
        groups[name] = sorted((i for i in steps if group_of[i] == name), key=steps.__getitem__, reverse=True)

    return _Product(s, sizes, lies, groups)


def _is_tiny(sizes, lies) -> bool:
    """Whether there are so few products that NumPy's einsum is done before a kernel has begun: complex numbers and
    arrays with gaps are copied before."""
    count, has_gaps = math.prod(sizes.values()), not all(map(_is_dense, lies))
    if len(sizes) > INDICES:
        return False
    if lies[0].dtype.kind == "c":
        return count <= (TINY_WITH_GAPS if has_gaps else TINY)
    return has_gaps and count <= TINY_REAL


def _is_walk(s: Subscripts, sizes, lies) -> bool:
    """Whether each number is used once, and NumPy's einsum goes along all operands sooner than a kernel: it copies
    nothing, and begins at once."""
    count, several = math.prod(sizes.values()), len(lies) > 2
    for own, lie in zip(s.operands, lies):
        if len(sizes) > INDICES or sorted(own) != sorted(sizes) or math.prod(lie.shape) != count:
            return False

    are_dense = all(map(_is_dense, lies))
    are_alike = are_dense and len({frozenset(zip(own, lie.strides)) for own, lie in zip(s.operands, lies)}) == 1

    if several:
        is_complex = lies[0].dtype.kind == "c"
        return is_complex or count <= (MULTIPLIED if are_alike else NUMBERS)

    terms = count // math.prod(sizes[i] for i in s.out)
    if lies[0].dtype.char in "fF" and terms > FEW:
        return False  # einsum adds up number by number: not many in single precision
    if not are_dense and min(map(_nearest, lies)) <= SHORT:
        return True  # kernels wait at the end of each run
    if terms == 1:
        return False
    if are_alike:
        return not s.out and count <= FEW
    return count <= (FEW if are_dense and s.out else NUMBERS)


def _nearest(lie: array_calls.Lie) -> int:
    """The extent of the dimension along which an array's numbers lie nearest."""
    return min(zip(map(abs, lie.strides), lie.shape), default=(0, 1))[1]


def _is_crossed(s: Subscripts, lies) -> bool:
    """Whether operands lie side by side along different indices, of which one has numbers far apart in another."""
    nearest = [_nearest_index(own, lie) for own, lie in zip(s.operands, lies)]
    return any(index in own and index != near for index in nearest for own, near in zip(s.operands, nearest))


def _nearest_index(own, lie: array_calls.Lie) -> str:
    """The index along which an array's numbers lie nearest."""
    return min(zip(map(abs, lie.strides), own))[1] if own else ""


def _by_einsum(s: Subscripts) -> Callable:
    """function(arrays) by NumPy's einsum, which makes no call for each sum."""
    letters = dict(zip(dict.fromkeys(i for own in s.operands for i in own), LETTERS))
    parts = ["".join(letters[i] for i in own) for own in (*s.operands, s.out)]
    text, evaluate = f"{','.join(parts[:-1])}->{parts[-1]}", products.numpy_einsum()
    return functools.partial(evaluate, text)


def _checked(function, lies) -> Call:
    """The call of function(arrays) for arrays of these types and shapes."""
    shapes, dtype, plain = [lie.shape for lie in lies], lies[0].dtype, np.ndarray

    def of_two(_, a, b):
        if not type(a) is type(b) is plain or a.shape != shape or b.shape != other:
            return None
        if a.dtype is not dtype or b.dtype is not dtype:
            return None
        return function(a, b)

    def of_all(_, *arrays):
        if [a.shape for a in arrays] != shapes:
            return None
        for a in arrays:
            if type(a) is not plain or a.dtype is not dtype:
                return None

        return function(*arrays)

    if len(lies) > 2:
        return Call(of_all, function)
    shape, other = shapes
    return Call(of_two, function)


class _Product:
    """A product of two arrays whose indices stand in groups, see fold.py."""

    def __init__(self, s: Subscripts, sizes, lies, groups):
        self.s, self.sizes, self.lies, self.groups = s, sizes, lies, groups
        # The factor that has the result's first index of rows or columns comes first.
        own = [i for i in s.out if i not in groups["batch"]]
        self.places = (1, 0) if own and own[0] in groups["n"] else (0, 1)
        self.rows, self.columns = ("m", "n") if self.places == (0, 1) else ("n", "m")

    def size(self, name: str) -> int:
        return math.prod(self.sizes[i] for i in self.groups[name])

    def is_served(self) -> bool:
        """Whether NumPy is the faster way."""
        m, n, k, batch = (self.size(name) for name in ("m", "n", "k", "batch"))
        has_gaps = not all(map(_is_dense, self.lies))

        if not self.groups["k"]:
            if any(map(_lies_apart, self.lies)):
                return True
            return m * n * batch <= (MULTIPLIED if self.lies[0].dtype.kind == "c" else FEW * has_gaps)

        if self._are_short_dots() or self._are_short_rows():
            return True
        if max(m, n) >= LONG and min(m, n) <= SHORT and k <= SHORT:
            return False
        if not self.groups["batch"]:
            return all(map(self._is_joined, ("m", "n", "k")))
        if batch > STACK or not all(map(self._is_joined, ("m", "n", "k"))):
            return False
        return has_gaps or self.lies[0].dtype.kind == "c"

    def _are_short_dots(self) -> bool:
        """Whether it is a dot product of two vectors of few complex numbers for each entry of a batch."""
        is_complex = self.lies[0].dtype.kind == "c"
        are_vectors = bool(self.groups["batch"]) and not self.groups["m"] and not self.groups["n"]
        return is_complex and are_vectors and len(self.sizes) <= INDICES and self.size("k") <= products.SHORT_DOT

    def _are_short_rows(self) -> bool:
        """Whether a matrix of few short rows of complex numbers meets a vector for each entry of a batch. Kernels copy
        one of them before, and the library's call takes 4 us more."""
        if not self._are_matrices_and_vectors() or self.size("batch") < products.MANY or len(self.sizes) > INDICES:
            return False
        if max(self.size("m"), self.size("n")) > products.SHORT_ROWS or self.size("k") > products.SHORT_ROWS:
            return False

        (sum_index, *others), size = self.groups["k"], self.lies[0].dtype.itemsize
        steps = [dict(zip(own, lie.strides))[sum_index] for own, lie in zip(self.s.operands, self.lies)]
        return not others and steps == [size, size]

    def goes_through_vectors(self) -> bool:
        """Whether a small matrix of complex128 meets a vector for each entry of a batch, and entries lie side by side.
        NumPy's matmul then took 0.5 to 1 of the time of its einsum on a Xeon, with several batch indices 1.1."""
        if not self._are_matrices_and_vectors() or self.lies[0].dtype.char != "D":
            return False

        nearest = {_nearest_index(own, lie) for own, lie in zip(self.s.operands, self.lies)}
        numbers = self.size("m") * self.size("n") * self.size("k")
        return nearest == {*self.groups["batch"]} and numbers in MATRIX

    def _are_matrices_and_vectors(self) -> bool:
        """Whether a matrix of complex numbers meets a vector for each entry of a batch."""
        has_one = bool(self.groups["m"]) != bool(self.groups["n"])
        return self.lies[0].dtype.kind == "c" and bool(self.groups["batch"] and self.groups["k"]) and has_one

    def _is_joined(self, name: str) -> bool:
        """Whether the indices of a group are one dimension of each array that has them."""
        group = self.groups[name]
        for own, lie in zip(self.s.operands, self.lies):
            steps = dict(zip(own, lie.strides))
            if group and group[0] in steps:
                for slow, fast in zip(group, group[1:]):
                    if steps[slow] != steps[fast] * self.sizes[fast]:
                        return False

        return True

    def call(self) -> Call:
        if not self.groups["k"]:
            return self._multiplied()
        if self._are_short_dots() or self._are_short_rows():
            return _checked(_by_einsum(self.s), self.lies)

        batch, k = self.groups["batch"], self.groups["k"]
        rows, columns = self.groups[self.rows], self.groups[self.columns]
        first = self._shaped(self.places[0], (rows, k))
        second = self._shaped(self.places[1], (k, columns))
        indices = (*batch, *rows, *columns)
        shape = tuple(self.sizes[i] for i in indices)
        back = Shaped(tuple(indices.index(i) for i in self.s.out), tuple(self.sizes[i] for i in self.s.out))
        made = [self.sizes[i] for i in batch] + self._extents((rows, columns))
        return self._call(self._function(), (first, second), _result(tuple(made), shape, back))

    def _function(self) -> Callable:
        """NumPy's, which copies what BLAS does not take: dot begins sooner without copies, matmul with them."""
        few = math.prod(self.sizes.values()) <= FEW
        is_stack = bool(self.groups["batch"])
        return np.matmul if is_stack or (few and not all(map(_is_dense, self.lies))) else DOT

    def _shaped(self, place: int, groups) -> Callable | None:
        """The view of an operand with a dimension for each group behind those of the batch."""
        own, lie, batch = self.s.operands[place], self.lies[place], self.groups["batch"]
        axes = tuple(own.index(i) for i in (*batch, *(i for group in groups for i in group)))
        shape = tuple([self.sizes[i] for i in batch] + self._extents(groups))
        return Shaped(axes, shape).function(lie.shape)

    def _extents(self, groups) -> list[int]:
        """The extent of each group's dimension. In a stack of matrices a group without indices has 1."""
        found = [math.prod(self.sizes[i] for i in group) for group in groups]
        return found if self.groups["batch"] else [extent for extent, group in zip(found, groups) if group]

    def _multiplied(self) -> Call:
        """Numbers are multiplied one by one."""
        views = []
        for own, lie in zip(self.s.operands, self.lies):
            # NumPy itself puts dimensions of 1 in front.
            axes = tuple(own.index(i) for i in self.s.out if i in own)
            first = next((place for place, i in enumerate(self.s.out) if i in own), len(self.s.out))
            indices = self.s.out[first:]
            shape = tuple(self.sizes[i] if i in own else 1 for i in indices)
            views.append(Shaped(axes, shape).function(lie.shape))

        self.places = (0, 1)
        return self._call(np.multiply, views, None)

    def _call(self, multiply, views, result) -> Call:
        """The call. views: of the first and the second factor; None: the array itself. result: of what is computed."""
        return _checked(_composed(multiply, views, result, swapped=self.places == (1, 0)), self.lies)


def _result(made, shape, back: Shaped) -> Callable | None:
    """The result of a product of shape `made`, whose indices have the extents `shape`, in the order of the string."""
    apart = Shaped(tuple(range(len(made))), shape).function(made)
    turn = back.function(shape)
    if apart is None or turn is None:
        return apart or turn
    return lambda array: turn(apart(array))


def _composed(multiply, views, result, swapped: bool) -> Callable:
    """function(a, b), without the steps that do nothing."""
    one, other = views
    if not swapped and one is other is result is None:
        return multiply

    if not swapped and result is None:
        if one is None:
            return lambda a, b: multiply(a, other(b))
        if other is None:
            return lambda a, b: multiply(one(a), b)

    keep = _itself
    one, other, result = one or keep, other or keep, result or keep
    if swapped:
        return lambda a, b: result(multiply(one(b), other(a)))
    return lambda a, b: result(multiply(one(a), other(b)))


def _itself(array):
    return array


def _is_dense(lie: array_calls.Lie) -> bool:
    """Whether the numbers of an array lie side by side, its dimensions in some order."""
    size = lie.dtype.itemsize
    for step, extent in sorted(zip(lie.strides, lie.shape)):
        if extent == 1:
            continue
        if step != size:
            return False
        size *= extent

    return True


def _lies_apart(lie: array_calls.Lie) -> bool:
    """Whether no two numbers of an array lie side by side."""
    steps = [step for step, extent in zip(lie.strides, lie.shape) if extent > 1]
    return bool(steps) and lie.dtype.itemsize not in steps
