"""`bench properties --scaling FILE.png`: time a point over the number of species, and its cubic.

t(NS) = t0 + a NS + b NS^2 + c NS^3, coefficients not negative. The talk that this project starts from shows such fits of its
Fortran. Sums over pairs are b; none of ours has a c, and with k_ij = 0 the equation of state has no b either.
"""
from __future__ import annotations

import itertools

import numpy as np

from . import ceilings, fortran, inputs
from .properties import CASES, measure

NS = (1, 2, 4, 7, 10, 15, 20, 25, 30, 40, 50, 60)
POINTS = {"cpu": 20_000, "cuda": 200_000}
POWERS = (0, 1, 2, 3)


def cubic(ns, seconds) -> np.ndarray:
    """(t0, a, b, c), least squares of relative errors among all choices without a negative coefficient."""
    ns, seconds = np.asarray(ns, float), np.asarray(seconds, float)
    matrix = np.stack([ns**k for k in POWERS], axis=1)/seconds[:, None]
    best, least = np.zeros(len(POWERS)), np.inf
    for count in range(1, len(POWERS) + 1):
        for chosen in itertools.combinations(range(len(POWERS)), count):
            part = matrix[:, chosen]
            found = np.linalg.lstsq(part, np.ones(len(ns)), rcond=None)[0]
            off = np.sum((part @ found - 1)**2)
            if found.min() >= 0 and off < least:
                best, least = np.zeros(len(POWERS)), off
                best[list(chosen)] = found
    return best


def told(name: str, ns, seconds, fit) -> str:
    values = sum(fit[k]*np.asarray(ns, float)**k for k in POWERS)
    misfit = np.sqrt(np.mean((values/seconds - 1)**2))
    share = fit[3]*ns[-1]**3/values[-1]
    t0, a, b, c = 1e9*fit
    return f"{name:<34}{t0:>9.3g}{a:>10.3g}{b:>10.3g}{c:>10.3g}{100*share:>13.0f} %{100*misfit:>9.0f} %"


def run(given, backend, say, path):
    """(rows, lines of text); draws the picture. Errors: those of measuring; ImportError says that matplotlib is missing."""
    roofs = ceilings.measure(backend)
    rivals = [fortran.Fortran("-O3")] if backend.name == "cpu" else []
    points, rows, lines = given.points or POINTS[backend.name], [], {}
    for case in CASES[:2]:
        for kij in ("dense", "none") if case.kij_matters else ("dense",):
            for ns in given.ns or NS:
                say(f"scaling: {case.name}, k_ij {kij}, NS = {ns}")
                found = measure(case, inputs.mixture(ns, kij, takahashi=case.takahashi), kij, backend, points, given.repeats, roofs,
                                rivals if kij == "dense" else [])
                for row in found:
                    row.bench = "scaling"
                    lines.setdefault((case.name, f"ours, k_ij {kij}" if case.kij_matters else "ours"), {})[ns] = 1/row.points_per_s
                    if row.rival:
                        lines.setdefault((case.name, row.rival), {})[ns] = 1/row.rival_points_per_s
                rows += found
    text = [f"{'t(NS) = t0 + a NS + b NS^2 + c NS^3, ns':<34}", f"{'':<34}{'t0':>9}{'a':>10}{'b':>10}{'c':>10}{'cubic share':>15}{'misfit':>11}"]
    fits = {}
    for (case, series), times in lines.items():
        ns, seconds = np.array(sorted(times)), np.array([times[n] for n in sorted(times)])
        fits[case, series] = ns, seconds, cubic(ns, seconds)
        text.append(told(f"{case}: {series}", *fits[case, series]))
    draw(fits, path, backend.name)
    return rows, text


def draw(fits, path, backend: str) -> None:
    """One panel a case, logarithmic: measured marks, fitted lines."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    cases = list(dict.fromkeys(case for case, _ in fits))
    figure, axes = plt.subplots(1, len(cases), figsize=(6*len(cases), 4.8), squeeze=False, layout="constrained")
    for axis, wanted in zip(axes[0], cases):
        for (case, series), (ns, seconds, fit) in fits.items():
            if case != wanted:
                continue
            t0, a, b, c = 1e9*fit
            label = f"{series}\n{t0:.2g} + {a:.2g} NS + {b:.2g} NS$^2$ + {c:.2g} NS$^3$"
            mark = axis.plot(ns, 1e9*seconds, "o", markersize=4)[0]
            fine = np.linspace(ns[0], ns[-1], 200)
            axis.plot(fine, 1e9*sum(fit[k]*fine**k for k in POWERS), color=mark.get_color(), label=label)
        axis.set(title=f"{wanted} ({backend})", xlabel="number of species NS", ylabel="time a point [ns]", xscale="log", yscale="log")
        axis.grid(True, which="both", linewidth=0.3)
        axis.legend(fontsize=8)
    figure.savefig(path, dpi=140)
    plt.close(figure)
