"""A search for the fastest organisation of a team kernel on its arrays: tiles, or members and lanes of a team."""

from __future__ import annotations

import itertools

import numpy as np

from ..engine import tune
from ..engine.backend.base import Backend
from ..engine.errors import FrameError, refuse
from .declaration import Declaration
from .items import TileItems
from .layouts import MOST_THREADS
from .policies import AS_DECLARED, Sizes

MEMBERS, LANES = (1, 4, 16, 64, 256), (1, 8, 32)
SAME = 1e-9  # of the largest number: sums in another order, by far; another result is further off
LEAST = 1e-3  # seconds of a measurement


def variants_of(kernel: Declaration, extents: list[int]) -> list[Sizes]:
    """Sizes to try; the first are the declared ones."""
    if isinstance(kernel.items, TileItems):
        return [AS_DECLARED, *[Sizes(tile=tile) for tile in kernel.items.candidates(extents)]]

    refuse(not kernel.items.has_teams, f"team kernel '{kernel.name}': a {kernel.items.kind} has nothing to search for.")
    refuse(
        not kernel.any_team,
        f"team kernel '{kernel.name}': its team is declared, since results depend on it; 'auto' leaves it open.",
    )
    shapes = [(team, lanes) for team, lanes in itertools.product(MEMBERS, LANES) if 32 <= team * lanes <= MOST_THREADS]
    return [AS_DECLARED, *[Sizes(f"auto {team}", lanes) for team, lanes in shapes]]


class Search:
    """A kernel on arrays that are as they were at the end. bind: the kernel's. more: further arguments of it."""

    def __init__(self, bind, kernel: Declaration, arrays: dict, backend: Backend, more: dict):
        self.bind, self.backend, self.more = bind, backend, more
        self.default = bind(arrays, backend, **more)
        self.arrays = self.default.arrays

        self._left = {a.name for a in kernel.arrays if a.layout == "LEFT"}
        self._written = [a.name for a in kernel.operands if a.written]
        self._start = self._values()
        self.default()
        self._wanted = self._values()

    def run(self, variants: list[Sizes], rounds: int, told=None) -> list[tune.Outcome]:
        """The fastest first; see engine.tune.search."""
        once = max(tune.seconds(self.backend, self.default), 1e-7)
        often = max(1, min(1000, int(LEAST / once)))
        try:
            return tune.search(
                variants, self._prepare, self._verify, lambda run: tune.seconds(self.backend, run, often), rounds, told
            )
        finally:
            self._restore()

    def _prepare(self, variant: Sizes):
        return self.bind(dict(self.arrays), self.backend, variant, **self.more), {}

    def _verify(self, variant: Sizes, run) -> float:
        """The largest difference from the default's results. Raises FrameError."""
        self._restore()
        run()
        worst = 0.0
        for name, values in self._values().items():
            wanted = self._wanted[name]
            scale = np.max(np.abs(wanted), initial=0.0) or 1.0
            worst = max(worst, float(np.max(np.abs(values - wanted), initial=0.0) / scale))
        refuse(not worst <= SAME, f"{variant}: results differ by {worst:.1e} of the largest number.", FrameError)
        return worst

    def _flat(self, name: str):
        """A written array with its last index the fastest."""
        array = self.arrays[name]
        return array.T if name in self._left else array

    def _values(self) -> dict[str, np.ndarray]:
        return {name: np.array(self.backend.to_host(self._flat(name))) for name in self._written}

    def _restore(self) -> None:
        for name, values in self._start.items():
            self._flat(name)[...] = self.backend.from_host(values, values.dtype)
