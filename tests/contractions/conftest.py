"""Fixtures of all test files of contractions."""

import pytest
from tensor_cases import XEON, every_backend, stand_in  # noqa: F401

from kernels.contractions import host_rates
from kernels.engine.backend import cpu


@pytest.fixture(scope="module")
def device_backend(every_backend):  # noqa: F811
    """The stand-in of a device, or a GPU."""
    if every_backend.style != "threads":
        pytest.skip("an organisation of devices")
    return every_backend


@pytest.fixture
def caches_of_zen4(monkeypatch):
    """Prices count with caches and vectors of a Zen 4, whatever core is here."""
    monkeypatch.setattr(cpu, "second_cache", lambda: 1 << 20)
    monkeypatch.setattr(cpu, "third_cache", lambda: 32 << 20)
    monkeypatch.setattr(cpu, "has_whole_vectors", lambda target: False)


@pytest.fixture
def large_cache(monkeypatch):
    """Prices count with a Xeon, whose last cache holds the copy by which memory is measured."""
    monkeypatch.setattr(host_rates, "of", lambda dtype: XEON)
    monkeypatch.setattr(cpu, "second_cache", lambda: 2 << 20)
    monkeypatch.setattr(cpu, "third_cache", lambda: 300 << 20)
    monkeypatch.setattr(cpu, "has_whole_vectors", lambda target: True)
    monkeypatch.setattr(cpu, "vector_bytes", lambda target: 64)
