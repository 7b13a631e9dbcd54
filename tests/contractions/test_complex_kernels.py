"""Complex arrays in kernels of complex numbers on a device, beside numpy.einsum in small whole numbers: exact.

The stand-in of a device plays the GPU; it is the real one with `pytest -m gpu`.
"""

import numpy as np
import pytest
from tensor_cases import machine_code

from kernels import ComplexContraction, contract, get_backend
from kernels.engine.backend import cuda

TYPES = ("complex64", "complex128")
# text, einsum's string of its first product, sizes, entries
FORMS = (
    ("o[i] = a[i j] b[i j]", dict(j=37), 5),
    ("o[i] = a[i j] b[i j]", dict(j=64), 3),
    ("o[i j] = a[i j] b[j]", dict(j=6), 5),
    ("o[i j] = a[j i]", dict(j=7), 5),
    ("o[j] = a[i j] b[i]", dict(i=9), 11),
    ("o[j i] += 2 a[i j] b[i] - b[i] c[j]", dict(i=6), 4),
    ("o[i] -= 3 a[i j k] b[k] c[j]", dict(j=3, k=8), 4),
)
LONG = 1 << 18  # terms of one sum: several warps add up parts of it


@pytest.fixture(scope="module", params=["stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def be(request):
    return request.getfixturevalue("stand_in") if request.param == "stand-in" else get_backend("cuda")


def whole(rng, shape, dtype):
    return (rng.integers(-4, 5, shape) + 1j * rng.integers(-4, 5, shape)).astype(dtype)


def wanted(plan, arrays):
    """The output by numpy.einsum, term by term."""
    (s,) = plan.expression.statements
    names = dict(zip(plan.expression.indices, "abcdefgh"))

    def letters(r):
        return "".join(names[i] for i in r.indices)

    total = arrays[s.out.name].copy() if s.add else 0
    for t in s.terms:
        text = ",".join(map(letters, t.factors)) + "->" + letters(s.out)
        total = total + t.number * np.einsum(text, *(arrays[f.name] for f in t.factors))

    return total


def filled(plan, n, dtype, seed=0):
    """Whole numbers, and NaN in an output that is not added to."""
    rng = np.random.default_rng(seed)
    arrays = {x: whole(rng, plan.shape(x, n), dtype) for x in (*plan.expression.inputs, *plan.expression.outputs)}
    return {x: np.full_like(a, np.nan) if x in set(plan.expression.outputs) - plan.expression.updated else a
            for x, a in arrays.items()}  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("text, sizes, n", FORMS)
def test_each_organisation(be, text, sizes, n, dtype):
    """Every organisation that has complex numbers: the same values. `=` does not read what was there."""
    first = ComplexContraction(text, sizes, dtype, backend=be, entries=n)
    assert first.products, first.explain()

    for _, how, _ in first.products.candidates:
        plan = ComplexContraction(text, sizes, dtype, backend=be, entries=n, how=how.name)
        assert plan.products and plan.products.how.name == how.name
        arrays = filled(plan, n, dtype)
        there = {x: be.from_host(a.copy(), a.dtype) for x, a in arrays.items()}
        plan.bind(there)()

        assert np.array_equal(be.to_host(there["o"]), wanted(plan, arrays)), how


@pytest.mark.parametrize("dtype", TYPES)
def test_a_long_sum_in_parts(be, dtype):
    """Whole numbers below 2^24: exact in single precision too."""
    rng = np.random.default_rng(1)
    a, b = whole(rng, LONG, dtype), whole(rng, LONG, dtype)
    plan = ComplexContraction("o[] = a[i] b[i]", dict(i=LONG), dtype, backend=be, how="sums")

    assert plan.products.how.parts > 1
    found = contract("i,i->", be.from_host(a, a.dtype), be.from_host(b, b.dtype), backend=be, how="sums")
    assert be.to_host(found) == np.einsum("i,i->", a, b)


FEW = (  # strings of few numbers with long sums, shapes, how
    ("ni,nj->ij", [(701, 5), (701, 4)], "moments threads=64"),
    ("ni,nj->ij", [(701, 4), (701, 6)], "moments threads=32 near={near} parts=7"),
    ("bi->i", [(1009, 6)], "moments threads=96 near={near} parts=2"),
    ("in,jn,n->ij", [(3, 130), (4, 130), (130,)], "moments threads=32 parts=5"),
)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("text, shapes, how", FEW)
def test_few_numbers_with_long_sums(be, text, shapes, how, dtype):
    """Some threads and parts have no terms; two numbers of 8 bytes are read at once."""
    rng = np.random.default_rng(6)
    arrays = [whole(rng, shape, dtype) for shape in shapes]
    there = [be.from_host(a, a.dtype) for a in arrays]
    how = how.format(near=16 // np.dtype(dtype).itemsize)
    found = contract(text, *there, backend=be, batch="", how=how)

    assert np.array_equal(be.to_host(found), np.einsum(text, *arrays))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("text", "wanted"), [("o[i j] = a[n i] b[n j]", "moments"), ("o[j] = a[n j]", "columns")], ids=["ninj", "nj"]
)
def test_what_is_chosen_for_them(text, wanted, dtype):
    """On an H200 `sums` took 71 us and 22 us for such sums, torch 57 and 17."""
    target = get_backend("cuda", arch="sm_90")
    plan = ComplexContraction(text, dict(n=1000000, i=6, j=5), dtype, backend=target, batch="")
    assert plan.products.how.name == wanted


@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_that_begin_between_two_others(be, dtype):
    """A view whose numbers begin at an odd half is copied into parts; a view that begins at an odd number is read."""
    rng, real = np.random.default_rng(2), np.dtype(dtype).type(0).real.dtype
    flat = be.from_host(rng.integers(-4, 5, 2 * 6 * 9 + 3).astype(real), real)
    size, steps = np.dtype(dtype).itemsize, (9 * np.dtype(dtype).itemsize, np.dtype(dtype).itemsize)

    for begin in (real.itemsize, size):
        a = be.at(be.address(flat) + begin, (6, 9), steps, np.dtype(dtype))
        host = be.to_host(flat)[begin // real.itemsize :][: 2 * 6 * 9].view(dtype).reshape(6, 9)
        out = be.from_host(np.zeros(6, dtype), np.dtype(dtype))
        plan = ComplexContraction("o[i] = a[i j] a[i j]", dict(j=9), dtype, backend=be)

        assert plan.takes("a", a, 6) == (begin == size)
        plan.bind({"a": a, "o": out})()
        assert np.array_equal(be.to_host(out), np.einsum("ij,ij->i", host, host))


@pytest.mark.parametrize("dtype", TYPES)
def test_rounding_is_that_of_the_parts(be, dtype):
    """4 K eps sum(|a||b|), as paired.py has it: K roundings in a row of four products a term."""
    rng, k = np.random.default_rng(3), 57
    a, b = (rng.standard_normal((4, k)) + 1j * rng.standard_normal((4, k)) for _ in "ab")
    a, b = a.astype(dtype), b.astype(dtype)
    found = be.to_host(contract("ij,ij->i", be.from_host(a, a.dtype), be.from_host(b, b.dtype), backend=be))
    exact = np.einsum("ij,ij->i", a.astype("complex128"), b.astype("complex128"))
    error = 4 * k * np.finfo(dtype).eps * np.einsum("ij,ij->i", abs(a).astype(float), abs(b).astype(float))

    assert found.dtype == dtype and (abs(found - exact) <= error).all()


def test_nan_stays_in_its_entry(be):
    rng = np.random.default_rng(4)
    a, b = whole(rng, (5, 8), "complex128"), whole(rng, (5, 8), "complex128")
    a[2, 3] = np.nan
    found = be.to_host(contract("ij,ij->i", be.from_host(a, a.dtype), be.from_host(b, b.dtype), backend=be))

    assert np.isnan(found[2]) and np.array_equal(np.delete(found, 2), np.einsum("ij,ij->i", a, b)[[0, 1, 3, 4]])


@pytest.mark.parametrize("dtype", TYPES)
def test_a_chain_goes_step_by_step(be, dtype):
    rng = np.random.default_rng(5)
    g, x, y = whole(rng, (6, 4), dtype), whole(rng, (4, 3), dtype), whole(rng, (6, 3), dtype)
    there = [be.from_host(z, z.dtype) for z in (g, x, y)]
    found = contract("gi,ij,gj->g", *there, backend=be, how="apart")

    assert np.array_equal(be.to_host(found), np.einsum("gi,ij,gj->g", g, x, y))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("text, sizes, n", FORMS)
def test_kernels_compile_for_a_device(monkeypatch, text, sizes, n, dtype):
    """NVRTC, sm_90; no register is spilled."""
    monkeypatch.setattr(cuda, "machine_code", machine_code)
    target = get_backend("cuda", arch="sm_90")
    plan = ComplexContraction(text, sizes, dtype, backend=target, entries=n).products

    for name in ("flat", "sums", "moments"):
        for how in [how for _, how, _ in plan.candidates if how.name == name]:
            for source in how.sources(plan):
                told = target.compile(source).report["contraction"]
                assert told["spill_stores"] == told["spill_loads"] == 0, how


def test_the_price_chooses():
    """Copies of large arrays into their parts took 9 times as long as to read them: a dot product of rows."""
    target = get_backend("cuda", arch="sm_90")
    rows = ComplexContraction("o[i] = a[i j] b[i j]", dict(j=4000), "complex64", backend=target, entries=4000)
    assert rows.products.how.name == "sums" and "by kernels of complex numbers" in rows.explain()

    product = ComplexContraction("o[i k] = a[i j] b[j k]", dict(j=1000, k=1000), backend=target, entries=1000)
    assert product.products.how.name == "library"
