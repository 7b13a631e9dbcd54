"""The error of single precision: programs in "mixed" and "single" precision against programs in double, on any
backend."""

import itertools

import numpy as np

import kernels

from .report import Row
from .scale import JUMP, scales
from .states import KINDS, OF_CV, blocks, too_cold
from .wide import GIVEN, is_public, reachable

UNIT = 2.0**-24  # rounding to single
BLOCK = 20000  # states at a time
MOST = 200_000
SINGLE = np.dtype(np.float32)

NEAR = 2.0**-18  # this close in p to a phase change, a few roundings of T, p and constants decide the phase

# As in wide.py, rounding inputs and constants once counts as 1. Some 30 roundings follow; that of v counts 20 times in
# a cold liquid, and rho_Y = -rho^2 v_Y contains v three times.
TOLERANCE = 96.0
WHY = {
    "given": "mixed, T p Y in single: the double result of the same inputs, rounded once: tolerance 1 rounding "
    "(2^-24), and no other",
    "scaled": f"single: arithmetic and constants too, from the same inputs; tolerance {TOLERANCE:g} of what rounding "
    "T, p, Y and the constants once "
    "would do; not judged within 1e-3 of temperatures where formulas have kinks, nor where "
    "a phase change lies within 4e-6 of p, nor mu by Chung's correlation as published, which has poles, nor "
    "phase_flag, which is whole",
    "whole": "relative to double: the whole deviation, rounding of the inputs included, of the larger of the result "
    "and a thousandth of its median: "
    "this is the error in a flow code; large where T and p in single do not fix the state: near critical points, "
    "at phase changes, "
    "where a result is near 0",
}

# Kind, precision in the name of the row, tolerance, unit, reason.
KINDS_OF_ROWS = (
    ("rounded", "mixed", 1.0, "roundings", "given"),
    ("scaled", "single", TOLERANCE, "2^-24 of scale", "scaled"),
    ("mixed", "mixed", None, "relative", "whole"),
    ("single", "single", None, "relative", "whole"),
)


def run(job) -> list[Row]:
    """Rows for each public quantity: the errors that are judged, and for information the relative deviation from double
    that a user sees."""
    mixture = job.mixture
    names = [name for name in reachable(mixture) if is_public(name) and _has_single(name, mixture.options)]
    rows = {}
    for (kind, label, tolerance, unit, why), name in itertools.product(KINDS_OF_ROWS, names):
        rows[kind, name] = Row("precision", f"{name}: {label}", tolerance, unit, WHY[why])

    # Not judged: poles of the published correlation; roots that a rounding near a critical point makes real.
    if mixture.options["viscosity"] == "chung" and mixture.options["chung"] != "polefree":
        rows["scaled", "mu"].tolerance = None
    if ("scaled", "phase_flag") in rows:
        rows["scaled", "phase_flag"].tolerance = None
    for states in blocks(mixture, job.subset(MOST), job.seed + 29, BLOCK):
        _compare(job, names, rows, states)

    return list(rows.values())


def _has_single(name: str, options) -> bool:
    """Whether a quantity is no matrix, and all kernels that lead to it exist in single precision."""
    if "*" in kernels.quantities[name].per:
        return False
    return not any(k.running.double_only for k in kernels.resolve((name,), GIVEN, options))


def _compare(job, names, rows, states) -> None:
    """Adds a block of states to the rows."""
    mixture, given = job.mixture, {q: states[q] for q in GIVEN}

    def values(of, inputs, precision="double"):
        return mixture.properties(of, backend=job.backend, precision=precision, **inputs)

    # In double from the states, and in all precisions from the states in single.
    rounded = {q: v.astype(SINGLE).astype(np.float64) for q, v in given.items()}
    exact, double = values(names, given), values(names, rounded)
    mixed, single = values(names, rounded, "mixed"), values(names, rounded, "single")
    scale, undecided = scales(mixture, names, rounded, job.backend)

    # States near kinks of formulas, and near a phase change.
    left_out = undecided | (states["kind"] == KINDS.index("kinks"))
    for move in (1 - NEAR, 1 + NEAR):
        beside = {"T": rounded["T"], "p": rounded["p"] * move, "Y": rounded["Y"]}
        rho = values("rho", beside)["rho"]
        left_out = left_out | ~(np.abs(rho / double["rho"] - 1) <= JUMP)

    cold = too_cold(mixture, states, mixture.properties("X", Y=states["Y"], backend=job.backend)["X"])

    for name in names:
        # A negative heat capacity, and Lucas' viscosity of liquids, are not judged.
        refused = cold if name in OF_CV else np.zeros(undecided.shape, bool)
        if mixture.options["viscosity"] == "lucas":
            for which in (exact, double, mixed, single, scale):
                refused = refused | np.isnan(np.atleast_2d(which[name])).any(0)

        # Judged: roundings. Numbers below the smallest normal one have fewer digits in single.
        lost = np.abs(double[name]) < np.finfo(SINGLE).tiny
        error = np.where(lost, 0, mixed[name] - double[name])
        rows["rounded", name].add(error, UNIT * np.abs(double[name]), states, refused)
        error = np.where(lost, 0, single[name] - double[name])
        rows["scaled", name].add(error, UNIT * scale[name], states, left_out | refused)

        # For information: the whole deviation.
        known = np.abs(exact[name])
        size = np.maximum(known, 1e-3 * np.nanmedian(known[known > 0])) if (known > 0).any() else np.ones_like(known)
        for kind, got in (("mixed", mixed), ("single", single)):
            rows[kind, name].add(got[name] - exact[name], size, states, refused)


def table(rows) -> str:
    """A line for each quantity: the judged errors of both precisions, then relative deviations from double."""
    found: dict[str, dict] = {}
    for row in rows:
        name, _, kind = row.name.partition(": ")
        found.setdefault(name, {})[kind, row.unit == "relative"] = row

    width = max(map(len, found))
    out = [
        "\nagainst precision",
        f"  {'':{width}} {'worst, and its tolerance':^27} {'mixed, relative to double':^29} "
        f"{'single, relative to double':^29}",
        f"  {'quantity':{width}} {'mixed':>12} {'single':>14} "
        + 2 * f"{'median':>9} {'99 %':>9} {'worst':>9} "
        + " worst at",
    ]
    for name, by in found.items():
        mixed, single = by["mixed", False], by["single", False]
        mark = "  " if mixed.passed and single.passed else "X "
        limits = [
            f"{row.worst:#.3g} of {row.tolerance:g}" if row.tolerance else f"{row.worst:#.3g} of  -"
            for row in (mixed, single)
        ]
        told = "".join(
            f"{row.median:>9.1e} {row.quantile(0.99):>9.1e} {row.worst:>9.1e} "
            for row in (by["mixed", True], by["single", True])
        )
        out.append(f"{mark}{name:{width}} {limits[0]:>12} {limits[1]:>14} {told} {by['single', True].place()}")

    one = next(iter(found.values()))
    out.append(f"  {one['mixed', False].count} states, single judged at {one['single', False].count}")
    return "\n".join(out + [f"  {text}" for text in dict.fromkeys(row.why for row in rows)])
