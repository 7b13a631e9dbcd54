"""Exercise 15: a part of an array of three dimensions as an array of two."""

import numpy as np
from common import check, kernels_of, main, on, say, seconds

declared = kernels_of(__file__)
KERNELS = {
    layout: declared(
        f"subview_{layout}",
        body="subview_sum",
        arrays=f"v(I,J,K){mark}",
        numbers="at a b",
        sums="total",
        range="J",
    )
    for layout, mark in (("right", ""), ("left", ":left"))
}


def exercise(backend, N=20, M=50, E=60, nrepeat=3, quick=False):
    """v is N x M x E."""
    i, j, k = np.ogrid[:N, :M, :E]
    v = 10000.0 * i + 100.0 * j + k
    at, a, b = N - 2, 3, E - 4
    wanted = (b - a) * (M * 10000 * at + 100 * M * (M - 1) // 2) + M * (b * (b - 1) - a * (a - 1)) // 2
    for layout, kernel in KERNELS.items():
        arrays = on(backend, v=v if layout == "right" else v.T)
        if layout == "left":
            arrays["v"] = arrays["v"].T
        run = kernel.bind(arrays, backend, quick=quick, at=at, a=a, b=b)
        time = seconds(backend, run, nrepeat)
        check(kernel.name, run.value("total"), wanted)
        say(kernel.name, backend, (N, M, E), run.value("total"), time, 8 * M * (b - a), f"(closed form {wanted})")


if __name__ == "__main__":
    main(exercise)
