"""Where the selected points of a host lie: addresses, extents and strides, as copies and launches read them."""

from __future__ import annotations

import dataclasses
import functools


@dataclasses.dataclass(frozen=True)
class Block:
    """A 4-D array of the host (x, y, z, variable; x fastest) with a selection. frame/stripe.py validates it."""

    address: int  # of element (0, 0, 0, 0)
    shape: tuple[int, ...]  # (nx, ny, nz, variables)
    strides: tuple[int, ...]  # in elements, for x, y, z, variable
    lo: tuple[int, ...]  # start of the selection in x, y, z, variable, from 0
    n: tuple[int, ...]  # extents of the selection
    on_device: bool = False  # the address is in device memory
    size: int = 8  # bytes of an element, 8 or 4
    lower: tuple[int, ...] = (1, 1, 1)  # lower bounds of the host's array in x, y, z, for messages

    @functools.cached_property
    def first(self) -> int:
        """Address of the first selected element."""
        return self.address + self.size * sum(a * s for a, s in zip(self.lo, self.strides))

    @property
    def points(self) -> int:
        """Number of selected points."""
        return self.n[0] * self.n[1] * self.n[2]

    @property
    def whole(self) -> bool:
        """Whether the selected points are contiguous in memory."""
        step = 1
        for n, stride in zip(self.n[:3], self.strides):
            if n > 1 and stride != step:
                return False
            step *= n

        return True

    @property
    def lines(self) -> tuple[int, ...]:
        """(nx, ny, stride in x, in y, in z) of the lines that are copied, in the order of the points. Lines that
        continue each other are one line: long runs are copied faster."""
        if self.whole:
            return self.points, 1, 1, 0, 0

        nx, ny, nz = self.n[:3]
        sx, sy, sz = self.strides[:3]
        if sy == nx * sx:
            nx, ny, nz, sy, sz = nx * ny, nz, 1, sz, 0
        if sy == nx * sx and nz == 1:
            nx, ny = nx * ny, 1

        return nx, ny, sx, sy, sz

    @functools.cached_property
    def range(self) -> tuple[int, int]:
        """Address of the lowest selected byte, and the address behind the highest."""
        low = high = 0
        for n, stride in zip(self.n, self.strides):
            reach = (n - 1) * stride
            low += min(reach, 0)
            high += max(reach, 0)

        return self.first + self.size * low, self.first + self.size * (high + 1)

    @property
    def arrays(self) -> tuple[Block, ...]:
        """The arrays that hold the variables, in the order of the variables."""
        return (self,)

    @property
    def addresses(self) -> list[int]:
        """The address of the first selected point of each variable."""
        addresses = []
        for array in self.arrays:
            step = array.size * array.strides[3]
            addresses += [array.first + number * step for number in range(array.n[3])]
        return addresses


@dataclasses.dataclass(frozen=True)
class Apart(Block):
    """Variables in arrays of their own: a block of a single variable for each. All select the same extents of points.

    The fields of Block are those of the first array, with the number of arrays as the number of variables.
    """

    each: tuple[Block, ...] = ()

    @classmethod
    def of(cls, each) -> Apart:
        each = tuple(each)
        fields = {field.name: getattr(each[0], field.name) for field in dataclasses.fields(Block)}
        fields["n"] = (*each[0].n[:3], len(each))
        return cls(**fields, each=each)

    @property
    def arrays(self) -> tuple[Block, ...]:
        return self.each

    @property
    def whole(self) -> bool:
        return all(block.whole for block in self.each)

    @functools.cached_property
    def range(self) -> tuple[int, int]:
        """From the lowest byte of any array to the highest: other memory may lie between."""
        ranges = [block.range for block in self.each]
        return min(low for low, _ in ranges), max(high for _, high in ranges)


def rows_block(array) -> Block:
    """A block with all elements of a host matrix (rows, points): the rows are variables."""
    rows, points = array.shape
    extents = (points, 1, 1, rows)
    pitch = array.strides[0] // array.itemsize
    address = array.__array_interface__["data"][0]
    return Block(address, extents, (1, 0, 0, pitch), (0, 0, 0, 0), extents, size=array.itemsize)
