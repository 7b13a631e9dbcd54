"""Declarations of the solver's own point kernels: a cubic equation of state, or the ideal gas, at given partial
densities. The kernels of the ideal gas are called ideal_ and the name of the cubic one. Load with
kernels.load_declarations."""

from kernels import point_kernel, quantity
from kernels.gas.declare import kernels
from kernels.gas.equations.records import FAMILY, ONE_SHAPE
from kernels.gas.reactors.reactor import CONSTANTS as REACTIONS, DOUBLE, PAIRS as BY_PAIRS, RODAS, STATUS, SUMS
from kernels.gas.thermal.ideal_gas import NASA as OF_IDEAL

quantity("rho_k", "kg/m3", "partial densities", per="ns")
quantity("p_eos", "Pa", "pressure of the equation of state at T and rho_k")
quantity("e_vol", "J/m3", "internal energy per volume, formation included")
quantity("cv_vol", "J/m3/K", "heat capacity at constant volume, per volume")
quantity("gamma_c", "1", "rho c^2/p")
quantity("gruneisen", "1", "Grueneisen coefficient, (dp/dT)_v/(rho cv)")
quantity("h_Y", "J/kg", "partial specific enthalpies, dH/dm_k at constant T, p", per="ns")
quantity("eps_k", "J/kg", "d(rho e)/d rho_k at constant p and other partial densities", per="ns")
quantity("reaction_time", "s", "time over which a cell reacts")
quantity("reaction_status", "1", STATUS)
quantity("reaction_steps", "1", "steps that the integration took")

PAIRS = " ".join(["inv_W", *kernels["cubic_mixture"].constants, "delta_numbers?"])
NASA = "T_mid T_mid_lowest T_mid_highest nasa_low nasa_high"
SOURCE = "the equation's own (originals not seen) in the variables T, rho_k (derived here)"


IDEAL = "definition of an ideal gas"


def kernel(name, reads, writes, constants, source, valid, ideal=None, **more):
    """Of the cubic equations, and of the ideal gas with the constants `ideal`; None: one kernel for both."""
    both = [(name, "flow.h", constants, source, FAMILY)]
    if ideal is None:
        both = [(name, "flow.h", constants, source, None)]
    else:
        both.append((f"ideal_{name}", "ideal_flow.h", ideal, IDEAL, "ideal"))

    for own_name, header, own_constants, own_source, equation in both:
        point_kernel(
            own_name,
            header=header,
            reads=reads,
            writes=writes,
            constants=own_constants,
            source=own_source,
            valid=valid,
            when={"translation": "none"} | ({"equation": equation} if equation else {}),
            **more,
        )


kernel(
    "flow_temperature_p",
    "p rho_k",
    "T",
    PAIRS,
    SOURCE + ", a quadratic in sqrt(T) of Soave's alpha, Newton in T of another",
    "p(T) rising; one sign change of a species' sqrt(alpha) is followed",
    note="Soave's alpha: no iteration below the first sign change",
    given="p rho_k",
    ideal="inv_W",
)
kernel(
    "flow_state",
    "T rho_k",
    "p_eos e_vol cv_vol gamma_c gruneisen",
    f"{PAIRS} {NASA}",
    SOURCE,
    "T > 0, sum rho_k b_k < 1",
    ideal=OF_IDEAL,
)
kernel(
    "flow_temperature_e",
    "e_vol rho_k T",
    "T",
    f"{PAIRS} {NASA}",
    SOURCE + ", Newton in T",
    "T comes in within 30 %",
    ideal=OF_IDEAL,
)
kernel(
    "flow_partials",
    "T rho_k",
    "h_Y eps_k",
    f"{PAIRS} kij_rows? pair_rows? {NASA}",
    SOURCE,
    "as flow_state",
    ideal=OF_IDEAL,
)
kernel("flow_composition", "rho_k", "rho Y", "", "definition", "rho > 0", given="rho_k")
for name, header, equation, own in (
    ("cell_reactor", "reacting.h", ONE_SHAPE, f"{PAIRS} {NASA} {REACTIONS} {BY_PAIRS} {SUMS}"),
    ("ideal_cell_reactor", "ideal_reacting.h", "ideal", f"{OF_IDEAL} {REACTIONS}"),
):
    point_kernel(
        name,
        header=header,
        reads="T p rho_k e_vol reaction_time",
        writes="T p rho_k reaction_status reaction_steps",
        constants=" ".join(dict.fromkeys(f"{own} react_rtol react_atol react_most".split())),
        source=RODAS,
        valid="200 to 6000 K; T, p, rho_k stay where the status is not 0",
        sweeps="states",
        double_only=DOUBLE,
        when={"translation": "none", "equation": equation},
        alone=True,
    )
