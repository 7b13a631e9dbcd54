"""`bench blocks` and `bench launch`: rows, bounds, ranks that die."""

import json
import types

import pytest
from bench_cases import SMALL, ran

from frame.errors import ArgumentError, BackendError
from frame.tools.bench import blocks, blocks_rank, report
from frame.tools.cli import main


@pytest.mark.full
def test_launch(capsys):
    rows, _ = ran(capsys, "launch", *SMALL)
    what = {row["case"] for row in rows}

    assert {
        "launch of one kernel from Python",
        "one state from Python: rho h cp mu lam",
        "warm start of Python, first result",
        "eosthermalproperties, from Fortran",
        "block call with 13 arrays of one point, from Fortran",
        "block call for a slab of 3 x 64 x 64 points, ideal gas",
        "function of one point, kinetics of CH4/O2",
        "kinetics of H2/O2, 8 x 8 x 8 points, a field for each species",
    } <= what
    for row in rows:
        assert tuple(row) == report.KEYS and row["seconds"] > 0 and row["bench"] == "launch"
        assert (row["ratio"] is None) == (row["rival"] is None)


@pytest.mark.parametrize("host", ["python", "fortran"])
@pytest.mark.quick(host="fortran")
def test_blocks(capsys, host, tmp_path):
    """Two ranks at the same time, a block call beside the loops of calls for each array; a trace of the last case."""
    arguments = "--shapes 8x9x10 --fringes mixed --ns 4 --ranks 1,2 --seconds 0.01 --repeats 1 --chunks 500".split()
    rows, shown = ran(capsys, "blocks", "--backend", "cpu", "--host", host, "--ways", "block,loop,queue", *arguments)

    assert len(rows) == 6 and len({row["case"] for row in rows}) == 6 and "backend cpu" in shown or host == "fortran"
    for row in rows:
        assert tuple(row) == report.KEYS and (row["bench"], row["ns"], row["points"]) == ("blocks", 4, 720)
        assert row["seconds"] * row["points_per_s"] == pytest.approx(720)
        assert row["bound"] is None and row["case"] in shown

    traced = (*arguments, "--ways", "block", "--trace", str(tmp_path / "trace"))
    ran(capsys, "blocks", "--backend", "cpu", "--host", host, *traced)
    traces = [json.loads(file.read_text())["traceEvents"] for file in sorted(tmp_path.iterdir())]

    assert len(traces) == 2  # of the two ranks

    for events in traces:
        assert {e["name"] for e in events if e["ph"] == "X"} == {"thermal_viscous"}  # on the block where it lies


def test_what_the_memory_of_a_host_allows_packing(monkeypatch):
    """A rank copies what it is told to; a copy of B bytes reads and writes 2 B, and packing does so with each byte."""
    monkeypatch.setenv("FRAME_BACKEND", "cpu")
    rank = blocks_rank.Rank()
    rank.case("block", "pageable", 8, 8, 8, *[0] * 6, 4, 512, 0.001)
    done, calls, seconds = rank.stream(2**20).split()
    rank.frame.finalize()

    assert done == "done" and int(calls) > 2 and 0.001 < float(seconds) < 10

    case = blocks.Case((8, 8, 8), "0", 10, "pageable", "block", 512)
    ranks = types.SimpleNamespace(pace=lambda line: int(line.removeprefix("stream ")) / 50e9)
    row = report.Row("blocks", "", 10, 512, "cuda", 512 * 8e-9, 1 / 8e-9)
    told = blocks.packing(case, blocks.Share(8), blocks.packing_rate(ranks, 1), row)

    assert "8 ranks, NS 10: the threads copy 100 GB/s" in told  # 2 x 216 bytes at 100 GB/s: 4.32 ns
    assert "takes 4.32 ns a point, 54 % of its time" in told


