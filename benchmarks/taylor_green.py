"""The mini solver beside PyFR and JAX-Fluids, public solvers for ideal gases: the Taylor-Green vortex of
examples/mini_solver/cases/taylor_green.toml (Re 1600, M 0.1, gamma 1.4, Pr 0.71) on the same number of points, all in
double precision on one core or one GPU.

    .venv/bin/python benchmarks/taylor_green.py --pyfr /path/to/venv/bin/python [--jaxfluids /path/to/venv/bin/python]
    [--cells 32 48] [--backend cpu] [--json FILE]

--pyfr: a Python that has PyFR 3 (pip install pyfr), which runs benchmarks/pyfr_run.py. On a CPU it takes libxsmm where
the loader finds it, otherwise GiMMiK through the C compiler; the answer names it. --jaxfluids: a Python that has
JAX-Fluids, which runs benchmarks/jaxfluids_run.py. Each solver takes the largest time step at which it stayed stable:
ours ssp43 at CFL 1.2, PyFR tvd-rk3 at 0.45 of the step of our CFL 1 at rest (degree 3; 0.5 was unstable on 32^3),
JAX-Fluids RK3 at 1. The times are those of the steps, without set-up; on a CPU processor time, which a busy machine
changes little.

Output: points times Runge-Kutta stages per second, in the fastest of the intervals between the times; seconds to the
end at that rate; the errors of the kinetic energy there and of the dissipated part of it, against incompressible
pseudo-spectral runs (the reference of `verify`, t V/L = 2, 4, 6). Exit status 2 where the energies of the two solvers
differ by more than SAME at the first time: the flows are then different, and the times cannot be compared.
"""

import argparse
import json
import math
import os
import pathlib
import platform
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from examples.mini_solver.case import Case  # noqa: E402
from examples.mini_solver.flow import Flow  # noqa: E402
from examples.mini_solver.stepping import RUNGE_KUTTA  # noqa: E402
from kernels import get_backend  # noqa: E402

CASE = ROOT / "examples/mini_solver/cases/taylor_green.toml"
REFERENCE = {2.0: 0.123917, 4.0: 0.121509, 6.0: 0.113450}  # examples/mini_solver/verify
V, RHO, W = 35.31, 1.12253, 0.028  # of the case file
# Relative difference of the kinetic energy at the first time. Both solve the same equations; with 32^3 points the error
# was 2e-3 at t = 2.
SAME = 5e-3
REAL_GAS = {"file": str(ROOT / "examples/mixtures/n2.yaml")}
OURS = {  # changes of [numerics]; mixture replaces that of the case
    "central": ({"dissipation": "none"}, None),
    "sensor": ({}, None),
    "central, PR N2": ({"dissipation": "none"}, REAL_GAS),
}


def case_of(cells, backend, numerics, mixture):
    data = Case.from_file(CASE).data
    data["domain"]["cells"] = [cells] * 3
    data["numerics"].update(numerics, transport="step")
    data.setdefault("parallel", {})["backend"] = backend
    if mixture:
        data["mixture"] = mixture
    return Case(data, CASE.parent, CASE.stem)


def ours(cells, times, backend, numerics, mixture):
    case = case_of(cells, backend, numerics, mixture)
    flow = Flow(case)
    backend = flow.backend
    rho = float(flow.field("rho").mean())
    kinetic = lambda: float((0.5 * flow.field("rho") * sum(flow.field(n) ** 2 for n in "uvw")).mean()) / (rho * V * V)
    clock = time.process_time if backend.memory == "host" else time.perf_counter
    flow.step()  # kernels are bound at the first step
    stages = len(RUNGE_KUTTA[case.numerics["runge_kutta"]])
    row = {"stages": stages, "kinetic": [0.125], "seconds": [], "steps": []}
    for t in times:
        steps = flow.steps
        backend.synchronize()
        began = clock()
        while flow.time < t / V * (1 - 1e-12):
            flow.advance(flow.queue, t / V, t / V * (1 - 1e-12))
        backend.synchronize()
        row["seconds"].append(clock() - began)
        row["steps"].append(flow.steps - steps)
        row["kinetic"].append(kinetic())
    return row


