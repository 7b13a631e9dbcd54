"""Operands that are no plain arrays: lists, scalars, matrices, whole numbers and truth values reach the kernel of the
call before by a few functions of Python, and give NumPy's values and types."""

import numpy as np
import pytest
from tensor_cases import python_calls

from kernels import contract, einsum
from kernels.engine.errors import ArgumentError

MOST_CALLS = 25  # of Python functions in a call that comes again: 20 were counted, of Python's numbers
KINDS = {
    "list": np.ndarray.tolist,
    "tuple": lambda a: tuple(map(tuple, a.tolist())),
    "matrix": lambda a: a.view(np.matrix),
    "big-endian": lambda a: a.astype(">f8"),
    "whole": lambda a: a.astype(np.int32),
    "truth": lambda a: a > 0,
    "half": lambda a: a.astype(np.float16),
}


def whole(rng, *shape):
    return rng.integers(-3, 4, shape).astype(float)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("evaluate", [einsum, contract])
def test_arrays_of_each_kind_come_again(kind, evaluate):
    """Beside an array, and beside each other. Values are those of now."""
    rng = np.random.default_rng(0)
    make = KINDS[kind]
    for _ in range(4):
        a, b = whole(rng, 4, 5), whole(rng, 5, 3)
        for other in (b, make(b)):
            plain = np.asarray(make(a)), np.asarray(other)
            found, wanted = evaluate("ij,jk->ik", make(a), other), np.einsum("ij,jk->ik", *plain)
            assert type(found) is np.ndarray and found.dtype == wanted.dtype and np.array_equal(found, wanted)

    given = make(a), b
    einsum("ij,jk->ik", *given)
    found = python_calls(lambda: einsum("ij,jk->ik", *given))
    assert 0 < found < MOST_CALLS, found


@pytest.mark.parametrize("number", [2, 2.5, 2 - 1j, np.float64(2.5), np.float32(2.5), np.int64(3), True, np.True_])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_numbers_come_again(number, dtype):
    """A number of Python's takes the arrays' type, a number of NumPy's has its own."""
    a = whole(np.random.default_rng(1), 4, 5).astype(dtype)
    for _ in range(4):
        found = einsum(",ij->ij", number, a)
        assert found.dtype == (number * a).dtype and np.array_equal(found, number * a)
        a = a + 1
    calls = python_calls(lambda: einsum(",ij->ij", number, a))
    assert 0 < calls < MOST_CALLS, calls


def test_what_an_array_of_float64_does_not_hold_is_refused_each_time():
    a = np.ones((2, 2))
    for _ in range(3):
        assert np.array_equal(einsum("ij,jk->ik", np.eye(2, dtype=int), a), a)
        with pytest.raises(ArgumentError):
            einsum("ij,jk->ik", np.full((2, 2), 2**53 + 1), a)
        with pytest.raises(ArgumentError):
            einsum(",jk->jk", 2**53 + 1, a)
        with pytest.raises(ArgumentError, match="operand0"):
            einsum("ij,jk->ik", [["a", "b"], ["c", "d"]], a)
        with pytest.raises(ArgumentError, match="masked"):
            einsum("ij,jk->ik", np.ma.masked_array(a), a)


@pytest.mark.parametrize("shape", [(3, 4), (20, 30), (60, 70)])
@pytest.mark.parametrize("text", ["ij,ij->", "ij,ij->i", "ij,kj->ik", "ij->j"])
def test_truth_values_are_ors_of_ands(text, shape):
    """By the kernel of whole numbers, or in double precision if there are many."""
    rng = np.random.default_rng(2)
    for _ in range(3):
        arrays = [rng.random(shape) > 0.9 for _ in text.split("->")[0].split(",")]
        found, wanted = einsum(text, *arrays), np.einsum(text, *map(np.ndarray.astype, arrays, [int] * len(arrays))) > 0
        assert found.dtype == bool and np.array_equal(found, wanted)
