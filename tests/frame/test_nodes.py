"""Ranks of two nodes: devices, services, compiled kernels and the rule's facts by node.

The nodes are namespaces of one machine with a name and a network each (tests/two_nodes.sh). Where namespaces are not
permitted the tests are skipped, with the reason.
"""

import collections
import ctypes.util
import functools
import json
import os
import subprocess
import sys

import pytest
from hosts import MPICH, OPENMPI, ROOT, library
from test_mps import CONTROL, SMI

TWO_NODES = ROOT / "tests" / "two_nodes.sh"
LAUNCHERS = {
    "openmpi": (
        OPENMPI,
        "mpirun.openmpi --mca plm_rsh_agent $AGENT --mca btl self,tcp,vader --host one:2,two:3",
    ),
    "mpich": (MPICH, "mpiexec.mpich -launcher rsh -launcher-exec $AGENT -hosts one:2,two:3"),
}
WHERE = ["one"] * 2 + ["two"] * 3  # the node of each rank

# A rank: the steps of a host, and what it found.
RANK = """
import json, os, platform, sys
import numpy as np
from mpi4py import MPI
import kernels.engine.backend, frame.devices.mps
from frame.frame import Frame
from frame.stripe import IN, OUT, Field

def array(name, way, values):
    return Field(name, way, values.ctypes.data, values.shape, values.strides, (1,), 8)

os.environ["PLACE"] = place = os.path.join(os.environ["PLACE"], platform.node())
os.makedirs(place, exist_ok=True)
kernels.engine.backend.has_driver = lambda: True
frame.devices.mps.touched = lambda: False
f, found = Frame(), {"node": platform.node()}
try:
    f.set_communicator(MPI.COMM_WORLD.py2f())
    found["service"] = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "")
    found["rank on node"], found["node number"] = f.comm.rank_on_node, f.comm.node_number
    found["device of two"], found["cores"] = f.comm.place([-1, -1]), f.comm.cores

    f.set_option("backend", "cpu")
    f.initialize(-1, 4, 1, 1, 0)
    f.load_mixture(sys.argv[1], "")
    T, p, Y, rho = np.full(8, 300.0), np.full(8, 1e6), np.ones(8), np.full(8, np.nan)
    fields = [array("T", IN, T), array("p", IN, p), array("Y", IN, Y), array("rho", OUT, rho)]
    f.block_of_fields("thermal", fields, (None,) * 4, (None,) * 4)
    found["rho"] = rho[-1].hex()
    f.finalize()
except Exception as error:
    found["error"] = str(error)
os.write(1, (json.dumps(found) + "\\n").encode())
"""
COMPILER = """#!/bin/sh
echo "$(hostname) $*" >> {log}
exec g++ "$@"
"""


@functools.cache
def hindrance() -> str:
    """Why two nodes cannot be set up here; '' where they can."""
    done = subprocess.run([TWO_NODES, "true"], capture_output=True, text=True, timeout=60)
    words = (done.stderr.strip() or f"status {done.returncode}").splitlines()[-1]
    return f"namespaces are not permitted here: {words}" if done.returncode else ""


@pytest.fixture
def ranks(request, tmp_path):
    """ranks(**environment) -> (what each rank found, standard error)"""
    mpi, launcher = LAUNCHERS[request.param]
    if mpi.missing or hindrance():
        pytest.skip(mpi.missing or hindrance())

    programs = tmp_path / "bin"
    programs.mkdir()
    scripts = {
        "nvidia-smi": SMI,
        "nvidia-cuda-mps-control": CONTROL,
        "compiler": COMPILER.format(log=tmp_path / "compiled"),
    }
    for name, text in scripts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (tmp_path / "rank.py").write_text(RANK)

    def start(**environment):
        env = os.environ | {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PLACE": str(tmp_path),
            "PYTHONPATH": str(ROOT),
            "FRAME_BACKEND": "auto",
            "FRAME_CACHE": str(tmp_path / "cache"),
            "FRAME_CXX": str(programs / "compiler"),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        }
        rank = f"{sys.executable} {tmp_path / 'rank.py'} {ROOT / 'examples/mixtures/n2.yaml'}"
        if mpi is MPICH:  # what a host that is linked to MPICH has loaded when Python starts
            loaded = ctypes.util.find_library("mpich")
            rank = f"env LD_PRELOAD={loaded} LD_LIBRARY_PATH={library().parent / 'mpich'} {rank}"
        command = [TWO_NODES, "sh", "-c", f"exec {launcher} -n {len(WHERE)} {rank}"]
        done = subprocess.run(command, env=env | environment, capture_output=True, text=True, timeout=120)

        assert done.returncode == 0, done.stdout + done.stderr
        found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return sorted(found, key=lambda one: (one["node"], one.get("rank on node", 0))), done.stderr

    yield start

    for daemon in tmp_path.glob("*/daemon.pid"):
        subprocess.run(["kill", daemon.read_text().strip()], capture_output=True)


by_each_mpi = pytest.mark.parametrize("ranks", LAUNCHERS, indirect=True)


@by_each_mpi
@pytest.mark.quick(ranks="openmpi")
def test_each_node_has_its_own_devices_and_service_and_all_share_the_kernels(ranks, tmp_path):
    found, said = ranks()

    assert [one["node"] for one in found] == WHERE, said
    assert [one["rank on node"] for one in found] == [0, 1, 0, 1, 2]
    assert [one["node number"] for one in found] == [0, 0, 2, 2, 2]
    assert [one["device of two"] for one in found] == [0, 1, 0, 1, 0]

    # Cores: those of the machine, shared by the ranks of the node alone.
    cores = len(os.sched_getaffinity(0))
    assert [one["cores"] for one in found] == [max(1, cores // 2)] * 2 + [max(1, cores // 3)] * 3

    # A service for each node, with the ranks of the other node in none of its words.
    services = collections.defaultdict(set)
    for one in found:
        services[one["node"]].add(one["service"])
    assert [len(services[node]) for node in ("one", "two")] == [1, 1] and services["one"] != services["two"]
    assert "libframe: 2 ranks share 1 GPU by MPS, started for this job." in said
    assert "libframe: node two: 3 ranks share 1 GPU by MPS, started for this job." in said

    # A folder of kernels for all: each is compiled once, and nothing is left beside it.
    assert len({one["rho"] for one in found}) == 1
    outputs = []
    for line in (tmp_path / "compiled").read_text().splitlines():
        words = line.split()
        if "-o" in words and ".so" in words[words.index("-o") + 1]:
            outputs.append(os.path.basename(words[words.index("-o") + 1]).split(".")[0])
    assert outputs and len(outputs) == len(set(outputs)), outputs
    left = [path.name for path in (tmp_path / "cache").rglob("*") if path.suffix in (".lock", ".part")]
    assert not left, left


@by_each_mpi
@pytest.mark.quick(ranks="mpich")
def test_a_node_without_the_service_fails_all_that_require_it(ranks, tmp_path):
    """A GPU of node two is in use by another process there: FRAME_MPS=require fails on each rank, and nobody waits."""
    smi = tmp_path / "bin" / "nvidia-smi"
    smi.write_text(smi.read_text().replace("#!/bin/sh\n", "#!/bin/sh\n[ $(hostname) = one ] || OTHERS=4242\n"))

    found, _ = ranks(FRAME_MPS="require")
    words = "FRAME_MPS=require: no MPS: 3 ranks share 1 GPU"
    assert [one["error"].startswith(words) for one in found] == [True] * 5
    assert all("another process uses a GPU (pid 4242) (node two)." in one["error"] for one in found)
