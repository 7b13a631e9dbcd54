"""Calls of a plan on a device, of arrays that lie alike: what a bind found is found once."""

from __future__ import annotations

from ..engine.backend.replay import ALIGNED, Lie, Replay, StandIn, watched

KEPT = 32  # replays, of where arrays begin


class Replays:
    """run(arrays) of a plan for n entries, for arrays in the order of these."""

    def __init__(self, plan, arrays, n: int):
        self.plan, self.backend, self.n = plan, plan.backend, n
        self.names = tuple(arrays)
        self.sizes = [span(array) for array in arrays.values()]
        outputs = [self.names.index(name) for name in plan.expression.outputs]
        self.pairs = [(out, other) for out in outputs for other in range(len(arrays)) if other != out]
        self.kept: dict[tuple, Replay] = {}

        self._lies = [Lie(array.shape, array.strides, array.dtype) for array in arrays.values()]
        self._replay(self._addresses(list(arrays.values())))

    def __call__(self, arrays) -> None:
        addresses = self._addresses(arrays)
        if self._touch(addresses):
            self.plan.checked(self._named(arrays), self.n)
        self._replay(addresses)(addresses)

    def with_new_outputs(self, addresses: list[int]) -> None:
        """Queues all with arrays that begin at these addresses. No output shares memory with another array."""
        self._replay(addresses)(addresses)

    def _addresses(self, arrays) -> list[int]:
        return [self.backend.address(array) for array in arrays]

    def _named(self, arrays) -> dict:
        return dict(zip(self.names, arrays))

    def _touch(self, addresses) -> bool:
        """Whether an output may share memory with another array."""
        for one, other in self.pairs:
            apart = addresses[one] - addresses[other]
            if -self.sizes[one] < apart < self.sizes[other]:
                return True
        return False

    def _replay(self, addresses) -> Replay:
        """For arrays that begin as these do."""
        key = tuple([address % ALIGNED for address in addresses])
        found = self.kept.get(key)
        if found is None:
            found = self._made(addresses)
            if len(self.kept) >= KEPT:
                self.kept.clear()
            self.kept[key] = found
        return found

    def _made(self, addresses) -> Replay:
        stand_ins = self._named(map(StandIn.at, range(len(addresses)), addresses, self._lies))
        with watched(len(addresses)) as watch:
            self.plan.launched(stand_ins, self.n)()
        return Replay(watch, addresses, self.backend.empty, self.backend.joint)


def span(array) -> int:
    """Bytes from the begin of an array to its end."""
    steps = ((extent - 1) * stride for extent, stride in zip(array.shape, array.strides))
    return sum(steps) + array.dtype.itemsize if array.size else 0
