"""A pair of arrays, of the host and where a backend works, with a record of which one has changed."""

from __future__ import annotations

import numpy as np

from ..engine.backend import get_backend
from ..engine.errors import StateError, refuse

SIDES = ("host", "device")


def check_side(side: str) -> None:
    """Raises ArgumentError unless it is one."""
    refuse(side not in SIDES, f"side {side!r}, wanted host or device.")


class DualView:
    """An array of the host and its copy where a backend works, as Kokkos' DualView.

    host, device: the arrays; one and the same on a CPU. Whoever writes one says modify(side). sync(side) brings that
    side up to date, by a copy only if the other one has changed. Raises StateError where both have changed.

        T = DualView(np.zeros(n), "cuda")
        T.host[:] = 300
        T.modify("host")
        kernel.run({"T": T.sync("device")}, T.backend)
        T.modify("device")
        print(T.sync("host"))
    """

    def __init__(self, array, backend=None):
        """array: the host's. It is contiguous, and keeps its place."""
        refuse(
            not isinstance(array, np.ndarray) or not array.flags.forc,
            f"DualView: {type(array).__name__}, wanted a contiguous array of NumPy.",
        )
        self.backend = get_backend(backend)
        self.host = array
        self._left = array.flags.f_contiguous and not array.flags.c_contiguous
        self.device = array if self.backend.memory == "host" else self._copied()
        self._changed = dict.fromkeys(SIDES, False)

    def _copied(self):
        """The host's array where the backend works, in the same order of indices."""
        array = self.host.T if self._left else self.host
        copy = self.backend.from_host(array, array.dtype)
        return copy.T if self._left else copy

    def modify(self, side: str) -> None:
        """Say that a side was written. Raises StateError if the other side was, and was not synchronised."""
        other = self._other(side)
        if self._changed[other]:
            raise StateError(f"DualView: {side} was written, and {other} before it: sync('{side}') comes between.")
        self._changed[side] = self.device is not self.host

    def need_sync(self, side: str) -> bool:
        """Whether a side is behind the other."""
        return self._changed[self._other(side)]

    def sync(self, side: str):
        """The array of a side, up to date."""
        other = self._other(side)
        if self._changed[other]:
            self._changed[other] = False
            if side == "device":
                self.device[...] = self._copied()
            else:
                self.host[...] = self.backend.to_host(self.device)

        return self.host if side == "host" else self.device

    @staticmethod
    def _other(side: str) -> str:
        check_side(side)
        return SIDES[1 - SIDES.index(side)]
