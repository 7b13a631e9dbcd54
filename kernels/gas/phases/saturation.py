"""Where a mixture of given composition begins to boil or to condense, and its critical point: searches on the flash.

All take arrays; a composition is X (ns,) of moles, or X (ns, ...) of a composition for each point. A boundary is
found between two states of the flash by bisection, so that it is as sharp as the test of stability: some 1e-9 of T and
1e-8 of p, less next to the critical point.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np

from ...engine.errors import ArgumentError, StateError, refuse
from ...engine.values import real_array
from .. import check
from ..composition import fractions
from ..labelled import labels_of, plain_composition

SCAN = 240  # states at which a line is looked at before the bisection
DENSE_SCAN = 40  # states more at higher pressures, where a light gas dissolves in a heavy liquid
BISECTIONS = 60
JUMP = 1e-3  # relative difference of density at which a pure species boils; less is a fluid above its critical point
BOILS = 1.0  # of ln rho between two states of a scan; a fluid 0.5 % above its critical point changes by 0.8
# Pa; where a scan of p begins: at 1e-9 Pa the liquid's root of a cubic, p (v - b)/(RT) of some 1e-16, is lost beside 1
LOWEST_P = 1e-7
THIN_P = 1e-4  # Pa; up to which there are further states:
THIN_SCAN = 60
MIDDLE_P = 8.0  # of the largest pc; where it ends, and that of dense states begins
HIGHEST_P = 2e8  # Pa
TEMPERATURES = 0.25, 1.4  # of the smallest and of the largest Tc: ends of a scan of T
NAMES = "phases_status beta rho"


def compositions(mixture, X) -> np.ndarray:
    """Mole fractions (ns, ...) of compositions as `properties` takes them: amounts of moles, a text, a dict; None for a
    pure species. Raises ArgumentError for another shape, or no composition."""
    refuse(
        mixture.options["phases"] != "equilibrium",
        "bubble and dew points need a mixture with phases = 'equilibrium'; "
        f"phases = '{mixture.options['phases']}' came.",
    )
    refuse(X is None and mixture.ns > 1, f"the composition X of {', '.join(mixture.names)} is missing.")
    X = real_array("X", [1.0] if X is None else fractions("X", X, mixture.names))
    good = X.shape[:1] == (mixture.ns,) and np.isfinite(X).all() and (X >= 0).all() and (X.sum(0) > 0).all()
    refuse(not good, f"X = {X!r}; wanted {mixture.ns} amounts of moles, one for each of {', '.join(mixture.names)}.")
    return X / X.sum(0)


def composition(mixture, X) -> np.ndarray:
    """Mole fractions (ns,) of one composition, also with labels; as `compositions`."""
    X = compositions(mixture, plain_composition(mixture, X))
    refuse(X.ndim > 1, f"X has shape {X.shape}; wanted one composition, {mixture.ns} amounts of moles.")
    return X


class Line:
    """States along T at constant p, or along p at constant T. Each point has its fixed p or T and its composition."""

    def __init__(self, mixture, X, along: str, fixed):
        self.mixture, self.along = mixture, along
        other = "p" if along == "T" else "T"
        given, X = real_array(other, fixed), compositions(mixture, X)
        refuse(not (np.isfinite(given).all() and (given > 0).all()), f"{other} = {fixed!r}; wanted positive numbers.")

        self.shape = _common_shape(other, given.shape, X.shape)
        self.fixed = np.broadcast_to(given, self.shape).reshape(-1)
        self.X = np.broadcast_to(_aligned(X, self.shape), (mixture.ns, *self.shape)).reshape(mixture.ns, -1)
        self.scan = self._scan()

    def _scan(self) -> np.ndarray:
        """The states (some, points) at which a line is looked at first."""
        species, there = self.mixture.species, self.X > 0
        Tc, pc = species.Tc[:, None], species.pc[:, None]
        if self.along == "p":
            middle = MIDDLE_P * np.where(there, pc, 0.0).max(0)
            dense = np.geomspace(middle, np.maximum(middle, HIGHEST_P), DENSE_SCAN + 1)
            thin = np.broadcast_to(np.geomspace(LOWEST_P, THIN_P, THIN_SCAN + 1)[:-1, None], (THIN_SCAN, middle.size))
            return np.concatenate([thin, np.geomspace(THIN_P, middle, SCAN), dense[1:]])

        coldest = TEMPERATURES[0] * np.where(there, Tc, np.inf).min(0)
        hottest = TEMPERATURES[1] * np.where(there, Tc, 0.0).max(0)
        return np.linspace(np.maximum(coldest, 20.0), np.minimum(hottest, 6000.0), SCAN)

    def at(self, place) -> dict:
        """NAMES at T, or p, of this shape; the points are its last axis."""
        fixed = np.broadcast_to(self.fixed, np.shape(place))
        state = dict(T=place, p=fixed) if self.along == "T" else dict(T=fixed, p=place)
        X = np.broadcast_to(_aligned(self.X, np.shape(place)), (len(self.X), *np.shape(place)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a scan passes places without a state
            return self.mixture.properties(NAMES, X=X, backend="cpu", **state)

    def end_of(self, beta: float, from_high: bool) -> np.ndarray:
        """The place where one phase with this beta (0 liquid, 1 vapour) ends, coming from one end of the scan. NaN
        where it does not end there, or changes smoothly into the other: above the critical pressure or temperature.
        Liquids that are two at lower temperatures or higher pressures are one next to the place that is meant, the
        last on the way to the gas."""
        order = self.scan[::-1] if from_high else self.scan
        points = np.arange(self.fixed.size)
        found = self.at(order)

        # Where two phases are seen on the scan they are the other side; else the liquid, or the gas, is, as where it
        # boils between two places, and two liquids are seen elsewhere
        seen = (found["phases_status"] == 1).any(0) & ~_boils_between(found).any(0)

        def is_mine(state):
            return (state["phases_status"] == 0) & (seen | (state["beta"] == beta))

        # A state of this kind, and another behind it
        same = is_mine(found)
        ends = same[:-1] & ~same[1:]
        if beta == 0.0:
            inside, number = ends.any(0), len(ends) - 1 - np.argmax(ends[::-1], axis=0)
        else:
            inside, number = same[0] & ends.any(0), np.argmax(ends, axis=0)
        mine, other = order[number, points], order[number + 1, points]

        for _ in range(BISECTIONS):
            middle = np.sqrt(mine * other)
            here = is_mine(self.at(middle))
            mine, other = np.where(here, middle, mine), np.where(here, other, middle)

        # Two phases, or a jump of the density
        before, behind = self.at(mine), self.at(other)
        ratio = np.abs(np.log(before["rho"] / behind["rho"]))
        real = inside & ((behind["phases_status"] == 1) | (ratio > JUMP))
        return np.where(real, np.sqrt(mine * other), np.nan).reshape(self.shape)


def _boils_between(found) -> np.ndarray:
    """Whether one phase is a liquid and its neighbour on the scan (some - 1, points) a gas, with another density."""
    one = found["phases_status"] == 0
    flips = np.abs(np.diff(found["beta"], axis=0)) == 1
    ratio = np.abs(np.diff(np.log(found["rho"]), axis=0))
    return one[:-1] & one[1:] & flips & (ratio > BOILS)


def _common_shape(name: str, of_state, of_X) -> tuple[int, ...]:
    """The shape of the points. Raises ArgumentError where the shapes do not fit."""
    try:
        return np.broadcast_shapes(of_state, of_X[1:])
    except ValueError:
        text = f"X has shape {of_X} and {name} {of_state}: those behind the species do not fit each other."
        raise ArgumentError(text) from None


def _aligned(X, shape):
    """X (ns, ...) with as many axes behind the species as `shape` has."""
    return X.reshape(len(X), *[1] * (len(shape) + 1 - X.ndim), *X.shape[1:])


def bubble_T(mixture, p, X):
    """See Mixture.bubble_T."""
    return Line(mixture, X, "T", p).end_of(0.0, from_high=False)


def dew_T(mixture, p, X):
    """See Mixture.dew_T."""
    return Line(mixture, X, "T", p).end_of(1.0, from_high=True)


def bubble_p(mixture, T, X):
    """See Mixture.bubble_p."""
    return Line(mixture, X, "p", T).end_of(0.0, from_high=True)


def dew_p(mixture, T, X):
    """See Mixture.dew_p."""
    return Line(mixture, X, "p", T).end_of(1.0, from_high=False)


BOUNDARIES = {"bubble_T": bubble_T, "dew_T": dew_T, "bubble_p": bubble_p, "dew_p": dew_p}
ENDS = {
    "T": "at a pressure above the highest of two phases, or of a gas that condenses at no temperature of the scan",
    "p": f"at a temperature above the highest of two phases, or with a boundary below {LOWEST_P:g} Pa",
}


def reported(name: str, mixture, given, X):
    """BOUNDARIES[name] for a user, with the labels and the mask of his arrays: a RuntimeWarning with the number of
    points without a boundary, the first and its inputs; in check mode a StateError."""
    of = "p" if name.endswith("T") else "T"
    arrays = {of: given, "X": X}
    labels = labels_of(mixture, arrays)
    if labels:
        arrays = labels.plain(arrays)

    # Points that are masked are others' work
    given, X, hidden = _without_mask(of, arrays[of], fractions("X", arrays["X"], mixture.names))
    found = BOUNDARIES[name](mixture, given, X)
    if hidden is not None:
        found = np.ma.array(found, mask=np.broadcast_to(hidden, found.shape))

    values = np.broadcast_to(real_array(of, given), found.shape).reshape(1, -1)
    there, points = np.isnan(np.ma.filled(found, 0.0)).reshape(1, -1), check.Points(found.shape)
    notes = check.without_boundary(name, ENDS[name[-1]], there, points, {of: values})

    if notes and check.is_on():
        raise StateError(f"check: {notes[0]}")
    for note in notes:
        warnings.warn(note, RuntimeWarning, stacklevel=3)
    return labels.one(name[-1], found) if labels else found


def _without_mask(of: str, given, X):
    """(T or p, X, mask of the points) of masked arrays, with another point's numbers where a point is masked; mask:
    None where no masked array came."""
    masked = [array for array in (given, X) if isinstance(array, np.ma.MaskedArray)]
    if not masked:
        return given, X, None

    given = np.ma.asarray(given)
    hidden = np.ma.getmaskarray(given)
    if isinstance(X, np.ma.MaskedArray):
        shape = _common_shape(of, given.shape, X.shape)
        hidden = np.broadcast_to(hidden, shape) | np.ma.getmaskarray(X).any(axis=0)
        X = np.ma.filled(X, 1.0)
    refuse(hidden.all(), f"'{of}', 'X': all points are masked.")

    values = np.broadcast_to(given.data, hidden.shape)
    return np.where(hidden, values[~hidden][0], values), X, hidden


def envelope(mixture, X, points: int = 100) -> dict:
    """See Mixture.envelope."""
    refuse(
        not isinstance(points, (int, np.integer)) or points < 2,
        f"points = {points!r}; wanted a whole number, 2 or more.",
    )
    X = composition(mixture, X)
    Tc = mixture.species.Tc[X > 0]
    T = np.linspace(max(0.45 * Tc.min(), 20.0), 1.1 * Tc.max(), 4 * points)
    low = dew_p(mixture, T, X)
    T = T[np.isfinite(low)]
    refuse(T.size == 0, f"X = {X!r}: no two phases found.")

    # As many points as asked for, between the ends of the dew line
    T = np.linspace(T[0], T[-1], points)
    return {"T": T, "p_low": dew_p(mixture, T, X), "p_high": bubble_p(mixture, T, X)}


# ---- critical point


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


def critical_point(mixture, X) -> dict:
    """See Mixture.critical_point."""
    X = composition(mixture, X)
    if (X > 0).sum() == 1:
        pure = mixture.properties("Tc_mix pc_mix vc_mix", X=X, backend="cpu")
        return {"T": float(pure["Tc_mix"]), "p": float(pure["pc_mix"]), "v_mol": float(pure["vc_mix"])}

    # Starts from hot to cold: of several points the one of the highest T is meant
    b = float((X * mixture.constant("phase_b").array).sum())
    T = float((X * mixture.species.Tc).sum())
    for start_T, start_k in itertools.product((1.5, 1.2, 1.0, 0.8), (4.0, 2.5, 3.2)):
        found = _newton(mixture, X, np.log([start_T * T, start_k - 1]), b)
        if found is not None:
            break
    else:
        raise ArgumentError(f"X = {X!r}: no critical point found.")

    T, V = found
    single = type(mixture)(mixture.species, **{**mixture.options, "phases": "single"})
    p = single.properties("p", backend="cpu", **_state(mixture, X, T, V))["p"]
    return {"T": float(T), "p": float(p), "v_mol": float(V - _shift(mixture, X))}


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
