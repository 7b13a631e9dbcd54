"""Bound calls: what a call of the host needs is looked up once, and the call is repeated without looking.

There is one memory for each thread, and one rule. A bound call is valid under the Conditions under which it was bound.
Arrays that kernels reach across the link, although the layer did not pin them, are asked for at each repetition: the
host may unpin or free them without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from .shared import Conditions, Shared

KEPT = 512  # calls: a host makes the same few again and again


class Bound:
    """A call of the host that may be repeated.

    bind() -> (run, blocks): run(*values) makes the call; blocks: the host's arrays that it uses. It is called again
    when the call is repeated under other conditions.
    """

    def __init__(self, shared: Shared, reach: Callable, bind: Callable):
        self._shared = shared
        self._reach = reach  # of a block: "own", "shared" or "no", see Backend.reach
        self._bind = bind
        self._renew()

    def _renew(self) -> None:
        self._run, blocks = self._bind()
        self._conditions: Conditions = self._shared.conditions
        pinned = self._shared.backend.pinned
        self._unpinned = [b for b in blocks if self._reach(b) == "shared" and not pinned(*b.range)]

    def _moved(self) -> bool:
        """Whether the host has unpinned or freed an array that it had pinned itself."""
        return any(self._reach(block) != "shared" for block in self._unpinned)

    def __call__(self, *values):
        changed = not self._shared.unchanged(self._conditions)
        if changed or (self._unpinned and self._moved()):
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
