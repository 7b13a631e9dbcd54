"""Gradient diffusion with constant turbulent Prandtl and Schmidt numbers, from the fluxes.

The turbulent diffusivity of heat is nu_t/Pr_t, of species nu_t/Sc_t, with nu_t = muT/rho.
"""

from .tracked import LD, Tracked

PRANDTL, SCHMIDT = LD(9) / LD(10), LD(7) / LD(10)  # no doubles: Tracked(x) has the rounding of x


def viscosity(sp, o, mu, muT):
    return dict(mu_eff=mu + muT)


def conductivity(sp, o, lam, cp, muT):
    """rho cp (lam/(rho cp) + nu_t/Pr_t)"""
    return dict(lam_eff=lam + muT * cp / Tracked(PRANDTL))


def diffusion(sp, o, D, rho, muT):
    """D + nu_t/Sc_t"""
    eddy = muT / rho / Tracked(SCHMIDT)
    return dict(D_eff=D + eddy)


KERNELS = {
    "effective_viscosity": viscosity,
    "effective_conductivity": conductivity,
    "effective_diffusion": diffusion,
}
