"""Quantities and kernels of the cubic equations of state in records.py: one-fluid mixing, analytic derivatives.

All quantities are per kg. Volume translation (option translation) shifts v by a constant of the composition. It changes
Z, vol, rho, h, rho_p, rho_T, h_p and c; it does not change e, s, cp, cv and the choice of the root.
"""

from ..declare import point_kernel, quantity
from .records import BY_SPECIES, FAMILY, PSEUDOCRITICAL, ROOTS

# Name, unit, meaning
for name, unit, meaning in (
    ("a_mix", "Pa m6/kg2", "attraction parameter a(T) of the mixture"),
    ("a_T", "Pa m6/kg2/K", "first temperature derivative of a_mix"),
    ("a_TT", "Pa m6/kg2/K2", "second temperature derivative of a_mix"),
    ("b_mix", "m3/kg", "covolume of the mixture"),
    (
        "shift_mix",
        "m3/kg",
        "volume translation of the mixture: v of the equation of state less this is the specific volume; 0 without",
    ),
    ("Z", "1", "compressibility factor p vol/(R_s T)"),
    ("vol", "m3/kg", "specific volume"),
    ("v_free", "m3/kg", "free volume v - b of the equation of state, before translation"),
    ("inv_free", "kg/m3", "1/v_free"),
    ("inv_D", "kg2/m6", "1/D, D = (v + delta1 b)(v + delta2 b)"),
    ("inv_centred", "kg/m3", "1/(v + (delta1 + delta2) b/2), v before translation: halfway between the poles of 1/D"),
    ("v_mol", "m3/mol", "molar volume"),
    ("rho", "kg/m3", "density"),
    ("p_v_attractive", "Pa kg/m3", "part of p_v that a_mix brings"),
    ("p_v_repulsive", "Pa kg/m3", "part of p_v that b_mix brings, and the ideal gas"),
    ("p_v", "Pa kg/m3", "dp/dv at constant T, Y; specific volume"),
    ("p_T", "Pa/K", "dp/dT at constant specific volume, Y"),
    ("v_p", "m3/kg/Pa", "dv/dp at constant T, Y; 1/p_v"),
    ("cubic_L", "kg/m3", "integral of dv/D from v to infinity"),
    ("e", "J/kg", "internal energy"),
    ("s", "J/kg/K", "entropy"),
    (
        "residual_entropy",
        "1",
        "s+ = -s_res(T, rho)/R: entropy below the ideal gas of the same T and density, over the gas constant",
    ),
    ("cv", "J/kg/K", "heat capacity at constant volume"),
    ("cp", "J/kg/K", "heat capacity at constant pressure"),
    ("gamma", "1", "cp/cv"),
    ("rho_p", "kg/m3/Pa", "d rho/dp at constant T, Y"),
    ("rho_T", "kg/m3/K", "d rho/dT at constant p, Y"),
    ("h_p", "J/kg/Pa", "dh/dp at constant T, Y"),
    ("h_T", "J/kg/K", "dh/dT at constant p, Y"),
    ("c", "m/s", "speed of sound"),
    (
        "phase_flag",
        "1",
        "0: the only root v > b; of several 1: the smallest (a liquid), 2: the largest (a vapour); 3: unstable, "
        "dp/dv >= 0; 4: two phases in equilibrium",
    ),
    ("Tc_mix", "K", "pseudo-critical temperature"),
    ("pc_mix", "Pa", "pseudo-critical pressure"),
    ("vc_mix", "m3/mol", "pseudo-critical molar volume"),
    ("delta_mix", "1", "delta_1 of the mixture, where it is one of each species"),
):
    quantity(name, unit, meaning)

CUBIC = "the equation's own (records.py; originals not seen)"

# Constants that the kernels read; `?`: only some options have it.
KIJ = "one_minus_kij? kij_upper? kij_factor? kij_sign? kij_first? kij_second? kij_value?"
DELTA = "delta_numbers?"
ALPHA = "g_mass? q_mass? bend_size? bend_inverse? bend_T? alpha_numbers?"
PAIRS = f"b_mass {ALPHA} shift_mass? pair_constant? pair_linear? pair_square? {KIJ}"


def shared(name, reads, writes, source, valid, **more):
    """Declares a kernel that every equation of state has."""
    point_kernel(
        name, header="gas/equations/cubic.h", reads=reads, writes=writes, source=source, valid=valid, packs=4, **more
    )


