"""Runs of the mini solver for its tests: a small case, the command in a process of its own, restart files."""

import copy
import os
import subprocess
import sys

import numpy as np
import pytest
from mixtures_for_tests import ROOT

from examples.mini_solver.flow import Flow

h5py = pytest.importorskip("h5py")


SMALL = """
[mixture]
file = "examples/mixtures/ch4_o2.yaml"
species = ["CH4", "O2"]
[domain]
cells = [19, 14, 9]
upper = [2e-3, 1e-3, 1e-3]
[initial]
p = 100e5
X = {{O2 = "0.5*(1 - tanh((y - 0.5e-3 + 5e-5*sin(2*pi*x/2e-3))/1e-4))", CH4 = "rest"}}
T = "120 + 90*(1 + tanh((y - 0.5e-3)/1e-4))"
u = "30*tanh((y - 0.5e-3)/1e-4)"
w = "0.3*sin(2*pi*z/1e-3)"
[boundary]
y_low = {{kind = "wall", T = 130.0}}
y_high = {{kind = "outlet", p = 100e5}}
[numerics]
viscous = true
scheme = "{scheme}"
[time]
steps = {steps}
[output]
report = 2
restart = {restart}
averages = 1
history = 1
"""


def small(tmp_path, steps=4, restart=2, scheme="double_flux"):
    path = tmp_path / f"small-{scheme}-{steps}.toml"
    path.write_text(SMALL.format(steps=steps, restart=restart, scheme=scheme))
    return path


def changed_case(good: dict, change: dict) -> dict:
    """A case with other values, {"section.name": value}, or other sections, {"section": table}."""
    data = copy.deepcopy(good)
    for key, value in change.items():
        section, _, name = key.partition(".")
        if name:
            data.setdefault(section, {})[name] = value
        else:
            data[section] = value
    return data


def command(*arguments, ranks=0, **more):
    """Environment and words of a run in a process of its own."""
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "FRAME_BACKEND": "cpu",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        "OMPI_MCA_odls_base_sigkill_timeout": "8",  # seconds from a signal to SIGTERM, and from there to SIGKILL
        **more,
    }

    launcher = ["mpirun", "-n", str(ranks)] if ranks else []
    return [*launcher, sys.executable, "-m", "examples.mini_solver", *map(str, arguments)], env


def run(*arguments, ranks=0, **more):
    words, env = command(*arguments, ranks=ranks, **more)
    return subprocess.run(words, env=env, cwd=ROOT, capture_output=True, text=True, timeout=120)


def flow_on(backend, case, **how):
    """A flow of this case on a backend of a test, which is the one that a Frame finds by its name."""
    case.parallel["backend"] = backend.name
    flow = Flow(case, **how)

    assert flow.backend is backend

    return flow


def restart_of(folder):
    with h5py.File(folder / "restart.h5") as file:
        return {k: values[:] for k, values in file.items()} | {k: file.attrs[k] for k in ("time", "steps", "dt")}


def same(a, b):
    return all(np.array_equal(a[k], b[k]) for k in a)


def broken(tmp_path, case, text, ranks):
    """Run the solver on a case after `text` has changed something in it."""
    (tmp_path / "break.py").write_text(
        "import sys\nfrom examples.mini_solver import flow, scaling, __main__\n"
        + text
        + "\nsys.exit(__main__.main(sys.argv[1:]))\n"
    )

    words, env = command(*case, ranks=ranks)
    words = [*words[: words.index("-m")], str(tmp_path / "break.py"), *words[words.index("-m") + 2 :]]

    return subprocess.run(words, env=env, cwd=ROOT, capture_output=True, text=True, timeout=120)
