"""Fit of a binary interaction k_ij to bubble and dew points of two species.

The residual of a point is the error of its pressure at its T and composition, ln(p of the model/p), over sqrt(1 + s^2)
with s = x (1 - x) d ln p/dx. Where the boundary is steep, next to the critical point, a point so counts by its distance
from the boundary in ln p and ln(x/(1 - x)). Residuals beyond BEND pull no harder (Huber 1964, original not seen).
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from kernels import Mixture
from kernels.gas.phases.saturation import bubble_p, dew_p
from kernels.gas.species.interactions import refuse_unread_kij

from ...errors import ArgumentError, refuse
from .pair_points import Points

TRIED = np.linspace(-0.4, 0.8, 13)  # k_ij at which the search begins
LARGEST = 0.7  # ln of a ratio of pressures: farther points, and points without a boundary, cost as much in the search
FOREIGN = 1.1  # median of |ln(p of the model/p)| at the best k_ij beyond which the points are not this pair's: units

BEND = 0.05  # of a residual: more than a model with one k_ij and good measurements leave
STEPS = 60  # of Gauss and Newton's method
FIRST_STEP = 0.05  # the longest one
SETTLED = 1e-9  # a step that ends the search; bubble_p is sharp to 1e-8 of p
MOVE_KIJ, MOVE_X = 1e-4, 1e-4  # of differences; of k_ij, and of ln(x/(1 - x))
INSIDE = 1 - 1e-7  # of a boundary's pressure: where both phases are there
NO_KIJ = 1e-12  # in place of 0, for which kernels without pairs would have to be compiled


@dataclasses.dataclass(frozen=True)
class Deviations:
    """Relative deviations of a model's pressures, p of the model/p - 1 (n,); NaN: the model has no boundary there."""

    p: np.ndarray

    @property
    def mean(self) -> float:
        """Mean of the absolute values."""
        return float(np.nanmean(np.abs(self.p))) if np.isfinite(self.p).any() else np.nan

    @property
    def worst(self) -> int:
        """Index of the largest absolute value."""
        return int(np.nanargmax(np.abs(self.p)))

    @property
    def largest(self) -> float:
        return float(np.abs(self.p[self.worst])) if np.isfinite(self.p).any() else np.nan

    @property
    def missing(self) -> np.ndarray:
        """Mask of the points without a boundary in the model."""
        return np.isnan(self.p)


@dataclasses.dataclass(frozen=True)
class KijFit:
    """A fitted k_ij, and how well the model then meets the points."""

    names: tuple[str, ...]  # two
    equation: str
    kij: float
    error: float  # standard error of k_ij; NaN: of a single point
    used: np.ndarray  # mask (n,) of the points that were fitted
    kij_given: float  # of the mixture
    before: Deviations  # with k_ij = 0
    given: Deviations  # with the mixture's
    after: Deviations  # with the fitted one
    y: np.ndarray  # y of the model less y (n,), mole fractions of the first species; NaN: not measured

    @property
    def pairs(self) -> dict[str, float]:
        """The argument `kij` of a Mixture."""
        return {"/".join(self.names): self.kij}


def fit_kij(mixture: Mixture, T, p, x=None, y=None) -> KijFit:
    """k_ij of the two species of a mixture with phases = "equilibrium" from measured bubble and dew points.

    T [K], p [Pa]: numbers or arrays. x, y: mole fractions of the first species in the liquid and in the vapour; a point
    with x is a bubble point: the pressure of the liquid x is fitted, and y compared. A point without x (NaN) is a dew
    point of the vapour y. Raises ArgumentError for numbers that are no points, for points that no k_ij comes near
    (units), and for points that want a k_ij outside -0.4 to 0.8.
    """
    return fit(mixture, Points.of(T, p, x, y))


def fit(mixture: Mixture, points: Points) -> KijFit:
    """As fit_kij, from Points."""
    model = Model(mixture, points)
    kij, error, used = model.best()

    before, given, after = (Deviations(np.expm1(model.errors(value))) for value in (0.0, model.kij, kij))
    return KijFit(
        names=mixture.names,
        equation=mixture.options["equation"],
        kij=kij,
        error=error,
        used=used,
        kij_given=model.kij,
        before=before,
        given=given,
        after=after,
        y=model.errors_of_y(kij),
    )


