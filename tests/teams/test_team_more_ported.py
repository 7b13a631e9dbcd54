"""More loops and teams that a user of Kokkos ports, by the pages alone; against NumPy."""

import itertools

import numpy as np
import pytest
from team_cases import EPS, HEADER, assert_arrays, kernel

from kernels import League, MDRange, Range, Scan, Sizes

SIZES = [0, 1, 9, 1003]


def ported(name, over, arrays="", writes="", **more):
    return kernel(name, over, header=HEADER.with_name("more_ported.h"), arrays=arrays, writes=writes, **more)


def of_teams(name, over, arrays="", writes="", **more):
    return kernel(name, over, header=HEADER.with_name("more_ported_teams.h"), arrays=arrays, writes=writes, **more)


# ---- sweeps
COLOURS = {
    mark: ported(
        f"of_a_colour{mark.replace(':', '_')}",
        MDRange("1:I-1 1:J-1"),
        f"u(I,J){mark} f(I,J){mark}",
        "u",
        body="of_a_colour",
        numbers="colour",
        results="change:max",
    )
    for mark in ("", ":left")
}
FOUR = {
    mark: ported(
        f"sweep_of_four{mark.replace(':', '_')}",
        MDRange("1:I-1 1:J-1 1:K-1 1:L-1"),
        f"u(I,J,K,L) v(I,J,K,L){mark}",
        "v",
        body="sweep_of_four",
    )
    for mark in ("", ":left")
}
FIVE = ported(
    "sweep_of_five", MDRange("1:A-1 1:B-1 1:C-1 1:D-1 1:E-1"), "u(A,B,C,D,E) v(A,B,C,D,E)", "v", results="sum"
)


def neighbours(u):
    """The sum of both neighbours along each axis, of the inner points."""
    inner = (slice(1, -1),) * u.ndim
    return sum(np.roll(u, step, axis) for axis in range(u.ndim) for step in (1, -1))[inner]


@pytest.mark.parametrize("mark", COLOURS)
@pytest.mark.parametrize("shape", [(2, 9), (3, 3), (20, 37)])
def test_points_of_one_colour(be, mark, shape):
    """Quarters of whole numbers: exact."""
    rng = np.random.default_rng(3)
    u, f = (np.array(rng.integers(-8, 8, shape) * 4.0, order="F" if mark else "C") for _ in range(2))
    arrays = be.placed(u=u.copy(order="K"), f=f)
    i, j = np.indices(shape)
    inner = (i > 0) & (i < shape[0] - 1) & (j > 0) & (j < shape[1] - 1)

    for colour in (0, 1):
        found = COLOURS[mark].run(arrays, be, colour=colour, quick=True)

        new, own = u.copy(), inner & ((i + j) % 2 == colour)
        new[own] = (0.25 * (sum(np.roll(u, step, axis) for axis in (0, 1) for step in (1, -1)) + f))[own]
        assert found == {"change": abs(new - u)[own].max(initial=-np.inf)}
        u = new
        np.testing.assert_array_equal(be.to_host(arrays["u"].T).T, u)


@pytest.mark.parametrize("mark", FOUR)
@pytest.mark.parametrize("shape", [(3, 3, 3, 3), (4, 3, 5, 29)])
def test_a_sweep_of_four_indices(be, mark, shape):
    u = np.random.default_rng(4).integers(-9, 9, shape) * 8.0
    arrays = be.placed(u=u, v=np.array(u, order="F" if mark else "C"))
    FOUR[mark].run(arrays, be, quick=True)

    wanted = u.copy()
    wanted[1:-1, 1:-1, 1:-1, 1:-1] = 0.125 * neighbours(u)
    np.testing.assert_array_equal(be.to_host(arrays["v"].T).T, wanted)


