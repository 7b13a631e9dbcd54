"""A body's header read as text, before a compiler sees it: where atomics are."""

from __future__ import annotations

import functools
import pathlib
import re

from ..engine.backend import cache

OUT_OF_LINE = re.compile(r"noinline|\b(PART|RARE)_FN\b")  # functions whose atomics the probe of a body does not see
ATOMIC = re.compile(r"\batomic(_\w+)?\s*\(")
ASKS = re.compile(
    r"\batomic_(fetch_\w+|\w+_fetch|(compare_)?exchange)\s*\(|\bacquire\s*\("
)  # an answer for a lane each
SINGLE = re.compile(r"\beach_lane\s*\(")
ONCE = re.compile(r"\b(each_lane|single_per_\w+|for_each)\s*\(")  # no packs are at work
PACKS = re.compile(r"vector|reduce|scan")  # loops over packs
FUNCTION = re.compile(
    r"\b(exp|log|pow|cbrt|a?(sin|cos|tan)h?|atan2|erf|[lt]gamma|hypot|fmod|remainder)(m?1p?|2|10|c)?\s*\("
)
BRACKET = re.compile(r"[(){}]")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def has_functions_out_of_line(header: pathlib.Path) -> bool:
    """Whether a header, or one that it includes, has functions out of line."""
    return bool(OUT_OF_LINE.search(_text(header)))


def has_atomics(header: pathlib.Path, others: frozenset[str]) -> bool:
    """Whether the bodies of a header but `others` may change an element by an atomic."""
    return bool(ATOMIC.search(reached(_text(header), others)))


def has_single_lanes(header: pathlib.Path, others: frozenset[str]) -> bool:
    """Whether the bodies of a header but `others` may go through the lanes of a pack one by one."""
    return bool(SINGLE.search(reached(_text(header), others)))


def changes_in_packs(header: pathlib.Path, others: frozenset[str]) -> bool:
    """Whether the bodies of a header but `others` may change an element by an atomic while a pack is at work. In
    each_lane a single lane is."""
    return bool(ATOMIC.search(beside_single_lanes(reached(_text(header), others))))


def asks_in_packs(header: pathlib.Path, others: frozenset[str]) -> bool:
    """Whether the bodies of a header but `others` may ask for the value before an atomic, or for a unique id, while a
    pack is at work. Each lane then has an answer of its own."""
    return bool(ASKS.search(beside_single_lanes(reached(_text(header), others), ONCE)))


def computes(header: pathlib.Path, others: frozenset[str]) -> bool:
    """Whether the bodies of a header but `others` have functions of many operations. These take longer than memory, and
    are to stay in registers."""
    return bool(FUNCTION.search(reached(_text(header), others)))


def _text(header: pathlib.Path) -> str:
    """The text of a header and of the headers that it includes."""
    files = [header, *cache.included(header.read_text(errors="replace"), [header.parent])]
    return "".join([file.read_text(errors="replace") for file in files])


def beside_single_lanes(text: str, single: re.Pattern = SINGLE) -> str:
    """The text without what stands in each_lane(...), or in other calls that are `single`, unless a loop over packs
    stands there, too."""
    kept, at = [], 0
    while found := single.search(text, at):
        end = _closed(text, found.end() - 1)
        inside = text[found.end() : end]
        kept.append(text[at : found.end()])
        if PACKS.search(inside):
            kept.append(inside)
        at = max(end, found.end())
    return "".join([*kept, text[at:]])


@functools.lru_cache(maxsize=256)
def reached(text: str, others: frozenset[str]) -> str:
    """The text of headers without comments and without the bodies of other kernels that the rest does not name."""
    text = COMMENT.sub("", text)
    kept: set[str] = set()

    while True:
        rest = text
        for name in others - kept:
            rest = _without(rest, name)
        called = {name for name in others - kept if re.search(rf"\b{name}\b", rest)}
        if not called:
            return rest
        kept |= called


def _without(text: str, name: str) -> str:
    """The text without the definitions of a function. The whole text if the end of a definition is not found."""
    while True:
        found = re.search(rf"\bPOINT_FN\s+void\s+{name}\s*\(", text)
        begin = text.find("{", found.end()) if found else -1
        if not found or begin < 0:
            return text

        end = _closed(text, begin)
        if end == begin:
            return text
        text = text[: found.start()] + text[end:]


def _closed(text: str, begin: int) -> int:
    """Behind the bracket that closes the one at `begin`; `begin` if there is none."""
    depth = 0
    for bracket in BRACKET.finditer(text, begin):
        depth += 1 if bracket[0] in "({" else -1
        if depth == 0:
            return bracket.end()
    return begin
