"""`bench properties --scaling FILE.png`: time a point over the number of species, and its cubic.

t(NS) = t0 + a NS + b NS^2 + c NS^3, coefficients not negative. The talk that this project starts from shows such fits
of its Fortran. Sums over pairs are b; none of ours has a c, and with k_ij = 0 the equation of state has no b either.
The counted operations are fitted too. A small c stands for what is no polynomial: panels whose size goes with NS,
caches and vector registers that run out; the textbook's Fortran is scattered, as gfortran has fast loops for four
species at a time and slow ones for the rest.
"""

from __future__ import annotations

import itertools

import numpy as np

from kernels import collections
from kernels.gas import counting

from . import ceilings, fortran, inputs
from .properties import CASES, STATES, given_state, measure

NS = (1, 2, 4, 7, 10, 15, 20, 25, 30, 40, 50, 60)
POINTS = {"host": 20_000, "device": 200_000}  # by the backend's memory
POWERS = (0, 1, 2, 3)
SWEEPS = 3  # over all NS, least times: what else a machine does lasts for seconds, and only adds


def cubic(ns, seconds) -> np.ndarray:
    """(t0, a, b, c), least squares of relative errors among all choices without a negative coefficient."""
    ns, seconds = np.asarray(ns, float), np.asarray(seconds, float)
    matrix = np.stack([ns**k for k in POWERS], axis=1) / seconds[:, None]
    best, least = np.zeros(len(POWERS)), np.inf
    for count in range(1, len(POWERS) + 1):
        for chosen in itertools.combinations(range(len(POWERS)), count):
            part = matrix[:, chosen]
            found = np.linalg.lstsq(part, np.ones(len(ns)), rcond=None)[0]
            off = np.sum((part @ found - 1) ** 2)
            if found.min() >= 0 and off < least:
                best, least = np.zeros(len(POWERS)), off
                best[list(chosen)] = found
    return best


def told(name: str, ns, values, fit, size: float) -> str:
    """A line of the table. size: factor that makes the values readable."""
    fitted = sum(fit[k] * np.asarray(ns, float) ** k for k in POWERS)
    misfit = np.sqrt(np.mean((fitted / values - 1) ** 2))
    share = fit[3] * ns[-1] ** 3 / fitted[-1]
    return f"{name:<66}" + "".join(f"{size * k:>10.3g}" for k in fit) + f"{100 * share:>13.0f} %{100 * misfit:>9.0f} %"


def run(given, backend, say, path):
    """(rows, lines of text); draws the picture. Errors: those of measuring; ImportError says that matplotlib is
    missing."""
    roofs = ceilings.measure(backend)
    styles = (("textbook", "-O3"), ("tables", "-O3"), ("reduced", "-Ofast")) if backend.memory == "host" else ()
    rivals = [fortran.Fortran(*style) for style in styles]
    kind = given.states or STATES[backend.memory]
    points, counts = given.points or POINTS[backend.memory], given.ns or NS
    sets = {
        (case, kij, ns): inputs.mixture(ns, kij, takahashi=case.takahashi, diffusion=case.diffusion)
        for case in CASES[:2]
        for kij in (("dense", "none") if case.kij_matters else ("dense",))
        for ns in counts
    }
    best: dict[tuple, list] = {}
    times: dict[tuple, dict[int, float]] = {}
    flops: dict[tuple, dict[int, float]] = {}
    for sweep in range(SWEEPS):
        for (case, kij, ns), mixture in sets.items():
            say(f"scaling, sweep {sweep + 1} of {SWEEPS}: {case.name}, k_ij {kij}, NS = {ns}")
            beside, rounds = rivals if kij == "dense" else [], max(given.repeats // SWEEPS, 1)
            found = measure(case, mixture, kij, backend, points, rounds, roofs, beside, min, kind)
            ours = "ours" + (f", k_ij {kij}" if case.kij_matters else "")
            for row in found:
                row.bench = "scaling"
                for series, pace in ((ours, row.points_per_s), (row.rival, row.rival_points_per_s)):
                    if series and pace:
                        known = times.setdefault((case.name, series), {})
                        known[ns] = min(known.get(ns, np.inf), 1 / pace)
            if (case, kij, ns) not in best or found[0].seconds < best[case, kij, ns][0].seconds:
                best[case, kij, ns] = found
            if sweep == 0:
                collection = collections[case.collection]
                state = given_state(mixture, collection, 256, kind)
                flops.setdefault((case.name, ours), {})[ns] = counting.cost(mixture, collection.outputs, state).flops
    text = [
        f"{'t0 + a NS + b NS^2 + c NS^3':<66}{'t0':>10}{'a':>10}{'b':>10}{'c':>10}{'cubic share':>15}{'misfit':>11}"
    ]
    fits = {}
    for (case, series), values in times.items():
        counts, paces = arrays(values)
        fits[case, series] = counts, paces, cubic(counts, paces)
        text.append(told(f"{case}: {series} [ns]", counts, paces, fits[case, series][2], 1e9))
    for (case, series), values in flops.items():
        counts, counted = arrays(values)
        text.append(told(f"{case}: {series} [flops counted]", counts, counted, cubic(counts, counted), 1))
    draw(fits, path, str(backend))
    return [row for rows in best.values() for row in rows], text


def arrays(values: dict):
    """(numbers of species, values) of a dictionary, in their order."""
    ns = sorted(values)
    return np.array(ns), np.array([values[n] for n in ns])


def draw(fits, path, backend: str) -> None:
    """A panel for each case, logarithmic: measured points, fitted lines."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    cases = list(dict.fromkeys(case for case, _ in fits))
    figure, axes = plt.subplots(1, len(cases), figsize=(6 * len(cases), 4.8), squeeze=False, layout="constrained")
    for axis, wanted in zip(axes[0], cases):
        for (case, series), (ns, seconds, fit) in fits.items():
            if case != wanted:
                continue
            t0, a, b, c = 1e9 * fit
            label = f"{series}\n{t0:.2g} + {a:.2g} NS + {b:.2g} NS$^2$ + {c:.2g} NS$^3$"
            mark = axis.plot(ns, 1e9 * seconds, "o", markersize=4)[0]
            fine = np.linspace(ns[0], ns[-1], 200)
            axis.plot(fine, 1e9 * sum(fit[k] * fine**k for k in POWERS), color=mark.get_color(), label=label)
        axis.set(title=f"{wanted} ({backend})", xlabel="number of species NS", ylabel="time a point [ns]")
        axis.set(xscale="log", yscale="log")
        axis.grid(True, which="both", linewidth=0.3)
        axis.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=140)
    plt.close(figure)
