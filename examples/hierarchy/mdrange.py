"""Exercise 14: an iteration over two indices in tiles, with either of them the fastest."""

import numpy as np
from common import check, kernels_of, main, on, say, seconds

declared = kernels_of(__file__)
KERNELS = [
    declared(
        f"mdrange_{a}x{b}_{order}",
        body="mdrange",
        arrays="A(I,J) written(I,J)",
        writes="A written",
        sums="total count",
        extents="I J",
        tile=(a, b),
        order=order,
    )
    for a, b in ((8, 8), (16, 4), (1, 32))
    for order in ("right", "left")
]


def exercise(backend, N=1000, M=777, nrepeat=3, quick=False):
    wanted = 1000 * M * N * (N - 1) // 2 + N * M * (M - 1) // 2
    for kernel in KERNELS:
        arrays = on(backend, A=np.full((N, M), np.nan), written=np.zeros((N, M)))
        run = kernel.bind(arrays, backend, quick=quick)
        time = seconds(backend, run, nrepeat, turns=1)
        check(kernel.name, backend.to_host(arrays["A"]), np.add.outer(1000.0 * np.arange(N), np.arange(M)))
        check(f"{kernel.name}, total", run.value("total"), wanted)
        check(f"{kernel.name}, count", run.value("count"), N * M)
        check(f"{kernel.name}, written", backend.to_host(arrays["written"]), np.full((N, M), 1.0 + nrepeat))
        say(kernel.name, backend, (N, M), run.value("total"), time, 24 * N * M)


if __name__ == "__main__":
    main(exercise)
