"""State of all threads between frame_initialize and frame_finalize."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import kernels
from kernels.marshal import Marshal

from ..check import Check
from ..watch import Watch


class Sizes(NamedTuple):
    """The numbers that frame_initialize fixes."""

    chunk: int  # points that a view holds
    ns: int  # species
    nq: int = 1  # variables of Q = (p, u, v, w, T, Y_1..Y_ns, the host's own)


class Shared:
    """A chunk size, a mixture and a backend, with the programs, timers and check mode of all threads.

    rank: for messages. precision: "double"; "mixed": views are float32, which halves the device's memory and traffic,
    and kernels calculate in double; "single": kernels calculate in float32 too. With each of them the host's arrays may
    be double or single.
    """

    def __init__(self, backend, sizes: Sizes, rank: int = 0, precision: str = "double"):
        self.backend = backend
        self.chunk, self.ns, self.nq = sizes
        self.precision = precision
        self.dtype = kernels.dtype_of(precision)
        self.row = backend.pad(self.chunk)  # row length of a view
        self.marshal = Marshal(backend)  # threads have twins of it

        self.mixture: Any = None
        self.programs: dict[tuple, kernels.Program] = {}  # the keys are the keys of Launchers
        self.plans: dict[tuple, Any] = {}  # by the same keys: what a launch reads and writes
        self.watch = Watch(backend)
        self.check = Check(rank)

        self.q_lacks_last = self.nq == self.ns + 4  # Q comes without the last mass fraction
        self.last_from_sum = self.q_lacks_last  # Y may come without its last species: 1 less the sum of the others
        self.later = False  # stripe calls return before pinned arrays were read and written
        self.turns = False  # ranks share the device without MPS: a kernel holds it, also while the link is slow

        self.threads: weakref.WeakSet[Any] = weakref.WeakSet()  # the TVImpl of each
        self.changes = 0  # mixtures loaded, views freed, kernels registered, check mode, packing threads, buffers

    def drop_programs(self) -> None:
        """Forget what belongs to the mixture so far."""
        self.programs.clear()
        self.plans.clear()

    def change(self) -> None:
        """Each thread forgets its bound calls: state has changed on which they depend."""
        self.changes += 1
        for thread in self.threads:
            thread.memory.forget()

    def switch_check(self, on: bool) -> None:
        """Check mode on or off: a block call that is checked goes through the views."""
        if on != self.check.on:
            self.check.on = on
            self.change()
