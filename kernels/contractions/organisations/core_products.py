"""Seconds of matrix products by NumPy's library on one core: OpenBLAS, and NumPy's own loops where nothing is summed.

Two rates are the machine's (host_rates.py): `library`, flops a second of large products, and `factor`, seconds of a
number that is packed. The rest is as measured on a Zen 4, with NumPy 2.4 and OpenBLAS 0.3.31: 30 products of each type
in three layouts, 16 batches of them. The model is off by 0.10 (float64, complex128) to 0.17 rms of a product, and by
0.2 to 0.3 of a batch.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...engine.backend import cpu
from .. import fold, host_rates, products

VECTOR = 64  # bytes of the widest vectors
CALL = 4e-8  # seconds of each product of a call; of a complex one twice as long
CALL_PACKED = 8e-8  # the same of factors that are packed
CALL_OF_VECTORS = 1.5e-8
COMPLEX = 4.0  # real products of a complex product

# Products of which nothing is packed, with the widest vectors: see `is_unpacked`
UNPACKED = 1000000  # multiply-adds at most
DOTS, TERMS = 1200, 32  # numbers of the output at most, and terms at least, where the sum runs along both factors
DOT = 5e-10  # seconds of such a number, whose lanes are added up
COLD = 2e-11  # seconds of a byte of the factors of many products, from beyond the second cache

LANES, COLUMNS = 8, 4  # extents count as multiples where factors are packed: of a vector, at most, and the others
LEAST = 8  # numbers that are packed together, or take as long
# Seconds of a run of a matrix that meets a vector, by whether a core works on 64 bytes at once: on a Xeon of the fourth
# generation runs of 10 to 128 numbers took 4 to 7 ns beside their numbers
RUN_OF_MATRIX = {False: 1.5e-9, True: 5e-9}
SHORT_SUM, TERM, TERM_OF_COMPLEX = 4.5e-9, 2e-10, 9e-10  # seconds of a sum by NumPy's einsum, and of each term
WHOLE_SHORT = 1.6  # times as long, on a Xeon of the fourth generation
NUMBER = 2e-11  # seconds of a byte of a product without a sum
NUMBER_APART = 1.5e-9  # the same where neighbours lie apart, and of a product of vectors that lie so
COMPLEX_APART = 4.5e-9  # of a complex number of a product of vectors that lie so: 4.9 ns on a Xeon
RUN = 1e-8  # seconds of a run of such a product


class Packing(NamedTuple):
    """The cost of moving numbers in OpenBLAS, beside the arithmetic. Its vectors lie along the output's runs."""

    along: float  # times `factor`: a number that is packed, of the factor that has the index of these runs
    across: float  # the same of the other factor
    turned: float  # seconds of a number of the first one besides, packed or not, if it runs along the sum
    stored: float  # seconds of a number of the output
    short: float  # times the arithmetic, where runs of the output are shorter than a vector


PACKING = {
    "float64": Packing(0.35, 0.75, 1.2e-10, 1.6e-10, 1.0),
    "float32": Packing(0.35, 0.75, 3.5e-10, 1.6e-10, 1.0),
    "complex128": Packing(0.85, 0.7, 1e-10, 7e-10, 1.0),
    "complex64": Packing(0.85, 0.7, 7e-10, 7e-10, 1.8),
}


class Memory(NamedTuple):
    """The operands of a call on their way: beside the arithmetic as far as they are asked for ahead.

    Factors are packed before they are multiplied, but for a single product whose output has long runs. Measured on a
    Xeon of the fourth generation: work and memory add up for 136 products of 144 x 144 x 136, and for a single product
    of 17600 x 10 x 26. They overlap for 10 x 17600 x 26, where the norm has exponent 2.
    """

    seconds: float  # of the operands alone
    overlap: float  # exponent of the norm of work and memory
    of_packed: float  # the same where factors are packed before


class Matrices(NamedTuple):
    """A product as the library has it."""

    along: int  # extent of the index along which the output runs, and vectors lie
    other: int  # of the output's other index
    terms: int
    turned: bool  # whether the factor with the first index runs along the sum
    across: bool  # whether the other factor does not


def seconds(dtype: str, way: fold.Way, memory: Memory) -> float:
    """Seconds of all products of a call."""
    m, n, k = (axis.extent for axis in (way.m, way.n, way.k))
    size, count = np.dtype(dtype).itemsize, math.prod(axis.extent for axis in way.loops)

    if k == 1:
        return _number_by_number(way, m * n * count, size) + memory.seconds
    if products.are_short_sums(dtype, way):
        return together(m * n * count * _short_sum(dtype, k), memory.seconds, memory.overlap)
    if m == n == 1 and any(step > 1 for step in way.k.step):
        each = COMPLEX_APART if np.dtype(dtype).kind == "c" else NUMBER_APART
        return count * (CALL_OF_VECTORS + k * each) + memory.seconds
    if min(m, n) == 1:
        return together(count * _with_a_vector(dtype, way), memory.seconds, memory.overlap)

    product = _matrices(way)
    if not is_unpacked(dtype, product):
        overlap = memory.of_packed if count > 1 or product.other > product.along else memory.overlap
        return count * CALL_PACKED + together(count * _packed(dtype, product), memory.seconds, overlap)

    read, written = size * (m + n) * k * count, size * m * n * count
    waits = read * COLD if count > 1 and read + written > cpu.second_cache() else 0.0
    return count * CALL + waits + together(count * _unpacked(dtype, product), memory.seconds, memory.overlap)


