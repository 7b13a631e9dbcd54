"""`bench tccg`: the 48 contractions of the public TCCG benchmark, beside einsum, opt_einsum, libxsmm, torch, cuTENSOR.

P. Springer & P. Bientinesi, "Design of a high-performance GEMM-like tensor-tensor multiplication", ACM TOMS 44 (2018):
contractions of coupled clusters, of changes of basis, of tensors with a matrix, and triples. A name has the indices of
C, A and B, the fastest first: `abc-bda-dc` is C(a,b,c) = A(b,d,a) B(d,c). Sizes are the benchmark's: the array with the
most indices has about 200 MiB of float64, with the same extents in float32.

Values are checked first, then all run in turns; see tensor.py, whose clocks, checks and tables these are.
"""

from __future__ import annotations

import argparse
import math
import statistics

from ...errors import FrameError
from . import first_calls, options, report, tensor

MATRIX = "abc-bda-dc abc-dca-bd abcd-dbea-ec abcd-deca-be abcd-ebad-ce abcde-efbad-cf abcde-ecbfa-fd abcde-efcad-bf"
BASIS = "abcd-ea-ebcd abcd-eb-aecd abcd-ec-abed"
CLUSTERS = (
    "ab-ac-cb ab-acd-dbc ab-cad-dcb abc-acd-db abc-ad-bdc abc-adc-bd abc-adc-db abc-adec-ebd "
    "abcd-aebf-dfce abcd-aebf-fdec abcd-aecf-bfde abcd-aecf-fbed abcd-aedf-bfce abcd-aedf-fbec "
    "abcd-aefb-fdce abcd-aefc-fbed abcd-eafb-fdec abcd-eafc-bfde abcd-eafd-fbec"
)
TRIPLES = (
    "abcdef-dega-gfbc abcdef-degb-gfac abcdef-degc-gfab abcdef-dfga-gebc abcdef-dfgb-geac abcdef-dfgc-geab "
    "abcdef-efga-gdbc abcdef-efgb-gdac abcdef-efgc-gdab abcdef-gdab-efgc abcdef-gdac-efgb abcdef-gdbc-efga "
    "abcdef-geab-dfgc abcdef-geac-dfgb abcdef-gebc-dfga abcdef-gfab-degc abcdef-gfac-degb abcdef-gfbc-dega"
)
GROUPS = {"matrix": MATRIX, "basis": BASIS, "clusters": CLUSTERS, "triples": TRIPLES}
SMALL = 24  # extent of the matrix's own index in the first group; extents of fast indices are multiples of it
MULTIPLE = 4  # of other extents
ROUNDS = 5
MIB = 200  # of the largest array, in float64
HOST_RIVALS: tuple[str, ...] = ("einsum", "opt_einsum", "xsmm")
DEVICE_RIVALS: tuple[str, ...] = ("einsum", "torch_einsum", "torch_in_order", "cutensor")


def names() -> tuple[str, ...]:
    """All 48."""
    return tuple(" ".join(GROUPS.values()).split())


def extents(name: str, mib: float = MIB) -> dict[str, int]:
    """The extent of each index by the benchmark's rule: the array with the most indices has about `mib` MiB.

    Indices that are the fastest of an array are multiples of 24, the others the nearest multiples of 4.
    """
    arrays = name.split("-")
    mean = (mib * 2**20 / 8) ** (1 / max(map(len, arrays)))
    fast = {indices[0] for indices in arrays}

    found = {}
    for index in sorted(set(name) - {"-"}):
        if index in fast:
            found[index] = int((mean + SMALL - 1) / SMALL) * SMALL
            continue
        above = int((mean + MULTIPLE - 1) / MULTIPLE) * MULTIPLE
        below = max(MULTIPLE, int(mean / MULTIPLE) * MULTIPLE)
        found[index] = above if abs(mean - above) < abs(mean - below) else below

    if name in MATRIX.split():
        matrix = next(indices for indices in arrays if len(indices) == 2)
        (own,) = set(arrays[0]) & set(matrix)
        found[own] = SMALL
    return found


def text(name: str, sign: str = "=") -> str:
    """The contraction in the language of tensor expressions, indices from fast to slow."""
    out, left, right = (",".join(indices) for indices in name.split("-"))
    return f"C({out}) {sign} A({left}) B({right})"


