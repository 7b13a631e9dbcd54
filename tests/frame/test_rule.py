"""`auto` by the committed table: the side that was measured to be faster, the same on all ranks, with stand-in
devices."""

import ctypes
import os
import subprocess
import sys
import types

import cuda_on_cpu
import hosts
import numpy as np
import pytest
from hosts import ROOT

import kernels
from frame import frame as frames
from frame.config import Config
from frame.devices import mps, rule
from frame.errors import ArgumentError, BackendError, StateError
from frame.stripe import IN, Field
from frame.tools import cli
from kernels.engine.backend import gpus
from kernels.engine.backend.base import Rates

H200 = rule.KNOWN["NVIDIA H200"]
DESKTOP = Rates("NVIDIA GeForce RTX 4090", "0000:01:00.0", 31.5e9, 1.0e12, 1.3e12)  # PCIe 4 x16, 1 of 64 in double
MEASURED = [row for row in rule.table() if row.calls in rule.CALLS]
CLOSE = 0.05  # sides as near as that are as good


def facts(ranks=1, species=10, calls="chunks", chunk=12288, precision="double", **given):
    work = rule.Work(species, precision, calls, chunk)
    told = dict(node=0, ranks=1, cores=1, rates=H200, work=work, auto=True, service=False, used=False)
    return [rule.Facts(**told | given) for _ in range(ranks)]


@pytest.mark.parametrize("row", MEASURED, ids=lambda r: f"{r.calls}-{r.sharing}-{r.ranks}-{r.chunk}-{r.gpu:g}")
def test_every_measured_row_is_decided_rightly(row):
    service = row.sharing == "service"

    assert rule.sharing_of(row.ranks, service) == row.sharing

    taken, said = rule.choose(facts(row.ranks, row.species, row.calls, row.chunk, service=service))
    faster = row.gpu < row.cpu

    assert taken == faster or abs(row.gpu / row.cpu - 1) < CLOSE
    assert bool(said) != taken
    assert row.device in rule.KNOWN and row.host and row.date and row.by


def test_the_formula():
    """Beside numbers worked out by hand from rows of the table."""
    work = rule.Work(10, "double", "blocks", 131072)

    assert work.bytes == 216
    assert rule.cpu(work, 1) == pytest.approx(140) and rule.cpu(work, 8) == pytest.approx(140 / 8**0.9)
    # block calls: bytes over the link, whose rate is the median of 216/10.9, /3.7, /4.0, /3.1, /2.9
    assert rule.gpu(work, H200, 1, False) == pytest.approx(3.7)

    # 50 species on a link without limits: the kernel alone
    fast = H200._replace(product="another", link=1e15)

    assert rule.gpu(work._replace(species=50), fast, 1, False) == pytest.approx(6.45)
    assert rule.cpu(work._replace(species=20), 1) == pytest.approx(374)
    assert 48.7 < rule.cpu(work._replace(species=7), 1) < 140 and rule.cpu(work._replace(species=100), 1) > 2 * 2100

    # one wait for each array of a chunk: half the chunk, twice the waits
    short, shorter = (rule.gpu(work._replace(calls="chunks", chunk=n), H200, 1, False) - 3.7 for n in (8192, 4096))

    assert shorter == pytest.approx(2 * short) and short > 0

    # ranks that take turns wait one after the other
    turns = [rule.gpu(work._replace(calls="chunks"), H200, n, False) for n in (4, 16)]
    service = [rule.gpu(work._replace(calls="chunks"), H200, n, True) for n in (4, 16)]

    assert turns[0] == turns[1] and service[0] > service[1] and service[0] < turns[0]


def test_a_device_that_is_not_in_the_table():
    """In proportion to its link where that limits, to its arithmetic where that does."""
    assert rule.known(H200) and not rule.known(DESKTOP)

    work = rule.Work(10, "double", "blocks", 131072)

    # (a link of half the rate, and kernels 33/1.3 = 25 times as slow)
    assert rule.gpu(work, DESKTOP, 1, False) == pytest.approx(max(3.7 * 63 / 31.5, 0.264 * 33 / 1.3))

    heavy = work._replace(species=50)

    assert rule.gpu(heavy, DESKTOP, 1, False) == pytest.approx(6.45 * 33 / 1.3)
    assert rule.gpu(heavy._replace(precision="single"), DESKTOP, 1, False) < rule.gpu(heavy, DESKTOP, 1, False)

    silent = Rates("unknown", "", 0, 0, 0)

    assert rule.gpu(work, silent, 1, False) == pytest.approx(3.7 * 63 / 12)

    slow = H200._replace(product="slow", link=1e9)
    taken, said = rule.choose(facts(16, rates=slow, calls="blocks", service=True))

    assert not taken and "16 ranks share by MPS a GPU (slow), called by blocks: about" in said


