"""`python -m frame tune --mixture FILE`: every organisation of the collections' CUDA launches is verified, then timed;
the best are written as rows of a table of launches."""

from __future__ import annotations

import concurrent.futures
import contextlib
import datetime
import functools
import itertools
import math
import os

import numpy as np

import kernels
from kernels.engine import tune as tuning
from kernels.gas import launches
from kernels.gas.program import Program, Wanted
from kernels.gas.schedules import BLOCK

from ...errors import BackendError, FrameError, closest, refuse
from ...shipped import BUILD
from ..progress import clear, progress
from . import inputs
from .timing import empty_arrays, fill

COMPARED = 4096  # points
TOLERANCE = 1e-9  # between two organisations: roundings, amplified near the ridge of the fluid
SHOWN = 5


def tune(given, mixture) -> None:
    """Tunes the collections asked for (by default all that start from T, p, Y), prints the best, writes the table.

    Collections whose kernels sweep alike share a row: it gets the launch with the least product of times.
    Raises ArgumentError for an unknown collection, BackendError without a device or if no organisation is right.
    """
    backend = kernels.get_backend(given.backend)
    refuse(
        backend.style != "threads",
        "tune --mixture: organisations are those of CUDA launches; the CPU has one (FRAME_BACKEND, --backend).",
        BackendError,
    )
    names = given.collections or collections_of(mixture)
    for name in names:
        meant, listed = closest(name, kernels.registry.collections), ", ".join(kernels.registry.collections)
        message = f"--collections: no collection '{name}'{meant}; known: {listed}."
        refuse(name not in kernels.registry.collections, message)

    # (sweeps, whether for crews) -> (kernels, outcomes) of each collection.
    points = given.points or 10**6
    alike: dict[tuple, list[tuple]] = {}
    for name in progress("tune", names):
        collection = kernels.registry.collections[name]
        records = kernels.resolve(collection.outputs, collection.given, mixture.options)
        outcomes = tune_collection(backend, mixture, collection, points)
        in_force = launches.chosen(records, mixture, device=backend.product)

        clear()
        print(f"{name}, NS = {mixture.ns}, k_ij {mixture.facts['k_ij']}, {points} points, {backend.product}:")
        print(*shown(outcomes, in_force, points), sep="\n", flush=True)
        key = launches.sweeps_of(records), BLOCK.serves(records, mixture)
        alike.setdefault(key, []).append((records, outcomes))

    # A row for each.
    today = datetime.date.today().isoformat()
    found = []
    for some in alike.values():
        how = best([outcomes for _, outcomes in some])
        found.append(launches.measured(some[0][0], mixture, "double", how, backend, today))
    write(given.out or BUILD / "launches.csv", found)


def collections_of(mixture) -> list[str]:
    """The collections that start from T, p, Y (and rho), and that the mixture has data for."""
    names = []
    for c in kernels.registry.collections.values():
        starts = {"T", "p", "Y"} <= set(c.given) <= {"T", "p", "Y", "rho"}
        if starts and mixture.has_data_for(c.outputs, c.given):
            names.append(c.name)
    return names


def write(file, found) -> None:
    """Adds rows to a table of launches, which begins as the table in force."""
    file.parent.mkdir(parents=True, exist_ok=True)
    launches.read.cache_clear()
    known = launches.read(file if file.is_file() else launches.in_force())
    launches.write(file, launches.with_measured(known, found))
    launches.read.cache_clear()
    print(f"Written: {file}; to use it, set FRAME_LAUNCHES={file.resolve()}")


def best(several) -> launches.Launch:
    """The launch that is fastest over several lists of outcomes. Raises BackendError if no launch is right in all."""
    times = [{o.variant: o.seconds for o in outcomes if o.seconds is not None} for outcomes in several]
    able = [how for how in times[0] if all(how in known for known in times)]
    message = "no organisation is right for all collections that sweep alike; nothing is written."
    refuse(not able, message, BackendError)
    return min(able, key=lambda how: math.prod(known[how] for known in times))


