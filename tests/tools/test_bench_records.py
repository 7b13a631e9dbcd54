"""Runs of benches as files, the pictures and the tables of a page that come from them."""

import json
import re
import shlex

import pytest
from bench_cases import SMALL, array_functions, ran
from device_for_tests import be  # noqa: F401  the fixture: a stand-in, or with -m gpu the device
from hosts import ROOT

from frame.tools import bench
from frame.tools.bench import ceilings, pictures, results
from frame.tools.cli import main


@pytest.mark.usefixtures("briefly")
@pytest.mark.full
def test_a_recorded_run(capsys, monkeypatch, tmp_path):
    """The file has machine, date, command and the rows of --json; its table can be printed."""
    monkeypatch.setattr(bench, "BENCHES", {name: bench.BENCHES[name] for name in ("properties", "threads")})
    kept, rows = tmp_path / "run.json", tmp_path / "rows.json"
    given = ["bench", "all", *SMALL, "--ns", "3", "--cases", "thermal", "--json", str(rows), "--record", str(kept)]

    assert main(given) == 0
    assert f"Written: {kept}" in capsys.readouterr().err

    run = results.read(kept)
    assert run.machine.startswith(bench.machine()) and run.machine.endswith("-bit vectors") and run.backend == "cpu"
    assert run.command == results.command(shlex.join(given)) and run.commit == results.commit()
    assert run.rows == json.loads(rows.read_text()) and {row["bench"] for row in run.rows} == {"properties", "threads"}

    assert main(["bench", "figures", str(kept)]) == 0

    out = capsys.readouterr().out
    assert run.origin in out and run.command in out and out.count("\n| ") == len(run.rows) + len(["names", "rule"])


def test_runs_of_several_commits_are_mixed_on_request_only(capsys, tmp_path):
    row = {"bench": "properties", "case": "thermal", "ns": 4, "backend": "cpu", "points_per_s": 1.5e9}
    files = []
    for name, machine, commit in (("a", "X", "123"), ("b", "X", "124"), ("c", "Y", "123"), ("d", "X", "123")):
        run = results.Run(name, machine, "cpu", commit, "2026-01-01", None, [row])
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(run.text())

        assert results.read(files[-1]) == run

    a, b, c, d = map(str, files)

    for other, origin in ((b, "X, commit 124"), (c, "Y, commit 123")):
        assert main(["bench", "figures", a, other]) == 1

        said = capsys.readouterr().err
        assert "X, commit 123" in said and origin in said and "--mixed" in said
        assert main(["bench", "figures", a, other, "--mixed"]) == 0
        assert f"| {origin} |" in capsys.readouterr().out

    assert main(["bench", "figures", a, d]) == 0
    assert capsys.readouterr().out.count("| thermal | 4 | 1.5e+09 |") == 2


def test_files_that_are_no_runs(capsys, tmp_path):
    for name, text in (("no.json", "?"), ("rows.json", "[]"), ("part.json", '{"machine": "X"}')):
        (tmp_path / name).write_text(text)
        assert main(["bench", "figures", str(tmp_path / name)]) == 1 and name in capsys.readouterr().err

    assert main(["bench", "figures", str(tmp_path / "none.json")]) == 1
    assert "No such file" in capsys.readouterr().err


PAGES = "".join(file.read_text() for file in sorted((ROOT / "docs").glob("*/*.md")))


def test_the_pages_name_every_run():
    """A run that no page names is not kept; each has its rows, machine and date."""
    files = [file for file in results.FOLDER.glob("*.json") if file.name != "accuracy.json"]  # validate's, not bench's
    runs = {file.name: results.read(file) for file in files}
    assert all(run.rows and run.machine and run.date and run.text() for run in runs.values())

    named = set(re.findall(r"(?:benchmarks/results/|`)([a-z0-9]+-[a-z0-9-]+\.json)", PAGES))
    assert named - set(runs) == set()
    assert set(runs) - named == set()


@pytest.mark.full
def test_pictures_of_the_pages(capsys, tmp_path):
    """Every picture that the pages of figures show is drawn, with the commit of its runs."""
    figures = "".join(file.read_text() for file in (ROOT / "docs/figures").glob("*.md"))
    assert set(re.findall(r"pictures/(\w+)\.svg", figures)) == set(pictures.PICTURES)
    assert main(["bench", "figures", "--out", str(tmp_path)]) == 0
    assert "5245d84" in (tmp_path / "speed_over_ranks.svg").read_text()


@pytest.mark.usefixtures("briefly")
@pytest.mark.full
def test_scaling_is_drawn(capsys, tmp_path):
    rows, shown = ran(
        capsys, "properties", *SMALL, "--ns", "3", "--cases", "thermal", "--scaling", str(tmp_path / "fit.png")
    )
    assert (tmp_path / "fit.png").read_bytes()[:4] == b"\x89PNG"
    assert {row["bench"] for row in rows} == {"properties", "scaling"} and "flops counted" in shown


def test_a_recorded_run_on_a_device(be, capsys, monkeypatch, tmp_path):  # noqa: F811
    """The file has the product name of the GPU and smooth states. Threads are left out; by name they are refused."""
    array_functions(be, monkeypatch)
    little = ceilings.measure(be, 1e-3)
    monkeypatch.setattr(ceilings, "measure", lambda backend: little)
    monkeypatch.setattr(bench, "BENCHES", {name: bench.BENCHES[name] for name in ("properties", "threads")})
    file = tmp_path / "run.json"
    given = ["--backend", "cuda", "--points", "300", "--repeats", "1", "--ns", "2", "--cases", "thermal"]

    assert main(["bench", "all", *given, "--record", str(file)]) == 0, capsys.readouterr().err

    run = results.read(file)
    assert run.machine == f"{be.product}, host {bench.machine()}" and run.backend == "cuda"
    assert {row["bench"] for row in run.rows} == {"properties"} and "smooth states" in capsys.readouterr().out

    assert main(["bench", "threads", *given]) == 1
    assert "threads are the CPU's, the backend is 'cuda'" in capsys.readouterr().err
