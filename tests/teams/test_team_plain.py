"""Bodies as a user of Kokkos writes them: single indices and plain numbers, which packs of a CPU take lane by lane."""

import pathlib

import numpy as np
import pytest
from team_cases import EPS, assert_arrays, kernel

import kernels
from kernels import League, MDRange, Range, Scan, team_kernel
from kernels.engine.errors import CompileError

HEADER = pathlib.Path(__file__).with_name("plain.h")
WRONG = HEADER.with_name("plain_wrong.h")
KOKKOS = HEADER.with_name("plain_kokkos.h")


def plain(name, over, arrays, writes="", **more):
    return kernel(name, over, header=HEADER, arrays=arrays, writes=writes, **more)


IF = plain("plain_if", Range("n"), "x(n) y(n) z(n)", "y z")
RESULTS = plain(
    "plain_results",
    Range("1:n"),
    "x(n) count(1):whole bins(8):int32 scattered(8):whole:scatter",
    "count bins",
    results="sum most:max",
)
LIFE = plain("plain_life", MDRange("1:n-1 1:m-1"), "now(n,m):int32 next(n,m):int32", "next", results="alive:whole")
TRIPLES = {
    layout: plain(
        f"plain_triples_{layout}", MDRange("I J K"), f"a(I,J,K){mark}", results="least:minloc", body="plain_triples"
    )
    for layout, mark in (("right", ""), ("left", ":left"))
}
FILTER = plain("plain_filter", Scan("n"), "x(n) kept(n):whole", "kept", results="count:whole")
TEAM = plain(
    "plain_team",
    League("E", team="auto 8", vector=4),
    "x(E,n) odd(E,n) half(E,n) found(E,4) at(E,n):int32",
    "odd half found at",
)
HISTOGRAMS = {
    body: plain(
        body,
        League("1", team="auto 8", scratch={"team 0": "own(4):int32"}),
        "bin(n):int32 bins(4):int32",
        "bins",
    )
    for body in ("plain_histogram", "plain_nested")
}
FUNCTIONS = plain("plain_functions", Range("n"), "x(n) odd(n) y(4,n) is(4,n):int32", "y is")
WHOLE = plain("plain_whole", Range("n"), "k(n):int32 half(n):whole", "k half", results="count:whole")

SIZES = [1, 7, 8, 1003]


@pytest.mark.parametrize("n", SIZES)
def test_if_and_else(be, n):
    x = np.random.default_rng(1).random(n)
    arrays = be.placed(x=x, y=np.zeros(n), z=np.zeros(n))
    IF.bind(arrays, be, quick=True)()
    assert_arrays(be, arrays, y=np.r_[7, x[:-1]], z=2 * x)


@pytest.mark.parametrize("n", SIZES)
def test_results_and_atomics(be, n):
    """Eighths: sums are exact in any order. Each index counts once, also in a last pack that is not whole."""
    x = np.random.default_rng(2).integers(0, 8, n) / 8
    arrays = be.placed(x=x, count=np.zeros(1, int), bins=np.zeros(8, np.int32), scattered=np.zeros(8, int))
    run = RESULTS.bind(arrays, be, quick=True)
    run()

    taken = x[1:]
    bins = np.bincount((8 * taken).astype(int), minlength=8)
    assert run.value("sum") == taken[taken > 0.5].sum() and run.value("most") == taken.max(initial=-np.inf)
    assert be.to_host(arrays["count"])[0] == n - 1
    assert_arrays(be, arrays, bins=bins, scattered=bins)


@pytest.mark.parametrize("check", [False, True])
def test_the_game_of_life(be, check):
    if check and be.style != "packs":
        pytest.skip("check=True is for a CPU")
    now = np.random.default_rng(3).integers(0, 2, (40, 51)).astype(np.int32)
    arrays = be.placed(now=now, next=np.zeros_like(now))
    run = LIFE.bind(arrays, be, check=check, quick=True)
    run()

    around = sum(np.roll(now, shift, (0, 1)) for shift in np.ndindex(3, 3) if shift != (1, 1))
    around = np.roll(around, (-1, -1), (0, 1))
    wanted = np.zeros_like(now)
    wanted[1:-1, 1:-1] = ((around == 3) | ((now == 1) & (around == 2)))[1:-1, 1:-1]
    assert_arrays(be, arrays, next=wanted)
    assert run.value("alive") == wanted.sum()


@pytest.mark.parametrize("layout", TRIPLES)
def test_the_place_of_the_least(be, layout):
    a = np.random.default_rng(4).random((9, 10, 21))
    arrays = be.placed(a=np.array(a, order="F" if layout == "left" else "C"))
    run = TRIPLES[layout].bind(arrays, be, quick=True)
    run()

    large = np.where(a > 0.25, a, np.inf)
    assert (run.value("least"), run.value("least_at")) == (large.min(), large.argmin())


