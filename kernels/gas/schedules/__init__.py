"""Schedules: how the points of a launch go to vector lanes, threads, warps or blocks. Their verbs: `Schedule`."""

import itertools

from ...engine.errors import ArgumentError, closest
from ..plan import Launch, Plan
from .block import BLOCK
from .packs import PACKS
from .queue import QUEUE
from .schedule import CONTIGUOUS, Lie, Schedule
from .sorted import SORTED
from .thread import THREAD
from .warp import WARP

SCHEDULES = (PACKS, QUEUE, BLOCK, WARP, SORTED, THREAD)  # the first that takes a launch has it
SHARING = (BLOCK, WARP)  # the table of launches asks whether they serve a program


def schedule_of(how: Launch | None, kernels) -> Schedule:
    """The schedule of a launch of these kernels. how: None for a CPU. Raises ArgumentError for an unknown `hold`."""
    for schedule in SCHEDULES:
        if schedule.takes(how, kernels):
            return schedule

    assert how is not None
    holds = list(itertools.chain(*(schedule.holds for schedule in SHARING), THREAD.holds))

    raise ArgumentError(f"hold '{how.hold}'{closest(how.hold, holds)}; wanted one of {', '.join(holds)}.")


def schedule_of_plan(p: Plan) -> Schedule:
    """The schedule that renders a plan."""
    return schedule_of(p.how, p.kernels)


def render(p: Plan, lie: Lie = CONTIGUOUS):
    """The Source of a plan for arrays that lie so."""
    return schedule_of_plan(p).render(p, lie)