def test_ranks_of_a_job_take_one_side():
    """The slowest device of the job counts; the host's own data stay on the device; ranks that differ are an error."""
    alone, crowd = facts(1, node=1), facts(8, node=2)

    assert rule.choose(alone)[0] and not rule.choose(crowd)[0] and not rule.choose(alone + crowd)[0]
    assert not rule.choose(alone + facts(1, node=3, rates=None))[0]
    assert rule.choose(crowd + facts(1, node=2, used=True))[0]

    two = facts(1, rates=H200._replace(place="a"), chunk=4096) + facts(2, rates=H200._replace(place="b"), chunk=4096)

    assert not rule.choose(two)[0]  # 2 ranks take turns on one of the two

    with pytest.raises(BackendError, match="rank 8 of a node with GPUs see none, the others there do; set FRAME_BACK"):
        rule.choose(crowd + facts(1, node=2, rates=None))

    with pytest.raises(
        BackendError, match="rank 8 would take the GPU and ranks 0, 1, 2, 3, .* the CPU, as they differ"
    ):
        rule.choose(crowd + facts(1, node=2, calls="blocks"))

    forced = facts(7, auto=False)  # FRAME_BACKEND=cuda: they share the device, and are not asked

    assert rule.choose(forced + facts(1))[1].startswith(
        "auto takes the CPU: 8 ranks share in turns a GPU (NVIDIA H200)"
    )


@pytest.fixture
def frame(monkeypatch):
    """frame(rates, devices=1, **environment): initialised with stand-ins; returns the side that was taken."""
    for name in ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"):
        monkeypatch.delenv(name, raising=False)

    cpu, taken, made = kernels.get_backend("cpu"), [], []

    def start(rates=H200, devices=1, ranks=1, used=False, ns=10, chunk=12288, **environment):
        monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_SIZE", str(ranks))
        monkeypatch.setattr(mps, "used", lambda: used)
        monkeypatch.setattr(kernels.engine.backend, "cuda_devices", lambda name: 0 if name == "cpu" else devices)
        monkeypatch.setattr(kernels.engine.backend, "device_rates", lambda device: rates)
        monkeypatch.setattr(kernels.engine.backend, "device_nodes", lambda: [-1] * devices)
        monkeypatch.setattr(kernels, "get_backend", lambda name, **_: taken.append(name) or cpu)
        made.append(frames.Frame())
        made[-1]._config = Config({"FRAME_BACKEND": "auto"} | environment)
        made[-1].initialize(-1, chunk, ns, 1, 0)

        return taken[-1]

    start.made = made

    yield start

    for each in made:
        each.finalize()


def test_a_host_gets_the_side_of_the_rule(frame, capsys):
    assert frame() == "cuda" and not capsys.readouterr().err
    assert frame(ranks=8) == "cpu"

    said = capsys.readouterr().err

    assert said.startswith(
        "libframe: auto takes the CPU: 8 ranks share in turns a GPU (NVIDIA H200), called by chunks of"
    )
    assert said.count("\n") == 1 and "FRAME_CALLS=blocks" in said and "FRAME_BACKEND forces a side" in said
    assert frame(ranks=8, devices=8) == "cuda"
    assert frame(ranks=8, FRAME_CALLS="blocks") == "cuda"
    assert frame(ranks=8, FRAME_BACKEND="cuda") == "cuda" and frame(FRAME_BACKEND="cpu") == "cpu"
    assert frame(ranks=8, FRAME_PLACEMENT="device") == "cuda"
    assert frame(ranks=8, used=True) == "cuda"
    assert frame(devices=0) == "cpu"
    assert not capsys.readouterr().err

    for ranks, devices, turns in ((1, 1, False), (8, 1, True), (8, 8, False)):  # block calls want to know
        frame(ranks=ranks, devices=devices, FRAME_BACKEND="cuda")
        assert frame.made[-1].properties.impl.shared.turns == turns

    with pytest.raises(ArgumentError, match="FRAME_CALLS is 'points', wanted one of chunks, blocks"):
        Config({"FRAME_CALLS": "points"})


