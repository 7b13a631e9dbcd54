"""The arrays of a contraction's launch: where they lie, and what is wrong with them, told by array and index.

Everything is looked at before anything is written. plan: a Contraction.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..engine.errors import ArgumentError
from ..engine.values import is_number, typed_number
from .arrays import as_array, lies_apart
from .expression import Expression, Reference
from .organisations import library_costs
from .plan import Array

CACHE_LINE = 64  # bytes


# ---- arrays of a plan -----------------------------------------------------------------------------------------------


def operands_of(plan, arrays: Mapping[str, Any]) -> dict:
    """All arrays by name, where the backend works. Raises ArgumentError."""
    found = {name: _operand(plan, name, arrays[name]) for name in plan.expression.require(arrays)}
    for name, array in found.items():
        device = hasattr(array, "__cuda_array_interface__")
        if plan.backend.product and device != (plan.backend.memory == "device"):
            raise ArgumentError(f"array '{name}' is not where backend {plan.backend} works.")
    return found


def _operand(plan, name: str, given):
    """The array that is bound for what came. A number becomes an array of its own, which run() keeps: NumPy's scalars
    tell the address of a copy that is freed at once."""
    if is_number(given):
        if name in plan.expression.outputs:
            raise ArgumentError(f"output '{name}' is a number ({type(given).__name__}), wanted an array to write.")
        return plan.backend.from_host(typed_number(name, given, plan.dtype), plan.dtype)

    array = as_array(name, given, plan.backend)
    if not hasattr(array, "strides") or not hasattr(array, "dtype"):
        raise ArgumentError(
            f"array '{name}' is {type(given).__name__}, wanted an array of {plan.backend.arrays.__name__}."
        )
    return array


def checked(plan, arrays, n: int) -> dict:
    """Numbers of a launch for n entries: of each array the address, the step between entries and that between parts a
    batch apart; whether outputs bypass the caches. Raises ArgumentError."""
    e = plan.expression
    if n < 0 or (not e.batch and n != 1):
        raise ArgumentError(f"tensor expression: n = {n}, wanted {'0 or more' if e.batch else '1'}.")

    values: dict[str, int] = {}
    spans = {}
    for a in plan.program.arguments:
        array = arrays[a.name]
        values[f"step_{a.name}"], values[f"ld_{a.name}"] = place_of(plan, a.name, array, n)
        values[f"at_{a.name}"] = address = plan.backend.address(array) if array.size else 0
        if array.size:
            spans[a.name] = Span.of(address, array.shape, array.strides)
        _check_argument(e, a, array, n)

    for name, other in itertools.product(spans, spans):
        if name in e.outputs and name != other and shared(spans[name], spans[other], plan.dtype.itemsize):
            raise ArgumentError(f"output '{name}' and array '{other}' share memory.")

    values["past"] = int(bypass(plan, values, n))
    return values


def unchecked(plan, arrays, known, n: int) -> dict:
    """The same numbers of arrays that a plan around this one has checked or made. known: values of some of them, as
    `checked` finds them; the others are contiguous."""
    values: dict[str, int] = {}
    for a in plan.program.arguments:
        array, step = arrays[a.name], f"step_{a.name}"
        if step in known:
            values |= {key: known[key] for key in (step, f"ld_{a.name}", f"at_{a.name}")}
            continue
        values[step] = a.after
        values[f"ld_{a.name}"] = math.prod(array.shape[a.place :]) if a.place is not None else 0
        values[f"at_{a.name}"] = plan.backend.address(array) if array.size else 0

    values["past"] = int(bypass(plan, values, n))
    return values


def place_of(plan, name: str, array, n: int) -> tuple[int, int]:
    """(step between entries, step between parts a batch apart), in numbers. Raises ArgumentError."""
    a, shape = plan.program.arrays[name], tuple(array.shape)
    _check_shape(plan, a, array, n)
    backwards = plan.how.BACKWARDS and name not in plan.expression.outputs
    if plan.how.STRIDED and lies_apart(array, backwards):
        return a.after, 0

    # Contiguous from the last dimension up; entries may lie further apart if the batch index is in front.
    size = plan.dtype.itemsize
    step, expected = a.after, 1
    for place in reversed(range(len(shape))):
        stride, extent = array.strides[place], shape[place]
        first = place == a.place == 0
        if first and extent > 1 and stride >= expected * size and stride % size == 0:
            step = stride // size
        elif extent > 1 and stride != expected * size and (place == a.place or n > 0):
            raise ArgumentError(_scattered(a, place, stride, expected * size))
        expected *= extent

    rows = math.prod(shape[a.place :]) if a.place is not None else 0
    return step, rows


def _check_shape(plan, a: Array, array, n: int) -> None:
    """Raises ArgumentError for a wrong type, number of dimensions or extent."""
    shape = tuple(array.shape)
    if array.dtype != plan.dtype:
        raise ArgumentError(f"array '{a.name}': type {array.dtype}, wanted {plan.dtype.name}.")
    if len(shape) != len(a.extents):
        raise ArgumentError(
            f"array '{a.name}': {len(shape)} dimensions {shape}, wanted {len(a.extents)}: [{' '.join(a.indices)}]."
        )

    for place, (found, wanted, index) in enumerate(zip(shape, a.extents, a.indices)):
        if place == a.place and found < n:
            raise ArgumentError(f"array '{a.name}', index '{index}': extent {found}, wanted {n} or more.")
        if place != a.place and found != wanted:
            raise ArgumentError(f"array '{a.name}', index '{index}': extent {found}, wanted {wanted}.")


def _scattered(a: Array, place: int, stride: int, wanted: int) -> str:
    return (
        f"array '{a.name}', index '{a.indices[place]}': neighbours are {stride} bytes apart, wanted {wanted}: "
        "contiguous but for the batch index in front."
    )


def _check_argument(e: Expression, a: Array, array, n: int) -> None:
    """Raises ArgumentError for an output that is read-only, or an extent that is compiled in."""
    if a.name in e.outputs and not getattr(array.flags, "writeable", True):
        raise ArgumentError(f"array '{a.name}' is read-only, and an output.")
    if not a.mixed:
        return
    extents = {array.shape[r.indices.index(e.batch)] for r in e.references[a.name] if e.batch in r.indices}
    if n not in extents:
        raise ArgumentError(f"array '{a.name}': n = {n}, wanted the extent of '{e.batch}' that is compiled in.")


# ---- outputs past the caches ----------------------------------------------------------------------------------------


def bypass(plan, values, n: int) -> bool:
    """Whether outputs bypass the caches: they are large, and each entry begins on a cache line."""
    p, size = plan.program, plan.dtype.itemsize
    outputs = [p.arrays[name] for name in p.expression.outputs]
    written = n * sum(a.size for a in outputs) * size
    if not library_costs.streamed(written, library_costs.held_bytes(p, n)):
        return False
    if not all(library_costs.is_sent(a.size * size) for a in outputs):
        return False
    return all(_begins_on_lines(plan, a, values, CACHE_LINE // size) for a in outputs)


def _begins_on_lines(plan, a: Array, values, numbers: int) -> bool:
    """Whether the entries of an output begin on cache lines of so many numbers, and old values are not read."""
    if a.name in plan.expression.updated or values[f"at_{a.name}"] % CACHE_LINE:
        return False
    if a.place is None:
        return True

    parts = not a.place or values[f"ld_{a.name}"] % numbers == 0
    if a.place and a.after == 1:  # entries side by side, of which a vector takes as many as it holds
        return parts
    return parts and a.after % numbers == 0 and values[f"step_{a.name}"] % numbers == 0


# ---- arrays that overlap --------------------------------------------------------------------------------------------


class Span(NamedTuple):
    """Where the numbers of an array lie."""

    begin: int  # the lowest address
    shape: tuple[int, ...]
    steps: tuple[int, ...]  # bytes, of any sign

    @classmethod
    def of(cls, address: int, shape, steps) -> Span:
        """address: of the first number."""
        before = sum((n - 1) * step for n, step in zip(shape, steps) if step < 0)
        return cls(address + before, tuple(shape), tuple(steps))

    def length(self, first: int, size: int) -> int:
        """Bytes of the dimensions from `first` on. size: of a number."""
        return sum((n - 1) * abs(step) for n, step in zip(self.shape[first:], self.steps[first:])) + size


def shared(one: Span, other: Span, size: int) -> bool:
    """Whether two arrays, the slowest dimension first, overlap. Two whose first dimensions make the same steps may lie
    between each other: sections of one larger array."""
    ends = [span.begin + span.length(0, size) for span in (one, other)]
    if ends[0] <= other.begin or ends[1] <= one.begin:
        return False
    step = one.steps[0] if one.steps else 0
    if step <= 0 or not other.steps or other.steps[0] != step:
        return True
    apart = other.begin - one.begin
    return apart % step < one.length(1, size) or -apart % step < other.length(1, size)


# ---- extents --------------------------------------------------------------------------------------------------------


def extents(e: Expression, shapes) -> tuple[dict[str, int], int]:
    """(extent of each index, of the batch) as the arrays' shapes have them. Raises ArgumentError where two disagree."""
    sizes = known_extents(e, shapes)
    return sizes, sizes.pop(e.batch, 1) if e.batch else 1


