"""`python -m frame fit N2/C12H26`: k_ij of two species from bubble and dew points; what is printed, and its picture."""

from __future__ import annotations

import pathlib
import time

import numpy as np

from kernels import Mixture
from kernels.gas.species.interactions import two_names
from kernels.gas.species.names import own_name

from ...errors import ArgumentError
from .. import model_options
from ..conditions import in_words, wanted
from ..figures import grid, picture_file, pyplot, save
from ..phase_diagrams import curves
from . import interaction, pair_points
from .interaction import Deviations, KijFit
from .pair_points import Points

OF_A_FLUID = ("thermo", "Tc", "pc", "W", "omega", "rho_c", "seed", "out")  # options that a pair does not have
DIGITS = 5  # of a k_ij that is printed
LISTED = 6  # points that a line names
ISOTHERMS = 6  # of the picture: the temperatures with the most points
SAME_T = 0.5  # K, of an isotherm
CURVE_POINTS = 60
PANEL, MARGIN = (5.0, 4.0), (0.3, 0.4)  # inches


def is_pair(name: str) -> bool:
    """Whether the command's NAME is two species."""
    return "/" in name


def main(given, mixture: Mixture | None) -> None:
    """Runs the command for a pair. Raises ArgumentError."""
    for option in OF_A_FLUID:
        flag = option.replace("_", "-")
        wanted(getattr(given, option) is None, f"--{flag}: belongs to a single fluid; {given.name} is a pair.")
    if given.plot:
        picture_file(given.plot, "--plot")

    mixture = _mixture(given, mixture)
    points = pair_points.of_coolprop(mixture.names) if given.origin else pair_points.read(given.data, mixture.names)

    begin = time.perf_counter()
    fit = interaction.fit(mixture, points)
    print(text(fit, points, time.perf_counter() - begin))
    print(to_paste(fit, mixture))

    if given.plot:
        draw(given.plot, fit, points, mixture)
        print(f"  drawn: {given.plot}")


def _mixture(given, mixture: Mixture | None) -> Mixture:
    """The pair, of --mixture or of the package's species, in the order of NAME."""
    names = two_names(given.name)
    options: dict = model_options(given) | {"phases": "equilibrium"}
    if mixture is not None:
        return Mixture(mixture.species.subset([_own(name, mixture) for name in names]), **options)

    if given.fluid_table:
        options["fluids"] = given.fluid_table
    if given.gas_constant is not None:
        options["gas_constant"] = given.gas_constant
    return Mixture.from_names(names, **options)


def _own(name: str, mixture: Mixture) -> str:
    own = own_name(name, mixture.names)
    if own is None:
        raise ArgumentError(f"species '{name}' is not in the mixture, which has {', '.join(mixture.names)}.")
    return own


# ---- text


def text(fit: KijFit, points: Points, seconds: float) -> str:
    """k_ij with its error, and a table of deviations from the points: with 0, as given, as fitted."""
    first, bubbles = fit.names[0], int(points.bubble.sum())
    columns = _columns(fit)
    rows = {
        "deviations of the pressure with k_ij =": columns,
        "mean, percent": [_percent(each.mean) for each in columns.values()],
        "largest, percent": [_percent(each.largest) for each in columns.values()],
        "points without a boundary in the model": [str(each.missing.sum()) for each in columns.values()],
    }
    lines = [
        f"{'/'.join(fit.names)}, equation {fit.equation}: {points.source}; {bubbles} bubble and "
        f"{points.size - bubbles} dew points, {points.T.min():g} to {points.T.max():g} K; {seconds:.1f} s",
        f"  k_ij = {fit.kij:.{DIGITS}f} +- {fit.error:.2g}, by {fit.used.sum()} of {points.size} points",
        *(f"  {name:40}" + "".join(f"{cell:>12}" for cell in cells) for name, cells in rows.items()),
        f"  largest at {_at(points, fit.after.worst, first)}",
    ]

    aside = ~fit.used & ~fit.after.missing
    for mask, why in ((fit.after.missing, "the model has no boundary"), (aside, "not fitted, pure or at an end")):
        if mask.any():
            lines.append(f"  {why}: {_listed(points, mask, first)}")

    of_y = np.abs(fit.y[np.isfinite(fit.y)])
    if of_y.size:
        lines.append(f"  y of {of_y.size} points: {of_y.mean():.4f} off at mean, {of_y.max():.4f} at most")
    return "\n".join(lines)


