"""Exercise 4: <y|Ax> with a team a row: inner reduction over the columns; one member adds y(row) times the sum."""

import numpy as np
from common import check, kernels_of, main, on, say, seconds

yax_team = kernels_of(__file__)("yax_team", arrays="y(N) A(N,M) x(M)", sums="total", league="N", team=128)


def exercise(backend, N=4096, M=1024, nrepeat=10, quick=False):
    run = yax_team.bind(on(backend, y=np.ones(N), A=np.ones((N, M)), x=np.ones(M)), backend, quick=quick)
    time = seconds(backend, run, nrepeat)
    check("yax_team", run.value("total"), N * M)
    say("yax_team", backend, (N, M), run.value("total"), time, 8 * (N * M + N + M))


if __name__ == "__main__":
    main(exercise)
