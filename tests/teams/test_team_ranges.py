"""Ranges: where they begin and end, chunks, tiles of one to six indices in every order, sizes at the call."""

import dataclasses
import itertools

import numpy as np
import pytest
from team_cases import JOINS, NEAR, assert_arrays, is_stand_in, kernel

from kernels import ArgumentError, MDRange, Range, Sizes, get_backend
from kernels.teams.items import inverse_of
from kernels.teams.layouts import layouts_of
from kernels.teams.words import arrays_of

MET = kernel(
    "met",
    Range("first:behind"),
    header=JOINS,
    arrays="seen(n):whole",
    writes="seen",
    numbers="first behind",
    results="total:whole",
)
NAMES = "I J K L M N"
TILED = {
    (rank, order): kernel(
        f"met_in_{rank}_{order.replace(' ', '_')}",
        MDRange(
            " ".join([f"1:{name}-1" if name == "J" else name for name in NAMES.split()[:rank]]),
            tile=None if rank != 3 else (2, 3, 8),
            order=order,
        ),
        header=JOINS,
        body="met_in_tiles",
        arrays=f"seen({','.join(NAMES.split()[:rank])}):whole",
        writes="seen",
    )
    for rank, order in [(r, o) for r in (1, 2, 4, 6) for o in ("right", "left")]
    + [(3, "left right"), (3, "right left")]
}


@pytest.mark.parametrize("chunk", [1, 3])
def test_a_range_from_first_to_below_behind(be, chunk):
    """Every index once, none outside; of none the sum is 0."""
    n = 5000
    for first, behind in ((0, n), (1, n - 1), (17, 18), (4090, 4099), (9, 9)):
        arrays = be.placed(seen=np.zeros(n, np.int64))
        run = MET.bind(arrays, be, Sizes(chunk=chunk), quick=True, first=first, behind=behind)
        run()

        wanted = np.zeros(n)
        wanted[first:behind] = 1
        assert_arrays(be, arrays, seen=wanted)
        assert run.value("total") == sum(range(first, behind))


BELOW_ZERO = kernel(
    "below_zero",
    Range("-halo:n+halo"),
    header=JOINS,
    arrays="u(n+2*halo)",
    writes="u",
    numbers="n halo",
    results="sum:whole",
)
BELOW_ZERO_IN_TILES = kernel(
    "below_zero_in_tiles", MDRange("-3:I -(2):J"), header=JOINS, arrays="u(I+3,J+2)", writes="u", numbers="I J"
)


def test_indices_below_zero(be):
    """A field with a halo whose first inner point has index 0."""
    n, halo = 1000, 3
    arrays = be.placed(u=np.full(n + 2 * halo, np.nan))
    run = BELOW_ZERO.bind(arrays, be, quick=True, n=n, halo=halo)
    run()

    wanted = np.arange(-halo, n + halo)
    assert_arrays(be, arrays, u=wanted)
    assert run.value("sum") == wanted.sum()

    arrays = be.placed(u=np.full((8, 42), np.nan))
    BELOW_ZERO_IN_TILES.bind(arrays, be, quick=True, I=5, J=40)()

    wanted = np.add.outer(100.0 * np.arange(-3, 5), np.arange(-2, 40))
    assert_arrays(be, arrays, u=wanted)


@pytest.mark.parametrize("rank, order", TILED)
@pytest.mark.quick(rank=[3, 6])
def test_tiles_of_every_rank(be, rank, order):
    """Each tuple of indices once, and none outside; the second index leaves out its ends."""
    extents = (5, 7, 9, 3, 4, 11)[:rank]
    arrays = be.placed(seen=np.zeros(extents, np.int64))
    TILED[rank, order].run(arrays, be, quick=True)

    wanted = np.ones(extents)
    if rank > 1:
        wanted[:, [0, -1]] = 0
    assert_arrays(be, arrays, seen=wanted)


# More than 512 tiles, which a CPU replaces by others
MANY = {1: (300007,), 2: (311, 1003), 3: (37, 101, 83), 4: (11, 13, 37, 61), 6: (5, 6, 7, 11, 12, 13)}


