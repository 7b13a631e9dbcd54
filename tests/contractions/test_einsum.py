"""einsum's grammar beside numpy.einsum in wider types: strings, lists of indices, strides, errors.

Tolerance: 4 K eps sum|terms|, K the roundings in a row: a sum's length and one for each factor; complex products have
twice the terms. Small whole numbers come exactly.

fuzz_einsum.py has random strings by hand, test_einsum_types.py types of numbers.
"""

import importlib
import itertools

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from reference import einsum as reference
from tensor_cases import DTYPES, whole

from kernels import ComplexContraction, Contraction, contract, einsum, get_backend
from kernels.contractions import orders, paths, repeats, small_products
from kernels.engine.errors import ArgumentError

pytestmark = pytest.mark.filterwarnings("error")  # such as of a lost imaginary part


FORMS = (  # string, shapes
    ("ii->i", ((4, 4),)),
    ("ii", ((4, 4),)),
    ("iij,jk->ik", ((3, 3, 4), (4, 5))),
    ("iji,ij->j", ((3, 4, 3), (3, 4))),
    ("iii->i", ((3, 3, 3),)),
    ("...ij,...jk->...ik", ((5, 2, 3), (3, 4))),
    ("...ij,...jk", ((7, 1, 2, 3), (5, 3, 4))),
    ("i...->i", ((3,),)),
    ("...->...", ((2, 3),)),
    ("i...j->...", ((2, 3, 4, 5),)),
    ("...ii->...i", ((2, 4, 4),)),
    (",ij->ij", ((), (3, 4))),
    (",->", ((), ())),
    ("ij,jk->ik", ((2, 1), (3, 4))),
    ("i,i->i", ((3,), (1,))),
    ("ii,i->i", ((1, 1), (3,))),
    ("i j, j k -> i k", ((2, 3), (3, 4))),
    ("ba", ((2, 3),)),
    ("aB,Bc", ((2, 3), (3, 4))),
    ("ij,jk->ik", ((2, 0), (0, 4))),
    ("ij,jk->ik", ((0, 3), (3, 4))),
    ("i->", ((1,),)),
    ("a,b,c,d,e,f,g->abg", ((2,),) * 7),
    ("ij,jk,kl,lm,mn,no,op,pq,qr,rs,st->it", ((2, 2),) * 11),
    ("ij->...ij", ((3, 4),)),
)


@pytest.mark.parametrize("text, shapes", FORMS)
def test_forms_of_strings(text, shapes):
    rng = np.random.default_rng(0)
    arrays = [whole(rng, shape) for shape in shapes]
    found = contract(text, *arrays)
    wanted = np.einsum(text, *arrays)
    assert found.shape == np.shape(wanted) and np.array_equal(found, wanted)


def test_the_form_with_lists_of_indices():
    rng = np.random.default_rng(0)
    a, b = whole(rng, (5, 2, 3)), whole(rng, (3, 4))
    for given in ((a[0], [0, 1], b, [1, 2]), (a[0], [0, 1], b, [1, 2], [2, 0]), (a[0], [10, 2], [2, 10])):
        assert np.array_equal(contract(*given), np.einsum(*given))
    given = (a, [Ellipsis, 0, 1], b, [1, 2], [Ellipsis, 0, 2])
    assert np.array_equal(contract(*given), np.einsum(*given))
    assert np.array_equal(contract(a[0], [100, 200], b, [200, 7], [7, 100]), (a[0] @ b).T)  # NumPy ends at 52


