"""The statements of a plan by stages: what is computed once, and which indices join the batch's.

Each pass is a function Plan -> Plan. A pass raises Unable if the program does not fit.
"""

from __future__ import annotations

from .. import orders
from ..expression import Reference, Statement, Term
from ..plan import Program, Unable, describe, names, reads, references
from . import plan as limits
from .plan import LIMIT, Plan


def begun(p: Program, how) -> Plan:
    """The statements of a program."""
    if how.sums.split and (p.dtype != "float32" or how.sums.line or how.spread.orbit):
        raise Unable("for numbers in two parts float32 on the units")
    if p.expression.symmetric or any(s.function or p.once(s) for s in p.statements):
        raise Unable("no functions, symmetric operands and locals that the batch shares")

    return Plan(p, how, p.statements, p.arrays)


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

    # No statement between the two may read the array that the user writes.
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
