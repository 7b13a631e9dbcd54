"""Three cases of the mini solver on a CUDA device beside the CPU: fields after 10 steps, then point steps per second.

python tests/gpu_solver.py --sizes 64 128 --json FILE        (tests/gpu_solver.sh calls it)
"""

import argparse
import json
import sys
import time

import numpy as np

from examples.mini_solver import layer
from examples.mini_solver.flow import Flow
from examples.mini_solver.scaling import layer_case

CASES = {  # scheme, viscous, species
    "double flux, inviscid, 2 species": ("double_flux", False, ["CH4", "O2"]),
    "double flux, viscous, 2 species": ("double_flux", True, ["CH4", "O2"]),
    "double flux, viscous, 10 species": ("double_flux", True, []),
    "apec, viscous, 2 species": ("apec", True, ["CH4", "O2"]),
}


NAMES = ("rho", "u", "v", "w", "p", "T")
COMPARED = 10  # steps


def make(what, cells, backend, **options):
    """A flow of CASES on a backend "cpu", "cuda" or "auto"."""
    scheme, viscous, species = CASES[what]
    case = layer_case(cells, scheme=scheme, viscous=viscous, species=species, options=options, backend=backend)

    return Flow(case)


def difference(what, backend) -> float:
    """The largest difference from the CPU's fields after some steps, over the size of each field."""
    fields = []
    for name in ("cpu", backend):
        # Takahashi's table is in single precision: no comparison to rounding.
        flow = make(what, [32, 24, 16], name, takahashi="off")
        flow.take(COMPARED)
        fields.append({field: flow.field(field) for field in NAMES})

    known, found = fields
    speed = max(np.abs(known[name]).max() for name in "uvw")
    worst = 0.0

    for name, values in known.items():
        size = speed if name in "uvw" else np.abs(values).max()
        worst = max(worst, float(np.abs(found[name] - values).max() / size))

    return worst if np.isfinite(worst) else np.inf


def speed(what, n, backend) -> dict:
    """Point steps a second on n^3 cells, and milliseconds a step by timer."""
    flow = make(what, [n, n, n], backend)
    flow.take(3)
    flow.backend.synchronize()
    layer.restart_timers(flow.frame)

    steps, began = 0, time.perf_counter()
    while steps < 5 or time.perf_counter() - began < 3 and steps < 200:
        flow.take(5)
        steps += 5

    flow.backend.synchronize()
    rate = n**3 * steps / (time.perf_counter() - began)

    ms = {name: 1e3 * seconds / steps for name, seconds in layer.seconds(flow.frame).most_common()}
    flow.close()

    return {"case": what, "cells": n, "rate": rate, "ms": ms}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[64])
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--json")
    given = parser.parse_args()

    first = make(next(iter(CASES)), [8, 8, 8], given.backend)
    device = first.backend.describe()
    print(device, flush=True)

    rows, worst = [], 0.0
    for what in CASES:
        off = difference(what, given.backend)
        worst = max(worst, off)
        print(f"{what:<36} largest difference after {COMPARED} steps, of each field's size: {off:.1e}", flush=True)
        rows.append({"case": what, "difference": off})

    for what in CASES:
        for n in given.sizes:
            row = speed(what, n, given.backend)
            parts = ", ".join(f"{name} {ms:.2f}" for name, ms in list(row["ms"].items())[:6])
            print(f"{what:<36} {n}^3: {row['rate']:.3e} point steps/s, 3 stages a step; ms a step: {parts}", flush=True)
            rows.append(row)

    if given.json:
        with open(given.json, "w") as file:
            json.dump({"device": device, "rows": rows}, file, indent=1)

    return 0 if worst < 1e-12 else 1


if __name__ == "__main__":
    sys.exit(main())
