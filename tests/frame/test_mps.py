"""Ranks that share a GPU and CUDA's multi-process service, with stand-ins for nvidia-smi and nvidia-cuda-mps-control.

The stand-in of the service keeps a process alive while it runs, as the daemon does, and its log of orders.
"""

import os
import pathlib
import subprocess
import sys
import time

import hosts
import pytest
from hosts import ROOT

from frame.devices import mps

SMI = """#!/bin/sh
case $1 in
-L) for k in $(seq "${DEVICES:-1}"); do echo "GPU $k: stand-in"; done ;;
--query-gpu*) echo "${MODE:-Default}, ${MIG:-[N/A]}" ;;
--query-compute-apps*) echo "$OTHERS" ;;
esac
"""
CONTROL = """#!/bin/sh
if [ "$1" = -d ]; then
    [ -z "$REFUSES" ] || { echo "cannot start"; exit 1; }
    mkdir "$CUDA_MPS_PIPE_DIRECTORY/control"
    sleep 600 > /dev/null 2>&1 &
    echo $! > "$PLACE/daemon.pid"
    echo "start $CUDA_MPS_PIPE_DIRECTORY" >> "$PLACE/orders"
    exit 0
fi
read -r order
echo "$order" >> "$PLACE/orders"
[ -z "$HANGS" ] || exec sleep 600
[ -z "$GONE" ] || [ -f "$PLACE/daemon.pid" ] || exit 1
case $order in quit*) kill "$(cat "$PLACE/daemon.pid")" ;; esac
"""
# What Frame does, without a device: the communicator, and what this rank got.
RANK = r"""
import os, signal, sys, time
from mpi4py import MPI
import kernels.engine.backend, frame.mpi, frame.devices.mps
from frame.frame import Frame
kernels.engine.backend.has_driver = lambda: True
frame.devices.mps.touched = lambda: os.environ.get("TOUCHED") == "1"
frame.devices.mps.WAIT = float(os.environ.get("WAIT", frame.devices.mps.WAIT))
f = Frame()
try:
    f.set_communicator(MPI.COMM_WORLD.py2f())
except Exception as error:
    os.write(1, f"failed: {error}\n".encode())  # at once: the other rank writes too
rank = MPI.COMM_WORLD.rank
open(f"{os.environ['PLACE']}/rank{rank}", "w").write(str(os.environ.get("CUDA_MPS_PIPE_DIRECTORY")))
MPI.COMM_WORLD.Barrier()
if os.environ.get("KILLED") == "1" and MPI.COMM_WORLD.rank == MPI.COMM_WORLD.size - 1:
    os.kill(os.getpid(), signal.SIGKILL)
if os.environ.get("KILLED") == "the daemon" and rank == 0:
    os.kill(int(open(f"{os.environ['PLACE']}/daemon.pid").read()), signal.SIGKILL)
"""


@pytest.fixture
def run(tmp_path):
    """run(ranks, **environment) -> (what was printed, the ranks' folders, orders that the service got)"""
    mpi = hosts.OPENMPI

    if mpi.missing:
        pytest.skip(mpi.missing)

    bin_ = tmp_path / "bin"
    bin_.mkdir()

    for name, text in (("nvidia-smi", SMI), ("nvidia-cuda-mps-control", CONTROL)):
        (bin_ / name).write_text(text)
        (bin_ / name).chmod(0o755)

    def start(ranks, **environment):
        env = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}", "PLACE": str(tmp_path), "PYTHONPATH": str(ROOT)}
        env |= {"TMPDIR": str(tmp_path), "FRAME_BACKEND": "auto", "OMPI_ALLOW_RUN_AS_ROOT": "1"} | environment
        env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        command = [mpi.launcher, *mpi.arguments, "-n", str(ranks), sys.executable, "-c", RANK]
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
        orders = tmp_path / "orders"
        out = done.stdout + done.stderr
        folders = {(tmp_path / f"rank{rank}").read_text() for rank in range(ranks)}

        return out, folders, lambda: orders.read_text().splitlines() if orders.exists() else []

    yield start

    daemon = tmp_path / "daemon.pid"

    if daemon.exists():
        subprocess.run(["kill", daemon.read_text().strip()], capture_output=True)


