"""`python -m frame plot phases`: where a mixture is vapour and liquid in equilibrium.

Over T and p: the boundary of two phases of the composition --from, with its critical point. If that has two species:
bubble and dew curves over the mole fraction, p at the temperatures and T at the pressures of --at.
"""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np

import kernels
from kernels.gas.phases import saturation

from ..errors import ArgumentError
from . import model_options
from .conditions import AXES, composition, fixed, in_words, wanted
from .figures import grid, picture_file, pyplot, save

POINTS = 80  # of a curve without --points
HALVINGS = 12  # of the distance of two points between which a curve ends
OTHER_OPTIONS = ("x", "y", "to", "what", "fluids", "models")  # of the other kinds of pictures
PANEL, MARGIN = (4.6, 3.8), (0.3, 0.4)  # inches
BUBBLE, DEW = dict(color="C0", lw=1.5), dict(color="C3", lw=1.5)


@dataclasses.dataclass(frozen=True)
class Boundary:
    """The boundary of two phases of a composition: curves (T [K], p [Pa]) that end in the critical point."""

    bubble: tuple[np.ndarray, np.ndarray]
    dew: tuple[np.ndarray, np.ndarray]
    critical: tuple[float, float] | None  # T [K], p [Pa]; None: not found


@dataclasses.dataclass(frozen=True)
class Curves:
    """Bubble and dew points of a pair of species over the mole fraction of the first, at a fixed T or p."""

    along: str  # the variable of the curves: p, or T
    fixed: float  # T [K], or p [Pa]
    x: np.ndarray
    bubble: np.ndarray  # p [Pa], or T [K]; NaN where there is no boundary
    dew: np.ndarray


def run(given, mixture) -> pathlib.Path:
    """Draws the diagrams; returns the path of the picture. Raises ArgumentError."""
    plt = pyplot("plot phases draws")
    for option in OTHER_OPTIONS:
        wanted(not getattr(given, option), f"--{option}: does not belong to `plot phases`.")
    wanted(mixture, "--mixture is needed; `plot accuracy` does without.")
    wanted(given.start, "--from is needed: the composition, such as CH4:1,O2:1.")
    picture_file(given.out)
    points = POINTS if given.points is None else given.points
    wanted(points >= 3, f"--points {points}: wanted 3 or more.")
    at = fixed(given.at)

    # The species that the composition has.
    Y = composition(given.start, mixture, given.mass, "--from")
    there = [name for name, share in zip(mixture.names, Y) if share > 0]
    pair = len(there) == 2
    wanted(pair or not at, f"--at: belongs to the diagrams of two species; --from {given.start} has {len(there)}.")
    options = model_options(given) | {"phases": "equilibrium"}
    mixture = kernels.Mixture(mixture.species.subset(there), **options)
    X = (Y[Y > 0] / mixture.species.W) / (Y[Y > 0] / mixture.species.W).sum()

    # The diagrams.
    edge = boundary(mixture, X, points)
    over_x = []
    if pair:
        T, p = (np.concatenate([edge.dew[k], edge.bubble[k]]) for k in (0, 1))
        at = at or {"T": [0.5 * (T.min() + T.max())], "p": [0.5 * p.max()]}
        over_x = [curves(mixture, name, at[name], points) for name in "Tp" if name in at]

    figure = _draw(plt, edge, over_x, there)
    shown = ", ".join(f"{name} {share:.3g}" for name, share in zip(there, X))
    figure.suptitle(f"{pathlib.Path(given.mixture).name}: {shown} (mole fractions)", fontsize=11, parse_math=False)
    return save(plt, figure, given.out)


def boundary(mixture, X, points: int) -> Boundary:
    """The boundary of a composition X (ns,), with `points` temperatures."""
    line = mixture.envelope(X, points)
    T, low, high = line["T"], line["p_low"], line["p_high"]
    try:
        found = mixture.critical_point(X)
    except ArgumentError:
        return Boundary((T, high), (T, low), None)

    # Beyond the critical temperature the upper pressure is a dew point. Both curves end in the critical point.
    Tc, pc = found["T"], found["p"]
    liquid = Tc > T
    bubble = np.append(T[liquid], Tc), np.append(high[liquid], pc)
    dew = (
        np.concatenate([T, T[~liquid][::-1], [Tc]]),
        np.concatenate([low, high[~liquid][::-1], [pc]]),
    )
    return Boundary(bubble, dew, (Tc, pc))


