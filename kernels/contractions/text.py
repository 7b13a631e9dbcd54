"""The text of a tensor expression: statements over named indices, read into terms and factors.

    ur[e k j i] = D[i l] u[e k j l];  w[e i] += 0.5 a[e i j] x[e j] - b[e i]        indices from slow to fast
    ur(i,j,k,e) = D(i,l) u(l,j,k,e)                                                 the same from fast to slow: Fortran
    clp,crp->clr                                                                    a string of numpy.einsum
    map q[i j] = f(s[i], s[j], c[i j])                                              a host's own function, pointwise

Statements end at `;` or at the end of a line, `#` begins a comment. An index that the left side does not have is summed
over its term. A name without brackets has the indices that it was written with, else those of the left side; `a[]` is
one number. A line such as `local ur us` or `batch e` is an option of `parse`, where the text is all that a caller has.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import NamedTuple

from ..engine.errors import ArgumentError

LAYOUTS = ("left", "right")  # of the point index: fastest, slowest
SINGLE, SEVERAL = ("batch", "point", "layout"), ("local", "constant", "symmetric")  # options with one word, or several


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
    """Statements of one kernel. batch: the index whose extent is free, or None. local: arrays that are never stored.
    constant: inputs that do not change between runs. symmetric: inputs whose last two indices may be exchanged, and of
    which the half with the last index not above the one before is read."""

    statements: tuple[Statement, ...]
    batch: str | None
    local: frozenset[str] = frozenset()
    constant: frozenset[str] = frozenset()
    symmetric: frozenset[str] = frozenset()

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
        read = (f.name for s in self.statements for t in s.terms for f in t.factors)
        return tuple(name for name in dict.fromkeys(read) if name not in self.written)

    @functools.cached_property
    def updated(self) -> frozenset[str]:
        """Outputs whose old values are read: the first statement about them adds."""
        first = {s.out.name: s.add for s in reversed(self.statements)}
        return frozenset(name for name in self.outputs if first[name])

    @functools.cached_property
    def references(self) -> dict[str, tuple[Reference, ...]]:
        """Of each array, in the order of the text."""
        found: dict[str, list[Reference]] = {}
        for s in self.statements:
            for r in (*(f for t in s.terms for f in t.factors), s.out):
                found.setdefault(r.name, []).append(r)
        return {name: tuple(dict.fromkeys(refs)) for name, refs in found.items()}

    @functools.cached_property
    def indices(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(i for refs in self.references.values() for r in refs for i in r.indices))

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

        lines = [str(_with_references(s, renamed)) for s in self.statements]
        for word, names in (("local", self.local), ("constant", self.constant), ("symmetric", self.symmetric)):
            if names:
                lines.append(f"{word} {' '.join(sorted(array[n] for n in names if n in array))}")
        return "; ".join([*lines, f"batch {index.get(self.batch or '', '-')}"])


def _with_references(s: Statement, change) -> Statement:
    """A statement with each reference replaced by change(reference)."""
    terms = [Term(t.number, tuple(map(change, t.factors))) for t in s.terms]
    return s._replace(out=change(s.out), terms=tuple(terms))


TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|([A-Za-z_]\w*)|(\+=|-=|[-+*=\[\](),]))")


def words(names) -> frozenset[str]:
    """Names given as one text with blanks, or as several."""
    return frozenset(names.split() if isinstance(names, str) else names)


def parse(text: str, batch: str | None = None, point: str | None = None, layout: str = "right", **marks) -> Expression:
    """The Expression of a text.

    batch: the index with the free extent; None takes the first index of the first output if every output has it, and
    "" none. point: the name of an index that every array but `constant` ones has without its being written, at the end
    with layout "left", in front with "right"; it is the batch index. marks: local, constant, symmetric: names. The text
    may hold each of these in a line of its own. Raises ArgumentError that shows the place.
    """
    text, lines = _options(text)
    batch, point, layout = lines.get("batch", batch), lines.get("point", point), lines.get("layout", layout)
    if layout not in LAYOUTS:
        raise ArgumentError(f"layout '{layout}'; wanted {' or '.join(LAYOUTS)}.")
    named = {}
    for key in {**marks, **dict.fromkeys(SEVERAL)}:
        named[key] = words(marks.get(key, "")) | words(lines.get(key, ""))

    einsum = "->" in text or re.fullmatch(r"[\sA-Za-z]+(,[\sA-Za-z]*)*", text)
    statements = _einsum(text) if einsum else _statements(text)
    if point:
        statements = _with_point(statements, point, layout, named.get("constant", frozenset()))
        batch = point
    if batch is None:
        batch = _lead(statements, named.get("local", frozenset()))

    made = Expression(tuple(statements), batch or None, **named)
    _check(made)
    return made


def _lead(statements, local) -> str | None:
    """The first index of the first output, if every output has it there."""
    outs = [s.out for s in statements if s.out.name not in local]
    first = (outs or [statements[0].out])[0]
    lead = first.indices[0] if first.indices else None
    return lead if all(out.indices[:1] == (lead,) for out in outs) else None


def _options(text: str) -> tuple[str, dict[str, str]]:
    """(the text without its lines of options, value of each). No statement lacks its `=`."""
    kept: list[str] = []
    told: dict[str, str] = {}
    for line in re.split(r"([;\n])", re.sub(r"#[^\n]*", "", text)):
        match = re.fullmatch(rf"\s*({'|'.join((*SINGLE, *SEVERAL))})((?:[\s,]+[A-Za-z_]\w*)+)\s*", line)
        if not match:
            kept.append(line)
            continue
        key, value = match.group(1), match.group(2).replace(",", " ").strip()
        if key in SINGLE and (len(value.split()) > 1 or key in told):
            raise ArgumentError(f"tensor expression '{line.strip()}': wanted one {key}, once.")
        told[key] = f"{told.get(key, '')} {value}".strip()
    return "".join(kept), told


def _statements(text: str) -> list[Statement]:
    found: list[Statement] = []
    known: dict[str, tuple[str, ...]] = {}
    for line in re.split(r"[;\n]", re.sub(r"#[^\n]*", "", text)):
        if line.strip():
            found.append(_Reader(line, known).statement())
    if not found:
        raise ArgumentError("tensor expression: the text has no statement.")
    return found


class _Reader:
    """Reads one statement. known: the indices of names so far, filled as they come."""

    def __init__(self, line: str, known: dict[str, tuple[str, ...]]):
        self.line, self.known, self.at = line.strip(), known, 0
        self.tokens, end = [], 0
        while self.line[end:].strip():
            match = TOKEN.match(self.line, end)
            if not match:
                raise self.error(f"'{self.line[end:].strip()[0]}' means nothing here")
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
        terms, minus = [], sign == "-="
        negative = self.next in "+-" and self.next != "" and self.take() == "-"
        while True:
            terms.append(self.term(negative != minus))
            if self.next not in ("+", "-"):
                break
            negative = self.take() == "-"
        self.take("")
        if out.indices is None:
            told = (f.indices for t in terms for f in t.factors if f.indices is not None)
            out = Reference(out.name, next(told, ()))
            if not out.indices:
                raise self.error(f"the indices of '{out.name}' are nowhere told")
        terms = [Term(t.number, tuple(self.complete(f, out) for f in t.factors)) for t in terms]
        self.known.setdefault(out.name, out.indices)
        return Statement(out, tuple(terms), sign != "=")

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

    def complete(self, factor: Reference, out: Reference) -> Reference:
        return Reference(factor.name, out.indices if factor.indices is None else factor.indices)

    def term(self, negative: bool) -> Term:
        number, factors, begin = -1.0 if negative else 1.0, [], self.at
        while self.next not in ("+", "-", ""):
            if self.next == "*" and self.at > begin:
                self.take()
            if re.match(r"[\d.]", self.next):
                number *= float(self.take())
            else:
                factors.append(self.reference())
        if self.at == begin:
            raise self.error("a term is missing")
        return Term(number, tuple(factors))

    def reference(self) -> Reference:
        """Indices None: not written and not known."""
        name = self.take()
        if not re.match(r"[A-Za-z_]", name):
            raise self.error(f"'{name or 'the end'}' where a name is wanted")
        if self.next not in ("[", "("):
            return Reference(name, self.known.get(name))  # type: ignore[arg-type]
        close = {"[": "]", "(": ")"}[self.take()]
        indices = []
        while self.next != close:
            if not re.match(r"[A-Za-z_]", self.next):
                raise self.error(f"'{self.next or 'the end'}' where an index of '{name}' is wanted")
            indices.append(self.take())
            if self.next == ",":
                self.take()
        self.take(close)
        return Reference(name, tuple(indices if close == "]" else indices[::-1]))


def _einsum(text: str) -> list[Statement]:
    """numpy.einsum's string, without ellipsis: arrays operand0, operand1, ..., out."""
    if "..." in text:
        raise ArgumentError(f"einsum string '{text}': an ellipsis is not served; name each index.")
    left, arrow, right = (part.strip() for part in text.replace(" ", "").partition("->"))
    operands = left.split(",")
    for part in (*operands, right):
        if not re.fullmatch(r"[A-Za-z]*", part):
            raise ArgumentError(f"einsum string '{text}': '{part}', wanted letters.")
    if not arrow:
        right = "".join(i for i in sorted(set(left) - {","}) if left.count(i) == 1)
    lost = [i for i in right if i not in left]
    if lost:
        raise ArgumentError(f"einsum string '{text}': index '{lost[0]}' of the result is in no operand.")
    factors = tuple(Reference(f"operand{k}", tuple(part)) for k, part in enumerate(operands))
    return [Statement(Reference("out", tuple(right)), (Term(1.0, factors),))]


