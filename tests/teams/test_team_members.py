"""A team has the declared number of members on every backend, and a CPU takes one only where the body cannot tell."""

import numpy as np
import pytest
from team_cases import ASTRAY, JOINS, kernel, on

from kernels import BackendError, get_backend

MEMBERS = {
    team: kernel(
        f"members_{team}",
        header=JOINS,
        body="members",
        arrays=f"rank(E,{team}):whole kept(E,{team}):whole told(E,{team}):whole counted(E,{team})",
        writes="rank kept told counted",
        sums="total:whole",
        league="E",
        team=team,
    )
    for team in (1, 7, 64)
}
ATTEMPTS = {
    body: kernel(
        body, header=JOINS, arrays="y(N) A(N,M) x(M) result(1)", writes="result", league="N", team=33 if last else 8
    )
    for body, last in (("attempt_1", True), ("attempt_2", False))
}
LARGE = kernel("large_team", header=JOINS, body="cannot_tell", arrays="v(E,n)", sums="total", league="E", team=1024)


@pytest.mark.parametrize("team", MEMBERS)
def test_a_team_has_its_members(be, team):
    """Ranks, a value kept by each member from loop to loop, one that all are told, sums that each member adds."""
    E = 5
    whole = {name: np.full((E, team), -1) for name in ("rank", "kept", "told")}
    arrays = on(be, **whole, counted=np.zeros((E, team)))
    run = MEMBERS[team].bind(arrays, be, quick=True)
    run()
    got = {name: np.array(be.to_host(a)) for name, a in arrays.items()}

    members = np.arange(team)
    np.testing.assert_array_equal(got["rank"], np.tile(members + 100 * team, (E, 1)))
    np.testing.assert_array_equal(got["kept"], 1000 * np.arange(E)[:, None] + members)
    assert (got["told"] == 7).all() and (got["counted"] == 1).all()
    assert run.value("total") == E * team * (team - 1) // 2 and run.members == team


@pytest.mark.parametrize("body", ATTEMPTS)
def test_attempts_of_the_lectures(be, body):
    """<y|Ax> with an atomic for each entry: a member an entry, and members that go over the entries."""
    N, M = 9, 33
    A = np.random.default_rng(3).integers(-9, 9, (N, M)).astype(float)
    arrays = on(be, y=np.arange(1.0, N + 1), A=A, x=np.arange(float(M)), result=np.zeros(1))
    ATTEMPTS[body].run(arrays, be, quick=True)
    assert be.to_host(arrays["result"])[0] == np.arange(1.0, N + 1) @ A @ np.arange(float(M))


def test_a_team_of_1024(be):
    v = np.random.default_rng(9).integers(-99, 99, (3, 5000)).astype(float)
    assert LARGE.run(on(be, v=v), be, quick=True) == {"total": v.sum()}


def chosen(body, **more):
    return kernel(f"chosen_{body}", header=JOINS, body=body, league="E", team="auto 48", **more)


CANNOT = chosen("cannot_tell", arrays="v(E,n)", sums="total")
BY_RESULT = chosen("tells_by_result", numbers="E", sums="total:whole")
BY_SIZE = chosen("tells_by_size", arrays="out(E)", writes="out")
WRITES = chosen("tells_and_writes", arrays="out(E)", writes="out", sums="total:whole")


def test_a_cpu_chooses_one_member_where_nothing_tells(be):
    v = np.random.default_rng(4).integers(-99, 99, (6, 50)).astype(float)
    run = CANNOT.bind(on(be, v=v), be, quick=True)
    run()
    assert run.value("total") == v.sum() and run.members == (1 if be.style == "packs" else 48)


def test_a_chosen_number_does_not_change_results(be):
    """A body that tells by its results, or by size(), has the members that a device has."""
    run = BY_RESULT.bind({}, be, quick=True, E=6)
    for _ in range(2):
        run()
        assert run.value("total") == 6 * 48 and run.members == 48

    arrays = on(be, out=np.zeros(6))
    run = BY_SIZE.bind(arrays, be, quick=True)
    run()
    assert (be.to_host(arrays["out"]) == 48).all() and run.members == 48


def test_a_body_that_cannot_begin_again_is_told():
    """It has written arrays when it turns out that its result depends on the number of members."""
    with pytest.raises(
        BackendError, match="'chosen_tells_and_writes': each member gives a value to a result.*team = 48"
    ):
        WRITES.run({"out": np.zeros(3)}, "cpu", quick=True)


# ---- barriers
WRONG = {
    body: kernel(body, header=JOINS, arrays="out(E)", writes="out", league="E", team=16)
    for body in ("half_waits", "waits_apart")
}


def line_of(text):
    return next(n for n, line in enumerate(JOINS.read_text().splitlines(), 1) if text in line)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_barrier_that_some_do_not_reach_is_told(threads):
    """With file and line; the kernel can run again afterwards."""
    backend = get_backend("cpu", threads=threads)
    for _ in range(2):
        line = line_of("POINT_FN void half_waits") + 1
        with pytest.raises(BackendError, match=rf"'half_waits': joins.h:{line}: 8 of 16 members wait for the others"):
            WRONG["half_waits"].run({"out": np.zeros(40)}, backend, quick=True)

        line = line_of("POINT_FN void waits_apart") + 1
        words = rf"'waits_apart': joins.h:{line} and joins.h:{line + 1}: members of a team wait .*different places"
        with pytest.raises(BackendError, match=words):
            WRONG["waits_apart"].run({"out": np.zeros(40)}, backend, quick=True)


def test_collectives_that_some_do_not_reach_are_told():
    with pytest.raises(BackendError, match=r"'astray': teams.h:\d+ and teams.h:\d+: members of a team wait"):
        ASTRAY.run({"out": np.zeros(1)}, "cpu", quick=True)
