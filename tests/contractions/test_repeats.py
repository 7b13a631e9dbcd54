"""Calls that come again: nothing is planned, rendered, compiled or looked up, and values are of the arrays of now.

The device is the stand-in (cuda_on_cpu), whose compiler counts.
"""

import itertools
import threading

import numpy as np
import pytest
from tensor_cases import python_calls

from kernels import Contraction, contract, einsum, get_backend, tensordot
from kernels.contractions import repeats, scratch, string_call
from kernels.contractions.organisations import library_costs
from kernels.contractions.render_packs import ON_STACK
from kernels.engine.errors import ArgumentError

SIZES = dict(i=4, j=4, k=4)
TEXT = "eij,ejk->eik"
MOST_CALLS = 100  # of Python functions in a repeated call; up to 74 were counted, of a copied operand on a device
MOST_OF_BIND = 250  # the same where arrays are bound at each call: 155 of a given output on a CPU
MOST_OF_STATEMENTS = 400  # the same of three statements of four arrays: 279


@pytest.fixture(params=["cpu", "stand-in"])
def backend(request):
    return get_backend("cpu") if request.param == "cpu" else request.getfixturevalue("stand_in")


@pytest.fixture
def compiled(monkeypatch):
    """watch(backend): the sources that a backend compiles or looks up from now on."""
    found = []

    def watch(backend):
        compile_ = type(backend).compile
        monkeypatch.setattr(
            type(backend), "compile", lambda self, source: found.append(source) or compile_(self, source)
        )
        return found

    return watch


def whole(rng, shape, dtype="float64"):
    """Small whole numbers, whose sums are exact."""
    x = rng.integers(-3, 4, shape)
    return (x + 1j * rng.integers(-3, 4, shape)).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


def there(backend, *arrays):
    return [backend.from_host(a, a.dtype) for a in arrays]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_a_repeated_call_compiles_nothing(backend, compiled, dtype):
    """Values are those of the arrays of now, also after other shapes came between."""
    rng = np.random.default_rng(0)
    contract(TEXT, *there(backend, whole(rng, (5, 4, 4), dtype), whole(rng, (5, 4, 4), dtype)))
    contract(TEXT, *there(backend, whole(rng, (2, 3, 4), dtype), whole(rng, (2, 4, 6), dtype)))

    found = compiled(backend)
    for _ in range(3):
        a, b = whole(rng, (5, 4, 4), dtype), whole(rng, (5, 4, 4), dtype)
        assert np.array_equal(backend.to_host(contract(TEXT, *there(backend, a, b))), a @ b)
    assert not found


@pytest.mark.parametrize(
    "text, shapes", [("ii", ((4, 4),)), ("iij,j->i", ((3, 3, 4), (4,))), ("ij,ij->ij", ((4, 1), (4, 4)))]
)
def test_a_repeated_call_of_a_part_of_an_array_is_short(backend, text, shapes):
    """Diagonals, and dimensions that are broadcast."""
    rng = np.random.default_rng(1)
    for _ in range(2):
        contract(text, *there(backend, *(whole(rng, shape) for shape in shapes)))

    arrays = [whole(rng, shape) for shape in shapes]
    held, values = there(backend, *arrays), []
    found = python_calls(lambda: values.append(contract(text, *held)))
    assert 0 < found < MOST_CALLS, found
    assert np.array_equal(backend.to_host(values[0]), np.einsum(text, *arrays))


def test_a_repeated_call_is_short(backend):
    """Also where an operand goes through a contiguous copy."""
    rng = np.random.default_rng(1)
    a, b = there(backend, whole(rng, (5, 4, 4)), whole(rng, (5, 4, 4)))
    for left in (a, a.swapaxes(1, 2)):
        for _ in range(2):
            contract(TEXT, left, b)
        found = python_calls(lambda left=left: contract(TEXT, left, b))
        assert 0 < found < MOST_CALLS, found


