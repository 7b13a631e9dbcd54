"""Bodies as a user of Kokkos writes them, on a CPU and a device: after its tutorials and its programming guide."""

import numpy as np
import pytest
from team_cases import HEADER, assert_arrays, kernel

import kernels
from kernels import League, Range, Scan, get_backend
from kernels.teams.render import counts_lanes

EPS = np.finfo(float).eps
SIZES = (0, 1, 2, 8, 31, 97, 1009)
FUNCTIONS = 8


def written(name, over, **more):
    return kernel(name, over, header=HEADER.with_name("kokkos.h"), **more)


SQUARES = written("sum_of_squares", Range("n"), numbers="n", results="total:whole")
DISTANCES = written("distances", Range("n"), numbers="n", results="total:whole")
KEPT = written(
    "compacted", Scan("n"), arrays="x(n) place(n):whole value(n,2)", writes="place value", results="count:whole"
)
REAL = written("functions_of_packs", Range("n"), arrays="x(n) f(8,n)", writes="f")
WITHOUT_NAN = written("without_nan", Range("n"), arrays="x(n) y(n) f(4,n)", writes="f")
WHOLE = written("whole_functions", Range("n"), arrays="k(n):int32 big(n):whole f(9,n):whole", writes="f")
NARROW = written("narrow_products", Range("n"), arrays="k(n):int32 f(7,n):whole", writes="f")
FLAGS = written(
    "by_flags", Range("n"), arrays="x(n) y(n) a(n):logical b(n):logical", writes="y b", results="count:whole"
)
SCRATCHES = written(
    "four_scratches",
    League(
        "E",
        team=5,
        vector=4,
        scratch={"team 0": "tile(n,k) turned(n):int32", "member 0": "row(k)", "member 1": "far(k,2)"},
    ),
    arrays="v(E,n,k) out(E,n)",
    writes="out",
)
FORMULAS = written(
    "formulas_in_scratch",
    League("1", team=4, vector=2, scratch={"team 0": "k(n):int32 x(n)"}),
    arrays="given(n):int32 whole(2,n):whole real(2,n) total(1):whole",
    writes="whole real total",
)
COUNTED = written(
    "counted_once",
    Range("n"),
    arrays="k(n):int32 x(n) whole(5):whole real(3) each(n):int32 some(3):scatter",
    writes="whole real each",
)
COUNTED_IN_TEAMS = written(
    "counted_in_teams",
    League("3", team=4, vector=2, scratch={"team 0": "own(1):int32"}),
    arrays="k(n):int32 whole(3):whole",
    writes="whole",
)
SORTED = written("sorted", League("E", team=16, scratch={"team 0": "s(n)"}), arrays="x(E,n)", writes="x")


@pytest.mark.parametrize("n", SIZES)
def test_sums_of_products_of_indices(be, n):
    """Whole numbers, also where both factors are indices of a pack."""
    assert SQUARES.run({}, be, n=n, quick=True) == {"total": sum(i * i for i in range(n))}
    assert DISTANCES.run({}, be, n=n, quick=True) == {"total": sum((2 * i - n + 1) ** 2 for i in range(n))}


@pytest.mark.parametrize("n", SIZES)
def test_a_scan_says_where_each_number_goes(be, n):
    x = np.random.default_rng(n).integers(-3, 4, n) * 1.0
    arrays = be.placed(x=x, place=np.full(n, -1), value=np.zeros((n, 2)))
    wanted = np.flatnonzero(x > 0)
    assert KEPT.run(arrays, be, quick=True) == {"count": wanted.size}
    assert_arrays(be, arrays, place=[*wanted, *[-1] * (n - wanted.size)])
    np.testing.assert_array_equal(be.to_host(arrays["value"])[: wanted.size, 1], x[wanted])


def test_functions_of_real_numbers(be):
    """Against NumPy's, within 4 units in the last place of each term: some are not correctly rounded on either side."""
    n = 37
    x = np.linspace(-4.1, 4.3, n)
    y, size = x[::-1], abs(x)
    terms = [
        [np.sin(x), np.cos(x), np.tan(0.1 * x)],
        [np.arcsin(0.1 * x), np.arccos(0.1 * x), np.arctan(x), np.arctan2(x, 2)],
        [np.sinh(x), np.cosh(x), np.tanh(x)],
        [np.floor(x), np.ceil(x), np.trunc(x), np.rint(x)],
        [np.exp2(x), np.log2(size), np.log10(size), np.log1p(size)],
        [np.hypot(x, y), np.fmod(x, 0.75), np.ones(n)],  # erf + erfc = 1
        [size**2.5, x**3, 1.5**x],
        [np.maximum(x, y), np.minimum(x, 1), np.maximum(0, x), size, np.minimum(y, x), np.maximum(x, 0.5)],
    ]
    arrays = be.placed(x=x, f=np.full((FUNCTIONS, n), np.nan))
    REAL.run(arrays, be, quick=True)
    for found, parts in zip(be.to_host(arrays["f"]), terms):
        assert (abs(found - np.sum(parts, 0)) <= 4 * EPS * (1 + np.sum(np.abs(parts), 0))).all()


