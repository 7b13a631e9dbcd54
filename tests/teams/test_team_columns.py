"""Bodies that go along columns of memory: packs of several vectors on a CPU give what NumPy gives."""

import pathlib

import numpy as np
import pytest
from team_cases import kernel

from kernels import League, MDRange, Range, get_backend
from kernels.teams.policies import Policy
from kernels.teams.render import ahead_of_extents
from kernels.teams.words import arrays_of

HEADER = pathlib.Path(__file__).with_name("columns.h")
V = 32  # columns
MANY = 2**14  # indices from which on packs are long
SIZES = [MANY - 1, MANY, MANY + 133]


def columns(name, over, arrays, **more):
    return kernel(name, over, header=HEADER, arrays=arrays, **more)


REAL = columns(
    "columns",
    Range("first:n"),
    "A(n,V):left x(V) sum(n):stream positive(n)",
    writes="sum positive",
    results="total most:maxloc",
    numbers="first",
)
ALL = columns(
    "columns_of_all",
    Range("n"),
    "A(n,V):left x(V) k(n):int32 sum(n) moved(n) bins(7):whole:scatter count(3):whole",
    writes="sum moved bins count",
)
FUNCTIONS = columns("columns_of_functions", Range("n"), "A(n,V):left sum(n)", writes="sum")
PAIRS = columns(
    "columns_of_pairs", MDRange("I J"), "A(I,J,V):left x(V) sum(I,J):left seen(I,J):left:whole", writes="sum seen"
)
PARTS = columns("columns_of_parts", Range("n"), "A(2,n,V):left sum(n)", writes="sum")

ROWS = columns(
    "short_rows",
    League("(N + share - 1) // share", team="auto 16", vector=2),
    "A(N,V) B(V,N):left x(V) k(N,V):int32 sum(N)",
    writes="sum",
    results="total",
    numbers="share",
)


def whole(shape, dtype=np.float64):
    """Small whole numbers, whose sums are exact, as Fortran has them."""
    numbers = np.random.default_rng(len(shape)).integers(-9, 10, shape)
    return np.array(numbers, dtype, order="F")


