"""A team has the declared number of members on every backend, and a CPU takes one only where the body cannot tell."""

import importlib
import shutil
import subprocess

import numpy as np
import pytest
from hosts import ROOT
from team_cases import ASTRAY, HEADER, JOINS, NEAR, ONE_WRITES, kernel

from kernels import BackendError, League, get_backend

MEMBERS = {
    team: kernel(
        f"members_{team}",
        League("E", team=team),
        header=JOINS,
        body="members",
        arrays=f"rank(E,{team}):whole kept(E,{team}):whole told(E,{team}):whole counted(E,{team})",
        writes="rank kept told counted",
        results="total:whole",
    )
    for team in (1, 7, 64)
}
LARGE = kernel("large_team", League("E", team=1024), header=JOINS, body="cannot_tell", arrays="v(E,n)", results="total")


@pytest.mark.parametrize("team", MEMBERS)
def test_a_team_has_its_members(be, team):
    """Ranks, a value kept by each member from loop to loop, one that all are told, sums that each member adds."""
    E = 5
    whole = {name: np.full((E, team), -1) for name in ("rank", "kept", "told")}
    arrays = be.placed(**whole, counted=np.zeros((E, team)))
    run = MEMBERS[team].bind(arrays, be, quick=True)
    run()

    got = {name: np.array(be.to_host(a)) for name, a in arrays.items()}

    members = np.arange(team)
    np.testing.assert_array_equal(got["rank"], np.tile(members + 100 * team, (E, 1)))
    np.testing.assert_array_equal(got["kept"], 1000 * np.arange(E)[:, None] + members)
    assert (got["told"] == 7).all() and (got["counted"] == 1).all()
    assert run.value("total") == E * team * (team - 1) // 2 and run.members == team


def test_a_team_of_1024(be):
    v = np.random.default_rng(9).integers(-99, 99, (3, 5000)).astype(float)
    assert LARGE.run(be.placed(v=v), be, quick=True) == {"total": v.sum()}


def chosen(body, **more):
    return kernel(f"chosen_{body}", League("E", team="auto 48"), header=JOINS, body=body, **more)


CANNOT = chosen("cannot_tell", arrays="v(E,n)", results="total")
BY_RESULT = chosen("tells_by_result", numbers="E", results="total:whole")
BY_SIZE = chosen("tells_by_size", arrays="out(E)", writes="out")
WRITES = chosen("tells_and_writes", arrays="out(E)", writes="out", results="total:whole")


def test_a_cpu_chooses_one_member_where_nothing_tells(be):
    v = np.random.default_rng(4).integers(-99, 99, (6, 50)).astype(float)
    run = CANNOT.bind(be.placed(v=v), be, quick=True)
    run()
    assert run.value("total") == v.sum() and run.members == (1 if be.style == "packs" else 48)


def test_a_chosen_number_does_not_change_results(be):
    """A body that tells by its results, or by size(), has the members that a device has."""
    run = BY_RESULT.bind({}, be, quick=True, E=6)

    for _ in range(2):
        run()
        assert run.value("total") == 6 * 48 and run.members == 48

    arrays = be.placed(out=np.zeros(6))
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
    body: kernel(body, League("E", team=16), header=JOINS, arrays="out(E)", writes="out")
    for body in ("half_waits", "waits_apart")
}


LEFT_OVER = kernel(
    "left_over", League("E", team=4, scratch={"team 0": "s(1)"}), header=JOINS, arrays="out(E)", writes="out"
)


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


