"""Every atomic operation on every type: exact, whatever the order, so the result is known in closed form."""

import numpy as np
from team_cases import JOINS, kernel, on

ALL = kernel(
    "all_atomics",
    header=JOINS,
    arrays="real(r):real64 narrow(r):real32 whole(r):whole integer(r):int32 packed(n)",
    writes="real narrow whole integer packed",
    range="n",
)


def test_every_atomic(be):
    n = 100
    k = np.arange(n)
    x = k % 101 - 50
    start = np.zeros(24)
    start[[2, 3]] = 1, 2.0**20  # 20 factors of 2
    start[18] = 2**20 - 1
    types = {"real": np.float64, "narrow": np.float32, "whole": np.int64, "integer": np.int32}
    arrays = on(be, **{name: start.astype(dtype) for name, dtype in types.items()}, packed=np.zeros(n))
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
