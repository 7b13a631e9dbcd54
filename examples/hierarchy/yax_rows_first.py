"""Exercise 5: exercises 1 and 4 where rows are many and short, and where they are few and long."""

import numpy as np
from common import check, main, on, say, seconds
from yax_flat import yax_flat
from yax_team import yax_team


def exercise(backend, N=10, M=1_000_000, nrepeat=3, quick=False):
    for n, m in ((M, N), (N, M)):
        arrays = on(backend, y=np.ones(n), A=np.ones((n, m)), x=np.ones(m))
        times = {}
        for name, kernel, team in (("flat", yax_flat, None), ("team", yax_team, 32 if m < 1000 else 1024)):
            run = kernel.bind(arrays, backend, team=team, quick=quick)
            times[name] = seconds(backend, run, nrepeat)
            check(f"yax_rows_first, {name}", run.value("total"), n * m)
            say(f"yax_rows_first {name}", backend, (n, m), run.value("total"), times[name], 8 * (n * m + n + m))
        print(f"yax_rows_first {backend} {n} {m}: teams are {times['flat'] / times['team']:.3g} times as fast as flat")


if __name__ == "__main__":
    main(exercise)
