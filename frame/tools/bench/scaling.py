"""`bench properties --scaling FILE.png`: time a point over the number of species, with a cubic fit.

t(NS) = t0 + a NS + b NS^2 + c NS^3, coefficients not negative. The talk that this project starts from shows such fits
of its Fortran. Sums over pairs are b. Ours have no c, and with k_ij = 0 the equation of state has no b either. The
counted operations are fitted too. A small c stands for effects that are no polynomial: panels whose size goes with NS,
caches and vector registers that run out. The textbook's Fortran is scattered: gfortran has fast loops for four species
at a time and slow loops for the rest.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from kernels import collections
from kernels.gas import counting

from ..figures import grid, pyplot
from . import ceilings, fortran, inputs
from .properties import CASES, STATES, Case, given_state, measure
from .report import Row
from .timing import Conditions

NS = (1, 2, 4, 7, 10, 15, 20, 25, 30, 40, 50, 60)
POINTS = {"host": 20_000, "device": 200_000}  # by the backend's memory
COUNTED = 256  # points whose operations are counted
POWERS = (0, 1, 2, 3)
SWEEPS = 3  # over all NS; least times count, since other load of the machine lasts for seconds, and only adds
RIVALS = (("textbook", "-O3"), ("tables", "-O3"), ("reduced", "-Ofast"))
MEASURED = ((CASES[0], ("dense", "none")), (CASES[1], ("dense",)))  # case, structures of k_ij


def cubic(ns, seconds) -> np.ndarray:
    """(t0, a, b, c), least squares of relative errors among all choices without a negative coefficient."""
    ns, seconds = np.asarray(ns, float), np.asarray(seconds, float)
    matrix = np.stack([ns**k for k in POWERS], axis=1) / seconds[:, None]

    best, least = np.zeros(len(POWERS)), np.inf
    for taken in itertools.product((False, True), repeat=len(POWERS)):
        chosen = np.flatnonzero(taken)
        if not chosen.size:
            continue

        part = matrix[:, chosen]
        found = np.linalg.lstsq(part, np.ones(len(ns)), rcond=None)[0]
        off = np.sum((part @ found - 1) ** 2)
        if found.min() >= 0 and off < least:
            best, least = np.zeros(len(POWERS)), off
            best[chosen] = found

    return best


class Series(dict):
    """{NS: value}, the least value of several measurements."""

    def add(self, ns: int, value: float) -> None:
        self[ns] = min(self.get(ns, np.inf), value)

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(numbers of species, values)."""
        ns = sorted(self)
        return np.array(ns), np.array([self[n] for n in ns])

    def line(self, name: str, size: float) -> str:
        """A line of the table: the fit. size: factor that makes the values readable."""
        ns, values = self.arrays()
        fit = cubic(ns, values)
        fitted = polynomial(fit, ns)

        misfit = np.sqrt(np.mean((fitted / values - 1) ** 2))
        share = fit[3] * ns[-1] ** 3 / fitted[-1]
        coefficients = "".join(f"{size * k:>10.3g}" for k in fit)
        return f"{name:<66}{coefficients}{100 * share:>13.0f} %{100 * misfit:>9.0f} %"


def polynomial(fit, ns) -> np.ndarray:
    """Values of a fit."""
    return sum(fit[k] * np.asarray(ns, float) ** k for k in POWERS)


HEAD = f"{'t0 + a NS + b NS^2 + c NS^3':<66}{'t0':>10}{'a':>10}{'b':>10}{'c':>10}{'cubic share':>15}{'misfit':>11}"


