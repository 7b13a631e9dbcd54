"""How far the models are from the truth: pure fluids against CoolProp's reference equations (HEOS), by region. Information, no tolerance."""
from __future__ import annotations

import numpy as np

from .others import not_installed
from .report import Row
from .states import P_RANGE

FLUIDS = {"N2": "Nitrogen", "O2": "Oxygen", "CH4": "Methane", "H2": "Hydrogen", "CO2": "CarbonDioxide", "H2O": "Water"}
NAMES = "rho cp c rho_p mu lam".split()
GRID = 40, 20               # temperatures and pressures
# region: who is in it, by T/Tc and rho/rho_c of the reference
REGIONS = {
    "liquid, T < 0.95 Tc": lambda Tr, dr: (Tr < 0.95) & (dr > 1),
    "vapour, T < 0.95 Tc": lambda Tr, dr: (Tr < 0.95) & (dr <= 1),
    "0.95 to 1.2 Tc": lambda Tr, dr: (Tr >= 0.95) & (Tr < 1.2),
    "1.2 to 3 Tc": lambda Tr, dr: (Tr >= 1.2) & (Tr < 3),
    "above 3 Tc": lambda Tr, dr: Tr >= 3,
}


def missing(mixture) -> str | None:
    if not set(mixture.names) & set(FLUIDS):
        return f"it is for {', '.join(FLUIDS)}, none of which is in the mixture"
    return not_installed("CoolProp", "CoolProp")


def truth(name):
    """States within the range of the reference equation and what it says there: T, p, values of NAMES, T/Tc, rho/rho_c."""
    import CoolProp.CoolProp as CP

    fluid = CP.AbstractState("HEOS", FLUIDS[name])
    low, high, most = max(fluid.Ttriple(), 80.0)*1.001, min(fluid.Tmax(), 3500.0), min(fluid.pmax(), P_RANGE[1])
    # half of the temperatures by T/Tc around the critical point, half over the whole range
    T = np.unique(np.concatenate([np.exp(np.linspace(np.log(low), np.log(high), GRID[0]//2)),
                                  np.clip(fluid.T_critical()*np.linspace(0.6, 1.5, GRID[0]//2), low, high)]))
    found = []
    for t in T:
        for p in np.exp(np.linspace(np.log(P_RANGE[0]), np.log(most), GRID[1])):
            try:
                fluid.update(CP.PT_INPUTS, p, t)
                values = [fluid.rhomass(), fluid.cpmass(), fluid.speed_sound(), fluid.first_partial_deriv(CP.iDmass, CP.iP, CP.iT)]
            except ValueError:          # beyond melting, or its solver gave up
                continue
            for transport in (fluid.viscosity, fluid.conductivity):
                try:
                    values.append(transport())
                except ValueError:      # outside the correlation
                    values.append(np.nan)
            found.append((t, p, *values, t/fluid.T_critical(), values[0]/fluid.rhomass_critical()))
    return np.array(found).T


def table(rows) -> str:
    """Median / nine tenths of the relative errors in percent, a line for each region."""
    cells = {tuple(row.name.split(": ")): row for row in rows}
    width = max(map(len, REGIONS))
    lines = ["", "against reference: median / 90 % of the errors in percent", f"  {'region':{width}} {'states':>7}"
             + "".join(f"{name:>15}" for name in NAMES)]
    for region in REGIONS:
        chosen = [cells[name, region] for name in NAMES]
        shown = "".join(f"{f'{100*r.median:.2g} / {100*r.quantile(0.9):.2g}':>15}" for r in chosen)
        lines.append(f"  {region:{width}} {chosen[0].count:>7}{shown}")
    return "\n".join([*lines, f"  {rows[0].why}"])


def run(job) -> list[Row]:
    mixture = job.mixture
    table = {region: [] for region in REGIONS}
    for name in (n for n in mixture.names if n in FLUIDS):
        T, p, *values, Tr, dr = truth(name)
        Y = np.zeros((mixture.ns, T.size))
        Y[mixture.names.index(name)] = 1
        q = mixture.properties(NAMES, T=T, p=p, Y=Y, backend=job.backend)
        for region, inside in REGIONS.items():
            k = inside(Tr, dr)
            table[region].append((T[k], p[k], Y[:, k], {n: (q[n][k], v[k]) for n, v in zip(NAMES, values)}))
    rows = []
    for region, parts in table.items():
        for name in NAMES:
            row = Row("reference", f"{name}: {region}", None, "relative",
                      f"physical errors, pure {' '.join(n for n in mixture.names if n in FLUIDS)} against CoolProp's reference equations; each fluid "
                      "over the range of its own equation; a phase boundary that lies elsewhere shows as a few large errors")
            for T, p, Y, both in parts:
                got, true = both[name]
                there = np.isfinite(true)
                if there.any():
                    row.add((got - true)[there], np.abs(true[there]), {"T": T[there], "p": p[there], "Y": Y[:, there]})
            rows.append(row)
    return rows
