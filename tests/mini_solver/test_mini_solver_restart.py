"""The mini solver's ends and restarts: queued steps, signals, restart files that do not fit, flows that fail."""

import fcntl
import io
import os
import select
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from mini_solver_runs import SMALL, broken, command, restart_of, same, small
from mixtures_for_tests import ROOT

from examples.mini_solver import verify
from examples.mini_solver.__main__ import main
from examples.mini_solver.case import Case
from examples.mini_solver.errors import CaseError, FlowError
from examples.mini_solver.flow import Flow
from examples.mini_solver.restart import read_restart, refuse_restart
from examples.mini_solver.run import Run

h5py = pytest.importorskip("h5py")


def waves(scheme, queue=1):
    """A smooth viscous flow of CH4 and O2 between walls, with formulas that take no time."""
    case = dict(T="250 + 60*sin(6e5*x)", p="1e7*(1 + 0.05*sin(6e5*x))", u=20, v="5*cos(6e5*x)")
    case["X"] = {"O2": 0.5, "CH4": 0.5}
    f = verify.flow_of(
        [12, 8],
        [0.0] * 2,
        [1e-5] * 2,
        case,
        1e-9,
        mixture={"file": verify.CH4_O2, "species": ["CH4", "O2"]},
        boundary={"y_low": {"kind": "wall", "T": 200.0}, "y_high": {"kind": "outlet", "p": 1e7}},
        viscous=True,
        scheme=scheme,
    )

    f.queue = queue

    return f


@pytest.mark.parametrize("scheme", ["double_flux", "apec"])
@pytest.mark.long(scheme="apec")
def test_any_number_of_queued_steps_gives_the_same_bits(scheme):
    """Steps that are queued beyond the time asked for change nothing: neither fields nor balances."""
    ends = [1.3e-9, 1.31e-9, 2.9e-9]
    alone = waves(scheme)
    for end in ends:
        while alone.time < end * (1 - 1e-12):
            alone.step(end - alone.time)

    for queue in (3, 50):
        f, calls = waves(scheme, queue), []
        for end in ends:
            while f.time < end * (1 - 1e-12):
                calls.append(f.advance(queue, end, end * (1 - 1e-12)))

        assert (f.time, f.steps, f.dt, f.cfl) == (alone.time, alone.steps, alone.dt, alone.cfl)
        assert same(alone.state(), f.state()) and np.array_equal(alone.balance.passed(), f.balance.passed())
        assert sum(calls) == f.steps and min(calls) < queue  # some of them had steps to spare

    assert f.steps > 5


def test_a_run_that_queues_steps_writes_the_same_files(tmp_path):
    for queue in (1, 5):
        case = Case.from_file(small(tmp_path, steps=9, restart=4))
        case.parallel["queue"], case.output["fields_time"], case.output["history"] = queue, 5e-8, 2
        assert Run(case, folder=tmp_path / str(queue), out=io.StringIO())() == 0

    one, five = (tmp_path / str(queue) for queue in (1, 5))
    assert same(restart_of(one), restart_of(five))
    names = [sorted(p.name for p in folder.iterdir()) for folder in (one, five)]
    assert names[0] == names[1] and sum(n.startswith("fields-") for n in names[0]) > 3

    for name in (n for n in names[0] if n.endswith(".h5")):
        with h5py.File(one / name) as a, h5py.File(five / name) as b:
            assert all(np.array_equal(a[key][()], b[key][()]) for key in a), name


@pytest.mark.parametrize("scheme", ["double_flux", "apec"])
@pytest.mark.long(scheme="apec")
def test_a_flow_that_fails_among_queued_steps_stays_there(scheme):
    """The message names the same time and the same step as where steps are made one by one."""
    told, states = [], []
    for queue in (1, 20):
        f = waves(scheme, queue)
        f.take(2)
        state = f.state()
        state["U"][f.ns][0, 4, 7] *= 4e3  # its velocity becomes 80 km/s
        state["Q"][0][0, 4, 7] *= 4e3
        f.set_state(state["U"], state["Q"])
        with pytest.raises(FlowError, match="it began there") as caught:
            f.take(20)
        told.append(str(caught.value))
        states.append((f.time, f.steps))

    assert told[0] == told[1] and states[0] == states[1] and 2 < f.steps < 10


