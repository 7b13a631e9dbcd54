"""Declarations of the solver's own point kernels: the cubic equation of state at given partial densities. Load with
kernels.load_declarations."""

from kernels import point_kernel, quantity
from kernels.declare import kernels
from kernels.point.equations.records import ONE_SHAPE
from kernels.point.reactor import CONSTANTS as REACTIONS, DOUBLE, PAIRS as BY_PAIRS, RODAS, STATUS, SUMS

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


def kernel(name, reads, writes, constants, source, valid, **more):
    point_kernel(
        name,
        header="flow.h",
        reads=reads,
        writes=writes,
        constants=constants,
        source=source,
        valid=valid,
        when={"translation": "none"},
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
)
kernel(
    "flow_state",
    "T rho_k",
    "p_eos e_vol cv_vol gamma_c gruneisen",
    f"{PAIRS} {NASA}",
    SOURCE,
    "T > 0, sum rho_k b_k < 1",
)
kernel(
    "flow_temperature_e", "e_vol rho_k T", "T", f"{PAIRS} {NASA}", SOURCE + ", Newton in T", "T comes in within 30 %"
)
kernel("flow_partials", "T rho_k", "h_Y eps_k", f"{PAIRS} kij_rows? pair_rows? {NASA}", SOURCE, "as flow_state")
kernel("flow_composition", "rho_k", "rho Y", "", "definition", "rho > 0", given="rho_k")
point_kernel(
    "cell_reactor",
    header="reacting.h",
    reads="T p rho_k e_vol reaction_time",
    writes="T p rho_k reaction_status reaction_steps",
    constants=" ".join(
        dict.fromkeys(f"{PAIRS} {NASA} {REACTIONS} {BY_PAIRS} {SUMS} react_rtol react_atol react_most".split())
    ),
    source=RODAS,
    valid="200 to 6000 K; T, p, rho_k stay where the status is not 0",
    sweeps="states",
    double_only=DOUBLE,
    when={"translation": "none", "equation": ONE_SHAPE},
    alone=True,
)
