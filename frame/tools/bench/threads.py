"""`bench threads`: the collections by 1, 2, ... OpenMP threads of the CPU backend, beside one thread times as many.

The number of threads is the backend's, as FRAME_THREADS or the host's parameter sets it. A point's result does not
depend on it, which is checked to the bit before anything is timed.
"""

from __future__ import annotations

import os

import numpy as np

from kernels import collections, get_backend
from kernels.engine.tune import seconds

from ...errors import ArgumentError
from . import inputs
from .properties import CASES, STATES, Ours, WrongValues, given_state
from .report import Report, Row

NS = (10, 50)
MEASURED = ("thermal", "viscous, Takahashi")
SAMPLE = 0.002  # seconds of a sample at least; short ones, and OFTEN times as many as other benches take, of which the
OFTEN = 10  # least counts: whatever else runs on a core stops one of the threads, and all wait for it
MOST = 4.0  # seconds of rounds; beyond, fewer
EACH = 16_000  # points a thread at least, so that the start of the threads is a small part of a pass


def counts(cores: int) -> list[int]:
    """All up to 4, then the powers of two and all cores."""
    return sorted(
        set(range(1, min(cores, 4) + 1)) | {2**k for k in range(cores.bit_length()) if 2**k <= cores} | {cores}
    )


def run(given, backend, say) -> Report:
    """Time the collections on 1, 2, ... threads. Raises ArgumentError for a backend without threads."""
    if backend.threads is None:
        raise ArgumentError(f"bench threads: threads are the CPU's, the backend is '{backend}'; wanted --backend cpu.")
    cores = len(os.sched_getaffinity(0))
    asked = sorted({1, *(given.threads or counts(cores))})
    points, kind = given.points or max(100_000, EACH * asked[-1]), given.states or STATES["host"]
    rows = []
    for case in (case for case in CASES if case.name in MEASURED):
        for ns in given.ns or NS:
            say(f"threads: {case.name}, NS = {ns}")
            mixture = inputs.mixture(ns, "dense", takahashi=case.takahashi, diffusion=case.diffusion)
            rows += measure(case, mixture, asked, points, given.repeats, kind)
    facts = [f"{cores} cores to run on", f"{points} points a pass, {kind} states, up to {OFTEN * given.repeats} rounds"]
    return Report(
        rows,
        facts,
        "In brackets: how many times one thread's pace; reached: the same over the number of threads. Each "
        "count in turns, least times; results are the same to the bit. Arrays are filled by one thread.",
    )


def measure(case, mixture, asked, points: int, repeats: int, kind: str) -> list[Row]:
    """A row for each number of threads. Raises WrongValues if results depend on the number of threads."""
    state = given_state(mixture, collections[case.collection], points, kind)
    backends = {count: get_backend("cpu", threads=count) for count in asked}
    ours = {count: Ours(mixture, case.collection, state, backend) for count, backend in backends.items()}
    ours[1].work()
    of_one, often, round_ = ours[1].results(backends[1], points), {}, 0.0
    for count, backend in backends.items():
        ours[count].work()
        for name, found in ours[count].results(backend, points).items():
            if not np.array_equal(found, of_one[name], equal_nan=True):
                raise WrongValues(
                    f"{case.name}, NS = {mixture.ns}: '{name}' of {count} threads is not that of one. Nothing was "
                    "timed."
                )
        took = max(seconds(backend, ours[count].work), 1e-9)
        often[count] = max(1, int(SAMPLE / took))
        round_ += often[count] * took
    times: dict[int, list[float]] = {count: [] for count in asked}
    for _ in range(max(repeats, min(OFTEN * repeats, int(MOST / round_)))):
        for count, backend in backends.items():
            times[count].append(seconds(backend, ours[count].work, often[count]))
    pace = {count: points / min(times[count]) for count in asked}
    return [
        Row(
            "threads",
            f"{case.name}, {count} thread{'s' * (count > 1)}",
            mixture.ns,
            points,
            "cpu",
            points / pace[count],
            pace[count],
            "1 thread",
            pace[1],
            pace[count] / pace[1],
            count * pace[1],
            pace[count] / (count * pace[1]),
            0.0,
            "linear",
        )
        for count in asked
    ]
