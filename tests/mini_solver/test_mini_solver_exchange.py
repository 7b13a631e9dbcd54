"""Fringes between the mini solver's ranks on devices, and what ranks agree on: in one process on the stand-in that
executes the CUDA C++ on the CPU, and in processes of their own.
"""

import concurrent.futures
import ctypes
import glob
import itertools
import os
import shutil
import subprocess
import sys
import threading
import types

import numpy as np
import pytest
from cuda_on_cpu import DEVICE, shared_folder
from device_for_tests import STAND_IN, be  # noqa: F401  be: the backend: the stand-in, or a GPU with -m gpu
from mini_solver_runs import flow_on, restart_of, same
from mixtures_for_tests import ROOT
from test_mini_solver_cuda import MIXTURE, case

from examples.mini_solver import clock, exchange, mailboxes, ranks
from examples.mini_solver.case import Case
from examples.mini_solver.errors import CaseError
from kernels.engine.backend.base import Shape
from kernels.engine.backend.record import record


class Post:
    """Ranks of one process: messages lie here until all have sent. MPI matches them by tag, NCCL by the order between
    two ranks."""

    NCCL_FLOAT64 = 8
    available, NcclError = True, RuntimeError

    def __init__(self, be):  # noqa: F811
        self.be, self.sent, self.wanted, self.grouped, self.ended = be, {}, [], 0, []
        self.meeting, self.said = None, {}

    def together(self, works):
        """Each in a thread of its own, so that they can meet; their results."""
        self.meeting = threading.Barrier(len(works), timeout=60)

        with concurrent.futures.ThreadPoolExecutor(len(works)) as pool:
            done = [pool.submit(w) for w in works]
            concurrent.futures.wait(done)

        self.meeting = None

        return [d.result() for d in done]

    def allgather(self, number, size, value):
        if self.meeting is None:
            return [value] * size
        self.said[number] = value
        self.meeting.wait()
        everyone = [self.said[n] for n in range(size)]
        self.meeting.wait()

        return everyone

    def rank(self, number, size):
        return types.SimpleNamespace(
            rank=number,
            size=size,
            Is_inter=lambda: False,
            allgather=lambda x: self.allgather(number, size, x),
            bcast=lambda x: x,
            Isend=lambda a, to, tag: self.put((number, to, tag), a),
            Irecv=lambda a, of, tag: self.wanted.append(((of, number, tag), a)) or self,
        )

    def put(self, key, array):
        self.sent.setdefault(key, []).append(np.array(array))
        return self

    def Wait(self):
        self.deliver()

    def deliver(self):
        for key, into in self.wanted:
            value = self.sent[key].pop(0)
            into[...] = value.reshape(into.shape)
        self.wanted.clear()

    def get_unique_id(self):
        return b"id"

    def NcclCommunicator(self, size, name, number):
        def at(address, count):
            assert self.grouped and self.be.arrays.memory.kind(address) == DEVICE
            return np.ctypeslib.as_array((ctypes.c_double * count).from_address(address))

        return types.SimpleNamespace(
            send=lambda p, n, kind, to, stream: self.put((number, to), at(p, n)),
            recv=lambda p, n, kind, of, stream: self.wanted.append(((of, number), at(p, n))),
            destroy=lambda: self.ended.append(number),
        )

    def groupStart(self):
        self.grouped += 1

    def groupEnd(self):
        self.grouped -= 1


class Blocks:
    """A field of known numbers, cut into the blocks of ranks that live in this process."""

    def __init__(self, be, grid, way):  # noqa: F811
        self.cells, size, self.post = (8, 9, 12), int(np.prod(grid)), Post(be)
        be.arrays.cuda.nccl = self.post
        given = Case(
            dict(
                mixture=MIXTURE,
                domain=dict(cells=list(self.cells), upper=[1.0] * 3),
                time={"steps": 1},
                initial=dict(T=300, p=1e7, X={"O2": 1}),
                boundary={"y": "slip_wall"},
                parallel={"ranks": list(grid)},
            )
        )

        self.ranks = [ranks.Ranks(given, self.post.rank(n, size)) for n in range(size)]
        self.arrays = [be.empty((2, *(n + 6 for n in r.cells[::-1]))) for r in self.ranks]
        self.alarms = [be.empty((1,)) for r in self.ranks]
        make = [
            lambda r=r, a=a, alarm=alarm: exchange.Exchange(r, a, be, way, alarm)
            for r, a, alarm in zip(self.ranks, self.arrays, self.alarms)
        ]
        self.exchanges = self.post.together(make) if way in ("ipc", "auto") else [m() for m in make]

    def set(self, seed):
        """New numbers inside, NaN in the fringes; returns what `check` takes."""
        everywhere = np.random.default_rng(seed).random((2, *self.cells[::-1]))
        for number in range(len(self.ranks)):
            self.put(number, everywhere)
        return everywhere

    def put(self, number, everywhere):
        r = self.ranks[number]
        self.arrays[number][...] = np.nan
        at = tuple(slice(f, f + n) for f, n in zip(r.first[::-1], r.cells[::-1]))
        self.arrays[number][:, 3:-3, 3:-3, 3:-3] = everywhere[(slice(None), *at)]

    def check(self, number, everywhere):
        padded = np.pad(everywhere, ((0, 0), (3, 3), (0, 0), (3, 3)), "wrap")
        padded = np.pad(
            padded, ((0, 0), (0, 0), (3, 3), (0, 0)), constant_values=np.nan
        )  # walls: not the exchange's business
        r = self.ranks[number]
        wanted = padded[(slice(None), *(slice(f, f + n + 6) for f, n in zip(r.first[::-1], r.cells[::-1])))]
        known = np.isfinite(wanted)

        assert known.sum() >= np.prod(r.cells) and np.array_equal(np.asarray(self.arrays[number])[known], wanted[known])


