"""The mini solver on several ranks: the same bits on any number of them, a rank that fails, scaling."""

import json
import shutil

import numpy as np
import pytest
from mini_solver_runs import broken, restart_of, run, same, small
from mixtures_for_tests import ROOT

from examples.mini_solver.__main__ import main
from examples.mini_solver.errors import CaseError
from examples.mini_solver.ranks import Ranks, choose_grid, share

h5py = pytest.importorskip("h5py")


def test_blocks_and_grids():
    assert [share(11, 3, k) for k in range(3)] == [(0, 4), (4, 4), (8, 3)]
    assert choose_grid(4, (64, 64, 1), 2) in ((2, 2, 1), (1, 4, 1), (4, 1, 1))
    assert int(np.prod(choose_grid(12, (100, 20, 30), 3))) == 12
    with pytest.raises(CaseError, match="fewer than 3 cells"):
        choose_grid(7, (16, 1, 1), 1)
    with pytest.raises(CaseError, match="makes 6 ranks; the run has 4"):
        choose_grid(4, (64, 64, 1), 2, (2, 3))


@pytest.mark.skipif(not shutil.which("mpirun"), reason="needs mpirun")
@pytest.mark.parametrize("scheme, numbers", [("double_flux", ()), ("double_flux", (2, 4)), ("apec", (2, 3))])
@pytest.mark.quick(numbers=())
def test_the_same_bits_on_any_number_of_ranks_and_across_restarts(tmp_path, scheme, numbers):
    """Files of several ranks hold what those of one do: rank 0 writes them, or all ranks together where h5py has
    parallel HDF5. Two ranks go half the way and three the rest, in one folder; each of `numbers` goes all of it."""
    pytest.importorskip("mpi4py")
    case = small(tmp_path, scheme=scheme)
    case.write_text(case.read_text() + "fields = 2\n")

    assert main([str(case), "--folder", str(tmp_path / "one")]) == 0
    one = restart_of(tmp_path / "one")
    names = [path.name for path in (tmp_path / "one").glob("*.h5") if path.name != "history.h5"]  # which has sums

    assert {"averages.h5", "fields-00000002.h5", "restart.h5"} < set(names)
    half = tmp_path / "half.toml"
    half.write_text(case.read_text().replace("steps = 4", "steps = 2"))

    assert run(half, "--folder", tmp_path / "half", ranks=2).returncode == 0

    whole = [("half", 3, ("--restart", tmp_path / "half/restart.h5")), *((f"r{n}", n, ()) for n in numbers)]
    for folder, ranks, words in whole:
        done = run(case, "--folder", tmp_path / folder, *words, ranks=ranks)
        assert done.returncode == 0, done.stderr

        for name in names:
            with h5py.File(tmp_path / "one" / name) as a, h5py.File(tmp_path / folder / name) as b:
                assert list(a) == list(b) and all(a[k].dtype == b[k].dtype for k in a)
                assert all(np.array_equal(a[k][:], b[k][:]) for k in a), f"{ranks} ranks: {name}"

        with h5py.File(tmp_path / folder / "history.h5") as file:
            assert list(file["step"]) == [0, 1, 2, 3, 4]
        assert same(one, restart_of(tmp_path / folder))


AROUND = """
[mixture]
file = "examples/mixtures/ch4_o2.yaml"
species = ["CH4", "O2"]
[domain]
cells = [20, 18]
upper = [2e-3, 1e-3]
axisymmetric = true
stretch = {y = "s + 0.3*s*s"}
[initial]
p = 100e5
T = 300.0
X = {CH4 = 1.0}
[[boundary.x_low]]
kind = "inlet"
where = "y < 0.25e-3"
velocity = ["30*minimum(t/1e-6, 1)", 0, 0]
T = 120.0
Y = {O2 = 1.0}
[[boundary.x_low]]
kind = "wall"
[boundary.x_high]
kind = "outlet"
p = 100e5
[boundary.y_low]
kind = "slip_wall"
[boundary.y_high]
kind = "wall"
T = 400.0
[numerics]
viscous = true
[time]
steps = 40
[output]
report = 20
restart = 40
"""


@pytest.mark.skipif(not shutil.which("mpirun"), reason="needs mpirun")
@pytest.mark.parametrize("what", ["shipped", "around an axis"])
@pytest.mark.full
def test_a_jet_has_the_same_bits_on_several_ranks(tmp_path, what):
    """Several boundaries on a side, formulas of t, limited cells at the ranks' sides, a stretched grid; so have its
    balances."""
    pytest.importorskip("mpi4py")

    if what == "shipped":
        case, ranks = ROOT / "examples/mini_solver/cases/lox_h2_jet.toml", [3, 1]
        changes = ["domain.cells=[24, 16]", "time.steps=30", "output.restart=30", "output.frames_time=1.0"]
        changes.append('domain.stretch={x="exp(s)"}')
    else:
        case, ranks, changes = tmp_path / "jet.toml", [2, 2], []
        case.write_text(AROUND)

    words = [case, *(w for c in changes for w in ("--set", c))]
    assert main([*map(str, words), "--folder", str(tmp_path / "one")]) == 0

    done = run(*words, "--folder", tmp_path / "many", "--set", f"parallel.ranks={ranks}", ranks=int(np.prod(ranks)))
    assert done.returncode == 0, done.stderr
    assert same(*(restart_of(tmp_path / name) for name in ("one", "many")))

    a, b = (h5py.File(tmp_path / name / "restart.h5").attrs["passed"] for name in ("one", "many"))
    assert np.abs(a - b).max() <= 1e-14 * np.abs(a).max()  # sums over the faces, in another order


