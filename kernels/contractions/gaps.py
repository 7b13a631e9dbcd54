"""Arrays with gaps, such as slices or reversed ones: most organisations take a contiguous copy of them, some read them
where they lie. The choice between organisations counts what that takes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import fold
from .contraction import Contraction
from .organisations import library_costs


def cheapest(plan, arrays, n: int, by: Callable):
    """(plan, seconds of gaps) for n entries of these arrays: the plan itself, or a plan by the organisation that is
    cheapest with them.

    plan: a Contraction for a CPU by the model's choice; others are left as they are. arrays: inputs of the plan's type.
    by(name): the plan by an organisation.
    """
    if not isinstance(plan, Contraction) or plan.backend.style != "packs":
        return plan, 0.0
    if all(array.flags.c_contiguous for array in arrays.values()):
        return plan, 0.0

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
    """The model's time for gaps: copies of arrays that a plan does not take, and what those take that it reads."""
    taken = {name: a for name, a in arrays.items() if plan.takes(name, a, n)}
    copies = sum(_copy_seconds(a) for name, a in arrays.items() if name not in taken)
    return copies + plan.how.seconds_of_gaps(plan.program, taken, n)


def _copy_seconds(array) -> float:
    targets = np.cumprod((1, *array.shape[:0:-1]))[::-1]
    strides = [stride // array.itemsize for stride in array.strides]
    moves = [fold.Move(*move) for move in zip(array.shape, strides, map(int, targets))]
    return library_costs.copy_seconds("packs", array.dtype.name, moves)
