"""Cold ranges of ideal-gas heat capacities, from the reference equations in the package CoolProp.

    python -m kernels.gas.fits.cold_ranges

writes kernels/gas/species/cold_ranges.csv. cp0/R of each fluid of fluids.csv becomes a polynomial of fourth degree, the
form of NASA-7, by the least largest relative error at every kelvin from T_low to T_HIGH.
"""

import sys

import numpy as np

from ..species import cold, fluids

ATOMS = ("He", "Ar")  # cp/R is 5/2
T_LOWEST = 20.0  # K, where the layer ends
T_HIGH = 320.0  # K, above the first temperature of all usual polynomials
SHARE_OF_TRIPLE = 0.7  # T_low over the triple point, rounded down to 5 K
HELD = 0.02  # weight below T_low: cp0 of T_low, so that the polynomial stays a heat capacity down to T_LOWEST
ROUNDS = 200  # of reweighting, which converge to the least largest error


def reference(fluid: str, T) -> np.ndarray:
    """cp0/R of a row of fluids.csv at T [K] (n,), by the ideal part of CoolProp's reference equation."""
    import CoolProp.CoolProp as coolprop

    state = coolprop.AbstractState("HEOS", fluids.COOLPROP[fluid])
    state.specify_phase(coolprop.iphase_gas)

    cp = []
    for at in T:
        state.update(coolprop.DmolarT_INPUTS, 1e-6, float(at))
        cp.append(state.cp0molar() / state.gas_constant())
    return np.array(cp)


def lowest(fluid: str) -> float:
    """T_low [K] of a fluid."""
    import CoolProp.CoolProp as coolprop

    triple = coolprop.AbstractState("HEOS", fluids.COOLPROP[fluid]).Ttriple()
    return max(T_LOWEST, SHARE_OF_TRIPLE * triple // 5 * 5)


def fitted(T, cp, weight) -> np.ndarray:
    """Coefficients (5,) of cp/R = sum a_k T^k with the least largest weighted relative error (Lawson's reweighting)."""
    powers = (T[:, None] / 100) ** np.arange(5)
    share = np.full(T.size, 1 / T.size)
    least, best = np.inf, np.zeros(5)

    for _ in range(ROUNDS):
        root = np.sqrt(share)
        found = np.linalg.lstsq(powers * (weight * root / cp)[:, None], weight * root, rcond=None)[0]
        error = np.abs(powers @ found / cp - 1) * weight
        if error.max() < least:
            least, best = error.max(), found
        share = share * error / error.max() + 1e-12
        share /= share.sum()

    return best / 100.0 ** np.arange(5)


def row(fluid: str) -> cold.ColdRange:
    """The row of a fluid, with the largest error that its rounded numbers have."""
    low, T = lowest(fluid), np.arange(T_LOWEST, T_HIGH + 1)
    cp = reference(fluid, np.maximum(T, low))
    a = [float(f"{number:.9g}") for number in fitted(T, cp, np.where(low <= T, 1.0, HELD))]

    inside = low <= T
    off = np.abs(np.polynomial.polynomial.polyval(T, a) / cp - 1)[inside].max()
    return cold.ColdRange(fluid, low, T_HIGH, tuple(a), float(f"{100 * off:.2g}"))


def main() -> int:
    """Writes the table."""
    import CoolProp

    lines = [
        "# Ideal-gas heat capacities of fluids below the range of NASA's polynomials: cp/R = a0 + a1 T + ... + a4 T^4.",
        "#   T_low, T_high  range of the fit [K]; below T_low cp is held near its value at T_low",
        "#   error          largest difference in the range [%]",
        f"# Fitted to the ideal parts of the reference equations in CoolProp {CoolProp.__version__} by",
        "# kernels/gas/fits/cold_ranges.py.",
        "fluid,T_low,T_high,a0,a1,a2,a3,a4,error",
    ]
    for fluid in fluids.fluids():
        if fluid not in ATOMS:
            made = row(fluid)
            numbers = (made.T_low, made.T_high, *made.a, made.error)
            lines.append(",".join([fluid, *(f"{number:.9g}" for number in numbers)]))

    cold.TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
