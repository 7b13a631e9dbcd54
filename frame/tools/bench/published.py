"""Times of Nelson et al. 2015 (Generating efficient tensor contractions for GPUs, ICPP 2015), beside those of a run."""

from __future__ import annotations

from typing import NamedTuple

LAYER, SURF = "layer", "SURF"  # sides of `bench barracuda`


class Published(NamedTuple):
    """A row of the paper's tables II and IV, on a GTX 980; copies are counted at least for Eqn.(1) and Nekbone."""

    gflops: float
    speedup: float  # times one core of a Haswell
    search: float = 0.0  # seconds of SURF; 0: not given


PUBLISHED = {
    "Eqn.(1)": Published(1.99, 0.63, 3556.0),
    "Lg3": Published(42.74, 23.74, 324.8),
    "Lg3t": Published(41.11, 22.87, 356.9),
    "TCE_ex": Published(42.72, 29.77, 276.6),
    "S1": Published(16.14, 16.14 / 2.47),
    "D1": Published(115.37, 115.37 / 3.90),
    "D2": Published(50.00, 50.00 / 5.60),
    "Nekbone": Published(35.70, 35.70 / 7.79),
}


def beside(rows) -> list[str]:
    """A line for each row of the paper's tables: GF/s, and how many times faster than one core; ours with data on the
    device, with copies, and with copies of pinned arrays."""
    lines = []
    for name, paper in PUBLISHED.items():
        own = [row for row in rows if row["case"].startswith((f"{name} ", f"{name}_"))]
        ours = [row for row in own if row["side"] == LAYER]
        if not ours:
            continue

        words = [f"{name}: paper, GTX 980: {paper.gflops} GF/s, {paper.speedup:.3g} times one core"]
        if paper.search:
            words.append(f"search {paper.search} s")
        words.append(f"here {_reached(ours, 'seconds')}")
        for key, said in (("with_copies", "with copies"), ("pinned", "pinned")):
            if all(row.get(key) for row in ours):
                words.append(f"{said} {_reached(ours, key)}")
        words += [f"SURF here {row['search_seconds']:.3g} s" for row in own if row["side"] == SURF][:1]
        lines.append("; ".join(words))
    return lines


def _reached(rows, key: str) -> str:
    """GF/s of rows by their seconds of this name, and how many times faster than one core."""
    rates = [row["gflops"] * row["seconds"] / row[key] for row in rows]
    times = [row["speedup"] * row["seconds"] / row[key] for row in rows if row.get("speedup")]
    return f"{_span(rates)} GF/s" + (f", {_span(times)} times one core" if times else "")


def _span(values) -> str:
    """0.27, or 4.1 to 8.9."""
    ends = [f"{end:.3g}" for end in (min(values), max(values))]
    return " to ".join(dict.fromkeys(ends))
