"""Backends of the tests of team kernels: the CPU, the stand-in that runs CUDA on it, and the GPU.

The stand-in poisons scratch and knows who waits at a barrier; `pytest -m gpu` runs the tests on the device.
"""

import sys

import pytest
from team_cases import EXERCISES, HOST_KERNEL, on_stand_in

import kernels
from kernels import get_backend


@pytest.fixture(scope="module", autouse=True)
def folder():
    sys.path.insert(0, str(EXERCISES))
    yield
    sys.path.remove(str(EXERCISES))


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """The folder of the stand-in's programs."""
    return tmp_path_factory.mktemp("cuda")


@pytest.fixture(scope="module", params=["cpu", "stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def be(request, programs):
    if request.param == "stand-in":
        with on_stand_in(programs) as backend:
            yield backend
    else:
        yield get_backend("cpu" if request.param == "cpu" else "cuda")


@pytest.fixture
def stand_in(programs):
    with on_stand_in(programs) as backend:
        yield backend


@pytest.fixture
def rows():
    """The kernel of examples/own_kernel/rows.py."""
    with kernels.registry.temporary():
        kernels.load_declarations(HOST_KERNEL)
        yield kernels.registry.team_kernels["rows"]
