"""Exercise 16: exclusive prefix sums over a team and over lanes."""

import numpy as np
from common import check, kernels_of, main, on, say, seconds

scan_of_three = kernels_of(__file__)(
    "scan_of_three", arrays="prefix(3,n) total(3)", writes="prefix total", league="1", team=12, vector=8
)


def exercise(backend, nrepeat=3, quick=False):
    for n in (1, 31, 32, 33, 1000):
        arrays = on(backend, prefix=np.full((3, n), np.nan), total=np.full(3, np.nan))
        run = scan_of_three.bind(arrays, backend, quick=quick)
        time = seconds(backend, run, nrepeat)
        i = np.arange(n)
        check(f"scan of {n}", backend.to_host(arrays["prefix"]), np.tile(i * (i - 1) // 2, (3, 1)))
        check(f"scan of {n}, total", backend.to_host(arrays["total"]), [n * (n - 1) // 2] * 3)
        say("scan", backend, (n,), backend.to_host(arrays["total"])[0], time, 24 * n)


if __name__ == "__main__":
    main(exercise)
