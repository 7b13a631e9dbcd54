"""Standard output and error of a long run: a terminal that has gone or a full disk does not end it, and a reader that
has stopped does not keep it from ending."""

from __future__ import annotations

import io
import math
import os
import select
import signal
import sys
import time

LOOKS = 0.1  # s, between two looks whether a program that waits for its reader has to end
PATIENCE = 0.2  # s, for which a program that has to end waits for its reader


class _Stream(io.FileIO):
    """Standard output or error. Closed, full or without a reader, it loses what is written."""

    waits_until = math.inf  # time.monotonic() from which on it waits for no reader

    def write(self, data) -> int:
        left = memoryview(data)
        while left and self._has_room():
            left = left[self._written(left[: select.PIPE_BUF]) :]  # so much goes into a pipe with room at once

        return len(data)

    def _has_room(self) -> bool:
        """Whether a write would not wait; False when the time to wait is over."""
        poll = select.poll()
        poll.register(self.fileno(), select.POLLOUT)

        while not poll.poll(1000 * LOOKS):
            if time.monotonic() > self.waits_until:
                return False

        return True

    def _written(self, data) -> int:
        """How much of the data is done with: written, or lost."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPIPE])
        try:
            return super().write(data) or 0
        except OSError:
            signal.sigtimedwait([signal.SIGPIPE], 0)  # what a pipe without a reader sent to this thread
            return len(data)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _stream(number: int) -> io.TextIOWrapper:
    try:
        raw = _Stream(number, "w", closefd=False)
    except OSError:
        raw = _Stream(os.devnull, "w")
    return io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=True)


def lose_what_cannot_be_written() -> None:
    """From now on what cannot be printed is lost, without an error."""
    sys.stdout, sys.stderr = _stream(1), _stream(2)


def lose_what_nobody_reads() -> None:
    """From now on output that its reader leaves in the pipe is lost: for a program that has to end. It may be called by
    a handler of signals, also while a line waits."""
    for stream in (sys.stdout, sys.stderr):
        raw = getattr(stream, "buffer", None)
        if isinstance(raw, _Stream):
            raw.waits_until = time.monotonic() + PATIENCE
