"""Small products by NumPy's dot, matmul, multiply: values are einsum's, of the arrays of now."""

import numpy as np
import pytest

from kernels import contract, einsum
from kernels.contractions import repeats, small_products, string_call
from kernels.engine.errors import ArgumentError

# Strings, shapes of both operands
SERVED = [
    ("ij,jk->ik", (5, 6), (6, 4)),
    ("ij,jk->ki", (5, 6), (6, 4)),
    ("ji,kj->ki", (6, 5), (4, 6)),
    ("ij,j->i", (5, 6), (6,)),
    ("i,ij->j", (5,), (5, 6)),
    ("i,i->", (7,), (7,)),
    ("ij,ij->", (5, 6), (5, 6)),
    ("abj,jk->abk", (2, 3, 6), (6, 4)),
    ("ij,abj->iab", (5, 6), (2, 3, 6)),
    ("abc,bcd->ad", (5, 2, 3), (2, 3, 4)),
    ("abc,bcde->ade", (5, 2, 3), (2, 3, 4, 2)),
]
STACKS = [("bij,bjk->bik", (3, 5, 6), (3, 6, 4)), ("ibj,bj->bi", (5, 3, 6), (3, 6)), ("bi,bi->b", (3, 5), (3, 5))]
MULTIPLIED = [
    ("i,j->ji", (5,), (6,)),
    ("ij,j->ij", (5, 6), (6,)),
    ("bij,bj->bij", (3, 5, 6), (3, 6)),
    ("ab,cd->cabd", (2, 3), (4, 5)),
    ("ij,kj->jki", (5, 6), (4, 6)),
]
SHORT_DOTS = [
    ("bi,bi->b", (40, 3), (40, 3)),
    ("iab,bai->ba", (2, 3, 40), (40, 3, 2)),
    ("aij,aji->a", (40, 2, 3), (40, 3, 2)),
]
SHORT_ROWS = [("nij,nj->ni", (200, 3, 4), (200, 4)), ("nj,nij->in", (200, 4), (200, 3, 4))]
LAYOUTS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "G": lambda a: np.repeat(a, 2, axis=-1)[..., ::2]}
LIES = {
    "as it is": lambda a: a,
    "gaps": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "backwards": lambda a: a[::-1],
    "columns first": np.asfortranarray,
    "a row for all": lambda a: np.broadcast_to(a[:1], a.shape),
}


@pytest.fixture(autouse=True)
def empty(monkeypatch):
    monkeypatch.setattr(repeats, "kept", repeats.Kept())


def whole(rng, shape, dtype):
    """Small whole numbers, whose sums are exact."""
    x = rng.integers(-3, 4, shape)
    return (x + 1j * rng.integers(-3, 4, shape)).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


@pytest.mark.parametrize("lies", LIES)
@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("text, one, other", [*SERVED, *STACKS, *MULTIPLIED, *SHORT_DOTS, *SHORT_ROWS])
def test_values(text, one, other, dtype, lies):
    """Values of the first call, and of calls that come again."""
    rng = np.random.default_rng(1)
    for _ in range(4):
        a, b = LIES[lies](whole(rng, one, dtype)), LIES[lies](whole(rng, other, dtype))
        wanted, left, right = np.einsum(text, a, b), a.copy(), b.copy()

        for evaluate in (einsum, contract):
            found = evaluate(text, a, b)
            assert found.dtype == wanted.dtype and found.shape == wanted.shape
            assert np.array_equal(found, wanted)
            assert isinstance(found, np.generic) == (evaluate is einsum and wanted.ndim == 0)
            assert not wanted.ndim or (found.flags.writeable and not np.may_share_memory(found, a))

        assert np.array_equal(a, left) and np.array_equal(b, right)


def random_string(rng) -> tuple[str, dict[str, int]]:
    """A string of up to four operands, and extents of 1 to 5."""
    letters = list("abcde"[: rng.integers(1, 6)])
    operands = []

    for _ in range(rng.integers(2, 5)):
        count = min(len(letters), int(rng.integers(0, 4)))
        operands.append("".join(rng.choice(letters, count, replace=rng.random() < 0.2)))

    known = sorted(set("".join(operands)))
    out = "".join(rng.permutation(known)[: rng.integers(0, len(known) + 1)])
    return f"{','.join(operands)}->{out}", {letter: int(rng.integers(1, 6)) for letter in known}


@pytest.mark.parametrize("seed", range(4))
def test_random_strings(seed):
    """Extents of 1 among them, and dimensions in any order of memory."""
    rng, lies = np.random.default_rng(seed), list(LIES.values())
    taken = 0

    for _ in range(200):
        text, sizes = random_string(rng)
        dtype, arrays = rng.choice(list("fdFD")), []

        for own in text.split("->")[0].split(","):
            array = whole(rng, [sizes[i] for i in own], dtype)
            turn = rng.permutation(array.ndim)
            array = array.transpose(turn).copy().transpose(np.argsort(turn))
            arrays.append(lies[rng.integers(len(lies))](array) if own else array)

        made = small_products.call_of(string_call.einsum.read(text), arrays)
        if made is None:
            continue
        taken += 1
        wanted = np.einsum(text, *arrays)

        for _ in range(3):
            found = contract(text, *arrays)
            assert found.dtype == wanted.dtype and found.shape == wanted.shape, text
            assert np.array_equal(found, wanted), text

    assert taken > 80


