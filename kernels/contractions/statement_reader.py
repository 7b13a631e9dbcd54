"""Statements of a text: one line after the other, token by token. text.py has the language, and options beside it."""

from __future__ import annotations

import itertools
import math
import re
from typing import NamedTuple

from ..engine.errors import ArgumentError
from .expression import Reference, Statement, Term

NUMBER = r"\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?"
NAME = r"[^\W\d]\w*"
SYMBOL = r"\+=|-=|[-+*=\[\](),]"
TOKEN = re.compile(rf"\s*(?:({NUMBER})|({NAME})|({SYMBOL}))")
COMMENT = re.compile(r"#[^\n]*")
CLOSING = {"[": "]", "(": ")"}


def statements(text: str) -> list[Statement]:
    """The statements of a text, in its order. Raises ArgumentError with the line that cannot be read."""
    found: list[Statement] = []
    known: dict[str, tuple[str, ...]] = {}

    for line in _lines(COMMENT.sub("", text)):
        if line.strip():
            found.append(_Reader(line, known).statement())

    if not found:
        raise ArgumentError("tensor expression: the text has no statement.")

    return found


def _lines(text: str) -> list[str]:
    """A line for each statement. It goes on in the next line where a bracket is open, and behind an operator."""
    found = [""]
    open_brackets = 0

    for part in re.split(r"([;\n])", text):
        goes_on = open_brackets > 0 or found[-1].rstrip().endswith(("*", "+", "-", "="))
        if part == ";" or (part == "\n" and not goes_on):
            found.append("")
            open_brackets = 0
            continue

        found[-1] += part
        open_brackets += part.count("[") + part.count("(") - part.count("]") - part.count(")")

    return found


class _Product(NamedTuple):
    """A term while it is read. Some of its indices may be unknown; see `_Reader.complete`."""

    number: float
    factors: tuple[Reference, ...] = ()
    bound: tuple[str, ...] = ()  # indices in the list of a Sum


