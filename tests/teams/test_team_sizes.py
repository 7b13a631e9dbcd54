"""Sizes: whole numbers are exact for any number of members, lanes and indices; beyond 2^31 indices once, on a GPU."""

import pytest
from team_cases import JOINS, kernel

from kernels import get_backend

COUNTED = kernel("counted_int32", header=JOINS, body="counted_whole", arrays="w(n):int32", sums="sum:whole", range="n")
SCANNED = kernel(
    "scanned_int32",
    header=JOINS,
    body="scanned_whole",
    arrays="w(n):int32 before(n):whole",
    writes="before",
    sums="total:whole",
    scan="n",
)
LEAGUE = kernel(
    "league_int32",
    header=JOINS,
    body="league_whole",
    arrays="w(n):int32",
    sums="sum:whole",
    numbers="share",
    league="(n + share - 1) // share",
    team="auto 256",
)


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
