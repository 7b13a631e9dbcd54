"""Files of TCR, the tensor language between Barracuda's two halves (Nelson et al. 2015, Figure 2).

    ex
    access: linearize
    define:
    N = M = I = L = 10
    variables:
    C: (N, I)
    U: (L, M, N)
    T: (I, L, M)
    operations:
    T: (i, l, m) += C: (n, i) * U: (l, m, n)

`statements` rewrites a file as a text of this layer. An array that a later operation reads is a temporary: it starts at
zero and is never stored. `access: linearize` means rows one after the other, the last index fastest. Barracuda's other
language, of its front end, needs no rewriting: `V[i j k] += Sum([l m n], A[l k] * B[m j])` is a statement here.
"""

from __future__ import annotations

import re

from ..engine.errors import ArgumentError, closest

SECTIONS = ("access", "define", "variables", "operations")
REFERENCE = re.compile(r"([A-Za-z_]\w*)\s*:\s*\(([^()]*)\)")


def is_file(text: str) -> bool:
    """Whether a text is a file of TCR: it has a section of operations."""
    return re.search(r"^\s*operations\s*:", text, re.MULTILINE) is not None


def statements(text: str) -> str:
    """A file as statements, with lines `local` and `extent`. Raises ArgumentError that names the line or the array."""
    sections = _sections(text)
    access = " ".join(sections["access"]) or "linearize"
    if access != "linearize":
        raise _error(f"access '{access}', wanted linearize")

    defined = _defined(sections["define"])
    variables = _variables(sections["variables"], defined)
    extents: dict[str, int] = {}
    lines: list[str] = []
    written: list[str] = []
    read: set[str] = set()
    for line in sections["operations"]:
        _add_extents(line, variables, extents)
        name = REFERENCE.match(line)
        if not name:
            raise _error(f"operation '{line}', wanted NAME: (i, j) += ...")
        read |= {found.group(1) for found in REFERENCE.finditer(line, name.end())} & set(written)
        written.append(name.group(1))
        lines.append(REFERENCE.sub(_reference, line))

    if not lines:
        raise _error("there are no operations")
    kept = [_from_zero(line, name, written[:k], read) for k, (line, name) in enumerate(zip(lines, written))]
    if read:
        kept.append(f"local {' '.join(dict.fromkeys(name for name in written if name in read))}")
    if extents:
        kept.append(f"extent {' '.join(f'{index}={extent}' for index, extent in extents.items())}")
    return "\n".join(kept)


def _error(why: str) -> ArgumentError:
    return ArgumentError(f"TCR file: {why}.")


def _sections(text: str) -> dict[str, list[str]]:
    """Lines of each section, without comments. The lines before the first section are the program's name."""
    found: dict[str, list[str]] = {name: [] for name in SECTIONS}
    section = ""
    for line in re.sub(r"#[^\n]*", "", text).splitlines():
        head = re.fullmatch(rf"\s*({'|'.join(SECTIONS)})\s*:(.*)", line)
        if head:
            section, line = head.group(1), head.group(2)
        if line.strip() and section:
            found[section].append(line.strip())
    return found


def _defined(lines) -> dict[str, int]:
    """Extents by name, of lines such as N = M = 10."""
    found: dict[str, int] = {}
    for line in lines:
        *names, value = [word.strip() for word in line.split("=")]
        if not names or not all(name.isidentifier() for name in names) or not value.isdecimal():
            raise _error(f"'{line}', wanted NAME = NAME = NUMBER")
        found |= dict.fromkeys(names, int(value))
    return found


def _variables(lines, defined) -> dict[str, tuple[int, ...]]:
    """Extents of each array."""
    found: dict[str, tuple[int, ...]] = {}
    for line in lines:
        match = REFERENCE.fullmatch(line)
        if not match:
            raise _error(f"variable '{line}', wanted NAME: (N, M)")
        words = [word.strip() for word in match.group(2).split(",") if word.strip()]
        for word in words:
            if word not in defined and not word.isdecimal():
                raise _error(f"variable '{match.group(1)}': '{word}' is not defined{closest(word, defined)}")
        found[match.group(1)] = tuple(defined[word] if word in defined else int(word) for word in words)
    return found


def _add_extents(line: str, variables, extents: dict[str, int]) -> None:
    """Extents of an operation's indices, from the shapes of the variables."""
    for match in REFERENCE.finditer(line):
        name, indices = match.group(1), _split(match.group(2))
        if name not in variables:
            raise _error(f"'{name}' is not among the variables{closest(name, variables)}")
        if len(indices) != len(variables[name]):
            raise _error(f"'{name}' has {len(indices)} indices in '{line}', wanted {len(variables[name])}")
        for index, extent in zip(indices, variables[name]):
            if extents.setdefault(index, extent) != extent:
                raise _error(f"array '{name}', index '{index}': extent {extent}, wanted {extents[index]}")


def _split(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _reference(match) -> str:
    """A: (i, j) as A[i j]."""
    return f"{match.group(1)}[{' '.join(_split(match.group(2)))}]"


def _from_zero(line: str, name: str, before, read) -> str:
    """The operation that first adds to a temporary sets it."""
    if name in read and name not in before:
        return line.replace("+=", "=", 1)
    return line
