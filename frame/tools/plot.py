"""`python -m frame plot`: properties of a mixture as maps over two variables or curves over one, PNG by matplotlib.

A variable is T, p, X_<species> or Y_<species>. The last two are the share of that species along a mixing line between
two compositions: --from (share 0) and --to (share 1, by default the pure species).
"""

from __future__ import annotations

import importlib.util
import math
import pathlib

import numpy as np

import kernels

from ..errors import ArgumentError

RANGES = {"T": (100.0, 3000.0), "p": (1e5, 500e5)}  # K, Pa
AXES = {"T": ("temperature T", "K", 1.0), "p": ("pressure p", "bar", 1e5)}
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


def add(commands, add_mixture) -> None:
    """Declare the command to the parser of `python -m frame`."""
    plot = commands.add_parser(
        "plot",
        help="draw properties over T, p or a mixing line",
        description=__doc__.partition("\n\n")[2],
        epilog="example: python -m frame plot --mixture examples/mixtures/n2.yaml --x T=90:300 --y p=5e5:100e5 --what "
        "cp,mu,rho --out n2.png",
    )
    add_mixture(plot, required=True)
    plot.add_argument(
        "--x",
        required=True,
        metavar="VAR[=LOW:HIGH]",
        help="T [K], p [Pa], X_<species> or Y_<species> (default ranges: 100:3000, 1e5:500e5, 0:1)",
    )
    plot.add_argument("--y", metavar="VAR[=LOW:HIGH]", help="second variable: a map instead of curves")
    plot.add_argument(
        "--at",
        action="append",
        default=[],
        metavar="VAR=VALUE,...",
        help="fixed values: T=300 or p=50e5,100e5; several values: one curve each (default: T=300, p=100e5)",
    )
    plot.add_argument(
        "--from",
        dest="start",
        metavar="SPECIES:AMOUNT,...",
        help="composition in moles, such as O2:1 (also the start of an X or Y line; "
        "default: the first species, or the second where the line ends in the first)",
    )
    plot.add_argument(
        "--to",
        metavar="SPECIES:AMOUNT,...",
        help="composition where a mixing line ends (default: the species in the variable's name)",
    )
    plot.add_argument("--mass", action="store_true", help="--from and --to are masses instead of moles")
    plot.add_argument(
        "--what", required=True, metavar="NAME,...", help="quantities; D:<species> and X:<species> for one species"
    )
    plot.add_argument(
        "--points", type=int, help=f"along each axis (default: {RESOLUTION[1]} for curves, {RESOLUTION[2]} for maps)"
    )
    plot.add_argument(
        "--backend", choices=("auto", "cpu", "cuda"), default=None, help="default: FRAME_BACKEND, else auto"
    )
    plot.add_argument("--out", required=True, type=pathlib.Path, metavar="FILE.png")


class _Variable:
    """An axis: name, range, and for a mixing line the kind (X or Y) and the species."""

    low: float
    high: float

    def __init__(self, text: str, mixture, option: str):
        self.name, _, span = text.partition("=")
        kind, _, species = self.name.partition("_")
        self.kind = kind if kind in ("X", "Y") else ""
        if self.kind:
            if species not in mixture.names:
                raise ArgumentError(
                    f"{option} {text}: species '{species}' is not in the mixture, which has {', '.join(mixture.names)}."
                )
            self.species, default = species, (0.0, 1.0)
        elif self.name in RANGES:
            default = RANGES[self.name]
        else:
            raise ArgumentError(
                f"{option} {text}: wanted T, p, X_<species> or Y_<species>, with =LOW:HIGH if not the default range."
            )
        self.low, self.high = _range(span, default, f"{option} {text}") if span else default
        if self.kind and not 0 <= self.low < self.high <= 1:
            raise ArgumentError(f"{option} {text}: a share goes from 0 to 1.")
        if not self.kind and not self.low > 0:
            raise ArgumentError(f"{option} {text}: {self.name} has to be positive.")

    @property
    def log(self) -> bool:
        return not self.kind and self.high > 20 * self.low

    def values(self, n):
        return np.geomspace(self.low, self.high, n) if self.log else np.linspace(self.low, self.high, n)

    def axis(self, start, end):
        """Label and divisor."""
        if not self.kind:
            what, unit, by = AXES[self.name]
            return f"{what} [{unit}]", by
        return f"share of {end} in {start} [{'mole' if self.kind == 'X' else 'mass'} fraction]", 1.0


def _range(span, default, where):
    try:
        low, high = (float(v) for v in span.split(":"))
    except ValueError:
        raise ArgumentError(
            f"{where}: got the range '{span}', wanted LOW:HIGH such as {default[0]:g}:{default[1]:g}."
        ) from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ArgumentError(f"{where}: got the range '{span}', wanted two ascending numbers.")
    return low, high


