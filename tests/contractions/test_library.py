"""The library's organisation against einsum: the 48 contractions of TCCG with ragged extents, sums, NaN, sections.

cuBLAS is played by NumPy on the stand-in of a device (cuda_on_cpu/cublas.py: columns first, as its manual has it). It
is the real library with `pytest -m gpu`.
"""

import numpy as np
import pytest

from frame.tools.bench import tccg
from kernels import Contraction, contract, get_backend
from kernels.contractions import permute, products
from kernels.contractions.free import FreeContraction
from kernels.contractions.organisations.library import DeviceLibrary, HostLibrary
from kernels.engine.errors import ArgumentError

RAGGED = dict(zip("abcdefg", (5, 3, 7, 2, 11, 1, 4)))


@pytest.fixture(scope="module")
def be(every_backend):
    return every_backend


def library(be, rank=0):
    return (DeviceLibrary if be.memory == "device" else HostLibrary)(rank=rank)


def arrays_of(name, extents, dtype, seed=0):
    """{C, A, B} of small integers, which any order of the sums adds exactly; C is not read: NaN."""
    rng = np.random.default_rng(seed)
    made = {}
    for array, indices in zip("CAB", name.split("-")):
        made[array] = rng.integers(-9, 9, [extents[i] for i in reversed(indices)]).astype(dtype)
    return made


def einsum(name, arrays):
    out, left, right = (indices[::-1] for indices in name.split("-"))
    return np.einsum(f"{left},{right}->{out}", arrays["A"], arrays["B"])


def done(be, text, arrays, extents, dtype="float64", rank=0, n=None):
    """C after a run by the library."""
    letters = {i for i in extents if i in text.split("=")[0] or i in text}
    plan = Contraction(text, {i: extents[i] for i in letters}, dtype, backend=be, how=library(be, rank))
    there = {name: be.from_host(a, a.dtype) for name, a in arrays.items()}
    plan.bind(there, n)()
    return be.to_host(there["C"])


@pytest.mark.parametrize("name", tccg.names())
def test_tccg_with_ragged_extents(be, name):
    """Exact: integers. `=` does not read NaN in C; += and -= with a number add to it."""
    arrays = arrays_of(name, RAGGED, "float64")
    wanted, old = einsum(name, arrays), arrays["C"].copy()

    arrays["C"][...] = np.nan
    assert np.array_equal(done(be, tccg.text(name), arrays, RAGGED), wanted)

    for sign, number in (("+=", 1), ("-=", 3)):
        text = tccg.text(name, f"{sign} {number}")
        found = done(be, text, {**arrays, "C": old.copy()}, RAGGED)
        assert np.array_equal(found, old + number * wanted if sign == "+=" else old - number * wanted)


