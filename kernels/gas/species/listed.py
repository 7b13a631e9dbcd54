"""Names of species in the form that a caller writes."""

from __future__ import annotations

import unicodedata

from ...engine.registry import split

HYPHENS = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212"), "-")  # hyphens, the short dash, the minus sign


def listed(names) -> tuple[str, ...]:
    """Names of species in one text with blanks or commas, or in a list. Raises ArgumentError for anything else."""
    return split(names, "species", "CH4 O2")


def as_typed(name: str) -> str:
    """A name as a keyboard writes it: `CO2` for `CO₂`, `n-dodecane` for one with a printer's hyphen, without blanks
    around it."""
    return unicodedata.normalize("NFKC", name.translate(HYPHENS)).strip()
