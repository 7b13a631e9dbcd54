"""Exercise 1: <y|Ax> with a thread a row. With few rows a GPU is nearly empty."""

import numpy as np
from common import check, kernels_of, main, on, say, seconds

yax_flat = kernels_of(__file__)("yax_flat", arrays="y(N) A(N,M) x(M)", sums="total", range="N")


def exercise(backend, N=4096, M=1024, nrepeat=10, quick=False):
    run = yax_flat.bind(on(backend, y=np.ones(N), A=np.ones((N, M)), x=np.ones(M)), backend, quick=quick)
    time = seconds(backend, run, nrepeat)
    check("yax_flat", run.value("total"), N * M)
    say("yax_flat", backend, (N, M), run.value("total"), time, 8 * (N * M + N + M))


if __name__ == "__main__":
    main(exercise)
