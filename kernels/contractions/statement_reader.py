"""Statements of a text: one line after the other, token by token. text.py has the language, and options beside it."""

from __future__ import annotations

import itertools
import math
import re
from typing import NamedTuple

from ..engine.errors import ArgumentError
from .expression import Reference, Statement, Term

TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|([^\W\d]\w*)|(\+=|-=|[-+*=\[\](),]))")


def statements(text: str) -> list[Statement]:
    found: list[Statement] = []
    known: dict[str, tuple[str, ...]] = {}
    for line in _split(re.sub(r"#[^\n]*", "", text)):
        if line.strip():
            found.append(_Reader(line, known).statement())
    if not found:
        raise ArgumentError("tensor expression: the text has no statement.")
    return found


def _split(text: str) -> list[str]:
    """Statements of a text. A line goes on where a bracket is open, and behind an operator."""
    found, open_ = [""], 0
    for part in re.split(r"([;\n])", text):
        goes_on = open_ > 0 or found[-1].rstrip().endswith(("*", "+", "-", "="))
        if part == ";" or (part == "\n" and not goes_on):
            found.append("")
            open_ = 0
            continue
        found[-1] += part
        open_ += sum(part.count(c) for c in "[(") - sum(part.count(c) for c in "])")
    return found


class _Reader:
    """Reads one statement. known: the indices of names so far, filled as they come."""

    def __init__(self, line: str, known: dict[str, tuple[str, ...]]):
        self.line, self.known, self.at = line.strip(), known, 0
        self.tokens, end = [], 0
        while self.line[end:].strip():
            match = TOKEN.match(self.line, end)
            if not match:
                wrong = self.line[end:].strip()[0]
                raise self.error(
                    f"'{wrong}' means nothing here; factors are joined by '*' or a blank, terms by '+' or '-'"
                )
            self.tokens.append(match.group(match.lastindex or 0).strip())
            end = match.end()
        self.tokens.append("")

    def error(self, why: str) -> ArgumentError:
        return ArgumentError(f"tensor expression '{self.line}': {why}.")

    @property
    def next(self) -> str:
        return self.tokens[self.at]

    def take(self, *wanted: str) -> str:
        token = self.next
        if wanted and token not in wanted:
            raise self.error(f"'{token or 'the end'}' where {' or '.join(map(repr, wanted))} is wanted")
        self.at += 1
        return token

    def statement(self) -> Statement:
        if self.next == "map" and self.tokens[self.at + 1] not in ("=", "+=", "-=", "[", "("):
            return self.map()
        out, sign = self.reference(), self.take("=", "+=", "-=")
        terms = self.sum(sign == "-=")
        self.take("")
        if out.indices is None:
            out = Reference(out.name, self.told_by(terms, out.name))
        made = []
        for t in terms:
            if not math.isfinite(t.number):
                raise self.error("the numbers of a term make more than a float64 holds")
            made.append(Term(t.number, tuple(self.complete(f, out) for f in t.factors)))
            self.check_sums(t, made[-1], out)
        self.known.setdefault(out.name, out.indices)
        return Statement(out, tuple(made), sign != "=")

    def map(self) -> Statement:
        self.take()
        out = self.reference()
        self.take("=")
        function, factors = self.take(), []
        self.take("(")
        while self.next != ")":
            factors.append(self.reference())
            if self.next != ")":
                self.take(",")
        self.take(")")
        self.take("")
        if out.indices is None:
            raise self.error(f"the indices of '{out.name}' are nowhere told")
        made = tuple(self.complete(f, out) for f in factors)
        self.known.setdefault(out.name, out.indices)
        return Statement(out, (Term(1.0, made),), False, function)

    def told_by(self, terms: list[_Part], name: str) -> tuple[str, ...]:
        """The indices of a left side without brackets: those that its factors, without brackets too, have."""
        if "[" in self.line or "(" in self.line:
            raise self.error(f"'{name}' has no brackets: write its indices, or {name}[] for one number")
        told = {factor.indices for term in terms for factor in term.factors if factor.indices is not None}
        if len(told) > 1:
            all_ = " and ".join(f"[{' '.join(indices)}]" for indices in sorted(told))
            raise self.error(f"the factors of '{name}' have the indices {all_}: write those of '{name}'")
        if not any(told):
            raise self.error(f"the indices of '{name}' are nowhere told")
        return told.pop()

    def complete(self, factor: Reference, out: Reference) -> Reference:
        return Reference(factor.name, out.indices if factor.indices is None else factor.indices)

    def sum(self, minus: bool = False) -> list[_Part]:
        """Terms with their signs, up to something else."""
        terms: list[_Part] = []
        negative = self.next in ("+", "-") and self.take() == "-"
        while True:
            terms += self.term(negative != minus)
            if self.next not in ("+", "-"):
                return terms
            negative = self.take() == "-"

    def term(self, negative: bool) -> list[_Part]:
        """A product, as several where it has a Sum of several."""
        made, begin = [_Part(-1.0 if negative else 1.0)], self.at
        while self.next not in ("+", "-", "", ")"):
            if self.next == "*" and self.at > begin:
                self.take()
            made = self.times(made, self.factor())
        if self.at == begin:
            raise self.error("a term is missing")
        return made

    def factor(self) -> list[_Part]:
        """A number, a reference, or Sum([l m], terms)."""
        if re.match(r"[\d.]", self.next):
            return [_Part(float(self.take()))]  # infinite ones are refused when the term is complete
        if self.tokens[self.at : self.at + 3] != ["Sum", "(", "["]:
            return [_Part(1.0, (self.reference(),))]

        self.take("Sum"), self.take("(")
        bound = self.indices("Sum", self.take("["))
        self.take(",")
        parts = self.sum()
        self.take(")")
        return [_Part(p.number, p.factors, p.bound + bound) for p in parts]

    def times(self, left: list[_Part], right: list[_Part]) -> list[_Part]:
        """Each part of one side times each of the other."""
        made = []
        for a, b in itertools.product(left, right):
            for index in b.bound:
                if index in a.bound:
                    raise self.error(f"index '{index}' belongs to two sums of a term; give one of them another name")
            made.append(_Part(a.number * b.number, a.factors + b.factors, a.bound + b.bound))
        return made

    def check_sums(self, part: _Part, term: Term, out: Reference) -> None:
        """Raises ArgumentError unless the indices of Sum are those that the term is summed over."""
        if not part.bound:
            return
        summed = term.sums(out)
        for index in part.bound:
            if index in out.indices:
                raise self.error(f"index '{index}' of Sum is on the left side too")
            if index not in summed:
                raise self.error(f"index '{index}' of Sum is in none of its factors")
        for index in summed:
            if index not in part.bound:
                raise self.error(f"index '{index}' is neither on the left side nor in Sum's list")

    def reference(self) -> Reference:
        """Indices None: not written and not known."""
        name = self.take()
        if name == "(":
            raise self.error("a sum in brackets is not read; write each term, or a statement of its own for the sum")
        if name == "*":
            raise self.error("'*' without a factor before it; a power is a product, such as a[i] a[i]")
        if not _is_name(name):
            raise self.error(f"'{name or 'the end'}' where a name is wanted")
        if self.next not in ("[", "("):
            return Reference(name, self.known.get(name))  # type: ignore[arg-type]
        opened = self.take()
        indices = self.indices(name, opened)
        return Reference(name, indices if opened == "[" else indices[::-1])

    def indices(self, name: str, opened: str) -> tuple[str, ...]:
        """Up to the bracket that closes, in the order of the text."""
        close = {"[": "]", "(": ")"}[opened]
        found = []
        while self.next != close:
            if not _is_name(self.next):
                raise self.error(f"'{self.next or 'the end'}' where an index of '{name}' is wanted{self.instead(name)}")
            found.append(self.take())
            if self.next == ",":
                self.take()
        self.take(close)
        return tuple(found)

    def instead(self, name: str) -> str:
        """A hint for a message: the text that a user may want where the next token is no index of array `name`."""
        if self.next.isdigit():
            return "; for a fixed index pass that part of the array"
        if name in ("Sum", "sum"):
            return "; a written sum is Sum([l m], a[l m] * b[m])"
        if self.next in ("[", "("):
            return f"; functions are for maps: map q[i] = {name}(a[i])"
        return ""


def _is_name(token: str) -> bool:
    """Whether a token is a name, of an array or an index."""
    return re.match(r"[^\W\d]", token) is not None


class _Part(NamedTuple):
    """A term as it is read."""

    number: float
    factors: tuple[Reference, ...] = ()
    bound: tuple[str, ...] = ()  # indices of Sum