def curves(mixture, name: str, values, points: int) -> list[Curves]:
    """Curves of two species at fixed temperatures (name T) or pressures (name p)."""
    ends = (saturation.bubble_p, saturation.dew_p) if name == "T" else (saturation.bubble_T, saturation.dew_T)

    def at(shares):
        """(bubble or dew, values, shares) at mole fractions (shares,)."""
        states, X = np.array(values)[:, None], np.stack([shares, 1 - shares])
        return np.array([end(mixture, states, X) for end in ends])

    x = np.linspace(0, 1, points)
    found = dict(zip(x, np.moveaxis(at(x), -1, 0)))
    for low, high in zip(x[:-1], x[1:]):
        _follow_to_the_end(at, found, low, high)

    along, x = "p" if name == "T" else "T", np.array(sorted(found))
    bubble, dew = np.stack([found[share] for share in x], axis=-1)
    return [Curves(along, value, x, b, d) for value, b, d in zip(values, bubble, dew)]


def _follow_to_the_end(at, found: dict, low: float, high: float) -> None:
    """Points of a curve closer and closer to its end, which lies between two mole fractions, by bisection. Bubble
    and dew curve end in one point, with an upright tangent."""
    ends = np.isfinite(found[low])
    if (ends == np.isfinite(found[high])).all():
        return

    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        found[middle] = at(np.array([middle]))[..., 0]
        same = (np.isfinite(found[middle]) == ends).all()
        low, high = (middle, high) if same else (low, middle)


def _draw(plt, edge: Boundary, over_x: list[list[Curves]], names):
    """The figure: the boundary, then a panel for each list of curves."""
    figure, axes = grid(plt, 1 + len(over_x), 3, PANEL, MARGIN)
    _draw_boundary(axes[0, 0], edge)
    for axis, several in zip(axes.flat[1:], over_x):
        _draw_curves(plt, axis, several, names[0])

    for axis in axes.flat:
        axis.margins(x=0.03, y=0.06)
        axis.grid(alpha=0.25)
        axis.legend(fontsize=7, framealpha=0.85)
    return figure


def _draw_boundary(axis, edge: Boundary) -> None:
    by = {name: divisor for name, (_, _, divisor) in AXES.items()}
    for (T, p), how, label in ((edge.bubble, BUBBLE, "bubble points"), (edge.dew, DEW, "dew points")):
        axis.plot(T / by["T"], p / by["p"], label=label, **how)
    if edge.critical:
        Tc, pc = edge.critical
        axis.plot(Tc / by["T"], pc / by["p"], "o", mfc="white", mec="black", ms=6, ls="none", label="critical point")
    axis.set(xlabel=_label("T"), ylabel=_label("p"), title="boundary of two phases")


def _draw_curves(plt, axis, several: list[Curves], first: str) -> None:
    """Bubble curves full, dew curves dashed; a colour for each fixed value."""
    along = several[0].along
    by = AXES[along][2]
    other = "T" if along == "p" else "p"
    colours = plt.get_cmap("viridis")(np.linspace(0, 0.8, len(several)))
    for found, colour in zip(several, colours):
        name = in_words(other, found.fixed)
        axis.plot(found.x, found.bubble / by, color=colour, lw=1.5, label=f"bubble, {name}")
        axis.plot(found.x, found.dew / by, color=colour, lw=1.5, ls="--", label=f"dew, {name}")
    axis.set(xlabel=f"{first} [mole fraction]", ylabel=_label(along), xlim=(0, 1), title=f"{along}-x")


def _label(name: str) -> str:
    label, unit, _ = AXES[name]
    return f"{label} [{unit}]"
