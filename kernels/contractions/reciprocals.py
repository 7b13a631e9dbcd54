"""Reciprocals by which kernels divide whole numbers by extents that are known when a launch is bound."""

from __future__ import annotations


def reciprocal(extent: int) -> tuple[int, int]:
    """(r, s) such that x // extent = (x r // 2^32 + x) // 2^s for 0 <= x < 2^31; 0 < extent < 2^31.

    Granlund & Montgomery, Division by invariant integers using multiplication, PLDI 1994 (figure 4.1; original not
    seen).
    """
    shift = (extent - 1).bit_length()
    return ((1 << 32) * ((1 << shift) - extent)) // extent + 1, shift
