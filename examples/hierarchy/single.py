"""Exercise 17: what one thread does for its team, one lane for its member, and the values that they pass on."""

import numpy as np
from common import check, kernels_of, main, on, say, seconds

single = kernels_of(__file__)(
    "single",
    arrays="teams(1):whole members(1):whole seen(E,N,M)",
    writes="teams members seen",
    league="E",
    team=16,
    vector=8,
)


def exercise(backend, E=100, N=16, M=8, nrepeat=1, quick=False):
    zero = np.zeros(1, np.int64)
    arrays = on(backend, teams=zero, members=zero.copy(), seen=np.full((E, N, M), np.nan))
    run = single.bind(arrays, backend, quick=quick)
    time = seconds(backend, run, nrepeat, turns=1)
    teams, members = (backend.to_host(arrays[name])[0] / (1 + nrepeat) for name in ("teams", "members"))
    check("single, teams", teams, E)
    check("single, members", members, E * N)
    wanted = 1000.0 + np.add.outer(np.arange(E), 10 * np.arange(N))
    check("single, value", backend.to_host(arrays["seen"]), np.repeat(wanted[:, :, None], M, 2))
    say("single", backend, (E, N, M), members, time, 8 * E * N * M, f"({teams:g} teams)")


if __name__ == "__main__":
    main(exercise)
