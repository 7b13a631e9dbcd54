"""Docstrings for Sphinx. In the sources they are plain text with `names`, and "argument: meaning" for each argument.

Sphinx reads reStructuredText, in which stars, bars and underscores are marks. They are escaped here, and arguments,
results and errors become lists.
"""

import inspect
import re

MARKS = re.compile(r"([*|\\]|_(?=\W|$))")  # of reStructuredText, in plain text
CODE = re.compile(r"``?([^`\n]+(?:\n[^`\n]+)?)``?")
COLUMNS = re.compile(r"\S {3,}\S")  # aligned columns: an example, or a table
ENDS = r"(?:Returns|Raises|Errors:)"


def process(app, what, name, obj, options, lines):
    """Hook of autodoc: writes the lines of a docstring anew, in place."""
    text = "\n".join(lines).strip()
    arguments = _arguments(obj)
    paragraphs = [_paragraph(paragraph, arguments) for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]
    lines[:] = "\n\n".join(paragraphs).splitlines()


def _arguments(obj) -> list[str]:
    """Names of the arguments of a function, or of those that make an object."""
    try:
        return [name for name in inspect.signature(obj).parameters if name != "self"]
    except (TypeError, ValueError):
        return []


def _paragraph(text, arguments) -> str:
    """A paragraph: an example as it stands, or plain text and a list of what it explains."""
    if COLUMNS.search(text):
        return "::\n\n" + "\n".join(f"    {line}" for line in text.splitlines())

    plain, *explained = _parts(text, arguments)
    return "\n\n".join(filter(None, [_plain(plain), "\n".join(map(_item, explained))]))


def _parts(text, arguments) -> list[str]:
    """The text before the first argument that is explained, and a text for each of them."""
    names = "|".join(map(re.escape, arguments)) or r"(?!)"
    named = rf"(?:{names})(?:, (?:{names}))*:\s"
    begins = rf"(?:^|\n)([a-z]\w*:\s)|(?:^|\n|(?<=[.;] ))({named}|{ENDS}\s)"
    starts = [found.start(found.lastindex) for found in re.finditer(begins, text)]

    return [text[start:end].strip() for start, end in zip([0, *starts], [*starts, len(text)])]


def _item(text) -> str:
    """An argument with its meaning, what is returned, or errors, as an item of a list."""
    head, rest = re.match(rf"({ENDS}|[\w, ]+:)\s+(.*)", text, re.S).groups()
    body = _plain(rest).replace("\n", "\n  ")
    return f"* **{_plain(head.rstrip(':'))}:** {body}"


def _plain(text) -> str:
    """Text without marks, but for `code`."""
    out, last = [], 0
    for found in CODE.finditer(text):
        code = " ".join(found[1].split())
        out += [MARKS.sub(r"\\\1", text[last : found.start()]), f"``{code}``"]
        last = found.end()
        if text[last : last + 1].isalnum():
            out.append("\\ ")
    return "".join([*out, MARKS.sub(r"\\\1", text[last:])])
