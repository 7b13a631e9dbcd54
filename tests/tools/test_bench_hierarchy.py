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
    for row in rows:
        assert row["seconds"] > 0 and row["share"] == pytest.approx(row["bound_seconds"] / row["seconds"])

    twins = {row["case"]: row for row in rows if row["table"] == "twins"}
    assert set(twins) == set(hierarchy.TWINS)
    assert all(row["ratio"] == pytest.approx(row["twin_seconds"] / row["seconds"]) for row in twins.values())
    assert twins["yax_vector"]["sizes"] == "5x32x32" and "times as fast" in shown


def test_kernels_beside_loops_in_their_order(capsys):
    rows, shown = ran(capsys, *SMALL, "--tables", "orders")
    assert [row["case"] for row in rows] == [pair.case for pair in hierarchy.ORDERS]
    assert all(row["ratio"] == pytest.approx(row["twin_seconds"] / row["seconds"]) for row in rows)
    assert {row["sizes"] for row in rows} == {"8x16x64", "8x7770"} and "beside loops in its order" in shown


def test_what_a_cpu_writes_has_a_pace_of_its_own():
    """8 GB read, 8 written, 8 changed: 32 GB of a device's memory. A CPU reads a line before it writes to it."""
    moved = hierarchy.module("common").Moved(read=8e9, written=8e9, updated=8e9)
    assert hierarchy.Pace(2e9).seconds(moved) == 16.0

    through = hierarchy.Through(writing=1e9, updating=2e9)
    assert hierarchy.Pace(2e9, through).seconds(moved) == 4.0 + 8.0 + 4.0


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
    how = hierarchy.Conditions(backend, 1, None, 1e-4, hierarchy.Pace(1e9), quick=True)
    right = hierarchy._twin

    def wrong(backend, name):
        twin = right(backend, name)
        return lambda *given: (twin(*given), np.add(given[-1], 1, out=given[-1]))

    monkeypatch.setattr(hierarchy, "_twin", wrong)
    with pytest.raises(FrameError, match="yax_team: the twin's results differ"):
        hierarchy.beside("yax_team", how)


@pytest.mark.parametrize(
    "more, words",
    [
        (["--tables", "twin"], "--tables twin: wanted some of exercises, sweep, twins, orders."),
        (["--scale", "0"], "--scale 0: wanted more than 0"),
        (["--threads", "0"], "wanted 1 or more"),
    ],
)
def test_wrong_usage(more, words, capsys):
    assert main(["bench", "hierarchy", *more]) == 1
    assert words in capsys.readouterr().err
