"""The host's communicator: MPI before and behind its life, ranks that fail in a collective call, ranks that wait."""

import os
import re
import shutil
import subprocess
import sys
import time

import pytest
from hosts import BUILD, MPICH, MPIS, OPENMPI, ROOT, SOURCES, compiled, library, run
from test_interop import N2, RETURN, python_file, told, traps

import kernels
from frame.agreement import other_mixtures

every_mpi = pytest.mark.parametrize("mpi", MPIS, ids=lambda m: m.name)


def test_setcomm_without_mpi_is_refused():
    status, message = told(traps("setcomm"))["setcomm"]
    assert status == 3 and "MPI_INIT" in message


@every_mpi
def test_setcomm_before_mpi_init_is_refused(mpi):
    """MPI's own conversion of the handle would end the process."""
    got = told(traps("setcomm", mpi=mpi))
    assert got["setcomm"][0] == 3 and "MPI_INIT" in got["setcomm"][1]
    assert got["then"][0] == 0


@every_mpi
@pytest.mark.parametrize("case", ["abort", "abort_before_setcomm"])
def test_one_failing_rank_ends_all(mpi, case):
    done = traps(case, mpi=mpi, ranks=2)
    assert done.returncode == 73 and "NOT REACHED" not in done.stdout
    assert "unknown kernel or collection 'nothing'" in done.stderr


@every_mpi
def test_the_hosts_own_mpi_errors_still_stop_it(mpi):
    done = traps("host_error", mpi=mpi, ranks=1)
    assert "setcomm: 0" in done.stdout
    assert done.returncode != 0 and "NOT REACHED" not in done.stdout


@every_mpi
def test_finalize_after_mpi_finalize(mpi):
    done = traps("after_mpi", mpi=mpi, ranks=2)
    assert done.returncode == 0 and done.stdout.count("finalize: 0") == 2, done.stdout + done.stderr


@every_mpi
def test_calls_after_mpi_finalize_are_status_3(mpi):
    got = told(traps("report_after_mpi", mpi=mpi))
    assert [got[call][0] for call in ("setcomm", "report", "again", "finalize")] == [0, 3, 3, 0]
    assert "MPI is finalised" in got["report"][1] and "MPI is finalised" in got["again"][1]


@every_mpi
def test_what_is_no_communicator_is_status_3(mpi):
    """MPI's own answer would end the run. The host's error handlers are as before: its own mistake still stops it."""
    done = traps("junk", mpi=mpi, **RETURN)

    assert done.returncode and "NOT REACHED" not in done.stdout and "right: 0" in done.stdout, done.stdout + done.stderr

    got = dict(re.findall(r"^(.+?): (\d .*)$", done.stdout, re.M))

    assert len(got) == 11

    for call in (*(f"junk {k}" for k in range(1, 8)), "freed", "no val"):
        assert re.match(r"3 .*fcomm = -?[0-9]+ is no communicator; was it freed\?", got[call]), got[call]
        assert got[call].endswith(" Did the caller forget %VAL()?") == (call == "no val"), got[call]

    assert "is the null communicator" in got["null"]
    assert traps("junk_old", mpi=mpi).returncode == 73


@every_mpi
def test_another_communicator_and_then_the_world(mpi, tmp_path):
    code = python_file(
        tmp_path, "import mpi4py.MPI as m\nprint('library ' + m.Get_library_version().split()[0] + '\\n', end='')"
    )
    done = traps("split", code, mpi=mpi, ranks=3)

    assert done.returncode == 0 and done.stdout.count("setcomm: 0") == 6, done.stdout + done.stderr
    assert done.stdout.count("library " + {"openmpi": "Open", "mpich": "MPICH"}[mpi.name]) == 3


def test_a_serial_host_needs_no_mpi(tmp_path):
    code = python_file(tmp_path, "import ctypes\nprint('mpi', hasattr(ctypes.CDLL(None), 'MPI_Init'))")
    assert "mpi False" in traps("python", code).stdout


@every_mpi
def test_the_same_library_serves_both(mpi):
    """The tests above ran the same build/libframe.so under each MPI. It names no MPI library."""
    host = compiled("traps.f90", mpi=mpi)
    linked = subprocess.run(["ldd", str(host)], capture_output=True, text=True).stdout
    assert str(BUILD / "libframe.so") in linked and {OPENMPI: "libmpi.so", MPICH: "libmpich"}[mpi] in linked


