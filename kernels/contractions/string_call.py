"""A string of einsum evaluated on arrays: types, extents, views, the order of the result, the plan, the run."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..engine.errors import ArgumentError, closest
from ..engine.timers import is_timing
from ..engine.values import refuse_unit
from . import einsum, gaps, repeats, result_order, small_products
from .arrays import (
    PRECISIONS,
    Types,
    as_array,
    as_arrays,
    backend_of,
    check_shape,
    check_written,
    converted,
    exact_result,
    is_array,
    plain,
    refuse_inexact,
    types_of,
)
from .asked import OPTIONS, Asked, Problem, for_entries, is_pair, plan_of, read_text, sorted_extents
from .contraction import MOST
from .expression import Reference, Statement, Term

FEW_NUMBERS, LONG_SUMS = 1024, 1024  # of an output whose extents are compiled in; terms of each
NARROW = 48  # of an index that a small matrix brings, at most: a thread has several of its numbers


def values(s: einsum.Subscripts, operands, named: dict, asked: Asked, out, dtype):
    """The result of an einsum string."""
    named = dict(named)
    out = named.pop("out", out)
    operands = as_arrays([*_in_order(s, operands, named)])
    for key, _ in asked.marks:
        if key in ("point", "layout"):
            raise ArgumentError(f"'{s.text}': {key}= is for statements; an einsum string names each index.")

    # The arrays, where they lie, their types.
    backend = backend_of(asked.backend, [*operands, out])
    arrays = {name: a if type(a) is np.ndarray else _operand(name, a, backend) for name, a in zip(s.names, operands)}
    out = None if out is None else as_array("out", out, backend)
    if out is not None:
        check_written(out, arrays, backend)

    # A call as one before.
    asked = asked._replace(repeated=_signature(asked, arrays, out))
    call = repeats.find(asked.repeated)
    if call:
        return call.values([*arrays.values()] if out is None else [*arrays.values(), out])
    types = types_of(arrays, out, dtype)

    # Extents of all indices.
    shapes = [np.shape(a) for a in arrays.values()]
    s = einsum.spread(s, shapes)
    sizes = einsum.extents(s, shapes)
    shape = tuple(sizes[i] for i in s.out)
    if out is not None:
        check_shape(out, s.out, shape)
    of_usual = asked.repeated if _is_usual(asked, out, dtype) and not is_timing() else None
    if of_usual:
        call = small_products.call_of(s, list(arrays.values()))
        if call:
            return repeats.put(of_usual, call).values(arrays.values())
    if types.exact:
        refuse_inexact(arrays, math.prod(sizes[i] for i in sizes if i not in s.out))

    # The orders that the result may have in memory.
    statement, views, lie = _as_they_lie(s, arrays, sizes)
    if out is None:
        orders = result_order.candidates(asked.order, statement, sizes, arrays.values())
    else:
        lie["out"] = repeats.View(result_order.axes_in_memory(out))
        orders = [tuple(s.out[axis] for axis in lie["out"].axes)]

    job = result_order.cheapest(orders, lambda order: _job(statement, order, sizes, types, views, backend, asked))
    if of_usual:
        call = small_products.walk_within(s, list(arrays.values()), job.seconds)
        if call:
            return repeats.put(of_usual, call).values(arrays.values())
    found = _evaluated(job, result_order.places(job.order, s.out), views, lie, types, backend, asked, out)
    return _delivered(found, types, out)


def _as_they_lie(s: einsum.Subscripts, arrays, sizes) -> tuple[Statement, dict, dict]:
    """(statement, views, what these are of the arrays): operands without diagonals and without what is broadcast, their
    dimensions as they lie, and the text that is left."""
    views, lie, references = {}, {}, []
    for name, own in zip(s.names, s.operands):
        lie[name], indices = _view(arrays[name], own, sizes, _keepers(s, arrays, sizes, name))
        views[name] = lie[name].of(arrays[name]) if own else arrays[name]
        references.append(Reference(name, tuple(indices[axis] for axis in lie[name].axes)))
    return Statement(Reference("out", s.out), (Term(1.0, tuple(references)),)), views, lie


def _in_order(s: einsum.Subscripts, operands, named: dict) -> tuple:
    """The operands in the string's order. Raises ArgumentError."""
    if not operands and sorted(named) == sorted(s.names):
        return tuple(named[name] for name in s.names)
    for name in (name for name in named if operands and name not in s.names):
        raise ArgumentError(f"'{s.text}': '{name}' is no option of contract{closest(name, OPTIONS)}.")
    if named or len(operands) != len(s.operands):
        raise ArgumentError(
            f"'{s.text}': {len(operands)} arrays in order, wanted {len(s.operands)} of an einsum string, or named ones."
        )
    return operands