@pytest.mark.parametrize("shape", [(3, 4, 3, 3, 11), (2, 3, 3, 3, 3)])
def test_a_sweep_of_five_indices(be, shape):
    u = np.random.default_rng(5).integers(-9, 9, shape) * 1.0
    arrays = be.placed(u=u, v=u.copy())
    found = FIVE.run(arrays, be, quick=True)

    wanted = u.copy()
    wanted[(slice(1, -1),) * 5] = neighbours(u)
    assert_arrays(be, arrays, v=wanted)
    assert found == {"sum": neighbours(u).sum()}


# ---- reducers
DOT = ported("scalar_product", Range("n"), "z(n,2) w(n,2)", results="dot(2):ComplexSum")
TIES = {
    kind: ported(
        f"with_ties{kind.replace(':', '_')}",
        Range("n"),
        f"k(n){kind}",
        body="with_ties",
        results="least:minloc last:minloc both:minmaxloc",
    )
    for kind in (":int32", ":whole", "")
}


@pytest.mark.parametrize("n", SIZES)
def test_a_scalar_product_of_complex_numbers(be, n):
    rng = np.random.default_rng(n)
    z, w = (rng.integers(-9, 9, (n, 2)) * 1.0 for _ in range(2))
    run = DOT.bind(be.placed(z=z, w=w), be, quick=True)
    run()

    wanted = np.vdot(z.view(complex), w.view(complex)) if n else 0
    assert list(run.value("dot")) == [wanted.real, wanted.imag]


@pytest.mark.parametrize("kind", TIES)
@pytest.mark.parametrize("n", SIZES[1:])
def test_the_first_of_equal_numbers(be, kind, n):
    k = np.random.default_rng(n).integers(-3, 3, n)
    dtype = {":int32": np.int32, ":whole": np.int64, "": float}[kind]
    run = TIES[kind].bind(be.placed(k=k.astype(dtype)), be, quick=True)
    run()

    assert (run.value("least"), run.value("least_at")) == (k.min(), k.argmin())
    assert run.value("last_at") == k[::-1].argmin()
    assert list(run.value("both")) == [k.min(), k.max()]
    assert list(run.value("both_at")) == [k.argmin(), k.argmax()]


# ---- two passes with a scan between them; a hash table
COUNTED = ported("counted_cells", Range("cells"), "x(cells+2) count(cells):int32", "count", numbers="level:real")
BEGINS = ported(
    "begins_of_cells", Scan("cells"), "count(cells):int32 begin(cells):whole", "begin", results="total:whole"
)
FILLED = ported(
    "filled_cells",
    Range("cells"),
    "x(cells+2) begin(cells):whole cell(many):int32 corner(many):int32",
    "cell corner",
    numbers="level:real",
)
INSERTED = ported(
    "inserted", Range("n"), "key(n):int32 table(slots):int32 count(slots):int32", "table count", results="fresh:whole"
)


@pytest.mark.parametrize("cells", SIZES)
def test_counts_then_places(be, cells):
    x, level = np.random.default_rng(cells).random(cells + 2), 0.5
    arrays = be.placed(x=x, count=np.zeros(cells, np.int32), begin=np.full(cells, -1))
    COUNTED.run({name: arrays[name] for name in ("x", "count")}, be, level=level, quick=True)
    many = int(BEGINS.run({name: arrays[name] for name in ("count", "begin")}, be, quick=True)["total"])

    above = np.array([x[k : cells + k] > level for k in range(3)]).reshape(3, cells)
    wanted = np.argwhere(above.T & ~above.all(0)[:, None])
    assert many == len(wanted)
    arrays |= be.placed(cell=np.full(many, -1, np.int32), corner=np.full(many, -1, np.int32))
    FILLED.run({name: arrays[name] for name in ("x", "begin", "cell", "corner")}, be, level=level, quick=True)
    assert_arrays(be, arrays, cell=wanted[:, 0], corner=wanted[:, 1])


