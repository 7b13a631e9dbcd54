"""Ranks and devices: which rank uses which device, and machines without CuPy."""

import sys

import pytest
from hosts import ROOT

import kernels
from frame.config import CPU, GPU, Config
from frame.devices.spread import device_for, numa_node, spread
from frame.errors import ArgumentError, BackendError
from frame.frame import Frame


def test_ranks_are_spread_over_devices_near_their_cores(tmp_path):
    for ranks, devices, wanted in (
        ([-1] * 6, [-1] * 4, [0, 1, 2, 3, 0, 1]),  # nobody tells: by rank on the node
        ([0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 2, 3]),
        ([1, 1, 0, 0], [0, 0, 1, 1], [2, 3, 0, 1]),
        ([0, 0, 0, 0], [0, 1], [0, 0, 1, 1]),  # even, though one is far
        ([1, 0, -1], [0, 1], [1, 0, 0]),
        ([0, 1, 0, 1, 0, 1, 0, 1], [1, 0], [1, 0, 1, 0, 1, 0, 1, 0]),
        ([3], [0, 1, 2, 3], [3]),
    ):
        found = spread(ranks, devices)
        assert found == wanted
        load = [found.count(d) for d in range(len(devices))]
        assert max(load) - min(load) <= 1

    for node, cores in ((0, "0-3,8-11"), (1, "4-7,12-15")):
        (tmp_path / f"node{node}").mkdir()
        (tmp_path / f"node{node}" / "cpulist").write_text(cores + "\n")

    assert [numa_node(c, tmp_path) for c in ({0, 9}, {4, 15}, {3, 4}, {99}, set())] == [0, 1, -1, -1, -1]
    assert numa_node({0}, tmp_path / "nowhere") == -1


def test_the_device_of_a_rank():
    assert [device_for(-1, rank, 4) for rank in range(6)] == [0, 1, 2, 3, 0, 1]
    assert [device_for(2, rank, 4) for rank in range(3)] == [2, 2, 2]
    with pytest.raises(ArgumentError, match=r"device_id = 4, wanted -1 \(by rank on the node\) or 0..3"):
        device_for(4, 0, 4)
    with pytest.raises(BackendError, match="no CUDA device is visible; set FRAME_BACKEND=cpu"):
        device_for(-1, 0, 0)


@pytest.mark.parametrize("driver", [False, True])
@pytest.mark.parametrize("name, gpu, cpu", [("auto", True, True), ("cuda", True, False), ("cpu", False, True)])
def test_sides_of_each_backend(monkeypatch, name, gpu, cpu, driver):
    """Which sides option `backend` admits, and whether this machine may have a device for it."""
    monkeypatch.setattr(kernels.engine.backend, "has_driver", lambda: driver)
    config = Config({"FRAME_BACKEND": name})

    assert (config.admits(GPU), config.admits(CPU)) == (gpu, cpu)
    assert config.leaves_side_open == (gpu and cpu)
    assert kernels.engine.backend.may_be_device(name) == (gpu and driver)


def test_importing_needs_neither_cupy_nor_mpi4py():
    import subprocess
    import sys

    code = "import frame.frame, frame.embedded, sys; assert not {'cupy', 'mpi4py'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.fixture
def driver_without_cupy(monkeypatch, tmp_path):
    """A machine with an NVIDIA driver whose Python has no CuPy."""
    from kernels.engine import backend

    (tmp_path / "nvidiactl").touch()
    monkeypatch.setattr(backend, "DRIVER", (str(tmp_path / "nvidiactl"),))
    monkeypatch.setitem(sys.modules, "cupy", None)  # its import fails
    monkeypatch.delenv("FRAME_BACKEND", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    backend._devices_for_auto.cache_clear()

    yield

    backend._devices_for_auto.cache_clear()


def test_auto_without_cupy_says_once_that_it_takes_the_cpu(driver_without_cupy):
    """A run on the CPU of a GPU machine must be noticed, from Python and from a host."""
    with pytest.warns(RuntimeWarning, match="takes the CPU.*needs CuPy.*install the project's extra 'cuda'"):
        assert kernels.get_backend("auto", threads=1).memory == "host"

    kernels.engine.backend._devices_for_auto.cache_clear()
    frame = Frame()

    with pytest.warns(RuntimeWarning, match="takes the CPU.*needs CuPy.*install the project's extra 'cuda'") as told:
        for _ in range(2):
            frame.initialize(-1, 24, 1, 6, 0)
            assert frame.backend.memory == "host"
            frame.finalize()

    assert len(told) == 1


def test_cuda_without_cupy_is_an_error(driver_without_cupy):
    frame = Frame()
    frame.set_option("backend", "cuda")
    with pytest.raises(BackendError, match="needs CuPy.*install the project's extra 'cuda'"):
        frame.initialize(-1, 24, 1, 6, 0)


def test_auto_without_a_driver_says_nothing(monkeypatch, driver_without_cupy, recwarn):
    monkeypatch.setattr(kernels.engine.backend, "DRIVER", ("/nowhere/nvidiactl",))
    assert kernels.get_backend("auto", threads=1).memory == "host" and not list(recwarn)
