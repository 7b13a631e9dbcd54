"""A record of arguments: a C structure and its NumPy twin, every member of 8 bytes, from one list of names."""

from __future__ import annotations

import functools
import struct

import numpy as np

KINDS = {  # of a member: NumPy's type, C's
    "address": (np.int64, "void *"),
    "real": (np.float64, "double "),
    "whole": (np.int64, "long "),
}


@functools.cache
def layout(members: str) -> np.dtype:
    """NumPy's type of a record. members: words `name:kind` or `name:kind:count`, in the structure's order."""
    fields = []
    for word in members.split():
        name, kind, *count = word.split(":")
        fields.append((name, KINDS[kind][0], *((int(count[0]),) if count else ())))
    return np.dtype(fields)


@functools.cache
def packer(members: str) -> struct.Struct:
    """Writes all members of a record at once: packer(members).pack_into(record.view(np.uint8), 0, *values)."""
    return struct.Struct("".join(("d" if base == np.float64 else "q") * n for base, n in _bases(layout(members))))


def _bases(kind: np.dtype):
    for name in kind.names or ():
        base, shape = kind[name].base, kind[name].shape
        yield base, int(np.prod(shape)) if shape else 1


def structure(name: str, members: str, types: dict[str, str] | None = None) -> str:
    """The same in C. types: of those addresses that are not `void *`."""
    lines = []
    for word in members.split():
        member, kind, *count = word.split(":")
        lines.append(f"    {(types or {}).get(member, KINDS[kind][1])}{member}{f'[{count[0]}]' if count else ''};")
    return "\n".join([f"struct {name} {{", *lines, "};", ""])


def record(members: str, **values) -> np.ndarray:
    """An array of one structure with these values, the others 0."""
    made = np.zeros(1, layout(members))
    for name, value in values.items():
        made[name] = value
    return made
