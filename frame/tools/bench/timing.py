"""Steps that all benches share: a program on arrays of a backend, samples long enough for the clock, rounds in turn."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Mapping

import numpy as np

from kernels.engine.backend.base import Backend
from kernels.engine.tune import seconds

from ...errors import BackendError
from . import ceilings

SAMPLE = 0.01  # shortest duration of a sample of ours [s]


class WrongValues(BackendError):
    """Our values and the values of a rival differ. Nothing is timed."""


@dataclasses.dataclass(frozen=True)
class Conditions:
    """How the rows of a run are measured."""

    backend: Backend
    roofs: ceilings.Ceilings
    points: int  # of a pass
    repeats: int  # rounds
    rivals: tuple = ()
    kind: str = "random"  # of the states, see inputs.KINDS
    precision: str = "double"
    of: Callable = statistics.median  # the seconds of all rounds -> the seconds of the row


class Launch:
    """A program on arrays of its backend, as a host keeps them. state: {quantity: (points,) or (rows, points)}."""

    def __init__(self, program, state: dict):
        self.program, self.backend, self.n = program, program.backend, state["T"].size
        self.arrays = empty_arrays(program.plan, self.backend, self.n)
        fill(self.backend, self.arrays, state)
        self._run = program.bind(self.arrays)

    def work(self) -> None:
        """A launch over all points."""
        self._run(self.n)

    def result(self, name: str, points=slice(None)) -> np.ndarray:
        """A quantity (rows, points), of some of the points."""
        return self.backend.to_host(self.arrays[name][:, : self.n][:, points])

    def results(self, n: int) -> dict[str, np.ndarray]:
        """All outputs at the first n points."""
        return {name: self.result(name, slice(n)) for name in self.program.writes}

    def bound(self, roofs, cost, width: int = 8) -> tuple[float, str]:
        """(points a second, name of the roof) of a launch with these operations. width: bytes of a number."""
        plan = self.program.plan
        reads, writes = (sum(map(plan.rows, names)) for names in (plan.reads, plan.writes))
        return roofs.bound(cost, reads, writes, self.n, width)


def empty_arrays(plan, backend, n: int) -> dict:
    """Arrays (rows, padded n) of the arguments of a plan."""
    return {name: backend.empty((plan.rows(name), backend.pad(n)), plan.dtype) for name in plan.arguments}


def fill(backend, arrays: dict, state: dict) -> None:
    """Copies the quantities of a state, (points,) or (rows, points), into the arrays of these names."""
    n = state["T"].size
    for name in arrays.keys() & state.keys():
        values = np.ascontiguousarray(state[name]).reshape(-1, n)
        arrays[name][:, :n] = backend.from_host(values, arrays[name].dtype)


def part(state: dict, which: slice | np.ndarray) -> dict:
    """Some points of a state, contiguous."""
    return {name: np.ascontiguousarray(value[..., which]) for name, value in state.items()}


def with_density(mixture, state: dict) -> dict:
    """A state of T, p, Y with rho [kg/m3], by the CPU."""
    return {**state, "rho": mixture.properties("rho", backend="cpu", **state)["rho"]}


def sampled(backend, work) -> Callable[[], float]:
    """timer(): seconds of one work(), of as many as a sample of SAMPLE seconds has."""
    often = max(1, int(SAMPLE / max(seconds(backend, work), 1e-9)))
    return lambda: seconds(backend, work, often)


def took(work, clock=time.perf_counter) -> float:
    """Seconds of work() on the host."""
    begin = clock()
    work()
    return clock() - begin


def in_turns(timers: Mapping, repeats: int) -> dict:
    """{name: seconds of each round} of timers {name: timer()}. Rounds alternate: other load hits all timers alike."""
    times: dict = {name: [] for name in timers}
    for _ in range(repeats):
        for name, timer in timers.items():
            times[name].append(timer())

    return times
