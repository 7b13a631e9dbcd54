"""From statements to steps of a plan by stages, as statements.py has passes.

A product that sums over the columns of the product before it, in the same rows, goes on with that one's numbers while
they are in registers: such a local is never stored.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from .. import orders
from ..constant_memory import BYTES, ROW
from ..expression import Reference, Statement, Term
from ..plan import Unable, names, reads
from .plan import Orbit, Plan, Step, summed


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


def with_matrices(plan: Plan) -> Plan:
    """Factors that all entries of the batch share, as matrices in constant memory, if they are small enough for it."""
    if not plan.how.sums.line:
        return plan

    found: set[str] = set()
    for s in plan.products_on_units:
        others, rows, columns, terms = plan.layout(s)
        for _, _, g, sums in terms:
            a = plan.arrays[g.name]
            if others or not rows or len(columns) != 1 or len(sums) != 1 or a.place is not None or a.mixed:
                raise Unable("for a row a thread products with matrices that the batch shares")
            if g.name not in plan.program.expression.constant or max(x or 0 for x in a.extents) > ROW:
                raise Unable(f"for a row a thread constant matrices, up to {ROW} x {ROW}")
            found.add(g.name)

    size = sum(plan.arrays[x].size for x in found) * np.dtype(plan.program.dtype).itemsize
    if plan.how.spread.orbit or plan.walk or size > BYTES:
        raise Unable(f"for a row a thread up to {BYTES} bytes of matrices")

    return plan.having(matrices=tuple(sorted(found)))
