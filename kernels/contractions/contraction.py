"""Contraction: a tensor expression, planned, rendered, compiled and bound to arrays; call.py has the same in one call.

plan = Contraction("V[e i j k] += A[l k] B[m j] C[n i] U[e l m n]", sizes=dict.fromkeys("ijklmn", 10))
run = plan.bind(dict(A=A, B=B, C=C, U=U, V=V), n)
run()
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
import pathlib
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..engine.backend import get_backend
from ..engine.backend.base import Source
from ..engine.errors import ArgumentError, VariantUnsuitable, refuse
from ..engine.values import is_number, typed_number
from . import einsum, explained, host_rates, orders, render_lines, table
from .arrays import as_array, lies_apart
from .choice import sorted_out
from .expression import Expression, Reference
from .organisations import Organisation, family, library_costs
from .plan import Array, Program, describe, mirrored
from .replays import Replays
from .text import Script, read, shown

TYPES = ("float64", "float32")
CACHE_LINE = 64  # bytes
MOST = 2**31  # numbers of an entry that kernels count
KEPT = 32  # of what a plan prepares for its binds: kernels, tables, orders of work


class Contraction:
    """A kernel made from a text (text.py has its language). Extents are compiled in; the batch may have any extent.

    sizes: extent of each index but the batch's; None: as the text's lines `extent` have them. An ellipsis of an einsum
    string has its extents under "...": sizes={"...": (2, 3), "i": 4}. dtype: float64 or float32; complex types:
    ComplexContraction. backend: a Backend or its name.
    options: the fields of Reading and of Choice (choice.py), such as batch="e", how="direct", entries=72.
    Raises ArgumentError for what the text, the sizes or the options lack.
    """

    DTYPES: ClassVar[tuple[str, ...]] = TYPES  # of the arrays

    def __init__(self, text: str, sizes=None, dtype="float64", backend=None, **options):
        self.backend = get_backend(backend) if backend is None or isinstance(backend, str) else backend
        self.family = family(self.backend.style)
        self._kept: dict = {}  # see `kept`
        reading, choice = sorted_out(options)
        self.entries = choice.entries
        self.quick = choice.quick
        self.dtype = np.dtype(dtype)
        if self.dtype.name not in self.DTYPES:
            also = " ComplexContraction takes complex ones." if self.dtype.kind == "c" else ""
            raise ArgumentError(f"tensor expression: type {self.dtype.name}, wanted {' or '.join(self.DTYPES)}.{also}")

        # The text, and a program for each of the cheapest orders of evaluation.
        text, sizes = einsum.resolved(text, _as_extents(sizes))
        script = read(text, **vars(reading))
        self.expression = e = script.expression
        self.sizes = _extents_of(script, sizes)
        describe(e, e.statements, self.sizes)

        how = script.how if choice.how is None else choice.how
        order = script.order if choice.order is None else choice.order
        self.headers, self.folders = _headers(script, choice.headers, choice.folders)
        self.programs = tuple(self._programs())
        if order is not None and order not in range(len(self.programs)):
            raise ArgumentError(f"tensor expression: order {order}, wanted 0 to {len(self.programs) - 1}.")

        # The organisation: the caller's, the table's or the model's.
        self.key = table.key_of(e, self.sizes, self.dtype.name, self.backend)
        self.row = table.serving(self.key) if how is None and order is None else None
        if self.row:
            how, order = self.row.how, self.row.order
        self.given = how is not None  # by the caller or the table: no other organisation takes its place
        self.candidates = sorted(self._candidates(order), key=lambda c: c[0])
        self._choose(how)

        for a in self.program.arrays.values():
            if a.size >= 2**31:
                raise ArgumentError(f"tensor expression: '{a.name}' has {a.size} numbers an entry, wanted below 2^31.")

    def _choose(self, how) -> None:
        """The organisation that the caller or the table names, or the cheapest. Raises ArgumentError."""
        if isinstance(how, str) and "=" in how:
            how = table.read(how, self.family.kinds)
        exact = how if isinstance(how, Organisation) else None
        name = exact.name if exact else how

        able = [c for c in self.candidates if name is None or c[1].name == name]
        if not able:
            names = ", ".join(sorted({c[1].name for c in self.candidates})) or "none"
            raise ArgumentError(f"tensor expression: no organisation '{name or 'of any kind'}' here; able: {names}.")
        self.price, self.how, self.program = able[0]

        if exact:
            self.how = exact
            self.family.require(self.program, exact)

    def render(self, program: Program, how: Organisation):
        """The source of one of the programs by an organisation."""
        return how.render(program, self.headers, self.folders, self.quick)

    def _candidates(self, order: int | None):
        """(price, organisation, program) of each organisation, for the order of evaluation that suits it best."""
        best: dict[str, tuple] = {}
        for program in self.programs if order is None else self.programs[order : order + 1]:
            for price, how in self.family.choices(program):
                if how.name not in best or price < best[how.name][0]:
                    best[how.name] = (price, how, program)
        return best.values()

    def _programs(self):
        """Programs of the cheapest orders. With several terms: the first order of each, then the second of each, ...
        Also all loops of a product at once, where that has no more multiply-adds."""
        e = self.expression
        found = orders.choices(e, self.sizes)
        sizes = dict(self.sizes)
        if e.batch:
            sizes[e.batch] = 1

        chosen_trees = []
        for k in range(max([len(o.cheapest) for _, _, o in found], default=1)):
            chosen_trees.append({(s, t): o.cheapest[k % len(o.cheapest)] for s, t, o in found})
        at_once = {(s, t): None for s, t, o in found if o.direct <= o.cost}
        if at_once:
            chosen_trees.append(chosen_trees[0] | at_once)

        for chosen in chosen_trees:
            low = orders.lower(e, self.sizes, chosen)
            statements = mirrored(e, low.statements)
            yield Program(e, statements, describe(e, statements, self.sizes), sizes, self.dtype.name, self.entries)

    @functools.cached_property
    def source(self):
        return self.render(self.program, self.how)

    # ---- arrays
    def shape(self, name: str, n: int) -> tuple[int, ...]:
        """Shape of an array for n entries."""
        a = self.program.arrays[name]
        return tuple(n if x is None else x for x in a.extents)

    def _place(self, name: str, array, n: int) -> tuple[int, int]:
        """(step between entries, step between parts a batch apart), in numbers. Raises ArgumentError."""
        a, shape = self.program.arrays[name], tuple(array.shape)
        self._check_shape(a, array, n)
        backwards = self.how.BACKWARDS and name not in self.expression.outputs
        if self.how.STRIDED and lies_apart(array, backwards):
            return a.after, 0

        # Contiguous from the last dimension up; entries may lie further apart if the batch index is in front.
        size = self.dtype.itemsize
        step, expected = a.after, 1
        for place in reversed(range(len(shape))):
            stride, extent = array.strides[place], shape[place]
            first = place == a.place == 0
            if first and extent > 1 and stride >= expected * size and stride % size == 0:
                step = stride // size
            elif extent > 1 and stride != expected * size and (place == a.place or n > 0):
                raise ArgumentError(self._scattered(name, a, place, stride, expected * size))
            expected *= extent

        rows = math.prod(shape[a.place :]) if a.place is not None else 0
        return step, rows

    def takes(self, name: str, array, n: int) -> bool:
        """Whether `bind` takes an array as it lies."""
        try:
            self._place(name, array, n)
        except ArgumentError:
            return False
        return True

    def _check_shape(self, a: Array, array, n: int) -> None:
        """Raises ArgumentError for a wrong type, number of dimensions or extent."""
        shape = tuple(array.shape)
        if array.dtype != self.dtype:
            raise ArgumentError(f"array '{a.name}': type {array.dtype}, wanted {self.dtype.name}.")
        if len(shape) != len(a.extents):
            raise ArgumentError(
                f"array '{a.name}': {len(shape)} dimensions {shape}, wanted {len(a.extents)}: [{' '.join(a.indices)}]."
            )
        for place, (found, wanted, index) in enumerate(zip(shape, a.extents, a.indices)):
            if place == a.place and found < n:
                raise ArgumentError(f"array '{a.name}', index '{index}': extent {found}, wanted {n} or more.")
            if place != a.place and found != wanted:
                raise ArgumentError(f"array '{a.name}', index '{index}': extent {found}, wanted {wanted}.")

    @staticmethod
    def _scattered(name, a: Array, place, stride, wanted) -> str:
        return (
            f"array '{name}', index '{a.indices[place]}': neighbours are {stride} bytes apart, wanted {wanted}: "
            "contiguous but for the batch index in front."
        )

    def bind(self, arrays: Mapping[str, Any], n: int | None = None) -> Callable[..., None]:
        """run() for the first n entries of the batch (None: all that the first output has).

        Shapes, types and contiguity are checked here, once; what is missing, too short, scattered, or an output that
        shares memory with another array, raises ArgumentError that names array, index, found and wanted extent. The
        matrix library takes any positive steps, too.
        An input without indices, `a[]`, may be a number: run() has the value of now. An array of no dimensions is read
        at each run. An output that is a number, and masked arrays, raise ArgumentError.
        """
        arrays = self._operands(arrays)
        n = self.entries_in(arrays) if n is None else n
        return self.launched(arrays, n)

    def again(self, arrays: Mapping[str, Any], n: int) -> Callable[..., None] | None:
        """run(arrays): `bind` and run in one, without checks, for calls that come again. Its arrays are in the order of
        these, and have their shapes, types and strides; its outputs are new ones of the backend's, no old values are
        read. None where each call has to bind anew: where old values are read, or arrays are numbers or constants."""
        if self.expression.updated or self.expression.constant or any(map(is_number, arrays.values())):
            return None

        operands = self._operands(arrays)
        operands = {name: operands[name] for name in arrays}
        if self.backend.style == "threads":
            return Replays(self, operands, n)
        try:
            return self.how.again(self, operands, self.checked(operands, n), n)
        except VariantUnsuitable:
            return None

    def launched(self, arrays, n: int) -> Callable[..., None]:
        """run() of arrays where the backend works."""
        return self._launches(arrays, self.checked(arrays, n), n)

    def checked(self, arrays, n: int) -> dict:
        """Numbers of a launch for n entries: of each array the address, the step between entries and that between parts
        a batch apart; whether outputs bypass the caches. Raises ArgumentError."""
        e = self.expression
        if n < 0 or (not e.batch and n != 1):
            raise ArgumentError(f"tensor expression: n = {n}, wanted {'0 or more' if e.batch else '1'}.")

        values: dict[str, int] = {}
        spans = {}
        for a in self.program.arguments:
            array = arrays[a.name]
            values[f"step_{a.name}"], values[f"ld_{a.name}"] = self._place(a.name, array, n)
            values[f"at_{a.name}"] = address = self.backend.address(array) if array.size else 0
            if array.size:
                spans[a.name] = Span.of(address, array.shape, array.strides)
            self._check_argument(a, array, n)

        for name, other in itertools.product(spans, spans):
            if name in e.outputs and name != other and shared(spans[name], spans[other], self.dtype.itemsize):
                raise ArgumentError(f"output '{name}' and array '{other}' share memory.")

        values["past"] = int(self._past(values, n))
        return values

    def launch_checked(self, arrays, known, n: int) -> Callable[..., None]:
        """run() for arrays that a plan around this one has checked or made. known: values of some of them, as `bind`
        finds them; the others are contiguous."""
        values: dict[str, int] = {}
        for a in self.program.arguments:
            array, step = arrays[a.name], f"step_{a.name}"
            if step in known:
                values |= {key: known[key] for key in (step, f"ld_{a.name}", f"at_{a.name}")}
                continue
            values[step] = a.after
            values[f"ld_{a.name}"] = math.prod(array.shape[a.place :]) if a.place is not None else 0
            values[f"at_{a.name}"] = self.backend.address(array) if array.size else 0

        values["past"] = int(self._past(values, n))
        return self._launches(arrays, values, n)

    def _operands(self, arrays) -> dict:
        """All arrays by name, where the backend works. Raises ArgumentError."""
        wanted = self.expression.require(arrays)
        found = {name: self._operand(name, arrays[name]) for name in wanted}
        for name, array in found.items():
            device = hasattr(array, "__cuda_array_interface__")
            if self.backend.product and device != (self.backend.memory == "device"):
                raise ArgumentError(f"array '{name}' is not where backend {self.backend} works.")
        return found

    def _check_argument(self, a: Array, array, n: int) -> None:
        """Raises ArgumentError for an output that is read-only, or an extent that is compiled in."""
        e = self.expression
        if a.name in e.outputs and not getattr(array.flags, "writeable", True):
            raise ArgumentError(f"array '{a.name}' is read-only, and an output.")
        if not a.mixed:
            return
        extents = {array.shape[r.indices.index(e.batch)] for r in e.references[a.name] if e.batch in r.indices}
        if n not in extents:
            raise ArgumentError(f"array '{a.name}': n = {n}, wanted the extent of '{e.batch}' that is compiled in.")

    def _operand(self, name: str, given):
        """The array that is bound for what came. A number becomes an array of its own, which run() keeps: NumPy's
        scalars tell the address of a copy that is freed at once."""
        if is_number(given):
            if name in self.expression.outputs:
                raise ArgumentError(f"output '{name}' is a number ({type(given).__name__}), wanted an array to write.")
            return self.backend.from_host(typed_number(name, given, self.dtype), self.dtype)

        array = as_array(name, given, self.backend)
        if not hasattr(array, "strides") or not hasattr(array, "dtype"):
            raise ArgumentError(
                f"array '{name}' is {type(given).__name__}, wanted an array of {self.backend.arrays.__name__}."
            )
        return array

    def entries_in(self, arrays) -> int:
        """Number of entries in the first output."""
        name = self.expression.outputs[0]
        place = self.program.arrays[name].place
        return arrays[name].shape[place] if place is not None and arrays[name].ndim > place else 1

    def _past(self, values, n) -> bool:
        """Whether outputs bypass the caches: they are large, and each entry begins on a cache line."""
        p, size = self.program, self.dtype.itemsize
        outputs = [p.arrays[name] for name in p.expression.outputs]
        written = n * sum(a.size for a in outputs) * size
        if not library_costs.streamed(written, library_costs.held_bytes(p, n)):
            return False
        if not all(library_costs.is_sent(a.size * size) for a in outputs):
            return False
        return all(self._on_lines(a, values, CACHE_LINE // size) for a in outputs)

    def _on_lines(self, a: Array, values, numbers: int) -> bool:
        """Whether the entries of an output begin on cache lines of so many numbers, and old values are not read."""
        if a.name in self.expression.updated or values[f"at_{a.name}"] % CACHE_LINE:
            return False
        if a.place:
            return values[f"ld_{a.name}"] % numbers == 0
        return a.place is None or (a.after % numbers == 0 and values[f"step_{a.name}"] % numbers == 0)

    def compile(self):
        """The compiled kernel, from the cache on disk if it is there; None if the organisation has no kernel."""
        return self.module(self.how)

    def module(self, how: Organisation):
        """The compiled kernel of an organisation, kept: a look-up in the cache on disk reads all headers, which takes
        milliseconds. None if the organisation has no kernel."""
        return self.kept(("module", how), functools.partial(self._compiled, how))

    def filled(self, how: Organisation, names, arrays):
        """The compiled kernel with some of the arrays in its constant memory, kept. Constants live in the module, so
        each set of numbers has a module of its own."""
        if not names:
            return self.module(how)

        numbers = {name: np.asarray(self.backend.to_host(arrays[name]), self.dtype).reshape(-1) for name in names}
        key = ("filled", how, *(numbers[name].tobytes() for name in names))
        return self.kept(key, functools.partial(self._filled, how, numbers))

    def _compiled(self, how: Organisation):
        source = self.source if how is self.how else self.render(self.program, how)
        return self.backend.compile(source) if source else None

    def _filled(self, how: Organisation, numbers):
        module = self._compiled(how)
        render_lines.fill(module, numbers)
        return module

    def kept(self, key, make):
        """make(), done once for a key and kept for later binds. key: what the result depends on beside the plan.
        Threads that ask at the same time may each make it."""
        found = self._kept.pop(key, None)
        if found is None:
            found = make()
        while len(self._kept) >= KEPT:
            self._kept.pop(list(self._kept)[0], None)

        self._kept[key] = found  # the last: what is longest unused goes first
        return found

    def compile_ahead(self) -> None:
        """All kernels that `bind` may ask for, whatever arrays it gets: a cache that has them needs no compiler. For a
        device that is not here, also what the table has for any."""
        if not self.backend.product and not self.given:
            for row in table.elsewhere(self.key):
                how = table.read(row.how, self.family.kinds)
                self._with(how, self.programs[row.order], given=True).compile_ahead()

        for source in self.sources():
            self.backend.compile(source)

    def sources(self) -> list[Source]:
        """Everything that launches may compile, by this organisation or by the one that takes its place."""
        found = self.how.sources(self)
        if self.how.SPECIAL and not self.given:
            found += self._instead().sources()
        return found

    def _launches(self, arrays, values, n):
        try:
            return self.how.launch(self, arrays, values, n)
        except VariantUnsuitable:
            if self.given or not self.how.SPECIAL:
                raise
        return self.kept("instead", self._instead)._launches(arrays, values, n)

    def _instead(self) -> Contraction:
        """The plan for arrays that the model's choice refused."""
        replacement = self.how.REPLACEMENT
        for _, how, program in self.candidates:
            if how.SPECIAL and how.name == replacement != self.how.name:
                return self._with(how, program, self.given)

        _, how, program = next(c for c in self.candidates if not c[1].SPECIAL)
        return self._with(how, program, self.given)

    def alone(self, program: Program, choices) -> Contraction:
        """The plan of another program by the first of the choices: (price, organisation) of each. Backend, type and
        headers are the same."""
        (price, how), *_ = choices
        made = self._with(how, program, given=False)
        made.programs, made.expression, made.sizes = (program,), program.expression, dict(program.sizes)
        made.price, made.row = price, None
        made.candidates = [(price, how, program) for price, how in choices]
        return made

    def _with(self, how: Organisation, program: Program, given: bool) -> Contraction:
        made = copy.copy(self)
        made.how, made.program, made.given = how, program, given
        made._kept = {}
        made.__dict__.pop("source", None)
        return made

    # ---- what was decided
    @property
    def seconds(self) -> float:
        """The model's time of an entry by the organisation that was chosen."""
        return self.price * library_costs.unit(self.backend.style, self.program)

    @property
    def flops(self) -> int:
        """Additions and multiplications of an entry."""
        total = 0
        for s in self.program.statements:
            flops, once = orders.flops_of(s, self.program.sizes, self.expression.batch)
            total += 0 if once else flops
        return total

    @property
    def bytes(self) -> int:
        """Bytes of an entry that have to move: inputs once, outputs once, outputs that are added to twice."""
        e = self.expression
        batched = [a for a in self.program.arguments if a.place is not None or not e.batch]
        return sum(a.size * (2 if a.name in e.updated else 1) for a in batched) * self.dtype.itemsize

    def explain(self, arrays=None, n: int | None = None) -> str:
        """Lines on the choice: orders, products computed once, flops and bytes, the bound, the estimated
        time of each organisation, and why the first was chosen.

        With arrays (see `bind`) it also runs a few times, which writes the outputs, and reports the speed that was
        reached beside a copy of as many bytes, the bound.
        """
        lines = explained.lines(self)
        if arrays is not None:
            run = self.bind(arrays, n)
            lines.append(explained.speed(self, run, self.entries_in(arrays) if n is None else n))
        return "\n".join(lines)