def _columns(fit: KijFit) -> dict[str, Deviations]:
    """{k_ij: deviations} without k_ij, with the mixture's, and with the fitted one."""
    given = {f"{fit.kij_given:.{DIGITS}g}": fit.given} if fit.kij_given else {}
    return {"0": fit.before, **given, f"{fit.kij:.{DIGITS}f}": fit.after}


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"


def _at(points: Points, k: int, first: str) -> str:
    phase = "x" if points.bubble[k] else "y"
    return f"point {k + 1} ({points.T[k]:g} K, {phase}_{first} = {points.share[k]:.4g})"


def _listed(points: Points, mask, first: str) -> str:
    """The first points of a mask, and how many more."""
    places = np.flatnonzero(mask)
    named = ", ".join(_at(points, k, first) for k in places[:LISTED])
    more = f" and {places.size - LISTED} more" if places.size > LISTED else ""
    return f"{named}{more}"


def to_paste(fit: KijFit, mixture: Mixture) -> str:
    """The k_ij as an argument of Mixture, and as lines of a mixture file."""
    kij, (first, second) = round(fit.kij, DIGITS), fit.names
    lines = [f'  Python: kij={{"{first}/{second}": {kij}}}']
    if fit.equation != "rk":  # whose binary-a depends on T
        a = np.sqrt(np.prod(mixture.species.a)) * (1 - kij)
        lines += [
            f"  file, species {second}:",
            "    equation-of-state:",
            "      model: Peng-Robinson",
            f"      binary-a: {{{first}: {a:.8g} Pa*m^6/mol^2}}",
        ]
    return "\n".join(lines)


# ---- picture


def isotherms(points: Points) -> list[float]:
    """The temperatures with the most bubble and dew points, in rising order."""
    near = np.abs(points.T[:, None] - points.T) <= SAME_T
    left = np.ones(points.size, bool)
    found: list[float] = []
    while left.any() and len(found) < ISOTHERMS:
        k = int(np.argmax((near & left).sum(1) * left))
        found.append(float(points.T[k]))
        left &= ~near[k]

    return sorted(found)


def draw(path: pathlib.Path, fit: KijFit, points: Points, mixture: Mixture) -> None:
    """p over the mole fraction on isotherms, with the points; and the deviations of all points."""
    plt = pyplot("--plot draws")
    figure, axes = grid(plt, 2, 2, PANEL, MARGIN)
    _draw_isotherms(plt, axes[0, 0], fit, points, mixture)
    _draw_deviations(axes[0, 1], fit, points)
    figure.suptitle(f"{'/'.join(fit.names)}, equation {fit.equation}: {points.source}", fontsize=11, parse_math=False)
    save(plt, figure, path)


def _draw_isotherms(plt, axis, fit: KijFit, points: Points, mixture: Mixture) -> None:
    temperatures = isotherms(points)
    colours = plt.get_cmap("viridis")(np.linspace(0, 0.85, len(temperatures)))
    model = interaction.Model(mixture, points)
    for kij, how in ((0.0, dict(lw=0.8, ls=":")), (fit.kij, dict(lw=1.5))):
        for found, colour in zip(curves(model.with_kij(kij), "T", temperatures, CURVE_POINTS), colours):
            axis.plot(found.x, found.bubble / 1e5, color=colour, **how)
            axis.plot(found.x, found.dew / 1e5, color=colour, **how)

    for T, colour in zip(temperatures, colours):
        near = np.abs(points.T - T) <= SAME_T
        axis.plot(points.x[near], points.p[near] / 1e5, "o", color=colour, ms=4, label=in_words("T", T))
        axis.plot(points.y[near], points.p[near] / 1e5, "s", mfc="none", color=colour, ms=4)

    axis.set(
        xlabel=f"{fit.names[0]} [mole fraction]", ylabel="p [bar]", xlim=(0, 1), title="dots: liquid, squares: vapour"
    )
    axis.set_ylim(0, 1.25 * points.p.max() / 1e5)
    axis.legend(fontsize=7, framealpha=0.85)
    axis.grid(alpha=0.25)


def _draw_deviations(axis, fit: KijFit, points: Points) -> None:
    columns = _columns(fit)
    for (kij, of), colour in zip(columns.items(), ("C7", "C1" if len(columns) == 3 else "C0", "C0")):
        fill = colour if of is fit.after else "none"
        axis.plot(points.share, 100 * of.p, "o", ms=4, color=colour, mfc=fill, label=f"k_ij = {kij}")

    axis.axhline(0, color="black", lw=0.6)
    axis.set(xlabel=f"{fit.names[0]} [mole fraction]", ylabel="deviation of p [%]", title="model less point")
    axis.legend(fontsize=7, framealpha=0.85)
    axis.grid(alpha=0.25)
