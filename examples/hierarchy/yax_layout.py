"""Exercise 3: exercise 1 with A row by row (right) and column by column (left)."""

import numpy as np
from common import check, kernels_of, main, on, say, seconds

declared = kernels_of(__file__)
KERNELS = {
    layout: declared(
        f"yax_{layout}", body="yax_layout", arrays=f"y(N) A(N,M){mark} x(M)", sums="total", range="N", team=32
    )
    for layout, mark in (("right", ""), ("left", ":left"))
}


def exercise(backend, N=4096, M=1024, nrepeat=10, quick=False):
    times = {}
    for layout, kernel in KERNELS.items():
        arrays = on(backend, y=np.ones(N), A=np.ones((M, N) if layout == "left" else (N, M)), x=np.ones(M))
        if layout == "left":
            arrays["A"] = arrays["A"].T
        run = kernel.bind(arrays, backend, quick=quick)
        times[layout] = seconds(backend, run, nrepeat)
        check(f"yax_layout, {layout}", run.value("total"), N * M)
        say(f"yax_layout {layout}", backend, (N, M), run.value("total"), times[layout], 8 * (N * M + N + M))
    print(f"yax_layout {backend}: time of right over left {times['right'] / times['left']:.3g}")


if __name__ == "__main__":
    main(exercise)
