"""Exercises 12, 13 and 18: ids from pools, and scattered sums."""

import numpy as np
from common import ATOMICS, check, kernels_of, main, say, timed

from kernels import League, Range, UniqueToken

declared = kernels_of(__file__)

UNIQUE_TOKEN_POOL = declared(
    "unique_token_pool",
    Range("n"),
    arrays="state(size):whole count(size):whole sum(size) owner(size):whole overlaps(1):whole",
    writes="state count sum owner overlaps",
    numbers="n",
    tokens={"pool": "size"},
)


def states(backend, size):
    whole = {name: np.zeros(size, np.int64) for name in ("count", "owner")}
    return backend.placed(state=np.arange(size), sum=np.zeros(size), overlaps=np.zeros(1, np.int64), **whole)


def told(backend, arrays, size, draws):
    """Every draw counted once, ids below the size, no id held twice, a mean of 1/2 of the draws."""
    count, overlaps = (backend.to_host(arrays[name]) for name in ("count", "overlaps"))
    check("unique_token_pool, draws", count.sum(), draws)
    check("unique_token_pool, ids held twice", overlaps[0], 0)
    check(
        "unique_token_pool, mean", backend.to_host(arrays["sum"]).sum() / draws, 0.5, 6 / np.sqrt(12 * draws)
    )  # 6 sigma

    return int(np.flatnonzero(count).max())


def unique_token_pool(backend, N=10_000_000, M=2**19, nrepeat=1, quick=False):
    """Exercise 12: one generator state for each id of a pool; sums by scattering into a copy for each id.

    Then two launches at the same time, in two queues, share one pool of device scope.

    M: size of the pool.
    """
    arrays = states(backend, M)
    run = UNIQUE_TOKEN_POOL.bind(arrays, backend, quick=quick, n=N)
    time = timed(backend, run, nrepeat, 32 * N, turns=1)
    largest = told(backend, arrays, M, N * (1 + nrepeat))

    check("unique_token_pool, ids still held", run.tokens["pool"].held, 0)
    say("unique_token_pool", backend, (N, M), N, time, f"(largest id {largest})", by=ATOMICS)

    pool, arrays = UniqueToken(M, backend), states(backend, M)
    runs = [UNIQUE_TOKEN_POOL.bind({**arrays, "pool": pool}, backend, quick=quick, n=N) for _ in range(2)]
    queues = [backend.queue() for _ in runs]

    for queue, run in zip(queues, runs):
        run(queue)
    for queue in queues:
        queue.wait()

    told(backend, arrays, M, 2 * N)
    check("unique_token_pool, device scope, ids still held", pool.held, 0)
    print(f"unique_token_pool {backend}: two launches of {N} draws with one pool: no id was held twice")


UNIQUE_TOKEN_TEAM = declared(
    "unique_token_team",
    League("E", team=64),
    arrays="owner(size):whole count(size):whole overlaps(1):whole held(1):whole most(1):whole",
    writes="owner count overlaps held most",
    numbers="E",
    tokens={"pool": "size"},
)


def unique_token_team(backend, E=100, nrepeat=1, quick=False):
    """Exercise 13: an id a team, from pools of several sizes; a pool of one id makes the teams take turns."""
    for size in (1, 3, 4096):
        whole = {name: np.zeros(size, np.int64) for name in ("owner", "count")}
        one = {name: np.zeros(1, np.int64) for name in ("overlaps", "held", "most")}
        arrays = backend.placed(**whole, **one)
        run = UNIQUE_TOKEN_TEAM.bind(arrays, backend, quick=quick, E=E)
        time = timed(backend, run, nrepeat, 8 * E, turns=1)
        got = {name: backend.to_host(a) for name, a in arrays.items()}
        members = run.members
        teams = got["count"].sum() / members / (1 + nrepeat)

        check(f"unique_token_team, teams with a pool of {size}", teams, E)
        check("unique_token_team, ids held twice", got["overlaps"][0], 0)
        check("unique_token_team, ids still held", run.tokens["pool"].held + got["held"][0], 0)

        most = int(got["most"][0])
        check("unique_token_team, ids held beyond the resident teams", max(most - min(size, run.resident), 0), 0)
        more = f"(pool of {size}; at most {most} ids held at the same time, {run.resident} teams resident)"
        say("unique_token_team", backend, (E, size), teams, time, more, by=ATOMICS)


INPUT = "bin(n):whole "
SCATTER_ATOMICS = declared("scatter_atomics", Range("n"), arrays=INPUT + "histogram(bins):whole", writes="histogram")
SHARES = "(n + share - 1) // share"
SCATTER_TEAMS = declared(
    "scatter_teams",
    League(SHARES, team="auto 256", scratch={"team 0": "own(bins):int32"}),
    arrays=INPUT + "histogram(bins):whole",
    writes="histogram",
    numbers="share",
)
SCATTER_TOKENS = declared(
    "scatter_tokens",
    League(SHARES, team="auto 256"),
    arrays=INPUT + "copies(size,bins):whole",
    writes="copies",
    numbers="share",
    tokens={"pool": "size"},
)
SCATTER_VIEW = declared("scatter_view", Range("n"), arrays=INPUT + "histogram(bins):whole:scatter", writes="histogram")


def scatter(backend, N=10_000_000, M=64, nrepeat=3, quick=False):
    """Exercise 18: a histogram by atomics, by a copy a team, by a copy for each id of a pool, by a scattered array."""
    bins = np.random.default_rng(18).integers(0, M, N)
    wanted = np.bincount(bins, minlength=M)
    given = backend.placed(bin=bins)
    share = {"share": 32768 if backend.in_warps else 131072}  # numbers of a team, which adds its bins once

    for kernel, numbers, shape in (
        (SCATTER_ATOMICS, {}, (M,)),
        (SCATTER_TEAMS, share, (M,)),
        (SCATTER_TOKENS, share, (2048, M)),
        (SCATTER_VIEW, {}, (M,)),
    ):
        out = backend.placed(out=np.zeros(shape, np.int64))["out"]
        arrays = {**given, "copies" if len(shape) == 2 else "histogram": out}
        run = kernel.bind(arrays, backend, quick=quick, **numbers)
        time = timed(backend, run, nrepeat, 8 * N, turns=1)
        result = backend.to_host(out).reshape(-1, M).sum(0) / (1 + nrepeat)

        check(kernel.name, result, wanted)
        say(kernel.name, backend, (N, M), result.sum(), time, by=ATOMICS)


if __name__ == "__main__":
    main(unique_token_pool, unique_token_team, scatter)