@pytest.mark.parametrize("rank, order", [key for key in TILED if key[1] != "right"] + [(2, "right")])
@pytest.mark.quick(rank=[2, 3])
def test_many_tiles_on_a_cpu(rank, order):
    """Each tuple of indices once for the model's tile, a wide and a high one."""
    tiles = {2: [(1, 32), (16, 4), (256, 1)], 3: [(2, 3, 8), (1, 1, 1), (16, 16, 4)]}
    wanted = np.ones(MANY[rank])
    if rank > 1:
        wanted[:, [0, -1]] = 0

    for tile in (None, *tiles.get(rank, [])):
        seen = np.zeros(MANY[rank], np.int64)
        TILED[rank, order].run({"seen": seen}, get_backend("cpu", threads=2), Sizes(tile=tile), quick=True)
        np.testing.assert_array_equal(seen, wanted)


def tiles_over(arrays, extents="I J", order=None, tile=None):
    """Tiles of a declaration."""
    return MDRange(extents, tile, order).items("a test", tuple(arrays_of("a test", arrays)))


def test_orders_of_tiles_follow_the_arrays():
    """The tiles' order follows the arrays unless it is declared by a word of its own; the order in a tile is declared,
    or the arrays'. A written array counts twice."""
    right, left = (1, 0), (0, 1)
    for arrays, order, outer, inner in (
        ("A(I,J)", None, right, right),
        ("A(I,J):left", None, left, left),
        ("A(J,I)", None, left, left),
        ("A(J,I):left", None, right, right),
        ("A(I,J)", "left", right, left),
        ("A(I,J):left", "right", left, right),
        ("A(I,J):left", "right left", right, left),
        ("A(I,J):left", "left right", left, right),
        ("", None, right, right),
        ("", "left", left, left),
        ("v(J) A(I,J,3):left", None, left, left),
        ("A(I,J) B(I,J):left C(I,J):left", None, left, left),
    ):
        tiles = tiles_over(arrays, order=order, tile=(8, 8))
        assert (tiles.outer, tiles.inner) == (outer, inner), (arrays, order)

    assert tiles_over("A(N,N):left", "1:N-1 N", tile=(8, 8)).inner == left
    assert tiles_over("A(K,I,J)", "I J K", tile=(2, 2, 2)).inner == (1, 0, 2)
    written = dataclasses.replace(arrays_of("a test", "B(J,I)")[0], written=True)
    assert layouts_of(("I", "J"), (*arrays_of("a test", "A(I,J)"), written)).order == left


def test_orders_of_tiles_on_a_cpu_follow_what_its_caches_keep():
    """A streamed array goes past them, and does not count beside others; on a device it does."""
    right, left = (1, 0), (0, 1)
    for arrays, cpu, device in (
        ("A(I,J):stream B(I,J):left", left, right),
        ("A(I,J):left:stream B(I,J)", right, left),
        ("A(I,J):left:stream", left, left),
        ("A(I,J) B(I,J):left", right, right),
    ):
        tiles = tiles_over(arrays)
        assert (tiles.outer_of_a_cpu, tiles.outer) == (cpu, device), arrays
    assert tiles_over("A(I,J):stream B(I,J):left", order="right left").outer_of_a_cpu == right


def test_an_index_with_one_place_in_a_tile_is_no_loop():
    """Tiles of one row have the row's index as the fastest, whatever the order says."""
    assert tiles_over("A(I,J)", order="left", tile=(1, 32)).inner == (1, 0)
    assert tiles_over("A(I,J,K)", "I J K", tile=(4, 1, 1)).inner == (0, 2, 1)


