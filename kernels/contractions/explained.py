"""Lines of `Contraction.explain`: orders and organisations, the choice among them, the speed of a few runs."""

from __future__ import annotations

import statistics

from ..engine import tune
from . import estimates, orders


def lines(plan) -> list[str]:
    """Statements, orders of evaluation, flops and bytes, organisations of a Contraction."""
    e = plan.expression
    found = [f"statement: {s}" for s in e.statements]
    found.append(f"batch index: {e.batch or 'none'}; " + ", ".join(f"{i} = {x}" for i, x in plan.sizes.items()))
    found += _orders(plan)
    found += _families(plan)
    found += [f"done: {s}" for s in plan.program.statements]

    density = plan.flops / max(plan.bytes, 1)
    found.append(f"an entry: {plan.flops} flops, {plan.bytes} bytes, {density:.2f} flops for each byte that moves")
    return found + estimates.told(plan)


def _orders(plan) -> list[str]:
    """The orders of each term that has several."""
    e, found = plan.expression, []
    for k, m, able in orders.choices(e, plan.sizes):
        statement = e.statements[k]
        term = statement.terms[m]
        found.append(
            f"orders of {' '.join(map(str, term.factors))}: {able.count}, {len(able.cheapest)} cheapest with "
            f"{able.cost} multiply-adds an entry (dearest {able.dearest}, all loops at once {able.direct})"
        )

        sets = [frozenset(f.indices) for f in term.factors]
        left = frozenset(statement.out.indices)
        entries = orders.entries_of(term, statement.out, plan.sizes, e.batch, e.found)
        for tree in able.cheapest:
            price, _ = orders.cost(tree, sets, left, plan.sizes, e.batch, entries)
            held = orders.between(tree, sets, left, plan.sizes, e.batch, entries) * plan.dtype.itemsize
            found.append(f"  {_shown(tree, term.factors)}: {2 * price} flops, {held} bytes between its products")

    return found


def _shown(tree, factors) -> str:
    """A tree of products with names: ((A B) C)."""
    if isinstance(tree, int):
        return factors[tree].name
    left, right = tree
    return f"({_shown(left, factors)} {_shown(right, factors)})"


def _families(plan) -> list[str]:
    """Products that are equal up to names."""
    groups = orders.families(plan.expression)
    if not any(g > 1 for g in groups):
        return []

    kept = [s for s in plan.program.statements if s.out.name not in plan.expression.references]
    return [
        f"products equal up to names: families of {', '.join(map(str, groups))}; here {len(kept)} products are "
        "computed once for all who read them"
    ]


def speed(plan, run, count: int) -> str:
    """The speed of a few runs for so many entries, beside a copy of as many bytes."""
    backend = plan.backend
    time = _median(backend, run)

    numbers = max(plan.bytes * count // 16, 1)
    from_, to = backend.empty(numbers), backend.empty(numbers)
    from_[...] = 1.0
    copied = _median(backend, lambda: to.__setitem__(..., from_))

    return (
        f"reached: {count} entries in {time:.3g} s, {plan.flops * count / time * 1e-9:.4g} Gflop/s, "
        f"{plan.bytes * count / time * 1e-9:.4g} GB/s; a copy of as many bytes takes {copied:.3g} s, "
        f"{copied / time:.2f} of it"
    )


def _median(backend, work) -> float:
    """Seconds of a piece of work: the median of five, after one that warms up."""
    times = [tune.seconds(backend, work) for _ in range(6)]
    return statistics.median(times[1:])
