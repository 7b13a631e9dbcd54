"""Operands of tensor expressions: numbers, types and shapes that are taken, and errors that name what is refused."""

import numpy as np
import pytest

from kernels import Contraction, contract, get_backend
from kernels.contractions import intrepid
from kernels.engine.errors import ArgumentError


def test_contract_as_einsum():
    rng = np.random.default_rng(0)
    left, right = rng.integers(-3, 4, (4, 3, 9)).astype(float), rng.integers(-3, 4, (4, 5, 9)).astype(float)
    out = contract("clp,crp->clr", left, right)
    assert np.array_equal(out, np.einsum("clp,crp->clr", left, right))
    assert np.array_equal(contract("ij,jk", left[0], right[0].T), left[0] @ right[0].T)  # not contiguous: copied
    assert contract("clp,clp->", left, left) == np.vdot(left, left)
    assert contract("i,i->i", [1.0, 2.0], [3.0, 4.0]).tolist() == [3.0, 8.0]
    assert contract("clp,crp->clr", left[:0], right[:0]).shape == (0, 3, 5)

    with pytest.raises(ArgumentError, match="'operand1', index 'p': extent 8, wanted 9 as 'operand0' has it"):
        contract("clp,crp->clr", left, right[:, :, :8])
    with pytest.raises(ArgumentError, match="1 arrays in order, wanted 2"):
        contract("clp,crp->clr", left)
    with pytest.raises(ArgumentError, match="array 'o' is added to, so it has to be given"):
        contract("o[c l] += a[c l p]", a=left)


NUMBERS = (np.float64(3), np.ones(3).sum(), np.array([3.0, 1.0])[0], np.array(3.0), 3.0, 3, np.int64(3), np.float16(3))


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{type(number).__name__}")
def test_an_operand_that_is_a_number(number):
    """NumPy's scalars tell the address of a copy that is freed at once. Memory of that size is used again between."""
    b = np.arange(12.0).reshape(3, 4)
    if isinstance(number, (float, int, np.generic)):
        assert np.array_equal(contract("o[i j] = a[] b[i j]", a=number, b=b), 3 * b)

    assert np.array_equal(contract(",ij->ij", number, b), 3 * b)

    plan, out = Contraction("o[i j] = a[] b[i j]", dict(j=4), backend="cpu"), np.full((3, 4), np.nan)
    if not isinstance(number, np.ndarray):
        run = plan.bind({"a": number, "b": b, "o": out})
        held = [np.full(1, -1.0) for _ in range(100)]
        run()
        assert np.array_equal(out, 3 * b) and len(held) == 100


def test_an_array_of_no_dimensions_is_read_at_each_run():
    plan, a, out = Contraction("o[i] = a[] b[i]", {}, backend="cpu"), np.array(3.0), np.full(4, np.nan)
    b = np.arange(4.0)
    run = plan.bind({"a": a, "b": b, "o": out})
    a[...] = 5
    run()
    assert np.array_equal(out, 5 * b)


def test_a_product_of_numpy_as_factor():
    """A step of conjugate gradients, in both precisions: small whole numbers, so that float32 is exact."""
    for dtype in (np.float64, np.float32):
        x = np.arange(1, 6, dtype=dtype)
        alpha = np.dot(x, x)
        got = contract("out[i] = alpha[] x[i] + y[i]", alpha=alpha, x=x, y=x)
        assert got.dtype == dtype and np.array_equal(got, 56 * x)

    assert contract("out[i] = a[] x[i]", a=0.5, x=x).dtype == np.float32  # Python's numbers take any type


def test_results_and_operands_of_no_dimensions():
    x, out = np.arange(4.0), np.full((), np.nan)
    assert contract("i,i->", x, x, out=out) is out and out == 14
    assert contract("->", np.array(3.0)) == 3 and contract(",->", 2.0, np.float64(3)) == 6
    assert contract(",i->i", np.float32(2), x.astype("f4")).dtype == np.float32


def test_types_of_einsum_operands():
    """Types that float64 holds exactly are taken: whole numbers, truth values, float16, another byte order."""
    x = np.arange(12.0).reshape(3, 4)
    for other in (x.astype(int), x.astype(np.float16), x.astype(">f8"), x[::-1][::-1], np.asfortranarray(x)):
        assert np.array_equal(contract("ij->ji", other), x.T)
    assert np.array_equal(contract("ij,ij->ij", x > 5, x), (x > 5) * x)


@pytest.mark.parametrize(
    "wrong, words",
    [
        (np.ones((2, 2), np.clongdouble), "'operand0': type .*, wanted complex128: digits would be lost"),
        (np.ones((2, 2), object), "'operand0': type object, wanted numbers"),
        (np.ones((2, 2), np.longdouble), "'operand0': type .*, wanted float64: digits would be lost"),
        (np.full((2, 2), 2**60), "'operand0': a whole number above 2\\^53"),
        (np.full((2, 2), "1"), "'operand0': type <U1, wanted numbers, not text"),
        (np.zeros((2, 2), "M8[s]"), "not dates"),
        (np.ma.array(np.ones((2, 2)), mask=np.eye(2)), "array 'operand0' is masked"),
    ],
)
def test_types_that_would_lose_something_are_refused(wrong, words):
    with pytest.raises(ArgumentError, match=words):
        contract("ij,jk->ik", wrong, np.ones((2, 2)))
    with pytest.raises(ArgumentError, match="array 'a'"):
        contract("o[i j] = a[i j] b[i j]", a=wrong, b=np.ones((2, 2)))