def test_an_array_of_the_device_is_refused_where_the_cpu_was_taken(frame, monkeypatch):
    """It would end the process by a signal. Nothing is asked where the host uses no device."""
    array = np.full(20, 300.0)
    one = [Field("T", IN, array.ctypes.data, (20,), (8,), (1,), 8)]
    everything = (None,) * 4
    asked = []
    monkeypatch.setattr(kernels.engine.backend, "on_device", lambda address: asked.append(address) or True)

    for ranks, in_use, refused in ((8, False, False), (8, True, True), (1, True, False)):
        monkeypatch.setattr(mps, "in_use", lambda: in_use)

        assert frame(ranks=ranks) == ("cpu" if ranks == 8 else "cuda")

        host = frame.made[-1]

        if refused:
            with pytest.raises(
                StateError, match="an array lies on the device, and backend auto has taken the CPU; set"
            ):
                host.put(one, everything, everything, 0, 0)
            assert asked == [array.ctypes.data]
        else:
            host.put(one, everything, everything, 0, 0)
            assert not asked or ranks == 1


# A rank of an MPI job with a stand-in device: one line, the side or the error.
RANK = r"""
import os
from mpi4py import MPI
import kernels, kernels.engine.backend
from frame import frame
from frame.devices import mps, rule
rank = MPI.COMM_WORLD.rank
last = rank == MPI.COMM_WORLD.size - 1
devices = 0 if last and os.environ.get("BLIND") else 1
cpu = kernels.get_backend("cpu")
mps.used = mps.touched = lambda: False
kernels.engine.backend.has_driver = lambda: False
kernels.engine.backend.cuda_devices = lambda name: 0 if name == "cpu" else devices
kernels.engine.backend.device_nodes = lambda: [-1] * devices
kernels.engine.backend.device_rates = lambda device: rule.KNOWN["NVIDIA H200"]
told = []
kernels.get_backend = lambda name, **_: told.append(name) or cpu
f = frame.Frame()
if not os.environ.get("LATE"):
    f.set_communicator(MPI.COMM_WORLD.py2f())
if last and os.environ.get("OTHER"):
    f.set_option("calls", "blocks")
try:
    f.initialize(7 if last and os.environ.get("WRONG") else -1, 4096, 10, 1, 0)
    if os.environ.get("LATE"):
        f.set_communicator(MPI.COMM_WORLD.py2f())
    said = told[-1]
except Exception as error:
    said = error
os.write(1, f"rank {rank} {said}\n".encode())  # at once: the others write too
MPI.COMM_WORLD.Barrier()
"""


@pytest.mark.parametrize(
    "environment, wanted",
    (
        ({}, ["cpu"] * 3),
        ({"FRAME_CALLS": "blocks"}, ["cuda"] * 3),
        ({"BLIND": "1"}, ["backend auto: rank 2 of a node with GPUs see none"] * 3),
        ({"OTHER": "1"}, ["backend auto: rank 2 would take the GPU and ranks 0, 1 the CPU"] * 3),
        ({"WRONG": "1"}, ["cpu", "cpu", "device_id = 7, wanted -1"]),
        ({"LATE": "1"}, ["cpu"] * 3),
    ),
    ids=lambda v: "-".join(v) if isinstance(v, dict) else "",
)
@pytest.mark.long(wanted=[["cpu", "cpu", "device_id = 7, wanted -1"], ["cuda", "cuda", "cuda"]])
def test_ranks_agree_or_end_with_one_message(environment, wanted):
    mpi = hosts.OPENMPI

    if mpi.missing:
        pytest.skip(mpi.missing)

    env = {**os.environ, "PYTHONPATH": str(ROOT), "FRAME_BACKEND": "auto", "OMPI_ALLOW_RUN_AS_ROOT": "1"}
    env |= {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | environment
    command = [mpi.launcher, *mpi.arguments, "-n", "3", sys.executable, "-c", RANK]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60)
    found = dict(line.split(" ", 2)[1:] for line in done.stdout.splitlines() if line.startswith("rank "))

    assert sorted(found) == ["0", "1", "2"], done.stdout + done.stderr

    for rank, words in enumerate(wanted):
        assert found[str(rank)].startswith(words), done.stdout

    on_cpu = wanted[0] == "cpu"
    sharing = f"{wanted.count('cpu')} ranks share in turns a GPU"

    assert done.stderr.count("auto takes the CPU: ") == on_cpu and (sharing in done.stderr) == on_cpu


