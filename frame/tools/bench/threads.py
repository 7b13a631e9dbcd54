"""`bench threads`: the collections by 1, 2, ... OpenMP threads of the CPU backend, beside a single thread.

The number of threads is the backend's, as FRAME_THREADS or the host's parameter sets it. The result of a point does not
depend on it, which is checked to the bit before anything is timed.
"""

from __future__ import annotations

import os

import numpy as np

from kernels import collections, get_backend
from kernels.engine.tune import seconds

from ...errors import ArgumentError
from . import inputs
from .properties import CASES, STATES, given_state, launch
from .report import Report, Row
from .timing import WrongValues, in_turns

NS = (10, 50)
MEASURED = ("thermal", "viscous, Takahashi")
# Other programs stop a thread now and then, and all threads wait for it. So samples are short, there are many, and the
# least counts.
SAMPLE = 0.002  # shortest duration of a sample [s]
OFTEN = 10  # times as many rounds as other benches take
MOST = 4.0  # longest duration of all rounds [s]; beyond, there are fewer
EACH = 16_000  # points a thread at least, so that the start of the threads is a small part of a pass
NOTES = (
    "In brackets: how many times one thread's pace; reached: the same over the number of threads. Each count in turns, "
    "least times; results are the same to the bit. Arrays are filled by one thread."
)


def counts(cores: int) -> list[int]:
    """All numbers up to 4, then the powers of two, and all cores."""
    few = range(1, min(cores, 4) + 1)
    powers = [2**k for k in range(cores.bit_length())]
    return sorted({*few, *powers, cores})


def run(given, backend, say) -> Report:
    """Times the collections on 1, 2, ... threads. Raises ArgumentError for a backend without threads."""
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
            state = given_state(mixture, collections[case.collection], points, kind)
            rows += measure(case, mixture, asked, state, given.repeats)

    facts = [f"{cores} cores to run on", f"{points} points a pass, {kind} states, up to {OFTEN * given.repeats} rounds"]
    return Report(rows, facts, NOTES)


def measure(case, mixture, asked: list[int], state: dict, repeats: int) -> list[Row]:
    """A row for each number of threads, 1 among them. Raises WrongValues if results depend on the number of threads."""
    points = state["T"].size
    ours = {}
    for count in asked:
        ours[count] = launch(mixture, case.collection, state, get_backend("cpu", threads=count))
        ours[count].work()
    _compare(ours, f"{case.name}, NS = {mixture.ns}", points)

    # Samples of equal length, as many as MOST allows.
    timers, round_ = {}, 0.0
    for count, each in ours.items():
        once = max(seconds(each.backend, each.work), 1e-9)
        often = max(1, int(SAMPLE / once))
        round_ += often * once
        timers[count] = lambda each=each, often=often: seconds(each.backend, each.work, often)
    rounds = max(repeats, min(OFTEN * repeats, int(MOST / round_)))
    least = {count: min(times) for count, times in in_turns(timers, rounds).items()}

    rows = []
    one = points / least[1]
    for count in asked:
        label = f"{case.name}, {count} thread{'s' * (count > 1)}"
        row = Row.timed("threads", label, mixture.ns, points, "cpu", least[count])
        rows.append(row.beside("1 thread", one, 0.0).below(count * one, "linear"))
    return rows


def _compare(ours: dict, what: str, points: int) -> None:
    """Raises WrongValues unless all launches have the same bits as the launch by one thread."""
    of_one = ours[1].results(points)
    for count, each in ours.items():
        for name, found in each.results(points).items():
            if not np.array_equal(found, of_one[name], equal_nan=True):
                raise WrongValues(f"{what}: '{name}' of {count} threads is not that of one. Nothing was timed.")
