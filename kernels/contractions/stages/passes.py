"""How a plan by stages is made: passes, each a function Plan -> Plan. A pass raises Unable if the program does not fit.

Sums that are equal up to names are added up first. Statements become steps. A product that sums over the columns of the
product before it, in the same rows, goes on with that one's numbers while they are in registers: such a local is never
stored. A factor that several products read is copied into shared memory first.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from .. import orders
from ..expression import Reference, Statement, Term
from ..plan import Array, Program, Unable, describe, names, reads, references, with_factors
from ..render_lines import CONSTANT, LINE
from . import plan as limits
from .plan import LIMIT, Orbit, Plan, Step, summed

STAYS = 512  # numbers of a factor that is worth copying once for a whole walk


def begun(p: Program, how) -> Plan:
    """The statements of a program."""
    if how.sums.split and (p.dtype != "float32" or how.sums.line or how.spread.orbit):
        raise Unable("for numbers in two parts float32 on the units")
    if p.expression.symmetric or any(s.function or p.once(s) for s in p.statements):
        raise Unable("no functions, symmetric operands and locals that the batch shares")

    return Plan(p, how, p.statements, p.arrays)


# ---- statements -----------------------------------------------------------------------------------------------------


def gathered(plan: Plan) -> Plan:
    """Sums that are equal up to the names of indices are computed once (orders.gathered)."""
    p = plan.program
    found = orders.gathered(p.expression, p.sizes, limits.LARGEST)
    if found:
        plan = plan.having(statements=tuple(found), arrays=describe(p.expression, found, p.sizes))

    if "shared" in {a.kind for a in plan.arrays.values()}:
        raise Unable("no local that the batch shares")

    return plan


def merged(plan: Plan) -> Plan:
    """Products are multiplied by a factor before they are stored, if that is the only use of their local."""
    statements = list(plan.statements)
    for s in plan.statements:
        user = _scaling(plan, statements, s)
        if not user:
            continue

        (t,) = user.terms
        factor = _other_factor(t, s.out.name)
        terms = tuple(Term(x.number * t.number, (*x.factors, factor)) for x in s.terms)
        statements[statements.index(s)] = user._replace(terms=terms)
        statements.remove(user)

    arrays = plan.arrays
    if len(statements) < len(plan.statements):
        kept = {s.out.name for s in statements}
        arrays = {name: a for name, a in arrays.items() if a.kind == "argument" or name in kept}

    plan = plan.having(statements=tuple(statements), arrays=arrays)

    if any(plan.arrays[name].mixed for name in plan.written):
        raise Unable("no output with the batch index in several places")

    return plan


def _scaling(plan: Plan, statements: list[Statement], s: Statement) -> Statement | None:
    """The statement that multiplies the local of `s` by a number at each place; None if the local has another use."""
    name = s.out.name
    readings = 0
    for x in plan.statements:
        readings += [f.name for f in reads(x)].count(name)

    users = [u for u in statements if name in names(reads(u))]
    if plan.arrays[name].kind != "local" or readings != 1 or len(users) != 1 or s.add:
        return None

    (user,) = users
    if len(user.terms) != 1 or len(user.terms[0].factors) != 2 or user.out.indices != s.out.indices:
        return None

    # The local is a sum of products, and is read at the same places as its factor.
    local = next(f for f in user.terms[0].factors if f.name == name)
    factor = _other_factor(user.terms[0], name)
    products = all(len(t.factors) == 2 and t.sums(s.out) for t in s.terms)
    if not products or local.indices != s.out.indices or set(factor.indices) != set(s.out.indices):
        return None
    if factor.name in _outputs(statements):
        return None

    # What the user writes must not be read between the two.
    for x in statements[statements.index(s) : statements.index(user)]:
        if user.out.name in names(reads(x)):
            return None

    return user


def _other_factor(t: Term, name: str) -> Reference:
    """The factor of a product of two that is another array."""
    first, second = t.factors
    return second if first.name == name else first


def _outputs(statements) -> set[str]:
    """The arrays that some statements write."""
    return {s.out.name for s in statements}


def with_entry(plan: Plan) -> Plan:
    """Indices that join the batch index, as few as leave a team what it can hold."""
    for i in _free(plan):
        if _fits(plan):
            break

        spread = plan.having(entry=(*plan.entry, i))
        if _with_products(spread) == _with_products(plan):
            plan = spread

    return plan


def _with_products(plan: Plan) -> list[bool]:
    """For each statement, whether it has matrix products."""
    return [bool(plan.products(s)) for s in plan.statements]


def _free(plan: Plan) -> list[str]:
    """Indices of the last output that stand in the same place wherever a written array is named."""
    written: list[Reference] = []  # references to arrays that are written
    for s in plan.statements:
        if s.terms:
            written += [r for r in references(s) if r.name in plan.written]

    found = []
    for i in plan.statements[-1].out.indices:
        if i == plan.batch or not all(i in r.indices for r in written):
            continue

        places = {(r.name, r.indices.index(i)) for r in written}
        if len(places) == len(names(written)):
            found.append(i)

    return found


def _fits(plan: Plan) -> bool:
    """Whether a team can hold the outputs and locals of its entry."""
    sizes = {s.out.name: plan.numbers(s.out) for s in plan.statements}
    local = sum(size for name, size in sizes.items() if plan.arrays[name].kind == "local")
    most = max(plan.numbers(s.out) for s in plan.statements)
    return most <= limits.LARGEST and local * plan.size <= LIMIT


# ---- steps ----------------------------------------------------------------------------------------------------------


def split(plan: Plan) -> Plan:
    """Steps of each statement: one for each pair of sides. All but the last of a statement add up in a local."""
    steps: list[Step] = []
    for s in plan.statements:
        plan, more = _split(plan, s)
        steps += more

    if not any(step.kind == "units" for step in steps):
        raise Unable("a product with a sum, rows and columns")

    return plan.having(steps=tuple(steps))


def _split(plan: Plan, s: Statement) -> tuple[Plan, list[Step]]:
    groups = plan.products(s)
    if not groups:
        return plan, [Step("each", (s,))]

    # Terms that are no matrix product.
    used = set(itertools.chain.from_iterable(groups.values()))
    pointwise: list[Term] = []
    with_sums: list[Term] = []
    for t in s.terms:
        if t not in used:
            (with_sums if t.sums(s.out) else pointwise).append(t)

    parts = [("each", with_sums)] if with_sums else []
    for terms in sorted(groups.values(), key=lambda terms: _rank(plan, s, terms)):
        parts.append(("units", terms))
    if len(parts) == 1:
        return plan, [Step("units", (s._replace(terms=(*pointwise, *parts[0][1])),))]

    # The parts add up in the output, if it is a local, or in a local of its own.
    target = s.out
    if plan.arrays[target.name].kind != "local":
        name = f"sum_{target.name}"
        while name in plan.arrays:
            name += "_"

        array = dataclasses.replace(plan.arrays[target.name], name=name, kind="local")
        plan = plan.having(arrays={**plan.arrays, name: array})
        target = Reference(name, s.out.indices)

    steps = []
    for k, (kind, terms) in enumerate(parts[:-1]):
        add = k > 0 or (s.add and target == s.out)
        steps.append(Step(kind, (Statement(target, tuple(terms), add),)))

    kind, terms = parts[-1]
    if target == s.out:
        last = Statement(target, (*pointwise, *terms), True)
    else:
        last = s._replace(terms=(Term(1.0, (target,)), *pointwise, *terms))

    return plan, [*steps, Step(kind, (last,))]


def _rank(plan: Plan, s: Statement, terms: list[Term]):
    """Products whose rows have the fastest index come last."""
    rows = max(plan.sides(s, terms[0]), key=plan.extent_of)  # type: ignore[arg-type]
    return plan.own(s)[-1] in rows, terms[0].number


def continued(plan: Plan) -> Plan:
    """A product joins the step of the product that sums over its columns, and its local stays in registers."""
    for step in plan.steps:
        before = _continues(plan, step)
        if not before:
            continue

        steps = []
        for x in plan.steps:
            if x is step:
                steps.append(dataclasses.replace(step, statements=(*before.statements, *step.statements)))
            elif x is not before:
                steps.append(x)

        plan = plan.having(steps=tuple(steps), inner=plan.inner | {before.statements[0].out.name})

    return plan


def _continues(plan: Plan, step: Step) -> Step | None:
    """The step whose numbers a step can take over in registers: sums over its columns, in the same rows."""
    if step.kind != "units" or len(step.statements) > 1:
        return None

    (s,) = step.statements
    others, rows, _, terms = plan.layout(s)
    if len(terms) != 1:
        return None

    # Only one product reads the local, only one step writes it.
    _, f, _, sums = terms[0]
    readers, writers = 0, []
    for x in plan.steps:
        readers += [g.name for g in x.reads].count(f.name)
        if f.name in x.written:
            writers.append(x)

    if readers != 1 or len(writers) != 1 or plan.arrays[f.name].kind != "local":
        return None

    (before,) = writers
    if len(before.statements) > 1 or before.kind != "units" or before.statements[0].add:
        return None

    # A lane has of the first product what it gives for the second.
    (a,) = before.statements
    first = plan.layout(a)
    turn = dict(zip(sums, first.columns))
    alike = tuple(turn.get(i, i) for i in f.indices) == a.out.indices and len(sums) == len(first.columns)
    if not alike or (first.others, first.rows) != (others, rows):
        return None

    # Nothing that the first product reads changes between the two.
    for x in plan.steps[plan.steps.index(before) + 1 : plan.steps.index(step)]:
        if x.written & names(before.reads):
            return None

    return before if plan.how.sums.line or plan.hoisted(a, s) else None


def orbits(plan: Plan) -> Plan:
    """Products that are equal up to the order of the entry's indices are done once, for a block that has all orders."""
    if [step.kind for step in plan.steps] != ["units", "each"]:
        raise Unable("two steps, products and their sum")

    first, last = (step.statements[0] for step in plan.steps)
    names = tuple(i for i in first.out.indices if i == plan.batch or i in plan.entry)
    if plan.batch not in names or not 2 <= len(names) <= 3 or plan.arrays[first.out.name].kind != "local":
        raise Unable("two or three indices of an entry")
    if {plan.kept(r) for r in reads(last)} - {plan.kept(last.out)}:
        raise Unable("the indices of an entry in the same places")

    extents = _extents(plan, names)
    if len(extents) != 1 or not any(a.mixed for a in plan.arrays.values()):
        raise Unable("equal extents of an entry's indices")

    groups = orders.regrouped(first.terms, names)
    if not groups or len(groups) != 1 or len(groups[0][0]) < 2:
        raise Unable("products that are equal up to the order of an entry's indices")

    ((uses, terms),) = groups
    steps = (Step("units", (first._replace(terms=terms),)), plan.steps[1])
    return plan.having(steps=steps, orbit=Orbit(names, terms, uses, extents.pop()))