ORGANISATIONS = ("flat", "team", "tiles", "slices", "stages", "direct", "library")


@pytest.mark.parametrize("how", ORGANISATIONS)
def test_each_organisation_keeps_its_kernels(stand_in, compiled, how):
    """A second bind of a plan compiles nothing, whatever the organisation; arrays differ in their places."""
    rng = np.random.default_rng(2)
    plan = Contraction("o[e i k] = a[e i j] b[e j k]", SIZES, backend=stand_in, how=how, quick=True)
    found = compiled(stand_in)

    counts = []
    for _ in range(3):
        a, b, o = whole(rng, (5, 4, 4)), whole(rng, (5, 4, 4)), np.full((5, 4, 4), np.nan)
        arrays = dict(zip("abo", there(stand_in, a, b, o)))
        plan.bind(arrays)()
        assert np.array_equal(stand_in.to_host(arrays["o"]), a @ b)
        counts.append(len(found))
    assert counts[0] == counts[1] == counts[2], counts


@pytest.mark.parametrize("how", ["lines", "stages"])
def test_constants_of_two_binds(stand_in, how):
    """Constants live in the module: two binds with other constants each keep their own, in any order of the runs."""
    rng = np.random.default_rng(3)
    plan = Contraction("o[e i k] = a[e i j] D[j k]", SIZES, "float32", stand_in, how=how, constant="D", quick=True)
    runs = []
    for _ in range(2):
        a, d, o = whole(rng, (5, 4, 4), "float32"), whole(rng, (4, 4), "float32"), np.zeros((5, 4, 4), "float32")
        arrays = dict(zip("aDo", there(stand_in, a, d, o)))
        runs.append((plan.bind(arrays), arrays, a @ d))

    for run, arrays, wanted in (*runs, *reversed(runs)):
        arrays["o"][...] = np.nan
        run()
        assert np.array_equal(stand_in.to_host(arrays["o"]), wanted)


def test_what_is_not_repeated():
    """Arrays that go through a copy, numbers, other strides and types each have their own values and errors."""
    rng = np.random.default_rng(4)
    a, b = whole(rng, (5, 4, 4)), whole(rng, (5, 4, 4))
    for left, right in (
        (a, b),
        (a.swapaxes(1, 2), b),
        (a[::-1], b),
        (a.astype("float32"), b),
        (a.astype("int32"), b.astype("int32")),
        (a[:, :, :1], b),
        (a, np.broadcast_to(b[0], b.shape)),
        (a.tolist(), b),
        (a, b),
    ):
        for _ in range(2):
            found = contract(TEXT, left, right)
            wanted = np.einsum(TEXT, left, right)
            assert np.array_equal(found, wanted) and found.dtype == wanted.dtype

    for _ in range(2):
        assert np.array_equal(contract(",ij->ij", 2.0, a[0]), 2 * a[0])
        with pytest.raises(ArgumentError, match="array 'operand1' is masked"):
            contract(TEXT, a, np.ma.MaskedArray(b))
        with pytest.raises(ArgumentError, match="index 'j': extent 3, wanted 4"):
            contract(TEXT, a, b[:, :3])


def test_results_in_a_given_array(backend):
    """The array that is given is written and returned; what may not be written is refused as at the first call."""
    rng = np.random.default_rng(5)
    (o,) = there(backend, np.full((5, 4, 4), np.nan))
    for _ in range(3):
        a, b = whole(rng, (5, 4, 4)), whole(rng, (5, 4, 4))
        left, right = there(backend, a, b)
        assert contract(TEXT, left, right, out=o) is o
        assert np.array_equal(backend.to_host(o), a @ b)
        with pytest.raises(ArgumentError, match="output 'out' and array 'operand0' share memory"):
            contract(TEXT, left, right, out=left)

    found = python_calls(lambda: contract(TEXT, left, right, out=o))
    assert 0 < found < MOST_OF_BIND, found


