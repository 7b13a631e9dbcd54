"""From statements to loops: how arrays lie, which loops may be joined, and what the organisations have in common.

A `Nest` is a statement as numbers: loops over its output, and for each term loops over its sums, each loop with the
step that every array makes. Renderers give each loop a level; nothing in a nest belongs to a processor.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import NamedTuple

from ..engine.errors import ArgumentError
from .text import Expression, Reference, Statement, Term

# A step of an index in front of the batch index is so many times the array's `ld`, known at run time. Such steps are
# counted in this unit, where a renderer asks for them (far=True); others gather an entry first.
FAR = 1 << 40
MIRROR = "%mirror"  # the function of a statement that fills both halves of a symmetric array from one


class Unable(Exception):
    """An organisation does not serve a program. The message says what the program would need."""


class Loop(NamedTuple):
    """A loop over an index, or over several that are joined."""

    extent: int
    step: tuple[int, ...]  # of each array of the nest, the output first, from turn to turn; 0: the array stays


class Product(NamedTuple):
    """A term: number times factors, summed over the loops."""

    number: float
    factors: tuple[int, ...]  # places in Nest.names
    sums: tuple[Loop, ...]


@dataclasses.dataclass(frozen=True)
class Nest:
    """A statement as loops."""

    statement: Statement
    names: tuple[str, ...]  # the output first, then the factors; an array that is read twice is listed twice
    loops: tuple[Loop, ...]  # over the output, the slowest first
    products: tuple[Product, ...]

    @property
    def size(self) -> int:
        """Numbers of the output of an entry."""
        return math.prod(loop.extent for loop in self.loops)


@dataclasses.dataclass(frozen=True)
class Array:
    """How an array lies."""

    name: str
    indices: tuple[str, ...]  # of its dimensions, as in its first reference
    extents: tuple[int | None, ...]  # None for the batch
    kind: str  # "argument", "local" (one for each entry of the batch) or "shared" (a local without the batch index)
    place: int | None  # of the batch index
    mixed: bool = False  # an argument with the batch index in several places; its extents are all compiled in

    @property
    def before(self) -> int:
        """Numbers of one entry that lie a whole batch apart: the dimensions in front of the batch index."""
        return math.prod(x or 1 for x in self.extents[: self.place or 0])

    @property
    def after(self) -> int:
        """Numbers of one entry that lie together: the dimensions behind the batch index."""
        return math.prod(x or 1 for x in self.extents[0 if self.place is None else self.place :])

    @property
    def size(self) -> int:
        """Numbers of one entry."""
        return math.prod(x or 1 for x in self.extents)


@dataclasses.dataclass(frozen=True, eq=False)  # by identity: plans are remembered by program
class Program:
    """Statements of two factors with their arrays and extents: the input of every organisation."""

    expression: Expression
    statements: tuple[Statement, ...]
    arrays: dict[str, Array]
    sizes: dict[str, int]
    dtype: str  # float64, float32

    @property
    def batch(self) -> str | None:
        return self.expression.batch

    @property
    def title(self) -> str:
        """What it computes, for a profiler's table: outputs and inputs."""
        return f"{'_'.join(self.expression.outputs)}_from_{'_'.join(self.expression.inputs)}"

    @functools.cached_property
    def arguments(self) -> tuple[Array, ...]:
        """In the order of the text: inputs, then outputs."""
        return tuple(self.arrays[name] for name in (*self.expression.inputs, *self.expression.outputs))

    def once(self, s: Statement) -> bool:
        """Whether a statement is done once, before the batch."""
        return self.arrays[s.out.name].kind == "shared"

    def live(self) -> dict[str, tuple[int, int]]:
        """Of each array, the first and the last statement that has it."""
        found: dict[str, tuple[int, int]] = {}
        for k, s in enumerate(self.statements):
            for name in (s.out.name, *(f.name for t in s.terms for f in t.factors)):
                found[name] = (found.get(name, (k, k))[0], k)
        return found


def view(r: Reference, array: Array, batch: str | None) -> str:
    """The name of the pointer to one entry that a reference reads by."""
    if array.mixed and batch in r.indices:
        return f"{r.name}_{r.indices.index(batch)}"
    return r.name


def steps(r: Reference, array: Array, batch: str | None, far: bool = False) -> dict[str, int]:
    """Step of each index but the batch's, within an entry; an index that stands twice adds both."""
    found: dict[str, int] = {}
    step = 1
    for place in reversed(range(len(r.indices))):
        index = r.indices[place]
        if index != batch:
            found[index] = found.get(index, 0) + step
        if far and place == array.place and array.kind == "argument":
            step = FAR
        elif index != batch or array.mixed:
            step *= array.extents[place] or 1
    return found


def describe(e: Expression, statements, sizes) -> dict[str, Array]:
    """The arrays of the statements. Raises ArgumentError if an extent is not known, or two disagree."""
    references: dict[str, list[Reference]] = {name: list(refs) for name, refs in e.references.items()}
    for s in statements:
        for r in (*(f for t in s.terms for f in t.factors), s.out):
            references.setdefault(r.name, []).append(r)

    return {name: _array(e, name, refs, sizes) for name, refs in references.items()}


def _array(e: Expression, name: str, refs: list[Reference], sizes) -> Array:
    """An array as its references have it."""
    extents = tuple(_extent(e, name, refs, place, sizes) for place in range(len(refs[0].indices)))
    places_ = {r.indices.index(e.batch) if e.batch in r.indices else None for r in refs}
    mixed = len(places_) > 1
    where = None if mixed else places_.pop()

    kind = "argument"
    if name in e.local or name not in e.references:
        kind = "shared" if e.batch and where is None else "local"
    return Array(name, refs[0].indices, extents, kind, where, mixed)


