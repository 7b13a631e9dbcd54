"""Names of quantities in Cantera and CoolProp, for the message on an unknown name."""

from __future__ import annotations

# Our name: their names; case does not count. Theirs may be per mole, ours are per kg.
# CoolProp's single letters are left out: V is its viscosity.
OTHER_NAMES = {
    "T": "temperature",
    "p": "pressure",
    "rho": "density density_mass Dmass rhomass",
    "vol": "volume volume_mass specific_volume",
    "v_mol": "volume_mole molar_volume",
    "W": "mean_molecular_weight molar_mass molarmass molemass molecular_weight",
    "Z": "compressibility compressibility_factor",
    "h": "enthalpy enthalpy_mass enthalpy_mole Hmass Hmolar",
    "e": "int_energy int_energy_mass int_energy_mole internal_energy Umass Umolar",
    "s": "entropy entropy_mass entropy_mole Smass Smolar",
    "g": "gibbs gibbs_mass gibbs_mole Gmass Gmolar",
    "cp": "cp_mass cp_mole Cpmass Cpmolar heat_capacity",
    "cv": "cv_mass cv_mole Cvmass Cvmolar",
    "gamma": "isentropic_exponent heat_capacity_ratio",
    "c": "sound_speed speed_of_sound speed_sound",
    "mu": "viscosity dynamic_viscosity",
    "lam": "thermal_conductivity conductivity lambda",
    "D": "mix_diff_coeffs diffusion_coefficients diffusivity",
    "D_mass": "mix_diff_coeffs_mass",
    "D_mole": "mix_diff_coeffs_mole",
    "D_ij": "binary_diff_coeffs",
    "kappa_T": "isothermal_compressibility",
    "alpha_p": "thermal_expansion_coeff isobaric_expansion_coefficient thermal_expansion",
    "mu_JT": "joule_thomson_coefficient joule_thomson JT",
    "Pr": "prandtl prandtl_number",
    "Le": "lewis lewis_number lewis_numbers",
    "X": "mole_fractions molefractions",
    "Y": "mass_fractions massfractions",
    "g_Y": "chemical_potentials chemical_potential partial_molar_gibbs",
    "h_Y": "partial_molar_enthalpies partial_molar_enthalpy",
    "s_Y": "partial_molar_entropies partial_molar_entropy",
    "v_Y": "partial_molar_volumes partial_molar_volume",
    "ln_phi": "fugacity_coefficient fugacity_coefficients fugacity fugacities",
    "Tc_mix": "critical_temperature Tcrit",
    "pc_mix": "critical_pressure pcrit",
    "beta_mass": "quality vapor_fraction vapour_fraction",
    "phase_flag": "phase phase_of_matter",
    "omega": "net_production_rates",
    "creation": "creation_rates",
    "destruction": "destruction_rates",
    "heat_release": "heat_release_rate",
    "rate_f": "forward_rates_of_progress",
    "rate_r": "reverse_rates_of_progress",
    "rate_net": "net_rates_of_progress",
    "Kc": "equilibrium_constants",
}

_OURS = {other.lower(): name for name, others in OTHER_NAMES.items() for other in others.split()}


def meant(name: str) -> str:
    """Our name for a name of Cantera or CoolProp; "" for others."""
    return _OURS.get(str(name).lower(), "")
