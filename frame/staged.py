"""Contractions on a device with arrays of the host: copies in, the launch, copies out, a single wait.

Small arrays go together (impl/small_arrays.py). Larger ones go one by one, through pinned buffers if the host's memory
is pageable. Memory on the device belongs to a thread and a plan, and stays for the next call.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import kernels
from kernels.contractions import Contraction
from kernels.marshal import Block

from .impl import TVImpl
from .impl.launchers import ArrayLauncher, Transfer
from .impl.small_arrays import Small, SmallArrays, is_small, nothing
from .stripe import IN, OUT, Field

PART = 1 << 20  # numbers of one copy: a buffer that is staged stays small


class Call(NamedTuple):
    """A contraction on arrays of a host."""

    name: str
    plan: Contraction
    n: int  # entries of the batch
    given: dict[str, Field]


class Kept(NamedTuple):
    """Memory on the device for a plan, and the launch on it."""

    key: tuple  # batch size, arrays of the device, names of large arrays, values of those that the text calls constant
    launch: Any
    arrays: dict[str, Any]  # of the device
    small: SmallArrays | None  # None: no array is small


class Staged:
    """A call whose arrays do not all lie where kernels reach them.

    here: names of the arrays that kernels reach. blocks: all arrays, as copies take them.
    """

    def __init__(self, call: Call, here: list[str], blocks: dict[str, Block], impl: TVImpl):
        self._call, self._here, self._impl = call, here, impl
        cpu = kernels.get_backend("cpu")
        hosts = {x: array(cpu, f) for x, f in call.given.items() if x not in here}
        self._constants = {x: a for x, a in hosts.items() if x in call.plan.expression.constant}
        self._hosts = {x: a for x, a in hosts.items() if x not in self._constants}

        reach = impl.marshal.reach
        self._large = {x: blocks[x] for x, a in self._hosts.items() if not is_small(a.nbytes, reach(blocks[x]))}
        self._ranges = [b.range for b in self._large.values()]
        self._kept: Kept | None = None

    def run(self) -> None:
        """Queue all and wait."""
        backend = self._impl.backend
        with self._impl.queues.alone:
            kept = self._memory()
            if kept is not self._kept:
                self._bind(kept)

            if self._large:
                with backend.session(self._ranges):
                    self._launcher.queue()
            else:
                self._launcher.queue()
                backend.synchronize()
        self._unpack()

    def _memory(self) -> Kept:
        """The thread's memory for this call. A constant array is copied when its values have changed."""
        call = self._call
        values = tuple([a.tobytes() for a in self._constants.values()])
        key = call.n, tuple([call.given[x] for x in self._here]), tuple(self._large), values

        kept = self._impl.staged.get(call.plan)
        if kept is None or kept.key != key:
            kept = self._impl.staged[call.plan] = self._made(key)
        return kept

    def _made(self, key: tuple) -> Kept:
        """Arrays on the device, and the plan bound to them."""
        backend, (_, plan, n, given) = self._impl.backend, self._call
        arrays = {x: array(backend, given[x]) for x in self._here}
        for x, values in self._constants.items():
            arrays[x] = backend.from_host(values.copy(), plan.dtype)
        for x in self._large:
            arrays[x] = backend.empty(plan.shape(x, n), plan.dtype)

        wanted = []
        for x in self._hosts:
            if x not in self._large:
                dtype, way = np.dtype(plan.dtype), given[x].way
                wanted.append(Small(x, plan.shape(x, n), dtype, read=way != OUT, written=way != IN))
        small = SmallArrays(backend, wanted) if wanted else None

        arrays = {**arrays, **(small.arrays if small else {})}
        return Kept(key, plan.bind(arrays, n), arrays, small)

    def _bind(self, kept: Kept) -> None:
        """The steps of the call on this memory."""
        given, marshal, small = self._call.given, self._impl.marshal, kept.small
        read = [x for x in self._hosts if given[x].way != OUT]
        written = [x for x in self._hosts if given[x].way != IN]
        put_small = small.put(self._hosts) if small else nothing
        get_small = small.get if small else nothing

        def put() -> None:
            put_small()
            self._move(marshal.gather, read, kept)

        def get() -> None:
            self._move(marshal.scatter, written, kept)
            get_small()

        bytes_in, bytes_out = (sum([self._hosts[x].nbytes for x in names]) for names in (read, written))
        self._launcher = ArrayLauncher(
            self._impl.state,
            self._call.name,
            self._call.n,
            kept.launch,
            Transfer(put, bytes_in),
            Transfer(get, bytes_out),
        )
        self._unpack = small.unpack(self._hosts) if small else nothing
        self._kept = kept

    def _move(self, move, names: list[str], kept: Kept) -> None:
        """gather or scatter of the large arrays among these."""
        for x in names:
            if x not in self._large:
                continue
            flat = kept.arrays[x].reshape(-1)
            for start in range(0, flat.size, PART):
                part = flat[start : start + PART]
                move(self._large[x], start, part.size, part)


def array(backend, f: Field):
    """The array as kernels read it: row-major, the fastest dimension last."""
    return backend.at(f.address, f.extent[::-1], f.stride[::-1], f"f{f.size}")


def block(f: Field) -> Block:
    """All numbers of an array, in their order; the last dimension may have gaps."""
    n = f.extent[-1] if f.extent else 1
    inner = math.prod(f.extent[:-1])
    step = f.stride[-1] // f.size if n > 1 else inner
    shape = inner, n, 1, 1

    return Block(f.address, shape, (1, step, 0, 0), (0,) * 4, shape, size=f.size)