def known_extents(e: Expression, shapes) -> dict[str, int]:
    """The extents that follow from the arrays' shapes, that of the batch among them. Errors as of `extents`."""
    found: dict[str, tuple[int, str]] = {}
    for name, shape in shapes.items():
        for r in e.references.get(name, ()):
            _take(r, shape, found, e.batch)
    sizes = {index: extent for index, (extent, _) in found.items()}

    # An array that is read by other indices keeps the extents with which a statement wrote it.
    made = [s.out for s in e.statements if s.out.name not in shapes]
    for out in made:
        for r in e.references[out.name]:
            for index, written in zip(r.indices, out.indices):
                if written in sizes:
                    sizes.setdefault(index, sizes[written])
    return sizes


def _take(r: Reference, shape, found, batch) -> None:
    if len(shape) != len(r.indices):
        number = f"; one number is {r.name}[] in the text" if not shape else ""
        raise ArgumentError(f"array '{r.name}': {len(shape)} dimensions {shape}, wanted {len(r.indices)}: {r}{number}.")
    for index, extent in zip(r.indices, shape):
        known, other = found.setdefault(index, (extent, r.name))
        if known != extent:
            raise ArgumentError(
                f"array '{r.name}', index '{index}': extent {extent}, wanted {known} as '{other}' has it."
            )