@pytest.mark.parametrize("n", SIZES)
def test_keys_of_a_hash_table(be, n):
    key = np.random.default_rng(n).integers(0, 200, n).astype(np.int32)
    slots = 211
    arrays = be.placed(key=key, table=np.full(slots, -1, np.int32), count=np.zeros(slots, np.int32))
    found = INSERTED.run(arrays, be, quick=True)

    keys, counts = np.unique(key, return_counts=True)
    assert found == {"fresh": keys.size}
    table, count = be.to_host(arrays["table"]), be.to_host(arrays["count"])
    assert dict(zip(table[table >= 0].tolist(), count[table >= 0].tolist())) == dict(
        zip(keys.tolist(), counts.tolist())
    )


# ---- orders of indices
REVERSED = ported("reversed", Range("n"), "x(n) y(n) z(n) k(n):int32 past(n):stream", "y z k past")
THREES = ported("by_threes", Range("n // 3"), "x(n) y(n) k(n):whole", "y k")


@pytest.mark.parametrize("n", SIZES)
def test_from_the_other_end(be, n):
    x = np.random.default_rng(n).random(n)
    arrays = be.placed(
        x=x, y=np.full(n, np.nan), z=np.full(n, np.nan), k=np.zeros(n, np.int32), past=np.full(n, np.nan)
    )
    REVERSED.run(arrays, be, quick=True)

    wanted = dict(y=x[::-1], z=x[::-1] - 2.0 * np.arange(n), k=np.arange(n)[::-1], past=x[::-1])
    for name, values in wanted.items():
        np.testing.assert_array_equal(be.to_host(arrays[name]), values, err_msg=name)


@pytest.mark.parametrize("n", [3, 27, 300])
def test_every_third(be, n):
    x = np.random.default_rng(n).integers(-9, 9, n) * 1.0
    arrays = be.placed(x=x, y=np.zeros(n), k=np.full(n, -1))
    THREES.run(arrays, be, quick=True)

    y, k = np.zeros(n), np.full(n, -1)
    y[1::3] = x[0::3] + x[2::3]
    k[::-1][0::3] = np.arange(0, n, 3)
    assert_arrays(be, arrays, y=y, k=k)


# ---- whole numbers without a sign; flags; weights; parts; functions
XOR = ported("shifted_by_xor", Range("n"), "seed(n):whole inside(n):int32", "seed inside", results="hits:whole")
MIXED = ported("mixed_in_packs", Range("n"), "seed(n):whole inside(n):int32", "seed inside")
FLAGGED = ported(
    "flagged",
    Range("n"),
    "x(n) flag(n):logical changed(n):logical",
    "flag changed",
    numbers="bound:real",
    results="count:whole any:any",
)
WEIGHED = ported(
    "weighed", Range("n"), "k(n):int32 x(n) sum(bins):scatter squares(bins):scatter count(bins):whole:scatter"
)
ROWS = ported("rows_of_left", Range("N"), "A(N,M):left B(M,N,2):left x(M) y(N) z(N)", "y z")
FUNCTIONS = ported("by_own_functions", Range("n"), "x(n) y(n)", "y")


@pytest.mark.parametrize("n", SIZES)
def test_random_numbers_by_xor(be, n):
    seed = np.random.default_rng(n).integers(1, 2**63 - 1, n)
    arrays = be.placed(seed=seed.copy(), inside=np.zeros(n, np.int32))
    found = XOR.run(arrays, be, quick=True)

    x, inside = seed.astype(np.uint64), np.zeros(n, int)

    for _ in range(10):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        inside += (x >> np.uint64(11)) * 2.0**-53 < 0.25

    np.testing.assert_array_equal(be.to_host(arrays["seed"]).view(np.uint64), x)
    assert_arrays(be, arrays, inside=inside)
    assert found == {"hits": inside.sum()}


@pytest.mark.parametrize("n", SIZES)
def test_random_numbers_in_packs(be, n):
    seed = np.random.default_rng(n).integers(-(2**63), 2**63 - 1, n)
    arrays = be.placed(seed=seed.copy(), inside=np.zeros(n, np.int32))
    MIXED.run(arrays, be, quick=True)

    x = seed.view(np.uint64)
    b = (x ^ (x << np.uint64(13))) * np.uint64(0x2545F4914F6CDD1D)
    np.testing.assert_array_equal(be.to_host(arrays["seed"]).view(np.uint64), b ^ (b >> np.uint64(32)))
    assert_arrays(be, arrays, inside=(b >> np.uint64(60)) % np.uint64(10))


