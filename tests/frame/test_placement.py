"""FRAME_PLACEMENT: which side is taken, that all ranks take the same one, and that the host can go on with it."""

import sys

import cuda_on_cpu
import numpy as np
import pytest
from hosts import ROOT

import kernels
from frame import frame as frames
from frame.config import Config
from frame.devices import placement
from frame.errors import ArgumentError, FrameError, StateError
from frame.mpi import Alone
from frame.stripe import IN, OUT, Field
from kernels.engine.backend import cuda

N2 = str(ROOT / "examples" / "mixtures" / "n2.yaml")


@pytest.fixture
def frame(programs, monkeypatch):
    """A frame with a device, for which nothing but the variable is set."""
    monkeypatch.setitem(sys.modules, "cupy", cuda_on_cpu.make(lag=1))
    monkeypatch.setattr(cuda, "machine_code", programs)
    monkeypatch.setattr(placement, "POINTS", 300)
    device = cuda.CudaBackend(0)
    made = frames.Frame()
    monkeypatch.setattr(made, "_choose_backend", lambda *_: device)
    made._config = Config({"FRAME_PLACEMENT": "measured", "FRAME_BACKEND": "auto"})

    yield made

    made.finalize()

    assert not device._pinned._registered


def density(frame):
    T, rho = np.linspace(300, 900, 50), np.zeros(50)
    p, Y = np.full(50, 1e6), np.ones(50)
    arrays = [("T", T, IN), ("p", p, IN), ("Y", Y, IN), ("rho", rho, OUT)]
    fields = [Field(name, way, a.ctypes.data, a.shape, (8,), (1,), 8) for name, a, way in arrays]
    frame.block_of_fields("thermal", fields, (None,) * 4, (None,) * 4)
    wanted = frame.properties.mixture.properties("rho", backend="cpu", T=T, p=p, Y=Y[None])["rho"]

    np.testing.assert_allclose(rho, wanted, rtol=1e-13)  # another side's exp and log: some roundings


@pytest.mark.parametrize("pinned", [False, True])
def test_the_faster_side_is_taken(frame, pinned, capsys):
    """The stand-in is a slow device indeed."""
    frame.config.placement = "measured-pinned" if pinned else "measured"
    frame.initialize(-1, 128, 1, 1, 0)
    frame.load_mixture(N2, "")

    assert frame.backend.name == "cpu" and frame.properties.impl.backend is frame.backend

    said = capsys.readouterr().err
    memory = "pinned" if pinned else "pageable"

    assert f"a point of thermal_viscous on {memory} arrays takes" in said and "1 rank together: CPU." in said

    density(frame)


def test_the_device_stays_where_it_is_faster(frame, monkeypatch, capsys):
    monkeypatch.setattr(placement, "_seconds", lambda mixture, collection, backend, *_: 1 + (backend.name == "cpu"))
    frame.initialize(-1, 128, 1, 1, 0)
    frame.load_mixture(N2, "")
    assert frame.backend.name == "cuda" and "together: GPU." in capsys.readouterr().err

    density(frame)


def test_a_choice_of_the_host_stays(frame, capsys):
    """A backend that is named, the default, and arrays that are in use already."""
    for backend, mode in (("cuda", "measured"), ("auto", "device")):
        frame._config = Config({"FRAME_PLACEMENT": mode, "FRAME_BACKEND": backend})
        frame.initialize(-1, 128, 1, 1, 0)
        frame.load_mixture(N2, "")
        assert frame.backend.name == "cuda" and not capsys.readouterr().err
        frame.finalize()

    frame._config = Config({"FRAME_PLACEMENT": "measured"})
    frame.initialize(-1, 128, 1, 1, 0)
    array = np.zeros(1000)
    frame.pin(array.ctypes.data, array.size)
    frame.load_mixture(N2, "")

    assert frame.backend.name == "cuda" and "in use before the mixture: GPU" in capsys.readouterr().err

    frame.unpin(array.ctypes.data, array.size)

    with pytest.raises(ArgumentError, match="FRAME_PLACEMENT is 'fastest', wanted one of rule, device, measured"):
        Config({"FRAME_PLACEMENT": "fastest"})


@pytest.mark.parametrize(
    "file, words", [(N2, "rank 1 failed: no file"), ("nothing.yaml", "nothing.yaml: cannot be read")]
)
def test_a_rank_without_the_mixture_is_an_error_on_all(frame, file, words):
    """The others would wait for its times. Rank 1 has no file; rank 0, this one, with or without."""
    shared = []

    class Two(Alone):
        size = 2

        def share(self, value):
            shared.append(value)
            return [value, "no file"]

    frame.initialize(-1, 128, 1, 1, 0)
    frame.comm = Two()
    with pytest.raises(FrameError, match=words):
        frame.load_mixture(file, "")

    assert len(shared) == 1 and (words in shared[0]) == (file != N2)


def test_ranks_that_read_another_mixture_measure_nothing(frame):
    """Each rank would print times of its own mixture. Rank 1 has another fingerprint than rank 0, this one."""

    class Two(Alone):
        size = 2

        def share(self, value):
            return [value, value and "another"]

    frame.initialize(-1, 128, 1, 1, 0)
    frame.comm = Two()
    with pytest.raises(StateError, match="the mixture of rank 1 is another than that of rank 0"):
        frame.load_mixture(N2, "")


def test_all_ranks_take_the_side_of_the_slowest(monkeypatch):
    """Two ranks: this one is faster on the device, the other one is held up there."""

    class Two(Alone):
        size = 2

        def most(self, values):
            return [max(pair) for pair in zip(values, [9.0, 3.0])]

    times = iter([1.0, 2.0])
    monkeypatch.setattr(placement, "_seconds", lambda *_: next(times))
    cpu = kernels.get_backend("cpu")
    job = placement.Job(mixture=None, chunk=128, precision="double", packers=1, pinned=False)
    side, said = placement.choose(job, (cpu, cpu), Two())

    assert side == 1 and "2 ranks together: CPU" in said
