"""Comparison with Cantera: the Peng-Robinson phase of the same file, and rates of reactions.

Cantera's departures from the published models are switched on. Rates are compared for ideal gases and Redlich-Kwong's
equation too. Cantera's choice among three roots depends on the former state. So Cantera gets T and our density and has
no choice; pressure then takes the place of density in the comparison. D is compared at the pressure that Cantera
reports.
"""

import numpy as np

from kernels.gas.accuracy import CANTERA
from kernels.gas.equations.constants import alpha_slope

from . import cantera_rates
from .others import comparable, not_installed
from .report import Row
from .scale import EPS, scales
from .states import draw, part
from .wide import reachable

SUBSET = 20000  # Cantera takes 20 to 100 microseconds a state
MATRIX = 2000  # states for D_ij
GETTERS = dict(
    p="P",
    h="enthalpy_mass",
    e="int_energy_mass",
    s="entropy_mass",
    cp="cp_mass",
    cv="cv_mass",
    c="sound_speed",
    mu="viscosity",
    lam="thermal_conductivity",
    D="mix_diff_coeffs",
    D_ij="binary_diff_coeffs",
)
DIFFUSION = ("D", "D_ij")
TRANSPORT = ("mu", "lam", *DIFFUSION)
SMALL_ALPHA = 3e-3  # of sqrt(alpha), by which Cantera divides
ALONE = 1e-6  # of 1 - X, below which D is not compared
# The same formulas with the same data. Cantera sums species and pairs in a row, and some of its last formulas cancel.
TOLERANCE = 128.0
# Cantera's fit of diffusion is another least-squares solution of the same points, in powers of ln T, and is evaluated
# down to 80 K.
FIT_TOLERANCE = 4096.0
WHY = (
    f"tolerance {TOLERANCE:g} eps of the conditioned scale: same formulas, summed species by species and pair by "
    "pair; mu and lam: the scale "
    "over the packing y, since Cantera cancels (1 - exp(-E4 y))/y; left out: phase changes, and where some "
    "sqrt(alpha) < 3e-3, by which Cantera divides"
)
FIT_WHY = (
    f"D: tolerance {FIT_TOLERANCE:g} eps: the polynomials in ln T come from two least-squares solutions; Cantera "
    "cancels M - x_k W_k "
    "(left out above 1 - x_k = 1e-6); left out: phase changes"
)


def missing(mixture) -> str | None:
    """Why Cantera cannot be compared with, or None."""
    equation = mixture.options["equation"]
    comparable_rates = equation in cantera_rates.EQUATIONS.values() and mixture.species.reactions is not None
    known = equation == "pr" or comparable_rates

    return not_installed("cantera", "cantera") or (None if known else f"its {equation} phases differ")


def phase(job):
    """(ct.Solution, our mixture with the same diffusion fit range)."""
    import cantera as ct

    gas = ct.Solution(str(job.file), job.phase or "")
    # Cantera fits diffusion from the highest T_min on, the layer over the range in the file.
    mixture = comparable(job.mixture, **CANTERA)
    same = mixture.species.with_fit_range(gas.min_temp, gas.max_temp)

    return gas, type(mixture).from_species(same, **mixture.options)


def run(job) -> list[Row]:
    """Rows of properties and of rates, as far as the mixture has them."""
    rows = properties(job) if job.mixture.options["equation"] == "pr" else []
    return rows + (rates(job) if job.mixture.species.reactions is not None else [])


def rates(job) -> list[Row]:
    """Rates by the phase's own equation of state, whatever the mixture's is."""
    import cantera as ct

    gas = ct.Solution(str(job.file), job.phase or "")
    mixture = cantera_rates.phase(job.mixture.species, gas)

    return cantera_rates.compare("", mixture, gas, job.states, job.seed, job.backend)


sweep = cantera_rates.sweep


