"""Effective transport in a turbulent flow: molecular properties and the eddy viscosity of the host's turbulence model.

The fluxes of heat and species follow the gradient, with constant turbulent Prandtl and Schmidt numbers:
mu_eff = mu + muT, lam_eff = lam + cp muT/Pr_t, D_eff = D + muT/(rho Sc_t). Wilcox, Turbulence Modeling for CFD
(original not seen).
"""

from ..declare import constant, point_kernel, quantity

SOURCE = "gradient diffusion, as in Wilcox, Turbulence Modeling for CFD (original not seen)"
POSITIVE = (0.01, 100.0)  # far beyond values in use, 0.5 to 1

quantity("muT", "Pa s", "eddy viscosity, from the host's turbulence model")
quantity("mu_eff", "Pa s", "effective viscosity, mu + muT")
quantity("lam_eff", "W/m/K", "effective thermal conductivity, lam + cp muT/Pr_t")
quantity("D_eff", "m2/s", "effective diffusion coefficients, D + muT/(rho Sc_t)", "ns")

constant("Pr_t", "1", "turbulent Prandtl number", 0.9, range=POSITIVE)
constant("Sc_t", "1", "turbulent Schmidt number", 0.7, range=POSITIVE)

point_kernel(
    "effective_viscosity",
    header="gas/transport/turbulence.h",
    phases="any",
    reads="mu muT",
    writes="mu_eff",
    source=SOURCE,
    valid="muT >= 0",
)
point_kernel(
    "effective_conductivity",
    header="gas/transport/turbulence.h",
    phases="any",
    reads="lam cp muT",
    writes="lam_eff",
    constants="Pr_t",
    source=SOURCE,
    valid="muT >= 0",
)
point_kernel(
    "effective_diffusion",
    header="gas/transport/turbulence.h",
    phases="any",
    reads="D rho muT",
    writes="D_eff",
    constants="Sc_t",
    source=SOURCE,
    valid="muT >= 0, rho > 0",
)