def test_complex_statements():
    """A text with locals, a number, an output that is added to, and real arrays among complex ones."""
    rng = np.random.default_rng(0)
    D, u, g = whole(rng, (4, 4)), whole(rng, (3, 4, 4), "complex128"), whole(rng, (3, 4, 4), "complex128")
    w = whole(rng, (3, 4, 4), "complex128")
    text = "local t; t[e i j] = D[i k] u[e k j]; w[e i j] += 2 g[e i k] t[e k j] - 0.5 u[e i j] + D[i k] D[k j]"
    wanted = w + 2 * g @ (D @ u) - 0.5 * u + D @ D
    assert contract(text, D=D, u=u, g=g, w=w) is w
    assert np.array_equal(w, wanted)
    assert np.array_equal(contract("o[i] = a[] x[i]", a=2 - 1j, x=D[0]), (2 - 1j) * D[0])

    plan = ComplexContraction("o[e i] = D[i k] u[e k]", dict(i=4, k=4), real="D", constant="D")
    out = np.empty((3, 4), complex)
    run = plan.bind({"D": D, "u": u[:, :, 1], "o": out})
    for _ in range(2):
        u *= 1j
        run()
        assert np.array_equal(out, u[:, :, 1] @ D.T)
    with pytest.raises(ArgumentError, match="output 'o' and array 'u' share memory"):
        plan.bind({"D": D, "u": u[:, :, 1], "o": u[:, :, 1]})
    with pytest.raises(ArgumentError, match="'d' is named real but is no input, did you mean 'D'"):
        ComplexContraction("o[e i] = D[i k] u[e k]", dict(i=4, k=4), real="d")
    with pytest.raises(ArgumentError, match="array 'o': type float64, wanted complex128"):
        contract("o[i] = a[i]", a=u[0, 0], o=np.empty(4))
    with pytest.raises(ArgumentError, match="a map, whose function knows no complex numbers"):
        ComplexContraction("map o[i] = f(a[i])", {})
    with pytest.raises(ArgumentError, match="type complex128, wanted float64 or float32. ComplexContraction takes"):
        Contraction("o[i] = a[i]", {}, "complex128")


@pytest.mark.parametrize("b, f", [(3, 3), (3, 5), (5, 3), (7, 3)])
def test_scratch_of_odd_rows(b, f):
    """Rows of scratch that begin at no multiple of a vector: GCC must not think that they do."""
    rng = np.random.default_rng(0)
    arrays = [whole(rng, shape, "complex128") for shape in ((8,), (2, b, 1, f), (b, b), (f,))]
    text = "a,cbdf,bb,f->dab"
    assert np.array_equal(contract(text, *arrays), np.einsum(text, *arrays))


def test_a_complex_nan_stays_in_its_entry():
    rng = np.random.default_rng(0)
    a, b = whole(rng, (5, 3, 4), "complex128"), whole(rng, (4, 2), "complex128")
    a[2, 1, 1] = complex(np.nan, 1)
    found, wanted = contract("eij,jk->eik", a, b), np.einsum("eij,jk->eik", a, b)
    assert np.array_equal(np.isnan(found), np.isnan(wanted)) and np.isnan(found).any(axis=(0, 2)).tolist() == [0, 1, 0]


def test_strides_of_all_kinds():
    """Gaps, negative strides, a stride of zero, Fortran's order: in, and out."""
    rng = np.random.default_rng(0)
    a, b = whole(rng, (6, 8)), whole(rng, (8, 5))
    still = np.broadcast_to(b[:, :1], (8, 5))
    for x, y in (
        (a[::-1, ::-1], b),
        (a[::2, ::2], b[::2]),
        (np.asfortranarray(a), b),
        (a, still),
        (still.T[:, ::-1], b),
    ):
        assert np.array_equal(contract("ij,jk->ik", x, y), x @ y)
        assert np.array_equal(contract("o[i k] = x[i j] y[j k]", x=x, y=y), x @ y)

        # Out, with gaps that stay as they are.
        room = np.full((12, 10), np.nan)
        out = room[::2, ::2][: len(x)]
        assert contract("ij,jk->ik", x, y, out=out) is out and np.array_equal(out, x @ y)
        out[...] = 1
        assert contract("o[i k] += x[i j] y[j k]", x=x, y=y, o=out) is out and np.array_equal(out, 1 + x @ y)
        assert np.all(np.isnan(room[1::2])) and np.all(np.isnan(room[:, 1::2]))

    zero = np.broadcast_to(2.0, (3, 4))
    assert np.array_equal(contract("ij->i", zero), [8, 8, 8]) and contract("ij,ij->", zero, zero) == 48


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_factor_of_which_one_number_is_read(dtype):
    """All its extents are broadcast, or all its strides are zero."""
    b = whole(np.random.default_rng(0), (4, 5), dtype)
    one = np.full((1, 1), 3, dtype)
    for a in (one[0], one, np.broadcast_to(one, (4, 5))):
        own = "ij"[2 - a.ndim :]
        assert np.array_equal(contract(f"{own},ij->ij", a, b), 3 * b)


