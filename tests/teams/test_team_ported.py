"""Loops and teams that a user of Kokkos ports, by the pages alone; against NumPy."""

import numpy as np
import pytest
from team_cases import EPS, HEADER, assert_arrays, kernel

from kernels import League, MDRange, Range, Scan, Sizes

SIZES = [0, 1, 9, 1003]


def ported(name, over, arrays="", writes="", **more):
    return kernel(name, over, header=HEADER.with_name("ported.h"), arrays=arrays, writes=writes, **more)


def of_teams(name, over, arrays="", writes="", **more):
    return kernel(name, over, header=HEADER.with_name("ported_teams.h"), arrays=arrays, writes=writes, **more)


# ---- whole numbers without a sign, and of several sizes
HASHED = ported(
    "hashed",
    Range("n"),
    "key(n):whole bin(n):int32 of_index(n):int32 large(n):int32 most(n):whole",
    "bin of_index large most",
)
OF_32_BITS = ported("of_32_bits", Range("n"), "k(n):int32 f(10,n):whole", "f", numbers="shift")
SUBTRACTED = ported(
    "subtracted",
    Range("n"),
    "k(n):int32 x(n) count(4):whole:scatter",
    "count",
    results="sum:whole real",
)
CHANGED = ported("changed_by_others", Range("n"), "k(n):int32 j(n):int32 x(n):real32 big(n):whole", "k j x big")


