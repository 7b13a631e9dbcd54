"""Laws among the results at one state, and their signs."""

from __future__ import annotations

import numpy as np

from ..report import Row
from ..scale import EPS, scales
from ..states import OF_CV, blocks, too_cold
from ..wide import TOLERANCE, reachable
from .judged import GIVEN, THERMAL, unjudged

BLOCK = 100_000

# Law: (quantities, residual). The effect of rounding on the residual follows from the scales of the quantities.
LAWS = {
    "e = h - p/rho": ("e h rho", lambda q: q["h"] - q["e"] - q["p"] / q["rho"]),
    "p W = rho Z R T": ("W rho Z", lambda q: q["p"] * q["W"] - q["rho"] * q["Z"] * q["R"] * q["T"]),
    "gamma cv = cp": ("gamma cv cp", lambda q: q["gamma"] * q["cv"] - q["cp"]),
    "h_T = cp": ("h_T cp", lambda q: q["h_T"] - q["cp"]),
    "cp - cv = T rho_T^2/(rho^2 rho_p)": (
        "cp cv rho rho_p rho_T",
        lambda q: q["cp"] - q["cv"] - q["T"] * q["rho_T"] ** 2 / (q["rho"] ** 2 * q["rho_p"]),
    ),
    "h_p = v - T v_T": ("h_p rho rho_T", lambda q: q["h_p"] - (1 + q["T"] * q["rho_T"] / q["rho"]) / q["rho"]),
    "e_p = h_p - v - p v_p": (
        "e_p h_p rho rho_p",
        lambda q: q["e_p"] - q["h_p"] + (1 - q["p"] * q["rho_p"] / q["rho"]) / q["rho"],
    ),
    "e_T = cp - p v_T": ("e_T cp rho rho_T", lambda q: q["e_T"] - q["cp"] - q["p"] * q["rho_T"] / q["rho"] ** 2),
    "s_p = -v_T": ("s_p rho rho_T", lambda q: q["s_p"] - q["rho_T"] / q["rho"] ** 2),
    "T s_T = cp": ("s_T cp", lambda q: q["T"] * q["s_T"] - q["cp"]),
    "c^2 = gamma/rho_p": ("c gamma rho_p", lambda q: q["c"] ** 2 - q["gamma"] / q["rho_p"]),
    "c^-2 = rho_p + rho_T (1 - rho h_p)/(rho h_T)": (
        "c rho rho_p rho_T h_p h_T",
        lambda q: q["c"] ** -2 - q["rho_p"] - q["rho_T"] * (1 - q["rho"] * q["h_p"]) / (q["rho"] * q["h_T"]),
    ),
    "h0 = h + u^2/2": ("h0 h", lambda q: q["h0"] - q["h"] - (q["u"] ** 2 + q["v"] ** 2 + q["w"] ** 2) / 2),
}
POSITIVE = "rho rho_p cv c gamma mu lam D".split()
# Both sides share intermediate results, whose errors cancel. There remain the roundings of the last formulas and of the
# law: three to eight on each side, of values that do not exceed the scale.
TOLERANCE_OF_LAWS = 8.0
# In these laws the prescribed p stands beside results of v. v solves the equation for p up to the rounding of v - b,
# which is v/20 in a cold liquid: the tolerance is that of a single result.
SOLVED = ("e_p = h_p - v - p v_p", "e_T = cp - p v_T")


def rows(job):
    mixture = job.mixture
    laws, signs = _laws(), _signs(mixture)
    sums = Row(
        "identities",
        "sum X = 1",
        8.0 + 2 * mixture.ns**0.5,
        "eps",
        "sum X: each X rounds three times, the sum ns times at random",
    )

    for states in blocks(mixture, job.states, job.seed, BLOCK):
        given = {k: states[k] for k in GIVEN}
        q = mixture.properties(THERMAL, backend=job.backend, **given)
        transport = [name for name in signs if name not in q]
        if transport:
            q |= mixture.properties(transport, backend=job.backend, **{k: states[k] for k in "TpY"})

        # Laws.
        scale, undecided = scales(mixture, THERMAL, given, job.backend)
        cold = too_cold(mixture, states, q["X"])

        for law, row in laws.items():
            needs = LAWS[law][0].split()
            value = {**given, "R": mixture.species.R, **{name: q[name] for name in needs}}
            left_out = undecided | cold if OF_CV & set(needs) else undecided
            row.add(*_residual(law, value, scale), states, left_out)

        # Sums and signs.
        sums.add(q["X"].sum(0) - 1, EPS, states)
        for name, row in signs.items():
            row.add(np.where(q[name] > 0, 0.0, np.inf), 1.0, states, cold if name in OF_CV else False)

    return [*laws.values(), sums, *signs.values()]


def _laws() -> dict[str, Row]:
    """A row for each law of one state."""
    why = (
        f"one state: tolerance {TOLERANCE_OF_LAWS:g} eps of what the scales of its quantities may do to the law: both "
        "sides share their intermediates, so only the last formulas and the law itself round apart"
    )
    solved = (
        "one state, p given beside what follows from v, which solves it: "
        f"tolerance {TOLERANCE:g} eps of scale, a result's own"
    )

    rows = {}
    for law in LAWS:
        tolerance, reason = (TOLERANCE, solved) if law in SOLVED else (TOLERANCE_OF_LAWS, why)
        rows[law] = Row("identities", law, tolerance, "eps of scale", reason)

    return rows


def _signs(mixture) -> dict[str, Row]:
    """A row for each quantity that is positive at every state."""
    why = (
        "positive: at every state; Chung's published form is known to fail, and Lucas' has no liquids: no failures; "
        "cv, gamma, c of equation mapped: not where nearly pure fluids are too cold for it"
    )

    rows = {}
    for name in POSITIVE:
        if name in reachable(mixture):
            tolerance = None if name in unjudged(mixture) else 0.0
            rows[name] = Row("identities", f"{name} > 0", tolerance, "0 or inf", why)

    return rows


def _residual(law: str, value: dict, scale: dict) -> tuple[np.ndarray, np.ndarray]:
    """(residual of a law, its rounding error): the changes of the residual when each quantity changes by eps of its
    scale."""
    needs, residual = LAWS[law]
    base = residual(value)
    error = np.zeros_like(base)
    for name in needs.split():
        perturbed = {**value, name: value[name] + 1e-6 * scale[name]}
        error = error + np.abs(residual(perturbed) - base) * 1e6

    return base, EPS * error + 1e-300
