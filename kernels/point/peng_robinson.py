"""Peng-Robinson equation of state of a mixture: van der Waals one-fluid rules, every derivative analytic."""
from ..declare import point_kernel, quantity

quantity("a_mix", "Pa m6/mol2", "attraction parameter a(T) of the mixture")
quantity("a_T", "Pa m6/mol2/K", "first temperature derivative of a_mix")
quantity("a_TT", "Pa m6/mol2/K2", "second temperature derivative of a_mix")
quantity("b_mix", "m3/mol", "covolume of the mixture")
quantity("Z", "1", "compressibility factor")
quantity("v_mol", "m3/mol", "molar volume")
quantity("rho", "kg/m3", "density")
quantity("p_v", "Pa mol/m3", "dp/dv at constant T, composition; molar volume")
quantity("p_T", "Pa/K", "dp/dT at constant molar volume, composition")
quantity("pr_L", "mol/m3", "integral of dv/(v^2 + 2bv - b^2) from v to infinity")
quantity("e", "J/kg", "internal energy")
quantity("s", "J/kg/K", "entropy")
quantity("cv", "J/kg/K", "heat capacity at constant volume")
quantity("cp", "J/kg/K", "heat capacity at constant pressure")
quantity("gamma", "1", "cp/cv")
quantity("rho_p", "kg/m3/Pa", "d rho/dp at constant T, Y")
quantity("rho_T", "kg/m3/K", "d rho/dT at constant p, Y")
quantity("h_p", "J/kg/Pa", "dh/dp at constant T, Y")
quantity("h_T", "J/kg/K", "dh/dT at constant p, Y")
quantity("c", "m/s", "speed of sound")
quantity("Tc_mix", "K", "pseudo-critical temperature")
quantity("pc_mix", "Pa", "pseudo-critical pressure")
quantity("vc_mix", "m3/mol", "pseudo-critical molar volume")

PR = "Peng & Robinson 1976"
KIJ = "one_minus_kij? half_one_minus_kij_diagonal? kij_factor? kij_sign? kij_first? kij_second? kij_value?"
ONE_PHASE = "single-phase T, p; NaN beyond a spinodal never occurs, since the root is one of the given p"

point_kernel("pr_mixture", header="peng_robinson.h", reads="T Y W", writes="a_mix a_T a_TT b_mix",
             constants="b_mass pr_g_mass pr_q_mass " + KIJ, source=PR + "; alpha of Robinson & Peng 1978 above omega 0.491", valid="T > 0",
             note="sqrt(alpha_i alpha_j) = |f_i||f_j|: f_i changes sign at T = Tc (1 + 1/kappa)^2, 1388 K for N2")
point_kernel("critical_state", header="peng_robinson.h", reads="Y W", writes="Tc_mix pc_mix vc_mix",
             constants="b_mass root_ac_mass omega_a omega_b omega_vc " + KIJ, source=PR + ", inverted for a mixture with alpha = 1",
             valid="everywhere", note="a pseudo-critical point, not the mixture's true one")
point_kernel("pr_compressibility", header="peng_robinson.h", reads="T p a_mix b_mix", writes="Z", source=PR + ", cubic in Z",
             valid="T > 0, p > 0", note="of three roots Z > B the one of lower residual Gibbs energy, or as option root says")
point_kernel("molar_volume", header="peng_robinson.h", reads="T p Z", writes="v_mol", source="definition, Z R T/p", valid="p > 0")
point_kernel("density", header="peng_robinson.h", reads="W v_mol", writes="rho", source="definition, W/v", valid="v > 0")
point_kernel("pr_pressure_slopes", header="peng_robinson.h", reads="T a_mix a_T b_mix v_mol", writes="p_v p_T",
             source=PR + ", differentiated", valid="v > b")
point_kernel("pr_log", header="peng_robinson.h", reads="b_mix v_mol", writes="pr_L", source=PR + ", departure integral", valid="v > b")
point_kernel("pr_enthalpy", header="peng_robinson.h", reads="T W h_ig Z a_mix a_T pr_L", writes="h", source=PR + ", departure function", valid="v > b")
point_kernel("pr_entropy", header="peng_robinson.h", reads="W s_ig Z b_mix v_mol a_T pr_L", writes="s", source=PR + ", departure function", valid="v > b")
point_kernel("pr_cv", header="peng_robinson.h", reads="T W cp_ig a_TT pr_L", writes="cv", source=PR + ", departure function", valid="v > b")
point_kernel("heat_capacity_p", header="peng_robinson.h", reads="T W cv p_v p_T", writes="cp", source="cp - cv = -T p_T^2/p_v", valid="p_v < 0")
point_kernel("heat_capacity_ratio", header="peng_robinson.h", reads="cp cv", writes="gamma", source="definition", valid="cv > 0")
point_kernel("density_slopes", header="peng_robinson.h", reads="W v_mol p_v p_T", writes="rho_p rho_T", source="implicit differentiation of p(T, v)", valid="p_v < 0")
point_kernel("enthalpy_slopes", header="peng_robinson.h", reads="T W a_mix a_T b_mix v_mol p_v cp", writes="h_p h_T", source="h_p = v - T v_T, h_T = cp", valid="p_v < 0")
point_kernel("sound_speed", header="peng_robinson.h", reads="gamma rho_p", writes="c", source="c^2 = gamma/rho_p at constant T, Y", valid="gamma/rho_p > 0")
point_kernel("internal_energy", header="peng_robinson.h", reads="p rho h", writes="e", source="definition, h - p/rho", valid="rho > 0")