def test_the_larger_of_a_number_and_nan(be):
    """As C's fmax, and as CUDA's max of numbers."""
    x, y = (np.array(values) for values in np.broadcast_arrays(*np.ix_([np.nan, 1.0, -2.0, 0.5], [np.nan, 3.0, -5.0])))
    x, y = x.ravel(), y.ravel()
    arrays = be.placed(x=x, y=y, f=np.zeros((4, x.size)))
    WITHOUT_NAN.run(arrays, be, quick=True)
    assert_arrays(be, arrays, f=[np.fmax(x, y), np.fmin(x, y)] * 2)


@pytest.mark.parametrize("n", [1, 13, 101])
def test_functions_of_whole_numbers(be, n):
    rng, i = np.random.default_rng(n), np.arange(n)
    k, big = rng.integers(-99, 99, n).astype(np.int32), rng.integers(-(2**60), 2**60, n)
    arrays = be.placed(k=k, big=big, f=np.zeros((9, n), np.int64))
    WHOLE.run(arrays, be, quick=True)

    wide = k.astype(np.int64)
    least = [np.maximum(wide, 3), np.minimum(wide, i), np.maximum(i, 5), np.minimum(big, wide)]
    others = [abs(wide - 2), -wide, ~wide, np.where(wide > i, big, 7), wide * i]
    assert_arrays(be, arrays, f=[*least, *others])


@pytest.mark.parametrize("n", [1, 13, 101])
def test_products_of_numbers_of_32_bits(be, n):
    """As C++ has them: of two int an int, whose upper bits are lost, as on a device; with an index 64 bits."""
    k = np.random.default_rng(n).integers(-(2**31) + 2, 2**31 - 1, n).astype(np.int32)
    arrays = be.placed(k=k, f=np.zeros((7, n), np.int64))
    NARROW.run(arrays, be, quick=True)

    wide, seven = k.astype(np.int64), np.int32(7)
    with np.errstate(over="ignore"):
        narrow = [k * k, k * np.int32(3) + k, np.where(k > 0, k, seven) * k, np.maximum(k, np.int32(5)) * k]
        narrow.append(np.fmod(k - np.int32(1), seven) * k)
    wanted = [*narrow[:2], wide * wide, wide * np.arange(n), *narrow[2:]]
    assert_arrays(be, arrays, f=wanted)


@pytest.mark.parametrize("n", SIZES[1:6])
def test_logical_arrays_are_conditions(be, n):
    """Any number but 0 is true, as Fortran's compilers have it."""
    rng = np.random.default_rng(n)
    x, a, b = rng.integers(0, 6, n) * 1.0, rng.integers(-1, 2, n, np.int32), rng.integers(0, 2, n, np.int32)
    arrays = be.placed(x=x, y=np.zeros(n), a=a, b=b.copy())
    got = FLAGS.run(arrays, be, quick=True)

    new = (a == 0) | ((x > 2) & (b != 0))
    assert_arrays(be, arrays, y=np.where(a != 0, x, -1), b=new)
    assert got == {"count": np.count_nonzero((a != 0) & new)}


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("n, k", [(1, 1), (7, 5), (13, 32)])
def test_scratch_of_teams_and_members_in_both_levels(be, n, k, check):
    if check and be.style != "packs":
        pytest.skip("check mode is for a CPU")
    v = np.random.default_rng(n).integers(-9, 9, (4, n, k)) * 1.0
    arrays = be.placed(v=v, out=np.full((4, n), np.nan))
    SCRATCHES.run(arrays, be, check=check, quick=True)
    assert_arrays(be, arrays, out=v[:, ::-1].sum(2) - 2 * v.sum(2))


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("n", [1, 13, 37])
def test_numbers_in_scratch_among_others(be, n, check):
    """The same formulas with check mode: an element of scratch is an object there."""
    if check and be.style != "packs":
        pytest.skip("check mode is for a CPU")
    given = np.random.default_rng(n).integers(-9, 9, n).astype(np.int32)
    arrays = be.placed(
        given=given, whole=np.zeros((2, n), np.int64), real=np.zeros((2, n)), total=np.zeros(1, np.int64)
    )
    FORMULAS.run(arrays, be, check=check, quick=True)

    k, x, i = given.astype(np.int64), 0.5 * given, np.arange(n)
    whole = np.maximum(k, 3) + np.minimum(2, k) + abs(k) - ~k + np.fmod(k, 3) + (n - k) * i
    real = np.maximum(x, 1) + np.where(k > 2, x, 1) + abs(x) - np.where((k != 4) & (k >= 1), x, 0)
    assert_arrays(be, arrays, whole=[whole] * 2, real=[real] * 2)
    assert be.to_host(arrays["total"])[0] == (k[abs(k) % n] * k).sum()


