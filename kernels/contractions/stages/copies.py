"""Copies into shared memory of what several products read, and barriers between steps; passes as in statements.py."""

from __future__ import annotations

import dataclasses

from ..expression import Reference, Statement, Term
from ..plan import Array, Unable, with_factors
from .plan import LIMIT, Plan, Step

STAYS = 512  # numbers of a factor that is worth copying once for a whole walk


def staged(plan: Plan) -> Plan:
    """Copies of factors that several products read, and of factors that stay through a walk, for the products."""
    slices = _worth_copying(plan)
    room = LIMIT - (plan.size + 1) * most_alive(plan)

    copies: list[Step] = []
    held: dict[tuple, str] = {}  # names of copies, by slice
    arrays = dict(plan.arrays)

    for key, r in sorted(slices.items(), key=lambda pair: -plan.numbers(pair[1])):
        name = f"held{len(held)}"
        copy = _copy_of(r, name)
        size = plan.numbers(copy) * (plan.size + 1)
        if size > room:
            continue

        room -= size
        held[key] = name
        arrays[name] = _array_of(plan, copy, r)
        kind = "copy" if plan.run(r) > 1 else "each"
        copies.append(Step(kind, (Statement(copy, (Term(1.0, (r,)),)),), bool(plan.walk)))

    steps = []
    for step in plan.steps:
        statements = tuple(_renamed(plan, s, held) for s in step.statements)
        steps.append(dataclasses.replace(step, statements=statements))

    return plan.having(steps=(*copies, *steps), arrays=arrays)


def _copy_of(r: Reference, name: str) -> Reference:
    """The copy of a slice: of a diagonal, a dimension for each index."""
    return Reference(name, tuple(dict.fromkeys(r.indices)))


def _array_of(plan: Plan, copy: Reference, r: Reference) -> Array:
    """How the copy of a slice lies. r: the slice."""
    a = plan.arrays[r.name]
    extents = tuple(a.extents[r.indices.index(i)] for i in copy.indices)
    place = copy.indices.index(plan.batch) if plan.batch in copy.indices else None
    return Array(copy.name, copy.indices, extents, "local", place)


def _renamed(plan: Plan, s: Statement, copies: dict[tuple, str]) -> Statement:
    """A statement that reads copies. copies: their names, by slice."""

    def renamed(f: Reference) -> Reference:
        name = copies.get(plan.slice(f))
        return f if name is None else _copy_of(f, name)

    return with_factors(s, renamed)


def _worth_copying(plan: Plan) -> dict[tuple, Reference]:
    """Slices that are read often enough, or that a walk reads again and again."""
    count = _reads(plan)
    known: dict[tuple, Reference] = {}
    for step in plan.steps:
        for f in step.reads:
            known[plan.slice(f)] = f

    found = {}
    for key, r in known.items():
        if r.name in plan.written or r.name in plan.inner or key not in count:
            continue

        if plan.walk:
            worth = plan.walk not in r.indices and plan.numbers(r) >= STAYS
        else:
            depends = plan.batch in r.indices or any(i in r.indices for i in plan.entry)
            worth = depends and count[key] >= plan.how.copies.stage
        if worth:
            found[key] = r

    return found


def _reads(plan: Plan) -> dict[tuple, int]:
    """How often products read each slice. A columns' factor that is not hoisted is read for every tile: counted 2."""
    count: dict[tuple, int] = {}
    for s in plan.products_on_units:
        _, rows, _, terms = plan.layout(s)
        again = -(-plan.extent_of(rows) // 16) > 1 and not plan.hoisted(s)
        readings = [x.rows for x in terms]
        for x in terms:
            readings += [x.columns, x.columns] if again else [x.columns]

        scale = plan.scale(s)
        if scale:
            readings.append(scale)

        for r in readings:
            key = plan.slice(r)
            count[key] = count.get(key, 0) + 1

    if plan.how.copies.stage:
        return count

    # Number by number.
    for s in plan.statements_of("each"):
        alone = [t for t in s.terms if not t.sums(s.out)]
        for t in alone:
            count.update(dict.fromkeys(map(plan.slice, t.factors), 1))

    return count


def most_alive(plan: Plan) -> int:
    """Numbers of the locals that live at one time. A number may take the place of a number that was read for it."""
    life: dict[str, tuple[int, int]] = {}
    for k, step in enumerate(plan.steps):
        for s, r in step.references:
            if not plan.local(r.name):
                continue
            born = k + (step.kind == "each" and r == s.out)
            first, _ = life.get(r.name, (born, k))
            life[r.name] = first, k

    sizes = {name: plan.numbers(Reference(name, plan.arrays[name].indices)) for name in life}
    alive = [0] * len(plan.steps)
    for name, (first, last) in life.items():
        for k in range(first, last + 1):
            alive[k] += sizes[name]

    return max(alive)


def with_copies(plan: Plan) -> Plan:
    """Refuses rings and lines apart where nothing is copied."""
    how, copied = plan.how, bool(plan.copied)
    if how.copies.ring > 1 and (plan.walk or how.spread.orbit or how.copies.apart or not copied):
        raise Unable("for a ring bulk copies of each entry")
    if how.copies.apart and (plan.walk or not copied):
        raise Unable("for lines apart copies of an entry's parts")

    return plan


def with_barriers(plan: Plan) -> Plan:
    """Barriers where a step touches memory that others of the team have read or written since the last barrier; the
    wait for the copies where the first of them is read."""
    order = [step for step in plan.steps if step.before and step.kind != "copy"]
    order += [step for step in plan.steps if not step.before and step.kind != "copy"]

    decided: dict[int, Step] = {}
    waited = not plan.copied
    dirty_read: list[tuple] = []
    dirty_write: list[tuple] = []

    for step in order:
        arrives = not waited and any(f.name in plan.copied for f in step.reads)
        waited = waited or arrives

        reads = _memory(plan, [*step.reads, *(s.out for s in step.statements if s.add)])
        writes = _memory(plan, [s.out for s in step.statements])
        barrier = _meet(reads + writes, dirty_write) or _meet(writes, dirty_read)
        if barrier:
            dirty_read, dirty_write = [], []

        dirty_read, dirty_write = dirty_read + reads, dirty_write + writes

        walking = bool(plan.walk) and not step.before  # then the wait is before the walk
        decided[id(step)] = dataclasses.replace(step, barrier=barrier, arrives=arrives and not walking)

    steps = tuple(decided.get(id(step), step) for step in plan.steps)
    return plan.having(steps=steps, arrives_first=bool(plan.walk and plan.copied))


def _memory(plan: Plan, references) -> list[tuple]:
    """(kind, begin, end) of memory that other threads of the team may touch: not of what is only read."""
    found: list[tuple] = []
    for r in references:
        h = plan.held.get(r.name)
        if h:
            found.append(("shared", h.at, h.at + h.size))
        elif r.name in plan.written:
            found.append((r.name, 0, 1))

    return found


def _meet(some, others) -> bool:
    """Whether two lists of memory overlap."""
    return any(x[0] == y[0] and x[1] < y[2] and y[1] < x[2] for x in some for y in others)