@pytest.mark.parametrize("way", ["cuda_mpi", "staged", "nccl", "ipc"])
@pytest.mark.parametrize("grid", [(2, 1, 1), (1, 2, 2), (2, 3, 1), (1, 1, 4)])
def test_fringes_hold_the_neighbours_cells_by_every_way(be, way, grid, monkeypatch):  # noqa: F811
    """Ranks that are neighbours twice (two in a periodic direction), once, and at a wall; corners too."""
    monkeypatch.setattr(be.arrays.cuda, "nccl", None, raising=False)  # what Blocks puts there goes with the test
    if be.arrays.__version__ != STAND_IN:
        pytest.skip("messages between ranks of one process: on the stand-in")
    blocks = Blocks(be, grid, way)

    assert {e.way for e in blocks.exchanges} == {way} and {"ipc", "staged"} <= set(exchange.ways(be))

    for seed in range(3):  # both slots of the mailboxes, and the first again
        field = blocks.set(seed)

        for d in range(3):
            waiting = [e.start(d) for e in blocks.exchanges]
            blocks.post.deliver()
            for e, w in zip(blocks.exchanges, waiting):
                e.finish(d, w)

        for number in range(len(blocks.ranks)):
            blocks.check(number, field)

    assert not any(blocks.post.sent.values())  # every message was taken
    blocks.post.together([e.close for e in blocks.exchanges])
    assert sorted(blocks.post.ended) == (list(range(len(blocks.ranks))) if way == "nccl" else [])


def test_nccl_that_is_not_there_is_told(be):  # noqa: F811
    if be.arrays.__version__ != STAND_IN:
        pytest.skip("a machine that has it")
    r = ranks.Ranks(case("apec"), Post(be).rank(0, 2))
    with pytest.raises(CaseError, match="CuPy finds no NCCL"):
        exchange.Exchange(r, be.empty((2, 10, 18, 22)), be, "nccl")


def own_devices(monkeypatch, be):  # noqa: F811
    """A device for each rank, as far as can be seen."""
    numbers = itertools.count()
    monkeypatch.setattr(be.arrays.cuda.runtime, "deviceGetPCIBusId", lambda d: f"0000:{next(numbers):02x}:00.0")


def test_a_rank_ahead_of_its_neighbour_spoils_nothing(be, monkeypatch):  # noqa: F811
    """Device to device, one rank is up to one message ahead: what its neighbour has not unpacked yet stays."""
    if be.arrays.__version__ != STAND_IN:
        pytest.skip("messages between ranks of one process: on the stand-in")
    monkeypatch.setattr(be.arrays.cuda, "nccl", None, raising=False)
    own_devices(monkeypatch, be)
    blocks = Blocks(be, (1, 1, 2), "auto")
    fast, slow = blocks.exchanges

    assert fast.way == slow.way == "ipc" and fast.traffic() == "CUDA IPC"  # what auto takes where it can
    for d in (0, 1):  # nobody to wait for
        fast.fill(d), slow.fill(d)

    def start(number, field):
        blocks.put(number, field)
        blocks.exchanges[number].start(2)

    def finish(number, field):
        for d in (0, 1):
            blocks.exchanges[number].fill(d)
        blocks.exchanges[number].finish(2, [])

    def inside(number, field):
        """The fringe in z, of cells that are not in a corner."""
        r = blocks.ranks[number]
        wanted = np.pad(field, ((0, 0), (3, 3), (0, 0), (0, 0)), "wrap")[:, r.first[2] : r.first[2] + r.cells[2] + 6]
        assert np.array_equal(np.asarray(blocks.arrays[number])[:, :, 3:-3, 3:-3], wanted)

    fields = [np.random.default_rng(seed).random((2, *blocks.cells[::-1])) for seed in range(6)]
    start(0, fields[0]), start(1, fields[0])

    for n in range(5):
        finish(0, fields[n])
        inside(0, fields[n])
        start(0, fields[n + 1])  # sent before the neighbour unpacks the one before
        finish(1, fields[n])
        inside(1, fields[n])
        start(1, fields[n + 1])

    assert not fast.complaint() and not slow.complaint()
    blocks.post.together([e.close for e in blocks.exchanges])


