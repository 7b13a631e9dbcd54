"""Copies to another order of dimensions against NumPy's transpose, on a CPU and on the stand-in of a device."""

import itertools

import numpy as np
import pytest

from kernels.contractions import permute
from kernels.contractions.fold import Move, Scale, dense
from kernels.engine.errors import VariantUnsuitable


@pytest.fixture(scope="module")
def be(every_backend):
    return every_backend


# indices of the source, of the target, extents: whole tiles, primes, 1, rows that are widened, many dimensions
CASES = (
    ("ab", "ba", (64, 96)),
    ("ab", "ba", (33, 71)),
    ("ab", "ba", (1, 7)),
    ("ab", "ab", (31, 17)),
    ("abc", "acb", (3, 37, 41)),
    ("abc", "bac", (5, 7, 16)),
    ("abc", "cba", (5, 13, 11)),
    ("abcdef", "fadbec", (5, 3, 4, 2, 7, 6)),
    ("abcdefgh", "hgfedcba", (2, 3, 2, 3, 2, 3, 2, 5)),
    ("a", "a", (5000,)),
    ("ab", "ba", (1, 1)),
    ("aab", "ba", (6, 5)),
)
TYPES = ("float32", "float64", "complex64", "complex128")


def numbers(shape, dtype, seed=0):
    """Small integers: scaled and added exactly."""
    rng = np.random.default_rng(seed)
    made = rng.integers(-99, 99, shape).astype(dtype)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * rng.integers(-99, 99, shape).astype(dtype)
    return made.astype(dtype)


