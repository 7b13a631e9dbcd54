"""Explains a compiler's error in the body of a kernel: kernel, line, likely cause, in the words of the kernel language.

The explanation stands before the text of the compiler.
"""

from __future__ import annotations

import re

from .base import Source

# A message, and the types of which NVRTC's line behind it speaks
_ERROR = re.compile(r"error\s*(?:#\S+)?: (.*)((?:\n +(?:operand|argument) types are.*)?)")
_SHOWN = re.compile(r"(?m)^ *\d* \|.*$")
_CRASH = re.compile(r"signal terminated program|internal compiler error: Segmentation fault")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_FUNCTION = re.compile(r"\bPOINT_FN\s+[\w:<> ]+?[ &*](\w+)\s*\(")
# Pattern in the compiler's message: likely cause. The first that fits counts.
_CAUSES = {
    r"No such file|cannot open": "a header that does not lie beside this one",
    r"Kokkos|\bKOKKOS_|\b(parallel_(for|reduce|scan)|Team(Thread|Vector)Range|ThreadVectorRange|Per(Team|Thread))\b": (
        "a name of Kokkos: docs/howto/kokkos.md has it with its name here"
    ),
    r"no match for call to .*<lambda|function (template )?.?lambda .* (cannot be called|matches)|over_range|"
    r"ha(s|ve) class type but it has type": (
        "a loop over team.each(n), team.vector(n) or member.vector(n), whose function takes an index, `auto i` or "
        "`long i`, behind it what a reduce or a scan adds to, `auto &s`, and behind that `bool last` in a scan"
    ),
    r"Scatter(Element|InBlock)?<": "an array marked :scatter is only added to, m.h(k) += x, by any thread: it is "
    "neither read nor assigned, and needs no atomic",
    r"no match for call to .*Scratch<|call of an object of a class type": "scratch is had by a team or a member: const "
    "auto b = team.scratch(m.b)",
    r"\batomic_\w+": "an atomic changes an element of an array in `writes`, atomic_add(m.h(k), x); inputs are const",
    r"ScannedPack<": "the sum of a scan is one number for each lane of a pack: m.v(i) = s, Real<I> x = s, or a body "
    "that takes `long i`",
    r"Accumulator<": "a result takes values, best.join(x), or sum += x if it is a sum, and is neither read nor "
    "assigned",
    r"redeclared|redefinition|redefined|conflicting declaration": "a name that the layer's headers have, too: take "
    "another one",
    r"vmask|two_masks": "a condition differs from point to point: write select(condition, a, b), or any_of(condition) "
    "for what all points may do together",
    r"operator ?[\"'‘]?\[|subscripted|pointer-to-object": "an index for a quantity that has one value at a point; an "
    "element of an array of a team kernel is m.v(i)",
    r"(Team|Member)<.* no member|no member .*(Team|Member)<": "a name that teams do not have: docs/howto/kokkos.md has "
    "those of Kokkos with their names here",
    r"operands_\w+\W* has no member|no member .*operands_": "an array or a number that the declaration does not name",
    r"operator=\W+\(operand types are .const (Whole|Packed)<": "an input is written (inputs are const)",
    r"\b(Lanes|Whole|Packed)<": "on a CPU an index, and whole numbers read at it, may be packs: each_lane(i, f) calls "
    "f for each single index; a body or a function that takes `long i` has them, too",
    r"no member .*\bset\b|to assign|discards qualifiers|assignment of read-only|modifiable|operator ?\"?=[\"’' ]": "an "
    "input is written (inputs are const), or `out[s] = x` stands where out.set(s, x) should",
    r"Mixture.* no member|no member .* in .Mixture": "a constant that `constants=` of the declaration does not name",
    r"matching function|overloaded function|namespace .std.|not a member of .std.": "a function that does not take the "
    "number type R: docs/howto/kernel_language.md lists those that do, such as pow, min, max, fabs, all "
    "without std::",
    r"no match for .operator|no operator|invalid operands": "an operator that the number type does not have: it has "
    "+ - * / < > <= >= and && || ! between conditions",
    r"convert|conversion|invalid cast": "a value of the number type R where a plain number is wanted: declare it as R, "
    "in a team kernel as Real<I>",
    r"not declared|undefined|undeclared": "a name that is not known here: a misspelt function, variable or constant",
    r"expected": "a slip in C++ on this line or at the end of the one before, such as a missing `;`",
}