@pytest.mark.parametrize("name", ["ab-ac-cb", "abcd-dbea-ec", "abcd-aebf-dfce", "abcdef-dega-gfbc"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_every_way_and_type(be, name, dtype, rank):
    arrays = arrays_of(name, RAGGED, dtype)
    assert np.array_equal(done(be, tccg.text(name), arrays, RAGGED, dtype, rank), einsum(name, arrays))


@pytest.mark.parametrize("extents", [dict.fromkeys("abcdefg", 1), {**RAGGED, "a": 1, "e": 1}])
@pytest.mark.parametrize("name", ["abc-bda-dc", "abcd-eafd-fbec", "abcdef-gfbc-dega"])
def test_extents_of_one(be, name, extents):
    arrays = arrays_of(name, extents, "float64")
    assert np.array_equal(done(be, tccg.text(name), arrays, extents), einsum(name, arrays))


def test_no_entries(be):
    """A batch of 0 writes nothing."""
    arrays = arrays_of("abc-bda-dc", RAGGED, "float64")
    assert np.array_equal(done(be, tccg.text("abc-bda-dc"), dict(arrays), RAGGED, n=0), arrays["C"])


def test_nan_stays_in_its_entry(be):
    """NaN in one matrix of a batch spoils that product alone."""
    rng = np.random.default_rng(1)
    arrays = {x: rng.integers(-9, 9, (4, 5, 5)).astype(float) for x in "ABC"}
    arrays["A"][2, 3, 1] = np.nan
    found = done(be, "C[e i j] = A[e i k] B[e k j]", arrays, dict(e=4, i=5, j=5, k=5))

    wanted = arrays["A"] @ arrays["B"]
    assert np.isnan(found[2, 3]).all()
    assert np.array_equal(found[[0, 1, 3]], wanted[[0, 1, 3]])
    assert not np.isnan(np.delete(found[2], 3, axis=0)).any()


def test_parts_of_larger_arrays(be):
    """Entries apart, and places that no vector load may take."""
    rng = np.random.default_rng(2)
    whole = {x: rng.integers(-9, 9, (7, 9 * 5 + 1)).astype(float) for x in "ABC"}
    there = {x: be.from_host(a, a.dtype) for x, a in whole.items()}
    size = there["A"].itemsize
    parts = {x: be.at(be.address(a) + size, (6, 5, 5), (46 * size, 5 * size, size), a.dtype) for x, a in there.items()}
    sizes = dict(i=5, j=5, k=5)

    Contraction("C[e i j] = A[e k i] B[e j k]", sizes, backend=be, how=library(be)).bind(parts)()

    cut = {x: a.ravel()[1:][: 6 * 46 - 1] for x, a in whole.items()}
    left, right = (np.lib.stride_tricks.as_strided(cut[x], (6, 5, 5), (368, 40, 8)) for x in "AB")
    found = be.to_host(there["C"])
    wanted = whole["C"].copy()
    target = np.lib.stride_tricks.as_strided(wanted.ravel()[1:], (6, 5, 5), (368, 40, 8))
    target[...] = np.einsum("eki,ejk->eij", left, right)
    assert np.array_equal(found, wanted)  # what lies between the parts keeps its bits


def test_stepped_arrays_are_read_where_they_lie(be, monkeypatch):
    """Every second row, of the operand and of the output: lines of one step each, no copies."""
    rng = np.random.default_rng(3)
    big, b, held = rng.integers(-9, 9, (4, 10, 6)), rng.integers(-9, 9, (6, 3)), np.zeros((4, 15, 3))
    there = {name: be.from_host(a, np.float64) for name, a in dict(big=big, b=b, held=held).items()}
    plan = Contraction("o[i j l] = a[i j k] b[k l]", dict(j=5, k=6, l=3), backend=be, how=library(be))
    arrays = dict(a=there["big"][:, ::2], b=there["b"], o=there["held"][:, ::3])

    monkeypatch.setattr(permute, "bound", None)
    plan.bind(arrays)()
    held[:, ::3] = big[:, ::2] @ b
    assert np.array_equal(be.to_host(there["held"]), held)


def test_arrays_with_a_number_twice_are_refused(be):
    """Windows that overlap, and steps backwards."""
    plan = Contraction("o[i l] = a[i k] b[k l]", dict(k=6, l=3), backend=be, how=library(be))
    a, b, o = (be.from_host(np.ones(shape)) for shape in ((10,), (6, 3), (4, 3)))
    windows = be.at(be.address(a), (4, 6), (8, 8), np.dtype(np.float64))
    for wrong in (windows, be.from_host(np.ones((4, 6)))[::-1]):
        with pytest.raises(ArgumentError, match="array 'a', index '.': neighbours are -?[0-9]+ bytes apart"):
            plan.bind(dict(a=wrong, b=b, o=o))


def test_several_statements(be):
    """A local, two terms, a copy: each in turn."""
    rng = np.random.default_rng(3)
    sizes = dict(i=3, j=4, k=5)
    shapes = dict(A=(6, 3, 5), B=(5, 4), D=(6, 4, 3), C=(6, 3, 4))
    arrays = {x: rng.integers(-9, 9, shape).astype(float) for x, shape in shapes.items()}
    text = "t[e j i] = A[e i k] B[k j]; C[e i j] = 2 t[e j i] - D[e j i]; C[e i j] += A[e i k] B[k j]; local t"
    found = done(be, text, arrays, sizes | {"e": 6})

    assert np.array_equal(found, 3 * (arrays["A"] @ arrays["B"]) - arrays["D"].swapaxes(1, 2))


def test_a_path_of_more_than_two_factors(be):
    rng = np.random.default_rng(4)
    shapes = dict(A=(3, 4), B=(4, 5), D=(6, 5, 2), C=(6, 3, 2))
    arrays = {x: rng.integers(-9, 9, shape).astype(float) for x, shape in shapes.items()}
    found = done(be, "C[e i l] = A[i j] B[j k] D[e k l]", arrays, dict(i=3, j=4, k=5, l=2, e=6))

    assert np.array_equal(found, np.einsum("ij,jk,ekl->eil", arrays["A"], arrays["B"], arrays["D"]))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("C[e i] = A[e i x] B[i]", "no index of the left factor alone, such as 'x'"),
        ("C[e] = A[e x]", "terms of one factor without sums"),
        ("C[e i] = A[e i] + 2", "terms of one or two factors"),
        ("C[e i] = 0 A[e i]", "terms whose number is not 0"),
        ("map C[e i] = f(A[e i])", "statements that are sums of products, no maps"),
    ],
)
def test_what_a_library_does_not_serve(text, reason):
    plan = Contraction(text, dict(i=3, x=2), backend="cpu", headers=("f.h",))
    assert HostLibrary().serves(plan.program).startswith(reason)
    with pytest.raises(ArgumentError, match="no organisation 'library' here"):
        Contraction(text, dict(i=3, x=2), backend="cpu", how="library", headers=("f.h",))