def test_what_the_driver_and_the_system_tell(monkeypatch, tmp_path):
    """The rates of an H200 from its attributes and its place on the bus; nothing told is 0."""
    cupy = cuda_on_cpu.make()
    monkeypatch.setitem(sys.modules, "cupy", cupy)

    assert gpus.rates(0, tmp_path) == ("stand-in", "0000:00:00.0", 0.0, 0, 0.0)

    told = {13: 1980000, 36: 3201000, 37: 6144, 87: 2}
    monkeypatch.setattr(cupy.cuda.runtime, "deviceGetAttribute", lambda attribute, device: told[attribute])
    facts = {"major": 9, "minor": 0, "name": b"NVIDIA H200", "multiProcessorCount": 132}
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceProperties", lambda device: facts)
    (tmp_path / "0000:00:00.0").mkdir()
    (tmp_path / "0000:00:00.0" / "max_link_speed").write_text("32.0 GT/s PCIe\n")
    (tmp_path / "0000:00:00.0" / "current_link_width").write_text("16\n")

    for found, known in zip(gpus.rates(0, tmp_path)[2:], H200[2:]):
        assert found == pytest.approx(known, rel=0.02)  # the data sheet's digits

    def refuse(attribute, device):
        raise cupy.cuda.runtime.CUDARuntimeError("cudaErrorInvalidValue")

    monkeypatch.setattr(cupy.cuda.runtime, "deviceGetAttribute", refuse)

    assert gpus.rates(0, tmp_path)[3:] == (0, 0.0)


@pytest.mark.parametrize("active", [(), (0,), (0, 1)])
def test_a_driver_that_only_started_is_no_use_of_a_device(monkeypatch, active):
    """A library in place of the driver's: so many devices, with a context or without."""

    def count(to):
        to._obj.value = len(active)
        return 0

    def state(device, flags, to):
        to._obj.value = active[device.value]
        return 0

    def get(to, number):
        to._obj.value = number
        return 0

    driver = types.SimpleNamespace(cuDeviceGetCount=count, cuDeviceGet=get, cuDevicePrimaryCtxGetState=state)
    monkeypatch.setattr(ctypes, "CDLL", lambda *a, **k: driver)
    mps.used.cache_clear()

    assert mps.used() == any(active)

    mps.used.cache_clear()


def test_info_prints_the_table_and_the_choice(capsys, monkeypatch):
    monkeypatch.setattr(kernels.engine.backend, "cuda_devices", lambda name: 1)
    monkeypatch.setattr(kernels.engine.backend, "device_rates", lambda device: DESKTOP)

    assert cli.main(["info"]) == 0

    told = capsys.readouterr().out

    assert (
        "NVIDIA GeForce RTX 4090 is not in the table: times of NVIDIA H200 in proportion to its link 31.5 GB/s" in told
    )

    for ranks in (1, 4, 8, 16):
        assert f"{ranks} rank{'s' * (ranks > 1)}, NVIDIA GeForce RTX 4090, ns a point of 10 species: CPU" in told

    assert told.count("  measured ") == len(rule.table())

    monkeypatch.setattr(kernels.engine.backend, "device_rates", lambda device: H200)
    cli.main(["info"])

    assert "NVIDIA H200 is in the table" in capsys.readouterr().out


def test_the_page_has_the_rules_figures():
    page = (ROOT / "docs/howto/gpus.md").read_text()
    for ranks in (1, 4, 8, 16):
        shown = lambda t: f"{t:.{2 + (t >= 100)}g}"
        cells = [shown(rule.cpu(rule.Work(10, "double", "blocks", 12288), ranks))]

        for calls in ("blocks", "chunks"):
            work = rule.Work(10, "double", calls, 12288)
            times = [rule.gpu(work, H200, ranks, service) for service in (True, False)[: 1 + (ranks > 1)]]
            cells += [shown(t) + ": CPU" * (t > float(cells[0])) for t in times] + [""] * (ranks == 1)

        assert f"| {ranks} | {' | '.join(cells)} |".replace("|  |", "| |") in page, cells
