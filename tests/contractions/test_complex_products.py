"""Complex contractions by a matrix library's complex products, beside numpy.einsum in small whole numbers: exact.

cuBLAS is played by NumPy on the stand-in of a device. It is the real library with `pytest -m gpu`.
"""

import shutil

import numpy as np
import pytest
from test_tensor_values import on_stand_in

from kernels import ComplexContraction, contract, get_backend
from kernels.contractions import products
from kernels.engine.errors import ArgumentError

SIZES = dict(zip("abcdefg", (5, 3, 7, 2, 4, 3, 4)))
FORMS = (  # the text and einsum's string: C, A, B
    ("C[a b] = A[a c] B[c b]", "ac,cb->ab"),
    ("C[b a] = A[a c] B[c b]", "ac,cb->ba"),
    ("C[a b c] = A[b d a] B[d c]", "bda,dc->abc"),
    ("C[a b c d] = A[a e b f] B[d f c e]", "aebf,dfce->abcd"),
    ("C[a] = A[a c] B[c]", "ac,c->a"),
    ("C[a b] = A[a] B[b]", "a,b->ab"),
    ("C[a b] = A[] B[b a]", ",ba->ab"),
)
SIGNS = (("=", 0, 1), ("+=", 1, 1), ("-= 3", 1, -3))  # old values, the product


