"""Errors of a fit by region: as text, as columns of the row, as a picture."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np

from kernels.gas.equations.mapped_numbers import is_regular
from kernels.gas.species.fluids import ODD, Fluid

from ..figures import grid, pyplot
from ..reference_fluids import QUANTITIES, REGIONS, Critical, States, regions
from .model import Equation, Transport, properties

TITLES = {
    "rho": "density",
    "cp": "heat capacity cp",
    "c": "speed of sound",
    "mu": "viscosity",
    "lam": "thermal conductivity",
}
COLOURS = (0.1, 30.0)  # percent, ends of the picture's colours


@dataclasses.dataclass(frozen=True)
class Error:
    """Errors of a quantity in a region, percent."""

    median: float
    quantile: float  # of 95 %
    states: int


def deviations(critical: Critical, equation: Equation, transport: Transport, states: States) -> dict:
    """{quantity: relative deviations (n,)}. NaN: the state lacks the quantity. Infinite: the model has no value."""
    found = properties(critical, equation, transport, states)
    out = {}
    for name in QUANTITIES:
        true = getattr(states, name)
        error = found[name] / true - 1

        error[~np.isfinite(error)] = np.inf
        error[~np.isfinite(true)] = np.nan
        out[name] = error

    return out


def by_region(critical: Critical, states: States, deviation: dict) -> dict[str, dict[str, Error]]:
    """{region: {quantity: Error}}, without regions and quantities that no state has."""
    out: dict[str, dict[str, Error]] = {}
    for region, mask in regions(states, critical).items():
        for name, values in deviation.items():
            percent = 100 * np.abs(values[mask & np.isfinite(states.T) & ~np.isnan(values)])
            if percent.size:
                error = Error(float(np.median(percent)), float(np.quantile(percent, 0.95)), percent.size)
                out.setdefault(region, {})[name] = error

    return out


def text(errors: dict[str, dict[str, Error]]) -> str:
    """A line for each region: median / 95 % in percent."""
    wide = max(map(len, REGIONS.values()))

    def line(name: str, cells) -> str:
        return f"  {name:{wide}}" + "".join([f"{cell:>15}" for cell in cells])

    lines = [line("median / 95 % of the errors, percent", QUANTITIES)]
    for region, found in errors.items():
        cells = [_both(found.get(name)) for name in QUANTITIES]
        lines.append(line(REGIONS[region], cells))

    return "\n".join(lines)


def _both(error: Error | None) -> str:
    """Median / 95 %, or a dash."""
    return f"{error.median:.2f} / {error.quantile:.1f}" if error else "-"


def row(critical: Critical, equation: Equation, transport: Transport) -> Fluid:
    """The row of the table, without source, range and errors. Numbers have nine digits, as in the file."""
    e, t = equation, transport
    of_fluid = dict(Tc=critical.Tc, pc=critical.pc, M=critical.W, omega=critical.omega, rhoc=critical.rho_c)
    of_equation = {
        "d1": e.d1,
        "Q": e.Q,
        "alpha_c": e.alpha_c,
        "alpha_g": e.alpha_g,
        "alpha_m": e.alpha_m,
        **_numbered("P", 0, e.P),
    }
    of_transport = {
        "sigma": t.sigma,
        "eps": t.eps,
        **_numbered("n", 1, t.n),
        **_numbered("b", 1, t.b),
        **_numbered("f", 0, t.f),
    }

    numbers = {**of_fluid, **of_equation, **of_transport}
    rounded: dict = {name: float(f"{number:.9g}") for name, number in numbers.items()}
    alpha = "" if is_regular(e.alpha_c, e.alpha_g, e.alpha_m) else ODD
    return Fluid(critical.name, **rounded, alpha=alpha)


def _numbered(name: str, first: int, values) -> dict[str, float]:
    """Parameters with a number behind the name: n1, n2, ..."""
    return {f"{name}{number}": value for number, value in enumerate(values, first)}


def parameters(fluid: Fluid) -> tuple[Critical, Equation, Transport]:
    """The parameters in a row of the table."""
    f = fluid
    critical = Critical(f.fluid, f.Tc, f.pc, f.M, f.omega, f.rhoc)
    equation = Equation(f.alpha_c, f.alpha_g, int(f.alpha_m), f.d1, (f.P0, f.P1, f.P2, f.P3), f.Q)
    transport = Transport(f.sigma, f.eps, (f.n1, f.n2, f.n3, f.n4), (f.b1, f.b2, f.b3), (f.f0, f.f1))
    return critical, equation, transport


def with_errors(fluid: Fluid, states: States, source: str, errors: dict[str, dict[str, Error]]) -> Fluid:
    """The row with its source, the range of the states, and the median errors of each region as text."""
    medians: dict = {}
    for region, found in errors.items():
        cells = [f"{found[name].median:.2f}" if name in found else "-" for name in QUANTITIES]
        medians[region] = " ".join(cells)

    return dataclasses.replace(
        fluid,
        source=source,
        T_low=float(f"{states.T.min():.5g}"),
        T_high=float(f"{states.T.max():.5g}"),
        p_high=float(f"{states.p.max():.5g}"),
        **medians,
    )


def draw(path: pathlib.Path, critical: Critical, states: States, deviation: dict, title: str) -> None:
    """A picture with a panel for each quantity: states over T and p, coloured by their errors."""
    from matplotlib.colors import LogNorm

    plt = pyplot("--plot draws")
    shown = [name for name in QUANTITIES if np.isfinite(deviation[name]).any()]
    figure, axes = grid(plt, len(shown), 3, (4.4, 3.6), (0.6, 0.6))
    norm = LogNorm(*COLOURS)

    for name, axis in zip(shown, axes.flat):
        known = np.isfinite(deviation[name])
        percent = np.clip(100 * np.abs(deviation[name][known]), *COLOURS)
        order = np.argsort(percent)
        T, p = states.T[known][order], states.p[known][order]
        dots = axis.scatter(T, p / 1e5, c=percent[order], s=7, norm=norm, cmap="viridis", rasterized=True)

        axis.plot(critical.Tc, critical.pc / 1e5, "o", mfc="none", mec="crimson", ms=8)
        axis.set(xscale="log", yscale="log", title=TITLES[name])

    for axis in axes[-1]:
        axis.set_xlabel("T [K]")
    for axis in axes[:, 0]:
        axis.set_ylabel("p [bar]")
    figure.colorbar(dots, ax=axes, label="error [%]", extend="both")
    figure.suptitle(title, fontsize=11, parse_math=False)

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
