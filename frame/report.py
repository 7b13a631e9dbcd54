"""The timer table: by rank, and over the ranks."""

from __future__ import annotations


def table(gathered: list, backend: str) -> str:
    """gathered: for each rank {name: (calls, points, seconds)}, or None where timers are off. Returns the text."""
    on = {rank: rows for rank, rows in enumerate(gathered) if rows is not None}
    if not on:
        return "frame: timers are off; FRAME_TIMERS=1 or frame_setparameter('timers', 1) before the work turns them on."
    names = list(dict.fromkeys(name for rows in on.values() for name in rows))
    width = max([len(n) for n in names] + [8])
    lines = [
        f"frame: seconds by name, {len(gathered)} rank{'s' * (len(gathered) > 1)}, backend {backend}",
        f"  {'rank':>5} {'name':{width}} {'calls':>9} {'points':>13} {'seconds':>11} {'ns/point':>9}",
    ]
    for rank, rows in on.items():
        lines += [
            f"  {rank:5d} {name:{width}} {c:9d} {n:13d} {s:11.6f} {_each(s, n):>9}" for name, (c, n, s) in rows.items()
        ]
    if len(gathered) > 1:
        lines.append(f"  {'over':>5} {'name':{width}} {'calls':>9} {'min':>11} {'mean':>11} {'max':>11}")
        for name in names:
            seconds = [rows.get(name, (0, 0, 0.0))[2] for rows in on.values()]
            calls = sum(rows.get(name, (0, 0, 0.0))[0] for rows in on.values())
            mean = sum(seconds) / len(seconds)
            lines.append(
                f"  {'ranks':>5} {name:{width}} {calls:9d} {min(seconds):11.6f} {mean:11.6f} {max(seconds):11.6f}"
            )
    return "\n".join(lines)


def _each(seconds: float, points: int) -> str:
    return f"{1e9 * seconds / points:.1f}" if points else "-"
