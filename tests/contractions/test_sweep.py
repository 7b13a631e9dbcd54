"""Statements that use each number of their largest array once (organisation `sweep` of a CPU), against numpy.einsum."""

import itertools

import numpy as np
import pytest
from tccg_products import EPS

from kernels import Contraction, contract, get_backend
from kernels.contractions.arrays import PRECISIONS
from kernels.contractions.organisations.sweep import Sweeps, Way, swept

# Sums, weighted sums, dot products, products number by number; rows that are long and short, joined, far apart.
TEXTS = (
    *(
        "i->",
        "ij->",
        "ij->i",
        "ij->j",
        "ijk->ik",
        "ijk->jk",
        "ijk->ij",
        "ijk->k",
        "ijkl->ik",
        "ijkl->jl",
        "ii->",
        "bii->b",
    ),
    *("i,i->", "ij,ij->", "bi,bi->b", "ij,j->i", "ij,i->j", "bij,bi->bj", "ijk,ij->jk", "prqs,rs->pq"),
    *("i,j->ij", "ij,i->ij", "ij,j->ij", "ij,ij->ij", "ij,ij,ij->ij", "i,j,ij->ij", "nijc,c->nijc", "ijk->jik"),
)
SIZES = (1, 2, 3, 5, 7, 8, 9, 17, 31, 65)


@pytest.fixture(scope="module", params=[1, 3])
def cpu(request):
    """A CPU backend of one thread, and of several."""
    return get_backend("cpu", threads=request.param)


def operands(text: str, sizes: dict, dtype, rng) -> list[np.ndarray]:
    """Random arrays of a text."""
    parts = text.split("->")[0].split(",")
    return [rng.uniform(-1, 1, [sizes[i] for i in part]).astype(dtype) for part in parts]


def terms(text: str, sizes: dict) -> int:
    """Terms of a sum."""
    inside, out = text.split("->")
    return int(np.prod([sizes[i] for i in set(inside) - set(out) - {","}]))


# ---- values


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values(cpu, text, dtype):
    """Ragged extents, those with which threads share the loops among them. An entry is a sum of terms of size 1 at
    most: each addition rounds by EPS of the sum so far, which is less than their number."""
    rng = np.random.default_rng(len(text))
    indices = sorted(set(text) - set(",->"))
    for _ in range(4):
        sizes = dict(zip(indices, rng.choice(SIZES, len(indices)).tolist()))
        _compare(text, sizes, dtype, cpu, rng)
    _compare(text, dict.fromkeys(indices, 40 if len(indices) > 2 else 300), dtype, cpu, rng)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("text", ["ij->j", "i,ij->j", "ij,ij->j", "i,j->ij"])
def test_sums_that_stay_in_registers(cpu, text, dtype):
    """Runs of up to 16 vectors, whole or not, and longer ones, in more rows than are held at a time. Sums of whole
    numbers are exact; sums of thirds have the bits of a short run's: a run may be a batch."""
    rng = np.random.default_rng(5)
    for run in (1, 7, 8, 9, 16, 31, 33, 47, 63, 64, 65, 96, 127, 128, 129, 200, 257):
        rows = 11 if run < 64 else 70
        given = [np.floor(9 * a).astype(dtype) for a in operands(text, dict(i=rows, j=run), dtype, rng)]
        assert np.array_equal(contract(text, *given, backend=cpu, how="sweep"), np.einsum(text, *given)), run

        thirds = [a / np.dtype(dtype).type(3) for a in given]
        whole = contract(text, *thirds, backend=cpu, how="sweep")
        first = contract(text, *[a[..., :5] if a.shape[-1] == run else a for a in thirds], backend=cpu, how="sweep")
        assert np.array_equal(whole[..., :5], first[..., :5]) or run < 5, run


def _compare(text, sizes, dtype, backend, rng):
    given = operands(text, sizes, dtype, rng)
    found = contract(text, *given, backend=backend, how="sweep")
    wanted = np.einsum(text, *[a.astype("longdouble") for a in given])

    assert found.dtype == dtype and found.shape == wanted.shape, (text, sizes)
    count = terms(text, sizes)
    assert np.all(np.abs(found - wanted) <= EPS[dtype] * count * (count + 3)), (text, sizes)


def laid(array: np.ndarray, lie: str) -> np.ndarray:
    """The same numbers: with gaps, backwards in all dimensions, in Fortran's order."""
    if lie == "gaps":
        room = np.full([2 * n for n in array.shape], np.nan, array.dtype)
        room[tuple(slice(None, None, 2) for _ in array.shape)] = array
        return room[tuple(slice(None, None, 2) for _ in array.shape)]
    if lie == "backwards":
        return np.flip(np.flip(array).copy())
    return np.asfortranarray(array) if lie == "Fortran" else array