def test_one_source_for_all():
    """Sizes and texts leave no trace in what is compiled."""
    one = Contraction(tccg.text("abc-bda-dc"), dict(a=5, b=3, d=2), how="library", backend="cpu")
    other = Contraction("C[e i j] += A[e i k] B[k j]", dict(i=50, j=3, k=2), how="library", backend="cpu")
    assert one.how.sources(one) == other.how.sources(other)


def test_bits_do_not_depend_on_the_batch(be):
    """Products that the library does one by one: each entry has the same bits whatever the batch."""
    rng = np.random.default_rng(5)
    arrays = {x: rng.random((9, 16, 16)) for x in "ABC"}
    sizes = dict(i=16, j=16, k=16, e=9)
    text = "C[e i j] = A[e i k] B[e k j]"
    whole = done(be, text, arrays, sizes)
    one = done(be, text, {x: a[4:5].copy() for x, a in arrays.items()}, sizes)

    assert np.array_equal(whole[4], one[0])


@pytest.fixture
def compiled(monkeypatch) -> list[str]:
    """Texts of all that a CPU is asked to compile."""
    permute._module.cache_clear()
    found: list[str] = []
    kind = type(get_backend("cpu"))
    compile_ = kind.compile
    monkeypatch.setattr(kind, "compile", lambda self, source: found.append(source.text) or compile_(self, source))
    return found


def test_free_extents_compile_once(compiled):
    """Ten sizes by one plan, each right; nothing is compiled but copies, each once."""
    plan = FreeContraction(tccg.text("abcd-dbea-ec"), backend=get_backend("cpu"))
    for k in range(10):
        extents = {index: 2 + (k * (3 + place)) % 7 for place, index in enumerate("abcde")}
        arrays = arrays_of("abcd-dbea-ec", extents, "float64", k)
        plan.bind(arrays)()
        assert np.array_equal(arrays["C"], einsum("abcd-dbea-ec", arrays)), extents

    assert compiled and len(compiled) == len(set(compiled)) <= 2


@pytest.mark.parametrize(
    "text, string, factors",
    [
        ("o[i k] = a[i j] b[j] c[j k]", "ij,j,jk->ik", "abc"),
        ("t[i j] = a[i j] b[j]; o[i] = t[i j] b[j]; local t", "ij,j,j->i", "abb"),
        ("o[i j] = a[l i] b[m j] c[l m k] d[k]", "li,mj,lmk,k->ij", "abcd"),
    ],
)
def test_free_extents_of_chains_compile_once(compiled, text, string, factors):
    """Several products, each by an organisation that reads extents: at most copies and sums are compiled."""
    plan, rng = FreeContraction(text, backend="cpu"), np.random.default_rng(0)
    inputs, out = string.split("->")
    for k in range(8):
        size = {index: 2 + (k * (2 + place)) % 7 for place, index in enumerate("ijklm")}
        shapes = {name: [size[i] for i in own] for name, own in zip(factors, inputs.split(","))}
        arrays = {name: rng.integers(-3, 4, shape).astype(float) for name, shape in shapes.items()}
        arrays["o"] = np.full([size[i] for i in out], np.nan)

        plan.bind(arrays)()
        assert np.array_equal(arrays["o"], np.einsum(string, *(arrays[name] for name in factors))), size

    assert len(set(compiled)) <= 2
    told = Contraction(f"{text}; free", size, backend="cpu")
    assert told.how.reads_extents(told.program)
    assert "because it reads extents when it runs: what is compiled serves all" in told.explain()


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("string", ["bij,bjk->bik", "bij,bj->bi", "b,bi,bj->ij"])
def test_calls_with_free_extents_compile_once(compiled, string, dtype):
    """Beyond the sizes that go to NumPy at once."""
    rng = np.random.default_rng(0)
    for n in range(3, 8):
        size = {"b": 4000 + n, **dict.fromkeys("ijk", n)}
        arrays = [rng.integers(-3, 4, [size[i] for i in own]).astype(dtype) for own in string.split("->")[0].split(",")]
        assert np.array_equal(contract(string, *arrays, free=True), np.einsum(string, *arrays, optimize=True)), n
    assert len(set(compiled)) <= 3


