"""Schedules: how the points of a launch go to vector lanes, threads, warps or blocks. Their verbs: `Schedule`."""

from .block import BLOCK
from .packs import PACKS
from .queue import QUEUE
from .schedule import Launch, Schedule
from .thread import THREAD
from .warp import WARP

SCHEDULES = (PACKS, QUEUE, BLOCK, WARP, THREAD)  # the first that takes a launch has it
SHARING = (BLOCK, WARP)  # the table of launches asks whether they serve a program


def schedule_of(how: Launch | None, kernels) -> Schedule:
    """The schedule of a launch of these kernels. how: None for a CPU."""
    return next(schedule for schedule in SCHEDULES if schedule.takes(how, kernels))


def render(p, boxed: bool = False):
    """The Source of a plan. boxed: for a box of larger arrays."""
    return p.schedule.render(p, boxed)