def ended(orders, tmp_path):
    """Whether the watcher ends the service and its folder within some seconds."""
    for _ in range(100):
        if orders()[-1].startswith("quit") and not list(tmp_path.glob("castles-frame-mps-*")):
            return True
        time.sleep(0.1)

    return False


def is_gone(pid: int) -> bool:
    """Whether a process that was told to quit has ended within five seconds."""
    end = time.monotonic() + 5
    while mps._started(pid):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)

    return True


@pytest.mark.parametrize("killed", ("0", "1", "the daemon"))
def test_one_service_for_the_ranks_of_a_node_which_ends_with_them(run, tmp_path, killed):
    out, folders, orders = run(3, KILLED=killed)

    assert out.count("libframe: 3 ranks share 1 GPU by MPS, started for this job.") == 1, out

    (folder,) = folders  # every rank is a client of the same one

    assert folder.startswith(str(tmp_path / "castles-frame-mps-"))
    assert orders()[:2] == [f"start {folder}", "get_server_list"]
    assert ended(orders, tmp_path), orders()
    assert is_gone(int((tmp_path / "daemon.pid").read_text()))


@pytest.mark.parametrize(
    "environment, words",
    (
        (dict(MODE="Exclusive_Process"), "compute mode of GPU 0 is Exclusive_Process, wanted Default"),
        (dict(MIG="Enabled"), "GPU 0 is divided (MIG)"),
        (dict(OTHERS="4242"), "another process uses a GPU (pid 4242)"),
        (dict(TOUCHED="1"), "the host used CUDA before frame_setcomm"),
        (dict(REFUSES="1"), "nvidia-cuda-mps-control did not start: cannot start"),
        (dict(FRAME_MPS="off"), None),
        (dict(DEVICES="2"), None),
        (dict(FRAME_BACKEND="cpu"), None),
    ),
    ids=lambda v: "-".join(v.values()) if isinstance(v, dict) else "",
)
def test_where_it_may_not_be_started_one_line_says_why(run, tmp_path, environment, words):
    out, folders, orders = run(2, **environment)

    assert folders == {"None"} and "get_server_list" not in orders() and "failed" not in out
    assert not list(tmp_path.glob("castles-frame-mps-*"))

    if words is None:
        assert "MPS" not in out
    else:
        assert out.count("libframe: no MPS: 2 ranks") == 1 and words in out, out


def test_require_ends_every_rank_with_the_reason(run):
    out, _, _ = run(2, FRAME_MPS="require", OTHERS="4242")
    assert out.count("failed: FRAME_MPS=require: no MPS: 2 ranks share 1 GPU") == 2, out


def test_one_that_runs_is_used(run, tmp_path):
    pathlib.Path(tmp_path, "control").mkdir()
    out, folders, orders = run(2, CUDA_MPS_PIPE_DIRECTORY=str(tmp_path))
    assert "2 ranks share 1 GPU by MPS, which was running" in out and folders == {str(tmp_path)}
    assert orders() == ["get_server_list"]  # whether it lives


def test_one_that_died_is_not_waited_for(run, tmp_path):
    """Its pipe is still there, and nobody answers: the job gets a service of its own."""
    old = tmp_path / "old"
    old.mkdir()
    (old / "control").mkdir()
    out, folders, orders = run(2, CUDA_MPS_PIPE_DIRECTORY=str(old), GONE="1")

    assert out.count("2 ranks share 1 GPU by MPS, started for this job") == 1, out

    (folder,) = folders

    assert folder != str(old) and f"start {folder}" in orders()
    assert ended(orders, tmp_path), orders()


def test_one_that_hangs_is_given_up(run, tmp_path):
    out, folders, _ = run(2, HANGS="1", WAIT="0.5")
    assert out.count("libframe: no MPS: 2 ranks") == 1 and "timed out after 0.5 seconds" in out, out
    assert folders == {"None"} and not list(tmp_path.glob("castles-frame-mps-*"))
