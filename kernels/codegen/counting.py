"""What a collection costs at a point: operations, counted by running it on a number type that counts, and bytes."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..backend import get_backend
from ..backend.base import Shape
from ..backend.record import record

# Order of the counters in counted.h. `choice`: comparisons, selections, signs, roundings. `table`: numbers looked up.
# `narrow`: additions, multiplications and divisions that are done in single precision for a result in double.
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
    """A point's mean: operations by kind, and bytes read and written when each array is touched once."""

    operations: dict[str, float]
    bytes: int

    @property
    def flops(self) -> float:
        """Additions and multiplications; functions, divisions and roots are apart, each has a pace of its own."""
        return self.operations["add"] + self.operations["multiply"]


def cost(mixture, outputs, arrays) -> Cost:
    """Cost of the program from `arrays` (name -> (n,) or (rows, n), float64, host) to `outputs`, the mean over its n
    points.

    Operations as the bodies are written: a compiler may share some, so that a bound made of them could be a little
    high.
    """
    backend = get_backend("cpu", threads=1)
    program = mixture.program(outputs=outputs, given=tuple(arrays), backend=backend, precision="count")
    n = next(iter(arrays.values())).shape[-1]
    bound = {name: backend.empty((program.plan.rows(name), n)) for name in program.plan.arguments}
    for name in program.reads:
        bound[name][...] = arrays[name]
    counts = np.zeros(len(KINDS))
    hand_out = program.module.bind("frame_counts", Shape(), record("into:address", into=counts.ctypes.data))
    hand_out(1)  # another run of the same library may have counted before
    program.bind(bound)(n)
    hand_out(1)
    touched = program.plan.reads + program.plan.writes  # one updated in place is read and written
    return Cost(dict(zip(KINDS, counts / n)), 8 * sum(map(program.plan.rows, touched)))
