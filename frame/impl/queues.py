"""Queues of a thread's work on the device: copies in, kernels, copies out."""

from __future__ import annotations

from kernels.engine.backend.base import IN, OUT, WORK, Pipeline

PARTS = 3  # pieces of a block that are under way on a device at the same time


class Queues:
    """pipe: the three queues of block calls. into, work, out: contexts in which stripe calls queue their work.

    alone: the context of calls that queue all of their work in order and wait for it.
    """

    def __init__(self, backend, later: bool):
        self._backend = backend
        self.pipe = backend.pipeline(PARTS)
        self.waits = True  # False: the host has named its stream, and waits with it
        self.choose(later)

    def choose(self, later: bool) -> None:
        """Choose the queues of stripe calls. later: the calls return before pinned arrays were read and written."""
        if not self.waits:
            pipe = Pipeline(self._backend)  # the host's stream
        elif later:
            pipe = self.pipe
        else:
            pipe = self.pipe.in_order()

        self.stripes = pipe
        self.alone = pipe.in_order().step(WORK)
        self.into = pipe.step(IN, 0, (WORK,))
        self.work = pipe.step(WORK, 0, (IN, OUT))
        self.out = pipe.step(OUT, 0, (WORK, IN))

    def use_stream(self, stream: int, later: bool) -> None:
        """Queue this thread's work on a CUDA stream of the host."""
        self._backend.set_stream(stream)
        self.waits = False
        self.choose(later)

    def settle(self) -> None:
        """Wait for results in arrays of the device, unless the host has named a stream and waits with it."""
        if self.waits:
            self._backend.synchronize()
