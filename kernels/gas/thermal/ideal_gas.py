"""Composition, ideal-gas properties, total enthalpy."""

from ..declare import constants, point_kernel, quantity
from ..records import Constants
from ..species import GAS_CONSTANT as R

for name, unit, what, *per in (
    ("T", "K", "temperature"),
    ("p", "Pa", "pressure"),
    ("Y", "1", "mass fractions", "ns"),
    ("X", "1", "mole fractions", "ns"),
    ("W", "kg/mol", "mean molar mass"),
    ("R_s", "J/kg/K", "specific gas constant R/W"),
    ("u", "m/s", "velocity, x"),
    ("v", "m/s", "velocity, y"),
    ("w", "m/s", "velocity, z"),
    ("h", "J/kg", "enthalpy, formation included"),
    ("h0", "J/kg", "total enthalpy"),
    ("cp_ig", "J/kg/K", "ideal-gas heat capacity at constant pressure"),
    ("h_ig", "J/kg", "ideal-gas enthalpy"),
    ("s_ig", "J/kg/K", "ideal-gas entropy at T, p and this composition"),
):
    quantity(name, unit, what, *per)

COMPOSITION = "sum(Y) = 1 within 1e-6 (else NaN); Y >= -0.001, used as it is"
NASA = "inv_W T_mid? T_mid_lowest? T_mid_highest? nasa_low? nasa_high? nasa9? nasa9_break?"

point_kernel(
    "molar_mass",
    header="gas/thermal/ideal_gas.h",
    phases="any",
    packs=4,
    reads="Y",
    writes="W R_s",
    constants="inv_W",
    source="definition, 1/W = sum(Y_i/W_i)",
    valid=COMPOSITION,
)
point_kernel(
    "mole_fractions",
    header="gas/thermal/ideal_gas.h",
    phases="any",
    packs=4,
    reads="Y W",
    writes="X",
    constants="inv_W",
    source="definition, X_i = Y_i W/W_i",
    valid=COMPOSITION,
)
point_kernel(
    "mass_fractions",
    header="gas/thermal/ideal_gas.h",
    phases="any",
    packs=4,
    reads="X",
    writes="Y",
    constants="W",
    source="definition, Y_i = X_i W_i/sum(X_j W_j)",
    valid=COMPOSITION.replace("Y", "X"),
)
point_kernel(
    "ideal_gas",
    header="gas/thermal/ideal_gas.h",
    phases="any",
    packs=2,
    reads="T Y",
    writes="cp_ig h_ig",
    constants=NASA,
    source="McBride, Gordon & Reno 1993 (NASA TM-4513), 7 coefficients; McBride, Zehe & Gordon 2002 (NASA "
    "TP-2002-211556), 9",
    valid="T within the species' ranges; extrapolated beyond",
)
point_kernel(
    "ideal_gas_entropy",
    header="gas/thermal/ideal_gas.h",
    phases="any",
    packs=2,
    reads="T p Y W",
    writes="s_ig",
    constants=NASA + " inv_p_ref",
    source="McBride, Gordon & Reno 1993, 7 coefficients, or 9; ideal mixing",
    valid="p > 0",
)
point_kernel(
    "total_enthalpy",
    header="gas/thermal/ideal_gas.h",
    phases="any",
    packs=4,
    reads="h u v w",
    writes="h0",
    source="definition, h + |u|^2/2",
    valid="everywhere",
)


def ideal_gas(species, options) -> Constants:
    """Molar masses and NASA coefficients times R/W_i, so that bodies can sum over mass fractions. The species index is
    the fastest in memory: (7, ns), or (ranges, 9, ns)."""
    values = dict(W=species.W, inv_W=1 / species.W, inv_p_ref=[1 / species.p_ref])
    if species.nasa9 is None:
        return Constants(
            values
            | dict(
                T_mid=species.T_mid,
                T_mid_lowest=[species.T_mid.min()],
                T_mid_highest=[species.T_mid.max()],
                nasa_low=(species.nasa_low * (R / species.W)[:, None]).T,
                nasa_high=(species.nasa_high * (R / species.W)[:, None]).T,
            ),
            sizes={"NASA9_RANGES": 0},
        )

    ranges = species.nasa9.shape[1]
    values |= dict(
        nasa9=(species.nasa9 * (R / species.W)[:, None, None]).transpose(1, 2, 0),
        nasa9_break=species.T_break[:, 1:-1].T if ranges > 1 else [0.0],
    )

    return Constants(values, sizes={"NASA9_RANGES": ranges})


constants(f"W inv_p_ref {NASA.replace('?', '')}", ideal_gas)