def run(given, backend, say, path) -> tuple[list[Row], list[str]]:
    """(rows, lines of text); draws the picture. Raises the errors of measuring, ArgumentError without matplotlib."""
    points, kind = given.points or POINTS[backend.memory], given.states or STATES[backend.memory]
    rivals = tuple(fortran.Fortran(*style) for style in RIVALS) if backend.memory == "host" else ()
    rounds = max(given.repeats // SWEEPS, 1)
    how = Conditions(backend, ceilings.measure(backend), points, rounds, rivals, kind, of=min)

    found = Found()
    mixtures = _mixtures(given.ns or NS)
    for sweep, (key, mixture) in itertools.product(range(SWEEPS), mixtures.items()):
        case, kij, ns = key
        say(f"scaling, sweep {sweep + 1} of {SWEEPS}: {case.name}, k_ij {kij}, NS = {ns}")
        beside = how if kij == "dense" else dataclasses.replace(how, rivals=())
        rows = [dataclasses.replace(row, bench="scaling") for row in measure(case, mixture, kij, beside)]

        found.add(key, rows)
        if sweep == 0:
            found.flops_of(key).add(ns, _flops(case, mixture, kind))

    draw(found.times, path, str(backend))
    return list(itertools.chain.from_iterable(found.best.values())), found.text()


class Found:
    """Measured rows and series, by case, structure of k_ij and number of species."""

    def __init__(self) -> None:
        self.best: dict[tuple, list[Row]] = {}  # of the fastest sweep
        self.times: dict[tuple, Series] = {}  # (case, ours or rival) -> seconds a point
        self.flops: dict[tuple, Series] = {}

    @staticmethod
    def _ours(key) -> tuple[str, str]:
        case, kij, _ = key
        return case.name, "ours" + (f", k_ij {kij}" if case.kij_matters else "")

    def flops_of(self, key) -> Series:
        """The counted operations of a case."""
        return self.flops.setdefault(self._ours(key), Series())

    def add(self, key, rows: list[Row]) -> None:
        """The rows of a sweep."""
        case, _, ns = key
        for row in rows:
            self.times.setdefault(self._ours(key), Series()).add(ns, 1 / row.points_per_s)
            if row.rival and row.rival_points_per_s:
                self.times.setdefault((case.name, row.rival), Series()).add(ns, 1 / row.rival_points_per_s)

        if key not in self.best or rows[0].seconds < self.best[key][0].seconds:
            self.best[key] = rows

    def text(self) -> list[str]:
        """The lines of all series."""
        lines = [HEAD]
        lines += [series.line(f"{case}: {name} [ns]", 1e9) for (case, name), series in self.times.items()]
        lines += [series.line(f"{case}: {name} [flops counted]", 1) for (case, name), series in self.flops.items()]
        return lines


def _mixtures(counts) -> dict:
    """{(case, structure of k_ij, NS): mixture}."""
    found = {}
    for case, structures in MEASURED:
        for kij, ns in itertools.product(structures, counts):
            found[case, kij, ns] = inputs.mixture(ns, kij, takahashi=case.takahashi, diffusion=case.diffusion)
    return found


def _flops(case: Case, mixture, kind: str) -> float:
    """Operations of a point, counted."""
    collection = collections[case.collection]
    state = given_state(mixture, collection, COUNTED, kind)
    return counting.cost(mixture, collection.outputs, state).flops


def draw(times: dict, path, backend: str) -> None:
    """A panel for each case, logarithmic: measured points, fitted lines."""
    plt = pyplot("--scaling draws")
    cases = list(dict.fromkeys(case for case, _ in times))
    figure, axes = grid(plt, len(cases), len(cases), (6, 4.8), (0, 0))

    for axis, wanted in zip(axes.flat, cases):
        for (case, name), series in times.items():
            if case == wanted:
                _curve(axis, name, *series.arrays())
        axis.set(title=f"{wanted} ({backend})", xlabel="number of species NS", ylabel="time a point [ns]")
        axis.set(xscale="log", yscale="log")
        axis.grid(True, which="both", linewidth=0.3)
        axis.legend(fontsize=8)

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=140)
    plt.close(figure)


def _curve(axis, name: str, ns, seconds) -> None:
    """Measured points, and the fitted line in the same colour."""
    fit = 1e9 * cubic(ns, seconds)
    t0, a, b, c = fit
    label = f"{name}\n{t0:.2g} + {a:.2g} NS + {b:.2g} NS$^2$ + {c:.2g} NS$^3$"

    (mark,) = axis.plot(ns, 1e9 * seconds, "o", markersize=4)
    fine = np.linspace(ns[0], ns[-1], 200)
    axis.plot(fine, polynomial(fit, fine), color=mark.get_color(), label=label)
