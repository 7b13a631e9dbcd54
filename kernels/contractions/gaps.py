"""Arrays with gaps, such as slices or reversed ones: most organisations take a contiguous copy of them, some read them
where they lie. The choice between organisations counts this time."""

from __future__ import annotations

import math
from collections.abc import Callable

from . import host_rates
from .contraction import Contraction
from .organisations import core_products, library_costs
from .paired import ComplexContraction, ComplexProducts

# Seconds of NumPy's copy, as measured on a Xeon: of its call, a run, a number
CALL, RUN, NUMBER = 1.2e-6, 8e-9, 7e-10


def cheapest(plan, arrays, n: int, by: Callable):
    """(plan, seconds of gaps) for n entries of these arrays: the plan itself, or a plan by the organisation that is
    cheapest with them.

    plan: for a CPU, by the model's choice; others, and those of complex numbers, are left as they are. arrays: inputs
    of the plan's type. by(name): the plan by an organisation.
    """
    if plan.backend.style != "packs" or all(array.flags.c_contiguous for array in arrays.values()):
        return plan, 0.0
    if isinstance(plan, ComplexContraction):
        products = plan.products
        if isinstance(products, ComplexProducts):
            return plan, _seconds_of_gaps(products, arrays, n)
        return plan, _of_copies(plan, arrays, n)

    def seconds(choice) -> tuple[float, float]:
        price, how, program = choice
        other = plan.alone(program, [(price, how)])
        more = _seconds_of_gaps(other, arrays, n)
        return other.seconds * n + more, more

    usual = [choice for choice in plan.candidates if not choice[1].SPECIAL]
    best = min(usual, key=lambda choice: seconds(choice)[0])
    _, added = seconds(best)
    return (plan if best[1].name == plan.how.name else by(best[1].name)), added


def _seconds_of_gaps(plan: Contraction, arrays, n: int) -> float:
    """The model's time for gaps: contiguous copies of arrays, and slower reads of arrays that need no copy."""
    taken = {name: a for name, a in arrays.items() if plan.takes(name, a, n)}
    return _of_copies(plan, arrays, n) + plan.how.seconds_of_gaps(plan.program, taken, n)


def _of_copies(plan, arrays, n: int) -> float:
    """The model's time for copies of arrays that a plan does not take."""
    return sum(_copy_seconds(a) for name, a in arrays.items() if not plan.takes(name, a, n))


def _copy_seconds(array) -> float:
    """The time of NumPy's copy, from run to run. Numbers that lie apart bring their neighbours; what no cache holds is
    read before it is written. A large, slow last cache is waited for: a core of a Xeon took the sum of both."""
    step = min((abs(stride) for stride, extent in zip(array.strides, array.shape) if extent > 1), default=0)
    read = array.size * min(max(step, array.itemsize), library_costs.LINE)
    moved = read + array.nbytes * (2 - library_costs.cached(read + array.nbytes))
    memory = moved / library_costs.pace("packs", array.dtype.name, moved)
    overlap = 1.0 if host_rates.has_large_cache() else math.inf
    work = core_products.together(array.size * NUMBER, memory, overlap)
    return CALL + array.size / _run(array) * RUN + work


def _run(array) -> int:
    """Numbers that follow each other at equal steps, those of the last dimensions."""
    run, beyond = 1, None
    for extent, stride in zip(reversed(array.shape), reversed(array.strides)):
        if extent == 1:
            continue
        if beyond is not None and stride != beyond:
            break
        run, beyond = run * extent, stride * extent
    return run
