"""Folding of a product of two arrays to matrix products: every way gives einsum's numbers, without needless copies."""

import itertools
import math

import numpy as np
import pytest

from kernels.contractions.fold import LEFT, OUT, RIGHT, Move, collapsed, dense, fold, roles, ways
from kernels.contractions.plan import Unable

TEXTS = (
    "ik,kj->ij",  # a plain product
    "ki,jk->ji",  # everything transposed
    "eik,ekj->eij",  # a batch
    "iek,kje->jei",  # a batch that is fast or in the middle
    "bda,dc->abc",  # the output interleaves m and n
    "dbea,ec->abcd",
    "aebf,dfce->abcd",  # four by four indices, summed over two
    "dega,gfbc->abcdef",  # triples
    "k,k->",  # inner product
    "i,j->ij",  # outer product
    "ik,k->i",  # matrix and vector
    "iki,kj->ij",  # a diagonal
)
EXTENTS = dict(zip("abcdefgijk", (2, 3, 5, 7, 2, 3, 5, 4, 3, 6)))


def folded(text, extents=EXTENTS):
    """(fold, arrays of integers of left and right, indices of out, left, right)"""
    inputs, out = text.split("->")
    left, right = inputs.split(",")
    rng = np.random.default_rng(3)
    arrays = [rng.integers(-9, 9, [extents[i] for i in x]).astype(float) for x in (left, right)]
    return fold(extents, *(dense(x, extents) for x in (out, left, right))), arrays, (out, left, right)


def with_moves(moves, source, target):
    """target[...] = source[...] over the loops of a copy, number by number."""
    for turn in itertools.product(*(range(m.extent) for m in moves)):
        at = sum(t * m.target for t, m in zip(turn, moves))
        target[at] = source[sum(t * m.source for t, m in zip(turn, moves))]


def view(flat, array, *axes, at=0):
    """Numbers of a flat array along some axes."""
    strides = [8 * axis.step[array] for axis in axes]
    return np.lib.stride_tricks.as_strided(flat[at:], [axis.extent for axis in axes], strides)


def multiplied(way, left, right, size):
    """The output of a way as flat numbers, by NumPy's product of matrices: what a library does, call by call."""
    flat = [np.zeros(size), left.ravel().copy(), right.ravel().copy()]
    worked = list(flat)
    for array in (OUT, LEFT, RIGHT):
        if way.copied[array]:
            worked[array] = np.zeros(math.prod(m.extent for m in way.copies[array]) if way.copies[array] else 1)
            with_moves(way.copies[array], flat[array], worked[array])

    axes = (*way.loops, *way.sums)
    for turn in itertools.product(*(range(axis.extent) for axis in axes)):
        at = [sum(t * axis.step[array] for t, axis in zip(turn, axes)) for array in range(3)]
        a = view(worked[LEFT], LEFT, way.m, way.k, at=at[LEFT])
        b = view(worked[RIGHT], RIGHT, way.k, way.n, at=at[RIGHT])
        view(worked[OUT], OUT, way.m, way.n, at=at[OUT])[...] += a @ b

    if way.copied[OUT]:
        back = [m._replace(source=m.target, target=m.source) for m in way.copies[OUT]]
        with_moves(back, worked[OUT], flat[OUT])
    return flat[OUT]


@pytest.mark.parametrize("text", TEXTS)
def test_every_way_is_einsum(text):
    """Integers: each order of the sums gives the same number."""
    f, arrays, (out, *_) = folded(text)
    wanted = np.einsum(text, *arrays)

    found = ways(f)

    assert found
    for way in found:
        assert np.array_equal(multiplied(way, *arrays, wanted.size).reshape(wanted.shape), wanted), way


@pytest.mark.parametrize("text", TEXTS)
def test_a_call_reads_arrays_as_a_matrix_library_can(text):
    """In each array the numbers of the faster axis, rows or columns, lie side by side, and lines do not overlap."""
    f, _, _ = folded(text)

    for way in ways(f):
        for array, (one, other) in ((OUT, (way.m, way.n)), (LEFT, (way.m, way.k)), (RIGHT, (way.k, way.n))):
            pairs = [(one, other), (other, one)]
            lines = [fast for fast, slow in pairs if fast.extent == 1 or fast.step[array] == 1]
            assert lines, (way, array)
            assert any(slow.extent == 1 or slow.step[array] >= fast.extent for fast, slow in pairs if fast in lines)


@pytest.mark.parametrize("text", ["ik,kj->ij", "ki,jk->ji", "eik,ekj->eij", "adc,bdc->ab", "acd,db->acb"])
def test_a_product_in_disguise_is_copied_nowhere(text):
    f, _, _ = folded(text)

    assert any(not any(way.copied) and math.prod(a.extent for a in way.sums) == 1 for way in ways(f))


def test_what_needs_a_copy_has_no_way_without():
    """dbea, ec -> abcd: a is fast in the left array alone, d in the output alone."""
    f, _, _ = folded("dbea,ec->abcd")

    assert all(any(way.copied) for way in ways(f))


def test_groups_and_orders():
    """Indices that lie side by side in both arrays are one axis; others stay apart."""
    f, _, _ = folded("dega,gfbc->abcdef")

    assert [axis.indices for axis in f.m] == [("a",), ("d", "e")]
    assert [axis.indices for axis in f.n] == [("b", "c"), ("f",)]
    assert [axis.indices for axis in f.k] == [("g",)]
    assert f.batch == ()
    assert [(name, axis.indices) for name, axis in f.order(LEFT)] == [("m", ("d", "e")), ("k", ("g",)), ("m", ("a",))]
    assert f.numbers(OUT) == 2 * 3 * 5 * 7 * 2 * 3


def test_the_batch_is_free_of_order():
    assert roles("jei", "iek", "kje") == {"j": "n", "e": "batch", "i": "m", "k": "k"}


def test_extents_of_one_vanish():
    f, _, _ = folded("aebf,dfce->abcd", dict.fromkeys("abcdef", 1))

    assert (f.m, f.n, f.k, f.batch) == ((), (), (), ())
    assert ways(f)[0].calls == 1


def test_an_index_of_one_array_alone_is_refused():
    with pytest.raises(Unable, match="the left factor alone, such as 'x'"):
        folded("axk,kj->aj", {"a": 2, "x": 3, "k": 4, "j": 5})


def test_loops_of_a_copy_that_run_on_are_one():
    """[2][3][4] to [4][2][3]: two loops stay."""
    moves = (Move(2, 12, 3), Move(3, 4, 1), Move(4, 1, 6))

    assert collapsed(moves) == (Move(6, 4, 1), Move(4, 1, 6))
