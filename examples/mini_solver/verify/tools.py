"""Parts of several checks: flows in a few words, steps to an end, rows of the table, figures."""

import contextlib
import math
import pathlib

import numpy as np

from kernels import Mixture
from kernels.gas.species.fluids import fluids

from ..case import Case
from ..files import need
from ..flow import Flow
from ..pictures import subplots
from ..riemann import Gas, MappedGas, R

ROOT = pathlib.Path(__file__).resolve().parents[3]
PENG_ROBINSON = {"equation": "pr"}  # of the exact solutions
N2, CH4_O2 = "examples/mixtures/n2.yaml", "examples/mixtures/ch4_o2.yaml"
H2_O2 = "examples/mixtures/h2_o2.yaml"
OXYGEN_METHANE = {"file": CH4_O2, "species": ["CH4", "O2"]}
# An ideal gas of constant heat capacity, and its state at rest.
GAMMA, W, T0, P0 = 1.4, 0.028, 300.0, 1e5
RHO0, SOUND = P0 * W / (R * T0), math.sqrt(GAMMA * R * T0 / W)
IDEAL = {"ideal_gas": {"gamma": GAMMA, "W": W}}


def flow_of(cells, lower, upper, initial, end, mixture=None, boundary=None, source=None, **numerics):
    """Among the rest: stretch, formulas of s by direction; axisymmetric; chemistry, that section of a case."""
    transport = {k: numerics.pop(k) for k in ("mu", "lam", "D") if k in numerics}
    domain = dict(cells=cells, lower=lower, upper=upper, stretch=numerics.pop("stretch", {}))
    domain["axisymmetric"] = numerics.pop("axisymmetric", False)
    chemistry = numerics.pop("chemistry", {})
    data = dict(
        mixture={"options": PENG_ROBINSON} | (mixture or {"file": N2}),
        domain=domain,
        initial=initial,
        time={"end": end},
        numerics=numerics,
        transport=transport,
        chemistry=chemistry,
        boundary=boundary or {},
    )

    return Flow(Case(data), source=source)


def viscous_ideal(mu) -> dict:
    """Words for `flow_of`: the ideal gas with this viscosity and Prandtl number 0.71."""
    lam = mu * GAMMA * R / W / (GAMMA - 1) / 0.71
    return dict(mixture=IDEAL, viscous=True, mu=mu, lam=lam, runge_kutta="ssp43", cfl=1.2)


def advance(flow, end, watch=None):
    while flow.time < end * (1 - 1e-12):
        flow.advance(1 if watch else flow.queue, end, end * (1 - 1e-12))
        if watch:
            watch(flow)

    return flow


def largest(flow, end, *measures):
    """Advance to `end`; the largest value of each measure(flow) after any step."""
    found = []
    advance(flow, end, lambda flow: found.append([measure(flow) for measure in measures]))
    return np.max(found, axis=0)


def off(name, value):
    """A measure: the largest relative distance of a field from this value."""
    return lambda flow: float(np.abs(flow.field(name) / value - 1).max())


def line(flow, name) -> np.ndarray:
    """A field of a flow in one dimension."""
    return flow.field(name)[0, 0]


def changed(flow, start) -> float:
    """Change of the total energy since `start` (sums), over the heat content then."""
    return abs(flow.sums()[-2] - start[-2]) / start[-1]


def lost(flow, start) -> float:
    """Largest relative change of a species' mass since `start` (sums)."""
    return float(np.abs(flow.sums()[: flow.ns] / start[: flow.ns] - 1).max())


def order(errors, cells) -> float:
    """Order of convergence, from the last two grids."""
    return math.log(errors[-2] / errors[-1]) / math.log(cells[-1] / cells[-2])


def mass_row(flow, start):
    """A row: mass in the domain less what came in, beside that at the start (sums), and the rounding of its steps."""
    found = abs(flow.sums()[0] - start[0] - flow.balance.passed()[0]) / start[0]
    return "mass less what came in", float(found), 100 * np.finfo(float).eps * flow.steps**0.5


def duct(cells, size, start, profile, enthalpy, sides, end, mu, **numerics):
    """A viscous flow of N2 along x from an inlet with this profile of u and enthalpy to an outlet at 5 MPa, advanced to
    `end`. sides: boundaries in y. Returns (flow, sums at the start)."""
    inlet = {"kind": "inlet", "h": enthalpy, "velocity": [profile, 0, 0]}
    outlet = {"kind": "outlet", "p": 5e6}

    flow = flow_of(
        cells,
        [0.0, 0.0],
        size,
        start,
        end,
        viscous=True,
        mu=mu,
        lam=mu * 1000.0 * 1.4,
        boundary={"x_low": inlet, "x_high": outlet, **sides},
        runge_kutta="ssp43",
        cfl=1.2,
        **numerics,
    )

    sums = flow.sums()
    advance(flow, end)

    return flow, sums


def nitrogen() -> Gas:
    """N2 by the textbook's Peng-Robinson equation, without the layer."""
    return Gas(Mixture.from_yaml(ROOT / N2).species)


MAPPED = {"equation": "mapped", "cold_cp": "polynomial"}


def mapped_nitrogen() -> MappedGas:
    """N2 of equation mapped by its definition, and of the polynomials alone."""
    return MappedGas(Mixture.from_yaml(ROOT / N2).species, fluids()["N2"])


def nitrogen_of_layer(names, T) -> dict:
    """Properties of N2 at T [K] and 5 MPa, by the layer."""
    mixture = Mixture.from_yaml(ROOT / N2, **PENG_ROBINSON)
    values = mixture.properties(names, T=np.array([T]), p=5e6, Y=np.ones((1, 1)))
    return {name: float(value[0]) for name, value in values.items()}


def rows(of, *table):
    """Rows of `of`: (what, measured, bound), and "above" where the bound is the lowest value."""
    for what, measured, bound, *sense in table:
        yield f"{of}: {what}", measured, bound, *(sense or ["below"])


@contextlib.contextmanager
def figure(path, *grid, **how):
    """Axes of a new figure, which is written to `path` at the end."""
    need("matplotlib", "pictures")
    made, axes = subplots(*(grid or (1, 1)), layout="constrained", **how)
    yield axes
    made.savefig(path, dpi=120)


def curves(axis, *drawn, size=2.5, legend=True, **words):
    """Draw (x, y, style, name of the curve). size: of markers; words: title, xlabel, ylabel."""
    for x, y, style, name in drawn:
        axis.plot(x, y, style, lw=1, ms=size, label=name)

    axis.set(**words)
    axis.grid(alpha=0.3)
    if legend:
        axis.legend(frameon=False)
