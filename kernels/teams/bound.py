"""Team kernels on their arrays: compiled, with the memory they need, launched as often as wanted."""

from __future__ import annotations

import numpy as np

from ..engine.backend.base import Backend, Shape
from ..engine.backend.queues import Queue
from ..engine.backend.record import record
from ..engine.errors import BackendError, refuse
from ..engine.registry import declared
from .declaration import Declaration
from .operands import Operands
from .render import chosen, members_of, render, together
from .room import Room, Scratch
from .scattered import with_copies


class Bound:
    """run(), run(queue): a team kernel on its arrays. Where it has results, two launches at the same time need two of
    these.

    arrays: {name: array}, with the results' own. extents: numbers of teams or indices. team, vector: members of a team
    and lanes of a member. resident: blocks, or threads of a CPU, that run at the same time. tokens:
    {name: UniqueToken}. scratch: bytes of a team, by level. arena: bytes of level 1 for all resident teams. scatter:
    {array: how threads add to it}, "copies" of a CPU's threads or of a device's blocks, "directly" or by "atomics".
    """

    def __init__(self, kernel: Declaration, arrays: dict, backend: Backend, quick: bool, numbers: dict, chunk: int):
        # Arrays and numbers, items, scratch: all that may be refused, before anything is compiled.
        refuse(chunk < 1, f"team kernel '{kernel.name}': chunk {chunk}, wanted 1 or more.")
        tokens = {name: arrays.pop(name) for name, _ in kernel.tokens if name in arrays}
        operands = Operands(kernel, backend, arrays, numbers)
        begins, extents = self._extents(kernel, operands)

        kernel = kernel.sized(
            extents, backend.entry.in_blocks, lambda text: operands.number_of(text, "an array's extent")
        )
        kernel = with_copies(kernel, operands, extents)
        self.kernel, self.backend = kernel, backend
        self.team, self.vector = kernel.organisation()
        self.extents = extents
        threads = self.team * self.vector
        self.items = kernel.items.number(extents)
        scratch = Scratch(kernel, operands, self.team, self.vector)

        # The kernel, and how many blocks of it run at the same time; memory beside the arrays follows from that.
        module = backend.compile(render(together(kernel, backend.entry), backend.entry, operands.dtype, quick))
        function = f"run_{kernel.name}"
        shape = Shape(
            threads,
            kernel.items.of_block(threads) * chunk,
            scratch.shared,
            resident=-1 if kernel.results or kernel.copied else 0,
        )
        self.resident = module.resident(function, shape)
        published = kernel.items.published(self.items, threads)
        room = Room(kernel, operands, scratch, self.resident, published)
        room.add_tokens(tokens, threads)

        # The record of arguments, and the launch.
        values = operands.values | scratch.values | room.values | kernel.items.values(extents)
        line = 0 if backend.entry.in_blocks else operands.line(kernel.items.beside())
        self._record = record(
            members_of(kernel), items=self.items, chunk=chunk, begin=begins, extent=extents, line=line, **values
        )
        keep = (list(operands.arrays.values()), room.held)
        self._launch = module.bind(function, shape, self._record, keep=keep)

        self._from_host, self._report = operands.from_host, room.report
        self._queue: Queue | None = None  # of the last launch
        self._chosen = chosen(kernel, backend.entry)
        self.arrays, self.tokens = operands.arrays, room.tokens
        self.scratch, self.arena, self.scatter = tuple(scratch.bytes), room.arena, room.scatter

    @staticmethod
    def _extents(kernel: Declaration, operands: Operands) -> tuple[list[int], list[int]]:
        """First indices, and numbers of teams or indices. Raises ArgumentError for a number below 0."""
        items = kernel.items
        begins: list[int] = []
        extents: list[int] = []

        for text in items.extents:
            first, between, behind = text.partition(":")
            begins.append(operands.number_of(first, items.kind) if between else 0)
            extents.append(operands.number_of(behind if between else text, items.kind) - begins[-1])

        refuse(min(extents) < 0, f"team kernel '{kernel.name}': {items.kind} of {extents}, wanted 0 or more.")
        return begins, extents

    def __call__(self, queue: Queue | None = None) -> None:
        """Launch. queue: of `backend.queue()`, behind what it was given before, and beside other queues; errors of the
        launch are raised by its `wait`. None: where the backend works now."""
        self._queue = queue
        if queue is None:
            self._run()
        else:
            queue.run(self._run)

    def _run(self) -> None:
        for name, kind in self._from_host:
            declared.constants.require([name], self.kernel.name)
            value = declared.constants.value_of(name)[0]
            self._record[f"n_{name}"] = value if kind == "real" else int(value)

        if self.items or self.kernel.results:
            try:
                self._launch(max(self.items, 1))
            except BackendError:
                self._explain()
                raise

    def _explain(self) -> None:
        """Raises BackendError for a body that did not come to its end."""
        problem = bytes(self._report[8:]).split(b"\0")[0].decode(errors="replace")
        self._report[8:] = 0
        refuse(problem, f"team kernel '{self.kernel.name}': {problem}.", BackendError)

    @property
    def tile(self) -> tuple[int, ...]:
        """The tile of a range of several indices; empty for other policies."""
        return getattr(self.kernel.items, "tile", ())

    @property
    def why(self) -> str:
        """A text for a range of several indices: tile, fastest index, and the arrays that decide them."""
        return getattr(self.kernel.items, "why", str)()

    @property
    def members(self) -> int:
        """Members of a team. Where a CPU may choose: those of the last launch; 0 before the first."""
        return int(self._report[:8].view(np.int64)[0]) if self._chosen else self.team

    def value(self, name: str):
        """The value of a result: a number, or an array if the result has several. Waits for it."""
        if self._queue is not None:
            self._queue.wait()
        found = self.backend.to_host(self.arrays[name])
        if len(found) > 1:
            return np.array(found)
        return float(found[0]) if found.dtype.kind == "f" else int(found[0])
