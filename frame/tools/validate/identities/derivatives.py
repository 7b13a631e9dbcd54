"""Derivatives, against differences of the quadruple build."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..report import Row
from ..scale import EPS, scales
from ..states import KINDS, draw, part, too_cold
from .judged import GIVEN, THERMAL

SUBSET = 2000  # states, of which each is evaluated 36 times in quadruple precision

# Law: (f, variable, right-hand side, size). The size is a sum of terms, so it is not 0 where the right-hand side is 0.
LAWS = {
    "dh/dT = cp": ("h", "T", lambda q: q["cp"], lambda q: q["cp"]),
    "dh/dp = h_p": ("h", "p", lambda q: q["h_p"], lambda q: abs(q["h_p"]) + 1 / q["rho"]),
    "drho/dT = rho_T": ("rho", "T", lambda q: q["rho_T"], lambda q: abs(q["rho_T"])),
    "drho/dp = rho_p": ("rho", "p", lambda q: q["rho_p"], lambda q: q["rho_p"]),
    "ds/dT = s_T": ("s", "T", lambda q: q["s_T"], lambda q: q["s_T"]),
    "ds/dp = s_p": ("s", "p", lambda q: q["s_p"], lambda q: abs(q["s_p"])),
    "de/dT = e_T": ("e", "T", lambda q: q["e_T"], lambda q: q["cp"] + abs(q["p"] * q["rho_T"]) / q["rho"] ** 2),
    "de/dp = e_p": (
        "e",
        "p",
        lambda q: q["e_p"],
        lambda q: abs(q["h_p"]) + 1 / q["rho"] + q["p"] * q["rho_p"] / q["rho"] ** 2,
    ),
    "dg/dp = 1/rho": ("g", "p", lambda q: 1 / q["rho"], lambda q: 1 / q["rho"]),
    "dg/dT = -s": ("g", "T", lambda q: -q["s"], lambda q: abs(q["s"]) + q["cp"]),
}
# Largest d ln rho/d ln T or p. States beyond are within some 1e-4 of the critical point, ten times the smallest step.
SHARP = 100.0
STEPS = (1e-2, 1e-3, 1e-4, 1e-5)
KNOWN = 1e-7  # relative error of a difference above which the state is left out
TOLERANCE = 1e-7  # of derivatives; the median shows the usual error


def _stencil(mixture, states, by, backend):
    """{f: Slope} of h, s, e, rho, g in T or p: central differences of sixth order, the best of STEPS at each state."""
    names = ["h", "s", "e", "rho"]
    slopes: dict = {f: [] for f in (*names, "g")}

    for step in STEPS:
        # Values (and sizes of their terms) at six places.
        values = {}
        for k in (-3, -2, -1, 1, 2, 3):
            there = {**states, by: states[by] * (1 + k * step)}
            out = mixture.properties(names, backend=backend, precision="wide", **{n: there[n] for n in "TpY"})
            out["g"] = out["h"] - there["T"] * out["s"]
            size = {n: np.abs(out[n]) for n in names}
            size["g"] = np.abs(out["h"]) + there["T"] * np.abs(out["s"])
            values[k] = out, size

        # Differences of sixth order; fourth order shows the truncation.
        h = states[by] * step
        for f, found in slopes.items():
            d1, d2, d3 = ((values[k][0][f] - values[-k][0][f]) / (2 * k * h) for k in (1, 2, 3))
            sixth, fourth = 1.5 * d1 - 0.6 * d2 + 0.1 * d3, (4 * d1 - d2) / 3
            rounding = EPS * (sum(size[f] for _, size in values.values()) / (2 * h) + np.abs(sixth) / step)
            found.append((sixth, np.abs(sixth - fourth) + rounding))

    # The best step at each state. Two orders differ by the truncation of the lower order. They may agree by chance, but
    # not at the next step too.
    out = {}
    for f, found in slopes.items():
        slope, unsure = (np.array(v) for v in zip(*found))
        apart = np.abs(np.diff(slope, axis=0))
        unsure = unsure + np.minimum(np.concatenate([apart, apart[-1:]]), np.concatenate([apart[:1], apart]))
        best = unsure.argmin(0)[None]
        out[f] = Slope(*(np.take_along_axis(v, best, 0)[0] for v in (slope, unsure)))

    return out


def _junctions(species):
    """Temperatures at which polynomials of some species meet."""
    return np.unique(species.T_mid if species.nasa9 is None else species.T_break[:, 1:-1])


@dataclasses.dataclass(frozen=True)
class Slope:
    """A derivative by differences and how unsure it is; sums, products and quotients carry that on to first order."""

    value: np.ndarray
    unsure: np.ndarray

    def __sub__(self, other: Slope) -> Slope:
        return Slope(self.value - other.value, self.unsure + other.unsure)

    def __mul__(self, other: Slope) -> Slope:
        unsure = np.abs(other.value) * self.unsure + np.abs(self.value) * other.unsure
        return Slope(self.value * other.value, unsure)

    def __truediv__(self, other: Slope) -> Slope:
        ratio = self.value / other.value
        return Slope(ratio, (self.unsure + np.abs(ratio) * other.unsure) / np.abs(other.value))


def _smooth_states(job):
    """(states, quantities there, undecided): without kinks of formulas; undecided where steps reach across a place at
    which slopes change."""
    mixture = job.mixture
    states = draw(mixture, job.subset(SUBSET), job.seed + 31)

    # At a kink of a formula symmetric differences of every order agree on the mean of two slopes.
    states = part(states, states["kind"] != KINDS.index("kinks"))
    given = {name: states[name] for name in GIVEN}
    size, undecided = scales(mixture, THERMAL, given, job.backend)
    q = {**states, **mixture.properties(THERMAL, backend=job.backend, **given)}

    # So near the critical point all steps reach across it, and see the mean of both sides.
    undecided |= size["rho"] > SHARP * q["rho"]

    # Steps across a junction of polynomials see jumps of 1e-7 in cp, too small to show as a difference of two orders.
    from_junctions = np.abs(states["T"] / _junctions(mixture.species)[:, None] - 1)
    undecided |= (from_junctions < 3.1 * STEPS[0]).any(0)

    return states, q, undecided


def _at_constant_s_or_rho(slopes, q):
    """(law, slope of differences alone, the layer's value, size) of
    drho/dp at constant s = rho_p - rho_T s_p/s_T and de/dT at constant rho = e_T - e_p rho_T/rho_p."""
    in_T, in_p = slopes["T"], slopes["p"]

    cross = in_T["rho"] * in_p["s"] / in_T["s"]
    size = np.abs(in_p["rho"].value) + np.abs(cross.value)
    yield "c^-2 = drho/dp at constant s", in_p["rho"] - cross, q["c"] ** -2, size

    cross = in_p["e"] * in_T["rho"] / in_p["rho"]
    size = np.abs(in_T["e"].value) + np.abs(cross.value)
    yield "cv = de/dT at constant rho", in_T["e"] - cross, q["cv"], size


def rows(job):
    states, q, undecided = _smooth_states(job)
    slopes = {by: _stencil(job.mixture, states, by, job.threads) for by in "Tp"}

    laws = []
    for law, (quantity, by, right, size) in LAWS.items():
        laws.append((law, slopes[by][quantity], right(q), size(q), undecided))

    # Where cv may be negative the speed of sound is NaN.
    undecided_cv = undecided | too_cold(job.mixture, states, q["X"])
    with np.errstate(all="ignore"):
        for law in _at_constant_s_or_rho(slopes, q):
            laws.append((*law, undecided_cv))

    why = (
        f"derivatives: sixth-order differences of the quadruple build, the best of {len(STEPS)} steps at each state; "
        f"left out where two orders differ by more than {KNOWN:g} of the size (critical point, phase change, branches "
        "of formulas within a step), and within 3 % of where polynomials meet"
    )
    for law, left, right, size, left_out in laws:
        row = Row("identities", law, TOLERANCE + KNOWN, "relative", why)
        yield row.add(left.value - right, size, states, left_out | ~(left.unsure <= KNOWN * size))
