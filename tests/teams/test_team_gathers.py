"""Indices that a body reads from arrays: gathers, permutations, histograms, sparse matrices; exact against NumPy."""

import pathlib

import numpy as np
import pytest
from team_cases import assert_arrays, kernel

from kernels import BackendError, League, Range

HEADER = pathlib.Path(__file__).with_name("gathers.h")
GATHERED = {
    kind: kernel(
        f"gathered_{kind}",
        Range("n"),
        header=HEADER,
        body="gathered",
        arrays=f"k(n):{kind} x(n) A(n,n) once(n) across(n) moved(n) position(n):whole",
        writes="once across moved position",
        numbers="first",
    )
    for kind in ("whole", "int32")
}
TALLIED = kernel(
    "tallied",
    Range("n"),
    header=HEADER,
    arrays="k(n):whole w(n) count(bins):whole sums(bins):scatter",
    writes="count sums",
)
MATRIX = "rows(N+1):whole columns(entries):whole values(entries) x(M) y(N)"
SPARSE = kernel("sparse", League("N", team="auto 32"), header=HEADER, arrays=MATRIX, writes="y", results="total:whole")
SPARSE_ROWS = kernel(
    "sparse_rows",
    League("(N + share - 1) // share", team="auto 8", vector=4),
    header=HEADER,
    arrays=MATRIX,
    writes="y",
    numbers="share",
)


def permuted(n, kind, first=0):
    """Arrays of GATHERED: whole numbers, so that sums are exact."""
    rng = np.random.default_rng(n)
    k = (rng.permutation(n) + first).astype(np.int32 if kind == "int32" else np.int64)
    x, A = rng.integers(0, 99, n).astype(float), rng.integers(0, 99, (n, n)).astype(float)
    real = {name: np.full(n, np.nan) for name in ("once", "across", "moved")}
    return dict(k=k, x=x, A=A, position=np.full(n, -1), **real)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 61])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("kind", GATHERED)
@pytest.mark.quick(n=[0, 61], first=1)
def test_gathers_by_a_permutation(be, kind, first, n):
    """Lanes beyond the last one read nothing: with indices from 1 they would be at -1."""
    given = permuted(n, kind, first)
    arrays = be.placed(**given)
    GATHERED[kind].bind(arrays, be, quick=True, first=first)()

    got, k, i = {name: be.to_host(a) for name, a in arrays.items()}, given["k"] - first, np.arange(n)
    np.testing.assert_array_equal(got["once"], given["x"][k] + 2 * given["x"][n - 1 - k])
    np.testing.assert_array_equal(got["across"], given["A"][k, i] + given["A"][i, k])
    np.testing.assert_array_equal(got["moved"][k], given["x"])
    np.testing.assert_array_equal(got["position"], k + i)


@pytest.mark.parametrize("n", [1, 1003])
def test_an_index_that_stands_there_twice(be, n):
    rng = np.random.default_rng(n)
    k, w = rng.integers(0, 3, n), rng.integers(1, 9, n).astype(float)
    arrays = be.placed(k=k, w=w, count=np.zeros(3, np.int64), sums=np.zeros(3))
    TALLIED.bind(arrays, be, quick=True)()

    assert_arrays(be, arrays, count=3 * np.bincount(k, minlength=3), sums=np.bincount(k, w, 3))


@pytest.mark.parametrize("N", [1, 90])
def test_sparse_matrices(be, N):
    """Rows of 0 to 29 entries, of whole numbers: exact."""
    rng = np.random.default_rng(N)
    rows = np.concatenate([[0], np.cumsum(rng.integers(0, 30, N))])
    columns, values = rng.integers(0, 50, rows[-1]), rng.integers(-9, 9, rows[-1]).astype(float)
    x = rng.integers(0, 9, 50).astype(float)
    dense = np.zeros((N, 50))
    np.add.at(dense, (np.repeat(np.arange(N), np.diff(rows)), columns), values)

    for k, more in ((SPARSE, {}), (SPARSE_ROWS, {"share": 4})):
        arrays = be.placed(rows=rows, columns=columns, values=values, x=x, y=np.full(N, np.nan))
        run = k.bind(arrays, be, quick=True, **more)
        run()
        assert_arrays(be, arrays, y=dense @ x)

    assert SPARSE.run(arrays, be, quick=True) == {"total": rows[-1]}


def test_an_index_from_an_array_that_is_beyond_another():
    """13, or 13 from the end: a compiler may take either first."""
    given = permuted(13, "whole")
    given["k"][12] = 13
    with pytest.raises(BackendError, match=r"gathers.h:\d+: index (13|-1) of 'x' is beyond its extent, 13 in dim"):
        GATHERED["whole"].run(given, "cpu", check=True, quick=True, first=0)

    given["k"] = np.arange(13)
    GATHERED["whole"].run(given, "cpu", check=True, quick=True, first=0)
