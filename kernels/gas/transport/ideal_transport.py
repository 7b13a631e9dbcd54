"""Viscosity and conductivity of dilute gases (option viscosity = sutherland or powerlaw).

Each species has a viscosity law mu_i(T). Wilke's rule mixes the viscosities, Mathur's the conductivities.
"""

import numpy as np

from ..declare import constants, fallback, option, point_kernel
from ..records import Constants
from ..species import CRITICAL, SpeciesData
from ..species.kinetic_theory import viscosity_fit
from ..thermal.ideal_gas import NASA
from . import chung  # noqa: F401  (declares the quantities mu and lam)

WILKE = (
    r" A mixture by Wilke's rule, $\mu = \sum_i x_i \mu_i / \sum_j x_j \Phi_{ij}$, its conductivity by Mathur, Tondon "
    r"& Saxena's, $\lambda = \frac12 (\sum_i x_i \lambda_i + 1/\sum_i x_i/\lambda_i)$, $\lambda_i = \mu_i (c_{p,i} + "
    r"\frac54 R/W_i)$. Wilke 1950; Mathur et al. 1967; Eucken; originals not seen."
)
option(
    "viscosity",
    {"sutherland": r"$\mu_i = A\,T^{3/2}/(T + S)$." + WILKE, "powerlaw": r"$\mu_i = A\,T^n$." + WILKE},
)

point_kernel(
    "wilke_transport",
    header="gas/transport/ideal_transport.h",
    reads="T Y W",
    writes="mu lam",
    constants=NASA + " viscosity_factor viscosity_constant wilke_mass wilke_pair eucken",
    source="Wilke 1950; Mathur, Tondon & Saxena 1967; Eucken's lam = mu (cp + 5/4 R/W) (originals not seen, as in "
    "Poling et al. and Cantera)",
    valid="T > 0; low density",
    sweeps="viscosities",
    when={"viscosity": "sutherland powerlaw"},
)


def viscosity_laws(species, options) -> Constants:
    """Constants of the viscosity laws, and of Wilke's and Eucken's formulas; vectors (ns,), and (ns, ns) for Wilke.

    A species without a law gets a fit to kinetic theory. Raises MixtureError if a species has neither a law nor the
    transport data for that fit.
    """
    law, W = options["viscosity"], species.W
    notes = []

    # Laws of the input file: a measured viscosity mu at T, with Sutherland's constant S or the exponent n.
    measured = species.sutherland if law == "sutherland" else species.power_law
    known = np.isfinite(measured[:, 0])
    mu, T, constant = measured.T
    if law == "sutherland":
        factor = mu * (T + constant) / T**1.5
    else:
        with np.errstate(invalid="ignore"):
            factor = mu / T**constant

    # Species without a law: a fit to kinetic theory.
    if not known.all():
        has_transport = np.isfinite(species.diameter) & np.isfinite(species.well_depth)
        species.refuse(~known & ~has_transport, f"a viscosity law '{law}' and transport data to derive one")

        fitted_factor, fitted_constant = viscosity_fit(species, law, *species.T_fit)
        factor = np.where(known, factor, fitted_factor)
        constant = np.where(known, constant, fitted_constant)
        notes.append(
            f"viscosity law of {species.named(~known)}: fitted to kinetic theory between "
            f"{species.T_fit[0]:g} and {species.T_fit[1]:g} K."
        )

    return Constants(
        dict(
            viscosity_factor=factor,
            viscosity_constant=constant,
            wilke_mass=W**-0.25,
            eucken=1.25 * species.R / W,
            wilke_pair=1 / np.sqrt(8 * (1 + W[:, None] / W)) / W,
        ),
        notes=notes,
    )


constants(
    "viscosity_factor viscosity_constant wilke_mass wilke_pair eucken",
    viscosity_laws,
    when={"viscosity": "sutherland powerlaw"},
)


def _without_critical(options, species):
    """Whether the mixture is an ideal gas with a species that has no critical properties.

    Chung's and Takahashi's formulas need these, so other defaults are taken.
    """
    if options["equation"] != "ideal" or not isinstance(species, SpeciesData):
        return False

    critical = [getattr(species, field) for field in CRITICAL]
    return bool(np.isnan(critical).any())


fallback("viscosity", "sutherland", _without_critical)
fallback("takahashi", "off", _without_critical)
