"""`python -m frame bench`: complete rows, refusal of wrong values, right counts and fits. Speed is not judged."""

import dataclasses
import json
import re
import shlex
import shutil
import types

import mechanisms_for_tests as mechanisms
import numpy as np
import pytest
from device_for_tests import be  # noqa: F401  the fixture: a stand-in, or with -m gpu the device
from hosts import ROOT
from mixtures_for_tests import changed, species_set

from frame.errors import ArgumentError, BackendError
from frame.tools import bench
from frame.tools.bench import (
    blocks,
    blocks_rank,
    ceilings,
    equilibrium,
    expressions,
    fortran,
    inputs,
    kinetics,
    phase_rivals,
    phases,
    pictures,
    properties,
    reactors,
    report,
    results,
    scaling,
    threads,
    timing,
)
from frame.tools.cli import main
from kernels import Mixture, collections, get_backend
from kernels.gas import counting

SMALL = ["--backend", "cpu", "--points", "1500", "--repeats", "1"]


@pytest.fixture
def briefly(monkeypatch):
    """The machine's ceilings, measured for a fiftieth of the time: no figure is judged."""
    measure = ceilings.measure
    monkeypatch.setattr(ceilings, "measure", lambda backend, effort=0.02: measure(backend, effort))


def ran(capsys, *arguments):
    """(rows, text of standard error) of a bench with --json -."""
    status = main(["bench", *arguments, "--json", "-"])
    out, err = capsys.readouterr()

    assert status == 0, err

    return json.loads(out), err


def test_properties(capsys):
    rows, shown = ran(capsys, "properties", *SMALL, "--ns", "3", "--cases", "thermal,viscous")
    assert {row["rival"] for row in rows} == {
        "gfortran -O3, textbook",
        "gfortran -O3, tables",
        "gfortran -Ofast, tables",
        "gfortran -O3, reduced",
        "gfortran -Ofast, reduced",
        "NumPy expressions",
    }
    assert len({row["case"] for row in rows}) == 4 and rows[0]["ns"] == 3
    for row in rows:
        assert tuple(row) == report.KEYS
        assert (
            all(row[key] is not None for key in report.KEYS)
            and row["bench"] == "properties"
            and row["backend"] == "cpu"
        )
        assert row["ratio"] == pytest.approx(row["points_per_s"] / row["rival_points_per_s"]) and row["ratio"] > 0
        assert row["seconds"] * row["points_per_s"] == pytest.approx(row["points"])
        assert row["bound_fraction"] == pytest.approx(row["points_per_s"] / row["bound"]) and row["bound_fraction"] > 0
        assert 0 < row["max_rel_diff"] < properties.TOLERANCE_TAKAHASHI
        assert row["case"] in shown


def test_keys_are_those_agreed_on():
    assert " ".join(report.KEYS) == (
        "bench case ns points backend seconds points_per_s rival rival_points_per_s ratio bound "
        "bound_fraction max_rel_diff"
    )


@pytest.mark.parametrize("factor", (1 + 1e-6, np.nan))
def test_wrong_values_are_refused(capsys, monkeypatch, factor):
    """A rival (or ours) that computes something else is not a rival: no row is made, and the quantity is named."""
    right = fortran.Fortran.prepare

    def wrong(self, mixture, collection, state):
        work, results = right(self, mixture, collection, state)

        def spoilt():
            work()
            results["c"][7] *= factor

        return spoilt, results

    monkeypatch.setattr(fortran.Fortran, "prepare", wrong)
    assert main(["bench", "properties", *SMALL, "--ns", "3", "--cases", "thermal", "--json", "-"]) == 1

    out, err = capsys.readouterr()
    assert not out and "'c' differs" in err and "point 7" in err and "Nothing was timed" in err


