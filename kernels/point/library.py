"""The collections a host asks for by name."""
from ..declare import collection

THERMAL = "W Z rho h e cp cv gamma c rho_p rho_T h_p h_T"

collection("thermal", given="T p Y", outputs=THERMAL, what="equation of state and its derivatives")
collection("viscous", given="T p Y rho", outputs="mu lam D", what="transport at known density")
collection("thermal_viscous", given="T p Y", outputs=THERMAL + " mu lam D", what="both, sums shared")
collection("critical_state_of_mixture", given="Y", outputs="Tc_mix pc_mix vc_mix", what="pseudo-critical point")