def _with_point(statements, point, layout, shared):
    """The statements with the point index in every array but `shared` ones."""

    def put(r: Reference) -> Reference:
        if r.name in shared:
            return r
        return Reference(r.name, (*r.indices, point) if layout == "left" else (point, *r.indices))

    return [_with_references(s, put) for s in statements]


# ---- checks ---------------------------------------------------------------------------------------------------------


def _check(e: Expression) -> None:
    """Raises ArgumentError for a text that no kernel can do."""
    try:
        _check_arrays(e)
        _check_marks(e)
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
        if name in e.symmetric:
            in_one_place = e.batch_place(name) is not None
            if not in_one_place and any(e.batch in r.indices for r in refs):
                raise _Wrong(f"'{name}' is named symmetric and has the batch index in several places")
            if len(refs[0].indices) - in_one_place < 2:
                raise _Wrong(f"'{name}' is named symmetric and has not two indices")
        if any(r.indices.count(e.batch) > 1 for r in refs if e.batch):
            raise _Wrong(f"the batch index '{e.batch}' stands twice in '{name}': diagonals are not served")


def _check_marks(e: Expression) -> None:
    """Locals are written, symmetric and constant arrays are not."""
    for name in sorted(e.local - set(e.written)):
        raise _Wrong(f"'{name}' is named local but is never written")
    for name in sorted(e.symmetric & set(e.written)):
        raise _Wrong(f"'{name}' is named symmetric but is also written")
    for name in sorted(e.constant):
        if name in e.written or any(e.batch in r.indices for r in e.references[name]):
            raise _Wrong(f"'{name}' is named constant but is written or has the batch index")


def _check_batch(e: Expression) -> None:
    """The batch index stands in one place of each output, and everywhere or nowhere in a local."""
    if e.batch and e.batch not in e.indices:
        raise _Wrong(f"no array has the batch index '{e.batch}'")
    for name in e.outputs:
        if e.batch and e.batch_place(name) is None:
            raise _Wrong(f"output '{name}' does not have the batch index '{e.batch}' in one place")
    for name in e.local:
        if len({e.batch in r.indices for r in e.references[name]}) > 1:
            raise _Wrong(f"local '{name}' has the batch index '{e.batch}' in some places only")


def _check_statement(e: Expression, s: Statement, seen: set[str]) -> None:
    """One statement. seen: arrays that were written before."""
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
    if local and e.batch and e.batch not in s.out.indices:
        for f in factors:
            if e.batch in f.indices:
                raise _Wrong(f"local '{s.out.name}' lacks the batch index that '{f.name}' has")
