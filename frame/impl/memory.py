"""Bound calls: a call of the host looks up everything once, and is then repeated in a few steps.

Each thread has a memory of its bound calls, and there is a single rule. A bound call is valid until something changes
that all calls depend on (Shared.change), or until the backend has pinned or unpinned memory. A call that is no longer
valid is bound again.

Some arrays were pinned by the host and not by the layer. The host may unpin or free them without a word, so each
repetition asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from .shared import Shared

KEPT = 2048  # calls: a host makes the same again and again, perhaps one for each step of an iteration


class Bound:
    """A call of the host that may be repeated.

    bind() -> (run, blocks): run(*values) makes the call; blocks: the host's arrays that the call uses.
    """

    def __init__(self, shared: Shared, reach: Callable, bind: Callable):
        self._shared = shared
        self._backend = shared.backend
        self._reach = reach  # of a block: "own", "shared" or "no", see Backend.reach
        self._bind = bind
        self._renew()

    def _renew(self) -> None:
        self._run, blocks = self._bind()

        # The state at this moment, which binding itself may have changed.
        self._changes = self._shared.changes
        self._pins = self._backend.pins
        arrays = [array for block in blocks for array in block.arrays]
        self._pinned_by_host = [array for array in arrays if self._is_pinned_by_host(array)]

    def _is_pinned_by_host(self, block) -> bool:
        return self._reach(block) == "shared" and not self._backend.pinned(*block.range)

    def _is_released(self) -> bool:
        """Whether the host has unpinned or freed an array that the host had pinned."""
        return any(self._reach(block) != "shared" for block in self._pinned_by_host)

    def __call__(self, *values):
        is_valid = self._changes == self._shared.changes and self._pins == self._backend.pins
        if not is_valid or (self._pinned_by_host and self._is_released()):
            self._renew()

        return self._run(*values)


class Memory(dict[Hashable, Callable]):
    """{arguments as the host passes them: call}. Addresses are among the arguments, so an address of the host's memory
    is used only in a call that passes it."""

    def keep(self, arguments: Hashable, call: Callable) -> None:
        if len(self) >= KEPT:
            self.clear()
        self[arguments] = call

    def forget(self) -> None:
        """Called by Shared.change."""
        self.clear()
