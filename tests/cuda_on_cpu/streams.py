"""Streams of a device on the CPU: each has its work in order, and waits for places in the work of others.

Without `lag` work is done at once. With it each stream has a pace of its own, from as late as its events allow to as
early: a host that forgets to wait, or an event, shows.
"""

import collections
import random
import threading
import time
import types
import weakref

PACES = (0, 0.02, 0.3, 1)  # how often a stream works ahead; neighbours differ


class Streams:
    """All streams of a device. calls: a list, which gets "wait" for each wait of the host."""

    def __init__(self, lag, calls):
        self.lag, self.calls = lag, calls
        self.luck = None if lag is None else random.Random(lag)
        self.all = weakref.WeakValueDictionary()  # {address: Stream}
        self.recorded = []  # lists of launches while a stream is captured
        self.turns = collections.defaultdict(threading.RLock)  # {address: lock}: work of a stream is in order
        self._here = threading.local()

        # The classes that CuPy has, of this device.
        self.Event = type("Event", (Event,), {"streams": self})
        # `from_external` stands in the class itself: a test takes it away, as CuPy 13 has none.
        self.Stream = type("Stream", (Stream,), {"streams": self, "from_external": classmethod(from_external)})
        self.ExternalStream = type("ExternalStream", (ExternalStream, self.Stream), {})
        self.null = self.Stream.null = self.Stream(ptr=0)

    # ---- the current stream of a thread

    def stack(self):
        return getattr(self._here, "stack", [self.null])

    def set_stack(self, stack):
        self._here.stack = stack

    def current(self):
        return self.stack()[-1]

    # ---- work: a function, or (stream, place) to wait for

    def queue(self, ptr, item):
        """Work of a stream; at once without lag."""
        stream = self.all.get(ptr)
        if self.luck is None or stream is None or not ptr:  # the default stream is in order with the others
            if self.luck is not None:
                self.everything()
            if not isinstance(item, tuple):
                with self.turns[ptr]:
                    item()
            return

        stream.work.append(item)
        stream.given += 1

        for other in list(self.all.values()):
            if self.luck.random() < other.pace:
                self._advance(other)

    def launch(self, ptr, run):
        """Work that a capture records."""
        if self.recorded:
            self.recorded[-1].append(run)
        else:
            self.queue(ptr, run)

    def force(self, stream, place):
        """Run a stream's work up to this place, and what that waits for."""
        while stream.done < place and stream.work:
            item = stream.work.popleft()
            if isinstance(item, tuple):
                self.force(*item)
            else:
                item()
            stream.done += 1

    def _advance(self, stream):
        """Run what waits for nothing that is not done."""
        while stream.work:
            item = stream.work[0]
            if isinstance(item, tuple):
                if item[0].done < item[1]:
                    return
            else:
                item()

            stream.work.popleft()
            stream.done += 1

    def everything(self):
        for stream in list(self.all.values()):
            self.force(stream, stream.given)

    def synchronize(self, ptr):
        self.calls.append("wait")
        stream = self.all.get(ptr)

        if stream is None or not ptr:
            self.everything()
        else:
            self.force(stream, stream.given)


class Event:
    """Stand-in for cupy.cuda.Event."""

    streams = None  # Streams

    def __init__(self, disable_timing=False):
        self.time, self.place = None, None

    def record(self, stream=None):
        stream = stream or self.streams.current()
        self.time, self.place = time.perf_counter(), (stream, stream.given)

    def synchronize(self):
        self.streams.calls.append("wait")
        if self.place:
            self.streams.force(*self.place)


class Stream:
    """Stand-in for cupy.cuda.Stream."""

    streams = None  # Streams

    def __init__(self, non_blocking=False, ptr=None):
        self.ptr = id(self) if ptr is None else ptr
        self.work, self.given, self.done = collections.deque(), 0, 0
        self.pace = PACES[(len(self.streams.all) - 1 + (self.streams.lag or 0)) % len(PACES)]
        self.streams.all[self.ptr] = self

    def begin_capture(self):
        self.streams.recorded.append([])

    def end_capture(self):
        launches = self.streams.recorded.pop()
        return types.SimpleNamespace(upload=lambda: None, launch=lambda: [run() for run in launches])

    def __enter__(self):
        self.streams.set_stack([*self.streams.stack(), self])
        return self

    def __exit__(self, *error):
        self.streams.set_stack(self.streams.stack()[:-1])

    def synchronize(self):
        self.streams.synchronize(self.ptr)

    def wait_event(self, event):
        if event.place and event.place[0] is not self:
            self.streams.queue(self.ptr, event.place)

    def use(self):
        self.streams.set_stack([self])


def from_external(cls, foreign):
    """Stand-in for cupy.cuda.Stream.from_external: a stream of another library."""
    version, address = foreign.__cuda_stream__()
    assert version == 0
    return cls.streams.ExternalStream(address, 0)


class ExternalStream:
    """Stand-in for cupy.cuda.ExternalStream: a stream by its address."""

    def __init__(self, ptr, device):
        super().__init__(ptr=ptr)