def test_a_result_in_the_memory_of_a_copied_operand():
    """Refused at each call, also after calls of the same signature that were right."""
    a, b, o = np.ones((5, 4, 4)), np.ones((5, 4, 4)), np.empty((5, 4, 4))
    for _ in range(3):
        assert np.array_equal(contract(TEXT, a.swapaxes(1, 2), b, out=o), np.full((5, 4, 4), 4.0))
        with pytest.raises(ArgumentError, match="output 'out' and array 'operand0' share memory"):
            contract(TEXT, a.swapaxes(1, 2), b, out=a)


def test_a_given_array_that_no_kernel_can_write_comes_again():
    """The result goes through a new array: backwards, with gaps of a part of a number, in the other byte order."""
    a, b = np.arange(12.0).reshape(3, 4), np.arange(20.0).reshape(4, 5)
    fields = np.zeros((3, 5), [("a byte", np.int8), ("value", float)])
    for out in (np.empty((3, 5))[::-1, ::-1], fields["value"], np.empty((3, 5), ">f8")):
        for factor in (1, 2):
            out[...] = np.nan
            assert contract("ij,jk->ik", factor * a, b, out=out) is out
            np.testing.assert_array_equal(out, factor * a @ b)


def is_planned(*_, **__):
    raise AssertionError("a call that came before is planned again")


OPTIONS = (dict(how="direct"), dict(how="rows"), dict(how="library"), dict(order=0), dict(free=True), dict(batch="e"))


@pytest.mark.parametrize("options", (*OPTIONS, dict(dtype="float64"), dict(backend="cpu"), dict(order="F")))
@pytest.mark.parametrize("is_given", [False, True])
def test_calls_with_options_come_again(monkeypatch, options, is_given):
    """The same options find the call: nothing is read, planned or bound. Other options are other calls."""
    rng = np.random.default_rng(17)
    made = np.asfortranarray if options.get("order") == "F" else np.ascontiguousarray
    given = dict(out=made(np.empty((5, 4, 3)))) if is_given else {}  # its place in a cache line counts, too
    for turn in range(3):
        a, b = whole(rng, (5, 4, 6)), whole(rng, (5, 6, 3))
        for out in given.values():
            out[...] = np.nan

        found = contract(TEXT, a, b, **options, **given)
        assert np.array_equal(found, a @ b)
        assert found is given.get("out", found)
        if turn == 1:
            monkeypatch.setattr(string_call, "plan_of", is_planned)
            monkeypatch.setattr(Contraction, "bind", is_planned)


def test_calls_that_differ_in_one_option():
    """Calls that differ in one option alone do not stand for each other."""
    a = np.arange(12.0).reshape(3, 4)
    for _ in range(3):
        assert contract("ij->ji", a, order="C").flags.c_contiguous
        assert contract("ij->ji", a, order="F").flags.f_contiguous
        assert contract("ij,ij->ij", a, a, dtype="complex128").dtype == complex
        assert contract("ij,ij->ij", a, a).dtype == float


@pytest.mark.parametrize("names", list(itertools.permutations("oab")))
def test_statements_with_a_given_output_come_again(monkeypatch, names):
    """The output is returned, wherever it stands among the arrays, and begins where it wants in a cache line."""
    monkeypatch.setattr(repeats, "kept", repeats.Kept())
    rng = np.random.default_rng(18)
    for turn, offset in enumerate((64, 72, 64, 72, 80)):
        a, b = whole(rng, (5, 4, 4)), whole(rng, (5, 4, 4))
        arrays = dict(a=a, b=b, o=at(np.zeros((5, 4, 4)), offset))
        found = contract("o[e i k] = a[e i j] b[e j k]", **{name: arrays[name] for name in names})
        assert found is arrays["o"] and np.array_equal(found, a @ b)
        if turn == 1:
            monkeypatch.setattr(Contraction, "bind", is_planned)


