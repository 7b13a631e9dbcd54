"""Declarations of the solver's own point kernels: a cubic equation of state, equation `mapped`, or the ideal gas, at
given partial densities. The kernels of the latter are called mapped_, ideal_ and the name of the cubic one. Load with
kernels.load_declarations. With phases = equilibrium the layer's own kernels give the properties; what they lack is
called equilibrium_.

Constants that the layer's bodies need are taken from the declarations of its own kernels.
"""

from kernels import point_kernel, quantity, registry

cubic_mixture = registry.kernels["cubic_mixture"]
ideal_gas = registry.kernels["ideal_gas"]
flash = registry.kernels["equilibrium_e_rho_warm"]
reactor = registry.kernels["cubic_react_at_volume"]
ideal_reactor = registry.kernels["ideal_react_at_volume"]

quantity("rho_k", "kg/m3", "partial densities", per="ns")
quantity("p_eos", "Pa", "pressure of the equation of state at T and rho_k")
quantity("e_vol", "J/m3", "internal energy per volume, formation included")
quantity("cv_vol", "J/m3/K", "heat capacity at constant volume, per volume")
quantity("gamma_c", "1", "rho c^2/p")
quantity("gamma_eq", "1", "rho c^2/p of phases in equilibrium, where gamma_c is that of c_frozen")
quantity("gruneisen", "1", "Grueneisen coefficient, (dp/dT)_v/(rho cv)")
quantity("h_Y", "J/kg", "partial specific enthalpies, dH/dm_k at constant T, p", per="ns")
quantity(
    "h_carried", "J/kg", "enthalpy that a diffusing species carries with it: h_Y, in two phases a convention", per="ns"
)
quantity("eps_k", "J/kg", "d(rho e)/d rho_k at constant p and other partial densities", per="ns")
quantity("reaction_time", "s", "time over which a cell reacts")
quantity("reaction_status", "1", registry.quantities["status_cv"].what)
quantity("reaction_steps", "1", "steps that the integration took")

# The equations of state: every cubic one, and the cubic ones whose delta_1 is the same for all species.
FAMILY = dict(cubic_mixture.when)["equation"]
BY_SPECIES = dict(registry.kernels["cubic_delta"].when)["equation"]
ONE_SHAPE = tuple(name for name in FAMILY if name not in BY_SPECIES)
MAPPED = dict(registry.kernels["mapped_root"].when)["equation"]

# Constants of the mixture: of the cubic equations, of the caloric polynomials, of the ideal gas.
PAIRS = " ".join(["inv_W", *cubic_mixture.constants, "delta_numbers?"])
NASA = "T_mid T_mid_lowest T_mid_highest nasa_low nasa_high nasa_cold? T_cold? T_cold_highest?"
OF_IDEAL = " ".join(ideal_gas.constants)
OF_MAPPED = f"{PAIRS} {NASA} map_numbers"

CUBIC = "the equation's own (originals not seen) in the variables T, rho_k (derived here)"
IDEAL = "definition of an ideal gas"
OF_DENSITY = "the equation's own (mapped.h), of a cubic metre"


def declare(name, header, equation, phases="single", **declaration):
    """A kernel for these equations of state (None: for every one), without volume translation."""
    when = {"translation": "none"}
    if equation:
        when["equation"] = equation

    point_kernel(name, header=header, when=when, phases=phases, **declaration)


def kernel(name, reads, writes, constants, source, valid, ideal, **more):
    """A kernel of the cubic equations, and the same kernel of equation mapped and of the ideal gas, which reads the
    constants `ideal`."""
    shared = dict(reads=reads, writes=writes, valid=valid, **more)
    of_mapped = dict(constants=f"{OF_MAPPED} kij_rows?" if "kij_rows?" in constants else OF_MAPPED, sweeps="states")

    declare(name, "flow.h", FAMILY, constants=constants, source=source, **shared)
    declare(f"mapped_{name}", "mapped_flow.h", MAPPED, source=OF_DENSITY, **of_mapped, **shared)
    declare(f"ideal_{name}", "ideal_flow.h", "ideal", constants=ideal, source=IDEAL, **shared)


