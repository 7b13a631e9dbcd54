"""Stripes from Fortran bounds: the CPU backend's gather and scatter against the NumPy reference, and every bound that
is refused."""

import numpy as np
import pytest
from reference import stripe as reference

import kernels
from frame import stripe
from frame.errors import ArgumentError, BadNumber
from kernels.marshal import Marshal

BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
NO_BOUNDS = (None, None, None, None)


def field(name, address, shape, strides=None, lower=None, size=8):
    """A host's array as the Fortran module describes it. strides: bytes, default: one after the other."""
    strides = strides or np.cumprod([size, *shape[:-1]]).tolist()
    return stripe.Field(name, False, address, tuple(shape), tuple(strides), tuple(lower or [1] * len(shape)), size)


def box(*bounds):
    return (*bounds, *[None] * (4 - len(bounds)))


def random_selection(rng):
    """An array (nx, ny, nz, nv) and a selection in it. Fringes have any width on each face; an extent of 1 is
    frequent."""
    shape = [int(rng.integers(1, 9)) for _ in range(3)] + [int(rng.integers(1, 5))]
    lo = [int(rng.integers(0, m)) for m in shape]
    n = [int(rng.integers(1, m - a + 1)) for m, a in zip(shape, lo)]
    array = np.asfortranarray(rng.normal(size=shape))
    bounds = [x for a, m in zip(lo, n) for x in (a + 1, a + m)]

    return array, lo, n, bounds


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(60))
def test_gather_and_scatter_against_the_reference(backend, seed):
    rng = np.random.default_rng(seed)
    be = kernels.get_backend(backend)
    array, lo, n, bounds = random_selection(rng)
    block = stripe.block_from_bounds(array.ctypes.data, array.shape[:3], bounds)
    total = block.points
    chunk = int(rng.integers(1, total + 3))
    target = np.asfortranarray(rng.normal(size=array.shape))
    wanted = target.copy(order="F")
    out = stripe.block_from_bounds(target.ctypes.data, target.shape[:3], bounds)

    for first in range(1, total + 1, chunk):
        last = min(first + chunk - 1, total)
        count = stripe.check_stripe(block, first, last, chunk)
        view = be.from_host(np.full((n[3], be.pad(chunk)), np.nan))
        Marshal(be).gather(block, first - 1, count, view)
        got = be.to_host(view)

        np.testing.assert_array_equal(got[:, :count], reference.gather(array, lo, n, first - 1, count))
        assert np.isnan(got[:, count:]).all()  # the rest of the view is unchanged

        wanted = reference.scatter(wanted, lo, n, first - 1, got[:, :count])
        Marshal(be).scatter(out, first - 1, count, view)

    np.testing.assert_array_equal(target, wanted)  # fringe and other variables are unchanged


@pytest.mark.parametrize("seed", range(20))
def test_any_strides(seed):
    """Sections with strides of any sign and step, as Fortran passes them."""
    rng = np.random.default_rng(100 + seed)
    be = kernels.get_backend("cpu")
    base = np.asfortranarray(rng.normal(size=(9, 8, 7, 3)))
    cuts = tuple(slice(None, None, int(rng.choice([1, 2, -1, -2]))) for _ in range(3))
    section = base[cuts]
    block = stripe.block_from_field(
        field("Y", section.ctypes.data, section.shape, section.strides), NO_BOUNDS, NO_BOUNDS, 3
    )
    count = block.points
    view = be.empty((3, be.pad(count)))
    Marshal(be).gather(block, 0, count, view)

    np.testing.assert_array_equal(view[:, :count], reference.gather(section, (0, 0, 0, 0), section.shape, 0, count))

    changed = base.copy(order="F")
    changed[cuts] += 1
    view += 1
    Marshal(be).scatter(block, 0, count, view)

    np.testing.assert_array_equal(base, changed)


@pytest.mark.parametrize("apart", [True, False], ids=["an array each", "one array"])
@pytest.mark.parametrize("species", [2, 9, 200])
@pytest.mark.parametrize("step", [1, -1, 2])
def test_species_first(step, species, apart):
    """Q(ns, nx, ny, nz), whose points lie ns numbers apart, forwards, backwards and every second: tiles of points are
    copied species by species, from any point to any other, and nothing else is written."""
    rng = np.random.default_rng(species)
    array = np.asfortranarray(rng.normal(size=(species, 2 * 37, 5, 3)))
    points = np.moveaxis(array[:, ::step], 0, 3)

    if apart:
        fields = tuple(
            field("Y", points[..., s].__array_interface__["data"][0], points.shape[:3], points.strides[:3])
            for s in range(species)
        )
    else:
        fields = (field("Y", points.__array_interface__["data"][0], points.shape, points.strides),)
    block = stripe.block_from_fields(fields, NO_BOUNDS, NO_BOUNDS, species)

    first, count = 29, block.points - 29 - 11
    wanted = points.reshape(-1, species, order="F")[first : first + count].T.copy()
    be = kernels.get_backend("cpu")
    view = np.full((species, be.pad(count)), np.nan)
    Marshal(be).gather(block, first, count, view)
    np.testing.assert_array_equal(view[:, :count], wanted)
    assert np.isnan(view[:, count:]).all()

    before = array.copy()
    view[:, :count] += 1
    Marshal(be).scatter(block, first, count, view)
    after = points.reshape(-1, species, order="F")[first : first + count].T
    np.testing.assert_array_equal(after, wanted + 1)
    assert (array != before).sum() == wanted.size


