"""Mixture.ignition_delay: how long closed adiabatic reactors take to ignite, on arrays, by calls of Mixture.react.

Times grow by a factor to the longest. The intervals around the event are then divided again and again, from the state
where they begin: every point has times of its own, and the integration steps of its own in between.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ...engine.errors import is_one_of, refuse
from ...engine.values import real_number
from ..arrays import call
from ..lost import reasons_of, warn_of_lost
from .calls import LOST, Reactor

SLOPE = "slope"  # criterion: the steepest rise of T
SHORTEST = 1e-9  # s: the first time
GROWTH = 1.25  # of the first times
PARTS = 8  # of intervals that are divided
WIDTH = 1e-4  # of the delay: intervals that are short enough for a parabola of the slopes
LEAST_RISE = 100.0  # K: less is no ignition


@dataclasses.dataclass(frozen=True)
class Reactors:
    """Points as closed reactors at a time of their own. T, p: (points,); Y: (ns, points); t: s since the start."""

    T: Any
    p: Any
    Y: Any
    t: Any

    def chosen(self, mask, other: Reactors) -> Reactors:
        """These points where the mask is true, else the others."""
        names = [field.name for field in dataclasses.fields(self)]
        return Reactors(*(np.where(mask, getattr(self, name), getattr(other, name)) for name in names))


@dataclasses.dataclass(frozen=True)
class Around:
    """The event is between `begin` and `end` [s]. delay: the best guess of it [s]."""

    begin: Reactors
    end: Any
    delay: Any


def ignition_delay(reactor: Reactor, state: dict, criterion, longest):
    """See Mixture.ignition_delay."""
    rise = _rise_of(criterion)
    longest = real_number("longest", longest)
    refuse(not SHORTEST < longest < 1e9, f"longest = {longest!r} s; wanted more than {SHORTEST:g}.")

    # All points in a row
    mixture = reactor.mixture
    given = call(mixture, ["T", "p", "Y"], state, reactor.backend, reactor.precision)
    shape = np.broadcast_shapes(*(np.shape(given[name][0] if name == "Y" else given[name]) for name in given))
    hidden = _hidden(given["T"], shape)
    start = _in_a_row(given, mixture.ns, shape)

    status = np.zeros_like(start.T)  # of the first integration of a point that came to no end

    def after(points: Reactors, dt) -> Reactors:
        out = reactor.react(dict(T=points.T, p=points.p, Y=points.Y), dt)
        status[:] = np.where(status > 0, status, out["status"])
        return Reactors(out["T"], out["p"], out["Y"], points.t + dt)

    # Times from the shortest to the longest
    times = [SHORTEST]
    while times[-1] < longest:
        times.append(min(times[-1] * GROWTH, longest))
    steps = np.diff([0.0, *times])

    reached = None if rise is None else start.T + rise
    around, last = march(start, [np.full_like(start.T, step) for step in steps], after, reached)
    ignites = last.T > start.T + (LEAST_RISE if rise is None else rise)

    # Shorter and shorter intervals
    for _ in range(200):
        width = around.end - around.begin.t
        if not (ignites & (width > WIDTH * around.end)).any():
            break
        around = march(around.begin, [width / PARTS] * PARTS, after, reached)[0]

    delay = np.where(ignites, around.delay, np.nan).reshape(shape)
    lost = np.where(ignites, 0.0, status).reshape(shape)
    shown = lost if hidden is None else np.ma.array(lost, mask=hidden)
    warn_of_lost("ignition delay", shown, reasons_of(mixture.species, LOST), stacklevel=4)

    return np.ma.array(delay, mask=hidden) if hidden is not None else delay


def _rise_of(criterion) -> float | None:
    """The rise of T [K] that is the event; None: the steepest rise. Raises ArgumentError."""
    wanted = f"criterion = {criterion!r}; wanted '{SLOPE}', or a rise of T in K."
    if is_one_of(criterion, (SLOPE,)):
        return None

    refuse(isinstance(criterion, str), wanted)
    rise = real_number("criterion", criterion)
    refuse(not 0 < rise < 5000, wanted)
    return rise


def _in_a_row(given: dict, ns: int, shape: tuple[int, ...]) -> Reactors:
    """The states T, p (...) and Y (ns, ...) as points in a row. shape: of all points, to which they broadcast."""
    T, p = (np.broadcast_to(given[name], shape).reshape(-1) for name in ("T", "p"))
    Y = given["Y"]
    missing = (1,) * (len(shape) - (Y.ndim - 1))
    Y = np.broadcast_to(Y.reshape(ns, *missing, *Y.shape[1:]), (ns, *shape)).reshape(ns, -1)
    return Reactors(T, p, Y, np.zeros_like(T))


def _hidden(T, shape):
    """The mask of the points, which `call` gives to all its arrays; None where no masked array came."""
    if not isinstance(T, np.ma.MaskedArray):
        return None
    return np.broadcast_to(np.ma.getmaskarray(T), shape)


def march(points: Reactors, steps: list, after, reached) -> tuple[Around, Reactors]:
    """Take the steps [s]; (where the event is, points at the end). reached: T of the event [K]; None: the event is the
    steepest rise, and an interval on either side of it comes along."""
    ends = np.cumsum([points.t, *steps], axis=0)
    before = here = points
    slopes, T_ends = [], [points.T]
    begin, end, best = points, ends[-1], np.full_like(points.t, -np.inf)

    for k, dt in enumerate(steps):
        then = after(here, dt)
        T_ends.append(then.T)
        slope = (then.T - here.T) / dt
        slopes.append(slope)

        if reached is None:
            better = slope > best
            best = np.where(better, slope, best)
            begin = before.chosen(better, begin)
            end = np.where(better, ends[min(k + 2, len(steps))], end)
        else:
            better = (then.T >= reached) & (best < 0)
            best = np.where(better, 1.0, best)
            begin = here.chosen(better, begin)
            end = np.where(better, ends[k + 1], end)
        before, here = here, then

    delay = crossing(T_ends, ends, reached) if reached is not None else summit(slopes, ends)
    return Around(begin, end, delay), here


def crossing(T, ends, reached):
    """When T is reached, linear between the times."""
    delay = ends[-1]
    for k in reversed(range(len(T) - 1)):
        share = (reached - T[k]) / np.where(T[k + 1] > T[k], T[k + 1] - T[k], 1.0)
        delay = np.where(T[k + 1] >= reached, ends[k] + np.clip(share, 0, 1) * (ends[k + 1] - ends[k]), delay)
    return delay


def summit(slopes, ends):
    """When the slope is largest: the top of the parabola through the largest slope and its neighbours; in the middle of
    an interval at an end. Intervals are of equal length where it counts."""
    slopes, middles = np.array(slopes), 0.5 * (ends[1:] + ends[:-1])
    top = np.argmax(slopes, axis=0)
    inner = np.clip(top, 1, len(slopes) - 2)
    low, most, high = (np.take_along_axis(slopes, inner[None] + d, 0)[0] for d in (-1, 0, 1))
    bend = low - 2 * most + high
    shift = np.where(bend < 0, 0.5 * (low - high) / np.where(bend < 0, bend, 1.0), 0.0)
    length = np.take_along_axis(ends, inner[None] + 1, 0)[0] - np.take_along_axis(ends, inner[None], 0)[0]
    at_end = np.take_along_axis(middles, top[None], 0)[0]
    inside = np.take_along_axis(middles, inner[None], 0)[0] + np.clip(shift, -1, 1) * length
    return np.where(top == inner, inside, at_end)