def properties(job) -> list[Row]:
    """Rows of Peng-Robinson and Chung's transport against Cantera's at random states."""
    gas, mixture = phase(job)
    states = draw(mixture, job.subset(SUBSET), job.seed + 71)
    given = {k: states[k] for k in "TpY"}
    without = TRANSPORT if gas.transport_model == "none" else ()
    names = [name for name in GETTERS if name in reachable(mixture) and name not in without]
    plain = [name for name in names if name not in DIFFUSION]

    # Ours, Cantera's at our density, scales.
    wanted = [*(name for name in names if name != "D_ij"), "rho", "rho_p", "vc_mix", "W"]
    ours = mixture.properties(wanted, backend=job.backend, **given)
    theirs = _theirs(gas, mixture, states, ours["rho"], names)
    scale, undecided = scales(mixture, wanted, given, job.backend)
    filled = ours["rho"] * ours["vc_mix"] / (6 * ours["W"])
    for name in scale.keys() & {"mu", "lam"}:
        scale[name] = scale[name] * (1 + 1 / filled)
    undefined = undecided | _small_alpha(mixture, states)

    # The equation of state amplifies the error of the density by 1/rho_p.
    size = EPS * (given["p"] + scale["rho"] / ours["rho_p"])
    rows = [_row("p at our rho").add(theirs["p"] - given["p"], size, states, undecided)]
    for name in plain:
        rows.append(_row(name).add(ours[name] - theirs[name], EPS * scale[name], states, undefined))

    # Diffusion, at Cantera's pressure.
    at_theirs = {**given, "p": np.where(theirs["p"] > 0, theirs["p"], given["p"])}
    for name in names:
        if name in DIFFUSION:
            few = part(at_theirs, slice(0, theirs[name].shape[-1]))
            rows.append(_diffusion(mixture, name, theirs[name], few, given, undecided, job.backend))

    return rows


def _row(name: str, tolerance=TOLERANCE, why=WHY) -> Row:
    return Row("cantera", name, tolerance, "eps of scale", why)


def _theirs(gas, mixture, states, rho, names) -> dict[str, np.ndarray]:
    """Cantera's values and p at our density; D_ij of the first MATRIX states."""
    n = states["T"].size
    matrix = min(MATRIX, n)
    found = {name: np.empty((mixture.ns, n) if name == "D" else n) for name in ("p", *names) if name != "D_ij"}
    if "D_ij" in names:
        found["D_ij"] = np.empty((mixture.ns**2, matrix))

    for k in range(n):
        gas.TDY = states["T"][k], rho[k], states["Y"][:, k]
        for name, values in found.items():
            if name != "D_ij":
                values[..., k] = getattr(gas, GETTERS[name])
            elif k < matrix:
                values[:, k] = gas.binary_diff_coeffs.ravel()

    return found


def _small_alpha(mixture, states) -> np.ndarray:
    """States with a species whose sqrt(alpha) is too small for Cantera's division by it."""
    species = mixture.species
    slope = alpha_slope(species.omega, "cantera", "pr")[:, None]
    root = 1 + slope * (1 - np.sqrt(states["T"] / species.Tc[:, None]))

    return ((np.abs(root) < SMALL_ALPHA) & (states["Y"] > 0)).any(0)


def _diffusion(mixture, name: str, theirs, few: dict, given: dict, undecided, backend) -> Row:
    """The row of D or D_ij. few: states at Cantera's pressure; given: all states."""
    got = mixture.properties(name, backend=backend, **few)[name]
    size, _ = scales(mixture, [name], few, backend)
    error, size = got - theirs, EPS * size[name]

    # Cantera cancels 1 - X.
    if name == "D" and mixture.ns > 1:
        others = 1 - mixture.properties("X", backend=backend, **given)["X"]
        size = size + EPS * np.abs(got) / np.maximum(others, ALONE)
        error = np.where(others < ALONE, 0, error)

    return _row(name, FIT_TOLERANCE, FIT_WHY).add(error, size, few, undecided[: few["T"].size])
