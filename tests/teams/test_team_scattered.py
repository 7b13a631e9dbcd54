"""Scattered sums, by copies and by atomics: exact in any order, so the results are NumPy's."""

import pathlib

import numpy as np
import pytest
from team_cases import assert_arrays, kernel

from kernels import League, MDRange, Range, Sizes, get_backend
from kernels.teams.room import LINES

HEADER = pathlib.Path(__file__).with_name("scattered.h")
TYPES = {"int32": np.int32, "whole": np.int64, "real32": np.float32, "real64": np.float64}


def scattered(name, over, arrays, **more):
    return kernel(name, over, header=HEADER, arrays=arrays, **more)


HISTOGRAM = scattered(
    "scattered",
    Range("n"),
    "bin(n):int32 v(n) count(bins):whole:scatter weight(bins,2):left:scatter own(n):scatter",
)
EACH_WAY = {
    kind: scattered(
        f"each_way_{kind}",
        Range("n"),
        f"bin(n):int32 w(n):{kind} "
        f"added(bins):{kind}:scatter taken(bins):{kind}:scatter counted(bins,2):{kind}:scatter",
        body="each_way",
    )
    for kind in TYPES
}
OF_PAIRS = {
    tile: scattered(
        f"of_pairs_{len(tile or ())}",
        MDRange("I J", tile=tile),
        "bin(I,J):int32 w(I,J) added(bins):scatter",
        body="of_pairs",
    )
    for tile in (None, (4, 16))
}
OF_TEAMS = scattered(
    "of_teams",
    League("E", team=40, vector=2, scratch={"team 0": "copy(n):whole"}),
    "bin(E,n):int32 w(E,n):whole added(bins):whole:scatter",
    results="sum:whole",
)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_histogram(be, threads):
    """Twice, onto what is there. A CPU's threads have copies, or add directly; a device's blocks have copies of arrays
    to whose elements they add many times."""
    backend = get_backend("cpu", threads=threads) if be.style == "packs" else be
    rng, n, bins = np.random.default_rng(6), 7000, 13
    bin_, v = rng.integers(0, bins, n).astype(np.int32), rng.integers(-9, 9, n).astype(float)
    arrays = backend.placed(bin=bin_, v=v, count=np.arange(bins), weight=np.zeros((2, bins)), own=np.zeros(n))
    arrays["weight"] = arrays["weight"].T
    run = HISTOGRAM.bind(arrays, backend, quick=True)
    run()
    run()

    wanted = np.stack([np.bincount(bin_[k::2], v[k::2], bins) for k in (0, 1)])
    np.testing.assert_array_equal(backend.to_host(arrays["count"]), np.arange(bins) + 2 * np.bincount(bin_))
    np.testing.assert_array_equal(np.array(backend.to_host(arrays["weight"].T)), 2 * wanted)
    np.testing.assert_array_equal(backend.to_host(arrays["own"]), 2 * v)

    how = "directly" if be.style == "packs" and threads == 1 else "copies"
    own = how if be.style == "packs" else "atomics"
    assert run.scatter == {"count": how, "weight": how, "own": own}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    "n, bins, block", [(0, 3, None), (1, 1, None), (3411, 1, None), (4097, 5, 96), (9000, 11, 1024)]
)
@pytest.mark.quick(kind=["whole", "real64"])
def test_each_way_to_add(be, kind, n, bins, block):
    """+= -= ++ on every type: few sums, which blocks of a device copy, and more. Whole numbers carry into their upper
    halves and wrap around as NumPy's do; real ones stay exact."""
    rng, dtype = np.random.default_rng(n), TYPES[kind]
    large = {"int32": 2**28, "whole": 2**61, "real32": 2**10, "real64": 2**36}[kind]
    bin_, w = rng.integers(0, bins, n).astype(np.int32), rng.integers(-large, large, n).astype(dtype)
    start = rng.integers(0, 99, bins).astype(dtype)
    zeros = dict(taken=np.zeros(bins, dtype), counted=np.zeros((bins, 2), dtype))
    arrays = be.placed(bin=bin_, w=w, added=start.copy(), **zeros)
    EACH_WAY[kind].run(arrays, be, Sizes(block), quick=True)

    sums = np.zeros(bins, dtype)
    np.add.at(sums, bin_, w)
    counts = np.stack([np.zeros(bins), np.bincount(bin_, minlength=bins)], axis=1)
    assert_arrays(be, arrays, added=start + sums, taken=-sums)
    np.testing.assert_array_equal(np.array(be.to_host(arrays["counted"])), counts)


