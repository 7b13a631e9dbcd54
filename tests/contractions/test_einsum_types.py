"""Types of numbers in einsum beside numpy.einsum: promotion, casting, whole numbers, half precision.

Small whole numbers come exactly in every type.
"""

import itertools

import numpy as np
import pytest
from tensor_cases import DTYPES, whole

from kernels import contract, einsum
from kernels.contractions import as_numpy
from kernels.engine.errors import ArgumentError

pytestmark = pytest.mark.filterwarnings("error")  # such as of a lost imaginary part


@pytest.mark.parametrize("one, other", list(itertools.product(DTYPES, DTYPES)))
@pytest.mark.quick(one="complex64", other=["complex64", "float64"])
@pytest.mark.quick(one="float32", other="complex128")
def test_types_are_promoted_as_numpy_does(one, other):
    """Whole numbers, exact in all types: a product of two complex numbers has four real ones."""
    rng = np.random.default_rng(0)
    a, b, c = whole(rng, (3, 4), one), whole(rng, (4, 5), other), whole(rng, (5, 3), one)

    for text, given in (("ij,jk->ik", (a, b)), ("ij,jk,kl->il", (a, b, c)), ("ij,jk,ki->", (a, b, c))):
        found, wanted = contract(text, *given), np.einsum(text, *given)
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted)


def test_half_precision_is_computed_in_single():
    x = np.arange(1, 9, dtype=np.float16)
    found = contract("i,i->", x, x)
    assert found.dtype == np.float16 and found == 204


def test_a_wider_output_sets_the_type():
    a = np.full((2, 2), 0.1, np.float32)
    for dtype in (np.float64, np.complex128):
        out = np.empty((2, 2), dtype)
        assert contract("ij,jk->ik", a, a, out=out) is out
        np.testing.assert_array_equal(out, a.astype(dtype) @ a.astype(dtype))


CASTS = [
    ("f8", "f8", {"out": "f4", "casting": "same_kind"}),
    ("f8", "f8", {"out": "f4", "casting": "unsafe"}),
    ("i4", "i4", {"out": "f4", "casting": "same_kind"}),
    ("f8", "f4", {"dtype": "f4", "casting": "same_kind"}),
    ("f8", "f8", {"dtype": "i4", "casting": "unsafe"}),
    ("f8", "i8", {"dtype": "i4", "casting": "unsafe", "out": "i8"}),
    ("c16", "f8", {"dtype": "c8", "casting": "same_kind", "order": "F"}),
    ("f8", "f8", {"casting": "equiv"}),
    ("f4", "f4", {"casting": "no"}),
    # refused by NumPy, too
    ("f8", "f8", {"dtype": "i4", "casting": "same_kind"}),
    ("f8", "f8", {"dtype": "f4", "casting": "safe"}),
    ("f8", "f4", {"casting": "equiv"}),
    ("f8", "f8", {"out": "i4", "casting": "same_kind"}),
]


@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize("one, other, options", CASTS)
def test_casting_is_numpys(one, other, options, lists):
    """Operands become dtype, or the type of all and `out`, before they are multiplied. Whole numbers: exact."""
    rng = np.random.default_rng(0)
    a, b = whole(rng, (3, 4), one), whole(rng, (4, 5), other)
    operands = (a, [0, 1], b, [1, 2], [2, 0]) if lists else ("ij,jk->ki", a, b)

    def result(of):
        given = options | ({"out": np.zeros((5, 3), options["out"])} if "out" in options else {})
        made = of(*operands, **given)
        assert "out" not in given or made is given["out"]
        return made

    try:
        wanted = result(np.einsum)
    except TypeError:
        with pytest.raises(ArgumentError, match="does not become|wanted float64 or a type that holds it"):
            result(einsum)
        return

    found = result(einsum)
    assert found.dtype == wanted.dtype and np.array_equal(found, wanted)
    assert options.get("order") != "F" or found.flags.f_contiguous


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.complex64, np.complex128, np.int64])
def test_numbers_of_numpys(kind):
    """A number that came out of an array is an operand without indices."""
    a, b = kind(3), kind(5)
    rows = np.arange(4).astype(kind)

    for operands in ((",->", a, b), (",i->i", a, rows), (",,i->", a, b, rows)):
        found = einsum(*operands)
        assert np.array_equal(found, np.einsum(*operands)) and found.dtype == np.dtype(kind)