def composition(text: str, mixture, mass: bool, option: str) -> np.ndarray:
    """Mass fractions (ns,) of "CH4:1,O2:2", normalised. The numbers are moles, or masses with `mass`. Errors:
    ArgumentError names the part that cannot be used."""
    amount = np.zeros(mixture.ns)
    for part in text.split(","):
        name, colon, number = part.strip().partition(":")
        if name not in mixture.names:
            raise ArgumentError(
                f"{option} {text}: species '{name}' is not in the mixture, which has {', '.join(mixture.names)}."
            )
        try:
            value = float(number) if colon else 1.0
        except ValueError:
            value = math.nan
        if not 0 <= value < math.inf:
            raise ArgumentError(f"{option} {text}: got the amount '{number}' of {name}, wanted a number of 0 or more.")
        amount[mixture.names.index(name)] += value
    if not amount.sum() > 0:
        raise ArgumentError(f"{option} {text}: the amounts sum to zero.")
    masses = amount if mass else amount * mixture.species.W
    return masses / masses.sum()


def _kept(given, used) -> dict[str, list[float]]:
    """{"T": values, "p": values} of --at, with defaults where no axis is T or p."""
    out: dict[str, list[float]] = {}
    for text in given:
        name, equals, numbers = text.partition("=")
        if name not in RANGES or not equals:
            raise ArgumentError(f"--at {text}: wanted T=... or p=....")
        if name in used:
            raise ArgumentError(f"--at {text}: {name} is an axis already.")
        try:
            values = [float(v) for v in numbers.split(",")]
        except ValueError:
            values = [math.nan]
        if not all(0 < v < math.inf for v in values):
            raise ArgumentError(f"--at {text}: wanted positive numbers with commas between.")
        out.setdefault(name, []).extend(values)
    return {name: out.get(name, [default]) for name, default in (("T", 300.0), ("p", 100e5)) if name not in used}


class _Line:
    """Compositions between two ends: Y(share, kind)."""

    def __init__(self, given, mixture, variables):
        mixing = [v for v in variables if v.kind]
        if len(mixing) > 1:
            raise ArgumentError(
                f"--x {variables[0].name} --y {variables[1].name}: only one of the two can be a mixing line."
            )
        end = mixing[0].species if mixing else None
        first = mixture.names[0] if mixture.names[0] != end or mixture.ns == 1 else mixture.names[1]
        self.start_name, self.end_name = (
            text and text.removesuffix(":1") for text in (given.start or first, given.to or end)
        )
        if given.to and not mixing:
            raise ArgumentError(f"--to {given.to}: belongs to a mixing line; give --x X_<species> or Y_<species>.")
        self.W = mixture.species.W
        self.start = composition(given.start or first, mixture, given.mass, "--from")
        self.end = composition(given.to or end, mixture, given.mass, "--to") if mixing else self.start
        if mixing and np.allclose(self.start, self.end):
            raise ArgumentError(f"--from {self.start_name}: the mixing line ends in the same composition.")

    def __call__(self, share, kind):
        share = np.asarray(share)
        if kind == "X":
            mole = [end / self.W / (end / self.W).sum() for end in (self.start, self.end)]
            Y = np.multiply.outer(mole[0], 1 - share) + np.multiply.outer(mole[1], share)
            Y = Y * self.W.reshape(-1, *(1,) * share.ndim)
            return Y / Y.sum(0)
        return np.multiply.outer(self.start, 1 - share) + np.multiply.outer(self.end, share)


def _quantities(text, mixture):
    """[(title, unit, divisor, quantity, row or None)] of --what."""
    out = []
    for part in text.split(","):
        name, colon, species = part.strip().partition(":")
        if name not in kernels.quantities:
            raise ArgumentError(f"--what {part}: no such quantity; known: {', '.join(sorted(kernels.quantities))}.")
        per = kernels.quantities[name].per
        if per == "ns" and species not in mixture.names:
            raise ArgumentError(
                f"--what {part}: '{name}' has one value a species, wanted {name}:<species> with one of "
                f"{', '.join(mixture.names)}."
            )
        if per == "ns*ns" or (colon and not per):
            raise ArgumentError(f"--what {part}: wanted a quantity with one value a point, or NAME:<species>.")
        what, unit, by = SHOWN.get(name, (kernels.quantities[name].what, kernels.quantities[name].unit, 1.0))
        out.append(
            (
                f"{what}{f' of {species}' if per else ''}",
                unit if unit != "1" else "-",
                by,
                name,
                mixture.names.index(species) if per else None,
            )
        )
    return out


