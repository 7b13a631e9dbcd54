"""Names of species in the form that a caller writes."""

from __future__ import annotations

from ...engine.registry import split


def listed(names) -> tuple[str, ...]:
    """Names of species in one text with blanks or commas, or in a list. Raises ArgumentError for anything else."""
    return split(names, "species", "CH4 O2")