@pytest.mark.parametrize("n", SIZES)
def test_flags_that_change(be, n):
    rng = np.random.default_rng(n)
    x, flag = rng.random(n), rng.integers(0, 2, n).astype(np.int32)
    arrays = be.placed(x=x, flag=flag.copy(), changed=np.full(n, -7, np.int32))
    found = FLAGGED.run(arrays, be, bound=0.5, quick=True)

    new = x > 0.5
    assert_arrays(be, arrays, flag=new, changed=new != flag)
    assert found == {"count": (new != flag).sum(), "any": int((new & (flag == 0)).any())}


@pytest.mark.parametrize("n", SIZES)
def test_weights_in_bins(be, n):
    rng, bins = np.random.default_rng(n), 5
    k, x = rng.integers(0, 50, n).astype(np.int32), rng.integers(-9, 9, n) / 2
    arrays = be.placed(k=k, x=x, sum=np.zeros(bins), squares=np.ones(bins), count=np.zeros(bins, np.int64))
    WEIGHED.run(arrays, be, quick=True)

    sums = np.bincount(k % bins, x, bins)
    sums[0] -= 0.5 * n
    assert_arrays(
        be,
        arrays,
        sum=sums,
        squares=1 + np.bincount(k % bins, x * x, bins),
        count=np.bincount(k % bins, minlength=bins),
    )


@pytest.mark.parametrize("shape", [(1, 3), (20, 7), (7, 20)])
def test_rows_of_arrays_in_fortran_order(be, shape):
    N, M = shape
    rng = np.random.default_rng(N)
    A = np.asfortranarray(rng.integers(-9, 9, shape) * 1.0)
    B = np.asfortranarray(rng.integers(-9, 9, (M, N, 2)) * 1.0)
    x = rng.integers(-9, 9, M) * 1.0
    arrays = be.placed(A=A, B=B, x=x, y=np.zeros(N), z=np.zeros(N))
    ROWS.run(arrays, be, quick=True)

    assert_arrays(be, arrays, y=A @ x + (A[:, 1:-1] ** 2).sum(1))
    last = A[-1, np.arange(N) % M]
    assert_arrays(be, arrays, z=last + (B[:, :, 0] * B[:, :, 1]).sum(0))


@pytest.mark.parametrize("n", SIZES)
def test_functions_that_keep_views(be, n):
    x = np.random.default_rng(n).integers(-9, 9, n) * 1.0
    arrays = be.placed(x=x, y=np.full(n, np.nan))
    FUNCTIONS.run(arrays, be, quick=True)
    assert_arrays(be, arrays, y=1.5 * (x + x[::-1]))