class Foreign:
    """An array of another library: DLPack, and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_by_dlpack():
    rng = np.random.default_rng(0)
    a, b, out = whole(rng, (3, 4)), whole(rng, (4, 5), "complex128"), np.empty((3, 5))
    assert np.array_equal(contract("ij,jk->ik", Foreign(a), Foreign(b)), a @ b)
    contract("o[i k] = a[i j] b[j k]", a=Foreign(a), b=b.real.copy(), o=out)
    assert np.array_equal(out, a @ b.real)

    class Broken(Foreign):
        def __dlpack__(self, **options):
            raise BufferError("it has a gradient")

    with pytest.raises(ArgumentError, match="'operand0' is Broken, whose DLPack gives no array: it has a gradient"):
        contract("ij->ji", Broken(a))


@pytest.mark.parametrize(
    "given, words",
    [
        (("ij,jk->ik", np.ones((2, 3)), np.ones((4, 5))), "'operand1', index 'j': extent 4, wanted 3 as 'operand0'"),
        (("ii->i", np.ones((1, 3))), "'operand0', index 'i': extents 1 and 3, wanted equal ones"),
        (("ij->i", np.ones(3)), r"'operand0': 1 dimensions \(3,\), wanted 2: operand0\[i j\]"),
        (("...ij->i...", np.ones(3)), "wanted 2 or more"),
        (("...ij->ij", np.ones((2, 3, 4))), "the ellipsis has 1 dimensions, which the result lacks"),
        (("i->ii", np.ones(3)), "index 'i' stands twice in the result"),
        (("i->j", np.ones(3)), "index 'j' of the result is in no operand"),
        (("..ij->ij", np.ones((2, 3))), "has a '.' that is not part of an ellipsis"),
        (("...i...->i", np.ones((2, 3))), "or two ellipses"),
        (("i1->i", np.ones((2, 3))), "'i1', wanted letters"),
        (("ij,jk->ik", np.ones((2, 3))), "1 arrays in order, wanted 2"),
        ((np.ones(3), [-1]), "index -1 of operand0, wanted a whole number"),
        ((np.ones(3), ["a"]), "index 'a' of operand0"),
        ((np.ones(3), 0), "indices of operand0 are int, wanted a list"),
        ((np.ones(3), [np.ones(2)]), "index array.* of operand0, wanted a whole number"),
        ((np.ones((2, 3)), np.ones((3, 4))), r"indices of operand0 are an array of shape \(3, 4\), wanted a list"),
        (("i->i", None), "'operand0' is None, wanted numbers"),
        (("ij->ij", [[1.0], [1.0, 2.0]]), "'operand0': wanted numbers"),
    ],
)
def test_errors_name_array_and_index(given, words):
    with pytest.raises(ArgumentError, match=words):
        contract(*given)


@pytest.mark.parametrize(
    "out, words",
    [
        (np.empty(3), r"array 'out': 1 dimensions \(3,\), wanted 2"),
        (np.empty((3, 4)), "array 'out', index 'k': extent 4, wanted 3"),
        (np.empty((3, 3), np.float32), "'out': type float32, wanted float64 or a type that holds it"),
        (np.broadcast_to(0.0, (3, 3)), "array 'out' is read-only"),
        (1.0, "output 'out' is a number"),
        (as_strided(np.empty(3), (3, 3), (0, 8)), r"output 'out' has several entries at one place: strides \(0, 8\)"),
        (as_strided(np.empty(9), (3, 3), (8, 8)), "output 'out' has several entries at one place"),
        ("itself", "output 'out' and array 'operand0' share memory"),
    ],
)
def test_outputs_are_checked(out, words):
    a = np.ones((3, 3))
    with pytest.raises(ArgumentError, match=words):
        contract("ij,jk->ik", a, a, out=a if isinstance(out, str) else out)
    assert np.array_equal(a, np.ones((3, 3)))


def test_an_output_over_itself_is_refused():
    """By each way to give one; entries that lie apart in any order are taken."""
    a, twice = np.ones((3, 3)), as_strided(np.zeros(3), (3, 3), (0, 8))
    for wrong in (
        lambda: contract("o[i k] = a[i j] a[j k]", a=a, o=twice),
        lambda: contract("o[i k] = a[i j] a[j k]", a=a + 1j, o=as_strided(np.zeros(3, complex), (3, 3), (0, 16))),
        lambda: einsum("ij,jk->ik", a, a, out=twice, casting="unsafe"),
        lambda: einsum("ij,j->ij", twice, a[0], out=twice),
    ):
        with pytest.raises(ArgumentError, match="has several entries at one place"):
            wrong()
    assert not twice.any()

    room = np.zeros(20)
    out = as_strided(room, (3, 3), (24, 16))  # numbers 0 2 4 3 5 7 6 8 10
    einsum("ij,jk->ik", a, a, out=out)
    assert np.array_equal(out, np.full((3, 3), 3.0)) and room.sum() == 27


def test_empty_sums_of_statements():
    """A sum over nothing is zero; what is empty is left alone; other terms count."""
    a, b, old = np.ones((3, 0)), np.ones((0, 2)), np.full((3, 2), 5.0)
    assert np.array_equal(contract("o[i k] = a[i j] b[j k]", a=a, b=b), np.zeros((3, 2)))
    assert np.array_equal(contract("o[i k] += a[i j] b[j k]", a=a, b=b, o=old), np.full((3, 2), 5.0))
    assert np.array_equal(contract("o[i k] = a[i j] b[j k] + 2 c[i k]", a=a, b=b, c=old), np.full((3, 2), 10.0))
    assert contract("o[i j] = a[i j]", a=a).shape == (3, 0)


def test_a_contraction_of_a_string_with_an_ellipsis():
    rng = np.random.default_rng(0)
    a, b = whole(rng, (5, 2, 3, 4)), whole(rng, (5, 2, 4, 3))
    plan = Contraction("...ij,...jk->...ik", {"...": (5, 2), "i": 3, "j": 4, "k": 3}, backend="cpu")
    out = np.full((5, 2, 3, 3), np.nan)
    plan.bind({"operand0": a, "operand1": b, "out": out})()
    assert np.array_equal(out, a @ b)
    with pytest.raises(ArgumentError, match=r"has no ellipsis, but sizes\['...'\] is"):
        Contraction("ij->i", {"...": (2,), "j": 3})
    with pytest.raises(ArgumentError, match="an ellipsis has as many dimensions as the arrays"):
        Contraction("...ij->...i", {"j": 3})


@pytest.mark.parametrize(
    "text, shape",
    [
        ("ij->ji", (3, 4)),
        ("ji", (3, 4)),
        ("ij", (3, 4)),
        ("ii->i", (4, 4)),
        ("iij->ji", (4, 4, 3)),
        ("ijij->ij", (3, 4, 3, 4)),
        ("...j->j...", (2, 3, 4)),
    ],
)
def test_moves_are_views(text, shape):
    """As NumPy's: einsum returns the operand's memory, which may be written; contract returns an array of its own."""
    a = np.arange(float(np.prod(shape))).reshape(shape)

    view = einsum(text, a)
    assert np.shares_memory(view, a) and np.array_equal(view, np.einsum(text, a))
    assert not np.shares_memory(contract(text, a), a)
    for options in (dict(order="C"), dict(dtype=np.complex128)):
        assert not np.shares_memory(einsum(text, a, **options), a)

    again = einsum(text, a)  # also after contract had the string
    assert np.shares_memory(again, a) and again.flags.writeable == view.flags.writeable
    view[...] = -1.0
    assert np.all(np.einsum(text, a) == -1.0)


@pytest.mark.parametrize(
    "shape, lists",
    [
        ((2, 3), ([...],)),
        ((2, 3), ([0, 1],)),
        ((2, 3), ([7, 3],)),
        ((2, 3), ([0, 1], [1, 0])),
        ((4, 4, 2), ([0, 0, ...], [..., 0])),
        ((2, 3), (range(2), np.array([1, 0]))),
    ],
)
def test_moves_by_lists_are_views(shape, lists):
    a = np.arange(float(np.prod(shape))).reshape(shape)
    view, wanted = einsum(a, *lists), np.einsum(a, *lists)
    assert np.shares_memory(view, a)
    assert view.strides == wanted.strides and np.array_equal(view, wanted)


@pytest.mark.parametrize("text, operands", [("i,i->", 2), ("i->", 1), (",->", 0), ("", 0)])
def test_a_result_without_dimensions_is_a_number(text, operands):
    """Of the operands' type: it can be a key, and what holds it holds no array."""
    given = [np.ones(3, np.float32)] * operands or [np.float32(2.0)] * (text.count(",") + 1)
    for _ in range(3):
        assert type(einsum(text, *given)) is type(np.einsum(text, *given)) is np.float32

    out = np.empty((), np.float32)
    assert einsum(text, *given, out=out) is out


