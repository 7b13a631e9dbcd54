"""Copies of boxes of values to other boxes, many in one launch (kernels/moves.h): fringes, messages, walls."""

import dataclasses
import functools

import numpy as np

from kernels.engine.backend.base import Shape, Source
from kernels.engine.backend.record import layout, record

from .stencil import HERE

MOST_PARTS, THREADS = 24, 128  # so many parts are 3.6 of the 4 KiB that a launch takes along
# The structures of moves.h.
PART = layout(
    "from:address to:address from_row:whole to_row:whole from_stride:whole:3 to_stride:whole:3 cells:whole:3 "
    "rows:whole from_slot:whole to_slot:whole start:whole factor:real added:real"
)
MOVES = np.dtype(
    [("part", PART, MOST_PARTS), *layout("parts:whole total:whole count:address last_decides:whole").descr]
)
SIGNAL = "theirs:address:2 mine:address:2 count:address late:address alarm:address post:whole wait:whole patience:whole"
SOURCE = Source("flow-moves", f'#define MOST_PARTS {MOST_PARTS}\n#include "moves.h"\n', (HERE,))


@functools.cache
def code(backend):
    """The compiled kernels, one module for each backend."""
    return backend.compile(SOURCE)


@dataclasses.dataclass
class Box:
    """Place of (rows, nz, ny, nx) float64 values: an address, and strides in elements, which may be negative or 0.
    slot: distance in elements to the values of messages of odd number."""

    address: int
    shape: tuple
    strides: tuple
    slot: int = 0

    @classmethod
    def packed(cls, address, shape, slot=0):
        return cls(address, tuple(shape), tuple(int(np.prod(shape[k + 1 :])) for k in range(4)), slot)


def bind_moves(backend, parts, keep=(), count=0, last_decides=False):
    """A function that copies all parts in one launch. parts: (to, from) or (to, from, factor, added), views of arrays
    (rows, nz, ny, nx) or Boxes of one shape; `from` may have 1 where `to` has more. No part may read what another
    writes. count: device address of the number of messages so far, where boxes have slots. last_decides: where the last
    row is 1 nobody reads the others, and they may stay as they are. Raises ValueError for shapes that do not go
    together."""
    filled, total = np.zeros(1, MOVES), 0
    if not 0 < len(parts) <= MOST_PARTS:
        raise ValueError(f"{len(parts)} parts in one launch; wanted 1 to {MOST_PARTS}.")

    def box(a):
        return a if isinstance(a, Box) else Box(backend.address(a), a.shape, tuple(s // 8 for s in a.strides))

    for k, (to, source, *how) in enumerate(parts):
        to, source = box(to), box(source)
        part, cells = filled["part"][0, k : k + 1], int(np.prod(to.shape[1:]))
        if any(n not in (1, m) for n, m in zip(source.shape, to.shape)) or not 0 < cells < 2**31:
            raise ValueError(f"part {k}: from {source.shape} to {to.shape} values.")
        steps = [0 if n == 1 else s for n, s in zip(source.shape, source.strides)]
        part["from"], part["from_row"], part["from_slot"] = source.address, steps[0], source.slot
        part["to"], part["to_row"], part["to_slot"] = to.address, to.strides[0], to.slot
        part["from_stride"], part["to_stride"], part["cells"] = steps[:0:-1], to.strides[:0:-1], to.shape[:0:-1]
        part["rows"], part["start"] = to.shape[0], total
        part["factor"], part["added"] = how or (1.0, 0.0)
        total += cells

    filled["parts"], filled["total"], filled["count"] = len(parts), total, count
    filled["last_decides"] = last_decides
    shape = Shape(THREADS, rows=int(filled["part"]["rows"].max()))
    run = code(backend).bind("move_boxes", shape, filled, keep=(parts, keep))

    return lambda: run(total)


def bind_signal(backend, theirs, mine, count, late, alarm, patience):
    """run(post, wait), the order of messages between devices: `post` tells the neighbours the next number, `wait` waits
    on the device until theirs is there. theirs, mine: device addresses of the words at the low and the high side, 0
    where no neighbour is. late: address of three words. After `patience` looks a wait is given up: the words become
    1 + side, the number waited for and the number seen, and the number at address `alarm` becomes NaN."""
    filled = record(SIGNAL, theirs=theirs, mine=mine, count=count, late=late, alarm=alarm, patience=patience)
    launch = code(backend).bind("signal_neighbours", Shape(1), filled)

    def run(post, wait):
        filled["post"], filled["wait"] = post, wait
        launch(1)

    return run
