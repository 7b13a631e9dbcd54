"""Files that a run of the mini solver leaves, whenever it ends: the last state, a restart, files for other programs."""

import io
import os
import shlex
import signal
import subprocess
import time

import numpy as np
import pytest
from mini_solver_runs import command, restart_of, same, small
from mixtures_for_tests import ROOT

from examples.mini_solver import restart as restarts
from examples.mini_solver.case import Case
from examples.mini_solver.errors import CaseError, OutputError
from examples.mini_solver.flow import Flow
from examples.mini_solver.pictures import Maps, Scene, look
from examples.mini_solver.run import Run

h5py = pytest.importorskip("h5py")

WAVE = dict(
    mixture={"file": "examples/mixtures/n2.yaml"},
    domain=dict(cells=[12, 10], upper=[1.0, 1.0]),
    initial=dict(p=5e6, T="300 + 20*sin(2*pi*x)", u=50, v=-20),
    time={"steps": 5},
)


class Killed(BaseException):
    """The process ends here."""


def test_a_restart_is_there_whenever_the_run_is_killed(tmp_path, monkeypatch):
    """The run ends at its first, second, ... operation on a file. From the first restart on there always is a complete
    one, and the run that goes on from it has the bits of a whole run."""
    case = dict(WAVE, time={"steps": 3}, output=dict(restart=1, report=0))
    assert Run(Case(case), folder=tmp_path / "whole", out=io.StringIO())() == 0

    found = set()
    for last in range(1, 200):
        folder, count = tmp_path / str(last), 0

        def ends(operation, last=last):
            def run(*given, **more):
                nonlocal count
                count += 1
                if count == last:
                    raise Killed
                return operation(*given, **more)

            return run

        run = Run(Case(case), folder=folder, out=io.StringIO())
        with monkeypatch.context() as patch:
            for name in ("replace", "link", "fsync"):
                patch.setattr(os, name, ends(getattr(os, name)))
            try:
                assert run() == 0
                break
            except Killed:
                pass

        if (folder / "restart.h5").is_file():
            again = Run(Case(case), folder=folder, restart=folder / "restart.h5", out=io.StringIO())
            found.add(again.flow.steps)
            assert again() == 0 and same(restart_of(tmp_path / "whole"), restart_of(folder))
            assert not list(folder.glob("*.part")) and not (folder / restarts.NEW).exists()
        else:
            assert last <= 3, last  # operations of the very first file

    assert found == {0, 1, 2} and last > 12  # the last operation makes the restart of step 3


def test_one_run_at_a_time_writes_into_a_folder(tmp_path):
    """A second run is refused, also with --restart or --overwrite, until the first has ended."""
    case = dict(WAVE, output=dict(restart=1, report=0))
    first = Run(Case(case), folder=tmp_path, out=io.StringIO())
    again = dict(folder=tmp_path, out=io.StringIO(), overwrite=True)

    with pytest.raises(OutputError, match="is in use by a run that has not ended"):
        Run(Case(case), **again)

    assert first() == 0 and Run(Case(case), restart=tmp_path / "restart.h5", **again)() == 0


@pytest.mark.parametrize("end", ["> /dev/full", ">&-", "2>&1 | true"])
@pytest.mark.quick(end="> /dev/full")
def test_a_run_does_not_need_a_terminal(tmp_path, end):
    """Lines that cannot be printed are lost: a closed window, a full disk or a `head` behind it ends no run."""
    words, env = command(small(tmp_path), "--folder", tmp_path / "out")
    line = f"{shlex.join(words)} {end}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], env=env, cwd=ROOT, capture_output=True, text=True, timeout=120)

    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "Error" not in done.stderr and int(restart_of(tmp_path / "out")["steps"]) == 4