def test_an_array_that_is_read_only_later():
    o = np.empty((5, 4, 4))
    a = np.ones((5, 4, 4))
    contract(TEXT, a, a, out=o)
    o.flags.writeable = False
    with pytest.raises(ArgumentError, match="array 'out' is read-only, and an output"):
        contract(TEXT, a, a, out=o)


CALLS_OF_CPU = 60  # of Python functions in a call on a CPU, which take 5 to 15 us; 41 were counted


@pytest.mark.parametrize(
    "text, shapes, how, dtype",
    [
        (TEXT, ((5, 4, 4), (5, 4, 4)), "rows", "float64"),
        (TEXT, ((5, 4, 4), (5, 4, 4)), "lanes", "float32"),
        ("ij,j->i", ((5, 4), (4,)), "sweep", "float64"),
        (TEXT, ((5, 4, 4), (5, 4, 4)), "direct", "float64"),
        (TEXT, ((5, 4, 4), (5, 4, 4)), "library", "complex128"),
        ("eij,ekj->eki", ((5, 4, 3), (5, 6, 3)), "library", "float32"),
        ("ij,jk,kl->il", ((4, 5), (5, 6), (6, 3)), "library", "float64"),
        ("ij,kjl,l->ki", ((4, 5), (6, 5, 3), (3,)), None, "complex64"),
        ("eii->e", ((5, 4, 4),), None, "float64"),
    ],
)
def test_later_calls_put_addresses_into_a_record(text, shapes, how, dtype):
    """Nothing is checked or bound then. Values are of the arrays of now, wherever these begin."""
    rng = np.random.default_rng(8)
    for turn in range(5):
        arrays = [anywhere(whole(rng, shape, dtype), turn % 3) for shape in shapes]
        values = []
        found = python_calls(lambda: values.append(contract(text, *arrays, how=how)))
        assert np.array_equal(values[0], np.einsum(text, *arrays))
        assert turn == 0 or 0 < found < CALLS_OF_CPU, found


@pytest.mark.parametrize("text, shapes", [(TEXT, ((5, 4, 4), (5, 4, 4))), ("ij,kj->ik", ((4, 6), (3, 6)))])
def test_other_orders_of_memory_are_other_calls(text, shapes):
    """Fortran's order, gaps, and numbers from the end."""
    rng = np.random.default_rng(9)
    lies = (np.asfortranarray, lambda a: np.repeat(a, 2, axis=-1)[..., ::2], lambda a: a[::-1], np.ascontiguousarray)
    for lie in (*lies, *lies):
        for _ in range(4):
            arrays = [lie(whole(rng, shape)) for shape in shapes]
            assert np.array_equal(contract(text, *arrays), np.einsum(text, *arrays))


def anywhere(array, numbers: int):
    """A copy that begins so many numbers behind the room of an array of NumPy's."""
    held = np.empty(array.size + numbers, array.dtype)[numbers:].reshape(array.shape)
    held[...] = array
    return held


@pytest.mark.parametrize("how", ["direct", "library", "lanes", "rows"])
def test_threads_of_python_share_a_plan(how):
    """Each works in memory of its own, by plans that are bound and by calls that come again."""
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        a, b = whole(rng, (200, 300)), whole(rng, (300, 250))
        for _ in range(20):
            if not np.array_equal(contract("ij,jk->ik", a, b, how=how), a @ b):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


STATEMENTS = """t[e i k] = a[e i j] b[e j k]
o[e i k] = 2 t[e i k]
s[e i] += a[e i i]"""


def test_statements_that_come_again(backend, compiled):
    """Two outputs, a local, and an output that is added to: values of the arrays of now, and few calls of Python's."""
    rng = np.random.default_rng(6)
    found = None
    for turn in range(3):
        a, b, s = whole(rng, (5, 4, 4)), whole(rng, (5, 4, 4)), whole(rng, (5, 4))
        arrays = dict(zip("abs", there(backend, a, b, s.copy())))
        o, added = contract(STATEMENTS, **arrays, local="t")
        assert added is arrays["s"]
        assert np.array_equal(backend.to_host(o), 2 * (a @ b))
        assert np.array_equal(backend.to_host(added), s + np.einsum("eii->ei", a))
        found = compiled(backend) if turn == 0 else found
    assert not found

    again = lambda: contract(STATEMENTS, **arrays, local="t")
    assert 0 < python_calls(again) < MOST_OF_STATEMENTS
    arrays = dict(sorted(arrays.items(), reverse=True))  # another order of the names
    o, added = again()
    assert np.array_equal(backend.to_host(o), 2 * (a @ b)) and added is arrays["s"]


