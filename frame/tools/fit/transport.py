"""Fit of viscosity and conductivity to states of a fluid, on the residual entropy of the fitted equation.

Three steps, each a small least-squares problem: the dilute gas (sigma, eps from the viscosity, f0 and f1 from the
conductivity), the dense viscosity (n1..n4), the dense conductivity (b1..b3). All coefficients are 0 or more: viscosity
and conductivity are then positive, without poles, and grow with the residual entropy.
"""

from __future__ import annotations

import numpy as np

from ..reference_fluids import DILUTE, Critical, States, regions
from .equation import PERCENT, WEIGHTS
from .model import (
    SMALLEST_ENTROPY,
    Cubic,
    Equation,
    R,
    Transport,
    conductivity_ratio,
    dense_scale,
    dilute_conductivity,
    dilute_viscosity,
    viscosity_exponent,
)

UNIVERSAL = Transport(0.0, 0.0, (0.06, 0.25, 0.15, 0.0), (0.8, 1.4, 0.0), (1.1, 0.1))  # where there are no data
LEAST_STATES = 5  # of a fit
NEAR_WEIGHT = 0.1  # of the conductivity near the critical point, where it has a peak that no such law has
ERROR_SCALE = 2.5  # percent beyond which an error pulls no harder
DILUTE_SCALE = 0.01
WARMEST_DILUTE = 0.5  # of Tc, from which f0, f1 are fitted: below, no fluid is a gas


def fit(critical: Critical, equation: Equation, states: States) -> tuple[Transport, list[str]]:
    """Transport parameters, and notes on what the states did not fix."""
    notes: list[str] = []
    dense = _Dense(critical, equation, states)

    sigma, eps = _dilute_viscosity(critical, states, notes)
    eta = dilute_viscosity(states.T, critical.W, sigma, eps)
    n = _viscosity(dense, eta, notes)
    f = _dilute_conductivity(critical, states, eta, notes)
    b = _conductivity(dense, eta, f, notes)

    return Transport(sigma, eps, n, b, f), notes


class _Dense:
    """States with the residual entropy and the scales of the fitted equation."""

    def __init__(self, critical: Critical, equation: Equation, states: States):
        self.critical, self.states = critical, states
        cubic = Cubic(critical, equation)
        with np.errstate(all="ignore"):
            at = cubic.at_w(states.T, cubic.w_of_p(states.T, states.p, states.kind))
            self.s = np.maximum(at["s_plus"], SMALLEST_ENTROPY)
            self.viscous, self.thermal = dense_scale(states.T, at["v"], self.s, critical.W)

    def used(self, values) -> np.ndarray:
        """Mask of the states with a value and a residual entropy, without dilute ones."""
        return np.isfinite(values) & np.isfinite(self.s) & (self.states.kind != DILUTE)

    def weights(self, used, near: float) -> np.ndarray:
        """Weights (n,): each region counts alike, whatever its number of states."""
        out = np.zeros(used.size)
        for name, mask in regions(self.states, self.critical).items():
            mask = mask & used
            if mask.any():
                out[mask] = np.sqrt(WEIGHTS[name] / mask.sum()) * (near if name == "near" else 1.0)

        return out


def _dilute_viscosity(critical: Critical, states: States, notes) -> tuple[float, float]:
    """(sigma [angstrom], eps [K]) from the viscosity of the dilute gas; Chung's relations without such data."""
    from scipy.optimize import least_squares

    Vc = critical.W / critical.rho_c * 1e6  # cm3/mol
    factor = 1 - 0.2756 * critical.omega
    start = np.log([0.809 * np.cbrt(Vc) / np.sqrt(max(factor, 0.5)), critical.Tc / 1.2593])

    thin = (states.kind == DILUTE) & np.isfinite(states.mu)
    if thin.sum() < LEAST_STATES:
        notes.append("no viscosities of the dilute gas: sigma, eps by Chung's relations")
        return float(np.exp(start[0])), float(np.exp(start[1]))

    T, mu = states.T[thin], states.mu[thin]

    def error(x):
        return np.log(dilute_viscosity(T, critical.W, *np.exp(x)) / mu)

    found = least_squares(error, start, loss="soft_l1", f_scale=DILUTE_SCALE)
    return float(np.exp(found.x[0])), float(np.exp(found.x[1]))


