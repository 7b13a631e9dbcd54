"""What the mini solver takes from the layer: by public names, from a Frame."""

import ast
import re

import numpy as np
import pytest
from mixtures_for_tests import ROOT

import kernels
from examples.mini_solver import layer
from examples.mini_solver.flow import Flow
from examples.mini_solver.scaling import layer_case
from examples.mini_solver.stencil import HERE
from frame import Frame

# Modules of the engine for solvers that bring kernels of their own; ARCHITECTURE.md and their docstrings say how.
DOCUMENTED = {
    "frame.streams": {"lose_what_cannot_be_written", "lose_what_nobody_reads"},
    "kernels.engine.backend.base": {"Ends", "Shape", "Source"},
    "kernels.engine.backend.record": {"layout", "record", "structure"},
    "kernels.engine.errors": {"closest"},
    "kernels.gas.species.fluids": {"fluids"},  # rows of fluids.csv, for an oracle of equation mapped
}
# Of the other examples: contractions that have a name, the clock of the tuner, the stand-in of the tests.
OTHERS = {
    "kernels.contractions": {"named"},
    "kernels.engine": {"tune"},
    "kernels.engine.backend": {"cache", "cuda"},
}


def imported(file):
    """(module, name) of what a file imports; name "" for a whole module."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, ""
        if isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield node.module, alias.name


@pytest.mark.parametrize("folder, documented", [("mini_solver", DOCUMENTED), ("", DOCUMENTED | OTHERS)])
def test_examples_import_public_names_alone(folder, documented):
    public = {"kernels": set(kernels.__all__), "frame": {"Frame"}} | documented
    found, strange = set(), []
    for file in (ROOT / "examples" / folder).rglob("*.py"):
        for module, name in imported(file):
            if module.split(".")[0] in ("kernels", "frame"):
                found.add(module)
                if module not in public or name and name not in public[module]:
                    strange.append(f"{file.name}: {module} {name}")

    assert not strange and {"kernels", "frame"} <= found


def test_the_solver_includes_documented_headers_alone():
    """Of the layer those that ARCHITECTURE.md names."""
    known = (ROOT / "ARCHITECTURE.md").read_text()
    included = set()
    for file in HERE.glob("*.h"):
        included.update(re.findall(r'#include "([^"]*/[^"]*)"', file.read_text()))

    assert included
    for path in included:
        assert (ROOT / "kernels" / path).is_file() and path.split("/")[-1] in known, path


def test_a_flow_takes_everything_from_its_frame():
    flow = Flow(layer_case([8, 8, 8], backend="cpu"))
    frame = flow.frame
    assert isinstance(frame, Frame) and flow.backend is frame.backend and flow.mixture is frame.mixture

    flow.take(2)
    timers = frame.timers
    assert {"properties", "flux", "viscous", "update", "time step"} <= set(timers)
    assert all(timer.seconds > 0 and timer.calls > 0 for timer in timers.values())
    assert timers["properties"].points % flow.block.size == 0  # launches of the whole block

    layer.restart_timers(frame)
    assert not frame.timers
    flow.close()
    assert frame.backend is None


def test_flows_that_share_a_frame(monkeypatch):
    """The bits of flows with a Frame of their own, and the Frame stays open; FRAME_BACKEND is the backend of auto."""
    monkeypatch.setenv("FRAME_BACKEND", "cpu")

    shared, states = layer.open_frame(), []
    for frame in (shared, shared, None):
        flow = Flow(layer_case([8, 8, 8]), frame=frame)
        flow.take(2)
        states.append(flow.state())
        flow.close()

    assert shared.backend.name == "cpu"
    for state in states[1:]:
        assert all(np.array_equal(state[key], states[0][key]) for key in "UQ")


def test_timers_of_a_sample():
    """What is weighted counts so often; what counts 0 times is not timed; a launch keeps its points."""
    frame = layer.open_frame("cpu")
    layer.begin(frame, layer_case([8, 8, 8]).make_mixture())
    arrays = {"T": np.full(8, 300.0), "p": np.full(8, 1e7), "Y": np.full((2, 8), 0.5), "rho": np.full(8, np.nan)}
    run = frame.bind(arrays, timer="density", outputs=["rho"], given=["T", "p", "Y"])

    with frame.weighted(3), frame.timed("outside"):
        run(8)
    with frame.weighted(0), frame.timed("never"):
        run(8)
    run(8)

    expected = frame.mixture.properties("rho", T=arrays["T"], p=arrays["p"], Y=arrays["Y"], backend="cpu")["rho"]
    assert np.array_equal(arrays["rho"], expected)
    timers = {name: (timer.calls, timer.points) for name, timer in frame.timers.items()}
    assert timers == {"density": (4, 32), "outside": (3, 0)}
    frame.finalize()


def test_a_frame_refuses_another_number_of_species():
    frame = layer.open_frame("cpu")
    layer.begin(frame, layer_case([8, 8, 8]).make_mixture())
    with pytest.raises(kernels.ArgumentError, match="10 species .* told ns = 2"):
        frame.use_mixture(layer_case([8, 8, 8], species=()).make_mixture())


def test_before_initialize():
    frame = Frame()
    for ask in (lambda: frame.mixture, lambda: frame.timers, lambda: frame.timed("flux"), lambda: frame.compile(None)):
        with pytest.raises(kernels.StateError, match="initialize first"):
            ask()


def test_a_backend_that_is_no_word():
    with pytest.raises(kernels.ArgumentError, match="option 'backend' is 'gpu'"):
        layer.open_frame("gpu")
