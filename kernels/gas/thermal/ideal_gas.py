"""Composition, ideal-gas properties, total enthalpy."""

import numpy as np

from ..declare import constants, fallback, option, point_kernel, quantity
from ..records import Constants
from ..species.cold import cold_polynomial

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

# of searches for a temperature, equilibria and reactors: SpeciesData.T_end
END = "6000 K, or to the end of all polynomials where that is higher"
SUMMED = 6  # coefficients of cp and h, which matrix units sum over the species
REACTS_FROM = 200.0  # K, COLDEST of kinetics/rates.h
COMPOSITION = "sum(Y) = 1 within 1e-6 (else NaN); Y >= -0.001, used as it is"
NASA = (
    "inv_W T_mid? T_mid_lowest? T_mid_highest? nasa_low? nasa_high? nasa_low_tiles? nasa_high_tiles? nasa_cold? "
    "T_cold? T_cold_highest? nasa9? nasa9_break?"
)

option(
    "cold_cp",
    {
        "polynomial": r"$c_p^0$ of the file's polynomials. Below their range they are extrapolated.",
        "fitted": r"Below the range of its polynomials a species with a row in `cold_ranges.csv` has $c_p^0/R = "
        r"\sum_k a_k T^k$, fitted to the ideal part of its reference equation (CoolProp 8.0.0), plus $d\,T^3 + e\,T^4$ "
        r"with which $c_p^0$ and its slope are continuous.",
    },
    "ideal-gas heat capacities below the range of the polynomials; with equation mapped the default is fitted",
)
fallback("cold_cp", "fitted", lambda options, species: options["equation"] == "mapped")

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
    numbers = {"T_end": species.T_end}

    is_fitted = options["cold_cp"] == "fitted"
    cold = [cold_polynomial(species, s) if is_fitted else None for s in range(species.ns)]
    has_cold = np.array([row is not None for row in cold])
    notes = []
    if has_cold.any():
        notes.append(f"ideal-gas cp below the polynomials of {species.named(has_cold)}: cold_ranges.csv.")

    if species.nasa9 is None:
        reacting = has_cold & (species.T_min > REACTS_FROM)
        sizes = {
            "NASA9_RANGES": 0,
            "cold_ranges": bool(has_cold.any()),
            "cold_reactions": bool(reacting.any()),
        }
        values |= _nasa7(species, cold)
        tiles = {f"{name}_tiles": values[name][:SUMMED] for name in ("nasa_low", "nasa_high")}
        return Constants(values, unit_rows=tiles, sizes=sizes, numbers=numbers, notes=notes)

    rows, T_break = _nasa9(species, cold)
    values |= dict(
        nasa9=(rows * (species.R / species.W)[:, None, None]).transpose(1, 2, 0),
        nasa9_break=T_break.T if T_break.size else [0.0],
    )

    sizes = {"NASA9_RANGES": rows.shape[1], "cold_ranges": False, "cold_reactions": False}
    return Constants(values, sizes=sizes, numbers=numbers, notes=notes)


def _nasa7(species, cold) -> dict:
    """Coefficients of both ranges, and what cold ranges add to those of the lower range."""
    scale = (species.R / species.W)[:, None]
    values = dict(
        T_mid=species.T_mid,
        T_mid_lowest=[species.T_mid.min()],
        T_mid_highest=[species.T_mid.max()],
        h_mid=_enthalpy(species.nasa_low * scale, species.T_mid.min()),
        nasa_low=(species.nasa_low * scale).T,
        nasa_high=(species.nasa_high * scale).T,
    )
    if all(row is None for row in cold):
        return values

    added, T_cold = np.zeros((species.ns, 7)), np.zeros(species.ns)
    for s, row in enumerate(cold):
        if row is not None:
            added[s] = row - species.nasa_low[s]
            T_cold[s] = species.T_min[s]

    return values | dict(nasa_cold=(added * scale).T, T_cold=T_cold, T_cold_highest=[T_cold.max()])


def _enthalpy(rows, T: float) -> np.ndarray:
    """h [J/kg] of each species: rows (ns, 7) of coefficients times R/W."""
    powers = T ** np.arange(1, 6) / np.arange(1, 6)
    return rows[:, :5] @ powers + rows[:, 5]


def _nasa9(species, cold):
    """Rows (ns, ranges, 9), and the temperatures (ns, ranges - 1) where they meet. With cold ranges there is one more
    range in front, which a species without a cold range repeats."""
    T_break = species.T_break[:, 1:-1]
    if all(row is None for row in cold):
        return species.nasa9, T_break

    first = species.nasa9[:, :1].copy()
    for s, row in enumerate(cold):
        if row is not None:
            first[s, 0] = [0.0, 0.0, *row]

    return np.concatenate([first, species.nasa9], 1), np.concatenate([species.T_min[:, None], T_break], 1)


constants(f"W inv_p_ref h_mid T_end {NASA.replace('?', '')}", ideal_gas)