@pytest.mark.parametrize(
    "shape, rows", [((5,), 1), ((5, 4), 1), ((5, 4, 3), 1), ((5, 4, 3, 1), 1), ((5, 4, 3, 1, 1), 1)]
)
def test_fields_of_every_rank(shape, rows):
    block = stripe.block_from_field(field("T", 1 << 20, shape), NO_BOUNDS, NO_BOUNDS, rows)
    assert block.points == np.prod(shape) and block.n[3] == rows


@pytest.mark.parametrize(
    "shape, rows, n, per_variable",
    [
        ((6,), 6, (1, 1, 1, 6), 1),
        ((5, 6), 6, (5, 1, 1, 6), 5),
        ((5, 4, 6), 6, (5, 4, 1, 6), 20),
        ((5, 4, 3, 6), 6, (5, 4, 3, 6), 60),
        ((5, 4, 3, 2, 3), 6, (5, 4, 3, 6), 60),
        ((5, 4, 3, 1, 6), 6, (5, 4, 3, 6), 60),
        ((5, 4, 3, 6, 1), 6, (5, 4, 3, 6), 60),
    ],
)
def test_variables_come_last(shape, rows, n, per_variable):
    """Dimensions 4 and 5 are one list of variables, the former fastest."""
    block = stripe.block_from_field(field("Y", 1 << 20, shape), NO_BOUNDS, NO_BOUNDS, rows)
    assert block.n == n and block.strides[3] == per_variable


def test_boxes_are_in_the_bounds_of_each_array():
    whole = field("T", 1 << 20, (10, 8), lower=(-1, 0))
    block = stripe.block_from_field(whole, box(1, 1), box(6, 6), 1)

    assert block.lo[:2] == (2, 1) and block.n[:2] == (6, 6)
    assert stripe.point(block, 0) == (1, 1, 1) and stripe.point(block, 7) == (2, 2, 1)

    inner = stripe.block_from_field(field("T", 1 << 20, (6, 6)), box(1, 1), box(6, 6), 1)

    assert inner.lo[:2] == (0, 0) and inner.n == block.n

    upper = stripe.block_from_field(whole, box(None, 3), NO_BOUNDS, 1)

    assert upper.lo[:2] == (0, 3) and upper.n[:2] == (10, 5)


def test_points_are_numbered_x_fastest():
    block = stripe.block_from_bounds(1 << 20, (6, 5, 4), (2, 4, 3, 4, 1, 3, 1, 1))
    order = [(i, j, k) for k in range(1, 4) for j in range(3, 5) for i in range(2, 5)]
    assert [stripe.point(block, t) for t in range(block.points)] == order


@pytest.mark.parametrize(
    "bounds, words",
    [
        ((0, 3, 1, 1, 1, 1, 1, 1), "SptX, EptX = 0, 3"),
        ((1, 7, 1, 1, 1, 1, 1, 1), "SptX <= EptX <= 6"),
        ((4, 2, 1, 1, 1, 1, 1, 1), "SptX, EptX = 4, 2"),
        ((1, 6, -1, 5, 1, 1, 1, 1), "SptY, EptY = -1, 5"),
        ((1, 6, 1, 6, 1, 1, 1, 1), "SptY <= EptY <= 5"),
        ((1, 6, 1, 5, 1, 5, 1, 1), "SptZ"),
        ((1, 6, 1, 5, 1, 4, 0, 1), "SptData, EptData = 0, 1"),
        ((1, 6, 1, 5, 1, 4, 3, 2), "SptData, EptData = 3, 2"),
        ((1, 6, 1, 5, 1, 4, 1, 0), "SptData"),
    ],
)
def test_bounds_outside_the_block_are_named(bounds, words):
    with pytest.raises(ArgumentError) as error:
        stripe.block_from_bounds(1 << 20, (6, 5, 4), bounds)
    assert words in str(error.value) and isinstance(error.value, BadNumber)


