"""Team kernels as a user may write them, beside the exercises: exact for sizes of all kinds."""

import pathlib

import numpy as np
import pytest
from team_cases import assert_arrays, kernel

from kernels import ArgumentError, League, MDRange, Range, Sizes, get_backend

HEADER = pathlib.Path(__file__).with_name("as_written.h")


def written(name, over, **more):
    return kernel(name, over, header=HEADER, **more)


# ---- the place of the least value
LEAST = {
    (order, mark): written(
        f"least_{order.replace(' ', '_')}{mark.replace(':', '_')}",
        MDRange("I J K L", order=order),
        body="least_of_four",
        arrays=f"v(I,J,K,L){mark}",
        results=f"sum{mark} least:minloc{mark}",
    )
    for order in ("right", "left", "left right", "right left")
    for mark in ("", ":whole")
}


@pytest.mark.parametrize("order, mark", LEAST)
@pytest.mark.quick(order=["right", "left"])
def test_the_place_of_the_least_of_four_indices(be, order, mark):
    """The first of two equal ones; -1 of none. Whole numbers, so that sums are exact."""
    rng = np.random.default_rng(4)
    large = (13, 11, 29, 67) if be.style == "packs" else (3, 2, 5, 33)
    for shape in ((1, 1, 1, 1), (3, 5, 7, 11), (2, 1, 9, 300), (0, 3, 4, 5), large):
        v = rng.integers(-(10**6), 10**6, shape)
        if v.size > 9:
            v.ravel()[[3, 8]] = v.min() - 1
        arrays = be.placed(v=v if mark else v.astype(float))
        got = LEAST[order, mark].run(arrays, be, quick=True)

        assert got["sum"] == v.sum()
        assert got["least_at"] == (v.argmin() if v.size else -1)
        if v.size:
            assert got["least"] == v.min()


# ---- scattered sums
WEIGHTED = {
    kind: written(
        f"weighted_{kind}",
        Range("n"),
        body="weighted",
        arrays=f"bin(n):{kind} w(n) count(bins):{kind}:scatter weight(bins):scatter",
        writes="count weight",
    )
    for kind in ("int32", "whole")
}


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("kind", WEIGHTED)
def test_a_histogram_by_scattered_arrays(kind, threads):
    """No number, one and many, in one bin and in many. Weights are integers, so that sums are exact."""
    rng, backend = np.random.default_rng(7), get_backend("cpu", threads=threads)
    for n in (0, 1, 7, 100003):
        for bins in (1, 7, 1000):
            bin_ = rng.integers(0, bins, n).astype(np.int32 if kind == "int32" else np.int64)
            w, count, weight = rng.integers(-9, 9, n).astype(float), np.zeros(bins, bin_.dtype), np.zeros(bins)
            WEIGHTED[kind].run({"bin": bin_, "w": w, "count": count, "weight": weight}, backend, quick=True)

            np.testing.assert_array_equal(count, np.bincount(bin_, minlength=bins))
            np.testing.assert_array_equal(weight, np.bincount(bin_, w, minlength=bins))


# ---- whole numbers in formulas and conditions
FORMULAS = written(
    "whole_formulas",
    Range("n"),
    arrays="k(n):int32 turns(n):whole quotient(n):whole rest(n):whole bits(n):whole x(n) A(n1,n2)",
    writes="k turns quotient rest bits x",
    results="count:whole sum",
)


