"""Few numbers with long sums, on the stand-in of a device and on a GPU.

Small whole numbers, whose sums are exact in any order; einsum in double precision is the oracle.
"""

import numpy as np
import pytest
from test_sums import done, done_unaligned, einsum, whole

from kernels import Contraction, contract, get_backend
from kernels.contractions import string_call
from kernels.contractions.asked import Asked, read_text
from kernels.contractions.organisations import in_parts, moments
from kernels.engine.errors import ArgumentError

CASES = (  # text, sizes, entries
    ("o[i] = a[n i]", dict(i=3, n=1009), 0),
    ("o[i] += a[n i] w[n]", dict(i=7, n=333), 0),
    ("o[i j] = a[n i] b[n j]", dict(i=5, j=7, n=701), 0),
    ("o[i j] = a[i n] a[j n]", dict(i=4, j=4, n=513), 0),
    ("o[i j] = w[n] a[n i] b[n j] - 2 a[n i] b[n j]", dict(i=6, j=3, n=130), 0),
    ("o[i j] = a[i x y] b[j y x]", dict(i=2, j=5, x=31, y=23), 0),
    ("o[j i] = a[n i] b[n j] - c[i j m] d[m]", dict(i=16, j=12, n=65, m=200), 0),
    ("o[i j k] = a[n i] b[n j] c[n k]", dict(i=6, j=5, k=4, n=97), 0),
    ("o[b] = a[x b y]", dict(b=11, x=17, y=19), 0),
    ("o[e i j] = a[e n i] b[n j]", dict(i=3, j=2, n=140), 5),
    ("o[i e] += a[n i e] b[e n]", dict(i=3, n=99), 4),
)


def plan_of(device_backend, text, sizes, n, how, dtype="float64"):
    batch = "e" if n else ""
    return Contraction(text, sizes, dtype, backend=device_backend, batch=batch, how=how, quick=True)


