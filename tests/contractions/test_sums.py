"""Sums by lanes of warps, in one part and in several, on the stand-in of a device and on a GPU.

Small whole numbers, whose sums are exact in any order.
"""

import threading

import numpy as np
import pytest

from kernels import Contraction, contract
from kernels.contractions.evaluate import evaluate
from kernels.contractions.organisations import device, in_parts, library_costs, sums
from kernels.contractions.organisations.flat import Flat
from kernels.contractions.organisations.staged import Staged
from kernels.contractions.organisations.sums import Sums
from kernels.engine.backend import counters
from kernels.engine.errors import ArgumentError

CASES = (  # text, sizes, entries
    ("o[c] = a[c p i] b[c p i]", dict(p=301, i=7), 5),
    ("o[c l] += a[c l p] b[c p] - 2 d[p] e[c l p]", dict(l=3, p=1000), 2),
    ("o[c l] = a[c l p] b[p c]", dict(l=3, p=500), 4),
    ("o[] = a[i] b[i]", dict(i=5003), 1),
    ("o[i] = a[i j]", dict(j=4000), 3),
)


def whole(rng, plan, n):
    """Small whole numbers for all arrays."""
    return {a.name: rng.integers(-3, 4, plan.shape(a.name, n)).astype(plan.dtype) for a in plan.program.arguments}


def done(plan, arrays, n):
    """The output after a run on copies of the arrays."""
    held = {name: plan.backend.from_host(a.copy(), a.dtype) for name, a in arrays.items()}
    plan.bind(held, n)()
    return np.array(plan.backend.to_host(held["o"]))


def done_unaligned(plan, arrays):
    """The same of arrays that begin a number behind 16 bytes."""
    backend = plan.backend
    held = {name: backend.from_host(np.zeros(a.size + 1), a.dtype) for name, a in arrays.items()}
    shifted = {name: held[name][1:].reshape(a.shape) for name, a in arrays.items()}
    for name, a in arrays.items():
        shifted[name][...] = backend.from_host(a, a.dtype)
    plan.bind(shifted)()
    return backend.to_host(shifted["o"])


def einsum(plan, arrays):
    wide = {name: a.astype(np.float64) for name, a in arrays.items()}
    return evaluate(plan.expression, wide, np.einsum)[0]


