"""Texts of tensor expressions and their extents, as commands take them."""

from __future__ import annotations

from kernels.contractions import barracuda, einsum, intrepid, named, ranges, text as language

from ..errors import ArgumentError, closest


def text_of(given: str) -> tuple[str, dict]:
    """(text, options of Contraction) of a text, a name or a file. Raises ArgumentError for what is none."""
    if given in named.TEXTS:
        return named.TEXTS[given].text, named.TEXTS[given].options
    if given in intrepid.NAMES:
        return intrepid.text(given, {}, False), {}

    found = language.of_file(given)
    if found is not None:
        return (barracuda.statements(found) if barracuda.is_file(found) else found), {}
    if einsum.is_string(given) or any(mark in given for mark in language.MARKS_OF_A_TEXT):
        return given, {}

    names = [*named.TEXTS, *intrepid.NAMES]
    raise ArgumentError(
        f"'{given}' is no text, no file, and no name{closest(given, names)}; names: {', '.join(names[:7])}, "
        f"s1_1 to d2_9, {', '.join(intrepid.NAMES)}."
    )


def ranges_of(text: str) -> dict[str, range]:
    """Extents from "i=12,j=8..12", or "12" for every index (under the name ""). Raises ArgumentError."""
    found: dict[str, range] = {}
    for part in text.split(","):
        name, equals, value = part.rpartition("=")
        allowed = ranges.read(value.strip())
        if not allowed or bool(equals) != bool(name.strip()):
            raise ArgumentError(
                f"extents '{text}': '{part}', wanted such as i=12, i=8..12, or 12 for every index; 1 or more."
            )
        found[name.strip()] = allowed
    return found


def sizes_of(text: str) -> dict[str, int]:
    """Extents as of `ranges_of`, where each is one number. Raises ArgumentError."""
    found = {}
    for name, allowed in ranges_of(text).items():
        if len(allowed) > 1:
            raise ArgumentError(f"extents '{text}': {ranges.shown(allowed)}, wanted one number.")
        found[name] = allowed[0]
    return found


def top(script, told: str) -> dict[str, int]:
    """Extents of a text: the command's, else the text's; of a range there its upper end. Raises ArgumentError."""
    sizes = {index: allowed[-1] for index, allowed in script.extents.items()}
    given = sizes_of(told) if told else {}
    every = given.pop("", 0)
    missing = [i for i in script.expression.indices if every and i not in sizes and i != script.expression.batch]
    return extents_of(script.expression, {**sizes, **dict.fromkeys(missing, every), **given})


def extents_of(e, told: dict[str, int]) -> dict[str, int]:
    """Extents of the indices. The batch has an extent only if it is given by its name. Raises ArgumentError."""
    sizes = dict(told)
    every = sizes.pop("", 0)
    unknown = sorted(set(sizes) - set(e.indices))
    if unknown:
        raise ArgumentError(f"extent of {unknown[0]}: no such index; the text has {', '.join(e.indices)}.")
    found = {i: sizes.get(i, 0 if i == e.batch else every) for i in e.indices}
    lacking = [i for i, x in found.items() if not x and i != e.batch]
    if lacking:
        raise ArgumentError(f"the extent of index '{lacking[0]}' is not told; the text has {', '.join(e.indices)}.")
    return {i: x for i, x in found.items() if x}