def copy(be, source, target, moves, number=1.0, add=False, at=(0, 0)):
    """The target after a copy between flat arrays, from these places on."""
    there = [be.from_host(x, x.dtype) for x in (source, target)]
    addresses = [be.address(x) + at_ * x.dtype.itemsize for x, at_ in zip(there, at)]
    run = permute.bound(be, source.dtype.name, moves, *addresses, Scale(number, add), keep=there)
    run()
    run() if not add else None  # a second run is the same
    return be.to_host(there[1])


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[1]}-{'x'.join(map(str, c[2]))}")
@pytest.mark.parametrize("dtype", TYPES)
def test_an_order_of_dimensions(be, case, dtype):
    """target = source transposed; then minus twice the source, added. Bits are equal."""
    inside, outside, extents = case
    sizes = dict(zip(dict.fromkeys(inside), extents))
    from_, to = dense(inside, sizes), dense(outside, sizes)
    moves = [Move(sizes[i], from_[i], to[i]) for i in outside]
    source = numbers([sizes[i] for i in inside], dtype)
    wanted = np.einsum(f"{inside}->{outside}", source).ravel()
    empty = np.full(wanted.size, np.nan, dtype)

    assert np.array_equal(copy(be, source.ravel(), empty, moves), wanted)

    old = numbers(wanted.size, dtype, 1)
    assert np.array_equal(copy(be, source.ravel(), old.copy(), moves, -2.0, True), old - 2 * wanted)
    assert np.array_equal(copy(be, source.ravel(), empty, moves, 3.0), 3 * wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("at", [(1, 0), (0, 1), (3, 2)])
def test_a_part_of_larger_arrays_that_are_not_aligned(be, dtype, at):
    """Sections with gaps between rows; what lies between them keeps its bits."""
    source, target = numbers((9, 40), dtype), numbers((32, 20), dtype, 1)
    wanted = target.copy()
    wanted.ravel()[at[1] :][: 31 * 20].reshape(31, 20)[:, :7] = (
        source.ravel()[at[0] :][: 8 * 40].reshape(8, 40)[:7, :31].T
    )

    found = copy(be, source.ravel(), target.ravel(), [Move(31, 1, 20), Move(7, 40, 1)], at=at)

    assert np.array_equal(found, wanted.ravel())


@pytest.mark.parametrize("dtype", TYPES)
def test_small_copies_at_once(be, dtype):
    """Of unequal extents; numbers of one size, also where one of the copies could be wider."""
    orders = ("abcd", "cadb", (5, 7, 6, 4)), ("ab", "ba", (3, 2)), ("abc", "acb", (40, 31, 33))
    for pair in itertools.combinations_with_replacement(orders, 2):
        copies, wanted, targets = [], [], []
        for inside, outside, extents in pair:
            sizes = dict(zip(inside, extents))
            from_, to = dense(inside, sizes), dense(outside, sizes)
            values = numbers(extents, dtype)
            source, target = be.from_host(values, dtype), be.from_host(np.full(values.size, np.nan, dtype), dtype)
            moves = [Move(sizes[i], from_[i], to[i]) for i in outside]
            copies.append((moves, be.address(source), be.address(target)))
            targets.append(target)
            wanted.append((np.einsum(f"{inside}->{outside}", values).ravel(), source))

        for some in (copies, copies[:1]):
            for run in permute.together(be, dtype, some):
                run()
        for target, (values, _) in zip(targets, wanted):
            assert np.array_equal(be.to_host(target), values)


def test_a_device_copies_both_factors_in_one_launch(device_backend):
    """Also where one of them has pairs of neighbours that lie together in both orders, and the other one has none."""
    pairs = [Move(6, 2, 20), Move(10, 12, 2), Move(2, 1, 1)]
    across = [Move(6, 1, 5), Move(5, 6, 1)]
    sources = [device_backend.from_host(np.random.default_rng(3).random(n)) for n in (120, 30)]
    targets = [device_backend.from_host(np.full(n, np.nan)) for n in (120, 30)]
    addresses = zip(*(map(device_backend.address, arrays) for arrays in (sources, targets)))

    copies = [(moves, *ends) for moves, ends in zip((pairs, across), addresses)]
    (run,) = permute.together(device_backend, "float64", copies)
    run()
    a, b = map(device_backend.to_host, sources)
    found = [device_backend.to_host(target) for target in targets]
    assert np.array_equal(found[0].reshape(6, 10, 2), a.reshape(10, 6, 2).swapaxes(0, 1))
    assert np.array_equal(found[1].reshape(6, 5), b.reshape(5, 6).T)


def test_nothing_to_copy(be):
    target = np.full(4, 7.0)
    assert np.array_equal(copy(be, np.zeros(4), target, [Move(0, 1, 1), Move(4, 1, 1)]), target)


def test_one_source_for_all_extents():
    """`sources` names all kernels of a type, whatever the extents."""
    names = [source.name for source in permute.sources("threads", "float32")]
    assert names == ["permute-copy_4", "permute-copy_8", "permute-copy_16", "permute-scale_float32"]
    assert [source.name for source in permute.sources("packs", "complex128")] == [
        "permute-copy_16",
        "permute-scale_complex128",
    ]


def test_more_loops_than_the_record_has(be):
    moves = [Move(2, 3**k, 5**k) for k in range(40)]
    with pytest.raises(VariantUnsuitable, match="loops, wanted 16"):
        permute.bound(be, "float64", moves, 64, 64)


def test_tiles_have_runs_of_both_arrays():
    """Triples: abcdef from a matrix product's ade, bcf; 24 and 16 numbers at least run on in both."""
    sizes = dict(zip("abcdef", (24, 16, 16, 24, 16, 16)))
    from_, to = dense("adebcf", sizes), dense("abcdef", sizes)
    t = permute.tiling([Move(sizes[i], from_[i], to[i]) for i in "abcdef"])

    assert t.extents[5] == 16
    assert np.prod(t.extents) > permute.VOLUME / 2


@pytest.mark.parametrize("extents", [(33, 71), (5120, 5136), (1, 9), (2048, 3), (3, 2048), (100, 7, 100)])
def test_tiles_cover_a_copy(extents):
    """Tiles times their number are at least the extents, and fit."""
    sizes = dict(zip("abc", extents))
    inside = "abc"[: len(extents)]
    from_, to = dense(inside[::-1], sizes), dense(inside, sizes)
    loops = [Move(sizes[i], from_[i], to[i]) for i in inside]
    t = permute.tiling(loops)

    assert np.prod(t.extents) <= permute.VOLUME
    assert len(t.edges) <= permute.EDGES
    outer = iter(t.outer)
    for loop, extent in zip(loops, t.extents):
        turns = next(outer).extent if extent < loop.extent else 1
        assert (turns - 1) * extent < loop.extent <= turns * extent
