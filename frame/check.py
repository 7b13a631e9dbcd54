"""Check mode: names the place of the first unusable value. It is off by default: it reads every view back after each
call."""

from __future__ import annotations

import numpy as np

import kernels
from kernels.gas.check import NOT_NEGATIVE, POSITIVE, SUM_Y, left_range

from . import stripe as stripes
from .errors import StateError


class Check:
    """Check mode (FRAME_CHECK=1): tests of inputs and results. on: whether it is in force. rank: for messages."""

    def __init__(self, rank: int):
        self.rank, self.on = rank, False

    def filled(self, view, values: np.ndarray, block, first: int) -> None:
        """Check an input that was just populated: values (rows, points). Errors: StateError with field, value, point,
        rank."""
        self._stop(view, ~np.isfinite(values), values, block, first, "wanted a finite number")
        given = block.n[3] if view.name == "Y" and block.n[3] < view.rows else view.rows
        if view.name in POSITIVE:
            self._stop(view, values <= 0, values, block, first, "wanted > 0")
        if view.name == "Y":
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
        if bad.any():
            t = int(np.argmax(bad.any(axis=0)))
            row = int(np.argmax(bad[:, t]))
            which = f"'{view.name}'" + (f" (variable {row + 1})" if view.rows > 1 else "")
            raise StateError(
                f"check: input {which} = {float(values[row, t])!r} {view.unit} at {self._where(block, first, t)}, "
                f"{wanted}."
            )

    def computed(self, launcher, n: int, backend, block, first: int, species=None) -> None:
        """Check the results of a launch. Errors: StateError with field, value, point, rank, kernel, the point's inputs,
        and the range of the species' polynomials if the point has left it."""
        by_name = {view.name: view for view in launcher.writes}
        order = [(k, w) for k in launcher.program.kernels for w in kernels.registry.kernels[k].writes if w in by_name]
        for kernel, name in order:
            values = backend.to_host(by_name[name].matrix)[:, :n]
            bad = ~np.isfinite(values)
            if name in NOT_NEGATIVE:
                bad |= values < 0
            if not bad.any():
                continue
            t = int(np.argmax(bad.any(axis=0)))
            row = int(np.argmax(bad[:, t]))
            state = ", ".join(
                f"{v.name} = {float(backend.to_host(v.matrix)[0, t])!r}" for v in launcher.reads if v.rows == 1
            )
            which = f"'{name}'" + (f" (variable {row + 1})" if len(values) > 1 else "")
            raise StateError(
                f"check: kernel '{kernel}' in launch '{launcher.name}' gave {which} = {float(values[row, t])!r} at "
                f"{self._where(block, first, t)}; there {state or 'no scalar inputs'}."
                + self._left(launcher, t, backend, species)
            )

    @staticmethod
    def _left(launcher, t: int, backend, species) -> str:
        views = {v.name: v for v in (*launcher.reads, *launcher.writes) if v.name in ("T", "Y")}
        return left_range({name: backend.to_host(v.matrix) for name, v in views.items()}, t, species)

    def _where(self, block, first: int, t: int) -> str:
        return f"point (i, j, k) = {stripes.point(block, first - 1 + t)} of rank {self.rank}"
