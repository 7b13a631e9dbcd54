"""What the comparisons with other codes share."""

import importlib.util

import numpy as np

import kernels
from kernels.gas.equations.constants import alpha_slope
from kernels.gas.species import GAS_CONSTANT as R

from .report import Row
from .scale import EPS, scales
from .states import draw


def not_installed(module: str, project: str) -> str | None:
    """Why a package cannot be used, None when it is there."""
    return None if importlib.util.find_spec(module) else f"the Python package {project} is not installed"


def missing(mixture, equations, module, why=None) -> str | None:
    """Why a code that has these equations, in the Python package `module`, cannot be compared with; why: a reason of
    its own."""
    equation = mixture.options["equation"]
    return f"it has no equation {equation}" if equation not in equations else why or not_installed(module, module)


def comparable(mixture, **options):
    """The mixture as the other code models it, none of which translates volumes."""
    return kernels.Mixture.from_species(mixture.species, **{**mixture.options, "translation": "none", **options})


NAMES = "rho W h h_ig s s_ig cp cp_ig cv rho_p rho_T".split()
UNITS = {
    "p": "pressure at our rho",
    "H": "enthalpy departure",
    "S": "entropy departure",
    "Cv": "cv departure",
    "Cp": "cp departure",
    "p_T": "dp/dT at constant v",
    "p_v": "dp/dv at constant T",
}
SMALL_ALPHA = 2e-2  # some codes divide by alpha, which touches zero: states with a smaller sqrt(alpha) are left out


def compare_departures(job, mixture, evaluate, against, n, tolerance, why, only=tuple(UNITS)):
    """Rows for a code that has a cubic equation of state: its pressure, departures and slopes at our T, v and
    composition.

    evaluate(T, v, X, p): the names of UNITS -> molar values, for one state (X a list). Given T and v no code chooses a
    root.
    """
    states = draw(mixture, n, job.seed + 91)
    given = {k: states[k] for k in "TpY"}
    q = mixture.properties([*NAMES, "X"], backend=job.backend, **given)
    scale, undecided = scales(mixture, NAMES, given, job.backend)
    W, v = q["W"], q["W"] / q["rho"]
    slope_p, slope_T = scale["rho_p"] / q["rho_p"], scale["rho_T"] / np.abs(q["rho_T"])
    p_T, p_v = -q["rho_T"] / q["rho_p"], -W / (v * v * q["rho_p"])
    # the other code starts from v: its pressure carries the rounding of v, and its H = U + p v and S - S_ig(T, p) that
    # of the pressure
    scale_p = states["p"] + scale["rho"] / q["rho_p"]
    ours = {
        "p": (states["p"], scale_p),
        "H": ((q["h"] - q["h_ig"]) * W, (scale["h"] + scale["h_ig"]) * W + v * scale_p),
        "S": ((q["s"] - q["s_ig"]) * W, (scale["s"] + scale["s_ig"]) * W + R * scale_p / states["p"]),
        "Cp": ((q["cp"] - q["cp_ig"]) * W, (scale["cp"] + scale["cp_ig"]) * W),
        "Cv": ((q["cv"] - q["cp_ig"]) * W + R, (scale["cv"] + scale["cp_ig"]) * W),
        "p_T": (p_T, np.abs(p_T) * (slope_T + slope_p)),
        "p_v": (p_v, np.abs(p_v) * slope_p),
    }
    species = mixture.species
    f = 1 + alpha_slope(species.omega, mixture.options["alpha"], mixture.options["equation"])[:, None] * (
        1 - np.sqrt(states["T"] / species.Tc[:, None])
    )
    left_out = undecided | (np.abs(f) < SMALL_ALPHA).any(0)  # of species that are absent too: 0/0 remains
    theirs = {name: np.empty(n) for name in only}
    for k in range(n):
        told = evaluate(float(states["T"][k]), float(v[k]), q["X"][:, k].tolist(), float(states["p"][k]))
        for name in only:
            theirs[name][k] = told[name]
    return [
        Row(against, UNITS[name], tolerance, "eps of scale", why).add(
            theirs[name] - ours[name][0], EPS * ours[name][1], states, left_out
        )
        for name in only
    ]
