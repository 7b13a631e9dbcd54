"""Bodies of packs that ask for the value before an atomic, or for a unique id: an answer for each index."""

import pathlib

import numpy as np
import pytest
from team_cases import assert_arrays, kernel

from kernels import League, MDRange, Range
from kernels.teams import texts

HEADER = pathlib.Path(__file__).with_name("asked.h")


def asked(name, over, arrays, **more):
    return kernel(name, over, header=HEADER, arrays=arrays, **more)


ONCE = asked(
    "asked_once", Range("n"), "x(n) y(n) count(2):whole last(2):whole taken(n):int32", writes="y count last taken"
)
KEYS = asked(
    "asked_at_keys", Range("n"), "key(n):int32 start(B):whole fill(B):int32 taken(n):int32", writes="fill taken"
)
PAIRS = asked("asked_by_pairs", MDRange("I J"), "taken(n):int32 count(1):whole", writes="taken count", numbers="I J")
TEAMS = {
    team: asked(
        f"asked_in_teams_{str(team).replace(' ', '_')}",
        League("E", team=team, vector=2),
        "x(N) y(N) sum(E) taken(N):int32 second(N):int32 most(1):int32 count(4):whole",
        writes="y sum taken second most count",
        numbers="n",
        body="asked_in_teams",
    )
    for team in (1, 7, "auto 32")
}
IDS = asked(
    "asked_for_ids", Range("n"), "x(n) y(n) held(size):whole", writes="y held", numbers="size", tokens={"pool": "size"}
)


@pytest.mark.parametrize("n", [1, 9, 1013])
def test_each_index_has_an_answer(be, n):
    x = np.arange(n, dtype=float)
    whole = {name: np.zeros(2, int) for name in ("count", "last")}
    arrays = be.placed(x=x, y=np.full(n, np.nan), taken=np.zeros(n, np.int32), **whole)
    ONCE.run(arrays, be, quick=True)
    assert_arrays(be, arrays, taken=np.ones(n), count=[n, 2 * n], y=2 * x)


def test_a_counting_sort(be):
    n, bins = 1013, 7
    key = np.random.default_rng(1).integers(0, bins, n).astype(np.int32)
    count = np.bincount(key, minlength=bins)
    given = dict(fill=np.zeros(bins, np.int32), taken=np.full(n, -1, np.int32))
    arrays = be.placed(key=key, start=np.cumsum(count) - count, **given)
    KEYS.run(arrays, be, quick=True)

    order = be.to_host(arrays["taken"])
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    np.testing.assert_array_equal(key[order], np.sort(key))


def test_several_indices(be):
    arrays = be.placed(taken=np.zeros(50, np.int32), count=np.zeros(1, int))
    PAIRS.run(arrays, be, quick=True, I=20, J=31)
    assert_arrays(be, arrays, count=[50])


@pytest.mark.parametrize("team", TEAMS)
def test_in_teams(be, team):
    E, n = 3, 37
    x = np.arange(E * n, dtype=float)
    given = {name: np.zeros(E * n, np.int32) for name in ("taken", "second")}
    arrays = be.placed(x=x, y=x * 0, sum=np.zeros(E), most=np.zeros(1, np.int32), count=np.zeros(4, int), **given)
    TEAMS[team].run(arrays, be, quick=True, n=n)

    found = {name: be.to_host(array) for name, array in arrays.items()}
    np.testing.assert_array_equal(found["taken"], np.ones(E * n))
    np.testing.assert_array_equal(found["second"], np.ones(E * n))
    np.testing.assert_array_equal(found["count"][:3], [E * n, E * n, E])
    np.testing.assert_array_equal(found["y"], 0.5 * x)
    np.testing.assert_array_equal(found["sum"], x.reshape(E, n).sum(1))


def test_ids(be):
    n, size = 1013, 64
    arrays = be.placed(x=np.ones(n), y=np.zeros(n), held=np.zeros(size, int))
    IDS.run(arrays, be, quick=True, size=size)
    assert be.to_host(arrays["held"]).sum() == n


@pytest.mark.parametrize(
    "text, asks",
    [
        ("atomic_fetch_add(m.k(0), 1)", True),
        ("atomic_add_fetch(m.k(0), 1)", True),
        ("atomic_compare_exchange (m.k(0), 1, 2)", True),
        ("m.pool.acquire()", True),
        ("atomic_add(m.k(0), 1), atomic_load(m.k(0))", False),
        ("each_lane(i, [&](long k) { atomic_fetch_add(m.k(k), 1); });", False),
        ("team.for_each(n, [&](long k) { atomic_exchange(m.k(k), 1); });", False),
        ("team.for_each(n, [&](long k) { team.for_vector(n, [&](auto j) { atomic_exchange(m.k(k), 1); }); });", True),
        ("single_per_team(team, [&] { id = m.pool.acquire(); }); team.for_vector(n, f);", False),
    ],
)
def test_which_bodies_go_lane_by_lane(tmp_path, text, asks):
    header = tmp_path / "body.h"
    header.write_text(text)
    assert texts.asks_in_packs(header, frozenset()) == asks