def _operand(name: str, given, backend):
    """An array, or a number of Python's. Raises ArgumentError for what NumPy makes no array of."""
    array = plain(as_array(name, given, backend))
    if isinstance(array, np.generic):
        return np.asarray(array)  # a number of NumPy's has no address
    if type(array) in (int, float, complex) or is_array(array):
        return array
    if array is None:
        raise ArgumentError(f"'{name}' is None, wanted numbers.")
    refuse_unit(name, array, "1")
    try:
        return np.asarray(array)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(f"'{name}': wanted numbers ({error}).") from error


def _is_usual(asked: Asked, out, dtype) -> bool:
    """Whether the call has no options."""
    if asked.marks or asked.others:
        return False
    return asked.batch is asked.backend is asked.how is out is dtype is None and asked.order == "K"


def _signature(asked: Asked, arrays, out) -> tuple | None:
    """The signature of a call of a string; None: it is not kept."""
    if asked.repeated is None:
        return None
    text, options = asked.repeated
    given = [*arrays.values()] if out is None else [*arrays.values(), out]
    return repeats.signature(text, given, asked.backend, options)


def _keepers(s: einsum.Subscripts, arrays, sizes, name: str) -> frozenset[str]:
    """Indices that an array other than this one walks along."""
    found: set[str] = set()
    for other, own in zip(s.names, s.operands):
        if other != name:
            found |= set(own) - set(_still(arrays[other], own, sizes))
    return frozenset(found)


def _still(array, own, sizes) -> list[str]:
    """Indices along which an array has one number only: it is broadcast, or its strides there add up to zero.

    Strides of an array without numbers say nothing.
    """
    empty = 0 in getattr(array, "shape", ())
    stride = dict.fromkeys(own, 0)
    for index, step in zip(own, getattr(array, "strides", ())):
        stride[index] += step

    found = []
    for place, index in enumerate(own):
        alone = array.shape[place] == 1 or (stride[index] == 0 and not empty)
        if alone and sizes[index] != 1 and index not in found:
            found.append(index)
    return found


def _view(array, own, sizes, keepers) -> tuple[repeats.View, tuple[str, ...]]:
    """(view, indices) of an operand: without indices that are broadcast, dimensions from slow to fast: a copy is cheap
    then, or needless. A kernel steps along the diagonal of an array without gaps; of others it gets the diagonal.
    indices: before the dimensions change their order.
    """
    if not own:
        return repeats.View(()), ()
    still = set(_still(array, own, sizes))
    gone = {i for i in still if i in keepers or array.shape[own.index(i)] == 1}
    first = tuple(axis for axis, index in enumerate(own) if index in gone)
    indices = [index for index in own if index not in gone]

    # The array as it lies.
    view = repeats.View(tuple(range(len(indices))), first)
    view = view._replace(axes=result_order.axes_in_memory(view.of(array)))
    if len(set(indices)) == len(indices) or view.of(array).flags.c_contiguous:
        return view, tuple(indices)

    diagonals, indices = repeats.diagonals(indices)
    view = repeats.View(tuple(range(len(indices))), first, diagonals)
    return view._replace(axes=result_order.axes_in_memory(view.of(array))), tuple(indices)


class Job(NamedTuple):
    """A plan for a result in one order of memory."""

    order: tuple[str, ...]  # the result's indices, the slowest first
    plan: Any  # Contraction or ComplexContraction; None: the result is zero
    shape: tuple[int, ...]  # of the result in memory
    n: int  # entries of the batch
    gaps: float = 0.0  # the model's seconds for gaps of operands

    @property
    def seconds(self) -> float:
        """The model's time."""
        return self.plan.seconds * self.n + self.gaps if self.plan else 0.0


