"""A tensor expression: statements over named indices, their terms and factors. text.py reads it from a text."""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

from ..engine.errors import ArgumentError, closest


class Reference(NamedTuple):
    """An array at some indices, the slowest first."""

    name: str
    indices: tuple[str, ...]

    def __str__(self):
        return f"{self.name}[{' '.join(self.indices)}]"


class Term(NamedTuple):
    """A number times factors, summed over the indices that the left side does not have."""

    number: float
    factors: tuple[Reference, ...]

    def sums(self, out: Reference) -> tuple[str, ...]:
        return tuple(dict.fromkeys(i for f in self.factors for i in f.indices if i not in out.indices))


class Statement(NamedTuple):
    """out = or += the terms' sum. function: of a map, which takes the one term's factors in their order."""

    out: Reference
    terms: tuple[Term, ...]
    add: bool = False
    function: str = ""

    @property
    def factors(self) -> list[Reference]:
        """The factors of all terms."""
        found: list[Reference] = []
        for term in self.terms:
            found += term.factors
        return found

    def __str__(self):
        if self.function:
            return f"map {self.out} = {self.function}({', '.join(map(str, self.terms[0].factors))})"
        right = ""

        for term in self.terms:
            size = abs(term.number)
            words = [f"{size:.17g}"] * (size != 1 or not term.factors) + [str(f) for f in term.factors]
            right += (" - " if term.number < 0 else " + ") + " ".join(words)

        right = right[3:] if right.startswith(" + ") else right[1:]
        return f"{self.out} {'+' * self.add}= {right}"


@dataclasses.dataclass(frozen=True)
class Expression:
    """Statements of one kernel."""

    statements: tuple[Statement, ...]
    batch: str | None  # the index whose extent is free
    local: frozenset[str] = frozenset()  # arrays that are never stored
    constant: frozenset[str] = frozenset()  # inputs that do not change between runs
    # Inputs whose last two indices may be exchanged. The half with the last index not above the one before is read.
    symmetric: frozenset[str] = frozenset()
    found: bool = False  # nobody named the batch index: it is an index like the others

    def __str__(self):
        return "; ".join(map(str, self.statements))

    @functools.cached_property
    def written(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(s.out.name for s in self.statements))

    @functools.cached_property
    def outputs(self) -> tuple[str, ...]:
        return tuple(name for name in self.written if name not in self.local)

    @functools.cached_property
    def inputs(self) -> tuple[str, ...]:
        read: dict[str, None] = {}
        for s in self.statements:
            read |= dict.fromkeys(f.name for f in s.factors)
        return tuple(name for name in read if name not in self.written)

    def require(self, arrays) -> tuple[str, ...]:
        """Names of all arrays of a call, inputs before outputs. Raises ArgumentError if one is missing or unknown."""
        wanted = (*self.inputs, *self.outputs)
        self.refuse_unknown(arrays)

        for name in wanted:
            if name not in arrays:
                raise ArgumentError(f"array '{name}' is missing.")

        return wanted

    def refuse_unknown(self, arrays, others=()) -> None:
        """Raises ArgumentError for an array that is not the caller's. others: names that may be meant by its name."""
        wanted = (*self.inputs, *self.outputs)
        for name in arrays:
            if name in self.local:
                raise ArgumentError(f"array '{name}' is local: it is never stored, so it cannot be given.")
            if name not in wanted:
                raise ArgumentError(
                    f"array '{name}' is not in the tensor expression; it has {', '.join(wanted)}"
                    f"{closest(name, others)}."
                )

    @functools.cached_property
    def updated(self) -> frozenset[str]:
        """Outputs whose old values are read: the first statement about them adds."""
        first = {s.out.name: s.add for s in reversed(self.statements)}
        return frozenset(name for name in self.outputs if first[name])

    @functools.cached_property
    def references(self) -> dict[str, tuple[Reference, ...]]:
        """{array: its references}, in the order of the text."""
        found: dict[str, list[Reference]] = {}
        for s in self.statements:
            for r in (*s.factors, s.out):
                found.setdefault(r.name, []).append(r)

        return {name: tuple(dict.fromkeys(refs)) for name, refs in found.items()}

    @functools.cached_property
    def indices(self) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for references in self.references.values():
            for r in references:
                found |= dict.fromkeys(r.indices)

        return tuple(found)

    def batch_place(self, name: str) -> int | None:
        """Where the batch index stands in every reference to the array; None: in no reference, or not in all."""
        places = {r.indices.index(self.batch) if self.batch in r.indices else None for r in self.references[name]}
        return places.pop() if len(places) == 1 else None

    def canonical(self) -> str:
        """The text with arrays and indices renamed in the order in which they come: equal for equal kernels."""
        index = {name: f"i{k}" for k, name in enumerate(self.indices)}
        array = {name: f"a{k}" for k, name in enumerate(self.references)}

        def renamed(r: Reference) -> Reference:
            return Reference(array[r.name], tuple(index[i] for i in r.indices))

        lines = [str(with_references(s, renamed)) for s in self.statements]
        for word, names in (("local", self.local), ("constant", self.constant), ("symmetric", self.symmetric)):
            if names:
                lines.append(f"{word} {' '.join(sorted(array[n] for n in names if n in array))}")

        chosen = self.found and any(len(t.factors) > 2 for s in self.statements for t in s.terms)
        lead = "lead" if chosen else "batch"  # the order of evaluation depends on it
        return "; ".join([*lines, f"{lead} {index.get(self.batch or '', '-')}"])


