"""numpy.einsum's grammar: strings such as "...ij,jk->...ik", and arrays with lists of indices in turns.

A string is read in two steps. `read` takes it apart; an ellipsis stays. `spread` puts names in the ellipsis' place,
once the operands' dimensions are known. `extents` then finds one extent for each index; 1 is broadcast.
"""

from __future__ import annotations

import functools
import operator
import re
import string
from typing import NamedTuple

from ..engine.errors import ArgumentError

ELLIPSIS = "..."
KINDS = frozenset((int, type(Ellipsis)))  # of a list's indices, as they usually come
LETTERS = string.ascii_letters  # of NumPy's strings
NAME = "ellipsis"  # of the indices of an ellipsis, the last one is ellipsis0


class Subscripts(NamedTuple):
    """Indices of the operands and of the result, the slowest first. ELLIPSIS may be one of them."""

    operands: tuple[tuple[str, ...], ...]
    out: tuple[str, ...]
    text: str  # for messages

    @property
    def names(self) -> list[str]:
        """Names of the operands in messages."""
        return [f"operand{k}" for k in range(len(self.operands))]

    @property
    def has_ellipsis(self) -> bool:
        return any(ELLIPSIS in part for part in (*self.operands, self.out))

    def error(self, why: str) -> ArgumentError:
        return ArgumentError(f"einsum string '{self.text}': {why}.")

    def __str__(self):
        parts = [f"{name}[{' '.join(own)}]" for name, own in zip(self.names, self.operands)]
        return f"out[{' '.join(self.out)}] = {' '.join(parts)}"


@functools.lru_cache(256)
def is_string(text: str) -> bool:
    """Whether it is a string of numpy.einsum, and no statement."""
    bare = re.sub(r"#[^\n]*", "", text).strip()
    return "->" in bare or re.fullmatch(r"[A-Za-z.,\s]+", bare) is not None


@functools.lru_cache(256)
def read(text: str) -> Subscripts:
    """The indices of a string. Raises ArgumentError, which names the part that cannot be read."""
    left, arrow, right = text.partition("->")
    shown = Subscripts((), (), text.strip())

    operands = tuple(_indices(part, shown) for part in left.split(","))
    out = _indices(right, shown) if arrow else _implicit(operands, sorted)
    return _checked(Subscripts(operands, out, text.strip()))


def _indices(part: str, shown: Subscripts) -> tuple[str, ...]:
    """Indices of one operand: letters, and at most one ellipsis."""
    part = "".join(part.split())
    before, dots, after = part.partition(ELLIPSIS)

    for letter in before + after:
        if letter == ".":
            raise shown.error(f"'{part}' has a '.' that is not part of an ellipsis '...', or two ellipses")
        if not letter.isalpha():
            raise shown.error(f"'{part}', wanted letters")

    return (*before, ELLIPSIS, *after) if dots else tuple(before)


def _implicit(operands, ordered) -> tuple[str, ...]:
    """Indices of a result that is not written: the ellipsis, then what stands once, in the order of the alphabet."""
    everything = [i for own in operands for i in own]
    once = ordered(i for i in set(everything) if i != ELLIPSIS and everything.count(i) == 1)
    return (ELLIPSIS, *once) if ELLIPSIS in everything else tuple(once)


def _checked(s: Subscripts) -> Subscripts:
    """Raises ArgumentError for a result that no operand has, or that has an index twice."""
    for index in s.out:
        if s.out.count(index) > 1:
            raise s.error(f"index '{index}' stands twice in the result")
        if index != ELLIPSIS and not any(index in own for own in s.operands):
            raise s.error(f"index '{index}' of the result is in no operand")
    return s


# ---- arrays and lists in turns --------------------------------------------------------------------------------------


def interleaved(given) -> tuple[Subscripts, tuple]:
    """(subscripts, operands) of einsum(a, [0, 1], b, [1, 2], [0, 2]). The last list, of the result, may be left out.

    Indices are whole numbers of 0 or more, or Ellipsis. Raises ArgumentError.
    """
    has_result = len(given) % 2 == 1
    pairs = given[: len(given) - has_result]
    if not pairs:
        raise ArgumentError("einsum: wanted a string and its operands, or arrays and lists of indices in turns.")

    lists = [_listed(own, f"operand{k}") for k, own in enumerate(pairs[1::2])]
    out = _listed(given[-1], "the result") if has_result else _implicit(lists, _by_number)
    text = ", ".join(f"[{' '.join(own)}]" for own in lists)
    return _checked(Subscripts(tuple(lists), out, text)), pairs[::2]


def in_letters(given) -> tuple | None:
    """(string, operands) of arrays and lists of indices in turns; None: they cannot be read, or have more indices than
    the alphabet has letters."""
    end = len(given) // 2 * 2
    try:
        lists = tuple([_numbered(own) for own in (*given[1:end:2], *given[end:])])
    except (TypeError, ArgumentError):
        return None
    text = _lettered(lists, len(given) > end)
    return (text, *given[:end:2]) if text else None


def _numbered(own) -> tuple:
    """Numbers of a list's indices, and Ellipsis. Raises ArgumentError: 1.0 and True are not taken for 1."""
    found = tuple(own)
    if KINDS.issuperset(map(type, found)):
        return found
    return tuple([Ellipsis if name == ELLIPSIS else int(name[1:]) for name in _listed(own, "an operand")])


