"""Tuning: verify, then time every variant of a kernel. Nothing here knows what a kernel computes, and nothing is kept:
what was found is written where the user says, and read where the user names it."""

from __future__ import annotations

import dataclasses
import math
import statistics

from .errors import FrameError, VariantUnsuitable


@dataclasses.dataclass
class Outcome:
    """Result of a variant: its times if it was right, else why it was left out."""

    variant: object
    seconds: float | None = None
    why: str = ""
    error: float = 0.0  # largest relative difference from the oracle
    report: dict = dataclasses.field(default_factory=dict)


def seconds(backend, work, often: int = 1) -> float:
    """Seconds of one work() out of so many, by the backend's own clock."""
    begin = backend.mark()
    for _ in range(often):
        work()
    return backend.elapsed(begin, backend.mark()) / often


def search(variants, prepare, verify, clock, rounds: int = 5, told=None) -> list[Outcome]:
    """Prepare, verify, then time variants; the fastest first, those left out last.

    prepare(variant) -> (run, report); verify(variant, run) -> largest relative error, raises FrameError when it is
    wrong; clock(run) -> seconds of one run. A variant that raises is not timed; its outcome says why. The verified
    variants are timed in turns, `rounds` times behind a turn that warms up, so that a disturbance hits all alike.
    Medians count.
    """
    outcomes: list[Outcome] = []
    runs: list[tuple] = []  # (outcome, run, seconds of each round)

    for variant in variants:
        outcome = Outcome(variant)
        outcomes.append(outcome)

        try:
            run, outcome.report = prepare(variant)
            outcome.error = verify(variant, run)
            runs.append((outcome, run, []))
        except VariantUnsuitable as reason:
            outcome.why = f"unsuitable: {reason}"
        except FrameError as error:
            outcome.why = f"{type(error).__name__}: {error}"

        if told:
            told(outcome)

    for _turn in range(rounds + 1):
        for _, run, times in runs:
            times.append(clock(run))

    for outcome, _, times in runs:
        outcome.seconds = statistics.median(times[1:])
    return sorted(outcomes, key=lambda o: math.inf if o.seconds is None else o.seconds)
