"""Targets of `bench phases`: what issue 35 wants of it, beside what a run measured."""

from __future__ import annotations

import dataclasses

from .phase_gases import Alkanes
from .report import Row, span

HEADS = ["target", "NS", "wanted", "measured", "reached"]


@dataclasses.dataclass(frozen=True)
class Target:
    """A limit for a figure of a row."""

    case: str  # of the row
    ns: int
    limit: float

    def rows(self, rows: list[Row]) -> list[Row]:
        """The rows that the figure is of."""
        return [row for row in rows if row.case == self.case and row.ns == self.ns]

    def lines(self, rows: list[Row]) -> list[list[str]]:
        """Cells of HEADS for each row that the run has."""
        return [self.line(row) for row in self.rows(rows)[:1]]

    def line(self, row: Row) -> list[str]:
        raise NotImplementedError


class Pace(Target):
    """Seconds a point, at most."""

    def line(self, row: Row) -> list[str]:
        seconds = 1 / row.points_per_s
        wanted = f"<= {span(self.limit)} a point"
        return cells(self.case, self.ns, wanted, span(seconds), seconds <= self.limit)


class Units(Target):
    """Times the time of `thermal` as one phase, at most."""

    def line(self, row: Row) -> list[str]:
        assert row.ratio is not None
        units = 1 / row.ratio
        what = f"{self.case}, in units of {row.rival}"
        return cells(what, self.ns, f"<= {self.limit:g}", f"{units:.1f}", units <= self.limit)


@dataclasses.dataclass(frozen=True)
class Faster(Target):
    """Times faster than a call of a rival, at least."""

    rival: str
    rival_case: str  # row of the rival's call

    def lines(self, rows: list[Row]) -> list[list[str]]:
        of_rival = [row for row in rows if (row.case, row.ns, row.rival) == (self.rival_case, self.ns, self.rival)]
        what = f"{self.case}, times faster than {self.rival}"
        if self.rival_case != self.case:
            what += f" at {self.rival_case}"

        found = []
        for row, other in zip(self.rows(rows)[:1], of_rival):
            assert other.rival_points_per_s is not None
            ratio = row.points_per_s / other.rival_points_per_s
            found.append(cells(what, self.ns, f">= {self.limit:g}", f"{ratio:.0f}", ratio >= self.limit))
        return found


@dataclasses.dataclass(frozen=True)
class Exact(Target):
    """The largest difference of a quantity, at most."""

    quantity: str
    rival: str | None = None  # beside which the difference is

    def rows(self, rows: list[Row]) -> list[Row]:
        return [row for row in super().rows(rows) if row.max_rel_diff is not None and row.rival == self.rival]

    def line(self, row: Row) -> list[str]:
        assert row.max_rel_diff is not None
        error = row.max_rel_diff
        what = f"{self.case}, difference of {self.quantity}" + (f" beside {self.rival}" if self.rival else "")
        return cells(what, self.ns, f"<= {self.limit:.0e}", f"{error:.1e}", error <= self.limit)


def cells(what: str, ns: int | str, wanted: str, measured: str, is_reached: bool) -> list[str]:
    """A line below HEADS."""
    return [what, str(ns), wanted, measured, "yes" if is_reached else "no"]


# Seconds by number of species
WARM = {2: 0.3e-6, 4: 0.6e-6, 10: 3e-6}
PROPERTIES = {2: 0.2e-6, 4: 0.6e-6, 10: 1.6e-6}
WARM_ON_DEVICE = {2: 0.25e-9, 4: 0.5e-9, 10: 3e-9}
COLD_ON_DEVICE = {2: 2.3e-9, 4: 4e-9, 10: 12e-9}
ALKANES = {8: 0.8e-6, 4: 1.3e-6}  # by numbers of a pack: with AVX-512, with AVX2


def on_core(lanes: int) -> list[Target]:
    """Targets of a core whose packs have so many numbers."""
    targets: list[Target] = [Pace(f"Tp cold, {Alkanes.KINDS[0]}", 4, ALKANES[8 if lanes >= 8 else 4])]
    targets += [Pace("UV warm, random", ns, limit) for ns, limit in WARM.items()]
    targets += [Faster("UV warm, random", ns, 1000, "ThermoPack, UV", "UV warm, random") for ns in WARM]
    for rival in ("thermo", "feos"):
        targets += [Faster("UV warm, random", ns, 100, rival, "Tp cold, random") for ns in WARM]
    targets += [Pace("properties, random", ns, limit) for ns, limit in PROPERTIES.items()]
    targets += [Exact("Tp cold, random", ns, 1e-6, "beta", "ThermoPack") for ns in WARM]
    targets += [Exact("UV warm, random", ns, 1e-7, "T") for ns in WARM]
    return targets + [Units(f"field, {name}", 4, 12) for name in ("T p", "e rho")]


def on_device() -> list[Target]:
    """Targets of a GPU."""
    targets: list[Target] = [Pace("UV warm, ordered", ns, limit) for ns, limit in WARM_ON_DEVICE.items()]
    targets += [Pace("Tp cold, ordered", ns, limit) for ns, limit in COLD_ON_DEVICE.items()]
    return targets + [Units(f"field, {name}", 4, 10) for name in ("T p", "e rho")]


def beside(rows: list[Row], lost: int, targets: list[Target]) -> list[list[str]]:
    """Lines of a table, HEADS first: the targets of which the run has a row. lost: points without a state."""
    lines = [HEADS, cells("points of which no state is found", "-", "0", str(lost), lost == 0)]
    for target in targets:
        lines += target.lines(rows)
    return lines