def test_the_other_root_is_borne_at_few_points_only():
    """Codes may take different roots where two tie: accepted at one point in thousands, refused at many."""
    n = 5000
    state = {"T": np.full(n, 300.0)}
    ours = {"rho": np.full(n, 100.0), "Z": np.full(n, 0.9)}
    rival = {name: value.copy() for name, value in ours.items()}
    rival["rho"][3], rival["Z"][3] = 700.0, 0.1

    assert properties.difference(ours, rival, state, "case", 1e-9, 1e-9) == 0

    rival["rho"][:50] = 700.0
    with pytest.raises(timing.WrongValues, match="'rho' differs by more than 0.001 at 50 of 5000"):
        properties.difference(ours, rival, state, "case", 1e-9, 1e-9)
    with pytest.raises(timing.WrongValues, match="no quantity in common"):
        properties.difference(ours, {}, state, "case", 1e-9, 1e-9)


@pytest.mark.usefixtures("briefly")
def test_mixture_of_a_file_and_markdown(capsys):
    file = str(inputs.SHIPPED.parent / "n2.yaml")
    assert main(["bench", "properties", *SMALL, "--mixture", file, "--cases", "thermal", "--markdown"]) == 0

    text = capsys.readouterr().out
    assert "## properties, backend cpu" in text and "GFLOP/s" in text and "Fortran" in text

    heads, _, *lines = [line for line in text.split("\n") if line.startswith("|")]
    assert len(lines) == 1 and lines[0].startswith("| thermal") and lines[0].count("x)") == 6
    assert heads.count("|") == lines[0].count("|") and "| gfortran -O3, textbook |" in heads


def test_headline_is_the_strongest_rival():
    """The least ratio stands in front. The layer in another precision does not count."""
    row = report.Row("properties", "thermal", 10, 100, "cpu", 1e-6, 1e8)
    rows = [
        dataclasses.replace(row, rival=name, rival_points_per_s=1e8 / ratio, ratio=ratio, ours=name == "in double")
        for name, ratio in (("in double", 1.5), ("slow", 20.0), ("strong", 3.25), ("middling", 7.0))
    ]

    assert report.strongest(rows).rival == "strong"

    heads, _, line = report.markdown(rows).split("\n")
    assert line.split(" | ")[heads.split(" | ").index("beside the strongest")] == "3.25x strong"
    assert report.strongest(rows[:1]) is None
    assert "beside the strongest" not in report.markdown(rows[1:2])


@pytest.mark.usefixtures("briefly")
def test_a_case_that_a_file_lacks_data_for(capsys, monkeypatch):
    data = species_set(1)
    read = lambda file, **options: (changed(data, fuller_volume=[np.nan]), options)
    monkeypatch.setattr(properties.Mixture, "species_from_yaml", staticmethod(read))

    assert main(["bench", "properties", *SMALL, "--mixture", "x.yaml", "--cases", "viscous"]) == 0

    text = capsys.readouterr().out
    assert (
        "'viscous, low-pressure D, fuller' is left out: x.yaml has no Fuller volume" in text
        and "viscous, Takahashi" in text
    )


def test_kinetics(capsys, tmp_path):
    """Rows of a mechanism, with the rates of each rival checked; then the default mechanisms."""
    pytest.importorskip("cantera")
    file = str(dict(kinetics.files(tmp_path))["h2o2"])
    rows, shown = ran(capsys, "kinetics", *SMALL, "--mixture", file)

    assert [row["rival"] for row in rows] == [
        "gfortran -O3, textbook",
        "gfortran -O3, reduced",
        "gfortran -Ofast, textbook",
        "gfortran -Ofast, reduced",
        "Cantera from Python",
    ]
    for row in rows:
        assert tuple(row) == report.KEYS and None not in row.values() and row["case"] == "h2o2.yaml, 29 reactions"
        assert row["ratio"] == pytest.approx(row["points_per_s"] / row["rival_points_per_s"])
        assert 0 < row["max_rel_diff"] < kinetics.TOLERANCE and 0 < row["bound_fraction"] < 1

    assert "Cantera 3" in shown and "h2o2.yaml, 29 reactions" in shown

    sizes = {}
    for name, path in kinetics.files(tmp_path):
        mixture = Mixture.from_yaml(path, equation="ideal", takahashi="off")
        sizes[name] = mixture.ns, mixture.nr
    assert sizes == {"h2o2": (10, 29), "CH4/O2": (32, 201), "GRI-3.0": (53, 325)}