def test_tiles_have_no_more_rows_than_a_core_follows():
    """Rows of all arrays of a kernel, eight of them; tiles along the arrays are longer where they have few rows. Tiles
    across them have a row for each lane of a pack, and go along each."""
    for many in (1, 2, 3, 5, 9, 40):
        layouts = tiles_over(" ".join([f"a{k}(I,J)" for k in range(many)])).layouts
        along, across = layouts.fit((1, 0)), layouts.fit((0, 1))
        assert 1 <= along.least <= along.most <= max(8 // many, 1) and along.run * along.most >= 128
        assert across.run <= max(16 // many, 8) and across.run % 8 == 0 and across.least >= 64


def test_a_tile_of_the_call(be):
    for tile in ((1, 32), (16, 4), None):
        arrays = be.placed(seen=np.zeros((20, 50), np.int64))
        TILED[2, "right"].run(arrays, be, Sizes(tile=tile), quick=True)
        assert be.to_host(arrays["seen"])[:, 1:-1].min() == 1 == be.to_host(arrays["seen"]).max()
    with pytest.raises(ArgumentError, match=r"tile .8,. for 2 extents"):
        TILED[2, "right"].bind({"seen": np.zeros((3, 3), np.int64)}, "cpu", Sizes(tile=(8,)))


EXTENTS = [list(extents) for extents in itertools.product((1, 5, 40, 300, 1000), repeat=3)]


@pytest.mark.parametrize("layout, order", [("", (2, 1, 0)), (":left", (0, 1, 2))])
def test_threads_of_a_device_are_neighbours_in_memory(layout, order):
    """Without a tile, where arrays lie alike. No declared order changes that."""
    for declared in (None, "left", "right", "left right"):
        indices = tiles_over(f"A(I,J,K){layout}", "I J K", declared).sized([7, 300, 5], True, int)
        assert indices.tile == () and indices.outer == order and indices.number([7, 300, 5]) == 10500
    assert tiles_over("seen(X)", "I J", "left").sized([3, 4], True, int).outer == (0, 1)
    assert tiles_over(f"A(I,J,K){layout}", "I J K", tile=(1, 8, 8)).sized([7, 300, 5], True, int).tile == (1, 8, 8)


@pytest.mark.parametrize(
    "layout, sizes, order", [("", "I,J,K,V", (2, 1, 0)), (":left", "V,I,J,K", (0, 1, 2))], ids=["right", "left"]
)
def test_blocks_of_a_device_lie_along_the_arrays(layout, sizes, order):
    """Where arrays have rows of their own. Threads are neighbours in memory: rows of a block are whole ones, with up
    to 7 threads more, or parts of whole warps. At most a quarter of the threads is beyond the range. No declared order
    changes that."""
    for extents in EXTENTS:
        tiles = tiles_over(f"A({sizes}){layout}", "I J K")
        tile = tiles.sized(extents, True, int).tile
        assert tile == tiles_over(f"A({sizes}){layout}", "I J K", "left").sized(extents, True, int).tile
        assert min(128, np.prod(extents)) <= np.prod(tile) <= 256

        longest = next((d for d in order if extents[d] > 1), order[0])
        assert tile[longest] == extents[longest] <= 32 or tile[longest] % 8 == 0
        padded = np.prod([-(-n // size) * size for n, size in zip(extents, tile)])
        assert padded <= 4 / 3 * np.prod(extents)


def test_blocks_with_few_threads_beyond_a_row():
    """300 and 330 indices: 256 of them a block would leave 212 and 182 threads without work."""
    for extent, wanted in (
        (37, (6, 40)),
        (18, (14, 18)),
        (256, (1, 256)),
        (300, (1, 160)),
        (330, (8, 32)),
        (7770, (1, 256)),
        (8000, (1, 256)),
        (40, (6, 40)),
    ):
        assert tiles_over("A(I,J,V)").sized([6000, extent], True, int).tile == wanted


def test_blocks_of_several_tiles():
    """On a device where threads follow memory: a warp has 32 neighbours, a block 256 threads, if there are so many.
    Not across memory, nor on a CPU."""
    for arrays, order, tile, extents, wanted in (
        ("A(I,J)", "right", (8, 8), [4000, 7770], (8, 32)),
        ("A(I,J)", "right", (16, 4), [4000, 7770], (16, 32)),
        ("A(I,J)", "right", (1, 32), [4000, 7770], (1, 256)),
        ("A(I,J)", "right", (64, 4), [4000, 7770], (64, 8)),
        ("A(I,J)", "right", (32, 32), [4000, 7770], (32, 32)),
        ("A(I,J)", "right", (8, 8), [4000, 17], (8, 24)),
        ("A(I,J)", "left", (8, 8), [4000, 7770], (8, 8)),
        ("A(I,J):left", "left", (8, 8), [4000, 7770], (32, 8)),
        ("A(I,J,V)", "right", (8, 1), [4000, 7770], (8, 32)),
        ("A(I,J) B(J,I)", "right", (8, 8), [4000, 7770], (8, 8)),
        ("x(V)", "right", (8, 8), [4000, 7770], (8, 8)),
    ):
        declared = tiles_over(arrays, "I J", order, tile)
        assert declared.sized(extents, True, int).block == wanted
        assert declared.sized(extents, True, int).tile == tile
        assert declared.sized(extents, False, lambda _: 3).block == tile


SIDES = [
    kernel(
        f"met_beside_{a}x{b}",
        MDRange("I 1:J-1", tile=(a, b)),
        header=JOINS,
        body="met_beside",
        arrays="seen(I,J):whole",
        writes="seen",
        results="sum:whole",
    )
    for a, b in ((1, 1), (3, 5), (8, 8), (16, 4), (1, 32))
]


@pytest.mark.parametrize("tiled", SIDES, ids=lambda tiled: tiled.name)
@pytest.mark.quick(tiled=[SIDES[1], SIDES[2]])
def test_each_index_of_several_tiles_once(be, tiled):
    for shape in ((1, 3), (7, 12), (9, 100), (40, 301)):
        arrays = be.placed(seen=np.zeros(shape, np.int64))
        got = tiled.run(arrays, be, quick=True)

        seen = np.array(be.to_host(arrays["seen"]))
        assert seen[:, 1:-1].min() == 1 == seen.max() and not seen[:, [0, -1]].any()
        assert got["sum"] == shape[0] * (shape[1] - 2) * (shape[1] - 1) // 2


EMPTY = kernel(
    "met_nowhere", MDRange("I J"), header=JOINS, body="met_in_tiles", arrays="seen(I,J):whole", writes="seen"
)


@pytest.mark.parametrize("extents", [(0, 0), (0, 50), (5, 0)])
def test_ranges_without_indices(be, extents):
    """A block has a thread at least, and nothing is called."""
    run = EMPTY.bind(be.placed(seen=np.zeros(extents, np.int64)), be, quick=True)
    run()
    assert min(run.tile, default=1) >= 1


def test_tiles_of_arrays_across_each_other_have_lines_of_both():
    """As many indices along the fastest one of each, if there are."""
    for extents in EXTENTS:
        for in_blocks, sides in ((True, (32, 8)), (False, (32, 32))):
            tiles = tiles_over("A(I,J,K) B(I,J,K):left", "I J K").sized(extents, in_blocks, int)
            first, _, last = tiles.tile
            assert first >= min(sides[0], extents[0]) and last >= min(sides[1], extents[2])
            assert np.prod(tiles.tile) <= np.prod(sides)
    assert tiles_over("A(I,J,K) B(J,K,I) C(K,I,J)", "I J K").sized([100] * 3, True, int).tile == (4, 4, 16)


def test_rows_that_read_the_same_share_a_block():
    """On a device, beside an array that comes from memory; as many rows as there are, and as a block has threads."""
    field = "A(E,Q,V):left B(E,V):left result(E,Q):left"
    for extents, tile in (([40000, 16], (64, 16)), ([40000, 3], (64, 4)), ([40000, 1], (256, 1)), ([5, 100], (8, 128))):
        assert tiles_over(field, "E Q").sized(extents, True, int).tile == tile
    for alone in ("A(E,Q,V):left B(V) result(E,Q):left", "A(E,Q,V):left B(E):left result(E,Q):left"):
        assert tiles_over(alone, "E Q").sized([40000, 16], True, int).tile == (256, 1)
    product = tiles_over("A(I,K) B(K,J) C(I,J)", "I J").sized([2048, 2048], True, int)
    assert not product.tile  # nothing but C has both indices


# ---- packs and lines of memory
def placed(shape, offset, order="C"):
    """An array of NaN that begins `offset` numbers behind a line of memory."""
    room = np.full(int(np.prod(shape)) + 16, np.nan)
    first = -room.ctypes.data // 8 % 8 + offset
    array = room[first : first + int(np.prod(shape))]
    return array.reshape(shape) if order == "C" else array.reshape(shape[::-1]).T


ALL_ONCE = {
    "range": kernel("once", Range("n-3:n"), header=JOINS, body="once", arrays="seen(n)", writes="seen"),
    "from 5": kernel("once_from_5", Range("5:n"), header=JOINS, body="once", arrays="seen(n)", writes="seen"),
    "tiles": kernel("once_in_tiles", MDRange("I 2:J"), header=JOINS, body="once", arrays="seen(I,J)", writes="seen"),
    "left": kernel(
        "once_left", MDRange("1:I J K"), header=JOINS, body="once", arrays="seen(I,J,K):left", writes="seen"
    ),
}


@pytest.mark.parametrize("offset", [0, 1, 3, 7])
@pytest.mark.parametrize("threads", [1, 3])
def test_each_index_once_wherever_an_array_begins(offset, threads):
    """Packs begin at lines of memory. Rows of 8 n numbers lie alike, other rows do not."""
    backend = get_backend("cpu", threads=threads)
    for n in (5, 8, 21, 10007):
        for name, first in (("range", n - 3), ("from 5", 5)):
            seen = placed((n,), offset)
            seen[...] = 0
            ALL_ONCE[name].run({"seen": seen}, backend, quick=True)
            np.testing.assert_array_equal(seen, np.arange(n) >= first)

    for shape in ((3, 2), (40, 24), (7, 4104), (600, 333)):
        seen = placed(shape, offset)
        seen[...] = 0
        ALL_ONCE["tiles"].run({"seen": seen}, backend, quick=True)
        np.testing.assert_array_equal(seen, np.broadcast_to(np.arange(shape[1]) >= 2, shape))

    for shape in ((1, 4, 5), (24, 3, 7), (4104, 3, 2), (128, 40, 50)):
        seen = placed(shape, offset, "F")
        seen[...] = 0
        ALL_ONCE["left"].run({"seen": seen}, backend, quick=True)
        np.testing.assert_array_equal(seen, np.broadcast_to((np.arange(shape[0]) >= 1)[:, None, None], shape))


PACKS = {
    name: kernel(f"packs_{name}", Range("n"), header=JOINS, body=f"packs_{name}", arrays="at(n)", writes="at", **more)
    for name, more in (("open", {}), ("summed", {"results": "count"}))
}


@pytest.mark.parametrize("offset", range(8))
def test_packs_begin_at_lines_of_memory(offset):
    """But for those of a kernel with sums, which have the same bits wherever arrays lie."""
    n, backend = 100, get_backend("cpu", threads=1)
    for name, kernel_ in PACKS.items():
        at = placed((n,), offset)
        kernel_.run({"at": at}, backend, quick=True)

        starts, counts = np.unique(at, return_counts=True)
        lanes = counts.max()
        ahead = offset % lanes if name == "open" else 0
        np.testing.assert_array_equal(starts[1:], np.arange(lanes - ahead, n, lanes))


@pytest.mark.parametrize(
    "arrays, sizes, fastest",
    [
        ("A(I,J,V) out(I,J)", dict(I=100, J=16, V=64), "I"),
        ("A(V,J,I):left out(J,I):left", dict(I=100, J=16, V=64), "I"),
        ("A(I,V,J)", dict(I=100, J=16, V=64), "J"),  # the row is behind the nearest index
        ("A(I,J,V)", dict(I=100, J=16, V=3), "J"),  # a line has several neighbours
        ("A(I,J,V)", dict(I=100, J=2, V=64), "J"),  # too short to follow
        ("A(I,J,V)", dict(I=9, J=16, V=64), "J"),  # few indices for lanes
        ("A(J,I,3,V)", dict(I=16, J=100, V=32), "J"),
    ],
)
def test_lanes_of_a_cpu_follow_long_rows(arrays, sizes, fastest):
    """Neighbours that are a long row apart go along the farthest index; not on a device, nor if the order of memory is
    declared."""
    size_of = {**sizes, "3": 3}.__getitem__
    extents = [sizes["I"], sizes["J"]]
    tiles = tiles_over(arrays)
    chosen = tiles.sized(extents, False, size_of)
    assert chosen.extents[chosen.inner[0]] == fastest
    assert chosen.is_sized and chosen.sized([1, 1], False, size_of) is chosen
    assert 1 <= np.prod(chosen.tile) <= 1024
    assert not tiles.sized(extents, True, size_of).across
    memory = "right" if tiles.layouts.order == (1, 0) else "left"
    assert not tiles_over(arrays, order=memory).sized(extents, False, size_of).across


@pytest.mark.parametrize(
    "arrays, extents, order, inner",
    [
        ("A(I,J) B(I,J)", "I J", "left", (1, 0)),
        ("A(I,J):left B(I,J,3):left", "I J", "right", (0, 1)),
        ("A(I,J) B(I,J)", "1:I 2:J-1", "right left", (1, 0)),
        ("A(I,J) B(I,J):left", "I J", "left", (0, 1)),  # arrays lie across each other
        ("A(n,n)", "n n", "left", (0, 1)),  # a body may take either index first
        ("x(I) y(J)", "I J", "left", (0, 1)),
    ],
)
def test_lanes_of_a_cpu_follow_memory_whatever_order_is_declared(arrays, extents, order, inner):
    """Arrays all lie alike, and names say along which index. A device's threads lie as declared."""
    tiles = tiles_over(arrays, extents, order, tile=(8, 8))
    assert tiles.sized([100, 100], False, lambda _: 3).inner == inner
    assert tiles.sized([100, 100], True, int).inner == tiles.inner


def test_tiles_of_a_cpu_in_columns_are_narrow():
    """Where an array has long extents behind all indices, a body that goes along them uses again what the others have:
    few indices along memory, many of the others. Not where these extents are short, nor on a device."""
    for arrays, has_columns in (
        ("A(I,J,V):left", True),
        ("A(V,J,I)", True),
        ("A(I,J,W):left", False),
        ("A(W,V,J,I)", True),
        ("A(V,I,J):left", False),
        ("A(I,J):left B(I,V):left", False),
    ):
        tiles = tiles_over(arrays).sized([1000, 16], False, {"V": 64, "W": 3, "I": 1000, "J": 16}.__getitem__)
        assert tiles.has_columns == has_columns, arrays
        assert (tiles.layouts.fit(tiles.inner, tiles.has_columns).least == 64) == has_columns
    assert not tiles_over("A(I,J,V):left").sized([1000, 16], True, lambda _: 64).has_columns


def test_columns_of_which_a_cpu_asks_for_the_next_lines():
    """Where lanes are neighbours in an array, and a body goes along many extents behind the index."""
    for arrays, names in (
        ("A(I,V):left x(V)", ("A",)),
        ("A(V,I)", ("A",)),
        ("A(I,64):left B(I,3):left C(I,2,16):left", ("A", "C")),
        ("A(I,V) B(I):left", ()),
        ("A(W,I,V):left", ("A",)),  # a part of it, perhaps
    ):
        assert layouts_of(("I",), tuple(arrays_of("a test", arrays))).in_columns(0) == names, arrays


def test_rows_of_lanes_of_which_a_cpu_asks_for_lines():
    """Where each lane goes along a long row of its own: of the farthest index."""
    for arrays, names in (
        ("A(I,V) x(V)", ("A",)),
        ("A(V,I):left", ("A",)),
        ("A(I,64) B(I,3) C(I,2,16)", ("A", "C")),
        ("A(I,V):left B(I)", ()),
    ):
        assert layouts_of(("I",), tuple(arrays_of("a test", arrays))).in_rows(0) == names, arrays
    of_pairs = layouts_of(("I", "J"), tuple(arrays_of("a test", "A(I,J,V) B(J,I,V)")))
    assert (of_pairs.in_rows(0), of_pairs.in_rows(1)) == (("A",), ("B",))


def test_arrays_of_which_a_cpu_asks_for_the_next_rows():
    """Arrays that lie across each other, and have only the indices of the tiles."""
    for arrays, names in (
        ("A(I,J) B(I,J):left", ["rows_of<Order<1, 0>>(m.A)", "rows_of<Order<0, 1>>(m.B)"]),
        ("A(I,J) B(I,J)", []),
        ("A(I,J) B(J,I,3) C(J,I)", ["rows_of<Order<1, 0>>(m.A)", "rows_of<Order<0, 1>>(m.C)"]),
        ("A(I,J) B(J,I):scatter", ["rows_of<Order<1, 0>>(m.A)"]),
        ("A(I,J) x(I)", []),
    ):
        assert tiles_over(arrays).ahead_of(False) == names, arrays


ACROSS = {
    rank: kernel(
        f"across_{rank}",
        MDRange(" ".join(f"{name}-{name}//9:{name}" for name in NAMES.split()[:rank])),
        header=JOINS,
        body="across",
        arrays=f"from({','.join(NAMES.split()[:rank])}):whole to({','.join(NAMES.split()[:rank])}):whole:left",
        writes="to",
    )
    for rank in (2, 3)
}


@pytest.mark.parametrize("rank", ACROSS)
@pytest.mark.parametrize("threads", [1, 3])
def test_many_tiles_of_arrays_across_each_other(rank, threads):
    """Tiles that ask for the rows of the next one: extents that no tile divides, and first indices other than 0."""
    for extents in ((311, 1003), (1003, 70)) if rank == 2 else ((37, 101, 83), (5, 6, 3001)):
        numbers = np.arange(np.prod(extents)).reshape(extents)
        arrays = {"from": numbers, "to": np.full(extents, -1, order="F")}
        ACROSS[rank].run(arrays, get_backend("cpu", threads=threads), quick=True)

        wanted = np.full(extents, -1)
        inside = tuple(slice(n - n // 9, n) for n in extents)
        wanted[inside] = numbers[inside]
        np.testing.assert_array_equal(arrays["to"], wanted)


ROWS_OF_PAIRS = {
    mark: kernel(
        f"rows_of_pairs{mark.replace(':', '_')}",
        MDRange("I J"),
        header=JOINS,
        body="rows_of_pairs",
        arrays=f"A(I,J,V){mark} out(I,J){mark}",
        writes="out",
        results="sum",
    )
    for mark in ("", ":left")
}


@pytest.mark.parametrize("mark", ROWS_OF_PAIRS)
@pytest.mark.parametrize("shape", [(67, 5, 64), (1000, 7, 37), (70, 1, 300), (64, 300, 32), (5000, 9, 33)])
def test_rows_of_pairs(be, mark, shape):
    """Sums of rows, in few tiles and in many; whole numbers, so that they are exact."""
    order = "F" if mark else "C"
    A = np.random.default_rng(1).integers(-9, 9, shape).astype(float, order)
    arrays = be.placed(A=A, out=np.full(shape[:2], np.nan, order=order))
    assert ROWS_OF_PAIRS[mark].run(arrays, be, quick=True) == {"sum": A.sum()}
    out = be.to_host(arrays["out"].T).T if mark else be.to_host(arrays["out"])
    np.testing.assert_array_equal(out, A.sum(2))


def test_tiles_of_a_cpu_have_long_rows():
    for extents in EXTENTS:
        for mark, fastest in (("", 2), (":left", 0)):
            tile = tiles_over(f"A(I,J,K){mark}", "I J K").sized(extents, False, int).tile
            assert tile[fastest] >= min(256, extents[fastest]) and np.prod(tile) <= 1024


def test_what_a_kernel_says_of_its_tile(be):
    """The reason names the arrays."""
    arrays = be.placed(seen=np.zeros((20, 50), np.int64))
    run = TILED[2, "right"].bind(arrays, be, quick=True)

    said = (
        "no tiles, fastest index 1:J-1" if be.entry.in_blocks else f"tile {run.tile}, fastest index 1:J-1: order right"
    )
    assert run.why.startswith(said) and run.why.endswith("seen along 1:J-1")
    assert MET.bind(be.placed(seen=np.zeros(5, np.int64)), be, quick=True, first=0, behind=1).why == ""


def test_scratch_of_the_call(be):
    """The declared scratch may be another one at the call."""
    v = np.arange(40.0)
    arrays = be.placed(v=v, out=np.zeros(40))
    NEAR["with"].run(arrays, be, Sizes(scratch={"team 1": "s(2*n)"}), quick=True)

    assert_arrays(be, arrays, out=np.roll(v, -1))
    with pytest.raises(ArgumentError, match="scratch is for leagues"):
        MET.organised(Sizes(scratch={"team 0": "s(3)"}))


COUNTED = kernel("counted", Range("n"), header=JOINS, results="count:whole last:max:whole", numbers="n")


@pytest.mark.full
def test_more_indices_than_32_bits_count(be):
    """Beyond 2^31, each once; on the stand-in, which is slow, a few."""
    n = 1000 if is_stand_in(be) else 2**31 + 12345
    assert COUNTED.run({}, be, n=n, quick=is_stand_in(be)) == {"count": n, "last": n - 1}


def test_divisions_by_multiplication():
    """As a device divides, beside whole numbers; the largest numbers below 2^31, too."""
    rng = np.random.default_rng(4)
    divisors = [1, 2, 3, 7, 641, 2**16 - 1, 2**16, 2**30 + 1, 2**31 - 1, *rng.integers(1, 2**31, 200).tolist()]
    for divisor in divisors:
        inverse = inverse_of(divisor)
        multiples = [k * divisor + off for k in (1, 2, (2**31 - 1) // divisor) for off in (-1, 0)]
        for n in [0, 1, 2**31 - 1, *multiples, *rng.integers(0, 2**31, 50).tolist()]:
            if n < 2**31:
                assert (n + (n * (inverse & 0xFFFFFFFF) >> 32)) >> (inverse >> 32) == n // divisor