def _dilute_conductivity(critical: Critical, states: States, eta, notes) -> tuple[float, float]:
    """(f0, f1) from the conductivity of the dilute gas; an atom has no internal heat."""
    from scipy.optimize import least_squares

    if np.nanmax(states.cp0) * critical.W < 2.6 * R:
        return 1.0, 0.0

    thin = (states.kind == DILUTE) & np.isfinite(states.lam) & (states.T > WARMEST_DILUTE * critical.Tc)
    if thin.sum() < LEAST_STATES:
        notes.append("no conductivities of the dilute gas: f0, f1 are universal")
        return UNIVERSAL.f[0], UNIVERSAL.f[1]

    T, lam, cp0, eta = states.T[thin], states.lam[thin], states.cp0[thin], eta[thin]

    # The numbers are f0 - f1, the factor in the cold, and f1: with both 0 or more, the factor is at every T.
    def error(x):
        return dilute_conductivity(T, critical, eta, cp0, (x[0] + x[1], x[1])) / lam - 1

    found = least_squares(
        error, [0.9, 0.1], bounds=([0, 0], [5, 5]), loss="soft_l1", f_scale=DILUTE_SCALE, x_scale=[1.0, 0.1]
    )
    return float(found.x[0] + found.x[1]), float(found.x[1])


def _viscosity(dense: _Dense, eta, notes) -> tuple[float, ...]:
    """n1..n4. n4 is the dependence on T; it is 0 unless it improves the fit."""
    mu = dense.states.mu
    used = dense.used(mu)
    if used.sum() < LEAST_STATES:
        notes.append("no viscosities: n1..n4 are universal")
        return UNIVERSAL.n

    pick = np.flatnonzero(used)
    s, T = dense.s[pick], dense.states.T[pick]
    scale, eta, mu = dense.viscous[pick], eta[pick], mu[pick]
    weight = dense.weights(used, 1.0)[pick]

    def residuals(n):
        exponent = np.clip(viscosity_exponent(T, dense.critical.Tc, s, n), -30, 30)
        return weight * ((eta + scale * np.expm1(exponent)) / mu - 1) / PERCENT

    without = _best(residuals, [[0.1, 0.3, 0.2, 0.0], [0.05, 0.5, 1.0, 0.0]], [3, 3, 3, 1e-9], weight)
    with_T = _best(residuals, [[0.05, 0.2, 0.1, 0.2], without[0] + [0, 0, 0, 0.1]], [3, 3, 3, 3], weight)
    n = with_T[0] if with_T[1] < 0.97 * without[1] else without[0]
    return _cleaned(n)


def _conductivity(dense: _Dense, eta, f, notes) -> tuple[float, ...]:
    """b1..b3."""
    lam = dense.states.lam
    used = dense.used(lam)
    if used.sum() < LEAST_STATES:
        notes.append("no conductivities: b1..b3 are universal")
        return UNIVERSAL.b

    pick = np.flatnonzero(used)
    s, scale, lam = dense.s[pick], dense.thermal[pick], lam[pick]
    dilute = dilute_conductivity(dense.states.T[pick], dense.critical, eta[pick], dense.states.cp0[pick], f)
    weight = dense.weights(used, NEAR_WEIGHT)[pick]

    def residuals(b):
        return weight * ((dilute + scale * conductivity_ratio(s, b)) / lam - 1) / PERCENT

    return _cleaned(_best(residuals, [[1.0, 1.0, 0.01], [1.0, 3.0, 1.0]], [60, 60, 3], weight)[0])


def _best(residuals, starts, high, weight) -> tuple[np.ndarray, float]:
    """(numbers, cost) of the best fit from several starts; numbers from 0 to `high`."""
    from scipy.optimize import least_squares

    weight = weight[weight > 0]
    limit = ERROR_SCALE * float(np.sqrt(np.mean(weight**2)))
    low, high = np.zeros(len(high)), np.array(high, float)

    def finite(x):
        return np.clip(np.nan_to_num(residuals(x), nan=1e4), -1e4, 1e4)

    best = None
    for start in starts:
        inside = np.clip(start, low + 1e-3 * high, high * (1 - 1e-3))
        found = least_squares(finite, inside, bounds=(low, high), loss="soft_l1", f_scale=limit, x_scale="jac")
        if best is None or found.cost < best[1]:
            best = found.x, float(found.cost)

    assert best is not None
    return best


def _cleaned(numbers) -> tuple[float, ...]:
    """Numbers that lie on the bound 0, as 0."""
    return tuple(0.0 if abs(x) < 1e-8 else float(x) for x in numbers)
