"""Check mode: names the place of the first unusable value. It is off by default: it reads every view back after each
call."""

from __future__ import annotations

import warnings

import numpy as np

import kernels
from kernels.gas.check import NOT_NEGATIVE, POSITIVE, SUM_Y, left_range

from . import stripe as stripes
from .errors import StateError


class Check:
    """Check mode (FRAME_CHECK=1): tests of inputs and results. rank: for messages. on: whether the tests are made."""

    def __init__(self, rank: int):
        self.rank = rank
        self.on = False

    # ---- inputs

    def filled(self, view, values: np.ndarray, block, first: int) -> None:
        """Check an input that was just populated.

        values: (rows, points). first: number of the first point, as Fortran counts. Errors: StateError with field,
        value, point, rank.
        """
        self._stop(view, ~np.isfinite(values), values, block, first, "wanted a finite number")
        if view.name in POSITIVE:
            self._stop(view, values <= 0, values, block, first, "wanted > 0")
        if view.name == "Y":
            self._check_fractions(view, values, block, first)

    def _check_fractions(self, view, values: np.ndarray, block, first: int) -> None:
        given = block.n[3] if block.n[3] < view.rows else view.rows
        wanted = f"wanted 0 or more (-{SUM_Y:g} is let pass as rounding)"
        self._stop(view, values[:given] < -SUM_Y, values, block, first, wanted)
        wanted = f"1 less the sum of the species given, {wanted}"
        self._stop(view, values < -SUM_Y, values, block, first, wanted)

        total = values.sum(axis=0, dtype=np.float64)
        bad = np.abs(total - 1) > SUM_Y

        if bad.any():
            t = int(np.argmax(bad))
            raise StateError(
                f"check: input 'Y' sums to {float(total[t])!r} over the species at {self._where(block, first, t)}, "
                f"wanted 1 within {SUM_Y:g}."
            )

    def _stop(self, view, bad, values, block, first, wanted) -> None:
        """Raises StateError for the first point at which a value is bad."""
        if not bad.any():
            return

        t = int(np.argmax(bad.any(axis=0)))
        row = int(np.argmax(bad[:, t]))
        which = _variable(view.name, row, view.rows)
        raise StateError(
            f"check: input {which} = {float(values[row, t])!r} {view.unit} at {self._where(block, first, t)}, {wanted}."
        )

    # ---- results

    def computed(self, launcher, n: int, backend, block, first: int, species=None) -> None:
        """Check the results of a launch of n points. Errors: StateError with field, value, point, rank, kernel, the
        point's inputs, and the range of the species' polynomials if the point has left it. Warns of what a status
        reports of points that have results."""
        self._check_statuses(launcher, n, backend, block, first)
        by_name = {view.name: view for view in launcher.writes}
        for kernel, name in _in_order(launcher, by_name):
            values = backend.to_host(by_name[name].matrix)[:, :n]
            bad = ~np.isfinite(values)
            if name in NOT_NEGATIVE:
                bad |= values < 0
            if not bad.any():
                continue

            t = int(np.argmax(bad.any(axis=0)))
            row = int(np.argmax(bad[:, t]))
            which = _variable(name, row, len(values))

            raise StateError(
                f"check: kernel '{kernel}' in launch '{launcher.name}' gave {which} = {float(values[row, t])!r} at "
                f"{self._where(block, first, t)}; there {_state(launcher, t, backend) or 'no scalar inputs'}."
                + _left(launcher, t, backend, species)
            )

    def _check_statuses(self, launcher, n: int, backend, block, first: int) -> None:
        for view in launcher.writes:
            for report in kernels.registry.quantities[view.name].reports:
                there = backend.to_host(view.matrix)[0, :n] == report.value
                if not there.any():
                    continue

                t = int(np.argmax(there))
                text = (
                    f"check: {report.what} ('{view.name}' = {report.value}) at {int(there.sum())} of {n} points of "
                    f"launch '{launcher.name}'; the first is {self._where(block, first, t)}, there "
                    f"{_state(launcher, t, backend) or 'no scalar inputs'}."
                )
                if report.fails:
                    raise StateError(text)
                warnings.warn(text, RuntimeWarning, stacklevel=2)

    def _where(self, block, first: int, t: int) -> str:
        return f"point (i, j, k) = {stripes.point(block, first - 1 + t)} of rank {self.rank}"


def _variable(name: str, row: int, rows: int) -> str:
    return f"'{name}'" + (f" (variable {row + 1})" if rows > 1 else "")


def _in_order(launcher, by_name) -> list[tuple[str, str]]:
    """(kernel, result) pairs of a launch, in the order in which they are computed."""
    order = []
    for kernel in launcher.program.kernels:
        for name in kernels.registry.kernels[kernel].writes:
            if name in by_name:
                order.append((kernel, name))

    return order


def _state(launcher, t: int, backend) -> str:
    """The scalar inputs of point t."""
    scalars = [view for view in launcher.reads if view.rows == 1]
    return ", ".join(f"{view.name} = {float(backend.to_host(view.matrix)[0, t])!r}" for view in scalars)


def _left(launcher, t: int, backend, species) -> str:
    """Whether T left the range of the species' polynomials, in words."""
    views = {view.name: view for view in (*launcher.reads, *launcher.writes) if view.name in ("T", "Y")}
    return left_range({name: backend.to_host(view.matrix) for name, view in views.items()}, t, species)