@pytest.mark.parametrize("text, sizes, n", CASES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("how", ["threads=64", "threads=32 parts=7", "threads=96 parts=2"])
@pytest.mark.quick(how="threads=96 parts=2", dtype="float64", text=[CASES[k][0] for k in (1, 4, 6, 8, 10)])
def test_all_sums_of_a_thread(device_backend, text, sizes, n, dtype, how):
    """Tiles of the output, terms that leave some threads and parts empty, several warps."""
    plan = plan_of(device_backend, text, sizes, n, f"moments {how}", dtype)
    arrays = whole(np.random.default_rng(0), plan, n or 1)
    assert np.array_equal(done(plan, arrays, n or 1), einsum(plan, arrays))


@pytest.mark.parametrize("dtype, near", [("float64", 2), ("float32", 4)])
def test_neighbours_at_once(device_backend, dtype, near):
    """Where arrays begin at 16 bytes, and where they do not."""
    text, sizes = "o[i j] = w[n] a[n i] b[n j]", dict(i=8, j=4, n=301)
    plan = plan_of(device_backend, text, sizes, 0, f"moments threads=64 near={near} parts=3", dtype)
    arrays = whole(np.random.default_rng(1), plan, 1)
    wanted = einsum(plan, arrays)

    assert np.array_equal(done(plan, arrays, 1), wanted)

    assert np.array_equal(done_unaligned(plan, arrays), wanted)


ALONG = (  # text, sizes, entries: neighbours of a sum at once
    ("o[i] = a[i n] w[n]", dict(i=5, n=1204), 0),
    ("o[i j] = a[i n] b[j n]", dict(i=4, j=3, n=516), 0),
    ("o[i j] += 2 a[i x y] b[j x y] w[x] - c[i x] d[j x]", dict(i=3, j=2, x=12, y=20), 0),
    ("o[e i] = a[e i n] w[n] b[e n]", dict(i=3, n=260), 5),
)


@pytest.mark.parametrize("text, sizes, n", ALONG)
@pytest.mark.parametrize("dtype, near", [("float64", 2), ("float32", 4)])
@pytest.mark.parametrize("how", ["threads=64", "threads=32 parts=3"])
def test_neighbours_of_a_sum_at_once(device_backend, text, sizes, n, dtype, near, how):
    """Where arrays begin at 16 bytes, and where they do not; some threads and parts have no terms."""
    plan = plan_of(device_backend, text, sizes, n, f"moments near={near} {how}", dtype)
    arrays = whole(np.random.default_rng(6), plan, n or 1)
    wanted = einsum(plan, arrays)

    assert np.array_equal(done(plan, arrays, n or 1), wanted)
    assert n or np.array_equal(done_unaligned(plan, arrays), wanted)


@pytest.mark.parametrize(
    "text, sizes", [("o[i] = a[i n] w[n]", dict(i=5, n=1203)), ("o[i] = a[n i] w[n]", dict(i=5, n=1204))]
)
def test_terms_that_are_no_neighbours_come_one_by_one(device_backend, text, sizes):
    """A row is no multiple of two; the larger factor lies across."""
    assert plan_of(device_backend, text, sizes, 0, "moments").how.near == 1
    with pytest.raises(ArgumentError, match="near=1"):
        plan_of(device_backend, text, sizes, 0, "moments threads=64 near=2")


@pytest.mark.parametrize("sums", [1, 2, 3, 5, 31, 32, 33, 64])
@pytest.mark.quick(sums=[3, 33])
def test_sums_of_a_warp_come_to_their_places(device_backend, sums):
    """Each lane gives half of its sums away five times: any number of them is left in its place."""
    plan = plan_of(device_backend, "o[i x] = a[n i x]", dict(i=sums, x=2, n=77), 0, "moments threads=64")
    arrays = whole(np.random.default_rng(2), plan, 1)
    assert np.array_equal(done(plan, arrays, 1), einsum(plan, arrays))


def test_entries_whose_parts_have_no_room_go_after_the_others(device_backend, monkeypatch):
    """The same bits, whatever the room and the batch; NaN stays in its entry."""
    plan = plan_of(device_backend, "o[e i] = a[e n i]", dict(i=3, n=400), 7, "moments threads=32 parts=4")
    rng = np.random.default_rng(3)
    arrays = {name: rng.random(plan.shape(name, 7)) for name in "ao"}
    arrays["a"][3, 17, 1] = np.nan
    found = done(plan, arrays, 7)

    assert np.argwhere(np.isnan(found)).tolist() == [[3, 1]]

    monkeypatch.setattr(in_parts, "ROOM", 36)  # three entries
    assert np.array_equal(done(plan, arrays, 7), found, equal_nan=True)

    for n in (1, 5):
        some = {name: a[:n] for name, a in arrays.items()}
        assert np.array_equal(done(plan, some, n), found[:n], equal_nan=True)


CHOSEN = (  # string, its statement, shapes
    ("bi->i", "o[i] = a[b i]", [(300000, 3)]),
    ("bi,b->i", "o[i] = a[b i] w[b]", [(100000, 7), (100000,)]),
    ("ni,nj->ij", "o[i j] = a[n i] b[n j]", [(100000, 5), (100000, 7)]),
    ("ixyz,jxyz->ij", "o[i j] = a[i x y z] b[j x y z]", [(5, 64, 64, 64), (5, 64, 64, 64)]),
    ("n,ni,nj->ij", "o[i j] = w[n] a[n i] b[n j]", [(100000,), (100000, 3), (100000, 3)]),
)


@pytest.mark.parametrize("string, statement, shapes", CHOSEN)
def test_the_model_takes_it_for_few_numbers_with_long_sums(string, statement, shapes):
    """Sums ten times as long, as they were measured: of short ones several organisations are about as fast."""

    def longer(extent: int) -> int:
        if extent > 64:
            return 10 * extent
        return 2 * extent if extent == 64 else extent

    sizes: dict[str, int] = {}
    for part, shape in zip(string.split("->")[0].split(","), shapes):
        sizes.update(zip(part, map(longer, shape)))

    wanted = "columns" if string.startswith("bi") else "moments"  # as fast where rows fit 16 bytes, faster elsewhere
    assert Contraction(statement, sizes, backend=get_backend("cuda", arch="sm_90"), batch="").how.name == wanted


@pytest.mark.parametrize("string, statement, shapes", CHOSEN)
@pytest.mark.quick(string="bi,b->i")
def test_a_call_of_einsum_with_few_numbers_and_long_sums(device_backend, string, statement, shapes):
    rng = np.random.default_rng(4)
    arrays = [rng.integers(-3, 4, shape).astype(float) for shape in shapes]
    held = [device_backend.from_host(a) for a in arrays]
    found = device_backend.to_host(contract(string, *held, backend=device_backend))

    assert np.array_equal(found, np.einsum(string, *arrays, optimize=True))


def test_tiles_load_least(device_backend):
    """A thread has 4 x 8 of 16 x 16 sums in double precision, for which it loads 12 numbers, and 8 x 8 in single."""
    for dtype, extents in (("float64", [4, 8]), ("float32", [8, 8])):
        text, sizes = "o[i j] = a[n i] b[n j]", dict(i=16, j=16, n=5000)
        plan = plan_of(device_backend, text, sizes, 0, "moments threads=256", dtype)
        tile = moments.tile_of(plan.program)

        assert [loop.extent for loop in tile.within] == extents
        assert tile.tiles * tile.size == 256


@pytest.mark.parametrize(
    "how, message", [("threads=48", "multiples of 32"), ("threads=64 near=2", "wanted near=1"), ("parts=2", "missing")]
)
def test_numbers_that_do_not_fit_are_refused(device_backend, how, message):
    with pytest.raises(ArgumentError, match=message):
        plan_of(device_backend, "o[i] = a[n i]", dict(i=3, n=50), 0, f"moments {how}")


def test_outputs_of_many_numbers_are_refused(device_backend):
    with pytest.raises(ArgumentError, match="no organisation 'moments'"):
        plan_of(device_backend, "o[i j] = a[n i] b[n j]", dict(i=40, j=40, n=50), 0, "moments threads=64")


@pytest.mark.parametrize("n, batch", [(10**9, ""), (2 * 10**9, None)])
def test_an_array_beyond_what_kernels_count_keeps_its_batch(n, batch):
    """Without a batch the whole array is one entry, of less than 2^31 numbers."""
    asked, sizes = Asked(None, None, None, (), ()), dict(i=2, n=n)
    (statement,) = read_text("o[i] = a[n i]", None, ()).expression.statements
    assert string_call._batched(asked, statement, ("i",), sizes, get_backend("cuda", arch="sm_90")).batch == batch
