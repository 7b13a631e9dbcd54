"""Arrays marked :stream, to which a body only assigns: every element is there, wherever the array begins."""

import pathlib

import numpy as np
import pytest
from team_cases import assert_arrays, kernel

import kernels
from kernels import ArgumentError, League, MDRange, Range, Scan, team_kernel
from kernels.engine.errors import CompileError

HEADER = pathlib.Path(__file__).with_name("streamed.h")
WRONG = HEADER.with_name("streamed_wrong.h")


def streamed(name, over, arrays, **more):
    return kernel(name, over, header=HEADER, arrays=arrays, **more)


TRIAD = streamed(
    "streamed_triad",
    Range("first:n"),
    "a(n):stream b(n) c(n) k(n):int32:stream from(n):int32",
    writes="a k",
    numbers="s:real first",
)
PAIRS = {
    mark: streamed(
        f"streamed_{mark.replace(':', '_')}",
        MDRange("I J"),
        f"a(I,J):{mark} b(I,J)",
        writes="a",
        body="streamed_pairs",
    )
    for mark in ("stream", "left:stream")
}
ROWS = streamed("streamed_rows", League("N", team="auto 32"), "a(N,M):stream first(N):stream b(N,M)", writes="a first")
SUMS = streamed("streamed_sums", Scan("n"), "a(n):stream b(n)", writes="a", results="total")


def whole(rng, *shape):
    return rng.integers(-99, 99, shape).astype(float)


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("n, first, place", [(3, 0, 0), (5000, 0, 0), (5003, 3, 1), (4999, 1, 2), (4100, 8, 4)])
def test_a_triad(be, n, first, place, check):
    """Arrays that begin at a line of memory, and up to a number of places behind it."""
    if check and be.style != "packs":
        pytest.skip("check=True is for a CPU")
    rng = np.random.default_rng(3)
    b, c = whole(rng, n), whole(rng, n)
    arrays = be.placed(b=b, c=c, **{"from": np.arange(n, dtype=np.int32)})
    arrays |= {"a": be.empty(n + 8)[place : place + n], "k": be.empty(n, np.int32)}
    arrays["a"][...], arrays["k"][...] = -1.0, -1
    TRIAD.bind(arrays, be, s=3.0, first=first, check=check, quick=True)()

    there = np.arange(n) >= first
    assert_arrays(be, arrays, a=np.where(there, b + 3 * c, -1), k=np.where(there, np.arange(n), -1))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mark", PAIRS)
@pytest.mark.parametrize("shape", [(1, 1), (70, 130), (13, 777)])
def test_pairs(be, shape, mark, dtype):
    b = whole(np.random.default_rng(4), *shape).astype(dtype)
    order = "F" if "left" in mark else "C"
    arrays = be.placed(a=np.full(shape, np.nan, dtype, order=order), b=b)
    PAIRS[mark].bind(arrays, be, quick=True)()

    i, j = np.ogrid[: shape[0], : shape[1]]
    np.testing.assert_array_equal(np.array(be.to_host(arrays["a"].T)).T, b + i - j)


def test_rows_of_teams(be):
    b = whole(np.random.default_rng(5), 9, 77)
    arrays = be.placed(a=np.full((9, 77), np.nan), first=np.full(9, np.nan), b=b)
    ROWS.bind(arrays, be, quick=True)()
    assert_arrays(be, arrays, a=b, first=b[:, 0])


def test_sums_before(be):
    b = whole(np.random.default_rng(6), 20_001)
    arrays = be.placed(a=np.full(b.size, np.nan), b=b)
    run = SUMS.bind(arrays, be, quick=True)
    run()

    assert_arrays(be, arrays, a=np.cumsum(b) - b)
    assert run.value("total") == b.sum()


@pytest.mark.parametrize("body, line", [("streamed_read", 3), ("streamed_added", 5)])
def test_a_body_that_reads_is_refused(body, line):
    with kernels.registry.temporary():
        wrong = team_kernel(body, Range("n"), header=WRONG, arrays="a(n):stream b(n)", writes="a")
        with pytest.raises(CompileError, match=rf"streamed_wrong.h, line {line}\).*only assigned, .* it is read here"):
            wrong.bind(dict(a=np.zeros(9), b=np.zeros(9)), "cpu")


@pytest.mark.parametrize(
    "more, words",
    [
        (dict(arrays="a(n):stream"), "'a'. are marked stream, and are not among the arrays that it writes"),
        (dict(arrays="a(n):stream:scatter"), "'a' is marked scatter and stream: a body that adds"),
        (dict(over=League("1", scratch={"team 0": "b(4):stream"})), "scratch .'b'. is marked left, scatter or stream"),
    ],
)
def test_declarations_that_are_refused(more, words):
    with pytest.raises(ArgumentError, match=words):
        team_kernel("refused", **{"header": HEADER, "over": Range("n"), **more})