@pytest.mark.skipif(not shutil.which("mpirun"), reason="needs mpirun")
def test_a_wrong_setting_on_one_rank_fails_setcomm_on_all():
    """The others would wait for it; afterwards each goes on without the communicator."""
    code = (
        "import os\n"
        "from mpi4py import MPI\n"
        "from frame.errors import FrameError\n"
        "from frame.frame import Frame\n"
        "world = MPI.COMM_WORLD\n"
        "os.environ['FRAME_THREADS'] = '0' if world.rank == 1 else '1'\n"
        "frame = Frame()\n"
        "try:\n"
        "    frame.set_communicator(world.py2f())\n"
        "    said = 'nothing'\n"
        "except FrameError as error:\n"
        "    said = str(error)\n"
        "for line in world.gather(f'{world.rank} {frame.comm.size} {said}') or []:\n"
        "    print(line)\n"
    )

    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = ["mpirun", "--oversubscribe", "-n", "3", sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    wrong = "FRAME_THREADS is 0, wanted a whole number 1..4096."
    wanted = [f"0 1 rank 1 failed: {wrong}", f"1 1 {wrong}", f"2 1 rank 1 failed: {wrong}"]

    assert done.stdout.splitlines() == wanted, done.stdout + done.stderr


@pytest.mark.parametrize("here, there, same", [("chosen", None, False), ("nearest", None, True), (None, "", True)])
@every_mpi
@pytest.mark.quick(here="chosen", mpi=[MPICH])
@pytest.mark.quick(here="nearest", mpi=[OPENMPI])
def test_ranks_have_the_models_of_one_variable(mpi, here, there, same, tmp_path):
    """A launcher that passes FRAME_ACCURACY to its own node only would have ranks compute by different models."""
    wrapper = on_a_rank(tmp_path, "unused=" if here is None else f"FRAME_ACCURACY={here}")
    done = run(wrapper, compiled("one_rank.f90", mpi=mpi), ranks=2, mpi=mpi, FRAME_ACCURACY=there)
    assert done.returncode == 0, done.stdout + done.stderr

    said = "4 frame_setcomm: FRAME_ACCURACY is 'nearest' on rank 0 and 'chosen' on rank 1, so that they would compute"
    for rank in range(2):
        assert f"rank {rank} setcomm " + ("0" if same else said) in done.stdout


TWO_FILES = """
import sys
from mpi4py import MPI
from frame.frame import Frame
frame = Frame()
frame.set_communicator(MPI.COMM_WORLD.py2f())
frame.initialize(-1, 10, 1, 1, 0)
frame.load_mixture(sys.argv[1 + MPI.COMM_WORLD.rank], "")
frame.report()
frame.finalize()
"""


@pytest.mark.skipif(bool(OPENMPI.missing), reason="needs Open MPI, which mpi4py's wheel takes without a host")
@pytest.mark.parametrize("text, other", [("126.193", True), ("126.192 # K", False)])
@pytest.mark.quick(other=True)
def test_the_report_names_ranks_that_read_another_mixture(text, other, tmp_path):
    """As where the copies of a file on the nodes differ. No rank waits for another."""
    changed = tmp_path / "changed.yaml"
    changed.write_text(N2.read_text().replace("126.192", text, 1))

    done = run(sys.executable, "-c", TWO_FILES, N2, changed, ranks=2, mpi=OPENMPI, cwd=ROOT)

    assert done.returncode == 0, done.stdout + done.stderr
    assert ("frame: the mixture of rank 1 is another than that of rank 0" in done.stdout) == other


def test_ranks_with_another_mixture():
    assert other_mixtures(["a", "a", "", "a"]) == other_mixtures(["", ""]) == ""

    said = other_mixtures(["", "a", "b", "a", *"c" * 10])
    assert said.startswith("the mixture of ranks 2, 4, 5, 6, 7, 8, 9, 10 and 3 more is another than that of rank 1 (")


# ---- a rank that fails in a collective call -----------------------------------------------------------------------

WRAPPER = """#!/bin/sh
if [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = %d ]; then export %s; fi
exec "$@"
"""


def on_a_rank(folder, variable, rank=1):
    """A command that runs another with a variable ("NAME=value") in the environment of one rank."""
    path = folder / "wrapper"
    path.write_text(WRAPPER % (rank, variable))
    path.chmod(0o755)

    return path


@pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
@pytest.mark.parametrize(
    "variable, status, message, initialized",
    [
        ("FRAME_PYTHON=/bin/ls", 1, "/bin/ls is no Python interpreter", 1),
        ("FRAME_THREADS=0", 3, "FRAME_THREADS is 0", 3),
    ],
)
def test_a_rank_that_cannot_start_keeps_nobody_waiting(mpi, variable, status, message, initialized, tmp_path):
    """Also a rank whose Python does not start: frame_setcomm fails on every rank, and all go on to the end."""
    host = compiled("one_rank.f90", mpi=mpi)
    wrapper = on_a_rank(tmp_path, variable)

    done = run(wrapper, host, ranks=3, mpi=mpi)
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(3):
        (line,) = re.findall(rf"(?m)^ *rank {rank} setcomm (.*)$", done.stdout)
        assert line.startswith(f"{status} " if rank == 1 else "4 "), line
        assert (message if rank == 1 else "rank 1") in line, line
        assert f"rank {rank} initialize {initialized if rank == 1 else 0}" in done.stdout
        assert f"rank {rank} finalize 0 worst {initialized}" in done.stdout


def c_host(mpi, folder):
    """The compiled mpi_host.c: with MPI's own C compiler, so that no Fortran symbols of MPI are in the process."""
    library()
    if mpi.missing:
        pytest.skip(mpi.missing)
    compiler = mpi.compiler.replace("mpifort", "mpicc")
    link = [f"-I{BUILD}", f"-L{BUILD}", "-lframe", f"-Wl,-rpath,{BUILD}"]
    subprocess.run([compiler, "-Wall", SOURCES / "mpi_host.c", "-o", folder / "host", *link], check=True)

    return folder / "host"


@every_mpi
def test_a_rank_of_a_c_host_that_cannot_start_keeps_nobody_waiting(mpi, tmp_path):
    host = c_host(mpi, tmp_path)
    wrapper = on_a_rank(tmp_path, "FRAME_PYTHON=/bin/ls")

    done = run(wrapper, host, N2, ranks=2, mpi=mpi, **RETURN)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rank 1 setcomm 1 frame_setcomm: FRAME_PYTHON = /bin/ls is no Python interpreter." in done.stdout
    assert "rank 0 setcomm 4 frame_setcomm: rank 1 of this communicator cannot start" in done.stdout


@every_mpi
@pytest.mark.quick(mpi=[OPENMPI])
def test_a_failure_of_a_c_host_ends_all_ranks(mpi, tmp_path):
    """By MPI_Abort, where a launcher might not mind a rank that leaves. The host's communicator is gone by then."""
    host = c_host(mpi, tmp_path)
    wrapper = on_a_rank(tmp_path, "NO_FILE=1")

    done = run(wrapper, host, N2, ranks=2, mpi=mpi)
    assert done.returncode == 73, done.stdout + done.stderr
    assert "status 3 in frame_tvproperties_loadmixture: nothing.yaml: cannot be read" in done.stderr
    assert re.search("(?i)MPI_ABORT was invoked|called MPI_Abort", done.stderr), done.stderr


@pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
def test_no_communicator_on_one_rank_ends_all(mpi, tmp_path):
    """The others wait for this rank, which has no way to reach them, also where the host asks for a status: one
    message, and the end of the run, half a second after the call."""
    host = compiled("one_rank.f90", mpi=mpi)
    wrapper = on_a_rank(tmp_path, "JUNK=1")

    started = time.monotonic()
    done = run(wrapper, host, ranks=3, mpi=mpi)
    assert time.monotonic() - started < 30  # a rank that waited would reach the limit of run()

    assert done.returncode == 73 and "rank" not in done.stdout, done.stdout + done.stderr
    said = re.findall(r"(?m)^libframe: (.*)$", done.stderr)
    assert said == [
        "stopped by status 3 in frame_setcomm: fcomm = 123456 is no communicator; was it freed? Wanted an integer such "
        "as MPI_COMM_WORLD. Other ranks may wait for this rank, so the run ends."
    ]


NULL = "is the null communicator. Wanted an integer such as MPI_COMM_WORLD."


@pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.quick(ranks=2)
def test_a_rank_outside_of_the_communicator_has_a_status(mpi, ranks, tmp_path):
    """The last rank has MPI_COMM_NULL from a split. Nobody waits for it, and it goes on without a communicator."""
    wrapper = on_a_rank(tmp_path, "OUTSIDE=1", ranks - 1)

    done = run(wrapper, compiled("one_rank.f90", mpi=mpi), ranks=ranks, mpi=mpi, SPLIT="1")
    assert done.returncode == 0 and done.stdout.count("finalize 0 worst 0") == ranks, done.stdout + done.stderr
    assert re.search(rf"rank {ranks - 1} setcomm 3 frame_setcomm: fcomm = -?\d+ {NULL}", done.stdout), done.stdout
    assert ranks == 1 or "rank 0 setcomm 0" in done.stdout


ALL = ["setcomm", "initialize", "block", "report", "finalize"]
GROUPS = {  # as groups.f90 has them: the calls of each rank, all of status 0, and a rank that makes none
    "apart": (ALL, None),
    "bridge": (ALL, None),
    "grid": (ALL, None),
    "flow": (ALL, 2),
    "again": (["setcomm", "initialize", "block", "group", "block", "self", "block", "report", "finalize"], None),
}


@pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
@pytest.mark.parametrize("mode", GROUPS)
@pytest.mark.quick(mode="bridge", mpi=[OPENMPI])
def test_ranks_in_groups(mode, mpi):
    """Flow and particles have a communicator each, or particles know nothing of the layer; their rank has no points.
    An intercommunicator is refused on all ranks, which go on."""
    done = run(compiled("groups.f90", mpi=mpi), ranks=3, mpi=mpi, GROUPS=mode, MIXTURE=str(N2))
    assert done.returncode == 0, done.stdout + done.stderr

    calls, absent = GROUPS[mode]
    for rank in range(3):
        lines = re.findall(rf"(?m)^rank {rank} (\w+) (\d+) (.*)$", done.stdout)
        bridge = [line for line in lines if line[0] == "bridge"]
        assert [line[:2] for line in lines if line not in bridge] == [(call, "0") for call in calls if rank != absent]
        assert len(bridge) == (mode == "bridge")
        for _, status, message in bridge:
            assert status == "3" and re.search(r"fcomm = -?\d+ is an intercommunicator\. Wanted an integer", message)


@pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
@pytest.mark.quick(mpi=[OPENMPI])
def test_the_null_communicator_where_others_count_on_a_rank(mpi, tmp_path):
    """They say that they wait, and go on when the rank passes what they passed."""
    wrapper = on_a_rank(tmp_path, "FORGOT=1")

    done = run(wrapper, compiled("one_rank.f90", mpi=mpi), ranks=2, mpi=mpi, STARTED="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"rank 1 without 3 .*{NULL}", done.stdout)
    assert "rank 0 waits in frame_setcomm, which every rank has to call" in done.stderr
    assert all(f"rank {rank} setcomm 0" in done.stdout for rank in range(2))


@pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
@pytest.mark.quick(mpi=[MPICH])
def test_a_rank_that_never_comes_ends_the_run(mpi, tmp_path):
    """Rank 1 passes MPI_COMM_NULL and waits for rank 0, which waits for rank 1: FRAME_WAIT seconds, one message."""
    wrapper = on_a_rank(tmp_path, "FORGOT='for good'")

    started = time.monotonic()
    done = run(wrapper, compiled("one_rank.f90", mpi=mpi), ranks=2, mpi=mpi, FRAME_WAIT="3")
    assert 3 < time.monotonic() - started < 60 and done.returncode == 73, done.stdout + done.stderr
    assert re.findall(r"(?m)^libframe: (.*)$", done.stderr) == [
        "stopped by status 3 in frame_setcomm: rank 0 has waited for 3 s (FRAME_WAIT). Every rank has to call this, "
        "with the same communicator. Other ranks may wait for this rank, so the run ends."
    ]


@pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
@pytest.mark.quick(mpi=[OPENMPI])
def test_a_rank_that_comes_too_late_to_initialize(mpi, tmp_path):
    """6 seconds late, where 3 are waited for: the run ends, in a call that waits in Python."""
    wrapper = on_a_rank(tmp_path, "LATE=frame_initialize")

    done = run(wrapper, compiled("one_rank.f90", mpi=mpi), ranks=2, mpi=mpi, FRAME_WAIT="3")
    assert done.returncode == 73, done.stdout + done.stderr
    assert "rank 0 has waited for 3 s (FRAME_WAIT) in frame_initialize, which every rank has to call." in done.stderr


@pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
@pytest.mark.parametrize("call", ["frame_setcomm", "frame_initialize", "frame_report"])
@pytest.mark.quick(call="frame_setcomm", mpi=[MPICH])
def test_ranks_that_wait_in_a_collective_call_say_so(call, mpi, tmp_path):
    """And go on when the last rank comes."""
    host = compiled("one_rank.f90", mpi=mpi)
    wrapper = on_a_rank(tmp_path, f"LATE={call}")

    done = run(wrapper, host, ranks=3, mpi=mpi)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" finalize 0 worst 0") == 3
    said = re.findall(r"(?m)^frame: rank (\d) waits in (\w+), which every rank has to call$", done.stderr)
    assert sorted(said) == [("0", call), ("2", call)]


@pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
@pytest.mark.parametrize(
    "mode, words",
    [
        ("exit early", "STOP 7"),
        ("stop", "STOP 5"),
        ("abort", ""),  # MPI_Abort says so, but not always in time to be heard
        ("other ns", "status 3 in frame_(tvproperties_)?loadmixture: .* frame_initialize was told ns = 2"),
        ("no mixture", "status 4 in frame_block: launch of 'thermal' before a mixture"),
    ],
)
@pytest.mark.quick(mpi=[OPENMPI], mode=["exit early", "other ns"])
@pytest.mark.quick(mpi=[MPICH], mode=["stop", "abort"])
def test_a_rank_that_ends_leaves_nobody_behind(mpi, mode, words):
    """The others wait for it in a collective call of the layer or of the host. MPI, or the layer by it, ends them."""
    done = run(compiled("rank_fails.f90", mpi=mpi), mode, N2, ranks=3, mpi=mpi)
    assert done.returncode and "end of rank" not in done.stdout, done.stdout + done.stderr
    assert re.search(words, done.stderr + done.stdout), done.stdout + done.stderr
    assert done.stderr.count("libframe: stopped") == words.startswith("status")


@pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
@pytest.mark.parametrize(
    "ranks, mode", [(1, ""), (2, ""), (4, ""), (4, "no file"), (3, "no chunk"), (4, "no finalize")]
)
@pytest.mark.quick(mpi=[OPENMPI], mode=["no file", "no chunk"])
@pytest.mark.quick(mpi=[MPICH], mode="no finalize")
def test_a_rank_that_goes_on_comes_to_the_end(mpi, ranks, mode):
    """A status that the host asked for, or a frame_finalize that a rank leaves out, harms nobody."""
    done = run(compiled("rank_fails.f90", mpi=mpi), mode, N2, ranks=ranks, mpi=mpi)
    assert done.returncode == 0, done.stdout + done.stderr

    rho = kernels.Mixture.from_yaml(N2).properties("rho", T=300, p=1e6, Y=[1.0], backend="cpu")["rho"]
    ends = re.findall(r"end of rank (\d) *(\S+)", done.stdout)
    assert sorted(ends) == [(str(rank), f"{float(rho):.5f}") for rank in range(ranks)]


@pytest.mark.parametrize("mpi", MPIS, ids=lambda mpi: mpi.name)
@pytest.mark.quick(mpi=[OPENMPI])
def test_what_a_file_gives_rise_to_is_said_once(mpi, tmp_path):
    """A mixture whose polynomials jump where they meet: rank 0 says so, in a line of the layer."""
    text = N2.read_text()
    path = tmp_path / "jumps.yaml"
    path.write_text(text.replace("- [2.92664,", "- [3.02664,"))
    done = run(compiled("rank_fails.f90", mpi=mpi), "", path, ranks=3, mpi=mpi)

    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"(?m)^libframe: .*cp/R jumps from", done.stderr)) == 1
    assert "Warning" not in done.stderr
