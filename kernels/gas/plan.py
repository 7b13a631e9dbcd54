"""A plan: kernels joined by names into one launch, and the constants that they read laid out. A schedule (schedules/)
renders it."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..engine.errors import is_one_of, refuse
from .records import PointKernel
from .registry import registry
from .species import GAS_CONSTANT

LARGE = 2048  # numbers; longer constants stand outside the struct of constants, which keeps a pointer to them

# "mixed": single precision of the arrays, all arithmetic is double; "single": of arithmetic and constants too. "scalar"
# (no packs), "wide" (quadruple) and "count" (operations) are for tests, on a CPU.
PRECISIONS = ("double", "mixed", "single", "scalar", "wide", "count")
ON_DEVICE = PRECISIONS[:3]
ALONE = "alone"  # doubles of a point by itself (engine/numbers/alone.h): for functions of a point on a CPU, no program
FLOAT_ARRAYS = ("mixed", "single")


def dtype_of(precision: str) -> np.dtype:
    """Type of the arrays that a program of this precision takes and fills. Raises ArgumentError for an unknown
    precision."""
    refuse(not is_one_of(precision, PRECISIONS), f"precision '{precision}'; wanted one of {', '.join(PRECISIONS)}.")
    return np.dtype(np.float32 if precision in FLOAT_ARRAYS else np.float64)


@dataclasses.dataclass(frozen=True)
class Launch:
    """How a CUDA kernel is launched: a row of the table of launches. `hold` names the schedule."""

    threads: int = 128  # of a block; of "lanes" at most, as there is shared memory for
    # Where species inputs stay between sweeps: "registers" (every species loop unrolled), "shared" memory, or nowhere
    # ("reload"). "crew": the warps of a block share points. "lanes": the lanes of a warp share a point.
    hold: str = "registers"
    unroll: int = 4  # of species loops that are not unrolled entirely; of "crew", the points of a lane
    blocks: int = 0  # of a multiprocessor, which limits registers; 0: no limit
    pairs: int | str = 4  # rows of a panel of a pair matrix, or "units": matrix units
    constants: str = "constant"  # memory of the mixture's constants: "constant", "shared" or "device"
    persistent: bool = False  # a block takes one stretch of points after the other, and copies constants once


@dataclasses.dataclass(frozen=True)
class Plan:
    """A launch as a schedule renders it."""

    name: str
    kernels: tuple[PointKernel, ...]  # in order
    reads: tuple[str, ...]  # external names
    writes: tuple[str, ...]  # outputs that are kept
    sizes: dict[str, int]  # integers known to the compiler
    flags: dict[str, bool]  # switches known to the compiler
    values: dict[str, np.ndarray]  # constants; those for a GPU's matrix units are doubles in any precision
    tables: tuple[str, ...] = ()  # constants that are tables in single precision
    how: Launch | None = None  # on CUDA
    precision: str = "double"
    numbers: dict[str, float] = dataclasses.field(default_factory=dict)  # doubles known to the compiler
    R: float = GAS_CONSTANT  # J/mol/K
    members: str = ""  # C++ text of member functions of the constants' struct
    pieces: tuple[tuple[str, str], ...] = ()  # (where it was written, C++) of parts that people write, for messages

    @property
    def launch(self) -> Launch:
        """How it is launched on CUDA; a plan for a CPU has none."""
        assert self.how is not None
        return self.how

    @property
    def dtype(self) -> np.dtype:
        """Type of the arrays that are read and filled."""
        return dtype_of(self.precision)

    @property
    def has_float_arrays(self) -> bool:
        """Whether the arrays are in single precision."""
        return self.precision in FLOAT_ARRAYS

    @property
    def ns(self) -> int:
        """Number of species."""
        return self.sizes["NS"]

    def rows(self, name) -> int:
        """Number of values of a quantity at each point."""
        return registry.quantities[name].rows(self.ns, self.sizes.get("NR", 0))

    @property
    def arguments(self) -> tuple[str, ...]:
        """Every array the launch touches: the external inputs, then the kept outputs that are not updated in place."""
        return self.reads + tuple(w for w in self.writes if w not in self.reads)

    @property
    def constants(self) -> tuple[tuple[str, int], ...]:
        """(name, size) in the order of the struct: first pointers to arrays, then doubles, so that there is no
        padding."""
        ordered = sorted(self.values.items(), key=lambda pair: (pair[1].size <= LARGE, -pair[1].itemsize))
        return tuple((name, value.size) for name, value in ordered)