def together(one: float, other: float, overlap: float) -> float:
    """Seconds of two things that are done at the same time. overlap: 1, one after the other; infinity, the longer
    alone."""
    longest = max(one, other)
    if overlap == math.inf or not longest:
        return longest
    return longest * ((one / longest) ** overlap + (other / longest) ** overlap) ** (1 / overlap)


# ---- matrices -------------------------------------------------------------------------------------------------------


def _matrices(way: fold.Way) -> Matrices:
    one, first, other, second = way.m, fold.LEFT, way.n, fold.RIGHT
    if abs(one.step[fold.OUT]) != 1:
        one, first, other, second = other, second, one, first

    turned, across = way.k.step[first] == 1, way.k.step[second] != 1
    return Matrices(one.extent, other.extent, way.k.extent, turned, across)


def is_unpacked(dtype: str, p: Matrices) -> bool:
    """Whether the factors are read as they lie: real ones of small products, with the widest vectors. Where the sum
    runs along both, the output has to be small, and the sum long."""
    widest = cpu.vector_bytes(cpu.target()) == VECTOR
    if np.dtype(dtype).kind == "c" or not widest or p.along * p.other * p.terms > UNPACKED:
        return False
    return not _are_dots(p) or (p.along * p.other <= DOTS and p.terms >= TERMS)


def _are_dots(p: Matrices) -> bool:
    """Whether the sum runs along both factors."""
    return p.turned and not p.across


def _unpacked(dtype: str, p: Matrices) -> float:
    rest = p.along * p.other * DOT if _are_dots(p) else _turning(dtype, p)
    return _arithmetic(dtype, p, VECTOR // np.dtype(dtype).itemsize) + rest


def _turning(dtype: str, p: Matrices) -> float:
    """Seconds to transpose the numbers that run along the sum, where vectors lie across it."""
    return p.along * p.terms * PACKING[dtype].turned if p.turned else 0.0


def _packed(dtype: str, p: Matrices) -> float:
    each, factor = PACKING[dtype], host_rates.of(dtype).factor
    lanes = min(VECTOR // np.dtype(dtype).itemsize, LANES)
    packed = (max(p.along, LEAST) * each.along + max(p.other, LEAST) * each.across) * factor * p.terms
    arithmetic = _arithmetic(dtype, p, lanes) * (each.short if p.along < lanes else 1.0)
    return arithmetic + packed + _turning(dtype, p) + p.along * p.other * each.stored


def _arithmetic(dtype: str, p: Matrices, lanes: int) -> float:
    """Seconds of the arithmetic on full vectors of so many lanes."""
    each = COMPLEX if np.dtype(dtype).kind == "c" else 1.0
    return 2.0 * each * _whole(p.along, lanes) * _whole(p.other, COLUMNS) * p.terms / host_rates.of(dtype).library


def _whole(extent: int, of: int) -> int:
    """An extent rounded up to a multiple."""
    return -(-extent // of) * of


# ---- vectors, and products without a sum ----------------------------------------------------------------------------


def _with_a_vector(dtype: str, way: fold.Way) -> float:
    """Seconds of a product of a matrix, or a vector, with a vector."""
    m, n, k = (axis.extent for axis in (way.m, way.n, way.k))
    call = CALL_OF_VECTORS
    if m != n:
        run = RUN_OF_MATRIX[cpu.has_whole_vectors(cpu.target())]
        call = CALL * (2 if np.dtype(dtype).kind == "c" else 1) + _runs(way) * run
    return call + 2.0 * m * n * k / host_rates.of(dtype).library


def _short_sum(dtype: str, terms: int) -> float:
    seconds = SHORT_SUM + terms * (TERM_OF_COMPLEX if np.dtype(dtype).kind == "c" else TERM)
    return seconds * (WHOLE_SHORT if cpu.has_whole_vectors(cpu.target()) else 1.0)


def _runs(way: fold.Way) -> int:
    """Runs of the matrix of a product with a vector."""
    matrix, axis = (fold.LEFT, way.m) if way.n.extent == 1 else (fold.RIGHT, way.n)
    return axis.extent if abs(way.k.step[matrix]) <= abs(axis.step[matrix]) else way.k.extent


def _number_by_number(way: fold.Way, numbers: int, size: int) -> float:
    """Seconds of NumPy's product without a sum, beside memory: runs along the output's fastest axis. size: bytes of a
    number."""
    axes = [axis for axis in (*way.loops, way.m, way.n) if axis.extent > 1]
    if not axes:
        return NUMBER_APART
    run = min(axes, key=lambda axis: abs(axis.step[fold.OUT]))
    lies = all(step in (0, 1) for step in run.step)
    return numbers * (size * NUMBER if lies else NUMBER_APART) + numbers / run.extent * RUN
