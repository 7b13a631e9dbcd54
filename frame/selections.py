"""Selections of a host's memory: blocks of points, from addresses and bounds or from fields."""

from __future__ import annotations

from collections.abc import Callable

from kernels.marshal import Block

from . import stripe as stripes
from .errors import refuse
from .impl.shared import Shared
from .impl.views import LAST_FROM_SUM
from .stripe import Field


class Selections:
    """The selections of calls.

    rows(name): variables of a view. Errors: ArgumentError for an unknown name. guard: looks at each new selection.
    """

    def __init__(self, shared: Shared, rows: Callable[[str], int]):
        self._shared = shared
        self._rows = rows
        self.guard: Callable[[Block], None] | None = None

    def of_bounds(self, address: int, bounds) -> Block:
        """The selection of an old-style call."""
        return self._guarded(stripes.block_from_bounds(address, bounds[:3], bounds[3:11]))

    def _guarded(self, block: Block) -> Block:
        if self.guard and block.points:
            self.guard(block)
        return block

    def of_fields(self, fields, lo, hi) -> list[tuple[Field, Block]]:
        """(first field, selection lo..hi) of each view that the fields fill or take. An input of a single point counts
        at all points of the others."""
        stripes.refuse_whole(fields)
        groups = stripes.grouped(fields)
        rows = [self._rows_of(group) for group in groups]
        blocks: list[Block | None] = []

        for group, variables in zip(groups, rows):
            is_number = group[0].way == stripes.IN and stripes.is_number(group, variables)
            blocks.append(None if is_number else stripes.block_from_fields(group, lo, hi, variables))

        like = next((block for block in blocks if block is not None), None)
        found = []
        for group, variables, block in zip(groups, rows, blocks):
            if block is None and like is not None:
                block = stripes.uniform(group, variables, like)
            elif block is None:
                block = stripes.block_from_fields(group, lo, hi, variables)

            for array in block.arrays:
                self._guarded(array)
            found.append((group[0], block))

        return found

    def _rows_of(self, group) -> int:
        """Variables that the fields of a view should have: Y may come without its last species."""
        name, rows = group[0].name, self._rows(group[0].name)
        if name != "Y" or rows == 1:
            return rows

        extent = group[0].extent
        lacks_last = len(group) == rows - 1
        if len(group) == 1:
            lacks_last = 1 <= len(extent) < 5 and extent[-1] == rows - 1

        if not lacks_last:
            return rows

        wanted = f"array for 'Y' has {rows - 1} species, wanted {rows}."
        wanted += stripes.with_variables_first(group[0], rows) or LAST_FROM_SUM
        refuse(not self._shared.last_from_sum or group[0].way != stripes.IN, wanted)
        return rows - 1