@pytest.mark.parametrize("text, one, other", SERVED)
def test_no_kernel_is_planned(text, one, other, monkeypatch):
    monkeypatch.setattr(string_call, "plan_of", None)
    rng = np.random.default_rng(2)
    for _ in range(2):
        contract(text, whole(rng, one, "d"), whole(rng, other, "d"))


TINY = [
    "ij,jk,kl->il",
    "i,ij,j->",
    "ij,ij,ij->i",
    "ijj,jk->ik",
    "abc,bd,ce->ade",
    "i,j,k->ijk",
    "ij,kl->i",
    "ij,jk,ki->",
]


@pytest.mark.parametrize("lies", LIES)
@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("text", TINY)
def test_few_numbers(text, dtype, lies):
    """Any string: by NumPy's einsum if numbers are complex, or arrays have gaps."""
    rng = np.random.default_rng(3)
    for _ in range(4):
        arrays = [LIES[lies](whole(rng, [2] * len(own), dtype)) for own in text.split("->")[0].split(",")]
        wanted = np.einsum(text, *arrays)

        for evaluate in (einsum, contract):
            found = evaluate(text, *arrays)
            assert found.dtype == wanted.dtype and np.array_equal(found, wanted)
            assert isinstance(found, np.generic) == (evaluate is einsum and wanted.ndim == 0)

    s = string_call.einsum.read(text)
    if dtype in "FD":
        assert small_products.call_of(s, arrays)
        with pytest.raises(ArgumentError):
            einsum(text, *arrays, arrays[0])


@pytest.mark.parametrize(
    "extent, gap, dtype, taken",
    [(4, 1, "D", 1), (5, 1, "D", 0), (6, 2, "F", 1), (7, 2, "F", 0), (4, 2, "d", 1), (5, 2, "d", 0), (2, 1, "d", 0)],
)
def test_more_numbers_are_left_to_kernels(extent, gap, dtype, taken):
    a = np.ones((extent, gap * extent), dtype)[:, ::gap]
    assert bool(small_products.call_of(string_call.einsum.read("ij,jk,kl->il"), [a, a, a])) == taken


@pytest.mark.parametrize("text, one, other", [*MULTIPLIED, SHORT_DOTS[0], *SHORT_ROWS])
def test_some_are_taken_of_complex_numbers_alone(text, one, other):
    """NumPy takes 0.3 to 0.95 of the time of kernels. Of real numbers without gaps kernels are faster."""
    s = string_call.einsum.read(text)
    assert small_products.call_of(s, [np.ones(one, "D"), np.ones(other, "D")])
    assert small_products.call_of(s, [np.ones(one), np.ones(other)]) is None


WALKS = [  # text, layouts, types of which NumPy's einsum takes the operands
    ("ij,ij,ij->ij", "CCC", "fdFD"),
    ("ij,ij,ij->ij", "CFC", "fdFD"),
    ("ij,ij->i", "CF", "fdFD"),
    ("ij,ij->i", "GC", "fdFD"),
    ("ij,ij->i", "CC", "FD"),
    ("ij,ji->", "CC", "fdFD"),
    ("ij,ij->", "FF", "fdFD"),
]


@pytest.mark.parametrize("text, lies, types", WALKS)
def test_each_number_is_used_once(text, lies, types):
    """NumPy's einsum copies nothing if arrays have different layouts. Values are exact."""
    rng = np.random.default_rng(4)
    for dtype in "fdFD":
        arrays = [LAYOUTS[lie](whole(rng, (12, 12), dtype)) for lie in lies]
        made = small_products.call_of(string_call.einsum.read(text), arrays)
        assert bool(made) == (dtype in types)

        for _ in range(3):
            assert np.array_equal(einsum(text, *arrays), np.einsum(text, *arrays))
            arrays = [LAYOUTS[lie](whole(rng, (12, 12), dtype)) for lie in lies]


@pytest.mark.parametrize("extents, taken", [((150, 150), "dD"), ((908, 42), "dD"), ((400, 400), "")])
def test_traces_of_products_are_gone_through_once(extents, taken):
    """0.55 to 0.95 of the time of kernels up to 130 000 numbers of double precision; in single precision einsum is less
    exact. Values of whole numbers are exact."""
    rng = np.random.default_rng(6)
    for dtype in "fdFD":
        a, b = (whole(rng, shape, dtype) for shape in (extents, extents[::-1]))
        assert bool(small_products.call_of(string_call.einsum.read("ij,ji->"), [a, b])) == (dtype in taken)
        assert einsum("ij,ji->", a, b) == np.sum(a.astype("D") * b.T)


