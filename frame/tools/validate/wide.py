"""The arithmetic error of all quantities that follow from T, p, Y: kernels in double against quadruple precision."""

import numpy as np

import kernels
from kernels.gas.equilibria.equilibria import QUANTITIES

from .report import Row
from .scale import EPS, scales
from .states import OF_CV, draw, too_cold

GIVEN = ("T", "p", "Y", "u", "v", "w")
PUBLIC = (
    "rho h e s cp cv gamma c Z W X rho_p rho_T h_p h_T e_p e_T s_p s_T h0 cp_ig h_ig s_ig "
    "mu lam D D_mole D_mass D_ij Tc_mix pc_mix vc_mix"
).split()
SUBSET = 20000  # states: quadruple precision is software, at least 100 times slower
NUMBERS = 500_000  # largest count of values of quantities that are matrices

# Rounding inputs and constants once counts as 1 eps scale. Some 30 roundings lie between input and result (cubic,
# logarithm, departure). Most of them act on values that influence the result as much as the inputs do. The exception is
# v: in a cold liquid v - b is v/20, so the rounding of v counts 20 times. The other roundings count as much again.
TOLERANCE = 48.0
# Kernels with another tolerance, and the reason that a row tells.
# Integrals of the map of equation `mapped`: 1/|delta_2| is 3 at most, so a rounding grows to 3^4 in the last integral,
# whose share of the departure is small, and to 3^5 in its slope in the composition, of which a fifth is left.
# A rate: 14 roundings of the potential of each of six species, 20 of its coefficient, 30 of a falloff, and those of
# sums over colliders and reactions.
MAP = "integrals of the map are a recursion, in which a rounding grows by up to 3 in each of 4 or 5 steps"
RATE = "a rate has five times as many roundings"
OTHERS = {
    "mapped_departure": (96.0, MAP),
    "mapped_partial_properties": (1200.0, MAP),
    "net_production": (240.0, RATE),
    "gross_production": (240.0, RATE),
}
NOTHING = 1e-200  # smaller rates count as 0: products that underflow
TABLE = 2e-7  # absolute error of the tabulated Takahashi factor, see kernels/gas/transport/diffusion.py


def reachable(mixture, given=GIVEN) -> list[str]:
    """All quantities that this mixture can compute from the quantities `given`, without equilibria: an iteration has no
    scale of rounding."""
    names = [name for name in kernels.quantities if name not in given and name not in QUANTITIES]
    return [name for name in names if mixture.has_data_for((name,), given)]


def is_public(name) -> bool:
    """Whether hosts may request a quantity. All others are intermediate results."""
    return name in PUBLIC or any(name in c.outputs for c in kernels.collections.values())


def tolerance(name: str, options: dict) -> tuple[float, str]:
    """(tolerance of a public quantity in eps of its scale, the reason): the largest tolerance of the kernels that lead
    to it. Without a reason: the usual tolerance."""
    chain = kernels.resolve((name,), GIVEN, options)
    return max([(TOLERANCE, ""), *(OTHERS[kernel.name] for kernel in chain if kernel.name in OTHERS)])


def table_scale(mixture, states, backend) -> dict:
    """{name: error by the tabulated Takahashi factor, in eps}: TABLE/factor for D_ij, the worst pair for averages."""
    averages = ("D", "D_mole", "D_mass")
    if mixture.options["takahashi"] != "smooth":
        return dict.fromkeys(("D_ij", *averages), 0.0)

    off = kernels.Mixture.from_species(mixture.species, **{**mixture.options, "takahashi": "off"})
    given = {key: states[key] for key in "TpY"}
    corrected = mixture.properties("D_ij", backend=backend, **given)["D_ij"]
    uncorrected = off.properties("D_ij", backend=backend, **given)["D_ij"]
    relative = TABLE * uncorrected / corrected
    worst = relative.reshape(mixture.ns, mixture.ns, -1).max(1)

    return {"D_ij": relative / EPS} | dict.fromkeys(averages, worst / EPS)


def run(job) -> list[Row]:
    """Rows in eps of the conditioned scale (scale.py). Intermediate results have no tolerance."""
    names = reachable(job.mixture)
    matrices = [name for name in names if "*" in kernels.quantities[name].per]
    rows = _compare(job, [name for name in names if name not in matrices], job.subset(SUBSET))
    if matrices:
        states = max(64, NUMBERS // (len(matrices) * job.mixture.ns**2))
        rows += _compare(job, matrices, min(job.subset(SUBSET), states))

    return rows


def _compare(job, names, n) -> list[Row]:
    """Rows of some quantities at n states."""
    # Both precisions, and the scales.
    mixture = job.mixture
    states = draw(mixture, n, job.seed + 17)
    given = {k: states[k] for k in GIVEN}
    double = mixture.properties(names, backend=job.backend, **given)
    exact = mixture.properties(names, backend=job.threads, precision="wide", **given)
    scale, undecided = scales(mixture, names, given, job.backend)

    # A matrix is multiplied with a vector, so the largest scale of a row counts.
    for name in names:
        if kernels.quantities[name].per == "nq*nq":
            nq = mixture.ns + 4
            largest = scale[name].reshape(nq, nq, n).max(1, keepdims=True)
            scale[name] = np.broadcast_to(largest, (nq, nq, n)).reshape(nq * nq, n)

    # The table of Takahashi's factor.
    if "D_ij" in reachable(mixture):
        for name, more in table_scale(mixture, states, job.backend).items():
            if name in names:
                scale[name] = scale[name] + np.abs(exact[name]) * more

    cold = too_cold(mixture, states, mixture.properties("X", Y=states["Y"], backend=job.backend)["X"])

    out = []
    for name in names:
        row = _row(name, mixture.options)
        nothing = (scale[name] == 0) & (np.abs(exact[name]) < NOTHING)
        error = double[name] - exact[name]
        error = np.where(np.abs(error) < NOTHING, 0, error)

        # Lucas' viscosity is not defined for liquids, and has no scale within MOVE of the phase boundary.
        refused = np.isnan(scale[name]) if name == "mu" and mixture.options["viscosity"] == "lucas" else False
        left_out = undecided | refused | (cold if name in OF_CV else False)
        out.append(row.add(error, np.where(nothing, 1, EPS * scale[name]), states, left_out))

    return out


def _row(name: str, options: dict) -> Row:
    """The row of a quantity. Intermediates have no tolerance."""
    if not is_public(name):
        why = "no tolerance: intermediates, whose own relative error does not matter to the results"
        return Row("wide", name, None, "eps of scale", why)

    allowed, reason = tolerance(name, options)
    why = (
        f"tolerance {allowed:g} eps of what rounding T, p, Y and the constants once would do: some 30 roundings of "
        "intermediates, of which that of v counts 20 times in a cold liquid (v/(v - b)); a tabulated Takahashi factor "
        "adds its stated error to D"
    )
    return Row("wide", name, allowed, "eps of scale", "; ".join([why, reason] if reason else [why]))