@pytest.fixture(scope="module", params=["cpu", "stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def be(request, tmp_path_factory):
    if request.param != "stand-in":
        yield get_backend("cpu" if request.param == "cpu" else "cuda")
        return
    if not shutil.which("g++"):
        pytest.skip("the stand-in needs g++")
    with on_stand_in(tmp_path_factory.mktemp("cuda")) as backend:
        yield backend


@pytest.fixture
def asked(monkeypatch):
    """The types of the products that a library is asked for."""
    found = []
    bound = products.bound

    def watched(backend, dtype, *more, **options):
        found.append(dtype)
        return bound(backend, dtype, *more, **options)

    monkeypatch.setattr(products, "bound", watched)
    return found


def whole(rng, shape, dtype):
    return (rng.integers(-9, 9, shape) + 1j * rng.integers(-9, 9, shape)).astype(dtype)


def arrays_of(spelled, dtype, seed=0):
    rng = np.random.default_rng(seed)
    left, right, out = spelled.replace("->", ",").split(",")
    return {x: whole(rng, [SIZES[i] for i in own], dtype) for x, own in zip("ABC", (left, right, out))}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("text, spelled", FORMS)
def test_products_by_the_library(be, asked, text, spelled, dtype):
    """`=` does not read NaN in C; += and -= add to it."""
    arrays = arrays_of(spelled, dtype)
    product = np.einsum(spelled, arrays["A"], arrays["B"])
    letters = set(spelled) - set(",->")

    for sign, old, number in SIGNS:
        given = arrays if old else {**arrays, "C": np.full_like(arrays["C"], np.nan)}
        sizes = {i: SIZES[i] for i in letters}
        plan = ComplexContraction(text.replace("=", sign), sizes, dtype, backend=be, batch="", how="library")
        there = {x: be.from_host(a.copy(), a.dtype) for x, a in given.items()}
        plan.bind(there)()
        wanted = number * product + (arrays["C"] if old else 0)
        assert np.array_equal(be.to_host(there["C"]), wanted), (sign, plan.explain())
    assert set(asked) == {dtype}


def test_three_factors(be, asked):
    rng = np.random.default_rng(1)
    a, b, c = (whole(rng, shape, "complex128") for shape in ((3, 4), (4, 5), (5, 2)))
    there = [be.from_host(x, x.dtype) for x in (a, b, c)]
    found = contract("ij,jk,kl->il", *there, how="library")
    assert np.array_equal(be.to_host(found), a @ b @ c)
    assert set(asked) == {"complex128"}


def test_nan_stays_in_its_entry(be):
    rng = np.random.default_rng(2)
    a, b = whole(rng, (4, 5, 5), "complex128"), whole(rng, (4, 5, 5), "complex128")
    a[2, 3, 1] = np.nan
    found = be.to_host(contract("eij,ejk->eik", be.from_host(a, a.dtype), be.from_host(b, b.dtype), how="library"))

    wanted = np.delete(a, 2, axis=0) @ np.delete(b, 2, axis=0)
    assert np.array_equal(np.delete(found, 2, axis=0), wanted)
    assert np.isnan(found[2, 3]).all() and not np.isnan(np.delete(found[2], 3, axis=0)).any()


def test_arrays_that_a_library_reads_as_they_lie(asked):
    """Every second number, in the operands and in the output."""
    rng = np.random.default_rng(3)
    a, b, o = whole(rng, (5, 8, 8), "complex128"), whole(rng, (8, 6), "complex128"), np.zeros((5, 8, 6), "complex128")
    plan = ComplexContraction("o[e i k] = a[e i j] b[j k]", dict(i=4, j=4, k=6), backend="cpu", how="library")
    plan.bind({"a": a[:, ::2, ::2], "b": b[::2], "o": o[:, ::2]})()

    assert np.array_equal(o[:, ::2], a[:, ::2, ::2] @ b[::2])
    assert not o[:, 1::2].any() and "complex128" in asked


def test_arrays_that_a_library_cannot_read(asked):
    """Backwards: the parts are copied, and no product is asked for."""
    rng = np.random.default_rng(3)
    a, b, o = whole(rng, (5, 4, 4), "complex128"), whole(rng, (4, 6), "complex128"), np.zeros((5, 4, 6), "complex128")
    plan = ComplexContraction("o[e i k] = a[e i j] b[j k]", dict(i=4, j=4, k=6), backend="cpu", how="library")
    plan.bind({"a": a[:, ::-1], "b": b, "o": o})()
    assert np.array_equal(o, a[:, ::-1] @ b) and "complex128" not in asked


def test_the_price_chooses(asked):
    """Large products go to the library, many small products and products with a real factor do not."""
    rng = np.random.default_rng(4)
    for dtype in ("complex64", "complex128"):
        a, b = whole(rng, (128, 128), dtype), whole(rng, (128, 128), dtype)
        assert np.array_equal(contract("ij,jk->ik", a, b), a @ b)
        assert asked.pop() == dtype

        contract("ij,jk->ik", a, b.real.copy())
        contract("eij,ejk->eik", a.reshape(-1, 2, 2), b.reshape(-1, 2, 2))
        assert dtype not in asked


def test_the_price_of_batches_chooses(large_cache):
    """The library serves large matrices of complex numbers, unless an option asks for what it has not."""
    text, sizes = "o[e i k] = a[e i j] b[j k]", dict(i=128, j=128, k=128)
    usual = ComplexContraction(text, sizes, backend="cpu")
    assert usual.products and "by kernels of complex numbers" in usual.explain()
    other = next(how.name for _, how, _ in usual.parts.candidates if how.name != "library")
    lying = ComplexContraction(text, sizes, backend="cpu", real="b")
    assert "by a real contraction, with the part as the last index" in lying.explain()
    for options in (dict(constant="b"), dict(how=other), dict(order=0)):
        plan = ComplexContraction(text, sizes, backend="cpu", **options)
        assert "by kernels of complex numbers" not in plan.explain()
    assert plan.products is None and "by the real contraction of their parts" in plan.explain()


def test_errors_are_those_of_the_parts():
    """The same words by either way."""
    rng = np.random.default_rng(5)
    a = whole(rng, (3, 4, 4), "complex128")
    plan = ComplexContraction("o[e i k] = a[e i j] b[e j k]", dict(i=4, j=4, k=4), backend="cpu", how="library")
    assert plan.products
    with pytest.raises(ArgumentError, match="array 'b' is missing"):
        plan.bind({"a": a, "o": a.copy()})
    with pytest.raises(ArgumentError, match="array 'b': type float64, wanted complex128"):
        plan.bind({"a": a, "b": a.real.copy(), "o": a.copy()})
    with pytest.raises(ArgumentError, match="output 'o' and array 'a' share memory"):
        plan.bind({"a": a, "b": a.copy(), "o": a})
