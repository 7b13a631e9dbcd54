"""Calls on a device that come again: launches that were bound once, with the addresses of the arrays of now.

On the stand-in of a device (cuda_on_cpu), and on a GPU. Whole numbers, whose sums are exact.
"""

import gc
import threading
import weakref

import numpy as np
import pytest
from device_for_tests import STAND_IN

from kernels import Contraction, contract, einsum
from kernels.contractions import contraction, repeats
from kernels.engine.backend.counters import Joint
from kernels.engine.backend.replay import Launch, Lie, Replay, StandIn, Watch, here, watched
from kernels.engine.errors import ArgumentError, BackendError

CASES = (  # string, shapes, the organisation that is asked for
    ("eij,ejk->eik", ((7, 4, 5), (7, 5, 3)), "flat"),
    ("eij,ejk->eik", ((7, 4, 5), (7, 5, 3)), "stages"),
    ("eij,ejk->eik", ((7, 4, 5), (7, 5, 3)), "library"),
    ("ibj,kjc->ikbc", ((4, 3, 6), (5, 6, 2)), "library"),  # copies
    ("ikac,kjcb->ijab", ((4, 3, 6, 8), (3, 5, 8, 4)), "library"),  # two copies at once
    ("aibj,jakb->aibk", ((2, 3, 4, 5), (5, 2, 6, 4)), "library"),  # a table of addresses
    ("ij,jk,kl->il", ((3, 4), (4, 5), (5, 6)), "library"),  # locals
    ("ij,jk,kl->il", ((3, 4), (4, 5), (5, 6)), "axes"),  # an arena
    ("ij,jk,kl->il", ((3, 4), (4, 5), (5, 6)), "apart"),
    ("ij,kj->ik", ((40, 70), (30, 70)), "direct"),
    ("ij,ij->", ((40, 70), (40, 70)), "sums threads=64 lanes=32 parts=4"),
    ("pi->i", ((40, 70),), "sums threads=64 lanes=1 parts=4"),
)


@pytest.fixture
def device(every_backend):
    if every_backend.style != "threads":
        pytest.skip("calls on a CPU come again in another way")
    return every_backend


@pytest.fixture
def binds(monkeypatch):
    """The plans whose arrays are looked at from now on."""
    found = []
    checked = contraction.Contraction.checked
    monkeypatch.setattr(
        contraction.Contraction, "checked", lambda self, arrays, n: found.append(self) or checked(self, arrays, n)
    )
    return found


def whole(rng, shapes, dtype=np.float64):
    return [rng.integers(-3, 4, shape).astype(dtype) for shape in shapes]


def there(device, arrays):
    return [device.from_host(a, a.dtype) for a in arrays]


def called(device, text, arrays, **options):
    return device.to_host(contract(text, *there(device, arrays), backend=device, **options))


@pytest.mark.parametrize("text, shapes, how", CASES)
def test_numbers_are_of_the_arrays_of_now(device, binds, text, shapes, how):
    rng = np.random.default_rng(0)
    for turn in range(5):
        arrays = whole(rng, shapes)
        before = len(binds)
        assert np.array_equal(called(device, text, arrays, how=how), np.einsum(text, *arrays)), turn
        assert turn < 1 or len(binds) == before, "the second call bound its arrays anew"


QUICK = (
    ("ij,jk->ik", ((4, 5), (5, 3))),
    ("ij,kl->ikjl", ((2, 3), (4, 5))),
    ("bi->i", ((50, 3),)),
    ("nij,nj,ni->n", ((7, 4, 4), (7, 4), (7, 4))),
    ("ii,i->i", ((6, 6), (6,))),
)


@pytest.mark.parametrize("text, shapes", QUICK)
@pytest.mark.parametrize("function", [contract, einsum])
def test_a_call_as_the_last_is_not_looked_up(device, monkeypatch, function, text, shapes):
    """The string alone leads to its launches."""
    rng = np.random.default_rng(8)
    for _ in range(2):
        function(text, *there(device, whole(rng, shapes)))
    monkeypatch.setattr(repeats, "find", lambda key: pytest.fail(f"looked up: {key}"))
    for _ in range(3):
        arrays = whole(rng, shapes)
        found = function(text, *there(device, arrays))
        assert np.array_equal(device.to_host(found), np.einsum(text, *arrays))


VIEWS = (("ij->ji", (3, 4)), ("ijj->ij", (4, 4, 4)), ("iij->ji", (4, 4, 4)), ("...i->i...", (2, 3, 4)))