def _extent(e: Expression, name: str, refs: list[Reference], place: int, sizes) -> int | None:
    """The extent of a dimension; None for the batch. Raises ArgumentError."""
    known = {r.indices[place]: sizes.get(r.indices[place]) for r in refs if r.indices[place] != e.batch}
    for index, extent in known.items():
        if extent is None:
            raise ArgumentError(f"tensor expression: the extent of index '{index}' of '{name}' is not known.")
    if len(set(known.values())) > 1:
        told = ", ".join(f"'{i}' = {x}" for i, x in known.items())
        raise ArgumentError(f"tensor expression: array '{name}', dimension {place}: {told} differ.")
    return next(iter(known.values()), None)


def mirrored(e: Expression, statements) -> tuple[Statement, ...]:
    """The statements with symmetric arrays read from a copy of which one half was mirrored."""
    copies: dict[str, str] = {}
    made: list[Statement] = []
    for name in sorted(e.symmetric):
        r = e.references[name][0]
        copies[name] = f"{name}_whole"
        made.append(Statement(Reference(copies[name], r.indices), (Term(1.0, (r,)),), False, MIRROR))

    for s in statements:
        terms = []
        for t in s.terms:
            factors = tuple(Reference(copies.get(f.name, f.name), f.indices) for f in t.factors)
            terms.append(Term(t.number, factors))
        made.append(s._replace(terms=tuple(terms)))
    return tuple(made)


def nest(p: Program, s: Statement, far: bool = False) -> Nest:
    """The loops of a statement, joined where every array allows it. far: see FAR."""
    refs = [s.out]
    places_ = []  # of each term's factors
    for t in s.terms:
        places_.append(tuple(range(len(refs), len(refs) + len(t.factors))))
        refs += t.factors
    all_steps = [steps(r, p.arrays[r.name], p.batch, far) for r in refs]
    names = [s.out.name, *(view(r, p.arrays[r.name], p.batch) for r in refs[1:])]

    def loops(indices) -> tuple[Loop, ...]:
        return joined([Loop(p.sizes[i], tuple(step.get(i, 0) for step in all_steps)) for i in indices])

    products = []
    for t, factors in zip(s.terms, places_):
        products.append(Product(t.number, factors, loops(t.sums(s.out))))
    return Nest(s, tuple(names), loops([i for i in s.out.indices if i != p.batch]), tuple(products))


def joined(loops) -> tuple[Loop, ...]:
    """Two loops become one where every array steps through both as through one. Loops of one turn vanish."""
    made: list[Loop] = []
    for loop in loops:
        if loop.extent == 1:
            continue
        if made and all(a == b * loop.extent for a, b in zip(made[-1].step, loop.step)):
            made[-1] = Loop(made[-1].extent * loop.extent, loop.step)
        else:
            made.append(loop)
    return tuple(made)


def places(p: Program, names, multiple: int = 16, lasting=()) -> tuple[dict[str, int], int]:
    """(offset of each local in the scratch of an entry, numbers needed).

    Arrays that never live at the same time may share memory. Arrays of kind "shared" live always; arrays that hold the
    caller's values live from the start, and `lasting` to the end. multiple: of numbers, at which arrays begin.
    """
    spans = {name: _span(p, name, lasting) for name in names}
    put: dict[str, tuple[int, int]] = {}
    for name in sorted(names, key=lambda n: -p.arrays[n].size):
        size = -(-p.arrays[name].size // multiple) * multiple
        first, last = spans[name]
        taken = sorted(put[x] for x in put if spans[x][0] <= last and first <= spans[x][1])

        at = 0
        for begin, end in taken:
            if at + size <= begin:
                break
            at = max(at, end)
        put[name] = at, at + size
    return {name: begin for name, (begin, _) in put.items()}, max((end for _, end in put.values()), default=0)


def _span(p: Program, name: str, lasting) -> tuple[int, int]:
    """The statements from which to which an array lives; -1: from the start."""
    live, end = p.live(), len(p.statements)
    if name not in live or p.arrays[name].kind == "shared":
        return -1, end
    first, last = live[name]
    if name in p.expression.inputs or name in p.expression.updated:
        first = -1
    return first, end if name in lasting else last


# ---- text that threads have in common ------------------------------------------------------------------------------


def step_text(step: int, ld: str) -> str:
    """C++ of a step in memory. step: FAR times rows, plus numbers; ld: the text for a row's length."""
    far, near = divmod(step, FAR)
    return " + ".join([*([f"{far} * {ld}"] if far else []), *([str(near)] if near or not far else [])])


def declarations(p: Program, a: Array, entry: str, prefix: str = "at") -> list[str]:
    """C++ of prefix_name, the pointer to an argument at an entry; a mixed array has one for each place of the batch."""
    kind = "scalar" if a.name in p.expression.outputs else "const scalar"
    move = f" + {entry} * a.step_{a.name}" if a.place is not None else ""
    lines = [f"{kind} *__restrict__ const {prefix}_{a.name} = ({kind} *)a.at_{a.name}{move};"]
    if not a.mixed:
        return lines

    found = {r.indices.index(p.batch) for r in p.expression.references[a.name] if p.batch in r.indices}
    for place in sorted(found):
        step = math.prod(x or 1 for x in a.extents[place + 1 :])
        lines.append(f"const scalar *const at_{a.name}_{place} = at_{a.name} + {entry} * {step};")
    return lines


def pointers(p: Program, entry: str, staged=()) -> list[str]:
    """C++ of at_name of each argument at an entry; to_name for arrays that are staged in shared memory as at_name."""
    lines = []
    for a in p.arguments:
        prefix = "to" if a.name in staged else "at"
        lines += declarations(p, a, entry, prefix)
        lines.append(f"(void){prefix}_{a.name};")
    return lines
