"""A record of arguments: a C structure and its NumPy twin, every member of 8 bytes, from one list of names."""

from __future__ import annotations

import functools
import math
import struct

import numpy as np

KINDS = {  # of a member: the module struct's letter, C's type
    "address": ("q", "void *"),
    "real": ("d", "double "),
    "whole": ("q", "long "),
}


def _parts(members: str):
    """(name, letter, C's type, shape) of each member."""
    for word in members.split():
        name, kind, *count = word.split(":")
        yield name, *KINDS[kind], tuple(map(int, count))


@functools.cache
def layout(members: str) -> np.dtype:
    """NumPy's type of a record. members: words `name:kind` or `name:kind:count`, in the structure's order."""
    return np.dtype([(name, letter, shape) for name, letter, _, shape in _parts(members)])


@functools.cache
def packer(members: str) -> struct.Struct:
    """Writes all members of a record at once: packer(members).pack_into(record.view(np.uint8), 0, *values)."""
    return struct.Struct("".join(letter * math.prod(shape) for _, letter, _, shape in _parts(members)))


def structure(name: str, members: str, types: dict[str, str] | None = None) -> str:
    """The same in C. types: of those addresses that are not `void *`."""
    lines = [
        f"    {(types or {}).get(member, kind)}{member}{''.join(f'[{n}]' for n in shape)};"
        for member, _, kind, shape in _parts(members)
    ]
    return "\n".join([f"struct {name} {{", *lines, "};", ""])


def record(members: str, **values) -> np.ndarray:
    """An array of one structure with these values, the others 0."""
    made = np.zeros(1, layout(members))
    for name, value in values.items():
        made[name] = value
    return made