@pytest.mark.parametrize("n2", [1, 5, 16])
def test_whole_numbers_in_formulas(be, n2):
    """Quotients, rests, bits, comparisons of indices and of what is read at them, against NumPy's; C rounds towards 0.
    The last pack has lanes beyond the end, where a division by i + 1 might be one by zero."""
    n1 = 7
    n = n1 * n2
    rng, i = np.random.default_rng(n), np.arange(n)
    k, x, A = rng.integers(-9, 9, n).astype(np.int32), rng.integers(0, 9, n) * 1.0, rng.integers(0, 9, (n1, n2)) * 1.0
    whole = {name: np.zeros(n, np.int64) for name in ("turns", "quotient", "rest", "bits")}
    arrays = be.placed(k=k.copy(), x=x.copy(), A=A, **whole)
    got = FORMULAS.run(arrays, be, quick=True)

    found = {name: be.to_host(array) for name, array in arrays.items()}
    wide = k.astype(np.int64)
    np.testing.assert_array_equal(found["quotient"], np.trunc(wide / 3) + i // 7 + 1000 // (i + 1))
    np.testing.assert_array_equal(found["rest"], np.fmod(wide, 5) - i % 4)
    np.testing.assert_array_equal(found["bits"], ((wide & 12) | (i << 2)) ^ (wide >> 1))
    np.testing.assert_array_equal(found["k"], (k + 10) * 2 + i)
    np.testing.assert_array_equal(found["turns"], np.full(n, 2))
    new = np.where(i % 2 == 0, x / 2 + 1, A.ravel())
    np.testing.assert_array_equal(found["x"], new)
    assert got == {"count": (k == 3).sum() + min(n, 2), "sum": (new > 4).sum()}


# ---- targets of four bytes, of one
SMALL = written(
    "small_targets",
    League("1", team=1),
    arrays="k(n):int32 x(n) out(3,10):whole told(team):whole",
    writes="out told",
)


@pytest.mark.parametrize("team, vector", [(1, 1), (3, 8), (33, 2)])
def test_targets_of_four_bytes_and_of_one(be, team, vector):
    """`int`, `float` and `bool` variables, with the neutral elements of their own types."""
    for n in (1, 5, 101):
        k = np.random.default_rng(n).integers(-9, 9, n).astype(np.int32)
        arrays = be.placed(k=k, x=k * 10.0, out=np.zeros((3, 10), np.int64), told=np.zeros(team, np.int64))
        SMALL.run(arrays, be, Sizes(team, vector), quick=True)

        most, least = k.max(), k.min()
        bits = np.bitwise_or.reduce(k)
        wanted = [k.sum(), most, least, bits, most * 10, (k > -7).all(), (k > 5).any(), k.argmin(), least, most]
        assert_arrays(be, arrays, out=[wanted] * 3, told=np.ones(team))


def test_an_array_with_a_number_for_each_member():
    """Extents that name `team` follow the sizes of the call: another array than that is refused, not written beyond."""
    arrays = dict(k=np.ones(5, np.int32), x=np.ones(5), out=np.zeros((3, 10), int), told=np.zeros(3, int))
    with pytest.raises(ArgumentError, match="array 'told', extent team: 3, wanted 64"):
        SMALL.bind(arrays, "cpu", Sizes(64, 2))


# ---- variables
SWAPPED = written("exchanged", Range("n"), arrays="x(n) y(n) z(n) k(n):int32 before(n):whole", writes="x y z k before")
TURNED = written(
    "turned_in_scratch",
    League("1", team=16, scratch={"team 0": "s(n)"}),
    arrays="x(n) y(n) z(n)",
    writes="x y z",
)


def test_a_variable_has_the_value_from_before(be):
    n = 21
    x, y, k = np.arange(n) + 1.0, np.arange(n) + 100.0, np.arange(n, dtype=np.int32)
    arrays = be.placed(x=x.copy(), y=y.copy(), z=np.zeros(n), k=k.copy(), before=np.zeros(n, np.int64))
    SWAPPED.run(arrays, be, quick=True)
    for name, wanted in dict(x=y, y=x, z=y, k=k + 1, before=k).items():
        np.testing.assert_array_equal(be.to_host(arrays[name]), wanted, err_msg=name)


@pytest.mark.parametrize("check", [False, True])
def test_a_variable_has_the_value_of_scratch_from_before(be, check):
    """With several members and check mode, too: the read is where the variable is written, ahead of the barrier."""
    if check and be.style != "packs":
        pytest.skip("check mode is for a CPU")
    x = np.arange(16) + 1.0
    arrays = be.placed(x=x.copy(), y=np.zeros(16), z=np.zeros(16))
    TURNED.run(arrays, be, check=check, quick=True)
    for name, wanted in dict(y=np.roll(x, -1) + 0.5, z=np.full(16, -1.0), x=(x + 1) / 2).items():
        np.testing.assert_array_equal(be.to_host(arrays[name]), wanted, err_msg=name)


# ---- indices as numbers
INDICES = written(
    "values_of_indices",
    MDRange("I J"),
    arrays="sum(I,J) scaled(I,J) product(I,J) chosen(I,J) whole(I,J):whole",
    writes="sum scaled product chosen whole",
)


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_indices_among_real_numbers(be, kind):
    """0.5 i is half of an index, not a product with 0: whole, and half, and quarter numbers are exact."""
    i, j = np.ogrid[:9, :37]
    wanted = {
        "sum": i + 10 * j,
        "scaled": 0.5 * i - j / 4 + 2.5,
        "product": i * j,
        "chosen": np.where(0.75 * i < 2, 1.5 * i, 3.0 - j),
        "whole": 3 * i - j,
    }
    arrays = be.placed(**{name: np.full((9, 37), -7, kind if name != "whole" else "int64") for name in wanted})
    INDICES.run(arrays, be, quick=True)
    for name, values in wanted.items():
        np.testing.assert_array_equal(be.to_host(arrays[name]), np.broadcast_to(values, (9, 37)), name)


EQUAL = written(
    "equal_numbers",
    Range("n"),
    arrays="k(n):int32 big(n):whole flag(n):logical x(n) y(n) r(n):real32 "
    "out(6,n) told(n):stream at(n):whole chosen(3,n):whole",
    writes="out told at chosen",
    numbers="mode",
)


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("mode", [0, 3])
def test_numbers_that_are_equal_and_conditions_of_all(be, mode, check):
    """NaN equals nothing. A condition that is stored is 1 or 0. Whole numbers beyond 2^53 stay as they are."""
    if check and be.style != "packs":
        pytest.skip("check mode is for a CPU")
    n = 37
    rng = np.random.default_rng(mode)
    k, flag = (rng.integers(-1, 3, n).astype(np.int32) for _ in range(2))
    x, y, r = rng.integers(0, 3, n) / 2, rng.integers(0, 3, n) / 2, rng.integers(0, 3, n).astype(np.float32) / 2
    x[5] = y[5] = y[7] = np.nan
    big = rng.integers(2**60, 2**62, n)
    arrays = be.placed(k=k, big=big, flag=flag, x=x, y=y, r=r, out=np.zeros((6, n)), told=np.zeros(n))
    arrays |= be.placed(at=np.zeros(n, int), chosen=np.zeros((3, n), int))
    EQUAL.run(arrays, be, mode=mode, check=check, quick=True)

    i, is_3, same, is_set = np.arange(n), mode == 3, x == y, flag != 0
    wanted = [
        same + 2 * (x != 0.5) + 4 * (k == x),
        ((i == 2.5) | (r == y)) + 2 * (k != 1.5),
        (is_3 & (x > 0.5)) + 2 * (is_set | (mode == 0)),
        (~np.bool_(is_3) | (k > 1)) + 2 * (is_set & is_3),
        same != (k > 1),
        same == ~is_set,
    ]
    assert_arrays(be, arrays, out=np.array(wanted, float), told=x == 0.5, at=i[::-1])
    chosen = [big, 7 + i[::-1], big[::-1]] if is_3 else [i, big + k, big]
    assert_arrays(be, arrays, chosen=chosen)
