"""Physical errors of the models: pure fluids against reference equations of state, by region. For information only.

Up to three models are compared:
- plain: no volume translation; Chung as in Cantera, without measured critical volumes;
- corrected: volume translation fitted to a liquid density; Chung with measured critical volumes;
- given: the options of the command, if they are neither of these.

The reference is CoolProp (HEOS), or Cantera's pure fluids (fluids.py) if CoolProp is not installed.
"""

import importlib.util
import itertools

import numpy as np

import kernels

from .others import not_installed
from .report import Row
from .states import P_RANGE

FLUIDS = {"N2": "Nitrogen", "O2": "Oxygen", "CH4": "Methane", "H2": "Hydrogen", "CO2": "CarbonDioxide", "H2O": "Water"}
NAMES = "rho cp c rho_p mu lam".split()
MODELS = {"plain": dict(translation="none", chung="cantera"), "corrected": dict(translation="fitted", chung="polefree")}
GRID = 40, 20  # temperatures and pressures
LIQUID = "liquid, T < 0.95 Tc"
# region: condition on T/Tc and rho/rho_c of the reference
REGIONS = {
    LIQUID: lambda Tr, dr: (Tr < 0.95) & (dr > 1),
    "vapour, T < 0.95 Tc": lambda Tr, dr: (Tr < 0.95) & (dr <= 1),
    "0.95 to 1.2 Tc": lambda Tr, dr: (Tr >= 0.95) & (Tr < 1.2),
    "1.2 to 3 Tc": lambda Tr, dr: (Tr >= 1.2) & (Tr < 3),
    "above 3 Tc": lambda Tr, dr: Tr >= 3,
}


def missing(mixture) -> str | None:
    """Reason why there is nothing to compare with; None if there is a reference."""
    if not set(mixture.names) & set(FLUIDS):
        return f"it is for {', '.join(FLUIDS)}, none of which is in the mixture"
    return not_installed("CoolProp", "CoolProp") and not_installed("cantera", "CoolProp or cantera")


class _Heos:
    """A pure fluid of CoolProp, with the interface of fluids.Fluid."""

    def __init__(self, name):
        import CoolProp.CoolProp as CP

        self.state = fluid = CP.AbstractState("HEOS", FLUIDS[name])
        self.T_range, self.p_highest = (fluid.Ttriple(), fluid.Tmax()), fluid.pmax()
        self.Tc, self.rho_c = fluid.T_critical(), fluid.rhomass_critical()

    def at(self, T, p):
        """[rho, cp, c, rho_p, mu, lam] at T [K], p [Pa]; None outside the range."""
        import CoolProp.CoolProp as CP

        fluid = self.state
        try:
            fluid.update(CP.PT_INPUTS, p, T)
            values = [
                fluid.rhomass(),
                fluid.cpmass(),
                fluid.speed_sound(),
                fluid.first_partial_deriv(CP.iDmass, CP.iP, CP.iT),
            ]
        except ValueError:  # solid, or CoolProp's solver failed
            return None

        for transport in (fluid.viscosity, fluid.conductivity):
            try:
                values.append(transport())
            except ValueError:  # outside the correlation
                values.append(np.nan)

        return values


def source():
    """(class of a pure fluid, name of the reference in the report)."""
    if importlib.util.find_spec("CoolProp"):
        return _Heos, "CoolProp's reference equations"

    from .fluids import Fluid

    return (
        Fluid,
        "Cantera's pure fluids (Reynolds 1979; viscosity of N2, O2: Lemmon & Jacobsen 2004, CH4: Quinones-Cisneros & "
        "Deiters 2006)",
    )


