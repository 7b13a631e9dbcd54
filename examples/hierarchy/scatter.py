"""Exercise 18: a histogram by atomics, by a copy a team, by a copy for each id of a pool."""

import numpy as np
from common import check, kernels_of, main, on, say, seconds

declared = kernels_of(__file__)
INPUT, SHARE = "bin(n):whole ", 8192  # numbers of a team
scatter_atomics = declared("scatter_atomics", arrays=INPUT + "histogram(bins):whole", writes="histogram", range="n")
IN_TEAMS = dict(numbers="share", league="(n + share - 1) // share", team=256)
scatter_teams = declared(
    "scatter_teams",
    arrays=INPUT + "histogram(bins):whole",
    writes="histogram",
    scratch={"team 0": "own(bins):whole"},
    **IN_TEAMS,
)
scatter_tokens = declared(
    "scatter_tokens",
    arrays=INPUT + "copies(size,bins):whole",
    writes="copies",
    tokens={"pool": "size"},
    **IN_TEAMS,
)


def exercise(backend, N=10_000_000, M=64, nrepeat=3, quick=False):
    bins = np.random.default_rng(18).integers(0, M, N)
    wanted = np.bincount(bins, minlength=M)
    given = on(backend, bin=bins)
    for kernel, more, shape in (
        (scatter_atomics, {}, (M,)),
        (scatter_teams, {"share": SHARE}, (M,)),
        (scatter_tokens, {"share": SHARE}, (2048, M)),
    ):
        out = on(backend, out=np.zeros(shape, np.int64))["out"]
        arrays = {**given, "copies" if len(shape) == 2 else "histogram": out}
        run = kernel.bind(arrays, backend, quick=quick, **more)
        time = seconds(backend, run, nrepeat, turns=1)
        result = backend.to_host(out).reshape(-1, M).sum(0) / (1 + nrepeat)
        check(kernel.name, result, wanted)
        say(kernel.name, backend, (N, M), result.sum(), time, 8 * N)


if __name__ == "__main__":
    main(exercise)