def test_rates_beside_a_file_that_begins_with_a_real_gas():
    """Ours are those of an ideal gas, and so are Cantera's, whatever the first phase of the file is."""
    ct = pytest.importorskip("cantera")
    path = ROOT / "examples/mechanisms/h2_o2.yaml"
    assert ct.Solution(str(path)).thermo_model != "ideal-gas"

    mixture = Mixture.from_yaml(path, equation="ideal", takahashi="off")
    state = kinetics.given_states(mixture, 16, "random")
    ours = mixture.properties("omega creation destruction", backend="cpu", **state)

    gross = ours["creation"] + ours["destruction"]
    theirs = kinetics.Cantera(path).rates(mixture, state)
    assert kinetics.checked(ours["omega"], theirs, gross, "h2_o2.yaml") < kinetics.TOLERANCE


def test_kinetics_that_differ_are_refused():
    """Held against gross rates; not a number does not pass."""
    ours, gross = np.array([[1.0, 2.0], [3.0, 0.0]]), np.full((2, 2), 10.0)
    assert kinetics.checked(ours, ours * (1 + 1e-12), gross, "case") == pytest.approx(3e-13, rel=0.01)
    for wrong in (2.0 + 2e-9, np.nan):
        with pytest.raises(timing.WrongValues, match="species 0 at point 1"):
            kinetics.checked(ours, np.array([[1.0, wrong], [3.0, 0.0]]), gross, "case")


def of_reactors(backend, monkeypatch, folder):
    for counts in (reactors.CELLS, reactors.MATRICES):
        monkeypatch.setitem(counts, backend.memory, 64)

    path = dict(kinetics.files(folder))["h2o2"]
    mixture = Mixture.from_yaml(path, equation="ideal", takahashi="off")
    ignition = reactors.Ignition.of("h2o2", mixture, path)
    how = timing.Conditions(backend, ceilings.measure(backend, 1e-3), points=64, repeats=1)

    rows = reactors.matrices(ignition, how)
    row, said = reactors.react(ignition, how)

    return [*rows, row], said


def test_reactors(monkeypatch, tmp_path):
    """Jacobian, linear systems and react beside rivals. Wrong values are refused."""
    pytest.importorskip("cantera")
    here = get_backend("cpu", threads=1)
    rows, said = of_reactors(here, monkeypatch, tmp_path)

    assert [(row.case, row.rival) for row in rows] == [
        ("h2o2, J_cv", "Cantera from Python"),
        ("h2o2, J, LU, solve", "Cantera from Python"),
        ("h2o2, J, LU, solve", "LAPACK alone"),
        ("h2o2, react over 1e-06 s", "CVODE through Cantera"),
    ]
    for row in rows:
        assert row.ratio == pytest.approx(row.points_per_s / row.rival_points_per_s) and row.points == 64
        assert row.max_rel_diff < 1e-5 and (row.bound is None) == ("react" in row.case)

    assert "steps a cell" in said
    for name, words in (
        ("SLOPES", "'J_cv' differs from Cantera's slopes by"),
        ("RESIDUAL", "'implicit_cv' leaves"),
        ("REACTED", "T after 1e-06 s is"),
    ):
        with monkeypatch.context() as patch, pytest.raises(timing.WrongValues, match=words):
            patch.setattr(reactors, name, 1e-30)
            of_reactors(here, patch, tmp_path)


