"""Each statement of a program by the organisation that is cheapest for it alone, one after the other.

Intermediate results go through memory, in a single scratch. Their indices have the order that suits the statements that
write and read them. A statement without the program's batch index has a batch of its
own: the longest index of its output, or the first.

It serves chains of products that have nothing else in common: `n,ni,nj->ij` is a product number by number, which a
matrix library would do as many small products, and then a product of matrices.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...engine.backend.base import Source
from .. import host_rates, products, scratch
from ..expression import Expression, Reference, Statement, Term
from ..plan import Program, Rooms, Unable, describe, names, references, with_factors
from . import library_costs
from .base import Organisation

BEGIN = 32  # numbers: arrays of the scratch begin at multiples of it
STEPS = 1024  # statements whose steps are kept
ORDERS = 6  # of a local in memory, that are looked at
ENOUGH = 1.1  # times what memory takes at least: no other order of a local is looked at
BESIDE = 1.03  # times the seconds of its steps: organisations that are not made of steps come first
BEGUN = {"threads": 0.0, "packs": 4e-6}  # seconds until a step begins, which a device need not wait for


_choosers: list[Callable] = []


def chosen_by(chooser: Callable) -> Callable:
    """Steps are chosen by this function: (style, program) -> prices and organisations, the best first. The package,
    which knows all organisations, gives it."""
    _choosers[:] = [chooser]
    return chooser


class Able(NamedTuple):
    """The organisations that steps may have."""

    style: str  # of the backend
    free: bool  # whether organisations are preferred that read extents when they run


class Step(NamedTuple):
    """A statement by itself."""

    program: Program
    choices: tuple[tuple[float, Organisation], ...]  # prices and organisations, the best first
    seconds: float  # of all entries, by the best
    entries: int  # of its batch; of the usual batch if the batch is the whole program's

    @property
    def how(self) -> Organisation:
        return self.choices[0][1]


class Part(NamedTuple):
    """A step that is bound to arrays."""

    plan: Any  # a Contraction
    entries: int  # of its batch; 0: as many as the whole program's


class Locals(NamedTuple):
    """Places of locals in a common array. Two locals may share a place if one is read before the other is written."""

    shapes: dict[str, tuple[int, ...]]
    places: dict[str, int]
    size: int  # numbers

    @classmethod
    def of(cls, program: Program, parts: list[Part], n: int) -> Locals:
        """The locals of a program for n entries."""
        names_ = [a.name for a in program.arrays.values() if a.kind != "argument"]
        live, rooms = program.live(), Rooms()
        shapes: dict[str, tuple[int, ...]] = {}
        places: dict[str, int] = {}

        for part in parts:
            for name in names_:
                if name in part.plan.program.arrays and name not in shapes:
                    shapes[name] = part.plan.shape(name, part.entries or n)
                    places[name] = rooms.take(-(-math.prod(shapes[name]) // BEGIN) * BEGIN, *live[name])
        return cls(shapes, places, rooms.size)

    def views(self, array) -> dict:
        """The locals in an array."""
        found = {}
        for name, shape in self.shapes.items():
            at = self.places[name]
            found[name] = array[at : at + math.prod(shape)].reshape(shape)
        return found


@dataclasses.dataclass(frozen=True)
class Apart(Organisation):
    """The organisation of each statement is the model's choice for it."""

    NAMES: ClassVar[tuple[str, ...]] = ("apart",)
    COMPLEX: ClassVar[bool] = True
    STYLE: ClassVar[str] = ""  # of the backend

    free: bool = False  # whether steps prefer organisations that read extents when they run

    def steps(self, p: Program) -> tuple[Step, ...]:
        """The steps of a program. Raises Unable if no organisation serves a statement by itself."""
        return steps(Able(self.STYLE, self.free), self.made_of(p))

    def with_free_extents(self) -> Apart:
        return dataclasses.replace(self, free=True)

    def reads_extents(self, p: Program) -> bool:
        return all(step.how.reads_extents(step.program) for step in self.steps(p))

    # ---- choice
    @classmethod
    def candidates(cls, p: Program) -> list[Organisation]:
        how = cls()
        return [] if how.serves(p) else [how]

    def serves(self, p: Program) -> str:
        if len(p.statements) < 2:
            return "two statements or more, or a product of three arrays or more"
        if p.expression.symmetric:
            return "arrays that are not symmetric"
        if p.mixed:
            return "arrays with the batch index in one place"
        if p.complex:  # few organisations have complex numbers
            try:
                self.steps(p)
            except Unable as reason:
                return str(reason)
        return ""

    def made_of(self, p: Program) -> Program:
        """The program whose statements are the steps."""
        return p

    def price(self, p: Program, least: float = math.inf) -> float:
        """Seconds of all steps for a usual batch, in the units of the other organisations; no less than that if it is
        more than `least`: steps are planned where they may be the choice."""
        made = self.made_of(p)
        of_price = library_costs.usual_batch(made) * library_costs.unit(self.STYLE, made)
        besides = library_costs.fresh_seconds(self.STYLE, made) + BEGUN[self.STYLE] * len(made.statements)
        seconds = besides + sum(bound(self.STYLE, made, s) for s in made.statements)
        if seconds < least * of_price:
            seconds = besides + sum(step.seconds for step in self.steps(p))
        return BESIDE * seconds / of_price

    def by_threads(self, p: Program, price: float, threads: int) -> float:
        """Each step has its own share."""
        alone = together = 0.0
        for step in self.steps(p):
            alone += step.seconds
            together += step.how.by_threads(step.program, step.seconds, threads)
        return price * together / alone if alone else price

    def sums_by_a_vendor(self, p: Program) -> bool:
        return any(step.how.sums_by_a_vendor(step.program) for step in self.steps(p))

    def told(self, p: Program) -> list[str]:
        found = []
        for step in self.steps(p):
            (s,) = step.program.statements
            found.append(f"{s}: {step.how}, batch index {step.program.batch or 'none'}, {step.seconds * 1e6:.3g} us")
        return found

    # ---- text and launch
    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source | None:
        """The kernel of the first step. All are in `sources`."""
        first = self.steps(p)[0]
        return first.how.render(first.program, headers, folders, quick)

    def shown(self, plan) -> list:
        return [part.plan for part in self._parts(plan)]

    def sources(self, plan) -> list[Source]:
        found = []
        for part in self._parts(plan):
            found += part.plan.sources()
        return list(dict.fromkeys(found))

    def launch(self, plan, arrays, values, n: int):
        if n == 0:
            return _nothing
        parts = plan.kept(("parts", self), functools.partial(self._parts, plan))
        between = Locals.of(self.made_of(plan.program), parts, n)
        held = dict(arrays) | between.views(plan.backend.empty((between.size,), plan.dtype))

        # Arguments were checked with the whole program's batch; all else is contiguous.
        runs = []
        for part in parts:
            own = {a.name: held[a.name] for a in part.plan.program.arguments}
            known = {} if part.entries else values
            runs.append(part.plan.launch_checked(own, known, part.entries or n))

        return products.in_turn(runs)

    def _parts(self, plan) -> list[Part]:
        """A plan for each step."""
        found = []
        for step in self.steps(plan.program):
            whole = step.program.batch == plan.program.batch
            found.append(Part(plan.alone(step.program, step.choices), 0 if whole else step.entries))
        return found

    # ---- search
    def moves(self, p: Program) -> dict[str, tuple]:
        return {}

    def cost(self, p: Program, moved: int, least: float) -> float:
        return library_costs.of_search(self.STYLE, self.price(p))


