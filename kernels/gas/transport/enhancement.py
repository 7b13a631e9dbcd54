"""Critical enhancement of the conductivity by residual-entropy scaling (option enhancement = critical)."""

from __future__ import annotations

import functools

import numpy as np

from ..declare import constants, exclusion, option, point_kernel, quantity
from ..records import Constants
from ..species.fluids import row_of
from . import residual as scaling

AVOGADRO = 6.02214076e23  # 1/mol

option(
    "enhancement",
    {
        "none": r"$\lambda$ without its peak near the critical point: up to a quarter low where T is within 6 % of Tc.",
        "critical": r"$\lambda = \lambda_b + \rho c_p R_D k T/(6 \pi \mu \xi)\,(\Omega - \Omega_0)$, the simplified "
        r"crossover model of Olchowy & Sengers 1989 with the lengths of Perkins et al. 2013 (originals not seen); "
        r"$\xi = \xi_0 (\Delta\chi/\Gamma_0)^{1/2}$, $\Delta\chi$ of the equation of state, less that at 3/2 Tc. A "
        "mixture counts as one fluid with means by mole fractions. Costs the thermal properties where they are not "
        "asked for.",
    },
    "whether conductivity has its peak near the critical point, of viscosity = residual",
)
exclusion(
    lambda options: options["enhancement"] == "critical" and options["viscosity"] != "residual",
    "option enhancement = 'critical' adds to the conductivity of viscosity = 'residual'; it cannot be combined with "
    "viscosity = '{viscosity}'.",
)

for name, unit, meaning in (
    ("lam_background", "W/m/K", "thermal conductivity without its critical enhancement"),
    ("susceptibility", "1", "p_c rho/rho_c^2 drho/dp at T less T_R/T times that at T_R = 3/2 Tc; positive"),
    ("l_mean", "m", "length of a critical volume, (V_c/N_A)^(1/3), mean by mole fractions"),
    ("pv_mean", "J/mol", "critical pressure times critical volume, mean by mole fractions"),
):
    quantity(name, unit, meaning)

SOURCE = (
    "Olchowy & Sengers 1989, Perkins, Sengers, Abdulagatov & Huber 2013 (originals not seen), with the exponent 1/2"
)
WHEN = scaling.WHEN | {"enhancement": "critical"}
kernel = functools.partial(point_kernel, header="gas/transport/enhancement.h", source=SOURCE, when=WHEN)

kernel(
    "residual_background",
    reads=scaling.CONDUCTS,
    writes="lam_background",
    source=scaling.SCALING,
    valid="s+ >= 0; below, as at 0",
    packs=4,
)
kernel(
    "enhancement_means",
    reads="Y W",
    writes="l_mean pv_mean",
    constants="enhancement_rows",
    valid="everywhere",
    packs=4,
)
kernel(
    "critical_susceptibility",
    reads="T rho W a_mix a_T p_v p_v_attractive p_v_repulsive Tc_mean l_mean pv_mean",
    writes="susceptibility",
    valid="everywhere; 0 above 3/2 Tc_mean",
    packs=2,
)
kernel(
    "critical_enhancement",
    reads="T rho W cp cv mu lam_background susceptibility l_mean",
    writes="lam",
    valid="as cp, without bound at the critical point of the equation of state",
    packs=2,
)


def enhancement_rows(species, options) -> Constants:
    """(V_c/N_A)^(1/3) and p_c V_c of each species, over the molar mass: (2, ns). V_c is that of the measured critical
    density where a species has a row, else as in Chung's transport."""
    volumes, notes = species.critical_volumes()
    pc = species.pc.copy()

    for s in range(species.ns):
        fluid = row_of(species, s)
        if fluid is not None:
            volumes[s] = fluid.M / fluid.rhoc
            pc[s] = fluid.pc

    rows = np.stack([np.cbrt(volumes / AVOGADRO), pc * volumes])
    return Constants({"enhancement_rows": rows / species.W}, notes=notes)


constants("enhancement_rows", enhancement_rows, when=WHEN)
