"""The text of a YAML file from its bytes: encodings, characters that YAML does not know, directives, documents."""

from __future__ import annotations

import codecs
import re

# The longer mark first: that of UTF-32 begins as that of UTF-16 does.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
# Control characters, and the line ends that only YAML 1.1 has. Cantera's reader passes over them.
STRAY = re.compile("[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
# Where a document of the file begins or ends. Such a line is a mark even within a text over several lines.
MARK_OF_DOCUMENT = re.compile(r"^(---|\.\.\.)(?=\s|\Z)", re.MULTILINE)
EMPTY = re.compile(r"\A(?:[ \t]*(?:#[^\n]*)?(?:\n|\Z))*\Z")  # blank lines and comments only
HEAD = re.compile(r"\A(?:[ \t]*(?:#[^\n]*)?\n|%[^\n]*\n)*")  # blank lines, comments, directives


def text_of(data: bytes) -> str:
    """The text, with "\\n" between lines, and as many lines as the file has.

    The encoding: by the byte-order mark, else UTF-8, else Windows-1252 (Latin-1 for bytes that Windows-1252 lacks). A
    stray character becomes a blank. Directives become comments: like Cantera's, this reader knows one version of YAML.
    Raises UnicodeDecodeError for bytes that are no text.
    """
    text = _decoded(data).replace("\r\n", "\n").replace("\r", "\n")
    text = STRAY.sub(" ", text)
    return HEAD.sub(_without_directives, text)


def first_document(text: str) -> tuple[str, bool]:
    """(first document of a text, whether there is more behind it): Cantera reads the first document of a file."""
    marks = list(MARK_OF_DOCUMENT.finditer(text))
    if marks and marks[0][1] == "---" and EMPTY.match(text[: marks[0].start()]):
        marks = marks[1:]
    if not marks:
        return text, False

    rest = MARK_OF_DOCUMENT.sub("", text[marks[0].start() :])
    return text[: marks[0].start()], not EMPTY.match(rest)


def _decoded(data: bytes) -> str:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return data.decode(encoding)

    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if b"\0" in data:
            raise  # neither is it text in an encoding of one byte a character

    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _without_directives(head: re.Match) -> str:
    return re.sub("^%", "#", head[0], flags=re.MULTILINE)
