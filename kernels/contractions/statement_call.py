"""A text of statements evaluated on arrays by name."""

from __future__ import annotations

import numpy as np

from ..engine.errors import ArgumentError, refuse
from ..engine.values import is_number
from . import repeats
from .arrays import as_array, backend_of, named_type, plain, refuse_overlap, share_memory
from .asked import OPTIONS, Asked, Problem, for_entries, is_pair, plan_of, read_text, sorted_extents
from .expression import Expression, Reference, Term
from .operands import extents, known_extents
from .text import Script


def values(text: str, arrays: dict, asked: Asked):
    """Values of the outputs of a text. Raises ArgumentError."""
    if asked.order not in ("K", "C"):
        raise ArgumentError(
            f"order={asked.order!r} is for strings of einsum; statements name the indices in memory's order."
        )

    script = read_text(text, asked.batch, asked.marks)
    e = script.expression
    _check_names(e, arrays)

    # The arrays, their type, where they lie, their extents.
    backend, given = backend_of(asked.backend, arrays.values()), tuple(arrays)
    arrays = {name: as_array(name, a, backend) for name, a in arrays.items()}
    dtype = named_type(arrays)
    arrays |= {name: plain(arrays[name]) for name in e.inputs}
    shapes = {name: np.shape(a) for name, a in arrays.items()}
    sizes, n = extents(e, shapes)
    script.check({**sizes, e.batch: n})

    for name in given:
        if name in e.outputs and hasattr(arrays[name], "strides"):
            refuse_overlap(name, arrays[name])

    new = []
    known = known_extents(e, shapes)
    for name in e.outputs:
        if name not in arrays:
            shape = _shape_of(e.references[name][-1], known)
            arrays[name] = backend.empty(shape, dtype)
            new.append(repeats.New(name, shape, tuple(range(len(shape)))))

    repeated, asked = asked.repeated, asked._replace(repeated=None)
    if 0 in sizes.values():
        e, text, asked = _without_empty(script, sizes, asked)
        repeated = None
    if e.outputs:
        held = {name: arrays[name] for name in (*e.inputs, *e.outputs)}
        real = _real_inputs(e, held, dtype)
        _with_complex_numbers(e, held, dtype, backend)

        if backend.style == "threads":  # on a CPU an entry has the same bits in any batch
            asked = for_entries(asked, e, n)
        plan = plan_of(Problem(text, sorted_extents(sizes), dtype.name, real, backend), asked)
        taken = _run(plan, e, held, n)
        lie = tuple((name, repeats.View(tuple(range(np.ndim(arrays[name]))))) for name in given)
        repeats.keep(repeated, arrays, taken, repeats.Repeat(plan, lie, tuple(new), e.outputs, n, dtype))

    results = tuple(arrays[name] for name in script.expression.outputs)
    return results[0] if len(results) == 1 else results


def _shape_of(output: Reference, known: dict[str, int]) -> tuple[int, ...]:
    """The shape of an output that is made. Raises ArgumentError for an index whose extent follows from no array."""
    for index in output.indices:
        refuse(
            index not in known,
            f"array '{output.name}', index '{index}': no other array has it, so its extent is not known; give "
            f"'{output.name}' itself.",
        )
    return tuple(known[index] for index in output.indices)


def _check_names(e: Expression, arrays) -> None:
    """Raises ArgumentError for an array that the text lacks, or that the text needs."""
    e.refuse_unknown(arrays, OPTIONS)
    for name in e.inputs:
        if name not in arrays:
            raise ArgumentError(f"array '{name}' is missing.")
    for name in sorted(e.updated - set(arrays)):
        raise ArgumentError(f"array '{name}' is added to, so it has to be given.")


def _without_empty(script: Script, sizes, asked: Asked):
    """(expression, text, options) where some extents are zero: an empty sum is zero, an empty array leaves the text."""
    e = script.expression
    empty = {index for index, extent in sizes.items() if extent == 0}
    left = []
    for s in e.statements:
        if empty & set(s.out.indices):
            continue
        terms = tuple(t for t in s.terms if not empty & {i for f in t.factors for i in f.indices})
        if terms or not s.add:
            left.append(s._replace(terms=terms or (Term(0.0, ()),)))

    names = {s.out.name for s in left} | {f.name for s in left for t in s.terms for f in t.factors}
    marks = {key: getattr(e, key) & names for key in ("local", "constant", "symmetric")}
    made = Expression(tuple(left), e.batch, **marks)
    text = "\n".join([*(f"header {file}" for file in script.headers), *map(str, left)])
    how = asked.how if asked.how is not None else script.how
    return made, text, asked._replace(batch=e.batch or "", how=how, marks=tuple(sorted(marks.items())))


def _real_inputs(e: Expression, arrays: dict, dtype) -> tuple[str, ...]:
    """Names of the inputs that are real while the results are complex."""
    if dtype.kind != "c":
        return ()
    return tuple(name for name in e.inputs if not is_pair(arrays[name]))


def _with_complex_numbers(e: Expression, arrays: dict, dtype, backend) -> None:
    """Replaces inputs that are Python's complex numbers by arrays of the type that is computed in."""
    for name in e.inputs:
        if isinstance(arrays[name], complex):
            arrays[name] = backend.from_host(np.asarray(arrays[name]), dtype)


def _run(plan, e: Expression, arrays: dict, n: int) -> dict:
    """Runs a plan on arrays for n entries. Returns what its kernel took: an array that does not lie as the kernel wants
    it goes through a contiguous copy."""
    backend = plan.backend

    # Copies.
    taken, copied = dict(arrays), []
    for name, array in arrays.items():
        if is_number(array) or not backend.holds(array) or plan.takes(name, array, n):
            continue
        copied.append(name)
        taken[name] = backend.arrays.ascontiguousarray(array).reshape(array.shape)
    _refuse_shared(e, arrays, copied)

    plan.bind(taken, n)()

    # Results that are in a copy.
    for name in copied:
        if name in e.outputs:
            arrays[name][...] = taken[name]
    return taken


def _refuse_shared(e: Expression, arrays: dict, copied) -> None:
    """Raises ArgumentError for an output in another array's memory if one of them is copied; `bind` checks the rest."""
    for name in e.outputs:
        for other, array in arrays.items():
            pair = other != name and (name in copied or other in copied)
            if pair and not is_number(array) and share_memory(arrays[name], array):
                raise ArgumentError(f"output '{name}' and array '{other}' share memory.")