def test_statements_with_other_arrays(backend):
    """Strides, types, names and a given array each make a call of their own; errors are those of a first call."""
    rng = np.random.default_rng(7)
    text = "o[i k] = a[i j] b[j k]"
    a, b = whole(rng, (4, 4)), whole(rng, (4, 4))
    for left in (a, a.T, a.astype("float32"), a[::-1], a):
        right = b.astype(left.dtype)
        x, y, o = there(backend, left.copy(), right, np.full((4, 4), np.nan, left.dtype))
        for _ in range(2):
            assert np.array_equal(backend.to_host(contract(text, a=x, b=y)), left @ right)
            assert contract(text, a=x, b=y, o=o) is o and np.array_equal(backend.to_host(o), left @ right)
            with pytest.raises(ArgumentError, match="output 'o' and array 'a' share memory"):
                contract(text, a=x, b=y, o=x)
            with pytest.raises(ArgumentError, match="array 'b' is missing"):
                contract(text, a=x)

    x, y = there(backend, a, b)
    for _ in range(2):
        turned = contract(text, a=x.T, b=y)
        assert np.array_equal(backend.to_host(turned), a.T @ b)


def test_kept_calls_are_few(monkeypatch):
    monkeypatch.setattr(repeats, "KEPT", 2)
    monkeypatch.setattr(repeats, "kept", repeats.Kept())
    for n in (1, 2, 3, 4):
        assert np.array_equal(contract("ij->ji", np.ones((n, 2))), np.ones((2, n)))
    assert len(repeats.kept.calls) == 2


LARGE = {
    "lanes": ("ki,kj->ij", dict(k=6000, j=5)),  # turned on the way in
    "rows": ("ik,jk->ij", dict(k=9000, j=40)),  # a copy in which j is side by side
}


@pytest.mark.parametrize("how", LARGE)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_large_scratch_is_kept(how, threads):
    """More than the stack takes. Later calls work in the memory of the first: new memory comes page by page."""
    text, sizes = LARGE[how]
    plan = Contraction(text, sizes, backend=get_backend("cpu", threads=threads), how=how)
    rng = np.random.default_rng(3)
    shapes = {name: plan.shape(name, 11) for name in ("operand0", "operand1", "out")}
    arrays = {name: whole(rng, shape) for name, shape in shapes.items()}
    wanted = np.einsum(text, arrays["operand0"], arrays["operand1"])

    run, rooms = plan.again(arrays, 11), set()
    for _ in range(3):
        arrays["out"][...] = np.nan
        run(list(arrays.values()))
        assert np.array_equal(arrays["out"], wanted)
        rooms.add(scratch.room("launch", (ON_STACK,), np.dtype(np.uint8)).ctypes.data)
    assert plan.how.launch_of(plan, arrays, {}, 11).scratch > ON_STACK and len(rooms) == 1


@pytest.mark.parametrize("text, shapes", [("ijk->ij", ((5, 40, 24),)), ("iajk,jl->iakl", ((6, 9, 7, 8), (7, 3)))])
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_entries_from_memory_are_asked_for(monkeypatch, text, shapes, dtype):
    """Also those beyond the last one, which there are none of."""
    monkeypatch.setattr(library_costs, "from_memory", lambda held: True)
    rng = np.random.default_rng(4)
    arrays = [whole(rng, shape, dtype) for shape in shapes]
    for _ in range(2):
        assert np.array_equal(contract(text, *arrays, how="rows"), np.einsum(text, *arrays))


