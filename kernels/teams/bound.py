"""Team kernels on their arrays: checks, extents, memory beside the arrays, launches."""

from __future__ import annotations

import math
import typing

import numpy as np

from ..engine.backend import get_backend
from ..engine.backend.base import Shape, Source
from ..engine.backend.facts import REFERENCE
from ..engine.backend.record import record
from ..engine.errors import refuse
from ..engine.registry import declared
from ..engine.values import is_number, real_array
from .render import members, render
from .words import Array, value_of

if typing.TYPE_CHECKING:
    from .declare import TeamKernel

SHARES = 512  # of a CPU's work, as in team_packs.h
SLOTS = 512  # bytes of shared memory for the sums of a team of several warps
SPARE = 1.2  # ids of a pool for each that can be held at the same time


class UniqueToken:
    """A pool of `size` ids that several kernels share (device scope): given to `bind` under the token's name. `bind`
    makes a kernel's own pool (instance scope)."""

    def __init__(self, size: int, backend=None):
        refuse(not 1 <= size < 2**31, f"unique token: size {size}, wanted 1 or more.")
        self.size, self.backend = size, get_backend(backend)
        self.field = self.backend.from_host(np.zeros(-(-size // 32), np.uint32), np.dtype(np.uint32))

    @property
    def held(self) -> int:
        """How many ids are held now; waits for what was queued."""
        bits = np.array(self.backend.to_host(self.field), np.uint32).view(np.uint8)
        return int(np.unpackbits(bits).sum())


class Bound:
    """run(): a team kernel on its arrays. Two launches at the same time need two of these where it has sums.

    arrays: {name: array}, with the sums' own. members: of a team; 1 on a CPU. resident: blocks, or threads of a CPU,
    that run at the same time. scratch: bytes of a team, by level. arena: bytes of level 1 for all resident teams.
    """

    def __init__(self, kernel: TeamKernel, arrays, backend, team, vector, quick, numbers):
        self.kernel, self.backend = kernel, backend
        self._where = f"team kernel '{kernel.name}'"
        self.team, self.vector = kernel.organisation(team, vector)
        self.members = backend.sharing(self.team)

        # Arrays and numbers: types, extents, addresses.
        tokens = {name: arrays.pop(name) for name, _ in kernel.tokens if name in arrays}
        self.dtype = self._real(arrays)
        self._from_host: list[tuple[str, str]] = []
        values, names = self._extents(arrays, numbers)
        values |= self._places(arrays)
        self.arrays, self._names = arrays, names

        for name in kernel.sums:
            self.arrays.setdefault(name, backend.from_host(np.zeros(1), self.dtype))
            values[f"at_{name}"] = backend.address(self._sum(name, self.arrays[name]))

        # Items: teams, indices or tiles.
        extents = [value_of(text, names, f"{self._where}, {kernel.kind}") for text in kernel.count]
        refuse(min(extents) < 0, f"{self._where}: {kernel.kind} of {extents}, wanted 0 or more.")

        self.items = extents[0]
        if kernel.kind == "tiles":
            self.items = math.prod(-(-n // t) for n, t in zip(extents, kernel.tile))
        values |= self._scratch(names)

        # The kernel, and how many blocks of it run at the same time; memory beside the arrays follows from that.
        module = backend.compile(self._source(team, vector, quick))
        threads = self.team * self.vector

        shape = Shape(
            threads,
            1 if kernel.kind != "range" else threads,
            self.scratch[0] + self._slots,
            resident=-1 if kernel.sums else 0,
        )

        function = f"run_{kernel.name}"
        self.resident = module.resident(function, shape)
        values |= self._room(tokens, names)

        self._record = record(members(kernel), extent=extents, **values)
        self._launch = module.bind(function, shape, self._record, keep=(list(self.arrays.values()), self._held))

    def _source(self, team, vector, quick) -> Source:
        """All kernels of the header in one source; or this kernel by itself where a device gets another organisation
        than the declared one."""
        kernel, backend = self.kernel, self.backend
        if backend.in_warps and (team, vector) != (None, None):
            return render([kernel], backend.style, self.dtype, quick, team, vector)

        return render(kernel.of_header(), backend.style, self.dtype, quick)

    def __call__(self) -> None:
        for name, kind in self._from_host:
            declared.constants.require([name], self.kernel.name)
            value = declared.constants.value_of(name)[0]
            self._record[f"n_{name}"] = value if kind == "real" else int(value)

        if self.items:
            self._launch(self.items)
        else:
            for name in self.kernel.sums:
                self.arrays[name][...] = 0

    def value(self, name: str) -> float:
        """Of a sum; waits for it."""
        return float(self.backend.to_host(self.arrays[name])[0])

    # ---- checks
    def _real(self, arrays) -> np.dtype:
        """The type of the first real array, else float64. Raises ArgumentError for missing and unknown arrays."""
        k = self.kernel
        wanted = [a.name for a in k.arrays]
        for name in wanted:
            refuse(name not in arrays, f"{self._where}: array '{name}' is missing.")

        for name, array in arrays.items():
            refuse(
                name not in wanted and name not in k.sums,
                f"{self._where} has no array '{name}'; it has {', '.join([*wanted, *k.sums])}.",
            )
            refuse(
                is_number(array) or not (hasattr(array, "dtype") and hasattr(array, "strides")),
                f"{self._where}: '{name}' is {type(array).__name__}, wanted an array.",
            )
            refuse(
                isinstance(array, np.ma.MaskedArray),
                f"{self._where}: array '{name}' is masked, and a kernel reads no masks; give {name}.filled(...).",
            )

        types = [np.dtype(arrays[a.name].dtype) for a in k.arrays if a.kind == "real"]
        real = types[0] if types else np.dtype(np.float64)
        refuse(real.name not in ("float64", "float32"), f"{self._where}: type {real}, wanted float64 or float32.")

        return real

    def _extents(self, arrays, numbers):
        """(the record's extents and numbers; {name: whole number})."""
        k, names, values = self.kernel, {}, {}
        kinds = dict(k.numbers)

        for name in numbers:
            refuse(name not in kinds, f"{self._where} has no number '{name}'; it has {', '.join(kinds) or 'none'}.")
            refuse(
                real_array(name, numbers[name]).ndim > 0,
                f"{self._where}: the number '{name}' is an array of shape {np.shape(numbers[name])}.",
            )

        for name, kind in k.numbers:
            value = numbers[name] if name in numbers else self._of_host(name, kind)
            if kind == "whole":
                refuse(int(value) != value, f"{self._where}: {name} = {value}, wanted a whole number.")
                names[name] = value = int(value)
            values[f"n_{name}"] = value

        for array in k.arrays:
            self._check_type(array, arrays[array.name])
            for extent, size in zip(array.extents, arrays[array.name].shape):
                if extent.isidentifier():
                    names.setdefault(extent, size)

        for array in k.arrays:
            for extent, size in zip(array.extents, arrays[array.name].shape):
                wanted = value_of(extent, names, f"{self._where}, array '{array.name}'")
                refuse(
                    size != wanted, f"{self._where}: array '{array.name}', extent {extent}: {size}, wanted {wanted}."
                )

        for name in k.inferred():
            values[f"n_{name}"] = names[name]
        return values, names

    def _of_host(self, name: str, kind: str) -> float:
        """A number that is read at each launch from the constant of its name. Raises ArgumentError if there is none,
        StateError if it was not set."""
        refuse(
            name not in declared.constants.declared,
            f"{self._where}: the number '{name}' is missing: give it, or declare constant('{name}', ...).",
        )

        declared.constants.require([name], self.kernel.name)
        self._from_host.append((name, kind))
        return declared.constants.value_of(name)[0]

    def _check_type(self, a: Array, array) -> None:
        """Number of dimensions, and type. Raises ArgumentError."""
        shape, wanted = tuple(array.shape), a.dtype(self.dtype)
        refuse(
            len(shape) != len(a.extents),
            f"{self._where}: array '{a.name}' has {len(shape)} dimensions {shape}, wanted {len(a.extents)}: "
            f"({', '.join(a.extents)}).",
        )
        refuse(
            np.dtype(array.dtype) != wanted,
            f"{self._where}: array '{a.name}' has type {array.dtype}, wanted {wanted}.",
        )

    def _places(self, arrays) -> dict:
        """Addresses and extents. Contiguous, where the backend works, and outputs apart from all others."""
        values: dict = {}
        spans: list = []

        for a in self.kernel.arrays:
            array = arrays[a.name]
            known = isinstance(array, np.ndarray) or hasattr(array, "__cuda_array_interface__")
            refuse(
                known and not self.backend.holds(array),
                f"{self._where}: array '{a.name}' is not where backend {self.backend} works.",
            )

            writeable = getattr(getattr(array, "flags", None), "writeable", True)
            refuse(a.written and not writeable, f"{self._where}: array '{a.name}' is read-only, and written.")

            size = self._contiguous(a, array)
            address = self.backend.address(array) if size else 0
            values |= {f"at_{a.name}": address, f"extent_{a.name}": tuple(array.shape)}
            if size:
                spans.append((address, address + size, a))

        for low, high, a in spans:
            for begin, end, other in spans:
                refuse(
                    a.written and a is not other and low < end and begin < high,
                    f"{self._where}: '{a.name}' is written and shares memory with '{other.name}'.",
                )

        return values

    def _contiguous(self, a: Array, array) -> int:
        """Bytes of an array. Raises ArgumentError unless its elements lie side by side in the declared layout."""
        step, empty = a.dtype(self.dtype).itemsize, math.prod(array.shape) == 0
        dims = list(zip(a.extents, array.shape, array.strides))
        fastest = "first"
        if a.layout == "RIGHT":
            dims, fastest = dims[::-1], "last"

        for extent, size, stride in dims:
            refuse(
                size > 1 and not empty and stride != step,
                f"{self._where}: array '{a.name}', extent {extent}: neighbours are {stride} bytes apart, wanted "
                f"{step}: contiguous, the {fastest} index fastest.",
            )
            step *= size

        return step

    def _sum(self, name, array):
        refuse(
            tuple(array.shape) != (1,) or np.dtype(array.dtype) != self.dtype,
            f"{self._where}: sum '{name}' has shape {tuple(array.shape)}, type {array.dtype}, wanted (1,), "
            f"{self.dtype}.",
        )

        return array

    # ---- room
    @property
    def _slots(self) -> int:
        """Bytes of shared memory for a team's own sums, where it has several warps."""
        return SLOTS if self.backend.sharing(self.team * self.vector) > REFERENCE.warp else 0

    def _scratch(self, names) -> dict:
        """Places of scratch. Raises ArgumentError above what level 0 can have."""
        k, bytes_, told = self.kernel, [0, 0], [0, 0]  # told: as on a device, on every backend
        values: dict = {}

        for a in k.scratch:
            extents = [value_of(x, names, f"{self._where}, scratch '{a.name}'") for x in a.extents]
            refuse(min(extents) < 0, f"{self._where}: scratch '{a.name}' has extents {extents}.")

            piece = -(-math.prod(extents) * a.dtype(self.dtype).itemsize // 16) * 16
            values |= {
                f"start_{a.name}": bytes_[a.level],
                f"piece_{a.name}": piece if a.of_member else 0,
                f"extent_{a.name}": extents,
            }

            bytes_[a.level] += piece * (self.members if a.of_member else 1)
            told[a.level] += piece * (self.team if a.of_member else 1)

        own = SLOTS if self.team * self.vector > REFERENCE.warp else 0
        room = self.backend.shared_memory or REFERENCE.shared_of_block  # a CPU keeps to it, so that kernels move
        refuse(
            told[0] + own > room,
            f"{self._where}: scratch of level 0 is {told[0]} bytes a team"
            + (f", and {own} for its sums" * bool(own))
            + f"; wanted {room} ({room / 1024:g} KiB) at most. Level 1 has room for more.",
        )

        self.scratch = tuple(bytes_)
        return values | {"bytes": bytes_}

    def _zeros(self, count: int, dtype):
        made = self.backend.from_host(np.zeros(max(count, 1), dtype), np.dtype(dtype))
        self._held.append(made)
        return self.backend.address(made)

    def _room(self, tokens, names) -> dict:
        """Memory beside the arrays: the league's sums, scratch of level 1, tokens."""
        k, device = self.kernel, self.backend.in_warps
        self._held: list = [tokens]

        values = {
            "shares": self._zeros((self.resident if device else SHARES) * len(k.sums), self.dtype),
            "ended": self._zeros(1, np.uint32),
        }

        # Scratch of level 1: a device's teams take a piece each of an arena, a CPU's threads have their own.
        self.arena = self.resident * self.scratch[1]
        if self.scratch[1] and device:
            pieces = math.ceil(SPARE * self.resident)
            self.arena = pieces * self.scratch[1]
            room = self.backend.empty((self.arena // 8,))
            self._held.append(room)

            values |= {
                "arena": self.backend.address(room),
                "pieces": self._zeros(-(-pieces // 32), np.uint32),
                "piece_count": pieces,
            }

        # Tokens: pools of ids, as many as can be held at the same time unless a size is declared.
        self.tokens = {}
        holders = 1 if k.kind == "league" else self.team * self.vector
        at_once = self.resident * self.backend.sharing(holders)

        for name, text in k.tokens:
            given = tokens.get(name)
            if given is None:
                size = value_of(text, names, f"{self._where}, token '{name}'") if text else math.ceil(SPARE * at_once)
                given = UniqueToken(size, self.backend)
                by_thread = not device and size >= at_once  # the thread's own number will do
            else:
                refuse(
                    not isinstance(given, UniqueToken) or given.backend is not self.backend,
                    f"{self._where}: token '{name}' is {given!r}, wanted a UniqueToken of backend {self.backend}.",
                )
                by_thread = False

            self.tokens[name] = given
            values |= {f"at_{name}": 0 if by_thread else self.backend.address(given.field), f"size_{name}": given.size}

        self._held.append(self.tokens)
        return values
