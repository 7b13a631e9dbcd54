"""From statements to loops: how arrays lie, which loops may be joined, and what the organisations have in common.

A `Nest` is a statement as numbers: loops over its output, and for each term loops over its sums, each loop with the
step that every array makes. Renderers give each loop a level; nothing in a nest belongs to a processor.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import NamedTuple

from ..engine.backend.base import Source
from ..engine.errors import ArgumentError
from .expression import Expression, Reference, Statement, Term

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


def turns(loops) -> int:
    """Turns of nested loops."""
    return math.prod(loop.extent for loop in loops)


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
        return turns(self.loops)

    @property
    def summed(self) -> bool:
        """Whether a product has a sum over several terms."""
        return any(q.sums for q in self.products)

    @property
    def factors(self) -> set[int]:
        """Places in `names` of the factors of all products."""
        found: set[int] = set()
        for q in self.products:
            found.update(q.factors)
        return found


@dataclasses.dataclass(frozen=True)
class Array:
    """How an array lies."""

    name: str
    indices: tuple[str, ...]  # of its dimensions, as in its first reference
    extents: tuple[int | None, ...]  # None for the batch
    kind: str  # "argument", "local" (one for each entry of the batch) or "shared" (a local without the batch index)
    place: int | None  # of the batch index
    mixed: bool = False  # an argument with the batch index in several places; its extents are all compiled in

    @functools.cached_property
    def before(self) -> int:
        """Numbers of one entry that lie a whole batch apart: the dimensions in front of the batch index."""
        return _numbers(self.extents[: self.place or 0])

    @functools.cached_property
    def after(self) -> int:
        """Numbers of one entry that lie together: the dimensions behind the batch index."""
        return _numbers(self.extents[self.place or 0 :])

    @functools.cached_property
    def size(self) -> int:
        """Numbers of one entry."""
        return _numbers(self.extents)

    def behind(self, place: int) -> int:
        """Numbers from one value of a dimension's index to the next: the dimensions behind it."""
        return _numbers(self.extents[place + 1 :])


def _numbers(extents) -> int:
    """Numbers of some dimensions; the batch's, None, counts as 1."""
    return math.prod(x or 1 for x in extents)


@dataclasses.dataclass(frozen=True, eq=False)  # by identity: plans are remembered by program
class Program:
    """Statements of two factors with their arrays and extents: the input of every organisation."""

    expression: Expression
    statements: tuple[Statement, ...]
    arrays: dict[str, Array]
    sizes: dict[str, int]
    dtype: str  # float64, float32, complex128, complex64
    entries: int = 0  # of a batch, about, that prices count with; 0: not known

    @property
    def batch(self) -> str | None:
        return self.expression.batch

    @property
    def title(self) -> str:
        """Its name in a profiler's table: outputs and inputs."""
        return f"{'_'.join(self.expression.outputs)}_from_{'_'.join(self.expression.inputs)}"

    @functools.cached_property
    def arguments(self) -> tuple[Array, ...]:
        """In the order of the text: inputs, then outputs."""
        return tuple(self.arrays[name] for name in (*self.expression.inputs, *self.expression.outputs))

    @property
    def complex(self) -> bool:
        """Whether the arrays have complex numbers."""
        return self.dtype.startswith("complex")

    @property
    def mixed(self) -> bool:
        """Whether an array has the batch index in several places."""
        return any(a.mixed for a in self.arrays.values())

    def of_kind(self, kind: str) -> list[str]:
        """Names of the arrays of a kind: "argument", "local" or "shared"."""
        return [a.name for a in self.arrays.values() if a.kind == kind]

    def once(self, s: Statement) -> bool:
        """Whether a statement is done once, before the batch."""
        return self.arrays[s.out.name].kind == "shared"

    def live(self) -> dict[str, tuple[int, int]]:
        """{array: the first and the last statement that has it}."""
        found: dict[str, tuple[int, int]] = {}
        for k, s in enumerate(self.statements):
            for r in references(s):
                first, _ = found.get(r.name, (k, k))
                found[r.name] = first, k

        return found