@pytest.mark.parametrize("text, shape", VIEWS)
def test_moves_are_views_on_a_device_too(device, text, shape):
    """Also of a view."""
    a = np.arange(float(np.prod(shape))).reshape(shape)
    (array,) = there(device, [a])
    for given, other in ((a, array), (a.transpose(), array.transpose())):
        view = einsum(text, other)
        assert device.address(view) == device.address(array)
        assert np.array_equal(device.to_host(view), np.einsum(text, given))


def test_a_call_unlike_the_last_is_not_taken_for_it(device):
    """Other extents, strides, types, numbers of arrays, kinds; then the arrays of before again."""
    text, rng = "ij,jk->ik", np.random.default_rng(9)
    (a, b, c), (wide,) = there(device, whole(rng, ((4, 4), (4, 4), (4, 5)))), there(device, whole(rng, ((4, 8),)))
    single = device.from_host(np.ones((4, 4), np.float32), np.float32)

    def right(left, second):
        found = device.to_host(contract(text, left, second))
        return np.array_equal(found, device.to_host(left) @ device.to_host(second))

    for _ in range(2):
        assert right(a, b)
        assert right(a, c) and right(b, a) and right(a, b)
        assert right(a.T, b) and right(wide[:, ::2], b) and right(a, b)
        assert right(single, single) and right(single, b) and right(a, b)
    with pytest.raises(ArgumentError, match="1 arrays in order"):
        contract(text, a)
    with pytest.raises(ArgumentError, match="index 'j'"):
        contract(text, a, wide.T)
    for shape in ((4, 4, 4), (4, 3)):
        with pytest.raises(ArgumentError):
            einsum("ii->i", device.empty(shape))


@pytest.mark.parametrize("text", ["iij->ij", "iji->ji", "ijj->ij", "ii->i", "ijk->kij", "iii->i"])
def test_views_share_the_memory_of_their_array(device, text):
    extents = dict(i=4, j=3, k=5)
    shape = [extents[i] for i in text.partition("->")[0]]
    values = np.arange(float(np.prod(shape))).reshape(shape)
    array = device.from_host(values)
    found = einsum(text, array)
    assert np.array_equal(device.to_host(found), np.einsum(text, values))
    assert found.data.ptr == array.data.ptr


def test_an_array_that_came_twice_may_become_two(device):
    """The first calls had one array in two places."""
    rng = np.random.default_rng(1)
    (a,) = there(device, whole(rng, ((6, 6),)))
    for _ in range(3):
        contract("ij,jk->ik", a, a, backend=device)
    left, right = whole(rng, ((6, 6), (6, 6)))
    assert np.array_equal(called(device, "ij,jk->ik", (left, right)), left @ right)


def test_arrays_that_begin_elsewhere(device):
    """At 16 bytes, where two numbers are read at once, and at 8."""
    rng = np.random.default_rng(2)
    for turn in range(6):
        (a,) = whole(rng, ((30,),))
        (held,) = there(device, whole(rng, ((31,),)))
        placed = held[turn % 2 :][:30]
        placed[...] = device.from_host(a, a.dtype)
        found = contract("ij,ij->i", placed.reshape(3, 10), placed.reshape(3, 10), backend=device)
        assert np.array_equal(device.to_host(found), (a * a).reshape(3, 10).sum(1)), turn


def test_two_threads_share_a_call(device):
    """Which has scratch memory: their launches do not mix."""
    text, shapes = "ij,jk,kl->il", ((9, 9), (9, 9), (9, 9))
    rng = np.random.default_rng(3)
    sets = [whole(rng, shapes) for _ in range(8)]
    wanted = [np.einsum(text, *arrays) for arrays in sets]
    wrong = []

    def work(k):
        for _ in range(20):
            if not np.array_equal(called(device, text, sets[k], how="library"), wanted[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(sets))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_given_output_that_overlaps_is_refused_at_each_call(device, binds):
    rng = np.random.default_rng(4)
    (a, b, out, ab) = there(device, whole(rng, ((4, 5), (5, 3), (4, 3), (40,))))
    for _ in range(4):
        assert contract("ij,jk->ik", a, b, out=out, backend=device) is out
    left, right = device.to_host(a), device.to_host(b)
    assert np.array_equal(device.to_host(out), left @ right)
    assert len(binds) == 2  # of the first call, whose launches the others found
    with pytest.raises(ArgumentError, match="share memory"):
        contract("ij,jk->ik", ab[:20].reshape(4, 5), b, out=ab[16:28].reshape(4, 3), backend=device)


@pytest.mark.parametrize("types", [("f4", "f8"), ("f8", "c8"), ("c16", "c8"), ("f2", "f4")])
def test_types_that_are_promoted(every_backend, types):
    rng = np.random.default_rng(5)
    for turn in range(4):
        a, b = (x.astype(dtype) for x, dtype in zip(whole(rng, ((4, 5), (5, 3))), types))
        found = called(every_backend, "ij,jk->ik", (a, b))
        wanted = np.einsum("ij,jk->ik", a, b)
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted), turn


