"""`python -m frame plot`: properties of a mixture as maps over two variables or curves over one, PNG by matplotlib.

A variable is T, p, X_<species> or Y_<species>. The last two are the share of that species along a mixing line between
two compositions: --from (share 0) and --to (share 1, by default the pure species).

Instead, `python -m frame plot accuracy` draws errors against reference equations (accuracy.py), and `python -m frame
plot phases` where vapour and liquid are in equilibrium (phase_diagrams.py).
"""

import dataclasses
import itertools
import math
import pathlib
import warnings

import numpy as np

import kernels

from ..errors import ArgumentError
from . import BACKEND, accuracy, phase_diagrams
from .conditions import AXES, composition, fixed, in_words, species_index, wanted
from .figures import grid, picture_file, pyplot, save

# Default ranges; label, unit and divisor of quantities, as AXES has them of T and p.
RANGES = {"T": (100.0, 3000.0), "p": (1e5, 500e5)}  # K, Pa
SHOWN = {
    "mu": ("viscosity", "µPa s", 1e-6),
    "lam": ("thermal conductivity", "mW/m/K", 1e-3),
    "rho": ("density", "kg/m³", 1.0),
    "h": ("enthalpy", "MJ/kg", 1e6),
    "e": ("internal energy", "MJ/kg", 1e6),
    "h0": ("total enthalpy", "MJ/kg", 1e6),
    "s": ("entropy", "kJ/kg/K", 1e3),
    "cp": ("heat capacity cp", "kJ/kg/K", 1e3),
    "cv": ("heat capacity cv", "kJ/kg/K", 1e3),
    "rho_p": ("dρ/dp", "kg/m³/MPa", 1e-6),
    "D": ("diffusion coefficient", "mm²/s", 1e-6),
    "X": ("mole fraction", "-", 1.0),
    "Y": ("mass fraction", "-", 1.0),
    "Z": ("compressibility Z", "-", 1.0),
    "gamma": ("cp/cv", "-", 1.0),
    "phase_flag": ("roots: 0 one, 1 liquid, 2 vapour of several", "-", 1.0),
    "W": ("molar mass", "g/mol", 1e-3),
}
SPREAD = 8.0  # a quantity whose largest value is more than 8 times its smallest gets a logarithmic scale
RESOLUTION = {2: 240, 1: 800}


COMMAND = dict(
    help="draw properties over T, p or a mixing line",
    description=__doc__.partition("\n\n")[2],
    epilog="example: python -m frame plot --mixture examples/mixtures/n2.yaml --x T=90:300 --y p=5e5:100e5 --what "
    "cp,mu,rho --out n2.png",
)
NEEDS_MIXTURE = False
OTHERS = {"accuracy": accuracy.run, "phases": phase_diagrams.run}  # kinds of pictures with modules of their own
ARGUMENTS = {
    "kind": dict(
        nargs="?",
        choices=tuple(OTHERS),
        help="accuracy: errors against CoolProp's reference equations over T and p; --fluids, --models, --what, --out. "
        "phases: boundaries of vapour and liquid of the composition --from, for two species p-x and T-x at --at too",
    ),
    **accuracy.ARGUMENTS,
    "--x": dict(
        metavar="VAR[=LOW:HIGH]",
        help="T [K], p [Pa], X_<species> or Y_<species> (default ranges: 100:3000, 1e5:500e5, 0:1)",
    ),
    "--y": dict(metavar="VAR[=LOW:HIGH]", help="second variable: a map instead of curves"),
    "--at": dict(
        action="append",
        default=[],
        metavar="VAR=VALUE,...",
        help="fixed values: T=300 or p=50e5,100e5; several values: one curve each (default: T=300, p=100e5)",
    ),
    "--from": dict(
        dest="start",
        metavar="SPECIES:AMOUNT,...",
        help="composition in moles, such as O2:1 (also the start of an X or Y line; "
        "default: the first species, or the second where the line ends in the first)",
    ),
    "--to": dict(
        metavar="SPECIES:AMOUNT,...",
        help="composition where a mixing line ends (default: the species in the variable's name)",
    ),
    "--mass": dict(action="store_true", help="--from and --to are masses instead of moles"),
    "--what": dict(metavar="NAME,...", help="quantities; D:<species> and X:<species> for one species"),
    "--points": dict(type=int, help=f"along each axis (default: {RESOLUTION[1]} for curves, {RESOLUTION[2]} for maps)"),
    "--backend": BACKEND,
    "--out": dict(required=True, type=pathlib.Path, metavar="FILE.png", help="the picture"),
}