# ---- references -----------------------------------------------------------------------------------------------------


def reads(s: Statement) -> list[Reference]:
    """The factors of all terms, in the order of the text. A factor that is read twice is listed twice."""
    return [f for t in s.terms for f in t.factors]


def references(s: Statement) -> list[Reference]:
    """The factors of a statement, then the output."""
    return [*reads(s), s.out]


def names(refs) -> set[str]:
    """The arrays of some references."""
    return {r.name for r in refs}


def view(r: Reference, array: Array, batch: str | None) -> str:
    """The name of the pointer to one entry that a reference reads by."""
    if array.mixed and batch in r.indices:
        return f"{r.name}_{r.indices.index(batch)}"
    return r.name


def steps(r: Reference, array: Array, batch: str | None, far: bool = False) -> dict[str, int]:
    """Step of each index but the batch's, within an entry; an index that stands twice adds both."""
    found: dict[str, int] = {}
    step = 1

    # The fastest dimension first.
    for place in reversed(range(len(r.indices))):
        index = r.indices[place]
        if index != batch:
            found[index] = found.get(index, 0) + step

        if far and place == array.place and array.kind == "argument":
            step = FAR
        elif index != batch or array.mixed:
            step *= array.extents[place] or 1

    return found


def only_term(p: Program, wanted: str) -> tuple[Statement, Term]:
    """The statement of a program of one product of arguments, and its term. Raises Unable: `wanted`, for messages."""
    if len(p.statements) != 1 or p.expression.symmetric:
        raise Unable(wanted)
    (s,) = p.statements
    if s.function or len(s.terms) != 1:
        raise Unable(wanted)
    if any(a.kind != "argument" or a.mixed for a in p.arrays.values()):
        raise Unable(f"{wanted}, each with the batch index in one place")
    return s, s.terms[0]


def steps_between(p: Program, r: Reference, n: int, values=None) -> dict[str, int]:
    """Step of each index of an array of n entries, in numbers, the batch's among them. values: steps between entries
    (step_) and rows (ld_) of each array; None: of contiguous arrays."""
    array = p.arrays[r.name]
    row = values[f"ld_{r.name}"] if values else n * array.after

    found = {}
    for index, step in steps(r, array, p.batch, far=True).items():
        far, near = divmod(step, FAR)
        found[index] = far * row + near

    if p.batch and array.place is not None:
        found[p.batch] = batch_step(p, r, values)
    return found


def batch_step(p: Program, r: Reference, values=None) -> int:
    """Numbers between two entries of an array; 0 if it is shared by the batch. values: as in `steps_between`."""
    array = p.arrays[r.name]
    if array.place is None:
        return 0
    return values[f"step_{r.name}"] if values else array.after


# ---- how arrays lie -------------------------------------------------------------------------------------------------


def describe(e: Expression, statements, sizes) -> dict[str, Array]:
    """The arrays of the statements. Raises ArgumentError if an extent is not known, or two disagree."""
    found: dict[str, list[Reference]] = {name: list(refs) for name, refs in e.references.items()}
    for s in statements:
        for r in references(s):
            found.setdefault(r.name, []).append(r)

    return {name: _array(e, name, refs, sizes) for name, refs in found.items()}


def _array(e: Expression, name: str, refs: list[Reference], sizes) -> Array:
    """An array as its references have it."""
    extents = []
    for place in range(len(refs[0].indices)):
        extents.append(_extent(e, name, refs, place, sizes))

    if name in e.symmetric:
        *_, rows, columns = [extent for extent in extents if extent is not None]  # None: the batch
        if rows != columns:
            raise ArgumentError(f"tensor expression: '{name}' is named symmetric and has {rows} x {columns} numbers.")

    # Where the batch index stands: in one place of all references, or in several.
    places_ = set()
    for r in refs:
        places_.add(r.indices.index(e.batch) if e.batch in r.indices else None)

    mixed = len(places_) > 1
    where = None if mixed else places_.pop()

    kind = "argument"
    if name in e.local or name not in e.references:
        kind = "shared" if e.batch and where is None else "local"

    return Array(name, refs[0].indices, tuple(extents), kind, where, mixed)


