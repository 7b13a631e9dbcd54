"""Copies of complex arrays as matrices of real numbers: a b is (re a, im a) times [[re b, im b], [-im b, re b]].

    copy = Matrices("b_matrix", "b", axes=(1, 0), rows=1)     dimensions of b in the copy's order; the first are rows
    run = copy.filler(backend, b);  run(b, target)            for arrays that lie as b; target: copy.shape(b.shape)

The copy has two dimensions of 2 more: the matrix' row behind the first `rows` dimensions, its column at the end. So a
factor of complex numbers, with the part as its last index, is multiplied by it as by any real matrix.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

from ..engine.backend.base import Source
from ..engine.backend.record import record, structure
from ..engine.errors import VariantUnsuitable, refuse
from . import fold

LOOPS = 32  # at most
MEMBERS = f"source:address target:address loops:whole turned:whole extent:whole:{LOOPS} "
MEMBERS += f"source_step:whole:{LOOPS} target_step:whole:{LOOPS}"
PLACES = dict(source=0, target=1)
PARTS = 2
SINGLE = "complex64"
# Seconds: of a copy, of a number in the caches, of a run beside its numbers
CALL, NUMBER, RUN = 4e-6, 5e-10, 2e-9


class Matrices(NamedTuple):
    """The copy of an array."""

    name: str  # of the copy
    array: str  # name
    axes: tuple[int, ...]  # dimensions of the array, in the copy's order
    rows: int  # dimensions in front of the matrix' row

    def shape(self, extents) -> tuple[int, ...]:
        """The shape of the copy of an array of these extents."""
        ordered = [extents[axis] for axis in self.axes]
        return (*ordered[: self.rows], PARTS, *ordered[self.rows :], PARTS)

    def filler(self, backend, array) -> Callable[..., None]:
        """run((array, copy)) for arrays that lie as this one. Raises VariantUnsuitable for steps that are no whole
        numbers."""
        if not array.size:
            return _nothing
        size = array.dtype.itemsize // PARTS
        refuse(any(step % size for step in array.strides), "wanted steps of whole numbers.", VariantUnsuitable)
        moves = self._moves(array.shape, [step // size for step in array.strides])
        held = record(MEMBERS, loops=len(moves), turned=PARTS * math.prod(self._own(array.shape)))
        for place, move in enumerate(moves):
            held["extent"][0, place] = move.extent
            held["source_step"][0, place] = move.source
            held["target_step"][0, place] = move.target
        return _module(backend, array.dtype.name).again("matrices", held, PLACES, 1)

    @staticmethod
    def compile(backend, dtype: str) -> None:
        """Compiles the kernel for numbers of a type, complex64 or complex128."""
        _module(backend, dtype)

    def seconds(self, extents) -> float:
        """The model's time on a core for an array of these extents, beside memory."""
        numbers = math.prod(extents)
        runs = numbers / max(self._own(extents)[-1:] or [1])
        return CALL + numbers * NUMBER + runs * RUN

    def _own(self, extents) -> list[int]:
        """Extents of the dimensions behind the matrix' row."""
        return [extents[axis] for axis in self.axes[self.rows :]]

    def _moves(self, extents, steps) -> tuple[fold.Move, ...]:
        """The loops of the copy, the slowest first; the last one is a run, side by side in the copy."""
        step, moves = PARTS, []
        for place in reversed(range(len(self.axes))):
            axis = self.axes[place]
            if place == self.rows - 1:
                step *= PARTS
            moves.append(fold.Move(extents[axis], steps[axis], step))
            step *= extents[axis]

        joined = list(fold.collapsed(reversed(moves)))
        if not joined or joined[-1].target != PARTS:
            joined.append(fold.Move(1, PARTS, PARTS))
        return tuple(joined)


def _nothing(_) -> None:
    """A copy of an array without numbers."""


@functools.lru_cache(None)
def _module(backend, dtype: str):
    return backend.compile(source(dtype))


def source(dtype: str) -> Source:
    """The kernel for numbers of a type, complex64 or complex128."""
    lines = [
        *(["#define FRAME_SINGLE"] if dtype == SINGLE else []),
        f"constexpr int LOOPS = {LOOPS};",
        '#include "engine/numbers/pack.h"',
        structure("Arguments", MEMBERS),
        '#include "contractions/matrices_packs.h"',
        "",
    ]
    return Source("matrices", "\n".join(lines), title="matrices", spelled_vectors=True)
