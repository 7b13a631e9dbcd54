"""Rows of a validation: deviations are collected block by block; tables, maps on the T-p plane and JSON show them."""

import json
import pathlib

import numpy as np

from ..figures import grid, pyplot
from .states import P_RANGE, T_RANGE

CELLS = (64, 48)  # cells of the maps, in ln T and ln p
LEAST_DRAWN = 500  # states of a comparison that is drawn
FILLED = 0.85  # share of cells with a state at which cells stop growing

# The histogram of deviations, from which quantiles follow: its decades, and bins in a decade (5 % wide).
DECADES = (-20, 20)
STEPS = 50


class Row:
    """Deviations of a quantity or law: error/scale at all states.

    against, name: the comparison and the quantity. tolerance: largest deviation; None: for information, never a
    failure. unit: unit of the deviation, such as "eps of scale" or "relative". why: reason for the tolerance.
    """

    def __init__(self, against, name, tolerance, unit, why=""):
        self.against, self.name, self.tolerance, self.unit, self.why = against, name, tolerance, unit, why
        self.worst = 0.0
        self.where = None  # the state of the worst deviation: {"T", "p", "Y"}
        self.count = 0  # states judged
        self.left_out = 0  # states not judged
        self.histogram = np.zeros(STEPS * (DECADES[1] - DECADES[0]) + 1, int)
        self.map = np.full(CELLS, np.nan)

    def add(self, error, scale, states, left_out=False):
        """Adds a block of states.

        error, scale: (n,) or (rows, n); the worst of several rows counts. A NaN counts as infinite. left_out (n,):
        states that are counted, but not judged.
        """
        # Deviations (n,).
        with np.errstate(divide="ignore", invalid="ignore"):
            deviation = np.where(error == 0, 0.0, np.abs(error) / scale)
        deviation = np.where(np.isnan(deviation), np.inf, deviation)
        if deviation.ndim == 2:
            deviation = deviation.max(0)

        # States that are judged.
        T, p = (np.broadcast_to(states[name], deviation.shape) for name in "Tp")
        keep = ~np.broadcast_to(left_out, deviation.shape)
        self.left_out += int((~keep).sum())
        index = np.flatnonzero(keep)
        if not index.size:
            return self

        deviation, T, p = deviation[index], T[index], p[index]
        self.count += deviation.size

        # The worst state.
        at = int(np.argmax(deviation))
        if deviation[at] >= self.worst or self.where is None:
            self.worst = float(deviation[at])
            self.where = {"T": float(T[at]), "p": float(p[at])}
            if "Y" in states:
                self.where["Y"] = np.broadcast_to(states["Y"], (len(states["Y"]), keep.size))[:, index[at]].copy()

        # The histogram.
        level = np.log10(np.clip(deviation, 10.0 ** DECADES[0], 10.0 ** DECADES[1]))
        self.histogram += np.bincount(np.round((level - DECADES[0]) * STEPS).astype(int), minlength=self.histogram.size)

        # The map: the largest deviation in each cell.
        cell = _cell(T, T_RANGE, CELLS[0]), _cell(p, P_RANGE, CELLS[1])
        np.fmax.at(self.map, cell, deviation)

        return self

    def quantile(self, share: float) -> float:
        """Quantile of the deviations, to 5 %; 0 if it is below 1e-20, nan without states."""
        if not self.count:
            return float("nan")

        at = int(np.searchsorted(np.cumsum(self.histogram), share * self.count))
        return 10.0 ** (DECADES[0] + at / STEPS) if at else 0.0

    @property
    def median(self) -> float:
        """Median of the deviations."""
        return self.quantile(0.5)

    @property
    def passed(self) -> bool:
        """Whether the row is within the tolerance. A row with a tolerance but without judged states has not passed."""
        return self.tolerance is None or (self.count > 0 and self.worst <= self.tolerance)

    def place(self) -> str:
        """Text of the state of the worst deviation, with the three largest mole fractions."""
        if self.where is None or self.worst == 0:
            return ""

        text = f"{self.where['T']:.6g} K, {self.where['p'] / 1e5:.6g} bar"
        X = self.where.get("X")
        if X and (len(X) > 1 or self.where.get("Y") is None):
            lead = sorted(X, key=X.get, reverse=True)[:3]
            text += ", " + " ".join(f"{name} {X[name]:.4g}" for name in lead if X[name] > 1e-12)

        return text


def _cell(value, bounds, n: int):
    """Index of the cell of each value, of n cells that are equal in the logarithm."""
    low, high = bounds
    return np.clip(np.log(value / low) / np.log(high / low) * n, 0, n - 1).astype(int)


def mole_fractions(rows, mixture) -> None:
    """Adds mole fractions {species: X} to the worst states of rows that lack them."""
    for row in rows:
        if row.where is not None and "Y" in row.where and "X" not in row.where:
            n = row.where["Y"] / mixture.species.W
            row.where["X"] = dict(zip(mixture.names, (n / n.sum()).tolist()))


def table(rows) -> str:
    """A line for each row; below them the reasons for the tolerances, each once."""
    out = []
    for against in dict.fromkeys(row.against for row in rows):
        chosen = [row for row in rows if row.against == against]
        width = max([len(row.name) for row in chosen] + [8])
        out.append(f"\nagainst {against}")
        out.append(
            f"  {'quantity':{width}} {'unit':>13} {'tolerance':>10} {'worst':>10} {'median':>10} {'states':>9} "
            f"{'left out':>8}  worst at"
        )

        for row in chosen:
            tolerance = "-" if row.tolerance is None else f"{row.tolerance:.3g}"
            mark = "  " if row.passed else "X "
            out.append(
                f"{mark}{row.name:{width}} {row.unit:>13} {tolerance:>10} {row.worst:>10.3g} {row.median:>10.3g} "
                f"{row.count:>9} "
                f"{row.left_out:>8}  {row.place()}"
            )

        out += list(dict.fromkeys(f"  {row.why}" for row in chosen if row.why))

    return "\n".join(out)


