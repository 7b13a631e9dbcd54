"""Programs of phase equilibrium on a GPU: what gpu_phases.sh and compute-sanitizer look at.

python tests/gpu_phases_kernels.py compile bench 2 4    fills the cache: those of `bench phases --ns 2,4`
python tests/gpu_phases_kernels.py compile all 2 4      these, those of the bench and of `validate`
python tests/gpu_phases_kernels.py run        runs collections of two species on a few states, and checks the numbers
"""

import multiprocessing
import os
import sys

import numpy as np

from frame.tools.bench import phases as bench
from frame.tools.validate import phases as validate
from kernels import Mixture, collections, get_backend

POINTS = 200
NAMES = tuple(name for name in collections if name.startswith("phases_from_"))
START = "ln_kappa eta"  # that a host keeps
KNOWN = "T p e h s rho vol beta phases_status"  # of a state, on the CPU
VALUES = (f"vol {bench.STATE}", "phases_status", KNOWN)  # that the CPU makes for `bench phases` and for us
PARALLEL = min(16, os.cpu_count() or 1)  # compilations


def program(name: str, backend):
    """A collection as a host launches it, warm: outputs and the start that it updates."""
    c = collections[name]
    given = [*c.given, *(["T_start"] if "T_start" in c.optional else []), *START.split()]
    return bench.Gas(2).mixture().program(c.outputs, given, backend=backend)


def compiled(task) -> str:
    """One program of a table, in a process of its own."""
    kind, name, ns, arch = task
    backend = get_backend("cuda", arch=arch)
    if kind == "collection":
        program(name, backend)
    elif kind == "bench":
        {**bench.CALLS, **bench.FIELD_CALLS}[name].program(bench.Gas(ns), backend)
    elif kind == "values":
        bench.Gas(ns).mixture().properties(name, backend="cpu", **bench.Gas(ns).states(8, "ordered"))
    else:
        validate.program(Mixture.from_names(name, phases="equilibrium"), ns, backend)
    return f"{kind} {name} {ns}"


def tasks(what: str, numbers: list, arch) -> list:
    """(kind, name, number of species or way, architecture) of the programs, slow ones first. what: bench, or all."""
    sizes = sorted(numbers, reverse=True)
    found = [("bench", name, ns, arch) for ns in sizes for name in (*bench.FIELD_CALLS, *bench.CALLS)]
    found += [("values", names, ns, arch) for ns in sizes for names in VALUES]
    if what == "bench":
        return found

    found += [("validate", names, way, arch) for names in reversed(validate.MIXTURES) for way in validate.GIVEN]
    return found + [("collection", name, 2, arch) for name in NAMES]


def run(backend) -> int:
    """Two calls of each collection on states of which half are two phases, from nothing and from what the first call
    left. Returns the number of points. Errors: ValueError where a result is not that of the CPU."""
    mixture, state = bench.Gas(2).mixture(), bench.Gas(2).states(POINTS, "ordered")
    known = mixture.properties(KNOWN, backend="cpu", **state)
    given = {**known, "Y": state["Y"], "T_start": 1.002 * state["T"]}

    for name in NAMES:
        launched = program(name, backend)
        carried = {q: np.zeros((launched.plan.rows(q), POINTS)) for q in START.split()}
        for _ in range(2):
            found = bench.Work(launched, {**given, **carried}).results()
            carried = {q: found[q] for q in START.split()}
            for q in ("beta", "phases_status"):
                if not np.allclose(found[q], known[q], rtol=0, atol=1e-6):
                    raise ValueError(f"{name}: {q} is not that of the CPU")
    return 2 * len(NAMES) * POINTS


def main(what: str, programs: str = "all", *numbers: str) -> None:
    backend = get_backend("cuda")
    if what == "compile":
        sizes = [int(number) for number in numbers] or list(bench.NS)
        with multiprocessing.get_context("spawn").Pool(PARALLEL) as pool:
            for name in pool.imap_unordered(compiled, tasks(programs, sizes, backend.arch), chunksize=1):
                print(name, flush=True)
    else:
        print(f"{run(backend)} points ran", flush=True)


if __name__ == "__main__":
    os.environ["FRAME_BACKEND"] = "cuda"
    main(*sys.argv[1:] or ["run"])
