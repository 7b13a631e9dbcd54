"""The collections that a host asks for by name. `aliases` are the names of the corresponding routines in CASTLES and
related solvers."""

from .declare import collection

THERMAL = "W Z rho h e cp cv gamma c rho_p rho_T h_p h_T"

collection(
    "thermal",
    given="T p Y",
    outputs=THERMAL,
    what="equation of state and its derivatives",
    aliases="eosThermalProperties prEOSThermalProperties",
)
collection(
    "viscous",
    given="T p Y rho",
    outputs="mu lam D",
    what="transport at known density",
    aliases="eosViscousProperties prEOSViscousProperties chungCalcTransProp",
)
collection(
    "thermal_viscous",
    given="T p Y",
    outputs=THERMAL + " mu lam D",
    what="both collections above, sums over species shared",
    aliases="eosThermalAndViscousProperties prEOSThermalAndViscousProperties prEOSViscousFluxProperties",
)
collection(
    "critical_state_of_mixture",
    given="Y",
    outputs="Tc_mix pc_mix vc_mix",
    what="pseudo-critical point",
    aliases="eosCriticalState prEOSCriticalState",
)
collection(
    "rho_h0_from_T_p",
    given="T p Y u v w",
    outputs="rho h0",
    what="density and total enthalpy",
    aliases="eosCalcRhoH0FromTP eosRhoH0FromTP",
)
collection(
    "rho_h_from_T_p",
    given="T p Y",
    outputs="rho h",
    what="density and enthalpy",
    aliases="eosRhoHFromTPProp prEOSRhoHFromTPProp",
)
collection(
    "T_from_h_p",
    given="h p Y",
    outputs="T unconverged",
    optional="T_start",
    what="temperature from enthalpy and pressure",
    aliases="eosTFromHP eosCalcTFromHP prEOSCalcTFromHP",
)
collection(
    "T_from_s_p",
    given="s p Y",
    outputs="T unconverged",
    optional="T_start",
    what="temperature from entropy and pressure",
    aliases="eosTFromSP",
)
collection(
    "T_from_e_rho",
    given="e rho Y",
    outputs="T p unconverged",
    optional="T_start",
    what="temperature and pressure from internal energy and density",
    aliases="eosTFromERho",
)
collection(
    "T_from_p_rho",
    given="p rho Y",
    outputs="T unconverged",
    optional="T_start",
    what="temperature from pressure and density",
)
CONSERVED = "rhou rhov rhow rhoE"

collection(
    "primitive_from_conserved",
    given=f"rhoY {CONSERVED}",
    outputs="rho u v w e T p Y unconverged",
    optional="rho T_start",
    what="temperature, pressure and the rest from partial densities, momentum and total energy",
)
collection(
    "primitive_from_conserved_but_last",
    given=f"rho rhoY_but_last {CONSERVED}",
    outputs="u v w e T p Y unconverged",
    optional="T_start",
    what="the same from density and all partial densities but the last",
)
collection("p_from_rho_T", given="rho T Y", outputs="p", what="pressure from density", aliases="eosPFromRhoT")
collection(
    "phase_flag_from_T_p",
    given="T p Y",
    outputs="phase_flag",
    what="which root of the equation of state is taken, and how many there are",
    aliases="eosPhaseFlag",
)
collection(
    "phase_flag_from_rho_T",
    given="rho T Y",
    outputs="p phase_flag",
    what="the same from density, the spinodal region included",
    aliases="eosPhaseFlagFromRhoT",
)
collection(
    "sound_speed_from_slopes",
    given="rho rho_p rho_T h_p h_T",
    outputs="c",
    what="speed of sound from derivatives of rho and h",
    aliases="eosCalcSoundSpeed prEOSCalcSoundSpeed",
)
collection(
    "gamma_jacobian_properties",
    given="T p Y",
    outputs="rho h c rho_p rho_T h_p h_T rho_Y h_Y",
    what="the properties in Gamma",
    aliases="eosGammaJacobianProperties prEOSGammaJacobianProperties",
)
collection(
    "gamma_matrices",
    given="T p Y u v w",
    outputs="gamma_jacobian gamma_inverse",
    optional="rho_p_prime V_p",
    what="Gamma = dU/dQ and its inverse; preconditioned where rho_p_prime or V_p is given",
)
KINETICS = "omega heat_release tau_chem"

collection("kinetics", given="T p Y rho", outputs=KINETICS, what="reaction rates at known density")
collection(
    "thermal_kinetics",
    given="T p Y",
    outputs=f"{THERMAL} {KINETICS}",
    what="equation of state, its derivatives and reaction rates",
)
collection("gamma_times_dQ", given="T p Y u v w dQ", outputs="dU", optional="rho_p_prime V_p", what="dU = Gamma dQ")
collection(
    "gamma_solve_dU", given="T p Y u v w dU", outputs="dQ", optional="rho_p_prime V_p", what="dQ from Gamma dQ = dU"
)
collection(
    "effective_transport",
    given="rho cp mu lam D muT",
    outputs="mu_eff lam_eff D_eff",
    what="molecular and turbulent transport, after one of the collections above",
)
collection(
    "thermal_viscous_turbulent",
    given="T p Y muT",
    outputs=THERMAL + " mu lam D mu_eff lam_eff D_eff",
    what="thermal_viscous and effective_transport in one launch",
)
