"""Team kernels on their arrays: compiled, with the memory they need, launched as often as wanted."""

from __future__ import annotations

import typing

from ..engine.backend.base import Backend, Shape, Source
from ..engine.backend.record import record
from ..engine.errors import refuse
from ..engine.registry import declared
from .operands import Operands
from .render import members, render
from .room import Room, Scratch

if typing.TYPE_CHECKING:
    from .declare import TeamKernel


class Bound:
    """run(): a team kernel on its arrays. Two launches at the same time need two of these where it has sums.

    arrays: {name: array}, with the sums' own. team, vector: members of a team and lanes of a member, as on a device.
    members: of a team here; 1 on a CPU.
    resident: blocks, or threads of a CPU, that run at the same time. tokens: {name: UniqueToken}. scratch: bytes of a
    team, by level. arena: bytes of level 1 for all resident teams.
    """

    def __init__(self, kernel: TeamKernel, arrays: dict, backend: Backend, team, vector, quick: bool, numbers: dict):
        self.kernel, self.backend = kernel, backend
        self.team, self.vector = kernel.organisation(team, vector)
        self.members = backend.sharing(self.team)
        threads = self.team * self.vector

        # Arrays and numbers, items, scratch: all that may be refused, before anything is compiled.
        tokens = {name: arrays.pop(name) for name, _ in kernel.tokens if name in arrays}
        operands = Operands(kernel, backend, arrays, numbers)
        extents = self._extents(operands)
        self.items = kernel.items.number(extents)
        scratch = Scratch(kernel, operands, self.team, self.vector)

        # The kernel, and how many blocks of it run at the same time; memory beside the arrays follows from that.
        module = backend.compile(self._source(operands.dtype, team, vector, quick))
        function = f"run_{kernel.name}"
        shape = Shape(
            threads,
            kernel.items.of_block(threads),
            scratch.shared,
            resident=-1 if kernel.sums else 0,
        )
        self.resident = module.resident(function, shape)
        room = Room(kernel, operands, scratch, self.resident)
        room.add_tokens(tokens, threads)

        # The record of arguments, and the launch.
        values = operands.values | scratch.values | room.values
        self._record = record(members(kernel), extent=extents, **values)
        keep = (list(operands.arrays.values()), room.held)
        self._launch = module.bind(function, shape, self._record, keep=keep)

        self._from_host = operands.from_host
        self.arrays, self.tokens = operands.arrays, room.tokens
        self.scratch, self.arena = tuple(scratch.bytes), room.arena

    def _extents(self, operands: Operands) -> list[int]:
        """Numbers of teams, indices or tiles' indices. Raises ArgumentError for a number below 0."""
        items = self.kernel.items
        extents = [operands.number_of(text, items.kind) for text in items.extents]
        refuse(min(extents) < 0, f"team kernel '{self.kernel.name}': {items.kind} of {extents}, wanted 0 or more.")
        return extents

    def _source(self, dtype, team, vector, quick: bool) -> Source:
        """All kernels of the header in one source; or this kernel by itself where a device gets another organisation
        than the declared one."""
        kernel, entry = self.kernel, self.backend.entry
        if entry.in_blocks and (team, vector) != (None, None):
            return render([kernel], entry, dtype, quick, team, vector)

        return render(kernel.of_header(), entry, dtype, quick)

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