class _Reader:
    """Reads one statement."""

    def __init__(self, line: str, known: dict[str, tuple[str, ...]]):
        self.line = line.strip()
        self.known = known  # indices of the names of earlier statements; this statement adds the name it writes
        self.tokens = [*self.split(), ""]  # "" is the end of the line
        self.position = 0  # of the next token

    def split(self) -> list[str]:
        """The tokens of the line."""
        found = []
        end = 0

        while self.line[end:].strip():
            match = TOKEN.match(self.line, end)
            if not match:
                wrong = self.line[end:].strip()[0]
                raise self.error(
                    f"'{wrong}' means nothing here; factors are joined by '*' or a blank, terms by '+' or '-'"
                )

            found.append(match.group(match.lastindex or 0).strip())
            end = match.end()

        return found

    def error(self, why: str) -> ArgumentError:
        return ArgumentError(f"tensor expression '{self.line}': {why}.")

    @property
    def next(self) -> str:
        return self.tokens[self.position]

    def take(self, *wanted: str) -> str:
        """Returns the next token and moves on. Raises ArgumentError for a token that is not in `wanted`, if given."""
        token = self.next
        if wanted and token not in wanted:
            raise self.error(f"'{token or 'the end'}' where {' or '.join(map(repr, wanted))} is wanted")

        self.position += 1
        return token

    # ---- statements

    def statement(self) -> Statement:
        """A sum of products, or a map."""
        is_map = self.next == "map" and self.tokens[self.position + 1] not in ("=", "+=", "-=", "[", "(")
        return self.map() if is_map else self.sum_of_products()

    def sum_of_products(self) -> Statement:
        """out[i] = terms, or += or -=."""
        out = self.reference()
        sign = self.take("=", "+=", "-=")
        products = self.products(negative=sign == "-=")
        self.take("")

        if out.indices is None:
            out = Reference(out.name, self.indices_of_factors(products, out.name))

        terms = []
        for product in products:
            if not math.isfinite(product.number):
                raise self.error("the numbers of a term make more than a float64 holds")

            term = Term(product.number, self.complete(product.factors, out))
            self.refuse_other_sums(product, term, out)
            terms.append(term)

        self.known.setdefault(out.name, out.indices)
        return Statement(out, tuple(terms), add=sign != "=")

    def map(self) -> Statement:
        """map out[i] = function(a[i], b[i])"""
        self.take()
        out = self.reference()
        self.take("=")
        function = self.take()

        arguments = []
        self.take("(")
        while self.next != ")":
            arguments.append(self.reference())
            if self.next != ")":
                self.take(",")

        self.take(")")
        self.take("")

        if out.indices is None:
            raise self.error(f"the indices of '{out.name}' are nowhere told")

        self.known.setdefault(out.name, out.indices)
        return Statement(out, (Term(1.0, self.complete(arguments, out)),), False, function)

    def indices_of_factors(self, products: list[_Product], name: str) -> tuple[str, ...]:
        """The indices of a left side without brackets: the indices that its factors, without brackets too, have."""
        if "[" in self.line or "(" in self.line:
            raise self.error(f"'{name}' has no brackets: write its indices, or {name}[] for one number")

        factors = [factor for product in products for factor in product.factors]
        found = {factor.indices for factor in factors if factor.indices is not None}
        if len(found) > 1:
            listed = " and ".join(f"[{' '.join(indices)}]" for indices in sorted(found))
            raise self.error(f"the factors of '{name}' have the indices {listed}: write those of '{name}'")

        if not any(found):
            raise self.error(f"the indices of '{name}' are nowhere told")

        return found.pop()

    def complete(self, factors, out: Reference) -> tuple[Reference, ...]:
        """The factors; a factor without known indices has those of the left side."""
        return tuple(Reference(f.name, out.indices if f.indices is None else f.indices) for f in factors)

    def refuse_other_sums(self, product: _Product, term: Term, out: Reference) -> None:
        """Raises ArgumentError unless the indices of Sum are the indices that the term is summed over."""
        if not product.bound:
            return

        summed = term.sums(out)
        for index in product.bound:
            if index in out.indices:
                raise self.error(f"index '{index}' of Sum is on the left side too")
            if index not in summed:
                raise self.error(f"index '{index}' of Sum is in none of its factors")

        for index in summed:
            if index not in product.bound:
                raise self.error(f"index '{index}' is neither on the left side nor in Sum's list")

    # ---- terms

    def products(self, negative: bool = False) -> list[_Product]:
        """Products with their signs, as far as + and - join them. negative: all signs turn."""
        found: list[_Product] = []
        minus = self.next in ("+", "-") and self.take() == "-"

        while True:
            found += self.product(minus != negative)
            if self.next not in ("+", "-"):
                return found

            minus = self.take() == "-"

    def product(self, negative: bool) -> list[_Product]:
        """A product. It becomes several where a factor is a Sum of several terms."""
        found = [_Product(-1.0 if negative else 1.0)]
        begin = self.position

        while self.next not in ("+", "-", "", ")"):
            if self.next == "*" and self.position > begin:
                self.take()
            found = self.times(found, self.factor())

        if self.position == begin:
            raise self.error("a term is missing")

        return found

    def factor(self) -> list[_Product]:
        """A number, a reference, or Sum([l m], terms)."""
        if re.match(r"[\d.]", self.next):
            return [_Product(float(self.take()))]  # an infinite number is refused when the term is complete

        if self.tokens[self.position : self.position + 3] == ["Sum", "(", "["]:
            return self.written_sum()

        return [_Product(1.0, (self.reference(),))]

    def written_sum(self) -> list[_Product]:
        """Sum([l m], terms)"""
        self.take("Sum")
        self.take("(")
        bound = self.indices("Sum", self.take("["))
        self.take(",")
        products = self.products()
        self.take(")")

        return [_Product(p.number, p.factors, p.bound + bound) for p in products]

    def times(self, left: list[_Product], right: list[_Product]) -> list[_Product]:
        """Each product of the left times each of the right."""
        found = []
        for a, b in itertools.product(left, right):
            for index in b.bound:
                if index in a.bound:
                    raise self.error(f"index '{index}' belongs to two sums of a term; give one of them another name")

            found.append(_Product(a.number * b.number, a.factors + b.factors, a.bound + b.bound))

        return found

    # ---- arrays

    def reference(self) -> Reference:
        """An array with its indices; indices None: they are not written here, and no earlier statement has them."""
        name = self.take()
        if name == "(":
            raise self.error("a sum in brackets is not read; write each term, or a statement of its own for the sum")
        if name == "*":
            raise self.error("'*' without a factor before it; a power is a product, such as a[i] a[i]")
        if not _is_name(name):
            raise self.error(f"'{name or 'the end'}' where a name is wanted")

        if self.next not in CLOSING:
            return Reference(name, self.known.get(name))  # type: ignore[arg-type]

        # Round brackets are Fortran's: the fastest index comes first.
        bracket = self.take()
        indices = self.indices(name, bracket)
        return Reference(name, indices if bracket == "[" else indices[::-1])

    def indices(self, name: str, bracket: str) -> tuple[str, ...]:
        """Indices up to the closing bracket, in the order of the text."""
        close = CLOSING[bracket]
        found = []

        while self.next != close:
            if not _is_name(self.next):
                raise self.error(f"'{self.next or 'the end'}' where an index of '{name}' is wanted{self.hint(name)}")

            found.append(self.take())
            if self.next == ",":
                self.take()

        self.take(close)
        return tuple(found)

    def hint(self, name: str) -> str:
        """The end of a message: what a user may have wanted where the next token is no index of array `name`."""
        if self.next.isdigit():
            return "; for a fixed index pass that part of the array"
        if name in ("Sum", "sum"):
            return "; a written sum is Sum([l m], a[l m] * b[m])"
        if self.next in CLOSING:
            return f"; functions are for maps: map q[i] = {name}(a[i])"

        return ""


def _is_name(token: str) -> bool:
    """Whether a token is the name of an array or an index."""
    return re.match(r"[^\W\d]", token) is not None