class _Variable:
    """An axis: name and range; for a mixing line also the kind (X or Y) and the species."""

    def __init__(self, text: str, mixture, option: str):
        self.name, _, span = text.partition("=")
        kind, _, self.species = self.name.partition("_")
        self.kind = kind if kind in ("X", "Y") else ""
        shown = f"{option} {text}"

        # The name.
        if self.kind:
            species_index(self.species, mixture, shown)
        else:
            message = f"{shown}: wanted T, p, X_<species> or Y_<species>, with =LOW:HIGH if not the default range."
            wanted(self.name in RANGES, message)

        # The range.
        default: tuple[float, float] = RANGES.get(self.name, (0.0, 1.0))
        self.low, self.high = _range(span, default, shown) if span else default
        wanted(not self.kind or 0 <= self.low < self.high <= 1, f"{shown}: a share goes from 0 to 1.")
        wanted(self.kind or self.low > 0, f"{shown}: {self.name} has to be positive.")

    @property
    def log(self) -> bool:
        """Whether the axis is logarithmic."""
        return not self.kind and self.high > 20 * self.low

    def values(self, n):
        """n values along the axis."""
        if self.log:
            return np.geomspace(self.low, self.high, n)
        return np.linspace(self.low, self.high, n)

    def axis(self, start, end):
        """Label and divisor. start, end: names of the compositions of a mixing line."""
        if not self.kind:
            label, unit, by = AXES[self.name]
            return f"{label} [{unit}]", by

        fraction = "mole" if self.kind == "X" else "mass"
        return f"share of {end} in {start} [{fraction} fraction]", 1.0


def _range(span, default, where) -> tuple[float, float]:
    """(low, high) of LOW:HIGH. Raises ArgumentError, which begins with `where`."""
    try:
        low, high = (float(v) for v in span.split(":"))
    except ValueError:
        raise ArgumentError(
            f"{where}: got the range '{span}', wanted LOW:HIGH such as {default[0]:g}:{default[1]:g}."
        ) from None

    ascending = math.isfinite(low) and math.isfinite(high) and low < high
    wanted(ascending, f"{where}: got the range '{span}', wanted two ascending numbers.")
    return low, high


def _kept(given, used) -> dict[str, list[float]]:
    """Fixed values {"T": [K], "p": [Pa]} of --at, or defaults, for T and p that are not an axis (`used`)."""
    out = fixed(given, used)
    defaults = {"T": [300.0], "p": [100e5]}
    return {name: out.get(name, default) for name, default in defaults.items() if name not in used}


class _Line:
    """Compositions on a mixing line between two ends; line(share, kind) returns mass fractions."""

    def __init__(self, given, mixture, variables):
        mixing = [v for v in variables if v.kind]
        both = f"--x {variables[0].name} --y {variables[-1].name}"
        wanted(len(mixing) <= 1, f"{both}: only one of the two can be a mixing line.")

        # The names of the ends: by default the first species that is not the end, and the species of the axis.
        end = mixing[0].species if mixing else None
        first = mixture.names[0]
        if first == end and mixture.ns > 1:
            first = mixture.names[1]
        self.start_name, self.end_name = (
            text and text.removesuffix(":1") for text in (given.start or first, given.to or end)
        )
        message = f"--to {given.to}: belongs to a mixing line; give --x X_<species> or Y_<species>."
        wanted(mixing or not given.to, message)

        # Their mass fractions (ns,).
        self.W = mixture.species.W
        self.start = composition(given.start or first, mixture, given.mass, "--from")
        self.end = composition(given.to or str(end), mixture, given.mass, "--to") if mixing else self.start
        differ = not mixing or not np.allclose(self.start, self.end)
        wanted(differ, f"--from {self.start_name}: the mixing line ends in the same composition.")

    def __call__(self, share, kind):
        """Mass fractions (ns, ...) at these shares (...) of the end, in mole (kind X) or mass fractions (Y)."""
        share = np.asarray(share)
        if kind == "Y":
            return np.multiply.outer(self.start, 1 - share) + np.multiply.outer(self.end, share)

        start, end = (Y / self.W / (Y / self.W).sum() for Y in (self.start, self.end))
        X = np.multiply.outer(start, 1 - share) + np.multiply.outer(end, share)
        masses = X * self.W.reshape(-1, *(1,) * share.ndim)

        return masses / masses.sum(0)


