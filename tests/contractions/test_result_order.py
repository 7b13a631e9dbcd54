"""The keyword `order` of contract and einsum: the result's order in memory, beside numpy.einsum.

Small whole numbers, whose sums are exact. "K" leaves the order to the model; a small result lies in the order "C"
then, unless a test lowers the limit.
"""

import dataclasses
import itertools

import numpy as np
import pytest
from reference import einsum as reference

from kernels import contract, einsum, get_backend
from kernels.contractions import contraction, repeats, result_order
from kernels.contractions.expression import Reference, Statement, Term
from kernels.engine.errors import ArgumentError

TEXTS = (  # string, shapes; in the first two the factors' indices alternate in the result
    ("aefb,dfce->abcd", ((3, 4, 5, 2), (6, 5, 7, 4))),
    ("dega,gfbc->abcdef", ((3, 2, 4, 2), (4, 3, 2, 5))),
    ("ij,jk->ik", ((3, 4), (4, 5))),
    ("ij,jk->ki", ((3, 4), (4, 5))),
    ("eij,ejk->iek", ((2, 3, 4), (2, 4, 5))),
    ("ij,jk,kl->li", ((3, 4), (4, 5), (5, 2))),
    ("i,j->ji", ((3,), (4,))),
    ("ijk->kji", ((2, 3, 4),)),
    ("...ij,jk->ki...", ((2, 3, 4), (4, 5))),
    ("ij,ij->", ((3, 4), (3, 4))),
    ("iij->ji", ((3, 3, 4),)),
)


@pytest.fixture
def any_size(monkeypatch):
    """With "K", results of any size may lie in another order than "C"."""
    monkeypatch.setattr(result_order, "FEW", 0)
    monkeypatch.setattr(repeats, "kept", repeats.Kept())


def whole(rng, shapes, dtype="float64"):
    """Small whole numbers, whose sums are exact."""
    return [rng.integers(-3, 4, shape).astype(dtype) for shape in shapes]


def there(backend, arrays):
    return [backend.from_host(a, a.dtype) for a in arrays]


def is_dense(array) -> bool:
    """Whether an array has no gaps, in some order of its dimensions."""
    axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    return bool(array.transpose(axes).flags.c_contiguous)


@pytest.mark.parametrize("text, shapes", TEXTS)
def test_every_order(every_backend, any_size, text, shapes):
    """Values, and strides: rows first, columns first, any without gaps. Calls that come again give the same."""
    arrays = whole(np.random.default_rng(0), shapes)
    held, wanted = there(every_backend, arrays), np.einsum(text, *arrays)

    for order, _ in itertools.product(("K", "C", "F", "A", "c", "f"), range(2)):
        found = contract(text, *held, order=order)
        assert np.array_equal(every_backend.to_host(found), wanted), order
        assert found.shape == wanted.shape and is_dense(found)

        if order != "K":
            columns = order in "Ff" or (order == "A" and all(a.flags.f_contiguous for a in arrays))
            assert found.flags.f_contiguous if columns else found.flags.c_contiguous, order


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128", "int16", "bool", "float16"])
def test_every_type(any_size, dtype):
    """The order holds for what is converted after the kernel, too."""
    arrays = whole(np.random.default_rng(1), ((3, 4, 5), (5, 4, 2)), dtype)
    wanted = np.einsum("ijk,kjl->li", *arrays)

    for order in "KCFA":
        found = contract("ijk,kjl->li", *arrays, order=order)
        assert np.array_equal(found, wanted) and found.dtype == wanted.dtype
        assert found.flags.c_contiguous or order not in "CA"
        assert found.flags.f_contiguous or order != "F"


def test_order_a_follows_the_operands():
    a, b = whole(np.random.default_rng(2), ((3, 4), (4, 5)))
    columns = np.asfortranarray(a), np.asfortranarray(b)
    assert contract("ij,jk->ik", *columns, order="A").flags.f_contiguous
    assert contract("ij,jk->ik", columns[0], b, order="A").flags.c_contiguous
    assert contract("ij,jk->ik", a, b, order="A").flags.c_contiguous


