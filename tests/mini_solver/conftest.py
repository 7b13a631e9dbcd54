"""For tests of the mini solver: runs in this process take the CPU, as those in a process of their own
(mini_solver_runs), also where the machine has a GPU. Tests of a GPU name it."""

import pytest


@pytest.fixture(autouse=True)
def cpu_unless_named(monkeypatch, request):
    if not request.node.get_closest_marker("gpu"):
        monkeypatch.setenv("FRAME_BACKEND", "cpu")
