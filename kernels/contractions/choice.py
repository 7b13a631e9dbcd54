"""Options of a contraction, beside its text, extents, type and backend: how the text is read, and how the work is done.
Contraction, FreeContraction and ComplexContraction take the fields as keywords."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any

from ..engine.errors import ArgumentError, closest

Names = str | Collection[str]  # of arrays: "A B", or each by itself


@dataclasses.dataclass(frozen=True)
class Reading:
    """How a text is read, see text.parse. The text may hold each of these in a line of its own."""

    batch: str | None = None  # index with the free extent; None: the first that every output has; "": none
    point: str | None = None  # unwritten index of all arrays that are not constant; it is the batch
    layout: str = "right"  # where the point index lies: "left" is fastest, "right" is slowest
    local: Names = ""  # arrays that are never stored
    constant: Names = ""  # inputs that `bind` copies to a device
    symmetric: Names = ""  # matrices of which a half is read


@dataclasses.dataclass(frozen=True)
class Choice:
    """How a contraction is done. The text may hold how, order and headers, too; keywords come first."""

    how: Any = None  # organisation: its name, an object, or a line as table.written has it; None: table or model
    order: int | None = None  # of evaluation, among the cheapest; None: the order that suits the organisation best
    free: bool = False  # by organisations that read extents when they run, where there are some
    entries: int = 0  # about how many a batch will have: the model chooses for them; 0: for a usual batch
    quick: bool = False  # the compiler's time counts more than the code's
    headers: tuple[str, ...] = ()  # C++ of the functions that maps name
    folders: tuple = ()  # where the headers are


READING = tuple(field.name for field in dataclasses.fields(Reading))
CHOICE = tuple(field.name for field in dataclasses.fields(Choice))


def sorted_out(options: dict[str, Any]) -> tuple[Reading, Choice]:
    """The keywords of a contraction. Raises ArgumentError for one that is no field."""
    known = (*READING, *CHOICE)
    for name in options:
        if name not in known:
            raise ArgumentError(
                f"tensor expression: no option '{name}'{closest(name, known)}; known: {', '.join(known)}."
            )

    reading = Reading(**{name: value for name, value in options.items() if name in READING})
    choice = Choice(**{name: value for name, value in options.items() if name in CHOICE})
    return reading, choice
