"""Derivatives of the reaction rates, and closed adiabatic reactors at constant volume and at constant pressure.

Matrices have row i, column j at i n + j. Unknowns at constant volume: (rho_1 .. rho_ns, T), the partial densities; at
constant pressure (Y_1 .. Y_ns, T). Each of them varies alone, sum(Y) is not held. nz = ns + 1.
"""

from ..declare import collection, constant, point_kernel, quantity
from ..equations.cubic import DELTA
from ..equations.derivatives import PAIRS
from ..equations.records import ROOTS
from ..kinetics.rates import DOUBLE, NASA, SLOPE_TABLES, TABLES, VALID
from ..registry import registry
from ..thermal.ideal_gas import END

STATUS = (
    f"0: done; 1: step limit; 2: step too small; 4: T left 20 to {END}; 5: input out of range (T outside that, Y "
    "below -1e-8, not a number); T, p, Y are NaN where it is not 0"
)
for name, unit, what, *per in (
    ("omega_rho", "1/s", "d omega_i/d rho_j at constant T and other partial densities rho_k = rho Y_k", "ns*ns"),
    ("omega_T", "kg/m3/s/K", "d omega_i/dT at constant partial densities", "ns"),
    ("omega_Y", "kg/m3/s", "d omega_i/dY_j at constant T, p and other Y_k", "ns*ns"),
    (
        "tau_slopes",
        "s",
        "1/largest sum over j of |omega_rho(i, j)|: no mode of the reactions is faster; 1e30 where nothing reacts",
    ),
    ("f_cv", "SI", "d(rho_1 .. rho_ns, T)/dt of a closed adiabatic reactor at constant volume", "nz"),
    ("f_cp", "SI", "d(Y_1 .. Y_ns, T)/dt of a closed adiabatic reactor at constant pressure", "nz"),
    ("J_cv", "SI", "Jacobian of f_cv in (rho_1 .. rho_ns, T)", "nz*nz"),
    ("J_cp", "SI", "Jacobian of f_cp in (Y_1 .. Y_ns, T) at constant p", "nz*nz"),
    ("dz", "SI", "a change of (rho_1 .. rho_ns, T)", "nz"),
    ("dw", "SI", "a change of (Y_1 .. Y_ns, T) at constant p", "nz"),
    ("J_cv_dz", "SI", "J_cv dz", "nz"),
    ("J_cp_dw", "SI", "J_cp dw", "nz"),
    (
        "implicit_cv",
        "SI",
        "change of (rho_1 .. rho_ns, T) by one step dt_cv of the linearly implicit Euler method, (1/dt - J_cv)^-1 f_cv",
        "nz",
    ),
    ("dt_cv", "s", "time over which a point reacts at constant volume"),
    ("dt_cp", "s", "time over which a point reacts at constant pressure"),
    ("status_cv", "1", STATUS),
    ("status_cp", "1", STATUS),
    ("steps_cv", "1", "steps that the integration took, those that were rejected included"),
    ("steps_cp", "1", "steps that the integration took, those that were rejected included"),
):
    quantity(name, unit, what, *per)

constant("react_rtol", "1", "relative tolerance of the integration of reactors", 1e-4, range=(1e-14, 1))
constant(
    "react_atol",
    "1",
    "absolute tolerance of mass fractions there; above 1e-9 a cold mixture does not ignite",
    1e-12,
    range=(1e-30, 1),
)
constant("react_most", "1", "steps that a point may take there", 10000.0, range=(1, 1e9))

CONSTANTS = f"inv_W W inv_p_ref {NASA} {TABLES.replace(' reaction_net', '')} {SLOPE_TABLES}"
SUMS = " ".join(name for name in registry.kernels["cubic_mixture"].constants if name not in PAIRS.split())
DERIVED = "derived from the rates and the equation of state, by the chain rule"


def kernel(name, reads, writes, source, constants="", **more):
    """Two kernels, ideal_{name} and cubic_{name}: their constants differ."""
    for equation, when, own in (
        ("ideal", "ideal", ""),
        ("cubic", ROOTS, f" {PAIRS} {SUMS} {DELTA} map_numbers? map_tiles?"),
    ):
        point_kernel(
            f"{equation}_{name}",
            header="gas/reactors/reactor.h",
            reads=reads,
            writes=writes,
            constants=f"{CONSTANTS}{own}{constants}",
            source=source,
            valid=VALID,
            double_only=DOUBLE,
            when={"equation": when},
            **{"sweeps": "states", **more},
        )


# Slopes of the rates
kernel("production_slopes", "T rho Y", "omega_rho omega_T", DERIVED)
point_kernel(
    "production_in_composition",
    header="gas/reactors/reactor.h",
    reads="rho Y rho_Y omega_rho",
    writes="omega_Y",
    constants="",
    source="chain rule, d rho_k/dY_j = rho delta_kj + Y_k d rho/dY_j",
    valid=VALID,
    sweeps="states",
    double_only=DOUBLE,
)
kernel("slope_time", "T rho Y", "tau_slopes", "largest row sum, a bound of the spectral radius")

# Closed adiabatic reactors, their Jacobians, and these times a vector
MASS_AND_ENERGY = "mass of each species and energy of a closed system"
kernel("volume_reactor", "T rho Y", "f_cv", MASS_AND_ENERGY)
kernel("pressure_reactor", "T rho Y", "f_cp", MASS_AND_ENERGY)
kernel("volume_jacobian", "T rho Y", "J_cv", DERIVED)
kernel("pressure_jacobian", "T rho Y", "J_cp", DERIVED)
kernel("volume_jacobian_product", "dz T rho Y", "J_cv_dz", f"{DERIVED}, on dual numbers", given="dz")
kernel("pressure_jacobian_product", "dw T rho Y", "J_cp_dw", f"{DERIVED}, on dual numbers", given="dw")

# Reactors over a step
kernel("volume_implicit", "T rho Y dt_cv", "implicit_cv", "linearly implicit Euler method", given="dt_cv")
OF_STEPS = " react_rtol react_atol react_most"
RODAS = "Rodas4: Hairer & Wanner 1996, Solving Ordinary Differential Equations II (original not seen)"
for kind, at, what in (("volume", "cv", "volume: p changes"), ("pressure", "cp", "pressure")):
    kernel(
        f"react_at_{kind}",
        f"T p Y dt_{at}",
        f"T p Y status_{at} steps_{at}",
        RODAS,
        constants=OF_STEPS,
        alone=True,
        sweeps="states turns",
    )
    collection(
        f"react_{kind}",
        given=f"T p Y dt_{at}",
        outputs=f"T p Y status_{at} steps_{at}",
        what=f"every point a closed adiabatic reactor over dt_{at} at constant {what}; T, p, Y in place",
    )