@dataclasses.dataclass(frozen=True)
class HostApart(Apart):
    """On a core."""

    STYLE: ClassVar[str] = "packs"

    def again(self, plan, arrays, values, n: int):
        if n == 0:
            return None
        parts = plan.kept(("parts", self), functools.partial(self._parts, plan))
        between = Locals.of(self.made_of(plan.program), parts, n)
        room = functools.partial(scratch.room, "apart", (between.size,), plan.dtype)
        held = dict(arrays) | between.views(room())

        runs = []
        for part in parts:
            own = {a.name: held[a.name] for a in part.plan.program.arguments}
            runs.append((part.plan.again(own, part.entries or n), tuple(own)))
        if any(each is None for each, _ in runs):
            return None

        names_ = tuple(arrays)

        def run(given) -> None:
            held = dict(zip(names_, given)) | between.views(room())
            for each, own in runs:
                each([held[name] for name in own])

        return run


@dataclasses.dataclass(frozen=True)
class DeviceApart(Apart):
    """On a device."""

    STYLE: ClassVar[str] = "threads"


def _nothing() -> None:
    """A run for no entries."""


# ---- steps ----------------------------------------------------------------------------------------------------------


@functools.lru_cache(64)
def steps(able: Able, p: Program) -> tuple[Step, ...]:
    """The steps of a program. Raises Unable if no organisation serves a statement by itself."""
    statements = p.statements
    for name in dict.fromkeys(s.out.name for s in statements):
        if p.arrays[name].kind != "argument":
            statements = _in_order(able, p, statements, name)

    return tuple(_best(able, p, s) for s in statements)


