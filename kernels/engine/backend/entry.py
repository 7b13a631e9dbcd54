"""How the text of a kernel meets the macro KERNEL of engine/numbers/kernel.h, on each kind of backend."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Entry:
    """The parts of a kernel's text in which kinds of backend differ."""

    includes: tuple[str, ...]  # headers ahead of all others
    record: str  # statement that names the record of arguments `a`; {type}: its structure
    work: tuple[str, ...]  # parameters of KERNEL that say how much there is to do
    answer: str  # in front of the last call: a CPU's kernel returns a number
    in_blocks: bool  # whether a block of threads shares work; else each thread works by itself


PACKS = Entry(
    includes=("engine/numbers/pack.h",),
    record="const {type} &a = *record;\n",
    work=("items", "threads"),
    answer="return ",
    in_blocks=False,
)
THREADS = Entry(
    includes=(),
    record="",
    work=("items",),
    answer="",
    in_blocks=True,
)