def ridge(mixture, Y, T, p, backend):
    """The pseudo-critical ridge (Widom line): T of the largest cp at each p above the pseudo-critical pressure. Returns
    T [K], p [Pa] as one array (2, n), and (Tc_mix, pc_mix).

    A ridge counts only inside the range of T, and only where cp is 2 % above its values at T 10 % lower and 10 %
    higher: further from the critical point cp has no such maximum.
    """
    at = mixture.properties("Tc_mix pc_mix", Y=Y, backend=backend)
    Tc, pc = float(at["Tc_mix"]), float(at["pc_mix"])
    p = p[p > pc]
    grid = (
        np.geomspace(max(T[0], 0.7 * Tc), min(T[-1], 3 * Tc), 1500)
        if max(T[0], 0.7 * Tc) < min(T[-1], 3 * Tc)
        else np.zeros(0)
    )
    found = []
    for value in p if grid.size else ():
        cp = mixture.properties("cp", T=grid, p=value, Y=Y[:, None], backend=backend)["cp"]
        inner = np.flatnonzero((cp[1:-1] > cp[:-2]) & (cp[1:-1] >= cp[2:])) + 1
        if inner.size:
            k = inner[np.argmax(cp[inner])]
            beside = np.interp([0.9 * grid[k], 1.1 * grid[k]], grid, cp)
            if cp[k] > 1.02 * beside.max():
                found.append((grid[k], value))
    return np.array(found).reshape(-1, 2).T, (Tc, pc)


def run(given, mixture) -> pathlib.Path:
    """Draw the map or the curves; returns the file written. Errors: ArgumentError."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ArgumentError("plot draws with matplotlib, which is not installed: install the project's extra 'plot'.")
    if given.out.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ArgumentError(f"--out {given.out}: wanted a file that ends in .png, .pdf or .svg.")
    variables = [_Variable(given.x, mixture, "--x"), *([_Variable(given.y, mixture, "--y")] if given.y else [])]
    if len({v.name for v in variables}) < len(variables):
        raise ArgumentError(f"--x {given.x} --y {given.y}: wanted two different variables.")
    kept = _kept(given.at, {v.name for v in variables})
    line, what = _Line(given, mixture, variables), _quantities(given.what, mixture)
    points = given.points or RESOLUTION[len(variables)]
    if points < 2:
        raise ArgumentError(f"--points {points}: wanted 2 or more.")
    if len(variables) == 2 and any(len(v) > 1 for v in kept.values()):
        raise ArgumentError("--at: a map takes one value of each fixed variable.")
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = (_map if len(variables) == 2 else _curves)(plt, given, mixture, variables, kept, line, what, points)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(given.out, dpi=130)
    plt.close(figure)
    return given.out


def _values(mixture, what, T, p, Y, backend):
    got = mixture.properties(list(dict.fromkeys(name for *_, name, _ in what)), T=T, p=p, Y=Y, backend=backend)
    return [(got[name] if row is None else got[name][row]) / by for _, _, by, name, row in what]


def _heading(mixture, line, kept, extra=""):
    shown = [f"{name} = {v[0] / AXES[name][2]:g} {AXES[name][1]}" for name, v in kept.items() if len(v) == 1]
    if line.end_name is None:
        shown.insert(0, line.start_name)
    return ", ".join([*shown, *([extra] if extra else [])])


def _grid(plt, count, width, height):
    columns = min(count, 3)
    lines = -(-count // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(width * columns + 0.3, height * lines + 0.4), squeeze=False, layout="constrained"
    )
    for axis in axes.flat[count:]:
        axis.set_visible(False)
    return figure, list(axes.flat[:count])


def _spread(values) -> bool:
    """Whether a logarithmic scale suits these values: all positive, spread over more than a factor SPREAD."""
    finite = values[np.isfinite(values)]
    return finite.size > 0 and finite.min() > 0 and finite.max() > SPREAD * finite.min()


def _ticks(axis, which, variable):
    """Plain numbers at 1, 2, 5 of each decade of a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    getattr(axis, f"set_{which}scale")("log")
    ticks = getattr(axis, f"{which}axis")
    ticks.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
    ticks.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ticks.set_minor_formatter(NullFormatter())


