"""The organisations of tensor programs: one class a file, and here which of them each style of backend has.

A new organisation is a file with a class (see base.py) and its name in KINDS. The order of a list decides between equal
prices.
"""

from __future__ import annotations

import functools
import math

from ...engine.errors import ArgumentError, closest
from ..plan import Program
from . import library_costs
from .apart import DeviceApart, HostApart, chosen_by
from .axes import Axes
from .base import Organisation, Unable
from .columns import Columns
from .direct import Direct
from .direct_host import HostDirect
from .flat import Flat
from .later import Later
from .library import DeviceLibrary, HostLibrary
from .lines import Lines
from .moments import Moments
from .outer import Outer
from .outer_packs import OuterPacks
from .outer_threads import OuterThreads
from .packs import Lanes, Packs
from .slices import Slices
from .staged import Staged
from .sums import Sums
from .sweep import Sweeps
from .team import Team
from .tiles import Tiles

__all__ = ["OUTER", "Family", "Organisation", "Unable", "family", "refuse_unknown"]

KERNEL = 2e-6  # seconds of a kernel, beside its work
BESIDE = 1e-3  # of a price, where memory takes longer

KINDS: dict[str, tuple[type[Organisation], ...]] = {
    "packs": (Packs, Lanes, Sweeps, HostDirect, HostLibrary, HostApart, OuterPacks),
    "threads": (
        Flat,
        Sums,
        Moments,
        Columns,
        Tiles,
        Slices,
        Team,
        Lines,
        Staged,
        Direct,
        DeviceLibrary,
        Axes,
        DeviceApart,
        Later,
        OuterThreads,
    ),
}


class Family:
    """The organisations of one style of backend: "packs" or "threads"."""

    def __init__(self, style: str):
        self.all = KINDS[style]

        self.kinds: dict[str, type[Organisation]] = {}
        for kind in self.all:
            for name in kind.NAMES:
                self.kinds[name] = kind

    def choices(self, p: Program) -> list[tuple[float, Organisation]]:
        """Organisations that serve a program, each with its price, the best first."""
        found: list[tuple[float, Organisation]] = []
        least = math.inf
        for kind in sorted(self.all, key=lambda kind: kind.SPECIAL):
            if p.complex and not kind.COMPLEX:
                continue
            some = [(_whole_price(how, p, least), how) for how in kind.candidates(p)]
            if not kind.SPECIAL:
                least = min([least, *(price for price, _ in some)])
            found += some

        return sorted(found, key=lambda choice: choice[0])

    def require(self, p: Program, how: Organisation) -> None:
        """Raises ArgumentError if an organisation does not serve a program."""
        reason = how.in_range() or how.serves(p)
        if reason:
            raise ArgumentError(f"tensor expression: organisation '{how}' does not serve it, wanted {reason}.")


def _whole_price(how: Organisation, p: Program, least: float) -> float:
    """The price on a device that is filled or not, and no less than memory allows. Below that the price still decides
    between two organisations."""
    waits = how.waits(p)
    price, floor = how.price(p, least) * waits, how.floor(p) * math.sqrt(waits)
    if not floor:
        return price
    unit = library_costs.unit("threads", p)
    kernel = KERNEL / unit / library_costs.usual_batch(p)
    return max(price, floor / unit) + kernel + BESIDE * price


OUTER: dict[str, type[Outer]] = {"packs": OuterPacks, "threads": OuterThreads}  # outer products, by style


def refuse_unknown(how: str) -> None:
    """Raises ArgumentError for a line, such as "direct rows=96", whose first word is an organisation of no backend."""
    name = how.split()[0]
    names = list(dict.fromkeys(known for kinds in KINDS.values() for kind in kinds for known in kind.NAMES))
    if name not in names:
        raise ArgumentError(f"no organisation '{name}'{closest(name, names)}; known: {', '.join(names)}.")


@functools.lru_cache(None)
def family(style: str) -> Family:
    """The organisations of backends of one style."""
    return Family(style)


@chosen_by
def choices(style: str, p: Program) -> list[tuple[float, Organisation]]:
    """Organisations of a style that serve a program, each with its price, the best first."""
    return family(style).choices(p)