def _extents(plan: Plan, names) -> set[int]:
    """Extents of the entry's indices. The batch's is compiled in where arrays have it in several places."""
    found = {plan.program.sizes[i] for i in names if i != plan.batch}
    for a in plan.arrays.values():
        for r in plan.program.expression.references.get(a.name, ()):
            if a.mixed and plan.batch in r.indices:
                found.add(a.extents[r.indices.index(plan.batch)] or 0)

    return found


# ---- copies ---------------------------------------------------------------------------------------------------------


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


def joined(plan: Plan) -> Plan:
    """Neighbouring "each" steps over the same numbers become one: a thread does all for its numbers."""
    steps: list[Step] = []
    for step in plan.steps:
        if steps and _may_join(plan, steps[-1], step):
            steps[-1] = dataclasses.replace(steps[-1], statements=(*steps[-1].statements, *step.statements))
        else:
            steps.append(step)

    return plan.having(steps=tuple(steps))


def _may_join(plan: Plan, last: Step, step: Step) -> bool:
    if not last.kind == step.kind == "each" or last.before != step.before:
        return False

    (s,) = step.statements
    if any(map(summed, (*last.statements, s))) or plan.own(s) != plan.own(last.statements[0]):
        return False

    written = {x.out.name: x.out for x in last.statements}
    same_place = all(f.name not in written or f == written[f.name] for f in (*step.reads, s.out))
    return same_place and all(f.name != s.out.name or f == s.out for f in last.reads)


