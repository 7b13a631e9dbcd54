"""Who draws: a process of its own (studio.py), so that the flow goes on meanwhile."""

import contextlib
import os
import pathlib
import pickle
import subprocess
import sys

from .errors import OutputError

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Artist:
    """The process, as the run sees it. It starts at `begin`, or with the first thing that is sent."""

    def __init__(self):
        self._process = None

    def begin(self):
        """Start the process, which then loads what it draws with."""
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.studio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )

    def send(self, order):
        """Send a Sheet, Frame or Film. Raises OutputError where the process has failed."""
        if self._process is None:
            self.begin()

        try:
            pickle.dump(order, self._process.stdin)
            self._process.stdin.flush()
        except OSError:
            self.finish()
            raise OutputError("pictures cannot be drawn: the process that draws has ended.") from None

    def finish(self):
        """Return when all is drawn; the process has then ended. Raises OutputError where it has failed."""
        process, self._process = self._process, None
        if process is None:
            return

        with contextlib.suppress(OSError):
            process.stdin.close()
        text = process.stdout.read().decode(errors="replace").strip()
        process.stdout.close()

        if process.wait() or text:
            raise OutputError(text or f"pictures cannot be drawn: the process ended with status {process.returncode}.")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OutputError):
            self.finish()