@pytest.mark.parametrize("lie", ["gaps", "backwards"])
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.quick(text=["ij->i", "ijk->ik", "ij,i->j", "ij,ij->ij"])
def test_arrays_that_lie_apart(cpu, text, lie):
    """They are read where they lie: whole numbers, no rounding. The numbers in gaps are NaN."""
    rng = np.random.default_rng(len(text))
    for extents in ((3, 5, 2, 7), (17, 9, 8, 3), (33, 2, 2, 2)):
        sizes = dict(zip(sorted(set(text) - set(",->")), extents))
        given = [np.rint(9 * a) for a in operands(text, sizes, "float64", rng)]
        found = contract(text, *(laid(a, lie) for a in given), backend=cpu, how="sweep")
        assert np.array_equal(found, np.einsum(text, *given)), sizes


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("lie", ["", "gaps", "backwards", "Fortran"])
@pytest.mark.parametrize("text", [t for t in TEXTS if t.count(",") < 2])
@pytest.mark.quick(text=["ij->i", "ijk->ik", "ij,i->j", "ij,ij->ij"])
def test_complex_numbers_as_they_lie(cpu, text, lie, dtype):
    """A complex factor, the others real. Integers: no rounding."""
    rng = np.random.default_rng(len(text))
    for extents in ((3, 5, 2, 7), (17, 9, 8, 3), (65, 2, 3, 2)):
        sizes = dict(zip(sorted(set(text) - set(",->")), extents))
        first, *others = (np.rint(9 * a) for a in operands(text, sizes, dtype, rng))
        first = first + 1j * np.rint(9 * rng.uniform(-1, 1, first.shape))
        given = [first.astype(dtype), *(a.real.astype(PRECISIONS[dtype]) for a in others)]

        found = contract(text, *(laid(a, lie) for a in given), backend=cpu)
        assert found.dtype == dtype and np.array_equal(found, np.einsum(text, *given)), sizes


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(
    "text", [*(t for t in TEXTS if t.count(",") < 2), "ebe->b", "ebce->bc", "ebec->bc", "ebec->cb"]
)
def test_extents_of_one_and_two(text, dtype):
    """Loops of one turn and pairs of numbers: every choice of 1, 2 and 3. Whole numbers: no rounding."""
    rng = np.random.default_rng(len(text))
    indices = sorted(set(text) - set(",->"))
    for extents in itertools.product((1, 2, 3), repeat=len(indices)):
        given = [np.rint(9 * a) for a in operands(text, dict(zip(indices, extents)), "float64", rng)]
        if dtype == "complex128":
            given[0] = given[0] + 1j * np.rint(9 * rng.uniform(-1, 1, given[0].shape))

        found = contract(text, *given, backend="cpu")
        assert np.array_equal(found, np.einsum(text, *given)), extents


def test_parts_do_not_meet():
    """A NaN in the real part leaves the imaginary part, and other sums, as they are."""
    a = np.ones((3, 40), complex)
    a.real[1, 7] = np.nan
    found = contract("ij->i", a, backend="cpu")
    assert np.array_equal(np.isnan(found.real), [False, True, False]) and not found.imag.any()


@pytest.mark.parametrize("text", ["ijk->jk", "ij->i", "ij,i->j", "ij,ij->ij", "i,i->"])
def test_extents_of_zero(text):
    """An empty sum is zero, an output without numbers stays empty."""
    indices = sorted(set(text) - set(",->"))
    for empty in indices:
        given = operands(text, {**dict.fromkeys(indices, 3), empty: 0}, "float64", np.random.default_rng(0))
        found = contract(text, *given, backend="cpu", how="sweep")
        assert np.array_equal(found, np.einsum(text, *given)), empty


@pytest.mark.parametrize(
    "text, einsum, number",
    [
        ("o[i] += -2 a[i j]", "ij->i", -2),
        ("o[j] += 3 a[i j]", "ij->j", 3),
        ("o[i j] += 2 a[i j]", "ij->ij", 2),
        ("o[] += a[i j]", "ij->", 1),
    ],
)
def test_a_number_and_what_was_there(cpu, text, einsum, number):
    """Whole numbers: no rounding."""
    rng = np.random.default_rng(3)
    a = rng.integers(-9, 9, (19, 37)) * 1.0
    o = np.array(rng.integers(-9, 9, np.einsum(einsum, a).shape) * 1.0)
    wanted = o + number * np.einsum(einsum, a)

    Contraction(text, dict(i=19, j=37), backend=cpu, how="sweep", batch="").bind(dict(a=a, o=o))()
    assert np.array_equal(o, wanted)