@pytest.mark.parametrize("n", SIZES)
def test_bins_of_a_hash(be, n):
    """Unsigned products begin again behind 2^64; shifts, quotients and comparisons of them know no sign."""
    key = np.random.default_rng(n).integers(-(2**62), 2**62, n)
    arrays = be.placed(key=key, most=np.zeros(n, np.int64))
    arrays |= be.placed(**{name: np.zeros(n, np.int32) for name in ("bin", "of_index", "large")})
    HASHED.run(arrays, be, quick=True)

    golden = np.uint64(0x9E3779B97F4A7C15)
    first = (key.astype(np.uint64) + golden) * np.uint64(0xBF58476D1CE4E5B9)
    of_index = np.arange(n).astype(np.uint64) * golden
    assert_arrays(
        be,
        arrays,
        bin=(first ^ first >> np.uint64(31)) % np.uint64(64),
        of_index=of_index >> np.uint64(60),
        large=first > np.uint64(2**63),
        most=(first // np.uint64(3)).astype(np.int64),
    )


@pytest.mark.parametrize("n", [9, 101])
def test_unsigned_numbers_of_32_bits(be, n):
    """A signed number beside an unsigned one has no sign; a shift has the type of its left number, as in C++."""
    k = np.random.default_rng(n).integers(-(2**31), 2**31, n).astype(np.int32)
    arrays = be.placed(k=k, f=np.zeros((10, n), np.int64))
    OF_32_BITS.run(arrays, be, shift=3, quick=True)

    u, wide = k.view(np.uint32), k.astype(np.int64)
    wanted = [u // 3, u % 5, u < 5, u + np.uint32(1), u * np.uint32(3)]
    wanted += [k >> 2, (wide << 3).astype(np.int32), np.maximum(u, 7), 1 << (wide & 31), (u ^ 0xF0F0) >> 28]
    assert_arrays(be, arrays, f=np.array([row.astype(np.int64) for row in wanted]))


@pytest.mark.parametrize("n", SIZES)
def test_unsigned_numbers_that_sums_lose(be, n):
    k = np.random.default_rng(n).integers(-(2**31), 2**31, n).astype(np.int32)
    arrays = be.placed(k=k, x=np.ones(n), count=np.zeros(4, np.int64))
    found = SUBTRACTED.run(arrays, be, quick=True)

    assert found == {"sum": -int((k & 7).sum()) - 8 * n, "real": -1.5 * n}
    assert_arrays(be, arrays, count=-2 * np.bincount(k & 3, minlength=4))


def test_whole_numbers_that_real_ones_change(be):
    """As in C++: the operation is one of real numbers, its result loses its fraction."""
    k = np.arange(-20, 21)
    x = (k / 3).astype(np.float32)
    arrays = be.placed(k=k.astype(np.int32), j=k.astype(np.int32), x=x.copy(), big=k.copy())
    CHANGED.run(arrays, be, quick=True)
    assert_arrays(
        be,
        arrays,
        k=np.trunc(k * 1.5),
        j=np.trunc(k + 0.5),
        x=(x.astype(float) + 0.1).astype(np.float32),
        big=np.trunc(k - 0.25),
    )


# ---- loops of solvers
FLATTENED = ported("flattened", Range("N"), "a(N*M) x(M) y(N)", "y")
SWEEP = {
    mark: ported(
        f"sweep{mark.replace(':', '_')}",
        MDRange("1:I-1 1:J-1 1:K-1"),
        f"u(I,J,K){mark} f(I,J,K){mark} v(I,J,K){mark}",
        "v",
        body="sweep",
        results="change:maxloc",
    )
    for mark in ("", ":left")
}
FUSED = ported("fused", Range("n"), "x(n) y(n)", "y", results="yy xy most:maxloc", numbers="a:real b:real")
LINES = ported("lines", Range("L"), "a(n,L) b(n,L) c(n,L) d(n,L) work(n,L) x(n,L)", "work x")
PAIRS = ported("complex_pairs", Range("n"), "z(n,2) w(n,2)", "z", results="re im")
SIX = ported(
    "of_six",
    MDRange("A B C D E F"),
    "x(F,B,D,A,C,E) y(A,B,C,D,E,F) count(A+B+C,D):int32",
    "y count",
    results="sum least:minloc",
)


@pytest.mark.parametrize("n", SIZES)
def test_offsets_as_size_t(be, n):
    rng = np.random.default_rng(n)
    a, x = rng.integers(-9, 9, (n, 5)) * 1.0, rng.integers(-9, 9, 5) * 1.0
    arrays = be.placed(a=a.ravel(), x=x, y=np.full(n, np.nan))
    FLATTENED.run(arrays, be, quick=True)
    assert_arrays(be, arrays, y=a @ x)


@pytest.mark.parametrize("mark", SWEEP)
@pytest.mark.parametrize("shape", [(3, 3, 3), (2, 9, 9), (12, 7, 35)])
def test_a_sweep_of_seven_points(be, mark, shape):
    """Five sums of numbers below 8 and a product: 8 x 6 eps."""
    rng = np.random.default_rng(7)
    order = "F" if mark else "C"
    u, f = (np.array(rng.random(shape), order=order) for _ in range(2))
    arrays = be.placed(u=u, f=f, v=np.array(u, order=order))
    found = SWEEP[mark].run(arrays, be, quick=True)

    wanted, inner = u.copy(), (slice(1, -1),) * 3
    around = sum(np.roll(u, step, axis) for axis in range(3) for step in (1, -1))
    wanted[inner] = ((around + f) / 6)[inner]
    v = be.to_host(arrays["v"].T).T
    np.testing.assert_allclose(v, wanted, rtol=0, atol=48 * EPS)
    changes = np.abs(v - u)

    if changes[inner].size:
        assert (found["change"], found["change_at"]) == (
            changes.max(),
            np.ravel_multi_index(np.unravel_index(changes.argmax(), shape), shape),
        )
    else:
        assert found["change_at"] == -1


@pytest.mark.parametrize("n", SIZES)
def test_a_fused_update_and_its_products(be, n):
    """Small whole numbers: exact. Of equal largest numbers the first one counts."""
    rng = np.random.default_rng(n)
    x, y = rng.integers(-3, 4, n) * 1.0, rng.integers(-3, 4, n) * 1.0
    arrays = be.placed(x=x, y=y.copy())
    found = FUSED.run(arrays, be, a=2.0, b=-3.0, quick=True)

    new = 2 * x - 3 * y
    assert_arrays(be, arrays, y=new)
    assert (found["yy"], found["xy"]) == (new @ new, x @ new)
    assert (found["most"], found["most_at"]) == ((new.max(), new.argmax()) if n else (-np.inf, -1))


@pytest.mark.parametrize("L", SIZES)
def test_tridiagonal_systems_of_lines(be, L):
    """Diagonally dominant: the residual of each row is a few eps of its terms (Higham 2002, section 9.6)."""
    n, rng = 17, np.random.default_rng(L)
    a, b, c, d = rng.random((4, n, L))
    b += 3
    arrays = be.placed(a=a, b=b, c=c, d=d, work=np.zeros((n, L)), x=np.zeros((n, L)))
    LINES.run(arrays, be, quick=True)

    x = be.to_host(arrays["x"])
    low, high = np.zeros((2, n, L))
    low[1:], high[:-1] = a[1:] * x[:-1], c[:-1] * x[1:]
    assert (abs(low + b * x + high - d) <= 20 * EPS * (abs(low) + abs(b * x) + abs(high) + abs(d))).all()


@pytest.mark.parametrize("n", SIZES)
def test_complex_numbers_by_pairs(be, n):
    rng = np.random.default_rng(n)
    z, w = (rng.integers(-9, 9, (n, 2)) * 1.0 for _ in range(2))
    arrays = be.placed(z=z.copy(), w=w)
    found = PAIRS.run(arrays, be, quick=True)

    product = z.view(complex) * w.view(complex)
    assert_arrays(be, arrays, z=product.view(float))
    assert complex(found["re"], found["im"]) == product.sum()


@pytest.mark.parametrize("shape", [(2, 3, 1, 4, 2, 9), (1, 1, 1, 1, 1, 1), (2, 2, 0, 2, 2, 2)])
def test_six_indices(be, shape):
    v = np.random.default_rng(6).integers(-5, 5, shape) * 1.0
    x = np.ascontiguousarray(v.transpose(5, 1, 3, 0, 2, 4))
    count = np.zeros((sum(shape[:3]), shape[3]), np.int32)
    arrays = be.placed(x=x, y=np.full(shape, np.nan), count=count.copy())
    found = SIX.run(arrays, be, quick=True)

    assert_arrays(be, arrays, y=v)
    a, b, c, d, *_ = np.indices(shape)
    np.add.at(count, (a + b + c, d), 1)
    assert_arrays(be, arrays, count=count)
    assert (found["sum"], found["least_at"]) == (v.sum(), v.argmin() if v.size else -1)


# ---- particles, sums of 32 bits, parts of parts, conditions
COUNTS = ported("cell_counts", Range("n"), "x(n) count(cells):int32", "count")
BEGINS = ported(
    "cell_begins",
    Scan("cells"),
    "count(cells):int32 begin(cells):whole next(cells):whole",
    "begin next",
    results="total:whole",
)
INTO_CELLS = ported("into_cells", Range("n"), "x(n) next(cells):whole particle(n):whole", "next particle")
SINGLES = ported("single_sums", Range("n"), "x(n)", results="sum most:maxloc")
DOUBLES = ported("double_sums", Range("n"), "x(n):real32", body="single_sums", results="sum most:maxloc")
PARTS_OF_PARTS = ported("columns_of_complex_parts", Range("J"), "u(I,J,2):left sum(J)", "sum")
CONDITIONS = ported("conditions", Range("n"), "x(n) k(n):int32", results="all:all any:any least:min bits:bitand")


@pytest.mark.parametrize("n", SIZES)
def test_particles_into_cells(be, n):
    x = np.random.default_rng(n).random(n)
    cells = 7
    arrays = be.placed(x=x, count=np.zeros(cells, np.int32), begin=np.full(cells, -1), next=np.full(cells, -1))
    arrays |= be.placed(particle=np.full(n, -1))
    COUNTS.run({name: arrays[name] for name in ("x", "count")}, be, quick=True)
    found = BEGINS.run({name: arrays[name] for name in ("count", "begin", "next")}, be, quick=True)
    INTO_CELLS.run({name: arrays[name] for name in ("x", "next", "particle")}, be, quick=True)

    cell = (x * cells).astype(int)
    begin = np.searchsorted(np.sort(cell), np.arange(cells))
    assert found["total"] == n
    assert_arrays(be, arrays, begin=begin)
    particle = be.to_host(arrays["particle"])
    np.testing.assert_array_equal(np.sort(particle), np.arange(n))
    np.testing.assert_array_equal(cell[particle], np.sort(cell))


@pytest.mark.parametrize("n", SIZES)
def test_sums_of_single_numbers(be, n):
    """Squares of quarters: exact in 24 bits. Arrays marked :real32 have sums of 64 bits."""
    x = (np.random.default_rng(n).integers(-8, 9, n) / 4).astype(np.float32)
    arrays = be.placed(x=x)
    wanted = 3 * (x.astype(float) ** 2).sum()

    for k, dtype in ((SINGLES, np.float32), (DOUBLES, np.float64)):
        run = k.bind(dict(arrays), be, quick=True)
        run()

        assert run.arrays["sum"].dtype == dtype and run.value("sum") == wanted
        assert run.value("most_at") == (x.argmax() if n else -1)


def test_parts_of_parts(be):
    u = np.asfortranarray(np.random.default_rng(1).integers(0, 9, (11, 20, 2)) * 1.0)
    arrays = be.placed(u=u, sum=np.zeros(20))
    PARTS_OF_PARTS.run(arrays, be, quick=True)
    assert_arrays(be, arrays, sum=u[1:10, :, 1].sum(0) + u[2:4, :, 1].sum(0))


@pytest.mark.parametrize("n", SIZES)
def test_conditions_of_indices(be, n):
    x, k = np.arange(n) % 3 * 1.0 + 0.5, np.full(n, 12, np.int32)
    found = CONDITIONS.run(be.placed(x=x, k=k), be, quick=True)
    assert found == {"all": 1, "any": int(n > 2), "least": 0.5 if n else np.inf, "bits": 12 if n else -1}


# ---- teams
THROUGH = of_teams(
    "through_scratch",
    League("((I + T - 1) // T) * ((J + T - 1) // T)", team="auto 8", vector=8, scratch={"team 0": "tile(T,T+1)"}),
    "a(I,J) b(J,I)",
    "b",
    numbers="T",
)
ROWS = of_teams(
    "row_of_team", League("n", team="auto 4", vector=8), "row(n+1):whole column(e):int32 value(e) x(n) y(n)", "y"
)
SEGMENTS = of_teams("of_segments", League("S", team="auto 32"), "begin(S+1):whole x(n) out(S,4)", "out")
PLACES = of_teams(
    "places_of_members", League("E", team="auto 64"), "x(E,n) kept(E,n):int32 count(E):int32", "kept count"
)
PASSED = of_teams("passed_on", League("E", team="auto 5", vector=2), "x(E) out(E,n,2)", "out")
NONE = of_teams("of_none", League("E", team=4, vector=4), "x(n) out(3,6)", "out", results="most:max", numbers="E none")
ELIMINATED = of_teams(
    "eliminated", League("E", team="auto 4", vector=4, scratch={"team 0": "s(n,n+1)"}), "A(E,n,n+1) x(E,n)", "x"
)
RELAXED = of_teams(
    "relaxed",
    League("E", team="auto 4", vector=4, scratch={"team 0": "rooms(2,n)"}),
    "u(E,n) turns(E):int32",
    "u turns",
    numbers="within:real",
)
TEAMS = [Sizes(), Sizes(1, 1), Sizes(3, 8), Sizes(13, 2), Sizes(2, 32)]
of_sizes = pytest.mark.parametrize("sizes", TEAMS, ids=["declared", "1x1", "3x8", "13x2", "2x32"])
of_sizes_quick = pytest.mark.quick(sizes=TEAMS[:1] + TEAMS[3:4])


@of_sizes
@of_sizes_quick
def test_a_transposition_through_scratch(be, sizes):
    for shape in ((0, 5), (1, 1), (37, 21)):
        a = np.random.default_rng(1).random(shape)
        arrays = be.placed(a=a, b=np.full(shape[::-1], np.nan))
        THROUGH.run(arrays, be, sizes, T=16, quick=True)
        assert_arrays(be, arrays, b=a.T)


@of_sizes
@of_sizes_quick
def test_rows_with_offsets_of_64_bits(be, sizes):
    for n in (0, 1, 50):
        rng = np.random.default_rng(n)
        row = np.concatenate([[0], np.cumsum(rng.integers(0, 40, n))])
        column, value = rng.integers(0, max(n, 1), row[-1]).astype(np.int32), rng.integers(-9, 9, row[-1]) * 1.0
        x = rng.integers(-9, 9, n) * 1.0
        arrays = be.placed(row=row, column=column, value=value, x=x, y=np.full(n, np.nan))
        ROWS.run(arrays, be, sizes, quick=True)

        wanted = np.zeros(n)
        np.add.at(wanted, np.repeat(np.arange(n), np.diff(row)), value * x[column])
        assert_arrays(be, arrays, y=wanted)


@of_sizes
@of_sizes_quick
def test_a_struct_of_each_segment(be, sizes):
    rng = np.random.default_rng(3)
    lengths = np.array([0, 1, 5, 200, 0, 33])
    begin, x = np.concatenate([[0], np.cumsum(lengths)]), rng.integers(-99, 99, lengths.sum()) * 1.0
    arrays = be.placed(begin=begin, x=x, out=np.full((6, 4), np.nan))
    SEGMENTS.run(arrays, be, sizes, quick=True)

    parts = np.split(x, begin[1:-1])
    wanted = [[p.sum(), p.min(initial=1e300), p.max(initial=-1e300), p.size] for p in parts]
    assert_arrays(be, arrays, out=wanted)


@of_sizes
@of_sizes_quick
def test_places_of_members_by_a_scan(be, sizes):
    for n in (0, 1, 100):
        x = np.random.default_rng(n).random((3, n))
        arrays = be.placed(x=x, kept=np.full((3, n), -1, np.int32), count=np.zeros(3, np.int32))
        PLACES.run(arrays, be, sizes, quick=True)

        assert_arrays(be, arrays, count=(x > 0.5).sum(1))
        for kept, row in zip(be.to_host(arrays["kept"]), x):
            np.testing.assert_array_equal(kept[: (row > 0.5).sum()], np.flatnonzero(row > 0.5))


@of_sizes
@of_sizes_quick
def test_values_that_one_member_passes_on(be, sizes):
    x = np.arange(6) * 1.0
    arrays = be.placed(x=x, out=np.full((6, 7, 2), np.nan))
    PASSED.run(arrays, be, sizes, quick=True)

    wanted = 3 * x + np.arange(6) + 3 + x + np.arange(6) % 2
    assert_arrays(be, arrays, out=np.broadcast_to(wanted[:, None, None], (6, 7, 2)))


@of_sizes
@of_sizes_quick
@pytest.mark.parametrize("E", [0, 1])
def test_reductions_over_no_index(be, sizes, E):
    arrays = be.placed(x=np.ones(3), out=np.full((3, 6), np.nan))
    found = NONE.run(arrays, be, sizes, E=E, none=0, quick=True)

    assert found == {"most": 1.0 if E else -np.inf}
    wanted = [[1, 0, np.inf, -1, 0, 0]] * 3 if E else np.full((3, 6), np.nan)
    assert_arrays(be, arrays, out=wanted)


@of_sizes
@of_sizes_quick
def test_elimination_with_pivots(be, sizes):
    """The residual within n^2 eps of its terms, with pivots that grow little (Higham 2002, theorem 9.5)."""
    E, n, rng = 4, 9, np.random.default_rng(2)
    A = rng.uniform(-1, 1, (E, n, n + 1))
    arrays = be.placed(A=A, x=np.full((E, n), np.nan))
    ELIMINATED.run(arrays, be, sizes, quick=True)

    x = be.to_host(arrays["x"])
    terms = A[:, :, :n] * x[:, None, :]
    left = abs(terms.sum(2) - A[:, :, n])
    most = (abs(terms).sum(2) + abs(A[:, :, n])).max(1, keepdims=True)
    assert (left <= 10 * n * n * EPS * most).all()


@of_sizes
@of_sizes_quick
def test_sweeps_until_little_changes(be, sizes):
    u = np.random.default_rng(5).random((3, 20))
    arrays = be.placed(u=u.copy(), turns=np.zeros(3, np.int32))
    RELAXED.run(arrays, be, sizes, within=0.01, quick=True)

    for row, found, turns in zip(u, be.to_host(arrays["u"]), be.to_host(arrays["turns"])):
        change, count = 1.0, 0
        while change > 0.01:
            new = row.copy()
            new[1:-1] = 0.5 * (row[:-2] + row[2:])
            change, row, count = abs(new - row).max(), new, count + 1

        assert turns == count
        np.testing.assert_array_equal(found, row)