def _in_order(able: Able, p: Program, statements, name: str) -> tuple[Statement, ...]:
    """The statements with the dimensions of a local in the order that costs those least who write or read it."""
    enough = ENOUGH * sum(bound(able.style, p, s) for s in statements if name in names(references(s)))
    best, least = statements, math.inf
    for places in _orders(p, statements, name):
        some = _turned(statements, name, places)
        seconds = sum(_quick(able, p, s).seconds for s in some if name in names(references(s)))
        if seconds < least:
            best, least = some, seconds
        if least <= enough:
            break
    return best


def bound(style: str, p: Program, s: Statement) -> float:
    """Seconds of a statement that its memory takes at least, for a usual batch."""
    r, numbers = library_costs.rates(style, p.dtype), 0
    sizes = p.sizes | ({p.batch: library_costs.usual_batch(p)} if p.batch else {})
    for array in {x.name: x for x in references(s)}.values():
        count = math.prod(sizes[i] for i in set(array.indices))
        numbers += count * (r.stored if array is s.out else 1)
    return max(numbers * np.dtype(p.dtype).itemsize / r.memory, r.call)


def _best(able: Able, p: Program, s: Statement) -> Step:
    """The step of a statement, with the batch that suits it best."""
    return min((_alone(able, p, s, batch) for batch in _batches(p, s)), key=lambda step: step.seconds)


def _quick(able: Able, p: Program, s: Statement) -> Step:
    """The step of a statement, with the batch that is tried first."""
    return _alone(able, p, s, _batches(p, s)[0])


def _alone(able: Able, p: Program, s: Statement, batch: str | None) -> Step:
    """The step of a statement, with a batch."""
    if batch == p.batch:
        entries = library_costs.usual_batch(p)
    else:
        entries = p.sizes[batch] if batch else 1

    sizes = tuple(dict.fromkeys((i, p.sizes[i]) for r in references(s) for i in r.indices if i != batch))
    constant = p.expression.constant & names(references(s))
    rates = host_rates.of(p.dtype) if able.style == "packs" else None
    return _step(able, _OneStatement(s, batch, entries, sizes, constant, p.dtype), rates)


def _batches(p: Program, s: Statement) -> list[str | None]:
    """Indices that may be the batch of a statement: the program's, or of its output the longest and the first. None:
    there is none."""
    if p.batch in s.out.indices:
        return [p.batch]

    able = [i for i in s.out.indices if _in_one_place(i, references(s))]
    longest = max(able, key=lambda i: p.sizes[i], default=None)
    return list(dict.fromkeys([longest, *able[:1]]))


def _in_one_place(index: str, refs: list[Reference]) -> bool:
    """Whether an index stands in one place of each array, or in none."""
    found: dict[str, set] = {}
    for r in refs:
        found.setdefault(r.name, set()).add(tuple(place for place, i in enumerate(r.indices) if i == index))
    return all(len(places) == 1 and len(*places) < 2 for places in found.values())