def _quantities(text, mixture):
    """[(title, unit, divisor, quantity, row or None)] of --what. Raises ArgumentError."""
    out = []
    for part in text.split(","):
        name, colon, species = part.strip().partition(":")
        wanted(name in kernels.quantities, f"--what {part}: no such quantity{kernels.registry.instead_of(name)}.")

        # A value a point, or a value a species with the name of a species.
        per = kernels.quantities[name].per
        message = (
            f"--what {part}: '{name}' has one value a species, wanted {name}:<species> with one of "
            f"{', '.join(mixture.names)}."
        )
        own = mixture.find(species) if per == "ns" else None
        wanted(per != "ns" or own, message)
        message = f"--what {part}: wanted a quantity with one value a point, or NAME:<species>."
        wanted(per != "ns*ns" and (per or not colon), message)

        quantity = kernels.quantities[name]
        title, unit, by = SHOWN.get(name, (quantity.what, quantity.unit, 1.0))
        row = None
        if per:
            title, row = f"{title} of {own}", mixture.names.index(own)
        out.append((title, unit if unit != "1" else "-", by, name, row))

    return out


def ridge(mixture, Y, T, p, backend):
    """The pseudo-critical ridge (Widom line): T of the largest cp at each p above the pseudo-critical pressure.

    Returns (T [K] and p [Pa] as an array (2, n), (Tc_mix, pc_mix)). A maximum counts only inside the range of T, and
    only if it is 2 % above cp at 0.9 T and 1.1 T. Farther from the critical point cp has no such maximum.
    """
    at = mixture.properties("Tc_mix pc_mix", Y=Y, backend=backend)
    Tc, pc = float(at["Tc_mix"]), float(at["pc_mix"])
    p = p[p > pc]
    low, high = max(T[0], 0.7 * Tc), min(T[-1], 3 * Tc)
    if low >= high:
        p = p[:0]

    found = []
    for value in p:
        grid = np.geomspace(low, high, 1500)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a scan passes places that the models do not reach
            cp = mixture.properties("cp", T=grid, p=value, Y=Y[:, None], backend=backend)["cp"]
        inner = np.flatnonzero((cp[1:-1] > cp[:-2]) & (cp[1:-1] >= cp[2:])) + 1

        # The largest inner maximum.
        if inner.size:
            k = inner[np.argmax(cp[inner])]
            beside = np.interp([0.9 * grid[k], 1.1 * grid[k]], grid, cp)
            if cp[k] > 1.02 * beside.max():
                found.append((grid[k], value))

    return np.array(found).reshape(-1, 2).T, (Tc, pc)


