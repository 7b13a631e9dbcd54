"""Files of TCR, the tensor language between Barracuda's two halves (Nelson et al. 2015, Figure 2).

    ex
    access: linearize
    define:
    N = M = I = 10
    L = 4..12
    variables:
    C: (N, I)
    U: (L, M, N)
    T: (I, L, M)
    operations:
    T: (i, l, m) += C: (n, i) * U: (l, m, n)

`statements` rewrites a file as a text of this layer. An array that a later operation reads is a temporary: it starts at
zero and is never stored. `access: linearize` means rows one after the other, the last index fastest. An extent is a
number or a range. Entries of a section end with their line or with `;`, an operation where the next one begins.
Comments begin with `#` or `//`.

Barracuda's other language, of its front end, needs no rewriting: `V[i j k] += Sum([l m n], A[l k] * B[m j])` is a
statement here.
"""

from __future__ import annotations

import re

from ..engine.errors import ArgumentError, closest
from . import ranges
from .ranges import shown

SECTIONS = ("access", "define", "variables", "operations")
HEAD = re.compile(rf"\s*({'|'.join(SECTIONS)})\s*:(.*)", re.IGNORECASE)
REFERENCE = re.compile(r"([A-Za-z_]\w*)\s*:\s*\(([^()]*)\)")
OPERATION = re.compile(rf"{REFERENCE.pattern}\s*[-+]?=")  # how one begins


def is_file(text: str) -> bool:
    """Whether a text is a file of TCR: it has one of its sections."""
    return any(HEAD.fullmatch(line) for line in text.splitlines())


def statements(text: str) -> str:
    """A file as statements, with lines `local` and `extent`. Raises ArgumentError that names the line or the array."""
    sections = _sections(text)
    access = sections["access"].strip(" ;\n") or "linearize"
    if access != "linearize":
        raise _error(f"access '{access}', wanted linearize")

    variables = _variables(sections["variables"], _defined(sections["define"]))
    extents: dict[str, range] = {}
    lines: list[str] = []
    written: list[str] = []
    read: set[str] = set()

    for operation in _operations(sections["operations"]):
        _add_extents(operation, variables, extents)
        name, *factors = [found.group(1) for found in REFERENCE.finditer(operation)]
        read |= set(factors) & set(written)
        written.append(name)
        lines.append(REFERENCE.sub(_reference, operation))

    kept = [_from_zero(line, name, written[:k], read) for k, (line, name) in enumerate(zip(lines, written))]
    if read:
        kept.append(f"local {' '.join(dict.fromkeys(name for name in written if name in read))}")
    if extents:
        kept.append(f"extent {' '.join(f'{index}={shown(extent)}' for index, extent in extents.items())}")
    return "\n".join(kept)


def _error(why: str) -> ArgumentError:
    return ArgumentError(f"TCR file: {why}.")


def _sections(text: str) -> dict[str, str]:
    """The text of each section, without comments. The line before the first section is the program's name."""
    found: dict[str, list[str]] = {name: [] for name in SECTIONS}
    section = ""

    for line in re.sub(r"(#|//)[^\n]*", "", text).splitlines():
        head = HEAD.fullmatch(line)
        if head:
            section, line = head.group(1).lower(), head.group(2)
        elif re.fullmatch(r"\s*\w+\s*:\s*(\w*)\s*", line):
            word = line.split(":")[0].strip()
            raise _error(f"section '{word}', wanted {', '.join(SECTIONS)}{closest(word, SECTIONS)}")

        if section:
            found[section].append(line.strip())

    return {name: "\n".join(lines) for name, lines in found.items()}


def _defined(text: str) -> dict[str, range]:
    """Extents by name, of entries such as N = M = 10."""
    found: dict[str, range] = {}
    for entry in filter(None, (part.strip() for part in re.split(r"[\n;,]", text))):
        *names, value = [word.strip() for word in entry.split("=")]
        extent = found.get(value) or _extent(value)
        if not names or not all(name.isidentifier() for name in names) or not extent:
            raise _error(f"'{entry}', wanted NAME = NAME = NUMBER, or a range such as 4..12")

        for name in names:
            if found.setdefault(name, extent) != extent:
                raise _error(f"'{name}' is defined as {shown(found[name])} and as {shown(extent)}")

    return found


def _extent(text: str) -> range | None:
    """10, or 4..12; None if it is neither. Raises ArgumentError."""
    found = ranges.read(text)
    if found is not None and not found:
        raise _error(f"extents {text}, wanted 1 or more, and in order")
    return found


def _variables(text: str, defined: dict[str, range]) -> dict[str, list[range]]:
    """Extents of each array."""
    found: dict[str, list[range]] = {}
    for match in REFERENCE.finditer(text):
        name, extents = match.group(1), []
        for word in _split(match.group(2)):
            extent = defined.get(word) or _extent(word)
            if not extent:
                raise _error(f"variable '{name}': '{word}' is not defined{closest(word, defined)}")
            extents.append(extent)

        if found.setdefault(name, extents) != extents:
            raise _error(f"variable '{name}' is there twice, with different extents")

    rest = re.sub(r"[;,]", " ", REFERENCE.sub(" ", text)).strip()
    if rest:
        raise _error(f"variable '{rest}', wanted NAME: (N, M)")
    return found


def _operations(text: str) -> list[str]:
    """The operations, each on one line. One ends where the next begins."""
    begins = [match.start() for match in OPERATION.finditer(text)]
    if not text.strip():
        raise _error("there are no operations")
    if not begins or text[: begins[0]].strip(" ;\n"):
        raise _error(f"operation '{text.strip().splitlines()[0]}', wanted NAME: (i, j) += ...")

    found = []
    for begin, end in zip(begins, [*begins[1:], len(text)]):
        operation = " ".join(text[begin:end].split()).rstrip(" ;")
        word = re.search(r"[A-Za-z_]\w*", REFERENCE.sub(" ", operation))
        if word:
            raise _error(f"'{word.group()}' in '{operation}', wanted NAME: (i, j)")
        found.append(operation)

    return found


def _add_extents(operation: str, variables, extents: dict[str, range]) -> None:
    """Extents of an operation's indices, from the shapes of the variables."""
    for match in REFERENCE.finditer(operation):
        name, indices = match.group(1), _split(match.group(2))
        if name not in variables:
            raise _error(f"'{name}' is not among the variables{closest(name, variables)}")
        if len(indices) != len(variables[name]):
            raise _error(f"'{name}' has {len(indices)} indices in '{operation}', wanted {len(variables[name])}")

        for index, extent in zip(indices, variables[name]):
            if extents.setdefault(index, extent) != extent:
                raise _error(f"array '{name}', index '{index}': extent {shown(extent)}, wanted {shown(extents[index])}")


def _split(text: str) -> list[str]:
    """Words between commas or blanks; 4 .. 12 is one."""
    return re.sub(r"\s*\.\.\s*", "..", text).replace(",", " ").split()


def _reference(match) -> str:
    """A: (i, j) as A[i j]."""
    return f"{match.group(1)}[{' '.join(_split(match.group(2)))}]"


def _from_zero(line: str, name: str, before, read) -> str:
    """The operation that first adds to a temporary sets it."""
    if name in read and name not in before:
        return line.replace("+=", "=", 1)
    return line
