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
    """extent; step: of each array of the nest, the output first, from one turn to the next; 0 where it stays."""

    extent: int
    step: tuple[int, ...]


class Product(NamedTuple):
    """A term: number times factors, which are places in Nest.names, summed over the loops."""

    number: float
    factors: tuple[int, ...]
    sums: tuple[Loop, ...]


@dataclasses.dataclass(frozen=True)
class Nest:
    """names: the arrays, the output first; one that stands in two places is there twice. loops: over the output, the
    slowest first."""

    statement: Statement
    names: tuple[str, ...]
    loops: tuple[Loop, ...]
    products: tuple[Product, ...]

    @property
    def size(self) -> int:
        return math.prod(loop.extent for loop in self.loops)


@dataclasses.dataclass(frozen=True)
class Array:
    """How an array lies: indices of its dimensions (those of its first reference), their extents, None for the batch.

    kind: "argument", "local" (one for each entry of the batch) or "shared" (a local without the batch index). place: of
    the batch index. mixed: an argument whose batch index stands in several places; its extents are all compiled in.
    """

    name: str
    indices: tuple[str, ...]
    extents: tuple[int | None, ...]
    kind: str
    place: int | None
    mixed: bool = False

    @property
    def before(self) -> int:
        """Elements of one entry that lie a whole batch apart: the dimensions in front of the batch index."""
        return math.prod(x or 1 for x in self.extents[: self.place or 0])

    @property
    def after(self) -> int:
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
    """The arrays of the statements. Raises ArgumentError where an extent is not known or two disagree."""
    found: dict[str, Array] = {}
    references: dict[str, list[Reference]] = {name: list(refs) for name, refs in e.references.items()}
    for s in statements:
        for r in (*(f for t in s.terms for f in t.factors), s.out):
            references.setdefault(r.name, []).append(r)
    for name, refs in references.items():
        places = {r.indices.index(e.batch) if e.batch in r.indices else None for r in refs}
        mixed = len(places) > 1
        extents: list[int | None] = []
        for place in range(len(refs[0].indices)):
            known = {r.indices[place]: sizes.get(r.indices[place]) for r in refs if r.indices[place] != e.batch}
            for index, extent in known.items():
                if extent is None:
                    raise ArgumentError(f"tensor expression: the extent of index '{index}' of '{name}' is not known.")
            if len(set(known.values())) > 1:
                told = ", ".join(f"'{i}' = {x}" for i, x in known.items())
                raise ArgumentError(f"tensor expression: array '{name}', dimension {place}: {told} differ.")
            extents.append(next(iter(known.values()), None))
        where = None if mixed else places.pop()
        kind = "argument"
        if name in e.local or name not in e.references:
            kind = "shared" if e.batch and where is None else "local"
        found[name] = Array(name, refs[0].indices, tuple(extents), kind, where, mixed)
    return found


def mirrored(e: Expression, statements) -> tuple[Statement, ...]:
    """The statements with symmetric arrays read from a copy that was made of one half."""
    copies = {}
    for name in sorted(e.symmetric):
        r = e.references[name][0]
        copies[name] = Reference(f"{name}_whole", r.indices)
    first = [Statement(copy, (Term(1.0, (e.references[name][0],)),), False, MIRROR) for name, copy in copies.items()]
    held = lambda f: Reference(copies[f.name].name, f.indices) if f.name in copies else f
    return (
        *first,
        *(s._replace(terms=tuple(Term(t.number, tuple(map(held, t.factors))) for t in s.terms)) for s in statements),
    )


def nest(p: Program, s: Statement, far: bool = False) -> Nest:
    """The loops of a statement, joined where every array allows it. far: see FAR."""
    names, all_steps = [s.out.name], [steps(s.out, p.arrays[s.out.name], p.batch, far)]
    products = []
    for t in s.terms:
        first = len(names)
        for f in t.factors:
            names.append(view(f, p.arrays[f.name], p.batch))
            all_steps.append(steps(f, p.arrays[f.name], p.batch, far))
        products.append((t, tuple(range(first, len(names)))))
    loop = lambda i: Loop(p.sizes[i], tuple(own.get(i, 0) for own in all_steps))
    outer = joined([loop(i) for i in s.out.indices if i != p.batch])
    made = tuple(Product(t.number, factors, joined([loop(i) for i in t.sums(s.out)])) for t, factors in products)
    return Nest(s, tuple(names), outer, made)


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
    """(offset of each local in the scratch of an entry, numbers needed). Arrays that never live at the same time may
    share memory; those of kind "shared" live always, what holds given values lives from the start, and `lasting` to
    the end."""
    live, last = p.live(), len(p.statements)
    given = {*p.expression.inputs, *p.expression.updated}
    always = lambda n: n not in live or p.arrays[n].kind == "shared"

    def span(n):
        if always(n):
            return -1, last
        return -1 if n in given else live[n][0], last if n in lasting else live[n][1]

    put: dict[str, tuple[int, int]] = {}
    for name in sorted(names, key=lambda n: -p.arrays[n].size):
        size = -(-p.arrays[name].size // multiple) * multiple
        taken = sorted(
            put[other] for other in put if span(other)[0] <= span(name)[1] and span(name)[0] <= span(other)[1]
        )
        at = 0
        for begin, end in taken:
            if at + size <= begin:
                break
            at = max(at, end)
        put[name] = at, at + size
    return {name: begin for name, (begin, _) in put.items()}, max((end for _, end in put.values()), default=0)


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