def test_half_precision_stays_it(every_backend):
    rng = np.random.default_rng(6)
    for _ in range(3):
        a, b = whole(rng, ((4, 5), (5, 3)), np.float16)
        found = called(every_backend, "ij,jk->ik", (a, b))
        assert found.dtype == np.float16 and np.array_equal(found, np.einsum("ij,jk->ik", a, b))


def test_a_bound_library_keeps_its_scratch(device, monkeypatch):
    """Locals of a chain without copies: the memory was given back before the run."""
    held = []
    empty = type(device).empty

    def watched(self, *arguments):
        array = empty(self, *arguments)
        held.append(weakref.ref(array, lambda _: lost.append(1)))
        return array

    lost: list[int] = []
    plan = Contraction("o[i l] = a[i j] b[j k] c[k l]", dict(j=4, k=5, l=6), backend=device, how="library")
    arrays = dict(zip("abc", there(device, whole(np.random.default_rng(7), ((3, 4), (4, 5), (5, 6))))))
    arrays["o"] = device.empty((3, 6))
    monkeypatch.setattr(type(device), "empty", watched)
    if device.arrays.__version__ == STAND_IN:  # which keeps all memory
        monkeypatch.setattr(device.arrays, "empty", lambda *x, **y: np.empty(*x, **y).view(device.arrays.ndarray))

    run = plan.bind(arrays)
    gc.collect()
    assert len(held) == 1 and not lost
    run()
    a, b, c = (device.to_host(arrays[name]) for name in "abc")
    assert np.array_equal(device.to_host(arrays["o"]), a @ b @ c)


def test_what_reads_old_values_is_bound_each_time(device):
    plan = Contraction("o[i] += a[i j]", dict(j=3), backend=device)
    a, o = there(device, [np.ones((4, 3)), np.zeros(4)])
    assert plan.again({"a": a, "o": o}, 4) is None


# ---- records --------------------------------------------------------------------------------------------------------


def test_addresses_in_records_follow_the_arrays():
    """An address behind an array's begin, scratch memory; extents, other memory and real numbers stay."""
    begins = [0x7F0000000008, 0x7F0000001000]
    array = np.zeros((2, 3))
    lie = Lie(array.shape, array.strides, array.dtype)
    first, second = [StandIn.at(place, begin, lie) for place, begin in enumerate(begins)]
    one = np.array(1.0).view(np.int64).item()
    watch = Watch(2)
    watch.empty((5,), np.float64)
    scratch = watch.empty((7, 2), np.float64)[3:9].reshape((3, 2))
    held = [first.data.ptr + 24, 0x7F00DEAD0000, -5, one, second.data.ptr, scratch.data.ptr]

    seen = []
    watch.launches.append(Launch(np.array(held), lambda own: lambda: seen.append(own.tolist())))
    taken = []

    def empty(shape, dtype):
        taken.append((shape, dtype))
        return StandIn.contiguous(shape, dtype, 0x7C0000000000)

    Replay(watch, begins, empty)([0x7E0000000008, 0x7D0000000000])
    at_scratch = 0x7C0000000000 + 256 + 3 * 8
    assert seen == [[0x7E0000000008 + 24, 0x7F00DEAD0000, -5, one, 0x7D0000000000, at_scratch]]
    assert taken == [((512,), np.uint8)]


def test_joint_memory_is_of_each_call():
    """Counters and room belong to the stream that is current then. All launches of a call get them at once."""
    watch, seen, asked = Watch(1), [], []
    (one, room), (other, _) = watch.joint(7, 40), watch.joint(4, 80)
    watch.launches.append(Launch(np.array([one, 3, other, room]), lambda own: lambda: seen.append(own.tolist())))

    def joint(counters, room):
        asked.append((counters, room))
        return Joint(0x7B0000000000 + len(asked), 0x7A0000000000 + len(asked))

    replay = Replay(watch, [0x7F0000000000], None, joint)
    replay([0x7E0000000000])
    replay([0x7E0000000000])
    assert asked == [(7, 80)] * 2
    assert seen == [[0x7B0000000000 + k, 3, 0x7B0000000000 + k, 0x7A0000000000 + k] for k in (1, 2)]


def test_a_watch_ends_with_its_error():
    with pytest.raises(BackendError), watched(1):
        raise BackendError("in a bind")
    assert here.watch is None
