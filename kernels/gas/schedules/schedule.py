"""A schedule: how the points of a launch go to vector lanes, threads, warps or blocks."""

from __future__ import annotations

import typing

from ...engine.backend.base import Rows, Shape, Source
from ...engine.errors import MixtureError
from ..plan import Launch, Plan
from ..records import PointKernel

ARCHITECTURE = "sm_90"  # whose shared memory launches and tables are made for; other devices take what fits them


class Lie(typing.NamedTuple):
    """How the arrays of a launch lie."""

    box: str = ""  # points: contiguous; "even": a box of larger arrays; "uneven": on a CPU a box of each
    apart: bool = False  # rows lie anywhere, for a device, which has a kernel of its own for that


CONTIGUOUS = Lie()


class Schedule:
    """The same few questions to every schedule."""

    name: str  # in the columns of the table of launches
    holds: tuple[str, ...] = ()  # the values of Launch.hold that mean this schedule
    sharers = ""  # who share the work of points, for messages
    on_device = False

    def takes(self, how: Launch | None, kernels) -> bool:
        """Whether a launch of these kernels goes by this schedule."""
        return how is not None and how.hold in self.holds

    def serves(self, kernels, mixture) -> bool:
        """Whether this schedule can run these kernels for the mixture."""
        return True

    def constants(self, kernel: PointKernel) -> tuple[str, ...]:
        """Names of the constants that the kernel's body reads under this schedule."""
        return kernel.constants

    def shape(self, p: Plan) -> Shape:
        """Threads, shared memory [bytes] and blocks of a launch."""
        return Shape()

    def render(self, p: Plan, lie: Lie = CONTIGUOUS) -> Source:
        """The source of a plan for arrays that lie so; its kernel is `frame_run`."""
        raise NotImplementedError

    # Set-up of a bound program

    def in_constant_memory(self, p: Plan) -> bool:
        """Whether the mixture's constants lie in a device's constant memory."""
        return False

    def reads_inputs_once(self, p: Plan) -> bool:
        """Whether a launch on a device reads each number of a species input once."""
        return False

    def skips_points(self, p: Plan) -> bool:
        """Whether the first block can leave out its first threads, so that blocks begin with a line of memory."""
        return False

    def apart(self, arrays: typing.Iterable[Rows]) -> bool:
        """Whether rows of an array are not equally far apart, by whole numbers."""
        return any(array.distance is None or array.distance % array.dtype.itemsize for array in arrays)

    def places(self, arrays: list[Rows]) -> tuple[list[int], typing.Any]:
        """(what a record says of the places of the arrays, what that points to)"""
        words: list[int] = []
        if self.apart(arrays):
            for array in arrays:
                words += array.addresses
            return words, None

        for array in arrays:
            assert array.distance is not None
            words += [array.addresses[0], array.distance // array.dtype.itemsize]
        return words, None

    def record_tail(self, skipped: int, box: typing.Sequence[int]) -> list[int]:
        """The words of a record that follow its arrays. skipped: threads that the first block leaves out."""
        return [*box]


def has_constant(mixture, name: str) -> bool:
    """Whether the mixture has this constant."""
    try:
        found = mixture.constant(name)
    except MixtureError:
        return False
    return found is not None and found.kind is not None