def test_orders_that_are_looked_at():
    """The order that the string has, then rows by columns, and columns by rows; batches first."""
    factors = Reference("x", tuple("aefb")), Reference("y", tuple("dfce"))
    s = Statement(Reference("out", tuple("abcd")), (Term(1.0, factors),))
    sizes = dict.fromkeys("abcdef", 100)
    found = result_order.candidates("K", s, sizes, ())

    assert list(map("".join, found)) == ["abcd", "abdc", "dcab"]
    assert result_order.candidates("F", s, sizes, ()) == [tuple("dcba")]
    assert result_order.candidates("K", s, dict.fromkeys("abcdef", 2), ()) == [tuple("abcd")]  # few numbers

    factors = Reference("x", tuple("iej")), Reference("y", tuple("ejk"))
    s = Statement(Reference("out", tuple("kei")), (Term(1.0, factors),))
    assert list(map("".join, result_order.candidates("K", s, dict.fromkeys("eijk", 100), ()))) == ["kei", "eik", "eki"]


def test_the_cheapest_order_is_taken(stand_in, any_size):
    """Rows and columns that alternate in the result are kept apart in memory where the model finds that cheaper: with
    a library, for which the order "C" costs a copy."""
    a, b = there(stand_in, whole(np.random.default_rng(3), ((48, 4, 4, 48), (48, 4, 48, 4)), "float64"))
    found = contract("aefb,dfce->dacb", a, b, how="library")
    by_stride = "".join("dacb"[axis] for axis in result_order.axes_in_memory(found))

    assert by_stride in ("abdc", "dcab")
    wanted = np.einsum("aefb,dfce->dacb", stand_in.to_host(a), stand_in.to_host(b))
    assert np.array_equal(stand_in.to_host(found), wanted)


def test_a_large_factor_gives_its_order(stand_in, any_size):
    """Threads of a device then read it as they write the result: side by side."""
    rng = np.random.default_rng(4)
    a, b = there(stand_in, whole(rng, ((103, 58, 3, 63), (58, 3, 63)), "float64"))
    found = contract("bcad,cad->cdba", a, b)

    assert "".join("cdba"[axis] for axis in result_order.axes_in_memory(found)) == "bcad"
    wanted = np.einsum("bcad,cad->cdba", stand_in.to_host(a), stand_in.to_host(b))
    assert np.array_equal(stand_in.to_host(found), wanted)


def test_another_order_has_to_be_worth_it():
    """Equal prices keep the first order; a lower one is taken. An order that is not served is left out."""

    def chosen(**seconds):
        def planned(order):
            if seconds[order] is None:
                raise ArgumentError("not served")
            return Priced(order, seconds[order])

        return result_order.cheapest(list(seconds), planned).order

    assert chosen(ik=1.0, ki=1.0) == "ik"
    assert chosen(ik=1.0, ki=0.99) == "ik"
    assert chosen(ik=1.0, ki=0.9, k=0.8) == "k"
    assert chosen(ik=1.0, ki=None, k=0.9) == "k"
    assert chosen(ik=0.0, ki=0.0) == "ik"
    with pytest.raises(ArgumentError, match="not served"):
        chosen(ik=None, ki=1.0)


@dataclasses.dataclass
class Priced:
    """A plan's order, and its time."""

    order: str
    seconds: float


def test_a_result_goes_into_the_next_call(every_backend, any_size):
    """A view with its dimensions exchanged is read as it lies, and written as it lies."""
    a, b, c = whole(np.random.default_rng(4), ((3, 4, 5, 2), (6, 5, 7, 4), (2, 6, 3)))
    x, y, z = there(every_backend, (a, b, c))

    for order in "KCF":
        for _ in range(2):
            product = contract("aefb,dfce->acbd", x, y, order=order)
            found = contract("acbd,bda->c", product, z)
            wanted = np.einsum("aefb,dfce,bda->c", a, b, c)

            assert np.array_equal(every_backend.to_host(found), wanted)

    out = contract("aefb,dfce->acbd", x, y, order="F")
    for _ in range(2):
        out[...] = 0
        assert contract("aefb,dfce->acbd", x, y, out=out) is out
        assert np.array_equal(every_backend.to_host(out), np.einsum("aefb,dfce->acbd", a, b))


def test_a_view_goes_to_other_libraries():
    """By DLPack and by the buffer's strides, out and in again."""
    a, b = whole(np.random.default_rng(8), ((3, 4), (4, 5)))
    found = contract("ij,jk->ik", a, b, order="F")
    taken = np.from_dlpack(found)

    assert np.array_equal(taken, a @ b) and np.shares_memory(taken, found)
    assert np.array_equal(np.asarray(memoryview(found)), a @ b)
    assert np.array_equal(contract("ik->ki", taken), (a @ b).T)


