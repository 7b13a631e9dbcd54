"""A compiler's error in a kernel's body, said in the words of the kernel language: which kernel, which line, the likely
cause. The compiler's own text follows it."""

from __future__ import annotations

import re

from .base import Source

_PLACE = re.compile(r"^\s*\"?([^\s:(\"]+?)(?::(\d+)|\((\d+)\)|\", line (\d+))", re.M)  # g++, clang; NVRTC, twice
_ERROR = re.compile(r"^(.*?)(?:fatal )?error\s*(?:#\d+-D)?: (.*)$", re.M)
_INSIDE = r"(?:const )?(?:vec|two<.*>|twin|quad|point|R)\b"

# (what the compiler says, what is likely wrong), the first that fits
_CAUSES = tuple(
    (re.compile(said, re.S), cause)
    for said, cause in (
        (r"from .?(?:vmask|two_masks)|(?:vmask|two_masks)\S* to .?bool|No match .* bool", "a condition differs from point to "
         "point: write select(condition, a, b), or `if (any_of(condition))` for what all points may do"),
        (r"has no member .?set\b|no member named .?set\b", "an input is written: inputs are const"),
        (r"(?:Mixture\S*.? has no member|no member named|class \"Mixture\" has no member) .?(?:named )?.?\w+", "the constant "
         "is not among `constants=` of the declaration"),
        (r"call to .?(?:std::)?(?:pow|min|max|abs|sin|cos|tan|tanh|atan|log10|floor|ceil|fmin|fmax|isnan)\b|std::"
         r"|function \"(?:std::)?\w+\".*argument types are: \(.*(?:point)", "not every function of C takes the number type R: "
         "KERNEL_LANGUAGE.md lists those that do, such as pow, min, max, fabs, floor_small"),
        (r"discards qualifiers|conflicting types|assignment of read-only|modifiable lvalue|drop.* const|"
         r"qualifiers dropped|cannot bind|not assignable|not compatible|operand types are: const|no viable overloaded '='",
         "an input is written (inputs are const), or `out[s] = x` stands for out.set(s, x)"),
        (r"no match for .?operator\[\]|subscripted value|no operator \"\[\]\"|pointer-to-object type", "a quantity with one "
         "value at a point has no index"),
        (r"to .?(?:double|float|int)\b.? in|cannot convert|no suitable conversion", "a value of the number type R cannot become "
         "a plain number: declare it as R"),
        (r"no match for .?operator|no operator \"", "the number type has + - * / < > <= >= && || !, and no other operator"),
        (r"not declared|undefined|undeclared", "a name that is not known here: a misspelt function, variable or constant"),
    )
)  # fmt: skip


def cause(source: Source, text: str) -> str:
    """One line for the first error in the compiler's text, or "" where it lies in no body of a host's kernel."""
    error = _ERROR.search(text)
    if not error or not source.bodies:
        return ""
    places = [
        (m[1], int(m[2] or m[3] or m[4])) for m in _PLACE.finditer(text[error.start() :] + "\n" + text[: error.start()])
    ]
    named = {str(header): header for _, header, _ in source.bodies}
    # the error's own place, or the first one of a body among those from which the compiler came there
    at = next(((path, line) for path, line in places if path in named), None)
    message = error[2]
    if at is None or places[0][0] not in named and _called(source, message):
        kernel = _called(source, text[error.start() :])
        reading = dict((name, what) for name, _, what in source.bodies).get(kernel)
        return (
            reading
            and f"kernel '{kernel}': its body does not take the arguments of its declaration, which {reading}; "
            "inputs are const. Are they in this order?\n"
        )
    path, line = at
    before = "\n".join(named[path].read_text().splitlines()[:line])
    starts = {name: before.rfind(f" {name}(") for name, header, _ in source.bodies if str(header) == path}
    kernel = max(starts, key=lambda name: starts[name])
    likely = next((said for words, said in _CAUSES if words.search(text[error.start() :][:2000])), "")
    return (
        f"kernel '{kernel}' ({named[path].name}, line {line}): {message}"
        + (f"\n  Likely: {likely}." if likely else "")
        + "\n"
    )


def _called(source: Source, text: str) -> str:
    """The kernel that a message about a call names."""
    return next((name for name, *_ in source.bodies if re.search(rf"\b{name}\b", text.split("\n")[0])), "")
