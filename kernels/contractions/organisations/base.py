"""Organisations of a tensor program: names, numbers, and the same few verbs.

An organisation says how the loops of a program go to lanes, threads or warps. It is a frozen dataclass: the fields are
the numbers that a search may change. Contraction, the table, the search and `explain` know organisations by these
verbs only, so a new organisation is one file with one class, and one line in `__init__.py`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import typing
from typing import Any, ClassVar

from ...engine.backend.base import Source
from ...engine.backend.facts import REFERENCE
from ...engine.errors import ArgumentError
from ..plan import Program, Unable

__all__ = ["Organisation", "Unable", "Word", "words"]


class Word(typing.NamedTuple):
    """A number of an organisation as texts name it. group: the field that holds it; "" if it is a field itself. least:
    of a whole number, 0 where that is the usual one, else 1, unless the field's metadata has another."""

    name: str
    kind: Any
    default: Any
    group: str = ""
    least: int = 1

    @classmethod
    def of(cls, field: dataclasses.Field, kind: Any, group: str = "") -> Word:
        least = field.metadata.get("least", 0 if field.default == 0 else 1)
        return cls(field.name, kind, field.default, group, least)


class Organisation:
    """Base of all organisations. Subclasses are frozen dataclasses."""

    NAMES: ClassVar[tuple[str, ...]] = ()  # names in texts and tables
    SPECIAL: ClassVar[bool] = False  # serves few programs, and may refuse arrays; its price is a factor of the others'
    FREE: ClassVar[bool] = False  # reads extents when it runs: what is compiled for some extents serves all
    STRIDED: ClassVar[bool] = False  # takes arrays with any positive steps
    BACKWARDS: ClassVar[bool] = False  # and inputs with negative steps
    COMPLEX: ClassVar[bool] = False  # serves complex numbers
    ON_LINES: ClassVar[bool] = True  # takes less time for large outputs that begin on cache lines
    REPLACEMENT: ClassVar[str] = ""  # name of the organisation that is tried first for arrays that were refused

    @property
    def name(self) -> str:
        """The name in texts and tables."""
        return self.NAMES[0]

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        """Organisations of this class that serve a program, with their usual numbers."""
        raise NotImplementedError

    def serves(self, p: Program) -> str:
        """The programs that this organisation serves, for a message; "" if it serves this program."""
        return ""

    def in_range(self) -> str:
        """The range of a number that is out of it, for a message; "" if all are in theirs. A block has as many threads
        as a device allows."""
        for word in words(type(self)).values():
            if word.kind is not int:
                continue
            most = REFERENCE.threads_of_block if word.name == "threads" else math.inf
            if not word.least <= self.value(word.name) <= most:
                return f"{word.name}={word.least} " + ("or more" if most == math.inf else f"to {most}")

        return ""

    def price(self, p: Program, least: float = math.inf) -> float:
        """The model's price of an entry. least: the price of the best organisation before that is not SPECIAL."""
        raise NotImplementedError

    def by_threads(self, p: Program, price: float, threads: int) -> float:
        """The price by so many threads of a CPU. price: by one."""
        return price / threads

    def waits(self, p: Program) -> float:
        """How many times as long a usual batch takes because it does not fill the device. 1 for organisations whose
        price counts that."""
        return 1.0

    def floor(self, p: Program) -> float:
        """Seconds of an entry that its memory takes at least. 0 for organisations whose price counts that."""
        return 0.0

    def reads_extents(self, p: Program) -> bool:
        """Whether the code that is compiled for a program serves other extents, too."""
        return self.FREE

    def with_free_extents(self) -> Organisation:
        """The same, with parts that read extents when they run, if there are such parts."""
        return self

    def seconds_of_gaps(self, p: Program, arrays, n: int) -> float:
        """The model's time, for n entries, that arrays with gaps take longer than contiguous ones. arrays: inputs that
        are taken as they lie."""
        return 0.0

    def sums_by_a_vendor(self, p: Program) -> bool:
        """Whether a vendor's library adds up: in which order may depend on extents, batch and version."""
        return False

    # ---- text and launch
    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source | None:
        """The source of a program; None if the organisation has no kernel of its own, such as a library's.

        The kernel is called `contraction`. headers, folders: C++ of the host's maps. quick: the compiler's time counts.
        """
        raise NotImplementedError

    def stand_ins(self) -> list[Organisation]:
        """This organisation, and its stand-in for arrays that are not aligned."""
        return [self]

    def sources(self, plan) -> list[Source]:
        """Everything that `launch` may have to compile for a Contraction."""
        found = [plan.render(plan.program, how) for how in self.stand_ins()]
        return [source for source in found if source is not None]

    def shown(self, plan) -> list:
        """The Contractions whose sources are that of a Contraction, for readers: itself, or its steps."""
        return [plan]

    def launch(self, plan, arrays, values, n: int):
        """run() of a Contraction for n entries.

        arrays: by name. values: addresses (at_), steps between entries (step_) and rows (ld_) of each array.
        Raises VariantUnsuitable if the arrays do not lie as the organisation needs.
        """
        raise NotImplementedError

    def again(self, plan, arrays, values, n: int):
        """run(arrays), as `launch` and its run, for other arrays in the order of these that lie as these do: they need
        no check. Outputs of megabytes begin on cache lines. None where each call binds anew."""

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        """The values that each coordinate may take. A coordinate is a number, or something that changes several."""
        raise NotImplementedError

    def value(self, name: str):
        """The present value of a coordinate."""
        word = words(type(self))[name]
        return getattr(getattr(self, word.group) if word.group else self, name)

    def moved(self, name: str, value) -> Organisation:
        """The organisation with another value of a coordinate. Raises Unable."""
        return self.changed(**{name: value})

    def at_order(self, usual):
        """The organisation for another order of evaluation. usual: with the usual numbers there."""
        return self

    def legal(self, p: Program) -> bool:
        """Whether a text can be written. The compiler and the device may still refuse it. May raise Unable."""
        return True

    def cost(self, p: Program, moved: int, least: float) -> float:
        """The search's model of an entry. moved: bytes from and to memory. least: as in `price`."""
        return self.price(p, least)

    # ---- numbers
    def written(self) -> str:
        """The organisation on a line: its name, then the numbers that differ from the usual ones."""
        told = [self.name]
        for word in words(type(self)).values():
            value = self.value(word.name)
            if value != word.default:
                told.append(f"{word.name}={_text(value)}")

        return " ".join(told)

    def __str__(self) -> str:
        """The text in `explain`; subclasses may say more."""
        return self.written()

    def told(self, p: Program) -> list[str]:
        """Further lines in `explain`, if this is the choice: the parts that it is made of."""
        return []

    @classmethod
    def of(cls, *, name: str = "", **values):
        """An organisation from its numbers by name. Raises ArgumentError for a number that is missing."""
        known = words(cls)
        lacking = [w.name for w in known.values() if w.default is dataclasses.MISSING and w.name not in values]
        if lacking:
            raise ArgumentError(f"organisation '{name or cls.NAMES[0]}': '{lacking[0]}=' is missing.")

        groups: dict[str, dict] = {}
        for key, value in values.items():
            group = known[key].group if key in known else ""
            groups.setdefault(group, {})[key] = value

        fields = groups.pop("", {})
        for group, members in groups.items():
            fields[group] = _hints(cls)[group](**members)

        return cls(**fields)

    def changed(self, **values):
        """The organisation with other numbers, by name."""
        known = words(type(self))
        fields: dict[str, Any] = {}
        for key, value in values.items():
            group = known[key].group
            if group:
                fields[group] = dataclasses.replace(fields.get(group, getattr(self, group)), **{key: value})
            else:
                fields[key] = value

        return dataclasses.replace(typing.cast(Any, self), **fields)


def _text(value) -> str:
    """A number in a line of text."""
    if isinstance(value, tuple):
        return ":".join(map(_text, value))
    return str(int(value)) if isinstance(value, bool) else str(value)


def words(kind: Any) -> dict[str, Word]:
    """The numbers of a class of organisations by name, those of its groups among them."""
    return _words(kind)


@functools.lru_cache(None)
def _words(kind) -> dict[str, Word]:
    found: dict[str, Word] = {}
    hints = _hints(kind)
    for field in dataclasses.fields(kind):
        if dataclasses.is_dataclass(hints[field.name]):
            inner = _hints(hints[field.name])
            for member in dataclasses.fields(typing.cast(Any, hints[field.name])):
                found[member.name] = Word.of(member, inner[member.name], field.name)
        elif field.metadata.get("word", True):
            found[field.name] = Word.of(field, hints[field.name])

    return found


def _hints(kind: Any) -> dict[str, Any]:
    """The types of the fields of a class."""
    return _types(kind)


_types = functools.lru_cache(None)(typing.get_type_hints)