def test_threads(capsys):
    """Also more threads than cores. Results are equal, and ratios are relative to one thread."""
    rows, shown = ran(capsys, "threads", *SMALL, "--ns", "3", "--threads", "2,3")
    assert [row["case"].split(", ")[-1] for row in rows] == [
        "1 thread",
        "2 threads",
        "3 threads",
    ] * 2 and "cores to run on" in shown
    for row in rows:
        count = int(row["case"].split(", ")[-1].split()[0])
        assert tuple(row) == report.KEYS and row["rival"] == "1 thread" and row["ns"] == 3
        assert row["bound"] == pytest.approx(count * row["rival_points_per_s"])
        assert row["bound_fraction"] == pytest.approx(row["ratio"] / count)

    assert (
        threads.counts(1) == [1]
        and threads.counts(6) == [1, 2, 3, 4, 6]
        and threads.counts(64) == [1, 2, 3, 4, 8, 16, 32, 64]
    )


def test_results_that_depend_on_the_threads_are_refused(monkeypatch):
    right = timing.Launch.results

    def wrong(self, n):
        return {name: value + (self.backend.threads > 1) for name, value in right(self, n).items()}

    monkeypatch.setattr(timing.Launch, "results", wrong)
    mixture, state = inputs.mixture(2, "dense", takahashi="off"), inputs.states(2, 300)
    with pytest.raises(timing.WrongValues, match="of 2 threads is not that of one"):
        threads.measure(properties.CASES[0], mixture, [1, 2], state, 1)


@pytest.mark.parametrize("ns", (1, 10))
def test_smooth_states(ns):
    """Neighbours are alike and the whole range is there, cold streams and a flame; prefixes agree, as with random
    ones."""
    whole, few = inputs.states(ns, 3 * inputs.PERIOD, "smooth"), inputs.states(ns, 100, "smooth")
    assert all(np.array_equal(few[name], whole[name][..., :100]) for name in few)
    assert np.abs(np.diff(whole["T"])).max() < 20 and np.ptp(whole["T"]) > 2000 and whole["T"].min() >= 300
    assert (
        np.abs(np.diff(whole["Y"])).max() < 0.01
        and (whole["Y"] > 0).all()
        and np.allclose(whole["Y"].sum(0), 1, atol=1e-14)
    )
    assert np.abs(np.diff(whole["p"])).max() < 1e-3 * whole["p"].min()
    assert np.abs(np.diff(inputs.states(ns, 100)["T"])).max() > 1000


@pytest.mark.usefixtures("briefly")
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


