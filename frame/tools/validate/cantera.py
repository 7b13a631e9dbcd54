"""Against Cantera's Peng-Robinson phase of the same file, with Cantera's departures from the published models switched
on; and against the rates of the phase's reactions, of an ideal gas and of Redlich-Kwong's too.

Cantera's choice among three roots depends on the state before (it has a memory), so it is given T and our density, and
has no choice; pressure then takes the place of density in the comparison. D is compared at the pressure that Cantera
reports.
"""

import numpy as np

from kernels.gas.equations.constants import alpha_slope

from . import cantera_rates
from .others import comparable, not_installed
from .report import Row
from .scale import EPS, scales
from .states import draw, part
from .wide import reachable

SUBSET = 20000  # Cantera takes 20 to 100 microseconds a state
MATRIX = 2000  # states for D_ij
OPTIONS = dict(
    alpha="cantera", mixing="vdw", chung="cantera", viscosity="chung", diffusion="cantera", takahashi="table"
)
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
TRANSPORT = ("mu", "lam", "D", "D_ij")
# The same formulas with the same data; Cantera's loops over species and pairs have no trees, and some of its last
# formulas cancel.
TOLERANCE = 128.0
# Its diffusion fit is another least-squares solution of the same points, in powers of ln T, and is evaluated down to 80
# K.
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
    # the layer fits diffusion down to cryogenic temperatures where the file says so, Cantera from its highest T_min on
    mixture = comparable(job.mixture, **OPTIONS)
    same = mixture.species.with_fit_range(gas.min_temp, gas.max_temp)
    return gas, type(mixture).from_species(same, **mixture.options)


def run(job) -> list[Row]:
    """Rows of properties and of rates, as far as the mixture has them."""
    rows = properties(job) if job.mixture.options["equation"] == "pr" else []
    return rows + (rates(job) if job.mixture.species.reactions is not None else [])


def rates(job) -> list[Row]:
    """Of the phase's own equation of state, whatever the mixture's is."""
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
    n, matrix = states["T"].size, min(MATRIX, states["T"].size)
    without = TRANSPORT if gas.transport_model == "none" else ()
    names = [name for name in GETTERS if name in reachable(mixture) and name not in without]
    plain = [name for name in names if name != "D_ij"]
    wanted = [*plain, "rho", "rho_p", "vc_mix", "W"]
    ours = mixture.properties(wanted, backend=job.backend, **given)
    theirs = {name: np.empty((mixture.ns, n) if name == "D" else n) for name in (*plain, "p")}
    theirs["D_ij"] = np.empty((mixture.ns**2, matrix))
    for k in range(n):
        gas.TDY = states["T"][k], ours["rho"][k], states["Y"][:, k]
        for name in (*plain, "p"):
            theirs[name][..., k] = getattr(gas, GETTERS[name])
        if k < matrix and "D_ij" in names:
            theirs["D_ij"][:, k] = gas.binary_diff_coeffs.ravel()
    at_theirs = {**given, "p": np.where(theirs["p"] > 0, theirs["p"], given["p"])}
    scale, undecided = scales(mixture, wanted, given, job.backend)
    species = mixture.species
    f = 1 + alpha_slope(species.omega, "cantera", "pr")[:, None] * (1 - np.sqrt(states["T"] / species.Tc[:, None]))
    undefined = undecided | ((np.abs(f) < 3e-3) & (states["Y"] > 0)).any(0)
    filled = ours["rho"] * ours["vc_mix"] / (6 * ours["W"])
    scale |= {name: scale[name] * (1 + 1 / filled) for name in ("mu", "lam") if name in scale}

    def judge(name, tolerance, why, *found):
        return Row("cantera", name, tolerance, "eps of scale", why).add(*found)

    # what the density's own conditioning does to the pressure: the equation of state amplifies it by 1/rho_p
    size = EPS * (given["p"] + scale["rho"] / ours["rho_p"])
    rows = [judge("p at our rho", TOLERANCE, WHY, theirs["p"] - given["p"], size, states, undecided)]
    for name in names:
        if name in ("D", "D_ij"):
            few = part(at_theirs, slice(0, matrix if name == "D_ij" else n))
            got = mixture.properties(name, backend=job.backend, **few)[name]
            size, _ = scales(mixture, [name], few, job.backend)
            error, size = got - theirs[name], EPS * size[name]
            if name == "D" and mixture.ns > 1:
                X = mixture.properties("X", backend=job.backend, **given)["X"]
                nothing_left = 1 - X < 1e-6
                size = size + EPS * np.abs(got) / np.maximum(1 - X, 1e-6)
                error = np.where(nothing_left, 0, error)
            rows.append(judge(name, FIT_TOLERANCE, FIT_WHY, error, size, few, undecided[: few["T"].size]))
        else:
            error = ours[name] - theirs[name]
            rows.append(judge(name, TOLERANCE, WHY, error, EPS * scale[name], states, undefined))
    return rows
