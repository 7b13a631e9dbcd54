"""Which arrays of a block call share memory, and whether that can change the results.

The points of a block are worked on in pieces, in any order. An output may lie over an input of the same points: each
point is read before it is written. An output over an input of other points, or over another output, is refused.
Interleaved sections, such as the components of an array of vectors, share no memory. The decision is exact. It looks at
addresses only; no memory is read.
"""

from __future__ import annotations

import numpy as np

from kernels.marshal import Block

from .errors import refuse

MOST_WORK = 10**6  # of the search for a common byte; real arrays take a few steps


def refuse_overlaps(what: str, inputs, outputs) -> None:
    """Raises ArgumentError for an output that shares memory with an input of other points, or with another output.
    what: the call, for messages. inputs, outputs: (name, Block) pairs whose points correspond in their order."""
    for number, (name, block) in enumerate(outputs):
        # With the outputs before it.
        for other, second in outputs[:number]:
            refuse(
                share_memory(block, second),
                f"{what}: the outputs '{other}' and '{name}' share memory: give each an array of its own.",
            )

        # With itself.
        refuse(
            _others_of(block, block),
            f"{what}: two points or variables of the output '{name}' are one number in memory.",
        )

        # With the inputs.
        for other, second in inputs:
            refuse(
                _others_of(block, second),
                f"{what}: the output '{name}' shares memory with the input '{other}' of other points: give it an array "
                "of its own. (The same points in place are fine.)",
            )


def share_memory(one: Block, two: Block) -> bool:
    """Whether a byte belongs to both selections."""
    if _apart_by_range(one, two):
        return False
    return any(_arrays_meet(a, b) for a in one.arrays for b in two.arrays)


def _arrays_meet(one: Block, two: Block) -> bool:
    """share_memory of blocks that are an array each."""
    return not _apart_by_range(one, two) and _meet(_array(one, _all(one)), _array(two, _all(two)))


def _others_of(written: Block, read: Block) -> bool:
    """Whether a point that is written shares a byte with another point that is read; of an output with itself, also
    whether two of its variables are one number."""
    if _apart_by_range(written, read):
        return False

    for number, one in enumerate(written.arrays):
        if any(_other_points_of(one, two) for two in read.arrays):
            return True
        if written is read and any(_arrays_meet(one, two) for two in written.arrays[:number]):
            return True

    return False


def _other_points_of(written: Block, read: Block) -> bool:
    """_others_of blocks that are an array each."""
    if _apart_by_range(written, read):
        return False

    own = written is read
    space = _space(written)
    if space != _space(read):
        return _meet(_array(written, _all(written)), _array(read, _all(read)))

    # Two points differ by a step in some direction. In the first such direction it goes forwards or backwards.
    for d, (n, stride) in enumerate(space):
        ahead, rest = (n - 1, stride), space[d + 1 :]
        forwards = _array(written, [ahead, *rest, *_variables(written)], stride)
        backwards = _array(read, [ahead, *rest, *_variables(read)], stride)

        if _meet(forwards, _array(read, [*rest, *_variables(read)])):
            return True
        if not own and _meet(_array(written, [*rest, *_variables(written)]), backwards):
            return True

    # An output with itself: two variables of the same point.
    variables = _variables(written)
    return own and any(abs(stride) < written.size for _, stride in variables)


def _apart_by_range(one: Block, two: Block) -> bool:
    """Whether the address ranges are disjoint, or a selection is empty: the usual case."""
    if not (one.points and two.points):
        return True
    return one.range[1] <= two.range[0] or two.range[1] <= one.range[0]


def _space(block: Block) -> list[tuple[int, int]]:
    """(extent, bytes to the next point) of each direction with several points."""
    return [(n, s * block.size) for n, s in zip(block.n[:3], block.strides) if n > 1]


def _variables(block: Block) -> list[tuple[int, int]]:
    """(extent, bytes to the next variable); empty for a single variable."""
    return [(block.n[3], block.strides[3] * block.size)] if block.n[3] > 1 else []


def _all(block: Block) -> list[tuple[int, int]]:
    """All directions, and the variables."""
    return [*_space(block), *_variables(block)]


class _Addresses:
    """Addresses of a selection in NumPy's description of an array. The memory is not read."""

    def __init__(self, address: int, size: int, dimensions):
        self.__array_interface__ = {
            "version": 3,
            "data": (address, True),
            "shape": tuple(n for n, _ in dimensions),
            "strides": tuple(stride for _, stride in dimensions),
            "typestr": f"|V{size}",
        }


def _array(block: Block, dimensions, ahead: int = 0) -> np.ndarray:
    """The elements from `ahead` bytes after the first element on. dimensions: (extent, bytes to the next element)
    pairs."""
    return np.asarray(_Addresses(block.first + ahead, block.size, dimensions))


def _meet(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether the arrays share a byte; True if the search takes too long."""
    try:
        found = np.shares_memory(one, two, max_work=MOST_WORK)  # type: ignore[arg-type]
        return bool(found)
    except (RuntimeError, OverflowError):  # NumPy's TooHardError is a RuntimeError
        return True
