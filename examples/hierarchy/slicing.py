"""Exercise 11: contractFieldFieldScalar with two left rows of a team in scratch. L = R = 125 is odd; no row is lost."""

import numpy as np
from common import check, kernels_of, main, on, say, seconds

slicing = kernels_of(__file__)(
    "slicing",
    arrays="left(C,L,P) right(C,R,P) out(C,L,R)",
    writes="out",
    league="C * ((L + 1) // 2)",
    scratch={"team 0": "left_rows(2,P)"},
    team=128,
    source="slicing, adaptive: Kokkos-Intrepid clinic 2015, with its rows of an odd L",
)


def exercise(backend, N=1000, M=125, nrepeat=10, quick=False):
    C, L, R, P = N, M, M, 27
    rng = np.random.default_rng(11)
    left, right = (rng.integers(-9, 10, (C, n, P)).astype(float) for n in (L, R))
    arrays = on(backend, left=left, right=right, out=np.full((C, L, R), np.nan))
    run = slicing.bind(arrays, backend, quick=quick)
    time = seconds(backend, run, nrepeat)
    out = backend.to_host(arrays["out"])
    check("slicing", out, np.einsum("clp,crp->clr", left, right))
    say("slicing", backend, (C, L, R, P), abs(out).sum(), time, 8 * C * (L * P + R * P + L * R))


if __name__ == "__main__":
    main(exercise)
