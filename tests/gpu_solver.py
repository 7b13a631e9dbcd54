"""Three cases of the mini solver on a CUDA device beside the CPU: fields after 10 steps, then point steps per second.

python tests/gpu_solver.py --sizes 64 128 --json FILE        (tests/gpu_solver.sh calls it)
"""

import argparse
import json
import sys
import time

import numpy as np

from examples.mini_solver.flow import Flow
from examples.mini_solver.scaling import layer_case
from kernels import get_backend

CASES = {  # scheme, viscous, species
    "double flux, inviscid, 2 species": ("double_flux", False, ["CH4", "O2"]),
    "double flux, viscous, 2 species": ("double_flux", True, ["CH4", "O2"]),
    "double flux, viscous, 10 species": ("double_flux", True, []),
    "apec, viscous, 2 species": ("apec", True, ["CH4", "O2"]),
}


def make(what, cells, backend, **options):
    scheme, viscous, species = CASES[what]
    return Flow(layer_case(cells, scheme=scheme, viscous=viscous, species=species, options=options), backend=backend)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[64])
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--json")
    given = parser.parse_args()
    device, rows, worst = get_backend(given.backend), [], 0.0
    print(device.describe(), flush=True)
    for what in CASES:
        fields = []
        for backend in (get_backend("cpu"), device):
            f = make(
                what, [32, 24, 16], backend, takahashi="off"
            )  # its table is in single precision: no comparison to rounding
            f.take(10)
            fields.append({n: f.field(n) for n in ("rho", "u", "v", "w", "p", "T")})
        speed = max(np.abs(fields[0][n]).max() for n in "uvw")
        off = max(
            float(np.abs(fields[1][n] - a).max() / (speed if n in "uvw" else np.abs(a).max()))
            for n, a in fields[0].items()
        )
        worst = max(worst, off if np.isfinite(off) else np.inf)
        print(f"{what:<36} largest difference after 10 steps, of each field's size: {off:.1e}", flush=True)
        rows.append({"case": what, "difference": off})
    for what in CASES:
        for n in given.sizes:
            f = make(what, [n, n, n], device)
            f.take(3)
            device.synchronize()
            f.timers.collect()
            f.timers.seconds.clear()
            steps, begun = 0, time.perf_counter()
            while steps < 5 or time.perf_counter() - begun < 3 and steps < 200:
                f.take(5)
                steps += 5
            device.synchronize()
            rate = n**3 * steps / (time.perf_counter() - begun)
            f.timers.collect()
            parts = ", ".join(f"{k} {v / steps * 1e3:.2f}" for k, v in f.timers.seconds.most_common(6))
            print(f"{what:<36} {n}^3: {rate:.3e} point steps/s, 3 stages a step; ms a step: {parts}", flush=True)
            rows.append(
                {
                    "case": what,
                    "cells": n,
                    "rate": rate,
                    "ms": {k: v / steps * 1e3 for k, v in f.timers.seconds.items()},
                }
            )
            del f
            device.release()
    if given.json:
        with open(given.json, "w") as file:
            json.dump({"device": device.describe(), "rows": rows}, file, indent=1)
    return 0 if worst < 1e-12 else 1


if __name__ == "__main__":
    sys.exit(main())
