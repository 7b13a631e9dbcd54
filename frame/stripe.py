"""Block, selection, stripe: Fortran's bounds become the index arithmetic of kernels.marshal.

A block is the part of a field that one rank owns, fringe included. Bounds select points and variables. The selected
points are numbered, x fastest, then y, then z. A stripe is a range of these numbers.
"""

from __future__ import annotations

from kernels.marshal import Block

from .errors import ArgumentError, refuse

HINT = "bounds are Fortran's, counted from 1 and inclusive; did the caller forget %VAL()?"


def block_from_bounds(address: int, extents, bounds) -> Block:
    """The selection of an old-style call: a contiguous Fortran array (nx, ny, nz, nvar).

    extents: (nx, ny, nz); bounds: SptX, EptX, SptY, EptY, SptZ, EptZ, SptData, EptData.
    The call does not say how many variables the array has, so EptData cannot be checked. Ept = Spt - 1 selects no
    points. Errors: ArgumentError names the axis, the bounds, and the allowed range.
    """
    nx, ny, nz = extents
    shape = (nx, ny, nz, max(bounds[7], 1))
    lo, n = [], []
    for axis, extent, first, last in zip(("X", "Y", "Z", "Data"), shape, bounds[::2], bounds[1::2]):
        if not 1 <= first <= last + (axis != "Data") <= extent + (axis != "Data"):
            within = f"1 <= Spt{axis} <= Ept{axis}" + ("" if axis == "Data" else f" <= {extent}")
            raise ArgumentError(
                f"Spt{axis}, Ept{axis} = {first}, {last}, wanted {within} for the block ({nx}, {ny}, {nz}); {HINT}"
            )
        lo.append(first - 1)
        n.append(last - first + 1)
    return Block(address, shape, (1, nx, nx * ny, nx * ny * nz), tuple(lo), tuple(n))


def block_from_field(name: str, address: int, extent, stride, lo, hi, rows: int, size: int = 8) -> Block:
    """The selection of a new-style call: any array of rank 0 to 4 with its strides (in elements).

    size: bytes of an element, 8 or 4. The last dimension counts the variables when the view has several rows or the
    array has rank 4. lo, hi: up to four bounds in space, 0 = not given. hi = lo - 1 selects no points; an empty array
    selects none for any bounds. Errors: ArgumentError on rank, number of variables, bounds.
    """
    extent, stride = tuple(extent), tuple(stride)
    variables, variable_stride = 1, 0
    if rows > 1 or len(extent) == 4:
        refuse(
            not extent or extent[-1] != rows,
            f"array for '{name}' has shape {extent}, wanted a last dimension of {rows} variable{'s' * (rows > 1)}.",
        )
        *extent, variables = extent
        *stride, variable_stride = stride
    rank = len(extent)
    for what, bounds in (("lo", lo), ("hi", hi)):
        refuse(
            any(bounds[rank:]),
            f"array for '{name}' has {rank} dimensions in space, {what} has {sum(map(bool, bounds))} bounds.",
        )
    start, count = [], []
    for d in range(rank):
        first, last = (lo[d] or 1, _shown(hi[d] or extent[d])) if all(extent) else (1, extent[d])
        refuse(
            not 1 <= first <= last + 1 <= extent[d] + 1,
            f"array for '{name}': bounds {_shown(first)}:{last} in dimension {d + 1}, wanted within 1:{extent[d]}, "
            "counted from 1 in the array as passed.",
        )
        start.append(first - 1)
        count.append(last - first + 1)
    pad = 3 - rank
    return Block(
        address,
        (*extent, *[1] * pad, variables),
        (*stride, *[0] * pad, variable_stride),
        (*start, *[0] * pad, 0),
        (*count, *[1] * pad, variables),
        size=size,
    )


def _shown(index):
    return 0 if index == -(2**31 - 1) else index  # the Fortran module passes this number for a 0 that the host gave


def point(block: Block, t: int) -> tuple[int, int, int]:
    """Fortran indices (i, j, k) in the host's block of the selected point number t (zero-based)."""
    mx, my, _, _ = block.n
    return t % mx + block.lo[0] + 1, t // mx % my + block.lo[1] + 1, t // (mx * my) + block.lo[2] + 1


def check_stripe(block: Block, first: int, last: int, chunk: int) -> int:
    """Number of points of the stripe first..last (Fortran). Errors: ArgumentError when it leaves the selection or the
    chunk."""
    total = block.points
    if not total:
        empty = ", ".join(
            f"Spt{axis}, Ept{axis} = {lo + 1}, {lo + n}" for axis, lo, n in zip("XYZ", block.lo, block.n) if not n
        )
        raise ArgumentError(
            f"no points are selected by {empty}, so there is no stripe {_shown(first)}..{_shown(last)} to copy; {HINT}"
        )
    if not 1 <= first <= last <= total:
        raise ArgumentError(
            f"stripe {_shown(first)}..{_shown(last)}, wanted within 1..{total}, the selected points; {HINT}"
        )
    if last - first + 1 > chunk:
        raise ArgumentError(
            f"stripe {first}..{last} has {last - first + 1} points, more than the chunk's {chunk} (nGridPoints)."
        )
    return last - first + 1
