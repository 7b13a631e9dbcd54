"""`python -m frame plot accuracy`: maps of the errors against reference equations, over T and p.

A row of panels for each fluid and model, a column for each quantity. The layer computes the values; the species are
those of --mixture, or are made of the reference (reference_species.py). Fluids and models are those of validate.
"""

from __future__ import annotations

import dataclasses
import itertools
import pathlib

import numpy as np

import kernels
from kernels.engine.registry import split

from ..errors import ArgumentError, closest
from .figures import pyplot, save
from .reference_fluids import FLUIDS, QUANTITIES, Critical, Reference, States
from .validate import reference

GRID = 70, 50  # temperatures and pressures of a map, both in their logarithm
LOWEST_PRESSURE = 1e5  # Pa
TICKS = (10, 20, 50, 100, 200, 500, 1000, 2000)  # K
COLOURS = (0.1, 100.0)  # percent, ends of the colours
SHOWN = ("N2",)  # fluids without --fluids
ARGUMENTS = {
    "--fluids": dict(
        type=split,
        metavar="NAME,...",
        help=f"accuracy: some of {', '.join(FLUIDS)}, or other names of CoolProp (default: {','.join(SHOWN)})",
    ),
    "--models": dict(
        action="append",
        metavar="NAME",
        help=f"accuracy: {', '.join(reference.MODELS)}, or NAME:OPTION=VALUE,OPTION=VALUE; may be given several times "
        f"(default: {', '.join(reference.SHOWN)})",
    ),
}


@dataclasses.dataclass(frozen=True)
class Panel:
    """A map: the errors (temperatures, pressures) in percent, NaN where there is no state."""

    fluid: str
    model: str
    quantity: str
    T: np.ndarray  # K
    p: np.ndarray  # Pa
    errors: np.ndarray
    critical: Critical


def run(given, mixture) -> pathlib.Path:
    """Draws the maps; returns the path of the picture. Raises ArgumentError."""
    plt = pyplot("plot accuracy draws")
    quantities = list(split(given.what)) if given.what else list(QUANTITIES)
    for name in quantities:
        if name not in QUANTITIES:
            raise ArgumentError(
                f"--what {name}: no reference{closest(name, QUANTITIES)}; wanted {', '.join(QUANTITIES)}."
            )

    chosen = given.fluids or SHOWN
    backend = kernels.get_backend(given.backend)
    panels = maps(mixture, chosen, given.models, quantities, backend, given.fluid_table)
    figure = _draw(plt, panels, len(quantities))
    return save(plt, figure, given.out, dpi=110)


def maps(mixture, fluids, models, quantities, backend, table=None) -> list[Panel]:
    """The panels, by fluid, model, quantity. mixture None: species of the reference; table: path of a user's table with
    parameters of some."""
    names = reference.wanted(reference.pure(mixture), fluids) if mixture else {fluid: fluid for fluid in fluids}
    references = {fluid: Reference(fluid) for fluid in names}
    if mixture is None:
        mixture = reference.of_reference(references, table)
    compared, _ = reference.models(mixture, models)

    panels = []
    for fluid, source in references.items():
        T, p, index, states = _grid(source)
        sample = reference.Sample(fluid, {names[fluid]: 1.0}, states, {})
        for model, other in compared.items():
            found = reference.evaluate(other, sample, backend)
            for quantity in quantities:
                errors = np.full((T.size, p.size), np.nan)
                errors[index] = 100 * np.abs(found[quantity] / getattr(states, quantity) - 1)
                panels.append(Panel(fluid, model, quantity, T, p, errors, source.critical))

    return panels


def _grid(fluid: Reference):
    """(T, p, indices of the states in the grid, states)."""
    T = np.geomspace(*fluid.T_range, GRID[0])
    p = np.geomspace(LOWEST_PRESSURE, fluid.p_highest, GRID[1])

    rows, places = [], []
    for place in itertools.product(range(T.size), range(p.size)):
        row = fluid.at(T[place[0]], p[place[1]])
        if row is not None:
            rows.append(row)
            places.append(place)

    return T, p, tuple(np.array(places).T), States.of(rows)


def _draw(plt, panels: list[Panel], columns: int):
    """The figure: `columns` panels in a row."""
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import NullFormatter

    rows = len(panels) // columns
    size = (3.1 * columns + 1.2, 2.6 * rows + 0.6)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained", sharey="row")
    norm = LogNorm(*COLOURS)

    for panel, axis in zip(panels, axes.flat):
        shown = np.clip(panel.errors, *COLOURS).T
        picture = axis.pcolormesh(panel.T, panel.p / 1e5, shown, norm=norm, cmap="viridis", rasterized=True)
        axis.plot(panel.critical.Tc, panel.critical.pc / 1e5, "o", mfc="none", mec="crimson", ms=6)
        axis.set(xscale="log", yscale="log", facecolor="0.88")
        ticks = [T for T in TICKS if panel.T[0] <= T <= panel.T[-1]]
        axis.set_xticks(ticks, [f"{T:g}" for T in ticks])
        axis.xaxis.set_minor_formatter(NullFormatter())
        median = np.nanmedian(panel.errors) if np.isfinite(panel.errors).any() else np.nan
        axis.set_title(f"{panel.fluid}, {panel.model}: {panel.quantity}, median {median:.2g} %", fontsize=8)

    for axis in axes[-1]:
        axis.set_xlabel("T [K]")
    for axis in axes[:, 0]:
        axis.set_ylabel("p [bar]")
    figure.colorbar(picture, ax=axes, label="error [%]", extend="both", pad=0.01)

    return figure