def cause(source: Source, text: str) -> str:
    """A line or two about the first error in the compiler's text; "" if the error is in no body of a kernel, and the
    compiler's own."""
    text = re.sub(r"at line (\d+) of (.+)", r"\n\2:\1", text)  # NVRTC's form of a place in an including file
    if _CRASH.search(text):
        return "the compiler itself ended: it may lack memory, or stack (ulimit -s).\n"

    error = _ERROR.search(text)
    if not error or not source.bodies:
        return ""

    # Places `header:line` (g++, clang) and `header(line)` (NVRTC) of the headers with bodies.
    headers = {str(header): header for _, header, _ in source.bodies}
    place = re.compile(rf"({'|'.join(map(re.escape, headers))})[:(](\d+)")
    start = text.rfind("\n", 0, error.start()) + 1
    in_header = place.match(text, start)

    # Text of a declaration that stands in the source itself: the error is there, or in a header that it led to.
    following = _ERROR.search(text, error.end())
    piece = "" if in_header else _piece(source, text[: following.start() if following else len(text)])
    if piece:
        return f"{piece}: {error[1].strip()}.{_likely(error[1] + error[2])}\n"

    # A call in a body, which g++ names ahead of an error in what is called.
    inside = re.search(rf"{place.pattern}(?=:\d+:\s+required from)", text[:start])

    # The error is in the call of a body, outside the header: the arguments do not match the declaration.
    called = _called(source, _outside_of_assertions(error[1])) or _called(source, _shown_call(text[error.start() :]))
    if called and not in_header and not inside:
        return _not_as_declared(*called)

    # The line in a header: of the error itself, else of the instantiation that led to it.
    found = in_header or inside or place.search(text, start) or place.search(text)
    if not found:
        return _without_line(source, text, error)

    path, line = found[1], int(found[2])

    kernel = _named_by_compiler(source, text) or _above(source, headers[path], line)
    return f"kernel '{kernel}' ({headers[path].name}, line {line}): {error[1].strip()}.{_likely(error[1] + error[2])}\n"


def _without_line(source: Source, text: str, error: re.Match) -> str:
    """About a body of teams of which the compiler names no line, as NVRTC does in what a lambda calls."""
    lines = [int(line) for line in re.findall(r"\.(?:cpp:|cu[:(])(\d+)", text)]
    above = "\n".join(source.text.splitlines()[: max(lines, default=0)])
    kernels = re.findall(r"\bKERNEL\(run_(\w+),", above)
    if not kernels:
        return ""
    likely = _likely(error[1] + error[2])
    place = f"kernel '{kernels[-1]}' ({source.bodies[0][1].name})"
    return f"{place}: {error[1].strip()}.{likely} Bound for a CPU, it is told with its line.\n"


def _not_as_declared(name: str, header, arguments: str) -> str:
    """The message if a body takes other arguments than its declaration says, with its line, or if it is missing."""
    text = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), header.read_text(errors="replace"))
    found = re.search(rf"\b{name}\s*\(", text)
    if not found and "#include" not in text:
        there = ", ".join(dict.fromkeys(_FUNCTION.findall(text))) or "none"
        return f"kernel '{name}': {header.name} has no body of this name; functions there: {there}.\n"

    place = f" ({header.name}, line {text.count(chr(10), 0, found.start()) + 1})" if found else ""
    return (
        f"kernel '{name}'{place}: its body does not take what the declaration says: it {arguments}, in this order, "
        "after the constants `const M &m`; inputs are const.\n"
    )


def _called(source: Source, text: str) -> tuple | None:
    """The first body that a text names."""
    return next((body for body in source.bodies if re.search(rf"\b{body[0]}\b", text)), None)


def _outside_of_assertions(message: str) -> str:
    """A compiler's message; "" of a static assertion, whose words are a sentence and name no body."""
    return "" if re.match("static.assert", message) else message


def _shown_call(text: str) -> str:
    """The call `NAME(m, ...)` that a compiler shows of the source, where it is no call: BODY_CALL(NAME(m, ...))."""
    found = re.search(r"(?s)no match for call to.*?(?:BODY|ASKED)_CALL\((\w+)\(", text)
    return found[1] if found else ""


def _named_by_compiler(source: Source, text: str) -> str:
    """The kernel whose body the compiler names first ('In instantiation of void name(...)'); "" if it names none. Lines
    of the header that it shows, `   12 | void name(...`, do not count: warnings about other bodies have them, too."""
    text = _SHOWN.sub("", text)
    first, kernel = len(text), ""
    for name, *_ in source.bodies:
        at = text.find(f"void {name}(")
        if 0 <= at < first:
            first, kernel = at, name

    return kernel


def _above(source: Source, header, line: int) -> str:
    """The kernel whose body begins last at or above a line of a header."""
    before = "\n".join(header.read_text().splitlines()[:line])
    bodies = [(before.rfind(f" {name}("), name) for name, other, _ in source.bodies if str(other) == str(header)]
    return max(bodies)[1]


def _likely(message: str) -> str:
    """The likely cause of a compiler's message, as a sentence with a blank before it; "" if no cause is known."""
    for pattern, reason in _CAUSES.items():
        if re.search(pattern, message):
            return f" Likely: {reason}."
    return ""


def _piece(source: Source, text: str) -> str:
    """The place where people wrote the first line that the compiler names: "equation 'rk', text of its
    alpha, line 2"; "" if it names none. text: the compiler's, up to the second error."""
    for at_line in re.finditer(r"\.(?:cpp:|cu[:(])(\d+)", text):
        line = int(at_line[1])
        for where, piece in source.pieces:
            first = source.text[: source.text.find(piece)].count("\n") + 1
            last = first + piece.count("\n")
            if first <= line <= last + 1:  # a missing `;` at the end is reported on the line behind
                return f"{where}, line {min(line, last) - first + 1}"

    return ""
