"""Real and imaginary parts that are copied apart, and side by side again, against NumPy's .real and .imag."""

import numpy as np
import pytest

from kernels import einsum, get_backend
from kernels.contractions import parts


@pytest.fixture
def everywhere(monkeypatch):
    """The kernels copy arrays of any size."""
    monkeypatch.setattr(parts, "FEW", 0)


def numbers(rng, shape, dtype):
    return (rng.random(shape) + 1j * rng.random(shape)).astype(dtype)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("count", [1, 7, 16, 33, parts.BLOCK, 3 * parts.BLOCK + 5])
def test_parts_apart_and_side_by_side_again(everywhere, count, dtype, threads):
    """Whole packs, what is left over, several blocks. No number beyond the arrays is written."""
    backend = get_backend("cpu", threads=threads)
    whole = numbers(np.random.default_rng(0), count, dtype)
    held = np.full((2, count + 1), -1, whole.real.dtype)
    real, imaginary = held[:, :count]

    parts.splitter(backend, whole)(whole, real, imaginary)
    assert np.array_equal(real, whole.real) and np.array_equal(imaginary, whole.imag)
    assert np.all(held[:, count] == -1)

    again = np.full(count + 1, np.nan, dtype)
    parts.joiner(backend, again[:count])(again[:count], real, imaginary)
    assert np.array_equal(again[:count], whole) and np.isnan(again[count])


def test_arrays_that_lie_otherwise_are_numpys(everywhere):
    backend = get_backend("cpu", threads=1)
    whole = numbers(np.random.default_rng(1), (40, 60), "complex128")[:, ::2]
    real, imaginary = np.full((2, 40, 30), np.nan)
    parts.splitter(backend, whole)(whole, real, imaginary)
    assert np.array_equal(real + 1j * imaginary, whole)

    again = np.full((40, 60), np.nan, "complex128")
    parts.joiner(backend, again[:, 1::2])(again[:, 1::2], real, imaginary)
    assert np.array_equal(again[:, 1::2], whole) and np.all(np.isnan(again[:, ::2]))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_calls_of_complex_operands_that_come_again(everywhere, dtype):
    """Values are those of the arrays of now. 4 terms of four real products each: 16 roundings."""
    rng = np.random.default_rng(2)
    eps = np.finfo(dtype).eps
    for _ in range(3):
        a, b = numbers(rng, (5000, 4, 4), dtype), numbers(rng, (5000, 4, 4), dtype)
        np.testing.assert_allclose(einsum("bij,bjk->bik", a, b), a @ b, rtol=16 * eps)


def test_a_number_of_many_takes_less():
    """Beyond FEW numbers a kernel copies them."""
    few, many = (parts.seconds_of_copies(count, 4) / count for count in (parts.FEW, 4 * parts.FEW))
    assert many < few
