"""A host's team kernels: its arrays as the kernel's body finds them.

A Fortran array A(M, N) is what a declaration calls A(N,M), the last index fastest, or A(M,N):left.
"""

from __future__ import annotations

import numpy as np

from kernels.engine.backend.base import Lent, Pointer

from .errors import ArgumentError, refuse
from .stripe import IN, OUT, Field, listed


class _Memory:
    """An array of the host's, for NumPy."""

    def __init__(self, f: Field, shape, strides):
        self.__array_interface__ = {
            "version": 3,
            "data": (f.address, False),
            "shape": shape,
            "strides": strides,
            "typestr": f"=f{f.size}",
        }


def fields(kernel, names: str, addresses, lengths, size: int) -> list[Field]:
    """The arrays of an old-style call (stripe.listed); which are written is told by the kernel's declaration."""
    declared = {a.name: a for a in kernel.arrays}

    def what(name):
        a = declared.get(name)
        if a is None and name not in kernel.sums:
            raise ArgumentError(f"no array '{name}'; it has {', '.join([*declared, *kernel.sums])}.")
        return (1, OUT) if a is None else (len(a.extents), OUT if a.written else IN)

    try:
        return listed(names, what, addresses, lengths, size)
    except ArgumentError as error:
        raise ArgumentError(f"team kernel '{kernel.name}': {error}") from None


def _refuse_shared(kernel, declared: dict, fields) -> None:
    """Raises ArgumentError for an array that is written and shares memory with another: copies on a device would not
    show it."""
    ranges = [(f, *f.range) for f in fields if all(f.extent)]
    for f, low, high in ranges:
        written = f.name not in declared or declared[f.name].written
        for other, begin, end in ranges:
            refuse(
                written and other is not f and low < end and begin < high,
                f"team kernel '{kernel.name}': '{f.name}' is written and shares memory with '{other.name}'.",
            )


def call(kernel, fields, backend):
    """What runs the kernel on these arrays, as often as wanted; they must stay where they are.

    Arrays that the backend reaches are worked on in place, others are copied in and, where they are written, back.
    Errors: ArgumentError for a name that the kernel does not have or that comes twice; for frame_in of an array that is
    written, frame_out of one that is not; and as TeamKernel.bind.
    """
    declared = {a.name: a for a in kernel.arrays}
    arrays: dict = {}
    copies = []  # (device's, host's array, whether it is written)
    for f in fields:
        a = declared.get(f.name)
        if a is None and f.name not in kernel.sums:
            raise ArgumentError(
                f"team kernel '{kernel.name}' has no array '{f.name}'; it has {', '.join([*declared, *kernel.sums])}."
            )
        refuse(f.name in arrays, f"team kernel '{kernel.name}': array '{f.name}' is given twice.")
        written = a is None or a.written
        refuse(
            written != bool(f[1]),
            f"team kernel '{kernel.name}': '{f.name}' is {'written' if written else 'read'}, so it is given by "
            f"{'frame_out' if written else 'frame_in'}.",
        )
        refuse(
            a is not None and a.kind == "whole",
            f"team kernel '{kernel.name}': '{f.name}' holds whole numbers, which a Fortran host cannot pass.",
        )
        step = 1 if a is not None and a.layout == "LEFT" else -1
        shape, strides = f.extent[::step], f.stride[::step]
        low, high = f.range
        there = backend.reach(low, high) if low < high else "own"
        if backend.memory == "device" and there == "own":
            arrays[f.name] = Lent(Pointer(f.address), shape, strides, np.dtype(f"f{f.size}"))
            continue
        host = np.asarray(_Memory(f, shape, strides)) if low < high else np.empty(shape, f"f{f.size}")
        if backend.memory == "host":
            arrays[f.name] = host
            continue
        across = host.T if step == 1 else host
        device = backend.from_host(np.ascontiguousarray(across), across.dtype)
        arrays[f.name] = device.T if step == 1 else device
        copies.append((device, across, written))
    _refuse_shared(kernel, declared, fields)
    run = kernel.bind(arrays, backend)

    def again(first=False) -> None:
        for device, host, _ in copies:
            if not first:
                device[...] = backend.from_host(np.ascontiguousarray(host), host.dtype)
        run()
        for device, host, written in copies:
            if written:
                host[...] = backend.to_host(device)

    return again