def test_pictures_of_the_page(capsys, tmp_path):
    """Every picture that docs/explanation/figures.md shows is drawn, with the commit of its runs."""
    page = (ROOT / "docs/explanation/figures.md").read_text()
    assert set(re.findall(r"pictures/(\w+)\.svg", page)) == set(pictures.PICTURES)
    assert main(["bench", "figures", "--out", str(tmp_path)]) == 0
    assert "5245d84" in (tmp_path / "speed_over_ranks.svg").read_text()

    files = [file for file in results.FOLDER.glob("*.json") if file.name != "accuracy.json"]  # validate's, not bench's
    runs = {file.name: results.read(file) for file in files}
    assert all(run.rows and run.machine and run.date and run.text() for run in runs.values())
    assert set(re.findall(r"`(?:benchmarks/results/)?([\w-]+\.json)`", page)) <= set(runs)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--ns", "4", "--mixture", "x.yaml"], "give one of the two"),
        (["--ns", "61"], "wanted 1 to 60"),
        (["--cases", "nothing"], "thermal_viscous"),
        (["--repeats", "0"], "1 or more"),
        (["--threads", "2"], "belongs to bench threads"),
    ],
    ids=lambda a: a[0] if isinstance(a, list) else "",
)
def test_wrong_usage_is_refused(capsys, arguments, message):
    assert main(["bench", "properties", "--backend", "cpu", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_without_a_fortran_compiler(capsys, monkeypatch):
    monkeypatch.setenv("FC", "no-such-compiler")
    fortran.compiler.cache_clear()

    try:
        assert main(["bench", "properties", *SMALL, "--ns", "1"]) == 1
        assert "'no-such-compiler' is not on PATH: install gfortran" in capsys.readouterr().err
    finally:
        fortran.compiler.cache_clear()


@pytest.mark.usefixtures("briefly")
def test_scaling_is_drawn(capsys, tmp_path):
    rows, shown = ran(
        capsys, "properties", *SMALL, "--ns", "3", "--cases", "thermal", "--scaling", str(tmp_path / "fit.png")
    )
    assert (tmp_path / "fit.png").read_bytes()[:4] == b"\x89PNG"
    assert {row["bench"] for row in rows} == {"properties", "scaling"} and "flops counted" in shown


def test_equilibrium(capsys, monkeypatch):
    """A row for each mechanism and kind, checked beside Cantera first: wrong values are not timed."""
    pytest.importorskip("cantera")
    monkeypatch.setattr(equilibrium, "FUELS", {"h2_o2.yaml": "H2"})
    monkeypatch.setattr(equilibrium, "KINDS", ("HP",))
    size = ["--backend", "cpu", "--points", "32", "--repeats", "1"]
    (row,), shown = ran(capsys, "equilibrium", *size)
    assert tuple(row) == report.KEYS and row["case"] == "HP, h2_o2.yaml" and row["rival"] == "Cantera"
    assert row["max_rel_diff"] < 1e-6 and "0 of 32 not found" in shown

    monkeypatch.setattr(equilibrium, "TOLERANCE_X", 0.0)
    with pytest.raises(BackendError, match="Nothing was timed"):
        rival = equilibrium.Cantera(subject := equilibrium.Subject("h2_o2.yaml", 32), "HP")
        rival.check(*subject.result(launched(subject), "HP"))


def launched(subject):
    launch = subject.launch("HP", get_backend("cpu"))
    launch.work()
    return launch


def test_phases(capsys):
    """A row for each call and rival, both kinds of states; the flash is checked beside those rivals."""
    size = ["--backend", "cpu", "--ns", "2", "--points", "300", "--repeats", "1"]
    rows, shown = ran(capsys, "phases", *size)
    rivals = [rival.name for rival in phase_rivals.RIVALS if rival.is_installed()]
    assert {row["case"] for row in rows} == {f"{c}, {k}" for c in phases.CALLS for k in ("random", "ordered")}
    assert len(rows) == 2 * (len(phases.CALLS) + max(len(rivals), 1) - 1)

    for row in rows:
        assert tuple(row) == report.KEYS and row["ns"] == 2 and row["seconds"] > 0
        assert (row["points"] == 300) != row["case"].startswith("UV")  # two-phase points alone
        if row["case"].startswith("UV"):
            assert row["max_rel_diff"] < phases.TOLERANCE_T and 100 < row["points"] < 250
    beside = [row for row in rows if row["rival"]]
    assert [row["rival"] for row in beside] == 2 * rivals
    assert all(row["ratio"] > 1 and row["max_rel_diff"] < 1e-3 for row in beside)
    assert "0 not found" in shown and "teqp is left out" in shown


@pytest.fixture
def phase_subject():
    """64 random states of two species with their results at T, p."""
    state = phases.states(2, 64, "random")
    found = phases.mixture(2).properties(f"vol beta {phases.STATE}", backend="cpu", **state)
    return phases.Subject(2, "random", state, found)


class Flash(phase_rivals.Rival):
    """A rival that is the layer, with an error of beta, or with one phase everywhere."""

    name, tolerance = "flash", 1e-5

    def __init__(self, off=0.0, one=False):
        self.off, self.one = off, one

    def flash(self, T, p, X):
        return phases.mixture(2).properties("beta phases_status", T=T, p=p, X=X, backend="cpu")

    def read(self, found):
        return found["phases_status"] == 1 and not self.one, 1 - found["beta"] + self.off


def test_phases_of_a_device_are_compared(phase_subject):
    """A GPU's results beside the CPU's: here the CPU's own, then with an error in vol, then with another status."""
    assert phases.check_on_cpu(phase_subject) < 1e-12
    right = phase_subject.found
    for name, wrong in (("vol", right["vol"] * (1 + 1e-5)), ("phases_status", 1 - right["phases_status"])):
        phase_subject.found = {**right, name: wrong}
        with pytest.raises(timing.WrongValues, match="Nothing was timed"):
            phases.check_on_cpu(phase_subject)


def test_phases_that_differ_are_refused(phase_subject):
    """Another number of phases, another beta, a start that is lost. A share of the other phase is no difference."""
    assert phases.check_rival(phase_subject, Flash(off=1e-7)).error == pytest.approx(1e-7, rel=1e-3)
    for wrong in (Flash(one=True), Flash(off=1e-3)):
        with pytest.raises(timing.WrongValues, match="NS = 2, random: flash has another number of phases"):
            phases.check_rival(phase_subject, wrong)

    T = np.array([300.0, 400.0])
    right = {"phases_status": np.ones(2), "T": T}
    assert phases.check_warm(phase_subject, T, right) == (1.0, 0.0)
    for wrong in (
        {"T": T * (1 + 1e-6)},
        {"phases_status": np.array([1.0, 2.0])},
        {"phases_status": np.full(2, 2.0)},
        {"T": T * np.nan},
    ):
        with pytest.raises(timing.WrongValues, match="found again, T off by"):
            phases.check_warm(phase_subject, T, {**right, **wrong})


@pytest.mark.parametrize(
    "arguments, words",
    [
        ("--ns 1,2", "--ns [1]: bench phases wants 2 to 10"),
        ("--ns 11", "--ns [11]"),
        ("--mixture a.yaml", "--mixture: bench phases has species of its own"),
    ],
)
def test_phases_refuses(arguments, words, capsys):
    assert main(["bench", "phases", *arguments.split()]) == 1
    assert words in capsys.readouterr().err


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
    } <= what
    for row in rows:
        assert tuple(row) == report.KEYS and row["seconds"] > 0 and row["bench"] == "launch"
        assert (row["ratio"] is None) == (row["rival"] is None)


# ---- what the bounds are made of


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
        assert {e["name"] for e in events if e["ph"] == "X"} == {"block in", "thermal_viscous", "block out"}


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


def test_operations_of_a_formula():
    """With s = -p_v cp and r = 1/sqrt(s cv): gamma = cp r (s r), c = vol (s r). Two choices: NaN where cp or cv is
    negative."""
    mix = Mixture(species_set(1))
    cost = counting.cost(
        mix,
        ["gamma", "c"],
        {"cp": np.full(100, 1400.0), "cv": np.full(100, 1e3), "p_v": np.full(100, -1e5), "vol": np.ones(100)},
    )

    assert {kind: count for kind, count in cost.operations.items() if count} == {
        "add": 1,
        "multiply": 6,
        "divide": 1,
        "root": 1,
        "choice": 2,
    }
    assert cost.bytes == 6 * 8 and cost.flops == 7


def test_single_precision_is_counted_apart():
    """Takahashi's factor from its table is worked on in single precision: of each pair twelve operations for the two
    cubics, and some to find them. Without the factor there is none."""
    state = inputs.states(4, 64) | {"rho": np.full(64, 10.0)}

    def operations(takahashi):
        mix = inputs.mixture(4, "none", takahashi=takahashi)
        return counting.cost(mix, collections["viscous"].outputs, state).operations

    with_factor, without = operations("smooth"), operations("off")
    assert without["narrow"] == without["narrow_divide"] == 0
    assert 12 * 6 < with_factor["narrow"] < 30 * 6 and with_factor["narrow_divide"] == 2 * 6


def test_bound_is_the_slowest_roof():
    """On a CPU the divider and the rest overlap; on a GPU divisions add to the rest, and single precision overlaps."""
    kinds = ("divide", "root", "exp", "log", "cube_root", "start", "narrow", "narrow_divide")
    operations = dict.fromkeys(counting.KINDS, 0.0) | {"add": 4e3, "divide": 3e3, "narrow": 2e3, "narrow_divide": 2e3}
    cost = counting.Cost(operations, 0)
    moved = []

    def memory(reads, writes, points):
        moved.append((reads, writes, points))
        return 1e-3

    roofs = {
        divider: ceilings.Ceilings(1.0, dict.fromkeys(kinds, 1.0), memory, divider).bound(cost, 3, 2, 100, 4)
        for divider in (True, False)
    }
    assert roofs[True] == (pytest.approx(1 / 6e3), "arithmetic")  # 4e3 + 2e3, beside 5e3 of the divider
    assert roofs[False] == (pytest.approx(1 / 7e3), "arithmetic")  # 4e3 + 3e3, beside 4e3 in single precision
    assert moved == [(3, 2, 50)] * 2  # half of a hundred doubles

    quick = ceilings.Ceilings(1e12, dict.fromkeys(kinds, 1e12), memory, True)
    assert quick.bound(cost, 3, 2, 100) == (pytest.approx(1e5), "memory")


def test_operations_grow_as_the_sums_do():
    """Without k_ij the equation of state is linear in NS; with a dense one a pair costs 2 multiply-adds or a little
    more."""

    def flops(ns, kij):
        state = inputs.states(ns, 64)
        state["T"] = np.full(64, 600.0)  # one branch of the polynomials, and alpha does not bend
        return counting.cost(inputs.mixture(ns, kij), collections["thermal"].outputs, state).flops

    few, more, most = (np.array([flops(ns, kij) for kij in ("none", "dense")]) for ns in (10, 30, 50))
    second = most - 2 * more + few

    assert abs(second[0]) < 1 and 4 * 20**2 * 0.9 < second[1] < 5 * 20**2
    assert flops(50, "dense") > 2 * flops(50, "lowrank") > 2 * flops(50, "none")


def test_cubic_fit():
    """Known coefficients come back; none is negative, whatever the times."""
    ns = np.array(scaling.NS)
    assert scaling.cubic(ns, 1e-9 * (8 + 2 * ns + 0.5 * ns**2.0 + 1e-3 * ns**3.0)) == pytest.approx(
        [8e-9, 2e-9, 5e-10, 1e-12], rel=1e-6
    )
    assert scaling.cubic(ns, 1e-9 * (5 + 3 * ns)) == pytest.approx([5e-9, 3e-9, 0, 0], abs=1e-18)
    assert (scaling.cubic(ns, 1e-9 * (50 - 0.1 * ns)) >= 0).all()


def test_species_of_any_number():
    """Species s is the same at every NS; the constants are the parent's to 10 %."""
    most = inputs.species(60)
    assert len(set(most.names)) == 60 and inputs.species(1).names == ("CH4",)

    for ns in (1, 10, 33):
        assert np.array_equal(inputs.species(ns).Tc, most.Tc[:ns])
    assert np.all(np.abs(most.Tc[10:20] / most.Tc[:10] - 1) < 0.1) and np.any(most.Tc[10:20] != most.Tc[:10])

    for kij, structure in (("none", "none"), ("dense", "dense"), ("lowrank", "lowrank"), ("sparse", "sparse")):
        assert inputs.mixture(50, kij, takahashi="off").facts["k_ij"] == structure


def array_functions(be, monkeypatch):  # noqa: F811
    """Gives a stand-in the array functions of NumPy that the expressions call."""
    for name in ("where", "maximum", "sqrt", "log", "sign", "cos", "arccos", "cbrt", "copyto"):
        if not hasattr(be.arrays, name):
            monkeypatch.setattr(be.arrays, name, getattr(np, name), raising=False)


def test_rivals_on_a_device(be, monkeypatch):  # noqa: F811
    """Unfused launches and array expressions against the fused launch."""
    array_functions(be, monkeypatch)
    roofs = ceilings.measure(be, 1e-3)

    assert roofs.flops > 0 and all(rate > 0 for rate in roofs.rates.values())

    rivals = properties.Unfused(be), expressions.Cupy(be)
    how = timing.Conditions(be, roofs, points=200, repeats=1, rivals=rivals)
    rows = properties.measure(properties.CASES[0], inputs.mixture(3, "dense", takahashi="off"), "dense", how)

    assert rows[0].rival == "unfused launches" and rows[1].rival == "CuPy expressions"
    assert all(row.ratio > 0 and row.bound > 0 and row.max_rel_diff < properties.TOLERANCES["double"] for row in rows)


def test_kinetics_on_a_device(be, monkeypatch, tmp_path):  # noqa: F811
    """Rates of the device's arrays, beside rivals on the host."""
    pytest.importorskip("cantera")
    array_functions(be, monkeypatch)
    path = dict(kinetics.files(tmp_path))["h2o2"]
    mixture = Mixture.from_yaml(path, equation="ideal", takahashi="off")
    there = bool(shutil.which("gfortran"))  # a machine with a GPU may have none
    rivals = (kinetics.Fortran("reduced", "-Ofast"),) if there else ()
    how = timing.Conditions(be, ceilings.measure(be, 1e-3), points=300, repeats=1, rivals=rivals, kind="smooth")

    rows = kinetics.measure("h2o2", mixture, path, how)

    assert [row.rival for row in rows] == ["gfortran -Ofast, reduced"] * there + ["Cantera from Python"]
    assert all(row.ratio > 0 and row.bound > 0 and 0 < row.max_rel_diff < kinetics.TOLERANCE for row in rows)


@pytest.mark.full
def test_programs_of_rates_on_a_device(be, monkeypatch, tmp_path):  # noqa: F811
    """Collections and slopes of rates, of an ideal and of a real gas."""
    array_functions(be, monkeypatch)
    mixture = Mixture.from_yaml(dict(kinetics.files(tmp_path))["h2o2"], equation="ideal", takahashi="off")
    how = timing.Conditions(be, ceilings.measure(be, 1e-3), points=40, repeats=1, kind="smooth")

    rows = kinetics.programs("h2o2", mixture, how)

    assert [row.case for row in rows] == [f"h2o2: {name}" for name in kinetics.PROGRAMS]
    assert all(row.points_per_s > 0 and 0 < row.max_rel_diff < kinetics.TOLERANCE for row in rows)

    monkeypatch.setattr(kinetics, "PROGRAMS", {"omega, rho": kinetics.PROGRAMS["omega, rho"]})
    real = Mixture.from_yaml(mechanisms.path(), "real", takahashi="off")
    rows = kinetics.programs("real", real, how)

    assert [row.case for row in rows] == ["real: omega", "real: omega, rho"]
    assert all(row.points_per_s > 0 and 0 < row.max_rel_diff < kinetics.TOLERANCE for row in rows)


@pytest.mark.full
def test_reactors_on_a_device(be, monkeypatch, tmp_path):  # noqa: F811
    pytest.importorskip("cantera")
    array_functions(be, monkeypatch)
    rows, _ = of_reactors(be, monkeypatch, tmp_path)

    assert len(rows) == 4 and all(row.ratio > 0 and row.max_rel_diff < 1e-5 for row in rows)


def test_work_of_phases_on_a_device(be):  # noqa: F811
    """Inputs are put back before a launch, results have the points alone. The program of one phase, beside the CPU."""
    state = phases.states(2, 300, "ordered")
    work = phases.Work(phases.CALLS["thermal, one phase"].program(2, be), state)
    work.arrays["T"][...] = np.nan

    found = work.results()
    wanted = phases.mixture(2, "single").properties(list(found), backend="cpu", **state)
    assert found.keys() == set(phases.CALLS["thermal, one phase"].outputs.split()) and work.seconds() > 0
    for name, values in found.items():
        assert values.shape == (300,)
        np.testing.assert_allclose(values, wanted[name], rtol=1e-8)  # c and slopes near the ridge amplify rounding


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
