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
    """Mean of a point: operations by kind, and bytes read and written if each array is read or written once."""

    operations: dict[str, float]
    bytes: int

    @property
    def flops(self) -> float:
        """Additions and multiplications. Functions, divisions and roots are not included: each takes another time."""
        return self.operations["add"] + self.operations["multiply"]


def cost(mixture, outputs, arrays) -> Cost:
    """Cost of the program from `arrays` (name -> (n,) or (rows, n), float64, host) to `outputs`: the mean over the n
    points.

    Operations are counted as the bodies are written. A compiler may share some of them: a lower bound of the time made
    from these counts could be slightly too high.
    """
    backend = get_backend("cpu", threads=1)
    program = mixture.program(outputs=outputs, given=tuple(arrays), backend=backend, precision="count")
    n = next(iter(arrays.values())).shape[-1]
    bound = {name: backend.empty((program.plan.rows(name), n)) for name in program.plan.arguments}
    for name in program.reads:
        bound[name][...] = arrays[name]
    counts = np.zeros(len(KINDS))
    hand_out = program.module.bind("frame_counts", Shape(), record("into:address", into=counts.ctypes.data))
    hand_out(1)  # sets the counters to zero: an earlier run of the same library may have counted
    program.bind(bound)(n)
    hand_out(1)
    touched = program.plan.reads + program.plan.writes  # an array updated in place is in both
    return Cost(dict(zip(KINDS, counts / n)), 8 * sum(map(program.plan.rows, touched)))
