"""Derivatives of the reaction rates, and closed adiabatic reactors at constant volume and at constant pressure.

Matrices have row i, column j at i n + j. Unknowns at constant volume: (rho_1 .. rho_ns, T), the partial densities; at
constant pressure (Y_1 .. Y_ns, T). Each of them varies alone, sum(Y) is not held. nz = ns + 1.
"""

from ..declare import point_kernel, quantity
from .derivatives import PAIRS
from .equations.records import ONE_SHAPE
from .kinetics import DOUBLE, NASA, TABLES, VALID

for name, unit, what, *per in (
    ("omega_rho", "1/s", "d omega_i/d rho_j at constant T and other partial densities rho_k = rho Y_k", "ns*ns"),
    ("omega_T", "kg/m3/s/K", "d omega_i/dT at constant partial densities", "ns"),
    ("omega_Y", "kg/m3/s", "d omega_i/dY_j at constant T, p and other Y_k", "ns*ns"),
    ("f_cv", "SI", "d(rho_1 .. rho_ns, T)/dt of a closed adiabatic reactor at constant volume", "nz"),
    ("f_cp", "SI", "d(Y_1 .. Y_ns, T)/dt of a closed adiabatic reactor at constant pressure", "nz"),
    ("J_cv", "SI", "Jacobian of f_cv in (rho_1 .. rho_ns, T)", "nz*nz"),
    ("J_cp", "SI", "Jacobian of f_cp in (Y_1 .. Y_ns, T) at constant p", "nz*nz"),
    ("dz", "SI", "a change of (rho_1 .. rho_ns, T)", "nz"),
    ("dw", "SI", "a change of (Y_1 .. Y_ns, T) at constant p", "nz"),
    ("J_cv_dz", "SI", "J_cv dz", "nz"),
    ("J_cp_dw", "SI", "J_cp dw", "nz"),
):
    quantity(name, unit, what, *per)

CONSTANTS = f"inv_W W inv_p_ref {NASA} {TABLES.replace(' reaction_net', '')}"
DERIVED = "derived from the rates and the equation of state, by the chain rule"


def kernel(name, reads, writes, source, **more):
    """Of ideal gases and of cubic equations with one delta_1, whose constants differ."""
    for equation, when, own in (("ideal", "ideal", ""), ("cubic", ONE_SHAPE, f" {PAIRS}")):
        point_kernel(
            f"{equation}_{name}",
            header="point/reactor.h",
            reads=reads,
            writes=writes,
            constants=CONSTANTS + own,
            source=source,
            valid=VALID,
            sweeps="states",
            double_only=DOUBLE,
            when={"equation": when},
            **more,
        )


kernel("production_slopes", "T rho Y", "omega_rho omega_T", DERIVED)
point_kernel(
    "production_in_composition",
    header="point/reactor.h",
    reads="rho Y rho_Y omega_rho",
    writes="omega_Y",
    constants="",
    source="chain rule, d rho_k/dY_j = rho delta_kj + Y_k d rho/dY_j",
    valid=VALID,
    sweeps="states",
    double_only=DOUBLE,
)
MASS_AND_ENERGY = "mass of each species and energy of a closed system"
kernel("volume_reactor", "T rho Y", "f_cv", MASS_AND_ENERGY)
kernel("pressure_reactor", "T rho Y", "f_cp", MASS_AND_ENERGY)
kernel("volume_jacobian", "T rho Y", "J_cv", DERIVED)
kernel("pressure_jacobian", "T rho Y", "J_cp", DERIVED)
kernel("volume_jacobian_product", "dz T rho Y", "J_cv_dz", f"{DERIVED}, on dual numbers", given="dz")
kernel("pressure_jacobian_product", "dw T rho Y", "J_cp_dw", f"{DERIVED}, on dual numbers", given="dw")