@pytest.mark.parametrize(
    "number, ranks", [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGINT, 2)]
)
@pytest.mark.quick(number="SIGHUP", ranks=0)
def test_a_signal_leaves_a_restart_that_continues(tmp_path, number, ranks):
    if ranks and not shutil.which("mpirun"):
        pytest.skip("needs mpirun")
    text = SMALL.format(steps=5000, restart=0, scheme="double_flux")
    (tmp_path / "long.toml").write_text(text)
    words, env = command(tmp_path / "long.toml", "--folder", tmp_path / "long", ranks=ranks)

    taken = signal.signal(number, signal.SIG_DFL)  # tests that nohup began hand on that they ignore SIGHUP
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process = subprocess.Popen(words, env=env, cwd=ROOT, **pipes)
    signal.signal(number, taken)
    lines = []
    while len(lines) < 12:  # it is stepping
        lines.append(process.stdout.readline())
        assert lines[-1], process.stderr.read()

    process.send_signal(number)
    rest, errors = process.communicate(timeout=60)
    assert process.returncode == (1 if ranks else 3) and "continue with --restart" in rest, errors  # 1: mpirun's own
    stopped = restart_of(tmp_path / "long")
    steps = int(stopped["steps"]) + 1
    (tmp_path / "more.toml").write_text(SMALL.format(steps=steps, restart=1, scheme="double_flux"))
    assert (
        main(
            [
                str(tmp_path / "more.toml"),
                "--folder",
                str(tmp_path / "a"),
                "--restart",
                str(tmp_path / "long/restart.h5"),
            ]
        )
        == 0
    )

    assert main([str(tmp_path / "more.toml"), "--folder", str(tmp_path / "b")]) == 0
    assert same(restart_of(tmp_path / "a"), restart_of(tmp_path / "b"))


@pytest.mark.parametrize("kind", ["pipe", "terminal"])
def test_a_signal_ends_a_run_that_nobody_reads(tmp_path, kind):
    """Its reader has stopped and a line waits for room: the run leaves a restart all the same, and ends."""
    (tmp_path / "long.toml").write_text(SMALL.format(steps=100000, restart=0, scheme="double_flux"))
    words, env = command(tmp_path / "long.toml", "--folder", tmp_path / "long", "--set", "output.report=1")
    reader, writer = os.pipe() if kind == "pipe" else os.openpty()

    process = subprocess.Popen(words, env=env, cwd=ROOT, stdout=writer, stderr=subprocess.DEVNULL)
    if kind == "pipe":
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 16384)  # some hundred lines

    os.read(reader, 1)  # the first line: signals are heard from here on
    while select.select([], [writer], [], 0)[1]:  # until nothing more goes into the pipe
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)

    assert process.wait(timeout=60) == 3 and int(restart_of(tmp_path / "long")["steps"]) > 0
    os.close(reader)
    os.close(writer)


def test_a_restart_of_another_case_is_refused(tmp_path, capsys):
    assert main([str(small(tmp_path)), "--folder", str(tmp_path / "a")]) == 0
    shutil.copy(tmp_path / "a/restart.h5", tmp_path / "other.h5")
    with h5py.File(tmp_path / "other.h5", "r+") as file:  # as if of these species in another order
        file.attrs["species"] = list(file.attrs["species"])[::-1]
    shutil.copy(tmp_path / "a/restart.h5", tmp_path / "earlier.h5")
    with h5py.File(tmp_path / "earlier.h5", "r+") as file:  # of a release that did not keep the case
        del file.attrs["case"]
    (tmp_path / "junk.h5").write_bytes(b"not HDF5")

    for name, old, new, told in (
        ("a/restart.h5", "cells = [19, 14, 9]", "cells = [19, 14, 8]", "cells"),
        ("a/restart.h5", "T = 130.0", "T = 131.0", "of another case: boundary.y_low.T = 130.0, the case has 131.0."),
        (
            "a/restart.h5",
            "viscous = true",
            "order = 4",
            "numerics.order = 6, the case has 4; numerics.viscous = True, the",
        ),
        ("earlier.h5", "T = 130.0", "T = 131.0", "of another case: mixture, domain, boundaries, transport and scheme"),
        ("other.h5", "", "", "species"),
        ("junk.h5", "", "", "cannot be read"),
    ):
        case = tmp_path / "case.toml"
        case.write_text(SMALL.format(steps=4, restart=0, scheme="double_flux").replace(old, new))
        assert main([str(case), "--folder", str(tmp_path / "b"), "--restart", str(tmp_path / name)]) == 1
        assert told in capsys.readouterr().err


