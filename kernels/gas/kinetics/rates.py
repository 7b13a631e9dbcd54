"""Finite-rate chemistry: rates of the mixture's reactions, production of its species, heat release."""

from __future__ import annotations

from ..declare import constants, option, point_kernel, quantity
from ..equations.records import ROOTS
from ..records import Constants
from ..thermal.ideal_gas import NASA
from . import crew, lanes, plain
from .elimination import elimination
from .tables import ReactionTables

option(
    "kinetics",
    {
        "consistent": r"$q = k_f \prod C^{\nu'} \left[1 - \prod (\gamma C)^{\nu}/K_c\right]$, $\gamma_k = \phi_k Z$: "
        "measured rate constants as they are, and the equilibrium of the equation of state.",
        "fugacity": r"$q = k_f \left[\prod (\gamma C)^{\nu'} - \prod (\gamma C)^{\nu''}/K_c\right]$: Cantera's, "
        "fugacities on both sides.",
        "concentration": r"$q = k_f \left[\prod C^{\nu'} - \prod C^{\nu''}/K_c\right]$: the ideal gas's, which most "
        "flow solvers have; it settles at another equilibrium than that of a real gas.",
    },
    "what a real gas's rates go with; of an ideal gas the three are one",
)
option(
    "chebyshev",
    {
        "extrapolate": "The polynomials as they are, also beyond their ranges of T and p (as Cantera).",
        "clamp": "Beyond the ranges of a reaction the values at their ends.",
    },
    "Chebyshev rate coefficients beyond the ranges of T and p for which they are given",
)

for name, unit, what, *per in (
    ("ln_gamma", "1", "ln of gamma_k = phi_k Z, fugacity over C_k R T; what rates of a real gas count with", "ns"),
    ("omega_mol", "mol/m3/s", "net production of the species by reactions, in moles", "ns"),
    ("omega", "kg/m3/s", "net production of the species by reactions", "ns"),
    ("creation", "kg/m3/s", "production of the species, both directions of a reaction apart", "ns"),
    ("destruction", "kg/m3/s", "consumption of the species, both directions of a reaction apart", "ns"),
    ("heat_release", "W/m3", "heat release of the reactions at constant p, -sum h_Y omega"),
    (
        "tau_chem",
        "s",
        "smallest rho Y_k/destruction_k of species with Y_k > 1e-6; 1e30 where nothing is consumed",
    ),
    ("rate_f", "mol/m3/s", "forward rates of the reactions, in the file's order", "nr"),
    ("rate_r", "mol/m3/s", "reverse rates of the reactions", "nr"),
    ("rate_net", "mol/m3/s", "net rates of the reactions", "nr"),
    ("Kc", "SI", "equilibrium constants of the reactions in concentrations, (mol/m3)^(sum nu)", "nr"),
):
    quantity(name, unit, what, *per)

STATE = "T p rho Y ln_gamma?"
TABLES = (
    "reaction_shift reaction_potentials reaction_exponents reaction_colliders reaction_falloffs "
    "reaction_tabled reaction_factors reaction_pairs reaction_others reaction_net"
)
SLOPE_TABLES = "reaction_defaults reaction_specials reaction_elimination"  # for derivatives
SHARED_TABLES = (  # the reactions again, for threads that share a point: warps of a block, lanes of a warp
    f"reaction_weights {crew.STEPS} {crew.STEPS_APART} {lanes.REACTIONS} "
    f"{lanes.RATES} {lanes.SLOPES} {lanes.EFFICIENCIES}"
)
SOURCE = (
    "mass action; falloff: Lindemann, Troe (Gilbert, Luther & Troe 1983), SRI (Stewart, Larson & Golden 1989), Tsang; "
    "P-log, Chebyshev, Blowers & Masel 2000, linear Burke (Singal et al. 2024) as Cantera 3.2 has them (originals not "
    "seen)"
)
VALID = "T >= 200 K; below, the coefficients at 200 K"
DOUBLE = "rate coefficients and equilibrium constants are beyond the range of single precision"


def kernel(name, reads, writes, source, valid, sweeps="states", **more):
    """point_kernel of rates.h, in double or mixed precision."""
    point_kernel(
        name,
        header="gas/kinetics/rates.h",
        reads=reads,
        writes=writes,
        source=source,
        valid=valid,
        sweeps=sweeps,
        double_only=DOUBLE,
        **more,
    )


def rates(name, reads, writes, source=SOURCE, tables=TABLES, **more):
    """A kernel that reads the tables of the mechanism."""
    kernel(name, reads, writes, source, VALID, constants=f"inv_W W inv_p_ref {NASA} {tables}", **more)


kernel(
    "activity_coefficients",
    "Z ln_phi",
    "ln_gamma",
    "definition",
    "Z > 0",
    when={"equation": ROOTS, "kinetics": "consistent fugacity"},
)
rates("net_production", STATE, "omega_mol", sweeps="states production")
rates("gross_production", STATE, "creation destruction", sweeps="states production")
rates("reaction_rates", STATE, "rate_f rate_r rate_net")
rates("equilibrium_constants", "T", "Kc", "Kc = exp(-sum nu g/RT) (p_ref/RT)^(sum nu)", "reaction_shift reaction_net")
kernel("mass_production", "omega_mol", "omega", "definition", "everywhere", constants="W")
kernel("chemical_heat", "h_Y omega", "heat_release", "definition, with partial enthalpies", "everywhere")
kernel("chemical_time", "rho Y destruction", "tau_chem", "definition", "everywhere")

# ---------------------------------------------------------------- the tables


def mechanism(species, options) -> Constants:
    """The reactions as tables. All numbers are doubles, in the order in which the bodies read them.

    Raises MixtureError if the species have no mechanism, or a reaction cannot be read.
    """
    tables = ReactionTables(species)

    # The warps of a block take the reactions in the mechanism's order.
    of_crew = crew.encoded(tables)
    if options["equation"] != "ideal" and any(row.reversible and not tables.in_range(row) for row in tables.others):
        of_crew = crew.none()  # ln gamma would be lost where L_k is at its bound

    # A loop over a table takes them sorted, and so do the lanes of a warp.
    if not plain.is_written(tables):
        tables = tables.sorted()
    of_thread = plain.encoded(tables, species)
    of_lanes = lanes.encoded(tables)
    order = elimination(tables)

    return Constants(
        {**of_thread.values, "reaction_elimination": order or [0.0], **of_crew.values, **of_lanes.values},
        sizes={**of_thread.sizes, "RATE_ELIMINATED": len(order), **of_crew.sizes, **of_lanes.sizes},
        members=of_thread.members + plain.index_text("summed_species", of_crew.order),
        notes=list(species.mechanism.notes),
    )


constants(f"{TABLES} {SLOPE_TABLES} {SHARED_TABLES}", mechanism)
