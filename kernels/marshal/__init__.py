"""Blocks of a host and the stripes cut from them."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Block:
    """A host's 4-D array (x fastest) and a selection in it. Nothing here is validated: frame/stripe.py does that.

    address: of element (0, 0, 0, 0). shape: (nx, ny, nz, variables). strides: in elements, for x, y, z, variable.
    lo: zero-based start of the selection; n: its extents. on_device: address is device memory. size: bytes of an
    element, 8 or 4.
    """

    address: int
    shape: tuple[int, int, int, int]
    strides: tuple[int, int, int, int]
    lo: tuple[int, int, int, int]
    n: tuple[int, int, int, int]
    on_device: bool = False
    size: int = 8

    @property
    def first(self) -> int:
        """Address of the selection's first element."""
        return self.address + self.size * sum(a * s for a, s in zip(self.lo, self.strides))

    @property
    def points(self) -> int:
        return self.n[0] * self.n[1] * self.n[2]
