"""Complex arrays as pairs of real ones: a complex contraction is a real contraction of real and imaginary parts.

On a CPU a real contraction may read the arrays as they lie, with the part as the last index (side_by_side.py). Of
several complex factors all but one are then copied as matrices of real numbers.

Otherwise a product of complex a and b is four real products, a_re b_re - a_im b_im and a_re b_im + a_im b_re, whose
sums go into one kernel. Each part of a result is so a real sum with twice the terms: it is off by at most 4 K eps
sum(|a_re b_re| + |a_im b_im|) or its like, K roundings in a row, which a sum of |a||b| bounds. The form with three
products is not used: its parts are off by eps of the whole, not of their own terms.

Organisations with COMPLEX read complex numbers as they lie, without copies: a matrix library, and on a device the
kernels of sums and of products number by number (complex.h), whose products are the same four.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from typing import Any

import numpy as np

from ..engine.errors import ArgumentError, VariantUnsuitable, closest
from ..engine.values import is_number
from . import estimates, explained, orders, scratch
from .arrays import as_array, refuse_overlap, share_memory
from .choice import Choice, Reading, sorted_out
from .contraction import Contraction
from .expression import Expression, Reference, Statement, Term
from .matrices import PARTS
from .organisations import Organisation, library_costs
from .parts import joiner, seconds_of_copies, splitter
from .side_by_side import SideBySide, as_real
from .text import Script, parse, read, words

TYPES = {"complex64": "float32", "complex128": "float64"}
ENDS = ("_re", "_im")  # of the names of parts
RANKS = 2  # of the factor that lies as it is, that are looked at
LINE = 64  # bytes
PART = 1.5e-6  # seconds of a copy of a part, beside its numbers
APART = 1.15  # times the seconds of parts: complex numbers as they lie come first where both take about as long
READ_AND_WRITTEN = 1.5  # times the bytes: of a line that is written the old numbers are read


class ComplexProducts(Contraction):
    """A contraction by organisations that have complex numbers: products of matrices by a library, kernels on a device
    for other products and sums."""

    DTYPES = tuple(TYPES)
    BY = "kernels of complex numbers"

    @property
    def flops(self) -> int:
        """Additions and multiplications of real numbers of an entry."""
        return int(library_costs.COMPLEX) * super().flops

    def takes(self, name: str, array, n: int) -> bool:
        """Whether `bind` takes an array as it lies. Kernels read both parts of a number at once."""
        taken = super().takes(name, array, n)
        return taken and (not array.size or self.backend.address(array) % self.dtype.itemsize == 0)

    def takes_all(self, arrays, n: int | None) -> bool:
        """Whether `bind` takes all arrays as they lie."""
        count = self.entries_in(arrays) if n is None else n
        return all(self.takes(name, array, count) for name, array in arrays.items())


def _contraction(e: Expression, sizes, dtype, backend, choice: Choice) -> Contraction:
    """The real contraction of an expression of the parts of complex numbers."""
    batch = None if e.found and e.batch else e.batch or ""
    marks = dict(local=e.local, constant=e.constant, symmetric=e.symmetric)
    return Contraction(str(e), sizes, TYPES[dtype.name], backend, batch=batch, **marks, **vars(choice))


class ComplexContraction:
    """A Contraction of complex arrays: by organisations that have complex numbers where they serve the text and the
    model says that it takes less time, else by the real contraction of their parts.

    text, sizes, backend and the options are those of Contraction. dtype: complex128 or complex64.
    real: names of the inputs that are real arrays, of the same precision. Outputs are complex.
    Raises ArgumentError, for maps too: their functions know no complex numbers.
    """

    DTYPES = tuple(TYPES)

    def __init__(self, text: str, sizes=None, dtype="complex128", backend=None, real=(), **options):
        self.dtype = np.dtype(dtype)
        if self.dtype.name not in TYPES:
            raise ArgumentError(f"tensor expression: type {self.dtype.name}, wanted {' or '.join(TYPES)}.")

        # The complex text, and the real text of its parts.
        reading, choice = sorted_out(options)
        script = read(text, **vars(reading))
        self.expression = script.expression
        self.real = self._real(words(real))
        self.pairs = Pairs(self.expression, self.real, _extents(script, sizes))

        # The real contraction of the parts. The organisation that is asked for may serve complex numbers alone.
        how = script.how if choice.how is None else choice.how
        order = script.order if choice.order is None else choice.order
        choice = dataclasses.replace(choice, how=how, order=order)
        sizes, refused = _extents(script, sizes), None
        try:
            self.parts = self._of_parts(sizes, backend, choice)
        except ArgumentError as error:
            refused = error
            self.parts = self._of_parts(sizes, backend, dataclasses.replace(choice, how=None))

        # Kernels of complex numbers, if they take less time.
        self.backend = self.parts.backend
        self.products: ComplexProducts | SideBySide | None = None  # takes the place of the parts
        self.served = self._served(text, sizes, reading, choice)
        lying = self._lying(sizes, choice)
        if refused and not self.served and not lying:
            raise refused
        if self.served and (how is not None or self.served.seconds < APART * self.seconds):
            self.products = self.served
        if lying and not (self.products and how is not None):
            is_asked_for = how is not None and not lying.matrices
            if is_asked_for or lying.seconds < self.seconds:
                self.products = lying

    def _of_parts(self, sizes, backend, choice: Choice) -> Contraction:
        """The contraction of the parts."""
        return _contraction(self.pairs.expression, sizes, self.dtype, backend, choice)

    def _lying(self, sizes, choice: Choice) -> SideBySide | None:
        """The cheapest contraction of arrays as they lie, on a CPU."""
        if self.backend.style != "packs" or choice.order is not None:
            return None

        found: list[SideBySide] = []
        for rank in range(RANKS):
            made = as_real(self.expression, self.real, sizes, rank)
            if made is None or (rank and not made.matrices):
                break
            extents = {**sizes, **dict.fromkeys(made.sides, PARTS)}
            with contextlib.suppress(ArgumentError):  # the organisation that is asked for does not serve it
                numbers = _contraction(made.expression, extents, self.dtype, self.backend, choice)
                found.append(SideBySide(self.expression, made, numbers, self.real))
        return min(found, key=lambda each: each.seconds, default=None)

    def _served(self, text: str, sizes, reading: Reading, choice: Choice) -> ComplexProducts | None:
        """The contraction by complex numbers, if the text is served and the options do not forbid it."""
        given = choice.how.name if isinstance(choice.how, Organisation) else choice.how and choice.how.split()[0]
        able = [name for name, kind in self.parts.family.kinds.items() if kind.COMPLEX]
        if given not in (None, *able) or choice.order is not None or self.real or self.expression.constant:
            return None

        try:
            return ComplexProducts(text, sizes, self.dtype, self.backend, **vars(reading), **vars(choice))
        except ArgumentError:
            return None  # the parts were planned: the text is right, and no organisation with complex numbers serves it

    def _seconds_of_copies(self) -> float:
        """The model's time of an entry for the parts of all complex arrays, also of those that all entries read: each
        number is read and written."""
        style, n = self.backend.style, library_costs.usual_batch(self.parts.program)
        held = library_costs.held_bytes(self.parts.program, n) / n
        moved = 2 * held
        begin = 2 * sum(len(parts) == 2 for parts in self.pairs.names.values()) * PART / n
        if style != "packs":
            return moved / library_costs.rates(style, self.dtype.name).copies + begin

        size = self.parts.dtype.itemsize
        copies = seconds_of_copies(held / size * n, size) / n
        memory = moved * READ_AND_WRITTEN / library_costs.pace(style, self.dtype.name, moved * n, of_large=1.0)
        return max(copies, memory) + begin

    def _real(self, names: frozenset[str]) -> frozenset[str]:
        for name in sorted(names - set(self.expression.inputs)):
            like = closest(name, self.expression.inputs)
            raise ArgumentError(f"tensor expression: '{name}' is named real but is no input{like}.")
        return names

    @property
    def seconds(self) -> float:
        """The model's time of an entry."""
        if self.products:
            return self.products.seconds
        return self.parts.seconds + self._seconds_of_copies()

    def shape(self, name: str, n: int) -> tuple[int, ...]:
        """Shape of an array for n entries."""
        return self.parts.shape(self.pairs.names[name][0], n)

    def takes(self, name: str, array, n: int) -> bool:
        """Whether `bind` takes an array as it lies: complex arrays of which parts are needed are copied in any case."""
        if self.products:
            return self.products.takes(name, array, n)
        return name not in self.real or self.parts.takes(name, array, n)

    def shown(self) -> list[Contraction]:
        """The plans of the real or complex kernels; see Contraction.shown."""
        return (self.products or self.parts).shown()

    def explain(self, arrays=None, n: int | None = None) -> str:
        """Orders and organisations that were considered, the choice, with arrays the speed that was reached; see
        Contraction.explain."""
        chosen = self.products or self.parts
        by = self.products.BY if self.products else "the real contraction of their parts"
        lines = [f"complex: {self.expression}", f"complex arrays by {by}"]
        if self.served:
            products, parts = self.served.seconds, self.parts.seconds + self._seconds_of_copies()
            lines.append(f"complex numbers: {estimates.shown(products)} an entry")
            lines.append(f"real parts, with their copies: {estimates.shown(parts)} an entry")
        lines.append(chosen.explain())

        if arrays is not None:
            name = self.expression.outputs[0]
            place = self.expression.batch_place(name)
            entries = arrays[name].shape[place] if place is not None else 1
            lines.append(explained.speed(self.parts, self.bind(arrays, n), entries if n is None else n))
        return "\n".join(lines)

    def compile_ahead(self) -> None:
        """All kernels that `bind` may ask for."""
        self.parts.compile_ahead()
        if self.products:
            self.products.compile_ahead()

    def bind(self, arrays, n: int | None = None):
        """run() for the first n entries of the batch (None: all that the first output has).

        Complex arrays may have any strides. Kernels of complex numbers read them in place. Otherwise run() copies
        them into parts, and the parts into the outputs; `constant` inputs are copied once, now. Real inputs are read
        where they lie, as Contraction.bind says. An output in another array's memory raises ArgumentError too.
        """
        arrays = {name: as_array(name, a, self.backend) for name, a in arrays.items()}
        self._check(arrays)
        if self.products and self.products.takes_all(arrays, n):
            with contextlib.suppress(VariantUnsuitable):
                return self.products.bind(arrays, n)

        held = {}
        copied_in, copied_out = [], []
        for name, parts in self.pairs.names.items():
            if len(parts) == 1:
                held[parts[0]] = arrays[name]
                continue
            pair = [self.backend.empty(arrays[name].shape, self.parts.dtype) for _ in ENDS]
            held |= dict(zip(parts, pair))
            if name in self.expression.inputs or name in self.expression.updated:
                copied_in.append((name, arrays[name], pair))
            if name in self.expression.outputs:
                copied_out.append((arrays[name], pair))
        run = self.parts.bind(held, n)

        for name, array, pair in copied_in:
            if name in self.expression.constant:
                _take(array, pair)
        each_run = [(array, pair) for name, array, pair in copied_in if name not in self.expression.constant]

        def run_all() -> None:
            for array, pair in each_run:
                _take(array, pair)
            run()
            for array, pair in copied_out:
                array.real[...] = pair[0]
                array.imag[...] = pair[1]

        return run_all

    def again(self, arrays, n: int):
        """run(arrays), as Contraction.again."""
        if self.products and self.products.takes_all(arrays, n):
            return self.products.again(arrays, n)
        if self.expression.updated or self.expression.constant:
            return None

        held = self._parts_of(arrays)
        run = self.parts.again({part: array for pair in held.values() for part, array in pair.items()}, n)
        if run is None:
            return None

        # Copies before and after it.
        names, takes, leaves = tuple(arrays), {}, {}
        for name, array in arrays.items():
            if name in self.expression.outputs:
                leaves[name] = joiner(self.backend, array)
            elif len(held[name]) == 2:
                takes[name] = splitter(self.backend, array)

        def run_again(given) -> None:
            whole = dict(zip(names, given))
            held = self._parts_of(whole)
            for name, take in takes.items():
                take(whole[name], *held[name].values())
            run([array for pair in held.values() for array in pair.values()])
            for name, leave in leaves.items():
                leave(whole[name], *held[name].values())

        return run_again

    def _parts_of(self, arrays) -> dict[str, dict]:
        """{array: the real arrays that stand for it}: itself, or two in the room for them."""
        pairs = {name: array for name, array in arrays.items() if len(self.pairs.names[name]) == 2}
        size = self.parts.dtype.itemsize
        wholes = {name: -(-array.size * size // LINE) * LINE // size for name, array in pairs.items()}
        room = self._room(2 * sum(wholes.values()))

        found: dict[str, dict] = {}
        begin = 0
        for name, array in arrays.items():
            if name not in pairs:
                found[name] = {self.pairs.names[name][0]: array}
                continue
            found[name] = {}
            for part in self.pairs.names[name]:
                found[name][part] = room[begin : begin + array.size].reshape(array.shape)
                begin += wholes[name]
        return found

    def _room(self, numbers: int):
        """Memory for a call's parts: on a CPU this thread's, which it keeps."""
        if self.backend.memory == "device":
            return self.backend.empty((numbers,), self.parts.dtype)
        return scratch.room("parts", (numbers,), self.parts.dtype)

    def _check(self, arrays) -> None:
        """Raises ArgumentError for arrays that are missing, unknown, of another type, or outputs in others' memory."""
        e = self.expression
        wanted = e.require(arrays)
        for name in wanted:
            array = arrays[name]
            dtype = self.parts.dtype if name in self.real else self.dtype
            if name not in self.real and not hasattr(array, "strides"):
                raise ArgumentError(f"array '{name}' is {type(array).__name__}, wanted an array of {dtype.name}.")
            if hasattr(array, "dtype") and array.dtype != dtype:
                raise ArgumentError(f"array '{name}': type {array.dtype}, wanted {dtype.name}.")
            if name in e.outputs and not getattr(array.flags, "writeable", True):
                raise ArgumentError(f"array '{name}' is read-only, and an output.")
            if name in e.outputs:
                refuse_overlap(name, array)

        for name, other in itertools.product(e.outputs, wanted):
            numbers = is_number(arrays[other])
            if name != other and not numbers and share_memory(arrays[name], arrays[other]):
                raise ArgumentError(f"output '{name}' and array '{other}' share memory.")


def _take(array, pair) -> None:
    """The parts of a complex array."""
    pair[0][...] = array.real
    pair[1][...] = array.imag


def _extents(script: Script, sizes) -> dict[str, int]:
    """Extents of the caller's, and those that the text has as one number."""
    told = {index: allowed[0] for index, allowed in script.extents.items() if len(allowed) == 1}
    return told | dict(sizes or {})


class Pairs:
    """The real expression of a complex one.

    names: of each array of the complex text, the real arrays that stand for it: itself, or its two parts.
    """

    def __init__(self, e: Expression, real: frozenset[str], sizes):
        self.e, self.sizes = e, sizes
        self.taken = set(e.references)
        self.real = set(real)
        self.complex: dict[str, tuple[str, str]] = {}
        self.made: list[Statement] = []
        self.local: set[str] = set()

        for s in e.statements:
            if s.function:
                raise ArgumentError(f"'{s}' is a map, whose function knows no complex numbers.")
            self._add(s)
        self.names = {name: self._parts(name) for name in (*e.inputs, *e.outputs)}
        self.expression = self._expression()

    def _expression(self) -> Expression:
        """The made statements, with marks and batch index of the complex ones."""
        marks: dict[str, Any] = {}
        for mark in ("local", "constant", "symmetric"):
            own = [part for name in getattr(self.e, mark) for part in self._parts(name)]
            marks[mark] = frozenset(own)
        marks["local"] |= self.local
        text = "; ".join(map(str, self.made))
        return parse(text, None if self.e.found else self.e.batch or "", **marks)

    def _parts(self, name: str) -> tuple[str, ...]:
        return (name,) if name in self.real else self._pair(name)

    def _pair(self, name: str) -> tuple[str, str]:
        """Names of the two parts of a complex array."""
        if name not in self.complex:
            made = [self._free(f"{name}{part}") for part in ENDS]
            self.complex[name] = made[0], made[1]
        return self.complex[name]

    def _free(self, name: str) -> str:
        """A name that no array has."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    # ---- statements
    def _add(self, s: Statement) -> None:
        """The statements of a statement's parts."""
        terms = [self._of_two(s, t) for t in s.terms]

        if s.out.name in self.e.local and all(f.name in self.real for t in terms for f in t.factors):
            self.real.add(s.out.name)
            self.made.append(s._replace(terms=tuple(terms)))
            return

        sums: tuple[list[Term], list[Term]] = [], []
        for t in terms:
            for found, part in zip(self._product(t), sums):
                part += found
        for name, part in zip(self._pair(s.out.name), sums):
            if part or not s.add:
                zero = (Term(0.0, ()),)
                self.made.append(Statement(Reference(name, s.out.indices), tuple(part) or zero, s.add))

    def _of_two(self, s: Statement, t: Term) -> Term:
        """A term with at most two factors if several are complex; the products before are locals."""
        pairs = [f for f in t.factors if f.name not in self.real]
        if len(t.factors) < 3 or len(pairs) < 2:
            return t

        found = orders.orders(t, s.out, self._sizes(), self.e.batch, self.e.found)
        return Term(t.number, tuple(self._factor(t, s.out, part) for part in found.cheapest[0]))

    def _sizes(self):
        return {self.e.batch: 1, **self.sizes}

    def _factor(self, t: Term, out: Reference, tree) -> Reference:
        """The factor that stands for a part of the product: itself, or a local that holds it."""
        if isinstance(tree, int):
            return t.factors[tree]

        pair = tuple(self._factor(t, out, part) for part in tree)
        own = orders.result(orders.leaves(tree), tuple(frozenset(f.indices) for f in t.factors), out.indices)
        order = dict.fromkeys(i for i in itertools.chain(*(f.indices for f in pair)) if i in own)
        local = Reference(self._free("product"), tuple(order))
        if all(f.name in self.real for f in pair):
            self.real.add(local.name)
        self.local |= set(self._parts(local.name))

        product = Term(1.0, pair)
        for name, part in zip(self._parts(local.name), self._product(product)):
            self.made.append(Statement(Reference(name, local.indices), tuple(part)))
        return local

    def _product(self, t: Term) -> tuple[list[Term], list[Term]]:
        """Terms of the real and of the imaginary part of a product."""
        real = [Term(t.number, ())]
        imaginary: list[Term] = []
        for f in t.factors:
            parts = [Reference(name, f.indices) for name in self._parts(f.name)]
            if len(parts) == 1:
                real, imaginary = _times(real, parts[0]), _times(imaginary, parts[0])
                continue
            re, im = parts
            real, imaginary = (
                _times(real, re) + _times(imaginary, im, -1.0),
                _times(real, im) + _times(imaginary, re),
            )
        return real, imaginary


def _times(terms, factor: Reference, sign: float = 1.0) -> list[Term]:
    return [Term(sign * t.number, (*t.factors, factor)) for t in terms]