def run(given, mixture) -> pathlib.Path:
    """Draws a map or curves; returns the path of the picture. Raises ArgumentError."""
    for option in ("mixture", "x", "what"):
        wanted(getattr(given, option), f"--{option} is needed; `plot accuracy` does without.")

    # Quantities and states to draw.
    plt = pyplot("plot draws")
    picture_file(given.out)
    variables = [_Variable(text, mixture, option) for text, option in ((given.x, "--x"), (given.y, "--y")) if text]
    differ = len({v.name for v in variables}) == len(variables)
    wanted(differ, f"--x {given.x} --y {given.y}: wanted two different variables.")
    kept = _kept(given.at, {v.name for v in variables})
    line = _Line(given, mixture, variables)
    what = _quantities(given.what, mixture)
    points = RESOLUTION[len(variables)] if given.points is None else given.points
    wanted(points >= 2, f"--points {points}: wanted 2 or more.")
    single = len(variables) == 1 or all(len(v) == 1 for v in kept.values())
    wanted(single, "--at: a map takes one value of each fixed variable.")

    # The picture.
    draw = _map if len(variables) == 2 else _curves
    figure = draw(plt, given, _Job(mixture, variables, kept, line, what, points))
    heading = f"{pathlib.Path(given.mixture).name}: {_heading(line, kept)}"
    figure.suptitle(heading.rstrip(": "), fontsize=11, parse_math=False)

    return save(plt, figure, given.out)


@dataclasses.dataclass
class _Job:
    """A picture that was asked for."""

    mixture: kernels.Mixture
    variables: list[_Variable]  # two: a map; one: curves
    kept: dict[str, list[float]]  # fixed T [K], p [Pa]
    line: _Line
    what: list[tuple]  # as _quantities returns them
    points: int  # along each axis


def _values(job: _Job, T, p, Y, backend):
    """The values of the quantities of --what, in the units of the picture."""
    names = list(dict.fromkeys(name for *_, name, _ in job.what))
    found = job.mixture.properties(names, T=T, p=p, Y=Y, backend=backend)

    out = []
    for _, _, by, name, row in job.what:
        values = found[name] if row is None else found[name][row]
        out.append(values / by)

    return out


def _heading(line, kept) -> str:
    """The fixed values, and the composition unless it varies."""
    shown = [in_words(name, values[0]) for name, values in kept.items() if len(values) == 1]
    return ", ".join(shown if line.end_name else [line.start_name, *shown])


def _spread(values) -> bool:
    """Whether a logarithmic scale suits these values: all positive, spread over more than a factor SPREAD."""
    finite = values[np.isfinite(values)]
    return finite.size > 0 and finite.min() > 0 and finite.max() > SPREAD * finite.min()