def test_whole_numbers_are_exact_or_refused():
    x = np.arange(12).reshape(3, 4)
    for dtype in ("int8", "uint16", "int32", "int64"):
        found = contract("ij,kj->ik", x.astype(dtype)[:2, :2], x.astype(dtype)[:2, :2])
        assert found.dtype == dtype and np.array_equal(found, x[:2, :2] @ x[:2, :2].T)

    truth = x > 5
    found = contract("ij,kj->ik", truth, truth)
    assert found.dtype == bool and np.array_equal(found, np.einsum("ij,kj->ik", truth, truth))
    assert contract("i,i->i", x[0].astype(np.int16), np.ones(4, np.float32)).dtype == np.float32
    assert contract("i,i->i", x[0].astype(np.int32), np.ones(4, np.float32)).dtype == np.float64
    assert contract("i,i->i", x[0], 2 * np.ones(1, np.int8), dtype=float).dtype == np.float64
    with pytest.raises(ArgumentError, match="the result has 200, which int8 does not hold"):
        contract("i,i->i", np.full(3, 100, np.int8), np.full(3, 2, np.int8))
    with pytest.raises(ArgumentError, match=r"sums may reach 2.2e\+18, and float64 is exact up to 2\^53"):
        contract("i,i->", np.full(3, 2**29), np.full(3, 2**30 + 2**28))


WHOLE = [np.dtype(kind) for kind in "?bhilqBHILQ"]


def largest(array) -> int:
    """The largest magnitude, 1 or more."""
    return max(1, *(abs(int(number)) for number in np.ravel(array)))


@pytest.mark.parametrize(
    "text, shapes", [("ij,jk->ik", ((3, 4), (4, 2))), ("i,i->", ((5,), (5,))), ("...,i", ((), (3,)))]
)
@pytest.mark.parametrize("one", WHOLE, ids=str)
def test_few_whole_numbers(text, shapes, one):
    """Integers of Python's are the oracle: sums up to the ends of a type, or refused; also of arrays with gaps."""
    rng = np.random.default_rng(2)
    for other, share in itertools.product(WHOLE, (0, 1)):
        dtype = np.result_type(one, other)
        arrays = []

        for kind, shape in zip((one, other), shapes):
            ends = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min >> share, np.iinfo(kind).max >> share)
            for end in (ends, (max(ends[0], -2), min(ends[1], 3))):
                arrays.append(rng.choice(np.array(end, kind), shape))

        for a, b in itertools.product(arrays[:2], arrays[2:]):
            wanted = np.asarray(np.einsum(text, a.astype(object), b.astype(object)))
            for left in (a, np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a):
                if dtype.kind == "f":
                    continue
                try:
                    found = einsum(text, left, b)
                except ArgumentError:
                    most = 5 * largest(left) * largest(b)  # five terms at most
                    assert most > min(np.iinfo(dtype).max, 2**53)
                    continue
                wanted_ = wanted.astype(bool) if dtype.kind == "b" else wanted

                assert found.dtype == dtype and np.array_equal(found, wanted_)


FEW = (
    ("ij,jk->ik", ((3, 40), (40, 5))),
    ("ij,jk->ki", ((3, 4), (4, 1))),
    ("ii->", ((5, 5),)),
    ("iij,jj->i", ((3, 3, 4), (4, 4))),
    ("ij,ij->i", ((1, 5), (4, 5))),
    ("i,ij,jk,kl->l", ((2,), (2, 3), (3, 4), (4, 5))),
    ("i,j->ij", ((70,), (33,))),
    (",->", ((), ())),
    ("...i,i...->...", ((2, 3), (3, 2))),
)


@pytest.mark.parametrize("text, shapes", FEW)
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "uint64"])
def test_few_whole_numbers_that_come_again(text, shapes, dtype):
    """Values are those of the arrays of now, whatever their steps, up to the ends of the type. The oracle has Python's
    integers; a sum beyond the type is refused."""
    rng = np.random.default_rng(3)
    ends = np.iinfo(dtype)
    small = [rng.integers(0, 3, shape) - (ends.min < 0) for shape in shapes]
    large = [np.full(shape, ends.max // 2) for shape in shapes]

    for values in (small, large, small):
        for lie in (np.copy, lambda a: a.T.copy().T, lambda a: np.repeat(a, 2, -1)[..., ::2] if a.ndim else a):
            operands = [lie(a.astype(dtype)) for a in values]
            wanted = np.einsum(text, *(a.astype(object) for a in operands))
            try:
                found = einsum(text, *operands)
            except ArgumentError:
                assert values is large and largest(wanted) > min(ends.max, 2**53)
                continue

            assert np.array_equal(found, wanted) and found.dtype == dtype


def test_few_whole_numbers_take_no_call_of_numpys(monkeypatch):
    """The first call and the next ones. A sum that the type does not hold is refused, and the next one is right."""
    monkeypatch.setattr(as_numpy, "numpy_einsum", None)
    a, b = np.arange(12, dtype=np.int16).reshape(3, 4), np.full((4, 2), 3, np.int16)

    for factor in (1, -2, 1):
        assert np.array_equal(einsum("ij,jk->ik", np.int16(factor) * a, b), factor * (a.astype(int) @ b))
        with pytest.raises(ArgumentError, match="which int16 does not hold"):
            einsum("ij,jk->ik", np.int16(2048) * a, b)
