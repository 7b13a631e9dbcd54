"""Contraction: a tensor expression, planned, rendered, compiled and bound to arrays; call.py has the same in one call.

plan = Contraction("V[e i j k] += A[l k] B[m j] C[n i] U[e l m n]", sizes=dict.fromkeys("ijklmn", 10))
run = plan.bind(dict(A=A, B=B, C=C, U=U, V=V), n)
run()
"""

from __future__ import annotations

import copy
import functools
import pathlib
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from ..engine.backend import get_backend
from ..engine.backend.base import Source
from ..engine.errors import ArgumentError, VariantUnsuitable, refuse
from ..engine.values import is_number
from . import constant_memory, einsum, explained, host_rates, operands, orders, table
from .choice import sorted_out
from .organisations import Organisation, family, library_costs
from .plan import Program, describe, mirrored
from .ranges import shown
from .replays import Replays
from .text import Script, read

TYPES = ("float64", "float32")
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
        self.free = choice.free or script.free
        describe(e, e.statements, self.sizes)

        how = script.how if choice.how is None else choice.how
        order = script.order if choice.order is None else choice.order
        self.headers, self.folders = _headers(script, choice.headers, choice.folders)
        self.programs = tuple(self._programs())
        if order is not None and order not in range(len(self.programs)):
            raise ArgumentError(f"tensor expression: order {order}, wanted 0 to {len(self.programs) - 1}.")

        # The organisation: the caller's, the table's or the model's.
        self.key = table.key_of(e, self.sizes, self.dtype.name, self.backend)
        asked = how is not None or order is not None or self.free
        self.row = None if asked else table.serving(self.key)
        if self.row:
            how, order = self.row.how, self.row.order
        self.given = how is not None  # by the caller or the table: no other organisation takes its place
        self.candidates = sorted(self._candidates(order), key=lambda c: c[0])
        if self.free and how is None:
            how = min(self.reading_extents(), key=lambda c: c[0], default=(0, None))[1]
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

    def reading_extents(self) -> list[tuple[float, Organisation, Program]]:
        """(price, organisation, program) of those that read extents when they run: compiled once, they serve all."""
        able = []
        for price, how, program in self.candidates:
            free = how.with_free_extents()
            if free.reads_extents(program):
                shared = price if free == how else self.shared(free, program, free.price(program))
                able.append((shared, free, program))
        return able

    def render(self, program: Program, how: Organisation):
        """The source of one of the programs by an organisation."""
        return how.render(program, self.headers, self.folders, self.quick)

    def _candidates(self, order: int | None):
        """(price, organisation, program) of each organisation, for the order of evaluation that suits it best."""
        best: dict[str, tuple] = {}
        for program in self.programs if order is None else self.programs[order : order + 1]:
            for of_one, how in self.family.choices(program):
                price = self.shared(how, program, of_one)
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

    def shared(self, how: Organisation, program: Program, price: float) -> float:
        """A price by the threads of a CPU. price: of one; prices of a device count all its threads."""
        threads = self.backend.threads if self.backend.style == "packs" else None
        return how.by_threads(program, price, threads) if threads and threads > 1 else price

    @functools.cached_property
    def source(self):
        return self.render(self.program, self.how)

    # ---- arrays
    def shape(self, name: str, n: int) -> tuple[int, ...]:
        """Shape of an array for n entries."""
        a = self.program.arrays[name]
        return tuple(n if x is None else x for x in a.extents)

    def takes(self, name: str, array, n: int) -> bool:
        """Whether `bind` takes an array as it lies."""
        try:
            operands.place_of(self, name, array, n)
        except ArgumentError:
            return False
        return True

    def bind(self, arrays: Mapping[str, Any], n: int | None = None) -> Callable[..., None]:
        """run() for the first n entries of the batch (None: all that the first output has).

        Shapes, types and contiguity are checked here, once; what is missing, too short, scattered, or an output that
        shares memory with another array, raises ArgumentError that names array, index, found and wanted extent. The
        matrix library takes any positive steps, too.
        An input without indices, `a[]`, may be a number: run() has the value of now. An array of no dimensions is read
        at each run. An output that is a number, and masked arrays, raise ArgumentError.
        """
        arrays = operands.operands_of(self, arrays)
        n = self.entries_in(arrays) if n is None else n
        return self.launched(arrays, n)

    def again(self, arrays: Mapping[str, Any], n: int) -> Callable[..., None] | None:
        """run(arrays): `bind` and run in one, without checks, for calls that come again. Its arrays are in the order of
        these, and have their shapes, types and strides; its outputs are new ones of the backend's, no old values are
        read. None where each call has to bind anew: where old values are read, or arrays are numbers or constants."""
        if self.expression.updated or self.expression.constant or any(map(is_number, arrays.values())):
            return None

        found = operands.operands_of(self, arrays)
        given = {name: found[name] for name in arrays}
        if self.backend.style == "threads":
            return Replays(self, given, n)
        try:
            return self.how.again(self, given, self.checked(given, n), n)
        except VariantUnsuitable:
            return None

    def launched(self, arrays, n: int) -> Callable[..., None]:
        """run() of arrays where the backend works."""
        return self._launches(arrays, self.checked(arrays, n), n)

    def checked(self, arrays, n: int) -> dict:
        """Numbers of a launch for n entries, see operands.checked. Raises ArgumentError."""
        return operands.checked(self, arrays, n)

    def launch_checked(self, arrays, known, n: int) -> Callable[..., None]:
        """run() for arrays that a plan around this one has checked or made. known: values of some of them, as `checked`
        finds them; the others are contiguous."""
        return self._launches(arrays, operands.unchecked(self, arrays, known, n), n)

    def entries_in(self, arrays) -> int:
        """Number of entries in the first output."""
        name = self.expression.outputs[0]
        place = self.program.arrays[name].place
        return arrays[name].shape[place] if place is not None and arrays[name].ndim > place else 1

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
        constant_memory.fill(module, numbers)
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
        """Bytes of an entry that have to move: inputs once, outputs once, outputs that are added to twice. A
        diagonal moves the cache lines that hold its numbers."""
        e, p = self.expression, self.program
        batched = [a for a in p.arguments if a.place is not None or not e.batch]
        numbers = sum(library_costs.moving(p, a) * (2 if a.name in e.updated else 1) for a in batched)
        return numbers * self.dtype.itemsize

    def shown(self) -> list[Contraction]:
        """The plans whose `source` readers may want to see: this one, or its steps."""
        return self.how.shown(self)

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


@host_rates.plan_by
def _product_by_direct(text: str, sizes: dict, dtype: str) -> Contraction:
    """The product of two matrices on one core, which is timed for the rates of this machine."""
    return Contraction(text, sizes, dtype, batch="", backend=get_backend("cpu", threads=1), how="direct")