def _job(s: Statement, order, sizes, types: Types, views, backend, asked: Asked) -> Job:
    """The job of a statement whose result lies in an order. views: the operands."""
    text = str(s._replace(out=Reference("out", order)))
    asked = _batched(asked, s, order, sizes, backend)
    marks = tuple((key, x & frozenset(f.name for f in s.terms[0].factors)) for key, x in asked.marks)
    e = read_text(text, asked.batch, marks).expression
    numbers = dict(sizes)
    n = numbers.pop(e.batch, 1) if e.batch else 1
    shape = tuple(sizes[i] for i in order)
    if 0 in numbers.values():
        return Job(order, None, shape, n)  # an empty sum

    asked = for_entries(asked._replace(marks=marks, order="K", repeated=None), e, n)
    names = _real(views) if types.work.kind == "c" else ()
    problem = Problem(text, sorted_extents(numbers), types.work.name, names, backend)
    plan = plan_of(problem, asked)
    if asked.how is not None:
        return Job(order, plan, shape, n)

    lie = {name: a for name, a in views.items() if hasattr(a, "strides") and a.dtype == types.work}
    plan, more = gaps.cheapest(plan, lie, n, lambda how: plan_of(problem, asked._replace(how=how)))
    return Job(order, plan, shape, n, more)


def _batched(asked: Asked, s: Statement, order, sizes, backend) -> Asked:
    """The options with a batch index, if the caller left it to us: none on a device where threads hold several numbers
    of the output, whose extents must be known to the compiler. So it is where few numbers have long sums, and where a
    small matrix brings the output's first index."""
    if asked.batch is not None or backend.style != "threads":
        return asked

    def turns(indices) -> int:
        return math.prod(sizes[i] for i in set(indices))

    few = 0 < turns(order) <= FEW_NUMBERS and all(turns(t.sums(s.out)) >= LONG_SUMS for t in s.terms)
    largest = max(s.terms[0].factors, key=lambda f: turns(f.indices))
    is_new = bool(order) and sizes[order[0]] <= NARROW and order[0] not in largest.indices
    fits = all(turns(f.indices) < MOST for t in s.terms for f in t.factors)  # the whole array is one entry then
    return asked._replace(batch="") if (few or is_new) and fits else asked


def _real(views) -> tuple[str, ...]:
    """Names of the arrays that are not complex."""
    return tuple(name for name, a in views.items() if not is_pair(a))


def _evaluated(job: Job, back, views, lie, types: Types, backend, asked: Asked, out):
    """Values of a job: `out` itself if a kernel can write it, else an array of the type that is computed in.

    back: the axes of the result in the order of the string. views: operands with their dimensions as they lie. lie: how
    they are views of the caller's arrays, and of `out`.
    """
    if job.plan is None:
        values = backend.empty(job.shape, types.work)
        values[...] = 0
        return result_order.turned(values, back)

    # Arrays of the type that is computed in, or of its real part.
    part = np.dtype(PRECISIONS[types.work.name])
    arrays = {}
    for name, a in views.items():
        wanted = types.work if is_pair(a) else part
        as_it_lies = hasattr(a, "strides") and a.dtype == wanted and backend.holds(a) and job.plan.takes(name, a, job.n)
        arrays[name] = a if as_it_lies else converted(name, a, backend, wanted)

    # The kernel writes `out` itself if it takes all arrays as they came. Copies of small ones cost less than to bind.
    given = None if out is None else lie["out"].of(out)
    direct = given is not None and given.dtype == types.work and job.plan.takes("out", given, job.n)
    if direct and given is not None and given.nbytes < repeats.SMALL:
        direct = all(arrays[name] is views[name] for name in views)
    taken = {**arrays, "out": given} if direct else arrays
    new = () if direct else (repeats.New("out", job.shape, back),)
    lying = tuple((name, lie[name]) for name in taken)
    arrays["out"] = given if direct else backend.empty(job.shape, types.work)
    job.plan.bind(arrays, job.n)()

    # The next call binds at once.
    if not types.exact:
        result = None if types.result == types.work else types.result
        apart = out is not None and not direct
        call = repeats.Repeat(job.plan, lying, new, ("out",), job.n, types.work, result=result, apart=apart)
        repeats.keep(asked.repeated, {**views, "out": given}, arrays, call)
    return out if direct else result_order.turned(arrays["out"], back)


def _delivered(values, types: Types, out):
    """Values in the type of the result, in `out` if it is given."""
    if values is out:
        return out
    if types.exact:
        values = exact_result(values, types.result)
    elif values.dtype != types.result:
        values = values.astype(types.result)
    if out is None:
        return values
    out[...] = values
    return out
