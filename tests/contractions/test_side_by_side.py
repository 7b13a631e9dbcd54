"""Complex contractions by real ones of the arrays as they lie, beside numpy.einsum in small whole numbers: exact."""

import numpy as np
import pytest

from kernels import ComplexContraction, contract, get_backend
from kernels.contractions import matrices
from kernels.contractions.side_by_side import SideBySide

SIZES = dict(zip("abcdef", (5, 3, 7, 2, 4, 3)))
STRINGS = (
    "ab,bc->ac",
    "ba,bc->ca",
    "dab,dbc->dac",
    "abc,cbd->da",
    "aeb,ebdc->adc",
    "ab,b->a",
    "ab,ab->a",
    "ab,ab->",
    "a,b->ab",
    "ab,cd->acbd",
    "ab,bc,cd->ad",
    "ab,b,bc->ac",
    "aab,bc->ac",
)


def whole(rng, shape, dtype):
    return (rng.integers(-9, 9, shape) + 1j * rng.integers(-9, 9, shape)).astype(dtype)


def operands_of(text, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return [whole(rng, [SIZES[i] for i in own], dtype) for own in text.split("->")[0].split(",")]


@pytest.fixture
def as_they_lie(monkeypatch):
    """All contractions that can be real ones of the arrays as they lie are, whatever it takes."""
    monkeypatch.setattr(SideBySide, "seconds", 0.0)
    monkeypatch.setattr(ComplexContraction, "_served", lambda *_: None)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("text", STRINGS)
def test_products(as_they_lie, text, dtype):
    """The first call, calls that come again, and arrays that lie otherwise. The library has nothing to compile."""
    backend = get_backend("cpu", threads=1)
    for seed in range(3):
        operands = operands_of(text, dtype, seed)
        assert np.array_equal(contract(text, *operands, backend=backend, how="library"), np.einsum(text, *operands))

    turned = [np.asfortranarray(a) for a in operands]
    backwards = [a[..., ::-1].copy()[..., ::-1] if a.ndim else a for a in operands]
    gaps = [np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a for a in operands]
    for some in (turned, backwards, gaps):
        for _ in range(2):
            assert np.array_equal(contract(text, *some, backend=backend, how="library"), np.einsum(text, *some))


def test_statements(as_they_lie):
    """Locals, sums of terms, old values, constants, real factors: exact."""
    rng = np.random.default_rng(1)
    a, b, c = (whole(rng, (4, 4), "complex128") for _ in range(3))
    d, old = rng.integers(-9, 9, (4, 4)).astype(float), whole(rng, (4, 4), "complex128")

    out = old.copy()
    contract("t[i k] = a[i j] b[j k]; o[i l] += 2 t[i k] c[k l] - d[i k] a[k l]", local="t", a=a, b=b, c=c, d=d, o=out)
    assert np.array_equal(out, old + 2 * (a @ b @ c) - d @ a)

    plan = ComplexContraction("o[e i k] = a[e i j] b[j k]", dict(i=4, j=4, k=4), backend="cpu", constant="b")
    assert isinstance(plan.products, SideBySide)
    given, out = whole(rng, (3, 4, 4), "complex128"), np.full((3, 4, 4), np.nan, "complex128")
    held = b.copy()
    run = plan.bind(dict(a=given, b=held, o=out))
    held[...] = 0  # a constant is copied at the bind
    run()
    assert np.array_equal(out, given @ b)


def test_two_locals_have_no_copies():
    """The parts apart take their place."""
    rng = np.random.default_rng(2)
    a, b = (whole(rng, (4, 4), "complex128") for _ in range(2))
    out = np.full((4, 4), np.nan, "complex128")
    text = "s[i j] = a[i j] + b[i j]; t[i j] = a[i j] - b[i j]; o[i k] = s[i j] t[j k]"
    contract(text, local="s t", batch="", a=a, b=b, o=out)
    assert np.array_equal(out, (a + b) @ (a - b))


def test_nan_stays_in_its_entry(as_they_lie):
    rng = np.random.default_rng(3)
    a, b = whole(rng, (4, 5, 5), "complex128"), whole(rng, (4, 5, 5), "complex128")
    a[2, 3, 1] = b[1, 2, 2] = np.inf
    found = contract("eij,ejk->eik", a, b)

    apart = [0, 3]
    assert np.array_equal(found[apart], a[apart] @ b[apart])
    assert np.isfinite(found[1][:, [0, 1, 3, 4]]).all() and np.isfinite(np.delete(found[2], 3, axis=0)).all()
    assert not np.isfinite(found[2, 3]).any() and not np.isfinite(found[1][:, 2]).any()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    "shape, axes, rows", [((3, 17), (0, 1), 1), ((5, 4, 9), (2, 0, 1), 2), ((33,), (0,), 1), ((), (), 0)]
)
def test_copies_as_matrices(shape, axes, rows, dtype):
    """Whole packs and what is left over; nothing beyond the copy is written."""
    rng = np.random.default_rng(4)
    copy = matrices.Matrices("m", "a", axes, rows)
    for lie in (np.copy, lambda a: a.T.copy().T, lambda a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a):
        array = lie(whole(rng, shape, dtype))
        held = np.full((2 * 2 * array.size + 1,), 77, array.real.dtype)
        target = held[:-1].reshape(copy.shape(array.shape))
        copy.filler(get_backend("cpu", threads=1), array)((array, target))

        ordered = array.transpose(axes)
        found = np.moveaxis(target, rows, -2)  # numbers, then their matrices
        assert np.array_equal(found[..., 0, :], np.stack([ordered.real, ordered.imag], -1))
        assert np.array_equal(found[..., 1, :], np.stack([-ordered.imag, ordered.real], -1))
        assert held[-1] == 77