def _as_extents(sizes) -> dict:
    """A dictionary of extents. Raises ArgumentError for what is none."""
    try:
        return dict(sizes or {})
    except (TypeError, ValueError):
        raise ArgumentError(f"tensor expression: sizes {sizes!r}, wanted a dictionary such as {{'i': 3}}.") from None


def _extents_of(script: Script, sizes) -> dict[str, int]:
    """The extent of each index but the batch's. Raises ArgumentError."""
    found = {}
    for index in script.expression.indices:
        if index == script.expression.batch:
            continue
        allowed = script.extents.get(index, ())
        extent = sizes.get(index, allowed[0] if len(allowed) == 1 else None)
        if extent is None and allowed:
            raise ArgumentError(f"tensor expression: extent of index '{index}' is {shown(allowed)}, wanted a number.")
        if not _is_extent(extent):
            raise ArgumentError(f"tensor expression: extent of index '{index}' is {extent!r}, wanted 1 or more.")
        found[index] = int(extent)
    script.check(found)
    return found


def _headers(script: Script, headers, folders) -> tuple[tuple, tuple]:
    """(headers, folders) with the files that the text names."""
    files = [pathlib.Path(name).expanduser().absolute() for name in script.headers]
    for file in files:
        refuse(not file.is_file(), f"header {str(file)!r} is no file.", ArgumentError)
    added = dict.fromkeys(file.parent for file in files)
    return (*headers, *(file.name for file in files)), (*folders, *added)


def _is_extent(given) -> bool:
    """Whether it is a whole number of 1 or more."""
    return is_number(given) and not isinstance(given, complex | str | bytes) and int(given) == given >= 1


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


def extents(e: Expression, shapes) -> tuple[dict[str, int], int]:
    """(extent of each index, of the batch) as the arrays' shapes have them. Raises ArgumentError where two disagree."""
    found: dict[str, tuple[int, str]] = {}
    for name, shape in shapes.items():
        for r in e.references.get(name, ()):
            _take(r, shape, found, e.batch)
    sizes = {index: extent for index, (extent, _) in found.items()}
    return sizes, sizes.pop(e.batch, 1) if e.batch else 1


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


@host_rates.plan_by
def _product_by_direct(text: str, sizes: dict, dtype: str) -> Contraction:
    """The product of two matrices on one core, which is timed for the rates of this machine."""
    return Contraction(text, sizes, dtype, batch="", backend=get_backend("cpu", threads=1), how="direct")