def answer(python, script, settings, name, **environment):
    """The last line that a run of another solver prints."""
    done = subprocess.run(
        [*shlex.split(python), str(ROOT / "benchmarks" / script), json.dumps(settings)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"} | environment,
    )
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def jaxfluids(python, cells, times, backend):
    """In units of rho, V, L, where sound has the speed 10."""
    data = Case.from_file(CASE).data
    transport, R = data["transport"], 8.31446261815324 / W
    steps = math.ceil(times[0] * 3 * 10 * cells / (2 * math.pi))
    settings = {
        "cells": cells,
        "side": data["domain"]["upper"][0],
        "gamma": 1.4,
        "p0": 1e5 / (RHO * V * V),
        "mu": transport["mu"] / (RHO * V),
        "lam": transport["lam"] / (RHO * V * R),
        "dt": times[0] / steps,
        "times": times,
    }
    return answer(python, "jaxfluids_run.py", settings, "JAX-Fluids", JAX_PLATFORMS=backend)


def pyfr(python, degree, step, cells, times, backend):
    data, cp = Case.from_file(CASE).data, 1.4 / 0.4 * 8.31446261815324 / W
    side, c = data["domain"]["upper"][0], math.sqrt(1.4 * 1e5 / RHO)
    mu, lam = data["transport"]["mu"], data["transport"]["lam"]
    settings = {
        "cells": cells,
        "degree": degree,
        "side": side,
        "gamma": 1.4,
        "mu": mu,
        "Pr": mu * cp / lam,
        "rho": RHO,
        "scheme": "tvd-rk3",
        **{k: data["initial"][k] for k in "puv"},
        "dt": step * side / cells / (3 * c),
        "times": [t / V for t in times],
        "backend": {"cpu": "openmp", "cuda": "cuda"}[backend],
    }
    row = answer(python, "pyfr_run.py", settings, "PyFR")
    row["kinetic"] = [e / (RHO * V * V) for e in row["kinetic"]]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument(
        "--pyfr",
        metavar="PYTHON",
        help="a Python that has PyFR, with mpirun and its words before it if wished; without it ours alone",
    )
    parser.add_argument("--jaxfluids", metavar="PYTHON", help="a Python that has JAX-Fluids")
    parser.add_argument(
        "--ours",
        nargs="+",
        choices=list(OURS),
        default=list(OURS),
        help="central fluxes alone, or HLLC where a sensor asks for it "
        "(the default of a case); N2 by Peng-Robinson instead of the ideal gas",
    )
    parser.add_argument("--degree", type=int, default=3, help="of PyFR's polynomials")
    parser.add_argument(
        "--step", type=float, default=0.45, help="PyFR's time step over spacing/(3 c); higher degrees need smaller ones"
    )
    parser.add_argument(
        "--cells", type=int, nargs="+", default=[32], help="points in each direction, a multiple of the degree + 1"
    )
    parser.add_argument(
        "--times", type=float, nargs="+", default=[2.0, 4.0, 6.0], help="t V/L; errors are known at 2, 4, 6"
    )
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--json")
    given = parser.parse_args()
    points = given.degree + 1
    if points < 2 or any(n % points or n < max(8, 2 * points) for n in given.cells):
        parser.error(f"--cells {given.cells}: wanted multiples of {points}, {max(8, 2 * points)} or more.")
    for name in ("pyfr", "jaxfluids"):
        python = getattr(given, name)
        if python is not None and not shutil.which((shlex.split(python) or [""])[0]):
            parser.error(f"--{name} {python}: no such program; wanted a Python that has it.")
    rows, wrong = [], False
    backend = get_backend(given.backend)
    print(", ".join(f"{k} {v}" for k, v in backend.describe().items()), flush=True)
    print(
        f"{'':<28}{'points':>7} {'point stages/s':>14} {'steps':>6} {'s to the end':>12}  error of the kinetic energy "
        "(of its loss) at t V/L = " + ", ".join(f"{t:g}" for t in given.times),
        flush=True,
    )
    for cells in given.cells:
        here = []
        for what in given.ours:
            here.append({"solver": f"mini solver, {what}", **ours(cells, given.times, given.backend, *OURS[what])})
        if given.pyfr:
            row = pyfr(given.pyfr, given.degree, given.step, cells, given.times, given.backend)
            here.append({"solver": f"PyFR {row['version']}, p = {given.degree}", **row})
        if given.jaxfluids:
            row = jaxfluids(given.jaxfluids, cells, given.times, given.backend)
            here.append({"solver": f"JAX-Fluids {row['version']}, central", **row})
        for row in here:
            speed = max(n / t for n, t in zip(row["steps"], row["seconds"]))  # steps a second
            row.update(
                cells=cells, times=given.times, rate=cells**3 * row["stages"] * speed, end=sum(row["steps"]) / speed
            )
            errors = []
            for t, energy in zip(given.times, row["kinetic"][1:]):
                exact = REFERENCE.get(t)
                errors.append(
                    "-" if exact is None else f"{energy / exact - 1:+.1e} ({(energy - exact) / (0.125 - exact):+.1e})"
                )
            print(
                f"{row['solver']:<28}{cells:>5}^3 {row['rate']:>14.2e} {sum(row['steps']):>6} {row['end']:>12.2f}  "
                f"{', '.join(errors)}",
                flush=True,
            )
        for row in here[len(given.ours) :]:
            off = abs(row["kinetic"][1] / here[0]["kinetic"][1] - 1)
            wrong = wrong or not off <= SAME
            print(
                f"  {row['solver']} ({row['products']}): energy at t = {given.times[0]:g} beside the first row's: "
                f"{off:.1e}" + ("" if off <= SAME else f", more than {SAME:g}: NOT the same flow"),
                flush=True,
            )
        rows += here
    if given.json:
        pathlib.Path(given.json).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(given.json).write_text(
            json.dumps(
                {"machine": platform.processor() or platform.machine(), "backend": backend.describe(), "rows": rows},
                indent=1,
                default=str,
            )
        )
    return 2 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
