"""Sizes: whole numbers are exact for any number of members, lanes and indices; beyond 2^31 indices once, on a GPU."""

import numpy as np
import pytest
from team_cases import JOINS, assert_arrays, kernel

from kernels import League, Range, Scan, Sizes, get_backend

COUNTED = kernel(
    "counted_int32", Range("n"), header=JOINS, body="counted_whole", arrays="w(n):int32", results="sum:whole"
)
SCANNED = kernel(
    "scanned_int32",
    Scan("n"),
    header=JOINS,
    body="scanned_whole",
    arrays="w(n):int32 before(n):whole",
    writes="before",
    results="total:whole",
)
LEAGUE = kernel(
    "league_int32",
    League("(n + share - 1) // share", team="auto 256"),
    header=JOINS,
    body="league_whole",
    arrays="w(n):int32",
    results="sum:whole",
    numbers="share",
)


WHOLE_LEVELS = kernel(
    "whole_levels",
    League("E", team=4),
    header=JOINS,
    arrays="w(E,n):whole before(E,n):whole with(E,n):whole out(E,5):whole",
    writes="before with out",
    results="sum:whole count:whole most:max:whole bits:bitxor",
)
# Members and lanes: each number of lanes, members from 1 to 1024 that fill warps and that do not.
SHAPES = [
    *((1, 1), (2, 1), (3, 2), (5, 4), (7, 8), (1, 16), (31, 32), (32, 32), (33, 16), (61, 2), (64, 8), (100, 4)),
    *((127, 1), (128, 8), (251, 4), (256, 2), (509, 2), (512, 1), (1000, 1), (1023, 1), (1024, 1)),
    *((13, 1), (13, 32), (2, 32), (5, 32), (64, 1), (100, 8), (512, 2)),
]
SIZES = [(0, 3), (1, 0), (1, 1), (5, 2), (3, 31), (2, 37), (3, 1009)]  # teams, indices: none, one, primes


@pytest.mark.parametrize("team, vector", SHAPES)
@pytest.mark.quick(team=[1, 31, 61, 1023])
def test_whole_numbers_at_every_level(be, team, vector):
    """Random numbers of 40 bits: reduce and scan over members, over members and lanes, over lanes; league results."""
    for E, n in SIZES:
        w = np.random.default_rng(1000 * team + n).integers(-(2**40), 2**40, (E, n))
        arrays = be.placed(w=w, before=np.zeros_like(w), out=np.full((E, 5), -7), **{"with": np.zeros_like(w)})
        run = WHOLE_LEVELS.bind(arrays, be, Sizes(team, vector), quick=True)
        run()

        each = w.sum(1)
        assert run.members == team
        assert (run.value("sum"), run.value("count")) == (each.sum(), E * team), (E, n)
        assert run.value("most") == each.max(initial=np.iinfo(np.int64).min)
        assert run.value("bits") == np.bitwise_xor.reduce(each)
        np.testing.assert_array_equal(be.to_host(arrays["with"]), np.cumsum(w, 1))
        assert_arrays(be, arrays, before=np.cumsum(w, 1) - w, out=np.repeat(each[:, None], 5, 1))


INDICES = [0, 1, 2, 31, 127, 1009, 65537]


@pytest.mark.parametrize("n", INDICES)
@pytest.mark.quick(n=[0, 1009])
def test_whole_numbers_of_a_range(be, n):
    """Sums of a range, of teams and of a scan, of numbers of 4 bytes."""
    w = np.random.default_rng(n).integers(-(2**31), 2**31, n).astype(np.int32)
    total = int(w.sum(dtype=np.int64))
    arrays = be.placed(w=w, before=np.zeros(n, np.int64))
    assert COUNTED.run({"w": arrays["w"]}, be, quick=True) == {"sum": total}
    assert LEAGUE.run({"w": arrays["w"]}, be, quick=True, share=100) == {"sum": total}
    assert SCANNED.run(arrays, be, quick=True) == {"total": total}
    assert_arrays(be, arrays, before=np.cumsum(w, dtype=np.int64) - w)


@pytest.mark.gpu
def test_beyond_two_to_the_31():
    """2^31 + 11 indices of a range, of a scan and of teams: sums in closed form, prefixes at both ends and between."""
    be = get_backend("cuda")
    xp, n = be.arrays, 2**31 + 11
    w = xp.empty(n, xp.int32)
    w.fill(3)
    w[::7] = 5
    wanted = 3 * n + 2 * (-(-n // 7))

    assert COUNTED.run({"w": w}, be) == {"sum": wanted}
    assert LEAGUE.run({"w": w}, be, share=2**20) == {"sum": wanted}

    before = xp.empty(n, xp.int64)
    assert SCANNED.run({"w": w, "before": before}, be) == {"total": wanted}
    for i in (0, 1, 12345, 2**31 - 1, 2**31, 2**31 + 1, n - 1):
        assert int(before[i]) == 3 * i + 2 * (-(-i // 7)), i
    step = 2**27
    for first in range(0, n - 1, step):  # each prefix is the one before with its number
        behind = min(first + step, n - 1)
        assert bool((before[first + 1 : behind + 1] - before[first:behind] == w[first:behind]).all())
