"""Copies of a host's arrays by every path, and every collection once: what gpu_link_sanitize.sh looks at.

python tests/gpu_link_kernels.py compile     fills the cache of kernels and ends
python tests/gpu_link_kernels.py run         runs them, and checks the numbers
"""

import multiprocessing
import os
import sys

import mechanisms_for_tests
import numpy as np
from hosts import SOURCES
from mixtures_for_tests import ROOT

import frame.impl.block_calls
import frame.impl.pieces
import kernels.marshal
from frame.frame import Frame
from frame.tools.bench import inputs
from kernels import Mixture, get_backend

sys.path.append(str(ROOT / "tests/frame"))
import link_cases

POINTS = 200
REAL_GAS = str(ROOT / "examples/mixtures/ch4_o2.yaml")
DERIVED = ("rho", "h", "e", "s", "rho_p", "rho_T", "h_p", "h_T")  # of T, p, Y
REACTING = ("kinetics", "thermal_kinetics", "react_volume", "react_pressure")
STEP = 1e-7  # s
PARALLEL = 8  # compilations


def program(name: str, backend, file: str = ""):
    """A collection as a host launches it, for a mixture of ten species or, of rates, one that reacts."""
    collection = kernels.collections[name]
    mixture = Mixture.from_yaml(
        file or (str(mechanisms_for_tests.path()) if name in REACTING else REAL_GAS), equation="pr"
    )
    return mixture, mixture.program(outputs=collection.outputs, given=collection.given, backend=backend)


def compiled(arguments) -> str:
    name, arch = arguments
    program(name, get_backend("cuda", arch=arch))
    return name


def conserved(mixture, state, backend) -> dict:
    """Conserved variables of a gas at rest."""
    of_state = {q: state[q] for q in ("T", "p", "Y")}
    made = mixture.properties("rho e", backend=backend, **of_state)
    rho, none = np.asarray(made["rho"]), np.zeros(POINTS)
    partial = rho * state["Y"]
    found = {"rho": rho, "rhoY": partial, "rhoY_but_last": partial[:-1], "rhoE": rho * np.asarray(made["e"])}
    return found | {"rhou": none, "rhov": none, "rhow": none}


def run(name: str, backend, file: str = "") -> None:
    """A launch on arrays whose outputs are not initialised. Errors: ValueError for a result that is no
    number."""
    mixture, launched = program(name, backend, file)
    state = inputs.states(mixture.ns, POINTS, "smooth")
    rng, derived = np.random.default_rng(1), [q for q in launched.reads if q in DERIVED]
    given = {**state, **(mixture.properties(" ".join(derived), backend=backend, **state) if derived else {})}
    if "rhoE" in launched.reads:
        given |= conserved(mixture, state, backend)
    arrays = {}

    for q in launched.plan.arguments:
        rows = launched.plan.rows(q)
        if q in launched.reads:
            other = np.full((rows, POINTS), STEP) if q.startswith("dt_") else rng.uniform(-1, 1, (rows, POINTS))
            values = np.asarray(given.get(q, other)).reshape(rows, POINTS)
            if q == "T" and q in launched.writes:  # the start of an iteration
                values = 1.1 * values
            arrays[q] = backend.from_host(np.ascontiguousarray(values))
        else:
            arrays[q] = backend.empty((rows, POINTS))

    launched.bind(arrays)(POINTS)
    found = {q: backend.to_host(arrays[q]) for q in launched.writes}
    said = [found[q].ravel() for q in found if q.startswith("status_")]  # not 0 where a point did not react
    fine = said[0] == 0 if said else slice(None)

    for q, values in found.items():
        if not np.isfinite(values.reshape(-1, POINTS)[:, fine]).all():
            raise ValueError(f"{name}: {q} is not a number everywhere")


def copies(frame, often: int = 2) -> int:
    """Block calls and queued calls of chunks on every kind of memory, whole arrays and sections of larger ones."""
    rng, count = np.random.default_rng(0), 0
    for where in link_cases.MEMORY:
        for sparse in (False, True):
            for _ in range(often):
                made, box, points = link_cases.arrays(frame, rng, where, sparse=sparse)
                before = {name: array.flat.copy() for name, array in made.items()}
                link_cases.block(frame, made, box)()
                link_cases.chunks(frame, made, box, points)
                link_cases.check(frame, made, before)
                count += 2

    return count


def main(what: str) -> None:
    backend = get_backend("cuda")
    if what == "compile":
        tasks = [(name, backend.arch) for name in kernels.collections]
        with multiprocessing.get_context("spawn").Pool(PARALLEL) as pool:
            for name in pool.imap_unordered(compiled, tasks):
                print(name, flush=True)

    frame.impl.pieces.LEAST = 32  # several pieces under way
    kernels.marshal.COPIED_FROM, frame.impl.block_calls.COPIED_FROM = 256, 500  # by copy engines, and across the link
    host = Frame()
    host.initialize(-1, 128, link_cases.NS, 1, 0)
    host.register_kernel(str(SOURCES / "copies.py"))
    moved = copies(host, 1 if what == "compile" else 2)
    host.finalize()
    for name in kernels.collections:
        run(name, backend)
    print(f"{len(kernels.collections)} collections and {moved} calls ran", flush=True)


if __name__ == "__main__":
    os.environ["FRAME_BACKEND"] = "cuda"
    main(sys.argv[1] if len(sys.argv) > 1 else "run")
