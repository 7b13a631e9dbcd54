"""Steps that the comparisons with other codes share."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import kernels
from kernels.gas.equations.constants import alpha_slope
from kernels.gas.equations.records import CUBICS
from kernels.gas.species import GAS_CONSTANT as R

from .report import Row
from .scale import EPS, scales
from .states import draw


def not_installed(module: str, project: str) -> str | None:
    """The reason why a package cannot be used; None if it is installed."""
    return None if importlib.util.find_spec(module) else f"the Python package {project} is not installed"


def missing(mixture, equations, module, why=None) -> str | None:
    """Why a code cannot be compared with, or None. equations: of the code; module: its Python package; why: another
    reason."""
    equation = mixture.options["equation"]
    if equation not in equations:
        return f"it has no equation {equation}"
    return why or not_installed(module, module)


def comparable(mixture, **options):
    """The mixture as the other code models it. No other code translates volumes, or bends Soave's alpha."""
    record = CUBICS.get(mixture.options["equation"])
    alpha = "published" if record and record.soave else "smooth"
    plain = {**mixture.options, "translation": "none", "alpha": alpha}
    return kernels.Mixture.from_species(mixture.species, **{**plain, **options})


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


@dataclass(frozen=True)
class Code:
    """A code that has a cubic equation of state."""

    name: str
    # (T, v, X, p) -> the names of UNITS: molar values of a state; X is a list. With T and v given it chooses no root.
    evaluate: Callable[[float, float, list, float], dict]
    states: int
    tolerance: float
    why: str  # the tolerance


def compare_departures(job, mixture, code: Code) -> list[Row]:
    """Rows of pressure, departures and slopes of another code at our T, v and composition."""
    states = draw(mixture, code.states, job.seed + 91)
    given = {k: states[k] for k in "TpY"}
    q = mixture.properties([*NAMES, "X"], backend=job.backend, **given)
    scale, undecided = scales(mixture, NAMES, given, job.backend)
    ours = _departures(q, scale, given["p"])

    v = q["W"] / q["rho"]
    theirs = {name: np.empty(code.states) for name in UNITS}

    for k in range(code.states):
        values = code.evaluate(float(states["T"][k]), float(v[k]), q["X"][:, k].tolist(), float(states["p"][k]))
        for name, found in theirs.items():
            found[k] = values[name]

    left_out = undecided | _small_alpha(mixture, states["T"])
    rows = []
    for name, unit in UNITS.items():
        values, size = ours[name]
        row = Row(code.name, unit, code.tolerance, "eps of scale", code.why)
        rows.append(row.add(theirs[name] - values, EPS * size, states, left_out))

    return rows


def _departures(q: dict, scale: dict, p) -> dict[str, tuple]:
    """{name of UNITS: (our values, their scales)}.

    The other code starts from v. Its pressure carries the rounding of v, and H = U + p v and S - S_ig(T, p) carry the
    rounding of the pressure.
    """
    W, v = q["W"], q["W"] / q["rho"]
    slope_p, slope_T = scale["rho_p"] / q["rho_p"], scale["rho_T"] / np.abs(q["rho_T"])
    p_T, p_v = -q["rho_T"] / q["rho_p"], -W / (v * v * q["rho_p"])
    scale_p = p + scale["rho"] / q["rho_p"]

    return {
        "p": (p, scale_p),
        "H": ((q["h"] - q["h_ig"]) * W, (scale["h"] + scale["h_ig"]) * W + v * scale_p),
        "S": ((q["s"] - q["s_ig"]) * W, (scale["s"] + scale["s_ig"]) * W + R * scale_p / p),
        "Cp": ((q["cp"] - q["cp_ig"]) * W, (scale["cp"] + scale["cp_ig"]) * W),
        "Cv": ((q["cv"] - q["cp_ig"]) * W + R, (scale["cv"] + scale["cp_ig"]) * W),
        "p_T": (p_T, np.abs(p_T) * (slope_T + slope_p)),
        "p_v": (p_v, np.abs(p_v) * slope_p),
    }


def _small_alpha(mixture, T) -> np.ndarray:
    """States at which sqrt(alpha) of some species is small, also of an absent one: 0/0 remains."""
    species = mixture.species
    slope = alpha_slope(species.omega, mixture.options["alpha"], mixture.options["equation"])[:, None]
    root = 1 + slope * (1 - np.sqrt(T / species.Tc[:, None]))

    return (np.abs(root) < SMALL_ALPHA).any(0)
