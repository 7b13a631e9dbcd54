"""Exercise 19: <y|A x> = <A^T y|x>, a team a row for the one, a team for 32 columns for the other, random numbers."""

import numpy as np
from common import check, kernels_of, main, on, say, seconds

declared = kernels_of(__file__)
ARRAYS = dict(arrays="y(N) A(N,M) x(M)", sums="product")
rows_of = declared("rows_of", league="N", team=128, **ARRAYS)
columns_of = declared(
    "columns_of", league="(M + 31) // 32", team=16, vector=32, scratch={"member 0": "partial(32)"}, **ARRAYS
)


def exercise(backend, N=4096, M=1023, nrepeat=10, quick=False):
    rng = np.random.default_rng(19)
    given = dict(y=rng.random(N), A=rng.random((N, M)), x=rng.random(M))
    products = []
    for kernel in (rows_of, columns_of):
        run = kernel.bind(on(backend, **given), backend, quick=quick)
        time = seconds(backend, run, nrepeat)
        products.append(run.value("product"))
        say(f"nested_adjoint {kernel.name}", backend, (N, M), products[-1], time, 8 * (N * M + N + M))
    check("nested_adjoint", products[0] / products[1] - 1, 0, 1e-13)
    # all terms are positive: each sum of n terms is within n eps, and both together far within this
    check("nested_adjoint, numpy", products[0] / (given["y"] @ given["A"] @ given["x"]) - 1, 0, 1e-13)


if __name__ == "__main__":
    main(exercise)