class Model:
    """The boundary of two phases of a mixture of two species, at points and as a function of k_ij."""

    def __init__(self, mixture: Mixture, points: Points):
        names = ", ".join(mixture.names)
        refuse(mixture.ns != 2, f"k_ij is of two species; the mixture has {mixture.ns}: {names}.", ArgumentError)
        phases = mixture.options["phases"]
        refuse(phases != "equilibrium", f"wanted phases = 'equilibrium'; '{phases}' came.", ArgumentError)
        refuse_unread_kij(mixture.options)

        self.mixture, self.points = mixture, points
        self.kij = float(mixture.species.kij[0, 1])
        self.pure = (points.share == 0) | (points.share == 1)
        refuse(bool(self.pure.all()), "all points are of a pure species, which has no k_ij.", ArgumentError)

    @functools.lru_cache(maxsize=4)  # noqa: B019 - models are few
    def with_kij(self, kij: float) -> Mixture:
        pair = {"/".join(self.mixture.names): kij or NO_KIJ}
        return Mixture(self.mixture.species.with_kij(pair), **self.mixture.options)

    # ---- of a k_ij
    def errors(self, kij: float, share=None) -> np.ndarray:
        """ln(p of the model/p) of the points, or of their T and p with other mole fractions (..., n). NaN: the model
        has no boundary there."""
        points, mixture = self.points, self.with_kij(kij)
        share = points.share if share is None else share
        bubble, dew = points.bubble, ~points.bubble

        found = np.full(np.shape(share), np.nan)
        if bubble.any():
            found[..., bubble] = bubble_p(mixture, points.T[bubble], _X(share[..., bubble]))
        if dew.any():
            found[..., dew] = self._dew_pressures(mixture, share[..., dew])
        return np.log(found / points.p)

    def _dew_pressures(self, mixture: Mixture, share) -> np.ndarray:
        """Dew pressures of gases of these mole fractions: of two, the upper one is retrograde, that nearer to p."""
        dew = ~self.points.bubble
        T, p = self.points.T[dew], self.points.p[dew]
        low, high = dew_p(mixture, T, _X(share)), bubble_p(mixture, T, _X(share))

        # Below the critical temperature the upper end is a bubble point
        inside = mixture.properties("beta", T=T, p=np.nan_to_num(high * INSIDE, nan=1.0), X=_X(share))["beta"]
        nearer = np.abs(np.log(high / p)) < np.abs(np.log(low / p))
        return np.where((inside > 0.5) & nearer, high, low)

    def errors_of_y(self, kij: float) -> np.ndarray:
        """y of the model less y (n,), of the vapour that a liquid x frees; NaN where x or y was not measured."""
        points, mixture = self.points, self.with_kij(kij)
        p = points.p * np.exp(self.errors(kij)) * INSIDE
        out = np.full(points.size, np.nan)
        both = points.bubble & np.isfinite(points.y) & np.isfinite(p)
        if both.any():
            found = mixture.properties("Y_v", T=points.T[both], p=p[both], X=_X(points.x[both]))["Y_v"]
            moles = found / mixture.species.W[:, None]
            out[both] = moles[0] / moles.sum(0) - points.y[both]

        return out

    # ---- the best k_ij
    def best(self) -> tuple[float, float, np.ndarray]:
        """(k_ij, its standard error, mask of the points that were fitted)."""
        kij, last, limit = self._search(), 0.0, FIRST_STEP

        for _ in range(STEPS):
            near = self._linear(kij)
            step = float(np.clip(near.step, -limit, limit))
            if step * last < 0:  # a point comes and goes, or a residual bends
                limit = 0.5 * abs(last)
                step = float(np.clip(step, -limit, limit))
            kij, last = kij + step, step
            if abs(step) < SETTLED:
                break

        return kij, near.error, near.used

    def _search(self) -> float:
        """The best of TRIED. Raises ArgumentError if no k_ij comes near the points, or the best is an end."""
        errors = np.array([self.errors(kij) for kij in TRIED])[:, ~self.pure]
        sizes = np.abs(np.where(np.isnan(errors), np.inf, errors))
        best = int(np.argmin(np.minimum(sizes, LARGEST).sum(1)))

        # Points of another pair, or in other units.
        middle = float(np.median(sizes[best]))
        refuse(
            middle > FOREIGN,
            f"no k_ij from {TRIED[0]:g} to {TRIED[-1]:g} comes near these points: {_foreign(errors[best])}. Look at "
            "the units, T in K and p in Pa, at the species, and that x and y are mole fractions.",
            ArgumentError,
        )
        ends = (0, len(TRIED) - 1)
        refuse(best in ends, f"the points want a k_ij of {TRIED[best]:g}, an end of what is tried.", ArgumentError)
        return float(TRIED[best])

    def _linear(self, kij: float) -> Linear:
        """The residuals next to a k_ij."""
        x = self.points.share
        here, beside = self.errors(kij, np.stack([x, x + MOVE_X * x * (1 - x)]))
        slope = (self.errors(kij + MOVE_KIJ) - here) / MOVE_KIJ
        steepness = (beside - here) / MOVE_X

        used = np.isfinite(here) & np.isfinite(slope) & np.isfinite(steepness) & ~self.pure
        refuse(not used.any(), f"k_ij = {kij:.3g}: the model has no boundary at any point.", ArgumentError)
        weight = 1 / np.sqrt(1 + steepness[used] ** 2)
        return Linear(weight * here[used], weight * slope[used], used)


@dataclasses.dataclass(frozen=True)
class Linear:
    """Residuals and their slopes in k_ij, of the points that have them."""

    residual: np.ndarray
    slope: np.ndarray
    used: np.ndarray  # mask of these points

    @property
    def pull(self) -> np.ndarray:
        """Weight of a residual: 1, less beyond BEND."""
        return BEND / np.maximum(np.abs(self.residual), BEND)

    @property
    def step(self) -> float:
        """Change of k_ij by Gauss and Newton's method."""
        return float(-(self.pull * self.residual * self.slope).sum() / (self.pull * self.slope**2).sum())

    @property
    def error(self) -> float:
        """Standard error of k_ij, from the residuals that are left; NaN of a single point."""
        n = self.residual.size
        inner = np.abs(self.residual) < BEND
        curvature = (inner * self.slope**2).sum()
        if n < 2 or curvature == 0:
            return np.nan

        score = ((self.pull * self.residual * self.slope) ** 2).sum()
        return float(np.sqrt(n / (n - 1) * score) / curvature)


def _foreign(errors) -> str:
    """How far a model is from points that are not its own."""
    found = np.isfinite(errors)
    if not found.any():
        return "the model has no boundary at any of them"

    lacking = f"; of {np.sum(~found)} it has no boundary" if not found.all() else ""
    return f"the model's pressures are {np.exp(np.median(errors[found])):.3g} times those of the points{lacking}"


def _X(share) -> np.ndarray:
    """Mole fractions (2, ...) of both species."""
    return np.stack([share, 1 - share])