@pytest.mark.parametrize(
    "number, words",
    [
        (np.float64(3), "array 'a': type float64, wanted float32"),
        (2**24 + 1, "16777217 is not exact in float32"),
        (True, "'a': type bool, wanted numbers"),
        ("3", "array 'a' is str, wanted an array"),
    ],
)
def test_numbers_that_are_refused(number, words):
    with pytest.raises(ArgumentError, match=words):
        contract("o[i j] = a[] b[i j]", a=number, b=np.ones((2, 2), np.float32))


@pytest.mark.parametrize("out", [np.float64(0), 0.0])
def test_an_output_that_is_a_number_is_refused_by_name(out):
    with pytest.raises(ArgumentError, match="output 's' is a number \\(float.*, wanted an array to write"):
        contract("s[] = b[i] b[i]", b=np.ones(3), s=out)


def test_a_number_has_no_address():
    with pytest.raises(ArgumentError, match="is a number, which has no address"):
        get_backend("cpu").address(np.float64(1))


def check_device_arrays(backend):
    """CuPy's arrays in, CuPy's out: new ones, one that is added to in place, Intrepid's names."""
    rng, host = np.random.default_rng(0), lambda a: np.array(backend.to_host(a))
    left, right = rng.integers(-3, 4, (4, 3, 9)).astype(float), rng.integers(-3, 4, (4, 5, 9)).astype(float)
    a, b, wanted = backend.from_host(left), backend.from_host(right), np.einsum("clp,crp->clr", left, right)
    made = contract("clp,crp->clr", a, b)
    assert hasattr(made, "__cuda_array_interface__") and np.array_equal(host(made), wanted)
    assert contract("o[c l r] += a[c l p] b[c r p]", a=a, b=b, o=made) is made
    assert np.array_equal(host(made), 2 * wanted)
    out = backend.from_host(np.full(wanted.shape, np.nan))
    assert intrepid.contractFieldFieldScalar(out, a, b) is out and np.array_equal(host(out), wanted)
    intrepid.contractFieldFieldScalar(out, a, b, sumInto=True)
    assert np.array_equal(host(out), 2 * wanted)

    for number in (3.0, np.float64(3), np.float32(3)):
        assert np.array_equal(host(contract("o[c l p] = s[] a[c l p]", s=number, a=a)), 3 * left)
        assert np.array_equal(host(contract(",clp->clp", number, a)), 3 * left)

    plan = Contraction("o[c l r] = a[c l p] b[c r p]", dict(l=3, r=5, p=9), backend=backend)
    assert "reached: 4 entries in" in plan.explain({"a": a, "b": b, "o": out})
    with pytest.raises(ArgumentError, match="is not where backend cuda works"):
        contract("o[c l r] = a[c l p] b[c r p]", a=a, b=right)
    with pytest.raises(ArgumentError, match="'operand1', index 'p': extent 8, wanted 9"):
        contract("clp,crp->clr", a, b[:, :, :8])


def test_arrays_of_a_device_in_and_out(stand_in):
    check_device_arrays(stand_in)


def refused(**changes):
    """The error of a bind with one thing changed."""
    plan = Contraction("o[e i] = a[e i j] m[i j]", dict(i=3, j=4), batch="e", backend="cpu", how="rows")
    good = {"a": np.ones((5, 3, 4)), "m": np.ones((3, 4)), "o": np.ones((5, 3))}
    plan.bind(good, 5)
    n = changes.pop("n", 5)

    with pytest.raises(ArgumentError) as error:
        plan.bind({name: a for name, a in {**good, **changes}.items() if a is not None}, n)

    return str(error.value)


def test_what_binding_refuses():
    """Each array, index, found and wanted extent by name."""
    wide = np.ones((5, 3, 8))
    both = np.ones(100)
    read_only = np.ones((5, 3))
    read_only.flags.writeable = False

    for changes, why in (
        (dict(m=None), "array 'm' is missing"),
        (dict(x=np.ones(3)), "array 'x' is not in the tensor expression; it has a, m, o"),
        (dict(m=[1.0]), "array 'm' is list, wanted an array of numpy"),
        (dict(m=np.ones((3, 4), np.float32)), "array 'm': type float32, wanted float64"),
        (dict(m=np.ones(12)), "array 'm': 1 dimensions (12,), wanted 2: [i j]"),
        (dict(m=np.ones((3, 5))), "array 'm', index 'j': extent 5, wanted 4"),
        (dict(a=np.ones((4, 3, 4))), "array 'a', index 'e': extent 4, wanted 5 or more"),
        (dict(n=6), "array 'a', index 'e': extent 5, wanted 6 or more"),
        (dict(n=-1), "n = -1, wanted 0 or more"),
        (dict(a=wide[:, :, ::2]), "array 'a', index 'j': neighbours are 16 bytes apart, wanted 8"),
        (dict(m=np.ones((4, 3)).T), "array 'm', index 'j': neighbours are 24 bytes apart, wanted 8"),
        (dict(a=np.ones((5, 4, 3)).swapaxes(1, 2)), "array 'a', index 'j'"),
        (dict(a=both[:60].reshape(5, 3, 4), o=both[50:65].reshape(5, 3)), "output 'o' and array 'a' share memory"),
        (dict(o=read_only), "array 'o' is read-only"),
    ):
        assert why in refused(**changes), why
