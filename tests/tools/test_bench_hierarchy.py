"""`bench hierarchy`: a row for each line of an exercise, bounds by bytes, twins whose results are the same."""

import time

import numpy as np
import pytest
from bench_cases import ran

from frame.errors import FrameError
from frame.tools.bench import hierarchy
from frame.tools.cli import main
from kernels import get_backend

SMALL = ["hierarchy", "--threads", "1", "--scale", "0.0001", "--rounds", "1", "--quick"]


def test_rows_of_exercises_and_twins(capsys):
    rows, shown = ran(capsys, *SMALL, "--cases", "quiz,yax_vector", "--tables", "exercises,twins")
    assert [row["by"] for row in rows[:5]] == ["bytes", "bytes", "calls", "calls", "calls"]
    assert [row["case"] for row in rows[:5]] == ["yax_vector", "yax_vector", "quiz_flat", "quiz_team", "quiz_nested"]
    for row in rows:  # of one round the medians are the numbers themselves
        assert row["seconds"] > 0 and row["share"] == pytest.approx(row["bound_seconds"] / row["seconds"])

    twins = {row["case"]: row for row in rows if row["table"] == "twins"}
    assert set(twins) == {twin.case for twin in hierarchy.TWINS}
    assert all(row["ratio"] == pytest.approx(row["twin_seconds"] / row["seconds"]) for row in twins.values())
    assert twins["yax_vector"]["sizes"] == "5x32x32" and "times as fast" in shown


def test_kernels_beside_loops_in_their_order(capsys):
    rows, shown = ran(capsys, *SMALL, "--tables", "orders")
    assert [row["case"] for row in rows] == [pair.case for pair in hierarchy.ORDERS]
    assert all(row["ratio"] == pytest.approx(row["twin_seconds"] / row["seconds"]) for row in rows)
    assert {row["sizes"] for row in rows} == {"8x16x64", "8x7770"} and "beside loops in its order" in shown


def test_a_share_is_the_median_of_ratios_of_one_round():
    """Memory that becomes half as fast during a run slows both alike: the share stays."""
    common = hierarchy.module("common")
    how = hierarchy.Conditions(get_backend("cpu", threads=1), 5, 1.0)
    drifting = common.Timed(common.Moved(8e9), runs=[1.0, 1.0, 2.0, 2.0, 2.0], loops=[0.9, 0.9, 1.8, 1.8, 1.8])
    assert how.row("exercises", "drifting", (1,), drifting)["share"] == pytest.approx(0.9)

    once = common.Timed(common.Moved(8e9), runs=[2.0, 4.0, 8.0], loops=[])  # a device: 1 s at 8 GB/s
    row = hierarchy.dataclasses.replace(how, pace=8e9).row("exercises", "once", (1,), once)
    assert (row["bound_seconds"], row["share"]) == (1.0, 0.25)


@pytest.mark.parametrize("kinds", [("read",), ("written",), ("updated",), ("read", "written", "updated")])
@pytest.mark.parametrize("past", [False, True])
def test_plain_loops_go_through_each_number_once(kinds, past):
    """Arrays that are read, written and changed; a launch moves a sample of the bytes."""
    backend = get_backend("cpu", threads=2)
    moved = hierarchy.module("common").Moved(**dict.fromkeys(kinds, 3.2e9))
    memory = hierarchy.PlainMemory(backend, sample=2**20)
    work = memory._bound(moved, past)
    for name, array in memory._arrays.items():
        array[...] = np.nan if name == "written" else 3.0
    work()

    read, written, changed = (memory._arrays[name] for name in ("read", "written", "changed"))
    assert memory._sums.sum() == 3.0 * read.size
    assert (changed == 4).all() and not np.isnan(written).any()
    sample = read.nbytes + written.nbytes + 2 * changed.nbytes
    assert 0.99 * 2**20 < sample <= 2**20
    assert memory.loops(hierarchy.module("common").Moved(2**19)).times == 0.5
    assert memory.loops(hierarchy.module("common").Moved(5 * 2**20)).times == 1.0


def test_lines_that_are_asked_for_again_come_from_a_cache():
    """Beside the bytes of memory: seven times as many, of a small array."""
    backend = get_backend("cpu", threads=1)
    memory = hierarchy.PlainMemory(backend, sample=2**20)
    work = memory._bound(hierarchy.module("common").Moved(read=1e9, again=7e9), False)
    for array in memory._arrays.values():
        array[...] = 3.0
    work()
    assert memory._arrays["again"].nbytes == 2**17
    assert memory._sums.sum() == 3.0 * 8 * 2**20 / 8


def test_a_single_thread_is_timed_by_its_own_time():
    """A pause of the process is not counted; on several threads, and behind the exercise, it is."""
    alone, several = get_backend("cpu", threads=1), get_backend("cpu", threads=2)
    took = {}
    for backend, name in ((alone, "alone"), (several, "several")):
        with hierarchy.timed(backend):
            start = backend.mark()
            time.sleep(0.2)
            took[name] = backend.elapsed(start, backend.mark())
    start = alone.mark()
    time.sleep(0.2)
    took["behind"] = alone.elapsed(start, alone.mark())
    assert took["alone"] < 0.1 and took["several"] >= 0.2 and took["behind"] >= 0.2


def test_a_twin_that_is_wrong_is_refused(monkeypatch):
    backend = get_backend("cpu", threads=1)
    how = hierarchy.Conditions(backend, 1, 1e-4, quick=True)
    right = hierarchy._twin

    def wrong(backend, name):
        twin = right(backend, name)
        return lambda *given: (twin(*given), np.add(given[-1], 1, out=given[-1]))

    monkeypatch.setattr(hierarchy, "_twin", wrong)
    with pytest.raises(FrameError, match="yax_team: the twin's results differ"):
        hierarchy.beside(hierarchy.TWINS[0], how)


@pytest.mark.parametrize(
    "more, words",
    [
        (["--tables", "twin"], "--tables twin: wanted some of exercises, sweep, twins, orders."),
        (["--scale", "0"], "--scale 0: wanted more than 0"),
        (["--threads", "0"], "--threads 0, wanted 1 or more"),
    ],
)
def test_wrong_usage(more, words, capsys):
    assert main(["bench", "hierarchy", *more]) == 1
    assert words in capsys.readouterr().err