@pytest.mark.full
def test_fifty_kills_at_random_moments(tmp_path):
    """SIGKILL while steps and restarts go on: each time the run can be continued."""
    path = small(tmp_path, steps=100000, restart=1)
    random, folder = np.random.default_rng(37), tmp_path / "out"
    steps = [0]

    for number in range(50):
        words, env = command(path, "--folder", folder, *(["--restart", folder / "restart.h5"] if number else []))
        process = subprocess.Popen(words, env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

        for line in process.stdout:
            if line.split() and line.split()[0] == b"step":
                break

        while not number and not (folder / "restart.h5").is_file():
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.6))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        steps.append(int(restart_of(folder)["steps"]))

    assert steps == sorted(steps) and steps[-1] > steps[1]


def test_the_last_state_is_always_written(tmp_path):
    """Five steps with output every third: fields, history, picture and restart of step 5 too; without any output the
    restart alone; with last = false nothing."""
    pytest.importorskip("matplotlib")
    every = dict(fields=3, frames=3, history=3, report=0)
    assert Run(Case(dict(WAVE, output=every)), folder=tmp_path / "all", out=io.StringIO())() == 0

    names = {path.name for path in (tmp_path / "all").iterdir()}
    assert {
        f"{kind}-0000000{step}.{end}" for kind, end in (("fields", "h5"), ("frame", "png")) for step in (0, 3, 5)
    } <= names
    assert restart_of(tmp_path / "all")["steps"] == 5
    with h5py.File(tmp_path / "all/history.h5") as file:
        assert list(file["step"]) == [0, 3, 5]

    run = Run(Case(WAVE), folder=tmp_path / "none", out=io.StringIO())
    assert run() == 0 and [path.name for path in (tmp_path / "none").iterdir()] == ["restart.h5"]
    assert np.array_equal(restart_of(tmp_path / "none")["Q"][0], run.flow.field("u"))

    assert Run(Case(dict(WAVE, output={"last": False})), folder=tmp_path / "off", out=io.StringIO())() == 0
    assert not (tmp_path / "off").exists()


def test_times_of_output_are_off_by_0(tmp_path):
    """0 for a time of output is no output, as 0 steps are; 0 for a step's length is the length that CFL gives."""
    output = dict(frames_time=0, fields_time=0, report=0, last=False)
    case = Case(dict(WAVE, output=output, numerics={"time_step": 0}))
    assert Run(case, folder=tmp_path / "out", out=io.StringIO())() == 0 and not (tmp_path / "out").exists()

    with pytest.raises(CaseError, match=r"frames_time = -1; wanted a number, 0 or more"):
        Case(dict(WAVE, output={"frames_time": -1}))


def test_options_of_a_mixture_reach_the_reader(tmp_path):
    """Each option that decides how the file is read; the name of a wrong option is told."""
    file = "examples/mechanisms/h2_o2.yaml"
    given = dict(file=file, species=["O2", "N2"], phase="real", options={"critical": {"*": "estimate"}})
    mixture = Case(dict(WAVE, mixture=given)).make_mixture()

    assert mixture.species.Tc[0] == pytest.approx(154.6, abs=0.2) and mixture.options["critical"] == "fill"

    given["options"] = {"equation": "ideal", "takahashi": "off"}
    assert Case(dict(WAVE, mixture=given)).make_mixture().options["equation"] == "ideal"


def test_pyvista_opens_the_fields(tmp_path):
    """The index as written: times, units, velocity as a vector."""
    pyvista = pytest.importorskip("pyvista")
    fields(tmp_path)

    reader = pyvista.get_reader(str(tmp_path / "fields.xdmf"))
    assert reader.number_time_points == 2
    reader.set_active_time_value(reader.time_values[0])

    check_velocity(np.asarray(reader.read().cell_data["velocity"]))

    averages = pyvista.get_reader(str(tmp_path / "averages.xdmf")).read()
    with h5py.File(tmp_path / "averages.h5") as file:
        assert set(averages.cell_data.keys()) == set(file)
        assert all(np.array_equal(averages.cell_data[name], data[:]) for name, data in file.items())


def test_meshio_reads_the_velocity(tmp_path):
    meshio = pytest.importorskip("meshio")
    fields(tmp_path)

    with meshio.xdmf.TimeSeriesReader(tmp_path / "fields.xdmf") as reader:
        reader.read_points_cells()
        check_velocity(reader.read_data(0)[2]["velocity"][0])


