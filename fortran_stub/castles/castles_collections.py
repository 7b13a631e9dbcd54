"""What the solver castles asks for at its cells, beside the collections of the library: the Gamma Jacobian and the
fluxes in one launch."""

from kernels.declare import collection

collection(
    "castles_cells",
    given="T p Y",
    outputs="rho h c rho_p rho_T h_p h_T rho_Y h_Y mu lam D",
    what="Gamma = dU/dQ, speed of sound, transport and partial enthalpies",
)