@pytest.mark.parametrize("text, sizes, n", CASES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("parts", [1, 2, 8, 64])
@pytest.mark.quick(parts=[2, 64], dtype="float64")
def test_sums_in_parts(device_backend, text, sizes, n, dtype, parts):
    """More parts than there are loads leave some parts empty."""
    how = f"sums threads=64 lanes=32 parts={parts}"
    plan = Contraction(text, sizes, dtype, backend=device_backend, how=how, quick=True)
    arrays = whole(np.random.default_rng(0), plan, n)
    assert np.array_equal(done(plan, arrays, n), einsum(plan, arrays))


BESIDE = (  # neighbours of the output are neighbours in the factors: of the batch, or of an entry
    ("o[c] = a[p c]", dict(p=301), 37),
    ("o[c] += a[p i c] b[p] - 2 d[p c]", dict(p=40, i=9), 37),
    ("o[l c] = a[p l c] b[l p]", dict(l=3, p=50), 40),
    ("o[c x] = a[c p x] b[c p]", dict(p=33, x=18), 5),
)


@pytest.mark.parametrize("text, sizes, n", BESIDE)
@pytest.mark.parametrize("parts", [1, 2, 8])
@pytest.mark.quick(parts=[8])
def test_a_lane_for_each_number(device_backend, text, sizes, n, parts):
    how = f"sums threads=64 lanes=1 parts={parts}"
    batch = "c" if "c" in text.split("]")[0] else None
    plan = Contraction(text, sizes, backend=device_backend, batch=batch, how=how, quick=True)
    arrays = whole(np.random.default_rng(3), plan, n)
    assert np.array_equal(done(plan, arrays, n), einsum(plan, arrays))


ACROSS = (  # the largest factor has its indices in another order than the output, or than the sum
    ("o[c b] = a[a b c]", dict(a=61, b=7), 37),
    ("o[d b] = a[a b c d]", dict(a=6, b=7, c=9), 33),
    ("o[c a] = a[a b c d] w[d]", dict(a=6, b=7, d=9), 33),
    ("o[e c] += a[a b c d e] - 2 b[e d c b a]", dict(a=3, b=4, c=5, d=6), 33),
    ("o[i a] = w[k c] a[i k c a]", dict(a=5, k=6, c=7), 34),
)


@pytest.mark.parametrize("text, sizes, n", ACROSS)
@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize("how", ["lanes=1", "lanes=1 warps=2 parts=3", "lanes=32 warps=2 parts=2", "lanes=8 warps=2"])
@pytest.mark.quick(batch=[True], how=["lanes=1 warps=2 parts=3", "lanes=8 warps=2"])
def test_numbers_as_the_largest_factor_has_them(device_backend, text, sizes, n, batch, how):
    letter = text.split("=")[0].strip(" +").removeprefix("o[")[0]
    sizes, letter, n = (sizes, letter, n) if batch else (sizes | {letter: n}, "", 1)
    how = f"sums threads=128 {how}"
    plan = Contraction(text, sizes, backend=device_backend, batch=letter, how=how, quick=True)
    arrays = whole(np.random.default_rng(5), plan, n)
    assert np.array_equal(done(plan, arrays, n), einsum(plan, arrays))


@pytest.mark.parametrize("text, sizes, n", CASES)
@pytest.mark.parametrize("warps, lanes", [(2, 32), (8, 32), (4, 8), (8, 1)])
@pytest.mark.parametrize("parts", [1, 3, 40])
@pytest.mark.quick(parts=[3])
def test_warps_share_a_number(device_backend, text, sizes, n, warps, lanes, parts):
    how = f"sums threads=256 lanes={lanes} warps={warps} parts={parts}"
    plan = Contraction(text, sizes, "float32", backend=device_backend, how=how, quick=True)
    arrays = whole(np.random.default_rng(6), plan, n)
    assert np.array_equal(done(plan, arrays, n), einsum(plan, arrays))


def test_a_slow_output_is_read_side_by_side(device_backend):
    """The output's first index is the factor's last one: neighbouring lanes have neighbours of the factor."""
    plan = Contraction("o[c b] = a[a b c]", dict(a=545, b=17), backend=device_backend, batch="c", entries=167)
    assert plan.how.lanes == 1 and plan.how.warps > 1


def test_sums_over_a_slow_index_are_read_side_by_side(device_backend):
    """By the model: a lane has a number for itself, and few columns are summed in parts."""
    wide = Contraction("o[x] = a[s x] w[s]", dict(s=10), backend=device_backend, entries=10**6, how="sums")
    few = Contraction("o[j] = a[i j]", dict(i=4000), backend=device_backend, entries=4000)
    rows = Contraction("o[i] = a[i j]", dict(j=4000), backend=device_backend, entries=4000)
    assert [plan.how.name for plan in (wide, few, rows)] == ["sums"] * 3
    assert (wide.how.lanes, wide.how.parts) == (1, 1)
    assert (few.how.lanes, few.how.warps) == (1, sums.WARPS)
    assert sums.FILLED / 2 < few.how.at_work(few.program, 4000) <= sums.FILLED
    assert rows.how.lanes == 32


def test_neighbours_of_several_sums_at_once(device_backend):
    """The last index of the sums runs along memory in both factors."""
    text, sizes = "o[p q] = a[p r q s] b[r s]", dict(q=3, r=5, s=6)
    plan = Contraction(text, sizes, backend=device_backend, how="sums threads=64 lanes=4 near=2", quick=True)
    arrays = whole(np.random.default_rng(4), plan, 4)
    assert np.array_equal(done(plan, arrays, 4), einsum(plan, arrays))


def test_teams_that_a_block_has_not_are_refused(device_backend):
    with pytest.raises(ArgumentError, match="multiples of 32 x 4"):
        Contraction("o[e] = a[e s]", dict(s=500), backend=device_backend, how="sums threads=64 lanes=8 warps=4")


@pytest.mark.parametrize("how", ["sums threads=64 lanes=4 near=2", "flat threads=64 near=2"])
def test_neighbours_that_cannot_be_read_at_once_are_refused(device_backend, how):
    with pytest.raises(ArgumentError, match="wanted near=1"):
        Contraction("o[e p] = a[e p s] b[e s]", dict(p=7, s=5), backend=device_backend, how=how)


def test_neighbours_at_once_in_parts(device_backend):
    """Where arrays begin at 16 bytes, and where they do not."""
    how = "sums threads=64 lanes=32 near=2 parts=4"
    plan = Contraction("o[c] = a[c p] b[c p]", dict(p=402), backend=device_backend, how=how, quick=True)
    arrays = whole(np.random.default_rng(1), plan, 3)
    wanted = einsum(plan, arrays)
    assert np.array_equal(done(plan, arrays, 3), wanted)

    assert np.array_equal(done_unaligned(plan, arrays), wanted)


def test_parts_beyond_the_room_of_a_stream(device_backend, monkeypatch):
    """They have memory of their own."""
    how = "sums threads=64 lanes=32 parts=4"
    plan = Contraction("o[c] = a[c p] b[c p]", dict(p=402), backend=device_backend, how=how, quick=True)
    arrays = whole(np.random.default_rng(4), plan, 3)
    wanted = einsum(plan, arrays)
    for room in (3 * 4 * 8, 3 * 4 * 8 - 1):
        monkeypatch.setattr(counters, "ROOM", room)
        assert np.array_equal(done(plan, arrays, 3), wanted)
        held = [device_backend.from_host(a) for a in (arrays["a"], arrays["b"])]
        for _ in range(2):
            found = contract("cp,cp->c", *held, backend=device_backend, how=how)
            assert np.array_equal(device_backend.to_host(found), wanted)


def test_entries_whose_parts_have_no_room_go_after_the_others(device_backend, monkeypatch):
    """The same bits, whatever the room and the batch; NaN stays in its entry."""
    how = "sums threads=64 lanes=32 parts=4"
    plan = Contraction("o[c] = a[c p] b[c p]", dict(p=400), backend=device_backend, how=how, quick=True)
    rng = np.random.default_rng(2)
    arrays = {name: rng.random(plan.shape(name, 7)) for name in "abo"}
    arrays["a"][3, 17] = np.nan
    found = done(plan, arrays, 7)
    assert np.isnan(found).tolist() == [False] * 3 + [True] + [False] * 3

    monkeypatch.setattr(in_parts, "ROOM", 12)  # three entries
    assert np.array_equal(done(plan, arrays, 7), found, equal_nan=True)
    for n in (1, 5):
        some = {name: a[:n] for name, a in arrays.items()}
        assert np.array_equal(done(plan, some, n), found[:n], equal_nan=True)
    assert done(plan, {name: a[:0] for name, a in arrays.items()}, 0).shape == (0,)


LONG = (("ij->", (301, 403)), ("abc->cb", (90, 3, 31)), ("ij,ij->i", (3, 9001)))


def long_sums(device_backend):
    """[(string, arrays on the device, bits of the result)], with parts."""
    found = []
    for text, shape in LONG:
        rng = np.random.default_rng(7)
        arrays = [device_backend.from_host(rng.random(shape)) for _ in text.split("->")[0].split(",")]
        result = device_backend.to_host(contract(text, *arrays, backend=device_backend))
        found.append((text, arrays, result.tobytes()))
    return found


def differ(device_backend, sums_) -> int:
    """Results whose bits are others than before, of a call each."""
    found = [contract(text, *arrays, backend=device_backend) for text, arrays, _ in sums_]
    bits = [device_backend.to_host(x).tobytes() for x in found]
    return sum(one != before for one, (*_, before) in zip(bits, sums_))


def test_the_same_bits_at_each_call(device_backend):
    """Whichever block comes last."""
    sums_ = long_sums(device_backend)
    assert [differ(device_backend, sums_) for _ in range(20)] == [0] * 20


def test_the_same_bits_on_streams_of_several_threads(device_backend):
    """Each thread has a stream of its own, or all share one: their launches do not count together."""
    sums_, wrong = long_sums(device_backend), []
    shared = device_backend.arrays.cuda.Stream(non_blocking=True)
    device_backend.synchronize()

    def work(stream):
        with stream or device_backend.arrays.cuda.Stream(non_blocking=True):
            wrong.extend(differ(device_backend, sums_) for _ in range(10))

    for stream in (None, shared):
        workers = [threading.Thread(target=work, args=(stream,)) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert wrong == [0] * 80


def test_launches_work_together_by_themselves(device_backend):
    """Counters and room belong to a stream; launches of a graph have their own."""
    stream = device_backend.arrays.cuda.Stream(non_blocking=True)
    here = [device_backend.joint(5, 100) for _ in range(2)]
    with stream:
        there = [device_backend.joint(5, 100) for _ in range(2)]
    of_graphs = []
    for _ in range(2):
        device_backend.record(lambda: of_graphs.append(device_backend.joint(5, 100)))

    assert here[0] == here[1] and there[0] == there[1]
    for addresses in zip(here[0], there[0], *of_graphs):
        assert len(set(addresses)) == 4
    for joint in (here[0], there[0], *of_graphs):
        assert joint.room % 256 == 0 and joint.room >= joint.counters + 5 * 4


def test_a_graph_of_a_sum_in_parts(device_backend):
    """It runs again and again, beside the calls of the stream."""
    how = "sums threads=64 lanes=32 warps=2 parts=5"
    plan = Contraction("o[c] = a[c p]", dict(p=4001), backend=device_backend, how=how, quick=True)
    arrays = whole(np.random.default_rng(8), plan, 3)
    held = {name: device_backend.from_host(a, a.dtype) for name, a in arrays.items()}
    run = plan.bind(held)
    run()
    again = device_backend.record(run)
    for _ in range(3):
        held["o"][...] = device_backend.from_host(np.full(3, np.nan))
        device_backend.synchronize()
        again()
        run()
        again()
        assert np.array_equal(device_backend.to_host(held["o"]), einsum(plan, arrays))


def parts_of(text, sizes, backend, **options):
    """Warps and parts with which the model has a number shared."""
    how = Contraction(text, sizes, backend=backend, **options).how
    assert how.name == "sums"
    return how.warps, how.parts


def test_parts_are_for_few_numbers_with_long_sums(device_backend):
    long = dict(p=10**6)
    assert parts_of("o[c] = a[c p] b[c p]", long, device_backend, entries=10**6) == (1, 1)  # many numbers
    warps, several = parts_of("o[c] = a[c p] b[c p]", long, device_backend, entries=4)
    assert warps == sums.WARPS_OF_FEW and sums.FILLED / 2 < 4 * 32 * warps * several <= sums.FILLED
    assert parts_of("o[c] = a[c p] b[c p]", dict(p=100), device_backend, entries=4) == (1, 1)  # short sums


def test_a_block_has_what_it_reads_sooner_than_parts_are_added(device_backend):
    """Each lane of a warp has a batch of loads under way, then warps are added; then blocks."""
    text = "o[] = a[i]"
    assert parts_of(text, dict(i=1000), device_backend, batch="") == (4, 1)
    assert parts_of(text, dict(i=10**4), device_backend, batch="") == (sums.WARPS_ALONE, 1)
    warps, parts = parts_of(text, dict(i=10**5), device_backend, batch="")
    assert warps == sums.WARPS_OF_FEW and 1 < parts < device.MULTIPROCESSORS


def test_a_light_factor_brings_no_bytes(device_backend):
    """So twice the lanes ask for the other one's."""
    one, two = (
        parts_of(text, dict(i=4000), device_backend, batch="j", entries=4000)
        for text in ("o[j] = a[i j]", "o[j] = a[i j] w[i]")
    )
    assert one[0] == two[0] and two[1] == 2 * one[1]


TILED = (  # text, sizes, entries: factors that lie across each other
    ("o[c] = a[c i j] b[c j i]", dict(i=48, j=32), 3),
    ("o[c] += a[c i j] b[c j i] - 2 a[c i j]", dict(i=45, j=63), 3),
    ("o[c] = a[c i j k] b[c k j i]", dict(i=31, j=3, k=47), 2),
    ("o[c l] = a[c l i j] b[c j l i]", dict(l=2, i=47, j=62), 2),
    ("o[c] = a[c i j] b[c j i]", dict(i=7, j=90), 3),  # short rows: no tiles
    ("o[c] = a[c i j] b[c j i]", dict(i=90, j=7), 3),
)


@pytest.mark.parametrize("text, sizes, n", TILED)
@pytest.mark.parametrize("how", ["lanes=32", "lanes=8 warps=2", "lanes=32 warps=4 parts=3"])
def test_terms_by_tiles(device_backend, text, sizes, n, how):
    plan = Contraction(text, sizes, backend=device_backend, how=f"sums threads=128 {how}", quick=True)
    arrays = whole(np.random.default_rng(9), plan, n)
    assert np.array_equal(done(plan, arrays, n), einsum(plan, arrays))


@pytest.mark.parametrize("sizes", [dict(i=48, j=32), dict(i=45, j=63), dict(i=4001, j=61)])
def test_lanes_share_lines_of_both_factors(device_backend, sizes):
    """The lanes of a warp: 32 terms of four lines of one factor and eight of the other. Each term comes once."""
    plan = Contraction("o[c] = a[c i j] b[c j i]", sizes, backend=device_backend, quick=True)
    (terms,) = sums.terms_of(plan.program)
    extents = [loop.extent for loop in terms.loops]
    i = j = 0
    for loop, turn in zip(terms.loops, np.unravel_index(np.arange(np.prod(extents)), extents)):
        if loop.step[1] % sizes["j"] == 0:  # steps of rows of a
            i = i + loop.step[1] // sizes["j"] * turn
        else:
            j = j + loop.step[1] * turn
    assert [len(set(some[:32])) for some in (i, j)] == [4, 8]

    inside = (i < sizes["i"]) & (j < sizes["j"])
    assert sorted(zip(i[inside], j[inside])) == [(x, y) for x in range(sizes["i"]) for y in range(sizes["j"])]
    assert bool(terms.edges) == (sizes != dict(i=48, j=32))


def test_work_that_does_not_fill_a_device_costs_more(device_backend):
    """By the threads that have something to do, for as many entries as the caller told."""
    text, sizes = "o[c f] = a[c f p] b[c p]", dict(f=2, p=64)
    few = Contraction(text, sizes, backend=device_backend, entries=8).program
    many = Contraction(text, sizes, backend=device_backend, entries=10**6).program
    assert Flat(256).waits(many) == 1.0
    assert Flat(256).waits(few) == pytest.approx(device.FULL / 16)
    assert Sums(256, 32).waits(few) == pytest.approx(device.FULL / (16 * 32))

    (stages,) = (how for how in Staged.candidates(many) if how.name == "stages")
    assert stages.waits(many) == 1.0 and stages.waits(few) > 10


def test_factors_that_are_read_anew_cost_the_second_cache(device_backend):
    """Every number of a product of matrices reads both factors again: tiles, which do not, are cheaper."""
    text, sizes = "o[c l r] = a[c l p] b[c r p]", dict(l=8, r=8, p=10**5)
    plan = Contraction(text, sizes, backend=device_backend, entries=8)
    assert plan.how.name == "moments"
    (price,) = (price for price, how, _ in plan.candidates if how.name == "sums")
    read = 8 * 8 * 10**5 * 2 * 8 / device.CACHE  # seconds of an entry
    assert price * library_costs.unit("threads", plan.program) >= read


def test_a_sum_over_everything(device_backend):
    """The choice for a dot product has parts: one warp would take milliseconds."""
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-3, 4, 200003).astype(float) for _ in range(2))
    held = [device_backend.from_host(x, x.dtype) for x in (a, b)]
    plan = Contraction("o[] = a[i] b[i]", dict(i=a.size), backend=device_backend, batch="")
    assert plan.how.name == "sums" and plan.how.parts > 1
    assert plan.seconds > sum(x.nbytes for x in (a, b)) / library_costs.DEVICE.memory  # no less than memory allows
    assert contract("i,i->", *held) == a @ b