def _plain_ticks(ticks, subs=(1, 2, 5)):
    """Plain numbers at 1, 2, 5 of each decade of a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ticks.set_major_locator(LogLocator(base=10, subs=subs))
    ticks.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ticks.set_minor_formatter(NullFormatter())


def _along(axis, which, variable, line):
    """Sets label, limits and ticks of the axis `which` ("x" or "y") for a variable."""
    label, by = variable.axis(line.start_name, line.end_name)
    if variable.log:
        axis.set(**{f"{which}scale": "log"})
        _plain_ticks(getattr(axis, f"{which}axis"))

    axis.set(**{f"{which}label": label, f"{which}lim": (variable.low / by, variable.high / by)})


def _map(plt, given, job: _Job):
    """A panel with a map over both variables for each quantity."""
    # Values on the grid.
    along = {v.name: v.values(job.points) for v in job.variables}
    at = dict(zip(along, np.meshgrid(*along.values(), indexing="ij")))
    shape = (job.points, job.points)
    T, p = (at[n] if n in at else np.full(shape, job.kept[n][0]) for n in "Tp")
    mixing = next((v for v in job.variables if v.kind), None)
    Y = job.line(at[mixing.name], mixing.kind) if mixing else job.line(np.zeros(shape), "Y")
    values = _values(job, T, p, Y, given.backend)

    # Panels.
    figure, axes = grid(plt, len(job.what), 3, (5.0, 4.0), (0.3, 0.4))
    x, y = (along[v.name] / v.axis(job.line.start_name, job.line.end_name)[1] for v in job.variables)

    for axis, (title, unit, *_), v in zip(axes.flat, job.what, values):
        _panel(figure, axis, x, y, v, unit)
        for which, variable in zip("xy", job.variables):
            _along(axis, which, variable, job.line)
        axis.set_title(title, fontsize=10)

    # The ridge.
    if set(along) == {"T", "p"}:
        crest, critical = ridge(job.mixture, job.line.start, along["T"], along["p"], given.backend)
        for axis in axes.flat[: len(job.what)]:
            _draw_ridge(axis, job.variables, crest, critical)
        if axes[0, 0].get_legend_handles_labels()[0]:
            axes[0, 0].legend(fontsize=7, loc="best", framealpha=0.85)

    return figure


def _panel(figure, axis, x, y, values, unit: str) -> None:
    """Colours, contour lines and a colour bar of a quantity (x, y)."""
    from matplotlib.colors import LogNorm, Normalize

    # A pole or the critical point would take up the whole colour scale, which is cut at the outermost 0.2 %.
    low, high = np.nanquantile(values, [0.0, 1.0])
    most = np.nanquantile(values, [0.002, 0.998])
    if high - low > 4 * (most[1] - most[0]):
        low, high = most
    log = _spread(values)

    norm = LogNorm(low, high) if log else Normalize(low, high)
    picture = axis.pcolormesh(x, y, values.T, norm=norm, cmap="viridis", shading="gouraud", rasterized=True)
    if high > low:
        levels = np.geomspace(low, high, 9) if log else np.linspace(low, high, 9)
        axis.contour(x, y, values.T, levels=levels[1:-1], colors="white", linewidths=0.5, alpha=0.6)

    bar = figure.colorbar(picture, ax=axis, label=f"[{unit}]", pad=0.02)
    if log and high < 100 * low:
        _plain_ticks(bar.ax.yaxis, (1, 2, 3, 5, 7))


def _draw_ridge(axis, variables, crest, critical) -> None:
    """Draws the ridge and the pseudo-critical point on a map over T and p, both (T [K], p [Pa])."""

    def on_axes(place):
        return [dict(zip("Tp", place))[v.name] / AXES[v.name][2] for v in variables]

    if crest.size:
        axis.plot(*on_axes(crest), color="crimson", lw=1.6, label="largest cp at constant p")
    if all(v.low <= dict(zip("Tp", critical))[v.name] <= v.high for v in variables):
        spot = dict(mfc="white", mec="crimson", ms=6, ls="none", label="pseudo-critical point")
        axis.plot(*on_axes(critical), "o", **spot)


def _curves(plt, given, job: _Job):
    """A panel with curves over the variable for each quantity; a curve for each fixed T and p."""
    (x,) = job.variables
    points, kept = job.points, job.kept
    along = x.values(points)
    _, divisor = x.axis(job.line.start_name, job.line.end_name)
    runs = list(itertools.product(kept.get("T", [along]), kept.get("p", [along])))
    figure, axes = grid(plt, len(job.what), 3, (4.6, 3.6), (0.3, 0.4))
    several = [name for name, v in kept.items() if len(v) > 1]
    colours = plt.get_cmap("viridis")(np.linspace(0, 0.9, len(runs)))
    Y = job.line(along if x.kind else np.zeros(points), x.kind or "Y")

    for (T, p), colour in zip(runs, colours):
        values = _values(job, np.broadcast_to(T, points), np.broadcast_to(p, points), Y, given.backend)
        name = ", ".join(in_words(n, v) for n, v in (("T", T), ("p", p)) if n in several)
        for axis, v in zip(axes.flat, values):
            axis.plot(along / divisor, v, color=colour, label=name, lw=1.4)

    for axis, (title, unit, *_) in zip(axes.flat, job.what):
        _along(axis, "x", x, job.line)
        if _spread(np.concatenate([curve.get_ydata() for curve in axis.get_lines()])):
            axis.set_yscale("log")
            _plain_ticks(axis.yaxis)

        axis.set_ylabel(f"{title} [{unit}]")
        axis.grid(alpha=0.25)

    if several:
        axes[0, 0].legend(fontsize=8)
    return figure


def main(given, mixture) -> None:
    """Runs the command. Raises ArgumentError."""
    draw = OTHERS.get(given.kind, run)
    print(draw(given, mixture))