@pytest.mark.parametrize("memory", ["pinned", "device"])
def test_a_case_on_a_gpu_has_the_link_as_bound(memory):
    """Ours at 4 us a call, copies at 2 us, as many CPU ranks at 12 us; arrays of the device have no link to cross."""
    asked = []

    class Ranks:
        def __init__(self, **microseconds):
            self.microseconds = microseconds

        def ask(self, line):
            asked.append(line)

        def pace(self, verb):
            return 1e-6 * self.microseconds[verb]

    run = blocks._Run(types.SimpleNamespace(repeats=3, seconds=0.1), "cuda", blocks.Share(8))
    run.ours = run.link = Ranks(go=4.0, limit=2.0)
    run.beside = Ranks(go=12.0)
    row = run._row(blocks.Case((8, 8, 8), "0", 10, memory, "block", 512))

    assert row.ratio == pytest.approx(3) and row.rival == "8 on the CPU" and row.seconds == pytest.approx(4e-6)
    assert row.bound_fraction == (pytest.approx(0.5) if memory == "pinned" else None)
    assert [line.split()[1:3] for line in asked] == [["block", memory], ["block", "pageable"]]


@pytest.mark.full
def test_small_calls(capsys):
    """bench blocks --small: times of calls from Fortran in a table of their own; the programs check their values."""
    arguments = "--shapes 8x9x10 --fringes 0 --ns 4 --seconds 0.01 --repeats 1 --small".split()
    rows, shown = ran(capsys, "blocks", "--backend", "cpu", *arguments)

    assert [row["bench"] for row in rows] == ["blocks"] + ["launch"] * 6 and "that takes" in shown

    slab = next(row for row in rows if "slab" in row["case"])
    assert slab["rival"] == "plain Fortran, -O3" and slab["points"] == 3 * 64**2

    for row in rows:
        assert row["case"] in shown and 0 < row["seconds"] < 1  # seconds


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--shapes", "8x8"], "'8x8', wanted extents such as 64x64x64"),
        (["--memory", "pined"], "'pined', wanted some of pageable, pinned, device"),
        (["--ranks", "0"], "'0', wanted whole numbers from 1"),
        (["--host", "fortran", "--ns", "3"], "--ns 3: wanted some of 4, 10"),
        (["--memory", "pinned"], "no case is left"),
        (["--gpus", "1,2"], "--gpus is for backend cuda."),
    ],
)
def test_blocks_that_cannot_be_measured(capsys, arguments, words):
    try:
        status = main(["bench", "blocks", "--backend", "cpu", "--ranks", "1", *arguments])
    except SystemExit as error:  # the parser's own refusal
        status = error.code

    assert status != 0 and words in capsys.readouterr().err


def test_a_rank_that_dies_is_told(monkeypatch):
    """A single message with the output of the rank, and no hang."""
    given = types.SimpleNamespace(threads=None, trace=None)
    ranks = blocks.Ranks(blocks.Share(2), given, "cpu", {"FRAME_THREADS": "none"}, "python")
    with pytest.raises(BackendError, match="a rank ended .*FRAME_THREADS is none"):
        ranks.ask("facts")
    ranks.end()
    ranks = blocks.Ranks(blocks.Share(2), given, "cpu", {}, "python")
    ranks.each[1].kill()
    with pytest.raises(BackendError, match=r"a rank ended \(status -9\); it said: nothing"):
        ranks.ask("facts")
    ranks.end()


@pytest.mark.parametrize("seen, wanted", [("", "01"), ("3,5", "35"), ("3,5,7,9", "35")])
def test_a_rank_sees_its_gpu_alone(monkeypatch, seen, wanted):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", seen)
    assert "".join(blocks.one_gpu(place, 2)["CUDA_VISIBLE_DEVICES"] for place in range(2)) == wanted

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    with pytest.raises(ArgumentError, match="--gpus 2: CUDA_VISIBLE_DEVICES has 3"):
        blocks.one_gpu(0, 2)
