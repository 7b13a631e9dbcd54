"""The timer table: by rank, and over the ranks."""

from __future__ import annotations

from .watch import COPIES_IN, COPIES_OUT


def table(gathered: list, backend: str, link: tuple[float, float] | None = None) -> str:
    """The text that frame_report prints.

    gathered: for each rank {name: (calls, points, seconds, bytes, track)}, or None if its timers are off. link: bytes a
    second to and from the device, one direction at a time.
    """
    on = {rank: rows for rank, rows in enumerate(gathered) if rows is not None}
    if not on:
        return "frame: timers are off; FRAME_TIMERS=1 or frame_setparameter('timers', 1) before the work turns them on."

    names = list(dict.fromkeys([name for rows in on.values() for name in rows]))
    width = max([len(name) for name in names] + [8])
    plural = "s" if len(gathered) > 1 else ""
    lines = [f"frame: seconds by name, {len(gathered)} rank{plural}, backend {backend}"]
    lines += _of_each_rank(on, width, link)

    if link:
        lines.append(f"  link: {1e-9 * link[0]:.1f} GB/s to the device, {1e-9 * link[1]:.1f} from it, measured now")
    if len(gathered) > 1:
        lines += _over_ranks(on, names, width)
    return "\n".join(lines)


def _of_each_rank(on: dict[int, dict], width: int, link) -> list[str]:
    limit = dict(zip((COPIES_IN, COPIES_OUT), link or ()))
    head = f"  {'rank':>5} {'name':{width}} {'calls':>9} {'points':>13} {'seconds':>11} {'ns/point':>9} {'GB/s':>7}"
    lines = [head + (f" {'of link':>7}" if link else "")]

    for rank, rows in on.items():
        for name, (calls, points, seconds, nbytes, track) in rows.items():
            line = (
                f"  {rank:5d} {name:{width}} {calls:9d} {points:13d} {seconds:11.6f} {_each(seconds, points):>9} "
                f"{_rate(seconds, nbytes):>7}"
            )
            if link:
                line += f" {_share(seconds, nbytes, limit.get(track)):>7}"
            lines.append(line)

    return lines


def _over_ranks(on: dict[int, dict], names: list[str], width: int) -> list[str]:
    lines = [f"  {'over':>5} {'name':{width}} {'calls':>9} {'min':>11} {'mean':>11} {'max':>11}"]
    for name in names:
        found = [rows.get(name, (0, 0, 0.0, 0, "")) for rows in on.values()]
        calls = sum([row[0] for row in found])
        seconds = [row[2] for row in found]
        mean = sum(seconds) / len(seconds)
        lines.append(f"  {'ranks':>5} {name:{width}} {calls:9d} {min(seconds):11.6f} {mean:11.6f} {max(seconds):11.6f}")

    return lines


def _each(seconds: float, points: int) -> str:
    """Nanoseconds a point."""
    return f"{1e9 * seconds / points:.1f}" if points else "-"


def _rate(seconds: float, nbytes: int) -> str:
    """Gigabytes a second."""
    return f"{1e-9 * nbytes / seconds:.2f}" if nbytes and seconds else "-"


def _share(seconds: float, nbytes: int, limit: float | None) -> str:
    """Per cent of the link."""
    return f"{100 * nbytes / seconds / limit:.0f} %" if nbytes and seconds and limit else "-"
