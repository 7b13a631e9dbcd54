"""Memory of a team kernel beside its arrays: scratch of two levels, the league's sums, unique ids."""

from __future__ import annotations

import math
import typing

import numpy as np

from ..engine.backend import get_backend
from ..engine.backend.base import Backend
from ..engine.backend.facts import REFERENCE
from ..engine.errors import refuse
from .declaration import Declaration
from .operands import Operands
from .words import Array

SHARES = 512  # of a CPU's work, as in team_packs.h
SLOTS = 512  # bytes of shared memory for what a team of several warps joins
REPORT = 512  # bytes of a CPU's report, as in team_packs.h
SPARE = 1.2  # ids of a pool for each that can be held at the same time
PIECE = 16  # bytes; pieces of scratch begin at multiples
LINES = 128  # bytes; a thread's copy of a scattered array begins at a multiple, as in scatter_packs.h
MOST_COPIES = 2**26  # bytes of all threads' copies of a scattered array
SHARED = "shared "  # in front of the size of a pool that all kernels have in common

_shared: dict[tuple[Backend, str], UniqueToken] = {}  # by backend and name


class UniqueToken:
    """A pool of `size` ids that several kernels share (device scope): given to `bind` under the token's name. `bind`
    makes a kernel's own pool (instance scope), and one for all kernels that declare "shared SIZE" (global scope)."""

    def __init__(self, size: int, backend=None):
        refuse(not 1 <= size < 2**31, f"unique token: size {size}, wanted 1 or more.")
        self.size, self.backend = size, get_backend(backend)
        self.field = self.backend.from_host(np.zeros(-(-size // 32), np.uint32), np.dtype(np.uint32))

    @property
    def held(self) -> int:
        """How many ids are held now; waits for what was queued."""
        bits = np.array(self.backend.to_host(self.field), np.uint32).view(np.uint8)
        return int(np.unpackbits(bits).sum())


class Scratch:
    """Where the pieces of scratch of a team lie.

    bytes: of a team on this backend, by level. shared: bytes of shared memory of a block. values: members of the
    record. Raises ArgumentError for more than level 0 has.
    """

    def __init__(self, kernel: Declaration, operands: Operands, team: int, vector: int):
        self.kernel, self.operands = kernel, operands
        self.backend = operands.backend
        self._where = f"team kernel '{kernel.name}'"
        self._threads = team * vector
        self._members = team

        self.bytes = [0, 0]
        self.values: dict[str, typing.Any] = {}

        for piece in kernel.scratch:
            self._place(piece)
        self.values["bytes"] = self.bytes
        self._refuse_large()

        # Shared memory of a block: slots for the sums of a team of several warps, level 0, a tile of a scan, copies.
        self.shared = _slots(self.backend.sharing(self._threads)) + self.bytes[0] + kernel.items.shared(self._threads)
        for name in kernel.copied:
            self.values[f"copies_{name}"] = self.shared
            self.shared += padded(operands.arrays[name].nbytes)

    def _place(self, a) -> None:
        extents = [self.operands.number_of(text, f"scratch '{a.name}'") for text in a.extents]
        refuse(min(extents) < 0, f"{self._where}: scratch '{a.name}' has extents {extents}.")

        size = math.prod(extents) * a.dtype(self.operands.dtype).itemsize
        piece = padded(size)
        self.values[f"start_{a.name}"] = self.bytes[a.level]
        self.values[f"piece_{a.name}"] = piece if a.of_member else 0
        self.values[f"extent_{a.name}"] = extents

        self.bytes[a.level] += piece * (self._members if a.of_member else 1)

    def _refuse_large(self) -> None:
        """A CPU keeps to what a device has, so that kernels move."""
        own = _slots(self._threads)
        room = self.backend.shared_memory or REFERENCE.shared_of_block
        sums = f", and {own} for its sums" if own else ""
        refuse(
            self.bytes[0] + own > room,
            f"{self._where}: scratch of level 0 is {self.bytes[0]} bytes a team{sums}; wanted {room} "
            f"({room / 1024:g} KiB) at most. Level 1 has room for more.",
        )


def padded(size: int) -> int:
    """Bytes of a piece."""
    return -(-size // PIECE) * PIECE


def _slots(sharing: int) -> int:
    """Bytes of shared memory for a team's own sums. sharing: threads that share them."""
    return SLOTS if sharing > REFERENCE.warp else 0


class Room:
    """Memory that is allocated for the teams that run at the same time.

    resident: blocks, or threads of a CPU, that run at the same time. published: blocks of indices of a scan. arena:
    bytes of level 1 for all resident teams. tokens: {name: UniqueToken}. values: members of the record. held: what has
    to be kept alive.
    """

    def __init__(self, kernel: Declaration, operands: Operands, scratch: Scratch, resident: int, published: int):
        self.kernel, self.operands = kernel, operands
        self.backend = operands.backend
        self.resident = resident
        self.held: list = []
        self.tokens: dict[str, UniqueToken] = {}

        # The league's results: a share of each block, or of each of a CPU's pieces of work. A share is a structure of
        # the values, with at most 8 bytes between them. A tile of a scan has room for two: see Published.
        shares = max(resident, 2 * published) if self.backend.in_warps else SHARES
        share = sum([result.bytes + 8 for result in kernel.results])
        self.report = np.zeros(REPORT, np.uint8)
        self.held.append(self.report)
        self.values = {
            "shares": self._zeros(shares * share // 8, np.int64),
            "ended": self._zeros(2, np.uint32),
            "report": self.report.ctypes.data,
        }
        self.arena = self._arena(scratch.bytes[1])
        self.scatter = {a.name: self._copies(a) for a in kernel.arrays if a.scattered}

    def _zeros(self, count: int, dtype) -> int:
        """The address of an array of zeros."""
        made = self.backend.from_host(np.zeros(max(count, 1), dtype), np.dtype(dtype))
        self.held.append(made)
        return self.backend.address(made)

    def _copies(self, a: Array) -> str:
        """How threads add to a scattered array: by "atomics", "directly", where there is one thread, or to "copies" of
        their own, on a device of their block's."""
        if a.name in self.kernel.copied:
            return "copies"

        array = self.operands.arrays[a.name]
        if self.backend.in_warps or array.nbytes * self.resident > MOST_COPIES:
            return "atomics"

        if self.resident == 1:
            self.values[f"copies_{a.name}"] = self.operands.values[f"at_{a.name}"]
            return "directly"

        self.values[f"copies_{a.name}"] = self._lines(-(-array.nbytes // LINES) * self.resident)
        return "copies"

    def _lines(self, count: int) -> int:
        """The address of so many LINES of zeros on a CPU. Nothing else lies in them: what two threads write to one
        line goes back and forth between their cores."""
        made = np.zeros((count + 1) * LINES, np.uint8)
        self.held.append(made)
        return -(-made.ctypes.data // LINES) * LINES

    def _arena(self, size: int) -> int:
        """Bytes of scratch of level 1, `size` for a team: a device's teams take a piece each, a CPU's threads have
        their own."""
        if not size or not self.backend.in_warps:
            return self.resident * size

        pieces = math.ceil(SPARE * self.resident)
        memory = self.backend.empty((pieces * size // 8,))
        self.held.append(memory)

        self.values["arena"] = self.backend.address(memory)
        self.values["pieces"] = self._zeros(-(-pieces // 32), np.uint32)
        self.values["piece_count"] = pieces
        return pieces * size

    def _shared_token(self, name: str, text: str) -> UniqueToken:
        """The pool of this name that all kernels share. Raises ArgumentError for another size than the first's."""
        size = self.operands.number_of(text, f"token '{name}'")
        token = _shared.setdefault((self.backend, name), UniqueToken(size, self.backend))
        refuse(
            token.size != size,
            f"team kernel '{self.kernel.name}': the shared token '{name}' has {size} ids here, {token.size} in another "
            "kernel.",
        )
        return token

    def add_tokens(self, given: dict, threads: int) -> None:
        """Pools of ids: the ones in `given`, by name; else as many ids as the declaration says, or as can be held at
        the same time. threads: of a block."""
        at_once = self.resident * self.backend.sharing(self.kernel.items.holders(threads))

        for name, text in self.kernel.tokens:
            by_thread = False
            token = given.get(name)
            if token is None and text.startswith(SHARED):
                token = self._shared_token(name, text.removeprefix(SHARED))
            if token is None:
                size = self.operands.number_of(text, f"token '{name}'") if text else math.ceil(SPARE * at_once)
                token = UniqueToken(size, self.backend)
                by_thread = not self.backend.in_warps and size >= at_once  # the thread's own number will do
            else:
                refuse(
                    not isinstance(token, UniqueToken) or token.backend is not self.backend,
                    f"team kernel '{self.kernel.name}': token '{name}' is {token!r}, wanted a UniqueToken of backend "
                    f"{self.backend}.",
                )

            self.tokens[name] = token
            self.values[f"at_{name}"] = 0 if by_thread else self.backend.address(token.field)
            self.values[f"size_{name}"] = token.size

        self.held += [given, self.tokens]