@pytest.mark.skipif(not shutil.which("mpirun"), reason="needs mpirun")
def test_a_rank_that_fails_ends_the_run_and_leaves_the_last_restart(tmp_path):
    pytest.importorskip("mpi4py")
    case = small(tmp_path, steps=6)
    done = broken(
        tmp_path,
        (case, "--folder", tmp_path / "out"),
        """
advance = flow.Flow.advance
def tired(self, *given, **how):
    if self.steps == 3 and self.ranks.rank == 1:
        raise RuntimeError("this rank has had enough")
    return advance(self, *given, **how)
flow.Flow.advance = tired""",
        2,
    )

    assert done.returncode != 0 and "had enough" in done.stderr
    assert restart_of(tmp_path / "out")["steps"] == 2
    assert main([str(case), "--folder", str(tmp_path / "on"), "--restart", str(tmp_path / "out/restart.h5")]) == 0
    assert main([str(case), "--folder", str(tmp_path / "whole")]) == 0
    assert same(restart_of(tmp_path / "on"), restart_of(tmp_path / "whole"))


@pytest.mark.skipif(not shutil.which("mpirun"), reason="needs mpirun")
@pytest.mark.full
def test_scaling_measures_and_compares_bits(tmp_path):
    pytest.importorskip("mpi4py")
    done = run("scaling", "--cells", 9, "--steps", 2, "--json", tmp_path / "rows.json", ranks=3)
    assert done.returncode == 0, done.stdout + done.stderr

    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert [(r["kind"], r["ranks"]) for r in rows] == [(k, n) for k in ("strong", "weak") for n in (1, 2, 3)]

    strong, weak = rows[:3], rows[3:]
    assert {tuple(r["cells"]) for r in strong} == {(9, 9, 9)} and [int(np.prod(r["cells"])) for r in weak] == [
        729,
        1458,
        2187,
    ]

    assert len({r["digest"] for r in strong}) == 1 and done.stdout.count(" same") == 3

    for group in (strong, weak):
        for r in group:
            assert r["rate"] == pytest.approx(np.prod(r["cells"]) / r["step"])
            assert r["efficiency"] == pytest.approx(r["rate"] / group[0]["rate"] / r["ranks"])

            shares = [r[n] for n in ("properties", "fluxes", "exchange", "update", "rest")]
            # parts of one time; a timer holds a little of what it is read with
            assert (
                sum(shares) == pytest.approx(1)
                and min(shares) > 0
                and (r["ranks"] == 1) == (r["exchange_way"] == "none")
            )

    text = "digest = scaling.digest\nscaling.digest = lambda f: digest(f)[:-1] + str(f.ranks.size)"
    done = broken(tmp_path, ("scaling", "--cells", 8, "--steps", 1), text, 2)
    assert done.returncode != 0 and "OTHER" in done.stdout and "do NOT give the same bits" in done.stdout


@pytest.mark.skipif(not shutil.which("mpirun"), reason="needs mpirun")
def test_ranks_with_the_same_error_tell_it_once(tmp_path):
    pytest.importorskip("mpi4py")
    done = run(small(tmp_path), "--set", "numerics.cfll=1", ranks=2)
    assert done.returncode == 1 and "Traceback" not in done.stderr

    told = [line for line in done.stderr.splitlines() if line.startswith("python -m examples.mini_solver")]
    assert len(told) == 1 and "unknown key 'cfll', did you mean 'cfl'" in told[0], done.stderr


def test_processes_that_are_no_ranks_of_one_run_are_refused(tmp_path):
    """The launcher of another MPI than mpi4py's starts runs of one rank, which would write the same files."""
    pytest.importorskip("mpi4py")
    done = run(small(tmp_path), "--folder", tmp_path / "out", PMI_SIZE="2", OMPI_COMM_WORLD_SIZE="2")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "the launcher has started 2 processes, and mpi4py, which runs" in done.stderr
    assert "sees one rank: take the mpirun of that MPI." in done.stderr and not (tmp_path / "out").exists()


class Stranger:
    """Answers as an intercommunicator and the null communicator, without an MPI."""

    rank, size, allgather, Isend = 0, 1, None, None

    def __init__(self, null=False):
        self.null = null

    def __bool__(self):
        return not self.null

    def Is_inter(self):
        return True


@pytest.mark.parametrize(
    "comm, words",
    [(5, "comm = 5; wanted None, or a communicator of mpi4py"), (Stranger(), "is an intercommunicator"),
     (Stranger(null=True), "is the null communicator: this rank takes no part")],
    ids=["number", "intercommunicator", "null"],
)  # fmt: skip
def test_what_is_no_communicator_is_refused(comm, words):
    with pytest.raises(CaseError, match=words):
        Ranks(None, comm)  # before it looks at a case