class _OneStatement(NamedTuple):
    """A statement by itself: all that its program follows from."""

    statement: Statement
    batch: str | None  # index
    entries: int  # of the batch
    sizes: tuple[tuple[str, int], ...]  # extent of each other index
    constant: frozenset[str]  # arrays
    dtype: str

    def program(self) -> Program:
        s, batch, sizes = self.statement, self.batch, dict(self.sizes)
        e = Expression((s,), batch, constant=self.constant, found=True)
        arrays = describe(e, (s,), sizes)
        return Program(e, (s,), arrays, sizes | ({batch: 1} if batch else {}), self.dtype, self.entries)


@functools.lru_cache(STEPS)
def _step(able: Able, alone: _OneStatement, rates) -> Step:
    """The step of a statement. rates: of the core, which prices depend on. Raises Unable."""
    p, entries = alone.program(), alone.entries
    choices = _choosers[0](able.style, p)
    if able.free:
        choices = [choice for choice in choices if choice[1].reads_extents(p)] or choices
    if not choices:
        raise Unable(f"an organisation for '{alone.statement}' alone")
    seconds = choices[0][0] * library_costs.unit(able.style, p) * entries
    return Step(p, tuple(choices), max(seconds, library_costs.rates(able.style, alone.dtype).call), entries)


# ---- the order of a local in memory ---------------------------------------------------------------------------------


def _turned(statements, name: str, places) -> tuple[Statement, ...]:
    """Statements with the dimensions of an array in another order."""

    def turned(r: Reference) -> Reference:
        return Reference(name, tuple(r.indices[place] for place in places)) if r.name == name else r

    return tuple(with_factors(s, turned)._replace(out=turned(s.out)) for s in statements)


def _orders(p: Program, statements, name: str) -> list[tuple[int, ...]]:
    """Orders of an array's dimensions to be compared: the order of the text, of its larger factor, of a product of
    matrices that writes it, and of the statements that read it."""
    found: list[tuple[int, ...]] = []
    for s in statements:
        for t in s.terms:
            found += _orders_in(p, s.out, t, name)

    own = tuple(range(len(p.arrays[name].extents)))
    return list(dict.fromkeys([own, *found]))[:ORDERS]


def _orders_in(p: Program, out: Reference, t: Term, name: str) -> list[tuple[int, ...]]:
    """Orders that suit a product for an array that it writes or reads."""
    found: list[tuple[int, ...]] = []
    if out.name == name:
        found += _as_written(p, out, t)
    for f in t.factors:
        if f.name == name:
            found += _as_read(out, f, t)

    return found


def _as_written(p: Program, out: Reference, t: Term) -> list[tuple[int, ...]]:
    """Orders in which a product writes its output as it computes."""
    factors = sorted(t.factors, key=lambda f: -math.prod(p.sizes[i] for i in f.indices))
    kept = [[i for i in f.indices if i in out.indices] for f in factors]  # the larger factor's first
    forth = [*itertools.chain(*kept)]
    back = [*itertools.chain(*reversed(kept))]
    batches = [i for i in forth if all(i in f.indices for f in factors)]

    orders = (forth, [*batches, *forth], [*batches, *back])
    return [_places(out, order) for order in orders]


def _as_read(out: Reference, f: Reference, t: Term) -> list[tuple[int, ...]]:
    """Orders in which a product reads a factor as it computes: rows in which the sum runs, or the other way round."""
    others = [i for other in t.factors if other is not f for i in other.indices]
    batches = [i for i in out.indices if i in f.indices and i in others]
    rows = [i for i in out.indices if i in f.indices and i not in others]
    sums = [i for i in others if i in f.indices and i not in out.indices]
    return [_places(f, [*batches, *rows, *sums]), _places(f, [*batches, *sums, *rows])]


def _places(r: Reference, order) -> tuple[int, ...]:
    """The dimensions of a reference in an order of its indices; what the order lacks comes last."""
    wanted = dict.fromkeys([*order, *r.indices])
    return tuple(place for index in wanted for place, i in enumerate(r.indices) if i == index)
