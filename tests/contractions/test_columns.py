"""Sums over the rows of a matrix with few columns, on the stand-in of a device and on a GPU.

Small whole numbers, whose sums are exact in any order; einsum in double precision is the oracle.
"""

import numpy as np
import pytest
from test_sums import done, done_unaligned, einsum, whole

from kernels import Contraction, contract, get_backend
from kernels.engine.errors import ArgumentError

CASES = (  # text, sizes
    ("o[i] = a[n i]", dict(i=3, n=5009)),  # a row is less than 16 bytes
    ("o[i] = w[n] a[n i]", dict(i=30, n=1501)),  # rows begin inside of 16 bytes
    ("o[i] += 3 w[n] a[n i]", dict(i=20, n=501)),
    ("o[i j] = - a[n i j] c[n i j]", dict(i=7, j=11, n=301)),
    ("o[i] = -2 a[n m i] v[n m]", dict(i=5, n=77, m=31)),
    ("o[i] = a[n i]", dict(i=250, n=9)),
)


def plan_of(backend, text, sizes, how, dtype="float64"):
    return Contraction(text, sizes, dtype, backend=backend, batch="", how=how, quick=True)


@pytest.mark.parametrize("text, sizes", CASES)
@pytest.mark.parametrize("dtype, near", [("float64", 2), ("float32", 4)])
@pytest.mark.parametrize("how", ["parts=3", "parts=1", "threads=256 parts=2"])
@pytest.mark.quick(how="parts=3")
def test_rows_of_any_length_by_16_bytes(device_backend, text, sizes, dtype, near, how):
    """Where arrays begin at 16 bytes, and where they do not; the last turn has fewer rows, some parts have none."""
    plan = plan_of(device_backend, text, sizes, f"columns near={near} {how}", dtype)
    arrays = whole(np.random.default_rng(0), plan, 1)
    wanted = einsum(plan, arrays)
    assert np.array_equal(done(plan, arrays, 1), wanted)
    assert np.array_equal(done_unaligned(plan, arrays), wanted)


@pytest.mark.parametrize(
    "text, sizes",
    [
        ("o[b i] = w[b n] a[b n i]", dict(i=16, n=77)),
        ("o[b m i] += 2 w[m n] a[b m n i]", dict(i=3, n=40, m=5)),  # matrices begin inside of 16 bytes in float32
        ("o[m b i] = w[b m n] a[b m n i] c[b m n i]", dict(i=6, n=9, m=3)),
        ("o[b i] = a[b n i]", dict(i=65, n=33)),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("how", ["columns", "columns threads=96 near=1 parts=2"])
def test_many_matrices(device_backend, text, sizes, dtype, how):
    """A block, or two, for each matrix of each entry."""
    plan = Contraction(text, sizes, dtype, backend=device_backend, batch="b", how=how, quick=True)
    arrays = whole(np.random.default_rng(0), plan, 11)
    wanted = einsum(plan, arrays)
    assert np.array_equal(done(plan, arrays, 11), wanted)


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_complex_numbers(device_backend, dtype):
    rng = np.random.default_rng(1)
    a, w = (rng.integers(-3, 4, shape) + 1j * rng.integers(-3, 4, shape) for shape in ((3001, 5), (3001,)))
    held = [device_backend.from_host(x, np.dtype(dtype)) for x in (a, w)]
    found = contract("ni,n->i", *held, backend=device_backend, batch="", how="columns")
    assert np.array_equal(device_backend.to_host(found), np.einsum("ni,n->i", a, w))


@pytest.mark.parametrize(
    "text, sizes, how, message",
    [
        ("o[i] = a[n i]", dict(i=257, n=50), "columns parts=1", "no organisation 'columns'"),
        ("o[i] = a[i n]", dict(i=5, n=50), "columns parts=1", "no organisation 'columns'"),
        ("o[i] = a[n i]", dict(i=250, n=50), "columns threads=128 near=2", "threads of a whole row: 250"),
        ("o[i] = a[n i]", dict(i=5, n=50), "columns near=4", "near=1"),
    ],
)
def test_what_is_not_served(device_backend, text, sizes, how, message):
    with pytest.raises(ArgumentError, match=message):
        plan_of(device_backend, text, sizes, how)


def test_nan_stays_in_its_column(device_backend):
    plan = plan_of(device_backend, "o[i] = a[n i]", dict(i=7, n=2000), "columns near=2 parts=2")
    arrays = {name: np.random.default_rng(2).random(plan.shape(name, 1)) for name in "ao"}
    arrays["a"][1999, 4] = np.nan
    assert np.flatnonzero(np.isnan(done(plan, arrays, 1))).tolist() == [4]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "text, sizes",
    [
        ("o[i] = w[j] a[j i]", dict(i=20, j=1000000)),  # sums took 1.35 times as long with float32 on an H200
        ("o[i] = w[n] a[n i]", dict(i=30, n=500000)),  # 1.2
        ("o[i] = a[n i]", dict(i=27, n=1000000)),  # 1.1
        ("o[j] = w[i] a[i j] b[i j]", dict(j=25, i=100000)),  # 1.2
    ],
)
def test_the_model_takes_it_for_long_matrices(text, sizes, dtype):
    target = get_backend("cuda", arch="sm_90")
    assert Contraction(text, sizes, dtype, backend=target, batch="").how.name == "columns"


def test_many_columns_are_added_up_in_fewer_parts():
    """On an H200 132 parts of 200 columns took 12.9 us, 264 took 14.8."""
    target = get_backend("cuda", arch="sm_90")
    parts = {}
    for columns in (5, 200):
        how = "columns"
        plan = Contraction("o[i] = a[n i]", dict(i=columns, n=10**7 // columns), backend=target, batch="", how=how)
        parts[columns] = plan.how.parts
    assert parts == {5: 264, 200: 132}