# ---- checks ---------------------------------------------------------------------------------------------------------


def with_matrices(plan: Plan) -> Plan:
    """Columns' factors of lines: matrices that the batch shares, so small that constant memory has them all."""
    if not plan.how.sums.line:
        return plan

    found: set[str] = set()
    for s in plan.products_on_units:
        others, rows, columns, terms = plan.layout(s)
        for _, _, g, sums in terms:
            a = plan.arrays[g.name]
            if others or not rows or len(columns) != 1 or len(sums) != 1 or a.place is not None or a.mixed:
                raise Unable("for a row a thread products with matrices that the batch shares")
            if g.name not in plan.program.expression.constant or max(x or 0 for x in a.extents) > LINE:
                raise Unable(f"for a row a thread constant matrices, up to {LINE} x {LINE}")
            found.add(g.name)

    size = sum(plan.arrays[x].size for x in found) * np.dtype(plan.program.dtype).itemsize
    if plan.how.spread.orbit or plan.walk or size > CONSTANT:
        raise Unable(f"for a row a thread up to {CONSTANT} bytes of matrices")

    return plan.having(matrices=tuple(sorted(found)))


def with_copies(plan: Plan) -> Plan:
    """Refuses rings and lines apart where nothing is copied."""
    how, copied = plan.how, bool(plan.copied)
    if how.copies.ring > 1 and (plan.walk or how.spread.orbit or how.copies.apart or not copied):
        raise Unable("for a ring bulk copies of each entry")
    if how.copies.apart and (plan.walk or not copied):
        raise Unable("for lines apart copies of an entry's parts")

    return plan


# ---- barriers -------------------------------------------------------------------------------------------------------


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