def _extent(e: Expression, name: str, refs: list[Reference], place: int, sizes) -> int | None:
    """The extent of a dimension; None for the batch. Raises ArgumentError."""
    known: dict[str, int] = {}
    for r in refs:
        index = r.indices[place]
        if index == e.batch:
            continue
        if sizes.get(index) is None:
            raise ArgumentError(f"tensor expression: the extent of index '{index}' of '{name}' is not known.")
        known[index] = sizes[index]

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

    def copied(f: Reference) -> Reference:
        return Reference(copies.get(f.name, f.name), f.indices)

    made += [with_factors(s, copied) for s in statements]
    return tuple(made)


def with_factors(s: Statement, changed) -> Statement:
    """A statement with other factors. changed(factor) -> factor."""
    terms = []
    for t in s.terms:
        terms.append(Term(t.number, tuple(map(changed, t.factors))))
    return s._replace(terms=tuple(terms))


# ---- loops ----------------------------------------------------------------------------------------------------------


def nest(p: Program, s: Statement, far: bool = False, join: bool = True) -> Nest:
    """The loops of a statement, joined where every array allows it. far: see FAR. join=False: a loop for each index."""
    refs = [s.out, *reads(s)]
    all_steps = [steps(r, p.arrays[r.name], p.batch, far) for r in refs]
    pointers_ = [view(r, p.arrays[r.name], p.batch) for r in refs[1:]]

    def loops(indices) -> tuple[Loop, ...]:
        return loops_over(indices, p.sizes, all_steps, join)

    products = []
    place = 1
    for t in s.terms:
        end = place + len(t.factors)
        products.append(Product(t.number, tuple(range(place, end)), loops(t.sums(s.out))))
        place = end

    own = [i for i in s.out.indices if i != p.batch]
    return Nest(s, (s.out.name, *pointers_), loops(own), tuple(products))


def loops_over(indices, sizes, all_steps, join: bool = True) -> tuple[Loop, ...]:
    """Loops over indices, the slowest first. all_steps: of each array, the step of each index; 0 if it is missing."""
    found = []
    for i in indices:
        found.append(Loop(sizes[i], tuple(step.get(i, 0) for step in all_steps)))
    return joined(found) if join else tuple(loop for loop in found if loop.extent > 1)


def joined(loops) -> tuple[Loop, ...]:
    """Two loops become one where every array steps through both as through one. Loops of one turn vanish."""
    return merged(loop for loop in loops if loop.extent != 1)


def merged(loops) -> tuple[Loop, ...]:
    """The same, and loops of one turn stay."""
    made: list[Loop] = []
    for loop in loops:
        before = tuple(loop.extent * step for step in loop.step)
        if made and made[-1].step == before:
            made[-1] = Loop(made[-1].extent * loop.extent, loop.step)
        else:
            made.append(loop)

    return tuple(made)


# ---- memory ---------------------------------------------------------------------------------------------------------


class Rooms:
    """Memory that is given out for spans of time. Rooms whose spans do not meet may lie in the same place."""

    def __init__(self) -> None:
        self.size = 0  # numbers in use, at the busiest time
        self._taken: list[tuple[int, int, int, int]] = []  # begin, end, first and last time

    def take(self, size: int, first: int, last: int) -> int:
        """The lowest place for so many numbers that is free from time `first` to time `last`."""
        at = 0
        for begin, end, since, until in sorted(self._taken):
            if last < since or until < first:
                continue
            if at + size <= begin:
                break
            at = max(at, end)

        self._taken.append((at, at + size, first, last))
        self.size = max(self.size, at + size)
        return at