POINTS = 3000
COMPLEX_TENSORS = [  # of a few numbers at points: text, shapes
    ("ijn,jn->in", (3, 3, POINTS), (3, POINTS)),
    ("jn,ijn->ni", (4, POINTS), (5, 4, POINTS)),
    ("ijxn,jxn->ixn", (3, 4, 2, POINTS // 2), (4, 2, POINTS // 2)),
    ("ijn,jin->n", (3, 3, POINTS), (3, 3, POINTS)),
    ("in,jn->ijn", (3, POINTS), (3, POINTS)),
]


@pytest.mark.parametrize("dtype", "FD")
@pytest.mark.parametrize("text, one, other", COMPLEX_TENSORS)
def test_complex_tensors_at_points_are_gone_through_where_kernels_take_longer(text, one, other, dtype):
    """0.35 to 0.95 of the time of kernels, which copy the parts apart. Other strides are left to kernels. Values are
    exact."""
    rng = np.random.default_rng(7)
    s, arrays = string_call.einsum.read(text), [whole(rng, shape, dtype) for shape in (one, other)]
    assert small_products.walk_within(s, arrays, 1e-6) is None
    assert small_products.walk_within(s, [a.real.copy() for a in arrays], 1.0) is None

    call = small_products.walk_within(s, arrays, 1.0)
    wanted = np.einsum(text, *(a.astype("D") for a in arrays))
    assert np.array_equal(call.values(arrays), wanted)
    assert np.array_equal(call.quick(text, *arrays), wanted)
    assert call.quick(text, np.repeat(arrays[0], 2, -1)[..., ::2], arrays[1]) is None
    assert call.quick(text, list(arrays[0]), arrays[1]) is None


def test_short_runs_and_long_sums_of_complex_numbers_are_left_to_kernels():
    matrices, vectors = np.ones((POINTS, 3, 3), "D"), np.ones((200, 5000), "D")
    assert small_products.walk_within(string_call.einsum.read("nij,njk->nik"), [matrices, matrices], 1.0) is None
    assert small_products.walk_within(string_call.einsum.read("in,in->i"), [vectors, vectors], 1.0) is None


def test_columns_one_behind_the_other_are_a_vector(monkeypatch):
    """The sum over all of two arrays in Fortran's order is one dot product of their memory: neither is copied."""
    a, b = (np.asfortranarray(x) for x in np.random.default_rng(5).random((2, 70, 80)))
    given = []
    monkeypatch.setattr(small_products, "DOT", lambda x, y: given.append((x, y)) or x @ y)
    small_products._made.cache_clear()
    made = small_products.call_of(string_call.einsum.read("ij,ij->"), [a, b])

    assert made.values((a, b)) == pytest.approx(np.sum(a * b), rel=70 * 80 * np.finfo(float).eps)
    small_products._made.cache_clear()
    assert all(np.shares_memory(x, y) for x, y in zip(given[0], (a, b)))


@pytest.mark.parametrize(
    "text, one, other",
    [
        ("ij,jk->ik", (2000, 3), (3, 3)),  # many rows of a short sum
        ("ij,jk->ik", (200, 100), (100, 200)),
        ("i,j->ij", (300,), (300,)),
        ("bij,bjk->bik", (3, 5, 6), (3, 6, 4)),  # kernels take all matrices at once
        ("bij,bjk->bik", (30, 5, 6), (30, 6, 4)),
        ("iij,jk->ik", (4, 4, 6), (6, 4)),
        ("ij,jk->i", (5, 6), (6, 4)),  # k is summed before
        ("ij,jk->ik", (5, 1), (6, 4)),  # broadcast
        ("ij,jk->ik", (0, 6), (6, 4)),
        ("abc,bde->ade", (5, 2, 3), (2, 3, 4)),
        ("abc,cbd->ad", (5, 2, 3), (3, 2, 4)),  # sums that lie in two orders
    ],
)
def test_others_are_left_to_kernels(text, one, other):
    s = string_call.einsum.read(text)
    assert small_products.call_of(s, [np.ones(one), np.ones(other)]) is None


def test_other_types_are_left_to_kernels():
    s, a = string_call.einsum.read("ij,jk->ik"), np.ones((3, 3))
    for b in (a.astype("f"), a.astype(int), a.astype(">f8"), a.view(np.matrix), a.astype("e")):
        assert small_products.call_of(s, [a, b]) is None


def test_shapes_that_do_not_fit_are_refused_as_before():
    """The call before has the string, with arrays that fit."""
    a, b = np.ones((5, 6)), np.ones((6, 4))
    for _ in range(3):
        einsum("ij,jk->ik", a, b)

    for wrong in (np.ones((7, 4)), np.ones(6), np.ones((6, 4, 2))):
        with pytest.raises(ArgumentError, match="operand1"):
            einsum("ij,jk->ik", a, wrong)

    assert einsum("ij,jk->ik", a, np.ones((1, 4)))[0, 0] == 6  # broadcast, as NumPy does