def cases(names_, mib: float, dtypes, rivals) -> list[tensor.Case]:
    """A case for each contraction and type. The batch index is the slowest of C."""
    made = []
    for dtype in dtypes:
        for name in names_:
            sizes = extents(name, mib)
            entries = sizes.pop(name.split("-")[0][-1])
            made.append(tensor.Case(name, text(name), sizes, entries, {}, rivals, dtype, entries))
    return made


OPTIONS: dict[str, dict] = {
    "--backend": options.ONE_CORE,
    "--rounds": options.rounds(ROUNDS),
    "--rows": dict(metavar="NAME,...", help=f"some contractions, or groups: {', '.join(GROUPS)} (default: all 48)"),
    "--mib": dict(type=float, default=MIB, help=f"of the largest array, in float64 ({MIB})"),
    "--dtype": dict(choices=("float64", "float32", "both"), default="both"),
    "--ours": dict(choices=("all", "chosen"), default="all", help="every organisation, or the default"),
    "--first": dict(action="store_true", help="only what the first call takes, with an empty cache"),
    "--json": options.JSON,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bench tccg`."""
    options.add(parser, OPTIONS)


def _chosen(rows: str | None) -> list[str]:
    """Names of contractions. Raises FrameError for a name that is none."""
    if not rows:
        return list(names())
    found: list[str] = []
    for word in rows.split(","):
        if word not in GROUPS and word not in names():
            raise FrameError(f"--rows {word}: wanted {', '.join(GROUPS)}, or a contraction such as {names()[0]}.")
        found += GROUPS[word].split() if word in GROUPS else [word]
    return found


def run(given) -> list[dict]:
    """`python -m frame bench tccg`; returns the rows. Raises FrameError for usage, or a value that is wrong."""
    if given.rounds < 1 or not given.mib > 0:
        raise FrameError("--rounds and --mib: wanted 1 or more.")
    chosen = _chosen(given.rows)
    dtypes = ("float64", "float32") if given.dtype == "both" else (given.dtype,)
    if given.first:
        return first(given, chosen, dtypes)

    said: dict[str, None] = {}
    how = tensor.conditions(given.backend, given.rounds, said.setdefault, given.ours == "chosen")

    rivals = DEVICE_RIVALS if how.backend.memory == "device" else HOST_RIVALS
    rows: list[dict] = []
    for case in cases(chosen, given.mib, dtypes, rivals):
        for row in tensor.measure(case, how):
            rows.append({**row, "bench": "tccg", "sizes": {**case.sizes}})

    head = f"TCCG, {given.mib:g} MiB: {how.backend.product}"
    report.show([head, *said, "", tensor.table(rows), "", *summary(rows)], rows, given.json)
    return rows


def first(given, chosen, dtypes) -> list[dict]:
    """`--first`: rows of first calls."""
    rows = []
    for dtype in dtypes:
        for name in chosen:
            rows.append(first_calls.measured(name, extents(name, given.mib), dtype, given.backend))

    report.show([f"TCCG, {given.mib:g} MiB, first calls", first_calls.table(rows)], rows, given.json)
    return rows


def summary(rows) -> list[str]:
    """Lines: how the chosen organisation stands beside the best rival, and beside the fastest of ours."""
    ratios, misses = [], []
    for key in dict.fromkeys((row["case"], row["dtype"]) for row in rows):
        here = [row for row in rows if (row["case"], row["dtype"]) == key]
        (chosen,) = (row for row in here if row["chosen"])
        fastest = min((row for row in here if row["ours"]), key=lambda row: row["seconds"])
        if chosen["ratio"]:
            ratios.append(chosen["ratio"])
        if chosen["seconds"] > 1.15 * fastest["seconds"]:
            times = chosen["seconds"] / fastest["seconds"]
            misses.append(f"{' '.join(key)}: {chosen['name']} takes {times:.2f} times as long as {fastest['name']}")

    lines = []
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        lines.append(
            f"beside the best rival: geometric mean {mean:.2f}, least {min(ratios):.2f}, "
            f"{sum(ratio < 1 for ratio in ratios)} of {len(ratios)} below 1"
        )
    lines.append(f"chosen within 1.15 of the fastest of ours: all but {len(misses)}")
    return [*lines, *misses]
