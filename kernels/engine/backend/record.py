"""A record of arguments: a C structure and the NumPy type with the same layout, from a list of members of 8 bytes."""

from __future__ import annotations

import functools
import math
import struct

import numpy as np

# Kind of a member: letter of Python's module struct, type in C.
KINDS = {
    "address": ("q", "void *"),
    "real": ("d", "double "),
    "whole": ("q", "long "),
}


def _parts(members: str):
    """Yields (name, letter, type in C, shape) for each member."""
    for word in members.split():
        name, kind, *count = word.split(":")
        letter, c_type = KINDS[kind]
        yield name, letter, c_type, tuple(map(int, count))


@functools.cache
def layout(members: str) -> np.dtype:
    """NumPy type of a record. members: words `name:kind` or `name:kind:count`, in the order of the structure."""
    return np.dtype([(name, letter, shape) for name, letter, _, shape in _parts(members)])


@functools.cache
def packer(members: str) -> struct.Struct:
    """Writes all members of a record at once: packer(members).pack_into(record.view(np.uint8), 0, *values)."""
    letters = ""
    for _, letter, _, shape in _parts(members):
        letters += letter * math.prod(shape)
    return struct.Struct(letters)


def structure(name: str, members: str, types: dict[str, str] | None = None) -> str:
    """The structure in C. types: {member: type} for addresses that are not `void *`."""
    types = types or {}

    lines = [f"struct {name} {{"]
    for member, _, c_type, shape in _parts(members):
        extents = "".join(f"[{n}]" for n in shape)
        lines.append(f"    {types.get(member, c_type)}{member}{extents};")

    return "\n".join([*lines, "};", ""])


def record(members: str, **values) -> np.ndarray:
    """An array (1,) of the structure with these values; the other members are 0."""
    array = np.zeros(1, layout(members))
    for name, value in values.items():
        array[name] = value
    return array