@pytest.mark.parametrize(
    "text, rows",
    {
        "o[e] = a[e i]": ("ei", "e"),
        "o[e] = a[i e] b[i]": ("ie", "i", "e"),
        "o[e] = a[i e] b[i e]": ("ie", "ie", "e"),
        "o[e] = a[i e] b[i e] c[i]": ("ie", "ie", "i", "e"),
        "o[e j] = a[e i j]": ("eij", "ej"),
        "o[j e] = a[i j e]": ("ije", "je"),
        "o[e] = a[e i] b[e i]": ("ei", "ei", "e"),
        "o[e i] = a[e i] b[i]": ("ei", "i", "ei"),
        "o[e] = a[i e] b[e i]": ("ie", "ei", "e"),
        "o[e j] = a[e i j] b[j i e]": ("eij", "jie", "ej"),
        "o[e i] = a[e i] b[e i] c[i e]": ("ei", "ei", "ie", "ei"),
        "o[i e] = a[i e] b[e i] c[i]": ("ie", "ei", "i", "ie"),
    }.items(),
)
def test_an_entry_has_the_same_bits_in_any_batch(cpu, text, rows):
    """Entries 0 to n - 1 of a batch are those of the whole batch, also for n = 1."""
    rng = np.random.default_rng(4)
    sizes, most = dict(i=37, j=11), 700
    shapes = [[most if i == "e" else sizes[i] for i in own] for own in rows]
    *factors, _ = [rng.uniform(-1, 1, shape) for shape in shapes]
    plan = Contraction(text, sizes, batch="e", backend=cpu, how="sweep")

    def found(n):
        cut = [
            np.ascontiguousarray(a[tuple(slice(n if i == "e" else None) for i in own)]) for a, own in zip(factors, rows)
        ]
        out = np.full([n if i == "e" else sizes[i] for i in rows[-1]], np.nan)
        plan.bind({**dict(zip("abc", cut)), "o": out})()
        return out

    whole, place = found(most), rows[-1].index("e")
    for n in (1, 2, 9, 31, 250):
        assert np.array_equal(found(n), np.take(whole, range(n), place)), n


def test_entries_further_apart(cpu):
    """A section of a larger array: the numbers between the entries stay."""
    rng = np.random.default_rng(5)
    a, o = rng.uniform(-1, 1, (30, 50)), np.full((30, 40), np.nan)
    plan = Contraction("o[e i] = a[e i] a[e i]", dict(i=33), batch="e", backend=cpu, how="sweep")

    plan.bind(dict(a=a[:, :33], o=o[:, :33]))()
    assert np.array_equal(o[:, :33], a[:, :33] ** 2) and np.isnan(o[:, 33:]).all()


@pytest.mark.parametrize(
    "text, strided", [("o[e] = a[i e] w[i]", "o"), ("o[e] = a[e] b[e]", "ab"), ("o[e] += 2 a[e]", "oa")]
)
def test_numbers_further_apart(cpu, text, strided):
    """Every third number of an array with the batch index alone. Whole numbers: no rounding."""
    rng = np.random.default_rng(8)
    n, sizes = 50, dict(i=7)
    shapes = dict(a=(7, n) if "a[i e]" in text else (n,), b=(n,), w=(7,), o=(n,))
    plan = Contraction(text, sizes, batch="e", backend=cpu, how="sweep")

    def made(name):
        numbers = rng.integers(-9, 9, shapes[name]) * 1.0
        return np.repeat(numbers, 3)[::3] if name in strided else numbers

    arrays = {name: made(name) for name in (*plan.expression.inputs, "o")}
    a, before = arrays["a"], arrays["o"].copy()
    if "w" in arrays:
        wanted = arrays["w"] @ a
    elif "b" in arrays:
        wanted = a * arrays["b"]
    else:
        wanted = before + 2 * a

    plan.bind(arrays)()
    assert np.array_equal(arrays["o"], wanted)


def test_a_nan_stays_alone(cpu):
    a = np.ones((40, 70))
    a[3, 5] = np.nan
    assert np.flatnonzero(np.isnan(contract("ij->i", a, backend=cpu, how="sweep"))).tolist() == [3]
    assert np.flatnonzero(np.isnan(contract("ij->j", a, backend=cpu, how="sweep"))).tolist() == [5]
    a[3, 5], weight = np.inf, np.ones(40)
    assert np.flatnonzero(np.isinf(contract("ij,i->j", a, weight, backend=cpu, how="sweep"))).tolist() == [5]