@pytest.mark.parametrize("n", [1, 8, 21, 1009])
def test_each_index_changes_one_element_that_all_have(be, n):
    """Once for each index, also where a CPU's pack has several. Numbers are multiples of a half: sums are exact."""
    rng = np.random.default_rng(n)
    k, x = rng.integers(-9, 9, n).astype(np.int32), 0.5 * rng.integers(-9, 9, n)
    arrays = be.placed(k=k, x=x, whole=np.zeros(5, np.int64), real=np.array([0, -99.0, 0]))
    arrays |= be.placed(each=np.zeros(n, np.int32), some=np.zeros(3))
    COUNTED.run(arrays, be, quick=True)

    i = np.arange(n)
    assert_arrays(
        be, arrays, whole=[n, n, -i.sum(), k.sum(), 2 * n], real=[x.sum(), x.max(), -0.5 * n], some=[n, -x.sum(), n]
    )
    assert not be.to_host(arrays["each"]).any()


@pytest.mark.parametrize("threads", [1, 3])
def test_each_index_changes_one_element_on_several_threads(threads):
    n = 10007
    arrays = {"k": np.ones(n, np.int32), "x": np.ones(n), "whole": np.zeros(5, np.int64), "real": np.zeros(3)}
    arrays |= {"each": np.zeros(n, np.int32), "some": np.zeros(3)}
    COUNTED.run(arrays, get_backend("cpu", threads=threads))

    assert arrays["whole"].tolist() == [n, n, -n * (n - 1) // 2, n, 2 * n]
    assert arrays["real"].tolist() == [n, 1, -0.5 * n] and arrays["some"].tolist() == [n, -n, n]


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("n", [1, 21, 301])
def test_each_index_of_a_loop_over_a_team_changes_one_element(be, n, check):
    if check and be.style != "packs":
        pytest.skip("check mode is for a CPU")
    k = np.random.default_rng(n).integers(-9, 9, n).astype(np.int32)
    arrays = be.placed(k=k, whole=np.zeros(3, np.int64))
    COUNTED_IN_TEAMS.run(arrays, be, check=check, quick=True)
    assert_arrays(be, arrays, whole=[3 * k.sum(), 3 * n, 3 * n])


@pytest.mark.parametrize("n", [1, 2, 16, 128])
def test_a_sort_with_many_barriers(be, n):
    x = np.random.default_rng(n).random((3, n))
    arrays = be.placed(x=x.copy())
    SORTED.run(arrays, be, quick=True)
    assert_arrays(be, arrays, x=np.sort(x, 1))


BODIES = {name: Range("n") for name in ("counted", "plain", "calling", "single", "both")} | {"nested": League("1")}
LANES = """
// atomic_add(m.k(0), 1) in a comment counts for nobody
template <class M, class I> POINT_FN void counted(const M &m, const I i) { if (m.x(0) > 0) { atomic_add(m.k(0), 1); } }
template <class M, class I> POINT_FN void plain(const M &m, const I i) { m.x(i) = 1.0; }
template <class M, class I> POINT_FN void calling(const M &m, const I i) { counted(m, i); }
template <class M, class I> POINT_FN void single(const M &m, const I i) {
    each_lane(i, [&](long k) { if (m.x(k) > 0) { atomic_add(m.k(0), 1); } });
}
template <class M, class I> POINT_FN void both(const M &m, const I i) {
    each_lane(i, [&](long k) { m.x(k) = 1; });
    atomic_add(m.k(0), 1);
}
template <class M, class Team> POINT_FN void nested(const M &m, const Team &team) {
    team.for_vector(1, [&](auto i) {
        each_lane(i, [&](long k) { team.member().for_vector(9, [&](auto j) { atomic_add(m.k(k), 1); }); });
    });
}
"""


@pytest.mark.parametrize(
    "body, helper, wanted",
    [
        ("plain", "", False),
        ("counted", "", True),
        ("calling", "", True),
        ("single", "", False),
        ("both", "", True),
        ("nested", "", True),
        ("plain", "template <class M> POINT_FN void raise(const M &m) { atomic_max(m.k(0), 2); }", True),
    ],
)
def test_lanes_are_counted_by_kernels_that_may_change_single_elements(tmp_path, body, helper, wanted):
    """A body, what it calls, and functions of the header that are no bodies; in each_lane a single lane is at work,
    unless packs are inside of it. A short loop pays for the count, and so does each addition."""
    header = tmp_path / "lanes.h"
    header.write_text(LANES + helper)
    with kernels.registry.temporary():
        takes = dict(arrays="x(n) k(1):int32", writes="x k")
        declared = {
            name: kernels.team_kernel(f"lanes_{name}", over, header=header, body=name, **takes)
            for name, over in BODIES.items()
        }
        assert counts_lanes(declared[body], get_backend("cpu").entry) == wanted
        assert not counts_lanes(declared[body], get_backend("cuda", arch="sm_90").entry)
