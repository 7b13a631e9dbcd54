"""contract: a text evaluated on arrays in one call. Plans are kept for the next call with the same extents."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..engine.errors import ArgumentError, closest, refuse
from ..engine.timers import is_timing
from ..engine.values import is_number, refuse_unit
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
    is_complex,
    named_type,
    plain,
    refuse_inexact,
    refuse_overlap,
    share_memory,
    types_of,
)
from .contraction import Contraction, extents
from .paired import ComplexContraction
from .text import Expression, Reference, Script, Statement, Term, read, words

if TYPE_CHECKING:
    from ..engine.backend.base import Backend

MARKS = ("point", "layout", "local", "constant", "symmetric")  # options of text.parse
FEW = 32  # entries: four packs of float64
OTHERS = ("headers", "folders", "quick")  # of Contraction; `order` if it is a number
OPTIONS = ("batch", "backend", "how", "out", "dtype", "order", *MARKS, *OTHERS)


class Asked(NamedTuple):
    """Options of a call."""

    batch: str | None
    backend: object  # a Backend, its name, or None: where the arrays lie
    how: object  # an organisation, see Contraction
    marks: tuple  # pairs, of MARKS
    others: tuple  # pairs, of OTHERS
    order: str = "K"  # of the result in memory, see result_order.py
    # Signature by which the next call finds this one; of a string its text alone, until the arrays are known
    repeated: tuple | None = None


class Problem(NamedTuple):
    """The contraction that a plan computes. The options of the call are not in it."""

    text: str
    sizes: tuple[tuple[str, int], ...]  # of all indices but the batch's, by their names
    dtype: str  # that is computed in
    real: tuple[str, ...]  # real inputs among complex ones
    backend: Any


def contract(
    text: Any,
    *operands: Any,
    batch: str | None = None,
    backend: str | Backend | None = None,
    how: Any = None,
    out: Any = None,
    dtype: Any = None,
    order: str | int = "K",
    **arrays: Any,
) -> Any:
    """Evaluate a text on arrays of NumPy, CuPy or of any library with DLPack.

    contract("o[i k] = a[i j] b[j k]", a=a, b=b)      statements (text.py), arrays by name
    contract("...ij,...jk->...ik", a, b)              numpy.einsum's strings: repeated indices, ellipsis, no result told
    contract(a, [0, 1], b, [1, 2], [0, 2])            its form with lists of indices

    Outputs that are not given are made and returned: one, or a tuple in the text's order. Outputs that are given, `out`
    for an einsum string, are written in place, and returned too. They share no memory with inputs. Arrays may have any
    strides; what is not contiguous is copied, and a stride of zero is not read twice.

    Types of einsum strings: NumPy's promotion, see arrays.py; extents of 1 are broadcast as NumPy does. dtype: of the
    result, if not the promoted type. Statements want one precision for all arrays, float32 or float64; complex arrays
    may stand among real ones. A number may stand for an operand without indices.

    order: of a string's result in memory, as numpy.einsum has it: "C", "F", "A" (see result_order.py), or "K", any: the
    result is a view of a new array with its dimensions as the cheapest way to compute it leaves them. Statements say
    the order of their arrays themselves: "K" and "C" change nothing there. A number is the order of evaluation, as
    Contraction takes it.

    Options of text.parse (point, layout, local, constant, symmetric) and of Contraction (headers, folders) go by their
    names. Raises ArgumentError, which names array, index, found and wanted; nothing is written then.
    """
    # A call as one before.
    given = (text, *operands) if isinstance(text, str) else einsum.in_letters((text, *operands))
    if given and not arrays and batch is backend is how is dtype is None:
        found = repeats.again(given, out, order)
        if found is not None:
            return np.asarray(found) if isinstance(found, np.generic) else found
    if given and out is None and not arrays:
        call = repeats.find(repeats.signature(given[0], given[1:], backend, (batch, how, True, order, dtype)))
        if call:
            return call.values(given[1:])

    options = {key: arrays.pop(key) for key in (*MARKS, *OTHERS) if key in arrays}
    for key in ("local", "constant", "symmetric"):
        if key in options:
            options[key] = words(options[key])
    marks = tuple(sorted((key, x) for key, x in options.items() if key in MARKS))
    if hasattr(order, "__index__"):
        options["order"], order = order, "K"
    others = tuple(sorted((key, x) for key, x in options.items() if key not in MARKS))
    asked = Asked(batch, backend, how, marks, others, result_order.checked(order))

    if not isinstance(text, str):
        subscripts, operands = einsum.interleaved((text, *operands))
        asked = asked._replace(repeated=given and given[:1])
        return _einsum(subscripts, operands, arrays, asked, out, dtype)
    if einsum.is_string(text) or operands:
        return _einsum(einsum.read(text), operands, arrays, asked._replace(repeated=(text,)), out, dtype)

    if dtype is not None:
        raise ArgumentError("dtype= is for strings of einsum; statements work in the arrays' type.")
    if asked.order not in ("K", "C"):
        raise ArgumentError(f"order={order!r} is for strings of einsum; statements name the indices in memory's order.")
    if out is not None:
        arrays["out"] = out

    # Statements as in a call before.
    if not others:
        given = tuple(arrays.values())
        repeated = repeats.signature(text, given, backend, (batch, how, marks, tuple(arrays)))
        asked = asked._replace(repeated=repeated)
        call = repeats.find(repeated)
        if call:
            return call.values(given)
    return _statements(text, arrays, asked)


# ---- strings of einsum ----------------------------------------------------------------------------------------------


def _einsum(s: einsum.Subscripts, operands, named: dict, asked: Asked, out, dtype):
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
    asked = asked._replace(repeated=_signature(asked, arrays, out, dtype))
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
    if asked.repeated and _is_usual(asked, out, dtype) and not is_timing():
        call = small_products.call_of(s, list(arrays.values()))
        if call:
            return repeats.put(asked.repeated, call).values(arrays.values())
    if types.exact:
        refuse_inexact(arrays, math.prod(sizes[i] for i in sizes if i not in s.out))

    # Views without diagonals and without what is broadcast, dimensions as they lie, and the text that is left.
    views, lie, references = {}, {}, []
    for name, own in zip(s.names, s.operands):
        lie[name], indices = _view(arrays[name], own, sizes, _keepers(s, arrays, sizes, name))
        views[name] = lie[name].of(arrays[name]) if own else arrays[name]
        references.append(Reference(name, tuple(indices[axis] for axis in lie[name].axes)))
    statement = Statement(Reference("out", s.out), (Term(1.0, tuple(references)),))

    # The orders that the result may have in memory.
    if out is None:
        orders = result_order.candidates(asked.order, statement, sizes, arrays.values())
    else:
        lie["out"] = repeats.View(result_order.axes_in_memory(out))
        orders = [tuple(s.out[axis] for axis in lie["out"].axes)]

    job = result_order.cheapest(orders, lambda order: _job(statement, order, sizes, types, views, backend, asked))
    values = _evaluated(job, result_order.places(job.order, s.out), views, lie, types, backend, asked, out)
    return _delivered(values, types, out)


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
    return asked.batch is asked.backend is asked.how is out is dtype is None and asked.order == "K"


def _signature(asked: Asked, arrays, out, dtype) -> tuple | None:
    """The signature of a call of a string; None: it is not kept."""
    if asked.repeated is None or asked.marks or asked.others:
        return None
    given = [*arrays.values()] if out is None else [*arrays.values(), out]
    options = asked.batch, asked.how, out is None, asked.order, dtype
    return repeats.signature(asked.repeated[0], given, asked.backend, options)


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

    diagonals = []
    for index in dict.fromkeys(indices):
        while indices.count(index) > 1:
            one = indices.index(index)
            other = indices.index(index, one + 1)
            diagonals.append((one, other))  # the diagonal is the last dimension
            del indices[other], indices[one]
            indices.append(index)

    view = repeats.View(tuple(range(len(indices))), first, tuple(diagonals))
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
    marks = tuple((key, x & frozenset(f.name for f in s.terms[0].factors)) for key, x in asked.marks)
    e = _read(text, asked.batch, marks).expression
    numbers = dict(sizes)
    n = numbers.pop(e.batch, 1) if e.batch else 1
    shape = tuple(sizes[i] for i in order)
    if 0 in numbers.values():
        return Job(order, None, shape, n)  # an empty sum

    asked = _for_entries(asked._replace(marks=marks, order="K", repeated=None), e, n)
    names = _real(views) if types.work.kind == "c" else ()
    problem = Problem(text, _sorted(numbers), types.work.name, names, backend)
    plan = _plan(problem, asked)
    if asked.how is not None:
        return Job(order, plan, shape, n)

    lie = {name: a for name, a in views.items() if hasattr(a, "strides") and a.dtype == types.work}
    plan, more = gaps.cheapest(plan, lie, n, lambda how: _plan(problem, asked._replace(how=how)))
    return Job(order, plan, shape, n, more)


def _real(views) -> tuple[str, ...]:
    """Names of the arrays that are not complex."""
    return tuple(name for name, a in views.items() if not _is_pair(a))


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
        wanted = types.work if _is_pair(a) else part
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


def _for_entries(asked: Asked, e: Expression, n: int) -> Asked:
    """The options of a plan for about n entries: the choice depends on whether they fill a device, or a cache, and on
    what is done once for all of them."""
    if not e.batch:
        return asked
    return asked._replace(others=(*asked.others, ("entries", _about(n))))


def _about(n: int) -> int:
    """The number itself if it is small: of few entries it counts how they fill packs. Else the nearest of four in each
    octave: a plan for each batch would be many, and a library does products that are a little larger another way."""
    if n <= FEW:
        return max(n, 1)
    step = 2 ** (n.bit_length() - 1) // 4
    return round(n / step) * step


# ---- statements ----------------------------------------------------------------------------------------------------


def _statements(text: str, arrays: dict, asked: Asked):
    """Values of the outputs of a text."""
    script = _read(text, asked.batch, asked.marks)
    e = script.expression
    _check_names(e, arrays)

    # The arrays, their type, where they lie, their extents.
    backend, given = backend_of(asked.backend, arrays.values()), tuple(arrays)
    arrays = {name: as_array(name, a, backend) for name, a in arrays.items()}
    dtype = named_type(arrays)
    arrays |= {name: plain(arrays[name]) for name in e.inputs}
    sizes, n = extents(e, {name: np.shape(a) for name, a in arrays.items()})
    script.check({**sizes, e.batch: n})

    for name in given:
        if name in e.outputs and hasattr(arrays[name], "strides"):
            refuse_overlap(name, arrays[name])

    new = []
    told = {index for name in arrays for reference in e.references[name] for index in reference.indices}
    of_all = sizes | ({e.batch: n} if e.batch else {})
    for name in e.outputs:
        if name not in arrays:
            shape = _shape_of(e.references[name][-1], told, of_all)
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
            asked = _for_entries(asked, e, n)
        plan = _plan(Problem(text, _sorted(sizes), dtype.name, real, backend), asked)
        taken = _run(plan, e, held, n)
        lie = tuple((name, repeats.View(tuple(range(np.ndim(arrays[name]))))) for name in given)
        repeats.keep(repeated, arrays, taken, repeats.Repeat(plan, lie, tuple(new), e.outputs, n, dtype))

    results = tuple(arrays[name] for name in script.expression.outputs)
    return results[0] if len(results) == 1 else results


def _shape_of(output: Reference, told: set[str], sizes: dict[str, int]) -> tuple[int, ...]:
    """The shape of an output that is made. Raises ArgumentError for an index that no given array has."""
    for index in output.indices:
        refuse(
            index not in told,
            f"array '{output.name}', index '{index}': no other array has it, so its extent is not known; give "
            f"'{output.name}' itself.",
        )
    return tuple(sizes[index] for index in output.indices)


def _check_names(e: Expression, arrays) -> None:
    """Raises ArgumentError for an array that the text lacks, or that the text needs."""
    wanted = (*e.inputs, *e.outputs)
    for name in arrays:
        if name not in wanted:
            raise ArgumentError(
                f"array '{name}' is not in the tensor expression; it has {', '.join(wanted)}{closest(name, OPTIONS)}."
            )
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


def _sorted(sizes: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """Extents in the order of the names: the same tuple for the same extents."""
    return tuple(sorted(sizes.items()))


def _real_inputs(e: Expression, arrays: dict, dtype) -> tuple[str, ...]:
    """Names of the inputs that are real while the results are complex."""
    if dtype.kind != "c":
        return ()
    return tuple(name for name in e.inputs if not _is_pair(arrays[name]))


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


def _is_pair(array) -> bool:
    """Whether it is a complex array or number."""
    return isinstance(array, complex) or (hasattr(array, "dtype") and is_complex(array))


def _refuse_shared(e: Expression, arrays: dict, copied) -> None:
    """Raises ArgumentError for an output in another array's memory if one of them is copied; `bind` checks the rest."""
    for name in e.outputs:
        for other, array in arrays.items():
            pair = other != name and (name in copied or other in copied)
            if pair and not is_number(array) and share_memory(arrays[name], array):
                raise ArgumentError(f"output '{name}' and array '{other}' share memory.")


# ---- plans that are kept --------------------------------------------------------------------------------------------


@functools.lru_cache(256)
def _read(text: str, batch: str | None, marks: tuple) -> Script:
    return read(text, batch, **dict(marks))


@functools.lru_cache(256)
def _plan(problem: Problem, asked: Asked):
    """A Contraction, or a ComplexContraction."""
    sizes, options = dict(problem.sizes), {**dict(asked.marks), **dict(asked.others)}
    options |= dict(batch=asked.batch, backend=problem.backend, how=asked.how)

    if np.dtype(problem.dtype).kind == "c":
        return ComplexContraction(problem.text, sizes, problem.dtype, real=problem.real, **options)
    return Contraction(problem.text, sizes, problem.dtype, **options)