def places(p: Program, names, multiple: int = 16, lasting=()) -> tuple[dict[str, int], int]:
    """(offset of each local in the scratch of an entry, numbers needed).

    Arrays that never live at the same time may share memory. Arrays of kind "shared" live always; arrays that hold the
    caller's values live from the start, and `lasting` to the end. multiple: of numbers, at which arrays begin.
    """
    rooms = Rooms()
    found: dict[str, int] = {}
    for name in sorted(names, key=lambda n: -p.arrays[n].size):
        size = -(-p.arrays[name].size // multiple) * multiple
        found[name] = rooms.take(size, *_span(p, name, lasting))

    return found, rooms.size


def _span(p: Program, name: str, lasting) -> tuple[int, int]:
    """The statements from which to which an array lives; -1: from the start."""
    live, end = p.live(), len(p.statements)
    if name not in live or p.arrays[name].kind == "shared":
        return -1, end

    first, last = live[name]
    if name in p.expression.inputs or name in p.expression.updated:
        first = -1

    return first, end if name in lasting else last


# ---- text that organisations have in common -------------------------------------------------------------------------


def program_source(name: str, p: Program, parts, folders=(), quick: bool = False) -> Source:
    """The source of a program's kernel `contraction`, from its parts: lines of C++."""
    text = ["#define FRAME_SINGLE"] if p.dtype in ("float32", "complex64") else []
    text += ["#define FRAME_COMPLEX"] if p.complex else []
    text += parts
    return Source(
        f"tensor-{name}", "\n".join([*text, ""]), tuple(folders), quick=quick, entry="contraction", title=p.title
    )


def includes(*headers: str) -> list[str]:
    """C++ that includes headers."""
    return [f'#include "{header}"' for header in headers]


def arguments(p: Program, *more: str) -> str:
    """Members of the record of arguments: address, step between entries, and step between parts that lie a batch apart
    of each array; then some more."""
    words = [f"at_{a.name}:address step_{a.name}:whole ld_{a.name}:whole" for a in p.arguments]
    return " ".join([*words, *more])


def step_text(step: int, ld: str) -> str:
    """C++ of a step in memory. step: FAR times rows, plus numbers; ld: the text for a row's length."""
    far, near = divmod(step, FAR)
    if not far:
        return str(near)
    return f"{far} * {ld} + {near}" if near else f"{far} * {ld}"


def declarations(p: Program, a: Array, entry: str, prefix: str = "at") -> list[str]:
    """C++ of prefix_name, the pointer to an argument at an entry; a mixed array has one for each place of the batch."""
    kind = "scalar" if a.name in p.expression.outputs else "const scalar"
    move = f" + {entry} * a.step_{a.name}" if a.place is not None else ""
    lines = [f"{kind} *__restrict__ const {prefix}_{a.name} = ({kind} *)a.at_{a.name}{move};"]
    return lines + (views_of(p, a, entry, sorted(batch_places(p, a))) if a.mixed else [])


def batch_places(p: Program, a: Array) -> list[int]:
    """The places of the batch index in the references to an array, each once, in the order of the text."""
    found = []
    for r in p.expression.references[a.name]:
        if p.batch in r.indices:
            found.append(r.indices.index(p.batch))

    return list(dict.fromkeys(found))


def views_of(p: Program, a: Array, entry: str, found: list[int]) -> list[str]:
    """C++ of pointers to an entry of a mixed array, one for each place of the batch index."""
    lines = []
    for place in found:
        lines.append(f"const scalar *const at_{a.name}_{place} = at_{a.name} + {entry} * {a.behind(place)};")
    return lines


def pointers(p: Program, entry: str, staged=()) -> list[str]:
    """C++ of at_name of each argument at an entry; to_name for arrays that are staged in shared memory as at_name."""
    lines = []
    for a in p.arguments:
        prefix = "to" if a.name in staged else "at"
        lines += declarations(p, a, entry, prefix)
        lines.append(f"(void){prefix}_{a.name};")

    return lines
