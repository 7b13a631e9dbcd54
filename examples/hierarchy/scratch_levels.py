"""Exercise 10: scratch of level 0 up to 227 KiB a team, level 1 beyond; of teams and of members at the same time."""

import numpy as np
from common import check, kernels_of, main, on, say, seconds

from kernels import ArgumentError

scratch_levels = kernels_of(__file__)(
    "scratch_levels",
    arrays="result(E)",
    writes="result",
    numbers="n0 n1 n rows",
    league="E",
    scratch={"team 0": "near(n0)", "team 1": "far(n1)", "member 0": "own(n)", "member 1": "own_far(n)"},
    team=8,
    vector=4,
)


def exercise(backend, E=1000, nrepeat=3, quick=False):
    n, rows, n1 = 32, 20, 2**17
    n0 = 227 * 1024 // 8 - 8 * n  # with the members' 8 x 32 numbers exactly 227 KiB
    arrays = on(backend, result=np.full(E, np.nan))
    try:
        scratch_levels.bind(arrays, backend, quick=quick, n0=n0 + 128, n1=n1, n=n, rows=rows)
    except ArgumentError as error:
        print(f"scratch_levels, 228 KiB of level 0: {error}")
    else:
        raise AssertionError("228 KiB of level 0 were not refused.")
    run = scratch_levels.bind(arrays, backend, quick=quick, n0=n0, n1=n1, n=n, rows=rows)
    time = seconds(backend, run, nrepeat)
    e, sum_to = np.arange(E), lambda n: n * (n - 1) / 2
    wanted = sum_to(n0) + e * n0 + sum_to(n1) - e * n1 + rows * n * e + sum_to(n) * sum_to(rows)
    check("scratch_levels", backend.to_host(arrays["result"]), wanted)
    total = backend.to_host(arrays["result"]).sum()
    mib = f"(level 1: {run.resident} resident teams x {run.scratch[1]} bytes, {run.arena / 2**20:.4g} MiB held)"
    say("scratch_levels", backend, (E, n0, n1), total, time, 16 * E * (n0 + n1), mib)


if __name__ == "__main__":
    main(exercise)