def test_a_restart_of_a_mixture_that_was_edited_is_refused(tmp_path, capsys, monkeypatch):
    """The case file is the same; its mixture's file, or the default models, are others."""
    mixture = tmp_path / "ch4_o2.yaml"
    mixture.write_text((ROOT / "examples/mixtures/ch4_o2.yaml").read_text())
    case = tmp_path / "case.toml"
    text = SMALL.format(steps=4, restart=0, scheme="double_flux").replace("examples/mixtures/ch4_o2.yaml", str(mixture))
    case.write_text(text)
    assert str(mixture) in text and main([str(case), "--folder", str(tmp_path / "a")]) == 0
    again = [str(case), "--folder", str(tmp_path / "b"), "--restart", str(tmp_path / "a/restart.h5")]

    with monkeypatch.context() as other:
        other.setenv("FRAME_ACCURACY", "nearest")
        assert main(again) == 1
    assert "numbers or options of the mixture have changed" in capsys.readouterr().err

    mixture.write_text(mixture.read_text().replace("# ", "# read: ", 1))
    assert main([*again, "--set", "time.steps=5"]) == 0

    mixture.write_text(mixture.read_text().replace("0.01142", "0.02142"))
    assert main([*again, "--overwrite"]) == 1
    assert "numbers or options of the mixture have changed" in capsys.readouterr().err


def test_a_restart_at_the_end_of_its_case_says_so(tmp_path):
    case, folder, said = Case.from_file(small(tmp_path)), tmp_path / "a", io.StringIO()
    assert Run(case, folder=folder)() == 0
    before = (folder / "restart.h5").read_bytes()

    assert Run(case, restart=folder / "restart.h5", folder=folder, out=said)() == 0
    assert said.getvalue().splitlines()[-1].startswith("no step: the case ends at or before step 4, t = ")
    assert (folder / "restart.h5").read_bytes() == before


def test_a_damaged_restart_is_refused_or_whole(tmp_path):
    """Bytes changed or cut off: the project's own error, or, where nothing of use was hit, the very state; never other
    numbers."""
    assert main([str(small(tmp_path, steps=2)), "--folder", str(tmp_path / "a")]) == 0

    raw, whole = (tmp_path / "a/restart.h5").read_bytes(), restart_of(tmp_path / "a")
    random, refused = np.random.default_rng(8), 0
    f = Flow(Case.from_file(small(tmp_path)))
    for n in range(200):
        damaged = bytearray(raw)
        if n % 5 == 0:
            del damaged[random.integers(len(raw)) :]

        for _ in range(random.integers(1, 5)):
            near = (
                (random.integers(len(damaged)), min(random.integers(4000), len(damaged) - 1))[n % 2]
                if damaged
                else None
            )
            if damaged:
                damaged[near] = random.integers(256)

        (tmp_path / "bad.h5").write_bytes(bytes(damaged))

        f.balance.start = f.sums()
        try:
            refuse_restart(f, tmp_path / "bad.h5")
            read_restart(f, tmp_path / "bad.h5")
        except CaseError as error:
            assert "bad.h5" in str(error)
            refused += 1
        else:
            state = f.state() | {"time": f.time, "steps": f.steps, "dt": f.dt}
            assert same(whole, state)  # the bytes were changed to what they were, or HDF5 had all of its own

    assert refused > 180, refused


def test_a_full_disk_ends_the_run_in_a_line_and_keeps_the_last_restart(tmp_path):
    """Files may have 300 kB: a restart of the smaller grid fits, the larger one's does not. HDF5 itself would crash."""
    limits = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))"
    small_case = (small(tmp_path), "--folder", tmp_path / "out", "--set", "output.averages=0")
    assert broken(tmp_path, small_case, limits, 0).returncode == 0
    kept = restart_of(tmp_path / "out")
    large = (*small_case, "--overwrite", "--set", "domain.cells=[40, 30, 20]")
    done = broken(tmp_path, large, limits, 0)
    assert done.returncode == 1 and "cannot be written: File too large" in done.stderr
    told = [line for line in done.stderr.splitlines() if not line.startswith("frame: compiling")]
    assert len(told) == 1 and same(kept, restart_of(tmp_path / "out"))
    assert not list((tmp_path / "out").glob("*.part"))