def fields(tmp_path):
    output = dict(fields=5, history=1, averages=1, probes=[[0.5, 0.5]], precision="double", report=0)
    assert Run(Case(dict(WAVE, output=output)), folder=tmp_path, out=io.StringIO())() == 0


def check_velocity(velocity):
    assert velocity.shape == (120, 3) and np.abs(velocity - [50, -20, 0]).max() < 1e-12


def test_units_and_names_of_rows(tmp_path):
    """Every dataset has its unit; columns of the history have names."""
    fields(tmp_path)

    with h5py.File(tmp_path / "fields-00000000.h5") as file:
        found = {name: data.attrs["units"] for name, data in file.items()}
    assert found == {"rho": "kg/m3", "velocity": "m/s", "p": "Pa", "T": "K"}

    with h5py.File(tmp_path / "history.h5") as file:
        assert all("units" in data.attrs for data in file.values())
        assert list(file["momentum"].attrs["columns"]) == ["x", "y", "z"]
        assert list(file["passed"].attrs["columns"])[:2] == ["mass of N2", "momentum in x"]
        assert len(file["passed"].attrs["units"]) == file["passed"].shape[1]
        assert file["mass"].attrs["units"] == "kg/m" and file["probe_T"].attrs["units"] == "K"


def test_colours_of_signed_fields_are_centred_at_0():
    pytest.importorskip("matplotlib")
    maps = Maps(Scene.of(Case(WAVE)), {name: look(name, "") for name in ("u", "rho")}, ["rho"])

    assert maps.limits("u", np.array([-3.0, 7.0])) == (-7.0, 7.0)
    low, high = maps.limits("rho", np.array([0.0, 100.0]))
    assert low == pytest.approx(1e-4) and high == pytest.approx(100)
    assert all("[" in look(name, "").label for name in ("rho", "u", "p", "T", "mach", "Y_O2"))


@pytest.mark.parametrize(
    "output, told",
    [
        ({"frame": ["Y_O3"]}, "unknown field 'Y_O3'"),
        ({"frame": ["u"], "frame_log": ["u"]}, "two signs"),
        ({"frame": ["T"], "frame_log": ["rho"]}, "'rho' is not drawn"),
        ({"frame": ["rho"], "frame_log": ["rho"], "frame_limits": {"rho": [0, 1]}}, "above 0"),
    ],
)
def test_frames_that_cannot_be_are_refused_before_anything_is_compiled(tmp_path, monkeypatch, output, told):
    monkeypatch.setattr(Flow, "_make_parts", lambda flow: pytest.fail("kernels were compiled"))
    with pytest.raises(CaseError, match=told):
        Run(Case(dict(WAVE, output=output)), folder=tmp_path, out=io.StringIO())


def test_folders_and_restarts_are_refused_before_anything_is_compiled(tmp_path, monkeypatch):
    assert Run(Case(WAVE), folder=tmp_path / "first", out=io.StringIO())() == 0
    kept = restart_of(tmp_path / "first")

    monkeypatch.setattr(Flow, "_make_parts", lambda flow: pytest.fail("kernels were compiled"))
    with pytest.raises(OutputError, match="has results of an earlier run"):
        Run(Case(WAVE), folder=tmp_path / "first", out=io.StringIO())

    other = dict(WAVE, domain=dict(cells=[12, 11], upper=[1.0, 1.0]))
    for case, file, told in (
        (other, "restart.h5", r"another case: cells \[12, 10, 1\], the case has \[12, 11, 1\]"),
        (WAVE, "restarts.h5", "cannot be read .No such file"),
    ):
        with pytest.raises(CaseError, match=told):
            Run(Case(case), folder=tmp_path / "second", restart=tmp_path / "first" / file, out=io.StringIO())

    assert same(kept, restart_of(tmp_path / "first")) and not (tmp_path / "second").exists()
