"""`python -m frame tune --mixture FILE`: every organisation of the collections' CUDA launches is verified, then timed;
the best are written as rows of a table of launches."""

from __future__ import annotations

import concurrent.futures
import contextlib
import datetime
import math
import os

import numpy as np

import kernels
from kernels.engine import tune as tuning
from kernels.gas.program import Program
from kernels.gas.schedules import BLOCK, launches

from ...errors import ArgumentError, BackendError, FrameError, closest
from ...shipped import BUILD
from ..progress import clear, progress
from . import inputs

COMPARED = 4096  # points
TOLERANCE = 1e-9  # between two organisations: roundings, amplified near the ridge of the fluid
SHOWN = 5


def tune(given, mixture) -> None:
    """Tune the collections asked for (all that start from T, p, Y), print what was best, write the table.

    Collections whose kernels sweep alike are served by one row: it gets the launch with the least product of times.
    Raises ArgumentError for an unknown collection, BackendError without a device or where no organisation is right.
    """
    backend = kernels.get_backend(given.backend)
    if backend.style != "threads":
        raise BackendError(
            "tune --mixture: organisations are those of CUDA launches; the CPU has one (FRAME_BACKEND, --backend)."
        )
    names = given.collections or [
        c.name
        for c in kernels.registry.collections.values()
        if {"T", "p", "Y"} <= set(c.given) <= {"T", "p", "Y", "rho"} and mixture.has_data_for(c.outputs, c.given)
    ]
    unknown = [name for name in names if name not in kernels.registry.collections]
    if unknown:
        meant, listed = closest(unknown[0], kernels.registry.collections), ", ".join(kernels.registry.collections)
        raise ArgumentError(f"--collections: no collection '{unknown[0]}'{meant}; known: {listed}.")
    points = given.points or 10**6
    alike: dict[tuple, list[tuple]] = {}  # (sweeps, whether for crews) -> (kernels, outcomes) of each collection
    for name in progress("tune", names):
        collection = kernels.registry.collections[name]
        records = kernels.registry.resolve(collection.outputs, collection.given, mixture.options)
        outcomes = tune_collection(backend, mixture, collection, points)
        in_force = launches.chosen(records, mixture, device=backend.product)
        clear()
        print(f"{name}, NS = {mixture.ns}, k_ij {mixture.facts['k_ij']}, {points} points, {backend.product}:")
        print(*shown(outcomes, in_force, points), sep="\n", flush=True)
        key = (launches.sweeps_of(records), BLOCK.serves(records, mixture))
        alike.setdefault(key, []).append((records, outcomes))
    today = datetime.date.today().isoformat()
    found = [
        launches.measured(some[0][0], mixture, "double", best([outcomes for _, outcomes in some]), backend, today)
        for some in alike.values()
    ]
    file = given.out or BUILD / "launches.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    launches.read.cache_clear()
    known = launches.read(file if file.is_file() else launches.in_force())
    launches.write(file, launches.with_measured(known, found))
    launches.read.cache_clear()
    print(f"Written: {file}; to use it, set FRAME_LAUNCHES={file.resolve()}")


def best(several) -> launches.Launch:
    """The launch that is fastest over several lists of outcomes. BackendError if none is right in all."""
    times = [{o.variant: o.seconds for o in outcomes if o.seconds is not None} for outcomes in several]
    able = [how for how in times[0] if all(how in one for one in times)]
    if not able:
        raise BackendError("no organisation is right for all collections that sweep alike; nothing is written.")
    return min(able, key=lambda how: math.prod(one[how] for one in times))


def tune_collection(backend, mixture, collection, points: int) -> list[tuning.Outcome]:
    """What became of each organisation (see tune.search); the launch in force is the first to be verified, and its
    values are those that the others are held against."""
    state = inputs.states(mixture.ns, points, "smooth")
    thermal, rng = dict(state), np.random.default_rng(1)
    made = {q for k in kernels.registry.kernels.values() for q in k.writes if not k.given}
    for name in collection.given:  # what is no property of the state is a velocity or a change of Q or U
        if name not in state:
            rows = mixture.rows(name)
            state[name] = (
                mixture.properties(name, backend=backend, **thermal)[name]
                if name in made
                else rng.normal(size=(rows, points))
            )

    def program(how=None):
        return Program(mixture, collection.outputs, collection.given, backend=backend, name=collection.name, how=how)

    first = program()
    records = kernels.registry.resolve(collection.outputs, collection.given, mixture.options)
    tried = launches.candidates(mixture.ns) + launches.crews() * BLOCK.serves(records, mixture)
    hows = [first.plan.how, *(how for how in tried if how != first.plan.how)]
    programs = {first.plan.how: first}

    def ahead(how):
        with contextlib.suppress(FrameError):  # whoever prepares it gets to hear
            programs[how] = program(how)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # all cores at work
        list(pool.map(ahead, hows[1:]))
    arrays = {a: backend.empty((first.plan.rows(a), backend.pad(points))) for a in first.plan.arguments}
    for a in state.keys() & arrays.keys():
        arrays[a][:, :points] = backend.from_host(np.ascontiguousarray(state[a]).reshape(-1, points))
    expected: dict[str, np.ndarray] = {}

    def prepare(how):
        run = (programs.get(how) or program(how)).bind(arrays)
        return (lambda: run(points)), {}

    def verify(how, run):
        for a in first.writes:
            arrays[a][...] = np.nan
        run()
        got = {a: backend.to_host(arrays[a][:, : min(points, COMPARED)]) for a in first.writes}
        if not expected:
            expected.update(got)
        scales = {a: np.maximum(np.abs(wanted), 1e-3 * np.median(np.abs(wanted))) for a, wanted in expected.items()}
        worst = float(np.max([np.max(np.abs(got[a] - wanted) / scales[a]) for a, wanted in expected.items()]))
        if not worst <= TOLERANCE:  # nor where it is NaN
            raise BackendError(f"results differ by {worst:.1e} from those of the launch in force.")
        return worst

    return tuning.search(hows, prepare, verify, lambda run: tuning.seconds(backend, run), rounds=7)


def shown(outcomes, in_force: launches.Launch, points: int):
    """Lines to print: the fastest organisations, the organisation in use, organisations left out."""
    yield f"  {len(outcomes)} organisations"
    for outcome in outcomes:
        if outcome in outcomes[:SHOWN] or outcome.variant == in_force or outcome.why:
            pace = f"{points / outcome.seconds * 1e-9:7.3f} Gpoint/s" if outcome.seconds else "   left out    "
            said = "  (in force)" if outcome.variant == in_force else ""
            yield f"  {pace}  {launches.text(outcome.variant)}{said} {outcome.why}"
