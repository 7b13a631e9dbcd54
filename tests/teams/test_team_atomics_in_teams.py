"""Atomics in teams whose size is open: a CPU takes one member where they are in shared work, several where each member
comes to them; on scratch they need no lock. Results are exact."""

import pathlib

import numpy as np
import pytest
from team_cases import assert_arrays, kernel

from kernels import League, Sizes, get_backend

HEADER = pathlib.Path(__file__).with_name("atomics_in_teams.h")
E, N, BINS, TEAM = 23, 700, 11, 64
INPUT = "v(E,n):whole counts(bins):whole"


def bodies(name, arrays=INPUT, writes="counts", team=f"auto {TEAM}", scratch=None, **more):
    return kernel(name, League("E", team, scratch=scratch), header=HEADER, arrays=arrays, writes=writes, **more)


OWN = {"team 0": "own(bins):whole"}
SHARED = {
    "scratch": bodies("counted_in_scratch", scratch=OWN),
    "level 1": bodies("counted_in_level_1", body="counted_in_scratch", scratch={"team 1": "own(bins):whole"}),
    "beyond a room": bodies(
        "counted_beyond", body="counted_in_scratch", scratch={"team 1": "far(300000):whole own(bins):whole"}
    ),
    "scatter": bodies("counted_by_scatter", arrays="v(E,n):whole counts(bins):whole:scatter"),
    "a declared team": bodies("counted_by_64", body="counted_in_scratch", scratch=OWN, team=TEAM),
    "a team of one": bodies("counted_by_one", body="counted_in_scratch", scratch=OWN, team=1),
}
OPERATIONS = bodies(
    "operations_in_scratch",
    arrays="real(E,4) whole(E,4):whole told(E,5):whole",
    writes="real whole told",
    numbers="n",
    scratch={"team 0": "x(4) k(4):whole"},
)
# (the kernel, what the first number counts for a team of so many members)
EACH = {
    "each_adds": TEAM,
    "lanes_add": 3 * TEAM,
    "adds_if_found": TEAM,
    "parts_add": TEAM // 2,
}
BY_EACH = {body: bodies(body) for body in EACH}
TAKES = bodies("each_takes", arrays="counts(bins):whole", numbers="E", tokens={"pool": "bins"})


def test_atomics_of_a_function_that_is_not_inlined():
    """Each member comes to them, though the probe of the body does not see them."""
    out_of_line = HEADER.with_name("out_of_line.h")
    body = kernel(
        "each_calls", League("3", team=f"auto {TEAM}"), header=out_of_line, arrays="counts(1):whole", writes="counts"
    )
    counts = np.zeros(1, np.int64)
    run = body.bind({"counts": counts}, get_backend("cpu"), quick=True)
    run()

    assert run.members == TEAM
    assert counts[0] == 3 * TEAM


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("where", SHARED)
def test_counts_on_a_cpu(where, threads):
    """Each number once, by threads that share the counts; one member where the size is open."""
    v = np.random.default_rng(threads).integers(0, BINS, (E, N))
    counts = np.zeros(BINS, np.int64)
    run = SHARED[where].bind({"v": v, "counts": counts}, get_backend("cpu", threads=threads), quick=True)

    for _ in range(2):
        run()
    np.testing.assert_array_equal(counts, 2 * np.bincount(v.ravel(), minlength=BINS))
    assert run.members == (TEAM if where == "a declared team" else 1)


@pytest.mark.parametrize("where", ["scratch", "scatter"])
def test_counts(be, where):
    v = np.random.default_rng(3).integers(0, BINS, (E, N))
    arrays = be.placed(v=v, counts=np.zeros(BINS, np.int64))
    SHARED[where].run(arrays, be, quick=True)
    assert_arrays(be, arrays, counts=np.bincount(v.ravel(), minlength=BINS))


def test_operations_in_scratch(be):
    """Against the same in Python; a power of 1.5 and one of 2 are exact."""
    n = 20
    arrays = be.placed(real=np.full((E, 4), np.nan), whole=np.full((E, 4), -1), told=np.full((E, 5), -1))
    OPERATIONS.run(arrays, be, n=n, quick=True)

    modulo = 1
    for _ in range(n):
        modulo = 0 if modulo >= 3 else modulo + 1

    assert_arrays(
        be,
        arrays,
        real=np.tile([1 + 2 * n, 1.5**n, 7, 0.5**n], (E, 1)),
        whole=np.tile([1 + 2 * n, 1, 7, modulo], (E, 1)),
    )
    before = 1 + 2 * n
    assert_arrays(be, arrays, told=np.tile([before, before + 2, before + 2, 5, 9], (E, 1)))


@pytest.mark.parametrize("body", EACH)
def test_what_each_member_does_is_done_by_all(be, body):
    """The same numbers as on a device, though the size is open."""
    arrays = be.placed(counts=np.zeros(BINS, np.int64), v=np.ones((E, N), np.int64))
    run = BY_EACH[body].bind(arrays, be, quick=True)
    run()

    assert be.to_host(arrays["counts"])[0] == E * EACH[body]
    assert run.members == TEAM


def test_an_id_of_each_member():
    counts = np.zeros(BINS, np.int64)
    TAKES.run({"counts": counts}, "cpu", quick=True, E=E)
    assert counts.sum() == E * TEAM


def test_a_team_of_one_that_is_open():
    """`auto 1`: its only member does everything once."""
    counts = np.zeros(BINS, np.int64)
    arrays = {"counts": counts, "v": np.ones((E, N), np.int64)}
    run = BY_EACH["each_adds"].bind(arrays, "cpu", Sizes(team="auto 1"), quick=True)
    run()
    assert counts[0] == E and run.members == 1
