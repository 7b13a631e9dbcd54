"""Queues of block calls as CUDA streams: a stream each, events for the order among them."""

from __future__ import annotations

from typing import Any, NamedTuple

from .base import QUEUES, WORK, Pipeline


class HostStream(NamedTuple):
    """A stream of the host, for CuPy: CUDA's stream protocol, version 0."""

    address: int

    def __cuda_stream__(self):
        return 0, self.address


class Streams(Pipeline):
    """A stream for each queue, an event for each queue and part.

    The streams are blocking: work of the host on CUDA's default stream stays in order with them. backend: CudaBackend.
    """

    def __init__(self, backend: Any, parts: int):
        cuda = backend.arrays.cuda
        self._use, self._cuda = backend.use, cuda
        self._use()
        self._streams = [cuda.Stream() for _ in QUEUES]
        self._events = [[cuda.Event(disable_timing=True) for _ in range(parts)] for _ in QUEUES]
        self._other = cuda.Event(disable_timing=True)  # event of the caller's stream

    def step(self, queue, part=0, after=()):
        events = [self._events[q][part] for q in after]
        return Step(self._use, self._streams[queue], events, self._events[queue][part])

    def in_order(self):
        return OneStream(self._use, self._streams[WORK])

    def begin(self):
        here = self._cuda.get_current_stream()
        if here.ptr:
            self._other.record(here)
            for stream in self._streams:
                stream.wait_event(self._other)

    def end(self):
        here = self._cuda.get_current_stream()
        if here.ptr:
            for stream in self._streams:
                self._other.record(stream)
                here.wait_event(self._other)

    def wait(self, queue=None, part=None):
        self._use()
        if part is not None:
            self._events[queue][part].synchronize()
            return

        streams = self._streams if queue is None else [self._streams[queue]]
        for stream in streams:
            stream.synchronize()


class OneStream(Pipeline):
    """A pipeline on a single stream, without events. To queue an event takes as long as to queue a copy."""

    def __init__(self, use, stream):
        self._use, self._stream = use, stream

    def step(self, queue, part=0, after=()):
        return Step(self._use, self._stream)

    def wait(self, queue=None, part=None):
        self._use()
        self._stream.synchronize()


class Step:
    """A context in which a stream is the current stream. It first waits for some events; at the end it records an event
    behind the work queued in the context."""

    __slots__ = ("_use", "_stream", "_after", "_own")

    def __init__(self, use, stream, after=(), own=None):
        self._use, self._stream, self._after, self._own = use, stream, after, own

    def __enter__(self):
        self._use()
        for event in self._after:
            self._stream.wait_event(event)
        self._stream.__enter__()

    def __exit__(self, *error):
        if self._own is not None:
            self._own.record(self._stream)
        return self._stream.__exit__(*error)
