"""The struct in which the bodies of a launch find the mixture's constants: its C++ text, its bytes."""

from __future__ import annotations

import numpy as np

from ..engine.registry import declared
from .plan import LARGE, Plan

STRUCTURE = "struct HIDDEN alignas(8) Mixture {{\n{sizes}\n{flags}\n{numbers}\n{members}{data}\n}};\n"


def structure(p: Plan) -> str:
    """The struct in C++: sizes, switches and numbers known to the compiler, member functions, data."""
    sizes = [f"    static constexpr int {name} = {value};" for name, value in p.sizes.items()]
    flags = [f"    static constexpr bool {name} = {str(bool(value)).lower()};" for name, value in p.flags.items()]
    numbers = [f"    static constexpr double {name} = {float(value)!r};" for name, value in p.numbers.items()]
    data = [_member(p, name, size) for name, size in p.constants] or ["    scalar unused[1];"]

    return STRUCTURE.format(
        sizes="\n".join(sizes),
        flags="\n".join(flags),
        numbers="\n".join(numbers),
        members=p.members,
        data="\n".join(data),
    )


def _member(p: Plan, name: str, size: int) -> str:
    kind = "float" if p.values[name].dtype == np.float32 else "double"

    if size > LARGE:
        return f"    const {kind} *{name};"
    known = declared.constants.declared.get(name)
    if known is not None and known.count is None:
        return f"    {kind} {name};"
    return f"    {kind} {name}[{size}];"


def structure_size(p: Plan) -> int:
    """Size of the struct, in units of 8 bytes."""
    sizes = [value.nbytes if value.size <= LARGE else 8 for value in p.values.values()]
    return max(-(-sum(sizes) // 8), 1)


def filled_structure(p: Plan, backend) -> tuple[np.ndarray, list]:
    """(the struct's bytes as float64, with settable constants as they are now; the arrays in the backend's memory that
    it points to, to be kept alive)"""
    data = np.zeros(8 * structure_size(p), np.uint8)
    at, keep = 0, []
    for name, size in p.constants:
        value = p.values[name]
        if name in declared.constants.declared:
            value = declared.constants.value_of(name).astype(value.dtype)

        # A large array lies elsewhere; the struct has its address.
        if size > LARGE:
            keep.append(backend.from_host(value, value.dtype))
            value = np.array([backend.address(keep[-1])], dtype=np.uint64)

        data[at : at + value.nbytes] = value.view(np.uint8)
        at += value.nbytes

    return data.view(np.float64), keep
