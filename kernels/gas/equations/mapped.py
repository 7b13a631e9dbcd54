"""Quantities and kernels of equation `mapped`: a cubic equation of state whose root w is mapped to the volume.

    p(T, v) = R T/(w - b) - a/((w + delta_1 b)(w + delta_2 b)),  v = w - C(T, w)

Each kernel is the cubic's with the terms of the map added, under the same names of quantities. Kernels of cubic.py that
need no such terms serve this equation too. Where `mapped` lacks a kernel, the quantity is refused by name.
"""

from ..declare import point_kernel, quantity
from ..thermal.ideal_gas import NASA
from .cubic import DELTA, KIJ, PAIRS
from .derivatives import PAIRS as ROWS
from .inversion import METHOD, RANGE, SINGLE
from .records import MAPPED

for name, unit, meaning in (
    ("map_0", "m3/kg", "c_0 - tau(T) of the volume map C = c_0 + c_1 x + c_2 x^2 + c_3 x^3 - tau, x = b/w"),
    ("map_1", "m3/kg", "c_1 of the volume map"),
    ("map_2", "m3/kg", "c_2 of the volume map"),
    ("map_3", "m3/kg", "c_3 of the volume map"),
    ("map_I", "1", "integral of (dv/dw - 1)/(w - b) from w to infinity"),
    ("shift_w", "1", "slope of the volume map in w: dv/dw = 1 - shift_w"),
    ("shift_T", "m3/kg/K", "slope of the volume map in T at constant w"),
    ("shift_TT", "m3/kg/K2", "second derivative of the volume map in T at constant w"),
):
    quantity(name, unit, meaning)

MAPPED_EQUATION = "the equation's own (mapped.h; derived here)"
MAP = "map_0 map_1 map_2 map_3"


def kernel(name, reads, writes, valid, constants=DELTA, source=MAPPED_EQUATION, **more):
    """Declares a kernel of mapped.h."""
    point_kernel(
        name,
        header="gas/equations/mapped.h",
        reads=reads,
        writes=writes,
        constants=constants,
        source=source,
        valid=valid,
        when={"equation": MAPPED},
        **{"packs": 4, **more},
    )


kernel(
    "mapped_mixture",
    "T Y",
    f"a_mix a_T a_TT b_mix {MAP} shift_T shift_TT",
    "T > 0",
    constants=f"{PAIRS} map_numbers map_tiles?",
    spare="a_TT",  # transport reads a and a' alone
    packs=2,  # of four packs, the sums over pairs of ten species do not fit in the registers
)
kernel(
    "mapped_critical_state",
    "Y R_s delta_mix",
    "Tc_mix pc_mix vc_mix",
    "everywhere",
    constants=f"b_mass root_ac_mass? map_numbers {DELTA} {KIJ}",
    note="a pseudo-critical point, not the mixture's true one",
    phases="any",
)
kernel(
    "mapped_root",
    f"T p R_s a_mix b_mix {MAP} delta_mix",
    "Z vol v_free shift_mix shift_w",
    "T > 0, 0 < p <= 1e9 Pa",
    sweeps="root",
    alone=True,
    note="of three roots w > b the one of lower residual Gibbs energy, the map counted, or as option root says",
)
kernel(
    "mapped_pressure_slopes",
    "T R_s a_mix a_T b_mix v_free inv_free inv_D shift_w shift_T delta_mix",
    "p_v_attractive p_v_repulsive p_v p_T v_p",
    "w > b",
)
kernel("mapped_departure", "b_mix v_free inv_centred map_1 map_2 map_3 delta_mix", "cubic_L map_I", "w > b")
kernel("mapped_enthalpy", "T p R_s h_ig Z a_mix a_T cubic_L shift_T", "h", "w > b")
kernel("mapped_entropy", "T p R_s s_ig v_free a_T cubic_L map_I shift_T", "s", "w > b")
kernel("mapped_residual_entropy", "p R_s a_T vol inv_free cubic_L map_I shift_T", "residual_entropy", "w > b")
kernel("mapped_cv", "T p R_s cp_ig a_TT cubic_L p_v p_T shift_T shift_TT", "cv", "w > b")
kernel(
    "mapped_enthalpy_slopes",
    "T a_T b_mix v_free inv_D p_v_attractive p_v_repulsive v_p cp shift_mix shift_w shift_T",
    "h_p h_T",
    "p_v < 0",
    source="h_p = v - T v_T, h_T = cp",
)
kernel(
    "mapped_energy_slopes",
    "a_mix a_T T inv_D p_T v_p cv shift_T",
    "e_p e_T",
    "p_v < 0",
    source=MAPPED_EQUATION + ", de/dv = T p_T - p",
)

# ---- In the composition

kernel(
    "mapped_partial_properties",
    f"T p Y R_s a_mix a_T b_mix v_free inv_free inv_D p_T p_v v_p cubic_L {MAP} shift_T delta_mix",
    "v_Y h_Y e_Y",
    "p_v < 0",
    constants=f"{ROWS} map_numbers {NASA}",
    packs=1,
    sweeps="states",
)
kernel(
    "mapped_fugacity",
    f"T p Y R_s a_mix b_mix v_free inv_free inv_D cubic_L map_I {MAP} delta_mix",
    "ln_phi",
    "w > b",
    constants=f"{ROWS} map_numbers W",
    packs=1,
    sweeps="states",
)

# ---- From other variables than T and p


def inversion(name, reads, given, more="", valid=f"{RANGE}; 0 < p <= 1e9 Pa", also=""):
    """Declares the two kernels of an inversion: with a start of the host's own, T_start, and without. also: results
    beside T and unconverged."""
    for start in ("", " T_start"):
        kernel(
            f"mapped_temperature_from_{name}{start.replace(' T', '')}",
            reads + start,
            f"T unconverged{also}",
            valid,
            given=given + start,
            constants=f"{PAIRS} {DELTA} {NASA} map_numbers map_tiles?{more}",
            source=METHOD,
            packs=1,
            sweeps="states",
            double_only=SINGLE,
        )


inversion("h_p", "h p Y R_s", "h", " h_mid?")
inversion("s_p", "s p Y W R_s", "s", " inv_p_ref")
inversion("e_rho", "e rho Y R_s", "e rho", " h_mid?", valid=f"{RANGE}; 1/rho above the volume at w = b")
inversion(
    "p_rho",
    "p rho Y R_s",
    "p rho",
    valid=f"{RANGE}; 1/rho above the volume at w = b; p <= 1e9 Pa",
    also=" Z vol v_free shift_mix shift_w",
)
kernel(
    "mapped_pressure",
    f"rho T R_s a_mix b_mix {MAP} delta_mix",
    "p Z vol v_free shift_mix shift_w",
    "1/rho above the volume at w = b, p <= 1e9 Pa (else NaN); p may be negative",
    given="rho",
    packs=1,
    sweeps="states",
    note="the density given chooses the root",
)
kernel(
    "mapped_residual_entropy_of_density",
    f"rho T R_s a_mix a_T b_mix {MAP} shift_T delta_mix",
    "residual_entropy",
    "1/rho above the volume at w = b (else NaN)",
    given="rho",
    packs=2,  # four logarithms and two steps to w of more packs do not fit in the registers
    note="no root is sought: the density given is the state's",
)