def tune_collection(backend, mixture, collection, points: int) -> list[tuning.Outcome]:
    """The outcome of each organisation of a collection, the fastest first."""
    return _Search(backend, mixture, collection, points).outcomes()


class _Search:
    """The organisations of a collection. The launch in force is verified first; its values are the expected values."""

    def __init__(self, backend, mixture, collection, points: int):
        self.backend, self.mixture, self.collection, self.points = backend, mixture, collection, points
        first = self._program()
        self.writes = first.writes
        self.programs = {first.plan.how: first}
        self.expected: dict[str, np.ndarray] = {}
        self.arrays = empty_arrays(first.plan, backend, points)
        fill(backend, self.arrays, self._state())

    def outcomes(self) -> list[tuning.Outcome]:
        """The outcome of each organisation; see tune.search."""
        hows = self._organisations()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # all cores at work
            list(pool.map(self._compile_ahead, hows[1:]))

        clock = functools.partial(tuning.seconds, self.backend)
        return tuning.search(hows, self._prepare, self._verify, clock, rounds=7)

    def _program(self, how=None) -> Program:
        c = self.collection
        return Program(self.mixture, Wanted(c.outputs, c.given, name=c.name), backend=self.backend, how=how)

    def _state(self) -> dict:
        """The inputs. An input that no kernel makes is a velocity or a change of Q or U: random numbers."""
        thermal = inputs.states(self.mixture.ns, self.points, "smooth")
        made = set(itertools.chain.from_iterable(k.writes for k in kernels.registry.kernels.values() if not k.given))
        rng = np.random.default_rng(1)

        state = dict(thermal)
        for name in self.collection.given:
            if name in state:
                continue
            if name in made:
                state[name] = self.mixture.properties(name, backend=self.backend, **thermal)[name]
            else:
                state[name] = rng.normal(size=(self.mixture.rows(name), self.points))
        return state

    def _organisations(self) -> list:
        """The launch in force, then all others."""
        (in_force,) = self.programs
        records = kernels.resolve(self.collection.outputs, self.collection.given, self.mixture.options)
        tried = launches.candidates(self.mixture.ns)
        if BLOCK.serves(records, self.mixture):
            tried = tried + launches.crews()
        return [in_force, *(how for how in tried if how != in_force)]

    def _compile_ahead(self, how) -> None:
        with contextlib.suppress(FrameError):  # _prepare reports it
            self.programs[how] = self._program(how)

    def _prepare(self, how):
        run = (self.programs.get(how) or self._program(how)).bind(self.arrays)
        return functools.partial(run, self.points), {}

    def _verify(self, how, run) -> float:
        """Largest difference from the expected values. Raises BackendError beyond TOLERANCE."""
        for name in self.writes:
            self.arrays[name][...] = np.nan
        run()

        compared = min(self.points, COMPARED)
        got = {name: self.backend.to_host(self.arrays[name][:, :compared]) for name in self.writes}
        if not self.expected:
            self.expected.update(got)

        worst = 0.0
        for name, wanted in self.expected.items():
            scale = np.maximum(np.abs(wanted), 1e-3 * np.median(np.abs(wanted)))
            worst = np.maximum(worst, np.max(np.abs(got[name] - wanted) / scale))  # a NaN stays
        message = f"results differ by {worst:.1e} from those of the launch in force."
        refuse(not worst <= TOLERANCE, message, BackendError)
        return float(worst)


def shown(outcomes, in_force: launches.Launch, points: int):
    """Lines to print: the fastest organisations, the organisation in use, organisations left out."""
    yield f"  {len(outcomes)} organisations"
    for outcome in outcomes:
        if outcome in outcomes[:SHOWN] or outcome.variant == in_force or outcome.why:
            pace = f"{points / outcome.seconds * 1e-9:7.3f} Gpoint/s" if outcome.seconds else "   left out    "
            said = "  (in force)" if outcome.variant == in_force else ""
            yield f"  {pace}  {launches.text(outcome.variant)}{said} {outcome.why}"
