"""Atomic operations on every type: exact in any order, so the results are known in closed form."""

import numpy as np
import pytest
from team_cases import JOINS, assert_arrays, kernel

from kernels import Range, Sizes

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

    assert_arrays(be, arrays, packed=np.full(n, 2.0))


JOINED = kernel(
    "joined_atomics",
    Range("n"),
    header=JOINS,
    arrays="x(n):whole real(r):real64 narrow(r):real32 whole(r):whole integer(r):int32",
    writes="real narrow whole integer",
)


@pytest.mark.parametrize("block", [32, 96, 128])
@pytest.mark.parametrize("n", [1, 31, 77, 1000])
@pytest.mark.quick(block=96)
def test_lanes_that_change_the_same_element(be, n, block):
    """All lanes of a warp, some of them, in branches, in loops; two elements; NaN. Sums stay below 2^24."""
    x = np.random.default_rng(n).integers(-999, 999, n)
    k = np.arange(n)
    types = {"real": np.float64, "narrow": np.float32, "whole": np.int64, "integer": np.int32}
    start = np.zeros(18)
    start[[2, 13]], start[[3, 14]], start[15] = 5, -5, 2**20 - 1
    arrays = be.placed(x=x, **{name: start.astype(dtype) for name, dtype in types.items()})
    JOINED.run(arrays, be, Sizes(block), quick=True)

    wanted = start.copy()
    wanted[:4] = x.sum(), -x.sum(), min(5, x.min()), max(-5, x.max())
    wanted[4] = x[k % 3 == 0].sum() - x[(k % 3 > 0) & (k % 5 < 3)].sum()
    wanted[5:7] = x[::2].sum(), x[1::2].sum()
    wanted[7:10] = [x[k // 32 % 3 == part].sum() for part in range(3)]
    wanted[10:13] = (x * (k % 4)).sum(), n, 0
    wanted_bits = wanted.copy()
    wanted[13:15] = min(5, x[k % 2 > 0].min(initial=5)), max(-5, x[k % 4 >= 2].max(initial=-5))
    wanted_bits[15:18] = (2**20 - 1) & ~(2 ** min(n, 20) - 1), 2 ** min(n, 20) - 1, np.bitwise_xor.reduce(k)

    for name in types:
        of_type = wanted if name in ("real", "narrow") else wanted_bits
        np.testing.assert_array_equal(np.array(be.to_host(arrays[name])), of_type, err_msg=name)
