"""`python -m frame tune --mixture FILE`: every organisation of a collection's CUDA launch, verified, then timed; the
best is kept."""

from __future__ import annotations

import concurrent.futures
import os

import numpy as np

import kernels
from kernels import declare
from kernels.backend import cuda

from ...errors import ArgumentError, BackendError
from . import inputs

COMPARED = 4096  # points
TOLERANCE = 1e-9  # between two organisations: roundings, amplified near the ridge of the fluid
SHOWN = 5


def tune(given, mixture) -> None:
    """Tune the collections asked for (all) and print what was best."""
    backend = kernels.get_backend(given.backend)
    if backend.name != "cuda":
        raise BackendError(
            "tune --mixture: organisations are those of CUDA launches; the CPU has one (FRAME_BACKEND, --backend)."
        )
    points = given.points or 10**6
    names = given.collections or [
        c for c in declare.collections if {"T", "p", "Y"} <= set(declare.collections[c].given) <= {"T", "p", "Y", "rho"}
    ]
    unknown = [name for name in names if name not in declare.collections]
    if unknown:
        raise ArgumentError(f"--collections: no collection '{unknown[0]}'; known: {', '.join(declare.collections)}.")
    for name in names:
        for line in tune_collection(backend, mixture, declare.collections[name], points):
            print(line, flush=True)


def tune_collection(backend, mixture, collection, points: int):
    """Lines to print: the fastest organisations and what is kept."""
    from kernels.codegen import emit, organise, tune as tuning

    state = inputs.states(mixture.ns, points, "smooth")
    thermal, made, rng = (
        dict(state),
        {q for k in declare.kernels.values() for q in k.writes if not k.given},
        np.random.default_rng(1),
    )
    for name in collection.given:  # what is no property of the state is a velocity or a change of Q or U
        if name not in state:
            rows = declare.quantities[name].rows(mixture.ns)
            state[name] = (
                mixture.properties(name, backend=backend, **thermal)[name]
                if name in made
                else rng.normal(size=(rows, points))
            )
    records = declare.resolve(collection.outputs, collection.given, mixture.options)
    plans = {how: emit.plan(records, collection.outputs, mixture, how) for how in organise.candidates(mixture.ns)}
    default = organise.default(records, mixture)
    plans.setdefault(default, emit.plan(records, collection.outputs, mixture, default))
    plans = {how: plan for how, plan in plans.items() if emit.shared_bytes(plan) <= backend.shared_memory}
    arrays = {a: backend.empty((plans[default].rows(a), backend.pad(points))) for a in plans[default].arguments}
    for a in state.keys() & arrays.keys():
        arrays[a][:, :points] = backend.from_host(np.ascontiguousarray(state[a]).reshape(-1, points))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # into the cache, all cores at work
        list(pool.map(lambda plan: cuda.program_code(plan, backend.arch, collection.name), plans.values()))
    expected: dict[str, np.ndarray] = {}

    def prepare(how):
        plan = plans[how]
        constants, keep = emit.pack_constants(plan, backend)
        run = backend.prepare(backend.compile(plan, collection.name), constants, plan, arrays)
        return (lambda: run(points)), {"kept": keep}

    def verify(how, run):
        for a in collection.outputs:
            arrays[a][...] = np.nan
        run()
        got = {a: backend.to_host(arrays[a][:, : min(points, COMPARED)]) for a in collection.outputs}
        if not expected:
            expected.update(got)
        scales = {a: np.maximum(np.abs(wanted), 1e-3 * np.median(np.abs(wanted))) for a, wanted in expected.items()}
        worst = float(np.max([np.max(np.abs(got[a] - wanted) / scales[a]) for a, wanted in expected.items()]))
        if not worst <= TOLERANCE:  # nor where it is NaN
            raise BackendError(f"results differ by {worst:.1e} from those of the default organisation.")
        return worst

    def clock(run):
        begin = backend.mark()
        run()
        return backend.elapsed(begin, backend.mark())

    outcomes = tuning.search([default, *(how for how in plans if how != default)], prepare, verify, clock, rounds=7)
    best = outcomes[0]
    key = organise.key(backend.product, backend.compiler, records, collection.outputs, mixture, points)
    tuning.keep(key, organise.text(best.variant), best.seconds)
    given = f"{collection.name}, NS = {mixture.ns}, k_ij {mixture.structure}, {points} points, {backend.product}"
    yield f"{given}: {len(outcomes)} organisations"
    for outcome in outcomes:
        if outcome in outcomes[:SHOWN] or outcome.variant == default or outcome.why:
            pace = f"{points / outcome.seconds * 1e-9:7.3f} Gpoint/s" if outcome.seconds else "   left out    "
            default_one = "  (default)" if outcome.variant == default else ""
            yield f"  {pace}  {organise.text(outcome.variant)}{default_one} {outcome.why}"