# ---- teams
LU = {
    level: of_teams(
        name, League("E", team="auto 8", vector=4, scratch={f"team {level}": "a(n,n)"}), "A(E,n,n) LU(E,n,n)", "LU"
    )
    for level, name in enumerate(("factored", "factored_far"))
}
PAIRS = of_teams(
    "sorted_pairs",
    League("E", team="auto 8", vector=2, scratch={"team 0": "key(n):int32 value(n)"}),
    "k(E,n):int32 x(E,n)",
    "k x",
)
DIGITS = of_teams(
    "by_digits",
    League("E", team="auto 32", scratch={"team 0": "begin(4):whole"}),
    "k(E,n):int32 sorted(E,n):int32",
    "sorted",
    numbers="shift",
)
ATTRACTED = of_teams(
    "attracted",
    League("(n + team - 1) // team", team=64, vector=2, scratch={"team 0": "tile(team,3)"}),
    "x(n,2) mass(n) f(n,2)",
    "f",
    results="energy",
)
LEVELS = of_teams(
    "three_levels",
    League("E", team="auto 4", vector=8),
    "v(E,J,K) rows(E,J) found(E,4)",
    "rows found",
    results="total most:max where:maxloc",
)
PRODUCT = of_teams(
    "multiplied",
    League(
        "((I + T - 1) // T) * ((J + T - 1) // T)",
        team="auto 4",
        vector=8,
        scratch={"team 0": "a(T,T) b(T,T)", "team 1": "c(T,T)"},
    ),
    "A(I,K) B(K,J) C(I,J)",
    "C",
    numbers="T",
)
SMOOTHED = of_teams(
    "smoothed", League("rows", team="auto 32", scratch={"team 0": "s(n+4)"}), "u(rows,n) v(rows,n)", "v"
)
BRANCHED = of_teams("branched", League("E", team="auto 8", vector=2, scratch={"team 0": "s(n)"}), "x(E,n) y(E,n)", "y")
BY_TEAMS = of_teams(
    "weighed_by_teams",
    League("(n + share - 1) // share", team="auto 64", scratch={"team 0": "own(bins)"}),
    "k(n):int32 x(n) sum(bins):scatter",
    numbers="share",
)
TEAMS = [Sizes(), Sizes(1, 1), Sizes(3, 8), Sizes(13, 2), Sizes(2, 32)]
of_sizes = pytest.mark.parametrize("sizes", TEAMS, ids=["declared", "1x1", "3x8", "13x2", "2x32"])
of_sizes_quick = pytest.mark.quick(sizes=TEAMS[:1] + TEAMS[3:4])


@of_sizes
@of_sizes_quick
@pytest.mark.parametrize("level", LU)
def test_factors_without_pivots(be, sizes, level):
    """Diagonally dominant: A = L U within n eps |L| |U| (Higham 2002, theorem 9.3)."""
    for n in (1, 2, 9):
        A = np.random.default_rng(n).random((3, n, n)) + n * np.eye(n)
        arrays = be.placed(A=A, LU=np.full_like(A, np.nan))
        LU[level].run(arrays, be, sizes, quick=True)

        found = be.to_host(arrays["LU"])
        low, up = np.tril(found, -1) + np.eye(n), np.triu(found)
        assert (abs(low @ up - A) <= 2 * n * EPS * (abs(low) @ abs(up))).all()


@of_sizes
@of_sizes_quick
def test_a_sort_of_pairs(be, sizes):
    for n in (1, 2, 30):
        rng = np.random.default_rng(n)
        k, x = rng.integers(-5, 5, (3, n)).astype(np.int32), rng.random((3, n))
        arrays = be.placed(k=k.copy(), x=x.copy())
        PAIRS.run(arrays, be, sizes, quick=True)

        order = np.argsort(k, 1, kind="stable")
        assert_arrays(be, arrays, k=np.take_along_axis(k, order, 1), x=np.take_along_axis(x, order, 1))


@of_sizes
@of_sizes_quick
def test_a_pass_of_a_radix_sort(be, sizes):
    for n, shift in itertools.product((0, 1, 77), (0, 3)):
        k = np.random.default_rng(n).integers(0, 100, (3, n)).astype(np.int32)
        arrays = be.placed(k=k, sorted=np.full_like(k, -1))
        DIGITS.run(arrays, be, sizes, shift=shift, quick=True)

        order = np.argsort(k >> shift & 3, 1, kind="stable")
        assert_arrays(be, arrays, sorted=np.take_along_axis(k, order, 1))


@of_sizes
@of_sizes_quick
@pytest.mark.parametrize("n", [0, 1, 100])
def test_all_attract_all(be, sizes, n):
    """Whole numbers, exact in any order. A member keeps what it sums from tile to tile, so that sizes are declared."""
    rng = np.random.default_rng(n)
    x, mass = rng.integers(-9, 9, (n, 2)) * 1.0, rng.integers(1, 9, n) * 1.0
    arrays = be.placed(x=x, mass=mass, f=np.full((n, 2), np.nan))
    found = ATTRACTED.run(arrays, be, sizes, quick=True)

    apart = x[None] - x[:, None]
    assert_arrays(be, arrays, f=(mass[None, :, None] * apart).sum(1))
    assert found == {"energy": (mass * (apart**2).sum(2)).sum()}