@pytest.mark.parametrize("scheme", ["double_flux", "apec"])
def test_a_flow_that_fails_names_the_cell_where_it_began(scheme):
    """A state that no scheme survives begins in one cell. A step spreads it; the message names the first."""
    f = verify.flow_of([40], [0.0], [1.0], dict(T=300, p=1e7, u=10), 1e-3, limiter=False, scheme=scheme)
    f.step()
    state = f.state()
    state["U"][f.ns][0, 0, 23] *= 4e3  # its velocity becomes 40 km/s
    state["Q"][0][0, 0, 23] *= 4e3
    f.set_state(state["U"], state["Q"])

    with pytest.raises(FlowError, match=r"step \d+, t = .*cell \(2[234], 0, 0\) at .*it began there(.|\n)*rho"):
        for _ in range(5):
            f.step()


def test_a_run_that_fails_leaves_status_1_and_its_last_good_restart(tmp_path, capsys, monkeypatch):
    case = small(tmp_path, steps=6, restart=2)

    advance, folder = Flow.advance, tmp_path / "out"

    def spoilt(self, *given):
        if self.steps == 3:
            self.block.interior("momentum")[0, 4, 5, 6] = np.nan
            self.block.interior("Q")[0, 4, 5, 6] = np.nan
        return advance(self, *given)

    monkeypatch.setattr(Flow, "advance", spoilt)
    assert main([str(case), "--folder", str(folder)]) == 1
    told = capsys.readouterr().err
    assert "the run failed" in told and "cell (6, 5, 4)" in told
    with h5py.File(folder / "history.h5") as file:  # all that was known before
        assert list(file["step"]) == [0, 1, 2, 3] and np.isfinite(file["kinetic_energy"]).all()
    assert restart_of(folder)["steps"] == 2 and np.isfinite(restart_of(folder)["U"]).all()


@pytest.mark.parametrize("steps, kept", [(5, (4, 5)), (6, (4, 6))])
def test_the_last_two_restarts_stay(tmp_path, steps, kept):
    """Of two states: the last one is not written twice."""
    assert main([str(small(tmp_path, steps=steps)), "--folder", str(tmp_path)]) == 0
    with h5py.File(tmp_path / "restart-before.h5") as file:
        assert (int(file.attrs["steps"]), int(restart_of(tmp_path)["steps"])) == kept


@pytest.mark.full
def test_a_restart_while_formulas_of_t_change(tmp_path):
    """A restarted run has the same values beyond its sides at the start of a step as the run that is not stopped."""
    path = ROOT / "examples/mini_solver/cases/lox_h2_jet.toml"
    changes = ["domain.cells=[12, 16]", "output.restart=3", "output.frames_time=1.0", "output.report=0"]
    state = {}
    for name, steps, restart in (("half", 3, None), ("rest", 6, tmp_path / "half/restart.h5"), ("whole", 6, None)):
        case = Case.from_file(path, [*changes, f"time.steps={steps}"])
        assert Run(case, folder=tmp_path / name, restart=restart, out=io.StringIO())() == 0
        state[name] = restart_of(tmp_path / name)

    assert state["whole"]["steps"] == 6 and same(state["rest"], state["whole"])


def test_a_formula_that_comes_to_make_no_sense_is_told(tmp_path, capsys):
    """An inlet that turns outward while the flow runs: one line, and the rows of its history stay."""
    case = small(tmp_path, steps=9)
    inlet = '{kind="inlet", velocity=["30 - 1e9*t", 0, 0], T=200.0, X={O2=1.0}}'
    words = ["--set", f"boundary.x_low={inlet}", "--set", "boundary.x_high={kind='outlet', p=1e7}"]
    assert main([str(case), "--folder", str(tmp_path / "out"), *words]) == 1
    compiling = "frame: compiling kernels"  # a line of the layer, where no run before has filled its cache
    told = [line for line in capsys.readouterr().err.splitlines() if not line.startswith(compiling)]
    assert len(told) == 1 and "x_low: an inlet, but its velocity" in told[0]
    with h5py.File(tmp_path / "out/history.h5") as file:
        assert list(file["step"])[0] == 0 and np.isfinite(file["kinetic_energy"]).all()
