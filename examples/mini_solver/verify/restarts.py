"""Restarts: a run in parts, each on another number of ranks, has the bits of one that is not stopped."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from ..errors import CaseError
from .tools import ROOT, rows

JET = ROOT / "examples/mini_solver/cases/lox_h2_jet.toml"
MPIRUN = {  # more ranks than cores, and as root
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def run(ranks, folder, cells, steps, restart=None):
    """The shipped jet for so many steps, while its valves open."""
    changes = [f"domain.cells={cells}", f"time.steps={steps}", "output.restart=10000", "output.frames_time=1.0"]
    words = [sys.executable, "-m", "examples.mini_solver", JET, "--folder", folder, "--backend", "cpu"]
    words += [word for change in changes for word in ("--set", change)] + (["--restart", restart] if restart else [])
    launcher = ["mpirun", "-n", ranks] if ranks > 1 else []
    done = subprocess.run(
        list(map(str, [*launcher, *words])), cwd=ROOT, env=MPIRUN | os.environ, capture_output=True, text=True
    )

    if done.returncode:
        raise CaseError(f"{ranks} ranks: {done.stderr[-2000:]}")

    return folder / "restart.h5"


def restart(quick, pictures):
    """Half of the way on 1, 2 and 3 ranks, the rest on 4, 3 and 1; without mpirun on one."""
    import h5py

    cells, steps = ([12, 16], 6) if quick else ([48, 32], 400)
    ways = ((1, 4), (2, 3), (3, 1)) if shutil.which("mpirun") else ((1, 1),)

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        with h5py.File(run(1, folder / "whole", cells, steps)) as file:
            whole = {name: values[:] for name, values in file.items()}

        for first, then in ways:
            half = run(first, folder / f"half-{first}", cells, steps // 2)
            with h5py.File(run(then, folder / f"rest-{first}", cells, steps, half)) as file:
                off = max(float(np.abs(file[name][:] - values).max()) for name, values in whole.items())
            yield from rows(f"restart of {first} ranks on {then}, {steps} steps", ("largest difference", off, 0.0))
