"""Transport along lines of composition: no jumps, no poles."""

from __future__ import annotations

import itertools

import numpy as np

from ..report import Row
from ..wide import reachable
from .judged import unjudged

# Binary mixtures in which the published viscosity of Chung has poles.
POLES = ("O2 H2", "H2 H2O", "CO2 H2O", "CO H2O", "O2 H2O", "CH4 H2O")
LINE_T, LINE_P = (150.0, 300.0, 700.0, 1500.0, 3000.0), (20e5, 100e5, 200e5, 300e5)
LINE = 2000  # intervals of a line
PHASE = 0.05  # change of ln rho in an interval that shows a phase boundary, where transport may jump

# The interval of the largest step is divided into 32, four times: down to a millionth.
ZOOM, LEVELS = 32, 4
# Largest part of the step that may remain. Smooth lines and kinks leave 1e-6, a square root 1e-3, a jump or a pole all.
LEFT = 0.01


def rows(job):
    mixture = job.mixture
    names = [name for name in ("mu", "lam", "D") if name in reachable(mixture)]

    for pair in POLES:
        ends = pair.split()
        if not set(ends) <= set(mixture.names):
            continue

        at = [mixture.names.index(name) for name in ends]
        rows = {
            name: Row(
                "identities",
                f"{name} along {'/'.join(ends)}",
                None if name in unjudged(mixture) else LEFT,
                "step left",
                f"lines: the largest change of ln in one of {LINE} intervals, what is left of it in a millionth of "
                "that interval; 1 is a jump or "
                "pole, infinite where not positive; across phase boundaries not judged",
            )
            for name in names
        }

        for T, p in itertools.product(LINE_T, LINE_P):
            line = _Line(mixture, at, names, T, p, job.backend)
            for name in names:
                line.judge(name, rows[name])

        yield from rows.values()


class _Line:
    """Compositions between two species at a T [K] and p [Pa]; names: the quantities along it. at: both indices."""

    def __init__(self, mixture, at, names, T: float, p: float, backend):
        self.mixture, self.at, self.names, self.T, self.p, self.backend = mixture, at, names, T, p, backend
        self.x = np.linspace(0, 1, LINE + 1)
        self.whole = self._sample(self.x)

    def _sample(self, x):
        """(Y (ns, n), {rho and names: ln of the values (rows, n)}) at shares x of the second species."""
        X = np.zeros((self.mixture.ns, x.size))
        X[self.at[0]], X[self.at[1]] = 1 - x, x
        Y = X * self.mixture.species.W[:, None]
        Y /= Y.sum(0)

        T = np.full(x.size, self.T)
        q = self.mixture.properties(["rho", *self.names], T=T, p=self.p, Y=Y, backend=self.backend)
        if "D" in q:
            q["D"] = q["D"][self.at]
        with np.errstate(invalid="ignore", divide="ignore"):
            return Y, {name: np.log(np.atleast_2d(values)) for name, values in q.items()}

    def judge(self, name: str, row) -> None:
        """Adds the share of the largest step of ln that is left after LEVELS divisions of its interval; infinite if a
        value is not positive."""
        Y, found = self.whole
        place, left = int(np.argmin(np.isfinite(found[name]).all(0))), np.inf
        if np.isfinite(found[name]).all():
            steps = np.abs(np.diff(found[name])).max(0)
            steps[np.abs(np.diff(found["rho"][0])) > PHASE] = 0
            if name == "D":  # at an end, D of the species that is left alone depends on the traces beside it
                steps[[0, -1]] = 0
            first = max(steps.max(), 1e-9)

            x, place = self.x, int(steps.argmax())

            for _ in range(LEVELS):
                x = np.linspace(x[place], x[place + 1], ZOOM + 1)
                Y, found = self._sample(x)
                steps = np.abs(np.diff(found[name])).max(0)
                place = int(steps.argmax())

            left = steps[place] / first

        state = {"T": np.array([self.T]), "p": np.array([self.p]), "Y": Y[:, place : place + 1]}
        row.add(np.array([left]), 1.0, state)
