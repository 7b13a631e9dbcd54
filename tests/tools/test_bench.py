"""`python -m frame bench`: complete rows, refusal of wrong values, right counts and fits. Speed is not judged."""

import dataclasses
import shutil

import mechanisms_for_tests as mechanisms
import numpy as np
import pytest
from bench_cases import SMALL, array_functions, ran
from device_for_tests import be  # noqa: F401  the fixture: a stand-in, or with -m gpu the device
from hosts import ROOT
from mixtures_for_tests import changed, species_set

from frame.tools.bench import (
    ceilings,
    expressions,
    fortran,
    inputs,
    kinetics,
    properties,
    reactors,
    report,
    threads,
    timing,
)
from frame.tools.cli import main
from kernels import Mixture, get_backend


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


@pytest.mark.full
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
        assert 0 < row["max_rel_diff"] < kinetics.TOLERANCE
        assert row["bound_fraction"] > 0  # above 1 where other work slowed the roof's measurement more than the row's

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


@pytest.mark.full
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
    """Rates of the device's arrays, beside rivals on the host. Cantera's time is a difference of two, which the load of
    a machine may make negative."""
    pytest.importorskip("cantera")
    array_functions(be, monkeypatch)
    path = dict(kinetics.files(tmp_path))["h2o2"]
    mixture = Mixture.from_yaml(path, equation="ideal", takahashi="off")
    there = bool(shutil.which("gfortran"))  # a machine with a GPU may have none
    rivals = (kinetics.Fortran("reduced", "-Ofast"),) if there else ()
    how = timing.Conditions(be, ceilings.measure(be, 1e-3), points=300, repeats=1, rivals=rivals, kind="smooth")

    rows = kinetics.measure("h2o2", mixture, path, how)

    assert [row.rival for row in rows] == ["gfortran -Ofast, reduced"] * there + ["Cantera from Python"]
    assert all(row.bound > 0 and 0 < row.max_rel_diff < kinetics.TOLERANCE for row in rows)
    assert all(row.ratio > 0 for row in rows[:-1]) and np.isfinite(rows[-1].ratio)


@pytest.mark.full
def test_programs_of_rates_on_a_device(be, monkeypatch, tmp_path):  # noqa: F811
    """Collections and slopes of rates, of an ideal and of a real gas."""
    pytest.importorskip("cantera")  # has the files
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
