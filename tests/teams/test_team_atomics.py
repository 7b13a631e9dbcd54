"""Atomic operations on every type, and scattered sums: exact in any order, so the results are known in closed form."""

import numpy as np
import pytest
from team_cases import JOINS, kernel

from kernels import Range, get_backend

ALL = kernel(
    "all_atomics",
    Range("n"),
    header=JOINS,
    arrays="real(r):real64 narrow(r):real32 whole(r):whole integer(r):int32 packed(n)",
    writes="real narrow whole integer packed",
)


def test_every_atomic(be):
    n = 100
    k = np.arange(n)
    x = k % 101 - 50
    start = np.zeros(24)
    start[[2, 3]] = 1, 2.0**20  # 20 factors of 2
    start[18] = 2**20 - 1
    types = {"real": np.float64, "narrow": np.float32, "whole": np.int64, "integer": np.int32}
    arrays = be.placed(**{name: start.astype(dtype) for name, dtype in types.items()}, packed=np.zeros(n))
    ALL.run(arrays, be, quick=True)

    wanted = np.zeros(24)
    wanted[:6] = x.sum(), -x.sum(), 2**20, 1, min(x.min(), 0), max(x.max(), 0)
    wanted[6] = n % 7  # 0, 1, ... 6, 0
    wanted[7] = -n % 7  # 0, 6, ... 1, 0
    wanted[8:10] = n, -n
    wanted[10:14] = n, n, k.sum(), k.sum() + n
    wanted[14:18] = x.sum(), -x.sum(), n, -n
    for name in types:
        got = np.array(be.to_host(arrays[name]))
        bits = wanted.copy()
        if name in ("whole", "integer"):
            bits[18:23] = 0, 2**20 - 1, (2**20 - 1) * (n // 20 % 2), 2**13 - 1, 7
        else:
            bits[18] = start[18]
        np.testing.assert_array_equal(got, bits, err_msg=name)
    np.testing.assert_array_equal(be.to_host(arrays["packed"]), np.full(n, 2.0))


SCATTERED = kernel(
    "scattered",
    Range("n"),
    header=JOINS,
    arrays="bin(n):int32 v(n) count(bins):whole:scatter weight(bins,2):left:scatter own(n):scatter",
)


@pytest.mark.parametrize("threads", [1, 3])
def test_scattered_sums(be, threads):
    """Twice, onto what is there: a histogram by NumPy. A CPU's threads have copies, or add directly."""
    backend = get_backend("cpu", threads=threads) if be.style == "packs" else be
    rng, n, bins = np.random.default_rng(6), 5000, 13
    bin_, v = rng.integers(0, bins, n).astype(np.int32), rng.integers(-9, 9, n).astype(float)
    arrays = backend.placed(bin=bin_, v=v, count=np.arange(bins), weight=np.zeros((2, bins)), own=np.zeros(n))
    arrays["weight"] = arrays["weight"].T
    run = SCATTERED.bind(arrays, backend, quick=True)
    run()
    run()

    wanted = np.stack([np.bincount(bin_[k::2], v[k::2], bins) for k in (0, 1)])
    np.testing.assert_array_equal(backend.to_host(arrays["count"]), np.arange(bins) + 2 * np.bincount(bin_))
    np.testing.assert_array_equal(np.array(backend.to_host(arrays["weight"].T)), 2 * wanted)
    np.testing.assert_array_equal(backend.to_host(arrays["own"]), 2 * v)
    how = "atomics" if be.style != "packs" else "directly" if threads == 1 else "copies"
    assert set(run.scatter.values()) == {how} and set(run.scatter) == {"count", "weight", "own"}


def test_large_scattered_arrays_take_atomics():
    arrays = dict(bin=np.zeros(9, np.int32), v=np.ones(9), count=np.zeros(2**23, np.int64), own=np.zeros(9))
    arrays["weight"] = np.zeros((2, 2**23)).T
    run = SCATTERED.bind(arrays, get_backend("cpu", threads=2), quick=True)
    run()
    assert run.scatter == {"count": "atomics", "weight": "atomics", "own": "copies"}
    assert arrays["count"][0] == 9 and list(arrays["weight"][0]) == [5, 4] and (arrays["own"] == 1).all()
