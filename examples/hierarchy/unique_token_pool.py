"""Exercise 12: one generator state for each id of a pool; sums by scattering into a copy for each id.

Then two launches at the same time, on two streams, share one pool of device scope.
"""

import concurrent.futures
import itertools

import numpy as np
from common import check, kernels_of, main, on, say, seconds

from kernels import UniqueToken

unique_token_pool = kernels_of(__file__)(
    "unique_token_pool",
    arrays="state(size):whole count(size):whole sum(size) owner(size):whole overlaps(1):whole",
    writes="state count sum owner overlaps",
    numbers="n",
    range="n",
    tokens={"pool": "size"},
)


def states(backend, size):
    whole = {name: np.zeros(size, np.int64) for name in ("count", "owner")}
    return on(backend, state=np.arange(size), sum=np.zeros(size), overlaps=np.zeros(1, np.int64), **whole)


def told(backend, arrays, size, draws):
    """Every draw counted once, ids below the size, no id held twice, a mean of 1/2 of the draws."""
    count, overlaps = (backend.to_host(arrays[name]) for name in ("count", "overlaps"))
    check("unique_token_pool, draws", count.sum(), draws)
    check("unique_token_pool, ids held twice", overlaps[0], 0)
    check(
        "unique_token_pool, mean", backend.to_host(arrays["sum"]).sum() / draws, 0.5, 6 / np.sqrt(12 * draws)
    )  # 6 sigma
    return int(np.flatnonzero(count).max())


def exercise(backend, N=10_000_000, M=2**19, nrepeat=1, quick=False):
    """M: size of the pool."""
    arrays = states(backend, M)
    run = unique_token_pool.bind(arrays, backend, quick=quick, n=N)
    time = seconds(backend, run, nrepeat, turns=1)
    largest = told(backend, arrays, M, N * (1 + nrepeat))
    check("unique_token_pool, ids still held", run.tokens["pool"].held, 0)
    say("unique_token_pool", backend, (N, M), N, time, 32 * N, f"(largest id {largest})")

    pool, arrays = UniqueToken(M, backend), states(backend, M)
    runs = [unique_token_pool.bind({**arrays, "pool": pool}, backend, quick=quick, n=N) for _ in range(2)]
    here = np.zeros(1)  # a session has its two streams for copies from and to some memory of the host's
    with backend.session([(here.ctypes.data, here.ctypes.data + here.nbytes)]) as lanes:
        launch_in_lanes(backend, lanes, runs)
    told(backend, arrays, M, 2 * N)
    check("unique_token_pool, device scope, ids still held", pool.held, 0)
    print(f"unique_token_pool {backend}: two launches of {N} draws with one pool: no id was held twice")


def launch_in_lanes(backend, lanes, runs):
    def launch(lane, run):
        with lane:
            run()

    if backend.memory == "device":  # launches are queued
        for lane, run in zip(itertools.cycle(lanes), runs):
            launch(lane, run)
        return
    with concurrent.futures.ThreadPoolExecutor(len(runs)) as threads:
        list(threads.map(launch, itertools.cycle(lanes), runs))


if __name__ == "__main__":
    main(exercise)
