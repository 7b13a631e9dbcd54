"""The text of a tensor expression: statements over named indices, read into terms and factors.

    ur[e k j i] = D[i l] u[e k j l];  w[e i] += 0.5 a[e i j] x[e j] - b[e i]        indices from slow to fast
    ur(i,j,k,e) = D(i,l) u(l,j,k,e)                                                 the same from fast to slow: Fortran
    clp,crp->clr                                                                    a string of numpy.einsum
    V[i j k] += Sum([l m n], A[l k] * B[m j] * C[n i] * U[l m n])                   Barracuda's form: the sum is written
    map q[i j] = f(s[i], s[j], c[i j])                                              a host's own function, pointwise

Statements end at `;` or with a line, unless a bracket is open or an operator ends the line. `#` begins a comment. An
index that the left side does not have is summed over its term. A name without brackets has the indices that it was
written with, else those of the left side; `a[]` is one number. A line such as `local ur us` or `batch e` is an option,
where the text is all that a caller has. A file of TCR is read too (barracuda.py).
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
from typing import Any

from ..engine.errors import ArgumentError
from . import barracuda, einsum, ranges, statement_reader
from .expression import Expression, Reference, Statement, Term, batch_may_be, check, with_references

MOST, MARKS_OF_A_TEXT = 255, "=[\n;>,"  # characters of a file's name, and those that it has not
LAYOUTS = ("left", "right")  # of the point index: fastest, slowest

# Lines of options by their first word. The others: one word, or several.
SINGLE, SEVERAL = ("batch", "point", "layout"), ("local", "constant", "symmetric")
FORMS = {  # how an option is written, for messages
    "batch": "batch INDEX",
    "point": "point INDEX",
    "layout": "layout left, or right",
    "local": "local NAME NAME",
    "constant": "constant NAME NAME",
    "symmetric": "symmetric NAME NAME",
    "how": "how ORGANISATION, with numbers such as threads=64",
    "order": "order NUMBER",
    "header": "header FILE",
    "extent": "extent i=12 j=4..8",
    "extents": "extents i=12 j=4..8",
    "free": "free",
}
OPTION = re.compile(rf"({'|'.join(FORMS)})(\s*|\s+[^\s\[(=+-].*)")  # and no statement
HOW = re.compile(r"how\s+([A-Za-z_]\w*(?:\s+\w+=[\w:.+-]*)*)")
ORDER = re.compile(r"order\s+(\d+)")
HEADER = re.compile(r"header\s+[\"']?([^\"';]+?)[\"']?")
NAMES = r"(?:[A-Za-z_]\w*\s*=\s*)+"
EXTENT = re.compile(rf"extents?((?:[\s,]+{NAMES}{ranges.RANGE})+)")


@dataclasses.dataclass(frozen=True)
class Script:
    """All that a text says: statements, and what its lines of options ask for."""

    expression: Expression
    how: str | None = None  # the organisation, as table.read takes it
    order: int | None = None  # of evaluation, among the cheapest
    free: bool = False  # by organisations that read extents when they run, where there are some
    headers: tuple[str, ...] = ()  # files of C++ with the functions of maps
    extents: dict[str, range] = dataclasses.field(default_factory=dict)  # that an index may have

    def check(self, sizes) -> None:
        """Raises ArgumentError for an extent that the text does not allow. sizes: of some indices."""
        for index, allowed in self.extents.items():
            if index in sizes and sizes[index] not in allowed:
                raise ArgumentError(
                    f"index '{index}': extent {sizes[index]}, wanted {ranges.shown(allowed)} as the text has it."
                )


def of_file(given: str) -> str | None:
    """The text of the file of this name; None if it is the name of no file, or a text itself."""
    name = given.strip()
    if len(name) > MOST or any(mark in name for mark in MARKS_OF_A_TEXT) or not pathlib.Path(name).is_file():
        return None
    return pathlib.Path(name).read_text()


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
    named: dict[str, Any] = {}
    for key in {**marks, **dict.fromkeys(SEVERAL)}:
        named[key] = words(marks.get(key, "")) | words(lines.get(key, ""))

    statements = _einsum(text) if einsum.is_string(text) else statement_reader.statements(text)
    if point:
        statements = _with_point(statements, point, layout, named.get("constant", frozenset()))
        batch = point

    made = Expression(tuple(statements), batch or None, **named)
    if batch is None:
        made = _with_a_batch(made)
    check(made)

    for index in script["extents"]:
        if index not in made.indices:
            raise ArgumentError(f"extent of {index}: no such index; the text has {', '.join(made.indices)}.")

    return Script(made, **script)


def _with_a_batch(e: Expression) -> Expression:
    """The expression with the first index of its first output that can be the batch's, if there is one."""
    first = next((s.out for s in e.statements if s.out.name not in e.local), e.statements[0].out)
    for index in first.indices:
        made = dataclasses.replace(e, batch=index, found=True)
        if batch_may_be(made):
            return made

    return e


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
            wrong = OPTION.fullmatch(line.strip())
            if wrong:
                raise ArgumentError(f"tensor expression '{line.strip()}': wanted '{FORMS[wrong.group(1)]}'.")
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

    if line == "free":
        script["free"] = True
        return True

    header = HEADER.fullmatch(line)
    if header and "=" not in line:
        script["headers"] += (header.group(1),)
        return True

    extents = EXTENT.fullmatch(line)
    if extents:
        for names, told in re.findall(f"({NAMES})({ranges.RANGE})", extents.group(1)):
            allowed = ranges.read(told)
            if not allowed:
                raise ArgumentError(f"tensor expression '{line}': extents {told}, wanted 1 or more, and in order.")
            script["extents"] |= dict.fromkeys(re.findall(r"\w+", names), allowed)

    return bool(extents)


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