def test_a_neighbour_that_never_sends_is_told(be, monkeypatch):  # noqa: F811
    if be.arrays.__version__ != STAND_IN:
        pytest.skip("messages between ranks of one process: on the stand-in")
    monkeypatch.setattr(be.arrays.cuda, "nccl", None, raising=False)
    monkeypatch.setattr(mailboxes, "PATIENCE", 100)
    blocks = Blocks(be, (1, 1, 2), "ipc")
    blocks.set(0)
    blocks.alarms[0][...] = 0.0
    blocks.exchanges[0].fill(2)

    assert blocks.exchanges[0].complaint() == (
        "rank 0 waited in vain for message 1 at its low side (from rank 1); it has seen 0."
    )
    assert np.isnan(blocks.alarms[0][0]) and not blocks.exchanges[1].complaint()
    blocks.post.together([e.close for e in blocks.exchanges])


def test_a_rank_that_never_tells_its_time_step_is_told(be, monkeypatch):  # noqa: F811
    """The others do not step; the complaint names it."""
    if be.arrays.__version__ != STAND_IN:
        pytest.skip("messages between ranks of one process: on the stand-in")
    monkeypatch.setattr(clock, "PATIENCE", 100)
    f, post = flow_on(be, case("double_flux", False)), Post(be)
    comms = [post.rank(n, 3) for n in range(3)]
    for comm in comms:
        comm.everyone = comm.allgather
    boards = post.together([lambda comm=comm: clock.Board(comm, be) for comm in comms])
    filled = record(clock.MEMBERS, clock=be.address(f.block.arrays["clock"]), rates=be.address(be.empty((1,))))
    for name, value in boards[2].words().items():
        filled[name] = value
    be.compile(clock.SOURCE).launch("next_step", Shape(1), filled, 1)

    assert f.clock.read().failed and f.clock.read().steps == 0 and not boards[1].complaint()
    assert boards[2].complaint() == ("rank 2 waited in vain for the time step of rank 0: for number 1, and has seen 0.")
    post.together([board.close for board in boards])


@pytest.mark.parametrize("what", ["export", "open", "node", "device"])
def test_where_one_rank_cannot_open_memory_all_go_another_way(be, monkeypatch, what):  # noqa: F811
    if be.arrays.__version__ != STAND_IN:
        pytest.skip("a machine that can")
    monkeypatch.setattr(be.arrays.cuda, "nccl", None, raising=False)

    runtime, calls = be.arrays.cuda.runtime, []

    def once(function, at):
        def call(*given):
            calls.append(given)
            if len(calls) == at:
                raise runtime.CUDARuntimeError("cudaErrorNotSupported: not here")
            return function(*given)

        return call

    if what != "device":
        own_devices(monkeypatch, be)

    told = ""
    if what == "node":
        nodes = iter("aab")
        monkeypatch.setattr(mailboxes, "node", lambda: next(nodes))
        told = "on another node"
    elif what != "device":
        name = {"export": "ipcGetMemHandle", "open": "ipcOpenMemHandle"}[what]
        monkeypatch.setattr(runtime, name, once(getattr(runtime, name), 2))
        told = f"{what}ing .*device 0: cudaErrorNotSupported"

    blocks = Blocks(be, (1, 1, 3), "auto")
    assert {e.way for e in blocks.exchanges} == {"staged"}
    calls.clear()
    if what == "node":
        nodes = iter("aab")

    if what == "device":  # but asked for, it is done
        assert {e.way for e in Blocks(be, (1, 1, 3), "ipc").exchanges} == {"ipc"}
        return

    with pytest.raises(CaseError, match=rf"exchange = 'ipc': rank \d, .*{told}.*choose 'staged'"):
        Blocks(be, (1, 1, 3), "ipc")


STAND_IN_RUN = """
import pathlib, sys
import cuda_on_cpu
sys.modules["cupy"] = cuda_on_cpu.make()
from kernels.engine.backend import cuda
cuda.machine_code = cuda_on_cpu.compiler(pathlib.Path({folder!r}))
from examples.mini_solver import __main__, flow
{text}
sys.exit(__main__.main({arguments!r}))
"""