def as_json(rows, mixture, facts) -> str:
    """JSON text of all rows, with the full states of the worst deviations. mixture None: rows of several mixtures."""

    def plain(row):
        where = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in (row.where or {}).items()}
        return {
            "against": row.against,
            "quantity": row.name,
            "unit": row.unit,
            "tolerance": row.tolerance,
            "worst": row.worst,
            "median": row.median,
            "states": row.count,
            "left_out": row.left_out,
            "passed": row.passed,
            "reason": row.why,
            "worst_at": where,
        }

    of = {"species": list(mixture.names), "options": mixture.options} if mixture else {}
    return json.dumps({**facts, **of, "rows": [plain(r) for r in rows]}, indent=1)


def _coarser(cells):
    """Cells of twice the size: the largest value of two by two cells, nan if all four are nan."""
    four = np.stack([cells[::2, ::2], cells[::2, 1::2], cells[1::2, ::2], cells[1::2, 1::2]])
    return np.where(np.isnan(four).all(0), np.nan, np.fmax.reduce(four))


def _panels(rows):
    """[(title, colour, map, where)] for the rows with a tolerance, or for all rows if there are none with a tolerance.
    Parts of a quantity ("rho: region") are joined."""
    judged = [r for r in rows if r.tolerance is not None] or rows

    parts: dict = {}
    for row in judged:
        parts.setdefault(row.name.partition(": ")[0], []).append(row)

    out = []
    for name, group in parts.items():
        worst = max(group, key=lambda r: r.worst)
        cells = np.fmax.reduce([r.map for r in group])
        limit = "" if worst.tolerance is None else f" of {worst.tolerance:.3g}"
        colour = "black" if all(r.passed for r in group) else "crimson"
        out.append((f"{name}\n{worst.worst:.2g}{limit}", colour, cells, worst.where))

    return out


def draw(rows, folder, title) -> list[pathlib.Path]:
    """Draws a PNG for each comparison and unit: the largest deviation in cells of the T-p plane, a panel for each
    quantity, a colour scale for all. Returns the paths.

    Comparisons of fewer than 500 states are not drawn. Cells grow until most of them hold a state.
    """
    plt = pyplot("--plots draws")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)

    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.count >= LEAST_DRAWN and 0 < row.worst < np.inf:
            groups.setdefault((row.against, row.unit), []).append(row)

    made = []
    for (against, unit), chosen in groups.items():
        figure = _figure(plt, chosen, unit)
        figure.suptitle(
            f"{title} against {against}; circle: the worst state; grey: no states", fontsize=10, parse_math=False
        )
        words = "".join(c if c.isalnum() else " " for c in unit).split()
        made.append(folder / f"{against}_{'_'.join(words)}.png")
        figure.savefig(made[-1], dpi=100)
        plt.close(figure)

    return made


def _figure(plt, rows, unit: str):
    """A panel for each quantity of some rows."""
    panels = _panels(rows)
    maps = [panel[2] for panel in panels]
    while len(maps[0]) > 8 and np.mean([np.isfinite(cells).mean() for cells in maps]) < FILLED:
        maps = [_coarser(cells) for cells in maps]
    norm = _norm(maps)

    # Maps.
    figure, axes = grid(plt, len(panels), 5, (2.7, 2.4), (1.2, 0.8), sharey=True)

    for (name, colour, _, where), cells, axis in zip(panels, maps, axes.flat):
        picture = _map(axis, cells, norm)
        axis.set_title(name, fontsize=8 if max(map(len, name.split("\n"))) < 36 else 6, color=colour)
        if where is not None:
            worst = where["T"], np.clip(where["p"], *P_RANGE) / 1e5
            axis.plot(*worst, "o", mfc="none", mec="crimson", ms=7, clip_on=False)

    # Labels at the left and below.
    lines, columns = axes.shape
    for axis in axes.flat[max(len(panels) - columns, 0) : len(panels)]:
        axis.set_xlabel("T [K]")
    for axis in axes[:, 0]:
        axis.set_ylabel("p [bar]")
    label, shrink = f"largest deviation in a cell [{unit}]", min(1.0, 0.4 + 0.6 / lines)
    figure.colorbar(picture, ax=axes, label=label, shrink=shrink, pad=0.01)

    return figure


def _norm(maps):
    """The logarithmic colour scale of all maps: at most six decades, down to the 5 % quantile."""
    from matplotlib.colors import LogNorm

    values = np.concatenate([cells[np.isfinite(cells) & (cells > 0)] for cells in maps])
    high = 10 ** np.ceil(np.log10(values.max()))
    low = 10 ** np.floor(np.log10(np.quantile(values, 0.05)))

    return LogNorm(max(high * 1e-6, low), high)


def _map(axis, cells, norm):
    """Draws a map. Cells without a state are grey. Returns the picture."""
    edges = [np.geomspace(first, last, size + 1) for (first, last), size in zip((T_RANGE, P_RANGE), cells.shape)]
    T, p = edges
    values = np.maximum(cells, norm.vmin).T
    picture = axis.pcolormesh(T, p / 1e5, values, norm=norm, cmap="viridis", rasterized=True)

    axis.set(facecolor="0.88", xscale="log", yscale="log", xlim=T_RANGE, ylim=np.array(P_RANGE) / 1e5)
    axis.minorticks_off()
    axis.set_xticks([100, 300, 1000, 3000], ["100", "300", "1000", "3000"])
    axis.set_yticks([1, 10, 100], ["1", "10", "100"])

    return picture