def test_an_output_beyond_the_caches():
    """64 MiB and more bypass them, where lines are whole."""
    a, b = np.arange(9.0 * 1024 * 1024).reshape(-1, 1024), np.arange(1024.0)
    for width in (1024, 1023):
        some = np.ascontiguousarray(a[:, :width])
        assert np.array_equal(contract("ij,j->ij", some, b[:width], backend="cpu", how="sweep"), some * b[:width])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "text",
    [
        "xpq,xqp->x",
        "xpq,xqp->",
        "xpq,qpx->xpq",
        "xpq,xqp->xq",
        "xpq,xqp,q->p",
        "xpq,xqp,p->q",
        "xpq,xpq,qxp->xp",
        "xpq,xqp,xqp->x",
        "p,xpq,xqp->xpq",
    ],
)
def test_a_factor_across_the_others(cpu, text, dtype):
    """Squares of it are transposed: whole ones, and what is left over of rows and runs."""
    rng = np.random.default_rng(3)
    for sizes in (dict(x=3, p=17, q=40), dict(x=1, p=5, q=19), dict(x=2, p=33, q=7)):
        operands = []
        for own in text.split("->")[0].split(","):
            operands.append(rng.uniform(-1, 1, [sizes[i] for i in own]).astype(dtype))
        wide = [a.astype(np.float64) for a in operands]
        wanted, terms = np.einsum(text, *wide), np.einsum(text, *map(abs, wide))
        summed = sizes["x"] * sizes["p"] * sizes["q"]
        off = abs(contract(text, *operands, backend=cpu, how="sweep") - wanted)
        assert np.all(off <= (summed + 3) * EPS[dtype] * terms)  # a rounding of each term, and of its two products


def test_a_nan_across_stays_alone(cpu):
    a, b = np.ones((40, 70)), np.ones((70, 40))
    b[5, 3] = np.nan
    assert np.flatnonzero(np.isnan(contract("ij,ji->i", a, b, backend=cpu, how="sweep"))).tolist() == [3]
    assert np.argwhere(np.isnan(contract("ij,ji->ij", a, b, backend=cpu, how="sweep"))).tolist() == [[3, 5]]


# ---- choice


@pytest.mark.parametrize("texts", [("ij->i", "ijk->ij"), ("ij->j", "ijk->ik", "kji->ki"), ("ij,ij->i", "ij,ij->")])
def test_one_source_serves_all_extents(texts):
    """The source depends on the number of factors, and on whether runs are summed, alone."""
    backend = get_backend("cpu")
    plans = [
        Contraction(t, dict(i=n, j=5, k=7), backend=backend, how="sweep") for t, n in itertools.product(texts, (3, 90))
    ]
    assert len({plan.source for plan in plans}) == 1


def test_sources_have_all_ways(cpu):
    """The sources compiled ahead are the sources of launches, for every layout of the arrays."""
    plan = Contraction("ij,ij->i", dict(i=20, j=30), backend=cpu, how="sweep")
    ahead = set(plan.sources())
    a, wide = np.ones((20, 30)), np.ones((20, 60))
    for b in (a, wide[:, ::2], np.ones((30, 20)).T, np.broadcast_to(a[:, :1], a.shape)):
        strides = {"operand0": a.strides, "operand1": b.strides}
        assert plan.how._source(plan.program, Way.of(swept(plan.program, 1, strides))) in ahead


@pytest.mark.parametrize(
    "text, extent", [("ijk->jk", 100), ("prqs,rs->pq", 40), ("ij,i->j", 1000), ("ij,ij->ij", 2000)]
)
def test_what_memory_bounds_is_swept(text, extent, monkeypatch, caches_of_zen4):
    """By the rates of a usual core."""
    monkeypatch.setenv("FRAME_RATES", "usual")
    sizes = dict.fromkeys(set(text) - set(",->"), extent)
    assert Contraction(text, sizes, backend="cpu").how == Sweeps()


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("ij,jk->ik", "an array with all indices"),
        ("kij->ji", "an output that stays, or lies beside the factors"),
        ("ij,ij,ij,ij->ij", "a single product of 1 to 3 arrays"),
    ],
)
def test_what_it_does_not_serve(text, wanted):
    sizes = dict(i=4, j=5, k=6)
    usual = Contraction(text, {i: sizes[i] for i in set(text) - set(",->")}, backend="cpu")
    assert wanted in Sweeps().serves(usual.program)


def test_gaps_make_short_runs():
    """A whole array is one run; of a part of its columns each row is a run."""
    backend = get_backend("cpu", threads=1)
    plan = Contraction("e[i j] = a[i j] b", dict(i=4000, j=3), backend=backend, batch="", how="sweep")

    def more(a):
        return plan.how.seconds_of_gaps(plan.program, {"a": a}, 1)

    assert more(np.ones((4000, 3))) == 0
    assert more(np.ones((4000, 4))[:, :3]) > 4000 * 5e-9
    assert 0 <= more(np.ones((4000, 6))[:, ::2]) < 12000 * 1e-9  # numbers at equal steps are one run


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_left_over_of_a_run_counts_once(dtype):
    """A pack with numbers before it has zeros for those, also for numbers that are not finite."""
    a = np.ones((9, 37), dtype)
    a[3, 30], a[5, 33], a[7, 36] = np.inf, np.nan, -np.inf
    np.testing.assert_array_equal(contract("ij->i", a, how="sweep"), a.sum(axis=1))