def kernel(name, reads, writes, source, valid, constants=DELTA, equations=FAMILY, **more):
    """Declares a kernel of the cubic equations of state. equations: ROOTS if the root w of a mapped equation may stand
    for v.

    delta_1 and delta_2 come with any constant of the function `cubic` of constants.py. So DELTA, which may be absent,
    is enough for a kernel that reads no other constant.
    """
    shared(name, reads, writes, source, valid, constants=constants, when={"equation": equations}, **more)


kernel(
    "cubic_mixture",
    "T Y",
    "a_mix a_T a_TT b_mix shift_mix",
    CUBIC + "; mixing by pseudo-critical pairs: Miller, Harstad & Bellan 2001 (original not seen)",
    "T > 0",
    constants=PAIRS,
    note="pr, srk with alpha = published, cantera: sqrt(alpha_i alpha_j) = |f_i||f_j|: f_i changes sign at T = Tc (1 + "
    "1/kappa)^2, 1388 K for N2",
)
point_kernel(
    "cubic_delta",
    header="gas/equations/cubic.h",
    packs=4,
    reads="Y W",
    writes="delta_mix",
    source="Cismondi & Mollerup 2005 (original not seen), delta_1 = sum(X_i delta_1i)",
    valid="everywhere",
    constants="delta_numbers",
    when={"equation": BY_SPECIES},
    phases="any",
)
shared(
    "critical_state",
    "Y R_s delta_mix?",
    "Tc_mix pc_mix vc_mix",
    CUBIC + ", inverted for a mixture with alpha = 1",
    "everywhere",
    constants=f"b_mass root_ac_mass? pair_critical? omega_a? omega_b? omega_vc? {KIJ}",
    note="a pseudo-critical point, not the mixture's true one; of an ideal gas Peng-Robinson's",
    when={"equation": PSEUDOCRITICAL},
    phases="any",
)
kernel(
    "cubic_root",
    "T p R_s a_mix b_mix shift_mix delta_mix?",
    "Z vol v_free",
    CUBIC + ", cubic in p (v - b)/(R T)",
    "T > 0, p > 0",
    sweeps="root",
    alone=True,
    note="of three roots v > b the one of lower residual Gibbs energy, or as option root says",
)
kernel(
    "cubic_reciprocals",
    "b_mix v_free vol delta_mix?",
    "rho inv_free inv_D inv_centred",
    "definitions; rho = 1/vol",
    "v > b",
    equations=ROOTS,
)
shared("molar_volume", "W vol", "v_mol", "definition, W vol", "everywhere", phases="any")
kernel(
    "cubic_pressure_slopes",
    "T R_s a_mix a_T b_mix v_free inv_free inv_D delta_mix?",
    "p_v_attractive p_v_repulsive p_v p_T v_p",
    CUBIC + ", differentiated",
    "v > b",
)
kernel(
    "cubic_phase_flag",
    "T p R_s a_mix b_mix v_free p_v delta_mix?",
    "phase_flag",
    CUBIC + ", roots counted by the discriminant",
    "v > b",
    note="of T and p the root that the option root takes, which is stable; of rho and T also what lies inside the "
    "spinodal",
    equations=ROOTS,
)
kernel("cubic_departure", "b_mix inv_centred delta_mix?", "cubic_L", CUBIC + ", departure integral", "v > b")
kernel("cubic_enthalpy", "T R_s h_ig Z a_mix a_T cubic_L", "h", CUBIC + ", departure function", "v > b")
kernel("cubic_entropy", "T p R_s s_ig v_free a_T cubic_L", "s", CUBIC + ", departure function", "v > b")
kernel(
    "cubic_residual_entropy",
    "R_s a_T vol inv_free cubic_L",
    "residual_entropy",
    CUBIC + ", departure function",
    "v > b",
)
kernel("cubic_cv", "T R_s cp_ig a_TT cubic_L", "cv", CUBIC + ", departure function", "v > b")
kernel("heat_capacity_p", "T cv p_T v_p", "cp", "cp - cv = -T p_T^2/p_v", "p_v < 0", equations=ROOTS)
shared(
    "heat_capacity_ratio",
    "cp cv p_v vol",
    "gamma c",
    "cp/cv; c^2 = gamma dp/d rho at constant T, Y",
    "cv > 0, p_v < 0",
)
shared("density_slopes", "rho p_T v_p", "rho_p rho_T", "implicit differentiation of p(T, v)", "p_v < 0")
kernel(
    "enthalpy_slopes",
    "T a_T b_mix shift_mix v_free inv_D p_v_attractive p_v_repulsive v_p cp",
    "h_p h_T",
    "h_p = v - T v_T, h_T = cp",
    "p_v < 0",
)
shared("internal_energy", "p vol h", "e", "definition, h - p vol", "everywhere", phases="any")