def _map(plt, given, mixture, variables, kept, line, what, points):
    from matplotlib.colors import LogNorm, Normalize

    names = {v.name: k for k, v in enumerate(variables)}
    axes_values = [v.values(points) for v in variables]
    grid = np.meshgrid(*axes_values, indexing="ij")
    T, p = (grid[names[n]] if n in names else np.full(grid[0].shape, kept[n][0]) for n in "Tp")
    mixing = next((v for v in variables if v.kind), None)
    Y = line(grid[names[mixing.name]] if mixing else np.zeros(grid[0].shape), mixing.kind if mixing else "Y")
    values = _values(mixture, what, T, p, Y, given.backend)
    figure, axes = _grid(plt, len(what), 5.0, 4.0)
    (xl, xd), (yl, yd) = (v.axis(line.start_name, line.end_name) for v in variables)
    crest = critical = None
    if set(names) == {"T", "p"}:
        crest, critical = ridge(mixture, line.start, axes_values[names["T"]], axes_values[names["p"]], given.backend)
    for axis, (title, unit, *_), v in zip(axes, what, values):
        low, high = np.nanquantile(v, [0.0, 1.0])
        log = _spread(v)
        # a pole or the critical point would take up the whole colour scale: it is cut at the outermost 0.2 %
        low, high = (
            np.nanquantile(v, [0.002, 0.998])
            if high - low > 4 * np.subtract(*np.nanquantile(v, [0.998, 0.002]))
            else (low, high)
        )
        norm = LogNorm(low, high) if log else Normalize(low, high)
        picture = axis.pcolormesh(
            axes_values[0] / xd, axes_values[1] / yd, v.T, norm=norm, cmap="viridis", shading="gouraud", rasterized=True
        )
        levels = np.geomspace(low, high, 9)[1:-1] if log else np.linspace(low, high, 9)[1:-1]
        if high > low:
            axis.contour(
                axes_values[0] / xd, axes_values[1] / yd, v.T, levels=levels, colors="white", linewidths=0.5, alpha=0.6
            )
        bar = figure.colorbar(picture, ax=axis, label=f"[{unit}]", pad=0.02)
        if log and high < 100 * low:
            from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

            bar.ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
            bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
            bar.ax.yaxis.set_minor_formatter(NullFormatter())
        for which, variable, label in (("x", variables[0], xl), ("y", variables[1], yl)):
            if variable.log:
                _ticks(axis, which, variable)
            getattr(axis, f"set_{which}label")(label)
            getattr(axis, f"set_{which}lim")(
                variable.low / (xd if which == "x" else yd), variable.high / (xd if which == "x" else yd)
            )
        if crest is not None:
            order = (names["T"], names["p"])
            if crest.size:
                line_at = [crest[0], crest[1] / 1e5]
                axis.plot(
                    *(line_at if order == (0, 1) else line_at[::-1]),
                    color="crimson",
                    lw=1.6,
                    label="largest cp at constant p",
                )
            spot = [critical[0], critical[1] / 1e5]
            Tv, pv = (variables[names[n]] for n in "Tp")
            if Tv.low <= critical[0] <= Tv.high and pv.low <= critical[1] <= pv.high:
                axis.plot(
                    *(spot if order == (0, 1) else spot[::-1]),
                    "o",
                    mfc="white",
                    mec="crimson",
                    ms=6,
                    ls="none",
                    label="pseudo-critical point",
                )
        axis.set_title(title, fontsize=10)
    handles, labels = axes[0].get_legend_handles_labels()
    if handles:
        axes[0].legend(handles, labels, fontsize=7, loc="best", framealpha=0.85)
    figure.suptitle(f"{pathlib.Path(given.mixture).name}: {_heading(mixture, line, kept)}", fontsize=11)
    return figure


def _curves(plt, given, mixture, variables, kept, line, what, points):
    (x,) = variables
    along = x.values(points)
    label, divisor = x.axis(line.start_name, line.end_name)
    runs = [(T, p) for T in kept.get("T", [None]) for p in kept.get("p", [None])]
    figure, axes = _grid(plt, len(what), 4.6, 3.6)
    several = [name for name, v in kept.items() if len(v) > 1]
    colours = plt.get_cmap("viridis")(np.linspace(0, 0.9, len(runs)))
    drawn = [[] for _ in what]
    for (T, p), colour in zip(runs, colours):
        Y = line(along if x.kind else np.zeros(points), x.kind or "Y")
        values = _values(
            mixture,
            what,
            along if T is None else np.full(points, T),
            along if p is None else np.full(points, p),
            Y,
            given.backend,
        )
        name = ", ".join(f"{n} = {v / AXES[n][2]:g} {AXES[n][1]}" for n, v in (("T", T), ("p", p)) if n in several)
        for axis, v, kept_values in zip(axes, values, drawn):
            axis.plot(along / divisor, v, color=colour, label=name, lw=1.4)
            kept_values.append(v)
    for axis, (title, unit, *_), v in zip(axes, what, drawn):
        if x.log:
            _ticks(axis, "x", x)
        if _spread(np.concatenate(v)):
            _ticks(axis, "y", None)
        axis.set_xlabel(label)
        axis.set_ylabel(f"{title} [{unit}]")
        axis.set_xlim(x.low / divisor, x.high / divisor)
        axis.grid(alpha=0.25)
    if several:
        axes[0].legend(fontsize=8)
    figure.suptitle(f"{pathlib.Path(given.mixture).name}: {_heading(mixture, line, kept)}".rstrip(": "), fontsize=11)
    return figure


def main(given, make_mixture) -> None:
    """Run the command. Errors: the layer's own."""
    print(run(given, make_mixture(given)))
