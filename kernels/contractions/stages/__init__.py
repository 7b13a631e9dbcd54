"""Tensor programs by stages: the statements of an entry one after the other, on a GPU's teams of warps.

plan.py is the data; statements.py, steps.py, copies.py and memory.py make it, pass by pass; render_stages.py writes the
text.
"""

from __future__ import annotations

import functools

from ..plan import Program, Unable
from . import copies, memory, statements, steps
from .plan import Plan

__all__ = ["Plan", "Unable", "plan_of"]

STATEMENTS = (statements.gathered, statements.merged, statements.with_entry, steps.split)
STEPS = (steps.continued, copies.staged, steps.joined)
ORBITS = (steps.orbits,)  # in place of STEPS
MEMORY = (steps.with_matrices, copies.with_copies, memory.placed, copies.with_barriers)


@functools.lru_cache(64)
def plan_of(p: Program, how) -> Plan:
    """The plan of a program by an organisation (Staged). Raises Unable."""
    plan = statements.begun(p, how)
    for made in (*STATEMENTS, *(ORBITS if how.spread.orbit else STEPS), *MEMORY):
        plan = made(plan)

    return plan
