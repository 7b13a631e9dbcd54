"""Viscosity and conductivity by residual-entropy scaling (option viscosity = residual).

The numbers of a fluid were fitted with the s+ of an equation of state. So the law is refused with an equation that is
not in EQUATIONS.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from ..declare import constants, exclusion, option, point_kernel, quantity
from ..equations.mapped_numbers import TAU_POLE, mapped_numbers
from ..equations.records import by_delta_1, rkpr_omega_a, rkpr_omega_b, rkpr_own_Z_c
from ..few_squares import Form
from ..records import Constants, species_with
from ..species import SpeciesData
from ..species.fluids import row_of
from . import chung  # noqa: F401  (declares the quantities mu, lam and eta0)


def mapped_critical_entropy(species) -> np.ndarray:
    """s+ (ns,) of equation `mapped` for each pure species at the equation's own critical point.

    s+ = -ln((w - b)/v) + I - a' L/R - p C'/R, with the integrals of mapped.h: there w = Z_c R Tc/pc, alpha = 1.
    """
    numbers = mapped_numbers(species)
    d1, Tc, pc, R = numbers.delta_1, numbers.Tc, numbers.pc, species.R
    w = rkpr_own_Z_c(d1) * R * Tc / pc
    b = rkpr_omega_b(d1) * R * Tc / pc
    x = b / w

    # The volume, and C' = -tau' with tau = 1.4 b Q/(T/Tc + 0.4).
    c = b * numbers.P
    v = w - (c[0] + x * (c[1] + x * (c[2] + x * c[3])) - b * numbers.Q)
    C_T = b * numbers.Q / ((1 + TAU_POLE) * Tc)

    # a' = 2 a_c f', f = sqrt(alpha).
    a_c = rkpr_omega_a(d1) * (R * Tc) ** 2 / pc
    a_T = 2 * a_c * (numbers.g - numbers.m / (1 + numbers.c)) / Tc

    # I_k = integral of y^k/(1 - y), J_k of y^k/(1 + total y + product y^2), from 0 to x.
    d2 = by_delta_1(d1)
    total, product = d1 + d2, d1 * d2
    I0 = -np.log(1 - x)
    I1 = I0 - x
    I2 = I1 - x**2 / 2
    I3 = I2 - x**3 / 3
    J0 = np.log((1 + d1 * x) / (1 + d2 * x)) / (d1 - d2)
    J1 = (np.log(1 + total * x + product * x**2) - total * J0) / (2 * product)
    J2 = (x - total * J1 - J0) / product
    J3 = (x**2 / 2 - total * J2 - J1) / product
    J4 = (x**3 / 3 - total * J3 - J2) / product

    map_I = (c[1] * I1 + 2 * c[2] * I2 + 3 * c[3] * I3) / b
    map_L = (J0 + (c[1] * J2 + 2 * c[2] * J3 + 3 * c[3] * J4) / b) / b
    return -np.log((w - b) / v) + map_I - (a_T * map_L + pc * C_T) / R


# Equations of state on which the law was fitted, each with the function that gives s+ (ns,) of each species at the
# critical point of the equation.
EQUATIONS: dict[str, Callable[[SpeciesData], np.ndarray]] = {"mapped": mapped_critical_entropy}

option(
    "viscosity",
    {
        "residual": r"$\mu = \eta_0 + u \sqrt{M k T/N_A}\,(e^P - 1)$ with $u = (N_A/(v s^+))^{2/3}$, "
        r"$P = s^+ (n_1 + n_2 s^+)/(1 + n_3 s^+)\,(1 + n_4/T)$, $s^+ = -s_\mathrm{res}(T, \rho)/R$ of the equation of "
        r"state, $\eta_0$ as in `chung` with each fluid's own $\sigma$, $\varepsilon$; conductivity $\lambda = "
        r"\eta_0/M\,(\frac{15}{4} R + f\,(c_v^0 - \frac32 R)) + k u \sqrt{k T N_A/M}\,s^+ (b_1 + b_2 s^+)/(1 + b_3 "
        r"s^+)$. Numbers of 25 fluids fitted to reference equations, others by a universal curve. Without the critical "
        r"enhancement of $\lambda$. Rosenfeld 1977, Bell 2019, Yang et al. 2021, originals not seen; functions of "
        r"$s^+$ and numbers are this project's."
    },
)
exclusion(
    lambda options: options["viscosity"] == "residual" and options["equation"] not in EQUATIONS,
    "option viscosity = 'residual' scales with the entropy of the equation of state that it was fitted on, 'mapped'; "
    "it cannot be combined with equation = '{equation}'.",
)

for name, unit, meaning in (
    ("n1_m", "1", "viscosity by residual entropy: slope of the exponent at low density, mean by mole fractions"),
    ("n2_m", "1", "the same: curvature of the exponent"),
    ("n3_m", "1", "the same: saturation of the exponent"),
    ("n4_m", "K", "the same: temperature below which the exponent grows as 1/T"),
    ("b1_m", "1", "conductivity by residual entropy: slope of the dense part, mean by mole fractions"),
    ("b2_m", "1", "the same: curvature of the dense part"),
    ("b3_m", "1", "the same: saturation of the dense part"),
    ("f0_m", "1", "conductivity of the dilute gas: share of internal heat at Tc_mean, mean by mole fractions"),
    ("f1_m", "1", "the same: slope of the share in ln(T/Tc_mean)"),
    ("Tc_mean", "K", "critical temperature, mean by mole fractions"),
    ("excess_unit", "Pa s", "unit of the dense part of the viscosity, (N_A/(v s+))^(2/3) sqrt(W k T/N_A)"),
):
    quantity(name, unit, meaning)

SCALING = (
    "residual-entropy scaling: Rosenfeld 1977, Bell 2019, Yang et al. 2021 (originals not seen); functions of s+ and "
    "their numbers fitted here to reference equations, species/fluids.csv"
)
WHEN = {"viscosity": "residual", "equation": tuple(EQUATIONS)}
CONDUCTS = "T W cp_ig residual_entropy inv_M_m eta0 excess_unit b1_m b2_m b3_m f0_m f1_m Tc_mean"
kernel = functools.partial(point_kernel, header="gas/transport/residual.h", packs=4, source=SCALING, when=WHEN)

kernel(
    "residual_mixture",
    reads="Y W",
    writes="inv_eps_m inv_M_m scale_m",
    constants="residual_sizes residual_pair? residual_squares?",
    valid="everywhere",
    packs=2,  # of four packs, the sums over pairs of ten species do not fit in the registers
)
kernel(
    "residual_coefficients",
    reads="Y W",
    writes="n1_m n2_m n3_m n4_m b1_m b2_m b3_m f0_m f1_m Tc_mean",
    constants="residual_rows residual_n4 residual_b3 residual_f1",
    valid="everywhere",
    packs=2,  # of four packs, the seven sums do not fit in the registers
)
kernel(
    "residual_dilute",
    reads="T inv_eps_m scale_m",
    writes="eta0",
    valid="0.3 <= T/eps_m <= 100 (fit of the collision integral)",
)
kernel(
    "residual_scale",
    reads="T rho W residual_entropy",
    writes="excess_unit",
    valid="v s+ from 5e-7 to 0.033 m3/mol; beyond as at these bounds",
)
kernel(
    "residual_viscosity",
    reads="T residual_entropy eta0 excess_unit n1_m n2_m n3_m n4_m",
    writes="mu",
    valid="s+ >= 0; below, as at 0",
    note="positive, without poles, and grows with s+ for every composition",
)
kernel(
    "residual_conductivity",
    reads=CONDUCTS,
    writes="lam",
    when=WHEN | {"enhancement": "none"},
    valid="s+ >= 0; below, as at 0",
    note="without the enhancement near the critical point: 15 to 21 % low in the median where T is within 6 % of Tc "
    "and rho within 60 % of the critical density",
)

# Rows of _universal, by the name of the coefficient where most species have 0.
ALL_HAVE = (0, 1, 2, 4, 5, 7, 9)
FEW_HAVE = {"n4": 3, "b3": 6, "f1": 8}

# Species without a row: their viscosity is a universal function of s+ over s+ at the critical point.
UNIVERSAL_N = (0.05, 0.30, 0.22)  # n1, n2, n3 of 0.95 s+/s+_c
UNIVERSAL_B = (0.8, 1.4, 0.0)
UNIVERSAL_F = (1.15, 0.0)


def residual(species, options) -> Constants:
    """Numbers of each fluid: rows (7, ns) that all species have, vectors (ns,), and the form of a pair matrix (ns, ns).

    They are divided by the molar masses, so that the kernels sum over mass fractions. Raises MixtureError if a species
    has neither a row in species/fluids.csv, or in a user's table, nor critical properties.
    """
    fluids = [row_of(species, s) for s in range(species.ns)]
    without = np.array([fluid is None for fluid in fluids])
    rows, sigma, eps, notes = _universal(species, options, without)

    for s, fluid in enumerate(fluids):
        if fluid is not None:
            viscous = (fluid.n1, fluid.n2, fluid.n3, fluid.n4 * fluid.Tc)
            conductive = (fluid.b1, fluid.b2, fluid.b3, fluid.f0, fluid.f1)
            rows[:, s] = (*viscous, *conductive, fluid.Tc)
            sigma[s], eps[s] = fluid.sigma, fluid.eps

    # Pairs: eps_ij sigma_ij^2 sqrt(M_ij)/(W_i W_j), with geometric means and M_ij = 2 M_i M_j/(M_i + M_j) in g/mol.
    W = species.W
    M = W * 1e3
    root_M_ij = np.sqrt(2 * M[:, None] * M / (M[:, None] + M))
    share = np.sqrt(eps) * sigma / W

    form = Form.of("residual", root_M_ij * share[:, None] * share)

    return Constants(
        {f"residual_{name}": rows[row] / W for name, row in FEW_HAVE.items()},
        form.pairs,
        rows={
            "residual_sizes": np.stack([sigma**1.5, np.sqrt(eps) * sigma**1.5]) / W,
            "residual_rows": rows[list(ALL_HAVE)] / W,
            **form.rows,
        },
        sizes=form.sizes,
        members="".join(species_with(f"With{name.upper()}", rows[row]) for name, row in FEW_HAVE.items()),
        notes=notes,
    )


def _universal(species, options, without):
    """Numbers of the species without a row in fluids.csv, the mask `without` (ns,); NaN for the others.

    Returns rows (10, ns) in the order of residual_coefficients, sigma [A] and eps/k [K] (ns,), and notes. sigma and eps
    are Chung's, with his factor F_c in sigma.
    """
    rows = np.full((10, species.ns), np.nan)
    sigma, eps = np.full((2, species.ns), np.nan)
    if not without.any():
        return rows, sigma, eps, []

    species.refuse(without & np.isnan([species.Tc, species.pc, species.omega]).any(0), "critical properties")

    # Viscosity of the dilute gas: Chung's.
    Vc, _ = species.critical_volumes()
    notes = [f"no row in fluids.csv for {species.named(without)}: transport by the universal curve of s+."]
    estimated = without & ~np.isfinite(species.Vc)
    if estimated.any():
        notes.append(f"no measured critical volume for {species.named(estimated)}: Vc = 0.3074 R Tc/pc is used.")

    dipole = np.nan_to_num(species.dipole)
    mu_r4 = (131.3 * dipole) ** 4 / (Vc * 1e6 * species.Tc) ** 2
    F_c = 1 - 0.2756 * species.omega + 0.059035 * mu_r4 + species.kappa_assoc
    sigma[without] = (0.809 * np.cbrt(Vc * 1e6) / np.sqrt(F_c))[without]
    eps[without] = (species.Tc / 1.2593)[without]

    # Dense part: z = 0.95 s+/s+_c takes the place of s+.
    scale = 0.95 / EQUATIONS[options["equation"]](species)
    n1, n2, n3 = UNIVERSAL_N
    rows[:4] = n1 * scale, n2 * scale**2, n3 * scale, 0 * scale
    rows[4:9] = np.array([*UNIVERSAL_B, *UNIVERSAL_F])[:, None]
    rows[9] = species.Tc

    return rows, sigma, eps, notes


constants(
    "residual_sizes residual_rows residual_n4 residual_b3 residual_f1 residual_pair residual_squares",
    residual,
    when=WHEN,
)
