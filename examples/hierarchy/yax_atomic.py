"""Exercise 2: <y|Ax> with an atomic for every element: all wait for one address."""

import numpy as np
from common import check, kernels_of, main, on, say, seconds

yax_atomic = kernels_of(__file__)(
    "yax_atomic", arrays="y(N) A(N,M) x(M) total(1)", writes="total", range="N*M", source="not reproducible: atomics"
)


def exercise(backend, N=4096, M=1024, nrepeat=3, quick=False):
    arrays = on(backend, y=np.ones(N), A=np.ones((N, M)), x=np.ones(M), total=np.zeros(1))
    run = yax_atomic.bind(arrays, backend, quick=quick)
    time = seconds(backend, run, nrepeat, turns=1)
    total = backend.to_host(arrays["total"])[0] / (1 + nrepeat)
    check("yax_atomic", total, N * M)
    say("yax_atomic", backend, (N, M), total, time, 8 * (N * M + N + M))


if __name__ == "__main__":
    main(exercise)
