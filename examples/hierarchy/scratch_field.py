"""Exercise 8: contractDataFieldScalar with a row in scratch, filled by the team, and a barrier."""

import numpy as np
from common import check, kernels_of, main, on, say, seconds

DECLARED = dict(
    arrays="A(E,Q,V) B(E,V) result(E,Q)",
    writes="result",
    sums="total",
    league="E",
    scratch={"team 0": "b(V)"},
    team=16,
    vector=8,
)
scratch_field = kernels_of(__file__)("scratch_field", **DECLARED)


def sums(kernel, backend, E, Q, V, nrepeat, quick):
    """A = B = 1, then A = e + q and B = i."""
    i = np.arange(V, dtype=float)
    e_q = np.add.outer(np.arange(E), np.arange(Q)).astype(float)
    for A, B, wanted in (
        (np.ones((E, Q, V)), np.ones((E, V)), np.full((E, Q), float(V))),
        (np.repeat(e_q[:, :, None], V, 2), np.repeat(i[None], E, 0), e_q * (V * (V - 1) // 2)),
    ):
        arrays = on(backend, A=A, B=B, result=np.full((E, Q), np.nan))
        run = kernel.bind(arrays, backend, quick=quick)
        time = seconds(backend, run, nrepeat)
        check(kernel.name, backend.to_host(arrays["result"]), wanted)
        check(f"{kernel.name}, total", run.value("total"), wanted.sum())
        say(kernel.name, backend, (E, Q, V), run.value("total"), time, 8 * (E * Q * V + E * V + E * Q))


def exercise(backend, E=10000, Q=16, V=64, nrepeat=10, quick=False):
    sums(scratch_field, backend, E, Q, V, nrepeat, quick)


if __name__ == "__main__":
    main(exercise)