@functools.lru_cache(256)
def _lettered(lists, has_result: bool) -> str | None:
    """The string of lists of indices; None: there is none. has_result: the last list is the result's."""
    operands = lists[:-1] if has_result else lists
    given = [part for own in operands for part in (None, own)]
    try:
        s, _ = interleaved((*given, *lists[len(operands) :]))
    except ArgumentError:
        return None

    numbers = _by_number({i for own in (*s.operands, s.out) for i in own if i != ELLIPSIS})
    if len(numbers) > len(LETTERS):
        return None
    letters = {ELLIPSIS: ELLIPSIS, **dict(zip(numbers, LETTERS))}
    parts = ["".join(letters[i] for i in own) for own in (*s.operands, s.out)]
    return f"{','.join(parts[:-1])}->{parts[-1]}"


def _by_number(names) -> list[str]:
    """Names i0, i1, i10 in the order of their numbers."""
    return sorted(names, key=lambda name: int(name[1:]))


def _listed(own, whose: str) -> tuple[str, ...]:
    """Names of a list's indices. Raises ArgumentError."""
    if isinstance(own, str | bytes) or not hasattr(own, "__iter__"):
        raise ArgumentError(f"einsum: the indices of {whose} are {type(own).__name__}, wanted a list.")
    if len(getattr(own, "shape", (0,))) != 1:
        raise ArgumentError(f"einsum: the indices of {whose} are an array of shape {own.shape}, wanted a list.")

    found: list[str] = []
    for index in own:
        if index is Ellipsis:
            found.append(ELLIPSIS)
        elif _is_number(index):
            found.append(f"i{int(index)}")
        else:
            raise ArgumentError(f"einsum: index {index!r} of {whose}, wanted a whole number of 0 or more, or Ellipsis.")

    if found.count(ELLIPSIS) > 1:
        raise ArgumentError(f"einsum: the indices of {whose} have two ellipses.")
    return tuple(found)


def _is_number(index) -> bool:
    """Whether it is a whole number of 0 or more. Arrays have `__index__`, too."""
    is_array = len(getattr(index, "shape", "")) > 0
    if isinstance(index, bool) or is_array or not hasattr(index, "__index__"):
        return False
    try:
        return operator.index(index) >= 0
    except TypeError:
        return False


# ---- dimensions -----------------------------------------------------------------------------------------------------


def spread(s: Subscripts, shapes) -> Subscripts:
    """The subscripts with names in the place of ellipses, which are aligned at their last dimension.

    shapes: of the operands. Raises ArgumentError for a wrong number of operands or of dimensions.
    """
    if len(shapes) != len(s.operands):
        raise ArgumentError(f"'{s.text}': {len(shapes)} arrays in order, wanted {len(s.operands)}.")

    operands, most = [], 0
    for name, own, shape in zip(s.names, s.operands, shapes):
        free = len(shape) - sum(i != ELLIPSIS for i in own)
        if free < 0 or (free and ELLIPSIS not in own):
            raise ArgumentError(_wrong_rank(name, own, tuple(shape)))
        operands.append(_replaced(own, free))
        most = max(most, free)

    if most and ELLIPSIS not in s.out:
        raise s.error(f"the ellipsis has {most} dimensions, which the result lacks: write '...' there, or name them")
    return _checked(Subscripts(tuple(operands), _replaced(s.out, most), s.text))


def _wrong_rank(name: str, own, shape) -> str:
    wanted = sum(i != ELLIPSIS for i in own)
    more = " or more" if ELLIPSIS in own else ""
    return f"array '{name}': {len(shape)} dimensions {shape}, wanted {wanted}{more}: {name}[{' '.join(own)}]."


def _replaced(own, free: int) -> tuple[str, ...]:
    """Indices with `free` names for the ellipsis, the last one is ellipsis0."""
    found: list[str] = []
    for index in own:
        if index == ELLIPSIS:
            found += [f"{NAME}{k}" for k in reversed(range(free))]
        else:
            found.append(index)

    return tuple(found)


def extents(s: Subscripts, shapes) -> dict[str, int]:
    """The extent of each index. An extent of 1 is broadcast to another array's. Raises ArgumentError where two differ.

    An index that stands twice in an array has the same extent in both places, as in NumPy.
    """
    found: dict[str, tuple[int, str]] = {}
    for name, own, shape in zip(s.names, s.operands, shapes):
        inside: dict[str, int] = {}
        for index, extent in zip(own, shape):
            if inside.setdefault(index, extent) != extent:
                raise ArgumentError(
                    f"array '{name}', index '{index}': extents {inside[index]} and {extent}, wanted equal ones."
                )

            known, other = found.setdefault(index, (extent, name))
            if known == 1:
                found[index] = extent, name
            elif extent not in (1, known):
                raise ArgumentError(
                    f"array '{name}', index '{index}': extent {extent}, wanted {known} as '{other}' has it."
                )

    return {index: extent for index, (extent, _) in found.items()}


def resolved(text: str, sizes: dict) -> tuple[str, dict]:
    """(text, sizes) with names in the place of an ellipsis, whose extents are sizes["..."]. Raises ArgumentError."""
    if ELLIPSIS not in sizes:
        return text, sizes
    if not is_string(text) or not read(text).has_ellipsis:
        raise ArgumentError(f"'{text}' has no ellipsis, but sizes['...'] is {sizes[ELLIPSIS]}.")

    extents_ = tuple(sizes.pop(ELLIPSIS))
    s = read(text)
    free = len(extents_)
    operands = tuple(_replaced(own, free) for own in s.operands)
    named = Subscripts(operands, _replaced(s.out, free), s.text)
    names = _replaced((ELLIPSIS,), free)
    return str(named), sizes | dict(zip(names, extents_))
