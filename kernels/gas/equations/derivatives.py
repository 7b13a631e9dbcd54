"""Derivatives in the composition: partial properties, fugacity coefficients, chemical potentials; those of e and s in p
and T.

With masses m_k in place of Y_k, V(T, p, m), H, E, S and G are homogeneous of degree 1 in m. `v_Y h_Y e_Y s_Y g_Y` are
their derivatives in m_k at constant T, p and the other masses, at m = Y: partial properties per kg of species k, so
that v = sum Y_k v_k, h = sum Y_k h_k. `rho_Y` is that of rho = 1/V(T, p, m): -rho^2 v_k. Every Y_k varies alone, sum(Y)
is not held. Where the last species makes up the sum, d/dY_k = rho_Y[k] - rho_Y[ns - 1], and so for the others.
"""

from ..declare import point_kernel, quantity
from ..thermal.ideal_gas import NASA
from .cubic import ALPHA, DELTA, FAMILY

for name, unit, what, *per in (
    ("v_Y", "m3/kg", "partial specific volumes, dV/dm_k at constant T, p", "ns"),
    ("h_Y", "J/kg", "partial specific enthalpies, dH/dm_k at constant T, p", "ns"),
    ("e_Y", "J/kg", "partial specific internal energies, dE/dm_k at constant T, p", "ns"),
    (
        "s_Y",
        "J/kg/K",
        "partial specific entropies, dS/dm_k at constant T, p; mole fractions below 1e-300 count as that",
        "ns",
    ),
    ("ln_phi", "1", "logarithms of the fugacity coefficients", "ns"),
    ("g_Y", "J/kg", "chemical potentials, dG/dm_k at constant T, p; mole fractions below 1e-300 count as that", "ns"),
    ("rho_Y", "kg/m3", "d rho/dm_k at constant T, p, -rho^2 v_k; each Y_k varied alone", "ns"),
    ("e_p", "J/kg/Pa", "de/dp at constant T, Y"),
    ("e_T", "J/kg/K", "de/dT at constant p, Y"),
    ("s_p", "J/kg/K/Pa", "ds/dp at constant T, Y"),
    ("s_T", "J/kg/K2", "ds/dT at constant p, Y"),
    ("kappa_T", "1/Pa", "isothermal compressibility, (drho/dp at constant T, Y)/rho"),
    ("alpha_p", "1/K", "thermal expansion, -(drho/dT at constant p, Y)/rho"),
    ("mu_JT", "K/Pa", "Joule-Thomson coefficient, dT/dp at constant h, Y"),
    ("g", "J/kg", "Gibbs energy, h - T s"),
    ("eps_k", "J/kg", "d(rho e)/d rho_k at constant p and other partial densities rho_j = rho Y_j", "ns"),
):
    quantity(name, unit, what, *per)

CUBIC = "the equation's own (equations/records.py; originals not seen)"
PAIRS = f"b_mass {ALPHA} {DELTA} shift_mass? kij_rows? kij_factor? kij_sign? pair_rows?"


def kernel(name, reads, writes, source, valid, **more):
    """point_kernel of derivatives.h. sweeps="states" stands beside the kernels that hold numbers of every species."""
    point_kernel(
        name,
        header="gas/equations/derivatives.h",
        reads=reads,
        writes=writes,
        source=source,
        valid=valid,
        **more,
    )


kernel(
    "cubic_partial_properties",
    "T p Y R_s a_mix a_T b_mix v_free inv_free inv_D p_T v_p cubic_L delta_mix?",
    "v_Y h_Y e_Y",
    CUBIC + ", differentiated in the masses",
    "p_v < 0",
    constants=f"{PAIRS} {NASA}",
    when={"equation": FAMILY},
    sweeps="states",
)
kernel(
    "cubic_fugacity",
    "T p Y R_s a_mix b_mix v_free inv_free inv_D cubic_L delta_mix?",
    "ln_phi",
    CUBIC + ", residual Helmholtz energy differentiated in the masses",
    "v > b",
    constants=f"{PAIRS} W",
    when={"equation": FAMILY},
    sweeps="states",
)
kernel(
    "ideal_partial_properties",
    "T p",
    "v_Y h_Y e_Y",
    "definition",
    "T > 0, p > 0; low density",
    constants=NASA,
    when={"equation": "ideal"},
    sweeps="states",
)
kernel(
    "ideal_fugacity",
    "T p",
    "ln_phi",
    "definition, 0",
    "T > 0, p > 0; low density",
    when={"equation": "ideal"},
    sweeps="states",
)
kernel(
    "chemical_potentials",
    "T p Y W ln_phi",
    "g_Y",
    "definition, from h and s of the ideal gas and ln phi",
    "p > 0",
    constants=f"inv_p_ref {NASA}",
    sweeps="states",
    phases="any",
)
kernel(
    "density_in_composition", "rho v_Y", "rho_Y", "definition, -rho^2 v_k", "everywhere", sweeps="states", phases="any"
)
kernel(
    "energy_in_partial_density",
    "rho cp rho_T v_Y h_Y",
    "eps_k",
    "eps_k = h_k - (cp/beta) rho v_k, beta = -rho_T/rho",
    "rho_T < 0",
    sweeps="states",
    phases="any",
)
kernel("partial_entropies", "T h_Y g_Y", "s_Y", "definition, g = h - T s", "T > 0", sweeps="states", phases="any")
kernel(
    "energy_slopes",
    "a_mix a_T T inv_D p_T v_p cv",
    "e_p e_T",
    CUBIC + ", de/dv = T p_T - p",
    "p_v < 0",
    packs=4,
    when={"equation": FAMILY},
)
kernel(
    "ideal_energy_slopes",
    "h_p cv",
    "e_p e_T",
    "definition, e of T alone",
    "T > 0, p > 0; low density",
    packs=4,
    when={"equation": "ideal"},
)
kernel(
    "entropy_slopes",
    "T p_T v_p cp",
    "s_p s_T",
    "ds/dp = -dv/dT (Maxwell), ds/dT = cp/T",
    "p_v < 0",
    packs=4,
    phases="any",
)
kernel("compressibilities", "rho rho_p rho_T", "kappa_T alpha_p", "definition", "rho > 0", packs=4, phases="any")
kernel("joule_thomson", "h_p cp", "mu_JT", "definition, -h_p/cp", "cp > 0", packs=4, phases="any")
kernel("gibbs_energy", "T h s", "g", "definition, h - T s", "T > 0", packs=4, phases="any")
