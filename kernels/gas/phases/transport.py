"""Transport of vapour and liquid in equilibrium (option phases = equilibrium): each phase by the law of one phase, the
whole by a rule. Laws that serve gases alone are left out, and so are refused by name."""

from ..declare import option, point_kernel
from ..equations.cubic import DELTA
from ..registry import registry
from ..thermal.ideal_gas import NASA
from ..transport import residual
from . import phases  # noqa: F401  (declares the shares of the phases)

option(
    "two_phase_viscosity",
    {
        "mcadams": r"$1/\mu = w/\mu_v + (1 - w)/\mu_l$ with the vapour's share $w$ of the mass. McAdams, Woods & "
        "Heroman 1942; original not seen.",
        "dukler": r"$\mu = a\,\mu_v + (1 - a)\,\mu_l$ with its share $a$ of the volume. Dukler, Wicks & Cleveland "
        "1964; original not seen.",
    },
    "viscosity of vapour and liquid together, with phases = equilibrium",
)


def constants_of(*names: str) -> str:
    """The constants that kernels of one phase read."""
    return " ".join(dict.fromkeys(name for kernel in names for name in registry.kernels[kernel].constants))


RULE = "the phases by the law of one phase; no slip, no resistance of the interface"

point_kernel(
    "equilibrium_chung",
    header="gas/phases/transport.h",
    reads="T Y_l Y_v rho_l rho_v beta_mass beta_volume phases_status",
    writes="mu lam",
    constants=f"inv_W {NASA} {constants_of('chung_mixture')}",
    source=f"Chung et al. 1988 as in chung_viscosity and chung_conductivity; two phases: {RULE}; viscosity by option "
    "two_phase_viscosity, conductivity by shares of the volume",
    valid="as chung_viscosity and chung_conductivity, in each phase",
    when={"viscosity": "chung", "chung": "polefree published"},
    phases="equilibrium",
    sweeps="states",
    alone=True,
)
point_kernel(
    "equilibrium_residual",
    header="gas/phases/transport.h",
    reads="T Y_l Y_v rho_l rho_v beta_mass beta_volume phases_status",
    writes="mu lam",
    constants=f"inv_W {NASA} {DELTA} {constants_of('mapped_mixture', 'residual_mixture', 'residual_coefficients')} "
    "enhancement_rows?",
    source=f"as residual_viscosity and residual_conductivity; two phases: {RULE}; viscosity by option "
    "two_phase_viscosity, conductivity by shares of the volume",
    valid="as residual_viscosity and residual_conductivity, in each phase",
    when=residual.WHEN,
    phases="equilibrium",
    sweeps="states",
    alone=True,
)
point_kernel(
    "equilibrium_diffusion",
    header="gas/phases/transport.h",
    reads="T p Y_l Y_v beta_mass phases_status",
    writes="D",
    constants=" ".join(name for name in constants_of("mixture_diffusion").split() if name != "friction_tiles?"),
    source=f"as mixture_diffusion in each phase; two phases: by shares of the mass; {RULE}",
    valid="as mixture_diffusion",
    phases="equilibrium",
    sweeps="states",
    alone=True,
)
