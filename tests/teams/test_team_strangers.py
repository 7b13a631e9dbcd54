"""Bodies of users whom nobody here knows: solvers, sorts, lists, grids and particles; against NumPy."""

import numpy as np
import pytest
from team_cases import EPS, HEADER, assert_arrays, kernel

from kernels import League, Range, Scan


def written(name, over, **more):
    return kernel(name, over, header=HEADER.with_name("strangers.h"), **more)


# Members of a team and lanes of a member
SHAPES = [(1, 1), (7, 4), (1024, 1)]


def in_shapes(name, teams, scratch=None, **more):
    return {
        shape: written(f"{name}_{shape[0]}x{shape[1]}", League(teams, *shape, scratch=scratch), body=name, **more)
        for shape in SHAPES
    }


TABLE = in_shapes("row_of_table", "n", arrays="row(n+1):int32 column(z):int32 table(z,3) x(n) y(n)", writes="y")
TRIDIAGONAL = in_shapes(
    "tridiagonal", "E", {"team 0": "s(2,4,n)"}, arrays="a(E,n) b(E,n) c(E,n) d(E,n) x(E,n)", writes="x"
)
RANKED = in_shapes(
    "ranked", "E", {"team 0": "key(n):int32 place(n):int32"}, arrays="k(E,n):int32 order(E,n):whole", writes="order"
)
HALO = in_shapes(
    "halo",
    "((I + T - 1) // T) * ((J + T - 1) // T)",
    {"team 0": "s(T+2,T+2)"},
    arrays="u(I,J) v(I,J)",
    writes="v",
    numbers="T",
)
MOMENTS = in_shapes("moments", "E", arrays="x(E,n,k) variance(E)", writes="variance", results="all(3):Moments")
KEPT = in_shapes(
    "kept_by_team", "(n + share - 1) // share", arrays="x(n) kept(L):whole", writes="kept", numbers="share"
)
PUT = in_shapes("put_by_team", "L", arrays="x(n) offset(L):whole out(n)", writes="out", numbers="share")
OFFSETS = written("offsets", Scan("L"), arrays="kept(L):whole offset(L):whole", writes="offset", results="total:whole")
BY_ID = written(
    "counted_by_id", Range("n"), arrays="bin(n):int32 copy(size,bins):whole", writes="copy", tokens={"pool": "size"}
)
CLOUD = written("cloud", Range("n"), arrays="x(n) y(n) charge(I,J):scatter distance(n)", writes="distance")
PUSHED = written("pushed", Range("n"), arrays="bucket(n):int32 head(B):int32 next(n):int32", writes="head next")
FAR = written(
    "far_indices",
    Range("first:first+n"),
    arrays="hit(n):whole",
    writes="hit",
    numbers="first",
    results="sum:whole most:max:whole",
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.quick(shape=[(7, 4)])
@pytest.mark.parametrize("n", [0, 1, 60])
def test_a_row_of_a_table(be, shape, n):
    rng = np.random.default_rng(n)
    row = np.concatenate([[0], np.cumsum(rng.integers(0, 40, n))]).astype(np.int32)
    column = rng.integers(0, max(n, 1), row[-1]).astype(np.int32)
    table, x = rng.integers(-9, 9, (row[-1], 3)) * 1.0, rng.integers(-9, 9, n) * 1.0
    arrays = be.placed(row=row, column=column, table=table, x=x, y=np.full(n, np.nan))
    TABLE[shape].run(arrays, be, quick=True)

    wanted = np.zeros(n)
    np.add.at(wanted, np.repeat(np.arange(n), np.diff(row)), table[:, 1] * x[column])
    assert_arrays(be, arrays, y=wanted)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.quick(shape=[(7, 4)])
@pytest.mark.parametrize("E, n", [(0, 5), (3, 1), (5, 37)])
def test_tridiagonal_systems(be, shape, E, n):
    rng = np.random.default_rng(n)
    a, c, d = rng.random((3, E, n)) - 0.5
    b = 2 + rng.random((E, n))
    a[:, 0] = c[:, -1] = 0
    arrays = be.placed(a=a, b=b, c=c, d=d, x=np.full((E, n), np.nan))
    TRIDIAGONAL[shape].run(arrays, be, quick=True)

    x = be.to_host(arrays["x"])
    low, high = np.pad(x, ((0, 0), (1, 0)))[:, :-1], np.pad(x, ((0, 0), (0, 1)))[:, 1:]
    # Diagonally dominant: each of log2(n) steps adds a few eps of its terms, and errors do not grow
    terms = abs(a * low) + abs(b * x) + abs(c * high) + abs(d)
    assert (
        abs(a * low + b * x + c * high - d) <= 8 * np.log2(2 * n) * EPS * terms.max(1, initial=0, keepdims=True)
    ).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.quick(shape=[(7, 4)])
@pytest.mark.parametrize("E, n", [(0, 3), (2, 1), (3, 50)])
def test_places_of_sorted_keys(be, shape, E, n):
    k = np.random.default_rng(n).integers(-5, 5, (E, n)).astype(np.int32)
    arrays = be.placed(k=k, order=np.full((E, n), -1))
    RANKED[shape].run(arrays, be, quick=True)
    assert_arrays(be, arrays, order=np.argsort(k, 1, kind="stable"))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.quick(shape=[(7, 4)])
@pytest.mark.parametrize("size", [(0, 4), (1, 1), (13, 29)])
def test_five_points_with_a_halo_in_scratch(be, shape, size):
    u = np.random.default_rng(1).integers(-9, 9, size) * 1.0
    arrays = be.placed(u=u, v=np.full(size, np.nan))
    HALO[shape].run(arrays, be, T=8, quick=True)

    p = np.pad(u, 1, mode="edge") if u.size else np.zeros((2, size[1] + 2))
    wanted = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * p[1:-1, 1:-1]
    assert_arrays(be, arrays, v=wanted)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.quick(shape=[(7, 4)])
@pytest.mark.parametrize("E, n, k", [(0, 2, 2), (2, 0, 3), (1, 1, 1), (3, 13, 37)])
def test_moments_at_three_levels(be, shape, E, n, k):
    x = 1e3 + np.random.default_rng(n).random((E, n, k))
    arrays = be.placed(x=x, variance=np.full(E, np.nan))
    found = MOMENTS[shape].run(arrays, be, quick=True)["all"]

    # Chan, Golub, LeVeque 1983: n eps of the condition number sqrt(1 + mean^2 / variance), here about 4e3
    within = 4e3 * (1 + x.size) * EPS
    wanted = x.reshape(E, n * k).var(1) if x.size else np.zeros(E)
    np.testing.assert_allclose(be.to_host(arrays["variance"]), wanted, rtol=within, atol=0)
    assert found[0] == x.size
    if x.size:
        np.testing.assert_allclose(found[1:], [x.mean(), x.var() * x.size], rtol=within)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.quick(shape=[(7, 4)])
@pytest.mark.parametrize("n", [0, 1, 333])
def test_compaction_across_a_league(be, shape, n):
    x = np.random.default_rng(n).random(n)
    L = -(-n // 50)
    arrays = be.placed(x=x, kept=np.full(L, -1), offset=np.full(L, -1), out=np.full(n, np.nan))

    def of(*names):
        return {name: arrays[name] for name in names}

    KEPT[shape].run(of("x", "kept"), be, share=50, quick=True)
    total = OFFSETS.run(of("kept", "offset"), be, quick=True)["total"]
    PUT[shape].run(of("x", "offset", "out"), be, share=50, quick=True)

    wanted = x[x > 0.5]
    assert total == wanted.size
    np.testing.assert_array_equal(be.to_host(arrays["out"])[:total], wanted)
    assert np.isnan(be.to_host(arrays["out"])[total:]).all()


@pytest.mark.parametrize("n", [0, 1, 5000])
def test_a_histogram_in_copies_of_ids(be, n):
    bins = np.random.default_rng(n).integers(0, 9, n).astype(np.int32)
    arrays = be.placed(bin=bins, copy=np.zeros((64, 9), np.int64))
    BY_ID.run(arrays, be, quick=True)
    np.testing.assert_array_equal(be.to_host(arrays["copy"]).sum(0), np.bincount(bins, minlength=9))


@pytest.mark.parametrize("n", [0, 1, 1009])
def test_a_cloud_of_charges(be, n):
    rng = np.random.default_rng(n)
    x, y = rng.integers(0, 28, n) / 4, rng.integers(0, 20, n) / 4  # sums are exact
    arrays = be.placed(x=x, y=y, charge=np.zeros((9, 7)), distance=np.full(n, np.nan))
    CLOUD.run(arrays, be, quick=True)

    i, j, wanted = x.astype(int), y.astype(int), np.zeros((9, 7))
    for di in (0, 1):
        for dj in (0, 1):
            np.add.at(wanted, (i + di, j + dj), abs(1 - di - (x - i)) * abs(1 - dj - (y - j)))
    assert_arrays(be, arrays, charge=wanted)
    np.testing.assert_allclose(be.to_host(arrays["distance"]), np.hypot(x, y), rtol=3 * EPS)


@pytest.mark.parametrize("n", [0, 1, 3000])
def test_lists_by_compare_and_exchange(be, n):
    bucket = np.random.default_rng(n).integers(0, 11, n).astype(np.int32)
    arrays = be.placed(bucket=bucket, head=np.full(11, -1, np.int32), next=np.full(n, -7, np.int32))
    PUSHED.run(arrays, be, quick=True)

    head, behind = be.to_host(arrays["head"]), be.to_host(arrays["next"])

    for b in range(11):
        members, k = [], head[b]
        while k >= 0:
            members.append(k)
            k = behind[k]
        assert sorted(members) == list(np.flatnonzero(bucket == b))


@pytest.mark.parametrize("first", [2**31 - 5, 2**33 + 1, -(2**33)])
def test_indices_beyond_32_bits(be, first):
    n = 101
    i = first + np.arange(n)
    arrays = be.placed(hit=np.full(n, -1))
    found = FAR.run(arrays, be, first=first, quick=True)

    assert found == {"sum": np.fmod(i, 1000003).sum(), "most": i[-1]}
    assert_arrays(be, arrays, hit=np.sign(i) * (abs(i) // 3) - np.sign(first) * (abs(first) // 3))
