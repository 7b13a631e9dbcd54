"""Block, selection, stripe: Fortran's bounds become the index arithmetic of kernels.marshal.

A block is the part of a field that a rank owns, fringe included. Bounds select points and variables. The selected
points are numbered, x fastest, then y, then z. A stripe is a range of these numbers.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

from kernels.engine.backend.present import refuse_absent
from kernels.marshal import Apart, Block

from .errors import ArgumentError, BadNumber, refuse

FIRST_PAGES = 65536  # no object lives there
BOUNDS = "bounds are Fortran's, counted from 1 and inclusive."


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
            raise BadNumber(
                f"Spt{axis}, Ept{axis} = {first}, {last}, wanted {within} for the block ({nx}, {ny}, {nz}); {BOUNDS}"
            )

        lo.append(first - 1)
        n.append(last - first + 1)

    return Block(address, shape, (1, nx, nx * ny, nx * ny * nz), tuple(lo), tuple(n))


IN, OUT, INOUT = range(3)
WHOLE, LOGICAL = 4, 8  # added to the way of an array of integers, of logicals
KINDS = {"f": "real", "i": "integer", "l": "logical"}
NOWHERE = (None,) * 4  # lo or hi that were not given


class Field(NamedTuple):
    """An array of a host that uses the Fortran module: of any rank from 1, any lower bounds, any strides.

    way: IN, OUT or INOUT. stride: bytes from one element to the next. size: bytes of an element, 8 or 4. An array
    without elements has no address. kind: of elements: "f" real, "i" integer, "l" logical.
    """

    name: str
    way: int
    address: int
    extent: tuple[int, ...]
    stride: tuple[int, ...]
    lower: tuple[int, ...]
    size: int
    kind: str = "f"

    @classmethod
    def contiguous(cls, name: str, way: int, address: int, extent, size: int, kind="f") -> Field:
        """An array without gaps, the fastest index first. Errors: ArgumentError for impossible extents or addresses."""
        extent = tuple(extent)
        refuse(
            min(extent, default=0) < 0,
            f"array '{name}' has the extents {', '.join(map(str, extent))}, wanted 0 or more.",
            BadNumber,
        )
        refuse(
            address < FIRST_PAGES and all(extent),
            f"array '{name}' has the address {address:#x}, wanted an array by reference; is it allocated?",
        )
        stride = tuple(itertools.accumulate((size, *extent[:-1]), lambda a, b: a * b))[: len(extent)]

        return cls(name, way, address, extent, stride, (1,) * len(extent), size, kind)

    @property
    def dtype(self) -> str:
        """Type of the elements, as NumPy writes it. A logical is an integer, 0 or not."""
        return f"{'f' if self.kind == 'f' else 'i'}{self.size}"

    @property
    def range(self) -> tuple[int, int]:
        """Addresses of the first byte and of the byte behind the last; the same where it has no elements."""
        if not all(self.extent):
            return self.address, self.address
        steps = [(n - 1) * s for n, s in zip(self.extent, self.stride)]
        return self.address + sum(min(s, 0) for s in steps), self.address + sum(max(s, 0) for s in steps) + self.size

    def reach(self, backend) -> str:
        """Backend.reach of the array. Errors: ArgumentError, with the name of the array, if its memory is not there."""
        try:
            if not backend.apart:
                refuse_absent(*self.range)
            return backend.reach(*self.range)
        except ArgumentError as error:
            raise ArgumentError(f"array '{self.name}': {error}") from None


def refuse_whole(fields) -> None:
    """Raises ArgumentError for an array of integers or logicals, which only team kernels take."""
    for field in fields:
        what = KINDS[field.kind]
        refuse(field.kind != "f", f"array '{field.name}' is {what}, wanted real: only team kernels take others.")


def grouped(fields) -> list[tuple[Field, ...]]:
    """The fields of each view: an array with all its variables, or several arrays with a variable each, in their order.

    Arrays of a name belong together if they have the same way."""
    groups: dict[tuple[str, int], list[Field]] = {}
    for field in fields:
        groups.setdefault((field.name, field.way), []).append(field)

    return [tuple(group) for group in groups.values()]


def is_number(group, rows: int) -> bool:
    """Whether the fields of a view hold the values of a single point."""
    each = rows if len(group) == 1 else 1
    return all(math.prod(field.extent) == each for field in group)


def uniform(group, rows: int, like: Block) -> Block:
    """The selection of fields that hold the values of a single point, which count at all points of `like`."""
    one = block_from_fields(group, NOWHERE, NOWHERE, rows)
    arrays = []
    for array in one.arrays:
        n = (*like.n[:3], array.n[3])
        shape = (*like.shape[:3], array.n[3])
        strides = (0, 0, 0, array.strides[3])
        arrays.append(Block(array.address, shape, strides, like.lo, n, size=array.size, lower=like.lower))

    return arrays[0] if len(arrays) == 1 else Apart.of(arrays)


def block_from_fields(group, lo, hi, rows: int) -> Block:
    """The selection of a new-style call, from the fields of a view: an array, or an array for each variable.

    rows: variables of the view. Errors: as block_from_field; ArgumentError for another number of arrays, and for arrays
    that select different extents.
    """
    name, number = group[0].name, len(group)
    if number == 1:
        return block_from_field(group[0], lo, hi, rows)

    often = "twice" if number == 2 else f"{number} times"
    refuse(rows == 1, f"the call gets '{name}' {often}: which of the arrays counts?")
    refuse(
        number != rows,
        f"'{name}' came as {number} arrays, wanted {rows}, an array for each of its variables, or a single array with "
        f"all {rows}.",
    )

    arrays = []
    for field in group:
        arrays.append(block_from_field(field, lo, hi, 1))

    for place, array in enumerate(arrays):
        refuse(
            without_ones(array.n[:3]) != without_ones(arrays[0].n[:3]),
            f"the arrays for '{name}' select different shapes of points: the first {_times(arrays[0])}, number "
            f"{place + 1} {_times(array)}.",
        )

    return Apart.of(arrays)


def without_ones(shape) -> tuple[int, ...] | None:
    """Extents other than 1, which do not count; None for a shape without points."""
    return tuple(n for n in shape if n != 1) if all(shape) else None


def _times(block: Block) -> str:
    return " x ".join(map(str, block.n[:3]))


def block_from_field(field: Field, lo, hi, rows: int) -> Block:
    """The selection of an array.

    rows: variables of the view. Dimensions 1 to 3 are space. Variables come last: the last dimension of an array of
    rank 1 to 3 when the view has several rows, else dimensions 4 and 5, the former fastest. lo, hi: four indices in the
    bounds of the array, None where not given. hi < lo, or an array without elements, selects no points. Errors:
    ArgumentError on rank, number of variables, strides, or a box that is not within the array.
    """
    what = f"array for '{field.name}'"
    space = _dimensions_of_space(what, field, rows)
    strides, variable_stride = _strides(what, field, space)
    first, count = _box(what, field, lo, hi, space)

    pad = 3 - space
    ones, zeros = (1,) * pad, (0,) * pad
    return Block(
        field.address,
        shape=(*field.extent[:space], *ones, rows),
        strides=(*strides, *zeros, variable_stride),
        lo=(*first, *zeros, 0),
        n=(*count, *ones, rows),
        size=field.size,
        lower=(*field.lower[:space], *ones),
    )


def _dimensions_of_space(what: str, field: Field, rows: int) -> int:
    """How many of the first dimensions are space; the others hold `rows` variables."""
    extent, rank = field.extent, len(field.extent)
    if rank > 5:
        raise ArgumentError(f"{what} has {rank} dimensions, wanted up to 5: three of space and two of variables.")

    space = 3
    if rank < 4:
        space = min(3, rank - 1) if rows > 1 else rank

    if math.prod(extent[space:]) != rows:
        last = "last dimension" if rank < 5 else "product of the last two dimensions"
        plural = "s" if rows > 1 else ""
        raise ArgumentError(
            f"{what} has shape {extent}, wanted a {last} of {rows} variable{plural}.{with_variables_first(field, rows)}"
        )

    return space


def with_variables_first(field: Field, rows: int) -> str:
    """A sentence on how to pass an array whose first dimension has the variables; "" for others."""
    extent, name = field.extent, field.name
    if rows == 1 or len(extent) < 2 or extent[0] != rows:
        return ""

    call = "frame_in" if field.way == IN else "frame_out"
    section = ", ".join(["k", *":" * (len(extent) - 1)])
    return f" Variables come first? Pass a section for each: ({call}('{name}', {name}({section})), k = 1, {rows})."


def _strides(what: str, field: Field, space: int) -> tuple[tuple[int, ...], int]:
    """(elements from one point to the next in each dimension of space, elements from one variable to the next)"""
    if any(stride % field.size for stride in field.stride):
        raise ArgumentError(
            f"{what} has strides of {field.stride} bytes, wanted multiples of {field.size}, the size of its elements; "
            "the compiler has packed the derived type that it belongs to."
        )

    strides = tuple([stride // field.size for stride in field.stride])

    # Two dimensions of variables are a single list.
    variables = [(n, s) for n, s in zip(field.extent[space:], strides[space:]) if n > 1]
    if len(variables) == 2 and variables[1][1] != math.prod(variables[0]) and field.address:
        raise ArgumentError(f"{what} is a section in its last two dimensions, wanted all of them: they are one list.")

    return strides[:space], variables[0][1] if variables else 0


def _box(what: str, field: Field, lo, hi, space: int) -> tuple[list[int], list[int]]:
    """(zero-based first index, extent) of the selection in each dimension of space"""
    for name, bounds in (("lo", lo), ("hi", hi)):
        if any(bound is not None for bound in bounds[space:]):
            raise ArgumentError(f"{what} has {space} dimensions in space, {name} has more than {space} bounds.")

    whole = [(first, first + n - 1) for first, n in zip(field.lower, field.extent[:space])]
    box = []
    for (first, last), low, high in zip(whole, lo, hi):
        box.append((first if low is None else low, last if high is None else high))

    count = list(field.extent[:space])
    if all(field.extent):
        count = [max(last - first + 1, 0) for first, last in box]
    outside = any(b[0] < w[0] or b[1] > w[1] for b, w in zip(box, whole))

    if all(count) and outside:
        raise ArgumentError(f"{what} has the bounds ({_ranges(whole)}), which do not contain the box ({_ranges(box)}).")

    return [b[0] - w[0] for b, w in zip(box, whole)], count


def _ranges(bounds) -> str:
    return ", ".join(f"{first}:{last}" for first, last in bounds)


def _shown(index):
    return 0 if index == -(2**31 - 1) else index  # the Fortran module passes this number for a 0 that the host gave


def point(block: Block, t: int) -> tuple[int, int, int]:
    """Fortran indices (i, j, k) in the host's array of the selected point number t (zero-based)."""
    mx, my, _, _ = block.n
    i, j, k = (at + lo + lower for at, lo, lower in zip((t % mx, t // mx % my, t // (mx * my)), block.lo, block.lower))
    return i, j, k


def check_stripe(block: Block, first: int, last: int, chunk: int) -> int:
    """Number of points of the stripe first..last (Fortran). Errors: ArgumentError when it leaves the selection or the
    chunk."""
    total = block.points
    if not total:
        empty = ", ".join(
            f"Spt{axis}, Ept{axis} = {lo + 1}, {lo + n}" for axis, lo, n in zip("XYZ", block.lo, block.n) if not n
        )
        raise BadNumber(
            f"no points are selected by {empty}, so there is no stripe {_shown(first)}..{_shown(last)}; {BOUNDS}"
        )

    if not 1 <= first <= last <= total:
        raise BadNumber(
            f"stripe {_shown(first)}..{_shown(last)}, wanted within 1..{total}, the selected points; {BOUNDS}"
        )

    if last - first + 1 > chunk:
        raise ArgumentError(
            f"stripe {first}..{last} has {last - first + 1} points, more than the chunk's {chunk} (nGridPoints)."
        )

    return last - first + 1


class Listed(NamedTuple):
    """Contiguous arrays of a host as an old-style call lists them."""

    names: str  # separated by commas
    addresses: list[int]
    n: int  # number of addresses
    extents: list[int]  # of all arrays, one array after the other, the fastest index first
    m: int  # number of extents
    size: int  # bytes of a real number


def listed(arrays: Listed, what) -> list[Field]:
    """The arrays of an old-style call.

    what(name) -> (rank, way), or (rank, way, bytes, kind) for another type than real. Errors: ArgumentError.
    """
    addresses, lengths, size = arrays.addresses, arrays.extents, arrays.size
    words = [word.strip() for word in arrays.names.split(",")]
    refuse(size not in (8, 4), f"bytes = {size}, wanted 8 or 4, of a number.", BadNumber)
    refuse(len(addresses) != len(words), f"{len(words)} names in '{arrays.names}', {len(addresses)} addresses.")

    known = [what(word) for word in words]
    wanted = sum([rank for rank, *_ in known])
    ranks = ", ".join(f"{rank} of '{word}'" for word, (rank, *_) in zip(words, known))
    refuse(len(lengths) != wanted, f"{len(lengths)} extents, wanted {wanted}: {ranks}.")

    fields, at = [], 0
    for word, address, (rank, way, *other) in zip(words, addresses, known):
        fields.append(Field.contiguous(word, way, address, lengths[at : at + rank], *(other or (size,))))
        at += rank

    return fields