@of_sizes
@of_sizes_quick
def test_several_reducers_at_three_levels(be, sizes):
    for E, J, K in ((0, 3, 3), (1, 1, 1), (5, 9, 33)):
        v = np.random.default_rng(J).integers(-9, 9, (E, J, K)) * 1.0
        arrays = be.placed(v=v, rows=np.full((E, J), np.nan), found=np.full((E, 4), np.nan))
        run = LEVELS.bind(arrays, be, sizes, quick=True)
        run()

        rows = v.sum(2) + v.max(2)
        sums = (v.sum(2) * np.arange(1, J + 1)).sum(1)
        most = v.max((1, 2))
        assert_arrays(be, arrays, rows=rows)
        wanted = [sums, most, (v[:, :, 0] < 0).sum(1), (v[:, :, 0] > -9).all(1)]
        np.testing.assert_array_equal(be.to_host(arrays["found"]).T, wanted)
        assert run.value("total") == sums.sum() and run.value("most") == most.max(initial=-np.inf)
        assert run.value("where_at") == (most.argmax() if E else -1)


@of_sizes
@of_sizes_quick
def test_a_product_by_tiles_of_scratch(be, sizes):
    rng = np.random.default_rng(8)
    for I, J, K in ((1, 1, 1), (17, 9, 23), (8, 16, 8)):
        A, B = rng.integers(-9, 9, (I, K)) * 1.0, rng.integers(-9, 9, (K, J)) * 1.0
        arrays = be.placed(A=A, B=B, C=np.full((I, J), np.nan))
        PRODUCT.run(arrays, be, sizes, T=8, quick=True)
        assert_arrays(be, arrays, C=A @ B)


@of_sizes
@of_sizes_quick
def test_a_row_with_more_on_each_side(be, sizes):
    for n in (1, 5, 100):
        u = np.random.default_rng(n).integers(-9, 9, (4, n)) * 1.0
        arrays = be.placed(u=u, v=np.full_like(u, np.nan))
        SMOOTHED.run(arrays, be, sizes, quick=True)

        s = np.pad(u, ((0, 0), (2, 2)), mode="edge")
        wanted = sum(weight * s[:, k : k + n] for k, weight in enumerate((1, 4, 6, 4, 1)))
        assert_arrays(be, arrays, v=wanted)


@of_sizes
@of_sizes_quick
def test_branches_with_barriers(be, sizes):
    for n in (1, 21):
        x = np.random.default_rng(n).integers(-9, 9, (7, n)) * 1.0
        arrays = be.placed(x=x, y=np.full_like(x, 5))
        BRANCHED.run(arrays, be, sizes, quick=True)

        wanted = np.full_like(x, 5)

        for e in range(7):
            s = -x[e] if e % 2 else x[e]
            if e % 3 == 0:
                wanted[e] = s[::-1]
            else:
                own = (np.arange(n) % 2 == 0) & (s >= 0)
                wanted[e][own] = s.sum() if e % 2 else 2 * s.sum()

        assert_arrays(be, arrays, y=wanted)


@of_sizes
@of_sizes_quick
def test_weights_in_bins_of_teams(be, sizes):
    for n in (0, 1, 1003):
        rng, bins = np.random.default_rng(n), 6
        k, x = rng.integers(0, bins, n).astype(np.int32), rng.integers(-9, 9, n) / 4
        arrays = be.placed(k=k, x=x, sum=np.ones(bins))
        BY_TEAMS.run(arrays, be, sizes, share=100, quick=True)
        assert_arrays(be, arrays, sum=1 + np.bincount(k, x, bins))
