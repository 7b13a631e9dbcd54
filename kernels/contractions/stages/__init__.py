"""Tensor programs by stages: the statements of an entry one after the other, on a GPU's teams of warps.

plan.py is the data, passes.py and memory.py make it, render_stages.py writes the text.
"""

from __future__ import annotations

import functools

from ..plan import Program, Unable
from . import memory, passes
from .plan import Plan

__all__ = ["Plan", "Unable", "plan_of"]

STATEMENTS = (passes.gathered, passes.merged, passes.with_entry, passes.split)
STEPS = (passes.continued, passes.staged, passes.joined)
ORBITS = (passes.orbits,)  # in place of STEPS
MEMORY = (passes.with_matrices, passes.with_copies, memory.placed, passes.with_barriers)


@functools.lru_cache(64)
def plan_of(p: Program, how) -> Plan:
    """The plan of a program by an organisation (Staged). Raises Unable."""
    plan = passes.begun(p, how)
    steps = ORBITS if how.spread.orbit else STEPS
    for step in (*STATEMENTS, *steps, *MEMORY):
        plan = step(plan)

    return plan