# ---- arrays with gaps ---------------------------------------------------------------------------------------------

MOST_CALLS_OF_GAPS = 40  # of Python functions: up to 26 were counted, 150 where each call binds anew

GAPS = {
    "rows": lambda a: a[3, :10, :20],
    "steps": lambda a: a[3, :10, :40:2],
    "far apart": lambda a: a[:10, :20, 5],
    "backwards": lambda a: a[0, 9::-1, :20],
    "one number for all": lambda a: np.broadcast_to(a[0, 0, :20], (10, 20)),
    "turned": lambda a: a[4, :20, :10].T,
}


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("gap", GAPS)
def test_operands_with_gaps_come_again(gap, dtype):
    """Values are those of the arrays of now; no call binds."""
    rng = np.random.default_rng(3)
    b = whole(rng, (20, 12), dtype)
    fields = [whole(rng, (50, 60, 70), dtype) for _ in range(3)]

    for field in fields:
        a = GAPS[gap](field)
        assert np.array_equal(einsum("ij,jk->ik", a, b), a @ b)
    a = GAPS[gap](fields[1])
    assert python_calls(lambda: einsum("ij,jk->ik", a, b)) <= MOST_CALLS_OF_GAPS


@pytest.mark.parametrize("how", ["library", "lanes", "direct", "sweep"])
@pytest.mark.parametrize("gap", GAPS)
def test_each_organisation_has_gaps_again(gap, how):
    rng = np.random.default_rng(4)
    b = whole(rng, (20,) if how == "sweep" else (20, 12))
    text = "ij,j->i" if how == "sweep" else "ij,jk->ik"
    for _ in range(3):
        a = GAPS[gap](whole(rng, (50, 60, 70)))
        assert np.array_equal(contract(text, a, b, how=how), a @ b)


def test_an_operand_that_lies_otherwise_is_seen():
    """A copy is not taken for an array of another shape, type or order."""
    field, b = np.arange(60.0).reshape(6, 10), np.ones((4, 3))
    others = [field[:, ::3], field[::2, ::3], field[:, ::3].astype("float32"), field[::-1, ::3]]
    for a in (others[0], *others, *others[::-1]):
        np.testing.assert_array_equal(einsum("ij,jk->ik", a, b), a @ b)


@pytest.mark.parametrize("gap", [None, *GAPS])
@pytest.mark.parametrize("how", ["rows", "lanes", "direct", "library"])
def test_quick_calls_give_the_values_of_now(how, gap):
    """A function that asks C whether arrays lie as they did: None where they do not."""
    rng = np.random.default_rng(5)
    backend = get_backend("cpu", threads=1)
    b = whole(rng, (20, 12))

    def left():
        field = whole(rng, (50, 60, 70))
        return GAPS[gap](field) if gap else np.ascontiguousarray(field[0, :10, :20])

    a = left()
    contract("ij,jk->ik", a, b, how=how, backend=backend)
    key = repeats.signature("ij,jk->ik", (a, b), backend, (None, how, True, "K", None))
    quick = repeats.find(key).quick

    for a in (left(), left()):
        found = quick("ij,jk->ik", a, b)
        assert np.array_equal(found, a @ b)
        assert quick("ij,jk->ik", a[::2], b) is None
        assert quick("ij,jk->ik", a.astype("float32"), b) is None
        assert quick("ij,jk->ik", a, [list(row) for row in b]) is None


# ---- forms of a call ------------------------------------------------------------------------------------------------

