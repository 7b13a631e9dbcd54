"""The mini solver beside PyFR and JAX-Fluids, public solvers for ideal gases.

All run the Taylor-Green vortex of examples/mini_solver/cases/taylor_green.toml (Re 1600, M 0.1, gamma 1.4, Pr 0.71) on
the same number of points, in double precision on one core or one GPU.

    .venv/bin/python benchmarks/taylor_green.py --pyfr /path/to/venv/bin/python [--jaxfluids /path/to/venv/bin/python]
    [--cells 32 48] [--backend cpu] [--json FILE]

--pyfr: a Python that has PyFR 3 (pip install pyfr), which runs benchmarks/pyfr_run.py. On a CPU it takes libxsmm where
the loader finds it, otherwise GiMMiK through the C compiler; the answer names it. --jaxfluids: a Python that has
JAX-Fluids, which runs benchmarks/jaxfluids_run.py. Each solver takes the largest time step at which it stayed stable:
ours ssp43 at CFL 1.2, PyFR tvd-rk3 at 0.45 of the step of our CFL 1 at rest (degree 3; 0.5 was unstable on 32^3),
JAX-Fluids RK3 at 1. Times are those of the steps, without set-up. On a CPU they are processor time, which a busy
machine changes little.

Output: points times Runge-Kutta stages per second, in the fastest of the intervals between the times; seconds to the
end at that rate; the errors of the kinetic energy there and of the dissipated part of it, against incompressible
pseudo-spectral runs (the reference of `verify`, t V/L = 2, 4, 6). Exit status 2 where the energies of two solvers
differ by more than SAME at the first time: the flows are then different, and the times cannot be compared.
"""

import argparse
import dataclasses
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
START = 0.125  # kinetic energy at t = 0
V, RHO, W = 35.31, 1.12253, 0.028  # m/s, kg/m3, kg/mol of the case file
P = 1e5  # Pa
GAMMA = 1.4
R = 8.31446261815324 / W  # J/kg/K
# Relative difference of the kinetic energy at the first time. All solve the same equations; with 32^3 points the error
# was 2e-3 at t = 2.
SAME = 5e-3
REAL_GAS = {"file": str(ROOT / "examples/mixtures/n2.yaml")}
OURS = {  # changes of [numerics]; mixture replaces that of the case
    "central": ({"dissipation": "none"}, None),
    "sensor": ({}, None),
    "central, PR N2": ({"dissipation": "none"}, REAL_GAS),
}


@dataclasses.dataclass(frozen=True)
class Problem:
    """A vortex on a grid."""

    cells: int  # points in each direction
    times: list[float]  # t V/L of the energies
    backend: str


# ---- ours


def case_of(problem: Problem, numerics: dict, mixture: dict | None) -> Case:
    """The case of the file with another grid, other numerics, another mixture."""
    data = Case.from_file(CASE).data
    data["domain"]["cells"] = [problem.cells] * 3
    data["numerics"].update(numerics, transport="step")
    data.setdefault("parallel", {})["backend"] = problem.backend
    if mixture:
        data["mixture"] = mixture
    return Case(data, CASE.parent, CASE.stem)


def ours(problem: Problem, numerics: dict, mixture: dict | None) -> dict:
    """Energies, seconds and steps of the mini solver."""
    case = case_of(problem, numerics, mixture)
    flow = Flow(case)
    backend = flow.backend
    clock = time.process_time if backend.memory == "host" else time.perf_counter
    rho = float(flow.field("rho").mean())

    def kinetic() -> float:
        square = sum(flow.field(name) ** 2 for name in "uvw")
        return float((0.5 * flow.field("rho") * square).mean()) / (rho * V * V)

    # The first step binds the kernels.
    flow.step()

    stages = len(RUNGE_KUTTA[case.numerics["runge_kutta"]])
    row = {"stages": stages, "kinetic": [START], "seconds": [], "steps": []}
    for t in problem.times:
        end = t / V
        nearly = end * (1 - 1e-12)
        steps = flow.steps

        backend.synchronize()
        began = clock()
        while flow.time < nearly:
            flow.advance(flow.queue, end, nearly)
        backend.synchronize()

        row["seconds"].append(clock() - began)
        row["steps"].append(flow.steps - steps)
        row["kinetic"].append(kinetic())

    return row


# ---- other solvers


def answer(python: str, script: str, settings: dict, name: str, **environment) -> dict:
    """The last line that a run of another solver prints."""
    command = [*shlex.split(python), str(ROOT / "benchmarks" / script), json.dumps(settings)]
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    variables |= {"OMP_NUM_THREADS": "1"} | environment

    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=variables)
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def jaxfluids(python: str, problem: Problem) -> dict:
    """Energies, seconds and steps of JAX-Fluids, in units of rho, V, L: sound has the speed 10."""
    data = Case.from_file(CASE).data
    transport, first = data["transport"], problem.times[0]
    steps = math.ceil(first * 3 * 10 * problem.cells / (2 * math.pi))
    settings = {
        "cells": problem.cells,
        "side": data["domain"]["upper"][0],
        "gamma": GAMMA,
        "p0": P / (RHO * V * V),
        "mu": transport["mu"] / (RHO * V),
        "lam": transport["lam"] / (RHO * V * R),
        "dt": first / steps,
        "times": problem.times,
    }
    return answer(python, "jaxfluids_run.py", settings, "JAX-Fluids", JAX_PLATFORMS=problem.backend)


