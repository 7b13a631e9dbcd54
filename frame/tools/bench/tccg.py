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
import pathlib
import statistics

from ...errors import FrameError
from .. import tables
from . import first_calls, options, report, results, tensor

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
LEVEL = 0.97  # of a rival's pace, below which a row is counted
NEAR, LITTLE = 0.9, 1.1  # of the bound; times a rival's pace
SIDES = {  # what is held against which rivals: the rows
    "the result in the text's order, beside rivals in order": lambda row: row["chosen"],
    "the result in any order, beside all rivals": lambda row: row["name"] == tensor.ANY_ORDER,
}
MIB = 200  # of the largest array, in float64
HOST_RIVALS: tuple[str, ...] = ("einsum", "opt_einsum", "xsmm", "einsum_in_order")
DEVICE_RIVALS: tuple[str, ...] = ("einsum", "torch_einsum", "einsum_in_order", "torch_in_order", "cutensor")
IN_ORDER = ("xsmm", "einsum_in_order", "torch_in_order", "cutensor")  # the others may return views


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
            in_order = tuple(rival for rival in rivals if rival in IN_ORDER)
            made.append(tensor.Case(name, text(name), sizes, entries, {}, rivals, dtype, entries, in_order, True))
    return made


OPTIONS: dict[str, dict] = {
    "--backend": options.ONE_CORE,
    "--rounds": options.rounds(ROUNDS),
    "--rows": dict(metavar="NAME,...", help=f"some contractions, or groups: {', '.join(GROUPS)} (default: all 48)"),
    "--mib": dict(type=float, default=MIB, help=f"of the largest array, in float64 ({MIB})"),
    "--dtype": dict(choices=("float64", "float32", "both"), default="both"),
    "--ours": dict(choices=("all", "chosen"), default="all", help="every organisation, or the default"),
    "--of": dict(metavar="FILE.json", type=pathlib.Path, help="the tables of a recorded run; nothing is measured"),
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
    if given.of:
        recorded = results.read(given.of)
        report.show([recorded.origin, *_tables(recorded.rows)], recorded.rows, given.json)
        return recorded.rows
    options.refuse_below(given, rounds=1)
    if not given.mib > 0:
        raise FrameError(f"--mib {given.mib}, wanted more than 0.")
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
    report.show([head, *said, "", tensor.table(rows), *_tables(rows)], rows, given.json)
    return rows


def first(given, chosen, dtypes) -> list[dict]:
    """`--first`: rows of first calls."""
    rows = []
    for dtype in dtypes:
        for name in chosen:
            rows.append(first_calls.measured(name, extents(name, given.mib), dtype, given.backend))

    report.show([f"TCCG, {given.mib:g} MiB, first calls", first_calls.table(rows)], rows, given.json)
    return rows


def _tables(rows) -> list[str]:
    """Lines: the table by groups, and the summary."""
    return ["", *tables.to_the_left(groups(rows)), "", *summary(rows)]


# ---- table by groups ------------------------------------------------------------------------------------------------

HEADINGS = (
    "contractions",
    "type",
    "chosen",
    "TF/s",
    "of the bound",
    "in order, beside rivals in order",
    "any order, beside all rivals",
)
TITLES = {
    "matrix": "tensor x small matrix",
    "basis": "change of basis",
    "clusters": "coupled clusters",
    "triples": "triples",
}


def groups(rows) -> list[tuple[str, ...]]:
    """Cells of a table of ratios by groups of contractions, headings first: the least, the most, the mean."""
    found: list[tuple[str, ...]] = [HEADINGS]
    for name, title in TITLES.items():
        own = [row for row in rows if row["case"] in GROUPS[name].split()]
        for dtype in dict.fromkeys(row["dtype"] for row in own):
            found.append(_group(title, dtype, [row for row in own if row["dtype"] == dtype]))
    return found


def _group(title: str, dtype: str, rows) -> tuple[str, ...]:
    """The cells of a group in one type."""
    sides = [[row for row in rows if is_meant(row)] for is_meant in SIDES.values()]
    chosen = sides[0]
    names = [row["name"] for row in chosen]
    told = ", ".join(f"{name} {names.count(name)}" for name in sorted(set(names), key=names.count, reverse=True))
    paces = [row["flops_per_s"] * 1e-12 for row in chosen]

    pace = f"{min(paces):.3g} to {max(paces):.3g}"
    shares = _range([row.get("share") for row in chosen])
    return f"{title}, {len(chosen)}", dtype, told, pace, shares, *[_range([row["ratio"] for row in s]) for s in sides]


def _range(numbers) -> str:
    """The least, the most, and the geometric mean of those that are known."""
    known = [number for number in numbers if number]
    if not known:
        return "-"
    mean = math.exp(statistics.fmean(map(math.log, known)))
    return f"{min(known):.2f} to {max(known):.2f} ({mean:.2f})"


def _has_room(row) -> bool:
    """Whether a row is neither near what the core can do at all, nor far before the best rival."""
    share, ratio = row.get("share"), row["ratio"]
    return bool(share and ratio) and share < NEAR and ratio < LITTLE


def summary(rows) -> list[str]:
    """Lines: ours beside the best rival, in the text's order of memory and in any, and beside the fastest of ours."""
    lines, misses = [], []
    for title, is_meant in SIDES.items():
        ratios = [row["ratio"] for row in rows if is_meant(row) and row["ratio"]]
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            lines.append(
                f"{title}: geometric mean {mean:.2f}, least {min(ratios):.2f}, "
                f"{sum(ratio < LEVEL for ratio in ratios)} of {len(ratios)} below {LEVEL}"
            )

    slow = [row for row in rows if row["chosen"] and _has_room(row)]
    if slow:
        lines.append(f"below {NEAR} of the bound and {LITTLE} times the best rival's pace: {len(slow)}")
    lines += [f"{row['case']} {row['dtype']}: {row['share']:.2f} of the bound, {row['ratio']:.2f}x" for row in slow]

    for key in dict.fromkeys((row["case"], row["dtype"]) for row in rows):
        here = [row for row in rows if (row["case"], row["dtype"]) == key and row["name"] != tensor.ANY_ORDER]
        (chosen,) = (row for row in here if row["chosen"])
        fastest = min((row for row in here if row["ours"]), key=lambda row: row["seconds"])
        if chosen["seconds"] > 1.15 * fastest["seconds"]:
            times = chosen["seconds"] / fastest["seconds"]
            misses.append(f"{' '.join(key)}: {chosen['name']} takes {times:.2f} times as long as {fastest['name']}")
    return [*lines, f"chosen within 1.15 of the fastest of ours: all but {len(misses)}", *misses]