TEXT_OF_FORMS = "eij,ejk->eik"
FORMS = {
    "arrays and lists": lambda f, a, b: f(a, [0, 1, 2], b, [0, 2, 3], [0, 1, 3]),
    "lists of NumPy's numbers": lambda f, a, b: f(a, np.arange(3), b, np.array([0, 2, 3]), [0, 1, 3]),
    "lists with Ellipsis": lambda f, a, b: f(a, [..., 1, 2], b, [..., 2, 3], [..., 1, 3]),
    "dtype": lambda f, a, b: f(TEXT_OF_FORMS, a, b, dtype=np.float64),
    "wider dtype": lambda f, a, b: f(TEXT_OF_FORMS, a, b, dtype=complex),
    "order": lambda f, a, b: f(TEXT_OF_FORMS, a, b, order="F"),
    "whole numbers beside others": lambda f, a, b: f(TEXT_OF_FORMS, a.astype(int), b),
    "truth values beside others": lambda f, a, b: f(TEXT_OF_FORMS, a > 0, b),
    "half": lambda f, a, b: f(TEXT_OF_FORMS, a.astype("e"), b.astype("e")),
    "two precisions": lambda f, a, b: f(TEXT_OF_FORMS, a.astype("f"), b),
    "bytes in the other order": lambda f, a, b: f(TEXT_OF_FORMS, a.astype(">f8"), b),
    "a user's kind": lambda f, a, b: f(TEXT_OF_FORMS, a.view(Kind), b),
    "a list": lambda f, a, b: f(TEXT_OF_FORMS, a.tolist(), b),
    "a number": lambda f, a, b: f(",eij,ejk->eik", 2.0, a, b),
    "a whole number": lambda f, a, b: f(",eij,ejk->eik", 2, a, b),
    "a number of NumPy's": lambda f, a, b: f(",eij,ejk->eik", np.float64(2), a, b),
    "a result of another type": lambda f, a, b: f(TEXT_OF_FORMS, a, b, out=np.full((3, 4, 6), np.nan, complex)),
    "a result beside copies": lambda f, a, b: f(TEXT_OF_FORMS, a[::-1], b, out=np.full((3, 4, 6), np.nan)),
    "a result in single precision": lambda f, a, b: f(
        TEXT_OF_FORMS, a.astype("f"), b.astype(int).astype("b"), out=np.full((3, 4, 6), np.nan, "f")
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_call_comes_again(form, monkeypatch):
    """Nothing is planned, whatever has to be converted; the numbers are those of now."""
    monkeypatch.setattr(repeats, "kept", repeats.Kept())
    rng = np.random.default_rng(15)
    for turn in range(4):
        a, b = whole(rng, (3, 4, 5)), whole(rng, (3, 5, 6))
        wanted = FORMS[form](np.einsum, a, b)
        for evaluate in (contract, einsum):
            found = FORMS[form](evaluate, a, b)
            assert found.dtype == wanted.dtype and np.array_equal(found, wanted)
        if turn == 0:
            monkeypatch.setattr(string_call, "plan_of", None)


def test_tensordot_comes_again(monkeypatch):
    monkeypatch.setattr(repeats, "kept", repeats.Kept())
    rng = np.random.default_rng(16)
    for turn in range(3):
        a, b = whole(rng, (3, 4, 5)), whole(rng, (4, 5, 3))
        for axes in (2, ([1, 2], [0, 1]), ([0], [2]), 0):
            assert np.array_equal(tensordot(a, b, axes), np.tensordot(a, b, axes))
        if turn == 0:
            monkeypatch.setattr(string_call, "plan_of", None)


def test_what_a_form_refuses_is_refused_again():
    """The call before had the same types and shapes, and numbers that fit."""
    a, small = np.ones((3, 4, 5)), np.ones((3, 5, 6), int)
    out = np.zeros((3, 4, 6), complex)
    for _ in range(3):
        assert einsum(TEXT_OF_FORMS, a, small)[0, 0, 0] == 5
        with pytest.raises(ArgumentError, match="operand1.*2\\^53"):
            einsum(TEXT_OF_FORMS, a, small + 2**60)

        out.flags.writeable = True
        assert einsum(TEXT_OF_FORMS, a, small, out=out)[0, 0, 0] == 5
        out.flags.writeable = False
        with pytest.raises(ArgumentError, match="'out' is read-only"):
            einsum(TEXT_OF_FORMS, a, small, out=out)


# ---- one thing is another than in the last call ---------------------------------------------------------------------


def at(array, offset: int):
    """A copy that begins so many bytes behind a cache line."""
    room = scratch.aligned(array.nbytes + offset)
    found = np.ndarray(array.shape, array.dtype, room.data, offset)
    found[...] = array
    return found


def read_only(array):
    found = array.copy()
    found.flags.writeable = False
    return found


class Kind(np.ndarray):
    """A user's kind of array."""


OTHERS = {
    "new": np.copy,
    "not on a line": lambda a: at(a, 16),
    "between numbers": lambda a: at(a, 3),
    "columns first": np.asfortranarray,
    "backwards": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "with gaps": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "read-only": read_only,
    "bytes in the other order": lambda a: a.astype(a.dtype.newbyteorder()),
    "of a type with notes": lambda a: a.astype(np.dtype(a.dtype.str, metadata={"unit": "m"})),
    "a matrix": lambda a: a.copy().view(np.matrix),
    "a user's kind": lambda a: a.copy().view(Kind),
    "a list": np.ndarray.tolist,
    "in single precision": lambda a: a.astype(np.result_type(np.float32, a.dtype) if a.dtype.kind == "c" else "f4"),
    "of whole numbers": lambda a: a.real.astype(np.int16),
    "a row": lambda a: a[:1].copy(),
    "empty": lambda a: a[:0].copy(),
}


@pytest.mark.parametrize("call", [contract, einsum])
@pytest.mark.parametrize("dtype", ["int64", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("text", ["ij,jk->ik", "ij,jk->", "ij,jk->ki"])
def test_one_array_is_another(call, dtype, text):
    """Values are those of the arrays of now, whatever came before."""
    rng = np.random.default_rng(12)
    b = whole(rng, (6, 4), dtype)
    for name in OTHERS:
        for other in ("new", name, name, "new"):
            a = OTHERS[other](whole(rng, (5, 6), dtype))
            wanted = np.einsum(text, np.asarray(a), b)
            found = call(text, a, b)
            assert np.shape(found) == np.shape(wanted) and np.array_equal(found, wanted), (name, other)


@pytest.mark.parametrize(
    "how, dtype",
    [
        *itertools.product([None, "rows", "lanes", "library"], ["float64", "complex64", "complex128"]),
        ("direct", "float64"),
    ],
)
def test_nothing_beside_the_result_is_written(how, dtype):
    """A given array wherever it begins, between bytes that stay as they are."""
    rng = np.random.default_rng(13)
    for offset in (72, 65, 64, 72, 80, 65, 64, 96):
        a, b = whole(rng, (5, 6), dtype), whole(rng, (6, 7), dtype)
        wanted = a @ b
        room = scratch.aligned(wanted.nbytes + 2 * offset)
        for _ in range(3):
            room[...] = 0xA5
            out = np.ndarray(wanted.shape, dtype, room.data, offset)
            assert contract("ij,jk->ik", a, b, out=out, how=how) is out

            assert np.array_equal(out, wanted)
            beside = np.delete(room, slice(offset, offset + out.nbytes))
            assert (beside == 0xA5).all()


@pytest.mark.parametrize("place", range(17))
def test_a_given_array_that_comes_to_lie_over_an_operand(place):
    """einsum's result is then computed apart, as in NumPy; the call before had arrays that lay alike, apart."""
    rng = np.random.default_rng(14)
    b = whole(rng, (4, 4))
    for over in (False, True, False, True):
        room = np.zeros(64)
        a, out = room[16:32].reshape(4, 4), room[8 + place :][:16].reshape(4, 4)
        a[...] = whole(rng, (4, 4))
        wanted = a @ b
        given = out if over else np.empty((4, 4))
        assert einsum("ij,jk->ik", a, b, out=given) is given and np.array_equal(given, wanted)
