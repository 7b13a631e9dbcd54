"""The Jacobian Gamma = dU/dQ of conserved in primitive variables, its inverse, and both times a vector.

Q = (p, u, v, w, T, Y_1 .. Y_ns-1), the order in which solvers of this family keep it, and U in the same order: (rho,
rho u, rho v, rho w, rho E, rho Y_1 .. rho Y_ns-1), E = e + |u|^2/2; nq = ns + 4. The last mass fraction is 1 less the
others. Partial density rho_ns is U_1 less the other rho Y_k. Gamma holds `rho_p_prime` in place of rho_p: given by the
host, made from a velocity V_p, or else rho_p itself, and Gamma is then dU/dQ.
"""

from ..declare import point_kernel, quantity

for name, unit, what, *per in (
    ("V_p", "m/s", "preconditioning velocity: takes the place of the sound speed"),
    ("rho_p_prime", "kg/m3/Pa", "what Gamma has in place of rho_p; rho_p itself without preconditioning"),
    ("dQ", "SI", "a change of (p, u, v, w, T, Y_1 .. Y_ns-1)", "nq"),
    ("dU", "SI", "a change of (rho, rho u, rho v, rho w, rho E, rho Y_1 .. rho Y_ns-1)", "nq"),
    ("gamma_jacobian", "SI", "Gamma, row i of U, column j of Q", "nq*nq"),
    ("gamma_inverse", "SI", "inverse of Gamma, row i of Q, column j of U", "nq*nq"),
):
    quantity(name, unit, what, *per)

STATE = "rho u v w h rho_p_prime rho_T h_p h_T rho_Y h_Y Y"
SOURCE = "Weiss & Smith 1995; Merkle (originals not seen); derived from the definitions"
DETERMINANT = "rho_p' rho h_T + rho_T (1 - rho h_p) not 0: rho h_T/V_p^2"


def kernel(name, reads, writes, source, valid, **more):
    """point_kernel of jacobian.h."""
    point_kernel(
        name,
        header="gas/thermal/jacobian.h",
        reads=reads,
        writes=writes,
        source=source,
        valid=valid,
        phases="any",
        **more,
    )


kernel(
    "preconditioning",
    "V_p rho rho_T h_p h_T",
    "rho_p_prime",
    "1/c^2 = rho_p + rho_T (1 - rho h_p)/(rho h_T) with V_p for c",
    "V_p > 0",
    given="V_p",
)
kernel("no_preconditioning", "rho_p", "rho_p_prime", "definition", "everywhere")
kernel(
    "sound_speed_from_density_and_enthalpy",
    "rho rho_p rho_T h_p h_T",
    "c",
    "1/c^2 = rho_p + rho_T (1 - rho h_p)/(rho h_T)",
    "c real",
    given="rho rho_p rho_T h_p h_T",
)
kernel("gamma_matrix", STATE, "gamma_jacobian", SOURCE, "everywhere")
kernel("gamma_inverse_matrix", STATE, "gamma_inverse", SOURCE, DETERMINANT)
kernel("gamma_product", f"dQ {STATE}", "dU", SOURCE, "everywhere", given="dQ")
kernel("gamma_inverse_product", f"dU {STATE}", "dQ", SOURCE, DETERMINANT, given="dU")
