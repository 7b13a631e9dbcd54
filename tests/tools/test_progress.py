"""What a user sees while kernels are compiled: progress with the time left, one announcement by rank 0."""

import io

from frame.frame import Frame
from frame.tools.progress import progress, time_left
from kernels.engine.backend import cache


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


def test_the_first_compilation_is_announced_on_rank_0(tmp_path, monkeypatch, capsys):
    """One line for however many kernels, before the first is made; none where they lie in the cache, none elsewhere."""
    monkeypatch.setenv("FRAME_CACHE", str(tmp_path / "cache"))
    for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache, "announce", None)

    def step(*entries):
        host = Frame()
        monkeypatch.setattr(cache, "announce", host._compiling)
        for entry in entries:
            cache.entry(entry, ".txt", lambda path: path.write_text("made") and None)
        return capsys.readouterr().err

    told = step("first", "second")
    assert told.count("\n") == 1 and told.startswith("frame: compiling kernels, ") and str(tmp_path / "cache") in told
    assert step("first", "second") == ""

    monkeypatch.setenv("PMI_RANK", "1")
    assert step("third") == ""