def test_operands_are_not_copied(monkeypatch):
    """Transposed arrays, and a transposed output, go to the kernel as they are; the next call binds nothing."""
    a, b = whole(np.random.default_rng(5), ((4, 3), (5, 4)))
    out = np.empty((5, 3)).T
    found = []
    bind = contraction.Contraction.bind
    monkeypatch.setattr(
        contraction.Contraction,
        "bind",
        lambda self, arrays, n=None: found.append(dict(arrays)) or bind(self, arrays, n),
    )

    for _ in range(2):
        out[...] = np.nan
        assert contract("ij,jk->ik", a.T, b.T, out=out) is out
        assert np.array_equal(out, a.T @ b.T)

    for arrays in found:
        assert np.shares_memory(arrays["operand0"], a) and np.shares_memory(arrays["operand1"], b)
        assert np.shares_memory(arrays["out"], out)

    assert len(found) == 1


def test_orders_have_calls_of_their_own(every_backend, monkeypatch):
    """Calls that come again are kept by their order."""
    monkeypatch.setattr(repeats, "kept", repeats.Kept())
    a, b = whole(np.random.default_rng(6), ((3, 4), (4, 5)))
    x, y = there(every_backend, (a, b))

    for order in "CFCFKA":
        found = contract("ij,jk->ik", x, y, order=order)
        assert np.array_equal(every_backend.to_host(found), a @ b)
        assert found.flags.f_contiguous == (order == "F")

    assert len(repeats.kept.calls) == 4


def test_statements_say_their_order_themselves():
    a = np.ones((3, 4))
    for order in "KC":
        assert contract("o[j i] = a[i j]", a=a, order=order).flags.c_contiguous
    with pytest.raises(ArgumentError, match="order='F' is for strings of einsum; statements name the indices"):
        contract("o[j i] = a[i j]", a=a, order="F")
    assert np.array_equal(contract("o[i l] = a[i j] b[j k] c[k l]", a=a, b=a.T, c=a, order=0), a @ a.T @ a)


@pytest.mark.parametrize("order", ["B", "", None, 1.5])
def test_what_is_no_order(order):
    with pytest.raises(ArgumentError, match="wanted 'K', 'C', 'F' or 'A'"):
        contract("ij->ji", np.ones((2, 3)), order=order)


def test_empty_results_and_sums():
    for order in "KCFA":
        assert np.array_equal(contract("ij,jk->ki", np.ones((3, 0)), np.ones((0, 2)), order=order), np.zeros((2, 3)))
        assert contract("ij,jk->ki", np.ones((0, 3)), np.ones((3, 2)), order=order).shape == (2, 0)


@pytest.mark.parametrize("order", "KCF")
@pytest.mark.parametrize("where", ["cpu", "stand-in"])
@pytest.mark.quick(order="K", where="cpu")
def test_random_strings(request, any_size, where, order):
    """einsum's whole grammar with each order; see test_einsum.py."""
    backend = request.getfixturevalue("stand_in") if where == "stand-in" else get_backend("cpu")

    def ordered(*given, **options):
        found = contract(*given, **options | {"order": order})
        if options.get("out") is None and np.ndim(found):
            assert order == "K" or (found.flags.c_contiguous if order == "C" else found.flags.f_contiguous)
        return found

    for seed in (1, 2):
        assert reference.check_random(ordered, backend, seed, count=4) == 4


def test_einsum_takes_every_order():
    a, b = whole(np.random.default_rng(7), ((3, 4), (4, 5)))
    assert einsum("ij,jk", a, b, order="F").flags.f_contiguous
    assert np.array_equal(einsum("ij,jk", a, b), a @ b)


def test_a_result_lies_as_the_largest_operand():
    """Both are gone through in memory's order, as NumPy does with order="K"."""
    rng = np.random.default_rng(0)
    a, b = rng.random((300, 200)), rng.random(200)

    for text in ("ij,j->ji", "ij,j->ij"):
        found = contract(text, a, b)
        assert np.array_equal(found, np.einsum(text, a, b)) and found.strides == np.einsum(text, a, b).strides
