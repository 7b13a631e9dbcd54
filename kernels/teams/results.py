"""Results of a team kernel: numbers that many threads give values to, joined by a reducer of reducers.h."""

from __future__ import annotations

import dataclasses
import re

from ..engine.errors import refuse
from .words import KINDS, Array

# Word of a declaration: reducer in C++. The result is
NUMBERS = {"sum": "Sum", "product": "Product", "min": "Min", "max": "Max"}  # a number
EXTREMES = {"minmax": "MinMax"}  # the least and the most
LOCATED = {"minloc": "MinLoc", "maxloc": "MaxLoc"}  # a number, and its index in NAME_at
BOTH = {"minmaxloc": "MinMaxLoc"}  # the least and the most, and their indices
LOGICAL = {"all": "AllOf", "any": "AnyOf"}  # 1 or 0
BITS = {"bitand": "BitAnd", "bitor": "BitOr", "bitxor": "BitXor"}  # a whole number
KNOWN = NUMBERS | EXTREMES | LOCATED | BOTH | LOGICAL | BITS
_WORD = re.compile(r"(\w+)(?:\((\d+)\))?(?::(\w+))?(?::(\w+))?$")


@dataclasses.dataclass(frozen=True)
class Result:
    """A result of a kernel, an argument of its body."""

    name: str
    reducer: str  # in C++
    value: str  # type of a value in C++
    count: int  # numbers of the result
    kind: str = "real"  # of them; or "whole"
    located: bool = False  # has indices, in an array of their own

    @property
    def type(self) -> str:
        """In C++: Result<reducer, value>."""
        return f"Result<{self.reducer}, {self.value}>"

    @property
    def at(self) -> str:
        """Name of the array of indices."""
        return f"{self.name}_at"

    @property
    def arrays(self) -> list[Array]:
        """The arrays that a launch writes: numbers, and indices."""
        extents = (str(self.count),)
        found = [Array(self.name, extents, self.kind, written=True)]
        if self.located:
            found.append(Array(self.at, extents, "whole", written=True))
        return found

    @property
    def bytes(self) -> int:
        """The most bytes that a value takes."""
        return 8 * self.count * (2 if self.located else 1)


def results_of(where: str, text: str) -> tuple[Result, ...]:
    """The results of a text such as "total n:whole most:max far(3):Farthest". A word without a reducer is a sum. Raises
    ArgumentError."""
    found = []
    for word in text.split():
        match = _WORD.match(word)
        reducer, kind = (match[3] or "sum", match[4] or "") if match else ("", "")
        if reducer in KINDS and not kind:  # name:whole
            reducer, kind = "sum", reducer

        refuse(
            not match or kind not in ("", *KINDS),
            f"{where}: result '{word}', wanted name, name:whole, name:reducer, name:reducer:whole or name(3):Reducer "
            f"with a reducer of the header's; reducers: {', '.join(KNOWN)}.",
        )
        assert match
        found.append(_result(where, match[1], int(match[2] or 0), reducer, kind))

    return tuple(found)


def _result(where: str, name: str, count: int, reducer: str, kind: str) -> Result:
    number = KINDS[kind or "real"]
    refuse(
        reducer in KNOWN and count > 0,
        f"{where}: '{name}({count})': the reducer {reducer} says itself how many numbers its result has.",
    )
    refuse(
        reducer in LOGICAL | BITS and kind == "real", f"{where}: '{name}' by {reducer} is whole, and is marked real."
    )

    if reducer in NUMBERS:
        return Result(name, NUMBERS[reducer], number, 1, kind or "real")
    if reducer in EXTREMES:
        return Result(name, EXTREMES[reducer], f"Extremes<{number}>", 2, kind or "real")
    if reducer in LOCATED:
        return Result(name, LOCATED[reducer], f"Located<{number}>", 1, kind or "real", located=True)
    if reducer in BOTH:
        return Result(name, BOTH[reducer], f"Extremes<Located<{number}>>", 2, kind or "real", located=True)
    if reducer in LOGICAL | BITS:
        return Result(name, KNOWN[reducer], KINDS["whole"], 1, "whole")

    refuse(
        count < 1 or count > 32,
        f"{where}: '{name}' by '{reducer}', which is none of {', '.join(KNOWN)}. A reducer of the header's is written "
        f"{name}(3):{reducer}, with its number of numbers, 1 to 32.",
    )
    return Result(name, reducer, f"Several<{number}, {count}>", count, kind or "real")
