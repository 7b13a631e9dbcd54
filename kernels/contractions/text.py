"""The text of a tensor expression: statements over named indices, read into terms and factors.

    ur[e k j i] = D[i l] u[e k j l];  w[e i] += 0.5 a[e i j] x[e j] - b[e i]        indices from slow to fast
    ur(i,j,k,e) = D(i,l) u(l,j,k,e)                                                 the same from fast to slow: Fortran
    clp,crp->clr                                                                    a string of numpy.einsum
    V[i j k] += Sum([l m n], A[l k] * B[m j] * C[n i] * U[l m n])                   Barracuda's form: the sum is written
    map q[i j] = f(s[i], s[j], c[i j])                                              a host's own function, pointwise

Statements end at `;` or at the end of a line outside brackets, `#` begins a comment. An index that the left side does
not have is summed over its term. A name without brackets has the indices that it was written with, else those of the
left side; `a[]` is one number. A line such as `local ur us` or `batch e` is an option, where the text is all that a
caller has. A file of TCR is read too (barracuda.py).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from typing import NamedTuple

from ..engine.errors import ArgumentError
from . import barracuda, einsum

LAYOUTS = ("left", "right")  # of the point index: fastest, slowest

# Lines of options by their first word. The others: one word, or several.
SINGLE, SEVERAL = ("batch", "point", "layout"), ("local", "constant", "symmetric")
HOW = re.compile(r"how\s+([A-Za-z_]\w*(?:\s+\w+=[\w:.+-]*)*)")
ORDER = re.compile(r"order\s+(\d+)")
HEADER = re.compile(r"header\s+[\"']?([^\"';]+?)[\"']?")
EXTENT = re.compile(r"extents?((?:[\s,]+(?:[A-Za-z_]\w*\s*=\s*)+\d+(?:\.\.\d+)?)+)")


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
        for name in arrays:
            if name not in wanted:
                raise ArgumentError(f"array '{name}' is not in the tensor expression; it has {', '.join(wanted)}.")
        for name in wanted:
            if name not in arrays:
                raise ArgumentError(f"array '{name}' is missing.")
        return wanted

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


@dataclasses.dataclass(frozen=True)
class Script:
    """All that a text says: statements, and what its lines of options ask for."""

    expression: Expression
    how: str | None = None  # the organisation, as table.read takes it
    order: int | None = None  # of evaluation, among the cheapest
    headers: tuple[str, ...] = ()  # files of C++ with the functions of maps
    extents: dict[str, range] = dataclasses.field(default_factory=dict)  # that an index may have

    def check(self, sizes) -> None:
        """Raises ArgumentError for an extent that the text does not allow. sizes: of some indices."""
        for index, allowed in self.extents.items():
            if index in sizes and sizes[index] not in allowed:
                raise ArgumentError(
                    f"index '{index}': extent {sizes[index]}, wanted {shown(allowed)} as the text has it."
                )


def shown(allowed: range) -> str:
    """Extents as a text has them: 10, or 4..12."""
    return str(allowed[0]) if len(allowed) == 1 else f"{allowed[0]}..{allowed[-1]}"


TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|([^\W\d]\w*)|(\+=|-=|[-+*=\[\](),]))")


def words(names) -> frozenset[str]:
    """Names given as one text with blanks, or as several."""
    return frozenset(names.split() if isinstance(names, str) else names)


def parse(text: str, batch: str | None = None, point: str | None = None, layout: str = "right", **marks) -> Expression:
    """The Expression of a text.

    batch: the index with the free extent; None takes the first index of the first output that every output has, and
    "" none. point: the name of an index that every array but `constant` ones has without its being written, at the end
    with layout "left", in front with "right"; it is the batch index. marks: local, constant, symmetric: names. The text
    may hold each of these in a line of its own. Raises ArgumentError that shows the place.
    """
    return read(text, batch, point, layout, **marks).expression


def read(text: str, batch: str | None = None, point: str | None = None, layout: str = "right", **marks) -> Script:
    """The Script of a text. Arguments and errors as of `parse`."""
    if barracuda.is_file(text):
        text = barracuda.statements(text)

    text, script, lines = _options(text)
    batch, point, layout = lines.get("batch", batch), lines.get("point", point), lines.get("layout", layout)
    if layout not in LAYOUTS:
        raise ArgumentError(f"layout '{layout}'; wanted {' or '.join(LAYOUTS)}.")
    named = {}
    for key in {**marks, **dict.fromkeys(SEVERAL)}:
        named[key] = words(marks.get(key, "")) | words(lines.get(key, ""))

    statements = _einsum(text) if einsum.is_string(text) else _statements(text)
    if point:
        statements = _with_point(statements, point, layout, named.get("constant", frozenset()))
        batch = point

    found = batch is None
    if found:
        batch = _lead(statements, named["local"])
    made = Expression(tuple(statements), batch or None, **named, found=found and batch is not None)
    _check(made)
    for index in script["extents"]:
        if index not in made.indices:
            raise ArgumentError(f"extent of {index}: no such index; the text has {', '.join(made.indices)}.")
    return Script(made, **script)


def _lead(statements, local) -> str | None:
    """The first index of the first output that may be the batch's: each output has it, in one place, and no array has
    it twice. None: there is no such index."""
    outs = [s.out for s in statements if s.out.name not in local] or [statements[0].out]
    references = []
    for s in statements:
        references += [s.out, *s.factors]

    for index in outs[0].indices:
        if _in_one_place(index, outs) and all(r.indices.count(index) < 2 for r in references):
            return index
    return None


def _in_one_place(index: str, outs) -> bool:
    """Whether each output has the index, wherever it is written in the same place."""
    places: dict[str, set[int]] = {}
    for out in outs:
        if index not in out.indices:
            return False
        places.setdefault(out.name, set()).add(out.indices.index(index))

    return all(len(found) == 1 for found in places.values())


def _options(text: str) -> tuple[str, dict, dict[str, str]]:
    """(the text without its lines of options, fields of Script, value of each other option). No statement lacks its
    `=`."""
    kept: list[str] = []
    script: dict = {"extents": {}, "headers": ()}
    told: dict[str, str] = {}
    for line in re.split(r"([;\n])", re.sub(r"#[^\n]*", "", text)):
        match = re.fullmatch(rf"\s*({'|'.join((*SINGLE, *SEVERAL))})((?:[\s,]+[A-Za-z_]\w*)+)\s*", line)
        if match:
            _take_option(line, match.group(1), match.group(2).replace(",", " ").strip(), told)
        elif not _take_request(line.strip(), script):
            kept.append(line)
    return "".join(kept), script, told


def _take_option(line: str, key: str, value: str, told: dict[str, str]) -> None:
    """Puts the names of an option into `told`."""
    if key in SINGLE and (len(value.split()) > 1 or key in told):
        raise ArgumentError(f"tensor expression '{line.strip()}': wanted one {key}, once.")
    told[key] = f"{told.get(key, '')} {value}".strip()


def _take_request(line: str, script: dict) -> bool:
    """Puts a line that asks for an organisation, an order, a header or extents into `script`; False if it is none."""
    found = HOW.fullmatch(line) or ORDER.fullmatch(line)
    if found:
        key = line.split()[0]
        if key in script:
            raise ArgumentError(f"tensor expression '{line}': wanted one {key}, once.")
        script[key] = found.group(1) if key == "how" else int(found.group(1))
        return True

    header = HEADER.fullmatch(line)
    if header and "=" not in line:
        script["headers"] += (header.group(1),)
        return True

    extents = EXTENT.fullmatch(line)
    if extents:
        for names, low, high in re.findall(r"((?:[A-Za-z_]\w*\s*=\s*)+)(\d+)(?:\.\.(\d+))?", extents.group(1)):
            for index in re.findall(r"\w+", names):
                script["extents"][index] = _range(line, int(low), int(high or low))
    return bool(extents)


def _range(line: str, low: int, high: int) -> range:
    if not 1 <= low <= high:
        raise ArgumentError(f"tensor expression '{line}': extents {low}..{high}, wanted 1 or more, and in order.")
    return range(low, high + 1)


def _statements(text: str) -> list[Statement]:
    found: list[Statement] = []
    known: dict[str, tuple[str, ...]] = {}
    for line in _split(re.sub(r"#[^\n]*", "", text)):
        if line.strip():
            found.append(_Reader(line, known).statement())
    if not found:
        raise ArgumentError("tensor expression: the text has no statement.")
    return found


def _split(text: str) -> list[str]:
    """Statements of a text. A line goes on where a bracket is open."""
    found, open_ = [""], 0
    for part in re.split(r"([;\n])", text):
        if part in (";", "\n") and (part == ";" or open_ <= 0):
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
            return [_Part(float(self.take()))]
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
                fixed = "; for a fixed index pass that part of the array" if self.next.isdigit() else ""
                raise self.error(f"'{self.next or 'the end'}' where an index of '{name}' is wanted{fixed}")
            found.append(self.take())
            if self.next == ",":
                self.take()
        self.take(close)
        return tuple(found)


def _is_name(token: str) -> bool:
    """Whether a token is a name, of an array or an index."""
    return re.match(r"[^\W\d]", token) is not None


class _Part(NamedTuple):
    """A term as it is read."""

    number: float
    factors: tuple[Reference, ...] = ()
    bound: tuple[str, ...] = ()  # indices of Sum


def _einsum(text: str) -> list[Statement]:
    """numpy.einsum's string: arrays operand0, operand1, ..., out."""
    s = einsum.read(text)
    if s.has_ellipsis:
        raise s.error(
            "an ellipsis has as many dimensions as the arrays: use contract(), or name each index, or give "
            "Contraction sizes['...'] = (extents)"
        )
    factors = tuple(Reference(name, own) for name, own in zip(s.names, s.operands))
    return [Statement(Reference("out", s.out), (Term(1.0, factors),))]


def _with_point(statements, point, layout, shared):
    """The statements with the point index in every array but `shared` ones."""

    def put(r: Reference) -> Reference:
        if r.name in shared:
            return r
        return Reference(r.name, (*r.indices, point) if layout == "left" else (point, *r.indices))

    return [with_references(s, put) for s in statements]


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
            raise _Wrong(f"the batch index '{e.batch}' stands twice in '{name}': name another one")


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