@pytest.mark.parametrize("n", [1, 8, 1003, 30_001])
def test_a_filter(be, n):
    x = np.random.default_rng(5).random(n)
    arrays = be.placed(x=x, kept=np.full(n, -1))
    run = FILTER.bind(arrays, be, quick=True)
    run()

    kept = np.flatnonzero(x > 0.5)
    assert run.value("count") == len(kept)
    assert_arrays(be, arrays, kept=np.r_[kept, np.full(n - len(kept), -1)])


@pytest.mark.parametrize("n", [1, 8, 53])
def test_loops_of_a_team(be, n):
    x = np.random.default_rng(6).integers(0, 64, (5, n)) / 64
    arrays = be.placed(x=x, odd=np.zeros((5, n)), half=np.zeros((5, n)), found=np.zeros((5, 4)))
    arrays |= be.placed(at=np.full((5, n), -1, np.int32))
    TEAM.bind(arrays, be, quick=True)()

    large = x > 0.25
    at = np.full((5, n), -1)
    for e, row in enumerate(large):
        at[e, : row.sum()] = np.flatnonzero(row)
    found = np.stack([(x * large).sum(1), x.max(1), large.sum(1), large.sum(1)], 1)
    wanted = dict(odd=x * (np.arange(n) % 2), half=x / 2, found=found, at=at)
    for name, values in wanted.items():
        np.testing.assert_array_equal(be.to_host(arrays[name]), values, err_msg=name)


@pytest.mark.parametrize("body, times", [("plain_histogram", 1), ("plain_nested", 3)])
@pytest.mark.parametrize("n", SIZES)
def test_atomics_of_single_lanes(be, body, times, n):
    bin_ = np.random.default_rng(8).integers(0, 4, n).astype(np.int32)
    arrays = be.placed(bin=bin_, bins=np.zeros(4, np.int32))
    HISTOGRAMS[body].bind(arrays, be, quick=True)()
    assert_arrays(be, arrays, bins=times * np.bincount(bin_, minlength=4))


def test_functions(be):
    """Each has a few roundings of numbers below 10: 100 eps."""
    x = np.random.default_rng(7).uniform(0.1, 1, 43)
    odd = np.resize([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e300, -1e300, 5e-324], 43)
    arrays = be.placed(x=x, odd=odd, y=np.zeros((4, 43)), **{"is": np.full((4, 43), 7, np.int32)})
    FUNCTIONS.bind(arrays, be, quick=True)()

    wanted = [
        2 * x + 1 + x**-0.5,
        np.arcsinh(x) + np.arccosh(1 + x) + np.arctanh(x / 2),
        x - 0.3 * np.rint(x / 0.3) + np.maximum(x - 0.5, 0) + np.rint(9 * x) + np.floor(np.log2(x)),
        x / 0.25,
    ]
    np.testing.assert_allclose(be.to_host(arrays["y"]), wanted, rtol=0, atol=100 * EPS)
    signed = np.where(np.isnan(odd), be.to_host(arrays["is"])[3], np.signbit(odd))  # of NaN: either
    np.testing.assert_array_equal(be.to_host(arrays["is"]), [np.isnan(odd), np.isinf(odd), np.isfinite(odd), signed])


@pytest.mark.parametrize("n", SIZES)
def test_whole_numbers_stay_whole(be, n):
    """5 / 2 * 2 of numbers that a condition chooses is 4, on a CPU, too."""
    i = np.arange(n)
    changed = 4 * i % 7 // 2
    arrays = be.placed(k=i.astype(np.int32), half=np.zeros(n, int))
    run = WHOLE.bind(arrays, be, quick=True)
    run()

    assert_arrays(be, arrays, k=changed, half=np.where(i % 3 == 0, 4, 2) + np.where(i % 2 == 0, 1, changed))
    assert run.value("count") == (changed > 1).sum()


@pytest.mark.parametrize(
    "body, words",
    [
        ("plain_real_index", "plain_wrong.h, line 3.*an index is a real number"),
        ("plain_real_alone", "plain_wrong.h, line 4.*an index is a real number"),
        ("plain_chosen_index", "plain_wrong.h, line 6.*an index differs by a condition"),
        ("plain_more", "plain_wrong.h, line 8.: its body does not take what the declaration says: it takes an index"),
        ("plain_kokkos", "plain_kokkos.h, line 3.*docs/howto/kokkos.md has it with its name here"),
    ],
)
def test_bodies_that_are_refused(body, words):
    header = KOKKOS if body == "plain_kokkos" else WRONG
    with kernels.registry.temporary():
        wrong = team_kernel(body, Range("n"), header=header, arrays="x(n) h(n)", writes="h")
        with pytest.raises(CompileError, match=words):
            wrong.bind(dict(x=np.zeros(9), h=np.zeros(9)), "cpu")
