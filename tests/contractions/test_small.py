"""Small entries in registers, on the stand-in of a device and on a GPU.

Small whole numbers, whose sums are exact in any order; einsum in double precision is the oracle.
"""

import numpy as np
import pytest
from test_sums import done, done_unaligned, einsum, whole

from kernels import Contraction
from kernels.engine.errors import ArgumentError

CASES = (  # text, sizes, batch, entries
    ("o[e] = a[e s]", dict(s=9), "e", 1003),
    ("o[e i k] = a[e i j] b[e j k]", dict(i=3, j=3, k=3), "e", 1001),
    ("o[e y i] += 2 a[e y i j] c[e y j] - a[e y i j] w[j]", dict(y=12, i=5, j=3), "e", 9),  # entries of e and y
    ("o[x y i] = a[x y i s] w[s i]", dict(x=5, y=401, i=2, s=6), "", 1),
    ("o[e] = a[e i j] a[e j i]", dict(i=3, j=3), "e", 501),
    ("o[e i] = m[i j] a[e j]", dict(i=4, j=4), "e", 3),  # fewer entries than a thread has
)


@pytest.mark.parametrize("text, sizes, batch, n", CASES)
@pytest.mark.parametrize("dtype, near", [("float64", 2), ("float32", 4), ("float32", 2), ("float64", 1)])
@pytest.mark.quick(near=[2, 4])
def test_whole_entries_by_16_bytes(device_backend, text, sizes, batch, n, dtype, near):
    """Where arrays begin at 16 bytes, and where they do not; the last thread has fewer entries."""
    how = f"small threads=64 near={near}"
    plan = Contraction(text, sizes, dtype, backend=device_backend, batch=batch, how=how, quick=True)
    arrays = whole(np.random.default_rng(0), plan, n)
    wanted = einsum(plan, arrays)
    assert np.array_equal(done(plan, arrays, n), wanted)
    assert np.array_equal(done_unaligned(plan, arrays), wanted)


def test_entries_with_gaps_come_number_by_number(device_backend):
    """Every other entry of a larger array."""
    plan = Contraction("o[e] = a[e s]", dict(s=5), backend=device_backend, how="small threads=64 near=2", quick=True)
    a = np.random.default_rng(1).integers(-3, 4, (400, 5)).astype(float)
    there = device_backend.from_host(a, a.dtype)[::2]
    out = device_backend.empty((200,), np.dtype(float))
    plan.bind(dict(a=there, o=out), 200)()
    assert np.array_equal(device_backend.to_host(out), a[::2].sum(axis=1))


def test_nan_stays_in_its_entry(device_backend):
    plan = Contraction("o[e] = a[e s]", dict(s=7), backend=device_backend, how="small threads=64 near=2", quick=True)
    arrays = {name: np.random.default_rng(2).random(plan.shape(name, 33)) for name in "ao"}
    arrays["a"][31, 4] = np.nan
    assert np.flatnonzero(np.isnan(done(plan, arrays, 33))).tolist() == [31]


@pytest.mark.parametrize(
    "text, sizes, how, message",
    [
        ("o[i e] = a[i j e]", dict(i=3, j=4), "small threads=64", "no organisation 'small'"),  # entries lie across
        ("o[e i] = a[e i j] b[e j]", dict(i=16, j=16), "small threads=64", "no organisation 'small'"),
        ("o[e i] = a[e i j] b[e j]", dict(i=3, j=3), "small threads=64 near=4", "512 bytes"),
    ],
)
def test_what_is_not_served(device_backend, text, sizes, how, message):
    with pytest.raises(ArgumentError, match=message):
        Contraction(text, sizes, backend=device_backend, batch="e", how=how, quick=True)
