"""Extents that an index may have, as texts write them: a number such as 10, or a range such as 4..12."""

from __future__ import annotations

import re

RANGE = r"\d+(?:\s*\.\.\s*\d+)?"


def read(text: str) -> range | None:
    """The extents; an empty range if they are not 1 or more, and in order. None: it is neither number nor range."""
    if not re.fullmatch(RANGE, text):
        return None
    low, *high = (int(end) for end in re.findall(r"\d+", text))
    return range(low, (*high, low)[0] + 1) if low else range(0)


def shown(allowed: range) -> str:
    """10, or 4..12."""
    return str(allowed[0]) if len(allowed) == 1 else f"{allowed[0]}..{allowed[-1]}"
