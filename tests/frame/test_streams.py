"""Standard output of a run on several ranks."""

from frame import streams


def test_a_line_is_a_single_write(monkeypatch):
    """Lines that ranks print at the same time then stand below each other, not within each other."""
    written = []
    monkeypatch.setattr(streams._Stream, "write", lambda stream, data: written.append(bytes(data)) or len(data))

    stream = streams._stream(1)
    print("rank", 3, "of", 4, file=stream)

    assert written == [b"rank 3 of 4\n"]
