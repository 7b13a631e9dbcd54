"""Species data made of reference equations, so that a comparison tests equation of state and transport alone.

Critical point, a liquid density and the heat capacity of the ideal gas are the reference's own. Dipole moments and
association factors are those that Chung's correlation wants (Poling, Prausnitz & O'Connell 2001; original not seen).
"""

from __future__ import annotations

import numpy as np

from kernels.gas.species import GAS_CONSTANT as R, SpeciesData

from .reference_fluids import LIQUID, Reference, States

DIPOLE = {"H2O": 1.855, "NH3": 1.47, "CH3OH": 1.70, "C2H5OH": 1.69, "CO": 0.11}  # debye
ASSOCIATION = {"H2O": 0.076, "CH3OH": 0.215, "C2H5OH": 0.175}
RANGES = 4  # of temperature, equal in its logarithm
NODES = 60  # of the polynomials' fit in a range

# k_ij for Peng-Robinson, the table of ChemSep (original not seen). They serve every equation here.
KIJ = {
    ("N2", "O2"): -0.0159,
    ("N2", "Ar"): -0.0004,
    ("O2", "Ar"): 0.0089,
    ("N2", "CH4"): 0.0289,
    ("N2", "H2"): 0.0711,
    ("CH4", "CO2"): 0.0978,
    ("N2", "nC10"): 0.1122,
}


def species(references: dict[str, Reference]) -> SpeciesData:
    """Species data of these fluids, {name: fluid}."""
    criticals = [reference.critical for reference in references.values()]
    polynomials = [_polynomials(reference) for reference in references.values()]
    names = list(references)

    kij = np.zeros((len(names), len(names)))
    for pair, number in KIJ.items():
        if set(pair) <= set(names):
            i, j = map(names.index, pair)
            kij[i, j] = kij[j, i] = number

    return SpeciesData.from_arrays(
        names,
        W=[critical.W for critical in criticals],
        omega=[critical.omega for critical in criticals],
        nasa_low=None,
        nasa_high=None,
        T_mid=None,
        nasa9=np.array([rows for rows, _ in polynomials]),
        T_break=np.array([breaks for _, breaks in polynomials]),
        Tc=[critical.Tc for critical in criticals],
        pc=[critical.pc for critical in criticals],
        Vc=[critical.W / critical.rho_c for critical in criticals],
        dipole=[DIPOLE.get(name, 0.0) for name in names],
        kappa_assoc=[ASSOCIATION.get(name, 0.0) for name in names],
        liquid=[_liquid(reference) for reference in references.values()],
        kij=kij,
        where="species of reference equations",
    )


def _polynomials(reference: Reference) -> tuple[np.ndarray, np.ndarray]:
    """NASA-9 coefficients (RANGES, 9) of the ideal gas's heat capacity, and the ends of the ranges [K].

    Least squares in each range; h and s are continuous where ranges meet.
    """
    breaks = np.geomspace(*reference.T_range, RANGES + 1)
    rows = np.zeros((RANGES, 9))

    for k, (low, high) in enumerate(zip(breaks, breaks[1:])):
        T = np.geomspace(low, high, NODES)
        cp = _heat_capacity(reference, T)
        powers = np.arange(-2.0, 5.0)
        scale = np.sqrt(low * high)
        found = np.linalg.lstsq((T[:, None] / scale) ** powers / cp[:, None], np.ones(NODES), rcond=None)[0]
        rows[k, :7] = found / scale**powers

        if k:
            _, h, s = _nasa9(rows[k], low)
            _, h_below, s_below = _nasa9(rows[k - 1], low)
            rows[k, 7] = (h_below - h) * low
            rows[k, 8] = s_below - s

    return rows, breaks


def _nasa9(row, T):
    from kernels.gas.species.data import nasa9

    return nasa9(row, T)


def _heat_capacity(reference: Reference, temperatures) -> np.ndarray:
    """cp/R of the ideal gas (n,)."""
    import CoolProp.CoolProp as CP

    state = reference.state
    out = []
    state.specify_phase(CP.iphase_gas)
    for T in temperatures:
        state.update(CP.DmassT_INPUTS, 1e-6, T)
        out.append(state.cp0molar() / R)
    state.unspecify_phase()

    return np.array(out)


def _liquid(reference: Reference) -> tuple[float, float, float]:
    """A liquid state at 0.7 Tc, or the triple point: T [K], p [Pa], rho [kg/m3]; of air at 10 bar."""
    T = max(0.7 * reference.critical.Tc, reference.T_range[0])
    rows = [row for row in reference.saturated([T]) if row]
    states = States.of(rows) if rows else States.of([reference.at(T, 10e5)])
    pick = np.flatnonzero(states.kind == LIQUID)
    k = int(pick[0]) if pick.size else 0
    return float(states.T[k]), float(states.p[k]), float(states.rho[k])
