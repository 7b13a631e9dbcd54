"""The critical point of a mixture of given composition, by its two conditions: no flash, no scan."""

from __future__ import annotations

import itertools
import warnings

import numpy as np

from ...engine.errors import ArgumentError
from ..composition import shown
from .saturation import NAMES, as_one_phase, composition

# States next to a point, further off than the error of its T and p, 1e-10; and the relative difference of their
# densities there: a cube root, 0.01 to 0.02
BESIDE_T = 1 + 1e-6 * np.array([1, -1, 0, 0])
BESIDE_P = 1 + 1e-6 * np.array([0, 0, 1, -1])
ALIKE = 0.1


def _curvature(mixture, n, T, V):
    """delta_ij + sqrt(z_i z_j) d2F/dn_i dn_j of the amounts n [mol] in V [m3] at T; z: the mole fractions of n = 1."""
    F = mixture.kernel("equilibrium_curvature")(backend="cpu", **_state(mixture, n, T, V))["F_nn"]
    return F.reshape(mixture.ns, mixture.ns) / n.sum()


def _state(mixture, n, T, V) -> dict:
    """T, rho, Y of the amounts n; V: before any translation."""
    mass = n * mixture.species.W
    return dict(T=T, rho=mass.sum() / (V - _shift(mixture, n)), Y=mass / mass.sum())


def _shift(mixture, n) -> float:
    """Volume translation of the amounts n [m3]."""
    shift = mixture.constant("shift_mass")
    return 0.0 if shift is None or shift.array is None else float((n * mixture.species.W * shift.array).sum())


def _criterion(mixture, X, T, V):
    """The two conditions of a critical point (Heidemann & Khalil 1980, original not seen): the least eigenvalue of the
    scaled second derivatives, and the third derivative along its vector."""
    root = np.sqrt(X)

    def scaled(n):
        return np.eye(mixture.ns) + root[:, None] * root * _curvature(mixture, n, T, V)

    value, vectors = np.linalg.eigh(scaled(X))
    u = vectors[:, 0] * np.sign(vectors[:, 0].sum() or 1.0)

    # Along n = z + s sqrt(z) u: the ideal part is sum u^2/(1 + s u/sqrt(z)), the rest by differences
    there = root > 1e-8
    step = 1e-4 * (root[there] / np.maximum(np.abs(u[there]), 1e-300)).min()

    def along(s):
        n = X + s * root * u
        rest = root[:, None] * root * _curvature(mixture, n, T, V)
        ideal = (u[there] ** 2 / (1 + s * u[there] / root[there])).sum()
        return ideal + u @ rest @ u

    return np.array([value[0], (along(step) - along(-step)) / (2 * step)])


def critical_point(mixture, X, Y=None) -> dict:
    """See Mixture.critical_point."""
    X = composition(mixture, X, Y)
    if (X > 0).sum() == 1:
        pure = mixture.properties("Tc_mix pc_mix vc_mix", X=X, backend="cpu")
        return {"T": float(pure["Tc_mix"]), "p": float(pure["pc_mix"]), "v_mol": float(pure["vc_mix"])}

    # Starts from hot to cold: of several points the one of the highest T is meant
    b = float((X * mixture.constant("phase_b").array).sum())
    T = float((X * mixture.species.Tc).sum())
    unstable = None
    for start_T, start_k in itertools.product((1.5, 1.2, 1.0, 0.8), (4.0, 2.5, 3.2)):
        found = _newton(mixture, X, np.log([start_T * T, start_k - 1]), b)
        if found is None:
            continue

        point = _point(mixture, X, *found)
        if _is_stable(mixture, X, point):
            return point
        unstable = unstable or point

    fault = "no critical point found"
    if unstable:
        fault = "no stable critical point found, but one that is not stable at T = {T:.6g} K, p = {p:.6g} Pa"
        fault = fault.format(**unstable)
    raise ArgumentError(
        f"X = {shown(X, mixture.names)}: {fault}; species that hardly mix, such as water and carbon dioxide, have none "
        "at many compositions."
    )


def _point(mixture, X, T, V) -> dict:
    """T, p and v_mol at T and V, before any translation."""
    p = as_one_phase(mixture).properties("p", backend="cpu", **_state(mixture, X, T, V))["p"]
    return {"T": float(T), "p": float(p), "v_mol": float(V - _shift(mixture, X))}


def _is_stable(mixture, X, point) -> bool:
    """Whether a point lies on the boundary of two phases: next to it there is one phase of its density. Both conditions
    hold at unstable points, too, some of them at a negative pressure."""
    T, p = point["T"], point["p"]
    if not 0 < p < np.inf:
        return False

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a state that is not found is none
        beside = mixture.properties(NAMES, T=T * BESIDE_T, p=p * BESIDE_P, X=X[:, None], backend="cpu")
    ratio = beside["rho"] * point["v_mol"] / (X * mixture.species.W).sum()
    return bool(((beside["phases_status"] == 0) & (np.abs(ratio - 1) < ALIKE)).any())


def _newton(mixture, X, x, b):
    """T, V of the criterion from x = (ln T, ln(V/b - 1)), by Newton's method with differences; None if it is lost."""

    def residual(x):
        return _criterion(mixture, X, np.exp(x[0]), b * (1 + np.exp(x[1])))

    for _ in range(40):
        f = residual(x)
        slopes = np.empty((2, 2))
        for k in range(2):
            moved = x.copy()
            moved[k] += 1e-6
            slopes[:, k] = (residual(moved) - f) / 1e-6
        if not np.isfinite(slopes).all() or abs(np.linalg.det(slopes)) < 1e-30:
            return None
        step = -np.linalg.solve(slopes, f)
        step *= min(1.0, 0.2 / np.abs(step).max())
        x = x + step
        if not (0.5 * mixture.species.Tc[X > 0].min() < np.exp(x[0]) < 3 * mixture.species.Tc.max()):
            return None
        if np.abs(step).max() < 1e-10:
            return np.exp(x[0]), b * (1 + np.exp(x[1]))
    return None