def truth(fluid):
    """A grid of states in the range of the reference equation: rows T [K], p [Pa], values of NAMES, T/Tc, rho/rho_c."""
    # Temperatures: one half over the whole range, the other half around the critical point. Pressures.
    low = max(fluid.T_range[0], 80.0) * 1.001
    high = min(fluid.T_range[1], 3500.0)
    whole_range = np.geomspace(low, high, GRID[0] // 2)
    near_critical = np.clip(fluid.Tc * np.linspace(0.6, 1.5, GRID[0] // 2), low, high)
    temperatures = np.unique(np.concatenate([whole_range, near_critical]))
    pressures = np.geomspace(P_RANGE[0], min(fluid.p_highest, P_RANGE[1]), GRID[1])

    found = []
    for T, p in itertools.product(temperatures, pressures):
        values = fluid.at(T, p)
        if values is not None:
            found.append((T, p, *values, T / fluid.Tc, values[0] / fluid.rho_c))

    return np.array(found).T


def models(mixture) -> dict:
    """{name: mixture} of the models to compare."""
    if mixture.options["equation"] == "ideal":
        return {"given": mixture}

    out = {
        name: kernels.Mixture.from_species(mixture.species, **{**mixture.options, **options})
        for name, options in MODELS.items()
    }
    if not any(other.options == mixture.options for other in out.values()):
        out["given"] = mixture

    return out


def _percent(share) -> str:
    return f"{100 * share:.0f}" if share > 0.1 else f"{100 * share:.2g}"


def table(rows) -> str:
    """Median / 90 % quantile of the relative errors in percent: a line for each region and model, then the liquid of
    each fluid."""
    cells = {tuple(row.name.split(": ")): row for row in rows}
    models, regions = (list(dict.fromkeys(key[k] for key in cells)) for k in (0, 2))
    wide, width = max(map(len, models)), max(map(len, regions))
    lines = [
        "",
        "against reference: median / 90 % of the errors in percent",
        f"  {'region':{width}} {'states':>7}  {'model':{wide}}" + "".join(f"{name:>14}" for name in NAMES),
    ]
    for region in regions:
        if not cells[models[0], "rho", region].count:
            continue

        for model in models:
            chosen = [cells[model, name, region] for name in NAMES]
            shown = "".join(
                f"{f'{_percent(r.median)} / {_percent(r.quantile(0.9))}' if r.count else '-':>14}" for r in chosen
            )
            head = f"{region:{width}} {chosen[0].count:>7}" if model == models[0] else " " * (width + 8)
            lines.append(f"  {head}  {model:{wide}}{shown}")

    said = "; ".join(
        f"{name}: {', '.join(f'{k} {v}' for k, v in options.items())}"
        for name, options in MODELS.items()
        if name in models
    )
    return "\n".join([*lines, f"  {said + '; ' if said else ''}{rows[0].why}"])


def run(job) -> list[Row]:
    """Rows of the models' errors against reference equations, by quantity and region."""
    kind, said = source()
    pure = [name for name in job.mixture.names if name in FLUIDS]
    why = (
        f"physical errors, pure {' '.join(pure)} against {said}; each fluid over the range of its own equation; a "
        "phase boundary that lies elsewhere shows as a few large errors"
    )
    compared = models(job.mixture)
    regions = (*REGIONS, *(f"{LIQUID}, {name}" for name in pure))
    rows = {
        (model, name, region): Row("reference", f"{model}: {name}: {region}", None, "relative", why)
        for model, region, name in itertools.product(compared, regions, NAMES)
    }

    for fluid in pure:
        T, p, *values, Tr, dr = truth(kind(fluid))
        Y = np.zeros((job.mixture.ns, T.size))

        Y[job.mixture.names.index(fluid)] = 1
        for model, mixture in compared.items():
            q = mixture.properties(NAMES, T=T, p=p, Y=Y, backend=job.backend)
            for region, inside in REGIONS.items():
                for name, true in zip(NAMES, values):
                    k = inside(Tr, dr) & np.isfinite(true)
                    where = {"T": T[k], "p": p[k], "Y": Y[:, k]}
                    for key in (region, f"{LIQUID}, {fluid}")[: 1 + (region == LIQUID)]:
                        rows[model, name, key].add((q[name] - true)[k], np.abs(true[k]), where)

    return list(rows.values())