@pytest.fixture(scope="module")
def cpu():
    return get_backend("cpu", threads=2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("first", [0, 3])
def test_real_numbers(cpu, n, first, dtype):
    A, x = whole((n, V), dtype), whole((V,), dtype)
    arrays = cpu.placed(A=A, x=x, sum=np.full(n, np.nan, dtype), positive=np.full(n, np.nan, dtype))
    run = REAL.bind(arrays, cpu, quick=True, first=first)
    run()

    wanted = (A @ x)[first:]
    np.testing.assert_array_equal(arrays["sum"][first:], wanted)
    np.testing.assert_array_equal(arrays["positive"][first:], np.maximum(A, 0).sum(1)[first:])
    assert np.isnan(arrays["sum"][:first]).all()
    assert run.value("total") == wanted.sum()
    assert (run.value("most"), run.value("most_at")) == (wanted.max(), first + wanted.argmax())
    assert run.kernel.items.has_long_packs == (n - first >= MANY)


@pytest.mark.parametrize("n", SIZES)
def test_whole_numbers_and_single_lanes(cpu, n):
    A, x = whole((n, V)), whole((V,))
    k = np.random.default_rng(2).permutation(n).astype(np.int32)
    given = dict(sum=np.full(n, np.nan), moved=np.full(n, np.nan), bins=np.zeros(7, int), count=np.zeros(3, int))
    arrays = cpu.placed(A=A, x=x, k=k, **given)
    ALL.run(arrays, cpu, quick=True)

    i = np.arange(n)
    wanted = np.sqrt((abs(A) / np.arange(1.0, V + 1)).sum(1)) + x[k % V] + 0.5 * i
    # V + 4 roundings of terms without a change of sign
    np.testing.assert_allclose(arrays["sum"], wanted, rtol=(V + 4) * np.finfo(float).eps)
    np.testing.assert_array_equal(arrays["moved"][k], A[:, 1])
    np.testing.assert_array_equal(arrays["bins"], np.bincount(k % 7, minlength=7))
    np.testing.assert_array_equal(arrays["count"], [n, (k & 3).sum(), i[i % 3 == 0].sum()])


def test_functions_stay_in_registers(cpu):
    A = whole((MANY, V))
    arrays = cpu.placed(A=A, sum=np.full(MANY, np.nan))
    run = FUNCTIONS.bind(arrays, cpu, quick=True)
    run()

    assert not run.kernel.items.has_long_packs
    np.testing.assert_allclose(arrays["sum"], np.exp(-0.125 * A).sum(1), rtol=(V + 4) * np.finfo(float).eps)


@pytest.mark.parametrize("J", [1, 5, 40])
def test_several_indices(cpu, J):
    n = MANY + 133
    A, x = whole((n, J, 8)), whole((8,))
    A = np.concatenate([A] * 4, axis=2)
    A, x = np.asfortranarray(A), np.tile(x, 4)
    given = dict(sum=np.full((n, J), np.nan, order="F"), seen=np.zeros((n, J), int, order="F"))
    arrays = cpu.placed(A=A, x=x, **given)
    run = PAIRS.bind(arrays, cpu, quick=True)
    run()

    assert run.kernel.items.has_long_packs
    np.testing.assert_array_equal(arrays["sum"], A @ x)
    assert (arrays["seen"] == 1).all()


def test_every_second_number(cpu):
    n = MANY + 133
    A = whole((2, n, V))
    arrays = cpu.placed(A=A, sum=np.full(n, np.nan))
    PARTS.run(arrays, cpu, quick=True)
    np.testing.assert_array_equal(arrays["sum"], (A[0] - A[1]).sum(1))


@pytest.mark.parametrize("n", [50, 20_011])  # the caches have all rows; they do not
def test_teams_over_short_rows(cpu, n):
    A, B, x, k = whole((n, 10)), whole((10, n)), whole((10,)), whole((n, 10), np.int32)
    given = dict(A=np.ascontiguousarray(A), B=B, x=x, k=np.ascontiguousarray(k), sum=np.full(n, np.nan))
    arrays = cpu.placed(**given)
    run = ROWS.bind(arrays, cpu, quick=True, share=97)
    run()

    wanted = A @ x + B.sum(0) - B[0] + B.sum(0) - B[-1] + k.sum(1)
    np.testing.assert_array_equal(arrays["sum"], wanted)
    assert run.value("total") == (A @ x).sum()


def items_of(policy: Policy, arrays: str):
    return policy.items("a test", tuple(arrays_of("a test", arrays)))


def test_where_packs_are_long():
    """Not where columns are few, indices are few, neighbours are apart, or on a device."""
    size_of = {"n": 20_000, "V": 64, "W": 3, "J": 16}.__getitem__
    for over, arrays, extents, is_long in (
        (Range("n"), "A(n,V):left", [20_000], True),
        (Range("n"), "A(V,n)", [20_000], True),
        (Range("n"), "A(n,V):left", [1000], False),
        (Range("n"), "A(n,W):left", [20_000], False),
        (Range("n"), "A(n,V)", [20_000], False),
        (MDRange("n J"), "A(n,J,V):left", [20_000, 16], True),
        (MDRange("n J"), "A(n,J):left B(n,V):left", [20_000, 16], False),
        (MDRange("n J", tile=(8, 8)), "A(n,J,V):left", [20_000, 16], False),
    ):
        items = items_of(over, arrays)
        assert items.sized(extents, False, size_of).has_long_packs == is_long, (over, arrays)
        assert not items.sized(extents, True, size_of).has_long_packs


def test_both_packs_are_compiled_ahead(cpu):
    assert [group[0].items.has_long_packs for group in ahead_of_extents(REAL, cpu.entry)] == [False, True]
