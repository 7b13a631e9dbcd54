"""Exercise 6: <y|Ax> of E elements, all three levels."""

import numpy as np
from common import check, kernels_of, main, on, say, seconds

yax_vector = kernels_of(__file__)(
    "yax_vector",
    arrays="y(E,N) A(E,N,M) x(E,M) result(E)",
    writes="result",
    sums="total",
    league="E",
    team=8,
    vector=32,
)


def exercise(backend, E=1000, N=32, M=32, nrepeat=10, quick=False):
    for name, y in (("y = 1", np.ones(E)), ("y = e + 1", np.arange(1.0, E + 1))):
        rows = np.repeat(y[:, None], N, axis=1)
        arrays = on(backend, y=rows, A=np.ones((E, N, M)), x=np.ones((E, M)), result=np.full(E, np.nan))
        run = yax_vector.bind(arrays, backend, quick=quick)
        time = seconds(backend, run, nrepeat)
        check(f"yax_vector, elements, {name}", backend.to_host(arrays["result"]), N * M * y)
        check(f"yax_vector, {name}", run.value("total"), N * M * (E if name == "y = 1" else E * (E + 1) // 2))
        say("yax_vector", backend, (E, N, M), run.value("total"), time, 8 * E * (N * M + N + M + 1), f"({name})")


if __name__ == "__main__":
    main(exercise)