def pyfr(python: str, problem: Problem, degree: int, step: float) -> dict:
    """Energies, seconds and steps of PyFR. degree: of its polynomials; step: over spacing/(3 c)."""
    data = Case.from_file(CASE).data
    side, transport = data["domain"]["upper"][0], data["transport"]
    c = math.sqrt(GAMMA * P / RHO)
    cp = GAMMA / (GAMMA - 1) * R
    settings = {
        "cells": problem.cells,
        "degree": degree,
        "side": side,
        "gamma": GAMMA,
        "mu": transport["mu"],
        "Pr": transport["mu"] * cp / transport["lam"],
        "rho": RHO,
        "scheme": "tvd-rk3",
        **{name: data["initial"][name] for name in "puv"},
        "dt": step * side / problem.cells / (3 * c),
        "times": [t / V for t in problem.times],
        "backend": {"cpu": "openmp", "cuda": "cuda"}[problem.backend],
    }

    row = answer(python, "pyfr_run.py", settings, "PyFR")
    row["kinetic"] = [energy / (RHO * V * V) for energy in row["kinetic"]]
    return row


# ---- the comparison


def options() -> argparse.ArgumentParser:
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
        help="central fluxes alone, or HLLC where a sensor asks for it (the default of a case); N2 by Peng-Robinson "
        "instead of the ideal gas",
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
    return parser


def checked(parser: argparse.ArgumentParser):
    """The options, or the parser's error."""
    given = parser.parse_args()
    points = given.degree + 1
    least = max(8, 2 * points)
    if points < 2 or any(n % points or n < least for n in given.cells):
        parser.error(f"--cells {given.cells}: wanted multiples of {points}, {least} or more.")

    for name in ("pyfr", "jaxfluids"):
        python = getattr(given, name)
        if python is not None and not shutil.which((shlex.split(python) or [""])[0]):
            parser.error(f"--{name} {python}: no such program; wanted a Python that has it.")
    return given


def rows_of(given, problem: Problem) -> list[dict]:
    """Ours, then the other solvers."""
    rows = [{"solver": f"mini solver, {what}", **ours(problem, *OURS[what])} for what in given.ours]
    if given.pyfr:
        row = pyfr(given.pyfr, problem, given.degree, given.step)
        rows.append({"solver": f"PyFR {row['version']}, p = {given.degree}", **row})
    if given.jaxfluids:
        row = jaxfluids(given.jaxfluids, problem)
        rows.append({"solver": f"JAX-Fluids {row['version']}, central", **row})

    for row in rows:
        fastest = max(n / t for n, t in zip(row["steps"], row["seconds"]))  # steps a second
        row["cells"], row["times"] = problem.cells, problem.times
        row["rate"] = problem.cells**3 * row["stages"] * fastest
        row["end"] = sum(row["steps"]) / fastest
    return rows


def errors(row: dict) -> str:
    """The errors of the kinetic energy, and in brackets of its loss, at each time."""
    texts = []
    for t, energy in zip(row["times"], row["kinetic"][1:]):
        exact = REFERENCE.get(t)
        known = exact is not None
        texts.append(f"{energy / exact - 1:+.1e} ({(energy - exact) / (START - exact):+.1e})" if known else "-")
    return ", ".join(texts)


def say(text: str) -> None:
    print(text, flush=True)


def is_same_flow(row: dict, first: dict) -> bool:
    """Whether the energy of another solver is that of the first row; prints the difference."""
    off = abs(row["kinetic"][1] / first["kinetic"][1] - 1)
    told = f"{off:.1e}" if off <= SAME else f"{off:.1e}, more than {SAME:g}: NOT the same flow"
    say(f"  {row['solver']} ({row['products']}): energy at t = {row['times'][0]:g} beside the first row's: {told}")
    return off <= SAME


def main() -> int:
    given = checked(options())
    backend = get_backend(given.backend)
    say(", ".join(f"{key} {value}" for key, value in backend.describe().items()))
    times = ", ".join(f"{t:g}" for t in given.times)
    columns = f"{'':<28}{'points':>7} {'point stages/s':>14} {'steps':>6} {'s to the end':>12}"
    say(f"{columns}  error of the kinetic energy (of its loss) at t V/L = {times}")

    rows, same = [], True
    for cells in given.cells:
        here = rows_of(given, Problem(cells, given.times, given.backend))
        for row in here:
            figures = f"{row['rate']:>14.2e} {sum(row['steps']):>6} {row['end']:>12.2f}"
            say(f"{row['solver']:<28}{cells:>5}^3 {figures}  {errors(row)}")
        for row in here[len(given.ours) :]:
            same = is_same_flow(row, here[0]) and same
        rows += here

    if given.json:
        machine = platform.processor() or platform.machine()
        report = {"machine": machine, "backend": backend.describe(), "rows": rows}
        file = pathlib.Path(given.json)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(report, indent=1, default=str))
    return 0 if same else 2


if __name__ == "__main__":
    sys.exit(main())