def of_phases(name, reads, writes, source, valid, **more):
    """A kernel for mixtures with phases = equilibrium."""
    point_kernel(
        name,
        header="phases_flow.h",
        reads=reads,
        writes=writes,
        source=source,
        valid=valid,
        when={"equation": dict(flash.when)["equation"], "translation": "none"},
        phases="equilibrium",
        **more,
    )


def cell_reactor(name, header, equation, *constants):
    """A cell that reacts over `reaction_time` at constant volume. constants: lists of names; doubles are left out."""
    names = " ".join(constants).split()

    declare(
        name,
        header,
        equation,
        reads="T p rho_k e_vol reaction_time",
        writes="T p rho_k reaction_status reaction_steps",
        constants=" ".join(dict.fromkeys(names)),
        source=reactor.source,
        valid="from 200 K to the end of the reactions; T, p, rho_k stay where the status is not 0",
        sweeps="states",
        double_only=reactor.running.double_only,
        alone=True,
    )


kernel(
    "flow_temperature_p",
    "p rho_k",
    "T",
    PAIRS,
    CUBIC + ", a quadratic in sqrt(T) of Soave's alpha below its bends, else Newton in T",
    "p(T) rising; of a published alpha one sign change of a species' sqrt(alpha) is followed",
    note="Soave's alpha: no iteration below the first bend or sign change",
    given="p rho_k",
    ideal="inv_W",
)
kernel(
    "flow_state",
    "T rho_k",
    "p_eos e_vol cv_vol gamma_c gruneisen",
    f"{PAIRS} {NASA}",
    CUBIC,
    "T > 0, sum rho_k b_k < 1",
    ideal=OF_IDEAL,
)
kernel(
    "flow_temperature_e",
    "e_vol rho_k T",
    "T",
    f"{PAIRS} {NASA}",
    CUBIC + ", Newton in T",
    "T comes in within 30 %",
    ideal=OF_IDEAL,
)
kernel(
    "flow_partials",
    "T rho_k",
    "h_Y eps_k",
    f"{PAIRS} kij_rows? pair_rows? {NASA}",
    CUBIC,
    "as flow_state",
    ideal=OF_IDEAL,
)
declare(
    "flow_composition",
    "flow.h",
    None,
    phases="any",
    reads="rho_k",
    writes="rho Y",
    constants="",
    source="definition",
    valid="rho > 0",
    given="rho_k",
)

of_phases("flow_volume", "rho", "vol", "definition", "rho > 0")
of_phases(
    "equilibrium_flow_temperature_e",
    "e_vol rho_k T ln_kappa eta",
    "T ln_kappa eta p phases_status phases_steps",
    flash.source,
    flash.valid,
    constants=" ".join(flash.constants),
    sweeps="states",
    alone=True,
    double_only=flash.running.double_only,
)
of_phases(
    "equilibrium_flow_waves",
    "rho p e cv c c_frozen p_T",
    "e_vol cv_vol gamma_c gamma_eq gruneisen",
    "definitions",
    "rho, p > 0",
)
of_phases(
    "equilibrium_flow_partials",
    "T vol h cv p_T p_v v_Y h_Y phases_status",
    "eps_k h_carried",
    "definition of eps_k from v_Y and h_Y; of two phases that of the whole, and h of the ideal gas (a convention)",
    "p_T > 0",
    constants=NASA,
)

cell_reactor("cell_reactor", "reacting.h", ONE_SHAPE, PAIRS, NASA, *reactor.constants)
cell_reactor("mapped_cell_reactor", "mapped_reacting.h", MAPPED, OF_MAPPED, *reactor.constants)
cell_reactor("ideal_cell_reactor", "ideal_reacting.h", "ideal", OF_IDEAL, *ideal_reactor.constants)
