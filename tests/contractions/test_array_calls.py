"""Calls that C looks at (engine/backend/array_calls.py): the last call of a string is made again if its arrays lie as
they did, and no other one."""

import numpy as np
import pytest

from kernels import contract, einsum
from kernels.contractions import repeats
from kernels.engine.backend import array_calls
from kernels.engine.errors import ArgumentError
from kernels.engine.timers import timed

TEXTS = {  # by a kernel, by a matrix library, with dimensions in another order
    "i->": ((50,),),
    "ij,j->i": ((5, 6), (6,)),
    "ab,bc,cd->ad": ((3, 4), (4, 5), (5, 2)),
    "ij,jk->ik": ((8, 8), (8, 8)),
    "ij,j->ji": ((70, 80), (80,)),
    "ii,ij->j": ((6, 6), (6, 7)),
}


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    """No call from before."""
    monkeypatch.setattr(repeats, "kept", repeats.Kept())
    return repeats.kept


def whole(rng, shape, dtype="float64"):
    """Small whole numbers, whose sums are exact."""
    return rng.integers(-3, 4, shape).astype(dtype)


def with_gaps(a):
    room = np.full((*a.shape[:-1], 2 * a.shape[-1]), np.nan, a.dtype)
    room[..., ::2] = a
    return room[..., ::2]


def test_arrays_lie_in_memory_as_c_has_them():
    """On CPython; NumPy's array object is part of its binary interface."""
    assert len(array_calls._functions()) == array_calls.MOST


@pytest.mark.parametrize("text", TEXTS)
def test_values_are_of_the_arrays_of_now(text, kept):
    """With a new result and a given one; calls in turns with arrays of other types, extents and strides."""
    rng = np.random.default_rng(0)
    for turn in range(3):
        for dtype in ("float64", "float32", "complex128"):
            arrays = [whole(rng, shape, dtype) for shape in TEXTS[text]]
            larger = [np.concatenate([a, a]) for a in arrays] if text == "i->" else arrays
            for given in (arrays, larger, [with_gaps(a) for a in arrays], [np.flip(np.flip(a).copy()) for a in arrays]):
                wanted = np.einsum(text, *given)
                out = np.full(wanted.shape, np.nan, dtype)
                for function in (einsum, contract):
                    found = function(text, *given)
                    assert found.dtype == dtype and np.array_equal(found, wanted), (turn, dtype)
                    assert function(text, *given, out=out) is out and np.array_equal(out, wanted), (turn, dtype)
    assert text in kept.last and (text, None, repeats.USUAL_GIVEN) in kept.last


@pytest.mark.parametrize("text", ["ij,j->i", "ij,jk->ik"])
def test_outputs_are_checked_at_each_call(text):
    """A result that may not be written, or of another shape. Over an operand's memory it is computed apart."""
    rng = np.random.default_rng(1)
    room = np.zeros(200)
    arrays = [whole(rng, shape) for shape in TEXTS[text]]
    shape = np.einsum(text, *arrays).shape
    out = room[: np.prod(shape)].reshape(shape)
    for _ in range(3):
        einsum(text, *arrays, out=out)

    fixed = out.copy()
    fixed.flags.writeable = False
    inside = [room[3 : 3 + a.size].reshape(a.shape) for a in arrays]
    for wrong, given in ((fixed, arrays), (np.zeros((*shape, 1)), arrays)):
        with pytest.raises(ArgumentError):
            einsum(text, *given, out=wrong)
    room[:] = whole(rng, 200)
    given = [inside[0], *arrays[1:]]
    wanted = np.einsum(text, *given)
    assert np.array_equal(einsum(text, *given, out=out), wanted)
    beside = [room[100 : 100 + a.size].reshape(a.shape) for a in arrays]
    assert np.array_equal(einsum(text, *beside, out=out), np.einsum(text, *beside))


def test_what_is_no_plain_array():
    """Arrays of another class, lists and numbers come between calls with arrays."""
    a, b = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    for _ in range(3):
        for one in (a, a.view(np.recarray), a.tolist(), a.astype(int)):
            assert np.array_equal(einsum("ij,j->i", one, b), a @ b)
        assert np.array_equal(einsum(",j->j", 2.0, b), 2 * b)
        with pytest.raises(ArgumentError):
            einsum("ij,j->i", a)


def test_an_array_that_changes_its_shape():
    """In place: the object is the same."""
    a = np.arange(12.0).reshape(3, 4)
    for _ in range(3):
        for shape in ((3, 4), (4, 3), (2, 6)):
            a.shape = shape
            assert np.array_equal(einsum("ij->i", a), a.sum(1))


def test_timers_see_calls_that_come_again():
    a = np.ones((4, 5))
    for _ in range(3):
        einsum("ij->i", a)
    with timed() as times:
        einsum("ij->i", a)
    assert [t.calls for t in times.values()] == [1]


@pytest.mark.parametrize(
    "text, shape", [("ii->i", (4, 4)), ("bii->ib", (3, 4, 4)), ("ijij->ji", (2, 3, 2, 3)), ("iii->i", (5,) * 3)]
)
def test_views_of_diagonals(text, shape):
    """As NumPy's: written through, unless the array may not be."""
    a = np.arange(float(np.prod(shape))).reshape(shape)
    for array in (a, a[..., ::-1], np.asfortranarray(a), with_gaps(a)):
        view, wanted = einsum(text, array), np.einsum(text, array)
        assert np.array_equal(view, wanted) and view.strides == wanted.strides and view.base is not None
        view[...] = -1
        assert np.all(wanted == -1)
    a.flags.writeable = False
    assert not einsum(text, a).flags.writeable
    with pytest.raises(ArgumentError):
        einsum(text, np.ones((*shape[:-1], 7)))