# ---- scratch
def test_a_missing_barrier_is_told():
    """With the places of both members; nothing is told where the barrier is, by atomics or in the exercises."""
    v = np.arange(200.0)
    at = next(n for n, line in enumerate(HEADER.read_text().splitlines(), 1) if "{ s(i) = m.v(i); });" in line)
    for name, k in NEAR.items():
        arrays = {"v": v, "out": np.zeros(200)}
        if name != "without":
            k.run(arrays, "cpu", check=True, quick=True)
            np.testing.assert_array_equal(arrays["out"], np.roll(v, -1))
            continue

        words = rf"teams.h:{at + 2}: member 0 reads scratch that nobody has written yet; a barrier may be missing"
        with pytest.raises(BackendError, match=words):
            k.run(arrays, "cpu", check=True, quick=True)

    with pytest.raises(
        BackendError, match=r"teams.h:\d+: member 1 reads scratch that member 0 writes at teams.h:\d+, with no"
    ):
        ONE_WRITES.run({"out": np.zeros((2, 64))}, "cpu", check=True, quick=True)


def test_scratch_that_nobody_has_written_is_told():
    """The next team begins with nothing, though the last one has left its numbers there."""
    line = line_of("m.out(team.league_rank()) = s(0);")
    with pytest.raises(BackendError, match=rf"joins.h:{line}: member 3 reads scratch that nobody has written"):
        LEFT_OVER.run({"out": np.zeros(3)}, "cpu", check=True, quick=True)


def test_checked_exercises():
    """Bodies with barriers, packs and atomics in scratch pass the check."""
    for module, name in (("scratch", "SCRATCH_FIELD"), ("scratch", "SLICING"), ("tokens", "SCATTER_TEAMS")):
        k = getattr(importlib.import_module(module), name)
        shapes = {"E": 4, "Q": 5, "V": 37, "C": 2, "L": 5, "R": 6, "P": 7, "n": 20000, "bins": 9}
        arrays = {a.name: np.zeros([shapes[x] for x in a.extents], a.dtype(np.dtype(float))) for a in k.arrays}
        k.run(arrays, "cpu", check=True, quick=True, **({"share": 8192} if k.numbers else {}))


# ---- another processor
ON_ARM = """
#include "engine/numbers/pack.h"
#include "teams/team.h"
int main() {
    static char shares[512 * 64];
    static Report report;
    unsigned ended;
    double total;
    long count;
    const League league{shares, nullptr, {0, 0}, {nullptr, 0}, &ended, &report, 1};
    const Place totals[] = {{&total, nullptr}, {&count, nullptr}};
    typedef Results<Result<Sum, double>, Result<Sum, long>> R;
    for_league<Team<64, 1>, Team<64, 1>, R, false, false, false>(100, 2, league, totals, [](const auto &team, auto &r) {
        double sum, own = team.rank() * 1.25; // lives in a register that a change of fibres has to keep
        reduce(team.vector(77), [&](auto i, auto &s) { s += as_number(i) * 0.5; }, sum);
        team.barrier();
        r.template at<0>() += sum + own, r.template at<1>() += 1;
    });
    printf("%.17g %ld", total, count);
    for_league<Team<64, 1>, Team<64, 1>, Results<>, false, false, false>(
        9, 1, league, totals, [](const auto &team, auto &) { if (team.rank() < 3) team.barrier(); });
    printf(" %.20s", strstr(report.problem, "3 of 64 members"));
}
"""


@pytest.mark.full
@pytest.mark.skipif(
    not (shutil.which("aarch64-linux-gnu-g++") and shutil.which("qemu-aarch64")),
    reason="needs aarch64-linux-gnu-g++ and qemu-aarch64",
)
def test_fibres_on_64_bit_arm(tmp_path):
    """Compiled for it, and run in an emulator: exact sums, a barrier that some do not reach."""
    (tmp_path / "a.cpp").write_text(ON_ARM)
    command = ["aarch64-linux-gnu-g++", "-std=gnu++17", "-O2", "-fopenmp", "-static", "-Wno-psabi"]
    command += [f"-I{ROOT / 'kernels'}", "a.cpp", "-o", "a"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run(["qemu-aarch64", "./a"], cwd=tmp_path, capture_output=True, text=True, check=True)

    total = 100 * (64 * 0.5 * 77 * 76 / 2 + 1.25 * 64 * 63 / 2)
    assert done.stdout == f"{total:.17g} 6400 3 of 64 members wait"