@pytest.mark.parametrize("tile", OF_PAIRS)
@pytest.mark.parametrize("shape", [(1, 1), (33, 100), (70, 129)])
def test_pairs_of_indices(be, tile, shape):
    rng, bins = np.random.default_rng(3), 7
    bin_, w = rng.integers(0, bins, shape).astype(np.int32), rng.integers(-99, 99, shape).astype(float)
    arrays = be.placed(bin=bin_, w=w, added=np.zeros(bins))
    OF_PAIRS[tile].run(arrays, be, quick=True)
    assert_arrays(be, arrays, added=np.bincount(bin_.ravel(), w.ravel(), bins))


@pytest.mark.parametrize("E, n", [(1, 1), (3, 100), (60, 211)])
def test_teams_with_scratch_and_results(be, E, n):
    rng, bins = np.random.default_rng(E), 17
    bin_, w = rng.integers(0, bins, (E, n)).astype(np.int32), rng.integers(-(2**40), 2**40, (E, n))
    arrays = be.placed(bin=bin_, w=w, added=np.zeros(bins, np.int64))
    run = OF_TEAMS.bind(arrays, be, quick=True)
    run()
    run()

    wanted = np.zeros(bins, np.int64)
    np.add.at(wanted, bin_, w[:, ::-1])
    assert_arrays(be, arrays, added=2 * wanted)
    assert run.value("sum") == w.sum()
    if be.style == "threads":
        assert run.scatter == {"added": "copies"}


def test_copies_of_threads_share_no_line():
    """Wherever the allocator places them: its arrays begin at multiples of 16 bytes."""
    runs, backend = [], get_backend("cpu", threads=2)
    for bins in range(1, 30):
        arrays = dict(bin=np.zeros(9, np.int32), v=np.ones(9), count=np.zeros(bins, np.int64), own=np.zeros(9))
        arrays["weight"] = np.zeros((2, bins)).T
        runs.append(HISTOGRAM.bind(arrays, backend, quick=True))

    places = [run._record[f"copies_{name}"][0] for run in runs for name in ("count", "weight", "own")]
    assert all(place % LINES == 0 for place in places)


def test_large_arrays_take_atomics():
    arrays = dict(bin=np.zeros(9, np.int32), v=np.ones(9), count=np.zeros(2**23, np.int64), own=np.zeros(9))
    arrays["weight"] = np.zeros((2, 2**23)).T
    run = HISTOGRAM.bind(arrays, get_backend("cpu", threads=2), quick=True)
    run()

    assert run.scatter == {"count": "atomics", "weight": "atomics", "own": "copies"}
    assert arrays["count"][0] == 9 and list(arrays["weight"][0]) == [5, 4] and (arrays["own"] == 1).all()


def test_copies_in_the_shared_memory_of_a_block(stand_in):
    """Arrays to whose elements a block adds 8 times each, as long as there is room for 1024 threads of a
    multiprocessor: eight blocks of 128 with 27 KiB each."""

    def how(bins, n, block=None):
        arrays = dict(bin=np.zeros(n, np.int32), w=np.zeros(n, np.int64), counted=np.zeros((bins, 2), np.int64))
        arrays |= dict(added=np.zeros(bins, np.int64), taken=np.zeros(bins, np.int64))
        run = EACH_WAY["whole"].bind(stand_in.placed(**arrays), stand_in, Sizes(block), quick=True)
        return run.team, [run.scatter[name] for name in ("added", "taken", "counted")]

    n = 4_000_000  # of each of 256 blocks 15625
    assert how(900, n) == (512, ["copies"] * 3)
    assert how(1200, n) == (512, ["copies", "copies", "atomics"])
    assert how(2000, n) == (128, ["atomics"] * 3)
    assert how(62, 1000) == (512, ["copies", "copies", "atomics"])
    assert how(900, n, block=128) == (128, ["copies", "copies", "atomics"])
