"""Cost of a collection at a point: bytes, and operations, counted by running it on a number type that counts."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..engine.backend import get_backend
from ..engine.backend.base import Shape
from ..engine.backend.record import record

# In the order of the counters in counted.h. choice: comparisons, selections, signs, roundings. table: numbers looked
# up. narrow, narrow_divide: additions and multiplications, and divisions, in single precision for a result in double.
KINDS = (
    "add",
    "multiply",
    "divide",
    "root",
    "exp",
    "log",
    "cube_root",
    "start",
    "choice",
    "table",
    "narrow",
    "narrow_divide",
)


@dataclasses.dataclass(frozen=True)
class Cost:
    """Means over points."""

    operations: dict[str, float]  # by kind, KINDS
    bytes: int  # read and written if each array is read or written once

    @property
    def flops(self) -> float:
        """Additions and multiplications. Functions, divisions and roots are not included: each takes another time."""
        return self.operations["add"] + self.operations["multiply"]


def cost(mixture, outputs, arrays) -> Cost:
    """Cost of a program at a point: the mean over n points.

    arrays: {input: (n,) or (rows, n)}, float64, on the host. outputs: names. Operations are counted as the bodies are
    written. A compiler may share some of them, so a lower bound of the time from these counts may be slightly too high.
    """
    # The program on the number type that counts.
    backend = get_backend("cpu", threads=1)
    program = mixture.program(outputs=outputs, given=tuple(arrays), backend=backend, precision="count")
    n = next(iter(arrays.values())).shape[-1]
    bound = {name: backend.empty((program.plan.rows(name), n)) for name in program.plan.arguments}
    for name in program.reads:
        bound[name][...] = arrays[name]

    # The library's counters are handed out, and set to zero, by a kernel: an earlier run may have counted.
    counts = np.zeros(len(KINDS))
    hand_out = program.module.bind("frame_counts", Shape(), record("into:address", into=counts.ctypes.data))
    hand_out(1)
    program.bind(bound)(n)
    hand_out(1)

    touched = program.plan.reads + program.plan.writes  # an array updated in place is in both
    return Cost(dict(zip(KINDS, counts / n)), 8 * sum(map(program.plan.rows, touched)))
