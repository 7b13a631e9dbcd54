"""Lines on stderr while kernels are compiled: without them a first step is silent for seconds, or for minutes."""

from __future__ import annotations

import contextlib
import pathlib
import sys
import threading
from collections.abc import Callable, Iterator

SLOW = 10.0  # seconds of a compilation after which its kernel is named


class Announcer:
    """A line before the first compilation, and a line with the name of each kernel that takes longer than SLOW.

    speaks: whether this process writes lines, as the first rank of a job does. It is asked at each line: a host may
    pass its communicator late.
    """

    def __init__(self, speaks: Callable[[], bool]):
        self.speaks = speaks
        self._begun = False

    @contextlib.contextmanager
    def compiling(self, kernel: str, folder: pathlib.Path) -> Iterator[None]:
        """Stands around a compilation, or the wait for another process that compiles the kernel. folder: of the
        cache."""
        if not self._begun:
            self._begun = True
            self._say(f"compiling kernels, seconds to minutes each; later runs find them in {folder}")

        slow = threading.Timer(SLOW, self._say, [f"compiling kernels: {kernel} takes longer than {SLOW:g} s"])
        slow.daemon = True
        with contextlib.suppress(RuntimeError):  # a process that may start no thread goes without this line
            slow.start()

        try:
            yield
        finally:
            slow.cancel()

    def _say(self, text: str) -> None:
        if self.speaks():
            sys.stderr.write(f"frame: {text}\n")
            sys.stderr.flush()