def test_free_extents_on_a_device_keep_their_tiles():
    """Ten sizes by `direct` take two tiles at most: one that is compiled comes first if it takes little more time."""
    plan = FreeContraction("C[a b c d] = A[d b e a] B[e c]", backend=get_backend("cuda", arch="sm_90"))
    plans = [plan.of(**dict.fromkeys("abcde", 40 + 8 * k)) for k in range(10)]
    assert {p.how.name for p in plans} == {"direct"}
    assert len({str(p.how) for p in plans}) <= 2
    assert all(p.how.price(p.program) <= 1.15 * min(price for price, *_ in p.candidates) for p in plans)


def test_free_extents_of_complex_numbers_and_of_nothing():
    plan = FreeContraction("C[i j] += A[i k] B[k j]", "complex128", backend="cpu", quick=True)
    for k in (0, 2, 3):
        A, B, C = np.full((4, k), 1j), np.full((k, 3), 2.0 + 0j), np.ones((4, 3), complex)
        plan.bind(dict(A=A, B=B, C=C))()
        assert (C == 1 + 2j * k).all()
    assert "complex: C[i j] += A[i k] B[k j]" in plan.explain(i=4, j=3, k=2)


def test_free_extents_that_disagree():
    plan = FreeContraction("C[e i j] = A[e i k] B[k j]", backend="cpu")
    with pytest.raises(ArgumentError, match="array 'B', index 'k': extent 4, wanted 5 as 'A' has it"):
        plan.bind({"A": np.ones((2, 3, 5)), "B": np.ones((4, 6)), "C": np.ones((2, 3, 6))})
    with pytest.raises(ArgumentError, match="extent of index 'k' is None"):
        plan.of(i=3, j=6)


PRODUCTS = {
    "ij,ij->ij": ((7, 5), (7, 5), np.multiply),
    "i,j->ij": ((7,), (5,), np.multiply.outer),
    "ij,j->ji": ((7, 5), (5,), lambda a, b: (a * b).T),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("text", PRODUCTS)
def test_products_without_a_sum_are_those_of_their_numbers(text, dtype):
    """NumPy multiplies number by number: the same bits, and a NaN reaches its own numbers alone."""
    rng = np.random.default_rng(0)
    *shapes, product = PRODUCTS[text]
    pair = 1j if np.dtype(dtype).kind == "c" else 0.0
    a, b = ((rng.random(shape) - 0.5 + pair * rng.random(shape)).astype(dtype) for shape in shapes)
    a.flat[3] = np.nan

    assert np.array_equal(contract(text, a, b, how="library"), product(a, b), equal_nan=True)


@pytest.mark.parametrize("count", [products.MANY - 1, products.MANY, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("text", ["bi,bi->b", "bji,bi->bj", "bi,bji->jb"])
def test_short_sums_of_many_products(text, dtype, count):
    """Sums of one term to more than are short; new results, given ones, and calls that come again."""
    rng = np.random.default_rng(6)
    factor = 1 - 2j if np.dtype(dtype).kind == "c" else 1

    for terms in (1, 2, products.SHORT, products.SHORT + 1, products.SHORT_DOT, products.SHORT_DOT + 1):
        extents = dict(b=count, i=terms, j=3)
        shapes = [[extents[index] for index in own] for own in text.split("->")[0].split(",")]
        for _ in range(2):
            a, right = ((factor * rng.integers(-3, 4, shape)).astype(dtype) for shape in shapes)
            for left in (a, np.repeat(a, 2, axis=0)[::2], a[::-1]):
                wanted = np.einsum(text, left, right)
                assert np.array_equal(contract(text, left, right, how="library"), wanted)

                out = np.full(wanted.shape, np.nan, dtype)
                assert np.array_equal(contract(text, left, right, how="library", out=out), wanted)
