"""Tuning: verify, then time every legal variant of a kernel; keep the choice for (device, kernel, shape, type,
compiler).

Choices live in the kernel cache's folder as JSON, written atomically under a lock. A kernel that was never tuned runs
with a default: `choice` then returns None. Nothing here knows what a kernel computes.
"""

from __future__ import annotations

import dataclasses
import math
import statistics

from ..backend import cache
from ..errors import FrameError, VariantUnsuitable

FILE = "tuned.json"


@dataclasses.dataclass(frozen=True)
class Key:
    """What a choice holds for. `shape`: what has to agree, in words; `points`: the nearest tuned count serves."""

    device: str
    kernel: str
    shape: str
    type: str
    compiler: str
    points: int

    @property
    def text(self) -> str:
        return " | ".join((self.kernel, self.shape, self.type, self.device, self.compiler))


def choice(key: Key) -> str | None:
    """The chosen variant's id, or None when this kernel was not tuned here."""
    known = cache.read_notes(FILE).get(key.text)
    if not isinstance(known, dict) or not known:
        return None
    nearest = min(known, key=lambda points: abs(math.log(int(points) / max(key.points, 1))))
    return known[nearest].get("variant")


def keep(key: Key, variant: str, seconds: float) -> None:
    """Store a choice."""

    def change(notes):
        notes.setdefault(key.text, {})[str(key.points)] = {"variant": variant, "seconds": seconds}

    cache.change_notes(FILE, change)


@dataclasses.dataclass
class Outcome:
    """What became of one variant: its times if it was right, else why it was left out."""

    variant: object
    seconds: float | None = None
    why: str = ""
    error: float = 0.0  # largest relative difference from the oracle
    report: dict = dataclasses.field(default_factory=dict)


def search(variants, prepare, verify, clock, rounds: int = 5, told=None) -> list[Outcome]:
    """Prepare, verify, then time variants; the fastest first, those left out last.

    prepare(variant) -> (run, report); verify(variant, run) -> largest relative error, raises FrameError when it is
    wrong; clock(run) -> seconds of one run. What raises is left out and says why. The verified ones are timed in turns,
    `rounds` of them after one that warms up, so that a disturbance hits all alike; medians count.
    """
    outcomes, runs = [], []
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