def with_references(s: Statement, change) -> Statement:
    """A statement with each reference replaced by change(reference)."""
    terms = [Term(t.number, tuple(map(change, t.factors))) for t in s.terms]
    return s._replace(out=change(s.out), terms=tuple(terms))


# ---- checks ---------------------------------------------------------------------------------------------------------


def check(e: Expression) -> None:
    """Raises ArgumentError for a text that no kernel can do."""
    try:
        _check_arrays(e)
        _check_marks(e)
        if e.batch:
            _check_batch(e)
        seen: set[str] = set()

        for s in e.statements:
            _check_statement(e, s, seen)
            seen.add(s.out.name)
    except _Wrong as why:
        raise ArgumentError(f"tensor expression '{e}': {why}.") from None


class _Wrong(Exception):
    """The message says why a text cannot be done."""


def _check_arrays(e: Expression) -> None:
    """Names of marks, numbers of indices, symmetric arrays."""
    for names, mark in ((e.local, "local"), (e.constant, "constant"), (e.symmetric, "symmetric")):
        for name in sorted(names - set(e.references)):
            raise _Wrong(f"'{name}' is named {mark} but is not in the text")

    for name, refs in e.references.items():
        if len({len(r.indices) for r in refs}) > 1:
            raise _Wrong(f"'{name}' has different numbers of indices")
        if name in e.symmetric and len(refs[0].indices) < 2:
            raise _Wrong(f"'{name}' is named symmetric and has not two indices")


def _check_marks(e: Expression) -> None:
    """Locals are written, symmetric and constant arrays are not."""
    for name in sorted(e.local - set(e.written)):
        raise _Wrong(f"'{name}' is named local but is never written")
    for name in sorted(e.symmetric & set(e.written)):
        raise _Wrong(f"'{name}' is named symmetric but is also written")

    for name in sorted(e.constant):
        if name in e.written:
            raise _Wrong(f"'{name}' is named constant but is written")


def batch_may_be(e: Expression) -> bool:
    """Whether the entries of the expression's batch index can be computed one by one."""
    try:
        _check_batch(e)
    except _Wrong:
        return False
    return True


def _check_batch(e: Expression) -> None:
    """An entry of the batch reads and writes its own numbers only: the batch index stands in one place of each array
    that is written, or nowhere in a local whose factors lack it."""
    if e.batch not in e.indices:
        raise _Wrong(f"no array has the batch index '{e.batch}'")

    for name, refs in e.references.items():
        if any(r.indices.count(e.batch) > 1 for r in refs):
            raise _Wrong(f"the batch index '{e.batch}' stands twice in '{name}': name another one")
        anywhere = any(e.batch in r.indices for r in refs)
        place = e.batch_place(name)
        if name in e.symmetric and anywhere and place is None:
            raise _Wrong(f"'{name}' is named symmetric and has the batch index '{e.batch}' in several places")
        if name in e.symmetric and anywhere and len(refs[0].indices) < 3:
            raise _Wrong(f"'{name}' is named symmetric and has not two indices beside the batch index '{e.batch}'")
        if name in e.constant and anywhere:
            raise _Wrong(f"'{name}' is named constant but has the batch index '{e.batch}'")
        if name in e.outputs and place is None:
            raise _Wrong(f"output '{name}' does not have the batch index '{e.batch}' in one place")
        if name in e.local and anywhere and place is None:
            raise _Wrong(f"local '{name}' has the batch index '{e.batch}' in several places, or in some only")

    for s in e.statements:
        for f in s.factors:
            if s.out.name in e.local and e.batch not in s.out.indices and e.batch in f.indices:
                raise _Wrong(f"local '{s.out.name}' lacks the batch index that '{f.name}' has")


def _check_statement(e: Expression, s: Statement, seen: set[str]) -> None:
    """Checks a statement. seen: the arrays that earlier statements write."""
    factors = [f for t in s.terms for f in t.factors]
    if len(set(s.out.indices)) < len(s.out.indices):
        raise _Wrong(f"an index stands twice in {s.out}")

    for f in factors:
        if f.name == s.out.name:
            raise _Wrong(f"'{f.name}' stands on both sides; write += or another name")
        if f.name in e.written and f.name not in seen:
            raise _Wrong(f"'{f.name}' is read before it is written")
        if f.name in e.updated:
            raise _Wrong(f"'{f.name}' is added to, so no later statement can read it")

    local = s.out.name in e.local
    if s.add and local and s.out.name not in seen:
        raise _Wrong(f"local '{s.out.name}' is added to before it is set")
    if s.function and s.terms[0].sums(s.out):
        raise _Wrong(f"the map of {s.out} has an index that the left side does not have")
