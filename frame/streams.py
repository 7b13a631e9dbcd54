"""Standard output and error of a long run: a terminal that has gone or a full disk does not end it."""

from __future__ import annotations

import io
import os
import signal
import sys


class _Stream(io.FileIO):
    """Standard output or error. Closed, full or without a reader, it loses what is written."""

    def write(self, data) -> int:
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