@pytest.mark.parametrize("text, wanted", [("i->i", 1), ("i,i->i", 2), ("i,i,i->i", 3), ("i,i,i,i->i", 4)])
def test_one_operand_more_in_a_call_that_comes_again(text, wanted):
    """It is refused by the repeated call, too."""
    given = [np.full(3, 2.0)] * wanted
    for call in (einsum, contract):
        for _ in range(3):
            call(text, *given)
        with pytest.raises(ArgumentError, match=f"{wanted + 1} arrays in order, wanted {wanted}"):
            call(text, *given, given[0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize(
    "text, shapes",
    [
        ("bii->b", ((7, 3, 3),)),
        ("iib->b", ((4, 4, 9),)),
        ("ijij->", ((3, 4, 3, 4),)),
        ("iij,jkk->ik", ((3, 3, 4), (4, 5, 5))),
        ("iijj->ij", ((3, 3, 2, 2),)),
        ("ii,ij->j", ((5, 5), (5, 6))),
        ("bii,bij->bj", ((3, 5, 5), (3, 5, 4))),
        ("iji,j->i", ((5, 4, 5), (4,))),
    ],
)
def test_diagonals_are_read_where_they_lie(text, shapes, dtype, monkeypatch):
    """In any order of memory, also from arrays with gaps and from the end. Arrays without gaps are not copied. Kernels
    do it: NumPy would do strings of so few numbers."""
    monkeypatch.setattr(small_products, "call_of", lambda *given: None)
    rng = np.random.default_rng(3)
    arrays = [whole(rng, shape, dtype) for shape in shapes]
    whole_lies = (np.ascontiguousarray, np.asfortranarray)
    for lie in (*whole_lies, lambda a: np.repeat(a, 2, 0)[::2], lambda a: a[::-1].copy()[::-1]):
        laid = [lie(a) for a in arrays]
        monkeypatch.setattr(repeats, "kept", repeats.Kept())
        for _ in range(3):
            assert np.array_equal(contract(text, *laid), np.einsum(text, *arrays))
        if lie in whole_lies:
            (call,) = repeats.kept.calls.values()
            assert not call.copied and not any(view.diagonals for _, view in call.given)


# ---- opt_einsum -----------------------------------------------------------------------------------------------------


def test_functions_for_opt_einsum():
    """opt_einsum imports the package by its name, and takes three functions."""
    module = importlib.import_module("kernels")
    rng = np.random.default_rng(0)
    a, b = whole(rng, (2, 3, 4)), whole(rng, (4, 3, 5))

    assert np.array_equal(module.einsum("ijk,kjl->il", a, b, optimize=False, order="C"), np.einsum("ijk,kjl->il", a, b))
    for axes in (0, 1, ([1, 2], [1, 0]), (2, 0), ((-1,), (0,))):
        assert np.array_equal(module.tensordot(a, b, axes), np.tensordot(a, b, axes))
    assert np.array_equal(module.transpose(a, (2, 0, 1)), a.transpose(2, 0, 1))
    assert np.array_equal(module.tensordot(a.tolist(), b.tolist(), np.int64(1)), np.tensordot(a, b, 1))
    assert np.array_equal(module.transpose(a.tolist()), a.transpose())

    for wrong, words in (
        (lambda: module.tensordot(a, b, 2), "axis 0 of b: extent 4, wanted 3"),
        (lambda: module.tensordot(a, b, 4), "axes=4, wanted 0 to 3"),
        (lambda: module.tensordot(a, b, ([0, 1], [0])), "2 axes of a, 1 of b"),
        (lambda: module.tensordot(a, b, ([3], [0])), "axis 3 of 3 dimensions"),
        (lambda: module.einsum("i->i", a[0, 0], order="B"), "order='B', wanted 'K', 'C', 'F' or 'A'"),
        (lambda: module.tensordot(a, b, "a"), "axes='a', wanted a whole number, or lists"),
        (lambda: module.tensordot(a, b, 1.0), "axes=1.0, wanted a whole number, or lists"),
        (lambda: module.tensordot(a, b, ([0.0], [1])), "axis 0.0, wanted a whole number"),
        (lambda: module.tensordot(a, b, ([0], [0], [0])), "wanted a whole number, or lists of axes of a and of b"),
        (lambda: module.einsum("i->i", a[0, 0], casting="rough"), "casting='rough', wanted one of 'no'"),
        (lambda: module.einsum("i->i", a[0, 0], ordr="C"), "unexpected keyword"),
        (lambda: module.einsum(), "wanted a string and its operands"),
    ):
        with pytest.raises((ArgumentError, TypeError), match=words):
            wrong()


@pytest.mark.parametrize("text", ["...ij,...jk->...ik", "ij,ij->ij", "ij,kj->ki"])
def test_a_result_over_an_operand(text):
    """As NumPy's einsum: computed apart, also where parts of the memory are the same, in another type or on views."""
    rng = np.random.default_rng(0)
    for dtype in ("f8", "f4", "c16", "i8"):
        a = whole(rng, (4, 4), dtype)
        wanted = np.einsum(text, a, a)

        for _ in range(3):
            itself = a.copy()
            assert einsum(text, itself, itself, out=itself) is itself
            assert np.array_equal(itself, wanted)

            room = np.zeros((5, 4), dtype)
            room[:4] = a
            einsum(text, room[:4], room[:4], out=room[1:])
            assert np.array_equal(room[1:], wanted)

    turned = a.copy()
    einsum("ij->ji", turned, out=turned)
    assert np.array_equal(turned, a.T)
    with pytest.raises(ArgumentError, match="index 'k': extent 5, wanted 4"):
        einsum("ij,jk->ik", np.ones((4, 4)), np.ones((4, 4)), out=np.ones((4, 5)))


def test_a_text_of_bytes():
    a = np.arange(6.0).reshape(2, 3)
    for text in (b"ij->ji", b"ij,kj->ik"):
        operands = (a,) * (text.count(b",") + 1)
        assert np.array_equal(einsum(text, *operands), np.einsum(text, *operands))


def test_an_option_with_a_wrong_name():
    a = np.ones((3, 3))
    with pytest.raises(ArgumentError, match="'ordr' is no option of contract, did you mean 'order'"):
        contract("ij,jk->ik", a, a, ordr="C")
    with pytest.raises(ArgumentError, match="array 'bakend' is not in the tensor expression.*did you mean 'backend'"):
        contract("o[i k] = a[i j] b[j k]", a=a, b=a, bakend="cpu")


def test_opt_einsum_calls_it():
    opt_einsum = pytest.importorskip("opt_einsum")
    rng = np.random.default_rng(0)
    a, b, c = whole(rng, (3, 4)), whole(rng, (4, 5)), whole(rng, (5, 3))
    for text in ("ij,jk,kl->il", "ij,jk,ki->", "ij,jk,kl->jli"):
        found = opt_einsum.contract(text, a, b, c, backend="kernels")
        assert np.array_equal(found, np.einsum(text, a, b, c))


def test_a_greedy_path_of_a_chain_of_matrices():
    """Without opt_einsum: every factor once; a chain that narrows is not multiplied from its wide end."""
    letters = "abcdefghijkl"
    factors = tuple(frozenset(pair) for pair in itertools.pairwise(letters))
    sizes = dict(zip(letters, range(12, 0, -1)))
    tree = paths._greedy(factors, {"a", "l"}, sizes)
    assert sorted(orders.leaves(tree)) == list(range(11)) and str(tree).count(",") == 10

    left = 0
    for factor in range(1, 11):
        left = (left, factor)
    price = [orders.cost(t, factors, frozenset("al"), sizes, None)[0] for t in (tree, left)]
    assert price[0] < price[1]


def test_complex_bits_do_not_depend_on_the_batch(monkeypatch):
    """Bits of kernels. NumPy, which does so few products, adds up in an order of its own."""
    monkeypatch.setattr(small_products, "call_of", lambda *given: None)
    rng = np.random.default_rng(0)
    a, b = (rng.random((9, 3, 5)) - 0.5 + 1j * rng.random((9, 3, 5)) for _ in range(2))
    whole_batch = contract("eij,ekj->eik", a, b)
    for first, count in ((0, 1), (2, 5), (8, 1)):
        part = contract("eij,ekj->eik", a[first : first + count], b[first : first + count])
        assert np.array_equal(part, whole_batch[first : first + count])


def test_many_factors_without_indices():
    """Each of thousands of trees costs the same: only some are planned."""
    a = np.arange(5.0)
    assert contract("i,,i,,,->", a, 2.0, a, 3.0, 0.5, 1.0) == 3.0 * (a @ a)
    text = "o[] = a[i] b[] c[i] d[] f[] g[]"
    assert len(Contraction(text, dict(i=5), backend="cpu").programs) <= orders.KEPT + 1


# ---- random expressions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.quick(seed=[0, 1])
def test_random_strings(seed):
    assert reference.check_random(contract, get_backend("cpu"), seed, count=4) == 4


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.quick(seed=0)
def test_random_strings_on_the_stand_in(stand_in, seed):
    assert reference.check_random(contract, stand_in, seed, count=3) == 3


@pytest.mark.gpu
def test_random_strings_on_a_gpu():
    backend = get_backend("cuda")
    for seed in range(100, 120):
        assert reference.check_random(contract, backend, seed, count=5) == 5