@pytest.mark.parametrize(
    "first, last, words",
    [(0, 5, "1..120"), (1, 121, "1..120"), (5, 4, "5..4"), (1, 101, "more than the chunk's 100"), (-3, -1, "-3")],
)
def test_stripes_outside_the_selection_are_named(first, last, words):
    block = stripe.block_from_bounds(1 << 20, (6, 5, 4), (1, 6, 1, 5, 1, 4, 1, 1))
    with pytest.raises(ArgumentError, match=words.replace(".", r"\.")):
        stripe.check_stripe(block, first, last, 100)
    assert stripe.check_stripe(block, 21, 120, 100) == 100


@pytest.mark.parametrize(
    "array, rows, lo, hi, words",
    [
        (dict(shape=(6, 5, 4, 2)), 1, (), (), "last dimension of 1 variable"),
        (dict(shape=(6, 5, 4)), 3, (), (), "last dimension of 3 variables"),
        (dict(shape=(6, 5, 4, 2, 2)), 3, (), (), "product of the last two dimensions of 3 variables"),
        (dict(shape=(6, 5)), 1, (1, 1, 1), (), "2 dimensions in space, lo has more than 2 bounds"),
        (dict(shape=(6, 5)), 1, (), (6, 6), "bounds (1:6, 1:5), which do not contain the box (1:6, 1:6)"),
        (
            dict(shape=(6, 5), lower=(-1, 0)),
            1,
            (-2,),
            (),
            "bounds (-1:4, 0:4), which do not contain the box (-2:4, 0:4)",
        ),
        (dict(shape=(6, 5), strides=(12, 72)), 1, (), (), "strides of (12, 72) bytes, wanted multiples of 8"),
        (dict(shape=(6, 5, 4, 1, 1, 1)), 1, (), (), "has 6 dimensions, wanted up to 5"),
        (dict(shape=(2, 2, 2, 2, 2), strides=(8, 16, 32, 64, 256)), 4, (), (), "a section in its last two dimensions"),
    ],
)
def test_fields_that_do_not_fit_are_named(array, rows, lo, hi, words):
    with pytest.raises(ArgumentError) as error:
        stripe.block_from_field(field("T", 1 << 20, **array), box(*lo), box(*hi), rows)
    assert words in str(error.value) and str(error.value).startswith("array for 'T'")


@pytest.mark.parametrize(
    "shape, lo, hi",
    [
        ((0, 5), (), ()),
        ((4, 0, 3), (3, 2), (-2, 4)),
        ((6, 5), (3,), (2,)),
        ((6, 5), (), (0,)),
        ((6, 5), (4, 1), (-3, 99)),
        ((0, 5), (1, 1), (6, 5)),
    ],
)
def test_selections_without_points(shape, lo, hi):
    assert stripe.block_from_field(field("T", 0, shape), box(*lo), box(*hi), 1).points == 0

    empty = stripe.block_from_bounds(1 << 20, (6, 5, 4), (1, 6, 3, 2, 1, 4, 1, 1))
    assert empty.points == 0
    with pytest.raises(ArgumentError, match=r"no points are selected by SptY, EptY = 3, 2, so there is no stripe 1..1"):
        stripe.check_stripe(empty, 1, 1, 100)


@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_share_the_points(threads, past):
    """Any number of threads, stores past the caches or not: the same numbers, in long lines and in short ones."""
    rng = np.random.default_rng(threads)
    be = kernels.get_backend("cpu", threads=threads)

    for shape in ((70, 9, 5, 3), (3, 40, 11, 2), (1, 200, 3, 1)):
        array = np.asfortranarray(rng.normal(size=shape).astype(rng.choice(["f4", "f8"])))
        block = stripe.block_from_field(
            field("Y", array.ctypes.data, shape, array.strides, size=array.itemsize), NO_BOUNDS, NO_BOUNDS, shape[3]
        )
        start, count = 13, block.points - 20
        view = be.empty((shape[3], be.pad(count) + 40))
        view[...] = np.nan
        Marshal(be).moves("gather", [(block, view)], past).run(start, count, 24)
        wanted = reference.gather(array, (0, 0, 0, 0), shape, start, count)

        np.testing.assert_array_equal(view[:, 24 : 24 + count], wanted)
        assert np.isnan(view[:, :24]).all() and np.isnan(view[:, 24 + count :]).all()

        target = array.copy(order="F")
        other = stripe.block_from_field(
            field("Y", target.ctypes.data, shape, target.strides, size=target.itemsize), NO_BOUNDS, NO_BOUNDS, shape[3]
        )
        Marshal(be).moves("scatter", [(other, -view)], past).run(start, count, 24)
        kept = reference.scatter(array.copy(order="F"), (0, 0, 0, 0), shape, start, -wanted)

        np.testing.assert_array_equal(target, kept)
