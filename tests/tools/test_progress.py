"""Lines that a user sees while kernels are compiled: progress with the time left, announcements by rank 0."""

import io
import sys
import threading

import pytest

from frame.frame import Frame
from frame.tools.progress import progress, time_left
from kernels.engine.backend import announce, cache
from kernels.engine.backend.announce import Announcer


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_with_time_left():
    """10 s for each of four: nothing is known before the first is done, then 30, 20, 10 s are left."""
    seconds, to = iter([0.0, 10.0, 20.0, 30.0]), Terminal()
    assert list(progress("compile", "abcd", clock=lambda: next(seconds), to=to)) == list("abcd")

    lines = [line.replace("\x1b[K", "") for line in to.getvalue().split("\r") if line.replace("\x1b[K", "")]
    left = [f"compile {k}/4 {name}" for k, name in enumerate("abcd", 1)]

    assert lines == [left[0], *(f"{text}, about {s} s left" for text, s in zip(left[1:], (30, 20, 10)))]
    assert to.getvalue().endswith("\r\x1b[K")  # and no trace of it stays
    assert [time_left(s) for s in (59, 300, 7200)] == ["59 s", "5 min", "2 h"]


def test_no_progress_where_nobody_looks():
    to = io.StringIO()
    assert list(progress("compile", range(3), to=to)) == [0, 1, 2] and to.getvalue() == ""


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A cache of its own, in a process that no launcher of MPI started."""
    monkeypatch.setenv("FRAME_CACHE", str(tmp_path / "cache"))
    for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)


def make_entries(monkeypatch, *entries, make=lambda path: path.write_text("made") and None):
    """Entries of the cache, as a new Frame makes them."""
    monkeypatch.setattr(cache, "announcer", Announcer(speaks=Frame()._is_first))
    for entry in entries:
        cache.entry(entry, ".txt", make)


def test_the_first_compilation_is_announced_on_rank_0(job, tmp_path, monkeypatch, capsys):
    """A single line for any number of kernels, before the first compilation. No line if they are in the cache, or
    elsewhere."""
    monkeypatch.setattr(announce, "SLOW", 3600.0)

    make_entries(monkeypatch, "first", "second")
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and told.startswith("frame: compiling kernels, ") and str(tmp_path / "cache") in told

    make_entries(monkeypatch, "first", "second")
    assert capsys.readouterr().err == ""

    monkeypatch.setenv("PMI_RANK", "1")
    make_entries(monkeypatch, "third")
    assert capsys.readouterr().err == ""


class Lines(io.StringIO):
    """Reports when two lines are written."""

    def __init__(self):
        super().__init__()
        self.two = threading.Event()

    def write(self, text):
        super().write(text)
        if self.getvalue().count("\n") == 2:
            self.two.set()


def test_a_slow_kernel_is_named(job, monkeypatch):
    """Here a compilation is slow at once, and ends when the line with its name is there."""
    lines = Lines()
    monkeypatch.setattr(sys, "stderr", lines)
    monkeypatch.setattr(announce, "SLOW", 0.0)

    def make(path):
        path.write_text("made")
        assert lines.two.wait(60)

    make_entries(monkeypatch, "rates-0123abcd", make=make)
    assert lines.getvalue().splitlines()[1] == "frame: compiling kernels: rates takes longer than 0 s"


def test_a_process_that_may_start_no_thread_compiles_on(job, monkeypatch, capsys):
    def refused(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    make_entries(monkeypatch, "first")
    assert capsys.readouterr().err.count("\n") == 1


def test_ranks_that_wait_for_another_say_nothing(job, monkeypatch, capsys):
    """The lock is held elsewhere for two tries; only the first rank of a job reports the wait."""
    monkeypatch.setattr(cache, "SAID_AFTER", -1.0)
    monkeypatch.setattr(announce, "SLOW", 3600.0)

    for rank, lines in (("1", 0), ("0", 2)):
        monkeypatch.setenv("PMI_RANK", rank)
        monkeypatch.setattr(cache, "_waits", set())
        tries = iter([BlockingIOError, BlockingIOError])
        monkeypatch.setattr(cache.fcntl, "flock", lambda *_, tries=tries: raise_next(tries))

        make_entries(monkeypatch, f"of-rank-{rank}")
        assert capsys.readouterr().err.count("\n") == lines


def raise_next(errors) -> None:
    error = next(errors, None)
    if error is not None:
        raise error