def in_processes(tmp_path_factory, number, *arguments, text="", ways=("ipc",)):
    """The solver's command on `number` ranks, each with a stand-in of its own, whose memory the others can open."""
    pytest.importorskip("mpi4py")
    if not shutil.which("mpirun") or not shutil.which("g++"):
        pytest.skip("needs mpirun and g++")
    folder = shared_folder(tmp_path_factory.getbasetemp())
    script = tmp_path_factory.mktemp("processes") / "run.py"
    script.write_text(
        STAND_IN_RUN.format(
            folder=str(folder), arguments=[*arguments, *(w for way in ways for w in ("--exchange", way))], text=text
        )
    )

    env = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    }

    memory = f"stand-in-{os.getpid()}-"  # no other run's on this machine
    done = subprocess.run(
        ["mpirun", "-n", str(number), sys.executable, str(script)],
        env=env | {"STAND_IN_MEMORY": memory},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
    )

    done.left = set(glob.glob(f"/dev/shm/{memory}*"))  # device memory that was not given back
    for path in done.left:
        os.unlink(path)

    return done


@pytest.mark.parametrize("most", (2, 4))
@pytest.mark.quick(most=2)
def test_ranks_in_processes_give_the_same_bits(tmp_path_factory, most):
    """1, 2 and 4 ranks, the last neighbours of each other twice in x and in z; every flow's memory is given back."""
    words = ("scaling", "--backend", "cuda", "--cells", "8", "--steps", "1")
    short = "import functools\nfrom examples.mini_solver import scaling\n"
    short += "scaling.ROUNDS = scaling.WARM = 1\nscaling.Study = functools.partial(scaling.Study, kinds=('strong',))"
    done = in_processes(tmp_path_factory, most, *words, text=short, ways=("ipc", "staged"))

    assert done.returncode == 0, done.stdout + done.stderr
    strong = [line.split() for line in done.stdout.split("weak:")[0].splitlines()[2:]]
    assert [(w[0], "CUDA IPC" in " ".join(w), w[-1]) for w in strong] == [
        ("1", False, "same"),
        ("2", True, "same"),
        ("2", False, "same"),
        *((("4", True, "same"), ("4", False, "same")) if most == 4 else ()),
    ]

    assert not done.left


JET = """
[mixture]
file = "examples/mixtures/ch4_o2.yaml"
species = ["CH4", "O2"]
[domain]
cells = [12, 10]
upper = [2e-3, 1e-3]
[initial]
p = 1e7
T = 300
X = {CH4 = 1}
[[boundary.x_low]]
kind = "inlet"
where = "abs(y - 0.5e-3) < 0.25e-3"
velocity = ["30*minimum(t/2e-7, 1)", "3*sin(1e6*t)", 0]
T = "200 + 20*cos(1e6*t)"
Y = {O2 = "1 - 0.2*sin(1e6*t)**2", CH4 = "rest"}
[[boundary.x_low]]
kind = "wall"
[boundary.x_high]
kind = "outlet"
p = "1e7 + 1e10*t"
[boundary.y]
kind = "wall"
[numerics]
viscous = true
[time]
steps = 8
[output]
restart = 10
"""


@pytest.mark.full
def test_formulas_of_t_on_ranks_in_processes(tmp_path_factory, tmp_path):
    """Queued steps, on 1 and 2 ranks: the same bits."""
    (tmp_path / "jet.toml").write_text(JET)

    for number in (1, 2):
        words = (str(tmp_path / "jet.toml"), "--backend", "cuda", "--folder", str(tmp_path / str(number)))
        done = in_processes(tmp_path_factory, number, *words, ways=("ipc",) * (number > 1))
        assert done.returncode == 0 and ("CUDA IPC" in done.stdout) == (number > 1), done.stdout + done.stderr

    one, two = (restart_of(tmp_path / name) for name in "12")
    assert same(one, two) and one["steps"] == 8


def test_a_rank_that_fails_ends_all(tmp_path_factory):
    """The others wait for its message on the device, where no MPI call ends the wait: the launcher ends the
    processes."""
    done = in_processes(
        tmp_path_factory,
        2,
        "scaling",
        "--backend",
        "cuda",
        "--cells",
        "8",
        "--steps",
        "1",
        text="""
advance = flow.Flow.advance
def tired(self, *given, **how):
    if self.ranks.rank == 1 and self.steps > 2:
        raise RuntimeError("this rank has had enough")
    return advance(self, *given, **how)
flow.Flow.advance = tired""",
    )
    assert done.returncode != 0 and "had enough" in done.stderr, done.stderr[-3000:]
